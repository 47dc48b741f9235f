# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings that point at captures of ixsmi and mthreads-gmi."""

from __future__ import annotations

import json
import os
from pathlib import Path

import gmi_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar, mthreads
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

ROOT = Path(os.environ.get("FLEETPROOF_CAPTURES") or Path(__file__).resolve().parents[2].parent / "shared" / "captures")
INDEX = ROOT / "INDEX-vendors.tsv"
NEEDED = pytest.mark.skipif(not INDEX.is_file(), reason="the captures are not here: %s" % ROOT)


def known(folder):
    """Names of the captures in the index or in the folder."""
    indexed = {line.split("\t")[0] for line in INDEX.read_text(encoding="utf-8").splitlines()[1:]}
    return {name.split("/")[1] for name in indexed if name.startswith(folder + "/")} | {path.name for path in (ROOT / folder).iterdir()}


class Node:
    """A recording whose commands answer with captures; the others are not recorded."""

    def __init__(self, folder, manufacturer):
        self.folder, self.manufacturer = folder, manufacturer

    def section(self, commands):
        entries = []
        for words, name in commands.items():
            where = os.path.relpath(ROOT / self.manufacturer / name, self.folder)
            entries.append({"argv": [samples.PROGRAMS[self.manufacturer], *words.split()], "stdout_file": where})
            if self.manufacturer == "iluvatar":
                entries[-1]["env"] = iluvatar.ENVIRONMENT
        files = {"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}, "/sys/module": {"dir": []}}
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z"}
        path = self.folder / "capture.json"
        path.write_text(json.dumps(dict(document, files=files, commands=entries)))
        reader = {"iluvatar": iluvatar, "mthreads": mthreads}[self.manufacturer]
        return reader.collect(ReplayHost(recording.load(path)))


def plain(value):
    if isinstance(value, dict) and "quality" in value:
        value = value["value"]
    return "?" if is_unknown(value) else value


def shown(section, *keys):
    """Per device: id and the values at paths such as "power_w.draw"; unknown as "?"."""
    lines = []
    for device in section["devices"]:
        values = [device["id"]]
        for key in keys:
            value = device
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            values.append(plain(value))
        lines.append(tuple(values))
    return lines


def verdict(section):
    return section["detection"]["state"], plain(section["detection"]["accelerators"])
