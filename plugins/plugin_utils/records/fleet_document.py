# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""fleet.json: the fleet document as it lies in a file. What all rules said of a node is a table that many nodes share: it is written once.

In memory a verdict has its table (`rules`: rule -> summary); in the file `rules` is its position in `rule_tables`.
"""

from __future__ import annotations

import json


def write(path, fleet):
    """A verdict at a time, the tables at the end."""
    known, tables = {}, []
    with path.open("w", encoding="utf-8") as out:
        head = {key: value for key, value in fleet.items() if key != "verdicts"}
        out.write(_dumps(head)[:-1] + ',"verdicts":[')
        for position, entry in enumerate(fleet["verdicts"]):
            rules = entry["rules"]
            if id(rules) not in known:
                known[id(rules)] = len(tables)
                tables.append(rules)
            out.write("%s\n%s" % ("," if position else "", _dumps(dict(entry, rules=known[id(rules)]))))
        out.write('\n],"rule_tables":[')
        for position, rules in enumerate(tables):
            out.write("%s\n%s" % ("," if position else "", _dumps(rules)))
        out.write("\n]}\n")


def whole(document):
    """The document of a file as it is in memory."""
    tables = document.pop("rule_tables")
    for entry in document["verdicts"]:
        entry["rules"] = tables[entry["rules"]]
    return document


def _dumps(document):
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
