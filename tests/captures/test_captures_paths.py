# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of topology commands, and of lspci turned into the configuration space that lspci itself read: what the section paths says of them."""

from __future__ import annotations

import re
from collections import Counter

import config_space
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi, pci_path, topology

MATRICES = ("PIX", "PXB", "PHB", "NODE", "SYS")


@pytest.fixture
def read(captures):
    """read(capture, manufacturer, number of devices): the tool's part of the section, asked as on a node."""

    def tool(name, manufacturer, count, ids=None):
        text, ((programs, arguments), *_others) = (captures / name).read_text(), topology.QUESTIONS[manufacturer]
        env = {"env": topology.ENVIRONMENT[manufacturer]} if manufacturer in topology.ENVIRONMENT else {}
        host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": {},
                           "commands": [{"argv": [programs[0], *arguments], "stdout": text, **env}]})  # fmt: skip
        sources = []
        told = topology.read(host, manufacturer, ids or {n: "%s:%d" % (manufacturer, n) for n in range(count)}, sources)
        assert [source["status"] for source in sources] == ["ok"]
        return told

    return tool


def cell(told, one, other):
    return told["levels"][told["ids"].index(one)][told["ids"].index(other)]


def words(told, manufacturer):
    """The words between devices, each direction."""
    own = [n for n, ident in enumerate(told["ids"]) if ident.startswith(manufacturer + ":")]
    return Counter(told["levels"][a][b] for a in own for b in own if a != b)


def halves(count, manufacturer="nvidia"):
    return {"%s:%d" % (manufacturer, n): n // (count // 2) for n in range(count)}


@pytest.mark.parametrize(
    ("name", "count", "word", "numa", "cpus"),
    [
        ("topo-m-2gpu-nv2.txt", 2, "NV2", {}, "0-23"),
        ("topo-m-2gpu-phb.txt", 2, "PHB", {}, "0-11"),
        ("topo-m-8xa100-nv12-narrow.txt", 8, "NV12", halves(8), "0-23"),
        ("topo-m-8xh100-nv18.txt", 8, "NV18", halves(8), "0-51,104-155"),
        ("topo-m-8xh100-mlx5-columns.txt", 8, "NV18", halves(8), "0-47,96-143"),
        ("topo-m-a800-4nic.txt", 8, "NV8", halves(8), "0-31,64-95"),
        ("topo-m-h800-4nic-clipped.txt", 8, "NV8", halves(8), None),
        ("topo-m-header-wrapped-after-gpu0.txt", 8, "NV18", halves(8), "0-55"),
        ("topo-p2p-r-8gpu-ok.txt", 8, "OK", {}, None),
    ],
)
def test_nvidia(read, name, count, word, numa, cpus):
    told = read("nvidia-smi/" + name, "nvidia", count)
    assert words(told, "nvidia") == {word: count * (count - 1)}
    assert told["numa"] == numa and told["cpus"].get("nvidia:0") == cpus


def test_adapters_of_nvidia(read):
    told = read("nvidia-smi/topo-m-8xh100-mlx5-columns.txt", "nvidia", 8)
    assert [cell(told, "nvidia:%d" % n, "mlx5_%d" % n) for n in range(8)] == ["PIX"] * 8
    assert [cell(told, "nvidia:%d" % n, "mlx5_8") for n in (0, 7)] == ["NODE", "SYS"]
    told = read("nvidia-smi/topo-m-a800-4nic.txt", "nvidia", 8)
    near = {(gpu, nic) for gpu in told["ids"][:8] for nic in told["ids"][8:] if cell(told, gpu, nic) == "PIX"}
    assert near == {("nvidia:1", "mlx5_0"), ("nvidia:3", "mlx5_1"), ("nvidia:7", "mlx5_2"), ("nvidia:7", "mlx5_3")}
    assert cell(told, "nvidia:0", "mlx5_0") == "NODE" and cell(told, "nvidia:4", "mlx5_2") == "NODE"
    told = read("nvidia-smi/topo-m-header-wrapped-after-gpu0.txt", "nvidia", 8)
    assert [(gpu, nic) for gpu in told["ids"][:8] for nic in ("mlx5_0", "mlx5_1") if cell(told, gpu, nic) == "PXB"] == [
        ("nvidia:0", "mlx5_0"),
        ("nvidia:1", "mlx5_1"),
    ]


def test_what_a_narrow_terminal_cut_off_is_not_told(read):
    told = read("nvidia-smi/topo-m-h800-4nic-clipped.txt", "nvidia", 8)
    assert cell(told, "mlx5_0", "nvidia:1") == "PIX" and cell(told, "mlx5_0", "mlx5_1") == "?"
    assert set(told["cpus"].values()) <= {"32-63,96-127", "2-63,96-127"}


def test_amd(read, captures):
    told = read("amd/amdsmi-topology-json-old-rocm611.json", "amd", 2)
    assert words(told, "amd") == {"PCIE": 2} and told["weights"][0][1] == "40"
    assert read("amd/amdsmi-topology-json-single.json", "amd", 1)["levels"] == [["X"]]
    assert "not understood" in read("amd/amdsmi-topology-json-invalid-trailing-comma.txt", "amd", 2)["unknown"]
    kinds, weights, _nics = topology.matrix((captures / "amd" / "amdsmi-topology-mi300x-rocm61.txt").read_text())
    assert Counter(word for row in kinds["rows"].values() for word in row.values()) == {"XGMI": 56}
    assert {word for row in weights.values() for word in row.values()} == {"15"}
    tables, _nics = topology.tables((captures / "amd" / "rocm-smi-topo-mi250x8-excerpt.txt").read_text())
    hops = tables["hops between two gpus"]["rows"]
    assert {word for row in hops.values() for word in row.values()} == {"1"} and topology.matrix(
        (captures / "amd" / "rocm-smi-topo-mi250x8-excerpt.txt").read_text()
    )[0] is None


def test_metax(read):
    told = read("metax/mx-smi-topo-m-c500x8-node.txt", "metax", 8)
    assert words(told, "metax") == {"MX": 24, "NODE": 32} and set(told["numa"].values()) == {0}
    assert read("metax/mx-smi-topo-m-single.txt", "metax", 1)["levels"] == [["X"]]
    told = read("metax/mx-smi-topo-n-c500x8-nic6.txt", "metax", 8)
    assert len(told["ids"]) == 14
    for gpu in range(8):
        near = ("mlx5_0", "mlx5_1") if gpu < 4 else ("mlx5_2", "mlx5_3")
        assert {nic for nic in told["ids"][8:] if cell(told, "metax:%d" % gpu, nic) == "PIX"} == set(near)
        assert cell(told, "metax:%d" % gpu, "mlx5_4") == cell(told, "metax:%d" % gpu, "mlx5_5") == "SYS"


def test_thead(read):
    told = read("thead/ppu-smi-topo-m-8.txt", "thead", 8)
    assert {ident: node for ident, node in told["numa"].items() if ident.startswith("thead")} == halves(8, "thead")
    linked = Counter(a for a in range(8) for b in range(8) if told["levels"][a][b].startswith("ICN"))
    twice = {(a, b) for a in range(8) for b in range(a) if told["levels"][a][b] == "ICN2"}
    assert twice == {(1, 0), (6, 0), (7, 1), (3, 2), (5, 4), (7, 6)}
    assert len(told["ids"]) == 16 and set(linked) == set(range(8))


def test_ascend_has_the_same_form(captures):
    kinds, _weights, _nics = topology.matrix((captures / "ascend" / "npu-smi-t-topo-910b3-hccs.txt").read_text())
    assert Counter(word for row in kinds["rows"].values() for word in row.values()) == {"HCCS": 56}
    assert kinds["cpus"] == {"NPU%d" % n: ("144-167", "96-119", "0-23", "48-71")[n // 2] for n in range(8)}
    kinds, _weights, _nics = topology.matrix((captures / "ascend" / "npu-smi-t-topo-a3-sio-fragment.txt").read_text())
    assert kinds["rows"]["Phy-ID2"] == {"Phy-ID3": "SIO", "Phy-ID12": "HCCS_SW", "Phy-ID13": "HCCS_SW"} and len(kinds["rows"]) == 2


@pytest.mark.parametrize("manufacturer", sorted(topology.QUESTIONS))
@pytest.mark.parametrize(
    "name", ["thead/dmesg-alixpu-icn-topo-16.txt", "cambricon/cntopo-find.json", "intel-xpu/xpu-smi-topology-m.txt", "nvidia-smi/dcgmi-topo-g0-json.txt",
             "aws-neuron/neuron-ls-topology-16.txt", "amd/hwloc-lstopo-vega20-rsmi.txt", "nvidia-smi/qx-8xh100-580.xml"]
)  # fmt: skip
def test_another_answer_is_never_a_matrix(read, name, manufacturer):
    assert "not understood" in read(name, manufacturer, 8)["unknown"]


# -- lspci ----------------------------------------------------------------------------------------------------------------


def blocks(text):
    """address -> the lines of its block."""
    found = re.split(r"(?m)^(?=[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )", text)
    return {"0000:" + block[:7]: block for block in found if re.match(r"[0-9a-f]{2}:", block)}


def registers(captures, name):
    return {address: pci_path.registers(config_space.of_lspci(block)) for address, block in blocks((captures / "pci" / name).read_text()).items()}


def link(told):
    return (told["speed_current_gts"], told["speed_max_gts"], told["width_current"], told["width_max"])


def test_acs_that_is_on(captures):
    ((address, told),) = registers(captures, "lspci-acs-root-port-enabled-fragment.txt").items()
    assert address == "0000:00:01.1"
    assert told["settings"]["acs"] == ["source_validation", "request_redirect", "completion_redirect", "upstream_forwarding"]


def test_an_adapter_in_a_slot_of_half_its_width(captures):
    told = registers(captures, "lspci-vvv-cx7-gen4-x8-downgraded-and-vf-x0.txt")
    assert link(told["0000:b1:00.1"]) == (16.0, 32.0, 8, 16)
    assert told["0000:b1:00.1"]["settings"] == {"type": "endpoint", "max_payload_bytes": 512, "max_read_request_bytes": 4096, "acs": []}
    assert "unknown" in told["0000:b1:00.2"]["width_current"] and "unknown" in told["0000:b1:00.2"]["speed_current_gts"]


@pytest.mark.parametrize("name", ["lspci-vvv-cx7-nic.txt", "lspci-vvv-h100-gpu.txt"])
def test_a_healthy_link(captures, name):
    (told,) = registers(captures, name).values()
    assert link(told) == (32.0, 32.0, 16, 16)


def test_switches_of_the_fabric_are_two_lanes_wide(captures):
    told = registers(captures, "lspci-vvv-nvswitch.txt")
    assert [link(one) for one in told.values()] == [(16.0, 16.0, 2, 2)] * 4


def test_links_below_what_one_end_can_do(captures):
    told = {address[5:]: link(one) for address, one in registers(captures, "lspci-vvv-downgraded-mixed.txt").items()}
    assert told["00:0c.0"] == (5.0, 8.0, 1, 1) and told["01:00.0"] == (5.0, 5.0, 1, 2)
    assert told["17:00.0"] == (16.0, 32.0, 4, 4) and told["17:03.0"] == (16.0, 32.0, 16, 16)
    assert told["80:01.0"] == told["81:00.1"] == (16.0, 16.0, 2, 16)


def test_what_is_neither_accelerator_nor_adapter_has_no_path(captures):
    """None of the six is below an accelerator or carries a network: no rule looks at them."""
    files = {}
    for address, block in blocks((captures / "pci" / "lspci-vvv-downgraded-mixed.txt").read_text()).items():
        config_space.add(files, ["pci0000:00", address], config_space.of_lspci(block))
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": config_space.whole(files), "commands": []})
    assert pci_path.read(host, {}) == {"ends": [], "functions": {}, "matrix": {"ids": [], "levels": []}, "problems": []}


@pytest.mark.parametrize(("name", "labels"), [("910b3-hccs", ["NPU%d" % n for n in range(8)]), ("a3-sio-fragment", ["Phy-ID2", "Phy-ID3"])])
def test_ascend_tells_its_matrix_with_the_devices(captures, name, labels):
    found, rows = npu_smi.parse_topo((captures / "ascend" / ("npu-smi-t-topo-%s.txt" % name)).read_text())
    assert list(rows) == labels and set(labels) <= set(found)
    devices = [{"id": "ascend:%d" % n, "extra": {"topology_row": {"label": label, "peers": rows[label]}}} for n, label in enumerate(labels)]
    told = topology.of_devices(devices)
    assert words(told, "ascend") == ({"HCCS": 56} if len(labels) == 8 else {"SIO": 2})
    for broken in (
        [],
        [{}],
        [{"id": "a", "extra": {"topology_row": {"label": 1, "peers": {}}}}],
        [{"extra": {"topology_row": {"label": "NPU0", "peers": []}}}],
    ):
        assert topology.of_devices(broken) is None
