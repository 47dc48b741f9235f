# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what only the tools of some makers tell: fault codes, the firmware that a driver accepts, ports that no total is known of, slowdowns, events."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file, told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    LEVELS,
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)

DATA = Path(__file__).parent.parent / "data" / "fault_codes.yml"
_DEVICES = ("accelerators",)
_CODE = re.compile(r"(?<![0-9A-Fa-f])(?:0[xX])?([0-9A-Fa-f]{8})(?![0-9A-Fa-f])")
_SOURCE = "vendor document: Ascend mind-cluster, faultCode.json"
_RANGE = re.compile(r"[\[(]\s*([0-9.]{1,30})\s*,\s*([0-9.]{1,30})\s*[\])]")


@lru_cache(maxsize=1)
def fault_codes():
    """manufacturer -> {code: (class, level, action)}"""
    listed = data_file.load(DATA)
    return {
        manufacturer: {code: (entry["class"], entry["level"], entry["action"]) for entry in classes for code in entry["codes"].split()}
        for manufacturer, classes in listed.items()
    }


def parts_of(device):
    """The device and its dies."""
    return [device, *(d for d in device.group.devices if d.kind == "die" and d.data.get("parent") == device.id)]


@rule(
    id="fault-codes",
    layer=1,
    level="fail",
    title="The device shows no fault code",
    reads=_DEVICES,
    scope="device",
    remedy="Do what the maker's own software does about this code.",
    parameters={
        "ignored": Parameter("list", (), "", "codes that this site knows and accepts"),
        "fail_codes": Parameter("list", (), "", "codes that are a failure here whatever the maker's software does about them"),
    },
    follows=("device-lost",),
)
def device_fault_codes(device, p):
    known = fault_codes().get(device.manufacturer)
    if known is None:
        return not_applicable("%s: its tool tells no fault codes" % device.manufacturer)
    said, ignored, failing = [], {code.upper() for code in p.ignored}, {code.upper() for code in p.fail_codes}
    for part in parts_of(device):
        text = part.maybe("text", "extra", "error_code")
        if text:
            said += [match.upper() for match in _CODE.findall(text)]
    if not said:
        # The tool is asked for codes only where its word for health is not OK.
        if device.word("health", "state") == "ok":
            return PASSED
        return unknown("%s, and no code was told" % (device.maybe("text", "health", "detail") or "not healthy"))
    judged = []
    for code in dict.fromkeys(said):
        if code not in ignored:
            name, level, action = known.get(code, ("not listed", "warn", "look the code up in the maker's list of faults"))
            judged.append((LEVELS.index("fail" if code in failing else level), code, name, action))
    if not judged:
        return PASSED
    worst = max(judged)
    text = ", ".join("%s (%s)" % (code, name.replace("_", " ")) for _level, code, name, _action in sorted(judged, reverse=True)[:6])
    remedy = "%s%s." % (worst[3][:1].upper(), worst[3][1:])
    return found("Fault codes: %s" % text, worst[1], expectation("no code", origin=_SOURCE), level=LEVELS[worst[0]], remedy=remedy)


def _version(text):
    return tuple(int(part) for part in text.strip(".").split(".") if part)


@rule(
    id="firmware-range",
    layer=1,
    level="warn",
    title="The firmware is one that the driver accepts",
    reads=_DEVICES,
    scope="device",
    remedy="Install the firmware that belongs to the driver and reboot.",
)
def firmware_range(device, p):
    word = device.maybe("word", "extra", "compatibility")
    if word is not None and word != "ok":
        return found("The maker's tool calls driver and firmware: %s" % word.replace("_", " ")[:40], word[:40], expectation("OK", origin="vendor document"))
    try:
        accepted = told.extra(device, "firmware_range")
    except NoAnswer:
        if word is not None:  # a driver that names no range, whose tool has compared
            return PASSED
        raise
    match = _RANGE.search(accepted) if accepted.__class__ is str else None
    if match is None:
        raise NoAnswer("unknown", "the range of firmware is not understood")
    version = device.text("firmware", "npu")
    try:
        low, high, own = (_version(text) for text in (*match.groups(), re.split(r"[^0-9.]", version)[0]))
    except ValueError:
        low = high = own = ()
    if not low or not high or not own:
        raise NoAnswer("unknown", "the version of the firmware is not understood: %s" % version[:40])
    if low <= own[: len(low)] and own[: len(high)] <= high:
        return PASSED
    return found("The firmware is %s" % version[:40], version[:40], expectation("%s to %s" % match.groups(), "", "this node: version.info of the driver"))


@rule(
    id="links-like-siblings",
    layer=1,
    level="warn",
    title="As many ports between devices are active as on equal devices",
    reads=_DEVICES,
    scope="group",
    remedy="Reset all devices of the node together; when the port stays inactive, check the baseboard or cable on that side.",
    follows=("links-up", "product-links", "device-lost", "device-vanished"),
)
def links_like_siblings(group, p):
    # Where the tool says how many ports the product uses, links-up judges those that are down: here only whether that number is the others'.
    alike, reason = {}, None
    for device in group.packages:
        links = device.data.get("links")
        if links.__class__ is not dict or "up" not in links:
            continue
        key = "up" if device.maybe("number", "links", "total") is None else "total"
        try:
            alike.setdefault((device.name, key), []).append((device, device.number("links", key)))
        except NoAnswer as no:
            reason = no
    if reason is not None:
        raise reason
    compared = {key: devices for key, devices in alike.items() if len(devices) > 2}
    if not compared:
        return not_applicable("fewer than three equal devices with links")
    outcomes = []
    for (_name, key), devices in compared.items():
        usual, number = Counter(count for _device, count in devices).most_common(1)[0]
        words = "%g ports are active" if key == "up" else "%g links are told of it"
        for device, count in devices:
            if count < usual and number * 2 > len(devices):
                limit = expectation(usual, "active ports" if key == "up" else "links", "this node: equal devices")
                outcomes.append(found(words % count, count, limit, subject=(device.kind, device.id)))
    return outcomes or PASSED


@rule(
    id="device-events",
    layer=1,
    level="warn",
    title="The tool lists no error events of the device",
    reads=_DEVICES,
    scope="device",
    remedy="Read the events with the maker's tool (mx-smi --show-event) and the kernel log around them; reseat or replace what returns.",
    parameters={"tolerated": Parameter("list", ("aer_ce",), "", "our choice: corrected PCIe errors are judged by their number, in the kernel log and on PCI")},
    follows=("device-lost",),
)
def device_events(device, p):
    listed = told.extra(device, "pci_events")
    if listed.__class__ is not dict:
        raise NoAnswer("unknown", "events: not an object")
    counted = {name: count for name, count in listed.items() if name not in p.tolerated and count.__class__ is int and count > 0}
    if counted:
        text = ", ".join("%d %s" % (count, name[:30].replace("_", " ")) for name, count in sorted(counted.items()))
        return found("Events: %s" % text, sum(counted.values()), expectation(0, "events", "vendor document: mx-smi"))
    return PASSED


@rule(
    id="thermal-slowdowns",
    layer=1,
    level="warn",
    title="The device was not slowed down by heat",
    reads=_DEVICES,
    scope="device",
    remedy="Check fans, filters and the inlet temperature; clear the count and run load.",
    parameters={"most": Parameter("int", 0, "slowdowns", "our choice: a part that is cooled as it should be never slows down for heat")},
    follows=("throttle-hardware", "temperature-margin"),
)
def thermal_slowdowns(device, p):
    count = told.extra(device, "thermal_slowdowns")
    if count.__class__ is not int:
        raise NoAnswer("unknown", "thermal slowdowns: not a number")
    return found("Slowed down by heat %d times" % count, count, p.expected("most")) if count > p.most else PASSED
