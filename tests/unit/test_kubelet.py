# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet of a node: every branch of where a setting is named, by line and as the kubelet reads it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kubelet_setting import ENDPOINT, TOPOLOGY_POLICY, Kubelet, line_value, read

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "kubelet.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STANDARD = ["/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/config.yaml", "/var/lib/rancher/*/agent/etc/kubelet.conf.d"]


def machine(files=None, processes=None, **more):
    """A recorded machine. processes: pid -> words; files: path -> content; every other place is absent."""
    recorded = {"/proc": {"dir": []}, "/etc/rancher": {"dir": []}, "/var/lib/rancher": {"dir": []}, "/var/lib/kubelet": {"dir": []}}
    recorded.update({"/var/snap": {"dir": []}, "/etc": {"dir": ["rancher", "kubernetes"]}, "/etc/kubernetes": {"dir": []}})
    for pid, words in {1: ["/sbin/init"], **(processes or {})}.items():
        recorded["/proc"]["dir"].append(str(pid))
        recorded["/proc/%s/cmdline" % pid] = words if isinstance(words, dict) else "\0".join(words) + "\0"
    for path, content in (files or {}).items():
        recorded[path] = content
        while path.count("/") > 1:
            path, _slash, name = path.rpartition("/")
            entry = recorded.setdefault(path, {"dir": []})
            if "dir" in entry and name not in entry["dir"]:
                entry["dir"].append(name)
    recorded.update(more.get("entries", {}))
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": recorded})


def section(*arguments, **more):
    found = kubelet.collect(machine(*arguments, **more))
    assert [error.message for error in VALIDATOR.iter_errors(found)] == []
    return found


def policy(found):
    setting = found["settings"]["topology_manager_policy"]
    return setting["value"] if setting["outcome"] == "value" else (setting["outcome"], setting["value"]["unknown"])


KUBELET = ["/usr/bin/kubelet", "--v=2"]
CONFIG = "/etc/kubernetes/kubelet.yaml"
DROP_INS = "/etc/kubernetes/kubelet.d"

# name: (files, processes, outcome and value by line, outcome and value as the kubelet reads it, source)
CASES = {
    "its command line, flag=value": ({}, {7: [*KUBELET, "--topology-manager-policy=restricted"]}, "restricted", None, "the kubelet's own command line"),
    "its command line, flag value": ({}, {7: [*KUBELET, "--topology-manager-policy", "restricted"]}, "restricted", None, "the kubelet's own command line"),
    "the last flag wins": (
        {},
        {7: [*KUBELET, "--topology-manager-policy=none", "--topology-manager-policy", "best-effort"]},
        "best-effort",
        None,
        "the kubelet's own command line",
    ),
    "the flag before the file": (
        {CONFIG: "topologyManagerPolicy: none\n"},
        {7: [*KUBELET, "--config=" + CONFIG, "--topology-manager-policy=restricted"]},
        "restricted",
        None,
        "the kubelet's own command line",
    ),
    "an empty flag counts as none": (
        {CONFIG: "topologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--config", CONFIG, "--topology-manager-policy="]},
        "restricted",
        None,
        CONFIG,
    ),
    "the flag of another name": (
        {CONFIG: "topologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--topology-manager-policy-options=x=y", "--config-dir=", "--config=" + CONFIG]},
        "restricted",
        None,
        CONFIG,
    ),
    "drop-ins before the file": (
        {CONFIG: "topologyManagerPolicy: none\n", DROP_INS + "/10.conf": "topologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--config-dir=" + DROP_INS, "--config=" + CONFIG]},
        "restricted",
        None,
        DROP_INS,
    ),
    "the later drop-in wins, in the order of a walk": (
        {
            DROP_INS + "/10-a.conf": "topologyManagerPolicy: none\n",
            DROP_INS + "/20/30.conf": "topologyManagerPolicy: restricted\n",
            DROP_INS + "/20/deep/10.conf": "topologyManagerPolicy: best-effort\n",
            DROP_INS + "/20.conf": "a: b\n",
            DROP_INS + "/90.yaml": "topologyManagerPolicy: single-numa-node\n",
        },
        {7: [*KUBELET, "--config-dir=" + DROP_INS]},
        "best-effort",
        None,
        DROP_INS,
    ),
    "a drop-in without the field does not hide the file": (
        {CONFIG: "topologyManagerPolicy: restricted\n", DROP_INS + "/10.conf": "maxPods: 50\n"},
        {7: [*KUBELET, "--config-dir=" + DROP_INS, "--config=" + CONFIG]},
        "restricted",
        None,
        CONFIG,
    ),
    "a relative file is joined to the root": (
        {CONFIG: "topologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--config=etc/kubernetes/kubelet.yaml"]},
        "restricted",
        None,
        CONFIG,
    ),
    "the lowest pid": (
        {},
        {30: ["kubelet", "--topology-manager-policy=none"], 7: ["/opt/bin/kubelet", "--topology-manager-policy=restricted"]},
        "restricted",
        None,
        "the kubelet's own command line",
    ),
    "a word that is only named kubelet": (
        {STANDARD[1]: "topologyManagerPolicy: restricted\n"},
        {7: ["bash", "/home/kubernetes/bin/health-monitor.sh", "kubelet", "--topology-manager-policy=none"], 8: ["grep", "kubelet"]},
        "restricted",
        None,
        STANDARD[1],
    ),
    "no kubelet: kubeadm's flags first": (
        {
            STANDARD[0]: 'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=x --topology-manager-policy=restricted"\n',
            STANDARD[1]: "topologyManagerPolicy: none\n",
        },
        {},
        "restricted",
        None,
        STANDARD[0],
    ),
    "no kubelet: kubeadm's file": ({STANDARD[1]: 'topologyManagerPolicy: "restricted"\n'}, {}, "restricted", None, STANDARD[1]),
    "no kubelet: drop-ins of Rancher": (
        {"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: restricted\n"},
        {},
        "restricted",
        None,
        STANDARD[2],
    ),
    "no kubelet: two trees that agree": (
        {
            "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: restricted\n",
            "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: restricted\n",
        },
        {},
        "restricted",
        None,
        STANDARD[2],
    ),
    # Where reading by line and reading YAML differ.
    "a comment behind a value": (
        {CONFIG: "maxPods: 50 # topologyManagerPolicy: none\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        "none",
        ("unnamed", "the running kubelet names no topologyManagerPolicy in the kubelet's own command line or /etc/kubernetes/kubelet.yaml"),
        "",
    ),
    "a key that is nested": (
        {CONFIG: "other:\n  topologyManagerPolicy: none\ntopologyManagerScope: pod\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        "none",
        ("unnamed", "the running kubelet names no topologyManagerPolicy in the kubelet's own command line or /etc/kubernetes/kubelet.yaml"),
        "",
    ),
    "JSON": (
        {CONFIG: '{\n\t"kind": "KubeletConfiguration",\n\t"topologyManagerPolicy": "restricted"\n}\n'},
        {7: [*KUBELET, "--config=" + CONFIG]},
        ("unnamed", "the running kubelet names no policy in the kubelet's own command line or /etc/kubernetes/kubelet.yaml"),
        "restricted",
        CONFIG,
    ),
    "a flow mapping": (
        {CONFIG: "{topologyManagerPolicy: restricted, maxPods: 9}\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        "restricted,",
        "restricted",
        CONFIG,
    ),
    "a value on the next line": (
        {CONFIG: "topologyManagerPolicy:\n  restricted\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        ("unnamed", "the running kubelet names no policy in the kubelet's own command line or /etc/kubernetes/kubelet.yaml"),
        "restricted",
        CONFIG,
    ),
    "a key given twice": (
        {CONFIG: "topologyManagerPolicy: none\ntopologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        "restricted",
        ("unreadable", CONFIG + ": line 2: the key topologyManagerPolicy is given twice"),
        CONFIG,
    ),
    "an anchor": (
        {CONFIG: "a: &x 1\ntopologyManagerPolicy: restricted\n"},
        {7: [*KUBELET, "--config=" + CONFIG]},
        "restricted",
        ("unreadable", CONFIG + ": line 1: an anchor is outside of what is read"),
        CONFIG,
    ),
    "a flag and its value in kubeadm's file": (
        {STANDARD[0]: "KUBELET_KUBEADM_ARGS='--topology-manager-policy restricted'\n"},
        {},
        ("unnamed", "no kubelet runs, and no policy is named in %s, %s or %s; a later kubelet may still get one on its command line" % tuple(STANDARD)),
        "restricted",
        STANDARD[0],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_a_setting_is_named(name):
    files, processes, by_line, by_kubelet, source = CASES[name]
    found = read(machine(files, processes), *TOPOLOGY_POLICY, what="policy")
    whole = section(files, processes)
    line = whole["lines"]["topology_manager_policy"]
    if isinstance(by_line, tuple):
        assert (line["outcome"], line["value"]["unknown"]) == by_line and found.outcome == by_line[0]
    else:
        assert (line["outcome"], line["value"]) == ("value", by_line) == (found.outcome, found.value)
    assert policy(whole) == (by_line if by_kubelet is None else by_kubelet)
    assert whole["settings"]["topology_manager_policy"]["source"] == source


DENIED = {"error": "EACCES"}
FAILURES = {
    # What could not be looked at is never "not named".
    "no /proc": ({"/proc": {"absent": True}}, {}, {}, "unsearchable", "/proc: absent; where the root of the host is mounted, mount it with its sub-mounts"),
    "/proc denied": ({"/proc": DENIED}, {}, {}, "unsearchable", "/proc: denied (EACCES)"),
    "an empty /proc": ({"/proc": {"dir": ["self", "meminfo"]}}, {}, {}, "unsearchable", "/proc lists no process"),
    "a process that hides": ({}, {}, {44: DENIED}, "unsearchable", "/proc/44/cmdline: denied (EACCES); processes of others may be hidden (hidepid)"),
    "hidepid=2 shows only our own": ({"/proc": {"dir": ["44"]}}, {}, {44: ["python3"]}, "unsearchable", "/proc does not list process 1"),
    "one that hides behind a kubelet": ({}, {}, {7: [*KUBELET, "--topology-manager-policy=none"], 44: DENIED}, "unsearchable", "/proc/44/cmdline: denied"),
    "an I/O error": ({}, {}, {44: {"error": "EIO"}}, "unsearchable", "/proc/44/cmdline: io error (EIO)"),
    "a named file that is not there": ({}, {}, {7: [*KUBELET, "--config=/etc/kubernetes/gone.yaml"]}, "unreadable", "/etc/kubernetes/gone.yaml: absent"),
    "a named file that is denied": ({CONFIG: DENIED}, {CONFIG: ""}, {7: [*KUBELET, "--config=" + CONFIG]}, "unreadable", CONFIG + ": denied (EACCES)"),
    "a named directory that is not there": ({}, {}, {7: [*KUBELET, "--config-dir=/etc/kubernetes/gone"]}, "unsearchable", "/etc/kubernetes/gone: absent"),
    "a directory below it is denied": (
        {DROP_INS: {"dir": ["a"]}, DROP_INS + "/a": {"error": "EACCES", "type": "directory"}},
        {},
        {7: [*KUBELET, "--config-dir=" + DROP_INS]},
        "unsearchable",
        DROP_INS + "/a: denied (EACCES)",
    ),
    "a drop-in is denied": (
        {DROP_INS: {"dir": ["a.conf"]}, DROP_INS + "/a.conf": {"error": "EACCES", "type": "file"}},
        {},
        {7: [*KUBELET, "--config-dir=" + DROP_INS]},
        "unreadable",
        DROP_INS + "/a.conf: denied (EACCES)",
    ),
    "kubeadm's file is denied": ({STANDARD[1]: DENIED}, {STANDARD[1]: ""}, {}, "unreadable", STANDARD[1] + ": denied (EACCES)"),
    "Rancher's directory is denied": ({"/var/lib/rancher": DENIED}, {}, {}, "unsearchable", "/var/lib/rancher: denied (EACCES)"),
    "nothing named, a kubelet runs": ({}, {}, {7: KUBELET}, "unnamed", "the running kubelet names no policy in the kubelet's own command line"),
    "nothing named, none runs": ({}, {}, {}, "unnamed", "a later kubelet may still get one on its command line"),
    "two trees disagree": (
        {},
        {
            "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: none\n",
            "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00.conf": "topologyManagerPolicy: restricted\n",
        },
        {},
        "conflict",
        STANDARD[2] + ": configurations disagree: none, restricted",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_could_not_be_read_is_not_absent(name):
    entries, files, processes, outcome, note = FAILURES[name]
    found = read(machine(files, processes, entries=entries), *TOPOLOGY_POLICY, what="policy")
    assert (found.outcome, found.value) == (outcome, None) and note in found.note
    whole = section(files, processes, entries=entries)
    setting = whole["settings"]["topology_manager_policy"]
    assert setting["outcome"] == outcome
    assert note.replace("no policy", "no topologyManagerPolicy") in setting["value"]["unknown"]
    assert (whole["state"] == "unknown") == (outcome == "unsearchable" and bool(whole["problem"]))


def test_a_process_that_vanished_is_left_out():
    found = section({}, {5: {"absent": True}, 6: {"error": "ESRCH"}, 7: [*KUBELET, "--topology-manager-policy=restricted"], 8: {"base64": ""}})
    assert policy(found) == "restricted" and found["process"]["pid"] == 7


def test_a_hit_ends_the_reading():
    words = [*KUBELET, "--topology-manager-policy=restricted", "--config=/etc/kubernetes/gone.yaml"]
    found = section({}, {7: words})
    assert policy(found) == "restricted"
    assert found["settings"]["max_pods"]["outcome"] == "unreadable"


def test_standard_places_do_not_count_where_a_kubelet_runs():
    files = {STANDARD[1]: "topologyManagerPolicy: none\ncontainerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n", CONFIG: "a: b\n"}
    assert read(machine(files, {7: [*KUBELET, "--config=" + CONFIG]}), *ENDPOINT).outcome == "unnamed"
    assert section(files, {7: [*KUBELET, "--config=" + CONFIG]})["searched"] == ["the kubelet's own command line", CONFIG]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("containerRuntimeEndpoint: unix:///run/a.sock", "/run/a.sock"),
        ('  containerRuntimeEndpoint: "unix:///run/a.sock"  # why', "/run/a.sock"),
        ("containerRuntimeEndpoint:'/run/a.sock'", "/run/a.sock"),
        ("#containerRuntimeEndpoint: /run/a.sock", None),
        ("containerRuntimeEndpoint:", None),
        ('containerRuntimeEndpoint: ""', None),
        ("containerRuntimeEndpoint: /a\ncontainerRuntimeEndpoint: /b\n", "/b"),
        ("containerRuntimeEndpoint: /a\ncontainerRuntimeEndpoint:\n", "/a"),
        ("x: containerRuntimeEndpoint: /a containerRuntimeEndpoint: /b", "/b"),
    ],
)
def test_by_line(text, value):
    assert line_value(text, "containerRuntimeEndpoint:") == value


def test_a_scheme_is_taken_off_everywhere():
    for words in (["--container-runtime-endpoint=unix:///run/a.sock"], ["--container-runtime-endpoint", "unix:///run/a.sock"]):
        assert read(machine({}, {7: KUBELET + words}), *ENDPOINT).value == "/run/a.sock"
        assert section({}, {7: KUBELET + words})["settings"]["container_runtime_endpoint"]["value"] == "/run/a.sock"


def test_a_link_among_the_drop_ins():
    entries = {DROP_INS: {"dir": ["10.conf", "20.conf", "30"]}, DROP_INS + "/20.conf": {"link": "/opt/real"}, DROP_INS + "/30": {"link": "/opt"}}
    files = {DROP_INS + "/10.conf": "topologyManagerPolicy: none\n", "/opt/real": "topologyManagerPolicy: restricted\n"}
    found = section(files, {7: [*KUBELET, "--config-dir=" + DROP_INS]}, entries=entries)
    assert found["lines"]["topology_manager_policy"]["value"] == "none"  # the operator's preflight takes regular files
    assert policy(found) == "restricted"  # the kubelet follows
    entries[DROP_INS + "/20.conf"] = {"link": "/opt/gone"}
    found = section(files, {7: [*KUBELET, "--config-dir=" + DROP_INS]}, entries=entries)
    assert found["lines"]["topology_manager_policy"]["value"] == "none"
    assert policy(found) == ("unreadable", DROP_INS + "/20.conf: absent")


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
