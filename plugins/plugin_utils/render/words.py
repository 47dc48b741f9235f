# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all renderers share: safe text, the words of verdicts and outcomes, findings grouped by cause and rule.

Everything that comes from a node is hostile. visible() is the only way such text reaches a document: characters that
control, hide or reorder text appear as a visible notation; escaping for the format comes after it.
"""

from __future__ import annotations

import json
import re
import unicodedata

VERDICTS = ("rejected", "incomplete", "accepted_with_warnings", "accepted")
VERDICT_WORDS = {"rejected": "rejected", "incomplete": "incomplete", "accepted_with_warnings": "accepted with warnings", "accepted": "accepted"}
LEVELS = ("fail", "warn", "info")
LAYERS = {"1": "Hardware and driver", "2": "Kubernetes inventory", "3": "Container devices", "4": "Interconnect", "5": "Real framework"}

# How an outcome stands in a grid, worst first: key -> word. `blank` = no rule of the kind was asked.
STATES = (
    ("fail", "fail"),
    ("need", "not proven"),
    ("warn", "warn"),
    ("unknown", "unknown"),
    ("not_run", "not run"),
    ("info", "info"),
    ("passed", "passed"),
    ("not_applicable", "n/a"),
    ("blank", "not asked"),
)
STATE_RANK = {key: rank for rank, (key, word) in enumerate(STATES)}
STATE_WORDS = dict(STATES)

LONGEST = 2000
_PLAIN = re.compile(r"[ -~]*\Z")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]*\Z")
_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKS = {"Mn", "Me"}


def _notation(char):
    return "[U+%04X]" % ord(char)


def visible(value, longest=LONGEST):
    """The text of any value with nothing in it that acts: controls, bidi marks, invisible and unassigned characters become [U+XXXX]."""
    text = value if value.__class__ is str else words(value)
    cut = ""
    if len(text) > longest:
        cut = " … (%d more characters)" % (len(text) - longest)
        text = text[:longest]
    if _PLAIN.match(text):
        return text + cut
    out = []
    marks = 0
    for char in text.replace("\r\n", "\n").strip("\n"):
        if " " <= char <= "~":
            out.append(char)
            marks = 0
        elif char == "\n":
            out.append(" ↵ ")
        elif char == "\t":
            out.append(" ")
        else:
            category = unicodedata.category(char)
            # More than two marks on one letter climb over the neighboring lines.
            marks = marks + 1 if category in _MARKS else 0
            if category in _HIDDEN or marks > 2:
                out.append(_notation(char))
            else:
                out.append(" " if category == "Zs" else char)
    return "".join(out) + cut


def words(value):
    """A fact, a list or a number as a person reads it. Not yet safe: visible() calls it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "%.6g" % value
    if isinstance(value, dict):
        if set(value) == {"unknown"}:
            return "unknown: %s" % words(value["unknown"])
        if set(value) == {"not_applicable"}:
            return "n/a: %s" % words(value["not_applicable"])
        return ", ".join("%s %s" % (key, words(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(words(item) for item in value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(value, default=str)


def nature(value):
    """`known`, `unknown` or `not_applicable`: whether a fact is a value, or a reason for having none, in either spelling."""
    if isinstance(value, dict) and len(value) == 1:
        key = next(iter(value))
        return key if key in ("unknown", "not_applicable") else "known"
    if isinstance(value, str):
        if value.startswith("unknown:") or value == "unknown":
            return "unknown"
        return "not_applicable" if value.startswith("n/a") else "known"
    return "unknown" if value is None else "known"


def plural(count, noun):
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def anchor(prefix, name):
    """A fragment identifier: one per name, only characters that need no encoding in an id, an href or a selector."""
    if name.__class__ is str and _PLAIN_NAME.match(name):
        return "%s-%s" % (prefix, name)
    raw = str(name).encode("utf-8", "surrogatepass")
    return "%s-%s" % (prefix, "".join(chr(byte) if byte in _NAME_BYTES else "~%02X" % byte for byte in raw))


def counts(fleet):
    given = fleet.get("counts") or {}
    return {name: int(given.get(name, len(fleet.get(name) or []))) for name in VERDICTS}


NOTHING = "nothing to accept"


def sentence(fleet):
    """The one-sentence answer."""
    number = counts(fleet)
    total = sum(number.values())
    if not total:
        return "No node was expected: there is nothing to accept"
    nodes = "%d of %s" % (number["rejected"] or number["incomplete"], plural(total, "node"))
    if total == 1:
        only = next(iter(fleet.get("verdicts") or [{}]))
        name = only.get("node", "")
        if words((only.get("reasons") or [""])[0]).startswith(NOTHING):
            return "%s on %s: no accelerator is expected there and none was found" % (NOTHING.capitalize(), visible(name, 80))
        verdict = next(key for key in VERDICTS if number[key])
        return "The one expected node, %s, is %s" % (visible(name, 80), VERDICT_WORDS[verdict])
    if number["rejected"]:
        return "%s rejected%s" % (nodes, ", %d incomplete" % number["incomplete"] if number["incomplete"] else "")
    if number["incomplete"]:
        return "%s incomplete, none rejected" % nodes
    if number["accepted_with_warnings"]:
        return "All %d nodes accepted, %d with warnings" % (total, number["accepted_with_warnings"])
    return "All %d nodes accepted" % total


def rest_of_sentence(fleet):
    """What the sentence left out: how many were accepted beside the ones in trouble."""
    number = counts(fleet)
    if not (number["rejected"] or number["incomplete"]) or sum(number.values()) < 2:
        return ""
    parts = []
    if number["accepted_with_warnings"]:
        parts.append("%d accepted with warnings" % number["accepted_with_warnings"])
    parts.append("%d accepted" % number["accepted"] if number["accepted"] else "none accepted without warnings")
    return ", ".join(parts)


LAYER_STATES = ("fail", "need", "warn", "gaps", "passed")
LAYER_STATE_WORDS = {"fail": "Fail", "need": "Not proven", "warn": "Warn", "gaps": "Passed, with gaps", "passed": "Passed"}


def asked_layers(fleet):
    """layer -> {title, asked, fail, need, warn, gaps, passed}: numbers of nodes by their worst answer in the layer.

    gaps = every required question is answered well, an optional one has no answer.
    """
    catalogue = fleet.get("rule_catalogue") or {}
    layer_of = {rule: words(about.get("layer")) for rule, about in catalogue.items()}
    result = {layer: dict(dict.fromkeys(LAYER_STATES, 0), title=title, asked=0) for layer, title in LAYERS.items()}
    known = {}
    for verdict in fleet.get("verdicts") or []:
        rules = verdict.get("rules") or {}
        # Nodes of a fold share equal summaries; the fleet holds them, so an identity stands for one.
        worst, _held = known.get(id(rules)) or known.setdefault(id(rules), (_worst(rules, layer_of), rules))
        for layer, line in result.items():
            entry = (verdict.get("layers") or {}).get(layer) or {}
            if entry.get("asked"):
                line["asked"] += 1
                # A layer that was asked and has no rule at all is not proven.
                line[_LAYER_STATE.get(STATES[worst.get(layer, STATE_RANK["need"])][0], "passed")] += 1
    return result


def _worst(rules, layer_of):
    worst = {}
    for rule, entry in rules.items():
        layer = layer_of.get(rule)
        rank = STATE_RANK[rule_state(entry)]
        if rank < worst.get(layer, len(STATES)):
            worst[layer] = rank
    return worst


_LAYER_STATE = {"fail": "fail", "need": "need", "warn": "warn", "unknown": "gaps", "not_run": "gaps"}


def rule_state(entry):
    """The state (STATES) of one rule on one node."""
    outcome = entry.get("outcome")
    if outcome == "found":
        return entry.get("level") if entry.get("level") in LEVELS else "fail"
    if outcome in ("unknown", "not_run") and entry.get("required"):
        return "need"
    return outcome if outcome in STATE_RANK else "unknown"


def subject_text(subject, node=""):
    """`nvidia:3`, or `gpu-a01 nvidia:3 – gpu-a02 nvidia:1` for a pair; empty for the node itself."""
    if isinstance(subject, (list, tuple)):
        return " – ".join(filter(None, (subject_text(item) for item in subject)))
    if isinstance(subject, dict):
        owner = words(subject.get("node"))
        name = words(subject.get("id")) if subject.get("kind") != "node" else ""
        if node and owner == node:
            return name if name != node else ""
        return ("%s %s" % (owner, name if name != owner else "")).strip()
    return words(subject)


def expected_text(expected):
    """`16 lanes (suite)`: value, unit and where the expectation comes from."""
    if not isinstance(expected, dict) or "value" not in expected:
        return words(expected)
    text = words(expected.get("value"))
    if expected.get("unit") and isinstance(expected.get("value"), (int, float)):
        text += " %s" % words(expected["unit"])
    if expected.get("origin"):
        text += " (%s)" % words(expected["origin"])
    return text


def observed_text(finding):
    """`8 lanes`: what was observed, a bare number with the unit of what was expected."""
    observed, expected = finding.get("observed"), finding.get("expected")
    text = words(observed)
    if isinstance(observed, (int, float)) and not isinstance(observed, bool) and isinstance(expected, dict) and expected.get("unit"):
        text += " %s" % words(expected["unit"])
    return text


def causes(finding):
    """Names of the rules a finding says it follows from."""
    given = finding.get("caused_by")
    for item in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(item, dict):
            item = item.get("rule")
        if isinstance(item, str) and item:
            yield item


def _level(finding):
    return finding.get("level") if finding.get("level") in LEVELS else "fail"


class Group:
    """All findings of one rule at one level, and what follows from them."""

    def __init__(self, rule, level, catalogue):
        about = catalogue.get(rule) or {}
        self.rule = rule
        self.level = level
        self.title = words(about.get("title")) or rule
        self.layer = words(about.get("layer"))
        self.default_remedy = words(about.get("remedy"))
        self.findings = []
        self.consequences = []

    @property
    def nodes(self):
        return sorted({words(finding.get("node")) for finding in self.findings})

    @property
    def headline(self):
        """What is wrong, in the finding's own words where all agree; a rule's title says what should hold."""
        summaries = {words(finding.get("summary")) for finding in self.findings}
        return summaries.pop() if len(summaries) == 1 and "" not in summaries else "Does not hold: %s" % self.title

    def uniform(self, rows):
        """Whether the rows differ only in where: then one line says it for all."""
        return len({(row["summary"], row["observed"], row["expected"]) for row in rows}) == 1 and rows[0]["summary"] == self.headline

    @property
    def remedies(self):
        found = [words(finding.get("remedy")) or self.default_remedy for finding in self.findings]
        return [text for text in dict.fromkeys(found) if text]

    def rows(self):
        """One row per node and equal wording, its subjects joined."""
        joined = {}
        for finding in self.findings:
            node = words(finding.get("node"))
            key = (node, words(finding.get("summary")), observed_text(finding), expected_text(finding.get("expected")), words(finding.get("remedy")))
            joined.setdefault(key, []).append(subject_text(finding.get("subject"), node))
        return [
            {"node": key[0], "summary": key[1], "observed": key[2], "expected": key[3], "remedy": key[4], "subjects": [text for text in subjects if text]}
            for key, subjects in joined.items()
        ]


def grouped(fleet):
    """Findings as groups: worst level first, then the most nodes. What follows from another finding of its node stands under that one."""
    catalogue = fleet.get("rule_catalogue") or {}
    findings = fleet.get("findings") or []
    by_place = {}
    for finding in findings:
        place = (finding.get("node"), finding.get("rule"))
        if place not in by_place or LEVELS.index(_level(finding)) < LEVELS.index(_level(by_place[place])):
            by_place[place] = finding

    def root(finding):
        seen = set()
        while True:
            place = (finding.get("node"), finding.get("rule"))
            if place in seen:
                return None
            seen.add(place)
            for rule in causes(finding):
                cause = by_place.get((finding.get("node"), rule))
                # A failure is never hidden under something milder.
                if cause is not None and rule != finding.get("rule") and LEVELS.index(_level(cause)) <= LEVELS.index(_level(finding)):
                    finding = cause
                    break
            else:
                return finding

    groups = {}
    under = {}
    for finding in findings:
        key = _key(finding)
        cause = root(finding)
        if cause is None or cause is finding:
            groups.setdefault(key, Group(key[0], key[1], catalogue)).findings.append(finding)
        else:
            under.setdefault(_key(cause), {}).setdefault(key, Group(key[0], key[1], catalogue)).findings.append(finding)
    for key, consequences in under.items():
        if key in groups:
            groups[key].consequences = sorted(consequences.values(), key=_order)
        else:
            for child, group in consequences.items():
                groups.setdefault(child, Group(child[0], child[1], catalogue)).findings.extend(group.findings)
    return sorted(groups.values(), key=_order)


# Its findings with other words have other parts: each set of nodes is told by itself.
_APART = "cohort-together"


def _key(finding):
    rule = words(finding.get("rule"))
    return (rule, _level(finding), words(finding.get("summary"))) if rule == _APART else (rule, _level(finding))


def _order(group):
    return (LEVELS.index(group.level), -len(group.nodes), group.rule)


def unproven(fleet):
    """Why nodes are incomplete: [{reason, rules, nodes}], required questions without an answer, the most nodes first."""
    rules = {}
    for entry in fleet.get("coverage") or []:
        if entry.get("required"):
            place = (words(entry.get("node")), words(entry.get("reason")))
            rules.setdefault(place, set()).add(words(entry.get("rule")))
    joined = {}
    for (node, reason), names in rules.items():
        joined.setdefault((reason, tuple(sorted(names))), []).append(node)
    told = {}
    for node, reason in rules:
        told.setdefault(node, []).append(reason)
    for finding in fleet.get("findings") or []:
        told.setdefault(words(finding.get("node")), []).append(words(finding.get("summary")))
    for verdict in fleet.get("verdicts") or []:
        if verdict.get("verdict") == "incomplete":
            node = words(verdict.get("node"))
            for reason in untold(verdict.get("reasons"), told.get(node, ())) or ([] if node in told else ["no reason was recorded"]):
                joined.setdefault((reason, ()), []).append(node)
    rows = []
    of_nodes = {}
    # Longest first: a reason that another one of the same nodes quotes joins it.
    for (reason, names), nodes in sorted(joined.items(), key=lambda item: (-len(item[0][0]), item[0])):
        nodes = sorted(set(nodes))
        same = of_nodes.setdefault(tuple(nodes), [])
        for row in same:
            if reason and reason in row["reason"]:
                row["rules"] = sorted({*row["rules"], *names})
                break
        else:
            same.append({"reason": reason, "rules": list(names), "nodes": nodes})
            rows.append(same[-1])
    return sorted(rows, key=lambda row: (-len(row["nodes"]), row["nodes"], row["reason"], row["rules"]))


def untold(reasons, told):
    """The reasons of a verdict that no finding and no coverage of the node has said already."""
    texts = [words(reason) for reason in reasons or []]
    return [text for text in texts if not text.startswith("and ") and not any(part and part in text for part in told)]
