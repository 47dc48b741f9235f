# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run wrote is in the record, in the report and in the preflight document, and so is a lock that it did not get."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import acceptance_record, preflight_document
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, footprint, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

catalogue.load()
HEAD = {"run_id": "r1", "collection_version": "0.1.0", "profile": "acceptance", "created": None}
LOCK = "/var/lib/fleetproof/accelerator/lock"


def entry(kind, outcome, what="/x", detail=""):
    return {"kind": kind, "what": what, "outcome": outcome, "detail": detail}


WRITES = [
    entry("lock", "kept", LOCK),
    entry("container", "removed", "docker run --rm one"),
    entry("container", "removed", "docker run --rm two"),
    entry("container", "left", "docker run --rm three", "exit 1: permission denied"),
    entry("file", "removed", "/var/lib/fleetproof/accelerator/preflight-x/npu_info.config"),
    entry("library", "intended", "/opt/lib"),
]


def view(**probes):
    sections = synthetic.healthy(2)
    if probes:
        sections["probes.nvidia"] = probes
    return engine.NodeView("a", synthetic.envelopes(sections), policy.parse({}))


def test_the_record_and_the_page_list_it_with_what_was_taken_away():
    one = view(writes=WRITES)
    lines = footprint.told({"probes.nvidia": {"writes": WRITES}})
    assert lines == [
        "probes.nvidia: lock %s: stays" % LOCK,
        "probes.nvidia: container 2: taken away again",
        "probes.nvidia: container 1: STILL THERE (exit 1: permission denied)",
        "probes.nvidia: file /var/lib/fleetproof/accelerator/preflight-x/npu_info.config: taken away again",
        "probes.nvidia: library /opt/lib: not done, only told",
    ]
    record, _devices = acceptance_record.body(one, HEAD)
    assert all(line in record for line in lines)
    assert acceptance_record.facts(one)["written"] == "; ".join(lines)


def test_nothing_written_is_said_in_the_record_and_not_on_the_page():
    record, _devices = acceptance_record.body(view(), HEAD)
    assert "nothing was written to this node or started on it" in record
    assert "written" not in acceptance_record.facts(view())


@pytest.mark.parametrize("junk", [None, 7, "x", [None, 7, {"what": 7}], {}])
def test_garbage_is_no_reason_to_fail(junk):
    acceptance_record.body(view(writes=junk, lock=junk, checks=junk), HEAD)
    preflight_document.document({"probes.nvidia": {"writes": junk, "lock": junk, "checks": junk}}, ["nvidia"])


def sections(**probes):
    return dict(synthetic.healthy(2), **{"probes.nvidia": dict({"checks": [], "writes": []}, **probes)})


@pytest.mark.parametrize(("state", "note"), [("contended", "lock held"), ("unlockable", "lock failed")])
def test_a_lock_that_was_not_got_is_the_whole_answer_of_the_document(state, note):
    made = preflight_document.document(sections(lock={"state": state, "path": LOCK, "reason": "why"}), ["amd", "nvidia"])
    amd, nvidia = made["accelerators"]
    assert nvidia["note"] == preflight_document.NOTES[note] and "checks" not in nvidia
    assert nvidia["detection"] == {"state": "unavailable", "depth": "declared", "accelerators": 0, "reason": "why"}
    assert amd["detection"]["state"] == "not-declared"
    assert preflight_document.failures(made) == ["nvidia: detection: why"]


@pytest.mark.parametrize("state", ["taken", "withheld"])
def test_a_lock_that_was_got_or_not_wanted_changes_nothing(state):
    (nvidia,) = preflight_document.document(sections(lock={"state": state, "path": LOCK, "reason": ""}), ["nvidia"])["accelerators"]
    assert nvidia["detection"]["state"] == "ok"


def test_a_sweep_that_failed_concerns_every_accelerator_of_the_node():
    row = {
        "accelerator": "nvidia:0", "capability": "stale-container-sweep", "mode": "unnamed", "state": "unavailable", "depth": "declared",
        "reason": "earlier probe containers could not be cleared, results here are unsafe: docker: exit 1", "detail": "", "command": "", "evidence": "",
    }  # fmt: skip
    found = sections(checks=[row, dict(row, accelerator="nvidia:1")])
    found["accelerators.amd"] = dict(found["accelerators.nvidia"], manufacturer="amd")
    amd, nvidia = preflight_document.document(found, ["amd", "nvidia"])["accelerators"]
    for group in (amd, nvidia):
        swept = [one for one in group["checks"] if one["capability"] == "stale-container-sweep"]
        assert len(swept) == 2 and {one["reason"] for one in swept} == {row["reason"]}
        assert len({one["accelerator"] for one in swept}) == 2


@pytest.mark.parametrize(
    ("state", "outcome"), [("taken", "passed"), ("contended", "not_run"), ("unlockable", "found"), ("withheld", "not_run"), (None, "not_applicable")]
)
def test_rule_node_lock(state, outcome):
    one = view(lock={"state": state, "path": LOCK, "reason": "permission denied"}, writes=[])
    told = [answer for _subject, answer in engine.outcomes(RULES["node-lock"], one, one.policy.params("node-lock"))]
    assert [answer.outcome for answer in told] == [outcome]
    assert outcome != "found" or "no other run holds it: permission denied" in told[0].summary


def test_the_page_says_it():
    assert acceptance_record.facts(view(writes=[entry("file", "left", "<script>")]))["written"] == "probes.nvidia: file <script>: STILL THERE"
