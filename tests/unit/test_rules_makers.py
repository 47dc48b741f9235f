# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what only some makers' tools tell: what passes, what is found, what stays unknown and where the question does not arise."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, health_makers, policy, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS, RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

catalogue.load()


def outcomes(rule, cards, manufacturer, **variables):
    sections = {
        "accelerators.%s" % manufacturer: synthetic.section(cards, manufacturer),
        "host": synthetic.host(),
        "pci": synthetic.pci([synthetic.pci_entry(n, manufacturer) for n in range(len(cards))]),
    }
    view = NodeView("n9", synthetic.envelopes(sections), policy.parse(variables))
    told = engine.outcomes(RULES[rule], view, view.policy.params(rule))
    return [(subject[1], o._replace(level=o.level or RULES[rule].level) if o.outcome == "found" else o) for subject, o in told]


def one(rule, manufacturer, changes, **variables):
    told = outcomes(rule, [dict(synthetic.device(0, manufacturer, "Part"), **changes)], manufacturer, **variables)
    assert len(told) == 1, told
    return told[0][1]


def short(outcome):
    return (outcome.outcome, outcome.level)


BAD = {"state": "failed", "detail": "Alarm"}
OK = {"state": "ok", "detail": "OK"}


@pytest.mark.parametrize(
    ("health", "code", "expected"),
    [
        (OK, None, ("passed", None)),
        (BAD, "0x80E3A203", ("found", "fail")),  # restart the NPU
        (BAD, "80E18402", ("found", "fail")),  # separate the NPU
        ({"state": "degraded", "detail": "Warning"}, "80c98008", ("found", "warn")),
        (OK, "81078603", ("found", "info")),  # not handled
        (BAD, "80C98008, 80E18402", ("found", "fail")),
        (BAD, "1234ABCD", ("found", "warn")),  # in no class
        (BAD, None, ("unknown", None)),
        (BAD, "code 7", ("unknown", None)),
        (unknown("npu-smi: hung"), None, ("unknown", None)),
    ],
)
def test_fault_codes(health, code, expected):
    outcome = one("fault-codes", "ascend", {"health": health, "extra": {"error_code": code} if code else {}})
    assert short(outcome) == expected


def test_the_fault_code_says_what_to_do():
    outcome = one("fault-codes", "ascend", {"health": BAD, "extra": {"error_code": "80C98008; 80E18402"}})
    assert outcome.summary == "Fault codes: 80E18402 (separate npu), 80C98008 (restart request)"
    assert outcome.remedy == "Take the NPU out of use and have it replaced."
    assert one("fault-codes", "hygon", {"health": BAD}).outcome == "not_applicable"


def test_a_site_accepts_codes_or_makes_them_a_failure():
    changes = {"health": BAD, "extra": {"error_code": "80E18402"}}
    assert short(one("fault-codes", "ascend", changes, accelerator_policy_fault_codes_ignored="80e18402")) == ("passed", None)
    changes = {"health": BAD, "extra": {"error_code": "81078605"}}
    assert short(one("fault-codes", "ascend", changes, accelerator_policy_fault_codes_fail_codes=["81078605"])) == ("found", "fail")


def test_a_code_of_a_die_is_one_of_its_package():
    package = dict(synthetic.device(0, "ascend", "Ascend910"), health=BAD, extra={})
    die = dict(synthetic.device(0, "ascend", "Ascend910"), id="ascend:0.1", kind="die", parent=package["id"], health=BAD, extra={"error_code": "80E18402"})
    told = outcomes("fault-codes", [package, die], "ascend")
    assert [(subject, short(outcome)) for subject, outcome in told if outcome.outcome == "found"] == [("ascend:0", ("found", "fail"))]


def test_the_list_of_codes_is_whole():
    listed = health_makers.fault_codes()["ascend"]
    assert len(listed) > 300
    assert all(len(code) == 8 and set(code) <= set("0123456789ABCDEF") and level in LEVELS and action for code, (_name, level, action) in listed.items())
    assert listed["40F84E00"][0] == "restart_npu"
    assert listed["81078605"][0] == "sub_health"


@pytest.mark.parametrize(
    ("extra", "firmware", "expected"),
    [
        ({"firmware_range": "[7.5.0,8.9.9]"}, "7.5.0.5.220", ("passed", None)),
        ({"firmware_range": "[7.5.0,8.9.9]"}, "8.9.9.9.1", ("passed", None)),
        ({"firmware_range": "[7.5.0,8.9.9]"}, "7.4.9.5.220", ("found", "warn")),
        ({"firmware_range": "[7.5.0,8.9.9]"}, "9.0.0.1", ("found", "warn")),
        ({"firmware_range": "[7.5.0,8.9.9]"}, "7.10.0", ("passed", None)),  # not compared as text
        ({"firmware_range": "[7.5.0,8.9.9]", "compatibility": "OK"}, "7.7.0", ("passed", None)),
        ({"firmware_range": "[7.5.0,8.9.9]", "compatibility": "NOT OK"}, "7.7.0", ("found", "warn")),
        ({"firmware_range": "any"}, "7.7.0", ("unknown", None)),
        ({"firmware_range": "[7.5.0,8.9.9]"}, "B080", ("unknown", None)),
        ({"firmware_range": "[7.5.0,8.9.9]"}, unknown("not asked"), ("unknown", None)),
        ({"compatibility": "ERROR"}, "7.7.0", ("found", "warn")),  # a driver that names no range, whose tool has compared
        ({"compatibility": "ok"}, "7.7.0", ("passed", None)),
        ({}, "7.7.0", ("not_applicable", None)),
    ],
)
def test_firmware_range(extra, firmware, expected):
    assert short(one("firmware-range", "ascend", {"extra": extra, "firmware": {"npu": firmware}})) == expected


def ports(*ups, total=None):
    said = not_applicable("an inactive port may be unused") if total is None else total
    cards = [synthetic.device(n, "thead", "PPU-ZW810E") for n in range(len(ups))]
    return [dict(card, links={"kind": "icn", "total": said, "up": up, "down": []}) for card, up in zip(cards, ups)]


def test_links_like_siblings():
    rule = "links-like-siblings"
    assert {short(o) for _s, o in outcomes(rule, ports(5, 5, 5, 5), "thead")} == {("passed", None)}
    assert [(s, short(o)) for s, o in outcomes(rule, ports(5, 5, 4, 5), "thead") if o.outcome == "found"] == [("thead:2", ("found", "warn"))]
    assert [o.outcome for _s, o in outcomes(rule, ports(5, 4, 4, 5), "thead") if o.outcome == "found"] == []  # two designs, or nobody knows
    assert {o.outcome for _s, o in outcomes(rule, ports(5, 4), "thead")} == {"not_applicable"}
    assert {o.outcome for _s, o in outcomes(rule, ports(5, 4, 5, total=5), "thead")} == {"passed"}  # what is down has a rule of its own
    fewer = ports(5, 5, 5, total=5)
    fewer[1]["links"].update(total=3, up=3)
    assert [(s, short(o)) for s, o in outcomes(rule, fewer, "thead")] == [("thead:1", ("found", "warn"))]
    assert {o.outcome for _s, o in outcomes(rule, ports(5, 5, unknown("icn -s: hung")), "thead")} == {"unknown"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ({}, ("passed", None)),
        ({"aer_ce": 9}, ("passed", None)),
        ({"dbe": 1}, ("found", "warn")),
        ({"aer_ue": 2, "aer_ce": 9}, ("found", "warn")),
        ("none", ("unknown", None)),
        (unknown("mx-smi -j: timeout"), ("unknown", None)),
        (None, ("not_applicable", None)),
    ],
)
def test_device_events(events, expected):
    assert short(one("device-events", "metax", {"extra": {"pci_events": events}})) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, ("passed", None)), (3, ("found", "warn")), (unknown("not printed"), ("unknown", None)), (True, ("unknown", None)), (None, ("not_applicable", None))],
)
def test_thermal_slowdowns(count, expected):
    assert short(one("thermal-slowdowns", "mthreads", {"extra": {"thermal_slowdowns": count}})) == expected


@pytest.mark.parametrize(
    ("manufacturer", "name", "memory"),
    [
        ("ascend", "910B3", 65536), ("ascend", "910B4", 32768), ("ascend", "310P3", 21525), ("cambricon", "MLU370-X8", 20638), ("hygon", "K100_AI", 65520),
        ("iluvatar", "Iluvatar MR-V100 DUO", 32768), ("iluvatar", "Iluvatar BI-V100", 32768), ("metax", "MetaX C500", 65536), ("metax", "Mars X201", 65536),
        ("mthreads", "MTT S4000", 49152), ("mthreads", "MTT S5000", 81920), ("thead", "PPU-ZW810E", 98304), ("gaudi", "HL-225C", 98304),
        ("kunlunxin", "P800 OAM", 98304), ("enflame", "Enflame S60", 42976),
    ],
)  # fmt: skip
def test_products(manufacturer, name, memory):
    assert products.find(manufacturer, name).facts["memory_mib"] == memory


@pytest.mark.parametrize(("manufacturer", "name"), [("ascend", "910B"), ("ascend", "910A"), ("ascend", "Ascend910"), ("iluvatar", "MR-V50")])
def test_what_is_no_product_of_the_catalog(manufacturer, name):
    assert products.find(manufacturer, name) is None
