# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools said of network ports, as the files of the kernel and of systemd-networkd that say the same."""

from __future__ import annotations

import base64
import json
import re

import network_samples as samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices
from health_nodes import ask

RDMA, NET, BUS = "/sys/class/infiniband/", "/sys/class/net/", "/sys/bus/pci/devices/"
ABSENT = samples.ABSENT
STATES = {name.lower(): "%d: %s" % (n, name) for n, name in enumerate(("NOP", "DOWN", "INIT", "ARMED", "ACTIVE"))}
PHYSICAL = {"sleep": "1: Sleep", "polling": "2: Polling", "disabled": "3: Disabled", "linkup": "5: LinkUp", "link_up": "5: LinkUp"}
PREDICTABLE = re.compile(r"(?:roce|ib|en)(?:P(\d+))?p(\d+)s(\d+)(?:f(\d+))?")


def place(name):
    """The PCI address in a name such as enP5p1s0f0: systemd.net-naming-scheme(7)."""
    domain, bus, slot, function = PREDICTABLE.match(name).groups()
    return "%04x:%02x:%02x.%d" % (int(domain or 0), int(bus), int(slot), int(function or 0))


class Node:
    """A machine without adapters, to which they are added."""

    def __init__(self):
        self.files = {
            "/sys/class/infiniband": {"dir": []}, "/sys/class/net": {"dir": ["lo"]}, NET + "lo": {"link": "../../devices/virtual/net/lo"},
            NET + "bonding_masters": ABSENT, "/proc/net/route": samples.ROUTE, "/proc/net/ipv6_route": "", "/proc/net/if_inet6": "",
            "/run/systemd/netif/lldp": ABSENT,
        }  # fmt: skip

    def _function(self, address, pci, driver):
        told = {"/driver": {"link": "../../../../bus/pci/drivers/" + driver}, "/numa_node": "0\n", "/physfn": ABSENT}
        told.update({"/vendor": "0x%s\n" % pci.partition(":")[0], "/device": "0x%s\n" % pci.partition(":")[2]})
        self.files.update({BUS + address + name: value for name, value in told.items()})
        return "../../devices/pci0000:00/" + address

    def rdma(self, name, address, ports, pci="15b3:1021", driver="mlx5_core", **told):
        """ports: {number: {file: content}}; told: hca_type, fw_ver, board_id, node_type."""
        self.files["/sys/class/infiniband"]["dir"].append(name)
        base = RDMA + name
        self.files[base] = {"link": "%s/infiniband/%s" % (self._function(address, pci, driver), name)}
        for key, value in {"hca_type": None, "fw_ver": None, "board_id": None, "node_type": "1: CA", **told}.items():
            self.files["%s/%s" % (base, key)] = ABSENT if value is None else value + "\n"
        self.files[base + "/ports"] = {"dir": sorted(ports)}
        for number, port in ports.items():
            self.files.update({"%s/ports/%s/%s" % (base, number, key): ABSENT for key in ("gids", "counters")})
            self.files.update({"%s/ports/%s/%s" % (base, number, key): value for key, value in port.items()})

    def net(self, name, address, pci="15b3:1021", driver="mlx5_core", **told):
        """told: operstate, mtu, type, speed (without one there is no link), bond."""
        self.files["/sys/class/net"]["dir"].append(name)
        base = NET + name
        self.files[base] = {"link": "%s/net/%s" % (self._function(address, pci, driver), name)}
        bond, speed = told.get("bond"), told.get("speed")
        self.files.update(
            {
                base + "/master": {"link": "../../../../virtual/net/" + bond} if bond else ABSENT,
                base + "/phys_port_name": "p0\n",
                base + "/type": told.get("type", "1") + "\n",
                base + "/mtu": "%d\n" % told.get("mtu", 1500),
                base + "/operstate": told.get("operstate", "up") + "\n",
                base + "/speed": speed + "\n" if speed else {"error": "EINVAL"},
                base + "/ifindex": "%d\n" % len(self.files),
            }
        )

    def neighbors(self, told):
        """told: {interface: (switch, port)}, kept by networkd."""
        kept = {self.files[NET + name + "/ifindex"].strip(): pair for name, pair in told.items()}
        self.files["/run/systemd/netif/lldp"] = {"dir": sorted(kept)}
        for index, (switch, port) in kept.items():
            self.files["/run/systemd/netif/lldp/" + index] = {"base64": base64.b64encode(samples.frame(switch.encode(), port.encode())).decode()}

    def section(self):
        recorded = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": self.files, "commands": [], "host": {}}
        return network_devices.collect(ReplayHost(recorded))


def judged(section, rule, **policy):
    """[(subject, outcome, level)], the parameters of the rule by their short names."""
    return ask(rule, {"network_devices": section}, **{"accelerator_policy_%s_%s" % (rule.replace("-", "_"), key): value for key, value in policy.items()})


def found(section, rule, **policy):
    """Subjects of findings."""
    return sorted(subject for subject, outcome, _level in judged(section, rule, **policy) if outcome == "found")


def port(state, physical=None, layer="InfiniBand", rate=None, **more):
    told = {"state": STATES[state.lower()] + "\n", "link_layer": layer + "\n", "phys_state": PHYSICAL[physical.lower()] + "\n" if physical else ABSENT}
    return {**told, **({"rate": rate + "\n"} if rate else {}), **more}


def keyed(text, colon=":"):
    """{key: value} of lines with a colon; of a key that comes twice the first counts, lines without one are left out."""
    told = {}
    for line in text.splitlines():
        key, separator, value = line.partition(colon)
        if separator and key.strip():
            told.setdefault(key.strip(), value.strip())
    return told


def verbs(text):
    """A node with the devices of ibv_devinfo. What it calls a part number is the device on PCI; its vendor is the one of the GUID."""
    node = Node()
    for number, block in enumerate(text.split("hca_id:")[1:]):
        told = keyed("hca_id:" + block)
        part, efa = int(told["vendor_part_id"]), told["vendor_id"] == "0x1d0f"
        ports = {}
        if told.get("state"):
            lids = {"lid": "0x%x\n" % int(told["port_lid"]), "sm_lid": "0x%x\n" % int(told["sm_lid"])}
            ports["1"] = port(re.match(r"PORT_(\w+)", told["state"]).group(1), layer=told["link_layer"], **lids)
        elif re.search(r"^\s*port:\s*\d", block, re.MULTILINE):
            ports["1"] = {}
        kind = "7: unspecified" if "unspecified" in told["transport"] else "1: CA"
        address = place(told["hca_id"]) if PREDICTABLE.match(told["hca_id"]) else "0000:%02x:00.0" % (number + 1)
        node.rdma(
            told["hca_id"], address, ports, "%s:%04x" % ("1d0f" if efa else "15b3", part), "efa" if efa else "mlx5_core", fw_ver=told["fw_ver"],
            hca_type=None if efa else "MT%d" % part, board_id=told.get("board_id"), node_type=kind,
        )  # fmt: skip
    return node


def links(text):
    """A node with the devices of rdma link and their interfaces."""
    node = Node()
    for line in text.splitlines():
        device, number, state, physical, interface = re.match(r"link (\S+)/(\d) state (\w+) physical_state (\w+) netdev (\S+)", line).groups()
        node.rdma(device, place(interface), {number: port(state, physical, "Ethernet")}, "1dd8:1002", "ionic")
        node.net(interface, place(interface), "1dd8:1002", "ionic", operstate="up" if state == "ACTIVE" else "down")
    return node


def interfaces(told, speeds=None):
    """A node with the interfaces of ip -j, its bonds and what ifcfg files say."""
    node, members, configured = Node(), {}, told.get("intf_ifcfg", {}) if isinstance(told, dict) else {}
    for one in told["intf_status"] if isinstance(told, dict) else told:
        name, flags = one["ifname"], one["flags"]
        if "LOOPBACK" in flags:
            continue
        if "MASTER" in flags:
            members.setdefault(name, [])
            samples.bond(node.files, name, (), (), mtu=one["mtu"])
            continue
        infiniband = one["link_type"] == "infiniband"
        address = place(name) if PREDICTABLE.match(name) else "0000:%02x:01.0" % one["ifindex"]
        speed = (speeds or {}).get(name) if "LOWER_UP" in flags else None
        node.net(name, address, type="32" if infiniband else "1", mtu=one["mtu"], operstate=one["operstate"].lower(), speed=speed, bond=one.get("main"))
        if one.get("main"):
            members.setdefault(one["main"], []).append(name)
            node.files[NET + name + "/bonding_slave/mii_status"] = "up\n" if "LOWER_UP" in flags else "down\n"
    for bond, names in members.items():
        node.files[NET + bond + "/bonding/slaves"] = " ".join(names) + "\n"
    if configured:
        directory = "/etc/sysconfig/network-scripts"
        node.files[directory] = {"dir": ["ifcfg-" + name for name in configured]}
        node.files.update({"%s/ifcfg-%s" % (directory, name): "".join("%s=%s\n" % pair for pair in lines.items()) for name, lines in configured.items()})
    return node


def lldp(told):
    """{interface: (switch, port)} of lldpcli -f json: one interface is an object, several are a list."""
    listed = told["lldp"]["interface"]
    entries = [pair for one in (listed if isinstance(listed, list) else [listed]) for pair in one.items()]
    return {name: (next(iter(entry["chassis"])), entry["port"]["id"]["value"]) for name, entry in entries}


def of_json(captures, name):
    return json.loads((captures / "rdma" / name).read_text(encoding="utf-8"))
