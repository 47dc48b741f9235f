# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD nodes of our own making, in the shapes of the tools."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost

BUSES = ("05", "26", "46", "65", "85", "a6", "c6", "e5")
WORDS = ("version", "list", "static", "metric", "firmware", "bad-pages", "process", "xgmi")
NO_PCI = {"/sys/bus/pci/devices": {"dir": []}}


def unit(value, of):
    return {"value": value, "unit": of}


def listed(gpu, bdf=None, partition=0):
    return {
        "gpu": gpu,
        "bdf": bdf or "0000:%s:00.0" % BUSES[gpu],
        "uuid": "beff74a1-0000-1000-80%02x-0123456789ab" % gpu,
        "kfd_id": 1000 + gpu,
        "node_id": gpu + 2,
        "partition_id": partition,
    }


def static(gpu, bdf=None, **changes):
    entry = {
        "gpu": gpu,
        "asic": {
            "market_name": "AMD Instinct MI300X",
            "device_id": "0x74a1",
            "asic_serial": "0x0A%014X" % (gpu + 1),
            "oam_id": gpu,
            "target_graphics_version": "gfx942",
        },
        "bus": {"bdf": bdf or "0000:%s:00.0" % BUSES[gpu], "max_pcie_width": 16, "max_pcie_speed": unit(32, "GT/s"), "pcie_interface_version": "Gen 5"},
        "ifwi": {"name": "AMD MI300X_HW", "version": "022.040.003.041", "part_number": "113-M3000100-102"},
        "limit": {
            "max_power": unit(750, "W"),
            "socket_power": unit(750, "W"),
            "slowdown_edge_temperature": "N/A",
            "slowdown_hotspot_temperature": unit(100, "C"),
            "slowdown_vram_temperature": unit(105, "C"),
            "shutdown_hotspot_temperature": unit(110, "C"),
            "min_power": unit(0, "W"),
        },
        "driver": {"name": "amdgpu", "version": "6.12.12", "os_kernel_version": "5.15.0-140-generic"},
        "board": {"model_number": "102-G30211-0C", "product_serial": "69230000%04d" % gpu, "product_name": "AMD Instinct MI300X OAM"},
        "ras": {
            "eeprom_version": "0x20000",
            "bad_page_threshold": 256,
            "bad_page_threshold_exceeded": "False",
            "ecc_block_state": {"UMC": "ENABLED", "GFX": "ENABLED"},
        },
        "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
        "numa": {"node": gpu // 4, "affinity": gpu // 4},
        "vram": {"type": "HBM3", "vendor": "HYNIX", "size": unit(196592, "MB")},
    }
    entry.update(changes)
    return entry


def metric(gpu, **changes):
    entry = {
        "gpu": gpu,
        "usage": {"gfx_activity": unit(0, "%")},
        "power": {"socket_power": unit(140 + gpu, "W"), "throttle_status": "N/A", "power_management": "ENABLED"},
        "temperature": {"edge": "N/A", "hotspot": unit(41, "C"), "mem": unit(36, "C")},
        "pcie": {"width": 16, "speed": unit(32, "GT/s"), "replay_count": 0},
        "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": 0},
        "clock": {
            "gfx_0": {"clk": unit(132, "MHz"), "min_clk": unit(132, "MHz"), "max_clk": unit(2100, "MHz"), "clk_locked": "DISABLED"},
            "mem_0": {"clk": unit(900, "MHz"), "max_clk": unit(1300, "MHz"), "clk_locked": "N/A"},
        },
        "perf_level": "AMDSMI_DEV_PERF_LEVEL_AUTO",
        "xgmi_err": "NO_ERRORS",
        "ecc_blocks": {"UMC": {"correctable_count": 0, "uncorrectable_count": 0, "deferred_count": 0}},
        "mem_usage": {"total_vram": unit(196592, "MB"), "used_vram": unit(283, "MB")},
        "throttle": {
            "accumulation_counter": 3807000,
            "ppt_accumulated": 5856,
            "prochot_violation_status": "NOT ACTIVE",
            "ppt_violation_status": "NOT ACTIVE",
            "socket_thermal_violation_status": "NOT ACTIVE",
            "hbm_thermal_violation_status": "N/A",
            "total_gfx_clk_below_host_limit_violation_status": {"xcp_0": ["ACTIVE", "N/A"]},
            "low_utilization_violation_status": "ACTIVE",
        },
    }
    entry.update(changes)
    return entry


def firmware(gpu):
    return {
        "gpu": gpu,
        "fw_list": [{"fw_id": "CP_MEC1", "fw_version": "184"}, {"fw_id": "PM", "fw_version": "85.117.0"}, {"fw_id": "VCE", "fw_version": "0x00000000"}],
    }


def bad_pages(gpu, retired="No bad pages found.", pending="No bad pages found."):
    return {"gpu": gpu, "retired": retired, "pending": pending, "un_res": "No bad pages found."}


def process(gpu, *names):
    infos = [{"process_info": {"name": name, "pid": 4000 + gpu, "mem_usage": unit(0, "B")}} for name in names]
    return {"gpu": gpu, "process_list": infos or [{"process_info": "No running processes detected"}]}


def xgmi(gpus):
    rows, ports = [], []
    for gpu in gpus:
        bdf = "0000:%s:00.0" % BUSES[gpu]
        peers = [
            {"gpu": p, "bdf": "0000:%s:00.0" % BUSES[p], "read": "N/A" if p == gpu else unit(2, "KB"), "write": "N/A" if p == gpu else unit(1, "KB")}
            for p in gpus
        ]
        rows.append(
            {"gpu": gpu, "bdf": bdf, "link_metrics": {"bit_rate": unit(32, "Gb/s"), "max_bandwidth": unit(512, "Gb/s"), "link_type": "XGMI", "links": peers}}
        )
        ports.append({"gpu": gpu, "bdf": bdf, "link_status": ["U"] * (len(gpus) - 1) + ["X"]})
    return {"xgmi_metric": rows, "link_port_status": ports}


VERSION = [{"tool": "AMDSMI Tool", "version": "25.3.0+ede62f2", "amdsmi_library_version": "25.3.0", "rocm_version": "6.4.0"}]


def node(gpus=range(8), wrapped=False):
    """{word of amd-smi: what it prints as JSON} of a healthy node."""
    gpus = list(gpus)
    tables = {
        "version": VERSION,
        "list": [listed(g) for g in gpus],
        "static": [static(g) for g in gpus],
        "metric": [metric(g) for g in gpus],
        "firmware": [firmware(g) for g in gpus],
        "bad-pages": [bad_pages(g) for g in gpus],
        "process": [process(g) for g in gpus],
        "xgmi": xgmi(gpus),
    }
    if wrapped:
        tables.update({word: {"cpu_data": [], "gpu_data": tables[word]} for word in ("static", "metric")})
    return tables


def command(argv, said):
    """A recorded command: a dict is the entry itself, a text is printed, anything else is printed as JSON."""
    entry = {"argv": argv.split() if isinstance(argv, str) else argv}
    if isinstance(said, dict) and set(said) & {"rc", "missing", "hang", "stdout", "stderr", "signal", "denied", "overflow"}:
        entry.update(said)
    else:
        entry["stdout"] = said if isinstance(said, str) else json.dumps(said, indent=4)
    return entry


def replay(tables=None, rocm=None, files=None, host=None, more=()):
    commands = [command(["amd-smi", word, "--json"], (tables or {}).get(word, {"missing": True})) for word in WORDS]
    commands.append(command("rocm-smi -a --json", {"missing": True} if rocm is None else rocm))
    commands += [command(*one) for one in more]
    document = {
        "schema": "fleetproof.accelerator/recording/v1",
        "node": "gpu-m01",
        "recorded": "2026-11-29T17:00:00Z",
        "host": host or {},
        "files": files or {},
        "commands": commands,
    }
    return ReplayHost(document)


def on_pci(addresses, driver="amdgpu", **more):
    """Entries of the PCI reader."""
    link = {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
    return [
        dict(
            {
                "address": a,
                "vendor": "1002",
                "device": "74a1",
                "manufacturer": "amd",
                "role": "accelerator",
                "model": "MI300X",
                "driver": driver,
                "numa_node": 0,
                "pcie": link,
                "upstream": link,
            },
            **more,
        )
        for a in addresses
    ]
