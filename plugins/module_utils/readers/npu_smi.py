# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of Huawei's npu-smi, taken apart by structure: cells between "|", "key : value" lines, labels. Never by column.

The layouts are those of the tool's published source (print_total_info*, print_mapping_info*, show_*_ecc_info) and of outputs seen in the field.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.npu_smi_words import ID, identifier
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, number, unknown

FAST = ("HCCS", "HCCS_SW", "SIO", "UB")
SLOW = ("SYS", "PHB", "PIX", "PXB")  # legend of -t topo
# the manual of npu-smi: UNKNOWN says that the device does not exist or was not started
HEALTH = {"ok": "ok", "warning": "degraded", "alarm": "failed", "critical": "failed", "unknown": "lost"}
WORST = ("ok", "degraded", "failed", "lost")
# MiB per chip. FaultDiag of mind-cluster calls less than nominal HBM abnormal. The 950 is sold in several sizes.
NOMINAL = {"910": 32768, "910C": 65536, "910B1": 65536, "910B2": 65536, "910B2C": 65536, "910B3": 65536, "910B4": 32768, "910B4-1": 65536}
NOMINAL_SOURCE = "Project-HAMi/ascend-device-plugin device list"

BUS = re.compile(r"[0-9A-Fa-f]{1,8}:[0-9A-Fa-f]{1,2}:[0-9A-Fa-f]{1,2}\.[0-7]\Z")
_PAIR = re.compile(r"([^\s/]+)\s*/\s*([^\s/]+)")
_TITLE = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)")
_IDLE = re.compile(r"No running processes found in NPU\s+([0-9]{1,7})\b")
_LABEL = re.compile(r"(NPU|Phy-ID)([0-9]{1,7})\Z")
_NOTHING = ("", "na", "n/a", "-", "--", "none", "unknown")
_COLUMNS = {"NPU ID": "npu", "Slot ID": "slot_id", "Chip ID": "chip", "Chip Logic ID": "logic_id", "Chip Phy-ID": "phy_id", "Chip Name": "name"}


def fact(text, what, convert=None):
    """npu-smi prints NA or - for what it could not get: unknown, never 0."""
    if text is not None and str(text).strip().lower() in _NOTHING:
        return unknown("%s: npu-smi prints %r" % (what, str(text).strip()))
    return build.fact(text, what, convert)


def quantity(text, what, low=0, high=10**12):
    def convert(words):
        value = number(words, what, "")
        return value if not is_known(value) or low <= value <= high else None

    return fact(text, what, convert)


# -- npu-smi info ------------------------------------------------------------------------------------------------------


def parse_info(text):
    """tool and driver version, chips in print order, processes {npu: {chip: count}}, problems: why the list may be incomplete, noise: other lines."""
    table = {"tool": None, "driver": None, "chips": [], "processes": {}, "problems": [], "noise": [], "framed": False, "none": False}
    state = {"open": None, "listing": True, "last": ""}
    for line in filter(None, map(str.strip, text.splitlines())):
        if not line.strip("+-=| ") and line.strip("| "):
            table["framed"], state["last"] = True, "border"
        elif line.startswith("|"):
            state["last"] = "row"
            parts = [part.strip() for part in line.split("|")[1:]]
            cut = bool(parts[-1])
            cells = parts if cut else parts[:-1]
            if cut:
                table["problems"].append("a line is cut off: %r" % line[:80])
                cells[-1] = ""
            if cells:
                _row(table, state, cells)
        elif not line.strip(".…"):
            if state["listing"]:
                table["problems"].append("rows are left out (%s)" % line[:3])
        elif "no npu card" in line.lower():
            table["none"] = True
        else:
            table["noise"].append(line[:200])
    _close(table, state)
    if state["last"] == "row":
        table["problems"].append("the text ends inside the table")
    return table


def _close(table, state):
    if state["open"]:
        table["problems"].append("NPU %d has no second line" % state["open"]["npu"])
        _once(table, state["open"])
    state["open"] = None


def _once(table, entry):
    if any(other is not entry and (other["npu"], other["chip"]) == (entry["npu"], entry["chip"]) for other in table["chips"]):
        table["problems"].append("NPU %d chip %d is printed twice" % (entry["npu"], entry["chip"]))
        table["chips"].remove(entry)


def _row(table, state, cells):
    words = cells[0].split()
    numbers = bool(words) and all(map(ID.match, words))
    title, idle = _TITLE.search(cells[0]), _IDLE.search(cells[0])
    if title:
        table["tool"], table["driver"] = title.groups()
    elif idle:
        state["listing"] = False
        table["processes"].setdefault(int(idle.group(1)), {})
    elif any(cell.startswith("Process id") for cell in cells):
        state["listing"] = False
    elif len(cells) in (4, 5) and numbers and ID.match(cells[1]) and ID.match(cells[3]):  # 26.0 adds the id in a container
        state["listing"] = False
        counts = table["processes"].setdefault(int(words[0]), {})
        chip = int(words[1]) if len(words) > 1 else 0
        counts[chip] = counts.get(chip, 0) + 1
    elif len(cells) in (3, 4):
        wide = len(cells) == 4  # 950: NPU ID and name have cells of their own, and chips have no number
        second = numbers if not wide else not words and not cells[1]
        if second and (BUS.match(cells[-2]) or (cells[-2].lower() in _NOTHING[1:] and state["open"])):
            _second(table, state, words, cells, wide)
        elif words and ID.match(words[0]) and (len(words) == 1 or not wide):
            _close(table, state)
            pair = _PAIR.search(cells[-1])
            plain = cells[-1][: pair.start() if pair else None].split()
            power, temperature = plain if len(plain) == 2 else (None, None)
            state["open"] = {
                "npu": int(words[0]), "name": cells[1] if wide else " ".join(words[1:]), "health": cells[-2], "power": power, "temperature": temperature,
                "chip": 0, "second": None, "bus": "", "use": None, "pairs": [], "wide": wide,
            }  # fmt: skip
            table["chips"].append(state["open"])


def _second(table, state, words, cells, wide):
    entry = state["open"]
    if entry is None or entry["wide"] != wide:
        table["problems"].append("a second line without its NPU: %s" % cells[-2])
        _close(table, state)
        return
    state["open"] = None
    pairs = list(_PAIR.finditer(cells[-1]))
    before = cells[-1][: pairs[0].start()].split() if pairs else []
    entry.update(chip=int(words[0]) if words else 0, second=int(words[1]) if len(words) > 1 else None, bus=cells[-2])
    entry.update(use=before[0] if len(before) == 1 else None, pairs=[pair.groups() for pair in pairs])
    _once(table, entry)


def layout(chip):
    """The tool picks it by chip type: 950 | phy (910C, sold as A3) | device (310, 310P) | plain (910, 910B)."""
    if chip["wide"]:
        return "950"
    if chip["second"] is None:
        return "plain"
    return "device" if len(chip["pairs"]) < 2 else "phy"


def silent(chip):
    """A chip that did not answer: npu-smi prints the zeros of its own memory for it, also its OK is one of them (npu_info.c)."""
    return bool(chip["pairs"]) and chip["pairs"][-1][1] == "0"


def family(chip):
    """By layout and memory, not by a digit in the name: a first 910 may print 910B. 910B, 910C and 950 have no DDR: 0 / 0."""
    kind = layout(chip)
    if kind == "device":
        found = re.match(r"(?:ascend\s*)?(310[pb]?)", chip["name"].lower())
        return found.group(1).upper() if found else unknown("family: layout of a 310 or 310P, name %r" % chip["name"][:40])
    if kind != "plain":
        return {"950": "950", "phy": "910C"}[kind]
    ddr = quantity(chip["pairs"][0][1], "DDR") if len(chip["pairs"]) == 2 else unknown("family: memory columns not understood")
    return ddr if not is_known(ddr) else "910" if ddr > 0 else "910B"


def nominal(fam, name):
    """HBM of one chip as sold, or None."""
    if not is_known(fam):
        return None
    return NOMINAL.get(name.split()[-1].upper() if fam == "910B" and is_known(name) else fam)


# -- its other queries -------------------------------------------------------------------------------------------------


def parse_list(text):
    """`npu-smi info -l` -> number of NPUs (boards), or None. The total it states counts when lines were cut off."""
    lines = sum(1 for line in text.splitlines() if "NPU ID" in line)
    stated = re.search(r"(?:Total|Card) Count\s*:\s*([0-9]{1,7})\b", text)
    if not lines and not stated:
        return 0 if "no npu card" in text.lower() else None
    return max(lines, int(stated.group(1)) if stated else 0)


def parse_mapping(text):
    """`npu-smi info -m` -> {(npu, chip): {logic_id, phy_id, slot_id, name}}; rows of the MCU have "-" for their numbers and are left out."""
    columns, found = [], {}
    for line in text.splitlines():
        heads = re.findall("|".join(_COLUMNS), line)
        if "NPU ID" in heads and "Chip Name" in heads:
            columns = [_COLUMNS[head] for head in heads]
            continue
        words = line.split()
        if not columns or len(words) < len(columns):
            continue
        row = dict(zip(columns, words))
        entry = {key: identifier(row[key]) for key in ("logic_id", "phy_id", "slot_id") if key in row}
        npu, chip = identifier(row.get("npu")), identifier(row.get("chip"))
        if npu is None or chip is None or (entry.get("logic_id") is None and entry.get("phy_id") is None):
            continue
        found[(npu, chip)] = dict(entry, name=" ".join(words[len(columns) - 1 :]))
    return found


def block_of(blocks, chip, alone):
    """The block of a chip. The only block of a card with one chip needs no number."""
    for block in blocks:
        if identifier(block.get("Chip ID")) == chip:
            return block
    if alone and blocks and not any("Chip ID" in block for block in blocks):
        return blocks[0]
    return unknown("no block for chip %d" % chip)


def health_of(word, block):
    """(group health, what the errors are) from the table's word and -t health: the worse, as the latter turns a warning without a code into OK."""
    state = HEALTH.get(word.lower(), unknown("npu-smi info: Health %r" % word))
    again = HEALTH.get(str(block.get("Health Status") or block.get("Health")).lower())
    if again:
        state = max(state, again, key=WORST.index) if is_known(state) else again if again != "ok" else state
    errors = {key: block[key][:300] for key in ("Error Code", "Error Information") if is_known(fact(block.get(key), key))}
    return {"state": state, "detail": " ".join([word, *sorted(errors.values())])}, errors


def ecc_mode(blocks):
    """The lines `DDR|HBM ECC-Enable Status : True` of -t ecc-enable."""
    if not isinstance(blocks, list):
        return blocks or unknown("npu-smi info -t ecc-enable: not asked")
    words = [value.lower() for block in blocks for key, value in block.items() if "ECC-Enable" in key]
    if "false" in words:
        return "disabled"
    return "enabled" if words and set(words) == {"true"} else unknown("npu-smi info -t ecc-enable: %s" % ", ".join(words)[:60])


def counters(block, fam=None):
    """ECC counters of one chip -> the groups ecc and retired_pages, and every counter by its own name. DDR and HBM are added up."""
    block = {key.replace("-bit ", " Bit "): value for key, value in block.items()}  # 310, 310B
    read = {key: quantity(value, key) for key, value in block.items() if " Bit " in key or " Page " in key}

    def total(*names):
        values = [read[key] for name in names for key in ("DDR " + name, "HBM " + name, name) if key in read]
        odd = [value for value in values if not is_known(value)]
        if not values and fam in ("310", "310B") and "Error Count" not in names[0]:
            return not_applicable("not counted on this product")
        return odd[0] if odd else sum(values) if values else unknown("%s: not printed" % names[0])

    # isolated at the next reset; the second names are those of the 950's manual
    waiting = total("Double Bit Next-Isolated Pages Count", "Pending Retire Page Count")
    if fam in ("310", "910") and not any("Next" in key for key in read):
        waiting = not_applicable("not counted on this product")
    ecc = {
        "corrected_volatile": total("Single Bit Error Count"),
        "uncorrected_volatile": total("Double Bit Error Count"),
        "corrected_aggregate": total("Single Bit Aggregate Total Err Cnt"),
        "uncorrected_aggregate": total("Double Bit Aggregate Total Err Cnt"),
        "sram_threshold_exceeded": not_applicable("no such counter"),
    }
    pages = {
        "corrected": total("Single Bit Isolated Pages Count"),
        "uncorrected": total("Double Bit Isolated Pages Count", "Isolated Page Count"),
        "pending": waiting > 0 if is_known(waiting) else waiting,
    }
    return ecc, pages, {key.lower().replace(" ", "_").replace("-", "_"): value for key, value in read.items()}


def parse_topo(text):
    """`npu-smi info -t topo` -> (labels, {label: {peer: word}}). A row without its own X in place is left out."""
    labels, rows = [], {}
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0].startswith("Legend"):
            break
        if not labels:
            if _LABEL.match(words[0]) and (len(words) == 1 or _LABEL.match(words[1]) or words[1].startswith("NIC") or "Affinity" in words):
                labels = [word for word in words if _LABEL.match(word)]
            continue
        cells = words[1 : len(labels) + 1]
        if words[0] in labels and len(cells) == len(labels) and cells[labels.index(words[0])] == "X":
            rows[words[0]] = {peer: word for peer, word in zip(labels, cells) if peer != words[0]}
    return labels, rows


def links_of(label, topo):
    """The group links of one label. The NPU with the most HCCS cells says how many there should be."""
    labels, rows = topo
    counts = {name: sum(1 for word in row.values() if word in FAST) for name, row in rows.items()}
    total = max(counts.values()) if counts else 0
    if label not in rows:
        return unknown("npu-smi info -t topo: no row for it")
    strange = [word for row in (rows[label], *rows.values()) for word in row.values() if word not in FAST + SLOW]
    kind = "ub" if any("UB" in row.values() for row in rows.values()) else "hccs"  # UB: 950
    if not total and not strange:
        return not_applicable("npu-smi info -t topo: no HCCS between the NPUs of this node")
    if not total or (strange[:1] and strange[0] in rows[label].values()):
        reason = unknown("npu-smi info -t topo: %s, an unknown relationship" % strange[0][:20])
        return {"kind": kind, "total": total or reason, "up": reason, "down": reason}
    down = []
    if counts[label] < total:
        down = unknown("npu-smi info -t topo: which peers should be linked is not told")
        if total == len(labels) - 1:
            down = [int(_LABEL.match(peer).group(2)) for peer, word in rows[label].items() if word not in FAST]
    return {"kind": kind, "total": total, "up": counts[label], "down": down}
