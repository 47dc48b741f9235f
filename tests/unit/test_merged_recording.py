# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each module asked becomes one recording a node that replays the same."""

from __future__ import annotations

import json
import stat

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA, ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import merged_recording, recording
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory

LISTED = {"asked": {"listdir": [{"status": "ok", "value": ["a"]}]}}
LINKED = {"asked": {"readlink": [{"status": "ok", "value": "/there"}], "exists": [{"status": "ok", "value": True}]}}


def part(recorded="2026-11-28T17:00:00Z", **more):
    return {"schema": SCHEMA, "node": "other", "recorded": recorded, **more}


def test_answers_of_both_parts_are_there():
    first = part(
        "2026-11-28T17:00:05Z",
        host={"root_user": True},
        files={"/proc/uptime": "1.0 2.0\n", "/sys/x": LISTED},
        commands=[{"argv": ["chronyc"], "rc": 1}, {"argv": ["chronyc"], "rc": 0}],
    )
    second = part(
        host={"root_user": False, "python": {"version": "3.9"}},
        files={"/proc/uptime": "3.0 4.0\n", "/sys/x": LINKED, "/etc/y": "z"},
        commands=[{"argv": ["chronyc"], "rc": 7}, {"argv": ["chronyc"], "env": {"A": "b"}, "rc": 8}],
        natives={"nvml": {"missing": "not installed"}},
    )
    merged = merged_recording.merge("gpu1", [first, second])
    assert (merged["node"], merged["recorded"]) == ("gpu1", "2026-11-28T17:00:00Z")
    host = ReplayHost(merged)
    assert host.read_text("/proc/uptime").value == "1.0 2.0\n", "where both asked, the first one's answer stands"
    assert host.listdir("/sys/x").value == ["a"] and host.readlink("/sys/x").value == "/there" and host.exists("/sys/x").value is True
    assert host.read_text("/etc/y").value == "z"
    assert [host.run(["chronyc"]).rc for _unused in range(3)] == [1, 0, 0]
    assert host.run(["chronyc"], env={"A": "b"}).rc == 8
    assert host.is_root().value is True and host.python().value == {"version": "3.9"}
    assert host.native("nvml").detail == "not installed"


def test_the_newest_part_of_each_module_is_merged_into_an_owner_only_file(tmp_path):
    run = RunDirectory.create(tmp_path, "r1", {"roster": ["a/b", "gone"]}, {})
    merged_recording.file_part(run, "a/b", "accelerator_info", part(files={"/etc/y": "old"}))
    merged_recording.file_part(run, "a/b", "accelerator_info", part(files={"/etc/y": "new"}))
    merged_recording.file_part(run, "a/b", "nvidia_info", part(files={"/etc/z": "z"}))
    merged_recording.file_part(run, "gone", "accelerator_info", merged_recording.unanswered("2026-11-28T17:00:00Z", "no route"))
    merged_recording.merge_all(run)
    merged_recording.merge_all(run)
    found = recording.find(run.path / "recordings")
    assert sorted(found) == ["a-b", "gone"], "the node of a file name is a host name"
    assert stat.S_IMODE(found["a-b"].stat().st_mode) == 0o600
    loaded = recording.load(found["a-b"])
    assert loaded["files"] == {"/etc/y": "new", "/etc/z": "z"}
    assert recording.load(found["gone"])["unreachable"] == "no route"
    assert len(list((run.path / "recordings" / "parts").iterdir())) == 4, "what was filed is never rewritten"


def test_a_node_that_answered_later_is_not_unreachable():
    merged = merged_recording.merge("n", [merged_recording.unanswered("2026-11-28T17:00:00Z", "no route"), part(files={"/etc/y": "z"})])
    assert "unreachable" not in merged and merged["files"] == {"/etc/y": "z"}


def test_same_parts_same_bytes():
    parts = [part(files={"/b": "1", "/a": LISTED}), part(files={"/a": LINKED})]
    assert json.dumps(merged_recording.merge("n", parts)) == json.dumps(merged_recording.merge("n", parts))
