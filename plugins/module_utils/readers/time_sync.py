# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the clock kept by somebody: chronyd's own answer, else what the kernel was told (timedatectl)."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

# chronyc(1): -c prints comma-separated values, -n no host names.
CHRONY = ["chronyc", "-c", "-n", "tracking"]
CHRONY_TEXT = ["chronyc", "-n", "tracking"]
TIMEDATECTL = ["timedatectl", "show", "-p", "NTPSynchronized"]
_SECONDS = 3
_LOCAL = "7F7F0101"  # reference id of chronyd's local mode: it serves its own clock
_LEAP = {"normal": True, "insert second": True, "delete second": True, "not synchronised": False, "not synchronized": False}
_OFFSET = re.compile(r"([-+]?\d{1,12}(?:\.\d{1,12})?)")


def _chrony(reference, name, offset, leap):
    """The leap status decides: a stratum of 3 and an offset of 0.000 are what an unsynchronized chronyd may print."""
    kept = _LEAP.get(leap.strip().lower())
    found = _OFFSET.match(offset.strip())
    if kept is None:
        return None
    local = reference.strip().upper() == _LOCAL
    facts = {"synchronized": kept and not local, "method": "chronyc", "source": name.strip() or not_applicable("chronyd follows no source")}
    if local:
        facts["source"] = "its own clock (local mode)"
    if not facts["synchronized"]:
        facts["offset_seconds"] = unknown("not synchronized: the offset means nothing")
    else:
        facts["offset_seconds"] = abs(float(found.group(1))) if found else unknown("chronyc: offset %r" % offset[:40])
    return facts


def parse_csv(text):
    parts = text.strip().split("\n")[-1].split(",")
    return _chrony(parts[0], parts[1], parts[4], parts[13]) if len(parts) == 14 else None


def parse_text(text):
    fields = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip().lower(), value.strip())
    found = re.match(r"([0-9A-Fa-f]+)\s*\((.*)\)\Z", fields.get("reference id", ""))
    if not found or "leap status" not in fields:
        return None
    return _chrony(found.group(1), found.group(2), fields.get("system time", ""), fields["leap status"])


def read(host):
    """{synchronized, source, offset_seconds (magnitude), method}."""
    answer = host.run(CHRONY, timeout=_SECONDS)
    facts = parse_csv(answer.stdout) if answer.succeeded else None
    if facts is None and answer.ok and "cannot talk" not in (answer.stdout + answer.stderr).lower():
        answer = host.run(CHRONY_TEXT, timeout=_SECONDS)  # chrony before 2.4 has no -c
        facts = parse_text(answer.stdout) if answer.succeeded else None
    if facts is not None:
        return facts
    kernel = host.run(TIMEDATECTL, timeout=_SECONDS)
    kept = {"NTPSynchronized=yes": True, "NTPSynchronized=no": False}.get(kernel.stdout.strip()) if kernel.succeeded else None
    if kept is not None:
        nothing = unknown("timedatectl does not tell")
        return {"synchronized": kept, "source": nothing, "offset_seconds": nothing, "method": "timedatectl"}
    why = [a.reason if a.status != ABSENT else "%s: not installed" % a.argv[0] for a in (answer, kernel)]
    reason = unknown("; ".join(why))
    return {"synchronized": reason, "source": reason, "offset_seconds": reason, "method": reason}
