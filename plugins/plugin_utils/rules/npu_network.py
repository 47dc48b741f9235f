# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about accelerators that have network ports of their own (Ascend): link, reachability, addresses, TLS, transceivers.

Whether there should be a network is told by the addresses that the node configures, or by the site (parameter required).
"""

from __future__ import annotations

import ipaddress

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.consistency import cohort_rule
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
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.told import graver, worst
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

_DEVICES = ("accelerators",)
_GUIDE, _FAULT_DIAG = "vendor document: hccn_tool", "vendor document: FaultDiag of mind-cluster"
# Of the driver's own words: the check has not run, or could not be set up (mind-cluster).
_NOT_READY = ("init", "thread error", "detect ip set", "unknown")
_POD_BOARDS = ("0x30", "0x31", "0x32", "0x34")  # of super pods, whose ports are no transceivers (FaultDiag)
_LARGEST = 1e30  # beyond it is garbage


def _required():
    return {"required": Parameter("bool", False, "", "our choice: a node may work alone; true where the NPUs of every node are to reach other nodes")}


def ports_of(device):
    """The network ports of a device. NoAnswer where it has none or they were not read."""
    if "network_ports" not in device.data:
        raise NoAnswer("not_applicable", "no network port of its own was asked for")
    return device.objects("network_ports")


def _all_ports(group):
    """[(device, port)] of a group; NoAnswer where no device has one."""
    told, reason = [], None
    for device in group.packages:
        try:
            told += [(device, port) for port in ports_of(device)]
        except NoAnswer as no:
            reason = graver(reason, no)
    if not told:
        raise reason or NoAnswer("not_applicable", "no device")
    return told


def address_of(port):
    """The address that a port uses, or is to use where it was not asked. NoAnswer for none."""
    return port.text("address_used" if "address_used" in port.data else "address")


def _configured(port):
    """Whether a port has an address; NoAnswer where that was not read."""
    try:
        address_of(port)
    except NoAnswer as no:
        if no.outcome == "unknown":
            raise
        return False
    return True


def _each(device, judge):
    return worst(ports_of(device), judge) or not_applicable("no port")


def _dark(device):
    """Whether no port of a node of a super pod has a link: its nodes reach each other through HCCS, and addresses are also set for rank tables alone."""
    pod = device.maybe("number", "extra", "super_pod", "super_pod_id")
    return pod is not None and all(port.maybe("text", "link") == "down" for _device, port in _all_ports(device.group))


def _name(port):
    return "Network port %s" % show(port.data.get("number"), 10)


@rule(
    id="npu-port-link",
    layer=1,
    level="fail",
    title="The network port of the NPU has its link",
    reads=_DEVICES,
    scope="device",
    remedy="Check cable, transceiver and the switch's port; a switch port of twice the NPU's speed is to be split. Then see `hccn_tool -i N -link_stat -g`.",
    parameters=_required(),
    follows=("device-lost", "npu-port-module"),
)
def npu_port_link(device, p):
    def judge(port):
        if not p.required and not _configured(port):
            return not_applicable("the port has no address")
        link, level = port.word("link"), "warn" if not p.required and _dark(device) else None
        return PASSED if link == "up" else found("%s has no link" % _name(port), link, expectation("up", "", _GUIDE), level=level)

    return _each(device, judge)


@rule(
    id="npu-port-health",
    layer=1,
    level="fail",
    title="The NPU's own check of its network succeeds",
    reads=_DEVICES,
    scope="device",
    remedy="Ping the detection address from the NPU (`hccn_tool -i N -ping -g address A`); check the address, its netmask, the VLAN of the switch's port.",
    follows=("npu-port-link", "npu-port-address", "npu-port-duplicate", "npu-ports-unique", "npu-port-gateway", "device-lost"),
)
def npu_port_health(device, p):
    def judge(port):
        if not _configured(port):
            return not_applicable("the port has no address")
        said = port.text("health")
        if said == "success":
            return PASSED
        if said in _NOT_READY:
            set_up = "" if port.maybe("text", "detect_address") else ", and no detection address is set"
            return unknown("%s: the check of its network has not run: %s%s" % (_name(port), said, set_up))
        level, words = "warn" if _dark(device) else None, "%s: the check of its network says: %s" % (_name(port), said[:40])
        return found(words, said[:40], expectation("success", "", _GUIDE), level=level)

    return _each(device, judge)


@rule(
    id="npu-port-address",
    layer=1,
    level="fail",
    title="The network port of the NPU has its address",
    reads=_DEVICES,
    scope="device",
    remedy="Set it with `hccn_tool -i N -ip -s address A netmask M`, or restore what /etc/hccn.conf holds with `hccn_tool -i N -cfg recovery`.",
    parameters=_required(),
    follows=("device-lost",),
)
def npu_port_address(device, p):
    ports_of(device)  # NoAnswer where it has none
    declared = p.required
    if not declared:
        for _other, port in _all_ports(device.group):
            if port.maybe("text", "address") or port.maybe("text", "address_used"):
                declared = True

    def judge(port):
        if not _configured(port):
            if not declared:
                return not_applicable("no port of this node has an address")
            held = port.maybe("text", "address")
            wanted = held or "an address"
            return found(
                "%s has no address" % _name(port), "none", expectation(wanted, "", "this node: /etc/hccn.conf" if held else "this node: its other ports")
            )
        for kind in ("address", "netmask"):
            held, used = port.maybe("text", kind), port.maybe("text", kind + "_used")
            if held and used and held != used:
                limit = expectation(held, "", "this node: /etc/hccn.conf")
                return found("%s uses the %s %s" % (_name(port), kind, used[:60]), used[:60], limit, level="warn")
        return PASSED

    return _each(device, judge)


@rule(
    id="npu-port-duplicate",
    layer=1,
    level="fail",
    title="No two network ports of the node's NPUs have one address",
    reads=_DEVICES,
    scope="group",
    remedy="Give each port an address of its own (`hccn_tool -i N -ip -s address A netmask M`).",
)
def npu_port_duplicate(group, p):
    seen, reason = {}, None
    for device, port in _all_ports(group):
        try:
            seen.setdefault(address_of(port), []).append((device, port))
        except NoAnswer as no:
            reason = graver(reason, no)
    twice = [
        found(
            "%s has the address %s, as %s"
            % (_name(port), address[:60], ", ".join("port %s" % show(o.data.get("number"), 10) for _d, o in users if o is not port)),
            address[:60],
            expectation("an address of its own", "", _GUIDE),
            subject=(device.kind, device.id),
        )
        for address, users in sorted(seen.items())
        if len(users) > 1
        for device, port in users
    ]
    if not twice and reason is not None and (reason.outcome == "unknown" or not seen):
        raise reason
    return twice or PASSED


@rule(
    id="npu-port-gateway",
    layer=1,
    level="warn",
    title="The network ports of the NPUs have gateways that they reach",
    reads=_DEVICES,
    scope="group",
    remedy="Set it with `hccn_tool -i N -gateway -s gateway G`: without one a port reaches its own subnet only.",
    follows=("npu-port-address",),
)
def npu_port_gateway(group, p):
    with_one, without, outcomes, reason = 0, [], [], None
    for device, port in _all_ports(group):
        try:
            if not _configured(port):
                continue
            try:
                gateway = port.text("gateway_used" if "gateway_used" in port.data else "gateway")
            except NoAnswer as no:
                if no.outcome == "unknown":
                    raise
                without.append((device, port))
                continue
            with_one += 1
            mask = port.text("netmask_used" if "netmask_used" in port.data else "netmask")
            try:
                network = ipaddress.ip_network("%s/%s" % (address_of(port), mask), strict=False)
                router = ipaddress.ip_address(gateway)
                inside = router in network or (router.version == 6 and router.is_link_local)
            except ValueError:
                raise NoAnswer("unknown", "%s: address, netmask or gateway not understood" % _name(port)) from None
            if not inside:
                limit = expectation("inside %s" % network, "", "this node: address and netmask of the port")
                outcomes.append(found("%s has a gateway outside its subnet" % _name(port), gateway[:60], limit, subject=(device.kind, device.id)))
        except NoAnswer as no:
            reason = no
    if with_one:
        limit = expectation("a gateway", "", "this node: its other ports")
        outcomes += [found("%s has no gateway" % _name(port), "none", limit, subject=(device.kind, device.id)) for device, port in without]
    if outcomes:
        return outcomes
    if reason is not None:
        raise reason
    return PASSED if with_one else not_applicable("no port has a gateway: one subnet is enough for one switch")


@rule(
    id="npu-port-tls",
    layer=1,
    level="fail",
    title="The TLS switch of the node's NPUs stands alike",
    reads=_DEVICES,
    scope="group",
    remedy="Set it alike on all NPUs of all nodes (`hccn_tool -i N -tls -s enable 0`): HCCL refuses or times out between a port with TLS and one without.",
)
def npu_port_tls(group, p):
    told, reason = [], None
    for device, port in _all_ports(group):
        try:
            told.append((device, port, port.flag("tls")))
        except NoAnswer as no:
            reason = graver(reason, no)
    on = sum(1 for _d, _p, tls in told if tls)
    usual = on * 2 > len(told)
    odd = [
        found(
            "%s has TLS %s" % (_name(port), "on" if tls else "off"),
            "on" if tls else "off",
            expectation("on" if usual else "off", "", "this node: most of its ports"),
            subject=(device.kind, device.id),
        )
        for device, port, tls in told
        if tls != usual
    ]
    if odd:
        return odd
    if reason is not None and (reason.outcome == "unknown" or not told):
        raise reason
    return PASSED


def _module_troubles(module):
    """What is wrong with a transceiver by its own flags and limits."""
    told = []
    if module.maybe("flag", "present") is False:
        shown = any(module.maybe("number", name) is not None for name in ("temperature_c", "supply_mv"))
        told.append("its presence is not seen%s" % (", though it tells its readings" if shown else ""))
    for side in ("tx", "rx"):
        low, high = module.maybe("number", side + "_low_mw"), module.maybe("number", side + "_high_mw")
        lanes = module.data.get(side + "_mw")
        for lane, power in enumerate(lanes if lanes.__class__ is list else ()):
            if power.__class__ in (int, float) and abs(power) < _LARGEST and ((low is not None and power < low) or (high is not None and power > high)):
                told.append("%s power of lane %d is %g mW" % (side, lane, power))
        for flag, words in (("los", "no light"), ("lol", "no lock")):
            bits = module.maybe("number", "%s_%s" % (side, flag))
            if bits:
                told.append("%s says %s (0x%x)" % (side, words, int(bits)))
    for name, unit in (("temperature", "c"), ("supply", "mv")):
        value, low, high = (module.maybe("number", key % (name, unit)) for key in ("%s_%s", "%s_low_%s", "%s_high_%s"))
        if value is not None and ((low is not None and value < low) or (high is not None and value > high)):
            told.append("%s is %g" % (name, value))
    return told


@rule(
    id="npu-port-module",
    layer=1,
    level="fail",
    title="The transceiver of the NPU's port is there, lit and within its own limits",
    reads=_DEVICES,
    scope="device",
    remedy="Reseat the transceiver and clean the fiber, swap it with that of a good port, then look at the switch's side.",
    follows=("device-lost",),
)
def npu_port_module(device, p):
    ports_of(device)  # NoAnswer where it has none
    if (device.maybe("text", "extra", "board_id") or "").lower() in _POD_BOARDS:
        return not_applicable("a board of a super pod has no transceivers of its own")

    def judge(port):
        if "module" not in port.data:
            return not_applicable("transceivers are asked with ports: full")
        module = port.facts("module")
        told = _module_troubles(module)
        if told:
            return found("%s: %s" % (_name(port), "; ".join(told)[:250]), len(told), expectation("none", "", _FAULT_DIAG), evidence={"told": told[:24]})
        module.flag("present")
        return PASSED

    return _each(device, judge)


@rule(
    id="npu-port-fec",
    layer=1,
    level="warn",
    title="The NPU's port corrects errors (FEC)",
    reads=_DEVICES,
    scope="device",
    remedy="Set the same FEC mode on both ends (`hccn_tool -i N -fec -s`); optical ports of 100 Gbit/s and more need it.",
    follows=("npu-port-link", "device-lost"),
)
def npu_port_fec(device, p):
    def judge(port):
        if "fec" not in port.data:
            return not_applicable("FEC is asked with ports: full")
        mode = port.text("fec")
        return PASSED if mode != "none" else found("%s has no FEC mode" % _name(port), mode, expectation("a mode", "", _FAULT_DIAG))

    return _each(device, judge)


@rule(
    id="npu-port-errors",
    layer=1,
    level="info",
    title="The NPU's port counts no bad packets",
    reads=_DEVICES,
    scope="device",
    remedy="Read the counters again under load (`hccn_tool -i N -stat -g`); where they grow, look at cable, transceiver and switch.",
    parameters={"most": Parameter("int", 0, "packets", "our choice: counted since the driver was loaded, so a hint and no verdict")},
    follows=("npu-port-link", "npu-port-module", "npu-port-fec"),
)
def npu_port_errors(device, p):
    def judge(port):
        if "counters" not in port.data:
            return not_applicable("counters are asked with ports: full")
        counters = port.facts("counters").data
        bad = {name: n for name, n in counters.items() if n.__class__ is int and n > p.most and ("_err_" in name or "_bad_" in name)}
        if bad:
            text = ", ".join("%s %d" % (name[:40], count) for name, count in sorted(bad.items())[:6])
            return found("%s: %s" % (_name(port), text), sum(bad.values()), p.expected("most"))
        return PASSED

    return _each(device, judge)


@rule(
    id="npu-ports-unique",
    layer=1,
    level="warn",
    title="No other node of the run has an address of this node's NPUs",
    reads=_DEVICES,
    scope="fleet",
    compare="addresses",
    remedy="Where both are in one network, give one of them other addresses; a copied /etc/hccn.conf is the usual cause.",
)
def npu_ports_unique(view, p):
    addresses, reason = set(), None
    for group in view.groups:
        try:
            ports = _all_ports(group)
        except NoAnswer as no:
            reason = graver(reason, no)
            continue
        for _device, port in ports:
            try:
                addresses.add(address_of(port))
            except NoAnswer as no:
                reason = graver(reason, no)
    if not addresses:
        raise reason or NoAnswer("not_applicable", "no accelerator")
    return "\n".join(sorted(addresses))


def _values(view, tell):
    """The values that the ports of a node tell, one a line; NoAnswer where there is none or one is unknown."""
    values, reason = set(), None
    for group in view.groups:
        try:
            values |= {tell(port) for _device, port in _all_ports(group)}
        except NoAnswer as no:
            reason = graver(reason, no)
    if reason is not None and (reason.outcome == "unknown" or not values):
        raise reason
    if not values:
        raise NoAnswer(view.device_gaps[0].outcome, view.device_gaps[0].reason) if view.device_gaps else NoAnswer("not_applicable", "no accelerator")
    return "\n".join(sorted(values))


@cohort_rule(
    "cohort-npu-tls",
    "Same TLS switch of the NPUs",
    reads=_DEVICES,
    compare="set",
    follows=("npu-port-tls", "cohort-count", "cohort-model"),
    remedy="Set it alike on all NPUs of all nodes (`hccn_tool -i N -tls -s enable 0`): HCCL refuses or times out between a port with TLS and one without.",
)
def cohort_npu_tls(view, p):
    return _values(view, lambda port: "on" if port.flag("tls") else "off")


@cohort_rule(
    "cohort-npu-network",
    "Same subnet size of the NPUs' ports",
    reads=_DEVICES,
    level="info",
    compare="set",
    follows=("npu-port-address", "cohort-count", "cohort-model"),
    remedy="A node whose NPUs have no address, or another netmask, takes part in no training of the others: set them with hccn_tool.",
)
def cohort_npu_network(view, p):
    def told(port):
        try:
            return port.text("netmask_used" if "netmask_used" in port.data else "netmask")
        except NoAnswer as no:
            if no.outcome == "unknown":
                raise
            return "none"

    return _values(view, told)
