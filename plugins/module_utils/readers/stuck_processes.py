# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that cannot be interrupted: two looks tell one that waits for a disk from one that hangs."""

from __future__ import annotations


def _switches(host, pid):
    """What counts how often a process gave up the processor by itself: it stands still while the process hangs."""
    for line in host.read_lines("/proc/%s/status" % pid):
        if line.startswith("voluntary_ctxt_switches:"):
            return line.partition(":")[2].strip()
    return None


def first(host, held):
    """{pid: (command, switches)}; held: [(pid, command)]."""
    return {pid: (name, _switches(host, pid)) for pid, name in held}


def second(host, waiting, started):
    """Second look at those that waited: [{pid, command}] that have not moved for two seconds or more."""
    still = {pid: told for pid, told in waiting.items() if told[1] is not None and _switches(host, pid) == told[1]}
    if not still:
        return []
    if host.monotonic() - started < 2:
        host.run(["sleep", "2"], timeout=3)
    found = []
    for pid, (name, switches) in still.items():
        state = next((line.partition(":")[2].strip()[:1] for line in host.read_lines("/proc/%s/status" % pid) if line.startswith("State:")), "")
        if state == "D" and _switches(host, pid) == switches:
            found.append({"pid": int(pid), "command": name})
    return found
