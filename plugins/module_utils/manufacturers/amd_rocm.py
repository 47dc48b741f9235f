# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD by `rocm-smi -a --json` (ROCm 4.3 to 7) and by the files of amdgpu (kernel: Documentation/gpu/amdgpu)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown

DEVICES = "/sys/bus/pci/devices/"
_CARD = """
name name card series|device name
bdf text pci bus
unique_id id unique id
serial text serial number
numa_node node (topology) numa node
memory_mib memory vram total memory (b)
memory_used_mib bytes vram total used memory (b)
utilization_percent percent gpu use (%)
temperature_c.core celsius temperature (sensor junction) (c)|temperature (sensor edge) (c)
temperature_c.memory celsius temperature (sensor memory) (c)
power_w.draw watts average graphics package power (w)|current socket graphics package power (w)
power_w.limit cap max graphics package power (w)
clocks_mhz.core clock sclk clock speed:
clocks_mhz.memory clock mclk clock speed:
clocks_mhz.core_max top_clock valid sclk range
clocks_mhz.memory_max top_clock valid mclk range
pcie.generation_current generation level speed
pcie.width_current width level width
pcie.replay_count count pcie replay count
partition.profile text compute partition
partition.memory_profile text memory partition
firmware.vbios text vbios version
extra.temperature_edge_c celsius temperature (sensor edge) (c)
extra.kfd_node node node id
extra.gfx_version text gfx version
extra.pci_device text device id|gpu id
extra.performance_level text performance level
"""
_FILES = """
name text product_name
unique_id id unique_id
serial text serial_number
numa_node node numa_node
memory_mib memory mem_info_vram_total
memory_used_mib bytes mem_info_vram_used
utilization_percent percent gpu_busy_percent
pcie.replay_count count pcie_replay_count
firmware.vbios text vbios_version
temperature_c.core millicelsius temp2_input|temp1_input
temperature_c.limit_core millicelsius temp2_crit
temperature_c.shutdown_core millicelsius temp2_emergency
temperature_c.memory millicelsius temp3_input
temperature_c.limit_memory millicelsius temp3_crit
power_w.draw microwatts power1_average|power1_input
power_w.limit microwatts power1_cap
power_w.limit_default microwatts power1_cap_default
power_w.limit_min microwatts power1_cap_min
power_w.limit_max microwatts power1_cap_max
clocks_mhz.core clock pp_dpm_sclk
clocks_mhz.memory clock pp_dpm_mclk
clocks_mhz.core_max top_clock pp_dpm_sclk
clocks_mhz.memory_max top_clock pp_dpm_mclk
extra.temperature_edge_c millicelsius temp1_input
extra.performance_level text power_dpm_force_performance_level
extra.pci_device text device
"""


def rocm_smi(host):
    reading = smi.Reading()
    answer = reading.ask(host, ["rocm-smi", "-a", "--json"], 40)
    values, reading.failed = smi.parse(answer)
    items = [(k, v) for value in values if isinstance(value, dict) for k, v in value.items() if isinstance(v, dict)]
    system = next((v for k, v in items if k == "system"), {})
    # Title Case since ROCm 6.1
    cards = {int(k[4:]): {name.lower(): said for name, said in v.items()} for k, v in items if re.match(r"card\d{1,5}\Z", k)}
    if not cards and answer.ok and not reading.no_access and not re.search("not initialized|no amd gpus", reading.failed, re.IGNORECASE):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_tables

        cards, system = amd_tables.read(host, reading)
    for index, card in sorted(cards.items()):
        level = re.search(r"\(([\d.]{1,6})GT/s x(\d{1,3})\)", str(card.get("pcie clock level")))  # of this moment
        card["level speed"], card["level width"] = level.groups() if level else (None, None)
        row = smi.fill(_CARD, card.get)
        row.update(index=index, links=_topology(index, system) if len(cards) > 1 else not_applicable("one GPU only"))
        if "SRIOV" in str(card.get("card sku")).upper():
            row["extra"]["virtual_function"] = True
        for key, value in card.items():
            if key.endswith(" firmware version"):
                row["firmware"][key[:-17].replace(" ", "_")[:60]] = smi.firmware(value, key)
        reading.rows.append(row)
    reading.driver["version"] = smi.driver_version(system.get("Driver version"))
    if not cards:
        # "No AMD GPUs specified": the tool works and says none
        reading.failed = "" if "no amd gpus" in reading.failed.lower() else reading.failed or "%s: no card in its answer" % answer.subject
    return reading


def _topology(index, system):
    pairs = ((re.findall(r"\d+", key), str(kind)) for key, kind in system.items() if key.startswith("(Topology) Link type between DRM devices "))
    kinds, silent = [kind for pair, kind in pairs if str(index) in pair], unknown("rocm-smi does not tell the state of xGMI links")
    if kinds and set(kinds) == {"PCIE"}:
        return not_applicable("peers are reached over PCIe")
    return {"kind": "xgmi", "total": kinds.count("XGMI"), "up": silent, "down": silent} if "XGMI" in kinds else silent


def partition(host, address):
    """Modes of a card by the driver's files; a part without them cannot be partitioned."""
    modes = {}
    for key, name in (("profile", "current_compute_partition"), ("memory_profile", "current_memory_partition")):
        answer = host.read_line(DEVICES + address + "/" + name)
        modes[key] = not_applicable("no %s" % name) if answer.status == ABSENT else smi.clean(from_answer(answer), name)
    return modes


def attributes(host, address):
    base = DEVICES + address + "/"
    chips = host.glob(base + "hwmon/hwmon*")
    chip = chips.value[0] + "/" if chips.ok and chips.value else base + "hwmon/"

    def get(name):
        read = host.read_text if name.startswith("pp_dpm_") else host.read_line
        return from_answer(read((chip if re.match(r"(?:temp|power)\d", name) else base) + name))

    # temp1 is the edge, temp2 the junction, temp3 the memory (amdgpu_pm)
    row = smi.fill(_FILES, get)
    row["bdf"] = address
    names = host.listdir(base + "drm")
    for name in sorted(n for n in names.value if re.match(r"card\d{1,4}\Z", n)) if names.ok else ():
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_tables

        row["firmware"].update(amd_tables.firmware(host, name[4:]))
    names = host.listdir(base + "ras")
    if not names.ok:
        row["ecc"] = row["retired_pages"] = not_applicable("no RAS on this part") if names.status == ABSENT else unknown(names.reason)
        return row
    texts = [from_answer(host.read_text(base + "ras/" + n)) for n in sorted(names.value) if n.endswith("_err_count")]
    row["ecc"] = {"mode": "enabled" if "umc_err_count" in names.value else unknown("no umc_err_count")}
    for key, word in (("corrected_volatile", "ce"), ("uncorrected_volatile", "ue")):
        said = [(re.findall(r"(?m)^%s:\s*(\d{1,15})" % word, t) or [None])[0] if is_known(t) else t for t in texts]
        row["ecc"][key] = smi.total([smi.count(raw, "RAS " + word) for raw in said])
    pages = from_answer(host.read_text(base + "ras/gpu_vram_bad_pages"))
    flags = re.findall(r"(?mi)^\s*0x[0-9a-f]+\s*:\s*0x[0-9a-f]+\s*:\s*([RPF])", pages) if is_known(pages) else []
    row["retired_pages"] = {"uncorrected": flags.count("R"), "pending": bool({"P", "F"} & set(flags))} if is_known(pages) else pages
    return row
