# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section paths.<manufacturer>: how its accelerators, network adapters and drives are connected, by sysfs and by the vendor's tool."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci_path, topology
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown


def _addresses(devices):
    """id -> PCI address of the devices that have one of their own."""
    found = {}
    for device in devices if isinstance(devices, list) else ():
        identity = device.get("identity") if isinstance(device, dict) else None
        pci = identity.get("pci") if isinstance(identity, dict) else None
        value = pci.get("value") if isinstance(pci, dict) and pci.get("quality") in ("good", "duplicate") else None
        if isinstance(value, str) and isinstance(device.get("id"), str) and value not in found.values():
            found[device["id"]] = value.lower()
    return found


def _on_bus(host, manufacturer):
    """The same without its tool: a card that no driver sees has a path all the same."""
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci

    listed = pci.accelerators(pci.scan(host, (manufacturer,)), manufacturer)
    return {entry["address"]: entry["address"] for entry in listed} if isinstance(listed, list) else {}


def collect(host, manufacturer, found):
    found = found if isinstance(found, dict) else {}
    devices = [device for device in found.get("devices") or () if isinstance(device, dict)] if isinstance(found.get("devices"), list) else []
    detection = found.get("detection") if isinstance(found.get("detection"), dict) else {}
    addresses, sources = _addresses(devices), []
    if not addresses or detection.get("state") == "unavailable":
        addresses.update({name: value for name, value in _on_bus(host, manufacturer).items() if value not in addresses.values()})
    section = {"manufacturer": manufacturer, "timestamp": utc(host.now())}
    section.update(pci_path.read(host, addresses))
    if not devices or detection.get("state") == "unavailable":
        section["tool"] = unknown("not asked: its accelerators were not detected")
    else:
        names = {value: name for name, value in addresses.items()}
        for device in devices:
            index = device.get("index")
            if isinstance(index, int) and not isinstance(index, bool) and isinstance(device.get("id"), str):
                names.setdefault(index, device["id"])
        section["tool"] = topology.of_devices(devices) or topology.read(host, manufacturer, names, sources)
    section["sources"] = sources
    return section
