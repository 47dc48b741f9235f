# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fingerprint of a node: the value that each rule of cohorts gives of it. Pure."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES, Outcome
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.steady import ask

_COMPARED = ("text", "set", "number")
# Speaks of what the site pins, not of the node.
_OF_THE_SITE = ("cohort-version-matrix",)


def of(view):
    """rule -> value, of the rules that have one for this node."""
    prints = {}
    for rule in _rules():
        if all(section in ("accelerators", "paths") or view.missing(section) is None for section in rule.reads):
            value = ask(rule, view, view.policy.params(rule.id))
            if value.__class__ is not Outcome:
                prints[rule.id] = value
    return prints


def _rules():
    return [r for name, r in sorted(RULES.items()) if r.scope == "cohort" and r.compare in _COMPARED and name not in _OF_THE_SITE]


def differences(before, now):
    """[(rule, old, new)] of what both told; numbers within the tolerance of their rule are equal."""
    told = []
    for name in sorted(set(before) & set(now) & set(RULES)):
        old, new = before[name], now[name]
        if old == new:
            continue
        tolerance = RULES[name].parameters.get("tolerance_percent")
        if tolerance and old.__class__ is not str and new.__class__ is not str and abs(old - new) <= abs(old) * tolerance.default / 100:
            continue
        told.append((name, old, new))
    return told
