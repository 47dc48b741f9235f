# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What accelerator_info reads: the machine and what sits on PCI, without any vendor tool."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import (
    containers,
    cpu,
    dmi,
    kernel,
    memory,
    os_release,
    pci,
    platform,
    time_sync,
)
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

_UNLIMITED = "unlimited"


def _limit(answer, name, position):
    if not answer.ok:
        return unknown(answer.reason)
    pair = answer.value.get(name) if isinstance(answer.value, dict) else None
    value = pair[position] if isinstance(pair, (list, tuple)) and len(pair) == 2 else None
    if value == _UNLIMITED or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    return unknown("limits: no %s" % name)


def limits(host):
    """Limits of the module's own process: what a program started the same way gets."""
    answer = host.limits()
    return {"%s_%s" % (name, kind): _limit(answer, name, position) for name in ("memlock", "nofile") for position, kind in enumerate(("soft", "hard"))}


def python(host):
    answer = host.python()
    told = answer.value if answer.ok and isinstance(answer.value, dict) else {}
    return {key: str(told[key]) if told.get(key) else unknown("python: no %s" % key if answer.ok else answer.reason) for key in ("version", "executable")}


def host_section(host):
    """The section `host` of docs/node-report.md."""
    cpuinfo = host.read_text("/proc/cpuinfo", 4 << 20)
    nodes = cpu.nodes_with_cpus(host)
    firmware = dmi.read(host)
    section = {"timestamp": utc(host.now())}
    section.update(firmware)
    section["bmc"] = dmi.bmc(host)
    section["os"] = os_release.read(host)
    section["kernel"] = kernel.read(host)
    section["cpu"] = cpu.read(host, cpuinfo, nodes)
    section.update(memory.read(host, nodes))
    section["limits"] = limits(host)
    section["python"] = python(host)
    section["time"] = time_sync.read(host)
    section["numa_balancing"] = kernel.numa_balancing(host)
    section["security"] = {"selinux": platform.selinux(host), "secure_boot": platform.secure_boot(host)}
    section["virtualization"] = platform.virtualization(host, firmware, cpuinfo)
    section["modules"] = kernel.modules(host)
    section["uptime_seconds"] = kernel.uptime(host)
    if not is_known(section["bmc"]["version"]) and section["virtualization"] not in ("none",) and is_known(section["virtualization"]):
        section["bmc"]["version"] = not_applicable("a virtual machine has no BMC")
    return section


def _services(host, pci):
    """State of NVIDIA's services, which no other node has."""
    if not any(entry["manufacturer"] == "nvidia" and entry["role"] != "other" for entry in pci["devices"]):
        if pci["scan"]["status"] == "ok":
            return not_applicable("no device of NVIDIA on PCI")
        return unknown("whether NVIDIA's devices are here is not known: %s" % pci["scan"]["detail"])
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import services

    return services.read(host)


def collect(host, options=None):
    """{section name: section}. options: of the module, for what starts containers."""
    sections = {"host": host_section(host), "pci": pci.scan(host)}
    sections["host"]["services"] = _services(host, sections["pci"])
    sections.update(containers.collect(host, options))
    return sections
