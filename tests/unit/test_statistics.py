# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Robust statistics: which direction is worse, what half a fleet of bad parts cannot move, and who of a matrix is slow."""

from __future__ import annotations

import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.statistics import HIGHER, LOWER, Cell, slow_parts


def test_a_loss_is_in_the_worse_direction():
    assert statistics.loss(90, 100, HIGHER) == pytest.approx(0.1)
    assert statistics.loss(110, 100, HIGHER) == pytest.approx(-0.1)
    assert statistics.loss(110, 100, LOWER) == pytest.approx(0.1)
    assert statistics.loss(1, 0, HIGHER) is None


def test_almost_half_of_bad_parts_does_not_move_the_reference():
    healthy = [100 + i % 5 - 2 for i in range(60)]
    given = statistics.reference(healthy + [40] * 50)
    assert 97 <= given.middle <= 101 and given.number == 110
    assert statistics.reference([]) is None and statistics.reference([-1, -2]) is None


def test_more_parts_ask_for_more_deviations():
    assert statistics.sigmas_for(8, 3.5) == 3.5
    assert statistics.sigmas_for(4000, 3.5) == pytest.approx(4.06, abs=0.02)


def test_quantiles_and_thinning():
    assert statistics.quantile([1, 2, 3, 4], 0.5) == 2.5 and statistics.quantile([7], 0.9) == 7
    thinned = statistics.thinned(range(1000), 32)
    assert len(thinned) == 32 and thinned[0] == 0 and thinned[-1] == 999


def test_two_speeds_are_unsteady():
    assert statistics.unsteadiness([100, 101, 99, 100, 100, 101]) < 0.03
    assert statistics.unsteadiness([100, 85, 100, 85, 100, 85]) > 0.1
    assert statistics.unsteadiness([1, 2, 3]) is None


def test_distance_of_a_slower_sample_is_its_loss_and_of_a_faster_one_nothing():
    usual = [98.0, 100.0, 102.0]
    assert statistics.distance([88.2, 90.0, 91.8], usual, HIGHER) == pytest.approx(0.1)
    assert statistics.distance([108.0, 110.0, 112.0], usual, HIGHER) == 0
    assert statistics.distance([108.0, 110.0, 112.0], usual, LOWER) == pytest.approx(0.1)
    assert statistics.distance(usual, usual, HIGHER) == 0


def test_a_slow_tail_counts_though_the_median_is_the_same():
    usual, tail = [100.0] * 10, [60.0] * 3 + [100.0] * 7
    assert statistics.distance(tail, usual, HIGHER) == pytest.approx(0.12)


def test_the_criterion_leaves_out_what_is_not_like_the_others_and_keeps_the_rest():
    random.seed(3)
    listed = [[100 + random.gauss(0, 0.5) for _time in range(12)] for _time in range(20)]
    listed[4] = [v * 0.9 for v in listed[4]]
    listed[11] = [v * (0.7 if i % 3 == 0 else 1) for i, v in enumerate(listed[11])]
    chosen, kept = statistics.criterion(listed, HIGHER)
    assert set(range(20)) - set(kept) == {4, 11} and 98 < statistics.quantile(chosen, 0.5) < 102
    assert statistics.criterion([], HIGHER) == (None, [])


def test_a_large_fleet_is_held_against_the_criterion_of_a_part_of_it():
    random.seed(9)
    listed = [sorted(100 * (1 + 0.02 * random.gauss(0, 1)) * (0.8 if i % 10 == 3 else 1) for _number in range(10)) for i in range(900)]
    chosen = statistics.usual(listed, HIGHER, 0.05, 3.5)
    assert 99 < statistics.quantile(chosen, 0.5) < 101 and statistics.usual([], HIGHER, 0.05, 3.5) is None


def test_distance_is_the_same_for_as_many_samples_and_for_others():
    random.seed(2)
    for better in (HIGHER, LOWER):
        one, other = (sorted(random.uniform(50, 150) for _number in range(12)) for _number in range(2))
        doubled = sorted(one * 2)
        assert statistics.distance(one, other, better) == pytest.approx(statistics.distance(doubled, other, better))


def test_parts_that_differ_by_themselves_are_kept_when_asked_so():
    random.seed(5)
    listed = [[100 * (1 + 0.03 * random.gauss(0, 1)) * (1 + random.gauss(0, 0.002)) for _time in range(1)] * 10 for _time in range(60)]
    assert len(statistics.criterion(listed, HIGHER)[1]) < 58
    assert len(statistics.criterion(listed, HIGHER, sigmas=4)[1]) == 60


def matrix(nodes=6, rails=2, slow=lambda source, target: 1.0, usual=48.0):
    random.seed(7)
    return [
        Cell((a, rail), (b, rail), usual * (1 + random.gauss(0, 0.005)) * slow((a, rail), (b, rail)))
        for a in "abcdefgh"[:nodes]
        for b in "abcdefgh"[:nodes]
        for rail in ("r0", "r1", "r2")[:rails]
        if a != b
    ]


@pytest.mark.parametrize(
    ("slow", "expected"),
    [
        (lambda s, t: 1.0, []),
        (lambda s, t: 0.8 if "c" in (s[0], t[0]) else 1.0, [("node", "c")]),
        (lambda s, t: 0.8 if s[1] == "r1" else 1.0, [("rail", "r1")]),
        (lambda s, t: 0.8 if ("c", "r1") in (s, t) else 1.0, [("end", ("c", "r1"))]),
        (lambda s, t: 0.8 if {s, t} == {("a", "r0"), ("d", "r0")} else 1.0, [("link", (("a", "r0"), ("d", "r0")))]),
        (
            lambda s, t: 0.8 if "b" in (s[0], t[0]) or {s, t} == {("a", "r0"), ("d", "r0")} else 1.0,
            [("node", "b"), ("link", (("a", "r0"), ("d", "r0")))],
        ),
    ],
)
def test_a_slow_node_rail_port_and_link_are_told_apart(slow, expected):
    found, given = slow_parts(matrix(rails=3, slow=slow), HIGHER)
    assert [(one.kind, one.id) for one in found] == expected
    assert 47 < given.middle < 49 and all(0.15 < one.loss < 0.25 for one in found)


def test_with_one_rail_there_is_no_rail_to_blame():
    found, _given = slow_parts(matrix(rails=1, slow=lambda s, t: 0.8 if "c" in (s[0], t[0]) else 1.0), HIGHER)
    assert [(one.kind, one.id) for one in found] == [("node", "c")]
    assert slow_parts([], HIGHER) == ([], None)


def test_higher_latency_is_slow():
    found, _given = slow_parts(matrix(slow=lambda s, t: 1.4 if "c" in (s[0], t[0]) else 1.0), LOWER)
    assert [(one.kind, one.id) for one in found] == [("node", "c")]


def test_effects_of_ends_are_taken_apart():
    overall, sources, targets = statistics.effects(list(matrix(rails=1, slow=lambda s, t: (0.9 if s[0] == "a" else 1) * (0.8 if t[0] == "e" else 1))))
    assert overall == pytest.approx(48, rel=0.02)
    assert sources[("a", "r0")] == pytest.approx(0.9, abs=0.02) and targets[("e", "r0")] == pytest.approx(0.8, abs=0.02)
    assert all(abs(v - 1) < 0.02 for k, v in sources.items() if k != ("a", "r0"))
