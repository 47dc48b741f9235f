# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that asks is ended while the mode is on: it is put back all the same, and what cannot be put back is found by the next run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import driver_shims
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import effects, hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from driver_shims import until

ASK = """
import json, sys
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
options = {"devices": json.loads(sys.argv[3]), "detection": {"state": "ok"}, "allow_driver_writes": True}
print(json.dumps(ask.collect(LiveHost(path=sys.argv[1]), ascend_share, options, sys.argv[2])))
"""


@pytest.fixture
def driver(tmp_path):
    return driver_shims.ascend(tmp_path / "driver", {"0.0": "False", "1.0": "False"})


def begin(driver, notes, *devices):
    """The asker, in a session of its own; its output is what a connection would wait for."""
    devices = json.dumps(list(devices) or [driver_shims.npu(0)])
    argv = [sys.executable, "-c", ASK, driver.path, str(notes), devices]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, env=env)


def asked(driver, notes, **options):
    host = LiveHost(path=driver.path)
    try:
        return ask.collect(
            host, ascend_share, {"devices": [driver_shims.npu(0)], "detection": {"state": "ok"}, "allow_driver_writes": True, **options}, str(notes)
        )
    finally:
        host.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("whole", [False, True], ids=["process", "group"])
def test_put_back_when_the_module_is_ended_between_on_and_off(driver, tmp_path, number, whole):
    notes = tmp_path / "notes"
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    asker = begin(driver, notes)
    assert until(lambda: driver.state("0.0") == "True"), "the driver was never asked"
    note = json.loads((notes / "ascend-0-0").read_text())
    assert note["off"] == "npu-smi set -t device-share -i 0 -c 0 -d 0" and note["accelerator"] == "ascend:0"
    (os.killpg if whole else os.kill)(asker.pid, number)
    assert asker.stdout.read() in (b"", None) or number == signal.SIGINT, "the connection saw its end, with the mode still on"
    asker.wait()
    assert driver.state("0.0") == "True" and (notes / "ascend-0-0").exists()
    driver.behavior("go", "")
    assert until(lambda: driver.state("0.0") == "False"), "it was not put back"
    assert until(lambda: not (notes / "ascend-0-0").exists()), "the note was left"
    assert driver.calls("set") == ["set -t device-share -i 0 -c 0 -d 1", "set -t device-share -i 0 -c 0 -d 0"]
    assert until(lambda: asked(driver, notes)["checks"][0]["detail"].startswith("was off")), "the next run can ask: nobody holds the lock"


def test_ended_while_the_restore_runs(driver, tmp_path):
    notes = tmp_path / "notes"
    driver.behavior("off", "touch $D/putting_back; while [ ! -f $D/go ]; do sleep 0.02; done")
    asker = begin(driver, notes)
    assert until((driver.folder / "putting_back").exists)
    os.kill(asker.pid, signal.SIGKILL)
    asker.stdout.read()
    asker.wait()
    driver.behavior("go", "")
    assert until(lambda: driver.state("0.0") == "False" and not (notes / "ascend-0-0").exists())


def test_ended_and_the_restore_fails(driver, tmp_path):
    notes = tmp_path / "notes"
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    driver.behavior("off", "printf '\\tStatus : Fail\\n\\tMessage : Failed to set chip device-share\\n'; exit 5")
    asker = begin(driver, notes)
    assert until(lambda: driver.state("0.0") == "True")
    os.kill(asker.pid, signal.SIGKILL)
    asker.stdout.read()
    asker.wait()
    driver.behavior("go", "")
    assert until(lambda: len(driver.calls("set")) == 3) and until(lambda: "failed" in json.loads((notes / "ascend-0-0").read_text()))
    section = asked(driver, notes, allow_driver_writes=False)
    (left,) = section["left_on"]
    assert "left ON" in section["checks"][0]["detail"] and "Failed to set chip device-share" in left["reason"]
    assert left["command"] == "npu-smi set -t device-share -i 0 -c 0 -d 0"


def test_the_hand_itself_is_killed(driver, tmp_path):
    """Nothing puts it back then: the module says so at once, and so does the next run."""
    notes = tmp_path / "notes"
    driver.behavior("after_on", "kill -9 $PPID; sleep 0.2")
    asker = begin(driver, notes, driver_shims.npu(0), driver_shims.npu(1))
    section = json.loads(asker.stdout.read())
    asker.wait()
    assert driver.state("0.0") == "True"
    row, other = section["checks"]
    assert row["state"] == "unavailable" and "left ON" in row["detail"] and "gave no answer" in row["reason"]
    assert section["left_on"][0]["command"].endswith("-d 0") and other["detail"].startswith("off, not asked: ")
    assert (notes / "ascend-0-0").exists()
    assert asked(driver, notes)["left_on"][0]["accelerator"] == "ascend:0"


def test_the_module_and_the_hand_are_killed(driver, tmp_path):
    """As when a machine loses power, or a control group is ended."""
    notes = tmp_path / "notes"
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    asker = begin(driver, notes)
    assert until(lambda: driver.state("0.0") == "True")
    os.kill(asker.pid, signal.SIGKILL)
    os.kill(driver.hand(), signal.SIGKILL)
    asker.stdout.read()
    asker.wait()
    driver.behavior("go", "")
    section = asked(driver, notes)
    assert section["left_on"][0]["reason"].startswith("it was not seen put back") and driver.state("0.0") == "True"


def test_a_tool_that_hangs_is_ended_and_the_mode_put_back(driver, tmp_path, monkeypatch):
    monkeypatch.setattr(effects, "_ON_SECONDS", 1)
    notes = tmp_path / "notes"
    driver.behavior("after_on", "trap '' TERM; while :; do sleep 1; done")
    section = asked(driver, notes)
    row = section["checks"][0]
    assert row["state"] == "unavailable" and "timeout" in row["reason"]
    assert driver.state("0.0") == "False" and not notes.exists() and section["left_on"] == []


def test_no_descriptor_of_the_module_is_held(driver, tmp_path):
    """What the hand has open while the mode is on: nothing, its pipe to the module, and the directory."""
    notes = tmp_path / "notes"
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    asker = begin(driver, notes)
    assert until(lambda: driver.state("0.0") == "True")
    hand = driver.hand()
    held = {fd: os.readlink(f"/proc/{hand}/fd/{fd}") for fd in os.listdir(f"/proc/{hand}/fd")}
    assert {held[fd] for fd in "012"} == {"/dev/null"}
    assert str(notes) in held.values()
    assert os.readlink(f"/proc/{asker.pid}/fd/1") not in held.values()
    with open(f"/proc/{hand}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    assert int(fields[3]) == hand != os.getsid(asker.pid), "a session of its own"
    driver.behavior("go", "")
    asker.communicate()
    assert driver.state("0.0") == "False" and not notes.exists()


def at(driver, tmp_path):
    """Asks as the module does: with the lock of the node."""
    host = LiveHost(path=driver.path)
    options = {"devices": [driver_shims.npu(0)], "detection": {"state": "ok"}, "allow_driver_writes": True}
    try:
        return ask.collect(host, ascend_share, options, str(tmp_path / "notes"), str(tmp_path / "node"))
    finally:
        host.close()


def test_while_probes_run_no_driver_is_asked(driver, tmp_path):
    probing = hold.hold(LiveHost(), root=str(tmp_path / "node"), operator_lock="")
    assert probing.take() == hold.TAKEN and probing.write(str(tmp_path / "node/preflight-x/file"), "of the probe") == ""
    section = at(driver, tmp_path)
    assert section["checks"][0]["detail"] == f"off, not asked: another run holds {tmp_path}/node/lock" and driver.calls("set") == []
    assert (tmp_path / "node/preflight-x/file").read_text() == "of the probe"
    probing.end()
    assert at(driver, tmp_path)["checks"][0]["detail"].startswith("was off, the driver accepted on")


def test_what_a_killed_probe_left_is_not_the_askers_to_clean(driver, tmp_path):
    (tmp_path / "node/preflight-x").mkdir(parents=True)
    assert at(driver, tmp_path)["asked"] == ["ascend:0"] and sorted(os.listdir(tmp_path / "node")) == ["lock", "preflight-x"]


def test_the_node_stays_locked_until_the_mode_is_back(driver, tmp_path):
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    code = ASK.replace("sys.argv[2])", "sys.argv[2], sys.argv[4])")
    argv = [sys.executable, "-c", code, driver.path, str(tmp_path / "notes"), json.dumps([driver_shims.npu(0)]), str(tmp_path / "node")]
    asker = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, start_new_session=True)
    assert until(lambda: driver.state("0.0") == "True")
    os.kill(asker.pid, signal.SIGKILL)
    asker.wait()
    probing = hold.hold(LiveHost(), root=str(tmp_path / "node"), operator_lock="")
    assert probing.take() == hold.CONTENDED
    driver.behavior("go", "")
    assert until(lambda: probing.take() == hold.TAKEN) and driver.state("0.0") == "False"
    probing.end()


def test_below_a_root_that_is_no_host_no_driver_is_asked(driver, tmp_path):
    """What is mounted is not the machine: a lock there would hold against nobody, and the driver is the machine's all the same."""
    for names, why in ((["etc"], "no proc in it"), (["etc", "proc", "usr"], "")):
        for name in names:
            (tmp_path / "root" / name).mkdir(parents=True, exist_ok=True)
        host = LiveHost(root=str(tmp_path / "root"))
        assert why in effects.effects(host, "", str(tmp_path / "notes")).withheld and bool(why) == bool(effects.effects(host).withheld)
        host.close()


def test_what_a_wrong_root_withholds_is_no_change(driver, tmp_path, monkeypatch):
    monkeypatch.setattr(ask, "effects", lambda host, _withheld, *more: effects.effects(host, "host root /mnt: no proc in it", *more))
    section = at(driver, tmp_path)
    assert section["checks"][0]["detail"] == "off, not asked: host root /mnt: no proc in it" and section["changed"] is False and driver.calls("set") == []


def test_in_a_process_namespace_of_its_own_the_asker_is_named_as_the_host_does(tmp_path):
    (tmp_path / "proc").mkdir()
    code = "import os; from %s import _asker; print(os.getpid(), *_asker(%r), *_asker('/nowhere'))" % (effects.__name__, str(tmp_path))
    line = 'mount --bind /proc "$1/proc" && exec unshare --pid --fork --mount-proc "$2" -c "$3"'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = ["unshare", "--mount", "sh", "-c", line, "sh", str(tmp_path), sys.executable, code]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr + done.stdout:
        pytest.skip("no namespace can be made here: %s" % done.stderr[-200:])
    own, seen, start, fallback, _start = done.stdout.split()
    assert own == fallback == "1" and int(seen) > 1 and int(start) > 0, done.stderr
