# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role as the steps it takes, read from its own files: what a task asks, and when, is said there alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.collect import PREFIX
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

ROLES = Path(__file__).resolve().parents[3] / "roles"
_PLAIN = {"name", "register", "tags", "timeout", "when"}  # keywords of a task that are understood here
_PARTS = {"defaults/main.yml", "meta/argument_specs.yml", "tasks/main.yml", "tasks/health.yml", "README.md"}


class Step(NamedTuple):
    name: str  # of the task
    module: str
    arguments: dict
    conditions: list
    tags: list
    timeout: object
    register: str | None


def _listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class RoleSteps:
    """A role that runs reading modules one after the other and does nothing else."""

    def __init__(self, name, steps, defaults, options):
        self.name, self.steps, self.defaults, self.options = name, steps, defaults, options

    @classmethod
    def load(cls, loader, role, first=0):
        """The steps from this one on. None where the role does more than this class knows to do."""
        folder = ROLES / role
        if {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - _PARTS:
            return None

        def content(name):
            path = folder / name
            return loader.load_from_file(str(path), trusted_as_template=True) if path.is_file() else None

        steps = []
        for task in content("tasks/main.yml") or ():
            modules = [key for key in task if key.startswith(PREFIX) and key.removeprefix(PREFIX) in MODULES]
            if len(modules) != 1 or set(task) - _PLAIN - set(modules) or "timeout" not in task:
                return None
            (key,) = modules
            conditions, tags = _listed(task.get("when", [])), _listed(task.get("tags", []))
            name = task.get("name", key)
            steps.append(Step(name, key.removeprefix(PREFIX), dict(task[key]), conditions, tags, task["timeout"], task.get("register")))
        specs = ((content("meta/argument_specs.yml") or {}).get("argument_specs") or {}).get("main") or {}
        return cls(role, steps[first:], dict(content("defaults/main.yml") or {}), dict(specs.get("options") or {})) if steps[first:] else None

    def variables(self, task_vars):
        """What the role's tasks see: a role's defaults give way to everything else."""
        return {**self.defaults, **task_vars}

    def problem(self, templar, variables):
        """What is wrong with the role's variables, as its argument specification has it; empty when nothing is."""
        templar = templar.copy_with_new_env(available_variables=variables)
        given = {name: templar.template(variables[name]) for name in self.options if name in variables}
        return "; ".join(ArgumentSpecValidator(self.options).validate(given).error_messages)

    def run_directory(self, templar, variables):
        return templar.copy_with_new_env(available_variables=variables).template(variables.get(self.name + "_run_directory", ""))


def wanted(step, templar, variables):
    """Whether the tags left out and the conditions of a step let it run."""
    skipped = set(variables.get("ansible_skip_tags") or ())
    if skipped & set(step.tags) or ("tagged" in skipped and step.tags):
        return False
    templar = templar.copy_with_new_env(available_variables=variables)
    return all(templar.evaluate_conditional(condition) for condition in step.conditions)


def asked(step, templar, variables):
    """(arguments of the module, seconds it may take)."""
    templar = templar.copy_with_new_env(available_variables=variables)
    return templar.template(step.arguments), int(templar.template(step.timeout))  # an omitted value takes its key along
