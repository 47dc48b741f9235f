# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node report as the preflight document of the GPUStack operator, key for key, and the exit rule that belongs to it.

Pure: no clock, no files. A row that lacks its mode or depth gets the least of them, a state that is none of the three is unavailable, and no
manufacturer that was asked about is left out.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.yaml_text import scalar
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import footprint
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

MANUFACTURERS = ("amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "nvidia", "thead")  # those of the operator
HOST_COMMANDS = {"amd": "rocm-smi --showuniqueid", "ascend": "npu-smi info -l", "nvidia": "nvidia-smi -L"}
SWEEP = "stale-container-sweep"
STATES = (OK, UNAVAILABLE, NOT_DECLARED) = ("ok", "unavailable", "not-declared")
DEPTHS = ("declared", "simulated", "measured")
MODES = ("exclusive", "shared", "sliced", "partitioned", "visibility", "unnamed")
NOTES = {
    "no preflight": "nothing is checked ahead of an allocation for this manufacturer",
    "not measured": "could not be measured, so nothing was preflighted",
    "none": "none of this manufacturer detected",
    "no rows": "preflighted, and none declared a capability to read",
    "not filed": "not preflighted: this run has no section allocation.%s",
    "lock held": "another preflight holds this node's lock; two of them would sweep each other's probes",
    "lock failed": "the lock could not be taken, see the reason; this is not another preflight",
    "detection": "detection failed, so the remaining questions cannot be answered; see its reason first",
    "panicked": "%s, earlier answers discarded, other manufacturers unaffected: %s",
}
NO_MODE = "it came without a mode and cannot be compared across manufacturers"
NO_NETWORK = "not looked at: this run has no section network_devices"
NO_RDMA = "none of %s interfaces on PCI nor %s virtual functions carries an RDMA device"
NO_TOPOLOGY = "the kubelet was not asked for its policy: this run has no section kubelet"
NO_TIME = "0001-01-01T00:00:00Z"
LONGEST_LINE, LONGEST_TEXT = 2000, 65536
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
_WHY = {"failed": "contained crash", "timeout": "it hung and was stopped"}


def document(sections, manufacturers=None, sweep_errors=(), lock=None, stamp=""):
    """sections: name -> section, or its envelope. manufacturers: those asked about; those filed are added.

    sweep_errors: why probe containers of earlier runs could not be cleared. lock: {"held": bool, "reason": text} when the node's lock was
    not got. Both are taken from the sections probes.* too. stamp: the time of what nobody read.
    """
    report = _Report(sections, stamp)
    names = set(MANUFACTURERS if manufacturers is None else manufacturers) | {name.partition(".")[2] for name in report.sections if _GROUP.match(name)}
    groups, unswept = [], _swept(sweep_errors) if sweep_errors else report.unswept()
    for name in sorted(names):
        locked = lock or footprint.lock(report.get("probes." + name)[2])
        group = _locked(report, name, locked) if locked else _group(report, name)
        told = {row["accelerator"] for row in group.get("checks", ()) if row["capability"] == SWEEP}
        missing = [one for one in report.accelerators(name) if one not in told] if unswept and not locked else []
        rows = [_runner_row(one, SWEEP, unswept) for one in missing]
        if rows:
            note = group.pop("note", None)
            group["checks"] = group.get("checks", []) + rows
            group.update({"note": note} if note else {})
        groups.append(group)
    time = report.newest()
    return {
        "accelerators": groups,
        "network": _network(report, time),
        "topology": _topology(report, time),
    }


def _network(report, time):
    """The verdict of each RDMA device, under each of its interfaces. It never changes the exit code."""
    status, reason, data = report.get("network_devices")
    section, rails = {"timestamp": time if status is None else report.time("network_devices")}, data.get("rails")
    if status != "read":
        return dict(section, note=NO_NETWORK if status is None else reason)
    rows = []
    for rail in rails.values() if isinstance(rails, dict) else ():
        if not isinstance(rail, dict) or not isinstance(rail.get("device"), str):
            continue
        interfaces = rail.get("interfaces")
        for interface in (interfaces if isinstance(interfaces, list) else []) or [""]:
            rows.append(dict({"interface": _line(interface), "rdmaDevice": _line(rail["device"])}, **_link(rail.get("ports"))))
    counts = data.get("counts") if isinstance(data.get("counts"), dict) else {}
    number = {key: counts[key] if counts.get(key).__class__ is int else "an unknown number of" for key in ("interfaces", "virtual_functions")}
    if rows:
        section["checks"] = rows
        if number["virtual_functions"] != 0:
            section["note"] = "%s virtual functions with an RDMA device are not listed" % number["virtual_functions"]
    elif rails == {} or (isinstance(rails, dict) and "not_applicable" in rails):
        section["note"] = NO_RDMA % (number["interfaces"], number["virtual_functions"])
    else:
        section["note"] = "not looked at: %s" % (_line(rails.get("unknown") if isinstance(rails, dict) else "") or "no reason given")
    return section


def _link(ports):
    """Up is what is active and linked, by these whole words; a port that was not read is no port that is down."""
    told, unread = [], []
    for number, port in ports.items() if isinstance(ports, dict) and "unknown" not in ports else ():
        words = [port.get(key) if isinstance(port, dict) else None for key in ("state", "physical_state")]
        if words == ["active", "linkup"]:
            return {"state": "ok", "depth": "declared"}
        if all(isinstance(word, str) for word in words):
            told.append("port %s state %s, physical %s" % (number, *map(_line, words)))
        else:
            unread.append("port %s: %s" % (number, _line(next((_why(word) for word in words if not isinstance(word, str)), "")) or "not told"))
    if told and not unread:
        return {"state": "failed", "depth": "declared", "reason": "no port is up: %s" % "; ".join(told)}
    why = "; ".join(unread) or _line(_why(ports) if ports else "") or "it tells no port"
    return {"state": "unverified", "depth": "declared", "reason": "port state could not be read: %s" % why}


def _topology(report, time):
    """The policy as the operator reads it. A known one has no note, an unknown one always has."""
    status, reason, data = report.get("kubelet")
    lines = data.get("lines") if isinstance(data.get("lines"), dict) else {}
    found = lines.get("topology_manager_policy")
    value = found.get("value") if isinstance(found, dict) else None
    if isinstance(found, dict) and found.get("skipped"):
        # A drop-in that is a link: the operator passes over it, the kubelet does not, and what is in force is what is told.
        settings = data.get("settings")
        own = settings.get("topology_manager_policy") if isinstance(settings, dict) else None
        value = own.get("value") if isinstance(own, dict) else value
    section = {"timestamp": time if status is None else report.time("kubelet"), "policy": "unknown", "depth": "declared"}
    if status == "read" and _line(value):
        return dict(section, policy=_line(value))
    note = _line(value.get("unknown")) if status == "read" and isinstance(value, dict) else reason
    return dict(section, note=NO_TOPOLOGY if status is None else note or "no policy in the section kubelet")


_GROUP = re.compile(r"accelerators\.[a-z][a-z0-9_-]*\Z")


class _Report:
    """Sections as they were filed, whatever is in them."""

    def __init__(self, sections, stamp):
        self.sections = {name: entry for name, entry in sections.items() if isinstance(name, str) and isinstance(entry, dict)}
        self.stamp = stamp if isinstance(stamp, str) and _TIME.match(stamp) else NO_TIME

    def get(self, name):
        """(status, reason, data); status is None when it was not filed."""
        entry = self.sections.get(name)
        if entry is None:
            return None, "", {}
        if "status" in entry and isinstance(entry.get("data"), dict):
            status = entry["status"] if isinstance(entry["status"], str) else "failed"
            return status, _line(entry.get("reason")) or "no reason given", entry["data"]
        return "read", "", entry

    def time(self, *names):
        """Of the first of these sections that has one: the node's own, else the controller's."""
        for name in names:
            status, _reason, data = self.get(name)
            entry = self.sections.get(name) or {}
            for told in (data.get("timestamp") if status == "read" else None, entry.get("finished")):
                if isinstance(told, str) and _TIME.match(told):
                    return told
        return self.stamp

    def unswept(self):
        """Why the sweep of a section probes.* failed: it concerns every accelerator of the node."""
        for name in sorted(self.sections):
            for row in _objects(self.get(name)[2].get("checks")) if name.startswith("probes.") else ():
                if row.get("capability") == SWEEP and row.get("state") == UNAVAILABLE:
                    return _line(row.get("reason")) or "no reason given"
        return ""

    def newest(self):
        return max([self.time(name) for name in self.sections], default=self.stamp)

    def packages(self, name):
        return [one for one in self._devices(name) if one.get("kind", "package") == "package"]

    def allocated(self, name):
        """What the operator counts and allocates: each die of a card that has several, else the card."""
        devices = self._devices(name)
        whole = {_line(one.get("parent")) for one in devices if one.get("kind") == "die"}
        return [one for one in devices if one.get("kind") == "die" or (one.get("kind", "package") == "package" and _line(one.get("id")) not in whole)]

    def _devices(self, name):
        status, _reason, data = self.get("accelerators." + name)
        return _objects(data.get("devices")) if status == "read" else []

    def labels(self, name):
        """Device id -> what the document calls it: its UUID where that names it alone."""
        labels = {}
        for one in _objects(self.get("accelerators." + name)[2].get("devices")):
            identity = one.get("identity")
            uuid = identity.get("uuid") if isinstance(identity, dict) else None
            good = isinstance(uuid, dict) and uuid.get("quality") == "good" and isinstance(uuid.get("value"), str)
            labels[_line(one.get("id"))] = _line(uuid["value"]) if good else _line(one.get("id")) or "%s:?" % name
        return labels

    def accelerators(self, name):
        labels = self.labels(name)
        return [labels.get(_line(one.get("id")), "%s:?" % name) for one in self.allocated(name)]

    def on_bus(self, name):
        """How many PCI shows; a text when it does not tell."""
        status, reason, data = self.get("pci")
        scan, counts = data.get("scan"), data.get("counts")
        if status != "read" or not isinstance(counts, dict) or not isinstance(scan, dict) or scan.get("status") != "ok":
            return "PCI was not read%s" % (": " + reason if reason else "")
        count = counts.get(name, 0)
        return count if isinstance(count, int) and not isinstance(count, bool) else "PCI: %s" % _line(_why(count))


# -- one manufacturer -----------------------------------------------------------------------------------------------


def _group(report, name):
    section = "accelerators." + name
    status, reason, data = report.get(section)
    detection, measured = _detection(report, name, status, reason, data)
    group = {"manufacturer": name, "timestamp": report.time(section, "pci", "host"), "detection": detection}
    rows, note = [], ""
    if name not in MANUFACTURERS and report.get("allocation." + name)[0] is None:
        note = NOTES["no preflight"]
    elif not measured:
        note = NOTES["not measured"]
    elif detection["state"] == NOT_DECLARED:
        note = NOTES["none"]
    elif detection["state"] == UNAVAILABLE:
        note = NOTES["detection"]
    else:
        rows, note = _guarded(report, name, data)
    if rows:
        group["checks"] = rows
    if note:
        group["note"] = note
    return group


def _detection(report, name, status, reason, data):
    """(the block, whether anything was measured)."""
    said = data.get("detection") if status == "read" and isinstance(data.get("detection"), dict) else None
    if said is None:
        block = _not_read(report, name, status, reason)
        measured = block["state"] == NOT_DECLARED
        host = {"command": HOST_COMMANDS.get(name), "accelerators": 0, "reason": "not run: none on PCI" if measured else "not run"}
    else:
        block, measured = _said(report, name, said), True
        host = _host(said.get("host")) if name in HOST_COMMANDS else {}
        mounts = report.get("allocation." + name)[2].get("missing_mounts")
        host["missingMounts"] = [_line(item) for item in mounts if isinstance(item, str)] if isinstance(mounts, list) else []
    if name in HOST_COMMANDS:
        host["command"] = host.get("command") or HOST_COMMANDS[name]
        block["host"] = {key: host[key] for key in ("command", "accelerators", "detail", "reason", "missingMounts") if host.get(key) not in (None, "", [])}
    return block, measured


def _not_read(report, name, status, reason):
    on_bus = report.on_bus(name)
    if status is None and on_bus == 0:
        return _block(NOT_DECLARED, 0, "", "none found on PCI")
    if status is None:
        reason = on_bus if isinstance(on_bus, str) else "PCI shows %d, not read" % on_bus
    else:
        reason = reason if status == "read" else "%s: %s" % (status, reason)
    return _block(UNAVAILABLE, 0, "", "could not be measured, presence unknown: %s" % (reason or "no detection in the section"))


def _said(report, name, said):
    count, state = said.get("accelerators"), said.get("state")
    detail, reason = _line(said.get("detail")), _line(said.get("reason"))
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        count = len(report.packages(name))
        if state in (OK, NOT_DECLARED):
            state, reason = UNAVAILABLE, "the number of accelerators is unknown: %s" % (_line(_why(said.get("accelerators"))) or "not told")
    if state not in STATES:
        state, reason = UNAVAILABLE, reason or "state not understood: %s" % _line(repr(state))
    if len(report.allocated(name)) > len(report.packages(name)) == count:
        count, detail = len(report.allocated(name)), _named(report.allocated(name))
    if state == OK and not count:
        state, reason = UNAVAILABLE, "detection says ok and counts none"
    return _block(state, count, detail, reason)


def _named(devices):
    names = [_line(one.get("name")) or "unnamed" for one in devices]
    return ", ".join("%s x%d" % (name, names.count(name)) for name in dict.fromkeys(names))


def _block(state, count, detail, reason):
    block = {"state": state, "depth": "declared", "accelerators": count}
    if detail:
        block["detail"] = detail
    if state != OK:
        block["reason"] = reason or "no reason given"
    return block


def _host(said):
    if not isinstance(said, dict) or not isinstance(said.get("command"), str):
        return {"accelerators": 0, "reason": "not run: %s" % (_line(_why(said)) or "not told")}
    count = said.get("accelerators")
    known = isinstance(count, int) and not isinstance(count, bool)
    host = {"command": _line(said["command"]), "accelerators": count if known else 0, "detail": _text(said.get("detail")), "reason": _line(said.get("reason"))}
    if not known:
        host["reason"] = host["reason"] or _line(_why(count)) or "not told"
    return host


def _guarded(report, name, data):
    """(rows, note) of a manufacturer whose accelerators are there."""
    parts = [("accelerators." + name, "read", "", data)]
    for section in ("allocation." + name, "slicing." + name, "probes." + name):
        status, reason, part = report.get(section)
        if status not in (None, "read"):
            how = _WHY.get(status, "no answer (%s)" % status)
            why = "%s, nothing about this accelerator was established: %s" % (how, reason)
            return [_runner_row(one, "preflight-panicked", why) for one in report.accelerators(name)], NOTES["panicked"] % (how, reason)
        parts.append((section, status, reason, part))
    labels, rows, note = report.labels(name), {}, ""
    for section, _status, _reason, part in parts:
        checks, seen = part.get("checks"), {}
        for number, item in enumerate(checks if isinstance(checks, list) else [checks] if checks else []):
            row = _row(item, labels, name, "%s row %d" % (section, number))
            about = (row["accelerator"], row["capability"], row["mode"])
            seen[about] = seen.get(about, 0) + 1
            # What the driver answered when it was asked, and what a container saw, takes the place of what could be said without.
            rows[(*about, seen[about])] = row
        note = _line(part.get("note")) if section.startswith("allocation.") else note
    if not rows and not note:
        note = NOTES["no rows"] if parts[1][1] == "read" else NOTES["not filed"] % name
    return list(rows.values()), note


def _row(item, labels, name, where):
    if not isinstance(item, dict):
        item = {"accelerator": "%s:?" % name, "capability": "unreadable-row", "state": UNAVAILABLE, "mode": "unnamed", "reason": "%s is no row" % where}
    state, depth, mode = item.get("state"), item.get("depth"), item.get("mode")
    detail, reason = _line(item.get("detail")), _line(item.get("reason"))
    if state not in STATES:
        state, reason = UNAVAILABLE, reason or "state not understood: %s" % _line(repr(state))
    if mode not in MODES:
        mode = "unnamed"
        reason, detail = (reason, _joined(detail, NO_MODE)) if state == OK else (_joined(reason or detail, NO_MODE), detail)
    if state == OK:
        detail, reason = _joined(detail, reason), ""
    else:
        reason = reason or detail or "no reason given"
    accelerator = _line(item.get("accelerator"))
    row = {
        "accelerator": labels.get(accelerator, accelerator) or "%s:?" % name,
        "capability": _line(item.get("capability")) or "unnamed",
        "mode": mode,
        "state": state,
        "depth": depth if depth in DEPTHS else "declared",
    }
    more = {"detail": detail, "reason": reason, "command": _text(item.get("command")), "evidence": _text(item.get("evidence"))}
    return dict(row, **{key: text for key, text in more.items() if text})


def _runner_row(accelerator, capability, reason):
    return {"accelerator": accelerator, "capability": capability, "mode": "unnamed", "state": UNAVAILABLE, "depth": "declared", "reason": reason}


def _swept(errors):
    return "earlier probe containers could not be cleared, results here are unsafe: %s" % "; ".join(_line(error) for error in errors)


def _locked(report, name, lock):
    reason = _line(lock.get("reason")) or "no reason given"
    note = NOTES["lock held" if lock.get("held") else "lock failed"]
    return {"manufacturer": name, "timestamp": report.newest(), "detection": _block(UNAVAILABLE, 0, "", reason), "note": note}


# -- texts of a node ------------------------------------------------------------------------------------------------


def _objects(value):
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _why(fact):
    if isinstance(fact, dict) and len(fact) == 1:
        return next(iter(fact.values()))
    return "" if fact is None else repr(fact)


def _line(value):
    return " ".join(clean(value, LONGEST_LINE).split()) if isinstance(value, str) else ""


def _text(value):
    """More than one line, each printable."""
    if not isinstance(value, str):
        return ""
    return "\n".join(clean(line, LONGEST_TEXT).rstrip() for line in value[:LONGEST_TEXT].split("\n")).strip("\n")


def _joined(*parts):
    return "; ".join(part for part in parts if part)


# -- the exit rule --------------------------------------------------------------------------------------------------


def failures(made):
    """Detections and rows that are unavailable: all that the operator's command fails for."""
    told = []
    for group in made["accelerators"]:
        name = group["manufacturer"]
        if group["detection"]["state"] == UNAVAILABLE:
            told.append("%s: detection: %s" % (name, group["detection"]["reason"]))
        told += [
            "%s: %s on %s: %s" % (name, row["capability"], row["accelerator"], row["reason"]) for row in group.get("checks", ()) if row["state"] == UNAVAILABLE
        ]
    return told


def message(told):
    """The operator's last line; "" when nothing failed."""
    return "preflight failed: " + "; ".join(told) if told else ""


# -- YAML -----------------------------------------------------------------------------------------------------------


def dump(made):
    """The document as YAML with an indent of four."""
    lines = []
    _mapping(made, "", lines)
    return "\n".join(lines) + "\n"


def _mapping(items, indent, lines):
    for key, item in items.items():
        head = "%s%s:" % (indent, key)
        if isinstance(item, dict):
            lines.append(head)
            _mapping(item, indent + "    ", lines)
        elif isinstance(item, list):
            lines.append(head)
            _list(item, indent + "    ", lines)
        else:
            lines += _scalar(head, item, indent + "    ")


def _list(items, indent, lines):
    for item in items:
        first = len(lines)
        if isinstance(item, dict):
            _mapping(item, indent + "  ", lines)
            lines[first] = "%s- %s" % (indent, lines[first][len(indent) + 2 :])
        else:
            lines += _scalar(indent + "-", item, indent + "  ")


def _scalar(head, item, indent):
    if isinstance(item, int):
        return ["%s %d" % (head, item)]
    if "\n" in item and item[0] not in " \n" and not item.endswith("\n"):
        return [head + " |-", *(indent + line if line else "" for line in item.split("\n"))]
    return ["%s %s" % (head, item if _TIME.match(item) else scalar(item))]
