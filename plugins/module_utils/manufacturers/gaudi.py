# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel Gaudi, asked through hl-smi: its table, and what the table lacks by one query as CSV.

Fields of the query: the vendor's documentation of hl-smi (-Q). The table is seen on hardware.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, smi_table, vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable

MANUFACTURER = "gaudi"
ENVIRONMENT = {"ENABLE_CONSOLE": "true"}  # hl-smi prints through its logger, which a site may have turned off
SPEC = """
name t name
uuid t uuid
serial t serial
slot t module_id
memory_mib MiB memory/total
memory_used_mib MiB memory/used
utilization_percent % utilization
temperature_c.core C temperature
power_w.draw W draw
power_w.limit W limit
ecc.mode w ecc.mode.current
ecc.corrected_volatile n ecc.errors.corrected.volatile.total
ecc.uncorrected_volatile n ecc.errors.uncorrected.volatile.total volatile_uncorr_ecc
ecc.corrected_aggregate n ecc.errors.corrected.aggregate.total
ecc.uncorrected_aggregate n ecc.errors.uncorrected.aggregate.total
processes n running
extra.module_id n module_id
extra.uncorrected_events n volatile_uncor_events
"""
# Where hl-smi 1.21 and newer calls the last column Events it counts more than ECC: a node at work shows dozens.
FIELDS = (
    "index", "module_id", "bus_id", "name", "uuid", "serial", "driver_version", "memory.total", "memory.used", "temperature.aip", "utilization.aip",
    "power.draw", "ecc.mode.current", "ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.corrected.aggregate.total", "ecc.errors.uncorrected.aggregate.total",
)  # fmt: skip
PATHS = {
    "bus_id": "id", "memory.total": "memory/total", "memory.used": "memory/used", "temperature.aip": "temperature", "utilization.aip": "utilization",
    "power.draw": "draw",
}  # fmt: skip
NOT_TOLD = {key: not_applicable("hl-smi does not tell it") for key in ("health", "persistence", "recovery_action", "throttle", "retired_pages", "row_remap")}
NONE = re.compile(r"no (?:habana |gaudi )?(?:aips?|devices?|accelerators?)(?: were| was)? (?:found|detected)", re.IGNORECASE)
NOTE = "Intel Gaudi has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing, a card is given whole"
LINKS = not_applicable("the cards are linked by Ethernet ports, and which of them are cabled is the site's choice")


def csv_log(text, what):
    """Answer to -Q … -f csv: a line of field names with units, then one a card."""
    log, names = vendor_smi.Log(), None
    for line in chatter.without(text).splitlines():
        cells = [cell.strip() for cell in smi_table.LOGGER.sub("", line, count=1).split(",")]
        if names is None:
            names = [cell.split(" [")[0] for cell in cells] if cells[0] == "index" and len(cells) > 2 else None
            log.fits = names is not None
            if len(cells) > 2 and cells[0].isdigit():
                log.problems.append("%s: a row before the names of its columns" % what)
        elif len(cells) == len(names) and cells[0].isdigit():
            log.cards.append({PATHS.get(name, name): cell for name, cell in zip(names, cells)})
        elif line.strip():
            log.problems.append("%s: not understood: %.80r" % (what, line.strip()))
    return log


def _read(tool, pci):
    """(log or None, why not)."""
    text, failed = tool.ask(seconds=30)
    if NONE.search("%s %s" % (text or "", failed)):
        return vendor_smi.Log(), ""
    log = smi_table.parse(text or "", "hl-smi")
    log.problems += tool.exited
    if tool.final:
        return None, failed
    said, _why = tool.ask("-Q", ",".join(FIELDS), "-f", "csv", seconds=30)
    asked = csv_log(said or "", "hl-smi -Q")
    asked.problems += ["hl-smi -Q" + one.partition(" -f csv")[2] for one in tool.exited]
    if not log.fits:
        numbers = sorted(int(card["index"]) for card in asked.cards)
        if numbers != list(range(len(numbers))) and not (isinstance(pci, list) and len(pci) == len(numbers)):
            asked.problems.append("hl-smi -Q: a number is missing, more may be")
        return (asked, "") if asked.cards else (None, failed or "hl-smi: not understood: %s" % vendor_tool.words(text or ""))
    smi_table.unconfirmed(log, pci, "hl-smi")
    if not log.cards:
        log.problems.append("hl-smi: no card in its table")
    by_address = {build.normalize_pci(card.get("id")): card for card in asked.cards if is_known(build.normalize_pci(card.get("id")))}
    if asked.cards and len(asked.cards) != len(log.cards):
        log.problems.append("hl-smi lists %d cards, hl-smi -Q %d" % (len(log.cards), len(asked.cards)))
    for card in log.cards:
        address = build.normalize_pci(card["id"])
        card.update({name: text for name, text in by_address.get(address if is_known(address) else "", {}).items() if name not in card})
    return log, ""


def _nodes(host, address):
    """hl0 and accel0 follow the order in which the driver came to the cards, not that of hl-smi or of the bus."""
    found = []
    for folder, place in (("accel", "/dev/accel/"), ("habanalabs", "/dev/")):
        answer = host.listdir("/sys/bus/pci/devices/%s/%s" % (address, folder))
        found += [place + name for name in sorted(answer.value)] if answer.ok else []
    return [path for path in found if re.search(r"/(?:accel|hl)\d+\Z", path)]


def _release(version):
    found = re.search(r"\d+\.\d+\.\d+", version) if is_known(version) else None
    return found.group() if found else None


def collect(host, pci=None):
    """The section accelerators.gaudi of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "habanalabs", r"hl\d+")
    tool = vendor_tool.Tool(host, "hl-smi")
    tool.env = ENVIRONMENT
    log, failed = _read(tool, node.pci)
    if log is not None:
        node.unlisted(log, "hl-smi")
    top = dict(log.top) if log is not None else {}
    if log is not None and log.cards:
        top.setdefault("driver_version", log.cards[0].get("driver_version"))

    def complete(told, card, _index):
        told.update(NOT_TOLD)
        told["links"], told["fabric"], told["partition"] = LINKS, not_applicable("Intel Gaudi has none"), not_applicable("Intel Gaudi has none")
        told["ecc"]["sram_threshold_exceeded"] = not_applicable("hl-smi does not tell it")
        told["power_w"]["limit_default"] = not_applicable("hl-smi does not tell it")
        for key in ("memory", "limit_core", "limit_memory", "margin_core"):
            told["temperature_c"][key] = not_applicable("hl-smi does not tell it")
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        address = build.normalize_pci(card.get("id"))
        told["nodes"] = _nodes(host, address) if is_known(address) else []

    devices = node.devices(log, SPEC, "hl-smi", complete) if log is not None else []
    version, own, nic = (vendor_smi.value_of("t", top.get(key), "hl-smi: %s" % key) for key in ("driver_version", "hl_smi_version", "nic_driver_version"))
    for device in devices if is_known(nic) else ():
        device["extra"]["nic_driver_version"] = nic
    firmware = re.search(r"-fw-([\w.]+)\Z", own) if is_known(own) else None
    driver = {
        "version": version if is_known(version) or not is_known(node.module_version) else node.module_version,
        "library_version": not_applicable("hl-smi does not tell it"),
        "tool_version": own,
        "runtime": "Intel Gaudi software",
        "runtime_version": not_applicable("no file tells the release of the software"),
    }
    notes = [NOTE]
    if _release(own) and _release(version) and _release(own) != _release(version):
        notes.insert(0, "the driver is %s, hl-smi %s%s" % (version, _release(own), " for firmware %s" % firmware.group(1) if firmware else ""))
    return node.section(tool, devices, log, failed, driver, notes)
