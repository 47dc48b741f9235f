# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a node says: no rule raises, every rule answers, and a fault that was found is never passed because of garbage."""

from __future__ import annotations

import copy
import json

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import acceptance_record
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, OUTCOMES, RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROFILE = profiles.find("preflight")
RULES_ON = policy.parse({"accelerator_expected_count": 8, "accelerator_expected_model": "*H100*", "accelerator_policy_ecc_uncorrected_aggregate": 0})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "N/A", "ok", "lost", "\ud800", "\x1b[31m", "\u202e", -1, 10**400, 1e308, float("nan"), float("inf")]),
)
GARBAGE = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from(["unknown", "not_applicable", "state", "value", "x"]), SCALARS, max_size=2),
)


def paths(value, path=()):
    """Every place of a document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def replaced(document, path, value, drop):
    """document with the value at path replaced or dropped; a path that an earlier change took away changes nothing."""
    document = copy.deepcopy(document)
    place = document
    try:
        for key in path[:-1]:
            place = place[key]
        if drop:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    except (KeyError, IndexError, TypeError):
        pass
    return document


def faulty():
    sections = synthetic.healthy(
        4,
        events=[
            {
                "template": "NVRM: Xid (PCI:<pci>): <n>",
                "count": 2,
                "first": "2026-03-01T07:00:00Z",
                "last": "2026-03-01T07:30:00Z",
                "priority": 3,
                "sample": "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.",
                "addresses": ["0000:18:00.0"],
                "codes": ["79"],
            }
        ],
    )
    devices = sections["accelerators.nvidia"]["devices"]
    devices[0]["row_remap"]["pending"] = True
    devices[1]["pcie"]["width_current"] = sections["pci"]["devices"][1]["pcie"]["width_current"] = 8
    devices[2]["ecc"]["uncorrected_volatile"] = 4
    sections["accelerators.nvidia"]["checks"] = [
        {"accelerator": "nvidia:0", "capability": "mig-partitioning", "mode": "partitioned", "state": "unavailable", "depth": "declared", "reason": "x"}
    ]
    return synthetic.envelopes(sections)


FAULTY = faulty()
PLACES = sorted(paths(FAULTY), key=str)
FOUND = {"row-remap-pending", "pcie-width", "ecc-uncorrected"}


def ask(sections):
    view = NodeView("n1", sections, RULES_ON)
    judged = engine.judge_view(view, PROFILE)
    cohorts.nature(view)
    acceptance_record.facts(view)
    acceptance_record.body(view, {"run_id": "r1"})
    return judged


def answered(judged):
    for name in PROFILE.asked:
        if RULES[name].scope in COMPARED:
            assert judged.prints[name][0] in ("value", *OUTCOMES)
        else:
            assert sum(judged.counts[name]) >= 1, name
    json.dumps(judged.findings, allow_nan=False).encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), GARBAGE, st.booleans()), min_size=1, max_size=4))
def test_garbage_in_a_report(changes):
    sections = FAULTY
    for path, value, drop in changes:
        sections = replaced(sections, path, value, drop)
    answered(ask(sections))


@pytest.mark.parametrize("value", [None, "N/A", "", "ERR!", [], {}, {"unknown": "x"}, {"not_applicable": 7}, float("nan"), 10**400, True, "\ud800"])
def test_each_fact_of_the_first_device_lost_in_turn(value):
    devices = FAULTY["accelerators.nvidia"]["data"]["devices"]
    for path in paths(devices[0]):
        answered(ask(replaced(FAULTY, ("accelerators.nvidia", "data", "devices", 0, *path), value, False)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES), st.sampled_from(["drop", "unknown"]))
def test_a_found_fault_becomes_unknown_never_passed_when_facts_go_missing(path, how):
    sections = replaced(FAULTY, path, {"unknown": "garbled"}, how == "drop")
    judged = ask(sections)
    rules = {f["rule"] for f in judged.findings}
    for name in FOUND - rules:
        passed, _found, unknown, _na, _not_run = judged.counts[name]
        assert unknown or passed < 4, (name, path)


def test_whole_sections_of_garbage():
    for value in (
        None,
        [],
        "x",
        7,
        {"data": None},
        {"status": "read"},
        {"status": "read", "data": []},
        {"status": ["read"], "data": {}},
        {"status": {}, "reason": {}},
    ):
        for name in FAULTY:
            answered(ask(dict(FAULTY, **{name: value})))
        answered(ask(dict.fromkeys(FAULTY, value)))
    answered(ask({"accelerators.": synthetic.envelope("n1", "x", {}), "accelerators.x.y": synthetic.envelope("n1", "x", {"devices": [{}, 1]})}))


def test_text_of_a_node_cannot_hide_or_reorder():
    sections = copy.deepcopy(FAULTY)
    sections["accelerators.nvidia"]["data"]["devices"][0]["name"] = "evil\u202e\x1b]0;\n\ud83d name"
    view = NodeView("n1", sections, RULES_ON)
    assert view.packages[0].name.isprintable()
    text, devices = acceptance_record.body(view, {})
    assert all(line.isprintable() for line in text.split("\n")) and devices[0]["name"].isprintable()
