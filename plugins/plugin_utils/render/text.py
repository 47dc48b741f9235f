# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary at the end of a play: the answer first, then the most important findings, within the width of a terminal."""

from __future__ import annotations

import re
import unicodedata

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.words import (
    asked_layers,
    counts,
    grouped,
    plural,
    rest_of_sentence,
    sentence,
    unproven,
    visible,
    words,
)

MOST_FINDINGS = 12
MOST_REASONS = 8
MOST_NODES = 6
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_COLORS = {"FAIL": "31", "WARN": "33", "UNKNOWN": "35"}


def safe(value, longest=300):
    """visible(), and letters written right to left as a notation too: a terminal reorders whole lines for them."""
    text = visible(value, longest)
    if text.isascii():
        return text
    return "".join("[U+%04X]" % ord(char) if unicodedata.bidirectional(char) in ("R", "AL", "AN") else char for char in text)


def columns(text):
    """Terminal columns; a character of ambiguous width counts as two, so no terminal breaks the line."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WFA" else 1 for char in text)


def wrap(text, width, first="", rest=""):
    """Lines of at most `width` columns; a word longer than the line is cut."""
    lines = []
    line, empty = first, True
    for word in text.split():
        while True:
            joined = line + ("" if empty else " ") + word
            if columns(joined) <= width:
                line, empty = joined, False
                break
            if not empty:
                lines.append(line)
                line, empty = rest, True
                continue
            size = 1
            while size < len(word) and columns(line + word[: size + 1]) <= width:
                size += 1
            lines.append(line + word[:size])
            line, word = rest, word[size:]
            if not word:
                break
    if not empty or not lines:
        lines.append(line)
    return [item.rstrip() for item in lines]


def _names(nodes, most=MOST_NODES):
    shown = [safe(node, 60) for node in nodes[:most]]
    if len(nodes) > most:
        return "%s and %d more" % (", ".join(shown), len(nodes) - most)
    return ", ".join(shown)


def _finding_lines(group, width):
    word = group.level.upper()
    rows = group.rows()
    summaries = list(dict.fromkeys(row["summary"] for row in rows))
    nodes = group.nodes
    where = safe(nodes[0], 80) if len(nodes) == 1 else "%s: %s" % (plural(len(nodes), "node"), _names(nodes))
    subjects = list(dict.fromkeys(text for row in rows for text in row["subjects"]))
    if len(nodes) == 1 and subjects:
        where += " (%s)" % _names(subjects, 4)
    lines = wrap("%s on %s" % (safe(group.rule, 60), where), width, "  %-8s" % word, " " * 10)
    what = safe(summaries[0] or group.title)
    if len(summaries) > 1:
        what = "%s (and %d more like it)" % (what, len(summaries) - 1) if len(nodes) == 1 else safe(group.headline)
    lines += wrap(what, width, " " * 10, " " * 10)
    if group.remedies:
        lines += wrap(safe(group.remedies[0]), width, " " * 10 + "-> ", " " * 13)
    if group.consequences:
        lines += wrap("with it: %s" % ", ".join(safe(item.rule, 60) for item in group.consequences), width, " " * 10, " " * 12)
    return lines


def render(fleet, width=80, report=None, color=False, limit=()):
    """The summary as text. `report` is where the full report lies; `limit`: hosts that --limit must name besides the nodes."""
    width = max(int(width), 24)
    number = counts(fleet)
    answer = sentence(fleet)
    rest = rest_of_sentence(fleet)
    lines = wrap(safe(answer) + (" (%s)" % rest if rest else ""), width)

    layers = asked_layers(fleet)
    asked = [layer for layer, line in layers.items() if line["asked"]]
    silent = [layer for layer, line in layers.items() if not line["asked"]]
    scope = "Profile %s asks " % safe(fleet.get("profile"), 40)
    if asked:
        scope += "layer %s of 5%s." % (", ".join(asked), "; layers not asked: %s" % ", ".join(silent) if silent else "")
    else:
        scope += "none of the five layers as a whole."
    lines += wrap(scope, width)
    roster = fleet.get("roster") or {}
    if roster.get("text"):
        lines += wrap(safe(roster["text"]), width)

    groups = grouped(fleet)
    loud = [group for group in groups if group.level != "info"]
    if loud:
        lines += ["", "What is wrong"]
        for group in loud[:MOST_FINDINGS]:
            lines += _finding_lines(group, width)
        if len(loud) > MOST_FINDINGS:
            lines += wrap("and %s in the report" % plural(len(loud) - MOST_FINDINGS, "more rule"), width, "  ", "  ")
    open_questions = unproven(fleet)
    if open_questions:
        lines += ["", *wrap("What could not be established", width)]
        for row in open_questions[:MOST_REASONS]:
            lines += wrap("%s: %s" % (_names(row["nodes"]), safe(row["reason"])), width, "  UNKNOWN ", " " * 10)
        if len(open_questions) > MOST_REASONS:
            lines += wrap("and %s in the report" % plural(len(open_questions) - MOST_REASONS, "more reason"), width, "  ", "  ")
    notes = sum(len(group.findings) for group in groups if group.level == "info")
    tail = []
    if notes:
        tail += wrap("%s of level info." % plural(notes, "finding"), width)
    alone = _compared_with_none(fleet)
    if alone:
        tail += wrap("Compared with no other node: %s." % _names(alone), width)
    # Only where it can be copied: plain names, one line.
    names = [words(node) for verdict in ("rejected", "incomplete") for node in fleet.get(verdict) or []]
    again = "Look again at these alone: --limit %s" % ",".join([*limit, *names])
    if names and len(again) <= width and all(_PLAIN_NAME.match(name) for name in names):
        tail.append(again)
    if report:
        tail += wrap("Report: %s" % safe(report, 1000), width, "", "  ")
    if tail:
        lines += ["", *tail]
    if color:
        lines = [_paint(line) for line in lines]
        code = "31" if number["rejected"] else "35" if number["incomplete"] else "33" if number["accepted_with_warnings"] else "32"
        lines[0] = "\x1b[1;%sm%s\x1b[0m" % (code, lines[0])
    return "\n".join(lines) + "\n"


def _compared_with_none(fleet):
    """Nodes in no cohort, or in one of their own, where there are others to compare with."""
    verdicts = fleet.get("verdicts") or []
    together = {node for cohort in fleet.get("cohorts") or [] if len(cohort.get("nodes") or ()) > 1 for node in cohort["nodes"]}
    return sorted(words(v.get("node")) for v in verdicts if v.get("node") not in together) if len(verdicts) > 1 else []


def _paint(line):
    for word, code in _COLORS.items():
        if line.startswith("  %s " % word):
            return "  \x1b[%sm%s\x1b[0m%s" % (code, word, line[2 + len(word) :])
    return line


def causes(fleet, width=80):
    """A table of what is wrong by cause, a line each: level, number of nodes, rule, where. Empty where nothing is."""
    rows = []
    for group in grouped(fleet):
        if group.level != "info":
            more = " (+%d)" % len(group.consequences) if group.consequences else ""
            rows.append((group.level.upper(), group.nodes, safe(group.rule, 26) + more))
    open_nodes = sorted({node for row in unproven(fleet) for node in row["nodes"]})
    if open_nodes:
        rows.append(("UNKNOWN", open_nodes, "no answer to what is required"))
    if not rows:
        return ""
    lines = ["", "Findings by cause", "%-8s %5s  %-32s %s" % ("LEVEL", "NODES", "CAUSE", "WHERE")]
    for level, nodes, cause in rows[:MOST_FINDINGS]:
        head = "%-8s %5d  %s " % (level, len(nodes), cause + " " * (32 - columns(cause)))
        lines.append(_cut(head + _names(nodes, 3), width))
    if len(rows) > MOST_FINDINGS:
        lines.append("and %s in the report" % plural(len(rows) - MOST_FINDINGS, "more cause"))
    return "\n".join(lines) + "\n"


def _cut(line, width):
    if columns(line) <= width:
        return line.rstrip()
    while columns(line) > width - 3:
        line = line[:-1]
    return line.rstrip() + "..."
