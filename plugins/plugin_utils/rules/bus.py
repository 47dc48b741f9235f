# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about how a device is connected: PCIe, links between devices, the fabric, NUMA."""

from __future__ import annotations

from collections import Counter

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import nvidia_daemons, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.detection import FOREIGN
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Outcome,
    Parameter,
    expectation,
    found,
    not_applicable,
    not_run,
    passed,
    rule,
    unknown,
)

_DEVICES = ("accelerators",)
_NAMELESS = "the firmware names no NUMA node"
_JOINED = ("completed", "complete")  # states of a fabric
NO_DRIVER = ("driver-built", "driver-loadable", "driver-library-match")  # a daemon of the driver ends without it
_OF_LINKS = ("device-lost", "fabric-state", "fabric-manager", "nvlink-switched-off", "nvswitches", "kernel-nvswitch-errors")
_GENERATION = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}  # GT/s of PCI Express generations 1 to 6


def _entry(device):
    """The PCI entry of a device, or NoAnswer."""
    return device.group.view.pci_entry(device.identifier("pci"))


@rule(
    id="pcie-width",
    layer=1,
    level="fail",
    title="PCIe link as wide as device and slot allow",
    reads=_DEVICES,
    scope="device",
    remedy="Reseat the device and its riser or cable, clean the contacts, then check the slot; compare with the neighboring devices.",
    parameters={"lanes": Parameter("int", None, "lanes", "the smaller of what the device and its slot can do", least=1)},
    follows=("device-lost",),
)
def pcie_width(device, p):
    # The tool speaks of the function's own link, the bus of the link into the slot: with a switch on the card (AMD) they differ.
    reason = None
    outcome = None
    for read in (device.facts, lambda *path: _entry(device).facts(*path)):
        try:
            outcome = _width(device, p, read("pcie"))
        except NoAnswer as no:
            reason = reason or no
            continue
        if outcome is not PASSED:
            return outcome
    if outcome is None:
        raise reason
    return outcome


def _width(device, p, link):
    current = link.number("width_current")
    if current <= 0:
        raise NoAnswer("unknown", "link width is given as %g" % current)
    if p.lanes is not None:
        return PASSED if current >= p.lanes else _narrow(current, p.expected("lanes"))
    own = link.number("width_max")
    if current >= own:
        return PASSED
    try:
        slot = _entry(device).number("upstream", "width_max")
    except NoAnswer as no:
        # Without the slot only equal neighbors tell a fault from a design: a guest, or a port that does not say.
        wider = [w for w in (d.maybe("number", "pcie", "width_current") for d in device.siblings) if w is not None and w > current]
        if wider:
            return _narrow(current, expectation(max(wider), "lanes", "this node: equal devices"))
        return unknown("x%g of x%g, and what the slot can do is not known: %s" % (current, own, no.reason))
    best = min(own, slot)
    return PASSED if current >= best else _narrow(current, p.expected("lanes", value=best))


def _narrow(current, expected):
    return found("PCIe link is x%g where device and slot can do x%g" % (current, expected["value"]), current, expected)


@rule(
    id="pcie-generation",
    layer=1,
    level="warn",
    title="PCIe link can reach the generation of device and slot",
    reads=_DEVICES,
    scope="group",
    remedy="Check the slot's speed setting in the BIOS, the riser and the cable; an idle link at low speed is normal and not meant here.",
    follows=("device-lost", "pcie-width", "kernel-pcie-errors", "pcie-errors"),
)
def pcie_generation(group, p):
    # Idle devices lower their speed, so only what the link can reach is judged: against device, slot and equal neighbors.
    reach, unread, outcomes = {}, {}, []
    for device in group.packages:
        try:
            best = _generation_max(device)
            reach.setdefault(device.name, []).append((device, best))
        except NoAnswer as no:
            unread[(device.kind, device.id)] = no
    for devices in reach.values():
        usual, number = Counter(best for _d, best in devices).most_common(1)[0]
        for device, best in devices:
            subject = (device.kind, device.id)
            if best < usual and number * 2 > len(devices):
                outcomes.append(_slow(best, expectation(usual, "generation", "this node: equal devices"), subject))
            else:
                outcomes.append(_reaches(device, best, subject))
    return outcomes + [Outcome(no.outcome, no.reason, subject) for subject, no in unread.items()]


def _reaches(device, best, subject):
    own = device.maybe("number", "pcie", "generation_device_max")
    if own is None or best >= own:
        return passed(subject)
    try:
        slot = _GENERATION.get(_entry(device).number("upstream", "speed_max_gts"))
    except NoAnswer:
        slot = None
    if slot is not None and best < min(own, slot):
        return _slow(best, expectation(min(own, slot), "generation", "the smaller of what the device and its slot can do"), subject)
    return passed(subject)


def _generation_max(device):
    try:
        return device.number("pcie", "generation_max")
    except NoAnswer as no:
        try:
            speed = _entry(device).number("pcie", "speed_max_gts")
        except NoAnswer:
            raise no from None
        if speed not in _GENERATION:
            raise NoAnswer("unknown", "PCIe speed not understood: %g GT/s" % speed) from None
        return _GENERATION[speed]


def _slow(best, expected, subject):
    return found("PCIe link can reach generation %g only" % best, best, expected, subject=subject)


@rule(
    id="links-up",
    layer=1,
    level="fail",
    title="Every link between devices is up, where the product has links",
    reads=_DEVICES,
    scope="device",
    remedy="Reset all devices of the node together; when a link stays down, check baseboard, bridge or cable.",
    parameters={"product_has_links": Parameter("bool", None, "", "the product catalogue of this collection: plugins/plugin_utils/data/products.yml")},
    follows=(*_OF_LINKS, "device-vanished"),
)
def links_up(device, p):
    try:
        links = device.facts("links")
    except NoAnswer as no:
        if no.outcome == "not_applicable" and _has_them(device, p):
            return unknown("%s, and %s has links" % (no.reason, device.name))
        raise
    try:
        total = links.number("total")
    except NoAnswer as no:
        # A tool may say that all links are down without counting them (nvidia-smi nvlink -s): enough where the product has links.
        if links.maybe("number", "up") != 0:
            raise
        return _all_down(device, p, links.maybe("text", "kind") or "links", no.reason)
    if total <= 0:
        return not_applicable("the device reports no links")
    down = links.maybe("list", "down")
    up = links.maybe("number", "up")
    if up is None:
        if down is None:
            return unknown("neither the links that are up nor those that are down were read")
        up = total - len(down)
    if up >= total and not down:
        return PASSED
    kind = links.maybe("text", "kind") or "links"
    if up <= 0 and (_alone(device, p) or not _has_links(device, p)):
        return _not_expected(device, p, "%s: all %d down" % (kind, total))
    which = " (%s)" % ", ".join(str(n) for n in down[:32] if n.__class__ is int) if down else ""
    wanted = expectation(total, "links up", "vendor document: what the device itself counts")
    # One that vanished takes a link from each that was linked with it itself; where switches are between, from none.
    causes = None if up > 0 and device.maybe("word", "fabric", "state") not in _JOINED else _OF_LINKS
    return found("%d of %d %s are down%s" % (total - up, total, kind, which), up, wanted, subject=_with_peer(device), caused_by=causes)


def _has_them(device, p):
    """Whether links are built into the whole device, whatever its tool calls not supported. Slices of it are told of none."""
    if device.maybe("flag", "partition", "enabled") or device.maybe("word", "extra", "virtualization") == "vgpu":
        return False
    return products.has_links(device.manufacturer, device.name) is True and not _alone(device, p)


def _with_peer(device):
    """The device and a lost one that it is linked with itself: a pair. Where switches are between, nobody misses the lost one."""
    group = device.group
    if device.maybe("word", "fabric", "state") in _JOINED or device.maybe("word", "health", "state") == "lost":
        return None
    lost = [other for other in group.packages if other.id != device.id and other.maybe("word", "health", "state") == "lost"]
    return [(device.kind, device.id), (lost[0].kind, lost[0].id)] if lost else None


def _all_down(device, p, kind, said):
    if _alone(device, p) or not _has_links(device, p):
        return _not_expected(device, p, "%s: all down" % kind)
    return found("All %s are down" % kind, 0, expectation("all links up", origin="vendor document: links built into the product"), evidence=said)


def _not_expected(device, p, text):
    """No link is up. Some cards count links that only a bridge would connect (NVIDIA A100 PCIe): no link is expected there."""
    if _alone(device, p):
        return not_applicable("%s, and there is no other device on this node to be linked with" % text)
    if p.product_has_links is False or products.has_links(device.manufacturer, device.name) is False:
        return not_applicable("%s, and the product has links only with a bridge" % text)
    return unknown("%s, and it is not known whether %s has links without a bridge" % (text, device.name or "the product"))


def _alone(device, p):
    """The only device of its node, as one GPU of a baseboard is in a guest: its host switches the links off. In a fabric it is not alone."""
    group = device.group
    if p.product_has_links is True or len(group.packages) > 1 or group.gap or device.maybe("word", "fabric", "state") in _JOINED:
        return False
    try:
        return len(group.view.pci().get(group.manufacturer, [])) < 2
    except NoAnswer:
        return False


def _has_links(device, p):
    if p.product_has_links is not None:
        return p.product_has_links
    if any((d.maybe("number", "links", "up") or 0) > 0 for d in device.siblings):
        return True
    return products.has_links(device.manufacturer, device.name) is True


@rule(
    id="fabric-state",
    layer=1,
    level="fail",
    title="The device has joined its fabric, where there is one",
    reads=_DEVICES,
    scope="device",
    remedy="Check the fabric manager (nvidia-fabricmanager or the switch tray's), its version against the driver, and its log.",
    parameters={"settle_seconds": Parameter("number", 600, "s", "our choice: links of large systems train for minutes after the start")},
    follows=("device-lost", "fabric-manager", "nvswitches", "kernel-nvswitch-errors"),
)
def fabric_state(device, p):
    state = device.word("fabric", "state")
    if state in ("not_supported", "n/a", "none"):
        return not_applicable("fabric: %s" % state.replace("_", " "))
    if state in _JOINED:
        try:
            status = device.word("fabric", "status")
        except NoAnswer as no:
            return unknown("fabric completed, status: %s" % no.reason)
        if status in ("success", "ok", "0"):
            return PASSED
        return found("Joining the fabric ended with: %s" % status.replace("_", " "), status, expectation("success", origin="vendor document: NVML"))
    if state not in ("not_started", "in_progress"):
        return unknown("fabric state not understood: %s" % state)
    try:
        uptime = device.group.view.section("host").number("uptime_seconds")
    except NoAnswer:
        uptime = None
    if uptime is not None and uptime < p.settle_seconds:
        return not_run("the node is up for %d s: the fabric may still be training" % uptime)
    return found("The device has not joined the fabric: %s" % state.replace("_", " "), state, expectation("completed", origin="vendor document: NVML"))


@rule(
    id="fabric-manager",
    layer=1,
    level="fail",
    title="The fabric manager runs, where the node has switches to be run",
    reads=("host", "pci"),
    scope="node",
    remedy="Install nvidia-fabricmanager in the driver's version, enable and start it; its log says why it ends. Without it CUDA does not start.",
    follows=("service-versions", "nvswitches", *NO_DRIVER),
)
def fabric_manager(view, p):
    # What the devices say of their fabric is no answer: they stay in it when its manager dies, and no link is restored then.
    switches = _switches(view)
    if not switches:
        return not_applicable("no NVSwitch that this node would run")
    seen = nvidia_daemons.running(view, "nv-fabricmanage")
    if seen:
        return PASSED  # as a unit or in a container
    services = view.section("host").facts("services")
    state = services.facts("nvidia-fabricmanager")
    active = state.word("active")
    if active in ("active", "reloading"):
        return PASSED
    if active == "activating" and not nvidia_daemons.ended(state):
        return unknown("the fabric manager is being started")
    if services.flag("driver_container"):
        return unknown("the driver is in a container, and its fabric manager is no unit of this node")
    if seen is None:
        return unknown("no unit of the fabric manager is active, and whether a container runs it is not known")
    load, sub = state.maybe("word", "load"), state.maybe("word", "sub")
    told = "not installed" if load == "not_found" else "masked" if load == "masked" else active if sub in (None, active) else "%s (%s)" % (active, sub)
    return found(
        "The node has %s, and nvidia-fabricmanager is %s" % (switches, told.replace("_", " ")),
        told,
        expectation("active", origin="vendor document: NVIDIA Fabric Manager User Guide"),
        caused_by=(*(("service-versions",) if _of_another_version(view) else ()), "nvswitches", *NO_DRIVER),
    )


def _of_another_version(view):
    """Whether the fabric manager is known to be of another version than the driver: it ends by itself then."""
    own = None if view.missing("services") else view.section("services").maybe("text", "versions", "fabric_manager")
    return own is not None and own != view.section("host").maybe("text", "modules", "nvidia", "version")


def _switches(view):
    """The switches that this node's fabric manager has to run, in words; empty when it has none."""
    view.pci()  # NoAnswer where the bus was not read
    entries = [e for e in view.section("pci").objects("devices") if e.maybe("text", "manufacturer") == "nvidia"]
    bridges = [e for e in entries if e.maybe("text", "role") == "bridge" and e.maybe("text", "driver") not in FOREIGN]
    if bridges:
        return "%d NVSwitches on PCI" % len(bridges)
    models = {e.maybe("text", "model") for e in entries if e.maybe("text", "role") == "accelerator" and e.maybe("text", "driver") not in FOREIGN}
    hidden = sorted(m for m in models if m and products.has_hidden_switches("nvidia", m))
    if not hidden:
        return ""
    if view.section("host").text("virtualization") != "none":
        raise NoAnswer("not_applicable", "a guest: its host may run the switches of %s" % ", ".join(hidden))
    return "the NVSwitches of %s" % ", ".join(hidden)


@rule(
    id="numa-node",
    layer=1,
    level="warn",
    title="The firmware says on which NUMA node the device is",
    reads=_DEVICES,
    scope="device",
    remedy="Update the BIOS or set its NUMA option (NPS, SNC): without it processes are placed far from their device.",
)
def numa_node(device, p):
    try:
        node = device.number("numa_node")
    except NoAnswer as no:
        if no.outcome == "not_applicable":
            raise
        try:
            node = _entry(device).number("numa_node")
        except NoAnswer as why:
            # The reader tells the kernel's -1 as what it is: a firmware that says nothing.
            if _NAMELESS not in no.reason and _NAMELESS not in why.reason:
                raise no from None
            node = -1
    if node >= 0:
        return PASSED
    nodes = device.group.view.section("host").number("cpu", "numa_nodes")
    if nodes <= 1:
        return not_applicable("the node has one NUMA node")
    return found("No NUMA node is given, the node has %d" % nodes, node, expectation("0 to %d" % (nodes - 1), origin="this node"))
