# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is made of, by what is unlike in every machine: serials and UUIDs; and what was replaced since. Pure functions."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer


class Part(NamedTuple):
    """An accelerator or the mainboard. slot: its address on PCI; device: its name in reports; serial, uuid: None = not known."""

    kind: str
    slot: str
    device: str
    name: str
    serial: object = None
    uuid: object = None

    @property
    def identity(self):
        return self.uuid or self.serial

    @property
    def shown(self):
        return ("UUID %s" % self.uuid) if self.uuid and not self.serial else ("serial %s" % self.serial) if self.serial else "of unknown serial"


class Change(NamedTuple):
    """old: the Part that was there, None = nothing; new: the Part that is there now, None = nothing."""

    kind: str
    slot: str
    old: object
    new: object


def of(view):
    """The parts of a node that have an identity, a slot once."""
    found = {}
    for device in view.packages:
        serial, uuid = _good(device, "serial"), _good(device, "uuid")
        if serial or uuid:
            slot = _good(device, "pci") or device.id
            found.setdefault(("accelerator", slot), Part("accelerator", slot, device.id, device.name or device.manufacturer, serial, uuid))
    board = _host(view, "board")
    if board:
        found["mainboard", "mainboard"] = Part("mainboard", "mainboard", "mainboard", _host(view, "board", "product") or "mainboard", board)
    return [found[key] for key in sorted(found)]


def _good(device, name):
    if device.maybe("text", "identity", name, "quality") == "good":
        return device.maybe("text", "identity", name, "value")
    return None


def _host(view, group, key="serial"):
    try:
        return view.section("host").maybe("text", group, key)
    except NoAnswer:
        return None


def system_serial(view):
    return _host(view, "system")


def whole(view):
    """Whether every accelerator of the node was listed: only then a part that is not there is gone."""
    return bool(view.packages) and not view.device_gaps


def same(one, other):
    """Whether two parts are one; None where it cannot be told."""
    if one.uuid and other.uuid:
        return one.uuid.casefold() == other.uuid.casefold()
    if one.serial and other.serial:
        return one.serial.casefold() == other.serial.casefold()
    return None


def differences(before, now, complete=True):
    """[Change]: parts replaced, gone or added. A part that moved to another slot is none. complete: whether now lists all there are."""
    gone = {(p.kind, p.slot): p for p in before if not any(same(p, q) for q in now if q.kind == p.kind)}
    come = {(p.kind, p.slot): p for p in now if not any(same(p, q) for q in before if q.kind == p.kind)}
    changes = []
    for key in sorted(set(gone) & set(come)):
        old, new = gone.pop(key), come.pop(key)
        if same(old, new) is False:
            changes.append(Change(*key, old, new))
    known = {kind: [p for p in before if p.kind == kind] for kind in ("accelerator", "mainboard")}
    for key, old in sorted(gone.items()):
        unclear = any(same(old, q) is None for q in now if q.kind == old.kind)
        if complete and not unclear and old.kind == "accelerator":
            changes.append(Change(*key, old, None))
    for key, new in sorted(come.items()):
        unclear = any(same(q, new) is None for q in known[new.kind])
        if known[new.kind] and not unclear:
            changes.append(Change(*key, None, new))
    return changes
