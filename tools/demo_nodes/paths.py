# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the paths of a demo node ask: configuration spaces, error counters, memory regions, the vendor's matrix."""

from __future__ import annotations

import base64
import json

DEVICES = "/sys/bus/pci/devices"
ACCELERATORS = ("0x030200", "0x120000")
ADAPTER, DRIVE = "0x020700", "0x010802"
_SPEED = {"16.0 GT/s": 4, "32.0 GT/s": 5}
_TYPE = {"endpoint": 0, "root": 4, "up": 5, "down": 6}
_AER = {"correctable": "TOTAL_ERR_COR 0\n", "nonfatal": "TOTAL_ERR_NONFATAL 0\n", "fatal": "TOTAL_ERR_FATAL 0\n"}


def _space(kind, link):
    """Only what is read: the PCI Express capability at 0x40 and access control services, all off, of a port."""
    now, most, speed, top = link
    space = bytearray(0x108)

    def put(at, value, size=2):
        space[at : at + size] = value.to_bytes(size, "little")

    put(0, 0x8086)
    put(6, 0x10)
    put(0x34, 0x40, 1)
    put(0x40, 0x10)
    put(0x42, 2 | _TYPE[kind] << 4)
    put(0x48, 0x5020 | 0x900)
    put(0x4C, _SPEED[top] | most << 4, 4)
    put(0x52, _SPEED[speed] | now << 4)
    put(0x100, 0x0001000D if kind in ("root", "down") else 0x00010001, 4)
    return base64.b64encode(bytes(space)).decode()


def add(node):
    classes = {address: node.files["%s/%s/class" % (DEVICES, address)].strip() for address in node.places}
    ends = [address for address in node.places if classes[address] in (*ACCELERATORS, ADAPTER, DRIVE)]
    for end in ends:
        path, _link = node.places[end]
        for position, address in enumerate(path[1:]):
            kind = "endpoint" if address == end else "root" if position == 0 else "down" if position % 2 == 0 else "up"
            base = "%s/%s" % (DEVICES, address)
            link = node.places.get(address, (None, None))[1] or (16, 16, "32.0 GT/s", "32.0 GT/s")
            node.files[base + "/config"] = {"base64": _space(kind, link)}
            node.files.update({"%s/aer_dev_%s" % (base, kind): text for kind, text in _AER.items()})
        base = "%s/%s" % (DEVICES, end)
        number = ends.index(end) + 40
        node.files[base + "/iommu_group"] = {"link": "../../../kernel/iommu_groups/%d" % number}
        node.lines("/sys/kernel/iommu_groups/%d" % number, type="identity")
        if classes[end] in ACCELERATORS:
            first, size = 0x200000000000 + number * (1 << 40), node.bar_gib << 30
            node.files[base + "/resource"] = "0x%016x 0x%016x 0x000000000014220c\n" % (first, first + size - 1)
            node.files[base + "/resource0_resize"] = {"absent": True}
    adapters = [address for address in ends if classes[address] == ADAPTER]
    for number, address in enumerate(adapters):
        node.files["/sys/class/infiniband/mlx5_%d" % number] = {"link": "../../devices/%s/infiniband/mlx5_%d" % ("/".join(node.places[address][0]), number)}
    node.files.setdefault("/sys/class/infiniband", {"dir": ["mlx5_%d" % number for number in range(len(adapters))]})
    nodes = sorted({path.split("/")[5] for path in node.files if path.startswith("/sys/devices/system/node/node")})
    node.files.setdefault("/sys/devices/system/node", {"dir": [*nodes, "has_cpu", "online"]})


def nvidia(cards, links, numa, nics=0):
    """`nvidia-smi topo -m`. numa: cards of one NUMA node; each card has the adapter of its number below its switch."""
    labels = ["GPU%d" % n for n in range(cards)] + ["NIC%d" % n for n in range(nics)]
    lines = ["\t%s\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID" % "\t".join(labels)]
    for row, label in enumerate(labels):
        cells = []
        for column in range(len(labels)):
            one, other = row % cards, column % cards
            near = "PIX" if one == other else "NODE" if one // numa == other // numa else "SYS"
            cells.append(" X " if row == column else links if max(row, column) < cards else near)
        tail = "\t%s\t%d\t\tN/A" % ("0-51,104-155" if row // numa == 0 else "52-103,156-207", row // numa) if row < cards else ""
        lines.append("%s\t%s%s" % (label, "\t".join(cells), tail))
    legend = "".join("\n  NIC%d: mlx5_%d" % (n, n) for n in range(nics))
    return "\n".join(lines) + "\n\nLegend:\n\n  X    = Self\n" + ("\nNIC Legend:\n%s\n" % legend if nics else "")


def amd(addresses):
    """`amd-smi topology --json`: every pair over xGMI, one hop."""
    own = {"weight": 0, "link_status": "ENABLED", "link_type": "SELF", "num_hops": 0, "bandwidth": "N/A"}
    peer = {"weight": 15, "link_status": "ENABLED", "link_type": "XGMI", "num_hops": 1, "bandwidth": "N/A"}
    listed = list(enumerate(addresses))
    rows = [{"gpu": n, "bdf": bdf, "links": [{"gpu": m, "bdf": other, **(own if m == n else peer)} for m, other in listed]} for n, bdf in listed]
    return json.dumps(rows) + "\n"
