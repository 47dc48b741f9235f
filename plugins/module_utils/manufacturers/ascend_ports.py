# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What connects Ascend NPUs, and the parts of their firmware: npu-smi info -t hccs, /etc/hccn.conf, hccn_tool, upgrade-tool.

hccn_tool wants one call after the other: of two it refuses one as busy (HIXL, examples).
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.ascend_port_text import QUERIES, STATE, components, configured, refused
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as build
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, not_applicable, unknown, why

CONFIGURATION = "/etc/hccn.conf"
PORT_SECONDS, PARTS_SECONDS, RESERVE_SECONDS = 5, 15, 4
WITH_PORTS = ("910", "910B", "910C")  # the 950 names its ports by die and port; 310 and 310P have none
WITH_HCCS = ("910B", "910C")
CONFIGURED = ("address", "netmask", "gateway", "detect_address")
LANE_GBIT = 56  # npu-smi, npu_info_print.c: the speed of a link is 56 Gbit/s for each lane of its mode


def add(reading, devices, ports):
    """Adds links, ports and parts to the devices of a Reading. ports: none, state or full."""
    chips = {}
    for device in devices:
        key = (device["extra"].get("npu_id"), device["extra"].get("chip_id"))
        if key in reading.chips:
            chips[key] = device
    _hccs(reading, chips, devices)
    if ports != "none":
        _ports(reading, chips, devices, ports)
        _components(reading, chips, devices)


# -- links between the NPUs --------------------------------------------------------------------------------------------


def _numbers(block, key):
    """[4 4 0] -> [4, 4, 0]; a lane list keeps its digits."""
    words = block.get(key, "").strip().strip("[]").split()
    return words if words and all(map(re.compile(r"[0-9]{1,20}\Z").match, words)) else []


def _hccs(reading, chips, devices):
    for (npu, chip), device in chips.items():
        if device["extra"].get("family") not in WITH_HCCS or is_not_applicable(device["links"]):
            continue
        links = device["links"] if "kind" in device["links"] else {}  # what the topology did not tell stays unknown
        blocks = reading.smi.blocks("hccs", "info", "-t", "hccs", "-i", str(npu), "-c", str(chip), card=npu)
        if not isinstance(blocks, list):
            links["speed_gb_s"] = links["errors"] = device["extra"]["hccs"] = blocks
            continue
        block = next(one for one in blocks if any("hccs" in key for key in one))
        lanes = [int(word) for word in _numbers(block, "hccs lane mode")]
        used = [mode for mode in lanes if mode]
        missing = unknown("npu-smi info -t hccs: not printed")
        links["speed_gb_s"] = min(used) * LANE_GBIT / 8 if used else missing
        counts = {"crc_errors": _numbers(block, "hccs error count"), "retries": _numbers(block, "hccs retry count")}
        links["errors"] = {name: sum(map(int, words)) if words else missing for name, words in counts.items()}
        device["extra"]["hccs"] = {
            "health": npu_smi.fact(block.get("hccs health status"), "npu-smi info -t hccs: health"),
            "links": len(used) if lanes else missing,
            "lanes": _numbers(block, "hccs link lane list") or missing,
            "first_error_lane": not_applicable("none")
            if block.get("hccs first error lane") == "NA"
            else npu_smi.fact(block.get("hccs first error lane"), "npu-smi info -t hccs: first error lane"),
        }
    for device in devices:
        dies = [other["links"] for other in devices if other["parent"] == device["id"] and "speed_gb_s" in other["links"]]
        if dies and "kind" in device["links"]:
            speeds, errors = [links["speed_gb_s"] for links in dies], [links["errors"] for links in dies]
            odd = [value for value in speeds + errors if not is_known(value)]
            device["links"]["speed_gb_s"] = odd[0] if odd else min(speeds)
            device["links"]["errors"] = odd[0] if odd else {name: _sum([one[name] for one in errors]) for name in errors[0]}


def _sum(values):
    return next((value for value in values if not is_known(value)), None) or sum(values)


# -- ports of the network of the NPUs ----------------------------------------------------------------------------------


class Hccn:
    """One call after the other; a port that hung is not asked again, a second hang ends it."""

    def __init__(self, host, sources):
        self.host = host
        self.sources = sources
        self.hung = set()
        self.final = None  # why nothing is asked any more

    def ask(self, number, query):
        """The fact that one query tells of one port."""
        words, parse = QUERIES[query]
        name = "hccn_tool -i %d -%s -g" % (number, words)
        if self.final is not None:
            return self.final
        if number in self.hung or len(self.hung) > 1:
            return unknown("%s: not asked: hccn_tool hung before" % name)
        if self.host.remaining() < RESERVE_SECONDS:
            return unknown("%s: not asked: the deadline is near" % name)
        for _attempt in (1, 2):
            answer = self.host.run(["hccn_tool", "-i", str(number), "-" + words, "-g"], timeout=PORT_SECONDS)
            self.sources.append(build.source(answer, name))
            if "is busy" not in answer.stdout + answer.stderr:
                break
        if answer.status != answers.OK:
            reason = unknown("%s: %s%s" % (name, answer.status.replace("_", " "), " (%s)" % answer.detail if answer.detail else ""))
            if answer.status == answers.TIMEOUT:
                self.hung.add(number)
            elif answer.status in (answers.ABSENT, answers.DENIED):
                self.final = reason
            return reason
        fact = parse(answer.stdout)
        return refused(name, answer.stdout + "\n" + answer.stderr, answer.rc) if fact is None else fact


def _ports(reading, chips, devices, ports):
    answer = reading.host.read_text(CONFIGURATION)
    reading.smi.sources.append(build.source(answer))
    held, strange = configured(answer.value) if answer.ok else ({}, None)
    gap = unknown("%s: not understood: %r" % (CONFIGURATION, strange)) if strange else not_applicable("%s sets none" % CONFIGURATION)
    if not answer.ok:
        gap = not_applicable("%s is not there" % CONFIGURATION) if answer.status == answers.ABSENT else unknown(answer.reason)
    wanted = ports == "full" or "unknown" in gap or any("address" in one for one in held.values())
    skipped = not_applicable("not asked: %s sets no address" % CONFIGURATION)
    listed = {}
    for key, device in chips.items():
        number = reading.number(reading.chips[key])
        if device["extra"].get("family") in WITH_PORTS and "virtual_function" not in device["extra"]:
            port = listed[key] = {"number": number if number is not None else unknown("the physical number of the NPU is not told")}
            port.update((name, held.get(number, {}).get(name, gap)) for name in CONFIGURED)
    tool = Hccn(reading.host, reading.smi.sources)
    for query in QUERIES if ports == "full" else STATE:
        for port in listed.values():
            fact = port["number"]
            if is_known(fact):
                fact = tool.ask(fact, query) if wanted else skipped
            port.update(_named(query, fact))
    for device in devices:
        if device["kind"] == "package":
            own = [port for key, port in listed.items() if key[0] == device["extra"].get("npu_id")]
            family = device["extra"].get("family")
            none = unknown("the ports of a 950 have names of die and port: not read") if family == "950" else not_applicable("no port of its own")
            device["network_ports"] = own or (family if why(family) else none)


def _named(query, fact):
    """Facts of a port by their names: two queries tell what hccn.conf sets."""
    if query in ("ip", "gateway") and not why(fact):
        return fact
    if query == "ip":
        return {"address_used": fact, "netmask_used": fact}
    return {"gateway_used" if query == "gateway" else query: fact}


# -- parts of the firmware ---------------------------------------------------------------------------------------------


def _components(reading, chips, devices):
    """Versions of the parts of each NPU's firmware, in one call. A node without the tool has one version a card (npu-smi)."""
    if not any(device["extra"].get("family") in WITH_PORTS for device in chips.values()) or reading.host.remaining() < RESERVE_SECONDS:
        return
    answer = reading.host.run(["upgrade-tool", "--device_index", "-1", "--component", "-1", "--version"], timeout=PARTS_SECONDS)
    reading.smi.sources.append(build.source(answer, "upgrade-tool --version"))
    told = components(answer.stdout) if answer.status == answers.OK else {}
    for key, device in chips.items():
        number = reading.number(reading.chips[key])
        for name, version in told.get(number, {}).items():
            device["firmware"].setdefault(name, version)
            for package in devices:
                if package["id"] == device["parent"]:
                    same = package["firmware"].setdefault(name, version)
                    if same != version:
                        package["firmware"][name] = unknown("its dies differ: %s and %s" % (same, version))
