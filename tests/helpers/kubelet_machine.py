# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded machine with a kubelet, and what is read of it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kubelet

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "kubelet.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STANDARD = ["/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/config.yaml", "/var/lib/rancher/*/agent/etc/kubelet.conf.d"]


def machine(files=None, processes=None, **more):
    """A recorded machine. processes: pid -> words; files: path -> content; every other place is absent."""
    recorded = {"/proc": {"dir": []}, "/etc/rancher": {"dir": []}, "/var/lib/rancher": {"dir": []}, "/var/lib/kubelet": {"dir": []}}
    recorded.update({"/var/snap": {"dir": []}, "/etc": {"dir": ["rancher", "kubernetes"]}, "/etc/kubernetes": {"dir": []}})
    for pid, words in {1: ["/sbin/init"], **(processes or {})}.items():
        recorded["/proc"]["dir"].append(str(pid))
        recorded["/proc/%s/cmdline" % pid] = words if isinstance(words, dict) else "\0".join(words) + "\0"
    for path, content in (files or {}).items():
        recorded[path] = content
        while path.count("/") > 1:
            path, _slash, name = path.rpartition("/")
            entry = recorded.setdefault(path, {"dir": []})
            if "dir" in entry and name not in entry["dir"]:
                entry["dir"].append(name)
    recorded.update(more.get("entries", {}))
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": recorded})


def section(*arguments, **more):
    found = kubelet.collect(machine(*arguments, **more))
    assert [error.message for error in VALIDATOR.iter_errors(found)] == []
    return found


def policy(found):
    setting = found["settings"]["topology_manager_policy"]
    return setting["value"] if setting["outcome"] == "value" else (setting["outcome"], setting["value"]["unknown"])


KUBELET = ["/usr/bin/kubelet", "--v=2"]
CONFIG = "/etc/kubernetes/kubelet.yaml"
DROP_INS = "/etc/kubernetes/kubelet.d"
