# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is expected, and under which policy: the inventory as a run sees it."""

from __future__ import annotations

GROUP = "accelerator_nodes"
PREFIX = "accelerator_policy_"
EXPECTED = "accelerator_expected_"
JUDGED = (
    "accelerator_expected_count",
    "accelerator_expected_model",
    "accelerator_cohort",
    "accelerator_cohort_groups",
    "accelerator_modes",
    "accelerator_profile",
    "accelerator_profiles",
    "accelerator_measurement_limits",
)
VERSION = "accelerator_version_"
FILED = (*JUDGED, "accelerator_manufacturers")  # what the document of a node must know, too


def expected(groups, given=None, group=GROUP):
    """Names of the expected nodes, sorted: a given list, the group accelerator_nodes, or every host but localhost."""
    if given:
        return sorted({str(name) for name in given})
    names = groups[group] if group in groups else [name for name in groups.get("all", []) if name != "localhost"]
    return sorted({str(name) for name in names})


def memberships(groups, roster):
    """node -> its inventory groups, sorted, without all and ungrouped."""
    found = {name: [] for name in roster}
    for group in sorted(groups):
        if group in ("all", "ungrouped"):
            continue
        for name in groups[group]:
            if name in found:
                found[name].append(group)
    return found


def judges(name):
    """Whether a variable is one of those that judge; misspelt ones too, so that they can be told."""
    return name.startswith((PREFIX, EXPECTED, VERSION)) or name in FILED


def variables(raw, template, wanted=judges):
    """What policy says of one host: its accelerator_* variables that judge, templated. raw: the host's variables."""
    return {name: template(raw[name], raw) for name in sorted(raw) if wanted(name)}
