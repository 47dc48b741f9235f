# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same accelerator, or the same machine, under two names of a run. Pure functions over digests of identifiers.

A node is kept as a few bytes for each identifier of quality good: UUID and serial of each accelerator, and the system serial
together with the set of accelerators on PCI. Work and memory are linear in nodes.

A UUID is of one accelerator. A serial may be that of a board, whose accelerators a hypervisor hands to several nodes, and a system
serial that of a chassis with several equal nodes: where both nodes tell UUIDs and those differ, an equal serial is no fault.
"""

from __future__ import annotations

from hashlib import blake2b

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, Outcome, expectation, found, not_applicable, unknown

UUID, SERIAL, SYSTEM = "uuid", "serial", "system serial"
_SIZE = 16  # bytes of a digest; before it one that says whether a UUID stands beside the identifier
_PARTS = 8  # digests are held against each other a part at a time: an eighth of the memory
SHOWN = 6  # names in one sentence


def digest(kind, *words):
    return blake2b("\0".join((kind, *words)).casefold().encode("utf-8", "backslashreplace"), digest_size=_SIZE).digest()


def of(view):
    """The identifiers of a NodeView as bytes. NoAnswer when it has none."""
    if not view.packages and view.device_gaps:
        raise NoAnswer(view.device_gaps[0].outcome, view.device_gaps[0].reason)
    told, by_uuid = [], False
    for device in view.packages:
        uuid, serial = _good(device, "uuid"), _good(device, "serial")
        if uuid:
            told.append(b"\0" + digest(UUID, uuid))
        if serial:
            told.append((b"\1" if uuid else b"\0") + digest(SERIAL, device.manufacturer, serial))
        by_uuid = by_uuid or bool(uuid)
    machine = _machine(view)
    if machine:
        told.append((b"\1" if by_uuid else b"\0") + machine)
    if not told:
        raise NoAnswer("unknown", "no UUID, no serial and no system serial was read")
    return b"".join(told)


def _good(device, name):
    if device.maybe("text", "identity", name, "quality") == "good":
        return device.maybe("text", "identity", name, "value")
    return None


def _machine(view):
    """Digest of the system serial and the accelerators on PCI, None where one of them is not known."""
    try:
        serial = view.section("host").text("system", "serial")
        on_bus = sorted("%s %s" % (e.text("address"), e.text("device")) for entries in view.pci().values() for e in entries)
    except NoAnswer:
        return None
    return digest(SYSTEM, serial, *on_bus) if on_bus else None


def compare(rule, prints, facts, devices):
    """[(node, Outcome)] for the nodes of a run.

    prints: node -> ("value", what of() gave) or (outcome, reason). facts, devices: node -> what the report shows of it.
    """
    told = {node: value for node, (said, value) in prints.items() if said == "value"}
    results = [(node, Outcome(said, value)) for node, (said, value) in prints.items() if said != "value"]
    if len(prints) == 1:
        return results + [(node, not_applicable("the only node of this run")) for node in told]
    if len(told) == 1:
        return results + [(node, unknown("no other node of this run told its identifiers")) for node in told]
    shared = _shared(told)
    for node in told:
        if node in shared:
            results.append((node, _found(node, shared[node], facts[node], devices[node])))
        else:
            results.append((node, Outcome("passed")))
    return results


def _shared(told):
    """node -> {digest: (nodes that have that identifier, too, perhaps with itself; how many others)}."""
    nodes = sorted(told)
    shared = {}
    for part in range(_PARTS):
        _share(nodes, _several(nodes, told, part), shared)
    return shared


def _several(nodes, told, part):
    """digest -> entries, for digests of this part that more than one node has. An entry: position of the node * 2 + whether a UUID stands beside."""
    first, several = {}, {}
    for number, node in enumerate(nodes):
        value, own = told[node], {}
        for start in range(0, len(value), _SIZE + 1):
            if value[start + 1] % _PARTS == part:
                key = value[start + 1 : start + 1 + _SIZE]
                own[key] = min(own.get(key, 1), value[start])
        for key, beside in own.items():
            entry = 2 * number + beside
            if first.setdefault(key, entry) != entry:
                several.setdefault(key, [first[key]]).append(entry)
    return several


def _share(nodes, several, shared):
    for key, entries in several.items():
        every = [nodes[entry >> 1] for entry in entries]
        without = [nodes[entry >> 1] for entry in entries if not entry & 1]
        for entry in entries if without else ():
            shared.setdefault(nodes[entry >> 1], {})[key] = (without, len(without)) if entry & 1 else (every, len(every) - 1)


def _found(node, keys, facts, devices):
    others = sorted({other for group, _number in keys.values() for other in group[: SHOWN + 1] if other != node})
    number = max(len(others), *(number for _group, number in keys.values()))
    where = ", ".join(others[:SHOWN]) + (" and %d more" % (number - SHOWN) if number > SHOWN else "")
    same = []
    for device in devices:
        maker = device["id"].partition(":")[0]
        for kind, words in ((UUID, (device["uuid"],)), (SERIAL, (maker, device["serial"]))):
            if digest(kind, *map(str, words)) in keys:
                same.append({"accelerator": device["id"], kind: words[-1]})
                break
    if same:
        kind = UUID if UUID in same[0] else SERIAL
        example = "%s, %s %s" % (same[0]["accelerator"], "UUID" if kind == UUID else kind, same[0][kind])
        summary = "%d of its %d accelerators are also on %s (%s)" % (len(same), len(devices), where, example)
    else:
        summary = "The system serial %s and the accelerators on PCI are also those of %s" % (facts["serial"], where)
    return found(summary, where, expectation("on one node of the run", origin="this run"), evidence=same[:16] or None)
