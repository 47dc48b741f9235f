# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole recorded nodes with Intel GPUs and with TPUs, each with one fault: the finding above info, of the card that has it, or what stays unknown."""

from __future__ import annotations

import json

import product_nodes
import pytest
import xpu_samples as xpu

MAX = "Data Center GPU Max 1550"


def judged(product, change=None, bus=None, **variables):
    """(findings above info without a cause, verdict, what the profile requires and nobody told)."""
    part, _adapters, _switches = product_nodes.part(product)
    if change:
        change(part)
    recorded = product_nodes.recording(product, part)
    if bus:
        bus(recorded["files"], part)
    told, sections = product_nodes.judged(recorded, **variables)
    above = sorted({(f["rule"], f["level"], f["subject"]["id"]) for f in told.findings if f["level"] != "info" and not f["caused_by"]})
    return above, told.verdict, sorted(rule for rule in told.profile.required if told.counts[rule][2]), sections


def says(words, text):
    """The tool answers these words otherwise."""

    def change(part):
        entries = [entry for entry in part.commands if entry["argv"][1:] == words.split()]
        assert len(entries) == 1, words
        entries[0].pop("stdout")
        entries[0].update(text if isinstance(text, dict) else {"stdout": text})

    return change


def details(**changes):
    """Of the second card."""

    def change(part):
        entry = next(entry for entry in part.commands if entry["argv"][1:] == ["discovery", "-d", "1", "-j"])
        entry["stdout"] = json.dumps(dict(json.loads(entry["stdout"]), **changes))

    return change


def settings(**changes):
    return says("config -d 0 -j", xpu.config(0, **changes))


FAULTS = {
    "nothing": (None, []),
    "an uncorrected error": (says(xpu.DUMP, xpu.dump(8, ue=1)), [("ecc-uncorrected", "fail", "intel:0")]),
    "a flood of corrected errors": (says(xpu.DUMP, xpu.dump(8, ce=30000000)), [("ecc-corrected", "warn", "intel:0")]),
    "near its limit": (says(xpu.DUMP, xpu.dump(8, heat="101.00")), [("temperature-margin", "warn", "intel:0")]),  # the outlier follows from it
    "hotter than its neighbors": (says(xpu.DUMP, xpu.dump(8, heat="61.00")), [("temperature-outlier", "warn", "intel:0")]),
    "memory over its limit": (says(xpu.DUMP, xpu.dump(8, memory_heat="96.00")), [("temperature-margin", "fail", "intel:0")]),
    "a power limit below the product's": (settings(power_limit=450), [("power-limit", "warn", "intel:0")]),
    "clocks set lower": (settings(max_frequency=1200), [("clocks-lowered", "warn", "intel:0")]),
    "ECC off": (settings(memory_ecc_current_state="disabled", memory_ecc_pending_state="disabled"), [("ecc-enabled", "warn", "intel:0")]),
    "ECC off after the next reset": (settings(memory_ecc_pending_state="disabled"), [("mode-pending", "warn", "intel:0")]),
    "memory that the tool calls critical": (says("health -l -j", xpu.health(8, memory="Critical")), [("device-health", "fail", "intel:0")]),
    "a link that the tool warns of": (says("health -l -j", xpu.health(8, xe_link_port="Warning")), [("device-health", "warn", "intel:0")]),
    "firmware in a bad state": (details(gfx_firmware_status="GPU in bad state"), [("device-health", "fail", "intel:1")]),
    "firmware of another version": (details(gfx_firmware_version="PVC2_1.20000"), [("firmware-mixed", "warn", "intel:1")]),
    "half of its memory": (details(memory_physical_size_byte=str(64 << 30)), [("product-memory", "fail", "intel:1")]),
    "another card": (details(device_name="Intel(R) Data Center GPU Max 1100"), [("mixed-models", "fail", "intel")]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_an_intel_gpu(name):
    change, expected = FAULTS[name]
    found, verdict, untold, _sections = judged(MAX, change)
    assert found == expected
    levels = {level for _rule, level, _subject in expected}
    assert verdict == ("rejected" if "fail" in levels else "accepted_with_warnings" if levels else "accepted") and untold == []


@pytest.mark.parametrize(
    ("words", "text", "untold"),
    [
        ("health -l -j", {"hang": True}, ["device-health", "ecc-uncorrected"]),  # nothing is asked after it, so no dump
        ("health -l -j", "", ["device-health"]),
        (xpu.DUMP, xpu.dump(8, gone=("ue", "ce")), ["ecc-uncorrected"]),
        (xpu.DUMP, {"denied": True}, ["ecc-uncorrected"]),
    ],
)
def test_what_xpu_smi_does_not_tell_is_never_healthy(words, text, untold):
    found, verdict, missing, _sections = judged(MAX, says(words, text))
    assert (found, missing) == ([], untold)
    assert verdict == ("incomplete" if untold else "accepted")


@pytest.mark.parametrize("text", [{"missing": True}, {"hang": True}, {"denied": True}, {"rc": 1, "stderr": "xpu-smi: cannot open"}, ""])
@pytest.mark.parametrize(("product", "words", "maker"), [(MAX, "discovery -j", "intel"), ("TPU v6e", "", "tpu")])
def test_cards_whose_tool_does_not_answer(product, words, maker, text):
    found, verdict, untold, sections = judged(product, says(words, text))
    assert (found, verdict, "accelerators-detected" in untold) == ([], "incomplete", True)
    assert "PCI shows 8" in sections["accelerators.%s" % maker]["detection"]["reason"]


@pytest.mark.parametrize(
    ("product", "driver", "certain"), [("TPU v6e", "vfio-pci", False), ("TPU v6e", None, True), (MAX, "vfio-pci", True), (MAX, "xe", False)]
)
def test_a_tpu_is_driven_in_user_space(product, driver, certain):
    """Where the tool is missing, a driver that is not the vendor's is the fault; of a TPU VFIO is the vendor's."""

    def bound(files, part):
        for path in [path for path in files if path.endswith("/driver") and path.split("/")[-2] in part.addresses]:
            files[path] = {"link": "../../../../bus/pci/drivers/" + driver} if driver else {"absent": True}

    found, _verdict, untold, _sections = judged(product, says("discovery -j" if product == MAX else "", {"missing": True}), bus=bound)
    rules = [rule for rule, _level, _subject in found]
    assert ("accelerators-detected" in rules, "accelerators-detected" in untold) == (certain, not certain)


def test_a_card_that_xpu_smi_does_not_list():
    change = says("discovery -j", xpu.listing([xpu_address(n) for n in range(7)]))
    found, verdict, _untold, _sections = judged(MAX, change)
    assert [entry for entry in found if entry[0] in ("accelerators-detected", "detection-agrees")] and verdict == "rejected"


def xpu_address(number):
    part, _adapters, _switches = product_nodes.part(MAX)
    return part.addresses[number]


def test_a_slot_that_trained_narrow():
    def narrow(files, part):
        for path in [path for path in files if path.endswith("/current_link_width") and part.addresses[2] in path]:
            files[path] = "8\n"

    found, verdict, _untold, _sections = judged(MAX, bus=narrow)
    assert ("pcie-width", "fail", "intel:2") in found and verdict == "rejected"


def idle(part):
    says("", xpu.tpu_table(len(part.addresses), use="idle"))(part)


def test_a_node_of_idle_tpus_is_accepted_while_their_links_answer():
    found, verdict, untold, sections = judged("TPU v6e", idle)
    assert (found, verdict, untold) == ([], "accepted", [])
    assert {device["processes"] for device in sections["accelerators.tpu"]["devices"]} == {0}


def test_an_idle_tpu_whose_link_does_not_answer_is_not_known_to_be_there():
    def gone(files, part):
        for path in [path for path in files if path.endswith("%s/current_link_width" % part.addresses[3])]:
            files[path] = "63\n"

    _found, verdict, untold, _sections = judged("TPU v6e", idle, bus=gone)
    assert verdict in ("incomplete", "rejected") and "device-lost" in untold


def test_a_tpu_that_tpu_info_does_not_list():
    found, verdict, _untold, _sections = judged("TPU v6e", says("", xpu.tpu_table(7)))
    assert [entry for entry in found if entry[0] in ("accelerators-detected", "detection-agrees")] and verdict == "rejected"
