# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section allocation.<manufacturer>: can each accelerator be sliced, can it be managed while sliced. Nothing is started, no driver is written to."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import access, grants, paths
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.rows import Simulated
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc

ASKED = ("ascend", "cambricon")  # whose driver a run may have switched, and left a note
MANUFACTURERS = ("amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead")


def maker_of(manufacturer):
    """Imported here, for a node pays for every import and has one manufacturer."""
    if manufacturer == "amd":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import amd as maker
    elif manufacturer == "ascend":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend as maker
    elif manufacturer == "cambricon":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import cambricon as maker
    elif manufacturer == "hygon":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import hygon as maker
    elif manufacturer == "iluvatar":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import iluvatar as maker
    elif manufacturer == "metax":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import metax as maker
    elif manufacturer == "mthreads":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import mthreads as maker
    elif manufacturer == "nvidia":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import nvidia as maker
    elif manufacturer == "thead":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import thead as maker
    else:
        maker = None
    return maker


def collect(host, manufacturer, found, library_root=""):
    """found: {detection, devices, driver} of the section accelerators.<manufacturer>, None when it was not read."""
    section = {"manufacturer": manufacturer, "timestamp": utc(host.now()), "checks": [], "grants": {}, "note": "", "sources": []}
    if manufacturer in ASKED:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.notes import left_over

        section["left_over"] = left_over(host, manufacturer)
    maker = maker_of(manufacturer)
    found = found if isinstance(found, dict) else {}
    detection = found.get("detection") if isinstance(found.get("detection"), dict) else {}
    devices = found.get("devices")
    if maker is not None and detection.get("state") == "unavailable":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import device_nodes

        section["denied_nodes"] = device_nodes.denied(host, manufacturer, section["sources"])
    if maker is None:
        section["note"] = "nothing is checked ahead of an allocation for this manufacturer"
    elif not isinstance(devices, list):
        section["note"] = "its accelerators could not be read, so nothing was asked of them"
    elif detection.get("state") == "unavailable":
        section["note"] = "detection is unavailable, so the other questions cannot be answered: %s" % (detection.get("reason") or "no reason given")
        if access.counts_more(detection, devices):
            section["missing_mounts"] = access.missing(host, manufacturer)
    else:
        devices = [_tidy(device) for device in devices if isinstance(device, dict)]
        _fill(section, maker, grants.Machine(host, devices, found.get("driver"), library_root))
    return section


def _tidy(device):
    """Of the types that makers count on, whatever was handed over."""
    index, nodes = device.get("index"), device.get("device_nodes")
    return dict(
        device,
        index=index if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < 1 << 20 else None,
        device_nodes=[node for node in nodes if isinstance(node, str)] if isinstance(nodes, list) else [],
        **{key: device[key] if isinstance(device.get(key), dict) else {} for key in ("identity", "extra")},
        **{key: device[key] if isinstance(device.get(key), str) else None for key in ("id", "kind", "parent")},
    )


def _fill(section, maker, machine):
    accelerators = maker.accelerators(machine.devices)
    if not accelerators:
        section["note"] = "none of this manufacturer was detected"
        return
    checks = maker.driver_rows(machine, accelerators)
    simulated = [Simulated(maker, machine, device) for device in accelerators]
    for one in simulated:
        checks += one.sliced()
    for one in simulated:
        checks += one.managed()
    section.update(
        checks=checks,
        grants={one.label: one.all() for one in simulated},
        # for the command that two tenants would be started by; the controller takes it out again
        second_slices={one.label: one.grant(grants.SLICED, 1)[0] for one in simulated if maker.PROBE and one.kind == grants.SLICED},
        note=maker.NOTE or ("" if checks else "none of its accelerators declares a capability to read"),
        sources=machine.sources,
    )


def answer(host, options):
    """The sections of module allocation_info. options: those of the module."""
    manufacturer = options.get("manufacturer")
    found = {key: options.get(key) for key in ("detection", "devices", "driver")} if options.get("devices") is not None else None
    return {
        "allocation.%s" % manufacturer: collect(host, manufacturer, found, options.get("slicing_library_root")),
        "paths.%s" % manufacturer: paths.collect(host, manufacturer, found),
    }
