# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic node reports and run directories: a healthy node of every kind, for tests and the bench to break."""

from __future__ import annotations

import json
import zlib

import synthetic_host
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import run_directory

STAMP = "2026-03-01T08:00:00Z"
NAME = "NVIDIA H100 80GB HBM3"


def address(index):
    return "0000:%02x:00.0" % (0x18 + 0x11 * index)


def uuid_of(index, serial="S0001"):
    """The UUID of a card in the node of that serial."""
    return "GPU-%08x-1c2d-4e5f-8a9b-%s" % (index + 1, "0c1d2e3f4a5b" if serial == "S0001" else "%012x" % zlib.crc32(serial.encode()))


def device(index=0, manufacturer="nvidia", name=NAME, serial=None, uuid=None, **facts):
    given = {
        "identity": accelerators.identity(
            uuid=uuid or uuid_of(index),
            serial=serial or "16500230%04d" % index,
            pci=address(index),
            slot=not_applicable("no slot"),
        ),
        "numa_node": index // 4,
        "memory_mib": 81559,
        "memory_used_mib": 2,
        "utilization_percent": 0,
        "persistence": True,
        "recovery_action": "none",
        "processes": 0,
        "firmware": {"vbios": "96.00.74.00.01"},
        "health": {"state": "ok", "detail": ""},
        "temperature_c": {"core": 32 + index % 3, "memory": 41, "limit_core": 87, "limit_memory": 95, "margin_core": 55},
        "power_w": {"draw": 71.5, "limit": 700, "limit_default": 700},
        "ecc": {
            "mode": "enabled",
            "corrected_volatile": 0,
            "uncorrected_volatile": 0,
            "corrected_aggregate": 0,
            "uncorrected_aggregate": 0,
            "sram_threshold_exceeded": False,
        },
        "row_remap": {"corrected": 0, "uncorrected": 0, "pending": False, "failed": False},
        "retired_pages": not_applicable("this part remaps rows"),
        "pcie": {"generation_current": 5, "generation_max": 5, "generation_device_max": 5, "width_current": 16, "width_max": 16, "replay_count": 0},
        "links": {"kind": "nvlink", "total": 18, "up": 18, "down": []},
        "partition": {"mode": "mig", "enabled": False, "profile": not_applicable("off"), "memory_profile": not_applicable("off")},
        "fabric": {"state": "completed", "status": "success", "clique_id": 0, "cluster_uuid": "00000000-0000-0000-0000-000000000000"},
        "throttle": {"active": []},
        "device_nodes": ["/dev/%s%d" % (manufacturer, index)],
    }
    given.update(facts)
    return accelerators.device("%s:%d" % (manufacturer, index), index, name, **given)


class Clock:
    @staticmethod
    def now():
        return 1772352000


def section(devices, manufacturer="nvidia", detection=None, driver=None, checks=(), on_bus=None):
    on_bus = [pci_entry(i) for i in range(len(devices))] if on_bus is None else on_bus
    version = "580.95.05"
    return accelerators.section(
        manufacturer,
        Clock,
        devices,
        detection or accelerators.detection(manufacturer, devices, pci=on_bus),
        driver
        or dict(
            dict.fromkeys(("version", "module_version", "library_version", "tool_version"), version),
            runtime="CUDA",
            runtime_version="13.0",
            flavor="open",
            unified_memory="ready",
        ),
        [{"source": "nvidia-smi -q -x", "status": "ok", "seconds": 0.9, "detail": ""}],
        checks,
    )


def pci_entry(index, manufacturer="nvidia", **changes):
    entry = {
        "address": address(index),
        "vendor": "10de",
        "device": "2330",
        "subsystem_vendor": "10de",
        "subsystem_device": "16c1",
        "class": "0x030200",
        "revision": "a1",
        "manufacturer": manufacturer,
        "role": "accelerator",
        "model": "H100 SXM5 80GB",
        "driver": manufacturer,
        "numa_node": index // 4,
        "pcie": {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0},
        "upstream": {"address": "0000:17:00.0", "width_max": 16, "speed_max_gts": 32.0, "width_current": 16, "speed_current_gts": 32.0},
    }
    entry.update(changes)
    return entry


def pci(entries):
    counts = {}
    for entry in entries:
        counts[entry["manufacturer"]] = counts.get(entry["manufacturer"], 0) + 1
    return {"timestamp": STAMP, "scan": {"status": "ok", "detail": ""}, "counts": counts, "devices": entries}


def services(**active):
    """active: service, without nvidia-, -> ActiveState."""
    states = dict({"fabricmanager": "active", "imex": "inactive", "persistenced": "active", "dcgm": "inactive"}, **active)
    subs = {"active": "running", "inactive": "dead"}
    return dict({"nvidia-" + k: {"load": "loaded", "active": v, "sub": subs.get(v, v)} for k, v in states.items()}, driver_container=False)


def host(serial="S0001", **changes):
    data = {
        "timestamp": STAMP,
        "system": {"vendor": "Acme", "product": "G8-H100", "serial": serial, "sku": "G8", "family": "G"},
        "board": {"vendor": "Acme", "product": "X13", "version": "1.02", "serial": "B" + serial},
        "bios": {"vendor": "AMI", "version": "2.1a", "date": "05/11/2025"},
        "bmc": {"version": "1.05.03"},
        "os": {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04.2 LTS"},
        "kernel": {
            "release": "6.8.0-79-generic",
            "version": "#79-Ubuntu SMP",
            "command_line": "BOOT_IMAGE=/vmlinuz root=UUID=%s iommu=pt" % serial,
            "architecture": "x86_64",
            "boot_time": "2026-02-25T06:13:20Z",
        },
        "cpu": {"model": "Intel(R) Xeon(R) Platinum 8480C", "sockets": 2, "cores": 112, "threads": 224, "numa_nodes": 2, "smt": True},
        "memory": {"total_mib": 2063937, "available_mib": 2030000, "per_numa_mib": {"0": 1031968, "1": 1031969}},
        "huge_pages": {"size_kib": 2048, "total": 0, "free": 0, "transparent": "madvise"},
        "limits": {"memlock_soft": "unlimited", "memlock_hard": "unlimited", "nofile_soft": 1048576, "nofile_hard": 1048576},
        "python": {"version": "3.12.3", "executable": "/usr/bin/python3"},
        "time": {"synchronized": True, "source": "chrony", "offset_seconds": 0.0001, "method": "chronyc tracking"},
        "numa_balancing": False,
        "security": {"selinux": "disabled", "secure_boot": False},
        "virtualization": "none",
        "modules": {"nvidia": {"version": "580.95.05", "loaded": True}},
        "uptime_seconds": 352000,
        "services": services(),
    }
    data.update(changes)
    return data


def kernel(events=()):
    return {
        "timestamp": STAMP,
        "source": "journalctl -k",
        "status": "ok",
        "reason": "",
        "boot_time": "2026-02-25T06:13:20Z",
        "since": "boot",
        "events": list(events),
        "lines": 1234,
        "dropped": 0,
    }


def healthy(count=8, serial="S0001", events=()):
    """The sections of a node with nothing wrong. serial: of the node; its cards have their identities from it."""
    entries = [pci_entry(i) for i in range(count)]
    listed = [device(i, serial="%s-%d" % (serial, i), uuid=uuid_of(i, serial)) for i in range(count)]
    own = {"host": host(serial), "pci": pci(entries), "accelerators.nvidia": section(listed, on_bus=entries), "kernel": kernel(events)}
    return dict(own, **synthetic_host.sections([entry["address"] for entry in entries]))


def envelope(node, name, data, status="read", reason=""):
    return {
        "schema": run_directory.SECTION_SCHEMA,
        "run_id": "r1",
        "collection_version": "0.1.0",
        "node": node,
        "section": name,
        "module": "test",
        "started": STAMP,
        "finished": STAMP,
        "recorded": False,
        "status": status,
        "reason": reason,
        "data": data,
        "attempt": 1,
    }


def envelopes(sections, node="n1"):
    return {name: envelope(node, name, data) for name, data in sections.items()}


def unread(node, status="unreachable", reason="ssh: connect to host: connection timed out", sections=("host", "pci")):
    return {name: envelope(node, name, {}, status, reason) for name in sections}


def write_run(root, nodes, policies=None, profile="preflight", roster=None):
    """A run directory. nodes: node -> envelopes; policies: node -> variables."""
    policies = policies or {}
    by_digest = {run_directory.digest(v): v for v in policies.values()}
    document = {
        "collection_version": "0.1.0",
        "created": "2026-03-01T07:59:00Z",
        "profile": profile,
        "roster": roster or sorted(nodes),
        "groups": {node: [] for node in nodes},
        "policies": {node: run_directory.digest(v) for node, v in policies.items()},
        "replay": False,
    }
    run = run_directory.RunDirectory.create(root, "r1", document, by_digest)
    for node, filed in nodes.items():
        write_node(run.path, node, filed)
    return run.path


def write_node(path, node, filed):
    """The sections of one node into a run directory. filed: section -> envelope, or what stands in its file."""
    folder = path / "nodes" / run_directory.encode(node)
    folder.mkdir(parents=True)
    for name, content in filed.items():
        text = content if isinstance(content, (str, bytes)) else json.dumps(dict(content, node=node), separators=(",", ":"))
        (folder / ("%s.1.json" % name)).write_bytes(text if isinstance(text, bytes) else text.encode())
