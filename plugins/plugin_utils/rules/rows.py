# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of a report as outcomes: one rule per capability that a row may speak of.

The names are those of the operator's preflight document. A row of a name that is not known here belongs to row-other:
a node never names a rule.
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    expectation,
    found,
    not_applicable,
    not_run,
    passed,
    rule,
    unknown,
)

CAPABILITIES = {
    "mig-partitioning": "The driver offers partitions",
    "container-share": "The driver lets containers share a device",
    "cu-mask-topology": "Compute units can be divided",
    "smlu-mode": "The driver offers logical slices (sMLU)",
    "sgpu-mode": "The driver offers logical slices (sGPU)",
    "sliced-runtime-loaded": "A sliced container loads the vendor's runtime",
    "sliced-quota-in-force": "A slice's memory quota is in force",
    "sidecar-visibility": "A sidecar sees its neighbor's device",
    "co-tenancy": "Two slices share a device",
    "ascend-docker-runtime": "The Ascend container runtime is set up",
    "hccl-ranktable": "The rank table of HCCL can be built",
    "preflight-panicked": "The preflight reader ended in order",
    "stale-container-sweep": "No container of an earlier run was left",
}
OTHER = "other"
_REMEDY = "See the row's reason and command; a mode that no work uses is only information (accelerator_modes names those in use)."
_NO_ROW = not_applicable("no such row in the report")
_DEPTH = {"declared": 1, "simulated": 2, "measured": 3}


def _check(capability):
    def rows(view, p):
        outcomes = []
        for group in view.groups:
            for row in group.objects("checks") if group.data.get("checks") else ():
                name = row.maybe("text", "capability") or ""
                if name == capability or (capability == OTHER and name not in CAPABILITIES):
                    outcomes.append(_outcome(row, name, view.policy.modes))
        return outcomes or _NO_ROW

    return rows


def _outcome(row, name, modes):
    subject = ("row", row.maybe("text", "accelerator") or "?")
    state = row.maybe("text", "state")
    depth = row.maybe("text", "depth")
    reason = row.maybe("text", "reason") or row.maybe("text", "detail") or "no reason given"
    if depth not in _DEPTH:
        return unknown("depth not understood: %s" % (depth or "none"), subject)
    if state == "ok":
        return passed(subject, {"depth": depth})
    if state == "not-declared":
        return not_applicable(reason, subject)
    if state == "not-run":
        return not_run(reason, subject)
    if state != "unavailable":
        return unknown("state not understood: %s" % (state or "none"), subject)
    mode = row.maybe("text", "mode") or "unnamed"
    used = mode in modes
    return found(
        "%s is unavailable (mode %s%s): %s" % (name or "a row without a name", mode, "" if used else ", not in use here", reason),
        state,
        expectation("ok", origin="site policy" if used else "suite: operator preflight"),
        level="fail" if used else "info",
        subject=subject,
        evidence=row.maybe("text", "evidence") or row.maybe("text", "command"),
    )


for _name, _title in [*list(CAPABILITIES.items()), (OTHER, "Rows of other capabilities")]:
    rule(id="row-%s" % _name, layer=3, level="fail", title=_title, reads=(), scope="node", remedy=_REMEDY)(_check(_name))
