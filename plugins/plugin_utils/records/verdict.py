# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a node: from the outcomes of a profile's rules to one word and its reasons."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import profiles, untold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LAYERS, LEVELS, OUTCOMES, RULES

VERDICTS = ("rejected", "incomplete", "accepted_with_warnings", "accepted")
# Of the subjects of one rule the worst outcome is shown: index into a tally of registry.OUTCOMES, worst first.
_WORST = (1, 2, 4, 0, 3)
MOST_REASONS = 12


def hold_quorum(roster, asked):
    """Say in the roster of a fleet whether enough of its expected nodes answered. asked: percent."""
    expected, answered = len(roster["expected"]), roster["answered"]
    met = answered * 100 >= asked * expected if expected else not asked
    percent = answered * 10000 // expected / 100 if expected else 0.0  # never rounded up to what was asked
    roster["quorum"] = {"asked": asked, "answered_percent": percent, "met": met}
    roster["text"] += ", quorum %s with %g %% answered where %g %% is asked" % ("met" if met else "not met", percent, asked)


class Summaries:
    """Summaries of rules, shared: nodes of a fleet mostly agree, and one fold holds a thousand of them."""

    def __init__(self):
        self._one = {}
        self._all = {}

    def of(self, profile, required, counts, levels, reasons):
        """rules of a verdict. counts: rule -> tally; levels: (of the policy, of findings) rule -> level; reasons: rule -> reason of the worst outcome."""
        usual, worse = levels
        key = (profile.name, required, id(usual), tuple(counts.values()), tuple(worse.items()), tuple(reasons.items()))
        if key not in self._all:
            keys = [(name, worse.get(name) or usual[name], reasons.get(name, ""), *counts[name]) for name in profile.asked]
            self._all[key] = {one[0]: self._rule(one, one[0] in required) for one in keys}
        return self._all[key]

    def _rule(self, key, required):
        if (key, required) not in self._one:
            _name, level, reason, *tally = key
            entry = {"outcome": worst(tally), "level": level}
            entry.update(zip(OUTCOMES, tally, strict=True))
            entry.update(reason=reason, required=required)
            self._one[(key, required)] = entry
        return self._one[(key, required)]


def worst(tally):
    """The worst outcome of a tally; a rule without any outcome was not run."""
    for index in _WORST:
        if tally[index]:
            return OUTCOMES[index]
    return "not_run"


def layers(profile, counts):
    """Per layer: whether it was asked, and the outcomes of its rules."""
    table = {str(n): {"asked": n in profile.layers, **dict.fromkeys(OUTCOMES, 0)} for n in LAYERS}
    for name, tally in counts.items():
        line = table[str(RULES[name].layer)]
        if line["asked"]:
            for outcome, number in zip(OUTCOMES, tally, strict=True):
                line[outcome] += number
    return table


def required(profile, gaps):
    """The rules that this node has to answer: those of the profile, without those of which a tool told nothing, where the profile does without."""
    if not profile.does_without:
        return profile.required
    told = {name: untold.of(name, outcome, reason) for name, outcome, reason, _subjects in gaps if outcome in ("unknown", "not_run")}
    other = {name for name, outcome, reason, _subjects in gaps if outcome in ("unknown", "not_run") and not untold.of(name, outcome, reason)}
    return profile.required - {name for name, what in told.items() if what and name not in other}


def decide(profile, table, findings, gaps):
    """(verdict, reasons). gaps: (rule, outcome, reason, subjects) of what was not established."""
    fails = [f for f in findings if f["level"] == "fail"]
    warns = [f for f in findings if f["level"] == "warn"]
    missing, needed = {}, required(profile, gaps)
    for name, outcome, reason, _subjects in gaps:
        if outcome in ("unknown", "not_run") and name in needed:
            nothing = untold.of(name, outcome, reason)
            missing.setdefault(nothing or "%s: %s" % (outcome.replace("_", " "), reason), []).append(name)
    # What is optional establishes a layer where it said something of the node; what is required and did not answer is missing already.
    asked = {RULES[name].layer for name, *_outcome in gaps if name in profile.required}
    empty = [n for n in profile.layers if n not in asked and not table[str(n)]["passed"] and not table[str(n)]["found"]]
    reasons = _sentences(fails) + [_unproven(profile, reason, names) for reason, names in missing.items()]
    reasons += ["layer %d (%s): nothing in this run establishes it" % (n, LAYERS[n]) for n in empty]
    reasons += _sentences(warns)
    if len(reasons) > MOST_REASONS:
        reasons[MOST_REASONS - 1 :] = ["and %d more" % (len(reasons) - MOST_REASONS + 1)]
    if fails:
        return "rejected", reasons
    if missing or empty:
        return "incomplete", reasons
    return ("accepted_with_warnings" if warns else "accepted"), reasons


def _sentences(findings):
    """One sentence per finding; what follows from another finding is told after what does not, equal sentences once with a count."""
    told = {}
    for f in sorted(findings, key=lambda f: bool(f["caused_by"])):
        told.setdefault(f["summary"], []).append(f["subject"])
    return [_sentence(summary, subjects) for summary, subjects in told.items()]


def _sentence(summary, subjects):
    names = [s["id"] for s in subjects if isinstance(s, dict) and s["kind"] not in ("node", "manufacturer")]
    if not names:
        return summary
    more = " and %d more" % (len(names) - 4) if len(names) > 4 else ""
    return "%s%s: %s" % (", ".join(names[:4]), more, summary)


def _unproven(profile, reason, names):
    if isinstance(reason, tuple):
        other = profiles.doing_without(profile.name)
        return "%s does not tell %s%s" % (*reason, "; profile %s does without" % other if other else "")
    if ": no answer: " in reason:
        return reason.partition(": ")[2]  # the whole node is silent: which rules that leaves open says nothing more
    return "%s (%s%s)" % (reason, ", ".join(names[:3]), " and %d more rules" % (len(names) - 3) if len(names) > 3 else "")


def order(finding):
    """Sort key: level, rule, node, subject."""
    subject = finding["subject"]
    subjects = subject if isinstance(subject, list) else [subject]
    return (-LEVELS.index(finding["level"]), finding["rule"], finding["node"], [(s["node"], s["kind"], natural(s["id"])) for s in subjects])


def natural(text):
    """nvidia:2 before nvidia:10."""
    digits, parts = "", []
    for char in str(text):
        if char.isascii() and char.isdigit():
            digits += char
            continue
        if digits:
            parts.append((1, int(digits[:18]), digits))
            digits = ""
        parts.append((0, 0, char))
    if digits:
        parts.append((1, int(digits[:18]), digits))
    return parts
