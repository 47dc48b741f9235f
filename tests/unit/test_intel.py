# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel GPUs: one dump for all cards, tiles that are no devices, empty cells that are no zeros, words of health, integrated graphics, xpu-smi 2."""

from __future__ import annotations

import json

import further_samples as samples
import pytest
import xpu_samples as xpu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import xpu_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

PLACES = [samples.address(0), samples.address(1)]


def read(count=2, files=None, bus=None, **changes):
    """changes: other answers, by the tool's arguments; None for one that is not recorded."""
    commands = dict(xpu.intel_commands(PLACES[:count]), **changes)
    return samples.read(
        "intel",
        {words: said for words, said in commands.items() if said is not None},
        dict(samples.bus("intel", count if bus is None else bus), **(files or {})),
    )


def test_a_good_node():
    section = read(files={"/sys/module": {"dir": ["xe"]}, "/sys/module/xe": {"dir": []}})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "Intel(R) Data Center GPU Max 1550 x2")
    assert [entry["source"].removeprefix("xpu-smi ") for entry in section["sources"]] == [
        "discovery -j", "-v", "discovery -d 0 -j", "discovery -d 1 -j", "health -l -j", "config -d 0 -j", "config -d 1 -j", "ps -j", "topology -m",
        "vgpu --precheck -j", xpu.DUMP,
    ]  # fmt: skip
    assert {entry["status"] for entry in section["sources"]} == {"ok"}
    device = section["devices"][1]
    assert (device["memory_mib"], device["memory_used_mib"], device["processes"]) == (131072, 51.2, 0)
    assert {key: device["temperature_c"][key] for key in ("core", "memory", "limit_core", "limit_memory", "shutdown_core")} == {
        "core": 38.5, "memory": 41.0, "limit_core": 105, "limit_memory": 95, "shutdown_core": 130,
    }  # fmt: skip
    assert [device["power_w"][key] for key in ("draw", "limit", "limit_min", "limit_max")] == [211.4, 600, 1, 600]
    assert device["clocks_mhz"] == {"core": 0, "core_max": 1600, "core_set": 1600, "core_default": 1600}
    assert [device["ecc"][key] for key in ("mode", "corrected_volatile", "uncorrected_volatile")] == ["enabled", 3, 0]
    assert device["firmware"] == {"gfx": "PVC2_1.23374", "gfx_data": "0x137", "amc": "6.8.0.0"}
    assert (device["health"], device["throttle"]) == ({"state": "ok", "detail": ""}, {"active": []})
    assert device["extra"]["xe_links"]["1/0"] == {"up": [0, 1, 2], "down": [3]}
    assert device["extra"]["tile_paths"]["1/0"] == {"0/0": "XL*", "0/1": "XL8", "1/1": "MDF"}
    assert {key: device["extra"][key] for key in ("tiles", "pci_device", "ecc_pending", "resets", "vgpu_sr_iov", "vgpu_iommu")} == {
        "tiles": 2, "pci_device": "0x0bd5", "ecc_pending": True, "resets": 0, "vgpu_sr_iov": True, "vgpu_iommu": True,
    }  # fmt: skip
    driver = section["driver"]
    assert [driver[key] for key in ("version", "tool_version", "library_version")] == ["1.6.32567", "1.2.39.20240906", "1.17.6"]
    assert is_not_applicable(driver["module_version"]), "the kernel's own driver has no version of its own"


def test_what_the_dump_does_not_tell_is_asked_of_each_card():
    gone = xpu.dump(2, gone=("ce", "ue", "resets", "memory_heat"))
    section = read(**{xpu.DUMP: gone, "stats -d 0 -j": xpu.stats(0, ue=2, heat=44.0, cache=1), "stats -d 1 -j": xpu.stats(1)})
    assert [entry["source"] for entry in section["sources"]][-2:] == ["xpu-smi stats -d 0 -j", "xpu-smi stats -d 1 -j"]
    first, second = section["devices"]
    # Of two tiles the errors are added, those of memory and caches too, and the hotter one counts.
    assert (first["ecc"]["uncorrected_volatile"], first["extra"]["cache_errors_uncorrected"], second["ecc"]["uncorrected_volatile"]) == (6, 2, 0)
    assert (first["temperature_c"]["core"], first["temperature_c"]["memory"]) == (44.0, 41.0)


def test_stats_of_the_second_release_are_told_to_end():
    version = xpu.VERSION.replace("1.2.39", "2.0.1")
    section = read(1, **{"-v": version, xpu.DUMP: "", "stats -d 0 --samples 1 -j": xpu.stats(0)})
    assert section["sources"][-1]["source"] == "xpu-smi stats -d 0 --samples 1 -j"
    assert section["devices"][0]["ecc"]["uncorrected_volatile"] == 0


@pytest.mark.parametrize("text", ["", "N/A", "-1", "garbage", "1e9", "9" * 20])
def test_what_is_no_value_is_unknown_and_never_zero(text):
    told = dict.fromkeys(("power", "clock", "heat", "memory_heat", "used", "ce", "ue", "resets", "use"), text)
    device = read(1, **{xpu.DUMP: xpu.dump(1, **told), "config -d 0 -j": "{}", "health -l -j": "{}"})["devices"][0]
    for value in (
        *(device["temperature_c"][key] for key in ("core", "memory", "limit_core")), device["power_w"]["draw"], device["power_w"]["limit"],
        device["memory_used_mib"], device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"], device["health"], device["throttle"],
    ):  # fmt: skip
        assert is_unknown(value), value
    assert "resets" not in device["extra"]


@pytest.mark.parametrize(
    ("words", "state", "detail"),
    [
        ({}, "ok", ""),
        ({"memory": "Critical"}, "failed", "memory: Find an unhealthy part."),
        (
            {"core_temperature": "Warning", "xe_link_port": "Warning"},
            "degraded",
            "core temperature: Find an unhealthy part.; xe link port: Find an unhealthy part.",
        ),
        ({"memory": "Warning", "power": "Critical"}, "failed", "power: Find an unhealthy part."),
        ({"memory_temperature": "Unknown", "xe_link_port": "Unknown"}, "ok", ""),  # not on every card
        ({"memory": "Unknown"}, None, None),
        ({"core_temperature": "Unknown"}, None, None),
        ({"power": "fine"}, None, None),
    ],
)
def test_words_of_health(words, state, detail):
    for told in (xpu.health(1, **words), xpu.health_table(dict(xpu.HEALTHY, **words)).replace("All of them are looked at and", "Find an unhealthy part.")):
        told = told.replace("|                            |   found healthy.                                                   |\n", "")
        health = read(1, **{"health -l -j": told})["devices"][0]["health"]
        assert is_unknown(health) if state is None else health == {"state": state, "detail": detail}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"gfx_firmware_status": "GPU in bad state"}, "failed"),
        ({"device_state": "survivability"}, "failed"),
        ({"device_state": "normal"}, "ok"),
        ({"gfx_firmware_status": "unknown"}, "ok"),
    ],
)
def test_the_state_of_device_and_firmware(changes, state):
    assert read(1, **{"discovery -d 0 -j": xpu.details(0, PLACES[0], **changes)})["devices"][0]["health"]["state"] == state


def test_tables_tell_what_the_json_tells():
    told, _why = xpu_smi.health(xpu.health_table(xpu.HEALTHY)), xpu_smi.health(xpu.health(1))
    assert told["0"]["core_temperature"] == {
        "status": "Ok", "description": "All of them are looked at and found healthy.", "throttle_threshold": "105  Celsius Degree",
        "shutdown_threshold": "130 Celsius Degree",
    }  # fmt: skip
    assert set(told["0"]) == set(xpu_smi.health(xpu.health(1))["0"])
    device = read(1, **{"health -l -j": xpu.health_table(xpu.HEALTHY), "config -d 0 -j": None})["devices"][0]
    assert (device["temperature_c"]["limit_core"], device["temperature_c"]["limit_memory"], device["power_w"]["limit"]) == (105, 95, 600)


def test_what_uses_a_card():
    section = read(**{"ps -j": xpu.processes((1, "python3 --token=x"), (1, "/opt/ze_gemm"))})
    assert [(d["processes"], d["extra"].get("process_names")) for d in section["devices"]] == [(0, None), (2, ["python3", "ze_gemm"])]
    table = (
        "PID       Command                       DeviceID       SHR            MEM\n4242      python3 -c x                  0              0              9\n"
    )
    section = read(**{"ps -j": table})
    assert [(d["processes"], d["extra"].get("process_names")) for d in section["devices"]] == [(1, ["python3"]), (0, None)]
    assert is_unknown(read(**{"ps -j": "?"})["devices"][0]["processes"])


def test_graphics_of_a_processor_are_no_card():
    places = ["0000:00:02.0", PLACES[0]]
    section = read(1, **{"discovery -j": xpu.listing(places), "discovery -d 1 -j": xpu.details(1, PLACES[0]), "config -d 1 -j": xpu.config(1)})
    assert [(d["id"], d["identity"]["pci"]["value"]) for d in section["devices"]] == [("intel:1", PLACES[0])]
    assert not [entry for entry in section["sources"] if "-d 0" in entry["source"]]


def test_a_virtual_function_is_counted_only_where_it_is_the_card():
    listed = json.loads(xpu.listing([PLACES[0], "0000:30:00.1"]))
    listed["device_list"][1]["device_function_type"] = "virtual"
    section = read(1, **{"discovery -j": json.dumps(listed)})
    assert [(d["kind"], d["identity"]["pci"]["value"]) for d in section["devices"]] == [("package", PLACES[0]), ("virtual_function", "0000:30:00.1")]
    assert section["detection"]["accelerators"] == 1
    listed = json.loads(xpu.listing(PLACES[:1]).replace('"physical"', '"virtual"'))  # in a guest PCI shows it as a card
    assert read(1, **{"discovery -j": json.dumps(listed)})["devices"][0]["kind"] == "package"


@pytest.mark.parametrize("number", ["--help", "0; id", "", None, -1, 12345, "\u0663", {}])
def test_a_number_that_is_none_is_not_asked_for(number):
    listed = json.loads(xpu.listing(PLACES))
    listed["device_list"][1]["device_id"] = number
    section = read(**{"discovery -j": json.dumps(listed)})
    assert (section["detection"]["state"], [d["id"] for d in section["devices"]]) == ("unavailable", ["intel:0"])
    assert {entry["source"].split("-d ")[1].split()[0] for entry in section["sources"] if " -d " in entry["source"]} == {"0", "-1"}


def test_an_error_is_told_in_the_words_of_the_tool():
    said = json.dumps({"error": "Level Zero Initialization Error", "errno": 48})
    section = samples.read("intel", {"discovery -j": {"stdout": said, "rc": 48}}, samples.bus("intel", 2))
    assert section["detection"]["reason"].startswith("xpu-smi discovery -j: ") and section["detection"]["state"] == "unavailable"
    section = samples.read("intel", {"discovery -j": said}, samples.bus("intel", 2))
    assert section["detection"]["reason"].startswith("xpu-smi discovery -j: Level Zero Initialization Error")


def test_the_tool_of_kunlunxin_is_no_tool_of_intel():
    table = samples.xpu_table([("P800 OAM", "44C", "88W", "310MiB", "98304MiB")] * 2)
    section = samples.read("intel", dict.fromkeys(("discovery -j", "discovery"), table), samples.bus("intel", 2))
    assert (section["detection"]["state"], section["devices"]) == ("unavailable", [])


@pytest.mark.parametrize("end", [True, False])
def test_a_table_that_ends_early_has_an_unknown_number(end):
    section = samples.read("intel", {"discovery": xpu.listing_table(PLACES, end=end)}, samples.bus("intel", 2))
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == (("ok", False) if end else ("unavailable", True))


def test_a_virtual_gpu_that_the_machine_cannot_have():
    extra = read(1, **{"vgpu --precheck -j": xpu.precheck("Fail")})["devices"][0]["extra"]
    assert (extra["vgpu_vmx_flag"], extra["vgpu_sr_iov"], extra["vgpu_sr_iov_message"]) == (True, False, "SR-IOV is off in the firmware.")


def test_a_tool_that_hangs_later_keeps_what_it_told_before():
    section = read(**{"health -l -j": {"hang": True}})
    assert section["detection"]["state"] == "ok" and is_unknown(section["devices"][0]["health"])
    assert section["sources"][-1]["source"] == "xpu-smi health -l -j", "a tool that hung is not asked again"
    assert section["devices"][0]["memory_mib"] == 131072 and is_unknown(section["devices"][0]["ecc"]["uncorrected_volatile"])


@pytest.mark.parametrize(
    "text", ["[" * 3000, '{"device_list": 7}', '{"device_list": [[], 7, null]}', '{"device_list": [{"device_id": {}}]}', '{"a": ' + "[" * 3000]
)
def test_json_of_another_shape(text):
    commands = dict.fromkeys(samples.everywhere("intel", ""), text)
    assert samples.read("intel", commands, samples.bus("intel", 2))["detection"]["state"] == "unavailable"
    for parse in (xpu_smi.config, xpu_smi.dump, xpu_smi.stats, xpu_smi.health, xpu_smi.precheck, xpu_smi.topology, xpu_smi.processes, xpu_smi.versions):
        parse(text)
