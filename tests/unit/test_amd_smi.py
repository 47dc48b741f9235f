# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD through amd-smi."""

from __future__ import annotations

import json
import random

import amd_samples as amd
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown, unknown

PCI = amd.on_pci("0000:%s:00.0" % b for b in amd.BUSES)


def collect(tables, pci=PCI, **more):
    return reader.collect(amd.replay(tables, **more), pci)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_healthy_node(wrapped):
    section = collect(amd.node(wrapped=wrapped), files={"/sys/module/amdgpu/version": "6.12.12\n", "/opt/rocm/.info/version": "6.4.0-47\n"})
    assert section["detection"]["state"] == "ok"
    assert section["detection"]["accelerators"] == 8
    assert section["detection"]["detail"] == "AMD Instinct MI300X x8"
    assert section["detection"]["host"]["command"] == "rocm-smi --showuniqueid"
    assert section["driver"] == {
        "version": "6.12.12",
        "module_version": "6.12.12",
        "library_version": "25.3.0",
        "tool_version": "25.3.0+ede62f2",
        "runtime": "rocm",
        "runtime_version": "6.4.0-47",
    }
    assert [s["source"] for s in section["sources"]] == ["amd-smi %s --json" % w for w in amd.WORDS]
    device = section["devices"][3]
    assert (device["id"], device["index"], device["kind"], device["parent"]) == ("amd:3", 3, "package", None)
    assert device["identity"]["uuid"] == {"value": "GPU-0a00000000000004", "quality": "good"}
    assert device["identity"]["serial"] == {"value": "692300000003", "quality": "good"}
    assert device["identity"]["pci"] == {"value": "0000:65:00.0", "quality": "good"}
    assert device["identity"]["slot"] == {"value": "OAM 3", "quality": "good"}
    assert (device["numa_node"], device["memory_mib"], device["memory_used_mib"], device["utilization_percent"]) == (0, 196592, 283, 0)
    assert device["temperature_c"]["core"] == 41
    assert device["temperature_c"]["memory"] == 36
    assert (device["temperature_c"]["limit_core"], device["temperature_c"]["limit_memory"]) == (100, 105)
    assert (device["power_w"]["draw"], device["power_w"]["limit"]) == (143, 750)
    assert device["ecc"]["mode"] == "enabled"
    assert (device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"]) == (0, 0)
    assert device["retired_pages"]["uncorrected"] == 0
    assert device["retired_pages"]["pending"] is False
    assert device["pcie"] == {
        "generation_current": 5,
        "generation_max": 5,
        "generation_device_max": 5,
        "width_current": 16,
        "width_max": 16,
        "replay_count": 0,
    }
    assert device["links"] == {"kind": "xgmi", "total": 7, "up": 7, "down": [], "speed_gb_s": 64, "errors": {"xgmi_errors": 0}}
    assert device["clocks_mhz"] == {"core": 132, "memory": 900, "core_max": 2100, "memory_max": 1300, "locked": False}
    assert (device["power_w"]["limit_min"], device["power_w"]["limit_max"], device["temperature_c"]["shutdown_core"]) == (0, 750, 110)
    assert device["throttle"]["share_percent"] == {"ppt": 0.1538} and device["extra"]["ecc_blocks"] == {}
    assert device["extra"]["bad_page_threshold"] == 256
    assert device["partition"] == {"mode": "compute", "enabled": False, "profile": "SPX", "memory_profile": "NPS1"}
    assert device["throttle"]["active"] == []
    assert device["processes"] == 0
    assert device["firmware"] == {"vbios": "022.040.003.041", "cp_mec1": "184", "pm": "85.117.0", "vce": {"not_applicable": "not loaded"}}
    assert is_not_applicable(device["row_remap"])
    assert is_not_applicable(device["health"])


def test_faults_are_found():
    tables = amd.node()
    tables["metric"][0] = amd.metric(
        0,
        ecc={"total_correctable_count": 5, "total_uncorrectable_count": 2, "total_deferred_count": 1},
        ecc_blocks={"UMC": {"correctable_count": 5, "uncorrectable_count": 2, "deferred_count": 0}, "GFX": "N/A"},
    )
    tables["bad-pages"][1] = amd.bad_pages(
        1, retired=[{"page_address": 1, "page_size": 4096, "status": "RESERVED"}] * 3, pending={"page_address": 9, "page_size": 4096, "status": "PENDING"}
    )
    tables["static"][2]["ras"]["bad_page_threshold_exceeded"] = "True"
    tables["metric"][3]["throttle"]["ppt_violation_status"] = "ACTIVE"
    tables["metric"][4]["pcie"].update(width=8, speed=amd.unit(16, "GT/s"))
    tables["xgmi"]["link_port_status"][5]["link_status"][2] = "D"
    tables["metric"][5]["xgmi_err"] = "MULTIPLE_ERRORS"
    tables["metric"][0]["ecc_blocks"]["UMC"] = {"correctable_count": 5, "uncorrectable_count": 2, "deferred_count": 1}
    tables["metric"][6]["clock"]["gfx_0"]["clk_locked"] = "ENABLED"
    tables["process"][6] = amd.process(6, "rvs", "gpuagent")
    tables["static"][7]["partition"].update(accelerator_partition="N/A", memory_partition="N/A")
    devices = collect(tables)["devices"]
    assert (devices[0]["ecc"]["corrected_volatile"], devices[0]["ecc"]["uncorrected_volatile"]) == (5, 2)
    assert devices[0]["extra"]["ecc_deferred"] == 1
    tables["metric"][0]["ecc"]["total_deferred_count"], tables["metric"][1]["ecc_blocks"]["UMC"]["deferred_count"] = "N/A", 6
    again = collect(tables)["devices"]
    assert (again[0]["extra"]["ecc_deferred"], again[1]["extra"]["ecc_deferred"]) == (1, 6)  # of the blocks where the sum lacks it
    assert devices[1]["retired_pages"]["uncorrected"] == 3
    assert devices[1]["retired_pages"]["pending"] is True
    assert devices[2]["health"] == {"state": "failed", "detail": "bad page threshold exceeded"}
    assert devices[3]["throttle"]["active"] == ["ppt"]
    assert (devices[4]["pcie"]["width_current"], devices[4]["pcie"]["generation_current"]) == (8, 4)
    assert devices[5]["links"] == {"kind": "xgmi", "total": 7, "up": 6, "down": [2], "speed_gb_s": 64, "errors": {"xgmi_errors": 2}}
    assert devices[0]["extra"]["ecc_blocks"] == {"UMC": {"correctable": 5, "uncorrectable": 2, "deferred": 1}}
    assert devices[6]["clocks_mhz"]["locked"] is True
    assert devices[6]["processes"] == 2 and devices[6]["extra"]["process_names"] == ["gpuagent", "rvs"]
    assert is_unknown(devices[7]["partition"]["profile"])
    assert is_unknown(devices[7]["partition"]["enabled"])


@pytest.mark.parametrize("absent", ["N/A", {"value": "N/A", "unit": "C"}, "", "-", None, [], {}, "<redacted>", True, 65535, -1, 4294967295, "ERR!", 1e400])
def test_what_is_not_told_is_unknown_and_never_zero(absent):
    tables = amd.node([0])
    tables["metric"][0].update(
        usage={"gfx_activity": absent},
        power={"socket_power": absent, "throttle_status": "N/A"},
        temperature={"edge": absent, "hotspot": absent, "mem": absent},
        pcie={"width": absent, "speed": absent, "replay_count": "N/A"},
        ecc={"total_correctable_count": "N/A", "total_uncorrectable_count": "N/A"},
        ecc_blocks="N/A",
        mem_usage="N/A",
        throttle="N/A",
    )
    tables["static"][0]["vram"]["size"] = absent
    tables["bad-pages"] = [amd.bad_pages(0, retired="N/A", pending="N/A")]
    tables["process"] = [{"gpu": 0, "process_list": [{"process_info": "N/A"}]}]
    device = collect(tables, pci=amd.on_pci(["0000:05:00.0"], pcie={}, upstream={}))["devices"][0]
    for path in (
        "utilization_percent", "memory_used_mib", "processes", "temperature_c.core", "temperature_c.memory", "power_w.draw", "pcie.width_current",
        "pcie.generation_current",
        "pcie.replay_count", "ecc.corrected_volatile", "ecc.uncorrected_volatile", "retired_pages.uncorrected", "retired_pages.pending", "throttle.active",
    ):  # fmt: skip
        value = amd_smi.dig(device, path)
        if path != "utilization_percent" or absent is not True:
            assert is_unknown(value), (path, value)
    if absent not in (65535, 4294967295):
        assert is_unknown(device["memory_mib"])


def test_a_false_count_of_a_sleeping_gpu_is_no_count():
    tables = amd.node([0])
    tables["metric"][0]["ecc"]["total_uncorrectable_count"] = 1048560 * 3
    assert "awake" in collect(tables)["devices"][0]["ecc"]["uncorrected_volatile"]["unknown"]


def test_counts_of_blocks_stand_in_for_a_missing_total():
    tables = amd.node([0])
    tables["metric"][0].update(
        ecc="N/A", ecc_blocks={"UMC": {"correctable_count": 0, "uncorrectable_count": 1}, "GFX": {"correctable_count": "N/A", "uncorrectable_count": "N/A"}}
    )
    ecc = collect(tables)["devices"][0]["ecc"]
    assert ecc["uncorrected_volatile"] == 1
    assert is_unknown(ecc["corrected_volatile"])


@pytest.mark.parametrize(
    "printed",
    [
        "WARNING: User is fine\n%s",
        "%s\nLegend:\n  N/A = Not supported\n",
        "[WARN] slow [eeprom]\n/opt/x.py:12: FutureWarning: bla\n%s",
        '[{"cpu": 0, "smu": {"FW_VERSION": "85.90.0"}}]\n%s',
    ],
)
def test_chatter_around_the_json(printed):
    tables = amd.node([0])
    tables["static"] = printed % json.dumps(tables["static"], indent=4)
    section = collect(tables, pci=None, files=amd.NO_PCI | {"/sys/bus/pci/devices": {"error": "EACCES"}})
    assert section["detection"]["state"] == "ok"
    assert section["detection"]["accelerators"] == 1


def test_chatter_inside_the_json():
    tables = amd.node([0])
    lines = json.dumps(tables["metric"], indent=4).splitlines()
    lines.insert(9, "WARNING: reading was slow")
    tables["metric"] = "\n".join(lines)
    assert collect(tables)["devices"][0]["temperature_c"]["core"] == 41


def test_json_that_is_none_is_said_cleanly():
    text = json.dumps(amd.node([0])["static"], indent=4).replace('"unit": "MB"', '"unit": "MB",')
    for broken in (text, "[" * 3000, '[{"gpu": 0,', "[\n    {\n      ...\n    }\n]", "| AMD-SMI 26.2.1 | | BDF GPU-Name |"):
        tables = amd.node([0])
        tables["static"] = tables["list"] = broken
        section = collect(tables)
        assert section["detection"]["state"] == "unavailable"
        assert "not valid JSON" in section["detection"]["reason"] or "no JSON" in section["detection"]["reason"]
        # what the driver's files tell is kept
        assert [d["identity"]["pci"]["value"] for d in section["devices"]] == ["0000:%s:00.0" % b for b in amd.BUSES]


TROUBLE = {
    "error -3": ({"rc": 195, "stdout": "Can not find a device: GPU '77' Error code: -3\n"}, "Error code: -3"),
    "json error": ({"rc": 195, "stdout": json.dumps({"error": "Can not find a device: GPU '77'", "code": -3})}, "code -3"),
    "traceback": (
        {"rc": 1, "stderr": "Traceback (most recent call last):\n  File \"x.py\", line 4\nAttributeError: 'Namespace' object has no attribute 'x'\n"},
        "AttributeError",
    ),
    "no kfd": ({"rc": 1, "stderr": "Unable to open /dev/kfd read-write: Permission denied\n"}, "/dev/kfd"),
    "driver": (
        {"rc": 1, "stdout": "ERROR:root:Unable to detect any GPU devices, check amdgpu version and module status (sudo modprobe amdgpu)\n"},
        "modprobe amdgpu",
    ),
    "signal": ({"signal": "SIGSEGV"}, "SIGSEGV"),
    "denied": ({"denied": True}, "denied"),
}


@pytest.mark.parametrize("name", sorted(TROUBLE))
def test_a_tool_in_trouble_is_an_answer(name):
    said, words = TROUBLE[name]
    section = collect(dict.fromkeys(amd.WORDS, said))
    assert section["detection"]["state"] == "unavailable"
    assert words in section["detection"]["reason"]
    assert "PCI shows 8" in section["detection"]["reason"] or section["devices"]


def test_a_hang_is_not_repeated():
    tables = {key: {"hang": True} for key in amd.WORDS}
    section = collect(tables)
    assert section["detection"]["state"] == "unavailable"
    assert "timeout" in section["detection"]["reason"]
    assert [s["source"] for s in section["sources"] if s["source"].endswith("--json")] == ["amd-smi version --json"]
    tables = amd.node()
    tables["list"] = tables["static"] = {"hang": True}
    section = collect(tables)
    assert section["detection"]["state"] == "unavailable"
    assert "amd-smi list --json: timeout" in section["detection"]["reason"]


def test_a_late_hang_leaves_facts_unknown():
    tables = amd.node()
    tables["metric"] = {"hang": True}
    section = collect(tables)
    assert section["detection"]["state"] == "ok"
    assert section["note"]
    assert "timeout" in section["devices"][0]["ecc"]["uncorrected_volatile"]["unknown"]
    assert is_unknown(section["devices"][0]["processes"])


def test_missing_groups_are_no_access():
    tables = amd.node()
    tables["static"] = "WARNING: User is missing the following required groups: render, video. Please add user to these groups.\n" + json.dumps(
        tables["static"]
    )
    detection = collect(tables)["detection"]
    assert detection["state"] == "unavailable"
    assert "render" in detection["reason"]


def test_one_card_less_than_on_pci_asks_the_other_tool_too():
    ids = "".join("GPU[%d]\t\t: Unique ID: 0x%x\n" % (i, i + 77) for i in range(8))
    section = collect(amd.node(range(7)), more=[("rocm-smi --showuniqueid", ids)])
    assert section["detection"]["state"] == "unavailable"
    assert "0000:e5:00.0" in section["detection"]["reason"]
    assert section["detection"]["host"]["accelerators"] == 8
    assert section["sources"][-1]["source"] == "rocm-smi --showuniqueid"


def test_fewer_than_the_other_tool_where_pci_does_not_tell():
    ids = "".join("GPU[%d]\t\t: Unique ID: 0x%x\n" % (i, i + 77) for i in range(8))
    detection = collect(amd.node(range(1)), pci=unknown("denied"), more=[("rocm-smi --showuniqueid", ids)])["detection"]
    assert (detection["state"], detection["accelerators"], detection["host"]["accelerators"]) == ("unavailable", 1, 8)
    assert detection["reason"] == "rocm-smi --showuniqueid reports 8, 1 were read"


def test_static_without_one_that_list_has():
    tables = amd.node()
    tables["static"] = tables["static"][:7]
    detection = collect(tables)["detection"]
    assert detection["state"] == "unavailable"
    assert "amd-smi static: no GPU 7" in detection["reason"]


def test_no_amd_on_pci_asks_nothing():
    section = reader.collect(amd.replay({}, files=amd.NO_PCI))
    assert section["detection"]["state"] == "not-declared"
    assert section["detection"]["accelerators"] == 0
    assert section["sources"] == []
    assert section["detection"]["host"]["command"] == "rocm-smi --showuniqueid"


def test_a_tool_that_lists_none_against_the_driver():
    section = collect(dict(dict.fromkeys(amd.WORDS, "[]"), version=amd.VERSION))
    assert section["detection"]["state"] == "unavailable"
    assert "list no GPU" in section["detection"]["reason"]


def test_no_tool_and_no_driver():
    section = collect({}, pci=amd.on_pci(["0000:05:00.0"], driver=None))
    assert section["detection"]["state"] == "unavailable"
    assert "driver amdgpu" in section["detection"]["reason"]


@pytest.mark.parametrize("version", ["Linuxversion6.8.0-79-generic(buildd@host)(gcc-13)#79", "Linuxver", "6.9.0-rc5+", "7.0.0-3-pve"])
def test_an_in_tree_driver_has_no_version(version):
    tables = amd.node([0])
    tables["static"][0]["driver"]["version"] = version
    files = {"/sys/module/amdgpu/version": {"absent": True}, "/sys/module/amdgpu": {"dir": ["initstate", "srcversion"]}}
    driver = collect(tables, files=files)["driver"]
    assert is_not_applicable(driver["version"])
    assert is_not_applicable(driver["module_version"])


def test_the_kernels_release_is_no_driver_version():
    tables = amd.node([0])
    tables["static"][0]["driver"]["version"] = "6.14.0"
    assert is_not_applicable(collect(tables, host={"uname": {"release": "6.14.0"}})["driver"]["version"])
    assert collect(tables, host={"uname": {"release": "6.8.0"}})["driver"]["version"] == "6.14.0"


def test_duplicates_and_placeholders():
    tables = amd.node([0, 1])
    tables["static"][1]["asic"]["asic_serial"] = tables["static"][0]["asic"]["asic_serial"]
    tables["static"][0]["board"]["product_serial"] = "N/A"
    devices = collect(tables, pci=PCI[:2])["devices"]
    assert [d["identity"]["uuid"]["quality"] for d in devices] == ["duplicate", "duplicate"]
    assert is_unknown(devices[0]["identity"]["serial"]["value"])


def test_names_that_are_ids_are_no_names():
    tables = amd.node([0])
    tables["static"][0]["asic"]["market_name"] = "0x1002"
    detection = collect(tables, pci=PCI[:1])["detection"]
    assert detection["state"] == "unavailable"
    assert "not named" in detection["reason"]


def test_links_of_earlier_tools_and_of_cards_without_xgmi():
    tables = amd.node([0, 1])
    tables["xgmi"] = tables["xgmi"]["xgmi_metric"]
    links = collect(tables, pci=PCI[:2])["devices"][0]["links"]
    assert links["total"] == 1
    assert is_unknown(links["up"])
    for row in tables["xgmi"]:
        row["link_metrics"]["link_type"] = "PCIE"
    assert is_not_applicable(collect(tables, pci=PCI[:2])["devices"][0]["links"])


def test_a_virtual_function_says_so():
    tables = amd.node([0])
    tables["static"][0]["asic"]["device_id"] = "0x74b5"
    section = collect(tables, pci=amd.on_pci(["0000:05:00.0"], device="74b5"))
    assert section["devices"][0]["extra"]["virtual_function"] is True
    assert section["detection"]["accelerators"] == 1


def test_four_domains():
    tables = amd.node(range(4))
    for gpu in range(4):
        tables["static"][gpu]["bus"]["bdf"] = tables["list"][gpu]["bdf"] = "000%d:01:00.0" % gpu
    devices = collect(tables, pci=amd.on_pci("000%d:01:00.0" % g for g in range(4)))["devices"]
    assert [d["identity"]["pci"]["value"] for d in devices] == ["0000:01:00.0", "0001:01:00.0", "0002:01:00.0", "0003:01:00.0"]


JUNK = (
    None,
    True,
    -1,
    1e308,
    10**400,
    "N/A",
    "",
    "\x00\ud800",
    "9" * 5000,
    [],
    [[]],
    {},
    {"value": {}},
    {"unknown": []},
    {"not_applicable": 3},
    ["N/A", {"a": 1}],
    "0x" + "f" * 40,
)


def spoil(value, chance, rng):
    if rng.random() < chance:
        return rng.choice(JUNK)
    if isinstance(value, dict):
        return {k: spoil(v, chance, rng) for k, v in value.items()}
    if isinstance(value, list):
        return [spoil(v, chance, rng) for v in value]
    return value


@pytest.mark.parametrize("seed", range(60))
def test_no_garbage_raises(seed):
    rng = random.Random(seed)
    tables = {word: json.dumps(spoil(said, 0.06, rng)) for word, said in amd.node(range(3), wrapped=seed % 2 == 0).items()}
    if seed % 3 == 0:
        word = rng.choice(amd.WORDS)
        tables[word] = tables[word][: rng.randrange(len(tables[word]))]
    section = collect(tables, pci=None if seed % 5 else PCI[:3])
    assert section["detection"]["state"] in ("ok", "unavailable", "not-declared")
    assert bool(section["detection"]["reason"]) == (section["detection"]["state"] != "ok")
    json.dumps(section, allow_nan=False)


def test_a_port_of_an_unknown_word_is_no_link_less():
    tables = amd.node()
    tables["xgmi"]["link_port_status"][5]["link_status"][2] = "N/A"
    links = collect(tables)["devices"][5]["links"]
    assert is_unknown(links["total"]) and is_unknown(links["up"]) and links["down"] == []


def test_what_stands_behind_the_end_of_a_document_is_no_json():
    whole = json.dumps({"card0": {"GPU use (%)": "0"}, "card1": {"GPU use (%)": "0"}}, indent=4)
    assert amd_smi.documents(whole)[1] == ""
    values, problem = amd_smi.documents(whole.replace('    "card1": {\n', ""))
    assert values == [] and "more after its end" in problem


def test_no_access_is_told_where_the_tools_list_none():
    said = {"stdout": "[]", "stderr": "User is missing the following required groups: render. Please add user to these groups.\n"}
    none = {"stdout": "WARNING: No AMD GPUs specified\n"}
    for pci in ([], amd.on_pci(["0000:05:00.0"])):
        detection = reader.collect(amd.replay(dict.fromkeys(amd.WORDS, said), rocm=none), pci)["detection"]
        assert detection["state"] == "unavailable" and "required groups: render" in detection["reason"]
