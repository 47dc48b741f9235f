# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD by the files of KFD (kernel: uapi kfd_sysfs.h), where no tool lists a card that the driver has."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_rocm
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

NODES = "/sys/class/kfd/kfd/topology/nodes/"


def _words(answer):
    return dict(line.split()[:2] for line in answer.value.splitlines() if len(line.split()) > 1) if answer.ok else {}


def _nodes(host):
    """Answer of {card's address without function: [KFD node numbers]}; one node per partition."""
    answer, found = host.listdir(NODES[:-1]), {}
    for name in sorted((n for n in answer.value if re.match(r"\d{1,5}\Z", n)), key=int) if answer.ok else ():
        text = host.read_text("%s%s/properties" % (NODES, name))
        if not text.ok:
            return text
        units, domain, place = (smi.amount(_words(text).get(k), k) for k in ("simd_count", "domain", "location_id"))
        if all(isinstance(v, int) for v in (units, domain, place)) and units > 0:
            # bits 31:28 of the location hold the partition
            found.setdefault("%04x:%02x:%02x" % (domain, place >> 8 & 255, place >> 3 & 31), []).append(int(name))
    answer.value = found if answer.ok else None
    return answer


def sysfs(host, addresses):
    reading, topology = smi.Reading(), _nodes(host)
    reading.sources.append({"source": NODES[:-1], "status": topology.status, "seconds": 0.0, "detail": "" if topology.ok else topology.reason})
    for address in addresses:
        row = amd_rocm.attributes(host, address)
        same = topology.value.get(address[:-2], []) if topology.ok else []
        for part, node in enumerate(same or [unknown("KFD has no node for it" if topology.ok else topology.reason)]):
            one = row if not part else {"name": row["name"], "bdf": address, "unique_id": row["unique_id"], "extra": {}}
            one.update(index=len(reading.rows), partition_id=part)
            one["extra"]["kfd_node"] = node
            bank = _words(host.read_text("%s%d/mem_banks/0/properties" % (NODES, node))) if len(same) > 1 else {}
            # heap types 1 and 2 are the device's own memory
            one["partition_memory_mib"] = smi.KINDS["memory"](bank.get("size_in_bytes") if bank.get("heap_type") in ("1", "2") else None, "memory bank")
            reading.rows.append(one)
    return reading
