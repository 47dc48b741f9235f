# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The field's own tools over the collection: ansible-test sanity, ansible-lint, antsibull, galaxy build, ruff, yamllint."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from copied import ROOT, copy
from interpreters import path_with_interpreters

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return copy(tmp_path_factory.mktemp("collections"))


def run(argv, cwd, **environment):
    """Run a tool of the virtual environment; its output is the assertion's message."""
    env = {"PATH": f"{BIN}:{path_with_interpreters()}", "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8", **environment}
    done = subprocess.run([str(BIN / argv[0]), *argv[1:]], cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}\n{done.stdout[-12000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def test_ansible_test_sanity(collection):
    assert not list((collection / "tests").glob("sanity/ignore-*")), "no sanity test may be ignored"
    home = ROOT / ".cache" / "ansible-test-home"
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in ("24_2", "25_2", "25_3", "26_0"):
        shutil.copy(ROOT / "tests" / "quality" / "get_pip_shim.py", cache / f"get_pip_{version}.py")
    run(["ansible-test", "sanity", "--venv", "--color", "no"], collection, HOME=str(home))


def test_ansible_lint_production(collection):
    run(["ansible-lint", "--offline", "--nocolor", "--profile", "production"], collection, ANSIBLE_COLLECTIONS_PATH=str(collection.parents[2]))


def test_antsibull_docs_strict(collection):
    argv = ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "all", "."]
    run(argv, collection, ANSIBLE_COLLECTIONS_PATH=str(collection.parents[2]))


def test_changelog(collection):
    run(["antsibull-changelog", "lint"], collection)


def test_build_installs_and_lists_its_modules(collection, tmp_path):
    run(["ansible-galaxy", "collection", "build", "--output-path", str(tmp_path)], collection)
    (artifact,) = tmp_path.glob("fleetproof-accelerator-*.tar.gz")
    installed = tmp_path / "installed"
    run(["ansible-galaxy", "collection", "install", "--offline", "-p", str(installed), str(artifact)], collection)
    out = run(["ansible-doc", "-t", "module", "-l", "fleetproof.accelerator"], tmp_path, ANSIBLE_COLLECTIONS_PATH=str(installed))
    for module in sorted((collection / "plugins" / "modules").glob("[a-z]*.py")):
        assert f"fleetproof.accelerator.{module.stem}" in out


def test_ruff(collection):
    run(["ruff", "check", "."], ROOT)
    run(["ruff", "format", "--check", "."], ROOT)


def test_yamllint(collection):
    run(["yamllint", "--strict", "."], collection)
