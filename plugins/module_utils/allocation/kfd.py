# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents of the KFD topology (AMD, Hygon): the same numbers that HSA tells, without loading its library.

Names of the properties: the kernel's kfd_topology.c; what HSA makes of them: ROCR-Runtime, amd_gpu_agent.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.grants import Refused, identifier
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import whole

NODES = "/sys/class/kfd/kfd/topology/nodes/*/properties"


def agents(machine):
    """([properties], "") or (None, why not)."""

    def read():
        paths = machine.host.glob(NODES)
        if not paths.ok:
            return None, paths.reason
        found, reason = [], ""
        for path in paths.value[:512]:
            answer = machine.host.read_text(path)
            reason = reason or ("" if answer.ok else answer.reason)
            pairs = (line.split() for line in answer.value.splitlines()) if answer.ok else ()
            values = {pair[0]: whole(pair[1]) for pair in pairs if len(pair) == 2 and whole(pair[1]) is not None}
            if values.get("simd_count"):
                found.append(values)
        return (found, reason) if found or not reason else (None, reason)

    return machine.once("kfd", read)


_ADDRESS = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([01][0-9a-f])\.([0-7])\Z")


def _location(address):
    """(domain, bus << 8 | device << 3 | function), (None, None) where it is no address."""
    found = _ADDRESS.match(address)
    domain, bus, slot, function = (int(part, 16) for part in found.groups()) if found else (None, 0, 0, 0)
    return domain, bus << 8 | slot << 3 | function if found else None


def of(machine, device):
    """Agents of a card, those of its partitions in order: by PCI address, else by unique id. Raises Refused."""
    found, reason = agents(machine)
    if found is None:
        raise Refused("KFD topology: %s" % reason)
    address, unique = identifier(device, "pci"), identifier(device).lower()
    mine = []
    if address:
        domain, location = _location(address)
        # the kernel keeps the number of the partition in the upper four bits
        mine = [a for a in found if a.get("location_id", -1) & 0xFFFFFFF == location and a.get("domain", 0) == domain]
        mine.sort(key=lambda a: a["location_id"])
    if not mine and unique:
        mine = [a for a in found if a.get("unique_id") and unique.endswith("%x" % a["unique_id"])]
    if not mine:
        raise Refused("KFD has no agent for it%s" % (" (%s)" % reason if reason else ""))
    return mine


def units(agent):
    per = agent.get("simd_per_cu", 0)
    return agent["simd_count"] // per if per else 0


def target(agent):
    number = agent.get("gfx_target_version", 0)
    return "gfx%d%x%x" % (number // 10000, number // 100 % 100, number % 100) if number else ""


def atom(agent):
    """Compute units that can only be given out together; raises Refused where the geometry is not consistent."""
    name, count = target(agent), units(agent)
    if count <= 0:
        raise Refused("%s reports no compute units" % (name or "the agent"))
    if name.startswith("gfx9"):
        size = agent.get("num_xcc", 0)
        if size <= 0:
            raise Refused("%s reports no XCC count" % name)
    elif name.startswith(("gfx10", "gfx11", "gfx12")):
        per = agent.get("simd_arrays_per_engine", 0)
        engines = agent.get("array_count", 0) // per if per else 0
        if engines <= 0 or count % 2 or engines > count // 2:
            raise Refused("%s: %d compute units and %d shader engines do not fit" % (name, count, engines))
        size = 2 * engines
    else:
        raise Refused("family not known: %s" % (name or "no gfx target told"))
    if count % size:
        raise Refused("%s: %d compute units are no multiple of %d" % (name, count, size))
    return size


def window(agent, percent):
    """Compute units of a share: rounded to compute units or their pairs, then down to the atom. 0: less than the card can serve."""
    size, count = atom(agent), units(agent)
    unit = 1 if target(agent).startswith("gfx9") else 2
    return (count // unit * percent * 2 + 100) // 200 * unit // size * size


def smallest(agent):
    """The smallest percentage that the card can serve."""
    return next(percent for percent in range(1, 101) if window(agent, percent))
