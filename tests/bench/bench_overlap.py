# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lab nodes by ssh whose vendor tools take their time: one node with three manufacturers' cards, and one with each alone."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

import bench_paths
import lab_profile
import nine
import nodelab
import plays

__all__ = ("bench_paths", "main")  # bench_paths makes the helpers importable

PAUSE = 1.0  # seconds each call of a vendor tool takes
TOOLS = {"nvidia": "nvidia-smi", "metax": "mx-smi", "thead": "ppu-smi"}


def chain(sections, name):
    """Seconds of all calls of a manufacturer's tools, which are made one after the other."""
    told = [source for section, part in sections.items() if section.endswith("." + name) for source in part["data"].get("sources", ())]
    return sum(source.get("seconds") or 0 for source in told if isinstance(source, dict))


def took(run, node):
    """Seconds from the opened run to the node's last file."""
    files = (run.path / "nodes" / node).glob("*.json")
    return max(path.stat().st_mtime for path in files) - (run.path / "run.json").stat().st_mtime


def measure(runs):
    """node -> (median seconds, {manufacturer: median seconds of its chain}); the node `together` has the cards of every one."""
    kinds = {"together": tuple(TOOLS), **{name: (name,) for name in TOOLS}}
    measured = {kind: ([], {name: [] for name in names}) for kind, names in kinds.items()}
    with tempfile.TemporaryDirectory() as folder:
        folder, profiles = Path(folder), {}
        for kind, names in kinds.items():
            document = json.loads(json.dumps(nine.recording(*(nine.PARTS[name]() for name in names), node=kind)))
            profiles[kind] = lab_profile.build(document, folder / kind, dict.fromkeys(TOOLS.values(), PAUSE))
        lab = nodelab.Lab(folder / "state")
        try:
            lab.up(list(kinds), profiles=profiles)
            inventory = plays.write_inventory(folder / "inventory.json", lab.inventory())
            for number in range(runs):
                for kind, (seconds, chains) in measured.items():  # one node at a time: they share this machine
                    run = plays.play("preflight", "--limit", "localhost," + kind, run_root=folder / ("%s%d" % (kind, number)), inventory=inventory)
                    if run.code not in (0, 2):
                        raise SystemExit("exit %d\n%s" % (run.code, run.output[-3000:]))
                    sections = run.sections(kind)
                    seconds.append(took(run, kind))
                    for name, told in chains.items():
                        told.append(chain(sections, name))
        finally:
            lab.down()
    return {
        kind: (statistics.median(seconds), {name: statistics.median(told) for name, told in chains.items()}) for kind, (seconds, chains) in measured.items()
    }


def main(_nodes, runs):
    told = measure(runs)
    wall, chains = told["together"]
    for name, seconds in chains.items():
        print("%-10s chain %6.2f s   its node alone %6.2f s" % (name, seconds, told[name][0]))
    longest = max(chains, key=chains.get)
    print("sum of the chains            %6.2f s   longest %.2f s (%s)" % (sum(chains.values()), chains[longest], longest))
    print("node with all of them        %6.2f s   (from the opened run to its last file)" % wall)
    print("over the longest's node      %6.2f s   (at most 1)" % (wall - max(told[name][0] for name in chains)))
    print("over the longest chain       %6.2f s   (connecting, what every node is asked, and starting the modules included)" % (wall - chains[longest]))
