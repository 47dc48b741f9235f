# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the modes of a device, what fills it, and whether its firmware parts fit each other and the driver."""

from __future__ import annotations

import re
from collections import Counter
from statistics import median

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
)

_DEVICES = ("accelerators",)
_HELD = {"gsp": "firmware-driver", "npu": "firmware-range"}  # firmware that a rule of its own holds against the driver
# On these the operating system has the memory of the device too, and puts its own pages there.
_COHERENT = re.compile(r"\bG[BH]\d00\b|\bMI300A\b")


@rule(
    id="compute-mode",
    layer=1,
    level="warn",
    title="Programs may use the device",
    reads=_DEVICES,
    scope="device",
    remedy="nvidia-smi -c DEFAULT, or name the mode as intended: accelerator_policy_compute_mode_mode.",
    parameters={"mode": Parameter("string", "default", "", "vendor document: nvidia-smi: compute mode")},
)
def compute_mode(device, p):
    mode = told.extra(device, "compute_mode")
    if mode.__class__ is not str:
        raise NoAnswer("unknown", "compute mode: not a word")
    mode = mode.lower()
    if mode == p.mode.lower():
        return PASSED
    # Exclusive modes are what some schedulers choose; prohibited lets nothing run.
    # No scheduler of MLUs does.
    level = None if mode == "prohibited" or device.manufacturer == "cambricon" else "info"
    return found("The compute mode is %s" % mode.replace("_", " ")[:40], mode[:40], p.expected("mode"), level=level)


_WORDS = {"enabled": True, "enable": True, "on": True, "disabled": False, "disable": False, "off": False}


@rule(
    id="mode-pending",
    layer=1,
    level="warn",
    title="No change of mode waits for a reset",
    reads=_DEVICES,
    scope="device",
    remedy="Reset the device or reboot the node: what was set (ECC, MIG) is not in force until then.",
)
def mode_pending(device, p):
    reason, compared, extra = None, False, device.data.get("extra")
    if extra.__class__ is dict and extra.get("mig_changes") is True:
        return found("A change of MIG waits for a reset", "MIG: pending", expectation("what is in force now", origin="this node"))
    for words, current, key in (("ECC", ("ecc", "mode"), "ecc_pending"), ("MIG", ("partition", "enabled"), "mig_pending")):
        try:
            pending = told.extra(device, key)
            now = device.fact(*current)
        except NoAnswer as no:
            reason = told.graver(reason, no)
            continue
        pending, now = (_WORDS.get(fact.lower(), fact) if fact.__class__ is str else fact for fact in (pending, now))
        if pending.__class__ is bool and now.__class__ is bool and pending is not now:
            state = "on" if pending else "off"
            return found("%s will be %s after the next reset" % (words, state), "pending: %s" % state, expectation("what is in force now", origin="this node"))
        compared = True
    if reason is not None and (reason.outcome == "unknown" or not compared):
        raise reason
    return PASSED


@rule(
    id="partition-declared",
    layer=1,
    level="warn",
    title="The device is partitioned as declared",
    reads=_DEVICES,
    scope="device",
    remedy="Partition the device as the inventory says, or correct the inventory.",
    parameters={
        "on": Parameter("bool", None, "", "not judged unless the site says so: MIG or another partition mode is on"),
        "profile": Parameter("string", None, "", "not judged unless the site says so: compute partition (SPX, CPX)"),
        "memory_profile": Parameter("string", None, "", "not judged unless the site says so: memory partition (NPS1, NPS4)"),
    },
)
def partition_declared(device, p):
    asked = [key for key in ("on", "profile", "memory_profile") if getattr(p, key) is not None]
    if not asked:
        return not_applicable("no partitioning is declared for this node")
    for key in asked:
        wanted = getattr(p, key)
        try:
            said = device.flag("partition", "enabled") if key == "on" else device.text("partition", key)
        except NoAnswer as no:
            # What cannot be partitioned is not partitioned.
            if key == "on" and wanted is False and no.outcome == "not_applicable":
                continue
            if no.outcome == "not_applicable":
                return found("The device cannot be partitioned: %s" % no.reason, "none", p.expected(key))
            raise
        if (said.lower() != wanted.lower()) if key != "on" else said is not wanted:
            shown = ("on" if said else "off") if key == "on" else said[:40]
            return found("Partitioning: %s" % shown if key == "on" else "The %s is %s" % (key.replace("_", " "), shown), shown, p.expected(key))
    return PASSED


@rule(
    id="confidential-declared",
    layer=1,
    level="warn",
    title="Confidential computing as declared",
    reads=_DEVICES,
    scope="device",
    remedy="Set the mode with the vendor's administration tool and reset the device; it must be the same on all devices of a machine.",
    parameters={"on": Parameter("bool", None, "", "not judged unless the site says so")},
)
def confidential_declared(device, p):
    if p.on is None:
        return not_applicable("confidential computing is not declared for this node")
    extra = device.data.get("extra")
    if extra.__class__ is dict and "confidential" in extra:
        now = device.flag("extra", "confidential")
    else:
        protected = told.extra(device, "confidential_memory_mib")
        if protected.__class__ not in (int, float):
            raise NoAnswer("unknown", "protected memory: not a number")
        now = protected > 0
    if now is not p.on:
        state = "on" if now else "off"
        return found("Confidential computing is %s" % state, state, p.expected("on"))
    return PASSED


@rule(
    id="memory-in-use",
    layer=1,
    level="warn",
    title="No memory is held without a process",
    reads=_DEVICES,
    scope="device",
    remedy="A process that has ended left its memory, or one in another namespace is not shown: find it, or reset the device.",
    parameters={
        "most_mib": Parameter(
            "number",
            None,
            "MiB",
            "what an idle part of this manufacturer holds is not known",
            by_manufacturer=dict.fromkeys(("nvidia", "amd"), (2048, "suite: Primus node_smoke: 2 GiB in use before the test is a leaked process")),
        ),
        "above_siblings_mib": Parameter("number", 2048, "MiB", "suite: Primus node_smoke: 2 GiB; above the median of the equal devices, for other makers"),
    },
    follows=("foreign-processes",),
)
def memory_in_use(device, p):
    used = device.number("memory_used_mib")
    most, limit = p.of("most_mib", device.manufacturer), None
    if most is None:
        # What an idle part holds is told by its equals.
        others = [held for held in (other.maybe("number", "memory_used_mib") for other in device.siblings) if held is not None]
        if len(others) < 2:
            return not_applicable("it is not known what an idle part of %s holds" % device.manufacturer)
        most = median(others) + p.above_siblings_mib
        limit = p.expected("above_siblings_mib", value=most)
    if used <= most:
        return PASSED
    if _COHERENT.search(device.name):
        return not_applicable("the operating system uses this memory too")
    _of_others(device)
    count = device.number("processes")
    if count > 0:
        return PASSED
    return found("%g MiB are in use and no process uses the device" % used, used, limit or p.expected("most_mib", device.manufacturer))


def _of_others(device):
    """NoAnswer where what uses the device is not told as its own processes."""
    if device.maybe("flag", "partition", "enabled"):
        raise NoAnswer("not_applicable", "the device is partitioned: its parts have processes of their own")
    extra = device.data.get("extra")
    if extra.__class__ is dict and extra.get("virtualization") in ("host_vgpu", "host_vsga"):
        raise NoAnswer("not_applicable", "guests use it: the device is shared out as virtual ones")


@rule(
    id="busy-without-process",
    layer=1,
    level="warn",
    title="No device works for nobody",
    reads=_DEVICES,
    scope="device",
    remedy="A program that has ended left work that never does, or one in another namespace is not shown: find it, or reset the device.",
    parameters={"least_percent": Parameter("number", 20, "%", "suite: Primus node_smoke: an activity of 20 % before the test")},
    follows=("memory-in-use", "recovery-action", "device-lost"),
)
def busy_without_process(device, p):
    busy = device.number("utilization_percent")
    if busy < p.least_percent:
        return PASSED
    if device.maybe("flag", "persistence") is False:
        # nvidia-smi(1), utilization: the memory is scrubbed as the driver is loaded, and that counts as work.
        return not_applicable("the driver is loaded for each question, and works then")
    _of_others(device)
    if device.number("processes") > 0:
        return PASSED
    return found("The device is %g %% busy and no process uses it" % busy, busy, p.expected("least_percent"))


@rule(
    id="firmware-driver",
    layer=1,
    level="warn",
    title="The firmware that the driver loads is the driver's own",
    reads=_DEVICES,
    scope="device",
    remedy="Reload the driver's module or reboot: the firmware was loaded by another version than the one that answers.",
)
def firmware_driver(device, p):
    firmware = device.data.get("firmware")
    if firmware.__class__ is not dict or firmware.get("gsp") is None:
        raise NoAnswer("not_applicable", "no firmware that comes with the driver")
    loaded, driver = device.text("firmware", "gsp"), device.group.text("driver", "version")
    if loaded != driver:
        return found(
            "The GSP firmware is %s, the driver %s" % (loaded[:40], driver[:40]), loaded[:40], expectation(driver[:40], origin="this node: the driver")
        )
    return PASSED


@rule(
    id="firmware-mixed",
    layer=1,
    level="warn",
    title="Equal devices have equal firmware",
    reads=_DEVICES,
    scope="group",
    remedy="Bring the odd device to the firmware of its neighbors with the maker's update bundle: mixed versions behave differently and are not validated.",
    follows=("mixed-models", "firmware-driver", "firmware-range"),
)
def firmware_mixed(group, p):
    alike = {}
    for device in group.packages:
        alike.setdefault(device.name, []).append(device)
    outcomes, compared = [], False
    for devices in alike.values():
        tables = [(d, d.data.get("firmware")) for d in devices]
        tables = [(d, t) for d, t in tables if t.__class__ is dict and t]
        if len(tables) < 2:
            continue
        compared = True
        first = tables[0][1]
        if all(t == first for _d, t in tables):
            continue
        odd = {}
        for name in sorted({name for _d, t in tables for name in t}):
            said = [(d, t[name]) for d, t in tables if t.get(name).__class__ is str]
            counted = Counter(version for _d, version in said)
            if len(counted) > 1:
                usual = max(counted, key=lambda version: (counted[version], version))
                for d, version in said:
                    if version != usual:
                        odd.setdefault(d.id, (d, []))[1].append((name, version, usual))
        for d, parts in odd.values():
            shown = ", ".join("%s %s" % (name[:30], version[:40]) for name, version, _usual in parts[:6])
            usual = ", ".join("%s %s" % (name[:30], version[:40]) for name, _version, version in parts[:6])
            outcomes.append(
                found(
                    "Its firmware differs from that of its neighbors: %s" % shown,
                    shown,
                    expectation(usual, "", "this node: equal devices"),
                    subject=(d.kind, d.id),
                    caused_by=("mixed-models", *(_HELD[name] for name, _version, _usual in parts if len(parts) == 1 and name in _HELD)),
                )
            )
    if not compared:
        return not_applicable("no two equal devices whose firmware was read")
    return outcomes or PASSED
