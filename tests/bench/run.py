# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the figures this project promises: medians over whole processes.

    python tests/bench/run.py [ssh] [size] [calls] [fold] [hang] [overlap] [scale] [accuracy] [node] [kernel] [--nodes 50] [--runs 3]

ssh   Controller CPU of the default preflight over lab nodes, against `ansible -m ping` over the same nodes and forks, and
      module tasks a node. The CPU of the nodes, which lie on the same machine, is not counted.
size  Our own source that a module imports when it starts, and all that is sent to the node with it.
calls Calls of the vendor's tools and libraries on a healthy recorded node of each manufacturer, which are made one after the other:
      what a node with that many cards takes.
scale Folding 10,000 node reports with measurements (tests/bench/bench_scale.py); takes 1.5 GiB on the disk, and only runs when it is named.
accuracy  What is found of faults planted in a simulated fleet (tests/bench/bench_accuracy.py); only when it is named.
node  CPU and memory of the modules of the default preflight on a lab node (tests/bench/bench_node.py).
kernel  Own CPU and memory of folding a long kernel log (tests/bench/bench_kernel.py).
fold  Judging and folding 1,000 node reports against json.loads of the same files.
hang  When a node with a hanging vendor tool, and one whose ssh says nothing, were done, and when the others were.
overlap When a node with cards of three manufacturers was done, whose tools take a second a call, against the node of the slowest
      of them alone; and the seconds of each manufacturer's chain of calls.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_node
import bench_overlap
import bench_paths
import lab_profile
import lab_recordings
import nine
import nodelab
import plays

ROOT = bench_paths.ROOT
FORKS = 50
DEADLINE = 20


def measured(argv, expected=(0,)):
    """(CPU seconds of this process's children, wall seconds, output)."""
    env = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in expected:
        sys.exit("%s: exit %d\n%s" % (" ".join(argv), done.returncode, done.stdout[-3000:]))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - begin, done.stdout


class Nodes:
    """Lab nodes for one measurement."""

    def __init__(self, folder, names, **faults):
        self.folder, self.names, self.faults, self.lab = Path(folder), names, faults, nodelab.Lab(Path(folder) / "state")

    def __enter__(self):
        profiles = {}
        for name in self.names:
            kind = name if name in self.faults else "fit"
            target = self.folder / kind
            if not target.exists():
                lab_profile.build(lab_recordings.h100(kind, **self.faults.get(name, {})), target)
            profiles[name] = target
        try:
            self.lab.up(self.names, profiles=profiles)
        except BaseException:
            self.lab.down()
            raise
        return self

    def __exit__(self, *_error):
        self.lab.down()

    def inventory(self, **more):
        document = self.lab.inventory()
        document["accelerator_nodes"]["hosts"].update(more)
        return plays.write_inventory(self.folder / "inventory.json", document)


def forget_connections():
    """Both sides connect anew: a master connection of the run before would be a present."""
    for socket in Path.home().glob(".ansible/cp/*"):
        subprocess.run(["ssh", "-o", "ControlPath=%s" % socket, "-O", "exit", "none"], capture_output=True, check=False)


def bench_ssh(nodes, runs):
    bin_ = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder, Nodes(folder, ["node%03d" % n for n in range(1, nodes + 1)]) as lab:
        inventory = str(lab.inventory())
        ping, preflight = [], []
        for _run in range(runs):
            forget_connections()
            ping.append(measured([str(bin_ / "ansible"), "all", "-i", inventory, "-m", "ping", "-f", str(FORKS)])[:2])
            forget_connections()
            argv = [
                str(bin_ / "ansible-playbook"),
                "fleetproof.accelerator.preflight",
                "-i",
                inventory,
                "-f",
                str(FORKS),
                "-e",
                "accelerator_run_root=%s/runs" % folder,
                "-e",
                "accelerator_policy_unique_accelerators_enabled=false",  # the nodes are copies of one recording
            ]
            preflight.append(measured(argv, (0, 2))[:2])
        forget_connections()
        latest = Path(folder, "runs", "latest").resolve()
        modules = {json.loads(path.read_bytes())["module"] for path in latest.glob("nodes/*/*.json")}
        verdicts = json.loads((latest / "fleet.json").read_bytes())["counts"]
    (ping_cpu, ping_wall), (cpu, wall) = (tuple(statistics.median(column) for column in zip(*rows)) for rows in (ping, preflight))
    print("%d lab nodes by ssh, %d forks, verdicts %s" % (nodes, FORKS, {k: v for k, v in verdicts.items() if v}))
    print("ansible -m ping              %6.2f s CPU  %6.2f s wall" % (ping_cpu, ping_wall))
    print("preflight                    %6.2f s CPU  %6.2f s wall   %.2f x ping (at most 5)" % (cpu, wall, cpu / ping_cpu))
    print("module tasks a node          %6d                         (at most 4): %s" % (len(modules), ", ".join(sorted(modules))))


def imported(path, everywhere, seen=None):
    """Our own files that a file imports, with their sizes: when it starts, or everywhere, as what is sent to a node is found."""
    seen = {} if seen is None else seen
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for statement in ast.walk(tree) if everywhere else tree.body:
        if not isinstance(statement, ast.ImportFrom) or not (statement.module or "").startswith("ansible_collections.fleetproof.accelerator."):
            continue
        base = ROOT.joinpath(*statement.module.split(".")[3:])
        for candidate in (base.with_suffix(".py"), *(base / (name.name + ".py") for name in statement.names)):
            if candidate.is_file() and candidate not in seen:
                seen[candidate] = candidate.stat().st_size
                imported(candidate, everywhere, seen)
    return seen


def bench_size(*_unused):
    print("own source, KiB              imported (at most 100)    sent")
    for module in sorted((ROOT / "plugins" / "modules").glob("*.py")):
        start, sent = (sum(imported(module, everywhere).values()) / 1024 for everywhere in (False, True))
        if sent:
            print("%-28s %6.1f                    %6.1f" % (module.stem, start, sent))


def bench_calls(*_unused):
    print("vendor calls a node of 8      <manufacturer>_info   allocation_info   (of them for each card)")
    for name in nine.PARTS:
        one, eight = nine.calls(name, 1), nine.calls(name, 8)
        each = [(len(many) - len(few)) // 7 for few, many in zip(one, eight)]
        tools = collections.Counter(call.partition(" ")[0] for call in eight[0] + eight[1])
        told = ", ".join("%s %d" % pair for pair in tools.items())
        print("%-28s %6d (%d)            %6d (%d)          %s" % (name, len(eight[0]), each[0], len(eight[1]), each[1], told))


def bench_fold(*_unused):
    subprocess.run(
        [sys.executable, str(ROOT / "tests" / "bench" / "bench_fold.py")], check=True, env=dict(os.environ, PYTHONPATH=str(ROOT / ".cache" / "collections"))
    )


def seconds(stamp):
    return time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


def done(run):
    """node -> (seconds from the run's first section to its last file, sections filed)."""
    nodes = sorted(path.name for path in (run.path / "nodes").iterdir())
    parts = {node: run.sections(node).values() for node in nodes}
    begin = min(seconds(part["started"]) for of_node in parts.values() for part in of_node)
    return {node: max(seconds(part["finished"]) for part in of_node) - begin for node, of_node in parts.items()}


def bench_hang(_nodes, runs):
    silent = {"ansible_ssh_common_args": "-o ProxyCommand='sleep 1000' -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"}
    names = ["fit%d" % n for n in range(1, 6)]
    with tempfile.TemporaryDirectory() as folder, Nodes(folder, [*names, "hung"], hung={"smi": {"hang": True}}) as lab:
        alone, among, hung, quiet = [], [], [], []
        for number in range(runs):
            variables = {"accelerator_deadline": DEADLINE}
            inventory = lab.inventory()
            alone.append(
                max(
                    done(
                        plays.play("preflight", "--limit", "fit*", run_root=Path(folder, "alone%d" % number), inventory=inventory, variables=variables)
                    ).values()
                )
            )
            inventory = lab.inventory(silent=silent)
            times = done(plays.play("preflight", run_root=Path(folder, "among%d" % number), inventory=inventory, variables=variables))
            among.append(max(times[name] for name in names))
            hung.append(times["hung"])
            quiet.append(times["silent"])
    print("5 fit nodes alone            done after %3d s" % statistics.median(alone))
    print("5 fit nodes among sick ones  done after %3d s              (must not move)" % statistics.median(among))
    print("node with a hanging tool     done after %3d s              (deadline %d + 5)" % (statistics.median(hung), DEADLINE))
    print("node with a silent ssh       done after %3d s              (deadline %d + 5)" % (statistics.median(quiet), DEADLINE))


def _apart(name):
    """A measurement with options of its own, in a process of its own."""
    return lambda *_unused: subprocess.run([sys.executable, str(ROOT / "tests" / "bench" / name)], check=True)


def bench_of_node(_nodes, runs):
    with tempfile.TemporaryDirectory() as folder, Nodes(folder, ["node001"]) as lab:
        bench_node.show(bench_node.measure(lab.inventory(), Path(folder), runs))
        forget_connections()


ON_REQUEST = {"node": bench_of_node, "scale": _apart("bench_scale.py"), "accuracy": _apart("bench_accuracy.py"), "kernel": _apart("bench_kernel.py")}


PARTS = {"ssh": bench_ssh, "size": bench_size, "calls": bench_calls, "fold": bench_fold, "hang": bench_hang, "overlap": bench_overlap.main}


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, *ON_REQUEST, []], help="all but scale, accuracy, node and kernel when none is named")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    for name in given.parts or PARTS:
        why = nodelab.why_not() if name in ("ssh", "hang", "overlap") else ""
        print("== %s" % name + (": skipped, %s" % why if why else ""), flush=True)
        if not why:
            {**PARTS, **ON_REQUEST}[name](given.nodes, given.runs)


if __name__ == "__main__":
    main()
