# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""States in which a processor idles: Documentation/admin-guide/pm/cpuidle.rst."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import CPU, fact, integer


def read(host, names):
    """[{name, latency_us, disabled}], the lightest first."""
    found = []
    for name in sorted((n for n in names if re.match(r"state\d{1,3}\Z", n)), key=lambda n: int(n[5:])):
        base = "%s/cpu0/cpuidle/%s/" % (CPU, name)
        latency, off = fact(host, base + "latency", integer), fact(host, base + "disable", lambda text: text != "0")
        found.append({"name": fact(host, base + "name"), "latency_us": latency, "disabled": off})
    return found
