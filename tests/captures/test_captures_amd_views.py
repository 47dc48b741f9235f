# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's tools print for people: read where their JSON tells nothing, or turned into the form that is read; the verdict where one is expected."""

from __future__ import annotations

import csv
import re

import amd_captures
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown
from health_nodes import ask

GONE = {"missing": True}
CRASHED = {"rc": 1, "stderr": "AttributeError: 'Namespace' object has no attribute 'violation'\n"}
NO_JSON = {"rc": 2, "stderr": "usage: rocm-smi\nrocm_smi.py: error: unrecognized arguments: --json\n"}
ALONE = {"amd-smi version --json": CRASHED, "amd-smi list --json": CRASHED, "amd-smi static --json": CRASHED}


@pytest.fixture
def read(captures, tmp_path):
    return lambda commands, files=None, on_bus=None: amd_captures.section(captures / "amd", tmp_path, commands, files, on_bus)


@pytest.fixture
def rows(captures):
    """rows(capture): lines of a table of amd-smi as {column: value}; a unit follows its number."""

    def told(name):
        lines = (captures / "amd" / name).read_text(encoding="utf-8").split("\n\n")[0].splitlines()
        values = [re.findall(r"\S+(?: (?:W|°C|%|MHz|MB|Mb/s)(?= |$))?", line) for line in lines[1:]]
        assert {len(value) for value in values} == {len(lines[0].split())}
        return [dict(zip(lines[0].split(), value)) for value in values]

    return told


def number(text, unit):
    return {"value": text.split()[0], "unit": unit}


def sections(section, count=8):
    return {"accelerators.amd": section, "host": synthetic.host(), "pci": synthetic.pci([synthetic.pci_entry(n, "amd") for n in range(count)])}


def outcome(rule, section, **variables):
    """{device: (outcome, level)}"""
    return {ident: (said, level) for ident, said, level in ask(rule, sections(section), **variables)}


def plain(value):
    return value if is_known(value) else None


# -- amd-smi ---------------------------------------------------------------------------------------------------------------


def test_eight_healthy_cards(read):
    section = read({**ALONE, "amd-smi": "amdsmi-default-mi355x-x8-rocm711.txt"})
    devices = section["devices"]
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "AMD Instinct MI355X x8")
    assert [section["driver"][key] for key in ("version", "runtime_version", "tool_version")] == ["6.16.6", "7.1.1", "26.2.0+021c61fc"]
    assert [d["temperature_c"]["core"] for d in devices] == [50, 48, 51, 49, 51, 50, 51, 49]
    assert [d["power_w"]["draw"] for d in devices] == [240, 250, 246, 242, 248, 245, 246, 240]
    assert [d["identity"]["slot"]["value"] for d in devices] == ["OAM %d" % n for n in (6, 7, 5, 4, 2, 3, 1, 0)]
    assert {(d["power_w"]["limit"], d["memory_used_mib"], d["memory_mib"], d["ecc"]["uncorrected_volatile"]) for d in devices} == {(1400, 283, 294896, 0)}
    assert {(d["partition"]["profile"], d["partition"]["memory_profile"], d["firmware"]["vbios"]) for d in devices} == {("SPX", "NPS1", "00165724")}
    # the agent of a monitor on each card is named, and no rule takes what it holds for work or for what a dead process left
    assert {(d["processes"], *d["extra"]["process_names"]) for d in devices} == {(1, "gpuagent")}
    for rule in ("ecc-uncorrected", "product-memory", "memory-in-use", "firmware-mixed", "device-lost"):
        assert {said for said, _level in outcome(rule, section).values()} == {"passed"}, rule


def test_a_part_of_a_table_is_one_card_of_unknown_versions(read):
    section = read({**ALONE, "amd-smi": "amdsmi-default-mi325x-rocm72.txt"})
    (device,) = section["devices"]
    assert (section["detection"]["state"], device["name"], device["temperature_c"]["core"]) == ("ok", "AMD Instinct MI325X", 49)
    assert (device["power_w"]["draw"], device["power_w"]["limit"], device["memory_used_mib"], device["memory_mib"]) == (144, 1000, 283, 262128)
    assert device["ecc"]["uncorrected_volatile"] == 0 and is_unknown(device["processes"])
    assert all(is_unknown(section["driver"][key]) for key in ("version", "tool_version", "runtime_version")) and is_unknown(device["firmware"]["vbios"])


def test_three_of_four_partitions_of_a_table_that_ends_early(read):
    section = read({**ALONE, "amd-smi": "amdsmi-default-mi300x-dpx-rocm702-excerpt.txt"})
    assert section["detection"]["state"] == "unavailable" and "no end" in section["detection"]["reason"]
    assert [d["id"] for d in section["devices"]] == ["amd:0", "amd:0/xcp:0", "amd:0/xcp:1", "amd:1"]
    package, first, second, other = section["devices"]
    assert [d["identity"]["pci"]["value"] for d in section["devices"]] == ["0000:05:00.0", "0000:05:00.0", "0000:05:00.1", "0000:26:00.0"]
    assert (package["memory_mib"], is_unknown(first["memory_mib"]), second["memory_mib"], other["memory_mib"]) == (196592, True, 98296, 196592)
    assert all(is_not_applicable(second[key]) for key in ("temperature_c", "power_w")) and second["memory_used_mib"] == 492
    assert (package["partition"]["profile"], package["partition"]["memory_profile"], package["power_w"]["draw"]) == ("DPX", "NPS1", 142)
    assert is_not_applicable(section["driver"]["version"])  # the word Linuxver is no number


def test_a_table_without_its_lines_is_no_table(read):
    section = read({**ALONE, "amd-smi": "amdsmi-default-flattened-whitespace.txt"})
    assert (section["devices"], section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ([], "unavailable", True)


def by_json(read, static, metric, listed=None, **more):
    answers = {"amd-smi static --json": static, "amd-smi metric --json": metric, "amd-smi list --json": listed or []}
    return read({**answers, **{"amd-smi %s --json" % word: said for word, said in more.items()}})


def named(index, bdf=None, **more):
    return dict({"gpu": index, "asic": {"market_name": "AMD Instinct MI300X"}, "bus": {"bdf": bdf or "0000:%02x:00.0" % (16 * index + 5)}}, **more)


def test_partitions_of_one_package_share_its_memory_and_power(read, rows):
    table = rows("amdsmi-monitor-ptv-cpx32-rocm63.txt")
    bdf = ["0000:%02x:00.%d" % (int(row["GPU"]) // 4 + 1, int(row["GPU"]) % 4) for row in table]
    static = [named(n, bdf[n], vram={"size": number(row["VRAM_TOTAL"], "MB")}) for n, row in enumerate(table)]
    metric = [
        {"gpu": n, "power": {"socket_power": number(row["POWER"], "W")}, "temperature": {"hotspot": number(row["GPU_TEMP"], "C")}}
        for n, row in enumerate(table)
    ]
    devices = by_json(read, static, metric)["devices"]
    whole = [d for d in devices if d["kind"] == "package"]
    assert (len(whole), len(devices)) == (8, 40)
    assert [d["power_w"]["draw"] for d in whole] == [248, 221, 239, 219, 222, 241, 211, 227]
    assert {d["memory_mib"] for d in whole} == {196300} and all(is_unknown(d["memory_mib"]) for d in devices if d["kind"] != "package")


def test_samples_of_a_monitor(read, rows):
    table = rows("amdsmi-monitor-putm-mi300x-rocm62.txt")
    metric = [
        {
            "gpu": n, "power": {"socket_power": number(row["POWER"], "W")}, "temperature": {"hotspot": number(row["GPU_TEMP"], "C")},
            "usage": {"gfx_activity": number(row["GFX_UTIL"], "%")}, "clock": {"gfx_0": {"clk": number(row["GFX_CLOCK"], "MHz")}},
        } for n, row in enumerate(table)
    ]  # fmt: skip
    devices = by_json(read, [named(n) for n in range(8)], metric)["devices"]
    assert [d["power_w"]["draw"] for d in devices] == [182, 143, 117, 116, 118, 118, 116, 118]
    assert [d["temperature_c"]["core"] for d in devices] == [42, 40, 41, 40, 42, 39, 41, 40]
    assert [d["utilization_percent"] for d in devices] == [83, 13, 0, 1, 0, 0, 0, 0] and devices[0]["clocks_mhz"]["core"] == 1613


def test_a_hot_card(read, rows):
    (row,) = rows("amdsmi-monitor-q-rocm62.txt")
    metric = [{
        "gpu": 0, "power": {"socket_power": number(row["POWER"], "W")}, "usage": {"gfx_activity": number(row["GFX_UTIL"], "%")},
        "temperature": {"hotspot": number(row["GPU_TEMP"], "C"), "mem": number(row["MEM_TEMP"], "C")}, "pcie": {"replay_count": row["PCIE_REPLAY"]},
        "ecc": {"total_correctable_count": row["SINGLE_ECC"], "total_uncorrectable_count": row["DOUBLE_ECC"]},
        "clock": {"gfx_0": {"clk": number(row["GFX_CLOCK"], "MHz")}},
        "mem_usage": {"total_vram": number(row["VRAM_TOTAL"], "MB"), "used_vram": number(row["VRAM_USED"], "MB")},
    }]  # fmt: skip
    process = [{"gpu": 0, "process_list": [{"process_info": {"name": "rvs", "pid": 1564865}}]}]
    section = by_json(read, [named(0)], metric, process=process)
    (device,) = section["devices"]
    assert (device["power_w"]["draw"], device["temperature_c"]["core"], device["temperature_c"]["memory"], device["utilization_percent"]) == (199, 103, 84, 99)
    assert (device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"], device["pcie"]["replay_count"]) == (0, 0, 0)
    assert (device["memory_used_mib"], device["memory_mib"], device["processes"], device["extra"]["process_names"]) == (1235, 16335, 1, ["rvs"])
    assert row["PCIE_BW"] == "N/A Mb/s"
    # without the part's limit nobody knows how hot it may be; with it the heat is found
    assert {said for said, _level in outcome("temperature-margin", section).values()} == {"unknown"}
    with_limit = by_json(read, [named(0, limit={"slowdown_hotspot_temperature": {"value": 105, "unit": "C"}})], metric)
    assert outcome("temperature-margin", with_limit)["amd:0"][0] == "found"


@pytest.mark.parametrize(("name", "profile"), [("amdsmi-partition-fixed-rocm64-excerpt.txt", "SPX"), ("amdsmi-partition-na-rocm63.txt", None)])
def test_partitions_that_are_set(captures, read, name, profile):
    text = (captures / "amd" / name).read_text(encoding="utf-8")
    table = re.findall(r"(?m)^(\d+) +(NPS\d) +(\S+) +\S+ +\S+ *$", text.split("MEMORY_PARTITION")[0])
    static = [named(int(gpu), partition={"accelerator_partition": kind, "memory_partition": memory}) for gpu, memory, kind in table]
    section = by_json(read, static, [])
    assert [(plain(d["partition"]["profile"]), d["partition"]["memory_profile"]) for d in section["devices"]] == [(profile, "NPS1")] * 4
    assert ("SPX*" in text) is (profile == "SPX")
    # what is not told is no mismatch, whatever the site declares
    found = outcome("partition-declared", section, accelerator_policy_partition_declared_profile="SPX")
    assert {said for said, _level in found.values()} == {"passed" if profile else "unknown"}


def test_processes_of_every_card(captures, read):
    with (captures / "amd" / "amdsmi-process-csv-rocm62.txt").open(encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    process = [{"gpu": int(row["gpu"]), "process_list": [{"process_info": {"name": row["name"], "pid": int(row["pid"])}}]} for row in table]
    devices = by_json(read, [named(n) for n in range(8)], [], process=process)["devices"]
    assert [(d["processes"], d["extra"]["process_names"]) for d in devices] == [(1, ["pt_main_thread"])] * 8
    assert table[0]["pid"] == table[5]["pid"]  # one process may hold two cards: each is in use


# -- rocm-smi ----------------------------------------------------------------------------------------------------------------


def test_the_concise_view(read):
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": NO_JSON, "rocm-smi": "rocm-smi-concise-mi210x8-rocm60.txt"})
    devices = section["devices"]
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "Instinct MI210 x8")
    assert [d["extra"]["temperature_edge_c"] for d in devices] == [34, 39, 33, 38, 33, 35, 33, 39]
    assert [d["power_w"]["draw"] for d in devices] == [43, 42, 41, 42, 43, 42, 40, 42] and {d["power_w"]["limit"] for d in devices} == {300}
    assert {(d["utilization_percent"], d["clocks_mhz"]["core"], d["extra"]["performance_level"]) for d in devices} == {(0, 800, "auto")}
    # what stands in brackets is the id of the subsystem, and the two N/A are no partitions
    assert all(is_unknown(d["extra"]["pci_device"]) and is_unknown(d["partition"]["profile"]) for d in devices)
    assert {said for said, _level in outcome("clocks-lowered", section).values()} == {"passed"}


def test_the_concise_view_with_ids(read):
    nodes = "/sys/class/kfd/kfd/topology/nodes/%d/properties"
    files = {nodes % (n + 4): "simd_count 912\ndomain %d\nlocation_id 256\n" % n for n in range(4)}
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": NO_JSON, "rocm-smi": "rocm-smi-concise-mi300ax4-rocm64.txt"}, files)
    devices = section["devices"]
    assert [d["identity"]["pci"]["value"] for d in devices] == ["000%d:01:00.0" % n for n in range(4)]
    assert [(d["extra"]["kfd_node"], d["extra"]["pci_device"]) for d in devices] == [(n, "0x74a0") for n in range(4, 8)]
    assert [(d["temperature_c"]["core"], d["power_w"]["draw"]) for d in devices] == [(48, 110), (53, 113), (52, 125), (47, 115)]
    assert {(d["partition"]["profile"], d["partition"]["memory_profile"], d["power_w"]["limit"]) for d in devices} == {("SPX", "NPS1", 550)}
    assert section["detection"]["state"] == "unavailable"  # four are there, and this view names none of them


def test_the_name_of_a_virtual_function(read):
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": NO_JSON, "rocm-smi -a": "rocm-smi-showproductname-sriov-mi300x.txt"})
    (device,) = section["devices"]
    assert (section["detection"]["state"], device["name"], device["extra"]["virtual_function"]) == ("ok", "AMD Instinct MI300X OAM", True)
    device["memory_mib"] = 24000
    assert outcome("product-memory", section) == {"amd:0": ("not_applicable", None)}


def test_nodes_of_the_cards(read):
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": NO_JSON, "rocm-smi -a": "rocm-smi-showtoponuma-mi210x8.txt"})
    assert [d["numa_node"] for d in section["devices"]] == [3, 2, 1, 0, 7, 6, 5, 4]
    assert section["detection"]["state"] == "unavailable"


# -- what the tools themselves read --------------------------------------------------------------------------------------------


def test_firmware_of_the_driver(captures, read):
    base = "/sys/bus/pci/devices/0000:05:00.0/"
    said = (captures / "amd" / "amdgpu-firmware-info-debugfs.txt").read_text(encoding="utf-8")
    bus = [{"address": address, "role": "accelerator", "driver": "amdgpu", "model": "MI50"} for address in ("0000:05:00.0", "0000:06:00.0")]
    files = {base + "drm": {"dir": ["card1"]}, "/sys/kernel/debug/dri/1/amdgpu_firmware_info": said}
    files.update(
        {base.replace("05:", "06:") + "drm": {"dir": ["card2"]}, "/sys/kernel/debug/dri/2/amdgpu_firmware_info": said.replace("0x00000160", "0x0000015f")}
    )
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": GONE}, files, bus)
    firmware = section["devices"][0]["firmware"]
    assert len(firmware) == 14 + 1 and is_not_applicable(firmware["mc"]) and is_unknown(firmware["vbios"])
    assert [firmware[part] for part in ("mec", "rlc", "smc", "sdma0", "sdma1")] == ["0x00000160", "0x00000058", "0x001c2800", "0x00000197", "0x00000197"]
    for device in section["devices"]:
        device["name"] = "Instinct MI50"
    # the neighbor of other MEC firmware is found
    assert "found" in {said for said, _level in outcome("firmware-mixed", section).values()}


def test_the_agent_of_the_runtime_is_the_node_of_kfd(captures, read):
    told = (captures / "amd" / "rocminfo-mi300x-snippet.txt").read_text(encoding="utf-8")
    agents = [dict(re.findall(r"(?m)^  ([A-Z][\w .()/]+?):+ +(\S.*?) *$", part)) for part in told.split("[...]")]
    (agent,) = [one for one in agents if one.get("Device Type") == "GPU"]
    size = int(re.search(r"COARSE GRAINED\s+Size: +(\d+)", told.split("[...]")[1]).group(1)) * 1024
    node, place = int(agent["Node"]), int(agent["BDFID"])
    nodes, base = "/sys/class/kfd/kfd/topology/nodes", "/sys/bus/pci/devices/0000:c6:00.0/"
    files = {
        nodes: {"dir": ["0", str(node)]}, nodes + "/0/properties": "simd_count 0\ndomain 0\nlocation_id 0\n",
        "%s/%d/properties" % (nodes, node): "simd_count %d\ndomain 0\nlocation_id %d\n" % (int(agent["Compute Unit"]) * int(agent["SIMDs per CU"]), place),
        base + "product_name": agent["Marketing Name"], base + "unique_id": agent["Uuid"][4:], base + "mem_info_vram_total": str(size),
        base + "device": re.search(r"\((0x\w+)\)", agent["Chip ID"]).group(1),
    }  # fmt: skip
    bus = [{"address": "0000:c6:00.0", "role": "accelerator", "driver": "amdgpu", "model": "MI300X"}]
    section = read({"amd-smi version --json": GONE, "rocm-smi -a --json": GONE}, files, bus)
    (device,) = section["devices"]
    assert (section["detection"]["state"], device["name"], device["memory_mib"], device["extra"]["kfd_node"]) == ("ok", "AMD Instinct MI300X", 196592, 2)
    assert (device["identity"]["uuid"]["value"], device["extra"]["pci_device"]) == ("GPU-1f61b1a8b6d98dd6", "0x74a1")
    assert files["%s/2/properties" % nodes].startswith("simd_count 1216\n")  # 304 compute units of four
    assert outcome("product-memory", section) == {"amd:0": ("passed", None)}


def test_bridges_of_a_card_are_no_cards(captures):
    text = (captures / "amd" / "hwloc-lstopo-vega20-rsmi.txt").read_text(encoding="utf-8")
    functions = re.findall(r"(?:busid=|PCI L#\d+ \(busid=)([0-9a-f:.]{12}) id=([0-9a-f]{4}):([0-9a-f]{4}) class=([0-9a-f]{4})", text)
    files = {pci.DEVICES: {"dir": [address for address, *_ids in functions]}}
    for address, vendor, device, kind in functions:
        base = "%s/%s" % (pci.DEVICES, address)
        files.update({base + "/vendor": "0x" + vendor, base + "/device": "0x" + device, base + "/class": "0x%s00" % kind, base + "/revision": "0x00"})
        files.update({base + "/" + name: {"absent": True} for name in ("driver", "physfn", "subsystem_vendor", "subsystem_device")})
    document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": []}
    section = pci.scan(ReplayHost(document), manufacturers=("amd",))
    assert [(vendor, device) for _address, vendor, device, _kind in functions] == [("10b5", "9797"), ("1002", "14a0"), ("1002", "14a1"), ("1002", "66a1")]
    roles = {entry["address"]: entry["role"] for entry in section["devices"]}
    assert [address for address, role in roles.items() if role == "accelerator"] == ["0000:3f:00.0"]
    assert [entry["address"] for entry in pci.accelerators(section, "amd")] == ["0000:3f:00.0"]
