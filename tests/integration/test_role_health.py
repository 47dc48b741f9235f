# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles in a playbook of a user's own, without a run directory: the entry point health of a manufacturer's, its whole role, and the role host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nine
import plays
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

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


HOST = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: fleetproof.accelerator.host
    - ansible.builtin.copy:
        content: "{{ host_read.sections | combine(host_surroundings.sections) | to_json }}"
        dest: "{{ told }}"
        mode: "0600"
"""


WHOLE = """\
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: fleetproof.accelerator.nvidia
    - ansible.builtin.copy:
        content: "{{ nvidia_allocation_read.sections | to_json }}"
        dest: "{{ told }}"
        mode: "0600"
"""


def play_of_their_own(folder, play, **variables):
    (folder / "play.yml").write_text(play, encoding="utf-8")
    told = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "told": str(folder / "told.json"), **variables}
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "a,", "-e", json.dumps(told), str(folder / "play.yml")]
    env = dict(os.environ, ANSIBLE_CONFIG=str(plays.ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run(argv, cwd=plays.ROOT, env=env, capture_output=True, text=True, timeout=plays.LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "told.json").read_text(encoding="utf-8"))


def test_the_health_of_a_manufacturers_devices(tmp_path):
    part = nine.nvidia(2, cards=[{}, {"pending": "Yes"}])
    recording = plays.write_inventory(tmp_path / "a.json", nine.recording(part, node="a"))
    health = play_of_their_own(tmp_path, PLAY, nvidia_recording=str(recording))
    assert (health["state"], [device["state"] for device in health["devices"]]) == ("fail", ["ok", "fail"])
    assert [one["rule"] for one in health["devices"][1]["findings"] if one["level"] == "fail"] == ["row-remap-pending"]


def test_the_role_host_reads_all_that_it_reads_in_a_run(tmp_path):
    recording = plays.write_inventory(tmp_path / "a.json", nine.recording(nine.nvidia(2), node="a"))
    sections = play_of_their_own(tmp_path, HOST, host_recording=str(recording))
    assert set(sections) == {*MODULES["accelerator_info"].sections, *MODULES["host_info"].sections}


def test_the_whole_role_of_a_manufacturer_without_a_run(tmp_path):
    recording = plays.write_inventory(tmp_path / "a.json", nine.recording(nine.nvidia(2), node="a"))
    sections = play_of_their_own(tmp_path, WHOLE, nvidia_recording=str(recording))
    assert set(sections) == {"allocation.nvidia", "paths.nvidia"}
    told = sections["allocation.nvidia"]
    assert (told["note"], len(told["grants"])) == ("", 2), "what the first step found was handed on"
    assert {row["state"] for row in told["checks"]} - {"not-declared"}
