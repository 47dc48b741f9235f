# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cambricon: device nodes and the vendor's variable; slices by sMLU instances, which the driver makes. Not seen on hardware."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import cambricon_smlu, grants, rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED, VISIBILITY

NOTE, PROBE = "", False
VISIBLE = "CAMBRICON_VISIBLE_DEVICES"
SLICES = 16
CONTROL = "/dev/cambricon_ctl"
accelerators = grants.packages


def capability(machine, device):
    if cambricon_smlu.divided(device):
        return grants.NONE, cambricon_smlu.DIVIDED
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


def driver_rows(machine, devices):
    return rows.switch_rows(cambricon_smlu, machine, devices)
