# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections of Intel Gaudi and GPU, AWS Neuron, Tenstorrent, Kunlunxin, Enflame and Google TPU: what they share. Each has a file of its own for the rest."""

from __future__ import annotations

import random

import further_samples as samples
import pytest
import xpu_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown
from gmi_samples import garble

EVERY = sorted(samples.READERS)
CARD = ("HL-225", "27C", "91W", "600W", "768MiB", "98304MiB", "0")
BAR = ("P800 OAM", "44C", "88W", "310MiB", "98304MiB")
GCU = ("Enflame S60", "00:30:00.0", "39C", "97W  300W", "42976MiB", "5B11000")


def good(manufacturer, count=3):
    """{arguments: output} of a good node, first the preferred way and then the other."""
    chips = [("p150b", samples.address(n), "4611%010d" % n, {}) for n in range(count)]
    rows = [(n, samples.address(n), "/dev/tenstorrent/%d" % n, "Blackhole", "p150b", "4611%010d" % n) for n in range(count)]
    gcus = [(GCU[0], "00:%02x:00.0" % (0x30 + 2 * n), *GCU[2:]) for n in range(count)]
    return {
        "enflame": {"-q": samples.ef_query([{}] * count), "": samples.ef_table(gcus)},
        "gaudi": {"": samples.hl_table([CARD] * count), samples.HL_QUERY: samples.hl_csv(count)},
        "kunlunxin": {"-q": samples.xpu_query([{}] * count), "": samples.xpu_table([BAR] * count)},
        "neuron": {"-j": samples.neuron_json(count), "": samples.neuron_table(count, "trn2.test")},
        "tenstorrent": {"-s --snapshot_no_tty": samples.tt_snapshot(chips), "-ls": samples.tt_list(rows)},
        "intel": {
            "discovery -j": xpu_samples.listing(list(map(samples.address, range(count)))),
            "discovery": xpu_samples.listing_table(list(map(samples.address, range(count)))),
        },
        "tpu": {"": xpu_samples.tpu_table(count), "--process": xpu_samples.tpu_processes(count)},
    }[manufacturer]


def read(manufacturer, commands, count=3):
    return samples.read(manufacturer, commands, samples.bus(manufacturer, count))


@pytest.mark.parametrize("manufacturer", EVERY)
def test_both_ways_tell_the_same_cards(manufacturer):
    ways = [read(manufacturer, {words: output}) for words, output in good(manufacturer).items()]
    for section in ways:
        assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 3), section["detection"]
        assert [device["identity"]["pci"]["value"] for device in section["devices"]] == [samples.address(n) for n in range(3)]
        assert [device["id"] for device in section["devices"]] == ["%s:%d" % (manufacturer, n) for n in range(3)]
        assert [device["numa_node"] for device in section["devices"]] == [0, 0, 0]
        assert section["devices"][0]["pcie"]["width_current"] == 16
        assert section["manufacturer"] == manufacturer and section["note"]
    one, other = ([(d["memory_mib"], d["temperature_c"]) for d in section["devices"]] for section in ways)
    if manufacturer not in ("tenstorrent", "tpu"):  # the second list has no telemetry
        assert one == other


@pytest.mark.parametrize("manufacturer", EVERY)
def test_fewer_than_pci_shows(manufacturer):
    for words, output in good(manufacturer, 2).items():
        section = read(manufacturer, {words: output})
        assert section["detection"]["state"] == "unavailable"
        assert "PCI shows 3" in section["detection"]["reason"]


@pytest.mark.parametrize("manufacturer", EVERY)
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"missing": True}, "no such program"),
        ({"denied": True}, "denied"),
        ({"hang": True}, "timeout"),
        ({"stdout": ""}, "printed nothing"),
        ({"stdout": "[] nothing {"}, "not understood"),
        ({"stdout": "null"}, "not understood"),
        ({"stdout": "", "stderr": "x: symbol lookup error: undefined symbol: getNewThing", "rc": 127}, "getNewThing"),
        ({"stdout": "failed to open the driver\n", "rc": 1}, "failed to open the driver"),
        ({"overflow": True, "stdout": "{"}, "overflow"),
    ],
)
def test_a_tool_that_fails_is_never_a_healthy_node(manufacturer, entry, words):
    section = read(manufacturer, samples.everywhere(manufacturer, entry), 2)
    assert section["detection"]["state"] == "unavailable"
    assert words in section["detection"]["reason"] and "PCI shows 2" in section["detection"]["reason"]
    assert is_unknown(section["detection"]["accelerators"])
    if "hang" in entry:
        assert len(section["sources"]) == 1, "a tool that hung is not asked again"


@pytest.mark.parametrize("manufacturer", EVERY)
def test_a_node_without_such_a_card(manufacturer):
    missing = samples.everywhere(manufacturer, {"missing": True})
    assert samples.read(manufacturer, missing)["detection"]["state"] == "not-declared"
    nodes = {"enflame": "gcu0", "gaudi": "hl0", "kunlunxin": "xpu0", "neuron": "neuron0", "tenstorrent": "tenstorrent", "tpu": "accel0"}
    if manufacturer == "intel":
        return  # its nodes and drivers are there for the graphics of processors too
    assert samples.read(manufacturer, missing, nodes=[nodes[manufacturer]])["detection"]["state"] == "unavailable"


@pytest.mark.parametrize("manufacturer", EVERY)
def test_the_tool_says_none(manufacturer):
    said = {
        "enflame": "No GCU device found", "gaudi": "No Habana devices found", "kunlunxin": "No devices were found", "neuron": "no neuron device found",
        "tenstorrent": "No Tenstorrent devices detected! Please check your hardware and try again.", "intel": "No device discovered",
        "tpu": "No TPU chips found.",
    }[manufacturer]  # fmt: skip
    entry = samples.everywhere(manufacturer, {"stdout": said + "\n", "rc": 1})
    assert samples.read(manufacturer, entry)["detection"]["state"] == "not-declared"
    assert read(manufacturer, entry, 2)["detection"]["reason"].startswith("PCI shows 2, the tool 0")


@pytest.mark.parametrize("manufacturer", EVERY)
def test_garbage_never_raises_and_never_takes_a_device_away(manufacturer):
    chance = random.Random(7)
    for words, output in good(manufacturer).items():
        for _unused in range(80):
            section = read(manufacturer, {words: garble(output, chance)})
            if section["detection"]["state"] == "ok":
                whole = [device for device in section["devices"] if device["kind"] == "package"]
                assert len(whole) >= 3
                assert all(is_known(device["name"]) for device in whole)


@pytest.mark.parametrize("manufacturer", ["neuron", "tenstorrent"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 3000, '{"device_info": ' + "[" * 3000, '[{"neuron_device": true}]', '{"device_info": {"a": 1}}',
        '{"device_info": [1, null, "x", [], {"board_info": 3}]}',
        '[{"neuron_device": 0, "bdf": {}, "memory_size": -1, "nc_count": "x", "neuron_processes": 3, "connected_to": {}, "numa_node": []}]',
        '{"device_info": [{"board_info": {"bus_id": []}, "telemetry": [], "smbus_telem": {"DDR_STATUS": {}, "TDP": 7}, "limits": 0}]}',
        '[{"neuron_device": %s}]' % ("9" * 4000), '{"a": [{"neuron_device": 5, "memory_size": 1e400}]}',
    ],
)  # fmt: skip
def test_json_of_another_shape(manufacturer, text):
    section = read(manufacturer, {"neuron": {"-j": text}, "tenstorrent": {"-s --snapshot_no_tty": text}}[manufacturer])
    assert section["detection"]["state"] == "unavailable"
