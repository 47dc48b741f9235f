# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MetaX: device nodes alone; slices by sGPUs, which the allocator makes through sysfs. The sysfs layout is not seen on hardware."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants, rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED, VISIBILITY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT

NOTE, PROBE = "", False
SLICES = 16
CONTROL = ("/dev/mxcd", "/dev/mxnd", "/dev/mxgd")  # the first always, the others where the driver makes them
REGISTRY = "/sys/bus/pci/devices/%s/sgpu"
accelerators = grants.packages


def capability(machine, device):
    return SLICED, SLICES


def grant(machine, device, mode, tenant=0):
    render = grants.numbered(device, "/dev/dri/renderD")
    if not render:
        raise grants.Refused("its node /dev/dri/renderDN is not known")
    if mode not in (SLICED, VISIBILITY):
        return grants.new({}, [CONTROL[0], *(n for n in CONTROL[1:] if machine.there(n) is True), *grants.numbered(device, "/dev/dri/card"), *render])
    if mode == VISIBILITY:  # of a slice: what its owner holds, not the whole card
        return grants.new({}, [CONTROL[0], *render])
    cap, address = grants.half(device)[0], grants.need(device, "pci")
    value = "sgpu=%s#%d;compute=%d;vram=%d;alias=fleetproof-preflight-%d" % (address, tenant, grants.PERCENT, cap, tenant)
    asked = {"sgpu": {"sysfs": REGISTRY % address + "/create", "sched_class": "fixed-share", "compute_percent": grants.PERCENT, "memory_mib": cap}}
    return grants.new({"METAX_SGPUS": value}, [CONTROL[0], *render], driver_request=asked, caps=["%d MiB" % cap])


def driver_rows(machine, devices):
    return [_row(machine, device) for device in devices]


def _row(machine, device):
    """No registry is a card that hosts none."""
    address, state, detail, reason = grants.identifier(device, "pci"), rows.OK, "", ""
    answer = machine.host.listdir(REGISTRY % address) if address else None
    if answer is None:
        state, reason = rows.UNAVAILABLE, "the accelerator tells no PCI address"
    elif answer.status == ABSENT:
        there = machine.there("/sys/bus/pci/devices/%s" % address)
        if there is True:
            detail = "no registry of sGPUs: the card hosts none"
        else:
            state, reason = rows.UNAVAILABLE, "%s: not found on PCI" % address if there is False else there
    elif not answer.ok:
        state, reason = rows.UNAVAILABLE, answer.reason
    else:
        found = sorted(name for name in answer.value if name.startswith("sgpu") and name[4:].isdigit())
        detail = "registry of sGPUs readable, %s" % ("%d exist already: %s" % (len(found), ", ".join(found)) if found else "none exists")
    return rows.row(grants.label(device), "sgpu-mode", SLICED, state, detail=detail, reason=reason)
