# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""molecule test: the preflight of three lab nodes, twice without change, looked at with testinfra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import copied
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
import nodelab

pytestmark = pytest.mark.skipif(bool(nodelab.why_not()), reason=nodelab.why_not() or "lab nodes can be had")
BIN = Path(sys.executable).parent


def test_the_default_scenario(tmp_path):
    collection = copied.copy(tmp_path / "collections")
    state = tmp_path / "lab"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MOLECULE_", "PYTEST_"))}
    env.update(
        PATH=f"{BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ANSIBLE_COLLECTIONS_PATH=str(tmp_path / "collections"),
        ANSIBLE_HOME=str(tmp_path / "home"),
        NODELAB_STATE=str(state),
        PY_COLORS="0",
        ANSIBLE_NOCOLOR="1",
    )
    try:
        done = subprocess.run(
            [str(BIN / "molecule"), "test"], cwd=collection, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
        )
    finally:
        left = nodelab.Lab(state).nodes()
        nodelab.Lab(state).down()
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
    assert "15 passed" in done.stdout + done.stderr, "five checks of three nodes"
    assert not left, "destroy stops the nodes"
