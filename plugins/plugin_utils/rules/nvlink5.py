# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the registers in the text of Xid 144 to 150 say, by the table nvlink5 of data/kernel_events.yml."""

from __future__ import annotations

import re

_SAID = re.compile(r"\b(?:([A-Z][A-Z0-9_]{2,30}(?: Degraded)?) +)?(Nonfatal|Fatal)\b(?:[^(]{0,60}\(0x([0-9a-fA-F]{8}) 0x([0-9a-fA-F]{8})\b)?")
_WORST = ("reset", "evaluate", "ask", "ignore")


def decode(table, rest):
    """(level, key of actions or words, what it means) of the text behind the code; None when it does not say whether it was fatal."""
    said = _SAID.search(rest)
    if said is None:
        return None
    unit, word, register, status = said.groups()
    fatal = word == "Fatal"
    answer, hint = None, ""
    entry = table.get(unit) if register else None
    if entry:
        reason = int(register, 16) >> 20 & 63
        answer, hint = _answer(entry, int(status, 16)), entry.get("reasons", {}).get(reason, entry.get("hint", ""))
        if reason in entry.get("ignored", ()):
            return "warn", hint, _text(unit, "fatal, to be ignored", hint)
    told = _text(unit, "fatal" if fatal else "not fatal", hint)
    if fatal:
        return "fail", "RESET_GPU", told
    if answer == "ignore":
        return "info", "IGNORE", told
    if answer == "evaluate":
        return "warn", "do what Xid 154 asks for; without one, restart the application", told
    return "warn", "watch the link; ask the manufacturer when it goes on" if answer else "watch the link", told


def _answer(entry, status):
    if "equal" in entry:
        return entry["equal"].get(status)
    found = [name for name in _WORST if any(status & bit for bit in entry.get(name, ()))]
    return found[0] if found else entry.get("always")


def _text(unit, word, hint):
    return "; ".join(part for part in (unit if unit and ("_" in unit or " " in unit) else "", word, hint) if part)
