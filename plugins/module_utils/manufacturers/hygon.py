# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hygon DCU (HCU), asked through hy-smi: JSON for what each card is, its table for Mode, --healthcheck for health.

Options and keys: HYGON-AI/hcu-dcgm and public texts on hy-smi of DTK 22 to 26. They differ from rocm-smi: MiB, DCU or HCU, an empty key.
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import DEVICES, on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import fact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, number, unknown, whole, why

MANUFACTURER = "hygon"
PLACES = ("hy-smi", "/opt/hyhal/bin/hy-smi", "/usr/local/hyhal/bin/hy-smi", "/opt/dtk/bin/rocm-smi")
ALL = ("-a", "--showmeminfo", "vram", "--showtoponuma", "--json")
NO_HOST = "no cross-check with a host tool: hy-smi is the only tool and is read itself; PCI is compared"
NOTE = NO_HOST + "; no row asks the driver: budgets come from the container's request and are enforced by the kernel module"
UNITS = {"b": 1.0 / (1 << 20), "kib": 1.0 / 1024, "kb": 1.0 / 1024, "mib": 1.0, "mb": 1.0, "gib": 1024.0, "gb": 1024.0}
_CARD = re.compile(r"(?:card|hcu|dcu|gpu)\[?(\d{1,4})\]?\Z", re.IGNORECASE)
_LINE = re.compile(r"(?:HCU|DCU|GPU)\[(\d{1,4})\]\s*:\s*(.+)")
_BUS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_NONE = re.compile(r"\bno (?:\w+ )?(?:dcu|hcu|gpu|device)s?\b", re.IGNORECASE)


def parse_cards(text):
    """({index: {key in lower case: value}}, values of the node): JSON among other lines, else `HCU[0] : key: value` lines."""
    cards, node = _json_cards(text)
    if not cards and "{" in text:
        cards, node = _json_cards(chatter.without(text))
    if not cards:
        for number, said in _LINE.findall(text):
            key, colon, value = said.partition(":")
            if colon:
                cards.setdefault(int(number), {})[key.strip().lower()] = value.strip()
    return cards, node


def _json_cards(text):
    cards, node, decoder, end = {}, {}, json.JSONDecoder(), 0
    for tried, start in enumerate(match.end() - 1 for match in re.finditer(r"^\s*\{", text, re.MULTILINE)):
        if tried > 40:
            break
        if start < end:
            continue
        try:
            said, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        for key, values in said.items():
            if isinstance(values, dict):
                number = _CARD.match(key)
                mine = cards.setdefault(int(number.group(1)), {}) if number else node
                mine.update((str(name).strip().lower(), str(value)) for name, value in values.items())
    return cards, node


def parse_table(text):
    """({index: {column: cell}}, problems): the lines below the one that names the columns, up to the end of the log."""
    heads, rows, problems, ended = None, {}, [], False
    for line in text.splitlines():
        cells = line.split()
        if len(cells) > 3 and cells[0].lower() in ("hcu", "dcu") and "Temp" in cells:
            heads = cells
        elif heads is None or not cells or ended:
            continue
        elif set(cells[0]) == {"="}:
            ended = "End of" in line or ended
        elif whole(cells[0]) is None:
            problems.append("not a row: %r" % line.strip()[:60])
        elif len(cells) != len(heads):
            problems.append("row of %d cells below %d columns: %r" % (len(cells), len(heads), line.strip()[:60]))
        elif whole(cells[0]) in rows:
            problems.append("card %s twice" % cells[0])
        else:
            rows[whole(cells[0])] = dict(zip(heads, cells))
    if heads is not None and not ended:
        problems.append("it has no end")
    return rows, problems


def parse_health(text):
    """{index: (PCI address or None, word)} of lines `HCU[0] : Bus Id : 0000:09:00.0 : Healthy`."""
    told = {}
    for index, said in _LINE.findall(text):
        bus = _BUS.search(said)
        word = re.split(r"\s*:\s+", said.strip())[-1].strip()
        told[int(index)] = (build.normalize_pci(bus.group()) if bus else None, "" if _BUS.match(word) else word)
    return told


class Reading:
    def __init__(self, host, pci):
        self.host = host
        self.tool = vendor_tool.Tool(host, *PLACES)
        self.pci = on_pci(host, MANUFACTURER, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        self.module_version, self.module = vendor_tool.module_version(host, "hycu", "hydcu")  # hydcu to 6.2, hycu from 6.3
        self.shared = [path for path in ("/dev/kfd", "/dev/mkfd") if host.exists(path).value is True]
        self.cards, self.rows, self.node, self.health = {}, {}, {}, {}
        self.failed, self.notes, self.no_health, self.pairs, self.library = "", [], "", {}, None

    def ask(self):
        text, trouble = self.tool.ask(*ALL, seconds=40)
        if self.tool.refused:
            text, trouble = self.tool.ask("-a", "--json", seconds=40)
        problems = [trouble] if trouble and text is not None else []
        if text is not None:
            self.cards, self.node = parse_cards(text)
            trouble = trouble or "hy-smi -a: no card in it: %s" % vendor_tool.words(text)
        shown, wrong = self.tool.ask(seconds=20)
        broken = [wrong] if wrong else []
        if shown is not None:
            self.rows, odd = parse_table(shown)
            broken += ["hy-smi: %s" % one for one in odd]
            if not self.rows and not odd:
                broken.append("hy-smi: no table: %s" % vendor_tool.words(shown))
        if not self.cards and not self.rows:
            none = any(said is not None and _NONE.search(said) for said in (text, shown)) and not problems
            self.failed = "" if none and not (self.module and self.pci == []) else trouble or "; ".join(broken) or "hy-smi: no card"
            return
        if not self.cards:
            problems += [trouble, *broken]
        elif self.rows and len(self.rows) != len(self.cards):
            problems += ["hy-smi -a tells %d cards, hy-smi %d" % (len(self.cards), len(self.rows)), *broken]
        else:
            self.notes += broken  # JSON has an end: a cut one is no JSON
        self._pair()
        self.failed = "; ".join(problems)
        said, self.no_health = self.tool.ask("--healthcheck", seconds=20)
        if self.tool.refused:
            self.no_health = ""  # this version has no such check: the column Mode is all it says
        elif said is not None:
            self.health = parse_health(said)
            self.no_health = self.no_health or "hy-smi --healthcheck: not told"

    def _pair(self):
        """{number of the table, which is that of the tool: number in JSON}. Older versions count cards in JSON from 1."""
        if not self.rows or len(self.rows) != len(self.cards):
            self.pairs = {number: number for number in {*self.rows, *self.cards}}
            return
        self.pairs = dict(zip(sorted(self.rows), sorted(self.cards)))
        if set(self.rows) != set(self.cards):
            self.notes.append("hy-smi -a numbers the cards from %d, its table from %d" % (min(self.cards), min(self.rows)))

    def _health(self, inner, address, mode):
        by_bus = [word for bus, word in self.health.values() if bus is not None and bus == address]
        bus, word = self.health.get(inner, (None, None)) if not by_bus else (address, by_bus[0])
        if word is not None:
            other = bus is not None and is_known(address) and bus != address
            word = unknown("hy-smi --healthcheck: tells of %s" % bus) if other else fact(word, "hy-smi --healthcheck")
        if word is not None and is_known(word) and word.lower() != "healthy":
            return {"state": "failed", "detail": "healthcheck: %s" % word[:80]}
        if is_known(mode) and mode != "Normal":
            return {"state": "degraded", "detail": "Mode: %s" % mode[:40]}
        if word is not None:
            return {"state": "ok", "detail": "healthcheck: %s" % word} if is_known(word) else unknown(why(word))
        if not self.no_health and is_known(mode):
            return {"state": "ok", "detail": "Mode: Normal; this hy-smi has no --healthcheck"}
        return unknown(self.no_health or "hy-smi: no Mode printed")

    def devices(self):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon_rsmi
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.vendor_library import Library

        if self.pairs:
            self.library = Library(self.host, "hy-smi", "librocm_smi64", hygon_rsmi, [])
            self.tool.sources += self.library.sources
        return build.mark_duplicates([self._device(number, inner) for number, inner in sorted(self.pairs.items())])

    def _nodes(self, address):
        drm = self.host.listdir("%s/%s/drm" % (DEVICES, address)) if is_known(address) else None
        names = [name for name in sorted(drm.value) if re.match(r"(?:card|renderD)\d+\Z", name)] if drm is not None and drm.ok else []
        return self.shared + ["/dev/dri/" + name for name in names]

    def _device(self, number, inner):
        card, row = self.cards.get(inner, {}), self.rows.get(number, {})

        def one(what, keys, column=None, unit=None, low=None, high=None):
            """The first of these keys that has a value, else the cell of the table."""
            told = [(key, card[key]) for key in keys if key in card] + ([("hy-smi: %s" % column, row[column])] if column in row else [])
            values = [_amount(text, key, unit) if unit else fact(text, key) for key, text in told]
            if low is not None:
                values = [vendor_tool.within(value, low, high, what) for value in values]
            return next((value for value in values if is_known(value)), values[0] if values else unknown("hy-smi: %s: not printed" % what))

        use = next((column for column in ("HCU%", "DCU%") if column in row), "HCU%")
        address = one("PCI Bus", ("pci bus",))
        if is_known(address):
            address = build.normalize_pci(address)
        entry = self.on_bus.get(address) if is_known(address) else None
        off_bus = unknown("not found on PCI: %s" % (why(address) or address))
        name, extra = one("Card Series", ("card series",)), {}
        if is_known(name) and not name.lower().strip("x"):
            name = unknown("hy-smi: Card Series: %r" % name)  # printed for a card it does not know
        if not is_known(name) and entry and is_known(entry.get("model")):
            name, extra["name_source"] = entry["model"], "PCI device id"
        node, mode = one("Numa Node", ("(topology) numa node",), unit="node", low=0, high=4096), one("Mode", (), "Mode")
        texts = {"mode": mode, "performance_level": one("Perf", ("performance level",), "Perf"), "vendor": one("Card Vendor", ("card vendor",)),
                 "memory_available_mib": one("Available memory", ("available memory size (mib)",), unit="MiB"),
                 "memory_used_percent": one("VRAM%", ("hcu memory use (%)", "dcu memory use (%)"), "VRAM%", "%"),
                 "temperature_edge_c": one("edge", ("temperature (sensor edge) (c)",), unit="C")}  # fmt: skip
        extra.update((key, value[:60] if isinstance(value, str) else value) for key, value in texts.items() if is_known(value))
        if inner != number:
            extra["json_card"] = inner
        firmware = {
            key.replace(" firmware version", "").replace(" ", "_")[:40]: fact(text, key) for key, text in card.items() if key.endswith("firmware version")
        }
        if "vbios version" in card:
            firmware["vbios"] = fact(card["vbios version"], "VBIOS version")
        none, silent = not_applicable("Hygon has none"), unknown("hy-smi tells it in no documented form")
        return build.device(
            "hygon:%d" % number,
            number,
            name,
            identity=build.identity(
                uuid=one("Unique ID", ("unique id",)),
                serial=one("Serial Number", ("serial number",)),
                pci=address,
                slot=not_applicable("hy-smi tells none"),
            ),
            # all cards may have node 0 on PCI: the tool knows better
            numa_node=node if is_known(node) or not entry else entry.get("numa_node"),
            memory_mib=vendor_tool.within(_memory(card, "vram total memory"), 1, 1 << 24, "vram Total Memory"),
            memory_used_mib=vendor_tool.within(_memory(card, "vram total used memory"), 0, 1 << 24, "vram Total Used Memory"),
            firmware=firmware,
            health=self._health(inner, address, mode),
            temperature_c={
                "core": one("Temp", ("temperature (sensor junction) (c)", "temperature (sensor core) (c)"), "Temp", "C", -60, 200),
                "memory": one("mem", ("temperature (sensor mem) (c)", "temperature (sensor memory) (c)"), None, "C", -60, 200),
                "limit_core": silent,
                "limit_memory": silent,
                "margin_core": silent,
            },
            power_w={
                "draw": one("AvgPwr", ("average graphics package power (w)",), "AvgPwr", "W", 0, 5000),
                "limit": one("PwrCap", ("max graphics package power (w)",), "PwrCap", "W", 1, 5000),
                "limit_default": silent,
            },
            utilization_percent=one("use", ("hcu use (%)", "dcu use (%)", "gpu use (%)"), use, "%", 0, 100),
            persistence=none,
            ecc={
                "mode": silent,
                **{key: self.library.fact(address, "ecc." + key, part_of_it=False) for key in ("corrected_volatile", "uncorrected_volatile")},
                **dict.fromkeys(("corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"), none),
            },
            row_remap=not_applicable("Hygon retires pages"),
            retired_pages={"corrected": silent, "uncorrected": silent, "pending": self.library.fact(address, "retired_pages.pending", True, part_of_it=False)},
            pcie=vendor_tool.pcie(entry, off_bus, "hy-smi does not tell it"),
            links=self.library.links(address, "xhcl"),
            partition=self._partition(number),
            fabric=none,
            throttle=silent,
            recovery_action=none,
            processes=unknown("hy-smi: processes are not asked"),
            device_nodes=self._nodes(address),
            extra=extra,
        )

    def _partition(self, number):
        """Instances of MIG are files ci/dev<N>gi<G>ci<C>.conf; the mode itself is node-wide and only the library tells it."""
        listing = self.host.listdir("/etc/dmi_mig_config/ci")
        mine = [name for name in listing.value if re.match(r"dev%dgi\d+ci\d+\.conf\Z" % number, name)] if listing.ok else []
        return {"mode": "mig", "enabled": True, "profile": "%d instances" % len(mine)} if mine else unknown("the MIG mode of the node is not asked")


def _amount(text, what, unit):
    """N/A is no answer: no list tells which card has which sensor."""
    return build.told(text, what, lambda words: number(words, what, unit))


def _memory(card, what):
    for key, text in card.items():
        unit = key[len(what) :].strip(" ()") if key.startswith(what) else None
        if unit in UNITS:
            value = _amount(text, key, unit)
            return int(value * UNITS[unit]) if is_known(value) else value
    return unknown("hy-smi: %s: not printed" % what)


def collect(host, pci=None):
    """The section accelerators.hygon of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    reading = Reading(host, pci)
    reading.ask()
    devices = reading.devices()
    absent = reading.tool.missing and not reading.module
    block = build.detection(MANUFACTURER, devices, reading.failed or None, reading.pci, not_applicable(NO_HOST), not_installed=absent)
    if reading.failed and devices:
        block["accelerators"] = unknown(reading.failed)  # what was seen is a lower bound, not a count
    version = reading.node.get("driver version")
    driver = {
        "version": fact(version, "Driver Version") if version else reading.module_version,
        "module_version": reading.module_version,
        "library_version": unknown("librocm_smi64 is not asked"),
        "tool_version": unknown("hy-smi prints none"),
        "runtime": "DTK",
        "runtime_version": vendor_tool.file_version(host, "/opt/dtk/.info/version", "no /opt/dtk"),
    }
    if reading.module:
        reading.notes.append("kernel module %s" % reading.module)
    return build.section(MANUFACTURER, host, devices, block, driver, reading.tool.sources, note="; ".join([*reading.notes, NOTE]))
