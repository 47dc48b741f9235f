# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured between nodes has a past: stored, exported, and held against."""

from __future__ import annotations

import json

import history_runs as runs
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import pairs
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import baseline
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, lines
from history_runs import baseline_of, everything

NAMES = ("n0", "n1", "n2", "n3")


def link(source, target, value, better="higher"):
    ends = [{"node": end, "kind": "port", "id": "mlx5_0", "rail": "0"} for end in (source, target)]
    return {
        "metric": "ib-write", "unit": "GB/s", "better": better, "samples": [value, value * 1.01, value * 0.99], "subject": ends,
        "method": {"tool": "acme-perf", "version": "2"}, "validity": "valid",
    }  # fmt: skip


def every(value, slower=(), better="higher", names=NAMES):
    """A measurement of each ordered pair. slower: {(source, target): factor}."""
    slower = dict(slower)
    return [link(a, b, value * slower.get((a, b), 1), better) for a in names for b in names if a != b]


def measured(root, location, run_id, day, entries, names=NAMES):
    run = runs.write(root, run_id, day, {name: runs.node("S%s" % name[-1]) for name in names})
    folder = run.path / "pairs"
    folder.mkdir(exist_ok=True)
    (folder / "fabric.json").write_text(json.dumps({"schema": pairs.SCHEMA, "measurements": entries}), encoding="utf-8")
    return run, runs.judge(run, location)


def found(fleet):
    return [f for f in fleet["findings"] if f["rule"] == "measured-pairs"]


def ids(finding):
    subject = finding["subject"]
    return [one["id"] for one in subject] if isinstance(subject, list) else subject["id"]


def accepted(root, location, run_id, day, entries, names=NAMES):
    run, fleet = measured(root, location, run_id, day, entries, names)
    assert runs.keep(run, location) and not runs.keep(run, location)
    return fleet


def test_a_link_that_got_slower_in_a_fleet_too_small_for_a_usual_value(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0, names=NAMES[:2]), NAMES[:2])
    run, fleet = measured(tmp_path, location, "b", 2, every(48.0, {("n0", "n1"): 0.8}, names=NAMES[:2]), NAMES[:2])
    told = found(fleet)
    assert [(f["node"], ids(f), f["level"]) for f in told] == [("n0", ["n0/0", "n1/0"], "fail"), ("n1", ["n0/0", "n1/0"], "fail")]
    assert told[0]["summary"] == ("ib-write: n0/0 to n1/0: 38.4 GB/s, 20.0 % below its own accepted median (1 value) of 48 (margin 10.0 %)")
    assert (told[0]["observed"], told[0]["expected"]) == (38.4, {"value": 43.2, "unit": "GB/s at least", "origin": "baseline"})
    assert [p["recent"]["middle"] for p in baseline_of(run)["nodes"]["n0"]["pairs"]] == [48.0]


def test_what_is_faster_or_as_fast_passes_and_lower_may_be_better(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(5.0, better="lower", names=NAMES[:2]), NAMES[:2])
    assert not found(measured(tmp_path, location, "b", 2, every(4.0, better="lower", names=NAMES[:2]), NAMES[:2])[1])
    (one, _other) = found(measured(tmp_path, location, "c", 3, every(5.0, {("n1", "n0"): 1.12}, "lower", NAMES[:2]), NAMES[:2])[1])
    assert one["level"] == "warn" and one["expected"]["unit"] == "GB/s at most" and "12.0 % above its own" in one["summary"]


def test_a_fabric_that_is_slower_as_a_whole_is_told_of_each_node(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    fleet = measured(tmp_path, location, "b", 2, every(40.0))[1]
    assert [(f["node"], ids(f), f["expected"]["origin"]) for f in found(fleet)] == [(name, name, "baseline") for name in NAMES]
    assert "6 of 6 pairs of node n0 are slower than they were" in found(fleet)[0]["summary"]


def test_what_this_run_finds_slow_is_not_told_twice(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    slow = {("n1", "n2"): 0.7, ("n2", "n1"): 0.7}
    fleet = measured(tmp_path, location, "b", 2, every(48.0, slow))[1]
    assert [(f["node"], f["expected"]["origin"]) for f in found(fleet)] == [("n1", "this run"), ("n2", "this run")]


def test_what_is_slow_does_not_become_what_is_usual(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    slow = {("n1", "n2"): 0.88, ("n2", "n1"): 0.88}
    assert accepted(tmp_path, location, "b", 2, every(48.0, slow))["counts"]["accepted_with_warnings"] == 2
    rows = runs.rows(location, "SELECT node, peer FROM history_pairs WHERE usable = 0 ORDER BY node")
    assert rows == [("n1", "n2"), ("n2", "n1")]
    run, _fleet = measured(tmp_path, location, "c", 3, every(48.0))
    counts = {(p["peer"], p["recent"]["number"]) for p in baseline_of(run)["nodes"]["n1"]["pairs"]}
    assert counts == {("n0", 2), ("n2", 1), ("n3", 2)}


def test_a_renamed_node_keeps_the_past_of_its_links(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0, names=NAMES[:2]), NAMES[:2])
    names = ("m0", "n1")  # the machine with serial S0
    fleet = measured(tmp_path, location, "b", 2, every(40.0, names=names), names)[1]
    assert {tuple(ids(f)) for f in found(fleet)} == {("m0/0", "n1/0")}


def test_export_and_import_keep_pairs_and_pruning_lets_go_of_them(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    accepted(tmp_path, location, "b", 2, every(48.0))
    path, other = tmp_path / "h.jsonl", str(tmp_path / "other.sqlite")
    with database.opened(location) as opened, opened.reading() as session:
        lines.export(session, path)
    for new in (2, 0):
        with database.opened(other) as opened, opened.writing() as session:
            assert lines.take(session, path) == (2, new)
    assert everything(other) == everything(location)
    assert runs.rows(other, "SELECT COUNT(*) FROM history_pairs") == [(24,)]
    with database.opened(other) as opened, opened.writing() as session:
        assert lines.prune(session, "2026-03-02T00:00:00Z") == 1
    assert runs.rows(other, "SELECT COUNT(*) FROM history_pairs") == [(12,)]


def test_an_export_from_before_has_no_pairs_and_is_taken(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    path, other = tmp_path / "h.jsonl", str(tmp_path / "other.sqlite")
    old = [json.loads(line) for line in everything(location)]
    for line in old:
        line.pop("pairs", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in old), encoding="utf-8")
    with database.opened(other) as opened, opened.writing() as session:
        assert lines.take(session, path) == (1, 1)


def test_a_pair_that_does_not_fit_is_named(location, tmp_path):
    accepted(tmp_path, location, "a", 1, every(48.0))
    path = tmp_path / "h.jsonl"
    path.write_text("\n".join(everything(location)).replace('"peer": "n1"', '"peer": 7', 1) + "\n", encoding="utf-8")
    with pytest.raises(lines.HistoryError, match=r"line 4: peer: found int, allowed: str"), database.opened(location) as opened, opened.writing() as session:
        lines.take(session, path)


def test_a_baseline_from_before_has_no_pairs_and_is_read(tmp_path):
    location = str(tmp_path / "h.sqlite")
    accepted(tmp_path, location, "a", 1, every(48.0))
    run, _fleet = measured(tmp_path, location, "b", 2, every(48.0))
    document = baseline_of(run)
    for entry in document["nodes"].values():
        del entry["pairs"]
    (run.path / "baseline.json").write_text(json.dumps(document), encoding="utf-8")
    assert baseline.load(run.path)["n0"].pairs == {}
