# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door out of the zip that ansible makes of a module, where there are no files to import from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import interpreters

pytest.importorskip("ansible", reason="needs ansible-core")

ROOT = Path(__file__).resolve().parents[2]
MODULE = """#!/usr/bin/python
from __future__ import annotations
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon_cndev, nvidia_nvml


def main():
    module = AnsibleModule(argument_spec={})
    host = RecordingHost(LiveHost(deadline=30))
    result = {"file": host.read_text("/proc/version").status, "native": host.native("nvml", nvidia_nvml, timeout=20).status}
    result["shared"] = host.native("libcndev", cambricon_cndev, timeout=20, arguments={"cards": []}).detail
    result["hang"] = host.run(["sh", "-c", "trap '' TERM; sleep 600"], timeout=1).reason
    result["held"] = host.run(["sh", "-c", "sleep 600 & echo said"], timeout=20).stdout
    # leaves the session and ignores us: ansible must see the end of the module's output all the same
    result["daemon"] = host.run(["setsid", "sh", "-c", "trap '' TERM HUP; sleep 20"], timeout=1).status
    result["loader"] = type(sys.modules[LiveHost.__module__].__loader__).__name__
    result["recording"] = host.recording()
    host.close()
    module.exit_json(changed=False, **result)


import sys

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("python", sorted({min(interpreters().items())[1], max(interpreters().items())[1]}))
def test_the_door_works_out_of_a_zip(python, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "door_probe.py").write_text(MODULE)
    (tmp_path / "ansible.cfg").write_text("[defaults]\nstdout_callback = ansible.builtin.minimal\n")
    env = dict(os.environ, ANSIBLE_CONFIG=str(tmp_path / "ansible.cfg"), ANSIBLE_COLLECTIONS_PATH=str(ROOT / ".cache" / "collections"))
    env.update(ANSIBLE_LOCAL_TEMP=str(tmp_path / "local"), ANSIBLE_REMOTE_TEMP=str(tmp_path / "remote"), ANSIBLE_NOCOLOR="1")
    command = [sys.executable, "-m", "ansible.cli.adhoc", "node", "-i", "node,", "-c", "local", "-M", str(tmp_path / "library"), "-m", "door_probe"]
    command += ["-e", "ansible_python_interpreter=" + python]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout.partition("=>")[2])
    assert answer["loader"] == "zipimporter"
    assert (answer["file"], answer["held"], answer["daemon"]) == ("ok", "said\n", "ok")
    assert "timeout (no answer in time)" in answer["hang"]
    assert answer["native"] in ("ok", "absent", "io_error")
    assert answer["shared"].startswith("none of "), "what the readers share is imported out of the zip"
    assert len(answer["recording"]["commands"]) == 3
