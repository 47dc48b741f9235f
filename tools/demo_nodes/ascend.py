# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Huawei Ascend demo nodes: eight 910B on a Kunpeng machine."""

from __future__ import annotations

from demo_nodes import machine

KUNPENG = """BogoMIPS\t: 200.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma dcpop asimddp asimdfhm ssbs
CPU implementer\t: 0x48
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd01
CPU revision\t: 0
"""
BUSES = (0xC1, 0x81, 0xC2, 0x82, 0x01, 0x41, 0x02, 0x42)
DRIVER, FIRMWARE = "25.2.1", "7.7.0.6.236"
WIDE = "+===========================+===============+====================================================+"
THIN = "+---------------------------+---------------+----------------------------------------------------+"


def address(index):
    return "0000:%02X:00.0" % BUSES[index]


def info(number):
    rows = [
        THIN,
        "| npu-smi %-18s               Version: %-46s|" % (DRIVER, DRIVER),
        THIN,
        "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|",
        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |",
        WIDE,
    ]
    for npu in range(8):
        rows.append("| %-6d%-20s| %-14s| %-12.1f%-18d%-22s|" % (npu, "910B3", "OK", 88.7 + (3 * npu + number) % 7, 36 + (npu + number) % 6, "0    / 0"))
        rows.append("| %-26d| %-14s| %-12d%-18s%-22s|" % (0, address(npu), 0, "0    / 0", "%-5d/ 65536" % (2873 + npu)))
        rows.append(WIDE)
    rows += [THIN, "| NPU     Chip              | Process id    | Process name             | Process memory(MB)        |", WIDE]
    for npu in range(8):
        rows += ["| No running processes found in NPU %-62d |" % npu, WIDE]
    return "\n".join(rows) + "\n"


def pairs(*items):
    return "".join("\t%-30s : %s\n" % item for item in items)


def values(first, **rest):
    return "".join("%s=%s\n" % item for item in dict(first, **rest).items())


def board(number, npu):
    return pairs(
        ("NPU ID", npu), ("Product Name", "NLA2-OAM"), ("Model", "NA"), ("Manufacturer", "Northlake"),
        ("Serial Number", "2102NL%02d%05d" % (number, 40010 + 3 * npu)),
        ("Software Version", DRIVER), ("Firmware Version", FIRMWARE), ("Compatibility", "OK"), ("Board ID", "0x65"), ("PCB ID", "A"), ("BOM ID", "1"),
        ("PCIe Bus Info", address(npu)), ("Slot ID", npu), ("PCI Vendor ID", "0x19E5"), ("PCI Device ID", "0xD802"), ("Subsystem Vendor ID", "0x19E5"),
        ("Subsystem Device ID", "0x4000"), ("Chip Count", 1),
    )  # fmt: skip


def chip(number, npu):
    die = "%08X %08X %08X %08X %08X" % (0x5A10C4F0 + npu, 0x20000000 + 4096 * number, 0x91B3E207 + 77 * npu, 0x0C0A3D11, 0x4B000000 + npu)
    return pairs(
        ("NPU ID", npu), ("Chip ID", 0), ("Chip Type", "Ascend"), ("Chip Name", "910B3"), ("Chip Version", "V1"), ("Board ID", "0x65"), ("PCB ID", "NA"),
        ("BOM ID", "1"), ("VDie ID", die), ("NDie ID", "00000000 00000000 00000000 00000000 00000000"), ("Chip Position ID", 0),
        ("PCIe Bus Info", address(npu)), ("Firmware Version", FIRMWARE),
    )  # fmt: skip


def ecc(npu):
    text = "\t%-45s : %d\n\t%-45s : 1\n\n" % ("NPU ID", npu, "Chip Count")
    for kind in ("DDR", "HBM"):
        for what in ("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count", "Next-Isolated Pages Count"):
            for bits in ("Single", "Double"):
                if kind == "HBM" or "Pages" not in what:
                    text += "\t%-45s : 0\n" % ("%s %s Bit %s" % (kind, bits, what))
    return text + "\t%-45s : 0\n" % "Chip ID"


def share(npu):
    return pairs(("NPU ID", npu), ("Chip Count", 1)) + "\n" + pairs(("Device-share Status", "False"), ("Chip ID", 0))


def topology():
    labels = ["NPU%d" % n for n in range(8)]
    lines = ["\t   " + "".join("%-11s" % label for label in labels) + "CPU Affinity"]
    for mine in range(8):
        cells = "".join("%-11s" % ("X" if peer == mine else "HCCS") for peer in range(8))
        first = (BUSES[mine] >> 6) * 48
        lines.append("%-11s%s%d-%d" % (labels[mine], cells, first, first + 47))
    legend = "X    = Self", "SYS  = Path traversing PCIe and NUMA nodes.", "HCCS = Connection traversing HCCS.", "NA   = Unknown relationship."
    return "\n".join(lines) + "\n\nLegend:\n\n" + "".join("  %s\n" % line for line in legend)


def hccs():
    columns = {
        "health status": "OK", "lane mode": [4] * 7, "link lane list": ["1111"] * 7, "link speed": [224] * 7,
        "retry count": [0] * 7, "error count": [0] * 7, "first error lane": "NA",
    }  # fmt: skip
    told = {name: value if isinstance(value, str) else "[%s]" % "".join("%-20s " % one for one in value) for name, value in columns.items()}
    return "".join("\t%-30s : %s\n" % ("hccs %s " % name, value) for name, value in told.items())


def network(made, number):
    """The ports of the NPUs: a subnet for each of four rails."""
    lines = []
    for npu in range(8):
        rail, place = npu % 4, 2 * number + npu // 4
        settings = {"address": "10.60.%d.%d" % (rail, 10 + place), "netmask": "255.255.255.0", "netdetect": "10.60.%d.1" % rail, "gateway": "10.60.%d.1" % rail}
        lines += ["%s_%d=%s\n" % (key, npu, value) for key, value in settings.items()]
        made.run("hccn_tool", "-i", str(npu), "-link", "-g", rc=0, stdout="link status: UP\n")
        made.run("hccn_tool", "-i", str(npu), "-net_health", "-g", rc=0, stdout="net health status: Success\n")
        said = "dev_id:%d, tls switch[0](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), tls alarm time threshold[60]days\n" % npu
        made.run("hccn_tool", "-i", str(npu), "-tls", "-g", rc=0, stdout=said)
    made.files["/etc/hccn.conf"] = "".join(lines)


def components():
    rows = ["{"]
    for npu in range(8):
        for kind, name in ((0, "nve"), (3, "uefi"), (8, "imu"), (9, "imp")):
            rows.append("Get component version(%s) succeed for deviceId(%d), componentType(%d)." % (FIRMWARE, npu, kind))
            rows.append('\t{"device_id":%d, "component":%s, "version":%s}' % (npu, name, FIRMWARE))
    return "\n".join([*rows, "}"]) + "\n"


def listing():
    return pairs(("Total Count", 8)) + "".join("\n" + pairs(("NPU ID", npu), ("Chip Count", 1)) for npu in range(8))


def mapping():
    heads = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")
    rows = [("%d" % npu, "0", "%d" % npu, "Ascend 910B3") for npu in range(8)]
    rows += [("%d" % npu, "1", "-", "Mcu") for npu in range(8)]
    return "".join("\t" + " ".join("%-30s" % cell for cell in row).rstrip() + "\n" for row in [heads, *sorted(rows)])


def node(name, number, note, narrow=None):
    """narrow: the NPU whose link has half its lanes."""
    made = machine.Node(name, note)
    machine.system(
        made, "NL8-A2 7U", "NLA26%05X" % (0x7C40 + 23 * number), KUNPENG, 4, 48, False, 1536, numa=4,
        machine="aarch64", release="5.10.0-216.0.0.115.oe2203sp4.aarch64", version="#1 SMP Thu Jun 27 15:22:10 CST 2024",
        os="openEuler", python="3.9.9", cmdline="crashkernel=1024M smmu.bypassdev=0x1000:0x17 video=efifb:off",
    )  # fmt: skip
    made.surroundings = {
        "number": 40 + number, "modules": (24, 64, 0x1A, 3200, "Northlake Memory", "NM4R64G32"), "driver": ("drv_pcie", "", False), "clock": "chronyd",
        "scaling": "cppc_cpufreq", "mitigations": {"meltdown": "Not affected", "spectre_v2": "Not affected"},
    }  # fmt: skip
    for index, bus in enumerate(BUSES):
        root = "0000:%02x:%02x.0" % (bus & 0xF0 & ~1, bus & 3)
        path = ["pci0000:%02x" % (bus & 0xF0), root, address(index).lower()]
        lanes = 8 if index == narrow else 16
        made.port(path[:2], "0x19e5", "0xa120", (lanes, 16, "16.0 GT/s", "16.0 GT/s"))
        link = (lanes, 16, "16.0 GT/s", "16.0 GT/s")
        made.function(path, "0x19e5", "0xd802", "0x120000", "devdrv_device_driver", (bus & 0xF0) // 0x40, ("0x19e5", "0x4000"), "0x20", link)
    # graphics of the management controller, of the same vendor: no accelerator
    made.function(["pci0000:03", "0000:03:00.0", "0000:05:00.0"], "0x19e5", "0x1711", "0x030000", "hibmc-drm", 0, ("0x19e5", "0x1711"), "0x01")
    made.other("0000:1b:00.0", "0x15b3")
    made.port(["pci0000:00", "0000:00:01.0"], "0x19e5", "0xa120")
    made.modules.append("drv_pcie")
    made.lines("/sys/module/drv_pcie", initstate="live")
    made.files["/sys/module/drv_pcie/version"] = {"absent": True}
    made.files["/var/lib/fleetproof-accelerator"] = {"absent": True}
    made.dev += ["davinci_manager", "devmm_svm", "hisi_hdc", *("davinci%d" % npu for npu in range(8))]
    prefix = "/usr/local/Ascend"
    installed = {"UserName": "HwHiAiUser", "UserGroup": "HwHiAiUser", "Driver_Install_Type": "full", "Driver_Install_Path_Param": prefix}
    made.files["/etc/ascend_install.info"] = values(installed, Driver_Install_Status="complete")
    driver = {"Version": DRIVER, "ascendhal_version": "7.35.23", "aicpu_version": "1.0", "package_version": DRIVER}
    made.files[prefix + "/driver/version.info"] = values(driver, compatible_version_fw="[7.0.0,7.7.99]")
    made.files[prefix + "/firmware/version.info"] = values({"Version": FIRMWARE, "firmware_version": "1.0"}, package_version=DRIVER)
    made.files[prefix + "/cann"] = {"absent": True}
    made.files[prefix + "/ascend-toolkit/latest/runtime/version.info"] = "Version=8.2.0\nversion_dir=8.2.RC1\ntimestamp=20250718_140115371\n"
    made.run("npu-smi", "info", rc=0, stdout=info(number), seconds=2.6)
    made.run("npu-smi", "info", "-l", rc=0, stdout=listing())
    made.run("npu-smi", "info", "-m", rc=0, stdout=mapping())
    made.run("npu-smi", "info", "-t", "topo", rc=0, stdout=topology())
    enable = "\t%-30s : True\n" % "HBM ECC-Enable Status"
    for npu in range(8):
        made.run("npu-smi", "info", "-t", "ecc", "-i", str(npu), rc=0, stdout=ecc(npu))
        made.run("npu-smi", "info", "-t", "device-share", "-i", str(npu), rc=0, stdout=share(npu))
        made.run("npu-smi", "info", "-t", "board", "-i", str(npu), rc=0, stdout=board(number, npu))
        enabled = pairs(("NPU ID", npu), ("Chip Count", 1)) + enable + pairs(("Chip ID", 0))
        made.run("npu-smi", "info", "-t", "ecc-enable", "-i", str(npu), rc=0, stdout=enabled)
        made.run("npu-smi", "info", "-t", "board", "-i", str(npu), "-c", "0", rc=0, stdout=chip(number, npu))
        made.run("npu-smi", "info", "-t", "hccs", "-i", str(npu), "-c", "0", rc=0, stdout=hccs())
    network(made, number)
    made.run("upgrade-tool", "--device_index", "-1", "--component", "-1", "--version", rc=0, stdout=components(), seconds=1.1)
    made.log += [
        (18.220371, "[ascend] [devdrv_pcie] device %s probe finish" % address(0).lower()),
        (18.904115, "[ascend] [drv_davinci] davinci manager init success"),
    ]
    if narrow is not None:
        here = address(narrow).lower()
        said = "126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
        made.log.append((17.3, "pci %s: %s" % (here, said)))
    return made


def nodes():
    return [
        node("npu-a01", 1, "Healthy.").document(),
        node("npu-a02", 2, "One NPU's link has eight of its sixteen lanes.", narrow=5).document(),
        machine.unreachable("npu-a03", "Nobody answers.", "ssh: connect to host npu-a03 port 22: No route to host"),
    ]
