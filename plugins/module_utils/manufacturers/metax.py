# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MetaX, asked through mx-smi, and its sister brand, asked through ht-smi: table, list, JSON, one call for the other questions, topology."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, number, unknown

MANUFACTURER = "metax"
NO_SECOND_COUNT = "MetaX: mx-smi is the only tool and no second one counts on the host; the PCI scan stands beside it"
SHARED_NODES = ("mxcd", "mxnd", "mxgd")
# Options that only show something, and the section each prints: the sections that are missing after one call for all are asked one by one.
QUESTIONS = {
    "--count-ecc": "ecc_errors", "--show-board-power": "board_power", "--show-clk-tr": "throttle_reason", "--show-ecc-state": "ecc_state",
    "--show-hwinfo": "hardware_info", "--show-temperature": "chip_temperature", "--show-version": "version",
}  # fmt: skip
# The words of --show-clk-tr that mean what the rules know under another name.
THROTTLE = {
    "chip_over_temperature": "hw_thermal_slowdown", "vr_over_temperature": "hw_thermal_slowdown", "hbm_over_temperature": "hw_thermal_slowdown",
    "thermal_over_temperature": "hw_thermal_slowdown", "power_brake": "hw_power_brake_slowdown", "over_power": "sw_power_cap",
}  # fmt: skip
_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_CARD = re.compile(r"\s*GPU#(\d{1,4})\s+(\S+)\s+(%s)\s*(.*?)\s*\Z" % _ADDRESS)
_SLICE = re.compile(r"\s*SGPU#(\d{1,4})\s+(\d{1,3})%\s+([\d.]{1,12})gb\s+(.*?)\s*\Z", re.IGNORECASE)
_UUID = re.compile(r"\(UUID: ([\w-]{4,60})\)")
_PROCESS = re.compile(r"\|\s*(\d{1,4})\s+(\d{1,10})\s.*\|\s*\Z")
_BANNER = re.compile(r"\b(?:MX|HT)-SMI\b|\b(?:mx|ht)-smi +version:|(?:MetaX|Mars) System Management Interface")
_VERSIONS = (
    ("tool", r"\b(?:MX|HT)-SMI +(\d[\w.-]*)|\b(?:mx|ht)-smi +version: *(\S+)"), ("version", r"Kernel Mode Driver Version: *(\S+)"),
    ("runtime_version", r"\b(?:MACA|HPCC) Version: *(\S+)"), ("bios", r"BIOS Version: *(\S+)"),
)  # fmt: skip


def snake(text):
    return re.sub(r"[^a-z0-9]+", "_", str(text).lower()).strip("_")[:60]


def amount(text, what, unit=None, low=0, high=1 << 31):
    return vendor_tool.within(build.told(text, what, lambda words: number(words, what, unit)), low, high, what)


def count(text, what):
    value = amount(text, what)
    return unknown("%s: no count: %s" % (what, value)) if isinstance(value, float) else value


def _cells(labels, cell):
    """A cell by its labels: of three and more the second is the one of several words."""
    words, more = cell.split(), len(labels) - 2
    if more > 0 and len(words) > len(labels):
        return zip(labels, [words[0], " ".join(words[1:-more]), *words[-more:]])
    return zip(labels, cell.split(None, len(labels) - 1)) if labels else ()


def parse_table(text):
    """{versions, cards: [{label: cell}], processes: {gpu: pids} or None, problems}. The header names the cells: the columns differ between versions."""
    found = {"versions": {}, "cards": [], "processes": None, "problems": []}
    for key, pattern in _VERSIONS:
        said = re.search(pattern, text)
        if said:
            found["versions"][key] = next(group for group in said.groups() if group)
    attached = re.search(r"^ *Attached GPUs +: *(\S*)", text, re.MULTILINE)
    table, processes = [*re.split(r"^ *\|\s*Process:", text, maxsplit=1, flags=re.MULTILINE), ""][:2]
    chunks, head, started = [[]], [], False
    for line in table.splitlines():
        line = line.strip()
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"[|+][-=+|]+\Z", line):
            started = started or ("=" in line and bool(head))
            chunks.append([])
        elif line.startswith("|") and started:
            chunks[-1].append(cells)
        elif line.startswith("|") and (head or "Bus-id" in line):
            head.append([cell.split() for cell in cells])
        elif line and started and line != "End of Log":
            found["problems"].append("a line outside the table: %.40r" % line)
    for chunk in filter(None, chunks):
        if len(chunk) % max(len(head), 1):
            found["problems"].append("a card with %d lines instead of %d" % (len(chunk), len(head)))
        for first in range(0, len(chunk) - len(head) + 1, max(len(head), 1)):
            card = {}
            for names, cells in zip(head, chunk[first : first + len(head)]):
                for labels, cell in zip(names, cells):
                    card.update(_cells(labels, cell))
            found["cards"].append({snake(label): words.strip() for label, words in card.items()})
    if started and chunks[-1]:
        found["problems"].append("the table ends early")
    if attached and attached.group(1) != str(len(found["cards"])) and started:
        found["problems"].append("%.20r attached, %d described" % (attached.group(1), len(found["cards"])))
    whole = re.match(r"[|+][-+|]+\Z", (processes.replace("End of Log", "").split() or [""])[-1])
    if "no process found" in processes.lower():
        found["processes"] = {}
    elif whole:
        lines = [_PROCESS.match(line.strip()) for line in processes.splitlines()]
        pids = {}
        for line in filter(None, lines):
            pids.setdefault(int(line.group(1)), set()).add(line.group(2))
        found["processes"] = {gpu: len(seen) for gpu, seen in pids.items()} or None
    found["none"] = bool(attached) and attached.group(1) == "0"
    return found


def parse_list(text):
    """-L: ([{index, chip, bdf, state, uuid, slices}], problems)"""
    cards, problems = [], []
    for line in text.splitlines():
        card, part = _CARD.match(line), _SLICE.match(line)
        if card:
            entry = {"index": int(card.group(1)), "chip": card.group(2), "bdf": card.group(3), "state": card.group(4), "slices": []}
            cards.append(entry)
        elif part and cards:
            entry = {"id": int(part.group(1)), "compute": int(part.group(2)), "gb": part.group(3), "state": part.group(4)}
            cards[-1]["slices"].append(entry)
        elif re.match(r"\s*S?GPU#", line):
            problems.append("-L: not understood: %.60r" % line.strip())
            continue
        else:
            continue
        uuid = _UUID.search(entry["state"])
        entry["uuid"] = uuid.group(1) if uuid else None
        entry["state"] = _UUID.split(entry["state"])[0].strip()
    return cards, problems


def parse_json(text):
    """-j prints its version before the JSON: ({bdf: card}, top, problems)"""
    try:
        document = chatter.first_object(text)
    except (ValueError, RecursionError):
        return {}, {}, ["-j: no JSON"]
    if document is None:
        return {}, {}, []
    cards = {name: card for name, card in document.items() if re.match(_ADDRESS + r"\Z", name) and isinstance(card, dict)}
    top = {name: value for name, value in document.items() if isinstance(value, (str, int)) and not isinstance(value, bool)}
    if top.get("attached_gpus") != len(cards):
        return cards, top, ["-j: %.20r attached, %d described" % (top.get("attached_gpus"), len(cards))]
    return cards, top, []


def parse_log(text, cards):
    """`key : value` below a heading below GPU#N, into cards {index: {bdf, chip, "heading/key": value}}. Tabs and blanks are mixed: no depth."""
    card, heading = None, ""
    for line in text.splitlines():
        head, (name, colon, value) = _CARD.match(line), line.strip().partition(":")
        if head:
            card, heading = cards.setdefault(int(head.group(1)), {"bdf": head.group(3), "chip": head.group(2)}), ""
        elif line.startswith(("Attached", "End of Log", "===")):
            card = None
        elif card is not None and colon:
            card.setdefault("%s/%s" % (heading, snake(name)), value.strip()[:200])
        elif card is not None and name:
            heading = snake(name)
    return cards


def parse_topology(text):
    """topo -m: {gpu: ({peer: word}, NUMA node as text or None)}"""
    found, heads = {}, []
    for line in text.splitlines():
        cells = line.split()
        if not heads and cells[:1] == ["GPU0"]:
            heads = [cell for cell in cells if re.match(r"GPU\d+\Z", cell)]
            others = len([cell for cell in cells if re.match(r"NIC\d+\Z", cell)])
        elif heads and cells and re.match(r"GPU\d{1,4}\Z", cells[0]) and len(cells) > len(heads):
            peers = dict(zip(heads, cells[1:]))
            node = cells[1 + len(heads) + others : 2 + len(heads) + others]
            found[int(cells[0][3:])] = ({peer: word for peer, word in peers.items() if word != "X"}, node[0] if node else None)
    return found


def errors(value, depth=0):
    """Sum of the numbers of a part of ras_count; None when it is none. An empty one is no error."""
    if isinstance(value, dict) and depth < 4:
        sums = [errors(inner, depth + 1) for inner in value.values()]
        return None if None in sums else sum(sums)
    seen = number(str(value), "count")
    return seen if isinstance(seen, int) and 0 <= seen < 1 << 62 else None


class Reading:
    def __init__(self, host, pci):
        self.host, self.tool = host, vendor_tool.Tool(host, "mx-smi", "ht-smi")
        self.pci = on_pci(host, MANUFACTURER, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        listing = host.listdir("/dev")
        self.nodes = ["/dev/" + name for name in SHARED_NODES if name in listing.value] if listing.ok else []
        self.module, self.loaded = vendor_tool.module_version(host, "metax")
        self.failed, self.foreign, self.problems, self.notes = "", False, [], []
        self.table, self.listed, self.json, self.top, self.log, self.topology = parse_table(""), {}, {}, {}, {}, {}
        self.cards = []  # (bdf, index), every card any answer names
        self.ecc_asked = False

    def _say(self, *arguments):
        text, reason = self.tool.ask(*arguments)
        if text is not None and ("PARSE ERROR" in text or not text.strip()):
            text, reason = None, "%s: %s" % (" ".join((self.tool.name, *arguments)), vendor_tool.words(text))
        return text, reason

    def ask(self):
        text, reason = self._say()
        if text and "MOFFETT-SMI" in text:
            self.failed, self.foreign = "mx-smi here is the tool of Moffett (MOFFETT-SMI)", True
            return
        if text and not _BANNER.search(text):
            text, reason = None, "%s: not a table of MetaX: %s" % (self.tool.name, vendor_tool.words(text))
        if text is not None:
            self.table = parse_table(text)
            self.problems += self.table["problems"] + ([reason] if reason else [])
            if not self.table["cards"] and not self.table["none"]:
                reason = "%s: no table: %s" % (self.tool.name, vendor_tool.words(text))
        listing, why_list = self._say("-L")
        entries, problems = parse_list(listing or "")
        self.problems += problems + ([why_list] if listing and why_list else [])
        document, _why = self._say("-j")
        self.json, self.top, problems = parse_json(document or "")
        self.problems += problems
        self.listed = {self._place(entry["bdf"], entry["index"], entry["chip"]): entry for entry in entries}
        for row in self.table["cards"]:
            row["place"] = self._place(row.get("bus_id"), row.get("gpu"), row.get("name"))
        self.json = {self._place(bdf, card.get("device_id"), bdf): card for bdf, card in self.json.items()}
        if self.cards:
            self._ask_rest()
            if reason:
                self.notes.append(reason)
        elif not self.table["none"] and self.top.get("attached_gpus") != 0:
            self.failed = reason or "%s: lists no card" % self.tool.name

    def _place(self, bdf, index, what):
        """The address that names a card in every answer; the index is the tool's own."""
        address, index = build.normalize_pci(bdf), number(str(index), "index")
        if not is_known(address) or not isinstance(index, int) or not 0 <= index < 10000:
            self.problems.append("a card without address or number: %.40r" % (what,))
            return None
        if any((known == address) != (number_ == index) for known, number_ in self.cards):
            self.problems.append("%s is GPU %s and another number or card too" % (address, index))
            index = max(number_ for _known, number_ in self.cards) + 1
        if address not in [known for known, _number in self.cards]:
            self.cards.append((address, index))
        return address

    def _ask_rest(self):
        text, _reason = self._say(*QUESTIONS)
        by_index = parse_log(text or "", {})
        for option, section in QUESTIONS.items():
            if not any(section in path.split("/")[0] for card in by_index.values() for path in card):
                by_index = parse_log(self._say(option)[0] or "", by_index)
        for card in by_index.values():
            self.log[build.normalize_pci(card["bdf"])] = card
        self.topology = parse_topology(self._say("topo", "-m")[0] or "")

    def devices(self):
        found = []
        for address, index in sorted(self.cards, key=lambda known: known[1]):
            found += self._card(address, index)
        return build.mark_duplicates(found)

    def _health(self, row, listed, told):
        words = [str(word).strip() for word in (row.get("gpu_state"), listed.get("state")) if word]
        reason = told.get("unavailable_reason")
        bad = [word for word in words if re.match(r"not available|unavailable", word, re.IGNORECASE)]
        if isinstance(reason, str) and reason.strip().lower() not in ("", "available", "n/a"):
            bad.append(reason.strip())
        if bad:
            return {"state": "failed", "detail": "; ".join(bad)[:300]}
        odd = [word for word in words if word.lower() != "available"]
        if odd or not words:
            return {"state": unknown("GPU-State: %.60r" % odd[0] if odd else "GPU-State: not printed"), "detail": ""}
        return {"state": "ok", "detail": ""}

    def _ecc(self, log, told):
        """--count-ecc counts since the start of the driver, ras_count of -j every unit of the chip: the worse of them."""
        ras = told.get("ras_count") if isinstance(told.get("ras_count"), dict) else {}
        ecc = {}
        for name, word, part in (("corrected_volatile", "correctable", "corrected_error"), ("uncorrected_volatile", "uncorrectable", "uncorrected_error")):
            printed = [count(text, path) for path, text in log.items() if re.match(r"ecc_errors/(?:\w+_)?%s\Z" % word, path)]
            counts = [one for one in printed if isinstance(one, int)]
            unread = [one for one in printed if not isinstance(one, int)]
            counted = errors(ras[part]) if part in ras else None
            ecc[name] = max(sum(counts), counted or 0)
            # no uncorrected error in one of two counts is not none
            if not ecc[name] and (unread or (counted is None and (part in ras or not counts or part == "uncorrected_error"))):
                ecc[name] = unread[0] if unread else unknown("%s: ras_count of -j: not read" % name)
        state = build.told(log.get("ecc_state/state"), "ecc state", lambda words: {"enable": "enabled", "disable": "disabled"}[words.lower().rstrip("d")])
        never = not_applicable("mx-smi does not tell it")
        return dict(ecc, mode=state, corrected_aggregate=never, uncorrected_aggregate=never, sram_threshold_exceeded=never)

    def _power(self, row, log):
        draw, _slash, limit = (row.get("pwr_usage_cap") or row.get("power", "")).partition("/")
        draws = [amount(draw or None, "Pwr:Usage", "W"), amount(log.get("board_power/total"), "board power total", "W")]
        limits = [amount(limit or None, "Pwr:Cap", "W"), amount(log.get("board_power/limit"), "board power limit", "W")]
        return {"draw": _first(draws), "limit": _first(limits), "limit_default": not_applicable("mx-smi does not tell it")}

    def _registry(self, address):
        """The sGPUs of the kernel module, as gpustack-operator reads them: no directory is a card without any. Layout not seen on hardware."""
        answer = self.host.listdir("/sys/bus/pci/devices/%s/sgpu" % address)
        if answer.status in (answers.ABSENT, answers.NOT_A_DIRECTORY):
            here = self.host.exists("/sys/bus/pci/devices/%s" % address)
            return {"present": False, "subdevices": []} if here.ok and here.value else unknown("%s: not found on PCI" % address)
        if not answer.ok:
            return unknown(answer.reason)
        return {"present": True, "subdevices": sorted(name for name in answer.value if re.match(r"sgpu\d+\Z", name))}

    def _card(self, address, index):
        row = next((row for row in self.table["cards"] if row["place"] == address), {})
        listed, told, log = self.listed.get(address, {}), self.json.get(address, {}), self.log.get(address, {})
        entry, never, one = self.on_bus.get(address), not_applicable("mx-smi does not tell it"), "metax:%d" % index
        registry, infos = self._registry(address), told.get("sgpu_info") if isinstance(told.get("sgpu_info"), list) else []
        slices = listed.get("slices") or []
        mode = build.flag(row.get("sgpu_m"), "sGPU-M")
        if slices or infos or (is_known(registry) and registry["subdevices"]):
            mode = True
        heat = [told.get("hotspot"), *(text for path, text in log.items() if path.startswith("chip_temperature/hotspot")), row.get("temp")]
        heat = _first([amount(text, "hotspot", "C", -60, 200) for text in heat])
        used, _slash, total = row.get("memory_usage", "").partition("/")
        peers, numa = self.topology.get(index, ({}, None))
        reasons = {path.split("/")[1]: text for path, text in log.items() if "throttle_reason/" in path}
        active = sorted(name for name, text in reasons.items() if text.lower() == "active")
        bad = [name for name, text in reasons.items() if text.lower() not in ("active", "not active")] + [name for name in THROTTLE if name not in reasons]
        firmware = {path[8:]: text for path, text in log.items() if path.startswith("version/") and path[8:] not in ("maca", "hpcc", "kmd", "bios")}
        vbios = [told.get("vbios_version"), log.get("version/bios"), self.table["versions"].get("bios") if len(self.table["cards"]) == 1 else None]
        firmware["vbios"] = _first([build.told(text, "BIOS") for text in vbios])
        events = told.get("pci_event_info") if isinstance(told.get("pci_event_info"), dict) else {}
        drm = self.host.listdir("/sys/bus/pci/devices/%s/drm" % address)
        drm = ["/dev/dri/" + name for name in sorted(drm.value) if re.match(r"(?:card|renderD)\d+\Z", name)] if drm.ok else []
        extra = {
            "chip": build.told(log.get("hardware_info/chip_name") or listed.get("chip"), "chip"), "sgpu_registry": registry, "sgpu_count": len(slices or infos),
            "topology": {word: list(peers.values()).count(word) for word in sorted(set(peers.values()))}, "throttle_reasons": active,
            "pci_events": {snake(name): len(items) for name, items in events.items() if isinstance(items, list) and items},
        }  # fmt: skip
        extra.update({path[14:]: text for path, text in log.items() if re.match(r"hardware_info/(?:board_part|chip_serial|memory)_", path)})
        package = build.device(
            one, index, _first([build.told(text, "name") for text in (log.get("hardware_info/model_name"), row.get("name"), listed.get("chip"))]),
            identity=build.identity(
                uuid=build.told(listed.get("uuid"), "-L: UUID"), serial=build.told(log.get("hardware_info/board_serial_number"), "serial"), pci=address,
                slot=never,
            ),
            numa_node=_first([entry["numa_node"] if entry else unknown("not found on PCI"), amount(numa, "topo -m: Node Affinity")]),
            memory_mib=amount(total or None, "Memory-Usage: total", "MiB", 1), memory_used_mib=amount(used or None, "Memory-Usage: used"), firmware=firmware,
            health=self._health(row, listed, told),
            temperature_c=dict(dict.fromkeys(("memory", "limit_core", "limit_memory", "margin_core"), never), core=heat),
            power_w=self._power(row, log),
            utilization_percent=_first([amount(row.get("gpu_util"), "GPU-Util", "%", 0, 100), amount(told.get("utilization"), "utilization", "%", 0, 100)]),
            persistence=build.flag(row.get("persist_m", row.get("persistence_m")), "Persist-M"), ecc=self._ecc(log, told),
            row_remap=not_applicable("MetaX retires pages"),
            retired_pages={
                "corrected": count(log["retired_pages/single_bit_ecc"], "Single Bit ECC") if "retired_pages/single_bit_ecc" in log else never,
                "uncorrected": count(log.get("retired_pages/double_bit_ecc"), "--count-ecc: Double Bit ECC"), "pending": never,
            },
            pcie=vendor_tool.pcie(entry, unknown("not found on PCI"), "mx-smi does not tell it"),
            links=not_applicable("topo -m tells the peers of a card (extra.topology), not its links"),
            partition={"mode": "sgpu", "enabled": mode, "profile": not_applicable("each sGPU has its own"), "memory_profile": not_applicable("none")},
            fabric=not_applicable("no fabric manager"), recovery_action=never, device_nodes=self.nodes + drm, extra=extra,
            throttle={"active": sorted({THROTTLE.get(name, name) for name in active}) if active or not bad else unknown("--show-clk-tr: no %s" % bad[0])},
            processes=unknown("no table of processes") if self.table["processes"] is None else self.table["processes"].get(index, 0),
        )  # fmt: skip
        return [package, *self._slices(package, slices, infos)]

    def _slices(self, package, slices, infos):
        infos = {info["sgpu_id"]: info for info in infos if isinstance(info, dict) and isinstance(info.get("sgpu_id"), int)}
        listed, of_package, found = {part["id"]: part for part in slices}, not_applicable("told for the package"), []
        for number_ in sorted(set(infos) | set(listed)):
            info, part = infos.get(number_, {}), listed.get(number_, {})
            gb = amount(part.get("gb"), "sGPU memory")
            size = amount(info.get("vram_quota"), "vram_quota", None, 1)
            quota = info.get("compute_quota", part.get("compute"))
            groups = dict.fromkeys((*build.GROUPS, "persistence", "recovery_action", "numa_node", "processes"), of_package)
            used = amount(info.get("vram_used"), "vram_used")
            groups["health"] = self._health({}, part, {})
            groups["partition"] = {"mode": "sgpu", "enabled": True, "profile": build.told(quota, "compute quota", lambda words: "%d%%" % int(words))}
            groups["partition"]["memory_profile"] = not_applicable("a quota in MiB")
            identity = build.identity(uuid=build.told(part.get("uuid"), "-L: UUID"), serial=of_package, pci=of_package, slot=of_package)
            found.append(build.device(
                "%s/sgpu:%d" % (package["id"], number_), number_, package["name"], "partition", package["id"], identity=identity,
                memory_mib=size if is_known(size) or not is_known(gb) else round(gb * 1024),
                memory_used_mib=0 if used == 0 else unknown("vram_used: %.40r, its unit is not told" % info.get("vram_used")),
                utilization_percent=amount(info.get("utilization"), "utilization", "%", 0, 100), **groups,
            ))  # fmt: skip
        return found

    def section(self):
        devices = self.devices()
        whole = build.packages(devices)
        failed = self.failed or "; ".join(self.problems)[:300]
        absent = self.foreign or (self.tool.missing and not self.nodes and not self.loaded)
        block = build.detection(MANUFACTURER, devices, failed, self.pci, not_applicable(NO_SECOND_COUNT), not_installed=absent)
        if failed and whole:
            block["accelerators"] = unknown("at least %d: %s" % (len(whole), failed))
        out = ["GPU %s: %s" % (d["index"], d["health"]["detail"]) for d in whole if d["health"]["state"] == "failed"]
        if block["state"] == "ok" and out:
            # listed, and named, but not to be opened from here: there and not usable
            block.update(state="unavailable", reason="%d of %d are not available: %s" % (len(out), len(whole), "; ".join(out)[:300]))
        name = "HPCC" if self.tool.places == ["ht-smi"] else "MACA"
        logged = next(iter(self.log.values()), {})
        file = vendor_tool.file_version(self.host, "/opt/%s/Version.txt" % name.lower(), "no %s below /opt" % name)
        told = self.table["versions"]
        driver = {
            "version": _first([build.told(text, "driver") for text in (told.get("version"), self.top.get("driver_version"), logged.get("version/kmd"))]),
            "module_version": self.module, "library_version": not_applicable("mx-smi does not tell it"), "runtime": name,
            "tool_version": _first([build.told(text, "tool") for text in (told.get("tool"), self.top.get("smi_version"))]),
            "runtime_version": _first([build.told(text, name) for text in (told.get("runtime_version"), self.top.get("maca_version"))] + [file]),
        }  # fmt: skip
        return build.section(MANUFACTURER, self.host, devices, block, driver, self.tool.sources, note="; ".join(self.notes))


def _first(facts):
    """The first that is known, else the first."""
    return next((fact for fact in facts if is_known(fact)), facts[0])


def collect(host, pci=None):
    """The section accelerators.metax. pci: MetaX's accelerators on PCI, or None to look."""
    reading = Reading(host, pci)
    reading.ask()
    return reading.section()
