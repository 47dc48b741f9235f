# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Huawei's npu-smi words trouble, and its "key : value" lines taken apart."""

from __future__ import annotations

import re

# mind-cluster, devmanager/dcmi
DCMI = {
    -8001: "bad parameter", -8002: "permission denied", -8003: "memory", -8004: "security",
    -8005: "driver not usable: upgraded without a reboot, or no access to /dev/davinci_manager",
    -8006: "timeout", -8007: "bad device id", -8008: "no such device", -8009: "ioctl failed", -8010: "send failed", -8011: "receive failed",
    -8012: "not ready", -8013: "not supported in a container", -8014: "file", -8015: "reset failed", -8017: "upgrading", -8020: "resource occupied",
}  # fmt: skip
ID = re.compile(r"[0-9]{1,7}\Z")
_CODE = re.compile(r"-8\d{3}\b")


def identifier(text):
    return int(text) if text is not None and ID.match(text) else None


def code_of(text):
    """The DCMI return code a text names, or None."""
    found = _CODE.search(text)
    return int(found.group()) if found else None


def trouble(text):
    """(one line for a text that is not the data asked for, whether it says that the product has no such query)."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if code_of(line) is not None:
            words = DCMI.get(code_of(line))
            return "%s%s" % (line[:160], " (%s)" % words if words else ""), False
    for line in lines:
        if "not support" in line.lower():
            return line[:160], True
    if not lines:
        return "no output", False
    return "%s%s" % (lines[0][:160], " (usage text)" if any(line.startswith("Usage:") for line in lines) else ""), False


def parse_blocks(text):
    """`key : value` lines as one block per chip: a key that comes again starts the next one (Chip ID stands first or last in its block)."""
    blocks, last = [{}], None
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or key == "Usage":
            continue
        if key:
            if key in blocks[-1] or (key == "Chip Name" and value.lower() == "mcu"):
                blocks.append({})
            blocks[-1][key], last = value, key
        elif last:  # a further line of the value above
            blocks[-1][last] += "; " + value
    return [block for block in blocks if block and block.get("Chip Name", "").lower() != "mcu"]
