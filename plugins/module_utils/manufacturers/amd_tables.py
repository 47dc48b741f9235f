# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What amd-smi (ROCm 7) and rocm-smi print for people, in the words of their JSON, asked only where that told no card; and firmware by debugfs."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi as smi

_HEAD = re.compile(r"AMD-SMI +(\S+) +amdgpu version: *(\S+) +ROCm version: *(\S+)")
_CARD = re.compile(r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) +(\S.*)\Z")
_FIRST = re.compile(r"(?:N/A|[\d.]+ %) +(N/A|[\d.]+ \S{0,2}C) +(\S+) +(?:N/A|([\d.]+|N/A)/([\d.]+|N/A) W)\Z")
_SECOND = re.compile(r"(N/A|[\d.]+ %) +(?:N/A|[\d.]+(?: %)?) +(?:N/A|(\d+|N/A)/(\d+|N/A) MB)\Z")
_PLACE = re.compile(r"(\d{1,5}) +\S+ +(\S+) +(\S+)\Z")
_PROCESS = re.compile(r"(\d{1,5}) +(\d{1,10}) +(\S.*?) +(?:N/A|[\d.]+ [KMGT]?B) ")
_LINE = re.compile(r"GPU\[(\d{1,5})\]\s*: *(\S.*?):(?:\s+(.*))?\Z")
_CONCISE = re.compile(
    r"(\d{1,5})\s+(\S.*?\s+)?([\d.]+|N/A)(?:\S?[cC])?\s+([\d.]+W|N/A)\s+(\S.*?\s+)?(\S+[Mm]hz|None|N/A)\s+(\S+[Mm]hz|None|N/A)\s+\S+\s+([a-z_/]+)\s+(\S+)"
    r"\s+\S+\s+(\S+?)%?\s*\Z"
)


def _unit(number, unit):
    return {"value": number, "unit": unit} if number else "N/A"


def default_view(text):
    """({word of amd-smi: values as of its JSON}, what is missing or ""). The cards stand in two lines each; a rule of + closes them."""
    head, vbios, part, half, problem, trees = _HEAD.search(text), re.search(r"\| VBIOS version: *(\S+)", text), "", None, "", []
    running = None
    for line in (line.strip() for line in text.splitlines()):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("+"):
            part = "closed" if part == "cards" else part
        elif cells[0].startswith("BDF "):
            part = "cards"
        elif cells[0].startswith("Processes:"):
            part = "processes"
        elif part == "cards" and len(cells) == 2 and not cells[0].startswith(("GPU ", "-", "=")):
            if half is None:
                half = (_CARD.match(cells[0]), _FIRST.match(cells[1]))
                problem = problem or ("" if all(half) else "not understood: %.60r" % line)
                continue
            trees.append(_card(half, _PLACE.match(cells[0]), _SECOND.match(cells[1])) if all(half) else None)
            problem = problem or ("" if trees[-1] else "not understood: %.60r" % line)
            half = None
        elif part == "processes":
            process = _PROCESS.match(cells[0])
            if process:
                running = dict(running or {})
                running[int(process.group(1))] = [*running.get(int(process.group(1)), ()), process.group(3)]
            elif "No running processes" in cells[0]:
                running = {}
    problem = problem or ("half of a card" if half is not None else "")
    trees = [tree for tree in trees if tree]
    if not trees:
        return {}, problem
    for tree in trees:
        tree["static"]["driver"] = {"version": head.group(2) if head else "N/A"}
        tree["static"]["ifwi"] = {"version": vbios.group(1) if vbios else "N/A"}
        infos = [{"process_info": {"name": name}} for name in (running or {}).get(tree["list"]["gpu"], ())]
        tree["process"] = {"gpu": tree["list"]["gpu"], "process_list": infos or [{"process_info": "No running processes detected"}]}
    words = ("list", "static", "metric") + (("process",) if running is not None else ())
    told = {word: [[tree[word] for tree in trees]] for word in words}
    if head:
        told["version"] = [[{"version": head.group(1), "rocm_version": head.group(3)}]]
    return told, problem or ("" if part in ("closed", "processes") else "the table has no end")


def _card(half, place, second):
    if not place or not second:
        return None
    (card, first), index = half, int(place.group(1))
    compute, slash, memory = place.group(3).replace("N/A", "").partition("/")
    heat, uncorrected, draw, cap = first.groups()
    static = {
        "gpu": index, "bus": {"bdf": card.group(1)}, "asic": {"market_name": card.group(2), "oam_id": place.group(2)},
        "limit": {"socket_power": _unit(cap, "W")}, "vram": {"size": _unit(second.group(3), "MB")},
        "partition": {"accelerator_partition": compute, "memory_partition": memory} if slash else "N/A",
    }  # fmt: skip
    metric = {
        "gpu": index, "temperature": {"hotspot": heat.split()[0]}, "ecc": {"total_uncorrectable_count": uncorrected},
        "power": {"socket_power": _unit(draw, "W")},
        "usage": {"gfx_activity": second.group(1).split()[0]}, "mem_usage": {"used_vram": _unit(second.group(2), "MB")},
    }  # fmt: skip
    return {"list": {"gpu": index, "bdf": card.group(1)}, "static": static, "metric": metric}


def rocm(text):
    """({number: {key in small letters: value}}, the system's, what is missing or ""): `GPU[0] : key: value`, and the rows of the concise view."""
    cards, last, head = {}, None, text.split("End of ROCm SMI Log")[0]
    sensor = "junction" if "(Junction)" in text else "edge"
    for line in head.splitlines():
        said, row = _LINE.match(line.strip()), _CONCISE.match(line)
        if said:
            key, card = said.group(2).strip().lower(), cards.setdefault(int(said.group(1)), {})
            card.setdefault(key, (said.group(3) or "N/A").strip())
            if key.endswith(" clock level"):
                card.setdefault(key[:-5] + "speed:", card[key])  # as the JSON names it
        elif row:
            number, ids, heat, draw, modes, core, memory, level, cap, use = row.groups()
            last = cards.setdefault(int(number), {})
            modes = [mode.strip() for mode in (modes or "").split(",")]
            last.update({
                "temperature (sensor %s) (c)" % sensor: heat, "average graphics package power (w)": draw.rstrip("W"), "sclk clock speed:": core,
                "mclk clock speed:": memory, "performance level": level, "max graphics package power (w)": cap.rstrip("W"), "gpu use (%)": use,
            })  # fmt: skip
            if len(modes) > 1:
                last.update({"memory partition": modes[0], "compute partition": modes[1]})
            named = re.match(r"(\d{1,5})\s+(0x[0-9a-f]{4}|N/A),", ids or "")  # in brackets stand the ids of the subsystem instead
            if named:
                last.update({"node id": named.group(1), "device id": named.group(2)})
        elif last is not None and re.match(r"\s{4,}\S", line):
            last.setdefault("card series", line.strip())
        else:
            last = None
    driver = re.search(r"(?m)^Driver version: *(\S.*?)\s*$", head)
    cut = "" if "End of ROCm SMI Log" in text else "the log has no end"
    return cards, {"Driver version": driver.group(1)} if driver else {}, cut if cards else ""


def fill(host, reading, tables):
    """Where static tells nothing, what the table that amd-smi prints by itself tells of each word."""
    answer = reading.ask(host, ["amd-smi"], 30)
    if not answer.ok or "GPU-Name" not in answer.stdout:
        return
    told, cut = default_view(answer.stdout)
    for word, values in told.items():
        tables[word] = tables[word] or values
    if told:
        reading.note = "%s; its default view was read" % reading.failed
    reading.cut = reading.cut or ("amd-smi: %s" % cut if cut else "")


def read(host, reading):
    """What rocm-smi prints where it knows no JSON: (cards, system) of all, else of its concise view."""
    for words in (["-a"], []):
        answer = reading.ask(host, ["rocm-smi", *words], 40)
        cards, system, cut = rocm(answer.stdout) if answer.ok else ({}, {}, "")
        if cards:
            reading.note = "%s; the text of %s was read" % (reading.failed, answer.subject)
            reading.failed = "%s: %s" % (answer.subject, cut) if cut else ""
            for card in cards.values():
                card.setdefault("pci bus", _address(host, card.get("node id")))
            return cards, system
    return {}, {}


def _address(host, node):
    """Where KFD says that its node is (uapi kfd_sysfs.h): bits 31:28 of the location hold the partition, which has the function of that number."""
    text = host.read_text("/sys/class/kfd/kfd/topology/nodes/%s/properties" % node) if re.match(r"\d{1,5}\Z", str(node)) else None
    found = dict(re.findall(r"(?m)^(domain|location_id) (\d{1,10})$", text.value)) if text is not None and text.ok else {}
    if len(found) < 2:
        return "N/A"
    place = int(found["location_id"])
    return "%04x:%02x:%02x.%x" % (int(found["domain"]), place >> 8 & 255, place >> 3 & 31, place >> 28 & 7 or place & 7)


def firmware(host, minor):
    """{part: version} of the firmware in a card: the driver tells root in debugfs (amdgpu_kms.c: amdgpu_debugfs_firmware_info)."""
    answer = host.read_text("/sys/kernel/debug/dri/%s/amdgpu_firmware_info" % minor)
    line = r"(?m)^(\w[\w ]{0,40}) feature version: \w+(?:, program: \d+)?, firmware version: (0x[0-9a-f]{1,8})\b"
    lines = re.findall(line, answer.value) if answer.ok else []
    return {part.lower().replace(" ", "_"): smi.firmware(version, part) for part, version in lines}
