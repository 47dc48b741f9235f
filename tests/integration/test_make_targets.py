# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make demo` and `make preflight` run, as a newcomer does: they end well, say where the report is, and can be run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from copied import ROOT


def tool(name, run_root, *arguments):
    argv = [sys.executable, str(ROOT / "tools" / name), "--run-root", str(run_root), *arguments]
    return subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("run_demo.py", (), "demo: the verdicts of all 12 nodes equal the planted ones"),
        ("run_preflight.py", ("--inventory", "inventories/localhost"), "Nothing to accept on this-machine"),
    ],
)
def test_twice(tmp_path, name, arguments, words):
    for _time in range(2):
        done = tool(name, tmp_path, *arguments)
        assert done.returncode == 0 and words in done.stdout, done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 100, done.stdout
    assert len([path for path in tmp_path.iterdir() if not path.is_symlink()]) == 2
    assert (tmp_path / "latest" / "report.html").is_file()


def test_a_demo_that_finds_something_else_fails(tmp_path):
    done = tool("run_demo.py", tmp_path, "--", "-e", "accelerator_policy_row_remap_pending_enabled=false")
    assert done.returncode != 0 and "gpu-h04" in done.stdout, done.stdout


def test_the_tools_are_there():
    assert Path(ROOT / "Makefile").read_text().count("tools/run_demo.py") == 2
