# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cohorts: nodes that should be alike, and what is not alike in them. Pure functions over fingerprints.

A node's cohort is named by accelerator_cohort, else it is its group among accelerator_cohort_groups, else found from what the node is: system
product, accelerator model on PCI and partition mode; never from the number of its accelerators, so a node that lost one stays among its peers.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES, NoAnswer, Outcome, expectation, found, not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

COHORT = "fleet cohort"
SHOWN = 6  # nodes and groups named in one sentence
SETS = ("set", "majority", "by_name")  # values of several lines; majority: no finding without one; by_name: only names that nodes share


class Nature(NamedTuple):
    """What a node is, as far as cohorts go; None = not known."""

    declared: str = ""  # accelerator_cohort
    product: object = None
    model: object = None  # PCI vendor:device of most of its accelerators, "none" without any
    mode: object = None  # partition mode
    name: object = None  # the model as its tool calls it


class Cohort(NamedTuple):
    name: str
    nodes: tuple
    why: str


def nature(view):
    """The Nature of a NodeView."""
    product = model = mode = name = None
    if view.answered:
        try:
            host = view.section("host")
            product = " ".join(filter(None, (host.maybe("text", "system", "vendor"), host.maybe("text", "system", "product")))) or None
        except NoAnswer:
            product = None
        model = _model(view)
        packages = view.packages
        if packages:
            modes = Counter(_mode(d) for d in packages)
            mode = _most(modes)
            name = _most(Counter(d.name for d in packages if d.name))
        if name is None:
            name = _pci_name(view)
    return Nature(view.policy.cohort, product, model, mode, name)


def _model(view):
    try:
        entries = [e for group in view.pci().values() for e in group]
    except NoAnswer:
        names = Counter(d.name for d in view.packages if d.name)
        return _most(names)
    ids = Counter("%s:%s" % (e.maybe("text", "vendor") or "?", e.maybe("text", "device") or "?") for e in entries)
    return _most(ids) or "none"


def _pci_name(view):
    try:
        return _most(Counter(e.maybe("text", "model") or "" for group in view.pci().values() for e in group)) or None
    except NoAnswer:
        return None


def _mode(device):
    if device.maybe("flag", "partition", "enabled") is True:
        return device.maybe("text", "partition", "profile") or device.maybe("text", "partition", "mode") or "partitioned"
    try:
        device.fact("partition")
        return "whole"
    except NoAnswer as no:
        return "whole" if no.outcome == "not_applicable" else None


def _most(counter):
    """The most common key that is not None; of equals the first by name."""
    keys = [k for k in counter if k]
    return max(sorted(keys), key=lambda k: counter[k]) if keys else None


def group_of(memberships, wanted):
    """The inventory group that is a node's cohort, "" without one. ValueError where there are two. wanted: accelerator_cohort_groups."""
    mine = sorted(set(memberships) & set(wanted))
    if len(mine) > 1:
        raise ValueError("accelerator_cohort_groups: found %s, allowed: one of them for a node, or accelerator_cohort besides" % " and ".join(mine))
    return mine[0] if mine else ""


def form(natures, groups=None):
    """(cohorts, reason by node without one). natures: node -> Nature; groups: node -> its inventory group that is a cohort, or ""."""
    groups = groups or {}
    exact, loose, reasons = {}, [], {}
    for node in sorted(natures):
        n = natures[node]
        if n.declared:
            exact.setdefault(("accelerator_cohort", n.declared), []).append(node)
        elif groups.get(node):
            exact.setdefault(("inventory group (accelerator_cohort_groups)", groups[node]), []).append(node)
        elif n.model is None and n.product is None:
            reasons[node] = "in no cohort: the node did not say what it is"
        elif n.model == "none":
            reasons[node] = "in no cohort: no accelerator on PCI"
        elif n.model is not None and n.product is not None and n.mode is not None:
            exact.setdefault((n.product, n.model, n.mode), []).append(node)
        else:
            loose.append(node)
    for node in loose:
        # A node that could not say everything joins the one cohort that fits what it did say.
        n = natures[node]
        fits = [key for key in exact if len(key) == 3 and all(mine in (None, theirs) for mine, theirs in zip((n.product, n.model, n.mode), key, strict=True))]
        if len(fits) == 1 or (fits and n.model is not None and n.product is not None):
            exact[max(sorted(fits), key=lambda key: len(exact[key]))].append(node)
        elif fits:
            reasons[node] = "in no cohort: what it said of itself fits %d of them" % len(fits)
        else:
            exact.setdefault((n.product or "", n.model or "", n.mode or ""), []).append(node)
    cohorts, taken = [], set()
    for key in sorted(exact):
        nodes = sorted(exact[key])
        if len(key) == 2:
            name, why = key[1], key[0]
        else:
            label = _most(Counter(natures[n].name or "" for n in nodes)) or key[1] or "unknown model"
            parts = [key[0] or "unknown product", label] + ([key[2]] if key[2] not in ("", "whole") else [])
            name, why = " / ".join(parts), "same system product, accelerator model and partition mode"
        if name in taken:
            name = "%s (%s)" % (name, key[1])
        taken.add(name)
        if len(nodes) == 1:
            why += "; alone: nothing to compare with"
        cohorts.append(Cohort(clean(name, 120), tuple(nodes), why))
    return cohorts, reasons


def compare(rule, cohort, prints, params):
    """[(node, Outcome)] of one cohort rule. prints: node -> ("value", value) or (outcome, reason); params: node -> Params."""
    results = []
    values = {}
    for node in cohort.nodes:
        said, value = prints[node]
        if said == "value":
            values[node] = value
        else:
            results.append((node, Outcome(said, value)))
    if not values:
        return results
    if rule.compare == "measurements":
        return results + measurements.compare(values, params)
    golden = {node: params[node].golden for node in values if getattr(params[node], "golden", None) is not None}
    if golden:
        results += [(node, _against_golden(rule, values.pop(node), right)) for node, right in golden.items()]
        if not values:
            return results
    if len(cohort.nodes) == 1:
        return results + [(node, not_applicable("alone in its cohort: nothing to compare with")) for node in values]
    if len(values) == 1:
        return results + [(node, unknown("no other node of the cohort told its value")) for node in values]
    if rule.compare == "number":
        return results + _numbers(rule, values, params)
    return results + (_by_name(rule, values) if rule.compare == "by_name" else _texts(rule, values))


def _against_golden(rule, value, right):
    """A value that the site gives wins over what the majority has."""
    right = ["\n".join(sorted(map(str, right)))] if rule.compare in SETS else [str(one) for one in right]
    if value in right:
        return Outcome("passed")
    summary = "Not the %s: %s, where the site's policy has %s" % (_lower(rule.title), _cut(value), _cut(" or ".join(right)))
    return found(clean(summary), value, expectation(right[0] if len(right) == 1 else right, "", "site policy"))


def _lower(title):
    return title[0].lower() + title[1:]


def _differs(rule, value, usual):
    """What is odd in words: of a set only the members that differ."""
    if rule.compare not in SETS:
        return _cut(value)
    own, theirs = set(value.split("\n")), set(usual.split("\n"))
    parts = [("lacks " + _some(theirs - own)) if theirs - own else "", ("has besides " + _some(own - theirs)) if own - theirs else ""]
    return "; ".join(filter(None, parts))


def _some(members):
    listed = sorted(members)
    return ", ".join(_cut(one) for one in listed[:SHOWN]) + (" and %d more" % (len(listed) - SHOWN) if len(listed) > SHOWN else "")


def _texts(rule, values):
    groups = {}
    for node in sorted(values):
        groups.setdefault(str(values[node]), []).append(node)
    if len(groups) == 1:
        return [(node, Outcome("passed")) for node in values]
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    usual, most = ranked[0]
    title = _lower(rule.title)
    if len(most) * 2 > len(values):
        results = []
        for value, nodes in ranked:
            for node in nodes:
                if value == usual:
                    results.append((node, Outcome("passed")))
                else:
                    there = "others" if rule.compare in SETS else _cut(usual)
                    summary = "Not the %s: %s, where %d of %d nodes have %s" % (title, _differs(rule, value, usual), len(most), len(values), there)
                    results.append((node, found(clean(summary), value, expectation(usual, "", COHORT))))
        return results
    if rule.compare == "majority":
        return [(node, not_applicable("no value that most nodes of the cohort have: %d values on %d nodes" % (len(groups), len(values)))) for node in values]
    # No majority: none can be called odd. Everyone is told which groups there are, no one fails for it alone.
    told = "; ".join("%s on %s" % (_cut(value), _names(nodes)) for value, nodes in ranked[:SHOWN])
    summary = "The cohort is split, not the %s: %s" % (title, told)
    level = "warn" if rule.level == "fail" else None
    return [(node, found(summary, str(values[node]), expectation("one value", "", COHORT), level=level)) for node in sorted(values)]


def _by_name(rule, values):
    """Of each name that several nodes have, the value that most of these have. A name that a node lacks is no difference."""
    told, odd = {}, {}
    for node in sorted(values):
        for line in values[node].split("\n"):
            name, _blank, value = line.rpartition(" ")
            if name:
                told.setdefault(name, {}).setdefault(value, []).append(node)
    for name, groups in sorted(told.items()):
        if len(groups) > 1:
            usual, most = max(sorted(groups.items()), key=lambda item: len(item[1]))
            if len(most) * 2 > sum(map(len, groups.values())):
                for value, nodes in groups.items():
                    for node in nodes if value != usual else ():
                        odd.setdefault(node, []).append((name, value, usual))
    results = [(node, Outcome("passed")) for node in values if node not in odd]
    for node in sorted(odd):
        name, value, usual = odd[node][0]
        more = " and %d more" % (len(odd[node]) - 1) if len(odd[node]) > 1 else ""
        summary = "Not the %s: %s is %s, where most nodes that have it have %s%s" % (_lower(rule.title), _cut(name), _cut(value), _cut(usual), more)
        observed, right = ("\n".join("%s %s" % (one[0], one[at]) for one in odd[node]) for at in (1, 2))
        results.append((node, found(clean(summary, 500), observed, expectation(right, "", COHORT))))
    return results


def _numbers(rule, values, params):
    middle = median(values.values())
    results = []
    for node in sorted(values):
        value, tolerance = values[node], params[node].tolerance_percent
        if abs(value - middle) <= abs(middle) * tolerance / 100:
            results.append((node, Outcome("passed")))
        elif len(values) == 2:
            told = "; ".join("%g on %s" % (values[n], n) for n in sorted(values))
            results.append((node, found("The cohort is split: %s" % told, value, expectation("one value", "", COHORT))))
        else:
            direction = "below" if value < middle else "above"
            summary = "%g is %.1f %% %s the cohort's median of %g" % (value, abs(value - middle) * 100 / abs(middle or 1), direction, middle)
            results.append((node, found(summary, value, params[node].expected("tolerance_percent", value=middle))))
    return results


def _cut(value):
    return value if len(value) <= 80 else value[:77] + "..."


def _names(nodes):
    return ", ".join(nodes[:SHOWN]) + (" and %d more" % (len(nodes) - SHOWN) if len(nodes) > SHOWN else "")


def together(found_on, fewest):
    """[(nodes, rules)]: rules whose odd nodes are exactly the same, at least so many, and not all the consequence of one of them. found_on: rule -> nodes."""
    groups = {}
    for name in sorted(found_on):
        groups.setdefault(frozenset(found_on[name]), []).append(name)
    ranked = sorted(groups.items(), key=lambda item: sorted(item[0]))
    return [(nodes, names) for nodes, names in ranked if len(names) >= fewest and len([n for n in names if not set(RULES[n].follows) & set(names)]) != 1]


def one_cause(nodes, names, titles, level):
    """The finding that stands for all of these differences."""
    many = "These %d nodes differ" % len(nodes) if len(nodes) > 1 else "The node differs"
    listed = [titles[name].removeprefix("Same ") for name in names]
    summary = "%s from the cohort in %d settings that come together: %s" % (many, len(names), ", ".join(listed[:12]) + (", ..." if len(listed) > 12 else ""))
    return found(clean(summary, 500), len(names), expectation(0, "settings", COHORT), level=level, evidence={"nodes": sorted(nodes)[:64], "rules": names})


def same_nodes(found_on):
    """Rules whose differences always come together: rule -> earlier rules with exactly the same odd nodes. found_on: rule -> nodes."""
    together = {}
    for name in sorted(found_on):
        causes = [other for other in RULES[name].follows if found_on.get(other) == found_on[name]]
        if causes:
            together[name] = causes
    return together
