# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory modules in the SMBIOS table (DMTF DSP0134)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, unknown

_KINDS = {0x18: "DDR3", 0x1A: "DDR4", 0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3"}  # 7.18.2
_NOTHING = re.compile(r"(?i)(no dimm|not specified|unknown|none|empty|n/?a|)\Z")


def _structures(table):
    """(type, formatted part, strings) of an SMBIOS table; ends quietly where it is cut."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        end = table.find(b"\0\0", at + length)
        if length < 4 or end < 0 or kind == 127:
            return
        yield kind, table[at : at + length], table[at + length : end].split(b"\0")
        at = end + 2


def _module(body, strings):
    """One memory device, DSP0134 7.18; None for an empty slot."""

    def number(at, size=2):
        return int.from_bytes(body[at : at + size], "little") if len(body) >= at + size else 0

    def text(at):
        place = body[at] if len(body) > at else 0
        words = " ".join(strings[place - 1].decode("ascii", "replace").split())[:60] if 0 < place <= len(strings) else ""
        return "" if _NOTHING.match(words) else words

    locator = " ".join(filter(None, (text(0x11), text(0x10))))
    size = number(0x0C)
    if size == 0x7FFF:
        size = number(0x1C, 4) & 0x7FFFFFFF
    elif size == 0xFFFF:
        size = None
    elif size & 0x8000:
        size = (size & 0x7FFF) // 1024
    if size == 0:
        return locator, None
    speed, configured, total, data = number(0x15), number(0x20), number(0x08), number(0x0A)
    return locator, {
        "size_mib": unknown("SMBIOS: size unknown") if size is None else size,
        "type": _KINDS.get(body[0x12] if len(body) > 0x12 else 0, "other"),
        "speed_mts": speed if 0 < speed < 0xFFFF else number(0x54, 4) or unknown("SMBIOS: speed unknown"),
        "configured_mts": configured if 0 < configured < 0xFFFF else number(0x58, 4) or unknown("SMBIOS: speed unknown"),
        "manufacturer": text(0x17),
        "part": text(0x1A),
        "ecc": total > data if 0 < data < 0xFFFF and 0 < total < 0xFFFF else unknown("SMBIOS: width unknown"),
    }


def memory(table):
    """{slots, populated, installed_mib, modules: [{count, locators, …}], empty: [locator]}; equal modules are one entry."""
    folded, empty, total = {}, [], 0
    for kind, body, strings in _structures(table):
        if kind != 17 or len(body) < 0x15:
            continue
        locator, one = _module(body, strings)
        if one is None:
            empty.append(locator)
            continue
        entry = folded.setdefault(repr(one), dict(one, count=0, locators=[]))
        entry["count"] += 1
        entry["locators"].append(locator)
        total = total + one["size_mib"] if total is not None and is_known(one["size_mib"]) else None
    filled = sum(entry["count"] for entry in folded.values())
    if not filled:
        return unknown("SMBIOS: no memory device")
    return {
        "slots": filled + len(empty),
        "populated": filled,
        "installed_mib": unknown("SMBIOS: the size of a module is unknown") if total is None else total,
        "modules": list(folded.values()),
        "empty": empty,
    }
