# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the output of probe containers shows: every verdict, and what comes close to one."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_judge as judge
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_parameters as parameters
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_script as script
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

LIBRARY = "/usr/local/vgpu/libvgpu.so"
GRANT = grants.new({"CUDA_DEVICE_MEMORY_LIMIT_0": "12282m"}, mounts=[grants.mount("/l", LIBRARY), grants.mount("/p", "/etc/ld.so.preload")])
CAP = ("12282", "")
LINE = "7f10a2c00000-7f10a2d00000 r-xp 00000000 08:01 1311    %s"


def output(maps=(LINE % LIBRARY,), reader=("12282",), before=()):
    return "\n".join([*before, script.MAPS, *maps, script.MAPPED, *reader, ""])


def ended(text="", rc=0, stderr="", status=answers.OK, detail=""):
    return Command(["docker", "run"], status, rc if status == answers.OK else None, text, stderr, 3.0, detail)


def ran(text="", rc=0, cli="docker", **more):
    return judge.ran(ended(text, rc, **more), cli, script.MAPS)


def both(found, grant=None, cap=CAP, record=False):
    return [verdict[:2] for verdict in (judge.loaded(grant or GRANT, found, record), judge.quota(cap, found, record))]


OK, FAULT, TOLD = ("ok", "measured"), ("unavailable", "measured"), ("ok", "simulated")


@pytest.mark.parametrize(
    ("found", "loaded", "quota"),
    [
        (ran(output()), OK, OK),
        (ran(output(maps=[LINE % "/usr/bin/cat"], reader=["24564"])), FAULT, TOLD),
        (ran(output(maps=["ERROR: ld.so: object '%s' from /etc/ld.so.preload cannot be preloaded: ignored." % LIBRARY])), FAULT, OK),
        (ran(output(reader=["24564"])), OK, TOLD),
        (ran(output(), 134), FAULT, FAULT),
        (ran("", 139), FAULT, FAULT),
        (ran("", 125), TOLD, TOLD),
        (ran("", 1, "nerdctl"), TOLD, TOLD),
        (ran("", 1), FAULT, FAULT),
        (ran("", 125, "nerdctl"), FAULT, FAULT),
        (ran(output(), 125), FAULT, FAULT),
        # a path that only begins or ends so is another file; so is one that is gone
        (ran(output(maps=[LINE % LIBRARY + ".bak"])), FAULT, OK),
        (ran(output(maps=[LINE % ("/old" + LIBRARY)])), FAULT, OK),
        (ran(output(maps=[LINE % (LIBRARY + " (deleted)")])), FAULT, OK),
        # a number is whole
        (ran(output(reader=["112282"])), OK, TOLD),
        (ran(output(reader=["122820"])), OK, TOLD),
        (ran(output(reader=["112282 12282 MiB"])), OK, OK),
        # the cap before the reader's section does not count, nor does a section without its end
        (ran(output(before=["limit 12282"], reader=["24564"])), OK, TOLD),
        (ran(script.MAPS + "\n" + LINE % LIBRARY + "\n12282\n"), FAULT, TOLD),
        # a banner that every program prints is not the reader's word
        (ran(output(before=["[quota 7] limit 12282 MiB"], reader=["[quota 19] limit 12282 MiB", "24564"])), OK, TOLD),
        (ran(status=answers.ABSENT), TOLD, TOLD),
        (ran(status=answers.TIMEOUT), TOLD, TOLD),
        (ran(output(), status=answers.TIMEOUT), FAULT, FAULT),
        (ran(output(), status=answers.OVERFLOW), FAULT, FAULT),
        (ran("", 127, stderr="docker: Error response from daemon: OCI runtime create failed"), TOLD, TOLD),
        (ran("", 127, stderr="sh: symbol lookup error: libvgpu.so: undefined symbol"), FAULT, FAULT),
    ],
)
def test_a_slice(found, loaded, quota):
    assert both(found) == [loaded, quota]


def test_a_library_that_does_not_end_its_line():
    text = "banner" + output().replace(script.MAPPED, "banner" + script.MAPPED)
    assert both(ran(text)) == [OK, OK]


def test_what_is_said_of_a_slice():
    assert judge.loaded(GRANT, ran(output()), False).detail == "mapped in the container: " + LIBRARY
    assert judge.loaded(GRANT, ran(output(), 134), False).reason == "loaded, then the container died under it: exit 134"
    assert judge.loaded(GRANT, ran("", 139), False).reason == "not mapped in the container: %s; exit 139" % LIBRARY
    said = "Unable to find image\ndocker: Error response from daemon: No such image: i.\nSee 'docker run --help'.\n"
    assert judge.loaded(GRANT, ran("", 125, stderr=said)).detail == "it could not be started: exit 125: docker: Error response from daemon: No such image: i."
    bare = grants.new({}, mounts=[])
    assert judge.loaded(bare, ran(output())).reason == "the grant mounts no library that a process could load"
    assert judge.quota(("", "the variable X carries no cap"), ran(output()))[::3] == ("unavailable", "no cap in the grant: the variable X carries no cap")


RECORD = ("Vgpu device: 0", "Indentifier: 88", "Vram limit: 34351349760", "Vram limit MiB: 32760")


@pytest.mark.parametrize(
    ("reader", "rc", "loaded", "quota", "words"),
    [
        (RECORD, 0, OK, OK, "the driver recorded a slice"),
        (RECORD, 3, FAULT, FAULT, "recorded a slice, then"),
        ((), 0, FAULT, TOLD, "recorded no slice for the process"),
        ((), 3, FAULT, FAULT, "recorded no slice, and the container"),
        ((script.CLIENT_EXIT + "127", "no such library"), 0, FAULT, TOLD, "did not run in this image (exit 127)"),
    ],
)
def test_a_record_of_the_driver(reader, rc, loaded, quota, words):
    found = ran(output(reader=reader), rc)
    assert both(found, cap=("32760", ""), record=True) == [loaded, quota]
    verdict = judge.loaded(GRANT, found, True)
    assert words in verdict.detail + verdict.reason


def met(reader=("12282",), rc=0, name="a"):
    return ran(script.MET + "\n" + output(reader=reader, before=[name]), rc)


@pytest.mark.parametrize(
    ("pair", "verdict", "words"),
    [
        ((met(), met()), OK, "reporting 12282 and 12282"),
        ((met(), ran("", 125)), TOLD, "tenant 2: exit 125"),
        ((ran("", 139), ran("", 125)), TOLD, "could not be started together: tenant 2"),
        ((met(), met(rc=134)), FAULT, "tenant 2: exit 134"),
        ((ran("", 139), ran("", 139)), FAULT, "tenant 1: exit 139; tenant 2: exit 139"),
        ((met(), ran(output())), TOLD, "did not meet"),
        ((met(), met(["24564"])), TOLD, "tenant 2 did not report the cap"),
    ],
)
def test_two_tenants(pair, verdict, words):
    found = judge.together([CAP, CAP], pair)
    assert found[:2] == verdict and words in found.detail + found.reason


def test_tenants_without_a_cap_and_with_one_record():
    assert judge.together([CAP, ("", "no file")], (met(), met())).reason == "tenant 2 has no cap in its grant: no file"
    one, other = met(RECORD), met([line.replace("88", "89") for line in RECORD])
    caps = [("32760", "")] * 2
    assert judge.together(caps, (one, other), True)[:2] == OK
    assert "one slice seen twice" in judge.together(caps, (one, one), True).detail
    assert "did not record a slice for each" in judge.together(caps, (one, met(())), True).detail


def seen(nodes=("/dev/nvidia0", "/dev/nvidiactl", "/dev/null"), listed=("GPU 0: X (UUID: GPU-1)",), rc=0):
    return judge.ran(ended("\n".join([script.NODES, *nodes, "export A='/dev/nvidia1'", script.LISTED, *listed, script.ENDED]), rc), "docker", script.NODES)


def one(found, names=("GPU-1",), own=("/dev/nvidia0",)):
    return judge.device(found, {"/dev/nvidia0", "/dev/nvidiactl"}, set(own), lambda node: node == "/dev/nvidia1", names and list(names))


@pytest.mark.parametrize(
    ("found", "verdict", "words"),
    [
        (seen(), OK, "sees /dev/nvidia0, GPU-1 and no other accelerator"),
        (seen(["/dev/nvidia0", "/dev/null"]), FAULT, "/dev/nvidiactl is not in it"),
        (seen(["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia1"]), FAULT, "/dev/nvidia1 of another accelerator is in it"),
        (seen(listed=["GPU 0: X (UUID: GPU-1)", "GPU 1: X (UUID: GPU-2)"]), FAULT, "lists GPU-1, GPU-2, granted is GPU-1"),
        (seen(listed=["No devices were found"]), FAULT, "lists nothing, granted is GPU-1"),
        (seen(listed=["Failed to initialize NVML: Driver/library version mismatch", "probe-reader-exit-18"]), FAULT, "(exit 18: Failed to initialize NVML"),
        (seen(rc=3), FAULT, "exit 3"),
        (judge.ran(ended(script.NODES + "\n/dev/nvidia0\n", 137), "docker", script.NODES), FAULT, "did not tell what is in it: exit 137"),
        (judge.ran(ended("", 125), "docker", script.NODES), TOLD, "could not be started"),
    ],
)
def test_a_device_alone(found, verdict, words):
    told = one(found)
    assert told[:2] == verdict and words in told.detail + told.reason


def test_a_tool_that_is_not_in_the_image_leaves_the_nodes_to_tell():
    missing = seen(listed=["sh: nvidia-smi: not found", "probe-reader-exit-127"])
    assert one(missing)[:2] == OK and "nvidia-smi" in one(missing).detail
    assert one(missing, own=())[:2] == TOLD
    assert one(seen(), names=None, own=())[:2] == TOLD, "nothing tells which accelerator it is"


def test_evidence_is_short():
    maps = [LINE % "/bin/cat"] * 3 + [LINE % LIBRARY] * 4 + ["7f-8f rw-p 0 00:00 0", LINE % "[heap]"]
    told = judge.evidence(ended(output(maps=maps), stderr="hello\n"))
    assert told.splitlines() == [script.MAPS, LINE % "/bin/cat", LINE % LIBRARY, script.MAPPED, "12282", "stderr: hello"]
    assert judge.evidence(ended(output(maps=maps)), True).splitlines() == [script.MAPPED, "12282"]
    assert judge.evidence(ended("", 139)) == "no output, exit 139" and judge.evidence(ended(status=answers.TIMEOUT)) == "no output, timeout"
    long = judge.evidence(ended("x" * 100000))
    assert len(long) < judge.KEPT + 60 and "characters left out" in long


# -- images and caps


@pytest.mark.parametrize(
    ("manufacturer", "version", "family", "named", "image"),
    [
        ("nvidia", "12.4", "", "", "nvidia/cuda:12.9.2-cudnn-devel-ubi8"),
        ("nvidia", "13.0", "", "", "nvidia/cuda:13.0.3-cudnn-devel-ubi8"),
        ("nvidia", unknown("no tool"), "", "", "nvidia/cuda:12.9.2-cudnn-devel-ubi8"),
        ("nvidia", "11.8", "", "", ""),
        ("nvidia", "11.8", "", "own:1", "own:1"),
        ("ascend", "8.5.0", "910B", "", "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11"),
        ("ascend", "9.1.0", "910C", "", "quay.io/ascend/cann:9.1.0-a3-ubuntu22.04-py3.12"),
        ("ascend", unknown("x"), "910B", "", "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11"),
        ("ascend", "8.5.0", "310P", "", ""),
        ("amd", None, "", "", "ubuntu:24.04"),
        ("thead", None, "", "", ""),
        ("hygon", None, "", "", ""),
    ],
)
def test_images(manufacturer, version, family, named, image):
    found, why = parameters.image(manufacturer, {"runtime_version": version}, family, named)
    assert found == image and bool(why) is not bool(image) and (image or "accelerator_probe_image" in why)


def content(name, text):
    return grants.new(mounts=[grants.mount("/h", "/t", True, "made", {name: text})])


@pytest.mark.parametrize(
    ("manufacturer", "grant", "cap"),
    [
        ("nvidia", GRANT, "12282"),
        ("nvidia", grants.new({"CUDA_DEVICE_MEMORY_LIMIT_0": "12282MiB"}), "12282"),
        ("nvidia", grants.new({"CUDA_DEVICE_MEMORY_LIMIT_0": "half"}), ""),
        ("amd", grants.new({"VROCM_DEVICE_MEMORY_LIMIT_0": "8184"}), "8184"),
        ("thead", grants.new({}), ""),
        ("ascend", content("npu_info.config", "aicore-quota=50\nmemory-quota=32768\n"), "32768"),
        ("ascend", content("npu_info.config", "memory-quota-old=1\n"), ""),
        ("hygon", content("vdev0.conf", "cu_count: 60\nmem: 32760 MiB\n"), "32760"),
        ("hygon", content("vdev0.conf", "memory: 1 MiB\n"), ""),
        ("hygon", grants.new({}), ""),
    ],
)
def test_caps(manufacturer, grant, cap):
    found, why = parameters.cap(manufacturer, grant)
    assert found == cap and bool(why) is not bool(cap)
