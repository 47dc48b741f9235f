# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet whose truth is known: measurements of cards with planted faults, as the section a performance test would file."""

from __future__ import annotations

import random
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import statistics

METHOD = {"tool": "simulator", "version": "1", "parameters": {"shape": 8192}}
METRIC, UNIT, USUAL = "gemm-bf16", "TFLOPS", 740.0
NAME = "NVIDIA H100 80GB HBM3"


class Fleet(NamedTuple):
    sections: dict  # node -> data of its section; a node that is missing has none
    bad_cards: dict  # (node, device id) -> what was planted
    bad_nodes: dict  # node -> what was planted


def simulate(nodes=500, cards=8, sigma=0.02, bad=0.02, lost=0.15, noise=0.005, samples=10, seed=1, plant="cards", missing=0.0):
    """A Fleet. sigma: spread of the cards' own means; noise: of repeated samples of a card; bad: share of nodes with a fault.

    plant: cards (one card of a bad node is slow), nodes (all of them), bimodal (one card runs at two speeds), none.
    The cards' own means are of seed alone; repeated runs differ by the noise, for which seed may be a pair (fleet, run).
    """
    fleet_seed, run = seed if isinstance(seed, tuple) else (seed, 0)
    parts, repeats = random.Random(fleet_seed), random.Random("%s/%s" % (fleet_seed, run))
    names = ["sim-%05d" % i for i in range(nodes)]
    faulty = set(parts.sample(names, round(bad * nodes))) if plant != "none" else set()
    absent = set(parts.sample(sorted(set(names) - faulty), round(missing * nodes)))
    sections, bad_cards, bad_nodes = {}, {}, {}
    for name in names:
        which = parts.randrange(cards)
        listed = []
        for index in range(cards):
            mean = USUAL * (1 + sigma * parts.gauss(0, 1))
            slow = name in faulty and (plant == "nodes" or index == which)
            if slow:
                bad_cards[(name, "nvidia:%d" % index)] = plant
            values = []
            for position in range(samples):
                factor = 1 - lost if slow and (plant != "bimodal" or position % 5 < 2) else 1
                values.append(mean * factor * (1 + noise * repeats.gauss(0, 1)))
            listed.append(measurement("nvidia:%d" % index, values))
        if name in faulty:
            bad_nodes[name] = plant
        if name not in absent:
            sections[name] = {"timestamp": "2026-03-01T08:00:00Z", "measurements": listed}
    return Fleet(sections, bad_cards, bad_nodes)


def measurement(ident, values, metric=METRIC, unit=UNIT, better="higher", kind="package"):
    return {
        "metric": metric,
        "unit": unit,
        "better": better,
        "samples": [round(value, 4) for value in values],
        "subject": {"kind": kind, "id": ident},
        "method": METHOD,
        "conditions": {"concurrent": True},
        "validity": "valid",
        "started": "2026-03-01T08:00:00Z",
    }


def pairs(nodes=16, rails=8, sigma=0.01, seed=1, usual=390.0):
    """(cells, what is slow): all pairs of nodes on each rail. Two ports have each other's cable, so that their traffic takes the spine
    (30 % less), one node is 20 % slow on all rails, and one rail 15 % slow on all nodes."""
    chance = random.Random("pairs/%s" % seed)
    names = ["sim-%03d" % i for i in range(nodes)]
    slow_node, first, second = chance.sample(names, 3)
    numbers = ["r%d" % i for i in range(rails)]
    slow_rail, rail, other = chance.sample(numbers, 3)
    swapped = {(first, rail), (second, other)}
    cells = []
    for number in numbers:
        for a in names:
            for b in names:
                if a == b:
                    continue
                value = usual * (1 + sigma * chance.gauss(0, 1))
                value *= 0.8 if slow_node in (a, b) else 1
                value *= 0.85 if number == slow_rail else 1
                value *= 0.7 if {(a, number), (b, number)} & swapped else 1
                cells.append(statistics.Cell((a, number), (b, number), value))
    return cells, [("node", slow_node), ("rail", slow_rail), *(("end", end) for end in sorted(swapped))]
