# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about ports of network adapters, as their node tells of them.

A port without a cable is no fault of its own. It should be up where the site says so, or where nearly all equal ports of the node are.
One that is slower than equal ones is found; several with the same lower value may serve another network, and weigh less.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_READS = ("network_devices",)
_SITE = "site policy"
_HERE = "this node: equal ports"
_EQUAL = "equal ports of the node are compared; more only where the site says it"
_KERNEL = "vendor document: Linux drivers/infiniband/core/sysfs.c: this counter ends here"
_LAST = {"symbol_error": 65535, "link_error_recovery": 255, "link_downed": 255, "port_rcv_errors": 65535, "port_rcv_remote_physical_errors": 65535}
_ROUTABLE = ("roce v2 ipv4", "roce v2 ipv6")


class Port(NamedTuple):
    """A port of an RDMA device."""

    rail: str
    number: str
    name: str  # device/number
    subject: object
    group: tuple  # equal for equal ports of the node
    facts: object


def _subject(facts):
    address = facts.maybe("text", "address")
    return ("pci", clean(address, 20)) if address else None


def _place(facts):
    """What equal adapters share: kind and function, for of two ports the second is often left without a cable."""
    return facts.maybe("text", "pci"), (facts.maybe("text", "address") or "")[-1:]


def _ports(view):
    """([Port], [outcome of a device whose ports were not read])."""
    ports, gaps = [], []
    rails = view.section("network_devices").facts("rails")
    if not rails.data:
        raise NoAnswer("unknown", "no RDMA device is listed")
    for rail in sorted(rails.data, key=lambda key: (len(key), key)):
        device = rails.facts(rail)
        name = clean(device.maybe("text", "device") or "?", 40)
        try:
            listed = device.facts("ports")
            if not listed.data:
                raise NoAnswer("unknown", "it lists no port")
        except NoAnswer as no:
            gaps.append(unknown("%s: %s" % (name, no.reason), _subject(device)))
            continue
        for number in sorted(listed.data):
            facts = listed.facts(number)
            group = (*_place(device), device.maybe("text", "board"), number, facts.maybe("text", "link_layer"))
            ports.append(Port(rail, number, "%s/%s" % (name, clean(number, 4)), _subject(device), group, facts))
    return ports, gaps


def _usual(values):
    """The value that at least three of four have, None where there is none."""
    if not values:
        return None
    value, count = Counter(values).most_common(1)[0]
    return value if count * 4 >= len(values) * 3 else None


def _by_group(pairs):
    """group -> the usual value, of [(group, value)]."""
    groups = {}
    for group, value in pairs:
        groups.setdefault(group, []).append(value)
    return {group: _usual(values) for group, values in groups.items()}, {group: len(values) for group, values in groups.items()}


def _matches(pattern, name):
    """mlx5_* and mlx5_0/1 are both names of a port."""
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name.partition("/")[0], pattern)


def _table(lines):
    """[(pattern, number)] of lines such as mlx5_*=400."""
    table = []
    for line in lines or ():
        pattern, _equal, number = line.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = 0
        if not pattern or not 0 < value < 1e9:
            raise NoAnswer("unknown", "expected: %s is no name=number" % clean(line, 60))
        table.append((pattern.strip(), value))
    return table


def _wanted(table, name):
    return next((value for pattern, value in table if _matches(pattern, name)), None)


class _Told:
    """Findings by subject, one each, and what was not known."""

    def __init__(self):
        self.texts, self.rest = {}, []

    def found(self, subject, text, observed, expected, level=None):
        self.texts.setdefault((subject, level), []).append((text, observed, expected))

    def unknown(self, subject, reason):
        self.rest.append(unknown(reason, subject))

    def outcomes(self, otherwise=None):
        outcomes = []
        for (subject, level), lines in self.texts.items():
            text = "; ".join(text for text, _observed, _expected in lines[:6])
            outcomes.append(found(text, lines[0][1], lines[0][2], level=level, subject=subject))
        return outcomes + self.rest or [otherwise or passed()]


@rule(
    id="rdma-port-state",
    layer=1,
    level="fail",
    title="RDMA ports are active",
    reads=_READS,
    scope="node",
    remedy="Follow the cable: transceiver, switch port, the other end. A link that is up with a port that is not active waits for a subnet manager "
    "(InfiniBand), or for its interface to be brought up (Ethernet).",
    follows=("kernel-pcie-errors", "kernel-nic-errors", "pcie-path-width"),
    parameters={"expected": Parameter("list", None, "devices", "names such as mlx5_* that must be active: " + _EQUAL)},
)
def rdma_port_state(view, p):
    told, wanted = _Told(), p.expected or ()
    try:
        ports, told.rest = _ports(view)
    except NoAnswer as no:
        if no.outcome != "not_applicable" or not wanted:
            raise
        return found("There is no RDMA device, and %s is expected" % ", ".join(wanted), "none", expectation("active", origin=_SITE))
    for pattern in wanted:
        if not any(_matches(pattern, port.name) for port in ports) and not told.rest:
            told.found(None, "There is no RDMA device %s" % clean(pattern, 60), "none", expectation("active", origin=_SITE))
    states = {}
    for port in ports:
        try:
            states[port] = port.facts.word("state")
        except NoAnswer as no:
            told.unknown(port.subject, "%s: %s" % (port.name, no.reason))
    usual, many = _by_group([(port.group, state == "active") for port, state in states.items()])
    for port, state in states.items():
        if state == "active":
            continue
        physical = port.facts.maybe("word", "physical_state") or "not told"
        if physical == "linkup":
            manager = port.facts.maybe("text", "subnet_manager") == "none"
            text = "%s is %s, though its link is up%s" % (port.name, state, ": no subnet manager has reached it" if manager else "")
            told.found(port.subject, text, state, expectation("active", origin="this node: its link is up"))
        elif any(_matches(pattern, port.name) for pattern in wanted):
            told.found(port.subject, "%s is %s (%s)" % (port.name, state, physical), state, expectation("active", origin=_SITE))
        elif not wanted and usual[port.group]:
            text = "%s is %s (%s), unlike the most of %d equal ports" % (port.name, state, physical, many[port.group])
            told.found(port.subject, text, state, expectation("active", origin=_HERE))
    if not told.texts and states and not wanted and "active" not in states.values():
        told.found(None, "None of %d RDMA ports is active" % len(states), 0, expectation("one at least", origin=_HERE), level="warn")
    return told.outcomes()


def _active(view, told):
    """Ports that are active."""
    ports, told.rest = _ports(view)
    active = [port for port in ports if port.facts.maybe("word", "state") == "active"]
    if not active and not told.rest:
        raise NoAnswer("not_applicable", "no RDMA port is active")
    return active


def _compare(told, entries, table, unit, text, milder):
    """Find values below the wanted one, or below the usual one of their group. entries: [(name, subject, group, value)]; group None: not compared.

    milder: the level where several share the lower value, as adapters do that serve another network.
    """
    shared = Counter((group, value) for _name, _subject, group, value in entries)
    usual, many = _by_group([(group, value) for _name, _subject, group, value in entries if group is not None])
    asked = False
    for name, subject, group, value in entries:
        wanted = _wanted(table, name)
        common = usual.get(group) if many.get(group, 0) > 1 else None
        asked = asked or wanted is not None or common is not None
        if wanted is not None:
            if value < wanted:
                told.found(subject, text % (name, value, wanted), value, expectation(wanted, unit, _SITE))
        elif common is not None and value < common:
            told.found(subject, text % (name, value, common), value, expectation(common, unit, _HERE), milder if shared[group, value] > 1 else None)
    return told.outcomes(None if asked else not_applicable("nothing to compare with: no equal ports, and the site says nothing"))


@rule(
    id="rdma-port-speed",
    layer=1,
    level="fail",
    title="RDMA ports run at their speed",
    reads=_READS,
    scope="node",
    remedy="Reseat or replace cable and transceiver; look at the speed that the switch port is set to, and at the adapter's own (mlxlink, ethtool).",
    follows=("rdma-port-state", "kernel-nic-errors"),
    parameters={"expected": Parameter("list", None, "Gbit/s", "lines such as mlx5_*=400, the first that fits counts: " + _EQUAL)},
)
def rdma_port_speed(view, p):
    told, table, entries = _Told(), _table(p.expected), []
    for port in _active(view, told):
        try:
            entries.append((port.name, port.subject, port.group, port.facts.number("gbit_s")))
        except NoAnswer as no:
            told.unknown(port.subject, "%s: %s" % (port.name, no.reason))
    return _compare(told, entries, table, "Gbit/s", "%s runs at %g instead of %g Gbit/s", "warn")


@rule(
    id="rdma-port-errors",
    layer=1,
    level="warn",
    title="Error counters of RDMA ports are not at their end",
    reads=_READS,
    scope="node",
    remedy="Look for a flapping link: cable, transceiver, switch port. Then clear the counters (perfquery -R), so that they count again.",
    follows=("rdma-port-state", "kernel-nic-errors"),
    parameters={"link_downed": Parameter("int", None, "times", "not judged unless the site says how often; a counter that is full is found in any case")},
)
def rdma_port_errors(view, p):
    told, asked = _Told(), False
    ports, told.rest = _ports(view)
    counted = view.section("network_devices").facts("port_errors")
    for port in ports:
        try:
            counters = counted.facts(port.rail, port.number)
        except NoAnswer as no:
            if no.outcome == "unknown":
                told.unknown(port.subject, "%s: %s" % (port.name, no.reason))
            continue
        silent = None
        for name in sorted(counters.data):
            last = _LAST.get(name)
            try:
                value = counters.number(name)
            except NoAnswer as no:
                silent = silent or no.reason
                continue
            asked = True
            if value == last:
                told.found(port.subject, "%s: %s is full at %d" % (port.name, clean(name, 40), value), value, expectation("less", origin=_KERNEL))
            elif name == "link_downed" and p.link_downed is not None and value > p.link_downed:
                text = "%s: its link went down %d times" % (port.name, value)
                told.found(port.subject, text, value, expectation(p.link_downed, "times", _SITE))
        if silent:
            told.unknown(port.subject, "%s: %s" % (port.name, silent))
    return told.outcomes(None if asked else not_applicable("the drivers count no errors of ports"))


@rule(
    id="roce-address",
    layer=1,
    level="warn",
    title="RoCE ports have an address that can be routed",
    reads=_READS,
    scope="node",
    remedy="Give the interface of the port its IP address; without one there are GIDs of the link alone, and a fixed GID index means nothing or the wrong one.",
    follows=("rdma-port-state",),
)
def roce_address(view, p):
    told, having = _Told(), []
    for port in _active(view, told):
        if port.facts.maybe("text", "link_layer") != "Ethernet":
            continue
        try:
            gids = port.facts.facts("gids").data
        except NoAnswer as no:
            if no.outcome == "unknown":
                told.unknown(port.subject, "%s: %s" % (port.name, no.reason))
            continue
        if any(name.__class__ is str and name.startswith("type not told") for name in gids) and not any(name in gids for name in _ROUTABLE):
            told.unknown(port.subject, "%s: the kernel does not tell the type of a GID" % port.name)
        elif "iwarp" not in gids:
            having.append((port, any(name in gids for name in _ROUTABLE)))
    usual, many = _by_group([(port.group, has) for port, has in having])
    wanted = expectation("a RoCE v2 GID of an IP address", origin="suite: Infera preflight: a device without one cannot be reached over a router")
    if having and not any(has for _port, has in having) and not told.rest:
        why = _elsewhere(view, [port for port, _has in having])
        text = "None of %d active RoCE ports has a GID of RoCE v2 with an IP address%s" % (len(having), "; %s" % why if why else "")
        return found(text, 0, wanted, level="info" if why else None)
    for port, has in having:
        if not has:
            odd = usual[port.group] and many[port.group] > 1
            told.found(port.subject, "%s has no GID of RoCE v2 with an IP address" % port.name, "none", wanted, level=None if odd else "info")
    return told.outcomes(None if having else not_applicable("no active RoCE port"))


def _elsewhere(view, ports):
    """Why ports may do without an address of their own, "" where they may not."""
    section = view.section("network_devices")
    if (section.maybe("number", "counts", "virtual_functions") or 0) > 0:
        return "their virtual functions, which pods and guests get, may have one"
    listed, rails = section.maybe("facts", "interfaces"), section.facts("rails")
    names = [name for port in ports for name in rails.maybe("list", port.rail, "interfaces") or ()]
    above = [listed.maybe("text", name, "bond") for name in names if name.__class__ is str] if listed else []
    return "they belong to %s, which may have one" % ", ".join(sorted(set(above))[:4]) if above and all(above) else ""


def _interfaces(view):
    """([(name, subject, facts)], names of those that belong to an RDMA device)."""
    section = view.section("network_devices")
    listed = section.facts("interfaces")
    rails, own = section.maybe("facts", "rails"), set()
    for device in (rails.data if rails else {}).values():
        names = device.get("interfaces") if device.__class__ is dict else None
        own.update(name for name in (names if names.__class__ is list else ()) if name.__class__ is str)
    found_ones = [(clean(name, 40), listed.facts(name)) for name in sorted(listed.data)]
    return [(name, _subject(facts), facts) for name, facts in found_ones], own


def _kind(facts):
    return (*_place(facts), facts.maybe("text", "port"), facts.maybe("text", "type"))


@rule(
    id="bond-members",
    layer=1,
    level="fail",
    title="Bonds have all their members",
    reads=_READS,
    scope="node",
    remedy="Follow the cable of the member that has no link; add the one that is missing (ip link set INTERFACE master BOND), and look why it was not added.",
    follows=("interface-state", "rdma-port-state", "kernel-nic-errors"),
    parameters={"expected": Parameter("int", None, "members", "how many each bond has; where the site does not say it, a bond of one is told as a warning")},
)
def bond_members(view, p):
    told, asked = _Told(), False
    bonds = view.section("network_devices").facts("bonding")
    interfaces = {name: (subject, facts) for name, subject, facts in _interfaces(view)[0]}
    for name in sorted(bonds.data):
        shown = clean(name, 40)
        try:
            members = bonds.facts(name, "members")
        except NoAnswer as no:
            told.unknown(None, "%s: %s" % (shown, no.reason))
            continue
        try:
            missing = bonds.texts(name, "missing")
        except NoAnswer as no:
            missing = []
            told.unknown(None, "%s: %s" % (shown, no.reason))
        for member in missing:
            subject = interfaces.get(member, (None, None))[0]
            text = "%s is without %s, which the network's configuration gives it" % (shown, clean(member, 40))
            told.found(subject, text, "missing", expectation("a member", origin="this node: its network configuration"))
        if not (members.data or missing) and p.expected is None:
            continue  # the module makes bonds that nobody uses
        asked = True
        for member in sorted(members.data):
            subject, facts = interfaces.get(member, (None, None))
            try:
                link = members.text(member, "link")
            except NoAnswer as no:
                told.unknown(subject, "%s: %s: %s" % (shown, clean(member, 40), no.reason))
                continue
            # Without miimon the bond does not look at links.
            if link != "up" or (facts is not None and facts.maybe("text", "state") == "down"):
                text = "%s: its member %s is %s" % (shown, clean(member, 40), "down" if link == "up" else link)
                told.found(subject, text, link, expectation("up", origin="this node"))
        count, least = len(members.data), 2 if p.expected is None else p.expected
        if count < least and not missing:
            wanted = expectation(least, "members", "our choice: a bond of one has no spare" if p.expected is None else _SITE)
            told.found(None, "%s has %d of %d members" % (shown, count, least), count, wanted, level="warn" if p.expected is None else None)
    return told.outcomes(None if asked else not_applicable("no bond has members"))


@rule(
    id="interface-state",
    layer=1,
    level="fail",
    title="Network interfaces are up",
    reads=_READS,
    scope="node",
    remedy="Bring the interface up (ip link set INTERFACE up); where it has no carrier, follow the cable: transceiver, switch port, the other end.",
    follows=("rdma-port-state", "kernel-nic-errors"),
    parameters={"expected": Parameter("list", None, "interfaces", "names such as enp*f0 that must be up: " + _EQUAL)},
)
def interface_state(view, p):
    told, wanted, (interfaces, own) = _Told(), p.expected or (), _interfaces(view)
    for pattern in wanted:
        if not any(_matches(pattern, name) for name, _subject, _facts in interfaces):
            told.found(None, "There is no interface %s" % clean(pattern, 60), "none", expectation("up", origin=_SITE))
    states = {}
    for name, subject, facts in interfaces:
        asked = any(_matches(pattern, name) for pattern in wanted)
        if not asked and (wanted or name in own):  # the state of an RDMA port says more than that of its interface
            continue
        try:
            states[name] = (subject, _kind(facts), facts.word("state"))
        except NoAnswer as no:
            told.unknown(subject, "%s: %s" % (name, no.reason))
    usual, many = _by_group([(kind, state == "up") for _subject, kind, state in states.values()])
    for name, (subject, kind, state) in states.items():
        if state != "up" and wanted:
            if state == "unknown":  # Linux Documentation/networking/operstates.rst: not told by every driver
                told.unknown(subject, "%s: its driver does not tell whether it is up" % name)
                continue
            told.found(subject, "%s is %s" % (name, state), state, expectation("up", origin=_SITE))
        elif state == "down" and usual[kind]:
            text = "%s is down, unlike the most of %d equal interfaces" % (name, many[kind])
            told.found(subject, text, state, expectation("up", origin=_HERE))
    return told.outcomes(None if states or told.texts else not_applicable("no interface besides those of RDMA devices"))


@rule(
    id="interface-speed",
    layer=1,
    level="fail",
    title="Network interfaces run at their speed",
    reads=_READS,
    scope="node",
    remedy="Reseat or replace cable and transceiver; look at the speed that the switch port is set to.",
    follows=("interface-state", "rdma-port-state", "rdma-port-speed", "kernel-nic-errors"),
    parameters={"expected": Parameter("list", None, "Gbit/s", "lines such as enp*f0=200, the first that fits counts: " + _EQUAL)},
)
def interface_speed(view, p):
    told, table, entries = _Told(), _table(p.expected), []
    interfaces, own = _interfaces(view)
    for name, subject, facts in interfaces:
        try:
            entries.append((name, subject, None if name in own else _kind(facts), facts.number("speed_mbit_s") / 1000))
        except NoAnswer as no:
            if no.outcome == "unknown":
                told.unknown(subject, "%s: %s" % (name, no.reason))
    return _compare(told, entries, table, "Gbit/s", "%s runs at %g instead of %g Gbit/s", "warn")


@rule(
    id="interface-mtu",
    layer=1,
    level="warn",
    title="Interfaces of rails and bonds take packets of the same size",
    reads=_READS,
    scope="node",
    remedy="Set the MTU in the network's configuration, the same on the node, its peers and the switches.",
    parameters={"expected": Parameter("list", None, "bytes", "lines such as bond0=9000, the first that fits counts: " + _EQUAL)},
)
def interface_mtu(view, p):
    told, table, entries = _Told(), _table(p.expected), []
    interfaces, own = _interfaces(view)
    section = view.section("network_devices")
    bonds = section.maybe("facts", "bonding")
    interfaces += [(clean(name, 40), None, bonds.facts(name)) for name in sorted(bonds.data)] if bonds else []
    for name, subject, facts in interfaces:
        if name not in own and _wanted(table, name) is None:
            continue
        try:
            entries.append((name, subject, _kind(facts) if name in own else None, facts.number("mtu")))
        except NoAnswer as no:
            told.unknown(subject, "%s: %s" % (name, no.reason))
    return _compare(told, entries, table, "bytes", "%s has an MTU of %d instead of %d", "info")
