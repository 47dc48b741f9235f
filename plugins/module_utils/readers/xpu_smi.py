# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Intel's xpu-smi prints, as JSON (-j) or as a table, told by the names of the table in lower case with underscores.

Tables: doc/smi_user_guide.md of intel/xpumanager. Names of the JSON: cli/src (1.x) and hal (2.x) there.
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi

_PAIR = re.compile(r"([A-Za-z0-9][\w /().-]{0,60}?) *: ?(.*)\Z")
# what the JSON calls otherwise than the table
_CARD = {
    "core_clock_rate_mhz": "core_clock_rate", "device_stepping": "stepping", "memory_ecc_state": "ecc_state", "device_function_type": "function_type",
    "number_of_fabric_ports": "number_of_xe_link_ports",
}  # fmt: skip
_CONFIG = {
    "power_limit": "power_limit_w", "power_vaild_range": "power_limit_w/valid_range", "power_valid_range": "power_limit_w/valid_range",
    "pl_package_sustain": "power_domain_package/sustain_w", "memory_ecc_current_state": "memory_ecc/current", "memory_ecc_pending_state": "memory_ecc/pending",
    "max_frequency": "gpu_max_frequency_mhz", "gpu_frequency_valid_options": "gpu_max_frequency_mhz/valid_options",
    "port_up": "xe_link_ports/up", "port_down": "xe_link_ports/down",
}  # fmt: skip
_METRICS = {
    "GPU_UTILIZATION": "gpu_utilization", "POWER": "gpu_power_w", "GPU_FREQUENCY": "gpu_frequency_mhz", "GPU_CORE_TEMPERATURE": "gpu_core_temperature_c",
    "MEMORY_TEMPERATURE": "gpu_memory_temperature_c", "MEMORY_USED": "gpu_memory_used_mib", "RAS_ERROR_CAT_RESET": "reset",
    "RAS_ERROR_CAT_PROGRAMMING_ERRORS": "programming_errors", "RAS_ERROR_CAT_DRIVER_ERRORS": "driver_errors",
    "RAS_ERROR_CAT_CACHE_ERRORS_CORRECTABLE": "cache_errors_correctable", "RAS_ERROR_CAT_CACHE_ERRORS_UNCORRECTABLE": "cache_errors_uncorrectable",
    "RAS_ERROR_CAT_NON_COMPUTE_ERRORS_CORRECTABLE": "mem_errors_correctable", "RAS_ERROR_CAT_NON_COMPUTE_ERRORS_UNCORRECTABLE": "mem_errors_uncorrectable",
}  # fmt: skip
# what the dump calls otherwise than stats
_DUMP = {
    "average_utilization_of_all_gpu_engines": "gpu_utilization", "average_utilization_of": "gpu_utilization", "reset_counter": "reset",
    "gpu_core_temperature_celsius_degree": "gpu_core_temperature_c", "gpu_memory_temperature_celsius_degree": "gpu_memory_temperature_c",
    "gpu_memory_errors_correctable": "mem_errors_correctable", "gpu_memory_errors_uncorrectable": "mem_errors_uncorrectable",
}  # fmt: skip
_PRECHECK = {"vmx_flag": "vmx_flag", "iommu_status": "iommu", "sriov_status": "sr_iov"}


def document(text):
    """The JSON object in a text, None where there is none."""
    try:
        try:
            found = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
        except ValueError:
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter

            found = chatter.first_object(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _entries(value):
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _words(value):
    return "N/A" if value is None or isinstance(value, (dict, list, bool)) else str(value).strip()


def blocks(text):
    """([key cell…], [line…]) of a table: a row with a key begins a block; and whether the table has its end and every row its cells."""
    found, columns, ended, torn = [], 0, False, False
    for line in text.splitlines():
        line = line.strip()
        if re.match(r"\+[-+=]{20,}\+\Z", line):
            columns, ended = line.count("+") - 1, bool(found)
        elif columns > 1 and line.startswith("|"):
            cells = line[1:-1].split("|", columns - 1)
            keys, ended = [cell.strip() for cell in cells[:-1]], False
            if len(line) < 2 or not line.endswith("|") or len(cells) != columns:
                torn = True
                continue
            if any(keys):
                found.append((keys, []))
            if found:
                found[-1][1].append(cells[-1][1:].rstrip())
        torn = torn or (columns > 1 and bool(re.match(r"\+[-+=]*\Z", line)) and line.count("+") - 1 < columns)
    return found, ended and not torn


def cut(text):
    """What begins as an answer and does not go on to its end."""
    found, ended = blocks(text)
    return document(text) is None and (not ended if found else "{" in text or "|" in text)


def pairs(lines):
    """{name: text} of lines `Name: text`; a line that is indented belongs to the one above, one without a name to its text."""
    found, above, last = {}, "", None
    for line in lines:
        pair = _PAIR.match(line.strip())
        if pair:
            name = vendor_smi.path_name(pair.group(1))
            inner = line.startswith(" ")
            above = above if inner else name
            last = "%s/%s" % (above, name) if inner else name
            found.setdefault(last, pair.group(2).strip()[:400])
        elif line.strip() and last:
            found[last] = ("%s %s" % (found[last], line.strip())).strip()[:400]
        elif not line.strip():
            last = None
    return found


def _size(text):
    size = re.match(r"(\d{1,9})\.00 MiB\Z", text)
    return "%s MiB" % size.group(1) if size else text


def _card(told):
    card = {_CARD.get(name, name): _words(value) for name, value in told.items()}
    size = card.pop("memory_physical_size_byte", "")
    if size.isdigit() and len(size) < 16:
        card["memory_physical_size"] = "%.2f MiB" % (int(size) / 1048576.0)
    if "memory_physical_size" in card:
        card["memory_physical_size"] = _size(card["memory_physical_size"])
    card["index"] = card.get("device_id", "N/A")
    return card


def _numbered(index):
    """Further calls name the card by it."""
    return re.match(r"[0-9]{1,4}\Z", index)


def cards(text, what, one=False):
    """Log of discovery, of all or of one (-d)."""
    log, told = vendor_smi.Log(), document(text)
    if told is not None:
        listed = told.get("device_list", [told] if one and "device_id" in told else None)
        log.fits = "device_list" in told or bool(listed)
        log.cards = [card for card in map(_card, _entries(listed)) if _numbered(card["index"])]
        if isinstance(listed, list) and len(log.cards) != len(listed):
            log.problems.append("%s: an entry that is no device" % what)
        return _once(log, what)
    rows, ended = blocks(text)
    for keys, lines in rows:
        if keys == ["Device ID"] and lines[0].strip().startswith("Device Information"):
            log.fits = True
        elif log.fits and _numbered(keys[0]):
            log.cards.append(_card(dict(pairs(lines), device_id=keys[0])))
    if log.fits and (not ended or not log.cards):
        log.problems.append("%s: ends inside the table" % what)
    if log.fits and any(text.count(name) > len(log.cards) for name in (" Device Name:", " PCI BDF Address:")):
        log.problems.append("%s: more devices are described than begin" % what)
    return _once(log, what)


def _once(log, what):
    if len({card["index"] for card in log.cards}) != len(log.cards):
        log.problems.append("%s: a device is listed twice" % what)
    return log


def config(text):
    """(settings of the device, {tile: settings}) of config -d."""
    told, tiles = document(text), {}
    if told is not None:
        for entry in _entries(told.get("tile_config_data")):
            tiles[_words(entry.get("tile_id"))] = {_CONFIG.get(name, name): _words(value) for name, value in entry.items()}
        return {_CONFIG.get(name, name): _words(value) for name, value in told.items()}, tiles
    device = {}
    for keys, lines in blocks(text)[0]:
        place = keys[-1]
        if place.isdigit():
            device.update(pairs(lines))
        elif re.match(r"\d{1,4}/\d{1,3}\Z", place):
            tiles[place] = pairs(lines)
    return device, tiles


def dump(text):
    """{device: its newest sample} of the CSV of dump: columns by their names, for their numbers differ by version."""
    names, found = None, {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if cells[:2] == ["Timestamp", "DeviceId"]:
            names = [vendor_smi.path_name(cell) for cell in cells]
        elif names and len(cells) == len(names) and cells[1].isdigit():
            found[cells[1]] = {_DUMP.get(name, name): cell for name, cell in zip(names[2:], cells[2:])}
    return found


def stats(text):
    """Values of stats -d; a cell that is empty is no zero."""
    told = document(text)
    if told is None:
        found = {}
        for keys, lines in blocks(text)[0]:
            name = vendor_smi.path_name(keys[0])
            found.setdefault(_DUMP.get(name, name), lines[0].split(";")[0].strip())  # device; then its engines
        return found if "device_id" in found else {}
    found = _metrics(told.get("device_level"))
    for tile in _entries(told.get("tile_level")):  # of several tiles counters are added, and the hottest counts
        for name in _metrics(tile.get("data_list")):
            if name not in found and ("error" in name or name == "reset" or "temperature" in name):
                tiles = [_metrics(other.get("data_list")).get(name) for other in _entries(told["tile_level"])]
                numbers = [float(number) for number in tiles if re.match(r"\d{1,12}(?:\.\d{1,9})?\Z", str(number))]
                if len(numbers) == len(tiles):
                    found[name] = "%g" % (max(numbers) if "temperature" in name else sum(numbers))
    return found


def _metrics(listed):
    found = {}
    for entry in _entries(listed):
        name = _METRICS.get(str(entry.get("metrics_type")).replace("XPUM_STATS_", ""))
        if name:
            found[name] = _words(entry.get("value"))
    return found


def health(text):
    """{device: {component: {status, description, throttle_threshold, shutdown_threshold}}} of health -l."""
    told, found = document(text), {}
    if told is not None:
        for entry in _entries(told.get("device_list", [told])):
            parts = {name: {key: _words(value) for key, value in part.items()} for name, part in entry.items()
                     if isinstance(part, dict) and ("status" in part or "description" in part)}  # fmt: skip
            if parts:
                found[_words(entry.get("device_id"))] = parts
        return found
    current = None
    for keys, lines in blocks(text)[0]:
        if keys == ["Device ID"]:
            current = found.setdefault(lines[0].strip(), {})
        elif current is not None:
            name = re.sub(r"^\d+_", "", vendor_smi.path_name(keys[0]))
            name = name[4:] if name.startswith("gpu_") else name
            if name in current or sum(line.startswith("Description:") for line in lines) > 1:
                current["a part whose first row is missing"] = {}
            current.setdefault(name, pairs(lines))
    return found


def precheck(text):
    """{vmx_flag, iommu, sr_iov: (passed, message)} of vgpu --precheck. The table says Result in one row and Status in the others."""
    told, found = document(text), {}
    if told is not None:
        rows = [(name, {"status": _words(told[key]), "message": _words(told.get(key.replace("status", "message").replace("vmx_flag", "vmx_message")))})
                for key, name in _PRECHECK.items() if key in told]  # fmt: skip
    else:
        rows = [(vendor_smi.path_name(keys[0]), pairs(lines)) for keys, lines in blocks(text)[0]]
    for name, row in rows:
        said = row.get("status", row.get("result", "")).lower()
        if name in _PRECHECK.values() and said in ("pass", "fail"):
            found[name] = (said == "pass", row.get("message", ""))
    return found


def topology(text):
    """({tile: {other tile: word}}, {tile: CPU list}) of topology -m."""
    labels, words, cpus = [], {}, {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        tiles = re.findall(r"GPU (\d{1,4}/\d{1,3})", line)
        if "CPU Affinity" in line and tiles:
            labels = tiles
        elif labels and len(cells) == len(labels) + 2:
            name, row = cells[0].replace("GPU ", ""), cells[1:-1]
            if name in labels and row[labels.index(name)] == "S":
                words[name] = {peer: word[:20] for peer, word in zip(labels, row) if peer != name}
                cpus[name] = cells[-1][:200]
    return words, cpus


def _program(text):
    """Without folders and arguments, which may hold secrets."""
    return (text.split() or ["?"])[0].rpartition("/")[2][:40]


def processes(text):
    """{device: [name of a process]}, None where the list is not understood."""
    told, found = document(text), {}
    if told is not None:
        listed = told.get("device_util_by_proc_list", [] if "error" not in told else None)
        if listed is None:
            return None
        for entry in _entries(listed):
            found.setdefault(_words(entry.get("device_id")), []).append(_program(_words(entry.get("process_name"))))
        return found
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or lines[0] != ["PID", "Command", "DeviceID", "SHR", "MEM"]:
        return None
    for words in lines[1:]:
        if len(words) >= 5 and words[0].isdigit():
            found.setdefault(words[-3], []).append(_program(" ".join(words[1:-3])))
    return found


def error(text):
    """What went wrong, where the JSON says so."""
    told = document(text)
    return _words(told["error"])[:200] if told is not None and "error" in told else ""


def versions(text):
    """(of the tool, of Level Zero) of -v."""
    own = re.search(r"Version: *(\d[\w.+-]{0,40})", text)
    zero = re.search(r"Level Zero Version: *(\d[\w.+-]{0,40})", text)
    return own.group(1) if own else "", zero.group(1) if zero else ""
