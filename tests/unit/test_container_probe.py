# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section probes.<manufacturer> without an engine: what is told, why nothing is started, and how its rows are judged."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import allocation_samples as samples
import jsonschema
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe, section
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import row
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold, live
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.preflight_document import document
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

catalogue.load()
SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "probes.json").read_text(encoding="utf-8")))
PROBED = ("amd", "ascend", "hygon", "nvidia", "thead")
UNITS = {"amd": {}, "hygon": {"simd": 320, "per_cu": 4, "arrays": 4, "per_engine": 1, "target": 90600}}


def node(manufacturer, programs=("docker",), commands=(), **more):
    paths = dict(samples.files(manufacturer), **(samples.kfd(**UNITS[manufacturer]) if manufacturer in UNITS else {}))
    paths.update({"/proc": {"dir": ["1"]}, "/proc/1/cmdline": "/sbin/init\0", "/var/lib/kubelet": {"absent": True}, "/var/lib/rancher": {"absent": True}})
    for path in ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/run/containerd/containerd.sock"):
        paths[path] = {"absent": True}
    found = {name: "/usr/bin/" + name if name in programs else {"status": "absent"} for name in ("docker", "nerdctl", "ctr", "podman")}
    head = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z"}
    return ReplayHost(dict(head, files=dict(paths, **more), commands=list(commands), natives={}, programs=found))


def probed(manufacturer, host=None, devices=None, **options):
    given = {
        "manufacturer": manufacturer, "devices": [samples.accelerator(manufacturer)] if devices is None else devices, "detection": samples.OK,
        "driver": {"runtime_version": samples.DRIVER.get(manufacturer, "1.0")}, "image": "registry.example/probe:1", "slicing_library_root": samples.LIB,
    }  # fmt: skip
    given.update(options)
    found = json.loads(json.dumps(probe.collect(host or node(manufacturer), given)))
    assert [error.message[:200] for error in SCHEMA.iter_errors(found)] == []
    return found


def rows_of(found):
    return {one["capability"]: one for one in found["checks"]}


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
@pytest.mark.parametrize("check_mode", [False, True])
def test_what_each_manufacturer_is_asked(manufacturer, check_mode):
    found = probed(manufacturer, check_mode=check_mode)
    slices = ["sliced-runtime-loaded", "sliced-quota-in-force", "co-tenancy"] if manufacturer in PROBED else []
    assert list(rows_of(found)) == ["container-device", *slices] and found["started"] == 0
    for one in found["checks"]:
        assert (one["state"], one["depth"], one["evidence"]) == ("ok", "simulated", "") and one["command"].startswith("docker run --rm --network none ")
        assert (probe.CHECK if check_mode else "not in the recording") in one["detail"]
    assert len(found["would_start"]) == (0 if not check_mode else 3 if slices else 1) and found["changed"] is check_mode
    assert all(entry["outcome"] == "intended" for entry in found["writes"]) and "fleetproof.accelerator/preflight=true" in " ".join(found["touches"])


def test_what_the_container_is_handed_is_the_grant():
    """The exclusive grant of one, then the half of it with the library's own words turned up."""
    rows = rows_of(probed("nvidia"))
    words = shlex.split(rows["container-device"]["command"])
    assert words[5:7] == ["--runtime", "nvidia"]
    assert [words[n + 1] for n, word in enumerate(words) if word == "-e"] == ["NVIDIA_VISIBLE_DEVICES=" + samples.UUID["nvidia"]]
    assert "-v" not in words and "--device" not in words
    half = shlex.split(rows["sliced-runtime-loaded"]["command"])
    assert "CUDA_DEVICE_MEMORY_LIMIT_0=12282m" in half and "LIBCUDA_LOG_LEVEL=3" in half and "LIBCUDA_LOG_LEVEL=0" not in half
    mounts = [half[n + 1] for n, word in enumerate(half) if word == "-v"]
    assert (
        "/opt/slicing/nvidia/cuda-12/libvgpu.so:/usr/local/vgpu/libvgpu.so:ro" in mounts and "/opt/slicing/nvidia/ld.so.preload:/etc/ld.so.preload:ro" in mounts
    )
    made = [one for one in mounts if not one.startswith(("/opt/", "/dev/shm"))]
    assert made and all(one.startswith(hold.ROOT + "/preflight-") for one in made), "what is made lies below the root of the run, that of the vendor too"
    assert half[-1].count("unset LIBCUDA_LOG_LEVEL; nvidia-smi --query-gpu=memory.total") == 1


def test_tenants_share_a_directory_of_their_card():
    words = rows_of(probed("ascend"))["co-tenancy"]["command"]
    first, second = words.removesuffix(" &\nwait").split(" &\n")
    barriers = [word for line in (first, second) for word in shlex.split(line) if word.endswith(":/fleetproof-barrier")]
    assert len(barriers) == 2 and barriers[0] == barriers[1] == "%s/barrier-%016x:/fleetproof-barrier" % (hold.ROOT, _fnv(samples.UUID["ascend"]))
    assert "tenant-1" in first.split("while")[0] and "tenant-2" in second.split("while")[0]


@pytest.mark.parametrize("word", ["a\0b", "\ud800", "x\ny'; $(z)"])
def test_an_id_that_is_no_word_raises_nothing(word):
    device = samples.accelerator("thead")
    device["identity"] = dict(device["identity"], uuid={"value": word, "quality": "good"})
    for one in probed("thead", devices=[device])["checks"]:
        assert one["state"] == "ok" and one["depth"] == "simulated" and ("\0" not in one["command"])


def test_the_warning_stands_above_two_commands_as_above_one():
    other = {"/proc/self/ns/net": {"link": "net:[1]"}, "/proc/1/ns/net": {"link": "net:[2]"}}
    found = probed("thead", node("thead", **other), check_mode=True)
    assert len(found["would_start"]) == 3 and all(command.startswith("# this container does not share the network") for command in found["would_start"])
    assert found["would_start"][2].count("\ndocker run ") == 2


def test_check_mode_shows_what_a_run_would_start_and_no_more():
    """Libraries that are staged first are there by then; what is only told, for no client here can start it, is no change."""
    away = {"/srv": {"dir": []}}
    found = probed("thead", node("thead", **away), check_mode=True, slicing_library_target="/srv/installed")
    kinds = [entry["kind"] for entry in found["writes"]]
    assert len(found["would_start"]) == 3 and kinds.count("container") == 4 and kinds.count("library") == 1, kinds
    assert "/srv/installed/thead/hggc_quota.so:" in found["would_start"][1] and {entry["outcome"] for entry in found["writes"]} == {"intended"}
    for told in (
        probed("thead", node("thead", ("ctr",)), check_mode=True),
        probed("thead", node("thead", ()), check_mode=True),
        probed("thead", node("thead", **{"/dev/alixpu_ctl": {"absent": True}}), check_mode=True),
    ):
        assert (told["would_start"], told["changed"]) == ([], False) and all(row["command"] or row["state"] == "unavailable" for row in told["checks"])
        assert "container" not in [entry["kind"] for entry in told["writes"]]


@pytest.mark.parametrize(("said", "tried"), [("", 2), ("fleetproof-nodes-begin\n", 4)])
def test_an_image_that_never_comes_does_not_take_the_time_of_every_accelerator(said, tried):
    devices = [samples.accelerator("mthreads", number) for number in range(4)]
    for number, device in enumerate(devices):
        device["identity"] = dict(device["identity"], uuid={"value": "uuid-%d" % number, "quality": "good"})
    argvs = [shlex.split(command) for command in probed("mthreads", devices=devices, check_mode=True)["would_start"]]
    assert len(argvs) == 4
    recorded = [{"argv": argv, "status": "timeout", "stdout": said, "seconds": 120.0} for argv in argvs]
    found = probed("mthreads", node("mthreads", commands=recorded), devices=devices)
    assert found["started"] == tried
    told = [row["detail"] or row["reason"] for row in found["checks"]]
    assert sum("nothing was started: the last 2 had not begun when their time was over" in text for text in told) == 4 - tried, told


def _fnv(text):
    value = 14695981039346656037
    for byte in text.encode():
        value = (value ^ byte) * 1099511628211 % 2**64
    return value


def test_fnv_by_its_published_vectors():
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.probing import _fnv as ours

    assert [ours(text) for text in ("", "a", "foobar")] == [0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8]


def test_no_image():
    found = probed("thead", image="")
    assert found["image"] == {"not_applicable": "no default image for thead: name one with accelerator_probe_image"}
    assert all(one["state"] == "ok" and not one["command"] and "accelerator_probe_image" in one["detail"] for one in found["checks"])
    assert found["touches"][0] == "starts nothing: no image"
    assert probed("nvidia", image="")["image"] == "nvidia/cuda:12.9.2-cudnn-devel-ubi8"
    assert probed("ascend", image="")["image"] == "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11"


@pytest.mark.parametrize(
    ("programs", "runtime", "client", "words"),
    [
        ((), None, "docker", "the command assumes docker"),
        (("ctr",), None, "nerdctl --namespace fleetproof-preflight", "which is not on this host: install it"),
        (("ctr", "nerdctl"), "nerdctl", "nerdctl --namespace fleetproof-preflight", "not in the recording"),
        (("docker", "podman"), "podman", "podman", "not in the recording"),
        (("docker",), "podman", "docker", "allowed: docker, nerdctl, ctr"),
    ],
)
def test_by_what_it_is_started(programs, runtime, client, words):
    found = probed("amd", node("amd", programs), runtime=runtime)
    for one in found["checks"]:
        assert one["command"].startswith(client + " run --rm ") and words in one["detail"] and one["state"] == "ok"


def test_a_library_that_is_missing_is_not_made_by_the_engine():
    found = probed("thead", slicing_library_root=None)
    one = rows_of(found)["sliced-runtime-loaded"]
    assert "thead/hggc_quota.so (accelerator_slicing_library_root is not set)" in one["detail"] and one["state"] == "ok"
    assert "-v %s/lib/thead/hggc_quota.so:/usr/local/vppu/hggc_quota.so:ro " % hold.ROOT in one["command"], "a whole path, which can be pasted"


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"devices": None}, "could not be read"),
        ({"devices": "x"}, "could not be read"),
        ({"detection": {"state": "unavailable", "reason": "no tool"}}, "detection is unavailable, so nothing was started: no tool"),
        ({"devices": []}, "none of this manufacturer was detected"),
        ({"devices": [None, 3, {"kind": "partition"}]}, "none of this manufacturer was detected"),
        ({"manufacturer": "gaudi"}, "nothing is probed for this manufacturer"),
    ],
)
def test_nothing_to_probe(options, note):
    found = json.loads(json.dumps(probe.collect(node("nvidia"), dict({"manufacturer": "nvidia", "devices": [], "detection": samples.OK}, **options))))
    assert note in found["note"] and found["checks"] == [] and not list(SCHEMA.iter_errors(found))


def test_no_grant_is_a_fault():
    nameless = samples.accelerator("nvidia", identity=samples.identity(uuid=None, serial=None, pci=None))
    for one in probed("nvidia", devices=[nameless])["checks"]:
        assert (one["state"], one["depth"]) == ("unavailable", "declared") and "tells no id" in one["reason"]


def test_another_run_holds_the_node(tmp_path):
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "docker").chmod(0o755)
    host = live.LiveHost(path=str(tmp_path), deadline=30)
    first = hold.hold(host, "", str(tmp_path / "made"), str(tmp_path / "none"))
    assert first.take() == hold.TAKEN
    options = {"manufacturer": "iluvatar", "devices": [samples.accelerator("iluvatar")], "detection": samples.OK, "image": "i", "runtime": "docker"}
    found = probe.collect(host, options, str(tmp_path / "made"), str(tmp_path / "none"))
    first.end()
    host.close()
    assert found["lock"]["state"] == "contended" and found["started"] == 0
    (one,) = found["checks"]
    assert (one["state"], one["depth"]) == ("ok", "simulated") and "another run holds" in one["detail"] and one["command"] and not one["evidence"]


def test_near_the_deadline_nothing_is_started(tmp_path):
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "docker").chmod(0o755)
    host = live.LiveHost(path=str(tmp_path), deadline=20)
    options = {"manufacturer": "iluvatar", "devices": [samples.accelerator("iluvatar")], "detection": samples.OK, "image": "i", "runtime": "docker"}
    found = probe.collect(host, options, str(tmp_path / "made"), str(tmp_path / "none"))
    host.close()
    (one,) = found["checks"]
    assert found["lock"]["state"] == "taken" and found["started"] == 0 and "the deadline of the module is near" in one["detail"] and not one["evidence"]


def test_what_is_told_before_it_runs():
    said = MODULES["container_probe"].says
    told = said({"manufacturer": "nvidia", "image": "i:1", "pull": "never"})
    for words in ("probes of nvidia: starts containers labeled fleetproof.accelerator/preflight=true", "image i:1, pull policy never", hold.ROOT):
        assert words in told
    assert "the manufacturer's default" in said({"manufacturer": "nvidia"})
    assert "nothing is started" in said({"manufacturer": "nvidia", "check_mode": True}) and "nothing is started" in said(
        {"manufacturer": "amd", "recording": "r"}
    )


# -- judged


def outcomes(sections, rule, **variables):
    view = engine.NodeView("a", synthetic.envelopes(sections), policy.parse(variables))
    return [(one.outcome, one.reason or one.summary) for _subject, one in engine.outcomes(RULES[rule], view, view.policy.params(rule))]


def part(*rows, manufacturer="nvidia", **more):
    return dict({"manufacturer": manufacturer, "timestamp": "2026-11-29T17:00:00Z", "checks": list(rows), "note": ""}, **more)


GPU = "nvidia:0"
SIMULATED = row(GPU, "sliced-quota-in-force", "sliced", "ok", "simulated", "granted")


def quota(state="ok", depth="measured", words="", evidence="12282"):
    return row(GPU, "sliced-quota-in-force", "sliced", state, depth, words, words, "docker run", evidence)


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (quota(), "passed"),
        (quota("unavailable", "measured", "the container did not end well: exit 139"), "found"),
        (quota("ok", "simulated", "applied, not observed"), "passed"),
        (quota("ok", "simulated", "it could not be started: exit 125"), "unknown"),
        (quota("ok", "simulated", "granted, and not started: check mode", ""), "not_run"),
    ],
)
def test_what_a_container_saw_stands_for_what_was_told(seen, outcome):
    sections = dict(synthetic.healthy(1), **{"allocation.nvidia": part(SIMULATED), "probes.nvidia": part(seen)})
    assert [one[0] for one in outcomes(sections, "row-sliced-quota-in-force")] == [outcome]
    (group,) = [g for g in document(sections)["accelerators"] if g["manufacturer"] == "nvidia"]
    assert [(r["capability"], r["depth"]) for r in group["checks"]] == [("sliced-quota-in-force", seen["depth"])]


@pytest.mark.parametrize(("modes", "outcome"), [(None, "not_run"), (["sliced"], "not_run"), (["exclusive"], "not_applicable")])
def test_a_step_that_was_not_taken_in_a_mode_that_no_work_uses(modes, outcome):
    sections = dict(synthetic.healthy(1), **{"probes.nvidia": part(quota("ok", "simulated", "granted, and not started: no library", ""))})
    variables = {} if modes is None else {"accelerator_modes": modes}
    assert [one[0] for one in outcomes(sections, "row-sliced-quota-in-force", **variables)] == [outcome]


def device(**more):
    return row(GPU, "container-device", "exclusive", more.pop("state", "ok"), more.pop("depth", "measured"), "", more.pop("reason", ""), "docker run", "x")


def test_the_device_probe_alone_answers_what_a_container_sees():
    sections = dict(synthetic.healthy(1), **{"allocation.nvidia": part(SIMULATED)})
    assert outcomes(sections, "row-container-device") == [("not_run", "nvidia: no probe container was started: accelerator_probe is off")]
    assert RULES["row-container-device"].layer == 3
    sections["probes.nvidia"] = part(device())
    assert [one[0] for one in outcomes(sections, "row-container-device")] == ["passed"]
    sections["probes.nvidia"] = part(device(state="unavailable", reason="/dev/nvidia1 of another accelerator is in it"))
    (found,) = outcomes(sections, "row-container-device", accelerator_modes=["exclusive"])
    assert found[0] == "found" and "/dev/nvidia1 of another accelerator is in it" in found[1]


def test_a_probe_that_hung_is_a_contained_crash():
    sections = synthetic.healthy(1)
    envelopes = synthetic.envelopes(sections)
    envelopes["probes.nvidia"] = dict(next(iter(envelopes.values())), section="probes.nvidia", status="timeout", reason="no answer within 960 s", data={})
    view = engine.NodeView("a", envelopes, policy.parse({}))
    found = [one for _subject, one in engine.outcomes(RULES["row-preflight-panicked"], view, view.policy.params("row-preflight-panicked"))]
    assert [one.outcome for one in found] == ["found"] and "probes of nvidia ended without an answer" in found[0].summary


@pytest.mark.parametrize("mode", [["exclusive"], ["sliced"]])
def test_a_mode_that_no_work_uses_is_information(mode):
    sections = dict(synthetic.healthy(1), **{"probes.nvidia": part(device(state="unavailable", reason="leak"))})
    view = engine.NodeView("a", synthetic.envelopes(sections), policy.parse({"accelerator_modes": mode}))
    rule = RULES["row-container-device"]
    assert [one.level for _subject, one in engine.outcomes(rule, view, view.policy.params(rule.id))] == ["fail" if mode == ["exclusive"] else "info"]
