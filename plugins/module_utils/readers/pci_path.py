# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths from accelerators, network adapters and NVMe drives up to their root port, from sysfs and configuration space alone.

Registers: PCI Express Base Specification, chapter 7 (Linux include/uapi/linux/pci_regs.h). Files: Linux Documentation/ABI/testing/sysfs-bus-pci.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown

DEVICES = "/sys/bus/pci/devices"
ACCELERATOR = "accelerator"
# a class of the kernel -> kind; its links tell the whole path at once
CLASSES = (("/sys/class/infiniband", "rdma"), ("/sys/class/net", "network"), ("/sys/class/nvme", "nvme"))
LARGEST_CLASS = 1024  # names looked at; a node of many containers has a network interface for each
NOT_ROOT = "configuration space beyond 64 bytes is told to root only"
ACS = ("source_validation", "translation_blocking", "request_redirect", "completion_redirect", "upstream_forwarding", "egress_control", "direct_translated")

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_TYPES = {0: "endpoint", 1: "endpoint", 4: "root_port", 5: "upstream_port", 6: "downstream_port", 7: "bridge", 8: "bridge", 9: "integrated"}
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_LINK = ("width_current", "width_max", "speed_current_gts", "speed_max_gts")
_MIB = 1 << 20


def registers(space):
    """What a configuration space tells: {} where it is cut off before its PCI Express capability, None where the function does not answer."""

    def word(at, size=2):
        return int.from_bytes(space[at : at + size], "little")

    if len(space) < 64 or space[:2] == b"\xff\xff":
        return None
    at, steps = (space[0x34] & 0xFC) if word(6) & 0x10 else 0, 0
    while at and at + 2 <= len(space) and space[at] != 0x10 and steps < 48:
        at, steps = space[at + 1] & 0xFC, steps + 1
    if not at or at + 0x3C > len(space) or space[at] != 0x10:
        return {}
    control, can, now = word(at + 8), word(at + 0x0C, 4), word(at + 0x12)
    values = (now >> 4 & 63, can >> 4 & 63, _SPEEDS.get(now & 15), _SPEEDS.get(can & 15))
    told = {key: value or unknown("no link" if "current" in key else "the function names none") for key, value in zip(_LINK, values)}
    settings = told["settings"] = {
        "type": _TYPES.get(word(at + 2) >> 4 & 15, "other"),
        "max_payload_bytes": 128 << (control >> 5 & 7),
        "max_read_request_bytes": 128 << (control >> 12 & 7),
        "acs": not_applicable("no access control services") if len(space) > 0x104 else unknown(NOT_ROOT),
    }
    at, steps = 0x100, 0
    while at and at + 8 <= len(space) and steps < 96:
        header = word(at, 4)
        if header & 0xFFFF == 0x0D:
            settings["acs"] = [name for bit, name in enumerate(ACS) if word(at + 6) >> bit & 1]
            break
        at, steps = header >> 20 & 0xFFC, steps + 1
    return told


def _errors(host, base):
    """AER's counters since boot: what is not zero, by kind. The line TOTAL_* sums the others."""
    found = {}
    for kind in ("correctable", "nonfatal", "fatal"):
        answer = host.read_text("%s/aer_dev_%s" % (base, kind))
        if answer.status == ABSENT:
            return not_applicable("no advanced error reporting")
        if not answer.ok:
            return unknown(answer.reason)
        lines = re.findall(r"^(\w{1,40}) +(\d{1,18})$", answer.value, re.MULTILINE)
        if not lines:
            return unknown("%s: not understood: %.60r" % (answer.subject, answer.value))
        found[kind] = {name: int(count) for name, count in lines if int(count) and not name.startswith("TOTAL_")}
    return found


def function(host, address):
    """What is told of one function on a path."""
    base = "%s/%s" % (DEVICES, address)
    answer = host.read_bytes(base + "/config", 4096)
    told = registers(answer.value) if answer.ok else {}
    missing = answer.reason if not answer.ok else "no answer: its configuration space reads all ones" if told is None else NOT_ROOT
    if not told:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci

        told = dict(pci.link(host, address), settings=unknown(missing))
    return dict(told, aer=_errors(host, base))


def _bar(host, address):
    """The largest memory region, and how large it could be made."""
    base = "%s/%s" % (DEVICES, address)
    answer = host.read_text(base + "/resource")
    regions = []
    for number, line in enumerate(answer.value.splitlines()[:6] if answer.ok else ()):
        found = re.match(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16})\Z", line.strip())
        if found:
            start, end, flags = (int(text, 16) for text in found.groups())
            if flags & 0x200 and end > start:
                regions.append((end - start + 1, number))
    if not regions:
        reason = unknown(answer.reason if not answer.ok else "%s: no memory region" % answer.subject)
        return {"largest_mib": reason, "resizable_to_mib": reason}
    size, number = max(regions)
    offered = host.read_line("%s/resource%d_resize" % (base, number))
    if offered.status == ABSENT:
        most = not_applicable("no resizable BAR")
    else:
        most = from_answer(offered, lambda text: 1 << int(re.findall(r"^[0-9a-f]{1,16}\Z", text)[0], 16).bit_length() - 1)
    return {"largest_mib": size // _MIB, "resizable_to_mib": most}


def _numa(text):
    node = int(text)
    return node if node >= 0 else unknown("the firmware names no NUMA node (%d)" % node)


def _iommu(host, address):
    answer = host.readlink("%s/%s/iommu_group" % (DEVICES, address))
    if answer.status == ABSENT:
        return {"group": not_applicable("no IOMMU group"), "type": not_applicable("no IOMMU group")}
    group = from_answer(answer, lambda target: int(target.rsplit("/", 1)[-1]))
    return {"group": group, "type": from_answer(host.read_line("/sys/kernel/iommu_groups/%d/type" % group)) if is_known(group) else group}


def _split(target):
    """(root bus, ports from the root down, the function) of a sysfs link, None where it leads to no function on PCI."""
    parts = [part for part in target.split("/") if part not in ("", ".", "..")]
    ports = [part for part in parts if _ADDRESS.match(part)]
    root = next((part for part in parts if part.startswith("pci")), "")
    return (root, ports[:-1], ports[-1]) if ports else None


def _end(host, kind, name, place):
    root, ports, address = place
    base = "%s/%s" % (DEVICES, address)
    end = {"id": name, "kind": kind, "address": address, "root": root, "ports": ports, "numa_node": from_answer(host.read_line(base + "/numa_node"), _numa)}
    if kind != "nvme":
        end.update(iommu=_iommu(host, address))
    if kind == ACCELERATOR:
        end["bar"] = _bar(host, address)
    return end


def ends(host, accelerators):
    """([end], [why a part is not known]). accelerators: id -> address."""
    found, problems, places = [], [], set()
    for name, address in accelerators.items():
        answer = host.readlink("%s/%s" % (DEVICES, address))
        place = _split(answer.value) if answer.ok else None
        if place is None or place[2] != address:
            problems.append("%s: %s" % (name, answer.reason if not answer.ok else "unexpected link %.80r" % answer.value))
            continue
        found.append(_end(host, ACCELERATOR, name, place))
        places.add(address)
    for directory, kind in CLASSES:
        listing = host.listdir(directory)
        if not listing.ok:
            problems += [] if listing.status == ABSENT else [listing.reason]
            continue
        if len(listing.value) > LARGEST_CLASS:
            problems.append("%s: %d names, the first %d were looked at" % (directory, len(listing.value), LARGEST_CLASS))
        for name in sorted(listing.value)[:LARGEST_CLASS]:
            answer = host.readlink("%s/%s" % (directory, name))
            place = _split(answer.value) if answer.ok else None
            if place is None or place[2] in places:
                continue
            places.add(place[2])
            virtual = host.readlink("%s/%s/physfn" % (DEVICES, place[2]))
            if not virtual.ok:  # the link of a virtual function is that of its physical one
                found.append(_end(host, kind, name, place))
    return found, problems


def level(one, other, single):
    """How two ends are connected, in the words of the vendors' tools. single: the machine has one NUMA node."""
    if one["address"] == other["address"]:
        return "X"
    above, beside = one["ports"], other["ports"]
    common = 0
    while common < min(len(above), len(beside)) and above[common] == beside[common]:
        common += 1
    if common:
        return "PIX" if max(len(above), len(beside)) - common <= 1 else "PXB"
    if one["root"] == other["root"]:
        return "PHB"
    nodes = [end["numa_node"] for end in (one, other)]
    if not all(map(is_known, nodes)):
        return "NODE" if single else "?"
    return "NODE" if nodes[0] == nodes[1] else "SYS"


def read(host, accelerators):
    """{ends, functions, matrix, problems}: the matrix of accelerators and RDMA adapters; NVMe drives and other adapters have a path only."""
    found, problems = ends(host, accelerators)
    functions = {}
    for end in found:
        for address in end["ports"] + [end["address"]]:
            if address not in functions:
                functions[address] = function(host, address)
    named = [end for end in found if end["kind"] in (ACCELERATOR, "rdma")]
    nodes = host.listdir("/sys/devices/system/node")
    single = nodes.ok and len([name for name in nodes.value if re.match(r"node\d+\Z", name)]) < 2
    levels = [[level(one, other, single) for other in named] for one in named]
    return {"ends": found, "functions": functions, "matrix": {"ids": [end["id"] for end in named], "levels": levels}, "problems": problems}
