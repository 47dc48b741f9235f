# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded healthy node of every product of the catalogue: nothing is found above info, and what the profile requires has an answer."""

from __future__ import annotations

import demo
import product_nodes
import product_values
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

CATALOGUE = [(maker, product) for maker, _name, _devices, _sizes, product in products.catalogue()]
# What the profile requires and the manufacturer's tool does not tell of its own cards: never healthy, so such a node stays incomplete.
UNTOLD = {
    "cambricon": {"links-up", "retired-pages-pending", "row-remap-failed", "row-remap-pending"},
    "hygon": {"ecc-uncorrected", "links-up", "retired-pages-pending"},
    "iluvatar": {"links-up"},
    "mthreads": {"links-up", "retired-pages-pending"},
}
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
    assert {rule for rule in judged.profile.required if judged.counts[rule][2]} == UNTOLD.get(maker, set())
    assert (judged.verdict, judged.reasons if maker not in UNTOLD else []) == ("incomplete" if maker in UNTOLD else "accepted", [])
    assert [problem for problem in demo.misfits(sections) if problem.startswith("accelerators")] == []
    # each fact of the catalogue is held against what was read, and fits
    asked = {fact: READS[fact] for fact in product.facts if fact in READS}
    assert {fact: rule for fact, rule in asked.items() if judged.outcome(rule) != "passed"} == {}


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
