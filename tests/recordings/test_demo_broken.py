# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken recordings: nothing raises, every rule answers, a fault that was found is not passed, and no loss makes a node look better."""

from __future__ import annotations

import functools

import demo
import mutations
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NODES = [node for node in demo.manifest() if node != demo.SILENT]
COMMON = {"derandomize": True, "database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
PLACE = st.floats(0, 1, allow_nan=False)
DIGITS = st.sampled_from(["0", "1", "7", "65535", "4294967295", "18446744073709551615", "00", "9" * 400, "-1"])
LOSS = st.tuples(st.integers(0, 100_000), st.integers(0, 1000), PLACE)


@functools.cache
def untouched(node):
    return demo.Judged(node, demo.read(demo.document(node)))


def hold(node, broken, words):
    """What holds for a node of which less is known than before."""
    sections = demo.read(broken)
    assert demo.misfits(sections) == [], words
    judged = demo.Judged(node, sections)
    mutations.never_better(untouched(node), judged, words)
    return judged


@settings(max_examples=160, **COMMON)
@given(node=st.sampled_from(NODES), losses=st.lists(LOSS, min_size=1, max_size=3))
def test_what_is_lost_is_never_healthy(node, losses):
    broken = demo.document(node)
    hold(node, broken, [mutations.lose(broken, *loss) for loss in losses])


@settings(max_examples=80, **COMMON)
@given(node=st.sampled_from(NODES), loss=LOSS)
def test_a_lost_command_is_never_healthy(node, loss):
    """Commands are few among the files of a recording, and say the most."""
    broken = demo.document(node)
    commands = [n for n, (kind, _key) in enumerate(mutations.targets(broken)) if kind in ("commands", "natives")]
    hold(node, broken, [mutations.lose(broken, commands[loss[0] % len(commands)], *loss[1:])])


@settings(max_examples=80, **COMMON)
@given(node=st.sampled_from(NODES), swaps=st.lists(st.tuples(st.integers(0, 100_000), PLACE, DIGITS), min_size=1, max_size=4))
def test_other_numbers_raise_nothing(node, swaps):
    broken = demo.document(node)
    words = [mutations.swap(broken, *one) for one in swaps]
    sections = demo.read(broken)
    assert demo.misfits(sections) == [], words
    judged = demo.Judged(node, sections)
    assert all(sum(judged.counts[rule]) for rule in judged.profile.asked if RULES[rule].scope not in COMPARED), words
