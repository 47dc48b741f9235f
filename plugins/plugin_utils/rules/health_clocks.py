# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about clocks, power and heat over time: what holds a device back though nothing is broken, or held it back earlier."""

from __future__ import annotations

from collections import Counter

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
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_DEVICES = ("accelerators",)
_LIMITS = (
    ("power_w", "limit", "Power is limited to %g W", "W"),
    ("clocks_mhz", "core_max", "The core can run at %g MHz at most", "MHz"),
    ("clocks_mhz", "memory_max", "The memory can run at %g MHz at most", "MHz"),
    ("links", "speed_gb_s", "The slowest link runs at %g GB/s", "GB/s"),
)


@rule(
    id="clocks-lowered",
    layer=1,
    level="warn",
    title="Nobody set the clocks below the part's default",
    reads=_DEVICES,
    scope="device",
    remedy="Reset application clocks or the performance level (nvidia-smi -rac, -rgc; amd-smi reset --perf-determinism --clocks), or record it as intended.",
    parameters={
        "lowest_mhz": Parameter("number", None, "MHz", "the part's own default, as its tool reports it"),
        "levels": Parameter("list", ("auto",), "", "vendor document: amdgpu power management: performance levels that the site accepts"),
    },
)
def clocks_lowered(device, p):
    extra = device.data.get("extra")
    level = extra.get("performance_level") if extra.__class__ is dict else None
    try:
        clocks = told.part(device, "clocks_mhz")
    except NoAnswer:
        if level.__class__ is not str:
            raise
        clocks = {}  # Hygon's tool tells the level alone
    if clocks.__class__ is not dict:
        raise NoAnswer("unknown", "clocks_mhz: not an object")
    chosen, usual = clocks.get("core_set"), clocks.get("core_default")
    if p.lowest_mhz is not None:
        usual = p.lowest_mhz
        chosen = chosen if chosen.__class__ in (int, float) else clocks.get("core_max")
    if chosen.__class__ in (int, float) and usual.__class__ in (int, float):
        if chosen < usual:
            return found("The core is set to %g MHz at most" % chosen, chosen, p.expected("lowest_mhz", value=usual))
        return PASSED
    if clocks.get("locked") is True:
        return found("The clock of the core is locked", "locked", expectation("not locked", origin="vendor document: amd-smi metric --clock"))
    if level.__class__ is str:
        shown = level.lower().replace("amdsmi_dev_perf_level_", "")[:40]
        if shown in p.levels:
            return PASSED
        if shown != "unknown":
            return found("The performance level is %s" % clean(shown.replace("_", " ")), clean(shown), p.expected("levels", value=", ".join(p.levels)))
    if clocks.get("locked") is False:
        return PASSED
    device.number("clocks_mhz", "core_set" if "core_set" in clocks else "core")
    return not_applicable("this part tells no clock that could be set")


@rule(
    id="clocks-product",
    layer=1,
    level="info",
    title="The highest clock is that of the product",
    reads=_DEVICES,
    scope="device",
    remedy="Compare VBIOS and part number with the neighbors: a card sold with lower clocks is no fault, one among others is.",
    parameters={"tolerance_percent": Parameter("number", 3, "%", "our choice: steps of the clock are smaller")},
)
def clocks_product(device, p):
    value, source = products.expected(device, "core_mhz")
    told.part(device, "clocks_mhz", "core_max")
    highest = device.number("clocks_mhz", "core_max")
    if highest < value * (1 - p.tolerance_percent / 100.0):
        return found("The core can run at %g MHz at most" % highest, highest, expectation(value, "MHz", source))
    return PASSED


@rule(
    id="throttle-history",
    layer=1,
    level="info",
    title="Heat and power supply held the clocks down no longer than a moment",
    reads=_DEVICES,
    scope="device",
    remedy="Look at cooling and power supply of the node under load: it slows down in work, though it is idle and cool now.",
    parameters={
        "heat_percent": Parameter("number", 1, "% of the time", "our choice: a node that is cooled well spends less; counted since the driver was loaded"),
        "brake_seconds": Parameter("number", 60, "s", "our choice: the power brake is a signal of the node's supplies, never one of normal work"),
        "warn_percent": Parameter("number", 20, "% of the time", "our choice: from here on the node is visibly slower than its neighbors"),
    },
    follows=("throttle-hardware", "temperature-margin"),
)
def throttle_history(device, p):
    block = told.part(device, "throttle")
    if block.__class__ is dict and "share_percent" in block:
        shares = told.numbers(device, "throttle", "share_percent")
        shares = {name: value for name, value in shares.items() if "thermal" in name or name == "prochot"}
        return _hot(max(shares.items(), key=lambda item: item[1]), p) if shares else PASSED
    seconds = told.numbers(device, "throttle", "seconds")
    brake = seconds.get("hw_power_brake_slowdown", 0)
    if brake > p.brake_seconds:
        return found("The power brake held the clocks down for %d s" % brake, brake, p.expected("brake_seconds"), level="warn")
    heat = max(seconds.get("hw_thermal_slowdown", 0), seconds.get("sw_thermal_slowdown", 0))
    if heat <= p.brake_seconds:
        return PASSED
    uptime = device.group.view.section("host").number("uptime_seconds")
    return _hot(("heat", 100.0 * heat / max(uptime, heat, 1)), p)


def _hot(worst, p):
    name, share = worst
    if share <= p.heat_percent:
        return PASSED
    level = "warn" if share > p.warn_percent else None
    return found("Clocks were held down %.1f %% of the time: %s" % (share, name.replace("_", " ")), round(share, 1), p.expected("heat_percent"), level=level)


@rule(
    id="product-power",
    layer=1,
    level="info",
    title="The default power limit is that of the product",
    reads=_DEVICES,
    scope="device",
    remedy="Compare part number and VBIOS with the neighbors: makers of systems order cards with lower limits, one among others is a wrong part.",
    parameters={"tolerance_percent": Parameter("number", 2, "%", "our choice")},
)
def product_power(device, p):
    value, source = products.expected(device, "power_w")
    try:
        default = device.number("power_w", "limit_default")
    except NoAnswer:
        default = None
    if default is None:
        told.part(device, "power_w", "limit_max")
        default = device.number("power_w", "limit_max")
    if default < value * (1 - p.tolerance_percent / 100.0):
        return found("The default power limit is %g W" % default, default, expectation(value, "W", source))
    return PASSED


@rule(
    id="limits-like-siblings",
    layer=1,
    level="warn",
    title="Equal devices have equal limits of power and clocks",
    reads=_DEVICES,
    scope="group",
    remedy="Compare settings, VBIOS and part number of this one device with its neighbors: jobs on all of them wait for the slowest.",
    parameters={"tolerance_percent": Parameter("number", 5, "%", "our choice: boards of one product are set a step apart by their makers")},
    follows=("device-lost", "power-limit", "clocks-lowered", "link-speed", "links-up", "firmware-mixed", "mixed-models"),
)
def limits_like_siblings(group, p):
    # What neither the tool nor the catalogue knows a default of is judged by the other devices.
    outcomes, compared, gap, reason = [], False, None, None
    for block, key, words, unit in _LIMITS:
        alike, silent = {}, None
        for device in group.packages:
            if device.data.get("partition").__class__ is dict and device.maybe("flag", "partition", "enabled"):
                continue  # a device that is divided has limits of its own
            try:
                told.part(device, block, key)
                alike.setdefault(device.name, []).append((device, device.number(block, key)))
            except NoAnswer as no:
                silent = told.graver(silent, no)
        if silent is not None:
            reason = told.graver(reason, silent)
            gap = told.graver(gap, silent) if alike else gap
        for devices in alike.values():
            compared = compared or len(devices) > 2
            outcomes += _below(devices, words, unit, p, {outcome.subject for outcome in outcomes})
    if outcomes:
        return outcomes
    # Some tell it and one does not, or none does.
    unread = [no for no in (gap, None if compared else reason) if no is not None and no.outcome == "unknown"]
    if unread:
        raise unread[0]
    return PASSED if compared else not_applicable("fewer than three equal devices to compare")


def _below(devices, words, unit, p, known):
    """Findings about those below what most of them have. known: subjects that have one."""
    usual, number = Counter(value for _device, value in devices).most_common(1)[0]
    if len(devices) < 3 or number * 2 <= len(devices):
        return []
    limit = expectation(usual, unit, "this node: equal devices")
    odd = [(device, value) for device, value in devices if value < usual * (1 - p.tolerance_percent / 100.0)]
    return [found(words % value, value, limit, subject=(d.kind, d.id)) for d, value in odd if (d.kind, d.id) not in known]
