# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What else a kubelet's files and flags name, the kubelets of other distributions, and garbage."""

from __future__ import annotations

import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kubelet_setting import Kubelet
from kubelet_machine import CONFIG, DROP_INS, KUBELET, STANDARD, VALIDATOR, machine, policy, section

FILE = """\
kubeReserved: {cpu: 1, memory: 2Gi}
systemReserved:
  cpu: 500m
evictionHard:
  memory.available: 500Mi
  nodefs.available: 10%
featureGates:
  CPUManager: true
  DevicePlugins: false
  Unrelated: true
reservedMemory:
- numaNode: 0
  limits: {memory: 1100Mi}
reservedSystemCPUs: 0-1
enforceNodeAllocatable: [pods]
maxPods: 110
mergeDefaultEvictionSettings: true
cgroupDriver: systemd
cpuManagerPolicy: static
"""


def values(found):
    return {name: setting["value"] for name, setting in found["settings"].items() if setting["outcome"] == "value"}


def test_what_else_a_file_names():
    found = values(section({CONFIG: FILE}, {7: [*KUBELET, "--config=" + CONFIG]}))
    assert found == {
        "kube_reserved": {"cpu": "1", "memory": "2Gi"},
        "system_reserved": {"cpu": "500m"},
        "eviction_hard": {"memory.available": "500Mi", "nodefs.available": "10%"},
        "feature_gates": {"CPUManager": True, "DevicePlugins": False},
        "reserved_memory": [{"numa_node": 0, "limits": {"memory": "1100Mi"}}],
        "reserved_cpus": "0-1",
        "enforce_node_allocatable": ["pods"],
        "max_pods": 110,
        "eviction_defaults_kept": True,
        "cgroup_driver": "systemd",
        "cpu_manager_policy": "static",
    }


def test_flags_of_the_same():
    words = ["--kube-reserved=cpu=2", "--kube-reserved=memory=4Gi", "--eviction-hard=memory.available<1Gi,nodefs.available<10%", "--max-pods", "17"]
    words += ["--feature-gates=DevicePlugins=true,DynamicResourceAllocation=true", "--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi"]
    words += ["--enforce-node-allocatable=pods,kube-reserved", "--reserved-cpus=0,4"]
    found = section({CONFIG: FILE}, {7: [*KUBELET, "--config=" + CONFIG, *words]})
    said = values(found)
    assert said["kube_reserved"] == {"cpu": "2", "memory": "4Gi"}  # a flag replaces the file's map
    assert said["eviction_hard"] == {"memory.available": "1Gi", "nodefs.available": "10%"}
    assert said["feature_gates"] == {"CPUManager": True, "DevicePlugins": True, "DynamicResourceAllocation": True}  # gates are merged
    assert said["reserved_memory"] == [{"numa_node": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}}, {"numa_node": 1, "limits": {"memory": "2Gi"}}]
    assert (said["max_pods"], said["reserved_cpus"], said["enforce_node_allocatable"]) == (17, "0,4", ["pods", "kube-reserved"])
    assert found["settings"]["feature_gates"]["source"] == "the kubelet's own command line over " + CONFIG


def test_drop_ins_are_merged_over_the_file():
    files = {
        CONFIG: FILE,
        DROP_INS + "/10.conf": "kubeReserved: {memory: 8Gi}\nenforceNodeAllocatable: [none]\n",
        DROP_INS + "/20.conf": "kubeReserved: {pid: 100}\n",
    }
    found = section(files, {7: [*KUBELET, "--config=" + CONFIG, "--config-dir=" + DROP_INS]})
    assert values(found)["kube_reserved"] == {"cpu": "1", "memory": "8Gi", "pid": "100"}
    assert values(found)["enforce_node_allocatable"] == ["none"]
    assert found["settings"]["kube_reserved"]["source"] == "%s over %s" % (DROP_INS, CONFIG)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kubeReserved: [a]", "kube_reserved"),
        ("kubeReserved: {cpu: {a: b}}", "kube_reserved"),
        ("maxPods: many", "max_pods"),
        ("maxPods: 1.5", "max_pods"),
        ("featureGates: {CPUManager: maybe}", "feature_gates"),
        ("reservedMemory: [{numaNode: x}]", "reserved_memory"),
        ("reservedMemory: 5", "reserved_memory"),
        ("topologyManagerPolicy: [none]", "topology_manager_policy"),
        ("enforceNodeAllocatable: {a: b}", "enforce_node_allocatable"),
        ("mergeDefaultEvictionSettings: 7", "eviction_defaults_kept"),
    ],
)
def test_a_value_of_another_kind_is_unknown(text, name):
    found = section({CONFIG: text + "\ncgroupDriver: systemd\n"}, {7: [*KUBELET, "--config=" + CONFIG]})
    assert found["settings"][name]["outcome"] == "unreadable"
    assert "not understood" in found["settings"][name]["value"]["unknown"]
    assert values(found)["cgroup_driver"] == "systemd"


def test_a_file_that_is_no_mapping():
    assert policy(section({CONFIG: "- a\n"}, {7: [*KUBELET, "--config=" + CONFIG]})) == ("unreadable", CONFIG + ": a mapping is expected")
    assert policy(section({CONFIG: "# nothing\n"}, {7: [*KUBELET, "--config=" + CONFIG]}))[0] == "unnamed"


# -- distributions with a kubelet inside --------------------------------------------------------------------------------


def test_k3s():
    files = {
        "/etc/rancher/k3s/config.yaml": "kubelet-arg:\n- max-pods=200\n- cpu-manager-policy=static\n",
        "/etc/rancher/k3s/config.yaml.d/10.yaml": "kubelet-arg: max-pods=220\n",
        "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf": "containerRuntimeEndpoint: unix:///run/k3s/containerd/containerd.sock\nmaxPods: 1\n",
        STANDARD[1]: "topologyManagerPolicy: none\n",  # left by kubeadm, of no meaning to k3s
    }
    words = ["/usr/local/bin/k3s", "server", "--kubelet-arg=topology-manager-policy=restricted", "--kubelet-arg", "kube-reserved=cpu=1,memory=2Gi"]
    found = section(files, {9: words})
    assert (found["state"], found["process"]["name"], found["process"]["pid"]) == ("embedded", "k3s", 9)
    assert found["searched"] == [
        "the command line of k3s", "/etc/rancher/k3s/config.yaml.d/10.yaml", "/etc/rancher/k3s/config.yaml", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
    ]  # fmt: skip
    assert values(found) == {
        "container_runtime_endpoint": "/run/k3s/containerd/containerd.sock",
        "topology_manager_policy": "restricted",
        "cpu_manager_policy": "static",
        "kube_reserved": {"cpu": "1", "memory": "2Gi"},
        "max_pods": 220,
    }
    assert found["lines"]["topology_manager_policy"]["value"] == "none"  # the operator's preflight sees no kubelet
    assert found["settings"]["cgroup_driver"]["value"]["unknown"].startswith("k3s has its kubelet inside and shows no command line of it")


def test_k3s_that_is_no_node():
    assert section({}, {9: ["/usr/local/bin/k3s", "kubectl", "get", "nodes"]})["state"] == "not_running"


def test_rke2_starts_a_kubelet_of_its_own():
    words = ["kubelet", "--config-dir=/var/lib/rancher/rke2/agent/etc/kubelet.conf.d", "--node-labels="]
    files = {"/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: restricted\n"}
    found = section(files, {9: ["/usr/local/bin/rke2", "agent"], 12: words})
    assert (found["state"], found["process"]["name"], found["process"]["pid"], policy(found)) == ("running", "rke2", 12, "restricted")
    assert section(files, {9: ["/usr/local/bin/rke2", "agent"]})["state"] == "embedded"
    found = section(files, {})
    assert (found["state"], found["process"]["name"]) == ("not_running", "rke2")


def test_microk8s():
    path = "/var/snap/microk8s/77/args/kubelet"
    args = "# flags\n--container-runtime-endpoint=${SNAP_COMMON}/run/containerd.sock\n"
    args += "--topology-manager-policy=restricted\n--eviction-hard='memory.available<100Mi'\n"
    words = ["/snap/microk8s/77/kubelite", "--scheduler-args-file=/x", "--kubelet-args-file=" + path]
    found = section({path: args}, {9: words})
    assert (found["state"], found["process"]["name"], policy(found)) == ("embedded", "microk8s", "restricted")
    assert values(found)["container_runtime_endpoint"] == "/var/snap/microk8s/common/run/containerd.sock"
    assert found["searched"] == [path]
    assert policy(section({}, {9: words})) == ("unreadable", path + ": absent")


def test_a_node_without_any_kubelet():
    entries = {"/var/lib": {"dir": ["rancher"]}, "/var/lib/rancher": {"dir": []}}
    recorded = machine(entries=entries)
    del recorded._files["/var/lib/kubelet"]  # the machine's helper makes one
    found = kubelet.collect(recorded)
    assert (found["state"], found["process"]["name"]) == ("absent", {"not_applicable": "no kubelet"})
    assert found["settings"]["topology_manager_policy"]["value"] == {"not_applicable": "no kubelet on this node"}
    assert "unknown" in found["lines"]["topology_manager_policy"]["value"]


def test_a_directory_that_never_ends():
    names = ["%03d.conf" % n for n in range(201)]
    entries = {DROP_INS: {"dir": names}, **{"%s/%s" % (DROP_INS, name): "" for name in names}}
    assert policy(section({}, {7: [*KUBELET, "--config-dir=" + DROP_INS]}, entries=entries)) == ("unsearchable", DROP_INS + ": more than is walked")
    deep, entries = DROP_INS, {}
    for _unused in range(12):
        entries[deep] = {"dir": ["d"]}
        deep += "/d"
    entries[deep] = {"dir": []}
    assert policy(section({}, {7: [*KUBELET, "--config-dir=" + DROP_INS]}, entries=entries))[0] == "unsearchable"


def test_long_command_lines_are_read_whole():
    labels = "--node-labels=" + ",".join("example.com/label-%d=x" % n for n in range(200))
    assert policy(section({}, {7: ["/usr/bin/kubelet", labels, "--topology-manager-policy=restricted"]})) == "restricted"
    assert policy(section({}, {7: ["/" + "d" * 600 + "/kubelet", "--topology-manager-policy=restricted"]})) == "restricted"
    assert section({}, {7: ["/usr/bin/kubelet", "x" * (1 << 18)]})["problem"] == "/proc/7/cmdline: longer than is read"


def test_every_file_is_read_once():
    host, asked = machine({CONFIG: FILE}, {7: [*KUBELET, "--config=" + CONFIG]}), []
    real = host.read_bytes
    host.read_bytes = lambda path, limit=None: (asked.append(path), real(path, limit))[1]
    kubelet.collect(host)
    assert asked.count(CONFIG) == 1 and asked.count("/proc/7/cmdline") == 1
    assert Kubelet(host).running


PIECES = [
    "kubeReserved:",
    " topologyManagerPolicy: ",
    "none",
    "\n",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "\t",
    "\0",
    "--config=",
    "=",
    ",",
    "<",
    "'",
    '"',
    "é",
    "\ufffd",
    "0",
    ": ",
    "maxPods: 9e9\n",
]
PIECES += ["reservedMemory:\n- numaNode: 0\n  limits:", "featureGates: ", "--kube-reserved=", "--feature-gates=", "kubelet-arg: "]


@pytest.mark.parametrize("seed", range(4))
def test_garbage_raises_nothing(seed):
    dice = random.Random(seed)
    for _unused in range(60):
        text = "".join(dice.choice(PIECES) for _unused in range(dice.randrange(30)))
        words = [dice.choice(["/usr/bin/kubelet", "k3s", "kubelite"]), "server", "--config=" + CONFIG, "--config-dir=" + DROP_INS]
        words += ["".join(dice.choice(PIECES) for _unused in range(4)).replace("\0", "") for _unused in range(6)]
        files = {CONFIG: text, DROP_INS + "/a.conf": text, STANDARD[0]: text, STANDARD[1]: text, "/etc/rancher/k3s/config.yaml": text}
        files["/var/snap/microk8s/current/args/kubelet"] = text
        section(files, {7: words} if dice.random() < 0.8 else {})


def test_a_machine_that_recorded_nothing():
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": {}})
    found = kubelet.collect(host)
    assert found["state"] == "unknown" and {s["outcome"] for s in found["settings"].values()} == {"unsearchable"}
    assert [error.message for error in VALIDATOR.iter_errors(found)] == []


def test_the_rotation_of_logs_is_told_as_it_is_set():
    text = FILE + "containerLogMaxSize: 50Mi\ncontainerLogMaxFiles: 3\n"
    found = values(section({CONFIG: text}, {7: [*KUBELET, "--config=" + CONFIG, "--container-log-max-files=4"]}))
    assert (found["container_log_max_size"], found["container_log_max_files"]) == ("50Mi", 4)
