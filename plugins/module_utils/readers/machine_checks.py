# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machine checks since the start, of all processors together: x86 counts them among its interrupts, and nowhere else."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

ROWS = {"exceptions": "MCE", "thresholds": "THR", "thermal": "TRM", "deferred": "DFR"}
# A row of the table has a column for each processor, and there may be thousands of rows: five of them leave the program.
ASKED = ["grep", "-E", "^ *(MCE|MCP|THR|TRM|DFR):", "/proc/interrupts"]
_ROW = re.compile(r" *([A-Z]{3}):((?: +[0-9]{1,12})+)(?: |\Z)")


def parse(text):
    """{row: sum of its columns}."""
    rows = (_ROW.match(line) for line in text.splitlines())
    return {row.group(1): sum(map(int, row.group(2).split())) for row in rows if row}


def read(host):
    command = host.run(ASKED, timeout=5)
    if not command.ok or command.rc not in (0, 1):
        return unknown(command.reason)
    counted = parse(command.stdout)
    if not counted:
        return not_applicable("this processor counts no machine checks") if command.rc == 1 else unknown("/proc/interrupts: not understood")
    return {name: counted.get(row, not_applicable("not counted on this processor")) for name, row in ROWS.items()}
