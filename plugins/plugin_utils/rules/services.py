# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what runs on the host: services and their versions, names, restarts, processes that hang."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import systemd_units
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.bus import NO_DRIVER
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.host import CLOCKS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.nvidia_daemons import running
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
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.when import epoch

DATA = Path(__file__).parent.parent / "data" / "host_settings.yml"
_DAEMONS = {"fabric_manager": "nvidia-fabricmanager", "imex": "nvidia-imex"}
# What takes work, and what watches accelerators: each of them runs for ever once it was started.
_EXPECTED = ("containerd", "docker", "crio", "kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "slurmd")
_ENGINES = ("containerd", "docker", "crio", "cri-docker")
# Units of which another rule says that they are down, and what that means.
_JUDGED = {"nvidia-fabricmanager": "fabric-manager", "nvidia-imex": "imex-service", **dict.fromkeys(_ENGINES, "runtime-serves-kubelet")}
_PROCESSES = {"nvidia-dcgm": "nv-hostengine"}
_LOOPBACK = ("127.", "::1")
_LINK_LOCAL = ("fe80:", "169.254.")


def _services(view):
    return view.section("services")


@lru_cache(maxsize=1)
def _table():
    return data_file.load(DATA)


@lru_cache(maxsize=1)
def expected():
    """Units that are missed when they are enabled and do not run."""
    return (*_EXPECTED, *(entry["unit"] for entry in _table()["daemons"]))


@rule(
    id="service-failed",
    layer=1,
    level="warn",
    title="No service has failed",
    reads=("services",),
    scope="node",
    remedy="Look at its log (journalctl -u NAME), repair it, or disable what is not used; systemctl reset-failed forgets it.",
    follows=("fabric-manager", "imex-service", "runtime-serves-kubelet", *NO_DRIVER),
)
def service_failed(view, p):
    services = _services(view)
    failed = services.texts("failed")
    if not failed:
        return PASSED
    ours = [name for name in failed if name.replace(".service", "") in _of_concern(view)]
    # A service that is of no concern to accelerators is told, and no more.
    text = "%d services have failed: %s" % (len(failed), ", ".join((ours + [n for n in failed if n not in ours])[:8]))
    judged = [_explained(name.replace(".service", "")) for name in ours]
    common = [cause for cause in judged[0] if all(cause in causes for causes in judged)] if judged else []
    causes = common or (dict.fromkeys(cause for causes in judged for cause in causes) if all(judged) else ())
    return found(text, len(failed), expectation(0, "services", "vendor document: systemctl(1)"), level=None if ours else "info", caused_by=tuple(causes))


def _explained(unit):
    """Rules whose finding may be why a unit failed."""
    return (*((_JUDGED[unit],) if unit in _JUDGED else ()), *(NO_DRIVER if unit.startswith("nvidia-") else ()))


def _of_concern(view):
    """Units of an accelerator node: those of the table, and NVIDIA's, which the section host has."""
    nvidia = None if view.missing("host") else view.section("host").maybe("facts", "services")
    return {name for known in (_services(view).maybe("facts", "units"), nvidia) if known is not None for name in known.data}


@rule(
    id="service-down",
    layer=1,
    level="warn",
    title="Services that are to run do",
    reads=("services",),
    scope="node",
    remedy="Start it, or disable it where the node is to do without.",
    follows=("service-failed", "runtime-serves-kubelet"),
)
def service_down(view, p):
    units = _services(view).facts("units")
    down = []
    for name in expected():
        # A container may run it in place of the unit.
        if name in _PROCESSES and running(view, _PROCESSES[name]):
            continue
        # Only what starts with the node is missed: one that is disabled, masked or started by another is down on purpose.
        if name in units.data and units.maybe("text", name, "enabled") == "enabled" and _down(units, name):
            down.append(name)
    if down:
        text = "To be started with the node, and not running: %s" % ", ".join(down)
        wanted = expectation("active", origin="vendor document: systemctl(1), enabled units")
        failed = all(units.maybe("text", name, "active") == "failed" for name in down)
        causes = [*(["service-failed"] if failed else []), *(["runtime-serves-kubelet"] if set(down) <= set(_ENGINES) else [])]
        return found(text, ", ".join(down), wanted, caused_by=tuple(causes))
    return PASSED


def _down(units, name):
    """One that ended and waits to be started again is being started for ever."""
    return units.maybe("text", name, "active") in ("inactive", "failed") or units.maybe("text", name, "sub") == "auto-restart"


@rule(
    id="service-versions",
    layer=1,
    level="fail",
    title="Daemons are of the driver's version",
    reads=("services", "host"),
    scope="node",
    remedy="Install the fabric manager and the IMEX daemon in the driver's version and start them again.",
)
def service_versions(view, p):
    versions, host = _services(view).facts("versions"), view.section("host")
    driver = host.maybe("text", "modules", "nvidia", "version")
    state = host.maybe("facts", "services")
    odd, asked, silent = [], 0, None
    for name, unit in _DAEMONS.items():
        # One that is installed and down on purpose serves nobody: a node of its own needs no IMEX daemon.
        if state is None or state.maybe("word", unit, "active") not in ("active", "activating", "failed"):
            continue
        try:
            version = versions.text(name)
        except NoAnswer as no:
            silent = silent or (no.reason if no.outcome == "unknown" else None)
            continue
        asked += 1
        if driver is not None and version != driver:
            odd.append("%s is %s" % (unit, version))
    if odd:
        return found(
            "%s, the driver is %s" % (", ".join(odd), driver), ", ".join(odd), expectation(driver, origin="vendor document: NVIDIA Fabric Manager User Guide")
        )
    if silent or (asked and driver is None):
        return unknown(silent or "the driver's version is not known")
    return PASSED if asked else not_applicable("no daemon that must be of the driver's version is in use")


@rule(
    id="time-daemons",
    layer=1,
    level="warn",
    title="One service sets the clock",
    reads=("services",),
    scope="node",
    remedy="Disable all but one.",
)
def time_daemons(view, p):
    units = _services(view).facts("units")
    active = [name for name in CLOCKS if name in units.data and units.maybe("text", name, "active") == "active"]
    if len(active) > 1:
        return found("%s set the clock side by side" % " and ".join(active), ", ".join(active), expectation(1, "service", "vendor document: chronyd(8)"))
    return PASSED


@rule(
    id="own-name",
    layer=1,
    level="warn",
    title="The node's name means the same in its hosts file and in DNS",
    reads=("services",),
    scope="node",
    remedy="Correct /etc/hosts or the name servers: jobs that span nodes meet at the address of a name.",
)
def own_name(view, p):
    names = _services(view).facts("names")
    local = {a for a in names.texts("hosts_file") if not a.startswith(_LINK_LOCAL)}
    remote = {a for a in names.texts("dns") if not a.startswith((*_LINK_LOCAL, *_LOOPBACK))}
    outside = {a for a in local if not a.startswith(_LOOPBACK)}
    wanted = expectation("one address", origin="our choice: torch.distributed, MPI and Ray meet at the address of a node's name")
    if outside and remote and not outside & remote:
        text = "%s is %s in /etc/hosts and %s in DNS" % (names.text("name"), ", ".join(sorted(outside)), ", ".join(sorted(remote)))
        return found(text, text, wanted)
    if local and not outside and remote:
        text = "%s is %s in /etc/hosts, and %s for other nodes" % (names.text("name"), ", ".join(sorted(local)), ", ".join(sorted(remote)))
        return found(text, text, wanted, level="info")
    return PASSED


@rule(
    id="unexpected-restart",
    layer=1,
    level="warn",
    title="The node did not restart by itself",
    reads=("services", "host"),
    scope="node",
    remedy="Look at the BMC's event log and at what the kernel left (pstore, kdump) for the cause: power, a machine check, a panic.",
    parameters={"within_days": Parameter("number", 7, "days", "our choice: older restarts had their time to be looked at")},
    follows=("memory-uncorrected", "bmc-events"),
)
def unexpected_restart(view, p):
    services = _services(view)
    reboots = services.facts("reboots")

    def recent(entry):
        return (epoch(entry.maybe("text", "at")) or 0) >= (epoch(services.text("timestamp")) or 0) - p.within_days * 86400

    crashes = [c.maybe("text", "what") or "?" for c in reboots.objects("crashes") if recent(c)]
    if crashes:
        text = "The kernel crashed within %g days: %s" % (p.within_days, ", ".join(crashes[:4]))
        return found(text, len(crashes), p.expected("within_days", value=0))
    kind = view.section("host").maybe("text", "virtualization")
    if kind not in (None, "none"):
        return not_applicable("a guest (%s): its host may end it" % kind)
    hard = [b.maybe("text", "at") for b in reboots.objects("boots") if b.data.get("clean") is False and recent(b)]
    if hard:
        text = "%d starts within %g days that no shutdown came before: %s" % (len(hard), p.within_days, ", ".join(hard[-4:]))
        return found(text, len(hard), p.expected("within_days", value=0))
    return PASSED


@rule(
    id="processes-stuck",
    layer=1,
    level="warn",
    title="No process hangs in the kernel",
    reads=("services",),
    scope="node",
    remedy="The kernel log says where it hangs; a process that waits for a dead device or mount ends only with a restart.",
    follows=("device-lost", "device-vanished", "kernel-lockups"),
)
def processes_stuck(view, p):
    stuck = _services(view).facts("processes").objects("stuck")
    if stuck:
        shown = ", ".join("%s (%s)" % (s.maybe("text", "command") or "?", s.data.get("pid")) for s in stuck[:6])
        text = "%d processes cannot be ended, and have not moved: %s" % (len(stuck), clean(shown, 200))
        return found(text, len(stuck), expectation(0, "processes", "vendor document: ps(1), state D"))
    return PASSED


@rule(
    id="zombies",
    layer=1,
    level="info",
    title="Few processes that nobody waits for",
    reads=("services",),
    scope="node",
    remedy="Restart the parent that does not collect its children; a container needs an init of its own (docker run --init).",
    parameters={"most": Parameter("int", 100, "processes", "our choice: each holds an id and nothing else")},
)
def zombies(view, p):
    count = _services(view).facts("processes").number("zombies")
    if count > p.most:
        return found("%d processes have ended and nobody waits for them" % count, count, p.expected("most"))
    return PASSED


@rule(
    id="vendor-daemons",
    layer=1,
    level="fail",
    title="Daemons run that the accelerators need",
    reads=("services", "pci"),
    scope="node",
    remedy="Install and start it (systemctl enable --now UNIT); its devices do not work without it.",
    follows=("service-failed",),
    parameters={"units": Parameter("list", (), "", "units that this site needs wherever accelerators are, of those that are read (services.units)")},
)
def vendor_daemons(view, p):
    data, told = _table(), []
    for maker in sorted(view.pci()):
        subject = ("manufacturer", maker)
        needed = [entry["unit"] for entry in data["daemons"] if entry["manufacturer"] == maker and entry["needed"]]
        without = next((entry["why"] for entry in data["no_daemon"] if entry["manufacturer"] == maker), None)
        if not needed:
            told.append(not_applicable("%s: %s" % (maker, without), subject) if without else unknown("%s: no document tells of its daemons" % maker, subject))
            continue
        told.append(_runs(view, needed, maker, "vendor document: data/host_settings.yml", subject))
    wanted = [unit[: -len(".service")] if unit.endswith(".service") else unit for unit in p.units]
    unread = sorted(set(wanted) - set(systemd_units.UNITS) - set(_DAEMONS.values()))
    if told and unread:
        told.append(unknown("not among the units that are read: %s" % ", ".join(unread)))
    elif told and wanted:
        told.append(_runs(view, wanted, "the site", "site policy", None))
    return told or not_applicable("no accelerator on PCI")


def _runs(view, needed, who, origin, subject):
    units = _services(view).facts("units")
    down = [unit for unit in needed if _down(units, unit) or units.maybe("text", unit, "active") not in ("active", "activating", "reloading")]
    if not down:
        return passed(subject)
    failed = ("service-failed",) if any(units.maybe("text", unit, "active") == "failed" for unit in down) else ()
    text = "%s needs %s, and it does not run" % (who, ", ".join(down))
    return found(text, ", ".join(down), expectation("active", origin=origin), None, subject, caused_by=failed)
