# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ppu-smi outputs in their shapes, with values of our own, and recordings made of them."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import thead

ADDRESSES = ["0000:%02x:00.0" % (0x0A + 16 * n) for n in range(8)]
EDGE = "+---------------------------------+------------------------+----------------------+"
TOP = "+" + "-" * 81 + "+"
CARD = {
    "Product Name": "PPU-ZW810E", "Product Architecture": "PPU001", "Persistence Mode": "Enabled", "MIG Mode": {"Current": "Disabled", "Pending": "Disabled"},
    "Serial Number": "03AA11BB22CC33DD", "PPU UUID": "PPU-{index:08x}-aaaa-bbbb-cccc-00000000d1ce", "Minor Number": "{index}", "Rear ID": "0",
    "PPU Recovery Action": "None", "VBIOS Version": "2.1.7",
    "PCI": {
        "Bus": "0x0A", "Device Id": "0x60011DED", "Bus Id": "{address}",
        "PPU Link Info": {"PCIe Generation": {"Max": "5", "Current": "5"}, "Link Width": {"Max": "16x", "Current": "16x"}, "Replays Since Reset": "N/A"},
    },
    "Fan Speed": "N/A",
    "Clocks": {"CU": "200 MHz", "Memory": "1800 MHz", "Video": "1000 MHz"},
    "Applications Clocks": {"CU": "1700 MHz", "Memory": "1800 MHz"}, "Default Applications Clocks": {"CU": "1700 MHz", "Memory": "1800 MHz"},
    "Max Clocks": {"CU": "1700 MHz", "Memory": "1800 MHz", "Video": "1000 MHz"},
    "Clocks Throttle Reasons": {
        "Idle": "Active", "SW Power Cap": "Not Active",
        "HW Slowdown": "Not Active", "HW Thermal Slowdown": "Not Active", "HW Power Brake Slowdown": "Not Active", "SW Thermal Slowdown": "Not Active",
    },
    "Xid Errors": {"PPU Reset Correctable": "N/A", "OS Reboot Correctable": "N/A", "Cold Reboot Correctable": "N/A"},
    "Fabric": {"State": "Completed", "Status": "Success", "CliqueId": "0", "ClusterUUID": "00000000-1111-0000-0000-000000000000"},
    "Memory Usage": {"Total": "98304 MiB", "Used": "2 MiB", "Free": "98302 MiB"},
    "Utilization": {"Ppu": "1 %", "Memory": "0 %"},
    "Ecc Mode": {"Current": "Enabled", "Pending": "Enabled"},
    "ECC Errors": {
        "Volatile": {"SRAM Correctable": "0", "SRAM Uncorrectable": "0", "DRAM Correctable": "1", "DRAM Uncorrectable": "0"},
        "Aggregate": {"SRAM Correctable": "0", "SRAM Uncorrectable": "0", "DRAM Correctable": "7", "DRAM Uncorrectable": "2"},
    },
    "Retired Pages": {"Single Bit ECC": "0", "Double Bit ECC": "0", "Pending Page Blacklist": "No"},
    "Remapped Rows": {"Correctable Error": "1", "Uncorrectable Error": "0", "Pending": "No", "Remapping Failure Occurred": "No"},
    "Temperature": {
        "PPU Current Temp": "33 C", "PPU Shutdown Temp": "97 C", "PPU Slowdown Temp": "94 C", "PPU Max Operating Temp": "88 C",
        "Memory Current Temp": "35 C", "Memory Max Operating Temp": "96 C",
    },
    "Power Readings": {"Power Draw": "81.25 W", "Power Limit": "400.00 W", "Default Power Limit": "400.00 W", "Enforced Power Limit": "390.00 W"},
    "Processes": "None",
}  # fmt: skip


def lines(values, depth=1):
    text = ""
    for key, value in values.items():
        head = "    " * depth + key
        text += head + "\n" + lines(value, depth + 1) if isinstance(value, dict) else "%-44s: %s\n" % (head, value)
    return text


def log(numbers, attached=None, top="", **changes):
    numbers = list(numbers)
    text = "\n==============PPUSMI LOG==============\n\n%-44s: Mon Nov 30 09:00:00 2026\n" % "Timestamp"
    text += "".join("%-44s: %s\n" % pair for pair in (("Driver Version", "2.1.4-aa11bb"), ("HGGC Version", "13.1"), ("SDK Version", "2.1.4-123456")))
    text += "%s\n%-44s: %d\n" % (top, "Attached PPUs", len(numbers) if attached is None else attached)
    for n in numbers:
        card = {key: value for key, value in dict(CARD, **{key.replace("_", " "): value for key, value in changes.items()}).items() if value is not None}
        text += "PPU 0000%s\n%s" % (ADDRESSES[n].upper(), lines(card).replace("{index:08x}", "%08x" % n).replace("{index}", str(n)))
    return text


def table(cards, processes=(), instances=()):
    """cards: [dict(index=…)]; instances: (ppu, gi, ci, device, used, total, errors)"""
    text = "Mon Nov 30 09:00:00 2026\n%s\n| PPU-SMI 1.30          Driver Version: 2.1.4-aa11bb  HGGC Version: N/A           |\n%s\n" % (TOP, EDGE)
    text += "| PPU  Name        Persistence M. | Bus-Id                 | Volatile Uncorr. ECC |\n"
    text += "| Fan  Temp  Perf   Pwr:Usage/Cap | Memory-Usage           | PPU-Util  Compute M. |\n"
    text += "|                                 |                        |               MIG M. |\n%s\n" % EDGE.replace("-", "=")
    for card in cards:
        card = dict({"bus": "0000" + ADDRESSES[card["index"]].upper(), "errors": "0", "mig": "Disabled"}, **card)
        text += "| {index}  PPU-ZW810E        N/A        | {bus}       |                    {errors} |\n".format(**card)
        text += "| N/A  26C   N/A       57W / 400W | 2MiB / 98304MiB        |   3%        Default  |\n"
        text += "|                                 |                        |             {mig} |\n".format(**card) + EDGE + "\n"
    if instances:
        edge = "+------------------+---------------------+----------+-------------------------+\n"
        text += "\n%s\n| MIG devices:                                                                    |\n%s" % (TOP, edge)
        text += "| PPU  GI  CI  MIG |        Memory-Usage |      Vol |         Shared          |\n"
        text += "|      ID  ID  DEV |                     |  CU  Unc | CpyEng ENC DEC OFA JPEG |\n" + edge.replace("-", "=")
        for ppu, gi, ci, device, used, total, errors in instances:
            text += "|  %d   %d   %d    %d  |   %dMiB / %dMiB |  64    %s |   4     2   2   0   0   |\n%s" % (ppu, gi, ci, device, used, total, errors, edge)
    text += "\n%s\n| Processes:                                                                      |\n" % TOP
    text += "| PPU    GI   CI   PID      Type  Process name                         PPU Memory |\n"
    text += "|        ID   ID                                                       Usage      |\n%s\n" % TOP.replace("-", "=")
    text += "".join("| %d      N/A  N/A  %d   C     worker                                    48MiB |\n" % pair for pair in processes)
    return text + ("" if processes else "| No running processes found                                                      |\n") + TOP + "\n"


def links(numbers, inactive=(1, 2)):
    text = ""
    for n in numbers:
        text += "PPU %d: PPU (UUID: GPU-%08x-0)\n" % (n, n) + "".join("    Link %d: %s\n" % (k, "<inactive>" if k in inactive else "50 GB/s") for k in range(7))
    return text


VERSIONS = "Driver Version                              : 2.1.4-aa11bb\nHGGC Version                                : 13.1\n"
VERSIONS += "HGGC Driver Version                         : 1.9\nppu-smi Version                             : 1.30\n"
VERSIONS += "HGML Version                                : 12.4\n"


def commands_of(numbers=range(4), **changes):
    commands = {"-q": log(numbers), "-q -d VERSION": VERSIONS, "icn -s": links(numbers)}
    return dict(commands, **changes)


def read(commands, files=None, pci=()):
    entries = []
    for words, said in commands.items():
        for one in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": ["ppu-smi", *words.split()]}, **({"stdout": one} if isinstance(one, str) else one)))
    nodes = {"/dev": {"dir": ["null", "alixpu", "alixpu_ctl"] + ["alixpu_ppu%d" % n for n in range(4)]}, "/sys/bus/pci/devices": {"dir": []}}
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "node": "n", "recorded": "2026-11-30T09:00:00Z", "host": {}, "commands": entries}
    return thead.collect(ReplayHost(dict(recorded, files=dict(nodes, **(files or {})))), list(pci) if isinstance(pci, tuple) else pci)


def on_bus(numbers, driver="alixpu"):
    link = {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
    return [{"address": ADDRESSES[n], "driver": driver, "numa_node": n // 2, "pcie": dict(link), "upstream": dict(link)} for n in numbers]
