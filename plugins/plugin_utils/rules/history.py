# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules against the past: what baseline.json of the run says of the machine and of its cohort. Not applicable without one."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, parts, prints, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.measurements import SLOWED
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    RULES,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

BASELINE = "baseline"
SHOWN = 8  # changes named in a sentence
_NONE = "no baseline: this run was judged without accelerator_history"
_NEVER = "never accepted before: nothing to compare with"


def _past(view):
    if view.baseline is None:
        raise NoAnswer("not_applicable", _NONE)
    return view.baseline


def _accepted(view):
    accepted = _past(view).accepted
    if accepted is None:
        raise NoAnswer("not_applicable", _NEVER)
    return accepted


def _since(view, accepted):
    renamed = "" if accepted.name == view.node else ", then called %s" % accepted.name
    return "run %s of %s%s" % (accepted.run_id, accepted.at[:10] or "unknown date", renamed)


@rule(
    id="measured-drift",
    layer=1,
    level="warn",
    title="Nothing is slower than it was when it was accepted",
    reads=(),
    scope="node",
    follows=("measured-floor", "measured-in-cohort", "measured-in-node", *SLOWED),
    remedy="See what changed since (rule changed-since-accepted). Where a whole cohort is slower: clocks, power cap, driver, firmware, cooling of the room.",
    parameters={
        "least_percent": Parameter("number", 5, "%", "our choice: five times the spread of means that good parts show from run to run (Primus: 1 %)"),
        "fail_percent": Parameter("number", 15, "%", "our choice: a loss that a synchronous job cannot hide"),
        "sigmas": Parameter("number", 3.5, "standard deviations", "suite: robust outlier rule of Iglewicz and Hoaglin"),
    },
)
def measured_drift(view, p):
    past = _past(view)
    ones, _problems = view.once(measurements.read)
    held = {part.device: part.identity for part in parts.of(view)}
    slow, compared = {}, {}
    for one in ones:
        given = list(_references(past, one, "node" if one.kind == "node" else held.get(one.id) or one.id))
        if given:
            compared.setdefault(one.key, []).append(one)
        worst = None
        for reference, words in given:
            lost = statistics.loss(one.value, reference.middle, one.key[2])
            limit = statistics.bound(reference, p.least_percent / 100, statistics.sigmas_for(reference.number, p.sigmas))
            if lost is not None and lost >= limit and (worst is None or lost > worst[0]):
                worst = (lost, limit, reference, words)
        if worst:
            slow.setdefault(one.key, []).append((one, *worst))
    if not compared:
        return not_applicable("%s: %s" % (_NEVER, "; ".join(sorted({one.key[0] for one in ones})[:SHOWN])) if ones else "no measurement can be used")
    return [outcome for key in sorted(slow) for outcome in _told(view, slow[key], len(compared[key]), p)] or PASSED


def _references(past, one, part):
    """(Reference, what it is) of a measurement: its own past, and that of its cohort."""
    own, cohort = past.own.get((one.key, one.kind, part)), past.references.get(one.key)
    if own:
        number = own.recent.number
        yield _steadied(own.recent, cohort), "its own median of %d accepted run%s" % (number, "s" if number > 1 else "")
        yield _steadied(own.first, cohort), "its own median when it was first accepted"
    if cohort:
        yield cohort, "the accepted median of cohort %s" % past.cohort


def _steadied(own, cohort):
    """Two runs say nothing of how much a part varies; its cohort does."""
    return own._replace(spread=max(own.spread, cohort.spread)) if own.number < 3 and cohort else own


def _told(view, slow, number, p):
    """One finding for each part, or one for the node where most of its parts are slower."""
    if len(slow) > 2 and len(slow) * 2 > number:
        slow.sort(key=lambda entry: (entry[1], entry[0].id))
        one, lost, limit, reference, words = slow[len(slow) // 2]
        outcome = measurements.slower(one, one.value, lost, limit, reference.middle, p, BASELINE, words, subject=("node", view.node))
        yield outcome._replace(summary=clean("%d of %d parts, in the middle %s: %s" % (len(slow), number, one.id, outcome.summary), 300))
        return
    for one, lost, limit, reference, words in slow:
        yield measurements.slower(one, one.value, lost, limit, reference.middle, p, BASELINE, words)


@rule(
    id="changed-since-accepted",
    layer=1,
    level="info",
    title="The node is as it was when it was last accepted",
    reads=(),
    scope="node",
    remedy="Hold the list against what was meant to change. A node that is accepted with it is the new baseline.",
)
def changed_since_accepted(view, p):
    accepted = _accepted(view)
    changes = [] if accepted.name == view.node else [{"what": "Name", "rule": None, "then": accepted.name, "now": view.node}]
    for name, old, new in prints.differences(accepted.prints, prints.of(view)):
        changes.append({"what": RULES[name].title.removeprefix("Same "), "rule": name, "then": _short(old), "now": _short(new)})
    if not changes:
        return PASSED
    told = "; ".join("%s: %s -> %s" % (c["what"], _short(c["then"], 60), _short(c["now"], 60)) for c in changes[:SHOWN])
    more = "; and %d more" % (len(changes) - SHOWN) if len(changes) > SHOWN else ""
    summary = "%d change%s since it was accepted in %s: %s%s" % (len(changes), "s" if len(changes) > 1 else "", _since(view, accepted), told, more)
    return found(clean(summary, 600), len(changes), expectation(0, "changes", BASELINE), evidence={"since": accepted.run_id, "changes": changes[:100]})


def _short(value, longest=200):
    text = str(value).replace("\n", ", ")
    return text if len(text) <= longest else text[: longest - 3] + "..."


@rule(
    id="part-replaced",
    layer=1,
    level="info",
    title="No part was replaced since the node was last accepted",
    reads=(),
    scope="node",
    remedy="Hold it against the service log. A new part has no past: have it measured and accepted.",
)
def part_replaced(view, p):
    accepted = _accepted(view)
    now = parts.of(view)
    if not accepted.parts:
        return not_applicable("no part told its identity when the node was last accepted")
    if not now:
        return unknown("no part tells its identity now")
    told = []
    serial = parts.system_serial(view)
    since = _since(view, accepted)
    if serial and accepted.system_serial and serial.casefold() != accepted.system_serial.casefold():
        summary = "Another machine: system serial %s, where %s was accepted in %s" % (serial, accepted.system_serial, since)
        told.append(found(clean(summary), serial, expectation(accepted.system_serial, "", BASELINE)))
    for change in parts.differences(accepted.parts, now, parts.whole(view)):
        told.append(_replaced(change, since, view.node))
    return told or PASSED


def _replaced(change, since, node):
    old, new = change.old, change.new
    what = "%s %s" % ((new or old).name, "" if change.kind == "mainboard" else "of slot %s" % change.slot)
    if old and new:
        summary = "%s was replaced since %s: %s then, %s now" % (what.strip(), since, old.shown, new.shown)
    elif old:
        summary = "%s is gone since %s: %s" % (what.strip(), since, old.shown)
    else:
        summary = "%s was added since %s: %s" % (what.strip(), since, new.shown)
    subject = ("package", new.device) if new and change.kind == "accelerator" else ("node", node)
    evidence = {"slot": change.slot, "then": old and old.identity, "now": new and new.identity}
    return found(clean(summary), new and new.identity, expectation(old.identity if old else "nothing", "", BASELINE), subject=subject, evidence=evidence)
