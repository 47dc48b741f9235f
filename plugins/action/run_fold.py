# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a run from its files, writes records and reports, and shows the summary."""

from __future__ import annotations

from ansible.utils.display import Display
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.policies import host_policies, overlay
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold, merged_recording, run_directory, run_documents
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import location, snapshot
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import text, words
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import PolicyError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.profiles import ProfileError

_BAD = ("rejected", "incomplete")


class ActionModule(ControllerAction):
    OPTIONS = {
        "run_directory": {"type": "path"},
        "run_root": {"type": "path"},
        "run_id": {"type": "str"},
        "profile": {"type": "str"},
        "policy": {"type": "str", "choices": ["filed", "inventory"], "default": "filed"},
        "nodes": {"type": "list", "elements": "str"},
        "history": {"type": "str"},
        "summary": {"type": "bool", "default": True},
        "quorum_percent": {"type": "str"},
        "exit_rule": {"type": "str", "choices": list(settings.EXIT_RULES), "default": "verdict"},
    }
    ERRORS = (run_directory.RunError, location.HistoryError, PolicyError, ProfileError)

    def act(self, arguments, task_vars):
        if arguments["run_directory"]:
            run = run_directory.RunDirectory(arguments["run_directory"])
        elif arguments["run_root"]:
            run = run_directory.find(arguments["run_root"], arguments["run_id"])
        else:
            raise run_directory.RunError("run_fold: found neither run_directory nor run_root, allowed: one of them")
        if arguments["nodes"]:
            self.under_limit(task_vars, set(arguments["nodes"]) & set(run.roster), run.roster)
        quorum = _quorum(arguments["quorum_percent"])
        policies = None
        if arguments["policy"] == "inventory":
            policies = {name: overlay(run.policy(name), task_vars) for name in run.roster}
            policies.update(host_policies(self._templar, task_vars, run.roster, arguments["profile"] or run.run.get("profile")))
        merged_recording.merge_all(run)
        if arguments["history"]:
            snapshot.take(run, arguments["history"], dry=self._task.check_mode)
        fleet = fold.fold(run.path, profile=arguments["profile"], policies=policies, quorum=quorum)
        judgement = run.path / "judgements" / str(fleet["judgement"])
        report = judgement / "report.html"
        if arguments["summary"]:
            Display().display(text.render(fleet, report=str(report), limit=["localhost"] if run.run.get("replay") else []))
        asked = set(arguments["nodes"] or run.roster)
        documents = {}
        if arguments["exit_rule"] == "allocation":
            documents = {node: run_documents.make(run, node) for node in sorted(asked & set(run.roster))}
        told = run_documents.failures(documents)
        bad = sorted(node for verdict in _BAD for node in fleet[verdict] if node in asked)
        return {
            "changed": False,
            "run_id": run.run_id,
            "run_directory": str(run.path),
            "judgement": str(judgement),
            "report": str(report),
            "counts": fleet["counts"],
            "not_accepted": bad[:50],
            "not_accepted_count": len(bad),
            "quorum_met": fleet["roster"].get("quorum", {}).get("met", True),
            "roster": fleet["roster"]["text"],
            "exit_rule": arguments["exit_rule"],
            "failure_count": len(told),
            "failure": run_documents.message(told, len(documents)),
            "msg": words.sentence(fleet),
        }


def _quorum(given):
    try:
        return settings.percent(given) if given else None
    except ValueError as allowed:
        raise run_directory.RunError("accelerator_quorum_percent: found %r, allowed: %s" % (given, allowed)) from None
