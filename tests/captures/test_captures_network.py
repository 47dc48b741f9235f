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

NOT_TOLD = {"not_applicable": "not told by this driver"}


def rails(captures, name):
    """Each file of the capture where the kernel has it; a place on PCI is made up, in the order of the names."""
    told = json.loads((captures / "rdma" / name).read_text(encoding="utf-8"))
    files, devices = {}, set()
    for path, content in told.items():
        found = re.search(r"(?:\A|infiniband/)([a-z]\w+_?\w*\d)/((?:ports/\d+/\w+|\w+))\Z", path)
        if found:
            devices.add(found.group(1))
            files["/sys/class/infiniband/%s/%s" % found.groups()] = content
    for number, device in enumerate(sorted(devices)):
        base = "/sys/class/infiniband/" + device
        files[base] = {"link": "../../devices/pci0000:00/0000:%02x:00.0/infiniband/%s" % (number + 1, device)}
        files[base + "/ports"] = {"dir": sorted({path[len(base) + 7 :].split("/")[0] for path in files if path.startswith(base + "/ports/")})}
        for optional in ("hca_type", "board_id", "fw_ver"):
            files.setdefault(base + "/" + optional, {"absent": True})
    files["/sys/class/infiniband"] = {"dir": sorted(devices)}
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": [], "host": {}})
    return {device["device"]: device for device in network_devices.collect(host)["rails"].values()}


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


# No reader asks these: benchmarks are run by no preflight, and the files of the kernel tell what the other tools would.
NOT_ASKED = {
    "ethtool", "flint", "ib", "ibdev2netdev", "ibstat", "ibv", "ip", "lldpcli", "mlxlink", "nccl", "rccl", "rdma", "show",
}  # fmt: skip
READ = {
    "sysfs-ib-bad-rate-edr.json", "sysfs-infiniband-h100-9dev.json", "sysfs-infiniband-mlx4-i40iw.json", "sysfs-infiniband-procfs-hfi1-mlx4-mlx5.json",
}  # fmt: skip


def test_no_capture_of_a_network_is_passed_over(captures):
    lines = [line for index in captures.glob("INDEX-*.tsv") for line in index.read_text(encoding="utf-8").splitlines()]
    indexed = {line.split("\t")[0].removeprefix("rdma/") for line in lines if line.startswith("rdma/")}
    assert {name for name in indexed if re.split(r"[-_]", name)[0] not in NOT_ASKED} == READ
