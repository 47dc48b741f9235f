# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a small fleet for tests of the history: written, judged and stored."""

from __future__ import annotations

import json

import demo
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, documents, lines, snapshot, store
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, digest, encode

METHOD = {"tool": "acme-bench", "version": "3", "parameters": {"shape": 4096}}


def measured(values, kind="package", ids=None, node="n"):
    ids = ids or ["nvidia:%d" % i for i in range(len(values))]
    return {
        "timestamp": synthetic.STAMP,
        "measurements": [
            {
                "metric": "acme-gemm",
                "unit": "TFLOPS",
                "better": "higher",
                "samples": [value],
                "subject": {"kind": kind, "id": ident},
                "method": METHOD,
                "validity": "valid",
                "conditions": {},
                "started": synthetic.STAMP,
            }
            for value, ident in zip(values, ids, strict=True)
        ],
    }


def node(serial, values=None, **changes):
    """Sections of a healthy node. values: what its cards measured."""
    sections = synthetic.healthy(serial=serial)
    if values is not None:
        sections["acme_bench"] = measured(values)
    return sections


def write(root, run_id, day, nodes, policies=None, roster=None):
    """A run of that day. nodes: name -> sections, None = silent."""
    policies = policies or {}
    stamp = "2026-03-%02dT08:00:00Z" % day
    document = {
        "collection_version": "0.1.0",
        "created": "2026-03-%02dT07:59:00Z" % day,
        "profile": "preflight",
        "roster": roster or sorted(nodes),
        "groups": {name: [] for name in nodes},
        "policies": {name: digest(v) for name, v in policies.items()},
        "replay": False,
    }
    run = RunDirectory.create(root, run_id, document, {digest(v): v for v in policies.values()})
    for name, sections in nodes.items():
        folder = run.path / "nodes" / encode(name)
        folder.mkdir(parents=True, exist_ok=True)
        envelopes = synthetic.unread(name) if sections is None else synthetic.envelopes(sections, name)
        for section, envelope in envelopes.items():
            envelope = dict(envelope, run_id=run_id, started=stamp, finished=stamp)
            (folder / ("%s.1.json" % section)).write_text(json.dumps(envelope), encoding="utf-8")
    return run


def judge(run, location=None):
    if location:
        snapshot.take(run, location)
    return fold.fold(run.path, processes=1)


def keep(run, location):
    """Whether the newest judgement of the run was new to the store."""
    with database.opened(location) as opened, opened.writing() as session:
        return store.put(session, *documents.of_run(RunDirectory(run.path)))


def through(root, location, run_id, day, nodes, **more):
    """Write, judge with the history, store: the fleet document."""
    run = write(root, run_id, day, nodes, **more)
    fleet = judge(run, location)
    assert keep(run, location)
    return fleet


def rows(location, statement, **parameters):
    with database.opened(location) as opened, opened.reading() as session:
        return session.rows(statement, **parameters)


def findings(fleet, *rules):
    return [f for f in fleet["findings"] if f["rule"] in (rules or ("measured-drift", "changed-since-accepted", "part-replaced"))]


def outcome(fleet, name, rule):
    return next(v for v in fleet["verdicts"] if v["node"] == name)["rules"][rule]


def fleet(number=4, values=700.0, first=0):
    """Nodes with eight cards that measured about the same."""
    return {"n%d" % i: node("S%d" % i, None if values is None else [values + i + c / 10 for c in range(8)]) for i in range(first, first + number)}


def everything(location):
    with database.opened(location) as opened, opened.reading() as session:
        return [json.dumps(line, sort_keys=True) for line in lines.lines(session)]


def baseline_of(run):
    document = json.loads((run.path / "baseline.json").read_text(encoding="utf-8"))
    assert [e.message for e in demo.validator("baseline").iter_errors(document)] == []
    return document
