# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section allocation.<manufacturer>: can each accelerator be sliced, can it be managed while sliced. Nothing is started, no driver is written to."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc

MANUFACTURERS = ("amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead")


def collect(host, manufacturer, found, library_root=""):
    """found: {detection, devices, driver} of the section accelerators.<manufacturer>, None when it was not read."""
    return {"manufacturer": manufacturer, "timestamp": utc(host.now()), "checks": [], "grants": {}, "note": "", "sources": []}


def answer(host, options):
    """The sections of module allocation_info. options: those of the module."""
    manufacturer = options.get("manufacturer")
    found = {key: options.get(key) for key in ("detection", "devices", "driver")} if options.get("devices") is not None else None
    return {"allocation.%s" % manufacturer: collect(host, manufacturer, found, options.get("slicing_library_root"))}
