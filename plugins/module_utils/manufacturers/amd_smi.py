# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD by amd-smi JSON. Shapes: the amd-smi CLI's source and change log, ROCm 6.1 to 7.2.

A row is one logical device of a tool: groups of a Device, and what amd.py needs to make packages and partitions of rows.
"""

from __future__ import annotations

import json
import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import source
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown, known, not_applicable, number, unknown

_NOTHING = ("", "-", "--", "na", "none", "null", "unknown", "not supported", "xxx", "<redacted>", "err!", "error")
_GENERATIONS = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
_JSON_START = re.compile(r'^[ \t]*(?=\{[ \t]*(?:["}]|\r?$)|\[[ \t]*(?:[\[{"\]]|\r?$))', re.MULTILINE)
_CHATTER = re.compile(r"[ \t]*(?:WARN|ERROR|INFO|DEBUG|\[(?:WARN|ERR)|[A-Za-z]+Warning\b|/\S+\.py:\d+)", re.IGNORECASE)
_ACCESS = re.compile(r"missing the following required groups?|unable to open /dev/|permission denied|not (?:a )?member of|must be root", re.IGNORECASE)
_COMPLAINT = re.compile(r"error code|^\w*(?:Error|Exception):|\berror\b|not initialized|unable to|no AMD GPUs|AMDSMI_STATUS_", re.IGNORECASE)
IN_TREE = "in-tree driver: it has no version of its own"


def clean(raw, what):
    """A printed value as a fact. N/A and its relatives, with or without a unit around them, are unknown."""
    if isinstance(raw, dict):
        if is_unknown(raw):
            return unknown(raw["unknown"])
        raw = raw.get("value", "N/A")
    if raw is None:
        return unknown("%s: not printed" % what)
    if isinstance(raw, (bool, int)) and abs(raw) < 1 << 64:
        return raw
    if isinstance(raw, float) and abs(raw) < 1 << 64:  # not for NaN either
        return raw
    if not isinstance(raw, str) or raw.strip().lower() in _NOTHING or raw.strip().lower().startswith("n/a"):
        return unknown("%s: %.60r" % (what, raw))
    return raw.strip()[:200]


def amount(raw, what, unit=None, top=1 << 32, least=0):
    """A number; another unit than the one asked for, a sentinel (65535, 2^32-1) or a negative one is unknown."""
    value = clean(raw, what)
    if not is_known(value):
        return value
    told = raw.get("unit") if isinstance(raw, dict) else None
    if isinstance(value, bool) or len(str(value)) > 40 or (unit and told not in (None, "", unit)):
        return unknown("%s: not a number of %s: %.60r" % (what, unit, raw))
    value = number(value, what, unit)
    if is_known(value) and not least <= value < top:
        return unknown("%s: implausible: %s" % (what, value))
    return int(value) if is_known(value) and value == int(value) else value


def count(raw, what):
    value = amount(raw, what, top=(1 << 32) - 1)
    if is_known(value) and value and value % 1048560 == 0:
        # amdgpu adds 0xFFFF0 at each query of a suspended GPU
        return unknown("%s: %s is a known false count, read it again with the GPU awake" % (what, value))
    return value


def _within(unit, top, least=0):
    return lambda raw, what: amount(raw, what, unit, top, least)


celsius, watts, percent = _within("C", 300, 1), _within("W", 10000), _within("%", 101)
width, node, speed = _within(None, 33, 1), _within(None, 4096), _within("GT/s", 129, 1)
mib, size = _within("MB", 1 << 30), _within("MB", 1 << 30, 1)


def generation(raw, what):
    rate = speed(raw, what)
    return _GENERATIONS.get(rate, unknown("%s: %s GT/s" % (what, rate))) if is_known(rate) else rate


def hex_id(raw, what):
    """0x and 16 digits: rocm-smi drops leading zeros."""
    value = clean(raw, what)
    digits = re.match(r"(?:0x)?([0-9a-f]{1,16})\Z", str(value).lower()) if is_known(value) else None
    if digits and digits.group(1).strip("0"):
        return "0x" + digits.group(1).rjust(16, "0")
    return unknown("%s: %.40r" % (what, value)) if is_known(value) else value


def firmware(raw, what):
    value = clean(raw, what)
    value = str(value) if is_known(value) else value
    return not_applicable("not loaded") if is_known(value) and not value.lower().strip("0x.") else value


def market_name(raw, what):
    """Without the host's pci.ids the tools print 0x1002 for a name."""
    value = clean(raw, what)
    return unknown("%s: %s" % (what, value)) if is_known(value) and re.match(r"0x[0-9a-f]+\Z", str(value).lower()) else value


def driver_version(raw, kernel=None):
    """Drivers of the kernel's tree print its release, or /proc/version without blanks and cut anywhere."""
    value = clean(raw, "driver version")
    if is_known(value) and (str(value) == kernel or not re.match(r"\d+(?:\.\d+){1,5}\Z", str(value))):
        return not_applicable(IN_TREE)
    return value


def first(*facts):
    """The first known fact, else the first."""
    return next((f for f in facts if is_known(f)), facts[0])


def total(values):
    """Sum of facts. What was counted stays counted; zero is said only when all were read."""
    found = sum(v for v in values if is_known(v))
    return found or next((v for v in values if not is_known(v)), 0 if values else unknown("no counts"))


def dig(tree, path):
    for key in path.split("."):
        if not isinstance(tree, dict) or is_unknown(tree):
            return tree if isinstance(tree, dict) else None
        tree = tree.get(key)
    return tree


def getter(tree):
    """get("a.b|a.c", convert): the first known of some places in the tree."""

    def get(paths, convert=clean):
        return first(*(convert(dig(tree, p), p) for p in paths.split("|")))

    return get


_DECODER = json.JSONDecoder(parse_constant=lambda word: "N/A")  # NaN and Infinity are no JSON


def _flat(values):
    for _level in range(20):
        values = [v for item in values if isinstance(item, (list, dict)) for v in (item.values() if isinstance(item, dict) else item)]
    return not values


def documents(text):
    """(JSON values in a text with chatter before, between or inside them, why it cannot be parsed or "")."""
    problem = ""
    for attempt in (text, "\n".join(line for line in text.splitlines() if not _CHATTER.match(line))):
        try:
            values, start = [], _JSON_START.search(attempt)
            while start:
                value, end = _DECODER.raw_decode(attempt, start.end())
                values.append(value)
                start = _JSON_START.search(attempt, end)
            return (values, "" if values else "no JSON in it") if _flat(values) else ([], "nested too deeply")
        except (ValueError, RecursionError) as error:
            problem = problem or "not valid JSON: %s" % str(error)[:80]
    return [], problem


def complaint(answer):
    """The line in which a tool says what is wrong."""
    lines = [line.strip() for line in (answer.stdout + "\n" + answer.stderr).splitlines()]
    for pattern in (_ACCESS, _COMPLAINT):
        said = [line for line in lines if pattern.search(line) and not line.startswith('"')]
        if said:
            return "%s: %s" % (answer.subject, said[-1][:200])
    return answer.reason


def parse(answer):
    """(JSON values, why there are none or "")."""
    if not answer.ok:
        return [], answer.reason
    values, problem = documents(answer.stdout)
    for value in values:
        if isinstance(value, dict) and "error" in value:
            return [], "%s: %.200s (code %.20s)" % (answer.subject, value["error"], value.get("code"))
    if values:
        return values, ""
    complains = answer.rc or _COMPLAINT.search(answer.stdout + answer.stderr)
    return [], complaint(answer) if complains else "%s: %s" % (answer.subject, problem)


def gpu_rows(values):
    """{number: row} of a bare list, of several lists (CPU sockets come first) or of the gpu_data wrapper."""
    rows = {}
    for value in values:
        items = value.get("gpu_data", [value]) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else []:
            index = amount(item.get("gpu"), "gpu") if isinstance(item, dict) else None
            if isinstance(index, int):
                rows.setdefault(index, item)
    return rows


class Reading:
    """What one way of asking gave: rows, or why not."""

    def __init__(self):
        self.rows, self.sources, self.driver = [], [], {}
        self.failed = self.no_access = ""
        self.installed, self.hung = True, False

    def ask(self, host, argv, timeout):
        answer = host.run(argv, timeout=timeout)
        self.sources.append(source(answer))
        self.hung = self.hung or answer.status == answers.TIMEOUT
        self.installed = self.installed and answer.status != answers.ABSENT
        if answer.ok and _ACCESS.search(answer.stderr + answer.stdout):
            self.no_access = complaint(answer)
        return answer


def read(host, kernel=None):
    reading = Reading()

    def ask(word, timeout=30):
        if reading.hung or not reading.installed:
            return [], unknown("amd-smi %s: not asked: %s" % (word, reading.failed))
        values, problem = parse(reading.ask(host, ["amd-smi", word, "--json"], timeout))
        if reading.hung or not reading.installed:
            reading.failed = reading.failed or problem
        return values, unknown(problem) if problem else None

    values, problem = ask("version", 15)
    if reading.failed:
        return reading
    flat = values[0] if values and isinstance(values[0], list) else values
    get = getter(problem or next((v for v in flat if isinstance(v, dict)), {}))
    reading.driver = {"tool_version": get("version"), "library_version": get("amdsmi_library_version"), "runtime_version": get("rocm_version")}
    tables, problems, indices = {}, {}, []
    for word in ("list", "static", "metric", "firmware", "bad-pages", "process"):
        values, problems[word] = ask(word)
        tables[word] = gpu_rows(values)
        if word == "static":
            indices = sorted(set(tables["list"]) | set(tables["static"]))
            trouble = problems["list"] or problems["static"] or {"unknown": ""}
            if not indices:
                reading.failed = reading.failed or trouble["unknown"]
                return reading
            odd = [str(i) for i in indices if i not in tables["static"] or i not in tables["list"]]
            reading.failed = trouble["unknown"] or ("amd-smi list and static disagree about GPU %s" % ", ".join(odd) if odd else "")
    trouble, reading.failed = reading.failed, ""  # a later hang leaves facts unknown, the devices are known
    values, problem = ask("xgmi") if len(indices) > 1 else ([], None)
    links = xgmi_links(values)
    for index in indices:
        row = _row({w: t.get(index) or problems[w] or unknown("amd-smi %s: no GPU %d" % (w, index)) for w, t in tables.items()})
        linked = links.get(str(known(row["bdf"], "")).lower()) or problem or unknown("amd-smi xgmi: no GPU %d" % index)
        row.update(index=index, links=linked if len(indices) > 1 else not_applicable("one GPU only"))
        row["version"] = driver_version(row["version"], kernel)
        reading.driver.setdefault("version", row["version"])
        reading.rows.append(row)
    # without static there are no names: detection says so by itself
    reading.failed = trouble if not tables["static"] or "disagree" in trouble else ""
    return reading


def _row(parts):
    get = getter(parts)
    metric, ras = parts["metric"], dig(parts, "static.ras")
    name = get("static.asic.market_name", market_name)
    hotspot, edge = get("metric.temperature.hotspot", celsius), get("metric.temperature.edge", celsius)
    core = "hotspot" if is_known(hotspot) or not is_known(edge) else "edge"
    failed = str(known(get("static.ras.bad_page_threshold_exceeded"), "")).lower() == "true"
    blocks = {"vbios": get("static.ifwi.version|static.vbios.version")}
    entries = dig(parts, "firmware.fw_list")
    for entry in entries if isinstance(entries, list) else ():
        blocks[str(known(clean(dig(entry, "fw_id"), "firmware"), "unnamed")).lower()[:60]] = firmware(dig(entry, "fw_version"), "firmware")
    return {
        "name": name,
        "bdf": get("static.bus.bdf|list.bdf"),
        "unique_id": get("static.asic.asic_serial", hex_id),
        "tool_uuid": get("list.uuid"),
        "serial": get("static.board.product_serial"),
        "slot": get("static.asic.oam_id", node),
        "partition_id": get("list.partition_id|static.partition.partition_id", node),
        "version": get("static.driver.version"),
        "numa_node": get("static.numa.node", node),
        "memory_mib": get("static.vram.size|metric.mem_usage.total_vram", size),
        "memory_used_mib": get("metric.mem_usage.used_vram", mib),
        "utilization_percent": get("metric.usage.gfx_activity", percent),
        "temperature_c": {
            "core": hotspot if core == "hotspot" else edge,
            "memory": get("metric.temperature.mem", celsius),
            "limit_core": get("static.limit.slowdown_%s_temperature" % core, celsius),
            "limit_memory": get("static.limit.slowdown_vram_temperature", celsius),
        },
        "power_w": {
            "draw": get("metric.power.socket_power|metric.power.current_socket_power|metric.power.average_socket_power", watts),
            "limit": get("static.limit.socket_power|static.limit.ppt0.socket_power_limit|static.limit.power_cap", watts),
        },
        "pcie": {
            "generation_current": get("metric.pcie.speed|metric.pcie.current_speed", generation),
            "generation_max": get("static.bus.max_pcie_speed", generation),
            "width_current": get("metric.pcie.width|metric.pcie.current_width", width),
            "width_max": get("static.bus.max_pcie_width", width),
            "replay_count": get("metric.pcie.replay_count", count),
        },
        "ecc": _ecc(ras, metric, name),
        "retired_pages": _pages(parts["bad-pages"]),
        "health": {"state": "failed", "detail": "bad page threshold exceeded"} if failed else not_applicable("AMD tools give no health word"),
        "partition": {
            "profile": get("static.partition.accelerator_partition|static.partition.compute_partition"),
            "memory_profile": get("static.partition.memory_partition"),
        },
        "throttle": {"active": _throttle(metric)},
        "processes": _processes(dig(parts, "process.process_list")),
        "firmware": blocks,
        "extra": {
            "kfd_node": get("list.node_id"),
            "temperature_edge_c": edge,
            "gfx_version": get("static.asic.target_graphics_version"),
            "pci_device": get("static.asic.device_id"),
            "bad_page_threshold": get("static.ras.bad_page_threshold", count),
            "ecc_deferred": get("metric.ecc.total_deferred_count", count),
        },
    }


def _ecc(ras, metric, name):
    blocks = dig(ras, "ecc_block_state")
    mode = clean(dig(blocks, "UMC") if isinstance(blocks, dict) else blocks, "RAS state of UMC")
    named = is_known(name) and not re.search(r"instinct|\bMI\d", str(name), re.IGNORECASE)
    if is_known(mode):
        mode = {"enabled": "enabled", "disabled": "disabled"}.get(str(mode).lower(), unknown("RAS state of UMC: %.40r" % mode))
    elif named and isinstance(ras, dict) and not is_unknown(ras) and not any(is_known(clean(v, k)) for k, v in ras.items()):
        mode = not_applicable("the driver reports no RAS for this part")
    ecc, told = {"mode": mode}, dig(metric, "ecc_blocks")
    for key, word in (("corrected_volatile", "correctable"), ("uncorrected_volatile", "uncorrectable")):
        counted = [count(dig(b, word + "_count"), word) for b in told.values()] if isinstance(told, dict) and not is_unknown(told) else []
        whole = count(dig(metric, "ecc.total_%s_count" % word), "total %s count" % word)
        if is_known(whole):
            whole = max([whole] + [v for v in counted if is_known(v)])
        elif "false count" not in whole["unknown"]:
            whole = total(counted) if is_known(total(counted)) else whole
        ecc[key] = whole
    return ecc


def _pages(told):
    def pages(key):
        raw = dig(told, key)
        if isinstance(raw, list) or (isinstance(raw, dict) and not is_unknown(raw)):
            return len(raw) if isinstance(raw, list) else 1  # one page is printed without the list around it
        value = clean(raw, "bad pages, %s" % key)
        if is_known(value):
            value = 0 if str(value).lower().startswith("no bad pages") else unknown("bad pages: %.60r" % value)
        return value

    waiting = total([pages("pending"), pages("un_res")])
    return {"uncorrected": pages("retired"), "pending": waiting > 0 if is_known(waiting) else waiting}


def _leaves(value):
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [str(value).strip().upper()] if items is None else [leaf for item in items for leaf in _leaves(item)]


def _throttle(metric):
    """Violations are told on MI3x, the throttle status on earlier parts and Radeon; neither is no answer."""
    told, states = dig(metric, "throttle"), {}
    for key, value in told.items() if isinstance(told, dict) else ():
        # below its limit and little used is what an idle GPU is
        if str(key).endswith("_violation_status") and not str(key).startswith(("total_", "low_utilization")):
            states[str(key).replace("_violation_status", "")[:60]] = _leaves(value)
    active = sorted(k for k, leaves in states.items() if "ACTIVE" in leaves)
    if active or any("NOT ACTIVE" in leaves for leaves in states.values()):
        return active
    status = clean(dig(metric, "power.throttle_status"), "throttle status")
    return {"UNTHROTTLED": [], "THROTTLED": ["throttled"]}.get(str(status).upper(), unknown("throttle status: %.40r" % status)) if is_known(status) else status


def _processes(entries):
    if not isinstance(entries, list) or not entries:
        return clean(entries, "process list")
    infos = [dig(e, "process_info") for e in entries]
    running = sum(1 for i in infos if isinstance(i, dict))
    none = all(str(i).lower().startswith("no running processes") for i in infos)
    return running if running or none else clean(infos[0], "process list")


def xgmi_links(values):
    """{bdf: links}: port states U, D and X (switched off) where the tool has them, else only the peers it measures."""
    tables, kinds, queue = {}, {}, list(values)
    while queue:
        item = queue.pop()
        queue += item if isinstance(item, list) else [v for v in item.values() if isinstance(v, (list, dict))] if isinstance(item, dict) else []
        bdf = str(item.get("bdf")).lower() if isinstance(item, dict) else ""
        if bdf and isinstance(item.get("link_status"), list):
            tables.setdefault(bdf, []).append([str(s).strip().upper() for s in item["link_status"]])
        if bdf and isinstance(item.get("link_metrics"), dict):
            peers = item["link_metrics"].get("links")
            measured = [p for p in peers if is_known(clean(dig(p, "read"), "read"))] if isinstance(peers, list) else []
            kinds[bdf] = (str(item["link_metrics"].get("link_type")).upper(), len(measured))
    links, silent = {}, unknown("this amd-smi does not tell the state of xGMI links")
    for bdf in set(tables) | set(kinds):
        # the table of ports names each link; in the one of peers two links to one peer are joined with a slash
        told = sorted(tables.get(bdf, []), key=lambda states: "SELF" in states)
        ports = next((p for p in ([w for s in states for w in s.split("/")] for states in told) if set(p) & {"U", "D"}), [])
        down = [i for i, s in enumerate(ports) if s == "D"]
        kind, peers = kinds.get(bdf, ("", 0))
        if ports:
            links[bdf] = {"kind": "xgmi", "total": ports.count("U") + len(down), "up": ports.count("U"), "down": down}
        elif kind == "PCIE":
            links[bdf] = not_applicable("peers are reached over PCIe")
        elif kind == "XGMI":
            links[bdf] = {"kind": "xgmi", "total": peers or silent, "up": silent, "down": silent}
    return links
