# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the hardware of the host: memory, processors, what the BMC says."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_DAY = 86400.0
_CRITICAL = ("cr", "nr", "lcr", "lnr", "ucr", "unr")
# What a BMC writes when a part has failed, and not when it was taken out or a threshold was brushed: IPMI 2.0, tables 42-2 and 42-3.
_GRAVE = (
    "uncorrectable", "bus fatal", "failure detected", "thermal trip", "ierr", "non-recoverable", "redundancy lost", "drive fault", "critical going",
    "predictive failure", "configuration error", "frb", "fatal nmi", "machine check", "run-time stop",
)  # fmt: skip


def guest(view):
    """Whether the node is a virtual machine: what it says of modules, counters and firmware is its hypervisor's invention."""
    kind = view.section("host").maybe("text", "virtualization") if view.missing("host") is None else None
    if kind not in (None, "none"):
        raise NoAnswer("not_applicable", "a guest (%s): its host's hardware is not seen" % kind)


def _hardware(view):
    guest(view)
    return view.section("hardware")


def _places(errors, key):
    """ "DIMM_A1 (12), DIMM_B1 (2)", the worst first."""
    told = [(p.maybe("number", key) or 0, p.maybe("text", "place") or "?") for p in errors.objects("places")]
    return ", ".join("%s (%d)" % (place, count) for count, place in sorted(told, key=lambda one: (-one[0], one[1]))[:4] if count)


@rule(
    id="memory-uncorrected",
    layer=1,
    level="fail",
    title="No uncorrected error of the host's memory",
    reads=("hardware",),
    scope="node",
    remedy="Take the node out of work and replace the module that is named; a counter without a module is narrowed down by the BMC's event log.",
    follows=("kernel-memory-errors",),
)
def memory_uncorrected(view, p):
    errors = _hardware(view).facts("memory_errors")
    count = errors.number("uncorrected")
    if count > 0:
        where = _places(errors, "uncorrected")
        origin = "vendor document: Linux Documentation/driver-api/edac.rst: an uncorrected error has lost data"
        return found("%d uncorrected memory errors since the start%s" % (count, ": %s" % where if where else ""), count, expectation(0, origin=origin))
    return PASSED


@rule(
    id="memory-corrected",
    layer=1,
    level="warn",
    title="Corrected errors of the host's memory are rare",
    reads=("hardware",),
    scope="node",
    remedy="Plan to replace the module that is named: modules that are corrected often are those that fail. A few corrected errors are normal.",
    follows=("memory-uncorrected",),
    parameters={"most_per_day": Parameter("number", 10, "errors", "suite: mcelog: memory-ce-threshold of a module is 10 in 24 hours")},
)
def memory_corrected(view, p):
    errors = _hardware(view).facts("memory_errors")
    count = errors.number("corrected")
    if count <= 0:
        return PASSED
    worst = max((place.maybe("number", "corrected") or 0 for place in errors.objects("places")), default=count)
    days = max((errors.maybe("number", "seconds") or 0) / _DAY, 1.0)
    where = _places(errors, "corrected")
    text = "%d corrected memory errors since the start%s" % (count, ": %s" % where if where else "")
    # The driver's own count of seconds: errors of a day long ago are not those of this week.
    return found(text, round(worst / days, 2), p.expected("most_per_day"), level=None if worst / days > p.most_per_day else "info")


@rule(
    id="memory-offline",
    layer=1,
    level="warn",
    title="No memory was taken out of use",
    reads=("hardware",),
    scope="node",
    remedy="Look for the module in the BMC's event log and in the kernel log; the pages return at the next start.",
    follows=("memory-uncorrected", "kernel-memory-errors"),
)
def memory_offline(view, p):
    size = view.section("hardware").number("corrupted_kib")
    if size > 0:
        origin = "vendor document: Linux Documentation/mm/hwpoison.rst"
        return found("The kernel has taken %d KiB of memory out of use after errors" % size, size, expectation(0, "KiB", origin))
    return PASSED


@rule(
    id="machine-checks",
    layer=1,
    level="warn",
    title="No processor has raised a machine check",
    reads=("hardware",),
    scope="node",
    remedy="Look for what raised it in the kernel log, in rasdaemon's record and in the BMC's event log; a part that does so again is replaced.",
    follows=("memory-uncorrected", "kernel-memory-errors", "recorded-errors"),
)
def machine_checks(view, p):
    told = _hardware(view).facts("machine_checks")
    shown, read, why = [], 0, ("", "")
    for key, text in (("exceptions", "machine check exceptions"), ("deferred", "deferred errors")):
        try:
            count = told.number(key)
        except NoAnswer as no:
            # Not the exception: its traceback would hold the report.
            why = max(why, (no.outcome, no.reason))
            continue
        read += 1
        if count > 0:
            shown.append("%d %s" % (count, text))
    if shown:
        origin = "vendor document: Linux Documentation/filesystems/proc.rst, 1.2: MCE; arch/x86/kernel/irq.c: DFR"
        # An exception is raised on all processors at once: the sum says that there was one, and not how many.
        return found("%s since the start, of all processors together" % " and ".join(shown), ", ".join(shown), expectation(0, origin=origin))
    if why[0] == "unknown" or not read:
        raise NoAnswer(*why)
    return PASSED


@rule(
    id="recorded-errors",
    layer=1,
    level="warn",
    title="rasdaemon has recorded no error of memory, processors or PCI Express",
    reads=("hardware",),
    scope="node",
    remedy="ras-mc-ctl --errors tells when; what was repaired since is removed with the record (/var/lib/rasdaemon).",
    follows=("memory-uncorrected", "memory-corrected", "kernel-memory-errors"),
)
def recorded_errors(view, p):
    told = _hardware(view).facts("recorded_errors")
    grave, mild = [], []
    for one in told.objects("memory"):
        kind, module, count = one.maybe("text", "kind") or "", one.maybe("text", "module") or "no module named", one.maybe("number", "count") or 0
        (grave if kind in ("uncorrected", "fatal", "deferred") else mild).append("%s (%d %s)" % (module, count, kind))
    for one in told.objects("others"):
        text = one.maybe("text", "what") or ""
        shown = "%s: %s (%d)" % (one.maybe("text", "source") or "?", text, one.maybe("number", "count") or 0)
        (grave if text.lower().startswith(("uncorrected", "fatal")) else mild).append(shown)
    told = grave or mild
    if not told:
        return PASSED
    # The record outlives restarts and repairs: it warns, and the counters of this start condemn.
    text = "Recorded since rasdaemon was installed: %s" % "; ".join(told[:4])
    return found(text, len(told), expectation(0, "errors", "vendor document: ras-mc-ctl(8)"), level=None if grave else "info")


@rule(
    id="memory-modules",
    layer=1,
    level="warn",
    title="Memory modules of one size and kind, spread evenly",
    reads=("hardware", "host"),
    scope="node",
    remedy="Look for a module that is missing, failed its training or was replaced by another kind; uneven channels run at the pace of the weakest.",
    parameters={"tolerance_percent": Parameter("number", 10, "%", "our choice: what firmware and kernel keep of one node's memory")},
    follows=("memory-installed",),
)
def memory_modules(view, p):
    modules = _hardware(view).facts("memory_modules")
    sizes = {}
    for module in modules.objects("modules"):
        kind = module.text("type")
        if kind != "other":  # modules that keep their content are of a size of their own
            sizes.setdefault(kind, set()).add(module.number("size_mib"))
    mixed = {kind: sorted(found_sizes) for kind, found_sizes in sizes.items() if len(found_sizes) > 1}
    if mixed:
        shown = "; ".join("%s of %s MiB" % (kind, ", ".join("%d" % size for size in many)) for kind, many in sorted(mixed.items()))
        return found("Memory modules of several sizes: %s" % shown, shown, expectation("one size", origin="this node"))
    per_node = [size for size in view.section("host").facts("memory", "per_numa_mib").data.values() if size.__class__ in (int, float)]
    if len(per_node) > 1 and min(per_node) < max(per_node) * (1 - p.tolerance_percent / 100):
        text = "NUMA nodes have between %d and %d MiB of memory" % (min(per_node), max(per_node))
        return found(text, round(100 - 100 * min(per_node) / max(per_node), 1), p.expected("tolerance_percent"))
    return PASSED


@rule(
    id="memory-installed",
    layer=1,
    level="warn",
    title="All the memory that is installed is in use",
    reads=("hardware", "host"),
    scope="node",
    remedy="The firmware maps out what fails its training: look at its setup and at the BMC's event log.",
    parameters={"least_percent": Parameter("number", 90, "%", "our choice: firmware, kernel and crash kernel keep less than a tenth")},
)
def memory_installed(view, p):
    installed = _hardware(view).number("memory_modules", "installed_mib")
    host = view.section("host")
    words = host.maybe("words", "kernel", "command_line") or []
    if any(word.startswith(("mem=", "memmap=")) for word in words):
        return not_applicable("the kernel command line limits the memory")
    total = host.number("memory", "total_mib")
    if total < installed * p.least_percent / 100:
        text = "%d GiB of memory are installed, %d GiB are in use" % (installed / 1024, total / 1024)
        return found(text, round(100 * total / installed, 1), p.expected("least_percent"))
    return PASSED


@rule(
    id="cpu-microcode",
    layer=1,
    level="warn",
    title="All processors run one microcode",
    reads=("hardware",),
    scope="node",
    remedy="Update the firmware, or the package that loads microcode, and restart; processors of two kinds in one machine are not supported.",
)
def cpu_microcode(view, p):
    versions = _hardware(view).facts("microcode").data
    if len(versions) > 1:
        shown = ", ".join("%s on %s" % (clean(str(v), 40), clean(str(n), 10)) for v, n in sorted(versions.items(), key=str))
        return found("Processors run different microcode: %s" % shown, shown, expectation("one version", origin="this node"))
    return PASSED


@rule(
    id="cpu-governor",
    layer=1,
    level="info",
    title="Processors are kept fast",
    reads=("hardware",),
    scope="node",
    remedy="Set the governor performance (cpupower frequency-set -g performance, or tuned), or the energy preference performance.",
)
def cpu_governor(view, p):
    if view.policy.nothing_expected:
        return not_applicable("no accelerator is expected on this node")
    processors = view.section("hardware").facts("processors")
    governors = sorted(clean(name, 40) for name in processors.facts("governors").data)
    # Drivers that scale in hardware take the preference for the governor's word.
    if governors == ["performance"] or (processors.maybe("text", "preference") or "") == "performance":
        return PASSED
    origin = "vendor document: Linux Documentation/admin-guide/pm/cpufreq.rst"
    return found("Processors are governed by %s" % ", ".join(governors), ", ".join(governors), expectation("performance", origin=origin))


@rule(
    id="cpu-throttled",
    layer=1,
    level="warn",
    title="Heat does not slow the processors down",
    reads=("hardware", "host"),
    scope="node",
    remedy="See to fans, dust, heat sinks and the air of the rack; the kernel log and the BMC's sensors tell when and where.",
    follows=("kernel-thermal", "bmc-sensors", "bmc-events"),
    parameters={
        "most_percent": Parameter("number", 0.1, "% of the time since the start", "our choice: a cooled server never throttles; 0.1 % is 86 s a day"),
        "most_per_day": Parameter("number", 10, "times a day", "our choice, for kernels that do not tell how long it took"),
    },
)
def cpu_throttled(view, p):
    packages = _hardware(view).facts("processors", "package_throttles")
    uptime = max(view.section("host").number("uptime_seconds"), 1)
    counted = {name: packages.number(name, "count") for name in packages.data}
    hot = {name: count for name, count in counted.items() if count > 0}
    if not hot:
        return PASSED if counted else unknown("no package tells how often it was slowed down")
    times = [packages.maybe("number", name, "seconds") for name in hot]
    if None not in times:
        value, key = 100 * max(times) / uptime, "most_percent"
    else:
        value, key = max(hot.values()) / max(uptime / _DAY, 1.0), "most_per_day"
    shown = ", ".join("package %s %d times" % (clean(name, 10), count) for name, count in sorted(hot.items()))
    text = "Heat slowed the processors down since the start: %s%s" % (shown, "" if None in times else ", %.3g s at most" % max(times))
    # The counter keeps what is long over: a rare event is told and no more, and what happens now stands in the kernel log with its time.
    return found(text, round(value, 4), p.expected(key), level=None if value > getattr(p, key) else "info")


@rule(
    id="bmc-sensors",
    layer=1,
    level="warn",
    title="No sensor of the BMC is critical",
    reads=("hardware",),
    scope="node",
    remedy="See to the part that is named: a fan, a power supply, a voltage or a temperature. One that was taken out on purpose is disabled in the BMC.",
)
def bmc_sensors(view, p):
    bad = _hardware(view).facts("sensors").objects("bad")
    critical = [s for s in bad if s.maybe("word", "state") in _CRITICAL]
    told = critical or bad
    if not told:
        return PASSED
    shown = ", ".join("%s %s (%s)" % tuple(s.maybe("text", key) or "?" for key in ("name", "value", "state")) for s in told[:6])
    text = "%d sensors of the BMC are %s: %s" % (len(told), "critical" if critical else "past a threshold", shown)
    return found(text, len(told), expectation(0, "sensors", "vendor document: ipmitool(1): states nc, cr, nr"), level=None if critical else "info")


@rule(
    id="bmc-events",
    layer=1,
    level="warn",
    title="The BMC has logged no failure since the start",
    reads=("hardware", "host"),
    scope="node",
    remedy="See to the part that is named, then clear the event log (ipmitool sel clear).",
    follows=("memory-uncorrected", "kernel-memory-errors", "bmc-sensors"),
)
def bmc_events(view, p):
    events = _hardware(view).facts("event_log").objects("events")
    boot = view.section("host").text("kernel", "boot_time")[:19]
    if not events:
        return PASSED
    ended = {(e.maybe("text", "sensor"), e.maybe("text", "event")): e.maybe("text", "last") or "" for e in events if not e.maybe("flag", "asserted")}
    grave = []
    for event in events:
        about = (event.maybe("text", "sensor") or "", event.maybe("text", "event") or "")
        last = event.maybe("text", "last") or ""
        # What ended since, and what was before this start, may have been repaired.
        if event.maybe("flag", "asserted") and last >= boot and ended.get(about, "") < last and any(word in about[1].lower() for word in _GRAVE):
            grave.append("%s: %s (%d times, %s)" % (*about, event.maybe("number", "count") or 1, last))
    if grave:
        return found("The BMC has logged: %s" % "; ".join(grave[:4]), len(grave), expectation(0, "failures", "vendor document: IPMI 2.0, table 42"))
    return passed()


@rule(
    id="bmc-network",
    layer=1,
    level="warn",
    title="The BMC lets nobody in without a password",
    reads=("hardware",),
    scope="node",
    remedy="Forbid cipher suite 0 (ipmitool lan set CHANNEL cipher_privs X...), and give the BMC an SNMP community string of its own.",
)
def bmc_network(view, p):
    network = _hardware(view).facts("bmc_network")
    origin = "vendor document: Intel Server Board S2600CP, technical product specification, table 22: cipher suite 0 is RAKP-none"
    if network.maybe("flag", "suite_without_authentication"):
        return found("The BMC accepts cipher suite 0: whoever reaches it needs no password", "cipher suite 0", expectation("authentication", origin=origin))
    if network.maybe("flag", "community_is_public"):
        text = "The BMC's SNMP community string is the well-known one"
        return found(text, "public", expectation("a string of its own", origin="our choice: everybody knows it"), level="info")
    network.flag("suite_without_authentication")
    return PASSED
