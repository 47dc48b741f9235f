# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said to be checked of a host: each thing is a fact of a section, and a rule reads it."""

from __future__ import annotations

import json

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

engine.default_policy()
# thing: (fact, rules that judge it). A rule cohort-* compares nodes.
HOST = {
    "board": ("host.board.product", ["cohort-board"]),
    "BIOS": ("host.bios.version", ["cohort-bios", "cohort-bios-date"]),
    "BMC": ("host.bmc.version", ["cohort-bmc"]),
    "processor model": ("host.cpu.model", ["cohort-cpu"]),
    "microcode of each core": ("hardware.microcode", ["cpu-microcode", "cohort-microcode"]),
    "SMT": ("host.cpu.smt", ["cohort-smt"]),
    "governor": ("hardware.processors.governors", ["cpu-governor", "cohort-governor"]),
    "idle states": ("hardware.processors.idle_states", ["cpu-idle-states", "cohort-idle-states"]),
    "mitigations": ("hardware.processors.vulnerable", ["cpu-mitigations", "cohort-mitigations"]),
    "heat of processors": ("hardware.processors.package_throttles", ["cpu-throttled", "kernel-thermal"]),
    "memory size": ("host.memory.total_mib", ["host-memory", "memory-installed", "cohort-memory"]),
    "memory that is free": ("host.memory.available_mib", ["memory-available"]),
    "DIMM population": ("hardware.memory_modules.modules", ["memory-modules", "cohort-memory-slots"]),
    "EDAC": ("hardware.memory_errors.uncorrected", ["memory-uncorrected", "memory-corrected"]),
    "MCE": ("hardware.machine_checks.exceptions", ["machine-checks", "recorded-errors"]),
    "NUMA balancing": ("host.numa_balancing", ["numa-balancing", "cohort-numa-balancing"]),
    "THP": ("host.huge_pages.transparent", ["huge-pages", "cohort-transparent-huge-pages"]),
    "huge pages": ("settings.huge_pages", ["huge-pages-reserved", "cohort-huge-page-sizes"]),
    "sysctl, shm and pid_max": ("settings.sysctls", ["kernel-parameters", "cohort-sysctls"]),
    "memlock": ("host.limits.memlock_soft", ["memlock-limit", "service-limits", "cohort-memlock"]),
    "nofile": ("host.limits.nofile_hard", ["open-files-limit", "cohort-open-files"]),
    "nproc": ("settings.limits.nproc_soft", ["process-limit"]),
    "kernel command line": ("host.kernel.command_line", ["kernel-command-line", "cohort-kernel-command-line"]),
    "running kernel": ("settings.kernels.running", ["driver-built", "cohort-kernel"]),
    "installed kernels": ("settings.kernels.installed", ["driver-next-kernel", "cohort-kernels"]),
    "DKMS": ("settings.kernels.dkms", ["driver-built", "driver-installed-once", "cohort-dkms"]),
    "cgroup mode": ("settings.cgroup", ["cohort-cgroup"]),
    "Secure Boot": ("host.security.secure_boot", ["driver-loadable", "cohort-secure-boot"]),
    "module signing": ("settings.security.signatures_enforced", ["driver-loadable", "cohort-lockdown"]),
    "SELinux": ("host.security.selinux", ["cohort-selinux"]),
    "AppArmor": ("settings.security.modules", ["cohort-security-modules"]),
    "modules present": ("settings.modules.loaded", ["driver-loadable", "cohort-modules-loaded"]),
    "modules blacklisted": ("settings.modules.blacklisted", ["driver-loadable", "cohort-modules-kept-away"]),
    "driver on the disk": ("settings.modules.versions", ["driver-on-disk"]),
    "services": ("services.units", ["service-down", "vendor-daemons", "cohort-units"]),
    "failed services": ("services.failed", ["service-failed"]),
    "versions of daemons": ("services.versions", ["service-versions", "cohort-daemons"]),
    "time synchronization and offset": ("host.time.offset_seconds", ["time-synchronized"]),
    "DNS and hosts": ("services.names.dns", ["own-name"]),
    "unexpected restarts": ("services.reboots.boots", ["unexpected-restart"]),
    "zombies": ("services.processes.zombies", ["zombies"]),
    "processes in state D": ("services.processes.stuck", ["processes-stuck"]),
    "event log of the BMC": ("hardware.event_log.events", ["bmc-events"]),
    "sensors of the BMC": ("hardware.sensors.bad", ["bmc-sensors"]),
    "TPM": ("hardware.tpm.version", ["cohort-tpm"]),
    "measured boot": ("hardware.tpm.measured_boot", ["cohort-tpm"]),
    "NVMe inventory": ("storage.disks", ["drive-count", "cohort-disks"]),
    "state of drives": ("storage.disks", ["drive-state", "drive-count"]),
    "drives without a disk": ("storage.controllers", ["drive-state", "drive-namespaces"]),
    "SMART": ("storage.health", ["drive-health", "drive-wear", "drive-log"]),
    "RAID": ("storage.arrays", ["raid-arrays", "cohort-raid"]),
    "file systems": ("storage.file_system_errors", ["file-system-errors"]),
    "mounts that turned read-only": ("storage.mounts", ["file-system-writable"]),
    "space and inodes": ("storage.directories", ["disk-room", "shared-memory"]),
    "path of a key-value cache": ("storage.kv_cache", ["kv-cache-path"]),
    "operating system": ("host.os.version", ["cohort-os"]),
    "virtualization": ("host.virtualization", ["cohort-virtualization"]),
    "drivers": ("host.modules", ["cohort-modules"]),
    "NVIDIA's services": ("host.services", ["fabric-manager", "imex-service"]),
    "memory out of use": ("hardware.corrupted_kib", ["memory-offline"]),
    "record of rasdaemon": ("hardware.recorded_errors", ["recorded-errors"]),
    "network of the BMC": ("hardware.bmc_network", ["bmc-network"]),
    "defragmentation for huge pages": ("settings.huge_page_defrag", ["cohort-huge-page-defrag"]),
    "name servers": ("settings.name_servers", ["cohort-name-servers"]),
    "bounds of the journal": ("settings.log_rotation.journald", ["cohort-journal"]),
    "rotation of Docker's logs": ("settings.log_rotation.docker", ["log-rotation", "cohort-docker-logs"]),
    "certificates trusted": ("settings.certificates.bundle", ["cohort-certificate-bundle"]),
    "certificates of registries": ("settings.certificates.expiry", ["registry-certificates", "cohort-registry-files"]),
    "swap": ("settings.swap_mib", ["swap-off", "cohort-swap"]),
    "DCGM": ("services.dcgm", ["dcgm-versions"]),
    "log of the fabric manager": ("services.fabric_manager_log", ["fabric-manager-log"]),
}
# Facts that no rule judges, and why.
NOT_JUDGED = {
    "timestamp": "when it was read",
    "host.system": "who the machine is: it divides nodes into cohorts, and its serial number tells a replaced machine",
    "host.python": "what our modules ran with",
    "host.uptime_seconds": "how long a node runs is no fault; restarts that nobody asked for are judged",
}


def part(schema, whole, key):
    """The schema of a key below any of the forms that a fact may have."""
    while "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    forms = [form for kind in ("anyOf", "oneOf") for form in schema.get(kind, ())] or [schema]
    return next((form["properties"][key] for form in forms if key in form.get("properties", ())), None)


@pytest.mark.parametrize("thing", HOST)
def test_a_thing_is_a_fact_and_a_rule_reads_it(thing, root):
    fact, rules = HOST[thing]
    section, *keys = fact.split(".")
    whole = json.loads((root / "docs" / "schemas" / (section + ".json")).read_bytes())
    at = whole
    for key in keys:
        at = part(at, whole, key)
        assert at is not None, (fact, key)
    assert set(rules) <= set(RULES)
    assert any(section in RULES[rule].reads for rule in rules), rules


@pytest.mark.parametrize("section", ["host", "hardware", "settings", "services", "storage"])
def test_no_fact_is_read_for_nothing(section, root):
    judged = {".".join(fact.split(".")[:2]) for fact, _rules in HOST.values()}
    groups = json.loads((root / "docs" / "schemas" / (section + ".json")).read_bytes())["properties"]
    left = {"%s.%s" % (section, group) for group in groups if group not in NOT_JUDGED} - judged - set(NOT_JUDGED)
    assert left == set()
