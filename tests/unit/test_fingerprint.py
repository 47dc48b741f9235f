# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprint of a node: which value stands at a path, what is compared as a set, what the site's own value does."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import fingerprint
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS, RULES, NoAnswer

DATA = {
    "one": "1.2",
    "flag": True,
    "none": {"not_applicable": "no BMC"},
    "lost": {"unknown": "denied"},
    "empty": None,
    "deep": {"number": 7, "object": {"a": 1}},
    "parts": {"b": {"version": "2"}, "a": {"version": "1"}, "c": {"version": {"not_applicable": "none"}}},
    "listed": [{"speed": 16}, {"speed": 16}, {"speed": 8}],
    "words": ["x", "y", "x"],
    "half": [{"speed": 16}, {"speed": {"unknown": "EIO"}}],
}


def at(path, kind="text", named=False):
    return fingerprint.value_at(DATA, [tuple(path.split("."))], kind, named)


def test_values_of_paths():
    assert at("one") == "1.2" and at("flag") == "yes" and at("deep.number") == "7"
    assert at("none") == "(none)" == at("none.version")
    assert at("listed.*.speed", "set") == "16\n8"
    assert at("parts.*.version", "set", True) == "a 1\nb 2"
    assert at("words", "set") == "x\ny"


@pytest.mark.parametrize("path", ["lost", "empty", "missing", "deep", "deep.object.a.b", "one.two", "half.*.speed", "one.*"])
def test_what_is_not_known_is_no_value(path):
    with pytest.raises(NoAnswer) as no:
        at(path)
    assert no.value.outcome == "unknown" and no.value.reason


def test_the_first_path_that_the_report_has():
    assert fingerprint.value_at(DATA, [("missing",), ("one",)], "text") == "1.2"


def test_every_line_is_a_rule_with_its_own_level():
    for line in fingerprint.lines():
        rule = RULES["cohort-%s" % line["id"]]
        assert rule.level == line["level"] and rule.level in LEVELS and "golden" in rule.parameters
        assert all(name in RULES for name in rule.follows), line["id"]


def folded(tmp_path, changes, policies=None):
    nodes = {}
    for number, (node, change) in enumerate(changes.items()):
        sections = synthetic.healthy(serial="S%04d" % number)
        change(sections)
        nodes[node] = synthetic.envelopes(sections)
    return fold.fold(synthetic.write_run(tmp_path, nodes, policies))


def of(fleet, rule):
    return [(f["node"], f["summary"]) for f in fleet["findings"] if f["rule"] == rule]


def keep(_sections):
    pass


def test_sets_are_told_by_what_differs(tmp_path):
    def other(sections):
        sections["host"]["modules"] = {"nvidia": {"version": "580.95.05", "loaded": True}, "odd_module": {"version": "3", "loaded": True}}

    ((node, summary),) = of(folded(tmp_path, {"a": keep, "b": keep, "c": other}), "cohort-modules")
    assert node == "c" and "has besides odd_module 3" in summary and "lacks" not in summary


def test_a_missing_value_is_a_value(tmp_path):
    def without(sections):
        sections["host"]["virtualization"] = {"not_applicable": "nothing"}

    ((node, summary),) = of(folded(tmp_path, {"a": keep, "b": keep, "c": without}), "cohort-virtualization")
    assert node == "c" and "(none)" in summary


def test_a_value_of_the_site_wins_over_the_majority(tmp_path):
    def newer(sections):
        sections["host"]["kernel"]["release"] = "6.9.1"

    policies = {node: {"accelerator_policy_cohort_kernel_golden": ["6.9.1"]} for node in "abc"}
    fleet = folded(tmp_path, {"a": keep, "b": keep, "c": newer}, policies)
    told = of(fleet, "cohort-kernel")
    assert [node for node, _summary in told] == ["a", "b"] and "the site's policy has 6.9.1" in told[0][1]
    assert fleet["findings"][0]["expected"]["origin"] == "site policy"


def test_a_value_of_the_site_judges_a_node_alone_in_its_cohort(tmp_path):
    fleet = folded(tmp_path, {"a": keep}, {"a": {"accelerator_policy_cohort_bios_golden": ["9.9"]}})
    assert [node for node, _summary in of(fleet, "cohort-bios")] == ["a"]


def older(sections):
    sections["host"]["kernel"].update(release="6.5.0", version="#1 SMP old")
    sections["host"]["os"].update(version="22.04")
    sections["host"]["huge_pages"]["transparent"] = "never"


def test_differences_that_come_together_are_one_finding(tmp_path):
    changes = {"n%d" % i: older if i in (2, 5, 6) else keep for i in range(9)}
    fleet = folded(tmp_path, changes)
    told = of(fleet, "cohort-together")
    assert [node for node, _summary in told] == ["n2", "n5", "n6"]
    assert told[0][1].startswith("These 3 nodes differ from the cohort in 4 settings that come together: ") and "kernel" in told[0][1]
    parts = [f for f in fleet["findings"] if f["node"] == "n2" and f["rule"].startswith("cohort-") and f["rule"] != "cohort-together"]
    assert len(parts) == 4 and all("cohort-together" in f["caused_by"] for f in parts)
    assert next(f for f in fleet["findings"] if f["rule"] == "cohort-together")["level"] == "warn"


def test_differences_of_other_nodes_do_not_come_together(tmp_path):
    def kernel(sections):
        sections["host"]["kernel"]["release"] = "6.5.0"

    def bios(sections):
        sections["host"]["bios"].update(version="0.9", date="01/01/2020")

    fleet = folded(tmp_path, {"a": keep, "b": keep, "c": keep, "d": kernel, "e": bios})
    assert not of(fleet, "cohort-together") and of(fleet, "cohort-kernel") and of(fleet, "cohort-bios")
    assert next(v for v in fleet["verdicts"] if v["node"] == "a")["rules"]["cohort-together"]["outcome"] == "passed"


def test_a_split_cohort_is_no_common_cause(tmp_path):
    assert not of(folded(tmp_path, {"a": keep, "b": older}), "cohort-together")
