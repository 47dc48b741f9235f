# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of inventories/demo without Ansible: read from their recordings and judged in this process."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path

import jsonschema
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import collect
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording, verdict
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

ROOT = Path(__file__).resolve().parents[2]
INVENTORY = ROOT / "inventories" / "demo"
RECORDINGS = INVENTORY / "recordings"
SILENT = "npu-a03"


@functools.cache
def manifest():
    return yaml.safe_load((INVENTORY / "manifest.yml").read_text(encoding="utf-8"))["nodes"]


@functools.cache
def _loaded(node):
    return recording.load(RECORDINGS / (node + ".yml"))


def document(node):
    """A copy of a node's recording, to break."""
    return copy.deepcopy(_loaded(node))


@functools.cache
def variables(node):
    """The node's policy, from the group variables of the inventory."""
    groups = yaml.safe_load((INVENTORY / "hosts.yml").read_text(encoding="utf-8"))["accelerator_nodes"]["children"]
    group = next(name for name, entry in groups.items() if node in entry["hosts"])
    return yaml.safe_load((INVENTORY / "group_vars" / (group + ".yml")).read_text(encoding="utf-8"))


def envelope(data):
    return {"status": "read", "reason": "", "data": data}


def read(recorded):
    """section -> data, as the preflight reads a node: each module by itself, and of the manufacturers those that PCI shows."""
    found = dict(MODULES["accelerator_info"].collect(ReplayHost(recorded)))
    manufacturers = collect.manufacturers(found)
    for name in ["host_info", *(m + "_info" for m in manufacturers)]:
        found.update(MODULES[name].collect(ReplayHost(recorded)))
    for manufacturer in manufacturers:
        options = dict(collect.of_section(found["accelerators.%s" % manufacturer]), manufacturer=manufacturer)
        found.update(MODULES["allocation_info"].collect(ReplayHost(recorded), json.loads(json.dumps(options))))
    return json.loads(json.dumps(found))


class Judged:
    def __init__(self, node, sections, policy_variables=None):
        engine.default_policy()
        rules, self.profile = policy.parse(variables(node) if policy_variables is None else policy_variables), profiles.find("preflight")
        told = engine.judge_view(NodeView(node, {name: envelope(data) for name, data in sections.items()}, rules), self.profile)
        self.counts, self.findings, self.gaps, self.prints = told.counts, told.findings, told.gaps, told.prints
        self.verdict, self.reasons = verdict.decide(self.profile, verdict.layers(self.profile, self.counts), self.findings, self.gaps)

    def outcome(self, rule):
        return verdict.worst(self.counts[rule]) if RULES[rule].scope not in COMPARED else self.prints[rule][0]

    def told(self):
        """(rule, level, kind and id of the subject) of every finding."""
        return sorted((f["rule"], f["level"], f["subject"]["kind"], f["subject"]["id"]) for f in self.findings)


@functools.cache
def validator(name):
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "schemas" / (name + ".json")).read_text(encoding="utf-8")))


def misfits(sections):
    """What does not fit the schema of its section."""
    return [
        "%s: %s: %s" % (name, "/".join(map(str, error.absolute_path)), error.message[:200])
        for name, data in sections.items()
        for error in validator(name.partition(".")[0]).iter_errors(data)
    ]
