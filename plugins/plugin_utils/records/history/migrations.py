# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the history, by numbered steps. A step that was released is never changed: what is new is a further step."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError

STEPS = (
    (
        "CREATE TABLE history_runs (run_id TEXT PRIMARY KEY, created TEXT NOT NULL, document TEXT NOT NULL)",
        "CREATE TABLE history_judgements (id TEXT PRIMARY KEY, run_id TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL, judged_at TEXT NOT NULL,"
        " profile TEXT NOT NULL, counts TEXT NOT NULL, establishes INTEGER NOT NULL, newest INTEGER NOT NULL)",
        "CREATE INDEX history_judgements_run ON history_judgements (run_id)",
        "CREATE TABLE history_machines (id TEXT PRIMARY KEY, system_serial TEXT, name TEXT NOT NULL, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL)",
        "CREATE INDEX history_machines_serial ON history_machines (system_serial)",
        "CREATE INDEX history_machines_name ON history_machines (name)",
        "CREATE TABLE history_identifiers (kind TEXT NOT NULL, value TEXT NOT NULL, machine_id TEXT NOT NULL, last_seen TEXT NOT NULL,"
        " PRIMARY KEY (kind, value, machine_id))",
        "CREATE INDEX history_identifiers_machine ON history_identifiers (machine_id)",
        "CREATE TABLE history_verdicts (judgement_id TEXT NOT NULL, node TEXT NOT NULL, run_id TEXT NOT NULL, machine_id TEXT NOT NULL, seen_at TEXT NOT NULL,"
        " verdict TEXT NOT NULL, accepted INTEGER NOT NULL, answered INTEGER NOT NULL, whole INTEGER NOT NULL, cohort TEXT, reasons TEXT NOT NULL,"
        " record TEXT NOT NULL, prints TEXT NOT NULL, PRIMARY KEY (judgement_id, node))",
        "CREATE INDEX history_verdicts_machine ON history_verdicts (machine_id, seen_at)",
        "CREATE INDEX history_verdicts_cohort ON history_verdicts (cohort, seen_at)",
        "CREATE TABLE history_fingerprints (digest TEXT PRIMARY KEY, document TEXT NOT NULL)",
        "CREATE TABLE history_parts (judgement_id TEXT NOT NULL, node TEXT NOT NULL, machine_id TEXT NOT NULL, kind TEXT NOT NULL, slot TEXT NOT NULL,"
        " device TEXT NOT NULL, name TEXT NOT NULL, serial TEXT, uuid TEXT, PRIMARY KEY (judgement_id, node, kind, slot))",
        "CREATE TABLE history_replacements (judgement_id TEXT NOT NULL, node TEXT NOT NULL, machine_id TEXT NOT NULL, kind TEXT NOT NULL, slot TEXT NOT NULL,"
        " name TEXT NOT NULL, old_part TEXT, new_part TEXT, since_run TEXT NOT NULL, PRIMARY KEY (judgement_id, node, kind, slot))",
        "CREATE TABLE history_measurements (judgement_id TEXT NOT NULL, node TEXT NOT NULL, position INTEGER NOT NULL, machine_id TEXT NOT NULL,"
        " metric TEXT NOT NULL, unit TEXT NOT NULL, better TEXT NOT NULL, method TEXT NOT NULL, product TEXT NOT NULL, kind TEXT NOT NULL,"
        " subject TEXT NOT NULL, part TEXT, usable INTEGER NOT NULL, median DOUBLE PRECISION NOT NULL, samples TEXT NOT NULL,"
        " PRIMARY KEY (judgement_id, node, position))",
    ),
    (
        "CREATE TABLE history_handed_runs (run_id TEXT PRIMARY KEY, document TEXT NOT NULL)",
        "CREATE TABLE history_handed_files (run_id TEXT NOT NULL, folder TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL,"
        " PRIMARY KEY (run_id, folder, name))",
        "CREATE TABLE history_handed_sections (run_id TEXT NOT NULL, node TEXT NOT NULL, section TEXT NOT NULL, digest TEXT NOT NULL,"
        " finished TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (run_id, node, section, digest))",
    ),
    (
        "CREATE TABLE history_pairs (judgement_id TEXT NOT NULL, node TEXT NOT NULL, position INTEGER NOT NULL, machine_id TEXT NOT NULL,"
        " metric TEXT NOT NULL, unit TEXT NOT NULL, better TEXT NOT NULL, method TEXT NOT NULL, rail TEXT NOT NULL, peer TEXT NOT NULL,"
        " peer_rail TEXT NOT NULL, usable INTEGER NOT NULL, median DOUBLE PRECISION NOT NULL, samples TEXT NOT NULL,"
        " PRIMARY KEY (judgement_id, node, position))",
    ),
)
_TABLE = "history_schema"


def version(database, session):
    """The number of the last step that was taken."""
    if not database.has_table(session, _TABLE):
        return 0
    return session.row("SELECT MAX(version) FROM %s" % _TABLE)[0] or 0


def apply(database, steps=STEPS):
    """Take the steps that are missing, all or none."""
    with database.reading() as session:
        there = version(database, session)
    if there < len(steps):
        with database.writing() as session:
            bring(database, session, steps)
    else:
        _refuse_newer(database, there, steps)


def bring(database, session, steps=STEPS):
    """The same within a transaction that writes."""
    there = version(database, session)  # somebody else may have been faster
    _refuse_newer(database, there, steps)
    if there == 0:
        session.run("CREATE TABLE IF NOT EXISTS %s (version INTEGER PRIMARY KEY)" % _TABLE)
    for number in range(there + 1, len(steps) + 1):
        for statement in steps[number - 1]:
            session.run(statement)
        session.insert(_TABLE, [{"version": number}])


def _refuse_newer(database, there, steps):
    if there > len(steps):
        raise HistoryError(
            "accelerator_history: %s has schema %d, found by a collection that knows schemas up to %d; allowed: the same or a newer version of the collection"
            % (database.shown, there, len(steps))
        )
