# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Works in child processes: what each of them does to itself stays with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible.utils.display import Display
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action import children


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(children, "GRACE", 1)


def good(told):
    told.begin({"step": 1}, 30)
    told.end("half")
    return "whole"


def killed(told):
    told.begin({"step": 1}, 30)
    told.end("half")
    told.begin({"step": 2}, 30)
    os.kill(os.getpid(), signal.SIGKILL)


def left(told):
    told.begin({"step": 1}, 30)
    os._exit(7)


def stuck(told):
    """Ignores what it may ignore, with a child that does too."""
    told.begin({"step": 1, "child": subprocess.Popen(["sleep", "3000"]).pid}, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(100)


def refused(told):
    told.begin({"step": 1}, 30)
    raise AnsibleError("run.json is missing")


def broken(told):
    raise ZeroDivisionError("its own fault")


def gone(pid):
    try:
        return Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_each_ends_in_its_own_way():
    told = children.at_once({work.__name__: work for work in (good, killed, left, refused, broken, stuck)}, 9)
    assert {name: outcome.status for name, outcome in told.items()} == {
        "good": "done",
        "killed": "ended",
        "left": "ended",
        "refused": "failed",
        "broken": "failed",
        "stuck": "overrun",
    }
    assert told["good"].value == "whole" and told["good"].step is None
    assert (told["killed"].value, told["killed"].step) == ("half", {"step": 2}), "what it had done, and what it was at"
    assert told["killed"].reason.endswith("signal 9") and told["left"].reason.endswith("exit status 7")
    assert told["refused"].value == "run.json is missing" and told["refused"].step == {"step": 1}
    assert "ZeroDivisionError: its own fault" in told["broken"].value
    assert gone(told["stuck"].step["child"]), "what it started goes with it"


@pytest.mark.parametrize("most", [1, 2, 9])
def test_no_more_at_a_time_than_allowed_and_all_in_the_end(tmp_path, most):
    def work(name):
        def run(_told):
            mine = tmp_path / name
            mine.touch()
            seen = len(list(tmp_path.iterdir()))
            time.sleep(0.05)
            mine.unlink()
            return seen

        return run

    told = children.at_once({str(number): work(str(number)) for number in range(6)}, most)
    assert sorted(told) == list("012345") and all(outcome.status == "done" and outcome.value <= most for outcome in told.values())


def test_they_run_at_the_same_time(tmp_path):
    """Each waits for the other's sign."""

    def work(mine, other):
        def run(told):
            told.begin({}, 20)
            (tmp_path / mine).touch()
            while not (tmp_path / other).exists():
                time.sleep(0.01)
            return mine

        return run

    told = children.at_once({"a": work("a", "b"), "b": work("b", "a")}, 2)
    assert [told[name].value for name in "ab"] == ["a", "b"]


def test_what_a_child_displays_is_displayed_by_its_parent(monkeypatch):
    shown = []
    monkeypatch.setattr(Display(), "vvv", lambda *told, **options: shown.append((told, options)))
    children.at_once({"a": lambda told: told.send_display("vvv", "SSH: EXEC", host="gpu-a01")}, 1)
    assert shown == [(("SSH: EXEC",), {"host": "gpu-a01"})]


def test_what_cannot_be_sent_is_not_sent_and_ends_nothing():
    told = children.at_once({"a": lambda told: told.send_display("vvv", lambda: 0) or "end"}, 1)
    assert (told["a"].status, told["a"].value) == ("done", "end")


def test_a_limit_interrupts_what_waits_and_leaves_no_alarm():
    with pytest.raises(children.StepTimeoutError), children.limit(1):
        time.sleep(60)
    assert signal.alarm(0) == 0
    with children.limit(60):
        pass
    assert signal.alarm(0) == 0


def test_a_worker_told_to_stop_takes_its_children_along(tmp_path):
    program = textwrap.dedent("""
        import os, sys, time
        from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action import children
        def work(told):
            told.begin({}, 100)
            open(sys.argv[1], "w").write(str(os.getpid()))
            time.sleep(1000)
        children.at_once({"a": work}, 1)
    """)
    pid_file = tmp_path / "pid"
    path = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen([sys.executable, "-c", program, str(pid_file)], env=dict(os.environ, PYTHONPATH=path))
    try:
        while not (pid_file.exists() and pid_file.read_text()):
            assert parent.poll() is None
            time.sleep(0.05)
        child = int(pid_file.read_text())
        parent.terminate()
        assert parent.wait(timeout=30) == -signal.SIGTERM
        until = time.monotonic() + 30
        while not gone(child) and time.monotonic() < until:
            time.sleep(0.05)
        assert gone(child)
    finally:
        parent.kill()
        parent.wait()


def test_what_still_runs_when_the_time_of_all_is_over_is_told():
    outcomes = {}
    with pytest.raises(children.StepTimeoutError), children.limit(3):
        children.at_once({"good": good, "slow": lambda told: (told.begin({"step": 1}, 300), time.sleep(300))}, 2, outcomes)
    assert (outcomes["good"].status, outcomes["good"].value) == (children.DONE, "whole")
    assert (outcomes["slow"].status, outcomes["slow"].step) == (children.OVERRUN, {"step": 1})
