# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accuracy of the comparison of measurements on a simulated fleet whose truth is known.

    python tests/bench/bench_accuracy.py [--nodes 500] [--fleets 10]

For each spread of the cards' means, share of bad nodes and planted loss: precision and recall per card and per node, false alarms as
a share of healthy nodes, and beside them the best that any rule could do that knew the true mean and spread and raised as few false
alarms. Then bimodal cards, a rack that is slow as a whole, and whether repeated runs agree.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".cache" / "collections"))
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import fleet_simulator  # noqa: E402
import synthetic  # noqa: E402
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements  # noqa: E402
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import statistics as robust  # noqa: E402
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy  # noqa: E402
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES  # noqa: E402
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView  # noqa: E402


def judged(fleet):
    """(flagged cards, flagged nodes): what the rules of the cohort and of single nodes find, as a fold asks them."""
    engine.default_policy()
    rules = policy.Policy()
    packed, cards, nodes = {}, set(), set()
    for node, data in fleet.sections.items():
        devices = [synthetic.device(i) for i in range(len(data["measurements"]))]
        sections = synthetic.envelopes({"accelerators.nvidia": synthetic.section(devices), "synthetic": data})
        view = NodeView(node, sections, rules)
        packed[node] = RULES["measured-in-cohort"].check(view, rules.params("measured-in-cohort"))
        for subject, outcome in engine.outcomes(RULES["measured-in-node"], view, rules.params("measured-in-node")):
            if outcome.outcome == "found":
                nodes.add(node)
                cards.add((node, subject[1]))
    for node, outcome in measurements.compare(packed, dict.fromkeys(packed, rules.params("measured-in-cohort"))):
        if outcome.outcome == "found":
            nodes.add(node)
            kind, ident = outcome.subject
            cards.update({(node, m["subject"]["id"]) for m in fleet.sections[node]["measurements"]} if kind == "node" else {(node, ident)})
    return cards, nodes


def score(flagged, bad):
    """(precision, recall); 1 where nothing was to be flagged or found."""
    hit = len(flagged & set(bad))
    return (hit / len(flagged) if flagged else 1.0), (hit / len(bad) if bad else 1.0)


def normal(z):
    return 0.5 * math.erfc(-z / math.sqrt(2))


def quantile(share):
    return statistics.NormalDist().inv_cdf(share)


def best_recall(lost, sigma, false_alarms):
    """Of single cards: what the likelihood ratio test finds that has this rate of false alarms per card."""
    cut = quantile(min(false_alarms, 0.5))
    return normal((cut * sigma + lost) / (sigma * (1 - lost)))


def one(given, sigma, bad, lost, plant):
    rows = []
    for seed in range(given.fleets):
        fleet = fleet_simulator.simulate(given.nodes, sigma=sigma, bad=bad, lost=lost, seed=seed + 1, plant=plant, missing=0.01)
        cards, nodes = judged(fleet)
        healthy = [node for node in fleet.sections if node not in fleet.bad_nodes]
        healthy_cards = given.nodes * 8 - len(fleet.bad_cards)
        alarms = sum(node in nodes for node in healthy) / len(healthy)
        rows.append((*score(cards, fleet.bad_cards), *score(nodes, fleet.bad_nodes), alarms, len(cards - set(fleet.bad_cards)) / healthy_cards))
    return [statistics.mean(column) for column in zip(*rows, strict=True)]


def agreement(given, sigma, lost):
    """The share of verdicts of nodes that two runs over the same parts agree on."""
    shares = []
    for seed in range(given.fleets):
        first, second = (judged(fleet_simulator.simulate(given.nodes, sigma=sigma, lost=lost, seed=(seed + 1, run)))[1] for run in (1, 2))
        shares.append(1 - len(first ^ second) / given.nodes)
    return statistics.mean(shares)


def slow_rack(given, sigma=0.02, lost=0.15, size=32):
    """(share of a uniformly slow rack that its own cohort finds, share that the product's floor finds, healthy nodes that the floor finds)."""
    by_cohort, by_floor, alarms = [], [], []
    engine.default_policy()
    rules = policy.Policy()
    for seed in range(given.fleets):
        fleet = fleet_simulator.simulate(size, sigma=sigma, lost=lost, bad=1.0, plant="nodes", seed=seed + 1)
        by_cohort.append(len(judged(fleet)[1] & set(fleet.bad_nodes)) / size)
        for one, shares in ((fleet, by_floor), (fleet_simulator.simulate(size, sigma=sigma, plant="none", seed=seed + 1), alarms)):
            shares.append(sum(_below_floor(node, data, rules) for node, data in one.sections.items()) / size)
    return statistics.mean(by_cohort), statistics.mean(by_floor), statistics.mean(alarms)


def _below_floor(node, data, rules):
    devices = [synthetic.device(i) for i in range(len(data["measurements"]))]
    view = NodeView(node, synthetic.envelopes({"accelerators.nvidia": synthetic.section(devices), "synthetic": data}), rules)
    told = engine.outcomes(RULES["measured-floor"], view, rules.params("measured-floor"))
    return any(outcome.outcome == "found" for _subject, outcome in told)


def swapped_cables(given, nodes=16, rails=8, sigma=0.01):
    """(precision, recall) of the ports at both ends of swapped cables, and of one slow node and one slow rail told as such."""
    flagged, bad = set(), set()
    for seed in range(given.fleets):
        cells, planted = fleet_simulator.pairs(nodes, rails, sigma=sigma, seed=seed + 1)
        found, _usual = robust.slow_parts(cells, robust.HIGHER, least=0.1)
        flagged |= {(seed, one.kind, one.id) for one in found}
        bad |= {(seed, *one) for one in planted}
    return score(flagged, bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--fleets", type=int, default=10)
    given = parser.parse_args()
    print("%d nodes of 8 cards, %d fleets each, 1 %% of nodes missing" % (given.nodes, given.fleets))
    print("planted  spread  bad   loss   card: precision recall (best)   node: precision recall   false alarms")
    for plant in ("cards", "nodes", "bimodal"):
        for sigma in (0.02, 0.04, 0.08):
            for bad in (0.02, 0.10):
                for lost in (0.05, 0.15):
                    p, r, np, nr, alarms, rate = one(given, sigma, bad, lost, plant)
                    best = "%6.3f" % best_recall(lost, sigma, max(rate, 0.1 / (given.nodes * 8))) if plant == "cards" else "     -"
                    text = "%-8s %4.0f %% %4.0f %% %4.0f %%        %5.3f    %5.3f (%s)            %5.3f   %5.3f     %6.2f %%"
                    print(text % (plant, sigma * 100, bad * 100, lost * 100, p, r, best, np, nr, alarms * 100))
    cohort, floor, alarms = slow_rack(given)
    text = "a rack of 32 nodes that is 15 %% slow as a whole: its own cohort finds %.0f %% of it, the product's floor %.0f %%, and %.2f %% of a healthy rack"
    print(text % (cohort * 100, floor * 100, alarms * 100))
    precision, recall = swapped_cables(given)
    print("two swapped cables, a slow node and a slow rail of 16 nodes with 8 rails: precision %.3f, recall %.3f of what is named" % (precision, recall))
    for sigma in (0.02, 0.04, 0.08):
        print("repeated runs agree on %.2f %% of verdicts at a spread of %.0f %%, loss 15 %%" % (agreement(given, sigma, 0.15) * 100, sigma * 100))


if __name__ == "__main__":
    main()
