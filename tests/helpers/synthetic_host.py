# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections of what surrounds the accelerators of a synthetic node: nothing is wrong with them, and no container runs."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable

STAMP = "2026-03-01T08:00:00Z"
RELEASE = "6.8.0-79-generic"
DRIVER = "580.95.05"
NO_KUBELET, NO_ENGINE, NO_CDI = (not_applicable("no %s on this node" % what) for what in ("kubelet", "container engine", "CDI specification"))
UNNAMED = {"outcome": "unnamed", "value": {"unknown": "no kubelet runs"}, "source": "", "skipped": []}
LINK = {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
_RUNS = {"load": "loaded", "active": "active", "sub": "running", "enabled": "enabled", "result": "success", "restarts": 0}


def settings():
    sysctls = {"vm.zone_reclaim_mode": 0, "vm.overcommit_memory": 0, "vm.max_map_count": 262144, "kernel.pid_max": 4194304, "kernel.shmmax": 1 << 62}
    return {
        "timestamp": STAMP,
        "sysctls": sysctls,
        "limits": {"nproc_soft": 8255741, "nproc_hard": 8255741},
        "huge_pages": {"2048": {"total": 0, "free": 0}},
        "huge_page_defrag": "madvise",
        "cgroup": "v2",
        "swap_mib": 0,
        "security": {"modules": ["lockdown", "yama", "apparmor"], "lockdown": "none", "signatures_enforced": False},
        "modules": {"loaded": ["nvidia", "nvidia_uvm"], "versions": {"nvidia": {"loaded": DRIVER, "on_disk": DRIVER}}, "blacklisted": {}},
        "name_servers": ["10.20.0.5"],
        "log_rotation": {"journald": {"SystemMaxUse": "4G"}, "docker": not_applicable("Docker has not run here")},
        "certificates": {"bundle": {"path": "/etc/ssl/certs/ca-certificates.crt", "digest": "sha256:" + 8 * "5eed0001"}, "registries": {}, "expiry": {}},
        "kernels": {"installed": [RELEASE], "dkms": [{"module": "nvidia", "version": DRIVER, "kernels": [RELEASE]}], "running": RELEASE},
    }


def services(name):
    boots = [{"at": "2026-01-04T06:00:00Z", "clean": None}, {"at": "2026-02-25T06:13:20Z", "clean": True}]
    return {
        "timestamp": STAMP,
        "units": {unit: dict(_RUNS, memlock="unlimited", nofile=1048576) for unit in ("slurmd", "chrony")},
        "failed": [],
        "versions": {"fabric_manager": DRIVER, "imex": not_applicable("not installed")},
        "names": {"name": name, "hosts_file": ["10.20.1.1"], "dns": ["10.20.1.1"], "servers": 1},
        "reboots": {"boots": boots, "crashes": []},
        "processes": {"total": 1871, "zombies": 0, "zombie_commands": {}, "stuck": [], "daemons": ["nvidia-persiste"]},
        "fabric_manager_log": {"source": "/var/log/fabricmanager.log", "started": "2026-02-25T06:14:02Z", "events": [], "dropped": 0},
        "dcgm": not_applicable("not installed"),
    }


def storage():
    room = {"size_gib": 870.0, "free_gib": 795.0, "inodes": 58000000, "inodes_free": 57400000}
    health = {
        "critical_warning": 0, "percent_used": 2, "media_errors": 0, "spare_percent": 100, "spare_threshold_percent": 10, "temperature_c": 37,
        "power_on_hours": 6127, "passed": not_applicable("the tool gives no verdict"), "implausible": False,
    }  # fmt: skip
    return {
        "timestamp": STAMP,
        "arrays": [],
        "file_system_errors": {"nvme0n1p2": {"count": 0, "last": not_applicable("no error")}},
        "mounts": [{"path": "/", "type": "ext4", "source": "/dev/nvme0n1p2", "network": False, "read_only": False, "turned_read_only": False}],
        "directories": [
            dict(room, path="/", purpose="root", mount="/", type="ext4"),
            dict(room, path="/dev/shm", purpose="shared_memory", mount="/dev/shm", type="tmpfs"),
        ],
        "kv_cache": not_applicable("no path of a key-value cache is named (host_kv_cache_path)"),
        "disks": [
            {"name": "nvme0n1", "transport": "pcie", "size_gb": 960.2, "model": "Acme 960", "rotational": False, "firmware": "2P14", "state": "live"},
        ],
        "controllers": [],
        "health": [dict(health, name="nvme0")],
    }


def hardware():
    module = {"size_mib": 65536, "type": "DDR5", "speed_mts": 4800, "configured_mts": 4800, "manufacturer": "Acme", "part": "M64", "ecc": True, "count": 32}
    return {
        "timestamp": STAMP,
        "memory_modules": {"slots": 32, "populated": 32, "installed_mib": 2097152, "modules": [dict(module, locators=[])], "empty": []},
        "processors": {
            "governors": {"performance": 224},
            "driver": "intel_pstate",
            "preference": "performance",
            "boost": True,
            "idle_driver": "intel_idle",
            "idle_states": [{"name": "C1", "latency_us": 1, "disabled": False}],
            "vulnerable": [],
            "package_throttles": {"0": {"count": 0, "seconds": 0.0}, "1": {"count": 0, "seconds": 0.0}},
        },
        "memory_errors": {"controllers": 2, "corrected": 0, "uncorrected": 0, "seconds": 352000, "places": []},
        "corrupted_kib": 0,
        "microcode": {"0x2b000643": 224},
        "recorded_errors": {"memory": [], "others": []},
        "machine_checks": dict.fromkeys(("exceptions", "thresholds", "thermal", "deferred"), 0),
        "tpm": {"version": 2, "measured_boot": True},
        "sensors": {"count": 142, "bad": []},
        "event_log": {"entries": 0, "events": []},
        "bmc_network": {"address_source": "static address", "vlan": False, "suite_without_authentication": False, "community_is_public": False},
    }


def kubelet():
    return {
        "timestamp": STAMP,
        "state": "absent",
        "problem": "",
        "process": {"name": NO_KUBELET, "pid": NO_KUBELET, "command": NO_KUBELET, "other_pids": [], "data_directories": []},
        "searched": ["/var/lib/kubelet"],
        "settings": NO_KUBELET,
        "nic_numa_nodes": NO_KUBELET,
        "resources": NO_KUBELET,
        "labels": NO_KUBELET,
        "lines": {"container_runtime_endpoint": UNNAMED, "topology_manager_policy": UNNAMED},
    }


def container_runtime():
    none = dict.fromkeys(("cli", "socket", "namespace", "engine"), NO_ENGINE)
    return {
        "timestamp": STAMP,
        "kubelet": {"endpoint": NO_KUBELET, "engine": NO_KUBELET},
        "resolved": dict(none, nerdctl_absent=False, by="probe", reason=NO_ENGINE["not_applicable"]),
        "network_namespace": {"shared": NO_ENGINE, "warning": ""},
        "cgroup_version": NO_ENGINE,
        "clients": {},
        "engines": [],
        "unsure": [],
        "toolkits": {},
        "containers": NO_ENGINE,
        "sources": [],
    }


def cdi():
    absent = [{"path": path, "state": "absent", "detail": "", "ignored": []} for path in ("/etc/cdi", "/var/run/cdi")]
    return {"timestamp": STAMP, "directories": absent, "specs": [], "conflicts": [], "boot_time": NO_CDI, "drivers": NO_CDI, "refresh": NO_CDI}


def _function(kind, acs):
    words = {"type": kind, "max_payload_bytes": 256, "max_read_request_bytes": 4096, "acs": acs}
    return dict(LINK, settings=words, aer={"correctable": {}, "nonfatal": {}, "fatal": {}})


def paths(addresses):
    """Each card below a port of its own processor, half of them on each; every pair is linked. addresses: of NVIDIA's cards."""
    count = len(addresses)
    ports = ["%s%02x:00.0" % (address[:5], int(address[5:7], 16) - 1) for address in addresses]
    ids = ["nvidia:%d" % index for index in range(count)]
    ends = [
        {
            "id": ids[index],
            "kind": "accelerator",
            "address": address,
            "root": "pci" + ports[index][:7],
            "ports": [ports[index]],
            "numa_node": index // 4,
            "iommu": {"group": 40 + index, "type": "identity"},
            "bar": {"largest_mib": 131072, "resizable_to_mib": not_applicable("no resizable BAR")},
        }
        for index, address in enumerate(addresses)
    ]
    functions = {port: _function("root_port", []) for port in ports}
    functions.update({address: _function("endpoint", not_applicable("no access control services")) for address in addresses})

    def square(word):
        return [["X" if one == other else word(one, other) for other in range(count)] for one in range(count)]

    return {
        "manufacturer": "nvidia",
        "timestamp": STAMP,
        "ends": ends,
        "functions": functions,
        "matrix": {"ids": ids, "levels": square(lambda one, other: "NODE" if one // 4 == other // 4 else "SYS")},
        "problems": [],
        "tool": {
            "source": "nvidia-smi topo -m",
            "ids": ids,
            "levels": square(lambda _one, _other: "NV18"),
            "weights": not_applicable("nvidia-smi topo -m tells no weights"),
            "numa": {ident: index // 4 for index, ident in enumerate(ids)},
            "cpus": {},
        },
        "sources": [{"source": "nvidia-smi topo -m", "status": "ok", "seconds": 0.6, "detail": ""}],
    }


def sections(addresses, name="n1"):
    """{section: data} of all of them."""
    return {
        "settings": settings(),
        "services": services(name),
        "storage": storage(),
        "hardware": hardware(),
        "kubelet": kubelet(),
        "container_runtime": container_runtime(),
        "cdi": cdi(),
        "paths.nvidia": paths(addresses),
    }
