# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about a device's memory: errors, remapped rows, retired pages."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    rule,
)

_DEVICES = ("accelerators",)
_DESKTOP = re.compile(r"geforce|\barc(?:\(tm\))? (?!pro\b)", re.IGNORECASE)


@rule(
    id="ecc-uncorrected",
    layer=1,
    level="fail",
    title="No uncorrected memory error",
    reads=_DEVICES,
    scope="device",
    remedy="Take the device out of work and reset it; when errors return, run the vendor's diagnostics and replace it.",
    parameters={
        "volatile": Parameter("int", 0, "errors", "vendor document: an uncorrected error since the driver was loaded has lost data"),
        "aggregate": Parameter("int", None, "errors", "not judged unless the site says so: remapped rows and retired pages judge a part's history"),
    },
    follows=("device-lost",),
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


@rule(
    id="ecc-enabled",
    layer=1,
    level="warn",
    title="Memory error correction is on",
    reads=_DEVICES,
    scope="device",
    remedy="Turn ECC on with the vendor's tool and reset the device; without it, corrupt results are silent.",
)
def ecc_enabled(device, p):
    mode = device.word("ecc", "mode")
    if mode in ("disabled", "off"):
        # Cards for desktops are delivered with it off.
        level = "info" if _DESKTOP.search(device.name) else None
        return found("ECC is off", mode, expectation("enabled", origin="vendor document"), level=level)
    if mode not in ("enabled", "on"):
        raise NoAnswer("unknown", "ECC: mode not understood: %s" % mode[:40])
    return PASSED


@rule(
    id="ecc-sram-threshold",
    layer=1,
    level="fail",
    title="SRAM errors below the vendor's replacement threshold",
    reads=_DEVICES,
    scope="device",
    remedy="Run the vendor's field diagnostics and have the device replaced.",
    parameters={
        "uncorrected": Parameter(
            "int", 4, "errors", "suite: sichek, ml-engineering: more than 4 in a part's life; where the device tells no threshold of its own"
        )
    },
    follows=("device-lost",),
)
def ecc_sram_threshold(device, p):
    try:
        exceeded = device.flag("ecc", "sram_threshold_exceeded")
    except NoAnswer as no:
        count = _sram_uncorrected(device)
        if count is None:
            raise no
        if count > p.uncorrected:
            return found("%d uncorrected SRAM errors in the part's life" % count, count, p.expected("uncorrected"))
        return PASSED
    if exceeded:
        origin = "vendor document: NVML nvmlEccSramErrorStatus: bThresholdExceeded"
        return found("The device counts more SRAM errors than its vendor tolerates", True, expectation(False, origin=origin))
    return PASSED


def _sram_uncorrected(device):
    extra = device.data.get("extra")
    if extra.__class__ is not dict:
        return None
    for names in (("sram_uncorrected_aggregate",), ("sram_parity_aggregate", "sram_secded_aggregate")):
        counts = [extra.get(name) for name in names]
        if all(count.__class__ is int for count in counts):
            return sum(counts)
    return None


@rule(
    id="row-remap-pending",
    layer=1,
    level="fail",
    title="No memory row waits to be remapped",
    reads=_DEVICES,
    scope="device",
    remedy="Drain the node and reset the device (or reboot): that activates the spare row. No part has to be replaced for this alone.",
    follows=("device-lost", "ecc-uncorrected"),
)
def row_remap_pending(device, p):
    if device.flag("row_remap", "pending"):
        origin = "vendor document: NVML nvmlDeviceGetRemappedRows: a reset is required to remap the row"
        return found("A row remap is pending until the device is reset", True, expectation(False, origin=origin))
    return PASSED


@rule(
    id="row-remap-failed",
    layer=1,
    level="fail",
    title="No memory row failed to be remapped",
    reads=_DEVICES,
    scope="device",
    remedy="Run the vendor's field diagnostics and have the device replaced: it has no spare row left where one is needed.",
    follows=("device-lost",),
)
def row_remap_failed(device, p):
    if device.flag("row_remap", "failed"):
        origin = "vendor document: NVML nvmlDeviceGetRemappedRows: failureOccurred"
        return found("A row remap has failed", True, expectation(False, origin=origin))
    return PASSED


@rule(
    id="retired-pages-pending",
    layer=1,
    level="fail",
    title="No memory page waits to be retired",
    reads=_DEVICES,
    scope="device",
    remedy="Drain the node and reload the driver or reboot: that retires the page. No part has to be replaced for this alone.",
    follows=("device-lost", "ecc-uncorrected"),
)
def retired_pages_pending(device, p):
    if device.flag("retired_pages", "pending"):
        origin = "vendor document: NVIDIA dynamic page retirement: reload the driver to activate"
        return found("A page retirement is pending until the driver is reloaded", True, expectation(False, origin=origin))
    return PASSED


@rule(
    id="retired-pages",
    layer=1,
    level="fail",
    title="Retired memory pages below the vendor's limit",
    reads=_DEVICES,
    scope="device",
    remedy="Run the vendor's diagnostics and have the device replaced.",
    parameters={
        "most": Parameter(
            "int",
            None,
            "pages",
            "no vendor limit is known",
            by_manufacturer={
                "nvidia": (59, "vendor document: NVIDIA dynamic page retirement: replacement from 60 retired pages"),
                "metax": (64, "suite: kcover treats more than 64 retired pages as failure"),
            },
        ),
        "warn_from": Parameter(
            "int",
            11,
            "pages",
            "suite: gcm gpu_retired_pages: 10 at most; where no limit of the vendor is known",
            by_manufacturer={
                "nvidia": (None, "the vendor's own limit judges"),
                "metax": (1, "our choice: pages are retired for errors only, and a part that loses some is watched"),
                "thead": (1, "our choice: pages are retired for errors only, and the maker publishes no limit"),
            },
        ),
    },
    follows=("device-lost",),
)
def retired_pages(device, p):
    most, few = p.of("most", device.manufacturer), p.of("warn_from", device.manufacturer)
    own = device.data.get("extra")
    own = own.get("bad_page_threshold") if own.__class__ is dict else None
    if most is None and own.__class__ is int and own > 0:
        # AMD's driver knows how many bad pages its part may have.
        count = device.number("retired_pages", "uncorrected")
        if count > own:
            return found("%d memory pages are retired" % count, count, expectation(own, "pages", "vendor document: amd-smi static: bad page threshold"))
        return PASSED
    count = device.number("retired_pages", "uncorrected") + (device.maybe("number", "retired_pages", "corrected") or 0)
    if most is not None and count > most:
        return found("%d memory pages are retired" % count, count, p.expected("most", device.manufacturer))
    if few is not None and count >= few:
        return found("%d memory pages are retired" % count, count, p.expected("warn_from", device.manufacturer), level="warn")
    return PASSED
