# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that nodes of a cohort should have in common, one rule for each line of data/fingerprint.yml."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import paths as made_paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.consistency import SAME, cohort_rule
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

DATA = Path(__file__).parent.parent / "data" / "fingerprint.yml"
NONE = "(none)"
_MOST = 512  # values of a set
_SCALARS = (str, int, float, bool)


def _unless_known(value):
    """Whether a fact does not arise; NoAnswer for one that is not known."""
    if value.__class__ is dict and len(value) == 1:
        if "unknown" in value:
            raise NoAnswer("unknown", show(value["unknown"], 300))
        return "not_applicable" in value
    return False


def _found(value, keys, at, names, results):
    """Add (names, value) of every value at keys[at:]; NoAnswer for one that is not known."""
    for position in range(at, len(keys)):
        if _unless_known(value):
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
            if "+" in key:
                results.append((names, " ".join(_plain(value[part], part) for part in key.split("+"))))
                return
            value = value[key]
        except TypeError:
            raise KeyError(key) from None
    if _unless_known(value):
        return
    if value is None:
        raise NoAnswer("unknown", "%s: not read" % ".".join(keys))
    if value.__class__ is list:
        results += [(names, one) for one in value[:_MOST] if one.__class__ in _SCALARS]
    elif value.__class__ in _SCALARS:
        results.append((names, value))
    else:
        raise NoAnswer("unknown", "%s: not a plain value: %s" % (".".join(keys), show(value)))


def _plain(value, key):
    """A part of a value that has several."""
    if _unless_known(value):
        return NONE
    if value.__class__ not in _SCALARS:
        raise NoAnswer("unknown", "%s: not a plain value: %s" % (key, show(value)))
    return _told(value)


def _told(value):
    return clean(("yes" if value else "no") if value.__class__ is bool else str(value), 300)


def _setting(data, paths):
    """Settings of the kubelet that a place names; one that no place names is left to its default."""
    told = []
    for keys in paths:
        value = data
        try:
            for key in keys:
                if _unless_known(value):
                    return NONE
                value = value[key]
            outcome = value["outcome"]
            if outcome == "unnamed":
                continue
            value = value["value"]
        except (KeyError, TypeError):
            raise NoAnswer("unknown", "%s: not in the report" % ".".join(keys)) from None
        if outcome != "value" or _unless_known(value):
            raise NoAnswer("unknown", "%s: %s" % (".".join(keys), show(outcome)))
        shown = value if value.__class__ is str else json.dumps(value, sort_keys=True)
        told.append("%s %s" % (keys[-1], clean(shown, 300)))
    return "\n".join(sorted(told)) or NONE


def value_at(data, paths, kind, named=False, only=(), without=()):
    """The value of a section's data as text: of a set its members, sorted, one a line. NoAnswer where it is not known."""
    if kind == "settings":
        return _setting(data, paths)
    for keys in paths:
        results = []
        try:
            _found(data, keys, 0, [], results)
        except KeyError:
            continue
        if only or without:
            results = [(names, one) for names, one in results if (names[-1] in only if only else names[-1] not in without)]
        if kind == "counts":
            counted = Counter(_text(names, one, named) for names, one in results)
            return "\n".join("%d x %s" % (number, text) for text, number in sorted(counted.items())) or NONE
        texts = {_text(names, one, named) for names, one in results}
        if kind != "text":
            return "\n".join(sorted(texts)) or NONE
        return next(iter(texts)) if len(texts) == 1 else ", ".join(sorted(texts)) or NONE
    raise NoAnswer("unknown", "%s: not in the report" % ".".join(paths[0]))


def _text(names, value, named):
    told = _told(value)
    return " ".join([*filter(None, names), told]) if named else told


def _packages(view):
    """What the packages of all manufacturers are, as one section."""
    if not view.packages:
        if view.device_gaps:
            raise NoAnswer(view.device_gaps[0].outcome, view.device_gaps[0].reason)
        raise NoAnswer("not_applicable", "no accelerator")
    for group in view.groups:
        if group.gap:
            raise NoAnswer("unknown", group.gap)
    return {"devices": [device.data for device in view.packages]}


def _of_paths(view, line, ask):
    """Of equal paths the value is made once."""
    made = made_paths.of(view)

    def data():
        tables = [matrix["levels"] for _maker, _tool, matrix in made.tools if matrix.__class__ is dict and matrix.get("levels").__class__ is list]
        rows = ["%2d %s" % (at, " ".join(map(str, row))) for table in tables for at, row in enumerate(table) if row.__class__ is list]
        return {"ends": [end for end in made.ends if "iommu" in end], "functions": made.functions, "matrix": rows or {"unknown": "no matrix of paths"}}

    return made.once("cohort-" + line, lambda: ask(data()))


def _rule(line):
    paths = [tuple(path.split(".")) if path.__class__ is str else tuple(path) for path in line["path"]]
    section, kind, more = line["section"], line["kind"], (line.get("named", False), line.get("only", ()), line.get("without", ()))

    def check(view, p):
        if section == "paths":
            return _of_paths(view, line["id"], lambda data: value_at(data, paths, kind, *more))
        return value_at(_packages(view) if section == "accelerators" else view.section(section).data, paths, kind, *more)

    cohort_rule(
        "cohort-%s" % line["id"],
        line["title"],
        reads=(section,),
        level=line["level"],
        follows=tuple(line.get("follows", ())),
        compare={"text": "text", "majority": "majority", "by_name": "by_name"}.get(kind, "set"),
        remedy=line.get("remedy", SAME),
    )(check)


def lines():
    return data_file.load(DATA)["settings"]


for _line in lines():
    _rule(_line)
