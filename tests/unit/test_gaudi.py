# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel Gaudi: the table and the query together, events that are no errors, the logger's prefix, and where the device nodes are."""

from __future__ import annotations

import further_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

CARD = ("HL-225", "27C", "91W", "600W", "768MiB", "98304MiB", "0")


def read(table, csv=None, count=2, files=None):
    commands = {"": table}
    if csv:
        commands[samples.HL_QUERY] = csv
    return samples.read("gaudi", commands, dict(samples.bus("gaudi", count), **(files or {})), module="habanalabs")


def test_a_good_node():
    nodes = {}
    for position, number in enumerate((5, 2)):
        nodes["/sys/devices/pci0000:00/0000:00:%02x.0/%s/accel" % (position + 1, samples.address(position))] = {
            "dir": ["accel%d" % number, "accel_controlD%d" % number]
        }
    section = read(samples.hl_table([CARD] * 2), samples.hl_csv(2), files=nodes)
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "HL-225 x2")
    assert [entry["source"] for entry in section["sources"]] == ["hl-smi", "hl-smi " + samples.HL_QUERY]
    device = section["devices"][1]
    assert (device["memory_mib"], device["memory_used_mib"], device["temperature_c"]["core"], device["utilization_percent"]) == (98304, 768, 27, 3)
    assert (device["power_w"]["draw"], device["power_w"]["limit"]) == (91, 600)
    assert {key: item["value"] for key, item in device["identity"].items()} == {
        "uuid": "01P0-HL2080A0-15-TNPA61-02-05-00", "serial": "AM23100001", "pci": samples.address(1), "slot": "6",
    }  # fmt: skip
    assert (device["ecc"]["mode"], device["ecc"]["uncorrected_volatile"], device["ecc"]["uncorrected_aggregate"]) == ("enabled", 0, 0)
    assert [d["device_nodes"] for d in section["devices"]] == [["/dev/accel/accel5"], ["/dev/accel/accel2"]]
    assert [d["processes"] for d in section["devices"]] == [1, 0]
    driver = section["driver"]
    assert [driver[key] for key in ("version", "tool_version", "module_version")] == ["1.20.1-97ab3c1", "hl-1.20.1-fw-58.1.2.0", "7.8.9"]


def test_events_are_not_ecc_errors():
    card = (*CARD[:-1], "31")
    device = read(samples.hl_table([card] * 2, column="Volatile Uncor-Events"))["devices"][0]
    assert device["extra"]["uncorrected_events"] == 31
    assert is_unknown(device["ecc"]["uncorrected_volatile"])
    device = read(samples.hl_table([card] * 2))["devices"][0]
    assert device["ecc"]["uncorrected_volatile"] == 31 and "uncorrected_events" not in device["extra"]


def test_the_prefix_of_the_logger_and_another_spelling_of_the_unit():
    card = (*CARD[:4], "768Mib", "98304Mib", "0")
    plain = read(samples.hl_table([card] * 2))
    logged = read(samples.hl_table([card] * 2, prefix="[2026-11-27 10:11:12.345] [hlsmi] [info] "))
    assert logged["devices"] == plain["devices"] and plain["devices"][0]["memory_mib"] == 98304
    assert logged["driver"] == plain["driver"]


def test_the_query_alone_tells_the_cards():
    section = read({"stdout": "garbage"}, samples.hl_csv(2))
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "HL-225 x2")
    assert section["driver"]["version"] == "1.20.1-97ab3c1"


def test_a_field_that_an_old_version_does_not_know_costs_only_what_the_query_tells():
    section = read(samples.hl_table([CARD] * 2), {"stdout": "unsupported field nic_driver_version\n", "rc": 1})
    assert section["detection"]["state"] == "ok"
    assert {device["identity"]["uuid"]["quality"] for device in section["devices"]} == {"unread"}


def test_table_and_query_that_disagree():
    section = read(samples.hl_table([CARD] * 2), samples.hl_csv(1))
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)
    assert "hl-smi lists 2 cards, hl-smi -Q 1" in section["detection"]["reason"]


@pytest.mark.parametrize("end", [True, False])
def test_a_table_without_its_end_needs_pci_to_confirm_it(end):
    table = samples.hl_table([CARD] * 2, end=end)
    assert read(table)["detection"]["state"] == "ok"
    assert samples.read("gaudi", {"": table})["detection"]["state"] == ("ok" if end else "unavailable")
    assert read(table.replace("0000:32:00.0", "garbage"))["detection"]["state"] == "unavailable"


def test_a_driver_of_another_release_is_told():
    section = read(samples.hl_table([CARD] * 2, driver="1.21.0-97ab3c1"))
    assert section["note"].startswith("the driver is 1.21.0-97ab3c1, hl-smi 1.20.1 for firmware 58.1.2.0")
    assert not read(samples.hl_table([CARD] * 2, driver="1.20.1-aaaaaaa"))["note"].startswith("the driver")
