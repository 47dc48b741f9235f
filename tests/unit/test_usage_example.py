# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of a version matrix that the documents show are accepted, and every selection in them finds something on a recorded node."""

from __future__ import annotations

import re

import demo
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import matrix, policy


def of_usage():
    text = (demo.ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
    block = text.partition("## The frozen version matrix\n")[2].partition("\n| Key |")[0]
    lines = [line[4:] for line in block.splitlines() if line.startswith("    ")]
    return yaml.safe_load("\n".join(lines))


def of_inventory():
    variables = yaml.safe_load((demo.ROOT / "inventories" / "example" / "group_vars" / "h100.yml").read_text(encoding="utf-8"))
    return {name: value for name, value in variables.items() if name.startswith("accelerator_version_")}


@pytest.mark.parametrize("variables", [of_usage, of_inventory])
def test_example(variables):
    given = variables()
    lines = policy.parse(given).matrix
    assert lines and any(line.pin for line in lines) and any(not line.pin for line in lines)
    sections = demo.read(demo.document("gpu-h01"))
    report = matrix.nested({name: demo.envelope(data) for name, data in sections.items()})
    for line in lines:
        values, reason = matrix.selected(line, report)
        assert reason == "" and values, line
    if variables is of_usage:
        assert {line.name for line in lines} == {"kernel", "bios", "bmc", "driver", "vbios"}, "selinux is taken away"
        assert re.search(r"selinux: ", (demo.ROOT / "docs" / "usage.md").read_text(encoding="utf-8"))
