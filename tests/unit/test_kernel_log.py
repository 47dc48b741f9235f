# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of the kernel log: layouts, times, folding, bounds, and every way in which there is no log."""

from __future__ import annotations

import json

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log, kernel_rest, kernel_ring

BOOT = 1764400000  # 2025-11-29T07:06:40Z
XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=4711, name=python, GPU has fallen off the bus."


def host(commands, **files):
    recording = {
        "schema": "fleetproof.accelerator/recording/v1",
        "recorded": "2025-11-30T07:06:40Z",
        "host": {"boot_time": BOOT},
        "commands": commands,
        "files": files.get("files", {}),
    }
    return ReplayHost(recording)


def journal(text, **entry):
    return dict({"argv": kernel_log.JOURNAL, "rc": 0, "stdout": text}, **entry)


def dmesg(text="", argv=None, **entry):
    return dict({"argv": argv or kernel_ring.DMESG_RAW, "rc": 0, "stdout": text}, **entry)


def only(text, boot_time=BOOT):
    events = kernel_log.fold(text, boot_time)[0]
    assert len(events) == 1, events
    return events[0]


LAYOUTS = [
    # (line, first, priority)
    ("[ 1843.308145] " + XID, "2025-11-29T07:37:23.308Z", None),
    ("[1843.3] " + XID, "2025-11-29T07:37:23.300Z", None),
    ("<4>[ 1843.308145] " + XID, "2025-11-29T07:37:23.308Z", 4),
    ("[ 1843.308145][  T812] " + XID, "2025-11-29T07:37:23.308Z", None),
    ("[ 1843.308145] node01 kernel: " + XID, "2025-11-29T07:37:23.308Z", None),
    ("3,77,1843308145,-;" + XID, "2025-11-29T07:37:23.308Z", 3),
    ("27,77,1843308145,-,caller=T1;" + XID, "2025-11-29T07:37:23.308Z", 3),
    ("kern  :err   : [ 1843.308145] " + XID, "2025-11-29T07:37:23.308Z", 3),
    ("kern  :warn  : 2025-11-29T08:37:23,308145+01:00 " + XID, "2025-11-29T07:37:23.308Z", 4),
    ("2025-11-29T07:37:23.308145+00:00 node01 kernel: " + XID, "2025-11-29T07:37:23.308Z", None),
    ("2025-11-29T07:37:23Z node01 kernel: [99.5] " + XID, "2025-11-29T07:37:23.000Z", None),
    ("1764401843.308145 node01 kernel: " + XID, "2025-11-29T07:37:23.308Z", None),
    ("[Sat Nov 29 07:37:23 2025] " + XID, "local time without a zone: Sat Nov 29 07:37:23 2025", None),
    ("[2025-11-29 07:37:23.3][1843.308145] " + XID, "2025-11-29T07:37:23.308Z", None),
    ("2025-11-29T07:37:23 node01 kernel: " + XID, "local time without a zone: 2025-11-29T07:37:23", None),
    ("Nov 29 07:37:23 node01 kernel: " + XID, "a time without a year: Nov 29 07:37:23", None),
    ("Nov 29 07:37:23 node01 kernel: [ 1843.308145] " + XID, "a time without a year: Nov 29 07:37:23", None),
    ("    " + XID, "the line carries no time", None),
    ("kernel: " + XID, "the line carries no time", None),
    (" 1843.308145] " + XID, "2025-11-29T07:37:23.308Z", None),
]


@pytest.mark.parametrize(("line", "first", "priority"), LAYOUTS)
def test_every_layout(line, first, priority):
    event = only(line)
    assert event["sample"] == XID
    assert event["first"] == (first if first.endswith("Z") else {"unknown": first})
    assert event["priority"] == (priority if priority is not None else {"unknown": "not told by this log"})
    assert event["codes"] == ["79"]
    assert event["addresses"] == ["0000:9b:00.0"]
    assert event["template"] == "NVRM: Xid (PCI:<pci>): 79, pid=*, name=*, GPU has fallen off the bus."


def test_journal_json():
    line = {"MESSAGE": XID, "PRIORITY": "3", "__REALTIME_TIMESTAMP": "1764401843308145"}
    event = only(json.dumps(line))
    assert (event["sample"], event["priority"], event["first"]) == (XID, 3, "2025-11-29T07:37:23.308Z")
    line["MESSAGE"] = [*XID.encode(), 255, 999, "x"]
    assert only(json.dumps(line))["sample"].startswith(XID)


def test_an_uptime_of_years_and_a_new_year():
    event = only("[94608000.5] " + XID)
    assert event["first"] == "2028-11-28T07:06:40.500Z"
    assert only("[9999999999.5] " + XID, 1e15)["first"]["unknown"].startswith("not a time")


def test_without_a_boot_time_seconds_stay_seconds():
    assert only("[12.5] " + XID, None)["first"] == {"unknown": "12.500 seconds after boot; the boot time is not known"}


def test_equal_lines_are_one_event():
    lines = ["[%d.5] NVRM: Xid (PCI:0000:9b:00): 95, pid=%d, name=p%d, Uncontained: 0x%x" % (n, n, n, n) for n in range(1000, 3000)]
    event = only("\n".join(lines))
    assert event["count"] == 2000
    assert (event["first"], event["last"]) == ("2025-11-29T07:23:20.500Z", "2025-11-29T07:56:39.500Z")
    event = only("\n".join("[%d.5] %s" % (n, XID) for n in range(800000)))
    assert event["count"] == 800000
    assert event["places"] == {"0000:9b:00.0": 800000}


def test_devices_codes_and_modules_stay_apart():
    text = "\n".join("NVRM: Xid (PCI:0000:%02x:00): %d" % (bus, code) for bus in (0x1A, 0x1A, 0x2B) for code in (13, 79))
    events = kernel_log.fold(text, BOOT)[0]
    assert [(e["codes"], e["count"], e["places"]) for e in events] == [
        (["13"], 3, {"0000:1a:00.0": 2, "0000:2b:00.0": 1}),
        (["79"], 3, {"0000:1a:00.0": 2, "0000:2b:00.0": 1}),
    ]
    text = "EDAC MC0: 3 CE memory read error on CPU_SrcID#0_Ch#%d_DIMM#0 (channel:%d)\n"
    events = kernel_log.fold(text % (1, 1) + text % (1, 7) + text % (2, 1), BOOT)[0]
    assert [e["amount"] for e in events] == [{"sum": 6, "largest": 3}, {"sum": 3, "largest": 3}]


def test_a_message_over_several_lines_is_one():
    text = (
        "[   10.500000] NVRM: The NVIDIA GPU 0000:5e:00.0\n"
        "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
        "[   11.000000] usb 1-1: new device\n"
    )
    event = only(text)
    assert event["addresses"] == ["0000:5e:00.0"]
    assert event["sample"].endswith("has NVRM: fallen off the bus and is not responding to commands.")
    assert only("3,77,10500000,-;" + XID + "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:9b:00.0")["sample"] == XID
    assert only("<4>[ 10.5] NVRM: The NVIDIA GPU 0000:5e:00.0\\x0a has fallen off the bus")["addresses"] == ["0000:5e:00.0"]


def test_a_port_tells_of_the_device_behind_it():
    event = only("[5.5] pcieport 0000:40:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:41:00.0")
    assert event["places"] == {"0000:41:00.0": 1}


def test_quiet_boots_stay_small():
    text = "\n".join(
        [
            "[    0.000000] Linux version 6.8.0",
            "[    1.100000] pci 0000:9b:00.0: [10de:2330] type 00 class 0x030200",
            "[    2.100000] nvme nvme0: 64/0/0 default/read/poll queues",
            "[    3.100000] mlx5_core 0000:1a:00.0: firmware version: 28.39.1002",
            "[    4.100000] amdgpu 0000:05:00.0: amdgpu: SRAM ECC is active.",
            "[    5.100000] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
        ]
    )
    events, lines, dropped, first = kernel_log.fold(text, BOOT)
    assert (events, lines, dropped, first.since) == ([], 6, 0, 0.0)


def test_too_many_kinds_are_counted_as_dropped():
    words = ["%s%s" % (a, b) for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"]
    events, lines, dropped, _first = kernel_log.fold("\n".join("[1.5] EDAC MC: error of the kind %s" % w for w in words), BOOT)
    assert (len(events), lines, dropped) == (kernel_log.TEMPLATES, 676, 676 - kernel_log.TEMPLATES)


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "\n\n",
        "\x00\x01NVRM: Xid (PCI:\x00",
        "[" * 5000 + "xid",
        "{" + XID,
        '{"MESSAGE": null, "PRIORITY": []} xid',
        "[99999999999999999999.5] " + XID,
        "<999999999>" + XID,
        "NVRM: Xid (PCI:0000:01:00): 154 (",
        "xid ((((((((((((((((((((((((((((((((((((((((: 5",
        "process 1 (" * 500 + "out of memory",
        "EDAC on " + "a " * 4000 + "edac ",
        "0x" * 3000 + " xid " + "ff:" * 3000,
        "\ud800 xid \udfff",
        "2025-99-99T99:99:99+00:00 host kernel: " + XID,
    ],
)
def test_garbage_never_raises_and_stays_json(garbage):
    events = kernel_log.fold(garbage, BOOT)[0]
    json.dumps(events)
    for event in events:
        assert len(event["template"]) <= 240
        assert len(event["sample"]) <= 500


def test_section_from_the_journal():
    text = "-- Logs begin at Mon 2025-01-01 00:00:00 UTC. --\n[    0.000000] node01 kernel: Linux version 6.8.0\n[ 1843.308145] node01 kernel: %s\n" % XID
    section = kernel_log.collect(host([journal(text)]))
    assert section["source"] == "journalctl -k"
    assert (section["status"], section["reason"], section["lines"], section["dropped"]) == ("ok", "", 2, 0)
    assert (section["timestamp"], section["boot_time"]) == ("2025-11-30T07:06:40Z", "2025-11-29T07:06:40Z")
    assert section["covers_from"] == "2025-11-29T07:06:40.000Z"
    assert [e["codes"] for e in section["events"]] == [["79"]]


@pytest.mark.parametrize(
    "nothing",
    [
        {"argv": kernel_log.JOURNAL, "missing": True},
        journal("", rc=1, stderr="Unknown output 'short-monotonic'."),
        journal("-- No entries --\n", stderr="Hint: You are currently not seeing messages from other users and the system."),
        {"argv": kernel_log.JOURNAL, "hang": True},
    ],
)
def test_dmesg_answers_where_the_journal_does_not(nothing):
    section = kernel_log.collect(host([nothing, dmesg("<6>[    0.000000] Linux version 6.8.0\n<3>[   12.500000] %s\n" % XID)]))
    assert (section["source"], section["status"], section["reason"]) == ("dmesg", "ok", "")
    assert section["events"][0]["priority"] == 3


def test_plain_dmesg_where_raw_is_not_known():
    missing = {"argv": kernel_log.JOURNAL, "missing": True}
    refused = dmesg("", rc=1, stderr="dmesg: invalid option -- 'r'")
    section = kernel_log.collect(host([missing, refused, dmesg("[    0.000000] Linux version\n[12.5] " + XID, argv=kernel_ring.DMESG)]))
    assert (section["source"], section["status"], len(section["events"])) == ("dmesg", "ok", 1)


def test_not_permitted_is_unknown_with_its_reason():
    missing = {"argv": kernel_log.JOURNAL, "missing": True}
    denied = dmesg("", rc=1, stderr="dmesg: read kernel buffer failed: Operation not permitted")
    section = kernel_log.collect(host([missing, denied], files={"/proc/sys/kernel/dmesg_restrict": "1\n"}))
    assert section["status"] == "unknown"
    assert "not permitted (kernel.dmesg_restrict is 1" in section["reason"]
    assert section["source"] == {"unknown": section["reason"]}
    assert section["events"] == []


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        ([{"argv": kernel_log.JOURNAL, "missing": True}, {"argv": kernel_ring.DMESG_RAW, "missing": True}], "dmesg -r: absent"),
        ([{"argv": kernel_log.JOURNAL, "hang": True}, {"argv": kernel_ring.DMESG_RAW, "hang": True}], "timeout"),
        ([journal("\n"), dmesg("\n"), dmesg("\n", argv=kernel_ring.DMESG)], "the kernel log is empty"),
        ([], "not recorded"),
    ],
)
def test_no_log_at_all_is_unknown(commands, words):
    section = kernel_log.collect(host(commands))
    assert section["status"] == "unknown"
    assert words in section["reason"]
    assert section["events"] == []


def test_a_log_that_begins_late_is_partial():
    section = kernel_log.collect(host([journal("[ 7200.500000] node01 kernel: usb 1-1: new device\n[ 7201.500000] node01 kernel: %s\n" % XID)]))
    assert section["status"] == "partial"
    assert section["reason"] == "the log begins 7200 seconds after boot; older lines are gone"
    assert section["covers_from"] == "2025-11-29T09:06:40.500Z"


def test_output_that_was_cut_is_partial():
    section = kernel_log.collect(host([journal("[0.5] node01 kernel: %s\n" % XID, overflow=True)]))
    assert (section["status"], len(section["events"])) == ("partial", 1)
    many = "".join("[%d.5] node01 kernel: usb 1-1: device %d\n" % (n // 1000, n) for n in range(kernel_rest.NEWEST))
    section = kernel_log.collect(host([journal(many, argv=kernel_rest.EARLIER)]))
    assert (section["status"], section["reason"]) == ("partial", "only the newest %d lines were read" % kernel_rest.NEWEST)


def test_the_caller_may_ask_for_more_words():
    line = "[1.5] acme_npu 0000:01:00.0: broken"
    assert kernel_log.fold(line, BOOT)[0] == []
    assert len(kernel_log.fold(line, BOOT, ("acme_npu",))[0]) == 1


@pytest.mark.parametrize("refused", [[journal("", rc=1, stderr="Unknown output 'short-unix'.")], []])
def test_an_old_journalctl_and_an_old_recording_tell_seconds_since_boot(refused):
    """systemd 219 has no short-unix; recordings of before hold the other question."""
    said = journal("[    0.000000] node01 kernel: Linux version 6.8.0\n[ 1843.308145] node01 kernel: %s\n" % XID, argv=kernel_rest.EARLIER)
    section = kernel_log.collect(host([*refused, said]))
    assert (section["source"], section["status"], section["reason"], section["time_error_seconds"]) == ("journalctl -k", "ok", "", 44.2)
    assert section["events"][0]["first"] == "2025-11-29T07:37:23.308Z"


def test_the_journal_is_asked_first_and_tells_the_time_of_day():
    said = journal("%d.250000 node01 kernel: Linux version 6.8.0\n%d.308145 node01 kernel: %s\n" % (BOOT, BOOT + 1843, XID))
    section = kernel_log.collect(host([said, dmesg("<3>[ 9.5] %s\n" % XID)]))
    assert (section["source"], section["status"], section["time_error_seconds"]) == ("journalctl -k", "ok", 0.0)
    assert (section["events"][0]["first"], section["covers_from"]) == ("2025-11-29T07:37:23.308Z", "2025-11-29T07:06:40.250Z")
