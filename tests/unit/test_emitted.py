# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The five cases in which a container step is told and not taken, in the order in which they are decided."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command, emitted, grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_runtime as runtime
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

SOCKET = "/run/k3s/containerd/containerd.sock"
IMAGE, WORDS = "registry.example/probe:1", ["sh", "-c", "cat /proc/self/maps; echo 'it'\\''s'"]


def resolved(present=(), endpoint=("", ""), option=""):
    """As the section container_runtime has it, of a node with these programs."""
    have = {name: "/usr/bin/" + name for name in present}
    return runtime.resolve(lambda name: have.get(name) or not_applicable("absent"), lambda path: path == SOCKET, endpoint, option)


DOCKER = resolved(["docker"])
NERDCTL = resolved(["nerdctl"])
CTR = resolved(["ctr"], (SOCKET, ""))
NONE = resolved([])
UNREADABLE = resolved(["docker"], ("", "processes are hidden"))


def grant(vendor_runtime="", **more):
    made = grants.new({"CAP": "12282m"}, ["/dev/null"], [grants.mount("/dev/shm", "/dev/shm", False)], runtime=vendor_runtime, cdi=["nvidia.com/gpu=GPU-1"])
    return dict(made, **more)


def step(found, made=None, **more):
    return emitted.step(found, made or grant(), IMAGE, WORDS, **more)


def test_run_when_nothing_speaks_against_it():
    for found, first in ((DOCKER, ["docker", "run"]), (NERDCTL, ["nerdctl", "--address", SOCKET, "--namespace", "fleetproof-preflight", "run"])):
        one = step(found)
        assert (one.reason, one.problem) == ("", "") and one.argv[: len(first)] == first
        assert shlex.split(one.command) == one.argv, "what is printed is what is run"


def test_a_dry_run_names_what_must_be_in_place_first():
    mounts = [
        grants.mount("/opt/slicing/nvidia/cuda-12/libvgpu.so", "/usr/local/vgpu/libvgpu.so", origin="library"),
        grants.mount("/var/lib/fleetproof/accelerator/preflight-x/etc", "/etc/enpu", True, "made", {"npu_info.config": "memory-quota=1"}),
    ]
    one = step(DOCKER, grant(mounts=mounts), forced="this is check mode")
    assert one.reason == (
        "nothing was started: this is check mode; before it is run, put the slicing libraries into /opt/slicing/nvidia/cuda-12"
        " and write /var/lib/fleetproof/accelerator/preflight-x/etc/npu_info.config as its grant has it"
    )
    assert one.argv == step(DOCKER, grant(mounts=mounts)).argv, "the same builder"


def test_libraries_without_a_directory_have_a_whole_path():
    one = step(DOCKER, grant(mounts=[grants.mount("nvidia/ld.so.preload", "/etc/ld.so.preload", origin="library")]), forced="x")
    assert "/var/lib/fleetproof/accelerator/lib/nvidia/ld.so.preload:/etc/ld.so.preload:ro" in one.argv
    assert "put the slicing libraries into /var/lib/fleetproof/accelerator/lib/nvidia" in one.reason


def test_staging_that_failed_tells_the_error():
    assert step(DOCKER, forced="the libraries could not be staged: No space left on device").reason.endswith("No space left on device")


@pytest.mark.parametrize("found", [NONE, UNREADABLE, {"cli": unknown("EACCES")}, {}, {"cli": None}, dict(NONE, reason="")], ids=range(6))
def test_no_runtime_is_written_for_docker(found):
    one = step(found, grant("ascend"))
    assert one.reason.endswith("; the command assumes docker") and one.argv[:2] == ["docker", "run"] and "--address" not in one.argv
    assert one.argv[one.argv.index("--runtime") :][:2] == ["--runtime", "ascend"]


def test_why_there_is_none_is_told():
    assert step(NONE).reason.startswith("no kubelet names an endpoint, and none of docker, nerdctl, ctr is on the host;")
    assert "processes are hidden" in step(UNREADABLE).reason


def test_ctr_is_written_for_nerdctl_with_its_socket():
    assert CTR["cli"] == "ctr" and CTR["nerdctl_absent"] is True
    one = step(CTR, grant("nvidia"))
    assert one.argv[:6] == ["nerdctl", "--address", SOCKET, "--namespace", "fleetproof-preflight", "run"] and "--gpus" in one.argv
    assert "nerdctl, which is not on this host: install it, or run this elsewhere" in one.reason
    there = resolved(["ctr", "nerdctl"], option="ctr")
    assert there["cli"] == "ctr" and step(there).reason.endswith("written for nerdctl")


def test_ascend_on_containerd_is_written_for_docker_and_names_what_was_resolved():
    for found, name in ((NERDCTL, "nerdctl"), (CTR, "ctr")):
        one = step(found, grant("ascend"))
        assert one.argv[:2] == ["docker", "run"] and SOCKET not in one.command and "--namespace" not in one.command
        assert one.reason == "%s has no flag that hands over the runtime ascend, so the command is written for docker" % name


def test_a_dry_run_does_not_hide_a_fallback():
    one = step(CTR, forced="this is check mode")
    assert one.reason.startswith("nothing was started: this is check mode; it would have been told regardless: ctr has no flag")


def test_a_host_root_that_cannot_be_used_comes_last():
    trouble = "host root /host: no proc in it; mount the host's / there"
    assert step(DOCKER, host_root=trouble, root="/host").reason == trouble
    assert step(NONE, host_root=trouble).reason.endswith("assumes docker")
    assert step(DOCKER, host_root=trouble, forced="this is check mode").reason.startswith("nothing was started: this is check mode")


def test_below_a_host_root_it_is_entered():
    one = step(DOCKER, root="/host")
    assert one.command.startswith("/usr/sbin/chroot /host docker run --rm ") and one.argv[0] == "docker"


def test_the_warning_is_a_comment_that_a_shell_skips():
    one = step(DOCKER, warning="this container does not share the network namespace of the host")
    first, second = one.command.splitlines()
    assert first == "# this container does not share the network namespace of the host" and shlex.split(second) == one.argv


def test_a_grant_that_has_no_words_is_a_problem_and_no_command():
    one = step(DOCKER, grant(mounts=[grants.mount("/a:b", "/c")]))
    assert one.argv == [] and one.command == "" and "colon" in one.problem
    assert emitted.step(DOCKER, grant(), "", WORDS).problem == "no image"


NASTY = ["", " ", "a b", "it's", "$HOME", "`id`", "a\nb", "*", "~", "-n", "\\", '"', "é", "a;b", "#x", "a=b", "a@b:c/d_e-f.g", "!x", "{a,b}"]


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_a_shell_reads_every_word_as_it_was_meant(shell):
    line = container_command.quoted(["printf", "%s\\0", *NASTY])
    done = subprocess.run([shell, "-c", line], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == NASTY
