# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rasdaemon has kept since it was installed: errors that the firmware reports name no module in EDAC's counters, and stand here."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

SUMMARY = ["ras-mc-ctl", "--summary"]
_KEPT = 32
# The words of a record may stand on two lines, where its label is long.
_MODULE = re.compile(
    r"(Corrected|Uncorrected|Fatal|Deferred|Info)\b[^':\n]{0,40} on DIMM Label\(s\): '([^']{0,80})'\s+location: \S{1,40} errors: ([0-9]{1,12})"
)
_COUNTED = re.compile(r"\s+([0-9]{1,12}) (\S.{0,118}?)(?: errors)?$|\s+(\S.{0,80}) has ([0-9]{1,12}) errors$")


def parse(text):
    """{memory: [{kind, module, count}], others: [{source, what, count}]}."""
    memory = [{"kind": kind.lower(), "module": label.strip(), "count": int(count)} for kind, label, count in _MODULE.findall(text)]
    others, source = [], ""
    for line in text.splitlines():
        if line.rstrip().endswith("summary:"):
            source = line.strip()[:-8].strip()[:40]
            continue
        found = _COUNTED.match(line.rstrip()) if source and not source.startswith("Memory") else None
        if found:
            count, what, part, times = found.groups()
            others.append({"source": source, "what": what or part, "count": int(count or times)})
    return {"memory": memory[:_KEPT], "others": others[:_KEPT]}


def read(host):
    command = host.run(SUMMARY, timeout=10)
    if command.status == ABSENT:
        return not_applicable("rasdaemon is not installed")
    said = "summary:" in command.stdout or "No Memory errors" in command.stdout
    return parse(command.stdout) if command.succeeded and said else unknown(command.reason if not command.succeeded else "ras-mc-ctl: not understood")
