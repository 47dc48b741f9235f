# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moore Threads, asked through mthreads-gmi: -q -j (JSON), else -q (text), else the table.

Names of -q: the vendor's own diagnosis tool and public exporters (drivers 2.7 to 5.1). The table is seen on hardware.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

MANUFACTURER = "mthreads"
SPEC = """
name t product_name
uuid t gpu_uuid uuid
serial t serial_number
slot t slot_id_name
memory_mib MiB fb_memory_usage/total
memory_used_mib MiB fb_memory_usage/used
utilization_percent % utilization/gpu
firmware.mtbios t mtbios_version
temperature_c.core C gpu_current_temp
temperature_c.memory C memory_current_temp
power_w.draw W power_readings/power_draw
power_w.limit W current_power_limit
power_w.limit_default W default_power_limit
pcie.generation_current n pcie_generation/current
pcie.generation_max n pcie_generation/max
pcie.width_current x link_width/current
pcie.width_max x link_width/max
ecc.mode t ecc_mode/current ecc_mode
retired_pages.corrected n retired_pages/single_bit_ecc
retired_pages.uncorrected n retired_pages/double_bit_ecc
retired_pages.pending f retired_pages/pending_page_blacklist
processes n running
extra.device_type t devicetype device_type
extra.mpc_capable f mpc_capable
extra.performance_state t performance_state
extra.thermal_slowdowns n thermal_slowdown_stats/count
extra.memory_type t fb_memory_spec/type
"""
NOT_TOLD = {key: not_applicable("mthreads-gmi does not tell it") for key in ("health", "persistence", "recovery_action", "throttle", "row_remap")}
COUNTED = ("corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded")
NONE = re.compile(r"no MT GPU device found|no devices? (?:was |were )?found", re.IGNORECASE)
FRESH = re.compile(r"failed to initialize mtml", re.IGNORECASE)  # also for a moment after the driver was loaded
_VERSIONS = re.compile(r"mthreads-gmi: *(\S+) +Driver Version: *(\S+)")
NOMINAL_MIB = {"MTT S80": 16384, "MTT S90": 24576, "MTT S4000": 49152, "MTT S5000": 81920}  # the vendor's diagnosis tool and its data sheets
NOTE = (
    "Moore Threads has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing: budgets come from the request of the "
    "container, the kernel module of the vendor keeps them"
)


def _flatten(value, path, flat, depth=0):
    if depth > 8:
        return
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            _flatten(inner, "/".join(filter(None, (path, vendor_smi.path_name(name)))), flat, depth + 1)
    else:
        flat.setdefault(path, "N/A" if value is None else str(value)[:400])


def json_log(text, what):
    """{"Driver Version": …, "Attached GPUs": "2", "GPU": [{…}]}, with or without words around it."""
    log = vendor_smi.Log()
    try:
        document = chatter.first_object(text)
    except (ValueError, RecursionError):
        return log
    for name, value in document.items() if isinstance(document, dict) else ():
        if vendor_smi.path_name(name) in ("gpu", "gpus") and isinstance(value, list):
            log.fits = True
            for entry in value:
                card = {}
                if isinstance(entry, dict) and entry:
                    _flatten(entry, "", card)
                    log.cards.append(card)
                else:
                    log.problems.append("%s: an entry that is no GPU" % what)
        else:
            _flatten(value, vendor_smi.path_name(name), log.top)
    return log.check(what)


def table_log(text, what):
    """The table: a row with index, name, address, use; one with type, lanes, temperature; one with the ECC mode."""
    log, card, listing, body = vendor_smi.Log(), {}, None, False
    versions = _VERSIONS.search(text)
    if versions:
        log.top.update(zip(("tool_version", "driver_version"), versions.groups()))
    for line in text.splitlines():
        line = line.strip()
        cells = [cell.strip() for cell in line.split("|")]
        first = re.match(r"(\d{1,4}) +(\S.*)\Z", cells[0])
        body = body or (log.fits and line.startswith("+-"))
        if re.match(r"ID +Name +\|", line):
            log.fits = True
        elif line.startswith("Processes:"):
            listing = {}
        elif listing is not None:
            tokens = line.split()
            if len(tokens) > 2 and tokens[0].isdigit() and tokens[1].isdigit():
                listing[tokens[0]] = listing.get(tokens[0], 0) + 1
        elif len(cells) == 3 and first and re.match(vendor_smi.ADDRESS + r"\Z", cells[1]):
            use, memory = [*cells[2].split(None, 1), "", ""][:2]
            found = re.match(r"(\S+?)\((\S+)\)\Z", memory)
            card = {"index": first.group(1), "product_name": first.group(2), "id": cells[1], "utilization/gpu": use}
            card.update(zip(("fb_memory_usage/used", "fb_memory_usage/total"), found.groups() if found else (memory, memory)))
            log.cards.append(card)
        elif len(cells) == 3 and card and "devicetype" not in card:
            lanes = re.match(r"(\w+)\((\w+)\)\Z", cells[1])
            kind, heat = re.split(" {2,}", cells[0]), [*cells[2].split(None, 1), "", ""][:2]
            card.update(zip(("link_width/current", "link_width/max"), lanes.groups() if lanes else (cells[1], cells[1])))
            card.update(zip(("gpu_current_temp", "mpc_capable"), heat), devicetype=kind[0])
            if len(kind) > 1:
                card["performance_state"] = kind[1]
        elif len(cells) == 2 and card and not cells[0] and "ecc_mode" not in card:
            card["ecc_mode"] = cells[1]
        elif log.fits and (first or (body and "|" in line)):
            log.problems.append("%s: a row that is not understood: %.80r" % (what, line.strip()))
    if log.fits and (listing is None or any("ecc_mode" not in entry for entry in log.cards)):
        log.problems.append("%s: ends inside the table" % what)
    for entry in log.cards if listing is not None else ():
        entry["running"] = str(listing.get(entry["index"], 0))
    return log


def _read(tool):
    """(log or None, why not)."""
    failures = []
    for arguments, parse in ((("-q", "-j"), json_log), (("-q",), vendor_smi.text_log), ((), table_log)):
        what = " ".join(("mthreads-gmi", *arguments))
        text, reason = tool.ask(*arguments, seconds=30)
        if FRESH.search("%s %s" % (text, reason)):
            text, reason = tool.ask(*arguments, seconds=30)
        said = "%s %s" % (text or "", reason)
        log = parse(text or "", what)
        log.problems += tool.exited
        if NONE.search(said) and not log.cards:
            return vendor_smi.Log(), ""
        if log.fits:
            if not log.cards and not log.problems and "attached_gpus" not in log.top:
                log.problems.append("%s: no GPU in its answer" % what)
            return log, ""
        failures.append(reason or "%s: not understood: %s" % (what, vendor_tool.words(text or "")))
        if tool.final or FRESH.search(said):
            break
    if all("printed nothing" in failure for failure in failures):
        failures[:1] = ["%s: in a container the tool of the host is not passed through, see the container runtime of the vendor (mthreads)" % failures[0]]
    return None, failures[0]


def _runtime(host):
    answer = host.read_text("/usr/local/musa/version.json")
    if answer.status in (answers.ABSENT, answers.NOT_A_DIRECTORY):
        return not_applicable("no MUSA toolkit in /usr/local/musa")
    found = re.search(r'"musa_toolkits"\s*:\s*\{[^{}]*"version"\s*:\s*"([^"]{1,40})"', answer.value) if answer.ok else None
    return found.group(1) if found else unknown(answer.reason if not answer.ok else "%s: no version of musa_toolkits" % answer.subject)


def collect(host, pci=None):
    """The section accelerators.mthreads of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "mtgpu", r"mtgpu\.\d+")
    tool = vendor_tool.Tool(host, "mthreads-gmi")
    log, failed = _read(tool)
    top = log.top if log is not None else {}
    states, library = {}, None
    if log is not None and log.cards:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import mthreads_mtml
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.vendor_library import Library

        text, why_not = tool.ask("mtlink", "-s") if len(log.cards) > 1 else (None, "")
        states = vendor_smi.link_states(text or "")
        said = why_not or "mthreads-gmi mtlink -s: not understood: %s" % vendor_tool.words(text or "")
        no_links = not_applicable(said) if "operation is not available" in said else unknown(vendor_tool.not_asked(tool, said))
        library = Library(host, "mthreads-gmi", "libmtml", mthreads_mtml, [])
        tool.sources += library.sources
    iommu = host.listdir("/sys/class/iommu")
    off = iommu.status == answers.ABSENT or (iommu.ok and not iommu.value)
    notes = ["no IOMMU is active (/sys/class/iommu): memory and number of the cards may be told wrong"] if off and (node.pci or failed) else []

    def complete(told, card, index):
        told.update(NOT_TOLD)
        told["fabric"] = told["partition"] = not_applicable("Moore Threads has none")
        total, used = told["memory_mib"], told["memory_used_mib"]
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        if str(told["extra"].get("device_type", "")).lower().startswith("virtual"):
            told["extra"]["virtual_function"] = True
        whole = 0 if "virtual_function" in told["extra"] else NOMINAL_MIB.get(told["name"] if is_known(told["name"]) else "", 0)
        if is_known(total) and (total == 0 or total < whole or (is_known(used) and used > total)):
            of = " (of %d)" % whole if whole else ""
            told["memory_mib"] = unknown("mthreads-gmi: %s MiB%s in all, %s in use: false while the IOMMU is off in firmware or kernel" % (total, of, used))
        mode = told["ecc"]["mode"]
        if is_known(mode):
            told["extra"]["ecc_mode"] = mode
            on = re.match(r"(?:enabled|on)\b", mode, re.IGNORECASE)  # "On-die, EDC": always at work
            off_words = re.match(r"(?:disabled|off)\b", mode, re.IGNORECASE)
            told["ecc"]["mode"] = "enabled" if on else "disabled" if off_words else unknown("mthreads-gmi: ECC mode %r" % mode[:60])
        place = node.place(card)
        told["ecc"].update(
            {key: library.fact(place, "ecc." + key) for key in COUNTED[:4]}, sram_threshold_exceeded=not_applicable("mthreads-gmi does not tell it")
        )
        for key, said in told["retired_pages"].items():
            told["retired_pages"][key] = library.better(said, library.fact(place, "retired_pages." + key, flag=key == "pending"))
        for key in ("limit_core", "limit_memory", "margin_core"):
            told["temperature_c"][key] = not_applicable("mthreads-gmi does not tell it")
        links = vendor_smi.links("mtlink", states.get(index), no_links) if len(log.cards) > 1 else not_applicable("one card: nothing to link")
        told["links"] = library.better(links, library.links(place, "mtlink"))
        told["nodes"] = ["/dev/" + name for name in node.nodes if name == "mtgpu.%d" % index]

    devices = node.devices(log, SPEC, "mthreads-gmi", complete) if log is not None else []
    version = vendor_smi.value_of("t", top.get("driver_version"), "mthreads-gmi: driver version")
    own = top.get("tool_version")
    driver = {
        "version": version if is_known(version) or not is_known(node.module_version) else node.module_version,
        "library_version": not_applicable("mthreads-gmi does not tell it"),
        "tool_version": vendor_smi.value_of("t", own, "mthreads-gmi: version") if own else not_applicable("mthreads-gmi -q does not tell it"),
        "runtime": "MUSA",
        "runtime_version": _runtime(host),
    }
    return node.section(tool, devices, log, failed, driver, [*notes, NOTE])
