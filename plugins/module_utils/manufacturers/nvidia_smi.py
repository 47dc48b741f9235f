# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi prints, as text under the names of a Device. Read by structure: output that ends early still tells what came before."""

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
memory_mib MiB gpu/fb_memory_usage/total
memory_used_mib MiB gpu/fb_memory_usage/used
extra.memory_reserved_mib MiB gpu/fb_memory_usage/reserved
utilization_percent % gpu_util
persistence f persistence_mode
recovery_action w gpu_recovery_action
temperature_c.core C gpu_temp
temperature_c.memory C memory_temp
temperature_c.limit_core C gpu_temp_slow_threshold
temperature_c.limit_memory C gpu_temp_max_mem_threshold
temperature_c.margin_core C gpu_temp_tlimit
power_w.draw W gpu_power_readings/average_power_draw gpu_power_readings/instant_power_draw gpu_power_readings/power_draw power_readings/power_draw
power_w.limit W gpu_power_readings/current_power_limit power_readings/power_limit
power_w.limit_default W gpu_power_readings/default_power_limit power_readings/default_power_limit
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
retired_pages.corrected n multiple_single_bit_retirement/retired_count
retired_pages.uncorrected n double_bit_retirement/retired_count
retired_pages.pending f pending_retirement pending_blacklist
partition.enabled f current_mig
extra.mig_pending f pending_mig
fabric.state w fabric/state
fabric.status w fabric/status
fabric.clique_id n fabric/cliqueid
fabric.cluster_uuid t fabric/clusteruuid
processes n processes
extra.performance_state t performance_state
extra.compute_mode w compute_mode
extra.virtualization w virtualization_mode
extra.tray t tray_index
extra.ecc_pending f pending_ecc
extra.channel_repair_pending f channel_repair_pending
extra.tpc_repair_pending f tpc_repair_pending
extra.unrepairable_memory f unrepairable_memory
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

_TOKEN = re.compile(r"<(/?)([A-Za-z_][\w.-]*)([^<>]*)>|<[!?][^>]*>|([^<]+)")
_LIST_GPU = re.compile(r"GPU (\d{1,4}): (.*?)\s*\(UUID: ?(\S*)\)\s*\Z")
_LIST_MIG = re.compile(r"\s+MIG (\S+)\s+Device\s+(\d{1,4}): \(UUID: (\S*)\)\s*\Z")
_LINK = re.compile(r"\s+Link (\d{1,4}): (.*)\Z")
_HANDLE = re.compile(r"Unable to determine the device handle for gpu ?(?:(\d{1,3}): )?([0-9a-f:.]{7,}?): (.*)\Z", re.IGNORECASE)
_INFOROM = re.compile(r"infoROM is corrupted at gpu ([0-9a-f:.]+)", re.IGNORECASE)
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons\Z")


class Log:
    """top: path -> text; gpus: one dict of path -> text each, every path under its last one, two and three components too."""

    def __init__(self):
        self.top, self.gpus, self.complete = {}, [], False

    def open(self, path, attribute=""):
        if path == ["gpu"]:
            self.gpus.append({"id": attribute, "mig": [], "reasons": None})
        elif self.gpus and path[-1] == "mig_device":
            self.gpus[-1]["mig"].append({})
        elif self.gpus and path[-1] == "process_info":
            self.gpus[-1]["processes"] = str(int(self.gpus[-1].get("processes") or 0) + 1)

    def leaf(self, path, text):
        path = [part.lower() for part in path]
        if path[0] != "gpu" or not self.gpus:
            self.top.setdefault("/".join(path), text)
            return
        flat = self.gpus[-1]
        if len(path) > 2 and _REASON.match(path[1]):
            name = re.sub(r"^clocks_(event|throttle)_reason_", "", path[-1])
            flat["reasons"] = dict(flat["reasons"] or {}, **{name: text})
            return
        if "mig_device" in path and flat["mig"]:
            flat = flat["mig"][-1]
        if path[-1] == "processes":
            text = text or "0"
        for start in range(max(0, len(path) - 3), len(path)):
            flat.setdefault("/".join(path[start:]), text)


def parse_xml(text):
    log = Log()
    stack, words, fresh = [], "", False
    for closing, tag, attributes, content in _TOKEN.findall(re.sub(r"(?s)<supported_clocks>.*?</supported_clocks>", "", text)):
        if content:
            words += content
        elif tag and not closing:
            stack.append(tag)
            found = re.search("id=[\"']([^\"']*)", attributes)
            if stack[1:]:
                log.open(stack[1:], found.group(1) if found else "")
            words, fresh = "", True
        elif tag in stack:
            if fresh and stack[-1] == tag and stack[1:]:
                log.leaf(stack[1:], words.strip().replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&"))
            while stack.pop() != tag:
                pass
            fresh = False
            log.complete = log.complete or tag == "nvidia_smi_log"
    return log


def pick(flat, spec):
    """{place: text}: of the elements that are there, the first that tells something."""
    found = {}
    for place, _kind, *elements in spec:
        texts = [flat[element] for element in elements if element in flat]
        if texts:
            found[place] = next((t for t in texts if t not in ("", "N/A", "[N/A]")), texts[0])
    return found


def lost_cards(text):
    """Cards that could not be opened: [(index or None, address, what was said)]."""
    found = [_HANDLE.match(line.strip()) for line in text.splitlines()]
    return [(int(f.group(1)) if f.group(1) else None, f.group(2), f.group(0)[:200]) for f in found if f]


def corrupted_inforoms(text):
    return _INFOROM.findall(text)


def parse_list(text):
    """nvidia-smi -L -> [{index, uuid, mig: {index: {profile, uuid}}}]; other lines are skipped."""
    cards = []
    for line in text.splitlines():
        card, part = _LIST_GPU.match(line), _LIST_MIG.match(line)
        if card:
            cards.append({"index": int(card.group(1)), "name": card.group(2), "uuid": card.group(3), "mig": {}})
        elif part and cards:
            cards[-1]["mig"][int(part.group(2))] = {"profile": part.group(1), "uuid": part.group(3)}
    return cards


def parse_nvlink(text):
    """nvidia-smi nvlink -s -> {index: {uuid, links: {n: text}, said}}; said = a sentence in place of links."""
    cards, current = {}, None
    for line in text.splitlines():
        card, link = _LIST_GPU.match(line), _LINK.match(line)
        if card:
            current = cards.setdefault(int(card.group(1)), {"uuid": card.group(3), "links": {}, "said": ""})
        elif current is not None and link:
            current["links"][int(link.group(1))] = link.group(2).strip()
        elif current is not None and line.strip():
            current["said"] = current["said"] or line.strip()[:200]
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
