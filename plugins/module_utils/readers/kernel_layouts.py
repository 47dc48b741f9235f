# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line of a kernel log in any layout: dmesg (raw, -r, -T, -x, -e, iso), /dev/kmsg records, journal short formats and JSON, syslog, logs of containers and
of talosctl, or bare text.
"""

from __future__ import annotations

import datetime
import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.kernel_line import LONGEST, MONTHS, Line

_KMSG = re.compile(r"(\d{1,5}),\d+,(\d{1,18}),[^;]{0,80};")
_RAW_PRIORITY = re.compile(r"<(\d{1,4})>")
_DECODED = re.compile(r"(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *:(\w+) *: ")
_SECONDS = re.compile(r"\[? *(\d{1,10}\.\d{1,9})(?: <[ \d.+-]{0,30}>)?\] ?")
_CALLER = re.compile(r"\[ *[TC]\d{1,8}\] ?")
# dmesg -T, in any language; dmesg -e: the time once a minute, else what passed since the line before.
_BRACKET_WALL = re.compile(r"\[([^\W_]{1,9}\.? +[^\W_]{1,9}\.? +\d{1,2} [\d:]{8}(?: \d{4})?|\d{4}-\d\d-\d\d[ T][\d:]{8}(?:[.,]\d{1,9})?)\] ?")
_RELATIVE = re.compile(r"\[(?:[^\W\d_]{2,9}\.? ?\d{1,2} \d\d:\d\d| *[+<>] *\d{1,10}\.\d{1,9}>?)\] ?")
# talosctl dmesg: node: kern: warning: [2026-04-22T21:25:20.458998481Z]: text
_TALOS = re.compile(r"(?:[\w.:-]{1,255}: )?kern: +(\w+): \[(?=\d{4}-)([^\]\s]{20,40})\]: ?")
_RFC5424 = re.compile(r"1 (?=\d{4}-\d\d-\d\dT)")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?= )")
# The month in any language; without it an English one, where no tag of the kernel follows.
_SYSLOG = re.compile(r"(?:(?:%s) +\d{1,2}|(?:\d{1,2}月|[^\W\d_]{3,10}\.?) +\d{1,2}(?= [\d:]{8} [\w.:-]{1,255} kernel:)) \d\d:\d\d:\d\d(?= )" % MONTHS)
_UNIX = re.compile(r"(\d{9,11}\.\d{1,9})(?= )")
_TAG = re.compile(r" *(?:(?:[\w.:-]{1,255} )?kernel(?:\[\d+\])?: ?|[\w.:-]{1,255} kernel [\w-]{1,20} [\w-]{1,20} - |std(?:out|err) [FP] )")
_ELLIPSIS = re.compile(r" *\[\.\.\.\] ")
_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")


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


def _json(raw):
    """A line of journalctl -o json, or of a container's log; None when it is neither."""
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("log"), str) and not entry["log"].startswith("{"):
        return parse(entry["log"])
    if "MESSAGE" not in entry:
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
    if raw.startswith("{"):
        line = _json(raw[: 20 * LONGEST])
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
        line.priority, at = _level(found.group(1)), found.end()
    elsewhere = False  # seconds behind a syslog time may be of another boot
    found = _TALOS.match(raw, at)
    if found:
        word, stamp = found.groups()
        when = _ISO.match(stamp + " ")
        line.priority, line.stamped, at = _level(word), True, found.end()
        line.wall = _iso(when) if when else None
        line.text = raw[at:].strip()
        return line
    found = _RFC5424.match(raw, at)
    if found:
        at = found.end()
    elif raw.startswith("kernel: [", at):
        at, elsewhere = at + 8, True
    for _unused in range(4):
        found = _SECONDS.match(raw, at)
        if found:
            line.since, line.stamped, at = (None if elsewhere else float(found.group(1))), True, found.end()
            continue
        found = _CALLER.match(raw, at)
        if found:
            at = found.end()
            continue
        found = _RELATIVE.match(raw, at)
        if found:
            line.when, line.stamped, at = "a time that the lines before it tell: %s" % found.group(0).strip(), True, found.end()
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


def _level(word):
    word = word.replace("warning", "warn")
    return _LEVELS.index(word) if word in _LEVELS else None


def _past_tag(raw, at):
    """Behind "host kernel: ", where it stands."""
    found = _TAG.match(raw, at)
    return found.end() if found else at + 1 if raw[at : at + 1] == " " else at
