# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the paths between devices: what sysfs shows against what the vendor's tool says, links between devices, balance over NUMA nodes."""

from __future__ import annotations

from collections import Counter

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import paths
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer, expectation, found, not_applicable, passed, rule, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean, show

_READS = ("paths",)
# Tools count the bridges of a switch differently, and what is above one host bridge: only nearer or farther than this is a disagreement.
_NEAR = {
    "PIX": "below one switch",
    "PXB": "below one switch",
    "PIP": "below one switch",
    "PHB": "in one NUMA node",
    "NODE": "in one NUMA node",
    "SYS": "between NUMA nodes",
}
_NO_LINK = {*_NEAR, "X", "?", "PCIE", "PCIe", "N/A", "NA", "OK", "0"}


def _matrix(table):
    """[(id, id, word)] of a square table, each pair once; NoAnswer where it is none."""
    ids = table.get("ids") if table.__class__ is dict else None
    rows = table.get("levels") if table.__class__ is dict else None
    if ids.__class__ is not list or rows.__class__ is not list or len(rows) != len(ids):
        why = table.get("unknown") or table.get("not_applicable") if table.__class__ is dict else None
        outcome = "not_applicable" if table.__class__ is dict and "not_applicable" in table else "unknown"
        raise NoAnswer(outcome, show(why or "matrix not understood", 200))
    pairs = []
    for position, (one, row) in enumerate(zip(ids, rows, strict=True)):
        if row.__class__ is list and len(row) == len(ids) and one.__class__ is str:
            pairs += [
                (one, other, word) for other, word in zip(ids[:position], row[:position], strict=True) if other.__class__ is str and word.__class__ is str
            ]
    return pairs


@rule(
    id="path-agreement",
    layer=1,
    level="warn",
    title="The vendor's tool and the kernel show the same paths between devices",
    reads=_READS,
    scope="node",
    remedy="Compare the tool's topology with lspci -tv: a BIOS that names wrong NUMA nodes, or a driver that reads the bus wrongly, places processes badly.",
)
def path_agreement(view, p):
    made = paths.of_bare_metal(view)
    return made.once("agreement", lambda: _agreement(made))


def _agreement(made):
    told, reasons = [], []
    for manufacturer, tool, matrix in made.tools:
        try:
            said, seen = _matrix(tool), _matrix(matrix)
        except NoAnswer as no:
            reasons.append((no.outcome, "%s: %s" % (manufacturer, no.reason)))
            continue
        by_bus = {frozenset(pair[:2]): pair[2] for pair in seen}
        odd, compared = [], 0
        for one, other, word in said:
            level = by_bus.get(frozenset((one, other)))
            if level in _NEAR and word in _NEAR:
                compared += 1
                if _NEAR[level] != _NEAR[word]:
                    odd.append("%s to %s is %s, by the tool %s" % (clean(str(one), 40), clean(other, 40), level, word))
        nodes = tool.get("numa") if tool.get("numa").__class__ is dict else {}
        for end in made.of(paths.ACCELERATOR):
            node = nodes.get(end["id"])
            if node.__class__ is int and end.get("numa_node").__class__ is int:
                compared += 1
                if node != end["numa_node"]:
                    odd.append("%s is on NUMA node %d, by the tool on %d" % (clean(end["id"], 40), end["numa_node"], node))
        if odd:
            text = "%s and sysfs disagree on %d of %d paths: %s" % (show(tool.get("source")), len(odd), compared, "; ".join(odd[:3]))
            told.append(found(text, len(odd), expectation(0, "paths", "this node: sysfs"), evidence="; ".join(odd[:20])))
        elif compared:
            told.append(passed(("manufacturer", manufacturer)))
        else:
            reasons.append(("not_applicable", "%s: the tool tells no path over PCIe" % manufacturer))
    if told:
        return told
    outcome = "unknown" if any(word == "unknown" for word, _reason in reasons) else "not_applicable"
    raise NoAnswer(outcome, next((reason for word, reason in reasons if word == outcome), "no topology was read"))


@rule(
    id="link-matrix",
    layer=1,
    level="warn",
    title="No accelerator has fewer linked peers than its equals",
    reads=_READS,
    scope="node",
    remedy="Look at the links of the named device (nvidia-smi nvlink -s, amd-smi xgmi, …), then at bridge, cable or baseboard.",
    follows=("links-up", "device-lost", "device-vanished", "nvlink-switched-off", "fabric-state", "fabric-manager"),
)
def link_matrix(view, p):
    made = paths.of(view)
    ids = {group.manufacturer: tuple(device.id for device in group.devices) for group in view.groups}
    return made.once(("links", tuple(sorted(ids.items()))), lambda: _linked(made, ids))


def _linked(made, devices):
    told, reasons = [], []
    for manufacturer, tool, _matrix_of_bus in made.tools:
        ids = set(devices.get(manufacturer, ()))
        try:
            said = _matrix(tool)
        except NoAnswer as no:
            reasons.append((no.outcome, "%s: %s" % (manufacturer, no.reason)))
            continue
        linked = Counter()
        peers = {end for one, other, _word in said for end in (one, other) if end in ids}
        for one, other, word in said:
            if one in ids and other in ids and word not in _NO_LINK:
                linked[one] += 1
                linked[other] += 1
        if len(peers) < 2 or not linked:
            reasons.append(("not_applicable", "%s: no links between its devices" % manufacturer))
            continue
        usual, number = Counter(linked[peer] for peer in peers).most_common(1)[0]
        odd = [peer for peer in sorted(peers) if linked[peer] < usual] if number * 2 > len(peers) else []
        for peer in odd:
            text = "%s is linked with %d peers, its equals with %d" % (clean(peer, 60), linked[peer], usual)
            told.append(found(text, linked[peer], expectation(usual, "peers", "this node: equal devices"), subject=("package", clean(peer, 60))))
        if not odd:
            told.append(passed(("manufacturer", manufacturer)))
    if told:
        return told
    outcome = "unknown" if any(word == "unknown" for word, _reason in reasons) else "not_applicable"
    raise NoAnswer(outcome, next((reason for word, reason in reasons if word == outcome), "no topology was read"))


@rule(
    id="numa-balance",
    layer=1,
    level="warn",
    title="Accelerators and RDMA adapters are spread evenly over the NUMA nodes",
    reads=("paths", "host"),
    scope="node",
    remedy="Compare the slots with a node of the same kind: a missing card, a card in another slot, or NUMA options of the BIOS (NPS, SNC) that differ.",
    follows=("accelerator-count", "detection-agrees", "device-vanished", "no-accelerator", "numa-node"),
)
def numa_balance(view, p):
    made = paths.of_bare_metal(view)
    if view.section("host").number("cpu", "numa_nodes") <= 1:
        return not_applicable("the node has one NUMA node")
    counts, adapters, unread = Counter(), Counter(), []
    for end in made.of(paths.ACCELERATOR, paths.RDMA):
        node = end.get("numa_node")
        if node.__class__ is not int:
            unread.append(end)
        elif end["kind"] == paths.ACCELERATOR:
            counts[node] += 1
        else:
            adapters[node] += 1
    told = []
    nameless = [end for end in unread if end["kind"] == paths.RDMA and "names no NUMA node" in str(end.get("numa_node"))]
    if nameless:
        text = "The firmware names no NUMA node of %s, and the node has several" % paths.shown(nameless)
        told.append(found(text, -1, expectation("a NUMA node", origin="this node")))
    if any(end["kind"] == paths.ACCELERATOR for end in unread):
        return [*told, unknown("the NUMA node of %s is not known" % paths.shown(unread))]
    # A number that cannot be spread evenly is a card too few or a design; the count is another rule's.
    if len(set(counts.values())) > 1 and sum(counts.values()) % len(counts) == 0:
        text = "Accelerators are not spread evenly: %s" % _spread(counts)
        told.append(found(text, _spread(counts), expectation("equal numbers", origin="this node")))
    without = [node for node in sorted(counts) if not adapters[node]]
    if adapters and without and len(without) < len(counts) and not unread:
        text = "NUMA node %s has accelerators and no RDMA adapter; adapters: %s" % (", ".join(map(str, without)), _spread(adapters))
        told.append(found(text, _spread(adapters), expectation("an adapter on each NUMA node with accelerators", origin="this node")))
    return told or passed()


def _spread(counts):
    return ", ".join("%d on node %d" % (number, node) for node, number in sorted(counts.items()))
