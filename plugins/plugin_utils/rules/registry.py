# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of rules, and the words a rule answers with.

A rule is data (what it reads, its parameters with the source of each default) plus a small pure function. It never
reads a node, a file or a clock, and never raises for what a report says: the accessors of view.py raise NoAnswer for
whatever is missing, unknown or of the wrong type, and the engine turns that into the outcome unknown or not_applicable.

    @rule(id="ecc-uncorrected", layer=1, level="fail", title="No uncorrected memory error", reads=("accelerators",), scope="device",
          remedy="...", parameters={"volatile": Parameter("int", 0, "errors", "NVIDIA: ...")})
    def ecc_uncorrected(device, p):
        count = device.number("ecc", "uncorrected_volatile")
        if count > p.volatile:
            return found("%d uncorrected memory errors since the driver was loaded" % count, count, p.expected("volatile"))
        return PASSED

Scopes: node(view, p), device(device, p) for each package, group(group, p) for the devices of one manufacturer,
cohort(view, p), which returns the value to compare (text or number) and leaves the comparison to fleet/cohorts.py, and
fleet(view, p), whose value is compared among all nodes of the run by fleet/identities.py.
A function returns one Outcome or a list of them; a cohort or fleet function returns a plain value.
"""

from __future__ import annotations

from typing import NamedTuple

LEVELS = ("info", "warn", "fail")
OUTCOMES = ("passed", "found", "unknown", "not_applicable", "not_run")
COMPARED = ("cohort", "fleet")  # scopes whose outcomes come from comparing nodes
SCOPES = ("node", "device", "group", *COMPARED)
LAYERS = {1: "Hardware and driver", 2: "Kubernetes inventory", 3: "Container devices", 4: "Interconnect", 5: "Real framework"}

RULES = {}


class NoAnswer(Exception):
    """A fact that a rule needs is not there; outcome is unknown, not_applicable or not_run."""

    def __init__(self, outcome, reason):
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


class Outcome(NamedTuple):
    """What a rule says of one subject. subject: None (the node or device at hand), (kind, id), or a list of two of them."""

    outcome: str
    reason: str = ""
    subject: object = None
    level: object = None  # of a finding, when it is not the rule's own
    summary: str = ""
    observed: object = None
    expected: object = None  # {value, unit, origin}
    evidence: object = None
    remedy: str = ""
    caused_by: object = None  # those of the rule's follows that can explain this finding; None: all of them


class Parameter(NamedTuple):
    """A parameter of a rule. default None = not judged unless the site says so. by_manufacturer: defaults that differ."""

    type: str  # bool, int, number, string, list
    default: object
    unit: str = ""
    source: str = ""
    by_manufacturer: object = None  # {manufacturer: (default, source)}
    choices: tuple = ()
    least: object = 0  # of an int or a number; counts, sizes, times and margins below nothing would judge nothing


class Rule(NamedTuple):
    id: str
    layer: int
    level: str
    title: str
    reads: tuple
    scope: str
    remedy: str
    parameters: dict
    follows: tuple
    compare: str
    check: object


PASSED = Outcome("passed")


def passed(subject=None, evidence=None):
    return Outcome("passed", subject=subject, evidence=evidence) if subject is not None or evidence is not None else PASSED


def found(summary, observed=None, expected=None, level=None, subject=None, evidence=None, remedy="", caused_by=None):
    """A fault. observed: a value with its unit in words or a number; expected: params.expected(name) or expectation(...).

    caused_by: of the rules that this one follows, those that can explain this finding; None where all can.
    """
    return Outcome("found", "", subject, level, summary, observed, expected, evidence, remedy, caused_by)


def unknown(reason, subject=None):
    return Outcome("unknown", reason, subject)


def not_applicable(reason, subject=None):
    return Outcome("not_applicable", reason, subject)


def not_run(reason, subject=None):
    return Outcome("not_run", reason, subject)


def expectation(value, unit="", origin=""):
    """origin: vendor document, suite, fleet cohort, this run, baseline, site policy or this node."""
    return {"value": value, "unit": unit, "origin": origin}


def rule(id, layer, level, title, reads, scope, remedy, parameters=None, follows=(), compare="text"):
    """Register a rule.

    follows: ids of rules whose finding about the same thing (causes.py) explains a finding of this one: it is listed as caused by them. Two rules
    may follow from each other: then the graver finding is the cause.
    reads: sections that must have been read ("host", "pci", "kernel", "accelerators"); where one was not, the outcome is unknown.
    compare: of a cohort rule, "text" (the majority names the odd ones) "number" (the median, with the parameter
    tolerance_percent) or "measurements" (fleet/measurements.py); of a fleet rule "text" (fleet/identities.py), "addresses" (fleet/addresses.py),
    "clocks" (fleet/clocks.py) or "pairs" (fleet/pairs.py).
    """

    def register(check):
        if id in RULES:
            raise ValueError("rule %s is registered twice" % id)
        if level not in LEVELS or scope not in SCOPES or layer not in LAYERS:
            raise ValueError("rule %s: level, scope or layer is not one of the known ones" % id)
        RULES[id] = Rule(id, layer, level, title, tuple(reads), scope, remedy, dict(parameters or {}), tuple(follows), compare, check)
        return check

    return register
