# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history in SQLite and in a real PostgreSQL: every test of the class runs against both."""

from __future__ import annotations

import json
import multiprocessing
import shutil

import history_runs as runs
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold, run_directory
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, documents, handed, lines, migrations, snapshot, store
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from history_runs import baseline_of, everything, fleet


def store_in_a_child(path, location):
    runs.keep(run_directory.RunDirectory(path), location)


class TestBoth:
    def test_the_first_run_has_nothing_to_compare_with_and_the_second_has_the_first(self, location, tmp_path):
        first = runs.through(tmp_path, location, "a", 1, fleet())
        assert runs.outcome(first, "n0", "measured-drift")["reason"].startswith("never accepted before: nothing to compare with")
        assert {runs.outcome(first, "n0", r)["outcome"] for r in ("changed-since-accepted", "part-replaced")} == {"not_applicable"}
        second = runs.through(tmp_path, location, "b", 2, fleet())
        assert {runs.outcome(second, n, r)["outcome"] for n in fleet() for r in ("measured-drift", "changed-since-accepted", "part-replaced")} == {"passed"}
        accepted = baseline_of(run_directory.RunDirectory(tmp_path / "b"))["nodes"]["n2"]["accepted"]
        assert (accepted["run_id"], accepted["at"], accepted["name"], len(accepted["parts"])) == ("a", "2026-03-01T08:00:00Z", "n2", 9)

    def test_a_judgement_is_stored_once(self, location, tmp_path):
        run = runs.write(tmp_path, "a", 1, fleet(2))
        runs.judge(run)
        assert runs.keep(run, location) is True
        there = everything(location)
        assert runs.keep(run, location) is False and everything(location) == there
        runs.judge(run)
        assert runs.keep(run, location) is True
        assert runs.rows(location, "SELECT number, newest FROM history_judgements ORDER BY number") == [(1, 0), (2, 1)]
        assert len(runs.rows(location, "SELECT 1 FROM history_machines")) == 2

    def test_what_is_stored_of_a_node(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, dict(fleet(1), silent=None))
        ((verdict, cohort, record),) = runs.rows(location, "SELECT verdict, cohort, record FROM history_verdicts WHERE node = 'n0'")
        assert (verdict, cohort) == ("accepted", "Acme G8-H100 / NVIDIA H100 80GB HBM3")
        assert record == (tmp_path / "a" / "records" / "n0.yml").read_text(encoding="utf-8")
        rows = runs.rows(location, "SELECT metric, subject, part, median, samples FROM history_measurements ORDER BY position")
        assert rows[3] == ("acme-gemm", "nvidia:3", synthetic.uuid_of(3, "S0"), 700.3, "[700.3]") and len(rows) == 8
        ((prints,),) = runs.rows(location, "SELECT f.document FROM history_fingerprints f JOIN history_verdicts v ON v.prints = f.digest WHERE v.node = 'n0'")
        assert json.loads(prints)["cohort-bios"] == "2.1a" and json.loads(prints)["cohort-memory"] == 2063937
        assert runs.rows(location, "SELECT answered, accepted FROM history_verdicts WHERE node = 'silent'") == [(0, 0)]

    # -- drift --------------------------------------------------------------------------------------------------------

    def test_a_card_slower_than_in_its_own_past(self, location, tmp_path):
        for day in (1, 2, 3):
            runs.through(tmp_path, location, "r%d" % day, day, fleet())
        nodes = fleet()
        nodes["n1"] = runs.node("S1", [700, 700, 640, 700, 700, 700, 700, 700])
        (found,) = runs.findings(runs.through(tmp_path, location, "r4", 4, nodes), "measured-drift")
        assert (found["node"], found["subject"]["id"], found["level"]) == ("n1", "nvidia:2", "warn")
        assert found["expected"]["origin"] == "baseline" and found["expected"]["unit"] == "TFLOPS at least" and 660 < found["expected"]["value"] < 670
        assert found["observed"] == 640 and "below " in found["summary"] and "(margin 5.0 %)" in found["summary"]

    def test_a_uniformly_slow_cohort_is_found(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet())
        judged = runs.through(tmp_path, location, "b", 2, fleet(values=560.0))
        found = runs.findings(judged, "measured-drift")
        assert [(f["node"], f["subject"]["kind"], f["level"]) for f in found] == [("n%d" % i, "node", "fail") for i in range(4)]
        assert all(f["summary"].startswith("8 of 8 parts, in the middle nvidia:") for f in found) and judged["rejected"] == sorted(fleet())
        assert not [f for f in judged["findings"] if f["rule"] == "measured-in-cohort"]

    def test_a_new_node_is_held_against_what_its_cohort_was_accepted_with(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet())
        judged = runs.through(tmp_path, location, "b", 2, fleet(2, 600.0, first=7))
        assert [f["node"] for f in runs.findings(judged, "measured-drift")] == ["n7", "n8"]
        assert all("the accepted median of cohort Acme G8-H100" in f["summary"] for f in runs.findings(judged, "measured-drift"))
        assert runs.outcome(judged, "n7", "changed-since-accepted")["outcome"] == "not_applicable"

    def test_faster_is_no_finding_and_what_was_slow_does_not_become_usual(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet())
        assert not runs.findings(runs.through(tmp_path, location, "b", 2, fleet(values=740.0)), "measured-drift")
        for day in (3, 4, 5, 6):
            judged = runs.through(tmp_path, location, "r%d" % day, day, fleet(values=620.0))
            assert judged["counts"]["accepted_with_warnings"] == 4 and len(runs.findings(judged, "measured-drift")) == 4
        assert runs.rows(location, "SELECT SUM(usable) FROM history_measurements WHERE median < 650") == [(0,)]

    def test_many_small_steps_are_seen_from_the_first_acceptance(self, location, tmp_path):
        only = {"n0": None}
        values = [700, 690, 680, 672, 666]
        for day, value in enumerate(values, 1):
            only["n0"] = runs.node("S0", [value])
            assert not runs.findings(runs.through(tmp_path, location, "r%d" % day, day, only), "measured-drift"), value
        (found,) = runs.findings(runs.through(tmp_path, location, "last", 9, {"n0": runs.node("S0", [648])}), "measured-drift")
        assert "its own median when it was first accepted of 690" in found["summary"]

    # -- who a node is -------------------------------------------------------------------------------------------------

    def test_a_renamed_node_is_known_again_and_says_so(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet())
        renamed = fleet()
        renamed["gpu-b7"] = renamed.pop("n3")
        renamed["gpu-b7"]["acme_bench"]["measurements"][0]["samples"] = [600.0]
        judged = runs.through(tmp_path, location, "b", 2, renamed)
        changed, drift = runs.findings(judged, "changed-since-accepted"), runs.findings(judged, "measured-drift")
        assert [f["node"] for f in changed] == ["gpu-b7"] and "then called n3: Name: n3 -> gpu-b7" in changed[0]["summary"]
        assert [(f["node"], f["subject"]["id"]) for f in drift] == [("gpu-b7", "nvidia:0")]
        assert len(runs.rows(location, "SELECT 1 FROM history_machines")) == 4
        assert runs.rows(location, "SELECT name FROM history_machines WHERE system_serial = 'S3'") == [("gpu-b7",)]

    def test_two_nodes_that_swapped_their_names(self, location, tmp_path):
        nodes = fleet(2, None)
        runs.through(tmp_path, location, "a", 1, nodes)
        judged = runs.through(tmp_path, location, "b", 2, {"n0": nodes["n1"], "n1": nodes["n0"]})
        assert [f["evidence"]["changes"][0]["then"] for f in runs.findings(judged, "changed-since-accepted")] == ["n1", "n0"]
        assert not runs.findings(judged, "part-replaced")

    def test_a_replaced_card_is_noted_with_slot_old_and_new(self, location, tmp_path):
        nodes = fleet(2)
        runs.through(tmp_path, location, "a", 1, nodes)
        card = nodes["n1"]["accelerators.nvidia"]["devices"][5]["identity"]
        old, card["uuid"]["value"], card["serial"]["value"] = card["uuid"]["value"], "GPU-0000beef-1c2d-4e5f-8a9b-000000000077", "1650077"
        nodes["n1"]["acme_bench"]["measurements"][5]["samples"] = [690.0]
        judged = runs.through(tmp_path, location, "b", 2, nodes)
        (found,) = runs.findings(judged)
        assert (found["rule"], found["node"], found["subject"]["id"], found["level"]) == ("part-replaced", "n1", "nvidia:5", "info")
        assert found["summary"].endswith("of slot 0000:6d:00.0 was replaced since run a of 2026-03-01: serial S1-5 then, serial 1650077 now")
        ((node, slot, before, after, since),) = runs.rows(location, "SELECT node, slot, old_part, new_part, since_run FROM history_replacements")
        assert (node, slot, before, after, since) == ("n1", "0000:6d:00.0", old, card["uuid"]["value"], "a")
        assert not runs.findings(runs.through(tmp_path, location, "c", 3, nodes), "part-replaced")

    def test_another_machine_under_the_same_name(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet(1, None))
        silent = runs.write(tmp_path, "b", 2, {"n0": None})
        runs.judge(silent, location)
        for section, envelope in synthetic.envelopes(runs.node("S9"), "n0").items():
            silent.file_section("n0", section, "test", synthetic.STAMP, "read", envelope["data"])
        judged = runs.judge(silent, location)
        found = runs.findings(judged, "part-replaced")[0]
        assert found["summary"] == "Another machine: system serial S9, where S0 was accepted in run a of 2026-03-01"

    def test_a_node_that_was_silent_at_first_is_one_machine(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, {"n0": None})
        runs.through(tmp_path, location, "b", 2, {"n0": runs.node("S0")})
        runs.through(tmp_path, location, "c", 3, {"n0": None})
        assert runs.rows(location, "SELECT name, system_serial, first_seen, last_seen FROM history_machines") == [
            ("n0", "S0", "2026-03-01T08:00:00Z", "2026-03-02T08:00:00Z")
        ]
        judged = runs.through(tmp_path, location, "d", 4, {"n0": runs.node("S0")})
        assert runs.outcome(judged, "n0", "part-replaced")["outcome"] == "passed"

    def test_equal_nodes_of_one_chassis_are_told_apart_by_their_cards(self, location, tmp_path):
        nodes = {"n0": runs.node("S0"), "n1": runs.node("S1")}
        nodes["n1"]["host"]["system"]["serial"] = "S0"
        runs.through(tmp_path, location, "a", 1, nodes)
        nodes = {"x0": nodes["n0"], "x1": nodes["n1"]}
        judged = runs.through(tmp_path, location, "b", 2, nodes)
        assert [f["evidence"]["changes"][0]["then"] for f in runs.findings(judged, "changed-since-accepted")] == ["n0", "n1"]

    def test_equal_nodes_of_one_chassis_without_accelerators_are_told_apart_by_their_names(self, location, tmp_path):
        nodes = {"n0": runs.node("S0"), "n1": runs.node("S0")}
        for sections in nodes.values():
            del sections["accelerators.nvidia"]
            sections["pci"] = synthetic.pci([])
        variables = {name: {"accelerator_expected_count": 0} for name in nodes}
        runs.through(tmp_path, location, "a", 1, nodes, policies=variables)
        assert len(runs.rows(location, "SELECT 1 FROM history_machines")) == 2
        nodes["n2"] = nodes.pop("n1")
        judged = runs.through(tmp_path, location, "b", 2, nodes, policies={"n0": variables["n0"], "n2": variables["n1"]})
        assert [(f["node"], f["evidence"]["changes"][0]["then"]) for f in runs.findings(judged, "changed-since-accepted")] == [("n2", "n1")]

    def test_what_changed_since_is_one_finding(self, location, tmp_path):
        nodes = fleet(3, None)
        runs.through(tmp_path, location, "a", 1, nodes)
        for sections in nodes.values():
            sections["host"]["bios"]["version"] = "2.2"
            sections["host"]["kernel"]["release"] = "6.8.0-90-generic"
            sections["host"]["memory"]["total_mib"] -= 8
        judged = runs.through(tmp_path, location, "b", 2, nodes)
        found = runs.findings(judged)
        assert [(f["node"], f["rule"], f["level"]) for f in found] == [("n%d" % i, "changed-since-accepted", "info") for i in range(3)]
        assert [(c["rule"], c["then"], c["now"]) for c in found[0]["evidence"]["changes"]] == [
            ("cohort-bios", "2.1a", "2.2"),
            ("cohort-kernel", "6.8.0-79-generic", "6.8.0-90-generic"),
        ]
        assert judged["counts"]["accepted"] == 3

    # -- what counts as accepted ---------------------------------------------------------------------------------------

    def test_a_rejected_node_stays_measured_against_its_last_acceptance(self, location, tmp_path):
        nodes = fleet(2, None)
        runs.through(tmp_path, location, "a", 1, nodes)
        nodes["n0"]["host"]["bios"]["version"] = "9.9"
        nodes["n0"]["accelerators.nvidia"]["devices"][0]["row_remap"]["failed"] = True
        assert runs.through(tmp_path, location, "b", 2, nodes)["rejected"] == ["n0"]
        (found,) = runs.findings(runs.through(tmp_path, location, "c", 3, nodes))
        assert found["node"] == "n0" and found["evidence"]["since"] == "a"

    def test_the_newest_judgement_of_a_run_decides_and_comparing_is_no_acceptance(self, location, tmp_path):
        run = runs.write(tmp_path, "a", 1, fleet(2, None))
        runs.judge(run, location)
        assert runs.keep(run, location)
        fold.fold(run.path, policies={"n0": {"accelerator_expected_count": 4}}, processes=1)
        assert runs.keep(run, location)
        fold.fold(run.path, profile="consistency", processes=1)
        assert runs.keep(run, location)
        judged = runs.through(tmp_path, location, "b", 2, fleet(2, None))
        assert [runs.outcome(judged, n, "part-replaced")["outcome"] for n in ("n0", "n1")] == ["not_applicable", "passed"]

    def test_an_old_run_is_not_held_against_its_future(self, location, tmp_path):
        runs.through(tmp_path, location, "late", 9, fleet(2))
        judged = runs.through(tmp_path, location, "early", 3, fleet(2, 800.0))
        assert {runs.outcome(judged, "n0", r)["outcome"] for r in ("measured-drift", "changed-since-accepted", "part-replaced")} == {"not_applicable"}

    # -- purity --------------------------------------------------------------------------------------------------------

    def test_a_fold_reads_baseline_json_and_not_the_history(self, location, tmp_path):
        runs.through(tmp_path, location, "a", 1, fleet())
        run = runs.write(tmp_path, "b", 2, fleet(values=630.0))
        first = runs.judge(run, location)
        assert len(runs.findings(first, "measured-drift")) == 4
        content = (run.path / "baseline.json").read_bytes()
        runs.through(tmp_path, location, "c", 1, fleet(values=1000.0))
        copy = shutil.copytree(run.path, tmp_path / "elsewhere" / "b", symlinks=True)
        shutil.rmtree(copy / "judgements")
        assert snapshot.take(run_directory.RunDirectory(copy), location) is False
        for processes in (1, 2):
            fold.fold(copy, processes=processes)
            assert (copy / "judgements" / "1" / "fleet.json").read_bytes() == (run.path / "judgements" / "1" / "fleet.json").read_bytes()
            assert (copy / "judgements" / "1" / "records" / "n0.yml").read_bytes() == (run.path / "judgements" / "1" / "records" / "n0.yml").read_bytes()
            shutil.rmtree(copy / "judgements")
        assert (run.path / "baseline.json").read_bytes() == content

    # -- many at once --------------------------------------------------------------------------------------------------

    def test_concurrent_runs_lose_nothing(self, location, tmp_path):
        listed = [runs.write(tmp_path, "r%d" % i, 1 + i, fleet(3)) for i in range(6)]
        for run in listed:
            runs.judge(run)
        context = multiprocessing.get_context("fork")
        children = [context.Process(target=store_in_a_child, args=(run.path, location)) for run in listed for _twice in (1, 2)]
        for child in children:
            child.start()
        for child in children:
            child.join(120)
        assert [child.exitcode for child in children] == [0] * 12
        assert runs.rows(location, "SELECT COUNT(*), SUM(newest) FROM history_judgements") == [(6, 6)]
        assert runs.rows(location, "SELECT COUNT(*) FROM history_verdicts") == [(18,)]
        assert runs.rows(location, "SELECT COUNT(*) FROM history_measurements") == [(144,)]
        assert runs.rows(location, "SELECT COUNT(*) FROM history_machines") == [(3,)]

    def test_two_runs_of_one_name_are_told_apart_or_refused(self, location, tmp_path):
        runs.through(tmp_path / "one", location, "nightly", 1, fleet(2))
        runs.through(tmp_path / "two", location, "nightly", 2, fleet(2, 701.0))
        assert runs.rows(location, "SELECT seen_at FROM history_verdicts WHERE node = 'n0' ORDER BY seen_at") == [
            ("2026-03-01T08:00:00Z",),
            ("2026-03-02T08:00:00Z",),
        ]
        other = runs.write(tmp_path / "three", "nightly", 3, fleet(3))
        runs.judge(other)
        with pytest.raises(HistoryError, match="run nightly exists and its roster differs"):
            runs.keep(other, location)

    # -- schema --------------------------------------------------------------------------------------------------------

    def test_a_store_of_version_1_is_brought_up_to_date(self, location, tmp_path, monkeypatch):
        monkeypatch.setattr(migrations, "STEPS", migrations.STEPS[:1])
        monkeypatch.setattr(migrations.apply, "__defaults__", (migrations.STEPS,))
        runs.through(tmp_path, location, "a", 1, fleet(2))
        there = [runs.rows(location, "SELECT * FROM history_%s ORDER BY 1, 2, 3" % name) for name in ("runs", "verdicts", "measurements")]
        assert runs.rows(location, "SELECT MAX(version) FROM history_schema") == [(1,)]
        monkeypatch.undo()
        assert len(everything(location)) == 5
        assert [runs.rows(location, "SELECT * FROM history_%s ORDER BY 1, 2, 3" % name) for name in ("runs", "verdicts", "measurements")] == there
        assert runs.rows(location, "SELECT version FROM history_schema ORDER BY version") == [(n,) for n in range(1, len(migrations.STEPS) + 1)]
        judged = runs.through(tmp_path, location, "b", 2, fleet(2))
        assert runs.outcome(judged, "n0", "measured-drift")["outcome"] == "passed"
        with database.opened(location) as opened, opened.writing() as session:
            assert handed.hand_in(session, run_directory.RunDirectory(tmp_path / "a"))[1] > 0

    def test_a_migration_that_fails_leaves_nothing(self, location):
        broken = (*migrations.STEPS, ("CREATE TABLE history_next (a TEXT)", "CREATE TABLE history_runs (a TEXT)"))
        with database.opened(location) as opened:
            with pytest.raises(HistoryError, match="history_runs"):
                migrations.apply(opened, broken)
            with opened.reading() as session:
                assert not opened.has_table(session, "history_next") and migrations.version(opened, session) == len(migrations.STEPS)

    def test_a_newer_schema_is_refused(self, location):
        with database.opened(location) as opened, opened.writing() as session:
            session.insert("history_schema", [{"version": 99}])
        with pytest.raises(HistoryError, match="has schema 99, found by a collection that knows schemas up to 3; allowed: the same or a newer version"):
            runs.rows(location, "SELECT 1")

    def test_what_fails_in_a_transaction_leaves_nothing(self, location, tmp_path):
        run = runs.write(tmp_path, "a", 1, fleet(2))
        runs.judge(run)
        document, judgement, nodes = documents.of_run(run)
        with pytest.raises(KeyError), database.opened(location) as opened, opened.writing() as session:
            store.put(session, document, judgement, [*nodes, {"node": "broken"}])
        assert everything(location) == everything(location)[:1]
        with database.opened(location) as opened, opened.trying() as session:
            assert store.put(session, *documents.of_run(run)) is True
        assert len(everything(location)) == 1

    # -- lines ---------------------------------------------------------------------------------------------------------

    def test_export_and_import_give_the_same_history(self, location, tmp_path):
        nodes = fleet(3)
        runs.through(tmp_path, location, "a", 1, nodes)
        nodes["moved"] = nodes.pop("n2")
        nodes["n0"]["accelerators.nvidia"]["devices"][1]["identity"]["uuid"]["value"] = "GPU-0000cafe-1c2d-4e5f-8a9b-000000000001"
        nodes["n0"]["accelerators.nvidia"]["devices"][1]["identity"]["serial"]["value"] = "165cafe"
        runs.through(tmp_path, location, "b", 2, nodes)
        path, again = tmp_path / "out" / "h.jsonl", tmp_path / "again.jsonl"
        with database.opened(location) as opened, opened.reading() as session:
            assert lines.export(session, path) == 2
        other = str(tmp_path / "other.sqlite")
        with database.opened(other) as opened:
            with opened.writing() as session:
                assert lines.take(session, path) == (2, 2)
            with opened.writing() as session:
                assert lines.take(session, path) == (2, 0)
            with opened.reading() as session:
                lines.export(session, again)
        assert again.read_bytes() == path.read_bytes() and path.stat().st_mode & 0o777 == 0o600
        for table in ("machines", "replacements", "identifiers", "parts"):
            assert sorted(map(repr, runs.rows(other, "SELECT * FROM history_%s" % table))) == sorted(
                map(repr, runs.rows(location, "SELECT * FROM history_%s" % table))
            )
        with database.opened(location) as opened, opened.writing() as session:
            assert lines.take(session, path) == (2, 0)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("", "line 1: not JSON"),
            ('{"kind":"run"}', "line 1: not an exported history"),
            ('%(head)s\n{"kind":"dog"}', "line 2: kind: found 'dog', allowed: run, judgement, node"),
            ("%(head)s\n[1]", "line 2: kind: found None"),
            ('%(head)s\n{"kind":"run","run_id":3}', "line 2: run_id: found int, allowed: str"),
            ('%(head)s\n{"kind":"node"}', "line 2: node: found nothing, allowed: str"),
        ],
    )
    def test_a_line_that_does_not_fit_is_named_and_nothing_is_taken(self, location, tmp_path, line, message):
        (tmp_path / "in.jsonl").write_text(line % {"head": '{"kind":"history","schema":"%s"}' % lines.SCHEMA} + "\n", encoding="utf-8")
        with pytest.raises(HistoryError, match=message), database.opened(location) as opened, opened.writing() as session:
            lines.take(session, tmp_path / "in.jsonl")
        assert len(everything(location)) == 1

    def test_a_cut_file_takes_nothing(self, location, tmp_path):
        for day in (1, 2):
            runs.through(tmp_path, location, "r%d" % day, day, fleet(2))
        with database.opened(location) as opened, opened.reading() as session:
            lines.export(session, tmp_path / "h.jsonl")
        content = (tmp_path / "h.jsonl").read_bytes()
        (tmp_path / "h.jsonl").write_bytes(content[:-500])
        other = str(tmp_path / "other.sqlite")
        with pytest.raises(HistoryError, match="not JSON"), database.opened(other) as opened, opened.writing() as session:
            lines.take(session, tmp_path / "h.jsonl")
        assert len(everything(other)) == 1

    def test_pruning_keeps_what_a_machine_was_when_it_was_last_accepted(self, location, tmp_path):
        for day in (1, 2, 3):
            nodes = fleet(2)
            if day > 1:
                nodes["n1"]["accelerators.nvidia"]["devices"][0]["row_remap"]["failed"] = True
            runs.through(tmp_path, location, "r%d" % day, day, nodes)
        with database.opened(location) as opened, opened.writing() as session:
            handed.hand_in(session, run_directory.RunDirectory(tmp_path / "r1"))
            assert lines.prune(session, "2026-03-09T00:00:00Z") == 1
            assert lines.prune(session, "2026-03-09T00:00:00Z") == 0
        assert runs.rows(location, "SELECT run_id FROM history_judgements ORDER BY run_id") == [("r1",), ("r3",)]
        assert runs.rows(location, "SELECT run_id FROM history_runs ORDER BY run_id") == [("r1",), ("r3",)]
        assert runs.rows(location, "SELECT 1 FROM history_handed_sections") == []
        judged = runs.through(tmp_path, location, "r4", 4, fleet(2))
        assert {runs.outcome(judged, n, "part-replaced")["outcome"] for n in ("n0", "n1")} == {"passed"}

    # -- handed in -----------------------------------------------------------------------------------------------------

    def test_collectors_without_a_common_disk_make_one_run(self, location, tmp_path):
        nodes, policies = fleet(4), {"n%d" % i: {"accelerator_expected_count": 8} for i in range(4)}
        roster = sorted(nodes)
        whole = runs.judge(runs.write(tmp_path / "whole", "rack", 1, nodes, policies=policies))
        for half in (("n0", "n1"), ("n2", "n3")):
            part = {name: nodes[name] for name in half}
            run = runs.write(tmp_path / half[0], "rack", 1, part, policies=policies, roster=roster)
            (run.path / "pairs" / "one.json").write_text(json.dumps({"schema": "fleetproof.accelerator/pairs/v1", "measurements": [], "by": half}))
            number = sum(map(len, part.values()))
            for new in (number, 0):
                with database.opened(location) as opened, opened.writing() as session:
                    assert handed.hand_in(session, run) == (number, new)
        for written in (2 * number, 0):
            with database.opened(location) as opened, opened.reading() as session:
                run, number = handed.hand_out(session, tmp_path / "folded", "rack")
            assert number == written
        judged = runs.judge(run)
        assert judged["verdicts"] == whole["verdicts"] and judged["counts"]["accepted"] == 4
        assert len(list((run.path / "pairs").iterdir())) == 2

    def test_of_two_readings_of_a_node_the_later_counts(self, location, tmp_path):
        roster = ["n0"]
        late, early = runs.node("S0"), runs.node("S0")
        early["host"]["bios"]["version"] = "1.0"
        for name, day, sections in (("late", 5, late), ("early", 2, early)):
            run = runs.write(tmp_path / name, "rack", day, {"n0": sections}, roster=roster)
            with database.opened(location) as opened, opened.writing() as session:
                handed.hand_in(session, run)
        with database.opened(location) as opened, opened.reading() as session:
            run, number = handed.hand_out(session, tmp_path / "folded", "rack")
        assert number == len(late) + len(early) and run.load("n0")["host"]["data"]["bios"]["version"] == "2.1a" and run.load("n0")["host"]["attempt"] == 2
        with database.opened(location) as opened, opened.reading() as session:
            run, number = handed.hand_out(session, tmp_path / "late", "rack")
        assert number == 0 and run.load("n0")["host"]["data"]["bios"]["version"] == "2.1a"

    def test_another_fleet_under_the_same_run_is_refused(self, location, tmp_path):
        with database.opened(location) as opened, opened.writing() as session:
            handed.hand_in(session, runs.write(tmp_path / "one", "rack", 1, fleet(2)))
        with pytest.raises(HistoryError, match="run rack exists and its roster differs"), database.opened(location) as opened, opened.writing() as session:
            handed.hand_in(session, runs.write(tmp_path / "two", "rack", 1, fleet(3)))
        told = "nothing was handed in under shelf; handed in: rack"
        with pytest.raises(HistoryError, match=told), database.opened(location) as opened, opened.reading() as session:
            handed.hand_out(session, tmp_path / "x", "shelf")

    def test_nothing_that_is_handed_in_leaves_the_run_directory(self, location, tmp_path):
        with database.opened(location) as opened:
            with opened.writing() as session:
                handed.hand_in(session, runs.write(tmp_path / "one", "rack", 1, fleet(1)))
                key = {"run_id": "rack", "content": "{}"}
                session.insert("history_handed_files", [dict(key, folder="policies", name="../../../evil.json"), dict(key, folder="../x", name="a.json")])
                envelope = json.dumps({"schema": run_directory.SECTION_SCHEMA, "node": "../../up", "section": "host", "data": {}, "finished": "x"})
                row = {"run_id": "rack", "node": "../../up", "digest": "d", "finished": "x", "content": envelope}
                session.insert("history_handed_sections", [dict(row, section="../../host"), dict(row, section="host")])
            with opened.reading() as session:
                handed.hand_out(session, tmp_path / "out" / "runs", "rack")
        there = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if "evil" in p.name or "up" in p.name)
        assert there == ["out/runs/rack/nodes/%2E.%2F..%2Fup"]

    def test_text_of_a_node_may_be_anything(self, location, tmp_path):
        nodes = {"n'; DROP TABLE x; -- :run %s": runs.node("S0")}
        (sections,) = nodes.values()
        sections["host"]["bios"]["version"] = "<b>\u202e:run\x00 \ud800 %(x)s {{ 1 }}"
        for device in sections["accelerators.nvidia"]["devices"]:
            device["name"] = "\x00\ud800 H100"
        runs.through(tmp_path, location, "a", 1, nodes)
        sections["host"]["bios"]["version"] = "2"
        judged = runs.through(tmp_path, location, "b", 2, nodes)
        (found,) = runs.findings(judged)
        assert found["summary"].isprintable() and found["evidence"]["changes"][0]["now"] == "2"
