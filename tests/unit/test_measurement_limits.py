# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's limits of measurements. The first cases are the numbers of SuperBench's public documents on data diagnosis (baseline and rule)."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

RULE = "measured-limits"


def measured(metric, value, better="higher", unit="x", ident="nvidia:0"):
    subject = {"kind": "package", "id": ident}
    return {"metric": metric, "unit": unit, "better": better, "samples": [value], "subject": subject, "method": {"tool": "sb"}, "validity": "valid"}


def judged(limits, *ones):
    sections = synthetic.healthy()
    sections["bench"] = {"measurements": list(ones)}
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse({"accelerator_measurement_limits": limits}))
    told = engine.judge_view(view, profiles.find("preflight"))
    return [f for f in told.findings if f["rule"] == RULE], told.counts[RULE], [gap for gap in told.gaps if gap[0] == RULE]


def broken(limits, *ones):
    return [f["evidence"]["limit"] for f in judged(limits, *ones)[0]]


OVERHEAD = {"launch": {"metric": "kernel-launch/event_overhead*", "baseline": 2, "worse_percent": 50}}


@pytest.mark.parametrize(
    ("value", "flagged"),
    [(3.1, True), (2, False), (1.5, False), (3.0, False), (3.01, True)],
)
def test_variance_of_an_overhead(value, flagged):
    assert bool(broken(OVERHEAD, measured("kernel-launch/event_overhead:0", value, "lower"))) is flagged


@pytest.mark.parametrize(("value", "flagged"), [(0.1, False), (0.104, False), (0.106, True), (0.05, False)])
def test_the_documented_overhead_of_a_launch(value, flagged):
    limits = {"launch": {"metric": "kernel-launch/event_overhead:*", "baseline": 0.1, "worse_percent": 5}}
    assert bool(broken(limits, measured("kernel-launch/event_overhead:3", value, "lower"))) is flagged


@pytest.mark.parametrize(("value", "flagged"), [(25.6, False), (24.5, False), (24.2, True), (30, False)])
def test_the_documented_bandwidth_of_a_copy(value, flagged):
    limits = {"copy": {"metric": "mem-bw/H2D_Mem_BW:*", "baseline": 25.6, "worse_percent": 5}}
    assert bool(broken(limits, measured("mem-bw/H2D_Mem_BW:0", value))) is flagged


MODELS = {
    "rule1": {"metric": "resnet_models/*", "baseline": 300, "worse_percent": 50, "together": "rule3", "fewest": 2},
    "rule2": {"metric": "vgg_models/*", "baseline": 300, "worse_percent": 50, "together": "rule3"},
}


@pytest.mark.parametrize(("resnet", "vgg", "flagged"), [(300, 100, []), (100, 300, []), (100, 100, ["rule1", "rule2"]), (160, 160, [])])
def test_two_models_together(resnet, vgg, flagged):
    ones = (measured("resnet_models/pytorch-resnet152/throughput", resnet), measured("vgg_models/pytorch-vgg11/throughput", vgg))
    assert sorted(broken(MODELS, *ones)) == flagged


def test_a_test_that_is_missed_leaves_the_question_open():
    limits = {"gemm": {"metric": "gemm-flops/*", "at_least": 1, "required": True}}
    findings, counts, gaps = judged(limits, measured("other", 1))
    assert not findings and counts == [0, 0, 1, 0, 0] and "nothing was measured that is called gemm-flops/*" in gaps[0][2]
    assert judged({"gemm": {"metric": "gemm-flops/*", "at_least": 1}}, measured("other", 1))[1] == [0, 0, 0, 1, 0]


def test_bounds_units_and_levels():
    limits = {"latency": {"metric": "latency", "unit": "us", "at_most": 5, "level": "warn"}}
    (found,), _counts, _gaps = judged(limits, measured("latency", 6, "lower", "us"), measured("latency", 6000, "lower", "ns"))
    assert found["level"] == "warn" and found["expected"] == {"value": 5, "unit": "us at most", "origin": "site policy"} and found["observed"] == 6


def test_a_line_alone_may_tolerate_some_parts():
    limits = {"copy": {"metric": "copy", "at_least": 10, "fewest": 2}}
    assert broken(limits, measured("copy", 5), measured("copy", 20, ident="nvidia:1")) == []
    assert len(broken(limits, measured("copy", 5), measured("copy", 6, ident="nvidia:1"))) == 2


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([], "a dictionary of name"),
        ({"a b": {"metric": "x", "at_least": 1}}, "names of letters"),
        ({"a": 3}, "a: a dictionary with"),
        ({"a": {"metrik": "x", "at_least": 1}}, "the nearest is metric"),
        ({"a": {"metric": "", "at_least": 1}}, "a: metric:"),
        ({"a": {"metric": "x"}}, "one of baseline"),
        ({"a": {"metric": "x", "baseline": 3}}, "baseline and worse_percent together"),
        ({"a": {"metric": "x", "baseline": 0, "worse_percent": 5}}, "a baseline above 0"),
        ({"a": {"metric": "x", "at_least": "much"}}, "a: at_least: a number"),
        ({"a": {"metric": "x", "at_least": 1, "fewest": 0}}, "a: fewest"),
        ({"a": {"metric": "x", "at_least": 1, "level": "bad"}}, "a: level: info | warn | fail"),
        ({"a": {"metric": "x", "at_least": 1, "required": "yes"}}, "a: required"),
    ],
)
def test_mistakes_are_told(limits, words):
    with pytest.raises(policy.PolicyError) as error:
        policy.parse({"accelerator_measurement_limits": limits})
    assert "accelerator_measurement_limits: found " in str(error.value) and words in str(error.value)


def test_limits_as_text_of_an_extra_variable():
    assert policy.parse({"accelerator_measurement_limits": '{"a": {"metric": "x", "at_least": 1}}'}).limits[0].at_least == 1


def test_without_limits_nothing_is_asked():
    assert judged({}, measured("x", 1))[1] == [0, 0, 0, 1, 0]
