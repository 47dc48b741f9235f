# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where CRI-O pulls from, and which socket crictl asks."""

from __future__ import annotations

import engine_samples as samples
import pytest

SHARED = "/etc/containers/registries.conf"
MAIN = """
unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "docker.io"
location = "docker.io"
[[registry.mirror]]
location = "mirror.example:5000"
insecure = true
[[registry]]
location = "old.example"
insecure = true
"""
MORE = '[[registry]]\nlocation = "quay.io"\n[[registry.mirror]]\nlocation = "mirror.example/quay"\n'


def registry(files):
    files = dict({"/run/crio/crio.sock": {"exists": True}, "/etc/crio/crio.conf": '[crio.image]\ninsecure_registries = ["10.0.0.0/8"]\n'}, **files)
    files.setdefault("/etc/crio/crio.conf.d", {"dir": []})
    files.setdefault("/etc/containers/registries.conf.d", {"dir": [path.rpartition("/")[2] for path in files if path.startswith(SHARED + ".d/")]})
    files.setdefault(SHARED, {"absent": True})
    asked = [
        samples.command(["crio", "--version"], "crio version 1.34.1\n"),
        {"argv": ["crio", "status", "--socket", "/run/crio/crio.sock", "config"], "rc": 1, "stderr": "no"},
    ]
    found = samples.section(("crio",), asked, files, ["kubelet", "--container-runtime-endpoint=unix:///var/run/crio/crio.sock"])
    return samples.engine(samples.fits(found), "cri-o")["registry"]


def test_files_of_all_containers_tools_are_read():
    found = registry({SHARED: MAIN, SHARED + ".d/10-quay.conf": MORE, SHARED + ".d/README": "x ="})
    assert found["mirrors"] == {"docker.io": ["mirror.example:5000"], "old.example": [], "quay.io": ["mirror.example/quay"]}
    assert found["insecure"] == ["10.0.0.0/8", "old.example"]


def test_a_later_file_replaces_a_registry():
    found = registry({SHARED: MAIN, SHARED + ".d/10.conf": '[[registry]]\nprefix = "docker.io"\n'})
    assert found["mirrors"]["docker.io"] == []


def test_without_files_there_is_none():
    found = registry({})
    assert (found["mirrors"], found["insecure"]) == ({}, ["10.0.0.0/8"])


@pytest.mark.parametrize("files", [{SHARED: "x = "}, {SHARED: {"error": "EACCES"}}, {SHARED + ".d": {"error": "EACCES"}}])
def test_what_cannot_be_read_is_unknown(files):
    assert "unknown" in registry(files)


@pytest.mark.parametrize(
    "junk", ["registry = 7\n", "[[registry]]\nlocation = 7\nmirror = 7\n", "[registry]\nlocation = 'x'\n", '[[registry]]\nlocation = "a"\nmirror = [7]\n']
)
def test_garbage_raises_nothing(junk):
    assert isinstance(registry({SHARED: junk})["mirrors"], dict)


@pytest.mark.parametrize(
    ("text", "socket"),
    [
        ("runtime-endpoint: unix:///run/containerd/containerd.sock\ntimeout: 10\n", "/run/containerd/containerd.sock"),
        ('image-endpoint: "unix:///run/a.sock"\nruntime-endpoint: "unix:///var/run/crio/crio.sock" # why\n', "/run/crio/crio.sock"),
        ("timeout: 10\n", {"not_applicable": "left to the default"}),
        ({"absent": True}, {"not_applicable": "left to the default"}),
        ({"error": "EACCES"}, {"unknown": "/etc/crictl.yaml: denied (EACCES)"}),
    ],
)
def test_the_socket_of_crictl(text, socket):
    found = samples.fits(samples.containerd(programs=("ctr", "containerd", "crictl"), files={"/etc/crictl.yaml": text}))
    assert found["clients"]["crictl"]["socket"] == socket
