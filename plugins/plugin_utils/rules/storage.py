# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the storage of the host: drives, file systems, room, the path of a key-value cache."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.hardware import guest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.when import epoch

_REMOTE = ("tcp", "rdma", "fc", "loop", "iscsi", "rbd", "nbd", "drbd")
_MEMORY = ("tmpfs", "ramfs")
_NVME = "vendor document: NVM Express Base Specification, SMART / Health Information"
_TEMPERATURE = 2  # bit of the critical warning
_BITS = (
    "spare blocks are used up",
    "temperature",
    "not reliable any more",
    "read-only",
    "its backup of volatile memory failed",
    "persistent memory is read-only",
)


def _storage(view):
    return view.section("storage")


# States of a disk of SCSI and of an NVMe controller in which nothing is read from it; those that pass are of a reset that is under way.
_PASSING = ("resetting", "connecting", "blocked", "quiesce")
_NOT_IN_USE = ("dead", "deleting", "deleted", "cancel", "offline", "transport-offline", *_PASSING)


@rule(
    id="kv-cache-path",
    layer=1,
    level="fail",
    title="The key-value cache would lie on a drive of the node",
    reads=("storage",),
    scope="node",
    remedy="Put the cache on a local NVMe drive, and name that path (accelerator_kv_cache_path).",
)
def kv_cache_path(view, p):
    cache = _storage(view).facts("kv_cache")
    path, kind = cache.text("path"), cache.text("type")
    wanted = expectation("a local NVMe drive", origin="suite: Infera preflight: a cache on anything else is slow")
    if cache.flag("network"):
        return found("%s lies on storage of the network (%s)" % (path, kind), kind, wanted)
    if not cache.flag("present"):
        return found("%s: there is no such directory" % path, "absent", wanted)
    if kind in _MEMORY:
        return found("%s lies in memory (%s)" % (path, kind), kind, wanted, level="info")
    transports = [disk.text("transport") for disk in cache.objects("disks")]
    remote = sorted(set(transports) & set(_REMOTE))
    if remote:
        return found("%s lies on storage of the network (%s)" % (path, ", ".join(remote)), ", ".join(remote), wanted)
    if not transports:
        return unknown("%s: on no disk that is seen" % path)
    if set(transports) != {"pcie"}:
        # In a guest the hypervisor hides what lies below its disks.
        guest(view)
        return found("%s lies on a disk that is no NVMe drive: %s" % (path, ", ".join(sorted(set(transports)))), ", ".join(transports), wanted, level="warn")
    return PASSED


@rule(
    id="file-system-writable",
    layer=1,
    level="fail",
    title="No file system was turned read-only",
    reads=("storage",),
    scope="node",
    remedy="The kernel does this after an error: look at its log, check the drive and the file system, then mount it again.",
    follows=("kernel-storage-errors", "drive-state", "drive-health", "raid-arrays"),
)
def file_system_writable(view, p):
    turned = [m for m in _storage(view).objects("mounts") if m.maybe("flag", "turned_read_only") and not m.maybe("flag", "network")]
    if turned:
        shown = ", ".join("%s (%s)" % (m.maybe("text", "path"), m.maybe("text", "type")) for m in turned[:6])
        origin = "vendor document: Linux Documentation/filesystems/ext4: errors=remount-ro"
        return found("Mounted to be written, and read-only since: %s" % shown, len(turned), expectation(0, "file systems", origin))
    return PASSED


@rule(
    id="file-system-errors",
    layer=1,
    level="warn",
    title="File systems have counted no error",
    reads=("storage", "host"),
    scope="node",
    remedy="Check the file system (e2fsck at the next start clears its counter; btrfs scrub, then btrfs device stats -z); look at the drive's health.",
    follows=("file-system-writable", "kernel-storage-errors"),
)
def file_system_errors(view, p):
    told = _storage(view).facts("file_system_errors")
    counted, silent, uncounted = [], None, None
    for name, entry in sorted(told.data.items()):
        if entry.__class__ is dict and entry.get("count") != 0:
            try:
                counted.append((name, told.number(name, "count"), told.maybe("number", name, "last")))
            except NoAnswer as no:
                silent, uncounted = (no.reason, uncounted) if no.outcome == "unknown" else (silent, no.reason)
    if not counted:
        if silent is not None:
            return unknown(silent)
        # What counts nothing proves nothing; it does not arise where no other file system counts.
        plain = any(entry.__class__ is dict and entry.get("count") == 0 for entry in told.data.values())
        if not plain:
            return not_applicable(uncounted or "no file system that counts its errors")
        return PASSED
    start = epoch(view.section("host").maybe("text", "kernel", "boot_time"))
    shown = ", ".join("%s (%d)" % (name, count) for name, count, _last in counted[:6])
    # What was before this start stands in the counter until somebody checks the file system.
    old = start is not None and all(last is not None and last < start for _name, _count, last in counted)
    origin = "vendor document: Linux Documentation/ABI/testing/sysfs-fs-ext4; btrfs documentation, sysfs interface: error_stats"
    text = "File systems have errors%s: %s" % (" from before this start" if old else "", shown)
    return found(text, shown, expectation(0, origin=origin), level="info" if old else None)


@rule(
    id="disk-room",
    layer=1,
    level="warn",
    title="Room on the file systems of system, containers, logs and models",
    reads=("storage",),
    scope="node",
    remedy="Remove images, logs and caches that nobody needs, or give the directory a file system of its own.",
    parameters={
        "least_percent": Parameter("number", 10, "%", "vendor document: Kubernetes, node-pressure eviction: nodefs.available below 10 %"),
        "enough_gib": Parameter("number", 100, "GiB", "our choice: as much room is enough for what is no container's, however large the file system"),
        "least_inodes_percent": Parameter("number", 5, "%", "vendor document: Kubernetes, node-pressure eviction: nodefs.inodesFree below 5 %"),
    },
)
def disk_room(view, p):
    short, problems, seen = [], [], set()
    mounts = _storage(view).objects("mounts") if _storage(view).maybe("list", "mounts") else []
    fixed = {mount.maybe("text", "path") for mount in mounts if mount.maybe("flag", "read_only")}  # an image is as full as it was made
    for entry in _storage(view).objects("directories"):
        path, kind = entry.text("path"), entry.maybe("text", "type")
        if "problem" in entry.data:
            problems.append("%s: %s" % (path, show(entry.data["problem"])))
            continue
        mount = entry.maybe("text", "mount") or path
        containers = entry.maybe("text", "purpose") == "containers"
        if kind in (*_MEMORY, "devtmpfs", "squashfs") or mount in fixed or (mount, containers) in seen:
            continue
        seen.add((mount, containers))
        try:
            size, free = entry.number("size_gib"), entry.number("free_gib")
        except NoAnswer as no:
            if no.outcome == "unknown":
                problems.append(no.reason)
            continue
        if size > 0 and free < size * p.least_percent / 100 and (containers or free < p.enough_gib):
            short.append("%s has %.3g of %.4g GiB left" % (path, free, size))
        inodes, left = entry.maybe("number", "inodes"), entry.maybe("number", "inodes_free")
        if inodes and left is not None and left < inodes * p.least_inodes_percent / 100:
            short.append("%s has %d of %d inodes left" % (path, left, inodes))
    if short:
        return found("; ".join(sorted(set(short))[:6]), len(set(short)), p.expected("least_percent"))
    return unknown("; ".join(problems[:4])) if problems else PASSED


@rule(
    id="shared-memory",
    layer=1,
    level="warn",
    title="/dev/shm is large enough for communication libraries",
    reads=("storage",),
    scope="node",
    remedy="Mount it larger (mount -o remount,size=64G /dev/shm), also in the runtime's containers.",
    parameters={"least_gib": Parameter("number", 8, "GiB", "suite: Primus: /dev/shm of at least 8 GiB")},
)
def shared_memory(view, p):
    if view.policy.nothing_expected:
        return not_applicable("no accelerator is expected on this node")
    entry = next((e for e in _storage(view).objects("directories") if e.maybe("text", "path") == "/dev/shm"), None)
    if entry is None:
        return found("There is no /dev/shm", "absent", p.expected("least_gib"))
    size = entry.number("size_gib")
    if size < p.least_gib:
        return found("/dev/shm has %.3g GiB" % size, size, p.expected("least_gib"))
    return PASSED


def _drives(view):
    """(drives that told their health, [(name, why, whether it refused)] of the others)."""
    told, silent = [], []
    for drive in _storage(view).objects("health"):
        name = drive.text("name")
        if "problem" in drive.data:
            silent.append((name, show(drive.data["problem"], 200), drive.data.get("refused") is True))
        else:
            told.append((name, drive))
    return told, silent


def _rest(silent):
    """The outcome where nothing was found: unknown as long as a drive did not tell."""
    if silent:
        return unknown("%d drives did not tell: %s: %s" % (len(silent), silent[0][0], silent[0][1]))
    return PASSED


@rule(
    id="drive-count",
    layer=1,
    level="fail",
    title="As many NVMe drives as the node should have",
    reads=("storage",),
    scope="node",
    remedy="Look for the drive that is missing in the firmware's setup and in the kernel log, and reseat or replace it; or correct the number.",
    parameters={"expected": Parameter("int", None, "drives", "not judged unless the site says how many; nodes of a cohort are compared (cohort-disks)")},
)
def drive_count(view, p):
    if p.expected is None:
        return not_applicable("no number of drives is declared (accelerator_policy_drive_count_expected)")
    # A drive may be divided into several disks, all of one controller.
    drives, unclear = set(), None
    for disk in _storage(view).objects("disks"):
        name = disk.text("name")
        if not name.startswith("nvme"):
            continue
        try:
            if disk.text("transport") == "pcie":
                drives.add(name[4:].partition("n")[0])
        except NoAnswer as no:
            unclear = unclear or no.reason
    if len(drives) == p.expected:
        return PASSED
    if unclear is not None and len(drives) < p.expected:
        return unknown(unclear)
    text = "%d NVMe drives on PCI Express, %d are expected" % (len(drives), p.expected)
    return found(text, len(drives), expectation(p.expected, "drives", "site policy"), level=None if len(drives) < p.expected else "warn")


@rule(
    id="drive-health",
    layer=1,
    level="fail",
    title="No drive warns of its end",
    reads=("storage",),
    scope="node",
    remedy="Save what it holds and replace the drive.",
)
def drive_health(view, p):
    told, silent = _drives(view)
    worst, shown = 0, []
    for name, drive in told:
        bits = drive.maybe("number", "critical_warning") or 0
        if bits or drive.maybe("flag", "passed") is False:
            words = [word for place, word in enumerate(_BITS) if int(bits) >> place & 1] or ["its own test failed"]
            worst = max(worst, 1 if bits == _TEMPERATURE and drive.maybe("flag", "passed") is not False else 2)
            shown.append("%s: %s" % (name, ", ".join(words)))
    if shown:
        text = "%d drives give a critical warning: %s" % (len(shown), "; ".join(shown[:6]))
        return found(text, len(shown), expectation(0, "drives", _NVME), level="warn" if worst == 1 else None)
    return _rest(silent)


def _empty(view):
    """NVMe controllers on PCI Express that bring no disk; one that administers others has none by design, and one of a fabric may have none."""
    section = _storage(view)
    # Reports of older runs do not tell them.
    listed = section.objects("controllers") if section.maybe("list", "controllers") is not None else ()
    return [c for c in listed if c.maybe("text", "transport") == "pcie" and c.maybe("word", "kind") not in ("admin", "discovery")]


def not_in_use(view):
    """[(name, state)] of disks that the kernel has given up, or is about to, and of NVMe controllers whose disks went with them."""
    disks = [(disk.maybe("text", "name") or "?", disk.maybe("text", "state")) for disk in (*_storage(view).objects("disks"), *_empty(view))]
    return [(name, state.partition(" ")[0]) for name, state in disks if state is not None and state.partition(" ")[0] in _NOT_IN_USE]


@rule(
    id="drive-state",
    layer=1,
    level="fail",
    title="The kernel uses every drive",
    reads=("storage",),
    scope="node",
    remedy="See why in the kernel log; a cold start may bring it back, and one that goes again is replaced.",
)
def drive_state(view, p):
    lost = not_in_use(view)
    if lost:
        shown = ", ".join("%s is %s" % pair for pair in lost[:6])
        passing = all(state in _PASSING for _name, state in lost)
        wanted = expectation("live or running", origin="vendor document: Linux drivers/nvme/host/sysfs.c and drivers/scsi/scsi_sysfs.c")
        return found("%d drives are not in use: %s" % (len(lost), shown), shown, wanted, level="warn" if passing else None)
    told, silent = 0, None
    unread = _storage(view).data.get("controllers")
    if unread.__class__ is dict and "unknown" in unread:  # whether one died with its disks is not known
        return unknown(show(unread["unknown"], 200))
    for disk in _storage(view).objects("disks"):
        try:
            disk.text("state")
            told += 1
        except NoAnswer as no:
            silent = no.reason if no.outcome == "unknown" else silent
    if silent:
        return unknown(silent)
    return PASSED if told else not_applicable("no drive that tells its state")


@rule(
    id="drive-namespaces",
    layer=1,
    level="warn",
    title="Every NVMe drive on PCI Express brings a disk",
    reads=("storage",),
    scope="node",
    remedy="See why in the kernel log; give a drive that works a namespace (nvme create-ns, nvme attach-ns), or replace it.",
    follows=("drive-state", "kernel-storage-errors"),
)
def drive_namespaces(view, p):
    _storage(view).list("controllers")
    # One that the kernel has given up is the other rule's.
    given_up = {name for name, _state in not_in_use(view)}
    bare = [c for c in _empty(view) if c.maybe("text", "name") not in given_up]
    if bare:
        named = ["%s (%s)" % (c.maybe("text", "name") or "?", ", ".join(filter(None, (c.maybe("text", "model"), c.maybe("text", "address"))))) for c in bare]
        wanted = expectation("one namespace or more", origin="vendor document: NVM Express Base Specification, namespaces")
        return found("%d drives have no namespace: %s" % (len(bare), "; ".join(named[:6])), len(bare), wanted)
    if any(disk.maybe("text", "name").startswith("nvme") for disk in _storage(view).objects("disks") if disk.maybe("text", "name")) or given_up:
        return PASSED
    return not_applicable("no NVMe drive")


@rule(
    id="drive-wear",
    layer=1,
    level="warn",
    title="Drives are not worn out, and have lost nothing",
    reads=("storage",),
    scope="node",
    remedy="Plan to replace the drive. One with media errors has returned wrong or no data: look at what it holds.",
    follows=("drive-health",),
    parameters={
        "most_percent": Parameter("number", 90, "%", "our choice: 100 is what the maker promised (%s)" % _NVME),
        "media_errors": Parameter("int", 0, "errors", _NVME),
    },
)
def drive_wear(view, p):
    told, silent = _drives(view)
    shown = []
    for name, drive in told:
        used, errors = drive.maybe("number", "percent_used"), drive.maybe("number", "media_errors")
        spare, least = drive.maybe("number", "spare_percent"), drive.maybe("number", "spare_threshold_percent")
        if used is not None and used >= p.most_percent:
            shown.append("%s: %d %% of its endurance is used" % (name, used))
        if errors is not None and errors > p.media_errors:
            shown.append("%s: %d media errors" % (name, errors))
        if spare is not None and least and spare <= least:  # disks of a cloud tell 0 of 0
            shown.append("%s: %d %% of its spare blocks are left" % (name, spare))
    if shown:
        return found("; ".join(shown[:6]), len(shown), p.expected("most_percent"))
    return _rest(silent)


@rule(
    id="drive-log",
    layer=1,
    level="warn",
    title="Every drive's health can be believed",
    reads=("storage",),
    scope="node",
    remedy="Update the drive's firmware; a drive that lost its log, or does not give it, is replaced before it fails unseen.",
)
def drive_log(view, p):
    told, silent = _drives(view)
    if view.missing("host") is None and view.section("host").maybe("text", "virtualization") not in (None, "none"):
        # A hypervisor's disks need not keep a log.
        silent = [(name, why, False) for name, why, _refused in silent]
        told = []
    shown = ["%s: its log says that it was never used" % name for name, drive in told if drive.maybe("flag", "implausible")]
    shown += ["%s does not give its log (%s)" % (name, why) for name, why, refused in silent if refused]
    if shown:
        return found("; ".join(shown[:6]), len(shown), expectation("a plausible log", origin=_NVME))
    return _rest(silent)


@rule(
    id="raid-arrays",
    layer=1,
    level="warn",
    title="RAID arrays are whole",
    reads=("storage",),
    scope="node",
    remedy="Replace the member that failed and add the new one (mdadm --add).",
    follows=("drive-health", "drive-state", "kernel-storage-errors"),
)
def raid_arrays(view, p):
    arrays = _storage(view).objects("arrays")
    if not arrays:
        return not_applicable("no RAID of the kernel")
    shown, broken = [], False
    for array in arrays:
        wanted, working = array.maybe("number", "wanted"), array.maybe("number", "working")
        name, state = array.maybe("text", "name") or "?", array.maybe("text", "state")
        if state == "inactive":
            broken = True
            shown.append("%s is inactive" % name)
        elif wanted is not None and working is not None and working < wanted:
            action = array.maybe("text", "action")
            shown.append("%s has %d of %d members%s" % (name, working, wanted, ", %s runs" % action if action else ""))
        elif array.maybe("list", "failed"):
            shown.append("%s: %s failed" % (name, ", ".join(array.texts("failed"))))
    if shown:
        origin = "vendor document: Linux Documentation/admin-guide/md.rst"
        return found("; ".join(shown[:6]), len(shown), expectation(0, "arrays", origin), level="fail" if broken else None)
    return PASSED
