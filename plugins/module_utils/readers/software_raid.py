# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of the kernel's RAID, from /proc/mdstat."""

from __future__ import annotations

import re


def parse(text):
    """[{name, state, level, wanted, working, failed, action}]; wanted and working are null where the level has no spare part."""
    found = []
    for line in text.splitlines():
        head = re.match(r"(md\S+) : (\w+)(?: \([\w-]+\))? (.*)", line)
        if head:
            words = head.group(3).split()
            level = words[0] if words and "[" not in words[0] else ""
            failed = [w.partition("[")[0] for w in words if w.endswith("(F)")]
            found.append({"name": head.group(1), "state": head.group(2), "level": level, "wanted": None, "working": None, "failed": failed, "action": ""})
        elif found and re.search(r"super external:[a-z]", line):
            found.pop()  # mdadm(8): a container only holds the arrays' members, and is never active
        elif found:
            counts = re.search(r"\[([0-9]{1,6})/([0-9]{1,6})\] \[[U_]+\]", line)
            action = re.search(r"(recovery|resync|reshape|check)\s*=", line)
            if counts:
                found[-1]["wanted"], found[-1]["working"] = int(counts.group(1)), int(counts.group(2))
            if action:
                found[-1]["action"] = action.group(1)
    return found[:64]
