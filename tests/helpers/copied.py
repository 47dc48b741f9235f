# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of the collection under ansible_collections/fleetproof/accelerator, as tools want it that do not follow links."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def copy(collections: Path) -> Path:
    """Copy what git tracks or would track; without git, everything but what make made."""
    target = collections / "ansible_collections" / "fleetproof" / "accelerator"
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        ignored = shutil.ignore_patterns(".git", ".venv", ".cache", "runs", "output", "__pycache__")
        shutil.copytree(ROOT, target, ignore=ignored, symlinks=True)
        return target
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if not source.exists() and not source.is_symlink():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name, follow_symlinks=False)
    return target
