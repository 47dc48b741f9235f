# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of this boot, or of it what came after a cursor: lines that could matter, equal ones folded. Nothing is classified here."""

from __future__ import annotations

import datetime
import re
import zlib

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_line import LONGEST, MONTHS, Line, parse
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

NEWEST = 40000  # lines asked of the journal: within the 8 MiB that the door keeps of a program
TEMPLATES = 200  # folded events kept of lines with a strong word
CHATTY_TEMPLATES = 100  # and of lines that only name a driver and a trouble
PLACES = 32
TAIL = 150  # of what a long message says last, kept in its sample
OLDEST = 10000  # lines read from the begin of a boot whose newest lines are all that fits: what was said before a flood
DRIFT = 500e-6  # adjtimex(2): NTP corrects a clock by at most 500 ppm
SETTLED = 300  # seconds after boot from which on a PCI function that appears was attached, not found

# short-monotonic: seconds since boot, so a clock that is set later or runs in local time cannot move an event; systemd 219 has it, short-unix not.
JOURNAL = ["journalctl", "-k", "-b", "0", "-o", "short-monotonic", "--no-pager", "-n", str(NEWEST)]
FROM_BOOT = [*JOURNAL[:-1], "+%d" % OLDEST]  # systemd 255
DMESG_RAW = ["dmesg", "-r"]
DMESG = ["dmesg"]

# A line with one of these is kept whatever else it says (lower case).
STRONG = (
    "xid", "hardware error", "aer:", "pcie bus error", "dpc:", "edac ", "mce:", "machine check", "out of memory", "oom-kill", "invoked oom",
    "soft lockup", "hard lockup", "blocked for more than", "detected stall", "self-detected stall", "kernel bug at", "oops:", "general protection fault",
    "memory failure:", "uncorrect", "neuron_hw_err", "ext4-fs error", "i/o error", "medium error", "above threshold", "file-max limit", "watchdog: bug",
    "fallen off the bus", "xpuerr_", "gpu reset", "heartbeat", "libnccl", "config space inaccessible", "device inaccessible",
    "pcie bandwidth, limited by", "unable to handle kernel",
)  # fmt: skip
# A line with one of these is kept when it also tells of trouble.
CHATTY = (
    "nvrm:", "nvidia", "amdgpu", "[drm", "nvme", "mlx5", "mlx4", "bnxt", "ionic", "link is down", "link is up", "bond", "xfs (", "ext4-fs", "md/raid", "md:",
    "pcieport", "pciehp", "habanalabs", "accel ", "neuron", "kl3", "xpu", "ascend", "devdrv", "davinci", "hisi", "devmm", "drv_", "mtgpu", "mthreads",
    "alixpu", "alipci", "cambricon", "cndrv", "metax", "mxcd", "iluvatar", "hydcu", "hycu", "hyttm", "enflame", "gcu", "thermal",
)  # fmt: skip
TROUBLE = (
    "error", "fail", "fatal", "time out", "timeout", "timed out", "reset", "link down", "link up", "link is", "hang", "hung", "correct", "poison", "lost",
    "unrecover", "abort", "exception", "removing", "removed", "unplugged", "overheat", "temperature", "suppressed", "invalid", "corrupt", "shutting down",
    "read-only", "stuck", "parity", "should not assert", "recover", "definitely", "controller is down", "frozen", "insufficient power", "power state",
    "compromised", "evict", "quiesce", "bad page", "threshold", "degraded", "] tainted", "not present", "not supported", "done with", "page fault",
    "in icn topo", "mismatch", "no firmware", "none of the", "likely needs", "not responding", "miss count", "link active",
    "stalled", "fw down", "not healthy",
    "40f84e00", "8107860",
)  # fmt: skip

_CURSOR = re.compile(r"(\d{1,10}\.\d{6})/[0-9a-f]{8}\Z")

# Codes stay in the template: two codes are never one event. NVRM: Xid (PCI:0000:9b:00): 79, …  and  SXid (PCI:0000:05:00.0): 12028, …
_CODE = re.compile(r"\bS?XID\b ?(?:\([^)]{0,40}\))? ?[:=]? ?(\d{1,6})\b", re.IGNORECASE)
_NVLINK5 = re.compile(r"\(0x([0-9a-f]{3})[0-9a-f]{5} 0x([0-9a-f]{8})\b")  # the registers of Xid 144 to 150: reason, then error status
_ATTACHED = "] type 00 class 0x"
_LABEL = re.compile(r" on (?:any memory|unknown label|[^ (]{1,80}) \(")  # EDAC names the DIMM; its digits are its name
_AMOUNT = re.compile(r"(?<![\w.])(\d{1,15}) (?:new )?(?:[CU]E|(?:un)?correct(?:able|ed)|deferred)\b")
_PCI = re.compile(r"(?<![0-9a-fA-F])(?<![0-9a-fA-F]:)([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?(?![0-9a-fA-F])(?!:[0-9a-fA-F]{2}:)")
_REPORTED = re.compile(r"AER: .{0,60} received(?:: | from )")
_NAME = re.compile(r"\b(nvme\d+|mlx[45]_\d+|ppuid:\d+|kl3_dev\d+|hl\d+|accel\d+|davinci\d+|GPU\d+|dev (?:nvme\w+|sd[a-z]+|md\d+)|nd-id=\d+)\b")
_INTERFACE = re.compile(r"(?:[0-7]|slave|device) (e[nt]\w{1,14}|ib\w{1,14})\b")
_PERSONAL = re.compile(r"\b(pid|name|task|comm|cpuset|oom_memcg|task_memcg|mems_allowed|nodemask|oom_score_adj)=[^,\s]*")
_PROCESS = re.compile(r"[Pp]rocess \d+ \([^)]{0,40}\)|[Pp]rocess \d+, UID \d+, \([^)]{0,40}\)")
_ACTOR = re.compile(r"\A\S{1,80}(?= invoked oom)|\A\S{1,60}\[\d+\](?=: segfault)")
_CHANGING = re.compile(_PCI.pattern + r"|0x[0-9a-fA-F]+|(?<![A-Za-z0-9])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,64}(?![A-Za-z0-9])|\d+")
_OWN_START = re.compile(r"\s*(?:\[|<\d|\d{4}-\d\d-\d\d|\d{1,5},\d+,\d+,|\d+\.\d+\]|kern +:|(?:%s) +\d)" % MONTHS)
_DICTIONARY = re.compile(r" (?:SUBSYSTEM|DEVICE)=")  # second lines of a /dev/kmsg record
_ESCAPED_NEWLINE = "\\x0a"


def moment(epoch):
    """Seconds since the epoch as UTC text with milliseconds: their order decides which of two events came last."""
    try:
        return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError, TypeError):
        return unknown("not a time: %s" % str(epoch)[:40])


def _address(found):
    domain, bus, device, function = found.groups()
    domain = domain.lower()
    if len(domain) > 4:
        domain = domain.lstrip("0").rjust(4, "0")
    return "%s:%s:%s.%s" % (domain, bus.lower(), device.lower(), function or "0")  # NVRM leaves the function out


def places(text):
    """(PCI addresses, all places) a message names."""
    reported = _REPORTED.search(text) if "AER: " in text else None  # a port tells of the device behind it
    addresses = [_address(found) for found in _PCI.finditer(text, reported.end() if reported else 0)] if ":" in text else []
    if addresses:
        addresses = list(dict.fromkeys(addresses))[:8]
        return addresses, addresses
    named = [found.group(1) for found in _INTERFACE.finditer(text)] or [found.group(1).replace("dev ", "") for found in _NAME.finditer(text)]
    return addresses, list(dict.fromkeys(named))[:8]


def template(text):
    """(the message with what changes from one to the next replaced, its code or ""). Codes and DIMM labels stay."""
    if "=" in text:
        text = _PERSONAL.sub(r"\1=*", text)
    if "rocess " in text:
        text = _PROCESS.sub("process # (*)", text)
    if "invoked oom" in text or "segfault" in text:
        text = _ACTOR.sub("*", text)
    code = _CODE.search(text)
    label = _LABEL.search(text) if text.startswith("EDAC") else None
    kept = [found.span(1) if found is code else found.span() for found in (code, label) if found]
    parts, at = [], 0
    for start, end in sorted(kept):
        if start >= at:
            parts += [_blank(text[at:start]), text[start:end]]
            at = end
    key = ("".join(parts) + _blank(text[at:]))[:220]
    if code is None:
        return key, ""
    registers = _NVLINK5.search(text) if len(code.group(1)) == 3 and "144" <= code.group(1) <= "150" else None
    # The number of the link stands between them, and stays out.
    return key + (" {%d %s}" % (int(registers.group(1), 16) & 63, registers.group(2)) if registers else ""), code.group(1)


def _blank(text):
    return _CHANGING.sub(_mark, text)


def _mark(found):
    return "<pci>" if found.group(2) else "#"


def details(text):
    """(template, code, addresses, places, amount) of a message."""
    key, code = template(text)
    addresses, everything = places(text)
    amount = _AMOUNT.search(text) if "E " in text or "correct" in text or "deferred" in text else None
    return key, code, addresses, everything, int(amount.group(1)) if amount else None


class Folder:
    """Equal lines become one event."""

    def __init__(self, boot_time):
        self.boot_time = boot_time
        self.events = {}
        self.room = {True: TEMPLATES, False: CHATTY_TEMPLATES}
        self.dropped = 0
        self.seen = {}  # details of texts met before: a storm repeats few texts

    def time(self, line):
        if line.since is not None:
            if self.boot_time is None:
                return unknown("%.3f seconds after boot; the boot time is not known" % line.since)
            return moment(self.boot_time + line.since)
        if line.wall is not None:
            return moment(line.wall)
        return unknown(line.when)

    def add(self, line, last, times, strong):
        """A message that came `times` times in a row, at first as line, at last as last."""
        if line.text not in self.seen:
            if len(self.seen) > 4000:
                self.seen.clear()
            self.seen[line.text] = details(line.text)
        key, code, addresses, everything, amount = self.seen[line.text]
        event = self.events.get(key)
        if event is None:
            if self.room[strong] == 0:
                self.dropped += times
                return
            self.room[strong] -= 1
            text = line.text
            event = self.events[key] = {
                "template": key,
                "count": 0,
                "first": line,
                "last": last,
                "priority": line.priority if line.priority is not None else unknown("not told by this log"),
                "sample": text if len(text) <= 320 + TAIL else "%s … %s" % (text[:320], text[-TAIL:]),
                "addresses": [],
                "codes": [code] if code else [],
                "places": {},
                "last_at": {},
            }
        event["count"] += times
        event["last"] = last
        for address in addresses:
            if address not in event["addresses"] and len(event["addresses"]) < PLACES:
                event["addresses"].append(address)
        for place in everything:
            if place in event["places"] or len(event["places"]) < PLACES:
                event["places"][place] = event["places"].get(place, 0) + times
                event["last_at"][place] = last
        if amount is not None:
            so_far = event.setdefault("amount", {"sum": 0, "largest": 0})
            so_far["sum"] += amount * times
            so_far["largest"] = max(so_far["largest"], amount)

    def finished(self):
        for event in self.events.values():
            event["first"], event["last"] = self.time(event["first"]), self.time(event["last"])
            at = event.pop("last_at")
            if len(at) > 1:
                event["last_at"] = {place: self.time(line) for place, line in at.items()}
        return list(self.events.values())


class Interest:
    """Which lines are worth keeping: the words that do not occur in the log at all are dropped once."""

    def __init__(self, text, extra=()):
        lowered = text.lower() if '"MESSAGE"' not in text else "\n".join((*STRONG, *CHATTY, *TROUBLE, *extra))  # JSON may hide words in bytes
        self.attached = _ATTACHED in text
        self.strong = [word for word in (*STRONG, *extra) if word in lowered]
        self.chatty = [word for word in CHATTY if word in lowered]
        self.trouble = [word for word in TROUBLE if word in lowered]

    def of(self, raw):
        """True: keep; False: keep while there is room for chatter; None: not interesting."""
        low = raw[:LONGEST].lower()
        for word in self.strong:
            if word in low:
                return True
        for word in self.chatty:
            if word in low:
                return False if any(trouble in low for trouble in self.trouble) else None
        return None


def fold(text, boot_time=None, extra=(), before=""):
    """(events, lines, dropped, first line) of a log in any layout. extra: more lower-case words that make a line worth keeping.

    before: an older part of the same log; lines between the two were not read.
    """
    folder = Folder(boot_time)
    lines = first = None
    for part in (before, text):
        if part or lines is None:
            read, begin = _fold(part, Interest(part, extra), folder)
            lines, first = (lines or 0) + read, first or begin
    return folder.finished(), lines, folder.dropped, first


def _split(text):
    """The lines of a text, a part of it at a time: all of them at once take more than its own memory."""
    at = 0
    while at < len(text):
        end = text.find("\n", at + (1 << 19)) + 1 or len(text)
        yield from text[at:end].splitlines()
        at = end


def _fold(text, interest, folder):
    lines, first, held, last, times = 0, None, "", "", 0
    said = None  # the held line behind its time; the same again only counts
    for raw in _split(text):
        if not raw or raw.isspace():
            continue
        lines += 1
        tail = raw.partition("] ")[2]
        if tail and tail == said:
            last = raw
            times += 1
            continue
        if raw[0] in " \t" and held and not _OWN_START.match(raw) and _OWN_START.match(held):
            # A driver prints one message over several lines, only the first with a time.
            if len(held) < LONGEST and not _DICTIONARY.match(raw):
                held += " " + raw.strip()[:LONGEST]
            said = None
            continue
        if first is None:
            first = parse(raw)
        _keep(folder, interest, held, last, times)
        held, last, times, said = raw, raw, 1, tail
    _keep(folder, interest, held, last, times)
    return lines, first


def _keep(folder, interest, raw, last, times):
    line = parse(raw) if raw.startswith("{") else None
    strong = interest.of(line.text if line else raw)
    if strong is None and interest.attached and _ATTACHED in raw:
        line = line or parse(raw)
        strong = False if line.since is not None and line.since > SETTLED else None
    if strong is not None:
        line = line or parse(raw.replace(_ESCAPED_NEWLINE, " ") if _ESCAPED_NEWLINE in raw else raw)
        folder.add(line, parse(last) if times > 1 else line, times, strong)


def _without_headers(text):
    """Journal text without "-- Logs begin at …" and its like."""
    if not text.startswith("-- ") and "\n-- " not in text:
        return text  # as it is: a copy of 40,000 lines is what a node has to spare
    return "\n".join(line for line in text.splitlines() if not line.startswith("-- "))


def _refused(host, command):
    """Why dmesg did not answer, with the kernel's own switch where that is the reason."""
    said = (command.stderr or command.stdout or command.detail).lower()
    if command.status == answers.DENIED or "not permitted" in said or "permission denied" in said:
        switch = host.read_line("/proc/sys/kernel/dmesg_restrict")
        hint = "kernel.dmesg_restrict is %s" % switch.value if switch.ok else "kernel.dmesg_restrict may be set"
        return "dmesg: not permitted (%s; it needs root or CAP_SYSLOG)" % hint
    return command.reason


def _read(host):
    """(source, text, complete, reasons). source None when nothing answered."""
    reasons = []
    journal = host.run(JOURNAL, timeout=20)
    text = _without_headers(journal.stdout)
    if (journal.succeeded or journal.status == answers.OVERFLOW) and text.strip():
        cut = []
        if journal.status == answers.OVERFLOW:
            cut = ["journalctl: more output than is kept; the newest lines were not read"]
        elif text.count("\n") + (not text.endswith("\n")) >= NEWEST:
            cut = ["only the newest %d lines were read" % NEWEST]
        return "journalctl -k", text, not cut, cut
    if journal.succeeded:
        hint = journal.stderr.strip().split("\n")[0][:160]
        reasons.append("journalctl -k: no kernel message of this boot%s" % (" (%s)" % hint if hint else ""))
    else:
        reasons.append(journal.reason)
    for argv in (DMESG_RAW, DMESG):
        command = host.run(argv, timeout=15)
        if (command.succeeded or command.status == answers.OVERFLOW) and command.stdout.strip():
            whole = command.status != answers.OVERFLOW
            return "dmesg", command.stdout, whole, [] if whole else ["dmesg: more output than is kept; the newest lines were not read"]
        reason = "dmesg: the kernel log is empty" if command.succeeded else _refused(host, command)
        if reason not in reasons:
            reasons.append(reason)
        if command.status in (answers.ABSENT, answers.DENIED, answers.TIMEOUT) or "not permitted" in reason:
            break
    return None, "", False, reasons


def _cursor(line):
    """A line as time and sum: two boots do not say the same thing in the same microsecond."""
    return "%.6f/%08x" % (line.since, zlib.crc32(line.text.encode("utf-8", "replace")))


def _newest(text):
    """The cursor of the last line that tells its time."""
    for raw in reversed(text[-65536:].splitlines()):
        line = parse(raw)
        if line.since is not None:
            return _cursor(line)
    return unknown("the log tells no time since boot")


def _later(text, cursor):
    """What stands behind the line of a cursor; None when that line is not there: another boot, or it is gone."""
    seconds = cursor.partition("/")[0] + "]"
    at = text.find(seconds)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = parse(text[text.rfind("\n", 0, at) + 1 : end])
        if line.since is not None and _cursor(line) == cursor:
            return text[end + 1 :]
        at = text.find(seconds, end)
    return None


def collect(host, extra=(), since=None):
    """The `kernel` section. since: the cursor of an earlier reading; what it has seen is left out while the log of this boot still has its line."""
    boot = host.boot_time()
    boot_time = boot.value if boot.ok and isinstance(boot.value, (int, float)) else None
    source, text, complete, reasons = _read(host)
    now = host.now()
    section = {
        "timestamp": utc(now),
        "source": source or unknown("; ".join(reasons)),
        "status": "unknown",
        "reason": "; ".join(reasons),
        "boot_time": utc(boot_time) if boot_time is not None else unknown(boot.reason),
        # The clock of the log runs free; what it may be off of the time of day is at most what a clock is corrected by.
        "time_error_seconds": round(max(0.0, now - boot_time) * DRIFT, 1) if boot_time is not None else unknown(boot.reason),
        "since": "boot",
        "cursor": unknown("no log was read"),
        "covers_from": unknown("no log was read"),
        "events": [],
        "lines": 0,
        "dropped": 0,
    }
    if source is None:
        return section
    section["cursor"] = _newest(text)
    begin, before = None, ""
    seen = _CURSOR.match(since) if isinstance(since, str) else None
    later = _later(text, since) if seen else None
    if later is not None:
        text, section["since"], begin = later, since, Line()
        begin.since = float(seen.group(1))
        if "newest lines were not read" not in "".join(reasons):
            complete, reasons = True, []
    elif not complete and source != "dmesg":
        oldest = host.run(FROM_BOOT, timeout=15)
        if oldest.succeeded and oldest.stdout.strip():
            before = _without_headers(oldest.stdout)
            reasons.append("and the %d oldest ones of this boot" % (before.count("\n") + (not before.endswith("\n"))))
    events, lines, dropped, first = fold(text, boot_time, extra, before)
    section.update(events=events, lines=lines, dropped=dropped)
    first = begin or first
    section["covers_from"] = Folder(boot_time).time(first) if first is not None else unknown("no line")
    # A ring that wrapped, or a journal that was vacuumed, does not begin with the boot.
    if begin is None and first is not None and first.since is not None and first.since > 60:
        complete = False
        reasons.append("the log begins %d seconds after boot; older lines are gone" % first.since)
    if dropped:
        complete = False
        reasons.append("%d lines of further kinds were not kept" % dropped)
    section["status"] = "ok" if complete else "partial"
    section["reason"] = "; ".join(reasons)
    return section
