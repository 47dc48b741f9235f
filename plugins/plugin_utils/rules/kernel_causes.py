# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings may be why the kernel said something: those that read the same fault elsewhere."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import storage
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.causes import below_of
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer

_MEMORY_XIDS = ("48", "94", "95", "140", "171", "172")
_REPLACED = (
    ("row-remap-failed", "row_remap", "failed"),
    ("row-remap-pending", "row_remap", "pending"),
    ("retired-pages-pending", "retired_pages", "pending"),
)
_LOST_DATA = (("ecc-uncorrected", "ecc", "uncorrected_volatile"),)
_LINKS = (("links-up", "links", "down"),)
_LINK_XIDS = ("74", *map(str, range(144, 151)))
GONE = ("device-lost", "device-vanished")
OF_PCIE = (*GONE, "pcie-width", "pcie-path-width")
FEWER = ("accelerator-count", "no-accelerator")  # of a maker whose driver says nothing of it, an empty slot alone tells where one was
_LINK_DOWN_SXIDS = ("20034",)  # what a switch says of a link whose other end is gone, too
_DRIVERS = ("nvidia", "nvrm", "amdgpu", "davinci", "cambricon", "hycu", "iluvatar", "metax", "mthreads", "mtgpu")
_OF_DRIVE = re.compile(r"\A(nvme\d+|sd[a-z]+)(?:c\d+)?(?:n\d+)?p?\d*\Z")
_COOLING = re.compile(r"fan|temp|inlet|degrees|RPM", re.IGNORECASE)


def drive(name):
    """The drive of a namespace, partition or path of it: what befalls one befalls all of them."""
    return _OF_DRIVE.sub(r"\1", name)


def of(event, place, device, view):
    """Of the rules that a finding of this event may follow from, those that find the same: two readings of one fault."""
    if event.kind == "sxid":
        return GONE if event.code in _LINK_DOWN_SXIDS else ()
    if event.domain == "accelerator":
        return _of_accelerator(event, place, device)
    if event.domain == "lockup":
        # The line about a hung task names no driver; its trace would.
        return GONE if event.code == "hung-task" or any(word in event.sample.lower() for word in _DRIVERS) else ()
    if event.domain == "thermal":
        return ("bmc-sensors",) if _cooling(view) else ()
    if event.domain == "pcie" and event.code != "pcie-slot-down":
        return OF_PCIE if place else ()
    if not place:
        return ()  # of no device in particular: no other finding is known to be about the same
    if event.code == "pcie-slot-down":
        return (*OF_PCIE, *(() if below_of(view).get(place) else FEWER))
    if event.domain == "storage":
        return (*(("drive-health",) if _warned(view, place) else ()), *(("drive-state",) if _given_up(view, place) else ()), "kernel-pcie-errors")
    return None


def _of_accelerator(event, place, device):
    if event.role == "init":
        return ("accelerators-detected", "detection-agrees", "driver-library-match")
    if event.code == "nvidia-version-mismatch":
        return ("driver-library-match",)
    if device is None:
        return (*GONE, "detection-agrees") if place else ()
    if device.maybe("word", "health", "state") == "lost":
        return ("device-lost",)
    if event.kind != "xid":
        return ()
    if event.code in ("63", "64"):
        return _states(device, _REPLACED)[:1]
    if event.code in _MEMORY_XIDS:
        return _states(device, _LOST_DATA)
    if event.code in _LINK_XIDS:
        return (*_states(device, _LINKS), "kernel-nvswitch-errors")
    asked = event.code == "154" and device.maybe("word", "recovery_action") not in (None, "none", "no_action", "no_action_required")
    return ("recovery-action",) if asked else ()


def _states(device, states):
    """Rules whose fact is true of a device, or counts something."""
    return tuple(
        name
        for name, group, key in states
        if device.maybe("flag", group, key) or (device.maybe("number", group, key) or 0) > 0 or device.maybe("list", group, key)
    )


def _warned(view, place):
    """Whether the drive that a message names gives a critical warning itself."""
    try:
        drives = view.section("storage").objects("health")
    except NoAnswer:
        return False
    names = {drive.maybe("text", "name") or "?" for drive in drives if drive.maybe("number", "critical_warning") or drive.maybe("flag", "passed") is False}
    return any(place == name or (place.startswith(name) and not place[len(name)].isdigit()) for name in names)


def _cooling(view):
    """Whether a sensor that the BMC calls bad is of a fan or a temperature."""
    try:
        bad = view.section("hardware").objects("sensors", "bad")
    except NoAnswer:
        return False
    return any(_COOLING.search("%s %s" % (one.maybe("text", "name"), one.maybe("text", "value"))) for one in bad)


def _given_up(view, place):
    """Whether the drive that a message names is one that the kernel does not use."""
    try:
        return any(drive(name) == place for name, _state in storage.not_in_use(view))
    except NoAnswer:
        return False
