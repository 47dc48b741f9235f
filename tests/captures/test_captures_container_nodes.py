# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server said of nodes, from the files that lie on such a node: the kubelet's checkpoint and the labels of gpu-feature-discovery."""

from __future__ import annotations

import json
import re

import kubelet_machine
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import device_plugins
from health_nodes import ask

LINE = re.compile(r'\s*"?(nvidia\.com/[\w.+-]+)"?\s*[=:]\s*"?([^",\s]*)"?,?\s*\Z')
# resources that are offered, labels
EXPECTED = {
    "node-2xt4-gcp-kubeadm.yaml": ({"nvidia.com/gpu": (2, 2)}, ("525.60.13", 2, "Tesla-T4", 15360, 1, {})),
    "node-a100-mig-mixed-3inst.yaml": (
        {"nvidia.com/gpu": (0, 0), "nvidia.com/mig-1g.5gb": (2, 2), "nvidia.com/mig-2g.10gb": (1, 1), "nvidia.com/mig-3g.20gb": (0, 0)},
        ("520.56.06", 1, "NVIDIA-A100-SXM4-40GB", 40960, 0, {"1g.5gb": 2, "2g.10gb": 1}),
    ),
    "node-describe-timeslicing-default.txt": ({"nvidia.com/gpu": (16, 4)}, (None, 4, "Tesla-T4-SHARED", None, 4, {})),
    "node-describe-timeslicing-renamed.txt": ({"nvidia.com/gpu": (0, 0), "nvidia.com/gpu.shared": (16, 4)}, (None, 4, "Tesla-T4", None, 4, {})),
    "node-labels-a100-dgx.json": ({}, ("450.80.02", 1, "A100-SXM4-40GB", 40537, None, {})),
    "node-labels-a100-mig-mixed.json": ({}, ("450.80.02", 1, "A100-SXM4-40GB", 40537, None, {"1g.5gb": 1, "2g.10gb": 1, "3g.21gb": 1})),
    "node-labels-a100-show-labels.txt": ({}, ("470.57.02", 1, "NVIDIA-A100-SXM4-40GB", 40536, None, {"2g.10gb": 3})),
    "node-labels-gfd-yaml-elided.txt": ({}, ("455.06", 1, "A100-SXM4-40GB", 39538, None, {})),
    "node-labels-t4-shared-memory-bytes.txt": ({}, ("510.73.08", 1, "Tesla-T4-SHARED", 15360, 8, {})),
}
# Kept by the API server alone: what another acceptance concluded of a node, and what a test runner was asked to do. No file of the node has it.
NOT_ASKED = {"node-describe-amd-acceptance-failed.txt", "node-labels-amd-testrunner.txt"}


def test_every_capture_has_an_entry(captures):
    assert {path.name for path in (captures / "container").glob("node-*")} == NOT_ASKED | set(EXPECTED)


def parts(text):
    """(labels, {resource: number}): names of resources are never labels, and labels have no capacity."""
    labels, offered, allocatable = {}, {}, False
    for line in text.splitlines():
        if line.endswith(":"):
            allocatable = line.strip().lower() == "allocatable:"
        found = LINE.match(line)
        if found and allocatable:
            offered[found.group(1)] = int(found.group(2))
        elif found and not re.fullmatch(r"nvidia\.com/(?:gpu(?:\.shared)?|mig-[\w.]+gb)", found.group(1)):
            labels.setdefault(*found.groups())
    return labels, offered


def on_the_node(text):
    """The kubelet section of a node that has what was told in its files; time-sliced devices as replicas of as many cards as are labeled."""
    labels, offered = parts(text)
    replicas = int(labels.get("nvidia.com/gpu.replicas") or 1) or 1
    ids = {name: ["%s-%d::%d" % (name[-4:], n // replicas, n % replicas) if replicas > 1 else "%s-%d" % (name[-4:], n) for n in range(number)]
           for name, number in offered.items()}  # fmt: skip
    files = {device_plugins.LABELS: "".join("%s=%s\n" % pair for pair in labels.items())}
    if offered:
        files["/var/lib/kubelet/" + device_plugins.CHECKPOINT] = json.dumps({"Data": {"PodDeviceEntries": None, "RegisteredDevices": ids}, "Checksum": 1})
    return kubelet_machine.section(files, {900: ["/usr/bin/kubelet"]})


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_node(captures, name):
    section = on_the_node((captures / "container" / name).read_text(encoding="utf-8"))
    resources, (driver, count, product, memory, replicas, mig) = EXPECTED[name]
    told = section["resources"]
    assert {key: (one["devices"], one["distinct"]) for key, one in told.items()} == resources if resources else "not_applicable" in told
    labels = section["labels"]
    assert (labels["driver"], labels["count"], labels["product"], labels["memory_mib"]) == (driver, count, product, memory)
    assert (labels["replicas"], labels["mig"]) == (replicas, mig)
    # A node that has what its labels say: no resource that is called otherwise or cut into parts makes it one without accelerators.
    sections = synthetic.healthy(count)
    if driver is not None:
        sections["accelerators.nvidia"]["driver"]["version"] = driver
    sections["kubelet"] = section
    for rule in ("kubelet-devices", "kubelet-labels"):
        assert {outcome for _ident, outcome, _level in ask(rule, sections)} <= {"passed", "not_applicable"}, rule
    if resources:
        assert ask("kubelet-devices", sections) == [("nvidia", "passed", None)]
