# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: one file without network, complete without script. The template lies beside this file.

No text reaches the page except through visible() (the environment's finalize) and autoescape; the page's content
security policy allows the one script by its hash and nothing else.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import plots
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import words as w
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.node_parts import Parts
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

# More rows than these are folded away, not left out.
SHOWN_ROWS = 10
SHOWN_NAMES = 40
IN_SHORT = 8
SHOWN_SINCE = 100  # nodes
SINCE = ("changed-since-accepted", "part-replaced", "measured-drift")
# A larger fleet's node details are parsed when they are opened; a browser without script parses them at once.
LARGE = 150
SHOWN_GRID = 250
NO_RULE = {"title": "", "layer": "", "level": "", "remedy": ""}


def _coverage(fleet):
    """[(state, reason, rules, nodes, questions)]: questions without an answer, equal ones together."""
    per_node = {}
    for entry in fleet.get("coverage") or []:
        key = (w.rule_state(entry), w.words(entry.get("reason")), w.words(entry.get("node")))
        per_node.setdefault(key, []).append(w.words(entry.get("rule")))
    joined = {}
    for (state, reason, node), rules in per_node.items():
        joined.setdefault((state, reason, tuple(sorted(set(rules)))), []).append(node)
    rows = [(state, reason, list(rules), sorted(nodes), len(rules) * len(nodes)) for (state, reason, rules), nodes in joined.items()]
    return sorted(rows, key=lambda row: (w.STATE_RANK[row[0]], -len(row[3]), row[1], row[2]))


def _silent(verdicts):
    """[(reason, nodes)]: expected nodes of which nothing at all is established."""
    nodes = {}
    for verdict in verdicts:
        lines = [line for line in (verdict.get("layers") or {}).values() if line.get("asked")]
        if not any(line.get("passed") or line.get("found") for line in lines):
            nodes.setdefault(w.words((verdict.get("reasons") or ["no reason was recorded"])[0]), []).append(w.words(verdict.get("node")))
    return sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))


def _links(names):
    """Node names as links, for a sentence: a few, the rest folded by the template."""
    return [(name, w.anchor("node", name)) for name in names]


def _read(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as stream:
        return stream.read()


def _code(name):
    """A style sheet or script without its leading comment."""
    text = _read(name)
    return text[text.index("*/") + 2 :].strip("\n")


def _since(fleet):
    """What is not as it was when its node was last accepted, and of how many nodes that is known; None where the run has no baseline."""
    told = {w.words(v.get("node")): w.words((v.get("facts") or {}).get("last_accepted") or "") for v in fleet.get("verdicts") or []}
    known = {node: text for node, text in told.items() if text.startswith("run ")}
    if not any(told.values()):
        return None
    rows = {}
    for finding in fleet.get("findings") or []:
        node = w.words(finding.get("node"))
        past = finding.get("rule") in SINCE or (finding.get("expected") or {}).get("origin") == "baseline"
        if node in known and past:
            rows.setdefault(node, []).append((w.words(finding.get("rule")), w.words(finding.get("summary"))))
    return {
        "rows": [(node, known[node], rows[node]) for node in sorted(rows)][:SHOWN_SINCE],
        "more": max(0, len(rows) - SHOWN_SINCE),
        "same": len(known) - len(rows),
        "never": sum(1 for text in told.values() if text.startswith("n/a")),
    }


def _cohorts(fleet):
    made = []
    for cohort in fleet.get("cohorts") or []:
        entry = dict({"name": "", "why": "", "nodes": [], "odd": []}, **cohort)
        made.append(dict(entry, anchor=w.anchor("cohort", entry["name"])))
    return made


@functools.cache
def _template():
    here = os.path.dirname(os.path.abspath(__file__))
    environment = Environment(
        loader=FileSystemLoader(here),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else w.visible(value),
    )
    script = _code("report.js")
    environment.globals.update(
        style=Markup(_code("report.css")),
        script=Markup(script),
        anchor=w.anchor,
        links=_links,
        plural=w.plural,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        verdict_words=w.VERDICT_WORDS,
        short_words=dict(w.VERDICT_WORDS, accepted_with_warnings="warnings"),
        state_words=w.STATE_WORDS,
        shown_rows=SHOWN_ROWS,
        shown_names=SHOWN_NAMES,
        in_short=IN_SHORT,
        shown_grid=SHOWN_GRID,
    )
    return environment.get_template("report.html.j2")


def render(fleet):
    """The page as text, for writing as UTF-8."""
    groups = w.grouped(fleet)
    # Rule anchors: the worst group of a rule has `rule-<id>`; a consequence has it where it stands, another rule in the catalogue.
    targets, taken = {}, set()
    for group in groups:
        for item in (group, *group.consequences):
            name = w.anchor("rule", item.rule)
            item.anchor = name if name not in taken else "%s--%s" % (name, item.level)
            while item.anchor in taken:
                item.anchor += "-"
            taken.add(item.anchor)
            targets.setdefault((item.rule, item.level), item.anchor)
    places = set()

    def place_id(rule, node):
        """Stable: of the rule and the node; a second one of both has a number."""
        name = base = "%s--%s" % (w.anchor("finding", rule), w.anchor("", node)[1:])
        number = 1
        while name in places:
            number += 1
            name = "%s--%d" % (base, number)
        places.add(name)
        return name

    parts = Parts(fleet, targets)
    findings = {}
    for finding in fleet.get("findings") or []:
        findings.setdefault(w.words(finding.get("node")), []).append(finding)
    order = {verdict: rank for rank, verdict in enumerate(w.VERDICTS)}
    verdicts = sorted(fleet.get("verdicts") or [], key=lambda item: (order.get(item.get("verdict"), 1), w.words(item.get("node"))))
    nodes = [parts.node(verdict, findings.get(w.words(verdict.get("node")), ())) for verdict in verdicts]
    catalogue = {rule: {} for rule in parts.column_of}
    catalogue.update((w.words(finding.get("rule")), {}) for finding in fleet.get("findings") or [])
    catalogue.update((rule, {}) for finding in fleet.get("findings") or [] for rule in w.causes(finding))
    catalogue.update(fleet.get("rule_catalogue") or {})
    counts = w.counts(fleet)
    coverage = _coverage(fleet)
    return _template().render(
        fleet=dict(dict.fromkeys(("profile", "run_id", "judged_at", "created", "judgement", "collection_version")), **fleet),
        answer=w.sentence(fleet),
        rest=w.rest_of_sentence(fleet),
        verdicts=w.VERDICTS,
        counts=counts,
        total=sum(counts.values()),
        roster=dict({"text": ""}, **(fleet.get("roster") or {})),
        layers=w.asked_layers(fleet),
        layer_states=w.LAYER_STATE_WORDS,
        loud=[group for group in groups if group.level != "info"],
        quiet=[group for group in groups if group.level == "info"],
        unproven=w.unproven(fleet),
        columns=parts.columns,
        nodes=nodes,
        shared=parts.shared,
        large=len(nodes) > LARGE,
        place_id=place_id,
        silent=_silent(verdicts),
        asked_rules=sorted({rule for node in nodes for rule in node["rules"].split()}),
        since=_since(fleet),
        strips=plots.strips(fleet),
        matrices=plots.matrices(fleet),
        needed=[row for row in coverage if row[0] == "need"],
        optional=[row for row in coverage if row[0] != "need"],
        cohorts=_cohorts(fleet),
        rules=[(rule, dict(NO_RULE, **catalogue[rule]), w.anchor("rule", rule), w.anchor("rule", rule) in taken) for rule in sorted(catalogue)],
        policies=fleet.get("policies") or {},
    )
