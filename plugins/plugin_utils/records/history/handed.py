# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collectors that share no disk hand in what they read, and whoever folds takes it out into a run directory.

Each works in a run directory of its own, opened under the same run id with the same inventory. Nothing handed in is replaced: two
readings of a section are both kept, and in the directory they become attempts in the order in which they were finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import store
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import (
    SECTION_SCHEMA,
    RunDirectory,
    decode,
    dumps,
    encode,
    write_new,
)

_ATTEMPT = re.compile(r"(?P<section>[a-z][a-z0-9._-]*)\.(?P<attempt>\d+)\.json")
_FILES = {"policies": re.compile(r"[0-9a-f]{8,64}\.json"), "pairs": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.json")}
LARGEST = 32 * 2**20


def hand_in(session, run):
    """(section files of the run directory, those new to the store)."""
    session.insert("history_handed_runs", [{"run_id": run.run_id, "document": dumps(run.run)}])
    store.agree(json.loads(session.row("SELECT document FROM history_handed_runs WHERE run_id = :run", run=run.run_id)[0]), run.run)
    for folder, name, content in _files(run):
        key = {"run_id": run.run_id, "folder": folder, "name": name}
        session.insert("history_handed_files", [dict(key, content=content)])
        there = session.row("SELECT content FROM history_handed_files WHERE run_id = :run_id AND folder = :folder AND name = :name", **key)[0]
        if there != content and folder == "pairs":
            # Another collector's file of the same name: both count.
            other = "%s-%s.json" % (name.removesuffix(".json")[:80], hashlib.sha256(content.encode()).hexdigest()[:8])
            session.insert("history_handed_files", [dict(key, name=other, content=content)])
    total = new = 0
    for node in run.nodes_with_reports():
        there = _digests(session, run.run_id, node)
        rows = []
        for section, document in _sections(run, node):
            total += 1
            digest = _digest(document)
            if (section, digest) not in there:
                there.add((section, digest))
                finished = document["finished"] if document.get("finished").__class__ is str else ""
                rows.append({"run_id": run.run_id, "node": node, "section": section, "digest": digest, "finished": finished, "content": json.dumps(document)})
        session.insert("history_handed_sections", rows)
        new += len(rows)
    return total, new


def _files(run):
    for folder, pattern in _FILES.items():
        for path in sorted((run.path / folder).glob("*.json")):
            if pattern.fullmatch(path.name):
                try:
                    yield folder, path.name, regular_file.text(path, LARGEST)
                except (OSError, ValueError) as error:
                    raise HistoryError("%s cannot be handed in: %s" % (path, error)) from None


def _sections(run, node):
    """(section, document without its attempt) of every attempt that can be read."""
    folder = run.path / "nodes" / encode(node)
    for name in sorted(os.listdir(folder)):
        found = _ATTEMPT.fullmatch(name)
        if not found:
            continue
        try:
            document = json.loads(regular_file.read(folder / name, LARGEST))
        except (OSError, ValueError, RecursionError) as error:
            raise HistoryError("%s cannot be handed in: %s" % (folder / name, error)) from None
        if document.__class__ is not dict or document.get("schema") != SECTION_SCHEMA:
            raise HistoryError("%s cannot be handed in: not a %s document" % (folder / name, SECTION_SCHEMA))
        document.pop("attempt", None)
        yield found["section"], document


def _digest(document):
    return hashlib.sha256(dumps(document).encode("utf-8", "backslashreplace")).hexdigest()


def _digests(session, run_id, node):
    rows = session.rows("SELECT section, digest FROM history_handed_sections WHERE run_id = :run AND node = :node", run=run_id, node=node)
    return set(rows)


def hand_out(session, root, run_id):
    """(RunDirectory, number of section files written): the run below root, made or joined, with everything that was handed in."""
    row = session.row("SELECT document FROM history_handed_runs WHERE run_id = :run", run=run_id)
    if row is None:
        there = [one[0] for one in session.rows("SELECT run_id FROM history_handed_runs ORDER BY run_id DESC LIMIT 5")]
        raise HistoryError("run_id: nothing was handed in under %s; handed in: %s" % (run_id, ", ".join(there) or "none"))
    document = json.loads(row[0])
    files = session.rows("SELECT folder, name, content FROM history_handed_files WHERE run_id = :run ORDER BY folder, name", run=run_id)
    files = [(folder, name, content) for folder, name, content in files if folder in _FILES and _FILES[folder].fullmatch(name)]
    policies = {name.removesuffix(".json"): json.loads(content) for folder, name, content in files if folder == "policies"}
    run = RunDirectory.create(root, run_id, document, policies)
    for folder, name, content in files:
        path = run.path / folder / name
        if folder == "pairs" and not path.exists():
            write_new(path, content)
    written = 0
    for (node,) in session.rows("SELECT DISTINCT node FROM history_handed_sections WHERE run_id = :run ORDER BY node", run=run_id):
        written += _attempts(session, run, node)
    return run, written


def _attempts(session, run, node):
    folder = run.path / "nodes" / encode(node)
    folder.mkdir(parents=True, exist_ok=True)
    if decode(folder.name) != node:
        raise HistoryError("node %r: not a name of a node" % node[:80])
    there = {(section, _digest(document)) for section, document in _sections(run, node)}
    filed = run.load(node)
    newest = {
        section: (str(filed[section].get("finished") or ""), int(_ATTEMPT.fullmatch(os.path.basename(path))["attempt"]))
        for section, path in run.section_files(node).items()
    }
    written = 0
    rows = session.rows(
        "SELECT section, digest, content FROM history_handed_sections WHERE run_id = :run AND node = :node ORDER BY section, finished, digest",
        run=run.run_id,
        node=node,
    )
    for section, digest, content in rows:
        document = json.loads(content)
        if (section, digest) in there or not _ATTEMPT.fullmatch("%s.1.json" % section) or document.get("node") != node:
            continue
        finished, attempt = newest.get(section, ("", 0))
        if attempt and str(document.get("finished")) < finished:
            continue  # what is there is newer, and the newest counts
        while True:
            attempt += 1
            try:
                write_new(folder / ("%s.%d.json" % (section, attempt)), dumps(dict(document, attempt=attempt)))
                break
            except FileExistsError:
                continue
        newest[section] = (str(document.get("finished")), attempt)
        written += 1
    return written
