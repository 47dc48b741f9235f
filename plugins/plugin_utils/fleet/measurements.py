# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements of a node report, and what is slow among equal parts of a cohort. Pure functions.

Any section may have a list `measurements` (docs/node-report.md). Only what was measured in the same way is compared: same metric, unit,
tool, version, parameters and image, on the same product.
"""

from __future__ import annotations

import json
import marshal
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome, expectation, found, not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import LARGEST, Facts, clean, show

MOST = 4096  # measurements of one node
SAMPLES = 32  # kept of one measurement
_REPEATED = 5  # samples from which on their distribution says something
COHORT = "fleet cohort"


class Measured(NamedTuple):
    """One measurement. key: what has to be equal to be compared; samples: sorted numbers."""

    key: tuple  # metric, unit, better, method, product
    kind: str
    id: str
    samples: tuple

    @property
    def value(self):
        return statistics.quantile(self.samples, 0.5)

    @property
    def name(self):
        return "%s of %s" % (self.key[0], self.key[4]) if self.key[4] else self.key[0]


def read(view):
    """([Measured], [Outcome of each that cannot be used]) of a NodeView. NoAnswer not_applicable where nothing was measured."""
    usable, problems, number = [], [], 0
    products = {device.id: device.name for device in view.packages}
    for name in sorted(view.sections):
        data = view.sections[name].get("data")
        if view.missing(name) is not None or data.get("measurements").__class__ is not list:
            continue
        for entry in Facts(data, name).objects("measurements"):
            number += 1
            if number > MOST:
                problems.append(unknown("more than %d measurements: the others were not looked at" % MOST))
                return usable, problems
            try:
                usable.append(_one(entry, products, view.node))
            except NoAnswer as no:
                problems.append(Outcome(no.outcome, "%s: %s" % (entry.maybe("text", "metric") or name, no.reason), _subject(entry, view.node)))
    if not number:
        raise NoAnswer("not_applicable", "nothing was measured in this run")
    return usable, problems


def _subject(entry, node):
    kind, ident = entry.maybe("text", "subject", "kind"), entry.maybe("text", "subject", "id")
    return (clean(kind, 40), clean(ident, 100)) if kind and ident else ("node", node)


def _one(entry, products, node):
    validity = entry.maybe("word", "validity") or "valid"
    if validity != "valid":
        raise NoAnswer("unknown", "not valid: %s" % show(entry.data.get("validity"), 200))
    better = entry.word("better")
    if better not in (statistics.HIGHER, statistics.LOWER):
        raise NoAnswer("unknown", "better: found %s, allowed: higher or lower" % better)
    samples = [v for v in entry.list("samples") if (v.__class__ is int or v.__class__ is float) and 0 < v < LARGEST]
    if not samples or len(samples) != len(entry.data["samples"]):
        raise NoAnswer("unknown", "samples: not numbers above 0 only")
    kind, ident = _subject(entry, node)
    product = products.get(ident, "") if kind != "node" else ", ".join(sorted(set(products.values())))
    key = (entry.text("metric"), entry.text("unit"), better, method(entry), product)
    return Measured(key, kind, ident, tuple(statistics.thinned(samples, SAMPLES)))


def method(entry):
    """How it was measured, as one text; NoAnswer where the measurement does not say."""
    told = entry.data.get("method")
    if told.__class__ is not dict:
        raise NoAnswer("unknown", "method: not told, so there is nothing to compare with")
    return clean(json.dumps(told, sort_keys=True, ensure_ascii=False), 300)


def pack(measured):
    """Bytes that a fold keeps of a node."""
    return marshal.dumps([tuple(one) for one in measured], 0)


def unpack(packed):
    return [Measured(*one) for one in marshal.loads(packed)]


# -- one node -------------------------------------------------------------------------------------------------------------


def in_node(measured, p):
    """Outcomes of devices of one product against each other; three at least."""
    outcomes = []
    for key, ones in _by_key(measured).items():
        devices = [one for one in ones if one.kind != "node"]
        if len(devices) < p.fewest:
            outcomes.append(not_applicable("%s: %d measured on this node, an outlier takes at least %d" % (key[0], len(devices), p.fewest)))
            continue
        for i, one in enumerate(devices):
            # Of a handful of devices one bad one moves the spread: each is held against the others.
            given = statistics.among_few([other.value for j, other in enumerate(devices) if j != i])
            outcomes += _judged(one, given, p, p.sigmas, "this node", "the median of its node's others")
    return outcomes


def _by_key(measured):
    keys = {}
    for one in measured:
        keys.setdefault(one.key, []).append(one)
    return keys


def _judged(one, given, p, sigmas, origin, where):
    lost = statistics.loss(one.value, given.middle, one.key[2]) if given else None
    if lost is None:
        return []
    limit = statistics.bound(given, p.least_percent / 100, sigmas)
    return [slower(one, one.value, lost, limit, given.middle, p, origin, where)] if lost >= limit else []


def slower(one, value, lost, limit, middle, p, origin, where, subject=None):
    """The finding of a value that is worse than its reference by more than the limit."""
    higher = one.key[2] == statistics.HIGHER
    bound = middle * (1 - limit) if higher else middle * (1 + limit)
    text = "%s: %.4g %s, %.1f %% %s %s of %.4g (margin %.1f %%)"
    words = text % (one.name, value, one.key[1], lost * 100, "below" if higher else "above", where, middle, limit * 100)
    return found(
        clean(words, 300),
        round(value, 6),
        expectation(round(bound, 6), "%s at %s" % (one.key[1], "least" if higher else "most"), origin),
        level="fail" if lost * 100 >= p.fail_percent else "warn",
        subject=subject or (one.kind, one.id),
        evidence={"method": one.key[3], "samples": len(one.samples), "reference": round(middle, 6), "loss_percent": round(lost * 100, 2)},
    )


# -- a cohort -------------------------------------------------------------------------------------------------------------


def compare(values, params):
    """[(node, Outcome)]: parts of a cohort against each other. values: node -> what pack() gave; params: node -> Params."""
    results, keys = [], {}
    for node in sorted(values):
        for one in unpack(values[node]):
            keys.setdefault(one.key, {}).setdefault(node, []).append(one)
    told = set()
    for key in sorted(keys):
        nodes = keys[key]
        few = [node for node in nodes if len(nodes) < params[node].fewest_nodes]
        results += [(node, not_applicable("%s: measured on %d nodes of the cohort: held against floors only" % (key[0], len(nodes)))) for node in few]
        if few:
            told.update(few)
            continue
        results += _cohort(nodes, params, told)
    return results + [(node, Outcome("passed")) for node in sorted(values) if node not in told]


def _cohort(nodes, params, told):
    results = []
    ones = [(node, one) for node in nodes for one in nodes[node]]
    given = statistics.reference([one.value for _node, one in ones])
    middles = {node: statistics.reference([one.value for one in nodes[node]]).middle for node in nodes}
    of_nodes = statistics.reference(list(middles.values()))
    slow_nodes = {}
    for node, middle in middles.items():
        lost = statistics.loss(middle, of_nodes.middle, nodes[node][0].key[2])
        limit = statistics.bound(of_nodes, params[node].least_percent / 100, statistics.sigmas_for(len(nodes), params[node].sigmas))
        if len(nodes[node]) > 1 and lost >= limit:
            slow_nodes[node] = (lost, limit)
    for node, (lost, limit) in slow_nodes.items():
        told.add(node)
        words = "the median of %d nodes" % len(nodes)
        results.append((node, slower(nodes[node][0], middles[node], lost, limit, of_nodes.middle, params[node], COHORT, words, subject=("node", node))))
    criterion = _criterion(ones, given, params)
    unsteady = _unsteady(ones, params, told)
    two_speeds = {(node, *outcome.subject) for node, outcome in unsteady}
    for node, one in ones:
        if node in slow_nodes:
            continue  # the whole node is told
        sigmas = statistics.sigmas_for(given.number, params[node].sigmas)
        outcomes = _judged(one, given, params[node], sigmas, COHORT, "the median of %d in the cohort" % given.number)
        if not outcomes and (node, one.kind, one.id) not in two_speeds:
            outcomes = _tail(one, criterion, given, params[node], sigmas)
        for outcome in outcomes:
            told.add(node)
            results.append((node, outcome))
    return results + unsteady


def _criterion(ones, given, params):
    """The repeated samples that those of a cohort are held against (Anubis, USENIX ATC 2024), None where parts were not measured often enough."""
    listed = [one.samples for _node, one in ones if len(one.samples) >= _REPEATED]
    if len(listed) * 2 <= len(ones):
        return None
    p = params[ones[0][0]]
    return statistics.usual(listed, ones[0][1].key[2], p.least_percent / 100, statistics.sigmas_for(given.number, p.sigmas))


def _tail(one, criterion, given, p, sigmas):
    """A part whose median is good and whose samples as a whole are not: a slow tail counts alone, too."""
    if criterion is None or len(one.samples) < _REPEATED:
        return []
    lost = statistics.distance(one.samples, criterion, one.key[2])
    limit = statistics.bound(given, p.least_percent / 100, sigmas)
    if lost is None or lost < limit:
        return []
    text = "%s: its samples are %.1f %% worse than the cohort's as a whole, though their median of %.4g %s is not (margin %.1f %%)"
    return [
        found(
            clean(text % (one.name, lost * 100, one.value, one.key[1], limit * 100), 300),
            round(lost * 100, 2),
            expectation(round(limit * 100, 2), "% of area between the distributions at most", COHORT),
            level="fail" if lost * 100 >= p.fail_percent else "warn",
            subject=(one.kind, one.id),
            evidence={"samples": [round(v, 4) for v in one.samples], "criterion": [round(v, 4) for v in criterion], "method": one.key[3]},
        )
    ]


def _unsteady(ones, params, told):
    """Parts whose repeated samples scatter far more than their peers' do: two speeds, of which the median shows one."""
    widths = [(node, one, statistics.unsteadiness(one.samples)) for node, one in ones]
    widths = [entry for entry in widths if entry[2] is not None]
    if not widths:
        return []
    usual = statistics.quantile(sorted(width for _node, _one, width in widths), 0.5)
    results = []
    for node, one, width in widths:
        p = params[node]
        limit = max(p.unsteady_percent / 100, 3 * usual)
        if width >= limit:
            told.add(node)
            text = "%s: repeated samples scatter by %.1f %% of their median, those of its peers by %.1f %% (margin %.1f %%)"
            results.append(
                (
                    node,
                    found(
                        clean(text % (one.name, width * 100, usual * 100, limit * 100), 300),
                        round(width * 100, 2),
                        expectation(round(limit * 100, 2), "% at most", COHORT),
                        subject=(one.kind, one.id),
                        level="warn",
                        evidence={"samples": [round(v, 4) for v in one.samples], "method": one.key[3]},
                    ),
                )
            )
    return results
