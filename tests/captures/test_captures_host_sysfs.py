# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of tools that only print what the kernel tells: turned back into what they read, our readers and rules conclude the same."""

from __future__ import annotations

import base64
import re

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cpu, hardware, kernel, memory, platform
from health_nodes import ask


@pytest.fixture
def text(captures):
    return lambda name: (captures / "host" / name).read_text(encoding="utf-8", errors="replace")


def replay(files):
    """Each file, and the directories above it as listings of what is there."""
    whole = dict(files)
    for path in files:
        parts = path.split("/")
        for at in range(2, len(parts)):
            listing = whole.setdefault("/".join(parts[:at]), {"dir": []})["dir"]
            if parts[at] not in listing:
                listing.append(parts[at])
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": whole, "commands": []})


def field(told, name):
    return int(re.search(r"^%s: +(\d+)$" % re.escape(name), told, re.M).group(1))


def tree_of_lscpu(told):
    """The processors and nodes that lscpu counted; threads of a core stand half the machine apart where its nodes have two ranges."""
    threads, per_core, per_socket = field(told, "CPU(s)"), field(told, "Thread(s) per core"), field(told, "Core(s) per socket")
    nodes = dict(re.findall(r"^NUMA node(\d+) CPU\(s\): *(.*)$", told, re.M))
    apart = threads // per_core if any("," in cpus for cpus in nodes.values()) else 0
    groups = {}
    for number in range(threads):
        core = number % apart if apart else number // per_core
        groups.setdefault(("core", core), []).append(number)
        groups.setdefault(("package", core // per_socket), []).append(number)
    files = {cpu.CPU + "/online": "0-%d\n" % (threads - 1)}
    for (kind, _number), members in groups.items():
        for number in members:
            files["%s/cpu%d/topology/%s_cpus_list" % (cpu.CPU, number, kind)] = ",".join(map(str, members)) + "\n"
    files.update({"%s/node%s/cpulist" % (cpu.NODE, node): cpus.strip() + "\n" for node, cpus in nodes.items()})
    return replay(files)


@pytest.mark.parametrize(
    ("name", "sockets", "cores", "threads", "nodes"),
    [
        ("lscpu-aarch64.txt", 4, 8, 8, [0]),
        ("lscpu-epyc7302p-8numa.txt", 1, 16, 32, list(range(8))),
        ("lscpu-epyc7451.txt", 2, 48, 96, list(range(8))),
        # The nodes 252 to 255 are memory of accelerators.
        ("lscpu-ppc64le.txt", 2, 36, 144, [0, 8]),
    ],
)
def test_processors_and_nodes(text, name, sockets, cores, threads, nodes):
    host = tree_of_lscpu(text(name))
    assert cpu.topology(host) == {"threads": threads, "sockets": sockets, "cores": cores}
    assert cpu.nodes_with_cpus(host) == nodes


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        # Node 1 is the memory of the accelerator, the others are kept for its partitions: none of them is missing memory.
        ("numactl-H-gh200-9nodes.txt", {"0": 490037}),
        ("numactl-H-vm-1node.txt", {"0": 16008}),
    ],
)
def test_memory_of_nodes(text, name, sizes):
    told, files = text(name), {}
    for node, cpus in re.findall(r"^node (\d+) cpus:([\d \n]*)$", told, re.M):
        files["%s/node%s/cpulist" % (cpu.NODE, node)] = ",".join(cpus.split()) + "\n"
    for node, size in re.findall(r"^node (\d+) size: (\d+) MB$", told, re.M):
        files["%s/node%s/meminfo" % (cpu.NODE, node)] = "Node %s MemTotal:       %d kB\n" % (node, int(size) * 1024)
    host = replay(files)
    assert memory.read(host, cpu.nodes_with_cpus(host))["memory"]["per_numa_mib"] == sizes


@pytest.mark.parametrize("state", ["disabled", "enabled"])
def test_secure_boot(text, state):
    assert text("mokutil-sb-%s.txt" % state).split() == ["SecureBoot", state]
    variable = base64.b64encode(bytes([6, 0, 0, 0, state == "enabled"])).decode()
    assert platform.secure_boot(replay({platform.SECURE_BOOT: {"base64": variable}})) == state


def test_counters_of_memory_errors(text):
    told, files = text("edac-util-v-no-errors.txt"), {}
    for controller in set(re.findall(r"^(mc\d+):", told, re.M)):
        for word, name in (("Corrected", "ce"), ("Uncorrected", "ue")):
            counts = re.findall(r"^%s: .*?(\d+) %s Errors" % (controller, word), told, re.M)
            files["%s/%s/%s_count" % (hardware.EDAC, controller, name)] = "%d\n" % sum(map(int, counts))
        files["%s/%s/seconds_since_reset" % (hardware.EDAC, controller)] = "79000\n"
    assert hardware.memory_errors(replay(files)) == {"controllers": 1, "corrected": 0, "uncorrected": 0, "seconds": 79000, "places": []}


@pytest.mark.parametrize("kib", [33009433, 8192, 64])
def test_memory_that_may_be_locked(text, kib):
    """Of a limit on locked memory the rule tells, whatever else has the same number."""
    told = text("ulimit-a-memlock-%d.txt" % kib)
    assert int(re.search(r"^max locked memory .*\) (\d+)$", told, re.M).group(1)) == kib
    sections = synthetic.healthy(1)
    sections["host"]["limits"].update(memlock_soft=kib * 1024, memlock_hard=kib * 1024)
    ((_ident, outcome, _level),) = ask("memlock-limit", sections)
    assert outcome == "found"


def test_modules_that_are_loaded(captures):
    """Of Hygon's driver from 6.3 on the module is hycu; that there is no hydcu is as it should be."""
    names = [line.split()[0] for line in (captures / "hygon" / "lsmod-hycu-6.3.txt").read_text(encoding="utf-8").splitlines() if line.strip()]
    found = kernel.modules(replay({"%s/%s/initstate" % (kernel.MODULES, name): "live\n" for name in names}))
    assert {name for name, told in found.items() if told["loaded"] is True} == {"hycu", "hy_extra", "hyttm", "hykcl"}
    assert found["hydcu"]["loaded"] is False
