# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of a report as numbers."""

from __future__ import annotations

import calendar
import time


def epoch(text):
    """Seconds since the epoch of "2026-11-29T17:00:00Z", None where it is none."""
    try:
        return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except (TypeError, ValueError, LookupError):
        return None
