# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken recordings of all nine manufacturers: nothing raises, no loss makes a node, a row or the operator's document look better."""

from __future__ import annotations

import copy
import functools
import re

import demo
import mutations
import nine
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = sorted(nine.PARTS)
FAULTY = {
    "amd": {"kfd": {"num_xcc": 0}}, "ascend": {"chips": [{"health": "Critical"}]}, "cambricon": {"smlu": {"signal": "SIGSEGV"}},
    "hygon": {"--healthcheck": nine.hygon_samples.health(2, "Unhealthy")}, "iluvatar": {"cards": [{"double_bit": "3"}]},
    "metax": {"registry": {"error": "EACCES"}}, "mthreads": {"GPU UUID": "N/A"}, "nvidia": {"cards": [{"failed": "Yes"}]},
    "thead": {"mig": {"rc": 2, "stderr": "unknown"}, "-q": nine.thead_samples.log([0], MIG_Mode={"Current": "Enabled", "Pending": "Enabled"})},
}  # fmt: skip
COMMON = {"derandomize": True, "database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
PLACE = st.floats(0, 1, allow_nan=False)
NO_NUMBERS = ["9" * 5000, "9" * 400, "\u00b2", "1e999"]  # int() refuses the first and the third, float() the second, and the last is no finite one
DIGITS = st.sampled_from(["0", "1", "7", "65535", "4294967295", "18446744073709551615", "00", "-1", *NO_NUMBERS])
LOSS = st.tuples(st.integers(0, 100_000), st.integers(0, 1000), PLACE)
DEPTHS = ("declared", "simulated", "measured")


@functools.cache
def _recorded(name, faulty):
    return nine.recording(nine.PARTS[name](**(FAULTY[name] if faulty else {})))


def recorded(name, faulty):
    return copy.deepcopy(_recorded(name, faulty))


@functools.cache
def untouched(name, faulty):
    sections = nine.read(recorded(name, faulty))
    return demo.Judged(name, sections, {}), by_row(sections, name)


@functools.cache
def own(name, faulty, only_commands=False):
    """What belongs to the cards: the rest of the machine is broken in test_demo_mutations.py."""
    part, document = nine.PARTS[name](**(FAULTY[name] if faulty else {})), _recorded(name, faulty)
    argvs = [entry["argv"] for entry in part.commands]
    places = ("/sys/bus/pci", "/sys/devices/pci", "/sys/module", "/dev", nine.KFD, *part.files)

    def mine(kind, key):
        if kind == "commands":
            return document["commands"][key]["argv"] in argvs
        return kind == "natives" or (kind == "files" and key.startswith(places) and not only_commands)

    return [target for target in mutations.targets(document) if mine(*target)]


def by_row(sections, name):
    section = sections.get("allocation." + name) or {}
    return {(row["accelerator"], row["capability"], row["mode"]): row for row in section.get("checks", ())}


def misfits(sections):
    """Of what may differ: the machine is the same in all of them."""
    return demo.misfits({section: data for section, data in sections.items() if section.startswith(("accelerators.", "allocation."))})


def hold(name, faulty, broken, words):
    sections = nine.read(broken, asked=[name])  # also where PCI does not show the card any more
    assert misfits(sections) == [], words
    judged = demo.Judged(name, sections, {})
    before, rows = untouched(name, faulty)
    mutations.never_better(before, judged, words)
    for key, row in by_row(sections, name).items():
        assert (row["state"] == "ok") == (row["reason"] == ""), (words, row)
        old = rows.get(key)
        if old and row["state"] != "unavailable":
            assert row["state"] == old["state"] or old["state"] == "not-declared", (words, row, old)
            assert DEPTHS.index(row["depth"]) <= DEPTHS.index(old["depth"]), (words, row)
    document = preflight_document.document(sections)
    text = preflight_document.dump(document)
    assert yaml.load(text, Loader=yaml.BaseLoader)["accelerators"][NAMES.index(name)]["manufacturer"] == name
    group = document["accelerators"][NAMES.index(name)]
    assert group["detection"]["accelerators"] <= (1 if name in ("mthreads", "thead") else 2), words
    if sections["accelerators." + name]["detection"]["state"] == "unavailable":
        assert preflight_document.failures(document), words


@settings(max_examples=220, **COMMON)
@given(name=st.sampled_from(NAMES), faulty=st.booleans(), losses=st.lists(LOSS, min_size=1, max_size=3))
def test_what_is_lost_is_never_healthy(name, faulty, losses):
    broken = recorded(name, faulty)
    hold(name, faulty, broken, [mutations.lose(broken, *loss, known=own(name, faulty)) for loss in losses])


@settings(max_examples=220, **COMMON)
@given(name=st.sampled_from(NAMES), faulty=st.booleans(), loss=LOSS)
def test_a_lost_command_is_never_healthy(name, faulty, loss):
    """Commands are few among the files of a recording, and say the most."""
    broken = recorded(name, faulty)
    hold(name, faulty, broken, [mutations.lose(broken, *loss, known=own(name, faulty, True))])


@settings(max_examples=120, **COMMON)
@given(name=st.sampled_from(NAMES), swaps=st.lists(st.tuples(st.integers(0, 100_000), PLACE, DIGITS), min_size=1, max_size=4))
def test_other_numbers_raise_nothing(name, swaps):
    broken = recorded(name, False)
    words = [mutations.swap(broken, *one) for one in swaps]
    sections = nine.read(broken, asked=[name])
    assert misfits(sections) == [], words
    judged = demo.Judged(name, sections, {})
    assert all(sum(judged.counts[rule]) for rule in judged.profile.asked if RULES[rule].scope not in COMPARED), words
    for row in by_row(sections, name).values():
        assert (row["state"] == "ok") == (row["reason"] == ""), (words, row)
    yaml.safe_load(preflight_document.dump(preflight_document.document(sections)))


@pytest.mark.parametrize("name", NAMES)
def test_what_only_looks_like_a_number_raises_nothing(name):
    """Everywhere in what a tool, the driver's files and those of its software say."""
    for kind, key in own(name, False):
        entry = _recorded(name, False)[kind][key]
        text = entry if isinstance(entry, str) else entry.get("stdout") if kind == "commands" else None
        spots = list(re.finditer(r"\d+", text or "")) if kind == "commands" or not str(key).startswith("/sys/devices") else []
        for number, spot in enumerate(spots[:: len(spots) // 8 + 1]):
            changed = text[: spot.start()] + NO_NUMBERS[number % len(NO_NUMBERS)] + text[spot.end() :]
            broken = dict(_recorded(name, False))
            broken[kind] = copy.copy(broken[kind])
            broken[kind][key] = changed if isinstance(entry, str) else dict(entry, stdout=changed)
            sections = nine.read(broken, asked=[name])
            assert misfits(sections) == [], (key, spot)
            preflight_document.dump(preflight_document.document(sections))


@settings(max_examples=25, **COMMON)
@given(name=st.sampled_from(NAMES), loss=LOSS)
def test_a_manufacturer_that_fails_leaves_the_others(name, loss):
    broken = copy.deepcopy(together())
    argvs = [entry["argv"] for entry in nine.PARTS[name]().commands]
    known = [("commands", number) for number, entry in enumerate(broken["commands"]) if entry["argv"] in argvs]
    words = mutations.lose(broken, *loss, known=known)
    sections, whole = nine.read(broken), all_rows()
    for other in NAMES:
        if other != name:
            assert by_row(sections, other) == whole[other], (words, other)


@functools.cache
def together():
    return nine.recording(*nine.all_nine())


@functools.cache
def all_rows():
    sections = nine.read(together())
    return {name: by_row(sections, name) for name in NAMES}
