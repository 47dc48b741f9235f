# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory groups as cohorts, and nodes that are compared with no other."""

from __future__ import annotations

import json

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import policies
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import text
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy

RACKS = {"accelerator_cohort_groups": ["rack1", "rack2"]}
GROUPS = {"a": ["gpu", "rack1"], "b": ["gpu", "rack1"], "c": ["gpu", "rack2"], "d": ["gpu", "rack2"], "e": ["gpu"]}


def run(tmp_path, variables, groups=None):
    nodes = {node: synthetic.envelopes(synthetic.healthy(serial="S%s" % node)) for node in GROUPS}
    path = synthetic.write_run(tmp_path, nodes, {node: dict(variables.get(node, variables)) for node in GROUPS})
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    document["groups"] = groups or GROUPS
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    return path


def test_groups_are_cohorts_and_the_rest_is_found(tmp_path):
    fleet = fold.fold(run(tmp_path, RACKS))
    told = {c["name"]: (c["nodes"], c["why"]) for c in fleet["cohorts"]}
    assert told["rack1"] == (["a", "b"], "inventory group (accelerator_cohort_groups)") and told["rack2"][0] == ["c", "d"]
    alone = next(c for name, c in told.items() if not name.startswith("rack"))
    assert alone[0] == ["e"] and alone[1].endswith("alone: nothing to compare with")
    assert {v["node"]: v["cohort"] for v in fleet["verdicts"]}["d"] == "rack2"
    assert "Compared with no other node: e." in text.render(fleet)


def test_a_name_of_its_own_wins_over_a_group(tmp_path):
    variables = {node: dict(RACKS, accelerator_cohort="ours") if node in "ab" else RACKS for node in GROUPS}
    fleet = fold.fold(run(tmp_path, variables))
    assert {c["name"]: c["nodes"] for c in fleet["cohorts"]}["ours"] == ["a", "b"]


def test_a_node_of_two_groups_is_refused_before_anything_is_judged(tmp_path):
    path = run(tmp_path, RACKS, dict(GROUPS, b=["rack1", "rack2"]))
    with pytest.raises(policy.PolicyError) as wrong:
        fold.fold(path)
    assert str(wrong.value) == "b: accelerator_cohort_groups: found rack1 and rack2, allowed: one of them for a node, or accelerator_cohort besides"


class Hosts(dict):
    def raw_get(self, name):
        return self[name]


class Templar:
    def copy_with_new_env(self, available_variables):
        return self

    def template(self, value):
        return value


def opened(variables, groups):
    names = sorted({name for members in groups.values() for name in members})
    task_vars = {"hostvars": Hosts(dict.fromkeys(names, variables)), "groups": groups, "inventory_hostname": "localhost"}
    return policies.host_policies(Templar(), task_vars, names, "preflight")


def test_an_open_run_tells_groups_that_are_none_and_nodes_in_two():
    assert opened(RACKS, {"rack1": ["a"], "rack2": ["b"]})["a"]["accelerator_cohort_groups"] == ["rack1", "rack2"]
    with pytest.raises(policy.PolicyError, match="a and 1 more: accelerator_cohort_groups: found rack2, allowed: groups of the inventory"):
        opened(RACKS, {"rack1": ["a", "b"]})
    with pytest.raises(policy.PolicyError, match="b: accelerator_cohort_groups: found rack1 and rack2"):
        opened(RACKS, {"rack1": ["a", "b"], "rack2": ["b"]})
    with pytest.raises(policy.PolicyError, match="accelerator_cohort_groups: found 7, allowed: a list of texts"):
        opened({"accelerator_cohort_groups": 7}, {"rack1": ["a"]})


def test_a_text_with_commas_is_a_list():
    assert policy.parse({"accelerator_cohort_groups": "rack1, rack2"}).cohort_groups == ["rack1", "rack2"]
    assert cohorts.group_of(["x", "rack2"], ["rack1", "rack2"]) == "rack2" and cohorts.group_of(["x"], ["rack1"]) == ""


def test_one_node_alone_is_not_told_that_it_has_no_peers(tmp_path):
    nodes = {"a": synthetic.envelopes(synthetic.healthy())}
    assert "Compared with no other" not in text.render(fold.fold(synthetic.write_run(tmp_path, nodes)))


def test_nodes_without_an_answer_are_said_to_be_in_no_cohort(tmp_path):
    nodes = {name: synthetic.envelopes(synthetic.healthy(serial="S" + name)) for name in "ab"}
    nodes["c"] = synthetic.unread("c")
    fleet = fold.fold(synthetic.write_run(tmp_path, nodes))
    assert next(v for v in fleet["verdicts"] if v["node"] == "c")["cohort"].startswith("in no cohort: ")
    assert "Compared with no other node: c." in text.render(fleet)
