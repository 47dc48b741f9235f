# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""smlu-mode of Cambricon: read through libcndev, as cnmon has no published way to tell it, and switched through cnmon.

`cnmon set -c N -smlu on` is documented by HAMi; off is inferred from it. Not seen on hardware. Whether cnmon asks for a confirmation is not known, so no
question of it is answered.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import cndev
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.devices import identifier, label, packages, partition
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.switches import ABSENT, FAILED, OFF, ON, Unit
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report

MANUFACTURER, CAPABILITY, NAME, STDIN = "cambricon", "smlu-mode", "sMLU mode", None
DIVIDED = "the card is divided in hardware and offers no logical slice"
_SECONDS = 20
_BAD = re.compile(r"\b(?:not support\w*|unsupported|fail\w*|error|invalid|denied|not permitted|not existed)\b", re.IGNORECASE)


def divided(device):
    return partition(device, "enabled") is True


def units(devices):
    found = []
    for device in packages(devices):
        index, address = device.get("index"), identifier(device, "pci")
        numbered = isinstance(index, int) and not isinstance(index, bool) and index >= 0
        problem = "" if address else "the accelerator tells no PCI address, so the driver cannot be asked for it"
        problem = problem or ("" if numbered else "the card's number in cnmon is not known")
        if divided(device):
            problem = ""  # it is not asked at all
        key = "%s-%s" % (MANUFACTURER, address.replace(":", "-") or device.get("id"))
        found.append(Unit(label(device), key, str(device.get("id")), device, problem))
    return found


def argv(unit, on):
    return ["cnmon", "set", "-c", str(unit.place.get("index")), "-smlu", "on" if on else "off"]


def read(host, wanted, sources, again=False):
    """One call for all cards. again, for what was asked: of each card by a name of its own, so that a recording tells the two apart."""
    found = {unit.key: (ABSENT, DIVIDED) for unit in wanted if divided(unit.place)}
    asked = {unit.key: identifier(unit.place, "pci") for unit in wanted if unit.key not in found}
    if not asked:
        return found
    cards = [{"pci": asked[unit.key], "index": unit.place.get("index")} for unit in wanted if unit.key in asked]
    name = "cndev again %s" % ", ".join(asked.values()) if again else "cndev"
    answer = host.native(name, cndev, timeout=_SECONDS, arguments={"cards": cards})
    sources.append(report.source(answer, "libcndev"))
    told = answer.value if answer.ok and isinstance(answer.value, dict) else {}
    modes, general = told.get("cards"), answer.reason if not answer.ok else "libcndev: %s" % (told.get("said") or told.get("error") or "not understood")
    for key, address in asked.items():
        mode = modes.get(address) if isinstance(modes, dict) else None
        if isinstance(mode, int) and not isinstance(mode, bool) and mode in (0, 1):
            found[key] = (ON if mode else OFF), ""
        else:
            found[key] = FAILED, "libcndev: %s (%s)" % (mode.get("said") or "failed", mode.get("error")) if isinstance(mode, dict) else general
    return found


def refused(command):
    """None when it was accepted. A driver that does not know sMLU cannot slice what is on offer: unavailable, not undeclared."""
    if command.status != answers.OK:
        return FAILED, command.reason
    bad = _BAD.search(command.stdout + "\n" + command.stderr)
    return (FAILED, command.reason) if command.rc or bad else None
