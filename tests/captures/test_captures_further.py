# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public capture of a manufacturer beyond the nine: what its reader makes of it, exactly, or which command it belongs to that none runs."""

from __future__ import annotations

import json
import os

import further_samples as samples
import health_nodes
import pytest
import synthetic
import xpu_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import tpu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import xpu_smi
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording
from gmi_captures import INDEX, NEEDED, ROOT, shown, verdict

pytestmark = NEEDED
FOLDERS = {
    "gaudi": "gaudi", "aws-neuron": "neuron", "tenstorrent": "tenstorrent", "kunlunxin": "kunlunxin", "enflame": "enflame", "intel-xpu": "intel",
    "google-tpu": "tpu",
}  # fmt: skip
VALUES = ("name", "identity.pci", "temperature_c.core", "power_w.draw", "power_w.limit", "memory_used_mib", "memory_mib")


class Capture:
    """Reads one capture as the answer to a command; every other command is not recorded."""

    def __init__(self, folder, path):
        self.folder, self.path = folder, path

    def section(self, words, manufacturer=None, places=()):
        """places: PCI addresses of the cards, [] for none, None where the bus is not read."""
        return self.sections({words: self.path}, manufacturer, places)

    def sections(self, captures, manufacturer=None, places=()):
        """captures: path by the tool's arguments."""
        manufacturer = manufacturer or FOLDERS[self.path.split("/")[0]]
        entries = {words: {"stdout_file": os.path.relpath(ROOT / path, self.folder)} for words, path in captures.items()}
        document = samples.document(manufacturer, entries)
        document["node"] = "capture"
        target = self.folder / "capture.json"
        target.write_text(json.dumps(document))
        entries = [{"address": place, "numa_node": 0, "model": "Inferentia" if manufacturer == "neuron" else "TPU v6e"} for place in places]
        return samples.READERS[manufacturer].collect(ReplayHost(recording.load(target)), entries)


def gaudi_ragged(capture):
    section = capture.section("", places=["0000:21:00.0"])
    assert verdict(section) == ("ok", 1)
    assert shown(section, *VALUES) == [("gaudi:0", "HL-325", "0000:21:00.0", 43, 264, 900, 672, 131072)]
    assert shown(section, "ecc.uncorrected_volatile") == [("gaudi:0", 0)]
    # The table is cut after the card: alone it is a lower bound.
    assert verdict(capture.section("")) == ("unavailable", "?")


def gaudi_logger(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 8)
    buses = ("87", "ae", "c2", "d7", "0f", "34", "48", "5a")
    heat, power = (21, 25, 25, 23, 22, 25, 24, 23), (86, 98, 88, 68, 84, 79, 75, 83)
    assert shown(section, *VALUES) == [
        ("gaudi:%d" % n, "HL-225C", "0000:%s:00.0" % buses[n], heat[n], power[n], 600, 98304 if n in (1, 2, 3) else 768, 98304) for n in range(8)
    ]
    # Events are not ECC errors.
    events = (25, 18, 28, 52, 14, 14, 19, 20)
    assert shown(section, "extra.uncorrected_events", "ecc.uncorrected_volatile", "processes") == [("gaudi:%d" % n, events[n], "?", 0) for n in range(8)]
    driver = section["driver"]
    assert (driver["tool_version"], driver["version"]) == ("hl-1.21.0-fw-59.2.1.0", "1.21.2-cedee05")
    assert {device["extra"]["nic_driver_version"] for device in section["devices"]} == {"1.21.2-721c960"}
    assert section["note"].startswith("the driver is 1.21.2-cedee05, hl-smi 1.21.0")


def gaudi_first(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 8)
    places = ("20:1d", "a0:1d", "a0:1e", "90:1d", "90:1e", "10:1d", "10:1e", "20:1e")
    heat, power = (35, 36, 33, 32, 35, 34, 36, 33), (102, 101, 105, 97, 101, 93, 108, 101)
    assert shown(section, *VALUES) == [("gaudi:%d" % n, "HL-205", "0000:%s.0" % places[n], heat[n], power[n], 350, 512, 32768) for n in range(8)]
    assert "the driver is 1.4.0-d8f95f4, hl-smi 1.4.1" in section["note"]


NEAR = ("12, 3, 4, 1", "13, 0, 5, 2", "14, 1, 6, 3", "15, 2, 7, 0", "0, 7, 8, 5", "1, 4, 9, 6", "2, 5, 10, 7", "3, 6, 11, 4", "4, 11, 12, 9", "5, 8, 13, 10")
NEAR += ("6, 9, 14, 11", "7, 10, 15, 8", "8, 15, 0, 13", "9, 12, 1, 14", "10, 13, 2, 15", "11, 14, 3, 12")
BUSES = ("cc", "b5", "b6", "cb", "6f", "58", "59", "6e", "9b", "84", "85", "9a", "f8", "e1", "e2", "f7")


def neuron_sixteen(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 16)
    assert section["detection"]["host"] == {"command": "the type of the instance", "accelerators": 16, "detail": "trn2n.48xlarge", "reason": ""}
    busy = 1 if "wide" in capture.path else "?"
    keys = ("name", "identity.pci", "memory_mib", "extra.cores", "extra.logical_core_config", "extra.connected_to", "processes")
    assert shown(section, *keys) == [("neuron:%d" % n, "Trainium2", "0000:%s:00.0" % BUSES[n], 98304, 4, 2, NEAR[n], busy) for n in range(16)]
    wanted = [0 if 4 <= n <= 11 else 1 for n in range(16)] if "trn2n-16" in capture.path else ["?"] * 16
    assert [value for _id, value in shown(section, "numa_node")] == wanted


def neuron_conflict(capture):
    section = capture.section("")
    assert verdict(section) == ("unavailable", 1)
    assert section["detection"]["reason"] == "the type of the instance reports 16, 1 were read"
    assert shown(section, "memory_mib", "extra.cores", "numa_node", "identity.pci") == [("neuron:0", 32768, 2, "?", "0000:00:1e.0")]


def neuron_first(capture):
    section = capture.section("", places=["0000:00:1f.0"])
    # The rule above the names is cut off in the capture, the rows are whole.
    assert verdict(section) == ("ok", 1)
    assert shown(section, "name", "identity.pci", "memory_mib", "extra.cores") == [("neuron:0", "Inferentia", "0000:00:1f.0", 8192, 4)]


def neuron_abbreviated(capture):
    section = capture.section("-j")
    assert verdict(section) == ("unavailable", "?")
    assert section["detection"]["reason"].startswith("neuron-ls -j: not valid JSON")
    keys = ("identity.pci", "memory_mib", "extra.cores", "extra.logical_core_config", "numa_node", "processes")
    assert shown(section, *keys) == [("neuron:0", "0000:cc:00.0", 98304, 4, 2, 1, 1), ("neuron:15", "0000:f7:00.0", 98304, 4, 2, 1, 1)]


def tenstorrent_snapshot(capture):
    section = capture.section("-s --snapshot_no_tty")
    assert verdict(section) == ("ok", 1)
    assert shown(section, "name", "identity.pci", "temperature_c.core", "temperature_c.limit_core", "power_w.draw", "extra.clock_mhz", "extra.heartbeat") == [
        ("tenstorrent:0", "p300c", "0000:04:00.0", 34.8, 110, 16.0, 800, 11540)
    ]
    device = section["devices"][0]
    assert device["health"] == {"state": "ok", "detail": "DDR_STATUS 0x55555555"}
    assert (device["extra"]["thermal_trips"], device["extra"]["board_power_limit_w"], "coords" in device["extra"]) == (0, 550, False)
    assert device["identity"]["serial"] == {"value": "46143497242", "quality": "good"}


def tenstorrent_galaxy(capture):
    section = capture.section("-ls")
    assert verdict(section) == ("unavailable", "?")
    assert section["detection"]["reason"].endswith("tt-smi -ls: rows are left out")
    assert [(d["index"], d["name"], d["identity"]["pci"]["value"], d["device_nodes"]) for d in section["devices"]] == [
        (0, "tt-galaxy-bh", "0000:01:00.0", ["/dev/tenstorrent/19"]),
        (1, "tt-galaxy-bh", "0000:02:00.0", ["/dev/tenstorrent/18"]),
        (2, "tt-galaxy-bh", "0000:03:00.0", ["/dev/tenstorrent/25"]),
        (31, "tt-galaxy-bh", "0000:c8:00.0", ["/dev/tenstorrent/6"]),
    ]


def kunlunxin_table(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 8)
    buses = ("52", "55", "63", "66", "9a", "9b", "aa", "ab")
    heat, power = (38, 40, 45, 44, 49, 41, 43, 42), (85, 84, 86, 86, 89, 85, 85, 88)
    assert shown(section, *VALUES) == [("kunlunxin:%d" % n, "P800 OAM", "0000:%s:00.0" % buses[n], heat[n], power[n], 400, 0, 98304) for n in range(8)]
    assert {values[1:] for values in shown(section, "ecc.uncorrected_volatile", "extra.sriov", "processes")} == {(0, "disabled", 0)}
    assert (section["driver"]["version"], section["driver"]["runtime_version"]) == ("5.0.21.26", "5.0.21")


def kunlunxin_query(capture):
    section = capture.section("-q")
    # Two are attached, one is described: the call was for one of them.
    assert verdict(section) == ("unavailable", "?")
    assert "'2' attached, 1 described" in section["detection"]["reason"]
    assert shown(section, *VALUES) == [("kunlunxin:0", "P800 PCIe", "0000:01:00.0", 46, 76.0, 350.0, 0, 98304)]
    device = section["devices"][0]
    assert {key: device["pcie"][key] for key in ("generation_current", "generation_max", "width_current", "width_max")} == {
        "generation_current": 3, "generation_max": 4, "width_current": 16, "width_max": 16,
    }  # fmt: skip
    assert [device["ecc"][key] for key in ("mode", "corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate")] == [
        "enabled",
        0,
        0,
        0,
        0,
    ]
    assert (device["extra"]["l3_mib"], device["extra"]["minor"], device["processes"], section["driver"]["runtime_version"]) == (96, 0, 0, "10.2")
    assert device["identity"]["serial"]["value"] == "92K3TV5617P4533V"


def enflame_stars(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 2)
    assert shown(section, *VALUES) == [("enflame:%d" % n, "T20", "0000:%s:00.0" % bus, 30, 48.0, 300, "?", 32768) for n, bus in enumerate(("3d", "3e"))]
    assert shown(section, "identity.uuid", "ecc.mode") == [("enflame:0", "S86435438486", "enabled"), ("enflame:1", "K18726559258", "enabled")]
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("1.20.0", "2.4.20230829")


def enflame_dashes(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 2)
    assert shown(section, *VALUES) == [("enflame:%d" % n, "Enflame S60", "0000:%s:00.0" % bus, "?", "?", "?", "?", 49120) for n, bus in enumerate(("3d", "3e"))]
    assert shown(section, "identity.serial", "ecc.mode", "utilization_percent") == [("enflame:0", "?", "enabled", 0), ("enflame:1", "?", "disabled", 0)]
    assert section["note"].startswith("the driver is 1.4.4.501, efsmi 1.4.0.505")


def enflame_query(capture):
    newer = "1.4.3" in capture.path
    section = capture.section("-q")
    assert verdict(section) == ("ok", 1)
    wanted = ("enflame:0", "S60", "0000:00:0c.0", "?", 104, 300, 0, 42976) if newer else ("enflame:7", "S60", "0000:b1:00.0", 41, 102, 300, 1129, 42976)
    assert shown(section, *VALUES) == [wanted]
    device = section["devices"][0]
    assert {key: device["pcie"][key] for key in ("generation_current", "generation_max", "width_current", "width_max")} == {
        "generation_current": 5, "generation_max": 5, "width_current": 16, "width_max": 16,
    }  # fmt: skip
    assert device["health"] == {"state": "ok", "detail": ""}
    assert (device["ecc"]["mode"], device["ecc"]["uncorrected_aggregate"]) == ("enabled", 0)
    assert (device["extra"]["rma"], device["extra"]["power_cable"]) == (False, "normal")
    assert section["driver"]["version"] == ("1.4.3.4" if newer else "1.2.4.12")
    if newer:
        assert (device["extra"]["reserved_mib"], device["extra"]["total_errors"], device["extra"]["resets"]) == (1129, 0, 0)


XPU = {
    "discovery -j": "discovery.json", "discovery -d 0 -j": "discovery-d.txt", "-v": "v.txt", "config -d 0 -j": "config-d0.txt", "stats -d 0 -j": "stats-d0.txt",
    "topology -m": "topology-m.txt", "vgpu --precheck -j": "vgpu-precheck-fail.txt", xpu_samples.DUMP: "dump.csv",
}  # fmt: skip


def xpu(capture, **changes):
    """One node of every command that was captured, all of them of device 0."""
    captures = {words: "intel-xpu/xpu-smi-" + name for words, name in dict(XPU, **changes).items() if name}
    section = capture.sections(captures)
    assert section["detection"]["detail"] == "Intel(R) Graphics [0x020a] x1" and verdict(section) == ("ok", 1)
    return section


def xpu_list(capture):
    section = capture.section("discovery" if capture.path.endswith("txt") else "discovery -j")
    assert verdict(section) == ("ok", 1)
    assert shown(section, "name", "identity.pci", "identity.uuid", "kind") == [
        ("intel:0", "Intel(R) Graphics [0x020a]", "0000:4d:00.0", "00000000-0000-0000-0000-020a00008086", "package")
    ]
    assert section["devices"][0]["extra"].get("pci_device") == ("0x020a" if capture.path.endswith("json") else None)


def xpu_details(capture):
    section = xpu(capture)
    assert len(section["devices"]) == 1  # a tile is no device
    keys = ("extra.tiles", "memory_mib", "ecc.mode", "pcie.generation_max", "pcie.width_max", "identity.serial", "identity.slot", "clocks_mhz.core_max")
    assert shown(section, *keys) == [("intel:0", 2, 32768, "enabled", 4, 16, "?", "Riser 1, slot 1", 1400)]
    assert shown(section, "firmware.gfx", "extra.xe_link_ports") == [("intel:0", "ATS0_1.1", 16)]
    assert section["driver"]["version"] == "16929133"


def xpu_newer(capture):
    section = capture.section("discovery -j")
    assert verdict(section) == ("ok", 1)
    keys = ("name", "identity.pci", "memory_mib", "pcie.generation_max", "pcie.width_max", "ecc.mode", "extra.pci_device", "identity.uuid")
    assert shown(section, *keys) == [
        ("intel:0", "Intel(R) Arc(TM) B580 Graphics", "0000:03:00.0", 12216, 4, 8, "disabled", "0xe20b", "00000000-0000-0003-0000-0000e20b8086")
    ]
    device = section["devices"][0]
    # The state is the tool's own word; a version that is empty is none, whatever the firmware's status is.
    assert (device["health"], device["firmware"]) == ({"state": "ok", "detail": "device: normal"}, {})
    assert section["driver"]["version"] == "9FF4708BCC22C0EE6FD801A"
    assert device["extra"]["kernel_version"] == "6.19.0-rc6"


def xpu_config(capture):
    device = xpu(capture)["devices"][0]
    assert [device["power_w"][key] for key in ("limit", "limit_min", "limit_max")] == [300.0, 1, 500]
    assert (device["ecc"]["mode"], device["extra"]["ecc_pending"]) == ("enabled", True)
    assert device["extra"]["xe_links"] == {tile: {"up": [0, 1, 2, 3], "down": [4, 5, 6, 7]} for tile in ("0/0", "0/1")}
    assert (device["clocks_mhz"]["core_set"], device["clocks_mhz"]["core_default"]) == (1300.0, 1300)


def xpu_dump(capture):
    section = xpu(capture, **{"stats -d 0 -j": None})
    # Of five samples the newest; 0 MHz is idle.
    assert shown(section, "power_w.draw", "utilization_percent", "clocks_mhz.core", "temperature_c.core") == [("intel:0", 14.61, 0, 0, "?")]


def xpu_stats(capture):
    section = xpu(capture, **{xpu_samples.DUMP: None})
    keys = ("temperature_c.core", "power_w.draw", "clocks_mhz.core", "memory_used_mib", "ecc.corrected_volatile", "ecc.uncorrected_volatile")
    assert shown(section, *keys) == [("intel:0", 41, 15, 2050, 24, 0, 0)]
    counters = ("resets", "programming_errors", "driver_errors", "cache_errors_corrected", "cache_errors_uncorrected")
    assert [section["devices"][0]["extra"][key] for key in counters] == [0] * 5
    # An empty cell is not available, not zero.
    assert shown(section, "temperature_c.memory") == [("intel:0", "?")]
    told = health_nodes.judge({"accelerators.intel": section, "host": synthetic.host()}, "ecc-uncorrected", "ecc-corrected", "device-lost")
    assert told == []


def xpu_topology(capture):
    extra = xpu(capture)["devices"][0]["extra"]
    assert extra["tile_paths"] == {"0/0": {"0/1": "MDF", "1/0": "XL*", "1/1": "XL16"}, "0/1": {"0/0": "MDF", "1/0": "XL16", "1/1": "XL*"}}
    assert extra["cpus"] == "0-23,48-71"
    words, cpus = xpu_smi.topology((ROOT / capture.path).read_text())
    assert (words["1/1"], cpus["1/0"]) == ({"0/0": "XL16", "0/1": "XL*", "1/0": "MDF"}, "24-47,72-95")


def xpu_version(capture):
    driver = xpu(capture)["driver"]
    assert (driver["tool_version"], driver["library_version"]) == ("1.0.0.20211217", "1.6.2")


def xpu_precheck(capture):
    extra = xpu(capture)["devices"][0]["extra"]
    assert [extra["vgpu_" + key] for key in ("vmx_flag", "sr_iov", "iommu")] == [True, False, True]
    assert extra["vgpu_sr_iov_message"] == "SR-IOV is disabled. Please set the related BIOS settings and kernel command line options."


def tpu_static(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 4)
    keys = ("name", "memory_mib", "memory_used_mib", "utilization_percent", "processes")
    used = (18893, 10650, 10650, 10650)  # 18.45 and 10.40 GiB
    assert shown(section, *keys) == [("tpu:%d" % n, "TPU v6e", 32000, used[n], 100, 1) for n in range(4)]
    assert [device["device_nodes"] for device in section["devices"]] == [["/dev/vfio/%d" % n] for n in range(4)]
    assert section["driver"]["library_version"] == "0.0.19.dev20250721+nightly"


def tpu_streaming(capture):
    section = capture.section("")
    assert verdict(section) == ("ok", 4)
    # The two tables number the chips differently: how much which of them uses is not known, and what all of them have is.
    assert shown(section, "memory_mib", "memory_used_mib", "utilization_percent", "processes") == [("tpu:%d" % n, 32000, "?", "?", 1) for n in range(4)]
    assert section["note"].startswith("tpu-info lists 4 chips and calls them 8, 9, 12, 13 where it tells their use")


def tpu_processes(capture):
    places = ["0000:00:%02x.0" % (4 + n) for n in range(8)]
    section = capture.section("--process", places=places)
    assert verdict(section) == ("ok", 8)
    assert shown(section, "processes") == [("tpu:%d" % n, 1) for n in range(8)]
    assert {tuple(device["extra"]["process_names"]) for device in section["devices"]} == {("python3",)}
    assert {row["pid"] for row in tpu.tables((ROOT / capture.path).read_text())[0]} == {"799657"}
    # Alone it lists chips in use, which may not be all.
    assert verdict(capture.section("--process"))[0] == "unavailable"


READ = {
    "gaudi/hl-smi-1.18-gaudi3-1-ragged.txt": gaudi_ragged,
    "gaudi/hl-smi-1.21-gaudi2-8-logger-prefix.txt": gaudi_logger,
    "gaudi/hl-smi-1.4.1-gaudi1-8-Mib.txt": gaudi_first,
    "aws-neuron/neuron-ls-conflicting-instance-type.txt": neuron_conflict,
    "aws-neuron/neuron-ls-inf1-1.txt": neuron_first,
    "aws-neuron/neuron-ls-j-abbreviated.txt": neuron_abbreviated,
    "aws-neuron/neuron-ls-topology-16.txt": neuron_sixteen,
    "aws-neuron/neuron-ls-trn2n-16.txt": neuron_sixteen,
    "aws-neuron/neuron-ls-wide-16.txt": neuron_sixteen,
    "tenstorrent/tt-smi-s-p300c.json": tenstorrent_snapshot,
    "tenstorrent/tt-smi-ls-galaxy-32-abbreviated.txt": tenstorrent_galaxy,
    "kunlunxin/xpu-smi-5.0.21-p800-8.txt": kunlunxin_table,
    "kunlunxin/xpu-smi-q-p800-pcie.txt": kunlunxin_query,
    "enflame/efsmi-1.20-t20-2-stars.txt": enflame_stars,
    "enflame/efsmi-1.4-s60-2-dashes.txt": enflame_dashes,
    "enflame/efsmi-q-1.2.4-s60.txt": enflame_query,
    "enflame/efsmi-q-1.4.3-s60.txt": enflame_query,
    "intel-xpu/xpu-smi-2.0-discovery-d-b580.txt": xpu_newer,
    "intel-xpu/xpu-smi-config-d0.txt": xpu_config,
    "intel-xpu/xpu-smi-discovery-1.txt": xpu_list,
    "intel-xpu/xpu-smi-discovery-d.txt": xpu_details,
    "intel-xpu/xpu-smi-discovery.json": xpu_list,
    "intel-xpu/xpu-smi-dump.csv": xpu_dump,
    "intel-xpu/xpu-smi-stats-d0.txt": xpu_stats,
    "intel-xpu/xpu-smi-topology-m.txt": xpu_topology,
    "intel-xpu/xpu-smi-v.txt": xpu_version,
    "intel-xpu/xpu-smi-vgpu-precheck-fail.txt": xpu_precheck,
    "google-tpu/tpu-info-process-8.txt": tpu_processes,
    "google-tpu/tpu-info-streaming-chip-ids.txt": tpu_streaming,
    "google-tpu/tpu-info-v6e-4.txt": tpu_static,
}
COUNTERS, CONDENSED = "aws-neuron/neuron-monitor-hw-counters.txt", "kunlunxin/xpu_smi-awk-condensed-8.txt"
# of a command that is not asked
NOT_READ = {
    "gaudi/dmesg-gaudi1-load-8.txt": "dmesg (kernel_events reads it; tests/captures/test_captures_kernel.py)",
    "gaudi/journal-gaudi3-load.txt": "journalctl -k (kernel_events reads it; tests/captures/test_captures_kernel.py)",
    "aws-neuron/dmesg-neuron-hw-err.txt": "dmesg (kernel_events reads it; tests/captures/test_captures_kernel.py)",
    COUNTERS: "neuron-monitor (a stream; the driver's files tell the same counters: test_counters_of_a_stream)",
    "tenstorrent/tt-smi-glx-reset.txt": "tt-smi -glx_reset (a reset, which no reader does)",
    "tenstorrent/tt-smi-tray-mapping.txt": "tt-smi -glx_list_tray_to_device (trays, no devices)",
    CONDENSED: "xpu_smi -m | awk (a script's five columns, without a name: test_what_a_script_left_of_a_table)",
}


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    assert not set(READ) & set(NOT_READ)
    indexed = {line.split("\t")[0] for line in INDEX.read_text(encoding="utf-8").splitlines()[1:]}
    here = {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).iterdir()}
    assert {path for path in indexed if path.split("/")[0] in FOLDERS} | here == {*READ, *NOT_READ}


@pytest.mark.parametrize("path", sorted(READ))
def test_capture(path, tmp_path):
    READ[path](Capture(tmp_path, path))


def test_what_a_script_left_of_a_table():
    """The five columns of each card, put back into the table that the script took them from."""
    told = [line.split() for line in (ROOT / CONDENSED).read_text(encoding="utf-8").splitlines() if "MiB" in line]
    section = samples.read("kunlunxin", {"": samples.xpu_table([("R480-X8", heat, power, used, total) for heat, power, used, total, _use in told])})
    assert verdict(section) == ("ok", 8)
    assert [card[1:] for card in shown(section, "temperature_c.core", "power_w.draw", "memory_used_mib", "memory_mib")] == [
        (37, 74, 0, 32768), (40, 114, 28653, 32768), (34, 74, 0, 32768), (37, 71, 0, 32768),
        (43, 99, 28934, 32768), (39, 74, 0, 32768), (46, 114, 23730, 32768), (38, 73, 0, 32768),
    ]  # fmt: skip
    assert [row[4] for row in told] == ["0%", "94%", "0%", "0%", "99%", "0%", "100%", "0%"]


def test_counters_of_a_stream():
    """neuron-monitor prints the counters that the driver's files hold."""
    text = (ROOT / COUNTERS).read_text(encoding="utf-8")
    (counted,) = json.loads("{%s}" % text.strip().rstrip(","))["neuron_hw_counters"]["neuron_devices"]
    assert counted.pop("neuron_device_index") == 0 and len(counted) == 4 and set(counted.values()) == {0}
    told = {name: counted[name] for name in ("mem_ecc_uncorrected", "sram_ecc_uncorrected")}
    section = samples.read("neuron", {"-j": samples.neuron_json(1)}, samples.neuron_files(1, **told))
    assert shown(section, "ecc.uncorrected_volatile") == [("neuron:0", 0)]
    worse = samples.read("neuron", {"-j": samples.neuron_json(1)}, samples.neuron_files(1, **dict(told, sram_ecc_uncorrected=2)))
    assert shown(worse, "ecc.uncorrected_volatile") == [("neuron:0", 2)]


@pytest.mark.parametrize("path", sorted(NOT_READ))
def test_a_capture_of_another_command_is_never_a_device(path, tmp_path):
    manufacturer = FOLDERS[path.split("/")[0]]
    for words in samples.everywhere(manufacturer, ""):
        section = Capture(tmp_path, path).section(words, manufacturer)
        assert section["devices"] == [], words
        assert section["detection"]["state"] != "ok"


@pytest.mark.parametrize("path", sorted(path for path in READ if path.startswith(("intel-xpu/", "google-tpu/", "kunlunxin/"))))
def test_a_capture_of_another_manufacturer_is_never_a_device(path, tmp_path):
    """Intel and Kunlunxin call their tools by one name."""
    others = ["intel"] if path.startswith("kunlunxin") else sorted(set(samples.READERS) - {FOLDERS[path.split("/")[0]]})
    for manufacturer in others:
        for words in samples.everywhere(manufacturer, ""):
            section = Capture(tmp_path, path).section(words, manufacturer)
            assert section["devices"] == [], (manufacturer, words)
            assert section["detection"]["state"] != "ok"
