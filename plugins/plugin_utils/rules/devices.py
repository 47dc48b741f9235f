# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what a device says of itself: there, healthy, cool, at full power, not busy with something else."""

from __future__ import annotations

from fnmatch import fnmatchcase
from statistics import median

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_DEVICES = ("accelerators",)
_LIVE = (("temperature_c", "core"), ("power_w", "draw"), ("memory_used_mib",), ("memory_mib",))
_NOTHING_TO_DO = ("none", "no_action", "no_action_required")


@rule(
    id="device-lost",
    layer=1,
    level="fail",
    title="The device answers",
    reads=_DEVICES,
    scope="device",
    remedy="Reboot the node (a cold start when the device stays away); when it does not return, reseat or replace it.",
)
def device_lost(device, p):
    try:
        state = device.word("health", "state")
    except NoAnswer as no:
        # A tool without a word for health still shows that the device answers when any live value was read from it.
        if any(device.maybe("number", *path) is not None for path in _LIVE[:3]):
            return PASSED
        if device.maybe("number", "memory_mib") is not None:
            return PASSED
        # A tool that never tells a live value of an idle part (tpu-info): its link on PCI is read from the part itself.
        if device.maybe("number", "pcie", "width_current") is not None and all(_never_told(device, *path) for path in _LIVE):
            return PASSED
        return unknown("no live value was read from it: %s" % no.reason)
    if state == "lost":
        detail = device.maybe("text", "health", "detail") or "the tool reports it as lost"
        return found("The device is lost: %s" % detail, state, expectation("ok", origin="vendor document"))
    return PASSED


def _never_told(device, *path):
    try:
        device.number(*path)
    except NoAnswer as no:
        return no.outcome == "not_applicable"
    return False


@rule(
    id="device-health",
    layer=1,
    level="fail",
    title="The vendor's tool calls the device healthy",
    reads=_DEVICES,
    scope="device",
    remedy="Follow the vendor's guide for the state or code that its tool shows.",
    follows=(
        "device-lost",
        "ecc-uncorrected",
        "ecc-sram-threshold",
        "row-remap-failed",
        "row-remap-pending",
        "retired-pages-pending",
        "retired-pages",
        "memory-repair",
        "recovery-action",
        "fault-codes",
        "temperature-margin",
    ),
)
def device_health(device, p):
    state = device.word("health", "state")
    if state == "ok":
        return PASSED
    if state not in ("degraded", "failed", "lost"):
        return unknown("health word not understood: %s" % state)
    detail = device.maybe("text", "health", "detail") or "no detail given"
    level = "warn" if state == "degraded" else None
    return found("The vendor's tool calls it %s: %s" % (state, detail), state, expectation("ok", origin="vendor document"), level=level)


@rule(
    id="recovery-action",
    layer=1,
    level="fail",
    title="The device asks for no recovery action",
    reads=_DEVICES,
    scope="device",
    remedy="Drain the node and do what the device asks for, then run this check again.",
    follows=("device-lost", "ecc-uncorrected", "row-remap-failed", "row-remap-pending", "retired-pages-pending"),
)
def recovery_action(device, p):
    action = device.word("recovery_action")
    if action in _NOTHING_TO_DO:
        return PASSED
    return found("The device asks for: %s" % action.replace("_", " "), action, expectation("none", origin="vendor document: nvidia-smi: GPU Recovery Action"))


@rule(
    id="temperature-margin",
    layer=1,
    level="warn",
    title="Temperature below the part's own limit",
    reads=_DEVICES,
    scope="device",
    remedy="Check fans, air flow, coolant and the seating of the heat sink; compare with the neighboring devices.",
    parameters={
        "margin": Parameter("number", 5, "°C", "our choice: a part this near to its slowdown limit before any load will slow down under load"),
        "limit": Parameter("number", None, "°C", "the part's own slowdown limit, as its tool reports it"),
        "limit_memory": Parameter("number", None, "°C", "the part's own memory limit, as its tool reports it"),
    },
)
def temperature_margin(device, p):
    outcomes = []
    for part, limit in (("core", p.limit), ("memory", p.limit_memory)):
        own = device.maybe("number", "temperature_c", "margin_core") if part == "core" and limit is None else None
        try:
            if own is None:
                value = device.number("temperature_c", part)
                bound = limit if limit is not None else _limit(device, "limit_%s" % part)
                own = bound - value
            observed = device.maybe("number", "temperature_c", part)
        except NoAnswer as no:
            # The core decides; memory counts where the part tells it.
            if part == "core":
                outcomes.append(unknown("%s; no limit to compare with" % no.reason) if no.outcome == "unknown" else not_applicable(no.reason))
            continue
        if own < p.margin:
            # Heat that holds the clocks down is no mere warning.
            level = None if own > 0 and not held_by_heat(device) else "fail"
            where = "Core" if part == "core" else "Memory"
            text = "%s is %g °C below its limit" % (where, own) if own > 0 else "%s is at or above its limit" % where
            outcomes.append(found(text, observed if observed is not None else own, p.expected("margin"), level=level))
    return outcomes or PASSED


def held_by_heat(device):
    """Whether the device says that heat holds its clocks down now."""
    block = device.data.get("throttle")
    active = block.get("active") if block.__class__ is dict else None
    return active.__class__ is list and any(reason.__class__ is str and "thermal" in reason.lower() for reason in active)


def _limit(device, name):
    """The part's own limit as its tool tells it, else that of its product."""
    try:
        return device.number("temperature_c", name)
    except NoAnswer as no:
        if no.outcome == "not_applicable" and name != "limit_core":
            raise  # most parts tell no limit of their memory, and no product has one then
        try:
            return products.expected(device, name + "_c")[0]
        except NoAnswer:
            raise no from None


@rule(
    id="temperature-outlier",
    layer=1,
    level="warn",
    title="No device is much hotter than its neighbors",
    reads=_DEVICES,
    scope="group",
    remedy="Check the cooling of this one device: heat sink, coolant branch, blanking plates.",
    parameters={"above_median": Parameter("number", 15, "°C", "suite: Infera preflight: node median + 15 °C, from 3 devices")},
    follows=("temperature-margin",),
)
def temperature_outlier(group, p):
    outcomes, compared = [], 0
    for part in ("core", "memory"):
        read = [(d, d.maybe("number", "temperature_c", part)) for d in group.packages]
        read = [(d, t) for d, t in read if t is not None]
        compared = max(compared, len(read))
        if len(read) < 3:
            continue
        middle = median(t for _d, t in read)
        known = {outcome.subject for outcome in outcomes}
        for device, t in read:
            if t >= middle + p.above_median and (device.kind, device.id) not in known:  # one device, one finding
                where = "" if part == "core" else "Memory at "
                text = "%s%g °C, %g above the median of its node" % (where, t, t - middle)
                limit = p.expected("above_median", value=middle + p.above_median)
                outcomes.append(found(text, t, limit, subject=(device.kind, device.id)))
    if compared < 3:
        return not_applicable("%d temperatures: an outlier takes at least 3" % compared)
    return outcomes or PASSED


@rule(
    id="power-limit",
    layer=1,
    level="warn",
    title="Power limit not below the part's default",
    reads=_DEVICES,
    scope="device",
    remedy="Set the power limit back to its default, or record the lower one as intended: accelerator_policy_power_limit_lowest.",
    parameters={"lowest": Parameter("number", None, "W", "the part's own default limit, as its tool reports it")},
)
def power_limit(device, p):
    limit, source = device.number("power_w", "limit"), None
    try:
        lowest = p.lowest if p.lowest is not None else device.number("power_w", "limit_default")
    except NoAnswer as no:
        try:
            lowest, source = products.expected(device, "power_w")
        except NoAnswer:
            raise no from None
    if limit < lowest:
        expected = p.expected("lowest", value=lowest) if source is None else expectation(lowest, "W", source)
        return found("Power is limited to %g W" % limit, limit, expected)
    return PASSED


@rule(
    id="persistence",
    layer=1,
    level="info",
    title="The driver stays loaded when idle",
    reads=_DEVICES,
    scope="device",
    remedy="Enable the vendor's persistence daemon: it keeps start times short and settings in force.",
)
def persistence(device, p):
    if device.flag("persistence"):
        return PASSED
    return found("Persistence is off", False, expectation(True, origin="vendor document: NVIDIA driver persistence"))


@rule(
    id="throttle-hardware",
    layer=1,
    level="fail",
    title="Clocks are not held down by heat or power",
    reads=_DEVICES,
    scope="device",
    remedy="Check power supplies, their cables and the cooling of the node: the hardware itself holds the clocks down.",
    parameters={
        "reasons": Parameter(
            "list",
            ["hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"],
            "",
            "suite: Azure healthagent: throttle mask 0xE8 is an error",
            by_manufacturer={
                "amd": (
                    ["prochot", "socket_thermal", "vr_thermal", "hbm_thermal"],
                    "vendor document: amd-smi metric: violation status; the power limit (ppt) is what a part under work reaches",
                )
            },
        )
    },
    follows=("temperature-margin",),
)
def throttle_hardware(device, p):
    active = ["_".join(reason.lower().split()) for reason in device.texts("throttle", "active")]
    bad = sorted(set(active) & set(p.of("reasons", device.manufacturer)))
    if bad:
        expected = p.expected("reasons", device.manufacturer, value="none of them")
        causes = None if held_by_heat(device) else ()  # the power brake has nothing to do with the temperature
        return found("Clocks are held down: %s" % ", ".join(bad).replace("_", " "), ", ".join(bad), expected, caused_by=causes)
    return PASSED


@rule(
    id="foreign-processes",
    layer=1,
    level="info",
    title="No process uses the device",
    reads=_DEVICES,
    scope="device",
    remedy="Expected on a node in service; on a node to be accepted, find out whose process it is.",
    parameters={
        "most": Parameter("int", 0, "processes", "our choice: an idle node before acceptance"),
        "ignored": Parameter("list", (), "", "programs of the site, as names with * and ?: agents that keep a device open"),
    },
)
def foreign_processes(device, p):
    count = device.number("processes")
    if count <= p.most:
        return PASSED
    extra = device.data.get("extra")
    names = extra.get("process_names") if extra.__class__ is dict else None
    names = [clean(name, 40) for name in names if name.__class__ is str] if names.__class__ is list else []
    known = sum(1 for name in names if any(fnmatchcase(name, pattern) for pattern in p.ignored)) if p.ignored else 0
    if count - known <= p.most:
        return PASSED
    others = sorted({name for name in names if not any(fnmatchcase(name, pattern) for pattern in p.ignored)})
    shown = ": %s" % ", ".join(others[:5]) if others else ""
    return found("%d processes use the device%s" % (count - known, shown), count - known, p.expected("most"))


@rule(
    id="identity",
    layer=1,
    level="warn",
    title="The device has an identity of its own",
    reads=_DEVICES,
    scope="device",
    remedy="Without a unique UUID or serial a swapped part cannot be told from the old one: have the vendor program it.",
)
def identity(device, p):
    # A serial that two packages of one board share is a vendor fact; an equal UUID or PCI address is a fault.
    for name in ("uuid", "pci"):
        if device.maybe("text", "identity", name, "quality") == "duplicate":
            value = device.maybe("text", "identity", name, "value") or ""
            return found("Another device of this node has the same %s %s" % (name, value), value, expectation("unique", origin="this node"))
    reasons = []
    for name in ("uuid", "serial", "pci"):
        try:
            device.identifier(name)
            return PASSED
        except NoAnswer as no:
            reasons.append(no.reason)
    return unknown("; ".join(reasons))
