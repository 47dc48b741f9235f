# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a report as outcomes: one rule per capability that a row may speak of.

The names are those of the operator's preflight document. A row of a name that is not known here belongs to row-other:
a node never names a rule.
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    expectation,
    found,
    not_applicable,
    not_run,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

CAPABILITIES = {
    "container-device": "A container sees the accelerator it is given and no other",
    "mig-partitioning": "The driver offers partitions",
    "container-share": "The driver lets containers share a device",
    "cu-mask-topology": "Compute units can be divided",
    "smlu-mode": "The driver offers logical slices (sMLU)",
    "sgpu-mode": "The driver offers logical slices (sGPU)",
    "sliced-runtime-loaded": "A sliced container loads the vendor's runtime",
    "sliced-quota-in-force": "A slice's memory quota is in force",
    "sidecar-visibility": "A sidecar sees its neighbor's device",
    "co-tenancy": "Two slices share a device",
    "ascend-docker-runtime": "The Ascend container runtime is set up",
    "hccl-ranktable": "The rank table of HCCL can be built",
    "preflight-panicked": "The preflight reader ended in order",
    "stale-container-sweep": "No container of an earlier run was left",
}
OTHER = "other"
_REMEDY = "See the row's reason and command; a mode that no work uses is only information (accelerator_modes names those in use)."
_NO_ROW = not_applicable("no such row in the report")
_DEPTH = ("declared", "simulated", "measured")


_PANIC = "preflight-panicked"
_OWN = (_PANIC, "stale-container-sweep", OTHER)  # of the run itself, not of a manufacturer
_ASKED_OF = {
    "mig-partitioning": ("nvidia", "thead"), "container-share": ("ascend",), "cu-mask-topology": ("amd",), "smlu-mode": ("cambricon",),
    "sgpu-mode": ("metax",), "ascend-docker-runtime": ("ascend",), "hccl-ranktable": ("ascend",),
}  # fmt: skip
_LEFT_ON = "left ON"  # allocation/ask.py: a driver mode that could not be put back
_DEVICE, _PROBED = "container-device", ("amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead")
_NOT_TAKEN = "a step that was told and not taken: no container was started"
_NOT_STARTED = "it could not be started"  # allocation/probe_judge.py


def _check(capability):
    def rows(view, p):
        known = view.rows()
        if capability == OTHER:
            outcomes = [_outcome(row, name, view.policy.modes) for name in sorted(known) if name not in CAPABILITIES for row in known[name]]
        else:
            outcomes = [_outcome(row, capability, view.policy.modes) for row in known.get(capability, ())]
        if capability == _DEVICE:
            outcomes += _not_probed(view)
        if capability == _PANIC:
            outcomes += _panicked(view)
        if capability not in _OWN:
            outcomes += _unanswered(view, _ASKED_OF.get(capability))
        return outcomes or _NO_ROW

    return rows


def _not_probed(view):
    """Only a container shows what a container sees; nothing else answers for one."""
    groups = [group for group in view.groups if group.packages and group.manufacturer in _PROBED and "probes.%s" % group.manufacturer not in view.sections]
    return [not_run("%s: no probe container was started: accelerator_probe is off" % group.manufacturer) for group in groups]


def _panicked(view):
    """A manufacturer's module that crashed or hung leaves a section with the reason, and its accelerators unanswered."""
    outcomes = []
    for name in sorted(view.sections):
        part, _dot, manufacturer = name.partition(".")
        envelope, group = view.sections[name], view.group(manufacturer)
        if part not in ("allocation", "slicing", "probes") or envelope.get("status") not in ("failed", "timeout") or group is None:
            continue
        why = "%s of %s ended without an answer, nothing was established: %s" % (part, manufacturer, show(envelope.get("reason") or "no reason given", 200))
        outcomes += [_fault("unnamed", _PANIC, why, ("row", device.id), view.policy.modes) for device in group.packages]
    return outcomes


def _unread(view):
    return [group for group in view.groups if group.state == "unavailable"]


def _unanswered(view, manufacturers):
    """Where the accelerators could not be read, no row was made: that is not known, and not nothing."""
    groups = [group for group in view.once(_unread) if manufacturers is None or group.manufacturer in manufacturers]
    return [unknown("%s: not asked, for detection is unavailable: %s" % (group.manufacturer, group.reason)) for group in groups]


def _said(row, key):
    """Whether a row has a text there: commands are long, and only a fault shows them."""
    value = row.data.get(key)
    return value.__class__ is str and bool(value.strip())


def _outcome(entry, name, modes):
    row, accelerator, mode = entry
    subject, mode = ("row", accelerator or "?"), mode or "unnamed"
    state, depth = row.maybe("text", "state"), row.maybe("text", "depth")
    if depth not in _DEPTH:
        return unknown("depth not understood: %s" % (depth or "none"), subject)
    if state == "ok":
        detail = row.data.get("detail")
        refused = depth == "simulated" and detail.__class__ is str and detail.startswith(_NOT_STARTED)
        told = _said(row, "command") and not _said(row, "evidence")  # a step that was not taken
        if (refused or told) and modes and mode not in modes:
            return not_applicable("mode %s is not in use here, and no container was started" % mode, subject)
        # What the step is stands in the row; equal reasons of many rows and nodes are told once.
        return unknown(row.maybe("text", "detail"), subject) if refused else not_run(_NOT_TAKEN, subject) if told else passed(subject, {"depth": depth})
    detail = row.maybe("text", "detail")
    reason = row.maybe("text", "reason") or detail or "no reason given"
    if state == "not-declared":
        return not_applicable(reason, subject)
    if state == "not-run":
        return not_run(reason, subject)
    if state != "unavailable":
        return unknown("state not understood: %s" % (state or "none"), subject)
    command, evidence = row.maybe("text", "command"), row.maybe("text", "evidence")
    left_on = _LEFT_ON in (detail or "")
    return _fault(mode, name, "%s: %s" % (detail, reason) if left_on else reason, subject, modes, evidence or command, left_on, command)


def _fault(mode, name, reason, subject, modes, evidence=None, left_on=False, command=None):
    used = mode in modes
    return found(
        "%s is unavailable (mode %s%s): %s" % (name or "a row without a name", mode, "" if used else ", not in use here", reason),
        "unavailable",
        expectation("ok", origin="site policy" if used else "suite: operator preflight"),
        level="fail" if used or left_on else "info",
        subject=subject,
        evidence=evidence,
        remedy="Switch it off: %s" % command if left_on and command else "",
    )


# No container has a device that is gone, or one whose driver, fabric or engine does not work.
_WITHOUT = ("device-lost", "device-vanished", "driver-library-match", "fabric-manager", "fabric-state", "runtime-serves-kubelet", "runtime-handler")

for _name, _title in [*list(CAPABILITIES.items()), (OTHER, "Rows of other capabilities")]:
    _follows = () if _name in _OWN else _WITHOUT
    rule(id="row-%s" % _name, layer=3, level="fail", title=_title, reads=(), scope="node", remedy=_REMEDY, follows=_follows)(_check(_name))
