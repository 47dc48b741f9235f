# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the clone importable as ansible_collections.fleetproof.accelerator, for tests and for the programs they start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COLLECTIONS = ROOT / ".cache" / "collections"
_LINK = COLLECTIONS / "ansible_collections" / "fleetproof" / "accelerator"

if not _LINK.exists():
    _LINK.parent.mkdir(parents=True, exist_ok=True)
    _LINK.symlink_to("../../../..")
sys.path.insert(0, str(COLLECTIONS))
os.environ["ANSIBLE_CONFIG"] = str(ROOT / "ansible.cfg")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT
