# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was said since an earlier reading; parts that were attached later."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log, kernel_ring

BOOT = 1764400000  # 2025-11-29T07:06:40Z
BEGIN = "[    0.000000] node07 kernel: Linux version 6.8.0\n"
FIRST = "[  120.250000] node07 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=a, DBE\n"
SECOND = "[  990.125000] node07 kernel: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"


def read(text, since=None, argv=None, **more):
    commands = [{"argv": argv or kernel_log.JOURNAL, "rc": 0, "stdout": text}, *more.get("commands", ())]
    recording = {
        "schema": "fleetproof.accelerator/recording/v1", "recorded": "2025-11-30T07:06:40Z", "host": {"boot_time": BOOT}, "files": {}, "commands": commands,
    }  # fmt: skip
    return kernel_log.collect(ReplayHost(recording), since=since)


def codes(section):
    return [code for event in section["events"] for code in event["codes"]]


def test_only_what_was_said_since_is_told():
    earlier = read(BEGIN + FIRST)
    assert codes(earlier) == ["48"]
    later = read(BEGIN + FIRST + SECOND, earlier["cursor"])
    assert (codes(later), later["lines"], later["since"]) == (["79"], 1, earlier["cursor"])
    assert (later["covers_from"], later["status"], later["reason"]) == ("2025-11-29T07:08:40.250Z", "ok", "")
    again = read(BEGIN + FIRST + SECOND, later["cursor"])
    assert (codes(again), again["lines"], again["status"], again["cursor"]) == ([], 0, "ok", later["cursor"])


def test_a_cursor_of_the_journal_is_known_to_dmesg():
    cursor = read(BEGIN + FIRST)["cursor"]
    ring = (BEGIN + FIRST + SECOND).replace(" node07 kernel:", "").replace("[", "<3>[")
    missing = {"argv": kernel_log.JOURNAL, "missing": True}
    section = read(ring, cursor, kernel_ring.DMESG_RAW, commands=[missing])
    assert (section["source"], codes(section), section["since"]) == ("dmesg", ["79"], cursor)


@pytest.mark.parametrize(
    "cursor",
    [
        "120.250000/00000000",  # another boot said something else in that microsecond
        "119.000000/12345678",
        "99999.500000/12345678",
        "boot", "", "120.25", "[/", None, 7,
    ],
)  # fmt: skip
def test_another_boot_is_read_from_its_begin(cursor):
    section = read(BEGIN + FIRST + SECOND, cursor)
    assert (codes(section), section["since"], section["status"]) == (["48", "79"], "boot", "ok")


def test_a_log_that_lost_its_begin_is_whole_behind_the_cursor():
    cursor = read(BEGIN + FIRST)["cursor"]
    assert read(FIRST + SECOND)["status"] == "partial"
    assert read(FIRST + SECOND, cursor)["status"] == "ok"
    gone = read(SECOND, cursor)
    assert (gone["status"], gone["since"]) == ("partial", "boot")
    assert gone["reason"].startswith("the log begins 990 seconds after boot")


def test_without_a_time_there_is_no_cursor():
    assert read("NVRM: Xid (PCI:0000:3b:00): 48, DBE\n")["cursor"] == {"unknown": "the log tells no time since boot"}


def test_a_function_found_at_boot_is_not_attached():
    line = "[ %12.6f] node07 kernel: pci 0000:5d:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint\n"
    assert read(BEGIN + line % 2.5)["events"] == []
    event = read(BEGIN + line % 86400.5)["events"][0]
    assert (event["places"], event["last"]) == ({"0000:5d:00.0": 1}, "2025-11-30T07:06:40.500Z")


def test_the_last_time_of_each_place():
    text = "".join("[ %d.000000] NVRM: Xid (PCI:0000:%s:00): 95, Uncontained\n" % pair for pair in ((200, "3b"), (300, "5d"), (400, "3b")))
    event = read(BEGIN + text)["events"][0]
    assert event["last_at"] == {"0000:3b:00.0": "2025-11-29T07:13:20.000Z", "0000:5d:00.0": "2025-11-29T07:11:40.000Z"}
    assert "last_at" not in read(BEGIN + FIRST)["events"][0]


def test_registers_of_nvlink_5_stay_apart_and_links_do_not():
    line = "[ %d.000000] NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP %s XC0 i0 Link %02d (0x%08x 0x%08x 0x0 0x0 0x0 0x0)\n"
    said = [
        (200, "Nonfatal", 1, 0x00002C82, 1),
        (201, "Nonfatal", 2, 0x00004C82, 1),
        (202, "Nonfatal", 2, 0x00004C82, 0x100),
        (203, "Nonfatal", 2, 0x00404C82, 1),
    ]
    events = read(BEGIN + "".join(line % one for one in said))["events"]
    assert [event["count"] for event in events] == [2, 1, 1]
