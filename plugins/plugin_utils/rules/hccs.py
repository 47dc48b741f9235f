# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule about HCCS, which connects the Ascend NPUs of a node."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import told
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.health_makers import parts_of
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import PASSED, expectation, found, not_applicable, rule


@rule(
    id="hccs-health",
    layer=1,
    level="fail",
    title="The HCCS links of the NPU are healthy and have all their lanes",
    reads=("accelerators",),
    scope="device",
    remedy="Reset all NPUs of the node together, then reboot; a lane that stays away is one of the baseboard or of the NPU at either end.",
    follows=("links-up", "device-lost"),
)
def hccs_health(device, p):
    if device.manufacturer != "ascend":
        return not_applicable("no HCCS state was asked for")
    parts = [part for part in parts_of(device) if part.data.get("extra").__class__ is dict and part.data["extra"].get("hccs") is not None]
    if not parts:
        return not_applicable("no HCCS state was asked for")
    others = [part for other in device.siblings for part in parts_of(other)]
    usual = max([part.maybe("number", "extra", "hccs", "links") or 0 for part in [*parts, *others]])
    whole = max((lanes.count("1") for part in [*parts, *others] for lanes in part.maybe("texts", "extra", "hccs", "lanes") or ()), default=0)

    def judge(part):
        state = part.text("extra", "hccs", "health")
        if state != "OK":
            lane = part.maybe("text", "extra", "hccs", "first_error_lane")
            where = ", first at link %s" % lane if lane else ""
            return found("npu-smi calls its HCCS %s%s" % (state[:20], where), state[:20], expectation("OK", "", "vendor document: npu-smi"))
        links, lanes = part.number("extra", "hccs", "links"), part.maybe("texts", "extra", "hccs", "lanes")
        lit = links if lanes is None else min(links, sum(1 for one in lanes if "1" in one))  # a mode without a lane is no link
        if lit < usual:
            return found("%g of its HCCS links are in use" % lit, lit, expectation(usual, "links", "this node: equal devices"))
        short = [one for one in part.texts("extra", "hccs", "lanes") if 0 < one.count("1") < whole]
        if short:
            return found("An HCCS link runs on some of its lanes: %s" % short[0][:20], short[0][:20], expectation(whole, "lanes", "this node: other links"))
        return PASSED

    return told.worst(parts, judge)
