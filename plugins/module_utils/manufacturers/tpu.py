# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Google TPU: the tables of tpu-info, else its list of processes (--process), which has no type.

Type and number of the chips come from PCI there, memory and load from the framework that uses them: an idle chip tells neither.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, known, not_applicable, unknown, whole

MANUFACTURER = "tpu"
PLACES = ("tpu-info", "/usr/local/bin/tpu-info")
SPEC = """
name t type
memory_mib MiB memory/total
memory_used_mib MiB memory/used
utilization_percent % duty_cycle
processes n running
extra.cores n devices
"""
ABSENT = not_applicable("tpu-info does not tell it")
NOT_TOLD = (
    "health", "persistence", "recovery_action", "throttle", "retired_pages", "row_remap", "temperature_c", "power_w", "ecc", "links", "fabric", "partition",
)  # fmt: skip
IDLE = not_applicable("told by the framework that uses the chip, and none does")
NONE = re.compile(r"no tpu chips? found", re.IGNORECASE)
NOTE = "Google TPU has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing, a chip is given whole"
_BAR = re.compile("[|\u2502\u2503]")
_NODE = re.compile(r"/dev/(?:vfio/|accel)([0-9]{1,3})\Z")
_MEMORY = re.compile(r"([0-9.]{1,12}) GiB / ([0-9.]{1,12}) GiB\Z")


def tables(text):
    """[{column: cell} of each row] of every table, the column names in lower case."""
    found, names = [], None
    for line in text.splitlines():
        if not _BAR.search(line):
            names = names if re.match(r"\s*[\u2500-\u257f]", line) else None  # a rule of the same table
            continue
        cells = [cell.strip() for cell in _BAR.split(line.strip())[1:-1]]
        if names is None:
            names = [vendor_smi.path_name(cell) for cell in cells]
            found.append([])
        elif len(cells) != len(names) and "/dev/" in line:
            found[-1].append({})  # a row that is cut
        elif len(cells) == len(names) and not all(re.match(r"[-:]*\Z", cell) for cell in cells):
            found[-1].append(dict(zip(names, cells)))
    return found


def _mib(gib):
    return "%d MiB" % round(float(gib) * 1024)


def _usage(rows):
    """[(number, used, total, duty cycle)] of the table of usage; a chip of two cores has a row for each."""
    found = []
    for row in rows:
        number = row.get("chip", row.get("device", ""))
        memory = _MEMORY.match(row.get("hbm_usage_gib", row.get("hbm_usage", "")))
        if whole(number) is not None and re.match(r"[0-9.]*\Z", row.get("duty_cycle", "").rstrip("%")):
            found.append((int(number), *(memory.groups() if memory else (None, None)), row.get("duty_cycle", "")))
    return found


def _told_of(position, chips, usage):
    """The rows of a chip: known where the table numbers the chips as the list does."""
    each = len(usage) // chips if chips and len(usage) % chips == 0 else 0
    if each not in (1, 2) or [row[0] for row in usage] != list(range(len(usage))):
        return None
    return usage[position * each : (position + 1) * each]


def chips_log(text, what):
    """Log of the chips with their node, type, process, memory and duty cycle."""
    log, usage = vendor_smi.Log(), []
    log.used, log.ended = 0, bool(re.search("HBM usage", text, re.IGNORECASE))  # the table that follows, also of idle chips
    log.top.update({vendor_smi.path_name(name): value for name, value in re.findall(r"(?m)^(Libtpu version|Accelerator type): *(\S+)", text)})
    for rows in tables(text):
        nodes = [_NODE.match(row.get("chip", "")) for row in rows]
        if rows and all(nodes) and "pid" in rows[0]:
            log.fits = True
            for row, node in zip(rows, nodes):
                card = {"index": node.group(1), "node": row["chip"], "running": "0" if row["pid"] in ("None", "") else "1" if row["pid"].isdigit() else "N/A"}
                card.update((key, row[key]) for key in ("devices", "process_name") if key in row)
                if "type" in row:
                    card["type"] = re.sub(r" chip\Z", "", row["type"])
                log.cards.append(card)
        elif rows and any(nodes):
            log.problems.append("%s: a row that is not understood" % what)
        elif rows and any(name.startswith("hbm_usage") for name in rows[0]):
            usage, log.used = _usage(rows), len(rows)
    if len({card["node"] for card in log.cards}) != len(log.cards):
        log.problems.append("%s: a chip is listed twice" % what)
    totals = {total for _number, _used, total, _duty in usage}
    for position, card in enumerate(log.cards):
        own = _told_of(position, len(log.cards), usage)
        if own and all(total for _number, _used, total, _duty in own):
            card["memory/total"], card["memory/used"] = (_mib(sum(float(row[at]) for row in own)) for at in (2, 1))
            card["duty_cycle"] = own[0][3]
        elif own is None and len(usage) == len(log.cards) and len(totals) == 1 and None not in totals:
            card["memory/total"] = _mib(usage[0][2])  # numbered otherwise, and all alike
            log.top["numbered"] = ", ".join(str(number) for number, _used, _total, _duty in usage)
    return log


def _read(tool, pci):
    """(log or None, why not)."""
    text, failed = tool.ask(seconds=30)
    log = chips_log(text or "", "tpu-info")
    log.problems += tool.exited
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        failed = failed or "tpu-info: not understood: %s" % vendor_tool.words(text or "")
        log = chips_log(tool.ask("--process", seconds=30)[0] or "", "tpu-info --process")
        log.problems += tool.exited
        if log.fits and not (isinstance(pci, list) and len(pci) == len(log.cards)):
            log.problems.append("tpu-info --process lists chips in use, more may be")
    elif log.fits and not (isinstance(pci, list) and len(pci) == len(log.cards)):
        if not log.ended:
            log.problems.append("tpu-info: ends inside the tables, more may be")
        if log.used > sum(whole(card.get("devices", "")) or 2 for card in log.cards):
            log.problems.append("tpu-info lists %d chips and tells the use of %d" % (len(log.cards), log.used))
    return (log, "") if log.fits else (None, failed)


def _places(host, pci):
    """{device node: address}: the number of a VFIO node is the IOMMU group of its function, that of an older one is below the function."""
    found = {}
    for entry in pci if isinstance(pci, list) else ():
        base = "/sys/bus/pci/devices/%s" % entry.get("address")
        group, nodes = host.readlink(base + "/iommu_group"), host.listdir(base + "/accel")
        if group.ok and whole(group.value.rpartition("/")[2]) is not None:
            found["/dev/vfio/" + group.value.rpartition("/")[2]] = entry["address"]
        found.update(("/dev/" + name, entry["address"]) for name in (nodes.value if nodes.ok else ()) if re.match(r"accel[0-9]{1,3}\Z", name))
    return found


def collect(host, pci=None):
    """The section accelerators.tpu of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "gasket", r"accel[0-9]{1,3}")
    tool = vendor_tool.Tool(host, *PLACES)
    log, failed = _read(tool, node.pci)
    notes = [NOTE]
    if log is not None and log.cards:
        node.unlisted(log, "tpu-info", [card for card in log.cards if card["node"].startswith("/dev/accel")])
        places = _places(host, node.pci)
        for card in log.cards:
            card["id"] = places.get(card["node"], "N/A")
        if "numbered" in log.top:
            notes.insert(0, "tpu-info lists %d chips and calls them %s where it tells their use" % (len(log.cards), log.top["numbered"]))
    models = {known(entry.get("model")) for entry in node.on_bus.values()}

    def complete(told, card, _index):
        told.update(dict.fromkeys(NOT_TOLD, ABSENT))
        if not is_known(told["name"]) and len(models) == 1 and None not in models:
            told["name"] = next(iter(models))
        told["serial"] = told["uuid"] = ABSENT
        for key in ("memory_mib", "memory_used_mib", "utilization_percent"):
            if not is_known(told[key]) and card["running"] == "0":
                told[key] = IDLE
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        if card.get("process_name"):
            told["extra"]["process_names"] = [card["process_name"].rpartition("/")[2][:40]]
        told["nodes"] = [card["node"]]

    devices = node.devices(log, SPEC, "tpu-info", complete) if log is not None else []
    bound = {known(entry.get("driver")) for entry in node.on_bus.values()}
    if bound == {"vfio-pci"}:
        node.module_version = not_applicable("vfio-pci comes with the kernel: no version of its own")
    library = log.top.get("libtpu_version") if log is not None else None
    library = library if library and library != "N/A" else unknown("tpu-info: libtpu version: not told")
    driver = {
        "version": node.module_version,
        "library_version": library,
        "tool_version": not_applicable("not told with the chips"),
        "runtime": "libtpu",
        "runtime_version": library,
    }
    return node.section(tool, devices, log, failed, driver, notes)
