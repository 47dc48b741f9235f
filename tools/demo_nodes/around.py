# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds the accelerators of a demo node: memory modules, settings, units, names, drives, BMC. One healthy server, as host_info asks it."""

from __future__ import annotations

import base64
import json
import struct

CPU = "/sys/devices/system/cpu"
EDAC = "/sys/devices/system/edac/mc"
INSTALLED = 86_400 * 210  # seconds before this start
SYSCTLS = {
    "kernel.pid_max": 4194304, "kernel.threads-max": 16511482, "kernel.shmmax": 18446744073692774399, "kernel.shmall": 18446744073692774399,
    "kernel.panic": 10, "kernel.nmi_watchdog": 1, "kernel.soft_watchdog": 1, "kernel.hung_task_timeout_secs": 120, "kernel.yama.ptrace_scope": 1,
    "kernel.tainted": 12288, "fs.file-max": 9223372036854775807, "fs.nr_open": 1048576, "fs.aio-max-nr": 1048576, "fs.inotify.max_user_instances": 8192,
    "fs.inotify.max_user_watches": 1048576, "vm.max_map_count": 1048576, "vm.overcommit_memory": 0, "vm.swappiness": 10, "vm.zone_reclaim_mode": 0,
    "vm.min_free_kbytes": 4194304, "net.core.rmem_max": 268435456, "net.core.wmem_max": 268435456, "net.core.somaxconn": 4096,
    "net.core.netdev_max_backlog": 250000, "net.ipv4.conf.all.rp_filter": 2, "net.ipv4.conf.all.arp_ignore": 1, "net.ipv4.conf.all.arp_announce": 2,
    "user.max_user_namespaces": 8255741,
}  # fmt: skip
UNITS = str.split(
    "containerd docker crio kubelet k3s k3s-agent rke2-server rke2-agent slurmd chrony chronyd ntp ntpd ntpsec openntpd systemd-timesyncd ptp4l phc2sys"
    " rasdaemon mcelog irqbalance tuned mdmonitor smartd dkms openibd opensmd nvidia-gridd nvidia-mig-manager nvidia-dcgm nvsm dcgm rdc hymgr"
    " amd-metrics-exporter nvmf-autoconnect kdump kdump-tools auditd ssh sshd firewalld ufw nftables unattended-upgrades"
)
PROPERTIES = "Id,LoadState,ActiveState,SubState,UnitFileState,Result,NRestarts,LimitMEMLOCK,LimitNOFILE"
RUNNING = ("slurmd", "rasdaemon", "irqbalance", "smartd", "auditd", "ssh")
INTERRUPTS = (("TRM", "Thermal event interrupts"), ("THR", "Threshold APIC interrupts"), ("DFR", "Deferred Error APIC interrupts"),
              ("MCE", "Machine check exceptions"))  # fmt: skip
WELL = {
    "critical_warning": 0, "temperature": 309, "avail_spare": 100, "spare_thresh": 10, "percent_used": 2, "data_units_read": 81664, "data_units_written": 70212,
    "controller_busy_time": 311, "power_cycles": 19, "power_on_hours": 6120, "media_errors": 0, "num_err_log_entries": 0,
}  # fmt: skip
SENSORS = (
    ("Inlet Temp", "23 degrees C"), ("CPU0 Temp", "48 degrees C"), ("CPU1 Temp", "47 degrees C"), ("Fan 1A", "8640 RPM"), ("Fan 1B", "8760 RPM"),
    ("PSU0 Power In", "1180 Watts"), ("PSU1 Power In", "1175 Watts"), ("P12V", "12.05 Volts"),
)  # fmt: skip
MOUNTS = (
    "22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n"
    "23 27 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n"
    "25 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    "27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "30 27 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64\n"
    "41 27 259:3 / /scratch rw,relatime shared:20 - xfs /dev/nvme1n1 rw,attr2,inode64\n"
)
FILLED = ("/proc/1", "/run/systemd/system", "/var/log", "/tmp", "/dev/shm", "/scratch")
ABSENT = (
    "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/rancher", "/var/lib/kubelet", "/run/modprobe.d", "/var/crash",
    "/var/lib/systemd/pstore", "/sys/fs/ext4/features", "/var/lib/fleetproof-accelerator",
)  # fmt: skip


def _module(slot, gib, kind, speed, maker, part):
    """A memory device as SMBIOS describes it (DSP0134, 7.18)."""
    body = bytearray(0x22)
    struct.pack_into("<BBH", body, 0, 17, len(body), 0x1100 + slot)
    struct.pack_into("<HH", body, 0x08, 80 if kind == 0x22 else 72, 64)
    struct.pack_into("<H", body, 0x0C, 0x7FFF)
    body[0x10], body[0x11], body[0x12], body[0x17], body[0x1A] = 1, 2, kind, 3, 4
    struct.pack_into("<H", body, 0x15, speed)
    struct.pack_into("<I", body, 0x1C, gib * 1024)
    struct.pack_into("<H", body, 0x20, speed)
    names = ("DIMM_%s1" % "ABCDEFGHIJKLMNOP"[slot % 16], "CPU%d" % (slot // 16), maker, part)
    return bytes(body) + b"\0".join(name.encode() for name in names) + b"\0\0"


def _memory(node, modules):
    """modules: number of them, GiB of each, kind, MT/s, maker and part number."""
    count, rest = modules[0], modules[1:]
    table = b"\x00\x1a\x00\x00" + bytes(22) + b"Northlake\0\0" + b"".join(_module(n, *rest) for n in range(count)) + b"\x7f\x04\xff\xff\0\0"
    node.files["/sys/firmware/dmi/tables/DMI"] = {"base64": base64.b64encode(table).decode()}
    node.files["/sys/class/tpm"] = {"dir": ["tpm0"]}
    node.lines("/sys/class/tpm/tpm0", tpm_version_major=2)
    node.files["/sys/kernel/security/tpm0/binary_bios_measurements"] = {"exists": True}
    node.files[EDAC] = {"dir": ["mc0", "mc1", "power", "uevent"]}
    for number in range(2):
        node.lines("%s/mc%d" % (EDAC, number), ce_count=0, ue_count=0, seconds_since_reset=273_580)
    node.files["/var/lib/rasdaemon/ras-mc_event.db"] = {"exists": True}
    node.run("ras-mc-ctl", "--summary", rc=0, stdout="No Memory errors.\n\nNo PCIe AER errors.\n\nNo MCE errors.\n")
    if node.host["uname"]["machine"] == "x86_64":
        # A processor of the table stands for all.
        counted = "".join(" %s:          0   %s\n" % row for row in INTERRUPTS)
        node.run("grep", "-E", "^ *(MCE|MCP|THR|TRM|DFR):", "/proc/interrupts", rc=0, stdout=counted)


def _processors(node, scaling, mitigations):
    node.files[CPU + "/cpufreq"] = {"dir": ["policy0", "policy1"] if scaling else []}
    for number in range(2) if scaling else ():
        node.lines("%s/cpufreq/policy%d" % (CPU, number), scaling_governor="performance")
    if scaling:
        node.lines(CPU + "/cpufreq/policy0", scaling_driver=scaling)
        node.files[CPU + "/cpufreq/policy0/energy_performance_preference"] = "performance\n" if scaling == "intel_pstate" else {"absent": True}
        node.files[CPU + "/cpufreq/boost"] = {"absent": True} if scaling == "intel_pstate" else "1\n"
        node.files[CPU + "/intel_pstate/no_turbo"] = "0\n" if scaling == "intel_pstate" else {"absent": True}
    node.lines(CPU + "/cpuidle", current_driver="intel_idle" if scaling == "intel_pstate" else "acpi_idle")
    node.files[CPU + "/cpu0/cpuidle"] = {"dir": ["state0", "state1"]}
    for number, (name, latency) in enumerate((("POLL", 0), ("C1", 1))):
        node.lines("%s/cpu0/cpuidle/state%d" % (CPU, number), name=name, latency=latency, disable=0)
    node.files[CPU + "/vulnerabilities"] = {"dir": sorted(mitigations)}
    node.lines(CPU + "/vulnerabilities", **mitigations)
    for throttled in ("package_throttle_count", "package_throttle_total_time_ms"):
        node.files["%s/cpu0/thermal_throttle/%s" % (CPU, throttled)] = "0\n" if scaling == "intel_pstate" else {"absent": True}


def _settings(node, release, driver):
    """driver: (module, version, whether DKMS builds it)."""
    for name, value in SYSCTLS.items():
        node.files["/proc/sys/" + name.replace(".", "/")] = "%d\n" % value
    node.host["limits"]["nproc"] = [8255741, 8255741]
    node.files["/sys/kernel/mm/hugepages"] = {"dir": ["hugepages-2048kB"]}
    node.lines("/sys/kernel/mm/hugepages/hugepages-2048kB", nr_hugepages=0, free_hugepages=0)
    node.lines("/sys/kernel/mm/transparent_hugepage", defrag="always defer defer+madvise [madvise] never")
    node.lines("/proc", swaps="Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority", mdstat="Personalities : \nunused devices: <none>")
    node.lines("/sys/kernel/security", lsm="lockdown,capability,landlock,yama,apparmor", lockdown="[none] integrity confidentiality")
    node.lines("/sys/module/module/parameters", sig_enforce="N")
    node.files["/etc/modprobe.d"] = {"dir": ["blacklist.conf"]}
    node.files["/etc/modprobe.d/blacklist.conf"] = "# the driver of the vendor is used\nblacklist nouveau\n"
    node.files["/lib/modprobe.d"] = {"dir": []}
    node.files["/lib/modules"] = {"dir": [release]}
    node.files["/lib/modules/%s/modules.dep" % release] = {"exists": True}
    name, version, built = driver
    if built:
        node.files["/var/lib/dkms"] = {"dir": [name, "dkms_dbversion"]}
        node.files["/var/lib/dkms/dkms_dbversion"] = "2.0.0\n"
        node.files["/var/lib/dkms/" + name] = {"dir": [version, "kernel-%s-%s" % (release, node.host["uname"]["machine"])]}
        node.files["/var/lib/dkms/%s/%s" % (name, version)] = {"dir": [release, "source"]}
    else:
        node.files["/var/lib/dkms"] = {"absent": True}
    if version:
        node.run("modinfo", "-F", "version", name, rc=0, stdout=version + "\n")
    if name == "amdgpu":
        options = "/boot/config-%s" % release
        node.files[options] = {"exists": True}
        told = "CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y\n"
        node.run("grep", "-E", "^(CONFIG_PCI_P2PDMA|CONFIG_DMABUF_MOVE_NOTIFY)=", options, rc=0, stdout=told)


def _units(node, running):
    blocks = []
    for name in UNITS:
        told = ["Id=%s.service" % name]
        if name in running:
            told += ["LoadState=loaded", "ActiveState=active", "SubState=running", "UnitFileState=enabled", "Result=success", "NRestarts=0"]
            told += ["LimitMEMLOCK=infinity", "LimitNOFILE=1048576"]
        else:
            told += ["LoadState=not-found", "ActiveState=inactive"]
        blocks.append("\n".join(told))
    node.run("systemctl", "show", "--property=" + PROPERTIES, *(name + ".service" for name in UNITS), rc=0, stdout="\n\n".join(blocks) + "\n")
    node.run("systemctl", "list-units", "--state=failed", "--plain", "--no-legend", "--no-pager", rc=0, stdout="")
    rows = [(1, "Ss", "systemd"), (2, "S", "kthreadd"), (19, "I<", "kworker/0:0H-events_highpri"), *((2200 + 9 * n, "Ssl", u) for n, u in enumerate(running))]
    node.run("ps", "-e", "-o", "pid=,stat=,comm=", rc=0, stdout="".join("%7d %-4s %s\n" % row for row in rows))


BMC_NETWORK = (
    ("Set in Progress", "Set Complete"), ("IP Address Source", "DHCP Address"), ("802.1q VLAN ID", "210"), ("RMCP+ Cipher Suites", "3,17"),
    ("SNMP Community String", "private"), ("Cipher Suite Priv Max", "XXXaXXXXXXXXXXX"),
)  # fmt: skip


def _record(at, boot, wide):
    """A mark of the login record, as glibc lays it out on x86-64 and on Arm."""
    shape = "<hxxi32s4s32s256shhqqq16s24x" if wide else "<hxxi32s4s32s256shhiii16s20x"
    return struct.pack(shape, 2 if boot else 1, 0, b"~", b"~~", b"reboot" if boot else b"shutdown", b"", 0, 0, 0, at, 0, b"")


def _names(node, booted, address):
    node.files["/etc/hosts"] = "127.0.0.1 localhost\n%s %s\n" % (address, node.name)
    node.files["/etc/resolv.conf"] = "search cluster.example\nnameserver 10.20.0.5\n"
    answer = "".join("%-15s %-6s %s\n" % (address, kind, node.name if kind == "STREAM" else "") for kind in ("STREAM", "DGRAM", "RAW"))
    node.run("getent", "-s", "dns", "ahosts", node.name, rc=0, stdout=answer, env={"RES_OPTIONS": "timeout:1 attempts:1"})
    wide = node.host["uname"]["machine"] != "x86_64"
    marks = ((booted - INSTALLED, True), (booted - 240, False), (booted, True))
    node.files["/var/log/wtmp"] = {"base64": base64.b64encode(b"".join(_record(*mark, wide) for mark in marks)).decode()}
    node.files["/etc/machine-id"] = {"type": "file", "mtime": booted - INSTALLED + 10}
    node.files["/sys/fs/pstore"] = {"dir": []}


def _site(node):
    node.files["/etc/systemd/journald.conf"] = "[Journal]\nSystemMaxUse=8G\nMaxRetentionSec=90day\n"
    node.files.setdefault("/etc/docker/daemon.json", {"absent": True})
    for directory in ("/etc", "/run", "/usr/local/lib", "/usr/lib"):
        node.files[directory + "/systemd/journald.conf.d"] = {"absent": True}
    bundle, *others = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
    node.files[bundle] = {"exists": True}
    for path in (*others, "/etc/docker/certs.d", "/etc/containerd/certs.d", "/etc/containers/certs.d"):
        node.files[path] = {"absent": True}
    node.run("sha256sum", bundle, rc=0, stdout="%s  %s\n" % (8 * "00c0ffee", bundle))


def _drives(node, number):
    node.files["/proc/1/mountinfo"] = MOUNTS
    node.files["/sys/fs/ext4"] = {"dir": ["features", "nvme0n1p2"]}
    node.lines("/sys/fs/ext4/nvme0n1p2", errors_count=0)
    node.files["/sys/fs/btrfs"] = {"absent": True}
    node.files["/sys/fs/xfs"] = {"dir": ["nvme1n1", "stats"]}
    node.files["/sys/block"] = {"dir": ["nvme0n1", "nvme1n1"]}
    node.files["/sys/class/nvme"] = {"dir": ["nvme0", "nvme1"]}
    for disk, (model, sectors) in enumerate((("NL PX400 960GB", 1875385008), ("NL PX700 7680GB", 15002931888))):
        base = "/sys/class/nvme/nvme%d" % disk
        path = ["pci0000:e2", "0000:e2:0%d.0" % (disk + 1), "0000:e%d:00.0" % (disk + 3)]
        link = (4, 4, "16.0 GT/s", "16.0 GT/s")
        node.port(path[:2], "0x1b36", "0x000c", link)
        node.function(path, "0x1c5f", "0x003d", "0x010802", "nvme", link=link)
        real = "/sys/devices/%s/nvme/nvme%d" % ("/".join(path), disk)
        node.files[base] = {"link": "../.." + real.removeprefix("/sys")}
        node.files[real] = {"dir": ["firmware_rev", "model", "nvme%dn1" % disk, "state", "transport"]}
        node.lines(real, firmware_rev="2P14", model=model, state="live", transport="pcie")
        node.lines("/sys/block/nvme%dn1" % disk, size=sectors)
        node.lines("/sys/block/nvme%dn1/queue" % disk, rotational=0)
        told = dict(WELL, temperature=WELL["temperature"] + number % 3 + disk, power_on_hours=WELL["power_on_hours"] + 7 * number)
        node.run("nvme", "smart-log", "-o", "json", "/dev/nvme%d" % disk, rc=0, stdout=json.dumps(told) + "\n")
    for path in FILLED:
        node.files.setdefault(path, {"exists": True})
    for path in ABSENT:
        node.files.setdefault(path, {"absent": True})
    for path, size, free in (("/", 870, 795), ("/var/log", 870, 795), ("/tmp", 870, 795), ("/dev/shm", 960, 960), ("/scratch", 7150, 6988)):
        node.statvfs[path] = {"size": size << 30, "free": free << 30, "inodes": 58_000_000, "inodes_free": 57_400_000}


def _bmc(node):
    node.dev.append("ipmi0")
    node.run("ipmitool", "sdr", rc=0, stdout="".join("%-16s | %-17s | ok\n" % sensor for sensor in SENSORS))
    node.run("ipmitool", "lan", "print", rc=0, stdout="".join("%-23s : %s\n" % line for line in BMC_NETWORK))
    cleared = "   1 | 05/02/2026 | 09:14:20 | Event Logging Disabled #0x51 | Log area reset/cleared | Asserted\n"
    node.run("ipmitool", "sel", "list", "last", "200", rc=0, stdout=cleared)


def add(node, number, booted, modules, driver, clock, scaling, mitigations):
    """number: tells nodes apart. clock: the unit that sets it."""
    _memory(node, modules)
    _processors(node, scaling, mitigations)
    _settings(node, node.host["uname"]["release"], driver)
    _units(node, (clock, *RUNNING))
    _names(node, booted, "10.20.1.%d" % number)
    _site(node)
    _drives(node, number)
    _bmc(node)
