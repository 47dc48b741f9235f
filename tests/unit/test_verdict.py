# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict, exactly as the design says: fail, then required gaps, then warnings."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import verdict
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import profiles, untold

PREFLIGHT = profiles.find("preflight")
REQUIRED, OPTIONAL = "links-up", "persistence"


def finding(level, rule="power-limit", summary="limited", ident="nvidia:0", caused_by=()):
    return {
        "level": level,
        "rule": rule,
        "node": "n1",
        "summary": summary,
        "subject": {"node": "n1", "kind": "package", "id": ident},
        "caused_by": list(caused_by),
    }


def decide(findings=(), gaps=(), profile=PREFLIGHT, counts=None):
    counts = counts if counts is not None else {name: [1, 0, 0, 0, 0] for name in profile.asked}
    return verdict.decide(profile, verdict.layers(profile, counts), list(findings), list(gaps))


@pytest.mark.parametrize(
    ("levels", "gaps", "expected"),
    [
        ([], [], "accepted"),
        (["info"], [], "accepted"),
        (["warn", "info"], [], "accepted_with_warnings"),
        (["warn"], [(OPTIONAL, "unknown", "x", 1)], "accepted_with_warnings"),
        ([], [(OPTIONAL, "unknown", "x", 1), (OPTIONAL, "not_run", "x", 1)], "accepted"),
        ([], [(REQUIRED, "not_applicable", "x", 8)], "accepted"),
        ([], [(REQUIRED, "unknown", "x", 1)], "incomplete"),
        (["warn"], [(REQUIRED, "not_run", "x", 1)], "incomplete"),
        (["fail", "warn"], [(REQUIRED, "unknown", "x", 1)], "rejected"),
    ],
)
def test_the_order(levels, gaps, expected):
    assert decide([finding(level) for level in levels], gaps)[0] == expected


def test_reasons_are_worst_first_and_short():
    word, reasons = decide(
        [
            finding("warn", summary="Power is limited"),
            finding("fail", "recovery-action", "The device asks for a reset", caused_by=["device-lost"]),
            *(finding("fail", "device-lost", "The device is lost", "nvidia:%d" % i) for i in range(6)),
        ],
        [(REQUIRED, "unknown", "nvidia-smi: timeout", 8), ("pcie-width", "unknown", "nvidia-smi: timeout", 8)],
    )
    assert word == "rejected"
    assert reasons == [
        "nvidia:0, nvidia:1, nvidia:2, nvidia:3 and 2 more: The device is lost",
        "nvidia:0: The device asks for a reset",
        "unknown: nvidia-smi: timeout (links-up, pcie-width)",
        "nvidia:0: Power is limited",
    ]


def test_many_reasons_are_cut_with_a_number():
    reasons = decide([finding("fail", summary="fault %d" % i) for i in range(40)])[1]
    assert len(reasons) == verdict.MOST_REASONS and reasons[-1] == "and 29 more"


def test_a_preflight_speaks_of_its_layer_only():
    table = verdict.layers(PREFLIGHT, {"links-up": [7, 1, 0, 0, 0], "row-mig-partitioning": [1, 0, 0, 0, 0]})
    assert table["1"] == {"asked": True, "passed": 7, "found": 1, "unknown": 0, "not_applicable": 0, "not_run": 0}
    assert table["3"] == {"asked": False, "passed": 0, "found": 0, "unknown": 0, "not_applicable": 0, "not_run": 0}


def test_a_layer_that_nothing_established_is_not_accepted():
    acceptance = profiles.find("acceptance")
    word, reasons = decide(profile=acceptance)
    assert word == "incomplete"
    assert "layer 5 (Real framework): nothing in this run establishes it" in reasons


def test_worst_of_the_subjects():
    assert verdict.worst([7, 1, 0, 0, 0]) == "found"
    assert verdict.worst([7, 0, 1, 0, 1]) == "unknown"
    assert verdict.worst([7, 0, 0, 1, 1]) == "not_run"
    assert verdict.worst([7, 0, 0, 1, 0]) == "passed"
    assert verdict.worst([0, 0, 0, 1, 0]) == "not_applicable"


def test_findings_are_sorted_as_people_count():
    given = [finding("warn", ident="nvidia:10"), finding("warn", ident="nvidia:2"), finding("fail", "z", ident="nvidia:0")]
    assert [(f["level"], f["subject"]["id"]) for f in sorted(given, key=verdict.order)] == [("fail", "nvidia:0"), ("warn", "nvidia:2"), ("warn", "nvidia:10")]


def test_what_a_tool_does_not_tell_is_its_own_reason():
    """Named by what it is, once for all rules about it; another unknown of the same rule is no part of it."""
    told = profiles.find("preflight-told")
    gaps = [
        ("row-remap-pending", "unknown", "cnmon does not tell it, and there is no libcndev", 4),
        ("row-remap-failed", "unknown", "cnmon does not tell it", 4),
    ]
    assert decide(gaps=gaps) == ("incomplete", ["cnmon does not tell row remapping; profile preflight-told does without"])
    assert decide(gaps=gaps, profile=told) == ("accepted", [])
    assert decide(gaps=[*gaps, ("row-remap-failed", "unknown", "libcndev: timeout", 1)], profile=told)[0] == "incomplete"
    other = [(REQUIRED, "unknown", "libcndev: timeout", 1)]
    assert decide(gaps=other, profile=told) == decide(gaps=other) == ("incomplete", ["unknown: libcndev: timeout (links-up)"])


@pytest.mark.parametrize(
    ("rule", "outcome", "reason"),
    [
        ("pcie-width", "unknown", "cnmon does not tell it"),  # in no list of what cnmon does not tell
        ("links-up", "not_run", "cnmon does not tell it"),
        ("links-up", "unknown", "nvidia-smi does not tell it"),
        ("links-up", "unknown", "it printed: cnmon does not tell items"),
        ("ecc-uncorrected", "unknown", "ixsmi does not tell it"),
    ],
)
def test_what_is_not_in_the_list_stays_required(rule, outcome, reason):
    assert decide(gaps=[(rule, outcome, reason, 1)], profile=profiles.find("preflight-told"))[0] == "incomplete"


def test_a_profile_of_a_site_may_do_without():
    own = profiles.find("ours", {"ours": {"based_on": "acceptance", "untold": "optional"}, "strict": {"based_on": "ours", "untold": "required"}})
    assert own.does_without and profiles.find("more", {"more": {"based_on": "preflight-told"}}).does_without
    assert not profiles.find(
        "strict", {"ours": {"based_on": "acceptance", "untold": "optional"}, "strict": {"based_on": "ours", "untold": "required"}}
    ).does_without
    with pytest.raises(profiles.ProfileError, match="untold: found 'no', allowed: required or optional"):
        profiles.check({"ours": {"untold": "no"}})
    site = profiles.find("mine", {"mine": {"based_on": "preflight"}})
    assert decide(gaps=[("links-up", "unknown", "ixsmi does not tell it", 1)], profile=site)[1] == ["ixsmi does not tell links"]


def test_every_manufacturer_in_the_list_has_rules_that_exist():
    for tool, rules in untold.table().items():
        assert rules and set(rules) <= set(PREFLIGHT.required), tool
        for what in rules.values():
            assert len("%s does not tell %s; profile preflight-told does without" % (tool, what)) <= 80
