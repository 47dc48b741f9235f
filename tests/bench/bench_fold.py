# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judging and folding N recorded node reports against one process that only json.loads the same files.

    python tests/bench/bench_fold.py [--nodes 1000] [--runs 3]

The reports are those of a recorded node of the demo fleet, read by the real modules, with identities of their own.

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


TEMPLATE = "gpu-h02"  # of the demo fleet: eight H100 and nothing wrong


def template(folder):
    """section -> envelope of a recorded node, as the preflight files it."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "fleetproof.accelerator.preflight", "-i", "inventories/demo"]
    argv += ["--limit", "localhost,%s" % TEMPLATE, "-e", json.dumps({"accelerator_run_root": str(folder), "accelerator_strict": False})]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"))
    subprocess.run(argv, cwd=ROOT, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    files = (Path(folder) / "latest" / "nodes" / TEMPLATE).glob("*.1.json")
    return {path.name.partition(".1.json")[0]: json.loads(path.read_text(encoding="utf-8")) for path in files}


def report(filed, index):
    """The same node with identities of its own, and a fault now and then."""
    group = filed["accelerators.nvidia"]["data"]
    text = json.dumps(filed)
    for number, device in enumerate(group["devices"]):
        for name, form in (("uuid", "GPU-%08x-aaaa-bbbb-cccc-%012x"), ("serial", "%05d%08d")):
            text = text.replace(device["identity"][name]["value"], form % (number, index))
    sections = json.loads(text.replace(filed["host"]["data"]["system"]["serial"], "S%08d" % index))
    group = sections["accelerators.nvidia"]["data"]
    for device in group["devices"]:
        device["temperature_c"]["core"] += (index + device["index"]) % 5
        device["power_w"]["draw"] += (index * 7 + device["index"]) % 11
    sections["host"]["data"]["uptime_seconds"] += index
    if index % 50 == 7:
        group["devices"][index % 8]["row_remap"]["pending"] = True
    if index % 70 == 3:
        sections["host"]["data"]["kernel"]["release"] = "6.8.0-64-generic"
    return sections


def make(root, nodes, measured=False):
    """A run of so many nodes. measured: each with a measurement of ten samples of every card, besides."""
    sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT / ".cache" / "collections")]
    import synthetic

    with tempfile.TemporaryDirectory() as folder:
        filed = template(folder)
    names = ["gpu-%05d" % i for i in range(nodes)]
    path = synthetic.write_run(root, {}, roster=names)
    for index, name in enumerate(names):
        sections = report(filed, index)
        if measured:
            sections["bench"] = synthetic.envelope(name, "bench", {"timestamp": synthetic.STAMP, "measurements": _measurements(index)})
        synthetic.write_node(path, name, sections)
    return path


def _measurements(index):
    import fleet_simulator

    fleet = fleet_simulator.simulate(1, seed=index + 1, plant="nodes" if index % 100 == 11 else "none", bad=1)
    return next(iter(fleet.sections.values()))["measurements"]


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
        elif mode == "scale":
            from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import junit

            fold.renderers = lambda: (("report.html", lambda fleet: ""), ("junit.xml", junit.render))
        before = peak_kib()
        check = len(fold.fold(path, processes=processes or None)["verdicts"])
    wall = time.perf_counter() - begin
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    told = {"wall": wall, "cpu": cpu, "grown_kib": peak_kib() - before, "peak_kib": peak_kib(), "child_kib": children.ru_maxrss, "check": check}
    print(json.dumps(told))


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
