# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a healthy server with accelerators, and what is judged of it after changes."""

from __future__ import annotations

import copy
import functools
import json

import demo
import host_samples
import nine
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES


@functools.cache
def healthy():
    recorded = host_samples.on(nine.recording(nine.PARTS["nvidia"]()))
    sections = demo.read(recorded)
    sections.update(json.loads(json.dumps(MODULES["host_info"].collect(ReplayHost(recorded), {"kv_cache_path": "/data"}))))
    return sections


def changed(*changes, **variables):
    """changes: (path, value) such as ("hardware memory_errors corrected", 3)."""
    sections = copy.deepcopy(healthy())
    for path, value in changes:
        *parents, last = path.split(" ")
        at = sections
        for key in parents:
            at = at[int(key) if isinstance(at, list) else key]
        at[int(last) if isinstance(at, list) else last] = value
    return demo.Judged("n1", sections, variables)
