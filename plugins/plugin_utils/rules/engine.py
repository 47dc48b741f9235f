# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the rules of a profile about one node. Pure: a view in, a Judged out; nothing a report says makes it raise."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, LEVELS, OUTCOMES, PASSED, RULES, NoAnswer, Outcome
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

_INDEX = {name: position for position, name in enumerate(OUTCOMES)}
_DEVICES_ONLY = ("accelerators",)
# Sections that a run reads where it is asked to (accelerator_container_sections): without one its rules do not arise.
ON_REQUEST = ("kubelet", "container_runtime", "cdi")
_TURNED_OFF = "turned off by the site: accelerator_policy_%s_enabled"
WHOLE = ("node", "manufacturer", "section")  # kinds of subject that stand for the whole node


class Judged(NamedTuple):
    """The outcomes of one node, folded: what passed is only counted."""

    node: str
    counts: dict  # rule -> [passed, found, unknown, not_applicable, not_run]
    findings: list  # finding documents
    gaps: list  # (rule, outcome, reason, number of subjects)
    prints: dict  # cohort or fleet rule -> ("value", value) or (outcome, reason)


def outcomes(rule, view, params):
    """Every (subject, Outcome) of one rule on one node; subject is (kind, id). A rule that compares nodes gives its value as evidence."""
    node = ("node", view.node)
    problem = _problem(rule, view)
    if problem:
        return [(node, problem)]
    results = []
    if rule.scope == "device":
        for device in view.packages:
            _add(results, (device.kind, device.id), _ask(rule, device, params))
    elif rule.scope == "group":
        for group in view.groups:
            if group.packages:
                _add(results, ("manufacturer", group.manufacturer), _ask(rule, group, params))
    else:
        result = _ask(rule, view, params)
        if rule.scope in COMPARED and result.__class__ is not Outcome:
            result = Outcome("passed", evidence=result)
        _add(results, node, result)
        return results
    results.extend((node, gap) for gap in view.device_gaps)
    return results


def _ask(rule, subject, params):
    try:
        return rule.check(subject, params)
    except NoAnswer as no:
        return Outcome(no.outcome, no.reason)


def _problem(rule, view):
    for section in rule.reads:
        if section in ON_REQUEST and section not in view.sections and view.answered:
            return Outcome("not_applicable", "section %s: not asked for (accelerator_container_sections)" % section)
        if section != "accelerators":
            problem = view.missing(section)
            if problem:
                return Outcome("unknown", problem)
    return None


def _add(results, subject, result):
    if result.__class__ is Outcome:
        results.append((result.subject or subject, result))
    else:
        results.extend((one.subject or subject, one) for one in result)


def judge(node, sections, rules, profile):
    """Ask every rule of the profile about one node. rules: the node's Policy; profile: a Profile."""
    view = NodeView(node, sections, rules)
    return judge_view(view, profile)


def judge_view(view, profile):
    node, rules = view.node, view.policy
    counts, findings, gaps, prints = {}, [], [], {}
    silent = None if view.answered else "no answer: %s" % view.no_answer()
    for rule, params, off in _plan(rules, profile):
        name, scope = rule.id, rule.scope
        tally = counts[name] = [0, 0, 0, 0, 0]
        if off:
            tally[3] = 1
            gaps.append((name, "not_applicable", off, 1))
        elif scope in COMPARED:
            # Its outcome comes from the comparison; here only the node's value is taken.
            prints[name] = ("unknown", silent) if silent else _print(rule, view, params)
        elif silent:
            tally[2] = 1
            gaps.append((name, "unknown", silent, 1))
        else:
            why = {}
            plain = scope == "device" and rule.reads == _DEVICES_ONLY
            for subject, outcome in _of_devices(rule, view, params, tally, why) if plain else outcomes(rule, view, params):
                said = outcome.outcome
                tally[_INDEX[said]] += 1
                if said == "found":
                    findings.append(finding(rule, rules, node, subject, outcome))
                elif said != "passed":
                    key = (said, outcome.reason)
                    why[key] = why.get(key, 0) + 1
            for (said, reason), number in why.items():
                gaps.append((name, said, reason, number))
    if len(findings) > 1:
        explain(findings)
    return Judged(node, counts, findings, gaps, prints)


def _plan(rules, profile):
    """[(rule, its parameters, why it is turned off)] of a policy and a profile: a fleet has few of them, and many nodes."""
    plan = rules.plans.get(profile.name)
    if plan is None or plan[0] is not profile:
        asked = [(RULES[n], rules.params(n), "" if rules.enabled(n) else _TURNED_OFF % n.replace("-", "_")) for n in profile.asked]
        plan = rules.plans[profile.name] = (profile, asked)
    return plan[1]


def _of_devices(rule, view, params, tally, why):
    """The outcomes of a device rule that are more than passed or a reason: the others are counted at once, they are nearly all."""
    results = []
    check = rule.check
    for device in view.packages:
        try:
            result = check(device, params)
        except NoAnswer as no:
            tally[_INDEX[no.outcome]] += 1
            key = (no.outcome, no.reason)
            why[key] = why.get(key, 0) + 1
            continue
        if result is PASSED:
            tally[0] += 1
        else:
            _add(results, (device.kind, device.id), result)
    if view.device_gaps:
        results.extend((("node", view.node), gap) for gap in view.device_gaps)
    return results


def _print(rule, view, params):
    result = _problem(rule, view)
    if result is None:
        result = _ask(rule, view, params)
    return (result.outcome, result.reason) if result.__class__ is Outcome else ("value", result)


def finding(rule, rules, node, subject, outcome):
    """The document of a finding."""
    given = rules.level(rule.id)
    subjects = subject if isinstance(subject, list) else [subject]
    shown = [{"node": node, "kind": kind, "id": ident} for kind, ident in subjects]
    return {
        "rule": rule.id,
        "node": node,
        "subject": shown[0] if len(shown) == 1 else shown,
        "outcome": "found",
        "layer": rule.layer,
        "level": given or outcome.level or rule.level,
        "summary": outcome.summary,
        "observed": outcome.observed,
        "expected": outcome.expected,
        "evidence": outcome.evidence,
        "reason": outcome.reason,
        "remedy": outcome.remedy or rule.remedy,
        "caused_by": list(outcome.caused_by),
    }


def explain(findings):
    """Name the cause of findings of one node that follow from another one on the same subject."""
    by_rule = {}
    for one in findings:
        by_rule.setdefault(one["rule"], []).append(one)
    for one in findings:
        rule = RULES[one["rule"]]
        for cause in rule.follows:
            if rule.scope == "cohort" and RULES[cause].scope == "cohort":
                continue  # differences explain each other only where they always come together: cohorts.same_nodes
            if cause not in one["caused_by"] and any(_meet(one["subject"], other["subject"]) and _not_milder(other, one) for other in by_rule.get(cause, ())):
                one["caused_by"].append(cause)


def _meet(one, other):
    if isinstance(one, list) or isinstance(other, list):
        return False
    return one == other or one["kind"] in WHOLE or other["kind"] in WHOLE


def _not_milder(cause, one):
    """A failure is never explained away by something milder."""
    return LEVELS.index(cause["level"]) >= LEVELS.index(one["level"])


def default_policy():
    catalogue.load()
    return policy.Policy()


def default_profile(name="preflight"):
    return profiles.find(name)
