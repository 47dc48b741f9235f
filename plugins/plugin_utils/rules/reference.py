# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about what a product's reference design has: its PCIe link, and the network adapters beside it. Designs differ, so they only inform."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import paths, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, NoAnswer, Parameter, expectation, found, not_applicable, rule


@rule(
    id="product-pcie",
    layer=1,
    level="info",
    title="The PCIe link of the device can do what its product can",
    reads=("accelerators",),
    scope="device",
    remedy="A slot or riser of an older generation is a design; one such device among others is a wrong slot, a riser or a worn contact.",
    follows=("device-lost", "pcie-width", "pcie-generation"),
)
def product_pcie(device, p):
    low, source, asked, reason = [], "", 0, None
    for fact, keys, text in (
        ("pcie_generation", ("generation_device_max", "generation_max"), "generation %g instead of %g"),
        ("pcie_width", ("width_max",), "%g lanes instead of %g"),
    ):
        try:
            wanted, told_by = products.expected(device, fact)
        except NoAnswer as no:
            reason = reason or no
            continue
        able = next((n for n in (device.maybe("number", "pcie", key) for key in keys) if n is not None), None)
        if able is None:
            reason = NoAnswer("unknown", "pcie.%s: not known" % keys[-1])
            continue
        asked += 1
        if able < wanted:
            low.append(text % (able, wanted))
            source = told_by
    if low:
        return found("The PCIe link can do %s" % ", ".join(low), ", ".join(low), expectation("the product's link", origin=source))
    if not asked:
        raise reason
    return PASSED


@rule(
    id="product-adapters",
    layer=1,
    level="info",
    title="As many RDMA adapters as the product's reference design has",
    reads=("paths", "accelerators"),
    scope="node",
    remedy="Compare with a node of the same kind: an adapter may be missing, not seated or without its driver. Where the site has fewer, say how many.",
    parameters={"per_accelerator": Parameter("number", None, "adapters", "the product catalogue of this collection")},
)
def product_adapters(view, p):
    made = paths.of_bare_metal(view)
    if not view.packages:
        return not_applicable("no accelerator was read")
    if made.gaps:
        raise NoAnswer("unknown", made.gaps[0])
    if p.per_accelerator is not None:
        wanted = expectation(p.per_accelerator * len(view.packages), "adapters", p.expected("per_accelerator")["origin"])
    else:
        told = [products.expected(device, "nics") for device in view.packages]
        wanted = expectation(sum(number for number, _source in told), "adapters", told[0][1])
    count = len({end["address"].rpartition(".")[0] for end in made.of(paths.RDMA)})
    if not count and p.per_accelerator is None:
        return not_applicable("no RDMA adapter: the node is not made to work with others")
    if count < wanted["value"]:
        return found("%d RDMA adapters beside %d accelerators" % (count, len(view.packages)), count, wanted)
    return PASSED
