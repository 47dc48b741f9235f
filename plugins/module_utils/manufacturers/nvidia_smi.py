# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi prints, as text under the names of a Device. The log itself is read by nvidia_log.py."""

from __future__ import annotations

import re

# place in a Device | kind (n number, f flag, w word, t text, else the unit) | elements of -q -x (nvsmi_device_v*.dtd), newest first.
SPEC = tuple(
    tuple(line.split())
    for line in """
name t product_name
identity.uuid t uuid
identity.serial t serial
identity.pci t pci_bus_id
identity.slot t slot_number
extra.minor n minor_number
firmware.vbios t vbios_version
firmware.gsp t gsp_firmware_version
firmware.inforom t img_version
firmware.inforom_oem t oem_object
firmware.inforom_ecc t ecc_object
firmware.inforom_power t pwr_object
memory_mib MiB gpu/fb_memory_usage/total
memory_used_mib MiB gpu/fb_memory_usage/used
extra.memory_reserved_mib MiB gpu/fb_memory_usage/reserved
utilization_percent % gpu_util
extra.memory_utilization_percent % memory_util
persistence f persistence_mode
recovery_action w gpu_recovery_action
reset.required f gpu_reset_status/reset_required
reset.drain f gpu_reset_status/drain_and_reset_recommended
temperature_c.core C gpu_temp
temperature_c.memory C memory_temp
temperature_c.limit_core C gpu_temp_slow_threshold
temperature_c.limit_memory C gpu_temp_max_mem_threshold
temperature_c.shutdown_core C gpu_temp_max_threshold
temperature_c.margin_core C gpu_temp_tlimit
power_w.draw W gpu_power_readings/average_power_draw gpu_power_readings/instant_power_draw gpu_power_readings/power_draw power_readings/power_draw
power_w.limit W gpu_ceiling_power_limit/current_power_limit gpu_power_readings/current_power_limit power_readings/power_limit
power_w.limit_default W gpu_ceiling_power_limit/default_power_limit gpu_power_readings/default_power_limit power_readings/default_power_limit
power_w.limit_min W gpu_ceiling_power_limit/min_power_limit gpu_power_readings/min_power_limit power_readings/min_power_limit
power_w.limit_max W gpu_ceiling_power_limit/max_power_limit gpu_power_readings/max_power_limit power_readings/max_power_limit
clocks_mhz.core MHz clocks/graphics_clock
clocks_mhz.memory MHz clocks/mem_clock
clocks_mhz.core_max MHz max_clocks/graphics_clock
clocks_mhz.memory_max MHz max_clocks/mem_clock
clocks_mhz.core_set MHz applications_clocks/graphics_clock
clocks_mhz.core_default MHz default_applications_clocks/graphics_clock
pcie.generation_current n current_link_gen
pcie.generation_max n max_link_gen
pcie.generation_device_max n max_device_link_gen
pcie.width_current x current_link_width
pcie.width_max x max_link_width
pcie.replay_count n replay_counter
ecc.mode w current_ecc
ecc.sram_threshold_exceeded f sram_threshold_exceeded
row_remap.corrected n remapped_row_corr remapped_rows
row_remap.uncorrected n remapped_row_unc remapped_rows
row_remap.pending f remapped_row_pending remapped_rows
row_remap.failed f remapped_row_failure remapped_rows
banks.max bank(s) row_remapper_histogram_max
banks.high bank(s) row_remapper_histogram_high
banks.partial bank(s) row_remapper_histogram_partial
banks.low bank(s) row_remapper_histogram_low
banks.none bank(s) row_remapper_histogram_none
retired_pages.corrected n multiple_single_bit_retirement/retired_count
retired_pages.uncorrected n double_bit_retirement/retired_count
retired_pages.pending f pending_retirement pending_blacklist
partition.enabled f current_mig
extra.mig_pending f pending_mig
extra.mig_changes f mig_changes
fabric.state w fabric/state
fabric.status w fabric/status
fabric.clique_id n fabric/cliqueid
fabric.cluster_uuid t fabric/clusteruuid
fabric_health.summary w fabric/health/summary
fabric_health.bandwidth w fabric/health/bandwidth
fabric_health.route_recovery f health/route_recovery_in_progress
fabric_health.route_unhealthy f health/route_unhealthy
fabric_health.access_timeout_recovery f health/access_timeout_recovery
fabric_health.incorrect_configuration w health/incorrect_configuration
seconds.sw_power_cap us clocks_event_reasons_counters_sw_power_cap
seconds.sync_boost us clocks_event_reasons_counters_sync_boost
seconds.sw_thermal_slowdown us clocks_event_reasons_counters_sw_therm_slowdown
seconds.hw_thermal_slowdown us clocks_event_reasons_counters_hw_therm_slowdown
seconds.hw_power_brake_slowdown us clocks_event_reasons_counters_hw_power_brake
processes n processes
extra.performance_state t performance_state
extra.compute_mode w compute_mode
extra.virtualization w virtualization_mode
extra.tray t tray_index
extra.ecc_pending f pending_ecc
extra.channel_repair_pending f channel_repair_pending
extra.tpc_repair_pending f tpc_repair_pending
extra.unrepairable_memory f unrepairable_memory
extra.confidential_memory_mib MiB cc_protected_memory_usage/total
extra.pci_device t pci_device_id
""".strip().splitlines()
) + tuple(
    ("extra.%s_%s" % (name, when), "n", "%s/%s" % (when, element))
    for when in ("volatile", "aggregate")
    for name, element in (
        ("sram_corrected", "sram_correctable"),
        ("sram_uncorrected", "sram_uncorrectable"),
        ("sram_parity", "sram_uncorrectable_parity"),
        ("sram_secded", "sram_uncorrectable_secded"),
        ("dram_corrected", "dram_correctable"),
        ("dram_uncorrected", "dram_uncorrectable"),
        ("total_corrected", "single_bit/total"),
        ("total_uncorrected", "double_bit/total"),
    )
)
MIG_SPEC = (
    ("index", "n", "mig_device/index"),
    ("memory_mib", "MiB", "fb_memory_usage/total"),
    ("memory_used_mib", "MiB", "fb_memory_usage/used"),
    ("extra.gpu_instance", "n", "gpu_instance_id"),
    ("extra.compute_instance", "n", "compute_instance_id"),
    ("ecc.uncorrected_volatile", "n", "volatile_count/sram_uncorrectable"),
)

LIST_GPU = re.compile(r"GPU (\d{1,4}): (.*?)\s*\(UUID: ?(\S*)\)\s*\Z")
_LIST_MIG = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d{1,4}): \(UUID: (\S*)\)\s*\Z")


def parse_list(text):
    """nvidia-smi -L -> [{index, uuid, mig: {index: {profile, uuid}}}]; other lines are skipped."""
    cards = []
    for line in text.splitlines():
        card, part = LIST_GPU.match(line), _LIST_MIG.match(line)
        if card:
            cards.append({"index": int(card.group(1)), "name": card.group(2), "uuid": card.group(3), "mig": {}})
        elif part and cards:
            cards[-1]["mig"][int(part.group(2))] = {"profile": part.group(1), "uuid": part.group(3)}
    return cards


# Exit statuses and words: nvidia-smi(1), RETURN VALUE; nvml.h, nvmlReturn_t.
MISSING, NOT_LOADED, MISMATCH, NONE, HANG, OTHER = "missing", "not_loaded", "mismatch", "no_devices", "hang", "other"
WORDS = {
    MISSING: "libnvidia-ml.so is not installed",
    NOT_LOADED: "the NVIDIA driver is not loaded",
    MISMATCH: "the loaded kernel module and the library differ in version: reload the module or reboot",
}
BY_CODE = {"6": NONE, "9": NOT_LOADED, "12": MISSING, "18": MISMATCH}
_SAID = (
    ("couldn't communicate with the nvidia driver", NOT_LOADED),
    ("driver not loaded", NOT_LOADED),
    ("version mismatch", MISMATCH),
    ("couldn't find libnvidia-ml", MISSING),
    ("library not found", MISSING),
    ("no devices were found", NONE),
)


def failure(command):
    """(kind, reason) of a call that did not give a log."""
    if command.status != "ok":
        return {"absent": MISSING, "timeout": HANG}.get(command.status, OTHER), command.reason
    said = (command.stdout + "\n" + command.stderr).lower()
    kind = next((kind for words, kind in _SAID if words in said), BY_CODE.get(str(command.rc), OTHER))
    if kind in WORDS:
        return kind, "%s: %s" % (command.subject, WORDS[kind])
    first = (command.stdout.strip() or command.stderr.strip()).split("\n")[0]
    told = "not understood: %r" % first[:120] if first else "it printed nothing"
    return kind, command.reason if command.rc else "%s: %s" % (command.subject, told)
