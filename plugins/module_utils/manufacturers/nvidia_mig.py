# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIG devices of a card, and the GPU instances that they lie in; read only where MIG is on."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia_smi as smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown, why

INSTANCES = ["nvidia-smi", "mig", "-lgi"]
_ROW = re.compile(r"(?m)^\|\s*(\d{1,4})\s+MIG (\S+)\s+\d{1,4}\s+(\d{1,4})\s+(\d{1,3}:\d{1,3})\s*\|")
_NONE = re.compile(r"no gpu instances found", re.IGNORECASE)


def instances(host, devices, sources):
    """extra.gpu_instances: [{id, profile, placement}] of each card with MIG on; placement is start:size in slices of memory."""
    command = host.run(INSTANCES, timeout=nvidia.TIMEOUT_SHORT)
    sources.append(report.source(command))
    rows = _ROW.findall(command.stdout)
    ended = command.stdout.rstrip().endswith("+")
    failed = ""
    if not _NONE.search(command.stdout + command.stderr) and not (command.succeeded and rows and ended):
        failed = command.reason if not command.succeeded else "%s: not understood" % command.subject
    for card in devices:
        if card["kind"] == "package" and isinstance(card["partition"], dict) and card["partition"].get("enabled") is True:
            told = [{"id": int(number), "profile": name, "placement": place} for index, name, number, place in rows if int(index) == card["index"]]
            card["extra"]["gpu_instances"] = unknown(failed) if failed else told


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
