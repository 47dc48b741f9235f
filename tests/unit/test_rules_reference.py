# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a product's reference design has, and what is only told where a node has less."""

from __future__ import annotations

import path_samples
from health_nodes import ask, merged

OTHER = {"not_applicable": "not told"}


def outcomes(rule, sections, **variables):
    return {(outcome, level) for _ident, outcome, level in ask(rule, sections, **variables)}


def link(**pcie):
    sections = path_samples.Tree(2).sections()
    merged(sections["accelerators.nvidia"]["devices"][1], {"pcie": pcie})
    return sections


def test_the_link_of_the_product():
    assert outcomes("product-pcie", link()) == {("passed", None)}
    for less in ({"generation_device_max": 4}, {"width_max": 8}):
        assert ask("product-pcie", link(**less)) == [("nvidia:0", "passed", None), ("nvidia:1", "found", None)]
    # a slot of another generation is another rule's
    assert outcomes("product-pcie", link(generation_max=4)) == {("passed", None)}
    silent = link(generation_device_max=OTHER, generation_max=OTHER, width_max={"unknown": "no answer"})
    assert ask("product-pcie", silent)[1][1] == "unknown"


def test_a_part_of_no_catalogue():
    sections = link()
    for device in sections["accelerators.nvidia"]["devices"]:
        device["name"] = "NVIDIA Z9"
    assert outcomes("product-pcie", sections) == outcomes("product-adapters", sections) == {("unknown", None)}


def test_the_adapters_of_the_reference_design():
    assert outcomes("product-adapters", path_samples.Tree(2).sections()) == {("passed", None)}
    tree = path_samples.Tree(2)
    tree.drop.add(path_samples.places(1)[5])
    assert outcomes("product-adapters", tree.sections()) == {("found", None)}
    assert outcomes("product-adapters", tree.sections(), accelerator_policy_product_adapters_per_accelerator=0.5) == {("passed", None)}
    assert outcomes("product-adapters", tree.sections(virtualization="kvm")) == {("not_applicable", None)}
    # a node without any is not made to work with others, unless the site says so
    tree.drop.add(path_samples.places(0)[5])
    assert outcomes("product-adapters", tree.sections()) == {("not_applicable", None)}
    assert outcomes("product-adapters", tree.sections(), accelerator_policy_product_adapters_per_accelerator=1) == {("found", None)}
    unread = path_samples.Tree(2).sections()
    del unread["paths.nvidia"]
    assert outcomes("product-adapters", unread) == {("unknown", None)}


def slow(name, gb_s, **facts):
    """Links of a part with this name, and what is found of its speed, memory and power."""
    sections = path_samples.Tree(2).sections()
    for device in sections["accelerators.nvidia"]["devices"]:
        merged(device, dict(facts, name=name, links={"speed_gb_s": gb_s}))
    return sections


def test_a_b300_is_known_by_what_its_tool_prints():
    right = slow("NVIDIA B300 SXM6 AC", 50, memory_mib=275040, power_w={"limit": 1100.0, "limit_default": OTHER, "limit_max": OTHER})
    assert outcomes("product-memory", right) == outcomes("power-limit", right) == {("passed", None)}
    less = slow("NVIDIA B300 SXM6 AC", 50, memory_mib=240000, power_w={"limit": 900.0, "limit_default": OTHER, "limit_max": OTHER})
    assert {outcome for outcome, _level in outcomes("product-memory", less) | outcomes("power-limit", less)} == {"found"}


def test_links_of_an_mi355x():
    for gb_s, outcome in ((76.8, "passed"), (76.5, "passed"), (64, "found")):
        sections = slow("AMD Instinct MI355X", gb_s)
        sections["accelerators.amd"] = dict(sections.pop("accelerators.nvidia"), manufacturer="amd")
        assert {told for ident, told, _level in ask("link-speed", sections) if ":" in ident} == {outcome}, gb_s
