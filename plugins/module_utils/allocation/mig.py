# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG of NVIDIA and T-Head: profiles on offer, the row mig-partitioning, what a card offers with MIG on or off."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.grants import (
    NONE,
    PARTITIONED,
    SLICED,
    UNKNOWN,
    UNKNOWN_PARTITIONS,
    children,
    extra,
    identifier,
    label,
    partition,
)
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, why

_PROFILE = re.compile(r"\|\s*(\d{1,4})\s+MIG\s+(\S+)")
_NONE = re.compile(r"no (?:MIG-enabled devices|MIG-supported devices|devices) (?:were )?found", re.IGNORECASE)


def mode(device):
    """True, False, None where the card has none, or a text that says why it is not known."""
    group, enabled = device.get("partition"), partition(device, "enabled")
    if is_not_applicable(group) or is_not_applicable(enabled):
        return None
    return enabled if isinstance(enabled, bool) else why(enabled) or "MIG mode: not told"


def not_listed(device):
    """Why it is not known which instances live on the card, or ""."""
    found = extra(device, "mig_instances")
    return "" if found is None else why(found)


def profiles(machine, tools):
    """({index: names}, "") or (None, why not), of all cards in one call. tools: program, then other places of it."""

    def read():
        for tool in tools:
            answer = machine.host.run([tool, "mig", "-lgip"], timeout=20)
            if answer.status != "absent":
                break
        machine.sources.append(report.source(answer, "%s mig -lgip" % tools[0].rpartition("/")[2]))
        found = {}
        for index, name in _PROFILE.findall(answer.stdout):
            if "+" not in name and "gfx" not in name:  # with a media engine or for graphics: no plain compute
                found.setdefault(int(index), set()).add(name)
        last = answer.stdout.strip().rpartition("\n")[2].strip()
        if _NONE.search(answer.stdout + answer.stderr) and not found and answer.status == "ok":
            return {}, ""
        if not answer.succeeded:
            return None, answer.reason
        if not re.match(r"\+[-=+]+\Z", last) or not found:
            return None, "%s: not understood: %.80r" % (answer.subject, last)
        return found, ""

    return machine.once("profiles", read)


def capability(machine, device, tools, slices):
    state = mode(device)
    if not isinstance(state, bool) and state is not None:
        return UNKNOWN, state
    if not state:
        return SLICED, slices
    instances = children(machine, device)
    offered, reason = profiles(machine, tools)
    if instances:
        return PARTITIONED, len(instances)
    if offered is None:
        return UNKNOWN_PARTITIONS, reason
    count = len(offered.get(device.get("index"), ()))
    if not count and not_listed(device):
        return UNKNOWN_PARTITIONS, "live instances: %s" % not_listed(device)
    return (PARTITIONED, count) if count else (NONE, "MIG is on and no profile is on offer")


def row(machine, device, tools):
    state, live, detail, reason = rows.UNAVAILABLE, len(children(machine, device)), "", ""
    on = mode(device)
    offered, failed = profiles(machine, tools) if on is True else ({}, "")
    count = len((offered or {}).get(device.get("index"), ()))
    if not identifier(device):
        reason = "the accelerator tells no id that names it alone"
    elif on is not None and not isinstance(on, bool):
        reason = "MIG mode: %s" % on
    elif on and not_listed(device):
        reason = "live instances: %s" % not_listed(device)
    elif offered is None:
        reason = "profiles: %s" % failed
    elif not count and live:
        reason = "%d live instances, yet no profile is on offer: the inventory is short" % live
    elif not count:
        state, reason = rows.NOT_DECLARED, "the card declares no partition profile%s" % ("" if on is None else ": MIG is %s" % ("on" if on else "off"))
    else:
        state, detail = rows.OK, "partition subtree readable, %d live instances; %d profiles on offer" % (live, count)
    return rows.row(label(device), "mig-partitioning", PARTITIONED, state, detail=detail, reason=reason)
