# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLink by nvidia-smi nvlink -s and -e: one call each for all cards, none when no card can have NVLink. Asked only where NVML did not answer."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.nvidia import links_group
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

STATES, ERRORS = ["nvidia-smi", "nvlink", "-s"], ["nvidia-smi", "nvlink", "-e"]
TIMEOUT = 20
# Parts made without NVLink (their product briefs), not asked for it.
_NO_NVLINK = re.compile(r"\b(T4G?|L4|L40S?|L2|L20|A10G?|A2|A16|P4|P40|RTX 40\d\d|RTX 50\d\d|RTX PRO|GTX)\b")
# What is said of a card follows its name, on this line or the next ones.
_CARD = re.compile(r"GPU (\d{1,4}): .*?\(UUID: ?([^)\s]*)\)\s*(.*)\Z")
_LINK = re.compile(r"\s+Link (\d{1,4}): (.*)\Z")
_SPEED = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) GB/s")
# Before NVLink 5: Replay, Recovery, CRC Errors; since then among others Rx Errors, Effective Errors. Packets, rates and raw bit errors are none.
_COUNT = re.compile(r"([A-Za-z][A-Za-z ]{1,50}?(?:Errors?|Discards?)): (\d{1,20})\Z")


def parse(text):
    """nvidia-smi nvlink -s -> {index: {uuid, links: {n: text}, said}}; said = a sentence in place of links."""
    cards, current = {}, None
    for line in text.splitlines():
        card, link = _CARD.match(line), _LINK.match(line)
        if card:
            current = cards.setdefault(int(card.group(1)), {"uuid": card.group(2), "links": {}, "said": card.group(3).strip()[:200]})
        elif line.startswith("GPU "):
            current = None  # of which card the next lines tell is not known
        elif current is not None and link:
            current["links"][int(link.group(1))] = link.group(2).strip()
        elif current is not None and line.strip():
            current["said"] = current["said"] or line.strip()[:200]
    return cards


def parse_errors(text):
    """nvidia-smi nvlink -e -> {index: {uuid, errors: {name: sum over the links}, whole}}; whole False: lines were left out."""
    cards, current = {}, None
    for line in text.splitlines():
        card, link = _CARD.match(line), _LINK.match(line)
        if card:
            current = cards.setdefault(int(card.group(1)), {"uuid": card.group(2), "errors": {}, "whole": True})
        elif line.startswith("GPU "):
            current = None
        elif current is not None and line.strip().startswith(("...", "[...")):
            current["whole"] = False
        elif current is not None and link:
            count = _COUNT.match(link.group(2).strip())
            if count:
                name = "_".join(count.group(1).lower().split())
                current["errors"][name] = current["errors"].get(name, 0) + int(count.group(2))
    return cards


def _states(told):
    said, links = told["said"], told["links"]
    down = sorted(n for n, text in links.items() if "inactive" in text.lower())
    # one that sleeps (NVML_NVLINK_STATE_SLEEP) is up and idle
    speeds = {n: _SPEED.match(text) for n, text in links.items() if n not in down and "sleep" not in text.lower()}
    odd = ["link %d: %s" % (n, links[n]) for n, found in speeds.items() if not found]
    if links:
        speed = min(float(found.group(1)) for found in speeds.values()) if speeds and not odd else not_applicable("no link that is awake")
        return links_group(len(links), down, odd[0] if odd else "", speed)
    if "all links are inactive" in said.lower():
        return {"kind": "nvlink", "total": unknown(said), "up": 0, "down": unknown(said)}
    if re.search("does not have or support|in mig mode|: not supported", said.lower()):
        return not_applicable("NVLink: %s" % said)
    return unknown("nvidia-smi nvlink -s: %s" % (said or "nothing said of this card"))


def _of(told, index, raw):
    """What was told of a card: by its UUID where all differ, else by its number."""
    by_uuid = {card["uuid"]: card for card in told.values()}
    return told.get(index) if len(by_uuid) < len(told) else by_uuid.get(raw.get("identity.uuid"))


def ask(host, cards, sources):
    """links of every card."""
    links = {}
    for index, raw in enumerate(cards):
        if "handle" in raw:
            links[index] = unknown(raw["handle"])
        elif raw.get("partition.enabled") == "Enabled" or _NO_NVLINK.search(str(raw.get("name"))):
            links[index] = not_applicable("NVLink: none on this part, or not told in MIG mode")
    if len(links) == len(cards):
        return links
    command = host.run(STATES, timeout=TIMEOUT)
    sources.append(report.source(command))
    told = parse(command.stdout)
    for index, raw in enumerate(cards):
        card = _of(told, index, raw)
        if index not in links:
            links[index] = _states(card) if card else unknown("card not listed; %s" % command.reason)
    used = [index for index, group in links.items() if is_known(group.get("up", unknown(""))) and group["up"]]
    if used:
        command = host.run(ERRORS, timeout=TIMEOUT)
        sources.append(report.source(command))
        told = parse_errors(command.stdout)
        for index in used:
            card = _of(told, index, cards[index]) or {"errors": {}, "whole": True}
            errors = dict(sorted(card["errors"].items()))
            # what was counted stays counted; none is said only of all links
            whole = errors and (card["whole"] or any(errors.values()))
            links[index]["errors"] = errors if whole else unknown("nvidia-smi nvlink -e: %s" % (command.reason or "not all links were counted"))
    return links
