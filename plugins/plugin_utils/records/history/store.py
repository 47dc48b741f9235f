# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Storing a judgement: once, whoever asks for it and however often."""

from __future__ import annotations

import hashlib
import json

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import parts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import run_directory
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import machines
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import dumps


def put(session, run, judgement, nodes):
    """Whether the judgement was new. run, judgement, nodes: as documents.of_run() gives them."""
    if holds(session, judgement):
        return False
    _join(session, run)
    session.insert(
        "history_judgements",
        [dict(judgement, counts=dumps(judgement["counts"]), establishes=int(judgement["establishes"]), newest=0)],
    )
    for document in nodes:
        _put_node(session, judgement, document, run["roster"] or ())
    # Of several judgements of one run the last one speaks, of those that establish anything.
    session.run("UPDATE history_judgements SET newest = 0 WHERE run_id = :run", run=judgement["run_id"])
    session.run(
        "UPDATE history_judgements SET newest = 1 WHERE id = (SELECT id FROM history_judgements WHERE run_id = :run AND establishes = 1"
        " ORDER BY judged_at DESC, number DESC, id DESC LIMIT 1)",
        run=judgement["run_id"],
    )
    return True


def holds(session, judgement):
    return session.row("SELECT 1 FROM history_judgements WHERE id = :id", id=judgement["id"]) is not None


def _join(session, run):
    """Store the run, or hold it against the one of that name that is there, as a run directory does."""
    session.insert("history_runs", [{"run_id": run["run_id"], "created": run["created"] or "", "document": dumps(run)}])
    there = session.row("SELECT document FROM history_runs WHERE run_id = :run", run=run["run_id"])[0]
    agree(json.loads(there), run)


def agree(there, document):
    """HistoryError unless the run in the store is the run of this document."""
    try:
        run_directory.agree(there, document)
    except run_directory.RunError as error:
        raise HistoryError(str(error)) from None


def _put_node(session, judgement, document, roster):
    node = document["node"]
    at = judgement["judged_at"]
    held = [parts.Part(*one) for one in document["parts"]]
    machine = machines.keep(session, node, document["system_serial"], held, at, roster) if held or document["system_serial"] else None
    machine = machine or machines.named(session, node) or machines.keep(session, node, None, [], at)
    key = {"judgement_id": judgement["id"], "node": node, "machine_id": machine}
    text = dumps(document["prints"])
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    if document["answered"] and held:
        before = _parts_before(session, machine, at)
        if before:
            since, old = before
            changes = parts.differences(old, held, document["parts_whole"])
            session.insert("history_replacements", [_replacement(key, since, change) for change in changes])
    session.insert("history_fingerprints", [{"digest": digest, "document": text}])
    session.insert(
        "history_verdicts",
        [
            dict(
                key,
                run_id=judgement["run_id"],
                seen_at=at,
                verdict=document["verdict"],
                accepted=int(document["accepted"]),
                answered=int(document["answered"]),
                whole=int(document["parts_whole"]),
                cohort=document["cohort"],
                reasons=dumps(document["reasons"]),
                record=document["record"],
                prints=digest,
            )
        ],
    )
    session.insert("history_parts", [dict(key, **part._asdict()) for part in held])
    rows = [dict(key, position=i, **one) for i, one in enumerate(document["measurements"])]
    session.insert("history_measurements", [dict(row, usable=int(row["usable"]), samples=dumps(row["samples"])) for row in rows])
    rows = [dict(key, position=i, **one) for i, one in enumerate(document["pairs"])]
    session.insert("history_pairs", [dict(row, usable=int(row["usable"]), samples=dumps(row["samples"])) for row in rows])


def _parts_before(session, machine, at):
    """(run, parts) of the last time before when the machine told its parts."""
    row = session.row(
        "SELECT v.judgement_id, v.node, v.run_id FROM history_verdicts v WHERE v.machine_id = :machine AND v.seen_at < :at AND EXISTS"
        " (SELECT 1 FROM history_parts p WHERE p.judgement_id = v.judgement_id AND p.node = v.node) ORDER BY v.seen_at DESC, v.judgement_id DESC LIMIT 1",
        machine=machine,
        at=at,
    )
    return (row[2], parts_of(session, row[0], row[1])) if row else None


def parts_of(session, judgement, node):
    rows = session.rows(
        "SELECT kind, slot, device, name, serial, uuid FROM history_parts WHERE judgement_id = :judgement AND node = :node ORDER BY kind, slot",
        judgement=judgement,
        node=node,
    )
    return [parts.Part(*row) for row in rows]


def _replacement(key, since, change):
    old, new = change.old, change.new
    return dict(
        key,
        kind=change.kind,
        slot=change.slot,
        name=(new or old).name,
        old_part=old and old.identity,
        new_part=new and new.identity,
        since_run=since,
    )
