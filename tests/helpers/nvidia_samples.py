# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of nvidia-smi and recordings around them, of the shape of real ones, with the values of the stub library."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA, ReplayHost

H100 = "NVIDIA H100 80GB HBM3"
GPU = """
    <gpu id="{bus}">
        <product_name>{name}</product_name>
        <product_brand>NVIDIA</product_brand>
        <product_architecture>Hopper</product_architecture>
        <persistence_mode>{persistence}</persistence_mode>
        <mig_mode>
            <current_mig>{mig}</current_mig>
            <pending_mig>{mig}</pending_mig>
        </mig_mode>
        <mig_devices>
            {mig_devices}
        </mig_devices>
        <serial>{serial}</serial>
        <uuid>{uuid}</uuid>
        <minor_number>{minor}</minor_number>
        <vbios_version>96.00.AF.00.01</vbios_version>
        <platformInfo>
            <chassis_serial_number>N/A</chassis_serial_number>
            <slot_number>{slot}</slot_number>
            <tray_index>N/A</tray_index>
            <module_id>{module}</module_id>
        </platformInfo>
        <inforom_version>
            <img_version>G520.0200.00.05</img_version>
            <oem_object>2.1</oem_object>
            <ecc_object>7.16</ecc_object>
            <pwr_object>N/A</pwr_object>
        </inforom_version>
        <gpu_virtualization_mode>
            <virtualization_mode>{virtualization}</virtualization_mode>
        </gpu_virtualization_mode>
        <gpu_recovery_action>{recovery}</gpu_recovery_action>
        <gsp_firmware_version>575.57.08</gsp_firmware_version>
        <pci>
            <pci_bus_id>{bus}</pci_bus_id>
            <pci_device_id>{device}</pci_device_id>
            <pci_gpu_link_info>
                <pcie_gen>
                    <max_link_gen>5</max_link_gen>
                    <current_link_gen>{generation}</current_link_gen>
                    <max_device_link_gen>5</max_device_link_gen>
                </pcie_gen>
                <link_widths>
                    <max_link_width>16x</max_link_width>
                    <current_link_width>{width}</current_link_width>
                </link_widths>
            </pci_gpu_link_info>
            <replay_counter>3</replay_counter>
        </pci>
        <performance_state>P0</performance_state>
        <clocks_event_reasons>
            <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
            <clocks_event_reason_applications_clocks_setting>Not Active</clocks_event_reason_applications_clocks_setting>
            <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
            <clocks_event_reason_hw_thermal_slowdown>{thermal}</clocks_event_reason_hw_thermal_slowdown>
        </clocks_event_reasons>
        <clocks_event_reasons_counters>
            <clocks_event_reasons_counters_sw_power_cap>4200000 us</clocks_event_reasons_counters_sw_power_cap>
            <clocks_event_reasons_counters_sync_boost>0 us</clocks_event_reasons_counters_sync_boost>
            <clocks_event_reasons_counters_sw_therm_slowdown>0 us</clocks_event_reasons_counters_sw_therm_slowdown>
            <clocks_event_reasons_counters_hw_therm_slowdown>{heat}</clocks_event_reasons_counters_hw_therm_slowdown>
            <clocks_event_reasons_counters_hw_power_brake>0 us</clocks_event_reasons_counters_hw_power_brake>
        </clocks_event_reasons_counters>
        <fb_memory_usage>
            <total>{memory}</total>
            <reserved>480 MiB</reserved>
            <used>{used}</used>
        </fb_memory_usage>
        <bar1_memory_usage>
            <total>131072 MiB</total>
            <used>1 MiB</used>
        </bar1_memory_usage>
        <cc_protected_memory_usage>
            <total>{protected}</total>
            <used>0 MiB</used>
        </cc_protected_memory_usage>
        <compute_mode>{compute}</compute_mode>
        <utilization>
            <gpu_util>0 %</gpu_util>
            <memory_util>1 %</memory_util>
        </utilization>
        <ecc_mode>
            <current_ecc>{ecc}</current_ecc>
            <pending_ecc>{ecc_pending}</pending_ecc>
        </ecc_mode>
        <ecc_errors>
            <volatile>
                <sram_correctable>0</sram_correctable>
                <sram_uncorrectable_parity>0</sram_uncorrectable_parity>
                <sram_uncorrectable_secded>0</sram_uncorrectable_secded>
                <dram_correctable>4</dram_correctable>
                <dram_uncorrectable>{dram}</dram_uncorrectable>
            </volatile>
            <aggregate>
                <sram_correctable>0</sram_correctable>
                <sram_uncorrectable_parity>2</sram_uncorrectable_parity>
                <sram_uncorrectable_secded>0</sram_uncorrectable_secded>
                <dram_correctable>5</dram_correctable>
                <dram_uncorrectable>0</dram_uncorrectable>
                <sram_threshold_exceeded>{threshold}</sram_threshold_exceeded>
            </aggregate>
            <channel_repair_pending>{repair}</channel_repair_pending>
            <tpc_repair_pending>No</tpc_repair_pending>
        </ecc_errors>
        <retired_pages>
            <multiple_single_bit_retirement>
                <retired_count>{retired}</retired_count>
                <retired_pagelist>N/A</retired_pagelist>
            </multiple_single_bit_retirement>
            <double_bit_retirement>
                <retired_count>{retired}</retired_count>
                <retired_pagelist>N/A</retired_pagelist>
            </double_bit_retirement>
            <pending_blacklist>N/A</pending_blacklist>
            <pending_retirement>N/A</pending_retirement>
        </retired_pages>
        {remapped}
        <temperature>
            <gpu_temp>{temperature} C</gpu_temp>
            <gpu_temp_tlimit>{margin}</gpu_temp_tlimit>
            <gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
            <memory_temp>40 C</memory_temp>
        </temperature>
        <gpu_power_readings>
            <average_power_draw>{power} W</average_power_draw>
            <instant_power_draw>99.99 W</instant_power_draw>
            <current_power_limit>{cap}</current_power_limit>
            <default_power_limit>700.00 W</default_power_limit>
            <min_power_limit>200.00 W</min_power_limit>
            <max_power_limit>700.00 W</max_power_limit>
        </gpu_power_readings>
        <gpu_memory_power_readings>
            <average_power_draw>33.10 W</average_power_draw>
        </gpu_memory_power_readings>
        <clocks>
            <graphics_clock>345 MHz</graphics_clock>
            <mem_clock>2619 MHz</mem_clock>
        </clocks>
        <applications_clocks>
            <graphics_clock>{clock}</graphics_clock>
        </applications_clocks>
        <default_applications_clocks>
            <graphics_clock>1980 MHz</graphics_clock>
        </default_applications_clocks>
        <max_clocks>
            <graphics_clock>1980 MHz</graphics_clock>
            <mem_clock>2619 MHz</mem_clock>
        </max_clocks>
        <fabric>
            <state>{fabric}</state>
            <status>{status}</status>
            <cliqueId>{clique}</cliqueId>
            <clusterUuid>{cluster}</clusterUuid>
            <health>
                <summary>{fabric_summary}</summary>
                <bandwidth>{fabric_bandwidth}</bandwidth>
                <route_recovery_in_progress>N/A</route_recovery_in_progress>
                <route_unhealthy>{route_unhealthy}</route_unhealthy>
                <access_timeout_recovery>N/A</access_timeout_recovery>
                <incorrect_configuration>N/A</incorrect_configuration>
            </health>
        </fabric>
        <supported_clocks>
            <supported_mem_clock>
                <value>2619 MHz</value>
            </supported_mem_clock>
        </supported_clocks>
        <processes>
            <process_info>
                <pid>4242</pid>
                <type>C</type>
                <process_name>{program}</process_name>
                <used_memory>100 MiB</used_memory>
            </process_info>
        </processes>
    </gpu>"""
REMAPPED = """<remapped_rows>
            <remapped_row_corr>1</remapped_row_corr>
            <remapped_row_unc>0</remapped_row_unc>
            <remapped_row_pending>{pending}</remapped_row_pending>
            <remapped_row_failure>{failed}</remapped_row_failure>
            <row_remapper_histogram>
                <row_remapper_histogram_max>2559 bank(s)</row_remapper_histogram_max>
                <row_remapper_histogram_high>1 bank(s)</row_remapper_histogram_high>
                <row_remapper_histogram_partial>0 bank(s)</row_remapper_histogram_partial>
                <row_remapper_histogram_low>{low} bank(s)</row_remapper_histogram_low>
                <row_remapper_histogram_none>{spent} bank(s)</row_remapper_histogram_none>
            </row_remapper_histogram>
        </remapped_rows>"""
MIG_DEVICE = """<mig_device>
                <index>{index}</index>
                <gpu_instance_id>{instance}</gpu_instance_id>
                <compute_instance_id>0</compute_instance_id>
                <ecc_error_count>
                    <volatile_count>
                        <sram_uncorrectable>0</sram_uncorrectable>
                    </volatile_count>
                </ecc_error_count>
                <fb_memory_usage>
                    <total>40448 MiB</total>
                    <used>26 MiB</used>
                </fb_memory_usage>
            </mig_device>"""


def bus(index):
    return f"00000000:{0x18 + 0x10 * index:02X}:00.0"


def uuid(index):
    return f"GPU-0f1e7000-0000-4000-8000-{index:012x}"


def gpu(index=0, pending="No", failed="No", remapped=None, low=0, spent=0, **values):
    plain = {
        "name": H100, "persistence": "Enabled", "mig": "Disabled", "mig_devices": "None", "serial": f"16517230000{index + 11:02d}",
        "uuid": uuid(index), "minor": index, "slot": "N/A", "module": index + 1, "virtualization": "None", "recovery": "None", "bus": bus(index),
        "generation": 5, "width": "16x", "thermal": "Active", "memory": "81559 MiB", "ecc": "Enabled", "dram": 0, "retired": "N/A",
        "temperature": 31 + index, "margin": f"{56 - index} C", "power": f"{71.25 + index:.2f}", "fabric": "Completed", "status": "Success", "clique": 0,
        "cluster": "00000000-0000-0000-0000-000000000000", "remapped": remapped or REMAPPED.format(pending=pending, failed=failed, low=low, spent=spent),
        "device": "233010DE", "heat": "0 us", "protected": "0 MiB", "compute": "Default", "used": "2 MiB", "repair": "No", "threshold": "No",
        "cap": "700.00 W", "clock": "1980 MHz", "fabric_summary": "N/A", "fabric_bandwidth": "N/A", "route_unhealthy": "N/A",
        "ecc_pending": values.get("ecc", "Enabled"), "program": "/usr/bin/python3 -m serve",
    }  # fmt: skip
    return GPU.format(**{**plain, **values})


def log(*gpus, attached=None, driver="575.57.08"):
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
        "\t<timestamp>Sat Nov 28 17:00:00 2026</timestamp>\n"
        f"\t<driver_version>{driver}</driver_version>\n\t<cuda_version>12.9</cuda_version>\n"
        f"\t<attached_gpus>{len(gpus) if attached is None else attached}</attached_gpus>" + "".join(gpus) + "\n</nvidia_smi_log>\n"
    )


def nvlink(count, links=18, down=()):
    lines = []
    for index in range(count):
        lines.append(f"GPU {index}: {H100} (UUID: {uuid(index)})")
        lines += [f"\t Link {n}: {'<inactive>' if (index, n) in down else '26.562 GB/s'}" for n in range(links)]
    return "\n".join(lines) + "\n"


def nvlink_errors(count, links=18, counted=None):
    """nvidia-smi nvlink -e. counted: {(card, link, name): errors}"""
    lines = []
    for index in range(count):
        lines.append(f"GPU {index}: {H100} (UUID: {uuid(index)})")
        for n in range(links):
            lines += [f"\t Link {n}: {name} Errors: {(counted or {}).get((index, n, name), 0)}" for name in ("Replay", "Recovery", "CRC")] + [""]
    return "\n".join(lines) + "\n"


def listing(count):
    return "".join(f"GPU {index}: {H100} (UUID: {uuid(index)})\n" for index in range(count))


def files(count, **more):
    """Files of a machine with count GPUs on PCI."""
    addresses = [f"0000:{0x18 + 0x10 * index:02x}:00.0" for index in range(count)]
    found = {"/sys/bus/pci/devices": {"dir": [*addresses, "0000:00:1f.0"]}, "/sys/bus/pci/devices/0000:00:1f.0/vendor": "0x8086\n"}
    for index, address in enumerate(addresses):
        base = f"/sys/bus/pci/devices/{address}"
        own = {"vendor": "0x10de\n", "device": "0x2330\n", "class": "0x030200\n", "numa_node": f"{index % 2}\n", "physfn": {"absent": True}}
        found.update({f"{base}/{name}": content for name, content in own.items()})
    found["/dev"] = {"dir": ["null", "nvidiactl", *(f"nvidia{index}" for index in range(count))]}
    found["/proc/driver/nvidia/version"] = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (builder@host)  Sat May 24 2026\nGCC version:  gcc 13\n"
    )
    found["/proc/driver/nvidia/gpus"] = {"dir": []}
    found["/proc/driver/nvidia/params"] = 'ResmanDebugLevel: 4294967295\nNvLinkDisable: 0\nRegistryDwords: ""\n'
    found.update(more.pop("files", {}))
    return found


def run(*arguments, **answer):
    return {"argv": ["nvidia-smi", *arguments], **answer}


def xml(text, **answer):
    return run("-q", "-x", stdout=text, **answer)


def machine(*commands, count=2, nvml=None, extra=None):
    """A replayed node: count GPUs on PCI, these answers of nvidia-smi, nvidia-ml-py missing unless told."""
    document = {
        "schema": SCHEMA,
        "recorded": "2026-11-28T17:00:00Z",
        "files": files(count, files=extra or {}),
        "commands": list(commands),
        "natives": {"nvml": nvml or {"missing": "nvidia-ml-py is not installed"}},
    }
    return ReplayHost(document)
