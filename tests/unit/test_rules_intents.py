# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A note of a driver mode that was asked on, and what could not be taken away, are findings of the next run. Never silently."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import driver_shims
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section as allocation
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import notes
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, footprint, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

catalogue.load()
OFF = "npu-smi set -t device-share -i 0 -c 0 -d 0"
NOTE = {
    "accelerator": "ascend:0", "capability": "container-share", "asked": "2026-11-29T17:00:00Z", "off": OFF, "failed": "", "asking": False,
    "path": "/var/lib/fleetproof-accelerator/ascend-0-0",
}  # fmt: skip


def judged(rule, sections):
    envelopes = sections if all("status" in entry for entry in sections.values()) else synthetic.envelopes(sections)
    view = engine.NodeView("a", envelopes, policy.parse({}))
    return [one for _subject, one in engine.outcomes(RULES[rule], view, view.policy.params(rule))]


def intents(**sections):
    return judged("driver-mode-intent", {name.replace("_", "."): data for name, data in sections.items()})


def test_a_note_is_a_fail_with_the_command():
    (found,) = intents(allocation_ascend={"checks": [], "left_over": [dict(NOTE, failed="Failed to set")]})
    assert found.outcome == "found" and found.level in (None, "fail") and RULES["driver-mode-intent"].level == "fail"
    assert "asked on at 2026-11-29T17:00:00Z" in found.summary and "Failed to set" in found.summary
    assert found.remedy == "Run: %s ; and remove %s" % (OFF, NOTE["path"]) and found.subject == ("row", "ascend:0")


def test_no_note_passes_and_unknown_is_not_a_pass():
    assert [one.outcome for one in intents(allocation_ascend={"checks": [], "left_over": []})] == ["passed"]
    for left in ({"unknown": "EACCES"}, None, 7, "x", {}):
        (gap,) = intents(allocation_ascend={"checks": [], "left_over": left})
        assert gap.outcome == "unknown", left
    assert [one.outcome for one in intents(allocation_ascend={"checks": []})] == ["unknown"]
    envelope = {"allocation.ascend": synthetic.envelope("a", "allocation.ascend", {}, "timeout", "hung")}
    assert [one.outcome for one in judged("driver-mode-intent", envelope)] == ["unknown"]


def test_not_applicable_where_no_driver_is_asked():
    assert [one.outcome for one in intents(allocation_nvidia={"checks": []})] == ["not_applicable"]


def test_what_asking_found_stands_for_the_plain_reading():
    found = intents(allocation_ascend={"checks": [], "left_over": [NOTE]}, slicing_ascend={"checks": [], "left_over": []})
    assert [one.outcome for one in found] == ["passed"]


def test_a_run_that_asks_now_is_unknown():
    (one,) = intents(allocation_cambricon={"checks": [], "left_over": [dict(NOTE, asking=True)]})
    assert one.outcome == "unknown" and "right now" in one.reason


def test_a_row_that_says_it_is_told_once():
    row = {"accelerator": "ascend:0", "capability": "container-share", "mode": "sliced", "state": "unavailable", "depth": "declared", "reason": "on"}
    (one,) = intents(slicing_ascend={"checks": [dict(row, detail="the card is left ON")], "left_over": [NOTE]})
    assert one.outcome == "passed"
    (one,) = intents(slicing_ascend={"checks": [dict(row, detail="something else")], "left_over": [NOTE]})
    assert one.outcome == "found"


@pytest.mark.parametrize("off", ["", "rm -rf / ; true", "reboot", OFF + "; reboot", OFF + "$(reboot)", 7, None])
def test_a_command_that_could_be_two_is_not_offered(off):
    (one,) = intents(allocation_ascend={"left_over": [dict(NOTE, off=off)]})
    assert one.outcome == "found" and one.remedy.startswith("Switch it off and remove ")


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, True])
def test_a_hostile_note_raises_nothing(junk):
    for key in NOTE:
        assert intents(allocation_ascend={"left_over": [dict(NOTE, **{key: junk})]})
    intents(allocation_ascend={"left_over": [junk], "checks": junk})


# -- the reading


def kept(path, note):
    path.mkdir(mode=0o700)
    (path / "ascend-0-0").write_text(json.dumps(note))
    host = LiveHost()
    try:
        return notes.left_over(host, "ascend", str(path))
    finally:
        host.close()


def test_the_next_run_reads_the_note_whoever_wrote_it_is_dead(tmp_path):
    (note,) = kept(tmp_path / "d", {"accelerator": "ascend:0", "asked": "now", "off": OFF, "asker": [os.getpid(), "1"]})
    assert note["asking"] is False, "another process has its number by now"
    assert note["off"] == OFF and note["path"] == str(tmp_path / "d" / "ascend-0-0")


def test_who_asks_is_alive(tmp_path):
    with open("/proc/self/stat", encoding="ascii") as stat:
        mine = [os.getpid(), notes.started(stat.read())]
    assert kept(tmp_path / "d", {"asker": mine})[0]["asking"] is True


@pytest.mark.parametrize("asker", [None, [], [1], ["1", "2"], [2**40, "1"], [True, "1"], {}, [-1, "1"]])
def test_a_hostile_asker(tmp_path, asker):
    assert kept(tmp_path / "d", {"asker": asker})[0]["asking"] is False


def test_nothing_read_is_not_nothing_there(tmp_path):
    recording = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z"}
    assert notes.left_over(ReplayHost(recording), "ascend") == {"unknown": "not recorded"}
    (tmp_path / "file").write_text("")
    assert "unknown" in notes.left_over(LiveHost(), "ascend", str(tmp_path / "file"))
    assert notes.left_over(LiveHost(), "ascend", str(tmp_path / "absent")) == []


def test_the_note_is_on_the_disk_before_the_driver_is_asked_and_gone_after(tmp_path):
    driver = driver_shims.ascend(tmp_path / "driver", {"0.0": "False"})
    place = tmp_path / "notes"
    driver.behavior("after_on", "cp %s/ascend-0-0 %s" % (place, tmp_path / "seen"))
    host = LiveHost(path=driver.path)
    options = {"devices": [driver_shims.npu(0)], "detection": {"state": "ok"}, "allow_driver_writes": True}
    section = ask.collect(host, ascend_share, options, str(place))
    host.close()
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["off"] == OFF and len(seen["asker"]) == 2 and not place.exists()
    assert section["left_over"] == []
    assert [(one["kind"], one["outcome"]) for one in footprint.ended(section)] == [("driver_mode", "removed")]
    assert footprint.ended(section)[0]["what"].endswith("-d 1 && " + OFF)


ASK = """
import json, sys
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ascend_share, ask
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
options = {"devices": json.loads(sys.argv[3]), "detection": {"state": "ok"}, "allow_driver_writes": True}
ask.collect(LiveHost(path=sys.argv[1]), ascend_share, options, sys.argv[2])
"""


@pytest.mark.parametrize("state", ["True", "False"])
def test_module_and_hand_are_killed_and_the_next_run_says_it_whatever_it_reads(tmp_path, state):
    driver, place = driver_shims.ascend(tmp_path / "driver", {"0.0": "False"}), tmp_path / "notes"
    driver.behavior("after_on", "while [ ! -f $D/go ]; do sleep 0.02; done")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    asker = subprocess.Popen([sys.executable, "-c", ASK, driver.path, str(place), json.dumps([driver_shims.npu(0)])], env=environment, start_new_session=True)
    assert driver_shims.until(lambda: driver.state("0.0") == "True")
    host = LiveHost(path=driver.path)
    alive = notes.left_over(host, "ascend", str(place))
    os.kill(driver.hand(), signal.SIGKILL)
    os.kill(asker.pid, signal.SIGKILL)
    asker.wait()
    driver.behavior("go", "")
    assert [note["asking"] for note in alive] == [True]
    assert driver_shims.until(lambda: not notes.left_over(host, "ascend", str(place))[0]["asking"]), "also where nobody reaps it"
    left = notes.left_over(host, "ascend", str(place))
    host.close()
    assert [note["off"] for note in left] == [OFF]
    checks = []
    if state == "True":  # read as on: the row is the finding, and it is told once
        row = {"capability": "container-share", "accelerator": "ascend:0", "mode": "sliced", "state": "unavailable", "depth": "declared"}
        checks = [dict(row, detail="left ON", reason="x")]
    sections = synthetic.envelopes({"allocation.ascend": {"checks": checks, "left_over": left}})
    view = engine.NodeView("a", sections, policy.parse({}))
    told = [(name, one) for name in ("driver-mode-intent", "row-container-share") for _s, one in engine.outcomes(RULES[name], view, view.policy.params(name))]
    (found,) = [(name, one) for name, one in told if one.outcome == "found"]
    assert found[1].level in (None, "fail") and (found[0] == "row-container-share") == (state == "True")


def test_allocation_info_reads_it_even_where_no_card_is_detected():
    recording = {
        "schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z",
        "files": {"/var/lib/fleetproof-accelerator": {"dir": ["ascend-0-0"]}, "/var/lib/fleetproof-accelerator/ascend-0-0": json.dumps(NOTE)},
    }  # fmt: skip
    section = allocation.collect(ReplayHost(recording), "ascend", {"detection": {"state": "unavailable", "reason": "gone"}, "devices": []})
    assert [note["off"] for note in section["left_over"]] == [OFF]
    assert "left_over" not in allocation.collect(ReplayHost(recording), "nvidia", None)


# -- what could not be taken away


def entry(outcome, **more):
    return dict({"kind": "file", "what": "/var/lib/fleetproof/accelerator/preflight", "outcome": outcome, "detail": ""}, **more)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("removed", "passed"),
        ("kept", "passed"),
        ("intended", "passed"),
        ("failed", "passed"),
        ("left", "found"),
        ("open", "found"),
        ("?", "found"),
        (None, "found"),
    ],
)
def test_left_behind(outcome, said):
    (one,) = judged("left-behind", {"probes.nvidia": {"writes": [entry(outcome)]}})
    assert one.outcome == said
    assert said == "passed" or "/var/lib/fleetproof/accelerator/preflight" in one.summary


def test_nothing_written_is_not_applicable():
    assert [one.outcome for one in judged("left-behind", {"host": {}})] == ["not_applicable"]
    assert [one.outcome for one in judged("left-behind", {"probes.nvidia": synthetic.envelope("a", "probes.nvidia", {}, "failed", "x")})] == ["not_applicable"]


@pytest.mark.parametrize("junk", [None, 7, "x", [7, None, {}, {"kind": 7}], {}, True, [[]]])
def test_a_hostile_journal_raises_nothing(junk):
    for data in ({"writes": junk}, {"left_on": junk, "asked": junk, "would_ask": junk, "checks": junk}, {"lock": junk}):
        footprint.of_node({"probes.nvidia": data, "slicing.ascend": data})
        footprint.lock(data)
        judged("left-behind", {"probes.nvidia": dict(data)})
