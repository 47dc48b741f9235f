# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of accelerators out of their section alone, as a user of one role has it."""

from __future__ import annotations

import json

import demo
import nine
import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.fleetproof.accelerator.plugins.filter.device_health import FilterModule
from health_nodes import node

device_health = FilterModule().filters()["device_health"]


def given(**changes):
    return {name: data for name, data in node(3, **changes).items() if name.startswith("accelerators.")}


def test_healthy_cards():
    told = device_health(given())
    assert told["state"] == "ok" and [(d["id"], d["state"], d["findings"]) for d in told["devices"]] == [("nvidia:%d" % n, "ok", []) for n in range(3)]
    assert told["findings"] == told["unknown"] == []
    json.dumps(told)


@pytest.mark.parametrize("name", sorted(nine.PARTS))
def test_the_recorded_cards_of_every_manufacturer_are_not_sick(name):
    sections = {key: data for key, data in demo.read(nine.recording(nine.PARTS[name]())).items() if key.startswith("accelerators.")}
    told = device_health(sections)
    found = {one["rule"] for device in told["devices"] for one in device["findings"] if one["level"] != "info"}
    # the card of T-Head was recorded with its power capped at 390 of 400 W
    assert told["devices"] and found == ({"power-limit"} if name == "thead" else set())
    assert told["state"] == ("warn" if found else "ok") and not [one for one in told["findings"] if one["level"] != "info"]


def test_a_sick_card_is_named_with_what_to_do():
    told = device_health(given(first={"row_remap": {"pending": True}, "recovery_action": "reset"}))
    assert (told["state"], [device["state"] for device in told["devices"]]) == ("fail", ["fail", "ok", "ok"])
    findings = {one["rule"]: one for one in told["devices"][0]["findings"]}
    assert findings["row-remap-pending"]["remedy"].startswith("Drain the node") and findings["row-remap-pending"]["caused_by"] == []
    assert findings["recovery-action"]["caused_by"] == ["row-remap-pending"]


def test_what_is_of_no_single_card_stands_apart():
    section = given()
    section["accelerators.nvidia"]["driver"]["library_version"] = "570.1"
    told = device_health(section)
    assert (told["state"], [one["rule"] for one in told["findings"]]) == ("fail", ["driver-library-match"])


def test_cards_that_could_not_be_read_are_not_healthy():
    section = given()
    section["accelerators.nvidia"].update(devices=[], detection={"state": "unavailable", "reason": "nvidia-smi: no answer within 60 s", "accelerators": 0})
    told = device_health(section)
    assert (told["state"], told["devices"]) == ("unknown", [])
    assert {one["reason"] for one in told["unknown"]} == {"nvidia-smi: no answer within 60 s"}
    assert device_health({})["state"] == "unknown"


def test_a_node_without_an_accelerator_is_none_and_not_healthy():
    section = given()
    section["accelerators.nvidia"].update(devices=[], detection={"state": "not-declared", "reason": "none found on PCI", "accelerators": 0})
    told = device_health(section)
    assert (told["state"], told["devices"], told["unknown"]) == ("none", [], [])


def test_a_site_has_its_own_thresholds_and_misspells_none():
    warm = given(first={"temperature_c": {"core": 79, "margin_core": 8}})
    assert device_health(warm, {"accelerator_policy_temperature_outlier_enabled": False})["state"] == "ok"
    policy = {"accelerator_policy_temperature_margin_margin": 10, "accelerator_policy_temperature_outlier_enabled": False}
    assert device_health(warm, policy)["state"] == "warn"
    with pytest.raises(AnsibleFilterError, match="accelerator_policy_temperature_margin_margin"):
        device_health(warm, {"accelerator_policy_temperature_margin_margn": 10})
    with pytest.raises(AnsibleFilterError, match="allowed: a dictionary"):
        device_health([])
