# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules of the registered manufacturers, from /sys/module (a module built into the kernel shows there too)."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

BASE = "/sys/module"


def _one(host, name):
    state = host.read_line("%s/%s/initstate" % (BASE, name))
    if state.ok:
        # live, coming, going: Documentation/ABI/testing/sysfs-module
        loaded = state.value == "live" if state.value in ("live", "coming", "going") else unknown("%s: %r" % (state.subject, state.value[:40]))
    else:
        loaded = True if state.status == ABSENT else unknown(state.reason)  # built in: no initstate
    answer = host.read_line("%s/%s/version" % (BASE, name))
    if answer.ok:
        version = answer.value or unknown("%s: empty" % answer.subject)
    else:
        version = not_applicable("comes with the kernel: no version of its own") if answer.status == ABSENT else unknown(answer.reason)
    return {"version": version, "loaded": loaded}


def read(host, names=None):
    """{module: {version, loaded}}."""
    names = names or sorted({name for entry in MANUFACTURERS.values() for name in entry["modules"]})
    listing = host.listdir(BASE)
    if not listing.ok:
        return {name: {"version": unknown(listing.reason), "loaded": unknown(listing.reason)} for name in names}
    present = set(listing.value)
    absent = {"version": not_applicable("not loaded"), "loaded": False}
    return {name: _one(host, name) if name in present else dict(absent) for name in names}
