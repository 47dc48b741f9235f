# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules make of a kubelet's settings: unread is unknown, no kubelet is not applicable."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kubelet import SETTINGS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import verdict
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kubelet import quantity
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES, NoAnswer

PROFILE = profiles.find("acceptance")
OURS = sorted(name for name in RULES if name.startswith("kubelet-") and name not in ("kubelet-devices", "kubelet-labels"))
LABELS = {
    "driver": synthetic.section([])["driver"]["version"],
    "count": 8,
    "product": None,
    "memory_mib": None,
    "replicas": 1,
    "mig_strategy": "none",
    "mig": {},
}
NOTE = "the running kubelet names none"
GOOD = {
    "kube_reserved": {"cpu": "500m", "memory": "4Gi"},
    "system_reserved": {"memory": "1Gi"},
    "eviction_hard": {"memory.available": "500Mi", "nodefs.available": "10%"},
    "topology_manager_policy": "restricted",
    "cpu_manager_policy": "static",
    "max_pods": 110,
    "feature_gates": {"CPUManager": True},
}


def section(state="running", problem="", outcome="unnamed", other_pids=(), **given):
    """given: name -> value, or (outcome, reason)."""
    settings = {}
    for name, *_more in SETTINGS:
        value = given.get(name, (outcome, NOTE))
        said = {"outcome": value[0], "value": {"unknown": value[1]}} if isinstance(value, tuple) else {"outcome": "value", "value": value}
        settings[name] = dict(said, source="/etc/kubernetes/kubelet.yaml")
    process = {"name": "kubelet", "pid": 7, "command": "kubelet", "other_pids": list(other_pids), "data_directories": []}
    lines = {name: settings[name] for name in ("container_runtime_endpoint", "topology_manager_policy")}
    return {
        "timestamp": synthetic.STAMP,
        "state": state,
        "problem": problem,
        "process": process,
        "searched": [],
        "settings": settings,
        "resources": {"nvidia.com/gpu": {"devices": 8, "distinct": 8}},
        "labels": dict(LABELS),
        "lines": lines,
    }


def judged(kubelet=None, variables=None, numa=2, count=8, threads=64):
    """{rule: "passed" | "found warn" | "unknown: reason" | …}."""
    sections = synthetic.healthy(count)
    sections["host"]["cpu"].update(numa_nodes=numa, threads=threads)
    del sections["kubelet"]
    if kubelet is not None:
        sections["kubelet"] = kubelet
    view = engine.NodeView("a", synthetic.envelopes(sections), policy.parse(variables or {}))
    words = {}
    for name in OURS:
        told = []
        for _subject, one in engine.outcomes(RULES[name], view, view.policy.params(name)):
            level = view.policy.level(name) or one.level or RULES[name].level
            told.append("%s: %s" % (level, one.summary) if one.outcome == "found" else one.outcome + (": " + one.reason if one.outcome == "unknown" else ""))
        words[name] = "; ".join(told)
    return words


def test_a_kubelet_as_it_should_be():
    assert judged(section(**GOOD)) == dict.fromkeys(OURS, "passed")


def test_not_read_and_no_kubelet():
    assert judged() == dict.fromkeys(OURS, "unknown: section kubelet: not filed")
    assert judged(section("absent")) == dict.fromkeys(OURS, "not_applicable")


def test_what_cannot_be_looked_at_is_unknown():
    found = judged(section("unknown", "/proc: denied (EACCES)", "unsearchable"))
    assert found == dict.fromkeys(OURS, "unknown: /proc: denied (EACCES)")


def test_nothing_named_is_no_default():
    found = judged(section())
    assert found == {
        "kubelet-cpu-manager": "unknown: " + NOTE,
        "kubelet-device-gates": "passed",  # a gate that nobody names is not switched off
        "kubelet-eviction": "passed",
        "kubelet-reservations": "warn: Nothing is reserved for the kubelet and the system",
        "kubelet-settings-read": "passed",
        "kubelet-topology-policy": "unknown: " + NOTE,
    }


@pytest.mark.parametrize("state", ["embedded", "not_running"])
def test_a_kubelet_that_shows_no_command_line_may_have_been_told(state):
    found = judged(section(state))
    assert found.pop("kubelet-settings-read") == "passed"
    assert set(found.values()) == {"unknown: " + NOTE}
    assert judged(section(state, **GOOD)) == dict.fromkeys(OURS, "passed")


def test_a_file_that_could_not_be_read():
    found = judged(section(outcome="unreadable", **{**GOOD, "eviction_hard": ("unreadable", "/etc/k: denied")}))
    assert found["kubelet-eviction"] == "unknown: /etc/k: denied"
    assert found["kubelet-settings-read"] == "unknown: /etc/k: denied; unknown: " + NOTE


def test_configurations_that_disagree_and_a_second_kubelet():
    found = judged(section(**{**GOOD, "topology_manager_policy": ("conflict", "none, restricted")}, other_pids=[9]))
    said = "warn: Two configurations of the kubelet disagree: none, restricted; warn: 2 kubelets run"
    assert found["kubelet-settings-read"] == said
    assert found["kubelet-topology-policy"] == "unknown: none, restricted"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"kube_reserved": {"memory": "1Gi", "cpu": "1"}},
            "warn: 1024 MiB of memory are reserved for the kubelet and the system of a node with up to 110 pods",
        ),
        ({"kube_reserved": {"memory": "1Gi", "cpu": "1"}, "max_pods": 30}, "passed"),
        ({"kube_reserved": {"memory": "1465Mi", "cpu": "1"}}, "passed"),
        ({"kube_reserved": {"memory": "1464Mi", "cpu": "1"}}, "warn: 1464 MiB"),
        ({"kube_reserved": {"memory": "1G", "cpu": "1"}, "system_reserved": {"memory": "1000000000"}}, "passed"),
        ({"kube_reserved": {"memory": "2Gi", "cpu": "100m"}}, "warn: 100 millicores are reserved for the kubelet and the system of a node with 64 processors"),
        ({"kube_reserved": {"memory": "2Gi", "cpu": "230m"}}, "passed"),
        ({"kube_reserved": {"memory": "2Gi"}}, "warn: 0 millicores"),
        ({"kube_reserved": {"memory": "2Gi"}, "reserved_cpus": "0-1,8"}, "passed"),
        ({"reserved_cpus": "0"}, "warn: 0 MiB of memory"),
        ({"kube_reserved": {"memory": "2Gi"}, "reserved_cpus": "first"}, "unknown: reserved_cpus: not a list of processors: first"),
        ({"kube_reserved": {"memory": "lots", "cpu": "1"}}, "unknown: not a quantity: lots"),
        ({"kube_reserved": {}, "system_reserved": ("unreadable", "denied")}, "unknown: denied"),
    ],
)
def test_reservations(given, said):
    assert judged(section(**given))["kubelet-reservations"].startswith(said)


def test_reservations_of_the_site():
    variables = {"accelerator_policy_kubelet_reservations_memory_mib": 8192, "accelerator_policy_kubelet_reservations_level": "fail"}
    assert judged(section(**GOOD), variables)["kubelet-reservations"].startswith("fail: 5120 MiB")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"eviction_hard": {"imagefs.available": "5%", "nodefs.available": "5%"}}, "info: No threshold evicts for memory.available"),
        ({"eviction_hard": {"imagefs.available": "5%"}}, "info: No threshold evicts for memory.available and nodefs.available"),
        ({"eviction_hard": {"memory.available": "0", "nodefs.available": "0%"}}, "info: No threshold evicts for memory.available and nodefs.available"),
        ({"eviction_hard": {"imagefs.available": "5%"}, "eviction_defaults_kept": True}, "passed"),
        ({"eviction_hard": {"imagefs.available": "5%"}, "eviction_defaults_kept": False}, "info: No threshold"),
        ({"eviction_hard": {"memory.available": "?", "nodefs.available": "5%"}}, "unknown: not a quantity: ?"),
    ],
)
def test_eviction(given, said):
    assert judged(section(**given))["kubelet-eviction"].startswith(said)


@pytest.mark.parametrize(
    ("named", "numa", "said"),
    [
        ("restricted", 2, "passed"),
        ("none", 2, "warn: The policy none lets processors and memory lie far from the accelerators (2 NUMA nodes)"),
        ("best-effort", 2, "info: The policy best-effort prefers one NUMA node (2 NUMA nodes)"),
        ("single-numa-node", 2, "warn: single-numa-node refuses a container that asks for all 8 accelerators: they are on NUMA nodes 0, 1"),
        ("none", 1, "not_applicable"),
        (("unnamed", NOTE), 1, "not_applicable"),
        ("strict", 2, "unknown: no policy of the TopologyManager: strict"),
        (("conflict", "none, restricted"), 2, "unknown: none, restricted"),
        ("restricted", {"unknown": "no sysfs"}, "unknown: no sysfs"),
    ],
)
def test_topology(named, numa, said):
    assert judged(section(topology_manager_policy=named), numa=numa)["kubelet-topology-policy"] == said


def test_topology_of_four_accelerators_on_one_node():
    assert judged(section(topology_manager_policy="single-numa-node"), count=4)["kubelet-topology-policy"] == "passed"
    variables = {"accelerator_policy_kubelet_topology_policy_whole_node": False}
    assert judged(section(topology_manager_policy="single-numa-node"), variables)["kubelet-topology-policy"] == "passed"


def test_cpu_manager_and_gates():
    found = judged(section(topology_manager_policy="restricted", cpu_manager_policy="none", feature_gates={"DevicePlugins": False, "Other": False}))
    assert found["kubelet-cpu-manager"] == "info: The CPU manager's policy is none: processors are not aligned with accelerators"
    assert found["kubelet-device-gates"] == "warn: Switched off: DevicePlugins"
    assert judged(section(topology_manager_policy="none"))["kubelet-cpu-manager"] == "not_applicable"


@pytest.mark.parametrize(("text", "number"), [("500m", 0.5), ("2", 2), ("1.5Gi", 1.5 * 2**30), ("1e3", 1000), ("5k", 5000), ("100Mi", 100 * 2**20)])
def test_quantities(text, number):
    assert quantity(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1 Gi", "1gi", "0x10", "1e999"])
def test_no_quantities(text):
    with pytest.raises(NoAnswer):
        quantity(text)


@pytest.mark.parametrize("junk", [None, 7, [], {}, "x", {"unknown": 5}, True, float("nan")])
def test_a_hostile_section_raises_nothing(junk):
    whole = section(**GOOD)
    for path in (("state",), ("process",), ("process", "other_pids"), ("settings",), *(("settings", name) for name in GOOD)):
        for inner in ((), ("outcome",), ("value",)) if len(path) == 2 and path[0] == "settings" else ((),):
            broken = section(**GOOD)
            at = broken
            for key in (*path, *inner)[:-1]:
                at = at[key]
            at[(*path, *inner)[-1]] = junk
            assert set(judged(broken)) == set(OURS), path
    assert whole == section(**GOOD)


def test_a_node_with_no_kubelet_is_not_sick_and_one_of_which_that_is_not_known_is_not_accepted():
    def told(kubelet):
        sections = synthetic.healthy()
        del sections["kubelet"]
        sections.update({} if kubelet is None else {"kubelet": kubelet})
        one = engine.judge("a", synthetic.envelopes(sections), policy.parse({}), PROFILE)
        reasons = verdict.decide(PROFILE, verdict.layers(PROFILE, one.counts), one.findings, one.gaps)[1]
        return [reason for reason in reasons if "kubelet-" in reason or "layer 2" in reason]

    assert told(section("absent")) == [] and told(section(**GOOD)) == []
    for kubelet, why in ((None, "section kubelet: not filed"), (section("unknown", "denied"), "denied")):
        assert len(told(kubelet)) == 1 and why in told(kubelet)[0] and "kubelet-settings-read" in told(kubelet)[0]


def test_what_a_profile_requires():
    asked = profiles.find("preflight")
    assert set(OURS) <= set(asked.asked) and not set(OURS) & asked.required
    assert set(OURS) <= set(PROFILE.asked) and set(OURS) & PROFILE.required == {"kubelet-settings-read", "kubelet-reservations"}


@pytest.mark.parametrize(
    ("policy_name", "nics", "numa", "words"),
    [
        ("restricted", [1], [0, 0], "info: restricted refuses a container that asks for an accelerator and an RDMA device: they are on NUMA nodes 0 and 1"),
        (
            "single-numa-node",
            [1],
            [0, 0],
            "info: single-numa-node refuses a container that asks for an accelerator and an RDMA device: they are on NUMA nodes 0 and 1",
        ),
        ("restricted", [0, 1], [0, 0], "passed"),
        ("restricted", [0], [0, 1], "passed"),
        ("restricted", [], [0, 0], "passed"),
        ("restricted", {"not_applicable": "no RDMA device"}, [0, 0], "passed"),
        ("restricted", [1], [-1, -1], "passed"),
        ("restricted", ["1", None], [0, 0], "passed"),
        ("best-effort", [1], [0, 0], "info: The policy best-effort prefers one NUMA node (2 NUMA nodes)"),
    ],
)
def test_a_policy_against_where_the_rdma_devices_are(policy_name, nics, numa, words):
    sections = synthetic.healthy(len(numa))
    sections["host"]["cpu"].update(numa_nodes=2)
    for device, node in zip(sections["accelerators.nvidia"]["devices"], numa):
        device["numa_node"] = node
    sections["kubelet"] = dict(section(**{**GOOD, "topology_manager_policy": policy_name}), nic_numa_nodes=nics)
    view = engine.NodeView("a", synthetic.envelopes(sections), policy.parse({}))
    rule = RULES["kubelet-topology-policy"]
    ((_subject, one),) = engine.outcomes(rule, view, view.policy.params(rule.id))
    assert (one.outcome if one.outcome == "passed" else "%s: %s" % (one.level or rule.level, one.summary)) == words
