# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.hygon: JSON and table of hy-smi of every naming, health, and tools that do not answer."""

from __future__ import annotations

import json
import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown
from hygon_samples import ADDRESSES, ALL, HEALTH, card, cards, good, health, host, on_bus, read, table, verdict


def test_a_good_node():
    files = {"/sys/module": {"dir": ["hycu"]}, "/sys/module/hycu/version": "6.3.11-V1.10.1\n", "/opt/dtk/.info/version": "25.04.2-b12\n"}
    files.update({"/dev/kfd": {"device": "char"}, "/dev/mkfd": {"device": "char"}})
    files["/sys/bus/pci/devices/%s/drm" % ADDRESSES[5]] = {"dir": ["card6", "renderD133", "controlD64"]}
    section = read(good(8), files, on_bus(ADDRESSES))
    assert (verdict(section), section["detection"]["detail"]) == (("ok", 8), "K100_AI x8")
    assert "no cross-check" in section["detection"]["host"]["not_applicable"]
    assert "no row asks the driver" in section["note"]
    device = section["devices"][5]
    assert (device["id"], device["memory_mib"], device["memory_used_mib"], device["utilization_percent"]) == ("hygon:5", 65520, 3, 0)
    assert [device["identity"][key]["value"] for key in ("uuid", "serial", "pci")] == ["7100000000000005", "TX1S000005", ADDRESSES[5]]
    assert (device["temperature_c"]["core"], device["temperature_c"]["memory"]) == (52, 49)
    assert (device["power_w"]["draw"], device["power_w"]["limit"], device["health"]) == (118, 400, {"state": "ok", "detail": "healthcheck: Healthy"})
    assert device["numa_node"] == 1  # PCI says 0 for every card
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_max"]) == (4, 4)
    assert device["device_nodes"] == ["/dev/kfd", "/dev/mkfd", "/dev/dri/card6", "/dev/dri/renderD133"]
    assert device["firmware"] == {"smc": "1.2.3", "vbios": "55.30"}
    assert (device["extra"]["mode"], device["extra"]["performance_level"], device["extra"]["memory_available_mib"]) == ("Normal", "auto", 65301)
    assert [section["driver"][key] for key in ("version", "module_version", "runtime_version")] == ["6.3.11-V1.10.1", "6.3.11-V1.10.1", "25.04.2-b12"]
    assert [s["source"] for s in section["sources"]] == ["hy-smi " + ALL, "hy-smi", "hy-smi " + HEALTH, "librocm_smi64"]


def test_both_names_of_the_module():
    for name in ("hycu", "hydcu"):
        section = read(good(), {"/sys/module": {"dir": [name]}, "/sys/module/%s/version" % name: "6.2.30\n"})
        assert (section["driver"]["module_version"], "kernel module %s" % name in section["note"]) == ("6.2.30", True)
    assert is_unknown(read(good())["driver"]["module_version"])


def test_every_naming_of_keys():
    for unit in ("HCU", "DCU"):
        section = read({ALL: cards(2, unit=unit), "": table(2, unit), HEALTH: health(2)})
        assert (verdict(section), section["devices"][0]["utilization_percent"], section["devices"][0]["extra"]["memory_used_percent"]) == (("ok", 2), 0, 0)
    in_bytes = {
        "vram Total Memory (MiB)": None,
        "vram Total Used Memory (MiB)": None,
        "VRAM Total Memory (B)": "68702699520",
        "VRAM Total Used Memory (B)": 3145728,
    }
    device = read(good(**{ALL: cards(2, **in_bytes)}))["devices"][0]
    assert (device["memory_mib"], device["memory_used_mib"]) == (65520, 3)
    device = read(good(**{ALL: cards(2, **{"Temperature (Sensor junction) (C)": None, "Temperature (Sensor core) (C)": "47.0"})}))["devices"][0]
    assert device["temperature_c"]["core"] == 47


def test_lines_around_the_json():
    text = "WARNING: DTK_PATH is not set\n{not json}\n" + cards(2) + "\n\nWARNING: 1 command is not supported\n"
    assert verdict(read(good(**{ALL: text}))) == ("ok", 2)


def test_text_in_place_of_json():
    text = "".join("HCU[%d]\t\t: %s:\t %s\n" % (n, key, value) for n in range(2) for key, value in card(n).items() if key)
    device = read(good(**{ALL: text}))["devices"][1]
    assert (device["name"], device["memory_mib"], device["identity"]["pci"]["value"]) == ("K100_AI", 65520, ADDRESSES[1])


def test_cards_that_json_counts_from_one():
    section = read(good(**{ALL: cards(2, first=1)}), pci=on_bus(ADDRESSES[:2]))
    assert (verdict(section), [d["id"] for d in section["devices"]]) == (("ok", 2), ["hygon:0", "hygon:1"])
    assert (section["devices"][0]["identity"]["pci"]["value"], section["devices"][0]["extra"]["json_card"]) == (ADDRESSES[0], 1)
    assert "numbers the cards from 1" in section["note"]


def test_an_older_tool_that_refuses_a_combination():
    refused = {"rc": 2, "stderr": "usage: hy-smi [-h] [-a]\nhy-smi: error: unrecognized arguments: --showtoponuma\n"}
    commands = good(**{ALL: refused, "-a --json": cards(2, **{"vram Total Memory (MiB)": None}), HEALTH: refused})
    section = read(commands, pci=on_bus(ADDRESSES[:2]))
    assert verdict(section) == ("ok", 2)
    assert is_unknown(section["devices"][0]["memory_mib"])
    assert section["devices"][0]["health"]["state"] == "ok"  # there is no check in this version: the mode is all it says


@pytest.mark.parametrize(
    ("check", "mode", "state"),
    [
        (health(2), "Normal", "ok"),
        (health(2, "Unhealthy"), "Normal", "failed"),
        (health(2, "ECC error"), "Normal", "failed"),
        (health(2), "Abnormal", "degraded"),
        (health(2, "N/A"), "Normal", None),
        (health(2, "N/A"), "Abnormal", "degraded"),
        ({"hang": True}, "Normal", None),
        ({"rc": 1, "stderr": "no permission\n"}, "Normal", None),
        ("nothing\n", "Normal", None),
        ("HCU[0]          : Bus Id : 0000:ff:00.0         : Healthy\n", "Normal", None),
    ],
)
def test_health(check, mode, state):
    told = read({ALL: cards(2), "": table(2, mode=mode), HEALTH: check})["devices"][0]["health"]
    assert told["state"] == state if state else is_unknown(told)


def test_a_card_of_many_that_the_check_leaves_out_is_unknown():
    devices = read(good(2, **{HEALTH: health(1)}))["devices"]
    assert (devices[0]["health"]["state"], is_unknown(devices[1]["health"])) == ("ok", True)


def test_the_table_alone_has_no_names():
    section = read({ALL: {"rc": 1, "stderr": "Traceback (most recent call last):\n  File x\nKeyError: 'gfx'\n"}, "": table(8), HEALTH: health(8)})
    assert (verdict(section), len(section["devices"])) == (("unavailable", "?"), 8)
    assert "KeyError: 'gfx'" in section["detection"]["reason"]
    device = section["devices"][3]
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["utilization_percent"]) == (54, 117, 400, 0)
    assert (device["extra"]["memory_used_percent"], is_unknown(device["memory_used_mib"])) == (2, True)


def test_newer_columns_and_another_performance_level():
    device = read(good(2, **{ALL: cards(2, **{"Performance Level": "manual"}), "": table(2, perf="manual", **{"Dec%": "1.0%", "Enc%": "0.0%"})}))["devices"][1]
    assert (device["extra"]["performance_level"], device["extra"]["mode"]) == ("manual", "Normal")


def test_a_name_that_the_tool_does_not_know():
    assert read(good(**{ALL: cards(2, **{"Card Series": "xxxx"})}), pci=on_bus(ADDRESSES[:2]))["devices"][0]["name"] == "K100_AI"
    section = read(good(**{ALL: cards(2, **{"Card Series": "N/A"})}))
    assert (verdict(section), "not named" in section["detection"]["reason"]) == (("unavailable", 2), True)


def test_unknown_values_are_never_numbers():
    empty = dict.fromkeys((key for key in card(0) if key), "N/A")
    device = read({ALL: json.dumps({"card0": empty}), "": {"stdout": ""}})["devices"][0]
    for value in (*device["temperature_c"].values(), *device["power_w"].values(), device["memory_mib"], device["utilization_percent"], device["health"]):
        assert not is_known(value)
    text = json.dumps({"card0": card(0, **{"vram Total Memory (MiB)": float("nan"), "(Topology) Numa Node": "-1", "HCU use (%)": "700"})})
    device = read({ALL: text})["devices"][0]
    assert (is_unknown(device["memory_mib"]), is_unknown(device["numa_node"]), is_unknown(device["utilization_percent"])) == (True, True, True)


def test_instances_of_mig():
    section = read(good(), {"/etc/dmi_mig_config/ci": {"dir": ["dev1gi0ci0.conf", "dev1gi1ci0.conf"]}})
    assert section["devices"][1]["partition"]["enabled"] is True
    assert is_unknown(section["devices"][0]["partition"])


def test_fewer_than_pci():
    section = read(good(), pci=on_bus(ADDRESSES[:3]))
    assert (verdict(section), ADDRESSES[2] in section["detection"]["reason"]) == (("unavailable", 2), True)


def test_json_and_table_that_differ():
    for commands in (good(**{ALL: cards(1)}), good(**{"": table(1)})):
        section = read(commands)
        assert (verdict(section), len(section["devices"])) == (("unavailable", "?"), 2)


def test_the_tool_may_be_elsewhere():
    entries = {ALL: cards(2), "": table(2), HEALTH: health(2)}
    section = hygon.collect(host(entries, program="rocm-smi"), on_bus(ADDRESSES[:2]))
    assert section["detection"]["state"] == "unavailable"  # a recording that does not hold hy-smi, which is not the same as absent
    section = hygon.collect(host(entries, program="rocm-smi", absent=("hy-smi",)), on_bus(ADDRESSES[:2]))
    assert (verdict(section), section["sources"][-2]["source"]) == (("ok", 2), "/opt/dtk/bin/rocm-smi --healthcheck")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"missing": True}, "no such program"),
        ({"hang": True}, "timeout"),
        ({"denied": True}, "denied"),
        ({"stdout": ""}, "printed nothing"),
        ({"stdout": "{\n"}, "no card"),
        ({"stdout": "[" * 60000}, "no card"),
        ({"stdout": '{"a":' * 30000}, "no card"),
        ({"rc": 127, "stderr": "bash: hy-smi: command not found\n"}, "command not found"),
        (
            {"rc": 1, "stderr": "Traceback (most recent call last):\nAttributeError: librocm_smi64.so.2: undefined symbol: rsmi_dev_foo_get\n"},
            "rsmi_dev_foo_get",
        ),
        ({"rc": 1, "stderr": "OSError: libhydmi.so.1: cannot open shared object file: No such file\n"}, "libhydmi.so.1"),
        ({"stdout": "ERROR: driver not initialized (hycu not found in modules)\n", "rc": 1}, "hycu not found"),
    ],
)
def test_a_tool_that_does_not_answer(answer, words):
    section = hygon.collect(host({ALL: answer, "": answer, HEALTH: answer}, absent=("rocm-smi",)), on_bus(ADDRESSES[:2]))
    assert verdict(section) == ("unavailable", "?")
    assert words in section["detection"]["reason"]
    assert "PCI shows 2" in section["detection"]["reason"]


def test_nothing_there():
    def bare(files=None):
        return hygon.collect(host({}, files, absent=("hy-smi", "rocm-smi")))

    assert verdict(bare()) == ("not-declared", 0)
    assert bare({"/sys/module": {"dir": ["hycu"]}, "/sys/module/hycu/version": "6.3.8\n"})["detection"]["state"] == "unavailable"
    assert bare({"/sys/bus/pci/devices": {"error": "EACCES"}})["detection"]["state"] == "unavailable"
    assert verdict(read({ALL: "No HCU devices available\n", "": "No HCU devices available\n"})) == ("not-declared", 0)


def test_garbled_output_never_raises_and_never_shrinks():
    chance = random.Random(20261129)
    texts = (cards(3), table(3), health(3))
    pci = on_bus(ADDRESSES[:3])
    for _turn in range(150):
        garbled = []
        for text in texts:
            start, length = chance.randrange(len(text)), chance.randrange(200)
            filler = chance.choice(["", "\0", "{", "}", '"card1":', "N/A", "é" * 7, "\n\n", "HCU[1] : x", ": : :", "9" * 400])
            garbled.append(text[:start] + filler + text[start + length :])
        section = read({ALL: garbled[0], "": garbled[1], HEALTH: garbled[2]}, pci=pci)
        assert section["detection"]["state"] == "unavailable" or len(section["devices"]) >= 3


def test_a_card_that_tells_nothing_is_unknown_and_not_without():
    told = json.loads(cards(2))
    numbers = ("(C)", "(W)", "(%)", "(MiB)")
    told["card1"] = {key: "N/A" if key.endswith(numbers) else value for key, value in told["card1"].items()}
    rows = table(2).replace("1     52.0C     117.0W     auto     400.0W     2%     0.0%", "1     " + "     ".join(["N/A"] * 6))
    device = read({ALL: json.dumps(told), "": rows, HEALTH: health(2)}, pci=on_bus(ADDRESSES[:2]))["devices"][1]
    values = [device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["memory_mib"], device["utilization_percent"]]
    assert all(map(is_unknown, values))
