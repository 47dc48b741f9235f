# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every node's policy out of the inventory, without a connection: nodes that do not answer have one too."""

from __future__ import annotations

from ansible.errors import AnsibleError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import roster, settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy


def host_policies(templar, task_vars, names, profile):
    """node -> its variables that judge. PolicyError tells every error of every node at once."""
    hostvars = task_vars["hostvars"]
    policies, errors = {}, []
    parsed = {}
    groups = task_vars.get("groups") or {}
    memberships = roster.memberships(groups, names)

    def template(value, variables):
        return plain(templar.copy_with_new_env(available_variables=dict(task_vars, **variables)).template(value))

    here = of_the_play(task_vars)
    for name in names:
        if name not in hostvars:
            continue  # expected by a given roster, but not in this inventory slice
        raw = dict(hostvars.raw_get(name), **here)
        try:
            variables = roster.variables(raw, template)
            read_with = roster.variables(raw, template, settings.CHECKS.__contains__)
        except AnsibleError as error:
            errors.append("%s: %s" % (name, error))
            continue
        variables.setdefault("accelerator_profile", profile)
        key = repr((sorted(variables.items()), sorted(read_with.items())))
        if key not in parsed:
            parsed[key] = settings.problems(read_with)
            try:
                policy.parse(variables)
            except policy.PolicyError as error:
                parsed[key] += error.problems
        errors += ["%s: %s" % (name, problem) for problem in parsed[key] + _of_groups(variables, name, groups, memberships)]
        policies[name] = variables
    if errors:
        raise policy.PolicyError(merged(errors))
    return policies


def _of_groups(variables, node, groups, memberships):
    """What is wrong with the inventory groups that are to be cohorts; what is no list is told by policy.parse."""
    wanted = variables.get("accelerator_cohort_groups")
    if not wanted:
        return []
    try:
        rules = policy.parse({"accelerator_cohort_groups": wanted})
        if not variables.get("accelerator_cohort"):
            cohorts.group_of(memberships[node], rules.cohort_groups)
    except policy.PolicyError:
        return []
    except ValueError as error:
        return [str(error)]
    strange = sorted(set(rules.cohort_groups) - set(groups))
    return ["accelerator_cohort_groups: found %s, allowed: groups of the inventory" % ", ".join(strange)] if strange else []


def of_the_play(task_vars):
    """Variables that judge or say how to read, as the play and not the inventory gives them: those of a playbook that wraps ours."""
    current = task_vars.get("inventory_hostname")
    known = task_vars["hostvars"].raw_get(current) if current in task_vars["hostvars"] else {}
    ours = (name for name in task_vars if roster.judges(name) or name in settings.CHECKS)
    return {name: task_vars[name] for name in ours if name not in known or known[name] != task_vars[name]}


def merged(errors):
    """Equal errors of many nodes are told once, with the first node and how many more."""
    seen = {}
    for text in errors:
        node, _colon, message = text.partition(": ")
        seen.setdefault(message, []).append(node)
    return ["%s%s: %s" % (nodes[0], " and %d more" % (len(nodes) - 1) if len(nodes) > 1 else "", message) for message, nodes in seen.items()]


def plain(value):
    """A templated value without Ansible's own types."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)


def overlay(filed, variables):
    """A filed policy with the policy variables of this call on top: for nodes that this inventory does not know."""
    return dict(filed, **{name: plain(variables[name]) for name in sorted(variables) if roster.judges(name)})
