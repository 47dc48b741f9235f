# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of this boot, or of it what came after a cursor: lines that could matter, equal ones folded. Nothing is classified here."""

from __future__ import annotations

import datetime
import re
import zlib

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_line import LONGEST, MONTHS, parse
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_message import details
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

SECONDS, LIMIT = 20, 256 << 20  # what reading a log may take, and its bytes
TEXTS = 2048  # texts that are known again at sight: a storm repeats few
TEMPLATES = 200  # folded events kept of lines with a strong word
CHATTY_TEMPLATES = 100  # and of lines that only name a driver and a trouble
PLACES = 32
TAIL = 150  # of what a long message says last, kept in its sample
DRIFT = 500e-6  # adjtimex(2): NTP corrects a clock by at most 500 ppm, and the kernel's stamps never
SLACK = 5  # seconds that a clock may go back or be behind without having been wrong
SETTLED = 300  # seconds after boot from which on a PCI function that appears was attached, not found

# The time of day at which journald took a line; short-monotonic is the kernel's own stamp in many releases (systemd: logs-show.c).
JOURNAL = ["journalctl", "-k", "-b", "0", "-o", "short-unix", "--no-pager"]

# A line with one of these, between |, is kept whatever else it says (lower case).
STRONG = (
    "xid|hardware error|aer:|pcie bus error|dpc:|edac |mce:|machine check|out of memory|oom-kill|soft lockup|hard lockup|blocked for more than|"
    "detected stall|expedited stall|kernel bug at|oops:|general protection fault|memory failure:|uncorrect|neuron_hw_err|ext4-fs error|i/o error|"
    "medium error|target error|above threshold|file-max limit|fallen off the bus|xpuerr_|gpu reset|heartbeat|libnccl|inaccessible|forced readonly|"
    "pcie bandwidth, limited by|unable to handle|null pointer|internal error: |serror interrupt|"
    "[io_page_fault|] fault addr"
)
# A line with one of these is kept when it also tells of trouble.
CHATTY = (
    "nvrm:|nvidia|amdgpu|[drm|nvme|mlx|bnxt|ionic|hns3|btrfs|link is down|link is up|bond|xfs (|ext4-fs|md/raid|md:|pcieport|pciehp|habanalabs|accel |"
    "neuron|kl3|xpu|ascend|devdrv|davinci|hisi|devmm|drv_|mtgpu|mthreads|alixpu|alipci|cambricon|cndrv|metax|mxcd|iluvatar|hydcu|hycu|hyttm|enflame|gcu|thermal"
)
TROUBLE = (
    "error|fail|fatal|time out|timeout|timed out|reset|link down|link up|link is|hang|hung|correct|poison|lost|unrecover|abort|exception|removing|removed|"
    "unplugged|overheat|temperature|suppressed|invalid|corrupt|shutting down|read-only|stuck|parity|should not assert|recover|definitely|"
    "controller is down|frozen|insufficient power|power state|compromised|evict|quiesce|bad page|threshold|degraded|] tainted|not present|not supported|"
    "done with|page fault|in icn topo|mismatch|no firmware|none of the|likely needs|not responding|miss count|link active|stalled|fw down|not healthy|"
    "40f84e00|8107860"
)

_CURSOR = re.compile(r"(\d{1,10}\.\d{6})/[0-9a-f]{8}\Z")

_ATTACHED = b"] type 00 class 0x"
_SHAPE = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz000000000")  # lower case, every digit 0
_OWN_START = re.compile((r"\s*(?:\[|<\d|\d{4}-\d\d-\d\d|\d{1,5},\d+,\d+,|\d+\.\d+[] ]|kern +:|(?:%s) +\d)" % MONTHS).encode())
_DICTIONARY = re.compile(rb" (?:SUBSYSTEM|DEVICE)=")  # second lines of a /dev/kmsg record
_ESCAPED_NEWLINE = b"\\x0a"
_CARRIED = 1 << 16  # bytes kept of a line that has not ended, and of what came last


def moment(epoch):
    """Seconds since the epoch as UTC text with milliseconds: their order decides which of two events came last."""
    try:
        return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError, TypeError):
        return unknown("not a time: %s" % str(epoch)[:40])


class Folder:
    """Equal lines become one event."""

    def __init__(self, boot_time, this_boot):
        self.boot_time, self.this_boot = boot_time, this_boot
        self.events = {}
        self.room = {True: TEMPLATES, False: CHATTY_TEMPLATES}
        self.dropped = 0
        self.known = {}

    def time(self, line):
        if line.__class__ is bytes:
            line = parse(line.decode("utf-8", "replace"))
        if line.since is not None:
            if self.boot_time is None:
                return unknown("%.3f seconds after boot; the boot time is not known" % line.since)
            return moment(self.boot_time + line.since)
        if line.wall is None:
            return unknown(line.when)
        if self.this_boot and self.boot_time is not None and line.wall < self.boot_time - SLACK:
            return unknown("%.3f, before the boot: the clock was set since" % line.wall)
        return moment(line.wall)

    def since(self, line):
        """Seconds since boot of a line, None when that is not known."""
        if line.wall is None or self.boot_time is None:
            return line.since
        return line.wall - self.boot_time

    def add(self, line, number, strong):
        """The line of this number. Returns what more() needs to count the same text again."""
        key, code, addresses, everything, amount = details(line.text, self.known)
        event = self.events.get(key)
        if event is None and self.room[strong]:
            self.room[strong] -= 1
            text = line.text
            event = self.events[key] = {
                "template": key,
                "count": 0,
                "first": line,
                "last": line,
                "priority": line.priority if line.priority is not None else unknown("not told by this log"),
                "sample": text if len(text) <= 320 + TAIL else "%s … %s" % (text[:320], text[-TAIL:]),
                "addresses": [],
                "codes": [code] if code else [],
                "places": {},
                "last_at": {},
            }
        if event is not None:
            event["addresses"] += [a for a in addresses if a not in event["addresses"]][: PLACES - len(event["addresses"])]
        seen = [1, line, number, event, everything, amount]
        self.more(seen)
        return seen

    def more(self, seen):
        """seen: [how often the text came since it was told here, the last line with it, its number, …]."""
        times, line, number, event, everything, amount = seen
        seen[0] = 0
        if event is None:
            self.dropped += times
            return
        for place in ("", *everything):
            if place in event["last_at"] or len(event["last_at"]) <= PLACES:
                event["places"][place] = event["places"].get(place, 0) + times
                if number > event["last_at"].get(place, (0,))[0]:
                    event["last_at"][place] = number, line
        if amount is not None:
            so_far = event.setdefault("amount", {"sum": 0, "largest": 0})
            so_far["sum"] += amount * times
            so_far["largest"] = max(so_far["largest"], amount)

    def finished(self):
        for event in self.events.values():
            at = event.pop("last_at")
            event["first"], event["last"], event["count"] = self.time(event["first"]), self.time(at.pop("")[1]), event["places"].pop("")
            if len(at) > 1:
                event["last_at"] = {place: self.time(line) for place, (_of, line) in at.items()}
        return list(self.events.values())


class Interest:
    """Which lines are worth keeping. extra: more lower-case words that make one so."""

    def __init__(self, extra=()):
        self.words = ([*STRONG.split("|"), *extra], CHATTY.split("|"), TROUBLE.split("|"))
        self.shapes = tuple([word.encode().translate(_SHAPE) for word in words] for words in self.words)
        self.met = {}

    def of(self, text):
        """True: keep; False: keep while there is room for chatter; None: not interesting."""
        return self._of(text.lower(), self.words)

    def may(self, text):
        """False: no line is interesting that is like this one but for its digits."""
        shape = text.translate(_SHAPE)
        if shape not in self.met:
            if len(self.met) >= TEXTS:
                self.met.clear()
            self.met[shape] = self._of(shape, self.shapes) is not None
        return self.met[shape]

    @staticmethod
    def _of(low, words):
        for word in words[0]:
            if word in low:
                return True
        for word in words[1]:
            if word in low:
                return False if any(trouble in low for trouble in words[2]) else None
        return None


class Stream:
    """Folds a log as it comes, in pieces and in any layout, and keeps no line of it.

    since: a cursor; what stands before its line is forgotten. this_boot: no line is of an earlier one.
    """

    def __init__(self, boot_time=None, extra=(), since=None, this_boot=False):
        self.folder, self.interest = Folder(boot_time, this_boot), Interest(extra)
        self.since = since if isinstance(since, str) and _CURSOR.match(since) else None
        self.reached, self.told = None, False  # the line of the cursor; whether it is held
        self.latest = b""  # the latest time of day so far
        self.carry = self.end = b""  # a line that has not ended; what came last
        self.begin()

    def begin(self):
        """Nothing was read so far."""
        self.folder = Folder(self.folder.boot_time, self.folder.this_boot)
        self.lines, self.first, self.held, self.seen = 0, None, b"", {}

    def take(self, piece):
        text = self.carry + piece
        end = text.rfind(b"\n") + 1
        self.carry = text[end:][:_CARRIED]
        if end:
            self._read(text[:end])

    def done(self):
        """The end of a text ends its line, and what was met again counts."""
        self._read(self.carry)
        if self.held:
            self._line(self.held)
        self.carry = self.held = b""
        self._told()

    def newest(self):
        """The last line that tells its time since boot, None when none does."""
        for raw in reversed(self.end.split(b"\n")):
            line = parsed(raw)
            if line.since is not None or line.wall is not None:
                return line
        return None

    def _read(self, block):
        if self.since and not self.reached:
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_rest  # only with a cursor

            block = kernel_rest.behind(self, block)
        self.end = (self.end + block)[-_CARRIED:]
        held, seen, lines = self.held, self.seen, self.lines
        for raw in block.split(b"\n"):
            if not raw:
                continue
            if raw[0] < 46 and raw[0] in b" -\t\r\v\f":
                if raw.isspace() or raw.startswith(b"-- "):  # journalctl's own words
                    continue
                if held and raw[0] in b" \t" and not _OWN_START.match(raw) and _OWN_START.match(held):
                    # A driver prints one message over several lines, only the first with a time.
                    lines += 1
                    if len(held) < LONGEST and not _DICTIONARY.match(raw):
                        held += b" " + raw.strip()[:LONGEST]
                    continue
            if held:
                known = seen.get(held[18:])
                if known is not None and held[:17] >= self.latest and held[:10].isdigit():  # the journal's, in order
                    self.latest = held[:17]
                    known[0] += 1
                    known[1] = held
                    known[2] = lines
                else:
                    self.lines = lines
                    self._line(held)
            held = raw
            lines += 1
        self.held, self.lines = held, lines

    def _line(self, raw):
        if self.told:  # the line of the cursor, with what follows it
            self.told = False
            return
        if raw[10:11] == b"." and raw[:10].isdigit():
            if raw[:17] < self.latest and float(raw[:10]) < float(self.latest[:10]) - SLACK:
                from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_rest  # only where a clock was set back

                self._told()
                kernel_rest.forget_times(self.folder)
            self.latest = raw[:17]
        text = _behind_time(raw)
        known = self.seen.get(text)
        if known is not None:
            known[:3] = known[0] + 1, raw, self.lines
            return
        attached = _ATTACHED in raw
        if self.first is None:
            self.first = parsed(raw)
        if not attached and raw[0] != 123 and not self.interest.may((text or raw)[:LONGEST]):  # JSON may hide words in bytes
            return
        line = parsed(raw.replace(_ESCAPED_NEWLINE, b" "))
        strong = self.interest.of(line.text)
        if strong is None and attached and (self.folder.since(line) or 0) > SETTLED:
            strong = False
        if strong is None:
            return
        seen = self.folder.add(line, self.lines, strong)
        if text and not attached and len(text) <= LONGEST:
            if len(self.seen) >= TEXTS:
                self._told()
            self.seen[text] = seen

    def _told(self):
        for seen in self.seen.values():
            if seen[0]:
                self.folder.more(seen)
        self.seen.clear()


def parsed(raw):
    return parse(raw.decode("utf-8", "replace"))


def _behind_time(raw):
    """The text behind "1764401843.308145 ", "[ 12.5] " or "<6>[ 12.5] ": all that is the same in the next one. b"" in other layouts."""
    if raw[10:11] == b"." and raw[17:18] == b" " and raw[:10].isdigit():
        return raw[18:]
    at = 0 if raw[0] == 91 else raw.find(b"[", 3, 5) if raw[0] == 60 else -1
    return raw.partition(b"] ")[2] if at >= 0 and raw[at + 1 : at + 2].strip(b" 0123456789") == b"" else b""


def fold(text, boot_time=None, extra=()):
    """(events, lines, dropped, first line) of a log in any layout."""
    stream = Stream(boot_time, extra)
    stream.take(text.encode("utf-8", "replace"))
    stream.done()
    return stream.folder.finished(), stream.lines, stream.folder.dropped, stream.first


def _journal(host, stream):
    """(the command that answered, why it is not all of the log)."""
    command = host.run(JOURNAL, timeout=SECONDS, limit=LIMIT, taker=stream.take)
    if command.left_out:
        return command, ["%d MiB out of its middle are not in the recording" % ((command.left_out >> 20) + 1)]
    if command.succeeded:
        return command, []
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_rest  # only where it failed, or was too much

    return kernel_rest.journal(host, stream, command)


def _read(host, new):
    """(source, stream, why it is not all of the log; source None: why there is none). new: makes a Stream."""
    stream = new()
    journal, reasons = _journal(host, stream)
    stream.done()
    if stream.lines or stream.reached:
        return "journalctl -k", stream, reasons
    if journal.succeeded:
        hint = journal.stderr.strip().split("\n")[0][:160]
        reasons.append("journalctl -k: no kernel message of this boot%s" % (" (%s)" % hint if hint else ""))
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_ring  # only where the journal says nothing

    return kernel_ring.read(host, new, reasons)


def cursor(line):
    """A line as time and sum: two boots do not say the same thing in the same microsecond."""
    return "%.6f/%08x" % (line.wall or line.since or 0, zlib.crc32(line.text.encode("utf-8", "replace")))


def collect(host, extra=(), since=None):
    """The `kernel` section. since: the cursor of an earlier reading; what it has seen is left out while the log of this boot still has its line."""
    boot = host.boot_time()
    boot_time = boot.value if boot.ok and isinstance(boot.value, (int, float)) else None
    source, stream, reasons = _read(host, lambda: Stream(boot_time, extra, since, True))
    now = host.now()
    section = {
        "timestamp": utc(now),
        "source": source or unknown("; ".join(reasons)),
        "status": "unknown",
        "reason": "; ".join(reasons),
        "boot_time": utc(boot_time) if boot_time is not None else unknown(boot.reason),
        "time_error_seconds": unknown("no log was read" if boot.ok else boot.reason),
        "since": since if stream.reached else "boot",
        "cursor": unknown("no log was read"),
        "covers_from": unknown("no log was read"),
        "events": [],
        "lines": 0,
        "dropped": 0,
    }
    if source is None:
        return section
    newest = stream.newest()
    if boot_time is not None:
        # Seconds since boot are those of the kernel's own clock, and the boot time is told in whole ones.
        section["time_error_seconds"] = 0.0 if newest and newest.wall else round(1 + max(0.0, now - boot_time) * DRIFT, 1)
    first, dropped = stream.first, stream.folder.dropped
    section["cursor"] = cursor(newest) if newest else unknown("the log tells no time since boot")
    begin = stream.folder.since(first) if first is not None else None
    if stream.reached:
        first = stream.reached
    elif begin is not None and begin > 60:
        # A ring that wrapped, or a journal that was vacuumed, does not begin with the boot.
        reasons.append("the log begins %d seconds after boot; older lines are gone" % begin)
    section.update(events=stream.folder.finished(), lines=stream.lines, dropped=dropped)
    section["covers_from"] = stream.folder.time(first) if first is not None else unknown("no line")
    if dropped:
        reasons.append("%d lines of further kinds were not kept" % dropped)
    section["status"] = "partial" if reasons else "ok"
    section["reason"] = "; ".join(reasons)
    return section
