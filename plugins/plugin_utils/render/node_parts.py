# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page says of one node: its row in the grid and its detail.

A fleet has thousands of cells and few different texts, so these parts are put together here rather than in the
template, and what nodes share (the fold shares equal rule summaries) is made once. markup() escapes every text.
"""

from __future__ import annotations

import re
from collections import Counter

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import words as w
from markupsafe import Markup, escape

# Columns of the grid in layer 1: a rule belongs to the first whose word its id has. rule_catalogue may name a category itself.
CATEGORIES = (
    ("Measured", {"measured"}),
    ("Consistency", {"cohort"}),
    ("Slicing", {"slicing", "mig", "partition", "partitions", "vnpu", "sriov"}),
    ("Host", {"host", "huge", "memlock", "time", "numa", "kernel", "os", "bios", "bmc", "processes", "spread", "rotation"}),
    ("PCIe", {"pcie", "pci"}),
    ("Memory", {"ecc", "remap", "retired", "hbm", "memory", "ras", "sram"}),
    ("Links", {"link", "links", "nvlink", "xgmi", "hccs", "fabric", "interconnect", "nvswitches"}),
    ("Driver", {"driver", "library", "firmware", "vbios", "module", "tool", "runtime", "persistence", "dcgm", "imex", "daemons"}),
    ("Heat, power", {"temperature", "thermal", "power", "throttle", "throttling", "clock", "clocks", "fan"}),
    ("Events", {"xid", "event", "events", "log", "mce"}),
    ("Devices", {"accelerator", "accelerators", "count", "detection", "device", "devices", "model", "models", "identity", "recovery"}),
    ("Devices", {"compute", "confidential", "fault", "foreign"}),
)
# Rules kernel-… that read the kernel log; the others read settings of the host.
KERNEL_LOG = {"errors", "events", "lockups", "oom", "thermal"}
CATEGORY_ORDER = ("Devices", "PCIe", "Memory", "Links", "Driver", "Heat, power", "Events", "Host", "Consistency", "Slicing", "Measured")
LAYER_COLUMNS = {"2": "Kubernetes", "3": "Containers", "4": "Interconnect", "5": "Framework"}

DEVICE_COLUMNS = (
    ("id", "Device"),
    ("name", "Name"),
    ("kind", "Kind"),
    ("parent", "Part of"),
    ("pci", "PCI"),
    ("serial", "Serial"),
    ("uuid", "UUID"),
    ("health", "Health"),
    ("memory_mib", "Memory MiB"),
    ("temperature_c", "°C"),
    ("power_w", "W"),
    ("ecc_uncorrected", "ECC uncorrected"),
    ("pcie", "PCIe"),
    ("links", "Links"),
)
FACT_NAMES = {"os": "OS", "bios": "BIOS", "bmc": "BMC", "cpu": "CPU", "memory_mib": "Memory MiB"}
# Cells that stand out unless they say one of these.
GOOD = {"health": ("ok", ""), "ecc_uncorrected": ("0", "")}
_MISSING = {"unknown": "m", "not_applicable": "n"}
SHARED = 4  # nodes of which the rest is told in one place
_LOUD = ("fail", "need", "warn", "unknown", "info")
# How near two devices are, of the beginning of what a matrix says: over links of their own, one switch, several, a host bridge, another socket.
_NEAR = {"NV": "p4", "XG": "p4", "HC": "p4", "ML": "p4", "MX": "p4", "MT": "p4", "PI": "p3", "PX": "p2", "PH": "p1", "NO": "p1", "SY": "p0", "X": "self"}
_HARMLESS = re.compile(r"[ !#-%(-;=?-~]{0,500}\Z")


def markup(value):
    """Text as HTML: visible and escaped."""
    if value.__class__ is str and _HARMLESS.match(value):
        return value
    return str(escape(w.visible(value)))


def category(rule, about):
    """The grid column of a rule."""
    layer = str(about.get("layer") or "1")
    if layer in LAYER_COLUMNS:
        return LAYER_COLUMNS[layer]
    if about.get("category"):
        return w.words(about["category"])
    tokens = set(rule.split("-"))
    if "kernel" in tokens and tokens & KERNEL_LOG:
        return "Events"
    for name, known in CATEGORIES:
        if tokens & known:
            return name
    return "Host"


def _cell(value, key=None):
    """(class, HTML) of a fact."""
    if value.__class__ is str:
        text = value
    elif value.__class__ is int:
        text = str(value)
    else:
        text = w.words(value)
    known = GOOD.get(key)
    return _MISSING.get(w.nature(value)) or ("b" if known and text not in known else ""), markup(text)


def _td(value, key):
    kind, text = _cell(value, key)
    return '<td class="%s">%s' % (kind, text) if kind else "<td>" + text


def device_table(devices):
    """What all devices share in one line, then a table with a column only where they differ."""
    columns, shared = [], []
    for key, label in DEVICE_COLUMNS:
        values = [device.get(key) for device in devices]
        first = values[0]
        if key == "id" or len(values) == 1 or values.count(first) != len(values):
            if any(value not in (None, "", []) for value in values):
                columns.append((key, label))
        elif first not in (None, "", []):
            kind, text = _cell(first, key)
            shared.append("%s %s" % (label, '<span class="%s">%s</span>' % (kind, text) if kind else text))
    parts = []
    if shared:
        parts.append('<p class="soft">All alike: %s</p>' % " · ".join(shared))
    parts.append('<div class="scroll free"><table class="devices"><thead><tr>')
    parts += ['<th scope="col">%s' % label for key, label in columns]
    parts.append("<tbody>")
    for device in devices:
        parts.append("<tr>")
        parts += [_td(device.get(key), key) for key, label in columns]
    parts.append("</table></div>")
    return Markup("".join(parts))


def matrix_table(text):
    """The paths between the devices of a node: rows with ";" between, cells with blanks; a row that begins with a blank has the names of the columns."""
    parts = ['<div class="scroll free"><table class="heat"><caption>From each device to each other; the stronger the shade, the nearer</caption>']
    for row in text.split(";"):
        cells = row.split(" ")
        if cells[0]:
            parts.append('<tr><th scope="row">%s' % markup(cells[0]))
            parts += ['<td class="%s">%s' % (_NEAR.get(cell[:2], "none"), markup(cell)) for cell in cells[1:]]
        else:
            parts.append("<thead><tr><td>")
            parts += ['<th scope="col"><span>%s</span>' % markup(cell) for cell in cells[1:]]
            parts.append("<tbody>")
    parts.append("</table></div>")
    return "".join(parts)


def _by_reason(rules, outcomes):
    """[(state, reason, [rules])] of rules with these outcomes, equal reasons together."""
    joined = {}
    for rule in sorted(rules):
        entry = rules[rule]
        if entry.get("outcome") in outcomes:
            joined.setdefault((w.rule_state(entry), w.words(entry.get("reason"))), []).append(rule)
    return sorted(((state, reason, names) for (state, reason), names in joined.items()), key=lambda item: (w.STATE_RANK[item[0]], item[1]))


def layers_text(verdict):
    """`Layer 1: 3 found, 2 without answer; Layer 2–5: not asked`, in outcomes of the layer's rules."""
    layers = verdict.get("layers") or {}
    said = []
    for layer in w.LAYERS:
        entry = layers.get(layer) or {}
        parts = []
        if entry.get("found"):
            parts.append("%d found" % entry["found"])
        if entry.get("unknown") or entry.get("not_run"):
            parts.append("%d without answer" % (entry.get("unknown", 0) + entry.get("not_run", 0)))
        word = (", ".join(parts) or ("passed" if entry.get("passed") else "nothing established")) if entry.get("asked") else "not asked"
        if said and said[-1][1] == word:
            said[-1][0].append(layer)
        else:
            said.append(([layer], word))
    return "; ".join("Layer %s: %s" % ("–".join(dict.fromkeys((names[0], names[-1]))), word) for names, word in said)


class _Rules:
    """What a rules summary says, whichever node has it."""

    def __init__(self, rules, parts):
        self.reasons = {w.words(entry.get("reason")) for entry in rules.values()} - {""}
        self.found = [rule for rule in sorted(rules) if rules[rule].get("outcome") == "found"]
        self.needed = {rule for rule in rules if w.rule_state(rules[rule]) == "need"}
        rows = _by_reason(rules, ("unknown", "not_run"))
        self.open = Markup("".join(map(_row, [row for row in rows if row[0] == "need"])))
        passed = sum(1 for entry in rules.values() if entry.get("outcome") == "passed")
        arise = sum(1 for entry in rules.values() if entry.get("outcome") != "not_applicable")
        self.passed = "%d of %s that apply here passed." % (passed, w.plural(arise, "rule"))
        self.rest = _folded("Optional checks without an answer: %s", "reason", list(map(_row, [row for row in rows if row[0] != "need"])))
        beside = _by_reason(rules, ("not_applicable",))
        told = ["<li>%s: %s" % (markup(reason) or "no reason given", ", ".join(map(markup, names))) for _state, reason, names in beside]
        self.rest += _folded("Rules that do not apply: %s", "reason", told)
        self.anchor = ""  # of the place where it is told for all nodes that have it
        worst = {}
        for rule in sorted(rules):
            state = w.rule_state(rules[rule])
            column = parts.column_of[rule]
            if column not in worst or w.STATE_RANK[state] < w.STATE_RANK[worst[column][0]]:
                worst[column] = (state, [rule])
            elif state == worst[column][0]:
                worst[column][1].append(rule)
        cells = []
        for column in parts.columns:
            state, names = worst.get(column, ("blank", []))
            text = w.STATE_WORDS[state]
            if state in _LOUD:
                # Without a finding of the rule to go to, the node's own detail; its anchor replaces the mark.
                target = parts.targets.get((names[0], state), "\0")
                text = '<a href="#%s" title="%s">%s</a>' % (target, ", ".join(markup(name) for name in names), text)
            cells.append('<td class="%s">%s' % (state, text))
        self.cells = "".join(cells)


def rules_named(rules):
    """Rule names as links to what the page says of them."""
    return ", ".join('<a href="#%s"><code>%s</code></a>' % (w.anchor("rule", rule), markup(rule)) for rule in rules)


def _row(row):
    state, reason, rules = row
    return '<li><span class="chip %s">%s</span> %s %s' % (state, w.STATE_WORDS[state], markup(reason), rules_named(rules))


def _folded(title, noun, items):
    return '<details><summary>%s</summary><ul class="plain">%s</ul></details>' % (title % w.plural(len(items), noun), "".join(items)) if items else ""


class Parts:
    """Makes the parts of every node of a fleet. targets: (rule, state) -> anchor of its findings."""

    def __init__(self, fleet, targets):
        self.targets = targets
        self._rules, self._facts, self._layers, self._matrices = {}, {}, {}, {}
        catalogue = fleet.get("rule_catalogue") or {}
        summaries = {id(verdict.get("rules")): verdict.get("rules") or {} for verdict in fleet.get("verdicts") or []}
        self._shared_by = Counter(id(verdict.get("rules") or {}) for verdict in fleet.get("verdicts") or [])
        self.shared = []  # (anchor, number of nodes, what they have in common)
        names = {rule for rules in summaries.values() for rule in rules} | set(catalogue)
        self.column_of = {rule: category(rule, catalogue.get(rule) or {}) for rule in sorted(names)}
        # A kind of check that arises on no node has no column: the overview names the layers not asked. A node without any answer makes none.
        told = [rules for rules in summaries.values() if any(entry.get("outcome") != "unknown" for entry in rules.values())]
        used = {self.column_of[rule] for rules in told or summaries.values() for rule, entry in rules.items() if entry.get("outcome") != "not_applicable"}
        order = CATEGORY_ORDER + tuple(LAYER_COLUMNS.values())
        self.columns = sorted(used, key=lambda name: (name in LAYER_COLUMNS.values(), order.index(name) if name in order else len(order), name))

    def _fact(self, key, value):
        place = (key, value) if value.__class__ in (str, int) else None
        made = self._facts.get(place) if place else None
        if made is None:
            kind, text = _cell(value)
            label = FACT_NAMES.get(key, key.replace("_", " ").capitalize())
            made = "<div><dt>%s<dd%s>%s</div>" % (markup(label), ' class="%s"' % kind if kind else "", text)
            if place:
                self._facts[place] = made
        return made

    def _matrix(self, text, name, anchor):
        """The table of paths, or where on the page the same one stands: a fleet has few different ones."""
        if text.__class__ is not str or not text:
            return ""
        if text in self._matrices:
            other, where = self._matrices[text]
            return '<p class="soft">Paths: as those of <a href="#%s">%s</a></p>' % (where, markup(other))
        self._matrices[text] = (name, anchor)
        return "<h4>Paths</h4>" + matrix_table(text)

    def _summary(self, verdict):
        # The fleet holds the summaries while the page is made, so an identity stands for one summary.
        rules = verdict.get("rules") or {}
        made = self._rules.get(id(rules))
        if made is None:
            summary = _Rules(rules, self)
            made = self._rules[id(rules)] = (summary, rules)
            if summary.rest and self._shared_by[id(rules)] >= SHARED:
                summary.anchor = "alike-%d" % (1 + len(self.shared))
                self.shared.append((summary.anchor, self._shared_by[id(rules)], Markup(summary.rest)))
                summary.rest = '<p><a href="#%s">Optional checks without an answer, and rules that do not apply: as on %s</a></p>' % (
                    summary.anchor,
                    w.plural(self._shared_by[id(rules)], "node"),
                )
        return made

    def _layers_text(self, verdict):
        layers = verdict.get("layers")
        made = self._layers.get(id(layers))
        if made is None:
            made = self._layers[id(layers)] = (layers_text(verdict), layers)
        return made[0]

    def node(self, verdict, findings):
        """What the template prints of a node."""
        summary, rules = self._summary(verdict)
        name = w.words(verdict.get("node"))
        anchor = w.anchor("node", name)
        devices = verdict.get("devices") or []
        facts = dict(verdict.get("facts") or {})
        matrix = self._matrix(facts.pop("paths", None), name, anchor)
        reasons = [w.words(reason) for reason in verdict.get("reasons") or []]
        listed = {finding.get("rule") for finding in findings}
        return {
            "name": name,
            "anchor": anchor,
            "verdict": verdict.get("verdict") if verdict.get("verdict") in w.VERDICTS else "incomplete",
            "reasons": reasons,
            "extra": w.untold(reasons, {w.words(finding.get("summary")) for finding in findings} | summary.reasons) if reasons else [],
            "cohort": w.words(verdict.get("cohort")),
            "cells": Markup(summary.cells.replace("\0", anchor)),
            "facts": Markup("".join(self._fact(key, value) for key, value in facts.items())),
            "matrix": Markup(matrix),
            "devices": device_table(devices) if devices else "",
            "device_count": len(devices),
            "findings": under_causes([_finding(finding, name) for finding in findings]),
            "rules": " ".join(sorted({w.words(rule) for rule in listed} | summary.needed)),
            # A rule found without a finding of its own still says so.
            "bare": Markup(
                "".join(_row((w.rule_state(rules[rule]), w.words(rules[rule].get("reason")), [rule])) for rule in summary.found if rule not in listed)
            ),
            "open": summary.open,
            "tail": Markup('<p class="soft">%s %s.</p>%s' % (summary.passed, self._layers_text(verdict), summary.rest)),
        }


def under_causes(items):
    """Findings of a node in their order, each with what follows from it at once below; what names a cause that is not there comes last."""
    last, follow = {item["rule"]: item for item in items}, {}
    for item in items:
        for rule in item["causes"]:
            follow.setdefault(rule, []).append(item)
    order, placed = [], set()
    waiting = [*reversed([item for item in items if item["causes"]]), *reversed([item for item in items if not item["causes"]])]
    while waiting:
        item = waiting.pop()
        if id(item) not in placed:
            placed.add(id(item))
            order.append(item)
            if item is last[item["rule"]]:
                waiting += reversed(follow.get(item["rule"], ()))
    return order


def _finding(finding, node):
    return {
        "level": finding.get("level") if finding.get("level") in w.LEVELS else "fail",
        "rule": w.words(finding.get("rule")),
        "subject": w.subject_text(finding.get("subject"), node),
        "summary": w.words(finding.get("summary")),
        "observed": w.observed_text(finding),
        "expected": w.expected_text(finding.get("expected")),
        "evidence": w.words(finding.get("evidence")),
        "causes": list(w.causes(finding)),
    }
