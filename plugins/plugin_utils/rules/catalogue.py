# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules: importing this module registers them. A new file of rules is added here."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import (
    bus,
    cdi,
    consistency,
    container_devices,
    container_runtime,
    detection,
    device_access,
    devices,
    fingerprint,
    hardware,
    health_clocks,
    health_links,
    health_makers,
    health_memory,
    health_modes,
    health_nvidia,
    history,
    host,
    intents,
    kernel,
    kubelet,
    kubelet_devices,
    limits,
    measurements,
    memory,
    network,
    npu_network,
    nvidia_daemons,
    pcie,
    reference,
    rows,
    services,
    settings,
    storage,
    topology,
    versions,
)

FILES = (
    bus,
    cdi,
    consistency,
    container_devices,
    container_runtime,
    detection,
    device_access,
    devices,
    fingerprint,
    hardware,
    health_clocks,
    health_links,
    health_makers,
    health_memory,
    health_modes,
    health_nvidia,
    history,
    host,
    intents,
    kernel,
    kubelet,
    kubelet_devices,
    limits,
    measurements,
    memory,
    network,
    npu_network,
    nvidia_daemons,
    pcie,
    reference,
    rows,
    services,
    settings,
    storage,
    topology,
    versions,
)


def load():
    """Rules are registered by importing their files; this gives callers a name to say that they need them."""
    return FILES
