# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hold of a run on a node: the lock, the files below it, libraries that are staged, and the journal of all of it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost

RUN = """
import json, os, signal, sys
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost

state, source = sys.argv[1:]
root = state + "/accelerator"

def run(last):
    "One run in a process of its own, ended before its system call number `last`: (exit, what it says)."
    told, say = os.pipe()
    pid = os.fork()
    if pid:
        os.close(say)
        with open(told) as said:
            said = said.read()
        status = os.waitpid(pid, 0)[1]
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, said
    host, count = LiveHost(), 0
    hand = hold.hold(host, root=root, operator_lock="")
    host.stat("/")
    def counted(real):
        def call(*args, **more):
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)
        return call
    real = os.write
    for name in ("open", "mkdir", "write", "fchmod", "fsync", "replace", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))
    state = hand.take()
    troubles = [
        hand.stage(source, root + "/lib/nvidia"), hand.directory(root + "/preflight-x/barrier", 0o777),
        hand.write(root + "/preflight-x/etc/npu_info.config", "memory-quota=1")]
    hand.start(["true"], "container")
    hand.settle("container", hold.REMOVED)
    hand.end()
    real(say, json.dumps([state, troubles, hand.footprint()]).encode())
    os._exit(0)

def tree():
    return sorted(os.path.relpath(os.path.join(folder, name), state) for folder, folders, names in os.walk(state) for name in folders + names)

first = run(0)
steps = []
for step in range(1, 1000):
    ended, _said = run(step)
    left = tree()
    _ended, said = run(0)
    steps.append([step, ended, left, json.loads(said), tree()])
    if not ended:
        break
print(json.dumps([json.loads(first[1]), steps]))
"""


@pytest.fixture
def place(tmp_path):
    source = tmp_path / "operator" / "nvidia"
    (source / "cuda-12").mkdir(parents=True)
    (source / "ld.so.preload").write_text("/usr/local/vgpu/libvgpu.so\n")
    (source / "cuda-12" / "libvgpu.so").write_bytes(b"\x7fELF" + b"v1" * 1000)
    (source / "cuda-12" / "libvgpu.so").chmod(0o755)
    return tmp_path


def root_of(place):
    return str(place / "state" / "accelerator")


def taken(place, **options):
    host = LiveHost(**options)
    hand = hold.hold(host, root=root_of(place), operator_lock=str(place / "operator.lock"))
    return hand, hand.take()


def tree(path):
    return sorted(str(one.relative_to(path)) for one in path.rglob("*"))


def outcomes(hand):
    return {(entry["kind"], os.path.basename(entry["what"])): entry["outcome"] for entry in hand.journal}


CLEAN = ["accelerator", "accelerator/lock"]


def test_a_run_leaves_the_lock_file_alone_and_so_does_the_next_after_one_that_was_killed_at_any_step(place):
    (place / "state").mkdir()
    argv = [sys.executable, "-c", RUN, str(place / "state"), str(place / "operator" / "nvidia")]
    done = subprocess.run(argv, capture_output=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
    (state, troubles, footprint), steps = json.loads(done.stdout)
    assert (state, troubles) == ("taken", ["", "", ""])
    assert [(entry["kind"], entry["outcome"]) for entry in footprint["writes"]] == [
        ("lock", "kept"), ("library", "removed"), ("directory", "removed"), ("file", "removed"), ("container", "removed"),
    ]  # fmt: skip
    assert footprint["lock"] == {"state": "taken", "path": root_of(place) + "/lock", "reason": ""}
    dirty = set()
    for step, ended, left, said, tree_after in steps:
        assert ended == signal.SIGKILL or step == len(steps)
        assert said[:2] == ["taken", ["", "", ""]] and tree_after == CLEAN, (step, said)
        if left != CLEAN:
            dirty.add(tuple(left))
            assert any(entry["kind"] == "stale" and entry["outcome"] == "removed" for entry in said[2]["writes"]), (step, left)
    assert len(steps) > 40 and len(dirty) > 8, "the kills came where nothing was on the disk"
    assert not any(".stage-" in name for name in tree(place / "state"))


def test_the_lock_is_held_until_the_end_or_the_death_of_the_process(place):
    hand, state = taken(place)
    assert state == hold.TAKEN
    other, contended = taken(place)
    assert contended == hold.CONTENDED and "another run holds %s/lock" % root_of(place) == other.lock["reason"]
    assert other.start(["touch", str(place / "touched")]).status == "denied" and not (place / "touched").exists()
    assert other.write(root_of(place) + "/preflight/x", "x") == other.lock["reason"] and tree(place / "state") == ["accelerator", "accelerator/lock"]
    hand.end()
    assert taken(place)[1] == hold.TAKEN


def test_what_is_started_does_not_inherit_the_lock(place):
    code = (
        "import os, signal; from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold;"
        "from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost;"
        "hand = hold.hold(LiveHost(), root=%r); hand.take();"
        "hand.start(['sh', '-c', 'echo $$ > %s; kill -9 '+str(os.getpid())+'; sleep 30'])" % (root_of(place), place / "pid")
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, check=False)
    pid = int((place / "pid").read_text())
    try:
        assert done.returncode == -signal.SIGKILL and os.path.exists("/proc/%d" % pid), "the started one outlives the run"
        assert taken(place)[1] == hold.TAKEN
    finally:
        os.kill(pid, signal.SIGKILL)


def test_unlockable_is_told_apart(place, monkeypatch):
    (place / "state").mkdir()
    (place / "state" / "accelerator").write_text("a file")
    hand, state = taken(place)
    assert state == hold.UNLOCKABLE and "Not a directory" in hand.lock["reason"]
    (place / "state" / "accelerator").unlink()
    (place / "state" / "accelerator").mkdir(mode=0o777)
    (place / "state" / "accelerator").chmod(0o777)
    hand, state = taken(place)
    assert state == hold.UNLOCKABLE and "others may write" in hand.lock["reason"]


def test_a_link_in_the_place_of_the_lock_is_not_followed(place):
    (place / "state" / "accelerator").mkdir(parents=True)
    (place / "victim").write_text("precious")
    (place / "state" / "accelerator" / "lock").symlink_to(place / "victim")
    _hand, state = taken(place)
    assert state == hold.UNLOCKABLE and (place / "victim").read_text() == "precious"


def test_the_operator_s_own_preflight_is_another_run(place):
    with open(place / "operator.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        hand, state = taken(place)
        assert state == hold.CONTENDED and str(place / "operator.lock") in hand.lock["reason"]
    hand, state = taken(place)
    assert state == hold.TAKEN
    with open(place / "operator.lock") as wanted, pytest.raises(BlockingIOError):
        fcntl.flock(wanted, fcntl.LOCK_EX | fcntl.LOCK_NB)
    hand.end()


def test_stale_files_go_before_anything_else_and_are_named(place):
    stale = place / "state" / "accelerator" / "preflight-GPU-1"
    (stale / "etc").mkdir(parents=True)
    (stale / "etc" / "outside").symlink_to(place / "operator")
    (stale / "etc" / "vdev0.conf").write_text("mem: 1")
    hand, _state = taken(place)
    assert not stale.exists() and (place / "operator" / "nvidia").exists()
    assert outcomes(hand)["stale", "preflight-GPU-1"] == hold.REMOVED


def test_only_below_its_root(place):
    hand, _state = taken(place)
    for path in ("/etc/fleetproof", root_of(place) + "/../x", root_of(place) + "/lock", root_of(place) + "/.staged", root_of(place), root_of(place) + "/lib/x"):
        assert hand.write(path, "x").startswith("not a path below"), path
    (place / "state" / "accelerator" / "preflight").symlink_to(place / "operator")
    assert hand.write(root_of(place) + "/preflight/x", "x"), "a link is not followed"
    assert not (place / "operator" / "x").exists()


def test_another_version_is_not_replaced_unless_allowed(place):
    target = place / "installed" / "nvidia"
    (target / "cuda-12").mkdir(parents=True)
    (target / "cuda-12" / "libvgpu.so").write_bytes(b"v0")
    hand, _state = taken(place)
    source = str(place / "operator" / "nvidia")
    assert hand.stage(source, str(target)) == "another version is installed there: cuda-12/libvgpu.so"
    assert (target / "cuda-12" / "libvgpu.so").read_bytes() == b"v0" and tree(target) == ["cuda-12", "cuda-12/libvgpu.so"]
    assert hand.stage(source, str(target), replace=True) == ""
    assert (target / "cuda-12" / "libvgpu.so").read_bytes().startswith(b"\x7fELF")
    assert "1 replaced for good: cuda-12/libvgpu.so" in hand.journal[-1]["detail"]
    hand.end()
    assert tree(target) == ["cuda-12", "cuda-12/libvgpu.so"], "what was not there goes, what was there stays"


def test_the_same_version_is_left_alone_and_stays(place):
    source, target = str(place / "operator" / "nvidia"), place / "installed"
    subprocess.run(["cp", "-a", source, target], check=True)
    before = {path: path.stat().st_ino for path in target.rglob("*")}
    hand, _state = taken(place)
    assert hand.stage(source, str(target)) == ""
    assert hand.journal[-1]["outcome"] == hold.KEPT
    hand.end()
    assert {path: path.stat().st_ino for path in target.rglob("*")} == before


def test_modes_of_libraries_are_those_of_their_source(place):
    target = place / "fresh" / "lib" / "nvidia"
    hand, _state = taken(place)
    assert hand.stage(str(place / "operator" / "nvidia"), str(target)) == ""
    assert (target / "cuda-12" / "libvgpu.so").stat().st_mode & 0o777 == 0o755
    (target / "somebody").write_text("x")
    hand.end()
    assert tree(place / "fresh") == ["lib", "lib/nvidia", "lib/nvidia/somebody"], "a directory that somebody else uses by now stays"


def test_what_an_engine_made_in_the_place_of_a_library_is_no_other_version(place):
    """It makes an empty directory of a file that is gone when it starts a container: before the libraries are there, and after a run was killed."""
    target = place / "fresh"
    (target / "ld.so.preload").mkdir(parents=True)
    hand, _state = taken(place)
    assert hand.stage(str(place / "operator" / "nvidia"), str(target)) == "" and (target / "ld.so.preload").is_file()
    hand.let_go()
    (target / "ld.so.preload").unlink()
    (target / "ld.so.preload").mkdir()
    again, _state = taken(place)
    again.end()
    assert tree(target) == [] and tree(place / "state") == CLEAN
    (target / "ld.so.preload" / "somebody").mkdir(parents=True)
    hand, _state = taken(place)
    assert hand.stage(str(place / "operator" / "nvidia"), str(target)) == "Is a directory"
    hand.end()
    assert tree(target) == ["ld.so.preload", "ld.so.preload/somebody"], "what is not empty is somebody's"


def test_what_a_container_that_may_be_left_mounts_stays_for_the_next_run(place):
    hand, _state = taken(place)
    made = root_of(place) + "/preflight-x/etc/npu_info.config"
    assert hand.write(made, "x") == hand.stage(str(place / "operator" / "nvidia"), str(place / "fresh")) == ""
    hand.start(["true"], "container")
    hand.settle("container", hold.LEFT, "the engine does not answer")
    hand.end()
    told = {entry["kind"]: (entry["outcome"], entry["detail"]) for entry in hand.journal}
    assert told["file"] == told["library"] == (hold.LEFT, "a container that mounts it may be left: the engine does not answer")
    assert os.path.exists(made) and (place / "fresh" / "ld.so.preload").exists()
    again, _state = taken(place)
    again.end()
    assert tree(place / "state") == CLEAN and not (place / "fresh").exists()


def test_a_library_that_was_installed_meanwhile_is_not_taken_away(place):
    target = place / "fresh"
    hand, _state = taken(place)
    assert hand.stage(str(place / "operator" / "nvidia"), str(target)) == ""
    (target / "ld.so.preload").write_text("the installer's")
    hand.end()
    assert tree(target) == ["ld.so.preload"]


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: (p.mkdir(), os.mkfifo(p / "pipe"))], ids=["absent", "empty", "pipe"])
def test_a_source_without_libraries_is_an_error(place, make):
    make(place / "nothing")
    hand, _state = taken(place)
    assert hand.stage(str(place / "nothing"), str(place / "target"))
    assert not (place / "target").exists() and hand.journal[-1]["outcome"] == hold.FAILED


def intents(hand, place):
    assert hand.take() == hold.WITHHELD
    assert hand.stage(str(place / "operator" / "nvidia"), str(place / "target"))
    assert hand.write(root_of(place) + "/preflight/x", "x") and hand.directory(root_of(place) + "/preflight/d")
    assert not hand.start(["touch", str(place / "touched")], "container").succeeded
    hand.end()
    assert tree(place) == ["operator", "operator/nvidia", "operator/nvidia/cuda-12", "operator/nvidia/cuda-12/libvgpu.so", "operator/nvidia/ld.so.preload"]
    assert [entry["outcome"] for entry in hand.footprint()["writes"]] == [hold.INTENDED] * 5
    return hand.footprint()


def test_check_mode_says_each_intent_and_does_nothing(place):
    told = intents(hold.hold(LiveHost(), "this is check mode", root_of(place)), place)
    assert told["lock"] == {"state": "withheld", "path": root_of(place) + "/lock", "reason": "this is check mode"}
    assert told["writes"][4] == {"kind": "container", "what": "touch %s" % (place / "touched"), "outcome": "intended", "detail": ""}


def test_a_replay_answers_from_the_recording_and_does_nothing(place):
    touch = ["touch", str(place / "touched")]
    recording = {
        "schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "commands": [{"argv": touch, "stdout": "as recorded"}],
    }  # fmt: skip
    hand = hold.hold(ReplayHost(recording), root=root_of(place))
    assert hand.take() == hold.TAKEN and hand.lock["state"] == hold.WITHHELD
    assert hand.start(touch, "container").stdout == "as recorded" and hand.start(["other"]).status == "not_recorded"
    assert hand.stage("/nowhere", "/target") == hand.write(root_of(place) + "/x", "x") == ""
    assert {entry["outcome"] for entry in hand.journal} == {hold.INTENDED} and len(hand.journal) == 5
    assert not (place / "touched").exists() and not (place / "state").exists()
    checked = hold.hold(ReplayHost(recording), "this is check mode", root_of(place))
    assert checked.take() == hold.WITHHELD and not checked.start(touch).succeeded


@pytest.mark.parametrize("missing", ["etc", "proc", "usr"])
def test_a_host_root_that_is_none_makes_a_dry_run(place, missing):
    mounted = place / "mounted"
    for name in {"etc", "proc", "usr"} - {missing}:
        (mounted / name).mkdir(parents=True)
    hand = hold.hold(LiveHost(root=str(mounted)), root="/var/lib/fleetproof/accelerator")
    assert hand.take() == hold.WITHHELD and hand.withheld == "host root %s: no %s in it; mount the host's / there" % (mounted, missing)
    assert tree(mounted) == sorted({"etc", "proc", "usr"} - {missing})


@pytest.mark.parametrize("root", ["nothing", "file"])
def test_a_host_root_that_cannot_be_read(place, root):
    (place / "file").write_text("")
    hand = hold.hold(LiveHost(root=str(place / root)))
    assert hand.withheld.startswith("host root %s: not" % (place / root))


def test_below_a_mounted_root_a_link_leads_nowhere_outside(place):
    mounted = place / "mounted"
    for name in ("etc", "proc", "usr", "var/lib"):
        (mounted / name).mkdir(parents=True)
    hand = hold.hold(LiveHost(root=str(mounted)))
    assert hand.take() == hold.TAKEN and (mounted / "var/lib/fleetproof/accelerator/lock").exists()
    assert hand.stage(str(place / "operator" / "nvidia"), "/var/lib/fleetproof/accelerator/lib/nvidia") == ""
    assert (mounted / "var/lib/fleetproof/accelerator/lib/nvidia/ld.so.preload").exists()
    hand.end()
    assert tree(mounted / "var") == ["lib", "lib/fleetproof", "lib/fleetproof/accelerator", "lib/fleetproof/accelerator/lock"]
    (mounted / "opt").symlink_to(place / "operator")
    hand = hold.hold(LiveHost(root=str(mounted)))
    assert hand.take() == hold.TAKEN
    assert hand.stage(str(place / "operator" / "nvidia"), "/opt/staged"), "an absolute link is taken below the root, where it leads to nothing"
    hand.end()
    assert tree(place / "operator") == ["nvidia", "nvidia/cuda-12", "nvidia/cuda-12/libvgpu.so", "nvidia/ld.so.preload"]


def test_after_the_deadline_nothing_is_staged(place, monkeypatch):
    hand, _state = taken(place)
    monkeypatch.setattr(LiveHost, "remaining", lambda self: 0.0 if hand.journal[-1]["kind"] == "library" and self is hand._live else 60.0)
    assert hand.stage(str(place / "operator" / "nvidia"), str(place / "fresh")), "late"
    hand.end()
    assert not (place / "fresh").exists() and hand.journal[-1]["outcome"] == hold.FAILED
