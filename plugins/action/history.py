# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports, imports and prunes the history, and hands node reports in and out."""

from __future__ import annotations

import time

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import run_directory
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, handed, lines, location

_NEEDS = {"export": ("path",), "import": ("path",), "prune": ("days",), "hand_in": (), "hand_out": ("run_root", "run_id")}


class ActionModule(ControllerAction):
    OPTIONS = {
        "history": {"type": "str", "required": True},
        "state": {"type": "str", "choices": sorted(_NEEDS), "required": True},
        "path": {"type": "path"},
        "days": {"type": "int"},
        "run_directory": {"type": "path"},
        "run_root": {"type": "path"},
        "run_id": {"type": "str"},
    }
    ERRORS = (run_directory.RunError, location.HistoryError)

    def act(self, arguments, task_vars):
        state = arguments["state"]
        for name in _NEEDS[state]:
            if arguments[name] in (None, ""):
                raise location.HistoryError("history: state %s: %s: found nothing, allowed: a value" % (state, name))
        with database.opened(arguments["history"], dry=self._task.check_mode) as opened:
            result = getattr(self, "_" + state)(opened, arguments)
        return dict({"changed": False, "count": 0}, **result, history=location.shown(arguments["history"]))

    def _export(self, opened, arguments):
        with opened.reading() as session:
            number = sum(line["kind"] == "judgement" for line in lines.lines(session)) if self._task.check_mode else lines.export(session, arguments["path"])
        return {"changed": True, "count": number, "msg": "%d judgements written to %s" % (number, arguments["path"])}

    def _import(self, opened, arguments):
        with opened.writing() as session:
            total, new = lines.take(session, arguments["path"])
        return {"changed": bool(new), "count": new, "msg": "%d judgements in %s, %d of them new" % (total, arguments["path"], new)}

    def _prune(self, opened, arguments):
        if arguments["days"] < 1:
            raise location.HistoryError("history: days: found %d, allowed: a whole number from 1" % arguments["days"])
        before = run_directory.utc(time.time() - 86400 * arguments["days"])
        with opened.writing() as session:
            number = lines.prune(session, before)
        return {"changed": bool(number), "count": number, "msg": "%d judgements from before %s let go of" % (number, before)}

    def _hand_in(self, opened, arguments):
        if arguments["run_directory"]:
            run = run_directory.RunDirectory(arguments["run_directory"])
        elif arguments["run_root"]:
            run = run_directory.find(arguments["run_root"], arguments["run_id"])
        else:
            raise run_directory.RunError("history: state hand_in: found neither run_directory nor run_root, allowed: one of them")
        with opened.writing() as session:
            total, new = handed.hand_in(session, run)
        text = "run %s: %d section files handed in, %d of them new" % (run.run_id, total, new)
        return {"changed": bool(new), "count": new, "run_id": run.run_id, "run_directory": str(run.path), "msg": text}

    def _hand_out(self, opened, arguments):
        with opened.reading() as session:
            run, written = handed.hand_out(session, arguments["run_root"], arguments["run_id"])
        text = "run %s: %d section files taken out into %s" % (run.run_id, written, run.path)
        return {"changed": bool(written), "count": written, "run_id": run.run_id, "run_directory": str(run.path), "msg": text}
