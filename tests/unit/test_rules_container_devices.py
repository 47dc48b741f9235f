# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers that lost their accelerators: from the recording of a node to the finding."""

from __future__ import annotations

import engine_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles

RULES = ("runtime-devices-lost", "runtime-reload-cuts-devices")
PROFILE = profiles.find("preflight")
POD = "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a.slice"
LEAF = "cri-containerd-%s.scope"
IDS = ["%064x" % n for n in (0xA1, 0xB2)]
DEVICES = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n511 nvidia-uvm\n\nBlock devices:\n  8 sd\n"
OWN = {"nvidia0": (195, 0), "nvidiactl": (195, 255), "nvidia-uvm": (511, 0)}
LINKS = ["195:0", "195:255", "511:0"]


def node(held=None, links=None, own=None, base=None, **more):
    """held: {name: (major, minor)} of each container. base: where cgroup 1 keeps its devices."""
    held, links, own = [OWN, {}] if held is None else held, LINKS if links is None else links, OWN if own is None else own
    top = base or "/sys/fs/cgroup"
    pod = POD.replace("/sys/fs/cgroup", top)
    files = {
        "/dev": {"dir": sorted([*own, "null", "char"])}, "/dev/char": {"dir": list(links)}, "/proc/devices": DEVICES,
        top: {"dir": ["cgroup.procs", "kubepods.slice", "system.slice"]}, top + "/system.slice": {"dir": ["sshd.service"]},
        pod.rsplit("/", 2)[0]: {"dir": ["kubepods-burstable.slice"]}, pod.rsplit("/", 1)[0]: {"dir": ["kubepods-burstable-pod0a.slice", "cpu.max"]},
        pod: {"dir": [LEAF % ident for ident in IDS[: len(held)]] + ["crio-conmon-%s.scope" % IDS[0]]},
    }  # fmt: skip
    files.update({"/dev/" + name: {"device": "char", "major": pair[0], "minor": pair[1]} for name, pair in own.items()})
    if base:
        files["/sys/fs/cgroup/cgroup.controllers"] = {"absent": True}
    for number, nodes in enumerate(held):
        root = "/proc/%d/root/dev" % (4000 + number)
        files["%s/%s/cgroup.procs" % (pod, LEAF % IDS[number])] = "%d\n%d\n" % (4000 + number, 5000 + number)
        files[root] = {"dir": sorted([*nodes, "null", "pts"])}
        files.update({"%s/%s" % (root, name): {"device": "char", "major": pair[0], "minor": pair[1]} for name, pair in nodes.items()})
    files.update(more.pop("files", {}))
    return samples.fits(samples.containerd(files=files, **more))


def judged(found):
    sections = dict(synthetic.healthy(2), container_runtime=found)
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    words = []
    for rule in RULES:
        levels = [f["level"] for f in told.findings if f["rule"] == rule]
        words.append("+".join([*levels, *(w for w, n in zip(("passed", "", "unknown", "na"), told.counts[rule]) if n and w)]))
    return words, [f for f in told.findings if f["rule"] in RULES]


def test_containers_that_have_what_they_were_given():
    found = node()
    assert {key: found["containers"][key] for key in ("checked", "with_devices", "lost", "unread", "unlinked")} == {
        "checked": 2, "with_devices": 1, "lost": [], "unread": [], "unlinked": [],
    }  # fmt: skip
    assert judged(found) == (["passed", "passed"], [])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"nvidia-uvm": (508, 0)}, "no driver has this number"),
        ({"nvidiactl": (511, 3)}, "195:255 on the host"),
        ({"nvidia9": (240, 9)}, "no driver has this number"),
    ],
)
def test_the_driver_was_loaded_again_under_another_number(changes, reason):
    found = node([dict(OWN, **changes), OWN])
    (name, numbers), *_rest = changes.items()
    lost = {"container": IDS[0][:12], "pid": 4000, "device": "/dev/" + name, "numbers": "%d:%d" % numbers, "reason": reason}
    assert found["containers"]["lost"] == [lost]
    words, (finding,) = judged(found)
    assert words == ["warn", "passed"] and finding["summary"] == "1 of 2 containers with accelerators lost them: %s" % IDS[0][:12]
    assert finding["observed"] == ["%s: /dev/%s is %d:%d: %s" % (IDS[0][:12], name, *numbers, reason)]


def test_a_device_by_another_name_is_no_loss():
    assert node([dict(OWN, nvidia7=(195, 0))])["containers"]["lost"] == []


@pytest.mark.parametrize(
    ("rules", "lost"),
    [
        ("a *:* rwm\n", []),
        ("c 1:3 rwm\nc 195:* rw\nc 511:* rw\n", []),
        ("c 1:3 rwm\nc 195:0 rw\nc 511:0 m\n", ["/dev/nvidia-uvm", "/dev/nvidiactl"]),
        ("c 1:3 rwm\nb *:* m\nc *:* m\n", ["/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"]),
    ],
)
def test_what_systemd_took_from_the_device_cgroup(rules, lost):
    base = "/sys/fs/cgroup/devices"
    listed = POD.replace("/sys/fs/cgroup", base) + "/" + LEAF % IDS[0] + "/devices.list"
    found = node([OWN], base=base, files={listed: rules})["containers"]
    assert found["cgroup_rules"] == "read" and [one["device"] for one in found["lost"]] == lost
    assert {one["reason"] for one in found["lost"]} <= {"refused by its device cgroup"}


def test_what_the_next_reload_takes():
    found = node(links=["195:0"])
    assert found["containers"]["unlinked"] == ["/dev/nvidia-uvm", "/dev/nvidiactl"]
    words, (finding,) = judged(found)
    assert words == ["passed", "info"] and "/dev/nvidia-uvm, /dev/nvidiactl" in finding["summary"]
    by_hand = node(links=["195:0"], config=samples.BOTH.replace("SystemdCgroup = true", "SystemdCgroup = false"))
    assert judged(by_hand) == (["passed", "na"], [])


def test_without_the_directory_of_links_none_is_there():
    assert len(node(files={"/dev/char": {"absent": True}})["containers"]["unlinked"]) == 3
    assert "unknown" in node(files={"/dev/char": {"error": "EACCES"}})["containers"]["unlinked"]


def test_where_no_engine_runs_there_is_no_question():
    found = samples.fits(samples.section(programs=("containerd",)))
    assert found["containers"] == {"not_applicable": "no container engine runs"}
    assert judged(found)[0] == ["na", "na"]


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"/proc/devices": {"error": "EACCES"}}, "/proc/devices"),
        ({"/dev": {"error": "EIO"}}, "/dev"),
        ({"/sys/fs/cgroup": {"error": "EACCES"}}, "/sys/fs/cgroup"),
    ],
)
def test_what_cannot_be_looked_at_is_unknown(files, word):
    found = node(files=files)
    assert word in found["containers"]["unknown"] and judged(found)[0] == ["unknown", "unknown"]


def test_a_container_that_may_not_be_looked_into_leaves_it_open():
    found = node(files={"/proc/4000/root/dev": {"error": "EACCES"}})
    assert found["containers"]["unread"] and judged(found)[0] == ["unknown", "passed"]


def test_a_mounted_host_shows_its_own_devices_for_each_container():
    own = {"dir": sorted([*OWN, "null", "char"])}
    found = node(files={"/proc/4000/root/dev": own, "/proc/4001/root/dev": own})
    assert "on the node itself" in found["containers"]["unknown"]


def test_a_container_that_ended_meanwhile_is_passed_over():
    found = node(files={"/proc/4000/root/dev": {"absent": True}})
    assert (found["containers"]["checked"], found["containers"]["unread"]) == (1, [])
