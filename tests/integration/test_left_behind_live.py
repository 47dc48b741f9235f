# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With a real Docker: what is told runs as it is printed, and what a killed run leaves the next one clears. Skipped where Docker cannot be started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import probe_engines
import pytest
from allocation_samples import OK, accelerator
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command, emitted, grants, probe, sweep
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

SHOW = ["sh", "-c", 'echo "cap=$CAP"; cat /etc/enpu/vcann-rt/npu_info.config; if [ -c /dev/zero0 ]; then echo node; fi; echo \'$HOME is "quoted"\'']
SAID = 'cap=a b\'c "d" $HOME `id`\nmemory-quota=12282\nnode\n$HOME is "quoted"\n'
RUN = """
import os, sys
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import sweep
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
path, root, *argv = sys.argv[1:]
hand = hold.hold(LiveHost(path=path), root=root, operator_lock="")
assert hand.take() == hold.TAKEN
assert hand.write(root + "/preflight-x/npu_info.config", "memory-quota=12282") == ""
hand.start(argv, "container", 60)
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    here = tmp_path_factory.mktemp("e")
    daemon, socket = probe_engines.dockerd(here)
    try:
        probe_engines.load(["docker", "-H", "unix://%s" % socket], probe_engines.image_tree(here / "tree"))
        bin_ = here / "bin"
        bin_.mkdir()
        probe_engines.client(bin_, "docker", [shutil.which("docker"), "-H", "unix://%s" % socket])
        yield {"socket": socket, "path": "%s:/usr/bin:/bin" % bin_, "resolved": {"cli": "docker", "socket": None, "namespace": None}}
    finally:
        daemon.end()


def docker(engine, *words):
    return subprocess.run(["docker", "-H", "unix://%s" % engine["socket"], *words], capture_output=True, text=True, check=False)


def listed(engine):
    return docker(engine, "ps", "-aq", "--filter", "label=" + container_command.LABEL).stdout.split()


def until(true):
    for _attempt in range(200):
        if true():
            return True
        time.sleep(0.05)
    return False


def grant(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "npu_info.config").write_text("memory-quota=12282\n")
    mounts = [grants.mount(str(tmp_path / "made"), "/etc/enpu/vcann-rt", True, "made", {"npu_info.config": "memory-quota=12282\n"})]
    return dict(grants.new({"CAP": 'a b\'c "d" $HOME `id`'}, (), mounts), device_nodes=[{"path": "/dev/zero", "permissions": "rwm"}])


def steps(engine, tmp_path, **more):
    words = [word.replace("/dev/zero0", "/dev/zero") for word in SHOW]
    return emitted.step(engine["resolved"], grant(tmp_path), probe_engines.IMAGE, words, **more)


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("more", [{"forced": "this is check mode"}, {"warning": "names are resolved elsewhere"}, {"root": "/proc/self/root"}], ids=str)
def test_a_command_that_is_told_runs_as_it_is_printed(engine, tmp_path, shell, more):
    step = steps(engine, tmp_path, **more)
    environment = {"PATH": engine["path"], "HOME": "/nowhere"}
    pasted = subprocess.run([shell], input=step.command + "\n", capture_output=True, text=True, env=environment, check=False)
    assert (pasted.returncode, pasted.stdout) == (0, SAID), pasted.stderr
    ran = subprocess.run(step.argv, capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stdout) == (0, SAID), "the same as what is run"
    assert until(lambda: listed(engine) == [])


def test_two_at_once_as_they_are_printed(engine, tmp_path):
    step = steps(engine, tmp_path)
    line = container_command.together(step.argv, step.argv)
    pasted = subprocess.run(["sh"], input=line + "\n", capture_output=True, text=True, env={"PATH": engine["path"]}, check=False)
    assert sorted(pasted.stdout.splitlines()) == sorted(SAID.splitlines() * 2) and until(lambda: listed(engine) == [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_run_leaves_the_next_one_clears(engine, tmp_path, number):
    root = str(tmp_path / "state")
    argv = container_command.argv(engine["resolved"], grant(tmp_path), probe_engines.IMAGE, ["sleep", "600"])
    other = docker(engine, "run", "-d", "--rm", "--label", "somebody=else", probe_engines.IMAGE, "sleep", "600").stdout.strip()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.Popen([sys.executable, "-c", RUN, engine["path"], root, *argv], env=environment, start_new_session=True)
    assert until(lambda: listed(engine) and os.path.isdir(root)), "the container never started"
    os.kill(run.pid, number)
    run.wait(20)
    assert listed(engine) and sorted(os.listdir(root)) == ["lock", "preflight-x"]

    host = LiveHost(path=engine["path"])
    hand = hold.hold(host, root=root, operator_lock="")
    assert hand.take() == hold.TAKEN, "the lock went with the process"
    made = sweep.sweep(hand, engine["resolved"])
    hand.end()
    host.close()
    assert made["errors"] == [] and len(made["removed"]) <= 1
    assert until(lambda: listed(engine) == []) and os.listdir(root) == ["lock"]
    assert any(entry["kind"] == "stale" and entry["outcome"] == "removed" for entry in hand.journal)
    assert other in docker(engine, "ps", "-q", "--no-trunc").stdout.split(), "what is not ours stays"
    docker(engine, "rm", "-f", other)


def test_a_daemon_that_does_not_answer_makes_the_results_unsafe(engine, tmp_path):
    (tmp_path / "bin").mkdir()
    probe_engines.client(tmp_path / "bin", "docker", [shutil.which("docker"), "-H", "unix://%s/nobody.sock" % tmp_path])
    host = LiveHost(path="%s/bin:/usr/bin:/bin" % tmp_path)
    hand = hold.hold(host, root=str(tmp_path / "state"), operator_lock="")
    hand.take()
    made = sweep.sweep(hand, engine["resolved"])
    hand.end()
    host.close()
    (row,) = sweep.rows(["GPU-1"], made["errors"])
    assert row["state"] == "unavailable" and "docker: exit 1: " in row["reason"] and "nobody.sock" in row["reason"]


def test_a_container_whose_client_was_ended_is_taken_away_at_the_end(engine, tmp_path):
    host = LiveHost(path=engine["path"])
    hand = hold.hold(host, root=str(tmp_path / "state"), operator_lock="")
    hand.take()
    argv = container_command.argv(engine["resolved"], grant(tmp_path), probe_engines.IMAGE, ["sleep", "600"])
    assert hand.start(argv, "container", 3).status == "timeout"
    assert sweep.settled(hand, engine["resolved"]) == "" and listed(engine) == []
    assert [(one["kind"], one["outcome"]) for one in hand.journal] == [("lock", "kept"), ("container", "removed")]
    hand.end()
    host.close()


def probed(engine, tmp_path, **options):
    """Rows of a slice and what was written, by a prober that puts the libraries into an installed tree first."""
    given = {"manufacturer": "thead", "devices": [accelerator("thead")], "detection": OK, "driver": {}, "image": probe_engines.IMAGE, "pull": "never"}
    given.update({"slicing_library_target": str(tmp_path / "installed"), "runtime": "docker", **options})
    host = LiveHost(path=engine["path"], deadline=120)
    try:
        section = probe.collect(host, given, str(tmp_path / "state"), "")
    finally:
        host.close()
    return {row["capability"]: row for row in section["checks"]}, {entry["kind"]: entry for entry in section["writes"]}


def test_libraries_are_staged_for_the_time_of_the_probes(engine, tmp_path):
    source = probe_engines.libraries(tmp_path / "operator", "caps")
    with probe_engines.nodes("/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu0"):
        rows, writes = probed(engine, tmp_path, slicing_library_root=source)
        row = rows["sliced-runtime-loaded"]
        assert (row["state"], row["depth"]) == ("ok", "measured") and "%s/installed/thead/hggc_quota.so" % tmp_path in row["command"]
        assert writes["library"]["outcome"] == "removed" and not (tmp_path / "installed").exists()

        (tmp_path / "installed" / "thead").mkdir(parents=True)
        (tmp_path / "installed" / "thead" / "hggc_quota.so").write_bytes(b"another version")
        rows, writes = probed(engine, tmp_path, slicing_library_root=source)
        row = rows["sliced-runtime-loaded"]
        told = "the slicing libraries could not be staged: another version is installed there: hggc_quota.so"
        assert (row["state"], row["depth"]) == ("ok", "simulated") and told in row["detail"] and row["command"] and not row["evidence"]
        assert rows["container-device"]["depth"] == "measured", "what needs no library is started"
        assert os.listdir(tmp_path / "installed" / "thead") == ["hggc_quota.so"] and writes["library"]["outcome"] == "failed"

        rows, writes = probed(engine, tmp_path, slicing_library_root=source, slicing_library_replace=True)
        assert rows["sliced-runtime-loaded"]["depth"] == "measured"
        assert os.listdir(tmp_path / "installed" / "thead") == ["hggc_quota.so"], "what was there stays, of the version that was wanted"

        rows, writes = probed(engine, tmp_path, slicing_library_root=source, check_mode=True)
        assert writes["library"]["outcome"] == "intended" and writes["lock"]["outcome"] == "intended"
        rows, writes = probed(engine, tmp_path, slicing_library_root=source, slicing_library_target="", check_mode=True)
        assert {kind: entry["outcome"] for kind, entry in writes.items()} == dict.fromkeys(("lock", "directory", "container"), "intended")
    assert until(lambda: listed(engine) == []) and os.listdir(tmp_path / "state") == ["lock"]
