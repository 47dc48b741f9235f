# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `storage`: disks, what is mounted from where, room. No network file system is touched; its name in the mount table is enough."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

MOUNTS = ("/proc/1/mountinfo", "/proc/self/mountinfo")  # where the root of a node is mounted elsewhere, its mounts are those of its first process
ROOM = {
    "/": "root",
    "/var/log": "log",
    "/var/lib/containerd": "containers",
    "/var/lib/docker": "containers",
    "/var/lib/containers": "containers",
    "/var/lib/rancher": "containers",
    "/var/lib/kubelet": "containers",
    "/tmp": "temporary",
    "/dev/shm": "shared_memory",
}
NETWORK = frozenset(
    str.split("nfs nfs4 cifs smb3 smbfs ceph lustre gpfs beegfs glusterfs afs 9p virtiofs ocfs2 gfs2 orangefs panfs pvfs2 wekafs vast daos coda ncpfs davfs")
)
_REMOTE_FUSE = re.compile(r"fuse\.(?!lxcfs|fuse-overlayfs|snapfuse|squashfuse|gvfsd|portal|ntfs|exfat|mergerfs|osxfs|grpcfuse)")
_VIRTUAL = frozenset(
    str.split(
        "proc sysfs cgroup cgroup2 devpts devtmpfs mqueue hugetlbfs debugfs tracefs securityfs pstore bpf configfs fusectl efivarfs binfmt_misc autofs"
        " rpc_pipefs nsfs selinuxfs ramfs tmpfs overlay squashfs fuse.lxcfs fuse.snapfuse nfsd resctrl iso9660 udf erofs cramfs"
    )
)
_INNER = re.compile(
    r"/(?:var/lib/(?:kubelet/(?:pods|plugins)|docker/(?:overlay2|containers)|containers/storage)|run/(?:containerd|netns|user|docker)|snap|var/snap)/"
)
_ESCAPE = re.compile(r"\\([0-7]{3})")
_NO_DISK = re.compile(r"(?:loop|ram|zram|sr|fd|dm-|md)\d|nvme\d+c\d+n\d+\Z")
_KEPT = 64


def mounts(host):
    """Every mount, in the order of the table; Documentation/filesystems/proc.rst, 3.5."""
    answer = host.read_text(MOUNTS[0])
    if not answer.ok or not answer.value:
        answer = host.read_text(MOUNTS[1])
    if not answer.ok:
        return unknown(answer.reason)
    found = []
    for line in answer.value.splitlines():
        left, dash, right = line.partition(" - ")
        left, right = left.split(" "), right.split(" ")
        if not dash or len(left) < 6 or len(right) < 3:
            continue
        path, source = (_ESCAPE.sub(lambda m: chr(int(m.group(1), 8)), text) for text in (left[4], right[1]))
        own, whole = left[5].split(","), right[2].split(",")
        found.append({"path": path, "device": left[2], "type": right[0], "source": source, "read_only": "ro" in own, "whole_read_only": "ro" in whole})
    return found


def mount_of(table, path):
    """The mount that holds a path: the longest that begins it, of equals the last."""
    best = None
    for one in table:
        at = one["path"].rstrip("/")
        if (path == one["path"] or path.startswith(at + "/")) and (best is None or len(one["path"]) >= len(best["path"])):
            best = one
    return best


def resolve(host, table, path):
    """path with its links followed, up to the first component on a network file system: a link to one must not hide it."""
    done, left, links = "", path.split("/")[::-1], 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        step = done + "/" + part
        if is_network((mount_of(table, step) or {"type": ""})["type"]):
            return "/".join([step, *left[::-1]])
        link = host.readlink(step)
        if link.ok and links < 40:
            links += 1
            left += link.value.split("/")[::-1]
            done = "" if link.value.startswith("/") else done
        else:
            done = step
    return done or "/"


def is_network(kind):
    return kind in NETWORK or bool(_REMOTE_FUSE.match(kind))


def shown(table):
    """Mounts worth telling: file systems that keep data, each device once, and those of the network; not what containers mount for themselves."""
    found, seen = [], set()
    # The whole file system read-only below a mount that was asked to be written: the kernel did that, after an error.
    turned = {one["device"] for one in table if one["whole_read_only"] and not one["read_only"]}
    for one in table:
        network = is_network(one["type"])
        if one["type"] in _VIRTUAL or _INNER.match(one["path"]) or (not network and one["device"] in seen) or len(found) >= _KEPT:
            continue
        seen.add(one["device"])
        source = "" if network else one["source"]  # a server's name says nothing that is judged
        found.append(
            {
                "path": one["path"],
                "type": one["type"],
                "source": source,
                "network": network,
                "read_only": one["read_only"],
                "turned_read_only": one["device"] in turned,
            }
        )
    return found


def _room(host, path, purpose, mount):
    entry = {
        "path": path,
        "purpose": purpose,
        "mount": mount["path"] if mount else unknown("in no mount"),
        "type": mount["type"] if mount else unknown("in no mount"),
    }
    if mount and is_network(mount["type"]):
        nothing = not_applicable("a network file system is not touched")
        return dict(entry, **dict.fromkeys(("size_gib", "free_gib", "inodes", "inodes_free"), nothing))
    answer = host.statvfs(path)
    told = answer.value if answer.ok and all(isinstance(answer.value.get(key), int) for key in ("size", "free", "inodes", "inodes_free")) else None
    entry.update({key + "_gib": round(told[key] / 2**30, 2) if told else unknown(answer.reason) for key in ("size", "free")})
    for key in ("inodes", "inodes_free"):
        entry[key] = (
            unknown(answer.reason) if told is None else told[key] if told["inodes"] else not_applicable("the file system has no fixed number of inodes")
        )
    return entry


def directories(host, table, named):
    found = []
    for path, purpose in [*ROOM.items(), *((path, "named") for path in named if path not in ROOM)]:
        mount = mount_of(table, resolve(host, table, path))
        there = None if mount and is_network(mount["type"]) else host.exists(path)
        if there is None or (there.ok and there.value):
            found.append(_room(host, path, purpose, mount))
        elif not there.ok or purpose == "named":
            found.append({"path": path, "purpose": purpose, "problem": there.reason if not there.ok else "there is no such directory"})
    return found


def _errors(host):
    """{device: {count, last}} of file systems; last: seconds since the epoch."""
    told = {name: host.listdir("/sys/fs/" + name) for name in ("ext4", "btrfs", "xfs")}
    if all(answer.status == ABSENT for answer in told.values()):
        return {}
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import file_systems  # only where there is one of them

    return file_systems.read(host, told)


def _arrays(host):
    answer = host.read_text("/proc/mdstat", 1 << 18)
    if not answer.ok or "md" not in answer.value:
        return [] if answer.ok or answer.status == ABSENT else unknown(answer.reason)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import software_raid  # only where there is one

    return software_raid.parse(answer.value)


def _cache(host, table, path):
    if not path:
        return not_applicable("no path of a key-value cache is named (host_kv_cache_path)")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cache_path  # only where one is named

    return cache_path.read(host, table, path)


def collect(host, table, named=(), cache_path=None):
    section = {"arrays": _arrays(host), "file_system_errors": _errors(host)}
    if not isinstance(table, list):
        section.update(dict.fromkeys(("mounts", "directories", "kv_cache"), table))
    else:
        section.update(mounts=shown(table), directories=directories(host, table, named), kv_cache=_cache(host, table, cache_path))
    listing = host.listdir("/sys/block")
    if not listing.ok:
        return dict(section, **dict.fromkeys(("disks", "controllers", "health"), unknown(listing.reason)))
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import disks  # only where they are listed

    return dict(section, **disks.read(host, sorted(n for n in listing.value if not _NO_DISK.match(n))))
