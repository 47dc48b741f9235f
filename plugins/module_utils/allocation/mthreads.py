# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moore Threads: the vendor's runtime injects by id and keeps the budget; no file and no node is handed over."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED

PROBE = False
NOTE = (
    "the allocator asks no driver: a budget comes from the container's resource request, and the vendor's sGPU kernel module and container runtime enforce it"
)
RUNTIME, VISIBLE = "mthreads", "MTHREADS_VISIBLE_DEVICES"
SLICES = 16
accelerators = grants.packages


def capability(machine, device):
    if grants.extra(device, "virtual_function"):
        return grants.NONE, "a virtual device of a guest"
    return SLICED, SLICES


def grant(machine, device, mode, tenant=0):
    environment, caps = {VISIBLE: grants.need(device)}, []
    if mode == SLICED:
        caps = [str(grants.half(device)[0])]
        # a hard cap in bytes, and a weight that caps nothing
        environment.update(MTHREADS_QOS_MEMORY_LIMIT=str(int(caps[0]) << 20), MTHREADS_QOS_COMPUTING_POWER_WEIGHT=str(grants.PERCENT))
    nodes = device.get("device_nodes")
    nodes = [n for n in nodes if isinstance(n, str)] if isinstance(nodes, list) else []
    return grants.new(environment, runtime=RUNTIME, runtime_nodes=nodes, caps=caps)


def driver_rows(machine, devices):
    return []
