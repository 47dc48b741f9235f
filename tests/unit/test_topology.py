# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrix of a vendor's topology command: its forms, and what is none."""

from __future__ import annotations

import random

import config_space
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci_path, topology

PAIR = (
    "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPIX\t0-7,16-23\t1\nNIC0\tPIX\t X \t\t\n\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: rdma_a\n"
)


def host(*commands):
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": {}, "commands": list(commands)})


def read(*commands, manufacturer="nvidia", devices=None):
    sources = []
    return topology.read(host(*commands), manufacturer, devices if devices is not None else {0: "nvidia:0"}, sources), sources


def smi(**answer):
    return {"argv": ["nvidia-smi", "topo", "-m"], **answer}


def test_labels_are_told_by_the_names_of_devices_and_adapters():
    told, sources = read(smi(stdout=PAIR, seconds=0.5))
    assert told == {
        "source": "nvidia-smi topo -m", "ids": ["nvidia:0", "rdma_a"], "levels": [["X", "PIX"], ["PIX", "X"]], "numa": {"nvidia:0": 1},
        "cpus": {"nvidia:0": "0-7,16-23"}, "weights": {"not_applicable": "nvidia-smi topo -m tells no weights"},
    }  # fmt: skip
    assert sources == [{"source": "nvidia-smi topo -m", "status": "ok", "seconds": 0.5, "detail": ""}]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"missing": True}, "nvidia-smi"), ({"hang": True}, "timeout"), ({"rc": 9, "stderr": "no driver"}, "exit"), ({"stdout": ""}, "not understood"),
        ({"stdout": "Usage: nvidia-smi topo\n"}, "not understood"), ({"stdout": PAIR.replace(" X ", "PHB")}, "not understood"),
    ],
)  # fmt: skip
def test_no_answer_is_no_matrix(answer, reason):
    told, sources = read(smi(**answer))
    assert list(told) == ["unknown"] and reason in told["unknown"] and len(sources) == 1


def test_a_row_that_is_shifted_or_short_is_left_out():
    told, _sources = read(smi(stdout="\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\n"), devices={0: "a", 1: "b"})
    assert told["levels"] == [["X", "NV4"], ["NV4", "X"]]
    told, _sources = read(smi(stdout="\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\tSYS\n"), devices={0: "a", 1: "b"})
    assert told["levels"] == [["X", "NV4"], ["NV4", "X"]]


def test_a_row_in_which_two_words_are_joined_is_left_out():
    """A column that is too narrow joins them, and what follows stands for another column."""
    rows = "GPU0\t X \tNODENODE\t0-27,56-83\t0\tN/A\nGPU1\tNODE\t X \tSYS\t0-27\t0\tN/A\nNIC0\tNODE\tSYS\t X \n"
    told, _sources = read(smi(stdout="\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" + rows), devices={0: "a", 1: "b"})
    assert told["levels"] == [["X", "NODE", "NODE"], ["NODE", "X", "SYS"], ["NODE", "SYS", "X"]] and told["cpus"] == {"b": "0-27"}


def test_the_head_that_nvidia_smi_underlines_wherever_it_prints():
    told, _sources = read(smi(stdout="\x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t8-15\n"), devices={0: "a", 1: "b"})
    assert told["levels"] == [["X", "NV4"], ["NV4", "X"]]


def test_the_older_tool_is_asked_where_the_newer_is_missing():
    table = "==== %s between two GPUs ====\n       GPU0  GPU1\nGPU0   0     %s\nGPU1   %s  0\n\n"
    text = table % ("Weight", "15", "15") + table % ("Link Type", "XGMI", "XGMI")
    newer = {"argv": ["amd-smi", "topology", "--json"], "missing": True}
    told, sources = read(newer, {"argv": ["rocm-smi", "--showtopo"], "stdout": text}, manufacturer="amd", devices={0: "amd:0", 1: "amd:1"})
    assert (told["levels"], told["weights"]) == ([["X", "XGMI"], ["XGMI", "X"]], [["0", "15"], ["15", "0"]])
    assert [source["status"] for source in sources] == ["absent", "ok"]


def test_addresses_are_labels_too():
    text = "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 SELF         XGMI\n0000:22:00.0 XGMI         SELF\n"
    kinds, _weights, nics = topology.matrix(text)
    told = topology.shown("amd-smi topology", kinds, {}, nics, {"0000:0c:00.0": "amd:0", "0000:22:00.0": "amd:1"})
    assert (told["ids"], told["levels"]) == (["amd:0", "amd:1"], [["X", "XGMI"], ["XGMI", "X"]])


@pytest.mark.parametrize("manufacturer", ["ascend", "cambricon", "unheard-of"])
def test_who_is_not_asked(manufacturer):
    told, sources = read(manufacturer=manufacturer)
    assert sources == [] and (told is None or set(told) <= {"unknown", "not_applicable"})


def test_nothing_raises_for_garbage():
    chance = random.Random(5)
    words = [
        "GPU0",
        "GPU1",
        "NIC0",
        "X",
        "0",
        "SELF",
        "PIX",
        "\t",
        "\n",
        "\n",
        "NIC0: a",
        "=== Link Type ===",
        "NUMA Affinity",
        "CPU Affinity",
        "ENABLED",
        "[",
        "{",
        "]",
        '"gpu": 0',
        "}",
    ]
    for _turn in range(400):
        text = " ".join(chance.choices(words, k=chance.randrange(40)))
        kinds, weights, nics = topology.matrix(text)
        if kinds:
            topology.shown("x", kinds, weights, nics, {0: "a"})
        topology.of_json(text)
    for value in (
        "[1]",
        '[{"gpu": 0, "links": 5}]',
        '[{"gpu": 0, "link_type": {"gpu_1": 5}}]',
        '[{"gpu": 0, "links": [{"gpu": null, "link_type": "A"}]}]',
        "[" * 5000,
    ):
        topology.of_json(value)
    spaces = [bytes(chance.randrange(256) for _byte in range(chance.choice((0, 63, 64, 256, 300, 600)))) for _turn in range(200)]
    sound = bytearray(config_space.space(acs=["ReqRedir"]))
    for _turn in range(400):
        damaged = bytearray(sound)
        for _place in range(4):
            damaged[chance.choice((0x34, 0x40, 0x41, 0x60, 0x61, 0x62, *range(0x100, 0x108), *range(0x230, 0x238)))] = chance.randrange(256)
        spaces.append(bytes(damaged))
    for space in spaces:
        assert pci_path.registers(space) is None or isinstance(pci_path.registers(space), dict)
