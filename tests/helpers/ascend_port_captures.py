# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our reader and rules make of the public captures of hccn_tool, /etc/hccn.conf, upgrade-tool and npu-smi -t usages; node: a Node of the test."""

from __future__ import annotations

import copy

import ascend_samples as samples
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend_port_text as text
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi_words
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown, why
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

ADDRESSES = "ipaddr:10.44.6.%d\nnetmask:255.255.254.0\n"
PARTS = "upgrade-tool --device_index -1 --component -1 --version"


def table(count):
    return samples.table("plain", [{"npu": n} for n in range(count)])


def ports(section):
    return [port for device in section["devices"] for port in device["network_ports"]]


def judge(rule, section, **variables):
    """[(id, outcome, level)] of what one rule says of the devices of a section."""
    catalogue.load()
    pci = synthetic.pci([synthetic.pci_entry(n, "ascend") for n in range(len(section["devices"]))])
    view = NodeView("n1", synthetic.envelopes({"accelerators.ascend": copy.deepcopy(section), "host": synthetic.host(), "pci": pci}), policy.parse(variables))
    return [
        (subject[1], o.outcome, (o.level or RULES[rule].level) if o.outcome == "found" else "")
        for subject, o in engine.outcomes(RULES[rule], view, view.policy.params(rule))
    ]


def one(query, **more):
    """A node of one NPU whose port answers one query with the capture, and has an address."""

    def read(node, path):
        said = {"info": table(1), "hccn_tool -i 0 -ip -g": ADDRESSES % 9, "hccn_tool -i 0 -link -g": "link status: UP\n", **more}
        said["hccn_tool -i 0 -%s -g" % query] = path
        return node.section(said, ports="full")

    return read


def link_up(node, path):
    section = one("link")(node, path)
    assert ports(section)[0]["link"] == "up"
    assert judge("npu-port-link", section) == [("ascend:0", "passed", "")]


def init(node, path):
    section = one("net_health")(node, path)
    assert ports(section)[0]["health"] == "init"
    assert judge("npu-port-health", section) == [("ascend:0", "unknown", "")]


def socket_failed(node, path):
    section = one("net_health")(node, path)
    assert ports(section)[0]["health"] == "socket fail"  # the driver's own spelling
    assert judge("npu-port-health", section) == [("ascend:0", "found", "fail")]


def no_fec(node, path):
    section = one("fec")(node, path)
    assert ports(section)[0]["fec"] == "none"
    assert judge("npu-port-fec", section) == [("ascend:0", "found", "warn")]


def not_preset(node, path):
    section = one("ip")(node, path)
    assert is_not_applicable(ports(section)[0]["address_used"])
    assert judge("npu-port-address", section, accelerator_policy_npu_port_address_required=True) == [("ascend:0", "found", "fail")]
    assert judge("npu-port-address", section) == [("ascend:0", "not_applicable", "")]  # a node alone


def optical(node, path):
    section = one("optical")(node, path)
    module = ports(section)[0]["module"]
    assert (module["present"], module["temperature_c"], module["supply_mv"], module["supply_low_mv"], module["supply_high_mv"]) == (
        False,
        47,
        3262.9,
        3135.0,
        3465.0,
    )
    assert (module["tx_mw"][0], module["tx_high_mw"], module["rx_mw"][1], module["rx_low_mw"]) == (4.4035, 3.5481, 0.0054, 0.1445)
    assert [module[name] for name in ("tx_los", "rx_los", "tx_lol", "rx_lol")] == [0, 255, 0, 255]
    assert judge("npu-port-module", section) == [("ascend:0", "found", "fail")]


def routes(node, path):
    rows = ports(one("route")(node, path))[0]["routes"]
    assert [row["interface"] for row in rows] == ["eth3", "lo", "end3v0", "end3v0"]
    assert rows[0] == {"destination": "10.11.32.0", "gateway": "*", "netmask": "255.255.255.0", "interface": "eth3"}


def stat(node, path):
    section = one("stat")(node, path)
    assert ports(section)[0]["counters"] == {"roce_rx_err_pkt_num": 0, "roce_tx_err_pkt_num": 0}
    assert judge("npu-port-errors", section) == [("ascend:0", "passed", "")]


def _captured(node, path):
    return (node.root / path).read_text(encoding="utf-8")


def several(query, words=None):
    """A capture of several devices, one line or block each, dealt out to as many NPUs. words: what begins a block."""

    def read(node, path, more=None):
        captured = _captured(node, path)
        blocks = captured.splitlines() if words is None else captured.split(words)[1:]
        said = {"info": table(len(blocks))}
        for n, block in enumerate(blocks):
            said["hccn_tool -i %d -ip -g" % n] = ADDRESSES % (9 + n)
            said.update((key % n, value) for key, value in (more or {}).items())
            said["hccn_tool -i %d -%s -g" % (n, query)] = (block if words is None else block.partition("\n")[2]) + "\n"
        return node.section(said, ports="full")

    return read


def gateways(node, path):
    section = several("gateway")(node, path, {"hccn_tool -i %d -ip -g": "ipaddr:10.11.239.20\nnetmask:255.255.255.0\n"})
    assert [port["gateway_used"] for port in ports(section)] == ["10.11.239.1"] * 8
    assert judge("npu-port-gateway", section) == [("ascend", "passed", "")]


def neighbors(node, path):
    seen = [port["neighbor"]["port"] for port in ports(several("lldp")(node, path))]
    assert (len(seen), len({name.rpartition(":")[0] for name in seen}), seen[0], seen[7]) == (8, 4, "400GE1/1/5:1", "400GE1/4/5:2")


def tls_off(node, path):
    section = several("tls")(node, path)
    assert [port["tls"] for port in ports(section)] == [False] * 8
    assert judge("npu-port-tls", section) == [("ascend", "passed", "")]


IP_LINE = "/usr/local/Ascend/driver/tools/hccn_tool -i "


def eight_addresses(node, path):
    section = several("ip", IP_LINE)(node, path)
    assert {port["netmask_used"] for port in ports(section)} == {"255.255.0.0"}
    planes = [port["address_used"].split(".")[1] for port in ports(section)]
    assert planes[:4] == planes[4:]
    assert sorted(set(planes)) == ["1", "7", "9"]  # the index counts four: device 0 and 2 share theirs
    assert judge("npu-port-duplicate", section) == [("ascend", "passed", "")]


def one_without(node, path):
    section = several("ip", IP_LINE)(node, path)
    assert [why(port["address_used"])[:31] for port in ports(section)] == ["", "", "hccn_tool -ip prints nothing: n"]
    told = judge("npu-port-address", section)
    assert told == [("ascend:0", "passed", ""), ("ascend:1", "passed", ""), ("ascend:2", "found", "fail")]


def conf(node, path):
    section = node.section({"info": table(8)}, {"/etc/hccn.conf": path})
    assert [port["address"] for port in ports(section)] == ["10.11.32.%d" % n for n in range(11, 19)]
    assert {port["netmask"] for port in ports(section)} == {"255.255.255.0"}
    assert all(is_not_applicable(port[name]) for port in ports(section) for name in ("gateway", "detect_address"))
    assert all(is_unknown(port["link"]) for port in ports(section))  # asked, as there are addresses, and here not recorded
    assert judge("npu-port-gateway", section) == [("ascend", "not_applicable", "")]
    assert {outcome for _id, outcome, _level in judge("npu-port-address", section)} == {"passed"}


def components(node, path):
    section = node.section({"info": table(8), PARTS: path})
    versions = dict.fromkeys(("nve", "uefi", "imu", "imp"), "7.1.0.7.220")
    firmware = [{name: device["firmware"].get(name) for name in versions} for device in section["devices"]]
    assert (firmware[0], firmware[7]) == (versions, versions)
    assert [is_unknown(device["firmware"]["npu"]) for device in section["devices"]] == [True] * 8
    assert firmware[1:7] == [dict.fromkeys(versions)] * 6  # left out of the capture: not made up
    assert set(text.components(_captured(node, path))) == {0, 7}


def usages(node, path):
    (block,) = npu_smi_words.parse_blocks(_captured(node, path))
    assert (block["NPU ID"], block["Chip Count"], block["DDR Capacity(MB)"], block["DDR Usage Rate(%)"], block["Aicore Usage Rate(%)"]) == (
        "0",
        "1",
        "13553",
        "6",
        "0",
    )
    size = block["HBM Capacity(MB)"]
    assert size == "31129"
    # The table of npu-smi info tells the same size, for all cards in one call.
    section = node.section({"info": samples.table("plain", [{"npu": 0, "name": "910A", "ddr": "813 / 13553", "hbm": "0 / %s" % size}])})
    assert (section["devices"][0]["memory_mib"], section["devices"][0]["extra"]["hbm_nominal_mib"]) == (31129, 32768)
    assert judge("product-memory", section) == [("ascend:0", "found", "fail")]


READ = {
    "ascend-upgrade-tool-version.txt": components,
    "hccn-fec-none.txt": no_fec,
    "hccn-gateway-8.txt": gateways,
    "hccn-ip-g-8-devices.txt": eight_addresses,
    "hccn-ip-g-some-missing.txt": one_without,
    "hccn-ip-not-preset.txt": not_preset,
    "hccn-link-up.txt": link_up,
    "hccn-lldp-ifname-8.txt": neighbors,
    "hccn-net-health-init.txt": init,
    "hccn-net-health-socket-failed.txt": socket_failed,
    "hccn-optical-not-present-contradiction.txt": optical,
    "hccn-route-g.txt": routes,
    "hccn-stat-short.txt": stat,
    "hccn-tls-switch-8.txt": tls_off,
    "hccn.conf-8.txt": conf,
    "npu-smi-t-usages-910a.txt": usages,
}
