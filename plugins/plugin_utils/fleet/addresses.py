# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same address on two nodes of a run. Pure functions; work and memory are linear in nodes."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import Outcome, expectation, found, not_applicable, unknown

SHOWN = 4  # names and addresses in one sentence


def compare(prints):
    """[(node, Outcome)]. prints: node -> ("value", its addresses, one a line) or (outcome, reason)."""
    results = [(node, Outcome(said, value)) for node, (said, value) in prints.items() if said != "value"]
    told = {node: value.splitlines() for node, (said, value) in prints.items() if said == "value"}
    if len(prints) == 1:
        return results + [(node, not_applicable("the only node of this run")) for node in told]
    if len(told) == 1 and any(outcome.outcome == "unknown" for _node, outcome in results):
        return results + [(node, unknown("no other node of this run told its addresses")) for node in told]
    users = {}
    for node, addresses in told.items():
        for address in addresses:
            users.setdefault(address, []).append(node)
    for node, addresses in told.items():
        shared = [address for address in addresses if len(users[address]) > 1]
        others = sorted({other for address in shared for other in users[address][: SHOWN + 2] if other != node})
        if not shared:
            results.append((node, Outcome("passed")))
            continue
        more = max(len(users[address]) for address in shared) - 1
        names = ", ".join(others[:SHOWN]) + (" and more" if max(more, len(others)) > SHOWN else "")
        text = "%d of its %d addresses of accelerators are also on %s (%s)" % (len(shared), len(addresses), names, ", ".join(shared[:SHOWN]))
        results.append((node, found(text, names, expectation("on one node of the run", origin="this run"), evidence=shared[:16])))
    return results
