# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fold keeps of each node: nodes of a fleet say much the same, so what they say is kept once."""

from __future__ import annotations

import marshal

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

_OWN = ("measurements", "together")  # comparisons of more than a value that nodes of a cohort mostly share


def packed(prints):
    """(bytes of what may be equal on many nodes, the rest) of a node's values for rules that compare nodes."""
    common, own = [], {}
    for name in sorted(prints):
        rule = RULES[name]
        if rule.scope == "cohort" and rule.compare not in _OWN:
            common.append((name, prints[name]))
        else:
            own[name] = prints[name]
    return marshal.dumps(common, 0), own


class Prints:
    """The values of one node: those it shares with others, and its own."""

    __slots__ = ("common", "own")

    def __init__(self, common, own):
        self.common, self.own = common, own

    def __contains__(self, name):
        return name in self.own or name in self.common

    def __getitem__(self, name):
        return self.own[name] if name in self.own else self.common[name]

    def __iter__(self):
        yield from self.common
        yield from self.own

    def items(self):
        yield from self.common.items()
        yield from self.own.items()

    def pop(self, name):
        """Of its own only."""
        return self.own.pop(name)


class Folded:
    """What is kept of a node."""

    __slots__ = ("answered", "counts", "devices", "facts", "findings", "finished", "gaps", "nature", "node", "present", "prints")

    def __init__(self, node, profile, answer, shared, unpacked):
        said, self.findings, prints, own, facts, devices, nature, self.finished, self.present, self.answered = answer
        self.node = node
        key = (id(profile), said)
        if key not in unpacked:
            tallies, gaps = marshal.loads(said)
            counts = {name: shared(tuple(tally)) for name, tally in zip(profile.asked, tallies, strict=True)}
            unpacked[key] = counts, [tuple(shared(part) for part in gap) for gap in gaps]
        counts, gaps = unpacked[key]
        self.counts, self.gaps = dict(counts), list(gaps)  # what compares nodes adds to them
        if prints not in unpacked:
            unpacked[prints] = {shared(name): shared((shared(word), shared(value))) for name, (word, value) in marshal.loads(prints)}
        self.prints = Prints(unpacked[prints], own)
        self.facts = {shared(key): shared(value) for key, value in facts.items()}
        self.devices = [{shared(key): shared(value) for key, value in device.items()} for device in devices]
        self.nature = cohorts.Nature(*nature)


def sharing():
    """Equal texts and numbers of a fleet are kept once."""
    seen = {}

    def shared(value):
        return seen.setdefault(value, value) if value.__class__ is str or value.__class__ is tuple else value

    return shared
