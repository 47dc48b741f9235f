# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the three questions: detected, sliced, managed while sliced. Nothing is started here, so nothing is measured."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import EXCLUSIVE, PARTITIONED, SHARED, SLICED, VISIBILITY
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import DECLARED, MEASURED, NOT_DECLARED, OK, SIMULATED, UNAVAILABLE, row
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.switches import left_on
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.notes import notes

__all__ = ["DECLARED", "MEASURED", "NOT_DECLARED", "OK", "SIMULATED", "UNAVAILABLE", "row"]
NOT_ASKED = "off and left off; asking the driver is a write, and a preflight does not write to drivers"
NOT_DRIVEN = "partition-backed, not driven: an answer would need a partition to be made"
_SHORT = "no container was started, so what it sees inside was not observed"
_NO_PROBE = "no container probe exists for this manufacturer, so what is seen inside was not observed"
_ONE_SHOT = "not measured, for the owner would have to be running while the sidecar starts"
_LISTED = 8


def switch_row(label, capability, state, reason, command):
    """The row of a driver's switch that was read and not asked. state: on, off, absent or failed (allocation/ask.py)."""
    if state == "on":
        return row(label, capability, SLICED, OK, detail="enabled")
    if state == "off":
        return row(label, capability, SLICED, OK, detail=NOT_ASKED, command=command)
    return row(label, capability, SLICED, NOT_DECLARED if state == "absent" else UNAVAILABLE, reason=reason)


def switch_rows(driver, machine, devices):
    """One per accelerator, of a driver that could be asked (ascend_share.py, cambricon_smlu.py); it is only read."""
    units = dict(zip([device.get("id") for device in devices], driver.units(devices)))
    able = [unit for unit in units.values() if not unit.problem]
    readings = driver.read(machine.host, able, machine.sources) if able else {}
    noted = notes(machine.host, driver.MANUFACTURER)[0] if able else {}
    found = []
    for device in devices:
        unit = units.get(device.get("id"))
        problem = unit.problem if unit else "it cannot be addressed"
        state, reason = ("failed", problem) if problem else readings.get(unit.key, ("failed", "not read"))
        left = None if problem else left_on(driver, state, reason, noted.get(unit.key))
        if left:
            remedy = " ".join(driver.argv(unit, False))
            found.append(row(grants.label(device), driver.CAPABILITY, SLICED, UNAVAILABLE, DECLARED, *left, remedy, left[1]))
            continue
        command = "" if problem else " ".join(driver.argv(unit, True))
        found.append(switch_row(grants.label(device), driver.CAPABILITY, state, reason, command))
    return found


class Simulated:
    """The grants of one accelerator: each made once, or why it cannot be."""

    def __init__(self, maker, machine, device):
        self.maker, self.machine, self.device, self.label = maker, machine, device, grants.label(device)
        self.kind, self.told = maker.capability(machine, device)
        self.made = {}

    def grant(self, mode, tenant=0):
        if (mode, tenant) not in self.made:
            try:
                grant = self.machine.check(self.maker.grant(self.machine, self.device, mode, tenant))
                lacking = self.machine.lacking(grant)
                self.made[mode, tenant] = grant, lacking
            except grants.Refused as refused:
                self.made[mode, tenant] = None, str(refused)
        return self.made[mode, tenant]

    def all(self):
        """{mode: grant} of every mode on offer; a grant that cannot be made is {"refused": why}."""
        modes = [EXCLUSIVE, SHARED, VISIBILITY, *{grants.SLICED: [SLICED], grants.PARTITIONED: [PARTITIONED]}.get(self.kind, [])]
        return {mode: self.grant(mode)[0] or {"refused": self.grant(mode)[1]} for mode in modes}

    def _row(self, capability, mode, state, depth, detail="", reason=""):
        return row(self.label, capability, mode, state, depth, detail, reason)

    def sliced(self):
        """The pair of a slice: its runtime and its quota."""
        pair = ("sliced-runtime-loaded", "sliced-quota-in-force")
        if self.kind == grants.UNKNOWN:
            return [self._row(name, SLICED, UNAVAILABLE, DECLARED, reason="whether it can be sliced is not known: %s" % self.told) for name in pair]
        if self.kind != grants.SLICED:
            return []
        grant, refused = self.grant(SLICED)
        if refused:
            return [self._row(name, SLICED, UNAVAILABLE, DECLARED, reason="no grant: %s" % refused) for name in pair]
        if not any(grant[key] for key in ("environment", "device_nodes", "mounts", "annotations")):
            return [self._row(name, SLICED, UNAVAILABLE, SIMULATED, reason="the grant is empty") for name in pair]
        short = _SHORT if self.maker.PROBE else _NO_PROBE
        total = self.device.get("memory_mib")
        quota = "the grant caps memory at %s, half of %s MiB; %s" % (", ".join(grant["caps"]), total, short)
        return [
            self._row(pair[0], SLICED, OK, SIMULATED, "granted: %s; %s%s" % (describe(grant), short, gaps(grant))),
            self._row(pair[1], SLICED, OK, SIMULATED, quota),
        ]

    def managed(self):
        """The pair of management: a sidecar, a second tenant."""
        if self.kind in (grants.PARTITIONED, grants.UNKNOWN_PARTITIONS):
            state, reason = (OK, "") if self.kind == grants.PARTITIONED else (UNAVAILABLE, "whether it has partitions is not known: %s" % self.told)
            detail = "" if reason else NOT_DRIVEN
            pairs = (("sidecar-visibility", VISIBILITY), ("co-tenancy", PARTITIONED))
            return [self._row(name, mode, state, DECLARED, detail, reason) for name, mode in pairs]
        if self.kind == grants.UNKNOWN:
            reason = "whether it can be sliced is not known: %s" % self.told
            return [self._row(name, mode, UNAVAILABLE, DECLARED, reason=reason) for name, mode in (("sidecar-visibility", VISIBILITY), ("co-tenancy", SLICED))]
        return [self._sidecar(), self._tenants()] if self.kind == grants.SLICED else []

    def _sidecar(self):
        (owner, failed), (sidecar, refused) = self.grant(SLICED), self.grant(VISIBILITY)
        if failed or refused:
            return self._row("sidecar-visibility", VISIBILITY, UNAVAILABLE, DECLARED, reason="no grant: %s" % (failed or refused))
        held, seen = grants.names(owner), grants.names(sidecar)
        beyond, left = [name for name in seen if name not in held], [name for name in held if name not in seen]
        state, reason, detail = OK, "", "the sidecar is granted exactly %s; %s" % (", ".join(seen), _ONE_SHOT)
        if not held:
            detail = "the owner names no device: nothing to compare; %s" % _ONE_SHOT
        elif not seen:
            state, detail, reason = UNAVAILABLE, "", "the owner holds %s and the sidecar is granted nothing" % ", ".join(held)
        elif beyond:
            state, detail, reason = UNAVAILABLE, "", "the sidecar is granted %s, which its owner does not hold" % ", ".join(beyond)
        elif left:
            detail = "the sidecar is granted %s, all of it its owner's, and lacks %s; %s" % (", ".join(seen), ", ".join(left), _ONE_SHOT)
        return self._row("sidecar-visibility", VISIBILITY, state, SIMULATED, detail, reason)

    def _tenants(self):
        (first, failed), (second, refused) = self.grant(SLICED), self.grant(SLICED, 1)
        if failed or refused:
            return self._row("co-tenancy", SLICED, UNAVAILABLE, DECLARED, reason="no two grants: %s" % (failed or refused))
        caps = "%s and %s" % (", ".join(first["caps"]), ", ".join(second["caps"]))
        places = [_place(grant) for grant in (first, second)]
        where = " (%s and %s)" % tuple(places) if places[0] != places[1] else ""
        short = "they were not started together" if self.maker.PROBE else _NO_PROBE
        return self._row("co-tenancy", SLICED, OK, SIMULATED, "two slices are granted beside each other, capped at %s%s; %s" % (caps, where, short))


def _place(grant):
    """Where a slice lies on its card, where the grant says so."""
    found = [line for mount in grant["mounts"] for text in mount.get("content", {}).values() for line in text.splitlines() if line.startswith("cu_mask")]
    return grant["environment"].get("HSA_CU_MASK") or " ".join(found)


def describe(grant):
    """What a grant hands over, in a line."""
    told = ["%s=%s" % pair for pair in grant["environment"].items() if pair[0].endswith("_VISIBLE_DEVICES")]
    told += ["%s=%s" % pair for pair in grant["environment"].items() if not pair[0].endswith("_VISIBLE_DEVICES")]
    told += [node["path"] for node in grant["device_nodes"]] + ["%s at %s" % (m["origin"], m["target"]) for m in grant["mounts"]]
    told += ["%s asked of the driver" % name for name in sorted(grant["driver_request"])]
    return ", ".join(told)


def gaps(grant):
    """The parts of a grant that are not on the machine, or could not be looked for."""
    told = []
    for name, words in (("missing", "not on the machine"), ("unchecked", "not known whether they are there")):
        if grant[name]:
            more = ", and %d more" % (len(grant[name]) - _LISTED) if len(grant[name]) > _LISTED else ""
            told.append("; %s: %s%s" % (words, ", ".join(grant[name][:_LISTED]), more))
    return "".join(told)
