# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""T-Head: device nodes alone; slices by the quota library of the slicing tree, partitions by its MIG. Slices and MIG not seen on hardware."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants, mig
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED

NOTE, PROBE = "", True
TOOLS = ("ppu-smi", "/usr/local/PPU_SDK/ppu-smi/bin/ppu-smi")
SLICES = 128
NODES = ("/dev/alixpu", "/dev/alixpu_ctl")
LIBRARIES = tuple("/usr/local/vppu/" + name for name in ("hgml_dlsym_hook.so", "hggc_quota.so", "ppu-monitor"))
accelerators = grants.packages


def capability(machine, device):
    return mig.capability(machine, device, TOOLS, SLICES)


def grant(machine, device, mode, tenant=0):
    grants.need(device)
    minor = grants.extra(device, "minor_number")
    minor = minor if isinstance(minor, int) else device.get("index")
    environment, mounts, caps = {}, [], []
    if mode == SLICED:
        caps = [str(grants.half(device)[0])]
        environment = {
            # without the limit of compute the library refuses, also for a whole card
            "HGGC_DEVICE_SM_LIMIT": str(grants.PERCENT), "HGGC_LEDGER_PATH": "/var/run/vppu/ledger", "HGGC_DEVICE_MEMORY_LIMIT_0": caps[0],
            "LIBHGGC_LOG_LEVEL": "1",
        }  # fmt: skip
        mounts = [*machine.preload("thead", *LIBRARIES), grants.mount(grants.made(device, "vppu", tenant), "/var/run/vppu", False, "made")]
    return grants.new(environment, [*NODES, "/dev/alixpu_ppu%s" % minor], mounts, caps=caps)


def driver_rows(machine, devices):
    return [mig.row(machine, device, TOOLS) for device in devices]
