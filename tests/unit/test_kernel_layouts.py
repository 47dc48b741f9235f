# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts of kernel logs that others copied, and forms of NVIDIA's messages: none is lost, and no text of another is taken for the kernel's."""

from __future__ import annotations

import json

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import kernel_catalogue

BOOT = 1764400000  # 2025-11-29T07:06:40Z
XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
STAMP = "2025-11-29T07:37:23.308Z"


def said(text):
    events = kernel_log.fold(text + "\n", BOOT)[0]
    return [(one.severity, one.code, one.places) for one in kernel_catalogue.assess(events)], events


@pytest.mark.parametrize(
    ("line", "first", "priority"),
    [
        ("node01: kern: warning: [2025-11-29T07:37:23.308145987Z]: " + XID, STAMP, 4),
        ("kern:    info: [2025-11-29T07:37:23.308145987Z]: " + XID, STAMP, 6),
        ("192.168.7.9: kern: err: [not a time, though as long]: " + XID, None, None),
        ("<3>1 2025-11-29T07:37:23.308Z node01 kernel - - - " + XID, STAMP, 3),
        ("2025-11-29T07:37:23.308145987Z stdout F [  900.5] " + XID, STAMP, None),
        (json.dumps({"log": "[ 1843.308145] " + XID + "\n", "stream": "stdout", "time": "2026-01-01T00:00:00Z"}), STAMP, None),
        ("kernel: [16450076.435595] " + XID, "no time", None),
        ("[Sat Nov 29 07:37:23] " + XID, "Sat Nov 29 07:37:23", None),
        ("[\u516d 11\u6708 29 07:37:23 2025] " + XID, "\u516d 11\u6708 29 07:37:23 2025", None),
        ("[Sa. M\u00e4r. 1 07:37:23 2025] " + XID, "Sa. M\u00e4r. 1 07:37:23 2025", None),
        ("[Nov29 07:37] " + XID, "[Nov29 07:37]", None),
        ("[  +0.000317] " + XID, "[  +0.000317]", None),
        ("11\u6708 29 07:37:23 node01 kernel: " + XID, "11\u6708 29 07:37:23", None),
        ("M\u00e4rz 29 07:37:23 node01 kernel: [99.5] " + XID, "M\u00e4rz 29 07:37:23", None),
    ],
)
def test_layouts_of_others(line, first, priority):
    told, events = said(line)
    if first is None:
        assert told == []
        return
    assert told == [("fail", "79", {"0000:9b:00.0": 1})]
    (event,) = events
    assert is_unknown(event["priority"]) if priority is None else event["priority"] == priority
    assert event["first"] == first if first == STAMP else first in event["first"]["unknown"]


@pytest.mark.parametrize(
    "line",
    [
        "[ 1843.3] usb 1-1: Product: kernel: " + XID,
        "[ 1843.3] usb 1-1: Product: kern: err: [2025-11-29T07:37:23.308145987Z]: " + XID,
        "<6>[ 1843.3] input: 1 2025-11-29T07:37:23.308Z node01 kernel - - - " + XID,
        "Nov 29 07:37:23 node01 logger[99]: kernel: " + XID,
        "11\u6708 29 07:37:23 node01 logger: " + XID,
        json.dumps({"log": json.dumps({"log": XID})}),
        json.dumps({"log": 7, "stream": "stdout"}),
        "{" * 900,
    ],
)
def test_what_the_kernel_did_not_say(line):
    assert said(line)[0] == []


@pytest.mark.parametrize(
    ("instances", "code", "level"),
    [
        (" GPU-I:05", "94", "info"),
        (" GPU-I:05 GPU-CI:00", "95", "fail"),
        (" GPU-I:02 GPU-CI:01", "43", "info"),
        ("", "94", "info"),
    ],
)
def test_a_partitioned_device_names_its_instances(instances, code, level):
    line = "[9.5] NVRM: Xid (PCI:0000:9b:00%s): %s, pid=7194, name=python3, a message" % (instances, code)
    assert said(line)[0] == [(level, code, {"0000:9b:00.0": 1})]


@pytest.mark.parametrize("rest", ["", " 7", " GPU-I:05", " GPU-I:05): "])
def test_a_line_that_was_cut_before_its_code_has_none(rest):
    assert said("[9.5] NVRM: Xid (PCI:0000:9b:00" + rest)[0] == []


@pytest.mark.parametrize(
    ("number", "level"),
    [
        ("0x1 (PF FLR)", "fail"),
        ("0x2 (OS Reboot)", "fail"),
        ("0x5 (Recover IMEX Domain)", "fail"),
        ("0x6 (Bus Reset)", "fail"),
        ("0x7 (System Reboot)", "fail"),
        ("0x0 (None)", "info"),
        ("0x2 (", "warn"),
    ],
)
def test_what_the_driver_asks_for_goes_by_its_number(number, level):
    line = "[9.5] NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to " + number
    assert said(line)[0] == [(level, "154", {"0000:9b:00.0": 1})]


def test_messages_of_the_driver_without_a_code():
    memory = "[9.5] NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."
    locked = "[9.5] NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7"
    assert [one[:2] for one in said(memory)[0]] == [("fail", "nvidia-memory-fatal")]
    assert [one[:2] for one in said(locked)[0]] == [("warn", "nvidia-watchdog")]
    assert said("[9.5] input: uvm encountered global fatal error 0x60")[0] == []
    # the code that the driver prints with it says it of the device: one fault is one event
    asked = "[9.6] NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    stopped = "[9.4] NVRM: Xid (PCI:0000:9b:00): 8, pid=7, name=x, Channel 00000010"
    assert [one[1] for one in said(memory + "\n" + asked)[0]] == ["154"]
    assert [one[1] for one in said(stopped + "\n" + locked)[0]] == ["8"]


def test_many_codes_in_one_second_stay_apart():
    lines = []
    for card in range(16):
        for code in (79, 154, 48, 63):
            rest = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)" if code == 154 else "pid='<unknown>', name=<unknown>, a message"
            lines += ["[100.000001] NVRM: Xid (PCI:0000:%02x:00): %d, %s" % (0x10 + card, code, rest)] * 3
    told = said("\n".join(lines))[0]
    counted = {}
    for _level, code, places in told:
        for place, times in places.items():
            counted[code, place] = counted.get((code, place), 0) + times
    assert set(counted.values()) == {3} and len(counted) == 64
    assert {(level, code) for level, code, _places in told} == {("fail", "79"), ("fail", "154"), ("fail", "48"), ("info", "63")}
