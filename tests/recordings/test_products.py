# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded healthy node of every product of the catalogue: nothing is found above info, and what the profile requires has an answer."""

from __future__ import annotations

import demo
import product_nodes
import product_values
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import verdict
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy, products, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

CATALOGUE = [(maker, product) for maker, _name, _devices, _sizes, product in products.catalogue()]
# What the profile requires and the tool of the manufacturer does not tell, where the library beside it is missing.
UNTOLD = {
    "cambricon": (
        "cnmon",
        {"links-up": "links", "retired-pages-pending": "retired pages", "row-remap-failed": "row remapping", "row-remap-pending": "row remapping"},
    ),
    "hygon": ("hy-smi", {"ecc-uncorrected": "memory errors", "links-up": "links", "retired-pages-pending": "retired pages"}),
    "iluvatar": ("ixsmi", {"links-up": "links"}),
    "mthreads": ("mthreads-gmi", {"ecc-uncorrected": "memory errors", "links-up": "links", "retired-pages-pending": "retired pages"}),
}
LIBRARIES = {"cambricon": "libcndev", "hygon": "librocm_smi64", "iluvatar": "libixml", "mthreads": "libmtml"}
# The rule that holds a part against each fact of the catalogue.
READS = {
    "memory_mib": "product-memory", "links": "product-links", "link_gb_s": "link-speed", "pcie_generation": "product-pcie", "pcie_width": "product-pcie",
    "power_w": "power-limit", "core_mhz": "clocks-product", "limit_core_c": "temperature-margin", "remapped_rows": "row-remap-count",
    "row_banks": "row-remap-banks", "nics": "product-adapters",
}  # fmt: skip


@pytest.mark.parametrize(("maker", "product"), CATALOGUE, ids=[product.name for _maker, product in CATALOGUE])
def test_a_healthy_node_of_the_product_has_no_finding_above_info(maker, product):
    """A product without such a node fails here: add what its tool prints of a healthy part to product_values."""
    judged, sections = product_nodes.judged(product_nodes.recording(product.name))
    assert (sections["kernel"]["status"], sections["pci"]["scan"]["status"]) == ("ok", "ok")
    assert [finding for finding in judged.told() if finding[1] != "info"] == []
    view = NodeView("node", {name: demo.envelope(data) for name, data in sections.items()}, policy.parse({}))
    assert {products.of(device).name for device in view.packages} == {product.name}
    assert len(view.packages) == product_values.COUNTS.get(product.name, 8)
    assert {rule for rule in judged.profile.required if judged.counts[rule][2]} == set()
    assert (judged.verdict, judged.reasons) == ("accepted", [])
    assert [problem for problem in demo.misfits(sections) if problem.startswith("accelerators")] == []
    # each fact of the catalogue is held against what was read, and fits
    asked = {fact: READS[fact] for fact in product.facts if fact in READS}
    assert {fact: rule for fact, rule in asked.items() if judged.outcome(rule) != "passed"} == {}


def without_library(name, maker, **answer):
    recorded = product_nodes.recording(name)
    recorded["natives"][LIBRARIES[maker]] = answer or {"missing": "none of %s" % LIBRARIES[maker]}
    return product_nodes.judged(recorded)[0]


def under(profile, judged):
    asked = profiles.find(profile)
    return verdict.decide(asked, verdict.layers(asked, judged.counts), judged.findings, judged.gaps)


OF_LIBRARIES = [(maker, product.name) for maker, product in CATALOGUE if maker in UNTOLD]


@pytest.mark.parametrize(("maker", "name"), OF_LIBRARIES, ids=[name for _maker, name in OF_LIBRARIES])
def test_what_the_tool_does_not_tell_is_named_and_a_profile_does_without(maker, name):
    """Not one of them is taken for healthy; the profile for it takes nothing else away."""
    tool, rules = UNTOLD[maker]
    judged = without_library(name, maker)
    assert {rule for rule in judged.profile.required if judged.counts[rule][2]} == set(rules) and judged.verdict == "incomplete"
    said = ["%s does not tell %s; profile preflight-told does without" % (tool, what) for what in set(rules.values())]
    assert sorted(judged.reasons) == sorted(said) and all(len(line) <= 80 for line in said)
    assert under("preflight-told", judged) == ("accepted", [])
    assert verdict.required(profiles.find("preflight-told"), judged.gaps) == judged.profile.required - set(rules)


@pytest.mark.parametrize("answer", [{"hang": True}, {"signal": "SIGSEGV"}, {"error": "ValueError"}, {"answer": {"cards": 7}}, {"answer": {"cards": {}}}])
@pytest.mark.parametrize("maker", sorted(UNTOLD))
def test_a_library_that_did_not_answer_is_no_reason_to_do_without(maker, answer):
    name = next(product for other, product in OF_LIBRARIES if other == maker)
    judged = without_library(name, maker, **answer)
    assert judged.verdict == "incomplete"
    if maker in ("cambricon", "hygon"):  # the tools of the others may have said why themselves
        assert not [reason for reason in judged.reasons if "does not tell" in reason]
    assert under("preflight-told", judged)[0] == "incomplete"


def test_links_that_are_switched_off_in_the_driver_are_not_those_of_a_part_without():
    """An S5000 has links whatever its tool calls not available; an S80 has none that anybody tells."""
    said = {}
    for name in ("MTT S5000", "MTT S80"):
        made = product_nodes.part(name)[0]
        for entry in made.commands:
            if entry["argv"][1:] == ["mtlink", "-s"]:
                entry.update(rc=1, stdout="Error: the requested operation is not available on target device\n", stderr="")
        judged = product_nodes.judged(product_nodes.recording(name, made))[0]
        said[name] = judged.outcome("links-up"), under("preflight-told", judged)[0]
    assert said == {"MTT S5000": ("unknown", "incomplete"), "MTT S80": ("not_applicable", "accepted")}


def test_what_stands_beside_the_cards_is_as_the_product_needs_it():
    def counts(name, *rules):
        judged, _sections = product_nodes.judged(product_nodes.recording(name))
        return [judged.outcome(rule) for rule in rules]

    asked = ("fabric-manager", "fabric-state", "fabric-clique", "imex-service", "product-adapters")
    passed, none = "passed", "not_applicable"
    assert counts("H100 SXM 80 GB", *asked) == [passed, passed, none, none, passed]
    assert counts("A100 SXM 80 GB", *asked) == [passed, none, none, none, passed]
    assert counts("GB200", *asked) == [none, passed, passed, passed, passed]
    assert counts("H100 PCIe", *asked) == [none, none, none, none, none]
