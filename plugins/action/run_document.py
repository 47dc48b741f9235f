# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints or writes the preflight document of nodes of a run, from its files."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from ansible.utils.display import Display
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document, regular_file, run_directory, run_documents


class ActionModule(ControllerAction):
    OPTIONS = {
        "run_directory": {"type": "path"},
        "run_root": {"type": "path"},
        "run_id": {"type": "str"},
        "nodes": {"type": "list", "elements": "str"},
        "limited_to": {"type": "list", "elements": "str"},
        "manufacturers": {"type": "list", "elements": "str"},
        "directory": {"type": "path"},
    }
    ERRORS = (run_directory.RunError,)

    def act(self, arguments, task_vars):
        if arguments["run_directory"]:
            run = run_directory.RunDirectory(arguments["run_directory"])
        elif arguments["run_root"]:
            run = run_directory.find(arguments["run_root"], arguments["run_id"])
        else:
            raise run_directory.RunError("run_document: found neither run_directory nor run_root, allowed: one of them")
        wrong = settings.problems({"accelerator_manufacturers": arguments["manufacturers"]})
        if wrong:
            raise run_directory.RunError(wrong[0].replace("accelerator_manufacturers", "manufacturers", 1))
        asked = arguments["nodes"]
        if not asked and arguments["limited_to"]:
            asked = sorted(set(arguments["limited_to"]) & set(run.roster))
            self.under_limit(task_vars, asked, run.roster)
        names = run_documents.roster(run, asked)
        made = {name: run_documents.make(run, name, arguments["manufacturers"]) for name in names}
        texts = {name: preflight_document.dump(one) for name, one in made.items()}
        changed, files = False, []
        if arguments["directory"]:
            for name, text in texts.items():
                path = Path(arguments["directory"]) / (run_directory.encode(name) + ".yml")
                changed |= self._write(path, text)
                files.append(str(path))
        else:
            for name, text in texts.items():
                Display().display(text if len(texts) == 1 else "---\n# %s\n%s" % (name.replace("\n", " "), text))
        told = run_documents.failures(made)
        return {
            "changed": changed,
            "run_directory": str(run.path),
            "files": files,
            "document": next(iter(texts.values())) if len(texts) == 1 else "",
            "failures": told[: run_documents.MOST_TOLD],
            "failure_count": len(told),
            "msg": run_documents.message(told, len(texts)) or "nothing is unavailable on %d nodes" % len(texts),
        }

    def _write(self, path, text):
        """Whether the file was not so already."""
        with contextlib.suppress(OSError, ValueError):
            if regular_file.text(path) == text:
                return False
        if self._task.check_mode:
            return True
        partial = path.with_name(".%s.%s" % (path.name, secrets.token_hex(4)))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
        except OSError as error:
            raise run_directory.RunError("directory: %s cannot be written: %s" % (path.parent, error.strerror or error)) from None
        return True
