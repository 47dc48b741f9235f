# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The acceptance record of a node, and the short facts of it that a fleet report shows.

A record is the template of the five-layer acceptance: each field a fact, or unknown with its reason. Its first part is
made while the node's report is in memory; the result is appended when the whole fleet has been compared.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import record_baselines, yaml_text
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import record_surroundings as surroundings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import footprint, paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LAYERS, NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import LARGEST, Facts, clean, show

SCHEMA = "fleetproof.accelerator/record/v1"
_NOTHING = Facts({})
_LONGEST_WRITTEN = 4000
_LATER = "no section of this run speaks of it"


def get(facts, *path):
    """The plain value at path, or the fact that says why there is none."""
    try:
        return _plain(facts.fact(*path))
    except NoAnswer as no:
        return {no.outcome: no.reason}


def _plain(value, depth=0):
    """A value of a report that may be written down: texts cleaned, numbers within reason, nothing deep."""
    kind = type(value)
    if kind is str:
        return clean(value)
    if kind is bool or value is None:
        return value
    if kind is int or kind is float:
        return value if -LARGEST < value < LARGEST else {"unknown": "not a number within reason"}
    if depth > 3:
        return {"unknown": "nested too deeply"}
    if kind is dict:
        return {clean(str(k), 80): _plain(v, depth + 1) for k, v in list(value.items())[:64]}
    return [_plain(v, depth + 1) for v in value[:256]]


def words(value):
    """A fact as one word or sentence: `unknown: reason`, `n/a: reason`, or the value."""
    if value.__class__ is dict:
        for key, word in (("unknown", "unknown"), ("not_applicable", "n/a"), ("not_run", "not run")):
            if key in value:
                return "%s: %s" % (word, value[key])
    if value.__class__ is dict or value.__class__ is list:
        return "unknown: not a plain value: %s" % show(value)
    return value


def _section(view, name):
    try:
        return view.section(name), None
    except NoAnswer as no:
        return _NOTHING, {"unknown": no.reason}


def _from(view, name):
    """A reader of one section: a function of a path; every path is unknown with the section's reason where it was not read."""
    facts, problem = _section(view, name)
    return lambda *path: problem if problem else get(facts, *path)


def _joined(values):
    """One sentence of several facts; unknown as soon as one of them is."""
    for value in values:
        if value.__class__ is dict:
            return value
    return " ".join(str(v) for v in values)


def accelerators_text(view):
    """`8x NVIDIA H100 80GB HBM3`, or the fact that says why not."""
    counted = Counter((d.name or "unnamed %s" % d.manufacturer) for d in view.packages)
    if counted:
        return ", ".join("%dx %s" % (n, name) for name, n in sorted(counted.items()))
    return _why_none(view)


def facts(view):
    """The facts of one line that a fleet report shows."""
    host = _from(view, "host")
    drivers = [get(group, "driver", "version") for group in view.groups if group.packages or group.state != "not-declared"]
    written = _written(view)
    return {
        "system": words(_joined([host("system", "vendor"), host("system", "product")])),
        "serial": words(host("system", "serial")),
        "os": words(_joined([host("os", "id"), host("os", "version")])),
        "kernel": words(host("kernel", "release")),
        "bios": words(host("bios", "version")),
        "bmc": words(host("bmc", "version")),
        "cpu": words(host("cpu", "model")),
        "memory_mib": words(host("memory", "total_mib")),
        "accelerators": words(accelerators_text(view)),
        **paths.matrix_fact(view),
        "driver": words(drivers[0] if len(drivers) == 1 else _joined(drivers) if drivers else _why_none(view)),
        **_last_accepted(view.baseline),
        **({"written": "; ".join(written)[:_LONGEST_WRITTEN]} if written else {}),
    }


def _last_accepted(past):
    """When the machine was last accepted, as far as the run's baseline knows; no fact where the run has no baseline."""
    if past is None:
        return {}
    if past.accepted is None:
        return {"last_accepted": "n/a: never accepted before"}
    return {"last_accepted": "run %s at %s" % (clean(past.accepted.run_id, 100), clean(past.accepted.at, 40))}


def _written(view):
    """What this run wrote to the node or started on it, a line each."""
    names = [name for name in view.sections if name.startswith(footprint.PARTS)]
    return [clean(line, 600) for line in footprint.told({name: view.sections[name].get("data") for name in names})] if names else []


def devices(view):
    """The packages of a node as a fleet report lists them."""
    return [_device(d) for d in view.packages]


def _word(d, group, key):
    """words(get(d, group, key)), the short way where the value is a plain text or number."""
    held = d.data.get(group)
    if held.__class__ is dict:
        value = held.get(key)
        kind = type(value)
        if kind is int or kind is float:
            if -LARGEST < value < LARGEST:
                return value
        elif kind is str and len(value) < 200 and value.isprintable():
            return value
    return words(get(d, group, key))


def _identifier(d, key):
    held = d.data.get("identity")
    return _word(Facts(held), key, "value") if held.__class__ is dict else words(get(d, "identity", key, "value"))


def _device(d):
    memory = d.data.get("memory_mib")
    return {
        "id": d.id,
        "name": d.name or "unnamed",
        "kind": d.kind,
        "pci": _identifier(d, "pci"),
        "serial": _identifier(d, "serial"),
        "uuid": _identifier(d, "uuid"),
        "memory_mib": memory if memory.__class__ is int and 0 <= memory < LARGEST else words(get(d, "memory_mib")),
        "temperature_c": _word(d, "temperature_c", "core"),
        "power_w": _word(d, "power_w", "draw"),
        "ecc_uncorrected": _word(d, "ecc", "uncorrected_volatile"),
        "pcie": _pcie(d),
        "links": _links(d),
        "health": _health(d),
    }


def _pcie(d):
    width = _word(d, "pcie", "width_current")
    if width.__class__ is str:
        return width
    return _lanes(width, d.maybe("number", "pcie", "width_max"), d.maybe("number", "pcie", "generation_max"))


@lru_cache(maxsize=256)
def _lanes(width, most, best):
    return "x%g%s%s" % (width, "" if most in (None, width) else " of x%g" % most, "" if best is None else " gen %g" % best)


def _links(d):
    total = _word(d, "links", "total")
    if total.__class__ is str:
        return total
    return _up(total, d.maybe("number", "links", "up"), d.maybe("text", "links", "kind") or "links")


@lru_cache(maxsize=256)
def _up(total, up, kind):
    return "%s of %g %s up" % ("?" if up is None else "%g" % up, total, kind)


def _health(d):
    state = _word(d, "health", "state")
    detail = d.maybe("text", "health", "detail") if state in ("degraded", "failed", "lost") else None
    return "%s: %s" % (state, detail) if detail else str(state)


def body(view, head, pairs=()):
    """The first part of the record. head: run_id, collection_version, profile, created; pairs: what was measured between the node and others."""
    host = _from(view, "host")
    listed = devices(view)
    kernel = host("kernel", "release")
    document = {
        "schema": SCHEMA,
        "node": view.node,
        **head,
        "hardware": {"sku": _joined([host("system", "vendor"), host("system", "product")]), "serial": host("system", "serial")},
        "firmware": {
            "bmc": host("bmc", "version"),
            "bios": host("bios", "version"),
            "accelerator": _firmware(view),
            "nic": surroundings.nic_firmware(view),
        },
        "operating_system": host("os", "name"),
        "kernel": kernel,
        "kernel_command_line": _command_line(view),
        "container_runtime": surroundings.container_runtime(view),
        "kubelet": surroundings.kubelet(view),
        "accelerator_driver": {group.manufacturer: _driver(group) for group in view.groups if group.devices} or _why_none(view),
        "device_plugin": {"unknown": _LATER},
        "nic_driver": surroundings.nic_driver(view),
        "accelerators": {
            "expected": {"not_applicable": "accelerator_expected_count is not set"} if view.policy.expected_count is None else view.policy.expected_count,
            "found": accelerators_text(view),
            "devices": listed or _why_none(view),
        },
        "vendor_diagnostics": {"unknown": _LATER},
        "baselines": record_baselines.of(view, pairs, {"unknown": _LATER}),
        "representative_training": {"unknown": _LATER},
        "representative_inference": {"unknown": _LATER},
        "written": _written(view) or {"not_applicable": "nothing was written to this node or started on it"},
        "sections": {name: _filed(view, name) for name in sorted(view.sections)} or {"unknown": view.no_answer()},
    }
    return yaml_text.dump(document), listed


def _command_line(view):
    try:
        return " ".join(view.section("host").words("kernel", "command_line"))
    except NoAnswer as no:
        return {no.outcome: no.reason}


def _filed(view, name):
    problem = view.missing(name)
    return {"unknown": problem} if problem else clean(str(view.sections[name].get("finished") or "read"), 40)


def _why_none(view):
    for gap in view.device_gaps:
        return {gap.outcome: gap.reason}
    return {"unknown": "no accelerator was read"}


def _driver(group):
    return {key: get(group, "driver", key) for key in ("version", "module_version", "library_version", "runtime", "runtime_version")}


def _firmware(view):
    versions = {}
    for d in view.packages:
        found = get(d, "firmware")
        for name, version in found.items() if found.__class__ is dict else ():
            versions.setdefault(name, set()).add(str(words(version)))
    return {name: ", ".join(sorted(v)) for name, v in sorted(versions.items())} or _why_none(view)


def result(verdict, findings, coverage, evidence):
    """The last part of the record: what the judgement made of it."""
    document = {
        "result": {
            "verdict": verdict["verdict"],
            "profile": verdict["profile"],
            "cohort": verdict["cohort"],
            "reasons": verdict["reasons"],
            "layers": {LAYERS[int(number)]: counts if counts["asked"] else "not asked" for number, counts in verdict["layers"].items()},
            "findings": [_short(f) for f in findings],
            "not_proven": [{k: row[k] for k in ("rule", "outcome", "required", "reason", "subjects")} for row in coverage],
            "evidence": evidence,
        }
    }
    return yaml_text.dump(document)


def _short(f):
    subject = f["subject"]
    named = [s["id"] for s in subject] if isinstance(subject, list) else subject["id"]
    return {
        "rule": f["rule"],
        "level": f["level"],
        "subject": named,
        "summary": f["summary"],
        "observed": f["observed"],
        "expected": f["expected"],
        "remedy": f["remedy"],
        "caused_by": f["caused_by"],
    }
