# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Own CPU and memory of reading a kernel log: what a stand-in journalctl prints is folded by a live host, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_paths

JOURNAL = """#!{python}
import sys
out, buffer = sys.stdout, []
for n in range({number}):
    buffer.append("%.6f node07 kernel: {text}\\n" % ((1764400000 + n / 2, ) + (n, ) * {numbers}))
    if len(buffer) == 2000 or n == {number} - 1:
        out.write("".join(buffer))
        buffer.clear()
"""
READ = """
import resource, sys
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
empty = peak()
host = LiveHost(deadline=100, path=sys.argv[1])
section = kernel_log.collect(host)
own = resource.getrusage(resource.RUSAGE_SELF)
print(section["status"], section["lines"], len(section["events"]), "%.2f %.1f" % (own.ru_utime + own.ru_stime, (peak() - empty) / 1024))
"""
LOGS = (
    ("equal lines", 800000, "NVRM: Xid (PCI:0000:9b:00): 95, pid=4711, name=python, Uncontained", 0),
    ("lines, each another one", 200000, "NVRM: Xid (PCI:0000:9b:00): 95, pid=%d, name=p%d, Uncontained: 0x%x", 3),
    ("lines of no interest", 200000, "audit: type=1400 audit(%d.1:%d): apparmor=STATUS pid=%d", 3),
    ("line", 1, "Linux version 6.8.0", 0),
)


def measure():
    """[(what, lines, status, own CPU seconds with start-up, MiB above a module that was only loaded)]."""
    env = dict(os.environ, PYTHONPATH=str(bench_paths.ROOT / ".cache" / "collections"))
    rows = []
    for what, number, text, numbers in LOGS:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "journalctl"
            program.write_text(JOURNAL.format(python=sys.executable, number=number, text=text, numbers=numbers))
            program.chmod(0o755)
            done = subprocess.run([sys.executable, "-c", READ, folder], env=env, capture_output=True, text=True, check=True)
        status, lines, _events, cpu, peak = done.stdout.split()
        rows.append((what, int(lines), status, float(cpu), float(peak)))
    return rows


def show():
    rows = measure()
    start = rows[-1][3]
    for what, lines, status, cpu, peak in rows:
        print("%9d %-24s %-8s %6.2f s own CPU above start-up   %5.1f MiB (at most 24)" % (lines, what, status, cpu - start, peak))


if __name__ == "__main__":
    show()
