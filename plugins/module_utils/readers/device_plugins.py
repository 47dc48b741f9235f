# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What device plugins have registered with the kubelet, and the labels that are made for the node, from the files that lie on it.

The kubelet keeps the healthy devices of each resource in a checkpoint (kubernetes, pkg/kubelet/cm/devicemanager); one that is shared is there
once a replica, as ID::n (NVIDIA/k8s-device-plugin, internal/rm/devices.go), ID/vgpun (Google's container-engine-accelerators) or UUID-n (HAMi).
Labels: the output file of NVIDIA's gpu-feature-discovery.
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown, whole

CHECKPOINT = "device-plugins/kubelet_internal_checkpoint"
LABELS = "/etc/kubernetes/node-feature-discovery/features.d/gfd"
_LARGEST = 8 << 20
_MOST = 64
_REPLICA = re.compile(r"(?:::\d+|/vgpu\d+|(?<=-[0-9a-f]{12})-\d+)\Z")
_NAME = re.compile(r"[a-z0-9.-]{1,100}/[\w.-]{1,63}\Z")


def resources(host, root):
    """{resource: {devices, distinct}}; distinct: without replicas."""
    answer = host.read_text("%s/%s" % (root, CHECKPOINT), _LARGEST)
    if not answer.ok:
        return not_applicable("no device plugin has registered") if answer.status == ABSENT else unknown(answer.reason)
    try:
        told = json.loads(answer.value)["Data"]["RegisteredDevices"]
        found = {}
        for name in sorted(told or {})[:_MOST]:
            ids = told[name] or []
            if _NAME.match(name) and all(isinstance(one, str) for one in ids):
                found[name] = {"devices": len(ids), "distinct": len({_REPLICA.sub("", one) for one in ids})}
        return found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return unknown("%s/%s: not understood" % (root, CHECKPOINT))


def _mib(text):
    """Some releases tell bytes, others MiB: no card has 16 TiB."""
    size = whole(text)
    return None if size is None else size >> 20 if size >= 1 << 24 else size


def parse_labels(text):
    """{driver, count, product, memory_mib, replicas, mig_strategy, mig: {profile: number}}; None of what no label tells."""
    told = {}
    for line in text.splitlines()[:512]:
        key, equal, value = line.strip().partition("=")
        if equal and key.startswith("nvidia.com/"):
            told[key[11:]] = value.strip()[:100]
    if not told:
        return unknown("%s: no label" % LABELS)
    parts = [told.get("cuda.driver." + part, "") for part in ("major", "minor", "rev")]
    mig = {}
    for key, value in told.items():
        found = re.match(r"mig-([\w.+-]{1,40})\.count\Z", key)
        if found and whole(value) is not None and len(mig) < _MOST:
            mig[found.group(1)] = whole(value)
    return {
        "driver": told.get("cuda.driver-version.full") or ".".join(part for part in parts if part) or None,
        "count": whole(told.get("gpu.count", "")),
        "product": told.get("gpu.product") or None,
        "memory_mib": _mib(told.get("gpu.memory", "")),
        "replicas": whole(told.get("gpu.replicas", "")),
        "mig_strategy": told.get("mig.strategy") or None,
        "mig": mig,
    }


def labels(host):
    answer = host.read_text(LABELS, 1 << 16)
    if not answer.ok:
        return not_applicable("no labels in a file on this node") if answer.status == ABSENT else unknown(answer.reason)
    return parse_labels(answer.value)


def read(host, root):
    """{resources, labels}."""
    return {"resources": resources(host, root), "labels": labels(host)}
