# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA: the vendor's runtime injects by UUID; slices by HAMi-core, partitions by MIG."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants, mig
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import PARTITIONED, SLICED

NOTE, PROBE = "", True
RUNTIME, VISIBLE, CDI = "nvidia", "NVIDIA_VISIBLE_DEVICES", "nvidia.com/gpu=%s"
TOOLS = ("nvidia-smi",)
SLICES = 128
NODES = ("/dev/nvidiactl",)
accelerators = grants.packages


def capability(machine, device):
    return mig.capability(machine, device, TOOLS, SLICES)


def grant(machine, device, mode, tenant=0):
    ids, environment, mounts, caps = [grants.need(device)], {}, (), ()
    if mode == PARTITIONED:
        ids = [one for one in map(grants.identifier, grants.children(machine, device)) if one]
        if not ids:
            raise grants.Refused("no live partition that names itself")
    elif mode == SLICED:
        environment, mounts, caps = grants.hami(machine, device, "nvidia/cuda-%d" % machine.major("CUDA"), tenant)
    environment[VISIBLE] = ",".join(ids)
    minor = grants.extra(device, "minor")
    own = grants.numbered(device, "/dev/nvidia") or (["/dev/nvidia%d" % minor] if isinstance(minor, int) else [])
    return grants.new(environment, mounts=mounts, cdi=[CDI % one for one in ids], runtime=RUNTIME, runtime_nodes=[*NODES, *own], caps=caps)


def driver_rows(machine, devices):
    return [mig.row(machine, device, TOOLS) for device in devices]
