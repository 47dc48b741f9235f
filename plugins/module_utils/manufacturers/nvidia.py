# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA: NVML when nvidia-ml-py is there and works, else nvidia-smi -q -x, else its text; one normalization for all.

nvidia-smi and NVML contend for the driver's locks: calls are made one after the other, each for all cards.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_nvml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.process_names import program_names
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import (
    from_answer,
    is_known,
    is_not_applicable,
    is_unknown,
    not_applicable,
    unknown,
    why,
)

MANUFACTURER = "nvidia"
LIST = ["nvidia-smi", "-L"]
# The first call initializes every card when persistence is off, one after the other.
TIMEOUT_NVML, TIMEOUT_SHORT = 30, 20

# Driver branch since which an element is printed at all (documents of branches 450 to 595, NVML change log, logs of 550 to 575).
_SINCE = {"fabric.state": 520, "fabric.status": 520, "fabric.clique_id": 540, "fabric.cluster_uuid": 540, "recovery_action": 565, "reset": 530}
_SINCE.update({"ecc.sram_threshold_exceeded": 540, "temperature_c.margin_core": 520, "pcie.generation_device_max": 520, "fabric_health": 550, "seconds": 575})
_SINCE.update({"fabric_health.summary": 580, "fabric_health.incorrect_configuration": 580, "fabric_health.route_unhealthy": 570})
_SINCE.update({"fabric_health.route_recovery": 570, "fabric_health.access_timeout_recovery": 570})
# NVML's numbers in nvidia-smi's words (nvml.h)
_WORDS = {
    "ecc.mode": ("disabled", "enabled"),
    "fabric.state": ("n/a", "not_started", "in_progress", "completed"),
    "recovery_action": ("none", "reset", "reboot", "drain_p2p", "drain_and_reset", "recover_imex_domain", "bus_reset", "system_reboot"),
    "extra.compute_mode": ("default", "exclusive_thread", "prohibited", "exclusive_process"),
    "extra.virtualization": ("none", "pass_through", "vgpu", "host_vgpu", "host_vsga"),
}
_REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clocks_setting",
)  # fmt: skip
_BLANK = 1 << 62  # a counter that was never read is all ones
_VERSION = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")
_CONFIDENTIAL = re.compile(r"\bG?[HB]\d{2,3}\b|\bRTX PRO 6000\b")  # Hopper and newer can
_LOST = re.compile(r"gpu.{0,4}is lost", re.IGNORECASE)


def _error(error, what):
    """A failed NVML query as a fact (nvmlReturn_t: 3 not supported, 15 GPU is lost)."""
    said = "NVML, %s: %s" % (what, error.get("said") or "error %s" % error.get("error"))
    if error.get("error") == 15 and not _LOST.search(said):
        said += " (GPU is lost)"
    return not_applicable(said) if error.get("error") == 3 else unknown(said)


def _word(text):
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def value(raw, place, kind, branch=None):
    if isinstance(raw, dict):
        return raw if is_unknown(raw) else _error(raw, place)
    if isinstance(raw, str) and "been deprecated" in raw:
        return not_applicable("%s: %s" % (place, raw[:80]))
    if raw is None and branch is not None and branch < _SINCE.get(place, _SINCE.get(place.partition(".")[0], 0)):
        return not_applicable("%s: driver branch %d does not tell" % (place, branch))
    if isinstance(raw, int) and kind in "wt":
        words = _WORDS.get(place, ())
        raw = words[raw] if 0 <= raw < len(words) else "P%d" % raw if place == "extra.performance_state" else str(raw)
    if kind in "wt":
        return report.fact(raw, place, _word if kind == "w" else None)
    if kind == "f":
        return report.flag(raw, place)
    told = report.quantity(raw, place, None if kind == "n" else kind)
    if is_known(told) and (abs(told) >= _BLANK or (told < 0 and kind != "C")):
        return unknown("%s: blank (%s)" % (place, told))
    return told


def read(raw, spec, branch=None):
    """{group or key: value or {key: value}} of one card or partition."""
    out = {}
    for place, kind, *_elements in spec:
        group, _dot, key = place.partition(".")
        told = value(raw.get(place), place, kind, branch)
        if key:
            out.setdefault(group, {})[key] = told
        else:
            out[group] = told
    return out


def _ecc_count(raw, extra, what, when):
    names = ["sram_%s_%s" % (what, when)]
    if "extra." + names[0] not in raw and what == "uncorrected":
        names = ["sram_parity_" + when, "sram_secded_" + when]
    names.append("dram_%s_%s" % (what, when))
    values = [extra[name] for name in names]
    total = "total_%s_%s" % (what, when)
    if "extra." + total in raw and not any(is_known(v) for v in values):
        return extra[total]  # boards before Turing, or a library that tells no more
    doubt = next((v for v in values if is_unknown(v)), None)
    counted = [v for v in values if is_known(v)]
    return doubt or (sum(counted) if counted else values[-1])


def _whole(group):
    """The facts of a group; one fact where none is known."""
    return group if any(is_known(v) for v in group.values()) else next((v for v in group.values() if is_unknown(v)), next(iter(group.values())))


def _settle(raw, told):
    """What the groups mean together."""
    reset = told.pop("reset")
    if not is_known(told["recovery_action"]):  # before branch 565 the driver says alone whether a reset is needed
        asked = [word for key, word in (("required", "reset"), ("drain", "drain_and_reset")) if reset[key] is True]
        idle = is_not_applicable(told["recovery_action"]) and reset["required"] is False
        told["recovery_action"] = asked[0] if asked else "none" if idle else told["recovery_action"]
    banks, rows = _whole(told.pop("banks")), told["row_remap"]
    rows["banks"] = rows["pending"] if is_unknown(banks) and is_not_applicable(rows["pending"]) else banks
    told["fabric"]["health"] = _whole(told.pop("fabric_health"))
    ecc, extra, temperature, pcie, fabric = (told[group] for group in ("ecc", "extra", "temperature_c", "pcie", "fabric"))
    for when in ("volatile", "aggregate"):
        for what in ("corrected", "uncorrected"):
            ecc["%s_%s" % (what, when)] = _ecc_count(raw, extra, what, when)
    if "extra.total_corrected_volatile" in raw and "extra.dram_corrected_volatile" not in raw:  # a log of a board before Turing
        ecc["sram_threshold_exceeded"] = not_applicable("no such threshold on this part")
    if is_known(temperature["margin_core"]):
        temperature.update(dict.fromkeys(("limit_core", "limit_memory", "shutdown_core"), not_applicable("told as a margin")))
    for key in ("generation_current", "generation_max", "generation_device_max", "width_current", "width_max"):
        pcie[key] = unknown("pcie.%s: 0" % key) if pcie[key] == 0 else pcie[key]
    if is_not_applicable(fabric["state"]):
        told["fabric"] = fabric["state"]
    elif is_known(fabric["cluster_uuid"]) and not str(fabric["cluster_uuid"]).strip("0-"):
        fabric["cluster_uuid"] = not_applicable("not in a multi-node domain")
    mig = told["partition"]["enabled"]
    if is_not_applicable(mig):
        told["partition"] = not_applicable("no MIG on this part")
    else:
        told["partition"] = dict(dict.fromkeys(report.GROUPS["partition"], not_applicable("the whole card")), mode="mig", enabled=mig)
    if mig is True:  # the driver then says N/A for the whole card, though the question does arise
        for group in ("ecc", "row_remap"):
            told[group] = {k: v if is_known(v) else unknown("%s (MIG is enabled)" % why(v)) for k, v in told[group].items()}


def _unreadable(reading):
    """Whether the driver itself fails to read it (nvmlReturn_t: 27 not ready, 999 unknown error); a power draw alone fails now and then."""
    words = ("unknown error", "err!", "system is not in ready")
    return reading.get("error") in (27, 999) if isinstance(reading, dict) else str(reading).lower().strip("[ ").startswith(words)


def _health(raw, told):
    """Only what the driver itself says of the card."""
    texts = [str(v.get("said")) if isinstance(v, dict) else str(v) for k, v in raw.items() if k not in ("mig", "reasons", "links", "names")]
    recovery = told["recovery_action"]
    codes = [v.get("error") for v in raw.values() if isinstance(v, dict)]  # nvmlReturn_t
    verdicts = (
        (15 in codes or any(_LOST.search(t) for t in texts), "lost", "GPU is lost"),
        (16 in codes or any("requires reset" in t.lower() for t in texts), "failed", "GPU requires reset"),
        (str(raw.get("name")).startswith("ERR!"), "failed", "nvidia-smi prints ERR! for the name"),
        (told["row_remap"]["failed"] is True, "failed", "row remapping failed"),
        (is_known(recovery) and recovery != "none", "failed", "recovery action: %s" % recovery),
        ("inforom_corrupted" in raw, "degraded", "infoROM is corrupted"),
        (_unreadable(raw.get("temperature_c.core")), "degraded", "its temperature cannot be read: %s" % why(told["temperature_c"]["core"])),
        (recovery == "none", "ok", "recovery action: none"),
    )
    return next(({"state": s, "detail": d} for true, s, d in verdicts if true), unknown("the driver gives no verdict (%s)" % why(recovery)))


def _throttle(raw, counted):
    seconds = _whole({key: round(v / 1e6, 3) if is_known(v) else v for key, v in counted.items()})
    return {"active": _reasons(raw), "seconds": seconds}


def _reasons(raw):
    reasons = raw.get("reasons")
    if isinstance(reasons, int):
        return sorted(name for bit, name in enumerate(_REASONS) if reasons >> bit & 1)
    if not isinstance(reasons, dict) or "error" in reasons:
        return _error(reasons, "clock event reasons") if isinstance(reasons, dict) else unknown("clock event reasons: not printed")
    said = {name: report.fact(text, name) for name, text in reasons.items()}
    active = sorted(name for name, value in said.items() if value == "Active")
    doubts = ["%s: %s" % (name, why(v) or v) for name, v in said.items() if v not in ("Active", "Not Active") and not is_not_applicable(v)]
    return active if active or not doubts else unknown("clock event reasons: " + doubts[0])


def links_group(total, down, doubt="", speed=None):
    """doubt: why it is not known whether the links that are not down are up."""
    up = unknown(doubt) if doubt else total - len(down)
    return {"kind": "nvlink", "total": total, "up": up, "down": unknown(doubt) if doubt and not down else down, "speed_gb_s": speed}


def _links_by_nvml(raw):
    states = raw.get("links")
    if not isinstance(states, list):
        return _error(states, "NVLink") if isinstance(states, dict) else unknown("NVLink: not told")
    if not states:
        return not_applicable("no NVLink on this part")
    down = [n for n, state in enumerate(states) if state not in (1, 2)]
    group = links_group(len(states), down, speed=not_applicable("no link is up"))
    if len(down) < len(states):
        speed, errors = (raw.get(key) for key in ("link_speed", "link_errors"))
        group["speed_gb_s"] = value(speed / 1000.0 if isinstance(speed, int) and speed else speed or None, "NVLink speed", "n")
        group["errors"] = errors if isinstance(errors, dict) and "error" not in errors else value(errors, "NVLink errors", "n")
    return group


class _Machine:
    """Facts of the machine about its cards: NUMA nodes, device nodes."""

    def __init__(self, host):
        self.host = host
        self.listing = None

    def numa(self, address):
        if not is_known(address):
            return unknown("NUMA node: %s" % why(address))
        answer = self.host.read_line("/sys/bus/pci/devices/%s/numa_node" % address)
        return from_answer(answer, lambda t: int(t) if int(t) >= 0 else unknown("the firmware names no NUMA node (%s)" % t))

    def nodes(self, minor):
        self.listing = self.listing or self.host.listdir("/dev")
        if self.listing.ok and is_known(minor):
            return ["/dev/nvidia%d" % minor] if "nvidia%d" % minor in self.listing.value else []
        return unknown("device nodes: %s" % (why(minor) if self.listing.ok else self.listing.reason))

    def unified(self):
        """Whether CUDA finds the node of nvidia_uvm: no look at the cards makes it."""
        self.listing = self.listing or self.host.listdir("/dev")
        if not self.listing.ok:
            return unknown(self.listing.reason)
        if "nvidiactl" not in self.listing.value:
            return not_applicable("no /dev/nvidiactl: no program reaches the driver")
        return "ready" if "nvidia-uvm" in self.listing.value else "no /dev/nvidia-uvm"

    def excluded(self):
        """Addresses of cards the driver was told to leave alone."""
        paths = self.host.glob("/proc/driver/nvidia/gpus/*/information")
        lines = {path: self.host.read_lines(path) for path in (paths.value if paths.ok else [])[:64]}
        return [path.split("/")[-2] for path, said in lines.items() if any(re.match(r"GPU Excluded:\s*Yes", line) for line in said)]

    def nvlink(self):
        """Whether a parameter of the module switches NVLink off."""
        answer = self.host.read_text("/proc/driver/nvidia/params")
        said = re.search(r"(?m)^NvLinkDisable: *([0-9]{1,10})\s*$", answer.value) if answer.ok else None
        return ("on" if said.group(1) == "0" else "off: NvLinkDisable=%s" % said.group(1)) if said else unknown(answer.reason or "NvLinkDisable: not told")

    def driver(self, system):
        proc = self.host.read_text("/proc/driver/nvidia/version")
        line = proc.value.split("\n")[0] if proc.ok else ""
        running = _VERSION.search(line)
        library = system.get("library_version")  # NVML puts the CUDA version before the driver's
        return {
            "version": value(system.get("driver_version"), "driver version", "t"),
            "module_version": running.group(1) if running else from_answer(self.host.read_line("/sys/module/nvidia/version")),
            "library_version": re.sub(r"^\d{1,2}\.(?=\d{3})", "", library) if isinstance(library, str) else unknown("no library answered"),
            "tool_version": not_applicable("the tool is part of the driver"),
            "runtime": "cuda",
            "runtime_version": value(system.get("cuda_version"), "CUDA version", "t"),
            "nvlink": self.nvlink(),
            "unified_memory": self.unified(),
            "flavor": "open" if "Open Kernel Module" in line else "proprietary" if running else unknown(proc.reason),
        }


def _device(index, raw, links, machine, branch):
    ident = "nvidia:%d" % index
    if "handle" in raw:  # the driver cannot open it
        lost = unknown(raw["handle"])
        groups = dict.fromkeys((*report.GROUPS, *report.VALUES, "clocks_mhz"), lost)
        groups["health"] = {"state": "lost", "detail": raw["handle"]}
        return report.device(ident, index, lost, identity=report.identity(lost, lost, raw.get("identity.pci") or lost, lost), **groups)
    told = read(raw, smi.SPEC, branch)
    _settle(raw, told)
    told["health"] = _health(raw, told)
    told["throttle"] = _throttle(raw, told.pop("seconds"))
    told["links"] = _links_by_nvml(raw) if links is None else links
    told["identity"] = report.identity(**told["identity"])
    told["numa_node"] = machine.numa(told["identity"]["pci"]["value"])
    told["device_nodes"] = machine.nodes(told["extra"]["minor"])
    names = raw.get("names")
    if isinstance(names, list):
        told["extra"]["process_names"] = program_names(names)
    told["extra"] = {key: value for key, value in told["extra"].items() if is_known(value) and not key.startswith("total_")}
    if raw.get("mig_failed") and told["partition"].get("enabled") is True:
        told["extra"]["mig_instances"] = unknown(raw["mig_failed"])  # none among the devices is not none on the card
    return report.device(ident, index, told.pop("name"), **told)


def _from_nvml(host, sources):
    """(cards or None, system, (kind, reason) or None)."""
    answer = host.native("nvml", nvidia_nvml, timeout=TIMEOUT_NVML)
    sources.append(report.source(answer, "NVML"))
    if not answer.ok:
        kind = {"absent": smi.MISSING, "not_recorded": smi.MISSING, "timeout": smi.HANG}.get(answer.status, smi.OTHER)
        return None, {}, (kind, "NVML: %s" % (answer.detail if kind == smi.MISSING and answer.detail else answer.reason))
    told = answer.value if isinstance(answer.value, dict) else {}
    system = told["system"] if isinstance(told.get("system"), dict) else {}
    gpus = told.get("gpus")
    if isinstance(gpus, list) and all(isinstance(gpu, dict) for gpu in gpus):
        for gpu in gpus:
            if "handle" in gpu:
                gpu["handle"] = why(_error(gpu["handle"], "device handle")) if isinstance(gpu["handle"], dict) else str(gpu["handle"])
            parts = gpu.get("mig", [])
            if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
                gpu["mig"], gpu["mig_failed"] = [], why(_error(parts if isinstance(parts, dict) else {}, "MIG devices"))
        return gpus, system, None
    kind = smi.BY_CODE.get(str(told.get("error")), smi.OTHER)
    said = "%s (error %s)" % (told.get("said") or "answer not understood", told.get("error"))
    sources[-1].update(status="failed", detail=said)
    return None, system, (kind, "NVML: %s" % smi.WORDS.get(kind, said))


def _cross_check(system, listing):
    """The `host` block: an independent count. listing: nvidia-smi -L, asked when NVML was the source."""
    if listing is None or listing.argv == system.get("argv"):
        attached = system.get("attached")
        return {"command": system["source"], "accelerators": attached, "detail": "the devices were read with this tool itself", "reason": why(attached)}
    count = len(smi.parse_list(listing.stdout))
    kind, reason = smi.failure(listing)
    reason = "" if count or (listing.succeeded and kind == smi.NONE) else reason
    return {"command": listing.subject, "accelerators": unknown(reason) if reason else count, "detail": listing.stdout.strip()[:2000], "reason": reason}


def collect(host, pci=None):
    """The section accelerators.nvidia. pci: NVIDIA's accelerators on PCI, or None to look."""
    machine, sources, notes = _Machine(host), [], []
    pci = on_pci(host, MANUFACTURER, pci)
    if pci == [] and host.resolve("nvidia-smi").status == "absent":
        block = report.detection(MANUFACTURER, [], "nvidia-smi is not installed", pci, not_applicable("nothing to cross-check"), not_installed=True)
        nothing = not_applicable("no NVIDIA accelerator on this node")
        return report.section(MANUFACTURER, host, [], block, dict.fromkeys((*report.DRIVER, "flavor", "nvlink", "unified_memory"), nothing), sources)
    cards, system, failed = _from_nvml(host, sources)
    failures = [failed] if failed else []
    by_nvml = cards is not None
    if not by_nvml:
        library = system.get("library_version")
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_log

        cards, system, failed = nvidia_log.ask(host, sources)
        system["library_version"] = system.get("library_version") or library
        if failed:
            failures.append(failed)
        elif failures[0][0] != smi.MISSING:
            notes.append("%s; read with nvidia-smi instead" % failures[0][1])
    notes += [system["instead"]] if "instead" in system else []

    listing = system.get("listing")
    if not listing and cards is not None and (by_nvml or any(raw.get("mig") for raw in cards)):
        listing = host.run(LIST, timeout=TIMEOUT_SHORT)
        sources.append(report.source(listing))
    listed = {card["index"]: card["mig"] for card in smi.parse_list(listing.stdout)} if listing else {}
    links = {}
    if cards and not by_nvml and system.get("argv") != LIST:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_links

        links = nvidia_links.ask(host, cards, sources)
    found = re.match(r"(\d{3,4})\.", str(system.get("driver_version")))
    branch = int(found.group(1)) if found and not by_nvml else None
    devices = []
    for place, raw in enumerate(cards or []):
        index = place if by_nvml else raw.get("index", place)
        devices.append(_device(index, raw, links.get(place, None if by_nvml else unknown("NVLink: not asked")), machine, branch))
        if raw.get("mig"):
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_mig

            devices += [nvidia_mig.partition(devices[-1]["id"], part, listed.get(index, {})) for part in raw["mig"]]
    if len(cards or []) > 1:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_alike

        nvidia_alike.silent([d for d in devices if d["kind"] == "package"])
    report.mark_duplicates(devices)
    if any(isinstance(d["partition"], dict) and d["partition"].get("enabled") is True for d in devices):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_mig

        nvidia_mig.instances(host, devices, sources)
    if any(d["extra"].get("confidential_memory_mib", 1) and _CONFIDENTIAL.search(str(d["name"])) for d in devices if d["kind"] == "package"):
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_confidential

        nvidia_confidential.complete(host, devices, sources)

    read_failed, cross = system.get("early"), not_applicable("nothing was read")
    if cards is None:
        told = [reason for kind, reason in failures if kind != smi.MISSING] or [reason for _kind, reason in failures]
        read_failed = "; ".join(dict.fromkeys(told))
    else:
        cross = _cross_check(system, listing if by_nvml or "listing" in system else None)
    absent = cards is None and all(kind in (smi.MISSING, smi.NOT_LOADED) for kind, _reason in failures)
    block = report.detection(MANUFACTURER, devices, read_failed, pci, cross, not_installed=absent)
    excluded = machine.excluded() if block["state"] == "unavailable" and (cards is None or (isinstance(pci, list) and len(pci) > len(cards))) else []
    if excluded:
        block["reason"] += "; excluded by the driver: %s" % ", ".join(excluded)
    return report.section(MANUFACTURER, host, devices, block, machine.driver(system), sources, note="; ".join(notes))
