# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log is folded as it comes: exact counts of a storm, no memory for its lines, and what was left out is told."""

from __future__ import annotations

import json
import sys
import tracemalloc

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import record
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log

BOOT = 1764400000  # 2025-11-29T07:06:40Z
XID = "NVRM: Xid (PCI:0000:9b:00): 95, pid=4711, name=python, Uncontained"
LINE = "[%12.6f] node07 kernel: %s\n"  # of dmesg


def line(since, text=XID):
    return "%.6f node07 kernel: %s\n" % (BOOT + since, text)


# A journal of 120,000 lines, a second apart, that fails as it is told to; with -n only its end.
JOURNAL = """#!%s
import os, sys
first = 0 if "-n" not in sys.argv else %%d
if "-n" in sys.argv and first < 0:
    sys.exit(1)
out = sys.stdout
try:
    out.write("-- Journal begins --\\n")
    for n in range(first, 120000):
        out.write("%%%%.6f node07 kernel: %%s\\n" %%%% (1764400000 + n + 0.25,))
        if n == %%d and "-n" not in sys.argv:
            out.flush()
            os.kill(os.getpid(), 9)
except BrokenPipeError:
    os._exit(1)
""" % sys.executable  # fmt: skip


@pytest.fixture
def node(tmp_path):
    """A live host whose journalctl says what the test wants: text of all lines, where it dies, and where its end begins."""
    hosts = []

    def make(text=XID, dies=-1, last=-1):
        program = tmp_path / "journalctl"
        program.write_text(JOURNAL % (last, text, dies))
        program.chmod(0o755)
        hosts.append(LiveHost(deadline=120, path=str(tmp_path)))
        hosts[-1].boot_time = ReplayHost(
            {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2025-12-01T00:00:00Z", "host": {"boot_time": BOOT}}
        ).boot_time
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def test_a_storm_is_one_event_with_its_exact_count(node):
    section = kernel_log.collect(node())
    assert (section["source"], section["status"], section["reason"]) == ("journalctl -k", "ok", "")
    (event,) = section["events"]
    assert (event["count"], section["lines"], section["dropped"]) == (120000, 120000, 0)
    assert (event["first"], event["last"]) == ("2025-11-29T07:06:40.250Z", "2025-11-30T16:26:39.250Z")
    assert event["places"] == {"0000:9b:00.0": 120000}
    assert section["cursor"].startswith("1764519999.250000/")


def test_only_what_came_after_the_cursor(node):
    cursor = kernel_log.cursor(kernel_log.parse(line(99999.25)))
    section = kernel_log.collect(node(), since=cursor)
    assert (section["since"], section["lines"], section["events"][0]["count"], section["status"]) == (cursor, 20000, 20000, "ok")
    assert (section["covers_from"], section["events"][0]["first"]) == ("2025-11-30T10:53:19.250Z", "2025-11-30T10:53:20.250Z")


def test_a_log_that_is_more_than_is_read_ends_with_its_newest_lines(node, monkeypatch):
    monkeypatch.setattr(kernel_log, "LIMIT", 1 << 20)
    section = kernel_log.collect(node(last=119000))
    (event,) = section["events"]
    assert section["status"] == "partial"
    begin, _of, rest = section["reason"].partition("; ")
    assert begin.endswith("overflow (printed more than is kept, stopped)")
    read = event["count"] - 1000  # lines of its begin
    assert 5000 < read < 20000
    assert rest == "what came from %s to 2025-11-30T16:10:00.250Z was not read" % kernel_log.moment(BOOT + read - 0.75)
    assert (section["lines"], event["last"]) == (event["count"], "2025-11-30T16:26:39.250Z")


def test_what_is_in_both_parts_counts_once_and_nothing_is_missing(node):
    section = kernel_log.collect(node(dies=110000, last=100000))
    assert (section["status"], section["reason"], section["events"][0]["count"], section["lines"]) == ("ok", "", 120000, 120000)


def test_an_end_that_cannot_be_read_either_is_told(node):
    section = kernel_log.collect(node(dies=110000))
    assert (section["status"], section["events"][0]["count"]) == ("partial", 110001)
    assert "signaled (SIGKILL); what came later than 2025-11-30T13:40:00.250Z was not read; " in section["reason"]


def test_a_recording_of_a_storm_is_bounded_and_says_so(node, monkeypatch):
    monkeypatch.setattr(record, "BEGIN", 1 << 16)
    monkeypatch.setattr(record, "END", 1 << 17)
    recorder = RecordingHost(node())
    live = kernel_log.collect(recorder)
    assert (live["status"], live["events"][0]["count"]) == ("ok", 120000)
    document = json.loads(json.dumps(recorder.recording()))
    (entry,) = document["commands"]
    whole = 120000 * len(line(0.25)) + len("-- Journal begins --\n")
    assert len(entry["stdout"]) <= (1 << 16) + (1 << 17)
    assert len(entry["stdout"]) + entry["left_out"] == whole
    told = kernel_log.collect(ReplayHost(dict(document, host={"boot_time": BOOT})))
    assert (told["status"], told["reason"]) == ("partial", "%d MiB out of its middle are not in the recording" % ((entry["left_out"] >> 20) + 1))
    assert [told["events"][0][key] for key in ("template", "first", "last")] == [live["events"][0][key] for key in ("template", "first", "last")]
    assert 0 < told["lines"] == told["events"][0]["count"] < 120000


def test_a_recording_that_holds_all_answers_the_same(node, monkeypatch):
    monkeypatch.setattr(record, "END", 1 << 25)
    recorder = RecordingHost(node())
    live = kernel_log.collect(recorder)
    document = dict(json.loads(json.dumps(recorder.recording())), host={"boot_time": BOOT})
    (entry,) = document["commands"]
    assert (entry["stdout"].count("\n"), entry.get("left_out")) == (120001, None)
    told = kernel_log.collect(ReplayHost(document))
    assert {k: v for k, v in told.items() if k != "timestamp"} == {k: v for k, v in live.items() if k != "timestamp"}


def lines(count):
    return b"".join(line(n + 0.25).encode() for n in range(count))


def test_no_line_is_kept():
    piece = lines(1000)
    stream = kernel_log.Stream(BOOT)
    stream.take(piece)
    tracemalloc.start()
    for _unused in range(300):  # 30 MiB
        stream.take(piece)
    for number in range(300):  # and each text another one
        stream.take(b"".join(b"[ 5.5] kernel: NVRM: Xid (PCI:0000:9b:00): 95, pid=%d\n" % (number * 100 + n) for n in range(100)))
        stream.take(b"[ 6.5] kernel: " + b"x" * 100000)  # a line that does not end
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stream.done()
    assert sum(event["count"] for event in stream.folder.finished()) > 301000
    assert peak < 6 << 20


TEXT = (
    "-- Logs begin --\n"
    + line(1.5, "Linux version 6.8.0")
    + line(2.5, "pci 0000:5d:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint")
    + "".join(line(3 + n, XID if n % 2 else XID.replace("9b", "3b")) for n in range(9))
    + line(20, "NVRM: The NVIDIA GPU 0000:5e:00.0")
    + "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
    + "               NVRM: fallen off the bus and is not responding to commands.\n"
    + line(21, "NVRM: The NVIDIA GPU 0000:5e:00.0")
    + "               NVRM: (PCI ID: 10de:2330) installed in this system has\n"
    + "               NVRM: fallen off the bus and is not responding to commands.\n"
    + "\n"
    + line(22, "nvme nvme0: controller is down; will reset: CSTS=0xffffffff")
    + line(9000, "pci 0000:5d:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint")
    + (line(9001.5, "NVRM: Xid (PCI:0000:9b:00): 79") + line(9002.5, "NVRM: Xid (PCI:0000:9b:00): 79")).rstrip()
)


def folded(pieces, since=None):
    stream = kernel_log.Stream(BOOT, since=since)
    for piece in pieces:
        stream.take(piece)
    stream.done()
    return stream.folder.finished(), stream.lines, stream.first.wall - BOOT, stream.newest().wall - BOOT, bool(stream.reached)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_where_a_piece_ends_makes_no_difference(size):
    data = TEXT.encode()
    whole = folded([data])
    assert folded([data[n : n + size] for n in range(0, len(data), size)]) == whole
    events, count, first, newest, _reached = whole
    assert (count, first, newest) == (21, 1.5, 9002.5)
    assert [(event["codes"], event["count"], event["places"]) for event in events] == [
        (["95"], 9, {"0000:3b:00.0": 5, "0000:9b:00.0": 4}),
        ([], 2, {"0000:5e:00.0": 2}),
        ([], 1, {"nvme0": 1}),
        ([], 1, {"0000:5d:00.0": 1}),
        (["79"], 2, {"0000:9b:00.0": 2}),
    ]
    assert events[0]["last_at"] == {"0000:3b:00.0": "2025-11-29T07:06:51.000Z", "0000:9b:00.0": "2025-11-29T07:06:50.000Z"}
    assert events[1]["last"] == "2025-11-29T07:07:01.000Z" and "fallen off the bus" in events[1]["sample"]
    cursor = kernel_log.cursor(kernel_log.parse(line(21, "NVRM: The NVIDIA GPU 0000:5e:00.0")))
    assert folded([data[n : n + size] for n in range(0, len(data), size)], cursor) == folded([data], cursor)
    assert folded([data], cursor)[4] is True


def test_a_ring_is_folded_the_same_way():
    ring = "".join("<3>" + LINE % (n, XID) for n in range(3, 500))
    (event,) = folded_text(ring)
    assert (event["count"], event["first"], event["last"], event["priority"]) == (497, "2025-11-29T07:06:43.000Z", "2025-11-29T07:14:59.000Z", 3)


def folded_text(text, this_boot=True):
    stream = kernel_log.Stream(BOOT, this_boot=this_boot)
    stream.take(text.encode())
    stream.done()
    return stream.folder.finished()


def test_a_clock_that_was_behind_at_boot():
    """A clock that lost its battery tells of another year until NTP sets it; such an event is of this boot all the same."""
    text = line(-800000000.0) + line(-799999990.0, "pci 0000:5d:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint") + line(30.0, XID.replace("95", "79"))
    early, late = folded_text(text)
    assert early["first"] == early["last"] == {"unknown": "964400000.000, before the boot: the clock was set since"}
    assert late["first"] == "2025-11-29T07:07:10.000Z"
    assert folded_text(line(-800000000.0), this_boot=False)[0]["first"] == "2000-07-24T00:53:20.000Z"


def test_a_clock_that_was_ahead_at_boot():
    """Eight hours ahead until it was set: what was said then is not later than what was said since."""
    attached = "pci 0000:9b:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint"
    text = line(28801.0, attached) + line(28802.0) + line(20.0, "systemd-journald: Time jumped backwards") + line(3600.0) + line(3601.0)
    first, xid = folded_text(text)
    assert first["last"] == {"unknown": "the clock was set back since"} == xid["first"]
    assert (xid["count"], xid["last"]) == (3, "2025-11-29T08:06:41.000Z")
    ordered = folded_text(line(28802.0) + line(28801.0) + line(28803.0))  # a little back is no such thing
    assert (ordered[0]["first"], ordered[0]["last"]) == ("2025-11-29T15:06:42.000Z", "2025-11-29T15:06:43.000Z")


@pytest.mark.parametrize(
    ("since", "shown"), [(0.5, "2025-11-29T07:06:40.500Z"), (2851200.5, "2026-01-01T07:06:40.500Z"), (94608000.5, "2028-11-28T07:06:40.500Z")]
)
def test_times_over_a_new_year_and_after_years(since, shown):
    assert folded_text(line(since))[0]["first"] == shown
    (event,) = kernel_log.fold(LINE % (since, XID), BOOT)[0]
    assert event["first"] == shown


def test_the_same_words_behind_something_else_than_a_time_are_not_the_same():
    text = "".join("Nov 29 07:37:23 node kernel: nvme nvme%d: [x] I/O error\n" % n for n in (0, 1, 1))
    text += "[drm:a] amdgpu error\n[drm:b] amdgpu error\n"
    events = kernel_log.fold(text, BOOT)[0]
    assert [(event["count"], event["places"]) for event in events[:1]] == [(3, {"nvme0": 1, "nvme1": 2})]
    assert [event["sample"] for event in events[1:]] == ["[drm:a] amdgpu error", "[drm:b] amdgpu error"]


@pytest.mark.parametrize(
    "form",
    ["176440000%d.000000 node kernel: ", "[%6.1f] ", "<6>[%6.1f] ", "[%6.1f] node kernel: ", "2025-11-29T07:37:23Z node kernel: [%6.1f] ", "6,1,%d000000,-;"],
)
def test_a_digit_may_decide_whether_a_line_matters(form):
    text = "".join(form % n + "acme%d: error\n" % n for n in (1, 5, 5, 2))
    stream = kernel_log.Stream(BOOT, ("acme5",))
    stream.take(text.encode())
    stream.done()
    assert [(event["count"], event["sample"]) for event in stream.folder.finished()] == [(2, "acme5: error")]


def test_templates_that_are_remembered_are_those_of_each_text():
    texts = ["NVRM: Xid (PCI:0000:%s:00): %d, pid=%d, GPU reset" % (bus, code, pid) for bus in ("9b", "3b") for code in (79, 95) for pid in (1, 2, 34)]
    texts += ["EDAC MC0: %d CE memory read error on CPU_SrcID#0_DIMM#%d (channel:1)" % (n, n) for n in (1, 2)]
    known = {}
    for text in [*texts, *texts]:
        assert kernel_log.details(text, known) == kernel_log.details(text)
    assert set(known.values()) == {"NVRM: Xid (PCI:<pci>): 79, pid=*, GPU reset", "NVRM: Xid (PCI:<pci>): 95, pid=*, GPU reset"}
