# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processors and NUMA nodes, from /proc/cpuinfo and /sys/devices/system/{cpu,node} (Documentation/ABI/stable/sysfs-devices-node)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown, why

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"

# Arm processors name themselves by implementer and part only: util-linux sys-utils/lscpu-arm.c.
_ARM = {
    "0x41 0xd0c": "Arm Neoverse-N1",
    "0x41 0xd40": "Arm Neoverse-V1",
    "0x41 0xd49": "Arm Neoverse-N2",
    "0x41 0xd4f": "Arm Neoverse-V2",
    "0x41 0xd84": "Arm Neoverse-V3",
    "0x41 0xd85": "Arm Cortex-X925",
    "0x48 0xd01": "HiSilicon TaiShan-v110 (Kunpeng 920)",
    "0x48 0xd02": "HiSilicon TaiShan-v120",
    "0xc0 0xac3": "Ampere-1",
    "0xc0 0xac4": "Ampere-1a",
}
_LIST = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?(?::\d+/\d+)?\Z")


def parse_list(text):
    """ "0-2,8" -> [0, 1, 2, 8]; ValueError when it is no such list."""
    numbers = []
    for part in text.strip().split(","):
        if not part and not numbers and "," not in text:
            return []
        found = _LIST.match(part.strip())
        if not found:
            raise ValueError(text)
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first or last - first > 65536:
            raise ValueError(text)
        numbers.extend(range(first, last + 1))
    return numbers


def fields(cpuinfo):
    """Fields of the first processor, then of the whole machine (POWER puts its own after a blank line)."""
    first, rest, blank = {}, {}, False
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        key = key.strip().lower()
        if not colon:
            blank = blank or bool(first)
        elif not blank:
            first.setdefault(key, value.strip())
        elif key != "processor":
            rest.setdefault(key, value.strip())
    return dict(rest, **first)


def model(found):
    for key in ("model name", "cpu model", "cpu"):
        if found.get(key):
            return " ".join(found[key].split())
    part = "%s %s" % (found.get("cpu implementer"), found.get("cpu part"))
    if "None" not in part:
        return _ARM.get(part.lower(), "Arm processor %s" % part)
    return unknown("/proc/cpuinfo: no model name")


def _siblings(host, cpu, *names):
    """First of several files (older kernels use other names) as a list of processors."""
    answer = None
    for name in names:
        answer = host.read_text("%s/cpu%d/topology/%s" % (CPU, cpu, name), 65536)
        if answer.status != ABSENT:
            break
    return from_answer(answer, parse_list)


def _groups(host, online, names):
    """Disjoint groups of the online processors by one topology file; one read per group. Unknown when a file disagrees."""
    left, groups = set(online), []
    while left:
        cpu = min(left)
        members = _siblings(host, cpu, *names)
        if not is_known(members):
            return members
        members = left & set(members)
        if cpu not in members:
            return unknown("%s/cpu%d/topology/%s does not hold the processor itself" % (CPU, cpu, names[0]))
        groups.append(sorted(members))
        left -= members
    return groups


def topology(host):
    """{threads, sockets, cores}."""
    online = from_answer(host.read_text(CPU + "/online", 65536), parse_list)
    if not is_known(online):
        return {"threads": online, "sockets": online, "cores": online}
    packages = _groups(host, online, ("package_cpus_list", "core_siblings_list"))
    threads = ("core_cpus_list", "thread_siblings_list")
    facts = {"threads": len(online), "sockets": len(packages) if is_known(packages) else packages}
    if not is_known(packages):
        facts["cores"] = unknown(why(packages))
        return facts
    # Two probes a package instead of one read a core: first and last core alike means all alike on a server processor.
    sizes = set()
    for members in packages:
        for cpu in (members[0], members[-1]):
            core = _siblings(host, cpu, *threads)
            if not is_known(core):
                facts["cores"] = core
                return facts
            sizes.add(len(set(core) & set(online)))
    if len(sizes) == 1 and 0 not in sizes and not len(online) % min(sizes):
        facts["cores"] = len(online) // sizes.pop()
    else:
        cores = _groups(host, online, threads)
        facts["cores"] = len(cores) if is_known(cores) else cores
    return facts


def nodes_with_cpus(host):
    """NUMA nodes that have processors. Memory of accelerators (Grace, POWER9) and CXL shows up as nodes without any."""
    answer = host.read_text(NODE + "/has_cpu", 65536)
    if answer.ok:
        return from_answer(answer, parse_list)
    listing = host.glob(NODE + "/node*/cpulist")
    if not listing.ok:
        if listing.status == ABSENT and host.exists(NODE).value is False:
            return not_applicable("kernel without NUMA")
        return unknown(listing.reason)
    nodes = []
    for path in listing.value:
        digits = path.split("/")[-2][4:]
        cpus = from_answer(host.read_text(path, 65536), parse_list)
        if not is_known(cpus):
            return cpus
        if cpus and digits.isdigit():
            nodes.append(int(digits))
    return sorted(nodes) if nodes else unknown(answer.reason)


def smt(host):
    answer = host.read_line(CPU + "/smt/active")
    if answer.status == ABSENT:
        return not_applicable("kernel without SMT control")
    return from_answer(answer, {"1": True, "0": False}.__getitem__)


def read(host, cpuinfo, nodes):
    """The group `cpu`; cpuinfo: the answer of /proc/cpuinfo."""
    facts = {"model": model(fields(cpuinfo.value)) if cpuinfo.ok else unknown(cpuinfo.reason)}
    facts.update(topology(host))
    facts["numa_nodes"] = len(nodes) if isinstance(nodes, list) else nodes
    facts["smt"] = smt(host)
    return facts
