# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that file systems have counted, and file systems that count none."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

EXT4, BTRFS = "/sys/fs/ext4", "/sys/fs/btrfs"
_KEPT = 64
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_NO_TIME = not_applicable("btrfs keeps no time of its errors")
# Linux Documentation/admin-guide/xfs.rst: its files in sysfs say what is done at an error, and statistics hold none.
_UNCOUNTED = not_applicable("XFS keeps no count of its errors")


def _counted(host, base):
    """Sum of the counters of a file system's devices. error_stats: a word and a number a line, since Linux 5.14."""
    listing = host.listdir(base + "devinfo")
    if not listing.ok:
        return unknown(listing.reason)
    total = 0
    for device in sorted(listing.value)[:_KEPT]:
        told = host.read_text("%sdevinfo/%s/error_stats" % (base, device), 4096)
        rows = [line.split() for line in (told.value or "").splitlines()]
        if not told.ok or not rows:
            return unknown(told.reason if not told.ok else "%s: empty" % told.subject)
        try:
            total += sum(integer(number) for _word, number in rows)
        except ValueError:
            return unknown("%s: not understood" % told.subject)
    return total


def read(host, told):
    """{device: {count, last}}, btrfs' devices as one. told: {kind: listing of its directory}; a kind that could not be listed stands for its devices."""
    found = {kind: dict.fromkeys(("count", "last"), unknown(answer.reason)) for kind, answer in told.items() if not answer.ok and answer.status != ABSENT}
    ext4, btrfs, xfs = (sorted(told[kind].value or ())[:_KEPT] for kind in ("ext4", "btrfs", "xfs"))
    for name in ext4:
        if name != "features":
            base = "%s/%s/" % (EXT4, name)
            count = fact(host, base + "errors_count", integer)  # until the file system is checked
            found[name] = {"count": count, "last": fact(host, base + "last_error_time", integer) if count != 0 else not_applicable("no error")}
    for name in filter(_UUID.match, btrfs):
        base = "%s/%s/" % (BTRFS, name)
        devices = host.listdir(base + "devices")
        shown = "+".join(sorted(devices.value or ())[:8]) or name
        found[shown[:120]] = {"count": _counted(host, base), "last": _NO_TIME}
    found.update((name, {"count": _UNCOUNTED, "last": _UNCOUNTED}) for name in xfs if name not in ("stats", "debug"))
    return found
