# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mode of a driver that is on or off. A driver (ascend_share.py, cambricon_smlu.py) has:

MANUFACTURER, CAPABILITY, NAME (of the mode, for a person), STDIN (what the tool is told when it asks)
units(devices) -> [Unit]; read(host, units, sources, again=False) -> {key: (ON | OFF | ABSENT | FAILED, reason)}; argv(unit, on)
refused(command) -> (ABSENT | FAILED, reason), None when the tool accepted
"""

from __future__ import annotations

from typing import NamedTuple

ON, OFF, ABSENT, FAILED = "on", "off", "absent", "failed"


class Unit(NamedTuple):
    """What one switch belongs to. key: its name among the notes; card: units of one card may have one switch; problem: why it cannot be addressed."""

    accelerator: str
    key: str
    card: str
    place: dict
    problem: str = ""


def left_on(driver, state, reason, note):
    """(detail, reason) of a mode that a run switched on and did not see put back, by the note it left; None where there is none, or it is off again."""
    if not note or state not in (ON, FAILED):
        return None
    said = "%s; if it is meant to be on, remove %s" % (note["failed"] or "it was not seen put back", note["path"])
    said = said if state == ON else "%s; now it could not be read: %s" % (said, reason)
    return "%s %s left ON by a run of %s" % (driver.NAME, "is" if state == ON else "may be", note["asked"] or "before"), said
