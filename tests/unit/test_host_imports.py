# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node code reaches the machine through the door only, and knows nothing of the controller's code."""

from __future__ import annotations

import ast
import pathlib

import pytest

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"
DOOR = PLUGINS / "module_utils" / "host"
SHARED = "ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.library_calls"
FORBIDDEN = {"os", "time", "socket", "subprocess", "multiprocessing", "threading", "posix", "shutil", "ctypes", "importlib", "pkgutil"}


def sources(*directories):
    return sorted(path for directory in directories for path in (PLUGINS / directory).rglob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("path", [p for p in sources("module_utils", "modules") if DOOR not in p.parents], ids=lambda p: str(p.relative_to(PLUGINS)))
def test_node_code_has_no_other_way_to_the_machine(path):
    names = {name.split(".")[0] for name in imported(path)}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # a reader of a vendor library runs in a child of the door and stands alone, but for the calls that all of them make
    ours = {name for name in imported(path) if name.startswith("ansible_collections")} - {SHARED.rpartition(".")[0]}
    shares = path.stem == SHARED.rpartition(".")[2]
    reader = shares or (not ours and any(isinstance(n, ast.FunctionDef) and n.name == "read" for n in tree.body))
    assert not names & (FORBIDDEN - ({"ctypes"} if reader else set()))
    calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not calls & {"open", "exec", "eval", "__import__"}


@pytest.mark.parametrize("path", sources("module_utils"), ids=lambda p: str(p.relative_to(PLUGINS)))
def test_node_code_knows_nothing_of_the_controller(path):
    assert not [name for name in imported(path) if "plugin_utils" in name or name.startswith(".")]


def test_the_helper_stands_alone():
    """It is sent as text to a bare interpreter."""
    assert set(imported(DOOR / "child.py")) == {"__future__", "errno", "json", "os", "stat", "sys"}


def test_the_door_uses_neither_threads_nor_multiprocessing():
    for path in DOOR.glob("*.py"):
        assert not {name.split(".")[0] for name in imported(path)} & {"multiprocessing", "threading", "concurrent", "asyncio", "subprocess"}
