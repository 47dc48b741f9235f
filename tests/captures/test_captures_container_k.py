# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of real kubelets. Each capture has its entry here; a new one without an entry fails."""

from __future__ import annotations

import re

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet

FOLDERS = ("container/kube*", "container/*kubelet*")
CONTAINERD = "/run/containerd/containerd.sock"
K3S = "/run/k3s/containerd/containerd.sock"
RANCHER_EVICTION = {"imagefs.available": "5%", "nodefs.available": "5%"}

# pid (of ps; a journal line stands for process 7), distribution, searched after the command line, settings of the command line.
EXPECTED = {
    "container/kubelet-cmdline-eks-docker-2021.txt": (3801, "kubelet", ["/etc/eksctl/kubelet.yaml"], {"max_pods": 17}),
    "container/kubelet-cmdline-gke-1.34.txt": (
        7,
        "kubelet",
        ["/home/kubernetes/kubelet-config.yaml"],
        {"container_runtime_endpoint": CONTAINERD, "max_pods": 110},
    ),
    "container/kubelet-cmdline-k3s-journal-2022-cgroupfs.txt": (
        7,
        "k3s",
        [],
        {"container_runtime_endpoint": K3S, "cgroup_driver": "cgroupfs", "eviction_hard": RANCHER_EVICTION},
    ),
    "container/kubelet-cmdline-k8s-snap-ps.txt": (
        2481,
        "kubelet",
        [],
        {
            "container_runtime_endpoint": CONTAINERD,
            "cgroup_driver": "systemd",
            "eviction_hard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
        },
    ),
    "container/kubelet-cmdline-rke2-journal-2023.txt": (
        7,
        "rke2",
        [],
        {"container_runtime_endpoint": K3S, "cgroup_driver": "systemd", "eviction_hard": RANCHER_EVICTION},
    ),
    "container/kubelet-cmdline-rke2-ps.txt": (17649, "rke2", ["/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"], {}),
    "container/kubelet-ps-gke-2018-health-monitor.txt": (1142, "kubelet", ["/home/kubernetes/kubelet-config.yaml"], {"max_pods": 110}),
}
ARGUMENTS = "container/sysconfig-kubelet-extra-args.env"
_PS = re.compile(r"(?:\d )?(?:[A-Z] )?\w+ +(\d+) .*?((?:bash |grep |/\S*/|(?<= ))kubelet .*|(?:bash|grep) .*)")


def processes(text):
    """pid -> words, of lines of ps or of what k3s and RKE2 log as they start a kubelet."""
    found = {}
    for line in text.splitlines():
        logged = re.search(r'msg="Running kubelet (.*)"', line)
        shown = _PS.match(line)
        if logged:
            found[7] = ["kubelet", *logged.group(1).split()]
        elif line.startswith("/"):
            # The program's own words hold blanks: only a word that begins as a flag, or follows --config, is one.
            found[7] = re.sub(r" (?!--|/home/kubernetes/kubelet-config)", "\x01", line).replace(" ", "\0").replace("\x01", " ").split("\0")
        elif shown:
            found[int(shown.group(1))] = shown.group(2).split()
    return found


def machine(found):
    files = {"/proc": {"dir": ["1", *(str(pid) for pid in found)]}, "/proc/1/cmdline": "/sbin/init\0"}
    files.update({"/proc/%d/cmdline" % pid: "\0".join(words) + "\0" for pid, words in found.items()})
    for path in ("/var", "/etc", "/home"):
        files[path] = {"dir": []}
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files})


def test_every_capture_has_an_entry(captures):
    found = {str(p.relative_to(captures)) for folder in FOLDERS for p in captures.glob(folder) if p.is_file()}
    assert found == {*EXPECTED, ARGUMENTS}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_command_line(captures, name):
    pid, distribution, searched, settings = EXPECTED[name]
    found = kubelet.collect(machine(processes((captures / name).read_text(encoding="utf-8"))))
    assert (found["state"], found["process"]["pid"], found["process"]["name"], found["process"]["other_pids"]) == ("running", pid, distribution, [])
    assert found["searched"] == ["the kubelet's own command line", *searched]
    assert {key: said["value"] for key, said in found["settings"].items() if said["outcome"] == "value"} == settings
    policy = found["settings"]["topology_manager_policy"]
    assert policy["outcome"] == ("unnamed" if not searched else "unsearchable" if searched[0].endswith(".d") else "unreadable")


def test_arguments_in_an_environment_file(captures):
    words = kubelet.env_words((captures / ARGUMENTS).read_text(encoding="utf-8"))
    layer = kubelet.Layer(ARGUMENTS, words, [], None)
    found = {name: kubelet.lookup([layer], True, flag, field, kind)[1] for name, flag, field, kind in kubelet.SETTINGS}
    reserved = {"cpu": "1", "memory": "2Gi", "ephemeral-storage": "1Gi"}
    assert {name: value for name, value in found.items() if value is not None} == {
        "cgroup_driver": "systemd",
        "cpu_manager_policy": "static",
        "kube_reserved": reserved,
        "system_reserved": reserved,
    }
