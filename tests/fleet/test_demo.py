# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo fleet by the real playbooks: exactly what is planted is found, and the run directory does what it promises."""

from __future__ import annotations

import json
import shutil

import demo
import jsonschema
import plays
import pytest
import yaml

MANIFEST = demo.manifest()
BAD = ["gpu-h03", "gpu-h04", "gpu-m03", "npu-a02", "npu-a03"]


def planted():
    """(node, rule, level, kind, id, causes) of the manifest."""
    return sorted(
        (node, f["rule"], f["level"], f["subject"]["kind"], f["subject"]["id"], tuple(f.get("caused_by", ())))
        for node, entry in MANIFEST.items()
        for f in entry["findings"]
    )


def found(fleet):
    told = fleet["findings"]
    return sorted((f["node"], f["rule"], f["level"], f["subject"]["kind"], f["subject"]["id"], tuple(f["caused_by"])) for f in told)


def preflight(run_root, *arguments, **variables):
    return plays.play("preflight", *arguments, run_root=run_root, inventory="inventories/demo", variables=variables)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return preflight(tmp_path_factory.mktemp("demo"), accelerator_run_id="whole")


@pytest.fixture
def copied(run, tmp_path):
    """The run again, to judge it otherwise."""
    shutil.copytree(run.root, tmp_path / "runs", symlinks=True)
    return tmp_path / "runs"


def test_exactly_what_is_planted_is_found(run):
    fleet = run.fleet()
    assert found(fleet) == planted()
    assert run.verdicts() == {node: entry["verdict"] for node, entry in MANIFEST.items()}
    assert fleet["counts"] == {"accepted": 6, "accepted_with_warnings": 1, "rejected": 3, "incomplete": 2}
    assert fleet["roster"]["text"] == "12 expected, 11 answered"


def test_the_strict_rule_is_exit_code_2_after_everything_is_written(run):
    assert run.code == 2, run.output
    assert "3 of 12 nodes rejected, 2 incomplete" in run.output and "WARNING" not in run.output
    for name in ("fleet.json", "report.html", "junit.xml", "metrics.prom"):
        assert (run.path / name).stat().st_size > 1000, name


def test_a_recording_says_that_it_is_one_and_its_clock_is_not_judged(run):
    told = {v["node"]: v["rules"]["clock-spread"]["outcome"] for v in run.fleet()["verdicts"]}
    assert set(told.values()) == {"not_applicable", "unknown"} and [node for node, outcome in told.items() if outcome == "unknown"] == [demo.SILENT]
    filed = [json.loads(path.read_text(encoding="utf-8")) for path in run.path.glob("nodes/*/*.json")]
    assert filed and all(envelope["recorded"] is True for envelope in filed)


def test_what_is_quiet_is_not_reported(run):
    fleet = run.fleet()
    told = {(f["node"], f["rule"]) for f in fleet["findings"]}
    for node, entry in MANIFEST.items():
        for quiet in entry["quiet"]:
            assert quiet["what"] and quiet["why"]
            if "rule" in quiet:
                assert quiet["rule"] in fleet["rule_catalogue"]
                assert (node, quiet["rule"]) not in told
    quiet = [q["what"] for entry in MANIFEST.values() for q in entry["quiet"]]
    assert any("nvidia-imex" in what for what in quiet) and any("fabric manager" in what for what in quiet)


def test_a_service_that_is_down_on_purpose_was_read_and_is_not_needed(run):
    """Quiet because of what the node is: the fabric manager matters where switches are, and nvidia-imex where the domain spans nodes."""
    fleet = run.fleet()
    rules = {entry["node"]: entry["rules"]["fabric-manager"] for entry in fleet["verdicts"]}
    for node, down in (("gpu-h01", "nvidia-imex"), ("gpu-h02", "nvidia-imex"), ("gpu-g01", "nvidia-fabricmanager")):
        services = run.sections(node)["host"]["data"]["services"]
        assert services[down] == {"load": "loaded", "active": "inactive", "sub": "dead"}
        assert {name for name, state in services.items() if name != "driver_container" and state["active"] == "active"} == {
            "nvidia-persistenced", *({"nvidia-fabricmanager", "nvidia-imex"} - {down})
        }  # fmt: skip
    assert [(rules[node]["outcome"], rules[node]["reason"]) for node in ("gpu-h01", "gpu-g01")] == [
        ("passed", ""),
        ("not_applicable", "no NVSwitch that this node would run"),
    ]
    assert rules["gpu-m01"]["outcome"] == rules["npu-a01"]["outcome"] == "not_applicable"
    assert not [f for f in fleet["findings"] if "imex" in f["summary"].lower() or "fabric" in f["summary"].lower()]


def test_why_a_node_is_incomplete(run):
    fleet = run.fleet()
    reasons = {entry["node"]: entry["reasons"] for entry in fleet["verdicts"]}
    for node, entry in MANIFEST.items():
        if "unknown" in entry:
            assert any(entry["unknown"] in reason for reason in reasons[node]), node
            assert all(row["reason"] for row in fleet["coverage"] if row["node"] == node)
    for node in ("gpu-h01", "gpu-h02", "gpu-g01", "gpu-m01", "gpu-m04", "npu-a01"):
        assert reasons[node] == []
        rows = [row for row in fleet["coverage"] if row["node"] == node and (row["required"] or "not recorded" in row["reason"])]
        assert rows == []


def test_every_document_fits_its_schema(run):
    for name, file in (("run", "run.json"), ("fleet", "fleet.json")):
        document = json.loads((run.path / file).read_text(encoding="utf-8"))
        assert [e.message for e in demo.validator(name).iter_errors(document)] == []
    assert sorted(path.stem for path in (run.path / "records").iterdir()) == sorted(MANIFEST)
    for node, entry in MANIFEST.items():
        record = yaml.safe_load((run.path / "records" / (node + ".yml")).read_text(encoding="utf-8"))
        jsonschema.validate(record, demo.validator("record").schema)
        assert record["node"] == node and record["result"]["verdict"] == entry["verdict"]
        for envelope in run.sections(node).values():
            assert [e.message for e in demo.validator("section").iter_errors(envelope)] == []
    assert run.sections(demo.SILENT)["host"]["status"] == "unreachable"


def judged(root, name, **variables):
    """A further judgement of the whole run: (playbook run, fleet report)."""
    done = plays.play(name, run_root=root, inventory="inventories/demo", variables={"accelerator_run_id": "whole", **variables})
    return done, done.fleet()


def test_folding_the_same_files_gives_the_same_bytes(run, copied, tmp_path):
    shutil.copytree(run.root, tmp_path / "again", symlinks=True)
    done, fleet = judged(copied, "fold")
    assert done.code == 2, done.output
    assert fleet == dict(run.fleet(), judgement=2)
    judged(tmp_path / "again", "fold")
    one, two = (root / "whole" / "judgements" / "2" for root in (copied, tmp_path / "again"))
    names = sorted(str(p.relative_to(one)) for p in one.rglob("*") if p.is_file())
    assert len(names) >= 4 + len(MANIFEST)
    assert names == sorted(str(p.relative_to(two)) for p in two.rglob("*") if p.is_file())
    assert [name for name in names if (one / name).read_bytes() != (two / name).read_bytes()] == []


def test_judging_under_another_policy(run, copied):
    done, fleet = judged(copied, "judge", accelerator_policy_row_remap_pending_level="warn")
    assert done.code == 2
    assert {entry["node"]: entry["verdict"] for entry in fleet["verdicts"]}["gpu-h04"] == "accepted_with_warnings"
    assert fleet["counts"] == {"accepted": 6, "accepted_with_warnings": 2, "rejected": 2, "incomplete": 2}
    assert plays.read(copied / "whole" / "judgements" / "1" / "fleet.json") == run.fleet()
    # the policy filed with the run is what fold judges by
    assert judged(copied, "fold")[1]["counts"] == run.fleet()["counts"]


def test_a_limit_is_a_partial_roster_and_speaks_of_its_nodes(tmp_path):
    good = preflight(tmp_path, "--limit", "gpu-h01,gpu-m01", accelerator_run_id="joined")
    assert good.code == 0, good.output
    assert good.fleet()["roster"]["text"].startswith("partial roster 2 of 12: 12 expected, 2 answered")
    assert good.verdicts()["gpu-h01"] == "accepted" and good.verdicts()["gpu-h02"] == "incomplete"
    # joined by the next job: the same run, now with four nodes, and the exit code of these two
    bad = preflight(tmp_path, "--limit", "gpu-h04,gpu-g01", accelerator_run_id="joined")
    assert bad.code == 2, bad.output
    assert bad.path == good.path and bad.fleet()["roster"]["present"] == 4
    assert bad.verdicts()["gpu-h04"] == "rejected" and bad.verdicts()["gpu-h01"] == "accepted"
    # another policy is not the same run
    other = preflight(tmp_path, "--limit", "gpu-h02", accelerator_run_id="joined", accelerator_policy_row_remap_pending_level="warn")
    assert other.code not in (0, None)
    assert "run joined exists and its policies differs" in " ".join(other.output.split())
    assert other.fleet() == bad.fleet()


def test_replaying_the_directory_of_recordings_gives_the_same_verdicts(tmp_path):
    done = plays.play("replay", run_root=tmp_path, variables={"recordings": str(demo.RECORDINGS)})
    assert done.code == 2, done.output
    assert done.verdicts() == {node: entry["verdict"] for node, entry in MANIFEST.items()}
    assert found(done.fleet()) == planted()
