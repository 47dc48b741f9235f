# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which findings of a node explain which others. Rules say what may follow from what (follows); here it is seen whether both are about one thing.

Two findings meet where their subject is the same, where one is about the whole node, or where one device is below both: a port of a switch
and the accelerator that hangs on it, a line of the kernel log about an address and the adapter there. An NVSwitch meets every device of NVIDIA. A pair
of devices meets what one of them meets.
"""

from __future__ import annotations

from contextlib import suppress

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LEVELS, RULES, NoAnswer

WHOLE = ("node", "manufacturer", "section")  # kinds of subject that stand for the whole node
SWITCH = "nvswitch"  # a switch of NVIDIA: all the devices of its maker hang on it, and none is below it on PCI
_OF_MAKERS = ("package", "die", "partition", "row")
_NOTHING = {}


def explain(findings, narrowed, view):
    """Fill caused_by of the findings of a node. narrowed: for each of them, those of its rule's follows that apply; None means all."""
    by_rule = {}
    for one in findings:
        by_rule.setdefault(one["rule"], []).append(one)
    below = None
    for one, only in zip(findings, narrowed, strict=True):
        for cause in RULES[one["rule"]].follows if only is None else only:
            others = by_rule.get(cause)
            if others:
                below = below_of(view) if below is None else below
                _tie(one, others, below)


def explain_last(findings):
    """The same for the last finding alone, which came from comparing nodes, and for those that follow from it."""
    last = findings[-1]
    for one in findings[:-1]:
        if one["rule"] in RULES[last["rule"]].follows:
            _tie(last, [one], _NOTHING)
        if last["rule"] in RULES[one["rule"]].follows:
            _tie(one, [last], _NOTHING)


def _tie(one, others, below):
    rule, cause = RULES[one["rule"]], RULES[others[0]["rule"]]
    if rule.scope == "cohort" and cause.scope == "cohort":
        return  # differences explain each other only where they always come together: cohorts.same_nodes
    # A failure is never explained away by something milder; of two rules that may follow from each other the graver one is the cause.
    margin = 1 if rule.id in cause.follows else 0
    if cause.id not in one["caused_by"] and any(_graver(other, one) >= margin and _meet(one["subject"], other["subject"], below) for other in others):
        one["caused_by"].append(cause.id)


def _graver(cause, effect):
    """By how many levels a finding is graver than another."""
    return LEVELS.index(cause["level"]) - LEVELS.index(effect["level"])


def _meet(one, other, below):
    ones, others = ([s] if s.__class__ is dict else s for s in (one, other))
    return any(_same(a, b, below) for a in ones for b in others)


def _same(one, other, below):
    if one["node"] != other["node"]:
        return False
    for whole, part in ((one, other), (other, one)):
        if whole["kind"] in WHOLE:
            makers = _makers(part, below)
            return whole["kind"] != "manufacturer" or makers is None or whole["id"] in makers
    if one["id"] == other["id"]:
        return True
    for switch, part in ((one, other), (other, one)):
        if switch["kind"] == SWITCH:
            return part["kind"] in _OF_MAKERS and part["id"].startswith("nvidia:")
    ones, others = below.get(one["id"]) or below.get(_slot(one)), below.get(other["id"]) or below.get(_slot(other))
    return bool(ones and others and not ones.isdisjoint(others))


def _makers(part, below):
    """Of a node with cards of two makers, a device is of one of them; None of anything else, which is about both."""
    if part["kind"] in _OF_MAKERS:
        return {ident.partition(":")[0] for ident in below.get(part["id"], (part["id"],))}
    return (part["id"],) if part["kind"] == "manufacturer" else None


def _slot(subject):
    """The device of a function, where the subject is an address."""
    return subject["id"].rpartition(".")[0] if subject["kind"] == "pci" else None


def below_of(view):
    """id of a device, adapter or PCI function -> ids of the devices and adapters at it and below it. A guest's or an unread bus tells less."""
    try:
        made = paths.of(view)
        below = dict(made.once("below", lambda: _below(made)))
    except NoAnswer:
        below = {}
    for device in view.packages:
        address, uuid = (device.maybe("text", "identity", key, "value") for key in ("pci", "uuid"))
        # A row names a device by its UUID.
        places = [uuid] if uuid else []
        if address is not None:
            places += [address, address.rpartition(".")[0]]
            with suppress(NoAnswer):
                places.append(view.pci_entry(address).text("upstream", "address"))
        for place in (device.id, *places):
            below[place] = below.get(place, frozenset()) | {device.id}
    for group in view.groups:
        for device in group.devices:
            parent = device.data.get("parent")
            if device.kind == "die" and parent.__class__ is str and device.id in below:
                below[parent] = below.get(parent, frozenset()) | below[device.id]
    return below


def _below(made):
    below = {}
    for end in made.ends:
        for place in (end["id"], end["address"], end["address"].rpartition(".")[0], *end["ports"]):
            below.setdefault(place, set()).add(end["id"])
    return {place: frozenset(ids) for place, ids in below.items()}
