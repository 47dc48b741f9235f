# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the recordings of a directory, one node each."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import MalformedRecording
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action.controller import ControllerAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

GROUPS = ("all", "ungrouped", "accelerator_recorded_nodes")  # a host of such a name gives its variables to every other


class ActionModule(ControllerAction):
    OPTIONS = {"directory": {"type": "path", "required": True}}
    ERRORS = (MalformedRecording,)

    def act(self, arguments, task_vars):
        if not arguments["directory"]:
            raise MalformedRecording("recordings: found nothing, allowed: -e recordings=DIRECTORY")
        found = recording.find(arguments["directory"])
        taken = sorted(set(found) & set(GROUPS))
        if taken:
            raise MalformedRecording("%s: found a node named %s, allowed: any name but those of groups: %s" % (found[taken[0]], taken[0], ", ".join(GROUPS)))
        return {"changed": False, "recordings": [{"node": node, "path": str(path.resolve())} for node, path in sorted(found.items())]}
