# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that only some manufacturers' readers ask for (docs/node-report.md, Device)."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, not_applicable, unknown

_WORST = ("found", "unknown", "passed", "not_applicable")


def part(device, group, key=None):
    """A group of a device, or a key in it. Where the reader does not ask for it the question does not arise: not_applicable."""
    block = device.data.get(group)
    if key is not None and block.__class__ is dict:
        value = block.get(key)
        if value is not None and (value.__class__ is not dict or len(value) > 1):
            return value
    if block is None or (key is not None and block.__class__ is dict and key not in block and not ({"unknown", "not_applicable"} & set(block))):
        raise NoAnswer("not_applicable", "%s: not asked of %s" % (".".join(filter(None, (group, key))), device.manufacturer))
    return device.fact(group) if key is None else device.fact(group, key)


def numbers(device, group, key):
    """{name: number} of a group's object; NoAnswer when none of them is known."""
    values = part(device, group, key)
    if values.__class__ is not dict:
        raise NoAnswer("unknown", "%s.%s: not an object" % (group, key))
    known = {name: value for name, value in values.items() if value.__class__ in (int, float)}
    if not known:
        raise NoAnswer("unknown", "%s.%s: no number in it" % (group, key))
    return known


def extra(device, key):
    """A fact that a manufacturer alone has. NoAnswer where its tool told nothing."""
    values = device.data.get("extra")
    if values.__class__ is not dict or values.get(key) is None:
        raise NoAnswer("not_applicable", "%s: not told of this part" % key.replace("_", " "))
    return device.fact("extra", key)


def graver(reason, no):
    """Of two reasons for no answer the one to tell: what is unknown before what does not arise. reason: None at first."""
    return no if reason is None or no.outcome == "unknown" else reason


def worst(things, judge):
    """The worst of what judge(thing) says of parts of a device: found, unknown, passed, not applicable. None of no part."""
    outcomes = []
    for thing in things:
        try:
            outcomes.append(judge(thing))
        except NoAnswer as no:
            outcomes.append((unknown if no.outcome == "unknown" else not_applicable)(no.reason))
    return min(outcomes, key=lambda outcome: _WORST.index(outcome.outcome), default=None)
