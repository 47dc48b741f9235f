# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenstorrent: boards of two chips, memory that is not trained, zeros that the firmware did not tell, and versions that would write a file."""

from __future__ import annotations

import further_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

SNAPSHOT = "-s --snapshot_no_tty"


def chip(position, changes=None, kind="p150b", board=None):
    return (kind, samples.address(position), board or "4611%010d" % position, changes or {})


def read(chips, count=None, files=None):
    every = dict(samples.bus("tenstorrent", len(chips) if count is None else count), **(files or {}))
    return samples.read("tenstorrent", {SNAPSHOT: samples.tt_snapshot(chips)}, every, nodes=["tenstorrent"], module="tenstorrent")


def test_a_good_node():
    place = "/sys/devices/pci0000:00/0000:00:01.0/%s/tenstorrent" % samples.address(0)
    section = read([chip(0), chip(1)], files={place: {"dir": ["tenstorrent!7"]}})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "p150b x2")
    assert [entry["source"] for entry in section["sources"]] == ["tt-smi " + SNAPSHOT]
    device = section["devices"][0]
    assert (device["temperature_c"]["core"], device["temperature_c"]["limit_core"], device["power_w"]["draw"], device["power_w"]["limit"]) == (
        42.0,
        90,
        48.0,
        300,
    )
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_max"], device["pcie"]["width_current"]) == (4, 5, 16)
    assert device["firmware"] == {"bundle": "19.2.0.0", "cm": "0.30.0.0", "eth": "1.9.0"}
    assert device["identity"]["serial"] == {"value": "46110000000000", "quality": "good"}
    assert device["health"] == {"state": "ok", "detail": "DDR_STATUS 0x55555555"}
    assert device["device_nodes"] == ["/dev/tenstorrent/7"]
    assert section["driver"]["version"] == "7.8.9"


def test_the_second_chip_of_an_n300_is_a_die():
    status = {"DDR_STATUS": "0x22222222"}
    chips = [("n300 L", samples.address(0), "0100", status), ("n300 R", "N/A", "0100", status)]
    section = read(chips, 1)
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 1)
    assert [(d["kind"], d["parent"]) for d in section["devices"]] == [("package", None), ("die", "tenstorrent:0")]
    assert section["devices"][0]["identity"]["serial"] == {"value": "0100", "quality": "good"}


def test_a_board_number_that_chips_on_pci_share_is_no_serial():
    section = read([chip(n, kind="tt-galaxy-bh", board="0777") for n in range(3)])
    assert section["detection"]["state"] == "ok"
    assert {d["identity"]["serial"]["quality"] for d in section["devices"]} == {"unread"}
    assert {d["extra"]["board_id"] for d in section["devices"]} == {"0777"}


@pytest.mark.parametrize(
    ("kind", "changes", "state"),
    [
        ("p150b", {"DDR_STATUS": "0x55555556"}, "failed"),
        ("n150 L", {"DDR_STATUS": "0x22222222"}, "ok"),
        ("n150 L", {"DDR_STATUS": "0x22222202"}, "failed"),
        ("p150b", {"THERM_TRIP_COUNT": "0x2"}, "degraded"),
        ("p150b", {"DDR_STATUS": "0x0"}, None),
        ("p150b", {"DDR_STATUS": "0x5545", "ENABLED_GDDR": "0xff"}, "failed"),  # one that is switched on has not trained
        ("p150b", {"DDR_STATUS": "0x5545", "ENABLED_GDDR": "0xfb"}, "ok"),  # one that is switched off
        ("p150b", {"DDR_STATUS": "0x5555", "ENABLED_GDDR": "0xffffffff"}, "ok"),  # not told
    ],
)
def test_health(kind, changes, state):
    health = read([chip(0, changes, kind)])["devices"][0]["health"]
    assert is_unknown(health) if state is None else health["state"] == state


NO_ERRORS = {"GDDR_UNCORR_ERRS": "0x0", **{"GDDR_%s_CORR_ERRS" % pair: "0x0" for pair in ("0_1", "2_3", "4_5", "6_7")}}


@pytest.mark.parametrize(
    ("kind", "changes", "uncorrected", "corrected"),
    [
        ("p150b", NO_ERRORS, 0, 0),
        ("p150b", dict(NO_ERRORS, GDDR_UNCORR_ERRS="0x2040"), 2, 0),
        ("p150b", dict(NO_ERRORS, GDDR_4_5_CORR_ERRS="0x00ff0003", GDDR_0_1_CORR_ERRS="0x01000000"), 0, 259),
        ("p150b", dict(NO_ERRORS, GDDR_UNCORR_ERRS=None), "?", 0),
        ("p150b", dict(NO_ERRORS, GDDR_UNCORR_ERRS="0xffffffff", GDDR_2_3_CORR_ERRS="garbage"), "?", "?"),
        ("p150b", {"GDDR_0_1_CORR_ERRS": "0x1"}, "?", "?"),
        ("p150b", {}, None, None),  # a tt-smi before 5.1
        ("n150 L", NO_ERRORS, None, None),
    ],
)
def test_errors_of_the_memory(kind, changes, uncorrected, corrected):
    ecc = read([chip(0, dict(changes), kind)])["devices"][0]["ecc"]
    for name, expected in (("uncorrected_volatile", uncorrected), ("corrected_volatile", corrected)):
        if expected is None:
            assert is_not_applicable(ecc)
        else:
            assert is_unknown(ecc[name]) if expected == "?" else ecc[name] == expected


def test_an_n300_whose_right_chip_does_not_answer():
    status = {"DDR_STATUS": "0x22222222"}
    whole = [("n300 L", samples.address(0), "0100", status), ("n300 R", "N/A", "0100", status)]
    section = read([*whole, ("n300 L", samples.address(1), "0101", status)], 2)
    assert section["detection"]["accelerators"] == 2
    assert [device["health"]["state"] for device in section["devices"]] == ["ok", "ok", "failed"]
    assert "right chip" in section["devices"][2]["health"]["detail"]


def test_zeros_that_the_firmware_did_not_tell_are_unknown():
    device = read([chip(0, {"ASIC_TEMPERATURE": None, "TDP": None})])["devices"][0]
    assert is_unknown(device["temperature_c"]["core"]) and is_unknown(device["power_w"]["draw"])


def test_a_version_that_would_write_a_file_is_asked_for_its_list():
    refused = {"stdout": "", "stderr": "usage: tt-smi [-h]\ntt-smi: error: unrecognized arguments: --snapshot_no_tty\n", "rc": 2}
    rows = [(0, samples.address(0), "/dev/tenstorrent/4", "Blackhole", "p150b", "1"), (1, "N/A", "N/A", "Wormhole", "n300 R", "2")]
    section = samples.read("tenstorrent", {SNAPSHOT: refused, "-ls": samples.tt_list(rows[:1])}, samples.bus("tenstorrent", 1))
    assert (section["detection"]["state"], section["devices"][0]["device_nodes"]) == ("ok", ["/dev/tenstorrent/4"])
    cut = samples.read("tenstorrent", {"-ls": samples.tt_list(rows, end=False)})
    assert (cut["detection"]["state"], is_unknown(cut["detection"]["accelerators"])) == ("unavailable", True)


def test_rows_that_are_left_out():
    rows = [(0, samples.address(0), "/dev/tenstorrent/4", "Blackhole", "p150b", "1"), ("…",) * 6]
    section = samples.read("tenstorrent", {"-ls": samples.tt_list(rows)})
    assert section["detection"]["reason"] == "tt-smi -ls: rows are left out"


def test_an_empty_snapshot_on_a_node_with_chips():
    section = read([], 2)
    assert section["detection"]["reason"].startswith("PCI shows 2, the tool 0")
