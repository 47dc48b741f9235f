# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded nodes with container engines, for tests to break."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime
from jsonschema import Draft202012Validator

SOCKET = "/run/containerd/containerd.sock"
CONFIG = "/etc/containerd/config.toml"
PROGRAMS = (
    "docker", "dockerd", "nerdctl", "ctr", "crictl", "podman", "containerd", "crio", "runc",
    "nvidia-container-runtime", "ascend-docker-runtime", "ix-container-runtime", "mthreads-container-runtime", "amd-container-runtime",
)  # fmt: skip
ABSENT = (
    "/proc/driver", "/run/docker.pid", "/run/k3s", "/var/lib/rancher", "/var/snap", "/run/k0s", "/etc/k0s", "/etc/docker", "/etc/crio", "/run/crio",
    "/run/libpod", "/var/lib/kubelet", "/usr/local/nvidia", "/usr/local/Ascend", "/usr/local/iluvatar", "/etc/nerdctl", "/etc/containerd",
    "/run/containerd", "/var/run", "/etc/cni", "/etc/containers", "/etc/crictl.yaml",
)  # fmt: skip
CTR = ["ctr", "--address", SOCKET, "--connect-timeout", "3s", "version"]
CRICTL = ["crictl", "--runtime-endpoint", "unix://" + SOCKET, "info"]
DOCKER = ["docker", "-H", "unix:///run/docker.sock", "info", "--format", "{{json .}}"]
SYSTEMCTL = ["systemctl", "show", "--property=Id,ActiveState,MainPID", "containerd.service", "docker.service", "crio.service"]
V2 = """
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example/pause:3.9"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"""
NVIDIA_V2 = """
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "nvidia"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"
      SystemdCgroup = true
"""
V3 = (
    V2.replace("version = 2", "version = 3")
    .replace("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime")
    .replace('  sandbox_image = "registry.example/pause:3.9"\n', "")
)
NVIDIA_V3 = NVIDIA_V2.replace("version = 2", "version = 3").replace("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime")


def command(argv, stdout="", **more):
    return dict({"argv": argv, "rc": 0, "stdout": stdout}, **more)


def served(number):
    """What `ctr version` prints."""
    return command(CTR, "Client:\n  Version:  0.0.1\n  Revision: x\n\nServer:\n  Version:  %s\n  Revision: abc\n  UUID: 1-2\n" % number)


def dumped(text):
    return command(["containerd", "config", "dump"], text)


def running_info(**config):
    """What `crictl info` prints of a containerd; config: its keys."""
    return command(CRICTL, json.dumps({"status": {"conditions": []}, "config": config}))


def node(programs=("ctr", "containerd"), commands=(), files=None, kubelet=None, root=True):
    """A recording's host. kubelet: words of a running kubelet's command line."""
    files = dict({path: {"absent": True} for path in ABSENT}, **(files or {}))
    for path in list(files):
        for parent in ABSENT:
            if path.startswith(parent + "/") and files.get(parent) == {"absent": True}:
                del files[parent]
    if not any(path.startswith("/etc/containerd/") for path in files):
        files.setdefault(CONFIG, {"absent": True})
    for path in (
        SOCKET,
        CONFIG,
        "/run/k3s/containerd/containerd.sock",
        "/var/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
        "/etc/docker/daemon.json",
    ):
        if not any(path == known or path.startswith(known + "/") for known in files):
            files[path] = {"absent": True}
    files["/usr/bin/nvidia-container-runtime"] = files.get("/usr/bin/nvidia-container-runtime", {"exists": True})
    files.setdefault("/proc", {"dir": ["1"] + (["900"] if kubelet else [])})
    files.setdefault("/proc/1/cmdline", "/sbin/init\0")
    if kubelet:
        files["/proc/900/cmdline"] = "\0".join(kubelet) + "\0"
    files.setdefault("/proc/self/ns/net", {"link": "net:[4026531840]"})
    files.setdefault("/proc/1/ns/net", {"link": "net:[4026531840]"})
    files.setdefault("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    found = {name: {"status": "absent"} for name in PROGRAMS}
    found.update({name: "/usr/bin/" + name for name in programs})
    listed = [*commands]
    asked = {tuple(one["argv"]) for one in listed}
    for argv in (SYSTEMCTL, CTR, CRICTL, ["containerd", "--version"], ["containerd", "config", "dump"], ["containerd", "config", "default"]):
        if tuple(argv) not in asked:
            listed.append({"argv": argv, "missing": True})
    for argv in (["nerdctl", "--version"], ["crictl", "--version"], ["crio", "--version"]):
        if tuple(argv) not in asked:
            listed.append({"argv": argv, "missing": True})
    return ReplayHost({
        "schema": "fleetproof.accelerator/recording/v1", "node": "n1", "recorded": "2026-03-01T08:00:00Z",
        "host": {"root_user": root}, "files": files, "commands": listed, "programs": found,
    })  # fmt: skip


def section(*args, runtime="", **more):
    return container_runtime.collect(node(*args, **more), {"runtime": runtime})["container_runtime"]


def engine(found, ident="containerd"):
    """The engine of this id in a section."""
    return next(one for one in found["engines"] if one["id"] == ident)


BOTH = V2 + NVIDIA_V2.replace("version = 2", "")


def containerd(config=BOTH, number="1.7.24", extra=(), **more):
    """A node with a containerd of this configuration that runs, and a kubelet that names it."""
    files = dict({SOCKET: {"exists": True}, CONFIG: config}, **more.pop("files", {}))
    kubelet = more.pop("kubelet", ["/usr/bin/kubelet", "--container-runtime-endpoint=unix://" + SOCKET])
    return section(commands=[served(number), dumped(config), *extra], files=files, kubelet=kubelet, **more)


INFO = {
    "ServerVersion": "27.3.1", "CgroupDriver": "systemd", "CgroupVersion": "2", "DefaultRuntime": "runc", "Driver": "overlay2", "DockerRootDir": "/data/docker",
    "Runtimes": {"runc": {"path": "runc"}, "nvidia": {"path": "nvidia-container-runtime"}, "io.containerd.runc.v2": {"path": "runc"}},
    "RegistryConfig": {"InsecureRegistryCIDRs": ["127.0.0.0/8"], "Mirrors": ["https://m.example/"], "IndexConfigs": {"r.example:5000": {"Secure": False}}},
    "HttpProxy": "http://u:hunter2@proxy.example:3128", "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
}  # fmt: skip
SCHEMA = Draft202012Validator(json.loads((Path(__file__).resolve().parents[2] / "docs" / "schemas" / "container_runtime.json").read_text()))


def fits(section):
    problems = [e.message[:300] for e in SCHEMA.iter_errors(section)]
    assert problems == []
    return section
