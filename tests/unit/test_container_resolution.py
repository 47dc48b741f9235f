# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which program would start a container: every branch of the operator's preflight, section 4 and its examples A.13."""

from __future__ import annotations

import engine_samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown, not_applicable, unknown

CONTAINERD = engine_samples.SOCKET
NAMESPACE = container_runtime.NAMESPACE


def resolve(present, endpoint="", trouble="", option="", exists=(), unsure=()):
    def program(name):
        return "/usr/bin/" + name if name in present else unknown("%s: denied" % name) if name in unsure else not_applicable("%s is not installed" % name)

    return container_runtime.resolve(program, lambda path: path in exists, (endpoint, trouble), option)


CHOSEN = [
    # present, endpoint, option, existing sockets -> cli, socket, nerdctl absent, by
    (("docker", "nerdctl", "ctr"), CONTAINERD, "", (), "nerdctl", CONTAINERD, False, "kubelet"),
    (("docker", "ctr"), CONTAINERD, "", (), "ctr", CONTAINERD, True, "kubelet"),
    (("docker", "nerdctl"), "/run/k3s/containerd/containerd.sock", "", (), "nerdctl", "/run/k3s/containerd/containerd.sock", False, "kubelet"),
    (("docker", "nerdctl"), "/var/run/cri-dockerd.sock", "", (), "docker", None, False, "kubelet"),
    (("docker", "nerdctl"), "/var/run/docker/containerd/containerd.sock", "", (), "docker", None, False, "kubelet"),
    (("docker", "nerdctl", "ctr"), "", "", (), "docker", None, False, "probe"),
    (("nerdctl", "ctr"), "", "", (CONTAINERD,), "nerdctl", CONTAINERD, False, "probe"),
    (("ctr",), "", "", ("/run/k3s/containerd/containerd.sock",), "ctr", "/run/k3s/containerd/containerd.sock", True, "probe"),
    (("ctr",), "", "", ("/var/run/containerd/containerd.sock",), "ctr", "/var/run/containerd/containerd.sock", True, "probe"),
    (("ctr",), "", "", (), "ctr", "none", True, "probe"),
    (("docker", "nerdctl"), CONTAINERD, "docker", (), "docker", None, False, "option"),
    (("docker", "nerdctl", "ctr"), "/run/k3s/containerd/containerd.sock", "ctr", (), "ctr", "/run/k3s/containerd/containerd.sock", False, "option"),
    (("ctr",), "", "ctr", (CONTAINERD,), "ctr", CONTAINERD, True, "option"),
    (("nerdctl",), "/var/run/crio/crio.sock", "nerdctl", (CONTAINERD,), "nerdctl", CONTAINERD, False, "option"),
]


@pytest.mark.parametrize(("present", "endpoint", "option", "exists", "cli", "socket", "absent", "by"), CHOSEN)
def test_what_is_used(present, endpoint, option, exists, cli, socket, absent, by):
    found = resolve(present, endpoint, "", option, exists)
    assert (found["cli"], found["nerdctl_absent"], found["by"], found["reason"]) == (cli, absent, by, "")
    if cli == "docker":
        assert is_not_applicable(found["socket"]) and is_not_applicable(found["namespace"])
    else:
        assert found["namespace"] == NAMESPACE
        assert is_not_applicable(found["socket"]) if socket == "none" else found["socket"] == socket


REFUSED = [
    (("docker",), CONTAINERD, "", "", "nerdctl is not on the host"),
    (("nerdctl",), "/run/cri-dockerd.sock", "", "", "docker is not on the host"),
    (("docker", "nerdctl", "ctr"), "/var/run/crio/crio.sock", "", "", "/var/run/crio/crio.sock; only docker and containerd are driven"),
    (("docker", "nerdctl", "ctr"), "", "/proc lists no process", "", "/proc lists no process"),
    (("docker", "nerdctl", "ctr"), "", "configurations disagree: a, b", "", "name a runtime"),
    ((), "", "", "", "none of docker, nerdctl, ctr"),
    (("docker",), "", "", "nerdctl", "nerdctl was asked for, and is not on the host"),
    (("docker",), "", "", "podman", "found podman, allowed: docker, nerdctl, ctr"),
]


@pytest.mark.parametrize(("present", "endpoint", "trouble", "option", "reason"), REFUSED)
def test_what_is_refused(present, endpoint, trouble, option, reason):
    found = resolve(present, endpoint, trouble, option)
    assert is_not_applicable(found["cli"]) and is_not_applicable(found["socket"]) and is_not_applicable(found["namespace"])
    assert reason in found["reason"]


def test_an_option_goes_past_what_could_not_be_read():
    assert resolve(("docker",), "", "/proc lists no process", "docker")["cli"] == "docker"


@pytest.mark.parametrize(
    ("present", "endpoint", "option", "unsure"),
    [
        ((), "", "", ("docker",)),
        (("ctr",), "", "", ("docker",)),
        (("ctr",), CONTAINERD, "", ("nerdctl",)),
        ((), CONTAINERD, "", ("ctr",)),
        ((), "/run/cri-dockerd.sock", "", ("docker",)),
        (("docker",), "", "ctr", ("ctr",)),
    ],
)
def test_a_program_of_which_nothing_is_known_is_not_passed_over(present, endpoint, option, unsure):
    found = resolve(present, endpoint, "", option, unsure=unsure)
    assert is_unknown(found["cli"]) and found["reason"].endswith("denied")


def test_a_socket_of_which_nothing_is_known():
    found = container_runtime.resolve(lambda name: "/usr/bin/" + name, lambda path: unknown("denied"), ("", ""), "ctr")
    assert found["cli"] == "ctr" and is_unknown(found["socket"])


def names(config):
    return "containerRuntimeEndpoint: unix://%s\n" % config


WHOLE = [
    # programs, files, kubelet -> cli, what the reason or the socket holds
    (("nerdctl", "ctr", "containerd"), {}, ["/usr/bin/kubelet", "--container-runtime-endpoint=unix://" + CONTAINERD], "nerdctl", CONTAINERD),
    (("ctr",), {"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00-k3s.conf": names("/run/k3s/containerd/containerd.sock")}, None, "ctr", "/run/k3s/"),
    (("docker", "ctr"), {"/etc/kubernetes/kubelet.yaml": "kind: KubeletConfiguration\n", "/var/lib/kubelet/config.yaml": names(CONTAINERD)},
     ["/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml"], "docker", ""),
    (("docker", "ctr"), {"/var/lib/kubelet/config.yaml": names(CONTAINERD)}, None, "ctr", CONTAINERD),
    (("docker",), {"/proc": {"dir": []}}, None, "", "lists no process"),
    (("docker",), {"/proc": {"error": "EACCES"}}, None, "", "denied"),
    (("docker",), {}, ["kubelet", "--config=/nowhere"], "", "/nowhere"),
    (("docker",), {"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/0.conf": names("/run/k3s/containerd/containerd.sock"),
                   "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/0.conf": names("/run/x/containerd.sock")}, None, "", "disagree"),
]  # fmt: skip


def listed(files):
    """The files with the directories above them."""
    made = dict(files)
    for path in files:
        parts = path.split("/")
        for cut in range(3, len(parts)):
            entry = made.setdefault("/".join(parts[:cut]), {"dir": []}) if path.startswith("/var/lib/") else {"dir": []}
            if isinstance(entry, dict) and "dir" in entry and parts[cut] not in entry["dir"]:
                entry["dir"].append(parts[cut])
    if "/nowhere" not in made:
        made["/nowhere"] = {"absent": True}
    made.setdefault("/var/lib", {"dir": ["rancher"] if any("rancher" in p for p in files) else []})
    return made


@pytest.mark.parametrize(("programs", "files", "kubelet", "cli", "holds"), WHOLE)
def test_from_the_files_of_a_node(programs, files, kubelet, cli, holds):
    found = engine_samples.section(programs, files=listed(files), kubelet=kubelet)["resolved"]
    if cli:
        assert found["cli"] == cli and holds in str(found["socket"])
    else:
        assert is_not_applicable(found["cli"]) and holds in found["reason"]


@pytest.mark.parametrize(
    ("own", "first", "shared", "warned"),
    [
        ({"link": "net:[1]"}, {"link": "net:[1]"}, True, False),
        ({"link": "net:[2]"}, {"link": "net:[1]"}, False, True),
        ({"link": "net:[2]"}, {"error": "EACCES"}, None, False),
        ({"absent": True}, {"link": "net:[1]"}, None, False),
    ],
)
def test_the_network_namespace(own, first, shared, warned):
    found = engine_samples.section(files={"/proc/self/ns/net": own, "/proc/1/ns/net": first})["network_namespace"]
    assert is_unknown(found["shared"]) if shared is None else found["shared"] is shared
    assert bool(found["warning"]) is warned
