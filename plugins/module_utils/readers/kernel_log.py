# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel log of this boot: lines that could matter, equal ones folded. Nothing is classified here (docs/node-report.md, section kernel)."""

from __future__ import annotations

import datetime
import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

NEWEST = 40000  # lines asked of the journal: within the 8 MiB that the door keeps of a program
TEMPLATES = 200  # folded events kept of lines with a strong word
CHATTY_TEMPLATES = 100  # and of lines that only name a driver and a trouble
PLACES = 32
LONGEST = 1000  # characters of a line that are looked at
TAIL = 150  # of what a long message says last, kept in its sample

# short-monotonic: seconds since boot, so a clock that is set later or runs in local time cannot move an event; systemd 219 has it, short-unix not.
JOURNAL = ["journalctl", "-k", "-b", "0", "-o", "short-monotonic", "--no-pager", "-n", str(NEWEST)]
DMESG_RAW = ["dmesg", "-r"]
DMESG = ["dmesg"]

# A line with one of these is kept whatever else it says (lower case).
STRONG = (
    "xid", "hardware error", "aer:", "pcie bus error", "dpc:", "edac ", "mce:", "machine check", "out of memory", "oom-kill", "invoked oom",
    "soft lockup", "hard lockup", "blocked for more than", "detected stall", "self-detected stall", "kernel bug at", "oops:", "general protection fault",
    "memory failure:", "uncorrect", "neuron_hw_err", "ext4-fs error", "i/o error", "medium error", "above threshold", "file-max limit", "watchdog: bug",
    "fallen off the bus", "xpuerr_", "gpu reset", "heartbeat", "libnccl", "config space inaccessible", "device inaccessible", "unable to handle kernel",
)  # fmt: skip
# A line with one of these is kept when it also tells of trouble.
CHATTY = (
    "nvrm:", "nvidia", "amdgpu", "[drm", "nvme", "mlx5", "mlx4", "bnxt", "link is down", "link is up", "bond", "xfs (", "ext4-fs", "md/raid", "md:",
    "pcieport", "pciehp", "habanalabs", "accel ", "neuron", "kl3", "xpu", "ascend", "devdrv", "davinci", "hisi", "devmm", "drv_", "mtgpu", "mthreads",
    "alixpu", "alipci", "cambricon", "cndrv", "metax", "mxcd", "iluvatar", "hydcu", "hycu", "hyttm", "enflame", "gcu", "thermal",
)  # fmt: skip
TROUBLE = (
    "error", "fail", "fatal", "time out", "timeout", "timed out", "reset", "link down", "link up", "link is", "hang", "hung", "correct", "poison", "lost",
    "unrecover", "abort", "exception", "removing", "removed", "unplugged", "overheat", "temperature", "suppressed", "invalid", "corrupt", "shutting down",
    "read-only", "stuck", "parity", "should not assert", "recover", "definitely", "controller is down", "frozen", "insufficient power", "power state",
    "compromised", "evict", "quiesce", "bad page", "threshold", "degraded", "] tainted", "not present", "not supported", "done with", "page fault",
    "in icn topo", "mismatch", "no firmware", "none of the", "likely needs", "not responding", "miss count", "link active",
    "40f84e00", "8107860",
)  # fmt: skip

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_KMSG = re.compile(r"(\d{1,5}),\d+,(\d{1,18}),[^;]{0,80};")
_RAW_PRIORITY = re.compile(r"<(\d{1,4})>")
_DECODED = re.compile(r"(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *:(\w+) *: ")
_SECONDS = re.compile(r"\[? *(\d{1,10}\.\d{1,9})(?: <[ \d.+-]{0,30}>)?\] ?")
_CALLER = re.compile(r"\[ *[TC]\d{1,8}\] ?")
_BRACKET_WALL = re.compile(r"\[((?:\w{3} +(?:%s) +\d+ [\d:]{8} \d{4})|(?:\d{4}-\d\d-\d\d[ T][\d:]{8}(?:[.,]\d{1,9})?))\] ?" % _MONTHS)
_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?= )")
_SYSLOG = re.compile(r"(?:%s) +\d{1,2} \d\d:\d\d:\d\d(?= )" % _MONTHS)
_UNIX = re.compile(r"(\d{9,11}\.\d{1,9})(?= )")
_TAG = re.compile(r" *(?:[\w.:-]{1,255} )?kernel(?:\[\d+\])?: ?")
_ELLIPSIS = re.compile(r" *\[\.\.\.\] ")
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")

# Codes stay in the template: two codes are never one event. NVRM: Xid (PCI:0000:9b:00): 79, …  and  SXid (PCI:0000:05:00.0): 12028, …
_CODE = re.compile(r"\bS?XID\b ?(?:\([^)]{0,40}\))? ?[:=]? ?(\d{1,6})\b", re.IGNORECASE)
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
_OWN_START = re.compile(r"\s*(?:\[|<\d|\d{4}-\d\d-\d\d|\d{1,5},\d+,\d+,|\d+\.\d+\]|kern +:|(?:%s) +\d)" % _MONTHS)
_DICTIONARY = re.compile(r" (?:SUBSYSTEM|DEVICE)=")  # second lines of a /dev/kmsg record
_ESCAPED_NEWLINE = "\\x0a"


def moment(epoch):
    """Seconds since the epoch as UTC text with milliseconds: their order decides which of two events came last."""
    try:
        return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError, TypeError):
        return unknown("not a time: %s" % str(epoch)[:40])


class Line:
    """A parsed line: since (seconds since boot) or wall (epoch) when it tells them, else when (why the time is unknown)."""

    __slots__ = ("priority", "since", "stamped", "text", "wall", "when")

    def __init__(self):
        self.since = self.wall = self.priority = None
        self.when = "the line carries no time"
        self.stamped = False
        self.text = ""


def _iso(found):
    """Epoch of an ISO time with a zone, None without one."""
    if not found.group(3):
        return None
    zone = "+0000" if found.group(3) == "Z" else found.group(3).replace(":", "")
    try:
        moment = datetime.datetime.strptime(found.group(1).replace("T", " ") + zone, "%Y-%m-%d %H:%M:%S%z")
    except ValueError:
        return None
    return moment.timestamp() + float("0." + (found.group(2) or "0"))


def _journal_json(raw):
    """A line of journalctl -o json; None when it is not one."""
    try:
        entry = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(entry, dict) or "MESSAGE" not in entry:
        return None
    line = Line()
    message = entry["MESSAGE"]
    if isinstance(message, list):  # bytes that are not UTF-8
        message = bytes(b for b in message if isinstance(b, int) and 0 <= b < 256).decode("utf-8", "replace")
    line.text = " ".join(str(message)[:LONGEST].split())
    priority = str(entry.get("PRIORITY", ""))
    line.priority = int(priority) if priority in ("0", "1", "2", "3", "4", "5", "6", "7") else None
    stamp = str(entry.get("__REALTIME_TIMESTAMP", ""))
    if stamp.isdigit() and len(stamp) < 19:
        line.wall, line.stamped = int(stamp) / 1e6, True
    return line


def parse(raw):
    """Any layout: dmesg (raw, -r, -T, -x, iso), /dev/kmsg records, journal short formats and JSON, syslog, or bare text."""
    if raw.startswith("{"):
        line = _journal_json(raw[: 20 * LONGEST])
        if line is not None:
            return line
    raw = raw[:LONGEST].rstrip()
    line = Line()
    at = len(raw) - len(raw.lstrip())
    found = _KMSG.match(raw, at)
    if found:
        line.priority, line.since, line.stamped = int(found.group(1)) & 7, int(found.group(2)) / 1e6, True
        line.text = raw[found.end() :]
        return line
    found = _RAW_PRIORITY.match(raw, at)
    if found:
        line.priority, at = int(found.group(1)) & 7, found.end()
    found = _DECODED.match(raw, at)
    if found:
        word = found.group(1)
        line.priority, at = _LEVELS.index(word) if word in _LEVELS else None, found.end()
    elsewhere = False  # seconds behind a syslog time may be of another boot
    for _unused in range(4):
        found = _SECONDS.match(raw, at)
        if found:
            line.since, line.stamped, at = (None if elsewhere else float(found.group(1))), True, found.end()
            continue
        found = _CALLER.match(raw, at)
        if found:
            at = found.end()
            continue
        found = _BRACKET_WALL.match(raw, at)
        if found:
            line.when, line.stamped, at = "local time without a zone: %s" % found.group(1), True, found.end()
            continue
        found = _ISO.match(raw, at)
        if found:
            line.wall, line.stamped, at = _iso(found), True, found.end()
            line.when, elsewhere = "local time without a zone: %s" % found.group(0), True
            at = _past_tag(raw, at)
            continue
        found = _SYSLOG.match(raw, at)
        if found:
            line.when, line.stamped, at, elsewhere = "a time without a year: %s" % found.group(0), True, found.end(), True
            at = _past_tag(raw, at)
            continue
        found = _UNIX.match(raw, at)
        if found:
            line.wall, line.stamped, at, elsewhere = float(found.group(1)), True, found.end(), True
            at = _past_tag(raw, at)
            continue
        break
    found = _ELLIPSIS.match(raw, at)
    if found:
        at = found.end()
    line.text = raw[_past_tag(raw, at) :].strip()
    return line


def _past_tag(raw, at):
    """Behind "host kernel: ", where it stands."""
    found = _TAG.match(raw, at)
    return found.end() if found else at + 1 if raw[at : at + 1] == " " else at


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
    return ("".join(parts) + _blank(text[at:]))[:240], code.group(1) if code else ""


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
            }
        event["count"] += times
        event["last"] = last
        for address in addresses:
            if address not in event["addresses"] and len(event["addresses"]) < PLACES:
                event["addresses"].append(address)
        for place in everything:
            if place in event["places"] or len(event["places"]) < PLACES:
                event["places"][place] = event["places"].get(place, 0) + times
        if amount is not None:
            so_far = event.setdefault("amount", {"sum": 0, "largest": 0})
            so_far["sum"] += amount * times
            so_far["largest"] = max(so_far["largest"], amount)

    def finished(self):
        for event in self.events.values():
            event["first"], event["last"] = self.time(event["first"]), self.time(event["last"])
        return list(self.events.values())


class Interest:
    """Which lines are worth keeping: the words that do not occur in the log at all are dropped once."""

    def __init__(self, text, extra=()):
        lowered = text.lower() if '"MESSAGE"' not in text else "\n".join((*STRONG, *CHATTY, *TROUBLE, *extra))  # JSON may hide words in bytes
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


def fold(text, boot_time=None, extra=()):
    """(events, lines, dropped, first line) of a log in any layout. extra: more lower-case words that make a line worth keeping."""
    interest, folder = Interest(text, extra), Folder(boot_time)
    lines, first, held, last, times = 0, None, "", "", 0
    said = None  # the held line behind its time; the same again only counts
    for raw in text.splitlines():
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
    return folder.finished(), lines, folder.dropped, first


def _keep(folder, interest, raw, last, times):
    line = parse(raw) if raw.startswith("{") else None
    strong = interest.of(line.text if line else raw)
    if strong is not None:
        line = line or parse(raw.replace(_ESCAPED_NEWLINE, " ") if _ESCAPED_NEWLINE in raw else raw)
        folder.add(line, parse(last) if times > 1 else line, times, strong)


def _without_headers(text):
    """Journal text without "-- Logs begin at …" and its like."""
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
        elif text.count("\n") + 1 >= NEWEST:
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


def collect(host, extra=()):
    """The `kernel` section."""
    boot = host.boot_time()
    boot_time = boot.value if boot.ok and isinstance(boot.value, (int, float)) else None
    source, text, complete, reasons = _read(host)
    section = {
        "timestamp": utc(host.now()),
        "source": source or unknown("; ".join(reasons)),
        "status": "unknown",
        "reason": "; ".join(reasons),
        "boot_time": utc(boot_time) if boot_time is not None else unknown(boot.reason),
        "since": "boot",
        "covers_from": unknown("no log was read"),
        "events": [],
        "lines": 0,
        "dropped": 0,
    }
    if source is None:
        return section
    events, lines, dropped, first = fold(text, boot_time, extra)
    section.update(events=events, lines=lines, dropped=dropped)
    section["covers_from"] = Folder(boot_time).time(first) if first is not None else unknown("no line")
    # A ring that wrapped, or a journal that was vacuumed, does not begin with the boot.
    if first is not None and first.since is not None and first.since > 60:
        complete = False
        reasons.append("the log begins %d seconds after boot; older lines are gone" % first.since)
    if dropped:
        complete = False
        reasons.append("%d lines of further kinds were not kept" % dropped)
    section["status"] = "ok" if complete else "partial"
    section["reason"] = "; ".join(reasons)
    return section
