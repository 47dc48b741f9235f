# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA demo nodes: HGX H100 with eight GPUs, and a GB200 tray with four."""

from __future__ import annotations

from demo_nodes import machine, paths

XEON = """vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: INTEL(R) XEON(R) PLATINUM 8470
stepping\t: 8
microcode\t: 0x2b000643
flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov sse sse2 ht syscall nx lm constant_tsc avx512f amx_tile
"""
GRACE = """BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics sve sve2
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd4f
CPU revision\t: 0
"""
BUSES = (0x1A, 0x2C, 0x3E, 0x5F, 0x9C, 0xAD, 0xBE, 0xDC)
DOMAINS = (0x08, 0x09, 0x18, 0x19)
IDLE = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
    "sync_boost", "sw_thermal_slowdown",
)  # fmt: skip

GPU = """\t<gpu id="{bus}">
\t\t<product_name>{name}</product_name>
\t\t<product_brand>NVIDIA</product_brand>
\t\t<product_architecture>{architecture}</product_architecture>
\t\t<display_active>Disabled</display_active>
\t\t<persistence_mode>Enabled</persistence_mode>
\t\t<addressing_mode>{addressing}</addressing_mode>
\t\t<mig_mode>
\t\t\t<current_mig>Disabled</current_mig>
\t\t\t<pending_mig>Disabled</pending_mig>
\t\t</mig_mode>
\t\t<mig_devices>
\t\t\tNone
\t\t</mig_devices>
\t\t<serial>{serial}</serial>
\t\t<uuid>{uuid}</uuid>
\t\t<minor_number>{index}</minor_number>
\t\t<vbios_version>{vbios}</vbios_version>
\t\t<inforom_version>
\t\t\t<img_version>{inforom}</img_version>
\t\t\t<oem_object>2.1</oem_object>
\t\t\t<ecc_object>7.16</ecc_object>
\t\t\t<pwr_object>N/A</pwr_object>
\t\t</inforom_version>
\t\t<gsp_firmware_version>{driver}</gsp_firmware_version>
\t\t<platformInfo>
\t\t\t<chassis_serial_number>{chassis}</chassis_serial_number>
\t\t\t<slot_number>{slot}</slot_number>
\t\t\t<tray_index>{tray}</tray_index>
\t\t\t<module_id>{module}</module_id>
\t\t</platformInfo>
\t\t<gpu_virtualization_mode>
\t\t\t<virtualization_mode>None</virtualization_mode>
\t\t</gpu_virtualization_mode>
\t\t<gpu_recovery_action>None</gpu_recovery_action>
\t\t<pci>
\t\t\t<pci_bus_id>{bus}</pci_bus_id>
\t\t\t<pci_device_id>{device}</pci_device_id>
\t\t\t<pci_gpu_link_info>
\t\t\t\t<pcie_gen>
\t\t\t\t\t<max_link_gen>5</max_link_gen>
\t\t\t\t\t<current_link_gen>{generation}</current_link_gen>
\t\t\t\t\t<max_device_link_gen>5</max_device_link_gen>
\t\t\t\t</pcie_gen>
\t\t\t\t<link_widths>
\t\t\t\t\t<max_link_width>16x</max_link_width>
\t\t\t\t\t<current_link_width>16x</current_link_width>
\t\t\t\t</link_widths>
\t\t\t</pci_gpu_link_info>
\t\t\t<replay_counter>0</replay_counter>
\t\t</pci>
\t\t<performance_state>P0</performance_state>
\t\t<clocks_event_reasons>
{reasons}
\t\t</clocks_event_reasons>
\t\t<clocks_event_reasons_counters>
\t\t\t<clocks_event_reasons_counters_sw_power_cap>0 us</clocks_event_reasons_counters_sw_power_cap>
\t\t\t<clocks_event_reasons_counters_sync_boost>0 us</clocks_event_reasons_counters_sync_boost>
\t\t\t<clocks_event_reasons_counters_sw_therm_slowdown>0 us</clocks_event_reasons_counters_sw_therm_slowdown>
\t\t\t<clocks_event_reasons_counters_hw_therm_slowdown>0 us</clocks_event_reasons_counters_hw_therm_slowdown>
\t\t\t<clocks_event_reasons_counters_hw_power_brake>0 us</clocks_event_reasons_counters_hw_power_brake>
\t\t</clocks_event_reasons_counters>
\t\t<fb_memory_usage>
\t\t\t<total>{memory} MiB</total>
\t\t\t<reserved>{reserved} MiB</reserved>
\t\t\t<used>1 MiB</used>
\t\t\t<free>{free} MiB</free>
\t\t</fb_memory_usage>
\t\t<cc_protected_memory_usage>
\t\t\t<total>0 MiB</total>
\t\t</cc_protected_memory_usage>
\t\t<compute_mode>Default</compute_mode>
\t\t<utilization>
\t\t\t<gpu_util>0 %</gpu_util>
\t\t\t<memory_util>0 %</memory_util>
\t\t</utilization>
\t\t<ecc_mode>
\t\t\t<current_ecc>Enabled</current_ecc>
\t\t\t<pending_ecc>Enabled</pending_ecc>
\t\t</ecc_mode>
\t\t<ecc_errors>
\t\t\t<volatile>
\t\t\t\t<sram_correctable>0</sram_correctable>
\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
\t\t\t\t<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
\t\t\t\t<dram_correctable>0</dram_correctable>
\t\t\t\t<dram_uncorrectable>0</dram_uncorrectable>
\t\t\t</volatile>
\t\t\t<aggregate>
\t\t\t\t<sram_correctable>0</sram_correctable>
\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
\t\t\t\t<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
\t\t\t\t<dram_correctable>0</dram_correctable>
\t\t\t\t<dram_uncorrectable>{lifetime}</dram_uncorrectable>
\t\t\t\t<sram_threshold_exceeded>No</sram_threshold_exceeded>
\t\t\t</aggregate>
\t\t</ecc_errors>
\t\t<retired_pages>
\t\t\t<multiple_single_bit_retirement>
\t\t\t\t<retired_count>N/A</retired_count>
\t\t\t</multiple_single_bit_retirement>
\t\t\t<double_bit_retirement>
\t\t\t\t<retired_count>N/A</retired_count>
\t\t\t</double_bit_retirement>
\t\t\t<pending_blacklist>N/A</pending_blacklist>
\t\t\t<pending_retirement>N/A</pending_retirement>
\t\t</retired_pages>
\t\t<remapped_rows>
\t\t\t<remapped_row_corr>0</remapped_row_corr>
\t\t\t<remapped_row_unc>{lifetime}</remapped_row_unc>
\t\t\t<remapped_row_pending>{pending}</remapped_row_pending>
\t\t\t<remapped_row_failure>No</remapped_row_failure>
\t\t\t<row_remapper_histogram>
\t\t\t\t<row_remapper_histogram_max>{banks} bank(s)</row_remapper_histogram_max>
\t\t\t\t<row_remapper_histogram_high>{lifetime} bank(s)</row_remapper_histogram_high>
\t\t\t\t<row_remapper_histogram_partial>0 bank(s)</row_remapper_histogram_partial>
\t\t\t\t<row_remapper_histogram_low>0 bank(s)</row_remapper_histogram_low>
\t\t\t\t<row_remapper_histogram_none>0 bank(s)</row_remapper_histogram_none>
\t\t\t</row_remapper_histogram>
\t\t</remapped_rows>
\t\t<temperature>
\t\t\t<gpu_temp>{temperature} C</gpu_temp>
\t\t\t<gpu_temp_tlimit>{margin} C</gpu_temp_tlimit>
\t\t\t<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
\t\t\t<memory_temp>{hbm} C</memory_temp>
\t\t</temperature>
\t\t<gpu_power_readings>
\t\t\t<power_state>P0</power_state>
\t\t\t<average_power_draw>{draw} W</average_power_draw>
\t\t\t<instant_power_draw>{draw} W</instant_power_draw>
\t\t\t<current_power_limit>{limit} W</current_power_limit>
\t\t\t<default_power_limit>{limit} W</default_power_limit>
\t\t\t<min_power_limit>200.00 W</min_power_limit>
\t\t\t<max_power_limit>{limit} W</max_power_limit>
\t\t</gpu_power_readings>
\t\t<clocks>
\t\t\t<graphics_clock>345 MHz</graphics_clock>
\t\t\t<mem_clock>{hbm_clock} MHz</mem_clock>
\t\t</clocks>
\t\t<applications_clocks>
\t\t\t<graphics_clock>{clock} MHz</graphics_clock>
\t\t</applications_clocks>
\t\t<default_applications_clocks>
\t\t\t<graphics_clock>{clock} MHz</graphics_clock>
\t\t</default_applications_clocks>
\t\t<max_clocks>
\t\t\t<graphics_clock>{clock} MHz</graphics_clock>
\t\t\t<mem_clock>{hbm_clock} MHz</mem_clock>
\t\t</max_clocks>
\t\t<processes>
\t\t</processes>
\t\t<fabric>
\t\t\t<state>Completed</state>
\t\t\t<status>Success</status>
\t\t\t<cliqueId>{clique}</cliqueId>
\t\t\t<clusterUuid>{cluster}</clusterUuid>
\t\t\t<health>
\t\t\t\t<summary>{summary}</summary>
\t\t\t\t<bandwidth>{bandwidth}</bandwidth>
\t\t\t\t<route_recovery_in_progress>{flag}</route_recovery_in_progress>
\t\t\t\t<route_unhealthy>{flag}</route_unhealthy>
\t\t\t\t<access_timeout_recovery>{flag}</access_timeout_recovery>
\t\t\t\t<incorrect_configuration>{configuration}</incorrect_configuration>
\t\t\t</health>
\t\t</fabric>
\t</gpu>
"""
H100 = {
    "name": "NVIDIA H100 80GB HBM3", "architecture": "Hopper", "vbios": "96.00.C9.00.02", "inforom": "G520.0200.00.06", "driver": "580.105.08", "cuda": "13.0",
    "memory": 81559, "reserved": 551, "limit": "700.00", "clique": 0, "cluster": "00000000-0000-0000-0000-000000000000", "chassis": "N/A", "tray": "N/A",
    "slot": "N/A", "rate": "26.562 GB/s", "addressing": "None", "machine": "x86_64",
    "device": "233010DE", "banks": 2560, "clock": 1980, "hbm_clock": 2619, "summary": "N/A", "bandwidth": "N/A", "flag": "N/A", "configuration": "N/A",
}  # fmt: skip
GB200 = {
    "name": "NVIDIA GB200", "architecture": "Blackwell", "vbios": "97.00.B9.00.4C", "inforom": "G548.0201.00.08", "driver": "580.105.08", "cuda": "13.0",
    "memory": 189471, "reserved": 731, "limit": "1200.00", "clique": 32766, "cluster": "3f2a6c10-58de-4b1d-93a7-0c44e1b2d905", "chassis": "NLC2600417",
    "tray": 3, "slot": 11, "rate": "50 GB/s", "addressing": "ATS", "machine": "aarch64",
    "device": "294110DE", "banks": 3840, "clock": 2062, "hbm_clock": 3996, "summary": "Healthy", "bandwidth": "Full", "flag": "False", "configuration": "None",
}  # fmt: skip


def card(part, number, index, **changes):
    """Values of one card; number tells nodes apart."""
    temperature = 29 + (index * 3 + number) % 6
    values = dict(
        part, index=index, module=index + 1, serial="165%d24%06d" % (number, 70031 + 37 * index),
        temperature=temperature, margin=58 - index % 4, hbm=temperature + 9,
        uuid="GPU-%08x-%04x-4c1e-8f%02x-%012x" % (0x5C31A0F7 + 7919 * (8 * number + index), 0x21B0 + index, number, 0x4A9D00E1B200 + 4099 * index),
        draw="%.2f" % (69.4 + 0.83 * index + number), free=part["memory"] - part["reserved"] - 1, generation=5, lifetime=0, pending="No",
        bus="00000000:%02X:00.0" % BUSES[index] if part is H100 else "%08X:01:00.0" % DOMAINS[index],
    )  # fmt: skip
    return dict(values, **changes)


def xml(cards, attached=None):
    reasons = "\n".join("\t\t\t<clocks_event_reason_%s>%s</clocks_event_reason_%s>" % (n, "Active" if n == "gpu_idle" else "Not Active", n) for n in IDLE)
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
    head += "\t<timestamp>Mon Nov 30 06:00:01 2026</timestamp>\n"
    head += "\t<driver_version>%(driver)s</driver_version>\n\t<cuda_version>%(cuda)s</cuda_version>\n" % cards[0]
    head += "\t<attached_gpus>%d</attached_gpus>\n" % (attached or len(cards))
    return head + "".join(GPU.format(reasons=reasons, **c) for c in cards) + "</nvidia_smi_log>\n"


def nvlink(cards):
    lines = []
    for c in cards:
        lines.append("GPU %(index)d: %(name)s (UUID: %(uuid)s)" % c)
        lines += ["\t Link %d: %s" % (n, c["rate"]) for n in range(18)]
    return "\n".join(lines) + "\n"


def nvlink_errors(cards):
    names = ("Replay", "Recovery", "CRC") if cards[0]["rate"] == H100["rate"] else ("Rx", "Local link integrity", "Effective")
    lines = []
    for c in cards:
        lines.append("GPU %(index)d: %(name)s (UUID: %(uuid)s)" % c)
        lines += ["\t Link %d: %s Errors: 0" % (n, name) for n in range(18) for name in names]
    return "\n".join(lines) + "\n"


def listing(cards):
    return "".join("GPU %(index)d: %(name)s (UUID: %(uuid)s)\n" % c for c in cards)


def native(cards):
    """What the reader of NVML returns."""
    gpus = []
    for c in cards:
        absent = {"error": 3, "said": "Not Supported"}
        gpu = {
            "name": c["name"], "identity.uuid": c["uuid"], "identity.serial": c["serial"], "identity.pci": c["bus"], "identity.slot": absent,
            "extra.minor": c["index"],
            "firmware.vbios": c["vbios"], "firmware.gsp": c["driver"], "firmware.inforom": c["inforom"], "persistence": "Enabled", "recovery_action": "None",
            "temperature_c.core": c["temperature"], "temperature_c.margin_core": c["margin"], "temperature_c.memory": c["hbm"],
            "temperature_c.limit_core": absent, "temperature_c.limit_memory": absent,
            "power_w.draw": float(c["draw"]), "power_w.limit": float(c["limit"]), "power_w.limit_default": float(c["limit"]),
            "pcie.generation_current": c["generation"], "pcie.generation_max": 5, "pcie.generation_device_max": 5, "pcie.width_current": 16,
            "pcie.width_max": 16, "pcie.replay_count": 0, "utilization_percent": 0, "memory_mib": c["memory"], "memory_used_mib": 1,
            "extra.memory_reserved_mib": c["reserved"], "ecc.mode": "Enabled", "ecc.sram_threshold_exceeded": "No",
            "row_remap.corrected": 0, "row_remap.uncorrected": c["lifetime"], "row_remap.pending": c["pending"], "row_remap.failed": "No",
            "retired_pages.corrected": absent, "retired_pages.uncorrected": absent, "retired_pages.pending": absent,
            "partition.enabled": "Disabled", "extra.mig_pending": "Disabled", "fabric.state": "Completed", "fabric.status": "Success",
            "fabric.clique_id": c["clique"], "fabric.cluster_uuid": c["cluster"], "extra.architecture": c["architecture"], "extra.module_id": c["module"],
            "firmware.inforom_oem": "2.1", "firmware.inforom_ecc": "7.16", "firmware.inforom_power": "N/A", "temperature_c.shutdown_core": absent,
            "power_w.limit_min": 200.0, "power_w.limit_max": float(c["limit"]), "clocks_mhz.core": 345, "clocks_mhz.memory": c["hbm_clock"],
            "clocks_mhz.core_max": c["clock"], "clocks_mhz.memory_max": c["hbm_clock"], "clocks_mhz.core_set": c["clock"],
            "clocks_mhz.core_default": c["clock"], "banks.max": c["banks"], "banks.high": c["lifetime"], "banks.partial": 0, "banks.low": 0, "banks.none": 0,
            "fabric_health.summary": c["summary"], "fabric_health.bandwidth": c["bandwidth"], "fabric_health.route_recovery": c["flag"],
            "fabric_health.route_unhealthy": c["flag"], "fabric_health.access_timeout_recovery": c["flag"],
            "fabric_health.incorrect_configuration": c["configuration"], "link_speed": int(float(c["rate"].split()[0]) * 1000),
            "link_errors": {"crc_errors": 0, "recovery_errors": 0, "replay_errors": 0}, "extra.pci_device": c["device"],
            "extra.confidential_memory_mib": 0,
            "processes": 0, "links": [1] * 18, "mig": [], "reasons": {name: "Active" if name == "gpu_idle" else "Not Active" for name in IDLE},
        }  # fmt: skip
        for when in ("volatile", "aggregate"):
            for name in ("sram_corrected", "sram_parity", "sram_secded", "dram_corrected", "dram_uncorrected"):
                gpu["extra.%s_%s" % (name, when)] = 0
        for reason in ("sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"):
            gpu["seconds." + reason] = 0
        gpus.append(gpu)
    first = cards[0]
    return {"answer": {"system": {"driver_version": first["driver"], "cuda_version": first["cuda"], "library_version": "12." + first["driver"]}, "gpus": gpus}}


def _driver(node, part, count):
    version = part["driver"]
    node.modules += ["nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem"]
    for module in ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem"):
        node.lines("/sys/module/%s" % module, initstate="live", version=version)
    loaded = "NVIDIA UNIX Open Kernel Module for %s  %s  Release Build" % (part["machine"], version)
    node.files["/proc/driver/nvidia/params"] = "EnableMSI: 1\nNvLinkDisable: 0\nEnableGpuFirmware: 18\n"
    node.files["/proc/driver/nvidia/version"] = "NVRM version: %s  (builder@forge)\nGCC version:  gcc version 13.3.0\n" % loaded
    node.dev += ["nvidiactl", "nvidia-uvm", *("nvidia%d" % index for index in range(count))]
    node.log += [
        (12.240118, "nvidia: loading out-of-tree module taints kernel."),
        (12.655020, "nvidia-nvlink: Nvlink Core is being initialized, major device number 511"),
        (12.801377, "NVRM: loading %s" % loaded),
        (21.037712, "nvidia-uvm: Loaded the UVM driver, major device number 509."),
    ]


def _services(node, version, why, **states):
    """States of the services: "running", "dead" (installed and down) or, for those left out, not installed."""
    names = ("nvidia-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nvidia-dcgm")
    blocks = []
    for name in names:
        sub = states.get(name.partition("-")[2])
        words = ("loaded" if sub else "not-found", "active" if sub == "running" else "inactive", sub or "dead")
        blocks.append("Id=%s.service\nLoadState=%s\nActiveState=%s\nSubState=%s\n" % (name, *words))
    node.run("systemctl", "show", "--property=Id,LoadState,ActiveState,SubState", *("%s.service" % n for n in names), rc=0, note=why, stdout="\n".join(blocks))
    node.files["/run/systemd/system"] = {"type": "directory"}
    node.files["/run/nvidia/driver/usr"] = {"absent": True}
    node.run("nv-fabricmanager", "--version", rc=0, stdout="Fabric Manager version is : %s\n" % version)
    node.run("nvidia-imex", "--version", rc=0, stdout="IMEX version is: %s\n" % version)
    node.run("dcgmi", "-v", missing=True)
    node.files["/var/log/fabricmanager.log"] = {"absent": True}
    asked = ("-u", "nvidia-fabricmanager", "-b", "0", "-o", "short-unix", "--no-pager", "-n", "400")
    node.run("journalctl", *asked, rc=0, stdout="-- No entries --\n")


def hgx(name, number, note):
    """An HGX H100 machine; what its tools say is added by the caller."""
    node = machine.Node(name, note)
    machine.system(node, "NL8-HGX 8U", "NLH26%05X" % (0x3A10 + 29 * number), XEON, 2, 52, True, 2048)
    node.surroundings = {
        "number": number, "modules": (32, 64, 0x22, 4800, "Northlake Memory", "NM5R64G48"), "driver": ("nvidia", H100["driver"], True), "clock": "chrony",
        "scaling": "intel_pstate", "mitigations": {"meltdown": "Not affected", "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional"},
    }  # fmt: skip
    for index, bus in enumerate(BUSES):
        root, up, down = ("0000:%02x:%s" % pair for pair in ((bus - 3, "01.0"), (bus - 2, "00.0"), (bus - 1, "00.0")))
        path = ["pci0000:%02x" % (bus - 3), root, up, down, "0000:%02x:00.0" % bus]
        node.port(path[:2], "0x8086", "0x352a")
        node.port(path[:3], "0x1000", "0xc030")
        node.port(path[:4], "0x1000", "0xc030", (16, 16, "32.0 GT/s", "32.0 GT/s"))
        node.function(path, "0x10de", "0x2330", "0x030200", "nvidia", index // 4, ("0x10de", "0x16c1"), link=(16, 16, "32.0 GT/s", "32.0 GT/s"))
        beside = [*path[:3], "0000:%02x:01.0" % (bus - 1), "0000:%02x:00.0" % (bus + 1)]
        node.port(beside[:4], "0x1000", "0xc030", (16, 16, "32.0 GT/s", "32.0 GT/s"))
        node.function(beside, "0x15b3", "0x1021", "0x020700", "mlx5_core", index // 4, ("0x15b3", "0x0023"), link=(16, 16, "32.0 GT/s", "32.0 GT/s"))
    node.run("nvidia-smi", "topo", "-m", rc=0, stdout=paths.nvidia(8, "NV18", 4, 8), seconds=0.6)
    for switch in range(4):
        root = "0000:0%d:00.0" % (switch + 4)
        node.port(["pci0000:00", "0000:00:01.0"], "0x8086", "0x1bbf")
        node.port(["pci0000:00", "0000:00:01.0", root], "0x1000", "0xc030", (2, 2, "16.0 GT/s", "16.0 GT/s"))
        path = ["pci0000:00", "0000:00:01.0", root, "0000:0%d:00.0" % (switch + 8) if switch < 2 else "0000:0%s:00.0" % "ab"[switch - 2]]
        node.function(path, "0x10de", "0x22a3", "0x068000", "nvidia-nvswitch", 0, ("0x10de", "0x1796"), link=(2, 2, "16.0 GT/s", "16.0 GT/s"))
    _driver(node, H100, 8)
    node.log += [(14.1 + 0.01 * n, "nvidia-nvswitch%d: open (major=510)" % n) for n in range(4)]
    why = "the fabric manager is needed: NVSwitch on this baseboard; nvidia-imex is down on purpose: the memory domain is one node"
    _services(node, H100["driver"], why, fabricmanager="running", imex="dead", persistenced="running")
    return node


def tray(name, number, note):
    """A GB200 compute tray: four GPUs on two Grace processors; the fabric is run by the switch trays."""
    node = machine.Node(name, note)
    machine.system(
        node, "NL-NVL72 Tray", "NLG26%05X" % (0x91C0 + number), GRACE, 2, 72, False, 960,
        machine="aarch64", release="6.8.0-1042-nvidia-64k", version="#45-Ubuntu SMP PREEMPT_DYNAMIC Tue Oct 21 2025", bmc="3.07", nic="0000:01:00.0",
        port="0008:00:00.0",
    )  # fmt: skip
    node.surroundings = {
        "number": number, "modules": (2, 480, 0x23, 8532, "Northlake Memory", "NM5L480G"), "driver": ("nvidia", GB200["driver"], True), "clock": "chrony",
        "scaling": "cppc_cpufreq", "mitigations": {"meltdown": "Not affected", "spectre_v2": "Not affected"},
    }  # fmt: skip
    for index, domain in enumerate(DOMAINS):
        path = ["pci%04x:00" % domain, "%04x:00:00.0" % domain, "%04x:01:00.0" % domain]
        node.port(path[:2], "0x10de", "0x22b1", (16, 16, "32.0 GT/s", "32.0 GT/s"))
        node.function(path, "0x10de", "0x2941", "0x030200", "nvidia", index // 2, ("0x10de", "0x2046"), link=(16, 16, "32.0 GT/s", "32.0 GT/s"))
    node.run("nvidia-smi", "topo", "-m", rc=0, stdout=paths.nvidia(4, "NV18", 2), seconds=0.4)
    for address in ("0000:01:00.0", "0002:01:00.0", "0010:01:00.0", "0012:01:00.0"):
        node.other(address, "0x15b3")
    _driver(node, GB200, 4)
    cards = [card(GB200, number, index, serial="165%d26%06d" % (number, 41180 + index // 2)) for index in range(4)]
    node.natives["nvml"] = native(cards)
    node.run("nvidia-smi", "-L", rc=0, stdout=listing(cards))
    why = "the fabric manager is installed and down on purpose: the switch trays run the fabric; nvidia-imex is needed: the memory domain spans trays"
    _services(node, GB200["driver"], why, fabricmanager="dead", imex="running", persistenced="running")
    return node


def by_smi(node, cards, attached=None):
    node.natives["nvml"] = {"missing": "nvidia-ml-py is not installed (No module named 'pynvml')"}
    node.run("nvidia-smi", "-q", "-x", rc=0, stdout=xml(cards, attached), seconds=1.7)
    node.run("nvidia-smi", "nvlink", "-s", rc=0, stdout=nvlink(cards), seconds=0.4)
    node.run("nvidia-smi", "nvlink", "-e", rc=0, stdout=nvlink_errors(cards), seconds=0.5)
    return node


def by_nvml(node, cards):
    node.natives["nvml"] = native(cards)
    node.run("nvidia-smi", "-L", rc=0, stdout=listing(cards), seconds=0.5)
    return node


def nodes():
    h01 = by_smi(hgx("gpu-h01", 1, "Healthy. A user's program once made a page fault."), [card(H100, 1, n) for n in range(8)])
    fault = "pid=412233, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_4"
    h01.log.append((88123.410266, "NVRM: Xid (PCI:0000:9c:00): 31, %s" % fault))
    idle = [card(H100, 2, n, generation=1) for n in range(8)]
    h02 = by_nvml(hgx("gpu-h02", 2, "Healthy, read through NVML. Idle links run slower, one network link flapped once."), idle)
    h02.log += [(70211.004100, "mlx5_core 0000:1b:00.0 ens1np0: Link down"), (70214.750033, "mlx5_core 0000:1b:00.0 ens1np0: Link up")]
    seven = [card(H100, 3, n) for n in range(7)]
    h03 = by_smi(hgx("gpu-h03", 3, "Seven of eight: the last GPU is on PCI, and the driver could not initialize it."), seven)
    h03.dev.remove("nvidia7")
    opened = ["/dev/nvidia%d" % n for n in range(7)] + ["/dev/nvidiactl"]
    h03.run("find", *opened, "-maxdepth", "0", "!", "-writable", rc=0, stdout="")
    h03.files["/proc/driver/nvidia/gpus"] = {"dir": ["0000:%02x:00.0" % bus for bus in BUSES]}
    for bus in BUSES:
        h03.files["/proc/driver/nvidia/gpus/0000:%02x:00.0/information" % bus] = "Model: \t\t NVIDIA H100 80GB HBM3\nGPU Excluded:\t No\n"
    h03.log.append((33.904821, "NVRM: GPU 0000:dc:00.0: RmInitAdapter failed! (0x24:0x72:1568)"))
    worn = [card(H100, 4, n, **({"pending": "Yes", "lifetime": 1} if n == 3 else {})) for n in range(8)]
    h04 = by_smi(hgx("gpu-h04", 4, "A row remap waits for a reset."), worn)
    row = "Row Remapper: New row (0x00000000018f2a41) marked for remapping, reset gpu to activate."
    h04.log.append((191007.220911, "NVRM: Xid (PCI:0000:5f:00): 63, pid='<unknown>', name=<unknown>, %s" % row))
    g01 = tray("gpu-g01", 6, "Healthy. The fabric manager is down here: the switch trays run the fabric.")
    return [n.document() for n in (h01, h02, h03, h04, g01)]
