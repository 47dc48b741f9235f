# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD demo nodes: eight MI300X."""

from __future__ import annotations

import json

from demo_nodes import machine, paths

EPYC = """vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC 9684X 96-Core Processor
stepping\t: 2
microcode\t: 0xa10124e
flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov sse sse2 ht syscall nx lm constant_tsc avx512f
"""
BUSES = (0x0C, 0x2F, 0x4F, 0x6F, 0x8C, 0xAF, 0xCF, 0xEF)
DRIVER, OTHER_DRIVER = "6.14.14", "6.12.12"
TOOL = {"tool": "AMDSMI Tool", "version": "26.0.0+37d158ab", "amdsmi_library_version": "26.0.0", "rocm_version": "7.0.1"}
FIRMWARE = {
    "CP_MEC1": "180", "CP_MEC2": "180", "RLC": "68", "SDMA0": "22", "VCN": "09.11.80.0B", "PSP_SOSDRV": "00.36.02.59",
    "TA_RAS": "1B.36.02.14", "PM": "04.85.130.00",
}  # fmt: skip
NONE = "No bad pages found."


def of(value, unit):
    return {"value": value, "unit": unit}


def bdf(index):
    return "0000:%02x:00.0" % BUSES[index]


def static(number, index, driver):
    return {
        "gpu": index,
        "asic": {
            "market_name": "AMD Instinct MI300X", "vendor_id": "0x1002", "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]", "subvendor_id": "0x1002",
            "device_id": "0x74a1", "subsystem_id": "0x74a1", "rev_id": "0x00", "asic_serial": serial(number, index), "oam_id": index,
            "num_compute_units": 304, "target_graphics_version": "gfx942",
        },
        "bus": {"bdf": bdf(index), "max_pcie_width": 16, "max_pcie_speed": of(32, "GT/s"), "pcie_interface_version": "Gen 5", "slot_type": "OAM"},
        "ifwi": {"name": "MI300X_SPX_NL", "build_date": "2025/06/11 09:40", "part_number": "113-NLM3000-108", "version": "022.040.003.046"},
        "limit": {
            "max_power": of(750, "W"), "min_power": of(0, "W"), "socket_power": of(750, "W"), "slowdown_edge_temperature": "N/A",
            "slowdown_hotspot_temperature": of(100, "C"), "slowdown_vram_temperature": of(105, "C"), "shutdown_hotspot_temperature": of(110, "C"),
        },
        "driver": {"name": "amdgpu", "version": driver},
        "board": {"model_number": "102-NL3002-00", "product_serial": board(number, index), "fru_id": "113-NLM3000", "product_name": "AMD Instinct MI300X OAM"},
        "ras": {
            "eeprom_version": "0x20000", "bad_page_threshold": 256, "bad_page_threshold_exceeded": "False", "parity_schema": "DISABLED",
            "ecc_block_state": {"UMC": "ENABLED", "SDMA": "ENABLED", "GFX": "ENABLED", "XGMI_WAFL": "ENABLED"},
        },
        "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
        "numa": {"node": index // 4, "affinity": index // 4},
        "vram": {"type": "HBM3", "vendor": "HYNIX", "size": of(196592, "MB"), "bit_width": 8192},
    }  # fmt: skip


def metric(number, index):
    block = {"correctable_count": 0, "uncorrectable_count": 0, "deferred_count": 0}
    return {
        "gpu": index,
        "usage": {"gfx_activity": of(0, "%"), "umc_activity": of(0, "%")},
        "power": {"socket_power": of(131 + (5 * index + number) % 11, "W"), "throttle_status": "N/A", "power_management": "ENABLED"},
        "temperature": {"edge": "N/A", "hotspot": of(37 + (index + number) % 5, "C"), "mem": of(31 + (2 * index + number) % 4, "C")},
        "pcie": {"width": 16, "speed": of(32, "GT/s"), "bandwidth": "N/A", "replay_count": 0},
        "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": 0, "cache_correctable_count": "N/A"},
        "clock": {
            "gfx_0": {"clk": of(132, "MHz"), "min_clk": of(500, "MHz"), "max_clk": of(2100, "MHz"), "clk_locked": "DISABLED", "deep_sleep": "ENABLED"},
            "mem_0": {"clk": of(900, "MHz"), "min_clk": of(900, "MHz"), "max_clk": of(1300, "MHz"), "clk_locked": "N/A", "deep_sleep": "DISABLED"},
        },
        "perf_level": "AMDSMI_DEV_PERF_LEVEL_AUTO", "xgmi_err": "NO_ERRORS",
        "ecc_blocks": {"UMC": block, "GFX": block},
        "mem_usage": {"total_vram": of(196592, "MB"), "used_vram": of(285, "MB")},
        "throttle": {
            "accumulation_counter": 27360011 + index, "prochot_accumulated": 0, "ppt_accumulated": 118, "socket_thermal_accumulated": 0,
            "vr_thermal_accumulated": 0, "hbm_thermal_accumulated": 0, "prochot_violation_status": "NOT ACTIVE", "ppt_violation_status": "NOT ACTIVE",
            "socket_thermal_violation_status": "NOT ACTIVE", "vr_thermal_violation_status": "NOT ACTIVE", "hbm_thermal_violation_status": "NOT ACTIVE",
            "low_utilization_violation_status": {"xcp_0": ["ACTIVE", "N/A"]},
        },
    }  # fmt: skip


def serial(number, index):
    return "0x%016X" % (0x3D5F0000A1C70000 + number * 4096 + index * 151)


def board(number, index):
    return "6925%02d0%05d" % (number, 31400 + 17 * index)


def tables(number, driver):
    """{word of amd-smi: what it prints}."""
    gpus = range(8)
    uuid = "%02xff74a1-0000-1000-80%02x-%012x"
    listed = [
        {
            "gpu": g, "bdf": bdf(g), "uuid": uuid % (0xA0 + g, number, 0x3D5F0000A1C7 + g), "kfd_id": 21007 + 311 * g, "node_id": 2 + g,
            "partition_id": 0,
        }
        for g in gpus
    ]  # fmt: skip
    links = [
        {
            "gpu": g, "bdf": bdf(g),
            "link_metrics": {
                "bit_rate": of(32, "Gb/s"), "max_bandwidth": of(512, "Gb/s"), "link_type": "XGMI",
                "links": [{"gpu": p, "bdf": bdf(p), "read": "N/A" if p == g else of(2, "KB"), "write": "N/A" if p == g else of(1, "KB")} for p in gpus],
            },
        }
        for g in gpus
    ]  # fmt: skip
    return {
        "version": [TOOL],
        "list": listed,
        "static": [static(number, g, driver) for g in gpus],
        "metric": [metric(number, g) for g in gpus],
        "firmware": [{"gpu": g, "fw_list": [{"fw_id": name, "fw_version": version} for name, version in FIRMWARE.items()]} for g in gpus],
        "bad-pages": [{"gpu": g, "retired": NONE, "pending": NONE, "un_res": NONE} for g in gpus],
        "process": [{"gpu": g, "process_list": [{"process_info": "No running processes detected"}]} for g in gpus],
        "xgmi": {"xgmi_metric": links, "link_port_status": [{"gpu": g, "bdf": bdf(g), "link_status": ["U"] * 7 + ["X"]} for g in gpus]},
    }


def base(name, number, note, driver=DRIVER):
    node = machine.Node(name, note)
    machine.system(node, "NL8-OAM 8U", "NLM26%05X" % (0x5B20 + 31 * number), EPYC, 2, 96, True, 2304, cmdline="quiet amd_iommu=on iommu=pt pci=realloc=off")
    node.surroundings = {
        "number": 20 + number, "modules": (24, 96, 0x22, 4800, "Northlake Memory", "NM5R96G48"), "driver": ("amdgpu", driver, True), "clock": "chrony",
        "scaling": "acpi-cpufreq", "mitigations": {"meltdown": "Not affected", "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional"},
    }  # fmt: skip
    for index, bus in enumerate(BUSES):
        path = ["pci0000:%02x" % (bus - 3)]
        for step, (part, function) in enumerate(((bus - 3, "01.1"), (bus - 2, "00.0"), (bus - 1, "00.0"))):
            path.append("0000:%02x:%s" % (part, function))
            # the first is the slot's port, the others are the card's own switch
            vendor, device = (("0x1022", "0x14ab"), ("0x1002", "0x1500"), ("0x1002", "0x1501"))[step]
            node.port(path, vendor, device, (16, 16, "32.0 GT/s", "32.0 GT/s") if step < 2 else None)
        path.append(bdf(index))
        place = node.function(path, "0x1002", "0x74a1", "0x120000", "amdgpu", index // 4, ("0x1002", "0x74a1"), "0x00", (16, 16, "32.0 GT/s", "32.0 GT/s"))
        node.files[place + "/drm"] = {"dir": ["card%d" % (index + 1), "renderD%d" % (128 + index)]}
        node.other("0000:%02x:00.0" % (bus + 1), "0x14e4")
    node.bar_gib = 256
    node.run("amd-smi", "topology", "--json", rc=0, stdout=paths.amd([bdf(index) for index in range(len(BUSES))]), seconds=1.1)
    node.other("0000:1b:00.0", "0x15b3")
    node.other("0000:00:01.0", "0x1022")
    node.modules.append("amdgpu")
    node.lines("/sys/module/amdgpu", initstate="live", version=driver)
    node.files["/opt/rocm/.info/version"] = "7.0.1-42\n"
    node.dev += ["dri", "kfd"]
    shown = sorted("%s%d" % (word, first + n) for word, first in (("card", 1), ("renderD", 128)) for n in range(len(BUSES)))
    node.files.update({"/dev/dri/" + name: {"device": "char"} for name in shown}, **{"/dev/dri": {"dir": shown}})
    topology(node, number)
    node.log += [
        (15.002341, "[drm] amdgpu kernel modesetting enabled."),
        (15.002910, "[drm] amdgpu version: %s" % driver),
        (16.733104, "amdgpu 0000:0c:00.0: amdgpu: VRAM: 196592M 0x0000008000000000 - 0x000000AFFEFFFFFF (196592M used)"),
        (24.118702, "amdgpu 0000:0c:00.0: amdgpu: RAS INFO: ras initialized successfully, hardware ability[7fff] ras_mask[7fff]"),
        (31.559120, "amdgpu 0000:ef:00.0: amdgpu: SMU is initialized successfully!"),
    ]
    return node


def topology(node, number):
    """KFD's own list: the processors, then each card with its compute units."""
    folder = "/sys/class/kfd/kfd/topology/nodes"
    node.files[folder] = {"dir": [str(n) for n in range(2 + len(BUSES))]}
    for processor in range(2):
        node.files["%s/%d/properties" % (folder, processor)] = "cpu_cores_count 192\nsimd_count 0\nmem_banks_count 1\nlocation_id 0\ndomain 0\n"
    for index, bus in enumerate(BUSES):
        values = {
            "cpu_cores_count": 0, "simd_count": 1216, "mem_banks_count": 1, "array_count": 32, "simd_arrays_per_engine": 1, "simd_per_cu": 4, "num_xcc": 8,
            "gfx_target_version": 90402, "location_id": bus << 8, "domain": 0, "unique_id": int(serial(number, index), 16),
        }  # fmt: skip
        node.files["%s/%d/properties" % (folder, index + 2)] = "".join("%s %d\n" % item for item in values.items())


def by_smi(node, number, driver=DRIVER):
    for word, said in tables(number, driver).items():
        node.run("amd-smi", word, "--json", rc=0, stdout=json.dumps(said, indent=1) + "\n")
    return node


def hanging(name, number, note):
    """amd-smi never answers; the driver's files do."""
    node = base(name, number, note)
    node.run("amd-smi", "version", "--json", hang=True)
    nodes_of = ["/dev/kfd"] + ["/dev/dri/renderD%d" % (128 + index) for index in range(len(BUSES))]
    node.run("find", *nodes_of, "-maxdepth", "0", "!", "-writable", rc=0, stdout="")
    for index in range(len(BUSES)):
        base_path = "%s/%s" % (machine.DEVICES, bdf(index))
        node.lines(
            base_path, product_name="AMD Instinct MI300X OAM", unique_id=serial(number, index)[2:].lower(), serial_number=board(number, index),
            mem_info_vram_total=206141652992, mem_info_vram_used=298844160, gpu_busy_percent=0, pcie_replay_count=0, current_compute_partition="SPX",
            current_memory_partition="NPS1", vbios_version="113-NLM3000-108",
            pp_dpm_sclk="S: 132Mhz *\n0: 500Mhz\n1: 2100Mhz", pp_dpm_mclk="0: 900Mhz *\n1: 1300Mhz", power_dpm_force_performance_level="auto",
        )  # fmt: skip
        node.files[base_path + "/fw_version"] = {"dir": ["mec_fw_version", "rlc_fw_version"]}
        node.lines(base_path + "/fw_version", mec_fw_version="0x000000b4", rlc_fw_version="0x00000044")
        chip = base_path + "/hwmon/hwmon%d" % (index + 3)
        node.files[base_path + "/hwmon"] = {"dir": ["hwmon%d" % (index + 3)]}
        node.files[chip + "/temp1_label"] = node.files[chip + "/temp1_input"] = {"absent": True}
        node.lines(chip, temp2_label="junction", temp2_input=38000 + 1000 * (index % 3), temp2_crit=100000, temp2_emergency=110000)
        node.lines(chip, temp3_label="mem", temp3_input=32000, temp3_crit=105000)
        node.files[chip + "/power1_average"] = {"absent": True}
        node.lines(chip, power1_input=137000000, power1_cap=750000000, power1_cap_default=750000000, power1_cap_min=0, power1_cap_max=750000000)
        node.files[base_path + "/ras"] = {"dir": ["features", "gpu_vram_bad_pages", "gfx_err_count", "umc_err_count"]}
        node.lines(base_path + "/ras", umc_err_count="ue: 0\nce: 0", gfx_err_count="ue: 0\nce: 0")
        node.files[base_path + "/ras/gpu_vram_bad_pages"] = ""
    return node


def nodes():
    other = by_smi(base("gpu-m02", 2, "Another driver than its peers.", OTHER_DRIVER), 2, OTHER_DRIVER)
    return [
        node.document()
        for node in (
            by_smi(base("gpu-m01", 1, "Healthy."), 1),
            other,
            hanging("gpu-m03", 3, "amd-smi hangs; the driver's files still tell the devices."),
            by_smi(base("gpu-m04", 4, "Healthy."), 4),
        )
    ]
