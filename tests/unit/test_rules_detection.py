# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is there: PCI, tool, expectation; none of them alone makes a node healthy or sick."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES

PROFILE = profiles.find("preflight")
DETECTION = ("node-answers", "no-accelerator", "accelerators-detected", "detection-agrees", "accelerator-count", "mixed-models")


def outcomes(sections, envelopes=None, **variables):
    judged = engine.judge("n1", envelopes if envelopes is not None else synthetic.envelopes(sections), policy.parse(variables), PROFILE)
    words = {}
    for rule in DETECTION:
        tally = judged.counts[rule]
        words[rule] = "+".join(word for word, number in zip(("passed", "found", "unknown", "na", "not_run"), tally) if number)
    return words, judged


def unreadable(count=8, reason="nvidia-smi: timeout after 20 s", driver="nvidia", not_installed=False):
    sections = synthetic.healthy(count)
    for entry in sections["pci"]["devices"]:
        entry["driver"] = driver
    detection = accelerators.detection("nvidia", [], read_failed=reason, pci=sections["pci"]["devices"], not_installed=not_installed)
    sections["accelerators.nvidia"] = synthetic.section([], detection=detection)
    return sections


def test_a_hanging_tool_is_unknown_everywhere_and_nothing_passed():
    words, judged = outcomes(unreadable(), accelerator_expected_count=8)
    assert words["accelerators-detected"] == words["detection-agrees"] == words["accelerator-count"] == "unknown"
    assert judged.findings == []
    for name in ("ecc-uncorrected", "links-up", "pcie-width", "device-lost"):
        assert judged.counts[name][0] == 0 and judged.counts[name][2] == 1


def test_cards_without_a_driver_are_a_finding():
    words, judged = outcomes(unreadable(reason="nvidia-smi: not installed", driver=None, not_installed=True))
    assert words["accelerators-detected"] == "found"
    assert judged.findings[0]["summary"] == "8 nvidia accelerators on PCI, and no kernel driver holds them"


def test_cards_held_by_another_driver_are_a_finding_that_names_it():
    words, judged = outcomes(unreadable(reason="nvidia-smi: no devices were found", driver="vfio-pci"))
    assert words["accelerators-detected"] == "found"
    assert judged.findings[0]["summary"] == "8 nvidia accelerators on PCI, and the driver vfio-pci holds them instead of the vendor's"
    # a driver whose link could not be read may be the vendor's
    for driver in ("nvidia", unknown("EACCES")):
        assert outcomes(unreadable(driver=driver))[0]["accelerators-detected"] == "unknown"


def test_seven_of_eight_where_pci_shows_eight():
    sections = synthetic.healthy()
    bus = sections["pci"]["devices"]
    sections["accelerators.nvidia"] = synthetic.section(sections["accelerators.nvidia"]["devices"][:7], on_bus=bus)
    words, judged = outcomes(sections, accelerator_expected_count="8")
    assert words["detection-agrees"] == "found" and "0000:8f:00.0" in judged.findings[0]["summary"]
    # what was read proves no shortage, the disagreement does
    assert words["accelerator-count"] == "unknown"


def test_seven_of_eight_where_pci_shows_seven():
    words, judged = outcomes(synthetic.healthy(7), accelerator_expected_count={"nvidia": 8})
    assert words == {
        "node-answers": "passed",
        "no-accelerator": "passed",
        "accelerators-detected": "passed",
        "detection-agrees": "passed",
        "accelerator-count": "found",
        "mixed-models": "passed",
    }
    assert judged.findings[0]["expected"] == {"value": 8, "unit": "accelerators", "origin": "site policy"}


def test_too_many_is_a_finding_too():
    assert outcomes(synthetic.healthy(8), accelerator_expected_count=4)[0]["accelerator-count"] == "found"


def test_dies_of_one_package_are_not_a_disagreement():
    sections = synthetic.healthy(4)
    bus = sections["pci"]["devices"]
    whole = [synthetic.device(i, "ascend", identity=accelerators.identity(pci=synthetic.address(2 * i))) for i in range(2)]
    dies = [
        synthetic.device(10 + i, "ascend", kind="die", parent=whole[i // 2]["id"], identity=accelerators.identity(pci=synthetic.address(i))) for i in range(4)
    ]
    for entry in bus:
        entry["manufacturer"] = "ascend"
    sections["pci"]["counts"] = {"ascend": 4}
    del sections["accelerators.nvidia"]
    block = {"state": "ok", "depth": "declared", "accelerators": 2, "detail": "", "reason": "", "host": {}}
    sections["accelerators.ascend"] = synthetic.section(whole + dies, "ascend", detection=block)
    assert outcomes(sections, accelerator_expected_count=2)[0]["detection-agrees"] == "passed"
    for entry in whole + dies:
        entry["identity"] = accelerators.identity()
    assert outcomes(sections, accelerator_expected_count=2)[0]["detection-agrees"] == "passed"


def test_a_hidden_bus_does_not_accuse_the_tool():
    sections = synthetic.healthy()
    sections["pci"]["devices"] = sections["pci"]["devices"][:1]
    assert outcomes(sections)[0]["detection-agrees"] == "unknown"


def nothing():
    sections = synthetic.healthy(0)
    sections["pci"]["counts"] = {"nvidia": 0}
    sections["accelerators.nvidia"] = synthetic.section([], on_bus=[])
    return sections


def test_no_accelerator_is_rejected_unless_none_is_expected():
    words, judged = outcomes(nothing())
    assert words["no-accelerator"] == "found" and judged.findings[0]["level"] == "fail"
    words, judged = outcomes(nothing(), accelerator_expected_count=0)
    assert words["no-accelerator"] == "na" and words["accelerator-count"] == "passed" and not judged.findings
    assert outcomes(synthetic.healthy(), accelerator_expected_count=0)[0]["accelerator-count"] == "found"


@pytest.mark.parametrize("broken", ["scan", "counts", "section"])
def test_a_bus_that_was_not_read_shows_nothing(broken):
    sections = nothing()
    del sections["accelerators.nvidia"]
    if broken == "scan":
        sections["pci"]["scan"] = {"status": "partial", "detail": "1 of 90 functions could not be read"}
    elif broken == "counts":
        sections["pci"]["counts"] = {"nvidia": unknown("class: I/O error")}
    else:
        del sections["pci"]
    words, judged = outcomes(sections)
    assert words["no-accelerator"] == "unknown" and not judged.findings


def test_a_manufacturer_without_a_reader_is_unknown():
    sections = synthetic.healthy(2)
    del sections["accelerators.nvidia"]
    for entry in sections["pci"]["devices"]:
        entry["manufacturer"] = "cambricon"
    sections["pci"]["counts"] = {"cambricon": 2}
    words, judged = outcomes(sections, accelerator_expected_count=2)
    assert words["accelerators-detected"] == words["accelerator-count"] == "unknown"
    assert judged.counts["ecc-uncorrected"][2] == 1


@pytest.mark.parametrize("status", ["unreachable", "timeout", "no_python", "failed"])
def test_a_node_without_an_answer_answers_no_rule(status):
    judged = outcomes(None, synthetic.unread("n1", status))[1]
    assert all(tally[2] == sum(tally) == 1 for rule, tally in judged.counts.items() if RULES[rule].scope not in COMPARED)
    assert {said for said, _reason in judged.prints.values()} == {"unknown"}
    assert {reason for _rule, _outcome, reason, _n in judged.gaps} == {"no answer: %s: ssh: connect to host: connection timed out" % status}


def test_a_section_that_was_not_read_is_told_by_name():
    filed = synthetic.envelopes(synthetic.healthy())
    filed["host"] = synthetic.envelope("n1", "host", {}, "timeout", "deadline of 60 s")
    judged = outcomes(None, filed)[1]
    assert judged.counts["node-answers"] == [len(filed) - 1, 0, 1, 0, 0]
    assert judged.counts["time-synchronized"] == [0, 0, 1, 0, 0]
    assert ("time-synchronized", "unknown", "section host: timeout: deadline of 60 s", 1) in judged.gaps


def test_driver_and_library():
    sections = synthetic.healthy()
    driver = sections["accelerators.nvidia"]["driver"]
    driver["library_version"] = "570.12.01"
    judged = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    assert [f["rule"] for f in judged.findings] == ["driver-library-match"]
    driver.update(library_version=unknown("x"), tool_version=unknown("x"))
    assert engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE).counts["driver-library-match"][2] == 1


def test_rows():
    sections = synthetic.healthy(1)
    row = {
        "accelerator": "nvidia:0",
        "capability": "mig-partitioning",
        "mode": "partitioned",
        "state": "unavailable",
        "depth": "declared",
        "reason": "query failed",
    }
    sections["accelerators.nvidia"]["checks"] = [row, dict(row, capability="<script>"), dict(row, state="not-declared"), dict(row, depth="dreamed")]
    judged = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    assert judged.counts["row-mig-partitioning"] == [0, 1, 1, 1, 0]
    assert judged.counts["row-other"] == [0, 1, 0, 0, 0]
    assert {f["level"] for f in judged.findings} == {"info"}
    judged = engine.judge("n1", synthetic.envelopes(sections), policy.parse({"accelerator_modes": "partitioned,sliced"}), PROFILE)
    assert {f["level"] for f in judged.findings} == {"fail"}
    assert set(judged.counts) <= set(RULES)
