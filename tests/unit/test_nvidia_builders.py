# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builders that every manufacturer shares."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, not_applicable, unknown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:18:00.0", "0000:18:00.0"),
        ("00000008:06:00.0", "0008:06:00.0"),
        ("0000:0A:00.0", "0000:0a:00.0"),
        ("83:00.0", "0000:83:00.0"),
        ("10000:E1:00.0", "10000:e1:00.0"),
        ("0000:10:1C.0", "0000:10:1c.0"),
        ("0000:10:1c", "0000:10:1c.0"),
    ],
)
def test_pci_addresses(text, expected):
    assert report.normalize_pci(text) == expected


@pytest.mark.parametrize("text", [None, "", "N/A", "GPU is lost", "0000:10", "0000:10:1g.0", "0000:10:1c.9", 5])
def test_what_is_no_pci_address(text):
    assert is_unknown(report.normalize_pci(text))


@pytest.mark.parametrize("text", ["0", "N/A", "[N/A]", "0000000000000", "ffffffffffffffff", "None", "Default string", "To be filled by O.E.M.", "???"])
def test_placeholders(text):
    item = report.identity(serial=text)["serial"]
    assert item["quality"] == "placeholder" and is_unknown(item["value"])


def test_qualities():
    told = report.identity(uuid="GPU-1", serial=unknown("denied"), pci=not_applicable("no PCI"), slot="")
    assert {key: item["quality"] for key, item in told.items()} == {"uuid": "good", "serial": "unread", "pci": "absent", "slot": "absent"}
    assert report.identity()["uuid"]["quality"] == "unread"
    assert report.identity(slot="0")["slot"] == {"value": "0", "quality": "good"} and report.identity(slot="N/A")["slot"]["quality"] == "placeholder"
    assert report.identity(pci="0000:00:00.0")["pci"] == {"value": "0000:00:00.0", "quality": "good"}


def card(index, name="X", **identity):
    return report.device(f"m:{index}", index, name, identity=report.identity(**identity))


def test_duplicates_among_packages_only():
    part = report.device("m:0/p:0", 0, "X", "partition", "m:0", identity=report.identity(uuid="a"))
    devices = report.mark_duplicates([card(0, uuid="a", serial="9"), part, card(1, uuid="b", serial="9"), card(2, uuid="c")])
    assert [d["identity"]["uuid"]["quality"] for d in devices] == ["good"] * 4
    assert [d["identity"]["serial"]["quality"] for d in devices] == ["duplicate", "unread", "duplicate", "unread"]
    assert devices[0]["identity"]["serial"]["value"] == "9"


def test_a_device_has_every_key():
    device = report.device("m:0", 0, None, ecc={"mode": "enabled"}, links=not_applicable("none"), curious=1)
    assert is_unknown(device["name"]) and is_unknown(device["row_remap"]) and is_not_applicable(device["links"])
    assert device["ecc"]["mode"] == "enabled" and is_unknown(device["ecc"]["uncorrected_volatile"])
    assert device["extra"] == {"curious": 1} and device["firmware"] == {} and device["device_nodes"] == []


BUS = [{"address": "0000:01:00.0"}, {"address": "0000:02:00.0"}]


@pytest.mark.parametrize(
    ("arguments", "state", "count"),
    [
        ({"devices": [card(0), card(1)], "pci": BUS}, "ok", 2),
        ({"devices": [card(0), card(1)], "pci": None}, "ok", 2),
        ({"devices": [card(0), card(1)], "pci": unknown("denied")}, "ok", 2),
        ({"devices": [card(0)], "pci": BUS}, "unavailable", 1),
        ({"devices": [card(0), card(1, None)], "pci": BUS}, "unavailable", 2),
        ({"devices": [card(0), card(1, " ")], "pci": BUS}, "unavailable", 2),
        ({"devices": [card(0)], "host_check": {"command": "tool", "accelerators": 2}}, "unavailable", 1),
        ({"devices": [card(0)], "host_check": {"command": "tool", "accelerators": 0}}, "ok", 1),
        ({"devices": [card(0)], "host_check": {"command": "tool", "accelerators": unknown("x")}}, "ok", 1),
        ({"devices": [], "pci": []}, "not-declared", 0),
        ({"devices": [], "pci": BUS}, "unavailable", 0),
        ({"devices": [], "pci": unknown("denied")}, "unavailable", None),
        ({"devices": [], "pci": [], "read_failed": "hung"}, "unavailable", None),
        ({"devices": [], "pci": [], "read_failed": "no tool", "not_installed": True}, "not-declared", 0),
        ({"devices": [], "pci": BUS, "read_failed": "no tool", "not_installed": True}, "unavailable", None),
        ({"devices": [], "pci": unknown("denied"), "read_failed": "no tool", "not_installed": True}, "unavailable", None),
        ({"devices": [card(0)], "pci": BUS, "read_failed": "ended early"}, "unavailable", None),
    ],
)
def test_detection(arguments, state, count):
    block = report.detection("m", **arguments)
    assert block["state"] == state and (block["reason"] == "") == (state == "ok")
    assert block["accelerators"] == count if count is not None else is_unknown(block["accelerators"])


def test_names_are_grouped_with_their_memory():
    devices = [report.device(f"m:{i}", i, "A" if i < 3 else "B", memory_mib=mib) for i, mib in enumerate((80, 80, 40, 80, unknown("lost")))]
    assert report.detection("m", devices)["detail"] == "A x2, A x1, B x2"


@pytest.mark.parametrize(
    "text", ["", "-", "ERR!", "[Unknown Error]", "Unknown Error", "Insufficient Permissions", "GPU is lost", "[GPU requires reset]", "xxx", None]
)
def test_what_says_nothing_is_unknown(text):
    assert is_unknown(report.fact(text, "x")) and is_unknown(report.quantity(text, "x")) and is_unknown(report.flag(text, "x"))


@pytest.mark.parametrize("text", ["N/A", "[N/A]", "Not Supported", "[Not Supported]", "not available"])
def test_what_does_not_exist_is_not_applicable(text):
    assert is_not_applicable(report.quantity(text, "x")) and is_not_applicable(report.flag(text, "x"))


def test_values():
    assert report.quantity(" 37 C ", "x", "C") == 37 and report.quantity("66.84 W", "x") == 66.84 and report.quantity(5, "x", "C") == 5
    assert is_unknown(report.quantity("37 F", "x", "C")) and is_unknown(report.flag("maybe", "x"))
    assert report.flag("Yes", "x") is True and report.flag("Disabled", "x") is False
    assert is_known(report.fact("text", "x"))
