# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: one file without network, complete without script. The template lies beside this file.

No text reaches the page except through visible() (the environment's finalize) and autoescape; the page's content
security policy allows the one script by its hash and nothing else.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import os

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import words as w
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

# More rows than these are folded away, not left out.
SHOWN_ROWS = 10
SHOWN_NAMES = 40

# Columns of the grid in layer 1: a rule belongs to the first whose word its id has. rule_catalogue may name a category itself.
CATEGORIES = (
    ("Consistency", {"cohort"}),
    ("Slicing", {"slicing", "mig", "partition", "partitions", "vnpu", "sriov"}),
    ("Host", {"host", "huge", "memlock", "time", "numa", "kernel", "os", "bios", "bmc", "processes"}),
    ("PCIe", {"pcie", "pci"}),
    ("Memory", {"ecc", "remap", "retired", "hbm", "memory", "ras", "sram"}),
    ("Links", {"link", "links", "nvlink", "xgmi", "hccs", "fabric", "interconnect"}),
    ("Driver", {"driver", "library", "firmware", "vbios", "module", "tool", "runtime", "persistence"}),
    ("Heat, power", {"temperature", "thermal", "power", "throttle", "throttling", "clock", "clocks", "fan"}),
    ("Events", {"xid", "event", "events", "log", "mce"}),
    ("Devices", {"accelerator", "accelerators", "count", "detection", "device", "devices", "model", "models", "identity", "recovery"}),
)
CATEGORY_ORDER = ("Devices", "PCIe", "Memory", "Links", "Driver", "Heat, power", "Events", "Host", "Consistency", "Slicing")
_NO_RULE = {"title": "", "layer": "", "level": "", "remedy": ""}
LAYER_COLUMNS = {"2": "Kubernetes", "3": "Containers", "4": "Interconnect", "5": "Framework"}

DEVICE_COLUMNS = (
    ("id", "Device"), ("name", "Name"), ("kind", "Kind"), ("parent", "Part of"), ("pci", "PCI"), ("serial", "Serial"), ("uuid", "UUID"), ("health", "Health"),
    ("memory_mib", "Memory MiB"), ("temperature_c", "°C"), ("power_w", "W"), ("ecc_uncorrected", "ECC uncorrected"), ("pcie", "PCIe"), ("links", "Links"),
)
# Cells that stand out unless they say one of these.
GOOD = {"health": ("ok", ""), "ecc_uncorrected": ("0", "")}
_MISSING = {"unknown": "m", "not_applicable": "n"}
FACT_NAMES = {"os": "OS", "bios": "BIOS", "bmc": "BMC", "cpu": "CPU", "memory_mib": "Memory MiB"}


def category(rule, about):
    """The grid column of a rule."""
    layer = str(about.get("layer") or "1")
    if layer in LAYER_COLUMNS:
        return LAYER_COLUMNS[layer]
    if about.get("category"):
        return w.words(about["category"])
    tokens = set(rule.split("-"))
    for name, known in CATEGORIES:
        if tokens & known:
            return name
    return "Host"


class _Grid:
    def __init__(self, fleet):
        catalogue = fleet.get("rule_catalogue") or {}
        names = set(catalogue)
        for verdict in fleet.get("verdicts") or []:
            names.update(verdict.get("rules") or {})
        self.column_of = {rule: category(rule, catalogue.get(rule) or {}) for rule in sorted(names)}
        # A kind of check that arises on no node has no column: the overview names the layers not asked.
        used = {
            self.column_of[rule] for verdict in fleet.get("verdicts") or [] for rule, entry in (verdict.get("rules") or {}).items()
            if entry.get("outcome") != "not_applicable"
        }
        order = CATEGORY_ORDER + tuple(LAYER_COLUMNS.values())
        self.columns = sorted(used, key=lambda name: (name in LAYER_COLUMNS.values(), order.index(name) if name in order else len(order), name))

    def cells(self, verdict, targets):
        """[(state, link, rules)] in the order of the columns."""
        worst = {}
        for rule, entry in (verdict.get("rules") or {}).items():
            column = self.column_of[rule]
            state = w.rule_state(entry)
            rank = w.STATE_RANK[state]
            if column not in worst or rank < worst[column][0]:
                worst[column] = (rank, state, [rule])
            elif rank == worst[column][0]:
                worst[column][2].append(rule)
        cells = []
        for column in self.columns:
            rank, state, rules = worst.get(column, (0, "blank", []))
            target = ""
            if state in ("fail", "warn", "need", "unknown", "info"):
                target = targets.get((rules[0], state)) or w.anchor("node", verdict.get("node"))
            cells.append((state, target, rules))
        return cells


def _same(values):
    return len(values) > 1 and all(value == values[0] for value in values[1:])


def device_table(devices):
    """(what all devices share as pairs, columns, rows): a column only where devices differ."""
    keys = [key for key, label in DEVICE_COLUMNS if any(device.get(key) not in (None, "", []) for device in devices)]
    labels = dict(DEVICE_COLUMNS)
    shared, columns = [], []
    for key in keys:
        values = [device.get(key) for device in devices]
        if key != "id" and _same(values):
            shared.append((labels[key], w.words(values[0])))
        else:
            columns.append(key)
    rows = []
    for device in devices:
        cells = []
        for key in columns:
            value = device.get(key)
            text = w.words(value)
            bad = _MISSING.get(w.nature(value)) or ("b" if text not in GOOD.get(key, (text,)) else "")
            cells.append((text, bad))
        rows.append(cells)
    return shared, [labels[key] for key in columns], rows


def _by_reason(rules, outcomes):
    """[(state, reason, [rules])] of rules with these outcomes, equal reasons together."""
    joined = {}
    for rule in sorted(rules):
        entry = rules[rule]
        if entry.get("outcome") in outcomes:
            joined.setdefault((w.rule_state(entry), w.words(entry.get("reason"))), []).append(rule)
    return sorted(((state, reason, names) for (state, reason), names in joined.items()), key=lambda item: (w.STATE_RANK[item[0]], item[1]))


def _node(verdict, findings):
    rules = verdict.get("rules") or {}
    outcomes = {}
    for entry in rules.values():
        outcomes[entry.get("outcome")] = outcomes.get(entry.get("outcome"), 0) + 1
    node = w.words(verdict.get("node"))
    facts = verdict.get("facts") or {}
    listed = {finding.get("rule") for finding in findings}
    reasons = [w.words(reason) for reason in verdict.get("reasons") or []]
    told = {w.words(finding.get("summary")) for finding in findings} | {w.words(entry.get("reason")) for entry in rules.values()}
    return {
        "name": node,
        "anchor": w.anchor("node", node),
        "verdict": verdict.get("verdict") if verdict.get("verdict") in w.VERDICTS else "incomplete",
        "reasons": reasons,
        "extra": w.untold(reasons, told),
        "cohort": w.words(verdict.get("cohort")),
        "facts": [(FACT_NAMES.get(key, key.replace("_", " ").capitalize()), w.words(value), _MISSING.get(w.nature(value), "")) for key, value in facts.items()],
        "devices": device_table(verdict.get("devices") or []) if verdict.get("devices") else None,
        "device_count": len(verdict.get("devices") or []),
        "findings": [
            {
                "level": finding.get("level") if finding.get("level") in w.LEVELS else "fail", "rule": w.words(finding.get("rule")),
                "subject": w.subject_text(finding.get("subject"), node), "summary": w.words(finding.get("summary")),
                "observed": w.observed_text(finding), "expected": w.expected_text(finding.get("expected")), "evidence": w.words(finding.get("evidence")),
            }
            for finding in findings
        ],
        # A rule found without a finding of its own still says so.
        "bare": [(w.rule_state(rules[rule]), w.words(rules[rule].get("reason")), [rule]) for rule in sorted(rules)
                 if rules[rule].get("outcome") == "found" and rule not in listed],
        "open": _by_reason(rules, ("unknown", "not_run")),
        "beside": _by_reason(rules, ("not_applicable",)),
        "passed": outcomes.get("passed", 0),
        "rules": len(rules),
        "layers": _layers(verdict),
    }


def _layers(verdict):
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


def _coverage(fleet):
    """[(state, reason, rules, nodes)]: questions without an answer, equal ones together."""
    per_node = {}
    for entry in fleet.get("coverage") or []:
        key = (w.rule_state(entry), w.words(entry.get("reason")), w.words(entry.get("node")))
        per_node.setdefault(key, []).append(w.words(entry.get("rule")))
    joined = {}
    for (state, reason, node), rules in per_node.items():
        joined.setdefault((state, reason, tuple(sorted(set(rules)))), []).append(node)
    rows = [(state, reason, list(rules), sorted(nodes)) for (state, reason, rules), nodes in joined.items()]
    return sorted(rows, key=lambda row: (w.STATE_RANK[row[0]], -len(row[3]), row[1], row[2]))


def _links(names):
    """Node names as links, for a sentence: a few, the rest folded by the template."""
    return [(name, w.anchor("node", name)) for name in names]


def _read(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as stream:
        return stream.read()


def _code(name):
    """A style sheet or script without its leading comment."""
    text = _read(name)
    return text[text.index("*/") + 2:].strip("\n")


@functools.cache
def _template():
    here = os.path.dirname(os.path.abspath(__file__))
    environment = Environment(
        loader=FileSystemLoader(here), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else w.visible(value),
    )
    script = _code("report.js")
    environment.globals.update(
        style=Markup(_code("report.css")), script=Markup(script), anchor=w.anchor, links=_links, plural=w.plural,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        verdict_words=w.VERDICT_WORDS, short_words=dict(w.VERDICT_WORDS, accepted_with_warnings="warnings"), state_words=w.STATE_WORDS,
        shown_rows=SHOWN_ROWS, shown_names=SHOWN_NAMES,
    )
    return environment.get_template("report.html.j2")


def render(fleet):
    """The page as text, for writing as UTF-8."""
    groups = w.grouped(fleet)
    # Rule anchors: the worst group of a rule has `rule-<id>`; a consequence has it where it stands, another rule in the catalogue.
    targets, taken = {}, set()
    for group in groups:
        for item in (group, *group.consequences):
            name = w.anchor("rule", item.rule)
            item.anchor = name if name not in taken else "%s--%s" % (name, item.level)
            while item.anchor in taken:
                item.anchor += "-"
            taken.add(item.anchor)
            targets.setdefault((item.rule, item.level), item.anchor)
    grid = _Grid(fleet)
    findings = {}
    for finding in fleet.get("findings") or []:
        findings.setdefault(w.words(finding.get("node")), []).append(finding)
    order = {verdict: rank for rank, verdict in enumerate(w.VERDICTS)}
    verdicts = sorted(fleet.get("verdicts") or [], key=lambda item: (order.get(item.get("verdict"), 1), w.words(item.get("node"))))
    nodes = []
    for verdict in verdicts:
        node = _node(verdict, findings.get(w.words(verdict.get("node")), []))
        node["cells"] = grid.cells(verdict, targets)
        nodes.append(node)
    catalogue = {rule: {} for node in verdicts for rule in node.get("rules") or {}}
    catalogue.update((w.words(finding.get("rule")), {}) for finding in fleet.get("findings") or [])
    catalogue.update(fleet.get("rule_catalogue") or {})
    counts = w.counts(fleet)
    return _template().render(
        fleet=dict(dict.fromkeys(("profile", "run_id", "judged_at", "created", "judgement", "collection_version")), **fleet),
        answer=w.sentence(fleet),
        rest=w.rest_of_sentence(fleet),
        verdicts=w.VERDICTS,
        counts=counts,
        total=sum(counts.values()),
        roster=dict({"text": ""}, **(fleet.get("roster") or {})),
        layers=w.asked_layers(fleet),
        layer_states=w.LAYER_STATE_WORDS,
        loud=[group for group in groups if group.level != "info"],
        quiet=[group for group in groups if group.level == "info"],
        unproven=w.unproven(fleet),
        columns=grid.columns,
        nodes=nodes,
        coverage=_coverage(fleet),
        cohorts=[dict({"name": "", "why": "", "nodes": [], "odd": []}, **cohort) for cohort in fleet.get("cohorts") or []],
        rules=[(rule, dict(_NO_RULE, **catalogue[rule]), w.anchor("rule", rule), w.anchor("rule", rule) in taken) for rule in sorted(catalogue)],
        policies=fleet.get("policies") or {},
    )
