# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process with a /dev and a device cgroup of its own, as an engine makes them, loses its nodes for real. Skipped where cgroup 1 cannot be written."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import container_devices

BASE = Path("/sys/fs/cgroup/devices")
IDENT = "f1ee7%059x" % os.getpid()
NAME = "nvidia-t%d" % os.getpid()  # other tests may make the nodes of a card on this machine
# Its nodes: numbers that the kernel serves (of /dev/null, /dev/zero), and one that no driver has.
INSIDE = " && ".join([
    "mount -t tmpfs t /dev", "mknod /dev/{name}-ctl c 1 3", "mknod /dev/{name}-0 c 1 5", "mknod /dev/{name}-uvm c {free} 0", "mknod /dev/null c 1 3",
    "echo up", "exec sleep 100",
])  # fmt: skip


@pytest.fixture
def container():
    """(pid, its device cgroup), without the node whose number no driver has."""
    pod = BASE / "kubepods" / ("pod%d" % os.getpid())
    cgroup = pod / IDENT
    try:
        cgroup.mkdir(parents=True)
    except OSError as error:
        pytest.skip("no device cgroup can be made: %s" % error)
    if not (cgroup / "devices.list").exists():
        cgroup.rmdir()
        pytest.skip("cgroup 1 has no devices here")
    majors = container_devices._majors(Path("/proc/devices").read_text())
    free = min(set(range(240, 500)) - set(majors))
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", INSIDE.format(free=free, name=NAME)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = process.stdout.readline()
        if said != "up\n":
            pytest.skip("no mount namespace with nodes of its own: %s" % said)
        (cgroup / "cgroup.procs").write_text(str(process.pid))
        yield process.pid, cgroup, free
    finally:
        process.kill()
        process.wait()
        for path in (cgroup, pod, pod.parent):
            for _attempt in range(50):
                try:
                    path.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.05)
                else:
                    break


def mine(found):
    return sorted((one["pid"], one["device"], one["numbers"], one["reason"]) for one in found["lost"] if one["container"] == IDENT[:12])


def test_what_a_container_loses(container):
    pid, cgroup, free = container
    host = LiveHost()
    try:
        gone = (pid, "/dev/%s-uvm" % NAME, "%d:0" % free, "no driver has this number")
        recording = RecordingHost(host)
        found = container_devices.read(recording, 1)
        assert mine(found) == [gone] and found["with_devices"] >= 1
        assert container_devices.read(ReplayHost(recording.recording()), 1) == found

        (cgroup / "devices.deny").write_text("a")
        (cgroup / "devices.allow").write_text("c 1:5 rw")
        refused = (pid, "/dev/%s-ctl" % NAME, "1:3", "refused by its device cgroup")
        assert mine(container_devices.read(host, 1)) == sorted([gone, refused])
        inside = "/proc/%d/root/dev/%s-ctl" % (pid, NAME)
        joined = "echo $$ > %s/cgroup.procs && exec 3< %s" % (cgroup, inside)
        assert subprocess.run(["sh", "-c", joined], capture_output=True, check=False).returncode != 0  # the kernel says the same
    finally:
        host.close()


def test_below_a_mounted_root_it_is_not_told(container):
    """There /proc/<pid>/root leads to the mounted root itself: all of it would be taken for the container's."""
    host = LiveHost(root="/proc/1/root" if os.access("/proc/1/root", os.R_OK) else "/proc/self/root")
    try:
        found = container_devices.read(host, 1)
        assert "unknown" in found or not mine(found)
    finally:
        host.close()
