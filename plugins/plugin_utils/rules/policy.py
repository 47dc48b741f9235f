# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policy: flat inventory variables, checked all at once.

    accelerator_policy_<rule with underscores>_enabled: bool
    accelerator_policy_<rule with underscores>_level: info | warn | fail
    accelerator_policy_<rule with underscores>_<parameter>
    accelerator_expected_count, accelerator_expected_model, accelerator_cohort, accelerator_cohort_groups, accelerator_modes, accelerator_profile,
    accelerator_profiles
    accelerator_version_matrix, accelerator_version_matrix_<line>: matrix.py

Values arrive as YAML or as text (AWX surveys, -e name=value): "true" and true are equal. An empty text or null is "not set".
"""

from __future__ import annotations

import difflib
import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, limits, matrix, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS, RULES, Parameter

PREFIX = "accelerator_policy_"
EXPECTED = "accelerator_expected_"
MODES = ("exclusive", "shared", "sliced", "partitioned", "visibility")
SITE = "site policy"
IMPLICIT = {
    "enabled": Parameter("bool", True, source="every rule of the profile is asked"),
    "level": Parameter("string", None, source="the level of the rule", choices=LEVELS),
}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class PolicyError(Exception):
    """Everything that is wrong with the variables, each with its name, what was found and what is allowed."""

    def __init__(self, problems):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("; ".join(self.problems))


class Params:
    """The parameters of one rule for one node: p.name is the value, p.expected(name) the value with unit and origin."""

    def __init__(self, rule, given):
        self._rule = rule
        self._given = given
        self.__dict__.update({name: given.get(name, parameter.default) for name, parameter in rule.parameters.items()})

    def of(self, name, manufacturer):
        """The value for a manufacturer, where the default differs between them."""
        if name not in self._given:
            differs = self._rule.parameters[name].by_manufacturer or {}
            if manufacturer in differs:
                return differs[manufacturer][0]
        return getattr(self, name)

    def expected(self, name, manufacturer=None, value=None):
        """What was expected, for a finding. value: when what is expected follows from the parameter."""
        parameter = self._rule.parameters[name]
        origin = parameter.source
        if name in self._given:
            origin = SITE
        elif manufacturer in (parameter.by_manufacturer or {}):
            origin = parameter.by_manufacturer[manufacturer][1]
        return {"value": self.of(name, manufacturer) if value is None else value, "unit": parameter.unit, "origin": origin}


class Policy:
    """The checked policy of one node."""

    def __init__(self, given=None, **expectations):
        self._given = given or {}  # rule -> {parameter: value}
        self.expected_count = expectations.get("expected_count")  # int, {manufacturer: int} or None
        self.expected_model = expectations.get("expected_model") or []  # patterns
        self.cohort = expectations.get("cohort") or ""
        self.cohort_groups = expectations.get("cohort_groups") or []  # inventory groups that are cohorts
        self.modes = expectations.get("modes") or []
        self.profile = expectations.get("profile") or ""
        self.profiles = expectations.get("profiles") or {}
        self.limits = expectations.get("limits") or ()  # of limits.py
        self.matrix = expectations.get("matrix") or ()  # lines of matrix.py
        self._params = {}
        self.plans = {}  # of engine.py: what to ask under a profile, made once

    def enabled(self, rule):
        return self._given.get(rule, {}).get("enabled", True)

    def level(self, rule):
        """The level the site gave the rule, None when it gave none."""
        return self._given.get(rule, {}).get("level")

    def params(self, rule):
        if rule not in self._params:
            self._params[rule] = Params(RULES[rule], self._given.get(rule, {}))
        return self._params[rule]

    @property
    def nothing_expected(self):
        count = self.expected_count
        return count == 0 if not isinstance(count, dict) else bool(count) and not any(count.values())


def names():
    """Every policy variable: name -> (rule, parameter name, Parameter)."""
    catalogue.load()
    known = {}
    for rule in RULES.values():
        for name, parameter in list(IMPLICIT.items()) + list(rule.parameters.items()):
            known["%s%s_%s" % (PREFIX, rule.id.replace("-", "_"), name)] = (rule.id, name, parameter)
    return known


def parse(variables):
    """The Policy of a node's variables. PolicyError with every problem at once."""
    problems = []
    if not isinstance(variables, dict):
        raise PolicyError("policy: found %s, allowed: a dictionary of variables" % type(variables).__name__)
    known = names()
    given = {}
    for name in sorted(variables, key=str):
        value = variables[name]
        if not isinstance(name, str) or not name.startswith(PREFIX):
            if isinstance(name, str) and name.startswith(EXPECTED) and name not in _EXPECTATIONS:
                problems.append("%s: no such variable; the nearest is %s" % (name, _nearest(name, _EXPECTATIONS)))
            continue
        if name not in known:
            problems.append("%s: no such policy variable; the nearest is %s" % (name, _nearest(name, known)))
            continue
        rule, parameter_name, parameter = known[name]
        if _unset(value):
            continue
        try:
            given.setdefault(rule, {})[parameter_name] = convert(value, parameter.type, parameter.choices, parameter.least)
        except ValueError as error:
            problems.append("%s: found %s, allowed: %s" % (name, _show(value), error))
    expectations = {}
    for name, (key, check) in _EXPECTATIONS.items():
        value = variables.get(name)
        if _unset(value):
            continue
        try:
            expectations[key] = check(value)
        except ValueError as error:
            problems.append("%s: found %s, allowed: %s" % (name, _show(value), error))
    expectations["matrix"], wrong = matrix.check(variables)
    problems += wrong
    if expectations.get("profile"):
        try:
            profiles.find(expectations["profile"], expectations.get("profiles"))
        except profiles.ProfileError as error:
            problems.append(str(error))
    if problems:
        raise PolicyError(problems)
    return Policy(given, **expectations)


def convert(value, kind, choices=(), least=None):
    """value as the type of a parameter; ValueError says what is allowed."""
    value = _CONVERT[kind](value)
    if least is not None and kind in ("int", "number") and value < least:
        raise ValueError("%s from %s" % ("a whole number" if kind == "int" else "a number", least))
    if choices and value not in choices:
        raise ValueError(" | ".join(choices))
    return value


def _bool(value):
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError("true or false")


def _number(value):
    if isinstance(value, str):
        try:
            value = float(value) if "." in value or "e" in value.lower() else int(value)
        except ValueError:
            raise ValueError("a number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e15 < value < 1e15:
        raise ValueError("a number")
    return value


def _int(value):
    try:
        number = _number(value)
    except ValueError:
        raise ValueError("a whole number") from None
    if number != int(number):
        raise ValueError("a whole number")
    return int(number)


def _string(value):
    if not isinstance(value, str):
        raise ValueError("a text")
    return value.strip()


def _list(value):
    if isinstance(value, str):
        decoded = _decoded(value)
        value = decoded if isinstance(decoded, list) else [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise ValueError("a list of texts, or one text with commas")
    return list(value)


_CONVERT = {"bool": _bool, "int": _int, "number": _number, "string": _string, "list": _list}


def _decoded(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def _count(value):
    allowed = "a whole number of packages from 0, or a dictionary of manufacturer: number; manufacturers: %s" % ", ".join(sorted(MANUFACTURERS))
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _decoded(value)
    try:
        if isinstance(value, dict):
            counts = {str(k).lower(): _int(v) for k, v in value.items()}
            if counts and all(n >= 0 for n in counts.values()) and set(counts) <= set(MANUFACTURERS):
                return counts
        else:
            count = _int(value)
            if count >= 0:
                return count
    except ValueError:
        pass
    raise ValueError(allowed)


def _modes(value):
    modes = [mode.lower() for mode in _list(value)]
    if not set(modes) <= set(MODES):
        raise ValueError("a list of: %s" % ", ".join(MODES))
    return modes


def _profiles(value):
    if isinstance(value, str):
        value = _decoded(value)
    return profiles.check(value)


_EXPECTATIONS = {
    "accelerator_expected_count": ("expected_count", _count),
    "accelerator_expected_model": ("expected_model", _list),
    "accelerator_cohort": ("cohort", _string),
    "accelerator_cohort_groups": ("cohort_groups", _list),
    "accelerator_modes": ("modes", _modes),
    "accelerator_profiles": ("profiles", _profiles),
    "accelerator_profile": ("profile", _string),
    limits.VARIABLE: ("limits", limits.check),
}


def _unset(value):
    return value is None or (isinstance(value, str) and not value.strip())


def _nearest(name, known):
    found = difflib.get_close_matches(name, list(known), 1, 0.0)
    return found[0] if found else "none"


def _show(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
