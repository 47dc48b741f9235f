# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback progress on a real terminal: a line while nodes are read, nothing left of it, the table at the end; silence where nobody looks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import terminal
from ansible_collections.fleetproof.accelerator.plugins.callback import progress

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"(\d+) of 12 nodes done, (\d+) running, (\d+) waiting")


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if key not in progress.UNWATCHED and not key.startswith(progress.UNWATCHED_PREFIXES)}
    kept.update(ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_CALLBACKS_ENABLED="fleetproof.accelerator.progress", TERM="xterm", **more)
    kept.update(ANSIBLE_NOCOLOR="1")
    return kept


def command(name, run_root, *more):
    given = json.dumps({"accelerator_run_root": str(run_root), "accelerator_run_id": "one"})
    return [str(Path(sys.executable).parent / "ansible-playbook"), "fleetproof.accelerator." + name, "-e", given, *more]


@pytest.fixture(scope="module")
def run_root(tmp_path_factory):
    return tmp_path_factory.mktemp("progress")


@pytest.fixture(scope="module")
def shown(run_root):
    return terminal.run(command("preflight", run_root, "-i", "inventories/demo"), environment(), ROOT)


def test_the_line_counts_nodes_and_names_the_slowest(shown):
    code, written = shown
    assert code == 2 and "[WARNING]: Callback" not in written
    drawn = re.findall("\r\x1b\\[K([^\r\n\x1b]*nodes done[^\r\n\x1b]*)", written)
    counts = [tuple(map(int, LINE.match(line).groups())) for line in drawn]
    assert counts and all(sum(count) == 12 for count in counts)
    assert counts[-1] == (12, 0, 0) and [count[0] for count in counts] == sorted(count[0] for count in counts)
    assert any(re.search(r"; slowest: (gpu|npu)-\w+, \d+ s in ", line) for line in drawn)
    assert max(map(len, drawn)) < 100


def test_nothing_is_left_of_the_line_and_the_table_comes_last(shown):
    lines = terminal.seen(shown[1])
    assert not [line for line in lines if "nodes done" in line]
    assert "ok: [gpu-h01]" in lines and any(line.startswith("PLAY RECAP") for line in lines)
    table = lines[lines.index("Findings by cause") :]
    assert max(map(len, table)) <= 80
    assert re.match(r"FAIL +1  detection-agrees .*gpu-h03$", next(line for line in table if "detection-agrees" in line))
    assert [line.split()[0] for line in table[2:] if line] == ["FAIL", "FAIL", "FAIL", "WARN", "UNKNOWN"]


@pytest.mark.parametrize("more", [{"CI": "true"}, {"AWX_HOST": "https://awx.example"}, {"TERM": "dumb"}])
def test_on_a_terminal_that_nobody_watches_it_is_silent(shown, run_root, more):
    code, written = terminal.run(command("fold", run_root), dict(environment(), **more), ROOT)
    assert code == 2 and "\x1b[K" not in written and "Findings by cause" not in written and "PLAY RECAP" in written


@pytest.mark.parametrize("table", ["terminal", "always", "never"])
def test_in_a_pipe_the_table_comes_on_request(shown, run_root, table):
    env = environment(FLEETPROOF_PROGRESS_TABLE=table)
    done = subprocess.run(
        command("fold", run_root), cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=terminal.LIMIT, check=False
    )
    assert done.returncode == 2 and "\x1b[K" not in done.stdout
    assert ("Findings by cause" in done.stdout) == (table == "always")


def test_a_fleet_document_that_cannot_be_read_is_no_failure(tmp_path):
    for content in ("{", "[]", '{"findings": [1]}', '"x"', '{"findings": {"a": 1}}'):
        (tmp_path / "fleet.json").write_text(content)
        assert progress.causes(str(tmp_path / "fleet.json")) == ""
    assert progress.causes(str(tmp_path / "none.json")) == ""


class Tty:
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("given", "looks"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm", "CI": ""}, True),
        ({}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "CI": "1"}, False),
        ({"TERM": "xterm", "GITHUB_ACTIONS": "true"}, False),
        ({"TERM": "xterm", "JENKINS_HOME": "/x"}, False),
        ({"TERM": "xterm", "RUNNER_OMIT_EVENTS": "False"}, False),
        ({"TERM": "xterm", "AWX_PRIVATE_DATA_DIR": "/x"}, False),
    ],
)
def test_who_looks(given, looks):
    assert progress.watched(Tty(), given) is looks
    assert progress.watched(None, given) is False


class Task:
    name = "Read \x1b[31m the node"


def test_the_slowest_is_the_one_that_has_done_least():
    nodes = progress.Nodes(["a", "b", "c"], "last")
    nodes.start("a", Task(), 0)
    nodes.start("b", Task(), 5)
    assert nodes.line(9, 200) == "0 of 3 nodes done, 2 running, 1 waiting; slowest: a, 9 s in Read [U+001B][31m the node"
    nodes.finish("a", "first", lost=False)
    nodes.start("a", Task(), 10)
    assert "slowest: b, 25 s" in nodes.line(30, 200)
    nodes.finish("a", "last", lost=False)
    nodes.finish("b", "first", lost=True)
    assert nodes.line(40, 200) == "2 of 3 nodes done, 0 running, 1 waiting"
    # What a role that was included late still does.
    nodes.start("a", Task(), 41)
    assert nodes.line(42, 200).startswith("1 of 3 nodes done, 1 running, 1 waiting")
    assert len(nodes.line(42, 40)) <= 40
