# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory and huge pages, from /proc/meminfo and the NUMA nodes."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.cpu import NODE
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown

MEMINFO = "/proc/meminfo"
TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled"
_LINE = re.compile(r"(?:Node +\d+ +)?([A-Za-z_()0-9]+): +(\d{1,18})(?: (kB))?\s*\Z")
_CHOSEN = re.compile(r"\[(\w+)\]")  # "always [madvise] never"


def parse(text):
    """{name: number}; sizes in KiB, counts as they are. The kernel's "kB" is KiB."""
    found = (_LINE.match(line) for line in text.splitlines())
    return {line.group(1): int(line.group(2)) for line in found if line}


def _value(answer, key, divide=1):
    if not answer.ok:
        return unknown(answer.reason)
    number = parse(answer.value).get(key)
    return unknown("%s: no %s" % (answer.subject, key)) if number is None else number // divide


def _transparent(host):
    answer = host.read_line(TRANSPARENT)
    if answer.status == ABSENT:
        return not_applicable("kernel without transparent huge pages")
    return from_answer(answer, lambda text: _CHOSEN.findall(text)[0])


def read(host, nodes):
    """{memory, huge_pages}; nodes: NUMA nodes with processors, or a fact why there are none."""
    answer = host.read_text(MEMINFO, 65536)
    per_node = nodes
    if isinstance(nodes, list):
        per_node = {str(node): _value(host.read_text("%s/node%d/meminfo" % (NODE, node), 65536), "MemTotal", 1024) for node in nodes}
    size = _value(answer, "Hugepagesize")
    if not is_known(size) and answer.ok and parse(answer.value).get("MemTotal"):
        size = not_applicable("kernel without huge pages")
    pages = {"size_kib": size}
    for key, name in (("total", "HugePages_Total"), ("free", "HugePages_Free")):
        pages[key] = _value(answer, name) if is_known(size) or not answer.ok else size
    pages["transparent"] = _transparent(host)
    return {
        "memory": {"total_mib": _value(answer, "MemTotal", 1024), "available_mib": _value(answer, "MemAvailable", 1024), "per_numa_mib": per_node},
        "huge_pages": pages,
    }
