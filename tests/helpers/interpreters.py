# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Pythons of this machine that a node may have."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

OLDEST, NEWEST = (3, 9), (3, 14)


@functools.cache
def interpreters() -> dict[tuple[int, int], str]:
    """(3, 9) -> path of a working interpreter, oldest first. Found on PATH, and below pyenv's root when there is a pyenv."""
    found: dict[tuple[int, int], str] = {}
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        for candidate in [*_on_path(f"python3.{minor}"), *_of_pyenv(minor)]:
            real = _works(candidate)
            if real:
                found[3, minor] = real
                break
    return found


def _on_path(name: str) -> list[str]:
    path = shutil.which(name)
    return [path] if path else []


def _of_pyenv(minor: int) -> list[str]:
    pyenv = shutil.which("pyenv")
    if not pyenv:
        return []
    root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False).stdout.strip()
    return [str(path) for path in sorted(Path(root).glob(f"versions/3.{minor}.*/bin/python3.{minor}"))] if root else []


def _works(path: str) -> str:
    """The interpreter's own path when it runs; shims that only fail are none."""
    done = subprocess.run([path, "-c", "import json, sys; print(json.dumps(sys.executable))"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else ""


def path_with_interpreters() -> str:
    """PATH with the directories of the interpreters first, newest first."""
    folders = [os.path.dirname(path) for _version, path in sorted(interpreters().items(), reverse=True)]
    return os.pathsep.join([*folders, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
