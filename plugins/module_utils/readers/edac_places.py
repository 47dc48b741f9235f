# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which memory modules had errors, of a memory controller that counted some."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
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
