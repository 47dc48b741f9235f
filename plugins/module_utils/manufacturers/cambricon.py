# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cambricon MLU, asked through cnmon: `cnmon info` for what each card says of itself, `cnmon` for the table that has an end.

`cnmon info -j` is never used: it writes a file into the current directory.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import fact, quantity
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown, why

MANUFACTURER = "cambricon"
INFO_SECONDS, TABLE_SECONDS = 30, 20
NOTE = "no cross-check with a host tool: cnmon is the only tool and is read itself; PCI is compared"
# Values of a block of `cnmon info`: sections and keys in lower case without blanks, joined by "/".
FIELDS = {
    "name": r"productname",
    "uuid": r"uuid",
    "serial": r"serialnumber|sn",
    "firmware": r"firmware(?:version)?",
    "driver": r"driver(?:version)?",
    "mcu": r"mcu(?:version)?",
    "slot": r"slot(?:id)?",
    "total": r"physicalmem(?:ory)?usage/total",
    "used": r"physicalmem(?:ory)?usage/used",
    "use": r"utilization/mluaverage",
    "chip": r"temperature/chip",
    "board": r"temperature/board",
    "memory_heat": r"temperature/memory",
    "draw": r"power/(?:usage|draw)",
    "cap": r"power/cap",
    "health_device": r"(?!pci).+/device(?:health|state|status)?",
    "health_driver": r"(?!pci).+/driver(?:health|state|status)?",
    "corrected": r".*ecc[^/]*/(?:corrected|onebit|singlebit)\w*",
    "uncorrected": r".*ecc[^/]*/(?:uncorrect|twobit|doublebit|multiplebit)\w*",
    "ecc_count": r".*eccerr\w*",
    "remap_corrected": r".*remap[^/]*/correct\w*",
    "remap_uncorrected": r".*remap[^/]*/uncorrect\w*",
    "remap_pending": r".*remap[^/]*/pending\w*",
    "remap_failed": r".*remap[^/]*/fail\w*",
}
_FIELDS = {name: re.compile("(?:%s)\\Z" % pattern) for name, pattern in FIELDS.items()}
# cndev.h (Cambricon/mlu-exporter), cndevCardHealthStateV2: only running is good
GOING = ("early init", "bring-up", "bring up", "booting", "late init", "resetting")
_CARD = re.compile(r"card\s*(?:id\s*:?\s*)?(\d{1,4})\s*:?\Z", re.IGNORECASE)
_BORDER = re.compile(r"[+|][-=+]{8,}[+|]?\Z")
_FIRST = re.compile(r"(\d{1,4})\s+(/|\S{1,8})\s+(.*\S)\s+(\S+)\Z")
_SECOND = re.compile(r"(\S+)\s+(\S+)\s+([^/]+)/([^/]+)\Z")
_PAIR = re.compile(r"([^/]+)/([^/]+)\Z")


def parse_info(text):
    """({card: {path: value}}, problems): `key : value` lines below `Card N`, nested by their indentation."""
    cards, problems, block, stack = {}, [], None, []
    for line in text.splitlines():
        line = line.expandtabs(8)
        said = line.strip()
        head = _CARD.match(said)
        if head:
            number, stack = int(head.group(1)), []
            if number in cards:
                problems.append("card %d twice" % number)
            block = cards[number] = {}
        elif said.strip(".…") == "" and said:
            problems.append("lines are left out")
        elif block is not None and ":" in said:
            key, _colon, value = (part.strip() for part in said.partition(":"))
            depth, key = len(line) - len(line.lstrip()), re.sub(r"[\W_]+", "", key.lower())
            while stack and stack[-1][0] >= depth:
                stack.pop()
            if value:
                block.setdefault("/".join([name for _depth, name in stack] + [key]), value)
            else:
                stack.append((depth, key))
    return cards, problems


def _halves(pattern, cell):
    """Groups of a cell in which N/A must not be taken for a slash."""
    found = pattern.match(cell.replace("N/A", "\0"))
    return [group.replace("\0", "N/A").strip() for group in found.groups()] if found else None


class Table:
    """The table of `cnmon`, in both layouts: a driver and virtual memory in each row (to 4.x), or bus id and modes (from 5.x)."""

    def __init__(self, text):
        self.cards, self.problems, self.tool, self.driver, self.processes = [], [], None, None, None
        self.heads, self.body, self.part, self.card, self.row = [], False, "cards", None, 0
        self.framed = False
        for line in text.splitlines():
            line = line.strip()
            if _BORDER.match(line):
                self._border(line)
            elif line.startswith("|") and line.endswith("|") and len(line) > 1:
                self._line([cell.strip() for cell in line[1:-1].split("|")])
            elif self.body and self.part == "cards" and line:
                self.problems.append("not a row: %r" % line[:60])
            elif not line:
                self._leave()
        if self.body and self.part == "cards":
            self.problems.append("it ends inside the table")
        indexes = [card["key"] for card in self.cards]
        if len(set(indexes)) != len(indexes):
            self.problems.append("a card twice")

    def _border(self, line):
        if "=" in line:
            self.body, self.row = True, 0
            self.framed = self.framed or self.part == "cards"
        elif self.body and self.part == "cards":
            if self.row == 1:
                self.problems.append("half of a card")
            self.card, self.row = None, 0

    def _leave(self):
        if self.body and self.part == "cards":
            if self.row:
                self.problems.append("it ends inside a card")
            self.body = False

    def _line(self, cells):
        first = cells[0]
        if not self.body:
            tool, driver = re.match(r"CNMON\s+(\S+)", first), re.search(r"\bDriver\s+(\S+)", first)
            if tool:
                self.tool, self.driver = tool.group(1), driver.group(1) if driver else self.driver
            elif first.startswith("Processes"):
                self.part = "processes"
            else:
                self.heads.append(cells)
        elif first.startswith("Processes"):
            self._leave()
            self.body, self.part = False, "processes"
        elif self.part == "processes":
            self._process(" ".join(cells))
        else:
            self._card(cells)

    def _process(self, said):
        counts = {} if self.processes is None else self.processes
        number = re.match(r"(\d{1,4})\s+\S+\s+\d+\s", said)
        if number and isinstance(counts, dict) and "unknown" not in counts:
            counts[int(number.group(1))] = counts.get(int(number.group(1)), 0) + 1
        elif not said.startswith("No running"):
            counts = unknown("cnmon: process line not understood: %r" % said[:60])
        self.processes = counts

    def _head(self, row, cell):
        return self.heads[row][cell] if len(self.heads) > row and len(self.heads[row]) > cell else ""

    def _card(self, cells):
        self.row += 1
        if len(cells) != 3:
            self.problems.append("row of %d cells: %r" % (len(cells), " | ".join(cells)[:60]))
        elif self.row == 1:
            found = _FIRST.match(cells[0])
            if not found:
                self.problems.append("row not understood: %r" % cells[0][:60])
                return
            index, function, name, firmware = found.groups()
            self.card = {"index": int(index), "vf": function if function.isdigit() else None, "name": name, "firmware": firmware}
            self.card["key"] = (int(index), self.card["vf"])
            use = cells[2].split()
            self.card.update(use=use[0] if use else None, ecc=use[-1] if len(use) > 1 else None)
            if "Bus-Id" in self._head(0, 1):
                self.card["bus"] = cells[1]
            elif "Driver" in self._head(0, 1) and len(cells[1].split()) == 2:
                self.card["inited"], self.card["driver"] = cells[1].split()
            self.cards.append(self.card)
        elif self.row == 2 and self.card is not None:
            power, memory = _halves(_SECOND, cells[0]), _halves(_PAIR, cells[1])
            if power:
                self.card.update(fan=power[0], heat=power[1], draw=power[2], cap=power[3])
            if memory:
                self.card.update(used=memory[0], total=memory[1])
            modes = cells[2].split()
            if "Compute-Mode" in self._head(1, 2) and len(modes) > 1:  # vMemory-Usage stands here in the old layout: virtual, not the card's
                self.card.update(sriov=modes[0], compute=modes[-1])
        elif _FIRST.match(cells[0]):
            self.problems.append("two cards without a line between: %r" % cells[0][:60])


class Reading:
    def __init__(self, host, pci):
        self.host = host
        self.tool = vendor_tool.Tool(host, "cnmon")
        self.pci = on_pci(host, MANUFACTURER, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        listing = host.listdir("/dev")
        found = [re.match(r"cambricon_dev(\d{1,4})\Z", name) for name in listing.value] if listing.ok else []  # cambricon_ipcmN is no card
        self.nodes = {int(match.group(1)) for match in found if match}
        self.nodes_reason = "not there" if listing.ok else listing.reason
        self.module_version, self.module = vendor_tool.module_version(host, "cambricon_drv")
        nodes = [name for name in listing.value if name.startswith(("cambricon_ctl", "cambricon_dev"))] if listing.ok else []
        self.hint = "kernel module %s" % self.module if self.module else "/dev/" + nodes[0] if nodes else ""
        self.failed, self.notes = "", []
        self.blocks, self.table, self.library = {}, Table(""), None

    def ask(self):
        text, trouble = self.tool.ask("info", seconds=INFO_SECONDS)
        problems = [trouble] if trouble and text is not None else []
        none = text is not None and "no mlu" in text.lower()
        if text is not None:
            self.blocks, wrong = parse_info(text)
            problems += ["cnmon info: %s" % one for one in wrong]
            if not self.blocks and not none:
                trouble = trouble or "cnmon info: no card in it: %s" % vendor_tool.words(text)
        shown, refused = self.tool.ask(seconds=TABLE_SECONDS)
        if shown is not None:
            self.table = Table(shown)
            none = none or "no mlu" in shown.lower()
            problems += ["cnmon: %s" % one for one in self.table.problems] + ([refused] if refused else [])
            if not self.table.framed and "no mlu" not in shown.lower():
                refused = refused or "cnmon: no table: %s" % vendor_tool.words(shown)
        rows = {card["index"] for card in self.table.cards}
        if not self.blocks and not rows:
            if not none or problems:
                self.failed = trouble or refused or "; ".join(problems) or "cnmon: a table without cards"
            elif self.hint and self.pci == []:
                self.failed = "cnmon says none, yet the node has %s" % self.hint
            return
        if not self.blocks:
            self.notes.append(trouble or "cnmon info: no card in it")
        elif not rows and len(self.on_bus) != len(self.blocks):
            # the list of `cnmon info` has no end: a cut one looks like a shorter one
            problems.append("%s; PCI does not confirm the number of cnmon info" % (refused or "cnmon: no table"))
        elif not rows:
            self.notes.append(refused or "cnmon: no table")
        elif rows != set(self.blocks):
            problems.append("cnmon lists cards %s, cnmon info %s" % (_list(rows), _list(self.blocks)))
        self.failed = "; ".join(problems)
        if self.nodes and len(self.nodes) > len(rows | set(self.blocks)):
            self.notes.append("/dev has nodes of %d cards" % len(self.nodes))

    def devices(self):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon_cndev
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.vendor_library import Library

        rows = {card["key"]: card for card in self.table.cards}
        if rows or self.blocks:
            numbers = sorted({index for index, _function in rows} | set(self.blocks))
            cards = [_card(number, self._bus(rows.get((number, None), {}), self.blocks.get(number, {}))) for number in numbers]
            self.library = Library(self.host, "cnmon", "libcndev", cambricon_cndev, cards)
            self.tool.sources += self.library.sources
        keys = sorted({*rows, *((number, None) for number in self.blocks)}, key=lambda key: (key[0], key[1] or ""))
        return build.mark_duplicates([self._device(key, rows.get(key, {}), self.blocks.get(key[0], {}) if key[1] is None else {}) for key in keys])

    def _bus(self, row, block):
        if row.get("bus"):
            address = fact(row["bus"], "cnmon: Bus-Id")
            return build.normalize_pci(address) if is_known(address) else address
        parts = [next((block[p] for p in block if p.startswith("pc") and p.endswith("/" + key)), None) for key in ("domainid", "bus", "device", "function")]
        if all(parts):
            # the base of these numbers is not documented: taken only when such a card is on PCI
            address = build.normalize_pci("%s:%s:%s.%s" % tuple(part.lower().replace("0x", "") for part in parts))
            if is_known(address) and address in self.on_bus:
                return address
        return unknown("cnmon of this version tells no bus id")

    def _device(self, key, row, block):
        index, function = key
        said = {name: next((block[path] for path in block if pattern.match(path)), None) for name, pattern in _FIELDS.items()}

        def one(name, column, what, unit=None, low=None, high=None):
            """The more exact `cnmon info` first, then the column of the table."""
            # N/A of an amount is no answer: no list tells which card has which sensor
            read = build.told if unit else fact
            values = [read(text, "%s: %s" % (where, what)) for text, where in ((said.get(name), "cnmon info"), (row.get(column), "cnmon")) if text is not None]
            if unit:
                values = [quantity(value, what, unit) if is_known(value) else value for value in values]
            if low is not None:
                values = [vendor_tool.within(value, low, high, what) for value in values]
            return next((value for value in values if is_known(value)), values[0] if values else unknown("%s: not printed" % what))

        address = self._bus(row, block)
        entry = self.on_bus.get(address) if is_known(address) else None
        off_bus = unknown("not found on PCI: %s" % (why(address) or address))
        name = one("name", "name", "Product Name")
        none = not_applicable("cnmon tells none")
        extra = {"compute_mode": row.get("compute"), "inited": row.get("inited"), "fan": row.get("fan"), "mcu": said["mcu"]}
        extra = {field: str(value)[:40] for field, value in extra.items() if value not in (None, "N/A")}
        if not row:
            extra["compute_mode"] = unknown("cnmon: no row of it")
        if said["board"] is not None:
            extra["board_temperature_c"] = quantity(said["board"], "Temperature: Board", "C")
        ecc, counted = self._ecc(said, row, name)
        if counted is not None:
            extra["ecc_errors"] = counted
        if index not in self.nodes:
            extra["device_node"] = unknown("/dev/cambricon_dev%d: %s" % (index, self.nodes_reason))
        sriov = row.get("sriov")
        counts = self.table.processes
        remap = {field: said["remap_" + field] for field in ("corrected", "uncorrected", "pending", "failed")}
        library, place = self.library, _card(index, address) if function is None else None
        if any(remap.values()):
            rows = {field: (quantity if field.endswith("corrected") else build.flag)(text, "remapped rows: %s" % field) for field, text in remap.items()}
        else:
            rows = {field: library.fact(place, "row_remap." + field, flag=field in ("pending", "failed")) for field in remap}
        return build.device(
            "cambricon:%d" % index if function is None else "cambricon:%d/vf:%s" % key,
            index,
            name,
            kind="package" if function is None else "virtual_function",
            parent=None if function is None else "cambricon:%d" % index,
            identity=build.identity(
                uuid=fact(said["uuid"], "cnmon info: UUID"),
                serial=fact(said["serial"], "cnmon info: Serial Number"),
                pci=address,
                slot=fact(said["slot"], "cnmon info: Slot"),
            ),
            numa_node=entry.get("numa_node") if entry else off_bus,
            memory_mib=one("total", "total", "Physical Memory Usage: Total", "MiB", 1, 1 << 24),
            memory_used_mib=one("used", "used", "Physical Memory Usage: Used", "MiB", 0, 1 << 24),
            firmware={"mlu": one("firmware", "firmware", "Firmware")},
            health=_health(said, row),
            temperature_c={
                "core": one("chip", "heat", "Temperature: Chip", "C", -60, 200),
                "memory": quantity(said["memory_heat"], "Temperature: Memory", "C") if said["memory_heat"] else none,
                "limit_core": none,
                "limit_memory": none,
                "margin_core": none,
            },
            power_w={"draw": one("draw", "draw", "Power: Usage", "W", 0, 5000), "limit": one("cap", "cap", "Power: Cap", "W", 1, 5000), "limit_default": none},
            utilization_percent=one("use", "use", "Utilization: MLU Average", "%", 0, 100),
            persistence=not_applicable("Cambricon has none"),
            ecc=ecc,
            row_remap=rows,
            retired_pages={
                "corrected": unknown("cnmon info: no retired pages printed"),
                "uncorrected": unknown("cnmon info: no retired pages printed"),
                "pending": library.fact(place, "retired_pages.pending", flag=True),
            },
            pcie=vendor_tool.pcie(entry, off_bus, "cnmon info does not tell it"),
            links=library.links(place, "mlulink"),
            partition={"mode": "sriov", "enabled": build.flag(sriov, "cnmon: SR-IOV")} if sriov else unknown("cnmon: SR-IOV not printed"),
            fabric=not_applicable("no fabric manager"),
            throttle=unknown("cnmon info: no throttle reason printed"),
            recovery_action=none,
            processes=counts.get(index, 0) if isinstance(counts, dict) and "unknown" not in counts else counts or unknown("cnmon: no process table"),
            device_nodes=["/dev/cambricon_dev%d" % index] if index in self.nodes and function is None else [],
            extra=extra,
        )

    @staticmethod
    def _ecc(said, row, name):
        """(group, number of the column Ecc-Error). N/A there: ECC is off, which an MLU370 can be (it then has more memory); elsewhere it tells nothing."""
        shown = row.get("ecc") if row.get("ecc") is not None else said["ecc_count"]
        counted = quantity(shown, "cnmon: Ecc-Error") if shown is not None else None
        pair = {"corrected_volatile": said["corrected"], "uncorrected_volatile": said["uncorrected"]}
        if (counted is not None and is_known(counted)) or any(text and text[0].isdigit() for text in pair.values()):
            mode = "enabled"
        elif shown == "N/A" and is_known(name) and name.upper().startswith("MLU370"):
            return {"mode": "disabled", **dict.fromkeys(build.GROUPS["ecc"][1:], not_applicable("ECC is off"))}, None
        else:
            return unknown("cnmon: Ecc-Error: %s" % (shown or "not printed")), None
        group = {key: quantity(text, "cnmon info: %s" % key) for key, text in pair.items()}
        if counted == 0:
            group = {key: value if is_known(value) else 0 for key, value in group.items()}  # no error of any kind
        return dict(group, mode=mode, sram_threshold_exceeded=not_applicable("cnmon tells none")), counted


def _card(number, address):
    """How libcndev is asked for it: by its place on PCI, else by the number that the tool has from it."""
    return address if is_known(address) else str(number)


def _list(numbers):
    return ", ".join(str(number) for number in sorted(numbers)) or "none"


def _health(said, row):
    device, driver = (fact(said[name], "cnmon info: %s" % name) for name in ("health_device", "health_driver"))
    words = ", ".join("%s: %s" % (what, said[name][:60]) for what, name in (("Device", "health_device"), ("Driver", "health_driver")) if said[name])
    if is_known(device) and device.lower() not in ("good", "unknown"):
        return {"state": "failed", "detail": words}
    if is_known(driver) and driver.lower() not in ("running", "unknown"):
        return {"state": "degraded" if driver.lower() in GOING else "failed", "detail": words}
    if is_known(device) and is_known(driver) and "unknown" not in (device.lower(), driver.lower()):
        return {"state": "ok", "detail": words}
    if row.get("inited") and is_known(fact(row["inited"], "Inited")) and row["inited"] != "On":
        return {"state": "failed", "detail": "Inited: %s" % row["inited"][:40]}
    return unknown("cnmon info: health: %s" % (words or "not printed"))


def collect(host, pci=None):
    """The section accelerators.cambricon of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    reading = Reading(host, pci)
    reading.ask()
    devices = reading.devices()
    absent = reading.tool.missing and not reading.hint
    block = build.detection(MANUFACTURER, devices, reading.failed or None, reading.pci, not_applicable(NOTE), not_installed=absent)
    if reading.failed and devices:
        block["accelerators"] = unknown(reading.failed)  # what was seen is a lower bound, not a count
    table, drivers = reading.table, {card.get("driver") for card in reading.table.cards} - {None}
    told = [value for said in reading.blocks.values() for path, value in said.items() if _FIELDS["driver"].match(path)]
    version = table.driver or (drivers.pop() if len(drivers) == 1 else None) or (told[0] if told else None)
    runtime = vendor_tool.file_version(host, "/usr/local/neuware/version.txt", "no /usr/local/neuware")
    driver = {
        "version": fact(version, "cnmon: Driver") if version else reading.module_version,
        "module_version": reading.module_version,
        "library_version": unknown("libcndev is not asked"),
        "tool_version": fact(table.tool, "cnmon: CNMON"),
        "runtime": "Neuware",
        "runtime_version": runtime,
    }
    return build.section(MANUFACTURER, host, devices, block, driver, reading.tool.sources, note="; ".join([*reading.notes, NOTE]))
