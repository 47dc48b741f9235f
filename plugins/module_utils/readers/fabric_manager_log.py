# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's fabric manager complained of since it was last started: the newest part of its log, else its unit's journal. Nothing is classified here."""

from __future__ import annotations

import datetime
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_line import MONTHS
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

LOG = "/var/log/fabricmanager.log"  # LOG_FILE_NAME of fabricmanager.cfg as it is delivered
PART = 1 << 18
TAIL = ["tail", "-c", str(PART), LOG]
JOURNAL = ["journalctl", "-u", "nvidia-fabricmanager", "-b", "0", "-o", "short-unix", "--no-pager", "-n", "400"]
_SECONDS = 5
_KEPT = 20
_STAMP = re.compile(r"\[(%s) +(\d{1,2}) (\d{4}) (\d\d):(\d\d):(\d\d)\] \[(\w{1,12})\](?: \[tid \d+\])? (.*)" % MONTHS)
_START = re.compile(r"Fabric Manager Log initializing at: *(\d{1,2})/(\d{1,2})/(\d{4}) (\d\d):(\d\d):(\d\d)")
_ENTRY = re.compile(r"(\d{9,11}\.\d+) \S+ ([\w.-]+)\[\d+\]: (.*)")
_TROUBLE = re.compile(r"error|fail|don't match|abort|timed? ?out|fatal|unable|cannot", re.IGNORECASE)
_LEVELS = ("ERROR", "CRITICAL", "FATAL")
_CODE = re.compile(r"\b((?:non-)?fatal error) (\d{1,6})\b")
_CHANGING = re.compile(r"\b(?:0x)?[0-9a-fA-F]{8,}\b|\d+")


def _seconds(year, *more):
    """The time as if it were UTC; None where it is none."""
    try:
        return datetime.datetime(int(year), *map(int, more), tzinfo=datetime.timezone.utc).timestamp()
    except ValueError:
        return None


def template(text):
    """The message without what changes; the code of an error stays."""
    code = _CODE.search(text)
    if code is None:
        return _CHANGING.sub("#", text)[:200]
    return ("%s%s%s" % (_CHANGING.sub("#", text[: code.start(2)]), code.group(2), _CHANGING.sub("#", text[code.end(2) :])))[:200]


def of_log(text):
    """[(local time or None, whether the manager starts here, complaint or "")]"""
    lines = []
    for line in text.splitlines():
        told, start = _STAMP.match(line), _START.search(line)
        if start:
            month, day, year, *clock = start.groups()
            lines.append((_seconds(year, month, day, *clock), True, ""))
        elif told:
            month, day, year, *clock = told.groups()[:6]
            at = _seconds(year, MONTHS.split("|").index(month) + 1, day, *clock)
            lines.append((at, False, told.group(8) if told.group(7) in _LEVELS else ""))
    return lines


def of_journal(text):
    lines = []
    for line in text.splitlines():
        told = _ENTRY.match(line)
        if told:
            at, program, said = told.groups()
            start = program == "systemd" and said.startswith("Starting ")
            lines.append((float(at), start, said if program != "systemd" and _TROUBLE.search(said) else ""))
    return lines


def _events(lines, time_of):
    events = {}
    for at, _start, said in lines:
        if said:
            event = events.setdefault(template(said), {"message": said[:300], "count": 0, "first": at})
            event.update(count=event["count"] + 1, last=at)
    kept = sorted(events.values(), key=lambda event: -(event["last"] or 0))[:_KEPT]
    return [dict(event, first=time_of(event["first"]), last=time_of(event["last"])) for event in kept], len(events) - len(kept)


def _told(source, lines, time_of, boot=None):
    starts = [place for place, (_at, start, _said) in enumerate(lines) if start]
    since = starts[-1] if starts else 0
    # Without the start, what is older than the start of the node was told by a manager that is gone.
    since_boot = [line for line in lines[since:] if starts or boot is None or line[0] is None or line[0] >= boot]
    events, dropped = _events(since_boot, time_of)
    started = time_of(lines[since][0]) if starts else unknown("%s: its start is not in the part that was read" % source)
    return {"source": source, "started": started, "events": events, "dropped": dropped}


def _by_journal(host, reason):
    """reason: why the log tells nothing; empty where there is none."""
    command = host.run(JOURNAL, timeout=_SECONDS)
    lines = of_journal(command.stdout) if command.succeeded else []
    if command.succeeded and not reason and command.stdout.strip() in ("", "-- No entries --"):
        return not_applicable("the fabric manager wrote nothing since the start of the node")
    if not lines:
        return unknown(
            "%s; %s" % (reason or "%s: absent" % LOG, command.reason if not command.succeeded else "%s: no entry of this boot" % " ".join(JOURNAL[:3]))
        )
    return _told(" ".join(JOURNAL[:3]), lines, utc)


def read(host):
    """{source, started, events: [{message, count, first, last}], dropped}"""
    written = host.stat(LOG)
    if written.status == ABSENT:
        return _by_journal(host, "")
    command = host.run(TAIL, timeout=_SECONDS)
    lines = of_log(command.stdout) if command.succeeded else []
    if not lines:
        return _by_journal(host, command.reason if not command.succeeded else "%s: no line that is understood" % LOG)
    # The log tells local time, the file when its newest line was written: what is between them is the zone of time.
    newest = next((at for at, _start, _said in reversed(lines) if at is not None), None)
    changed = written.value.get("mtime") if written.ok else None
    shift = boot = None
    if newest is not None and isinstance(changed, (int, float)) and abs(newest - changed) < 15 * 3600:
        shift = round((newest - changed) / 900.0) * 900
        shift = shift if abs(newest - changed - shift) <= 120 else None
    since = host.boot_time()
    if shift is not None and since.ok and isinstance(since.value, (int, float)):
        boot = since.value + shift
    nothing = unknown("%s tells local times, and the zone is not known" % LOG)
    return _told(LOG, lines, lambda at: nothing if shift is None or at is None else utc(at - shift), boot)
