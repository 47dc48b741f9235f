# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of engines, slots, memory and speed that show in many places: each is one finding, and the others stand under it."""

from __future__ import annotations

import engine_samples
import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from health_nodes import merged

ROOT, UP, DOWN, BESIDE, CARD, ADAPTER = path_samples.places(1)
BOOT = 1772000000


@pytest.fixture
def tree():
    return path_samples.Tree(4)


def judged(sections, profile="preflight", **variables):
    """({root: level}, {rule that follows: its causes}) of what is above info."""
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), profiles.find(profile)).findings
    return split(told)


def split(findings):
    told = [one for one in findings if one["level"] != "info"]
    return {one["rule"]: one["level"] for one in told if not one["caused_by"]}, {one["rule"]: one["caused_by"] for one in told if one["caused_by"]}


def among_four(tmp_path, change, count=4):
    """What is found of b, which is changed, among four nodes."""
    nodes = {}
    for name in "abcdefgh"[:count]:
        made = synthetic.healthy(4, serial=name)
        if name == "b":
            change(made)
        nodes[name] = synthetic.envelopes(made, name)
    findings = fold.fold(synthetic.write_run(tmp_path, nodes))["findings"]
    assert {one["node"] for one in findings if one["level"] != "info"} <= {"b"}
    return split(findings)


def down(sections, unit, active="failed"):
    sections["services"]["units"][unit] = dict(sections["services"]["units"]["slurmd"], active=active)
    if active == "failed":
        sections["services"]["failed"].append(unit + ".service")


def test_an_engine_that_is_down_under_a_kubelet(tree):
    sections = tree.sections()
    endpoint = ["kubelet", "--container-runtime-endpoint=" + engine_samples.SOCKET]
    sections["container_runtime"] = engine_samples.section(
        commands=[engine_samples.dumped(engine_samples.BOTH)], files={engine_samples.CONFIG: engine_samples.BOTH}, kubelet=endpoint
    )
    down(sections, "containerd")
    row = {"accelerator": "nvidia:1", "capability": "container-device", "mode": "exclusive", "state": "unavailable", "depth": "measured"}
    sections["accelerators.nvidia"]["checks"] = [dict(row, reason="no engine", detail="", command="", evidence="")]
    roots, follow = judged(sections, "acceptance", accelerator_modes="exclusive")
    assert roots == {"runtime-serves-kubelet": "fail"}
    assert set(follow) == {"service-failed", "service-down", "row-container-device"}
    assert all("runtime-serves-kubelet" in causes for causes in follow.values())
    # a kubelet that failed as well is a fault of its own
    down(sections, "kubelet")
    assert set(judged(sections, "acceptance", accelerator_modes="exclusive")[0]) == {"runtime-serves-kubelet", "service-failed"}


def test_a_kubelet_alone_that_failed_is_told_once(tree):
    sections = tree.sections()
    down(sections, "kubelet")
    assert judged(sections) == ({"service-failed": "warn"}, {"service-down": ["service-failed"]})
    sections["services"]["failed"].clear()
    down(sections, "kubelet", "inactive")
    assert judged(sections) == ({"service-down": "warn"}, {})


def test_a_card_in_a_slot_of_fewer_lanes(tmp_path):
    def narrow(sections):
        merged(sections["accelerators.nvidia"]["devices"][1], {"pcie": {"width_current": 8}})
        sections["pci"]["devices"][1]["pcie"].update(width_current=8, width_max=8)

    roots, follow = among_four(tmp_path, narrow)
    assert roots == {"pcie-width": "fail"} and follow == {"cohort-pcie-shape": ["pcie-width"]}


def test_links_that_differ_where_nothing_is_narrow_stand_alone(tmp_path):
    def able(sections):
        sections["pci"]["devices"][1]["pcie"]["width_max"] = 32

    roots, follow = among_four(tmp_path, able)
    assert set(roots) == {"cohort-pcie-shape"} and follow == {}


def test_memory_of_a_socket_that_is_gone(tmp_path):
    def half(sections):
        sections["host"]["memory"].update(total_mib=1031968, per_numa_mib={"0": 1031968})
        sections["host"]["cpu"]["numa_nodes"] = 1

    roots, follow = among_four(tmp_path, half)
    assert set(roots) == {"memory-installed"}
    assert set(follow["cohort-numa"]) == {"memory-installed", "cohort-memory"} and follow["cohort-memory"] == ["memory-installed"]


def test_numa_nodes_that_the_firmware_merged_stand_alone(tmp_path):
    roots, _follow = among_four(tmp_path, lambda sections: sections["host"]["cpu"].update(numa_nodes=1))
    assert "cohort-numa" in roots and "memory-installed" not in roots


def measured(number, value):
    method = {"tool": "acme-bench", "version": "3", "parameters": {"shape": 4096}}
    document = {"metric": "gemm-bf16", "unit": "TFLOPS", "better": "higher", "samples": [value], "subject": {"kind": "package", "id": "nvidia:%d" % number}}
    return dict(document, method=method, validity="valid", conditions={}, started=synthetic.STAMP)


def with_measurements(sections, *values):
    sections["acme_bench"] = {"timestamp": synthetic.STAMP, "measurements": [measured(at, value) for at, value in enumerate(values)]}
    return sections


HOT = {"temperature_c": {"core": 85, "margin_core": 2}, "throttle": {"active": ["hw_slowdown", "hw_thermal_slowdown"]}}


def test_a_card_that_is_slow_since_it_is_hot(tree):
    sections = with_measurements(tree.sections(), 700, 500, 701, 702)
    assert judged(sections) == ({"measured-floor": "fail"}, {"measured-in-node": ["measured-floor"]})
    merged(sections["accelerators.nvidia"]["devices"][1], HOT)
    roots, follow = judged(sections)
    assert roots == {"temperature-margin": "fail"}
    assert {"measured-floor", "measured-in-node", "throttle-hardware"} <= set(follow)
    # the heat of another card explains nothing of it
    sections = with_measurements(tree.sections(), 700, 500, 701, 702)
    merged(sections["accelerators.nvidia"]["devices"][2], HOT)
    assert set(judged(sections)[0]) == {"temperature-margin", "measured-floor"}


def test_a_card_that_is_slow_since_its_switch_has_a_narrow_link(tree):
    tree.change(UP, now=(8, 32))
    roots, follow = judged(with_measurements(tree.sections(), 700, 500, 701, 702))
    assert roots == {"pcie-path-width": "fail"} and "pcie-path-width" in follow["measured-floor"]


def test_a_card_that_is_slower_than_those_of_its_cohort(tmp_path):
    nodes = {}
    for number, name in enumerate("abcdefgh"):
        made = with_measurements(synthetic.healthy(4, serial=name), *(700 + number, 540 if name == "b" else 701 + number, 702, 703))
        if name == "b":
            merged(made["accelerators.nvidia"]["devices"][1], HOT)
        nodes[name] = synthetic.envelopes(made, name)
    roots, follow = split(fold.fold(synthetic.write_run(tmp_path, nodes))["findings"])
    assert roots == {"temperature-margin": "fail"} and set(follow["measured-in-cohort"]) <= {"temperature-margin", "throttle-hardware"}
    assert {"measured-in-cohort", "measured-floor", "measured-in-node"} <= set(follow)


def test_an_adapter_behind_the_switch_whose_link_is_narrow(tree):
    tree.change(UP, now=(8, 32))
    lines = ["mlx5_core %s: poll_health:999: device's health compromised - reached miss count" % ADAPTER]

    def told(sections):
        events, count, _dropped, _first = kernel_log.fold("\n".join("[%d.5] %s" % (100 + n, line) for n, line in enumerate(lines)), BOOT)
        sections["kernel"] = dict(sections["kernel"], events=events, lines=count)
        return judged(sections)

    roots, follow = told(tree.sections())
    assert roots == {"pcie-path-width": "fail"} and follow["kernel-nic-errors"] == ["pcie-path-width"]
    # an adapter behind another switch has its own reason
    lines[0] = lines[0].replace(ADAPTER, path_samples.places(3)[5])
    assert set(told(tree.sections())[0]) == {"pcie-path-width", "kernel-nic-errors"}
