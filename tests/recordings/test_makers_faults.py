# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node of each class of faults of an Ascend, Cambricon, Hygon, Iluvatar, MetaX, Moore Threads or T-Head card, read and judged."""

from __future__ import annotations

import ascend_samples
import cambricon_samples
import demo
import hygon_samples
import metax_samples
import nine
import pytest
import thead_samples

HEALTH = (
    "compute-mode", "device-",
    "ecc-", "fault-", "firmware-", "hccs-", "link-", "links-", "npu-", "memory-in-use", "power-limit", "product-", "recovery-", "retired-", "row-remap-",
    "temperature-",
    "thermal-", "throttle-",
)  # fmt: skip


def found(part):
    """[(rule, level, device, causes)] above info."""
    told = demo.Judged("nine", demo.read(nine.recording(part)), {}).findings
    return sorted((f["rule"], f["level"], f["subject"]["id"], tuple(f["caused_by"])) for f in told if f["rule"].startswith(HEALTH) and f["level"] != "info")


def alarm(code):
    text = "\tHealth Status                  : Alarm\n\tError Code                     : %s\n\tError Information              : see the manual\n" % code
    return nine.ascend(2, chips=[{"health": "Alarm"}], **{"info -t health -i 0 -c 0": text})


def counted(**values):
    told = {"HBM %s" % name.replace("_", " "): value for name, value in values.items()}
    return nine.ascend(2, **{"info -t ecc -i 0": ascend_samples.ecc([(0, told)], kinds=("HBM",), waiting=0)})


ASCEND = {
    "nothing": (nine.ascend(2), []),
    "an alarm whose code asks for a reset": (alarm("80E3A203"), [("device-health", "fail", ("fault-codes",)), ("fault-codes", "fail", ())]),
    "an alarm whose code separates the NPU": (alarm("0x80E18402"), [("device-health", "fail", ("fault-codes",)), ("fault-codes", "fail", ())]),
    "an alarm of an unknown code": (alarm("DEADBEEF"), [("device-health", "fail", ()), ("fault-codes", "warn", ())]),
    "an alarm without a code": (alarm("NA"), [("device-health", "fail", ())]),
    "uncorrected errors": (counted(Double_Bit_Error_Count=1), [("ecc-uncorrected", "fail", ())]),
    "a page that waits": (
        nine.ascend(2, **{"info -t ecc -i 0": ascend_samples.ecc([(0, {})], kinds=("HBM",), waiting=1)}),
        [("retired-pages-pending", "fail", ())],
    ),
    "half of its memory": (nine.ascend(2, chips=[{"hbm": "3412 / 32768"}]), [("product-memory", "fail", ())]),
    "a slice of a card is no card with less": (nine.ascend(2, chips=[{"npu": 32768, "hbm": "0 / 8192"}]), []),
    "ECC off": (nine.ascend(2, **{"info -t ecc-enable -i 0": "\tHBM ECC-Enable Status          : False\n"}), [("ecc-enabled", "warn", ())]),
    "firmware that the driver does not accept": (
        nine.ascend(2, **{"info -t board -i 0": ascend_samples.board(0, **{"Firmware Version": "7.1.0.7.220"})}),
        [("firmware-mixed", "warn", ("firmware-range",)), ("firmware-range", "warn", ())],
    ),
    "a part of its firmware that was left behind": (nine.ascend(2, parts={0: {"imp": "7.3.0.1.231"}}), [("firmware-mixed", "warn", ())]),
    "a port without link, whose check fails": (
        nine.ascend(2, hccn={"-i 0 -link -g": "link status: DOWN\n", "-i 0 -net_health -g": "net health status: Fault\n"}),
        [("npu-port-health", "fail", ("npu-port-link",)), ("npu-port-link", "fail", ())],
    ),
    "a port that is not connected in a node without a network": (nine.ascend(2, conf="", hccn={"-i 0 -link -g": "link status: DOWN\n"}), []),
    "a port without its address": (nine.ascend(2, conf=ascend_samples.hccn_conf([1])), [("npu-port-address", "fail", ())]),
    "a tool that is not there is no failure": (nine.ascend(2, hccn={"-i 0 -link -g": {"missing": True}}), []),
    "HCCS that is not healthy": (
        nine.ascend(2, **{"info -t hccs -i 0 -c 0": ascend_samples.hccs(health="NOK", first="2")}),
        [("hccs-health", "fail", ())],
    ),
    "an HCCS link of two lanes": (
        nine.ascend(2, **{"info -t hccs -i 0 -c 0": ascend_samples.hccs(modes=(4, 4, 4, 2, 4, 4, 4))}),
        [("hccs-health", "fail", ()), ("link-speed", "warn", ("hccs-health",))],
    ),
    "errors on HCCS": (nine.ascend(2, **{"info -t hccs -i 0 -c 0": ascend_samples.hccs(errors=(0, 0, 90, 0, 0, 0, 0))}), [("link-errors", "warn", ())]),
    "firmware that the tool calls incompatible": (
        nine.ascend(2, **{"info -t board -i 0": ascend_samples.board(0, Compatibility="NOT OK")}),
        [("firmware-range", "warn", ())],
    ),
}


@pytest.mark.parametrize("name", ASCEND)
def test_a_fault_of_an_ascend_card(name):
    part, expected = ASCEND[name]
    assert found(part) == [(rule, level, "ascend:0", causes) for rule, level, causes in expected]


def test_a_card_that_is_divided_into_vnpus():
    part = nine.ascend(2)
    part.dev += ["vdavinci116", "vdavinci117"]  # of the second card
    sections = demo.read(nine.recording(part))
    assert [d["partition"]["enabled"] for d in sections["accelerators.ascend"]["devices"]] == [False, True]
    told = demo.Judged("nine", sections, {"accelerator_policy_partition_declared_on": False}).findings
    assert [(f["level"], f["subject"]["id"]) for f in told if f["rule"] == "partition-declared"] == [("warn", "ascend:1")]


def reported(section, **lines):
    """What the combined log of mx-smi tells with this section changed."""
    sections = dict(metax_samples.SECTIONS, **{section: dict(metax_samples.SECTIONS[section], **lines)})
    return nine.metax(1, **{metax_samples.COMBINED: metax_samples.log([0], sections)})


def listed(**changes):
    return nine.metax(1, **{"-j": metax_samples.document([0], **changes)})


def hot(degrees):
    sections = dict(metax_samples.SECTIONS, **{"Chip Temperature": {"hotspot(sensor2)": " %s C" % degrees}})
    return nine.metax(1, **{metax_samples.COMBINED: metax_samples.log([0], sections), "-j": metax_samples.document([0], hotspot=degrees)})


METAX = {
    "nothing": (nine.metax(1), []),
    "hot": (hot("82.00"), [("temperature-margin", "warn")]),
    "at its limit": (hot("85.00"), [("temperature-margin", "fail")]),
    "more retired pages than is tolerated": (reported("Retired Pages", **{"Double Bit ECC": "65"}), [("retired-pages", "fail")]),
    "some retired pages": (reported("Retired Pages", **{"Double Bit ECC": "4"}), [("retired-pages", "warn")]),
    "heat holds the clocks": (reported("Xcore Clocks Throttle Reason", **{"Chip Over Temperature": "Active"}), [("throttle-hardware", "fail")]),
    "ECC off": (reported("Ecc state", state="Disable"), [("ecc-enabled", "warn")]),
    "a double-bit event": (listed(pci_event_info={"dbe": [{"time": "x"}], "aer_ce": [1, 2]}), [("device-events", "warn")]),
    "corrected events": (listed(pci_event_info={"dbe": [], "aer_ce": [1, 2]}), []),
}


@pytest.mark.parametrize("name", METAX)
def test_a_fault_of_a_metax_card(name):
    part, expected = METAX[name]
    assert [(rule, level) for rule, level, _device, _causes in found(part)] == expected


def thead(**changes):
    full = {"Power Readings": dict(thead_samples.CARD["Power Readings"], **{"Enforced Power Limit": "400.00 W"})}
    return nine.thead(1, **{"-q": thead_samples.log([0], **{**full, **changes})})


def four(inactive_of_one):
    part = nine.thead(4, **{"-q": thead_samples.log(range(4))})
    text = thead_samples.links([0, 1, 3]) + thead_samples.links([2], inactive=inactive_of_one)
    for entry in part.commands:
        if entry["argv"][1:] == ["icn", "-s"]:
            entry["stdout"] = text
    return part


THEAD = {
    "nothing": ({}, []),
    "uncorrected errors": ({"ECC Errors": {"Volatile": {"DRAM Uncorrectable": "1", "DRAM Correctable": "0"}}}, [("ecc-uncorrected", "fail")]),
    "a row that waits": ({"Remapped Rows": dict(thead_samples.CARD["Remapped Rows"], Pending="Yes")}, [("row-remap-pending", "fail")]),
    "hot": ({"Temperature": dict(thead_samples.CARD["Temperature"], **{"PPU Current Temp": "86 C"})}, [("temperature-margin", "warn")]),
    "power cap lowered": (
        {"Power Readings": dict(thead_samples.CARD["Power Readings"], **{"Power Limit": "300.00 W", "Enforced Power Limit": "300.00 W"})},
        [("power-limit", "warn")],
    ),
    "a stack of memory is missing": ({"Memory Usage": {"Total": "81920 MiB", "Used": "2 MiB"}}, [("product-memory", "fail")]),
}


@pytest.mark.parametrize("name", THEAD)
def test_a_fault_of_a_thead_card(name):
    changes, expected = THEAD[name]
    assert [(rule, level) for rule, level, _device, _causes in found(thead(**changes))] == expected


def test_a_ppu_with_fewer_ports_than_its_neighbors():
    assert [f[:3] for f in found(four((1, 2))) if f[0] == "links-like-siblings"] == []
    assert [f[:3] for f in found(four((1, 2, 5))) if f[0] == "links-like-siblings"] == [("links-like-siblings", "warn", "thead:2")]


OTHERS = {
    "Cambricon": (nine.cambricon(2), []),
    "Cambricon in problem": (
        nine.cambricon(2, info=cambricon_samples.info([0], health=("Bad", "Running")) + cambricon_samples.info([1]).partition("\n")[2]),
        [("device-health", "fail", "cambricon:0")],
    ),
    "Cambricon in exclusive mode": (
        nine.cambricon(2, cards=[{"modes": "N/A           Exclusive"}]),
        [("compute-mode", "warn", "cambricon:0")],
    ),
    "Hygon": (nine.hygon(2), []),
    "Hygon that its check calls sick": (
        nine.hygon(2, **{hygon_samples.HEALTH: hygon_samples.health(2, "Unhealthy")}),
        [("device-health", "fail", "hygon:0"), ("device-health", "fail", "hygon:1")],
    ),
    "Hygon with half of its memory": (
        nine.hygon(2, **{hygon_samples.ALL: hygon_samples.cards(2, **{"vram Total Memory (MiB)": "32752"})}),
        [("product-memory", "fail", "hygon:0"), ("product-memory", "fail", "hygon:1")],
    ),
    "Iluvatar": (nine.corex(2), []),
    "Iluvatar with an uncorrected error": (nine.corex(2, cards=[{"double_bit": "1"}]), [("ecc-uncorrected", "fail", "iluvatar:0")]),
    "Iluvatar without ECC": (nine.corex(2, cards=[{"current_ecc": "Disabled"}]), [("ecc-enabled", "warn", "iluvatar:0")]),
    "Moore Threads": (nine.mthreads(1), []),
    "Moore Threads that heat slowed down": (nine.mthreads(1, **{"Thermal Slowdown Stats/Count": "4"}), [("thermal-slowdowns", "warn", "mthreads:0")]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_fault_of_another_card(name):
    part, expected = OTHERS[name]
    assert [(rule, level, device) for rule, level, device, _causes in found(part)] == expected
