# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said in two places says the same."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.version import COLLECTION_VERSION
from copied import ROOT
from interpreters import interpreters

GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text())
RUNTIME = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
NODE_BUDGET = 100 * 1024


def test_version():
    assert GALAXY["version"] == COLLECTION_VERSION
    assert GALAXY["dependencies"] == {}


def test_every_reading_module_is_routed_and_grouped():
    routed = RUNTIME["plugin_routing"]["modules"]
    assert sorted(RUNTIME["action_groups"]["info"]) == sorted(MODULES)
    assert sorted(routed) == sorted(set(MODULES) - {"accelerator_info"})
    assert {entry["action_plugin"] for entry in routed.values()} == {"fleetproof.accelerator.accelerator_info"}


def test_no_line_of_an_unfinished_thing():
    marks = re.compile("|".join(("NotImplemented" + "Error", "TO" + "DO", "FIX" + "ME")))
    for path in [*ROOT.glob("plugins/**/*.py"), *ROOT.glob("roles/**/*.yml"), *ROOT.glob("playbooks/*.yml")]:
        assert not marks.search(path.read_text()), path


def imported_source(module: Path) -> dict[Path, int]:
    """Our own files that a module imports when it starts, with their sizes; what it imports inside a function only sometimes is not counted."""
    prefix = "ansible_collections.fleetproof.accelerator.plugins.module_utils"
    base = ROOT / "plugins" / "module_utils"
    seen: dict[Path, int] = {}
    waiting = [module]
    while waiting:
        path = waiting.pop()
        if path != module:
            seen[path] = path.stat().st_size
        for statement in ast.parse(path.read_text()).body:
            if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith(prefix):
                continue
            folder = base.joinpath(*filter(None, statement.module[len(prefix) :].split(".")))
            for candidate in (folder.with_suffix(".py"), *(folder / f"{alias.name}.py" for alias in statement.names)):
                if candidate.is_file() and candidate not in seen:
                    waiting.append(candidate)
    return seen


@pytest.mark.parametrize("name", sorted(MODULES))
def test_what_a_module_carries_to_a_node_is_small(name):
    sizes = imported_source(ROOT / "plugins" / "modules" / f"{name}.py")
    total = sum(sizes.values())
    assert 0 < total <= NODE_BUDGET, {str(path.relative_to(ROOT)): size for path, size in sorted(sizes.items())}


NODE_FILES = sorted(p for p in ROOT.glob("plugins/module_utils/**/*.py") if p.name != "module.py")


def test_there_are_pythons_to_test():
    assert interpreters(), "no Python from 3.9 to 3.14 was found"


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_node_code_imports_on_the_oldest_and_newest_python(which):
    version = (min if which == "oldest" else max)(interpreters())
    names = [
        "ansible_collections.fleetproof.accelerator." + str(p.relative_to(ROOT)).removesuffix(".py").replace("/", ".")
        for p in NODE_FILES
        if p.name != "__init__.py"
    ]
    program = "import importlib, sys\nsys.path.insert(0, sys.argv[1])\nfor name in sys.argv[2:]: importlib.import_module(name)"
    done = subprocess.run([interpreters()[version], "-c", program, str(ROOT / ".cache" / "collections"), *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"Python {version}: {done.stderr}"
    assert sys.version_info >= (3, 11)


@pytest.mark.parametrize("tool", sorted(p.name for p in ROOT.glob("tools/generate_*.py")))
def test_what_is_generated_is_current(tool):
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".cache" / "collections")}
    done = subprocess.run([sys.executable, str(ROOT / "tools" / tool), "--check"], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
