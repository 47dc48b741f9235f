# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugins that only work on the controller share: arguments held against their specification, no connection."""

from __future__ import annotations

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase


class ControllerAction(ActionBase):
    """A subclass has OPTIONS, ERRORS (its own exceptions, shown as messages) and act(arguments, task_vars) -> result."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    OPTIONS = {}
    ERRORS = ()

    @staticmethod
    def under_limit(task_vars, covered, roster):
        """Refuse a --limit that names none of the expected nodes: nothing would be asked, and nothing found wrong."""
        if "ansible_limit" in task_vars and not covered:
            shown = ", ".join(sorted(roster)[:8]) + (", …" if len(roster) > 8 else "")
            raise AnsibleActionFail("--limit: found %s, allowed: one of the %d nodes expected: %s" % (task_vars["ansible_limit"], len(roster), shown))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        checked = ArgumentSpecValidator(self.OPTIONS).validate(dict(self._task.args))
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        try:
            result.update(self.act(checked.validated_parameters, task_vars or {}))
        except self.ERRORS as error:
            raise AnsibleActionFail(str(error)) from None
        return result
