# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""junit.xml, metrics.prom and the terminal's summary."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import junit, prometheus, text, words
from ansible_collections.fleetproof.accelerator.tests.unit import fleet_samples as samples

FLEETS = {"twelve": samples.twelve, "many": samples.many, "hostile": samples.hostile, "none": lambda: samples.finish(samples.empty(), [])}


# visible text


@pytest.mark.parametrize(
    "given, shown",
    [
        ("plain", "plain"),
        ("a\x1b[31mb", "a[U+001B][31mb"),
        ("\u202eabc", "[U+202E]abc"),
        ("two\nlines\r\nmore\n", "two ↵ lines ↵ more"),
        ("tab\tnbsp\u00a0x", "tab nbsp x"),
        ("\ud800", "[U+D800]"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301[U+0301][U+0301]"),
        ("Größe 昇腾", "Größe 昇腾"),
        (True, "yes"),
        (None, ""),
        (1.5, "1.5"),
        ({"unknown": "timeout\x07"}, "unknown: timeout[U+0007]"),
        ({"not_applicable": "none"}, "n/a: none"),
        (["a", 1], "a, 1"),
        ({"total": 18, "up": 17}, "total 18, up 17"),
    ],
)
def test_visible(given, shown):
    assert words.visible(given) == shown


def test_visible_cuts_and_says_so():
    assert words.visible("x" * 3000) == "x" * 2000 + " … (1000 more characters)"


def test_anchors_are_unique_and_need_no_encoding():
    names = ["a", "a b", "a~20b", "a%20b", "ä", "a/b", "\ud800", "a.b-c_d"]
    anchors = [words.anchor("node", name) for name in names]
    assert len(set(anchors)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]+", anchor) for anchor in anchors)


@pytest.mark.parametrize(
    "numbers, said",
    [
        ((0, 0, 0, 0), "No node was expected: there is nothing to accept"),
        ((3, 1, 0, 8), "3 of 12 nodes rejected, 1 incomplete"),
        ((0, 2, 0, 8), "2 of 10 nodes incomplete, none rejected"),
        ((0, 0, 2, 8), "All 10 nodes accepted, 2 with warnings"),
        ((0, 0, 0, 8), "All 8 nodes accepted"),
    ],
)
def test_the_sentence(numbers, said):
    assert words.sentence({"counts": dict(zip(words.VERDICTS, numbers))}) == said


def test_reasons_that_quote_each_other_are_one():
    fleet = samples.twelve()
    fleet["coverage"].append(
        {
            "node": "npu-c03",
            "rule": "x",
            "outcome": "unknown",
            "required": True,
            "subjects": 1,
            "reason": "8 on PCI: unreachable: ssh: connect to host npu-c03 port 22: No route to host",
        }
    )
    rows = [row for row in words.unproven(fleet) if "npu-c03" in row["nodes"]]
    assert len(rows) == 1 and rows[0]["reason"].startswith("8 on PCI") and "x" in rows[0]["rules"] and "tool-answers" in rows[0]["rules"]


def test_a_reason_no_rule_gave_is_told():
    fleet = samples.twelve()
    verdict = fleet["verdicts"][-1]
    verdict["reasons"].append("layer 3 (Container devices): nothing in this run establishes it")
    assert any("layer 3" in row["reason"] and row["nodes"] == ["npu-c03"] for row in words.unproven(fleet))


@pytest.mark.parametrize(
    "given, nature",
    [
        (1, "known"),
        ("x16", "known"),
        ({"total": 1}, "known"),
        ({"unknown": "r"}, "unknown"),
        ("unknown: r", "unknown"),
        (None, "unknown"),
        ({"not_applicable": "r"}, "not_applicable"),
        ("n/a: r", "not_applicable"),
    ],
)
def test_nature(given, nature):
    assert words.nature(given) == nature


def test_layers_tell_fail_gap_and_optional_gap_apart():
    layers = words.asked_layers(samples.twelve())
    line = layers["1"]
    assert [line[state] for state in ("asked", *words.LAYER_STATES)] == [12, 3, 2, 2, 0, 5]
    assert layers["2"]["asked"] == 0


# terminal


@pytest.mark.parametrize("name", sorted(FLEETS))
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_summary_fits(name, width):
    fleet = FLEETS[name]()
    before = copy.deepcopy(fleet)
    shown = text.render(fleet, width=width, report="/shared/runs/%s/report.html" % ("x" * 120))
    assert fleet == before
    assert max(text.columns(line) for line in shown.splitlines()) <= max(width, 24)
    shown.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u0590-\u06ff\u200b-\u200f\u202a-\u202e]", shown)


def test_summary_of_a_bad_morning():
    shown = text.render(samples.twelve(), report="/runs/7/report.html")
    lines = shown.splitlines()
    assert lines[0] == "3 of 12 nodes rejected, 2 incomplete (2 accepted with warnings, 5 accepted)"
    assert "layers not asked: 2, 3, 4, 5" in lines[1]
    assert lines[-1] == "Report: /runs/7/report.html"
    assert "  FAIL    row-remap-pending on gpu-a03 (nvidia:3)" in lines
    assert "          with it: detection-disagrees, link-down" in lines
    assert "  UNKNOWN npu-c02: npu-smi info -t board -i 3: no answer in 20 s, killed" in lines
    assert "--limit gpu-a02,gpu-a03,gpu-m03,npu-c02,npu-c03" in shown
    assert "\x1b" not in shown


def test_summary_stays_short_for_a_large_fleet():
    fleet = samples.many(500)
    for number in range(40):
        finding = dict(fleet["findings"][0], rule="site-rule-%02d" % number)
        fleet["findings"].append(finding)
    shown = text.render(fleet)
    assert len(shown.splitlines()) < 80
    assert "and 31 more rules in the report" in shown
    assert "and 4 more" in shown


def test_summary_in_color_says_the_same():
    plain = text.render(samples.twelve())
    colored = text.render(samples.twelve(), color=True)
    assert "\x1b[31mFAIL\x1b[0m" in colored
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == plain


def test_wide_letters_count_double():
    assert text.columns("昇腾") == 4
    assert all(text.columns(line) <= 10 for line in text.wrap("昇腾" * 20, 10))


# junit


@pytest.mark.parametrize("name", sorted(FLEETS))
def test_junit_is_valid_and_adds_up(name):
    fleet = FLEETS[name]()
    before = copy.deepcopy(fleet)
    document = junit.render(fleet)
    assert fleet == before
    root = ET.fromstring(document.encode("utf-8"))
    suites = root.findall("testsuite")
    assert len(suites) == len(fleet["verdicts"])
    for place in [*suites, root]:
        for attribute, tag in (("tests", None), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            cases = list(place.iter("testcase"))
            assert int(place.get(attribute)) == (len(cases) if tag is None else sum(1 for case in cases if case.find(tag) is not None))
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff\u202e]", document)


def test_junit_outcomes():
    root = ET.fromstring(junit.render(samples.twelve()))
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    failure = cases["gpu-m03", "pcie-width"].find("failure")
    assert failure.get("message") == "The card runs at x8, card and slot can do x16"
    assert "amd:6: The card runs" in failure.text and "expected: 16 lanes (suite)" in failure.text
    assert cases["npu-c02", "tool-answers"].find("error") is not None
    assert cases["npu-c02", "temperature-margin"].find("skipped").get("message").startswith("unknown: ")
    assert cases["gpu-a01", "row-mig"].find("skipped").get("message").startswith("not run: ")
    assert cases["gpu-m01", "row-remap-failed"].find("skipped").get("message").startswith("not applicable: ")
    assert cases["gpu-m04", "cohort-driver"].find("system-out").text.startswith("warn: ")
    assert len(cases["gpu-m01", "pcie-width"]) == 0
    assert cases["gpu-a02", "verdict"].find("failure") is not None
    assert cases["npu-c03", "verdict"].find("error") is not None
    assert len(cases["gpu-a01", "verdict"]) == 0


def test_junit_of_a_node_without_any_rule_is_not_green():
    fleet = samples.twelve()
    fleet["verdicts"] = [{"node": "ghost", "verdict": "incomplete", "reasons": ["not in the run"], "rules": {}}]
    root = ET.fromstring(junit.render(fleet))
    assert root.get("errors") == "1"


def test_junit_above_the_limit_keeps_what_did_not_pass():
    fleet = samples.twelve()
    root = ET.fromstring(junit.render(fleet, large=5))
    cases = {(case.get("classname"), case.get("name")) for case in root.iter("testcase")}
    assert ("gpu-m03", "pcie-width") in cases and ("npu-c02", "tool-answers") in cases
    assert ("gpu-m01", "pcie-width") not in cases
    suite = next(item for item in root if item.get("name") == "gpu-m01")
    assert suite.find("properties/property[@name='rules_passed']").get("value") == "14"
    assert len(root.findall("testsuite")) == 12


# prometheus

SAMPLE = re.compile(r'([a-z][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?\d+(?:\.\d+)?)\Z')


@pytest.mark.parametrize("name", sorted(FLEETS))
def test_metrics_are_a_valid_exposition(name):
    fleet = FLEETS[name]()
    page = prometheus.render(fleet)
    assert page.endswith("\n") and "\r" not in page
    helped, typed, seen, current = set(), set(), set(), ""
    for line in page[:-1].split("\n"):
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in helped
            helped.add(current)
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2:] == [current, "gauge"]
            typed.add(current)
        else:
            match = SAMPLE.match(line)
            assert match, line
            assert match.group(1) == current and current in helped & typed
            assert (match.group(1), match.group(2)) not in seen
            seen.add((match.group(1), match.group(2)))
    assert not any(metric.endswith(("_total", "_count", "_sum", "_bucket")) for metric in helped)


def test_metrics_values():
    page = prometheus.render(samples.twelve())
    assert 'fleetproof_nodes{verdict="rejected"} 3\n' in page
    assert 'fleetproof_node_verdict{node="npu-c03",cohort="",verdict="incomplete"} 1\n' in page
    assert 'fleetproof_findings{rule="pcie-width",level="fail",layer="1"} 1\n' in page
    assert "fleetproof_run_judged_timestamp_seconds 1795971641\n" in page
