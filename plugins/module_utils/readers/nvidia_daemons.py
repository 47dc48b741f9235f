# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of NVIDIA's daemons on the disk, which must be of the driver's version."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

DAEMONS = {"fabric_manager": ["nv-fabricmanager", "--version"], "imex": ["nvidia-imex", "--version"]}  # they must be of the driver's version
_SECONDS = 5
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")


def versions(host):
    found = {}
    for name, argv in DAEMONS.items():
        command = host.run(argv, timeout=_SECONDS)
        told = _VERSION.search(command.stdout) if command.ok else None
        found[name] = told.group() if told else not_applicable("not installed") if command.status == ABSENT else unknown(command.reason)
    return found
