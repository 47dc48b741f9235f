# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A FIFO or a device where a file is expected, in a run directory or a recording, is told and never waited for."""

from __future__ import annotations

import os
import signal

import lab_recordings
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import MalformedRecording
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold, merged_recording, recording, regular_file, run_documents
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, RunError, dumps

NOT_A_FILE = "not a regular file"


@pytest.fixture(autouse=True)
def no_wait():
    """What waits is interrupted, so that it fails."""

    def waited(*_what):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def replaced(path, kind="fifo"):
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(kind)
    return path


@pytest.mark.parametrize(("kind", "said"), [("fifo", NOT_A_FILE), ("/dev/zero", NOT_A_FILE), ("/dev/tty", NOT_A_FILE), ("/", "directory")])
def test_only_regular_files_are_read(tmp_path, kind, said):
    with pytest.raises(OSError, match=said):
        regular_file.read(replaced(tmp_path / "a", kind))


def test_a_file_is_read_whole_up_to_the_limit(tmp_path):
    path = tmp_path / "a"
    for content in (b"", b"x", b"x" * 100):
        path.write_bytes(content)
        assert regular_file.read(path, 100) == content
    path.write_bytes(b"x" * 101)
    with pytest.raises(ValueError, match="larger"):
        regular_file.read(path, 100)
    grows = "/proc/self/maps"  # says that it is empty
    assert os.stat(grows).st_size == 0 and regular_file.read(grows)
    with pytest.raises(ValueError, match="grows"):
        regular_file.read(grows, 100)


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero"])
def test_a_section_that_is_none_is_unknown_for_its_node(tmp_path, kind):
    path = synthetic.write_run(tmp_path, {name: synthetic.envelopes(synthetic.healthy(serial=name)) for name in "ab"})
    replaced(path / "nodes" / "b" / "accelerators.nvidia.1.json", kind)
    fleet = fold.fold(path)
    assert fleet["accepted"] == ["a"] and fleet["incomplete"] == ["b"]
    assert any(NOT_A_FILE in row["reason"] for row in fleet["coverage"] if row["node"] == "b")
    run = RunDirectory(path)
    assert NOT_A_FILE in run.load("b")["accelerators.nvidia"]["reason"]
    assert NOT_A_FILE in str(run_documents.make(run, "b", ["nvidia"]))


def test_a_node_that_is_no_folder_has_filed_nothing(tmp_path):
    path = synthetic.write_run(tmp_path, {"a": synthetic.envelopes(synthetic.healthy()), "b": {}})
    (path / "nodes" / "b").rmdir()
    replaced(path / "nodes" / "b")
    assert fold.fold(path)["incomplete"] == ["b"]


def test_run_policy_and_parts_of_recordings(tmp_path):
    path = synthetic.write_run(tmp_path, {"a": synthetic.envelopes(synthetic.healthy())}, {"a": {"accelerator_expected_count": 8}})
    run = RunDirectory(path)
    merged_recording.file_part(run, "a", "nvidia_info", {})
    replaced(next((path / "recordings" / "parts").iterdir()))
    with pytest.raises(RunError, match=NOT_A_FILE):
        merged_recording.merge_all(run)
    replaced(next((path / "policies").iterdir()))
    with pytest.raises(RunError, match=NOT_A_FILE):
        fold.fold(path)
    replaced(path / "run.json")
    with pytest.raises(RunError, match=NOT_A_FILE):
        RunDirectory(path)


def test_a_recording(tmp_path):
    for name in ("a.yml", "a.json", "a.json.gz"):
        with pytest.raises(MalformedRecording, match=NOT_A_FILE):
            recording.load(replaced(tmp_path / name))


@pytest.mark.parametrize(
    ("target", "said"),
    [("pipe", NOT_A_FILE), ("zero", NOT_A_FILE), ("/etc/hostname", "relative to the recording"), ("", "relative to the recording"), (3, "relative")],
)
def test_a_file_of_a_recording(tmp_path, target, said):
    replaced(tmp_path / "pipe")
    replaced(tmp_path / "zero", "/dev/zero")
    document = lab_recordings.h100("a")
    path = tmp_path / "a.json"
    for key, entry in (("files", {"/etc/os-release": {"text_file": target}}), ("commands", [{"argv": ["true"], "stdout_file": target}])):
        path.write_text(dumps({**document, key: entry}))
        with pytest.raises(MalformedRecording, match=said):
            recording.load(path)


def test_recordings_may_share_files_beside_their_folders(tmp_path):
    (tmp_path / "node").mkdir()
    (tmp_path / "shared").write_text("ID=ubuntu\n")
    path = tmp_path / "node" / "recording.json"
    path.write_text(dumps({**lab_recordings.h100("a"), "files": {"/etc/os-release": {"text_file": "../shared"}}}))
    assert recording.load(path)["files"]["/etc/os-release"] == "ID=ubuntu\n"
