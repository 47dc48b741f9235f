# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of a node as rules see them: the sections paths.<manufacturer> of all its manufacturers together, made once a node."""

from __future__ import annotations

import marshal
import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

DATA = Path(__file__).parent.parent / "data" / "pcie.yml"
ACCELERATOR, RDMA = "accelerator", "rdma"
DOWNWARD = ("root_port", "downstream_port")
NUMBERS = (int, float)


class Hop:
    """A link between two functions: the lower one is an end or the upstream port of a switch."""

    __slots__ = ("ends", "lower", "own", "upper")

    def __init__(self, upper, lower):
        self.upper, self.lower = upper, lower
        self.ends = []  # below it
        self.own = None  # the end that it is the own link of


class Paths:
    """ends: of all kinds, each once; functions: address -> what is told of it; gaps: why a part is not known."""

    def __init__(self, parts, gaps=()):
        self.ends, self.functions, self.tools, self.gaps = [], {}, [], list(gaps)
        seen = set()
        for manufacturer, data in parts:
            self._take(data, manufacturer, seen)
        self.hops = None
        self._known = {}

    def once(self, key, derive):
        """What derive() gives, asked once for all nodes of equal paths. key: all that it depends on besides these paths."""
        if key not in self._known:
            if len(self._known) >= MOST:
                self._known.clear()
            try:
                self._known[key] = (derive(), None)
            except NoAnswer as no:
                self._known[key] = (None, (no.outcome, no.reason))  # the exception would hold the report it was raised on
        value, problem = self._known[key]
        if problem is not None:
            raise NoAnswer(*problem)
        return value

    def _take(self, data, manufacturer, seen):
        functions, ends, problems = data.get("functions"), data.get("ends"), data.get("problems")
        if functions.__class__ is dict:
            self.functions.update((address, told) for address, told in functions.items() if told.__class__ is dict)
        for end in ends if ends.__class__ is list else ():
            if end.__class__ is not dict or end.get("id").__class__ is not str or end.get("address").__class__ is not str:
                continue
            ports = end.get("ports")
            if ports.__class__ is not list or not all(port.__class__ is str for port in ports) or end["address"] in seen:
                continue
            seen.add(end["address"])
            self.ends.append(end)
        self.gaps += [clean(text) for text in problems if text.__class__ is str] if problems.__class__ is list else ["paths.%s: not understood" % manufacturer]
        self.tools.append((manufacturer, data.get("tool"), data.get("matrix")))

    def of(self, *kinds):
        return [end for end in self.ends if end.get("kind") in kinds]

    def links(self):
        """Every link of the paths once, the uppermost of a path first."""
        if self.hops is None:
            made = {}
            for end in self.ends:
                chain = [*end["ports"], end["address"]]
                for position, (upper, lower) in enumerate(zip(chain, chain[1:], strict=False)):
                    kind = self.type(upper)
                    # Without its type by its place: below a root port come pairs of a switch's upstream and downstream port.
                    if kind not in DOWNWARD if kind else position % 2:
                        continue
                    hop = made.get(lower)
                    if hop is None:
                        hop = made[lower] = Hop(upper, lower)
                    hop.ends.append(end)
                    if lower == end["address"]:
                        hop.own = end
            self.hops = list(made.values())
        return self.hops

    def type(self, address):
        settings = self.functions.get(address, {}).get("settings")
        kind = settings.get("type") if settings.__class__ is dict else None
        return kind if kind.__class__ is str else None

    def number(self, address, key):
        value = self.functions.get(address, {}).get(key)
        return value if value.__class__ in NUMBERS and 0 < value < 1e9 else None

    def capable(self, hop, key):
        """What both ends can do, None where one does not say."""
        upper, lower = self.number(hop.upper, key), self.number(hop.lower, key)
        return None if upper is None or lower is None else min(upper, lower)


_PARTS = ("ends", "functions", "matrix", "problems", "tool")
_EQUAL = {}  # equal nodes have equal paths: they are made and judged once
MOST = 256


def _made(view):
    names = [name for name in sorted(view.sections) if name.startswith("paths.")]
    gaps = [problem for problem in map(view.missing, names) if problem]
    parts = [(name.partition(".")[2], view.sections[name]["data"]) for name in names if not view.missing(name)]
    try:
        key = marshal.dumps((gaps, [(maker, [data.get(part, ...) for part in _PARTS]) for maker, data in parts]), 0)
    except ValueError:  # too deep to be written down
        return Paths(parts, gaps)
    paths = _EQUAL.get(key)
    if paths is None:
        if len(_EQUAL) >= MOST:
            _EQUAL.clear()
        paths = _EQUAL[key] = Paths(parts, gaps)
    return paths


def of(view):
    """The Paths of a node. NoAnswer where there are none."""
    paths = view.derived.get("paths")
    if paths is None:
        paths = view.derived["paths"] = _made(view)
    if not paths.tools:
        if paths.gaps:
            raise NoAnswer("unknown", paths.gaps[0])
        if not view.packages and view.device_gaps:
            gap = next((gap for gap in view.device_gaps if gap.outcome == "unknown"), view.device_gaps[0])
            raise NoAnswer(gap.outcome, gap.reason)
        raise NoAnswer("unknown", "section paths: not filed")
    if not paths.ends:
        raise NoAnswer("unknown", paths.gaps[0] if paths.gaps else "no path was read")
    return paths


def of_bare_metal(view):
    """The same, where the node is no guest: a guest has the ports that its host makes up."""
    paths = of(view)
    try:
        kind = view.section("host").text("virtualization")
    except NoAnswer as no:
        raise NoAnswer("unknown", "whether the node is a guest is not known: %s" % no.reason) from None
    if kind != "none":
        raise NoAnswer("not_applicable", "a guest (%s): its ports are made up by its host" % kind)
    return paths


def names_of(view):
    """Names of the devices as part of a key."""
    return tuple((device.id, device.manufacturer, device.name) for device in view.packages)


def shown(ends, most=6):
    """Names of ends for a sentence."""
    names = [clean(end["id"], 60) for end in ends]
    return ", ".join(names[:most]) + (" and %d more" % (len(names) - most) if len(names) > most else "")


@lru_cache(maxsize=4)
def _table(name):
    entries = data_file.load(DATA)[name]
    return [(entry, re.compile(entry.get("name", ""), re.IGNORECASE)) for entry in entries]


@lru_cache(maxsize=1024)
def entry(table, manufacturer, name=""):
    """The first line of data/pcie.yml that fits, None without one."""
    return next((line for line, pattern in _table(table) if line["manufacturer"] == manufacturer and pattern.search(name)), None)


LARGEST_MATRIX = 40  # devices and adapters of one table in a report
_OVER_PCI = ("X", "?", "PIX", "PXB", "PHB", "NODE", "SYS", "PCIE", "OK")


def matrix_fact(view):
    """{"paths": the matrix of the node as one text}: rows with ";" between, a row's id first; {} without one. Links of the tool stand over paths of PCI."""
    try:
        made = of(view)
    except NoAnswer:
        return {}
    return made.once("fact", lambda: _matrix_fact(made))


def _matrix_fact(made):
    rows = []
    for _manufacturer, tool, matrix in made.tools:
        ids, levels = _square(matrix)
        if len(ids) < 2:
            ids, levels = _square(tool)
        over, words = _square(tool)
        place = {ident: number for number, ident in enumerate(over)}
        if 1 < len(ids) <= LARGEST_MATRIX:
            places = [place.get(ident) for ident in ids]
            names = [clean(ident, 24).replace(" ", "_").replace(";", "_") for ident in ids]
            rows.append(" ".join(("", *names)))
            for name, row, own in zip(names, levels, places, strict=True):
                cells = []
                for level, other in zip(row, places, strict=True):
                    word = words[own][other] if own is not None and other is not None else level
                    cells.append(clean(level if word in _OVER_PCI else word, 12).replace(" ", "_").replace(";", "_") or "?")
                rows.append(" ".join((name, *cells)))
    return {"paths": ";".join(rows)} if rows else {}


def _square(table):
    """(ids, rows) of a square table of texts, ([], []) where it is none."""
    ids, rows = (table.get("ids"), table.get("levels")) if table.__class__ is dict else (None, None)
    if ids.__class__ is not list or rows.__class__ is not list or len(ids) != len(rows) or not all(ident.__class__ is str and ident for ident in ids):
        return [], []
    good = all(row.__class__ is list and len(row) == len(ids) and all(word.__class__ is str for word in row) for row in rows)
    return (ids, rows) if good else ([], [])
