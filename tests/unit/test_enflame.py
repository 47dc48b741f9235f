# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enflame: efsmi -q and both frames of its table, its health words, and a container in which it sees less."""

from __future__ import annotations

import further_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

GCU = ("Enflame S60", "00:30:00.0", "39C", "97W  300W", "42976MiB", "5B11000")


def read(commands, count=2):
    return samples.read("enflame", commands, samples.bus("enflame", count), ["gcu0", "gcu1"])


def test_a_good_node():
    section = read({"-q": samples.ef_query([{}, {}])})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "S60 x2")
    assert [entry["source"] for entry in section["sources"]] == ["efsmi -q"]
    device = section["devices"][1]
    assert (device["memory_mib"], device["memory_used_mib"], device["extra"]["reserved_mib"]) == (42976, 15, 1129)
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["utilization_percent"]) == (39, 97, 300, 2.0)
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_max"], device["pcie"]["width_current"]) == (4, 5, 16)
    assert (device["identity"]["uuid"]["value"], device["identity"]["serial"]["value"]) == ("QQ7A00000001", "5B11000000001")
    assert (device["health"], device["ecc"]["mode"], device["ecc"]["uncorrected_aggregate"]) == ({"state": "ok", "detail": ""}, "enabled", 0)
    assert device["device_nodes"] == ["/dev/gcu1"]
    assert section["driver"]["version"] == "1.4.5.2"


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({"health": "False"}, "failed", "Health: False"),
        ({"rma": "True"}, "failed", "RMA flag set"),
        ({"cable": "Abnormal"}, "degraded", "power cable: abnormal"),
        ({"health": "-"}, None, ""),
    ],
)
def test_health(changes, state, words):
    health = read({"-q": samples.ef_query([changes, {}])})["devices"][0]["health"]
    assert is_unknown(health) if state is None else (health["state"] == state and words in health["detail"])


@pytest.mark.parametrize("frame", ["|", "*"])
def test_the_table_in_both_frames(frame):
    cards = [GCU, ("T20", "00:32:0.0", "41C", "52W  300W", "32G", "5B11001")]
    section = read({"-q": {"stdout": "unknown option -q\n", "rc": 1}, "": samples.ef_table(cards, frame, "UUID" if frame == "*" else "SN")})
    assert section["detection"]["state"] == "ok", section["detection"]
    first, second = section["devices"]
    assert (first["memory_mib"], second["memory_mib"], second["name"]) == (42976, 32768, "T20")
    assert second["identity"]["pci"]["value"] == "0000:32:00.0"
    assert first["identity"]["uuid" if frame == "*" else "serial"]["value"] == "5B11000"
    assert first["firmware"] == {"gcu": "33.7.1"}
    assert section["note"].startswith("the driver is 1.4.5.2, efsmi 1.4.5.1")


def test_in_a_container_temperature_and_power_are_unknown():
    section = read({"": samples.ef_table([(*GCU[:2], "-", "-", GCU[4], "xxx"), (GCU[0], "00:32:00.0", "-", "-", GCU[4], "xxx")])})
    assert section["detection"]["state"] == "ok"
    device = section["devices"][0]
    for value in (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["identity"]["serial"]["value"]):
        assert is_unknown(value)


def test_a_block_that_ends_early():
    text = samples.ef_query([{}, {}])
    section = read({"-q": text[: text.rindex("Power Info")]})
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)
    assert "ends inside DEV ID 1" in section["detection"]["reason"]


def test_a_table_that_ends_early():
    text = samples.ef_table([GCU, (GCU[0], "00:32:00.0", *GCU[2:])])
    cut = text[: text.rindex("| 39C")]
    assert "ends inside the table" in read({"": cut})["detection"]["reason"]


def test_the_place_where_the_vendor_puts_it():
    document = samples.document("enflame", {}, samples.bus("enflame", 1))
    document["commands"] = [{"argv": ["efsmi", "-q"], "stdout": samples.ef_query([{}])}]
    section = samples.READERS["enflame"].collect(samples.ReplayHost(document))
    assert section["detection"]["state"] == "ok"


RULE = "+" + "+".join("-" * n for n in (29, 19, 27)) + "+"


def newer(*cards, boot="Boot FW VER"):
    """The table of drivers 1.6 and 1.7: one frame between two cards, and behind the last. cards: (name, bus id, ECC, state, memory, serial)."""
    lines = ["", "+2026-11-27, 10:11:12 CST" + "-" * 53 + "+", "| EFSMI: 1.7.3.2           Driver Ver: 1.7.3.1                                |", RULE]
    lines += ["| DEV    NAME                 | %-17s | BUS-ID      ECC           |" % boot]
    lines += ["| TEMP   Lpm   Pwr(Usage/Cap) | Mem      GCU Virt | DUsed       SN            |", "|" + "=" * 77 + "|"]
    for position, (name, place, mode, state, memory, serial) in enumerate(cards):
        lines.append("| %-6d %-20s | 41.1.2            | %s  %-14s|" % (position, name, place, mode))
        lines += ["| %-27s | %-17s | 7%%          %-13s |" % (state, memory, serial), RULE]
    return "\n".join(lines) + "\n"


def test_the_newer_table_has_degrees_and_a_slash_between_its_watts():
    text = newer(
        ("Enflame L300", "00:30:00.0", "Enable", "35\u2103    LP1      68W / 300W", "147456MiB Disable", "5B1200001"),
        ("Enflame S60G", "00:32:00.0", "Disable", "34     LP0      N/A", "23552MiB  SRIOV", "5B1200002"),
    )
    section = read({"-q": {"rc": 1, "stderr": "usage: -q"}, "": text})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "Enflame L300 x1, Enflame S60G x1")
    first, second = section["devices"]
    assert (first["temperature_c"]["core"], first["power_w"]["draw"], first["power_w"]["limit"], first["memory_mib"]) == (35, 68, 300, 147456)
    assert second["temperature_c"]["core"] == 34 and is_unknown(second["power_w"]["draw"]) and is_unknown(second["power_w"]["limit"])
    assert (second["ecc"]["mode"], second["extra"]["virtualization"], second["utilization_percent"]) == ("disabled", "sriov", 7)
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("1.7.3.2", "1.7.3.1")


def test_a_temperature_with_a_blank_moves_no_other_value():
    text = samples.ef_table([("S60", "00:30:00.0", "39 C", "97W  300W", "42976MiB", "5B13")])
    device = read({"-q": {"rc": 1, "stderr": "usage: -q"}, "": text}, count=1)["devices"][0]
    assert (device["temperature_c"]["core"], device["extra"]["dpm_level"]) == (39, "Sleep")
    assert (device["power_w"]["draw"], device["power_w"]["limit"]) == (97, 300)


def test_the_same_table_twice_is_no_count():
    text = samples.ef_table([GCU])
    assert read({"-q": {"rc": 1, "stderr": "usage: -q"}, "": text + text}, count=1)["detection"]["state"] == "unavailable"
