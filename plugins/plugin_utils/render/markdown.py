# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""summary.md: the answer for a pull request or a ticket. Bounded; no text of a node becomes a link, a mention, an image or markup."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import words as w

MOST_CAUSES, MOST_REASONS, MOST_NODES = 20, 10, 6
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~&^$:=\"'@-])")
# What hosts of tickets turn into links and mentions by themselves, behind a backslash, too.
_LIVE = re.compile(r"[@#]|://|www\.|\bGH-\d|\b[0-9a-f]{7,40}\b|:[a-z0-9_+-]+:|/\w+#", re.IGNORECASE)
_ORDINARY = re.compile(r"[A-Za-z0-9 .,;%?]*\Z")


def text(value, longest=300):
    """Text of a node as Markdown that shows it, in a line and in a cell of a table."""
    shown = w.visible(value, longest)
    if _ORDINARY.match(shown) and not _LIVE.search(shown):
        return _start(shown)
    if _LIVE.search(shown):
        return code(value, longest)
    return _start(_MARKUP.sub(r"\\\1", shown))


def _start(shown):
    """`1.` at the beginning of a line would be a list."""
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", shown.strip())


def code(value, longest=300):
    """A code span whatever it holds."""
    shown = w.visible(value, longest)
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    # A bar would end a table's cell; behind a backslash only the bar is seen.
    return "%s %s %s" % (fence, shown.replace("|", "\\|"), fence) if "`" in shown else fence + shown.replace("|", "\\|") + fence


def _names(nodes):
    shown = ", ".join(code(node, 80) for node in nodes[:MOST_NODES])
    return "%s and %d more" % (shown, len(nodes) - MOST_NODES) if len(nodes) > MOST_NODES else shown


def render(fleet):
    """The file as text."""
    counts = w.counts(fleet)
    rest = w.rest_of_sentence(fleet)
    lines = ["## %s" % text(w.sentence(fleet)), ""]
    if rest:
        lines += [rest[:1].upper() + rest[1:] + ".", ""]
    lines += ["| " + " | ".join(w.VERDICT_WORDS[verdict] for verdict in w.VERDICTS) + " |", "|" + " ---: |" * len(w.VERDICTS)]
    lines += ["| " + " | ".join(str(counts[verdict]) for verdict in w.VERDICTS) + " |", ""]
    groups = [group for group in w.grouped(fleet) if group.level != "info"]
    if groups:
        lines += ["### What is wrong", "", "| Level | What | Where | Do |", "| --- | --- | --- | --- |"]
        for group in groups[:MOST_CAUSES]:
            what = text(group.headline)
            if group.consequences:
                what += "<br>with it: %s" % ", ".join(code(item.rule, 60) for item in group.consequences[:8])
            where = _names(group.nodes)
            if len(group.nodes) == 1:
                subjects = list(dict.fromkeys(part for row in group.rows() for part in row["subjects"]))
                where += " %s" % ", ".join(code(part, 60) for part in subjects[:4])
            lines.append("| %s | %s (%s) | %s | %s |" % (group.level, what, code(group.rule, 60), where.strip(), text(" ".join(group.remedies[:1]))))
        if len(groups) > MOST_CAUSES:
            lines += ["", "%s in the report." % w.plural(len(groups) - MOST_CAUSES, "more rule")]
        lines.append("")
    open_questions = w.unproven(fleet)
    if open_questions:
        lines += ["### What could not be established", "", "| Where | Why |", "| --- | --- |"]
        lines += ["| %s | %s |" % (_names(row["nodes"]), text(row["reason"])) for row in open_questions[:MOST_REASONS]]
        if len(open_questions) > MOST_REASONS:
            lines += ["", "%s in the report." % w.plural(len(open_questions) - MOST_REASONS, "more reason")]
        lines.append("")
    layers = w.asked_layers(fleet)
    silent = ["%s %s" % (layer, line["title"]) for layer, line in layers.items() if not line["asked"]]
    told = "Profile %s, run %s, judged %s." % (code(fleet.get("profile"), 60), code(fleet.get("run_id"), 100), code(fleet.get("judged_at"), 60))
    if silent:
        told += " Layers not asked: %s; nothing is claimed about them." % ", ".join(silent)
    roster = (fleet.get("roster") or {}).get("text")
    if roster:
        told += " Roster: %s." % text(roster)
    return "\n".join([*lines, told]) + "\n"
