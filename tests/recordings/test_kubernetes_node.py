# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node of a Kubernetes cluster: healthy, and with one fault of each kind."""

from __future__ import annotations

import functools
import json

import demo
import kubernetes_node as node
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document, verdict
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

OURS = sorted(name for name in RULES if name.startswith(("kubelet-", "runtime-", "cdi-")))
SECTIONS = ("kubelet", "container_runtime", "cdi")


def told(recorded, profile="preflight"):
    """({rule: [level, …]} of what is found, {rule: reason} of what is unknown, verdict, reasons), of these rules; each section fits its schema."""
    sections = demo.read(recorded)
    assert demo.misfits({name: sections[name] for name in SECTIONS}) == []
    asked = profiles.find(profile)
    judged = engine.judge("k8s-1", {name: demo.envelope(data) for name, data in sections.items()}, policy.parse({}), asked)
    found = {}
    for one in judged.findings:
        if one["rule"] in OURS:
            found.setdefault(one["rule"], []).append(one["level"])
    unknown = {rule: reason for rule, outcome, reason, _count in judged.gaps if rule in OURS and outcome == "unknown"}
    word, reasons = verdict.decide(asked, verdict.layers(asked, judged.counts), judged.findings, judged.gaps)
    return found, unknown, word, reasons


@functools.cache
def healthy():
    return demo.read(node.recording())


def test_all_of_it_is_read():
    sections = healthy()
    assert not any("not recorded" in json.dumps(sections[name]) for name in SECTIONS)
    kubelet, runtime, cdi = (sections[name] for name in SECTIONS)
    assert (kubelet["state"], kubelet["nic_numa_nodes"]) == ("running", [0, 1])
    assert runtime["kubelet"] == {"endpoint": "/run/containerd/containerd.sock", "engine": "containerd"}
    assert {key: runtime["containers"][key] for key in ("checked", "with_devices", "lost", "unlinked")} == {
        "checked": 1, "with_devices": 1, "lost": [], "unlinked": [],
    }  # fmt: skip
    assert [(spec["path"], spec["state"], spec["driver_versions"]) for spec in cdi["specs"]] == [(node.SPEC, "valid", [node.DRIVER])]
    (containerd,) = runtime["engines"]
    assert (containerd["snapshotter"], containerd["sandbox_image"], containerd["registry"]["hosts"]) == (
        "overlayfs", "registry.example/pause:3.10", ["registry.example"],
    )  # fmt: skip


def test_the_topology_of_the_document():
    topology = preflight_document.document(healthy())["topology"]
    assert topology == {"timestamp": healthy()["kubelet"]["timestamp"], "policy": "restricted", "depth": "declared"}


def test_nothing_is_found_and_nothing_is_unknown():
    found, unknown, word, _reasons = told(node.recording())
    assert (found, unknown, word) == ({}, {}, "accepted")


def test_acceptance_misses_nothing_of_the_kubelet_and_the_engine():
    found, unknown, _word, reasons = told(node.recording(), "acceptance")
    assert (found, unknown) == ({}, {})
    assert not [reason for reason in reasons if any(name in reason for name in (*OURS, "layer 2"))]


def test_acceptance_finds_a_node_without_any_of_it_not_sick():
    bare = demo.document("gpu-h01")
    found, unknown, _word, reasons = told(bare, "acceptance")
    assert (found, unknown) == ({}, {})
    assert not [reason for reason in reasons if any(name in reason for name in (*OURS, "layer 2"))]


def setting(old, new):
    def broken(recorded):
        assert old in recorded["files"][node.KUBELET]
        recorded["files"][node.KUBELET] = recorded["files"][node.KUBELET].replace(old, new)

    return broken


def answers(**changes):
    """containerd says this; its configuration on disk is the same unless it is named."""

    def broken(recorded):
        recorded["commands"][:] = [node.info(**changes) if entry["argv"] == node.CRICTL else entry for entry in recorded["commands"]]
        for entry in recorded["commands"]:
            if entry["argv"][:2] == ["containerd", "config"]:
                entry["stdout"] = configured(**changes)

    return broken


def configured(default="nvidia", systemd=True, program=node.TOOLKIT, by_cdi=True, handlers=("nvidia", "runc")):
    text = node.DUMP.replace('name = "nvidia"', 'name = "%s"' % default).replace("SystemdCgroup = true", "SystemdCgroup = %s" % str(systemd).lower())
    text = text.replace(node.TOOLKIT, program).replace("enable_cdi = true", "enable_cdi = %s" % str(by_cdi).lower())
    if "nvidia" not in handlers:
        start = text.index('    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]')
        text = text[:start] + text[text.index('    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]') :]
    return text


def entries(**changes):
    """changes: by the names below, of files."""

    def broken(recorded):
        for path, entry in changes["files"].items():
            recorded["files"][path] = entry

    return broken


def specification(change=None, mtime=90, driver=node.DRIVER):
    def broken(recorded):
        document = node.specification(driver=driver)
        if change is not None:
            change(document)
        node.dated(recorded["files"], node.SPEC, document, recorded["host"]["boot_time"] + mtime)
        path = node.LIBRARY.replace(node.DRIVER, driver)
        recorded["files"].setdefault(path, {"type": "file", "mode": "0644"})

    return broken


def second_file(recorded):
    recorded["files"]["/var/run/cdi"] = {"dir": ["nvidia.yaml", "other.yaml"]}
    node.dated(recorded["files"], "/var/run/cdi/other.yaml", node.specification(), recorded["host"]["boot_time"] + 91)


def both_toolkits(recorded):
    recorded["files"]["/usr/local/nvidia"] = {"exists": True}
    recorded["files"]["/usr/local/nvidia/toolkit/nvidia-container-runtime"] = {"exists": True}


def both(*breaks):
    def broken(recorded):
        for one in breaks:
            one(recorded)

    return broken


GONE = {"/opt/old/nvidia-container-runtime": {"absent": True}}
MOVED = {node.ROOT + "/nvidia-uvm": {"device": "char", "major": 508, "minor": 0}}
FAULTS = {
    "no handler and no CDI": (answers(default="runc", handlers=("runc",), by_cdi=False), {"runtime-handler": ["fail"], "runtime-default-handler": ["info"]}),
    "the handler's program is gone": (
        both(answers(program="/opt/old/nvidia-container-runtime"), entries(files=GONE)),
        {"runtime-handler": ["fail"], "runtime-default-handler": ["fail"]},
    ),
    "a default that does not exist": (answers(default="kata"), {"runtime-default-handler": ["fail"]}),
    "another cgroup driver": (answers(systemd=False), {"runtime-cgroup-driver": ["warn", "warn"]}),
    "two places of the toolkit": (both_toolkits, {"runtime-toolkit-authority": ["warn"]}),
    "a container that lost a device": (entries(files=MOVED), {"runtime-devices-lost": ["warn"]}),
    "no links of character devices": (entries(files={"/dev/char": {"dir": ["1:3"]}}), {"runtime-reload-cuts-devices": ["info"]}),
    "CDI: no specification a runtime takes": (
        specification(lambda d: d.pop("cdiVersion")),
        {"cdi-invalid": ["fail"], "cdi-names-every-accelerator": ["info"]},
    ),
    "CDI: of another driver": (specification(driver="550.54.15"), {"cdi-stale": ["fail"]}),
    "CDI: older than the boot": (specification(mtime=-7200), {"cdi-stale": []}),
    "CDI: a library is gone": (entries(files={node.LIBRARY: {"absent": True}}), {"cdi-device-missing": ["fail"]}),
    "CDI: two files name one device": (second_file, {"cdi-conflict": ["fail"], "cdi-names-every-accelerator": ["fail"]}),
    "CDI: an accelerator is not named": (specification(lambda d: d["devices"].__delitem__(slice(2, 5))), {"cdi-names-every-accelerator": ["fail"]}),
    "nothing reserved": (
        both(setting("kubeReserved: {cpu: 500m, memory: 3Gi}\n", ""), setting("systemReserved: {cpu: 500m, memory: 2Gi}\n", "")),
        {"kubelet-reservations": ["warn"]},
    ),
    "too little memory reserved": (
        both(setting("memory: 3Gi", "memory: 100Mi"), setting("memory: 2Gi", "memory: 100Mi")),
        {"kubelet-reservations": ["warn"]},
    ),
    "no alignment": (setting("restricted", "none"), {"kubelet-topology-policy": ["warn"]}),
    "no eviction for a full disk": (setting(", nodefs.available: 10%", ""), {"kubelet-eviction": ["info"]}),
    "no CPU manager": (setting("cpuManagerPolicy: static", "cpuManagerPolicy: none"), {"kubelet-cpu-manager": ["info"]}),
    "a gate is off": (setting("maxPods", "featureGates: {DevicePluginCDIDevices: false}\nmaxPods"), {"kubelet-device-gates": ["warn"]}),
    "two kubelets": (
        entries(files={"/proc": {"dir": ["1", "900", "901", "1200", "5001"]}, "/proc/901/cmdline": "kubelet\0"}),
        {"kubelet-settings-read": ["warn"]},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name):
    recorded = node.recording()
    breaks, expected = FAULTS[name]
    breaks(recorded)
    found, unknown, _word, _reasons = told(recorded)
    assert {rule: levels for rule, levels in expected.items() if levels} == found
    assert set(unknown) == {rule for rule, levels in expected.items() if not levels}


UNREAD = {
    "hidepid": ({"/proc": {"dir": ["5001"]}}, ("kubelet-settings-read", "runtime-handler")),
    "the file of the kubelet": ({node.KUBELET: {"error": "EACCES"}}, ("kubelet-settings-read",)),
    "YAML that is none": ({node.KUBELET: 'token: "open\nmaxPods: 3\n'}, ("kubelet-settings-read",)),
    "a directory of specifications": ({"/var/run/cdi": {"error": "EACCES"}}, ("cdi-invalid",)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_could_not_be_read_is_unknown_and_rejects_nothing(name):
    recorded = node.recording()
    files, rules = UNREAD[name]
    recorded["files"].update(files)
    found, unknown, word, _reasons = told(recorded)
    assert found == {} and set(rules) <= set(unknown) and word == "accepted"
    _found, unknown, word, reasons = told(recorded, "acceptance")
    # A reason names three of the rules that it is the reason of.
    assert word == "incomplete" and any(reason.startswith("unknown: " + unknown[rules[0]]) for reason in reasons), reasons
