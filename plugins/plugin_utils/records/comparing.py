# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the rules that compare nodes, of a cohort and of the whole run; their outcomes join those of the nodes."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import addresses, clocks, cohorts, identities, pairs, shown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS, OUTCOMES, RULES, Outcome

_ALONE = Outcome("not_applicable", "alone in its cohort: nothing to compare with")
_INDEX = {name: position for position, name in enumerate(OUTCOMES)}
_TALLY = {name: tuple(int(i == position) for i in range(len(OUTCOMES))) for position, name in enumerate(OUTCOMES)}


def whole_run(given, folded, plans, past=None):
    """Ask the rules of the whole run; what they compare is let go of. Returns the matrices that reports show.

    given: what fleet/pairs.py load() gave; past: node -> Past, None where the run has no baseline.
    """
    matrices = []
    for name in sorted({name for one in folded.values() for name in one.prints.own if RULES[name].scope == "fleet"}):
        prints = {node: one.prints.pop(name) for node, one in folded.items() if name in one.prints.own}
        if RULES[name].compare == "pairs":
            params = {node: plans[node][0].params(name) for node in prints}
            outcomes = pairs.compare(prints, given, params, past)
            matrices = shown.matrices(given[0], next(iter(params.values())))
        elif RULES[name].compare == "addresses":
            outcomes = addresses.compare(prints)
        elif RULES[name].compare == "clocks":
            outcomes = clocks.compare(RULES[name], prints, {node: plans[node][0].params(name) for node in prints})
        else:
            facts, devices = ({node: getattr(one, key) for node, one in folded.items()} for key in ("facts", "devices"))
            outcomes = identities.compare(RULES[name], prints, facts, devices)
        for node, outcome in outcomes:
            _take(folded[node], RULES[name], plans[node][0], outcome)
    return matrices


def cohorts_of(formed, alone, folded, plans):
    """Ask the rules of cohorts. Returns the cohorts as the report lists them."""
    listed = []
    for cohort in formed:
        odd = set()
        found_on, majority = {}, {}
        settled = _agreed(cohort, folded, plans)
        asked_here = sorted({name for node in cohort.nodes for name in folded[node].prints.own}.union(*_distinct(cohort, folded)) - settled)
        for name in asked_here:
            rule = RULES[name]
            if rule.compare == "together":
                continue
            asked = [node for node in cohort.nodes if name in folded[node].prints]
            part = cohort._replace(nodes=tuple(asked))
            params = {node: plans[node][0].params(name) for node in asked}
            for node, outcome in cohorts.compare(rule, part, {n: folded[n].prints[name] for n in asked}, params):
                _take(folded[node], rule, plans[node][0], outcome)
                if outcome.outcome == "found":
                    found_on.setdefault(name, set()).add(node)
                    if outcome.expected["value"] != "one value":
                        odd.add(node)
                        if outcome.subject is None:
                            majority.setdefault(name, set()).add(node)
        for name, causes in cohorts.same_nodes(found_on).items():
            for node in found_on[name]:
                _blame(folded[node], (name,), causes)
        for name in asked_here:
            if RULES[name].compare == "together":
                _together(RULES[name], cohort, folded, plans, majority)
        listed.append({"name": cohort.name, "nodes": list(cohort.nodes), "why": cohort.why, "odd": sorted(odd)})
    for node, reason in alone.items():
        for name, (said, value) in folded[node].prints.items():
            outcome = Outcome("not_applicable", reason) if said == "value" else Outcome(said, value)
            _take(folded[node], RULES[name], plans[node][0], outcome)
    return listed


def _distinct(cohort, folded):
    """The different sets of common values of a cohort's nodes: far fewer than nodes."""
    return {id(folded[node].prints.common): folded[node].prints.common for node in cohort.nodes}.values()


def _agreed(cohort, folded, plans):
    """Settle the rules to which all nodes of a cohort gave one answer, and no site's value is right instead; the names of these rules."""
    distinct = list(_distinct(cohort, folded))
    policies = list({id(plans[node][0]): plans[node][0] for node in cohort.nodes}.values())
    counts, gaps = {}, []
    for name, entry in distinct[0].items():
        if any(other.get(name) != entry for other in distinct[1:]) or any(getattr(rules.params(name), "golden", None) is not None for rules in policies):
            continue
        said, value = entry
        if said == "value":
            outcome = Outcome("passed") if len(cohort.nodes) > 1 else _ALONE
        else:
            outcome = Outcome(said, value)
        counts[name] = _TALLY[outcome.outcome]
        if outcome.outcome != "passed":
            gaps.append((name, outcome.outcome, outcome.reason, 1))
    for node in cohort.nodes:
        folded[node].counts.update(counts)
        folded[node].gaps.extend(gaps)
    return set(counts)


def _blame(one, names, causes):
    """Name further causes of the findings of some rules."""
    for finding in one.findings:
        if finding["rule"] in names:
            finding["caused_by"].extend(c for c in causes if c not in finding["caused_by"])


def _together(rule, cohort, folded, plans, majority):
    """Differences that always come together are one finding, and the cause of each of them."""
    explained = set()
    asked = [node for node in cohort.nodes if rule.id in folded[node].prints]
    if not asked:
        return
    titles = {name: RULES[name].title for name in majority}
    for nodes, names in cohorts.together(majority, plans[asked[0]][0].params(rule.id).fewest):
        told = {f["level"] for node in nodes for f in folded[node].findings if f["rule"] in names}
        outcome = cohorts.one_cause(nodes, names, titles, max(told, key=LEVELS.index))
        for node in sorted(nodes & set(asked)):
            explained.add(node)
            _blame(folded[node], names, [rule.id])
            _take(folded[node], rule, plans[node][0], outcome)
    for node in asked:
        said, value = folded[node].prints[rule.id]
        if node not in explained:
            settled = _ALONE if len(cohort.nodes) == 1 else Outcome("passed")
            _take(folded[node], rule, plans[node][0], settled if said == "value" else Outcome(said, value))


def _take(one, rule, rules, outcome):
    tally = list(one.counts[rule.id])
    tally[_INDEX[outcome.outcome]] += 1
    one.counts[rule.id] = tuple(tally)
    if outcome.outcome == "found":
        one.findings.append(engine.finding(rule, rules, one.node, outcome.subject or ("node", one.node), outcome))
        engine.explain(one.findings)
    elif outcome.outcome != "passed":
        one.gaps.append((rule.id, outcome.outcome, outcome.reason, 1))
