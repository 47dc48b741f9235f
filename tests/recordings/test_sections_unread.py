# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy node of which one section was not read, is empty or is garbage: no rule that reads it alone calls it healthy, and none calls the node sick."""

from __future__ import annotations

import demo
import product_nodes
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

PRODUCTS = ("H100 SXM 80 GB", "GB200", "MI300X", "Ascend 910B3")
PREFLIGHT = profiles.find("preflight")
HOW = {
    "not answered": lambda envelope: dict(envelope, status="timeout", reason="no answer in time", data={}),
    "denied": lambda envelope: dict(envelope, status="failed", reason="denied", data={}),
    "empty": lambda envelope: dict(envelope, data={}),
    "garbage": lambda envelope: dict(envelope, data={key: value if key == "timestamp" else [["x"], 7] for key, value in envelope["data"].items()}),
    "words": lambda envelope: dict(envelope, data={key: value if key == "timestamp" else ["x"] for key, value in envelope["data"].items()}),
}


def judge(envelopes):
    return engine.judge("n", envelopes, policy.parse({}), PREFLIGHT)


def faults(judged):
    return {(one["rule"], one["level"]) for one in judged.findings if one["level"] != "info"}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_section_that_was_not_read_is_neither_healthy_nor_sick(product, how):
    _judged, sections = product_nodes.judged(product_nodes.recording(product))
    whole = {name: demo.envelope(data) for name, data in sections.items()}
    assert not faults(judge(whole))
    for name in sections:
        judged = judge(dict(whole, **{name: HOW[how](whole[name])}))
        read = {name, "accelerators"} if name.startswith("accelerators.") else {name}
        assert [rule for rule, counts in judged.counts.items() if counts[0] and set(RULES[rule].reads) and set(RULES[rule].reads) <= read] == [], name
        assert faults(judged) == set(), name
        if name.startswith("accelerators."):
            assert any(judged.counts[rule][2] for rule in PREFLIGHT.required)
