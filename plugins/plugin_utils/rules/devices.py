# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about one device: what the part itself says of its memory, links, temperature and state."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, Parameter, found, rule


@rule(
    id="ecc-uncorrected",
    layer=1,
    level="fail",
    title="No uncorrected memory error",
    reads=("accelerators",),
    scope="device",
    remedy="Stop work on the device and reset it; when errors return, run the vendor's diagnostics and replace it.",
    parameters={
        "volatile": Parameter("int", 0, "errors", "vendor document: any uncorrected error since the driver was loaded has lost data"),
        "aggregate": Parameter("int", None, "errors", "not judged unless the site says so: remapped rows and retired pages judge a part's history"),
    },
)
def ecc_uncorrected(device, p):
    count = device.number("ecc", "uncorrected_volatile")
    if count > p.volatile:
        return found("%d uncorrected memory errors since the driver was loaded" % count, count, p.expected("volatile"))
    if p.aggregate is not None:
        total = device.number("ecc", "uncorrected_aggregate")
        if total > p.aggregate:
            return found("%d uncorrected memory errors in the part's life" % total, total, p.expected("aggregate"))
    return PASSED
