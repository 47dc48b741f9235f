# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iluvatar: the vendor's runtime injects by UUID; slices by HAMi-core. Not seen on hardware."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED

PROBE = False
NOTE = (
    "the allocator asks no driver: a budget comes from the container's resource request, and the preloaded library keeps to it; pods need ix-container-runtime"
)
RUNTIME, VISIBLE = "iluvatar", "IX_VISIBLE_DEVICES"
SLICES = 128
accelerators = grants.packages


def capability(machine, device):
    return SLICED, SLICES


def grant(machine, device, mode, tenant=0):
    environment, mounts, caps = grants.hami(machine, device, "iluvatar", tenant) if mode == SLICED else ({}, (), ())
    environment[VISIBLE] = grants.need(device)
    return grants.new(environment, mounts=mounts, runtime=RUNTIME, runtime_nodes=grants.numbered(device, "/dev/iluvatar"), caps=caps)


def driver_rows(machine, devices):
    return []
