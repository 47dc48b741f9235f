# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an acceptance record says of collectives, RDMA and storage: each value that was measured, and what it was held against."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, parts, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import pairs as between
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.measurements import floor
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

# By how the name of a metric begins: the names of the benchmarks themselves, and of what they exercise.
FAMILIES = {
    "collective": ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"),
    "rdma": ("ib-", "rdma-", "roce-"),
    "storage": ("fio-", "disk-", "nvme-", "storage-"),
}
MOST = 64  # values of a family
_ALONE = {"not_applicable": "no accepted past and no floor of the product: compared within this run alone"}


def of(view, pairs, silent):
    """{family: [value] or why there is none}. pairs: what fleet/pairs.py by_node() gave; silent: the fact where nothing was measured."""
    try:
        ones, problems = view.once(measurements.read)
    except NoAnswer:
        ones, problems = (), ()
    if not (ones or problems or pairs):
        return dict.fromkeys(FAMILIES, silent)
    return {name: _family(begins, view, ones, problems, pairs) or silent for name, begins in FAMILIES.items()}


def _family(begins, view, ones, problems, pairs):
    told = [_value(view, one) for one in ones if one.key[0].startswith(begins)]
    keys = {}
    for key, cell, own in pairs:
        if key[0].startswith(begins):
            keys.setdefault(key, []).append((cell, own))
    told += [_of_pairs(key, keys[key]) for key in sorted(keys)]
    wrong = [problem.reason for problem in problems if problem.reason.startswith(begins)]
    if told:
        return told[:MOST]
    return {"unknown": clean(wrong[0], 300)} if wrong else None


def _entry(metric, subject, value, unit, better, reference):
    return {
        "metric": clean(metric, 100),
        "subject": clean(subject, 300),
        "value": round(value, 6),
        "unit": clean(unit, 40),
        "better": better,
        "reference": reference,
    }


def _value(view, one):
    metric, unit, better, _method, product = one.key
    return _entry(metric, one.id, one.value, unit, better, _past(view, one) or _floor(view, metric, unit, better, product, one.id) or _ALONE)


def _past(view, one):
    past = view.baseline
    if past is None:
        return None
    part = "node" if one.kind == "node" else {held.device: held.identity for held in parts.of(view)}.get(one.id) or one.id
    own, cohort = past.own.get((one.key, one.kind, part)), past.references.get(one.key)
    if own:
        return _own(own)
    if cohort:
        return {"value": round(cohort.middle, 6), "origin": clean("baseline: the accepted median of cohort %s" % past.cohort, 300)}
    return None


def _own(own):
    return {"value": round(own.recent.middle, 6), "origin": "baseline: its own accepted median (%s)" % between.values(own.recent.number)}


def _floor(view, metric, unit, better, product, ident):
    makers = {device.id: device.manufacturer for device in view.packages}
    known = sorted(set(makers.values()))
    line = floor(metric, unit, better, makers.get(ident) or (known[0] if len(known) == 1 else ""), product)
    return line and {"value": line["warn"], "origin": clean("floor of the product: %s" % line["source"], 300)}


def _of_pairs(key, cells):
    """The worst of a node's pairs stands for them."""
    metric, unit, better, _method = key
    worst, own = min(cells, key=lambda entry: (entry[0].value if better == statistics.HIGHER else -entry[0].value, entry[0]))
    more = ", the worst of %d pairs" % len(cells) if len(cells) > 1 else ""
    subject = "%s to %s%s" % (between.named(worst.source), between.named(worst.target), more)
    return _entry(metric, subject, worst.value, unit, better, _own(own) if own else _ALONE)
