# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kunlunxin, asked through xpu-smi -q, else its table. Intel's tool has the same name and is not asked about Kunlunxin cards.

Both outputs are seen on hardware, of the P800. The older xpu_smi is built from its likeness.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import smi_table, vendor_smi, vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable

MANUFACTURER = "kunlunxin"
SPEC = """
name t product_name name
uuid t xpu_uuid uuid
serial t serial_number
memory_mib MiB memory_usage/total memory/total
memory_used_mib MiB memory_usage/used memory/used
utilization_percent % utilization/xpu utilization
firmware.all t firmware_version/all_version
firmware.pcie t firmware_version/pcie_version
firmware.cpld t firmware_version/cpld_version
temperature_c.core C temperature/xpu_current_temp temperature
power_w.draw W power_readings/power_draw draw
power_w.limit W power_readings/enforced_power_limit limit
pcie.generation_current n pcie_generation/current
pcie.generation_max n pcie_generation/max
pcie.width_current x link_width/current
pcie.width_max x link_width/max
ecc.mode w ecc_mode/current
ecc.corrected_volatile n volatile/dram_correctable
ecc.uncorrected_volatile n volatile/dram_uncorrectable volatile_uncorr_ecc
ecc.corrected_aggregate n aggregate/dram_correctable
ecc.uncorrected_aggregate n aggregate/dram_uncorrectable
processes n running
extra.minor n minor_number
extra.part_number t xpu_part_number
extra.architecture t product_architecture
extra.pcie_id t pcie_id
extra.l3_mib MiB l3_usage/total
extra.sriov w last
"""
NOT_TOLD = {key: not_applicable("xpu-smi does not tell it") for key in ("health", "persistence", "recovery_action", "throttle", "retired_pages", "row_remap")}
OURS = re.compile(r"XPU-RT|KUNLUNXIN|XPUSMI LOG", re.IGNORECASE)
OTHERS = re.compile(r"\bIntel\b|Level Zero|XPU Manager|argument was not expected", re.IGNORECASE)  # the last: Intel's tool about -q
NONE = re.compile(r"no (?:xpu )?devices?(?: were| was)? found|no xpus?(?: were| was)? found", re.IGNORECASE)
NOTE = "Kunlunxin has no count of its own to compare with, PCI stands beside it; no driver is asked for slicing"


def query_log(text, what):
    """xpu-smi -q: blocks below `XPU 00000000:01:00.0`, otherwise as nvidia-smi prints them."""
    text = re.sub(r"(?m)^XPU +(?=[0-9A-Fa-f]{4,8}:)", "GPU ", text)
    log = vendor_smi.text_log(re.sub(r"(?m)^Attached XPUs", "Attached GPUs", text), what)
    for card in log.cards:
        running = card.get("processes")
        if running == "None":
            card["running"] = "0"
        elif any(path.startswith("processes/") for path in card):
            card["running"] = str(sum(path.startswith("processes/") and path.endswith("process_id") for path in card) or "?")
    return log


def _read(tool, pci):
    """(log or None, why not, whether it is another vendor's tool)."""
    text, failed = tool.ask("-q", seconds=30)
    log = query_log(text or "", "xpu-smi -q")
    log.problems += tool.exited
    said = "%s %s" % (text or "", failed)
    if log.fits and OURS.search(text):
        return log, "", False
    if tool.final:
        return None, failed, False
    table, table_failed = tool.ask(seconds=30)
    told = "%s %s %s" % (said, table or "", table_failed)
    log = smi_table.parse(table or "", "xpu-smi")
    log.problems += tool.exited
    if log.fits and OURS.search(table):
        smi_table.unconfirmed(log, pci, "xpu-smi")
        if not log.cards:
            log.problems.append("xpu-smi: no card in its table")
        return log, "", False
    if OTHERS.search(told):
        return None, "%s: this is Intel's tool of that name" % tool.name, True
    if NONE.search(told):
        return vendor_smi.Log(), "", False
    return None, failed or table_failed or "xpu-smi -q: not understood: %s" % vendor_tool.words(text or ""), False


def collect(host, pci=None):
    """The section accelerators.kunlunxin of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown."""
    node = vendor_smi.Node(host, MANUFACTURER, pci, "kunlun", r"xpu(?:\d+|ctrl)")
    tool = vendor_tool.Tool(host, "xpu-smi")
    log, failed, foreign = _read(tool, node.pci)
    if foreign or tool.missing:
        older = vendor_tool.Tool(host, "xpu_smi")  # R200, R300
        older.sources = tool.sources
        log, why_not, _foreign = _read(older, node.pci)
        older.missing = older.missing or _foreign
        failed = "; ".join(filter(None, (failed, why_not))) if log is None else ""
        tool = older
    top = log.top if log is not None else {}

    def complete(told, _card, _index):
        told.update(NOT_TOLD)
        told["links"] = not_applicable("xpu-smi does not tell the state of the links")
        told["fabric"] = told["partition"] = not_applicable("not told by xpu-smi")
        told["ecc"]["sram_threshold_exceeded"] = not_applicable("xpu-smi does not tell it")
        told["power_w"]["limit_default"] = not_applicable("xpu-smi does not tell it")
        for key in ("memory", "limit_core", "limit_memory", "margin_core"):
            told["temperature_c"][key] = not_applicable("xpu-smi does not tell it")
        told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value)}
        told["firmware"] = {key: value for key, value in told["firmware"].items() if is_known(value)}
        minor = told["extra"].get("minor")  # the number of the node is not the index
        told["nodes"] = ["/dev/" + name for name in node.nodes if name == "xpu%s" % minor]

    devices = node.devices(log, SPEC, "xpu-smi", complete) if log is not None else []
    version, runtime = (vendor_smi.value_of("t", top.get(key), "xpu-smi: %s" % key) for key in ("driver_version", "xpu_rt_version"))
    driver = {
        "version": version if is_known(version) or not is_known(node.module_version) else node.module_version,
        "library_version": not_applicable("xpu-smi does not tell it"),
        "tool_version": not_applicable("xpu-smi does not tell it"),
        "runtime": "XPU-RT",
        "runtime_version": runtime,  # the table and -q number it differently
    }
    return node.section(tool, devices, log, failed, driver, [NOTE])
