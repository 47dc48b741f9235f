# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stores a judgement of a run in the history, once."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import run_directory
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, documents, location, store


class ActionModule(ControllerAction):
    OPTIONS = {
        "history": {"type": "str", "required": True},
        "run_directory": {"type": "path"},
        "run_root": {"type": "path"},
        "run_id": {"type": "str"},
        "judgement": {"type": "int"},
    }
    ERRORS = (run_directory.RunError, location.HistoryError)

    def act(self, arguments, task_vars):
        if arguments["run_directory"]:
            run = run_directory.RunDirectory(arguments["run_directory"])
        elif arguments["run_root"]:
            run = run_directory.find(arguments["run_root"], arguments["run_id"])
        else:
            raise run_directory.RunError("run_store: found neither run_directory nor run_root, allowed: one of them")
        document, judgement, nodes = documents.of_run(run, arguments["judgement"])
        with database.opened(arguments["history"], dry=self._task.check_mode) as opened:
            if self._task.check_mode:
                with opened.reading() as session:
                    stored = not store.holds(session, judgement)
            else:
                made = list(nodes)  # outside of the lock: others store meanwhile
                with opened.writing() as session:
                    stored = store.put(session, document, judgement, made)
        words = "stored" if stored else "was there already"
        return {
            "changed": stored,
            "run_id": run.run_id,
            "judgement": judgement["number"],
            "history": location.shown(arguments["history"]),
            "msg": "judgement %d of run %s %s" % (judgement["number"], run.run_id, words),
        }
