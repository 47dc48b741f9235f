# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metrics.prom: the fleet's verdict for a textfile collector. One series per node and verdict it has, no timestamps on samples."""

from __future__ import annotations

import calendar
import re
import time

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.words import LAYERS, LEVELS, VERDICTS, asked_layers, counts, visible, words

LAYER_ANSWERS = (("fail", "fail"), ("need", "not_proven"), ("warn", "warn"), ("gaps", "passed_with_gaps"), ("passed", "passed"))
OUTCOMES = ("passed", "found", "unknown", "not_applicable", "not_run")
_HARMLESS = re.compile(r"[ !#-\[\]-~]{0,500}\Z")


def _label(value):
    if value.__class__ is str and _HARMLESS.match(value):
        return value
    return visible(value, 1000).replace("\\", "\\\\").replace('"', '\\"')


class _Page:
    def __init__(self):
        self.lines = []

    def metric(self, name, text, samples):
        """`samples`: (labels as pairs, number), in order; a metric without samples is left out."""
        samples = list(samples)
        if not samples:
            return
        self.lines.append("# HELP %s %s" % (name, text))
        self.lines.append("# TYPE %s gauge" % name)
        for labels, number in samples:
            inner = ",".join('%s="%s"' % (key, _label(value)) for key, value in labels)
            self.lines.append("%s%s %s" % (name, "{%s}" % inner if inner else "", number))


def _seconds(stamp):
    try:
        return calendar.timegm(time.strptime(words(stamp), "%Y-%m-%dT%H:%M:%SZ"))
    except ValueError:
        return None


def render(fleet):
    """The exposition text."""
    page = _Page()
    verdicts = fleet.get("verdicts") or []
    page.metric(
        "fleetproof_run_info",
        "The run this file tells about.",
        [
            (
                (
                    ("run_id", fleet.get("run_id")),
                    ("profile", fleet.get("profile")),
                    ("collection_version", fleet.get("collection_version")),
                    ("judgement", fleet.get("judgement")),
                ),
                1,
            )
        ],
    )
    judged = _seconds(fleet.get("judged_at"))
    newest = [] if judged is None else [((), judged)]
    page.metric("fleetproof_run_judged_timestamp_seconds", "When the newest reading behind the verdicts was finished.", newest)
    roster = fleet.get("roster") or {}
    expected = roster.get("expected")
    page.metric(
        "fleetproof_roster_nodes",
        "Nodes expected by the roster, and nodes present in the run.",
        [
            ((("state", "expected"),), len(expected) if isinstance(expected, list) else len(verdicts)),
            ((("state", "present"),), roster["present"] if isinstance(roster.get("present"), int) else len(verdicts)),
        ],
    )
    number = counts(fleet)
    page.metric("fleetproof_nodes", "Nodes by verdict.", [((("verdict", verdict),), number[verdict]) for verdict in VERDICTS])
    layers = asked_layers(fleet)
    page.metric(
        "fleetproof_layer_nodes",
        "Nodes by their worst answer in a layer that was asked.",
        [((("layer", layer), ("answer", answer)), layers[layer][state]) for layer in LAYERS if layers[layer]["asked"] for state, answer in LAYER_ANSWERS],
    )
    by_rule, by_node = {}, {}
    for finding in fleet.get("findings") or []:
        level = finding.get("level") if finding.get("level") in LEVELS else "fail"
        key = (words(finding.get("rule")), level, words(finding.get("layer")))
        by_rule[key] = by_rule.get(key, 0) + 1
        key = (words(finding.get("node")), level)
        by_node[key] = by_node.get(key, 0) + 1
    page.metric(
        "fleetproof_findings",
        "Findings by rule and level.",
        [((("rule", rule), ("level", level), ("layer", layer)), count) for (rule, level, layer), count in sorted(by_rule.items())],
    )
    page.metric(
        "fleetproof_node_verdict",
        "The verdict of a node: 1 for the one it has.",
        [((("node", item.get("node")), ("cohort", item.get("cohort") or ""), ("verdict", item.get("verdict"))), 1) for item in verdicts],
    )
    page.metric(
        "fleetproof_node_findings",
        "Findings of a node by level; nodes without any are left out.",
        [((("node", node), ("level", level)), count) for (node, level), count in sorted(by_node.items())],
    )
    page.metric("fleetproof_node_rules", "Rules of a node by the worst outcome of their subjects.", _node_rules(verdicts))
    return "\n".join(page.lines) + "\n"


def _node_rules(verdicts):
    known = {}
    for item in verdicts:
        rules = item.get("rules") or {}
        # Nodes of a fold share equal summaries; the fleet holds them, so an identity stands for one.
        if id(rules) not in known:
            outcomes = [entry.get("outcome") for entry in rules.values()]
            known[id(rules)] = ([(outcome, outcomes.count(outcome)) for outcome in OUTCOMES], rules)
        for outcome, count in known[id(rules)][0]:
            yield (("node", item.get("node")), ("outcome", outcome)), count
