# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a judgement of a run directory to the documents that the history stores. What is exported are the same documents."""

from __future__ import annotations

import hashlib
import json

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, pairs, parts, prints, shown, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold, regular_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import encode
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import NoAnswer
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

RUN_KEYS = ("run_id", "created", "collection_version", "profile", "roster", "policies", "groups", "replay")
ACCEPTED = ("accepted", "accepted_with_warnings")
LARGEST_RECORD = 4 * 2**20


def of_run(run, number=None):
    """(run document, judgement document, iterator of node documents); the newest judgement without a number."""
    folder = run.path / "judgements" / str(number) if number else run.path
    try:
        content = regular_file.read(folder / "fleet.json")
        fleet = json.loads(content.decode("utf-8"))
    except FileNotFoundError:
        raise HistoryError("%s: nothing to store, allowed: a run that was judged" % folder) from None
    except (OSError, ValueError) as error:
        raise HistoryError("%s: fleet.json cannot be read: %s" % (folder, error)) from None
    if fleet.__class__ is not dict or fleet.get("schema") != fold.SCHEMA or fleet.get("run_id") != run.run_id:
        raise HistoryError("%s: fleet.json is not a judgement of run %s" % (folder, run.run_id))
    digest = hashlib.sha256(content).hexdigest()[:16]
    establishes = any(layer["asked"] for entry in fleet["verdicts"] for layer in entry["layers"].values())
    judgement = {
        "id": "%s/%d/%s" % (run.run_id, fleet["judgement"], digest),
        "run_id": run.run_id,
        "number": fleet["judgement"],
        "digest": digest,
        "judged_at": fleet["judged_at"] or "",
        "profile": fleet["profile"],
        "counts": fleet["counts"],
        "establishes": establishes,
    }
    records = run.path / "judgements" / str(fleet["judgement"]) / "records"
    return {key: run.run.get(key) for key in RUN_KEYS}, judgement, _nodes(run, fleet, records)


def _nodes(run, fleet, records):
    catalogue.load()
    slow = {}
    for finding in fleet["findings"]:
        if finding["rule"].startswith("measured-"):
            one = finding["subject"]
            if one.__class__ is not list:  # a slow link says nothing of what its ends do on their own
                slow.setdefault(one["node"], set()).add((one["kind"], one["id"]))
    between = _between(run, fleet)
    rules = {}
    for entry in fleet["verdicts"]:
        node = entry["node"]
        digest = (run.run.get("policies") or {}).get(node)
        if digest not in rules:
            rules[digest] = parsed(run, node)
        view = NodeView(node, fold.load(run, node), rules[digest])
        yield {
            "node": node,
            "verdict": entry["verdict"],
            "accepted": entry["verdict"] in ACCEPTED and any(layer["asked"] for layer in entry["layers"].values()),
            "answered": view.answered,
            "cohort": None if entry["cohort"].startswith("in no cohort") else entry["cohort"],
            "reasons": entry["reasons"],
            "record": _record(records / (encode(node) + ".yml")),
            "system_serial": parts.system_serial(view),
            "parts": [list(part) for part in parts.of(view)],
            "parts_whole": parts.whole(view),
            "prints": prints.of(view) if view.answered else {},
            "measurements": _measured(view, slow.get(node, ())),
            "pairs": between.get(node, []),
        }
        view.release()


def _between(run, fleet):
    """node -> [what was measured from it to others]; usable is what was not found slow."""
    slow = set()
    for finding in fleet["findings"]:
        if finding["rule"] == shown.PAIRS_RULE:
            subject = finding["subject"]
            told = [(one["kind"], one["id"]) for one in (subject if subject.__class__ is list else [subject])]
            slow.add(frozenset(told) if len(told) > 1 else told[0])
    told = {}
    for (metric, unit, better, method), (node, rail), (peer, peer_rail), samples in pairs.read(run.path)[0]:
        told.setdefault(node, []).append(
            {
                "metric": metric,
                "unit": unit,
                "better": better,
                "method": method,
                "rail": rail,
                "peer": peer,
                "peer_rail": peer_rail,
                "usable": not pairs.subjects_of((node, rail), (peer, peer_rail)) & slow,
                "median": statistics.quantile(sorted(samples), 0.5),
                "samples": statistics.thinned(samples, measurements.SAMPLES),
            }
        )
    return told


def parsed(run, node):
    """The filed policy of a node; the plain one where it cannot be used, for what is stored is what the node said."""
    try:
        return policy.parse(run.policy(node))
    except policy.PolicyError:
        return policy.Policy()


def _record(path):
    try:
        return regular_file.text(path, LARGEST_RECORD)
    except (OSError, ValueError):
        return ""


def _measured(view, slow):
    """[measurement]: usable ones were not found slow, so that what is slow does not become what is usual."""
    try:
        ones, _problems = view.once(measurements.read)
    except NoAnswer:
        return []
    held = {part.device: part.identity for part in parts.of(view)}
    return [
        {
            "metric": one.key[0],
            "unit": one.key[1],
            "better": one.key[2],
            "method": one.key[3],
            "product": one.key[4],
            "kind": one.kind,
            "subject": one.id,
            "part": "node" if one.kind == "node" else held.get(one.id),
            "usable": (one.kind, one.id) not in slow and ("node", view.node) not in slow,
            "median": one.value,
            "samples": list(one.samples),
        }
        for one in ones
    ]
