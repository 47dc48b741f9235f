# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine under two names of a run is found on both, whatever their cohorts; equal boards and chassis are none."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import identities
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

RULE = "unique-accelerators"


def node(name, count=8):
    return synthetic.healthy(count, serial=name)


def devices(sections):
    return sections["accelerators.nvidia"]["devices"]


def without_uuids(sections):
    for device in devices(sections):
        device["identity"]["uuid"] = {"value": unknown("NVML: not told"), "quality": "unread"}
    return sections


def without_serials(sections):
    for device in devices(sections):
        device["identity"]["serial"] = {"value": not_applicable("N/A"), "quality": "absent"}
    return sections


def folded(tmp_path, nodes, policies=None, **more):
    """(the fleet, the rule's findings by node, its outcome by node)."""
    path = synthetic.write_run(tmp_path, {name: synthetic.envelopes(sections) for name, sections in nodes.items()}, policies)
    fleet = fold.fold(path, **more)
    findings = {f["node"]: f for f in fleet["findings"] if f["rule"] == RULE}
    return fleet, findings, {entry["node"]: entry["rules"][RULE]["outcome"] for entry in fleet["verdicts"]}


@pytest.mark.parametrize("processes", [1, 2])
def test_one_machine_under_two_names_is_rejected_under_both(tmp_path, processes):
    twice = {name: node("S7") for name in ("gpu-b", "gpu-d")}
    policies = {"gpu-b": {"accelerator_cohort": "one"}, "gpu-d": {"accelerator_cohort": "other"}}
    fleet, findings, outcomes = folded(tmp_path, {"gpu-a": node("S1"), "gpu-c": node("S2"), **twice}, policies, processes=processes)
    assert fleet["accepted"] == ["gpu-a", "gpu-c"] and fleet["rejected"] == ["gpu-b", "gpu-d"]
    assert outcomes == {"gpu-a": "passed", "gpu-b": "found", "gpu-c": "passed", "gpu-d": "found"}
    for name, other in (("gpu-b", "gpu-d"), ("gpu-d", "gpu-b")):
        one = findings[name]
        assert one["summary"] == "8 of its 8 accelerators are also on %s (nvidia:0, UUID %s)" % (other, synthetic.uuid_of(0, "S7"))
        assert one["observed"] == other and one["level"] == "fail" and one["subject"] == {"node": name, "kind": "node", "id": name}
        assert [row["accelerator"] for row in one["evidence"]] == ["nvidia:%d" % i for i in range(8)]


def test_one_card_on_two_nodes(tmp_path):
    nodes = {"a": node("S1"), "b": node("S2")}
    devices(nodes["b"])[5]["identity"] = dict(devices(nodes["a"])[2]["identity"], pci=devices(nodes["b"])[5]["identity"]["pci"])
    _fleet, findings, _outcomes = folded(tmp_path, nodes)
    assert findings["a"]["evidence"] == [{"accelerator": "nvidia:2", "uuid": synthetic.uuid_of(2, "S1")}]
    assert findings["b"]["summary"].startswith("1 of its 8 accelerators are also on a (nvidia:5, UUID ")


@pytest.mark.parametrize("changes", [(without_uuids, without_uuids), (without_uuids, dict)], ids=["neither", "one"])
def test_by_serial_where_no_uuid_says_otherwise(tmp_path, changes):
    nodes = {name: change(node("S7")) for name, change in zip("ab", changes, strict=True)}
    nodes["b"]["host"] = synthetic.host("S8")
    _fleet, findings, _outcomes = folded(tmp_path, nodes)
    assert findings["a"]["summary"] == "8 of its 8 accelerators are also on b (nvidia:0, serial S7-0)" and findings["b"]["observed"] == "a"


def test_by_system_serial_and_the_same_accelerators_on_pci(tmp_path):
    nodes = {name: without_serials(without_uuids(node("S7"))) for name in "abc"}
    nodes["c"]["pci"]["devices"].pop()
    nodes["d"] = without_serials(without_uuids(node("S8")))
    _fleet, findings, outcomes = folded(tmp_path, nodes)
    assert outcomes == {"a": "found", "b": "found", "c": "passed", "d": "passed"}
    assert findings["a"]["summary"] == "The system serial S7 and the accelerators on PCI are also those of b" and findings["a"]["evidence"] is None


def test_boards_and_chassis_that_share_a_serial_are_no_fault(tmp_path):
    """GPUs of one board handed to two guests; sleds of one chassis; two GPUs of a GB200 board in one node."""
    nodes = {name: node(name) for name in ("S1", "S2")}
    for number, sections in enumerate(nodes.values()):
        sections["host"] = synthetic.host("CHASSIS7")
        devices(sections)[0]["identity"]["serial"]["value"] = "1320021029884"
        for first in (2, 4):
            devices(sections)[first + 1]["identity"]["serial"] = devices(sections)[first]["identity"]["serial"] = {
                "value": "165023004%d%d" % (number, first),
                "quality": "good",
            }
        accelerators.mark_duplicates(devices(sections))
    fleet, _findings, outcomes = folded(tmp_path, nodes)
    assert set(outcomes.values()) == {"passed"} and fleet["counts"]["accepted"] == 2


@pytest.mark.parametrize("text", ["0000000000000", "N/A", "Default string", "", "00000000-0000-0000-0000-000000000000"])
def test_placeholders_are_no_identity(tmp_path, text):
    nodes = {name: node("S7") for name in "ab"}
    for sections in nodes.values():
        sections["host"]["system"]["serial"] = unknown("placeholder")
        for device in devices(sections):
            device["identity"] = accelerators.identity(uuid=text, serial=text, pci=device["identity"]["pci"]["value"])
    fleet, findings, outcomes = folded(tmp_path, nodes)
    assert findings == {} and set(outcomes.values()) == {"unknown"}
    assert fleet["counts"]["accepted"] == 2, "the rule is optional"
    assert {row["reason"] for row in fleet["coverage"] if row["rule"] == RULE} == {"no UUID, no serial and no system serial was read"}


def test_who_has_no_accelerator_or_no_neighbor(tmp_path):
    nothing = node("S1", 0)
    nodes = {"a": nothing, "b": nothing, "c": node("S2"), "d": node("S3")}
    _fleet, findings, outcomes = folded(tmp_path / "1", nodes, {"a": {"accelerator_expected_count": 0}})
    assert findings == {} and outcomes == {"a": "not_applicable", "b": "not_applicable", "c": "passed", "d": "passed"}
    assert folded(tmp_path / "2", {"a": node("S1")})[2] == {"a": "not_applicable"}
    path = synthetic.write_run(tmp_path / "3", {"a": synthetic.envelopes(node("S1")), "b": synthetic.unread("b")})
    assert {entry["node"]: entry["rules"][RULE]["outcome"] for entry in fold.fold(path)["verdicts"]} == {"a": "unknown", "b": "unknown"}


def test_a_site_turns_it_off_or_down(tmp_path):
    nodes = {name: node("S7") for name in "abc"}
    policies = {"a": {"accelerator_policy_unique_accelerators_enabled": False}, "b": {"accelerator_policy_unique_accelerators_level": "warn"}}
    fleet, findings, outcomes = folded(tmp_path, nodes, policies)
    assert outcomes["a"] == "not_applicable" and findings["b"]["level"] == "warn" and findings["c"]["observed"] == "b"
    assert fleet["rejected"] == ["c"] and fleet["accepted_with_warnings"] == ["b"]


class Name(str):
    """Counts how often names are compared."""

    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other):
        Name.compared += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


def test_many_copies_take_linear_work_and_name_a_few():
    """All pairs of 2,000 copies would be 2,000,000 comparisons for each identifier."""
    number, cards = 2000, 8
    told = b"".join(b"\0" + identities.digest("uuid", synthetic.uuid_of(i)) for i in range(cards))
    names = [Name("n%04d" % i) for i in range(number)]
    shown = [{"id": "nvidia:%d" % i, "uuid": synthetic.uuid_of(i), "serial": "unknown: x"} for i in range(cards)]
    outcomes = identities.compare(RULES[RULE], dict.fromkeys(names, ("value", told)), {name: {} for name in names}, dict.fromkeys(names, shown))
    assert Name.compared <= number * cards * 2 * (identities.SHOWN + 1)
    assert {outcome.outcome for _name, outcome in outcomes} == {"found"}
    observed = [outcome.observed for _name, outcome in outcomes]
    assert observed[0] == "n0001, n0002, n0003, n0004, n0005, n0006 and 1993 more"
    assert observed[-1] == "n0000, n0001, n0002, n0003, n0004, n0005 and 1993 more"
