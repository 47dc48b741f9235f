# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that memory controllers counted, and which modules had them."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import EDAC, fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known


def read(host, base, name, counts):
    """Modules with errors; the controller itself for what names none of them."""
    found, left = [], list(counts)
    listing = host.listdir(base)
    for module in sorted(n for n in listing.value or () if re.match(r"(?:dimm|rank)\d+\Z", n)):
        told = [fact(host, "%s%s/dimm_%s_count" % (base, module, word), integer) for word in ("ce", "ue")]
        if all(map(is_known, told)) and any(told):
            label = fact(host, "%s%s/dimm_label" % (base, module))
            label = label if is_known(label) and label else "%s %s" % (name, module)
            found.append({"place": label[:80], "corrected": told[0], "uncorrected": told[1]})
            left = [max(0, a - b) for a, b in zip(left, told)]
    if any(left):
        found.append({"place": "%s, no module named" % name, "corrected": left[0], "uncorrected": left[1]})
    return found


def totals(host, names):
    """{controllers, corrected, uncorrected, seconds, places: [{place, corrected, uncorrected}]} since the driver was loaded; places: those with errors."""
    total, places, seconds = [0, 0], [], []
    for name in names:
        base = "%s/%s/" % (EDAC, name)
        counts = [fact(host, base + word, integer) for word in ("ce_count", "ue_count")]
        if not all(map(is_known, counts)):
            return next(c for c in counts if not is_known(c))
        seconds.append(fact(host, base + "seconds_since_reset", integer))
        total = [a + b for a, b in zip(total, counts)]
        if any(counts):
            places += read(host, base, name, counts)
    known = [s for s in seconds if is_known(s)]
    return {
        "controllers": len(names),
        "corrected": total[0],
        "uncorrected": total[1],
        "seconds": max(known) if known else seconds[0],
        "places": places[:64],
    }
