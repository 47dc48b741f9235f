# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vendors say of versions that belong together, from data/compatibility.yml."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file, matrix
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer

DATA = Path(__file__).parent.parent / "data" / "compatibility.yml"
FACTS = {"driver": ("driver", "version"), "runtime": ("driver", "runtime_version"), "flavor": ("driver", "flavor")}
WORDS = ("flavor", "os", "cdi", "mig")  # facts that are one of some words, no versions
# Facts of other sections of the report.
BESIDE = {"os": "host", "kernel": "host", "cuda_on_disk": "software", "container_toolkit": "software", "cdi": "container_runtime"}
_COVERS = {"driver", "runtime"}  # what a line must speak of to make a combination a known one
_COVERS_BESIDE = {"driver", "os"}  # the same, of makers whose documents know no runtime besides the driver's own release


@lru_cache(maxsize=1)
def _tables():
    return {maker: _lines(lines) for maker, lines in data_file.load(DATA).items()}


def _lines(lines):
    of_runtime = any("runtime" in {*line["when"], *line["needs"]} for line in lines)
    return tuple(_line(line, _COVERS if of_runtime else _COVERS_BESIDE) for line in lines)


def _line(line, covers):
    told = dict(line, needs_text=", ".join("%s %s" % (fact, " or ".join(ranges)) for fact, ranges in line["needs"].items()))
    told["why"] = ": %s" % line["why"] if "why" in line else ""
    for part in ("when", "needs"):
        told[part] = {fact: _compiled(fact, value) for fact, value in line[part].items()}
    told["covers"] = {*line["when"], *line["needs"]} >= covers
    return told


def _compiled(fact, value):
    if fact == "model":
        return re.compile(value)
    return tuple(value) if fact in WORDS else tuple(matrix.bounds_of(text) for text in value)


def of(manufacturer):
    """The lines of a manufacturer, () where there is no data."""
    return _tables().get(manufacturer, ())


@lru_cache(maxsize=4096)
def _within(version, ranges):
    return any(matrix.in_range(version, bounds) for bounds in ranges)


def _listed(word, words):
    """Whether it is one of the words; "ol 9.6" is of "ol 9"."""
    return any(word == one or word.startswith(one + ".") for one in words)


def _fact(group, fact):
    """The text of a fact. NoAnswer: not_applicable where it does not arise, or where its section was not asked for."""
    if fact in FACTS:
        return group.text(*FACTS[fact])
    if fact == "mig":
        return _mig(group)
    if BESIDE[fact] not in group.view.sections:
        raise NoAnswer("not_applicable", "not asked for")
    section = group.view.section(BESIDE[fact])
    if fact == "os":
        return "%s %s" % (section.text("os", "id"), section.text("os", "version"))
    if fact == "kernel":
        return section.text("kernel", "release")
    if fact == "cuda_on_disk":
        return section.text("runtimes", "cuda")
    if fact == "container_toolkit":
        return section.text("toolkits", group.manufacturer)
    if any(engine.maybe("flag", "cdi", "enabled") is True for engine in section.objects("engines")):
        return "enabled"
    raise NoAnswer("not_applicable", "no engine reads CDI specifications")


def _mig(group):
    """Whether a device is divided: on or off."""
    divided = [device.maybe("flag", "partition", "enabled") for device in group.packages if device.maybe("word", "partition", "mode") == "mig"]
    return "on" if True in divided else "off"


class Facts:
    """The facts of a group of accelerators that lines ask for, each read once."""

    def __init__(self, group):
        self.group, self.manufacturer = group, group.manufacturer
        self.names = {device.name for device in group.packages}
        self._read = {}

    def get(self, fact):
        """The text, or the NoAnswer that tells why there is none."""
        if fact not in self._read:
            try:
                self._read[fact] = _fact(self.group, fact)
            except NoAnswer as no:
                self._read[fact] = no
        return self._read[fact]


def judge(line, facts):
    """(good | bad | unknown | skip, what the node has or why it is not known) of one line. facts: Facts."""
    seen = []
    for part in ("when", "needs"):
        for fact, ranges in line[part].items():
            if fact == "model":
                if not any(ranges.search(name) for name in facts.names):
                    return "skip", ""
                continue
            version = facts.get(fact)
            if version.__class__ is NoAnswer:
                if fact in BESIDE and version.outcome == "not_applicable":
                    return "skip", ""
                return "unknown", "%s: %s: %s" % (facts.manufacturer, fact, version.reason)
            seen = [*seen, "%s %s" % (fact, version)] if part == "when" or fact not in line["when"] else seen
            if _listed(version.lower(), ranges) if fact in WORDS else _within(version, ranges):
                continue
            if part == "when":
                return "skip", ""
            told = "%s, and %s is needed%s" % (" with ".join(reversed(seen)), line["needs_text"], line["why"])
            if line["outside"] == "bad":
                return "bad", told
            return "unknown", "%s: %s: not among what was tested (%s)" % (facts.manufacturer, " with ".join(reversed(seen)), line["source"])
    return "good", ""
