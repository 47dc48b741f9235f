# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cohort rule over nodes none of which told its value."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.cohorts import Cohort, compare
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

assert catalogue  # importing it registers the rules
COMPARED = sorted(name for name, rule in RULES.items() if rule.scope == "cohort")


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("nodes", [("a",), ("a", "b", "c")])
def test_everyone_stays_unknown(name, nodes):
    prints = {node: ("unknown", "%s: not recorded" % node) for node in nodes}
    results = compare(RULES[name], Cohort("c", nodes, "same"), prints, {})
    assert [(node, outcome.outcome, outcome.reason) for node, outcome in results] == [(node, "unknown", "%s: not recorded" % node) for node in nodes]
