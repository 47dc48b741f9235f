# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of programs that use a device, as vendors' tools print them."""

from __future__ import annotations


def program_names(texts):
    """Without folders and arguments."""
    return sorted(text.split()[0].rpartition("/")[2][:40] for text in texts if isinstance(text, str) and text.split())[:64]
