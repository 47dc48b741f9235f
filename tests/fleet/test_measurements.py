# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A section of measurements that no module of this collection files: folded, compared, told with value, reference, origin and margin."""

from __future__ import annotations

import json
import random

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold

METHOD = {"tool": "acme-bench", "version": "3", "parameters": {"shape": 4096}}


def measured(ident, samples, metric="acme-gemm", better="higher", kind="package", **more):
    document = {"metric": metric, "unit": "TFLOPS", "better": better, "samples": samples, "subject": {"kind": kind, "id": ident}, "method": METHOD}
    document.update(validity="valid", conditions={}, started=synthetic.STAMP)
    return dict(document, **more)


def around(value, seed, spread=0.01, number=10):
    chance = random.Random(seed)
    return [round(value * (1 + spread * chance.gauss(0, 1)), 3) for _time in range(number)]


def cards(usual=700, seed=0, **odd):
    """Eight cards; odd: c3=630 makes card 3 measure that."""
    return [measured("nvidia:%d" % i, around(odd.get("c%d" % i, usual), "%s/%d" % (seed, i))) for i in range(8)]


def run(tmp_path, nodes, pairs=None, policies=None):
    """The fleet document of nodes -> measurements."""
    filed = {}
    for number, (node, listed) in enumerate(nodes.items()):
        sections = synthetic.healthy(serial="S%04d" % number)
        if listed is not None:
            sections["acme_bench"] = {"timestamp": synthetic.STAMP, "measurements": listed}
        filed[node] = synthetic.envelopes(sections)
    path = synthetic.write_run(tmp_path, filed, policies)
    if pairs is not None:
        (path / "pairs" / "one.json").write_text(
            pairs if isinstance(pairs, str) else json.dumps({"schema": "fleetproof.accelerator/pairs/v1", "measurements": pairs})
        )
    return fold.fold(path, processes=1)


def findings(fleet, rule):
    return [f for f in fleet["findings"] if f["rule"] == rule]


def outcome(fleet, node, rule):
    return next(v for v in fleet["verdicts"] if v["node"] == node)["rules"][rule]


def test_a_slow_card_is_named_with_value_reference_origin_and_margin(tmp_path):
    nodes = {"n%d" % i: cards(seed=i) for i in range(8)}
    nodes["n3"] = cards(seed=3, c5=560)
    fleet = run(tmp_path, nodes)
    (found,) = findings(fleet, "measured-in-cohort")
    assert found["node"] == "n3" and found["subject"]["id"] == "nvidia:5" and found["level"] == "fail"
    assert found["expected"]["origin"] == "fleet cohort" and found["expected"]["unit"] == "TFLOPS at least" and 640 < found["expected"]["value"] < 690
    assert (
        "acme-gemm of NVIDIA H100 80GB HBM3: " in found["summary"]
        and "below the median of 64 in the cohort" in found["summary"]
        and "(margin " in found["summary"]
    )
    (inside,) = findings(fleet, "measured-in-node")
    assert inside["subject"]["id"] == "nvidia:5" and inside["caused_by"] == ["measured-in-cohort"]
    assert fleet["rejected"] == ["n3"] and outcome(fleet, "n0", "measured-in-cohort")["outcome"] == "passed"


def test_a_slow_node_is_told_as_a_node_and_not_as_eight_cards(tmp_path):
    nodes = {"n%d" % i: cards(seed=i, usual=640 if i == 6 else 700) for i in range(8)}
    fleet = run(tmp_path, nodes)
    (found,) = findings(fleet, "measured-in-cohort")
    assert (found["node"], found["subject"]["kind"], found["level"]) == ("n6", "node", "warn")
    assert not findings(fleet, "measured-in-node") and fleet["accepted_with_warnings"] == ["n6"]


def test_healthy_spread_is_no_finding(tmp_path):
    chance = random.Random(11)
    nodes = {"n%02d" % i: [measured("nvidia:%d" % c, around(700 * (1 + 0.02 * chance.gauss(0, 1)), (i, c).__str__())) for c in range(8)] for i in range(20)}
    fleet = run(tmp_path, nodes)
    assert not [f for f in fleet["findings"] if f["rule"].startswith("measured")] and len(fleet["accepted"]) == 20


def test_a_small_cohort_is_held_against_floors_only_and_says_so(tmp_path):
    fleet = run(tmp_path, {"n1": cards(), "n2": cards(usual=500, seed=1)})
    told = outcome(fleet, "n2", "measured-in-cohort")
    assert told["outcome"] == "not_applicable" and "held against floors only" in told["reason"]


def test_a_uniformly_slow_cohort_is_found_by_the_floor(tmp_path):
    nodes = {"n%d" % i: [measured("nvidia:0", [590 + i], metric="gemm-bf16")] for i in range(8)}
    fleet = run(tmp_path, nodes)
    assert not findings(fleet, "measured-in-cohort")
    found = findings(fleet, "measured-floor")
    assert len(found) == 8 and found[0]["expected"]["value"] == 600 and found[0]["expected"]["origin"].startswith("suite: STAS") and found[0]["level"] == "fail"


def test_a_card_of_two_speeds_is_unsteady(tmp_path):
    nodes = {"n%d" % i: cards(seed=i) for i in range(6)}
    nodes["n2"][4]["samples"] = [700, 598, 701, 700, 597, 702, 600, 699, 700, 598]
    (found,) = findings(run(tmp_path, nodes), "measured-in-cohort")
    assert found["subject"]["id"] == "nvidia:4" and "repeated samples scatter" in found["summary"] and found["level"] == "warn"


def test_a_slow_tail_is_found_though_the_median_is_good(tmp_path):
    nodes = {"n%d" % i: cards(seed=i) for i in range(6)}
    nodes["n2"][4]["samples"] = [700, 701, 699, 700, 702, 698, 701, 700, 700, 700, 700, 240]
    found = [f for f in findings(run(tmp_path, nodes), "measured-in-cohort") if "as a whole" in f["summary"]]
    assert [(f["node"], f["subject"]["id"], f["level"]) for f in found] == [("n2", "nvidia:4", "warn")] and 5 < found[0]["observed"] < 6
    assert found[0]["expected"]["origin"] == "fleet cohort" and len(found[0]["evidence"]["criterion"]) == 10


def test_latency_is_worse_when_higher(tmp_path):
    nodes = {"n%d" % i: [measured("n%d" % i, [5.0 + i / 100 + (2 if i == 4 else 0)], metric="latency", better="lower", kind="node")] for i in range(8)}
    (found,) = findings(run(tmp_path, nodes), "measured-in-cohort")
    assert found["node"] == "n4" and "above the median" in found["summary"] and found["expected"]["unit"].endswith("at most")


@pytest.mark.parametrize(
    "change",
    [
        {"method": {"tool": "acme-bench", "version": "4"}},
        {"unit": "GFLOPS"},
    ],
)
def test_what_was_measured_otherwise_is_not_compared(tmp_path, change):
    nodes = {"n%d" % i: [measured("nvidia:0", [700])] for i in range(8)}
    nodes["n5"] = [measured("nvidia:0", [100], **change)]
    fleet = run(tmp_path, nodes)
    assert not findings(fleet, "measured-in-cohort") and outcome(fleet, "n5", "measured-in-cohort")["outcome"] == "not_applicable"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"validity": "clocks were locked low"}, "not valid"),
        ({"samples": []}, "samples"),
        ({"samples": [1, "x"]}, "samples"),
        ({"samples": [0]}, "samples"),
        ({"better": "sideways"}, "better"),
        ({"method": None}, "method"),
        ({"metric": ["x"]}, "metric"),
    ],
)
def test_what_cannot_be_used_is_unknown_and_not_compared(tmp_path, change, words):
    nodes = {"n%d" % i: [measured("nvidia:0", [700])] for i in range(6)}
    nodes["n1"] = [measured("nvidia:0", [70], **{k: v for k, v in change.items() if k not in ("samples",)})]
    nodes["n1"][0].update(change)
    fleet = run(tmp_path, nodes)
    told = outcome(fleet, "n1", "measured-validly")
    assert told["outcome"] == "unknown" and words in told["reason"] and not findings(fleet, "measured-in-cohort")


def pair(source, target, value, rail="r0"):
    ends = [{"node": n, "kind": "port", "id": "mlx5_0", "rail": rail} for n in (source, target)]
    return measured(None, [value], metric="ib-write", subject=ends)


def all_pairs(slow=lambda a, b: 1.0, names="abcdef"):
    return [pair(a, b, (390 + (ord(a) * 7 + ord(b)) % 5) * slow(a, b)) for a in names for b in names if a != b]


def test_a_slow_node_of_a_matrix_is_told_once_and_a_slow_link_as_a_link(tmp_path):
    nodes = dict.fromkeys("abcdef")
    fleet = run(tmp_path, nodes, all_pairs(lambda a, b: 0.8 if "c" in (a, b) else 0.85 if {a, b} == {"a", "e"} else 1))
    told = {(f["node"], json.dumps(f["subject"])) for f in findings(fleet, "measured-pairs")}
    assert {node for node, _s in told} == {"c", "a", "e"} and len(told) == 3
    assert any("node c is slow in 10 of 10 pairs" in f["summary"] for f in findings(fleet, "measured-pairs"))


def test_without_pairs_nothing_is_said(tmp_path):
    assert outcome(run(tmp_path, dict.fromkeys("ab")), "a", "measured-pairs")["outcome"] == "not_applicable"


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "other"}', '{"schema": "fleetproof.accelerator/pairs/v1", "measurements": [{"subject": 3}]}'])
def test_a_damaged_file_of_pairs_is_unknown(tmp_path, text):
    told = outcome(run(tmp_path, dict.fromkeys("ab"), text), "a", "measured-pairs")
    assert told["outcome"] == "unknown" and "one.json" in told["reason"]
