# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cnmon outputs in their shapes, with values of our own, and recordings made of them."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

EDGE = "+-------------------------------+----------------------+-----------------------+"
TOP = "+" + "-" * 78 + "+"
ADDRESSES = ["0000:%02x:00.0" % (0x1A + 16 * n) for n in range(8)]


def table(cards, old=False, processes=(), name="MLU370-X8", tool="v5.10.29"):
    """cards: [dict(index=…, ecc=…, …)]."""
    heads = ("Inited        Driver", "vMemory-Usage") if old else ("Bus-Id", "SR-IOV   Compute-Mode")
    lines = ["Mon Nov 30 08:12:44 2026", TOP, "| %-60s %15s |" % ("CNMON " + tool, "" if old else "Driver v5.10.22"), EDGE]
    lines += ["| Card  VF  Name       Firmware | %20s | Util        Ecc-Error |" % heads[0]]
    lines += ["| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | %21s |" % heads[1], EDGE.replace("-", "=")]
    for card in cards:
        card = dict({"vf": "/", "name": name, "use": "3%", "ecc": "0", "temp": "44C", "draw": "81 W", "cap": "250 W"}, **card)
        card = dict({"used": "512 MiB", "total": "20638 MiB", "modes": "N/A           Default", "middle": ADDRESSES[card["index"] % 8].upper()}, **card)
        if old:
            card.update(middle="On          v4.20.9", modes="10240 MiB/1048576 MiB")
        lines.append("| {index}     {vf}   {name}    v1.1.9 |         {middle} | {use}                {ecc} |".format(**card))
        lines.append("|  0%   {temp}        {draw}/ {cap} |   {used}/ {total} | {modes} |".format(**card))
        lines.append(EDGE)
    lines += ["", TOP, "| Processes:                                                                   |"]
    lines += ["|  Card  MI  PID     Command Line                             MLU Memory Usage |", TOP.replace("-", "=")]
    lines += ["|  %d     /   %d   python serve.py        512 MiB |" % pair for pair in processes] or ["|  No running processes found       |"]
    return "\n".join([*lines, TOP, ""])


def info(numbers, health=("Good", "Running"), **more):
    text = "================CNMON v5.10.29================\n"
    for n in numbers:
        text += "Card %d\n    Product Name                   : MLU370-X8\n    UUID                           : 2a%06d-0000-0000-0000-00000000c0de\n" % (n, n)
        text += (
            "    Serial Number                  : 5020%08d\n    Firmware                       : v1.1.9\n    Driver                         : v5.10.22\n" % n
        )
        text += "    PCI                            :\n        Domain ID : 0000\n        Bus : %02x\n        Device : 00\n        Function : 0\n" % (
            0x1A + 16 * n
        )
        text += "    Utilization                    :\n        MLU Average                : 3 %\n"
        text += "    Temperature                    :\n        Board                      : 37 C\n        Chip                       : 44 C\n"
        text += "    Physical Memory Usage          :\n        Total                      : 20638 MiB\n        Used                       : 512 MiB\n"
        text += "    Power                          :\n        Usage                      : 81.5 W\n        Cap                        : 250 W\n"
        if health:
            text += "    Health                         :\n        Device                     : %s\n        Driver                     : %s\n" % health
        for section, lines in more.items():
            text += "    %s :\n" % section.replace("_", " ") + "".join("        %-26s : %s\n" % item for item in lines.items())
    return text


def host(commands, files=None):
    every = {"/dev": {"dir": ["null"]}, "/sys/bus/pci/devices": {"dir": []}, "/sys/module": {"dir": ["ext4"]}, "/usr/local": {"dir": []}}
    every.update(files or {})
    entries = []
    for words, said in commands.items():
        for answer in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": ["cnmon", *words.split()]}, **(answer if isinstance(answer, dict) else {"stdout": answer})))
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries})


def on_bus(addresses, width=16):
    pcie = {"width_current": width, "width_max": 16, "speed_current_gts": 16.0, "speed_max_gts": 16.0}
    port = {"address": "0000:00:01.0", "width_current": width, "width_max": 16, "speed_current_gts": 16.0, "speed_max_gts": 32.0}
    return [{"address": a, "manufacturer": "cambricon", "role": "accelerator", "numa_node": 1, "pcie": dict(pcie), "upstream": dict(port)} for a in addresses]


def read(commands, files=None, pci=None):
    return cambricon.collect(host(commands, files), pci)


def verdict(section):
    detection = section["detection"]
    return detection["state"], detection["accelerators"] if is_known(detection["accelerators"]) else "?"


def two(**card):
    return {"info": info([0, 1]), "": table([dict(card, index=0), {"index": 1}])}
