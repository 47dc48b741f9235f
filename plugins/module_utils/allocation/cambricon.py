# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cambricon: device nodes and the vendor's variable; slices by sMLU instances, which the driver makes. Not seen on hardware."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import cndev, grants, rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED, VISIBILITY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report

NOTE, PROBE = "", False
VISIBLE = "CAMBRICON_VISIBLE_DEVICES"
SLICES = 16
CONTROL = "/dev/cambricon_ctl"
CAPABILITY = "smlu-mode"
accelerators = grants.packages


def capability(machine, device):
    if grants.partition(device, "enabled") is True:
        return grants.NONE, "the card is divided in hardware and offers no logical slice"
    return SLICED, SLICES


def grant(machine, device, mode, tenant=0):
    index = device.get("index")
    if not grants.identifier(device) and not grants.identifier(device, "pci"):
        raise grants.Refused("the accelerator tells no id that names it alone")
    others = (CONTROL, "/dev/cambricon_ipcm%s" % index)
    nodes = ["/dev/cambricon_dev%s" % index, *(node for node in others if machine.there(node) is True)]
    if mode == VISIBILITY:  # of a slice: what its owner holds; the node of the instance is made with the instance
        return grants.new({}, nodes)
    if mode != SLICED:
        return grants.new({VISIBLE: str(index)}, nodes)
    cap = grants.half(device)[0]
    return grants.new({}, nodes, driver_request={"smlu_profile": {"mlu_quota_percent": grants.PERCENT, "memory_mib": cap}}, caps=["%d MiB" % cap])


def ask_command(device, on):
    """What a person runs to the same end; -smlu off is inferred from the documented -smlu on."""
    return "cnmon set -c %s -smlu %s" % (device.get("index"), "on" if on else "off")


def read_mode(machine, devices, name="cndev"):
    """{PCI address: (True, ""), (False, "") or (None, why not)}, of all cards in one call."""
    cards = [{"pci": grants.identifier(device, "pci"), "index": device.get("index")} for device in devices if grants.identifier(device, "pci")]
    if not cards:
        return {}
    answer = machine.host.native(name, cndev, timeout=20, arguments={"cards": cards})
    machine.sources.append(report.source(answer, "libcndev"))
    told = answer.value if answer.ok and isinstance(answer.value, dict) else {}
    modes, general = told.get("cards"), answer.reason if not answer.ok else "libcndev: %s" % (told.get("said") or told.get("error") or "not understood")
    found = {}
    for card in cards:
        mode = modes.get(card["pci"]) if isinstance(modes, dict) else None
        if isinstance(mode, int) and not isinstance(mode, bool) and mode in (0, 1):
            found[card["pci"]] = bool(mode), ""
        else:
            reason = "libcndev: %s (%s)" % (mode.get("said") or "failed", mode.get("error")) if isinstance(mode, dict) else general
            found[card["pci"]] = None, reason
    return found


def driver_rows(machine, devices):
    found, made = read_mode(machine, devices), []
    for device in devices:
        on, reason = found.get(grants.identifier(device, "pci"), (None, "the accelerator tells no PCI address, so the driver cannot be asked for it"))
        kind, told = capability(machine, device)
        state = "absent" if kind != SLICED else "failed" if on is None else "on" if on else "off"
        made.append(rows.switch_row(grants.label(device), CAPABILITY, state, told if state == "absent" else reason, ask_command(device, True)))
    return made
