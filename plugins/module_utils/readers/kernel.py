# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running kernel: release, command line without secrets, boot time, uptime, NUMA balancing, modules of the registered manufacturers."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.privacy import redact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, not_applicable, unknown

MODULES = "/sys/module"  # a module built into the kernel shows there too
_UPTIME = re.compile(r"\d{1,12}(?:\.\d{1,9})?")


def numa_balancing(host):
    answer = host.read_line("/proc/sys/kernel/numa_balancing")
    if answer.status == ABSENT:
        return not_applicable("kernel without NUMA balancing")
    return from_answer(answer, lambda text: int(text) != 0)


def uptime(host):
    answer = host.read_line("/proc/uptime")
    if not answer.ok:
        return unknown(answer.reason)
    found = _UPTIME.match(answer.value)
    return float(found.group()) if found else unknown("/proc/uptime: not understood: %r" % answer.value[:40])


def read(host):
    """{release, version, command_line, architecture, boot_time}."""
    uname = host.uname()
    told = uname.value if uname.ok and isinstance(uname.value, dict) else {}
    facts = {
        key: str(told[name]) if told.get(name) else unknown("uname: no %s" % name if uname.ok else uname.reason)
        for key, name in (("release", "release"), ("version", "version"), ("architecture", "machine"))
    }
    facts["command_line"] = from_answer(host.read_text("/proc/cmdline", 65536), lambda text: redact(" ".join(text.split())))
    boot = host.boot_time()
    facts["boot_time"] = utc(boot.value) if boot.ok else unknown(boot.reason)
    return facts


def _module(host, name):
    state = host.read_line("%s/%s/initstate" % (MODULES, name))
    if state.ok:
        # live, coming, going: Documentation/ABI/testing/sysfs-module
        loaded = state.value == "live" if state.value in ("live", "coming", "going") else unknown("%s: %r" % (state.subject, state.value[:40]))
    else:
        loaded = True if state.status == ABSENT else unknown(state.reason)  # built in: no initstate
    answer = host.read_line("%s/%s/version" % (MODULES, name))
    if answer.ok:
        version = answer.value or unknown("%s: empty" % answer.subject)
    else:
        version = not_applicable("comes with the kernel: no version of its own") if answer.status == ABSENT else unknown(answer.reason)
    return {"version": version, "loaded": loaded}


def modules(host, names=None):
    """{module: {version, loaded}}."""
    names = names or sorted({name for entry in MANUFACTURERS.values() for name in entry["modules"]})
    listing = host.listdir(MODULES)
    if not listing.ok:
        return {name: {"version": unknown(listing.reason), "loaded": unknown(listing.reason)} for name in names}
    present = set(listing.value)
    absent = {"version": not_applicable("not loaded"), "loaded": False}
    return {name: _module(host, name) if name in present else dict(absent) for name in names}
