# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What folded kernel messages mean: the catalogs in data/kernel_events.yml and data/kernel_messages.yml applied to events of a node report.

Pure, and never raises for what a node says: a message is hostile text, cut to LONGEST and only matched.
"""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file, nvlink5

DATA = Path(__file__).parent.parent / "data"
DOMAINS = ("accelerator", "pcie", "memory", "nic", "storage", "lockup", "limits", "thermal")
QUIET, COUNTED = "quiet", "counted"
LONGEST = 480
MOST = 1000  # events looked at
MANY = 10**12
_NAMESPACE = re.compile(r"(?<=\d)n\d{1,4}(?:p\d{1,4})?\Z")  # of a drive: nvme2n1p3
_BOGUS = 1048560  # 0xFFFF0: what an AMD GPU that sleeps answers to each query of its error counters

# On a device that is partitioned the driver names the instances: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 94, …
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?[0-9a-fA-F]{1,8}:[0-9a-fA-F:.]{4,12}(?: GPU-C?I:\w{1,8}){0,2}\): (\d{1,6})(?!\d)")
# Thermal events and the switch's own controllers carry no word; Severity and Data are second lines of a message (error_nvswitch.c).
_SXID = re.compile(r"nvidia-nvswitch\d+: SXid \(PCI:[0-9a-fA-F]{1,8}:[0-9a-fA-F:.]{4,12}\): (\d{1,6}), (?!Severity \d|Data \{)(?:(Fatal|Non-fatal)\b|(?=\S))")
_PPU = re.compile(r".{0,40}\balixpu\b.{0,200}?\bxid\b ?(?:\([^)]{0,40}\))? ?[:=]? ?(\d{1,6})(?!\d)", re.IGNORECASE)
_NUMBERED = (("xid", _XID), ("sxid", _SXID), ("ppu", _PPU))
_TOLD_BY = {"nvidia-memory-fatal": "154", "nvidia-watchdog": "8"}  # messages of NVIDIA's driver that name no device, and the Xid that says the same
_RECOVERY = re.compile(r"GPU recovery action changed from 0x[0-9a-f]+ \([^)]*\) to (0x[0-9a-f]+) \(([^)]*)\)")
# Drivers without a published list: their complaints are shown, never judged.
_UNLISTED = re.compile(
    r"(?:\[?(ascend|drv_\w+|devdrv\w*|davinci|hisi\w*|devmm\w*)|\[?(mtgpu|mthreads)|\[?(cambricon|cndrv)\w*|\[?(metax|mxcd)|\[?(iluvatar)"
    r"|\[?(hydcu|hycu|hyttm)|\[?(enflame|gcu)|\[?(alixpu|alipci)|\[?(kl3|xpu)\w*)\b.{0,300}(?:error|fail|fatal|timeout|lost|hang|reset)",
    re.IGNORECASE,
)
_OWNERS = ("ascend", "mthreads", "cambricon", "metax", "iluvatar", "hygon", "enflame", "thead", "kunlunxin")


class Catalog(NamedTuple):
    codes: dict  # "xid" | "sxid" | "ppu" -> {code: entry}
    actions: dict
    recovery: dict
    sources: dict
    nvlink5: dict
    messages: list  # (texts one of which a message must have, match, entry): the texts are there because they are fast


def _load(name):
    return data_file.load(DATA / name)


def spread(code):
    """Every code of "1-7,9" or of a list of such."""
    found = []
    for part in code if isinstance(code, list) else str(code).split(","):
        low, _dash, high = part.strip().partition("-")
        found += [str(n) for n in range(int(low), int(high or low) + 1)]
    return found


@lru_cache(maxsize=1)
def catalog():
    listed, worded = _load("kernel_events.yml"), _load("kernel_messages.yml")
    codes = {}
    for kind in ("xid", "sxid", "ppu"):
        codes[kind] = {}
        for entry in listed[kind]:
            for code in spread(entry["code"]):
                codes[kind][code] = entry
    messages = [(tuple(entry["has"]), re.compile(entry["match"]).match, entry) for entry in worded["messages"]]
    return Catalog(codes, listed["actions"], listed["recovery_actions"], dict(listed["sources"], **worded["sources"]), listed["nvlink5"], messages)


class Event(NamedTuple):
    """A classified event. severity: info, warn, fail, quiet or counted; code: "79", or the id of a message."""

    manufacturer: str
    kind: str  # xid, sxid, ppu, message or unlisted
    code: str
    name: str
    action: str
    severity: str
    domain: str
    summary: str
    source: str
    address: str  # first PCI address it names
    places: dict  # PCI addresses, interfaces, drives -> how often
    count: int  # times, or errors where the message counts them
    first: object
    last: object
    sample: str
    role: str
    last_at: dict  # place -> time of the last one there, where there are several places

    @property
    def title(self):
        """Xid 79 (GPU_HAS_FALLEN_OFF_THE_BUS), or the id of a message."""
        label = {"xid": "Xid", "sxid": "SXid", "ppu": "PPU XID"}.get(self.kind)
        return "%s %s (%s)" % (label, self.code, self.name) if label else self.code


def _whole(value, otherwise=0):
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MANY else otherwise


def classify(event, manufacturers=None):
    """The Event of a folded event, None when it means nothing.

    manufacturers: those with an accelerator on the node, None when that is not known. An error of another one's driver is at most a warning.
    """
    if not isinstance(event, dict):
        return None
    sample = event.get("sample")
    if not isinstance(sample, str):
        sample = event.get("template") if isinstance(event.get("template"), str) else ""
    sample = sample[:LONGEST]
    given = event.get("places")
    places = {str(k)[:60]: _whole(v, 1) for k, v in list(given.items())[:64]} if isinstance(given, dict) else {}
    addresses = event.get("addresses")
    addresses = [a[:20] for a in addresses[:64] if isinstance(a, str)] if isinstance(addresses, list) else []
    for address in addresses:
        places.setdefault(address, 1)
    facts = {
        "address": addresses[0] if addresses else "",
        "places": places,
        "count": max(_whole(event.get("count"), 1), 1),
        "first": event.get("first"),
        "last": event.get("last"),
        "sample": sample,
        "role": "",
        "last_at": event["last_at"] if event.get("last_at").__class__ is dict else {},
    }
    found = _numbered(sample, facts) or _worded(sample, event, facts) or _unlisted(sample, facts)
    if found is None:
        return None
    if manufacturers is not None and found.manufacturer and found.manufacturer not in manufacturers and found.severity == "fail":
        return found._replace(severity="warn", summary="%s (no %s accelerator was seen on this node)" % (found.summary, found.manufacturer))
    return found


def _numbered(sample, facts):
    for kind, pattern in _NUMBERED:
        match = pattern.match(sample)
        if match:
            return _listed(kind, match, sample, facts)
    return None


def _listed(kind, match, sample, facts):
    known = catalog()
    code = match.group(1)
    entry = known.codes[kind].get(code)
    if entry is None:
        name, action, level, source = "not in the catalog", "find out what this code means", "warn", ""
        summary = "a code the catalog of this release does not know"
    else:
        name, summary, source = entry.get("names", {}).get(code, entry["name"]), entry["summary"], known.sources[entry["source"]]
        action = known.actions[entry["action"]]["words"]
        level = entry.get("level") or known.actions[entry["action"]]["level"]
    if kind == "sxid":
        level, action, summary = _switch(entry, match.group(2), sample, level, action, summary)
    elif kind == "xid" and entry is not None:
        level, action, summary = _decoded(entry, sample[match.end() :], level, action, summary)
    return Event("thead" if kind == "ppu" else "nvidia", kind, code, name, action, level, "accelerator", summary, source, **facts)


def _switch(entry, word, sample, level, action, summary):
    """What the driver's own word adds to the number of an SXid."""
    actions = catalog().actions
    if word is None:
        fail = "Shutting Down" in sample
        return "fail" if fail else level, action, summary + ("; it shuts down" if fail else "")
    if word == "Fatal":
        level = "fail"
        action = action if entry and actions[entry["action"]]["level"] == "fail" else actions["RESET_LINK"]["words"]
    elif level == "fail" and (entry is None or entry["action"] != "RESET_ALL"):
        level = "warn"  # the driver says that this occurrence was not fatal
    return level, action, "%s; the driver calls it %s" % (summary, word.lower())


def _decoded(entry, rest, level, action, summary):
    """What the text of an Xid adds to its number."""
    known = catalog()
    if entry["action"] == "WORKFLOW_NVLINK5_ERR":
        decoded = nvlink5.decode(known.nvlink5, rest)
        if decoded is None:
            return "warn", action, summary
        level, action, told = decoded
        return level, known.actions[action]["words"] if action in known.actions else action, "%s; %s" % (summary, told)
    if entry["action"] == "WORKFLOW_NVLINK_ERR" and "fatal error" in rest:
        return "fail", known.actions["RESET_GPU"]["words"], summary + "; fatal"
    if entry["action"] == "XID_154":
        said = _RECOVERY.search(rest)
        if said is None:
            return "warn", action, summary + ", but the message is cut"
        recovery = known.recovery.get(said.group(1))
        if recovery is None:
            return "warn", action, "the driver asks for %s, which the catalog of this release does not know" % said.group(2)[:40]
        return recovery["level"], recovery["name"], "the driver asks for: %s" % recovery["name"]
    return level, action, summary


@lru_cache(maxsize=4096)
def _entry(sample):
    """The message of the catalog that a text is; nodes of a fleet say much the same."""
    for has, match, entry in catalog().messages:
        for text in has:
            if text in sample:
                break
        else:
            continue
        if match(sample):
            return entry
    return None


def _worded(sample, event, facts):
    entry = _entry(sample)
    if entry is not None:
        level, summary, role, action = entry["level"], entry.get("summary", ""), entry.get("role", ""), entry.get("action", "")
        if entry.get("amount"):
            amount = event.get("amount")
            amount = amount if isinstance(amount, dict) else {}
            total, largest = _whole(amount.get("sum"), facts["count"]), _whole(amount.get("largest"))
            if total == 0:
                return None  # "0 uncorrectable hardware errors" is an all-clear
            facts = dict(facts, count=total)
            if entry["manufacturer"] == "amd" and largest and largest % _BOGUS == 0:
                level, role, action = "warn", "suspicious", "read the counters again while the GPU is awake"
                summary = "a count of %d, which a sleeping GPU answers to every query" % largest
        facts = dict(facts, role=role)
        source = catalog().sources[entry["source"]]
        name = entry["id"]
        return Event(entry["manufacturer"], "message", name, name, action, level, entry["domain"], summary, source, **facts)
    return None


def _unlisted(sample, facts):
    match = _UNLISTED.match(sample)
    if match is None:
        return None
    owner = next(name for name, word in zip(_OWNERS, match.groups()) if word)
    summary = "the driver complains; its maker publishes no list to judge by"
    return Event(owner, "unlisted", "driver-message", "driver-message", "read the message", "info", "accelerator", summary, "", **facts)


def later(one, other):
    """Whether time one is after time other; None when either is not known. Both are texts of the same form."""
    return one > other if isinstance(one, str) and isinstance(other, str) else None


def _earlier_boot(last, boot_time):
    """Whether an event ended clearly before the boot; ten minutes are left to a clock that was corrected."""
    try:
        ended, booted = (datetime.datetime.fromisoformat(text[:19]) for text in (last, boot_time))
    except (TypeError, ValueError, KeyError):
        return False
    return ended < booted - datetime.timedelta(minutes=10)


def assess(events, manufacturers=None, boot_time=None, addresses=dict, accepted=dict):
    """Every classified event of a section that says something, put together: resets with their end, links with their up and down.

    An event that ended before boot_time (UTC text) is of an earlier boot and left out. addresses(): the PCI address of each adapter and drive by its
    name; accepted(): by its PCI address when a part that is still there was there before. Both are asked only where parts were attached.
    """
    classified = []
    for event in events[:MOST] if isinstance(events, list) else ():
        found = classify(event, manufacturers)
        if found is not None and not _earlier_boot(found.last, boot_time):
            classified.append(found)
    roles = {}
    for event in classified:
        roles.setdefault(event.role, []).append(event)
    attached = _attached(roles.get("attached", ()))
    if attached:
        held = accepted()  # a part that was taken off the bus and found again is the same part
        attached = {place: at for place, at in attached.items() if not later(at[:19], held.get(place, at)[:19])}
        attached.update((name, attached[address]) for name, address in addresses().items() if address in attached)
        classified = [_of_an_earlier_part(event, attached) for event in classified]
        roles = {}
        for event in classified:
            roles.setdefault(event.role, []).append(event)
    return [event for event in (_together(e, roles, classified) for e in classified) if event is not None]


def _attached(events):
    """PCI address -> when a part was last attached there while the machine ran."""
    found = {}
    for event in events:
        for place in event.places:
            at = event.last_at.get(place, event.last)
            if at.__class__ is str and at > found.get(place, ""):
                found[place] = at
    return found


def _of_an_earlier_part(event, attached):
    """An event without the places where another part was attached since; when none is left it condemns nothing."""
    if event.severity not in ("warn", "fail", COUNTED):
        return event
    gone = {p for p in event.places if later(attached.get(p) or attached.get(_NAMESPACE.sub("", p)), event.last_at.get(p, event.last))}
    if not gone:
        return event
    if len(gone) == len(event.places):
        return event._replace(severity="info", summary=event.summary + "; a part was attached there since", action="no action", role="")
    left = {p: n for p, n in event.places.items() if p not in gone}
    return event._replace(places=left, count=max(sum(left.values()), 1))


def _same_place(one, other):
    return not one.places or not other.places or bool(set(one.places) & set(other.places))


def _together(event, roles, classified):
    if event.role in ("reset", "until-reset"):
        done = [r for r in roles.get("reset-done", ()) if _same_place(r, event) and later(event.last, r.last) is not True]
        if event.role == "reset":
            if done:
                return event._replace(summary=event.summary + "; it succeeded")
            return event._replace(severity="fail", summary=event.summary + "; no message says that it succeeded", action="restart the machine")
        return event._replace(severity="warn", summary=event.summary + "; a reset succeeded") if done else event
    if event.role == "init" and not event.places and any(e.role == "init" and e.places for e in classified):
        return None  # the messages with an address say it of each device
    if any(e.kind == "xid" and e.code == _TOLD_BY.get(event.code) for e in classified):
        return None  # the code says it of the device
    if event.role == "oom" and roles.get("oom-manual"):
        asked = sum(e.count for e in roles["oom-manual"])
        return event._replace(count=event.count - asked) if event.count > asked else None
    if event.role == "oom-manual":
        return event
    if event.role == "link-down":
        # The driver names the port and the interface; the larger number counts each change once.
        same = [e for e in roles["link-down"] if _same_place(e, event) and e.places]
        if same and max(same, key=lambda e: (e.count, e.sample)) is not event:
            return None
        ups = [e for e in roles.get("link-up", ()) if _same_place(e, event)]
        down = not ups or any(later(d.last, u.last) for d in (same or [event]) for u in ups if d.count == event.count)
        return event._replace(summary="%s; it is %s now" % (event.summary, "down" if down else "up"))
    if event.kind == "xid" and event.code == "154":
        newer = [e for e in classified if e.code == "154" and e.kind == "xid" and e.severity == "info" and _same_place(e, event) and later(e.last, event.last)]
        return event._replace(severity="info", summary=event.summary + "; later: none") if newer and event.severity == "fail" else event
    return None if event.severity == QUIET else event
