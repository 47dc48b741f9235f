# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real containerd, Docker and Podman, started below a directory of the test and ended by their process ids. Where one cannot start, its test is skipped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import live
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_engines, containerd
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

MAIN = """
version = 2
root = "{here}/root"
state = "{here}/state"
imports = ["{here}/conf.d/*.toml"]
[grpc]
  address = "{here}/c.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.example/pause:9"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
    username = "u"
    password = "hunter2"
"""
DROP = """
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "nvidia"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
      BinaryName = "{here}/nvidia-container-runtime"
[plugins."io.containerd.grpc.v1.cri".registry.configs."s.example".auth]
  password = "hunter2"
"""


@pytest.fixture
def short(tmp_path_factory):
    """A directory with a short path: a socket's name has 108 bytes at most."""
    path = tmp_path_factory.mktemp("e")
    yield path
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[1].startswith(str(path)):
            subprocess.run(["umount", "-l", line.split()[1]], check=False)


@pytest.fixture
def daemon(short):
    """daemon(words, ready): start a program, wait until ready() says so; ended with all of its session afterwards."""
    started = []

    def start(words, ready):
        if os.geteuid() != 0 or shutil.which(words[0]) is None:
            pytest.skip("%s is not installed, or this is not root" % words[0])
        with (short / "log").open("w") as log:
            process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=short)
        started.append(process)
        for _attempt in range(150):
            if process.poll() is not None:
                break
            if ready():
                return
            time.sleep(0.1)
        pytest.skip("%s does not start here: %s" % (words[0], (short / "log").read_text()[-300:]))

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def host():
    found = live.LiveHost(path="%s:%s" % (os.environ["PATH"], live.PATH))
    yield found
    found.close()


def test_containerd(short, daemon, host):
    (short / "conf.d").mkdir()
    (short / "config.toml").write_text(MAIN.format(here=short))
    (short / "conf.d" / "99-nvidia.toml").write_text(DROP.format(here=short))
    (short / "nvidia-container-runtime").write_text("")
    socket, config = str(short / "c.sock"), str(short / "config.toml")
    daemon(["containerd", "--config", config], (short / "c.sock").exists)
    recording = RecordingHost(host)
    found = containerd.read(container_engines.Asked(recording), "", socket, config)
    assert found["running"] is True and is_known(found["version"]) and found["cri"] is True and found["root"] == str(short / "root")
    assert found["default_handler"] == "nvidia" and found["handlers"]["nvidia"]["present"] is True
    assert "containerd config dump" in found["read_from"] and found["files"] == [config, str(short / "conf.d" / "99-nvidia.toml")]
    assert found["registry"]["credentials"] is True and "hunter2" not in json.dumps([found, recording.recording()])

    # What the files say by our rules of merging is what containerd makes of them: version 1 replaces a section, version 2 adds to it.
    major = int(found["version"].partition(".")[0])
    documents, why = containerd.documents_of(container_engines.Asked(host), config)
    said = containerd.merged(documents, major)[0]
    assert why == "" and said["default"] == "nvidia" and sorted(said["handlers"]) == sorted(found["handlers"])
    assert ("runc" in found["handlers"]) == (major >= 2)
    assert (found["sandbox_image"] == "registry.example/pause:9") == (major >= 2) == ("sandbox" in said)

    again = containerd.read(container_engines.Asked(ReplayHost(recording.recording())), "", socket, config)
    assert again == found


def test_containerd_that_ended_is_not_running(short, daemon, host):
    (short / "config.toml").write_text(MAIN.format(here=short))
    socket = str(short / "c.sock")
    assert containerd.read(container_engines.Asked(host), "", socket, str(short / "config.toml"))["running"] is False
    (short / "c.sock").write_text("")  # what a crash leaves
    if host.resolve("ctr").ok:
        assert not is_known(containerd.read(container_engines.Asked(host), "", socket, str(short / "config.toml"))["running"])


def docker_unit(short, active=True):
    words = ["dockerd", "-H", "unix://%s/d.sock" % short, "--config-file", "%s/daemon.json" % short]
    return words, {"active": active, "arguments": words}


def test_docker(short, daemon, host):
    (short / "daemon.json").write_text(json.dumps({"runtimes": {"nvidia": {"path": str(short / "nvidia-container-runtime")}}, "default-runtime": "nvidia"}))
    words, unit = docker_unit(short)
    own = ["--data-root", str(short / "root"), "--exec-root", str(short / "exec"), "-p", str(short / "pid")]
    asks = ["docker", "-H", "unix://%s/d.sock" % short, "version"]
    alone = ["--iptables=false", "--ip6tables=false", "--bridge=none"]
    daemon([*words, *own, *alone], lambda: shutil.which("docker") and subprocess.run(asks, capture_output=True, check=False).returncode == 0)
    found = container_engines.docker(container_engines.Asked(host), unit)
    assert found["running"] is True and is_known(found["version"]) and found["cgroup_driver"] in ("cgroupfs", "systemd")
    assert found["default_handler"] == "nvidia" and found["handlers"]["nvidia"]["present"] is False and found["handlers"]["runc"]["present"] is True
    assert found["root"] == str(short / "root") and found["on_disk"] == {"default_handler": "nvidia", "handlers": ["nvidia"]}


def test_docker_that_does_not_run_is_not_started(short, host):
    if not host.resolve("docker").ok:
        pytest.skip("docker is not installed")
    (short / "daemon.json").write_text("{}")
    asked = container_engines.Asked(host)
    found = container_engines.docker(asked, docker_unit(short, False)[1])
    assert found["running"] is False and not any(one["source"].startswith("docker ") for one in asked.sources)


def test_podman(host):
    if not host.resolve("podman").ok:
        pytest.skip("podman is not installed")
    ran = host.exists("/run/libpod/alive").value
    found = container_engines.podman(container_engines.Asked(host))
    assert is_known(found["version"]) is bool(ran) and is_known(found["handlers"]) is bool(ran)
    assert host.exists("/run/libpod/alive").value == ran  # reading did not make what was not there
