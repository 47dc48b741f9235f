# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleet documents for the renderers' tests: twelve mixed nodes with known faults, and fleets of any size. No chance in them."""

from __future__ import annotations

CATALOGUE = {
    "accelerator-count": (1, "fail", "Every expected accelerator is there", "Reseat or replace the missing card; compare the slot with a node that has it."),
    "cohort-driver": (1, "warn", "One driver in the cohort", "Install the cohort's driver on the odd node and reboot it."),
    "cohort-kernel": (1, "warn", "One kernel in the cohort", "Boot the odd node into the cohort's kernel."),
    "detection-disagrees": (1, "fail", "PCI, driver and tool agree", "Look for the card the tool does not name in the kernel log."),
    "driver-library-mismatch": (1, "fail", "Library and module are one version", "Reload the module or reboot."),
    "ecc-uncorrectable": (1, "fail", "No uncorrectable memory error", "Reset the card; replace it when the count grows again."),
    "link-down": (1, "fail", "Every accelerator link is up", "Check the fabric manager, then the tray."),
    "memlock-limited": (1, "warn", "Locked memory is not limited", "Set memlock to unlimited for the workload's service."),
    "no-answer": (1, "fail", "The node answered", "Check that the node is up and that ssh lets you in."),
    "pcie-width": (1, "fail", "PCIe width is what card and slot can do", "Reseat the card; look at riser and retimer."),
    "power-limit": (1, "info", "Power limit is the default", "Restore the default power limit if nobody lowered it on purpose."),
    "row-remap-failed": (1, "fail", "No row remap failed", "Replace the card."),
    "row-remap-pending": (1, "fail", "No row remap is pending", "Drain the node and reset the card, then judge again."),
    "temperature-margin": (1, "warn", "Cards are far from their temperature limit", "Look at fans, filters and inlet temperature."),
    "time-not-synchronized": (1, "warn", "The clock is synchronized", "Start chronyd or point it at a server that answers."),
    "tool-answers": (1, "fail", "The vendor's tool answers", "Run the tool by hand; look for processes in state D."),
    "kubelet-allocatable": (2, "fail", "The kubelet offers every card", "Restart the device plugin."),
    "row-mig": (3, "fail", "MIG slices can be declared", "Enable MIG mode or take it out of the policy."),
}

PARTS = {
    "h100": ("nvidia", 8, "NVIDIA H100 80GB HBM3", 81559, "570.133.20", "Example XE9680", "nvlink", 18),
    "gb200": ("nvidia", 4, "NVIDIA GB200", 189471, "570.133.20", "Example NVL72 tray", "nvlink", 18),
    "mi300x": ("amd", 8, "AMD Instinct MI300X", 196592, "6.12.12", "Example 8U-MI300X", "xgmi", 7),
    "ascend": ("ascend", 8, "Ascend 910B3", 65536, "24.1.0.3", "Example A2-800T", "hccs", 7),
}


def catalogue():
    return {rule: {"layer": layer, "level": level, "title": title, "remedy": remedy} for rule, (layer, level, title, remedy) in CATALOGUE.items()}


def device(manufacturer, number, name, memory, serial, link, links):
    return {
        "id": "%s:%d" % (manufacturer, number),
        "name": name,
        "kind": "package",
        "pci": "0000:%02x:00.0" % (0x18 + 16 * number),
        "serial": "16535240%05d" % (serial * 8 + number),
        "uuid": "GPU-%08x-1f2e-4d3c-8b7a-%012x" % (serial * 2654435761 % 2**32, number),
        "memory_mib": memory,
        "temperature_c": 31 + (serial + 3 * number) % 9,
        "power_w": 68 + (serial * 7 + number) % 12,
        "ecc_uncorrected": 0,
        "pcie": "Gen5 x16",
        "links": "%d of %d %s up" % (links, links, link),
        "health": "ok",
    }


def node(name, part, serial):
    """A node without a fault: verdict accepted, every rule passed or not applicable."""
    manufacturer, count, model, memory, driver, system, link, links = PARTS[part]
    rules = {}
    for rule, (layer, level, _title, _remedy) in CATALOGUE.items():
        if layer != 1:
            continue
        entry = {"outcome": "passed", "level": level, "passed": 1, "found": 0, "unknown": 0, "not_applicable": 0, "not_run": 0, "reason": ""}
        entry["required"] = level == "fail"
        if rule.startswith("row-remap") and manufacturer != "nvidia":
            entry.update(outcome="not_applicable", passed=0, not_applicable=count, reason="only NVIDIA parts report row remapping")
        rules[rule] = entry
    rules["row-mig"] = dict(
        rules["accelerator-count"],
        outcome="not_run" if manufacturer == "nvidia" else "not_applicable",
        passed=0,
        required=False,
        reason="the preflight does not switch slicing on" if manufacturer == "nvidia" else "MIG is NVIDIA's",
    )
    return {
        "node": name,
        "verdict": "accepted",
        "reasons": [],
        "cohort": "%dx %s" % (count, model),
        "rules": rules,
        "facts": {
            "system": system,
            "serial": "SN%06d" % serial,
            "os": "Ubuntu 24.04.3 LTS",
            "kernel": "6.8.0-79-generic",
            "bios": "2.4.1 (2025-08-11)",
            "bmc": {"unknown": "no IPMI device"},
            "accelerators": "%dx %s" % (count, model),
            "driver": driver,
        },
        "devices": [device(manufacturer, number, model, memory, serial, link, links) for number in range(count)],
    }


def find(fleet, entry, rule, summary, observed, expected, subject=None, unit="", origin="suite", level=None, caused_by=None):
    layer, default, _title, remedy = CATALOGUE[rule]
    name = entry["node"]
    fleet["findings"].append(
        {
            "rule": rule,
            "node": name,
            "subject": {"node": name, "kind": "package" if subject else "node", "id": subject or name},
            "outcome": "found",
            "reason": "",
            "evidence": "",
            "layer": layer,
            "level": level or default,
            "summary": summary,
            "observed": observed,
            "expected": {"value": expected, "unit": unit, "origin": origin},
            "remedy": remedy,
            "caused_by": caused_by,
        }
    )
    entry["rules"][rule].update(outcome="found", level=level or default, passed=0, found=entry["rules"][rule]["found"] + 1, reason=summary)
    if (level or default) != "info":
        entry["reasons"].append(summary)


def lose(fleet, entry, rules, outcome, reason):
    for rule in rules:
        known = entry["rules"].setdefault(rule, {"level": "fail", "found": 0, "required": False})
        known.update(outcome=outcome, passed=0, unknown=0, not_run=0, reason=reason)
        known[outcome] = 1
        fleet["coverage"].append({"node": entry["node"], "rule": rule, "outcome": outcome, "reason": reason, "required": known["required"], "subjects": 1})
    if any(entry["rules"][rule]["required"] for rule in rules):
        entry["reasons"].append(reason)


def finish(fleet, entries):
    """Verdicts, counts, layers and order, from what the nodes say."""
    level = {"fail": 0, "warn": 1, "info": 2}
    worst = {}
    for finding in fleet["findings"]:
        worst[finding["node"]] = min(worst.get(finding["node"], 2), level[finding["level"]])
    for entry in entries:
        waiting = any(rule["required"] and rule["outcome"] in ("unknown", "not_run") for rule in entry["rules"].values())
        found = worst.get(entry["node"], 2)
        entry["verdict"] = "rejected" if found == 0 else "incomplete" if waiting else "accepted_with_warnings" if found == 1 else "accepted"
        entry["layers"] = {}
        for layer in "12345":
            mine = [rule for name, rule in entry["rules"].items() if CATALOGUE[name][0] == int(layer)]
            numbers = {name: sum(1 for rule in mine if rule["outcome"] == name) for name in ("passed", "found", "unknown", "not_applicable", "not_run")}
            entry["layers"][layer] = dict(numbers, asked=layer == "1")
    fleet["verdicts"] = sorted(entries, key=lambda entry: entry["node"])
    for verdict in ("accepted", "accepted_with_warnings", "rejected", "incomplete"):
        fleet[verdict] = [entry["node"] for entry in fleet["verdicts"] if entry["verdict"] == verdict]
        fleet["counts"][verdict] = len(fleet[verdict])
    fleet["findings"].sort(key=lambda finding: (level[finding["level"]], finding["rule"], finding["node"], finding["subject"]["id"]))
    fleet["coverage"].sort(key=lambda item: (item["node"], item["rule"]))
    names = [entry["node"] for entry in fleet["verdicts"]]
    fleet["roster"] = {"expected": names, "present": len(names), "answered": len(names), "text": ""}
    cohorts = {}
    for entry in fleet["verdicts"]:
        if entry["cohort"]:
            cohorts.setdefault(entry["cohort"], []).append(entry["node"])
    odd = {finding["node"] for finding in fleet["findings"] if finding["rule"].startswith("cohort-")}
    fleet["cohorts"] = [
        {"name": name, "nodes": nodes, "why": "same accelerators and count", "odd": [node for node in nodes if node in odd]}
        for name, nodes in sorted(cohorts.items())
    ]
    return fleet


def empty(run_id="20261129T170000Z-7f3a"):
    return {
        "schema": "fleetproof.accelerator/fleet/v1",
        "run_id": run_id,
        "collection_version": "0.1.0",
        "profile": "preflight",
        "judgement": 1,
        "created": "2026-11-29T17:00:00Z",
        "judged_at": "2026-11-29T17:00:41Z",
        "counts": {},
        "findings": [],
        "coverage": [],
        "cohorts": [],
        "verdicts": [],
        "rule_catalogue": catalogue(),
    }


def silent(fleet, entry, reason):
    """A node that did not answer: no facts, no devices, every rule without an answer."""
    rules = [rule for rule in entry["rules"] if rule != "row-mig"]
    lose(fleet, entry, rules, "unknown", reason)
    entry.update(devices=[], facts={key: {"unknown": reason} for key in entry["facts"]}, cohort="", reasons=[reason])


def twelve():
    """Four 8-H100, a GB200 tray, four 8-MI300X, three 8-Ascend-910B; the faults of a bad morning."""
    fleet = empty()
    names = ["gpu-a01", "gpu-a02", "gpu-a03", "gpu-a04", "gpu-n01", "gpu-m01", "gpu-m02", "gpu-m03", "gpu-m04", "npu-c01", "npu-c02", "npu-c03"]
    parts = ["h100"] * 4 + ["gb200"] + ["mi300x"] * 4 + ["ascend"] * 3
    nodes = {name: node(name, part, number) for number, (name, part) in enumerate(zip(names, parts), 1)}

    short = nodes["gpu-a02"]
    short["devices"].pop(5)
    short["facts"]["accelerators"] = "7x NVIDIA H100 80GB HBM3"
    find(fleet, short, "accelerator-count", "7 of 8 accelerators are there", 7, 8, origin="site policy")
    find(fleet, short, "detection-disagrees", "PCI shows 8 accelerators, nvidia-smi names 7: 0000:68:00.0 is missing", 7, 8, caused_by=("accelerator-count",))
    find(fleet, short, "link-down", "17 of 18 links are up", 17, 18, subject="nvidia:4", unit="links", caused_by=("accelerator-count",))
    short["devices"][4]["links"] = "17 of 18 nvlink up"

    sick = nodes["gpu-a03"]
    sick["devices"][3].update(ecc_uncorrected=2, health="degraded: row remap pending")
    find(fleet, sick, "row-remap-pending", "A row remap waits for a reset", "pending", "none pending", subject="nvidia:3", origin="vendor document")
    find(
        fleet,
        sick,
        "ecc-uncorrectable",
        "2 uncorrectable errors since the driver loaded",
        2,
        0,
        subject="nvidia:3",
        unit="errors",
        origin="vendor document",
        caused_by=("row-remap-pending",),
    )
    find(fleet, sick, "power-limit", "The limit is 600 W", 600, 700, subject="nvidia:6", unit="W", origin="vendor document")

    narrow = nodes["gpu-m03"]
    narrow["devices"][6]["pcie"] = "Gen5 x8"
    find(fleet, narrow, "pcie-width", "The card runs at x8, card and slot can do x16", 8, 16, subject="amd:6", unit="lanes")

    odd = nodes["gpu-m04"]
    odd["facts"]["driver"] = "6.10.5"
    find(fleet, odd, "cohort-driver", "Driver 6.10.5, the cohort has 6.12.12", "6.10.5", "6.12.12", origin="fleet cohort")
    find(fleet, nodes["gpu-m02"], "memlock-limited", "Locked memory is limited to 64 KiB", 65536, "unlimited", unit="bytes")

    hung = nodes["npu-c02"]
    lost = ["accelerator-count", "detection-disagrees", "ecc-uncorrectable", "link-down", "pcie-width", "temperature-margin", "tool-answers"]
    lose(fleet, hung, lost, "unknown", "npu-smi info -t board -i 3: no answer in 20 s, killed")
    for entry in hung["devices"]:
        for key in ("serial", "memory_mib", "temperature_c", "power_w", "ecc_uncorrected", "links"):
            entry[key] = {"unknown": "npu-smi: no answer"}
        entry["health"] = "unknown: npu-smi: no answer"

    silent(fleet, nodes["npu-c03"], "unreachable: ssh: connect to host npu-c03 port 22: No route to host")
    for name in ("gpu-a01", "gpu-a04"):
        lose(fleet, nodes[name], ["row-mig"], "not_run", "the preflight does not switch slicing on")
    return finish(fleet, list(nodes.values()))


def many(number=500):
    """A large fleet: in every hundred a remap, two narrow cards, one cold node, ten with a limited memlock."""
    fleet = empty("20261129T180000Z-00c1")
    entries = []
    for index in range(number):
        part = ("h100", "h100", "mi300x", "ascend")[index * 4 // number]
        entry = node("rack%02d-gpu%02d" % (index // 16 + 1, index % 16 + 1), part, index)
        entries.append(entry)
        first = entry["devices"][index % 8]
        if index % 100 == 7 and part == "h100":
            find(fleet, entry, "row-remap-pending", "A row remap waits for a reset", "pending", "none pending", subject=first["id"], origin="vendor document")
        if index % 100 in (31, 67):
            first["pcie"] = "Gen5 x8"
            find(fleet, entry, "pcie-width", "The card runs at x8, card and slot can do x16", 8, 16, subject=first["id"], unit="lanes")
        if index % 100 == 50:
            silent(fleet, entry, "unreachable: ssh: connection timed out")
        if index % 10 == 3:
            find(fleet, entry, "memlock-limited", "Locked memory is limited to 64 KiB", 65536, "unlimited", unit="bytes")
        if index % 4 == 0 and part == "h100" and entry["devices"]:
            lose(fleet, entry, ["row-mig"], "not_run", "the preflight does not switch slicing on")
    return finish(fleet, entries)


def series(said, values, reference=10.0, floor=(5.0, 6.0), cohort=None, better="higher"):
    """An entry of measurements: values as [node, subject, number]."""
    return {
        "metric": said,
        "unit": said,
        "better": better,
        "method": said,
        "product": said,
        "cohort": said if cohort is None else cohort,
        "number": len(values),
        "reference": reference,
        "spread": 0.02,
        "limit": 0.07,
        "floor": {"fail": floor[0], "warn": floor[1], "source": said} if floor else None,
        "values": values,
    }


def matrix(said, ends, values):
    return {
        "metric": said,
        "unit": said,
        "better": "higher",
        "method": said,
        "pairs": sum(value is not None for row in values for value in row),
        "reference": 2.0,
        "spread": 0.02,
        "limit": 0.1,
        "ends_number": len(ends),
        "ends": ends,
        "values": values,
    }


HOSTILE = (
    "<script>alert(1)</script>&\"'`{{ 7*7 }}{% raw %}\u202eevil\u202c\x1b[31mred\x00\x07\r\u200b]]>--><!--\ud800\ufffe\n::set-output \u05d0\u0628 \U000e0041"
)


def hostile():
    """Every string that can come from a node says something nasty."""
    fleet = twelve()

    def spoil(value):
        if isinstance(value, dict):
            return {key: spoil(item) if key not in ("verdict", "outcome", "level", "rule", "kind", "layers") else item for key, item in value.items()}
        if isinstance(value, list):
            return [spoil(item) for item in value]
        return value + HOSTILE if isinstance(value, str) else value

    for key in ("verdicts", "findings", "coverage", "cohorts", "roster", "accepted", "accepted_with_warnings", "rejected", "incomplete"):
        fleet[key] = spoil(fleet[key])
    return fleet
