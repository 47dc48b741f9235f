# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history as JSON lines, and back: a line for each run, judgement and node, as documents.py makes them. And what is let go of."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import documents, store
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import LARGEST

SCHEMA = "fleetproof.accelerator/history/v1"
_LONGEST = 64 * 2**20  # bytes of a line
_TEXT, _MAYBE = (str,), (str, type(None))
_JUDGEMENT = {"id": _TEXT, "run_id": _TEXT, "number": (int,), "digest": _TEXT, "judged_at": _TEXT, "profile": _TEXT, "counts": (dict,), "establishes": (bool,)}
_RUN = {"run_id": _TEXT, "created": _MAYBE, "collection_version": _MAYBE, "profile": _MAYBE, "roster": (list,), "policies": (dict,)}
_NODE = {
    "node": _TEXT, "verdict": _TEXT, "accepted": (bool,), "answered": (bool,), "cohort": _MAYBE, "reasons": (list,), "record": _TEXT,
    "system_serial": _MAYBE, "parts": (list,), "parts_whole": (bool,), "prints": (dict,), "measurements": (list,), "pairs": (list,),
}  # fmt: skip
_MEASUREMENT = {
    "metric": _TEXT, "unit": _TEXT, "better": _TEXT, "method": _TEXT, "product": _TEXT, "kind": _TEXT, "subject": _TEXT, "part": _MAYBE,
    "usable": (bool,), "median": (int, float), "samples": (list,),
}  # fmt: skip

_PAIR = {
    "metric": _TEXT, "unit": _TEXT, "better": _TEXT, "method": _TEXT, "rail": _TEXT, "peer": _TEXT, "peer_rail": _TEXT, "usable": (bool,),
    "median": (int, float), "samples": (list,),
}  # fmt: skip


def export(session, path):
    """Write everything that was stored; number of judgements. The file is whole or not there."""
    path = Path(path).expanduser()
    partial = path.with_name(".%s.%s" % (path.name, secrets.token_hex(4)))
    number = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Serials and verdicts are the site's own affair.
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            for line in lines(session):
                number += line["kind"] == "judgement"
                out.write(json.dumps(line, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n")
        partial.replace(path)
    except OSError as error:
        raise HistoryError("path: %s cannot be written: %s" % (path, error.strerror or error)) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return number


def lines(session):
    """Every line, in an order that does not depend on the store."""
    yield {"kind": "history", "schema": SCHEMA}
    told = set()
    columns = ", ".join(_JUDGEMENT)
    for row in session.rows("SELECT %s FROM history_judgements ORDER BY judged_at, number, id" % columns):
        judgement = dict(zip(_JUDGEMENT, row, strict=True))
        judgement.update(counts=json.loads(judgement["counts"]), establishes=bool(judgement["establishes"]))
        run_id = judgement["run_id"]
        if run_id not in told:
            told.add(run_id)
            yield dict(json.loads(session.row("SELECT document FROM history_runs WHERE run_id = :run", run=run_id)[0]), kind="run")
        yield dict(judgement, kind="judgement")
        for node in _nodes(session, judgement["id"]):
            yield dict(node, kind="node")


def _nodes(session, judgement):
    rows = session.rows(
        "SELECT v.node, v.verdict, v.accepted, v.answered, v.cohort, v.reasons, v.record, m.system_serial, v.whole, f.document FROM history_verdicts v"
        " JOIN history_machines m ON m.id = v.machine_id JOIN history_fingerprints f ON f.digest = v.prints WHERE v.judgement_id = :judgement ORDER BY v.node",
        judgement=judgement,
    )
    for node, verdict, accepted, answered, cohort, reasons, record, serial, whole, prints in rows:
        yield {
            "node": node,
            "verdict": verdict,
            "accepted": bool(accepted),
            "answered": bool(answered),
            "cohort": cohort,
            "reasons": json.loads(reasons),
            "record": record,
            "system_serial": serial if answered else None,
            "parts": [list(part) for part in store.parts_of(session, judgement, node)],
            "parts_whole": bool(whole),
            "prints": json.loads(prints),
            "measurements": _measured(session, "measurements", _MEASUREMENT, judgement, node),
            "pairs": _measured(session, "pairs", _PAIR, judgement, node),
        }


def _measured(session, table, keys, judgement, node):
    statement = "SELECT %s FROM history_%s WHERE judgement_id = :judgement AND node = :node ORDER BY position"
    rows = session.rows(statement % (", ".join(keys), table), judgement=judgement, node=node)
    return [dict(m, usable=bool(m["usable"]), samples=json.loads(m["samples"])) for m in (dict(zip(keys, row, strict=True)) for row in rows)]


def take(session, path):
    """(judgements in the file, new ones) of an exported file. What is there already stays as it is."""
    path = Path(path).expanduser()
    total = new = 0
    run, judgement, nodes = {}, None, []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise HistoryError("path: %s is not a regular file" % path)
            number = 0
            while content := file.readline(_LONGEST + 1):
                number += 1
                line, kind = _line(content, "%s: line %d" % (path, number), number == 1)
                if kind in ("run", "judgement") and judgement is not None:
                    new += store.put(session, run[judgement["run_id"]], judgement, nodes)
                    judgement, nodes = None, []
                if kind == "run":
                    run[line["run_id"]] = line
                elif kind == "judgement":
                    if line["run_id"] not in run:
                        raise HistoryError("%s: line %d: a judgement of run %s, which no line before names" % (path, number, line["run_id"]))
                    judgement, total = line, total + 1
                elif kind == "node":
                    if judgement is None:
                        raise HistoryError("%s: line %d: a node of no judgement" % (path, number))
                    nodes.append(line)
            if judgement is not None:
                new += store.put(session, run[judgement["run_id"]], judgement, nodes)
    except OSError as error:
        raise HistoryError("path: %s cannot be read: %s" % (path, error.strerror or error)) from None
    return total, new


def _line(content, where, first):
    """(document, kind) of a line. HistoryError says what does not fit."""
    if len(content) > _LONGEST:
        raise HistoryError("%s: longer than %d MiB" % (where, _LONGEST >> 20))
    try:
        line = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise HistoryError("%s: not JSON: %s" % (where, error)) from None
    kind = line.pop("kind", None) if line.__class__ is dict else None
    if first or kind == "history":
        if kind != "history" or line.get("schema") != SCHEMA:
            raise HistoryError("%s: not an exported history, allowed: schema %s" % (where, SCHEMA))
        return line, kind
    specification = {"run": _RUN, "judgement": _JUDGEMENT, "node": _NODE}.get(kind)
    if specification is None:
        raise HistoryError("%s: kind: found %r, allowed: run, judgement, node" % (where, kind))
    if kind == "node":
        line.setdefault("pairs", [])  # exported by a version that did not store them
    _hold(line, specification, where)
    if kind == "judgement" and line["id"] != "%s/%d/%s" % (line["run_id"], line["number"], line["digest"]):
        raise HistoryError("%s: id: found %r, which is not made of run, number and digest" % (where, line["id"]))
    if kind == "node":
        for measurement, keys in [(m, _MEASUREMENT) for m in line["measurements"]] + [(m, _PAIR) for m in line["pairs"]]:
            _hold(measurement, keys, where)
            if not 0 < measurement["median"] < LARGEST:
                raise HistoryError("%s: median: found %r, allowed: a number above 0" % (where, measurement["median"]))
        if not all(_is_part(part) for part in line["parts"]):
            raise HistoryError("%s: parts: not lists of kind, slot, device, name, serial, uuid" % where)
    return {key: line.get(key) for key in (documents.RUN_KEYS if kind == "run" else specification)}, kind


def _is_part(part):
    return part.__class__ is list and len(part) == 6 and all(v.__class__ is str or (v is None and i > 3) for i, v in enumerate(part))


def _hold(line, specification, where):
    for key, kinds in specification.items():
        if line.__class__ is not dict or key not in line or line[key].__class__ not in kinds:
            found = type(line[key]).__name__ if line.__class__ is dict and key in line else "nothing"
            raise HistoryError("%s: %s: found %s, allowed: %s" % (where, key, found, " or ".join(k.__name__ for k in kinds)))


def prune(session, before):
    """Number of judgements from before that time (UTC text) let go of. What a machine was when it was last accepted always stays."""
    rows = session.rows(
        "SELECT v.machine_id, v.judgement_id FROM history_verdicts v JOIN history_judgements j ON j.id = v.judgement_id"
        " WHERE j.newest = 1 AND v.accepted = 1 ORDER BY v.seen_at, v.judgement_id"
    )
    needed = set(dict(rows).values())
    old = [row[0] for row in session.rows("SELECT id FROM history_judgements WHERE judged_at < :before ORDER BY id", before=before) if row[0] not in needed]
    for ident in old:
        for table in ("verdicts", "parts", "replacements", "measurements", "pairs"):
            session.run("DELETE FROM history_%s WHERE judgement_id = :id" % table, id=ident)
        session.run("DELETE FROM history_judgements WHERE id = :id", id=ident)
    session.run("DELETE FROM history_runs WHERE run_id NOT IN (SELECT run_id FROM history_judgements)")
    session.run("DELETE FROM history_fingerprints WHERE digest NOT IN (SELECT prints FROM history_verdicts)")
    for run_id, document in session.rows("SELECT run_id, document FROM history_handed_runs"):
        if (json.loads(document).get("created") or "") < before:
            for table in ("runs", "files", "sections"):
                session.run("DELETE FROM history_handed_%s WHERE run_id = :run" % table, run=run_id)
    return len(old)
