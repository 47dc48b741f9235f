# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel GPUs (Data Center GPU Max and Flex, Arc), asked through xpu-smi. Kunlunxin's tool has the same name and knows none of these commands.

Readings come from one dump of all cards; stats is asked of a card for what the dump did not tell.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi, vendor_tool, xpu_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, known, not_applicable, unknown, whole

MANUFACTURER = "intel"
DUMP = ("dump", "-d", "-1", "-m", "0,1,2,3,4,12,18,29,30", "-i", "1", "-n", "1")
MOST = (("generation_device_max", "pcie_generation", "n"), ("generation_max", "pcie_generation", "n"), ("width_max", "pcie_max_link_width", "x"))
SPEC = """
name t device_name
uuid t uuid soc_uuid
serial t serial_number
slot t pci_slot
memory_mib MiB memory_physical_size
memory_used_mib MiB gpu_memory_used_mib
utilization_percent % gpu_utilization
firmware.gfx t gfx_firmware_version firmware_version
firmware.gfx_data t gfx_data_firmware_version
firmware.gfx_psc t gfx_pscbin_firmware_version
firmware.amc t amc_firmware_version
temperature_c.core C gpu_core_temperature_c
temperature_c.memory C gpu_memory_temperature_c
power_w.draw W gpu_power_w
power_w.limit W power_limit_w sustain_w
clocks_mhz.core MHz gpu_frequency_mhz
clocks_mhz.core_max MHz core_clock_rate
ecc.mode w memory_ecc/current ecc_state
ecc.corrected_volatile n mem_errors_correctable
ecc.uncorrected_volatile n mem_errors_uncorrectable
extra.tiles n number_of_tiles
extra.xe_link_ports n number_of_xe_link_ports
extra.stepping t stepping
extra.kernel_version t kernel_version
extra.resets n reset
extra.programming_errors n programming_errors
extra.driver_errors n driver_errors
extra.cache_errors_corrected n cache_errors_correctable
extra.cache_errors_uncorrected n cache_errors_uncorrectable
"""
ABSENT = not_applicable("xpu-smi does not tell it")
NOT_TOLD = ("persistence", "recovery_action", "retired_pages", "row_remap", "fabric", "partition")
LINKS = not_applicable("which Xe Link ports are cabled differs by system; the tool's health tells of those that fail")
NONE = re.compile(r"no device discovered|no (?:gpu )?devices?(?: were| was)? found", re.IGNORECASE)
INTEGRATED = re.compile(r"[0-9a-f]{4}:00:02\.0\Z")  # where the graphics of Intel's processors are; the tool lists them too
# Parts whose state has to be known before a card is called healthy; others are not on every card.
ESSENTIAL = ("core_temperature", "power", "memory")
NOTE = "Intel GPUs have no count of their own to compare with, PCI stands beside it; no driver is asked for slicing"


def _listed(tool, *arguments):
    """(log, what was printed, what is wrong with it)."""
    text, failed = tool.ask("discovery", *arguments, seconds=20)
    log = xpu_smi.cards(text or "", "xpu-smi discovery")
    log.problems += tool.exited
    return log, text, failed


def _read(tool):
    """(log or None, why not)."""
    log, text, failed = _listed(tool, "-j")
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        wrong = xpu_smi.error(text or "")
        failed = failed or "xpu-smi discovery -j: %s" % (wrong or "not understood: %s" % vendor_tool.words(text or ""))
        log = _listed(tool)[0] if not wrong else log
    return (log, "") if log.fits else (None, failed)


def _told(tool, *arguments, parse):
    """What a further call tells."""
    return parse(tool.ask(*arguments, seconds=15)[0] or "")


def _details(tool, card):
    """Adds to a card what is told of one alone."""
    found = _told(tool, "discovery", "-d", card["index"], "-j", parse=lambda text: xpu_smi.cards(text, "xpu-smi discovery -d", one=True).cards)
    if len(found) == 1 and found[0]["index"] in (card["index"], "N/A"):
        card.update((name, value) for name, value in found[0].items() if name != "index")


def _readings(tool, cards, newer):
    """{index: readings}; of a card whose errors the dump did not tell those of stats. newer: xpu-smi 2, where stats goes on until it is told not to."""
    found = _told(tool, *DUMP, parse=xpu_smi.dump)
    for card in cards:
        told = found.setdefault(card["index"], {})
        if whole(told.get("mem_errors_uncorrectable", "")) is None:
            said = _told(tool, "stats", "-d", card["index"], *(("--samples", "1") if newer else ()), "-j", parse=xpu_smi.stats)
            told.update((name, value) for name, value in said.items() if value not in ("", "N/A") or name not in told)
    return found


def _parts(tool, cards):
    """Health of every card; what an answer that is not whole does not tell is a part of its own."""
    text = tool.ask("health", "-l", "-j", seconds=15)[0] or ""
    found = xpu_smi.health(text)
    partial = tool.final or xpu_smi.cut(text) or (found and tool.exited)
    every = set().union(*found.values())
    missing = [card["index"] for card in cards if card["index"] not in found and (found or partial)]
    short = [index for index, parts in found.items() if partial or every - set(parts)] + (list(found)[-1:] if missing else [])
    for index in missing + short:
        found.setdefault(index, {})["the rest of the answer"] = {}
    return found


def _health(parts, card):
    """Words of the tool: Ok, Warning, Critical, Unknown; the device and its firmware: normal, else what is wrong."""
    words = {name: part.get("status", "").lower() for name, part in parts.items()}
    for name, shown in (("gfx_firmware_status", "GFX firmware"), ("device_state", "device")):
        said = card.get(name, "").lower()
        if said not in ("", "n/a", "normal", "unknown"):
            return {"state": "failed", "detail": "%s: %s" % (shown, card[name][:80])}
    for word, state in (("critical", "failed"), ("warning", "degraded")):
        bad = ["%s: %s" % (name.replace("_", " "), parts[name].get("description") or word) for name in sorted(words) if words[name] == word]
        if bad:
            return {"state": state, "detail": "; ".join(bad)[:300]}
    if not words and card.get("device_state", "").lower() == "normal":
        return {"state": "ok", "detail": "device: normal"}
    open_parts = [name for name in ESSENTIAL if words.get(name, words.get("temperature") if name == "core_temperature" else None) != "ok"]
    open_parts += [name for name in sorted(words) if words[name] not in ("ok", "unknown") and name not in open_parts]
    if open_parts:
        return unknown("xpu-smi health: not told: %s" % ", ".join(open_parts).replace("_", " "))
    return {"state": "ok", "detail": ""}


def _threshold(parts, names, key, unit):
    """A limit of a part in the list of health; a negative one is none."""
    text = next((parts[name].get(key) for name in names if name in parts), None)
    size = re.match(r"(\d{1,4})(?: *%s)?\Z" % unit, text or "")
    return int(size.group(1)) if size and int(size.group(1)) else unknown("xpu-smi health: %s: %.40r" % (key, text))


def _throttle(parts):
    frequency = parts.get("frequency", {})
    word = frequency.get("status", "").lower()
    if word == "ok":
        return {"active": []}
    reason = vendor_smi.path_name(frequency.get("description", "")) if word in ("warning", "critical") else ""
    return {"active": [reason]} if reason else unknown("xpu-smi health: frequency: %s" % (word or "not told"))


def _numbers(text):
    return [int(part) for part in re.findall(r"\d{1,6}", text or "")]


def _settings(told, device, tiles):
    """What config adds: the range of the power limit, clocks, error correction after the next reset, ports of the tiles."""
    span = re.match(r"(\d{1,5}) to (\d{1,5})\Z", device.get("power_limit_w/valid_range", ""))
    for key, at in (("limit_min", 1), ("limit_max", 2)):
        told["power_w"][key] = int(span.group(at)) if span else unknown("xpu-smi config: no range of the power limit")
    pending = device.get("memory_ecc/pending", "").lower()
    if pending in ("enabled", "disabled"):
        told["extra"]["ecc_pending"] = pending == "enabled"
    highest = [known(vendor_smi.value_of("MHz", tile.get("gpu_max_frequency_mhz"), "config")) for tile in tiles.values()]
    options = [number for tile in tiles.values() for number in _numbers(tile.get("gpu_max_frequency_mhz/valid_options"))]
    if highest and None not in highest and options:
        told["clocks_mhz"].update(core_set=min(highest), core_default=max(options))
    ports = {
        name: {state: _numbers(tile["xe_link_ports/" + state]) for state in ("up", "down")}
        for name, tile in tiles.items()
        if {"xe_link_ports/up", "xe_link_ports/down"} <= set(tile)
    }
    if any(any(states.values()) for states in ports.values()):
        told["extra"]["xe_links"] = ports


class _Answers:
    """What was told of all cards, asked once."""

    def __init__(self, tool, cards):
        self.own = self.level_zero = ""
        self.health, self.config, self.readings, self.paths, self.cpus, self.virtual, self.running = {}, {}, {}, {}, {}, {}, None
        if not cards:
            return
        self.own, self.level_zero = _told(tool, "-v", parse=xpu_smi.versions)
        for card in cards:
            _details(tool, card)
        self.health = _parts(tool, cards)
        self.config = {card["index"]: _told(tool, "config", "-d", card["index"], "-j", parse=xpu_smi.config) for card in cards}
        self.running = _told(tool, "ps", "-j", parse=xpu_smi.processes)
        self.running = None if tool.exited else self.running
        if len(cards) > 1 or any(card.get("number_of_tiles", "1") != "1" for card in cards):
            self.paths, self.cpus = _told(tool, "topology", "-m", parse=xpu_smi.topology)
        self.virtual = _told(tool, "vgpu", "--precheck", "-j", parse=xpu_smi.precheck)
        self.readings = _readings(tool, cards, (whole(self.own.split(".")[0]) or 0) >= 2)


def _driver(host, node):
    """The kernel's own driver has no version of its own; that of Intel's packages has."""
    for name in ("xe", "i915"):
        version, loaded = vendor_tool.module_version(host, name)
        if loaded:
            node.module_version = version if is_known(version) else not_applicable("%s comes with the kernel: no version of its own" % name)
            return


def _complete(told, card, answers):
    index = card["index"]
    parts = answers.health.get(index, {})
    told.update(dict.fromkeys(NOT_TOLD, ABSENT))
    told["links"] = LINKS
    told["health"], told["throttle"] = _health(parts, card), _throttle(parts)
    heat, core = told["temperature_c"], ("core_temperature", "temperature")
    heat.update(margin_core=ABSENT, limit_core=_threshold(parts, core, "throttle_threshold", "Celsius Degree"))
    heat["limit_memory"] = _threshold(parts, ("memory_temperature",), "throttle_threshold", "Celsius Degree")
    heat["shutdown_core"] = _threshold(parts, core, "shutdown_threshold", "Celsius Degree")
    told["power_w"]["limit_default"] = ABSENT
    if not known(told["power_w"]["limit"]):  # xpu-smi 2 prints 0 for a limit that is not told
        told["power_w"]["limit"] = _threshold(parts, ("power",), "throttle_threshold", "watts")
    told["ecc"].update(dict.fromkeys(("corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"), ABSENT))
    extra = {key: value for key, value in told["extra"].items() if is_known(value)}
    told["extra"] = extra
    cache = extra.get("cache_errors_uncorrected")
    if cache and is_known(told["ecc"]["uncorrected_volatile"]):
        told["ecc"]["uncorrected_volatile"] += cache
    told["firmware"] = {key: value for key, value in told["firmware"].items() if is_known(value) and value.lower() not in ("unknown", "n/a")}
    number = re.search(r"0x([0-9a-fA-F]{1,4})\b", card.get("pci_device_id", ""))
    if number:
        extra["pci_device"] = "0x" + number.group(1).lower().zfill(4)
    _settings(told, *answers.config[index])
    running = answers.running
    told["processes"] = unknown("xpu-smi ps: not understood") if running is None else len(running.get(index, ()))
    if running and running.get(index):
        extra["process_names"] = running[index]
    tiles = {name: peers for name, peers in answers.paths.items() if name.split("/")[0] == index}
    if tiles:
        extra["tile_paths"] = tiles
        extra["cpus"] = answers.cpus[min(tiles)]
    for name, (passed, message) in answers.virtual.items():
        extra["vgpu_" + name] = passed
        if message and not passed:
            extra["vgpu_%s_message" % name] = message


def _widths(device, card):
    """Where sysfs tells no link, what the tool calls the most."""
    for key, name, kind in MOST:
        value = vendor_smi.value_of(kind, card.get(name), "xpu-smi: %s" % name)
        if not is_known(device["pcie"].get(key)) and is_known(value):
            device["pcie"][key] = value


def collect(host, pci=None):
    """The section accelerators.intel of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "xe", r"(?!)")
    node.hints = ""  # xe, i915 and /dev/dri are there for the graphics of processors too
    _driver(host, node)
    tool = vendor_tool.Tool(host, "xpu-smi")
    log, failed = _read(tool)
    by_index, cards = {}, log.cards if log is not None else []
    for card in cards:
        card["id"] = card.get("pci_bdf_address", "N/A")
    cards[:] = [card for card in cards if card["id"].lower() in node.on_bus or not INTEGRATED.match(card["id"].lower())]
    answers = _Answers(tool, cards)
    for card in cards:
        for told in (answers.readings[card["index"]], answers.config[card["index"]][0]):
            card.update((name, value) for name, value in told.items() if name not in card and value != "")

    def complete(told, card, index):
        by_index[index] = card
        _complete(told, card, answers)

    devices = node.devices(log, SPEC, "xpu-smi", complete) if log is not None else []
    for device in devices:
        card = by_index[device["index"]]
        _widths(device, card)
        address = device["identity"]["pci"]["value"]
        if card.get("function_type", "").lower() == "virtual" and not (is_known(address) and address in node.on_bus):
            device["kind"] = "virtual_function"  # in a guest it is the card
    versions = {card["driver_version"] for card in by_index.values() if card.get("driver_version") not in (None, "", "N/A", "unknown")}
    driver = {
        "version": versions.pop() if len(versions) == 1 else unknown("xpu-smi: driver version: %s" % (", ".join(sorted(versions)) or "not told")),
        "library_version": answers.level_zero or not_applicable("xpu-smi -v does not tell it"),
        "tool_version": answers.own or unknown("xpu-smi -v: not read"),
        "runtime": "Level Zero",
        "runtime_version": not_applicable("part of the framework's environment"),
    }
    return node.section(tool, devices, log, failed, driver, [NOTE])
