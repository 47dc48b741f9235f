# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The acceptance of lab nodes through real ssh that asks their drivers, also when its module is killed while the mode is on."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import ascend_samples
import driver_shims
import plays
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
import lab_profile
import nodelab

pytestmark = pytest.mark.skipif(bool(nodelab.why_not()), reason=nodelab.why_not() or "lab nodes can be had")

D = "/var/tmp/driver"
ELSE = '#!/bin/sh\ncase "$*" in *device-share*) ;; *) exec /usr/local/bin/npu-smi.real "$@" ;; esac\n'
ALLOWED = {"accelerator_allow_driver_writes": True, "accelerator_deadline": 40}


def recording():
    commands = {"info": ascend_samples.table("plain", [{"npu": 0}], [0]), "info -l": ascend_samples.listing([0]), "info -m": ""}
    return {
        "files": {"/sys/bus/pci/devices": {"dir": []}},
        "commands": [{"argv": ["npu-smi", *words.split()], "stdout": text} for words, text in commands.items()],
    }


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    profiles = {}
    for node in ("plain", "killed", "stuck"):
        profiles[node] = lab_profile.build(recording(), folder / node)
        tool = profiles[node] / "rootfs/usr/local/bin/npu-smi"
        tool.rename(tool.with_suffix(".real"))
        tool.write_text(ELSE + (driver_shims.NPU_SMI % D).partition("\n")[2])
        tool.chmod(0o755)
        state = profiles[node] / ("rootfs%s/state.0.0" % D)
        state.parent.mkdir(parents=True)
        state.write_text("False\n")
    nodes = nodelab.Lab(folder / "state")
    try:
        nodes.up(list(profiles), profiles=profiles)
        yield nodes
    finally:
        nodes.down()


class Node:
    def __init__(self, lab, name, folder):
        self.lab, self.name, self.folder = lab, name, folder
        variables = {**lab.variables(), "accelerator_manufacturers": ["ascend"]}
        self.inventory = plays.write_inventory(folder / "inventory.json", {"accelerator_nodes": {"hosts": {name: {}}, "vars": variables}})

    def start(self, playbook="acceptance", *arguments, **variables):
        return plays.start(playbook, *arguments, run_root=self.folder / "runs", inventory=self.inventory, variables=variables)

    def play(self, playbook="acceptance", *arguments, **variables):
        return plays.finish(self.start(playbook, *arguments, **variables), self.folder / "runs")

    def finish(self, process):
        return plays.finish(process, self.folder / "runs")

    def sh(self, command):
        return self.lab.execute(self.name, "sh", "-c", command).stdout.strip()

    def state(self):
        return self.sh("cat %s/state.0.0" % D)

    def sets(self):
        return self.sh("grep ^set %s/calls" % D).splitlines()

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.05)
        return False

    def notes(self):
        return self.sh("ls -A /var/lib/fleetproof-accelerator 2>/dev/null")


def row_of(run, node):
    (row,) = run.sections(node)["slicing.ascend"]["data"]["checks"]
    return row


def test_the_driver_is_asked_in_acceptance_where_the_site_allows_it(lab, tmp_path):
    node = Node(lab, "plain", tmp_path)
    for playbook, variables in (("preflight", ALLOWED), ("acceptance", {})):
        run = node.play(playbook, **variables)
        assert "slicing.ascend" not in run.sections("plain") and node.sets() == [], run.output
        (row,) = [row for row in run.sections("plain")["allocation.ascend"]["data"]["checks"] if row["capability"] == "container-share"]
        assert row["state"] == "ok" and row["command"].endswith("-d 1") and row["evidence"] == ""
        outcome = {entry["rule"]: entry["outcome"] for entry in run.fleet()["coverage"]}
        assert outcome["row-container-share"] == "not_run"
    run = node.play("acceptance", "--check", **ALLOWED)
    assert node.sets() == [] and row_of(run, "plain")["detail"].startswith("off, not asked: ")
    assert run.sections("plain")["slicing.ascend"]["data"]["would_ask"]
    run = node.play(**ALLOWED)
    assert row_of(run, "plain")["detail"] == "was off, the driver accepted on, put back", run.output
    assert [words.split()[-1] for words in node.sets()] == ["1", "0"] and node.state() == "False" and node.notes() == ""
    assert "changed=1" in run.output
    assert "row-container-share" not in {entry["rule"] for entry in run.fleet()["coverage"]}


def test_the_module_is_killed_while_the_mode_is_on(lab, tmp_path):
    node = Node(lab, "killed", tmp_path)
    node.sh("echo 'while [ ! -f $D/go ]; do sleep 0.02; done' > %s/after_on" % D)
    playing = node.start(**ALLOWED)
    assert node.until(lambda: node.state() == "True"), node.finish(playing).output
    hand = node.sh("cat %s/hand" % D)
    assert node.sh("kill -9 $(awk '{print $4}' /proc/%s/stat) && echo killed" % hand) == "killed"
    filed = tmp_path / "runs" / "latest" / "nodes" / "killed" / "slicing.ascend.1.json"
    assert node.until(filed.exists), "the connection ends although the mode is on and the hand alive: nothing holds it"
    assert node.state() == "True" and node.sh("kill -0 %s && echo alive" % hand) == "alive"
    node.sh("touch %s/go" % D)
    assert node.until(lambda: node.state() == "False" and node.notes() == "")
    assert [words.split()[-1] for words in node.sets()] == ["1", "0"]
    run = node.finish(playing)
    section = run.sections("killed")["slicing.ascend"]
    assert section["status"] == "failed" and section["reason"], section
    assert run.verdicts() == {"killed": "incomplete"}


def test_a_mode_left_on_is_loud_and_the_next_preflight_finds_it(lab, tmp_path):
    node = Node(lab, "stuck", tmp_path)
    node.sh("""printf "printf '\\tStatus : Fail\\n'; exit 5\\n" > %s/off""" % D)
    remedy = "npu-smi set -t device-share -i 0 -c 0 -d 0"
    for playbook, variables in (("acceptance", ALLOWED), ("preflight", {})):
        run = node.play(playbook, **variables)
        (finding,) = [one for one in run.fleet()["findings"] if one["rule"] == "row-container-share"]
        assert finding["level"] == "fail" and "left ON" in finding["summary"] and remedy in finding["remedy"], finding
        assert run.verdicts() == {"stuck": "rejected"}
    assert node.state() == "True" and node.notes() == "ascend-0-0"
    (left,) = node.play(**ALLOWED).sections("stuck")["slicing.ascend"]["data"]["left_on"]
    assert left["command"] == remedy
    node.sh("rm %s/off; echo Y | %s" % (D, remedy))
    run = node.play(**ALLOWED)
    assert row_of(run, "stuck")["state"] == "ok" and node.state() == "False" and node.notes() == ""
