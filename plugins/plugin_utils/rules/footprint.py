# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sections say that was written to a node or started on it, and how each of it ended. Nothing of it is trusted to have its shape."""

from __future__ import annotations

OUTCOMES = ("intended", "failed", "kept", "removed", "left", "open")
KINDS = ("lock", "file", "directory", "library", "container", "command", "stale", "driver_mode", "intent")
PARTS = ("probes.", "slicing.")
_KEYS = ("kind", "what", "outcome", "detail")
_MOST = 500
_COUNTED = ("container",)
_WORDS = {"intended": "not done, only told", "failed": "failed", "kept": "stays", "removed": "taken away again", "left": "STILL THERE"}


def ended(section):
    """[{kind, what, outcome, detail}] of one section. What never ended was left: the run was cut short."""
    entries = section.get("writes")
    if entries.__class__ is not list:
        entries = _asked(section) if "left_on" in section else []
    found = []
    for entry in entries[:_MOST]:
        if entry.__class__ is dict:
            told = {key: entry[key] if entry.get(key).__class__ is str else "" for key in _KEYS}
            told["kind"] = told["kind"] if told["kind"] in KINDS else "command"
            told["outcome"] = told["outcome"] if told["outcome"] in OUTCOMES and told["outcome"] != "open" else "left"
            found.append(told)
    return found


def _asked(section):
    """Of a section slicing.*: the driver's switch, and the note that lay there meanwhile."""
    found = []
    for one in _objects(section, "would_ask"):
        words = one.get("on")
        found.append({"kind": "driver_mode", "what": " ".join(map(str, words)) if words.__class__ is list else "", "outcome": "intended"})
    left = {one.get("accelerator"): one for one in _objects(section, "left_on") if one.get("accelerator").__class__ is str}
    commands = {row.get("accelerator"): row.get("command") for row in _objects(section, "checks") if row.get("accelerator").__class__ is str}
    asked = section.get("asked")
    for label in asked if asked.__class__ is list else ():
        if label.__class__ is not str:
            continue
        what = commands.get(label) or "the driver of %s" % label
        if label in left:
            found.append({"kind": "driver_mode", "what": what, "outcome": "left", "detail": left[label].get("reason")})
            found.append({"kind": "intent", "what": left[label].get("path"), "outcome": "left", "detail": "so that the next run tells it"})
        else:
            found.append({"kind": "driver_mode", "what": what, "outcome": "removed", "detail": "asked, and put back"})
    return found


def _objects(section, key):
    value = section.get(key)
    return [one for one in value if one.__class__ is dict] if value.__class__ is list else []


def of_node(read):
    """[(section name, its entries)] of those that wrote or started something, or would have. read: section name -> what was read."""
    found = []
    for name in sorted(read):
        if name.startswith(PARTS) and read[name].__class__ is dict:
            entries = ended(read[name])
            found += [(name, entries)] if entries else []
    return found


def told(read):
    """[one line for each thing that was written or started, or would have been]; equal kinds of containers in one line."""
    lines = []
    for name, entries in of_node(read):
        groups = {}
        for entry in entries:
            what = "" if entry["kind"] in _COUNTED else entry["what"]
            groups.setdefault((entry["kind"], what, entry["outcome"], entry["detail"] if entry["outcome"] in ("left", "failed") else ""), []).append(entry)
        for (kind, what, outcome, detail), same in groups.items():
            subject = what or "%d" % len(same)
            lines.append("%s: %s %s: %s%s" % (name, kind.replace("_", " "), subject, _WORDS[outcome], " (%s)" % detail if detail else ""))
    return lines


def lock(section):
    """{held, reason} where a run did not get the lock of its node, else None."""
    told = section.get("lock")
    if told.__class__ is not dict or told.get("state") not in ("contended", "unlockable"):
        return None
    reason = told.get("reason")
    return {"held": told["state"] == "contended", "reason": reason if reason.__class__ is str else ""}
