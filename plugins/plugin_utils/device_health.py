# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of the accelerators of one node, out of their section alone. Pure."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.profiles import Profile
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, LEVELS, RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

_STATES = {None: "ok", "info": "ok", "warn": "warn", "fail": "fail"}
_SHOWN = ("rule", "level", "summary", "observed", "expected", "remedy", "caused_by")
_ELSEWHERE = ": not filed"  # of a section that another module reads


def health(sections, variables=None):
    """A document of all accelerators in sections. PolicyError where variables are not those of a policy."""
    catalogue.load()
    rules = policy.parse(variables or {})
    names = tuple(sorted(rule.id for rule in RULES.values() if rule.reads == ("accelerators",) and rule.scope not in COMPARED))
    envelopes = {name: {"status": "read", "data": data} for name, data in sections.items() if name.startswith("accelerators.")}
    view = NodeView("", envelopes, rules)
    judged = engine.judge_view(view, Profile("health", (1,), frozenset(), names))
    devices = [{"id": device.id, "name": device.name, "findings": []} for device in view.packages]
    by_id = {device["id"]: device["findings"] for device in devices}
    others = []
    for one in sorted(judged.findings, key=lambda one: -LEVELS.index(one["level"])):
        subjects = one["subject"] if one["subject"].__class__ is list else [one["subject"]]
        by_id.get(subjects[0]["id"], others).append({key: one[key] for key in _SHOWN})
    for device in devices:
        device["state"] = _state(device["findings"])
    unknown = [{"rule": rule, "reason": reason} for rule, outcome, reason, _number in judged.gaps if outcome == "unknown" and not reason.endswith(_ELSEWHERE)]
    states = [_state(others), *(device["state"] for device in devices)]
    unread = not view.groups or any(gap.outcome == "unknown" for gap in view.device_gaps)
    worst = next((state for state in ("fail", "warn") if state in states), "ok" if devices else "none")
    return {"state": "unknown" if unread and worst != "fail" else worst, "devices": devices, "findings": others, "unknown": unknown}


def _state(findings):
    return _STATES[max((one["level"] for one in findings), key=LEVELS.index, default=None)]
