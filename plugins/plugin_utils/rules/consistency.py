# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes of one cohort should have in common, and what no two nodes of a run may: each function returns the node's value.

Those of a cohort are compared by fleet/cohorts.py, those of the whole run by fleet/identities.py.
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import identities
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Parameter, rule
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

SAME = "Bring the odd nodes to the version the cohort has, or put them into a cohort of their own (accelerator_cohort)."


GOLDEN = Parameter("list", None, "", "the cohort itself: its majority; a list of the values that are right wins over it")


def cohort_rule(id, title, reads=("host",), level="warn", follows=(), compare="text", parameters=None, remedy=SAME):
    """Register a rule that compares nodes; each takes the parameter golden."""
    parameters = dict(parameters or {}) if compare == "number" else {"golden": GOLDEN, **(parameters or {})}
    return rule(id=id, layer=1, level=level, title=title, reads=reads, scope="cohort", remedy=remedy, parameters=parameters, follows=follows, compare=compare)


def _per_group(view, path):
    """One text for all manufacturers of the node. NoAnswer where there is no accelerator or one does not say."""
    if not view.groups:
        raise NoAnswer(view.device_gaps[0].outcome, view.device_gaps[0].reason)
    shown = [group for group in view.groups if group.state != "not-declared" or group.devices]
    if not shown:
        raise NoAnswer("not_applicable", "no accelerator")
    values = [(group.manufacturer, group.text(*path)) for group in shown]
    return values[0][1] if len(values) == 1 else ", ".join("%s %s" % pair for pair in values)


@cohort_rule(
    "cohort-model",
    "Same accelerator model",
    reads=("accelerators",),
    level="fail",
    remedy="Move the odd nodes to a cohort of their own, or replace the part.",
    follows=("mixed-models", "accelerator-model"),
)
def cohort_model(view, p):
    # By its id on PCI where that tells the model: tools, and versions of a tool, name one part differently.
    on_bus, names = view.pci(), set()
    for manufacturer in sorted(set(on_bus) | {g.manufacturer for g in view.groups if g.packages}):
        models = {e.maybe("text", "model") for e in on_bus.get(manufacturer, ())}
        if None in models or not models:
            group = view.group(manufacturer)
            if group is None:
                raise NoAnswer("unknown", "%s: not read" % manufacturer)
            models = {d.text("name") for d in _whole(group).packages}
        names |= models
    if not names:
        raise NoAnswer(view.device_gaps[0].outcome if view.device_gaps else "unknown", view.device_gaps[0].reason if view.device_gaps else "no device")
    return ", ".join(sorted(names))


def _whole(group):
    """The group, when its list of devices is whole."""
    if group.gap:
        raise NoAnswer("unknown", group.gap)
    return group


@cohort_rule(
    "cohort-count",
    "Same number of accelerators",
    reads=("accelerators",),
    level="fail",
    follows=("detection-agrees", "accelerator-count", "no-accelerator", "accelerators-detected", "device-vanished", "device-lost"),
    remedy="Find the missing card: PCI, kernel log, then reseat.",
)
def cohort_count(view, p):
    for gap in view.device_gaps:
        if gap.outcome == "unknown" and not view.packages:
            raise NoAnswer("unknown", gap.reason)
    return str(sum(len(_whole(group).packages) for group in view.groups))


@cohort_rule("cohort-bios", "Same BIOS version")
def cohort_bios(view, p):
    return view.section("host").text("bios", "version")


@cohort_rule("cohort-bmc", "Same BMC firmware", level="info")
def cohort_bmc(view, p):
    return view.section("host").text("bmc", "version")


@cohort_rule("cohort-os", "Same operating system")
def cohort_os(view, p):
    host = view.section("host")
    return "%s %s" % (host.text("os", "id"), host.text("os", "version"))


@cohort_rule("cohort-kernel", "Same kernel", follows=("cohort-os",))
def cohort_kernel(view, p):
    return view.section("host").text("kernel", "release")


# Parameters that name the one machine or its boot medium and differ between equal nodes.
_OWN = ("boot_image", "root", "initrd", "resume", "ip", "hostname", "bootif", "crashkernel", "uuid")


@cohort_rule("cohort-kernel-command-line", "Same kernel parameters", level="info", follows=("cohort-kernel", "kernel-command-line"))
def cohort_kernel_command_line(view, p):
    words = view.section("host").words("kernel", "command_line")
    return " ".join(sorted(w for w in words if w.partition("=")[0].lower() not in _OWN)) or "(none)"


@cohort_rule("cohort-driver", "Same accelerator driver", reads=("accelerators",), follows=("cohort-os", "driver-library-match", "driver-on-disk"))
def cohort_driver(view, p):
    return _per_group(view, ("driver", "version"))


@cohort_rule("cohort-runtime", "Same accelerator runtime", reads=("accelerators",), level="info", follows=("cohort-driver",))
def cohort_runtime(view, p):
    return _per_group(view, ("driver", "runtime_version"))


@cohort_rule("cohort-firmware", "Same accelerator firmware", reads=("accelerators",), follows=("cohort-model", "cohort-driver"))
def cohort_firmware(view, p):
    versions = {}
    for device in [device for group in view.groups for device in _whole(group).packages]:
        for name, version in device.facts("firmware").data.items():
            if version.__class__ is str and version:
                versions.setdefault(clean(name, 40), set()).add(clean(version, 80))
    if not versions:
        raise NoAnswer("unknown", "no firmware version was read")
    return "; ".join("%s %s" % (name, ", ".join(sorted(found))) for name, found in sorted(versions.items()))


@cohort_rule(
    "cohort-memory",
    "Same host memory",
    follows=("memory-installed", "memory-modules"),
    compare="number",
    parameters={"tolerance_percent": Parameter("number", 3, "%", "our choice: firmware reserves differ by less")},
    remedy="Look for a failed or missing memory module: the BMC's log names the slot.",
)
def cohort_memory(view, p):
    return view.section("host").number("memory", "total_mib")


@cohort_rule("cohort-cpu", "Same processors")
def cohort_cpu(view, p):
    host = view.section("host")
    return "%d x %s" % (host.number("cpu", "sockets"), host.text("cpu", "model"))


@rule(
    id="unique-accelerators",
    layer=1,
    level="fail",
    title="No other node of the run has the same accelerators",
    reads=("accelerators",),
    scope="fleet",
    remedy="One machine has two names: take one out of the inventory. Of two machines, find the card that was moved between the readings and read both again.",
)
def unique_accelerators(view, p):
    return identities.of(view)


@rule(
    id="cohort-together",
    layer=1,
    level="info",
    title="No group of nodes differs from its cohort in many settings at once",
    reads=(),
    scope="cohort",
    compare="together",
    remedy="One cause, most likely another image or an update that has not reached these nodes: install them again, and not setting by setting.",
    parameters={"fewest": Parameter("int", 3, "settings", "our choice: two may be chance or cause and effect")},
)
def cohort_together(view, p):
    return ""
