# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy server as host_info asks it: two sockets, sixteen memory modules, eight NVMe drives, a RAID of two for the system; to be broken by tests."""

from __future__ import annotations

import base64
import calendar
import copy
import json
import struct
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import (
    bmc,
    fabric_manager_log,
    hardware,
    machine_checks,
    nvidia_daemons,
    rasdaemon,
    settings,
    site_files,
    systemd_units,
)
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import node_services as services
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import services as nvidia_services

RELEASE = "6.8.0-79-generic"
NEXT = "6.8.0-88-generic"
DRIVER = "575.57.08"
SMART = {
    "critical_warning": 0, "temperature": 312, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3, "media_errors": 0, "power_cycles": 21,
    "power_on_hours": 8000, "data_units_read": 5, "data_units_written": 6, "controller_busy_time": 7, "num_err_log_entries": 90,
}  # fmt: skip
SATA = {"smart_status": {"passed": True}, "temperature": {"current": 30}, "power_on_time": {"hours": 9000}}
UNIT = {
    "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "UnitFileState": "enabled", "Result": "success", "NRestarts": "0",
    "LimitMEMLOCK": "infinity", "LimitNOFILE": "1048576",
}  # fmt: skip
INTERRUPTS = (
    " TRM:          0          0   Thermal event interrupts\n THR:          0          0   Threshold APIC interrupts\n"
    " DFR:          0          0   Deferred Error APIC interrupts\n MCE:          0          0   Machine check exceptions\n"
    " MCP:        312        312   Machine check polls\n"
)
FABRIC_LOG = (
    "Fabric Manager Log initializing at: 11/28/2026 20:06:12.418\n"
    "[Nov 28 2026 20:06:12] [INFO] [tid 2214] Fabric Manager version %s is running with the following configuration options\n"
    "[Nov 28 2026 20:06:31] [INFO] [tid 2214] Successfully configured all the available NVSwitches to route GPU NVLink traffic.\n" % DRIVER
)
_ABSENT = {"absent": True}


def encoded(data):
    return {"base64": base64.b64encode(data).decode()}


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def module(slot, size=65536, kind=0x22, speed=4800, empty=False):
    """A memory device of SMBIOS 3.3."""
    body = bytearray(0x5C)
    struct.pack_into("<BBH", body, 0, 17, len(body), 0x1100 + slot)
    struct.pack_into("<HHH", body, 0x08, 80, 64, 0 if empty else size if size < 0x7FFF else 0x7FFF)
    body[0x10], body[0x11], body[0x12] = 1, 2, kind
    struct.pack_into("<H", body, 0x15, speed)
    body[0x17], body[0x1A] = 3, 4
    struct.pack_into("<I", body, 0x1C, 0 if empty else size)
    struct.pack_into("<H", body, 0x20, speed)
    names = [b"DIMM%d" % (slot % 8), b"P%d" % (slot // 8), b"NO DIMM" if empty else b"Samsung", b"M321R8GA0BB0-CQK"]
    return bytes(body) + b"\0".join(names) + b"\0\0"


def smbios(modules):
    return encoded(b"\x00\x1a\x00\x00" + bytes(22) + b"Vendor\0\0" + b"".join(modules) + b"\x7f\x04\xff\xff\0\0")


def record(at, boot, kind=None):
    user, line = (b"reboot", b"~") if boot else (b"shutdown", b"~")
    return struct.pack("<hxxi32s4s32s256shhiii16s20x", kind or (2 if boot else 1), 0, line, b"~~", user, b"6.8.0", 0, 0, 0, seconds(at), 0, b"")


def wtmp(*marks):
    """(time, whether it is a boot), with a login between."""
    return encoded(b"".join(record(*mark) + record(mark[0], False, kind=7) for mark in marks))


def show(**units):
    """What `systemctl show` prints for all units that are asked for; those that are not given are not there."""
    blocks = []
    for name in systemd_units.UNITS:
        key = name.replace("-", "_")
        told = (
            dict(UNIT, **units[key]) if key in units else {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "LimitMEMLOCK": "8388608"}
        )
        blocks.append("\n".join(["Id=%s.service" % name, *("%s=%s" % pair for pair in told.items())]))
    return "\n\n".join(blocks) + "\n"


BMC_NETWORK = (
    "Set in Progress         : Set Complete\nIP Address Source       : Static Address\nIP Address              : 10.9.0.11\n"
    "SNMP Community String   : s1te\n802.1q VLAN ID          : 42\nRMCP+ Cipher Suites     : 3,17\nCipher Suite Priv Max   : XXXaXXXXXXXXXXX\n"
    "                        :     X=Cipher Suite Unused\n"
)


def _text(argv, stdout, **more):
    return {"argv": argv, "rc": 0, "stdout": stdout, **more}


def commands():
    units = show(containerd={}, kubelet={}, chrony={}, rasdaemon={}, smartd={})
    sensors = "Fan 1            | 33.32 percent     | ok\nTemp 18          | disabled          | ns\nInlet Temp       | 22 degrees C      | ok\n"
    return {
        "journal": _text(["journalctl", "-k"], ""),
        "ps": _text(services.PROCESSES, "      1 Ss   systemd\n     77 I<   kworker/0:0H\n   4711 Sl   containerd\n"),
        "show": _text(systemd_units.SHOW, units),
        "failed": _text(systemd_units.FAILED, ""),
        "fabric": _text(nvidia_daemons.DAEMONS["fabric_manager"], "Fabric Manager version is : %s\n" % DRIVER),
        "imex": {"argv": nvidia_daemons.DAEMONS["imex"], "missing": True},
        "dcgm": {"argv": nvidia_daemons.DCGM, "missing": True},
        "manager": _text(fabric_manager_log.TAIL, FABRIC_LOG),
        "dns": _text(["getent", "-s", "dns", "ahosts", "gpu-h01"], "10.20.0.11      STREAM gpu-h01\n", env={"RES_OPTIONS": "timeout:1 attempts:1"}),
        "modinfo": _text(["modinfo", "-F", "version", "nvidia"], DRIVER + "\n"),
        "events": _text(bmc.EVENTS, "   1 | 01/05/2024 | 10:00:00 | Event Logging Disabled #0x10 | Log area reset/cleared | Asserted\n"),
        "ras": _text(rasdaemon.SUMMARY, "No Memory errors.\n\nNo PCIe AER errors.\n\nNo MCE errors.\n"),
        "interrupts": _text(machine_checks.ASKED, INTERRUPTS),
        "sensors": _text(bmc.SENSORS, sensors),
        "bmc_network": _text(bmc.NETWORK, BMC_NETWORK),
        "digests": _text(["sha256sum", site_files.BUNDLES[0]], "%s  %s\n" % (8 * "5eed0001", site_files.BUNDLES[0])),
        **{"nvme%d" % n: _text(["nvme", "smart-log", "-o", "json", "/dev/nvme%d" % n], json.dumps(SMART)) for n in range(8)},
        "sda": _text(["smartctl", "--json", "-H", "-A", "-n", "standby", "/dev/sda"], json.dumps(SATA)),
    }


MOUNTS = (
    "22 27 0:21 / /proc rw,relatime shared:12 - proc proc rw\n"
    "25 27 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
    "27 1 9:0 / / rw,relatime shared:1 - ext4 /dev/md0 rw\n"
    "30 27 0:24 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw\n"
    "41 27 259:3 / /data rw,relatime shared:20 - xfs /dev/nvme0n1p1 rw,attr2\n"
    "42 27 7:1 / /snap/core/1 ro,nodev shared:21 - squashfs /dev/loop1 ro\n"
    "43 27 0:51 / /home rw,relatime shared:22 - nfs4 filer:/home rw,vers=4.2\n"
    "44 27 259:3 /images /images ro,relatime shared:20 - xfs /dev/nvme0n1p1 rw,attr2\n"
)


def files():
    cpu, block = hardware.CPU, "/sys/block/"
    found = {
        "/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\nmicrocode\t: 0xa101148\nflags\t\t: fpu\n\n"
        "processor\t: 1\nmicrocode\t: 0xa101148\n",
        "/proc/meminfo": "MemTotal:       1056964608 kB\nMemAvailable:   1046964608 kB\nHardwareCorrupted:     0 kB\nHugePages_Total:       0\n"
        "HugePages_Free:        0\nHugepagesize:       2048 kB\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/md0 ro iommu=pt\n",
        "/sys/firmware/dmi/tables/DMI": smbios([module(n) for n in range(16)]),
        cpu + "/cpufreq": {"dir": ["boost", "policy0", "policy1"]},
        cpu + "/cpufreq/boost": "1\n",
        cpu + "/cpuidle/current_driver": "acpi_idle\n",
        cpu + "/cpu0/cpuidle": {"dir": ["state0", "state1"]},
        cpu + "/vulnerabilities": {"dir": ["meltdown", "spectre_v2"]},
        cpu + "/vulnerabilities/meltdown": "Not affected\n",
        cpu + "/vulnerabilities/spectre_v2": "Mitigation: Enhanced / Automatic IBRS\n",
        cpu + "/cpu0/thermal_throttle/package_throttle_count": _ABSENT,
        hardware.EDAC: {"dir": ["mc0", "mc1", "power", "uevent"]},
        hardware.TPM: {"dir": ["tpm0"]},
        hardware.TPM + "/tpm0/tpm_version_major": "2\n",
        hardware.MEASURED: {"exists": True},
        hardware.RAS: {"exists": True},
        "/dev/ipmi0": {"device": "char"},
        settings.HUGE: {"dir": ["hugepages-2048kB", "hugepages-1048576kB"]},
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
        "/sys/kernel/security/lsm": "lockdown,capability,yama,apparmor",
        "/sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
        "/sys/module/module/parameters/sig_enforce": "N\n",
        "/etc/modprobe.d": {"dir": ["nvidia.conf", "README"]},
        "/etc/modprobe.d/nvidia.conf": "# kept away\nblacklist nouveau\noptions nouveau modeset=0\n",
        "/run/modprobe.d": _ABSENT,
        "/lib/modprobe.d": {"dir": []},
        "/lib/modules": {"dir": [RELEASE, "5.15.0-1-generic"]},
        "/lib/modules/%s/modules.dep" % RELEASE: {"exists": True},
        "/lib/modules/5.15.0-1-generic/modules.dep": _ABSENT,
        "/var/lib/dkms": {"dir": ["nvidia", "dkms_dbversion.db"]},
        "/var/lib/dkms/nvidia": {"dir": [DRIVER, "kernel-%s-x86_64" % RELEASE]},
        "/var/lib/dkms/nvidia/%s" % DRIVER: {"dir": ["build", "source", RELEASE]},
        "/run/systemd/system": {"dir": []},
        "/etc/hosts": "127.0.0.1 localhost\n10.20.0.11 gpu-h01.example.org gpu-h01 # ours\nfe80::1%eno1 gpu-h01\n",
        "/etc/resolv.conf": "search example.org\nnameserver 10.20.0.2\n",
        "/etc/systemd/journald.conf": "[Journal]\n#Storage=auto\nSystemMaxUse=4G\n",
        **{directory + "/journald.conf.d": _ABSENT for directory in site_files.JOURNALD},
        site_files.DOCKER: _ABSENT,
        site_files.BUNDLES[0]: {"exists": True},
        **dict.fromkeys((*site_files.BUNDLES[1:], *site_files.REGISTRIES), _ABSENT),
        services.WTMP: wtmp(("2026-11-01T08:00:00Z", True), ("2026-11-28T20:00:00Z", False), ("2026-11-28T20:05:00Z", True)),
        fabric_manager_log.LOG: {"type": "file", "size": len(FABRIC_LOG), "mtime": seconds("2026-11-28T20:06:31Z")},
        "/etc/machine-id": {"type": "file", "mtime": seconds("2026-11-01T08:00:10Z")},
        "/sys/fs/pstore": {"dir": []},
        "/var/lib/systemd/pstore": _ABSENT,
        "/var/crash": {"dir": ["_usr_bin_foo.0.crash", "kexec_cmd"]},
        "/proc/1/mountinfo": MOUNTS,
        "/proc/mdstat": "Personalities : [raid1]\nmd0 : active raid1 sda[0] sdb[1]\n      937560064 blocks super 1.2 [2/2] [UU]\n      bitmap: 1/7 pages\n\n"
        "unused devices: <none>\n",
        "/sys/fs/ext4": {"dir": ["features", "md0"]},
        "/sys/fs/ext4/md0/errors_count": "0\n",
        "/sys/fs/btrfs": _ABSENT,
        "/sys/fs/xfs": {"dir": ["nvme0n1p1", "stats"]},
        "/sys/block": {"dir": ["loop1", "md0", "sda", *("nvme%dn1" % n for n in range(8))]},
        block + "sda": {"link": "../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"},
        "/sys/class/nvme": {"dir": ["nvme%d" % n for n in range(8)]},
        "/sys/dev/block/259:3": {"link": "../../devices/pci0000:40/0000:41:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"},
        "/sys/class/block/nvme0n1p1": {"link": "../../devices/pci0000:40/0000:41:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"},
        "/sys/class/block/nvme0n1": {"link": "../../devices/pci0000:40/0000:41:00.0/nvme/nvme0/nvme0n1"},
        block + "nvme0n1/slaves": {"dir": []},
    }
    real = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    found.update({real + "/size": "1875385008\n", real + "/queue/rotational": "0\n", real + "/device/model": "MICRON\n", real + "/device/rev": "D4\n"})
    found[real + "/device/state"] = "running\n"
    for number in range(8):
        base = "/sys/class/nvme/nvme%d" % number
        found[base] = {"dir": ["transport", "model", "firmware_rev", "state", "nvme%dn1" % number]}
        found.update(
            {base + "/transport": "pcie\n", base + "/model": "SAMSUNG MZQL27T6HBLA-00A07  \n", base + "/firmware_rev": "GDC5602Q\n", base + "/state": "live\n"}
        )
        found.update({block + "nvme%dn1/size" % number: "15002931888\n", block + "nvme%dn1/queue/rotational" % number: "0\n"})
    for number in range(2):
        policy = "%s/cpufreq/policy%d/" % (cpu, number)
        found.update(
            {policy + "scaling_governor": "performance\n", policy + "scaling_driver": "acpi-cpufreq\n", policy + "energy_performance_preference": _ABSENT}
        )
        state = "%s/cpu0/cpuidle/state%d/" % (cpu, number)
        found.update({state + "name": "C%d\n" % number, state + "latency": "%d\n" % number, state + "disable": "0\n"})
        edac = "%s/mc%d/" % (hardware.EDAC, number)
        found.update({edac + "ce_count": "0\n", edac + "ue_count": "0\n", edac + "seconds_since_reset": "79000\n"})
        found["%s/mc%d" % (hardware.EDAC, number)] = {"dir": ["ce_count", "ue_count", "seconds_since_reset", "dimm0"]}
        found.update({edac + "dimm0/dimm_%s_count" % word: "0\n" for word in ("ce", "ue")})
        found[edac + "dimm0/dimm_label"] = "CPU_SrcID#%d_MC#0_Chan#0_DIMM#0\n" % number
    for size in ("2048", "1048576"):
        found.update({"%s/hugepages-%skB/%s_hugepages" % (settings.HUGE, size, word): "0\n" for word in ("nr", "free")})
    for name in settings.SYSCTLS:
        value = {"kernel.pid_max": "4194304", "vm.max_map_count": "262144", "kernel.shmmax": "18446744073692774399"}.get(name, "0")
        found["/proc/sys/" + name.replace(".", "/")] = value + "\n"
    for path in ("/var/log", "/var/lib/containerd", "/var/lib/kubelet", "/tmp", "/dev/shm", "/data"):
        found[path] = {"exists": True, "type": "directory"}
    for path in ("/var/lib/docker", "/var/lib/containers", "/var/lib/rancher"):
        found[path] = _ABSENT
    return found


def machine(changes=None, told=None):
    """The recording of the server. changes: files in the place of its own; told: {name of a command: what it answers instead}."""
    answers = {name: dict(entry, **(told or {}).get(name, {})) for name, entry in commands().items()}
    statvfs = {"size": 900 << 30, "free": 600 << 30, "inodes": 60000000, "inodes_free": 59000000}
    paths = ("/", "/var/log", "/var/lib/containerd", "/var/lib/kubelet", "/tmp", "/data", "/dev/shm")
    return {
        "schema": "fleetproof.accelerator/recording/v1",
        "node": "gpu-h01",
        "recorded": "2026-11-29T17:00:00Z",
        "host": {
            "boot_time": seconds("2026-11-28T20:05:00Z"),
            "uname": {"system": "Linux", "node": "gpu-h01", "release": RELEASE, "version": "#79", "machine": "x86_64"},
            "limits": {"memlock": ["unlimited", "unlimited"], "nofile": [1048576, 1048576], "nproc": [4126480, 4126480]},
        },
        "files": dict(files(), **(changes or {})),
        "commands": list(answers.values()),
        "statvfs": {path: dict(statvfs) for path in paths},
    }


def on(base, changes=None, told=None, statvfs=None):
    """A node with accelerators whose host is this server. base: its recording; what it says of accelerators stays."""
    made, mine = copy.deepcopy(base), machine(changes, told)
    made["files"] = {**made["files"], **mine["files"]}
    programs = {entry["argv"][0] for entry in mine["commands"]} - {"journalctl"}
    made["commands"] = [c for c in made["commands"] if c["argv"][0] not in programs or c["argv"] == nvidia_services.SYSTEMCTL]
    made["commands"] += [c for c in mine["commands"] if c["argv"][0] != "journalctl"]
    made["host"] = {**made.get("host", {}), **mine["host"]}
    made["statvfs"] = {**made.get("statvfs", {}), **mine["statvfs"], **(statvfs or {})}
    made["recorded"] = mine["recorded"]
    return made
