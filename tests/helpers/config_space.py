# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration spaces of PCI functions, made of what they should say; and nodes of such functions as recordings."""

from __future__ import annotations

import base64
import re

DEVICES = "/sys/bus/pci/devices"
SPEED = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
TYPES = {"endpoint": 0, "root_port": 4, "upstream_port": 5, "downstream_port": 6}
ACS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
NO_ERRORS = {"correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n", "nonfatal": "UnsupReq 0\nTOTAL_ERR_NONFATAL 0\n", "fatal": "DLP 0\nTOTAL_ERR_FATAL 0\n"}


def space(kind="endpoint", now=(16, 32), most=(16, 32), payload=256, read=512, acs=None, size=4096, vendor=0x10DE):
    """acs: names of the controls that are on, None for a function without the capability. A capability stands before the PCI Express one."""
    content = bytearray(4096)

    def put(at, value, size=2):
        content[at : at + size] = value.to_bytes(size, "little")

    put(0, vendor)
    put(6, 0x10)
    content[0x34] = 0x40
    put(0x40, 0x6001)
    put(0x60, 0x0010)
    put(0x62, 2 | TYPES[kind] << 4)
    put(0x68, (payload // 128).bit_length() - 1 << 5 | (read // 128).bit_length() - 1 << 12)
    put(0x6C, SPEED[most[1]] | most[0] << 4, 4)
    put(0x72, SPEED.get(now[1], 0) | now[0] << 4)
    put(0x100, 0x0001 | 1 << 16 | (0x230 << 20 if acs is not None else 0), 4)
    if acs is not None:
        put(0x230, 0x000D | 1 << 16, 4)
        put(0x234, 0x5F)
        put(0x236, sum(1 << ACS.index(name) for name in acs))
    return bytes(content[:size])


def of_lspci(block):
    """The space that `lspci -vvv` printed these lines of, as far as a path asks for it."""

    def numbers(pattern):
        found = re.search(pattern, block)
        return found.groups() if found else (0, 0)

    speed, width = numbers(r"LnkCap:.*?Speed ([\d.]+)GT/s, Width x(\d+)")
    current, lanes = numbers(r"LnkSta:\s+Speed ([\d.]+|unknown)(?:GT/s)?(?: \(\w+\))?, Width x(\d+)")
    payload, read = numbers(r"DevCtl:(?:.*\n){1,3}?\s+MaxPayload (\d+) bytes, MaxReadReq (\d+)")
    control = re.search(r"ACSCtl:\s*(.*)", block)
    kind = (
        "root_port"
        if "Root Port" in block
        else "upstream_port"
        if "Upstream Port" in block
        else "downstream_port"
        if "Downstream Port" in block
        else "endpoint"
    )
    acs = [word[:-1] for word in control.group(1).split() if word.endswith("+")] if control else None
    now = (int(lanes), 0 if current == "unknown" else float(current))
    return space(kind, now, (int(width), float(speed) or 2.5), int(payload) or 128, int(read) or 128, acs)


def add(files, path, config=None, numa=0, iommu=None, resource=None, resize=None, errors=None, class_links=(), physfn=None):
    """One function. path: root bus, ports, address. class_links: "/sys/class/infiniband/mlx5_0", ..."""
    base = "%s/%s" % (DEVICES, path[-1])
    files[base] = {"link": "../../../devices/" + "/".join(path)}
    base = "/sys/devices/" + "/".join(path)
    files[base + "/config"] = {"base64": base64.b64encode(space() if config is None else config).decode()}
    files[base + "/numa_node"] = "%d\n" % numa
    files[base + "/physfn"] = {"link": "../" + physfn} if physfn else {"absent": True}
    files[base + "/iommu_group"] = {"absent": True}
    if iommu:
        files[base + "/iommu_group"] = {"link": "../../../kernel/iommu_groups/%d" % iommu[0]}
        files["/sys/kernel/iommu_groups/%d/type" % iommu[0]] = iommu[1] + "\n"
    size = resource or 128 << 30
    files[base + "/resource"] = "0x00000000fb000000 0x00000000fbffffff 0x0000000000040200\n0x%016x 0x%016x 0x000000000014220c\n" % (
        1 << 44,
        (1 << 44) + size - 1,
    )
    files[base + "/resource1_resize"] = "%016x\n" % resize if resize else {"absent": True}
    for kind, text in dict(NO_ERRORS, **(errors or {})).items():
        files["%s/aer_dev_%s" % (base, kind)] = text
    for link in class_links:
        files[link] = {"link": "../../devices/%s/%s/%s" % ("/".join(path), link.split("/")[3], link.rsplit("/", 1)[1])}


def whole(files):
    """The same with the listings that a path asks for."""
    for directory in ("/sys/class/infiniband", "/sys/class/net", "/sys/class/nvme"):
        names = sorted(path.rsplit("/", 1)[1] for path in files if path.startswith(directory + "/"))
        files[directory] = {"dir": names}
    files.setdefault("/sys/devices/system/node", {"dir": ["node0", "node1", "online"]})
    return files
