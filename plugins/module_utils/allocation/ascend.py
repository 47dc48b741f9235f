# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ascend: the vendor's runtime injects by number; slices by the preloaded vcann-rt, one card each."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import a5, ascend_share, grants, rows
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, whole, why

NOTE, PROBE = "", True
RUNTIME, VISIBLE = "ascend", "ASCEND_VISIBLE_DEVICES"
SLICES = 63
CANN = {"910B": (8, 9), "910C": (8, 9), "950": (9,), "310P": (9,)}  # families the slicing library exists for, by the first number of CANN
NODES, NOT_ON_950 = ("/dev/davinci_manager", "/dev/hisi_hdc"), ("/dev/devmm_svm",)
BASE = "/opt/enpu/vcann-rt/"


def accelerators(devices):
    """Each die is one; a card with one die is itself."""
    parents = {device.get("parent") for device in devices}
    return [device for device in devices if device.get("kind") in ("package", "die") and device.get("id") not in parents]


def family(device):
    found = grants.extra(device, "family")
    return found if is_known(found) else ""


def capability(machine, device):
    fam, version = family(device), machine.driver.get("runtime_version")
    if grants.partition(device, "enabled") is True:
        return grants.NONE, "a slice of a card already"
    if not fam:
        return grants.UNKNOWN, "its family is not known: %s" % why(grants.extra(device, "family"))
    if fam not in CANN:
        return grants.NONE, "no slicing library for family %s" % fam
    first = whole(str(version).split(".", 1)[0]) if is_known(version) else None
    if first is None:
        absent = isinstance(version, dict) and "not_applicable" in version
        return (grants.NONE if absent else grants.UNKNOWN), "CANN: %s" % (why(version) or "version %r" % (version,))
    return (SLICED, SLICES) if first in CANN[fam] else (grants.NONE, "no slicing library for family %s and CANN %s" % (fam, first))


def numbers(device):
    """(what the runtime resolves, what vcann-rt keys its quota by): the physical id, on a 950 the logic id for the runtime."""
    node = [int(path[len("/dev/davinci") :]) for path in grants.numbered(device, "/dev/davinci")]
    physical, logic = grants.extra(device, "phy_id"), grants.extra(device, "logic_id")
    physical = physical if isinstance(physical, int) else node[0] if len(node) == 1 else None
    visible = logic if family(device) == "950" else physical
    if not isinstance(visible, int):
        raise grants.Refused("its number is not known to the vendor's runtime")
    return visible, visible if physical is None else physical


def grant(machine, device, mode, tenant=0):
    one = grants.need(device)
    visible, physical = numbers(device)
    fam, mounts, caps, environment = family(device), [], [], {VISIBLE: str(visible)}
    nodes = [*NODES, *(() if fam == "950" else NOT_ON_950), *grants.numbered(device, "/dev/davinci")]
    if mode == SLICED:
        cap = grants.half(device)[0]
        caps = ["%d MiB" % cap]
        config = "physical-npu-id=%d\nvirtual-npu-id=%d\naicore-quota=%d\nmemory-quota=%d\nshm-id=%s\nscheduling-policy=2\n" % (
            physical, tenant, grants.PERCENT, cap, one.replace(" ", "-"),
        )  # fmt: skip
        folder = "ascend/cann-%d-%s" % (machine.major("CANN"), fam.lower())
        libraries = machine.preload(folder, BASE + "lib/libvruntime.so", BASE + "tools/enpu-monitor")
        mounts = [*libraries, grants.mount("/dev/shm", "/dev/shm", False)]
        target = "/etc/enpu/vcann-rt/npu_info.config"
        mounts.append(grants.mount(grants.made(device, target[1:], tenant), target, True, "made", {"npu_info.config": config}))
        environment.update(ENPU_LOG_LEVEL="1", ENPU_DSMI_HOOK="1")
    return grants.new(environment, mounts=mounts, runtime=RUNTIME, runtime_nodes=nodes, caps=caps)


def driver_rows(machine, devices):
    shared = [device for device in devices if family(device) != "950"]
    switches = dict(zip([id(device) for device in shared], rows.switch_rows(ascend_share, machine, shared)))
    host = None
    found = []
    for device in devices:
        label = grants.label(device)
        if id(device) in switches:
            found.append(switches[id(device)])
            continue
        host = host or (a5.runtime(machine.host), a5.rank_table(machine.host))
        reason = "this generation (DCMI V2) has no such flag"
        found.append(rows.row(label, ascend_share.CAPABILITY, SLICED, rows.NOT_DECLARED, reason=reason))
        found += a5.of(label, host)
    return found
