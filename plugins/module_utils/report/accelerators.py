# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builders of an `accelerators.<manufacturer>` section (docs/node-report.md), shared by every manufacturer."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import (
    is_known,
    is_not_applicable,
    is_unknown,
    not_applicable,
    number,
    unknown,
    why,
)

GROUPS = {
    "health": ("state", "detail"),
    "temperature_c": ("core", "memory", "limit_core", "limit_memory", "margin_core"),
    "power_w": ("draw", "limit", "limit_default"),
    "ecc": ("mode", "corrected_volatile", "uncorrected_volatile", "corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"),
    "row_remap": ("corrected", "uncorrected", "pending", "failed"),
    "retired_pages": ("corrected", "uncorrected", "pending"),
    "pcie": ("generation_current", "generation_max", "generation_device_max", "width_current", "width_max", "replay_count"),
    "links": ("kind", "total", "up", "down"),
    "partition": ("mode", "enabled", "profile", "memory_profile"),
    "fabric": ("state", "status", "clique_id", "cluster_uuid"),
    "throttle": ("active",),
}
# There where the manufacturer's reader asks for it.
MORE = {
    "temperature_c": ("shutdown_core",),
    "power_w": ("limit_min", "limit_max"),
    "row_remap": ("banks",),
    "links": ("speed_gb_s", "errors"),
    "fabric": ("health",),
    "throttle": ("seconds", "share_percent"),
}
VALUES = ("numa_node", "memory_mib", "memory_used_mib", "utilization_percent", "persistence", "recovery_action", "processes")
DRIVER = ("version", "module_version", "library_version", "tool_version", "runtime", "runtime_version")

_PCI = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?\Z")
_PLACEHOLDER = re.compile(r"(?:[0x.:\s-]*|f{8,}|x{3,}|\?+|n/a|\[n/a\]|none|null|unknown|default string|to be filled.*|123456789.*)\Z", re.IGNORECASE)
_NOT_READ = ("err", "unknown error", "insufficient perm", "gpu is lost", "system is not in ready", "function not found", "timeout")
_NO_SUCH_THING = ("n/a", "not supported", "not applicable", "unsupported", "not available")


def fact(text, what, convert=None):
    """What a tool printed for `what` as a fact; what convert(text) cannot understand is unknown."""
    if text is None:
        return unknown("%s: not printed" % what)
    words = str(text).strip()
    plain = words.strip("[]() ").lower()
    if plain in _NO_SUCH_THING:
        return not_applicable("%s: %s" % (what, words))
    if plain in ("", "-", "--", "xxx", "?") or plain.startswith(_NOT_READ) or "requires reset" in plain:
        return unknown("%s: %r" % (what, words[:80]))
    if convert is None:
        return words
    try:
        value = convert(words)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError):
        value = None
    return unknown("%s: not understood: %r" % (what, words[:80])) if value is None else value


def told(text, what, convert=None):
    """fact() of a tool whose N/A may as well mean that it could not be read (vendors without a public list of what a part has): unknown."""
    value = fact(None if str(text).strip().lower() in ("na", "nan", "none", "null", "unknown") else text, what, convert)
    return unknown(value["not_applicable"]) if is_not_applicable(value) else value


def quantity(text, what, unit=None):
    """A number with an optional unit as a fact."""
    return fact(text, what, lambda words: number(words, what, unit))


def flag(text, what):
    """Yes/No, Enabled/Disabled, On/Off, True/False, 1/0 as a fact."""
    return fact(text, what, lambda said: ("no", "disabled", "off", "false", "0", "yes", "enabled", "on", "true", "1").index(said.lower()) > 4)


def normalize_pci(text):
    """ "00000000:18:00.0" -> "0000:18:00.0"; a missing domain or function is 0; unknown when it is no PCI address."""
    found = _PCI.match(str("" if text is None else text).strip().lower())
    if not found:
        return unknown("PCI address: not understood: %r" % str(text)[:60])
    domain, bus, slot, function = found.groups()
    return "%04x:%02x:%02x.%s" % (int(domain or "0", 16), int(bus, 16), int(slot, 16), function or "0")


def _identifier(raw, what, zero=False):
    """zero: nothing but zeros is a value too."""
    text = str(raw).strip() if is_known(raw) else ""
    if raw is None or is_unknown(raw):
        value, quality = raw or unknown("%s: not read" % what), "unread"
    elif is_not_applicable(raw) or not text:
        value, quality = raw or unknown("%s: empty" % what), "absent"
    elif _PLACEHOLDER.match(text) and not (zero and "0" in text):
        value, quality = unknown("%s: placeholder %r" % (what, text[:60])), "placeholder"
    else:
        value, quality = text[:200], "good"
    return {"value": value, "quality": quality}


def identity(uuid=None, serial=None, pci=None, slot=None):
    """Raw texts or facts -> {uuid, serial, pci, slot}, each {value, quality}."""
    pci = fact(pci, "PCI address", normalize_pci) if is_known(pci) else pci
    address, place = _identifier(pci, "PCI address", True), _identifier(slot, "slot", True)
    return {"uuid": _identifier(uuid, "UUID"), "serial": _identifier(serial, "serial"), "pci": address, "slot": place}


def device(id, index, name, kind="package", parent=None, **facts):
    """A Device with every key; a group or key that was not given is unknown."""
    entry = {"id": id, "index": index, "kind": kind, "parent": parent, "name": name if name is not None else unknown("name: not read")}
    entry["identity"] = facts.pop("identity", None) or identity()
    for group in (*VALUES, *GROUPS):
        given, keys = facts.pop(group, None), GROUPS.get(group)
        if given is None:
            given = unknown("%s: not read" % group)
        elif keys and isinstance(given, dict) and "unknown" not in given and "not_applicable" not in given:
            told = {key: given.get(key) for key in (*keys, *MORE.get(group, ())) if key in keys or given.get(key) is not None}
            given = {key: unknown("%s.%s: not read" % (group, key)) if value is None else value for key, value in told.items()}
        entry[group] = given
    if "clocks_mhz" in facts:
        entry["clocks_mhz"] = facts.pop("clocks_mhz")
    entry["firmware"] = facts.pop("firmware", None) or {}
    entry["device_nodes"] = facts.pop("device_nodes", None) or []
    entry["extra"] = dict(facts.pop("extra", None) or {}, **facts)
    return entry


def packages(devices):
    return [d for d in devices if d["kind"] == "package"]


def mark_duplicates(devices):
    """Equal identifiers of two packages get quality duplicate. The value stays: two GPUs of one GB200 board do share a serial."""
    for key in ("uuid", "serial", "pci"):
        seen = {}
        for entry in packages(devices):
            item = entry["identity"][key]
            if item["quality"] == "good":
                seen.setdefault(item["value"], []).append(item)
        for items in seen.values():
            if len(items) > 1:
                for item in items:
                    item["quality"] = "duplicate"
    return devices


def _label(entry):
    return entry["id"] if is_known(entry["name"]) else "%s (%s)" % (entry["id"], why(entry["name"]))


def detection(manufacturer, devices, read_failed=None, pci=None, host_check=None, not_installed=False):
    """The detection block.

    read_failed: why not all devices could be read; not_installed: for want of a tool or driver, which on a node without such a card
    is no fault. pci: this manufacturer's accelerators on PCI, or unknown/None. host_check: the vendor's own count.
    """
    whole = packages(devices)
    on_bus = pci if isinstance(pci, list) else None
    block = {"state": "ok", "depth": "declared", "accelerators": len(whole), "detail": "", "reason": "", "host": host_check or not_applicable("no cross-check")}
    groups = {}
    for entry in whole:
        name = entry["name"] if is_known(entry["name"]) else "unnamed"
        sizes = groups.setdefault(name, {})
        size = entry["memory_mib"] if is_known(entry["memory_mib"]) else next(iter(sizes), None)
        sizes[size] = sizes.get(size, 0) + 1
    block["detail"] = ", ".join("%s x%d" % (name, count) for name, sizes in groups.items() for count in sizes.values())
    unnamed = [d for d in whole if not is_known(d["name"]) or not str(d["name"]).strip()]
    twice = sorted({d["identity"]["pci"]["value"] for d in whole if d["identity"]["pci"]["quality"] == "duplicate"})
    counted = host_check.get("accelerators") if isinstance(host_check, dict) else None
    if read_failed and not_installed and on_bus == []:
        block.update(state="not-declared", accelerators=0, reason="none on PCI (%s)" % read_failed)
    elif read_failed or twice:
        read_failed = read_failed or "more than one at %s" % ", ".join(twice)
        shown = "; PCI shows %d" % len(on_bus) if on_bus else ""
        least = "at least %d: %s" % (len(whole), read_failed) if whole else read_failed
        block.update(state="unavailable", accelerators=unknown(least), reason="%s%s" % (read_failed, shown))
    elif on_bus and len(on_bus) > len(whole):
        told = {d["identity"]["pci"]["value"] for d in whole if is_known(d["identity"]["pci"]["value"])}
        missing = [str(e.get("address")) for e in on_bus if e.get("address") not in told]
        block.update(state="unavailable", reason="PCI shows %d, the tool %d: not seen by it: %s" % (len(on_bus), len(whole), ", ".join(missing)))
    elif isinstance(counted, int) and counted > len(whole):
        block.update(state="unavailable", reason="%s reports %d, %d were read" % (host_check.get("command"), counted, len(whole)))
    elif not whole and pci is not None and on_bus is None:
        block.update(state="unavailable", accelerators=unknown("the tool says none, PCI: %s" % why(pci)), reason="the tool says none, PCI: %s" % why(pci))
    elif not whole:
        block.update(state="not-declared", reason="none found")
    elif unnamed:
        block.update(state="unavailable", reason="found but not named: %s" % ", ".join(_label(d) for d in unnamed))
    return block


def source(answer, name=None):
    """The entry of `sources` of one call."""
    rc = getattr(answer, "rc", None)
    status = answer.status if rc in (None, 0) else "exit %s" % rc
    seconds = round(getattr(answer, "seconds", 0.0), 3)
    return {"source": name or answer.subject, "status": status, "seconds": seconds, "detail": "" if status == "ok" else answer.reason}


def section(manufacturer, host, devices, detection, driver, sources, checks=(), note=""):
    return {
        "manufacturer": manufacturer,
        "timestamp": utc(host.now()),
        "detection": detection,
        "driver": dict(driver, **{key: unknown("%s: not read" % key) for key in DRIVER if driver.get(key) is None}),
        "sources": list(sources),
        "devices": list(devices),
        "checks": list(checks),
        "note": note,
    }
