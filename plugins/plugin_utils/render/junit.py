# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""junit.xml: a test suite per node, a test case per rule, and one for the node's verdict.

found at level fail = failure; required unknown = error; not run, not applicable and optional unknown = skipped;
found at warn or info = passed with system-out. The case `verdict` fails for a rejected node and is an error for an
incomplete one, so that a node without any answer is never green. Above LARGE nodes only what did not pass has a case.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.words import (
    VERDICT_WORDS,
    expected_text,
    observed_text,
    subject_text,
    visible,
    words,
)

LARGE = 1000
KINDS = ("passed", "failure", "error", "skipped")
OUTCOMES = ("passed", "found", "unknown", "not_applicable", "not_run")


def _attribute(value, longest=1000):
    return quoteattr(visible(value, longest))


def _text(value):
    return visible(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _finding(finding, node):
    subject = subject_text(finding.get("subject"), node)
    lines = ["%s%s" % ("%s: " % subject if subject else "", words(finding.get("summary")))]
    for label, value in (
        ("observed", observed_text(finding)),
        ("expected", expected_text(finding.get("expected"))),
        ("remedy", words(finding.get("remedy"))),
        ("evidence", words(finding.get("evidence"))),
    ):
        if value:
            lines.append("%s: %s" % (label, value))
    return "\n".join(_text(line) for line in lines)


def _body(entry, findings, node):
    """(kind, XML inside the test case) of one rule on one node."""
    outcome = entry.get("outcome")
    reason = entry.get("reason") or outcome
    if outcome == "passed":
        return "passed", ""
    if outcome == "found":
        text = "\n".join(_finding(finding, node) for finding in findings) or _text(reason)
        if entry.get("level") in ("warn", "info"):
            return "passed", "<system-out>%s: %s</system-out>" % (entry["level"], text)
        return "failure", '<failure type="found" message=%s>%s</failure>' % (_attribute(reason), text)
    if outcome in ("not_run", "not_applicable") or (outcome == "unknown" and not entry.get("required")):
        return "skipped", "<skipped message=%s/>" % _attribute("%s: %s" % (words(outcome).replace("_", " "), words(reason)))
    return "error", '<error type="unknown" message=%s/>' % _attribute("unknown: %s" % words(reason))


def _verdict_body(verdict):
    word = verdict.get("verdict")
    text = "\n".join(_text(reason) for reason in verdict.get("reasons") or [])
    message = _attribute(VERDICT_WORDS.get(word, "no verdict"))
    if word == "rejected":
        return "failure", '<failure type="verdict" message=%s>%s</failure>' % (message, text)
    if word in ("accepted", "accepted_with_warnings"):
        return "passed", "<system-out>%s</system-out>" % text if text else ""
    return "error", '<error type="verdict" message=%s>%s</error>' % (message, text)


class _Rules:
    """The test cases of a rules summary without their node: text after the class name, by rule; found ones are left to the node."""

    def __init__(self, rules, brief):
        self.outcomes = dict.fromkeys(OUTCOMES, 0)
        self.number = dict.fromkeys(KINDS, 0)
        self.cases, self.found = [], []
        for rule in sorted(rules):
            entry = rules[rule]
            outcome = entry.get("outcome")
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
            if outcome == "found":
                self.found.append((len(self.cases), rule))
                self.cases.append("")
            elif not brief or outcome not in ("passed", "not_applicable"):
                kind, inner = _body(entry, (), "")
                self.number[kind] += 1
                self.cases.append(_case(rule, inner))


def _case(name, inner):
    return ' name=%s time="0"%s' % (_attribute(name), ">%s</testcase>" % inner if inner else "/>")


def _suite(verdict, summary, findings, stamp):
    node = words(verdict.get("node"))
    classname = _attribute(node)
    rules = verdict.get("rules") or {}
    number = dict(summary.number)
    outcomes = summary.outcomes
    cases = list(summary.cases)
    for place, rule in summary.found:
        kind, inner = _body(rules[rule], findings.get((node, rule), ()), node)
        number[kind] += 1
        cases[place] = _case(rule, inner)
    kind, inner = _verdict_body(verdict)
    number[kind] += 1
    cases.insert(0, _case("verdict", inner))
    properties = [("verdict", verdict.get("verdict")), ("cohort", verdict.get("cohort") or "")]
    properties += [("rules_%s" % outcome, count) for outcome, count in outcomes.items()]
    lines = [
        '<testsuite name=%s hostname=%s%s time="0" tests="%d" failures="%d" errors="%d" skipped="%d">'
        % (classname, classname, stamp, len(cases), number["failure"], number["error"], number["skipped"])
    ]
    lines.append("<properties>%s</properties>" % "".join("<property name=%s value=%s/>" % (_attribute(key), _attribute(value)) for key, value in properties))
    start = "<testcase classname=%s" % classname
    lines.append(start + ("\n" + start).join(cases))
    return [*lines, "</testsuite>"], number, len(cases)


def render(fleet, large=LARGE):
    """The document as text, for writing as UTF-8."""
    verdicts = fleet.get("verdicts") or []
    findings = {}
    for finding in fleet.get("findings") or []:
        findings.setdefault((words(finding.get("node")), finding.get("rule")), []).append(finding)
    judged = words(fleet.get("judged_at"))
    stamp = " timestamp=%s" % _attribute(judged.rstrip("Z"), 40) if judged else ""
    lines = []
    total = dict.fromkeys(KINDS, 0)
    tests = 0
    known = {}
    for verdict in verdicts:
        rules = verdict.get("rules") or {}
        # Nodes of a fold share equal summaries; the fleet holds them, so an identity stands for one.
        if id(rules) not in known:
            known[id(rules)] = (_Rules(rules, len(verdicts) > large), rules)
        suite, number, cases = _suite(verdict, known[id(rules)][0], findings, stamp)
        lines += suite
        tests += cases
        for key, count in number.items():
            total[key] += count
    head = '<testsuites name=%s time="0" tests="%d" failures="%s" errors="%s" skipped="%s">' % (
        _attribute("fleetproof %s %s" % (words(fleet.get("profile")), words(fleet.get("run_id")))),
        tests,
        total["failure"],
        total["error"],
        total["skipped"],
    )
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *lines, "</testsuites>"]) + "\n"
