# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that nodes of a cohort should have in common, one rule for each line of data/fingerprint.yml."""

from __future__ import annotations

from pathlib import Path

import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.consistency import SAME, cohort_rule
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

DATA = Path(__file__).parent.parent / "data" / "fingerprint.yml"
NONE = "(none)"
_MOST = 512  # values of a set
_SCALARS = (str, int, float, bool)


def _found(value, keys, at, names, results):
    """Add (name, value) of every value at keys[at:]; NoAnswer for one that is not known."""
    for position in range(at, len(keys)):
        if value.__class__ is dict and len(value) == 1:
            if "unknown" in value:
                raise NoAnswer("unknown", show(value["unknown"], 300))
            if "not_applicable" in value:
                return
        key = keys[position]
        if key == "*":
            if value.__class__ is dict:
                items = sorted(value.items())
            elif value.__class__ is list:
                items = [("", one) for one in value]
            else:
                raise NoAnswer("unknown", "%s: not a list or object" % ".".join(keys[:position]))
            for name, one in items[:_MOST]:
                _found(one, keys, position + 1, [*names, name], results)
            return
        try:
            value = value[key]
        except TypeError:
            raise KeyError(key) from None
    if value.__class__ is dict and len(value) == 1:
        if "unknown" in value:
            raise NoAnswer("unknown", show(value["unknown"], 300))
        if "not_applicable" in value:
            return
    if value is None:
        raise NoAnswer("unknown", "%s: not read" % ".".join(keys))
    if value.__class__ is list:
        results += [(names, one) for one in value[:_MOST] if one.__class__ in _SCALARS]
    elif value.__class__ in _SCALARS:
        results.append((names, value))
    else:
        raise NoAnswer("unknown", "%s: not a plain value: %s" % (".".join(keys), show(value)))


def value_at(data, paths, kind, named=False):
    """The value of a section's data as text: of a set its members, sorted, one a line. NoAnswer where it is not known."""
    for keys in paths:
        results = []
        try:
            _found(data, keys, 0, [], results)
        except KeyError:
            continue
        texts = {_text(names, one, named) for names, one in results}
        if kind == "set":
            return "\n".join(sorted(texts)) or NONE
        return next(iter(texts)) if len(texts) == 1 else ", ".join(sorted(texts)) or NONE
    raise NoAnswer("unknown", "%s: not in the report" % ".".join(paths[0]))


def _text(names, value, named):
    told = clean(("yes" if value else "no") if value.__class__ is bool else str(value), 300)
    return " ".join([*filter(None, names), told]) if named else told


def _rule(line):
    paths = [tuple(path.split(".")) for path in line["path"]]
    section, kind, named = line["section"], line["kind"], line.get("named", False)

    def check(view, p):
        return value_at(view.section(section).data, paths, kind, named)

    cohort_rule(
        "cohort-%s" % line["id"],
        line["title"],
        reads=(section,),
        level=line["level"],
        follows=tuple(line.get("follows", ())),
        compare=kind,
        remedy=line.get("remedy", SAME),
    )(check)


def lines():
    return yaml.safe_load(DATA.read_text(encoding="utf-8"))["settings"]


for _line in lines():
    _rule(_line)
