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
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import chatter
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.process_names import program_names
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import source
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown, not_applicable, number, unknown

_NOTHING = ("", "-", "--", "na", "none", "null", "unknown", "not supported", "xxx", "<redacted>", "err!", "error")
_GENERATIONS = {2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}
_JSON_START = re.compile(r'^[ \t]*(?=\{[ \t]*(?:["}]|\r?$)|\[[ \t]*(?:[\[{"\]]|\r?$))', re.MULTILINE)
_ACCESS = re.compile(r"missing the following required group|unable to open /dev/|permission denied|must be root", re.IGNORECASE)
_COMPLAINT = re.compile(r"error code|^\w*(?:Error|Exception):|\berror\b|not initialized|unable to|no AMD GPUs|AMDSMI_STATUS_", re.IGNORECASE)
_NO_JSON = re.compile(r"\bjson\b(?! in it)", re.IGNORECASE)
# ERROR: one since it was last asked, MULTIPLE_ERRORS: at least two (amd_smi.h)
_XGMI_ERRORS = {"NO_ERRORS": 0, "ERROR": 1, "MULTIPLE_ERRORS": 2}
_COUNTED = (
    ("ecc", "corrected_volatile", "correctable_count"),
    ("ecc", "uncorrected_volatile", "uncorrectable_count"),
    ("extra", "ecc_deferred", "deferred_count"),
)
IN_TREE = not_applicable("in-tree driver: it has no version of its own")
# key of the row, kind of value, places where tools of different ages print it
_ROW = """
name name static.asic.market_name
bdf text static.bus.bdf|list.bdf
unique_id id static.asic.asic_serial
tool_uuid text list.uuid
serial text static.board.product_serial
slot node static.asic.oam_id
partition_id node list.partition_id|static.partition.partition_id
version text static.driver.version
numa_node node static.numa.node
memory_mib size static.vram.size|metric.mem_usage.total_vram
memory_used_mib mib metric.mem_usage.used_vram
utilization_percent percent metric.usage.gfx_activity
temperature_c.core celsius metric.temperature.hotspot|metric.temperature.edge
temperature_c.memory celsius metric.temperature.mem
temperature_c.limit_core celsius static.limit.slowdown_hotspot_temperature
temperature_c.limit_memory celsius static.limit.slowdown_vram_temperature
temperature_c.shutdown_core celsius static.limit.shutdown_hotspot_temperature
power_w.draw watts metric.power.socket_power|metric.power.current_socket_power|metric.power.average_socket_power
power_w.limit cap static.limit.socket_power|static.limit.ppt0.socket_power_limit|static.limit.power_cap
power_w.limit_max cap static.limit.max_power|static.limit.ppt0.max_power_limit
power_w.limit_min watts static.limit.min_power|static.limit.ppt0.min_power_limit
clocks_mhz.core mhz metric.clock.gfx_0.clk|metric.clock.gfx.clk
clocks_mhz.memory mhz metric.clock.mem_0.clk|metric.clock.mem.clk
clocks_mhz.core_max mhz metric.clock.gfx_0.max_clk|metric.clock.gfx.max_clk
clocks_mhz.memory_max mhz metric.clock.mem_0.max_clk|metric.clock.mem.max_clk
clocks_mhz.locked switch metric.clock.gfx_0.clk_locked
pcie.generation_current generation metric.pcie.speed|metric.pcie.current_speed
pcie.generation_max generation static.bus.max_pcie_speed
pcie.generation_device_max generation static.bus.max_pcie_speed
pcie.width_current width metric.pcie.width|metric.pcie.current_width
pcie.width_max width static.bus.max_pcie_width
pcie.replay_count count metric.pcie.replay_count
ecc.mode text static.ras.ecc_block_state.UMC
ecc.corrected_volatile count metric.ecc.total_correctable_count
ecc.uncorrected_volatile count metric.ecc.total_uncorrectable_count
partition.profile text static.partition.accelerator_partition|static.partition.compute_partition
partition.memory_profile text static.partition.memory_partition
firmware.vbios text static.ifwi.version|static.vbios.version
extra.kfd_node node list.node_id
extra.temperature_edge_c celsius metric.temperature.edge
extra.gfx_version text static.asic.target_graphics_version
extra.pci_device text static.asic.device_id
extra.ecc_deferred count metric.ecc.total_deferred_count
extra.bad_page_threshold count static.ras.bad_page_threshold
extra.performance_level text metric.perf_level
"""


def clean(raw, what):
    """A printed value as a fact. N/A and its relatives, with or without a unit around them, are unknown."""
    if isinstance(raw, dict):
        if is_unknown(raw):
            return unknown(raw["unknown"])
        raw = raw.get("value", "N/A")
    if raw is None:
        return unknown("%s: not printed" % what)
    if isinstance(raw, (int, float)) and abs(raw) < 1 << 64:  # no infinity, no NaN
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


def _within(unit, top, least=0):
    return lambda raw, what: amount(raw, what, unit, top, least)


def count(raw, what):
    value = amount(raw, what, None, (1 << 32) - 1)
    if is_known(value) and value and value % 1048560 == 0:
        # amdgpu adds 0xFFFF0 at each query of a suspended GPU
        return unknown("%s: %s is a known false count, read it again with the GPU awake" % (what, value))
    return value


def _generation(raw, what):
    rate = amount(raw, what, "GT/s", 129, 1)
    return _GENERATIONS.get(rate, unknown("%s: %s GT/s" % (what, rate))) if is_known(rate) else rate


def _scaled(divisor, top, least):
    def convert(raw, what):
        value = amount(raw, what, None, top, least)
        return int(value // divisor) if is_known(value) else value

    return convert


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


def _name(raw, what):
    """Without the host's pci.ids the tools print 0x1002 for a name."""
    value = clean(raw, what)
    return unknown("%s: %s" % (what, value)) if re.match(r"0x[0-9a-f]+\Z", str(value).lower()) else value


def _cap(raw, what):
    """The dies of a MI250 share one cap: the second prints 0 W."""
    value = amount(raw, what, "W", 10000)
    return not_applicable("%s: 0 W: it is told by another die, or the part has none" % what) if value == 0 else value


def _clock(raw, what):
    """Of several levels the one with an asterisk, else the highest: "(800Mhz)", "500Mhz - 1700Mhz", "0: 500Mhz 1: 1700Mhz *"."""
    value = clean(raw, what)
    levels = re.findall(r"(\d{1,5}) ?mhz( ?\*)?", str(value).lower()) if is_known(value) else []
    chosen = [level for level, mark in levels if mark] or [level for level, _mark in levels]
    return amount(max(chosen, key=int), what, None, 20000, 1) if chosen else unknown("%s: %.60r" % (what, value)) if is_known(value) else value


def _top_clock(raw, what):
    return _clock(raw.replace("*", "") if isinstance(raw, str) else raw, what)


def _switch(raw, what):
    value = clean(raw, what)
    return {"ENABLED": True, "DISABLED": False}.get(str(value).upper(), unknown("%s: %.40r" % (what, value))) if is_known(value) else value


KINDS = {
    "text": clean,
    "name": _name,
    "id": hex_id,
    "count": count,
    "firmware": firmware,
    "generation": _generation,
    "celsius": _within("C", 300, 1),
    "watts": _within("W", 10000),
    "cap": _cap,
    "clock": _clock,
    "top_clock": _top_clock,
    "percent": _within("%", 101),
    "mhz": _within("MHz", 20000, 1),
    "switch": _switch,
    "width": _within(None, 33, 1),
    "node": _within(None, 4096),
    "mib": _within("MB", 1 << 30),
    "size": _within("MB", 1 << 30, 1),
    "bytes": _scaled(1 << 20, 1 << 50, 0),
    "memory": _scaled(1 << 20, 1 << 50, 1 << 20),
    "millicelsius": _scaled(1000, 300000, 1000),
    "microwatts": _scaled(1000000, 10**10, 1),
}


def first(*facts):
    """The first known fact, else the first."""
    return next((f for f in facts if is_known(f)), facts[0])


def fill(table, look):
    """The row that a table describes; look(place) gives the raw value."""
    row = {"extra": {}}
    for line in table.strip().splitlines():
        key, kind, places = line.split(None, 2)
        group, _dot, name = key.partition(".")
        block = row.setdefault(group, {}) if name else row
        block[name or group] = first(*(KINDS[kind](look(place), place) for place in places.split("|")))
    return row


def total(values):
    """Sum of facts. What was counted stays counted; zero is said only when all were read."""
    found = sum(v for v in values if is_known(v))
    return found or next((v for v in values if not is_known(v)), 0 if values else unknown("no counts"))


def driver_version(raw, kernel=None):
    """Drivers of the kernel's tree print its release, or /proc/version without blanks and cut anywhere."""
    value = clean(raw, "driver version")
    return dict(IN_TREE) if is_known(value) and (value == kernel or not re.match(r"\d+(?:\.\d+){1,5}\Z", str(value))) else value


def dig(tree, path):
    for key in path.split("."):
        if not isinstance(tree, dict) or is_unknown(tree):
            return tree if isinstance(tree, dict) else None
        tree = tree.get(key)
    return tree


_DECODER = json.JSONDecoder(parse_constant=lambda word: "N/A")  # NaN and Infinity are no JSON


def _flat(values):
    for _level in range(20):
        values = [v for item in values if isinstance(item, (list, dict)) for v in (item.values() if isinstance(item, dict) else item)]
    return not values


def documents(text):
    """(JSON values in a text with chatter before, between or inside them, why it cannot be parsed or "")."""
    problem = ""
    for attempt in (text, chatter.without(text)):
        try:
            values, start = [], _JSON_START.search(attempt)
            while start:
                value, end = _DECODER.raw_decode(attempt, start.end())
                values.append(value)
                if not re.search(r"[\[{]", attempt[: start.end()]) and re.match(r"\s*[,}\]]", attempt[end : end + 200]):
                    raise ValueError("more after its end")
                start = _JSON_START.search(attempt, end)
            return (values, "" if values else "no JSON in it") if _flat(values) else ([], "nested too deeply")
        except (ValueError, RecursionError) as error:
            problem = problem or "not valid JSON: %s" % str(error)[:80]
    return [], problem


def complaint(answer):
    """The line in which a tool says what is wrong, or ""."""
    lines = [line.strip() for line in (answer.stdout + "\n" + answer.stderr).splitlines()]
    said = [line for pattern in (_COMPLAINT, _ACCESS) for line in lines if pattern.search(line) and not line.startswith('"')]
    return "%s: %s" % (answer.subject, said[-1][:200]) if said else ""


def parse(answer):
    """(JSON values, why there are none or "")."""
    if not answer.ok:
        return [], answer.reason
    values, problem = documents(answer.stdout)
    for value in values:
        if isinstance(value, dict) and "error" in value:
            return [], "%s: %.200s (code %.20s)" % (answer.subject, value["error"], value.get("code"))
    return values, "" if values else complaint(answer) or (answer.reason if answer.rc else "%s: %s" % (answer.subject, problem))


def _gpus(values):
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
        self.json, self.cut, self.note = True, "", ""

    def ask(self, host, argv, timeout):
        answer = host.run(argv, timeout=timeout)
        self.sources.append(source(answer))
        self.hung = answer.status == answers.TIMEOUT
        self.installed = answer.status != answers.ABSENT
        if answer.ok and _ACCESS.search(answer.stderr + answer.stdout):
            self.no_access = complaint(answer)
        return answer


def _ask(host, reading, word):
    """(values, problem). Of a tool whose JSON is none, or that knows no --json, the text is read, from then on without asking for JSON."""
    values, problem = [], ""
    if reading.json:
        answer = reading.ask(host, ["amd-smi", word, "--json"], 15 if word == "version" else 30)
        values, problem = parse(answer)
        in_text = answer.ok and not values and re.search(r"(?m)^(?: {0,2}GPU: \d+\s*$|AMDSMI Tool:)", answer.stdout)
        if values or not answer.ok or not (in_text or _NO_JSON.search(problem + answer.stderr + answer.stdout)):
            return values, problem
    if not reading.json or not in_text:
        answer = reading.ask(host, ["amd-smi", word], 15 if word == "version" else 30)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_text

    values, cut = amd_text.parse(word, answer.stdout) if answer.ok else ([], "")
    reading.json = reading.json and not (values and word in ("version", "list"))
    if cut and word in ("list", "static"):
        reading.cut = "%s: something was left out: %s" % (answer.subject, cut)
    return values, "" if values else problem or complaint(answer) or (answer.reason if answer.rc or not answer.ok else "%s: not understood" % answer.subject)


def read(host, kernel=None):
    reading, tables, problems = Reading(), {}, {}
    for word in ("version", "list", "static", "metric", "firmware", "bad-pages", "process", "xgmi"):
        tables[word], problem = [], "amd-smi %s: not asked after an earlier call" % word
        if reading.installed and not reading.hung:
            tables[word], problem = _ask(host, reading, word)
            # of the first three each is needed: only a call after them may fail alone
            reading.failed = reading.failed or (problem if word in ("list", "static") or reading.hung or not reading.installed else "")
        problems[word] = unknown(problem) if problem else None
    if not tables["static"] and reading.failed and reading.installed and not reading.hung and not reading.no_access:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_tables

        amd_tables.fill(host, reading, tables)
    flat = [v for value in tables["version"] for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]
    told = flat[0] if flat else problems["version"]
    for key, place in (("tool_version", "version"), ("library_version", "amdsmi_library_version"), ("runtime_version", "rocm_version")):
        reading.driver[key] = clean(dig(told, place), place)
    links = _links(tables.pop("xgmi"))
    rows = {word: _gpus(values) for word, values in tables.items()}
    reading.failed = reading.cut or ("" if rows["static"] else reading.failed)  # the names are in it
    for index in sorted(set(rows["list"]) | set(rows["static"])):
        row = _row({word: rows[word].get(index) or problems[word] or unknown("amd-smi %s: no GPU %d" % (word, index)) for word in rows})
        row.update(index=index, links=links.get(str(row["bdf"]).lower()) or problems["xgmi"] or unknown("amd-smi xgmi: no GPU %d" % index))
        if is_known(row["links"]) and is_known(row["links"].get("total")):
            said = dig(rows["metric"].get(index) or problems["metric"], "xgmi_err")
            number = _XGMI_ERRORS.get(str(said).rpartition("XGMI_STATUS_")[2].upper())
            silent = said if isinstance(said, dict) and is_unknown(said) else unknown("xGMI errors: %.60r" % said)
            row["links"] = dict(row["links"], errors=silent if number is None else {"xgmi_errors": number})
        row["version"] = driver_version(row["version"], kernel)
        reading.driver.setdefault("version", row["version"])
        reading.rows.append(row)
    if len(reading.rows) == 1:
        reading.rows[0]["links"] = not_applicable("one GPU only")
    return reading


def _row(parts):
    row = fill(_ROW, lambda place: dig(parts, place))
    ecc, ras, blocks = row["ecc"], dig(parts, "static.ras"), dig(parts, "metric.ecc_blocks")
    radeon = is_known(row["name"]) and not re.search(r"instinct|\bMI\d", str(row["name"]), re.IGNORECASE)
    if is_known(ecc["mode"]):
        ecc["mode"] = {"enabled": "enabled", "disabled": "disabled"}.get(str(ecc["mode"]).lower(), unknown("RAS state: %.40r" % ecc["mode"]))
    elif radeon and isinstance(ras, dict) and not is_unknown(ras) and not any(is_known(clean(v, k)) for k, v in ras.items()):
        ecc["mode"] = not_applicable("the driver reports no RAS for this part")
    for place, key, word in _COUNTED:
        counts, counted = row[place], [count(dig(b, word), word) for b in blocks.values()] if isinstance(blocks, dict) and not is_unknown(blocks) else []
        if is_known(counts[key]):
            counts[key] = max([counts[key]] + [v for v in counted if is_known(v)])
        elif "false count" not in counts[key]["unknown"] and is_known(total(counted)):
            counts[key] = total(counted)
    pages = [_pages(dig(parts, "bad-pages." + key), key) for key in ("retired", "pending", "un_res")]
    waiting = total(pages[1:])
    row["retired_pages"] = {"uncorrected": pages[0], "pending": waiting > 0 if is_known(waiting) else waiting}
    if str(clean(dig(ras, "bad_page_threshold_exceeded"), "threshold")).lower() == "true":
        row["health"] = {"state": "failed", "detail": "bad page threshold exceeded"}
    told = dig(parts, "metric.throttle")
    row["throttle"] = {"active": _throttle(parts["metric"]), "share_percent": _shares(told) if isinstance(told, dict) else unknown("throttle: not told")}
    row["extra"]["ecc_blocks"] = _blocks(blocks)
    running = dig(parts, "process.process_list")
    row["processes"] = _processes(running)
    if isinstance(running, list):
        row["extra"]["process_names"] = program_names(dig(e, "process_info.name") for e in running)
    entries = dig(parts, "firmware.fw_list")
    for entry in entries if isinstance(entries, list) else ():
        row["firmware"][str(dig(entry, "fw_id")).lower()[:60]] = firmware(dig(entry, "fw_version"), "firmware")
    return row


def _blocks(blocks):
    """{block: {kind: count}} of those that counted anything."""
    if not isinstance(blocks, dict) or is_unknown(blocks):
        return blocks if isinstance(blocks, dict) else unknown("RAS blocks: %.40r" % blocks)
    kinds = ("correctable", "uncorrectable", "deferred")
    told = {str(name)[:40]: {kind: count(dig(block, kind + "_count"), kind) for kind in kinds} for name, block in blocks.items()}
    return {name: counts for name, counts in told.items() if any(v for v in counts.values() if is_known(v))}


def _shares(told):
    """Share of the time since the driver was loaded; the counters grow with the accumulation counter."""
    whole = amount(told.get("accumulation_counter"), "accumulation counter", None, 1 << 62, 1)
    if not is_known(whole):
        return unknown("throttle counters: %s" % whole["unknown"])
    counts = {k[:-12]: amount(v, k, None, 1 << 62) for k, v in told.items() if k.endswith("_accumulated")}
    shares = {k[:60]: round(100.0 * v / whole, 4) if is_known(v) else v for k, v in counts.items()}
    return {k: unknown("%s: %s %% of the time" % (k, v)) if is_known(v) and v > 100 else v for k, v in shares.items()}


def _pages(raw, what):
    if isinstance(raw, list) or (isinstance(raw, dict) and not is_unknown(raw)):
        return len(raw) if isinstance(raw, list) else 1  # one page is printed without the list around it
    value = clean(raw, "bad pages, %s" % what)
    return (0 if str(value).lower().startswith("no bad pages") else unknown("bad pages: %.60r" % value)) if is_known(value) else value


def _throttle(metric):
    """Violations are told on MI3x, the throttle status on earlier parts and Radeon; neither is no answer."""
    told = dig(metric, "throttle")
    # one state, or one per part of the card; below its limit and little used is what an idle GPU is
    states = {k[:-17]: str(v).upper() for k, v in told.items() if k.endswith("_violation_status")} if isinstance(told, dict) else {}
    states = {k[:60]: v for k, v in states.items() if not k.startswith(("total_", "low_utilization")) and "ACTIVE" in v}
    if states:
        return sorted(k for k, v in states.items() if "ACTIVE" in v.replace("NOT ACTIVE", ""))
    status = clean(dig(metric, "power.throttle_status"), "throttle status")
    words = {"UNTHROTTLED": [], "THROTTLED": ["throttled"]}
    return words.get(str(status).upper(), unknown("throttle status: %.40r" % status)) if is_known(status) else status


def _processes(entries):
    if not isinstance(entries, list) or not entries:
        return clean(entries, "process list")
    infos = [dig(e, "process_info") for e in entries]
    running = sum(1 for i in infos if isinstance(i, dict))
    none = all(str(i).lower().startswith("no running processes") for i in infos)
    return running if running or none else clean(infos[0], "process list")


def _links(values):
    """{bdf: links}: port states U, D and X (switched off) where the tool has them, else only the peers it measures."""
    links, queue, silent, speeds = {}, list(values), unknown("this amd-smi does not tell the state of xGMI links"), {}
    while queue:
        item = queue.pop()
        if not isinstance(item, dict):
            queue += item if isinstance(item, list) else []
            continue
        queue += item.values()
        bdf, ports, peers = str(item.get("bdf")).lower(), item.get("link_status"), dig(item, "link_metrics.links")
        kind = str(dig(item, "link_metrics.link_type"))
        if kind == "XGMI":
            # what the lanes of one link carry now, in one direction
            rate = amount(dig(item, "link_metrics.max_bandwidth"), "xGMI speed", "Gb/s", 1 << 20, 1)
            speeds[bdf] = rate / 8.0 if is_known(rate) else rate
        # the table with SELF in it names peers, not links
        if isinstance(ports, list) and "SELF" not in ports and ("U" in ports or "D" in ports):
            down = [i for i, state in enumerate(ports) if state == "D"]
            links[bdf] = {"kind": "xgmi", "total": ports.count("U") + len(down), "up": ports.count("U"), "down": down}
            odd = [state for state in ports if state not in ("U", "D", "X")]
            if odd:
                links[bdf].update(dict.fromkeys(("total", "up"), unknown("xGMI port: %.20r" % odd[0])))
        elif kind == "XGMI" and isinstance(peers, list):
            measured = len([p for p in peers if is_known(clean(dig(p, "read"), "read"))])
            links.setdefault(bdf, {"kind": "xgmi", "total": measured or silent, "up": silent, "down": silent})
        elif kind == "PCIE":
            links.setdefault(bdf, not_applicable("peers are reached over PCIe"))
    return {bdf: dict(group, speed_gb_s=speeds[bdf]) if bdf in speeds and "kind" in group else group for bdf, group in links.items()}
