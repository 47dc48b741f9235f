# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a playbook of this clone quietly and finds what it wrote. Used by the make targets."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".cache" / "collections"))


def arguments(description, **defaults):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--run-root", type=Path, required=True)
    parser.add_argument("--inventory", default=defaults.get("inventory"))
    parser.add_argument("extra", nargs="*", help="further arguments of ansible-playbook, after --")
    return parser.parse_args()


def run(playbook, inventory, run_root, extra=(), variables=None):
    """Run a playbook without the strict rule; return the fleet report. Its whole output is shown when it did not complete."""
    run_root = run_root.absolute()
    variables = dict({"accelerator_run_root": str(run_root), "accelerator_strict": False}, **(variables or {}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), f"fleetproof.accelerator.{playbook}", "-i", inventory, "-e", json.dumps(variables), *extra]
    before = newest(run_root)
    shown = any(a.startswith("-v") for a in extra)
    done = subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=None if shown else subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    after = newest(run_root)
    if done.returncode or after == before:
        sys.stdout.write(done.stdout or "")
        sys.exit(f"{playbook}: the run did not complete (exit {done.returncode})")
    return fleet(run_root / after / "fleet.json"), run_root / after / "report.html"


def fleet(path):
    """The fleet document as the renderers have it."""
    from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fleet_document

    return fleet_document.whole(json.loads(path.read_text(encoding="utf-8")))


def newest(run_root):
    try:
        return os.readlink(run_root / "latest")
    except OSError:
        return ""


def show(title, fleet, report):
    from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import text

    sys.stdout.write(f"== {title}\n\n")
    sys.stdout.write(text.render(fleet, report=os.path.relpath(report)).rstrip() + "\n\n")
