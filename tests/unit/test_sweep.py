# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines are swept, how they are addressed, and which failure makes a run's results unsafe; with clients that write down what they are told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from allocation_samples import OK, accelerator
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command, probe, sweep
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable

CLIENT = """#!/bin/sh
echo "${{0##*/}} $*" >> {here}/calls
case " $* " in
*" ps "*) {listing} ;;
*" rm "*) {removal} ;;
esac
"""
NOTHING = not_applicable("none")
DOCKER = {"cli": "docker", "socket": NOTHING, "namespace": NOTHING}
NERDCTL = {"cli": "nerdctl", "socket": "/run/c.sock", "namespace": "fleetproof-preflight"}
LABEL = "label=" + container_command.LABEL
FAIL = "echo 'permission denied' >&2; exit 1"


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "_PAUSE", 0.0)

    class Node:
        here = tmp_path

        def client(self, name, listing="echo a1; echo b2", removal=":"):
            path = tmp_path / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(CLIENT.format(here=tmp_path, listing=listing, removal=removal))
            path.chmod(0o755)
            return self

        def calls(self):
            path = tmp_path / "calls"
            return path.read_text().splitlines() if path.exists() else []

        def sweep(self, resolved, withheld=""):
            host = LiveHost(path="%s/bin" % tmp_path)
            self.hand = hold.hold(host, withheld, str(tmp_path / "state"), "")
            self.hand.take()
            try:
                return sweep.sweep(self.hand, resolved)
            finally:
                self.hand.end()
                host.close()

    return Node()


def test_both_engines_by_label_and_their_own_namespace(node):
    node.client("docker").client("nerdctl")
    made = node.sweep(NERDCTL)
    assert node.calls() == [
        "docker ps -aq --filter " + LABEL,
        "docker rm -f a1 b2",
        "nerdctl --address /run/c.sock --namespace fleetproof-preflight ps -aq --filter " + LABEL,
        "nerdctl --address /run/c.sock --namespace fleetproof-preflight rm -f a1 b2",
    ]
    assert made == {"removed": [{"cli": "docker", "ids": ["a1", "b2"]}, {"cli": "nerdctl", "ids": ["a1", "b2"]}], "errors": [], "unlisted": []}
    assert [(one["kind"], one["outcome"]) for one in node.hand.journal] == [("lock", "kept"), ("stale", "removed"), ("stale", "removed")]


def test_ctr_counts_as_nerdctl_and_is_never_swept_itself(node):
    node.client("nerdctl", "true").client("ctr")
    node.sweep(dict(NERDCTL, cli="ctr", nerdctl_absent=True))
    assert node.calls() == ["nerdctl --address /run/c.sock --namespace fleetproof-preflight ps -aq --filter " + LABEL]


def test_the_other_one_is_addressed_as_if_it_were_resolved(node):
    node.client("nerdctl", "true").client("docker", "true")
    node.sweep(DOCKER)
    other = [call for call in node.calls() if call.startswith("nerdctl")]
    assert len(other) == 1 and "--namespace fleetproof-preflight" in other[0]


@pytest.mark.parametrize("cli", [NOTHING, {"unknown": "EACCES"}, None])
def test_no_runtime_is_no_sweep(node, cli):
    node.client("docker")
    assert node.sweep({"cli": cli}) == {"removed": [], "errors": [], "unlisted": []} and node.calls() == []


def test_nothing_listed_is_nothing_removed(node):
    node.client("docker", "true")
    assert node.sweep(DOCKER)["removed"] == [] and len(node.calls()) == 1


def test_a_listing_that_fails_counts_only_for_the_engine_that_is_driven(node):
    node.client("docker", FAIL).client("nerdctl", "true")
    assert node.sweep(DOCKER)["errors"] == ["docker: exit 1: permission denied"]
    made = node.sweep(NERDCTL)
    assert made["errors"] == [] and made["unlisted"] == ["docker: exit 1: permission denied"]


@pytest.mark.parametrize("resolved", [DOCKER, NERDCTL])
def test_a_removal_that_fails_counts_on_any(node, resolved):
    node.client("docker", removal=FAIL).client("nerdctl", "true")
    made = node.sweep(resolved)
    assert made["errors"] == ["docker: exit 1: permission denied"] and made["removed"] == []
    assert [one["outcome"] for one in node.hand.journal if one["kind"] == "stale"] == [hold.LEFT]


ENDING = """if [ -e {here}/gone ]; then exit 0; fi; echo a1; echo b2"""
REFUSED = "echo 'removal of container a1 is already in progress' >&2; : > {here}/gone; exit 1"


def test_a_container_that_goes_by_itself_while_it_is_removed_is_no_failure(node):
    node.client("docker", ENDING.format(here=node.here), REFUSED.format(here=node.here))
    made = node.sweep(DOCKER)
    assert made["errors"] == [] and made["removed"] == [{"cli": "docker", "ids": ["a1", "b2"]}]
    assert [one["outcome"] for one in node.hand.journal if one["kind"] == "stale"] == [hold.REMOVED] and len(node.calls()) == 3


def test_of_two_the_one_that_stays_is_removed_again(node):
    node.client(
        "docker",
        f"case $(/bin/cat {node.here}/n 2>/dev/null) in 2) ;; 1) echo b2 ;; *) echo a1; echo b2 ;; esac",
        f"if [ -e {node.here}/n ]; then echo 2 > {node.here}/n; else echo 1 > {node.here}/n; exit 1; fi",
    )
    made = node.sweep(DOCKER)
    assert made["errors"] == [] and node.calls()[1::2] == ["docker rm -f a1 b2", "docker rm -f b2"]


@pytest.mark.parametrize("fails", [False, True])
def test_containers_go_before_what_they_mount(node, fails):
    """An engine that is just starting one would make directories of files that are gone; where it does not answer, they stay for the next run."""
    stale = node.here / "state" / "preflight-x"
    stale.mkdir(parents=True)
    node.client("docker", f"if [ -e {stale} ]; then echo there >> {node.here}/calls; fi; {FAIL if fails else ':'}")
    host = LiveHost(path="%s/bin" % node.here)
    given = {"manufacturer": "thead", "devices": [accelerator("thead")], "detection": OK, "image": "i:1", "runtime": "docker"}
    section = probe.collect(host, given, str(node.here / "state"), "")
    host.close()
    assert node.calls()[:2] == ["docker ps -aq --filter " + LABEL, "there"] and stale.exists() is fails
    assert ("stale-container-sweep" in {row["capability"] for row in section["checks"]}) is fails


def test_rows_are_one_for_each_accelerator(node):
    rows = sweep.rows(["GPU-1", "GPU-2"], ["docker: exit 1", "nerdctl: timeout"])
    assert [(one["accelerator"], one["capability"], one["mode"], one["state"], one["depth"]) for one in rows] == [
        (name, "stale-container-sweep", "unnamed", "unavailable", "declared") for name in ("GPU-1", "GPU-2")
    ]
    assert {one["reason"] for one in rows} == {"earlier probe containers could not be cleared, results here are unsafe: docker: exit 1; nerdctl: timeout"}
    assert sweep.rows(["GPU-1"], []) == []


def test_check_mode_lists_and_says_what_it_would_remove(node):
    node.client("docker")
    made = node.sweep(DOCKER, "this is check mode")
    assert made == {"removed": [], "errors": [], "unlisted": []} and node.calls() == ["docker ps -aq --filter " + LABEL]
    assert node.hand.journal[1] == {"kind": "stale", "what": "docker rm -f a1 b2", "outcome": "intended", "detail": ""}
    node.client("docker", FAIL)
    assert node.sweep(DOCKER, "this is check mode")["errors"] == []


def test_a_replay_that_recorded_no_sweep_has_no_failure():
    recording = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "programs": {"docker": "/usr/bin/docker"}}
    hand = hold.hold(ReplayHost(recording))
    assert sweep.sweep(hand, DOCKER) == {"removed": [], "errors": [], "unlisted": []}


def test_containers_of_this_run_are_looked_for_at_its_end(node):
    node.client("docker", "true")
    host = LiveHost(path="%s/bin" % node.here)
    hand = hold.hold(host, root=str(node.here / "state"), operator_lock="")
    hand.take()
    assert sweep.settled(hand, DOCKER) == "" and node.calls() == [], "nothing was started"
    hand.start(["docker", "run", "x"], "container")
    assert sweep.settled(hand, DOCKER) == "" and hand.journal[-1]["outcome"] == hold.REMOVED
    hand.start(["docker", "run", "x"], "container")
    node.client("docker")
    assert sweep.settled(hand, DOCKER) == "" and hand.journal[-1] == dict(hand.journal[-1], outcome="removed", detail="removed by force")
    hand.start(["docker", "run", "x"], "container")
    node.client("docker", removal=FAIL)
    assert sweep.settled(hand, DOCKER) == "exit 1: permission denied" and hand.journal[-1]["outcome"] == hold.LEFT
    hand.end()


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_client_that_outlives_a_killed_run_is_ended_before_the_sweep(node):
    """It would start its container after the sweep: an image that takes minutes to come. A client with a parent is somebody's who lives."""
    node.client("docker", "true")
    argv = ["docker", "-c", "import time; time.sleep(60)", "run", "--rm", "--label", container_command.LABEL, "image"]
    code = "import os, subprocess, sys; print(subprocess.Popen(%r, executable=sys.executable, stdout=2).pid, os.getppid(), flush=True)" % argv
    made = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    orphan = int(made.stdout.split()[0])
    held = subprocess.Popen(argv, executable=sys.executable)
    try:
        with open("/proc/%d/stat" % orphan, encoding="ascii") as stat:
            if stat.read().rpartition(")")[2].split()[1] != "1":
                pytest.skip("orphans have another parent here than the first process")
        node.sweep(DOCKER, "this is check mode")
        assert alive(orphan), "nothing is ended in check mode"
        node.sweep(DOCKER)
        assert not alive(orphan) and held.poll() is None
        assert any(one["what"].startswith("process %d" % orphan) for one in node.hand.journal)
    finally:
        held.kill()
        held.wait()
        if alive(orphan):
            os.kill(orphan, signal.SIGKILL)
