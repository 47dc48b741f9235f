# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often heat slowed the packages down since the start: Documentation/admin-guide/thermal/intel_thermal_throttle.rst."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import CPU, fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

NODES = "/sys/devices/system/node/node*/cpulist"
_MOST = 64


def _seconds(text):
    return round(integer(text) / 1000, 3)


def read(host):
    """{package: {count, seconds}}. A package is asked of one of its processors: each NUMA node's first is of it or of another."""
    lists = host.glob(NODES)
    told = (host.read_line(path) for path in (lists.value if lists.ok else ())[:_MOST])
    firsts = {int(found.group()) for found in (re.match(r"\d{1,6}", answer.value) for answer in told if answer.ok) if found}
    packages = {}
    for number in sorted(firsts | {0}):
        base = "%s/cpu%d/" % (CPU, number)
        package = fact(host, base + "topology/physical_package_id", integer)
        name = str(package) if is_known(package) else "?"
        if name not in packages:
            count = fact(host, base + "thermal_throttle/package_throttle_count", integer)
            seconds = fact(host, base + "thermal_throttle/package_throttle_total_time_ms", _seconds, "this kernel does not tell it")
            packages[name] = {"count": count, "seconds": seconds}
    return packages
