# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether RDMA adapters can read the memory of NVIDIA's accelerators themselves. Where they cannot, all goes through the host's, and nothing says so.

AMD's is a matter of the kernel's options (kernel-peer-to-peer). Of other makers no document tells what stands in for their module.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, Parameter, expectation, found, not_applicable, rule, unknown

MODULES = ("nvidia_peermem", "nv_peer_mem")
DMA_BUF = (5, 12)  # aws-ofi-nccl, nccl_ofi_dmabuf: RDMA takes a DMA-BUF since Linux 5.12
_SOURCE = "vendor document: NVIDIA GPU Operator, GPUDirect RDMA: DMA-BUF, which the open kernel modules have, or nvidia-peermem"


@rule(
    id="gpu-direct-rdma",
    layer=1,
    level="warn",
    title="RDMA adapters can read the memory of NVIDIA's accelerators",
    reads=("settings", "network_devices", "host", "accelerators"),
    scope="node",
    remedy="Install the driver with the open kernel modules on Linux 5.12 or newer, or load nvidia_peermem.",
    parameters={
        "adapters_per_accelerator": Parameter("number", 0.5, "", "our choice: with fewer active ports the network may not be for them, and it is told as info")
    },
    follows=("driver-built", "driver-loadable"),
)
def gpu_direct_rdma(view, p):
    group = view.group("nvidia")
    if group is None or not group.packages:
        return not_applicable("no accelerator of NVIDIA was read")
    rails = view.section("network_devices").facts("rails")
    loaded = set(view.section("settings").texts("modules", "loaded"))
    if loaded & set(MODULES):
        return PASSED
    flavor, release = group.text("driver", "flavor"), view.section("host").text("kernel", "release")
    version = re.match(r"(\d{1,4})\.(\d{1,4})", release)
    if flavor == "open" and version is None:
        return unknown("kernel release not understood: %s" % release)
    old = flavor == "open" and tuple(map(int, version.groups())) < DMA_BUF
    if flavor == "open" and not old:
        return PASSED
    active = sum(_active(rails.maybe("facts", name)) for name in rails.data)
    why = "Linux %s takes no DMA-BUF for RDMA" % release if old else "the %s driver gives no DMA-BUF" % flavor
    few = active < p.adapters_per_accelerator * len(group.packages)
    text = "RDMA goes through the host's memory: nvidia_peermem is not loaded, and %s" % why
    return found(text, flavor, expectation("nvidia_peermem or DMA-BUF", origin=_SOURCE), level="info" if few else None)


def _active(rail):
    ports = rail.maybe("facts", "ports") if rail else None
    return sum(ports.maybe("word", number, "state") == "active" for number in ports.data) if ports else 0
