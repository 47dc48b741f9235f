# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record says of collectives, RDMA and storage: what was measured, and what it was held against."""

from __future__ import annotations

import json

import demo
import history_runs as runs
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import pairs
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.record_baselines import FAMILIES

SILENT = {"unknown": "no section of this run speaks of it"}


def one(metric, value, ident="n0", kind="node", unit="GB/s", better="higher", **changes):
    subject = {"kind": kind, "id": ident} if kind else [{"node": end, "kind": "port", "id": "mlx5_0"} for end in ident]
    method = {"tool": "acme", "version": "1"}
    return dict({"metric": metric, "unit": unit, "better": better, "samples": [value], "subject": subject, "method": method, "validity": "valid"}, **changes)


def judged(root, run_id, day, entries, between=(), location=None):
    sections = runs.node("S0")
    sections["acme_bench"] = {"measurements": entries}
    run = runs.write(root, run_id, day, {"n0": sections, "n1": runs.node("S1")})
    (run.path / "pairs").mkdir(exist_ok=True)
    if between:
        (run.path / "pairs" / "a.json").write_text(json.dumps({"schema": pairs.SCHEMA, "measurements": list(between)}), encoding="utf-8")
    runs.judge(run, location)
    if location:
        runs.keep(run, location)
    records = {}
    for name in ("n0", "n1"):
        records[name] = yaml.safe_load((run.path / "judgements" / "1" / "records" / (name + ".yml")).read_text(encoding="utf-8"))
        assert [e.message for e in demo.validator("record").iter_errors(records[name])] == []
    return {name: record["baselines"] for name, record in records.items()}


def test_nothing_measured_is_unknown_as_before(tmp_path):
    assert judged(tmp_path, "a", 1, [])["n0"] == dict.fromkeys(FAMILIES, SILENT)


@pytest.mark.parametrize(
    ("metric", "family"),
    [
        ("all-reduce-node", "collective"),
        ("broadcast", "collective"),
        ("rdma-write", "rdma"),
        ("roce-read", "rdma"),
        ("nvme-read", "storage"),
        ("gemm-bf16", None),
    ],
)
def test_the_name_of_a_metric_says_its_family(tmp_path, metric, family):
    told = judged(tmp_path, "a", 1, [one(metric, 5000.0)])["n0"]
    assert [name for name in FAMILIES if told[name] != SILENT] == ([family] if family else [])


def test_a_value_its_unit_and_the_floor_of_the_product(tmp_path):
    told = judged(tmp_path, "a", 1, [one("all-reduce-node", 451.5), one("fio-read", 12.0)])["n0"]
    assert told["collective"] == [
        {
            "metric": "all-reduce-node", "subject": "n0", "value": 451.5, "unit": "GB/s", "better": "higher",
            "reference": {"value": 440, "origin": "floor of the product: OCI 440, with in-switch reduction"},
        }
    ]  # fmt: skip
    assert told["storage"][0]["reference"] == {"not_applicable": "no accepted past and no floor of the product: compared within this run alone"}
    assert told["rdma"] == SILENT


def test_its_own_accepted_past_comes_before_the_floor(tmp_path):
    location = str(tmp_path / "h.sqlite")
    judged(tmp_path, "a", 1, [one("all-reduce-node", 460.0)], [one("ib-write", 48.0, ("n0", "n1"), None)], location)
    told = judged(tmp_path, "b", 2, [one("all-reduce-node", 455.0)], [one("ib-write", 47.0, ("n0", "n1"), None)], location)
    assert told["n0"]["collective"][0]["reference"] == {"value": 460, "origin": "baseline: its own accepted median (1 value)"}
    assert told["n0"]["rdma"] == [
        {
            "metric": "ib-write", "subject": "n0 to n1", "value": 47, "unit": "GB/s", "better": "higher",
            "reference": {"value": 48, "origin": "baseline: its own accepted median (1 value)"},
        }
    ]  # fmt: skip
    assert told["n1"]["rdma"] == told["n0"]["rdma"]


def test_the_worst_pair_stands_for_a_nodes_pairs(tmp_path):
    between = [one("ib-latency", value, ends, None, "us", "lower") for value, ends in ((1.5, ("n0", "n1")), (2.5, ("n1", "n0")))]
    (told,) = judged(tmp_path, "a", 1, [], between)["n0"]["rdma"]
    assert (told["subject"], told["value"]) == ("n1 to n0, the worst of 2 pairs", 2.5)


def test_a_measurement_that_cannot_be_used_is_unknown_with_its_reason(tmp_path):
    told = judged(tmp_path, "a", 1, [one("rdma-write", 5.0, validity="clocks were low")])["n0"]
    assert told["rdma"] == {"unknown": "rdma-write: not valid: clocks were low"} and told["storage"] == SILENT


def test_a_family_has_an_end(tmp_path):
    assert len(judged(tmp_path, "a", 1, [one("disk-read", 5.0 + i / 100, "d%d" % i, "disk") for i in range(100)])["n0"]["storage"]) == 64
