# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the kernel log. What a message means comes from the catalogs (kernel_catalogue.py); here it becomes one finding per thing it names."""

from __future__ import annotations

import datetime
from contextlib import suppress
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import parts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import kernel_catalogue, kernel_causes, paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.causes import SWITCH
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    LEVELS,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

_SECTION = "kernel"
_PARAMETERS = {
    "max_age_hours": Parameter("int", None, "hours", "the whole boot is judged unless the site says so"),
    "whole_boot": Parameter("bool", False, "", "a log that begins after the boot is judged by what it holds; true makes that unknown"),
    "info_codes": Parameter("list", (), "", "the level of the catalog; entries such as xid 94 or amd-reset"),
    "warn_codes": Parameter("list", (), "", "the level of the catalog; entries such as xid 94 or amd-reset"),
    "fail_codes": Parameter("list", (), "", "the level of the catalog; entries such as xid 94 or amd-reset"),
}


class _Said(NamedTuple):
    """One event about one subject."""

    event: object
    level: str
    count: int


def _manufacturers(view):
    """Manufacturers with an accelerator on PCI, None when the bus was not read or shows none: a lost device is not on it."""
    try:
        return set(view.pci()) | {g.manufacturer for g in view.groups if g.packages} or None
    except NoAnswer:
        return None


_LATEST = [None]  # the section classified last: eight rules ask for the same one in a row


def _events(view, domain):
    """(classified events of a domain, the section)."""
    section = view.section(_SECTION)
    if section.text("status") == "unknown":
        raise NoAnswer("unknown", "kernel log: %s" % (section.maybe("text", "reason") or "not read"))
    key = (section.data, _manufacturers(view))
    if _LATEST[0] is None or _LATEST[0][0] is not key[0] or _LATEST[0][1] != key[1]:
        _LATEST[0] = (*key, _assessed(view, section, key[1]))
    return [e for e in _LATEST[0][2] if e.domain == domain], section


def _assessed(view, section, manufacturers):
    boot = section.maybe("text", "boot_time")
    return kernel_catalogue.assess(section.list("events"), manufacturers, boot, lambda: _addresses(view), lambda: _accepted(view))


def _addresses(view):
    """Name of an adapter, interface or drive -> its PCI address."""
    found = {}
    with suppress(NoAnswer):
        found.update((end["id"], end["address"]) for end in paths.of(view).ends)
    with suppress(NoAnswer):
        network = view.section("network_devices").data
        for group, key in (("rails", "device"), ("interfaces", None)):
            told = network.get(group)
            for name, one in told.items() if told.__class__ is dict else ():
                address, name = (one.get("address"), one.get(key) if key else name) if one.__class__ is dict else (None, None)
                if address.__class__ is str and name.__class__ is str:
                    found.setdefault(name, address)
    return found


def _accepted(view):
    """PCI address of an accelerator that was there when the node was last accepted -> when that was."""
    past = view.baseline and view.baseline.accepted
    if not past:
        return {}
    then = {part.slot: part for part in past.parts if part.kind == "accelerator"}
    return {part.slot: past.at for part in parts.of(view) if part.slot in then and parts.same(part, then[part.slot])}


def _time(text):
    try:
        return datetime.datetime.fromisoformat(text[:19])
    except (TypeError, ValueError, KeyError):
        return None


def _fresh(event, section, hours):
    """Whether an event is young enough to be judged, or may be; one whose age is not known is."""
    if hours is None:
        return True
    last, now, error = _time(event.last), _time(section.maybe("text", "timestamp")), section.maybe("number", "time_error_seconds") or 0
    return last is None or now is None or now - last <= datetime.timedelta(hours=hours, seconds=min(max(error, 0), 1e6))


def _names(event):
    """What a site may call an event: "xid 94", or for NVIDIA's Xid just "94"."""
    if event.kind == "message":
        return (event.code,)
    return ("%s %s" % (event.kind, event.code), event.code) if event.kind == "xid" else ("%s %s" % (event.kind, event.code),)


def _level(event, p, threshold, count):
    """count: of the one place that it is about."""
    for level in ("info", "warn", "fail"):
        listed = {" ".join(str(code).lower().replace(":", " ").split()) for code in getattr(p, level + "_codes")}
        if listed.intersection(_names(event)):
            return level
    if event.severity == kernel_catalogue.COUNTED:
        return "warn" if threshold is not None and count >= threshold else None
    return event.severity if event.severity in LEVELS else None


def _device_at(view):
    """PCI address -> package."""
    known = {}
    for device in view.packages:
        address = device.maybe("text", "identity", "pci", "value")
        if address:
            known[address.lower()] = device
    return known


def _subject(place, devices, event):
    if event.kind == "sxid":
        return SWITCH, clean(place, 60)
    if place in devices:
        return devices[place].kind, devices[place].id
    return ("pci" if place.count(":") == 2 else "component"), clean(place, 60)


class _Any:
    """What is not known holds all."""

    def __contains__(self, _address):
        return True


def _adapters(view):
    """PCI addresses of the adapters themselves: links of virtual functions go down with each pod or guest that ends."""
    network = {} if view.missing("network_devices") else view.section("network_devices").data
    told = [network.get(group) for group in ("rails", "interfaces")]
    if any(group.__class__ is not dict or "unknown" in group for group in told):
        return _Any()
    return {one["address"] for group in told for one in group.values() if one.__class__ is dict and one.get("address").__class__ is str}


def _judge(view, p, domain, threshold=None, switches=False):
    events, section = _events(view, domain)
    if domain == "accelerator":
        events = [event for event in events if (event.kind == "sxid") is switches]
    devices = _device_at(view) if events else {}
    own = _adapters(view) if domain == "nic" else ()
    subjects = {}
    for event in events:
        if not _fresh(event, section, p.max_age_hours):
            continue
        for named in event.places or {"": event.count}:
            count = event.places[named] if len(event.places) > 1 else event.count
            level = _level(event, p, threshold, count)
            if level is None:
                continue
            if event.code == "nic-link-down" and level == "warn" and named.count(":") == 2 and named not in own:
                level = "info"
            place = kernel_causes.drive(named) if domain == "storage" else named
            subject = _subject(place, devices, event) if place else ("node", view.node)
            key = (subject, kernel_causes.of(event, place, devices.get(place), view))
            subjects.setdefault(key, []).append(_Said(event, level, count))
    outcomes = [_finding(subject, causes, said, section) for (subject, causes), said in subjects.items()]
    gap = _gap(section, p)
    if gap:
        outcomes.append(unknown(gap))
    if not outcomes:
        covers = section.maybe("text", "covers_from") or "a time that is not known"
        return passed(evidence={"lines": section.maybe("number", "lines"), "covers_from": covers})
    return outcomes


def _gap(section, p):
    """Why a log without a finding proves nothing, "" when it does."""
    if section.maybe("number", "dropped"):
        return "kernel log: %s" % (section.maybe("text", "reason") or "lines were not kept")
    if p.whole_boot and section.text("status") != "ok":
        return "kernel log: %s" % (section.maybe("text", "reason") or "not complete")
    if p.whole_boot and (section.maybe("text", "since") or "boot") != "boot":
        return "kernel log: only what was said since %s was read" % (section.maybe("text", "covers_from") or "an earlier reading")
    return ""


def _finding(subject, causes, said, section):
    said = sorted(said, key=lambda s: (-LEVELS.index(s.level), s.event.title))
    titles = {}
    for one in said:
        titles.setdefault(one.event.title, []).append(one)
    words = []
    for title, ones in titles.items():
        event, times = ones[0].event, sum(one.count for one in ones)
        last = max((one.event.last for one in ones if isinstance(one.event.last, str)), default="")
        when = ", last %s" % show(last, 30) if last else ""
        words.append("%s: %s (%d time%s%s)" % (title, event.summary, times, "" if times == 1 else "s", when))
    summary = "; ".join(words[:3]) + ("; and %d further kinds" % (len(words) - 3) if len(words) > 3 else "")
    worst = said[0].event
    return found(
        clean(summary, 700),
        observed=sum(one.count for one in said),
        expected=expectation(0, "messages", worst.source or "this collection: a code of no catalog"),
        level=said[0].level,
        subject=subject,
        evidence={"messages": [clean(one.event.sample, 240) for one in said[:3]], "codes": list(titles)[:20], "source": section.maybe("text", "source")},
        remedy=clean("%s%s." % (worst.action[:1].upper(), worst.action[1:]), 200) if worst.action else "",
        caused_by=causes,
    )


_COMMON = {"reads": (_SECTION,), "scope": "node", "layer": 1}


@rule(
    id="device-vanished",
    layer=1,
    level="fail",
    title="Every accelerator that the kernel log names since the start is still on PCI",
    reads=(_SECTION, "pci"),
    scope="node",
    remedy="Start the node from cold; when the device does not return, reseat or replace it. One that was taken out on purpose: restart the node.",
)
def device_vanished(view, p):
    there = view.pci()  # NoAnswer where the bus was not read
    events, _of = _events(view, "accelerator")
    if not there and not events:
        return not_applicable("no accelerator on PCI, and none in the kernel log")
    known = {entry.maybe("text", "address") for entry in view.section("pci").objects("devices")}
    gone = {}
    for event in events:
        if event.severity == "fail" and event.kind != "sxid":
            for place in event.places:
                if place.count(":") == 2 and place not in known:
                    gone.setdefault(place, event)
    if gone:
        names = ", ".join(clean(place, 20) for place in sorted(gone)[:8])
        text = "%s that the kernel log names %s on PCI any more: %s" % (
            *(("An accelerator", "is not") if len(gone) == 1 else ("%d accelerators" % len(gone), "are not")),
            names,
        )
        evidence = {"messages": [clean(event.sample, 240) for _place, event in sorted(gone.items())[:3]]}
        return found(text, len(gone), expectation(0, "accelerators", "this node: PCI"), evidence=evidence)
    return passed()


@rule(
    id="kernel-accelerator-events",
    level="fail",
    title="No accelerator error in the kernel log",
    remedy="Do what the manufacturer asks for this code.",
    parameters=_PARAMETERS,
    follows=(
        "device-lost",
        "device-vanished",
        "detection-agrees",
        "accelerators-detected",
        "recovery-action",
        "ecc-uncorrected",
        "row-remap-failed",
        "row-remap-pending",
        "retired-pages-pending",
        "links-up",
        "driver-library-match",
        "kernel-nvswitch-errors",
    ),
    **_COMMON,
)
def kernel_accelerator_events(view, p):
    return _judge(view, p, "accelerator")


@rule(
    id="kernel-nvswitch-errors",
    level="fail",
    title="No error of an NVSwitch in the kernel log",
    remedy="Do what NVIDIA asks for this SXid; after a fatal one reset all devices and switches of the node together.",
    parameters=_PARAMETERS,
    follows=kernel_causes.GONE,
    **_COMMON,
)
def kernel_nvswitch_errors(view, p):
    makers = _manufacturers(view)
    outcomes = _judge(view, p, "accelerator", switches=True)
    if makers is not None and "nvidia" not in makers and outcomes.__class__ is not list:
        return not_applicable("no accelerator of NVIDIA")
    return outcomes


@rule(
    id="kernel-pcie-errors",
    level="fail",
    title="No PCI Express error in the kernel log",
    remedy="Reseat the device and its riser or cable; replace what keeps failing.",
    parameters=dict(_PARAMETERS, corrected_errors=Parameter("int", 100, "errors", "this collection: so many cost bandwidth and foretell worse")),
    follows=(*kernel_causes.OF_PCIE, *kernel_causes.FEWER),
    **_COMMON,
)
def kernel_pcie_errors(view, p):
    return _judge(view, p, "pcie", p.corrected_errors)


@rule(
    id="kernel-memory-errors",
    level="fail",
    title="No memory error or machine check in the kernel log",
    remedy="Replace the memory module or part it names.",
    parameters=dict(_PARAMETERS, corrected_errors=Parameter("int", 100, "errors", "this collection: a module that corrects this often is replaced early")),
    **_COMMON,
)
def kernel_memory_errors(view, p):
    return _judge(view, p, "memory", p.corrected_errors)


@rule(
    id="kernel-nic-errors",
    level="fail",
    title="No network adapter error and no flapping link in the kernel log",
    remedy="Check cable, transceiver, switch port, slot and firmware of the adapter.",
    parameters=dict(_PARAMETERS, link_downs=Parameter("int", 3, "times", "this collection: a link that goes down this often since boot flaps")),
    follows=("kernel-pcie-errors", "pcie-path-width", "pcie-path-speed", "pcie-errors"),
    **_COMMON,
)
def kernel_nic_errors(view, p):
    return _judge(view, p, "nic", p.link_downs)


@rule(
    id="kernel-storage-errors",
    level="fail",
    title="No drive or file system error in the kernel log",
    remedy="Check the drive; replace it before the file system on it is used.",
    parameters=_PARAMETERS,
    follows=("drive-health", "drive-state", "kernel-pcie-errors"),
    **_COMMON,
)
def kernel_storage_errors(view, p):
    return _judge(view, p, "storage")


@rule(
    id="kernel-lockups",
    level="fail",
    title="No lockup, hung task or kernel failure in the kernel log",
    remedy="Look at the driver or storage the message names, then restart the machine.",
    parameters=_PARAMETERS,
    follows=("device-lost", "device-vanished"),
    **_COMMON,
)
def kernel_lockups(view, p):
    return _judge(view, p, "lockup")


@rule(
    id="kernel-oom",
    level="warn",
    title="The machine did not run out of memory or file handles",
    remedy="Find what fills the memory; raise the limit it names.",
    parameters=_PARAMETERS,
    **_COMMON,
)
def kernel_oom(view, p):
    return _judge(view, p, "limits")


@rule(
    id="kernel-thermal",
    level="warn",
    title="No overheating in the kernel log",
    remedy="Check fans, filters and the inlet temperature.",
    parameters=_PARAMETERS,
    follows=("bmc-sensors",),
    **_COMMON,
)
def kernel_thermal(view, p):
    return _judge(view, p, "thermal")
