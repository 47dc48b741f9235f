# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/checks.md is what the registry says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

ROOT = Path(__file__).parents[2]


def test_the_catalog_is_current():
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_check_catalogue.py"), "--check"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_it_names_every_rule():
    catalogue.load()
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    assert [rule for rule in RULES if "\n### %s\n" % rule not in text] == []
