# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What host_info reads: the kernel log, then hardware, settings, services, storage, network devices and software of the host around the accelerators."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import hardware, kernel_log, node_services, settings, storage
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc

OPTIONS = {
    "bmc": {"type": "bool", "default": True},
    "directories": {"type": "list", "elements": "path"},
    "kv_cache_path": {"type": "path"},
    "since": {"type": "str"},
}


def collect(host, options=None):
    """{section name: section}. Processes are looked at first and last: one that hangs has not moved between."""
    # Here, for a module that only reads the kernel log shares this file's imports.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices, software

    options = options or {}
    started = host.monotonic()
    processes, waiting = node_services.processes(host)
    kernel = kernel_log.collect(host, since=options.get("since"))
    table = storage.mounts(host)
    services = dict(node_services.collect(host), processes=processes)
    sections = {
        "settings": settings.collect(host, table),
        "services": services,
        "storage": storage.collect(host, table, options.get("directories") or (), options.get("kv_cache_path")),
        "hardware": hardware.collect(host, options.get("bmc") is not False),
        "network_devices": network_devices.collect(host),
        "software": software.collect(host),
    }
    if waiting:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import stuck_processes  # only where one waits

        processes["stuck"] = stuck_processes.second(host, waiting, started)
    for section in sections.values():
        section["timestamp"] = utc(host.now())
    return dict(sections, kernel=kernel)
