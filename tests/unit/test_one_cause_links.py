# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands under an error of an NVSwitch, and how measurements that are too slow stand under each other and under what slows a device."""

from __future__ import annotations

import history_runs
import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, parts, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.baseline import Accepted, Own, Past
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import causes, engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView
from health_nodes import merged

XID = "NVRM: Xid (PCI:%s): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 3(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
SXID = "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): %d, %s, Link 30 LTSSM Fault Up"
DOWN = {"up": 17, "down": [3]}


engine.default_policy()


@pytest.fixture
def sections():
    return path_samples.Tree(4).sections()


def say(sections, *lines):
    events, count, _dropped, _first = kernel_log.fold("\n".join("[%d.5] %s" % (100 + n, line) for n, line in enumerate(lines)), 1772000000)
    sections["kernel"] = dict(sections["kernel"], events=events, lines=count)
    return sections


def card(sections, number=1, **facts):
    merged(sections["accelerators.nvidia"]["devices"][number], facts)
    return sections


def judged(sections):
    """({root: level}, {rule that follows: its causes}) of what is above info."""
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), profiles.find("preflight")).findings
    told = [one for one in told if one["level"] != "info"]
    return {one["rule"]: one["level"] for one in told if not one["caused_by"]}, {one["rule"]: one["caused_by"] for one in told if one["caused_by"]}


def finding(rule, ident, kind="package", level="fail"):
    shown = [{"node": "n1", "kind": kind, "id": one} for one in (ident if isinstance(ident, list) else [ident])]
    return {"rule": rule, "node": "n1", "subject": shown if isinstance(ident, list) else shown[0], "level": level, "caused_by": []}


class View:
    """A node of which no more is known."""

    packages = groups = ()

    def __init__(self, monkeypatch):
        monkeypatch.setattr(causes, "below_of", lambda _view: {})


def test_a_fatal_error_of_a_switch_explains_the_links_of_its_devices(sections):
    said = [SXID % (20034, "Fatal"), XID % synthetic.address(1)[:-2]]
    for number in (1, 2):
        card(sections, number, links=DOWN)
    roots, follow = judged(say(sections, *said))
    assert roots == {"kernel-nvswitch-errors": "fail"}
    assert follow == {"links-up": ["kernel-nvswitch-errors"], "kernel-accelerator-events": ["links-up", "kernel-nvswitch-errors"]}


def test_an_error_that_was_not_fatal_explains_no_failure(sections):
    roots, follow = judged(say(card(sections, links=DOWN), SXID % (12028, "Non-fatal")))
    assert roots == {"kernel-nvswitch-errors": "warn", "links-up": "fail"} and follow == {}


def test_links_that_are_up_say_nothing_of_the_switch(sections):
    roots, follow = judged(say(sections, SXID % (20034, "Fatal")))
    assert roots == {"kernel-nvswitch-errors": "fail"} and follow == {}


@pytest.mark.parametrize(
    ("effect", "subject", "expected"),
    [
        ("links-up", "nvidia:5", True),
        ("links-up", ["nvidia:5", "nvidia:6"], True),
        ("fabric-state", "nvidia:5", True),
        ("fabric-health", "nvidia:5", True),
        ("product-links", "nvidia:5", True),
        ("link-errors", "nvidia:5", True),
        ("kernel-accelerator-events", "nvidia:5", True),
        ("links-up", "amd:5", False),
        ("links-up", ["amd:5", "amd:6"], False),
    ],
)
def test_what_hangs_on_a_switch(monkeypatch, effect, subject, expected):
    findings = [finding(effect, subject), finding("kernel-nvswitch-errors", "0000:c4:00.0", "nvswitch")]
    causes.explain(findings, [None, ()], View(monkeypatch))
    assert (findings[0]["caused_by"] == ["kernel-nvswitch-errors"]) is expected and findings[1]["caused_by"] == []


@pytest.mark.parametrize(("code", "expected"), [(20034, True), (12020, False)])
def test_a_device_that_vanished_explains_a_link_that_a_switch_lost_and_no_other_error(sections, code, expected):
    gone = "0000:fa:00"
    roots, follow = judged(say(sections, SXID % (code, "Fatal"), "NVRM: Xid (PCI:%s): 79, GPU has fallen off the bus." % gone))
    assert (follow.get("kernel-nvswitch-errors") == ["device-vanished"]) is expected
    assert ("kernel-nvswitch-errors" in roots) is not expected and "device-vanished" in roots


@pytest.mark.parametrize(
    ("links", "fabric", "expected"),
    [
        ({"up": 17, "down": [3]}, {"not_applicable": "no fabric"}, True),
        ({"up": 17, "down": [3]}, {"state": "completed"}, False),  # switches are between
        ({"up": 0, "down": list(range(18))}, {"not_applicable": "no fabric"}, False),  # more than one device can take away
    ],
)
def test_a_device_that_vanished_explains_links_of_those_that_were_linked_with_it(sections, links, fabric, expected):
    card(sections, links=links, fabric=fabric)
    roots, follow = judged(say(sections, "NVRM: Xid (PCI:0000:fa:00): 79, GPU has fallen off the bus."))
    assert ("device-vanished" in follow.get("links-up", ())) is expected
    assert ("links-up" in roots) is not expected


# -- measurements ------------------------------------------------------------------------------------------------------

CHAINS = [
    # (effect, cause): the subject is one device, the levels are equal
    ("measured-drift", "measured-floor"),
    ("measured-drift", "measured-in-node"),
    ("measured-limits", "measured-floor"),
    ("measured-limits", "measured-in-node"),
    ("measured-in-node", "measured-floor"),
    *((effect, "throttle-hardware") for effect in ("measured-drift", "measured-limits", "measured-in-node", "measured-floor")),
    *((effect, "links-up") for effect in ("measured-drift", "measured-limits", "measured-in-node", "measured-floor")),
]


@pytest.mark.parametrize(("effect", "cause"), CHAINS)
def test_what_is_measured_stands_under_what_it_follows_from(monkeypatch, effect, cause):
    for subject, level, expected in (("nvidia:5", "fail", [cause]), ("nvidia:4", "fail", []), ("nvidia:5", "warn", [])):
        findings = [finding(effect, "nvidia:5"), finding(cause, subject, level=level)]
        causes.explain(findings, [None, None], View(monkeypatch))
        assert (findings[0]["caused_by"], findings[1]["caused_by"]) == (expected, [])


def test_a_whole_chain_has_one_root(monkeypatch):
    rules = ("measured-limits", "measured-drift", "measured-in-node", "measured-floor", "throttle-hardware", "temperature-margin")
    findings = [finding(rule, "nvidia:5") for rule in rules]
    causes.explain(findings, [None] * len(findings), View(monkeypatch))
    assert [one["rule"] for one in findings if not one["caused_by"]] == ["temperature-margin"]
    # in whatever order they were found
    again = [finding(rule, "nvidia:5") for rule in reversed(rules)]
    causes.explain(again, [None] * len(again), View(monkeypatch))
    assert {one["rule"]: set(one["caused_by"]) for one in again} == {one["rule"]: set(one["caused_by"]) for one in findings}


@pytest.mark.parametrize("effect", ["measured-drift", "measured-limits", "measured-in-node"])
def test_what_was_found_by_comparing_nodes_comes_last_and_explains_too(effect):
    findings = [finding(effect, "nvidia:5"), finding(effect, "nvidia:4"), finding("measured-in-cohort", "nvidia:5")]
    causes.explain_last(findings)
    assert [one["caused_by"] for one in findings] == [["measured-in-cohort"], [], []]


def test_a_slow_card_of_a_node_with_a_past(sections):
    """One card is below the site's limit and its own past, for the heat that throttles it."""
    sections["bench"] = history_runs.measured([700.0, 500.0, 700.0, 700.0])
    card(sections, throttle={"active": ["hw_thermal_slowdown"]})
    limits = {"gemm": {"metric": "acme-gemm", "at_least": 600}}
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse({"accelerator_measurement_limits": limits}))
    ones, _problems = measurements.read(view)
    held = {part.device: part.identity for part in parts.of(view)}
    steady = statistics.Reference(700.0, 0.003, 3)
    own = {(one.key, one.kind, held.get(one.id) or one.id): Own(steady, steady) for one in ones}
    view.baseline = Past(Accepted("r1", "2026-01-01T00:00:00Z", "n1", None, {}, ()), own, "", {}, {})
    told = engine.judge_view(view, profiles.find("preflight")).findings
    told = {one["rule"]: one["caused_by"] for one in told if one["rule"].startswith(("measured", "throttle"))}
    assert told["throttle-hardware"] == [] and set(told) >= {"measured-drift", "measured-limits", "measured-in-node"}
    assert all("throttle-hardware" in causes_of for rule, causes_of in told.items() if rule != "throttle-hardware"), told


def test_every_rule_of_measurements_may_follow_from_what_slows_a_device():
    for rule in ("measured-floor", "measured-in-node", "measured-in-cohort", "measured-drift", "measured-limits"):
        assert {"throttle-hardware", "links-up", "pcie-width"} <= set(RULES[rule].follows)
