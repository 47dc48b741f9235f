# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judgements of a run: numbered directories that appear complete or not at all, and the links to the newest."""

from __future__ import annotations

import os
import shutil

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError, replace_link

LINKED = ("fleet.json", "report.html", "junit.xml", "metrics.prom", "findings.csv", "summary.md", "records")


class Judgement:
    """with Judgement(run_path) as j: write below j.path; on success it becomes judgements/<number>, else it vanishes."""

    def __init__(self, run_path):
        self.run_path = run_path
        self.folder = run_path / "judgements"

    def __enter__(self):
        try:
            self.folder.mkdir(exist_ok=True)
            self.number, self.path = self._claim()
        except OSError as error:
            raise RunError("%s cannot be written: %s" % (self.folder, error.strerror or error)) from None
        return self

    def _claim(self):
        number = 1 + max(_numbers(self.folder, partial=True), default=0)
        while True:
            path = self.folder / ("%d.tmp" % number)
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
                continue
            if not (self.folder / str(number)).exists():
                return number, path
            path.rmdir()
            number += 1

    def __exit__(self, kind, error, trace):
        if kind is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            if issubclass(kind, OSError):
                raise RunError("%s cannot be written: %s" % (self.path, error.strerror or error)) from None
            return
        self.path.rename(self.folder / str(self.number))
        self._link()

    def _link(self):
        """Point the links at the newest judgement; another fold may have finished in between, so look again."""
        linked = 0
        while True:
            newest = max(_numbers(self.folder), default=0)
            if newest <= linked:
                return
            for name in LINKED:
                target = os.path.join("judgements", str(newest), name)
                if (self.run_path / target).exists():
                    replace_link(self.run_path / name, target)
            linked = newest


def _numbers(folder, partial=False):
    found = []
    for name in os.listdir(folder):
        stem = name[: -len(".tmp")] if partial and name.endswith(".tmp") else name
        if stem.isascii() and stem.isdigit():
            found.append(int(stem))
    return found
