# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the roles of manufacturers on one node at once: each role's tasks in their order, no role waiting for another."""

from __future__ import annotations

import functools

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action import children, role_steps
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.collect import FAILED, NO_ANSWER, READ, TIMEOUT, TIMEOUTS, CollectAction
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunDirectory, utc
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.settings import readable_manufacturers

HOST = "host"  # the role whose first step read what the node is, and found the manufacturers
OWN_TIME = "given up: the task that reads all of them had %s seconds"
AT_ONCE = 10  # as many sessions as sshd takes of one connection (MaxSessions in sshd_config(5)); beyond that ssh connects anew


class ActionModule(CollectAction):
    def run(self, tmp=None, task_vars=None):
        options = {
            "manufacturers": {"type": "list", "elements": "str", "required": True, "choices": readable_manufacturers()},
            "host": {"type": "bool", "default": False},
        }
        checked = ArgumentSpecValidator(options).validate(dict(self._task.args))
        if checked.error_messages:
            raise AnsibleActionFail("; ".join(checked.error_messages))
        result = super(CollectAction, self).run(tmp, task_vars)
        names = list(dict.fromkeys(checked.validated_parameters["manufacturers"])) + [HOST] * checked.validated_parameters["host"]
        roles = {name: role for name in names for role in (self._role(name, task_vars),) if role}
        works = {name: functools.partial(self._steps, role, role.variables(task_vars)) for name, role in roles.items()}
        result.update(changed=False, read={}, left=[name for name in names if name not in roles])
        wrong, outcomes = [], {}
        try:
            children.at_once(works, AT_ONCE, outcomes)
        except BaseException as error:  # a timeout of this task is no Exception
            if error.__class__.__name__ in TIMEOUTS:
                for outcome in outcomes.values():
                    if outcome.step:
                        self._file(outcome, task_vars["inventory_hostname"], OWN_TIME % self._task.timeout)
            raise
        for name, outcome in outcomes.items():
            if outcome.step:
                self._file(outcome, task_vars["inventory_hostname"])
            if outcome.status == children.FAILED:
                wrong.append("%s: %s" % (name, outcome.value))
            told = outcome.value if isinstance(outcome.value, dict) else {}
            status = {children.OVERRUN: TIMEOUT, children.DONE: told.get("status")}.get(outcome.status, FAILED)
            result["changed"] = result["changed"] or bool(told.get("changed"))
            result["read"][name] = {"status": status, "reason": told.get("reason", "") or outcome.reason}
        if wrong:
            result.update(failed=True)
        result["msg"] = "; ".join(wrong or ["%s %s" % (name, told["status"]) for name, told in sorted(result["read"].items())])
        return result

    def _role(self, name, task_vars):
        """The steps of its role; None where Ansible has to run the role: it does more, or is told apart by tags or defaults of modules."""
        if any(self._task.module_defaults or ()) or set(task_vars.get("ansible_run_tags") or ()) - {"all"}:
            return None
        role = role_steps.RoleSteps.load(self._loader, name, 1 if name == HOST else 0)
        return role if role and role.run_directory(self._templar, role.variables(task_vars)) else None

    def _steps(self, role, variables, told):
        """In a process of its own: every step as its task says, each result under the name it is registered by."""
        problem = role.problem(self._templar, variables)
        if problem:
            raise AnsibleError(problem)
        first, changed = None, False
        for step in role.steps:
            if not role_steps.wanted(step, self._templar, variables):
                continue
            arguments, seconds = role_steps.asked(step, self._templar, variables)
            sections = MODULES[step.module].names(arguments)
            told.begin({"module": step.module, "sections": sections, "started": utc(), "run": arguments["run_directory"], "seconds": seconds}, seconds)
            result = self.read(step.module, arguments, variables, seconds)
            changed = changed or result["changed"]
            first = result if first is None or first["status"] == READ else first
            told.end({"changed": changed, "status": first["status"], "reason": first["reason"]})
            if step.register:
                variables[step.register] = result
        return {"changed": changed, "status": first["status"], "reason": first["reason"]} if first else {"status": "not_asked"}

    def _read_node(self, name, arguments, task_vars, timeout):
        try:
            with children.limit(timeout):
                return super()._read_node(name, arguments, task_vars, timeout)
        except children.StepTimeoutError:  # as it was leaving
            return TIMEOUT, {}, NO_ANSWER % timeout

    @staticmethod
    def _file(outcome, node, given_up=""):
        """What a child left undone, with the reason."""
        step = outcome.step
        status, reason = (
            (TIMEOUT, given_up or NO_ANSWER % step["seconds"]) if outcome.status == children.OVERRUN else (FAILED, outcome.reason or str(outcome.value))
        )
        outcome.reason = reason
        run = RunDirectory(step["run"])
        filed = run.load(node, step["sections"])
        for section in step["sections"]:
            if filed.get(section, {}).get("started", "") < step["started"]:  # else its last deed was to file it
                run.file_section(node, section, step["module"], step["started"], status, {}, reason)
