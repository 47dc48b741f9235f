# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of host_info: hostile and missing sources, and the traps that a public report of a comparable tool tells of."""

from __future__ import annotations

import copy
import json

import demo
import host_samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import (
    bmc,
    disks,
    node_services,
    smart,
    smbios,
    software_raid,
    storage,
    stuck_processes,
    surroundings,
    wtmp,
)

GARBAGE = ("", "\0\0\0", "[[[\n] - - -\n", "9" * 400, "é" * 70000, "a b c d e f - g h i\n" * 50, "{", "[1]", "null", '{"smartctl": 1, "smart_status": 2}')


def replay(files=(), commands=(), **more):
    document = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": dict(files), "commands": list(commands)}
    return ReplayHost(dict(document, **more))


def sections(recorded, **options):
    return json.loads(json.dumps(surroundings.collect(ReplayHost(recorded), options)))


def test_a_recording_that_holds_nothing_of_it_is_unknown_throughout_and_fits_the_schema():
    read = sections({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z"}, kv_cache_path="/data")
    assert sorted(read) == ["hardware", "kernel", "network_devices", "services", "settings", "software", "storage"]
    assert demo.misfits(read) == []
    for section, keys in (("hardware", ("memory_modules", "memory_errors", "tpm", "sensors")), ("storage", ("disks", "health", "mounts", "kv_cache"))):
        assert all("unknown" in read[section][key] for key in keys)


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_everywhere_raises_nothing_and_fits_the_schema(text):
    recorded = host_samples.machine()
    recorded["files"] = {path: text if isinstance(entry, str) else entry for path, entry in recorded["files"].items()}
    recorded["files"]["/proc/1/mountinfo"] = host_samples.MOUNTS
    for entry in recorded["commands"]:
        entry["stdout"] = text
    read = sections(recorded, kv_cache_path="/data", directories=["/data"])
    assert demo.misfits({name: data for name, data in read.items() if name != "kernel"}) == []
    recorded["files"]["/proc/1/mountinfo"] = text
    assert demo.misfits({"storage": sections(recorded)["storage"]}) == []


def test_every_command_that_hangs_is_unknown_and_the_others_still_answer():
    for victim in host_samples.commands():
        read = sections(host_samples.machine(told={victim: {"hang": True}}))
        assert demo.misfits(read) == [], victim
        assert read["hardware"]["memory_errors"]["controllers"] == 2


def test_a_network_file_system_is_never_touched():
    """Reports of fact gathering that blocks on a dead NFS mount: nothing below one is asked, only the mount table."""
    recorded = host_samples.machine({"/models": {"hang": True}, "/kv": {"hang": True}})
    recorded["files"]["/proc/1/mountinfo"] = host_samples.MOUNTS + "50 27 0:70 / /models rw - nfs4 f:/m rw\n51 27 0:71 / /kv rw - fuse.juicefs j rw\n"
    read = sections(recorded, directories=["/models/llama"], kv_cache_path="/kv/cache")
    nothing = {"not_applicable": "a network file system is not touched"}
    entry = next(e for e in read["storage"]["directories"] if e["path"] == "/models/llama")
    assert entry["size_gib"] == entry["inodes_free"] == nothing
    assert (entry["mount"], entry["type"]) == ("/models", "nfs4")
    assert read["storage"]["kv_cache"] == {"path": "/kv/cache", "present": nothing, "mount": "/kv", "type": "fuse.juicefs", "network": True, "disks": []}


def test_a_link_to_a_network_file_system_does_not_hide_it():
    """The path that is named is a link of the local disk; what lies behind it is what counts."""
    links = {"/kv": {"link": "data/../srv/kv"}, "/srv/kv": {"link": "/models/kv"}, "/models/kv": {"hang": True}, "/var/lib/docker": {"link": "/models/docker"}}
    recorded = host_samples.machine(links)
    recorded["files"]["/proc/1/mountinfo"] = host_samples.MOUNTS + "50 27 0:70 / /models rw - nfs4 f:/m rw\n"
    read = sections(recorded, kv_cache_path="/kv")["storage"]
    assert (read["kv_cache"]["network"], read["kv_cache"]["mount"]) == (True, "/models")
    assert next(e["type"] for e in read["directories"] if e["path"] == "/var/lib/docker") == "nfs4"
    loop = host_samples.machine({"/kv": {"link": "kv"}})
    assert sections(loop, kv_cache_path="/kv")["storage"]["kv_cache"]["mount"] == "/"


def test_records_of_logins_on_arm_are_longer():
    import struct

    shape = struct.Struct("<hxxi32s4s32s256shhqqq16s24x")

    def mark(kind, user, at):
        return shape.pack(kind, 0, b"~", b"~~", user, b"6.8", 0, 0, 0, host_samples.seconds(at), 0, b"")

    data = mark(2, b"reboot", "2026-11-01T08:00:00Z") + mark(1, b"shutdown", "2026-11-02T08:00:00Z") + mark(1, b"runlevel", "2026-11-02T08:01:00Z")
    assert [b["clean"] for b in wtmp.boots(data + mark(2, b"reboot", "2026-11-02T08:05:00Z"), 0)] == [None, True]


def test_an_overlay_of_the_host_and_file_systems_of_users_are_not_of_the_network():
    for kind in ("ext4", "overlay", "fuse.lxcfs", "fuse.fuse-overlayfs", "fuseblk", "zfs"):
        assert not storage.is_network(kind)
    for kind in ("nfs", "nfs4", "ceph", "lustre", "fuse.s3fs", "fuse.glusterfs", "wekafs", "9p"):
        assert storage.is_network(kind)


def test_the_mount_of_a_path():
    table = [{"path": p, "n": n} for n, p in enumerate(("/", "/data", "/data", "/data2", "/a b"))]
    assert [storage.mount_of(table, p)["n"] for p in ("/", "/data", "/data/x", "/data2", "/database", "/a b/c")] == [0, 2, 2, 3, 0, 4]
    assert storage.mount_of([], "/") is None


def test_an_escaped_mount_point_is_read():
    (one,) = storage.mounts(replay({"/proc/1/mountinfo": "1 2 8:1 / /a\\040b rw - ext4 /dev/sda1 rw\n"}))
    assert one["path"] == "/a b"


def test_what_can_only_be_read_was_not_turned_read_only():
    lines = "1 2 11:0 / /cd rw - iso9660 /dev/sr0 ro\n2 2 7:0 / /img rw - erofs /dev/loop0 ro\n"
    lines += "3 2 8:1 / /d ro - xfs /dev/sda1 rw\n4 2 8:2 / /e ro - xfs /dev/sda2 ro\n"
    told = storage.shown(storage.mounts(replay({"/proc/1/mountinfo": lines})))
    assert [(m["path"], m["turned_read_only"]) for m in told] == [("/d", False), ("/e", False)]


def test_one_turned_read_only_is_seen_below_a_first_mount_that_is_read_only():
    lines = "3 2 8:1 /a /d ro - xfs /dev/sda1 ro\n4 2 8:1 / /e rw - xfs /dev/sda1 ro\n"
    assert [m["turned_read_only"] for m in storage.shown(storage.mounts(replay({"/proc/1/mountinfo": lines})))] == [True]


def test_mounts_of_the_process_itself_where_those_of_the_first_are_not_told():
    line = "1 2 8:1 / /%s rw - ext4 /dev/sda1 rw\n"
    for first in ({"error": "EACCES"}, {"absent": True}, ""):
        (one,) = storage.mounts(replay({"/proc/1/mountinfo": first, "/proc/self/mountinfo": line % "own"}))
        assert one["path"] == "/own"
    (one,) = storage.mounts(replay({"/proc/1/mountinfo": line % "first", "/proc/self/mountinfo": line % "own"}))
    assert one["path"] == "/first"


def test_nvme_over_fabrics_is_told_apart_by_its_controller_and_not_by_its_name():
    """A prefix nvme also matches namespaces of the network; with multipath the channel nvme0c1n1 carries the transport."""
    files = {"/sys/class/nvme": {"dir": ["nvme0", "nvme1"]}, "/sys/class/nvme/nvme0": {"dir": ["nvme0c0n1"]}, "/sys/class/nvme/nvme1": {"dir": ["nvme1n1"]}}
    files.update({"/sys/class/nvme/nvme0/transport": "rdma\n", "/sys/class/nvme/nvme1/transport": "pcie\n"})
    known = disks.Disks(replay(files))
    assert (known.transport("nvme0n1"), known.transport("nvme1n1")) == ("rdma", "pcie")
    assert "unknown" in known.transport("nvme9n1")


@pytest.mark.parametrize(
    ("link", "transport"),
    [
        ("../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "sata"),
        ("../devices/platform/host5/session3/target5:0:0/5:0:0:1/block/sda", "iscsi"),
        ("../devices/pci0000:3a/0000:3a:00.0/host1/rport-1:0-2/target1:0:0/1:0:0:0/block/sda", "fc"),
        ("../devices/pci0000:3a/0000:3b:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda", "sas"),
        ("../devices/pci0000:00/0000:00:14.0/usb1/1-2/host6/block/sda", "usb"),
        ("../devices/pci0000:00/0000:00:05.0/host2/target2:2:0/2:2:0:0/block/sda", "scsi"),
    ],
)
def test_how_a_disk_is_attached(link, transport):
    assert disks.Disks(replay({"/sys/class/nvme": {"absent": True}, "/sys/block/sda": {"link": link}})).transport("sda") == transport


def test_a_disk_below_a_mapped_device_below_raid():
    files = {"/sys/class/nvme": {"absent": True}, "/sys/block/dm-0/slaves": {"dir": ["md1"]}, "/sys/block/md1/slaves": {"dir": ["sda2", "sdb2"]}}
    for name in ("sda", "sdb"):
        files["/sys/class/block/%s2" % name] = {"link": "../../devices/x/block/%s/%s2" % (name, name)}
        files["/sys/block/%s/slaves" % name] = {"dir": []}
    files["/sys/class/block/md1"] = {"link": "../../devices/virtual/block/md1"}
    assert disks.Disks(replay(files)).below("dm-0") == ["sda", "sdb"]


def test_where_one_drive_hangs_no_other_is_asked():
    """A probe that waits for every dead drive takes its deadline once for each."""
    ask = ["nvme", "smart-log", "-o", "json", "/dev/nvme0"]
    host = replay(commands=[{"argv": ask, "hang": True}])
    first, second = smart.read(host, ["nvme0", "nvme1"], [])
    assert "no answer in time" in first["problem"] and second["problem"] == "not asked: nvme0 did not answer"


def test_the_second_tool_is_asked_where_the_first_is_missing():
    commands = [{"argv": ["nvme", "smart-log", "-o", "json", "/dev/nvme0"], "missing": True}]
    told = {"smart_status": {"passed": True}, "nvme_smart_health_information_log": {"critical_warning": 0, "temperature": 44, "percentage_used": 4}}
    commands.append({"argv": ["smartctl", "--json", "-H", "-A", "-n", "standby", "/dev/nvme0"], "rc": 0, "stdout": json.dumps(told)})
    (facts,) = smart.read(replay(commands=commands), ["nvme0"], [])
    assert (facts["temperature_c"], facts["percent_used"], facts["passed"]) == (44, 4, True)
    assert "unknown" in facts["media_errors"]


def test_newer_nvme_cli_spells_the_warning_out():
    text = json.dumps(dict(host_samples.SMART, critical_warning={"value": 5, "available_spare": 1, "ro": 0}))
    assert smart.parse_nvme(text)["critical_warning"] == 5


def test_raid_without_a_spare_part_has_no_count():
    (one,) = software_raid.parse("Personalities : [raid0]\nmd0 : active raid0 nvme1n1[1] nvme0n1[0]\n      99 blocks super 1.2 512k chunks\n")
    assert (one["level"], one["wanted"], one["failed"]) == ("raid0", None, [])
    (one,) = software_raid.parse("md5 : active (auto-read-only) raid5 sdc1[3](F) sdb1[1] sda1[0]\n 9 blocks [3/2] [UU_]\n [>..] recovery = 12.6%\n")
    assert (one["level"], one["wanted"], one["working"], one["failed"], one["action"]) == ("raid5", 3, 2, ["sdc1"], "recovery")


def test_a_container_of_a_firmware_raid_is_no_array_that_stands_still():
    text = (
        "Personalities : [raid1]\nmd126 : active raid1 nvme2n1[1] nvme1n1[0]\n      9000 blocks super external:/md127/0 [2/%d] [U%s]\n\n"
        "md127 : inactive nvme2n1[1](S) nvme1n1[0](S)\n      2402 blocks super external:imsm\n\nunused devices: <none>\n"
    )
    (one,) = software_raid.parse(text % (2, "U"))
    assert (one["name"], one["state"], one["wanted"], one["working"]) == ("md126", "active", 2, 2)
    (one,) = software_raid.parse(text % (1, "_"))
    assert one["working"] == 1
    (one,) = software_raid.parse("md3 : active raid1 sdd[0]\n      9 blocks [%s/2] [U_]\n" % ("9" * 5000))
    assert one["wanted"] is None
    (one,) = software_raid.parse("md3 : inactive sdd[0](S)\n      9 blocks super 1.2\n")
    assert one["state"] == "inactive"


def test_a_cut_table_of_modules_and_a_table_without_one():
    whole = b"\x00\x1a\x00\x00" + bytes(22) + b"V\0\0"
    assert smbios.memory(whole) == {"unknown": "SMBIOS: no memory device"}
    for cut in (b"", b"\x11", b"\x11\x02\0\0\0\0", whole + b"\x11\x5c\x00"):
        assert "unknown" in smbios.memory(cut)


def test_a_slot_without_a_module_still_says_what_would_fit():
    import base64

    table = base64.b64decode(host_samples.smbios([host_samples.module(0), host_samples.module(1, empty=True)])["base64"])
    facts = smbios.memory(table)
    assert (facts["slots"], facts["populated"], facts["installed_mib"], facts["empty"]) == (2, 1, 65536, ["P0 DIMM1"])


def marks(*entries):
    import base64

    return base64.b64decode(host_samples.wtmp(*entries)["base64"])


def test_boots_and_whether_a_shutdown_came_before():
    data = marks(("2026-11-01T08:00:00Z", True), ("2026-11-02T08:00:00Z", False), ("2026-11-02T08:05:00Z", True), ("2026-11-03T08:05:00Z", True))
    assert [b["clean"] for b in wtmp.boots(data, 0)] == [None, True, False]
    assert wtmp.boots(data[:-1], 0) == [] and wtmp.boots(b"", 0) == []


def test_what_an_image_brought_along_is_no_restart_of_this_machine():
    """A cloud image remembers how the machine it was built on ended."""
    data = marks(("2026-01-01T08:00:00Z", True), ("2026-11-03T08:05:00Z", True))
    assert wtmp.boots(data, host_samples.seconds("2026-11-03T08:05:20Z")) == [{"at": "2026-11-03T08:05:00Z", "clean": None}]


def test_a_process_that_moves_is_not_stuck():
    """One look sees a process that reads a disk as one that hangs."""
    status = "/proc/900/status"
    waits = "State:\tD (disk sleep)\nvoluntary_ctxt_switches:\t%d\n"
    ps = [{"argv": node_services.PROCESSES, "rc": 0, "stdout": "900 D+ dd\n"}, {"argv": ["sleep", "2"], "rc": 0}]
    for answers, stuck in (([41, 52], []), ([41, 41, 50], []), ([41, 41, 41], [{"pid": 900, "command": "dd"}])):
        host = replay({status: {"answers": [waits % n for n in answers]}}, ps)
        _facts, waiting = node_services.processes(host)
        assert stuck_processes.second(host, waiting, 0.0) == stuck


def test_a_minimal_ps_is_unknown():
    facts, waiting = node_services.processes(replay(commands=[{"argv": node_services.PROCESSES, "rc": 1, "stderr": "ps: bad -o argument 'stat='"}]))
    assert "unknown" in facts["zombies"] and "unknown" in facts["stuck"] and waiting == {}


def test_a_slow_answer_of_the_resolver_is_not_the_answer_that_there_is_none():
    for seconds, expected in ((0.1, []), (2.1, {"unknown": "the name servers did not answer in time"})):
        recorded = host_samples.machine(told={"dns": {"rc": 2, "stdout": "", "seconds": seconds}})
        assert sections(recorded)["services"]["names"]["dns"] == expected


def test_a_bmc_that_hangs_is_waited_for_once():
    host = replay(commands=[{"argv": bmc.EVENTS, "hang": True}])
    told = bmc.read(host)
    assert told["sensors"]["unknown"].startswith("not asked: ipmitool sel list")
    assert "unknown" in told["event_log"]


def test_an_empty_event_log_is_not_a_failure():
    commands = [{"argv": bmc.EVENTS, "rc": 1, "stderr": "SEL has no entries\n"}, {"argv": bmc.SENSORS, "rc": 0, "stdout": "Fan | 1 RPM | ok\n"}]
    commands.append({"argv": bmc.NETWORK, "rc": 1, "stderr": "Get Channel Info command failed\n"})
    told = bmc.read(replay(commands=commands))
    assert (told["event_log"], told["sensors"]) == ({"entries": 0, "events": []}, {"count": 1, "bad": []})
    assert "unknown" in told["bmc_network"]


def of_network(**changes):
    lines = host_samples.BMC_NETWORK.splitlines(keepends=True)
    return "".join(
        line.partition(":")[0] + ": %s\n" % changes[key] if (key := line.partition(":")[0].strip().replace(" ", "_")) in changes else line for line in lines
    )


@pytest.mark.parametrize(
    "suites, levels, accepted",
    [
        ("3,17", "XXXaXXXXXXXXXXX", False),
        ("0,1,2,3", "aaaaXXXXXXXXXXX", True),
        ("0,1,2,3", "XaaaXXXXXXXXXXX", False),
        ("3,17,0", "uaaXXXXXXXXXXXX", True),
        ("3,17,0", "XaaXXXXXXXXXXXX", None),  # by the number it cannot be used, by the place in the list it can
        ("", "aaaaXXXXXXXXXXX", None),
        ("0,1", "Not Available", None),
    ],
)
def test_whether_the_bmc_accepts_no_password(suites, levels, accepted):
    text = of_network(**{"RMCP+_Cipher_Suites": suites, "Cipher_Suite_Priv_Max": levels})
    found = bmc.network(text)["suite_without_authentication"]
    assert found is accepted if accepted is not None else "unknown" in found


def test_no_address_and_no_secret_of_the_bmc_is_told():
    found = bmc.network(host_samples.BMC_NETWORK)
    assert found == {"address_source": "static address", "vlan": True, "suite_without_authentication": False, "community_is_public": False}
    assert bmc.network(of_network(SNMP_Community_String="public"))["community_is_public"] is True
    assert "unknown" in bmc.network(of_network(SNMP_Community_String="[redacted]"))["community_is_public"]
    assert "unknown" in bmc.network("Invalid channel: 1\n")


def test_a_node_without_a_bmc_or_where_it_is_not_to_be_asked():
    recorded = host_samples.machine({"/dev/ipmi0": {"absent": True}})
    assert "unknown" in sections(recorded)["hardware"]["sensors"]
    assert sections(recorded, bmc=False)["hardware"]["event_log"] == {"not_applicable": "the BMC is not to be asked"}


def test_a_kernel_that_was_removed_is_not_installed():
    """Its directory stays behind for modules that somebody built."""
    assert sections(host_samples.machine())["settings"]["kernels"]["installed"] == [host_samples.RELEASE]


def test_nothing_is_changed_by_reading():
    before = host_samples.machine()
    kept = copy.deepcopy(before)
    sections(before)
    assert before == kept
