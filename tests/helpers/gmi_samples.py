# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ixsmi and mthreads-gmi outputs in their shapes, with values of our own, and recordings made of them."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar, mthreads

VENDORS = {"iluvatar": ("1e3e", "0002", "120000"), "mthreads": ("1ed5", "0323", "030200")}
MODULES = {"iluvatar": "iluvatar", "mthreads": "mtgpu"}
PROGRAMS = {"iluvatar": "ixsmi", "mthreads": "mthreads-gmi"}


def address(position):
    return "0000:%02x:00.0" % (0x20 + 4 * position)


def bus(manufacturer, count, audio=False, width=16):
    """Files of /sys for so many cards, each with an audio function if wanted."""
    vendor, device, pci_class = VENDORS[manufacturer]
    files, names = {}, []
    for position in range(count):
        functions = [(address(position), device, pci_class)]
        if audio:
            functions.append((address(position)[:-1] + "1", "03ff", "040300"))
        for name, number, kind in functions:
            names.append(name)
            base = "/sys/bus/pci/devices/" + name
            files[base] = {"link": "../../../devices/pci0000:00/0000:00:%02x.0/%s" % (position + 1, name)}
            real = "/sys/devices/pci0000:00/0000:00:%02x.0" % (position + 1)
            files.update({"%s/%s/%s" % (real, name, key): value + "\n" for key, value in {
                "vendor": "0x" + vendor, "device": "0x" + number, "class": "0x" + kind, "subsystem_vendor": "0x" + vendor, "subsystem_device": "0x0001",
                "revision": "0x01", "numa_node": str(position // 4), "current_link_width": str(width), "max_link_width": "16",
                "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe",
            }.items()})  # fmt: skip
            files["%s/%s/driver" % (real, name)] = {"link": "../../../bus/pci/drivers/" + MODULES[manufacturer]}
            files["%s/%s/physfn" % (real, name)] = {"absent": True}
            files["%s/%s/drm" % (real, name)] = {"dir": ["card%d" % position, "renderD%d" % (128 + position)]}
            files.update({real + "/current_link_width": "16\n", real + "/max_link_width": "16\n", real + "/current_link_speed": "16.0 GT/s PCIe\n"})
            files[real + "/max_link_speed"] = "16.0 GT/s PCIe\n"
    files["/sys/bus/pci/devices"] = {"dir": names}
    return files


def read(manufacturer, commands, files=None, nodes=(), module=None, iommu=("dmar0",)):
    """commands: {"-q -j": text or entry}; commands that are not given answer as a tool that does not know them."""
    every = {"/dev": {"dir": list(nodes)}, "/sys/bus/pci/devices": {"dir": []}, "/sys/class/iommu": {"dir": list(iommu)}}
    every.update({"/sys/module": {"dir": [MODULES[manufacturer]] if module else []}, "/usr/local": {"dir": []}})
    if module:
        every["/sys/module/%s/version" % MODULES[manufacturer]] = module + "\n"
        every["/sys/module/%s" % MODULES[manufacturer]] = {"dir": ["version"]}
    every.update(files or {})
    entries = []
    for words, said in commands.items():
        entry = {"argv": [PROGRAMS[manufacturer], *words.split()]}
        entry.update(said if isinstance(said, dict) else {"stdout": said})
        if manufacturer == "iluvatar":
            entry["env"] = iluvatar.ENVIRONMENT
        entries.append(entry)
    document = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries}
    return {"iluvatar": iluvatar, "mthreads": mthreads}[manufacturer].collect(ReplayHost(document))


def everywhere(manufacturer, entry):
    """Every command answered the same way."""
    query = "--query-gpu=%s --format=csv" % ",".join(iluvatar.ASKED)
    words = ("-q -x", query, "", "ixlink -s") if manufacturer == "iluvatar" else ("-q -j", "-q", "", "mtlink -s")
    return dict.fromkeys(words, entry)


def ixsmi_xml(cards, attached=None, driver="4.4.1"):
    """cards: dicts of changes to a good card; a value None leaves the element out."""
    lines = ['<?xml version="1.0" ?>', "<ixsmi_log>", "\t<driver_version>%s</driver_version>" % driver, "\t<cuda_version>10.2</cuda_version>"]
    lines.append("\t<attached_gpus>%s</attached_gpus>" % (len(cards) if attached is None else attached))
    for position, changes in enumerate(cards):
        card = {
            "product_name": "Iluvatar MR-V100", "serial": "2411000%05d" % position, "uuid": "GPU-3f0e%04d-1111-5222-8333-944455556666" % position,
            "minor_number": str(position + 3), "vbios_version": "2.1.4", "total": "32768 MiB", "used": "412 MiB", "gpu_util": "7 %", "gpu_temp": "41 C",
            "memory_temp": "44 C", "gpu_power_draw": "63 W", "current_gpu_power_limit": "150 W", "current_link_gen": "4", "max_link_gen": "4",
            "current_link_width": "16x", "max_link_width": "16x", "current_ecc": "Enabled", "single_bit": "0", "double_bit": "0", "pids": 1,
        }  # fmt: skip
        card.update(changes)
        groups = {
            "memory_usage": ("total", "used"), "utilization": ("gpu_util",), "temperature": ("gpu_temp", "memory_temp"), "ecc_mode": ("current_ecc",),
            "power_readings": ("gpu_power_draw", "board_power_draw", "current_gpu_power_limit"), "ecc_errors": ("single_bit", "double_bit"),
            "pcie_gen": ("current_link_gen", "max_link_gen"), "link_widths": ("current_link_width", "max_link_width"),
        }  # fmt: skip
        inner = {name for names in groups.values() for name in names} | {"pids"}
        lines.append('\t<gpu id="%s">' % card.pop("id", "0000" + address(position).upper()))
        lines += ["\t\t<%s>%s</%s>" % (name, text, name) for name, text in card.items() if name not in inner and text is not None]
        for group, names in groups.items():
            lines.append("\t\t<%s>" % group)
            lines += ["\t\t\t<%s>%s</%s>" % (name, card[name], name) for name in names if card.get(name) is not None]
            lines.append("\t\t</%s>" % group)
        lines += [
            "\t\t<processes>",
            *["\t\t\t<process_info><pid>%d</pid></process_info>" % (700 + n) for n in range(card["pids"])],
            "\t\t</processes>",
            "\t</gpu>",
        ]
    return "\n".join([*lines, "</ixsmi_log>", ""])


def ixsmi_table(cards, end=True, library="4.4.0", driver="4.4.0"):
    """cards: (name, temperature, power, used, total)."""
    rule = "+----------------------------------+----------------------+----------------------+"
    lines = ["Timestamp    Fri Nov 27 10:11:12 2026", "+" + "-" * 80 + "+"]
    lines.append("|  IX-ML: %s            Driver Version: %s          CUDA Version: 10.2     |" % (library, driver))
    lines += ["|" + rule[1:-1] + "|", "| GPU  Name                        | Bus-Id               | Clock-SM  Clock-Mem  |"]
    lines += ["| Fan  Temp  Perf    Pwr:Usage/Cap |      Memory-Usage    | GPU-Util  Compute M. |", "|" + rule[1:-1].replace("-", "=") + "|"]
    for position, (name, heat, power, used, total) in enumerate(cards):
        lines.append("| %-4d %-28s| %-21s| 1400MHz   1600MHz    |" % (position, name, "0000" + address(position).upper()))
        lines.append("| N/A  %-5s P0    %14s | %s / %s     | 3%%        Default    |" % (heat, power, used, total))
        lines.append(rule)
    if end:
        lines += [
            "",
            "|  Processes:                                                          GPU Memory |",
            "|  GPU        PID      Process name                                   Usage(MiB) |",
        ]
        lines += ["|" + "=" * 80 + "|", "|    0       4242      python3                                        380         |", "+" + "-" * 80 + "+"]
    return "\n".join(lines) + "\n"


def gmi_card(position, **changes):
    """One entry of mthreads-gmi -q -j. changes: by group and name, "FB Memory Usage/Total"."""
    card = {
        "Index": str(position), "Product Name": "MTT S4000", "Product Brand": "MTT", "GPU UUID": "7c1d%04d-aaaa-1bbb-2ccc-3ddd4eee5fff" % position,
        "Serial Number": "MY2ZZ%07d" % position, "DeviceType": "Physical", "MPC Capable": "YES", "MTBios Version": "3.5.2",
        "PCI": {
            "Bus": "0x%02X" % (0x20 + 4 * position), "Device": "0x00", "Bus ID": "0000" + address(position),
            "Slot ID(Name)": "%d(SLOT%d)" % (position, position),
            "GPU Link Info": {"PCIe Generation": {"Max": "5", "Current": "5"}, "Link Width": {"Max": "16x", "Current": "16x"}},
        },
        "FB Memory Spec": {"Type": "GDDR6"}, "FB Memory Usage": {"Total": "49152MiB", "Used": "104MiB", "Free": "49048MiB"},
        "Utilization": {"Gpu": "3%", "Memory": "0%"}, "Temperature": {"GPU Current Temp": "44C"},
        "Power Readings": {"Power Draw ": "101.52W", "Current Power Limit": "450.00W"}, "Ecc Mode": {"Current": "N/A", "Pending": "N/A"},
        "Retired Pages": {"Single Bit ECC": "N/A", "Double Bit ECC": "N/A", "Pending Page Blacklist": "N/A"}, "Performance State": "P0",
        "Thermal Slowdown Stats": {"Count": "0"},
    }  # fmt: skip
    for place, value in changes.items():
        *groups, name = place.split("/")
        inner = card
        for group in groups:
            inner = inner[group]
        if value is None:
            inner.pop(name)
        else:
            inner[name] = value
    return card


def gmi_json(cards, attached=None):
    document = {"Timestamp": "Fri Nov 27 10:11:12 2026", "Driver Version": "3.3.1-server", "Attached GPUs": str(len(cards) if attached is None else attached)}
    return json.dumps(dict(document, GPU=cards), indent=4) + "\n"


def gmi_text(cards, attached=None):
    lines = [
        "Timestamp   : Fri Nov 27 10:11:12 2026",
        "Driver Version   :  3.3.1-server",
        "Attached GPUs   :  %s" % (len(cards) if attached is None else attached),
        "",
    ]

    def block(value, depth):
        for name, inner in value.items():
            if isinstance(inner, dict):
                lines.append("    " * depth + name)
                block(inner, depth + 1)
            else:
                lines.append("%-50s:  %s" % ("    " * depth + name, inner))

    for card in cards:
        lines.append("GPU%s %s" % (card["Index"], card["PCI"]["Bus ID"]))
        block({name: value for name, value in card.items() if name != "Index"}, 1)
    return "\n".join(lines) + "\n"


def gmi_table(cards, end=True):
    """cards: (name, lanes, memory, temperature, ECC mode)."""
    rule = "-" * 69
    lines = ["Fri Nov 27 10:11:12 2026", rule, "    mthreads-gmi:2.2.0           Driver Version:3.3.1-server", rule]
    lines += ["ID   Name                 |PCIe                |%GPU  Mem", "     Device Type   Perf   |Pcie Lane Width     |Temp  MPC Capable"]
    lines += [" " * 47 + "|      ECC Mode", "+" + "-" * 67 + "+"]
    for position, (name, lanes, memory, heat, mode) in enumerate(cards):
        lines.append("%-5d%-21s|%-20s|2%%    %s" % (position, name, "0000" + address(position), memory))
        lines += ["     Physical      P0     |%-20s|%-6sYES" % (lanes, heat), " " * 47 + "|      " + mode, "+" + "-" * 67 + "+"]
    if end:
        lines += [
            rule,
            "",
            rule,
            "Processes:",
            "ID   PID           Process name                           GPU Memory",
            " " * 63 + "Usage",
            "+" + "-" * 67 + "+",
        ]
        lines += ["0    990           /opt/app/run                               70MiB", rule]
    return "\n".join(lines) + "\n"


def garble(text, chance):
    """The text with a few letters changed, lost, repeated or cut off; chance: random.Random."""
    letters = list(text)
    for _unused in range(chance.randint(1, 12)):
        at = chance.randrange(len(letters))
        what = chance.randint(0, 3)
        if what == 0:
            letters[at] = chance.choice("\x00<>/|{}[]:,\"' \n9aé")
        elif what == 1:
            del letters[at : at + chance.randint(1, 60)]
        elif what == 2:
            letters[at:at] = letters[chance.randrange(len(letters)) :][: chance.randint(1, 40)]
        else:
            del letters[max(at, 1) :]
        letters = letters or ["?"]
    return "".join(letters)
