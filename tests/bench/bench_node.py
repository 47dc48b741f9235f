# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU and memory of the modules of the default preflight on one lab node, a recorded server with eight H100, as ansible starts them.

Each is a process of its own out of AnsiballZ's zip, which tells when it ends what it took: its own CPU, that of its children apart, and the most
memory it had. A module that does nothing is measured the same way; memory is told as what is above it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = "/var/tmp/bench-node"
EMPTY = """#!/usr/bin/python
from __future__ import annotations
from ansible.module_utils.basic import AnsibleModule

if __name__ == "__main__":
    AnsibleModule(argument_spec={}).exit_json()
"""
# A module is started by this instead of Python alone: its exit handler tells what the process took.
COUNTING = (
    """import atexit, json, re, resource, runpy, sys
sys.argv = sys.argv[1:]
def told():
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    name = re.search("AnsiballZ_([a-z_]+)", sys.argv[0]).group(1)
    with open("%s/out", "a") as out:
        out.write(json.dumps([name, own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime, peak]) + "\\n")
atexit.register(told)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    % PLACE
)
START = """#!/bin/sh
case "$1" in *AnsiballZ_*) exec %s %s/counting.py "$@" ;; *) exec %s "$@" ;; esac
""" % (sys.executable, PLACE, sys.executable)


def ansible(program, *arguments, expected=(0,), library=None):
    env = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1", ANSIBLE_PIPELINING="false")
    if library:
        env["ANSIBLE_LIBRARY"] = str(library)
    argv = [str(Path(sys.executable).parent / program), *map(str, arguments)]
    done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode not in expected:
        sys.exit("%s: exit %d\n%s" % (" ".join(argv), done.returncode, done.stdout[-2000:]))
    return done.stdout


def measure(inventory, folder, runs=3):
    """inventory: of the one lab node."""
    (folder / "library").mkdir()
    (folder / "library" / "bench_empty.py").write_text(EMPTY)
    (folder / "counting.py").write_text(COUNTING)
    (folder / "python").write_text(START)
    target = ["all", "-i", inventory]
    ansible("ansible", *target, "-m", "ansible.builtin.file", "-a", "path=%s state=directory mode=0700" % PLACE)
    for name in ("counting.py", "python"):
        ansible("ansible", *target, "-m", "ansible.builtin.copy", "-a", "src=%s dest=%s/%s mode=0700" % (folder / name, PLACE, name))
    counted = ["-e", "ansible_python_interpreter=%s/python" % PLACE]
    for _run in range(runs):
        ansible("ansible", *target, "-m", "bench_empty", *counted, library=folder / "library")
        more = ["-e", "accelerator_run_root=%s/runs" % folder]
        ansible("ansible-playbook", "fleetproof.accelerator.preflight", "-i", inventory, *counted, *more, expected=(0, 2))
    lines = ansible("ansible", *target, "-m", "ansible.builtin.raw", "-a", "cat %s/out" % PLACE).splitlines()
    rows = {}
    for line in lines:
        if line.startswith("["):
            name, *values = json.loads(line)
            rows.setdefault(name, []).append(values)
    return {name: [statistics.median(column) for column in zip(*values)] for name, values in rows.items()}


def show(rows):
    empty = rows.pop("bench_empty")
    rows = {name: row for name, row in rows.items() if name.endswith("_info")}
    print("a lab node with 8 H100    own CPU s   children's CPU s   peak MiB above an empty module's %.1f (at most 24)" % (empty[2] / 1024))
    print("%-24s %8.2f      %8.2f" % ("an empty module", *empty[:2]))
    for module, (own, children, peak) in rows.items():
        print("%-24s %8.2f      %8.2f             %6.1f" % (module, own, children, (peak - empty[2]) / 1024))
    print("%-24s %8.2f      %8.2f             (own: at most 3)" % ("together", *(sum(row[place] for row in rows.values()) for place in (0, 1))))
