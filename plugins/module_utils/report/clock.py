# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as text."""

from __future__ import annotations

import datetime

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown


def utc(seconds):
    """Seconds since the epoch -> "2026-11-29T17:00:00Z"; unknown when there is no such time."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError, TypeError):
        return unknown("not a time: %r" % (str(seconds)[:40],))
