# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the settings of a node's kubelet. What was not read is unknown: no default of the kubelet stands in for it."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

_SUFFIXES = {"": 1, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SUFFIXES.update({"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50})
_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})(?:([eE][-+]?\d{1,2})|([A-Za-z]{0,2}))\Z")
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_RESERVED = ("kube_reserved", "system_reserved")
_EKS = "Amazon EKS AMI (nodeadm): 255 MiB and 11 MiB for each pod, the least of the large clouds"
_CORES = "Amazon EKS AMI and GKE: 6% of the first core, 1% of the second, 0.5% of the next two, 0.25% of the others"


def quantity(text):
    """A Kubernetes quantity as a number; NoAnswer when it is none."""
    parts = _QUANTITY.match(text.strip())
    if not parts or (parts.group(3) or "") not in _SUFFIXES:
        raise NoAnswer("unknown", "not a quantity: %s" % show(text))
    return float(parts.group(1) + (parts.group(2) or "")) * _SUFFIXES[parts.group(3) or ""]


class Kubelet:
    """The section, where there is a kubelet."""

    def __init__(self, view):
        self.section = view.section("kubelet")
        self.state = self.section.word("state")
        if self.state == "absent":
            raise NoAnswer("not_applicable", "no kubelet on this node")
        if self.state not in ("running", "embedded", "not_running"):
            raise NoAnswer("unknown", self.section.maybe("text", "problem") or "whether a kubelet runs is not known")

    def outcome(self, name):
        return self.section.word("settings", name, "outcome")

    def text(self, name):
        return self.section.text("settings", name, "value")

    def unset(self, name):
        """Whether a running kubelet was read whole and does not name the setting."""
        return self.state == "running" and self.outcome(name) == "unnamed"

    def texts(self, name):
        """A map of texts; {} where the kubelet names none. NoAnswer where that is not known."""
        if self.unset(name):
            return {}
        value = self.section.facts("settings", name, "value").data
        return {str(key): said for key, said in value.items() if said.__class__ is str}


@rule(
    id="kubelet-settings-read",
    layer=2,
    level="warn",
    title="The kubelet's settings can be read, and nothing contradicts them",
    reads=("kubelet",),
    scope="node",
    remedy="Read as root; remove the configuration that is not used, and stop the kubelet that is not meant to run.",
)
def kubelet_settings_read(view, p):
    kubelet = Kubelet(view)
    problems = {}
    for name, data in sorted(kubelet.section.facts("settings").data.items()):
        setting = data.get("outcome") if data.__class__ is dict else None
        if setting in ("conflict", "unreadable", "unsearchable"):
            value = data.get("value")
            reason = show(value.get("unknown"), 300) if value.__class__ is dict else "no reason given"
            problems.setdefault((setting, reason), []).append(name)
    outcomes = [
        found("Two configurations of the kubelet disagree: %s" % reason, ", ".join(names), expectation("one value", origin="this node"))
        if setting == "conflict"
        else unknown(reason)
        for (setting, reason), names in sorted(problems.items())
    ]
    others = kubelet.section.maybe("list", "process", "other_pids")
    if others:
        outcomes.append(found("%d kubelets run" % (len(others) + 1), len(others) + 1, expectation(1, origin="kubernetes.io: a node has one kubelet")))
    return outcomes or PASSED


@rule(
    id="kubelet-reservations",
    layer=2,
    level="warn",
    title="Memory and processors are reserved for the kubelet and the system",
    reads=("kubelet", "host"),
    scope="node",
    remedy="Set kubeReserved and systemReserved for the size of the node and its pods; without them pods starve the kubelet and the drivers' daemons.",
    parameters={
        "memory_mib": Parameter("number", 255, "MiB", _EKS),
        "memory_mib_per_pod": Parameter("number", 11, "MiB", _EKS),
        "cpu_millicores": Parameter("number", 80, "millicores for the first four cores", _CORES),
        "cpu_millicores_per_core": Parameter("number", 2.5, "millicores", _CORES),
        "pods": Parameter("int", 110, "pods where the kubelet names no maximum", "kubernetes.io: no more than 110 pods per node"),
    },
)
def kubelet_reservations(view, p):
    kubelet = Kubelet(view)
    reserved = [kubelet.texts(name) for name in _RESERVED]
    cpus = {} if kubelet.unset("reserved_cpus") or kubelet.outcome("reserved_cpus") == "unnamed" else {"cpus": kubelet.text("reserved_cpus")}
    if not any(reserved) and not cpus:
        return found("Nothing is reserved for the kubelet and the system", "nothing", expectation("kubeReserved or systemReserved", origin="kubernetes.io"))
    pods = p.pods if kubelet.unset("max_pods") else kubelet.section.maybe("number", "settings", "max_pods", "value") or p.pods
    threads = view.section("host").maybe("number", "cpu", "threads")
    memory = sum(quantity(said["memory"]) for said in reserved if "memory" in said) / 2**20
    needed = p.memory_mib + p.memory_mib_per_pod * pods
    outcomes = []
    if memory < needed:
        summary = "%d MiB of memory are reserved for the kubelet and the system of a node with up to %d pods" % (memory, pods)
        outcomes.append(found(summary, round(memory), p.expected("memory_mib", value=round(needed))))
    if threads is None:
        return [*outcomes, unknown("cpu.threads: not in the report")]
    # An explicit list of processors stands in for the amounts: kubernetes.io, "Reserve Compute Resources for System Daemons".
    share = _listed(cpus["cpus"]) if cpus else sum(quantity(said["cpu"]) for said in reserved if "cpu" in said)
    needed = p.cpu_millicores + p.cpu_millicores_per_core * max(threads - 4, 0)
    if round(share * 1000) < needed:
        summary = "%d millicores are reserved for the kubelet and the system of a node with %d processors" % (share * 1000, threads)
        outcomes.append(found(summary, round(share * 1000), dict(p.expected("cpu_millicores", value=round(needed)), unit="millicores")))
    return outcomes or PASSED


def _listed(text):
    """How many processors a list such as 0-1,8 names."""
    count = 0
    for part in text.split(","):
        limits = re.match(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*\Z", part)
        if not limits:
            raise NoAnswer("unknown", "reserved_cpus: not a list of processors: %s" % show(text))
        count += max(int(limits.group(2) or limits.group(1)) - int(limits.group(1)) + 1, 0)
    return count


@rule(
    id="kubelet-eviction",
    layer=2,
    level="info",
    title="Pods are evicted before memory or disk run out",
    reads=("kubelet",),
    scope="node",
    remedy="Name every threshold of evictionHard, or set mergeDefaultEvictionSettings: true.",
    parameters={"signals": Parameter("list", ["memory.available", "nodefs.available"], "", "kubernetes.io: where one is named, the others become 0")},
)
def kubelet_eviction(view, p):
    kubelet = Kubelet(view)
    if kubelet.unset("eviction_hard"):
        return PASSED  # the kubelet's own thresholds are all in force then
    named = kubelet.texts("eviction_hard")
    if kubelet.outcome("eviction_defaults_kept") == "value" and kubelet.section.flag("settings", "eviction_defaults_kept", "value"):
        return PASSED
    off = [signal for signal in p.signals if not named.get(signal) or quantity(named[signal].rstrip("%")) == 0]
    if not off:
        return PASSED
    shown = ", ".join("%s<%s" % (show(key), show(named[key])) for key in sorted(named))
    return found("No threshold evicts for %s" % " and ".join(off), shown, p.expected("signals", value=", ".join(p.signals)))


@rule(
    id="kubelet-topology-policy",
    layer=2,
    level="warn",
    title="The TopologyManager keeps an accelerator's processors and memory near it",
    reads=("kubelet", "host", "accelerators"),
    scope="node",
    remedy="Drain the node, set topologyManagerPolicy: restricted, keep the scope container, restart the kubelet.",
    parameters={
        "policies": Parameter("list", ["restricted", "single-numa-node"], "", "suite: operator preflight: restricted admits a container of all accelerators"),
        "whole_node": Parameter("bool", True, "", "our choice: one container may ask for every accelerator of the node"),
    },
)
def kubelet_topology_policy(view, p):
    if not view.packages:
        return not_applicable("no accelerator was read")
    kubelet = Kubelet(view)
    nodes = view.section("host").number("cpu", "numa_nodes")
    if nodes < 2:
        return not_applicable("one NUMA node: nothing to align")
    policy = kubelet.text("topology_manager_policy")
    if policy not in _POLICIES:
        return unknown("no policy of the TopologyManager: %s" % show(policy))
    if policy == "single-numa-node" and p.whole_node:
        used = sorted({node for node in (d.maybe("number", "numa_node") for d in view.packages) if node is not None and node >= 0})
        if len(used) > 1:
            return found(
                "single-numa-node refuses a container that asks for all %d accelerators: they are on NUMA nodes %s"
                % (len(view.packages), ", ".join("%d" % node for node in used)),
                policy,
                expectation("restricted", origin="suite: operator preflight: TopologyAffinityError"),
            )
    if policy in ("restricted", "single-numa-node"):
        far = _far(view, kubelet, policy)
        if far:
            return far
    if policy in p.policies:
        return PASSED
    what = "prefers one NUMA node" if policy == "best-effort" else "lets processors and memory lie far from the accelerators"
    level = "info" if policy == "best-effort" else None
    summary = "The policy %s %s (%d NUMA nodes)" % (policy, what, nodes)
    return found(summary, policy, p.expected("policies", value=" or ".join(p.policies)), level=level)


def _far(view, kubelet, policy):
    """A finding where no RDMA device shares a NUMA node with an accelerator: the hints of the two cannot meet."""
    nics = {node for node in kubelet.section.maybe("list", "nic_numa_nodes") or () if node.__class__ is int}
    nodes = [device.maybe("number", "numa_node") for device in view.packages]
    if not nics or None in nodes or min(nodes) < 0 or nics & set(nodes):
        return None
    shown = [", ".join("%d" % node for node in sorted(set(where))) for where in (nodes, nics)]
    summary = "%s refuses a container that asks for an accelerator and an RDMA device: they are on NUMA nodes %s and %s" % (policy, *shown)
    expected = expectation("best-effort", origin="kubernetes.io: Control Topology Management Policies: a pod whose hints do not meet is not admitted")
    return found(summary, policy, expected, level="info", remedy="Where pods ask for both, use best-effort, or move the card that is far.")


@rule(
    id="kubelet-cpu-manager",
    layer=2,
    level="info",
    title="The CPU manager takes part where the TopologyManager aligns",
    reads=("kubelet",),
    scope="node",
    remedy="Set cpuManagerPolicy: static and reserve processors; only then are a container's processors chosen beside its accelerator.",
    follows=("kubelet-topology-policy",),
)
def kubelet_cpu_manager(view, p):
    kubelet = Kubelet(view)
    if kubelet.text("topology_manager_policy") == "none":
        return not_applicable("the TopologyManager aligns nothing")
    policy = kubelet.text("cpu_manager_policy")
    if policy == "static":
        return PASSED
    expected = expectation("static", origin="kubernetes.io: the static policy gives the TopologyManager hints")
    return found("The CPU manager's policy is %s: processors are not aligned with accelerators" % show(policy), show(policy), expected)


@rule(
    id="kubelet-device-gates",
    layer=2,
    level="warn",
    title="No feature that hands out devices is switched off",
    reads=("kubelet",),
    scope="node",
    remedy="Remove the entry from featureGates, or say why it is off: accelerator_policy_kubelet_device_gates_enabled: false.",
    parameters={
        "gates": Parameter(
            "list",
            ["CPUManager", "DevicePluginCDIDevices", "DevicePlugins", "KubeletPodResources", "MemoryManager", "TopologyManager"],
            "",
            "kubernetes.io: Feature Gates: device plugins, their CDI devices, what monitoring asks, and alignment",
        )
    },
)
def kubelet_device_gates(view, p):
    kubelet = Kubelet(view)
    if kubelet.unset("feature_gates"):
        return PASSED
    gates = kubelet.section.facts("settings", "feature_gates", "value").data
    off = [name for name in p.gates if gates.get(name) is False]
    return found("Switched off: %s" % ", ".join(off), ", ".join(off), p.expected("gates", value="on")) if off else PASSED
