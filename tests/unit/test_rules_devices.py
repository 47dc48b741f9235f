# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule on a healthy node with one thing changed: exactly the outcome that this change means."""

from __future__ import annotations

import network_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_devices
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

PROFILE = profiles.find("preflight")
FIRST = "nvidia:0"
ALL_INACTIVE = {"total": unknown("all links are inactive"), "up": 0, "down": unknown("all links are inactive")}
NONE = not_applicable("its tool never tells it")


def aside(size, total):
    return lambda sections: sections["settings"]["huge_pages"].update({size: {"total": total, "free": 0}})


def sources(**changes):
    return lambda sections: sections["accelerators.nvidia"]["sources"][0].update(changes)


def judge(sections, **variables):
    return engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), PROFILE)


def ask(rule, sections, **variables):
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse(variables))
    return [(subject[1], outcome.outcome, outcome.level) for subject, outcome in engine.outcomes(RULES[rule], view, view.policy.params(rule))]


def devices(sections):
    return sections["accelerators.nvidia"]["devices"]


def first(**groups):
    """A change of the first device: group -> values merged into it, or a whole fact."""

    def change(sections):
        device = devices(sections)[0]
        for name, value in groups.items():
            if isinstance(value, dict) and isinstance(device[name], dict) and not set(value) & {"unknown", "not_applicable"}:
                device[name].update(value)
            else:
                device[name] = value

    return change


def every(**groups):
    def change(sections):
        for device in devices(sections):
            for name, value in groups.items():
                if isinstance(value, dict) and isinstance(device[name], dict) and not set(value) & {"unknown", "not_applicable"}:
                    device[name] = dict(device[name], **value)
                else:
                    device[name] = value

    return change


def host(**groups):
    def change(sections):
        for name, value in groups.items():
            if isinstance(value, dict) and not set(value) & {"unknown", "not_applicable"}:
                sections["host"][name].update(value)
            else:
                sections["host"][name] = value

    return change


def bus(**changes):
    def change(sections):
        sections["pci"]["devices"][0].update(changes)

    return change


def both(*changes):
    def change(sections):
        for one in changes:
            one(sections)

    return change


# rule, change, variables, outcome of the first device or node, level of the finding
CASES = [
    ("ecc-uncorrected", first(ecc={"uncorrected_volatile": 1}), {}, "found", "fail"),
    ("ecc-uncorrected", first(ecc={"uncorrected_volatile": 2}), {"accelerator_policy_ecc_uncorrected_volatile": "2"}, "passed", None),
    ("ecc-uncorrected", first(ecc={"uncorrected_aggregate": 9}), {}, "passed", None),
    ("ecc-uncorrected", first(ecc={"uncorrected_aggregate": 9}), {"accelerator_policy_ecc_uncorrected_aggregate": 4}, "found", "fail"),
    ("ecc-uncorrected", first(ecc={"uncorrected_volatile": unknown("N")}), {}, "unknown", None),
    ("ecc-uncorrected", first(ecc=not_applicable("no ECC")), {}, "not_applicable", None),
    ("ecc-enabled", first(ecc={"mode": "disabled"}), {}, "found", "warn"),
    ("ecc-enabled", first(ecc={"mode": "pending"}), {}, "unknown", None),
    ("ecc-sram-threshold", first(ecc={"sram_threshold_exceeded": True}), {}, "found", "fail"),
    ("row-remap-pending", first(row_remap={"pending": True}), {}, "found", "fail"),
    ("row-remap-failed", first(row_remap={"failed": True}), {}, "found", "fail"),
    ("row-remap-pending", first(row_remap={"pending": 0}), {}, "unknown", None),
    ("retired-pages", first(retired_pages={"corrected": 30, "uncorrected": 30, "pending": False}), {}, "found", "fail"),
    ("retired-pages", first(retired_pages={"corrected": 30, "uncorrected": 29, "pending": False}), {}, "passed", None),
    (
        "retired-pages",
        first(retired_pages={"corrected": 1, "uncorrected": 0, "pending": False}),
        {"accelerator_policy_retired_pages_warn_from": 1},
        "found",
        "warn",
    ),
    (
        "retired-pages",
        first(retired_pages={"corrected": 0, "uncorrected": 0, "pending": False}),
        {"accelerator_policy_retired_pages_warn_from": 1},
        "passed",
        None,
    ),
    ("retired-pages", first(retired_pages=unknown("x")), {"accelerator_policy_retired_pages_warn_from": 1}, "unknown", None),
    ("retired-pages-pending", first(retired_pages={"corrected": 0, "uncorrected": 1, "pending": True}), {}, "found", "fail"),
    ("device-lost", first(health={"state": "lost", "detail": "GPU is lost"}), {}, "found", "fail"),
    ("device-lost", first(health=unknown("no word for it")), {}, "passed", None),
    (
        "device-lost",
        first(health=unknown("x"), temperature_c=unknown("x"), power_w=unknown("x"), memory_used_mib=unknown("x"), memory_mib=unknown("x")),
        {},
        "unknown",
        None,
    ),
    # a tool that never tells a live value of an idle part: its link answers, or nothing does
    ("device-lost", first(health=NONE, temperature_c=NONE, power_w=NONE, memory_used_mib=NONE, memory_mib=NONE), {}, "passed", None),
    (
        "device-lost",
        first(health=NONE, temperature_c=NONE, power_w=NONE, memory_used_mib=NONE, memory_mib=NONE, pcie={"width_current": unknown("x63")}),
        {},
        "unknown",
        None,
    ),
    ("device-lost", first(health=NONE, temperature_c=unknown("x"), power_w=NONE, memory_used_mib=NONE, memory_mib=NONE), {}, "unknown", None),
    ("device-health", first(health={"state": "degraded", "detail": "alarm 80E01801"}), {}, "found", "warn"),
    ("device-health", first(health={"state": "failed"}), {}, "found", "fail"),
    ("device-health", first(health={"state": "splendid"}), {}, "unknown", None),
    ("recovery-action", first(recovery_action="drain_and_reset"), {}, "found", "fail"),
    ("recovery-action", first(recovery_action=not_applicable("old driver")), {}, "not_applicable", None),
    ("temperature-margin", first(temperature_c={"margin_core": 3}), {}, "found", "warn"),
    ("temperature-margin", first(temperature_c={"margin_core": 0}), {}, "found", "fail"),
    ("temperature-margin", first(temperature_c={"margin_core": unknown("x"), "core": 85}), {}, "found", "warn"),
    ("temperature-margin", first(temperature_c={"margin_core": unknown("x"), "limit_core": unknown("x")}), {}, "unknown", None),
    (
        "temperature-margin",
        first(temperature_c={"margin_core": unknown("x"), "limit_core": unknown("x")}),
        {"accelerator_policy_temperature_margin_limit": 85},
        "passed",
        None,
    ),
    ("temperature-margin", first(temperature_c={"memory": 94}), {}, "found", "warn"),
    ("power-limit", first(power_w={"limit": 500}), {}, "found", "warn"),
    ("power-limit", first(power_w={"limit": 500}), {"accelerator_policy_power_limit_lowest": 500}, "passed", None),
    ("persistence", first(persistence=False), {}, "found", "info"),
    ("throttle-hardware", first(throttle={"active": ["HW Power Brake Slowdown"]}), {}, "found", "fail"),
    ("throttle-hardware", first(throttle={"active": ["gpu_idle", "sw_power_cap"]}), {}, "passed", None),
    ("foreign-processes", first(processes=2), {}, "found", "info"),
    # PCIe: an idle device lowers its speed; width is judged by what device and slot can do
    ("pcie-width", first(pcie={"width_current": 8}), {}, "found", "fail"),
    ("pcie-width", both(first(pcie={"width_current": 8}), bus(upstream={"width_max": 8})), {}, "passed", None),
    ("pcie-width", first(pcie={"width_current": 8}), {"accelerator_policy_pcie_width_lanes": 8}, "passed", None),
    ("pcie-width", both(first(pcie={"width_current": 8}), bus(upstream=not_applicable("a guest"))), {}, "found", "fail"),
    ("pcie-width", both(every(pcie={"width_current": 8}), bus(upstream=not_applicable("a guest"))), {}, "unknown", None),
    ("pcie-width", bus(pcie={"width_current": 4, "width_max": 16}), {}, "found", "fail"),
    ("pcie-width", first(pcie=unknown("not told")), {}, "passed", None),
    ("pcie-width", both(first(pcie=unknown("not told")), bus(pcie=unknown("denied"))), {}, "unknown", None),
    ("pcie-width", both(first(pcie={"width_current": 0}), bus(pcie=unknown("denied"))), {}, "unknown", None),
    ("pcie-generation", first(pcie={"generation_current": 1}), {}, "passed", None),
    ("pcie-generation", first(pcie={"generation_max": 3}), {}, "found", "warn"),
    ("pcie-generation", both(every(pcie={"generation_max": 4}), bus(upstream={"speed_max_gts": 16.0})), {}, "passed", None),
    ("pcie-generation", every(pcie={"generation_max": 4}), {}, "found", "warn"),
    # links: none expected is not down, and all down is not none expected
    ("links-up", first(links={"up": 17, "down": [4]}), {}, "found", "fail"),
    ("links-up", first(links=not_applicable("MIG"), partition={"enabled": True}), {}, "not_applicable", None),
    ("links-up", first(links=not_applicable("vGPU"), extra={"virtualization": "vgpu"}), {}, "not_applicable", None),
    ("links-up", first(links=not_applicable("not supported"), name="NVIDIA L40S"), {}, "not_applicable", None),
    # what the tool calls not supported is built into the product
    ("links-up", first(links=not_applicable("not supported")), {}, "unknown", None),
    ("links-up", first(links={"total": 0, "up": 0}), {}, "not_applicable", None),
    ("links-up", every(links={"up": 0, "down": list(range(18))}), {}, "found", "fail"),
    ("links-up", both(every(links={"total": 12, "up": 0, "down": []}), every(name="NVIDIA A100-PCIE-40GB")), {}, "not_applicable", None),
    ("links-up", both(every(links={"total": 12, "up": 0, "down": []}), every(name="Some new part")), {}, "unknown", None),
    (
        "links-up",
        both(every(links={"total": 12, "up": 0, "down": []}), every(name="Some new part")),
        {"accelerator_policy_links_up_product_has_links": True},
        "found",
        "fail",
    ),
    ("links-up", both(first(links={"up": 0}), every(name="Some new part")), {}, "found", "fail"),
    ("links-up", first(links={"up": unknown("x"), "down": unknown("x")}), {}, "unknown", None),
    # a tool that says that all are down does not count them
    ("links-up", every(links=ALL_INACTIVE), {}, "found", "fail"),
    ("links-up", both(first(links=ALL_INACTIVE), every(name="Some new part")), {}, "found", "fail"),
    ("links-up", both(every(links=ALL_INACTIVE), every(name="NVIDIA A100-PCIE-40GB")), {}, "not_applicable", None),
    ("links-up", both(every(links=ALL_INACTIVE), every(name="Some new part")), {}, "unknown", None),
    ("links-up", every(links={"total": unknown("x")}), {}, "unknown", None),
    ("links-up", both(every(links=ALL_INACTIVE), every(name="NVIDIA GH200 480GB")), {}, "not_applicable", None),
    # fabric: not supported is not unhealthy; in progress is neither healthy nor, just after the start, sick
    ("fabric-state", first(fabric={"state": "not_supported"}), {}, "not_applicable", None),
    ("fabric-state", first(fabric=not_applicable("N/A")), {}, "not_applicable", None),
    ("fabric-state", first(fabric={"state": "In Progress"}), {}, "found", "fail"),
    ("fabric-state", both(first(fabric={"state": "In Progress"}), host(uptime_seconds=60)), {}, "not_run", None),
    ("fabric-state", first(fabric={"status": "Insufficient Resources"}), {}, "found", "fail"),
    ("fabric-state", first(fabric={"state": "polling"}), {}, "unknown", None),
    ("numa-node", both(first(numa_node=-1), bus(numa_node=-1)), {}, "found", "warn"),
    ("numa-node", both(first(numa_node=-1), host(cpu={"numa_nodes": 1})), {}, "not_applicable", None),
    ("numa-node", both(first(numa_node=unknown("x")), bus(numa_node=0)), {}, "passed", None),
    ("accelerator-model", first(), {}, "not_applicable", None),
    ("accelerator-model", first(), {"accelerator_expected_model": "nvidia h100*"}, "passed", None),
    ("accelerator-model", first(), {"accelerator_expected_model": ["NVIDIA H200"]}, "found", "fail"),
]


@pytest.mark.parametrize(("rule", "change", "variables", "outcome", "level"), CASES, ids=["%s-%d" % (c[0], i) for i, c in enumerate(CASES)])
def test_one_change_on_a_device(rule, change, variables, outcome, level):
    sections = synthetic.healthy()
    change(sections)
    told = [(said, lv or RULES[rule].level if said == "found" else None) for subject, said, lv in ask(rule, sections, **variables) if subject == FIRST]
    assert told == [(outcome, level)]


NODE_CASES = [
    ("temperature-outlier", first(temperature_c={"core": 60}), {}, "found"),
    ("temperature-outlier", first(temperature_c={"memory": 95}), {}, "found"),
    ("temperature-outlier", first(temperature_c={"core": 60, "memory": 95}), {}, "found"),
    ("temperature-outlier", first(temperature_c={"memory": unknown("x")}), {}, "passed"),
    ("temperature-outlier", every(temperature_c=unknown("x")), {}, "not_applicable"),
    ("mixed-models", first(name="NVIDIA A100-SXM4-80GB"), {}, "found"),
    ("mixed-models", first(memory_mib=40960), {}, "found"),
    ("mixed-models", first(name=unknown("x")), {}, "unknown"),
    ("mixed-models", every(memory_mib=unknown("x")), {}, "unknown"),
    ("mixed-models", every(memory_mib=not_applicable("the tool tells no size")), {}, "passed"),
    ("time-synchronized", host(time={"synchronized": False}), {}, "found"),
    ("time-synchronized", host(time={"offset_seconds": 7}), {}, "found"),
    ("time-synchronized", host(time=unknown("no chronyc")), {}, "unknown"),
    ("memlock-limit", host(limits={"memlock_soft": 67108864}), {}, "found"),
    ("memlock-limit", host(limits={"memlock_soft": 67108864}), {"accelerator_policy_memlock_limit_least_gib": "0.01"}, "passed"),
    ("huge-pages", host(huge_pages={"transparent": "never"}), {}, "found"),
    ("host-memory", host(memory={"total_mib": 257000}), {}, "found"),
    ("memory-available", host(), {}, "passed"),
    ("memory-available", host(memory={"available_mib": 90000}), {}, "found"),
    ("memory-available", host(memory={"available_mib": 90000}), {"accelerator_policy_memory_available_least_percent": 4}, "passed"),
    ("memory-available", host(memory={"available_mib": unknown("x")}), {}, "unknown"),
    ("memory-available", host(memory={"available_mib": not_applicable("an old kernel")}), {}, "not_applicable"),
    # what is set aside is there for work, in every size
    ("memory-available", both(host(memory={"available_mib": 90000}), aside("1048576", 1500)), {}, "passed"),
    ("memory-available", host(memory={"available_mib": 90000}, huge_pages={"size_kib": 2048, "total": 768000}), {}, "passed"),
    ("tool-answers", sources(), {}, "passed"),
    ("tool-answers", sources(seconds=41.5), {}, "found"),
    ("tool-answers", sources(seconds=20, status="timeout"), {}, "found"),
    ("tool-answers", sources(seconds=41.5), {"accelerator_policy_tool_answers_most_seconds": 60}, "passed"),
    ("tool-answers", sources(seconds=None), {}, "unknown"),
    ("tool-answers", lambda sections: sections["accelerators.nvidia"].update(sources=[]), {}, "not_applicable"),
]


@pytest.mark.parametrize(("rule", "change", "variables", "outcome"), NODE_CASES, ids=["%s-%d" % (c[0], i) for i, c in enumerate(NODE_CASES)])
def test_one_change_on_a_node(rule, change, variables, outcome):
    sections = synthetic.healthy()
    change(sections)
    assert [said for _subject, said, _level in ask(rule, sections, **variables)] == [outcome]


def test_a_healthy_node_has_no_finding_and_nothing_unknown():
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "recorded": synthetic.STAMP, "files": network_samples.node(), "commands": [], "host": {}}
    software = {"timestamp": synthetic.STAMP, "runtimes": {"cuda": "13.0"}, "toolkits": {"nvidia": "1.17.8"}}
    around = {"network_devices": network_devices.collect(ReplayHost(recorded)), "software": software}
    judged = judge(dict(synthetic.healthy(), **around), accelerator_expected_count=8, accelerator_expected_model="*H100*")
    assert judged.findings == []
    assert [gap for gap in judged.gaps if gap[1] not in ("not_applicable", "not_run")] == []
    # no container is started by a preflight that was not asked for it
    assert {gap[0] for gap in judged.gaps if gap[1] == "not_run"} <= {"row-container-device"}


def test_one_fault_is_one_finding_and_its_consequences_name_it():
    sections = synthetic.healthy()
    first(health={"state": "lost"}, recovery_action="reboot")(sections)
    judged = judge(sections)
    assert [(f["rule"], f["subject"]["id"], f["caused_by"]) for f in judged.findings] == [
        ("device-health", FIRST, ["device-lost", "recovery-action"]),
        ("device-lost", FIRST, []),
        ("recovery-action", FIRST, ["device-lost"]),
    ]


NO_FABRIC = {"state": not_applicable("N/A"), "status": not_applicable("N/A")}


@pytest.mark.parametrize("links", [{"up": 0, "down": list(range(18))}, ALL_INACTIVE], ids=["listed", "said"])
@pytest.mark.parametrize(
    ("count", "on_bus", "fabric", "variables", "outcome"),
    [
        (1, 1, NO_FABRIC, {}, "not_applicable"),  # one GPU of a baseboard, handed to a guest
        (2, 2, NO_FABRIC, {}, "found"),
        (1, 8, NO_FABRIC, {}, "found"),  # alone for the tool, not on the bus
        (1, 1, {}, {}, "found"),  # in a fabric
        (1, 1, NO_FABRIC, {"accelerator_policy_links_up_product_has_links": True}, "found"),
    ],
    ids=["guest", "two", "lost", "fabric", "site"],
)
def test_links_of_the_only_device_of_a_node(links, count, on_bus, fabric, variables, outcome):
    sections = synthetic.healthy(count)
    sections["pci"] = synthetic.pci([synthetic.pci_entry(index) for index in range(on_bus)])
    every(links=links, fabric=fabric)(sections)
    assert {said for _subject, said, _level in ask("links-up", sections, **variables)} == {outcome}


@pytest.mark.parametrize(
    ("fault", "cause"), [({"row_remap": {"failed": True}}, "row-remap-failed"), ({"recovery_action": "reset"}, "recovery-action")], ids=["remap", "reset"]
)
def test_a_word_of_health_that_repeats_a_fault_names_it(fault, cause):
    sections = synthetic.healthy()
    first(health={"state": "failed", "detail": "what the driver said"}, **fault)(sections)
    assert {f["rule"]: f["caused_by"] for f in judge(sections).findings} == {"device-health": [cause], cause: []}


def test_the_site_sets_level_and_turns_off():
    sections = synthetic.healthy()
    first(persistence=False, processes=3)(sections)
    judged = judge(sections, accelerator_policy_persistence_level="fail", accelerator_policy_foreign_processes_enabled="false")
    assert [(f["rule"], f["level"]) for f in judged.findings] == [("persistence", "fail")]
    assert judged.counts["foreign-processes"] == [0, 0, 0, 1, 0]


def test_a_threshold_says_where_it_comes_from():
    sections = synthetic.healthy()
    first(ecc={"uncorrected_volatile": 3})(sections)
    assert judge(sections).findings[0]["expected"]["origin"].startswith("vendor document")
    assert judge(sections, accelerator_policy_ecc_uncorrected_volatile=1).findings[0]["expected"] == {"value": 1, "unit": "errors", "origin": "site policy"}


def test_identity():
    sections = synthetic.healthy()
    devices(sections)[0]["identity"]["uuid"]["quality"] = "duplicate"
    for name in ("uuid", "serial", "pci"):
        devices(sections)[1]["identity"][name] = {"value": unknown("placeholder '0'"), "quality": "placeholder"}
    devices(sections)[2]["identity"]["serial"]["quality"] = "duplicate"  # two packages of one board
    assert [o for _s, o, _l in ask("identity", sections)][:3] == ["found", "unknown", "passed"]
