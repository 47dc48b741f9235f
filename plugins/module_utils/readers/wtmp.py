# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots in the login record /var/log/wtmp, and whether the system before each went down by itself."""

from __future__ import annotations

import struct

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc

# struct utmp of glibc: its times are 32 bits wide on x86-64, 64 bits on Arm: bits/types/struct_utmp.h.
_RECORDS = (struct.Struct("<hxxi32s4s32s256shhiii16s20x"), struct.Struct("<hxxi32s4s32s256shhqqq16s24x"))
_RUN_LEVEL, _BOOT = 1, 2
_KEPT = 20


def _marks(data):
    """[(time, whether it is a boot)] of a wtmp; None where it is none."""
    for shape in _RECORDS:
        marks = []
        if len(data) % shape.size:
            continue
        for record in shape.iter_unpack(data):
            if not 0 <= record[0] <= 9 or not 0 <= record[9] < 1 << 33:
                break
            if record[0] == _BOOT or (record[0] == _RUN_LEVEL and record[4].rstrip(b"\0") == b"shutdown"):
                marks.append((record[9], record[0] == _BOOT))
        else:
            return marks
    return None


def boots(data, since):
    """[{at, clean}], the newest last; clean is null for the first that is known. since: when this system was installed."""
    # What an image brought along says nothing of this machine: the id of a machine is made at its first boot.
    marks = [mark for mark in _marks(data) or () if mark[0] >= since - 600]
    found, before = [], None
    for at, boot in marks:
        if boot:
            found.append({"at": utc(at), "clean": None if before is None else not before})
        before = boot
    return found[-_KEPT:]
