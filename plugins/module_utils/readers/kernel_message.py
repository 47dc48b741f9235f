# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one message of the kernel is: its template, its code, the places it names."""

from __future__ import annotations

import re

KNOWN = 2048  # templates remembered
_DIGITS = str.maketrans("123456789", "000000000")
# Codes stay in the template: two codes are never one event. NVRM: Xid (PCI:0000:9b:00): 79, …  and  SXid (PCI:0000:05:00.0): 12028, …
_CODE = re.compile(r"\bS?XID\b ?(?:\([^)]{0,40}\))? ?[:=]? ?(\d{1,6})\b", re.IGNORECASE)
_NVLINK5 = re.compile(r"\(0x([0-9a-f]{3})[0-9a-f]{5} 0x([0-9a-f]{8})\b")  # the registers of Xid 144 to 150: reason, then error status
_LABEL = re.compile(r" on (?:any memory|unknown label|[^ (]{1,80}) \(")  # EDAC names the DIMM; its digits are its name
_AMOUNT = re.compile(r"(?<![\w.])(\d{1,15}) (?:new )?(?:[CU]E|(?:un)?correct(?:able|ed)|deferred)\b")
_PCI = re.compile(r"(?<![0-9a-fA-F])(?<![0-9a-fA-F]:)([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?(?![0-9a-fA-F])(?!:[0-9a-fA-F]{2}:)")
_REPORTED = re.compile(r"AER: .{0,60} received(?:: | from )")
_NAME = re.compile(
    r"\b(nvme\d\w*|(?:sd[a-z]+\d+|md\d+|dm-\d+)(?=\))|mlx[45]_\d+|ppuid:\d+|kl3_dev\d+|hl\d+|accel\d+|davinci\d+|GPU\d+"
    r"|dev (?:nvme\w+|sd[a-z]+|md\d+)|nd-id=\d+)\b"
)
_INTERFACE = re.compile(r"(?:[0-7]|slave|device) (e[nt]\w{1,14}|ib\w{1,14})\b")
_PERSONAL = re.compile(r"\b(pid|name|task|comm|cpuset|oom_memcg|task_memcg|mems_allowed|nodemask|oom_score_adj)=[^,\s]*")
_PROCESS = re.compile(r"[Pp]rocess \d+ \([^)]{0,40}\)|[Pp]rocess \d+, UID \d+, \([^)]{0,40}\)")
_ACTOR = re.compile(r"\A\S{1,80}(?= invoked oom)|\A\S{1,60}\[\d+\](?=: segfault)")
_CHANGING = re.compile(_PCI.pattern + r"|0x[0-9a-fA-F]+|(?<![A-Za-z0-9])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,64}(?![A-Za-z0-9])|\d+")


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


def template(text, known=None):
    """(the message with what changes from one to the next replaced, its code or ""). Codes and DIMM labels stay.

    known: templates of texts that were the same but for their digits.
    """
    code = _CODE.search(text)
    number = code.group(1) if code else ""
    if known is None or text.startswith("EDAC") or (len(number) == 3 and "144" <= number <= "150"):
        return _template(text), number
    shape = text.translate(_DIGITS), number
    if shape not in known:
        if len(known) >= KNOWN:
            known.clear()
        known[shape] = _template(text)
    return known[shape], number


def _template(text):
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
        return key
    registers = _NVLINK5.search(text) if len(code.group(1)) == 3 and "144" <= code.group(1) <= "150" else None
    # The number of the link stands between them, and stays out.
    return key + (" {%d %s}" % (int(registers.group(1), 16) & 63, registers.group(2)) if registers else "")


def _blank(text):
    return _CHANGING.sub(_mark, text)


def _mark(found):
    return "<pci>" if found.group(2) else "#"


def details(text, known=None):
    """(template, code, addresses, places, amount) of a message."""
    key, code = template(text, known)
    addresses, everything = places(text)
    amount = _AMOUNT.search(text) if "E " in text or "correct" in text or "deferred" in text else None
    return key, code, addresses, everything, int(amount.group(1)) if amount else None
