# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the kubelet's two settings of the operator are named: every case of the order in which they are looked for."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kubelet_setting import ENDPOINT, TOPOLOGY_POLICY, line_value, read
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document
from kubelet_machine import CONFIG, DROP_INS, KUBELET, STANDARD, machine, policy, section

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
    assert found["lines"]["topology_manager_policy"]["skipped"] == [DROP_INS + "/20.conf"]
    assert preflight_document.document({"kubelet": found})["topology"] == {"timestamp": found["timestamp"], "policy": "restricted", "depth": "declared"}
    entries[DROP_INS + "/20.conf"] = {"link": "/opt/gone"}
    found = section(files, {7: [*KUBELET, "--config-dir=" + DROP_INS]}, entries=entries)
    assert found["lines"]["topology_manager_policy"]["value"] == "none"
    assert policy(found) == ("unreadable", DROP_INS + "/20.conf: absent")
    told = preflight_document.document({"kubelet": found})["topology"]
    assert (told["policy"], told["note"]) == ("unknown", DROP_INS + "/20.conf: absent")
