# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hygon: device nodes and the vendor's libraries; slices by a vdev file that the kernel module keeps to."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants, kfd
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED

PROBE = True
NOTE = "the allocator asks no driver: a budget comes from the container's resource request, and the kernel module of DTK enforces it"
SLICES = 4
CONTROL = ("/dev/kfd", "/dev/mkfd")
accelerators = grants.packages


def capability(machine, device):
    return (grants.PARTITIONED, 1) if grants.partition(device, "enabled") is True else (SLICED, SLICES)


def _vdev(machine, device, cap, tenant):
    """vdev<N>.conf: the mask is two words of 64 compute units."""
    agent = kfd.of(machine, device)[0]
    count = kfd.units(agent)
    size = (count * grants.PERCENT + 99) // 100
    if not 1 < count <= 128 or size * 2 > count + 1:
        raise grants.Refused("%d compute units do not fit its mask" % count)
    size = min(size, count - size * tenant)
    mask = ((1 << size) - 1) << ((count + 1) // 2 * tenant)
    lines = [
        "PciBusId: %s" % grants.need(device, "pci"), "cu_mask: 0x%016x" % (mask & (1 << 64) - 1), "cu_mask: 0x%016x" % (mask >> 64), "cu_count: %d" % size,
        "mem: %d MiB" % cap, "device_id: %s" % device.get("index"), "vdev_id: 0", "pipe_id: %d" % tenant, "enable: 1",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def grant(machine, device, mode, tenant=0):
    nodes, caps = list(CONTROL), []
    for start in ("/dev/dri/card", "/dev/dri/renderD"):
        found = grants.numbered(device, start)
        if not found:
            raise grants.Refused("its node %sN is not known" % start)
        nodes += found
    mounts = [grants.mount("/opt/hyhal", "/opt/hyhal")]
    if mode == SLICED:
        cap = grants.half(device)[0]
        caps = [str(cap)]
        conf = _vdev(machine, device, cap, tenant)
        mounts += [
            grants.mount("/opt/dtk", "/opt/hygondriver"),
            grants.mount(grants.made(device, "etc/vdev/docker", tenant), "/etc/vdev/docker", True, "made", {"vdev0.conf": conf}),
        ]
    return grants.new({}, nodes, mounts, caps=caps)


def driver_rows(machine, devices):
    return []
