# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook of the user's own that wraps ours, as an AWX project has one: its variables judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import plays
import pytest

WRAPPER = """\
- name: Ours
  ansible.builtin.import_playbook: fleetproof.accelerator.preflight
  vars:
    wanted: 7
    accelerator_expected_count: "{{ wanted }}"
    accelerator_policy_pcie_width_level: %s
"""


def run(tmp_path, level, *arguments):
    (tmp_path / "site.yml").write_text(WRAPPER % level)
    inventory = {"accelerator_nodes": {"hosts": {"gpu-h01": {}}, "vars": {}}}
    inventory["accelerator_nodes"]["vars"]["accelerator_recording"] = str(plays.ROOT / "inventories/demo/recordings/gpu-h01.yml")
    inventory["accelerator_nodes"]["vars"]["accelerator_expected_count"] = 8
    plays.write_inventory(tmp_path / "hosts.json", inventory)
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(tmp_path / "site.yml"), "-i", str(tmp_path / "hosts.json")]
    argv += ["-e", json.dumps({"accelerator_run_root": str(tmp_path / "runs")}), *arguments]
    env = dict(os.environ, ANSIBLE_CONFIG=str(plays.ROOT / "ansible.cfg"))
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=plays.LIMIT, check=False)
    return plays.Run(done.returncode, done.stdout + done.stderr, tmp_path / "runs")


def test_variables_of_the_wrapper_win_over_the_inventory(tmp_path):
    done = run(tmp_path, "warn")
    assert done.code == 2, done.output
    assert ("gpu-h01", "accelerator-count", "gpu-h01") in done.findings("accelerator-count")
    (policy,) = (done.path / "policies").glob("*.json")
    assert plays.read(policy)["accelerator_policy_pcie_width_level"] == "warn"


def test_extra_variables_win_over_the_wrapper(tmp_path):
    done = run(tmp_path, "warn", "-e", json.dumps({"accelerator_expected_count": 8}))
    assert done.code == 0, done.output
    assert done.verdicts() == {"gpu-h01": "accepted"}


@pytest.mark.parametrize("level", ["loud"])
def test_what_is_wrong_in_the_wrapper_is_told(tmp_path, level):
    done = run(tmp_path, level)
    assert done.code == 2
    assert "accelerator_policy_pcie_width_level" in done.output and "loud" in done.output
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/run.json"))
