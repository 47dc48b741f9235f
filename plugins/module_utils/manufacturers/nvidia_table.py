# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default view of nvidia-smi and its list of cards, under the element names of -q -x. Asked only where -q -x and -q gave nothing."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.nvidia_log import Log
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

_BANNER = re.compile(r"\|.*?(?:Driver|KMD) Version: (\S+) .*?CUDA (?:UMD )?Version: (\S+)")
_CARD = re.compile(r"\s*(\d{1,4})\s+(\S.*?)\s+(On|Off|N/A|WDDM|TCC|MCDM)\s*\Z")
_SECOND = re.compile(r"\s*\S+\s+(\S+)\s+(\S+)\s+(\S+)\s*/\s+(\S+)\s*\Z")
_PROCESS = re.compile(r"\s*(\d{1,4})\s+(?:\S+\s+\S+\s+)?\d+\s+[CGM+]+\s")
_MIG = re.compile(r"\s*(\d{1,4})\s+(\d+)\s+(\d+)\s+(\d+)\s*\Z")
_MEMORY = re.compile(r"\s*(\d+ ?MiB)\s*/\s*(\d+ ?MiB)\s*\Z")


def _memory(flat, cell):
    sizes = _MEMORY.match(cell)
    flat["gpu/fb_memory_usage/used"], flat["gpu/fb_memory_usage/total"] = sizes.groups() if sizes else (cell.strip(), cell.strip())


def _first(log, cells, persistence):
    found = _CARD.match(cells[0])
    if not found or len(cells) != 3 or not cells[1].split():
        return False
    log.open(["gpu"], cells[1].split()[0])
    name, errors = found.group(2), cells[2].strip()
    flat = log.gpus[-1]
    flat.update(index=int(found.group(1)), pci_bus_id=flat["id"])
    # a long name is cut
    flat["product_name"] = unknown("name: cut by the table: %r" % name) if name.endswith("...") else name
    if persistence:
        flat["persistence_mode"] = found.group(3)
    # the column tells uncorrectable errors where ECC is on, or On, when MIG is
    flat["current_ecc"] = {"Off": "Disabled", "On": "Enabled"}.get(errors, "Enabled" if errors.isdigit() else errors)
    if errors not in ("Off", "On"):
        flat["volatile/double_bit/total"] = errors
    return True


def _second(flat, cells):
    found, load = _SECOND.match(cells[0]), cells[2].split()
    if found:
        flat["gpu_temp"], flat["performance_state"], flat["power_readings/power_draw"], flat["power_readings/power_limit"] = found.groups()
    _memory(flat, cells[1])
    if len(load) > 1:
        flat["gpu_util"], flat["compute_mode"] = load[0], " ".join(load[1:])


def parse(text):
    """A Log; complete when the banner, every row and the line that closes them are there."""
    log, part, row, persistence, closed, by_index = Log(), "", 0, False, False, {}
    for line in text.splitlines():
        line = line[:400]
        banner = _BANNER.match(line)
        cells = line.strip().strip("|").split("|")
        if banner:
            told = zip(("driver_version", "cuda_version"), banner.groups())
            log.top.update({key: said for key, said in told if said != "N/A"}, banner="yes")
            part = "cards"
        elif "Persistence-M" in line or "Driver-Model" in line:
            persistence = "Persistence-M" in line
        elif "MIG devices:" in line or "Processes:" in line:
            part = "mig" if "MIG" in line else "processes"
            if part == "processes":
                for flat in log.gpus:
                    flat.setdefault("processes", "0")
        elif line.startswith("+"):
            closed, row = closed or (row == 3 and part == "cards"), 0
        elif not line.startswith("|") or line.startswith(("|=", "|-")):
            continue
        elif part in ("", "cards"):
            row = 1 if row == 0 and _first(log, cells, persistence) else row + 1 if row else 0
            closed = closed and not row
            if row == 1:
                by_index[log.gpus[-1]["index"]] = log.gpus[-1]
            elif row == 2 and len(cells) == 3:
                _second(log.gpus[-1], cells)
            elif row == 3:
                log.gpus[-1]["current_mig"] = cells[-1].strip()
                if cells[-1].strip().endswith("*"):  # another mode waits for a reset; which of the two is in force is not told
                    log.gpus[-1]["mig_changes"] = "yes"
        elif part == "mig":
            found, vol = _MIG.match(cells[0]), cells[2].split() if len(cells) == 4 else []
            flat = by_index.get(int(found.group(1))) if found else None
            if flat is not None and len(vol) == 2:
                device = {"gpu_instance_id": found.group(2), "compute_instance_id": found.group(3), "mig_device/index": found.group(4)}
                _memory(device, cells[1])
                device = {key.replace("gpu/", ""): said for key, said in device.items()}
                flat["mig"].append(dict(device, **{"volatile_count/sram_uncorrectable": vol[1]}))
        elif part == "processes":
            found = _PROCESS.match(cells[0])
            flat = by_index.get(int(found.group(1))) if found else None
            if flat is not None:
                flat["processes"] = str(int(flat["processes"]) + 1)
    log.complete = "banner" in log.top and closed and sorted(by_index) == list(range(len(log.gpus)))
    return log


def by_list(text):
    """nvidia-smi -L as a Log: names and UUIDs, nothing else."""
    log = Log()
    for card in smi.parse_list(text):
        log.open(["gpu"])
        parts = [{"mig_device/index": str(index)} for index in sorted(card["mig"])]
        log.gpus[-1].update(index=card["index"], product_name=card["name"], uuid=card["uuid"], mig=parts)
    others = [line for line in text.splitlines() if line.strip() and not re.match(r"GPU \d+: .*\(UUID: ?\S*\)|\s+MIG .*\(UUID: ?\S*\)|\[HAMI", line)]
    log.complete = bool(log.gpus) and not others and [flat["index"] for flat in log.gpus] == list(range(len(log.gpus)))
    return log


def complete(cards, listed):
    """The names that the table cut, and the UUIDs it does not have, from nvidia-smi -L."""
    by_index = {card["index"]: card for card in listed}
    for raw in cards:
        line = by_index.get(raw.get("index"))
        if line and "handle" not in raw:
            raw.setdefault("identity.uuid", line["uuid"])
            if isinstance(raw.get("name"), dict):
                raw["name"] = line["name"]
