# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the rules of a profile about one node. Pure: a view in, a Judged out; nothing a report says makes it raise."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, causes, lost, policy, steady
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, OUTCOMES, RULES, Outcome
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.steady import ask
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

_INDEX = {name: position for position, name in enumerate(OUTCOMES)}
_DEVICES_ONLY = ("accelerators",)
_TURNED_OFF = "turned off by the site: accelerator_policy_%s_enabled"


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
            _add(results, (device.kind, device.id), ask(rule, device, params))
    elif rule.scope == "group":
        for group in view.groups:
            if group.packages:
                _add(results, ("manufacturer", group.manufacturer), ask(rule, group, params))
    else:
        result = ask(rule, view, params)
        if rule.scope in COMPARED and result.__class__ is not Outcome:
            result = Outcome("passed", evidence=result)
        _add(results, node, result)
        return results
    results.extend((node, gap) for gap in view.device_gaps)
    return results


def _problem(rule, view):
    for section in rule.reads:
        if section not in ("accelerators", "paths"):  # one for each manufacturer
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
    told = _Told(view)
    plan = _plan(rules, profile)
    for name, why in plan.off:
        told.gap(name, "not_applicable", why)
    if view.answered:
        keys = {}
        if any(rule.id == lost.RULE for rule, _params in plan.devices.rules):
            told.lost = lost.of(view)
        asked = [*plan.others, *_shared_devices(told, plan.devices, keys)]
        for memory in plan.sections:
            asked += _shared_sections(told, memory, keys)
    else:
        silent = "no answer: %s" % view.no_answer()
        for rule, _params in plan.all:
            if rule.scope in COMPARED:
                # Its outcome comes from the comparison; here only the node's value is taken.
                told.counts[rule.id], told.prints[rule.id] = [0, 0, 0, 0, 0], ("unknown", silent)
            else:
                told.gap(rule.id, "unknown", silent)
        asked = ()
    for rule, params in asked:
        if rule.scope in COMPARED:
            told.counts[rule.id], told.prints[rule.id] = [0, 0, 0, 0, 0], _print(rule, view, params)
        elif rule.scope == "device" and rule.reads == _DEVICES_ONLY:
            told.take(rule, _of_devices(rule, view, params, view.packages))
            told.take(rule, [(("node", node), gap) for gap in view.device_gaps])
        else:
            told.take(rule, outcomes(rule, view, params))
    if len(told.findings) > 1:
        causes.explain(told.findings, told.narrowed, view)
    return Judged(node, told.counts, told.findings, told.gaps(), told.prints)


class _Told:
    """What rules have said of a node so far."""

    def __init__(self, view):
        self.view = view
        self.counts, self.findings, self.prints = {}, [], {}
        self.narrowed = []  # caused_by of each finding's Outcome
        self.lost = None  # what lost devices leave open
        self._why = {}

    def tally(self, name):
        counted = self.counts.get(name)
        if counted is None:
            counted = self.counts[name] = [0, 0, 0, 0, 0]
        return counted

    def gap(self, name, outcome, reason, number=1, subject=None):
        if self.lost is not None and outcome == "unknown" and self.lost.explains(name, subject, reason):
            reason = lost.REASON
        self.tally(name)[_INDEX[outcome]] += number
        key = (name, outcome, reason)
        self._why[key] = self._why.get(key, 0) + number

    def take(self, rule, results):
        """results: (subject, Outcome)."""
        name = rule.id
        tally = self.tally(name)
        for subject, outcome in results:
            said = outcome.outcome
            if said == "passed":
                tally[0] += 1
            elif said == "found":
                tally[1] += 1
                self.findings.append(finding(rule, self.view.policy, self.view.node, subject, outcome))
                self.narrowed.append(outcome.caused_by)
            else:
                self.gap(name, said, outcome.reason, subject=subject)

    def gaps(self):
        return [(*key, number) for key, number in self._why.items()]


class _Plan(NamedTuple):
    """What is asked of each node under a policy and a profile: a fleet has few of them, and many nodes."""

    profile: object
    all: list  # (rule, parameters) of each rule that is not turned off
    off: list  # (rule id, why it is turned off)
    devices: object  # steady.Memory of the rules about each device
    sections: list  # a steady.Memory for each set of sections that rules read
    others: list  # (rule, parameters)


def _plan(rules, profile):
    plan = rules.plans.get(profile.name)
    if plan is None or plan.profile is not profile:
        plan = rules.plans[profile.name] = _made(rules, profile)
    return plan


def _made(rules, profile):
    everything = [(RULES[name], rules.params(name)) for name in profile.asked if rules.enabled(name)]
    off = [(name, _TURNED_OFF % name.replace("-", "_")) for name in profile.asked if not rules.enabled(name)]
    devices, sections, others = [], {}, []
    for rule, params in everything:
        if rule.scope == "device" and rule.reads == _DEVICES_ONLY:
            devices.append((rule, params))
        elif rule.scope in ("node", "cohort", "group") and rule.reads:
            sections.setdefault(rule.reads, []).append((rule, params))
        else:
            others.append((rule, params))
    memories = [steady.Memory(asked, names) for names, asked in sections.items()]
    return _Plan(profile, everything, off, steady.Memory(devices), memories, others)


def _shared_devices(told, memory, keys):
    """Take what memory answers about the packages; the rules that have to be asked in full. keys takes that of all packages."""
    view = told.view
    packages = view.packages
    if not packages or view.device_gaps:
        return memory.rules
    alike, each = {}, []
    for device in packages:
        answers, key = memory.of_device(device)
        each.append(key)
        missing = told.lost is not None and (device.kind, device.id) in told.lost.subjects
        alike.setdefault((id(answers), missing), (answers, []))[1].append(device)
    keys[steady.ACCELERATORS] = steady.keys_of_packages(view, each)
    passed = [len(packages)] * len(memory.rules)
    in_full = {}
    for answers, devices in alike.values():
        number = len(devices)
        for position, outcome, reason in answers.plain:
            passed[position] -= number
            told.gap(memory.rules[position][0].id, outcome, reason, number, (devices[0].kind, devices[0].id))
        for position, result in answers.odd:
            passed[position] -= number
            results = []
            for device in devices:
                _add(results, (device.kind, device.id), result)
            told.take(memory.rules[position][0], results)
        for position in answers.full:
            passed[position] -= number
            in_full.setdefault(position, []).extend(devices)
    for position, devices in in_full.items():
        rule, params = memory.rules[position]
        told.take(rule, _of_devices(rule, view, params, devices))
    for position, (rule, _params) in enumerate(memory.rules):
        told.tally(rule.id)[0] += passed[position]
    return ()


def _shared_sections(told, memory, keys):
    """The same for the rules about some sections."""
    view, rules = told.view, memory.rules
    problem = _problem(rules[0][0], view)
    if problem and all(rule.scope != "group" for rule, _params in rules):
        for rule, _params in rules:
            if rule.scope == "cohort":
                told.counts[rule.id], told.prints[rule.id] = [0, 0, 0, 0, 0], (problem.outcome, problem.reason)
            else:
                told.gap(rule.id, problem.outcome, problem.reason)
        return ()
    if problem or not memory.steady:
        return rules
    for name in memory.names:
        if name not in keys:
            keys[name] = None if name == steady.ACCELERATORS else steady.key_of(view, name)
        if keys[name] is None:
            return rules
    return _taken(told, memory, memory.of_sections(view, keys), ("node", view.node))


def _taken(told, memory, answers, subject):
    """Take what memory answers about one subject; the rules that have to be asked in full."""
    counts, rules = told.counts, memory.rules
    for rule, _params in rules:
        counts[rule.id] = [0, 0, 0, 0, 0] if rule.scope == "cohort" else [1, 0, 0, 0, 0]
    for position, outcome, reason in answers.plain:
        name = rules[position][0].id
        counts[name][0] = 0
        told.gap(name, outcome, reason)
    for position, result in answers.odd:
        rule, results = rules[position][0], []
        counts[rule.id][0] = 0
        _add(results, subject, result)
        told.take(rule, results)
    for position, value in answers.values:
        told.prints[rules[position][0].id] = value
    for position in answers.full:
        del counts[rules[position][0].id]
    return [rules[position] for position in answers.full]


def _of_devices(rule, view, params, devices):
    """The outcomes of a device rule about some packages."""
    results = []
    for device in devices:
        _add(results, (device.kind, device.id), ask(rule, device, params))
    return results


def _print(rule, view, params):
    result = _problem(rule, view)
    if result is None:
        result = ask(rule, view, params)
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
        "caused_by": [],
    }


def explain(findings):
    """Tie the last finding of a node, which came from comparing nodes, to those before it."""
    causes.explain_last(findings)


def default_policy():
    catalogue.load()
    return policy.Policy()
