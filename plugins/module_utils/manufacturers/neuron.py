# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AWS Neuron: neuron-ls -j, else its table, and the driver's files below /sys/devices/virtual/neuron_device.

The table is seen on hardware, -j only as published (abbreviated). Files: the vendor's Neuron Sysfs User Guide.
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter, vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, known, not_applicable, unknown, whole

MANUFACTURER = "neuron"
PLACES = ("neuron-ls", "/opt/aws/neuron/bin/neuron-ls")
SYS = "/sys/devices/virtual/neuron_device"
SPEC = """
memory_mib MiB memory
processes n running
extra.cores n cores
extra.logical_core_config n logical_core_config
extra.connected_to t connected
"""
FAMILIES = {"inf1": "Inferentia", "inf2": "Inferentia2", "trn1": "Trainium", "trn2": "Trainium2", "trn3": "Trainium3"}  # of instances: trn2u is a trn2
# the vendor's pages of instance types
COUNTS = {
    "inf1.xlarge": 1, "inf1.2xlarge": 1, "inf1.6xlarge": 4, "inf1.24xlarge": 16, "inf2.xlarge": 1, "inf2.8xlarge": 1, "inf2.24xlarge": 6,
    "inf2.48xlarge": 12, "trn1.2xlarge": 1, "trn1.32xlarge": 16, "trn1n.32xlarge": 16, "trn2.48xlarge": 16, "trn2n.48xlarge": 16, "trn2u.48xlarge": 16,
}  # fmt: skip
NOT_APPLICABLE = not_applicable("Neuron does not tell it")
NOT_TOLD = ("health", "persistence", "recovery_action", "throttle", "retired_pages", "row_remap", "temperature_c", "power_w", "utilization_percent")
NONE = re.compile(r"no neuron devices?(?: were| was)? found", re.IGNORECASE)
NOTE = "no driver is asked for slicing: cores are given whole"


def _card(index, address, cores, memory, **more):
    card = {"index": str(index), "id": str(address), "cores": str(cores), "memory": memory}
    card.update((key, str(value)) for key, value in more.items() if value not in (None, ""))
    return card


def json_log(text, what):
    """Of what is no JSON, the devices that can be read."""
    log, entries, document, decoder = vendor_smi.Log(), [], None, json.JSONDecoder()
    for said in (text, chatter.without(text)):
        start = min((at for at in (said.find("["), said.find("{")) if at >= 0), default=-1)
        try:
            document = decoder.raw_decode(said, start)[0] if start >= 0 else None
            break
        except (ValueError, RecursionError):
            continue
    else:
        for found in re.finditer(r'\{\s*"neuron_device"', text):
            try:
                entries.append(decoder.raw_decode(text, found.start())[0])
            except (ValueError, RecursionError):
                continue
        log.problems += ["%s: not valid JSON" % what] if entries else []
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [])
    for entry in document or entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("neuron_device"), int):
            log.problems.append("%s: no device" % what)
            continue
        log.fits = True
        if isinstance(entry.get("instance_type"), str):
            log.top.setdefault("instance-type", entry["instance_type"])
        size, ran, near = entry.get("memory_size"), entry.get("neuron_processes"), entry.get("connected_to")
        log.cards.append(_card(
            entry["neuron_device"], entry.get("bdf"), entry.get("nc_count"), "%d MiB" % (size >> 20) if isinstance(size, int) else None,
            running=len(ran) if isinstance(ran, list) else None, numa=entry.get("numa_node"), logical_core_config=entry.get("logical_neuroncore_config"),
            connected=", ".join(map(str, near)) if isinstance(near, list) else None,
        ))  # fmt: skip
    return log


def _mib(cells):
    sizes = [re.match(r"(\d{1,9}) ([GM])B\Z", cell) for cell in cells]
    return "%d MiB" % sum(int(size.group(1)) * (1024 if size.group(2) == "G" else 1) for size in sizes) if cells and all(sizes) else None


def table_log(text, what):
    """Two lines of column names, then one a device; one without a number is a further process of the device above. A border may part the devices."""
    log, heads, names, ended = vendor_smi.Log(), [], [], False
    log.top.update(re.findall(r"(?m)^(instance-type|logical-neuroncore-config): *(\S+)", text))
    for line in text.splitlines():
        line = line.strip()
        if re.match(r"\+[-+]{8,}\+\Z", line):
            if heads and not names:
                names = [" ".join(filter(None, words)) for words in zip(*heads)]
                log.fits = any(name in names for name in ("NEURON DEVICE", "LOGICAL ID")) and "PCI BDF" in names
            elif log.cards:
                ended = True
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            continue
        ended = False
        if not names:
            heads += [cells] if not heads or len(cells) == len(heads[0]) else []
            continue
        row = dict(zip(names, cells)) if len(cells) == len(names) else {}
        index = row.get("NEURON DEVICE", row.get("LOGICAL ID", "?"))
        if whole(index) is not None:
            sizes = [cell for name, cell in zip(names, cells) if name.startswith(("NEURON MEMORY", "MEMORY CHANNEL"))]
            log.cards.append(_card(
                index, row.get("PCI BDF"), row.get("NEURON CORES"), _mib(sizes), numa=row.get("NUMA NODE"), connected=row.get("CONNECTED DEVICES"),
                logical_core_config=log.top.get("logical-neuroncore-config"), running=int(row["PID"].isdigit()) if "PID" in row else None,
            ))  # fmt: skip
        elif index == "" and log.cards and row.get("PID", "?").isdigit() and "running" in log.cards[-1]:
            log.cards[-1]["running"] = str(int(log.cards[-1]["running"]) + 1)
        elif log.fits:
            log.problems.append("%s: a row that is not understood: %.80r" % (what, line))
    if log.fits and not ended:
        log.problems.append("%s: ends inside the table" % what)
    return log


def _read(tool):
    """(log or None, why not)."""
    text, failed = tool.ask("-j", seconds=30)
    log = json_log(text or "", "neuron-ls -j")
    log.problems += tool.exited
    if NONE.search("%s %s" % (text or "", failed)) and not log.cards:
        return vendor_smi.Log(), ""
    if not log.fits and not tool.final:
        failed = failed or "neuron-ls -j: not understood: %s" % vendor_tool.words(text or "")
        log = table_log(tool.ask(seconds=30)[0] or "", "neuron-ls")
        log.problems += tool.exited
    return (log, "") if log.fits else (None, failed)


def _count(host, index, name):
    """A counter since the driver was loaded: a file, or a directory with `total`."""
    for path in ("%s/neuron%d/stats/hardware/%s/total" % (SYS, index, name), "%s/neuron%d/stats/hardware/%s" % (SYS, index, name)):
        answer = host.read_text(path)
        if answer.ok and answer.value.strip().isdigit() and len(answer.value.strip()) < 19:
            return int(answer.value)
    return unknown("%s: %s" % (path, answer.reason if not answer.ok else "not a number"))


def collect(host, pci=None):
    """The section accelerators.neuron of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "neuron", r"neuron\d+")
    tool = vendor_tool.Tool(host, *PLACES)
    log, failed = _read(tool)
    if log is not None:
        node.unlisted(log, "neuron-ls")
    product = from_answer(host.read_line("/sys/class/dmi/id/product_name"), str.strip)
    kind = log.top.get("instance-type") if log is not None else None
    kind = kind or (product if is_known(product) and product[:4] in FAMILIES else "")
    numa = {}

    def complete(told, card, index):
        told.update(dict.fromkeys(NOT_TOLD, NOT_APPLICABLE))
        base = "%s/neuron%d/info/" % (SYS, index)
        named = host.read_line(base + "architecture/device_name")
        address = build.normalize_pci(card["id"])
        entry = node.on_bus.get(address) if is_known(address) else None
        model = [named.value.strip() if named.ok else "", known(entry["model"], "") if entry else "", FAMILIES.get(kind[:4], "")]
        told["name"] = next(filter(None, model), None) or unknown("neither driver, PCI nor instance type names it")
        serial = host.read_line(base + "serial_number")
        told["serial"] = not_applicable("this driver tells none") if serial.status == ABSENT else from_answer(serial, str.strip)
        memory, static = _count(host, index, "mem_ecc_uncorrected"), _count(host, index, "sram_ecc_uncorrected")
        told["ecc"] = dict.fromkeys(("mode", "corrected_volatile", "corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"), NOT_APPLICABLE)
        told["ecc"]["uncorrected_volatile"] = memory + static if is_known(memory) and is_known(static) else memory if is_known(static) else static
        told["links"] = not_applicable("neuron-ls does not tell their state")
        told["fabric"] = told["partition"] = not_applicable("Neuron has none")
        told["memory_used_mib"] = not_applicable("told of work that runs")
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        told["nodes"] = ["/dev/" + name for name in node.nodes if name == "neuron%d" % index]
        numa[index] = card.get("numa", "")

    devices = node.devices(log, SPEC, "neuron-ls", complete) if log is not None else []
    for device in devices:
        if not is_known(device["numa_node"]) and whole(numa.get(device["index"], "")) is not None:  # -1: not known
            device["numa_node"] = whole(numa[device["index"]])
    count = None
    if kind in COUNTS:
        count = {"command": "the type of the instance", "accelerators": COUNTS[kind], "detail": kind, "reason": ""}
    driver = {
        "version": node.module_version,
        "library_version": not_applicable("part of the framework's environment"),
        "tool_version": not_applicable("not told with the devices"),
        "runtime": "Neuron",
        "runtime_version": not_applicable("told only of work that runs"),
    }
    return node.section(tool, devices, log, failed, driver, [NOTE], count)
