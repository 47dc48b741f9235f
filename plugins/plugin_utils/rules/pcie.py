# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about each hop of the paths of accelerators and adapters: links, errors, settings of PCIe. A device's own link: bus.py."""

from __future__ import annotations

from collections import Counter

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
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

_READS = ("paths",)
_HERE = "what both ends of the link can do"
_REDIRECTS = {"request_redirect", "completion_redirect", "egress_control"}
_TO_GUESTS = ("vfio-pci", "nvgrace_gpu_vfio_pci")
# A function asks what is not there while it is looked for: this is counted on healthy nodes after each boot.
_HARMLESS = ("UnsupReq", "ACSViol")


def _gaps(made, subjects):
    """Outcomes, and what of the node is not known in one more."""
    if made.gaps:
        subjects.append(unknown(made.gaps[0]))
    return subjects or [passed()]


def _level(hop):
    kinds = {str(end.get("kind")) for end in hop.ends}
    return "fail" if paths.ACCELERATOR in kinds else "warn" if paths.RDMA in kinds else "info"


def _milder(level):
    return {"fail": "warn"}.get(level, "info")


def _device(address):
    return address.rpartition(".")[0]


def _narrowed(made, key, hops):
    """[(hop, now, most, whether every equal one is like that)] of the links that are below what both ends can do."""
    alike, low = {}, []
    for hop in hops:
        most, now = made.capable(hop, key % "max"), made.number(hop.lower, key % "current")
        if most is None or now is None:
            continue
        kind = str(hop.own.get("kind")) if hop.own else "port"
        alike.setdefault((kind, most), {}).setdefault(_device(hop.lower), now)
        if now < most:
            low.append((hop, kind, now, most))
    return [(hop, now, most, len(alike[kind, most]) > 1 and set(alike[kind, most].values()) == {now}) for hop, kind, now, most in low]


def _tell(low, what, unit, decide):
    told, seen = [], set()
    for hop, now, most, design in low:
        if _device(hop.lower) in seen:  # functions of one device share its link
            continue
        seen.add(_device(hop.lower))
        level = decide(hop)
        text = "The PCIe link %s to %s %s %g %s, where both ends can do %g: on the path of %s" % (
            clean(hop.upper, 20), clean(hop.lower, 20), what, now, unit, most, paths.shown(hop.ends),
        )  # fmt: skip
        if design:
            text, level = text + "; all equal links of the node are like that", _milder(level)
        told.append(found(text, now, expectation(most, unit, _HERE), level=level, subject=("pci", clean(hop.lower, 20))))
    return told


@rule(
    id="pcie-path-width",
    layer=1,
    level="fail",
    title="PCIe links above accelerators, and those of adapters, as wide as both ends allow",
    reads=_READS,
    scope="node",
    remedy="Reseat the card, riser or cable of this link and look at the switch or retimer between; compare with a node of the same kind.",
    follows=("device-lost", "kernel-pcie-errors"),
)
def pcie_path_width(view, p):
    made, slots = paths.of_bare_metal(view), _slots(view)
    return made.once(("width", slots), lambda: _path_width(made, slots))


def _slots(view):
    """The ports that accelerators hang on: pcie-width judges those links, that of a card with a switch of its own too."""
    try:
        return frozenset(entry.maybe("text", "upstream", "address") for entries in view.pci().values() for entry in entries)
    except NoAnswer:
        return frozenset()


def _path_width(made, slots):
    hops = [hop for hop in made.links() if (hop.own is None or hop.own.get("kind") != paths.ACCELERATOR) and hop.upper not in slots]
    unread = [hop for hop in hops if made.number(hop.lower, "width_current") is None or made.capable(hop, "width_max") is None]
    told = _tell(_narrowed(made, "width_%s", hops), "is", "lanes wide", _level)
    if unread:
        told.append(unknown("%s to %s: link width not known" % (clean(unread[0].upper, 20), clean(unread[0].lower, 20))))
    return _gaps(made, told)


@rule(
    id="pcie-path-speed",
    layer=1,
    level="warn",
    title="PCIe links of switches and RDMA adapters run as fast as both ends allow",
    reads=_READS,
    scope="node",
    remedy="Look at the link's speed setting in the BIOS and at cable, riser and retimer. An accelerator's own link, slow when idle, is not meant here.",
    follows=("pcie-path-width", "kernel-pcie-errors", "pcie-errors"),
)
def pcie_path_speed(view, p):
    made = paths.of_bare_metal(view)
    return made.once("speed", lambda: _path_speed(made))


def _path_speed(made):
    hops = []
    for hop in made.links():
        cards = {_device(end["address"]) for end in hop.ends if end.get("kind") == paths.ACCELERATOR}
        # A link with one accelerator below may be that card's own, with a switch on the card: it slows down when idle.
        if hop.own.get("kind") == paths.RDMA if hop.own else len(hop.ends) > len(cards) or len(cards) > 1:
            hops.append(hop)
    if not hops:
        return not_applicable("no switch above several devices, and no RDMA adapter")
    return _gaps(made, _tell(_narrowed(made, "speed_%s_gts", hops), "runs at", "GT/s", lambda hop: "warn" if _level(hop) != "info" else "info"))


@rule(
    id="pcie-path-capability",
    layer=1,
    level="warn",
    title="Equal accelerators have equally capable PCIe paths",
    reads=_READS,
    scope="node",
    remedy="The named link can do less than those of its siblings: check slot bifurcation and speed in the BIOS, riser and cabling of this slot.",
    follows=("pcie-path-width", "pcie-generation"),
)
def pcie_path_capability(view, p):
    made, names = paths.of_bare_metal(view), paths.names_of(view)
    return made.once(("capability", names), lambda: _path_capability(made, names))


def _path_capability(made, devices):
    weakest = {}
    for hop in made.links():
        width, speed = made.capable(hop, "width_max"), made.capable(hop, "speed_max_gts")
        for end in hop.ends:
            if end.get("kind") == paths.ACCELERATOR:
                if width is None or speed is None:
                    return unknown("%s to %s: what the link can do is not known" % (clean(hop.upper, 20), clean(hop.lower, 20)))
                weakest[end["id"]] = min(weakest.get(end["id"], (1e9, None)), (width * speed, hop.lower))
    if len(weakest) < 2:
        return not_applicable("no two accelerators with a path to compare")
    names = {ident: name for ident, _manufacturer, name in devices}
    groups, told = {}, []
    for ident, (rate, lower) in weakest.items():
        groups.setdefault(names.get(ident, ""), []).append((ident, rate, lower))
    for members in groups.values():
        usual, number = Counter(rate for _ident, rate, _lower in members).most_common(1)[0]
        for ident, rate, lower in members:
            if rate < usual and number * 2 > len(members):
                text = "The path of %s can carry %g GT/s over all lanes, those of its equals %g: %s is the weakest link" % (
                    clean(ident, 60), rate, usual, clean(lower, 20),
                )  # fmt: skip
                told.append(found(text, rate, expectation(usual, "GT/s", "this node: equal devices"), subject=("package", clean(ident, 60))))
    return told or passed()


@rule(
    id="pcie-errors",
    layer=1,
    level="warn",
    title="No PCIe errors on the paths of accelerators and adapters since boot",
    reads=_READS,
    scope="node",
    remedy="Look at the kernel log for when they came. Errors that grow under load: reseat card, riser and cable of the named link, then replace them.",
    parameters={
        "correctable": Parameter("int", 1000, "errors", "our choice: corrected errors cost time only, and some come with each training of the link"),
        "uncorrectable": Parameter("int", 0, "errors", "PCI Express Base Specification 6.2.2: data or a request was lost"),
    },
    follows=("device-lost", "pcie-width", "pcie-path-width", "kernel-pcie-errors"),
)
def pcie_errors(view, p):
    made = paths.of(view)
    told, counted = [], False
    for address, told_of in made.functions.items():
        errors = told_of.get("aer")
        if errors.__class__ is not dict or "correctable" not in errors:
            continue
        counted = True
        if not any(errors.values()):
            continue
        lost, corrected = _sum(errors, ("fatal", "nonfatal")), _sum(errors, ("correctable",))
        if lost > p.uncorrectable:
            kinds = _kinds(errors, ("fatal", "nonfatal"))
            text = "%s has counted %d uncorrectable PCIe errors since boot: %s" % (clean(address, 20), lost, kinds)
            told.append(found(text, lost, p.expected("uncorrectable"), subject=("pci", clean(address, 20))))
        elif corrected > p.correctable:
            text = "%s has counted %d corrected PCIe errors since boot: %s" % (clean(address, 20), corrected, _kinds(errors, ("correctable",)))
            told.append(found(text, corrected, p.expected("correctable"), subject=("pci", clean(address, 20))))
    if not counted:
        silent = [f.get("aer") for f in made.functions.values()]
        reason = next((a["unknown"] for a in silent if a.__class__ is dict and "unknown" in a), None)
        return unknown("PCIe errors: %s" % show(reason, 200)) if reason else not_applicable("no function on the paths counts PCIe errors (AER)")
    return _gaps(made, told)


def _sum(errors, kinds):
    found_in = (errors.get(kind) for kind in kinds)
    return sum(n for counts in found_in if counts.__class__ is dict for name, n in counts.items() if n.__class__ is int and name not in _HARMLESS)


def _kinds(errors, kinds):
    named = [(name, n) for kind in kinds for name, n in (errors.get(kind) or {}).items() if n.__class__ is int and name not in _HARMLESS]
    return ", ".join("%s %d" % (clean(name, 40), n) for name, n in named[:6])


@rule(
    id="pcie-replays",
    layer=1,
    level="warn",
    title="The device does not have to repeat its PCIe packets",
    reads=("accelerators",),
    scope="device",
    remedy="Reseat the device and its riser or cable; when the count goes on growing under load, replace them, then the device.",
    parameters={"per_minute": Parameter("number", 8, "replays a minute", "NVIDIA, DCGM: the health watch of PCIe warns from 8 replays a minute")},
    follows=("device-lost", "pcie-width", "pcie-path-width", "kernel-pcie-errors", "pcie-errors"),
)
def pcie_replays(device, p):
    count = device.number("pcie", "replay_count")
    if count <= 0:
        return PASSED
    minutes = device.group.view.section("host").number("uptime_seconds") / 60
    rate = count / max(minutes, 1)
    if rate <= p.per_minute:
        return PASSED
    return found("%g PCIe replays since boot, %.1f a minute" % (count, rate), count, p.expected("per_minute"))


@rule(
    id="pcie-acs",
    layer=1,
    level="warn",
    title="Traffic between devices is not sent through the root complex (ACS)",
    reads=_READS,
    scope="node",
    remedy="Where no virtual machine needs devices kept apart: turn ACS off in the BIOS, or with setpci at each boot, and the IOMMU into passthrough.",
    parameters={"isolation_wanted": Parameter("bool", False, "", "our choice: devices of this node are handed to virtual machines, so ACS is wanted")},
)
def pcie_acs(view, p):
    if p.isolation_wanted:
        return not_applicable("the site wants devices kept apart (isolation_wanted)")
    made = paths.of_bare_metal(view)
    return made.once(("acs", _handed_on(view)), lambda: _acs(made, _handed_on(view)))


def _handed_on(view):
    """Whether a device is handed to a virtual machine."""
    try:
        return any(entry.maybe("text", "driver") in _TO_GUESTS for entries in view.pci().values() for entry in entries)
    except NoAnswer:
        return False


def _acs(made, handed_on):
    cards, peers = made.of(paths.ACCELERATOR), made.of(paths.ACCELERATOR, paths.RDMA)
    if len(peers) < 2 or not cards:
        return not_applicable("one device alone: no traffic between devices")
    if handed_on:
        return not_applicable("devices are handed to virtual machines (vfio-pci): they are kept apart on purpose")
    redirecting, unread = [], None
    for port in dict.fromkeys(port for end in cards for port in end["ports"]):
        settings = made.functions.get(port, {}).get("settings")
        acs = settings.get("acs") if settings.__class__ is dict else None
        if acs.__class__ is list:
            if any(word.__class__ is str and word in _REDIRECTS for word in acs):
                redirecting.append(port)
        elif settings.__class__ is not dict or acs.__class__ is not dict or "not_applicable" not in acs:
            said = settings if acs is None else acs
            unread = unread or (said.get("unknown") if said.__class__ is dict else None) or "not read"
    if redirecting:
        translated = any(end["iommu"].get("type") in ("DMA", "DMA-FQ") for end in cards if end.get("iommu").__class__ is dict)
        text = "ACS sends requests between devices through the root complex at %d ports above accelerators: %s" % (
            len(redirecting), ", ".join(clean(port, 20) for port in redirecting[:6]),
        )  # fmt: skip
        if translated:
            return found(
                text + "; the IOMMU translates, which needs it", len(redirecting), expectation(0, "ports", "vendor document: NCCL User Guide"), level="info"
            )
        return found(text, len(redirecting), expectation(0, "ports", "vendor document: NCCL User Guide"))
    return unknown("ACS: %s" % show(unread, 200)) if unread else passed()


@rule(
    id="pcie-payload",
    layer=1,
    level="warn",
    title="Equal devices have equal PCIe payload and read request sizes",
    reads=_READS,
    scope="node",
    remedy="Boot with the kernel parameter that the standard of the site names (pci=pcie_bus_perf or pcie_bus_safe), or set the sizes in the BIOS.",
)
def pcie_payload(view, p):
    made, names = paths.of_bare_metal(view), paths.names_of(view)
    return made.once(("payload", names), lambda: _payload(made, {ident: name for ident, _manufacturer, name in names}))


def _payload(made, names):
    groups, unread = {}, None
    for end in made.of(paths.ACCELERATOR, paths.RDMA):
        settings = made.functions.get(end["address"], {}).get("settings")
        sizes = tuple(settings.get(key) for key in ("max_payload_bytes", "max_read_request_bytes")) if settings.__class__ is dict else (None,)
        if any(size.__class__ is not int for size in sizes):
            unread = unread or (settings.get("unknown") if settings.__class__ is dict else None) or "not read"
            continue
        # Adapters of one capability are taken for equal: what they are called tells nothing.
        told = made.functions[end["address"]]
        kind = names.get(end["id"], "") if end["kind"] == paths.ACCELERATOR else (made.number(end["address"], "width_max"), told.get("speed_max_gts"))
        groups.setdefault((end["kind"], str(kind)), []).append((end, sizes))
    told = []
    for members in groups.values():
        usual, number = Counter(sizes for _end, sizes in members).most_common(1)[0]
        for end, sizes in members:
            if sizes != usual and number * 2 > len(members):
                text = "%s has MaxPayload %d and MaxReadReq %d, its equals %d and %d" % (clean(end["id"], 60), *sizes, *usual)
                expected = expectation("%d and %d" % usual, "bytes", "this node: equal devices")
                told.append(found(text, "%d and %d" % sizes, expected, subject=("pci", clean(end["address"], 20))))
    if unread and not groups:
        return unknown("PCIe settings: %s" % show(unread, 200))
    return told or passed()


@rule(
    id="pcie-bar",
    layer=1,
    level="warn",
    title="The memory of accelerators can be reached through their BAR where the product needs it",
    reads=_READS,
    scope="node",
    remedy="Turn on Above 4G Decoding and Resizable BAR in the BIOS and update it; where one card alone has a smaller BAR: check its firmware.",
    parameters={"least_mib": Parameter("int", None, "MiB", "the product catalogue of this collection: plugins/plugin_utils/data/pcie.yml", least=1)},
)
def pcie_bar(view, p):
    made = paths.of_bare_metal(view)  # a guest may have a slice of a card, with a BAR of its own
    devices = {device.id: device for device in view.packages}
    told, sizes, unread = [], {}, None
    for end in made.of(paths.ACCELERATOR):
        device = devices.get(end["id"])
        size = end["bar"].get("largest_mib") if end.get("bar").__class__ is dict else None
        if size.__class__ is not int:
            unread = unread or (size.get("unknown") if size.__class__ is dict else None) or "not read"
            continue
        sizes.setdefault(device.name if device else "", []).append((end, size))
        least = p.least_mib
        if least is None:
            entry = paths.entry("large_bar", device.manufacturer, device.name) if device else None
            memory = device.maybe("number", "memory_mib") if device and entry and entry["needed"] else None
            # Firmware keeps some memory for itself, so a tool may tell less than the part has, never more.
            least = memory
        if least is not None and size < least:
            can = end["bar"].get("resizable_to_mib")
            more = "; it could be made %d MiB" % can if can.__class__ is int and can > size else ""
            text = "The largest BAR of %s is %d MiB, and %d MiB are needed%s" % (clean(end["id"], 60), size, least, more)
            told.append(found(text, size, p.expected("least_mib", value=least), subject=("package", clean(end["id"], 60))))
    low = {one.subject[1] for one in told}
    for members in sizes.values():
        usual, number = Counter(size for _end, size in members).most_common(1)[0]
        for end, size in members:
            if size < usual and number * 2 > len(members) and clean(end["id"], 60) not in low:
                text = "The largest BAR of %s is %d MiB, those of its equals %d" % (clean(end["id"], 60), size, usual)
                told.append(found(text, size, expectation(usual, "MiB", "this node: equal devices"), subject=("package", clean(end["id"], 60))))
    if unread and not sizes:
        return unknown("BAR: %s" % show(unread, 200))
    return told or passed()


@rule(
    id="iommu-mode",
    layer=1,
    level="warn",
    title="The IOMMU is in the mode that the accelerators need on bare metal",
    reads=_READS,
    scope="node",
    remedy="Set the IOMMU in the BIOS and on the kernel command line (iommu=pt for passthrough), then reboot.",
    parameters={"types": Parameter("list", None, "", "the product catalogue of this collection: plugins/plugin_utils/data/pcie.yml")},
)
def iommu_mode(view, p):
    made, names = paths.of_bare_metal(view), paths.names_of(view)
    key = ("iommu", names, tuple(p.types) if p.types is not None else None, p.expected("types")["origin"])
    return made.once(key, lambda: _iommu_mode(made, p, {ident: manufacturer for ident, manufacturer, _name in names}))


def _iommu_mode(made, p, manufacturers):
    odd, asked, unread = {}, False, None
    for end in made.of(paths.ACCELERATOR):
        entry = paths.entry("iommu", manufacturers.get(end["id"], end["id"].partition(":")[0]))
        allowed = p.types if p.types is not None else entry["types"] if entry else None
        if allowed is None:
            continue
        asked = True
        kind = end["iommu"].get("type") if end.get("iommu").__class__ is dict else None
        if kind.__class__ is dict:
            if "not_applicable" not in kind:
                unread = unread or kind.get("unknown") or "not read"
                continue
            kind = "none"
        if kind.__class__ is not str:
            unread = unread or "IOMMU type not read"
        elif kind not in allowed:
            odd.setdefault((clean(kind, 40), tuple(allowed), entry["level"] if entry and p.types is None else None), []).append(end)
    if not asked:
        return not_applicable("it is not known that the product needs a mode of the IOMMU")
    told = []
    for (kind, allowed, level), ends in odd.items():
        text = "The IOMMU type of %s is %s, and %s is needed" % (paths.shown(ends), kind, " or ".join(allowed))
        told.append(found(text, kind, p.expected("types", value=list(allowed)), level=level))
    if unread and not told:
        return unknown("IOMMU: %s" % show(unread, 200))
    return told or passed()
