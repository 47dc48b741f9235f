# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lost device leaves without an answer is one reason, stays unknown, and hides no other gap."""

from __future__ import annotations

import demo
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import lost

HEALTH = {"state": "lost", "detail": "GPU is lost"}
FACTS = ("memory_mib", "ecc", "row_remap", "retired_pages", "temperature_c", "power_w", "pcie", "fabric", "links", "persistence")


def node(*, places=(3,), health=None, others=None, **policy):
    """Devices of which nothing is read any more. others: why facts of the first device were not read either."""
    sections = synthetic.healthy()
    devices = sections["accelerators.nvidia"]["devices"]
    for place in places:
        devices[place]["health"] = dict(health or HEALTH)
        devices[place].update({fact: {"unknown": "%s: GPU is lost" % fact} for fact in FACTS})
    for fact, reason in (others or {}).items():
        devices[0][fact] = {"unknown": reason}
    return demo.Judged("n1", sections, policy)


def reasons(judged, rule=None):
    return {reason for name, outcome, reason, _number in judged.gaps if outcome == "unknown" and rule in (None, name)}


def test_one_reason_for_all_that_is_not_read_of_it():
    healthy, judged = demo.Judged("n1", synthetic.healthy(), {}), node()
    assert reasons(judged) - reasons(healthy) == {lost.REASON}
    assert judged.verdict == "rejected"
    assert sum(lost.REASON in reason for reason in judged.reasons) == 1
    for rule in ("ecc-uncorrected", "row-remap-pending", "mixed-models"):
        assert judged.outcome(rule) == "unknown", "it is folded, and not forgotten"


def test_two_lost_devices_are_counted():
    judged = node(places=(3, 5))
    assert [number for name, _outcome, reason, number in judged.gaps if (name, reason) == ("row-remap-pending", lost.REASON)] == [2]


def test_what_another_device_does_not_tell_is_not_hidden():
    judged = node(others={"row_remap": "nvidia-smi: timeout", "memory_mib": "memory_mib: GPU is lost"})
    assert reasons(judged, "row-remap-pending") == {lost.REASON, "nvidia-smi: timeout"}
    # Whose reason it is does not show where a device that is there has the same.
    assert reasons(judged, "mixed-models") == {"memory_mib: GPU is lost"}


def test_a_device_that_is_sick_and_answers_folds_nothing():
    judged = node(health={"state": "failed", "detail": "broken"})
    assert lost.REASON not in reasons(judged) and reasons(judged, "row-remap-pending") == {"row_remap: GPU is lost"}


def test_without_the_finding_every_reason_stands_for_itself():
    judged = node(accelerator_policy_device_lost_enabled=False)
    assert lost.REASON not in reasons(judged) and reasons(judged, "row-remap-pending") == {"row_remap: GPU is lost"}


def test_what_a_tool_never_tells_is_not_blamed_on_the_loss():
    folding = lost.Lost([], [])
    folding.subjects.add(("package", "iluvatar:0"))
    assert folding.explains("links-up", ("package", "iluvatar:0"), "links: a timeout")
    assert not folding.explains("links-up", ("package", "iluvatar:0"), "links: ixsmi does not tell it")
