# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Robust statistics of measurements. Pure functions over lists of finite numbers; each knows which direction is worse.

A loss is a share of the reference by which a value is worse: 0.05 is 5 % slower, or 5 % more latency; negative is better.
"""

from __future__ import annotations

from math import exp, log
from statistics import NormalDist, median, stdev
from typing import NamedTuple

HIGHER, LOWER = "higher", "lower"
SIGMA = 1.4826  # of a normal distribution: its standard deviation in median absolute deviations


class Reference(NamedTuple):
    """What values are held against. middle: their median; spread: a standard deviation as a share of the middle; number of values."""

    middle: float
    spread: float
    number: int


def loss(value, reference, better):
    """None where the reference is not above 0: a share of it means nothing."""
    if reference <= 0:
        return None
    return (reference - value) / reference if better == HIGHER else (value - reference) / reference


def reference(values):
    """The Reference of values, None of none or of values that are not above 0. Half of them may be bad and it still stands."""
    if not values:
        return None
    middle = median(values)
    if middle <= 0:
        return None
    return Reference(middle, SIGMA * median(abs(v - middle) for v in values) / middle, len(values))


def sigmas_for(number, least, alarms=0.1):
    """Standard deviations from which a value among so many healthy ones is an outlier: a fleet raises at most `alarms` false alarms a run."""
    return max(least, -NormalDist().inv_cdf(min(alarms / max(number, 1), 0.5)))


def among_few(values):
    """The Reference of a handful of values without the one that is judged: their standard deviation, as a median of so few is luck."""
    given = reference(values)
    return given and given._replace(spread=max(given.spread, stdev(values) / given.middle) if len(values) > 1 else given.spread)


def bound(given, least, sigmas):
    """The loss from which a value is an outlier: beyond the guard band (least) and beyond so many standard deviations."""
    return max(least, sigmas * given.spread)


def quantile(ordered, share):
    """Linear between the two nearest of sorted values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def thinned(values, most=32):
    """At most so many values with the same distribution: evenly spaced quantiles, sorted."""
    ordered = sorted(values)
    return ordered if len(ordered) <= most else [quantile(ordered, i / (most - 1)) for i in range(most)]


def unsteadiness(samples):
    """The width of the middle 80 % of repeated samples as a share of their median; None of fewer than 5."""
    if len(samples) < 5:
        return None
    ordered = sorted(samples)
    middle = quantile(ordered, 0.5)
    return (quantile(ordered, 0.9) - quantile(ordered, 0.1)) / middle if middle > 0 else None


# -- distributions: the criterion of Anubis (SuperBench, USENIX ATC 2024) ---------------------------------------------------


def distance(samples, criterion, better):
    """The area between the two empirical distributions where samples are worse, as a share of the criterion's mean. Both sorted.

    0 when no quantile is worse; of a sample that is slower throughout it is the loss of its mean, and a slow tail counts alone, too.
    """
    mean = sum(criterion) / len(criterion)
    if mean <= 0:
        return None
    if len(samples) == len(criterion):
        worse = [b - a for a, b in zip(samples, criterion, strict=True)] if better == HIGHER else [a - b for a, b in zip(samples, criterion, strict=True)]
        return sum([area for area in worse if area > 0]) / len(worse) / mean
    # Both quantile functions are steps: between two neighboring marks neither changes.
    marks = sorted({i / len(samples) for i in range(1, len(samples) + 1)} | {i / len(criterion) for i in range(1, len(criterion) + 1)})
    area, last = 0.0, 0.0
    for mark in marks:
        middle = (last + mark) / 2
        one = samples[min(int(middle * len(samples)), len(samples) - 1)]
        other = criterion[min(int(middle * len(criterion)), len(criterion) - 1)]
        worse = other - one if better == HIGHER else one - other
        if worse > 0:
            area += worse * (mark - last)
        last = mark
    return area / mean


def usual(listed, better, most_loss, sigmas, number=200):
    """The sample that a fleet is held against: the criterion of at most so many, evenly chosen by their medians. None of none."""
    ordered = sorted(range(len(listed)), key=lambda i: (quantile(listed[i], 0.5), i))
    chosen = [listed[ordered[i * len(ordered) // number]] for i in range(number)] if len(ordered) > number else [listed[i] for i in ordered]
    return criterion(chosen, better, 1 - most_loss, sigmas)[0]


def criterion(listed, better, similarity=0.95, sigmas=None):
    """(sorted samples that the others are held against, positions of those that keep to it).

    The sample nearest to all others is chosen, those less similar to it than asked are left out, and so on until none is.
    sigmas: leave out only what is also that many standard deviations away, where healthy parts differ by themselves.
    """
    ordered = [sorted(samples) for samples in listed]
    kept = list(range(len(ordered)))
    while kept:
        chosen = _nearest(ordered, kept, better)
        far = {i: distance(ordered[i], ordered[chosen], better) or 0.0 for i in kept}
        most = 1 - similarity
        if sigmas is not None:
            spread = reference([median(ordered[i]) for i in kept])
            most = max(most, sigmas * spread.spread) if spread else most
        left = [i for i in kept if far[i] <= most]
        if len(left) == len(kept):
            return ordered[chosen], kept
        kept = left
    return None, []


_CANDIDATES = 25  # of a large fleet: those whose medians are nearest to the median of all; the nearest sample is among them


def _nearest(ordered, kept, better):
    """The position of the sample that is nearest to the others, in either direction."""
    middles = {i: median(ordered[i]) for i in kept}
    middle = median(middles.values())
    candidates = sorted(kept, key=lambda i: (abs(middles[i] - middle), i))[:_CANDIDATES]
    others = kept if len(kept) <= 200 else sorted(kept, key=lambda i: (middles[i], i))[:: len(kept) // 200 + 1]
    worse = LOWER if better == HIGHER else HIGHER

    def apart(i):
        return sum((distance(ordered[j], ordered[i], better) or 0.0) + (distance(ordered[j], ordered[i], worse) or 0.0) for j in others)

    return min(candidates, key=lambda i: (apart(i), i))


# -- matrices of pairs ------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """One pair: from and to are ends (node, rail); rail "" where there is one."""

    source: tuple
    target: tuple
    value: float


class Slow(NamedTuple):
    """What is slow. kind: node, rail, end (one rail of one node) or link; id: a node, a rail, (node, rail) or two such ends."""

    kind: str
    id: object
    loss: float  # median of the cells it explains
    cells: int  # slow cells it explains
    of: int  # cells it has


_CONSISTENT = 0.75  # of the cells of a thing have to be slow for it to explain them
_KINDS = ("rail", "node", "end", "link")


def slow_parts(cells, better, least=0.05, sigmas=3.5):
    """(what is slow, the Reference): each slow cell is explained once, by the largest thing whose cells are consistently slow.

    So a slow node is not told as a row and a column of slow links, and a swapped cable not as two slow nodes.
    """
    given = reference([cell.value for cell in cells])
    if given is None:
        return [], None
    limit = bound(given, least, sigmas)
    losses = [loss(cell.value, given.middle, better) for cell in cells]
    slow = {i for i, lost in enumerate(losses) if lost >= limit}
    members = _members(cells)
    found = []
    while slow:
        best = _best(members, slow, losses)
        if best is None:
            break
        found.append(best[0])
        slow -= best[1]
    return found, given


def _members(cells):
    """(kind, id) -> positions of its cells."""
    members = {}
    rails = {end[1] for cell in cells for end in (cell.source, cell.target)}
    for i, cell in enumerate(cells):
        ends = (cell.source, cell.target)
        if len(rails) > 1 and cell.source[1] == cell.target[1]:
            members.setdefault(("rail", cell.source[1]), []).append(i)
        for node in {end[0] for end in ends}:
            members.setdefault(("node", node), []).append(i)
        if len(rails) > 1:
            for end in set(ends):
                members.setdefault(("end", end), []).append(i)
        members.setdefault(("link", tuple(sorted(ends))), []).append(i)
    return members


def _best(members, slow, losses):
    """(Slow, the positions it explains) of the thing that explains most; a thing of which only a part is slow explains nothing."""
    best, rank = None, None
    for (kind, ident), positions in members.items():
        own = [i for i in positions if i in slow]
        if not own or (kind != "link" and (len(own) < 2 or len(own) < _CONSISTENT * len(positions))):
            continue
        here = (len(own), len(own) / len(positions), -_KINDS.index(kind), str(ident))
        if rank is None or here > rank:
            best, rank = (Slow(kind, ident, median(losses[i] for i in own), len(own), len(positions)), set(own)), here
    return best


def effects(cells, rounds=10):
    """Median polish of the logarithms: (overall, {source: factor}, {target: factor}); 0.9 is 10 % below the rest as that end."""
    rest = [log(cell.value) for cell in cells if cell.value > 0]
    kept = [cell for cell in cells if cell.value > 0]
    if not kept:
        return None, {}, {}
    overall, rows, columns = 0.0, {}, {}
    for _round in range(rounds):
        moved = 0.0
        for part, end in ((rows, "source"), (columns, "target")):
            groups = {}
            for i, cell in enumerate(kept):
                groups.setdefault(getattr(cell, end), []).append(i)
            for key, positions in groups.items():
                step = median(rest[i] for i in positions)
                part[key] = part.get(key, 0.0) + step
                for i in positions:
                    rest[i] -= step
                moved = max(moved, abs(step))
            middle = median(part.values())
            overall += middle
            for key in part:
                part[key] -= middle
        if moved < 1e-9:
            break
    return exp(overall), {k: exp(v) for k, v in rows.items()}, {k: exp(v) for k, v in columns.items()}
