# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Huawei Ascend, asked through npu-smi. libdcmi is not used: its two generations refuse each other's chips, npu-smi knows both."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi, npu_smi_words
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.npu_smi import fact, quantity
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown, why

MANUFACTURER = "ascend"
PREFIX = "/usr/local/Ascend"
MAIN_SECONDS, NODE_SECONDS, CARD_SECONDS, RESERVE_SECONDS = 30, 15, 10, 4
BUSY = (-8012, -8020)
GENERATION = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
SLICES = 32768  # from here on: a container's own number for a slice of a card
BOARD = ("Product Name", "Software Version", "Compatibility", "Board ID", "PCI Device ID")
POD = ("SDID", "Super Pod Size", "Super Pod ID", "Server Index")
OPTIONS = {"ports": {"type": "str", "default": "state", "choices": ["none", "state", "full"]}}
CANN = (
    "cann/version.info", "cann/share/info/runtime/version.info", "ascend-toolkit/latest/runtime/version.info",
    "cann/{0}-linux/ascend_toolkit_install.info", "ascend-toolkit/latest/{0}-linux/ascend_toolkit_install.info",
    "nnae/latest/{0}-linux/ascend_nnae_install.info",
)  # fmt: skip


class Smi:
    """One call after the other: the tool contends with itself. A card that hung is not asked again, a second hang ends it."""

    def __init__(self, host):
        self.host = host
        self.sources = []
        self.hung = set()
        self.final = {}  # query -> why it is not asked again on this node

    def ask(self, *arguments, **options):
        """(text, None) or (None, why not, as a fact)."""
        card, name = options.get("card"), "npu-smi " + " ".join(arguments)
        query = " ".join(a for a in arguments if not npu_smi.ID.match(a))
        for key in (query, "npu-smi"):
            if key in self.final:
                return None, self.final[key]
        if len(self.hung) > 1 or card in self.hung or None in self.hung:
            return None, unknown("%s: not asked: npu-smi hung before" % name)
        if self.host.remaining() < RESERVE_SECONDS:
            return None, unknown("%s: not asked: the deadline is near" % name)
        for _attempt in (1, 2):
            answer = self.host.run(["npu-smi", *arguments], timeout=options.get("seconds", CARD_SECONDS))
            said = answer.stdout + "\n" + answer.stderr
            self.sources.append(build.source(answer, name))
            if npu_smi_words.code_of(said) not in BUSY:
                break
        if answer.status != answers.OK:
            reason = unknown("%s: %s%s" % (name, answer.status.replace("_", " "), " (%s)" % answer.detail if answer.detail else ""))
            if answer.status == answers.TIMEOUT:
                self.hung.add(card)
            elif answer.status in (answers.ABSENT, answers.DENIED):
                self.final["npu-smi"] = reason
            return None, reason
        if not answer.stdout.strip() or "Usage:" in said or "initialize failed" in said:
            reason = unknown("%s: %s" % (name, npu_smi_words.trouble(said)[0]))
            self.sources[-1].update(detail=why(reason))
            return None, reason
        return answer.stdout, None

    def blocks(self, wanted, *arguments, **options):
        """Blocks of `key : value` lines when one has a key with this word, else why not."""
        text, reason = self.ask(*arguments, **options)
        if text is None:
            return reason
        blocks = npu_smi_words.parse_blocks(text)
        if any(wanted in key for block in blocks for key in block):
            return blocks
        words, refused = npu_smi_words.trouble(text)
        said = "npu-smi %s: %s" % (" ".join(arguments), words)
        if refused:
            self.final[" ".join(a for a in arguments if not npu_smi.ID.match(a))] = not_applicable(said)
        return not_applicable(said) if refused else unknown(said)


def _values(answer):
    """key=value lines."""
    pairs = (line.partition("=") for line in answer.value.splitlines()) if answer.ok else ()
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _snake(name):
    return name.lower().replace(" ", "_")


def _pcie(entry):
    """The link as PCI tells it; what device and slot can both do is the most."""
    link, port = (entry.get(key) if isinstance(entry.get(key), dict) else {} for key in ("pcie", "upstream"))

    def both(key):
        numbers = [side[key] for side in (link, port) if isinstance(side.get(key), (int, float))]
        return min(numbers) if key in link and is_known(link[key]) and numbers else link.get(key)

    def generation(speed):
        return GENERATION.get(speed, unknown("PCIe: %s GT/s" % speed)) if isinstance(speed, (int, float)) else speed

    return {
        "generation_current": generation(link.get("speed_current_gts")), "generation_max": generation(both("speed_max_gts")),
        "generation_device_max": generation(link.get("speed_max_gts")), "width_current": link.get("width_current"), "width_max": both("width_max"),
        "replay_count": not_applicable("npu-smi info does not tell it"),
    }  # fmt: skip


def _narrow(link):
    """Sorts the link of a die: fewest of its lanes first, unknown before whole."""
    width, most = link.get("width_current"), link.get("width_max")
    return width / most if isinstance(width, int) and isinstance(most, int) and most else 0.99


def _together(values):
    """One value of a package from those of its dies: unknown when one is, else sum, any or union."""
    odd = next((value for value in values if value is None or why(value)), None)
    first = values[0]
    if odd is not None or isinstance(first, str):
        return first if odd is None else odd
    if isinstance(first, dict):
        return {key: _together([value.get(key) for value in values]) for key in first}
    if isinstance(first, list):
        return sorted({item for value in values for item in value})
    return any(values) if isinstance(first, bool) else sum(values)


class Reading:
    """What was asked on this node, and the devices made of it."""

    def __init__(self, host, pci):
        self.host = host
        self.smi = Smi(host)
        self.pci = on_pci(host, MANUFACTURER, pci)
        self.on_bus = {entry.get("address"): entry for entry in self.pci} if isinstance(self.pci, list) else {}
        listing = host.listdir("/dev")
        found = [re.match(r"davinci([0-9]{1,7})\Z", name) for name in listing.value] if listing.ok else []
        self.nodes = {int(match.group(1)) for match in found if match}
        names = [re.match(r"vdavinci([0-9]{3,7})\Z", name) for name in listing.value] if listing.ok else []
        self.virtual, self.nodes_listed = [int(match.group(1)) for match in names if match], listing.ok
        self.nodes_reason = "not there" if listing.ok else listing.reason
        self.driver_seen = listing.ok and ("davinci_manager" in listing.value or bool(self.nodes))
        self.failed, self.problems, self.cards, self.chips = "", [], {}, {}
        self.table = npu_smi.parse_info("")
        self.mapping, self.labels, self.topo = {}, {}, ([], {})
        self.no_links = unknown("topo: not asked")
        self.asked = {"health": {}, "ecc": {}, "enable": {}, "board": {}, "chip": {}, "pod": {}}
        self.counted = {"command": "npu-smi info -l", "accelerators": unknown("not asked"), "detail": "", "reason": ""}

    def ask(self):
        text, reason = self.smi.ask("info", seconds=MAIN_SECONDS)
        if text is None:
            self.failed = why(reason)
        else:
            self.table = npu_smi.parse_info(text)
            self.problems = list(self.table["problems"])
            if self.smi.sources[-1]["status"] != "ok":
                self.problems.append(self.smi.sources[-1]["status"])
            if not self.table["framed"] and not self.table["none"]:
                self.failed = "npu-smi info: no table: %s" % npu_smi_words.trouble(text)[0]
        for chip in self.table["chips"]:
            self.cards.setdefault(chip["npu"], []).append(chip)
            self.chips[(chip["npu"], chip["chip"])] = chip
        count = self._count()
        if not self.cards:
            if not self.failed and not self.table["none"] and count != 0:
                self.failed = "npu-smi info: a table without NPUs"
            return
        self.mapping = npu_smi.parse_mapping(self.smi.ask("info", "-m", seconds=NODE_SECONDS)[0] or "")
        unseen = sorted(set(self.mapping) - {(chip["npu"], chip["chip"]) for chip in self.table["chips"]})
        if unseen:
            self.problems.append("npu-smi info -m also names %s" % ", ".join("NPU %d chip %d" % key for key in unseen))
        self._ask_topo()
        self._ask_cards()

    def _count(self):
        text, reason = self.smi.ask("info", "-l", seconds=NODE_SECONDS)
        count = None if text is None else npu_smi.parse_list(text)
        if count is None:
            said = why(reason) if text is None else "npu-smi info -l: not understood: %s" % npu_smi_words.trouble(text)[0]
            self.counted.update(accelerators=unknown(said), reason=said)
        else:
            self.counted.update(accelerators=count, detail="; ".join(line.strip() for line in text.splitlines() if "NPU ID" in line)[:400])
        return count

    def _mapped(self, chip, key):
        return self.mapping.get((chip["npu"], chip["chip"]), {}).get(key)

    def _phy(self, chip):
        return chip["second"] if npu_smi.layout(chip) == "phy" else self._mapped(chip, "phy_id")

    def number(self, chip):
        """Its physical number, that of its node; the table of 310 and 310P prints it, on plain layouts it is the NPU's."""
        return {"device": chip["second"], "plain": chip["npu"]}.get(npu_smi.layout(chip), self._phy(chip))

    def _ask_topo(self):
        text, reason = self.smi.ask("info", "-t", "topo", seconds=NODE_SECONDS)
        self.topo = npu_smi.parse_topo(text or "")
        chips, labels = self.table["chips"], set(self.topo[0])
        ways = (("Phy-ID", self._phy), ("NPU", lambda chip: chip["npu"]), ("NPU", lambda chip: self._mapped(chip, "logic_id")))
        for word, number_of in ways:
            told = {(chip["npu"], chip["chip"]): "%s%s" % (word, number_of(chip)) for chip in chips}
            if labels and labels <= set(told.values()) and len(set(told.values())) == len(chips):
                self.labels = told
                return
        words, refused = npu_smi_words.trouble(text or "")
        said = why(reason) if text is None else "npu-smi info -t topo: %s" % ("not the NPUs of this node" if labels else words)
        self.no_links = not_applicable(said) if refused and not labels else unknown(said)

    def _ask_cards(self):
        """The most telling first, each for all cards: what is wrong with one that is not OK, ECC, boards, identities, super pods."""

        def each(store, wanted, query, wish, per_chip=True):
            for npu, chips in self.cards.items():
                for chip in chips if per_chip else chips[:1]:
                    if wish(chip):
                        where = ("-i", str(npu)) + (("-c", str(chip["chip"])) if per_chip and not chip["wide"] else ())  # 950: -c is rejected
                        self.asked[store][(npu, chip["chip"]) if per_chip else npu] = self.smi.blocks(wanted, "info", "-t", query, *where, card=npu)

        each("health", "Health", "health", lambda chip: chip["health"].lower() != "ok" or npu_smi.silent(chip))
        each("ecc", "Error Count", "ecc", bool, per_chip=False)
        each("board", "Board ID", "board", bool, per_chip=False)
        each("enable", "ECC-Enable", "ecc-enable", bool, per_chip=False)
        each("chip", "Die ID", "board", lambda chip: not chip["wide"])
        each("pod", "Super Pod", "spod-info", lambda chip: npu_smi.layout(chip) in ("phy", "950"))

    def _said(self, store, key, name):
        """One value of a per-card query as a fact."""
        blocks = self.asked[store].get(key)
        return fact(blocks[0].get(name), "npu-smi: %s" % name) if isinstance(blocks, list) else blocks or unknown("%s: not asked" % name)

    def software(self):
        """(driver block, {name: version.info}, notes)"""
        install = _values(self.host.read_text("/etc/ascend_install.info"))
        prefix = install.get("Driver_Install_Path_Param", "").rstrip("/")
        read = {}
        for name in ("driver", "firmware"):
            answer = self.host.read_text("%s/%s/version.info" % (prefix if prefix.startswith("/") else PREFIX, name))
            self.smi.sources.append(build.source(answer))
            read[name] = _values(answer)
            read[name]["fact"] = fact(read[name].get("Version"), answer.subject) if answer.ok else unknown(answer.reason)
        machine = self.host.uname()
        machine = str(machine.value.get("machine")) if machine.ok and isinstance(machine.value, dict) else "unknown"
        runtime = None
        for place in CANN:
            answer = self.host.read_text("%s/%s" % (PREFIX, place.format(machine)))
            values = _values(answer)
            version = values.get("Version") or values.get("version")
            if version:
                self.smi.sources.append(build.source(answer))
                runtime = fact(version, answer.subject)
                break
            if answer.status not in (answers.ABSENT, answers.NOT_A_DIRECTORY):
                runtime = unknown("CANN: %s" % (answer.reason if not answer.ok else "%s: no version" % answer.subject))
        version = self.table["driver"]
        driver = {
            "version": fact(version, "npu-smi info: Version") if version else read["driver"]["fact"],
            "module_version": not_applicable("same as version"),
            "library_version": read["driver"]["fact"],
            "tool_version": fact(self.table["tool"], "npu-smi info: version of npu-smi"),
            "runtime": "CANN",
            "runtime_version": runtime or not_applicable("no CANN below %s" % PREFIX),
        }
        notes = []
        if is_known(driver["version"]) and is_known(driver["library_version"]) and driver["version"] != driver["library_version"]:
            notes.append("npu-smi tells driver %s, installed is %s" % (driver["version"], driver["library_version"]))
        if install.get("Driver_Install_Status", "complete") != "complete":
            notes.append("/etc/ascend_install.info: Driver_Install_Status=%s" % install["Driver_Install_Status"][:60])
        if self.table["noise"]:
            notes.append("npu-smi info, outside its table: %s" % self.table["noise"][0])
        return driver, read, notes

    def devices(self, files):
        found = []
        for npu, chips in self.cards.items():
            dies = [self._chip(chip, len(chips) == 1, files) for chip in chips]
            found += [self._package(npu, dies), *dies] if len(dies) > 1 else dies
        return build.mark_duplicates(found)

    def _health(self, chip):
        blocks = self.asked["health"].get((chip["npu"], chip["chip"]))
        told = npu_smi.health_of(chip["health"][:40], npu_smi.block_of(blocks, chip["chip"], True) if isinstance(blocks, list) else {})
        if npu_smi.silent(chip) and told[0]["state"] == "ok":
            told[0]["state"] = unknown("npu-smi info: the OK of a chip that did not answer")
        return told

    def _extra(self, chip, errors, files, name):
        npu, key, fam = chip["npu"], (chip["npu"], chip["chip"]), npu_smi.family(chip)
        extra = {"npu_id": npu, "chip_id": chip["chip"], "logic_id": self._mapped(chip, "logic_id"), "phy_id": self._phy(chip), "family": fam}
        if npu >= SLICES:
            extra["virtual_function"] = True
        if len(chip["pairs"]) == 2:
            extra["ddr_mib"] = quantity(chip["pairs"][0][1], "DDR total")
        nominal = npu_smi.nominal(fam, name)
        if nominal and npu < SLICES:
            extra.update(hbm_nominal_mib=nominal, hbm_nominal_source=npu_smi.NOMINAL_SOURCE)
        peers = self.topo[1].get(self.labels.get(key), {})
        words = list(peers.values())
        if words:
            extra["topology"] = {word[:20]: words.count(word) for word in sorted(set(words))}
            extra["topology_row"] = {"label": self.labels[key], "peers": {peer: word[:20] for peer, word in peers.items()}}
        for name in BOARD:
            value = self._said("board", npu, name)
            if is_known(value):
                extra[_snake(name)] = value[:80]
        extra.update((_snake(name), value) for name, value in errors.items())
        if isinstance(self.asked["pod"].get(key), list):
            extra["super_pod"] = {_snake(name): quantity(self.asked["pod"][key][0].get(name), name) for name in POD}
        if files["driver"].get("compatible_version_fw"):
            extra["firmware_range"] = files["driver"]["compatible_version_fw"][:80]
        return {name: value for name, value in extra.items() if value is not None}

    def _chip(self, chip, alone, files):
        """One chip: the package itself when it is the only one of its NPU, else a die."""
        npu, key = chip["npu"], (chip["npu"], chip["chip"])
        name = fact(chip["name"], "npu-smi info: Name")
        mapped = self._mapped(chip, "name")
        if not is_known(name) and mapped:  # -m writes Ascend before it
            short = mapped.split()[-1]
            name = fact(short if any(other["name"] == short for other in self.table["chips"]) else mapped, "npu-smi info -m: Chip Name")
        health, errors = self._health(chip)
        dead = unknown("npu-smi info: zeros of a chip that did not answer") if npu_smi.silent(chip) else None
        extra = self._extra(chip, errors, files, name)
        used, total = chip["pairs"][-1] if chip["pairs"] else (None, None)
        blocks = self.asked["ecc"].get(npu)
        ecc = pages = npu_smi.block_of(blocks, chip["chip"], alone) if isinstance(blocks, list) else blocks or unknown("npu-smi info -t ecc: not asked")
        if not why(ecc):
            ecc, pages, extra["ecc_counters"] = npu_smi.counters(ecc, extra["family"])
            ecc["mode"] = npu_smi.ecc_mode(self.asked["enable"].get(npu))
        address = dead or (chip["bus"] if npu_smi.BUS.match(chip["bus"]) else unknown("npu-smi info: Bus-Id %r" % chip["bus"][:40]))
        entry = self.on_bus.get(build.normalize_pci(address)) if is_known(address) else None
        off_bus = unknown("not found on PCI: %s" % (why(address) or address))
        firmware = {"npu": self._said("board", npu, "Firmware Version")}
        if not is_known(firmware["npu"]):
            firmware["npu"] = self._said("chip", key, "Firmware Version")
        if is_known(files["firmware"]["fact"]):
            firmware["package"] = files["firmware"]["fact"]
        ids = [self._said(store, where, word) for store, where in (("chip", key), ("board", npu)) for word in ("VDie ID", "DDie ID", "Die ID")]
        uuid = next((one for one in ids if is_known(one)), ids[3 if chip["wide"] else 0])
        slot, none = self._mapped(chip, "slot_id"), not_applicable("npu-smi tells none")
        heat = dead or quantity(chip["temperature"], "npu-smi info: Temp(C)", -60, 200)
        counts = self.table["processes"].get(npu)
        number = self.number(chip)
        if number not in self.nodes:
            extra["device_node"] = unknown("/dev/davinci%s: %s" % (number, self.nodes_reason) if number is not None else "its number is not told")
        return build.device(
            "ascend:%d" % npu if alone else "ascend:%d.%d" % key,
            npu if alone else chip["chip"],
            name,
            kind="package" if alone else "die",
            parent=None if alone else "ascend:%d" % npu,
            identity=build.identity(
                uuid=uuid.split(",")[-1] if is_known(uuid) else uuid,
                serial=self._said("board", npu, "Serial Number") if alone else not_applicable("of the package"),
                pci=address,
                slot=slot if slot is not None else self._said("board", npu, "Slot ID"),
            ),
            numa_node=entry.get("numa_node") if entry else off_bus,
            memory_mib=quantity(total, "npu-smi info: memory total", low=1),
            memory_used_mib=dead or quantity(used, "npu-smi info: memory used"),
            firmware=firmware,
            health=health,
            temperature_c=dict(dict.fromkeys(("limit_core", "limit_memory", "margin_core"), none), core=heat),
            power_w={"draw": dead or quantity(chip["power"], "npu-smi info: Power(W)"), "limit": none, "limit_default": none},
            utilization_percent=dead or quantity(chip["use"], "npu-smi info: use", 0, 100),
            persistence=not_applicable("none"),
            ecc=ecc,
            row_remap=not_applicable("Ascend isolates pages"),
            retired_pages=pages,
            pcie=_pcie(entry) if entry else off_bus,
            links=npu_smi.links_of(self.labels[key], self.topo) if self.labels else self.no_links,
            partition=self._partition(npu, number),
            fabric=not_applicable("no fabric manager"),
            throttle=none,
            recovery_action=none,
            processes=unknown("npu-smi info: no process lines for NPU %d" % npu) if counts is None else counts.get(chip["chip"], 0),
            device_nodes=["/dev/davinci%d" % number] if number in self.nodes else [],
            extra=extra,
        )

    def _partition(self, npu, number):
        """vNPUs of a chip have nodes of their own: /dev/vdavinci100 to 115 are of chip 0, the next sixteen of chip 1."""
        if npu >= SLICES or not self.nodes_listed or number is None:
            return {"mode": "vnpu", "enabled": True} if npu >= SLICES else unknown("vNPUs: %s" % (self.nodes_reason if number is not None else "no number"))
        own = sum(1 for one in self.virtual if (one - 100) // 16 == number)
        return {"mode": "vnpu", "enabled": own > 0, "profile": not_applicable("each vNPU has its own"), "memory_profile": not_applicable("none")}

    def _package(self, npu, dies):
        """An NPU with several dies: sums and the worst of them; its address is that of its first die."""
        first = dies[0]
        package = dict(first, id="ascend:%d" % npu, index=npu, kind="package", parent=None)
        for key in ("memory_mib", "memory_used_mib", "ecc", "retired_pages", "links", "processes", "power_w", "partition"):
            package[key] = _together([die[key] for die in dies])
        draws = [die["power_w"]["draw"] for die in dies]
        if is_known(draws[0]) and not any(map(is_known, draws[1:])):  # A3: the draw of the whole NPU stands on chip 0, "-" on chip 1
            package["power_w"] = first["power_w"]
            for die in dies:
                die["power_w"] = not_applicable("told for the package")
        states = [die["health"]["state"] for die in dies]
        worst = max([state for state in states if is_known(state)] or ["ok"], key=npu_smi.WORST.index)
        if worst == "ok":
            worst = next((state for state in states if not is_known(state)), worst)
        heat = [die["temperature_c"]["core"] for die in dies]
        heat = next((one for one in heat if not is_known(one)), None) or max(heat)
        alike = build.identity(uuid=not_applicable("each die has its own"), serial=self._said("board", npu, "Serial Number"))
        own = ("chip_id", "logic_id", "phy_id", "ecc_counters", "topology", "topology_row", "device_node", "error_code", "error_information", "ddr_mib")
        extra = dict({key: value for key, value in first["extra"].items() if key not in own}, dies=len(dies))
        if "hbm_nominal_mib" in extra:
            extra["hbm_nominal_mib"] *= len(dies)
        package.update(
            identity=dict({key: dict(item) for key, item in first["identity"].items()}, uuid=alike["uuid"], serial=alike["serial"]),
            health={"state": worst, "detail": "; ".join("%s %s" % (die["id"], die["health"]["detail"]) for die in dies)},
            temperature_c=dict(first["temperature_c"], core=heat),
            utilization_percent=not_applicable("told per die"),
            pcie=min((die["pcie"] for die in dies), key=_narrow),
            device_nodes=[node for die in dies for node in die["device_nodes"]],
            extra=extra,
        )
        return package

    def detection(self, devices):
        """The common rules, with one PCI entry per package: each die is a function of its own."""
        failed = self.failed or ("npu-smi info: %s" % "; ".join(self.problems)[:300] if self.problems else None)
        on_bus = self.pci
        if isinstance(on_bus, list) and devices and not failed:
            parents = {device["parent"] for device in devices}
            told = [device["identity"]["pci"]["value"] for device in devices if device["id"] not in parents]
            strange = [entry for entry in on_bus if entry.get("address") not in told]
            unnamed = sum(1 for address in told if not is_known(address))
            on_bus = [{"address": device["identity"]["pci"]["value"]} for device in build.packages(devices)] + strange[unnamed:]
        absent = "npu-smi" in self.smi.final and self.smi.sources[0]["status"] == answers.ABSENT and not self.driver_seen
        block = build.detection(MANUFACTURER, devices, failed, on_bus, self.counted, not_installed=absent)
        if self.problems:
            block["accelerators"] = unknown(failed)  # what was seen is a lower bound, not a count
        return block


def collect(host, pci=None, ports="state"):
    """The section accelerators.ascend of docs/node-report.md. pci: entries of readers/pci.py with role accelerator, or unknown. ports: of OPTIONS."""
    reading = Reading(host, pci)
    reading.ask()
    driver, files, notes = reading.software()
    devices = reading.devices(files)
    if any(chip["pairs"][1:] for chip in reading.chips.values()):  # no 310: HBM beside DDR
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend_ports

        ascend_ports.add(reading, devices, ports)
    return build.section(MANUFACTURER, host, devices, reading.detection(devices), driver, reading.smi.sources, note="; ".join(notes))
