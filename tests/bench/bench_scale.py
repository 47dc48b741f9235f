# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding 10,000 recorded node reports of eight cards each, with measurements, on two workers.

    python tests/bench/bench_scale.py [--nodes 10000] [--runs 1]

Against json.loads of the same files in one process, and against a tenth of the nodes: what is asked of the fold are rules, statistics
of the cohort, fleet.json, records and junit.xml. The reports take about 150 KiB a node on the disk.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import bench_fold

WORKERS = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    figures = {}
    for nodes in (given.nodes // 10, given.nodes):
        with tempfile.TemporaryDirectory() as root:
            path = bench_fold.make(os.path.join(root, "all"), nodes, measured=True)
            size = sum(f.stat().st_size for f in path.glob("nodes/*/*.json"))
            base = bench_fold.measure("loads", path, given.runs)
            folded = bench_fold.measure("scale", path, given.runs, WORKERS)
        figures[nodes] = folded["process"]
        print("%d node reports, %.1f KiB each, %d workers" % (nodes, size / 1024 / nodes, WORKERS))
        print("json.loads in one process  %7.1f s   %7.1f s CPU" % (base["process"], base["cpu"]))
        print("fold                       %7.1f s   %7.1f s CPU   ratio %.2f" % (folded["process"], folded["cpu"], folded["process"] / base["process"]))
        print("memory, parent and workers %7.0f MiB" % ((folded["peak_kib"] + WORKERS * folded["child_kib"]) / 1024))
    print("time(%d) / time(%d)    %7.1f" % (given.nodes, given.nodes // 10, figures[given.nodes] / figures[given.nodes // 10]))


if __name__ == "__main__":
    main()
