# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of the node's code, run by the oldest and the newest Python of this machine that a node may have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from copied import ROOT
from interpreters import interpreters

NEEDS = ["pytest", "hypothesis", "pyyaml", "jsonschema", "nvidia-ml-py"]
NODE_TESTS = [
    p for name in ("host", "pci", "kernel_log", *sorted(p.stem for p in (ROOT / "plugins" / "plugin_utils" / "data" / "manufacturers").glob("*.yml")))
    for p in sorted((ROOT / "tests" / "unit").glob(f"test_{name}*.py"))
]  # fmt: skip


def environment(version):
    """A virtual environment of that Python with what the tests need; kept in .cache."""
    folder = ROOT / ".cache" / "node-pythons" / ".".join(map(str, version))
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        subprocess.run([interpreters()[version], "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *NEEDS], check=True, capture_output=True, env=dict(os.environ))
        ready.touch()
    return python


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_node_code_passes_its_tests(which):
    version = (min if which == "oldest" else max)(interpreters())
    if version == sys.version_info[:2]:
        pytest.skip(f"Python {version[0]}.{version[1]} runs the other tests already")
    done = subprocess.run(
        [str(environment(version)), "-m", "pytest", "-p", "no:cacheprovider", *map(str, NODE_TESTS)],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"Python {version}\n{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert " passed" in done.stdout
