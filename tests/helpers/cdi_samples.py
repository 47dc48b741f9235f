# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with CDI specifications, for tests to break. The machine is invented."""

from __future__ import annotations

import copy
import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost

BOOT = 1795248000  # 2026-11-21T08:00:00Z
MADE = BOOT + 72
DRIVER = "580.95.05"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so." + DRIVER
HOOK = "/usr/bin/nvidia-cdi-hook"
NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm")


def uuid(index):
    return "GPU-%08x-1c2d-4e5f-8a9b-0c1d2e3f4a5b" % (index + 1)


def document(count=2):
    """As nvidia-ctk writes it: each GPU by index and by UUID, and all."""

    def device(name, *indexes):
        return {"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia%d" % index} for index in indexes]}}

    named = [device(name, index) for index in range(count) for name in (str(index), uuid(index))]
    return {
        "cdiVersion": "0.5.0",
        "kind": "nvidia.com/gpu",
        "devices": [*named, device("all", *range(count))],
        "containerEdits": {
            "env": ["NVIDIA_VISIBLE_DEVICES=void"],
            "deviceNodes": [{"path": path} for path in NODES],
            "hooks": [{"hookName": "createContainer", "path": HOOK, "args": ["nvidia-cdi-hook", "enable-cuda-compat", "--host-driver-version=" + DRIVER]}],
            "mounts": [{"hostPath": LIBRARY, "containerPath": LIBRARY, "options": ["ro", "rbind"]}],
        },
    }


def changed(**changes):
    return dict(copy.deepcopy(document()), **changes)


def files(specs, count=2):
    """specs: {path: text, document or entry of a recording}."""
    found = {
        "/etc/cdi": {"absent": True},
        "/var/run/cdi": {"absent": True},
        "/sys/module": {"dir": ["nvidia", "loop"]},
        "/sys/module/nvidia": {"type": "directory", "mtime": BOOT + 31},
        HOOK: {"type": "file", "mode": "0755"},
        LIBRARY: {"type": "file", "mode": "0644"},
    }
    for minor, path in enumerate([*("/dev/nvidia%d" % n for n in range(count)), *NODES]):
        found[path] = {"device": "char", "major": 195, "minor": minor}
    for path, spec in specs.items():
        folder, _slash, name = path.rpartition("/")
        listed = found[folder].get("dir", [])
        found[folder] = {"dir": [*listed, name]}
        found[path] = json.dumps(spec) if isinstance(spec, dict) and "kind" in spec else spec
    return found


def dated(found, path, mtime):
    """The same file with a date: what is read and what stat says."""
    answers = {"read": [{"status": "ok", "value": found[path]}], "stat": [{"status": "ok", "value": {"type": "file", "mode": "0644", "mtime": mtime}}]}
    found[path] = {"asked": answers}
    return found


def host(found, **more):
    recording = {"schema": "fleetproof.accelerator/recording/v1", "node": "n1", "recorded": "2026-11-29T17:00:00Z", "files": found, "host": {"boot_time": BOOT}}
    return ReplayHost(dict(recording, **more))
