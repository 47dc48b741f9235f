# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every demo node has besides its accelerators: firmware, processors, memory, system, PCI, clock, kernel log."""

from __future__ import annotations

import base64

from demo_nodes import around, bare, network, paths

RECORDED, NOW, BOOTED = "2026-11-30T06:00:00Z", 1796018400, 1796018400 - 273_600
DEVICES = "/sys/bus/pci/devices"
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SCHEMA = "fleetproof.accelerator/recording/v1"


class Node:
    """A recording in the making."""

    def __init__(self, name, note):
        self.name, self.note = name, note
        self.host, self.files, self.commands, self.natives, self.programs = {}, {}, [], {}, {}
        self.places, self.bar_gib = {}, 128  # address -> (path, link)
        self.statvfs, self.surroundings = {}, {}
        self.functions, self.dev, self.modules, self.log = [], ["console", "kmsg", "null", "shm", "tty", "urandom", "zero"], [], []

    def run(self, *argv, **answer):
        self.commands.append({"argv": list(argv), **answer})

    def lines(self, folder, **files):
        """Files of one line each."""
        for name, text in files.items():
            self.files["%s/%s" % (folder, name)] = "%s\n" % text

    def function(self, path, vendor, device, pci_class, driver=None, numa=0, subsystem=("0x0000", "0x0000"), revision="0xa1", link=None):
        """A PCI function; path: its place below the root complex. link: width now, width at most, speed now, speed at most."""
        address = path[-1]
        base = "%s/%s" % (DEVICES, address)
        self.functions.append(address)
        self.places[address] = (tuple(path), link)
        self.files[base] = {"link": "../../../devices/%s" % "/".join(path)}
        self.lines(base, vendor=vendor, device=device)
        self.files[base + "/class"] = "%s\n" % pci_class
        self.lines(base, numa_node=numa, subsystem_vendor=subsystem[0], subsystem_device=subsystem[1], revision=revision)
        self.files[base + "/driver"] = {"link": "../../../../bus/pci/drivers/%s" % driver} if driver else {"absent": True}
        self.files[base + "/physfn"] = {"absent": True}
        if link:
            self.link(address, *link)
        return base

    def port(self, path, vendor, device, link=None):
        """A bridge on the way to a card."""
        address = path[-1]
        self.places[address] = (tuple(path), link)
        if address not in self.functions:
            self.functions.append(address)
            self.lines("%s/%s" % (DEVICES, address), vendor=vendor, device=device)
            self.files["%s/%s/class" % (DEVICES, address)] = "0x060400\n"
            if vendor in ("0x10de", "0x19e5"):  # of accelerators too, so it is asked who drives it
                self.files["%s/%s/driver" % (DEVICES, address)] = {"link": "../../../bus/pci/drivers/pcieport"}
        if link:
            self.link(address, *link)

    def link(self, address, width, most, speed, top):
        self.lines(
            "%s/%s" % (DEVICES, address),
            current_link_width=width, max_link_width=most, current_link_speed="%s PCIe" % speed, max_link_speed="%s PCIe" % top,
        )  # fmt: skip

    def other(self, address, vendor):
        """A function of somebody else: only its vendor is asked for."""
        self.functions.append(address)
        self.lines("%s/%s" % (DEVICES, address), vendor=vendor)

    def document(self):
        around.add(self, booted=BOOTED, **self.surroundings)
        paths.add(self)
        network.add(self)
        self.files[DEVICES] = {"dir": sorted(self.functions)}
        self.files["/dev"] = {"dir": sorted(self.dev)}
        self.files["/dev/shm"] = {"type": "directory"}
        bare.add(self.files, self.programs)
        for name in self.dev[self.dev.index("zero") + 1 :]:
            self.files.setdefault("/dev/%s" % name, {"device": "char"})
        self.files["/sys/module"] = {"dir": sorted(["acpi", "ext4", "nvme", "pcie_aspm", *self.modules])}
        journal = "".join("%.6f %s kernel: %s\n" % (BOOTED + at, self.name, text) for at, text in sorted(self.log, key=lambda line: line[0]))
        self.run("journalctl", "-k", "-b", "0", "-o", "short-unix", "--no-pager", rc=0, stdout=journal)
        return {
            "schema": SCHEMA, "node": self.name, "note": self.note, "recorded": RECORDED, "host": self.host, "files": dict(sorted(self.files.items())),
            "statvfs": self.statvfs, "commands": self.commands, "natives": self.natives, "programs": self.programs,
        }  # fmt: skip


def unreachable(name, note, reason):
    return {"schema": SCHEMA, "node": name, "note": note, "recorded": RECORDED, "unreachable": reason}


X86 = {
    "machine": "x86_64", "release": "6.8.0-88-generic", "version": "#89-Ubuntu SMP PREEMPT_DYNAMIC Sat Oct 11 01:02:46 UTC 2025", "os": "ubuntu",
    "vendor": "Northlake Systems", "bios": ("American Megatrends International, LLC.", "NL2.14", "03/18/2026"), "bmc": "1.44", "cmdline": "quiet iommu=pt",
}  # fmt: skip
RELEASES = {
    "ubuntu": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION="24.04.3 LTS (Noble Numbat)"\nID=ubuntu\nID_LIKE=debian\n',
    "openEuler": 'NAME="openEuler"\nVERSION="22.03 (LTS-SP4)"\nID="openEuler"\nVERSION_ID="22.03"\nPRETTY_NAME="openEuler 22.03 (LTS-SP4)"\n',
}


def system(node, product, serial, cpuinfo, sockets, cores, smt, memory_gib, numa=2, **plain):
    """cores: of one socket. plain: what differs from X86."""
    plain = dict(X86, **plain)
    threads = sockets * cores * (2 if smt else 1)
    node.host.update(
        boot_time=BOOTED,
        uname={"system": "Linux", "node": node.name, "release": plain["release"], "version": plain["version"], "machine": plain["machine"]},
        limits={"memlock": ["unlimited", "unlimited"], "nofile": [1048576, 1048576]},
        root_user=True,
        python={"version": plain.get("python", "3.12.3"), "executable": "/usr/bin/python3"},
    )
    dmi = "/sys/class/dmi/id"
    node.lines(dmi, sys_vendor=plain["vendor"], product_name=product, product_serial=serial, product_sku="%s-G8" % product.split()[0], product_family="Cluster")
    node.lines(dmi, board_vendor=plain["vendor"], board_name="NL-MB2", board_version="C1", board_serial=serial + "M")
    node.lines(dmi, bios_vendor=plain["bios"][0], bios_version=plain["bios"][1], bios_date=plain["bios"][2])
    node.lines("/sys/class/ipmi/ipmi0/device/bmc", firmware_revision=plain["bmc"])
    node.files["/etc/os-release"] = RELEASES[plain["os"]]
    image = "BOOT_IMAGE=/boot/vmlinuz-%s root=UUID=7d0c1f22-5b4e-4a3f-9c57-%s ro" % (plain["release"], serial[-6:].lower().rjust(12, "0"))
    node.lines("/proc", cmdline="%s %s" % (image, plain["cmdline"]), uptime="%d.25 %d.75" % (NOW - BOOTED, (NOW - BOOTED) * threads - 40000))
    _memory(node, memory_gib, numa)
    _processors(node, cpuinfo, sockets, cores, threads, smt)
    node.lines("/proc/sys/kernel", numa_balancing=0)
    node.files["/sys/fs/selinux/enforce"] = {"absent": True}
    node.files[SECURE_BOOT] = {"base64": base64.b64encode(b"\x06\x00\x00\x00\x00").decode()}
    node.files["/sys/hypervisor/type"] = {"absent": True}
    node.files["/proc/device-tree/hypervisor/compatible"] = {"absent": True}
    tracking = "0A140005,10.20.0.5,3,%d.482,0.000021%03d,0.000009,0.000031,-7.412,0.001,0.022,0.000412,0.000197,64.6,Normal" % (NOW - 31, int(serial[-3:], 16))
    node.run("chronyc", "-c", "-n", "tracking", rc=0, stdout=tracking + "\n")
    _boot_log(node, product, threads, plain)


def _memory(node, gib, numa):
    total = gib * 1048576 - 9_412_608
    node.files["/proc/meminfo"] = (
        "MemTotal:       %d kB\nMemFree:        %d kB\nMemAvailable:   %d kB\nHardwareCorrupted:     0 kB\n"
        "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n" % (total, total - 31_000_000, total - 24_000_000)
    )
    node.lines("/sys/devices/system/node", has_cpu="0-%d" % (numa - 1) if numa > 1 else "0")
    for number in range(numa):
        node.files["/sys/devices/system/node/node%d/meminfo" % number] = "Node %d MemTotal:       %d kB\n" % (number, total // numa)
    node.lines("/sys/kernel/mm/transparent_hugepage", enabled="always [madvise] never")


def _processors(node, cpuinfo, sockets, cores, threads, smt):
    base, half = "/sys/devices/system/cpu", sockets * cores
    node.files["/proc/cpuinfo"] = "\n".join("processor\t: %d\n%s" % (number, cpuinfo) for number in (0, 1))
    node.lines(base, online="0-%d" % (threads - 1))
    node.files[base + "/smt/active"] = "1\n" if smt else "0\n"
    for socket in range(sockets):
        first, last = socket * cores, (socket + 1) * cores - 1
        members = "%d-%d" % (first, last) + (",%d-%d" % (half + first, half + last) if smt else "")
        probes = (first, half + last if smt else last)
        node.lines("%s/cpu%d/topology" % (base, first), package_cpus_list=members)
        for cpu in probes:
            core = cpu % half
            node.lines("%s/cpu%d/topology" % (base, cpu), core_cpus_list="%d,%d" % (core, core + half) if smt else core)


def _boot_log(node, product, threads, plain):
    node.log += [
        (0.0, "Linux version %s (builder@forge) (gcc 13.3.0) %s" % (plain["release"], plain["version"])),
        (0.000004, "Command line: %s" % node.files["/proc/cmdline"].strip()),
        (0.000011, "DMI: %s %s, BIOS %s %s" % (plain["vendor"], product, plain["bios"][1], plain["bios"][2])),
        (0.412018, "smp: Brought up %d nodes, %d CPUs" % (len(node.files["/sys/devices/system/node/has_cpu"].split("-")), threads)),
        (1.218330, "EDAC MC: Ver: 3.0.0"),
        (2.004410, "pcieport %s: AER: enabled with IRQ 34" % plain.get("port", "0000:00:01.0")),
        (3.771904, "nvme nvme0: 64/0/0 default/read/poll queues"),
        (4.118276, "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none."),
        (6.902211, "mlx5_core %s: firmware version: 28.43.2026" % plain.get("nic", "0000:1b:00.0")),
        (9.310077, "mlx5_core %s ens1np0: Link up" % plain.get("nic", "0000:1b:00.0")),
        (11.480253, 'audit: type=1400 audit(1795744811.480:12): apparmor="STATUS" operation="profile_load" profile="unconfined" name="chronyd"'),
    ]
