# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings that point at captures of AMD's tools."""

from __future__ import annotations

import json
import os

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording


def section(folder, place, commands, files=None, pci=None):
    """The section of a node whose commands answer with captures of that folder, a recorded entry or JSON; the others are not recorded."""
    entries = []
    for argv, said in commands.items():
        said = {"stdout_file": said} if isinstance(said, str) else {"stdout": json.dumps(said)} if isinstance(said, list) else said
        said = {k: os.path.relpath(folder / v, place) if k.endswith("_file") else v for k, v in said.items()}
        entries.append(dict({"argv": argv.split()}, **said))
    document = {
        "schema": "fleetproof.accelerator/recording/v1",
        "node": "amd-capture",
        "recorded": "2026-11-29T17:00:00Z",
        "commands": entries,
        "files": files or {},
    }
    path = place / "recording.json"
    path.write_text(json.dumps(document))
    return amd.collect(ReplayHost(recording.load(path)), pci)
