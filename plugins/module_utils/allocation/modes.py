# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modes in which an accelerator is allocated. A row that belongs to none is unnamed."""

from __future__ import annotations

EXCLUSIVE, SHARED, SLICED, PARTITIONED, VISIBILITY, UNNAMED = MODES = ("exclusive", "shared", "sliced", "partitioned", "visibility", "unnamed")
