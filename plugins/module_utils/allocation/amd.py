# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD: device nodes alone; slices by a mask of compute units and the library of the slicing tree."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants, kfd, rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED

NOTE, PROBE = "", True
SLICES = 128
LIBRARIES = tuple("/usr/local/vrocm/" + name for name in ("libvrocm.so", "rocm-monitor", "rocm-cumask-check"))
accelerators = grants.packages


def capability(machine, device):
    parts = grants.children(machine, device)
    return (grants.PARTITIONED, len(parts)) if parts else (SLICED, SLICES)


def grant(machine, device, mode, tenant=0):
    one, nodes = grants.need(device), ["/dev/kfd"]
    for start in ("/dev/dri/card", "/dev/dri/renderD"):
        found = grants.numbered(device, start)
        if not found:
            raise grants.Refused("its node %sN is not known" % start)
        nodes += found
    # naming a card here would grant a second one where the vendor's runtime is installed
    environment, mounts, caps = {"AMD_VISIBLE_DEVICES": "none"}, [], []
    if mode == SLICED:
        agent = kfd.of(machine, device)[0]
        size = kfd.window(agent, grants.PERCENT)
        first = size * tenant
        if not size or first + size > kfd.units(agent):
            raise grants.Refused("%d %% of %d compute units is less than one atom of %d" % (grants.PERCENT, kfd.units(agent), kfd.atom(agent)))
        caps = [str(grants.half(device)[0])]
        environment.update({
            "ROCR_VISIBLE_DEVICES": one, "VROCM_LEDGER_PATH": "/var/run/vrocm/ledger", "VROCM_DEVICE_MEMORY_LIMIT_0": caps[0],
            "HSA_CU_MASK": "0:%d-%d" % (first, first + size - 1), "LIBVROCM_LOG_LEVEL": "1",
        })  # fmt: skip
        mounts = [*machine.preload("amd", *LIBRARIES), grants.mount(grants.made(device, "vrocm", tenant), "/var/run/vrocm", False, "made")]
    return grants.new(environment, nodes, mounts, caps=caps)


def driver_rows(machine, devices):
    return [_row(machine, device) for device in devices]


def _row(machine, device):
    try:
        grants.need(device)
        mine = kfd.of(machine, device)
        told = ["%s reports %d compute units in allocation atoms of %d" % (kfd.target(a), kfd.units(a), kfd.atom(a)) for a in mine]
        least = max(kfd.smallest(a) for a in mine)
        detail = "%s%s, so the smallest share it can serve is %d %%" % ("%d partitions: " % len(mine) if len(mine) > 1 else "", told[0], least)
        return rows.row(grants.label(device), "cu-mask-topology", SLICED, rows.OK, detail=detail)
    except grants.Refused as refused:
        return rows.row(grants.label(device), "cu-mask-topology", SLICED, rows.UNAVAILABLE, reason=str(refused))
