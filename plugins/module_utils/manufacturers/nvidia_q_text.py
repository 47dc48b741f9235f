# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree that nvidia-smi -q prints as text, under the element names of -q -x. Asked only where -q -x gave nothing that is understood."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.nvidia_log import Log

_LINE = re.compile(r"( *)(\S.*?)(?:[ \t]+:(?: (.*))?)?\Z")
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\Z")
# What whoever copied the text leaves where lines were.
_LEFT_OUT = re.compile(r"\[?\.\.\.")
# [section/]label -> name in -q -x, where the words alone do not give it
_NAMES = dict(
    line.split()
    for line in """
gpu_uuid uuid
serial_number serial
image_version img_version
pci/bus_id pci_bus_id
utilization/gpu gpu_util
gpu_current_temp gpu_temp
memory_current_temp memory_temp
gpu_slowdown_temp gpu_temp_slow_threshold
memory_max_operating_temp gpu_temp_max_mem_threshold
gpu_t_limit_temp gpu_temp_tlimit
gpu_current_t_limit_temp gpu_temp_tlimit
instantaneous_power_draw instant_power_draw
pcie_generation/current current_link_gen
pcie_generation/max max_link_gen
pcie_generation/device_max max_device_link_gen
link_width/current current_link_width
link_width/max max_link_width
replays_since_reset replay_counter
ecc_mode/current current_ecc
ecc_mode/pending pending_ecc
mig_mode/current current_mig
mig_mode/pending pending_mig
sram_uncorrectable_sec_ded sram_uncorrectable_secded
remapped_rows/correctable_error remapped_row_corr
remapped_rows/uncorrectable_error remapped_row_unc
remapped_rows/pending remapped_row_pending
remapped_rows/remapping_failure_occurred remapped_row_failure
retired_pages/single_bit_ecc multiple_single_bit_retirement/retired_count
retired_pages/double_bit_ecc double_bit_retirement/retired_count
pending_page_blacklist pending_retirement
shared_fb_memory_usage fb_memory_usage
pci/device_id pci_device_id
power_management_object pwr_object
gpu_shutdown_temp gpu_temp_max_threshold
bank_remap_availability_histogram/max row_remapper_histogram_max
bank_remap_availability_histogram/high row_remapper_histogram_high
bank_remap_availability_histogram/partial row_remapper_histogram_partial
bank_remap_availability_histogram/low row_remapper_histogram_low
bank_remap_availability_histogram/none row_remapper_histogram_none
clocks/graphics graphics_clock
clocks/memory mem_clock
max_clocks/graphics graphics_clock
max_clocks/memory mem_clock
applications_clocks/graphics graphics_clock
default_applications_clocks/graphics graphics_clock
conf_compute_protected_memory_usage/total cc_protected_memory_usage/total
clocks_event_reasons_counters/sw_power_capping clocks_event_reasons_counters_sw_power_cap
clocks_event_reasons_counters/sync_boost clocks_event_reasons_counters_sync_boost
clocks_event_reasons_counters/sw_thermal_slowdown clocks_event_reasons_counters_sw_therm_slowdown
clocks_event_reasons_counters/hw_thermal_slowdown clocks_event_reasons_counters_hw_therm_slowdown
clocks_event_reasons_counters/hw_power_braking clocks_event_reasons_counters_hw_power_brake
idle gpu_idle
display_clock_setting display_clocks_setting
""".strip().splitlines()
)


def _word(text):
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _named(path):
    """The path of -q -x for one of the text; two names in one part are two of its components."""
    parts = path[:-1] + _NAMES.get("/".join(path[-2:]), _NAMES.get(path[-1], path[-1])).split("/")
    parts = [_NAMES[part] if part == "shared_fb_memory_usage" else part for part in parts]
    return ["volatile_count" if part == "volatile" and "mig_device" in parts else part for part in parts]


def parse(text):
    """A Log; complete when every attached GPU is there and nothing was left out."""
    log, stack, left_out = Log(), [], False
    for line in text.expandtabs(4).splitlines():
        found = _LINE.match(line[:400].rstrip())
        if not found or not line.strip() or line.startswith("="):
            continue
        indent, label, value = len(found.group(1)), found.group(2), found.group(3)
        left_out = left_out or bool(_LEFT_OUT.match(label))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        card = _GPU.match(label)
        if card and not stack:
            stack = [(indent, "gpu")]
            log.open(["gpu"], card.group(1))
            continue
        path = [word for _indent, word in stack] + [_word(label)]
        stack.append((indent, path[-1]))
        if value is None:
            if path[0] == "gpu":
                log.open(path)
        elif path[-2:] == ["processes", "process_id"]:
            log.open([*path, "process_info"])
        elif path[-1] == "processes":
            log.leaf(path, "0" if value.strip() == "None" else value.strip())
        elif path[0] == "gpu" or len(path) == 1:
            log.leaf(_named(path), value.strip())
    attached = log.top.get("attached_gpus")
    log.complete = bool(log.gpus) and attached == str(len(log.gpus)) and not left_out and text.endswith("\n")
    return log
