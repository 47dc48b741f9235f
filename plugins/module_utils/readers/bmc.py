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
NETWORK = ["ipmitool", "lan", "print"]
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


def _open_suite(suites, levels):
    """Whether cipher suite 0, which asks for no authentication, can be used: it is listed, and its letter is not X (IPMI 2.0, LAN parameters 22 to 24).

    BMCs differ in whether letters stand in the order of the list or of the numbers: where the two disagree it is not known.
    """
    numbers = suites.split(",")
    if "0" not in numbers:
        return False
    usable = {levels[at] != "X" for at in (0, numbers.index("0")) if at < len(levels)}
    return usable.pop() if len(usable) == 1 else unknown("ipmitool lan print: who may use cipher suite 0 is not clear")


def network(text):
    """{address_source, vlan, suite_without_authentication, community_is_public} of `ipmitool lan print`: no address, and no word that is a secret."""
    told = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():  # lines without a key belong to the one before
            told.setdefault(key.strip().lower(), value.strip())
    if "ip address source" not in told:
        return unknown("ipmitool lan print: no address source")
    silent = unknown("ipmitool lan print: not told")
    suites, levels = told.get("rmcp+ cipher suites", ""), told.get("cipher suite priv max", "")
    vlan, community = told.get("802.1q vlan id"), told.get("snmp community string")
    good = re.match(r"\d{1,3}(,\d{1,3}){0,31}\Z", suites) and re.match(r"[XcuoaO]{1,16}\Z", levels)
    return {
        "address_source": told["ip address source"].lower()[:40],
        "vlan": vlan.lower() != "disabled" if vlan else silent,
        "suite_without_authentication": _open_suite(suites, levels) if good else silent,
        "community_is_public": community.lower() == "public" if community and community != "[redacted]" else silent,
    }


def read(host):
    """{sensors, event_log, bmc_network}."""
    command = host.run(EVENTS, timeout=_SECONDS)
    empty = command.ok and "no entries" in (command.stdout + command.stderr).lower()
    log = events("" if empty else command.stdout) if command.succeeded or empty else _why(command)
    if command.status == ABSENT:
        free = host.run(FREE, timeout=_SECONDS)
        told = free_sensors(free.stdout) if free.succeeded else _why(command if free.status == ABSENT else free)
        return {"sensors": told, "event_log": log, "bmc_network": _why(command)}
    found = {"event_log": log}
    for key, argv, parse in (("sensors", SENSORS, sensors), ("bmc_network", NETWORK, network)):
        if not command.ok:  # it did not answer once: it is not waited for twice
            found[key] = unknown("not asked: %s" % command.reason)
            continue
        command = host.run(argv, timeout=_SECONDS)
        found[key] = parse(command.stdout) if command.succeeded else _why(command)
    return found
