# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the captures of real tools lie; they are not part of the collection."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def captures(root) -> Path:
    """The directory of the captures, beside the repository or where FLEETPROOF_CAPTURES says."""
    path = Path(os.environ.get("FLEETPROOF_CAPTURES") or root.parent / "shared" / "captures")
    if not path.is_dir():
        pytest.skip(f"no captures in {path}")
    return path
