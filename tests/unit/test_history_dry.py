# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode: a history answers, and none is made or changed."""

from __future__ import annotations

import history_runs as runs
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, documents, handed, migrations, snapshot, store
from history_runs import baseline_of, fleet


def test_dry_a_store_answers_and_nothing_is_made(location, tmp_path):
    run = runs.write(tmp_path, "a", 1, fleet(2))
    runs.judge(run)
    for _twice in (1, 2):
        with database.opened(location, dry=True) as opened:
            with opened.reading() as session:
                assert not store.holds(session, documents.of_run(run)[1])
            with opened.writing() as session:
                assert store.put(session, *documents.of_run(run)) and handed.hand_in(session, run)[1] > 0
    assert not (tmp_path / "store").exists()
    if location.startswith("postgresql"):
        tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema()"
        with database.opened(location, dry=True) as opened:
            opened = opened._database
            with opened.reading() as session:
                assert session.row(tables) == (0,)
    snapshot.take(run, location, dry=True)
    assert baseline_of(run)["nodes"]["n0"]["accepted"] is None and not (tmp_path / "store").exists()


def test_dry_a_store_of_version_1_stays_as_it_is(location, tmp_path, monkeypatch):
    monkeypatch.setattr(migrations.apply, "__defaults__", (migrations.STEPS[:1],))
    runs.rows(location, "SELECT 1")
    with database.opened(location, dry=True) as opened, opened.reading() as session:
        assert session.row("SELECT MAX(version) FROM history_schema") == (len(migrations.STEPS),)
    assert runs.rows(location, "SELECT MAX(version) FROM history_schema") == [(1,)]
