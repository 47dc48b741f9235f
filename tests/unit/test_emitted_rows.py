# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where no container is started, the rows of allocation_info carry the command that one would be started by."""

from __future__ import annotations

import copy
import json
import shlex
from pathlib import Path

import allocation_samples as samples
import jsonschema
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probing
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import emitted_rows
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

catalogue.load()
SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "allocation.json").read_text(encoding="utf-8")))
SHARE = {"argv": ["npu-smi", "info", "-t", "device-share", "-i", "0"], "rc": 0, "stdout": "\tDevice-share Status : True\n\tChip ID : 0\n"}
DOCKER = {"resolved": {"cli": "docker", "socket": {"not_applicable": "own"}, "namespace": {"not_applicable": "none"}, "reason": ""}}
CTR = {"resolved": {"cli": "ctr", "socket": "/run/containerd/containerd.sock", "namespace": "fleetproof-preflight", "nerdctl_absent": True, "reason": ""}}
PROBED = ("amd", "ascend", "hygon", "nvidia", "thead")
ROWS = ("sliced-runtime-loaded", "sliced-quota-in-force", "co-tenancy")


def healthy(manufacturer):
    """As the node sends it."""
    units = {"amd": {}, "hygon": {"simd": 320, "per_cu": 4, "arrays": 4, "per_engine": 1, "target": 90600}}
    paths = dict(samples.files(manufacturer), **(samples.kfd(**units[manufacturer]) if manufacturer in units else {}))
    return samples.run(manufacturer, paths=paths, commands=[SHARE], natives={"cndev": {"answer": {"cards": {samples.ADDRESS: 1}}}})


def told(manufacturer, runtime=..., image="registry.example/probe:1", **more):
    section = copy.deepcopy(healthy(manufacturer))
    driver = {"runtime_version": samples.DRIVER.get(manufacturer, {"unknown": "x"})}
    emitted_rows.complete(section, [samples.accelerator(manufacturer)], driver, DOCKER if runtime is ... else runtime, image, **more)
    return section


def rows_of(section):
    return {row["capability"]: row for row in section["checks"]}


@pytest.mark.parametrize("manufacturer", PROBED)
def test_each_container_row_has_its_command(manufacturer):
    section = told(manufacturer)
    rows = rows_of(section)
    assert "second_slices" not in section and list(SCHEMA.iter_errors(section)) == []
    for name in ROWS:
        row = rows[name]
        assert row["state"] == "ok" and row["depth"] == "simulated" and row["evidence"] == ""
        assert "nothing was started: a preflight starts no container" in row["detail"]
    words = shlex.split(rows[ROWS[0]]["command"])
    assert words[:3] == ["docker", "run", "--rm"] and "registry.example/probe:1" in words and rows[ROWS[1]]["command"] == rows[ROWS[0]]["command"]
    first, second = rows["co-tenancy"]["command"].removesuffix(" &\nwait").split(" &\ndocker run ")
    assert shlex.split(first)[:2] == ["docker", "run"] and shlex.split(second)[-1] != shlex.split(first)[-1]
    assert not rows["sidecar-visibility"]["command"], "it is never measured"


@pytest.mark.parametrize("manufacturer", PROBED)
def test_a_grant_of_which_something_is_missing_has_its_command(manufacturer):
    section = copy.deepcopy(healthy(manufacturer))
    for made in section["grants"].values():
        made["sliced"]["missing"] = ["/srv/slicing/gone.so"]
    driver = {"runtime_version": samples.DRIVER.get(manufacturer, {"unknown": "x"})}
    emitted_rows.complete(section, [samples.accelerator(manufacturer)], driver, DOCKER, "registry.example/probe:1")
    assert all(rows_of(section)[name]["command"] for name in ROWS)


@pytest.mark.parametrize("manufacturer", sorted(set(samples.NODES) - set(PROBED)))
def test_no_probe_is_no_command(manufacturer):
    section = told(manufacturer)
    assert all(not row["command"] for name, row in rows_of(section).items() if name in ROWS)


def test_it_is_what_the_prober_would_run(monkeypatch):
    """The words are those that the prober hands to the engine."""
    section = told("nvidia")
    ran = []
    monkeypatch.setattr(hold._Intending, "start_together", lambda self, argvs, *more, **options: ran.extend(argvs) or [])
    prober = emitted_rows._Telling("nvidia", {"runtime_version": "12.4"}, DOCKER["resolved"], "registry.example/probe:1", "/")
    prober.forced = ""
    prober.hand = hold._Intending(None, "", hold.ROOT)
    prober.hand.lock["state"] = hold.TAKEN
    prober.hand.write = prober.hand.directory = lambda *words, **more: ""
    prober.seconds, prober.started, prober.warning = 1, 0, ""
    fresh = healthy("nvidia")
    label = next(iter(fresh["grants"]))
    one = emitted_rows._Accelerator(label, samples.accelerator("nvidia"), [fresh["grants"][label]["sliced"], fresh["second_slices"][label]])
    prober._slice(one)
    assert ran == [shlex.split(rows_of(section)["sliced-runtime-loaded"]["command"])]
    assert isinstance(prober, probing.Probing)


def test_a_runtime_that_was_not_read_is_written_for_docker_and_says_so():
    row = rows_of(told("ascend", {}))["sliced-runtime-loaded"]
    assert row["command"].startswith("docker run --rm ") and row["detail"].endswith("what starts containers was not read; the command assumes docker")


def test_ctr_is_told_for_another_client():
    assert rows_of(told("amd", CTR))["co-tenancy"]["command"].startswith("nerdctl --address /run/containerd/containerd.sock --namespace ")
    row = rows_of(told("ascend", CTR))["sliced-quota-in-force"]
    assert row["command"].startswith("docker run --rm ") and "ctr has no flag that hands over the runtime ascend" in row["detail"]


def test_no_image_is_no_command_and_names_the_variable():
    for name in ROWS:
        row = rows_of(told("thead", image=""))[name]
        assert row["command"] == "" and "accelerator_probe_image" in row["detail"]
    assert "nvidia/cuda:12" in rows_of(told("nvidia", image=""))["co-tenancy"]["command"]
    assert "quay.io/ascend/cann:8.5.0-910b" in rows_of(told("ascend", image=""))["co-tenancy"]["command"]


def test_a_mounted_root_is_entered_and_a_warning_stands_above():
    runtime = dict(DOCKER, network_namespace={"shared": False, "warning": "names are resolved elsewhere"})
    command = rows_of(told("nvidia", runtime, host_root="/host"))["sliced-runtime-loaded"]["command"]
    assert command.startswith("# names are resolved elsewhere\n/usr/sbin/chroot /host docker run --rm ")


def test_the_outcome_is_not_run():
    sections = dict(synthetic.healthy(1), **{"allocation.nvidia": told("nvidia")})
    view = engine.NodeView("a", synthetic.envelopes(sections), policy.parse({}))
    for name in ROWS:
        rule = "row-" + name
        assert [one.outcome for _subject, one in engine.outcomes(RULES[rule], view, view.policy.params(rule))] == ["not_run"]


@pytest.mark.parametrize("junk", [None, 7, "x", [], [None, 7], {}, {"resolved": 7}, {"resolved": {"cli": 7}}, {"network_namespace": 7}])
def test_garbage_raises_nothing(junk):
    emitted_rows.complete({"manufacturer": "nvidia", "checks": junk, "grants": junk, "second_slices": junk}, junk, junk, junk if isinstance(junk, dict) else {})
    emitted_rows.complete({}, None, None, {})
    section = healthy("nvidia")
    for key in ("grants", "second_slices"):
        broken = copy.deepcopy(section)
        broken[key] = junk
        emitted_rows.complete(broken, junk, junk, junk if isinstance(junk, dict) else {})
