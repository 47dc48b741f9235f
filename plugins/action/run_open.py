# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens or joins a run: the roster and every node's policy are written down before anything is read."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import roster, settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.policies import host_policies
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, location
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, RunError, digest, utc
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.version import COLLECTION_VERSION
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.policy import PolicyError


class ActionModule(ControllerAction):
    OPTIONS = {
        "run_root": {"type": "path", "required": True},
        "run_id": {"type": "str"},
        "profile": {"type": "str", "default": "preflight"},
        "roster": {"type": "list", "elements": "str"},
        "group": {"type": "str", "default": roster.GROUP},
        "replay": {"type": "bool", "default": False},
        "history": {"type": "str"},
    }
    ERRORS = (RunError, PolicyError, location.HistoryError)

    def act(self, arguments, task_vars):
        groups = task_vars.get("groups") or {}
        names = roster.expected(groups, arguments["roster"], arguments["group"])
        if not names:
            raise RunError(
                "inventory: found no node, allowed: at least one host in group %s, or any host but localhost; name an inventory with -i" % roster.GROUP
            )
        selected = sorted(set(task_vars.get("ansible_play_hosts_all") or names) & set(names))
        self.under_limit(task_vars, selected, names)
        if arguments["history"]:
            # A history that cannot be used is told before a thousand nodes are read.
            if self._task.check_mode:
                location.check(arguments["history"])
            else:
                with database.opened(arguments["history"]):
                    pass
        policies = host_policies(self._templar, task_vars, names, arguments["profile"])
        digests = {name: digest(policies[name]) for name in policies}
        run = RunDirectory.create(
            arguments["run_root"],
            arguments["run_id"],
            {
                "collection_version": COLLECTION_VERSION,
                "created": utc(),
                "profile": arguments["profile"],
                "roster": names,
                "groups": roster.memberships(groups, names),
                "policies": digests,
                "replay": arguments["replay"],
            },
            {digests[name]: policies[name] for name in policies},
        )
        text = "%d nodes" % len(names) if len(selected) == len(names) else "partial roster %d of %d nodes" % (len(selected), len(names))
        told = {"changed": False, "run_id": run.run_id, "run_directory": str(run.path), "msg": "run %s, %s" % (run.run_id, text)}
        hostvars = task_vars["hostvars"]
        nearly = settings.misspelled({one for name in names if name in hostvars for one in hostvars.raw_get(name)})
        return dict(told, warnings=nearly) if nearly else told
