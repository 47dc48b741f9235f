# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cohorts: who is compared with whom, and who of them is odd."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.cohorts import Nature
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

PARAMS = policy.parse({})
H100 = Nature("", "Acme G8", "10de:2330", "whole", "NVIDIA H100 80GB HBM3")
KERNEL, COUNT, MEMORY = RULES["cohort-kernel"], RULES["cohort-count"], RULES["cohort-memory"]


def formed(**natures):
    found, alone = cohorts.form(natures)
    return {c.name: list(c.nodes) for c in found}, alone


def compared(rule, *values):
    """Outcome words of nodes a, b, c, ... with these values; a tuple is an outcome of its own."""
    names = [chr(ord("a") + i) for i in range(len(values))]
    prints = {n: v if isinstance(v, tuple) else ("value", v) for n, v in zip(names, values, strict=True)}
    cohort = cohorts.Cohort("c", tuple(names), "")
    return dict(cohorts.compare(rule, cohort, prints, {n: PARAMS.params(rule.id) for n in names}))


def words(told):
    return "".join({"passed": "p", "found": "F", "unknown": "u", "not_applicable": "n"}[told[n].outcome] for n in sorted(told))


def test_found_by_product_model_and_mode_and_named_for_people():
    groups, alone = formed(a=H100, b=H100, c=H100._replace(mode="mig"), d=H100._replace(product="Acme G4"), e=H100._replace(model="10de:20b0", name="A100"))
    assert groups == {
        "Acme G8 / NVIDIA H100 80GB HBM3": ["a", "b"],
        "Acme G8 / NVIDIA H100 80GB HBM3 / mig": ["c"],
        "Acme G4 / NVIDIA H100 80GB HBM3": ["d"],
        "Acme G8 / A100": ["e"],
    }
    assert alone == {}


def test_a_declared_cohort_wins():
    groups, _alone = formed(a=H100._replace(declared="pod 1"), b=H100._replace(declared="pod 1", model=None, product=None), c=H100)
    assert groups == {"pod 1": ["a", "b"], "Acme G8 / NVIDIA H100 80GB HBM3": ["c"]}


def test_a_node_with_a_hanging_tool_stays_among_its_peers():
    groups, _alone = formed(a=H100, b=H100, c=Nature("", "Acme G8", "10de:2330", None, "H100 SXM5 80GB"))
    assert groups == {"Acme G8 / NVIDIA H100 80GB HBM3": ["a", "b", "c"]}


def test_nodes_that_are_in_no_cohort_say_why():
    groups, alone = formed(a=H100, b=Nature(), c=Nature("", "Acme G8", "none", None), d=Nature("", "Acme G8", None, None), e=H100._replace(mode="mig"))
    assert alone["b"] == "in no cohort: the node did not say what it is"
    assert alone["c"] == "in no cohort: no accelerator on PCI"
    assert alone["d"] == "in no cohort: what it said of itself fits 2 of them"
    assert sorted(n for nodes in groups.values() for n in nodes) == ["a", "e"]


def test_alone_is_said():
    assert cohorts.form({"a": H100})[0][0].why.endswith("alone: nothing to compare with")
    assert words(compared(KERNEL, "6.8")) == "n"


def test_the_majority_names_the_odd_one():
    told = compared(KERNEL, "6.8", "6.8", "6.5")
    assert words(told) == "ppF"
    assert told["c"].summary == "Not the same kernel: 6.5, where 2 of 3 nodes have 6.8"
    assert told["c"].expected == {"value": "6.8", "unit": "", "origin": "fleet cohort"}


def test_a_tie_names_the_groups_and_fails_nobody():
    for values in (("8", "7"), ("8", "8", "7", "7"), ("8", "7", "6")):
        told = compared(COUNT, *values)
        assert set(words(told)) == {"F"} and {o.level for o in told.values()} == {"warn"}
    assert "6.5 on b; 6.8 on a" in compared(KERNEL, "6.8", "6.5")["a"].summary


def test_a_missing_value_is_unknown_and_no_vote():
    assert words(compared(KERNEL, "6.8", "6.8", ("unknown", "denied"))) == "ppu"
    assert words(compared(KERNEL, "6.8", ("unknown", "x"), ("unknown", "x"))) == "uuu"
    assert words(compared(KERNEL, "6.8", ("not_applicable", "x"), "6.8")) == "pnp"


def test_numbers_are_held_against_the_median():
    assert words(compared(MEMORY, 2063937, 2063930, 2063944, 1934000)) == "pppF"
    assert words(compared(MEMORY, 2063937, 2063930)) == "pp"
    assert words(compared(MEMORY, 2063937, 1031968)) == "FF"
    assert words(compared(MEMORY, 0, 0, 0)) == "ppp"


def test_differences_that_always_come_together():
    found_on = {"cohort-os": {"c"}, "cohort-kernel": {"c"}, "cohort-driver": {"c", "d"}, "cohort-runtime": {"c", "d"}}
    assert cohorts.same_nodes(found_on) == {"cohort-kernel": ["cohort-os"], "cohort-runtime": ["cohort-driver"]}


def test_equal_input_in_another_order_gives_the_same():
    natures = {"b": H100, "a": H100._replace(mode=None), "c": H100._replace(product=None)}
    assert cohorts.form(natures) == cohorts.form(dict(reversed(natures.items())))
