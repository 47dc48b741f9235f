# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enflame, asked through efsmi -q, else its table. Both are seen on hardware; its JSON has no public description and is not asked for."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

MANUFACTURER = "enflame"
PLACES = ("efsmi", "/usr/local/efsmi/efsmi")
# driver 1.2: Mem Size, Mem Usage; 1.4: Total Size, Used Size and error records
SPEC = """
name t dev_name
uuid t dev_uuid
serial t dev_sn
memory_mib MiB device_mem_info/total_size device_mem_info/mem_size
memory_used_mib MiB device_mem_info/used_size device_mem_info/mem_usage
utilization_percent % gcu_usage
firmware.gcu t fw_ver
temperature_c.core C gcu_temp
power_w.draw W cur_power
power_w.limit W power_capa
pcie.generation_current n cur_link_speed
pcie.generation_max n max_link_speed
pcie.width_current x cur_link_width
pcie.width_max x max_link_width
ecc.mode w ecc_mode/current
ecc.uncorrected_aggregate n rma_info/total_dbe rma_info/dbe
extra.part_number t dev_pn
extra.manufactured t dev_mfd
extra.dpm_level t dpm_level
extra.reserved_mib MiB reserved_size
extra.total_errors n total_error_count
extra.resets n reset_count
extra.virtualization w gcu_virt vgcu
extra.healthy f health
extra.rma f rma_info/flags
extra.power_cable w power_cable/status
"""
NOT_TOLD = {key: not_applicable("efsmi does not tell it") for key in ("persistence", "recovery_action", "throttle", "retired_pages", "row_remap")}
NONE = re.compile(r"no (?:gcu |enflame )?devices?(?: were| was)? found|no gcus?(?: were| was)? found", re.IGNORECASE)
NOTE = "Enflame has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing"
_HEAD = re.compile(r"^ *DEV ID +(\d{1,4}) *$", re.MULTILINE)
_SPEED = re.compile(r"gen ?(\d)\Z", re.IGNORECASE)
_FRAME = re.compile(r"[+*|][-=+*]{3,}")
_STATE = re.compile(r"(\S+(?: [C\u2103](?= ))?) +(\S+) +(\S+)(?:(?: +/)? +(\S+))?\Z")
_VERSIONS = re.compile(r"EFSMI:? +V?(\S+) +Driver Ver: *(\S+)")


def query_log(text, what):
    """efsmi -q: blocks below `DEV ID 0`; how many there are is nowhere said."""
    log = vendor_smi.Log()
    parts = _HEAD.split(text)
    for index, block in zip(parts[1::2], parts[2::2]):
        inner = vendor_smi.text_log("GPU 0: 0000:00:00.0\n" + block, what).cards[0]
        card = {path: _SPEED.sub(r"\1", value) if path.endswith("link_speed") else value for path, value in inner.items() if path not in ("index", "id")}
        place = [next((value for path, value in card.items() if path.endswith("pcie_info/" + part)), "?") for part in ("domain", "bus", "dev", "func")]
        card.update(index=index, id="%s:%s:%s.%s" % tuple(place))
        log.cards.append(card)
    log.fits = bool(log.cards)
    whole = max((len(card) for card in log.cards), default=0)
    if log.cards and (len(log.cards[-1]) < whole or "dev_name" not in " ".join(log.cards[-1])):
        log.problems.append("%s: ends inside DEV ID %s" % (what, log.cards[-1]["index"]))
    if log.cards:
        log.top["driver_version"] = log.cards[0].get("driver_info/ver")
    return log


def table_log(text, what):
    """The table: frames of bars, or of asterisks in old versions; two rows a card. Its head says whether the last column is a UUID or a serial."""
    log, card, last = vendor_smi.Log(), None, "dev_sn"
    versions = _VERSIONS.search(text)
    if versions:
        log.top.update(zip(("tool_version", "driver_version"), versions.groups()))
    ended = framed = False
    for line in text.splitlines():
        line = line.strip()
        before, framed = framed, bool(_FRAME.match(line))
        cells = [cell.strip() for cell in line.strip("|*").split("|")]
        tokens, state = [cell.split() for cell in cells], _STATE.match(cells[0])
        if framed:
            # one that is cut, or the second of two, which opens the next card, is no end
            ended = card is None and bool(log.cards) and not before and re.match(r"[+*|][-=+*]{20,}[+*|]\Z", line) is not None
        elif len(cells) == 3 and cells[0].startswith("DEV ") and "BUS-ID" in line:
            log.fits = True
        elif len(cells) == 3 and cells[0].startswith("TEMP "):
            last = "dev_uuid" if tokens[2][-1:] == ["UUID"] else "dev_sn"
        elif log.fits and len(cells) == 3 and card is None and re.match(r"\d{1,4} +\S", cells[0]) and len(tokens[2]) == 2:
            index, name = cells[0].split(None, 1)
            ended, card = False, {"index": index, "dev_name": name, "fw_ver": cells[1], "id": tokens[2][0], "ecc_mode/current": tokens[2][1]}
            log.cards.append(card)
        elif log.fits and len(cells) == 3 and card is not None and state and tokens[1] and tokens[2]:
            card.update(pair for pair in zip(("gcu_temp", "dpm_level", "cur_power", "power_capa"), state.groups()) if pair[1])
            card["gcu_usage"] = tokens[2][0]
            size = re.match(r"(\d{1,9})G\Z", tokens[1][0])
            card["device_mem_info/total_size"] = "%d MiB" % (int(size.group(1)) * 1024) if size else tokens[1][0]
            card.update(zip(("gcu_virt",), tokens[1][1:]))
            card.update(zip((last,), tokens[2][1:]))
            card = None
        elif log.fits and len(cells) > 1:
            log.problems.append("%s: a row that is not understood: %.80r" % (what, line))
    if log.fits and not ended:
        log.problems.append("%s: ends inside the table" % what)
    return log


def _read(tool):
    """(log or None, why not)."""
    text, failed = tool.ask("-q", seconds=30)
    log = query_log(text or "", "efsmi -q")
    if not log.fits:
        log = table_log(text or "", "efsmi -q")
    log.problems += tool.exited
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        failed = failed or "efsmi -q: not understood: %s" % vendor_tool.words(text or "")
        log = table_log(tool.ask(seconds=30)[0] or "", "efsmi")
        log.problems += tool.exited
    return (log, "") if log.fits else (None, failed)


def _health(extra):
    """Of what efsmi -q says: the health word, the flag that asks for a return of the card, the power cable."""
    bad = [text for key, good, text in (("healthy", True, "Health: False"), ("rma", False, "RMA flag set")) if extra.get(key, good) is not good]
    cable = extra.get("power_cable", "normal")
    if bad:
        return {"state": "failed", "detail": ", ".join(bad)}
    if cable != "normal":
        return {"state": "degraded", "detail": "power cable: %s" % cable}
    return {"state": "ok", "detail": ""} if extra.get("healthy") is True else unknown("efsmi: health: not printed")


def collect(host, pci=None):
    """The section accelerators.enflame of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "enflame", r"gcu\d+")
    tool = vendor_tool.Tool(host, *PLACES)
    log, failed = _read(tool)
    top = log.top if log is not None else {}

    def complete(told, _card, index):
        told.update(NOT_TOLD)
        told["links"] = told["fabric"] = told["partition"] = told["processes"] = not_applicable("efsmi does not tell it")
        told["power_w"]["limit_default"] = not_applicable("efsmi does not tell it")
        for key in ("corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "sram_threshold_exceeded"):
            told["ecc"][key] = not_applicable("efsmi does not tell it")
        mode = told["ecc"]["mode"]
        told["ecc"]["mode"] = {"enable": "enabled", "disable": "disabled"}.get(mode, mode) if is_known(mode) else mode
        for key in ("memory", "limit_core", "limit_memory", "margin_core"):
            told["temperature_c"][key] = not_applicable("efsmi does not tell it")
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        told["health"] = _health(told["extra"])
        told["firmware"] = {key: value for key, value in told["firmware"].items() if is_known(value)}
        told["nodes"] = ["/dev/" + name for name in node.nodes if name == "gcu%d" % index]

    devices = node.devices(log, SPEC, "efsmi", complete) if log is not None else []
    version, own = (vendor_smi.value_of("t", top.get(key), "efsmi: %s" % key) for key in ("driver_version", "tool_version"))
    driver = {
        "version": version if is_known(version) or not is_known(node.module_version) else node.module_version,
        "library_version": not_applicable("efsmi does not tell it"),
        "tool_version": own if is_known(own) else not_applicable("efsmi -q does not tell it"),
        "runtime": "TopsRider",
        "runtime_version": not_applicable("no file tells its version"),
    }
    notes = [NOTE]
    if is_known(own) and is_known(version) and own != version:
        notes.insert(0, "the driver is %s, efsmi %s" % (version, own))
    return node.section(tool, devices, log, failed, driver, notes)
