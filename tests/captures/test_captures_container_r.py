# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of real configurations and answers of container engines."""

from __future__ import annotations

import engine_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import toml, toml_subset
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown

INDEX = "INDEX-nvidia-host.tsv"
NVIDIA = "/usr/bin/nvidia-container-runtime"

# capture -> what the configuration file says: version of containerd, default, handlers, driver of the default, CDI, sandbox image (None: unknown)
CONTAINERD = {
    "containerd-config-v2-nvidia-hami-doc.toml": ("1.7.24", "nvidia", ["nvidia"], "cgroupfs", False, None),
    "containerd-v2schema-nvidia-default.toml": ("1.7.24", "nvidia", ["nvidia"], "systemd", False, "localhost/kubernetes/pause:latest"),
    "containerd-v3-crun-default-no-nvidia.toml": ("2.0.5", "crun", ["crun", "gvisor", "kata"], "cgroupfs", True, None),
    "containerd-v3-full-dump-nvidia.toml": ("2.0.5", "nvidia", ["nvidia", "runc"], "systemd", True, "registry.k8s.io/pause:3.10"),
    "containerd-v3schema-nvidia-default.toml": ("2.0.5", "nvidia", ["nvidia"], "systemd", True, "registry.k8s.io/pause:3.10"),
}
# capture -> default, handlers
DAEMON = {
    "docker-daemon-json-dgx-spark-doc.json": ("nvidia", ["nvidia", "runc"]),
    "docker-daemon-json-jetson.json": ("nvidia", ["nvidia", "runc"]),
    "docker-daemon-json-nvidia.json": ("runc", ["nvidia", "runc"]),
}
INFO = ("docker-info-json-18.09.0.json", "docker-info-text-1.9.txt", "docker-info-text-29.6.2-containerd-store.txt")
CRICTL = ("crictl-info-containerd.json.txt",)


def read(captures, name):
    return (captures / "container" / name).read_text()


def docker(commands, daemon=None, active="active"):
    shown = samples.command(samples.SYSTEMCTL, "Id=docker.service\nActiveState=%s\nMainPID=0\n" % active)
    files = {"/etc/docker/daemon.json": daemon} if daemon else {}
    return samples.engine(samples.section(("docker", "runc"), [shown, *commands], files), "docker")


def test_every_capture_has_its_expectation(captures):
    ours = ("containerd-", "docker-", "crictl-", "crio-", "nerdctl-", "podman-")
    there = {path.name for path in (captures / "container").iterdir() if path.name.startswith(ours)}
    assert there == {*CONTAINERD, *DAEMON, *INFO, *CRICTL}
    with (captures / INDEX).open() as lines:
        named = {line.split("\t")[0].partition("/")[2] for line in lines if line.startswith("container/")}
    assert there == {name for name in named if name.startswith(ours)}


@pytest.mark.parametrize("how", ["files", "dump"])
@pytest.mark.parametrize("name", sorted(CONTAINERD))
def test_containerd(captures, name, how):
    version, default, handlers, driver, cdi, sandbox = CONTAINERD[name]
    text = read(captures, name)
    files = {samples.CONFIG: text, samples.SOCKET: {"exists": True}, "/usr/local/bin/crun": {"exists": True}, "/etc/containerd/certs.d": {"dir": []}}
    files.update({"/etc/docker/certs.d": {"dir": []}, NVIDIA: {"exists": True}})
    programs, dump = (("ctr",), []) if how == "files" else (("ctr", "containerd"), [samples.dumped(text)])
    found = samples.engine(samples.section(programs, [samples.served(version), *dump], files))
    assert (found["default_handler"], sorted(found["handlers"]), found["cgroup_driver"], found["cdi"]["enabled"]) == (default, handlers, driver, cdi)
    assert is_unknown(found["sandbox_image"]) if sandbox is None else found["sandbox_image"] == sandbox
    assert found["cdi"]["directories"] == ["/etc/cdi", "/var/run/cdi"]
    if default == "nvidia":
        assert found["handlers"]["nvidia"]["binary"] == NVIDIA
    assert found["registry"]["credentials"] is False


@pytest.mark.parametrize("name", sorted(CONTAINERD))
def test_the_parser_for_an_old_python_reads_them_the_same(captures, name):
    text = read(captures, name)
    assert toml_subset.parse(text) == toml.loads(text)


@pytest.mark.parametrize("name", CRICTL)
def test_crictl_info(captures, name):
    info = samples.command(samples.CRICTL, read(captures, name))
    found = samples.engine(samples.section(("ctr", "crictl"), [samples.served("1.7.1"), info], {samples.SOCKET: {"exists": True}}))
    assert found["running"] is True and found["read_from"][0] == "crictl info"
    assert (found["default_handler"], sorted(found["handlers"]), found["cgroup_driver"]) == ("runc", ["runc"], "cgroupfs")
    assert found["cdi"] == {"enabled": False, "directories": ["/etc/cdi", "/var/run/cdi"]}
    assert (found["sandbox_image"], found["snapshotter"]) == ("registry.k8s.io/pause:3.10.2", "overlayfs")


@pytest.mark.parametrize("name", sorted(DAEMON))
def test_daemon_json(captures, name):
    default, handlers = DAEMON[name]
    found = docker([], read(captures, name), "inactive")
    assert (found["default_handler"], sorted(found["handlers"])) == (default, handlers) and found["running"] is False
    assert is_unknown(found["version"]) and is_unknown(found["cgroup_driver"])


def test_docker_info(captures):
    found = docker([samples.command(samples.DOCKER, read(captures, INFO[0]))])
    assert (found["version"], found["cgroup_driver"], found["default_handler"], sorted(found["handlers"])) == ("18.09.0", "cgroupfs", "runc", ["runc"])
    assert found["snapshotter"] == "overlay2" and found["cdi"] == {"enabled": False, "directories": []}


@pytest.mark.parametrize("name", INFO[1:])
def test_the_text_of_docker_info_is_not_asked_for_and_not_guessed_at(captures, name):
    found = docker([samples.command(samples.DOCKER, read(captures, name))])
    for key in ("running", "version", "cgroup_driver", "cdi", "snapshotter"):
        assert not is_known(found[key]), key


def test_the_handler_of_ascend(captures):
    """A part of a configuration of version 2."""
    text, binary = (captures / "ascend" / "containerd-runtime-ascend.txt").read_text(), "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"
    found = samples.engine(samples.containerd("version = 2\n" + text, files={binary: {"exists": True}}))
    assert found["handlers"]["ascend"]["binary"] == binary and found["default_handler"] == "runc"
