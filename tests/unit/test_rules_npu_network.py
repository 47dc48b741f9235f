# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about accelerators with network ports of their own, and about HCCS: what passes, is found, stays unknown, and does not arise."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import addresses
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES, NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

catalogue.load()
UNREAD, NONE = unknown("hccn_tool: timeout"), not_applicable("sets none")
MODULE = {
    "present": True, "temperature_c": 41, "temperature_low_c": 0, "temperature_high_c": 70,
    "supply_mv": 3290.0, "supply_low_mv": 3135.0, "supply_high_mv": 3465.0,
    "tx_mw": [1.2, 1.1], "rx_mw": [0.9, 0.8], "tx_low_mw": 0.28, "tx_high_mw": 3.54, "rx_low_mw": 0.14, "rx_high_mw": 3.54,
    "tx_los": 0, "rx_los": 0, "tx_lol": 0, "rx_lol": 0,
}  # fmt: skip
HCCS = {"health": "OK", "links": 7, "lanes": ["1111"] * 7, "first_error_lane": NONE}


def port(number, **changes):
    made = {"number": number, "link": "up", "health": "success", "tls": False, "address": "10.44.6.%d" % (21 + number), "netmask": "255.255.254.0"}
    made.update(gateway=NONE, detect_address="10.44.6.1")
    return dict(made, **changes)


def node(ports, extra=None, **more):
    """A node of NPUs. ports: of each a list, a fact in its place, or None where they were not asked for."""
    cards = []
    for number, told in enumerate(ports):
        card = synthetic.device(number, "ascend", "910B3", extra=dict({"family": "910B"}, **(extra or {}).get(number, {})), **more)
        if told is not None:
            card["network_ports"] = told
        cards.append(card)
    return {
        "accelerators.ascend": synthetic.section(cards, "ascend"),
        "host": synthetic.host(),
        "pci": synthetic.pci([synthetic.pci_entry(n, "ascend") for n in range(len(cards))]),
    }


def ask(rule, sections, **variables):
    """[outcome of each subject], a level where it was found."""
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse(variables))
    try:
        told = engine.outcomes(RULES[rule], view, view.policy.params(rule))
    except NoAnswer as no:
        return [no.outcome]
    return [(o.level or RULES[rule].level) if o.outcome == "found" else o.outcome for _subject, o in told]


def pair(**changes):
    """Two NPUs, the second with changes of its port."""
    return node([[port(0)], [port(1, **changes)]])


AWAY = dict.fromkeys(("address", "netmask"), NONE)
NOT_ASKED = dict(AWAY, link=NONE, health=NONE, tls=NONE)


@pytest.mark.parametrize(
    ("rule", "passed", "found", "unread", "none"),
    [
        ("npu-port-link", {}, {"link": "down"}, {"link": UNREAD}, dict(AWAY, link="down")),
        ("npu-port-health", {}, {"health": "receive timeout"}, {"health": UNREAD}, dict(AWAY, health="init")),
        ("npu-port-fec", {"fec": "rs"}, {"fec": "none"}, {"fec": UNREAD}, {}),
        ("npu-port-errors", {"counters": {"roce_tx_err_pkt_num": 0, "mac_tx_pfc_num": 7}}, {"counters": {"mac_rx_bad_pkt_num": 3}}, {"counters": UNREAD}, {}),
        ("npu-port-module", {"module": MODULE}, {"module": dict(MODULE, present=False)}, {"module": UNREAD}, {}),
    ],
)  # fmt: skip
def test_four_answers_of_a_port(rule, passed, found, unread, none):
    said = [ask(rule, pair(**changes))[1] for changes in (passed, found, unread, none)]
    assert said == ["passed", RULES[rule].level, "unknown", "not_applicable"]
    for given, outcome in ((UNREAD, "unknown"), (NONE, "not_applicable"), (None, "not_applicable")):
        assert ask(rule, node([given])) == [outcome]


def test_a_network_that_the_site_asks_for():
    alone = node([[port(0, **NOT_ASKED)]])
    assert ask("npu-port-address", alone) == ask("npu-port-link", alone) == ["not_applicable"]
    assert ask("npu-port-address", alone, accelerator_policy_npu_port_address_required=True) == ["fail"]
    down = node([[port(0, **dict(AWAY, link="down"))]])
    assert ask("npu-port-link", down, accelerator_policy_npu_port_link_required=True) == ["fail"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "passed"),
        (AWAY, "fail"),
        ({"address_used": NONE}, "fail"),
        ({"address_used": "10.44.6.22", "netmask_used": "255.255.0.0"}, "warn"),
        ({"address_used": "10.44.9.9"}, "warn"),
        ({"address": UNREAD}, "unknown"),
    ],
)
def test_the_address_of_a_port(changes, expected):
    assert ask("npu-port-address", pair(**changes)) == ["passed", expected]


@pytest.mark.parametrize(
    ("pod", "other", "required", "expected"),
    [
        ({"super_pod_id": 3}, "down", False, "warn"),  # nothing is plugged in
        ({"super_pod_id": 3}, "up", False, "fail"),
        ({"super_pod_id": 3}, UNREAD, False, "fail"),
        ({"super_pod_id": 3}, "down", True, "fail"),
        ({"super_pod_id": UNREAD}, "down", False, "fail"),
        (None, "down", False, "fail"),
    ],
)
def test_ports_of_a_super_pod_without_cables(pod, other, required, expected):
    extra = {n: {"super_pod": pod} for n in (0, 1)} if pod else {}
    sections = node([[port(0, link=other, health="fault")], [port(1, link="down", health="fault")]], extra=extra)
    assert ask("npu-port-link", sections, accelerator_policy_npu_port_link_required=required)[1] == expected
    if not required:
        assert ask("npu-port-health", sections)[1] == expected


@pytest.mark.parametrize(("said", "expected"), [("init", "unknown"), ("detect ip set", "unknown"), ("fault", "fail"), ("a new word", "fail")])
def test_a_check_that_has_not_run_is_no_failure(said, expected):
    assert ask("npu-port-health", pair(health=said))[1] == expected


def test_two_ports_with_one_address():
    assert ask("npu-port-duplicate", pair()) == ["passed"]
    assert ask("npu-port-duplicate", pair(address="10.44.6.21")) == ["fail", "fail"]
    assert ask("npu-port-duplicate", pair(address="10.44.6.21", address_used="10.44.6.22")) == ["passed"], "what it uses counts"
    assert ask("npu-port-duplicate", pair(address=UNREAD)) == ["unknown"]
    assert ask("npu-port-duplicate", node([[port(0, **NOT_ASKED)]])) == ["not_applicable"]
    assert ask("npu-port-duplicate", node([None])) == ["not_applicable"]


GATEWAY = {"gateway": "10.44.7.254"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (GATEWAY, GATEWAY, ["passed"]),
        ({}, {}, ["not_applicable"]),
        (GATEWAY, {}, ["warn"]),
        (GATEWAY, {"gateway": "10.44.9.1"}, ["warn"]),
        (GATEWAY, {"gateway": UNREAD}, ["unknown"]),
        (GATEWAY, {"gateway": "10.44.7.254", "netmask": "no mask"}, ["unknown"]),
        (GATEWAY, AWAY, ["passed"]),
    ],
)
def test_gateways(first, second, expected):
    assert ask("npu-port-gateway", node([[port(0, **first)], [port(1, **second)]])) == expected


@pytest.mark.parametrize(("gateway", "expected"), [("fd44:6::1", ["passed"]), ("fe80::1", ["passed"]), ("fd44:7::1", ["warn", "warn"])])
def test_gateways_of_ipv6(gateway, expected):
    ports = [[port(n, address="fd44:6::%d" % (31 + n), netmask="64", gateway=gateway)] for n in (0, 1)]
    assert ask("npu-port-gateway", node(ports)) == expected


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ((False, False, False), ["passed"]),
        ((True, True, True), ["passed"]),
        ((False, True, False), ["fail"]),
        ((False, UNREAD, False), ["unknown"]),
        ((False, UNREAD, True), ["fail"]),
        ((NONE, NONE, NONE), ["not_applicable"]),
    ],
)
def test_tls_within_a_node(switches, expected):
    assert ask("npu-port-tls", node([[port(n, tls=tls)] for n, tls in enumerate(switches)])) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"tx_mw": [1.2, 4.4]}, {"rx_mw": [0.01, 0.8]}, {"rx_los": 255}, {"tx_lol": 1}, {"temperature_c": 71}, {"supply_mv": 3100.0}, {"present": False},
    ],
)  # fmt: skip
def test_a_transceiver_out_of_its_own_limits(changes):
    assert ask("npu-port-module", pair(module=dict(MODULE, **changes)))[1] == "fail"


def test_a_transceiver_that_tells_little():
    few = {"present": True, "tx_mw": [UNREAD], "rx_mw": [], "rx_los": UNREAD}
    assert ask("npu-port-module", pair(module=few))[1] == "passed"
    assert ask("npu-port-module", pair(module=dict(few, present=UNREAD)))[1] == "unknown"
    pod = node([[port(0, module=dict(MODULE, present=False))]], extra={0: {"board_id": "0x31"}})
    assert ask("npu-port-module", pod) == ["not_applicable"]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (HCCS, "passed"),
        (dict(HCCS, health="NOK", first_error_lane="3"), "fail"),
        (dict(HCCS, links=6, lanes=["1111"] * 6 + ["0000"]), "fail"),
        (dict(HCCS, lanes=["1111"] * 6 + ["1100"]), "fail"),
        (dict(HCCS, lanes=["1111"] * 6 + ["0000"]), "fail"),  # a link with its mode and without a lane
        (dict(HCCS, links=5, lanes=UNREAD), "fail"),
        (dict(HCCS, lanes=UNREAD), "unknown"),
        (unknown("npu-smi info -t hccs: timeout"), "unknown"),
        (None, "not_applicable"),
    ],
)
def test_hccs(second, expected):
    sections = node([None, None], extra={0: {"hccs": HCCS}, 1: {"hccs": second} if second else {}})
    assert ask("hccs-health", sections) == ["passed", expected]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (HCCS, dict(HCCS, health="NOK"), "fail"),
        (UNREAD, dict(HCCS, health="NOK"), "fail"),
        (NONE, dict(HCCS, health="NOK"), "fail"),
        (UNREAD, HCCS, "unknown"),
        (NONE, UNREAD, "unknown"),
        (NONE, HCCS, "passed"),
        (NONE, NONE, "not_applicable"),
    ],
)
def test_no_die_hides_what_another_says_of_its_hccs(first, second, expected):
    card = synthetic.device(0, "ascend", "Ascend910", extra={"family": "910C"})
    dies = [
        dict(synthetic.device(n, "ascend", "Ascend910"), id="ascend:0.%d" % n, kind="die", parent="ascend:0", extra={"family": "910C", "hccs": told})
        for n, told in enumerate((first, second))
    ]
    entries = [synthetic.pci_entry(0, "ascend")]
    section = synthetic.section([card, *dies], "ascend", on_bus=entries)
    sections = {"accelerators.ascend": section, "host": synthetic.host(), "pci": synthetic.pci(entries)}
    assert ask("hccs-health", sections) == [expected]


def test_hccs_that_npu_smi_does_not_tell():
    assert ask("hccs-health", node([None], extra={0: {"hccs": not_applicable("not supported")}})) == ["not_applicable"]


def test_a_port_that_is_down_explains_its_failed_check():
    told = engine.judge("n1", synthetic.envelopes(pair(link="down", health="fault")), policy.parse({}), profiles.find("preflight")).findings
    assert {one["rule"]: one["caused_by"] for one in told if one["rule"].startswith("npu")} == {"npu-port-link": [], "npu-port-health": ["npu-port-link"]}


def test_a_module_without_light_explains_the_link():
    told = engine.judge("n1", synthetic.envelopes(pair(link="down", module=dict(MODULE, rx_los=255))), policy.parse({}), profiles.find("preflight")).findings
    assert {one["rule"]: one["caused_by"] for one in told if one["rule"].startswith("npu")} == {"npu-port-module": [], "npu-port-link": ["npu-port-module"]}


def among(tmp_path, nodes):
    """{node: rules of findings about the network} of a run."""
    made = {}
    for name, ports in nodes.items():
        sections = node(ports, power_w=not_applicable("none"))
        for number, card in enumerate(sections["accelerators.ascend"]["devices"]):
            card["identity"]["uuid"]["value"] = "%s-%d-0a1b2c3d" % (name, number)
            card["identity"]["serial"]["value"] = "%s00%d" % (name, number)
        sections["host"]["system"]["serial"] = "SN-%s" % name
        made[name] = synthetic.envelopes(sections, name)
    found = fold.fold(synthetic.write_run(tmp_path, made))["findings"]
    return {name: sorted({f["rule"] for f in found if f["node"] == name and "npu" in f["rule"]}) for name in nodes}


def test_nodes_of_a_cohort_and_of_a_run(tmp_path):
    said = among(
        tmp_path,
        {
            "a": [[port(0)]],
            "b": [[port(0, address="10.44.6.31")]],
            "c": [[port(0, address="10.44.6.41", tls=True)]],
            "d": [[port(0, address="10.44.6.31")]],
            "e": [[port(0, **NOT_ASKED)]],
        },
    )
    assert said == {"a": [], "b": ["npu-ports-unique"], "c": ["cohort-npu-tls"], "d": ["npu-ports-unique"], "e": ["cohort-npu-network"]}


def test_addresses_of_a_run():
    def told(prints):
        return {node: outcome.outcome for node, outcome in addresses.compare(prints)}

    assert told({"a": ("value", "10.1.1.1"), "b": ("value", "10.1.1.2")}) == {"a": "passed", "b": "passed"}
    assert told({"a": ("value", "10.1.1.1\n10.1.1.2"), "b": ("value", "10.1.1.2")}) == {"a": "found", "b": "found"}
    assert told({"a": ("value", "10.1.1.1"), "b": ("unknown", "denied")}) == {"a": "unknown", "b": "unknown"}
    assert told({"a": ("value", "10.1.1.1"), "b": ("not_applicable", "no port")}) == {"a": "passed", "b": "not_applicable"}
    assert told({"a": ("value", "10.1.1.1")}) == {"a": "not_applicable"}
    many = {"n%d" % n: ("value", "10.1.1.1") for n in range(9)}
    assert "and more" in dict(addresses.compare(many))["n0"].summary


GARBAGE = ("N/A", "", 10**400, -1, True, [], [7], {}, {"unknown": 7}, {"not_applicable": ""}, None, "\ud800\n{{ x }}", "10.44.6.22/99")


@pytest.mark.parametrize("junk", GARBAGE, ids=lambda junk: repr(junk)[:20])
def test_no_fact_of_a_port_breaks_a_rule(junk):
    whole = port(
        1, fec="rs", module=MODULE, counters={"roce_rx_err_pkt_num": 0}, address_used="10.44.6.22", netmask_used="255.255.254.0", gateway_used="10.44.7.1"
    )
    rules = [rule for rule in RULES if "npu" in rule or "hccs" in rule]
    places = [{name: junk} for name in whole] + [{"module": dict(MODULE, **{name: junk})} for name in MODULE]
    places += [{"module": dict(MODULE, tx_mw=[1.1, junk])}, {"module": dict(MODULE, rx_mw=[junk])}, {"counters": {"roce_rx_err_pkt_num": junk}}]
    nodes = [node([[port(0)], [dict(whole, **changes)]]) for changes in places] + [node([junk, [junk]])]
    states = [junk, *({**HCCS, name: junk} for name in HCCS), dict(HCCS, lanes=["1111", junk])]
    nodes += [node([[port(0)]] * 2, extra={1: {"hccs": changes}}) for changes in states]
    nodes += [node([[port(0)]] * 2, links=junk), node([[port(0)]] * 2, extra={1: {"family": junk, "board_id": junk}})]
    for sections in nodes:
        view = NodeView("n1", synthetic.envelopes(sections), policy.parse({}))
        for rule in rules:
            if RULES[rule].scope in ("cohort", "fleet"):
                try:
                    assert isinstance(RULES[rule].check(view, view.policy.params(rule)), str)
                except NoAnswer as no:
                    assert no.reason
            else:
                assert engine.outcomes(RULES[rule], view, view.policy.params(rule))
