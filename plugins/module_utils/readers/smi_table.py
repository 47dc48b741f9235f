# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of hl-smi and of Kunlunxin's xpu-smi, which look like that of nvidia-smi: cells between bars, two or three rows a card."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_smi

LOGGER = re.compile(r"(?:\[[^\]]{0,60}\] ?)+")  # hl-smi prints through its logger: time, name and level before every line
_FIRST = re.compile(r"(\d{1,4}) +(\S.*?) +(\S+)\Z")
_POWER = re.compile(r"(\S+) +(\S+) +(\S+) +(\S+) */ *(\S+)\Z")
_VERSION = re.compile(r"([A-Z][\w-]*(?: \w+)? Version|Version): +([^\s|]+)")
_RULE = re.compile(r"[|+][-=+]{20,}[|+]\Z")


def parse(text, what):
    """Log of the cards by name, id, index, temperature, performance, draw, limit, memory/used, memory/total, utilization, and the name of the last column."""
    log, card, listing, column = vendor_smi.Log(), None, None, ""
    for line in text.splitlines():
        line = line.strip()
        line = LOGGER.sub("", line, count=1).strip() if line.startswith("[") else line
        for name, version in _VERSION.findall(line) if not log.fits else ():
            log.top.setdefault(vendor_smi.path_name(name), version)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        tokens, first = cells[0].split(), _FIRST.match(cells[0])
        if "Bus-Id" in line and len(cells) == 3:
            log.fits, column = True, vendor_smi.path_name(cells[2])
        elif not log.fits or not line.startswith("|") or _RULE.match(line):
            continue
        elif re.match(r"(?:Compute )?Processes:", cells[0]):
            listing = {}
        elif listing is not None:
            if len(tokens) > 2 and tokens[0].isdigit() and any(token.isdigit() for token in tokens[1:4]):
                listing[tokens[0]] = listing.get(tokens[0], 0) + 1
        elif len(cells) == 3 and first and re.match(vendor_smi.ADDRESS + r"(?: |\Z)", cells[1]):
            card = {"index": first.group(1), "name": first.group(2), "id": cells[1].split()[0], column: cells[2]}
            log.cards.append(card)
        elif len(cells) == 3 and card is not None and "draw" not in card and _POWER.match(cells[0]):
            card.update(zip(("fan", "temperature", "performance", "draw", "limit"), _POWER.match(cells[0]).groups()))
            used, _slash, total = cells[1].partition("/")
            use = cells[2].split() or [""]
            card.update({"memory/used": _mib(used), "memory/total": _mib(total), "utilization": use[0]})
        elif len(cells) == 3 and card is not None and not cells[0] and "draw" in card:
            card.setdefault("last", cells[2])
        elif log.cards or first or (_POWER.match(cells[0]) and tokens[0] != "Fan"):
            log.problems.append("%s: a row that is not understood: %.80r" % (what, line))
    if any("draw" not in entry for entry in log.cards):
        log.problems.append("%s: ends inside the table" % what)
    log.ended = listing is not None  # the list of processes comes last
    for entry in log.cards if log.ended else ():
        entry["running"] = str(listing.get(entry["index"], 0))
    return log


def _mib(text):
    return re.sub("mib$", "MiB", text.strip(), flags=re.IGNORECASE)


def unconfirmed(log, pci, what):
    """A table without its end is complete when PCI shows as many; else a reason for log.problems."""
    if not log.ended and not (isinstance(pci, list) and len(pci) == len(log.cards)):
        log.problems.append("%s: its list of processes is missing, more may be" % what)
