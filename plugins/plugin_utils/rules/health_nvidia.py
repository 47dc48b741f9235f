# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what NVIDIA's devices alone have: GPU instances, confidential computing that takes work, clocks that are held, work that waits."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

_DEVICES = ("accelerators",)


@rule(
    id="mig-instances-used",
    layer=1,
    level="warn",
    title="Every GPU instance has a compute instance",
    reads=_DEVICES,
    scope="device",
    remedy="Make a compute instance in it (nvidia-smi mig -cci -gi ID) or take it away (-dgi): it holds memory that nothing can use.",
    follows=("device-lost",),
)
def mig_instances_used(device, p):
    instances = told.extra(device, "gpu_instances")
    if instances.__class__ is not list:
        raise NoAnswer("unknown", "gpu instances: not a list")
    instances = [one for one in instances if one.__class__ is dict and one.get("id").__class__ is int]
    used = set()
    for part in device.group.data.get("devices") or ():
        if part.__class__ is dict and part.get("kind") == "partition" and part.get("parent") == device.id:
            extra = part.get("extra")
            number = extra.get("gpu_instance") if extra.__class__ is dict else None
            if number.__class__ is not int:
                return unknown("in which GPU instance a MIG device lies is not known")
            used.add(number)
    empty = [one for one in instances if one["id"] not in used]
    if not empty:
        return PASSED
    shown = ", ".join("%d (%s)" % (one["id"], clean(str(one.get("profile")), 20)) for one in empty[:7])
    return found("GPU instances without a compute instance: %s" % shown, len(empty), expectation(0, "instances", "vendor document: NVIDIA MIG User Guide"))


@rule(
    id="confidential-ready",
    layer=1,
    level="fail",
    title="A device in confidential computing takes work",
    reads=_DEVICES,
    scope="device",
    remedy="Attest the devices, then set the ready state (nvidia-smi conf-compute -srs 1), as a unit does at each start; until then CUDA does not start.",
    follows=("device-lost",),
)
def confidential_ready(device, p):
    ready = told.extra(device, "confidential_ready")
    if ready.__class__ is not bool:
        raise NoAnswer("unknown", "ready state: neither ready nor not ready")
    if ready:
        return PASSED
    return found("The device is in confidential computing and not ready", "not ready", expectation("ready", origin="vendor document: NVML ready state"))


@rule(
    id="work-stuck",
    layer=1,
    level="warn",
    title="Devices that are busy use their memory",
    reads=_DEVICES,
    scope="group",
    remedy="All devices spin and none reads its memory: ranks of a collective wait for one that does not come. Look for the rank that is behind"
    " (NCCL_DEBUG, py-spy), and at links and adapters; then end the job.",
    parameters={"busy_percent": Parameter("number", 98, "%", "our choice: a kernel that waits for a peer keeps its device at 99 or 100 %")},
    follows=("device-lost", "links-up", "fabric-state"),
)
def work_stuck(group, p):
    if len(group.packages) < 2:
        return not_applicable("one device waits for no other")
    reason = None
    for device in group.packages:
        try:
            memory, core = told.extra(device, "memory_utilization_percent"), device.number("utilization_percent")
            if device.number("processes") == 0 or core < p.busy_percent or memory > 0:
                return PASSED
        except NoAnswer as no:
            reason = told.graver(reason, no)
        except TypeError:
            reason = NoAnswer("unknown", "memory utilization: not a number")
    if reason is not None:
        raise reason
    text = "All %d devices are busy and none uses its memory: a collective may hang" % len(group.packages)
    return found(text, "memory 0 %", expectation("above 0", "%", "our choice: work reads memory"))


@rule(
    id="clocks-held",
    layer=1,
    level="info",
    title="A busy device runs as fast as it is allowed to, or says why not",
    reads=_DEVICES,
    scope="device",
    remedy="Reset locked clocks (nvidia-smi -rgc) or record them as intended. No tool tells a lock; it shows as a low clock of a busy device with no reason.",
    parameters={
        "busy_percent": Parameter("number", 95, "%", "our choice: below it the clock follows the load"),
        "tolerance_percent": Parameter("number", 5, "%", "our choice: steps of the clock, and what the voltage allows"),
    },
    follows=("clocks-lowered", "device-lost"),
)
def clocks_held(device, p):
    if device.manufacturer != "nvidia":
        return not_applicable("clocks of %s: the rule clocks-lowered is told of locks" % device.manufacturer)
    if device.number("utilization_percent") < p.busy_percent:
        return not_applicable("the device is not busy: its clock follows the load")
    active = device.texts("throttle", "active")
    if set(active) - {"applications_clocks_setting"}:
        return PASSED  # it says why
    told.part(device, "clocks_mhz", "core_max")
    allowed = device.maybe("number", "clocks_mhz", "core_set")
    allowed = min(device.number("clocks_mhz", "core_max"), allowed or float("inf"))
    now = device.number("clocks_mhz", "core")
    if now >= allowed * (1 - p.tolerance_percent / 100.0):
        return PASSED
    return found("The core runs at %g MHz and no reason is told" % now, now, expectation(allowed, "MHz", "this node: what the device is allowed"))
