# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of accelerators, adapters and drives on recorded sysfs trees."""

from __future__ import annotations

import config_space
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci_path
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

GPU, NIC, DRIVE = "0000:1a:00.0", "0000:1b:00.0", "0000:42:00.0"
BELOW = ("pci0:a", "0000:a0:01.0", "0000:a1:00.0")
SWITCH = ["0000:17:01.0", "0000:18:00.0"]


def host(files):
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files})


def tree():
    files = {}
    config_space.add(files, ["pci0000:17", SWITCH[0]], config_space.space("root_port", acs=["SrcValid"]))
    config_space.add(files, ["pci0000:17", *SWITCH], config_space.space("upstream_port"))
    for number, own in enumerate((GPU, NIC)):
        port = "0000:19:%02x.0" % number
        config_space.add(files, ["pci0000:17", *SWITCH, port], config_space.space("downstream_port", acs=["ReqRedir", "CmpltRedir"]))
        links = () if own == GPU else ("/sys/class/infiniband/mlx5_0", "/sys/class/net/ib0")
        config_space.add(files, ["pci0000:17", *SWITCH, port, own], iommu=(12, "identity"), class_links=links, resize=0x1FC0)
    config_space.add(files, ["pci0000:40", "0000:40:01.0"], config_space.space("root_port"))
    config_space.add(
        files, ["pci0000:40", "0000:40:01.0", DRIVE], config_space.space(now=(4, 16), most=(4, 16)), class_links=("/sys/class/nvme/nvme0",), numa=1
    )
    files["/sys/class/net/lo"] = {"link": "../../devices/virtual/net/lo"}
    return files


def read(files, **accelerators):
    return pci_path.read(host(config_space.whole(files)), accelerators or {"nvidia:0": GPU})


@pytest.mark.parametrize("offered", ["f" * 5000, "zz", "0", "-1", ""])
def test_sizes_that_a_region_cannot_have_are_unknown(offered):
    files = tree()
    (path,) = [name for name in files if name.endswith("_resize") and GPU in name]
    files[path] = offered + "\n"
    assert is_unknown(read(files)["ends"][0]["bar"]["resizable_to_mib"])


def test_a_card_and_its_adapter_below_one_switch():
    told = read(tree())
    assert told["problems"] == []
    gpu, nic, drive = told["ends"]
    assert gpu == {
        "id": "nvidia:0", "kind": "accelerator", "address": GPU, "root": "pci0000:17", "ports": [*SWITCH, "0000:19:00.0"], "numa_node": 0,
        "iommu": {"group": 12, "type": "identity"}, "bar": {"largest_mib": 131072, "resizable_to_mib": 4096},
    }  # fmt: skip
    assert (nic["id"], nic["kind"], nic["address"], nic["ports"][-1]) == ("mlx5_0", "rdma", NIC, "0000:19:01.0")
    assert (drive["id"], drive["kind"], drive["numa_node"]) == ("nvme0", "nvme", 1)
    assert told["matrix"] == {"ids": ["nvidia:0", "mlx5_0"], "levels": [["X", "PIX"], ["PIX", "X"]]}
    assert set(told["functions"]) == {*SWITCH, "0000:19:00.0", "0000:19:01.0", GPU, NIC, "0000:40:01.0", DRIVE}
    assert told["functions"][GPU] == {
        "width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0, "aer": {"correctable": {}, "nonfatal": {}, "fatal": {}},
        "settings": {"type": "endpoint", "max_payload_bytes": 256, "max_read_request_bytes": 512, "acs": {"not_applicable": "no access control services"}},
    }  # fmt: skip
    assert told["functions"]["0000:19:00.0"]["settings"]["acs"] == ["request_redirect", "completion_redirect"]
    assert told["functions"][SWITCH[0]]["settings"]["type"] == "root_port"


def test_errors_that_were_counted():
    files = tree()
    base = "/sys/devices/pci0000:17/%s/%s/0000:19:00.0/%s/aer_dev_" % (*SWITCH, GPU)
    files[base + "correctable"] = "RxErr 12\nBadTLP 0\nTimeout 3\nTOTAL_ERR_COR 15\n"
    files[base + "fatal"] = "DLP 1\nTOTAL_ERR_FATAL 1\n"
    assert read(files)["functions"][GPU]["aer"] == {"correctable": {"RxErr": 12, "Timeout": 3}, "nonfatal": {}, "fatal": {"DLP": 1}}
    files[base + "fatal"] = "garbage\n"
    assert "not understood" in read(files)["functions"][GPU]["aer"]["unknown"]
    files[base + "correctable"] = {"absent": True}
    assert "not_applicable" in read(files)["functions"][GPU]["aer"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(config_space.space(size=64), "root only"), (b"\xff" * 64, "all ones"), (b"\xff" * 4096, "all ones"), (b"", "all ones"), (b"\0" * 4096, "root only")],
)
def test_a_space_that_tells_nothing(content, reason):
    """The link is then taken from sysfs, and says there why it is not known."""
    files = tree()
    base = "/sys/devices/pci0000:17/%s/%s/0000:19:00.0/%s" % (*SWITCH, GPU)
    config_space.add(files, ["pci0000:17", *SWITCH, "0000:19:00.0", GPU], content)
    files[base + "/current_link_width"] = "8\n"
    told = read(files)["functions"][GPU]
    assert reason in told["settings"]["unknown"]
    assert told["width_current"] == 8
    assert "unknown" in told["width_max"]


def test_loops_and_cut_capabilities_end():
    space = bytearray(config_space.space())
    space[0x41] = 0x40  # points at itself
    space[0x40] = 0x01
    assert pci_path.registers(bytes(space)) == {}
    space = bytearray(config_space.space(acs=["ReqRedir"]))
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert pci_path.registers(bytes(space))["settings"]["acs"] == {"not_applicable": "no access control services"}
    for size in range(64, 0x260, 7):
        pci_path.registers(bytes(config_space.space(acs=["ReqRedir"])[:size]))


def test_virtual_functions_and_virtual_interfaces_have_no_path():
    files = tree()
    config_space.add(files, ["pci0000:40", "0000:40:01.0", "0000:42:00.1"], class_links=("/sys/class/infiniband/mlx5_9",), physfn="0000:42:00.0")
    assert [end["id"] for end in read(files)["ends"]] == ["nvidia:0", "mlx5_0", "nvme0"]


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ([*BELOW, "0000:a2:00.0", "0000:a3:00.0"], [*BELOW, "0000:a2:01.0", "0000:a4:00.0"], "PIX"),
        (["pci0:a", "0000:a0:01.0", "0000:a3:00.0"], ["pci0:a", "0000:a0:01.0", "0000:a3:00.1"], "PIX"),
        ([*BELOW, "0000:a2:00.0", "0000:a3:00.0", "0000:a4:00.0", "0000:a5:00.0"], [*BELOW, "0000:a2:01.0", "0000:a6:00.0"], "PXB"),
        (["pci0:a", "0000:a0:01.0", "0000:a3:00.0"], ["pci0:a", "0000:a0:02.0", "0000:a4:00.0"], "PHB"),
        (["pci0:a", "0000:a0:01.0", "0000:a3:00.0"], ["pci0:b", "0000:b0:02.0", "0000:b4:00.0"], "NODE"),
        (["pci0:a", "0000:a0:01.0", "0000:a3:00.0"], ["pci0:a", "0000:a0:01.0", "0000:a3:00.0"], "X"),
    ],
)  # fmt: skip
def test_levels(one, other, word):
    ends = [{"root": path[0], "ports": path[1:-1], "address": path[-1], "numa_node": 0} for path in (one, other)]
    assert pci_path.level(*ends, single=False) == word
    if word == "NODE":
        assert pci_path.level(ends[0], dict(ends[1], numa_node=1), single=False) == "SYS"
        assert pci_path.level(ends[0], dict(ends[1], numa_node={"unknown": "-1"}), single=False) == "?"
        assert pci_path.level(ends[0], dict(ends[1], numa_node={"unknown": "-1"}), single=True) == "NODE"


def test_what_is_not_recorded_is_told():
    told = pci_path.read(host({}), {"nvidia:0": GPU})
    assert told["ends"] == [] and told["matrix"] == {"ids": [], "levels": []}
    assert [text.partition(":")[0] for text in told["problems"]] == ["nvidia", "/sys/class/infiniband", "/sys/class/net", "/sys/class/nvme"]
    assert pci_path.read(host({directory: {"absent": True} for directory, _kind in pci_path.CLASSES}), {})["problems"] == []
