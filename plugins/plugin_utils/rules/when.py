# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of a report as numbers."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


def epoch(text):
    """Seconds since the epoch of "2026-11-29T17:00:00Z", None where it is none."""
    try:
        return _epoch(text[:19])
    except (TypeError, ValueError, LookupError):
        return None


@lru_cache(maxsize=4096)  # sections that were read together share their times
def _epoch(text):
    if len(text) != 19 or text[7] != "-" or text[10] != "T" or text[13] != ":":
        raise ValueError(text)
    return int(datetime.fromisoformat(text + "+00:00").timestamp())
