# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of a cohort with adapters, libraries and engines: alike they are quiet, and each key that is odd is found."""

from __future__ import annotations

import functools
import json

import host_samples
import network_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import surroundings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

KUBELET = {
    "state": "running",
    "settings": {
        name: {"outcome": "unnamed", "value": {"unknown": "no place names it"}, "source": ""}
        for name in (
            "topology_manager_policy", "topology_manager_scope", "topology_manager_options", "cpu_manager_policy", "memory_manager_policy", "cgroup_driver",
            "reserved_memory", "reserved_cpus", "kube_reserved", "system_reserved", "enforce_node_allocatable", "eviction_hard", "eviction_soft", "max_pods",
            "feature_gates", "container_runtime_endpoint", "container_log_max_size", "container_log_max_files",
        )
    },
}  # fmt: skip
ENGINE = {
    "id": "containerd", "version": "2.1.4", "default_handler": "runc", "cgroup_driver": "systemd", "snapshotter": "overlayfs", "cdi": {"enabled": True},
    "handlers": {"nvidia": {"binary": "/usr/bin/nvidia-container-runtime"}, "runc": {"binary": "/usr/bin/runc"}},
}  # fmt: skip
SPEC = {"path": "/var/run/cdi/nvidia.yaml", "kind": "nvidia.com/gpu", "version": "0.5.0", "generator": "nvidia-ctk", "driver_versions": ["580.95.05"]}


@functools.lru_cache(maxsize=64)
def _around(node):
    """What host_info reads of a node with eight rails; its own are the addresses."""
    files = samples.node(node=node)
    files.update(samples.software())
    files.update({"/sys/module": {"dir": ["mlx5_core", "nvidia_peermem"]}, "/sys/module/mlx5_core/version": "25.04-0.6.1\n"})
    files["/sys/module/mlx5_core/initstate"] = "live\n"
    recorded = host_samples.machine(files)
    recorded["commands"] += [*samples.commands(), {"argv": ["modinfo", "-F", "version", "mlx5_core"], "rc": 0, "stdout": "25.04-0.6.1\n"}]
    return json.dumps(surroundings.collect(ReplayHost(recorded)))


def sections(number):
    made = synthetic.healthy(serial="S%04d" % number)
    made.update(json.loads(_around(number + 7)))
    made["kubelet"] = json.loads(json.dumps(KUBELET))
    made["container_runtime"] = {"engines": [json.loads(json.dumps(ENGINE))], "toolkits": {"nvidia": [{"path": "/usr/bin/nvidia-container-runtime"}]}}
    made["cdi"] = {"specs": [json.loads(json.dumps(SPEC))]}
    return made


def folded(tmp_path, changes, policies=None):
    nodes = {}
    for number, (node, change) in enumerate(changes.items()):
        made = sections(number)
        if change:
            change(made)
        nodes[node] = synthetic.envelopes(made)
    return fold.fold(synthetic.write_run(tmp_path, nodes, policies))


def odd(fleet):
    """rule -> [node] of findings of cohorts."""
    told = {}
    for one in fleet["findings"]:
        if one["rule"].startswith("cohort-"):
            told.setdefault(one["rule"], []).append(one["node"])
    return told


def test_nodes_that_are_alike_are_quiet_and_known(tmp_path):
    fleet = folded(tmp_path, {"a": None, "b": None, "c": None})
    assert odd(fleet) == {}
    rules = fleet["verdicts"][0]["rules"]
    for name, rule in RULES.items():
        # Paths are read with the accelerators by another module, and are none of these sections.
        if rule.scope == "cohort" and rule.reads not in (("paths",), ()) and name in rules and rule.compare != "measurements":
            assert rules[name]["outcome"] in ("passed", "not_applicable"), (name, rules[name])
    assert rules["cohort-gid-index"]["outcome"] == "passed" and rules["cohort-rail-subnets"]["outcome"] == "passed"


def rail(key, value, port=None):
    def change(made):
        device = made["network_devices"]["rails"]["3"]
        (device["ports"]["1"] if port else device)[key] = value

    return change


def put(*path):
    *keys, last, value = path

    def change(made):
        for key in keys:
            made = made[key]
        made[last] = value

    return change


ONE_RAIL_LESS = put("network_devices", "counts", {"rails": 7, "virtual_functions": 0, "interfaces": 9})
ODD = {
    "rdma-count": ONE_RAIL_LESS,
    "rdma-adapters": rail("board", "MT_0000000839"),
    "rdma-firmware": rail("firmware", "28.39.3004"),
    "rdma-driver": rail("driver", "vfio-pci"),
    "rdma-names": rail("device", "rocep3s0"),
    "rdma-places": rail("numa_node", 1),
    "rdma-state": rail("state", "down", port=True),
    "rdma-speed": rail("gbit_s", 200.0, port=True),
    "rdma-mtu": rail("mtu", 1500),
    "gid-index": rail("gids", {"roce v1 link_local": 0, "roce v2 link_local": 1, "roce v1 ipv4": 2, "roce v2 ipv4": 5}, port=True),
    "gid-table": rail("gids", {"roce v1 link_local": 0, "roce v1 ipv4": 2, "roce v2 ipv4": 3}, port=True),
    "rail-interfaces": rail("interfaces", ["eth3"]),
    "rail-subnets": put("network_devices", "subnets", "3", ["10.5.0.0/24"]),
    "rail-subnet-sizes": put("network_devices", "subnet_sizes", "3", ["/23"]),
    "policy-rules": put("network_devices", "policy_rules", 7),
    "default-route": put("network_devices", "default_routes", [{"family": "ipv4", "interface": "eno2", "metric": 1}]),
    "adapters": put("network_devices", "interfaces", "eno1", "driver", "igc"),
    "interface-names": put("network_devices", "interfaces", "eno1", "address", "0000:03:00.0"),
    "interface-mtu": put("network_devices", "interfaces", "eno1", "mtu", 9000),
    "interface-links": put("network_devices", "interfaces", "eno1", "state", "down"),
    "bonds": put("network_devices", "interfaces", "eno1", "bond", "bond0"),
    "virtual-functions": put("network_devices", "counts", "virtual_functions", 8),
    "runtimes": put("software", "runtimes", "cuda", "12.4.1"),
    "libraries": put("software", "libraries", "nccl", {"not_applicable": "not installed"}),
    "toolkit": put("software", "toolkits", "nvidia", "1.14.0"),
    "environment": put("software", "environment", "/etc/nccl.conf", "NCCL_IB_GID_INDEX", "0"),
    "images": put("software", "images", "docker", "app:1", "sha256:" + "cd" * 32),
    "container-engine": put("container_runtime", "engines", 0, "version", "1.7.27"),
    "runtime-handlers": put("container_runtime", "engines", 0, "handlers", {"runc": {"binary": "/usr/bin/runc"}}),
    "runtime-settings": put("container_runtime", "engines", 0, "default_handler", "nvidia"),
    "runtime-cdi": put("container_runtime", "engines", 0, "cdi", "enabled", False),
    "toolkit-places": put("container_runtime", "toolkits", {}),
    "cdi-generator": put("cdi", "specs", 0, "generator", {"not_applicable": "the file does not tell"}),
    "cdi-driver": put("cdi", "specs", 0, "driver_versions", ["570.1.1"]),
    "kubelet": put("kubelet", "state", "not_running"),
    "kubelet-managers": put("kubelet", "settings", "cpu_manager_policy", {"outcome": "value", "value": "static", "source": "x"}),
    "kubelet-reservations": put("kubelet", "settings", "kube_reserved", {"outcome": "value", "value": {"cpu": "1"}, "source": "x"}),
    "kubelet-gates": put("kubelet", "settings", "feature_gates", {"outcome": "value", "value": {"CPUManager": False}, "source": "x"}),
    "board": put("host", "board", "version", "2.00"),
    "open-files": put("host", "limits", "nofile_soft", 1024),
    "microcode": put("hardware", "microcode", {"0xa101144": 2}),
    "memory-slots": put("hardware", "memory_modules", "populated", 15),
    "memory-speed": put("hardware", "memory_modules", "modules", 0, "configured_mts", 4000),
    "governor": put("hardware", "processors", "governors", {"powersave": 2}),
    "frequency": put("hardware", "processors", "boost", False),
    "idle-states": put("hardware", "processors", "idle_states", 1, "disabled", True),
    "mitigations": put("hardware", "processors", "vulnerable", ["mds"]),
    "tpm": put("hardware", "tpm", {"not_applicable": "no TPM"}),
    "sysctls": put("settings", "sysctls", "net.core.somaxconn", 128),
    "cgroup": put("settings", "cgroup", "v1"),
    "huge-page-sizes": put("settings", "huge_pages", "2048", "total", 512),
    "huge-page-defrag": put("settings", "huge_page_defrag", "always"),
    "name-servers": put("settings", "name_servers", ["10.20.0.3"]),
    "journal": put("settings", "log_rotation", "journald", {}),
    "docker-logs": put("settings", "log_rotation", "docker", {"max-size": "1g"}),
    "certificate-bundle": put("settings", "certificates", "bundle", "digest", "sha256:0"),
    "registry-files": put("settings", "certificates", "registries", {"/etc/docker/certs.d/a/ca.crt": "sha256:1"}),
    "kubelet-logs": put("kubelet", "settings", "container_log_max_size", {"outcome": "value", "value": "1Gi", "source": "x"}),
    "swap": put("settings", "swap_mib", 8192),
    "security-modules": put("settings", "security", "modules", ["capability"]),
    "lockdown": put("settings", "security", "lockdown", "integrity"),
    "modules-loaded": put("settings", "modules", "loaded", []),
    "nic-driver": put("settings", "modules", "versions", {"mlx5_core": {"loaded": "24.10-1.1.4", "on_disk": "24.10-1.1.4"}}),
    "modules-kept-away": put("settings", "modules", "blacklisted", {}),
    "kernels": put("settings", "kernels", "installed", ["6.5.0"]),
    "dkms": put("settings", "kernels", "dkms", []),
    "units": put("services", "units", "kubelet", "enabled", "disabled"),
    "units-active": put("services", "units", "kubelet", "active", "inactive"),
    "unit-limits": put("services", "units", "containerd", "nofile", 1024),
    "daemons": put("services", "versions", "fabric_manager", "1.0"),
    "disks": put("storage", "disks", 0, "size_gb", 960.0),
    "disk-firmware": put("storage", "disks", 0, "firmware", "OLD1"),
    "raid": put("storage", "arrays", []),
    "pcie-speed": put("pci", "devices", 2, "pcie", "speed_max_gts", 16.0),
    "pcie-places": put("pci", "devices", 2, "address", "0000:ff:00.0"),
    "accelerator-numa": put("pci", "devices", 2, "numa_node", 1),
    "ecc": put("accelerators.nvidia", "devices", 2, "ecc", "mode", "disabled"),
    "power-limit": put("accelerators.nvidia", "devices", 2, "power_w", "limit", 500),
    "persistence": put("accelerators.nvidia", "devices", 2, "persistence", False),
}


@pytest.mark.parametrize("name", ODD)
def test_each_key_that_is_odd_is_found(tmp_path, name):
    found = odd(folded(tmp_path, {"a": None, "b": None, "c": ODD[name], "d": None}))
    assert found["cohort-" + name] == ["c"]


def test_every_line_has_its_odd_case():
    from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import fingerprint

    elsewhere = {"paths", "host"}  # of host in test_fingerprint.py, of paths below
    assert {line["id"] for line in fingerprint.lines() if line["section"] not in elsewhere} - {"pcie-shape", "rail-switches"} <= set(ODD)


def test_what_is_unknown_is_neither_odd_nor_equal(tmp_path):
    fleet = folded(tmp_path, {"a": None, "b": None, "c": rail("firmware", {"unknown": "EIO"})})
    assert "cohort-rdma-firmware" not in odd(fleet)
    assert next(v for v in fleet["verdicts"] if v["node"] == "c")["rules"]["cohort-rdma-firmware"]["outcome"] == "unknown"


def old_image(made):
    made["host"]["os"]["version"] = "22.04"
    made["host"]["kernel"].update(release="5.15.0", version="#1 SMP")
    made["software"]["libraries"].update(nccl="2.18.5", ibverbs="1.11")
    made["software"]["toolkits"]["nvidia"] = "1.13.1"
    made["software"]["environment"].pop("/etc/nccl.conf")
    made["container_runtime"]["engines"][0]["version"] = "1.6.20"
    made["settings"]["sysctls"]["net.core.somaxconn"] = 128
    for device in made["network_devices"]["rails"].values():
        device["firmware"] = "28.36.1010"


def test_an_older_image_is_one_finding_that_names_the_settings(tmp_path):
    fleet = folded(tmp_path, {"n%d" % n: old_image if n in (2, 5) else None for n in range(6)})
    told = [f for f in fleet["findings"] if f["rule"] == "cohort-together"]
    assert [f["node"] for f in told] == ["n2", "n5"]
    for words in ("These 2 nodes differ", "container engines", "firmware of RDMA adapters", "communication libraries", "container toolkit", "kernel"):
        assert words in told[0]["summary"]
    parts = [f for f in fleet["findings"] if f["node"] == "n2" and f["rule"].startswith("cohort-") and f["rule"] != "cohort-together"]
    assert len(parts) == told[0]["observed"] and all("cohort-together" in f["caused_by"] for f in parts)


def test_consequences_of_one_difference_are_not_an_image(tmp_path):
    def kernel(made):
        made["host"]["kernel"].update(release="5.15.0", version="#1 SMP")
        made["settings"]["kernels"]["installed"] = ["5.15.0"]

    found = odd(folded(tmp_path, {"a": None, "b": None, "c": kernel}))
    assert {"cohort-kernel", "cohort-kernel-build", "cohort-kernels"} <= set(found) and "cohort-together" not in found


def compared(name, *values):
    names = [chr(ord("a") + at) for at in range(len(values))]
    cohort = cohorts.Cohort("c", tuple(names), "")
    params = policy.parse({}).params(name)
    return dict(cohorts.compare(RULES[name], cohort, {n: ("value", v) for n, v in zip(names, values, strict=True)}, dict.fromkeys(names, params)))


def test_subnets_that_no_majority_shares_are_no_fault():
    told = compared("cohort-rail-subnets", "0 10.0.0.0/31", "0 10.0.0.2/31", "0 10.0.0.4/31")
    assert {outcome.outcome for outcome in told.values()} == {"not_applicable"}
    told = compared("cohort-rail-switches", "0 leaf-1\n1 leaf-2", "0 leaf-1\n1 leaf-2", "0 leaf-2\n1 leaf-1")
    assert [told[n].outcome for n in "abc"] == ["passed", "passed", "found"] and "lacks 0 leaf-1" in told["c"].summary


def test_only_images_that_nodes_share_are_compared():
    told = compared("cohort-images", "docker app:1 x\ndocker own:1 y", "docker app:1 x", "docker app:1 z\ndocker b:1 q", "(none)")
    assert [told[n].outcome for n in "abcd"] == ["passed", "passed", "found", "passed"]
    assert "docker app:1 is z, where most nodes that have it have x" in told["c"].summary
    told = compared("cohort-images", "docker app:1 x", "docker app:1 y")
    assert {outcome.outcome for outcome in told.values()} == {"passed"}


def test_a_port_that_is_down_explains_that_it_differs(tmp_path):
    fleet = folded(tmp_path, {"a": rail("state", "down", port=True), "b": None, "c": None})
    told = {one["rule"]: one for one in fleet["findings"] if one["node"] == "a"}
    assert told["rdma-port-state"]["level"] == "fail" and told["rdma-port-state"]["caused_by"] == []
    assert told["cohort-rdma-state"]["caused_by"] == ["rdma-port-state"]


def test_a_port_that_is_slow_explains_that_it_differs(tmp_path):
    fleet = folded(tmp_path, {"a": rail("gbit_s", 200.0, port=True), "b": None, "c": None})
    told = {one["rule"]: one for one in fleet["findings"] if one["node"] == "a"}
    assert told["cohort-rdma-speed"]["caused_by"] == ["rdma-port-speed"]
