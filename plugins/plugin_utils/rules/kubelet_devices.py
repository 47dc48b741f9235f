# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what Kubernetes was told of a node's accelerators: devices that plugins registered, labels."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kubelet import Kubelet
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    expectation,
    found,
    not_applicable,
    rule,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

# Names of whole cards and of parts of them. NVIDIA/k8s-device-plugin, README: gpu, gpu.shared where time-sliced ones are renamed, mig-<profile> in the
# strategy mixed; AMD GPU device plugin, index: amd.com/gpu; in its naming strategy mixed partitions are named by their mode, as amd.com/cpx_nps4.
WHOLE = {"nvidia": r"nvidia\.com/gpu", "amd": r"amd\.com/(?:gpu|[a-z]{3}_nps\d)"}
PARTS = {"nvidia": r"nvidia\.com/mig-"}


def _running(view):
    kubelet = Kubelet(view)
    if kubelet.state == "not_running":
        raise NoAnswer("not_applicable", "no kubelet runs: what it knew may be old")
    return kubelet.section


def _count(resources, pattern):
    """(whether there is such a resource, how many devices are below it)."""
    names = [name for name in resources.data if pattern and re.match(pattern, name)]
    return bool(names), sum(resources.number(name, "distinct") for name in names)


@rule(
    id="kubelet-devices",
    layer=2,
    level="fail",
    title="The kubelet offers every accelerator",
    reads=("kubelet", "accelerators"),
    scope="group",
    remedy="Look into the log of the device plugin: it takes a device off the list that it finds unhealthy, and may need a restart to put it back. Where "
    "the plugin is told to offer fewer, switch this rule off.",
    follows=("device-lost", "device-vanished", "ecc-uncorrected", "row-remap-failed", "driver-library-match"),
)
def kubelet_devices(group, p):
    if group.manufacturer not in WHOLE:
        return not_applicable("the names of resources of %s are not known" % group.manufacturer)
    if not group.packages:
        return not_applicable("no accelerator was read")
    resources = _running(group.view).facts("resources")
    any_whole, cards = _count(resources, WHOLE[group.manufacturer])
    any_parts, parts = _count(resources, PARTS.get(group.manufacturer))
    if not any_whole and not any_parts:
        wanted = expectation("a device plugin", origin="this node: its kubelet")
        return found("No device plugin has registered these accelerators", "none", wanted, level="info")
    made = [device.data.get("parent") for device in group.devices if device.kind == "partition"]
    divided = {parent for parent in made if parent.__class__ is str}
    wanted = len(group.packages) - (len(divided) if any_parts else 0)
    lost = []
    # Cards in parts that this report does not list stand for as many cards as are missing.
    if cards < wanted and not (any_parts and parts and not divided):
        lost.append("%d of %d accelerators" % (cards, wanted))
    if any_parts and parts < len(made):
        lost.append("%d of %d partitions" % (parts, len(made)))
    if lost:
        return found("The kubelet offers %s" % " and ".join(lost), lost[0], expectation(wanted, "accelerators", "this node: its accelerators"))
    return PASSED


@rule(
    id="kubelet-labels",
    layer=2,
    level="warn",
    title="The node's labels say what the node is",
    reads=("kubelet", "accelerators"),
    scope="node",
    remedy="Restart gpu-feature-discovery on the node: its labels are from before the driver or a card was changed, and pods are placed by them.",
    follows=("device-lost", "device-vanished", "kubelet-devices"),
)
def kubelet_labels(view, p):
    labels, group = _running(view).facts("labels"), view.group("nvidia")
    if group is None or not group.packages:
        return not_applicable("no NVIDIA accelerator was read")
    odd = []
    driver, count = labels.maybe("text", "driver"), labels.maybe("number", "count")
    # Older releases leave the last part out where it is empty.
    loaded = group.text("driver", "version")
    if driver is not None and driver != loaded:
        odd.append("driver %s instead of %s" % (clean(driver, 40), loaded))
    # In the strategy single a partition counts as a card.
    if count is not None and labels.maybe("text", "mig_strategy") != "single" and count != len(group.packages):
        odd.append("%d accelerators instead of %d" % (count, len(group.packages)))
    if odd:
        return found("The node's labels say %s" % ", ".join(odd), len(odd), expectation("what the driver tells", origin="this node"))
    if driver is None and count is None:
        raise NoAnswer("unknown", "no label tells driver or count")
    return PASSED
