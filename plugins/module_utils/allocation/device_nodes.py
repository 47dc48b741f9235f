# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device nodes the session that reads the node may not open. Lists: data/manufacturers/*.yml."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

NODES = {
    "amd": ("/dev/kfd*", "/dev/dri/renderD*"), "ascend": ("/dev/davinci*",), "cambricon": ("/dev/cambricon_*",),
    "hygon": ("/dev/*kfd",), "iluvatar": ("/dev/iluvatar*",), "metax": ("/dev/mxcd*",), "mthreads": ("/dev/mtgpu*",),
    "nvidia": ("/dev/nvidia[0-9]*", "/dev/nvidiactl*"), "thead": ("/dev/alixpu*",),
}  # fmt: skip
_MOST = 256


def denied(host, manufacturer, sources):
    """Device nodes that this session may not open, or why that is not known. access(2) minds the device rules of the session's cgroup, also for root."""
    paths = []
    for pattern in NODES.get(manufacturer, ()):
        found = host.glob(pattern)
        if not found.ok and found.status not in (ABSENT, NOT_A_DIRECTORY):
            return unknown(found.reason)
        paths += (found.value or [])[:_MOST] if found.ok else []
    if not paths:
        return []
    command = host.run(["find", *paths[:_MOST], "-maxdepth", "0", "!", "-writable"], timeout=5)
    sources.append(report.source(command))
    return [line for line in command.stdout.splitlines() if line in paths] if command.succeeded else unknown(command.reason)
