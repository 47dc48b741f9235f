# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo fleet twice with a history, by the real playbooks: the second run sees the first."""

from __future__ import annotations

import json

import demo
import plays
import postgres
import pytest

RULES = ("changed-since-accepted", "part-replaced")
ACCEPTED = sorted(node for node, entry in demo.manifest().items() if entry["verdict"].startswith("accepted"))


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    return tmp_path_factory.mktemp("history")


def play(name, where, root, **variables):
    return plays.play(name, run_root=where / root, variables={"accelerator_history": str(where / "history.sqlite"), **variables})


@pytest.fixture(scope="module")
def replayed(where):
    return [play("replay", where, "runs", recordings=str(demo.RECORDINGS), accelerator_run_id=name) for name in ("first", "second")]


def outcomes(run, rule):
    return {entry["node"]: entry["rules"][rule]["outcome"] for entry in run.fleet()["verdicts"]}


def of(where, name):
    run = plays.Run(0, "", where / "runs")
    return plays.read(run.root / name / "fleet.json")


def test_the_second_run_sees_the_first(where, replayed):
    assert [run.code for run in replayed] == [2, 2], replayed[1].output
    first, second = of(where, "first"), of(where, "second")
    for rule in RULES:
        assert not [v["node"] for v in first["verdicts"] if v["rules"][rule]["outcome"] == "passed"]
        assert [v["node"] for v in second["verdicts"] if v["rules"][rule]["outcome"] == "passed"] == ACCEPTED
    assert second["findings"] == first["findings"] and second["counts"] == first["counts"]
    document = json.loads((where / "runs" / "second" / "baseline.json").read_text(encoding="utf-8"))
    assert [e.message for e in demo.validator("baseline").iter_errors(document)] == []
    assert sorted(node for node, entry in document["nodes"].items() if entry["accepted"]) == ACCEPTED


def test_folding_again_gives_the_same_bytes(where, replayed):
    before = (where / "runs" / "second" / "judgements" / "1" / "fleet.json").read_bytes()
    again = plays.play("fold", run_root=where / "runs", variables={"accelerator_run_id": "second"})
    assert again.code == 2, again.output
    after = (where / "runs" / "second" / "judgements" / "2" / "fleet.json").read_bytes()
    assert after.replace(b'"judgement":2,', b'"judgement":1,') == before


def test_the_history_goes_through_a_file(where, replayed):
    path = str(where / "history.jsonl")
    out = play("history_export", where, "runs", accelerator_history_path=path)
    assert out.code == 0 and "2 judgements written to" in out.output, out.output
    for new in (2, 0):
        there = play("history_import", where, "runs", accelerator_history_path=path, accelerator_history=str(where / "other.sqlite"))
        assert there.code == 0 and "2 judgements in %s, %d of them new" % (path, new) in there.output, there.output
    again = play("store", where, "runs", accelerator_run_id="first", accelerator_history=str(where / "other.sqlite"))
    assert again.code == 0 and "judgement 1 of run first was there already" in again.output, again.output
    old = play("history_prune", where, "runs", accelerator_history_days=3, accelerator_history=str(where / "other.sqlite"))
    assert old.code == 0 and "0 judgements from before" in old.output, old.output


def test_what_is_handed_in_is_folded_elsewhere(where, replayed):
    given = play("hand_in", where, "runs", accelerator_run_id="first")
    assert given.code == 0 and "of them new" in given.output, given.output
    folded = play("fold", where, "elsewhere", accelerator_run_id="first", accelerator_handed_in=True)
    assert folded.code == 2, folded.output
    assert folded.verdicts() == {entry["node"]: entry["verdict"] for entry in of(where, "first")["verdicts"]}
    taken = play("hand_out", where, "third", accelerator_run_id="first")
    assert taken.code == 0 and (where / "third" / "first" / "run.json").is_file(), taken.output


def test_a_history_that_cannot_be_used_is_told_before_anything_is_read(where, tmp_path):
    run = play("replay", where, tmp_path / "runs", recordings=str(demo.RECORDINGS), accelerator_history="mysql://me:secret@db/x")
    assert run.code == 2 and not (tmp_path / "runs").exists(), run.output
    assert "accelerator_history: found 'mysql://me:***@db/x', allowed: the path of a file, or postgresql://" in run.output and "secret" not in run.output


def test_check_mode_stores_nothing(where, replayed, tmp_path):
    run = plays.play("store", "--check", run_root=where / "runs", variables={"accelerator_history": str(tmp_path / "h.sqlite"), "accelerator_run_id": "first"})
    assert run.code == 0 and "changed=1" in run.output, run.output
    for name in ("hand_in", "history_prune"):
        run = plays.play(name, "--check", run_root=where / "runs", variables={"accelerator_history": str(tmp_path / "h.sqlite"), "accelerator_run_id": "first"})
        assert run.code == 0, run.output
    assert not list(tmp_path.glob("h.sqlite*"))
    stored = plays.play("store", run_root=where / "runs", variables={"accelerator_history": str(tmp_path / "h.sqlite"), "accelerator_run_id": "first"})
    assert stored.code == 0 and "of run first stored" in stored.output, stored.output


def test_the_same_through_the_url_of_a_postgresql(where, replayed, tmp_path):
    why = postgres.missing()
    if why:
        pytest.skip(why)
    server = postgres.Server()
    try:
        url = server.start().database()
        stored = play("store", where, "runs", accelerator_run_id="first", accelerator_history=url)
        assert stored.code == 0 and "of run first stored" in stored.output, stored.output
        run = play("replay", where, tmp_path / "runs", recordings=str(demo.RECORDINGS), accelerator_run_id="third", accelerator_history=url)
        assert run.code == 2, run.output
        assert sorted(node for node, outcome in outcomes(run, "part-replaced").items() if outcome == "passed") == ACCEPTED
        out = play("history_export", where, "runs", accelerator_history=url, accelerator_history_path=str(tmp_path / "h.jsonl"))
        assert out.code == 0 and "2 judgements written to" in out.output, out.output
    finally:
        server.stop()
