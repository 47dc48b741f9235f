# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mx-smi outputs in their shapes, with values of our own, and recordings made of them."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import metax

ADDRESSES = ["0000:%02x:00.0" % (0x11 + 16 * n) for n in range(8)]
EDGE, MIDDLE = "+" + "-" * 81 + "+", "|------------------+-----------------+---------------------+----------------------|"
LOG = "=================== MetaX System Management Interface Log ===================\n"
COMBINED = " ".join(metax.QUESTIONS)
NODES = {"/dev": {"dir": ["null", "mxcd", "mxnd", "mxgd", "dri"]}, "/sys/bus/pci/devices": {"dir": []}}


def table(cards, brand=("mx-smi", "MX-SMI", "MACA"), old=False, processes=(), attached=None):
    """cards: [dict(index=…, state=…)]"""
    text = "%s  version: 2.3.7\n\n%sTimestamp : Mon Nov 30 09:00:00 2026\n\n" % (brand[0], LOG)
    text += "Attached GPUs                                     : %d\n%s\n" % (len(cards) if attached is None else attached, EDGE)
    text += "| %s 2.3.7                       Kernel Mode Driver Version: 3.9.4            |\n" % brand[1]
    text += "| %s Version: 3.8.0.9              BIOS Version: 1.34.2.0                      |\n%s\n" % (brand[2], MIDDLE)
    if old:
        text += "| GPU         NAME                   | Bus-id              | GPU-Util             |\n"
        text += "| Temp        Pwr:Usage/Cap          | Memory-Usage        | GPU-State            |\n"
    else:
        text += "| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |\n"
        text += "| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |\n"
    text += "|==================+=================+=====================+======================|\n"
    for card in cards:
        card = dict({"name": "MetaX C500", "bdf": ADDRESSES[card["index"]], "state": "Available", "mode": "Disabled", "power": "61W / 350W"}, **card)
        if old:
            text += "| {index}           {name}             | {bdf}        | 3%                   |\n".format(**card)
            text += "| 41C         {power}             | 900/65536 MiB       | {state}            |\n".format(**card)
        else:
            text += "| {index}     {name} | {index}            On | {bdf}        | 3%           {mode} |\n".format(**card)
            text += "| {power}       | 41C          P0 | 900/65536 MiB       | {state}            |\n".format(**card)
        text += EDGE + "\n"
    text += "\n%s\n| Process:                                                                        |\n" % EDGE
    text += "|  GPU                    PID         Process Name                 GPU Memory     |\n%s\n" % EDGE.replace("-", "=").replace("+", "|")
    text += "".join("|  %d                   %d         python a b                   512            |\n" % pair for pair in processes)
    return text + ("" if processes else "|  no process found                                                               |\n") + EDGE + "\n\nEnd of Log\n"


def listing(numbers, gone=(), slices=()):
    text = "mx-smi  version: 2.3.7\n"
    for n in numbers:
        state = "Not Available(MetaX Sysfs File Unaccessible)" if n in gone else "Available (UUID: GPU-%08x-aaaa-bbbb-cccc-00000000d1ce)" % (n + 1)
        text += "GPU#%d    MXC500      %s   %s\n" % (n, ADDRESSES[n], state)
        text += "".join("  SGPU#%d   30%% 12.5gb   Available (UUID: GPU-51ce0000-0000-0000-0000-%012x) sgpu-77\n" % (s, s) for s in slices if n not in gone)
    return text


def document(numbers, **changes):
    cards = {}
    for n in numbers:
        cards[ADDRESSES[n]] = dict(
            {
                "device_id": n, "vbios_version": "1.34.2.0", "unavailable_reason": "", "hotspot": "41.250", "utilization": 3,
                "ras_status": {"PCIE register0": "0xd000"}, "ras_count": {"uncorrected_error": {}, "corrected_error": {}},
                "pci_event_info": {"aer_ue": [], "aer_ce": [], "dbe": []}, "sgpu_count": 0, "sgpu_info": [],
            },
            **changes,
        )  # fmt: skip
    top = {"timestamp": "Mon Nov 30 09:00:00 2026", "smi_version": "2.3.7", "maca_version": "3.8.0.9", "driver_version": "3.9.4", "attached_gpus": len(cards)}
    return "mx-smi  version: 2.3.7\n" + json.dumps(dict(top, **cards), indent=4) + "\n"


def log(numbers, sections):
    text = "mx-smi  version: 2.3.7\n\n%sAttached GPUs                                     : %d\n" % (LOG, len(numbers))
    for n in numbers:
        text += "GPU#%d  MXC500  %s\n" % (n, ADDRESSES[n])
        for heading, lines in sections.items():
            text += "    %s\n" % heading + "".join("\t%-42s: %s \n" % item for item in lines.items())
        text += "\n"
    return text + "End of Log\n"


REASONS = dict.fromkeys(("Idle", "Over Power", "Chip Over Temperature", "VR Over Temperature", "Hbm Over Temperature"), "Not Active")
REASONS.update(dict.fromkeys(("Thermal Over Temperature", "Power Brake", "Didt", "Other"), "Not Active"))
SECTIONS = {
    "ECC Errors": {"SRAM Correctable": "0"},
    "Retired Pages": {"Double Bit ECC": "0"},
    "Board Power": {"Way 0": " 30.5 W", "Total": " 61.25 W", "Limit": "350.000 W"},
    "Xcore Clocks Throttle Reason": REASONS,
    "Ecc state": {"state": "Enable"},
    "Hardware Info": {"Model Name": "MetaX C500", "Chip Name": "MXC500", "Board Serial Number": "QZZZ1234", "Memory Type": "HBM2e"},
    "Chip Temperature": {"hotspot(sensor2)": " 41.25 C"},
    "Version": {"MACA": "3.8.0.9", "BIOS": "1.34.2.0", "KMD": "3.9.4", "SMP0": "1.34.2.0", "CCX0": "1.33.9.0"},
}


def topology(numbers, link=lambda a, b: "MX" if a // 4 == b // 4 else "NODE"):
    text = LOG + "Device link type matrix\n        " + "".join("GPU%-5d" % n for n in numbers) + "NIC0    Node Affinity  CPU Affinity\n"
    for n in numbers:
        text += "GPU%d    " % n + "".join("%-8s" % ("X" if n == m else link(n, m)) for m in numbers) + "PIX     %d              0-31\n" % (n // 4)
    return text + "NIC0    " + "PIX     " * len(numbers) + "X\n\nLegend:\n  X    = Self\n  MX   = Connection traversing MetaXLink\n"


def commands_of(numbers=range(8), **changes):
    numbers = list(numbers)
    commands = {"": table([{"index": n} for n in numbers]), "-L": listing(numbers), "-j": document(numbers), COMBINED: log(numbers, SECTIONS)}
    return dict(commands, **{"topo -m": topology(numbers)}, **changes)


def read(commands, files=None, pci=(), program="mx-smi"):
    entries = []
    for words, said in commands.items():
        for one in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": [program, *words.split()]}, **({"stdout": one} if isinstance(one, str) else one)))
    entries.append({"argv": ["ht-smi" if program == "mx-smi" else "mx-smi"], "missing": True})
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "node": "n", "recorded": "2026-11-30T09:00:00Z", "host": {}, "commands": entries}
    return metax.collect(ReplayHost(dict(recorded, files=dict(NODES, **(files or {})))), list(pci) if isinstance(pci, tuple) else pci)


def on_bus(numbers):
    link = {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
    return [{"address": ADDRESSES[n], "driver": "metax", "numa_node": n // 4, "pcie": dict(link), "upstream": dict(link)} for n in numbers]
