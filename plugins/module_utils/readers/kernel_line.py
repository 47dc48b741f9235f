# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line of a kernel log."""

from __future__ import annotations

import re

LONGEST = 1000  # characters of a line that are looked at
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
# What is read on a node: 1764401843.308145 host kernel: text of the journal, <6>[   12.500000][  T812] text of dmesg -r, and nothing more before the text.
_READ = re.compile(
    r"(?:(\d{10}\.\d{6})|(?:<(\d{1,4})>)?\[ *(\d{1,10}\.\d{1,9})\](?: ?\[ *[TC]\d{1,8}\])?) (?:(?:[\w.:-]{1,255} )?kernel(?:\[\d+\])?: ?)?"
    r"(?!\s|\d|\[ *[\dTC]|\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) |(?:%s) )" % MONTHS
)


class Line:
    """A parsed line: since (seconds since boot) or wall (epoch) when it tells them, else when (why the time is unknown)."""

    __slots__ = ("priority", "since", "stamped", "text", "wall", "when")

    def __init__(self):
        self.since = self.wall = self.priority = None
        self.when = "the line carries no time"
        self.stamped = False
        self.text = ""


def parse(raw):
    """Any layout; what is not read on a node has a file of its own."""
    found = _READ.match(raw[:LONGEST])
    if not found:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_layouts

        return kernel_layouts.parse(raw)
    line = Line()
    wall, priority, since = found.groups()
    line.wall, line.since, line.priority, line.stamped = wall and float(wall), since and float(since), priority and int(priority) & 7, True
    line.text = raw[found.end() : LONGEST].rstrip()
    return line
