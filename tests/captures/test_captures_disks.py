# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of lsblk, nvme list and df, turned back into /sys/block and /sys/class/nvme that both read: the disks that our reader finds there."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import disks, storage
from health_nodes import ask

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def told_by(text):
    """[{name, size in bytes, model, firmware, rotational}] of what is no partition and no volume."""
    if text.startswith("NAME="):
        rows = [dict(word.split("=", 1) for word in shlex.split(line)) for line in text.splitlines()]
        rows = [{key.lower(): value for key, value in row.items()} for row in rows]
    else:
        document = json.loads(text)
        rows = document.get("blockdevices")
        if rows is None:
            rows = [
                {"name": d["DevicePath"], "type": "disk", "size": d["PhysicalSize"], "model": d["ModelNumber"], "rev": d["Firmware"]}
                for d in document["Devices"]
            ]
    found = []
    for row in rows:
        if row.get("type", "disk") in ("disk", "loop"):
            size = row.get("size", 0)
            if not str(size).isdigit():
                size = float(size[:-1]) * UNITS[size[-1]]
            rotational = row.get("rota") in (True, "1")
            found.append({"name": row["name"].rpartition("/")[2], "size": int(size), "model": row.get("model"), "rev": row.get("rev"), "rota": rotational})
    return found


def machine(rows, changes=None):
    files = {disks.BLOCK: {"dir": [row["name"] for row in rows]}, disks.NVME: {"dir": []}}
    for row in rows:
        base, space = "%s/%s/" % (disks.BLOCK, row["name"]), re.match(r"(nvme\d+)n\d+\Z", row["name"])
        files.update({base + "size": "%d\n" % (row["size"] // 512), base + "queue/rotational": "%d\n" % row["rota"]})
        files[base[:-1]] = {"link": "../devices/pci0000:00/0000:00:1f.0/host0/target0:0:0/0:0:0:0/block/" + row["name"]}
        device = base + "device/"
        if space:
            device = "%s/%s/" % (disks.NVME, space.group(1))
            files[disks.NVME]["dir"].append(space.group(1))
            files.update({device[:-1]: {"dir": [row["name"], "transport"]}, device + "transport": "pcie\n"})
        for name, value in (("model", row["model"]), ("firmware_rev" if space else "rev", row["rev"])):
            files[device + name] = value + "\n" if value else {"absent": True}
        files[device + "state"] = {"absent": True}
    files.update(changes or {})
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": []})


def inventory(text):
    host = machine(told_by(text))
    names = sorted(name for name in host.listdir(disks.BLOCK).value if not storage._NO_DISK.match(name))
    return disks.Disks(host).inventory(names)


SMALL, LARGE = 960.2, 7681.5
DISKS = {
    # Six loop devices are none.
    "lsblk-J-1.json": ([SMALL] * 2 + [LARGE] * 6, {"pcie"}, {8}),
    "lsblk-J-5.json": ([3200.6], {"pcie"}, {1}),
    # One volume lies on all eight, and is counted on none.
    "lsblk-J-3.json": ([137.4] + [960.2] * 8, {"pcie", "virtio"}, {8, 1}),
    "lsblk-P-3.txt": ([959.7] + [3200.6] * 2, {"scsi", "pcie"}, {2, 1}),
    "nvme-list-2.3.json": ([4000.8] * 2, {"pcie"}, {2}),
    "nvme-list-empty.json": ([], set(), set()),
}


@pytest.mark.parametrize("name", DISKS)
def test_disks(captures, name):
    sizes, transports, numbers = DISKS[name]
    found = inventory((captures / "host" / name).read_text(encoding="utf-8"))
    assert sorted(one["size_gb"] for one in found) == sorted(sizes)
    assert {one["transport"] for one in found} == transports
    assert {sum(one["transport"] == kind for one in found) for kind in transports} == numbers
    assert not any(one["rotational"] for one in found)


def test_padded_names_of_drives(captures):
    """Two controllers that lsblk calls the same; without a size, a drive is one all the same."""
    rows = json.loads((captures / "host" / "lsblk-J-ironlib-odd-spaces.json").read_text(encoding="utf-8"))["blockdevices"]
    kernel = [row["kname"].strip().rpartition("/")[2] for row in rows]
    names = [name + "n1" if name.startswith("nvme") else name for name in kernel]
    changes = {"%s/%s/size" % (disks.BLOCK, name): {"absent": True} for name in names}
    for name, row in zip(names, rows, strict=True):
        if row["tran"] == "sata":
            changes["%s/%s" % (disks.BLOCK, name)] = {"link": "../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/" + name}
    host = machine([{"name": name, "size": 0, "model": row["model"], "rev": row["rev"], "rota": False} for name, row in zip(names, rows, strict=True)], changes)
    found = disks.Disks(host).inventory(sorted(names))
    assert [(one["name"], one["transport"], one["model"]) for one in found] == [
        ("nvme0n1", "pcie", "Micron_9300_MTFDHAL3T8TDP"), ("nvme1n1", "pcie", "Micron_9300_MTFDHAL3T8TDP"),
        ("sda", "sata", "MTFDDAV240TDU"), ("sdb", "sata", "MTFDDAV240TDU"),
    ]  # fmt: skip
    assert all(list(one["size_gb"]) == ["unknown"] for one in found)


def test_room_on_a_mapped_device(captures):
    """What df counted, as the mount table and the file system tell it; proc and sysfs have no room to be judged."""
    lines = [line.split() for line in (captures / "host" / "df-P-T-long-device.txt").read_text(encoding="utf-8").splitlines()[1:]]
    table = "".join("%d 1 253:%d / %s rw - %s %s rw\n" % (n, n, line[6], line[1], line[0]) for n, line in enumerate(lines))
    total, _used, left = (int(number) * 1024 for number in lines[0][2:5])
    room = {"size": total, "free": left, "inodes": 0, "inodes_free": 0}
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "commands": [], "statvfs": {"/": room}}
    host = ReplayHost(dict(recorded, files={storage.MOUNTS[0]: table, "/": {"exists": True, "type": "directory"}}))
    mounts = storage.mounts(host)
    assert [one["path"] for one in storage.shown(mounts)] == ["/"]
    root = next(one for one in storage.directories(host, mounts, ()) if one["path"] == "/")
    assert (root["type"], root["size_gib"], root["free_gib"]) == ("ext3", 5.75, 4.36)
    assert ask("disk-room", {"storage": {"directories": [root]}}) == [("n1", "passed", None)]


def test_blanks_around_a_model_are_none_of_it(captures):
    found = inventory((captures / "host" / "lsblk-P-3.txt").read_text(encoding="utf-8"))
    assert next(one["model"] for one in found if one["name"] == "sda") == "INSPUR"
