# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fold over synthetic run directories: verdicts, files, determinism, damage, numbering."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil

import pytest
import synthetic
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fleet_document, fold, judgement, workers
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import PolicyError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import OUTCOMES


def fleet_of_five():
    nodes = {"gpu%d" % i: synthetic.envelopes(synthetic.healthy(serial="S%d" % i)) for i in range(4)}
    sections = synthetic.healthy(serial="S4")
    sections["accelerators.nvidia"]["devices"][3]["row_remap"]["pending"] = True
    sections["host"]["kernel"]["release"] = "6.8.0-11-generic"
    nodes["gpu4"] = synthetic.envelopes(sections)
    return nodes


def files(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def by_node(fleet):
    return {entry["node"]: entry for entry in fleet["verdicts"]}


@pytest.fixture
def run(tmp_path):
    nodes = fleet_of_five()
    nodes["gpu8"] = synthetic.unread("gpu8")
    nodes["gpu9"] = {}
    return synthetic.write_run(tmp_path, nodes, {"gpu0": {"accelerator_expected_count": 8}})


def test_verdicts_and_lists(run):
    fleet = fold.fold(run)
    assert fleet["counts"] == {"accepted": 4, "accepted_with_warnings": 0, "rejected": 1, "incomplete": 2}
    assert fleet["accepted"] == ["gpu0", "gpu1", "gpu2", "gpu3"] and fleet["rejected"] == ["gpu4"] and fleet["incomplete"] == ["gpu8", "gpu9"]
    assert [(f["rule"], f["node"], f["level"]) for f in fleet["findings"]] == [("row-remap-pending", "gpu4", "fail"), ("cohort-kernel", "gpu4", "warn")]
    assert fleet["roster"]["text"] == "partial roster 6 of 7: 7 expected, 5 answered" and fleet["roster"]["present"] == 6
    assert {sum(v[k] for k in OUTCOMES) for v in by_node(fleet)["gpu8"]["rules"].values()} == {1}
    assert by_node(fleet)["gpu9"]["reasons"] == ["no answer: nothing was filed for this node: it was not asked, or its job did not end"]
    assert fleet["cohorts"][0]["odd"] == ["gpu4"] and fleet["cohorts"][0]["nodes"] == ["gpu0", "gpu1", "gpu2", "gpu3", "gpu4"]
    assert fleet["judged_at"] == synthetic.STAMP and fleet["judgement"] == 1
    assert fleet["profile"] == "preflight"


def test_what_is_written(run):
    fleet = fold.fold(run)
    there = run / "judgements" / "1"
    assert fleet_document.whole(json.loads((there / "fleet.json").read_text())) == json.loads(json.dumps(fleet))
    assert sorted(p.name for p in (there / "records").iterdir()) == ["gpu%d.yml" % i for i in (0, 1, 2, 3, 4, 8, 9)]
    for name in ("fleet.json", "report.html", "junit.xml", "metrics.prom", "findings.csv", "summary.md", "records"):
        assert os.readlink(run / name) == "judgements/1/%s" % name
        assert (run / name).exists()
    record = yaml.safe_load((there / "records" / "gpu4.yml").read_text())
    assert record["schema"] == "fleetproof.accelerator/record/v1" and record["result"]["verdict"] == "rejected"
    assert record["result"]["layers"]["Real framework"] == "not asked"
    assert record["accelerators"]["found"] == "8x NVIDIA H100 80GB HBM3"
    assert record["representative_training"] == {"unknown": "no section of this run speaks of it"}
    silent = yaml.safe_load((there / "records" / "gpu8.yml").read_text())
    assert silent["hardware"]["serial"] == {"unknown": "section host: unreachable: ssh: connect to host: connection timed out"}


def test_same_files_same_bytes_in_any_number_of_processes(run):
    outputs = []
    for processes in (1, 2, 3):
        assert fold.fold(run, processes=processes)["judgement"] == 1
        outputs.append(files(run / "judgements" / "1"))
        shutil.rmtree(run / "judgements" / "1")
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0]) == 6 + 7


def test_judged_again_under_another_policy_and_profile(run):
    first = fold.fold(run)
    again = fold.fold(run, policies={"gpu4": {"accelerator_policy_row_remap_pending_level": "warn"}})
    assert again["judgement"] == 2 and again["rejected"] == [] and again["accepted_with_warnings"] == ["gpu4"]
    assert (run / "judgements" / "1" / "fleet.json").exists() and first["rejected"] == ["gpu4"]
    assert os.readlink(run / "fleet.json") == "judgements/2/fleet.json"
    acceptance = fold.fold(run, profile="acceptance")
    assert acceptance["profile"] == "acceptance" and "gpu0" in acceptance["incomplete"]
    own = {"accelerator_profile": "mine", "accelerator_profiles": {"mine": {"layers": [1], "required": ["node-answers"]}}}
    mine = by_node(fold.fold(run, policies={"gpu4": own}))["gpu4"]
    assert mine["profile"] == "mine" and mine["verdict"] == "accepted" and list(mine["rules"]) == ["node-answers"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"schema": "fleetproof.accelerator/section/v1", "data": {', "Expecting"),
        (b"", "Expecting value"),
        (b"\xff\xfe\x00", "can't decode"),
        (b"[]", "not a fleetproof.accelerator/section/v1 document"),
        (b'{"schema": "other/v1", "data": {}}', "not a fleetproof.accelerator/section/v1 document"),
        (b"[" * 200000, "recursion"),
        (b'{"schema": "fleetproof.accelerator/section/v1", "data": ' + b"9" * 9000 + b"}", "digits"),
    ],
)
def test_a_damaged_section_is_unknown_for_its_node_and_harms_no_other(tmp_path, content, reason):
    nodes = {"a": synthetic.envelopes(synthetic.healthy()), "b": dict(synthetic.envelopes(synthetic.healthy()), **{"accelerators.nvidia": content})}
    fleet = fold.fold(synthetic.write_run(tmp_path, nodes))
    assert fleet["accepted"] == ["a"] and fleet["incomplete"] == ["b"]
    told = [row["reason"] for row in fleet["coverage"] if row["node"] == "b" and row["rule"] == "ecc-uncorrected"]
    assert len(told) == 1 and "accelerators.nvidia.1.json" in told[0] and reason in told[0]


def test_a_section_that_cannot_be_opened(tmp_path):
    path = synthetic.write_run(tmp_path, {"a": synthetic.envelopes(synthetic.healthy())})
    (path / "nodes" / "a" / "host.2.json").mkdir()
    fleet = fold.fold(path)
    assert any("host.2.json" in row["reason"] for row in fleet["coverage"])


def test_the_newest_attempt_counts(tmp_path):
    path = synthetic.write_run(tmp_path, {"a": synthetic.unread("a", sections=("host", "pci"))})
    for name, envelope in synthetic.envelopes(synthetic.healthy(), "a").items():
        (path / "nodes" / "a" / ("%s.2.json" % name)).write_text(json.dumps(envelope))
    assert fold.fold(path)["accepted"] == ["a"]


def test_policy_errors_of_all_nodes_before_anything_is_written(tmp_path):
    nodes = {name: synthetic.envelopes(synthetic.healthy()) for name in ("a", "b", "c")}
    policies = {node: {"accelerator_policy_persistance_level": "warn"} for node in "ab"}
    path = synthetic.write_run(tmp_path, nodes, dict(policies, c={"accelerator_expected_count": "x"}))
    with pytest.raises(PolicyError) as raised:
        fold.fold(path)
    assert len(raised.value.problems) == 2 and raised.value.problems[0].startswith("a and 1 more: accelerator_policy_persistance_level")
    assert list((path / "judgements").iterdir()) == []


def test_hostile_names_and_texts_stay_text(tmp_path):
    sections = synthetic.healthy(1)
    sections["accelerators.nvidia"]["devices"][0]["name"] = "<script>alert(1)</script>\x00 {{ lookup('pipe', 'id') }}"
    sections["accelerators.nvidia"]["devices"][0]["row_remap"]["pending"] = True
    sections["host"]["system"]["product"] = "- [x]: &a *b\n---\n\ud83d"
    path = synthetic.write_run(tmp_path, {"../../e v\u00efl": synthetic.envelopes(sections)})
    fleet = fold.fold(path)
    name = "%2E.%2F..%2Fe%20v%C3%AFl.yml"
    assert [p.name for p in (path / "records").iterdir()] == [name]
    loaded = yaml.safe_load((path / "records" / name).read_text(encoding="utf-8"))
    assert loaded["node"] == "../../e v\u00efl"
    assert loaded["hardware"]["sku"].startswith("Acme - [x]: &a *b --- ")
    assert "<script>alert" not in (path / "report.html").read_text(encoding="utf-8")
    assert fleet["counts"]["rejected"] == 1


def test_an_empty_roster(tmp_path):
    fleet = fold.fold(synthetic.write_run(tmp_path, {}, roster=[]))
    assert fleet["verdicts"] == [] and fleet["roster"]["text"] == "no node is expected"


def test_nothing_to_accept(tmp_path):
    sections = {"host": synthetic.host(), "pci": dict(synthetic.pci([]), counts={"nvidia": 0}), "kernel": synthetic.kernel()}
    path = synthetic.write_run(tmp_path, {"here": synthetic.envelopes(sections)}, {"here": {"accelerator_expected_count": "0"}})
    entry = fold.fold(path)["verdicts"][0]
    assert entry["verdict"] == "accepted" and entry["reasons"] == ["nothing to accept: accelerator_expected_count is 0"]
    bare = synthetic.write_run(tmp_path / "x", {"here": synthetic.envelopes(sections)})
    assert fold.fold(bare)["verdicts"][0]["verdict"] == "rejected"


def test_a_tie_of_two(tmp_path):
    other = synthetic.healthy(serial="S2")
    other["accelerators.nvidia"]["driver"].update(version="581.15.01", module_version="581.15.01", library_version="581.15.01", tool_version="581.15.01")
    fleet = fold.fold(synthetic.write_run(tmp_path, {"a": synthetic.envelopes(synthetic.healthy()), "b": synthetic.envelopes(other)}))
    assert fleet["accepted_with_warnings"] == ["a", "b"]
    assert {f["rule"] for f in fleet["findings"]} == {"cohort-driver"}
    assert "580.95.05 on a; 581.15.01 on b" in fleet["findings"][0]["summary"] and fleet["cohorts"][0]["odd"] == []


def test_differences_that_come_together_are_one_story(tmp_path):
    nodes = {"n%d" % i: synthetic.envelopes(synthetic.healthy(serial="S%d" % i)) for i in range(3)}
    other = synthetic.healthy(serial="S9")
    other["host"]["os"]["version"] = "22.04"
    other["host"]["kernel"]["release"] = "5.15.0"
    nodes["n9"] = synthetic.envelopes(other)
    found = {f["rule"]: f["caused_by"] for f in fold.fold(synthetic.write_run(tmp_path, nodes))["findings"]}
    assert found == {"cohort-os": [], "cohort-kernel": ["cohort-os"]}


def test_a_shortage_that_two_rules_see_has_one_root(tmp_path):
    nodes = {"n%d" % i: synthetic.envelopes(synthetic.healthy(serial="S%d" % i)) for i in range(3)}
    sections = synthetic.healthy(serial="S9")
    sections["accelerators.nvidia"] = synthetic.section(sections["accelerators.nvidia"]["devices"][:7], on_bus=sections["pci"]["devices"])
    nodes["n9"] = synthetic.envelopes(sections)
    fleet = fold.fold(synthetic.write_run(tmp_path, nodes))
    assert {f["rule"]: f["caused_by"] for f in fleet["findings"]} == {"detection-agrees": [], "cohort-count": ["detection-agrees"]}
    assert fleet["rejected"] == ["n9"]


def test_judgements_are_numbered_and_appear_whole(run):
    with judgement.Judgement(run) as outer:
        assert fold.fold(run)["judgement"] == 2
        assert sorted(p.name for p in (run / "judgements").iterdir()) == ["1.tmp", "2"]
        (outer.path / "fleet.json").write_text("{}")
    # the fold that began first ended last: the links stay with the newer judgement
    assert sorted(p.name for p in (run / "judgements").iterdir()) == ["1", "2"]
    assert os.readlink(run / "fleet.json") == "judgements/2/fleet.json"


def test_a_failed_fold_leaves_nothing_behind(run, monkeypatch):
    def broken(fleet):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fold, "renderers", lambda: (("report.html", broken),))
    for processes in (1, 2):
        with pytest.raises(RunError, match="No space left on device"):
            fold.fold(run, processes=processes)
    assert list((run / "judgements").iterdir()) == [] and not (run / "fleet.json").exists()


def test_children_that_die_are_replaced_by_the_parent():
    parent = os.getpid()

    def compute(item):
        if os.getpid() != parent and item == 5:
            os._exit(9)
        return item * item

    assert list(workers.ordered(range(20), compute, 3)) == [n * n for n in range(20)]
    assert list(workers.ordered([], compute, 3)) == []


def test_no_fork_no_pool(monkeypatch, run):
    def refused():
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    assert fold.fold(run, processes=4)["counts"]["accepted"] == 4


def test_not_a_run(tmp_path):
    with pytest.raises(RunError, match=r"run\.json is missing"):
        fold.fold(tmp_path)


def test_a_place_that_cannot_be_written(run):
    (run / "judgements").rmdir()
    (run / "judgements").write_text("in the way")
    with pytest.raises(RunError, match="judgements cannot be written"):
        fold.fold(run)


def test_inside_a_daemon_that_may_have_no_children_of_its_own(run):
    # Ansible runs action plugins in worker processes.
    worker = multiprocessing.get_context("fork").Process(target=fold.fold, args=(run,), kwargs={"processes": 2}, daemon=True)
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0 and json.loads((run / "fleet.json").read_text())["counts"]["accepted"] == 4
