# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists and signs the evidence of a judgement, or holds what lies there against the list."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import evidence, run_directory


class ActionModule(ControllerAction):
    OPTIONS = {
        "state": {"type": "str", "choices": ["listed", "verified"], "default": "listed"},
        "run_directory": {"type": "path"},
        "run_root": {"type": "path"},
        "run_id": {"type": "str"},
        "judgement": {"type": "int"},
        "nodes": {"type": "list", "elements": "str"},
        "tool": {"type": "str", "choices": list(evidence.TOOLS), "default": "ssh-keygen"},
        "key": {"type": "str"},
        "signer": {"type": "str"},
    }
    ERRORS = (run_directory.RunError,)

    def act(self, arguments, task_vars):
        if arguments["run_directory"]:
            run = run_directory.RunDirectory(arguments["run_directory"])
        elif arguments["run_root"]:
            run = run_directory.find(arguments["run_root"], arguments["run_id"])
        else:
            raise run_directory.RunError("run_evidence: found neither run_directory nor run_root, allowed: one of them")
        number = arguments["judgement"] or run.newest_judgement()
        told = {"run_id": run.run_id, "judgement": number, "list": str(run.path / "judgements" / str(number) / evidence.LIST)}
        if arguments["state"] == "verified":
            return dict(told, changed=False, **self._verified(run, number, arguments))
        if self._task.check_mode:
            return dict(told, changed=False, files=0, signature="", msg="the evidence would be listed")
        _path, files = evidence.write(run.path, number)
        signature = str(evidence.sign(run.path, number, arguments["tool"], arguments["key"])) if arguments["key"] else ""
        # As a judgement, its list is a new file of each run on the controller, and no change of a node.
        return dict(told, changed=False, files=files, signature=signature, msg="%d files listed%s" % (files, ", signed" if signature else ""))

    def _verified(self, run, number, arguments):
        unknown = sorted(set(arguments["nodes"] or ()) - set(run.roster))
        if unknown:
            raise run_directory.RunError("nodes: found %s, allowed: nodes of the run %s" % (", ".join(unknown[:8]), run.run_id))
        files = len(evidence.read(run.path, number))
        if arguments["key"]:
            if arguments["tool"] == "ssh-keygen" and not arguments["signer"]:
                raise run_directory.RunError("signer: found nothing, allowed: the name under which the file of allowed signers has the key")
            evidence.verify(run.path, number, arguments["tool"], arguments["key"], arguments["signer"])
        found = evidence.problems(run.path, number, arguments["nodes"])
        if found:
            raise run_directory.RunError("%s: the evidence is not what was listed: %s" % (run.path, evidence.told(found)))
        signature = "signed" if arguments["key"] else "the signature was not asked for"
        return {"files": files, "signature": "", "msg": "the evidence of judgement %d is as it was listed (%d files, %s)" % (number, files, signature)}
