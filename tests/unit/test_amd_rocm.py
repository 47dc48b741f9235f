# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD through rocm-smi, and through the files of the driver alone."""

from __future__ import annotations

import json

import amd_samples as amd
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

ADDRESSES = ["0000:%s:00.0" % bus for bus in amd.BUSES]


def card(gpu, title=True):
    return {
        "Unique ID": "0x%x" % (0xABC0000000001 + gpu),
        "VBIOS version": "113-M3000100-102",
        "Temperature (Sensor junction) (C)": "47.0",
        "Temperature (Sensor memory) (C)": "40.0",
        "Temperature (Sensor HBM 0) (C)": "N/A",
        "pcie clock level": "1 (32.0GT/s x16)",
        "Max Graphics Package Power (W)": "750.0",
        "Current Socket Graphics Package Power (W)": "132.0",
        "GPU use (%)": "0",
        "PCIe Replay Count": "0",
        "Serial Number": "69230000%04d" % gpu,
        "PCI Bus": "0000:%s:00.0" % amd.BUSES[gpu].upper(),
        "VRAM Total Memory (B)": "206141652992",
        "VRAM Total Used Memory (B)": "297119744",
        "MEC firmware version": "184",
        "MC firmware version": "0x00000000",
        "Compute Partition": "SPX",
        "Memory Partition": "NPS1",
        "Card %series" % ("S" if title else "s"): "AMD Instinct MI300X OAM",
        "(Topology) Numa Node": str(gpu // 4),
        "Node ID": str(gpu + 2),
    }


def cards(gpus, kind="XGMI", title=True):
    said = {"card%d" % g: card(g, title) for g in gpus}
    said["system"] = {"Driver version": "6.12.12", "PID77": "rvs, 1, 0, 0, 0"}
    said["system"].update({"(Topology) Link type between DRM devices %d and %d" % (a, b): kind for a in gpus for b in gpus if a < b})
    return said


def sysfs(address, gpu=0):
    base = "/sys/bus/pci/devices/%s/" % address
    files = {
        "product_name": "AMD Instinct MI300X OAM\n",
        "unique_id": "%x\n" % (0xABC0000000001 + gpu),
        "serial_number": "69230000%04d\n" % gpu,
        "mem_info_vram_total": "206141652992\n",
        "mem_info_vram_used": "297119744\n",
        "gpu_busy_percent": "0\n",
        "pcie_replay_count": "0\n",
        "vbios_version": "113-M3000100-102\n",
        "current_compute_partition": "SPX\n",
        "current_memory_partition": "NPS1\n",
        "hwmon": {"dir": ["hwmon%d" % (gpu + 4)]},
        "hwmon/hwmon%d/temp1_label" % (gpu + 4): {"absent": True},
        "hwmon/hwmon%d/temp2_label" % (gpu + 4): "junction\n",
        "hwmon/hwmon%d/temp2_input" % (gpu + 4): "47000\n",
        "hwmon/hwmon%d/temp2_crit" % (gpu + 4): "100000\n",
        "hwmon/hwmon%d/temp3_label" % (gpu + 4): "mem\n",
        "hwmon/hwmon%d/temp3_input" % (gpu + 4): "40000\n",
        "hwmon/hwmon%d/temp3_crit" % (gpu + 4): "105000\n",
        "hwmon/hwmon%d/power1_average" % (gpu + 4): {"absent": True},
        "hwmon/hwmon%d/power1_input" % (gpu + 4): "132000000\n",
        "hwmon/hwmon%d/power1_cap" % (gpu + 4): "750000000\n",
        "hwmon/hwmon%d/power1_cap_default" % (gpu + 4): "750000000\n",
        "ras": {"dir": ["features", "umc_err_count", "gfx_err_count", "gpu_vram_bad_pages"]},
        "ras/umc_err_count": "ue: 0\nce: 3\n",
        "ras/gfx_err_count": "ue: 0\nce: 0\n",
        "ras/gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n",
        "drm": {"dir": ["card%d" % gpu, "renderD%d" % (128 + gpu), "by-path"]},
    }
    return {base + name: said for name, said in files.items()}


def kfd(slots, banks=None):
    """slots: location_id per node, 0 for a CPU."""
    files = {"/sys/class/kfd/kfd/topology/nodes": {"dir": [str(n) for n in range(len(slots))]}}
    for number, location in enumerate(slots):
        base = "/sys/class/kfd/kfd/topology/nodes/%d/" % number
        files[base + "properties"] = "cpu_cores_count 96\nsimd_count %d\nlocation_id %d\ndomain 0\n" % (1216 if location else 0, location)
        files[base + "mem_banks/0/properties"] = "heap_type 1\nsize_in_bytes %d\nflags 0\n" % (banks or 206141652992)
    return files


def collect(rocm=None, gpus=range(8), files=None, **more):
    return reader.collect(amd.replay(rocm=rocm, files=files, **more), amd.on_pci([ADDRESSES[g] for g in gpus]))


@pytest.mark.parametrize("title", [True, False])
def test_rocm_smi_gives_the_same_facts(title):
    section = collect(cards(range(8), title=title))
    assert section["detection"]["state"] == "ok"
    assert section["detection"]["detail"] == "AMD Instinct MI300X OAM x8"
    assert section["driver"]["version"] == "6.12.12"
    device = section["devices"][2]
    assert device["id"] == "amd:2"
    assert device["identity"]["uuid"]["value"] == "GPU-000abc0000000003"
    assert device["identity"]["pci"]["value"] == "0000:46:00.0"
    assert (device["memory_mib"], device["memory_used_mib"]) == (196592, 283)
    assert (device["temperature_c"]["core"], device["temperature_c"]["memory"]) == (47, 40)
    assert (device["power_w"]["draw"], device["power_w"]["limit"]) == (132, 750)
    assert (device["pcie"]["generation_current"], device["pcie"]["width_current"]) == (5, 16)
    assert is_unknown(device["pcie"]["width_max"])  # rocm-smi tells the level of the moment
    assert device["partition"]["profile"] == "SPX"
    assert device["firmware"] == {"vbios": "113-M3000100-102", "mec": "184", "mc": {"not_applicable": "not loaded"}}
    assert device["links"]["total"] == 7
    assert is_unknown(device["links"]["up"])
    assert is_unknown(device["processes"])
    assert is_unknown(device["throttle"])


def test_rocm_smi_is_completed_from_the_driver():
    device = collect(cards([0]), gpus=[0], files=sysfs(ADDRESSES[0]))["devices"][0]
    assert (device["ecc"]["mode"], device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"]) == ("enabled", 3, 0)
    assert device["retired_pages"]["uncorrected"] == 1
    assert device["retired_pages"]["pending"] is True
    assert device["power_w"]["limit_default"] == 750
    assert device["temperature_c"]["limit_core"] == 100


def test_pcie_peers_are_no_links():
    assert is_not_applicable(collect(cards([0, 1], kind="PCIE"), gpus=[0, 1])["devices"][0]["links"])


def test_readings_that_are_words():
    said = cards([0])
    said["card0"].update(
        {"Current Socket Graphics Package Power (W)": "N/A (Secondary die)", "Card Series": "0x1002", "Serial Number": "0", "Unique ID": "N/A"}
    )
    said["card0"].pop("Temperature (Sensor junction) (C)")
    device = collect(said, gpus=[0])["devices"][0]
    assert is_unknown(device["power_w"]["draw"])
    assert is_unknown(device["temperature_c"]["core"])
    assert is_unknown(device["name"])
    assert device["identity"]["serial"]["quality"] == "placeholder"
    assert is_unknown(device["identity"]["uuid"]["value"])


def test_amd_smi_broken_and_rocm_smi_well():
    broken = {key: {"rc": 1, "stderr": "AttributeError: 'Namespace' object has no attribute 'x'\n"} for key in amd.WORDS}
    section = collect(cards(range(8)), tables=broken)
    assert section["detection"]["state"] == "ok"
    assert "AttributeError" in section["note"]
    denied = {key: {"rc": 1, "stderr": "Unable to open /dev/kfd read-write: Permission denied\n"} for key in amd.WORDS}
    assert collect(cards(range(8)), tables=denied)["detection"]["state"] == "unavailable"


def test_what_rocm_smi_complains_about():
    section = collect(
        {"rc": 1, "stdout": "cat: /sys/module/amdgpu/initstate: No such file\nERROR:root:Driver not initialized (amdgpu not found in modules)\n"}, gpus=[0]
    )
    assert section["detection"]["state"] == "unavailable"
    assert "Driver not initialized" in section["detection"]["reason"]
    section = reader.collect(amd.replay(rocm="WARNING: No AMD GPUs specified\n"), amd.on_pci([ADDRESSES[0]], driver=None))
    assert section["detection"]["state"] == "unavailable"
    assert "PCI shows 1, the tool 0" in section["detection"]["reason"]
    assert collect("{}", gpus=[0])["detection"]["state"] == "unavailable"


def test_the_driver_alone():
    files = kfd([0, 0x500, 0x2600])
    for gpu in (0, 1):
        files.update(sysfs(ADDRESSES[gpu], gpu))
    files.update({"/dev/kfd": {"device": "char", "major": 510, "minor": 0}})
    section = collect(gpus=[0, 1], files=files)
    assert section["detection"]["state"] == "ok"
    assert section["detection"]["accelerators"] == 2
    device = section["devices"][1]
    assert device["name"] == "AMD Instinct MI300X OAM"
    assert device["identity"]["uuid"]["value"] == "GPU-000abc0000000002"
    assert device["identity"]["serial"]["value"] == "692300000001"
    assert (device["memory_mib"], device["memory_used_mib"]) == (196592, 283)
    assert device["temperature_c"]["core"] == 47
    assert device["temperature_c"]["limit_memory"] == 105
    assert (device["power_w"]["draw"], device["power_w"]["limit"], device["power_w"]["limit_default"]) == (132, 750, 750)
    assert device["pcie"]["replay_count"] == 0
    assert device["partition"] == {"mode": "compute", "enabled": False, "profile": "SPX", "memory_profile": "NPS1"}
    assert device["firmware"] == {"vbios": "113-M3000100-102"}
    assert device["device_nodes"] == ["/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"]
    assert device["extra"]["kfd_node"] == 2
    assert device["links"] == device["throttle"] == {"unknown": "the driver's files do not tell it"}


def test_the_driver_after_a_hanging_tool():
    files = dict(kfd([0, 0x500]), **sysfs(ADDRESSES[0]))
    section = collect(gpus=[0], files=files, tables={key: {"hang": True} for key in amd.WORDS})
    assert section["detection"]["state"] == "unavailable"
    assert "timeout" in section["detection"]["reason"]
    device = section["devices"][0]
    assert device["memory_mib"] == 196592
    # what the driver's files do not tell is unknown for the reason that the tool gave
    assert {key: "timeout" in device[key]["unknown"] for key in ("links", "processes", "throttle")} == dict.fromkeys(("links", "processes", "throttle"), True)


def test_partitions_by_the_driver():
    files = dict(kfd([0] + [0x500 | part for part in range(8)], banks=25767706624), **sysfs(ADDRESSES[0]))
    files["/sys/bus/pci/devices/0000:05:00.0/current_compute_partition"] = "CPX\n"
    section = collect(gpus=[0], files=files)
    assert section["detection"]["accelerators"] == 1
    package, parts = section["devices"][0], section["devices"][1:]
    assert package["memory_mib"] == 196592
    assert package["partition"]["enabled"] is True
    assert [p["memory_mib"] for p in parts] == [24574] * 8
    assert [p["extra"]["kfd_node"] for p in parts] == list(range(1, 9))


def test_a_part_without_ras_and_partitions():
    files = sysfs(ADDRESSES[0])
    base = "/sys/bus/pci/devices/0000:05:00.0/"
    files = {k: v for k, v in files.items() if not k.startswith(base + "ras")}
    for name in ("ras", "current_compute_partition", "current_memory_partition"):
        files[base + name] = {"absent": True}
    device = collect(gpus=[0], files=dict(files, **kfd([0, 0x500])))["devices"][0]
    assert is_not_applicable(device["ecc"])
    assert is_not_applicable(device["partition"])


@pytest.mark.parametrize("said", [{"error": "EIO"}, {"hang": True}, "garbage\n", "-5\n", "99999999999999999999\n", "N/A\n", ""])
def test_files_that_cannot_be_read(said):
    files = {name: said for name, value in sysfs(ADDRESSES[0]).items() if not isinstance(value, dict)}
    files.update({name: value for name, value in sysfs(ADDRESSES[0]).items() if isinstance(value, dict) and "dir" in value})
    files.update({name: said for name in kfd([0, 0x500]) if not name.endswith("nodes")}, **{"/sys/class/kfd/kfd/topology/nodes": {"dir": ["0", "1"]}})
    section = collect(gpus=[0], files=files)
    device = section["devices"][0]
    for value in (device["memory_mib"], device["temperature_c"]["core"], device["power_w"]["draw"], device["ecc"]["uncorrected_volatile"]):
        assert is_unknown(value)
    json.dumps(section, allow_nan=False)


def bus(*functions):
    """(address, vendor, class, driver, device) of each function; without a device it is an MI300X."""
    base = "/sys/bus/pci/devices"
    files = {base: {"dir": [f[0] for f in functions]}}
    for address, vendor, kind, driver, *device in functions:
        own = "%s/%s" % (base, address)
        files.update({own: {"dir": ["vendor", "device", "class"] + (["driver"] if driver else [])}, own + "/vendor": vendor, own + "/class": kind + "\n"})
        files[own + "/device"] = (device or ["0x74a1"])[0] + "\n"
        if driver:
            files[own + "/driver"] = {"link": "../../../bus/pci/drivers/" + driver}
    return files


def test_what_is_a_card_on_pci():
    files = bus(
        ("0000:00:00.0", "0x1002\n", "0x060400", None, "0x14a0"),
        ("0000:05:00.0", "0x1002\n", "0x120000", "amdgpu"),
        ("0000:05:00.1", "0x1002\n", "0x040300", "snd_hda_intel", "0xab38"),
        ("0000:06:00.0", "0x10de\n", "0x030200", "nvidia"),
        ("0000:07:00.0", "0x1002\n", "0x038000", None),
    )
    section = reader.collect(amd.replay(files=files))
    assert section["detection"]["state"] == "unavailable"
    assert "PCI shows 2, the tool 1: not seen by it: 0000:07:00.0" in section["detection"]["reason"]
    assert [d["identity"]["pci"]["value"] for d in section["devices"]] == ["0000:05:00.0"]
    assert is_unknown(section["devices"][0]["name"])


def test_a_display_is_asked_about_and_not_missed():
    files = bus(("0000:0b:00.0", "0x1002\n", "0x030000", "amdgpu", "0x164e"))
    assert reader.collect(amd.replay(files=files))["detection"]["state"] == "not-declared"
    said = cards([0])
    said["card0"]["PCI Bus"] = "0000:0B:00.0"
    section = reader.collect(amd.replay(rocm=said, files=files))
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 1)


def test_an_unreadable_bus_is_not_an_empty_one():
    for files in (
        {"/sys/bus/pci/devices": {"error": "EACCES"}},
        dict(bus(("0000:05:00.0", "0x1002\n", "0x120000", None)), **{"/sys/bus/pci/devices/0000:05:00.0/vendor": {"error": "EIO"}}),
    ):
        section = reader.collect(amd.replay(files=files))
        assert section["detection"]["state"] == "unavailable"
        assert is_unknown(section["detection"]["accelerators"])
