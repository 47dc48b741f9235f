# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry point health of a manufacturer's role in a playbook of a user's own, without a run directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nine
import plays

PLAY = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: fleetproof.accelerator.nvidia
        tasks_from: health
    - ansible.builtin.copy:
        content: "{{ nvidia_health | to_json }}"
        dest: "{{ told }}"
        mode: "0600"
"""


def test_a_play_of_a_users_own(tmp_path):
    part = nine.nvidia(2, cards=[{}, {"pending": "Yes"}])
    recording = plays.write_inventory(tmp_path / "a.json", nine.recording(part, node="a"))
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    told = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "nvidia_recording": str(recording),
        "told": str(tmp_path / "told.json"),
    }
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "a,", "-e", json.dumps(told), str(tmp_path / "play.yml")]
    env = dict(os.environ, ANSIBLE_CONFIG=str(plays.ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run(argv, cwd=plays.ROOT, env=env, capture_output=True, text=True, timeout=plays.LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    health = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (health["state"], [device["state"] for device in health["devices"]]) == ("fail", ["ok", "fail"])
    assert [one["rule"] for one in health["devices"][1]["findings"] if one["level"] == "fail"] == ["row-remap-pending"]
