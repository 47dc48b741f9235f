# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health of drives as they keep it themselves (SMART): nvme-cli, else smartctl. One drive after the other; where one hangs, no other is asked."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, DENIED, TIMEOUT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

_SECONDS = 5
_MOST = 32


def _number(told, *names):
    for name in names:
        value = told.get(name)
        if isinstance(value, dict):  # newer nvme-cli spells the bits of the critical warning out
            value = value.get("value")
        if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) < value < 1 << 64:
            return value
    return unknown("the drive's log has no %s" % names[0])


def _facts(told, kelvin, passed=None):
    """Of an NVMe health log, in either tool's names."""
    temperature = _number(told, "temperature")
    hours, cycles = _number(told, "power_on_hours"), _number(told, "power_cycles")
    moved = [_number(told, name) for name in ("data_units_read", "data_units_written", "controller_busy_time")]
    return {
        "critical_warning": _number(told, "critical_warning"),
        "percent_used": _number(told, "percent_used", "percentage_used"),
        "media_errors": _number(told, "media_errors"),
        "spare_percent": _number(told, "avail_spare", "available_spare"),
        "spare_threshold_percent": _number(told, "spare_thresh", "available_spare_threshold"),
        "temperature_c": temperature - 273 if kelvin and isinstance(temperature, int) else temperature,
        "power_on_hours": hours,
        "passed": passed if isinstance(passed, bool) else not_applicable("the tool gives no verdict"),
        # A drive that has been on for days and was never switched on nor used has lost its log.
        "implausible": isinstance(hours, int) and hours > 24 and cycles == 0 and moved == [0, 0, 0],
    }


def parse_nvme(text):
    told = _object(text)
    return _facts(told, kelvin=True) if "critical_warning" in told else None


def _object(text):
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def parse_smartctl(text):
    """Of `smartctl --json`; None where it holds no health."""
    told = _object(text)
    status = told.get("smart_status")
    passed = status.get("passed") if isinstance(status, dict) else None
    log = told.get("nvme_smart_health_information_log")
    if isinstance(log, dict):
        return _facts(log, kelvin=False, passed=passed)
    if not isinstance(passed, bool):
        return None
    nothing = not_applicable("no NVMe drive")
    facts = dict.fromkeys(("critical_warning", "percent_used", "spare_percent", "spare_threshold_percent"), nothing)
    heat, hours = (told.get(key) if isinstance(told.get(key), dict) else {} for key in ("temperature", "power_on_time"))
    return dict(facts, media_errors=nothing, temperature_c=_number(heat, "current"), power_on_hours=_number(hours, "hours"), passed=passed, implausible=False)


def _why(command):
    """smartctl tells in its JSON why it failed."""
    told = _object(command.stdout)
    messages = told.get("smartctl", {}).get("messages") if isinstance(told.get("smartctl"), dict) else None
    said = [str(m.get("string")) for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return "%s: %s" % (" ".join(command.argv), said[0][:160]) if said else command.reason


def _one(host, name, nvme, tools):
    """(facts or unknown, whether the drive answered but could not tell, whether it hung)."""
    reason, refused = "neither nvme-cli nor smartmontools is installed" if nvme else "smartmontools is not installed", False
    for tool in tools if nvme else tools[1:]:
        argv = ["nvme", "smart-log", "-o", "json", "/dev/" + name] if tool == "nvme" else ["smartctl", "--json", "-H", "-A", "-n", "standby", "/dev/" + name]
        command = host.run(argv, timeout=_SECONDS)
        if command.status == ABSENT:
            continue
        facts = (parse_nvme if tool == "nvme" else parse_smartctl)(command.stdout) if command.ok else None
        if facts is not None:
            return facts, False, False
        reason = _why(command)
        # smartctl(8): bit 2 of its status: a command to the drive failed, though the drive could be opened.
        refused = refused or (tool == "smartctl" and command.ok and command.rc & 6 == 4)
        if command.status in (TIMEOUT, DENIED):
            return unknown(reason), False, command.status == TIMEOUT
    return unknown(reason), refused, False


def read(host, drives, disks):
    """[{name, facts…} or {name, problem, refused}]; drives: NVMe controllers, disks: of SATA and SAS."""
    found, hung = [], ""
    for name, nvme in [*((n, True) for n in drives), *((n, False) for n in disks)][:_MOST]:
        if hung:
            found.append({"name": name, "problem": "not asked: %s did not answer" % hung, "refused": False})
            continue
        facts, refused, timeout = _one(host, name, nvme, ("nvme", "smartctl"))
        hung = name if timeout else ""
        found.append({"name": name, "problem": facts["unknown"], "refused": refused} if "unknown" in facts else dict(facts, name=name))
    return found
