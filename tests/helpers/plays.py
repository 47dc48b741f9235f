# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the playbooks of this clone as a user does, and reads what they left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fleet_document

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds: only to end a test that hangs


class Run:
    """One finished playbook: its exit code, its output, and the newest run below its run root."""

    def __init__(self, code, output, root):
        self.code, self.output, self.root = code, output, Path(root)

    @property
    def path(self):
        return (self.root / "latest").resolve(strict=True)

    def fleet(self):
        return read(self.path / "fleet.json")

    def sections(self, node):
        """section -> newest envelope."""
        found = {}
        for path in sorted((self.path / "nodes" / node).glob("*.json"), key=lambda p: int(p.name.split(".")[-2])):
            found[path.name.rsplit(".", 2)[0]] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def verdicts(self):
        return {entry["node"]: entry["verdict"] for entry in self.fleet()["verdicts"]}

    def findings(self, *rules):
        """(node, rule, subject id), of the rules whose names start so."""
        told = self.fleet()["findings"]
        return sorted((f["node"], f["rule"], _subject(f["subject"])) for f in told if not rules or f["rule"].startswith(rules))


def _subject(subject):
    first = subject[0] if isinstance(subject, list) else subject
    return first["id"] if isinstance(first, dict) else str(first)


def start(name, *arguments, run_root, inventory=None, variables=None):
    """Start a playbook; give the process to finish()."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "fleetproof.accelerator." + name]
    if inventory is not None:
        argv += ["-i", str(inventory)]
    argv += ["-e", json.dumps({"accelerator_run_root": str(run_root), **(variables or {})}), *arguments]
    env = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1", ANSIBLE_FORCE_COLOR="0", COLUMNS="100")
    return subprocess.Popen(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process, run_root):
    try:
        output, _none = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    return Run(process.returncode, output, run_root)


def play(name, *arguments, run_root, inventory=None, variables=None):
    return finish(start(name, *arguments, run_root=run_root, inventory=inventory, variables=variables), run_root)


def write_inventory(path, document):
    Path(path).write_text(json.dumps(document), encoding="utf-8")
    return path


def read(path):
    """The document of a file; a fleet document as it is in memory."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    return fleet_document.whole(document) if Path(path).name == "fleet.json" else document
