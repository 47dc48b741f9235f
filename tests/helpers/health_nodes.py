# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with one change for the rules of device health, and what a rule answers."""

from __future__ import annotations

import synthetic
import synthetic_host
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

catalogue.load()
UNREAD = unknown("the tool hung")
NONE = not_applicable("no such thing on this part")
BANKS = {"max": 2559, "high": 1, "partial": 0, "low": 0, "none": 0}
CLOCKS = {"core": 345, "memory": 2619, "core_max": 1980, "memory_max": 2619, "core_set": 1980, "core_default": 1980}
FABRIC = {
    "summary": "healthy", "bandwidth": "full", "route_recovery": False, "route_unhealthy": False, "access_timeout_recovery": False,
    "incorrect_configuration": "none",
}  # fmt: skip
SECONDS = {"sw_power_cap": 900.0, "sync_boost": 0, "sw_thermal_slowdown": 0, "hw_thermal_slowdown": 0, "hw_power_brake_slowdown": 0}
DOMAIN = {"state": "completed", "status": "success", "clique_id": 7, "cluster_uuid": "3f2a6c10-58de-4b1d-93a7-0c44e1b2d905"}


def merged(device, changes):
    """The device with values merged into its groups, or a whole fact in place of one."""
    for name, value in changes.items():
        old = device.get(name)
        merge = isinstance(value, dict) and isinstance(old, dict) and not {"unknown", "not_applicable"} & set(value)
        device[name] = dict(old, **value) if merge else value
    return device


def node(count=2, manufacturer="nvidia", name=synthetic.NAME, first=None, every=None, uptime=90000):
    cards = [synthetic.device(n, manufacturer, name) for n in range(count)]
    for card in cards:
        merged(card, {"throttle": {"seconds": SECONDS}, "clocks_mhz": dict(CLOCKS), "row_remap": {"banks": BANKS}, **(every or {})})
    merged(cards[0], first or {})
    section = synthetic.section(cards, manufacturer)
    return {
        "accelerators.%s" % manufacturer: section,
        "host": dict(synthetic.host(), uptime_seconds=uptime),
        "services": synthetic_host.services("n1"),
        "pci": synthetic.pci([synthetic.pci_entry(n, manufacturer) for n in range(count)]),
    }


def ask(rule, sections, **variables):
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse(variables))
    return [(subject[1], outcome.outcome, outcome.level) for subject, outcome in engine.outcomes(RULES[rule], view, view.policy.params(rule))]


def of_first(rule, sections, **variables):
    """(outcome, level) of the first device."""
    told = [(outcome, level) for ident, outcome, level in ask(rule, sections, **variables) if ident.endswith(":0")]
    # what holds for all of them is told once, of the node
    return told[0] if told else ask(rule, sections, **variables)[0][1:]


def judge(sections, *rules, **variables):
    """[(rule, level, device, causes)] of these rules, of all when none is named."""
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), profiles.find("preflight")).findings
    return sorted((f["rule"], f["level"], f["subject"]["id"], tuple(f["caused_by"])) for f in told if not rules or f["rule"] in rules)
