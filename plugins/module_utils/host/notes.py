# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes of driver modes that a run switched on and did not see put back (effects.py leaves them)."""

from __future__ import annotations

import json

DIRECTORY = "/var/lib/fleetproof-accelerator"  # owner-only; there only while a note lies in it, or a run asks
_KEYS = ("accelerator", "capability", "asked", "off", "failed")


def notes(host, manufacturer, directory=DIRECTORY):
    """({key: note}, why they could not be read or ""). Reads only."""
    listing = host.listdir(directory)
    if not listing.ok:
        return {}, "" if listing.status in ("absent", "not_recorded") else listing.reason
    found = {}
    for name in sorted(listing.value):
        if not name.startswith(manufacturer + "-"):
            continue
        answer = host.read_text("%s/%s" % (directory, name), 1 << 14)
        try:
            note = json.loads(answer.value) if answer.ok else {}
        except (ValueError, RecursionError):
            note = {}
        note = note if isinstance(note, dict) else {}
        found[name] = dict({key: str(note.get(key, ""))[:300] for key in _KEYS}, path="%s/%s" % (directory, name), asking=_lives(host, note.get("asker")))
    return found, ""


def left_over(host, manufacturer, directory=DIRECTORY):
    """Every note of a manufacturer, or why that is not known. asking: who puts the mode back lives."""
    found, trouble = notes(host, manufacturer, directory)
    if not found and host.listdir(directory).status == "not_recorded":
        trouble = "not recorded"
    return {"unknown": trouble} if trouble else [found[name] for name in sorted(found)]


def _lives(host, asker):
    """asker: [process id, its start]; the number alone may be another's by now."""
    if not isinstance(asker, list) or len(asker) != 2 or not isinstance(asker[0], int):
        return False
    answer = host.read_text("/proc/%d/stat" % asker[0], 1 << 12)
    return answer.ok and started(answer.value) == asker[1]


def started(stat):
    fields = stat.rpartition(")")[2].split()
    return "" if fields[:1] in (["Z"], ["X"]) else "".join(fields[19:20])
