# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the clocks of nodes are from the controller's, and so from each other. Pure functions; work and memory are linear in nodes.

A section was read between two times of the controller, and carries one of the node. So the node's clock is away by at least what lies
outside of that time, and by how much more is not known.
"""

from __future__ import annotations

from statistics import median

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome, expectation, found
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.when import epoch

_ROUNDED = 1  # seconds: times are told without fractions


def of(view):
    """Least and most seconds by which the node's clock is ahead of the controller's, as text. NoAnswer where it is not known."""
    least, most, replayed = [], [], False
    for name, envelope in view.sections.items():
        if view.missing(name) is not None:
            continue
        replayed = replayed or envelope.get("recorded") is True
        began, ended, at = (epoch(text) for text in (envelope.get("started"), envelope.get("finished"), envelope["data"].get("timestamp")))
        if envelope.get("recorded") is False and None not in (began, ended, at):
            least.append(at - ended)
            most.append(at + _ROUNDED - began)
    if not least:
        raise NoAnswer(*(("not_applicable", "read from a recording") if replayed else ("unknown", "no section tells when it was read by both clocks")))
    if max(least) > min(most):
        raise NoAnswer("unknown", "the node's clock or the controller's was set while the node was read")
    return "%d %d" % (max(least), min(most))


def compare(rule, prints, params):
    """[(node, Outcome)]. prints: node -> ("value", what of() gave) or (outcome, reason); params: node -> parameters of the rule."""
    results = [(node, Outcome(said, value)) for node, (said, value) in prints.items() if said != "value"]
    told = {node: tuple(map(int, value.split())) for node, (said, value) in prints.items() if said == "value"}
    away = {node: _away(span, 0) for node, span in told.items()}
    # Nobody agrees with the controller: it is the one that is wrong, and the nodes are held against each other.
    alone = len(told) > 1 and all(abs(away[node]) > params[node].most_seconds for node in told)
    base = int(median(away.values())) if alone else 0
    agree = [node for node in told if abs(_away(told[node], base)) <= params[node].most_seconds]
    if alone and 2 * len(agree) <= len(told):
        base, agree = 0, []
    blamed = min(agree) if base and agree else None
    for node, span in told.items():
        seconds = _away(span, base)
        if abs(seconds) > params[node].most_seconds:
            other = "the other nodes'" if base else "the controller's"
            text = "Its clock is %d s or more %s %s" % (abs(seconds), "ahead of" if seconds > 0 else "behind", other)
            results.append((node, found(text, seconds, params[node].expected("most_seconds"))))
        elif node == blamed:
            text = "The controller's clock is %d s or more %s those of all %d nodes that tell" % (abs(base), "behind" if base > 0 else "ahead of", len(told))
            wanted, remedy = expectation(params[node].most_seconds, "s", "this run"), "Synchronize the clock of the controller; it is told once, at one node."
            results.append((node, found(text, -base, wanted, level="info", subject=("controller", "controller"), remedy=remedy)))
        else:
            results.append((node, Outcome("passed")))
    return results


def _away(span, base):
    """Seconds by which a clock is at least ahead (or behind: below 0) of one that is ahead by base."""
    least, most = span
    return max(least - base, 0) + min(most - base, 0)
