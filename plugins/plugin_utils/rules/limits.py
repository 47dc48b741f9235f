# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site's own limits of measurements: a baseline with the share by which a value may be worse, or a bound.

accelerator_measurement_limits:
  launch: {metric: kernel-launch/*, baseline: 5.9, worse_percent: 5}       # worse is the direction in which the measurement is worse
  copy: {metric: mem-bw/H2D_*, at_least: 24.5, required: true}             # a node that did not measure it is incomplete
  resnet: {metric: resnet/*, baseline: 300, worse_percent: 50, together: models}
  vgg: {metric: vgg/*, baseline: 300, worse_percent: 50, together: models, fewest: 2}   # a finding when two lines of that name are broken
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.measurements import SLOWED
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    LEVELS,
    NoAnswer,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

VARIABLE = "accelerator_measurement_limits"
_KEYS = ("metric", "unit", "baseline", "worse_percent", "at_least", "at_most", "required", "together", "fewest", "level")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}\Z")
_SITE = "site policy"


class Limit(NamedTuple):
    name: str
    metric: str  # pattern
    unit: str  # "" = any
    baseline: object
    worse: object  # share
    at_least: object
    at_most: object
    required: bool
    together: str
    fewest: int
    level: str


def check(value):
    """The limits of a variable. ValueError says what is allowed."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise ValueError("a dictionary of name: {metric, baseline and worse_percent, or at_least, or at_most}")
    limits = [_line(name, line) for name, line in value.items()]
    return tuple(sorted(limits))


def _line(name, line):
    if not isinstance(name, str) or not _NAME.match(name):
        raise ValueError("names of letters, digits, '.', '_' and '-' (found %s)" % show(name))
    if not isinstance(line, dict):
        raise ValueError("%s: a dictionary with %s" % (name, ", ".join(_KEYS)))
    for key in line:
        if key not in _KEYS:
            near = difflib.get_close_matches(str(key), _KEYS, 1, 0.0)
            raise ValueError("%s: %s: no such key; the nearest is %s" % (name, show(key), near[0] if near else "none"))
    metric, level = line.get("metric"), line.get("level", "fail")
    if not isinstance(metric, str) or not metric.strip():
        raise ValueError("%s: metric: the name of a metric, with * for any text" % name)
    if level not in LEVELS:
        raise ValueError("%s: level: %s" % (name, " | ".join(LEVELS)))
    numbers = {key: _number(name, key, line[key]) for key in ("baseline", "worse_percent", "at_least", "at_most") if key in line}
    if ("baseline" in numbers) != ("worse_percent" in numbers):
        raise ValueError("%s: baseline and worse_percent together" % name)
    if not numbers:
        raise ValueError("%s: one of baseline with worse_percent, at_least, at_most" % name)
    if numbers.get("baseline", 1) <= 0 or numbers.get("worse_percent", 0) < 0:
        raise ValueError("%s: a baseline above 0 and a worse_percent from 0" % name)
    fewest = line.get("fewest", 1)
    if isinstance(fewest, bool) or not isinstance(fewest, int) or fewest < 1:
        raise ValueError("%s: fewest: a whole number from 1" % name)
    if not isinstance(line.get("required", False), bool):
        raise ValueError("%s: required: true or false" % name)
    worse = numbers["worse_percent"] / 100 if "worse_percent" in numbers else None
    together = str(line.get("together", ""))
    bounds = (numbers.get("baseline"), worse, numbers.get("at_least"), numbers.get("at_most"))
    return Limit(name, metric, str(line.get("unit", "")), *bounds, line.get("required", False), together, fewest, level)


def _number(name, key, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e15 < value < 1e15:
        raise ValueError("%s: %s: a number (found %s)" % (name, key, show(value)))
    return value


def _broken(limit, one):
    """(what is wrong in words, expectation), None where the value is within the limit."""
    _metric, unit, better, _method, _product = one.key
    value = one.value
    if limit.baseline is not None:
        lost = statistics.loss(value, limit.baseline, better)
        if lost > limit.worse:
            bound = limit.baseline * (1 - limit.worse if better == statistics.HIGHER else 1 + limit.worse)
            side = "below" if better == statistics.HIGHER else "above"
            text = "%.1f %% %s the baseline of %.4g, %.1f %% are allowed" % (lost * 100, side, limit.baseline, limit.worse * 100)
            return text, expectation(round(bound, 6), "%s at %s" % (unit, "least" if better == statistics.HIGHER else "most"), _SITE)
    if limit.at_least is not None and value < limit.at_least:
        return "below %.4g" % limit.at_least, expectation(limit.at_least, "%s at least" % unit, _SITE)
    if limit.at_most is not None and value > limit.at_most:
        return "above %.4g" % limit.at_most, expectation(limit.at_most, "%s at most" % unit, _SITE)
    return None


@rule(
    id="measured-limits",
    layer=1,
    level="fail",
    title="Measurements keep to the limits of the site",
    reads=(),
    scope="node",
    remedy="Measure again on this node alone; when it stays, look at clocks, power, temperature and links (accelerator_measurement_limits has the limits).",
    follows=("measured-floor", "measured-in-cohort", "measured-in-node", *SLOWED),
)
def measured_limits(view, p):
    limits = view.policy.limits
    if not limits:
        return not_applicable("%s is not set" % VARIABLE)
    try:
        ones, _problems = view.once(measurements.read)
    except NoAnswer:
        ones = []
    outcomes, groups = [], {}
    for limit in limits:
        measured = [one for one in ones if fnmatch.fnmatchcase(one.key[0], limit.metric) and limit.unit in ("", one.key[1])]
        if not measured:
            text = "%s: nothing was measured that is called %s" % (limit.name, limit.metric)
            outcomes.append(unknown(text) if limit.required else not_applicable(text))
        for one in measured:
            broken = _broken(limit, one)
            if broken is None:
                outcomes.append(passed((one.kind, one.id)))
            else:
                groups.setdefault(limit.together or limit.name, []).append((limit, one, *broken))
    for name, broken in groups.items():
        lines = {limit.name for limit, *_rest in broken}
        fewest = max(limit.fewest for limit in limits if (limit.together or limit.name) == name)
        # Lines that belong together count once each; a line alone counts every part that breaks it.
        enough = (len(lines) if broken[0][0].together else len(broken)) >= fewest
        for limit, one, words, expected in broken:
            if enough:
                text = "%s: %.4g %s is %s (%s)" % (one.name, one.value, one.key[1], words, limit.name)
                evidence = {"method": one.key[3], "limit": limit.name}
                outcomes.append(found(clean(text, 300), round(one.value, 6), expected, level=limit.level, subject=(one.kind, one.id), evidence=evidence))
            else:
                outcomes.append(passed((one.kind, one.id)))
    return outcomes
