# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with accelerators of several manufacturers, which are read at once: recorded, and through real ssh with one that hangs or crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nine
import plays
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
import lab_profile
import nodelab

ROLES = sorted(nine.PARTS)
DEADLINE = 5
# A Python that hangs on one module and crashes on another.
FAULTY = """#!/bin/sh
body=$(mktemp)
cat > $body
grep -q metax_info $body && exec sleep 3000
grep -q thead_info $body && kill -SEGV $$
exec /usr/bin/python3 < $body
"""
ONE_BY_ONE = [
    {
        "hosts": "accelerator_nodes",
        "gather_facts": False,
        "tasks": [
            {
                "fleetproof.accelerator.run_open": {"run_root": "{{ accelerator_run_root }}"},
                "delegate_to": "localhost",
                "run_once": True,
                "register": "accelerator_run",
            },
            {"ansible.builtin.set_fact": {"accelerator_run_directory": "{{ accelerator_run.run_directory }}"}},
            {"ansible.builtin.include_role": {"name": "fleetproof.accelerator.host"}},
            {
                "ansible.builtin.include_role": {"name": "fleetproof.accelerator.{{ item }}"},
                "loop": "{{ accelerator_manufacturers }}",
            },
        ],
    }
]


def recorded(folder, **changed):
    document = json.loads(json.dumps(nine.recording(*nine.all_nine(**changed))))
    return document, plays.write_inventory(folder / "nine.json", document)


def own_play(tasks, folder, inventory, *arguments):
    path = folder / "play.yml"
    path.write_text(yaml.safe_dump(tasks))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), str(path), "-i", str(inventory), "-e", "accelerator_run_root=%s" % (folder / "runs")]
    env = dict(os.environ, ANSIBLE_CONFIG=str(plays.ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run([*argv, *arguments], cwd=plays.ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    return plays.Run(done.returncode, done.stdout + done.stderr, folder / "runs")


def of_recording(folder, recording, **variables):
    hosts = {"nine": {"ansible_connection": "local", "accelerator_recording": str(recording), **variables}}
    return plays.write_inventory(folder / "inventory.json", {"accelerator_nodes": {"hosts": hosts}})


def told(run, node="nine"):
    """section -> (module, status, data)."""
    return {name: (part["module"], part["status"], part["data"]) for name, part in run.sections(node).items()}


def test_the_same_sections_as_one_after_the_other(tmp_path):
    _document, path = recorded(tmp_path, nvidia=nine.nvidia(mig={"hang": True}), amd=nine.amd(0))
    inventory = of_recording(tmp_path, path)
    at_once = plays.play("preflight", run_root=tmp_path / "at-once", inventory=inventory, variables={"accelerator_manufacturers": ROLES})
    (tmp_path / "one-by-one").mkdir()
    one_by_one = own_play(ONE_BY_ONE, tmp_path / "one-by-one", inventory, "-e", json.dumps({"accelerator_manufacturers": ROLES}))
    assert "of each manufacturer found, at once" in at_once.output and "Read the AMD accelerators" not in at_once.output
    assert "Read the NVIDIA accelerators" in one_by_one.output and one_by_one.code == 0, one_by_one.output
    both = told(at_once), told(one_by_one)
    assert len([name for name in both[0] if name.startswith("accelerators.")]) == 9
    assert set(both[0]) == set(both[1])
    for section in both[0]:
        assert both[0][section] == both[1][section], section


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_variables_of_one_role_are_of_that_one_alone(tmp_path, arguments):
    document, path = recorded(tmp_path)
    other = dict(document, commands=[entry for entry in document["commands"] if entry["argv"][0] != "ppu-smi"])
    plays.write_inventory(tmp_path / "other.json", other)
    inventory = of_recording(tmp_path, path, thead_recording=str(tmp_path / "other.json"), metax_allocation=False, amd_deadline="soon", nvidia_record=True)
    run = plays.play("preflight", *arguments, run_root=tmp_path / "runs", inventory=inventory)
    sections = run.sections("nine")
    assert "allocation.metax" not in sections and "accelerators.metax" in sections
    assert sections["accelerators.thead"]["data"]["detection"]["state"] != "ok" == sections["accelerators.nvidia"]["data"]["detection"]["state"]
    assert not [name for name in sections if name.endswith(".amd")] and "amd_deadline" in run.output, "a mistake in one role's variables is that role's"
    parts = sorted(path.name for path in (run.path / "recordings/parts").iterdir())
    assert parts == ["nine.allocation_info_nvidia.1.json", "nine.nvidia_info.1.json"]


def test_tags_that_are_left_out(tmp_path):
    _document, path = recorded(tmp_path)
    run = plays.play("preflight", "--skip-tags", "allocation", run_root=tmp_path / "runs", inventory=of_recording(tmp_path, path))
    sections = run.sections("nine")
    assert len([name for name in sections if name.startswith("accelerators.")]) == 9 and not [name for name in sections if name.startswith("allocation.")]


def test_what_a_timeout_of_the_task_itself_cuts_off_is_filed(tmp_path):
    """In a playbook of one's own: the section says why it is empty."""
    hanging = tmp_path / "python"
    hanging.write_text("#!/bin/sh\nexec sleep 3000\n")
    hanging.chmod(0o755)
    here = {"ansible_connection": "local", "ansible_python_interpreter": str(hanging)}
    inventory = plays.write_inventory(tmp_path / "inventory.json", {"accelerator_nodes": {"hosts": {"nine": here}}})
    read = {"fleetproof.accelerator.manufacturers_read": {"manufacturers": ["metax"]}, "timeout": 15}
    tasks = [*ONE_BY_ONE[0]["tasks"][:2], read]
    run = own_play([dict(ONE_BY_ONE[0], tasks=tasks)], tmp_path, inventory)
    assert run.code != 0 and told(run)["accelerators.metax"][1] == "timeout", run.output
    assert run.sections("nine")["accelerators.metax"]["reason"] == "given up: the task that reads all of them had 15 seconds"


@pytest.mark.parametrize(("parts", "names"), [([nine.hygon()], {"accelerators.hygon", "allocation.hygon"}), ([], set())])
def test_a_node_of_one_manufacturer_or_none_is_asked_each_thing_once(tmp_path, parts, names):
    path = plays.write_inventory(tmp_path / "one.json", json.loads(json.dumps(nine.recording(*parts))))
    run = plays.play("preflight", run_root=tmp_path / "runs", inventory=of_recording(tmp_path, path))
    sections = run.sections("nine")
    assert {"host", "pci", "kernel"} | names <= set(sections)
    assert not [name for name in sections if name.startswith(("accelerators.", "allocation.")) and name not in names]
    assert {part["attempt"] for part in sections.values()} == {1}, "nothing is read twice"


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """(run of lab nodes, the lab, run of their recording)."""
    if nodelab.why_not():
        pytest.skip(nodelab.why_not())
    folder = tmp_path_factory.mktemp("lab")
    document, path = recorded(folder)
    profile = lab_profile.build(document, folder / "nine")
    faulty = profile / "rootfs/usr/local/bin/faulty-python"
    faulty.write_text(FAULTY)
    faulty.chmod(0o755)
    lab = nodelab.Lab(folder / "state")
    try:
        lab.up(["nine", "sick"], profiles={"nine": profile, "sick": profile})
        # The deadline of the one that hangs alone: the others have all the time that a slow machine needs.
        hosts = {"nine": {}, "sick": {"ansible_python_interpreter": "/usr/local/bin/faulty-python", "metax_deadline": DEADLINE}}
        inventory = plays.write_inventory(folder / "inventory.json", {"accelerator_nodes": {"hosts": hosts, "vars": lab.variables()}})
        run = plays.play("preflight", run_root=folder / "runs", inventory=inventory, variables={"accelerator_record": True})
        yield run, lab, plays.play("preflight", run_root=folder / "replayed", inventory=of_recording(folder, path))
    finally:
        lab.down()


def of_cards(run, node):
    """Findings of cards. What is found of grants is not among them: a lab node has no device nodes."""
    told = [(f["rule"], f["level"], f["subject"]["id"]) for f in run.fleet()["findings"] if f["node"] == node and f["subject"]["kind"] != "node"]
    return sorted(finding for finding in told if finding[2].partition(":")[0] in ROLES and ":" in finding[2])


def test_all_nine_by_ssh_are_what_the_recording_is(live):
    run, _lab, replayed = live
    sections = run.sections("nine")
    assert {part["status"] for part in sections.values()} == {"read"} and set(sections) == set(replayed.sections("nine"))
    for name in ROLES:
        detection = sections["accelerators." + name]["data"]["detection"]
        assert detection["state"] == "ok" and detection["detail"] == replayed.sections("nine")["accelerators." + name]["data"]["detection"]["detail"]
    assert of_cards(run, "nine") == of_cards(replayed, "nine") != []


def test_one_that_hangs_and_one_that_crashes_leave_the_others_as_they_are(live):
    run, _lab, _replayed = live
    sick, fit = run.sections("sick"), run.sections("nine")
    ill = {name for name, part in sick.items() if part["status"] != "read"}
    assert {name.partition(".")[2] for name in ill} == {"metax", "thead"} and {"accelerators.metax", "accelerators.thead"} <= ill
    assert sick["accelerators.metax"]["status"] == "timeout" and "no answer within %d seconds" % (DEADLINE + 30) in sick["accelerators.metax"]["reason"]
    assert sick["accelerators.thead"]["status"] == "failed" and sick["accelerators.thead"]["reason"]
    for name in ROLES:
        if name not in ("metax", "thead"):
            assert sick["accelerators." + name]["data"]["devices"] == fit["accelerators." + name]["data"]["devices"]
            assert "allocation." + name in sick
            assert sick["accelerators." + name]["started"] < sick["accelerators.metax"]["finished"], "none waits until it is given up"
    assert not {"allocation.metax", "allocation.thead"} & set(sick), "what did not answer is asked no more"
    assert "Traceback" not in run.output


def test_every_manufacturers_part_is_recorded(live):
    run, _lab, _replayed = live
    parts = {path.name.split(".")[1] for path in (run.path / "recordings/parts").glob("nine.*")}
    assert {name + "_info" for name in ROLES} | {"allocation_info_" + name for name in ROLES} <= parts
    assert (run.path / "recordings/nine.json").is_file()
