# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements in the fleet document: everything a plot needs, bounded, and on the page."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import shown, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import html
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import Params
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.tests.fleet.test_measurements import all_pairs, around, cards, measured, run

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "schemas" / "fleet.json").read_text(encoding="utf-8"))


def fits(tmp_path):
    jsonschema.validate(json.loads((tmp_path / "r1" / "fleet.json").read_text(encoding="utf-8")), SCHEMA)


def test_a_cohort_has_its_values_its_reference_and_its_floor(tmp_path):
    nodes = {"n%d" % i: [measured("nvidia:%d" % c, around(740, (i, c).__str__()), metric="gemm-bf16") for c in range(8)] for i in range(6)}
    nodes["n4"][3]["samples"] = [588.0, 590.0, 592.0]
    fleet = run(tmp_path, nodes)
    fits(tmp_path)
    (series,) = fleet["measurements"]
    assert (series["metric"], series["better"], series["product"]) == ("gemm-bf16", "higher", "NVIDIA H100 80GB HBM3")
    assert series["cohort"] == fleet["cohorts"][0]["name"] and series["number"] == len(series["values"]) == 48
    assert series["values"][0] == ["n4", "nvidia:3", 590.0] and 735 < series["reference"] < 745 and 0 < series["spread"] < 0.02
    assert (series["floor"]["fail"], series["floor"]["warn"]) == (600, 675) and series["floor"]["source"].startswith("STAS")
    assert [value for _n, _s, value in series["values"]] == sorted(value for _n, _s, value in series["values"])
    page = html.render(fleet)
    assert page.count("<svg") == 1 and 'href="#node-n4"><path class="out"' in page and "1 value beyond the limit or the floor" in page
    assert "floor, fail 600" in page and "floor, warn 675" in page


def test_lower_is_better_the_other_way_round(tmp_path):
    nodes = {"n%d" % i: [measured("n%d" % i, [5.0 + (2 if i == 4 else 0)], metric="latency", better="lower", kind="node")] for i in range(8)}
    (series,) = run(tmp_path, nodes)["measurements"]
    assert series["values"][0] == ["n4", "", 7.0] and series["floor"] is None


def test_what_was_measured_otherwise_is_a_plot_of_its_own(tmp_path):
    nodes = {"n%d" % i: cards(seed=i) for i in range(2)}
    nodes["n2"] = [measured("nvidia:0", [700], unit="GFLOPS"), measured("nvidia:1", [700], method={"tool": "other"})]
    assert sorted(series["number"] for series in run(tmp_path, nodes)["measurements"]) == [1, 1, 16]


def test_pairs_are_a_matrix_with_the_slow_cells_marked(tmp_path):
    fleet = run(tmp_path, dict.fromkeys("abcdef"), all_pairs(lambda a, b: 0.8 if "c" in (a, b) else 1))
    fits(tmp_path)
    (matrix,) = fleet["matrices"]
    assert [end[0] for end in matrix["ends"]] == list("abcdef") and matrix["pairs"] == 30
    assert all(matrix["values"][i][i] is None for i in range(6)) and matrix["values"][2][0] < 320 < matrix["values"][0][1]
    page = html.render(fleet)
    assert page.count('<td class="h2">') + page.count('<td class="h3">') == 10 and "10 cells beyond the limit" in page


def test_a_run_without_measurements_has_none(tmp_path):
    fleet = run(tmp_path, dict.fromkeys("ab"))
    fits(tmp_path)
    assert fleet["measurements"] == fleet["matrices"] == [] and 'id="measured"' not in html.render(fleet)


def test_of_very_many_the_worst_are_kept_and_the_others_thinned(monkeypatch):
    ones = [("n%05d" % i, "package", "x:0", 1000.0 - i / 100) for i in range(20000)]
    kept = shown._worst(ones, "higher")
    ordered = sorted(one[3] for one in ones)
    values = [one[3] for one in kept]
    assert len(kept) == shown.MOST_VALUES and values == sorted(values)
    assert values[: shown.WORST] == ordered[: shown.WORST] and values[-1] == ordered[-1]
    assert shown._worst(ones, "lower")[0][3] == 1000.0


def test_of_very_many_ends_the_worst_are_kept():
    names = ["n%03d" % i for i in range(100)]
    cells = [statistics.Cell((a, "r"), (b, "r"), 50.0 if "n077" in (a, b) else 100.0) for a in names for b in names if a != b]
    (matrix,) = shown.matrices({("write", "GB/s", "higher", "{}"): cells}, Params(RULES[shown.PAIRS_RULE], {}))
    assert matrix["ends_number"] == 100 and len(matrix["ends"]) == len(matrix["values"]) == shown.MOST_ENDS
    assert ["n077", "r"] in matrix["ends"] and matrix["pairs"] == 9900
