# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD by `rocm-smi -a --json` (ROCm 4.3 to 7) and by the files of amdgpu and KFD (kernel: Documentation/gpu/amdgpu, uapi kfd_sysfs.h)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown

NODES = "/sys/class/kfd/kfd/topology/nodes/"
DEVICES = "/sys/bus/pci/devices/"


def _bytes(raw, what, least=0):
    value = smi.amount(raw, what, None, 1 << 50, least)
    return int(value) >> 20 if is_known(value) else value


def _memory(raw, what):
    return _bytes(raw, what, 1 << 20)


def rocm_smi(host):
    reading = smi.Reading()
    answer = reading.ask(host, ["rocm-smi", "-a", "--json"], 40)
    values, reading.failed = smi.parse(answer)
    cards, system = {}, {}
    for value in values:
        for key, item in value.items() if isinstance(value, dict) else ():
            found = re.match(r"card(\d{1,5})\Z", key)
            if found and isinstance(item, dict):
                cards[int(found.group(1))] = {k.lower(): v for k, v in item.items()}  # Title Case since ROCm 6.1
            elif key == "system" and isinstance(item, dict):
                system = item
    if not cards:
        # "No AMD GPUs specified": the tool works and says none
        reading.failed = "" if "no amd gpus" in reading.failed.lower() else reading.failed or "%s: no card in its answer" % answer.subject
        return reading
    reading.driver["version"] = smi.driver_version(system.get("Driver version"))
    for index, card in sorted(cards.items()):
        row = _card(card)
        row.update(index=index, links=_topology(index, system) if len(cards) > 1 else not_applicable("one GPU only"))
        reading.rows.append(row)
    return reading


def _card(card):
    def get(keys, convert=smi.clean):
        return smi.first(*(convert(card.get(k), k) for k in keys.split("|")))

    level = re.search(r"\(([\d.]{1,6})GT/s x(\d{1,3})\)", str(card.get("pcie clock level")))  # of this moment
    junction, edge, memory = (get("temperature (sensor %s) (c)" % k, smi.celsius) for k in ("junction", "edge", "memory"))
    blocks = {"vbios": get("vbios version")}
    for key, value in card.items():
        if key.endswith(" firmware version"):
            blocks[key[:-17].replace(" ", "_")[:60]] = smi.firmware(value, key)
    return {
        "name": get("card series|device name", smi.market_name),
        "bdf": get("pci bus"),
        "unique_id": get("unique id", smi.hex_id),
        "serial": get("serial number"),
        "numa_node": get("(topology) numa node", smi.node),
        "memory_mib": get("vram total memory (b)", _memory),
        "memory_used_mib": get("vram total used memory (b)", _bytes),
        "utilization_percent": get("gpu use (%)", smi.percent),
        "temperature_c": {"core": smi.first(junction, edge), "memory": memory},
        "power_w": {
            "draw": get("average graphics package power (w)|current socket graphics package power (w)", smi.watts),
            "limit": get("max graphics package power (w)", smi.watts),
        },
        "pcie": {
            "generation_current": smi.generation(level.group(1) if level else None, "pcie clock level"),
            "width_current": smi.width(level.group(2) if level else None, "pcie clock level"),
            "replay_count": get("pcie replay count", smi.count),
        },
        "partition": {"profile": get("compute partition"), "memory_profile": get("memory partition")},
        "firmware": blocks,
        "extra": {"temperature_edge_c": edge, "kfd_node": get("node id"), "gfx_version": get("gfx version"), "pci_device": get("device id|gpu id")},
    }


def _topology(index, system):
    kinds, silent = [], unknown("rocm-smi does not tell the state of xGMI links")
    for key, value in system.items():
        pair = re.match(r"\(Topology\) Link type between DRM devices (\d+) and (\d+)\Z", key)
        if pair and str(index) in pair.groups():
            kinds.append(str(value).upper())
    if kinds and set(kinds) == {"PCIE"}:
        return not_applicable("peers are reached over PCIe")
    return {"kind": "xgmi", "total": kinds.count("XGMI"), "up": silent, "down": silent} if "XGMI" in kinds else silent


def _words(answer):
    return dict(line.split()[:2] for line in answer.value.splitlines() if len(line.split()) > 1) if answer.ok else {}


def nodes(host):
    """Answer of {card's address without function: [KFD node numbers]}; one node per partition."""
    answer = host.listdir(NODES)
    found = {}
    for name in sorted((n for n in answer.value if re.match(r"\d{1,5}\Z", n)), key=int) if answer.ok else ():
        text = host.read_text("%s%s/properties" % (NODES, name))
        if not text.ok:
            return text
        entry = _words(text)
        units, domain, place = (smi.amount(entry.get(k), k) for k in ("simd_count", "domain", "location_id"))
        if all(isinstance(v, int) for v in (units, domain, place)) and units > 0:
            # bits 31:28 of the location hold the partition
            found.setdefault("%04x:%02x:%02x" % (domain, place >> 8 & 255, place >> 3 & 31), []).append(int(name))
    answer.value = found if answer.ok else None
    return answer


def sysfs(host, entries):
    """entries: the accelerators on PCI that amdgpu drives."""
    reading = smi.Reading()
    topology = nodes(host)
    reading.sources.append({"source": NODES, "status": topology.status, "seconds": 0.0, "detail": "" if topology.ok else topology.reason})
    for entry in entries:
        row = attributes(host, entry["address"])
        row["name"] = smi.first(row["name"], smi.clean(entry.get("model"), "model on PCI"))
        same = topology.value.get(entry["address"].rsplit(".", 1)[0], []) if topology.ok else []
        if not same:
            row["extra"]["kfd_node"] = unknown("KFD has no node for it" if topology.ok else topology.reason)
        for part, node in enumerate(same or [None]):
            one = row if not part else {"name": row["name"], "bdf": row["bdf"], "unique_id": row["unique_id"], "extra": {}}
            one.update(index=len(reading.rows), partition_id=part)
            if node is not None:
                one["extra"]["kfd_node"] = node
                bank = _words(host.read_text("%s%d/mem_banks/0/properties" % (NODES, node))) if len(same) > 1 else {}
                # heap types 1 and 2 are the device's own memory
                one["partition_memory_mib"] = _memory(bank.get("size_in_bytes") if bank.get("heap_type") in ("1", "2") else None, "memory bank")
            reading.rows.append(one)
    return reading


def partition(host, bdf):
    """Modes of a card by the driver's files; a part without them cannot be partitioned."""
    modes = {}
    for key, name in (("profile", "current_compute_partition"), ("memory_profile", "current_memory_partition")):
        answer = host.read_line(DEVICES + bdf + "/" + name)
        modes[key] = not_applicable("no %s" % name) if answer.status == ABSENT else smi.clean(from_answer(answer), name)
    return modes


def attributes(host, bdf):
    base = DEVICES + bdf + "/"

    def get(name, convert=smi.clean):
        return convert(from_answer(host.read_line(base + name)), name)

    row = {
        "name": get("product_name"),
        "bdf": bdf,
        "unique_id": get("unique_id", smi.hex_id),
        "serial": get("serial_number"),
        "memory_mib": get("mem_info_vram_total", _memory),
        "memory_used_mib": get("mem_info_vram_used", _bytes),
        "utilization_percent": get("gpu_busy_percent", smi.percent),
        "pcie": {"replay_count": get("pcie_replay_count", smi.count)},
        "partition": partition(host, bdf),
        "firmware": {"vbios": get("vbios_version")},
        "extra": {},
    }
    versions = host.listdir(base + "fw_version")
    for name in sorted(versions.value) if versions.ok else ():
        row["firmware"][name.replace("_fw_version", "")[:60]] = get("fw_version/" + name, smi.firmware)
    chips = host.glob(base + "hwmon/hwmon*")
    chip = chips.value[0][len(base) :] + "/" if chips.ok and chips.value else "hwmon/"

    def micro(name, divisor, top):
        value = get(chip + name, lambda raw, what: smi.amount(raw, what, None, top * divisor, 1))
        return round(value / divisor, 1) if is_known(value) else value

    labels = {str(get(chip + "temp%d_label" % n)): n for n in (1, 2, 3)}
    core, memory = labels.get("junction", labels.get("edge", 1)), labels.get("mem", 3)
    row["temperature_c"] = {
        "core": micro("temp%d_input" % core, 1000, 300),
        "limit_core": micro("temp%d_crit" % core, 1000, 300),
        "memory": micro("temp%d_input" % memory, 1000, 300),
        "limit_memory": micro("temp%d_crit" % memory, 1000, 300),
    }
    row["power_w"] = {
        "draw": smi.first(micro("power1_average", 10**6, 10**4), micro("power1_input", 10**6, 10**4)),
        "limit": micro("power1_cap", 10**6, 10**4),
        "limit_default": micro("power1_cap_default", 10**6, 10**4),
    }
    names = host.listdir(base + "ras")
    if not names.ok:
        nothing = not_applicable("the driver offers no RAS for this part") if names.status == ABSENT else unknown(names.reason)
        return dict(row, ecc=nothing, retired_pages=nothing)
    texts = [from_answer(host.read_text(base + "ras/" + n)) for n in sorted(names.value) if n.endswith("_err_count")]

    def counted(word):
        return smi.total([smi.count((re.findall(r"(?m)^%s:\s*(\d{1,15})" % word, t) or [None])[0] if is_known(t) else t, "RAS " + word) for t in texts])

    pages = from_answer(host.read_text(base + "ras/gpu_vram_bad_pages"))
    flags = re.findall(r"(?mi)^\s*0x[0-9a-f]+\s*:\s*0x[0-9a-f]+\s*:\s*([RPF])", pages) if is_known(pages) else []
    mode = "enabled" if "umc_err_count" in names.value else unknown("no umc_err_count")
    row["ecc"] = {"mode": mode, "corrected_volatile": counted("ce"), "uncorrected_volatile": counted("ue")}
    row["retired_pages"] = {
        "uncorrected": flags.count("R") if is_known(pages) else pages,
        "pending": "P" in flags or "F" in flags if is_known(pages) else pages,
    }
    return row
