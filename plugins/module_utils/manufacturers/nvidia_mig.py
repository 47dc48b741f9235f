# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A MIG device of a card, made only where MIG is on."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown, why


def partition(parent, raw, listed):
    """listed: its line of nvidia-smi -L."""
    told = nvidia.read(raw, smi.MIG_SPEC)
    index = told["index"] if isinstance(told["index"], int) else len(listed)
    line = listed.get(index, {})
    name = unknown("nvidia-smi -L does not list this MIG device")
    if "name" in raw or line:
        name = nvidia.value(raw["name"], "name", "t") if "name" in raw else "MIG %s" % line["profile"]
    profile = re.search(r"MIG (\S+)", name) if is_known(name) else None
    whole = not_applicable("told for the whole card")
    groups = dict.fromkeys((*report.GROUPS, *report.VALUES), whole)
    groups.update(health=unknown("no verdict on a MIG device"), memory_mib=told["memory_mib"], memory_used_mib=told["memory_used_mib"])
    groups["ecc"] = dict(dict.fromkeys(report.GROUPS["ecc"], whole), uncorrected_volatile=told["ecc"]["uncorrected_volatile"])
    profile = profile.group(1) if profile else unknown("profile: %s" % why(name))
    groups["partition"] = {"mode": "mig", "enabled": True, "profile": profile, "memory_profile": not_applicable("in the profile")}
    uuid = raw.get("uuid")
    identity = report.identity(nvidia.value(uuid, "uuid", "t") if uuid else line.get("uuid"), whole, whole, whole)
    extra = {key: said for key, said in told["extra"].items() if is_known(said)}
    return report.device("%s/mig:%d" % (parent, index), index, name, "partition", parent, identity=identity, extra=extra, **groups)
