# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices as sysfs of real machines shows them."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices
from network_captures import found, judged

NOT_TOLD = {"not_applicable": "not told by this driver"}


def read(captures, name):
    """Each file of the capture where the kernel has it; a place on PCI is made up, in the order of the names."""
    told = json.loads((captures / "rdma" / name).read_text(encoding="utf-8"))
    files, devices = {}, set()
    for path, content in told.items():
        found = re.search(r"(?:\A|infiniband/)([a-z]\w+_?\w*\d)/((?:ports/\d+/(?:counters/)?\w+|\w+))\Z", path)
        if found:
            devices.add(found.group(1))
            files["/sys/class/infiniband/%s/%s" % found.groups()] = content
    for number, device in enumerate(sorted(devices)):
        base = "/sys/class/infiniband/" + device
        files[base] = {"link": "../../devices/pci0000:00/0000:%02x:00.0/infiniband/%s" % (number + 1, device)}
        files[base + "/ports"] = {"dir": sorted({path[len(base) + 7 :].split("/")[0] for path in files if path.startswith(base + "/ports/")})}
        for number in files[base + "/ports"]["dir"]:
            counters = "%s/ports/%s/counters/" % (base, number)
            files[counters[:-1]] = {"dir": [path[len(counters) :] for path in files if path.startswith(counters)]}
        for optional in ("hca_type", "board_id", "fw_ver"):
            files.setdefault(base + "/" + optional, {"absent": True})
    files["/sys/class/infiniband"] = {"dir": sorted(devices)}
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": [], "host": {}})
    return network_devices.collect(host)


def rails(captures, name):
    return {device["device"]: device for device in read(captures, name)["rails"].values()}


def place(section, name):
    return next(device["address"] for device in section["rails"].values() if device["device"] == name)


def test_a_counter_that_is_full(captures):
    section = read(captures, "sysfs-infiniband-h100-9dev.json")
    assert judged(section, "rdma-port-errors") == [(place(section, "mlx5_1"), "found", None)]
    assert {ports["1"]["port_rcv_errors"] for ports in section["port_errors"].values()} == {14}
    for rule in ("rdma-port-state", "rdma-port-speed"):
        assert judged(section, rule) == [("n1", "passed", None)], rule
    assert judged(section, "rdma-port-speed", expected="mlx5_bond_*=200,mlx5_*=400") == [("n1", "passed", None)]


def test_only_the_site_can_tell_that_all_are_slow(captures):
    section = read(captures, "sysfs-ib-bad-rate-edr.json")
    assert judged(section, "rdma-port-speed") == [("n1", "passed", None)]
    assert len(found(section, "rdma-port-speed", expected="mlx5_*=200")) == 8


def test_counters_that_are_not_counted_are_unknown(captures):
    section = read(captures, "sysfs-infiniband-mlx4-i40iw.json")
    assert judged(section, "rdma-port-errors") == [(place(section, "i40iw0"), "unknown", None)]


def test_a_physical_state_of_another_word(captures):
    section = read(captures, "sysfs-infiniband-procfs-hfi1-mlx4-mlx5.json")
    assert not found(section, "rdma-port-state") and not found(section, "rdma-port-errors")


def test_eight_adapters_of_a_node_and_its_bond(captures):
    found = rails(captures, "sysfs-infiniband-h100-9dev.json")
    assert len(found) == 9
    assert {(d["type"], d["firmware"], d["board"]) for n, d in found.items() if "bond" not in n} == {("MT4129", "28.41.1000", "MT_0000000838")}
    bond = found["mlx5_bond_0"]
    assert (bond["type"], bond["firmware"]) == ("MT41692", "32.38.3056")
    assert {key: bond["ports"]["1"][key] for key in ("gbit_s", "lanes", "speed", "link_layer")} == {
        "gbit_s": 200.0, "lanes": "2X", "speed": "NDR", "link_layer": "Ethernet",
    }  # fmt: skip
    assert all(d["ports"]["1"]["state"] == "active" and d["ports"]["1"]["physical_state"] == "linkup" for d in found.values())


def test_eight_ports_below_their_speed(captures):
    found = rails(captures, "sysfs-ib-bad-rate-edr.json")
    assert sorted(found) == ["mlx5_%d" % n for n in (0, 1, 2, 3, 6, 7, 8, 9)]
    assert {(d["ports"]["1"]["gbit_s"], d["ports"]["1"]["speed"]) for d in found.values()} == {(100.0, "EDR")}


@pytest.mark.parametrize(
    "name, device, type_, firmware, ports",
    [
        ("sysfs-infiniband-mlx4-i40iw.json", "mlx4_0", "MT4099", "2.31.5050", {"1": (40.0, "4X", "QDR"), "2": (40.0, "4X", "QDR")}),
        ("sysfs-infiniband-mlx4-i40iw.json", "i40iw0", "I40IW", None, {"1": (10.0, "4X", "")}),
        ("sysfs-infiniband-procfs-hfi1-mlx4-mlx5.json", "hfi1_0", None, None, {"1": (100.0, "4X", "EDR")}),
        ("sysfs-infiniband-procfs-hfi1-mlx4-mlx5.json", "mlx5_0", "MT4118", "14.28.2006", {"1": (25.0, "1X", "EDR")}),
    ],
)
def test_other_adapters(captures, name, device, type_, firmware, ports):
    found = rails(captures, name)[device]
    assert found["type"] == (type_ or NOT_TOLD)
    if firmware:
        assert found["firmware"] == firmware
    assert {n: (p["gbit_s"], p["lanes"], p["speed"]) for n, p in found["ports"].items()} == ports


# What stays unread: each is a measurement between nodes or devices, or needs the optics to be asked one by one.
NOT_ASKED = {
    "ib": "perftest moves data between two nodes: a measurement, and no preflight runs it",
    "nccl": "nccl-tests, and what NCCL says while it runs: a collective is a measurement of the interconnect",
    "rccl": "rccl-tests: a collective is a measurement of the interconnect",
    "ethtool": "what a transceiver says of itself is read from its EEPROM over I2C, port by port: left to a check of the network",
}
READ = {
    "sysfs-ib-bad-rate-edr.json", "sysfs-infiniband-h100-9dev.json", "sysfs-infiniband-mlx4-i40iw.json", "sysfs-infiniband-procfs-hfi1-mlx4-mlx5.json",
}  # fmt: skip
BY_TOOLS = {"flint", "ibdev2netdev", "ibstat", "ibv", "ip", "lldpcli", "mlxlink", "rdma", "show"}  # test_captures_network_tools.py


def test_no_capture_of_a_network_is_passed_over(captures):
    lines = [line for index in captures.glob("INDEX-*.tsv") for line in index.read_text(encoding="utf-8").splitlines()]
    indexed = {line.split("\t")[0].removeprefix("rdma/") for line in lines if line.startswith("rdma/")}
    families = {name: re.split(r"[-_]", name)[0] for name in indexed - READ}
    assert set(families.values()) == {*NOT_ASKED, *BY_TOOLS}
