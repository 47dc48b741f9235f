# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first fold with a history writes down what it uses of it: baseline.json. Afterwards the run directory is all that a fold reads."""

from __future__ import annotations

import json
from statistics import median

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts, parts, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import baseline, fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, documents, machines, store
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import dumps, write_new
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

RECENT, FIRST = 8, 3  # accepted runs of a machine that its past is the median of
JUDGEMENTS = 4  # newest ones of a cohort that its reference is made of
_WANTED = ("host", "pci")
_MEASURED = "m.metric, m.unit, m.better, m.method, m.product"


def take(run, location, dry=False):
    """Whether baseline.json was written: it is once, by the first fold that has a history. dry: no history is made for it."""
    path = run.path / baseline.NAME
    if path.exists():
        return False
    catalogue.load()
    with database.opened(location, dry) as opened, opened.reading() as session:
        document = made(session, run)
    try:
        write_new(path, dumps(document))
    except FileExistsError:
        return False  # another fold was faster, and this one reads what that one wrote
    except OSError as error:
        raise HistoryError("%s cannot be written: %s" % (path, error.strerror or error)) from None
    return True


def made(session, run):
    """The document of baseline.json."""
    found, natures, policies = {}, {}, {}
    for node in sorted(set(run.roster)):
        machine, nature = _known(session, run, node, policies)
        found[node] = machine
        natures[node] = nature
    formed, _alone = cohorts.form(natures)
    cohort_of = {node: one.name for one in formed for node in one.nodes}
    prints, numbers, nodes = [], {}, {}
    for node, machine in found.items():
        accepted = _accepted(session, machine, run, prints, numbers) if machine else None
        cohort = cohort_of.get(node) or (machine and _cohort(session, machine, run))
        nodes[node] = {"cohort": cohort or None, "accepted": accepted, "measurements": _own(session, machine, run) if machine else []}
    now = {machine: node for node, machine in found.items() if machine}
    for node, machine in found.items():
        nodes[node]["pairs"] = _pairs(session, machine, run, now) if machine else []
    names = sorted({entry["cohort"] for entry in nodes.values() if entry["cohort"]})
    return {
        "schema": baseline.SCHEMA,
        "run_id": run.run_id,
        "prints": prints,
        "cohorts": {name: _reference(session, name, run) for name in names},
        "nodes": nodes,
    }


def _known(session, run, node, policies):
    """(machine or None, Nature) of what the node says of itself so far; of a silent one the machine that had its name last."""
    wanted = {name for name in run.section_files(node) if name in _WANTED or name.startswith("accelerators.")}
    digest = (run.run.get("policies") or {}).get(node)
    if digest not in policies:
        policies[digest] = documents.parsed(run, node)
    view = NodeView(node, {name: envelope for name, envelope in fold.load(run, node).items() if name in wanted}, policies[digest])
    held, serial = parts.of(view), parts.system_serial(view)
    nature = cohorts.nature(view)
    view.release()
    if held or serial:
        return machines.find(session, node, serial, held, run.roster), nature
    return machines.named(session, node), nature


def _earlier(join=""):
    """Only what was judged in other runs, before this one was opened: a run judged again is not held against its own future."""
    return (
        " FROM history_verdicts v JOIN history_judgements j ON j.id = v.judgement_id JOIN history_runs r ON r.run_id = v.run_id%s"
        " WHERE j.newest = 1 AND v.run_id <> :run AND r.created <= :created" % join
    )


_MACHINES = " JOIN history_machines m ON m.id = v.machine_id"
_MEASUREMENTS = " JOIN history_measurements m ON m.judgement_id = v.judgement_id AND m.node = v.node"

_PAIRS = (
    " JOIN history_pairs p ON p.judgement_id = v.judgement_id AND p.node = v.node"
    " JOIN history_verdicts w ON w.judgement_id = p.judgement_id AND w.node = p.peer"
)


def _of(run):
    return {"run": run.run_id, "created": run.run.get("created") or ""}


def _accepted(session, machine, run, prints, numbers):
    row = session.row(
        "SELECT v.judgement_id, v.node, v.run_id, v.seen_at, v.prints, m.system_serial"
        + _earlier(_MACHINES)
        + " AND v.machine_id = :machine AND v.accepted = 1 ORDER BY v.seen_at DESC, v.judgement_id DESC LIMIT 1",
        machine=machine,
        **_of(run),
    )
    if row is None:
        return None
    judgement, node, run_id, at, digest, serial = row
    if digest not in numbers:
        numbers[digest] = len(prints)
        prints.append(json.loads(session.row("SELECT document FROM history_fingerprints WHERE digest = :digest", digest=digest)[0]))
    held = [part._asdict() for part in store.parts_of(session, judgement, node)]
    return {"run_id": run_id, "at": at, "name": node, "system_serial": serial, "prints": numbers[digest], "parts": held}


def _cohort(session, machine, run):
    row = session.row("SELECT v.cohort" + _earlier() + " AND v.machine_id = :machine ORDER BY v.seen_at DESC LIMIT 1", machine=machine, **_of(run))
    return row and row[0]


def _own(session, machine, run):
    """What each part of the machine measured in runs in which it was accepted."""
    rows = session.rows(
        "SELECT %s, m.kind, COALESCE(m.part, m.subject), m.median" % _MEASURED
        + _earlier(_MEASUREMENTS)
        + " AND v.machine_id = :machine AND v.accepted = 1 AND m.usable = 1 ORDER BY v.seen_at, v.judgement_id, m.position",
        machine=machine,
        **_of(run),
    )
    listed = {}
    for *key, kind, part, value in rows:
        listed.setdefault((*key, kind, part), []).append(value)
    told = []
    for (*key, kind, part), values in sorted(listed.items()):
        entry = dict(zip(baseline.KEY, key, strict=True), kind=kind, part=part)
        told.append(dict(entry, recent=_one_after_another(values[-RECENT:]), first=_one_after_another(values[:FIRST])))
    return told


def _pairs(session, machine, run, now):
    """What was measured from the machine to others in runs in which both ends were accepted. now: machine -> its name in this run."""
    rows = session.rows(
        "SELECT p.metric, p.unit, p.better, p.method, p.rail, w.machine_id, p.peer_rail, p.median"
        + _earlier(_PAIRS)
        + " AND v.machine_id = :machine AND v.accepted = 1 AND w.accepted = 1 AND p.usable = 1 ORDER BY v.seen_at, v.judgement_id, p.position",
        machine=machine,
        **_of(run),
    )
    listed = {}
    for *key, rail, other, peer_rail, value in rows:
        if other in now:
            listed.setdefault((*key, rail, now[other], peer_rail), []).append(value)
    told = []
    for key, values in sorted(listed.items()):
        entry = dict(zip(baseline.PAIR, key, strict=True))
        told.append(dict(entry, recent=_one_after_another(values[-RECENT:]), first=_one_after_another(values[:FIRST])))
    return told


def _one_after_another(values):
    """Reference of values of one part. Its spread is that of the steps from run to run: a slow drift does not widen it."""
    middle = median(values)
    steps = [abs(one - other) for one, other in zip(values, values[1:], strict=False)]
    spread = statistics.SIGMA * median(steps) / 2**0.5 / middle if len(steps) > 1 else 0.0
    return statistics.Reference(middle, spread, len(values))._asdict()


def _reference(session, cohort, run):
    """What the accepted nodes of a cohort measured in its newest runs."""
    newest = session.rows(
        "SELECT DISTINCT v.judgement_id, v.seen_at"
        + _earlier(_MEASUREMENTS)
        + " AND v.cohort = :cohort AND v.accepted = 1 AND m.usable = 1 ORDER BY v.seen_at DESC, v.judgement_id DESC LIMIT %d" % JUDGEMENTS,
        cohort=cohort,
        **_of(run),
    )
    listed = {}
    for judgement, _at in newest:
        rows = session.rows(
            "SELECT %s, m.median FROM history_measurements m JOIN history_verdicts v ON v.judgement_id = m.judgement_id AND v.node = m.node"
            " WHERE m.judgement_id = :judgement AND v.cohort = :cohort AND v.accepted = 1 AND m.usable = 1 ORDER BY m.node, m.position" % _MEASURED,
            judgement=judgement,
            cohort=cohort,
        )
        for *key, value in rows:
            listed.setdefault(tuple(key), {}).setdefault(judgement, []).append(value)
    told = []
    for key, by_run in sorted(listed.items()):
        # The spread within a run: that its runs differ does not make the parts of a cohort unlike.
        ones = [statistics.reference(values) for values in by_run.values()]
        middle, spread = (median(one[i] for one in ones) for i in (0, 1))
        given = statistics.Reference(middle, spread, sum(one.number for one in ones))
        told.append(dict(zip(baseline.KEY, key, strict=True), accepted=given._asdict()))
    return told
