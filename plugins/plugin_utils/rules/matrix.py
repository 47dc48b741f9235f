# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frozen version matrix of a site: lines of inventory variables, each a selection into the node report and what it may be.

accelerator_version_matrix:
  driver: {select: accelerators.nvidia.driver.version, range: ">=580.65.06,<581"}
  bios: {select: host.bios.version, one_of: [NL2.13, NL2.14]}
  bmc: {select: host.bmc.version}                              # not pinned: compared in the cohort
accelerator_version_matrix_driver: {...}                       # one line, over the one of that name; an empty text takes it away
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
from functools import lru_cache
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

VARIABLE = "accelerator_version_matrix"
PINS = ("exact", "range", "one_of", "glob")
_KEYS = ("select", *PINS, "level")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}\Z")
_BOUND = re.compile(r"(>=|<=|==|!=|>|<)\s*([\w.+~:-]{1,80})\Z")
_PARTS = re.compile(r"\d{1,18}|[a-z]+")
# The groups of NVIDIA's VBIOS versions and microcode are hexadecimal: 96.00.A5.00.01, 0xa10114a.
_HEXADECIMAL = re.compile(r"(?:0x[0-9a-f]{1,16}|[0-9a-f]{2}(?:\.[0-9a-f]{2}){4})\Z", re.IGNORECASE)
_HEX_PARTS = re.compile(r"[0-9a-f]{1,16}")
# A version with one of these words at its end came before the one without; any other word names a build and orders nothing.
_BEFORE = ("alpha", "beta", "dev", "pre", "preview", "rc")


class Line(NamedTuple):
    """One line of the matrix; pin is "" where the value is only compared in the cohort."""

    name: str
    select: str
    pin: str
    value: object
    level: object


def ordered(version, hexadecimal=False):
    """A version as something to compare."""
    if hexadecimal:
        return [(1, int(part, 16)) for part in _HEX_PARTS.findall(version.lower().removeprefix("0x"))] + [(1, 0)]
    parts = [(1, int(part)) if part.isdigit() else (0, part) for part in _PARTS.findall(version.lower())]
    parts = [part for part in parts if part[0] or part[1] in _BEFORE]
    while parts and parts[-1] == (1, 0):
        parts.pop()
    return [*parts, (1, 0)]


def in_range(version, bounds):
    hexadecimal = bool(_HEXADECIMAL.match(version))
    mine = ordered(version, hexadecimal)
    for sign, bound in bounds:
        theirs = ordered(bound, hexadecimal)
        length = max(len(mine), len(theirs))
        one, other = (parts + [(1, 0)] * (length - len(parts)) for parts in (mine, theirs))
        good = {">=": one >= other, "<=": one <= other, ">": one > other, "<": one < other, "==": one == other, "!=": one != other}[sign]
        if not good:
            return False
    return True


def bounds_of(text):
    """[(sign, version)] of ">=1.2,<2"; ValueError says what is allowed."""
    found = [_BOUND.match(part.strip()) for part in text.split(",")] if isinstance(text, str) else [None]
    if not all(found):
        raise ValueError("bounds with commas between, such as >=580.65.06,<581")
    return tuple(match.groups() for match in found)


def check(variables):
    """(lines, problems) of a node's variables."""
    lines, problems = {}, []
    whole = _decoded(variables.get(VARIABLE))
    if whole is not None and not isinstance(whole, dict):
        problems.append("%s: found %s, allowed: a dictionary of name: line" % (VARIABLE, show(whole)))
        whole = None
    given = [("%s.%s" % (VARIABLE, name), name, line) for name, line in (whole or {}).items()]
    for name in sorted(map(str, variables)):
        if name.startswith("accelerator_version_") and not name.startswith(VARIABLE):
            problems.append("%s: no such variable; the nearest is %s" % (name, VARIABLE))
    prefix = VARIABLE + "_"
    given += [(name, name[len(prefix) :], line) for name, line in sorted(variables.items(), key=lambda item: str(item[0])) if str(name).startswith(prefix)]
    for where, name, line in given:
        line = _decoded(line)
        if line is None:
            lines.pop(str(name), None)
            continue
        told = _line(where, str(name), line, problems)
        if told:
            lines[told.name] = told
    return tuple(lines[name] for name in sorted(lines)), problems


def _decoded(value):
    """Text as an AWX survey or -e gives it; None where nothing is set."""
    if isinstance(value, str):
        if not value.strip():
            return None
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _line(where, name, line, problems):
    before = len(problems)

    def wrong(key, found, allowed):
        problems.append("%s%s: found %s, allowed: %s" % (where, "." + key if key else "", show(found), allowed))

    if not _NAME.match(name):
        wrong("", name, "a name of letters, digits, '_', '.' and '-'")
    if not isinstance(line, dict):
        wrong("", line, "a dictionary with select and at most one of %s" % ", ".join(PINS))
        return None
    for key in line:
        if key not in _KEYS:
            nearest = difflib.get_close_matches(str(key), _KEYS, 1, 0.0)[0]
            problems.append("%s.%s: no such key; the nearest is %s" % (where, key, nearest))
    select = line.get("select")
    if not isinstance(select, str) or not select.strip():
        wrong("select", select, "a JMESPath selection into the node report, such as host.kernel.release")
    else:
        try:
            _compiled(select)
        except ValueError as error:  # JMESPathError is one
            wrong("select", select, "a JMESPath selection: %s" % " ".join(str(error).split())[:120])
    pins = [key for key in PINS if line.get(key) is not None]
    if len(pins) > 1:
        problems.append("%s: found %s, allowed: one of them" % (where, " and ".join(pins)))
    value = line.get(pins[0]) if pins else None
    if pins:
        try:
            value = _CHECKS[pins[0]](value)
        except ValueError as error:
            wrong(pins[0], value, error)
    level = line.get("level")
    if level is not None and level not in LEVELS:
        wrong("level", level, " | ".join(LEVELS))
    return Line(name, select, pins[0] if pins else "", value, level) if len(problems) == before else None


def _plain(value):
    if isinstance(value, (str, int, float, bool)):
        return as_text(value)
    raise ValueError("a text, a number or a truth value")


def _several(value):
    if not isinstance(value, list) or not value:
        raise ValueError("a list of texts")
    return tuple(_plain(one) for one in value)


def _pattern(value):
    if not isinstance(value, str) or not value:
        raise ValueError("a text with * and ?")
    return value


_CHECKS = {"exact": _plain, "range": bounds_of, "one_of": _several, "glob": _pattern}


@lru_cache(maxsize=256)
def _compiled(select):
    import jmespath  # only where a site pins versions

    return jmespath.compile(select)


def as_text(value):
    return ("true" if value else "false") if isinstance(value, bool) else str(value).strip()


def nested(sections):
    """The report of a node to select from: section accelerators.nvidia stands at accelerators, then nvidia."""
    report = {}
    for name, envelope in sections.items():
        if envelope.get("status") != "read" or not isinstance(envelope.get("data"), dict):
            continue
        head, dot, tail = name.partition(".")
        if dot:
            report.setdefault(head, {})[tail] = envelope["data"]
        else:
            report[name] = envelope["data"]
    return report


def selected(line, report):
    """(values as texts, "") or (outcome, reason)."""
    try:
        found = _compiled(line.select).search(report)
    except (ValueError, TypeError, ArithmeticError) as error:
        return "unknown", "%s: %s: %s" % (line.name, line.select, " ".join(str(error).split())[:200])
    values = found if isinstance(found, list) else [found]
    texts = []
    for value in values:
        if isinstance(value, dict):
            for outcome in ("unknown", "not_applicable"):
                if len(value) == 1 and outcome in value:
                    return outcome, "%s: %s" % (line.name, show(value[outcome], 200))
        if value is None or isinstance(value, (dict, list)):
            return "unknown", "%s: %s selects %s" % (line.name, line.select, "nothing" if value is None else "no plain value")
        texts.append(clean(as_text(value), 120))
    return (texts, "") if texts else ("unknown", "%s: %s selects nothing" % (line.name, line.select))


def fits(line, text):
    if line.pin == "exact":
        return text == line.value
    if line.pin == "one_of":
        return text in line.value
    if line.pin == "glob":
        return fnmatch.fnmatchcase(text, line.value)
    return in_range(text, line.value)


def wanted(line):
    """What a line allows, for a sentence."""
    if line.pin == "range":
        return ",".join(sign + version for sign, version in line.value)
    return " or ".join(line.value) if line.pin == "one_of" else line.value
