# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Iluvatar CoreX, asked through ixsmi: its log (-q -x, or the same as text), else the query as CSV, else the table.

Element names of the log: public exporters of ixsmi (CoreX 4.x); fields of the query: ixsmi --help-query-gpu. The table is seen on hardware.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

MANUFACTURER = "iluvatar"
HOME = "/usr/local/corex"
# ixsmi does not find its own library otherwise
ENVIRONMENT = {"LD_LIBRARY_PATH": "%s/lib64:%s/lib" % (HOME, HOME)}
SPEC = """
name t product_name
uuid t uuid gpu_uuid
serial t serial serial_number
slot t slot_number
memory_mib MiB memory_usage/total fb_memory_usage/total
memory_used_mib MiB memory_usage/used fb_memory_usage/used
utilization_percent % gpu_util utilization/gpu
firmware.vbios t vbios_version
temperature_c.core C gpu_temp gpu_current_temp
temperature_c.memory C memory_temp memory_current_temp
power_w.draw W gpu_power_draw board_power_draw power_readings/power_draw
power_w.limit W current_gpu_power_limit current_board_power_limit power_readings/power_limit
power_w.limit_default W default_gpu_power_limit default_power_limit
pcie.generation_current n current_link_gen pcie_generation/current
pcie.generation_max n max_link_gen pcie_generation/max
pcie.width_current x current_link_width link_width/current
pcie.width_max x max_link_width link_width/max
ecc.mode w current_ecc ecc_mode/current
ecc.corrected_volatile n ecc_errors/single_bit volatile/single_bit/total
ecc.uncorrected_volatile n ecc_errors/double_bit volatile/double_bit/total
processes n running
extra.minor n minor_number
extra.part_number t part_number board_part_number
extra.compute_mode w compute_mode
extra.performance_state t performance_state
extra.board_power_draw_w W board_power_draw
"""
FIELDS = {
    "index": "index", "name": "product_name", "uuid": "uuid", "serial": "serial", "pci.bus_id": "id", "vbios_version": "vbios_version",
    "driver_version": "driver_version", "memory.total": "memory_usage/total", "memory.used": "memory_usage/used", "utilization.gpu": "gpu_util",
    "temperature.gpu": "gpu_temp", "temperature.memory": "memory_temp", "gpu.power.draw": "gpu_power_draw", "power.draw": "gpu_power_draw",
    "gpu.current.power.limit": "current_gpu_power_limit", "gpu.power.limit": "current_gpu_power_limit", "power.limit": "current_gpu_power_limit",
    "pcie.link.gen.current": "current_link_gen", "pcie.link.gen.max": "max_link_gen", "pcie.link.width.current": "current_link_width",
    "pcie.link.width.max": "max_link_width", "ecc.mode.current": "current_ecc",
}  # fmt: skip
ASKED = [field for field in FIELDS if field not in ("power.draw", "gpu.power.limit", "power.limit")]
OLDER = {"gpu.power.draw": "power.draw", "gpu.current.power.limit": "gpu.power.limit"}  # as CoreX 3 calls them
NOT_TOLD = {key: not_applicable("ixsmi does not tell it") for key in ("health", "persistence", "recovery_action", "throttle", "retired_pages", "row_remap")}
NONE = re.compile(r"no (?:supported )?(?:gpus?|devices?)(?: were)? found", re.IGNORECASE)
_TOKEN = re.compile(r"<(/?)([A-Za-z_][\w.-]*)([^<>]*)>|<[!?][^>]*>|([^<]+)")
_VERSIONS = re.compile(r"IX-ML: *(\S+) +Driver Version: *(\S+) +CUDA Version: *(\S+)")
NOTE = (
    "Iluvatar has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing: budgets come from the request of the "
    "container, the runtime of the vendor keeps them"
)


def xml_log(text, what):
    """<…_log><gpu id="00000000:18:00.0">…"""
    log, stack, words, leaf = vendor_smi.Log(), [], "", False
    closed = False
    for closing, tag, attributes, content in _TOKEN.findall(text):
        tag = tag.lower()
        if content:
            words = content
        elif tag and not closing:
            if not stack and not tag.endswith("_log"):
                continue
            log.fits = True
            stack.append(tag)
            words, leaf = "", True
            if stack[1:] == ["gpu"]:
                found = re.search("id=[\"']([^\"']{0,40})", attributes)
                log.cards.append({"id": found.group(1)} if found else {})
            elif tag in ("processes", "process_info") and log.cards:
                log.cards[-1]["running"] = str(int(log.cards[-1].get("running", "0")) + (tag == "process_info"))
            if attributes.endswith("/"):
                closing = "/"
        if tag and closing and tag in stack:
            if leaf and stack[-1] == tag and stack[1:]:
                flat = log.cards[-1] if stack[1] == "gpu" and log.cards else log.top
                said = words.strip().replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")
                flat.setdefault("/".join(stack[2:] if stack[1] == "gpu" else stack[1:]), said[:400])
            while stack.pop() != tag:
                pass
            leaf = False
            closed = closed or (not stack)
    if log.fits and not closed:
        log.problems.append("%s: ends before its end" % what)
    return log.check(what)


def csv_log(text, what):
    """The answer to --query-gpu. A field it does not know is answered with a sentence in place of the rows."""
    log, places = vendor_smi.Log(), None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        names = [cell.split(" [")[0] for cell in cells]
        if places is None:
            places = [FIELDS.get(name, name) for name in names] if names[0] == "index" and len(names) > 1 else None
        elif len(cells) == len(places) and cells[0].isdigit():
            log.cards.append(dict(zip(places, cells)))
        elif line.strip():
            log.problems.append("%s: not understood: %.80r" % (what, line.strip()))
    log.fits = places is not None
    return log


def table_log(text, what):
    """The table of ixsmi without arguments: two rows a card, then the processes."""
    log, card, listing = vendor_smi.Log(), None, None
    versions = _VERSIONS.search(text)
    if versions:
        log.top.update(zip(("library_version", "driver_version", "cuda_version"), versions.groups()))
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        first = re.match(r"(\d{1,4}) +(\S.*)\Z", cells[0])
        tokens = cells[0].split()
        if "Bus-Id" in line:
            log.fits = True
        elif "Processes:" in line:
            listing = {}
        elif listing is not None:
            if len(tokens) > 2 and tokens[0].isdigit() and tokens[1].isdigit():
                listing[tokens[0]] = listing.get(tokens[0], 0) + 1
        elif log.fits and len(cells) == 3 and first and re.match(vendor_smi.ADDRESS + r"\Z", cells[1]):
            if card is not None:
                log.problems.append("%s: half of a card: %.80r" % (what, card["id"]))
            card = {"index": first.group(1), "product_name": first.group(2), "id": cells[1]}
            log.cards.append(card)
        elif card is not None and len(cells) == 3 and len(tokens) == 6 and tokens[4] == "/":
            card.update({"gpu_temp": tokens[1], "performance_state": tokens[2], "gpu_power_draw": tokens[3], "current_gpu_power_limit": tokens[5]})
            used, _slash, total = cells[1].partition(" / ")
            use = [*cells[2].split(None, 1), "", ""]
            card.update({"memory_usage/used": used, "memory_usage/total": total.strip(), "gpu_util": use[0], "compute_mode": use[1]})
            card = None
        elif log.fits and "|" in line and cells[0] and not re.match(r"Fan |[-=+]", cells[0]):
            log.problems.append("%s: a row that is not understood: %.80r" % (what, line.strip()))
    if card is not None or (log.fits and listing is None):
        log.problems.append("%s: ends inside the table" % what)
    for entry in log.cards if listing is not None else ():
        entry["running"] = str(listing.get(entry["index"], 0))
    return log


def _query(tool):
    fields, text, reason = list(ASKED), None, ""
    for _attempt in (1, 2):
        text, reason = tool.ask("--query-gpu=" + ",".join(fields), "--format=csv")
        said = [line for line in ("%s\n%s" % (text or "", reason.partition("csv")[2])).splitlines() if re.search("not|invalid|unknown", line, re.IGNORECASE)]
        refused = [field for field in fields if any('"%s"' % field in line or ("." in field and field in re.split(r"[^\w.]+", line)) for line in said)]
        if (text and csv_log(text, "").fits) or not refused or len(refused) == len(fields):
            break
        fields = [OLDER.get(field, "") if field in refused else field for field in fields]
        fields = [field for field in fields if field]
    return csv_log(text or "", "ixsmi --query-gpu"), reason


def _read(tool):
    """(log or None, why not)."""
    text, failed = tool.ask("-q", "-x", seconds=30)
    log = xml_log(text or "", "ixsmi -q -x")
    if not log.fits:
        log = vendor_smi.text_log(text or "", "ixsmi -q")
    log.problems += tool.exited
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        failed = failed or "ixsmi -q -x: not understood: %s" % vendor_tool.words(text or "")
        log = _query(tool)[0]
        if not log.fits and not tool.final:
            log = table_log(tool.ask()[0] or "", "ixsmi")
        log.problems += tool.exited
    if not log.fits:
        return None, failed or tool.final
    if not log.cards and "attached_gpus" not in log.top:
        log.problems.append("ixsmi: no GPU in its answer")
    return log, ""


def _boards(devices):
    """Two chips of a board: the power of the board is told by one of them. The pair is known by the serial, else by its place in the list."""
    for position, device in enumerate(devices):
        serial = device["identity"]["serial"]["value"]
        mates = [other for other in devices if other is not device and is_known(serial) and other["identity"]["serial"]["value"] == serial]
        beside = devices[position ^ 1] if (position ^ 1) < len(devices) else None
        if not mates and not is_known(serial) and beside is not None and beside["name"] == device["name"]:
            mates = [beside]
        power = device["power_w"]
        if len(mates) == 1 and not any(is_known(value) for value in power.values()) and is_known(mates[0]["power_w"].get("draw")):
            device["power_w"] = dict.fromkeys(power, not_applicable("told once for the board, by %s" % mates[0]["id"]))
            device["extra"]["board_of"] = mates[0]["id"]


def collect(host, pci=None):
    """The section accelerators.iluvatar of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "iluvatar", r"iluvatar\d+")
    tool = vendor_tool.Tool(host, "ixsmi")
    tool.env = ENVIRONMENT
    log, failed = _read(tool)
    top = log.top if log is not None else {}
    if log is not None and log.cards and "driver_version" not in top:
        top = dict(top, driver_version=log.cards[0].get("driver_version"))
    states, library = {}, None
    if log is not None and len(log.cards) > 1:
        text, why_not = tool.ask("ixlink", "-s")
        states = vendor_smi.link_states(text or "")
        no_links = unknown(vendor_tool.not_asked(tool, why_not or "ixsmi ixlink -s: not understood: %s" % vendor_tool.words(text or "")))
        if not states:
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar_ixml
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.vendor_library import Library

            library = Library(host, "ixsmi", "libixml", iluvatar_ixml, [])
            tool.sources += library.sources
    else:
        no_links = not_applicable("one chip: nothing to link")

    def complete(told, _card, index):
        told.update(NOT_TOLD)
        told["fabric"] = told["partition"] = not_applicable("Iluvatar has none")
        if told["memory_mib"] == 0:
            told["memory_mib"] = unknown("ixsmi: 0 MiB in all")
        for key in ("corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"):
            told["ecc"][key] = not_applicable("ixsmi does not tell it")
        for key in ("limit_core", "limit_memory", "margin_core"):
            told["temperature_c"][key] = not_applicable("ixsmi does not tell it")
        told["links"] = vendor_smi.links("ixlink", states.get(index), no_links)
        if library is not None:
            connected = library.fact(str(index))
            if connected == 0:
                connected = not_applicable("libixml: no IXLink connects it")
            elif is_known(connected):
                connected = unknown("ixsmi does not tell it, and libixml counts %d links that connect, not those that do not" % connected)
            told["links"] = library.better(told["links"], connected)
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        minor = told["extra"].get("minor")  # the number of the node is not the index
        only = node.nodes if len(node.nodes) == len(log.cards) == 1 else []
        told["nodes"] = ["/dev/" + name for name in node.nodes if name == "iluvatar%s" % minor] or ["/dev/" + name for name in only]

    devices = node.devices(log, SPEC, "ixsmi", complete) if log is not None else []
    _boards(devices)
    version, library = (vendor_smi.value_of("t", top.get(key), "ixsmi: %s" % key) for key in ("driver_version", "library_version"))
    home = host.readlink(HOME)
    found = re.search(r"corex-(\d[\w.]*)/?\Z", home.value) if home.ok else None
    driver = {
        "version": version if is_known(version) else node.module_version if is_known(node.module_version) else version,
        "library_version": library,
        "tool_version": not_applicable("part of the library"),
        "runtime": "CoreX",
        "runtime_version": found.group(1) if found else unknown("%s: %s" % (HOME, home.value if home.ok else home.reason)),
    }
    notes = [NOTE]
    if is_known(version) and is_known(library) and version != library:
        notes.insert(0, "the driver is %s, the library of ixsmi %s" % (version, library))
    return node.section(tool, devices, log, failed, driver, notes)
