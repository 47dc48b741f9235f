# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the BMC says: sensors that are not well, and its event log, folded. One question after the other, each with a deadline: a BMC is slow."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

NEWEST = 200
SENSORS = ["ipmitool", "sdr"]
EVENTS = ["ipmitool", "sel", "list", "last", str(NEWEST)]
FREE = ["ipmi-sensors", "--comma-separated-output", "--no-header-output"]  # FreeIPMI, where ipmitool is not
_SECONDS = 15
_WELL = ("ok", "ns")  # ns: not specified, so no reading; ipmitool(1), sdr
_WHEN = re.compile(r"(\d\d)/(\d\d)/(\d{2,4})\Z")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_KEPT = 64


def _why(command):
    return unknown("%s: not installed" % command.argv[0] if command.status == ABSENT else command.reason)


def sensors(text):
    """{count, bad: [{name, value, state}]} of `ipmitool sdr`; state: nc, cr or nr as it says."""
    count, bad = 0, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 3:
            continue
        count += 1
        if cells[2] not in _WELL and len(bad) < _KEPT:
            bad.append({"name": cells[0][:60], "value": cells[1][:60], "state": cells[2][:20]})
    return {"count": count, "bad": bad} if count else unknown("ipmitool sdr: no sensor")


def free_sensors(text):
    """The same of `ipmi-sensors`: identifier, name, type, reading, unit, states in quotes."""
    count, bad = 0, []
    for line in text.splitlines():
        cells = line.split(",", 5)
        if len(cells) != 6:
            continue
        count += 1
        said = cells[5].lower()
        lost = "redundancy lost" in said or "failure" in said or "non-recoverable" in said or ("critical" in said and "non-critical" not in said)
        if (lost or "non-critical" in said or "degraded" in said) and len(bad) < _KEPT:
            bad.append({"name": cells[1][:60], "value": " ".join(cells[3:5])[:60], "state": "cr" if lost else "nc"})
    return {"count": count, "bad": bad} if count else unknown("ipmi-sensors: no sensor")


def _date(day, clock):
    """The BMC's own clock, without a zone: 2026-11-29T17:00:00; "" before it was set."""
    found = _WHEN.match(day)
    time = _CLOCK.match(clock)
    if not found or not time:
        return ""
    month, date, year = found.groups()
    return "%s-%s-%sT%s" % (year if len(year) == 4 else "20" + year, month, date, time.group())


def events(text):
    """{entries, events: [{sensor, event, asserted, count, first, last}]} of `ipmitool sel list`."""
    folded, entries = {}, 0
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5:
            continue
        entries += 1
        at = _date(cells[1], cells[2])
        asserted = "deasserted" not in cells[-1].lower()
        key = (cells[3][:60], cells[4][:80], asserted)
        event = folded.get(key)
        if event is None:
            if len(folded) >= _KEPT:
                continue
            event = folded[key] = {"sensor": key[0], "event": key[1], "asserted": asserted, "count": 0, "first": at, "last": at}
        event["count"] += 1
        if at:
            event["first"], event["last"] = min(event["first"] or at, at), max(event["last"], at)
    return {"entries": entries, "events": list(folded.values())}


def read(host):
    """{sensors, event_log}."""
    command = host.run(EVENTS, timeout=_SECONDS)
    empty = command.ok and "no entries" in (command.stdout + command.stderr).lower()
    log = events("" if empty else command.stdout) if command.succeeded or empty else _why(command)
    if command.status == ABSENT:
        free = host.run(FREE, timeout=_SECONDS)
        return {"sensors": free_sensors(free.stdout) if free.succeeded else _why(command if free.status == ABSENT else free), "event_log": log}
    if not command.ok:  # it did not answer once: it is not waited for twice
        return {"sensors": unknown("not asked: %s" % command.reason), "event_log": log}
    command = host.run(SENSORS, timeout=_SECONDS)
    return {"sensors": sensors(command.stdout) if command.succeeded else _why(command), "event_log": log}
