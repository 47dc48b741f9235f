# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what is there: does the node answer, are its accelerators found, are they the ones that are expected."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Outcome,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

SITE = "site policy"
# Drivers that keep a device from its vendor's: handed to a guest, to user space or held for nobody (Linux drivers/vfio, drivers/uio, drivers/pci), or nouveau.
FOREIGN = ("vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub", "pciback", "xen-pciback", "nouveau", "nova", "nova-core")
_IN_USER_SPACE = {"tpu": ("vfio-pci",)}  # tpu_info/device.py: libtpu drives TPU v5 and newer through /dev/vfio


@rule(
    id="node-answers",
    layer=1,
    level="fail",
    title="The node answered and every section was read",
    reads=(),
    scope="node",
    remedy="Make the node reachable (ssh, Python 3.9 or newer, sudo) and run again; the reason says which of them was missing.",
)
def node_answers(view, p):
    if not view.answered:
        return unknown("no answer: %s" % view.no_answer())
    return [
        unknown(reason, ("section", name)) if reason else passed(("section", name)) for name, reason in ((n, view.missing(n)) for n in sorted(view.sections))
    ]


@rule(
    id="no-accelerator",
    layer=1,
    level="fail",
    title="The node has accelerators",
    reads=(),
    scope="node",
    remedy="Check that the cards are seated, powered and enabled in the BIOS; for a node without any set accelerator_expected_count: 0.",
    follows=("device-vanished",),
)
def no_accelerator(view, p):
    if any(group.packages for group in view.groups):
        return PASSED
    if view.policy.nothing_expected:
        return not_applicable("none is expected")
    if any(view.pci().values()):
        return PASSED
    if view.virtual_functions():
        return unknown("PCI shows virtual functions only, and none was read")
    claims = [n for n in view.sections if n.startswith("accelerators.") and (view.missing(n) or view.group(n.partition(".")[2]).state != "not-declared")]
    if claims:
        return unknown("PCI shows none, but %s could not be read" % ", ".join(claims))
    return found("No accelerator was found on PCI", 0, expectation("at least one", origin=SITE))


@rule(
    id="accelerators-detected",
    layer=1,
    level="fail",
    title="The vendor's tool reads the accelerators that PCI shows",
    reads=(),
    scope="node",
    remedy="Install or load the vendor's driver and tool; when the tool hangs, look for the device it hangs on in the kernel log.",
    follows=("driver-library-match", "driver-built", "driver-loadable"),
)
def accelerators_detected(view, p):
    outcomes = []
    for group in view.groups:
        subject = ("manufacturer", group.manufacturer)
        reason = group.reason
        if group.state == "ok":
            outcomes.append(passed(subject))
        elif group.state == "not-declared":
            outcomes.append(not_applicable(reason, subject))
        else:
            outcomes.append(_not_detected(view, group, reason, subject))
    filed = {group.manufacturer for group in view.groups}
    try:
        on_bus = view.pci()
    except NoAnswer as no:
        on_bus = {}
        if not view.groups:
            outcomes.append(unknown(no.reason))
    for manufacturer in sorted(set(on_bus) - filed):
        problem = view.missing("accelerators.%s" % manufacturer)
        outcomes.append(unknown("%d on PCI: %s" % (len(on_bus[manufacturer]), problem), ("manufacturer", manufacturer)))
    return outcomes or not_applicable("no accelerator on PCI")


def _not_detected(view, group, reason, subject):
    """Unavailable: a certain fault where PCI shows cards and no kernel driver holds any of them, else not known."""
    try:
        entries = view.pci().get(group.manufacturer, [])
    except NoAnswer:
        entries = []
    drivers = [e.data.get("driver", "") for e in entries]
    own = _IN_USER_SPACE.get(group.manufacturer, ())
    if entries and not group.packages and all(d is None or (d in FOREIGN and d not in own) for d in drivers):
        foreign = sorted({d for d in drivers if d is not None})
        holder = "the driver %s holds them instead of the vendor's" % ", ".join(foreign) if foreign else "no kernel driver holds them"
        summary = "%d %s accelerators on PCI, and %s" % (len(entries), group.manufacturer, holder)
        return found(summary, 0, expectation(len(entries), "accelerators", "this node: PCI"), subject=subject, evidence=reason)
    return unknown(reason, subject)


@rule(
    id="detection-agrees",
    layer=1,
    level="fail",
    title="PCI, the vendor's tool and its own count name the same accelerators",
    reads=(),
    scope="node",
    remedy="A card on PCI that the tool does not show has fallen off its driver: see the kernel log, then reboot; reseat it when it stays away.",
    follows=("device-lost", "accelerators-detected", "driver-loadable"),
)
def detection_agrees(view, p):
    outcomes = []
    for group in view.groups:
        if group.state == "not-declared" and not group.devices:
            continue
        subject = ("manufacturer", group.manufacturer)
        if not group.packages:
            outcomes.append(unknown(group.reason, subject))
            continue
        try:
            outcomes.append(_agrees(group, view.pci().get(group.manufacturer, []), subject))
        except NoAnswer as no:
            outcomes.append(unknown(no.reason, subject))
        counted = group.maybe("number", "detection", "host", "accelerators")
        if counted is not None and counted > len(group.packages) and not group.gap:
            command = group.maybe("text", "detection", "host", "command") or "the vendor's tool"
            summary = "%s counts %d, %d were read" % (command, counted, len(group.packages))
            outcomes.append(found(summary, len(group.packages), expectation(counted, "accelerators", "this node: %s" % command), subject=subject))
    return outcomes or not_applicable("no accelerator was read")


def denied(group):
    """Device nodes of a manufacturer that the session which read the node was not allowed to open."""
    name = "allocation.%s" % group.manufacturer
    if group.view.missing(name):
        return []
    listed = group.view.section(name).maybe("list", "denied_nodes") or ()
    return [show(path, 40) for path in listed if path.__class__ is str]


def _agrees(group, entries, subject):
    on_bus = sorted(e.maybe("text", "address") or "?" for e in entries)
    # A package may show one function per die (Ascend A3), so addresses are compared, and counts only where addresses are missing.
    told = {d.maybe("text", "identity", "pci", "value") for d in group.devices if d.kind in ("package", "die")}
    if None not in told:
        unseen = [a for a in on_bus if a not in told]
    elif len(on_bus) in (len(group.packages), sum(d.kind == "die" for d in group.devices)):
        unseen = []
    else:
        unseen = ["%d of them" % (len(on_bus) - len(group.packages))] if len(on_bus) > len(group.packages) else []
    if unseen and group.gap:
        return unknown(group.gap, subject)
    if unseen and denied(group):
        return unknown("this session may not open %s: what the tool does not list is hidden from it" % ", ".join(denied(group)[:8]), subject)
    if unseen:
        summary = "PCI shows %d %s accelerators, the tool %d; not seen by the tool: %s" % (
            len(on_bus),
            group.manufacturer,
            len(group.packages),
            ", ".join(unseen[:16]),
        )
        return found(summary, len(group.packages), expectation(len(on_bus), "accelerators", "this node: PCI"), subject=subject)
    if len(on_bus) < len(group.packages):
        # A mapped guest or container hides the bus; the tool's own list is then the only witness.
        return unknown("the tool shows %d, PCI %d" % (len(group.packages), len(on_bus)), subject)
    return passed(subject)


@rule(
    id="accelerator-count",
    layer=1,
    level="fail",
    title="As many accelerators as expected",
    reads=(),
    scope="node",
    remedy="Find the missing card: PCI, kernel log, then reseat; or correct accelerator_expected_count.",
    follows=("detection-agrees", "no-accelerator", "accelerators-detected", "device-vanished", "device-lost"),
)
def accelerator_count(view, p):
    expected = view.policy.expected_count
    if expected is None:
        return not_applicable("accelerator_expected_count is not set; the cohort is compared instead")
    if isinstance(expected, dict):
        return [_count(view, name, count, ("manufacturer", name)) for name, count in sorted(expected.items())]
    return _count(view, None, expected, None)


def _count(view, manufacturer, expected, subject):
    groups = [g for g in view.groups if manufacturer in (None, g.manufacturer)]
    count = sum(len(g.packages) for g in groups)
    if count != expected:
        for group in groups:
            # Some may be there and unread; those that were read prove a surplus, never a shortage.
            if group.state not in ("ok", "not-declared") and count < expected and not _short_on_bus(view, manufacturer, expected):
                return unknown(group.reason, subject)
        if count < expected and not groups:
            on_bus = view.pci()
            seen = sum(len(v) for k, v in on_bus.items() if manufacturer in (None, k))
            if seen >= expected:
                return unknown("%d on PCI, not read" % seen, subject)
        if view.missing("pci") and not groups:
            return unknown(view.missing("pci"), subject)
        summary = "%d %s, %d expected" % (count, "%s accelerators" % manufacturer if manufacturer else "accelerators", expected)
        return found(summary, count, expectation(expected, "accelerators", SITE), subject=subject)
    return passed(subject)


def _short_on_bus(view, manufacturer, expected):
    """PCI itself shows fewer than expected: a fact, however little the tool says."""
    try:
        return sum(len(v) for k, v in view.pci().items() if manufacturer in (None, k)) < expected
    except NoAnswer:
        return False


@rule(
    id="accelerator-model",
    layer=1,
    level="fail",
    title="The expected model",
    reads=("accelerators",),
    scope="device",
    remedy="Correct the inventory (accelerator_expected_model, with * for any text) or the part.",
)
def accelerator_model(device, p):
    patterns = device.group.view.policy.expected_model
    if not patterns:
        return not_applicable("accelerator_expected_model is not set")
    name = device.text("name")
    if any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns):
        return PASSED
    if device.group.gap:  # a source of last resort may name the part in another way
        return unknown("%s (named %s)" % (device.group.gap, name))
    return found("The model is %s" % name, name, expectation(" or ".join(patterns), origin=SITE))


@rule(
    id="mixed-models",
    layer=1,
    level="fail",
    title="One model of accelerator in the node",
    reads=("accelerators",),
    scope="group",
    remedy="Find out which card was replaced by another model; a mixed node by intent turns this rule off for itself.",
    follows=("product-memory",),
)
def mixed_models(group, p):
    kinds = Counter((d.text("name"), d.maybe("number", "memory_mib")) for d in group.packages)
    if len({name for name, _memory in kinds}) == 1 and len({memory for _name, memory in kinds if memory is not None}) < 2:
        for device in group.packages if len(group.packages) > 1 else ():
            try:
                device.fact("memory_mib")
            except NoAnswer as no:
                if no.outcome == "unknown":  # one that was not read is no other model, nor proven the same
                    raise
        return PASSED
    names = {name for name, _memory in kinds}
    words = sorted("%d x %s%s" % (n, name, "" if len(names) > 1 or memory is None else " with %d MiB" % memory) for (name, memory), n in kinds.items())
    told = ", ".join(words)
    # of one name, a card that lacks a part of its memory is no other model
    return found("Different models in one node: %s" % told, told, expectation("one model", origin="this node"), caused_by=() if len(names) > 1 else None)


@rule(
    id="tool-answers",
    layer=1,
    level="warn",
    title="The vendor's tool answers without delay",
    reads=("accelerators",),
    scope="group",
    remedy="Look for a device or driver that hangs in the kernel log, and for other programs that ask the tool all the time; keep the driver loaded when idle.",
    parameters={
        "most_seconds": Parameter("number", 10, "s", "our choice, for calls that tell all; suite: Primus: a call that tells its version alone takes up to 5")
    },
    follows=("device-lost", "device-vanished"),
)
def tool_answers(group, p):
    asked = [(one.maybe("text", "source") or "?", one.maybe("number", "seconds"), one.maybe("text", "status")) for one in group.objects("sources")]
    known = [(seconds, source, status) for source, seconds, status in asked if seconds is not None]
    if not known:
        return unknown("no call of the tool tells how long it took") if asked else not_applicable("no tool was asked")
    seconds, source, status = max(known)
    if seconds > p.most_seconds:
        ended = "took" if status == "ok" else "gave no answer in"
        return found("%s %s %.1f s" % (show(source, 60), ended, seconds), round(seconds, 1), p.expected("most_seconds"))
    return PASSED


@rule(
    id="driver-library-match",
    layer=1,
    level="fail",
    title="Driver module and driver library have one version",
    reads=("accelerators",),
    scope="node",  # a library that does not fit its module lists no device
    remedy="A package was updated under a running module: drain the node and reboot, or reload the module.",
    parameters={
        "manufacturers": Parameter(
            "list", ["nvidia"], "", "vendor document: NVIDIA: libnvidia-ml and the kernel module must be of one release; others number them apart"
        )
    },
)
def driver_library_match(view, p):
    outcomes = []
    for group in view.groups:
        subject = ("manufacturer", group.manufacturer)
        try:
            outcomes.append(_library_match(group, p, subject))
        except NoAnswer as no:
            outcomes.append(Outcome(no.outcome, no.reason, subject))
    return outcomes or list(view.device_gaps)


def _library_match(group, p, subject):
    if group.state == "not-declared" and not group.devices:
        return not_applicable(group.maybe("text", "detection", "reason") or "no accelerator", subject)
    if group.manufacturer not in p.manufacturers:
        return not_applicable("%s numbers its library and its module apart" % group.manufacturer, subject)
    module = group.maybe("text", "driver", "module_version") or group.text("driver", "version")
    try:
        library = group.text("driver", "library_version")
    except NoAnswer:
        library = group.text("driver", "tool_version")
    if _same_version(library, module):
        return passed(subject)
    summary = "The library is %s, the loaded module %s" % (library, module)
    return found(summary, library, expectation(module, origin="this node: the loaded module"), subject=subject)


def _same_version(one, other):
    """Equal up to the number of the package: 580.95.05 and 580.95.05-1."""
    return one.split("-")[0] == other.split("-")[0]
