# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer from memory is the one that the rule gives when it is asked about this very node."""

from __future__ import annotations

import copy
import json

import demo
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles, steady
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, PASSED, NoAnswer, Outcome, Rule, found
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

UNREAD = {"unknown": "not read"}


@pytest.fixture
def asked():
    """(policy, profile) that no other test shares: what one node taught stays in it."""
    engine.default_policy()
    return policy.Policy(), profiles.find("preflight")


def in_full(view, profile):
    """The outcomes of every rule without any memory: rule -> sorted (subject, outcome, reason, summary)."""
    told = {}
    for name in profile.asked:
        rule, params = engine.RULES[name], view.policy.params(name)
        if rule.scope in COMPARED:
            told[name] = engine._print(rule, view, params)
        else:
            results = engine.outcomes(rule, view, params)
            told[name] = sorted((str(subject), one.outcome, one.reason, one.summary) for subject, one in results)
    return told


def remembered(view, profile):
    judged = engine.judge_view(view, profile)
    findings = {}
    for one in judged.findings:
        findings.setdefault(one["rule"], []).append(one["summary"])
    return judged, findings


def same(view, profile):
    full = in_full(view, profile)
    judged, findings = remembered(view, profile)
    for name, told in full.items():
        if engine.RULES[name].scope in COMPARED:
            assert judged.prints[name] == told, name
            continue
        counted = [sum(1 for one in told if one[1] == word) for word in engine.OUTCOMES]
        assert list(judged.counts[name]) == counted, name
        assert sorted(findings.get(name, ())) == sorted(one[3] for one in told if one[1] == "found"), name
        gaps = {}
        for _subject, word, reason, _summary in told:
            if word not in ("passed", "found"):
                gaps[(name, word, reason)] = gaps.get((name, word, reason), 0) + 1
        assert {gap[:3]: gap[3] for gap in judged.gaps if gap[0] == name} == gaps, name


def variants():
    """Healthy reports and reports with every single fact of one device and of the host lost or changed, in an order that lets memory mislead."""
    yield synthetic.healthy()
    for key in synthetic.device():
        for value in (UNREAD, None, "?", -1, 10**20, [], True):
            sections = synthetic.healthy()
            sections["accelerators.nvidia"]["devices"][3][key] = value
            yield sections
        sections = synthetic.healthy()
        del sections["accelerators.nvidia"]["devices"][2][key]
        yield sections
    for key in synthetic.healthy()["host"]:
        for value in (UNREAD, "?", 0):
            sections = synthetic.healthy()
            sections["host"][key] = value
            yield sections
    for group, key in (("ecc", "uncorrected_volatile"), ("row_remap", "pending"), ("links", "up"), ("temperature_c", "core"), ("pcie", "width_current")):
        sections = synthetic.healthy()
        sections["accelerators.nvidia"]["devices"][5][group][key] = 7
        yield sections
    yield synthetic.healthy()


def test_memory_gives_what_the_rule_gives(asked):
    rules, profile = asked
    for sections in variants():
        same(NodeView("n1", synthetic.envelopes(sections), rules), profile)


def test_memory_gives_what_the_rule_gives_of_every_section_of_a_recorded_node(asked):
    rules, profile = asked
    whole = demo.read(demo.document("gpu-h02"))
    text = json.dumps(whole)
    same(NodeView("n1", synthetic.envelopes(json.loads(text)), rules), profile)
    for name, data in whole.items():
        for key in data:
            for value in (UNREAD, "?", ...):
                sections = json.loads(text)
                if value is ...:
                    del sections[name][key]
                else:
                    sections[name][key] = value
                same(NodeView("n1", synthetic.envelopes(sections), rules), profile)
        same(NodeView("n1", synthetic.envelopes({other: part for other, part in json.loads(text).items() if other != name}), rules), profile)
    same(NodeView("n1", synthetic.envelopes(json.loads(text)), rules), profile)


def test_a_node_of_another_policy_is_not_answered_from_this_ones_memory(asked):
    _rules, profile = asked
    sections = synthetic.healthy()
    sections["accelerators.nvidia"]["devices"][0]["retired_pages"] = {"single_bit": 9, "double_bit": 9, "total": 18, "pending": False}
    strict = policy.parse({"accelerator_policy_retired_pages_most": 3})
    for rules in (policy.Policy(), strict, policy.Policy()):
        same(NodeView("n1", synthetic.envelopes(copy.deepcopy(sections)), rules), profile)


def rule(check, scope="device", reads=("accelerators",)):
    return Rule("synthetic", 1, "fail", "", reads, scope, "", {}, (), "text", check)


@pytest.mark.parametrize(
    "look",
    [
        lambda device: device.id,
        lambda device: device.number("temperature_c", "core"),
        lambda device: device.maybe("number", "power_w", "draw"),
        lambda device: device.siblings,
        lambda device: device.group.view.section("host"),
        lambda device: device.identifier("uuid"),
        lambda device: device.data.get("index"),
        lambda device: device.data.items(),
        lambda device: "index" in device.data,
        lambda device: list(device.data),
        lambda device: device.number("power_w", "draw"),
        lambda device: device.number("pcie", "generation_current"),
        lambda device: "draw" in device.fact("power_w"),
        lambda device: device.fact("power_w").get("draw"),
        lambda device: sorted(device.fact("extra")),
        lambda device: device.fact("extra", "of_tomorrow"),
        lambda device: dict(device.fact("extra")),
        lambda device: repr(device.fact("power_w")),
        lambda device: device.group.packages,
    ],
)
def test_a_rule_that_looks_further_is_asked_each_time(look):
    def check(device, _params):
        look(device)
        return PASSED

    sections = synthetic.healthy()
    sections["accelerators.nvidia"]["devices"][0]["extra"] = {"of_tomorrow": 1}
    view = NodeView("n1", synthetic.envelopes(sections), policy.Policy())
    answers = steady.Memory([(rule(check), None)]).of_device(view.packages[0])[0]
    assert answers.full == (0,) and not answers.plain and not answers.odd


def test_what_is_steady_is_there():
    def check(device, _params):
        power = device.fact("power_w")
        assert power.__class__ is dict and power["limit"] == 700 and "limit" in power and power.get("other") is None and len(power) == 3
        assert device.number("pcie", "width_max") == 16 and device.group.text("driver", "version") == "580.95.05"
        assert device.group.view.policy.expected_model == [] or not device.group.view.policy.expected_model
        assert device.maybe("text", "extra", "compute_mode") is None and device.maybe("number", "ecc", "nothing") is None
        return PASSED

    view = NodeView("n1", synthetic.envelopes(synthetic.healthy()), policy.Policy())
    assert steady.Memory([(rule(check), None)]).of_device(view.packages[0])[0] == ((), (), (), ())


@pytest.mark.parametrize("look", [lambda view: view.node, lambda view: view.packages, lambda view: view.pci(), lambda view: view.section("kernel")])
def test_so_is_one_about_the_node(look):
    def check(view, _params):
        look(view)
        return PASSED

    view = NodeView("n1", synthetic.envelopes(synthetic.healthy()), policy.Policy())
    memory = steady.Memory([(rule(check, "node", ("host",)), None)], ("host",))
    assert memory.of_sections(view, {"host": steady.key_of(view, "host")}).full == (0,)


def test_what_is_answered_once_is_not_asked_again():
    asked = []

    def check(device, _params):
        asked.append(device)
        if device.flag("persistence"):
            raise NoAnswer("not_applicable", "kept")
        return found("off")

    view = NodeView("n1", synthetic.envelopes(synthetic.healthy()), policy.Policy())
    memory = steady.Memory([(rule(check), None)])
    told = {memory.of_device(device)[0] for device in view.packages}
    assert len(asked) == 2 and told == {  # a kind of device for each NUMA node
        steady.Answers(((0, "not_applicable", "kept"),), (), (), ())
    }
    view.packages[0].data["persistence"] = False
    assert memory.of_device(view.packages[0])[0].odd == ((0, Outcome("found", summary="off")),) and len(asked) == 3


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(steady, "MOST", 5)
    view = NodeView("n1", synthetic.envelopes(synthetic.healthy()), policy.Policy())
    memory = steady.Memory([])
    for number in range(40):
        view.packages[0].data["processes"] = number
        memory.of_device(view.packages[0])
    assert len(memory._known) <= 5
