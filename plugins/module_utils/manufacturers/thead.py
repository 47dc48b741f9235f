# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""T-Head PPU (Alibaba), asked through ppu-smi: its log of everything, versions, links, and the partitions where MIG is on.

What the printed names mean: the vendor's PPU-SMI user guide (versions 1.17 to 1.28). ppu-smi exits 0 also when it fails: its words decide.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import vendor_tool
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, number, unknown, whole

MANUFACTURER = "thead"
PLACES = ("ppu-smi", "/usr/local/PPU_SDK/ppu-smi/bin/ppu-smi")
SDK = "/usr/local/PPU_SDK"
NO_SECOND_COUNT = "T-Head: ppu-smi is the only tool and no second one counts on the host; the PCI scan stands beside it"
# Codes of Xid Errors by what mends them, the hardest first. They print N/A where there is none, and are no longer kept since HGML 12.
MENDED_BY = (("cold_reboot", "cold_reboot_correctable"), ("reboot", "os_reboot_correctable"), ("reset", "ppu_reset_correctable"))
NEVER = not_applicable("ppu-smi does not tell it")
_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_CARD = re.compile(r"PPU (%s)\Z" % _ADDRESS)
_PAIR = re.compile(r"(\s*)([A-Za-z][^:]{0,60}?)\s*:(?: +(.*))?\Z")
_LISTED = re.compile(r"PPU (\d{1,4}): (.*?) \(UUID: ([\w-]{4,60})\)\Z")
_INSTANCE = re.compile(r"\s+MIG (\S{1,40}), Device (\d{1,4}) \(UUID: ([\w-]{4,60})\)\Z")
_NONE = "No devices were found"
_TROUBLE = re.compile(r"init HGML error[^\n]*|driver is not loaded|Failed to (?:open|initialize)[^\n]*", re.IGNORECASE)


def snake(text):
    return re.sub(r"[^a-z0-9]+", "_", str(text).lower()).strip("_")[:60]


def amount(text, what, unit=None, low=0, high=1 << 31):
    return vendor_tool.within(build.told(text, what, lambda words: number(words, what, unit)), low, high, what)


def count(text, what):
    value = amount(text, what)
    return unknown("%s: no count: %s" % (what, value)) if isinstance(value, float) else value


def parse_log(text):
    """-q: (top, cards, problems). Indentation tells what belongs together: "ecc_errors/volatile/dram_correctable" -> "0"."""
    top, cards, stack = {}, [], []
    for line in text.splitlines():
        line = line.expandtabs().rstrip()
        head, pair = _CARD.match(line), _PAIR.match(line)
        indent, name = len(line) - len(line.lstrip()), snake(pair.group(2) if pair else line)
        if head or (line.startswith("PPU ") and not pair):
            stack = []
            cards.append({"address": line[4:]})
        elif name:
            while stack and stack[-1][0] >= indent:
                stack.pop()
            path = "/".join([part for _indent, part in stack] + [name])
            if pair and pair.group(3):
                (cards[-1] if cards and indent else top).setdefault(path, pair.group(3).strip()[:400])
            if cards and pair and path in ("processes", "processes/process_id"):
                none = path == "processes" and str(pair.group(3)).strip().lower() == "none"
                cards[-1].setdefault("pids", set()).update([] if none else [str(pair.group(3)).strip()])
            stack.append((indent, name))
    attached, problems = top.get("attached_ppus"), []
    if cards and attached != str(len(cards)):
        problems.append("ppu-smi -q: %.20r attached, %d described" % (attached, len(cards)))
    return top, cards, problems


def parse_table(text):
    """The table of ppu-smi: {versions, cards, processes: {ppu: pids} or None, instances: {(ppu, device): facts}, problems}."""
    found = {"versions": {}, "cards": [], "processes": None, "instances": {}, "problems": [], "ended": False}
    banner = re.search(r"PPU-SMI +(\S+) +Driver Version: *(\S+) +HGGC Version: *(\S+)", text)
    if banner:
        found["versions"] = dict(zip(("tool", "driver_version", "hggc_version"), banner.groups()))
    part, chunk, chunks = "", [], []
    for line in text.splitlines():
        line = line.strip()
        if re.match(r"\+[-=+]+\Z", line):
            chunks.append((part, chunk))
            chunk = []
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            for name, words in (("cards", "PPU  Name"), ("instances", "MIG devices:"), ("processes", "Processes:")):
                part = name if cells[0].startswith(words) else part
            chunk.append(cells)
        elif line and part == "cards":
            found["problems"].append("ppu-smi: a line outside its table: %.40r" % line)
    if chunk:
        found["problems"].append("ppu-smi: the table ends early")
        chunks.append(("cut", []))
    pids = {}
    found["ended"] = part == "processes"
    for part, chunk in chunks:
        if part == "cards" and any(re.match(_ADDRESS + r"\Z", cells[1]) for cells in chunk[1:] if len(cells) > 1):
            found["problems"].append("ppu-smi: two cards without a line between")
        if not chunk or chunk[0][0].startswith(("PPU", "MIG devices", "Processes")):
            continue
        if part == "cards":
            card = _table_card(chunk)
            if card:
                found["cards"].append(card)
            else:
                found["problems"].append("ppu-smi: not understood: %.60r" % " | ".join(chunk[0]))
        elif part == "instances":
            ids, sizes = chunk[0][0].split(), re.match(r"(\d+)MiB / (\d+)MiB\Z", chunk[0][1] if len(chunk[0]) > 1 else "")
            if len(ids) == 4 and None not in map(whole, ids) and sizes:
                cu, errors = [*(chunk[0][2].split() if len(chunk[0]) > 2 else []), "", ""][:2]
                found["instances"][(int(ids[0]), int(ids[3]))] = {"gi": int(ids[1]), "ci": int(ids[2]), "sizes": sizes.groups(), "cu": cu, "errors": errors}
        elif part == "processes":
            rows = [re.match(r"(\d{1,4}) +\S+ +\S+ +(\d{1,10}) ", cells[0]) for cells in chunk]
            for row in filter(None, rows):
                pids.setdefault(int(row.group(1)), set()).add(row.group(2))
            if (pids and chunks[-1][0] != "cut") or "No running processes" in chunk[0][0]:
                found["processes"] = {ppu: len(seen) for ppu, seen in pids.items()}
    return found


def _table_card(chunk):
    """A card of the table in the words of the log: its lines are name | address | errors, temperature and power | memory | use, and MIG."""
    if len(chunk) < 2 or min(map(len, chunk)) < 3:
        return None
    name = re.match(r"(\d{1,4}) +(.+?) {2,}(\S+)\Z", chunk[0][0])
    state = re.match(r"\S+ +(\S+) +\S+ +(\S+) */ *(\S+)\Z", chunk[1][0])
    memory, use = re.match(r"(\S+) */ *(\S+)\Z", chunk[1][1]), chunk[1][2].split()
    if not name or not re.match(_ADDRESS + r"\Z", chunk[0][1]):
        return None
    card = {"address": chunk[0][1], "index": name.group(1), "product_name": name.group(2), "persistence_mode": name.group(3), "uncorrected": chunk[0][2]}
    if state:
        card.update(zip(("temperature/ppu_current_temp", "power_readings/power_draw", "power_readings/enforced_power_limit"), state.groups()))
    if memory:
        card.update(zip(("memory_usage/used", "memory_usage/total"), memory.groups()))
    if use:
        card["utilization/ppu"] = use[0]
    if len(chunk) > 2:
        card["mig_mode/current"] = chunk[2][2]
    return card


def parse_list(text):
    """-L: [{index, name, uuid, instances: [{name, device, uuid}]}]; a UUID need not be well-formed."""
    cards = []
    for line in text.splitlines():
        card, instance = _LISTED.match(line.rstrip()), _INSTANCE.match(line.rstrip())
        if card:
            cards.append({"index": int(card.group(1)), "name": card.group(2), "uuid": card.group(3), "instances": []})
        elif instance and cards:
            cards[-1]["instances"].append({"name": instance.group(1), "device": int(instance.group(2)), "uuid": instance.group(3)})
    return cards


def parse_links(text):
    """icn -s: {ppu: {link: its GB/s, False where inactive, or None}}"""
    found, current = {}, None
    for line in text.splitlines():
        card, link = re.match(r"PPU (\d{1,4}):", line), re.match(r"\s+Link (\d{1,3}): *(.*?)\s*\Z", line)
        if card:
            current = found.setdefault(int(card.group(1)), {})
        elif link and current is not None:
            words = link.group(2)
            speed = re.match(r"(\d{1,6}(?:\.\d{1,6})?) GB/s\Z", words)
            current[int(link.group(1))] = float(speed.group(1)) if speed else False if words == "<inactive>" else None
    return found


def _sum(facts):
    """Of counters: what is counted already is a fault although another one is unknown."""
    counts = [fact for fact in facts if isinstance(fact, int)]
    odd = next((fact for fact in facts if not isinstance(fact, int)), None)
    return sum(counts) if odd is None or sum(counts) else odd


class Reading:
    def __init__(self, host, pci):
        self.host, self.tool = host, vendor_tool.Tool(host, *PLACES)
        self.pci = on_pci(host, MANUFACTURER, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        listing = host.listdir("/dev")
        self.nodes = set(listing.value) if listing.ok else None
        self.nodes_reason = "" if listing.ok else listing.reason
        self.module, self.loaded = vendor_tool.module_version(host, "alixpu")
        self.failed, self.problems, self.notes = "", [], []
        self.top, self.cards, self.versions, self.links, self.listed = {}, [], {}, {}, []
        self.table = parse_table("")

    def _say(self, *arguments):
        text, reason = self.tool.ask(*arguments)
        trouble = "; ".join(_TROUBLE.findall(text or ""))[:200]
        if trouble:
            return None, "%s: %s" % (" ".join((self.tool.name, *arguments)), trouble)
        return text, reason

    def ask(self):
        text, reason = self._say("-q")
        if text is not None:
            self.top, self.cards, problems = parse_log(text)
            self.problems += problems + ([reason] if reason and self.cards else [])
            if _NONE in text or self.top.get("attached_ppus") == "0":
                reason = ""
            elif not self.cards:
                reason = reason or "ppu-smi -q: no log: %s" % vendor_tool.words(text)
        if not self.cards and reason and not self.tool.missing:
            text, why_table = self._say()
            self.table = parse_table(text or "")
            self.cards = self.table["cards"]
            if self.cards:
                self.problems += self.table["problems"] + ([why_table] if why_table else [])
                if not self.table["ended"] and len(self.on_bus) != len(self.cards):
                    self.problems.append("ppu-smi: its list of processes is missing, more may be")
                self.notes.append("%s; the table of ppu-smi was read" % reason)
                reason = ""
            elif text and _NONE in text:
                reason = ""
        if not self.cards:
            self.failed = reason
            return
        self.versions = parse_log(self._say("-q", "-d", "VERSION")[0] or "")[0]
        self.links = parse_links(self._say("icn", "-s")[0] or "")
        mig = any(card.get("mig_mode/current", "").lower() == "enabled" for card in self.cards)
        if mig or self.table["cards"]:
            self.listed = parse_list(self._say("-L")[0] or "")
        if mig and not self.table["cards"]:
            self.table = parse_table(self._say()[0] or "")

    def devices(self):
        found, taken = [], set()
        for position, card in enumerate(self.cards):
            index = whole(str(card.get("index", "")))
            index = position if index is None else index
            if index in taken:
                self.problems.append("ppu-smi: two cards have the number %d" % index)
                index = max(taken) + 1
            taken.add(index)
            found += self._card(card, index)
        return build.mark_duplicates(found)

    def _ecc(self, card):
        def both(group, word):
            facts = [count(card.get("ecc_errors/%s/%s_%s" % (group, kind, word)), "ECC %s: %s %s" % (group, kind, word)) for kind in ("sram", "dram")]
            return _sum(facts)

        return {
            "mode": build.told(card.get("ecc_mode/current"), "Ecc Mode", lambda words: {"enabled": "enabled", "disabled": "disabled"}[words.lower()]),
            "corrected_volatile": both("volatile", "correctable"), "corrected_aggregate": both("aggregate", "correctable"),
            "uncorrected_volatile": count(card["uncorrected"], "Volatile Uncorr. ECC") if "uncorrected" in card else both("volatile", "uncorrectable"),
            "uncorrected_aggregate": both("aggregate", "uncorrectable"), "sram_threshold_exceeded": NEVER,
        }  # fmt: skip

    def _recovery(self, card):
        """(action, health): what ppu-smi asks for, or what mends the codes it keeps."""
        said = card.get("ppu_recovery_action")
        asked = "none" if str(said).lower() == "none" and said else build.told(said, "PPU Recovery Action", snake)
        kept = {action: card.get("xid_errors/" + name) for action, name in MENDED_BY}
        codes = {action: text for action, text in kept.items() if text and re.search(r"\d", text)}
        health = {"state": not_applicable("ppu-smi has no word for it"), "detail": ""}
        if codes:
            health = {"state": "failed", "detail": "; ".join("XID %s: %s" % (text[:80], action.replace("_", " ")) for action, text in codes.items())}
        if codes and (not is_known(asked) or asked in ("none", "no_action")):
            asked = next(iter(codes))
        elif "ppu_recovery_action" not in card and None not in kept.values():
            asked = "none"  # older versions tell it by the codes alone
        return asked, health

    def _links(self, card_links):
        """A port that is not used by the product is inactive too: only nodes side by side tell which ought to be up."""
        if not card_links:
            return unknown("icn -s: no links of this card"), {}
        down, odd = ([number_ for number_, state in card_links.items() if state is wanted] for wanted in (False, None))
        speeds = [state for state in card_links.values() if state.__class__ is float]
        up = unknown("icn -s: link %s: not understood" % odd[0]) if odd else len(card_links) - len(down)
        total = not_applicable("an inactive port may be one that the product does not use (extra.icn_ports)")
        speed = min(speeds) if speeds else not_applicable("no link is up")
        return {"kind": "icn", "total": total, "up": up, "down": total, "speed_gb_s": speed}, {"ports": len(card_links), "active": up, "inactive": down}

    def _card(self, card, index):
        address, one = build.normalize_pci(card["address"]), "thead:%d" % index
        entry = self.on_bus.get(address) if is_known(address) else None
        minor = count(card.get("minor_number"), "Minor Number")
        node = "alixpu_ppu%d" % (minor if is_known(minor) else index)
        here = ["/dev/" + name for name in ("alixpu", "alixpu_ctl", node) if name in (self.nodes or ())]
        action, health = self._recovery(card)
        links, ports = self._links(self.links.get(index))
        reasons = {path.split("/")[-1]: words.lower() for path, words in card.items() if path.startswith("clocks_throttle_reasons/")}
        odd = [name for name, words in reasons.items() if words not in ("active", "not active")]
        odd += [name for name in ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown") if name not in reasons]
        active = sorted(name for name, words in reasons.items() if words == "active")
        if not active and odd:
            active = unknown("Clocks Throttle Reasons: %s: not told" % odd[0])

        def text(path, what, convert=None):
            return build.told(card.get(path), what, convert)

        def watts(name):
            return amount(card.get("power_readings/" + name), name, "W")

        def heat(name):
            return amount(card.get("temperature/" + name), name, "C", -60, 200)

        def clock(group, part):
            return amount(card.get("%sclocks/%s" % (group, part)), "%sclocks: %s" % (group, part), "MHz", 0, 100000)

        limit = next((limit for limit in map(watts, ("enforced_power_limit", "power_limit")) if is_known(limit)), watts("enforced_power_limit"))
        extra = {
            "minor_number": minor,
            "mig_pending": text("mig_mode/pending", "MIG Mode: Pending"),
            "ecc_pending": text("ecc_mode/pending", "Ecc Mode: Pending"),
            "temperature_slowdown_c": heat("ppu_slowdown_temp"),
        }
        if node not in (self.nodes or ()):
            extra["device_node"] = unknown("/dev/%s: %s" % (node, self.nodes_reason or "not there"))
        for key in ("rear_id", "product_architecture", "compute_capability", "auto_reset", "memory_usage/hbm_vendor", "hbm_vendor", "pci/device_id"):
            if is_known(text(key, key)):
                extra[snake(key.rpartition("/")[2])] = card[key][:80]
        extra.update({"icn_ports": ports} if ports else {})
        listed = next((entry["uuid"] for entry in self.listed if entry["index"] == index), None)
        uuid = text("ppu_uuid", "PPU UUID") if card.get("ppu_uuid") or not listed else listed
        package = build.device(
            one, index, text("product_name", "Product Name"),
            identity=build.identity(uuid=uuid, serial=text("serial_number", "Serial Number"), pci=address, slot=NEVER),
            numa_node=entry["numa_node"] if entry else unknown("not found on PCI"),
            memory_mib=amount(card.get("memory_usage/total"), "memory total", "MiB", 1),
            memory_used_mib=amount(card.get("memory_usage/used"), "memory used", "MiB"),
            firmware={"vbios": text("vbios_version", "VBIOS Version")}, health=health, recovery_action=action,
            # above Max Operating the software lowers the clocks, above Slowdown the hardware (guide, 3.1.5)
            temperature_c={"core": heat("ppu_current_temp"), "memory": heat("memory_current_temp"), "limit_core": heat("ppu_max_operating_temp"),
                           "limit_memory": heat("memory_max_operating_temp"), "margin_core": NEVER},
            power_w={"draw": watts("power_draw"), "limit": limit, "limit_default": watts("default_power_limit")},
            clocks_mhz={"core": clock("", "cu"), "memory": clock("", "memory"), "core_max": clock("max_", "cu"), "memory_max": clock("max_", "memory"),
                        "core_set": clock("applications_", "cu"), "core_default": clock("default_applications_", "cu")},
            utilization_percent=amount(card.get("utilization/ppu"), "utilization", "%", 0, 100),
            persistence=text("persistence_mode", "Persistence Mode", _yes), ecc=self._ecc(card), pcie=self._pcie(card, entry), links=links,
            throttle={"active": active}, device_nodes=here, extra=extra,
            row_remap={"corrected": count(card.get("remapped_rows/correctable_error"), "remapped rows"),
                       "uncorrected": count(card.get("remapped_rows/uncorrectable_error"), "remapped rows"),
                       "pending": text("remapped_rows/pending", "remapped rows: Pending", _yes),
                       "failed": text("remapped_rows/remapping_failure_occurred", "Remapping Failure Occurred", _yes)},
            retired_pages={"corrected": count(card.get("retired_pages/single_bit_ecc"), "retired pages"),
                           "uncorrected": count(card.get("retired_pages/double_bit_ecc"), "retired pages"),
                           "pending": text("retired_pages/pending_page_blacklist", "Pending Page Blacklist", _yes)},
            partition={"mode": "mig", "enabled": text("mig_mode/current", "MIG Mode", _yes), "profile": not_applicable("each instance has its own"),
                       "memory_profile": not_applicable("none")},
            fabric={"state": text("fabric/state", "Fabric: State", snake), "status": text("fabric/status", "Fabric: Status", snake),
                    "clique_id": text("fabric/cliqueid", "CliqueId"), "cluster_uuid": text("fabric/clusteruuid", "ClusterUUID")},
            processes=self._processes(card, index),
        )  # fmt: skip
        if package["partition"]["enabled"] is True and not self.table["cards"] and index not in [one["index"] for one in self.listed]:
            package["extra"]["mig_instances"] = unknown("neither ppu-smi -L nor its table told the MIG devices")
        return [package, *self._instances(package, index)]

    def _processes(self, card, index):
        if "pids" in card:
            return len(card["pids"]) if all(map(str.isdigit, card["pids"])) else unknown("Processes: not understood")
        counts = self.table["processes"]
        return unknown("Processes: not printed") if counts is None else counts.get(index, 0)

    def _pcie(self, card, entry):
        """The printed maximum is already the smaller of card and slot (guide, 3.1.1); PCI tells what the card alone could."""
        told = vendor_tool.pcie(entry, {}, "")

        def either(path, key):
            value = amount((card.get("pci/ppu_link_info/" + path) or "").rstrip("x") or None, path, low=1, high=32)
            return value if is_known(value) else told.get(key, value)

        return {
            "generation_current": either("pcie_generation/current", "generation_current"), "generation_max": either("pcie_generation/max", "generation_max"),
            "generation_device_max": told.get("generation_device_max", unknown("not found on PCI")),
            "width_current": either("link_width/current", "width_current"), "width_max": either("link_width/max", "width_max"),
            "replay_count": not_applicable("not supported by ppu-smi (guide, known gaps)"),
        }  # fmt: skip

    def _instances(self, package, index):
        """The MIG devices of a card: -L names them, the table has their memory."""
        listed = next((card["instances"] for card in self.listed if card["index"] == index), [])
        sized = {device: facts for (ppu, device), facts in self.table["instances"].items() if ppu == index}
        named, found, of_package = {entry["device"]: entry for entry in listed}, [], not_applicable("told for the package")
        for device in sorted(set(named) | set(sized)):
            facts, entry = sized.get(device, {}), named.get(device, {})
            used, total = facts.get("sizes", (None, None))
            told = ("persistence", "recovery_action", "numa_node", "processes", "utilization_percent")
            groups = dict.fromkeys((*build.GROUPS, *told), of_package)
            groups["ecc"] = dict(dict.fromkeys(build.GROUPS["ecc"], of_package), uncorrected_volatile=count(facts.get("errors"), "Vol Unc ECC"))
            groups["partition"] = {"mode": "mig", "enabled": True, "profile": build.told(entry.get("name"), "-L: MIG")}
            groups["partition"]["memory_profile"] = not_applicable("in the profile")
            found.append(build.device(
                "%s/mig:%d" % (package["id"], device), device, package["name"], "partition", package["id"],
                identity=build.identity(uuid=build.told(entry.get("uuid"), "-L: UUID"), serial=of_package, pci=of_package, slot=of_package),
                memory_mib=amount(total, "MIG device memory", None, 1), memory_used_mib=amount(used, "MIG device memory"),
                extra={key: facts[key] for key in ("gi", "ci", "cu") if key in facts}, **groups,
            ))  # fmt: skip
        return found

    def section(self):
        devices = self.devices()
        failed = self.failed or "; ".join(self.problems)[:300]
        hints = [name for name in sorted(self.nodes or ()) if name.startswith("alixpu")]
        absent = self.tool.missing and not hints and not self.loaded
        if not failed and not devices and not self.on_bus and hints:
            failed = "ppu-smi lists none, yet there is /dev/%s" % hints[0]
        block = build.detection(MANUFACTURER, devices, failed, self.pci, not_applicable(NO_SECOND_COUNT), not_installed=absent)
        if failed and devices:
            block["accelerators"] = unknown("at least %d: %s" % (len(build.packages(devices)), failed))
        seen = {device["identity"]["pci"]["value"] for device in build.packages(devices) if is_known(device["identity"]["pci"]["value"])}
        lost = [entry for entry in self.on_bus.values() if entry.get("address") not in seen]
        if lost and devices:
            other = [entry for entry in lost if is_known(entry.get("driver")) and entry["driver"] not in ("alixpu", "alipci")]
            held = ["%s is bound to %s" % (entry["address"], entry["driver"]) for entry in other]
            self.notes.append("; ".join(held) or "ppu-smi does not show a drained card: ppu-smi drain tells, PCI still shows it")
        banner, versions = self.table["versions"], dict(self.top, **self.versions)

        def version(*texts):
            facts = [build.told(text, "version") for text in texts]
            return next((fact for fact in facts if is_known(fact)), facts[0])

        runtime = version(versions.get("hggc_version"), banner.get("hggc_version"))
        sdk = self.host.read_text(SDK + "/VERSION.txt")
        if not is_known(runtime) and sdk.ok:
            found = re.search(r"hggcrt_version: *([\w.-]{1,60})", sdk.value)
            runtime = found.group(1) if found else runtime
        elif not is_known(runtime):
            there = self.host.exists(SDK)
            runtime = not_applicable("no PPU SDK in %s" % SDK) if there.ok and not there.value else runtime
        driver = {
            "version": version(versions.get("driver_version"), banner.get("driver_version")), "module_version": self.module,
            "library_version": version(versions.get("hgml_version")), "tool_version": version(versions.get("ppu_smi_version"), banner.get("tool")),
            "runtime": "HGGC", "runtime_version": runtime,
        }  # fmt: skip
        return build.section(MANUFACTURER, self.host, devices, block, driver, self.tool.sources, note="; ".join(filter(None, self.notes)))


def _yes(words):
    return {"yes": True, "enabled": True, "on": True, "no": False, "disabled": False, "off": False}[words.lower()]


def collect(host, pci=None):
    """The section accelerators.thead. pci: T-Head's accelerators on PCI, or None to look."""
    reading = Reading(host, pci)
    reading.ask()
    return reading.section()
