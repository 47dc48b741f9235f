# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's own ring, by dmesg: where the journal cannot be read."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers

DMESG_RAW = ["dmesg", "-r"]
DMESG = ["dmesg"]
LIMIT = 64 << 20  # bytes; a ring is smaller


def _refused(host, command):
    """Why dmesg did not answer, with the kernel's own switch where that is the reason."""
    said = (command.stderr or command.detail).lower()
    if command.status == answers.DENIED or "not permitted" in said or "permission denied" in said:
        switch = host.read_line("/proc/sys/kernel/dmesg_restrict")
        hint = "kernel.dmesg_restrict is %s" % switch.value if switch.ok else "kernel.dmesg_restrict may be set"
        return "dmesg: not permitted (%s; it needs root or CAP_SYSLOG)" % hint
    return command.reason


def read(host, new, reasons):
    """(source, stream, why it is not all of the log; source None: why there is none). reasons: why the journal told nothing. new: makes a Stream."""
    for argv in (DMESG_RAW, DMESG):
        stream = new()
        command = host.run(argv, timeout=15, limit=LIMIT, taker=stream.take)
        stream.done()
        if (stream.lines or stream.reached) and (command.succeeded or command.status in (answers.OVERFLOW, answers.TIMEOUT)):
            return "dmesg", stream, [] if command.succeeded else [command.reason + "; what came last was not read"]
        reason = "dmesg: the kernel log is empty" if command.succeeded else _refused(host, command)
        if reason not in reasons:
            reasons.append(reason)
        if command.status in (answers.ABSENT, answers.DENIED, answers.TIMEOUT) or "not permitted" in reason:
            break
    return None, stream, reasons
