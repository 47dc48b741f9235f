# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fleet document keeps of measurements, for strip plots and heat maps. Pure functions; bounded, the worst are kept."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.measurements import floor
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

RULE, PAIRS_RULE = "measured-in-cohort", "measured-pairs"
MOST_SERIES, MOST_VALUES, WORST = 200, 4000, 500  # WORST of them are the worst, the others evenly thinned
MOST_ENDS, MOST_MATRICES = 64, 20


def series(folded, formed, params):
    """One entry per cohort and way of measuring. folded: node -> what has prints; formed: cohorts; params: node -> Params of RULE."""
    measured = {node: one.prints[RULE][1] for node, one in folded.items() if RULE in one.prints and one.prints[RULE][0] == "value"}
    if not measured:
        return []
    cohort_of = {node: cohort.name for cohort in formed for node in cohort.nodes}
    keys = {}
    for node in sorted(measured):
        for one in measurements.unpack(measured[node]):
            keys.setdefault((cohort_of.get(node, ""), one.key), []).append((node, one.kind, one.id, one.value))
    return [_series(cohort, key, keys[cohort, key], params) for cohort, key in sorted(keys)[:MOST_SERIES]]


def _series(cohort, key, ones, params):
    metric, unit, better, method, product = key
    given = statistics.reference([one[3] for one in ones])
    p = params(ones[0][0])
    makers = {ident.partition(":")[0] for _node, kind, ident, _value in ones if kind != "node"}
    line = floor(metric, unit, better, makers.pop(), product) if len(makers) == 1 else None
    return {
        "metric": clean(metric, 200),
        "unit": clean(unit, 40),
        "better": better,
        "method": clean(method, 300),
        "product": clean(product, 200),
        "cohort": cohort,
        "number": len(ones),
        "reference": round(given.middle, 6),
        "spread": round(given.spread, 6),
        "limit": round(statistics.bound(given, p.least_percent / 100, statistics.sigmas_for(len(ones), p.sigmas)), 6),
        "floor": {"fail": line["fail"], "warn": line["warn"], "source": line["source"]} if line else None,
        "values": [[node, "" if kind == "node" else ident, round(value, 6)] for node, kind, ident, value in _worst(ones, better)],
    }


def _worst(ones, better):
    """Worst first; of too many the middle is thinned."""
    ordered = sorted(ones, key=lambda one: (one[3] if better == statistics.HIGHER else -one[3], one[0], one[2]))
    if len(ordered) <= MOST_VALUES:
        return ordered
    rest, most = ordered[WORST:], MOST_VALUES - WORST
    return ordered[:WORST] + [rest[i * (len(rest) - 1) // (most - 1)] for i in range(most)]


def matrices(keys, params):
    """One entry per way of measuring between nodes. keys: what pairs.load() gave first; params: Params of PAIRS_RULE."""
    return [_matrix(key, keys[key], params) for key in sorted(keys)[:MOST_MATRICES]]


def _matrix(key, cells, p):
    metric, unit, better, method = key
    given = statistics.reference([cell.value for cell in cells])
    ends = {}
    for cell in cells:
        for end in (cell.source, cell.target):
            ends.setdefault(end, []).append(cell.value)
    worst = sorted(ends, key=lambda end: (statistics.reference(ends[end]).middle * (1 if better == statistics.HIGHER else -1), end))
    kept = sorted(worst[:MOST_ENDS])
    place = {end: i for i, end in enumerate(kept)}
    values = [[None] * len(kept) for _end in kept]
    for cell in cells:
        if cell.source in place and cell.target in place:
            values[place[cell.source]][place[cell.target]] = round(cell.value, 6)
    return {
        "metric": clean(metric, 200),
        "unit": clean(unit, 40),
        "better": better,
        "method": clean(method, 300),
        "pairs": len(cells),
        "reference": round(given.middle, 6),
        "spread": round(given.spread, 6),
        "limit": round(statistics.bound(given, p.least_percent / 100, statistics.sigmas_for(len(cells), p.sigmas)), 6),
        "ends_number": len(ends),
        "ends": [[clean(node, 200), clean(rail, 100)] for node, rail in kept],
        "values": values,
    }
