# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Version of the collection, as in galaxy.yml; a test holds them together."""

from __future__ import annotations

COLLECTION_VERSION = "0.3.0"
