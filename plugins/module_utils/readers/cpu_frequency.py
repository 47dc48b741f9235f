# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the frequency of the processors is kept."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import CPU, fact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

_MOST = 1024


def read(host, policies):
    """{governors: {name: number of policies}, driver, preference, boost}."""
    base, counted = CPU + "/cpufreq", {}
    for name in policies[:_MOST]:
        governor = host.read_line("%s/%s/scaling_governor" % (base, name))
        word = governor.value[:40] if governor.ok else "unread"
        counted[word] = counted.get(word, 0) + 1
    boost = fact(host, base + "/boost", lambda text: text != "0", "")
    if not is_known(boost):
        boost = fact(host, CPU + "/intel_pstate/no_turbo", lambda text: text == "0", "the driver has no such switch")
    first = "%s/%s/" % (base, policies[0])
    preference = fact(host, first + "energy_performance_preference", None, "the driver has no such preference")
    return {"governors": counted, "driver": fact(host, first + "scaling_driver"), "preference": preference, "boost": boost}
