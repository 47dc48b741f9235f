# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the host around the accelerators."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import whole
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import clocks
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)

# Each of them sets the clock; systemd lets two of another origin run side by side.
CLOCKS = ("chrony", "chronyd", "ntp", "ntpd", "ntpsec", "openntpd", "systemd-timesyncd")
_NOTHING = "no accelerator is expected on this node"


@rule(
    id="time-synchronized",
    layer=1,
    level="warn",
    title="The clock is synchronized",
    reads=("host",),
    scope="node",
    remedy="Start chronyd, ntpd or systemd-timesyncd and give it a reachable source.",
    parameters={"most_seconds": Parameter("number", 1, "s", "our choice: logs of many nodes can be put in order within a second")},
    follows=("time-daemons", "service-failed"),
)
def time_synchronized(view, p):
    host = view.section("host")
    if not host.flag("time", "synchronized"):
        wanted = expectation(True, origin="suite: five-layer acceptance pins a time source")
        return found("The clock is not synchronized", False, wanted, caused_by=_clock_services(view))
    offset = host.maybe("number", "time", "offset_seconds")
    if offset is not None and abs(offset) > p.most_seconds:
        return found("The clock is %g s off" % offset, offset, p.expected("most_seconds"))
    return PASSED


@rule(
    id="clock-spread",
    layer=1,
    level="warn",
    title="The clock tells the same time as the other nodes'",
    reads=(),
    scope="fleet",
    compare="clocks",
    remedy="Give all nodes and the controller one source of time, and set the clock that is away.",
    parameters={"most_seconds": Parameter("number", 30, "s", "suite: Primus: clocks of nodes more than 30 s apart; beyond the time that the reading took")},
    follows=("time-synchronized",),
)
def clock_spread(view, p):
    return clocks.of(view)


def _clock_services(view):
    """Rules that may have found why: a service that sets the clock failed, or two of them do."""
    units = {} if view.missing("services") else view.section("services").maybe("facts", "units")
    failed = units and any(units.maybe("text", name, "active") == "failed" for name in CLOCKS if name in units.data)
    return ("time-daemons", "service-failed") if failed else ("time-daemons",)


@rule(
    id="memlock-limit",
    layer=1,
    level="warn",
    title="Memory may be locked for RDMA",
    reads=("host",),
    scope="node",
    remedy="Set memlock to unlimited in limits.conf and in the units of the container runtime, kubelet or slurmd.",
    parameters={"least_gib": Parameter("number", 32, "GiB", "suite: Primus: memlock of at least 32 GiB")},
)
def memlock_limit(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    soft = view.section("host").fact("limits", "memlock_soft")
    if soft == "unlimited":
        return PASSED
    size = view.section("host").number("limits", "memlock_soft") / 2**30
    if size < p.least_gib:
        shown = "%.3g GiB" % size if size >= 1 else "%.3g MiB" % (size * 1024)
        return found("memlock is limited to %s" % shown, round(size, 3), p.expected("least_gib"))
    return PASSED


@rule(
    id="open-files-limit",
    layer=1,
    level="info",
    title="As many open files as jobs need",
    reads=("host",),
    scope="node",
    remedy="Raise nofile in limits.conf and in the units of the container runtime, kubelet or slurmd; programs raise the soft limit up to the hard one.",
    parameters={"least": Parameter("int", 8192, "files", "suite: Ray, start of a node: at least 8192 are recommended")},
)
def open_files_limit(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    hard = view.section("host").fact("limits", "nofile_hard")
    if hard == "unlimited":
        return PASSED
    number = view.section("host").number("limits", "nofile_hard")
    if number < p.least:
        return found("A process may open %d files" % number, number, p.expected("least"))
    return PASSED


@rule(
    id="huge-pages",
    layer=1,
    level="info",
    title="Transparent huge pages are not off",
    reads=("host",),
    scope="node",
    remedy="Set transparent_hugepage to madvise or always, unless the site turned it off on purpose.",
)
def huge_pages(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    mode = view.section("host").word("huge_pages", "transparent")
    if mode == "never":
        return found("Transparent huge pages are off", mode, expectation("madvise or always", origin="our choice: loaders of large models profit"))
    return PASSED


@rule(
    id="host-memory",
    layer=1,
    level="info",
    title="Host memory at least the accelerators' memory",
    reads=("host", "accelerators"),
    scope="node",
    remedy="Check for a failed or missing memory module; a smaller host by design sets accelerator_policy_host_memory_ratio.",
    parameters={"ratio": Parameter("number", 1.0, "of accelerator memory", "our choice: a model is staged through host memory")},
    follows=("memory-installed", "memory-modules", "cohort-memory"),
)
def host_memory(view, p):
    if not view.packages:
        return not_applicable("no accelerator was read")
    total = view.section("host").number("memory", "total_mib")
    needed = sum(d.number("memory_mib") for d in view.packages) * p.ratio
    if total < needed:
        expected = p.expected("ratio", value=round(needed / 1024))
        expected["unit"] = "GiB"
        return found("%d GiB of host memory" % (total / 1024), round(total / 1024), expected)
    return PASSED


@rule(
    id="memory-available",
    layer=1,
    level="warn",
    title="Most of the host's memory is free for work",
    reads=("host",),
    scope="node",
    remedy="See what holds the memory: processes, files in /dev/shm and other tmpfs, caches that a driver pinned.",
    parameters={"least_percent": Parameter("number", 10, "%", "suite: Primus: less than a tenth of the memory free")},
)
def memory_available(view, p):
    host = view.section("host")
    total = host.number("memory", "total_mib")
    # What is set aside as huge pages counts as used, and is there for work.
    aside = (host.maybe("number", "huge_pages", "total") or 0) * (host.maybe("number", "huge_pages", "size_kib") or 0) / 1024
    if not view.missing("settings"):
        sizes = view.section("settings").maybe("facts", "huge_pages")
        for size in sizes.data if sizes else ():
            if whole(str(size)) not in (None, host.maybe("number", "huge_pages", "size_kib")):
                aside += (sizes.maybe("number", size, "total") or 0) * whole(str(size)) / 1024
    free = host.number("memory", "available_mib") + aside
    if total <= 0:
        return unknown("a memory of %d MiB" % total)
    percent = 100.0 * free / total
    if percent < p.least_percent:
        return found("%.1f %% of the memory is free" % percent, round(percent, 1), p.expected("least_percent"))
    return PASSED


@rule(
    id="kernel-peer-to-peer",
    layer=1,
    level="info",
    title="The kernel can move data between devices past the host's memory",
    reads=("software", "accelerators"),
    scope="node",
    remedy="Start a kernel that is built with both options, where RDMA or storage reads an accelerator's memory and no module of its vendor stands in for it.",
    parameters={"manufacturers": Parameter("list", ["amd"], "", "vendor document: Linux amdkfd, HSA_AMD_P2P; ROCm, hipFile, kernel P2PDMA support")},
)
def kernel_peer_to_peer(view, p):
    if not any(device.manufacturer in p.manufacturers for device in view.packages):
        return not_applicable("no accelerator of %s" % " or ".join(p.manufacturers))
    options = view.section("software").facts("kernel_options")
    missing = [name for name in ("p2pdma", "dmabuf_move_notify") if not options.flag(name)]
    if missing:
        words = ", ".join("CONFIG_PCI_P2PDMA" if name == "p2pdma" else "CONFIG_DMABUF_MOVE_NOTIFY" for name in missing)
        return found("The kernel is built without %s" % words, "without %s" % words, p.expected("manufacturers", value="both options"))
    return PASSED
