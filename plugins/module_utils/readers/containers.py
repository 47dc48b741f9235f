# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections kubelet, container_runtime and cdi of one task. A reader is imported only where a look shows that there is something for it."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, NOT_A_DIRECTORY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

# Every kubelet makes the first for the sockets of device plugins, whatever its root directory, and its pods have cgroups below kubepods.
KUBELET = ("/var/lib/kubelet", "/etc/kubernetes", "/sys/fs/cgroup/kubepods.slice", "/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/cpu/kubepods")
KUBELET += ("/sys/fs/cgroup/cpu/kubepods.slice", "/var/lib/rancher", "/etc/rancher", "/var/lib/k0s", "/var/snap/microk8s")
ENGINES = ("/run/containerd/containerd.sock", "/run/k3s", "/run/k0s", "/var/snap/microk8s", "/run/docker.sock", "/run/crio", "/run/libpod")
ENGINES += ("/etc/containerd/config.toml", "/etc/docker/daemon.json", "/etc/crio")
PROGRAMS = ("containerd", "dockerd", "docker", "crio", "podman", "nerdctl", "ctr")
CDI = ("/etc/cdi", "/var/run/cdi")
_STANDARD = "/var/lib/kubelet/kubeadm-flags.env, /var/lib/kubelet/config.yaml or /var/lib/rancher/*/agent/etc/kubelet.conf.d"


def _none(host, places, programs=()):
    """Whether nothing of these is there. What cannot be told is looked at by the reader itself, which then says why."""
    for path in places:
        answer = host.exists(path)
        if not answer.ok or answer.value:
            return False
    return all(host.resolve(name).status == ABSENT for name in programs)


def kubelet(host):
    processes = host.exists("/proc/1")  # where they are hidden or not mounted, the reader says what that means
    if not (processes.ok and processes.value and _none(host, KUBELET)):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet as reader

        return reader.collect(host)
    none = not_applicable("no kubelet on this node")
    note = "no kubelet runs, and no %s is named in " + _STANDARD + "; a later kubelet may still get one on its command line"
    lines = (("container_runtime_endpoint", "endpoint"), ("topology_manager_policy", "policy"))
    return {
        "timestamp": utc(host.now()),
        "state": "absent",
        "problem": "",
        "process": {"name": none, "pid": none, "command": none, "other_pids": [], "data_directories": []},
        "searched": list(KUBELET),
        **dict.fromkeys(("settings", "nic_numa_nodes", "resources", "labels"), none),
        "lines": {name: {"outcome": "unnamed", "value": unknown(note % what), "source": "", "skipped": []} for name, what in lines},
    }


def endpoint(section):
    """The container runtime's endpoint as a fact, of a section kubelet: the process table is not read again."""
    said = section["lines"]["container_runtime_endpoint"]
    value = said["value"]
    return not_applicable(value["unknown"]) if said["outcome"] == "unnamed" else value


def runtime(host, of_kubelet, word=""):
    """word: the operator's own choice of docker, nerdctl or ctr."""
    if word or of_kubelet["state"] != "absent" or not _none(host, ENGINES, PROGRAMS):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime as reader

        return reader.collect(host, {"runtime": word}, endpoint(of_kubelet))["container_runtime"]
    why = "no container engine on this node"
    none, named = not_applicable(why), endpoint(of_kubelet)
    return {
        "timestamp": utc(host.now()),
        "kubelet": {"endpoint": named, "engine": named},
        "resolved": {"cli": none, "socket": none, "namespace": none, "nerdctl_absent": False, "by": "probe", "reason": why, "engine": none},
        "network_namespace": {"shared": none, "warning": ""},
        "cgroup_version": none,
        "clients": {},
        "engines": [],
        "unsure": [],
        "toolkits": {},
        "containers": none,
        "sources": [],
    }


def cdi(host, of_runtime, directories=None):
    """directories: of the site; without them the usual ones, and those that an engine names."""
    named_by_site, directories = directories, list(directories or CDI)
    for engine in () if named_by_site else of_runtime["engines"]:
        named = engine["cdi"].get("directories")
        for path in named if isinstance(named, list) else ():
            known = [one.replace("/var/run/", "/run/", 1) for one in directories]
            if path.startswith("/") and path.rstrip("/").replace("/var/run/", "/run/", 1) not in known:
                directories.append(path)
    listed = [host.listdir(path) for path in directories]
    if any(answer.value if answer.ok else answer.status not in (ABSENT, NOT_A_DIRECTORY) for answer in listed):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi as reader

        return reader.collect(host, directories)
    none = not_applicable("no CDI specification on this node")
    states = [{"path": path, "state": "read" if answer.ok else "absent", "detail": "", "ignored": []} for path, answer in zip(directories, listed)]
    section = {"timestamp": utc(host.now()), "directories": states, "specs": [], "conflicts": []}
    return dict(section, boot_time=none, drivers=none, refresh=none)


def collect(host, options=None):
    """{section name: section}. options: runtime and cdi_directories of the module."""
    options = options or {}
    of_kubelet = kubelet(host)
    of_runtime = runtime(host, of_kubelet, options.get("runtime") or "")
    return {"kubelet": of_kubelet, "container_runtime": of_runtime, "cdi": cdi(host, of_runtime, options.get("cdi_directories"))}
