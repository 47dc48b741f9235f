# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Kubernetes was told of a node's accelerators: the kubelet's checkpoint, labels in a file, and the rules about both."""

from __future__ import annotations

import json

import kubelet_machine
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import device_plugins
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown
from health_nodes import ask

PLACE = "/var/lib/kubelet/" + device_plugins.CHECKPOINT
RUNNING = {900: ["/usr/bin/kubelet", "--v=2"]}
DRIVER = "driver", "version"


def checkpoint(**registered):
    names = {name.replace("__", "/").replace("_", "."): ids for name, ids in registered.items()}
    return json.dumps({"Data": {"PodDeviceEntries": None, "RegisteredDevices": names}, "Checksum": 7})


def labels(**more):
    told = {"cuda.driver.major": "580", "cuda.driver.minor": "95", "cuda.driver.rev": "05", "gpu.count": "8", "gpu.memory": "81559"}
    return "".join("nvidia.com/%s=%s\n" % pair for pair in dict(told, **more).items() if pair[1] is not None)


def read(files, processes=None):
    return kubelet_machine.section(files, RUNNING if processes is None else processes)


def test_time_sliced_devices_are_counted_once():
    ids = ["GPU-%d::%d" % (card, replica) for card in range(2) for replica in range(4)]
    found = read({PLACE: checkpoint(nvidia_com__gpu=[], nvidia_com__gpu_shared=ids)})["resources"]
    assert found == {"nvidia.com/gpu": {"devices": 0, "distinct": 0}, "nvidia.com/gpu.shared": {"devices": 8, "distinct": 2}}


@pytest.mark.parametrize(
    "card, replica, distinct",
    [
        ("GPU-5e1f0a3c-22d4-4b7e-9a01-7c1d2e3f4a%02x", "-%d", 2),
        ("nvidia%d", "/vgpu%d", 2),
        ("nvidia%d/gi3", "/vgpu%d", 2),
        ("MIG-5e1f0a3c-22d4-4b7e-9a01-7c1d2e3f4a%02x", "::%d", 2),
        ("nvidia%d", "/gi%d", 6),  # partitions are devices of their own
        ("MIG-GPU-5e1f0a3c-22d4-4b7e-9a01-7c1d2e3f4a%02x", "/%d/0", 6),
    ],
)
def test_what_each_plugin_calls_a_share(card, replica, distinct):
    ids = [card % number + replica % share for number in range(2) for share in range(3)]
    assert read({PLACE: checkpoint(nvidia_com__gpu=ids)})["resources"] == {"nvidia.com/gpu": {"devices": 6, "distinct": distinct}}


def test_a_directory_of_its_own():
    moved = {900: ["/usr/bin/kubelet", "--root-dir=/data/kubelet/"]}
    found = read({"/data/kubelet/" + device_plugins.CHECKPOINT: checkpoint(amd_com__gpu=["0000:0c:00.0"])}, moved)["resources"]
    assert found == {"amd.com/gpu": {"devices": 1, "distinct": 1}}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"Data": 3}', '{"Data": {"RegisteredDevices": ["a"]}}', '{"Data": {"RegisteredDevices": {"a/b": 7}}}', {"error": "EACCES"}]
)
def test_a_checkpoint_that_says_nothing_is_unknown(content):
    assert is_unknown(read({PLACE: content})["resources"])


def test_nothing_registered_and_no_kubelet():
    assert is_not_applicable(read({})["resources"]) and is_not_applicable(read({})["labels"])
    nobody = kubelet_machine.section({}, entries={"/var/lib/kubelet": {"absent": True}})
    assert nobody["state"] == "absent" and nobody["resources"] == nobody["labels"] == {"not_applicable": "no kubelet on this node"}
    assert read({PLACE: json.dumps({"Data": {"RegisteredDevices": None}})})["resources"] == {}
    hostile = json.dumps({"Data": {"RegisteredDevices": {"../../x": ["a"], "nvidia.com/gpu": ["a", 3], "a.b/c": None}}})
    assert read({PLACE: hostile})["resources"] == {"a.b/c": {"devices": 0, "distinct": 0}}


def test_labels():
    found = read({device_plugins.LABELS: labels(**{"mig-1g.10gb.count": "7", "mig.strategy": "mixed", "gpu.replicas": "0"}) + "other=1\ngarbage\n"})["labels"]
    expected = {"driver": "580.95.05", "count": 8, "product": None, "memory_mib": 81559, "replicas": 0, "mig_strategy": "mixed", "mig": {"1g.10gb": 7}}
    assert found == expected
    assert read({device_plugins.LABELS: labels(**{"cuda.driver-version.full": "575.57.08"})})["labels"]["driver"] == "575.57.08"
    assert read({device_plugins.LABELS: labels(**{"gpu.memory": "17179869184"})})["labels"]["memory_mib"] == 16384
    assert read({device_plugins.LABELS: labels(**{"gpu.count": "many"})})["labels"]["count"] is None
    for content in ("", "nothing\n", {"error": "EACCES"}):
        assert is_unknown(read({device_plugins.LABELS: content})["labels"])


def told(rule, count=8, state="running", divided=0, maker="nvidia", **facts):
    """(outcome, level) of a node whose accelerators are as many as count; divided: cards with two partitions each."""
    sections = synthetic.healthy(count)
    section = sections.pop("accelerators.nvidia")
    for number in range(divided):
        parent = section["devices"][number]["id"]
        section["devices"] += [dict(section["devices"][number], kind="partition", id="%s/%d" % (parent, part), parent=parent) for part in range(2)]
    sections["accelerators." + maker] = dict(section, manufacturer=maker)
    sections["kubelet"] = dict(read({PLACE: checkpoint(nvidia_com__gpu=list(map(str, range(count))))}), state=state, **facts)
    return {(outcome, level) for _ident, outcome, level in ask(rule, sections)}


def offered(**registered):
    return {name.replace("__", "/").replace("_", "."): {"devices": n, "distinct": n} for name, n in registered.items()}


@pytest.mark.parametrize(
    "resources, divided, outcome",
    [
        (offered(nvidia_com__gpu=8), 0, ("passed", None)),
        (offered(nvidia_com__gpu=0, nvidia_com__gpu_shared=8), 0, ("passed", None)),
        (offered(nvidia_com__gpu=7), 0, ("found", None)),
        (offered(nvidia_com__gpu=0), 0, ("found", None)),
        (offered(rdma__hca=8), 0, ("found", "info")),
        # Two cards are in parts, and the plugin names them.
        ({**offered(nvidia_com__gpu=6), "nvidia.com/mig-1g.10gb": {"devices": 4, "distinct": 4}}, 2, ("passed", None)),
        ({**offered(nvidia_com__gpu=6), "nvidia.com/mig-1g.10gb": {"devices": 3, "distinct": 3}}, 2, ("found", None)),
        ({**offered(nvidia_com__gpu=5), "nvidia.com/mig-1g.10gb": {"devices": 4, "distinct": 4}}, 2, ("found", None)),
        # Parts that this report does not list.
        ({**offered(nvidia_com__gpu=0), "nvidia.com/mig-1g.10gb": {"devices": 7, "distinct": 7}}, 0, ("passed", None)),
        ({"unknown": "denied"}, 0, ("unknown", None)),
        ({"nvidia.com/gpu": {"devices": 8, "distinct": "x"}}, 0, ("unknown", None)),
        ({"not_applicable": "no device plugin has registered"}, 0, ("not_applicable", None)),
    ],
)
def test_what_the_kubelet_offers(resources, divided, outcome):
    assert told("kubelet-devices", divided=divided, resources=resources) == {outcome}


@pytest.mark.parametrize(
    "resources, outcome",
    [
        ({"amd.com/gpu": 8, "amd.com/nic": 8}, ("passed", None)),
        ({"amd.com/gpu": 7, "amd.com/nic": 8}, ("found", None)),
        ({"amd.com/nic": 8}, ("found", "info")),
        ({"amd.com/cpx_nps4": 32, "amd.com/spx_nps1": 4}, ("passed", None)),
    ],
)
def test_adapters_of_the_same_maker_are_no_accelerators(resources, outcome):
    offers = {name: {"devices": n, "distinct": n} for name, n in resources.items()}
    assert outcome in told("kubelet-devices", maker="amd", resources=offers)


def test_where_the_question_does_not_arise():
    assert told("kubelet-devices", state="absent") == told("kubelet-devices", state="not_running") == {("not_applicable", None)}
    assert ("not_applicable", None) in told("kubelet-devices", maker="cambricon", resources={})
    assert told("kubelet-labels", maker="amd", labels=device_plugins.parse_labels(labels())) == {("not_applicable", None)}
    assert told("kubelet-labels") == {("not_applicable", None)}  # no labels in a file


@pytest.mark.parametrize(
    "changes, outcome",
    [
        ({}, "passed"),
        ({"cuda.driver.rev": "01"}, "found"),
        ({"gpu.count": "7"}, "found"),
        ({"gpu.count": "56", "mig.strategy": "single"}, "passed"),
        ({"gpu.count": None}, "passed"),
        ({"gpu.count": None, "cuda.driver.major": None, "cuda.driver.minor": None, "cuda.driver.rev": None}, "unknown"),
    ],
)
def test_labels_that_are_out_of_date(changes, outcome):
    loaded = synthetic.section([])["driver"]["version"].split(".")
    own = {"cuda.driver." + key: part for key, part in zip(("major", "minor", "rev"), loaded)}
    assert told("kubelet-labels", labels=device_plugins.parse_labels(labels(**{**own, **changes}))) == {(outcome, None)}
