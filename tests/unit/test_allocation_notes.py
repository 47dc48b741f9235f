# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said where there are no rows, what garbage is made of, and the outcomes that rows become."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from allocation_samples import OK, accelerator, files, node, run
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.rows import row
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.collect import of_section
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

GARBAGE = [None, True, 0, -1, 1.5, "", "text", "\x00\ud800", [], {}, [[]], {"unknown": "x"}, {"not_applicable": "x"}, {"value": 3}, 10**30]


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_notes(manufacturer):
    def note(found):
        made = section.collect(node({}), manufacturer, found)
        assert made["checks"] == [] and made["grants"] == {}
        return made["note"]

    assert note({"detection": OK, "devices": []}) == "none of this manufacturer was detected"
    assert "detection is unavailable" in note({"detection": {"state": "unavailable", "reason": "the tool hung"}, "devices": [accelerator(manufacturer)]})
    assert "the tool hung" in note({"detection": {"state": "unavailable", "reason": "the tool hung"}, "devices": []})
    assert note(None) == note({}) == "its accelerators could not be read, so nothing was asked of them"


def test_a_manufacturer_nobody_preflights():
    assert section.collect(node({}), "toy", {"detection": OK, "devices": [{}]})["note"] == "nothing is checked ahead of an allocation for this manufacturer"


def test_no_capability_at_all():
    found = run("mthreads", [accelerator("mthreads", extra={"virtual_function": True})])
    assert found["checks"] == [] and "asks no driver" in found["note"]


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_garbage_becomes_no_grant(manufacturer):
    keys = ["id", "index", "kind", "parent", "identity", "memory_mib", "partition", "device_nodes", "extra"]
    host = node(files(manufacturer))
    for key, value in itertools.product(keys, GARBAGE):
        device = dict(json.loads(json.dumps(accelerator(manufacturer))), **{key: value})
        for devices in ([device], [device, device]):
            made = section.collect(host, manufacturer, {"detection": OK, "devices": devices, "driver": {}})
            assert all(one["depth"] in ("declared", "simulated") and (one["reason"] == "") == (one["state"] == "ok") for one in made["checks"])
    for value in GARBAGE:
        section.collect(host, manufacturer, {"detection": value, "devices": [{}, value, accelerator(manufacturer)], "driver": value})
        bare = {"kind": "package", "identity": {"uuid": value, "pci": value}}
        section.collect(host, manufacturer, {"detection": OK, "devices": [bare], "driver": {"runtime_version": value}})
        assert isinstance(of_section({"devices": value}), dict)


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_nothing_says_measured(manufacturer):
    found = run(manufacturer)
    assert not [one for one in found["checks"] if one["depth"] == "measured" or one["evidence"]]


def test_the_section_has_the_name_of_its_manufacturer():
    assert MODULES["allocation_info"].names({"manufacturer": "metax"}) == ("allocation.metax", "paths.metax")
    assert list(MODULES["allocation_info"].collect(node({}), {"manufacturer": "metax"})) == ["allocation.metax", "paths.metax"]


# -- outcomes ---------------------------------------------------------------------------------------------------------


def outcomes(rule, sections, modes=()):
    devices = [accelerator("ascend", n) for n in (0, 1)]
    told = {"accelerators.ascend": {"manufacturer": "ascend", "detection": dict(OK, accelerators=2), "devices": devices, "checks": []}}
    envelopes = {name: {"status": "read", "data": data} if "status" not in data else data for name, data in dict(told, **sections).items()}
    engine.default_policy()
    view = NodeView("n", envelopes, policy.parse({"accelerator_modes": list(modes)}))
    found = engine.outcomes(RULES[rule], view, view.policy.params(rule))
    return [(subject[1], outcome.outcome, outcome.level) for subject, outcome in found], [outcome for _subject, outcome in found]


@pytest.mark.parametrize(
    ("state", "modes", "outcome", "level"),
    [
        ("ok", (), "passed", None),
        ("unavailable", (), "found", "info"),
        ("unavailable", ("sliced",), "found", "fail"),
        ("not-declared", ("sliced",), "not_applicable", None),
    ],
)
def test_states(state, modes, outcome, level):
    made = row("DIE", "container-share", "sliced", state, reason="because")
    assert outcomes("row-container-share", {"allocation.ascend": {"checks": [made]}}, modes)[0] == [("DIE", outcome, level)]


def test_a_step_that_was_not_taken_is_not_run_until_it_was():
    off = row("DIE", "container-share", "sliced", "ok", detail="off and left off", command="npu-smi set")
    taken = row("DIE", "container-share", "sliced", "ok", detail="put back", command="npu-smi set", evidence="Status : OK")
    sections = {"allocation.ascend": {"checks": [off]}}
    assert outcomes("row-container-share", sections)[0] == [("DIE", "not_run", None)]
    assert outcomes("row-container-share", dict(sections, **{"slicing.ascend": {"checks": [taken]}}))[0] == [("DIE", "passed", None)]


def test_a_mode_left_on_is_a_fail_in_any_mode():
    left = row(
        "DIE", "container-share", "sliced", "unavailable", detail="the card is left ON", reason="error -8005", command="npu-smi set -d 0", evidence="said"
    )
    told, (outcome,) = outcomes("row-container-share", {"slicing.ascend": {"checks": [left]}})
    assert told == [("DIE", "found", "fail")]
    assert "left ON" in outcome.summary and "npu-smi set -d 0" in outcome.remedy


@pytest.mark.parametrize(("status", "outcome"), [("failed", "found"), ("timeout", "found"), ("unreachable", "not_applicable"), ("no_python", "not_applicable")])
def test_a_module_that_crashed_leaves_its_accelerators_unanswered(status, outcome):
    told, found = outcomes("row-preflight-panicked", {"allocation.ascend": {"status": status, "reason": "signal 11", "data": {}}})
    if outcome == "found":
        assert told == [("ascend:0", "found", "info"), ("ascend:1", "found", "info")] and "signal 11" in found[0].summary
    else:
        assert [one[1] for one in told] == [outcome]


@pytest.mark.parametrize("value", GARBAGE)
def test_rows_of_garbage_raise_nothing(value):
    sections = {"allocation.ascend": {"checks": [value, dict.fromkeys(("accelerator", "capability", "mode", "state", "depth", "detail"), value)]}}
    for rule in RULES:
        if rule.startswith("row-") and re.match(r"row-(?!remap)", rule):
            outcomes(rule, sections)
            outcomes(rule, {"allocation.ascend": {"checks": value}})
