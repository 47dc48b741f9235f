# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confidential computing of parts that can, asked where NVML and the log did not tell it, or where it is on: whether the cards take work then."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

FEATURE = ["nvidia-smi", "conf-compute", "-f"]
READY = ["nvidia-smi", "conf-compute", "-grs"]
_FEATURE = re.compile(r"(?m)^\s*CC status: *(\w+)\s*$")
_READY = re.compile(r"(?m)^\s*Confidential Compute GPUs Ready state: *([a-z -]+?)\s*$", re.IGNORECASE)


def _ask(host, sources, argv, pattern, words):
    command = host.run(argv, timeout=nvidia.TIMEOUT_SHORT)
    sources.append(report.source(command))
    told = pattern.search(command.stdout) if command.succeeded else None
    said = told.group(1).lower().replace("-", " ") if told else ""
    if said in words:
        return said == words[0]
    return unknown(command.reason if not command.succeeded else "%s: not understood: %.60r" % (command.subject, command.stdout.strip()))


def complete(host, devices, sources):
    """extra.confidential of cards that do not tell their protected memory, extra.confidential_ready where it is on."""
    cards = [card for card in devices if card["kind"] == "package"]
    silent = [card for card in cards if "confidential_memory_mib" not in card["extra"]]
    on = any(card["extra"].get("confidential_memory_mib") for card in cards)
    if silent:
        feature = _ask(host, sources, FEATURE, _FEATURE, ("on", "off"))
        on = on or feature is True
        for card in silent:
            card["extra"]["confidential"] = feature
    if on:
        ready = _ask(host, sources, READY, _READY, ("ready", "not ready"))
        for card in cards:
            card["extra"]["confidential_ready"] = ready
