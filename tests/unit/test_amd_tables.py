# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's tools print for people, read where their JSON tells nothing; firmware by debugfs; clocks without amd-smi."""

from __future__ import annotations

import random

import amd_samples as amd
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi, amd_tables
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown

CRASHED = {"rc": 1, "stderr": "AttributeError: 'NoneType' object has no attribute 'gpus'\n"}
REFUSED = {"rc": 2, "stderr": "usage: rocm-smi\nrocm_smi.py: error: unrecognized arguments: --json\n"}
PCI = amd.on_pci("0000:%s:00.0" % bus for bus in amd.BUSES)
EDGE = "+-------------------------------------+----------------------------------------+"


def cells(left, right):
    return "| %-35s | %-38s |" % (left, right)


def card(bdf, index, mode="SPX/NPS1", memory="283/196592 MB", power="141/750 W", heat="41 °C", uncorrected="0", name="AMD Instinct MI300X"):
    return [
        cells("%s %22s" % (bdf, name), "0 %%      %s   %s   %s" % (heat, uncorrected, power)),
        cells("%d %7d %7s %15s" % (index, index, index if heat != "N/A" else "N/A", mode), "3 %%        N/A   %s" % memory),
        EDGE.replace("+", "|"),
    ]


def view(cards, end=True, processes=("No running processes found",), head="AMD-SMI 26.1.0+0a1b2c3d     amdgpu version: 6.16.6   ROCm version: 7.1.0"):
    lines = ["+" + "-" * 78 + "+", "| %-76s |" % head, "| VBIOS version: 00112233 |", "| Platform: Linux Baremetal |", EDGE.replace("+", "|")]
    lines += [cells("BDF                        GPU-Name", "Mem-Uti   Temp   UEC       Power-Usage")]
    lines += [cells("GPU  HIP-ID  OAM-ID  Partition-Mode", "GFX-Uti    Fan               Mem-Usage"), EDGE.replace("+", "|").replace("-", "=")]
    lines += [line for one in cards for line in one]
    if end:
        lines[-1] = EDGE
        lines += ["+" + "-" * 78 + "+", "| Processes: |", "| GPU  PID  Process Name  GTT_MEM  VRAM_MEM  MEM_USAGE  CU % |", "|" + "=" * 78 + "|"]
        lines += ["| %s |" % line for line in processes] + ["+" + "-" * 78 + "+"]
    return "\n".join(lines) + "\n"


def collect(said, pci=PCI, files=None):
    """Of a node whose amd-smi crashes at every word, and prints this by itself."""
    return reader.collect(amd.replay(dict.fromkeys(amd.WORDS, CRASHED), files=files, more=[("amd-smi", said)]), pci)


EIGHT = [card("0000:%s:00.0" % bus, n) for n, bus in enumerate(amd.BUSES)]


def test_the_default_view_names_the_cards_where_static_crashes():
    section = collect(view(EIGHT, processes=("  0    4242  python3    2.0 MB    9.3 GB     9.5 GB  0.0 %", "  0    4243  rvs  0.0 B  0.0 B  0.0 B    0.0 %")))
    assert (section["detection"]["state"], section["detection"]["accelerators"], section["detection"]["detail"]) == ("ok", 8, "AMD Instinct MI300X x8")
    assert "AttributeError" in section["note"] and "default view" in section["note"]
    assert [section["driver"][key] for key in ("version", "tool_version", "runtime_version")] == ["6.16.6", "26.1.0+0a1b2c3d", "7.1.0"]
    first, second = section["devices"][:2]
    assert (first["memory_mib"], first["memory_used_mib"], first["utilization_percent"], first["identity"]["slot"]["value"]) == (196592, 283, 3, "OAM 0")
    assert (first["power_w"]["draw"], first["power_w"]["limit"], first["temperature_c"]["core"]) == (141, 750, 41)
    assert (first["ecc"]["uncorrected_volatile"], is_unknown(first["ecc"]["corrected_volatile"])) == (0, True)
    assert (first["partition"]["profile"], first["partition"]["memory_profile"], first["firmware"]["vbios"]) == ("SPX", "NPS1", "00112233")
    assert (first["processes"], first["extra"]["process_names"], second["processes"]) == (2, ["python3", "rvs"], 0)
    assert is_unknown(first["identity"]["serial"]["value"]) and is_unknown(first["links"])


def test_partitions_share_the_slot_and_an_error_is_told():
    rows = [card("0000:05:00.0", 0, "DPX/NPS1", uncorrected="3"), card("0000:05:00.1", 1, "N/A", "492/98296 MB", "N/A", "N/A")]
    section = collect(view(rows), PCI[:1])
    package, first, second = section["devices"]
    assert (section["detection"]["accelerators"], package["memory_mib"], package["ecc"]["uncorrected_volatile"]) == (1, 196592, 3)
    assert (first["kind"], second["kind"], second["memory_mib"]) == ("partition", "partition", 98296)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (view(EIGHT, end=False), "no end"),
        (view([*EIGHT, [cells("0000:f5:00.0 what", "is this"), cells("8 8 8 -", "?")]]), "not understood"),
        (view(EIGHT).replace("\n", " "), "AttributeError"),
        (view(EIGHT).replace("750 W", "750 mW"), "not understood"),
        ("", "AttributeError"),
    ],
)
def test_a_view_that_is_cut_or_broken_is_never_a_count(said, words):
    detection = collect(said)["detection"]
    assert detection["state"] == "unavailable" and words in detection["reason"]


def test_nothing_in_either_text_raises():
    chance, whole = random.Random(5), view(EIGHT)
    for _unused in range(300):
        letters = list(whole)
        for _again in range(chance.randint(1, 9)):
            at = chance.randrange(len(letters))
            letters[at : at + chance.randint(0, 70)] = chance.choice(("", "|", "+--+", "GPU[1] : a: b\n", "\x00", "0 9 9 °C\n"))
        for parse in (amd_tables.default_view, amd_tables.rocm):
            parse("".join(letters))


# -- rocm-smi ------------------------------------------------------------------------------------------------------------

END = "================== End of ROCm SMI Log ===================\n"
ALL = """======================= ROCm System Management Interface =======================
========================= Version of System Component ==========================
Driver version: 6.7.0
================================== ID ==========================================
GPU[0]\t\t: Card series: \t\tAMD Instinct MI210
GPU[0]\t\t: Card SKU: \t\tD67301
GPU[0]\t\t: PCI Bus: 0000:63:00.0
GPU[0]\t\t: Temperature (Sensor junction) (C): 41.0
GPU[0]\t\t: sclk clock level: 1: (800Mhz)
GPU[0]\t\t: Valid sclk range: 500Mhz - 1700Mhz
GPU[0]\t\t: Performance Level: auto
GPU[0]\t\t: Average Graphics Package Power (W): 44.0
GPU[0]\t\t: Max Graphics Package Power (W): 300.0
GPU[0]\t\t: VRAM Total Memory (B): 68702699520
GPU[0]\t\t: (Topology) Numa Node: 1
"""
HEAD = "GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
OLD = (
    HEAD
    + "0    36.0c           91.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   4%\n1    33.0c           N/A     800Mhz  1600Mhz  0%   high  0.0W      0%   0%\n"
)


def rocm(pci=None, files=None, **texts):
    more = [("rocm-smi -a" if name == "all" else "rocm-smi", said) for name, said in texts.items()]
    return reader.collect(amd.replay({}, REFUSED, files, more=more), pci)


def test_the_text_of_rocm_smi():
    section = rocm(all=ALL + END, pci=amd.on_pci(["0000:63:00.0"]))
    (device,) = section["devices"]
    assert (section["detection"]["state"], section["driver"]["version"], device["name"]) == ("ok", "6.7.0", "AMD Instinct MI210")
    assert (device["memory_mib"], device["numa_node"], device["temperature_c"]["core"], device["power_w"]["limit"]) == (65520, 1, 41, 300)
    assert (device["clocks_mhz"]["core"], device["clocks_mhz"]["core_max"], device["extra"]["performance_level"]) == (800, 1700, "auto")
    cut = rocm(all=ALL, pci=amd.on_pci(["0000:63:00.0"]))["detection"]
    assert cut["state"] == "unavailable" and "no end" in cut["reason"]


def test_the_concise_view_of_old():
    section = rocm(concise=OLD + END)
    first, second = section["devices"]
    assert (first["power_w"]["draw"], first["power_w"]["limit"], first["utilization_percent"], first["extra"]["temperature_edge_c"]) == (91, 560, 4, 36)
    assert is_not_applicable(second["power_w"]["limit"]) and is_unknown(second["power_w"]["draw"])
    assert second["extra"]["performance_level"] == "high" and section["detection"]["state"] == "unavailable"  # it names no card


def test_partitions_of_the_concise_view_have_the_place_that_kfd_tells():
    row = "%d       %d     0x74a1,   %d  43.0°C      134.0W    NPS1, CPX, %d        146Mhz  900Mhz  0%%   auto  750.0W  0%%     0%%    \n"
    text = "Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    text += "              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)\n"
    text += "".join(row % (n, n + 2, 4000 + n, n % 8) for n in range(16))
    nodes = "/sys/class/kfd/kfd/topology/nodes/%d/properties"
    files = {nodes % (n + 2): "simd_count 152\ndomain 0\nlocation_id %d\n" % (n % 8 << 28 | (0x0500 if n < 8 else 0x2600)) for n in range(16)}
    section = rocm(concise=text + END, files=files)
    whole = [device for device in section["devices"] if device["kind"] == "package"]
    assert [device["identity"]["pci"]["value"] for device in whole] == ["0000:05:00.0", "0000:26:00.0"]
    assert len(section["devices"]) == 18 and whole[0]["partition"]["profile"] == "CPX"


def test_a_virtual_function_by_its_sku():
    section = rocm(all="GPU[0] : Card series: AMD Instinct MI300X OAM\nGPU[0] : Card SKU: MX1SRIOV\n" + END)
    assert section["devices"][0]["extra"]["virtual_function"] is True
    assert "virtual_function" not in rocm(all=ALL + END)["devices"][0]["extra"]


# -- files of the driver ---------------------------------------------------------------------------------------------------


def driven(firmware=None, clock="0: 500Mhz\n1: 132Mhz *\n2: 2100Mhz\n"):
    base = "/sys/bus/pci/devices/0000:05:00.0/"
    files = {base + "drm": {"dir": ["card3", "renderD131"]}, base + "pp_dpm_sclk": clock, base + "power_dpm_force_performance_level": "manual\n"}
    if firmware is not None:
        files["/sys/kernel/debug/dri/3/amdgpu_firmware_info"] = firmware
    gone = {"missing": True}
    return reader.collect(amd.replay(dict.fromkeys(amd.WORDS, gone), gone, files), PCI[:1])["devices"][0]


def test_firmware_that_the_driver_tells_root():
    text = "MC feature version: 0, firmware version: 0x00000000\nTA XGMI feature version: 0x00000000, firmware version: 0x20000013\n"
    told = driven(text + "SMC feature version: 0, program: 0, firmware version: 0x00557300 (85.115.0)\nMEC feature version: 50, firmware version: 0x000000b8\n")
    assert [told["firmware"][part] for part in ("mec", "ta_xgmi", "smc")] == ["0x000000b8", "0x20000013", "0x00557300"] and is_not_applicable(
        told["firmware"]["mc"]
    )
    for unread in (None, {"error": "EACCES"}, "\x00garbage"):
        assert set(driven(unread)["firmware"]) == {"vbios"}


def test_the_bundle_of_a_card_is_one_of_its_versions():
    tables = amd.node([0])
    tables["firmware"][0]["fw_list"].append({"fw_id": "PLDM_BUNDLE", "fw_version": "25.03.03"})
    assert reader.collect(amd.replay(tables), PCI[:1])["devices"][0]["firmware"]["pldm_bundle"] == "25.03.03"


def test_clocks_that_the_driver_tells():
    told = driven()
    assert (told["clocks_mhz"]["core"], told["clocks_mhz"]["core_max"], told["extra"]["performance_level"]) == (132, 2100, "manual")
    assert is_unknown(told["clocks_mhz"]["memory"])
    assert is_unknown(driven(clock="S: 19\n")["clocks_mhz"]["core"])


@pytest.mark.parametrize(
    ("said", "of_now", "highest"), [("(800Mhz)", 800, 800), ("500Mhz - 1700Mhz", 1700, 1700), ("0: 96Mhz 1: 500Mhz * 2: 900Mhz", 500, 900)]
)
def test_a_clock(said, of_now, highest):
    assert (amd_smi.KINDS["clock"](said, "clock"), amd_smi.KINDS["top_clock"](said, "clock")) == (of_now, highest)
    assert not is_known(amd_smi.KINDS["clock"]("N/A", "clock")) and not is_known(amd_smi.KINDS["clock"]("fast", "clock"))


def test_a_card_without_partitions_and_a_fan_without_its_unit():
    lines = card("0000:05:00.0", 0, mode="N/A", name="AMD Radeon RX 7900 XTX")
    lines[1] = lines[1].replace("N/A   283", "51.76   283")
    section = collect(view([lines]), pci=amd.on_pci(["0000:05:00.0"]))
    (device,) = section["devices"]
    assert (section["detection"]["state"], device["memory_used_mib"]) == ("ok", 283)
    assert is_unknown(device["partition"]["profile"]) and is_unknown(device["partition"]["enabled"])  # a node whose files are not recorded


def test_an_address_in_capitals_and_with_a_long_domain():
    section = collect(view([card("00000000:C5:00.0", 0)]), pci=amd.on_pci(["0000:c5:00.0"]))
    assert (section["detection"]["state"], section["devices"][0]["identity"]["pci"]["value"]) == ("ok", "0000:c5:00.0")


def test_partitions_of_which_nothing_is_told_are_no_lost_rows():
    text = "0       2     0x75a0,   24101  60.0°C      310.0W    NPS1, DPX, 0        2203Mhz  1900Mhz  0%   manual  1000.0W  0%     0%\n"
    text += "1       3     N/A,      20102  N/A         N/A       N/A, N/A, 1         N/A      N/A      0%   n/a     N/A      0%     N/A\n"
    nodes = "/sys/class/kfd/kfd/topology/nodes/%d/properties"
    files = {nodes % (n + 2): "simd_count 152\ndomain 0\nlocation_id %d\n" % (n << 28 | 0x0500) for n in range(2)}
    section = rocm(concise="Device  Node  IDs  Temp  (Junction)\n" + text + END, files=files)
    assert [device["id"] for device in section["devices"]] == ["amd:0", "amd:0/xcp:0", "amd:0/xcp:1"]
    assert section["devices"][0]["power_w"]["limit"] == 1000
