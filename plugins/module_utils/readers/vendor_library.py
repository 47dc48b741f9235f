# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a vendor's library adds where its tool says nothing: each question of a card is a number, or an error of the library."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, not_applicable, unknown, why

SECONDS, RESERVE_SECONDS = 15, 4


class Library:
    """name: of the library, tool: what does not tell it. "TOOL does not tell it" is the word for what nothing on the node tells (data: untold)."""

    def __init__(self, host, tool, name, reader, cards):
        self.name, self.untold, self.cards, self.sources = name, "%s does not tell it" % tool, {}, []
        if host.remaining() < RESERVE_SECONDS:
            self.silent = unknown("%s: not asked: the deadline is near" % name)
            return
        answer = host.native(name, reader, timeout=SECONDS, arguments={"cards": cards})
        told = answer.value if answer.ok and isinstance(answer.value, dict) else {}
        self.sources = [build.source(answer, name)]
        if answer.status == answers.ABSENT:
            # below a mounted root no library is loaded, which is not that there is none
            absent = answer.detail.startswith("none of ")
            self.silent = unknown("%s, and %s" % (self.untold, "there is no %s" % name if absent else answer.reason))
        elif not answer.ok:
            self.silent = unknown(answer.reason)
        elif isinstance(told.get("cards"), dict):
            self.cards, self.silent = told["cards"], unknown("%s: does not name this card" % name)
        else:
            self.silent = self._failed(dict(told, unsupported=False))  # a library that does not start says nothing of the part

    def _failed(self, told, part_of_it=True):
        said = "%s: %.200s" % (self.name, told.get("said") or "not understood")
        if told.get("error") == "no function":
            return unknown("%s, and this %s has no %.80s" % (self.untold, self.name, told.get("said")))
        if told.get("unsupported") is not True:
            return unknown(said)
        return not_applicable("%s (not supported)" % said) if part_of_it else unknown("%s, nor %s" % (self.untold, said))

    def fact(self, card, place=None, flag=False, part_of_it=True):
        """A count, or whether there is any. part_of_it: what the library does not support the part does not have."""
        told = self.cards.get(card, self.silent) if isinstance(card, str) else self.silent
        if told is self.silent:
            return told
        if place is not None and isinstance(told, dict) and "error" not in told:
            told = told.get(place)
        if isinstance(told, dict):
            return self._failed(told, part_of_it)
        if told.__class__ is not int or not 0 <= told < 1 << 31:
            return unknown("%s: %s: no possible number" % (self.name, place))
        return bool(told) if flag else told

    def better(self, said, mine):
        """What the tool said, where it said anything; else mine, the library's."""
        if is_known(mine) or is_not_applicable(mine):
            return mine if is_unknown(said) else said
        return mine if is_unknown(said) and re.search(r"(?:not printed|N/A\W*)\Z", why(said)) else said

    def links(self, card, kind):
        told = self.cards.get(card, self.silent) if isinstance(card, str) else self.silent
        if told is self.silent:
            return told
        states = told.get("links") if isinstance(told, dict) and "error" not in told else told
        if isinstance(states, dict):
            return self._failed(states)
        if not isinstance(states, list) or len(states) > 256:
            return unknown("%s: links: not understood" % self.name)
        if not states:
            return not_applicable("%s: no link" % self.name)
        unclear = [number for number, state in enumerate(states) if state not in (0, 1) or state.__class__ is not int]
        down = [number for number, state in enumerate(states) if state == 0]
        if len(unclear) == len(states):
            return {"kind": kind, "total": len(states), "up": 0, "down": unclear}  # as a card that nothing was bridged to
        if unclear:
            return unknown("%s: link %s: down, and nothing tells whether it is connected" % (self.name, ", ".join(map(str, unclear))))
        return {"kind": kind, "total": len(states), "up": len(states) - len(down), "down": down}
