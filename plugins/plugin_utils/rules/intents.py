# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of ours left on a node: a driver mode that it asked on and did not see put back, files or containers that it could not take away."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import footprint
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    NoAnswer,
    expectation,
    found,
    not_applicable,
    not_run,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import Facts, show

_LEFT_ON = "left ON"
_COMMANDS = ("npu-smi set -t device-share ", "cnmon set -c ")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789- ")


@rule(
    id="driver-mode-intent",
    layer=1,
    level="fail",
    title="No driver mode was left on by a run that was killed",
    reads=(),
    scope="node",
    remedy="Switch it off with the command of the finding and remove the note; whoever wants the mode on removes the note alone.",
)
def driver_mode_intent(view, p):
    outcomes = []
    for manufacturer in ("ascend", "cambricon"):
        # Asking may have settled what the plain reading found.
        for part in ("slicing.", "allocation."):
            name = part + manufacturer
            if name in view.sections and view.missing(name) is None:
                break
        else:
            if "allocation." + manufacturer in view.sections:
                outcomes.append(unknown(view.missing("allocation." + manufacturer)))
            continue
        facts = Facts(view.sections[name]["data"], name)
        try:
            outcomes += [_left(view, note) for note in facts.objects("left_over")] or [passed(("row", manufacturer))]
        except NoAnswer as gap:
            outcomes.append(unknown(gap.reason, ("row", manufacturer)))
    return outcomes or not_applicable("no driver here has a mode that is asked on")


def _left(view, note):
    accelerator = note.maybe("text", "accelerator") or "?"
    path, asked, off = (note.maybe("text", key) or "" for key in ("path", "asked", "off"))
    capability = note.maybe("text", "capability") or "a driver mode"
    subject = ("row", accelerator)
    if note.data.get("asking") is True:
        return unknown("%s of %s is being asked by a run right now" % (capability, accelerator), subject)
    for row, _accelerator, _mode in view.rows().get(capability, ()):
        if row.maybe("text", "accelerator") == accelerator and _LEFT_ON in (row.maybe("text", "detail") or ""):
            return passed(subject, {"note": path, "told_by": "row-%s" % capability})
    # The note is a file of a node: only a command of ours is taken from it.
    command = off if off.startswith(_COMMANDS) and _SAFE.issuperset(off) else ""
    failed, when = note.maybe("text", "failed"), "at %s" % asked if asked else "at an unknown time"
    return found(
        "%s of %s was asked on %s by a run that did not see it put back%s" % (capability, accelerator, when, ": %s" % show(failed, 200) if failed else ""),
        path,
        expectation("no note", origin="suite: nothing is left on silently"),
        subject=subject,
        evidence=off,
        remedy="%sand remove %s" % ("Run: %s ; " % command if command else "Switch it off ", path),
    )


@rule(
    id="left-behind",
    layer=1,
    level="warn",
    title="A run took away all that it put on the node",
    reads=(),
    scope="node",
    remedy="Remove what the finding names; the next run with probes tries it again.",
)
def left_behind(view, p):
    outcomes = []
    for name in sorted(view.sections):
        data = view.sections[name].get("data") if view.missing(name) is None else None
        if data.__class__ is not dict or data.get("writes").__class__ is not list:
            continue
        stayed = [entry for entry in footprint.ended(data) if entry["outcome"] == "left"]
        for entry in stayed[:8]:
            outcomes.append(
                found(
                    "%s %s could not be taken away: %s" % (entry["kind"], show(entry["what"], 200), show(entry["detail"] or "no reason given", 200)),
                    "left",
                    expectation("removed", origin="suite: nothing is left behind"),
                    subject=("row", name),
                )
            )
        if not stayed:
            outcomes.append(passed(("row", name)))
    return outcomes or not_applicable("nothing was written to the node")


@rule(
    id="node-lock",
    layer=3,
    level="warn",
    title="A run that starts containers can take the lock of its node",
    reads=(),
    scope="node",
    remedy="Run as root, and see that the directory of the finding belongs to root alone and lies on a file system that can be written to.",
)
def node_lock(view, p):
    outcomes = []
    for name in sorted(view.sections):
        data = view.sections[name].get("data") if name.startswith("probes.") and view.missing(name) is None else None
        if data.__class__ is not dict or data.get("lock").__class__ is not dict:
            continue
        state, lock = data["lock"].get("state"), footprint.lock(data)
        reason = show(lock["reason"] or "no reason given", 300) if lock else ""
        if state == "taken":
            outcomes.append(passed(("row", name)))
        elif lock and lock["held"]:
            outcomes.append(not_run("nothing was started: %s" % reason, ("row", name)))
        elif lock:
            expected = expectation("taken", origin="suite: two runs would sweep each other's containers")
            outcomes.append(found("The lock could not be taken, and no other run holds it: %s" % reason, state, expected, subject=("row", name)))
        elif state == "withheld":
            outcomes.append(not_run("nothing was to be started", ("row", name)))
    return outcomes or not_applicable("no run started a container here")
