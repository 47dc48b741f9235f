# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""smlu-mode of Cambricon: read through libcndev, as cnmon has no published way to tell it, and switched through cnmon.

`cnmon set -c N -smlu on` is documented by HAMi; off is inferred from it. Not seen on hardware. Whether cnmon asks for a confirmation is not known, so no
question of it is answered.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import cambricon, grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.switches import ABSENT, FAILED, OFF, ON, Unit
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers

MANUFACTURER, CAPABILITY, NAME, STDIN = cambricon.__name__.rpartition(".")[2], cambricon.CAPABILITY, "sMLU mode", None
_BAD = re.compile(r"\b(?:not support\w*|unsupported|fail\w*|error|invalid|denied|not permitted|not existed)\b", re.IGNORECASE)


def units(devices):
    found = []
    for device in cambricon.accelerators(devices):
        index, address = device.get("index"), grants.identifier(device, "pci")
        problem = "" if address else "the accelerator tells no PCI address, so the driver cannot be asked for it"
        if not problem and not (isinstance(index, int) and not isinstance(index, bool) and index >= 0):
            problem = "the card's number in cnmon is not known"
        key = "" if problem else "%s-%s" % (MANUFACTURER, address.replace(":", "-"))
        found.append(Unit(grants.label(device), key, str(device.get("id")), device, problem))
    return found


def argv(unit, on):
    return cambricon.ask_command(unit.place, on).split()


def read(host, wanted, sources, again=False):
    """One call for all cards. again, for what was asked: of each card by a name of its own, so that a recording tells the two apart."""
    devices = [unit.place for unit in wanted]
    machine = grants.Machine(host, devices)
    modes = cambricon.read_mode(machine, devices, "cndev again %s" % ", ".join(unit.key for unit in wanted) if again else "cndev")
    sources += machine.sources
    found = {}
    for unit in wanted:
        on, reason = modes.get(grants.identifier(unit.place, "pci"), (None, "sMLU mode was not told"))
        found[unit.key] = (ON if on else OFF, "") if on is not None else (FAILED, reason)
        offer, count = cambricon.capability(machine, unit.place)
        if offer != grants.SLICED:
            found[unit.key] = ABSENT, str(count)
    return found


def refused(command):
    """None when it was accepted. A driver that does not know sMLU cannot slice what is on offer: unavailable, not undeclared."""
    if command.status != answers.OK:
        return FAILED, command.reason
    bad = _BAD.search(command.stdout + "\n" + command.stderr)
    return (FAILED, command.reason) if command.rc or bad else None
