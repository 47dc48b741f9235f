# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command of a probe container: its words, their order, how a shell takes them."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command as commands
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

DOCKER = {"cli": "docker", "socket": not_applicable("docker knows its own"), "namespace": not_applicable("docker has none")}
NERDCTL = {"cli": "nerdctl", "socket": "/run/k3s/containerd/containerd.sock", "namespace": "fleetproof-preflight"}


def grant(**more):
    return grants.new(**more)


FULL = grant(
    environment={"ZED": "last one", "ALPHA": "1"},
    device_nodes=["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card0"],
    mounts=[grants.mount("/b", "/z"), grants.mount("/c", "/a", False, "made")],
    annotations={"k2": "v", "k1": "w"},
)


def test_every_word_in_its_place():
    assert commands.argv(DOCKER, FULL, "image:1", ["sh", "-c", "echo; true"]) == [
        "docker", "run", "--rm", "--network", "none", "--label", "fleetproof.accelerator/preflight=true",
        "-e", "ALPHA=1", "-e", "ZED=last one", "-v", "/c:/a", "-v", "/b:/z:ro",
        "--device", "/dev/dri/card0:/dev/dri/card0:rwm", "--device", "/dev/dri/renderD128:/dev/dri/renderD128:rwm", "--device", "/dev/kfd:/dev/kfd:rwm",
        "--annotation", "k1=w", "--annotation", "k2=v", "image:1", "sh", "-c", "echo; true",
    ]  # fmt: skip


def test_the_order_is_not_that_of_the_grant():
    turned = dict(FULL, environment=dict(reversed(FULL["environment"].items())), mounts=FULL["mounts"][::-1], device_nodes=FULL["device_nodes"][::-1])
    assert commands.argv(NERDCTL, turned, "i", ["true"]) == commands.argv(NERDCTL, FULL, "i", ["true"])


@pytest.mark.parametrize("engine", [DOCKER, NERDCTL, {"cli": "podman"}])
def test_nothing_is_privileged_or_shared(engine):
    words = commands.argv(engine, FULL, "i", ["true"])
    assert not any(word.startswith(("--privileged", "--cap-add", "--pid", "--ipc", "--security-opt")) for word in words)
    assert words[words.index("--network") + 1] == "none" and "--name" not in words and "--rm" in words


def test_a_containerd_client_is_addressed():
    assert commands.client(NERDCTL) == ["nerdctl", "--address", "/run/k3s/containerd/containerd.sock", "--namespace", "fleetproof-preflight"]
    nowhere = dict(NERDCTL, socket=unknown("denied"))
    assert commands.client(nowhere) == ["nerdctl", "--namespace", "fleetproof-preflight"]
    assert commands.client(DOCKER) == ["docker"] == commands.client(dict(DOCKER, namespace="fleetproof-preflight"))


NVIDIA = grant(environment={"NVIDIA_VISIBLE_DEVICES": "GPU-1"}, cdi=["nvidia.com/gpu=GPU-1"], runtime="nvidia")
TWO = dict(NVIDIA, cdi=["nvidia.com/gpu=MIG-1", "nvidia.com/gpu=MIG-2"])


@pytest.mark.parametrize(
    ("cli", "given", "words"),
    [
        ("docker", NVIDIA, ["--runtime", "nvidia"]),
        ("docker", grant(runtime="ascend"), ["--runtime", "ascend"]),
        ("docker", FULL, []),
        ("nerdctl", NVIDIA, ["--gpus", "device=GPU-1"]),
        ("nerdctl", TWO, ["--gpus", '"device=MIG-1,MIG-2"']),
        ("nerdctl", dict(NVIDIA, cdi=[]), ["--gpus", "all"]),
        ("nerdctl", grant(runtime="ascend"), None),
        ("podman", NVIDIA, ["--device", "nvidia.com/gpu=GPU-1"]),
        ("podman", grant(runtime="iluvatar"), None),
        ("ctr", NVIDIA, None),
    ],
)
def test_the_vendors_runtime(cli, given, words):
    assert commands.vendor(cli, given) == words


@pytest.mark.parametrize(
    ("engine", "given", "image", "options", "why"),
    [
        ({"cli": "ctr"}, FULL, "i", None, "ctr has no flag"),
        (NERDCTL, grant(runtime="ascend"), "i", None, "nerdctl has no flag that hands over the runtime ascend"),
        (DOCKER, FULL, "", None, "no image"),
        (DOCKER, FULL, "--privileged", None, "an image is not named"),
        (DOCKER, grant(mounts=[grants.mount("/a:/etc", "/b")]), "i", None, "a path with a colon"),
        (DOCKER, FULL, "i", commands.Options("sometimes"), "pull: found sometimes, allowed: missing, never, always"),
    ],
)
def test_what_there_are_no_words_for(engine, given, image, options, why):
    with pytest.raises(commands.Inexpressible, match=why):
        commands.argv(engine, given, image, ["true"], options)


def test_options():
    options = commands.Options("never", {"ALPHA": "2", "LOG": "3"}, (grants.mount("/h", "/fleetproof-barrier", False, "made"),))
    words = commands.argv(DOCKER, FULL, "i", ["true"], options)
    assert words[5:7] == ["--pull", "never"] and [words[n + 1] for n, word in enumerate(words) if word == "-e"] == ["ALPHA=2", "LOG=3", "ZED=last one"]
    assert [words[n + 1] for n, word in enumerate(words) if word == "-v"] == ["/c:/a", "/h:/fleetproof-barrier", "/b:/z:ro"]
    assert "--pull" not in commands.argv(DOCKER, FULL, "i", ["true"])


def test_plain_words_stay_plain():
    assert commands.quoted(["docker", "a_b-c.d/e:f=g@H9"]) == "docker a_b-c.d/e:f=g@H9"
    assert commands.quoted(["", "a b", "it's", "x+y", "a,b", "é"]) == "'' 'a b' 'it'\\''s' 'x+y' 'a,b' 'é'"
    assert commands.quoted(["docker", "ps"], "/host") == "/usr/sbin/chroot /host docker ps"


@pytest.mark.parametrize("word", ["", "'", "a'b'c", "$HOME `id` \\", "two\nlines", "-n", "*", "ünï", "~", '"'])
def test_a_shell_reads_back_what_was_printed(word):
    assert shlex.split(commands.quoted(["printf", "%s", word])) == ["printf", "%s", word]
    assert subprocess.run(["sh", "-c", commands.quoted(["printf", "%s", word])], capture_output=True, check=True).stdout.decode() == word


def test_two_that_run_at_the_same_time():
    assert commands.together(["a", "b c"], ["d"]) == "a 'b c' &\nd &\nwait"
    assert commands.together(["a"], ["d"], "/host", "not here") == "# not here\n/usr/sbin/chroot /host a &\n/usr/sbin/chroot /host d &\nwait"


def test_a_remark_is_one_line_whatever_a_node_sent():
    assert commands.remark("x\ny\r\x0btouch z") == "# x y touch z\n" and commands.remark("") == ""


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_what_no_program_can_be_given_is_not_printed(word):
    for given in (grant(environment={"A": word}), grant(mounts=[grants.mount("/a/" + word, "/b")])):
        with pytest.raises(commands.Inexpressible, match="no program can be given"):
            commands.argv(DOCKER, given, "i", ["true"])
    assert "A=\udcff" in commands.argv(DOCKER, grant(environment={"A": "\udcff"}), "i", ["true"]), "a byte that is no text is what it was read as"


def test_listing_and_removal():
    assert commands.listing(DOCKER) == ["docker", "ps", "-aq", "--filter", "label=fleetproof.accelerator/preflight=true"]
    assert commands.removal(NERDCTL, ["1", "2"]) == [*commands.client(NERDCTL), "rm", "-f", "1", "2"]
