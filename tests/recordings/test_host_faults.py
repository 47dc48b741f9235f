# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded server with accelerators: healthy, and with one fault of its host each; what is read, and what is found, from end to end."""

from __future__ import annotations

import functools
import json

import demo
import host_samples
import nine
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import hardware, node_services
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from host_samples import DRIVER, NEXT, RELEASE, module, smbios, wtmp

OPTIONS = {"kv_cache_path": "/data", "directories": ["/data"]}
SDA = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/device/"
MC0 = hardware.EDAC + "/mc0/"
BTRFS = "/sys/fs/btrfs/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9/"
MINE = (
    "recorded-errors", "machine-checks", "drive-count", "cpu-throttled", "cpu-idle-states", "vendor-daemons", "open-files-limit",
    "memory-uncorrected", "memory-corrected", "memory-offline", "memory-modules", "memory-installed", "cpu-microcode", "cpu-governor", "cpu-mitigations",
    "bmc-sensors", "bmc-events", "kv-cache-path", "file-system-writable", "file-system-errors", "disk-room", "shared-memory", "drive-health", "drive-wear",
    "drive-log", "drive-state", "drive-namespaces", "raid-arrays",
    "kernel-parameters", "kernel-command-line", "numa-balancing", "huge-pages-reserved", "swap-off", "process-limit",
    "service-limits", "driver-built", "driver-next-kernel", "driver-on-disk", "driver-loadable", "driver-installed-once", "service-failed", "service-down",
    "service-versions", "time-daemons", "own-name", "unexpected-restart", "processes-stuck", "zombies",
)  # fmt: skip


@functools.cache
def bare():
    return nine.recording(nine.PARTS["nvidia"]())


def judged(changes=None, told=None, statvfs=None, options=None, **host):
    recorded = host_samples.on(bare(), changes, told, statvfs)
    recorded["host"].update(host)
    sections = demo.read(recorded)
    sections.update(json.loads(json.dumps(MODULES["host_info"].collect(ReplayHost(recorded), dict(OPTIONS, **(options or {}))))))
    return demo.Judged("n1", sections, {}), sections


def found(told):
    return {f["rule"]: f["level"] for f in told.findings if f["rule"] in MINE}


def mounted(data):
    """data: the line of /data."""
    return {"/proc/1/mountinfo": host_samples.MOUNTS.replace("41 27 259:3 / /data rw,relatime shared:20 - xfs /dev/nvme0n1p1 rw,attr2", data)}


def smart(**changes):
    return {"nvme3": {"stdout": json.dumps(dict(host_samples.SMART, **changes))}}


def test_a_healthy_server_has_nothing_and_every_rule_has_an_answer():
    told, sections = judged()
    assert found(told) == {}
    assert demo.misfits(sections) == []
    silent = {rule: told.counts[rule] for rule in MINE if told.counts[rule][2] or told.counts[rule][4]}
    assert silent == {}
    passed = {rule for rule in MINE if told.counts[rule][0]}
    # None is asked for; AMD's processors do not count what heat does; NVIDIA asks for no idle state, and for daemons by rules of their own.
    assert set(MINE) - passed == {"huge-pages-reserved", "drive-count", "cpu-throttled", "cpu-idle-states", "vendor-daemons"}
    assert sections["hardware"]["memory_modules"]["installed_mib"] == 16 * 65536
    assert sections["storage"]["kv_cache"]["disks"] == [{"name": "nvme0n1", "transport": "pcie", "rotational": False}]


@pytest.mark.parametrize("name", nine.PARTS)
def test_a_healthy_host_below_any_makers_cards_has_nothing(name):
    recorded = host_samples.on(nine.recording(nine.PARTS[name]()))
    sections = demo.read(recorded)
    sections.update(json.loads(json.dumps(MODULES["host_info"].collect(ReplayHost(recorded), OPTIONS))))
    assert found(demo.Judged("n1", sections, {})) == {}


SDR = "PSU1 Status      | 0x00              | cr\nFan 2            | 900 RPM           | nc\n"
SEL = "   1 | 11/29/2026 | 09:00:00 | Memory #0x53 | Uncorrectable ECC | Asserted\n"
RECORD = "Memory controller events summary:\n\t%s on DIMM Label(s): 'CPU0 DIMM 3' location: 0:3:-1:-1 errors: 2\n\nNo MCE errors.\n"
DKMS = "/var/lib/dkms/nvidia/%s" % DRIVER
BLOCK = "/sys/block/"
NVME3 = {
    "/sys/block": {"dir": ["loop1", "md0", "sda", *("nvme%dn1" % n for n in range(8) if n != 3)]},
    "/sys/class/nvme/nvme3": {"dir": ["transport", "model", "firmware_rev", "state", "address", "cntrltype"]},
    "/sys/class/nvme/nvme3/address": "0000:44:00.0\n",
    "/sys/class/nvme/nvme3/cntrltype": "io\n",
}
RAID = {
    "/sys/dev/block/9:0": {"link": "../../devices/virtual/block/md0"}, BLOCK + "md0/slaves": {"dir": ["sda"]}, BLOCK + "sda/slaves": {"dir": []},
}  # fmt: skip
POISONED = host_samples.files()["/proc/meminfo"].replace("HardwareCorrupted:     0", "HardwareCorrupted:     8")
FAULTS = {
    "uncorrected memory error": ({MC0 + "ue_count": "1\n", MC0 + "dimm0/dimm_ue_count": "1\n"}, {}, {"memory-uncorrected": "fail"}),
    "many corrected": ({MC0 + "ce_count": "700\n", MC0 + "dimm0/dimm_ce_count": "700\n"}, {}, {"memory-corrected": "warn"}),
    "few corrected": ({MC0 + "ce_count": "3\n"}, {}, {"memory-corrected": "info"}),
    "an old error in the record": ({}, {"ras": {"stdout": RECORD % "Uncorrected"}}, {"recorded-errors": "warn"}),
    "a corrected error in the record": ({}, {"ras": {"stdout": RECORD % "Corrected"}}, {"recorded-errors": "info"}),
    "a module of another size": (
        {"/sys/firmware/dmi/tables/DMI": smbios([*(module(n) for n in range(15)), module(15, 32768)])},
        {},
        {"memory-modules": "warn"},
    ),
    "a module mapped out": ({"/sys/firmware/dmi/tables/DMI": smbios([module(n) for n in range(18)])}, {}, {"memory-installed": "warn"}),
    "two microcodes": ({"/proc/cpuinfo": "flags\t: fpu\nmicrocode\t: 0x1\n\nmicrocode\t: 0x2\n"}, {}, {"cpu-microcode": "warn"}),
    "a governor that saves power": ({hardware.CPU + "/cpufreq/policy1/scaling_governor": "powersave\n"}, {}, {"cpu-governor": "info"}),
    "a power supply gone": ({}, {"sensors": {"stdout": SDR}}, {"bmc-sensors": "warn"}),
    "a failure in the event log": ({}, {"events": {"stdout": SEL}}, {"bmc-events": "warn"}),
    "turned read-only": (mounted(data="41 27 259:3 / /data rw,relatime shared:20 - xfs /dev/nvme0n1p1 ro,attr2"), {}, {"file-system-writable": "fail"}),
    "cache on NFS": (mounted(data="41 27 0:60 / /data rw shared:20 - nfs4 filer:/kv rw"), {}, {"kv-cache-path": "fail"}),
    "cache on NVMe over fabrics": ({"/sys/class/nvme/nvme0/transport": "tcp\n"}, {}, {"kv-cache-path": "fail"}),
    "cache on the RAID": (
        {**mounted(data=""), **RAID},
        {},
        {"kv-cache-path": "warn"},
    ),
    "errors of a file system": (
        {"/sys/fs/ext4/md0/errors_count": "4\n", "/sys/fs/ext4/md0/last_error_time": "1795950000\n"},
        {},
        {"file-system-errors": "warn"},
    ),
    "errors of btrfs": (
        {
            "/sys/fs/btrfs": {"dir": ["0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "features"]},
            BTRFS + "devices": {"dir": ["sdb1", "sdc1"]},
            BTRFS + "devinfo": {"dir": ["1", "2"]},
            BTRFS + "devinfo/1/error_stats": "write_errs 0\nread_errs 2\nflush_errs 0\ncorruption_errs 1\ngeneration_errs 0\n",
            BTRFS + "devinfo/2/error_stats": "write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n",
        },
        {},
        {"file-system-errors": "warn"},
    ),
    "a machine check": ({}, {"interrupts": {"stdout": " MCE:          1          1   Machine check exceptions\n"}}, {"machine-checks": "warn"}),
    "a deferred error": ({}, {"interrupts": {"stdout": host_samples.INTERRUPTS.replace("DFR:          0", "DFR:          3")}}, {"machine-checks": "warn"}),
    "a critical warning": ({}, smart(critical_warning=4), {"drive-health": "fail"}),
    "a hot drive": ({}, smart(critical_warning=2), {"drive-health": "warn"}),
    "a drive that is gone": ({"/sys/class/nvme/nvme3/state": "dead\n"}, {}, {"drive-state": "fail"}),
    "a drive that is gone with its disk": ({**NVME3, "/sys/class/nvme/nvme3/state": "dead\n"}, {}, {"drive-state": "fail"}),
    "a drive whose disk has no size left": (
        {"/sys/class/nvme/nvme3/state": "dead\n", "/sys/class/nvme/nvme3/address": "0000:44:00.0\n", BLOCK + "nvme3n1/size": "0\n"},
        {},
        {"drive-state": "fail"},
    ),
    "a drive without a disk": (NVME3, {}, {"drive-namespaces": "warn"}),
    "a target that brings no disk": ({**NVME3, "/sys/class/nvme/nvme3/transport": "tcp\n"}, {}, {}),
    "a controller for others": ({**NVME3, "/sys/class/nvme/nvme3/cntrltype": "admin\n"}, {}, {}),
    "a drive that is being reset": ({"/sys/class/nvme/nvme3/state": "resetting\n"}, {}, {"drive-state": "warn"}),
    "a disk that was taken offline": ({SDA + "state": "offline\n"}, {}, {"drive-state": "fail"}),
    "a worn drive": ({}, smart(percent_used=97), {"drive-wear": "warn"}),
    "media errors": ({}, smart(media_errors=8), {"drive-wear": "warn"}),
    "a SATA disk that fails its test": ({}, {"sda": {"rc": 8, "stdout": '{"smart_status": {"passed": false}}'}}, {"drive-health": "fail"}),
    "a log that was lost": (
        {},
        smart(power_cycles=0, data_units_read=0, data_units_written=0, controller_busy_time=0),
        {"drive-log": "warn"},
    ),
    "half a mirror": ({"/proc/mdstat": "md0 : active raid1 sda[0]\n      9 blocks super 1.2 [2/1] [U_]\n"}, {}, {"raid-arrays": "warn"}),
    "an array that does not run": ({"/proc/mdstat": "md0 : inactive sda[0](S)\n      9 blocks super 1.2\n"}, {}, {"raid-arrays": "fail"}),
    "memory is not overcommitted": ({"/proc/sys/vm/overcommit_memory": "2\n"}, {}, {"kernel-parameters": "warn"}),
    "lockups are not told": ({"/proc/cmdline": "ro nosoftlockup iommu=pt\n"}, {}, {"kernel-command-line": "warn"}),
    "huge pages are missing": ({"/proc/cmdline": "ro hugepagesz=1G hugepages=20\n"}, {}, {"huge-pages-reserved": "warn"}),
    "swap below a kubelet": ({"/proc/swaps": "Filename Type Size Used Priority\n/swap.img file 8388604 0 -2\n"}, {}, {"swap-off": "info"}),
    "the driver is built for another kernel": (
        {DKMS: {"dir": ["source", "5.15.0-1-generic"]}, "/sys/module": {"dir": ["ext4"]}},
        {},
        {"driver-built": "fail"},
    ),
    "the next kernel has no driver": (
        {"/lib/modules": {"dir": [RELEASE, NEXT]}, "/lib/modules/%s/modules.dep" % NEXT: {"exists": True}},
        {},
        {"driver-next-kernel": "warn"},
    ),
    "another driver on the disk": ({}, {"modinfo": {"stdout": "595.45.04\n"}}, {"driver-on-disk": "warn"}),
    "a blacklisted driver": (
        {"/sys/module": {"dir": ["ext4"]}, "/etc/modprobe.d/nvidia.conf": "blacklist nvidia\n"},
        {},
        {"driver-loadable": "warn"},
    ),
    "two drivers in DKMS": (
        {"/var/lib/dkms/nvidia": {"dir": [DRIVER, "535.309.01"]}, "/var/lib/dkms/nvidia/535.309.01": {"dir": [RELEASE]}},
        {},
        {"driver-installed-once": "info"},
    ),
    "a service failed": ({}, {"failed": {"stdout": "containerd.service loaded failed failed containerd\n"}}, {"service-failed": "warn"}),
    "a kubelet that does not run": ({}, {"show": {"stdout": host_samples.show(kubelet={"ActiveState": "inactive"})}}, {"service-down": "warn"}),
    "a service of no concern failed": ({}, {"failed": {"stdout": "motd-news.service loaded failed failed News\n"}}, {"service-failed": "info"}),
    "an old fabric manager": ({}, {"fabric": {"stdout": "Fabric Manager version is : 570.1.1\n"}}, {"service-versions": "fail"}),
    "two clocks": ({}, {"show": {"stdout": host_samples.show(chrony={}, ntpd={})}}, {"time-daemons": "warn"}),
    "limits of the engine": ({}, {"show": {"stdout": host_samples.show(containerd={"LimitMEMLOCK": "8388608"})}}, {"service-limits": "info"}),
    "DNS says another address": ({}, {"dns": {"stdout": "10.99.0.1 STREAM gpu-h01\n"}}, {"own-name": "warn"}),
    "a name that is loopback": ({"/etc/hosts": "127.0.1.1 gpu-h01\n"}, {}, {"own-name": "info"}),
    "no shutdown before the start": (
        {node_services.WTMP: wtmp(("2026-11-01T08:00:00Z", True), ("2026-11-28T20:05:00Z", True))},
        {},
        {"unexpected-restart": "warn"},
    ),
    "a crash was kept": (
        {"/var/crash": {"dir": ["202611290800"]}, "/var/crash/202611290800": {"type": "directory", "mtime": host_samples.seconds("2026-11-29T08:00:00Z")}},
        {},
        {"unexpected-restart": "warn"},
    ),
    "a process that hangs": (
        {"/proc/900/status": "State:\tD (disk sleep)\nvoluntary_ctxt_switches:\t41\n"},
        {"ps": {"stdout": "1 Ss init\n900 D nvidia-smi\n"}},
        {"processes-stuck": "warn"},
    ),
    "many zombies": ({}, {"ps": {"stdout": "".join("%d Z sh <defunct>\n" % (n + 10) for n in range(120))}}, {"zombies": "info"}),
    "pages taken out of use": ({"/proc/meminfo": POISONED}, {}, {"memory-offline": "warn"}),
    "unmitigated": ({hardware.CPU + "/vulnerabilities/meltdown": "Vulnerable\n"}, {}, {"cpu-mitigations": "info"}),
    "pages move between nodes": ({"/proc/sys/kernel/numa_balancing": "1\n"}, {}, {"numa-balancing": "info"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_host_is_found_alone(name):
    changes, told, expected = FAULTS[name]
    result, sections = judged(changes, told)
    assert found(result) == expected
    assert demo.misfits(sections) == []


@pytest.mark.parametrize(
    ("statvfs", "expected"),
    [
        ({"/": {"size": 900 << 30, "free": 20 << 30, "inodes": 9, "inodes_free": 8}}, {"disk-room": "warn"}),
        ({"/var/lib/containerd": {"size": 9000 << 30, "free": 200 << 30, "inodes": 9, "inodes_free": 8}}, {"disk-room": "warn"}),
        ({"/data": {"size": 9000 << 30, "free": 200 << 30, "inodes": 0, "inodes_free": 0}}, {}),  # enough for what is no container's
        ({"/data": {"size": 900 << 30, "free": 700 << 30, "inodes": 1000, "inodes_free": 20}}, {"disk-room": "warn"}),
        ({"/dev/shm": {"size": 64 << 20, "free": 64 << 20, "inodes": 9, "inodes_free": 8}}, {"shared-memory": "warn"}),
    ],
)
def test_room(statvfs, expected):
    assert found(judged(statvfs=statvfs)[0]) == expected


def heat(*packages):
    """Files of processors of which each NUMA node has two. packages: (package of its first, count, milliseconds or None) of each node."""
    files = {"/sys/devices/system/node": {"dir": ["node%d" % n for n in range(len(packages))]}}
    for number, (package, count, spent) in enumerate(packages):
        first = 2 * number
        files["/sys/devices/system/node/node%d" % number] = {"dir": ["cpulist"]}
        files["/sys/devices/system/node/node%d/cpulist" % number] = "%d-%d\n" % (first, first + 1)
        base = "%s/cpu%d/" % (hardware.CPU, first)
        files[base + "topology/physical_package_id"] = "%d\n" % package
        files[base + "thermal_throttle/package_throttle_count"] = count
        files[base + "thermal_throttle/package_throttle_total_time_ms"] = {"absent": True} if spent is None else "%d\n" % spent
    return files


@pytest.mark.parametrize(
    ("packages", "read", "expected"),
    [
        ([(0, "0\n", 0), (1, "0\n", 0)], {"0": (0, 0.0), "1": (0, 0.0)}, {}),
        ([(0, "0\n", 0), (1, "31\n", 4500)], {"0": (0, 0.0), "1": (31, 4.5)}, {"cpu-throttled": "info"}),
        ([(0, "0\n", 0), (0, "0\n", 0), (1, "90\n", 900000)], {"0": (0, 0.0), "1": (90, 900.0)}, {"cpu-throttled": "warn"}),
        ([(0, "2\n", None)], {"0": (2, None)}, {"cpu-throttled": "info"}),
    ],
)
def test_heat_that_slowed_a_package_down(packages, read, expected):
    """The first processor of each NUMA node is asked: the second socket's heat is not the first one's."""
    result, sections = judged(heat(*packages))
    told = sections["hardware"]["processors"]["package_throttles"]
    assert {name: (one["count"], one["seconds"] if isinstance(one["seconds"], float) else None) for name, one in told.items()} == read
    assert found(result) == expected
    assert demo.misfits(sections) == []


@pytest.mark.parametrize(("said", "kind"), [({"absent": True}, "not_applicable"), ({"error": "EACCES"}, "unknown"), ("many\n", "unknown")])
def test_heat_that_is_not_told_is_no_heat(said, kind):
    files = dict(heat((0, "0\n", 0)), **{hardware.CPU + "/cpu0/thermal_throttle/package_throttle_count": said})
    result, sections = judged(files)
    assert result.outcome("cpu-throttled") == kind and found(result) == {}
    assert demo.misfits(sections) == []


def test_few_files_may_be_opened():
    limits = {"memlock": ["unlimited"] * 2, "nofile": [1024, 4096], "nproc": [4126480, 4126480]}
    assert found(judged(limits=limits)[0]) == {"open-files-limit": "info"}


def test_few_processes_are_allowed():
    limits = {"memlock": ["unlimited"] * 2, "nofile": [9000, 9000], "nproc": [500, 500]}
    assert found(judged(limits=limits)[0]) == {"process-limit": "info"}


def test_the_module_built_and_not_loaded_below_secure_boot():
    changes = {"/sys/module": {"dir": ["ext4"]}, "/sys/module/module/parameters/sig_enforce": "Y\n"}
    result, _sections = judged(changes)
    assert found(result) == {"driver-loadable": "warn"}
    assert "signed modules only" in next(f for f in result.findings if f["rule"] == "driver-loadable")["summary"]


def test_nouveau_in_the_place_of_the_driver():
    assert found(judged({"/sys/module": {"dir": ["nouveau"]}})[0]) == {"driver-loadable": "warn"}


def test_an_nvme_controller_whose_disk_is_gone_is_told():
    told, sections = judged({**NVME3, "/sys/class/nvme/nvme3/state": "dead\n"})
    assert demo.misfits(sections) == []
    assert sections["storage"]["controllers"] == [
        {
            "name": "nvme3",
            "transport": "pcie",
            "state": "dead",
            "kind": "io",
            "model": "SAMSUNG MZQL27T6HBLA-00A07",
            "firmware": "GDC5602Q",
            "address": "0000:44:00.0",
        }
    ]
    assert "nvme3 is dead" in next(f["summary"] for f in told.findings if f["rule"] == "drive-state")


@pytest.mark.parametrize("silent", [{"/sys/class/nvme": {"error": "EACCES"}}, {"/sys/class/nvme/nvme3": {"error": "EIO"}}])
def test_controllers_that_could_not_be_read_are_no_healthy_ones(silent):
    told, _sections = judged(silent)
    assert [told.outcome(rule) for rule in ("drive-state", "drive-namespaces")] == ["unknown", "unknown"]


def test_two_paths_to_one_disk_are_no_drive_without_one():
    both = {
        "/sys/class/nvme/nvme3": {"dir": ["transport", "state", "nvme2c3n1"]},
        "/sys/block": {"dir": ["md0", "sda", *("nvme%dn1" % n for n in range(8) if n != 3)]},
    }
    _told, sections = judged(both)
    assert sections["storage"]["controllers"] == []


def test_a_report_of_an_older_run_is_judged_by_its_disks():
    _told, sections = judged()
    del sections["storage"]["controllers"]
    told = demo.Judged("n1", sections, {})
    assert (told.outcome("drive-state"), told.outcome("drive-namespaces")) == ("passed", "unknown")


def test_what_is_no_controller_is_none():
    _told, sections = judged({"/sys/class/nvme": {"dir": [*("nvme%d" % n for n in range(8)), "power", "model"]}})
    assert sections["storage"]["controllers"] == []
