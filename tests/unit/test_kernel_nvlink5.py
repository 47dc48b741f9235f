# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registers of Xid 144 to 150, and messages of a part that is not there any more."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kernel_catalogue import assess, catalog, classify

BEGIN = "[    0.000000] Linux version 6.8.0\n"


def said(text):
    return assess(kernel_log.fold(BEGIN + text, 1764400000)[0])


def registers(code, unit, word, reason, status):
    text = "NVRM: Xid (PCI:0009:01:00): %d, %s %s XC0 i0 Link 03 (0x%08x 0x%08x 0x00000000 0x00000000 0x00000000 0x00000000)"
    return classify({"sample": text % (code, unit, word, reason << 20 | 3 << 13 | 0x82, status)})


@pytest.mark.parametrize(
    ("code", "unit", "word", "reason", "status", "level", "words"),
    [
        (144, "SAW_MVB", "Fatal", 0, 0x10, "fail", "reset the GPU"),
        (144, "SAW_MVB", "Nonfatal", 0, 0x4, "info", "no action"),
        (144, "SAW_MVB", "Nonfatal", 0, 0x5, "warn", "ask the manufacturer"),  # the worse of two bits
        (145, "RLW_REMAP", "Nonfatal", 0, 0x2, "warn", "do what Xid 154 asks for"),
        (145, "RLW_TAGSTATE", "Nonfatal", 0, 0x100001, "warn", "watch the link"),  # a reset is never asked for what was not fatal
        (146, "TLW_TX_PIPE1", "Nonfatal", 0, 0x1, "info", "no action"),
        (149, "NETIR_MFDE_EVENT", "Nonfatal", 0, 0x3, "info", "no action"),
        (149, "NETIR_BER_EVENT", "Nonfatal", 0, 0x2, "warn", "watch the link"),
        (149, "NETIR_LINK_EVT", "Fatal", 10, 0, "fail", "reset the GPU"),
        (149, "NETIR_LINK_EVT", "Fatal", 38, 0, "warn", "software or a user"),
        (150, "MSE_WATCHDOG", "Fatal", 0, 0, "fail", "reset the GPU"),
        (147, "TREX_OF_TOMORROW", "Nonfatal", 0, 0x1, "warn", "watch the link"),
        (147, "TREX_OF_TOMORROW", "Fatal", 0, 0x1, "fail", "reset the GPU"),
    ],
)
def test_what_the_registers_ask_for(code, unit, word, reason, status, level, words):
    event = registers(code, unit, word, reason, status)
    assert event.severity == level
    assert words in event.action


def test_the_reason_of_a_lost_link_is_told():
    assert registers(149, "NETIR_LINK_EVT", "Fatal", 35, 0).summary.endswith("NETIR_LINK_EVT; fatal; look at the device at the other end")
    assert "signal of the link" in registers(149, "NETIR_LINK_EVT", "Fatal", 4, 0).summary


def test_every_unit_has_an_answer():
    for unit, entry in catalog().nvlink5.items():
        assert {"reset", "evaluate", "ask", "ignore", "always", "equal"} & set(entry), unit
        bits = [bit for name in ("reset", "evaluate", "ask", "ignore") for bit in entry.get(name, ())]
        assert len(bits) == len(set(bits)), unit


ATTACHED = "[ 9000.000000] pci 0000:3b:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint\n"
LOST = "[ %s.000000] NVRM: Xid (PCI:0000:%s:00): 79, GPU has fallen off the bus.\n"


def test_an_event_before_another_part_was_attached_does_not_condemn_it():
    events = said(LOST % ("5000", "3b") + ATTACHED)
    assert [(e.code, e.severity, e.action) for e in events] == [("79", "info", "no action")]
    assert events[0].summary.endswith("a part was attached there since")
    events = said(ATTACHED + LOST % ("9500", "3b"))
    assert [(e.code, e.severity) for e in events] == [("79", "fail")]


def test_the_other_places_of_the_event_stay():
    events = said(LOST % ("5000", "3b") + LOST % ("5001", "5d") + LOST % ("5002", "5d") + ATTACHED)
    assert [(e.severity, e.places, e.count) for e in events] == [("fail", {"0000:5d:00.0": 2}, 2)]
    events = said(LOST % ("5000", "3b") + ATTACHED + LOST % ("9999", "5d"))
    assert [(e.severity, e.places) for e in events] == [("fail", {"0000:5d:00.0": 1})]


@pytest.mark.parametrize("garbage", [{"last_at": 7}, {"last_at": {"0000:3b:00.0": 5}}, {"last_at": None, "last": {"unknown": "x"}}])
def test_garbage_in_the_times_of_places_raises_nothing(garbage):
    events = kernel_log.fold(BEGIN + LOST % ("5000", "3b") + ATTACHED, 1764400000)[0]
    assert len(assess([dict(event, **garbage) for event in events])) == 1
