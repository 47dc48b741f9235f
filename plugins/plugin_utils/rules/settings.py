# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the kernel's settings, its modules, and the kernels on the disk."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.detection import FOREIGN
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.hardware import guest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    LEVELS,
    PASSED,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

DATA = Path(__file__).parent.parent / "data" / "host_settings.yml"
_NOTHING = "no accelerator is expected on this node"
_UNITS = {"k": 1, "m": 1024, "g": 1024 * 1024}  # of a huge page's size, in KiB
_FOREIGN = ("nouveau", "nova_core")  # of the kernel, for NVIDIA's cards; no runtime works with them
# Services that start containers or jobs, and hand their own limits on.
_STARTERS = ("containerd", "docker", "crio", "kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "slurmd")


@lru_cache(maxsize=1)
def table():
    return data_file.load(DATA)


def _settings(view):
    return view.section("settings")


def _words(view):
    return view.section("host").words("kernel", "command_line")


def _highest(levels):
    return max(levels, key=LEVELS.index)


@rule(
    id="kernel-parameters",
    layer=1,
    level="warn",
    title="Kernel settings that accelerator nodes need",
    reads=("settings",),
    scope="node",
    remedy="Set it in /etc/sysctl.d; data/host_settings.yml says where each expectation comes from.",
)
def kernel_parameters(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    told = _settings(view).facts("sysctls")
    odd, missing = [], None
    for entry in table()["parameters"]:
        value = told.data.get(entry["name"])
        if value.__class__ is not int:
            missing = missing or (None if value.__class__ is dict and "not_applicable" in value else entry["name"])
            continue
        if ("equal" in entry and value != entry["equal"]) or ("not" in entry and value == entry["not"]) or ("least" in entry and value < entry["least"]):
            odd.append((entry, value))
    if odd:
        shown = "; ".join("%s is %d: %s" % (entry["name"], value, entry["why"]) for entry, value in odd)
        wanted = expectation(", ".join(entry["name"] for entry, _value in odd), origin="suite: data/host_settings.yml")
        return found(shown, len(odd), wanted, level=_highest([entry["level"] for entry, _value in odd]))
    return unknown("%s: not read" % missing) if missing else PASSED


@rule(
    id="kernel-command-line",
    layer=1,
    level="warn",
    title="The kernel command line is that of an accelerator node",
    reads=("host", "pci"),
    scope="node",
    remedy="Change the command line in the boot loader's configuration and restart.",
)
def kernel_command_line(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    words, makers = set(_words(view)), set(view.pci())
    bare = view.section("host").text("virtualization") == "none"
    odd = []
    for entry in table()["command_line"]:
        if "unwanted" in entry:
            odd += [(entry, "%s: %s" % (word, entry["why"])) for word in entry["unwanted"] if word in words]
        elif bare and entry["manufacturer"] in makers and not words & set(entry["wanted"]):
            odd.append((entry, "no %s: %s" % (entry["wanted"][0], entry["why"])))
    if odd:
        shown = "; ".join(text for _entry, text in odd)
        return found(shown, shown, expectation("", origin="suite: data/host_settings.yml"), level=_highest([entry["level"] for entry, _text in odd]))
    return PASSED


@rule(
    id="numa-balancing",
    layer=1,
    level="info",
    title="The kernel does not move pages between NUMA nodes by itself",
    reads=("host",),
    scope="node",
    remedy="Set kernel.numa_balancing to 0: pages that a device reads are moved while it reads them.",
)
def numa_balancing(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    host = view.section("host")
    if host.number("cpu", "numa_nodes") < 2:
        return not_applicable("the node has one NUMA node")
    if host.flag("numa_balancing"):
        origin = "vendor document: ROCm system optimization; NVIDIA Grace performance tuning guide"
        return found("Automatic NUMA balancing is on", True, expectation(False, origin=origin))
    return PASSED


def _asked_huge_pages(words, usual):
    """{size in KiB: number} of a command line: hugepagesz= names the size of every hugepages= that follows."""
    asked, size = {}, usual
    for word in words:
        key, _equals, value = word.partition("=")
        sized = re.match(r"(\d{1,6})([KMG])\Z", value, re.IGNORECASE) if key in ("hugepagesz", "default_hugepagesz") else None
        if sized:
            size = int(sized.group(1)) * _UNITS[sized.group(2).lower()]
        elif key == "hugepages" and re.match(r"\d{1,9}\Z", value) and size is not None:
            asked[size] = int(value)
    return asked


@rule(
    id="huge-pages-reserved",
    layer=1,
    level="warn",
    title="As many huge pages as the command line asks for",
    reads=("settings", "host"),
    scope="node",
    remedy="The kernel found too little connected memory at its start: ask for fewer, or look whether memory is missing.",
    follows=("memory-installed", "memory-modules"),
)
def huge_pages_reserved(view, p):
    asked = _asked_huge_pages(_words(view), view.section("host").maybe("number", "huge_pages", "size_kib"))
    if not asked:
        return not_applicable("the command line asks for no huge pages")
    told = _settings(view).facts("huge_pages")
    short = ["%d of %d of %d KiB" % (told.number(str(size), "total"), n, size) for size, n in asked.items() if told.number(str(size), "total") < n]
    if short:
        return found("Huge pages are missing: %s" % "; ".join(short), "; ".join(short), expectation(sum(asked.values()), "pages", "this node"))
    return PASSED


@rule(
    id="swap-off",
    layer=1,
    level="info",
    title="No swap where a kubelet runs",
    reads=("settings", "services"),
    scope="node",
    remedy="Turn swap off, or configure the kubelet for it (memorySwap); by default a kubelet does not start on a node that swaps.",
)
def swap_off(view, p):
    size = _settings(view).number("swap_mib")
    if size == 0:
        return PASSED
    units = view.section("services").facts("units").data
    if not any(name in units for name in ("kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent")):
        return not_applicable("no kubelet is installed")
    return found("The node has %d MiB of swap" % size, size, expectation(0, "MiB", "vendor document: Kubernetes, swap memory management"))


@rule(
    id="process-limit",
    layer=1,
    level="info",
    title="As many processes as jobs start",
    reads=("settings",),
    scope="node",
    remedy="Raise nproc in limits.conf: the threads of all ranks of a user count.",
    parameters={"least": Parameter("int", 4096, "processes", "our choice: 8 ranks with 512 threads; seen as 500 on a large server")},
)
def process_limit(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    soft = _settings(view).fact("limits", "nproc_soft")
    if soft == "unlimited" or (soft.__class__ is int and soft >= p.least):
        return PASSED
    return found("A user may start %s processes" % clean(str(soft), 20), clean(str(soft), 20), p.expected("least"))


@rule(
    id="service-limits",
    layer=1,
    level="info",
    title="What starts containers and jobs may lock memory",
    reads=("services",),
    scope="node",
    remedy="Set LimitMEMLOCK=infinity in a drop-in of the unit: containers and jobs inherit it, and RDMA needs it.",
    parameters={"least_gib": Parameter("number", 32, "GiB", "suite: Primus: memlock of at least 32 GiB")},
)
def service_limits(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    units = view.section("services").facts("units")
    starters = [name for name in _STARTERS if name in units.data and units.maybe("text", name, "active") == "active"]
    if not starters:
        return not_applicable("no service that starts containers or jobs")
    low = [name for name in starters if (limit := units.fact(name, "memlock")) != "unlimited" and limit.__class__ is int and limit < p.least_gib * 2**30]
    if low:
        return found("memlock of %s is limited" % ", ".join(low), ", ".join(low), p.expected("least_gib"))
    return PASSED


def _drivers(view):
    """{module: manufacturer} of the accelerators that PCI shows."""
    return {m: maker for maker in view.pci() for m in MANUFACTURERS.get(maker, {}).get("modules", ()) if m not in _FOREIGN and "peermem" not in m}


def _driver_of(name, drivers):
    """The driver that a DKMS module is: nvidia-current-open is nvidia."""
    plain = name.replace("-", "_")
    return next((m for m in sorted(drivers, key=len, reverse=True) if plain == m or plain.startswith(m + "_")), None)


@rule(
    id="driver-built",
    layer=1,
    level="fail",
    title="The accelerators' driver is built for the running kernel",
    reads=("settings", "pci"),
    scope="node",
    remedy="Build it (dkms autoinstall, with the kernel's headers installed), or start the kernel it was built for.",
)
def driver_built(view, p):
    settings, drivers = _settings(view), _drivers(view)
    if not drivers:
        return not_applicable("no accelerator on PCI")
    running, loaded = settings.text("kernels", "running"), settings.texts("modules", "loaded")
    built, asked = set(), {}
    for entry in settings.facts("kernels").objects("dkms"):
        driver = _driver_of(entry.text("module"), drivers)
        if driver:
            asked.setdefault(driver, []).append("%s %s" % (entry.text("module"), entry.text("version")))
            if running in entry.texts("kernels"):
                built.add(driver)
    if not asked:
        return not_applicable("DKMS does not build the accelerators' driver")
    # One that is loaded all the same comes from elsewhere: a package for this kernel, a container of the operator.
    missing = sorted(driver for driver in asked if driver not in built and driver not in loaded)
    if missing:
        shown = ", ".join(asked[driver][0] for driver in missing)
        return found("DKMS has not built %s for the running kernel %s" % (shown, running), shown, expectation(running, origin="this node"))
    return PASSED


def _order(release):
    return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", release)]


def _newer(one, other):
    try:
        return _order(one) > _order(other)
    except TypeError:  # a number against a word
        return False


@rule(
    id="driver-next-kernel",
    layer=1,
    level="warn",
    title="The driver is built for the kernel that starts next",
    reads=("settings", "pci"),
    scope="node",
    remedy="Install the headers of that kernel and build (dkms autoinstall) before the node is restarted; or hold the kernel.",
    follows=("driver-built",),
)
def driver_next_kernel(view, p):
    settings, drivers = _settings(view), _drivers(view)
    if not drivers:
        return not_applicable("no accelerator on PCI")
    kernels = settings.facts("kernels")
    running, newest = kernels.text("running"), kernels.text("running")
    for release in kernels.texts("installed"):
        newest = release if _newer(release, newest) else newest
    if newest == running:
        return PASSED
    built = {}
    for entry in kernels.objects("dkms"):
        driver = _driver_of(entry.text("module"), drivers)
        if driver:
            built.setdefault(driver, set()).update(entry.texts("kernels"))
    lost = sorted(driver for driver, on in built.items() if running in on and newest not in on)
    if lost:
        text = "The kernel %s is installed, and DKMS has not built %s for it" % (newest, ", ".join(lost))
        return found(text, ", ".join(lost), expectation(newest, origin="this node"))
    return PASSED if built else not_applicable("DKMS does not build the accelerators' driver")


@rule(
    id="driver-on-disk",
    layer=1,
    level="warn",
    title="The driver that is loaded is the one on the disk",
    reads=("settings",),
    scope="node",
    remedy="The package was changed after the driver was loaded: drain the node and load it again, or restart.",
    follows=("driver-library-match",),
)
def driver_on_disk(view, p):
    versions = _settings(view).facts("modules", "versions")
    odd, silent = [], None
    for name in sorted(versions.data):
        loaded, disk = versions.text(name, "loaded"), versions.maybe("text", name, "on_disk")
        silent = silent or (name if disk is None else None)
        if disk is not None and loaded != disk:
            odd.append("%s %s is loaded, %s is on the disk" % (clean(name, 40), loaded, disk))
    if odd:
        return found("; ".join(odd), len(odd), expectation("one version", origin="this node"))
    if not versions.data:
        return not_applicable("no driver with a version of its own is loaded")
    return unknown("%s: the version on the disk was not told" % silent) if silent else PASSED


@rule(
    id="driver-loadable",
    layer=1,
    level="fail",
    title="Nothing keeps the accelerators' driver from being loaded",
    reads=("settings", "pci", "host"),
    scope="node",
    remedy="Take it off the list in /etc/modprobe.d or the command line and renew the initramfs; sign the module, or enroll its key (mokutil --import).",
    follows=("driver-built",),
)
def driver_loadable(view, p):
    settings, drivers = _settings(view), _drivers(view)
    if not drivers or view.policy.nothing_expected:
        return not_applicable("no accelerator is expected on this node" if drivers else "no accelerator on PCI")
    loaded = set(settings.texts("modules", "loaded"))
    words = _words(view)
    listed = {m.replace("-", "_") for word in words if word.partition("=")[0].endswith("blacklist") for m in word.partition("=")[2].split(",")}
    told = []
    if "nvidia" in view.pci() and "nvidia" not in loaded:
        told += ["%s is loaded in the place of nvidia" % name for name in _FOREIGN if name in loaded]
    makers = {maker for module, maker in drivers.items() if module in loaded}
    missing = [m for m, maker in drivers.items() if maker not in makers]
    files = settings.facts("modules", "blacklisted").data if missing else {}
    for module in missing:
        # One that is loaded by hand is on the list on purpose.
        if module in files or module in listed:
            told.append("%s is blacklisted in %s" % (module, clean(str(files[module]), 80) if module in files else "the kernel command line"))
    if missing and _signed_only(view, settings) and not told:
        running = settings.text("kernels", "running")
        for entry in settings.facts("kernels").objects("dkms") if settings.maybe("list", "kernels", "dkms") else ():
            driver = _driver_of(entry.text("module"), missing)
            if driver and running in entry.texts("kernels"):
                told.append("%s is built and not loaded, and this kernel takes signed modules only" % driver)
    if told:
        # A driver of another origin that holds the cards after all leaves a warning.
        held = any(entry.data.get("driver") not in (None, *FOREIGN) for maker in {drivers[m] for m in missing} for entry in view.pci().get(maker, ()))
        return found("; ".join(told[:4]), len(told), expectation("loaded", origin="this node"), level="warn" if held else None)
    return PASSED


def _signed_only(view, settings):
    secure = view.section("host").maybe("text", "security", "secure_boot") == "enabled"
    return secure or settings.maybe("flag", "security", "signatures_enforced") is True


@rule(
    id="driver-installed-once",
    layer=1,
    level="info",
    title="One installation of each driver",
    reads=("settings", "pci"),
    scope="node",
    remedy="Remove the one that is not used (dkms remove): the next update may build and load the wrong one.",
)
def driver_installed_once(view, p):
    drivers = _drivers(view)
    kernels = _settings(view).facts("kernels")
    running, versions = kernels.text("running"), {}
    for entry in kernels.objects("dkms"):
        driver = _driver_of(entry.text("module"), drivers)
        if driver and running in entry.texts("kernels"):
            versions.setdefault(driver, set()).add("%s %s" % (entry.text("module"), entry.text("version")))
    twice = sorted(", ".join(sorted(v)) for v in versions.values() if len(v) > 1)
    if twice:
        return found("Built for the running kernel more than once: %s" % "; ".join(twice), "; ".join(twice), expectation("one", origin="this node"))
    return PASSED


@rule(
    id="cpu-mitigations",
    layer=1,
    level="info",
    title="Processors are protected against what is known of them",
    reads=("hardware", "host"),
    scope="node",
    remedy="Update microcode and kernel; a node that turned mitigations off for speed sets accelerator_policy_cpu_mitigations_enabled: false.",
)
def cpu_mitigations(view, p):
    guest(view)
    names = view.section("hardware").texts("processors", "vulnerable")
    if names:
        origin = "vendor document: Linux Documentation/admin-guide/hw-vuln"
        return found("Vulnerable: %s" % ", ".join(names), ", ".join(names), expectation("mitigated", origin=origin))
    return PASSED


@rule(
    id="cpu-idle-states",
    layer=1,
    level="info",
    title="Processors do not idle too deep to answer at once",
    reads=("hardware", "host", "pci"),
    scope="node",
    remedy="Switch the state off (cpupower idle-set -d NUMBER, kept by a unit or a tuned profile); its wake-up delays interrupts of adapters and accelerators.",
    parameters={
        "most_latency_us": Parameter("number", None, "µs", "not set: what vendors ask for, data/host_settings.yml; nodes are compared (cohort-idle-states)")
    },
)
def cpu_idle_states(view, p):
    if view.policy.nothing_expected:
        return not_applicable(_NOTHING)
    guest(view)
    asked = [entry for entry in table()["idle_states"] if entry["manufacturer"] in view.pci()] if p.most_latency_us is None else []
    if p.most_latency_us is None and not asked:
        return not_applicable("no vendor of its accelerators asks for it, and accelerator_policy_cpu_idle_states_most_latency_us is not set")
    deep = []
    for state in view.section("hardware").objects("processors", "idle_states"):
        name = state.text("name")
        if not state.flag("disabled") and (any(name in entry["unwanted"] for entry in asked) if asked else state.number("latency_us") > p.most_latency_us):
            deep.append("%s (%s us)" % (name, show(state.data.get("latency_us"), 12)))
    if not deep:
        return PASSED
    why = "; ".join(entry["why"] for entry in asked) or "the site allows %g us" % p.most_latency_us
    wanted = expectation(" and ".join("no %s" % " or ".join(entry["unwanted"]) for entry in asked), origin="suite: data/host_settings.yml")
    return found("Processors idle in %s: %s" % (", ".join(deep), why), ", ".join(deep), wanted if asked else p.expected("most_latency_us"))
