# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements between nodes: the files pairs/*.json of a run, and which node, rail, port or link of them is slow.

A file is {schema: fleetproof.accelerator/pairs/v1, measurements: [a measurement whose subject is a list of two {node, kind, id, rail}]}.
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.measurements import method
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import json_text, regular_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome, expectation, found, not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import LARGEST, Facts, clean

SCHEMA = "fleetproof.accelerator/pairs/v1"
LARGEST_FILE = 256 * 2**20
ORIGIN, BASELINE = "this run", "baseline"
FEWEST = 6  # pairs: with fewer there is no usual value


def load(run_path):
    """({(metric, unit, better, method): [Cell]}, [why a file or measurement cannot be used])."""
    usable, problems = read(run_path)
    keys = {}
    for key, source, target, samples in usable:
        keys.setdefault(key, []).append(statistics.Cell(source, target, statistics.quantile(sorted(samples), 0.5)))
    return keys, problems


def by_node(keys, past=None):
    """node -> [(key, Cell, its own past or None)] that it is an end of. past: as compare() takes it."""
    told = {}
    for key, cells in keys.items():
        for cell in cells:
            own = _own(key, cell, past or {})
            for node in sorted({cell.source[0], cell.target[0]}):
                told.setdefault(node, []).append((key, cell, own))
    return told


def _own(key, cell, past):
    held = past.get(cell.source[0])
    return held and held.pairs.get((*key, cell.source[1], *cell.target))


def read(run_path):
    """([(key, end, end, samples)], [why a file or measurement cannot be used])."""
    usable, problems = [], []
    folder = run_path / "pairs"
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            document = json_text.loads(regular_file.read(path, LARGEST_FILE))
            if document.__class__ is not dict or document.get("schema") != SCHEMA:
                raise ValueError("not a %s document" % SCHEMA)
            entries = Facts(document).objects("measurements")
        except (OSError, ValueError, RecursionError, NoAnswer) as error:
            problems.append("%s: %s" % (path.name, error))
            continue
        for entry in entries:
            try:
                usable.append(_one(entry))
            except NoAnswer as no:
                problems.append("%s: %s" % (path.name, no.reason))
    return usable, problems


def _one(entry):
    if (entry.maybe("word", "validity") or "valid") != "valid":
        raise NoAnswer("unknown", "a measurement that is not valid: %s" % clean(str(entry.data.get("validity")), 200))
    better = entry.word("better")
    ends = [(end.text("node"), end.maybe("text", "rail") or "") for end in entry.objects("subject")]
    samples = [v for v in entry.list("samples") if (v.__class__ is int or v.__class__ is float) and 0 < v < LARGEST]
    if better not in (statistics.HIGHER, statistics.LOWER) or len(ends) != 2 or not samples or len(samples) != len(entry.data["samples"]):
        raise NoAnswer("unknown", "a measurement without two ends, a direction and samples above 0")
    return (entry.text("metric"), entry.text("unit"), better, method(entry)), *ends, samples


def compare(prints, given, params, past=None):
    """[(node, Outcome)]. prints: node -> ("value", _) or (outcome, reason); given: what load() gave; params: node -> Params.

    past: node -> records/baseline.py Past, None where the run has no baseline.
    """
    keys, problems = given
    results = [(node, Outcome(said, reason)) for node, (said, reason) in prints.items() if said != "value"]
    asked = [node for node, (said, _value) in prints.items() if said == "value"]
    if not keys and not problems:
        return results + [(node, not_applicable("nothing was measured between nodes in this run")) for node in asked]
    told = {}
    for key in sorted(keys):
        judged = _judged(key, keys[key], params)
        for node, outcome in judged + _drifted(key, keys[key], params, past or {}, [outcome.subject for _node, outcome in judged]):
            told.setdefault(node, []).append(outcome)
    measured = {end[0] for cells in keys.values() for cell in cells for end in (cell.source, cell.target)}
    for node in asked:
        outcomes = told.get(node, [])
        if problems:
            outcomes = [*outcomes, unknown("pairs: %s%s" % (clean(problems[0], 200), " and %d more" % (len(problems) - 1) if len(problems) > 1 else ""))]
        elif not outcomes and node not in measured:
            outcomes = [unknown("pairs: no measurement of this run names this node")]
        results += [(node, outcome) for outcome in outcomes or [Outcome("passed")]]
    return results


def _judged(key, cells, params):
    metric, unit, better, method = key
    ends = {end[0] for cell in cells for end in (cell.source, cell.target)}
    if len(cells) < FEWEST:
        return [(node, not_applicable("%s: %d pairs measured, at least %d have a usual value" % (metric, len(cells), FEWEST))) for node in ends]
    p = next((params[node] for node in sorted(ends) if node in params), None)
    if p is None:
        return []
    sigmas = statistics.sigmas_for(len(cells), p.sigmas)
    slow, usual = statistics.slow_parts(cells, better, p.least_percent / 100, sigmas)
    results = []
    for one in slow:
        nodes, subject = _of(one, ends)
        where = "%.1f %% %s the median of %.4g %s over %d pairs" % (
            one.loss * 100,
            "below" if better == statistics.HIGHER else "above",
            usual.middle,
            unit,
            len(cells),
        )
        text = "%s: %s %s in %d of %d pairs: %s" % (metric, _name(one), "is slow", one.cells, one.of, where)
        outcome = found(
            clean(text, 300),
            round(one.loss * 100, 2),
            expectation(round(statistics.bound(usual, p.least_percent / 100, sigmas) * 100, 2), "% loss at most", ORIGIN),
            level="fail" if one.loss * 100 >= p.fail_percent else "warn",
            subject=subject,
            evidence={"method": method, "kind": one.kind, "cells": one.cells, "of": one.of},
        )
        results += [(node, outcome) for node in nodes]
    return results


def _drifted(key, cells, params, past, told):
    """What is slower than in its own accepted runs: a node most of whose pairs are, else each link. told: subjects that are slow in this run already."""
    slow, compared = [], {}
    for cell in cells if past else ():
        source, target = cell.source, cell.target
        own, p = _own(key, cell, past), params.get(source[0]) or params.get(target[0])
        if not own or p is None:
            continue
        for node in sorted({source[0], target[0]}):
            compared[node] = compared.get(node, 0) + 1
        worst = None
        for reference, words in (
            (own.recent, "its own accepted median (%s)" % values(own.recent.number)),
            (own.first, "what it was when first accepted"),
        ):
            lost = statistics.loss(cell.value, reference.middle, key[2])
            limit = statistics.bound(reference, p.drift_percent / 100, statistics.sigmas_for(reference.number, p.sigmas))
            if lost is not None and lost >= limit and (worst is None or lost > worst[0]):
                worst = (lost, limit, reference, words)
        if worst:
            slow.append((cell, *worst, p))
    known = {frozenset(subject) if subject.__class__ is list else subject for subject in told}
    results, explained = [], set()
    for node, number in sorted(compared.items()):
        mine = sorted((entry for entry in slow if node in (entry[0].source[0], entry[0].target[0])), key=lambda entry: (entry[1], entry[0]))
        if len(mine) > 2 and len(mine) * 2 > number:
            explained.add(node)
            if ("node", node) not in known:
                text = "%d of %d pairs of node %s are slower than they were, in the middle " % (len(mine), number, node)
                results.append((node, _slower(key, mine[len(mine) // 2], text, ("node", node))))
    for entry in sorted(slow, key=lambda entry: (-entry[1], entry[0])):
        ends = sorted((entry[0].source, entry[0].target))
        subject = [("port" if end[1] else "node", named(end)) for end in ends]
        if not explained & {end[0] for end in ends} and not known & subjects_of(*ends):
            known.add(frozenset(subject))
            results += [(node, _slower(key, entry, "", subject)) for node in sorted({end[0] for end in ends})]
    return results


def values(number):
    return "%d value%s" % (number, "" if number == 1 else "s")


def _slower(key, entry, before, subject):
    cell, lost, limit, reference, words, p = entry
    higher = key[2] == statistics.HIGHER
    text = "%s: %s%s to %s: %.4g %s, %.1f %% %s %s of %.4g (margin %.1f %%)"
    said = (key[0], before, named(cell.source), named(cell.target), cell.value, key[1], lost * 100, "below" if higher else "above", words)
    limited = reference.middle * (1 - limit if higher else 1 + limit)
    return found(
        clean(text % (*said, reference.middle, limit * 100), 300),
        round(cell.value, 6),
        expectation(round(limited, 6), "%s at %s" % (key[1], "least" if higher else "most"), BASELINE),
        level="fail" if lost * 100 >= p.fail_percent else "warn",
        subject=subject,
        evidence={"method": key[3], "reference": round(reference.middle, 6), "loss_percent": round(lost * 100, 2)},
    )


def subjects_of(source, target):
    """Every subject of a finding that speaks of a pair: its nodes, rails, ports, and the link."""
    ends = (source, target)
    subjects = {("node", end[0]) for end in ends} | {("rail", end[1]) for end in ends} | {("port", named(end)) for end in ends}
    return subjects | {frozenset(("port" if end[1] else "node", named(end)) for end in ends)}


def named(end):
    """An end as subjects and sentences name it."""
    return "/".join(filter(None, end))


def _of(one, ends):
    """(nodes that are told, the subject as (kind, id) or a list of two)."""
    if one.kind == "node":
        return [one.id], ("node", one.id)
    if one.kind == "end":
        return [one.id[0]], ("port", "%s/%s" % one.id)
    if one.kind == "rail":
        return sorted(ends), ("rail", one.id)
    return sorted({end[0] for end in one.id}), [("port" if end[1] else "node", named(end)) for end in one.id]


def _name(one):
    if one.kind == "end":
        return "%s rail %s" % one.id
    if one.kind == "link":
        return "the link between %s and %s" % tuple(map(named, one.id))
    return "%s %s" % (one.kind, one.id)
