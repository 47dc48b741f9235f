# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tenstorrent, asked through tt-smi: its snapshot (-s, JSON), else its list (-ls).

Meaning of the fields: the source of tt-smi and of the user-mode driver (UMD).
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

MANUFACTURER = "tenstorrent"
# Versions that do not print but write a file do not know this option, and refuse before they write.
SNAPSHOT = ("-s", "--snapshot_no_tty")
SPEC = """
name t board_type
temperature_c.core C asic_temperature
temperature_c.limit_core C thm_limit
power_w.draw W power
power_w.limit W tdp_limit
pcie.generation_current n pcie_speed
pcie.width_current n pcie_width
firmware.bundle t fw_bundle_version
firmware.cm t cm_fw
firmware.eth t eth_fw
firmware.bm_app t bm_app_fw dm_app_fw
extra.board_id t board_id
extra.coords t coords
extra.heartbeat n heartbeat
extra.clock_mhz n aiclk
"""
ABSENT = not_applicable("tt-smi does not tell it")
NOT_TOLD = (
    "persistence", "recovery_action", "throttle", "retired_pages", "row_remap", "ecc", "links", "fabric", "partition", "processes", "memory_mib",
    "memory_used_mib", "utilization_percent",
)  # fmt: skip
NONE = re.compile(r"no tenstorrent devices? (?:detected|found)|no chips detected", re.IGNORECASE)
NOTE = "Tenstorrent has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing"
CORRECTED = tuple("GDDR_%s_CORR_ERRS" % pair for pair in ("0_1", "2_3", "4_5", "6_7"))
_BLACKHOLE = re.compile(r"p1\d\d|p3\d\d|\bbh\b|-bh|blackhole", re.IGNORECASE)
_BAR = re.compile("[\u2502\u2503]")


def json_log(text, what):
    """{"device_info": [{board_info, telemetry, firmwares, limits, smbus_telem}]}; values are texts, with blanks, or null."""
    log = vendor_smi.Log()
    try:
        document = chatter.first_object(text)
    except (ValueError, RecursionError):
        return log
    if not isinstance(document, dict) or not isinstance(document.get("device_info"), list):
        return log
    log.fits = True
    about = document.get("host_info")
    if isinstance(about, dict) and isinstance(about.get("Driver"), str):
        log.top["driver"] = about["Driver"]
    for position, entry in enumerate(document["device_info"]):
        groups = entry if isinstance(entry, dict) else {}
        if not isinstance(groups.get("board_info"), dict):
            log.problems.append("%s: an entry that is no device" % what)
            continue
        card = {"index": str(position)}
        for group in ("board_info", "telemetry", "firmwares", "limits"):
            for name, value in groups[group].items() if isinstance(groups.get(group), dict) else ():
                card.setdefault(vendor_smi.path_name(name), "N/A" if value is None or isinstance(value, (dict, list)) else str(value).strip())
        raw = groups.get("smbus_telem") if isinstance(groups.get("smbus_telem"), dict) else {}
        card["registers"] = {
            name.upper().replace("SMBUS_TX_", ""): int(value, 16) if re.match(r"0x[0-9a-fA-F]{1,16}\Z", str(value)) else None for name, value in raw.items()
        }
        card["id"] = card.get("bus_id", "N/A")
        log.cards.append(card)
    return log


def list_log(text, what):
    """The first of two tables; the second repeats the boards that can be reset, none of which the first may lack."""
    log, names, again, ended = vendor_smi.Log(), None, None, False
    for line in text.splitlines():
        cells = [cell.strip() for cell in _BAR.split(line.strip())[1:-1]]
        if "PCI Dev ID" in cells and "Board Number" in cells:
            again = set() if names else None
            names, log.fits, ended = cells, True, False
        elif names and (not cells or len(cells) != len(names)):
            if cells and not ended:
                log.problems.append("%s: a row that is cut" % what)
            ended = ended or line.strip().startswith("\u2514")
        elif again is not None:
            again.add(dict(zip(names, cells))["PCI Dev ID"])
        elif names:
            row = dict(zip(names, cells))
            place = re.match(r"(?:/dev/tenstorrent/)?(\d{1,4})\Z|N/A\Z", row["PCI Dev ID"])
            if not place:
                log.problems.append("%s: rows are left out" % what)
                continue
            card = {"index": row.get("UMD Chip ID", str(len(log.cards))), "board_type": row.get("Device Series"), "board_id": row["Board Number"]}
            card.update(id=row.get("PCI BDF", "N/A"), node=place.group(1) or "", registers={}, remote=str(place.group() == "N/A"), place=row["PCI Dev ID"])
            log.cards.append(card)
    places = [card["place"] for card in log.cards if card["place"] != "N/A"]
    if len(set(places)) != len(places):
        log.problems.append("%s: a board is listed twice" % what)
    if (again or set()) - {card["place"] for card in log.cards} - {"\u2026"}:
        log.problems.append("%s: a board that can be reset is not among all boards" % what)
    if log.fits and (not log.cards or not ended):
        log.problems.append("%s: ends inside the table" % what)
    return log


def _read(tool):
    """(log or None, why not)."""
    text, failed = tool.ask(*SNAPSHOT, seconds=40)
    log = json_log(text or "", "tt-smi -s")
    log.problems += tool.exited
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        failed = failed or "tt-smi -s: not understood: %s" % vendor_tool.words(text or "")
        log = list_log(tool.ask("-ls", seconds=40)[0] or "", "tt-smi -ls")
        log.problems += tool.exited
    return (log, "") if log.fits else (None, failed)


def _memory_trained(name, registers, told):
    """(True, False or None, the register as it was read)."""
    status = registers.get("DDR_STATUS")
    shown = "DDR_STATUS %#x" % status if status is not None else "DDR_STATUS not told"
    if status is None:
        return {"true": True, "false": False}.get(told), shown
    if _BLACKHOLE.search(name):  # two bits a channel: trained, failed; both are 0 of a channel that is switched off
        enabled = registers.get("ENABLED_GDDR") or 0
        off = [channel for channel in range(16) if enabled < 1 << 16 and enabled >> channel & 1 and not status >> 2 * channel & 1]
        return False if status & 0xAAAAAAAA or (off and status) else True if status & 0x55555555 else None, shown
    return all((status >> (4 * channel)) & 0xF == 2 for channel in range(6)), shown  # four bits a channel, 2 is trained


def _errors(name, registers):
    """The group ecc: error detection of a Blackhole's memory since its reset (docs of tt-system-firmware, gddr_telemetry_table)."""
    told = [registers.get(register) for register in ("GDDR_UNCORR_ERRS", *CORRECTED)]
    if not _BLACKHOLE.search(name) or not registers.keys() & {"GDDR_UNCORR_ERRS", *CORRECTED}:
        return ABSENT
    missing = unknown("tt-smi: the errors of the memory are not told by the firmware")
    bad, *fixed = [missing if value in (None, 0xFFFFFFFF) else value & 0xFFFFFFFF for value in told]
    ecc = dict.fromkeys(("mode", "corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"), ABSENT)
    # a bit for the reads and one for the writes of each memory; a byte each for what was corrected, 255 at most
    ecc["uncorrected_volatile"] = bin(bad).count("1") if is_known(bad) else bad
    ecc["corrected_volatile"] = sum(value >> shift & 0xFF for value in fixed for shift in (0, 8, 16, 24)) if all(map(is_known, fixed)) else missing
    return ecc


def _health(name, card):
    registers = card["registers"]
    trained, shown = _memory_trained(name, registers, card.get("dram_status", "").lower())
    trips = registers.get("THERM_TRIP_COUNT")
    if trained is False:
        return {"state": "failed", "detail": "memory is not trained: %s" % shown}
    if trips:
        return {"state": "degraded", "detail": "thermal trips: %d" % trips}
    return {"state": "ok", "detail": shown} if trained else unknown("tt-smi: %s" % shown)


def collect(host, pci=None):
    """The section accelerators.tenstorrent of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "tenstorrent", r"tenstorrent")
    tool = vendor_tool.Tool(host, "tt-smi")
    log, failed = _read(tool)
    cards, listing = {}, host.listdir("/dev/tenstorrent") if node.nodes else None
    node.nodes = sorted(name for name in listing.value if name.isdigit()) if listing is not None and listing.ok else node.nodes
    if log is not None:  # a chip that is reached through another has no node
        node.unlisted(log, "tt-smi", [card for card in log.cards if card.get("remote") == "False" or is_known(build.normalize_pci(card["id"]))])

    def complete(told, card, index):
        cards[index] = card
        told.update(dict.fromkeys(NOT_TOLD, ABSENT))
        registers, name = card["registers"], told["name"] if is_known(told["name"]) else ""
        for place, register in (("temperature_c.core", "ASIC_TEMPERATURE"), ("power_w.draw", "TDP")):
            group, key = place.split(".")
            if register in registers and registers[register] is None:  # tt-smi prints 0 for what the firmware did not tell
                told[group][key] = unknown("tt-smi: %s is not told by the firmware" % register)
        limit = registers.get("THM_LIMIT_SHUTDOWN")
        if not is_known(told["temperature_c"]["limit_core"]):
            told["temperature_c"]["limit_core"] = limit or ABSENT
        told["power_w"]["limit_default"] = ABSENT
        told["temperature_c"].update(dict.fromkeys(("memory", "limit_memory", "margin_core"), ABSENT))
        told["health"], told["ecc"] = _health(name, card), _errors(name, registers)
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        if "board_id" not in told["extra"] and registers.get("BOARD_ID_HIGH") and registers.get("BOARD_ID_LOW"):
            told["extra"]["board_id"] = "%x%08x" % (registers["BOARD_ID_HIGH"], registers["BOARD_ID_LOW"])
        for key, register in (("thermal_trips", "THERM_TRIP_COUNT"), ("board_power_limit_w", "BOARD_POWER_LIMIT")):
            if registers.get(register) is not None:
                told["extra"][key] = registers[register]
        told["firmware"] = {key: value for key, value in told["firmware"].items() if is_known(value)}
        address = build.normalize_pci(card["id"])
        listing = host.listdir("/sys/bus/pci/devices/%s/tenstorrent" % address) if is_known(address) else None
        numbers = [name.rpartition("!")[2] for name in listing.value] if listing is not None and listing.ok else [card.get("node", "")]
        told["nodes"] = ["/dev/tenstorrent/" + number for number in sorted(numbers) if number.isdigit()]

    devices = node.devices(log, SPEC, "tt-smi", complete) if log is not None else []
    _boards(devices, cards)
    version = vendor_smi.value_of("t", log.top.get("driver") if log is not None else None, "tt-smi: driver")
    driver = {
        "version": node.module_version if is_known(node.module_version) else version,
        "library_version": not_applicable("part of tt-smi"),
        "tool_version": not_applicable("no part of a snapshot"),
        "runtime": "TT-Metalium",
        "runtime_version": not_applicable("part of the framework's environment"),
    }
    return node.section(tool, build.mark_duplicates(devices), log, failed, driver, [NOTE])


def _boards(devices, cards):
    """A chip that is not on PCI (the right one of an n300) is a die of the chip of its board that is. The number of a board with one is its serial."""
    local, boards = {}, {}
    for device in devices:
        card, board = cards[device["index"]], device["extra"].get("board_id")
        if is_known(device["identity"]["pci"]["value"]) or card.get("remote") == "False":
            boards.setdefault(board, []).append(device)
            local.setdefault(board, device)
    for device in devices:
        board = device["extra"].get("board_id")
        if board and board in local and device not in boards[board]:
            device.update(kind="die", parent=local[board]["id"])
        elif board and len(boards.get(board, ())) == 1:
            halves = [other["name"].lower() for other in devices if is_known(other["name"]) and other["extra"].get("board_id") == board]
            if halves == ["n300 l"]:  # UMD goes on with the left chip alone
                device["health"] = {"state": "failed", "detail": "the right chip of the board does not answer"}
            device["identity"]["serial"] = build.identity(serial=board)["serial"]
