# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hy-smi outputs in the shapes of its versions, with values of our own, and recordings made of them."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

ALL = "-a --showmeminfo vram --showtoponuma --json"
HEALTH = "--healthcheck"
RULE = "=" * 96
ADDRESSES = ["0000:%02x:00.0" % (0x09 + 16 * n) for n in range(8)]


def card(n, unit="HCU", **changes):
    values = {
        "Card Series": "K100_AI", "Card Vendor": "Chengdu C-3000 IC Design Co., Ltd.", "PCI Bus": ADDRESSES[n % 8].upper(), "Serial Number": "TX1S%06d" % n,
        "Unique ID": "71%014d" % n, "VBIOS version": "55.30", "SMC firmware version": "1.2.3", "Performance Level": "auto",
        "Temperature (Sensor edge) (C)": "44.0", "Temperature (Sensor junction) (C)": "52.0", "Temperature (Sensor mem) (C)": "49.0",
        "Average Graphics Package Power (W)": "118.0", "Max Graphics Package Power (W)": "400.0", "Available memory size (MiB)": "65301",
        unit + " use (%)": "0.0", unit + " memory use (%)": "0", "vram Total Memory (MiB)": "65520", "vram Total Used Memory (MiB)": "3",
        "(Topology) Numa Node": str(n // 4), "": "",
    }  # fmt: skip
    values.update(changes)
    return {key: value for key, value in values.items() if value is not None}


def cards(count, first=0, unit="HCU", **changes):
    return json.dumps(dict({"card%d" % (first + n): card(n, unit, **changes) for n in range(count)}, system={"Driver Version": "6.3.11-V1.10.1"}))


def table(count, unit="HCU", mode="Normal", perf="auto", **columns):
    heads = [unit, "Temp", "AvgPwr", "Perf", "PwrCap", "VRAM%", unit + "%", *columns, "Mode"]
    rows = [[str(n), "%d.0C" % (51 + n), "117.0W", perf, "400.0W", "2%", "0.0%", *columns.values(), mode] for n in range(count)]
    lines = ["", "=== System Management Interface ===", RULE, *("     ".join(row) for row in [heads, *rows]), RULE, "=== End of SMI Log ==="]
    return "\n".join(lines)


def health(count, word="Healthy"):
    head = "=== System Management Interface ===\n" + RULE + "\n"
    return head + "".join("HCU[%d]          : Bus Id : %s         : %s\n" % (n, ADDRESSES[n], word) for n in range(count)) + RULE + "\n=== End of SMI Log ===\n"


def good(count=2, **changes):
    return dict({ALL: cards(count), "": table(count), HEALTH: health(count)}, **changes)


def host(commands, files=None, program="hy-smi", absent=()):
    every = {"/dev": {"dir": ["null"]}, "/sys/bus/pci/devices": {"dir": []}, "/sys/module": {"dir": []}, "/opt": {"dir": []}, "/etc": {"dir": []}}
    every.update(files or {})
    entries = [{"argv": [name, *ALL.split()], "missing": True} for name in absent]
    for words, said in commands.items():
        for answer in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": [program, *words.split()]}, **(answer if isinstance(answer, dict) else {"stdout": answer})))
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries})


def on_bus(addresses, model="K100_AI"):
    link = {"width_current": 16, "width_max": 16, "speed_current_gts": 16.0, "speed_max_gts": 16.0}
    entry = {"manufacturer": "hygon", "role": "accelerator", "class": "0x060000", "model": model, "numa_node": 0}
    return [dict(entry, address=a, pcie=dict(link), upstream=dict(link, speed_max_gts=32.0)) for a in addresses]


def read(commands, files=None, pci=None):
    return hygon.collect(host(commands, files), pci)


def verdict(section):
    detection = section["detection"]
    return detection["state"], detection["accelerators"] if is_known(detection["accelerators"]) else "?"
