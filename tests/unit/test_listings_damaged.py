# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What xpu-smi, tpu-info, neuron-ls, tt-smi and hl-smi -Q print, damaged: never ok with another number of cards, never a sick card that is well."""

from __future__ import annotations

import json

import further_samples as samples
import pytest
import xpu_samples as xpu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

REFUSED = {"rc": 1, "stderr": "usage: no such option"}
PLACES = [samples.address(n) for n in range(3)]
CHIPS = [("p150b", place, "4611%010d" % n, {}) for n, place in enumerate(PLACES)]
BOARDS = [(n, place, "/dev/tenstorrent/%d" % n, "Blackhole", "p150b", "4611%d" % n) for n, place in enumerate(PLACES)]
NODES = {
    "neuron": (["neuron%d" % n for n in range(3)], samples.neuron_files(3)),
    "tenstorrent": (["tenstorrent"], {"/dev/tenstorrent": {"dir": ["0", "1", "2"]}}),
}
CALLS = {
    "gaudi": ("", samples.HL_QUERY), "intel": ("discovery -j", "discovery"), "neuron": ("-j", ""), "tenstorrent": ("-s --snapshot_no_tty", "-ls"),
    "tpu": ("", "--process"),
}  # fmt: skip
RESET = samples.tt_list(BOARDS) + samples.tt_list(BOARDS).replace("All available boards on host", "Boards that can be reset")
# manufacturer, the call, and three cards as it tells them
LISTINGS = {
    "gaudi -Q": ("gaudi", samples.HL_QUERY, samples.hl_csv(3)),
    "intel -j": ("intel", "discovery -j", xpu.listing(PLACES)),
    "intel": ("intel", "discovery", xpu.listing_table(PLACES)),
    "neuron -j": ("neuron", "-j", samples.neuron_json(3)),
    "neuron": ("neuron", "", samples.neuron_table(3, "inf9.test")),
    "tenstorrent -s": ("tenstorrent", "-s --snapshot_no_tty", samples.tt_snapshot(CHIPS)),
    "tenstorrent -ls": ("tenstorrent", "-ls", RESET),
    "tpu": ("tpu", "", xpu.tpu_table(3)),
    "tpu, idle": ("tpu", "", xpu.tpu_table(3, use="idle")),
    "tpu, two cores": ("tpu", "", xpu.tpu_table(3, kind="7x", cores=2, total=94.5, box=True)),
}  # fmt: skip
NO_END = ("gaudi -Q", "intel")  # whole cards cut away are not missed there: PCI counts them


def read(name, said, bus=0):
    manufacturer, call, _text = LISTINGS[name]
    commands = dict(xpu.intel_commands(PLACES) if manufacturer == "intel" else {}, **dict.fromkeys(CALLS[manufacturer], REFUSED))
    nodes, files = NODES.get(manufacturer, ([], {}))
    return samples.read(manufacturer, dict(commands, **{call: said}), dict(samples.bus(manufacturer, bus), **files), nodes=nodes)


def verdict(section):
    count = section["detection"]["accelerators"]
    return section["detection"]["state"], count if is_known(count) else "?"


def damages(text):
    """(what was done, line, text)."""
    lines = text.splitlines(keepends=True)
    for n, line in enumerate(lines):
        before, after, half = lines[:n], lines[n + 1 :], line[: len(line) // 2]
        ways = {"lost": before + after, "twice": [*before, line, line, *after], "half": [*before, half], "torn": [*before, half + "\n", *after]}
        ways.update(last=before, swapped=[*before, *after[:1], line, *after[1:]], empty=[*before, "\n", *after])
        for way, rest in ways.items():
            yield way, line, "".join(rest)


@pytest.mark.parametrize("bus", [0, 3])
@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_a_damaged_listing_is_never_ok_with_another_count(name, bus):
    text = LISTINGS[name][2]
    assert verdict(read(name, text, bus)) == ("ok", 3)
    for way, line, damaged in damages(text):
        state, count = verdict(read(name, damaged, bus))
        last_of_all = line in text.splitlines(keepends=True)[-1:]
        whole_cards = not bus and name in NO_END and (way in ("last", "half") or (name == "gaudi -Q" and last_of_all))
        assert state != "ok" or count == 3 or whole_cards, (way, line)
        assert state != "not-declared", (way, line)
    state, count = verdict(read(name, text + "\n" + text, bus))
    assert (state, count) == ("ok", 3) or state == "unavailable"


@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_what_harms_nothing_changes_nothing(name):
    text = LISTINGS[name][2]
    whole, lines = read(name, text)["devices"], text.splitlines()
    for same in (
        "\r\n".join(lines), "WARNING: a library has {something} to [say]\n" + text, "[WARN] one {more}\n" + text, "\ufeff" + text, "\n\n" + text + "\n\n",
        "\n".join("\x1b[32m%s\x1b[0m" % line for line in lines), "\n".join(line + "   " for line in lines), "\n".join("    " + line for line in lines),
    ):  # fmt: skip
        section = read(name, same)
        assert (verdict(section), section["devices"]) == (("ok", 3), whole), same[:60]


@pytest.mark.parametrize("bus", [0, 3])
@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_what_a_tool_printed_before_it_failed_may_not_be_all(name, bus):
    section = read(name, {"stdout": LISTINGS[name][2], "rc": 139, "stderr": "Segmentation fault\n"}, bus)
    assert verdict(section) == ("unavailable", "?") and "exit 139: Segmentation fault" in section["detection"]["reason"]
    assert len(section["devices"]) == 3


@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_a_card_that_pci_shows_and_no_listing_has(name):
    assert verdict(read(name, LISTINGS[name][2], 4))[0] == "unavailable"


@pytest.mark.parametrize("name", ["neuron", "neuron -j", "tenstorrent -ls", "tenstorrent -s"])
def test_a_card_that_has_a_node_and_is_not_listed(name):
    shorter = {
        "neuron": samples.neuron_table(2, "inf9.test"), "neuron -j": samples.neuron_json(2), "tenstorrent -ls": samples.tt_list(BOARDS[:2]),
        "tenstorrent -s": samples.tt_snapshot(CHIPS[:2]),
    }  # fmt: skip
    section = read(name, shorter[name])
    assert verdict(section) == ("unavailable", "?") and "lists 2, in /dev there are 3" in section["detection"]["reason"]


@pytest.mark.parametrize(("manufacturer", "call", "text", "name"), [
    ("tpu", "", xpu.tpu_table(2, kind="v4", node="/dev/accel%d"), "accel%d"), ("gaudi", samples.HL_QUERY, samples.hl_csv(2), "hl%d"),
])  # fmt: skip
def test_the_nodes_of_another_driver(manufacturer, call, text, name):
    commands = dict(dict.fromkeys(CALLS[manufacturer], REFUSED), **{call: text})
    for nodes, expected in ((2, ("ok", 2)), (3, ("unavailable", "?"))):
        assert verdict(samples.read(manufacturer, commands, samples.bus(manufacturer, 0), nodes=[name % n for n in range(nodes)])) == expected


def test_what_follows_the_boards_is_no_row():
    text = RESET + "\u256d\u2500 Notice \u2500\u256e\n\u2502 A newer version is there. \u2502\n\u2570\u2500\u256f\n"
    assert verdict(read("tenstorrent -ls", text)) == ("ok", 3)


def test_a_board_that_can_be_reset_is_one_of_all():
    text = samples.tt_list(BOARDS[:2]) + samples.tt_list(BOARDS)
    section = samples.read("tenstorrent", {"-s --snapshot_no_tty": REFUSED, "-ls": text}, samples.bus("tenstorrent", 0))
    assert verdict(section) == ("unavailable", "?") and "a board that can be reset" in section["detection"]["reason"]


def test_one_card_that_is_described_is_no_list():
    section = read("intel -j", xpu.details(0, PLACES[0]))
    assert verdict(section) == ("unavailable", "?") and section["devices"] == []


def listed(manufacturer, places):
    if manufacturer == "intel":
        return {"discovery -j": xpu.listing(places)}
    if manufacturer == "tenstorrent":
        return {"-s --snapshot_no_tty": samples.tt_snapshot([("p150b", place, "4611", {}) for place in places])}
    entries = json.loads(samples.neuron_json(len(places)))
    return {"-j": json.dumps([dict(entry, bdf=place) for entry, place in zip(entries, places)])}


@pytest.mark.parametrize("manufacturer", ["intel", "neuron", "tenstorrent"])
def test_sixteen_cards_in_any_writing_of_their_addresses(manufacturer):
    places = [samples.address(n) for n in range(16)]
    for spelled in (str, str.upper, lambda place: "0000" + place, lambda place: place[5:]):
        assert verdict(samples.read(manufacturer, listed(manufacturer, list(map(spelled, places))), samples.bus(manufacturer, 16))) == ("ok", 16)
    places[15] = places[5].upper()
    section = samples.read(manufacturer, listed(manufacturer, places), samples.bus(manufacturer, 16))
    assert verdict(section) == ("unavailable", "?") and "more than one at %s" % samples.address(5) in section["detection"]["reason"]


def sick(words):
    """Health of two cards, of which the first is sick, as a table."""
    well = xpu.health_table(xpu.HEALTHY)
    return xpu.health_table(dict(xpu.HEALTHY, **words)) + well.replace("| 0  ", "| 1  ")


def health(said):
    commands = dict(xpu.intel_commands(PLACES[:2]), **{"health -l -j": said})
    return [device["health"].get("state", "?") for device in samples.read("intel", commands, samples.bus("intel", 2))["devices"]]


@pytest.mark.parametrize("part", ["xe_link_port", "memory"])
@pytest.mark.parametrize("shape", ["json", "table"])
def test_a_damaged_answer_makes_no_sick_card_well(shape, part):
    words = {part: "Critical"}
    text = sick(words) if shape == "table" else json.dumps(json.loads(xpu.health(2, **words)), indent=1)
    assert health(text) == ["failed", "ok"]
    for way, line, damaged in damages(text):
        assert health(damaged)[0] != "ok", (way, line)


def test_health_of_a_tool_that_failed_is_not_all_of_it():
    failed = {"rc": 139, "stderr": "Segmentation fault\n"}
    assert health(dict(failed, stdout=xpu.health(2))) == ["?", "?"]
    assert health(dict(failed, stdout=xpu.health(2, memory="Critical"))) == ["failed", "?"]
    assert health(dict(failed, stdout="")) == ["?", "?"]
    assert health(xpu.health(1)) == ["?", "?"]  # where one is not told the other may be cut
    assert health("chatter {of a library}\n" + sick({})) == ["ok", "ok"]


@pytest.mark.parametrize(("said", "state"), [("{", "?"), ({"hang": True}, "?"), ({"rc": 109, "stderr": "The argument was not expected: health\n"}, "ok")])
def test_the_word_of_the_driver_stands_where_the_tool_has_no_health(said, state):
    told = xpu.details(0, PLACES[0], device_state="normal")
    commands = dict(xpu.intel_commands(PLACES[:1]), **{"health -l -j": said, "discovery -d 0 -j": told})
    assert samples.read("intel", commands, samples.bus("intel", 1))["devices"][0]["health"].get("state", "?") == state


def test_processes_of_a_tool_that_failed_are_no_zero():
    commands = dict(xpu.intel_commands(PLACES[:1]), **{"ps -j": {"stdout": xpu.processes(), "rc": 1, "stderr": "timeout"}})
    assert not is_known(samples.read("intel", commands, samples.bus("intel", 1))["devices"][0]["processes"])


@pytest.mark.parametrize("bad", ["ERR!", "N/A", "Unknown", "", None, -1, [], {}, 1e400])
@pytest.mark.parametrize("name", ["intel -j", "neuron -j", "tenstorrent -s"])
def test_a_value_that_is_none_changes_no_count(name, bad):
    text = LISTINGS[name][2]

    def spoiled(value, key):
        if isinstance(value, dict):
            return {inner: bad if inner == key else spoiled(part, key) for inner, part in value.items()}
        return [spoiled(part, key) for part in value] if isinstance(value, list) else value

    def keys(value):
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return set(value if isinstance(value, dict) else ()).union(*map(keys, parts))

    for key in sorted(keys(json.loads(text))):
        state, count = verdict(read(name, json.dumps(spoiled(json.loads(text), key)), 3))
        assert count in (3, "?") or state != "ok", key
        assert state != "not-declared", key
