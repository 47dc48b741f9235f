# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools in the manner of nvidia-smi print: texts by path, and Devices made of them.

A path is made of the printed names in lower case with underscores: "FB Memory Usage" > "Total" is fb_memory_usage/total.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, number, unknown

ADDRESS = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_FLAG = {"yes": True, "enabled": True, "on": True, "true": True, "no": False, "disabled": False, "off": False, "false": False}
_HEAD = re.compile(r"GPU ?(\d{1,4})?:? *(%s)\s*\Z" % ADDRESS)
_PAIR = re.compile(r"(\s*)([A-Za-z][^:]{0,60}?)\s*:(?: +(.*))?\Z")
_TITLE = re.compile(r"(\s*)([A-Za-z][\w ()/.-]{0,60}?)\s*\Z")
_LINK = re.compile(r"\s*Link ?(\d{1,3})\b\s*[:|]?\s*(.*)\Z", re.IGNORECASE)


class Log:
    """top: path -> text; cards: path -> text each; problems: why cards may be missing; fits: it is such an output."""

    def __init__(self):
        self.top, self.cards, self.problems, self.fits = {}, [], [], False

    def check(self, what):
        attached = self.top.get("attached_gpus")
        if attached is not None and attached.strip() != str(len(self.cards)):
            self.problems.append("%s: %.20r attached, %d described" % (what, attached, len(self.cards)))
        return self


def path_name(text):
    return re.sub(r"[^a-z0-9]+", "_", str(text).lower()).strip("_")


def text_log(text, what):
    """Blocks of `key : value` below `GPU 00000000:18:00.0`; indentation tells what belongs together."""
    log, stack = Log(), []
    for line in text.splitlines():
        line = line.expandtabs().rstrip()
        head = _HEAD.match(line.strip())
        if head:
            log.cards.append({"id": head.group(2)})
            if head.group(1):
                log.cards[-1]["index"] = head.group(1)
            stack = []
            continue
        pair = _PAIR.match(line)
        title = None if pair else _TITLE.match(line)
        if not pair and not title:
            continue
        indent = len((pair or title).group(1))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        name = path_name((pair or title).group(2))
        if pair:
            flat = log.cards[-1] if log.cards else log.top
            flat.setdefault("/".join([part for _indent, part in stack] + [name]), (pair.group(3) or "").strip()[:400])
        else:
            stack.append((indent, name))
    log.fits = bool(log.cards) or "attached_gpus" in log.top
    if log.fits and "attached_gpus" not in log.top:  # a text has no end that could be missed
        log.problems.append("%s: how many are attached is not printed" % what)
    return log.check(what)


def value_of(kind, text, what):
    """A text as a fact. kind: t text, n count, f flag, w word, x lanes, else the unit of a number."""

    def convert(words):
        if kind == "t":
            # <version>: a placeholder of a manual; a sentence in place of a value
            return None if words.startswith("<") or re.search(r"\bnot (?:a )?(?:valid|supported|available)", words) else words[:200]
        if kind == "f":
            return _FLAG[words.lower()]
        if kind == "w":
            return path_name(words)
        if kind == "x":
            words = words.lower().strip("x ")
        value = number(words, what, None if kind == "n" or kind == "x" else kind)
        if not is_known(value) or not 0 <= value < 1 << 31 or (kind in "nx" and not words.isdigit()):
            return None
        return value

    return build.told(text, what, convert)


def facts(card, spec, tool):
    """The groups of a Device from a card. spec: lines `place kind path…`; of the printed paths the first that tells something."""
    found = {}
    for line in spec.strip().splitlines():
        place, kind, *paths = line.split()
        texts = [text for path in paths for name, text in card.items() if name == path or name.endswith("/" + path)]
        values = [value_of(kind, text, "%s: %s" % (tool, place)) for text in texts] or [unknown("%s: %s: not printed" % (tool, place))]
        value = next((v for v in values if is_known(v)), values[0])
        group, dot, name = place.partition(".")
        if dot:
            found.setdefault(group, {})[name] = value
        else:
            found[group] = value
    return found


def link_states(text):
    """`GPU 0…` with lines `Link 0: 25 GB/s`, `Link 1: <inactive>`: {card: {link: True, False or None}}."""
    cards, current = {}, None
    for line in text.splitlines():
        head, link = re.match(r"\s*GPU ?(\d{1,4})\b", line), _LINK.match(line)
        if head:
            current = cards.setdefault(int(head.group(1)), {})
        elif link and current is not None:
            words = link.group(2).lower()
            down = re.search(r"\b(?:down|inactive|disabled|off)\b", words)
            up = re.search(r"\b(?:up|active|enabled|on)\b|\d ?g(?:b|bps|b/s|t/s)\b", words)
            current[int(link.group(1))] = False if down else True if up else None
    return cards


def links(kind, states, absent):
    """The group of one card. absent: the fact when nothing was told."""
    if not states:
        return absent
    unclear = [number for number, state in states.items() if state is None]
    if unclear:
        return unknown("%s: link %s: not understood" % (kind, ", ".join(map(str, sorted(unclear)))))
    down = sorted(number for number, state in states.items() if state is False)
    if len(down) == len(states):
        return not_applicable("%s: none of %d links is connected" % (kind, len(states)))
    return {"kind": kind, "total": len(states), "up": len(states) - len(down), "down": down}


class Node:
    """What PCI, /dev and /sys/module tell of one manufacturer."""

    def __init__(self, host, manufacturer, pci, module, node):
        """module: kernel module; node: regular expression of the names of its device nodes in /dev."""
        self.host, self.manufacturer = host, manufacturer
        self.pci = on_pci(host, manufacturer, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        listing = host.listdir("/dev")
        self.nodes = sorted(name for name in listing.value if re.match(node + r"\Z", name)) if listing.ok else []
        self.module_version, loaded = vendor_tool.module_version(host, module)
        self.hints = ", ".join(["/dev/" + name for name in self.nodes[:3]] + (["%s is loaded" % loaded] if loaded else []))

    def unlisted(self, log, tool, cards=None):
        """A device node that the driver made and the tool does not list is a card that is missing. cards: those that have a node."""
        listed = len(log.cards if cards is None else cards)
        if 0 < listed < len(self.nodes):
            log.problems.append("%s lists %d, in /dev there are %d" % (tool, listed, len(self.nodes)))

    def devices(self, log, spec, tool, complete):
        """Device for each card; complete(device facts, card, index) adds what only the manufacturer knows."""
        found, taken = [], set()
        for position, card in enumerate(log.cards):
            told = facts(card, spec, tool)
            index = value_of("n", card.get("index", str(position)), "index")
            index = index if is_known(index) and index not in taken else next(n for n in range(position, position + len(taken) + 1) if n not in taken)
            taken.add(index)
            told.setdefault("extra", {})
            address = self.place(card)
            complete(told, card, index)
            entry = self.on_bus.get(address) if is_known(address) else None
            told["numa_node"] = entry["numa_node"] if entry else unknown("PCI: %s" % ("not there" if is_known(address) else "address not told"))
            lanes = dict(vendor_tool.pcie(entry, {}, "%s does not tell it" % tool))
            lanes.update({key: value for key, value in told.get("pcie", {}).items() if is_known(value) or key not in lanes})
            told["pcie"] = lanes
            drm = self.host.listdir("/sys/bus/pci/devices/%s/drm" % address) if is_known(address) else None
            drm = ["/dev/dri/" + name for name in sorted(drm.value) if re.match(r"(?:card|renderD)\d+\Z", name)] if drm is not None and drm.ok else []
            who = {key: told.pop(key, None) for key in ("uuid", "serial", "slot")}
            told.update(identity=build.identity(pci=address, **who), device_nodes=told.pop("nodes", []) + drm)
            found.append(build.device("%s:%d" % (self.manufacturer, index), index, told.pop("name"), **told))
        return build.mark_duplicates(found)

    def place(self, card):
        return build.normalize_pci(card.get("id") or self._address(card))

    def _address(self, card):
        for path, text in card.items():
            if path.endswith("bus_id"):
                return text
        bus = next((text.lower() for path, text in card.items() if path.endswith("pci/bus")), "")
        found = [address for address in self.on_bus if bus.startswith("0x") and address.split(":")[1] == bus[2:].zfill(2)]
        return found[0] if len(found) == 1 else None

    def section(self, tool, devices, log, failed, driver, notes, count=None):
        """log: what told the devices, None when nothing did; failed: why it could not be read; count: the block host."""
        if log is not None and log.problems:
            failed = "; ".join(log.problems)[:300]
        if not failed and not devices and self.hints and not self.pci:
            failed = "%s lists none, yet there is %s" % (tool.name, self.hints)
        missing = tool.missing and not self.hints
        block = build.detection(self.manufacturer, devices, failed, self.pci, count, missing)
        block["host"] = count or not_applicable("%s: no second count; PCI stands beside it" % self.manufacturer)
        if failed and devices:
            block["accelerators"] = unknown(failed)  # what was seen is a lower bound, not a count
        driver = dict(driver, module_version=self.module_version)
        return build.section(self.manufacturer, self.host, devices, block, driver, tool.sources, note="; ".join(filter(None, notes)))
