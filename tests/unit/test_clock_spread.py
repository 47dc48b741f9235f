# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks of nodes against the controller's, which tells when a section was asked for and when it was filed."""

from __future__ import annotations

import time

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold

RULE = "clock-spread"
BEGAN = 1772352000  # of the run, by the controller


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGAN + seconds))


def node(ahead, took=4, change=None):
    """A node whose clock is so many seconds ahead; one section is read after the other, each within so many."""
    envelopes = synthetic.envelopes(synthetic.healthy())
    for number, envelope in enumerate(envelopes.values()):
        at = 10 * number
        envelope.update(started=utc(at), finished=utc(at + took))
        if "timestamp" in envelope["data"]:
            envelope["data"]["timestamp"] = utc(at + took // 2 + ahead)
        if change:
            change(envelope)
    return envelopes


def folded(tmp_path, nodes, policies=None):
    fleet = fold.fold(synthetic.write_run(tmp_path, nodes, policies))
    outcomes = {v["node"]: v["rules"][RULE]["outcome"] for v in fleet["verdicts"]}
    told = [(f["node"], f["level"], f["observed"], f["subject"]["kind"]) for f in fleet["findings"] if f["rule"] == RULE]
    return outcomes, told


def test_clocks_that_agree(tmp_path):
    outcomes, told = folded(tmp_path, {"a": node(0), "b": node(25), "c": node(-25)})
    assert set(outcomes.values()) == {"passed"} and told == []


@pytest.mark.parametrize(("ahead", "observed"), [(3600, 3598), (-3600, -3597), (40, 38)])
def test_a_clock_that_is_away(tmp_path, ahead, observed):
    outcomes, told = folded(tmp_path, {"a": node(0), "b": node(ahead), "c": node(1)})
    assert outcomes == {"a": "passed", "b": "found", "c": "passed"}
    assert told == [("b", "warn", observed, "node")]


def test_one_node_is_held_against_the_controller(tmp_path):
    assert folded(tmp_path, {"a": node(90)}) == ({"a": "found"}, [("a", "warn", 88, "node")])


def test_a_slow_reading_proves_less(tmp_path):
    """What lies within the call's own time is no difference."""
    assert folded(tmp_path, {"a": node(100, took=300), "b": node(0)})[1] == []


def test_the_controllers_own_clock_is_told_once(tmp_path):
    nodes = {"a": node(-598), "b": node(-600), "c": node(-602), "d": node(-900)}
    outcomes, told = folded(tmp_path, nodes)
    assert [(one[0], one[1], one[3]) for one in told] == [("d", "warn", "node"), ("a", "info", "controller")]
    assert outcomes == {"a": "found", "b": "passed", "c": "passed", "d": "found"}


def test_nodes_that_are_all_away_and_do_not_agree(tmp_path):
    outcomes, told = folded(tmp_path, {"a": node(400), "b": node(-400)})
    assert set(outcomes.values()) == {"found"} and {one[3] for one in told} == {"node"}


def test_the_limit_is_the_sites(tmp_path):
    policy = {"accelerator_policy_clock_spread_most_seconds": 5}
    assert folded(tmp_path, {"a": node(0), "b": node(25)}, {"b": policy})[0] == {"a": "passed", "b": "found"}


def test_a_recording_is_not_judged(tmp_path):
    def replayed(envelope):
        envelope["recorded"] = True

    outcomes, told = folded(tmp_path, {"a": node(0), "b": node(-9_000_000, change=replayed)})
    assert outcomes == {"a": "passed", "b": "not_applicable"} and told == []


def test_a_run_that_does_not_tell_is_unknown(tmp_path):
    def older(envelope):
        del envelope["recorded"]

    def silent(envelope):
        envelope["data"].pop("timestamp", None)

    outcomes, told = folded(tmp_path, {"a": node(9000, change=older), "b": node(0, change=silent), "c": synthetic.unread("c")})
    assert outcomes == dict.fromkeys("abc", "unknown") and told == []


def test_a_clock_that_was_set_meanwhile_is_unknown(tmp_path):
    stepped = node(0)
    stepped["settings"]["data"]["timestamp"] = utc(-5000)
    assert folded(tmp_path, {"a": stepped, "b": node(0)})[0] == {"a": "unknown", "b": "passed"}
