# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A manufacturer's role as steps: what its files say, no more and no less."""

from __future__ import annotations

import shutil

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.action import role_steps
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.settings import readable_manufacturers

LOADER = DataLoader()
TEMPLAR = Templar(LOADER)


def of(name, **variables):
    role = role_steps.RoleSteps.load(LOADER, name)
    return role, role.variables(variables)


def modules(role, variables):
    return [step.module for step in role.steps if role_steps.wanted(step, TEMPLAR, variables)]


@pytest.mark.parametrize("name", readable_manufacturers())
def test_every_role_can_be_run_at_once_with_others(name):
    role, variables = of(name, accelerator_run_directory="/runs/1")
    assert role.steps[0].module == name + "_info"
    assert role.problem(TEMPLAR, variables) == ""
    for step in role.steps:
        arguments, seconds = role_steps.asked(step, TEMPLAR, variables)
        least = 900 if step.module == "container_probe" else 60
        assert arguments["run_directory"] == role.run_directory(TEMPLAR, variables) == "/runs/1" and arguments["deadline"] == least < seconds
        assert "recording" not in arguments, "an omitted option is no option"


def test_the_role_of_the_host_from_its_second_step():
    first, rest = role_steps.RoleSteps.load(LOADER, "host").steps, role_steps.RoleSteps.load(LOADER, "host", 1)
    assert first[0].module == "accelerator_info" and rest.steps == first[1:] != []
    variables = rest.variables({"accelerator_run_directory": "/runs/1", "host_read": {"answered": True}})
    assert rest.problem(TEMPLAR, variables) == "" and rest.run_directory(TEMPLAR, variables) == "/runs/1"
    assert modules(rest, variables) == [step.module for step in rest.steps]
    assert modules(rest, dict(variables, host_kernel_events=False)) == []


def test_a_roles_own_variable_goes_before_the_inventorys():
    role, variables = of("amd", accelerator_deadline=20, amd_deadline=7, amd_recording="/r/one.yml", accelerator_host_root="/host")
    arguments, seconds = role_steps.asked(role.steps[0], TEMPLAR, variables)
    assert (arguments["deadline"], arguments["recording"], arguments["host_root"], seconds) == (7, "/r/one.yml", "/host", 37)
    assert role_steps.asked(role.steps[0], TEMPLAR, of("amd", accelerator_deadline=20)[1])[1] == 50


def test_a_variable_that_is_a_template():
    role, variables = of("amd", amd_deadline=trust_as_template("{{ slow | int * 2 }}"), slow="21")
    assert role_steps.asked(role.steps[0], TEMPLAR, variables)[0]["deadline"] == 42


def test_conditions_and_what_they_speak_of():
    role, variables = of("ascend", accelerator_profile="acceptance", accelerator_allow_driver_writes=True)
    assert modules(role, variables) == ["ascend_info"], "nothing has answered yet"
    variables["ascend_read"] = {"answered": True}
    assert modules(role, variables) == ["ascend_info", "allocation_info", "ascend_slicing", "container_probe"]
    assert modules(role, dict(variables, ascend_allocation="false", accelerator_probe="false")) == ["ascend_info", "ascend_slicing"]
    assert modules(role, dict(variables, accelerator_profile="preflight", accelerator_probe=True)) == ["ascend_info", "allocation_info", "container_probe"]
    assert modules(role, dict(variables, accelerator_profile="preflight")) == ["ascend_info", "allocation_info"]


@pytest.mark.parametrize(("skipped", "left"), [("allocation", ["ascend_info", "ascend_slicing"]), ("tagged", ["ascend_info"]), ("other", None)])
def test_tags_left_out(skipped, left):
    role, variables = of("ascend", ascend_slicing=True, ascend_read={"answered": True}, ansible_skip_tags=[skipped])
    assert modules(role, variables) == (left or ["ascend_info", "allocation_info", "ascend_slicing"])


def test_a_variable_that_its_specification_refuses_is_named():
    role, variables = of("thead", thead_deadline="soon")
    assert "thead_deadline" in role.problem(TEMPLAR, variables)


def copied(folder, tasks=None, more=None):
    shutil.copytree(role_steps.ROLES / "gaudi", folder / "gaudi")
    if tasks:
        (folder / "gaudi/tasks/main.yml").write_text(tasks)
    if more:
        (folder / "gaudi" / more).parent.mkdir(parents=True, exist_ok=True)
        (folder / "gaudi" / more).write_text("---\n")


PLAIN = "- fleetproof.accelerator.gaudi_info: {run_directory: /runs/1}\n  timeout: 9\n"


@pytest.mark.parametrize(
    ("tasks", "more", "known"),
    [
        (PLAIN, None, True),
        (PLAIN + "  become: true\n", None, False),
        (PLAIN + "  loop: [1, 2]\n", None, False),
        (PLAIN.replace("  timeout: 9\n", ""), None, False),
        (PLAIN + "- ansible.builtin.command: modprobe habanalabs\n  timeout: 9\n", None, False),
        ("[]\n", None, False),
        (None, "vars/main.yml", False),
        (None, "meta/main.yml", False),
        (None, "handlers/main.yml", False),
    ],
)
def test_a_role_that_does_more_is_left_to_ansible(tmp_path, monkeypatch, tasks, more, known):
    copied(tmp_path, tasks, more)
    monkeypatch.setattr(role_steps, "ROLES", tmp_path)
    assert (role_steps.RoleSteps.load(DataLoader(), "gaudi") is not None) is known
