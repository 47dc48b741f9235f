# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fold: from the files of a run to verdicts, records and reports.

Pure: no clock, no environment; the same files give the same bytes. It streams: a report is read, its rules are asked,
its record is begun, and only outcomes, fingerprints and short facts are kept. Work and memory are linear in nodes.
"""

from __future__ import annotations

import gc
import itertools
import json
import marshal
import os

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts, pairs, shown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import (
    acceptance_record,
    baseline,
    comparing,
    fleet_document,
    folded,
    json_text,
    regular_file,
    verdict,
    workers,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.judgement import Judgement
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import SECTION_SCHEMA, RunDirectory, encode
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, engine, policy, profiles, untold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView, clean

SCHEMA = "fleetproof.accelerator/fleet/v1"
LARGEST_SECTION = 32 * 2**20  # bytes; a section is some ten KiB
WORTH_FORKING = 64  # nodes
COLLECTED = 16  # nodes after which what is left of their reports is collected


def fold(run_path, profile=None, policies=None, processes=None, quorum=None):
    """Judge the run, write judgements/<n>, return the fleet document.

    profile: name; else each node's accelerator_profile, else the run's. policies: node -> variables, instead of the filed ones.
    quorum: percent of the expected nodes that have to answer.
    PolicyError with every problem of every node before anything is written; RunError when the run cannot be read or written.
    """
    catalogue.load()
    run = RunDirectory(run_path)
    roster = sorted(set(run.roster))
    plans = _plans(run, roster, profile, policies)
    if processes is None:
        processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        processes = processes if len(roster) >= WORTH_FORKING else 1
    collecting = gc.isenabled()
    gc.disable()  # thousands of small documents and no cycles among them
    try:
        with Judgement(run.path) as judgement:
            (judgement.path / "records").mkdir()
            fleet = _fold(run, roster, plans, profile or run.run.get("profile") or "preflight", judgement, processes, quorum)
    finally:
        if collecting:
            gc.enable()
    return fleet


def _plans(run, roster, profile, policies):
    """node -> (Policy, Profile). Equal variables are parsed once; every problem of every node is told together."""
    parsed, plans, problems = {}, {}, {}
    digests = run.run.get("policies") or {}
    for node in roster:
        given = policies is not None and node in policies
        key = json.dumps(policies[node], sort_keys=True, default=str) if given else digests.get(node)
        if key not in parsed:
            try:
                rules = policy.parse(policies[node] if given else run.policy(node))
                name = profile or rules.profile or run.run.get("profile") or "preflight"
                parsed[key] = (rules, profiles.find(name, rules.profiles))
            except policy.PolicyError as error:
                parsed[key] = error.problems
            except profiles.ProfileError as error:
                parsed[key] = [str(error)]
        if isinstance(parsed[key], list):
            for problem in parsed[key]:
                problems.setdefault(problem, []).append(node)
        else:
            plans[node] = parsed[key]
            try:
                cohort_of(run.run.get("groups") or {}, node, parsed[key][0])
            except ValueError as error:
                problems.setdefault(str(error), []).append(node)
    if problems:
        raise policy.PolicyError(["%s%s: %s" % (n[0], " and %d more" % (len(n) - 1) if len(n) > 1 else "", text) for text, n in problems.items()])
    return plans


def cohort_of(memberships, node, rules):
    """The inventory group of a node that is its cohort; what the site names outright needs none."""
    return "" if rules.cohort or not rules.cohort_groups else cohorts.group_of(memberships.get(node) or (), rules.cohort_groups)


def renderers():
    """File name and renderer. Imported late: the children are at work by then, and the parent only waits for them."""
    from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import csv_findings, html, junit, markdown, prometheus

    return (
        ("report.html", html.render),
        ("junit.xml", junit.render),
        ("metrics.prom", prometheus.render),
        ("findings.csv", csv_findings.render),
        ("summary.md", markdown.render),
    )


# -- one node -------------------------------------------------------------------------------------------------------


def load(run, node):
    """section -> envelope. A file that cannot be used is an envelope that says why."""
    sections = {}
    for section, path in run.section_files(node).items():
        try:
            envelope = json_text.loads(regular_file.read(path, LARGEST_SECTION))
            if envelope.__class__ is not dict or envelope.get("schema") != SECTION_SCHEMA or envelope.get("data").__class__ is not dict:
                raise ValueError("not a %s document" % SECTION_SCHEMA)
        except (OSError, ValueError, RecursionError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            envelope = {"status": "failed", "data": {}, "reason": "%s: %s" % (os.path.basename(path), said)}
        sections[section] = envelope
    return sections


def _node(run, node, plan, records, past=None, measured=()):
    """Read, ask, begin the record. Plain values only: they may come out of a child."""
    rules, profile = plan
    view = NodeView(node, load(run, node), rules)
    view.baseline = past
    judged = engine.judge_view(view, profile)
    head = {"run_id": run.run_id, "collection_version": run.run.get("collection_version"), "profile": profile.name, "created": run.run.get("created")}
    text, devices = acceptance_record.body(view, head, measured)
    _append(records, node, text)
    facts, nature = acceptance_record.facts(view), tuple(cohorts.nature(view))
    finished = max((e["finished"] for e in view.sections.values() if e.get("finished").__class__ is str), default="")
    present = bool(view.sections)
    view.release()
    # Healthy nodes say the same: as bytes it is told apart at once, and unpacked once for all of them.
    said = marshal.dumps(([judged.counts[name] for name in profile.asked], judged.gaps), 0)
    prints, own = folded.packed(judged.prints)
    return (
        said,
        judged.findings,
        prints,
        own,
        facts,
        devices,
        nature,
        clean(finished, 40),
        present,
        view.answered,
    )


def _append(records, node, text):
    descriptor = os.open(records / (encode(node) + ".yml"), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


# -- the fleet ------------------------------------------------------------------------------------------------------


def _fold(run, roster, plans, profile, judgement, processes, quorum=None):
    records = judgement.path / "records"
    shared, unpacked = folded.sharing(), {}
    nodes = {}
    past = baseline.load(run.path)
    between = pairs.load(run.path)
    measured_of = pairs.by_node(between[0], past)

    done = itertools.count(1)

    def judged(node):
        answer = _node(run, node, plans[node], records, None if past is None else past.get(node, baseline.NOTHING), measured_of.get(node, ()))
        if next(done) % COLLECTED == 0:
            gc.collect(0)  # a rule that keeps an exception keeps the frame it was raised in, and with it the report
        return answer

    answers = workers.ordered(roster, judged, processes)
    pages = None
    for node, answer in zip(roster, answers, strict=True):
        nodes[node] = folded.Folded(node, plans[node][1], answer, shared, unpacked)
        pages = pages or renderers()
    pages = pages or renderers()
    memberships = run.run.get("groups") or {}
    groups = {node: cohort_of(memberships, node, plans[node][0]) for node in nodes}
    formed, alone = cohorts.form({node: f.nature for node, f in nodes.items()}, groups)
    matrices = comparing.whole_run(between, nodes, plans, past)
    listed = comparing.cohorts_of(formed, alone, nodes, plans)
    measured = shown.series(nodes, formed, lambda node: plans[node][0].params(shown.RULE))
    fleet, results = _document(run, roster, nodes, plans, profile, judgement.number, formed, alone, listed)
    if quorum is not None:
        verdict.hold_quorum(fleet["roster"], quorum)
    fleet.update(measurements=measured, matrices=matrices)

    def page(name, render):
        (judgement.path / name).write_text(render(fleet), encoding="utf-8", errors="backslashreplace")

    def rest():
        fleet_document.write(judgement.path / "fleet.json", fleet)
        for entry, findings, rows in results:
            evidence = "nodes/%s/ of run %s" % (encode(entry["node"]), run.run_id)
            _append(records, entry["node"], acceptance_record.result(entry, findings, rows, evidence))
        for name, render in pages[1:]:
            page(name, render)

    # Children also take the renderers' memory with them when they end.
    workers.together((rest, lambda: page(*pages[0])), processes if len(roster) < WORTH_FORKING else 2)
    return fleet


def _document(run, roster, nodes, plans, profile, number, formed, alone, cohort_list):
    summaries = verdict.Summaries()
    cohort_of = {node: cohort.name for cohort in formed for node in cohort.nodes}
    verdicts, findings, coverage, results = [], [], [], []
    lists = {name: [] for name in verdict.VERDICTS}
    tables, usual = {}, {}
    present = answered = 0
    judged_at = ""
    for node in roster:
        one = nodes.pop(node)
        rules, asked = plans[node]
        one.findings.sort(key=verdict.order)
        one.gaps.sort()
        levels, reasons = _levels(one)
        if plans[node] not in usual:
            usual[plans[node]] = {name: rules.level(name) or RULES[name].level for name in asked.asked}
        counted = (id(asked), *one.counts.values())
        table = tables.get(counted)
        if table is None:
            table = tables[counted] = verdict.layers(asked, one.counts)
        word, why = verdict.decide(asked, table, one.findings, one.gaps)
        required = verdict.required(asked, one.gaps)
        if rules.nothing_expected and word == "accepted":
            why = ["nothing to accept: accelerator_expected_count is 0"]
        entry = {
            "node": node,
            "verdict": word,
            "reasons": why,
            "profile": asked.name,
            "cohort": cohort_of.get(node, alone.get(node, "in no cohort")),
            "layers": table,
            "rules": summaries.of(asked, required, one.counts, (usual[plans[node]], levels), reasons),
            "facts": one.facts,
            "devices": one.devices,
        }
        rows = [
            {"node": node, "rule": name, "outcome": outcome, "reason": _told(name, outcome, reason), "required": name in required, "subjects": subjects}
            for name, outcome, reason, subjects in one.gaps
            if outcome in ("unknown", "not_run")
        ]
        results.append((entry, one.findings, rows))
        lists[word].append(node)
        verdicts.append(entry)
        findings.extend(one.findings)
        coverage.extend(rows)
        present += one.present
        answered += one.answered
        judged_at = max(judged_at, one.finished)
    findings.sort(key=verdict.order)
    text = "%d expected, %d answered" % (len(roster), answered)
    if present < len(roster):
        text = "partial roster %d of %d: %s" % (present, len(roster), text)
    fleet = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "collection_version": run.run.get("collection_version"),
        "profile": profile,
        "judgement": number,
        "created": run.run.get("created"),
        "judged_at": judged_at or run.run.get("created"),
        "roster": {"expected": roster, "present": present, "answered": answered, "text": text if roster else "no node is expected"},
        "counts": {name: len(lists[name]) for name in ("accepted", "accepted_with_warnings", "rejected", "incomplete")},
        "accepted": lists["accepted"],
        "accepted_with_warnings": lists["accepted_with_warnings"],
        "rejected": lists["rejected"],
        "incomplete": lists["incomplete"],
        "findings": findings,
        "coverage": coverage,
        "cohorts": cohort_list,
        "rule_catalogue": {r.id: {"title": r.title, "layer": r.layer, "level": r.level, "remedy": r.remedy} for r in sorted(RULES.values())},
        "verdicts": verdicts,
    }
    return fleet, results


def _told(rule, outcome, reason):
    nothing = untold.of(rule, outcome, reason)
    return "not told by %s: %s" % (nothing[0], reason) if nothing else reason


def _levels(one):
    """rule -> level of its worst finding, rule -> reason of its worst outcome."""
    levels, reasons, worst = {}, {}, {}
    for f in reversed(one.findings):  # sorted worst first: the worst is written last
        levels[f["rule"]] = f["level"]
        reasons[f["rule"]] = f["summary"]
        worst[f["rule"]] = "found"
    for name, outcome, reason, _subjects in one.gaps:
        if name not in worst or (worst[name] != "found" and _RANK[outcome] > _RANK[worst[name]]):
            worst[name] = outcome
            reasons[name] = reason
    return levels, reasons


_RANK = {"not_applicable": 0, "not_run": 1, "unknown": 2, "found": 3}
