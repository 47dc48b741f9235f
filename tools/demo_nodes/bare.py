# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that starts no containers: jobs run on it by a scheduler of their own."""

from __future__ import annotations

PLACES = (
    "/var/lib/kubelet", "/etc/kubernetes", "/sys/fs/cgroup/kubepods.slice", "/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/cpu/kubepods",
    "/sys/fs/cgroup/cpu/kubepods.slice", "/var/lib/rancher", "/etc/rancher", "/var/lib/k0s", "/var/snap/microk8s", "/run/containerd/containerd.sock",
    "/run/k3s", "/run/k0s", "/run/docker.sock", "/run/crio", "/run/libpod", "/etc/containerd/config.toml", "/etc/docker/daemon.json", "/etc/crio",
    "/etc/cdi", "/var/run/cdi",
)  # fmt: skip
PROGRAMS = ("containerd", "dockerd", "docker", "crio", "podman", "nerdctl", "ctr")


def add(files, programs):
    """To the files and programs of a recording: none of it is there."""
    files.setdefault("/proc/1", {"exists": True})
    for path in PLACES:
        files.setdefault(path, {"absent": True})
    for name in PROGRAMS:
        programs.setdefault(name, {"status": "absent"})
