# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging and folding N recorded node reports against one process that only json.loads the same files.

    python tests/bench/bench_fold.py [--nodes 1000] [--runs 3]

Each figure is the median over whole processes (start and imports included). Memory: the growth of the folding process
over its state before the fold, for one more node, as the difference of two fleet sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]


def report(index):
    """About 50 KiB: the template of tests/helpers with the calls and kernel messages a real node has besides."""
    import synthetic

    events = [
        {
            "template": "synthetic driver message %d of node <n>, <hex>" % i,
            "count": 3 + i,
            "first": "2026-03-01T07:%02d:00.000Z" % i,
            "last": "2026-03-01T07:%02d:30.000Z" % i,
            "priority": 6,
            "sample": "synthetic driver message %d of node %d, 0x%08x, that no catalog knows" % (i, index, index * 977 + i),
            "addresses": [synthetic.address(i % 8)],
            "codes": [],
        }
        for i in range(6)
    ]
    sections = synthetic.healthy(serial="S%05d" % index, events=events)
    group = sections["accelerators.nvidia"]
    for number, device in enumerate(group["devices"]):
        # What readers keep besides: clocks, supported modes, firmware parts.
        device["extra"] = {
            "%s_%s_mhz" % (kind, name): 1000 + (index + number) % 7
            for kind in ("clock", "clock_max", "clock_default", "clock_application")
            for name in ("graphics", "sm", "memory", "video")
        }
        device["extra"]["parts"] = [
            {"part": "part %d" % i, "version": "96.00.%02d.00.01" % i, "state": "unknown to every rule", "number": i * 1000 + index} for i in range(34)
        ]
    if index % 50 == 7:
        group["devices"][index % 8]["row_remap"]["pending"] = True
    if index % 70 == 3:
        sections["host"]["kernel"]["release"] = "6.8.0-64-generic"
    return sections


def make(root, nodes):
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    import synthetic

    filed = {"gpu-%05d" % i: synthetic.envelopes(report(i)) for i in range(nodes)}
    return synthetic.write_run(root, filed)


def peak_kib():
    """The most memory this process ever held (ru_maxrss would inherit the peak of the process that started it)."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def child(mode, path, processes):
    """One measured process: prints wall, CPU (children included), peak memory growth in KiB and a check value."""
    begin = time.perf_counter()
    if mode == "loads":
        check = 0
        for folder in sorted(os.listdir(os.path.join(path, "nodes"))):
            for name in sorted(os.listdir(os.path.join(path, "nodes", folder))):
                with open(os.path.join(path, "nodes", folder, name), "rb") as file:
                    check += len(json.loads(file.read()))
        before = peak_kib()
    else:
        from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold

        if mode == "judge":
            fold.renderers = lambda: (("report.html", lambda fleet: ""),)  # verdicts, findings, records and fleet.json, without the pages for people
        before = peak_kib()
        check = len(fold.fold(path, processes=processes or None)["verdicts"])
    wall = time.perf_counter() - begin
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    print(json.dumps({"wall": wall, "cpu": cpu, "grown_kib": peak_kib() - before, "check": check}))


def measure(mode, path, runs, processes=0):
    figures = []
    for _run in range(runs):
        argv = [sys.executable, str(HERE), "--child", mode, "--path", str(path), "--processes", str(processes)]
        begin = time.perf_counter()
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ, PYTHONPATH=str(ROOT / ".cache" / "collections")))
        figures.append(dict(json.loads(done.stdout), process=time.perf_counter() - begin))
    return {key: statistics.median(f[key] for f in figures) for key in figures[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--child")
    parser.add_argument("--path")
    parser.add_argument("--processes", type=int, default=0)
    given = parser.parse_args()
    if given.child:
        return child(given.child, given.path, given.processes)
    with tempfile.TemporaryDirectory() as root:
        path = make(os.path.join(root, "all"), given.nodes)
        half = make(os.path.join(root, "half"), given.nodes // 2)
        size = sum(f.stat().st_size for f in path.glob("nodes/*/*.json"))
        base = measure("loads", path, given.runs)
        pool = measure("fold", path, given.runs)
        judged = measure("judge", path, given.runs)
        one = measure("fold", path, given.runs, 1)
        fewer = measure("fold", half, given.runs)
        fewer_one = measure("fold", half, given.runs, 1)
    print("%d node reports, %.1f KiB each" % (given.nodes, size / 1024 / given.nodes))
    print("json.loads of the files      %6.2f s process  %6.2f s CPU" % (base["process"], base["cpu"]))
    for name, figure in (("judge and fold", judged), ("the same with its reports", pool), ("that in one process", one)):
        print("%-28s %6.2f s process  %6.2f s CPU   %.2f x json.loads" % (name, figure["process"], figure["cpu"], figure["process"] / base["process"]))
    more = given.nodes - given.nodes // 2
    in_one = (one["grown_kib"] - fewer_one["grown_kib"]) / more
    print("memory a node                %6.1f KiB (in one process %.1f)" % ((pool["grown_kib"] - fewer["grown_kib"]) / more, in_one))
    return None


if __name__ == "__main__":
    main()
