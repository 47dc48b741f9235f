# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network ports, HCCS links and firmware parts of Ascend NPUs: what is asked when, and tools that do not answer."""

from __future__ import annotations

import random

import ascend_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend_port_text
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why

NPUS = range(2)
CONF = {"/etc/hccn.conf": samples.hccn_conf(NPUS)}
SWITCH = "Chassis ID TLV\n\tMAC: 0a:1b:2c:3d:4e:5f\nPort ID TLV\n\tIfname: 200GE1/0/7\nSystem Name TLV\n\tleaf-11\n"
ROUTES = "Routing table:\nDestination Gateway Genmask Flags Metric Ref Use Iface\n10.44.6.0 * 255.255.254.0 U 0 0 0 eth1\nnot a route\n"
FULL = {
    "ip": "ipaddr:10.44.6.21\nnetmask:255.255.254.0\n", "gateway": "default gateway:10.44.7.254, Iface:eth0\n", "speed": "Speed: 200000 Mb/s\n",
    "fec": "fec mode: rs FEC mode\n", "optical": samples.optical(), "lldp": SWITCH, "route": ROUTES,
    "stat": "packet statistics:\nmac_tx_pfc_pkt_num:5\nroce_rx_err_pkt_num:0\n",
    "link_stat": "[device 0]current time        : Wed Jun  7 10:08:28 2028\n[device 0]link up count       : 3\n[device 0]link change records :\n",
}  # fmt: skip


def table(numbers=NPUS, **changes):
    return samples.table("plain", [dict({"npu": n}, **changes) for n in numbers])


def read(files=None, ports="state", info=None, npus=NPUS, commands=None, **extra):
    given = dict({"info": info or table(npus)}, **(commands or {}))
    return samples.read(given, dict(samples.nodes(npus), **(CONF if files is None else files)), ports=ports, **extra)


def ports_of(section):
    return [port for device in section["devices"] for port in device.get("network_ports", ())]


def asked(section, tool="hccn_tool"):
    return [source["source"] for source in section["sources"] if source["source"].startswith(tool)]


def test_ports_that_are_well():
    section = read(hccn=samples.ports(NPUS, tls_1=samples.tls(1, True)))
    first, second = ports_of(section)
    assert (first["number"], first["link"], first["health"], first["tls"], second["tls"]) == (0, "up", "success", False, True)
    assert (first["address"], first["netmask"], second["address"]) == ("10.44.6.21", "255.255.254.0", "10.44.6.22")
    assert is_not_applicable(first["gateway"])
    assert "module" not in first
    assert [source["source"] for source in section["sources"]].count("/etc/hccn.conf") == 1


def test_everything_that_a_port_tells():
    said = {"-i %d -%s -g" % (n, words): text for words, text in FULL.items() for n in NPUS}
    port = ports_of(read(ports="full", hccn=dict(samples.ports(NPUS), **said)))[0]
    assert [port[name] for name in ("address_used", "netmask_used", "gateway_used")] == ["10.44.6.21", "255.255.254.0", "10.44.7.254"]
    assert (port["speed_mbit_s"], port["fec"], port["link_ups"]) == (200000, "rs", 3)
    assert port["neighbor"] == {"port": "200GE1/0/7", "system": "leaf-11"}
    assert port["routes"] == [{"destination": "10.44.6.0", "gateway": "*", "netmask": "255.255.254.0", "interface": "eth1"}]
    assert port["counters"] == {"mac_tx_pfc_pkt_num": 5, "roce_rx_err_pkt_num": 0}
    module = port["module"]
    assert (module["present"], module["temperature_c"], module["tx_mw"], module["rx_los"]) == (True, 43, [1.21, 1.19, 1.2, 1.22], 0)
    assert (module["rx_low_mw"], module["vendor"]) == (0.2818, "Lumen")


@pytest.mark.parametrize("conf", ["", "# nothing\nsend_arp_status_0=1\n", {"absent": True}])
def test_a_node_without_a_network_is_asked_nothing(conf):
    section = read({"/etc/hccn.conf": conf})
    assert asked(section) == []
    for port in ports_of(section):
        assert all(is_not_applicable(port[name]) for name in ("link", "health", "tls", "address"))
    assert len(asked(read({"/etc/hccn.conf": conf}, ports="full", hccn=samples.ports(NPUS)))) == 2 * len(ascend_port_text.QUERIES)


def test_a_configuration_that_cannot_be_read_is_no_reason_not_to_ask():
    section = read({"/etc/hccn.conf": {"error": "EACCES"}}, hccn=samples.ports(NPUS))
    assert [port["link"] for port in ports_of(section)] == ["up", "up"]
    assert all(is_unknown(port["address"]) for port in ports_of(section))


def test_nothing_is_asked_where_nothing_is_wanted():
    section = read(ports="none")
    assert asked(section) == asked(section, "upgrade-tool") == []
    assert all("network_ports" not in device for device in section["devices"])


def answers(answer):
    return dict.fromkeys(samples.ports(NPUS), answer)


@pytest.mark.parametrize(
    ("answer", "calls", "words"),
    [
        ({"missing": True}, 1, "absent"),
        ({"denied": True}, 1, "denied"),
        ({"hang": True}, 2, "timeout"),
        ({"rc": 255, "stdout": "dcmi module initialize failed. ret is -8005\n"}, 6, "initialize failed"),
        ({"stdout": ""}, 6, "no output"),
        ({"rc": 1, "stderr": "The device is not exist!\n"}, 6, "not exist"),
        ({"stdout": "hccn_tool is busy, please try again\n"}, 12, "is busy"),
        ({"stdout": "%s\x00{{ 1 }}" % ("x" * 5000)}, 6, "xxx"),
    ],
)
def test_a_tool_that_does_not_answer(answer, calls, words):
    section = read(hccn=answers(answer))
    assert len(asked(section)) == calls
    for port in ports_of(section):
        assert all(is_unknown(port[name]) for name in ("link", "health", "tls"))
        assert len(why(port["link"])) < 420
    assert words in why(ports_of(section)[0]["link"])


def test_a_busy_tool_is_asked_again():
    said = dict(samples.ports(NPUS), **{"-i 1 -link -g": [{"stdout": "hccn_tool is busy, please try again\n"}, "link status: UP\n"]})
    assert [port["link"] for port in ports_of(read(hccn=said))] == ["up", "up"]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("link", "link status: DOWN\n", "down"),
        ("link", "link status: SIDEWAYS\n", "?"),
        ("health", "net health status: Socket failed\n", "socket fail"),
        ("tls", "[ERROR] no certificate found\n", False),
        ("tls", "tls switch[7](0:disable, 1:enable)\n", "?"),
        ("fec", "fec mode: no FEC mode\n", "none"),
        ("speed_mbit_s", "Speed: Unknown!\n", "?"),
        ("link_ups", "link up count : many\n", "?"),
        ("routes", "Routing table:\n", "?"),
        ("neighbor", "Port ID TLV\n", "?"),
        ("neighbor", "", "none"),
        ("counters", "packet statistics:\n", "?"),
        ("module", "optical info:\n", "?"),
        ("gateway", "Get gateway failed, because no gateway was preset there!\n", "none"),
        ("ip", "Get ipconf failed, because no ip was preset there!\n", "none"),
        ("ip", "\n", "none"),
    ],
)
def test_words_of_the_tool(query, text, expected):
    words = ascend_port_text.QUERIES[query][0]
    port = ports_of(read(ports="full", hccn={"-i %d -%s -g" % (n, words): text for n in NPUS}))[0]
    fact = port[{"ip": "address_used", "gateway": "gateway_used"}.get(query, query)]
    if expected == "none" and query != "fec":
        assert is_not_applicable(fact)
    else:
        assert is_unknown(fact) if expected == "?" else fact == expected


def test_a_package_of_two_chips_has_two_ports():
    chips = [{"npu": 1, "chip": c, "second": 2 + c, "name": "Ascend910"} for c in (0, 1)]
    section = read({"/etc/hccn.conf": samples.hccn_conf([2, 3])}, info=samples.table("phy", chips), hccn=samples.ports([2, 3]))
    package, *dies = section["devices"]
    assert [(port["number"], port["link"], port["address"]) for port in package["network_ports"]] == [(2, "up", "10.44.6.23"), (3, "up", "10.44.6.24")]
    assert all("network_ports" not in die for die in dies)


def test_what_has_no_port_of_its_own():
    duo = samples.table("device", [{"npu": 6, "second": 0, "name": "310P3", "hbm": "1839 / 21525"}])
    assert "network_ports" not in read(info=duo, npus=[0])["devices"][0]
    new = read(info=samples.table("950", [{"npu": 0, "hbm": "5239  / 131072"}]))
    assert is_unknown(new["devices"][0]["network_ports"])
    assert is_not_applicable(read(info=table([32768], bus="0000:10:00.0"), npus=[0])["devices"][0]["network_ports"]), "a slice"
    assert asked(new) == []


def hccs_of(text):
    commands = {"info -t topo": samples.topo(["NPU%d" % n for n in range(2)])}
    commands.update(("info -t hccs -i %d -c 0" % n, text) for n in range(2))
    return read(ports="none", commands=commands)["devices"][0]


def test_hccs_links():
    device = hccs_of(samples.hccs(modes=(0, 4, 4, 2), errors=(0, 3, 0, 1), retries=(0, 0, 0, 9)))
    assert (device["links"]["speed_gb_s"], device["links"]["errors"]) == (14.0, {"crc_errors": 4, "retries": 9})
    assert device["extra"]["hccs"]["lanes"] == ["0000", "1111", "1111", "1100"]
    assert (device["extra"]["hccs"]["links"], device["extra"]["hccs"]["health"]) == (3, "OK")
    assert is_not_applicable(device["extra"]["hccs"]["first_error_lane"])
    broken = hccs_of(samples.hccs(health="NOK", first="2"))
    assert (broken["extra"]["hccs"]["health"], broken["extra"]["hccs"]["first_error_lane"]) == ("NOK", "2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ({"hang": True}, is_unknown),
        ("\n", is_unknown),
        ("This device does not support querying hccs.\n", is_not_applicable),
        ("Invalid card id.\nError parameter of -i\nUsage: npu-smi info\n", is_unknown),
    ],
)
def test_hccs_that_is_not_told(text, expected):
    device = hccs_of(text)
    assert expected(device["links"]["errors"])
    assert expected(device["extra"]["hccs"])
    assert device["links"]["up"] == 1


def test_hccs_is_asked_where_the_topology_is_not_told():
    commands = {"info -t hccs -i %d -c 0" % n: samples.hccs(health=word) for n, word in enumerate(("OK", "NOK"))}
    section = read(commands=dict(commands, **{"info -t topo": "Failed to query topo.\n"}))
    assert [device["extra"]["hccs"]["health"] for device in section["devices"]] == ["OK", "NOK"]
    assert all(is_unknown(device["links"]) for device in section["devices"])
    refused = read(commands=dict(commands, **{"info -t topo": "This device does not support querying topo.\n"}))
    assert all("hccs" not in device["extra"] for device in refused["devices"])


def test_hccs_of_dies_is_added_up():
    chips = [{"npu": 0, "chip": c, "second": c, "name": "Ascend910"} for c in (0, 1)]
    commands = {
        "info": samples.table("phy", chips),
        "info -t topo": samples.topo(["Phy-ID0", "Phy-ID1"], lambda mine, peer: "SIO"),
        "info -t hccs -i 0 -c 0": samples.hccs(errors=(2, 0, 0, 0, 0, 0, 0)),
        "info -t hccs -i 0 -c 1": samples.hccs(modes=(4, 2)),
    }
    package = samples.by_id(samples.read(commands, ports="none"))["ascend:0"]
    assert (package["links"]["speed_gb_s"], package["links"]["errors"]) == (14.0, {"crc_errors": 2, "retries": 0})
    commands["info -t hccs -i 0 -c 1"] = "\n"
    assert is_unknown(samples.by_id(samples.read(commands, ports="none"))["ascend:0"]["links"]["errors"])


def test_parts_of_the_firmware():
    devices = read(parts=samples.parts({0: {"nve": "7.5.0.5.220", "uefi": "7.5.0.5.220"}, 1: {"nve": "7.3.0.1.231"}}))["devices"]
    assert [device["firmware"].get("nve") for device in devices] == ["7.5.0.5.220", "7.3.0.1.231"]
    assert [device["firmware"].get("uefi") for device in devices] == ["7.5.0.5.220", None]
    for nothing in ({"missing": True}, {"hang": True}, "no devices\n"):
        assert all("nve" not in device["firmware"] for device in read(parts=nothing)["devices"])


def test_dies_whose_parts_differ():
    chips = [{"npu": 0, "chip": c, "second": c, "name": "Ascend910"} for c in (0, 1)]
    said = samples.parts({0: {"nve": "7.5.0.5.220", "imp": "7.5.0.5.220"}, 1: {"nve": "7.3.0.1.231", "imp": "7.5.0.5.220"}})
    package = read(info=samples.table("phy", chips), parts=said)["devices"][0]
    assert is_unknown(package["firmware"]["nve"])
    assert package["firmware"]["imp"] == "7.5.0.5.220"


GAP = "/etc/hccn.conf: not understood"


@pytest.mark.parametrize(
    ("conf", "address", "mask"),
    [
        ("# one\r\naddress_1 = 10.44.6.31\r\nnetmask_1=255.255.254.0\r\n", "10.44.6.31", "255.255.254.0"),
        ("address_1=10.44.6.31\naddress_1=10.44.6.32\n", "10.44.6.32", None),
        ("IPv6address_1=fd44:6::31\nIPv6netmask_1=64\nIPv6netdetect_1=fd44:6::1\n", "fd44:6::31", "64"),
        ("IPv6address_1=fd44:6::31\nIPv6netmask_1=64\naddress_1=10.44.6.31\nnetmask_1=255.255.254.0\n", "10.44.6.31", "255.255.254.0"),
        ("address_1=10.44.6.31\nIPv6address_1=fd44:6::31\n", "10.44.6.31", None),
        ("address_1=\ntls_enable_1=0\n", None, None),
        ("address_1=10.44.6.31  # of rack 4\n", GAP, None),
        ('address_1="10.44.6.31"\n', GAP, None),
        ("address_0=10.44.6.30\naddre", GAP, GAP),
        ("\x00\xff\n", GAP, GAP),
    ],
)
def test_what_sets_an_address_and_what_is_not_understood(conf, address, mask):
    """A line that is not understood is never no address, and the ports are asked then."""
    section = read({"/etc/hccn.conf": conf}, hccn=samples.ports(NPUS))
    port = ports_of(section)[1]
    for name, expected in (("address", address), ("netmask", mask)):
        told = port[name]
        assert (is_unknown(told) and why(told).startswith(GAP)) if expected == GAP else is_not_applicable(told) if expected is None else told == expected
    assert port["link"] == "up" if address else is_not_applicable(port["link"])


def test_any_text_is_read_without_an_error():
    rng = random.Random(11)
    words = [*FULL.values(), "link status: UP\n", samples.tls(0), samples.hccn_conf(NPUS), samples.hccs(), samples.parts({0: {"nve": "1.2"}})]
    for _round in range(150):
        text = list(rng.choice(words))
        for _change in range(rng.randrange(1, 40)):
            text[rng.randrange(len(text))] = rng.choice("0:[]{}|,.\n\t %\x00\u0661é")
        broken = "".join(text)
        ascend_port_text.configured(broken)
        ascend_port_text.components(broken)
        for _words, parse in ascend_port_text.QUERIES.values():
            parse(broken)
        said = {"-i %d -%s -g" % (n, name): broken for n in NPUS for name, _parse in ascend_port_text.QUERIES.values()}
        section = read({"/etc/hccn.conf": broken}, ports="full", hccn=said, parts=broken, commands={"info -t hccs -i 0 -c 0": broken})
        assert [is_known(device["name"]) for device in section["devices"]] == [True, True]
