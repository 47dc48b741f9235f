# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ibstat, ibv_devinfo, rdma, ip, lldpcli, mlxlink and flint said of a node, from the files that our reader asks instead, and what the rules say of it.

MTU of verbs, power-on ROMs and FEC are in no file of the kernel, and are not read.
"""

from __future__ import annotations

import json
import re

import network_captures as told
import pytest
from network_captures import found, judged

ALL = "rdma-port-state", "rdma-port-speed", "rdma-port-errors", "roce-address", "bond-members", "interface-state", "interface-speed", "interface-mtu"


def quiet(section):
    return not any(found(section, rule) for rule in ALL)


def ibstat(text):
    node, told_of = told.Node(), told.keyed(text)
    ports = {str(n + 1): {} for n in range(int(told_of["Number of ports"]))}
    if "State" in told_of:
        ports = {"1": told.port(told_of["State"], told_of["Physical state"], told_of["Link layer"], told_of["Rate"] + " Gb/sec", sm_lid="0x0\n", lid="0x0\n")}
    name = re.match(r"CA '(\w+)'", text).group(1)
    node.rdma(name, "0000:01:00.0", ports, hca_type=told_of["CA type"], fw_ver=told_of["Firmware version"])
    return node.section()


def a_port_that_is_down(text):
    section = ibstat(text)
    device = section["rails"]["0"]
    assert (device["device"], device["type"], device["firmware"]) == ("mlx5_0", "MT4129", "28.39.1002")
    assert (device["ports"]["1"]["state"], device["ports"]["1"]["physical_state"], device["ports"]["1"]["gbit_s"]) == ("down", "polling", 40.0)
    assert judged(section, "rdma-port-state") == [("n1", "found", "warn")]
    assert judged(section, "rdma-port-state", expected="mlx5_0") == [("0000:01:00.0", "found", None)]


def ports_that_are_not_told(text):
    section = ibstat(text)
    device = section["rails"]["0"]
    assert (device["device"], device["type"], device["firmware"], sorted(device["ports"])) == ("mlx4_0", "MT26428", "2.9.1000", ["1", "2"])
    assert {outcome for _subject, outcome, _level in judged(section, "rdma-port-state")} == {"unknown"}


def eight_names(text):
    node = told.Node()
    for line in text.splitlines():
        listed = re.match(r"\s*(\w+)\s+[0-9a-f]{16}$", line)
        if listed:
            node.rdma(listed.group(1), told.place(listed.group(1)), {"1": {}}, "1dd8:1002", "ionic")
    section = node.section()
    assert [device["device"] for device in section["rails"].values()] == ["rocep%ds0" % n for n in range(5, 13)]
    assert section["counts"]["rails"] == 8


def device(text, name, part, firmware, board, state, manager):
    section = told.verbs(text).section()
    one = next(d for d in section["rails"].values() if d["device"] == name)
    assert (one["pci"], one["type"], one["firmware"], one["board"]) == ("15b3:%04x" % part, "MT%d" % part, firmware, board)
    port = one["ports"].get("1")
    assert (port["state"], port["subnet_manager"]) == (state, manager) if state else not one["ports"]
    return section


def a_port_with_the_subnet_manager(text):
    section = device(text, "mlx5_0", 4123, "20.41.1000", "MT_0000000222", "active", "this port")
    assert judged(section, "rdma-port-state") == [("n1", "passed", None)] and quiet(section)


def another_makers_name(text):
    section = device(text, "mlx5_0", 4123, "20.32.1010", "BL_0000000011", "active", "elsewhere")
    assert judged(section, "rdma-port-state") == [("n1", "passed", None)] and quiet(section)


def two_functions_of_a_spark(text):
    section = device(text, "rocep1s0f0", 4129, "28.45.4028", "NVD0000000087", "down", {"not_applicable": "no InfiniBand"})
    device(text, "rocep1s0f1", 4129, "28.45.4028", "NVD0000000087", "active", {"not_applicable": "no InfiniBand"})
    # a port without a cable is no fault until the site expects it
    assert judged(section, "rdma-port-state") == [("n1", "passed", None)]
    assert found(section, "rdma-port-state", expected="rocep1s0f0") == ["0000:01:00.0"]


def a_list_that_was_cut(text):
    section = device(text, "rocep1s0f0", 4121, "16.35.4030", "MT_0000000009", None, None)
    assert judged(section, "rdma-port-state") == [("0000:01:00.0", "unknown", None)]


def an_efa(text):
    section = told.verbs(text).section()
    one = section["rails"]["0"]
    assert (one["device"], one["pci"], one["driver"], one["firmware"], one["kind"]) == ("efa_0", "1d0f:efa0", "efa", "0.0.0.0", "unspecified")
    assert one["board"] == {"not_applicable": "not told by this driver"}
    assert {outcome for _subject, outcome, _level in judged(section, "rdma-port-state")} == {"unknown"} and quiet(section)


def half_of_a_spark(text):
    node = told.Node()
    for line in text.splitlines():
        name, number, interface, state = re.match(r"(\w+) port (\d) ==> (\w+) \((\w+)\)", line).groups()
        node.rdma(name, told.place(name), {number: told.port("active" if state == "Up" else "down", layer="Ethernet")})
        node.net(interface, told.place(name), operstate=state.lower())
    section = node.section()
    up = {d["interfaces"][0]: d["ports"]["1"]["state"] for d in section["rails"].values()}
    assert up == {"enp1s0f0np0": "active", "enp1s0f1np1": "down", "enP2p1s0f0np0": "active", "enP2p1s0f1np1": "down"}
    assert not found(section, "rdma-port-state") and not found(section, "rdma-port-state", expected="*f0")
    assert found(section, "rdma-port-state", expected="roce*") == ["0000:01:00.1", "0002:01:00.1"]


def eight_active(text):
    section = told.links(text).section()
    assert section["counts"]["rails"] == 8 and judged(section, "rdma-port-state") == [("n1", "passed", None)]
    assert {d["interfaces"][0] for d in section["rails"].values()} == {"enP%dp1s0f0" % n for n in range(5, 13)}
    assert judged(section, "rdma-port-state", expected="rocep*") == [("n1", "passed", None)]


def one_that_waits(text):
    section = told.links(text).section()
    assert judged(section, "rdma-port-state") == [("0007:01:00.0", "found", None)]


def two_without_a_cable(text):
    section = told.links(text).section()
    assert {d["ports"]["1"]["physical_state"] for d in section["rails"].values()} == {"disabled"}
    assert judged(section, "rdma-port-state") == [("n1", "found", "warn")]
    assert len(found(section, "rdma-port-state", expected="rocep1s0*")) == 2


def gids(text):
    node = told.Node()
    tables = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        tables.setdefault(words[0], {})[words[2]] = (words[3], "RoCE v2\n" if "v2" in words[4:] else "IB/RoCE v1\n")
    for number, (name, table) in enumerate(tables.items()):
        port = told.port("active", layer="Ethernet", gids={"dir": [str(n) for n in range(16)]})
        port.update({"gids/%d" % n: ":".join(["0000"] * 8) + "\n" for n in range(16)})
        for index, (gid, kind) in table.items():
            port.update({"gids/" + index: gid + "\n", "gid_attrs/types/" + index: kind})
        node.rdma(name, "0000:%02x:00.0" % (number + 1), {"1": port})
    section = node.section()
    one, other = (section["rails"][rail]["ports"]["1"]["gids"] for rail in ("0", "1"))
    assert one == {"roce v1 link_local": 0, "roce v2 link_local": 1, "roce v1 ipv4": 2, "roce v2 ipv4": 3}
    assert other == {"roce v1 link_local": 0, "roce v1 ipv4": 2}
    assert judged(section, "roce-address") == [("0000:02:00.0", "found", "info")]


def mlxlink(text, state, physical, rate, layer):
    told_of, node = told.keyed(text), told.Node()
    assert (told_of["State"], told_of["Physical state"], told_of["Width"]) == ("Active", "LinkUp", "4x")
    node.rdma("mlx5_0", "0000:01:00.0", {"1": told.port(state, physical, layer, rate, lid="0xffff\n", sm_lid="0x0\n")}, fw_ver=told_of["Firmware Version"])
    return node.section()


def a_link_of_its_cable(text):
    section = mlxlink(text, "active", "linkup", "100 Gb/sec (4X EDR)", "Ethernet")
    port = section["rails"]["0"]["ports"]["1"]
    assert (port["state"], port["physical_state"], port["gbit_s"], port["lanes"]) == ("active", "linkup", 100.0, "4X")
    assert section["rails"]["0"]["firmware"] == "28.47.1088"
    # what the adapter could do with another cable is no fault, unless the site expects it
    assert judged(section, "rdma-port-speed") == [("n1", "not_applicable", None)]
    assert found(section, "rdma-port-speed", expected="mlx5_*=200") == ["0000:01:00.0"]


def a_link_without_a_subnet(text):
    """The state in sysfs is the one that the same report gave: 1: DOWN and 5: LinkUp."""
    section = mlxlink(text, "down", "linkup", "100 Gb/sec (4X EDR)", "InfiniBand")
    assert (section["rails"]["0"]["firmware"], section["rails"]["0"]["ports"]["1"]["subnet_manager"]) == ("32.47.1088", "none")
    assert judged(section, "rdma-port-state") == [("0000:01:00.0", "found", None)]


def firmware_of_a_bluefield(text):
    """Security, life cycle and ROMs are in no file of the kernel."""
    told_of, node = told.keyed(text), told.Node()
    node.rdma("mlx5_0", "0000:01:00.0", {"1": told.port("active")}, "15b3:a2d6", fw_ver=told_of["FW Version"], board_id=told_of["PSID"])
    device = node.section()["rails"]["0"]
    assert (device["firmware"], device["board"]) == ("24.35.2000", "MT_0000000768")


def one_interface_down(text):
    node = told.Node()
    for line in text.splitlines():
        name, state = line.split()[:2]
        if name != "lo":
            node.net(name, told.place(name), "1dd8:1002", "ionic", operstate=state.lower())
    section = node.section()
    assert section["counts"]["interfaces"] == 8
    assert judged(section, "interface-state") == [("0007:01:00.0", "found", None)]


TEXTS = {
    "flint-query-bf2.txt": firmware_of_a_bluefield,
    "ibdev2netdev-dgx-spark.txt": half_of_a_spark,
    "ibstat-mt4129-down.txt": a_port_that_is_down,
    "ibstat-s-mlx4.txt": ports_that_are_not_told,
    "ibv_devices-8-ionic.txt": eight_names,
    "ibv_devinfo-cx6-ib-sm-host.txt": a_port_with_the_subnet_manager,
    "ibv_devinfo-dgx-spark-2of4.txt": two_functions_of_a_spark,
    "ibv_devinfo-efa-head.txt": an_efa,
    "ibv_devinfo-oem-vendor-bull.txt": another_makers_name,
    "ibv_devinfo-v-cx5-head-irregular-tabs.txt": a_list_that_was_cut,
    "ip-link-one-down.txt": one_interface_down,
    "mlxlink-cx7-eth-100g-active.txt": a_link_of_its_cable,
    "mlxlink-ib-edr-active-while-sysfs-down.txt": a_link_without_a_subnet,
    "rdma-link-2-down-disabled.txt": two_without_a_cable,
    "rdma-link-8-active.txt": eight_active,
    "rdma-link-one-init.txt": one_that_waits,
    "show-gids-mlx5-two-ports.txt": gids,
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_text(captures, name):
    TEXTS[name]((captures / "rdma" / name).read_text(encoding="utf-8"))


def test_interfaces_over_infiniband(captures):
    section = told.interfaces(told.of_json(captures, "ip-j-link-8-ipoib.json")).section()
    assert sorted(section["interfaces"]) == sorted("ibp%ds0" % n for n in (12, 18, 75, 84, 141, 148, 186, 204))
    assert {(i["type"], i["state"], i["mtu"]) for i in section["interfaces"].values()} == {("infiniband", "up", 2044)}
    assert judged(section, "interface-state", expected="ibp*") == [("n1", "passed", None)] and quiet(section)


def test_a_bond_of_slow_members(captures):
    document = told.of_json(captures, "ip-link-j-bond-degraded.json")
    section = told.interfaces(document, document["link_speed"]).section()
    members = {"enp97s0f0": {"link": "up"}, "enp225s0f0": {"link": "up"}}
    assert section["bonding"]["front0"] == {"mode": "802.3ad", "link": "up", "mtu": 9192, "members": members, "missing": []}
    assert judged(section, "bond-members", expected=2) == judged(section, "interface-mtu", expected="*=9192") == [("n1", "passed", None)]
    # equal to each other, so only the site can tell that they are slow
    assert judged(section, "interface-speed") == [("n1", "passed", None)]
    assert found(section, "interface-speed", expected="enp*=200") == ["0000:61:00.0", "0000:e1:00.0"]
    assert told.lldp(document["lldp_status"])["enp97s0f0"][0] == "rscfee5001"


def test_a_bond_that_lost_a_member(captures):
    document = told.of_json(captures, "ip-link-j-bond-slave-down.json")
    section = told.interfaces(document, document["link_speed"]).section()
    bond = section["bonding"]["front0"]
    assert (bond["members"], bond["missing"], bond["mtu"]) == ({"enp97s0f0": {"link": "up"}}, ["enp225s0f0"], 9192)
    assert judged(section, "bond-members") == [("0000:e1:00.0", "found", None)]
    assert not found(section, "interface-state") and not found(section, "interface-state", expected="ib*")  # unused ports are no fault


def test_neighbors_of_a_bluefield(captures):
    neighbors = told.lldp(told.of_json(captures, "lldpcli-show-neighbors-json-bf2.json"))
    node = told.Node()
    node.net("oob_net0", "0000:01:00.0", "14e4:16d7", "bnxt_en")
    for number, name in enumerate(("p0", "p1")):
        node.rdma("mlx5_%d" % number, "0000:03:00.%d" % number, {"1": told.port("active", layer="Ethernet")}, "15b3:a2d6")
        node.net(name, "0000:03:00.%d" % number, "15b3:a2d6")
    node.neighbors(neighbors)
    switch = [{"switch": "SWA1-X01-B01-IPMI-01", "port": "swp7"}]
    assert sorted(neighbors) == ["oob_net0", "p0", "p1"]
    assert node.section()["neighbors"] == {"0": switch, "1": switch}


def test_nodes_against_the_reference_of_their_site(captures):
    """Its list of expected links as a policy: what it finds of each node, and of none that is as it should be."""
    expected = json.loads((captures / "pci" / "dgx-a100-pci-manifest-gcm.json").read_text(encoding="utf-8"))
    names = [one["netdev"] for one in expected["eth"].values() if one["phys"]]
    speeds = ["%s=%g" % (one["netdev"], one["speed"] / 1000) for one in expected["eth"].values() if one["phys"]]
    sizes = ["%s=%d" % (one["netdev"], one["mtu"]) for one in expected["eth"].values()]
    for name, slow, small, down in (
        ("ip-link-j-bond-degraded.json", names, [], []),
        ("ip-link-j-bond-slave-down.json", [], names[1:], names[1:]),
    ):
        document = told.of_json(captures, name)
        section = told.interfaces(document, document["link_speed"]).section()
        assert found(section, "interface-speed", expected=speeds) == sorted(map(told.place, slow)), name
        assert found(section, "interface-mtu", expected=sizes) == sorted(map(told.place, small)), name
        assert found(section, "interface-state", expected=names) == sorted(map(told.place, down)), name


JSON = {"ip-j-link-8-ipoib.json", "ip-link-j-bond-degraded.json", "ip-link-j-bond-slave-down.json", "lldpcli-show-neighbors-json-bf2.json"}
TOOLS = ("flint-", "ibdev2netdev-", "ibstat-", "ibv_", "ip-", "lldpcli-", "mlxlink-", "rdma-", "show-")


def test_every_capture_of_these_tools_is_read(captures):
    assert {path.name for path in (captures / "rdma").iterdir() if path.name.startswith(TOOLS)} == JSON | set(TEXTS)
