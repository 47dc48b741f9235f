# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's daemons: versions on the disk, what the fabric manager wrote, DCGM and its engine. Read only where the driver is loaded."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

DAEMONS = {"fabric_manager": ["nv-fabricmanager", "--version"], "imex": ["nvidia-imex", "--version"]}  # they must be of the driver's version
DCGM = ["dcgmi", "-v"]  # asks an engine that runs, and starts none
_SECONDS = 5
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")
_OF_DCGM = re.compile(r"(?im)^\s*Version\s*:\s*(\d+\.\d+[\d.]*)")


def versions(host):
    found = {}
    for name, argv in DAEMONS.items():
        command = host.run(argv, timeout=_SECONDS)
        told = _VERSION.search(command.stdout) if command.ok else None
        found[name] = told.group() if told else not_applicable("not installed") if command.status == ABSENT else unknown(command.reason)
    return found


def dcgm(host):
    """{client, engine}: version on the disk, and that of the engine that runs."""
    command = host.run(DCGM, timeout=_SECONDS)
    if command.status == ABSENT:
        return not_applicable("not installed")
    told = _OF_DCGM.findall(command.stdout)
    if not command.ok or not told:
        return unknown(command.reason if not command.ok else "%s: not understood" % command.subject)
    silent = "%s: no engine answered" % command.subject
    return {"client": told[0], "engine": told[1] if len(told) > 1 else unknown(silent)}


def read(host):
    found = {"versions": versions(host), "dcgm": dcgm(host)}
    if isinstance(found["versions"]["fabric_manager"], dict) and "not_applicable" in found["versions"]["fabric_manager"]:
        # A container may have one of its own, which keeps its log there.
        return dict(found, fabric_manager_log=not_applicable("no fabric manager is installed"))
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import fabric_manager_log  # only where there is one

    return dict(found, fabric_manager_log=fabric_manager_log.read(host))
