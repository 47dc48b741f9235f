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
        found[name] = dict({key: str(note.get(key, ""))[:300] for key in _KEYS}, path="%s/%s" % (directory, name))
    return found, ""
