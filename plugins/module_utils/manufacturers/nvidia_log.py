# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-smi -q -x, or what tells less where that is not understood. Asked only where NVML did not answer.

Read by structure: output that ends early still tells what came before.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

XML, TEXT, TABLE = (["nvidia-smi", *words.split()] for words in ("-q -x", "-q", ""))
TIMEOUT_LOG = 45
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons\Z")
_INFOROM = re.compile(r"infoROM is corrupted at gpu ([0-9a-f:.]+)", re.IGNORECASE)
_HANDLE = re.compile(r"Unable to determine the device handle for gpu ?(?:(\d{1,3}): )?(?:([0-9a-f:.]{7,}?): )?(?=\S)", re.IGNORECASE)
_DEPRECATED = re.compile(r" ?\[Deprecated; [^\]]{0,200}\]\Z")  # branch 610 says it behind a value
_TOKEN = re.compile(r"<(/?)([A-Za-z_][\w.-]*)([^<>]*)>|<[!?][^>]*>|([^<]+)")


class Log:
    """top: path -> text; gpus: one dict of path -> text each, every path under its last one, two and three components too."""

    def __init__(self):
        self.top, self.gpus, self.complete = {}, [], False

    def open(self, path, attribute=""):
        if path == ["gpu"]:
            self.gpus.append({"id": attribute, "mig": [], "reasons": None})
        elif self.gpus and path[-1] == "mig_device":
            self.gpus[-1]["mig"].append({})
        elif self.gpus and path[-1] == "process_info":
            self.gpus[-1]["processes"] = str(int(self.gpus[-1].get("processes") or 0) + 1)

    def leaf(self, path, text):
        path, text = [part.lower() for part in path], _DEPRECATED.sub("", text)
        if path[0] != "gpu" or not self.gpus:
            self.top.setdefault("/".join(path), text)
            return
        flat = self.gpus[-1]
        if path[-1] == "process_name" or path[-2:] == ["process_id", "name"]:
            flat.setdefault("names", []).append(text)
            return
        if len(path) > 2 and _REASON.match(path[1]):
            name = re.sub(r"^clocks_(event|throttle)_reason_", "", path[-1])
            flat["reasons"] = dict(flat["reasons"] or {}, **{name: text})
            return
        if "mig_device" in path and flat["mig"]:
            flat = flat["mig"][-1]
        if path[-1] == "processes":
            text = text or "0"
        for start in range(max(0, len(path) - 3), len(path)):
            flat.setdefault("/".join(path[start:]), text)


def parse_xml(text):
    log = Log()
    stack, words, fresh = [], "", False
    for closing, tag, attributes, content in _TOKEN.findall(re.sub(r"(?s)<supported_clocks>.*?</supported_clocks>", "", text)):
        if content:
            words += content
        elif tag and not closing:
            stack.append(tag)
            found = re.search("id=[\"']([^\"']*)", attributes)
            if stack[1:]:
                log.open(stack[1:], found.group(1) if found else "")
            words, fresh = "", True
        elif tag in stack:
            if fresh and stack[-1] == tag and stack[1:]:
                log.leaf(stack[1:], words.strip().replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&"))
            while stack.pop() != tag:
                pass
            fresh = False
            log.complete = log.complete or tag == "nvidia_smi_log"
    return log


def pick(flat, spec):
    """{place: text}: of the elements that are there, the first that tells something."""
    found = {}
    for place, _kind, *elements in spec:
        texts = [flat[element] for element in elements if element in flat]
        if texts:
            found[place] = next((t for t in texts if t not in ("", "N/A", "[N/A]")), texts[0])
    return found


def lost_cards(text):
    """Cards that could not be opened: [(index or None, address or None, what was said)]."""
    found = [_HANDLE.match(line) for line in dict.fromkeys(line.strip() for line in text.splitlines())]
    return [(int(f.group(1)) if f.group(1) else None, f.group(2), f.string[:200]) for f in found if f]


def corrupted_inforoms(text):
    return _INFOROM.findall(text)


def ask(host, sources):
    """The same from nvidia-smi: -q -x, or what tells less where that is not understood."""
    command = host.run(XML, timeout=TIMEOUT_LOG)
    first = _understood(command, parse_xml(command.stdout), sources)
    # without NVML, without an answer in time, or where the program may not be run, it has nothing else to say
    final = command.status not in ("ok", "signaled", "overflow") or "failed to initialize nvml" in (command.stdout + command.stderr).lower()
    if first[2] and first[2][0] == smi.OTHER and not final:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_q_text, nvidia_table

        for argv, parse in ((TEXT, nvidia_q_text.parse), (TABLE, nvidia_table.parse), (nvidia.LIST, nvidia_table.by_list)):
            command = host.run(argv, timeout=nvidia.TIMEOUT_SHORT)
            told = _understood(command, parse(command.stdout), sources)
            if told[0]:
                told[1]["instead"] = "%s; read with %s instead" % (first[2][1], command.subject)
                if argv is not TEXT:
                    told[1]["listing"] = listing = command if argv is nvidia.LIST else host.run(nvidia.LIST, timeout=nvidia.TIMEOUT_SHORT)
                    nvidia_table.complete(told[0], smi.parse_list(listing.stdout))
                    sources += [] if argv is nvidia.LIST else [report.source(listing)]
                return told
            if command.status == "timeout":
                break
    return first


def _understood(command, log, sources):
    """(cards or None, system, (kind, reason) or None) of one call."""
    sources.append(report.source(command))
    said = command.stdout + "\n" + command.stderr
    cards = _cards(log, said)
    driver, cuda = (log.top.get(newer) or log.top.get(older) for newer, older in (("kmd_version", "driver_version"), ("cuda_umd_version", "cuda_version")))
    system = {"driver_version": driver, "cuda_version": cuda, "source": command.subject, "argv": command.argv}
    system["attached"] = nvidia.value(log.top.get("attached_gpus"), "attached_gpus", "n")
    # nvidia-smi answers only when library and module are of one version
    found = re.search(r"NVML library version: (\S+)", said)
    system["library_version"] = found.group(1) if found else driver if cards else None
    kind, reason = smi.failure(command)
    if cards:
        if command.status != "ok" or (log.gpus and not log.complete):
            system["early"] = reason if command.status != "ok" else "%s: the output ends early" % command.subject
            sources[-1].update(detail=system["early"])
        return cards, system, None
    if kind == smi.NONE or (log.complete and system["attached"] == 0 and command.status == "ok"):
        return [], system, None
    return None, system, (kind, reason)


def _cards(log, said):
    """Cards of a log, with those nvidia-smi could not open in their places."""
    cards = []
    corrupted = [report.normalize_pci(address) for address in corrupted_inforoms(said)]
    for flat in log.gpus:
        raw = pick(flat, smi.SPEC)
        raw.setdefault("identity.pci", flat["id"] or None)
        raw.update(reasons=flat["reasons"], names=flat.get("names"), mig=[pick(part, smi.MIG_SPEC) for part in flat["mig"]])
        listed = flat.get("mig_devices", "")
        if not flat["mig"] and listed.strip().lower() not in ("", "none"):
            raw["mig_failed"] = "mig_devices: %s" % listed.strip()[:80]
        if "index" in flat:
            raw["index"] = flat["index"]
        if "hami-core" in said.lower():
            raw["memory_mib"] = unknown("HAMi-core shows its limit in place of the memory: %s" % raw.get("memory_mib"))
        if report.normalize_pci(raw["identity.pci"]) in corrupted:
            raw["inforom_corrupted"] = "yes"
        cards.append(raw)
    for index, address, text in sorted(lost_cards(said), key=lambda card: (card[0] is None, card[0] or 0, card[1] or "~")):
        if index is None:  # cards are numbered in the order of their addresses
            index = len([c for c in cards if str(report.normalize_pci(c["identity.pci"])) < str(report.normalize_pci(address))])
        cards.insert(min(index, len(cards)), {"handle": text, "identity.pci": address})
    return cards
