# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about a device's memory that go by counts: spare rows, repairs, corrected errors by rate and place."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import products, told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
)

_DEVICES = ("accelerators",)
_REPAIRS = (
    ("unrepairable_memory", "Memory of the device cannot be repaired", "fail"),
    ("channel_repair_pending", "A repair of a memory channel is pending until the device is reset", "warn"),
    ("tpc_repair_pending", "A repair of a compute unit is pending until the device is reset", "warn"),
)


@rule(
    id="row-remap-banks",
    layer=1,
    level="warn",
    title="Every memory bank has a spare row left",
    reads=_DEVICES,
    scope="device",
    remedy="Plan the replacement of the device: the next uncorrected error in such a bank cannot be repaired.",
    parameters={"without": Parameter("int", 0, "banks", "vendor document: NVML nvmlDeviceGetRowRemapperHistogram: banks with no spare row")},
    follows=("row-remap-failed",),
)
def row_remap_banks(device, p):
    banks = told.numbers(device, "row_remap", "banks")
    if "none" not in banks:
        raise NoAnswer("unknown", "row_remap.banks: how many have no spare row is not told")
    if banks["none"] > p.without:
        return found("%d memory banks have no spare row left" % banks["none"], banks["none"], p.expected("without"))
    # Counts that leave out banks say nothing of these.
    counted, product = sum(banks.values()), products.of(device)
    least = 1 if product is None else product.facts.get("row_banks", 1)
    if counted < least:
        raise NoAnswer("unknown", "row_remap.banks: %d of %d banks are counted" % (counted, least))
    return PASSED


@rule(
    id="row-remap-count",
    layer=1,
    level="fail",
    title="Rows remapped for uncorrected errors below the limit",
    reads=_DEVICES,
    scope="device",
    remedy="Run the vendor's field diagnostics and have the device replaced.",
    parameters={"most": Parameter("int", None, "rows", "the product catalogue of this collection")},
    follows=("row-remap-failed",),
)
def row_remap_count(device, p):
    count = device.number("row_remap", "uncorrected")
    if not count:
        return PASSED
    most, source = (p.most, None) if p.most is not None else products.expected(device, "remapped_rows")
    if count > most:
        limit = p.expected("most") if source is None else expectation(most, "rows", source)
        return found("%d memory rows are remapped for uncorrected errors" % count, count, limit)
    return PASSED


@rule(
    id="memory-repair",
    layer=1,
    level="fail",
    title="No memory repair is pending or impossible",
    reads=_DEVICES,
    scope="device",
    remedy="Pending: drain the node and reset the device or reboot, that alone repairs it. Unrepairable: have the device replaced.",
    follows=("device-lost", "ecc-uncorrected", "row-remap-failed", "recovery-action"),
)
def memory_repair(device, p):
    extra = device.data.get("extra")
    said = [extra.get(key) for key, _words, _level in _REPAIRS] if extra.__class__ is dict else []
    if True in said:
        key, words, level = _REPAIRS[said.index(True)]
        return found(words, key.replace("_", " "), expectation("none", origin="vendor document: nvidia-smi: repair status"), level=level)
    if False in said:
        return PASSED
    for (key, _words, _level), value in zip(_REPAIRS, said):
        if value is not None:
            told.extra(device, key)  # why it is not known
    return not_applicable("memory repair: not told of this part")


@rule(
    id="ecc-corrected",
    layer=1,
    level="warn",
    title="Corrected memory errors are no flood",
    reads=_DEVICES,
    scope="device",
    remedy="Corrected errors lose no data. So many of them cost speed and announce worse: run the vendor's diagnostics at the next maintenance.",
    parameters={
        "volatile": Parameter("int", 20000000, "errors", "suite: Azure node health checks: 20 million, after lower limits took healthy nodes out of work"),
        "sram": Parameter("int", 10000, "errors", "suite: Azure node health checks: SRAM counters"),
    },
    follows=("ecc-uncorrected",),
)
def ecc_corrected(device, p):
    count = device.number("ecc", "corrected_volatile")
    if count > p.volatile:
        return found("%d corrected memory errors since the driver was loaded" % count, count, p.expected("volatile"))
    if count > p.sram:
        extra = device.data.get("extra")
        sram = extra.get("sram_corrected_volatile") if extra.__class__ is dict else None
        if sram.__class__ is int and sram > p.sram:
            return found("%d corrected errors in SRAM since the driver was loaded" % sram, sram, p.expected("sram"))
    return PASSED


@rule(
    id="ecc-deferred",
    layer=1,
    level="warn",
    title="No deferred memory error waits to be consumed",
    reads=_DEVICES,
    scope="device",
    remedy="Drain the node and reset the device: whoever reads the poisoned memory is ended. Errors that return: run the vendor's diagnostics.",
    parameters={"most": Parameter("int", 0, "errors", "vendor document: amd-smi metric: deferred errors are poisoned data that nobody has read yet")},
    follows=("ecc-uncorrected",),
)
def ecc_deferred(device, p):
    count = told.extra(device, "ecc_deferred")
    if count.__class__ is not int:
        raise NoAnswer("unknown", "deferred errors: not a number")
    if count > p.most:
        blocks = device.data["extra"].get("ecc_blocks")
        where = ", ".join(sorted(blocks)[:8]) if blocks.__class__ is dict and "unknown" not in blocks else ""
        return found("%d deferred memory errors%s" % (count, " in %s" % where if where else ""), count, p.expected("most"))
    return PASSED


def _sold_with(device):
    """(MiB, source) of the catalogue, else of the maker's reader: a first Ascend 910 prints the name of another part."""
    try:
        return products.expected(device, "memory_mib")
    except NoAnswer:
        nominal = device.maybe("number", "extra", "hbm_nominal_mib")
        if nominal is None:
            raise
        return nominal, "vendor document: %s" % (device.maybe("text", "extra", "hbm_nominal_source") or "not named")


@rule(
    id="product-memory",
    layer=1,
    level="fail",
    title="The device has the memory of its product",
    reads=_DEVICES,
    scope="device",
    remedy="A stack or chip of memory is missing, or something shows a part of the card only: compare with the neighboring devices, then replace it.",
    parameters={
        "least_mib": Parameter("number", None, "MiB", "the product catalogue of this collection"),
        "tolerance_percent": Parameter("number", 3, "%", "our choice: drivers reserve less; one stack of eight is 12.5 %"),
    },
    follows=("device-lost",),
)
def product_memory(device, p):
    size = device.number("memory_mib")
    least, source = (p.least_mib, None) if p.least_mib is not None else _sold_with(device)
    if size >= least * (1 - p.tolerance_percent / 100.0):
        return PASSED
    if device.manufacturer == "amd" and device.maybe("flag", "partition", "enabled"):
        return not_applicable("the device is partitioned, and its tool tells the memory of a part")
    virtual = device.data.get("extra")
    if source is not None and virtual.__class__ is dict and (virtual.get("virtual_function") is True or virtual.get("virtualization") == "vgpu"):
        raise NoAnswer("not_applicable", "a virtual device has the memory that its host gives it")
    return found("The device has %g MiB of memory" % size, size, p.expected("least_mib") if source is None else expectation(least, "MiB", source))
