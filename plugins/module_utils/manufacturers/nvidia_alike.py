# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What equal cards tell of each other: only where a node has several."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, unknown, why

# A card in a fault calls them N/A as a whole; no card has them and lacks them beside an equal one.
_GROUPS = ("temperature_c", "pcie", "ecc", "row_remap", "fabric")


def silent(cards):
    """A group that one card calls not applicable though an equal card tells it becomes unknown: it was not read."""
    kinds = {id(card): (str(card["name"]), str(card["partition"])) for card in cards if is_known(card["name"])}
    for group in _GROUPS:
        telling = {id(c) for c in cards if is_known(c[group]) and any(is_known(v) for v in c[group].values())}
        equals = {kinds.get(number) for number in telling} - {None}
        for card in cards:
            if id(card) not in telling and kinds.get(id(card)) in equals:
                told = card[group] if is_known(card[group]) else dict.fromkeys(report.GROUPS[group], card[group])
                card[group] = {key: unknown("%s, though an equal device tells it" % why(v)) if is_not_applicable(v) else v for key, v in told.items()}
