# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""findings.csv: one line per finding and per required question without an answer, for a spreadsheet that must not run what a node says."""

from __future__ import annotations

import re
import unicodedata

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.words import LEVELS, expected_text, observed_text, subject_text, visible, words

COLUMNS = ("level", "rule", "layer", "node", "verdict", "cohort", "subject", "summary", "observed", "expected", "remedy", "caused_by")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?\Z", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "|", "%")


def cell(value):
    """A quoted field. What a spreadsheet could take for a formula begins with an apostrophe, in wide letters and behind blanks and quotes, too."""
    text = visible(value)
    first = unicodedata.normalize("NFKC", text[:20]).lstrip(" \"'")[:1]
    if first in _FORMULA and not _NUMBER.match(text):
        text = "'" + text
    return '"%s"' % text.replace('"', '""')


def _line(values):
    return ",".join(map(cell, values)) + "\r\n"


def render(fleet):
    """The file as text (RFC 4180), for writing as UTF-8."""
    nodes = {words(item.get("node")): (words(item.get("verdict")), words(item.get("cohort"))) for item in fleet.get("verdicts") or []}
    lines = [_line(COLUMNS)]
    for finding in fleet.get("findings") or []:
        node = words(finding.get("node"))
        verdict, cohort = nodes.get(node, ("", ""))
        level = finding.get("level") if finding.get("level") in LEVELS else "fail"
        caused_by = finding.get("caused_by") or ()
        lines.append(
            _line(
                (
                    level,
                    finding.get("rule"),
                    finding.get("layer"),
                    node,
                    verdict,
                    cohort,
                    subject_text(finding.get("subject"), node),
                    finding.get("summary"),
                    observed_text(finding),
                    expected_text(finding.get("expected")),
                    finding.get("remedy"),
                    caused_by if isinstance(caused_by, str) else " ".join(words(item) for item in caused_by),
                )
            )
        )
    catalogue = fleet.get("rule_catalogue") or {}
    for entry in fleet.get("coverage") or []:
        if entry.get("required"):
            node, rule = words(entry.get("node")), words(entry.get("rule"))
            layer = (catalogue.get(rule) or {}).get("layer", "")
            lines.append(_line((entry.get("outcome"), rule, layer, node, *nodes.get(node, ("", "")), "", entry.get("reason"), "", "", "", "")))
    return "".join(lines)
