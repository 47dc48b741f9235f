# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of host/ and pci/: what our readers conclude from them, or which question we do not ask yet.

A capture of lspci is turned into the sysfs tree that lspci itself printed, for the scan to read.
"""

from __future__ import annotations

import csv
import json
import re
import struct

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import bmc as management
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import (
    cpu,
    dkms,
    dmi,
    kernel,
    memory,
    pci,
    rasdaemon,
    settings,
    smart,
    smbios,
    time_sync,
)
from health_nodes import ask

INDEX = "INDEX-nvidia-host.tsv"
FUNCTION = re.compile(r"((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) .*?\[([0-9a-f]{4})\]: .*\[([0-9a-f]{4}):([0-9a-f]{4})\](?: \(rev ([0-9a-f]{2})\))?")


def replay(files, commands=()):
    return ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": list(commands)})


def sysfs(text):
    """The tree below /sys/bus/pci/devices that lspci -nn or -nnk printed."""
    files, names, base = {}, [], ""
    for line in text.splitlines():
        found = FUNCTION.match(line)
        if found:
            address = found.group(1) if found.group(1).count(":") == 2 else "0000:" + found.group(1)
            names.append(address)
            base = "%s/%s" % (pci.DEVICES, address)
            files[base] = {"link": "../../../devices/pci%s:00/%s" % (address.split(":")[0], address)}
            base = "/sys/devices/pci%s:00/%s" % (address.split(":")[0], address)
            files[base] = {"dir": ["vendor", "device", "class", "revision", "driver", "subsystem_vendor", "subsystem_device"]}
            files.update({base + "/vendor": "0x" + found.group(3), base + "/device": "0x" + found.group(4), base + "/class": "0x%s00" % found.group(2)})
            files.update({base + "/revision": "0x" + (found.group(5) or "00"), base + "/driver": {"absent": True}})
            files.update({base + "/subsystem_vendor": {"absent": True}, base + "/subsystem_device": {"absent": True}})
        driver = re.match(r"\s+Kernel driver in use: (\S+)", line)
        if driver:
            files[base + "/driver"] = {"link": "../../../bus/pci/drivers/" + driver.group(1)}
        subsystem = re.match(r"\s+Subsystem: .*\[([0-9a-f]{4}):([0-9a-f]{4})\]", line)
        if subsystem:
            files.update({base + "/subsystem_vendor": "0x" + subsystem.group(1), base + "/subsystem_device": "0x" + subsystem.group(2)})
    files[pci.DEVICES] = {"dir": names}
    return files


def scanned(text):
    """(addresses, models and drivers of the accelerators, addresses of the bridges, of the others)."""
    section = pci.scan(replay(sysfs(text)))
    assert section["scan"]["status"] == "ok"
    found = pci.accelerators(section, "nvidia")
    assert section["counts"].pop("nvidia") == len(found)
    assert set(section["counts"].values()) == {0}
    rest = {role: [e["address"] for e in section["devices"] if e["role"] == role] for role in ("bridge", "other", "virtual_function")}
    return [e["address"] for e in found], {e["model"] for e in found}, {e["driver"] for e in found}, rest


NO_OTHERS = {"bridge": [], "other": [], "virtual_function": []}


def two_a100(text):
    assert scanned(text) == (["0000:04:00.0", "0000:05:00.0"], {"A100 SXM4 40GB"}, {None}, NO_OTHERS)


def four_h100(text):
    assert scanned(text) == (["0000:%s:00.0" % bus for bus in ("06", "0c", "46", "4c")], {"H100 SXM5 80GB"}, {None}, NO_OTHERS)


def eight_v100_and_switches(text):
    addresses = ["0000:%s:00.0" % bus for bus in ("08", "0a", "18", "1a", "89", "8b", "92", "94")]
    bridges = ["0000:10:00.0", "0000:11:00.0", "0000:12:00.0"]
    assert scanned(text) == (addresses, {"Tesla V100 SXM2 16GB"}, {None}, dict(NO_OTHERS, bridge=bridges))


def a10_guest(text):
    assert scanned(text) == (["0000:06:00.0"], {"A10"}, {None}, NO_OTHERS)


def a100_azure(text):
    addresses = ["%s:00:00.0" % domain for domain in ("0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e")]
    bridges = ["%s:00:00.0" % domain for domain in ("0005", "0006", "0007", "0008", "0009", "000a")]
    assert scanned(text) == (addresses, {"A100 SXM4 80GB"}, {None}, dict(NO_OTHERS, bridge=bridges))


def eight_v100_passed_through(text):
    addresses = ["0000:%s:00.0" % bus for bus in ("08", "0a", "18", "1a", "89", "8b", "92", "94")]
    assert scanned(text) == (addresses, {"Tesla V100 SXM2 16GB"}, {"vfio-pci"}, NO_OTHERS)


def a10_without_driver(text):
    assert scanned(text) == (["0000:65:00.0"], {"A10"}, {None}, NO_OTHERS)
    (entry,) = pci.scan(replay(sysfs(text)))["devices"]
    assert (entry["subsystem_vendor"], entry["subsystem_device"], entry["class"], entry["revision"]) == ("10de", "1482", "0x030200", "a1")


def links_of_a_reference(text):
    """Each link in each of its spellings, as the kernel would show it; the network that is expected there: test_captures_network_tools.py."""
    kinds = {}
    for address, entry in json.loads(text)["pci"].items():
        for speed in entry["link_speed"]:
            base, width = pci.DEVICES + "/" + address, entry["link_width"] + "\n"
            files = {base + "/%s_link_width" % when: width for when in ("current", "max")}
            files.update({base + "/%s_link_speed" % when: speed + "\n" for when in ("current", "max")})
            link = pci.link(replay(files), address)
            assert (link["speed_current_gts"], link["width_current"]) == (link["speed_max_gts"], link["width_max"])
            kinds.setdefault((link["speed_current_gts"], link["width_current"]), set()).add(address)
    # two drives may run at either speed
    assert {kind: len(addresses) for kind, addresses in kinds.items()} == {(16.0, 16): 20, (16.0, 4): 10, (8.0, 4): 2, (8.0, 2): 6}
    assert kinds[8.0, 4] < kinds[16.0, 4]


def not_synchronized(text):
    host = replay({}, [{"argv": time_sync.CHRONY, "rc": 1, "stderr": "unknown option"}, {"argv": time_sync.CHRONY_TEXT, "rc": 0, "stdout": text}])
    assert time_sync.read(host) == {
        "synchronized": False,
        "method": "chronyc",
        "source": {"not_applicable": "chronyd follows no source"},
        "offset_seconds": {"unknown": "not synchronized: the offset means nothing"},
    }


def command_line(text):
    assert kernel.read(replay({"/proc/cmdline": text}))["command_line"] == " ".join(text.split())
    return text.split()


def ampere_command_line(text):
    words = command_line(text)
    assert {"iommu.passthrough=1", "hugepagesz=1G", "hugepages=20", "isolcpus=1-69", "nosoftlockup"} <= set(words)


def spark_command_line(text):
    words = command_line(text)
    assert {"iommu.passthrough=0", "crashkernel=1G-:0M", "pci=pcie_bus_safe"} <= set(words)
    assert sum(word.startswith("console=") for word in words) == 3


def read_memory(text, nodes=()):
    return memory.read(replay({"/proc/meminfo": text, memory.TRANSPARENT: {"absent": True}}), list(nodes))


def gpu_node_memory(text):
    facts = read_memory(text)
    assert facts["memory"] == {"total_mib": 2063880, "available_mib": 2009602, "per_numa_mib": {}}
    assert (facts["huge_pages"]["size_kib"], facts["huge_pages"]["total"], facts["huge_pages"]["free"]) == (2048, 0, 0)


def spark_memory(text):
    facts = read_memory(text)
    assert facts["memory"] == {"total_mib": 122566, "available_mib": 118884, "per_numa_mib": {}}
    assert (facts["huge_pages"]["size_kib"], facts["huge_pages"]["total"]) == (2048, 0)


def spark_dmi(text):
    told = json.loads(text)
    files = {"%s/%s" % (dmi.DMI, name): content for name, content in told.items()}
    files[dmi.DMI] = {"dir": sorted(told)}
    facts = dmi.read(replay(files))
    assert facts == {
        "system": {
            "vendor": "NVIDIA",
            "product": "NVIDIA_DGX_Spark",
            "serial": {"unknown": "/sys/class/dmi/id/product_serial: absent"},
            "sku": {"unknown": "/sys/class/dmi/id/product_sku: placeholder '0000'"},
            "family": "DGX Spark",
        },
        "board": {"vendor": "NVIDIA", "product": "P4242", "version": "A04", "serial": {"unknown": "/sys/class/dmi/id/board_serial: absent"}},
        "bios": {"vendor": "American Megatrends International, LLC.", "version": "5.36_0ACUM018", "date": "08/06/2025"},
    }


def power9_nodes(text):
    files = json.loads(text)
    names = sorted({path.split("/")[5] for path in files if path.startswith("/sys/devices/system/node/")})
    assert len(names) == 8
    host = replay(dict(files, **{"/sys/devices/system/node": {"dir": names}}))
    nodes = cpu.nodes_with_cpus(host)
    assert nodes == [0, 8]
    assert memory.read(host, nodes)["memory"]["per_numa_mib"] == {"0": 126796, "8": 130812}


def bmc(version):
    def check(text):
        files = {dmi.BMC_REVISION: {"absent": True}, dmi.BMC_DEVICE: {"device": "char"}}
        assert dmi.bmc(replay(files, [{"argv": dmi.BMC_COMMAND, "rc": 0, "stdout": text}])) == {"version": version}

    return check


def _number(told, key):
    digits = told[key].split()[0]
    return int(digits) if digits.isdigit() else None


def smbios_of(text):
    """The table that dmidecode printed, as far as a memory module is read."""
    table = b""
    for block in text.split("\n\n"):
        lines = [line.strip() for line in block.splitlines()]
        if "Memory Device" not in lines:
            continue
        told = dict(line.split(": ", 1) for line in lines if ": " in line)
        names = [told.get(key, "") for key in ("Locator", "Bank Locator", "Manufacturer", "Part Number")]

        body = bytearray(0x28)
        size = _number(told, "Size") or 0
        struct.pack_into("<BBH", body, 0, 17, len(body), 1)
        struct.pack_into("<HHH", body, 0x08, _number(told, "Total Width") or 0xFFFF, _number(told, "Data Width") or 0xFFFF, size)
        body[0x10], body[0x11], body[0x12], body[0x17], body[0x1A] = 1, 2, {"DDR4": 0x1A}[told["Type"]], 3, 4
        struct.pack_into("<H", body, 0x15, _number(told, "Speed") or 0)
        struct.pack_into("<H", body, 0x20, _number(told, "Configured Memory Speed") or 0)
        table += bytes(body) + b"\0".join(name.encode() or b" " for name in names) + b"\0\0"
    return table


def four_of_24_modules(text):
    facts = smbios.memory(smbios_of(text))
    assert (facts["slots"], facts["populated"], facts["installed_mib"], len(facts["empty"])) == (24, 4, 65536, 20)
    (kind,) = facts["modules"]
    assert (kind["size_mib"], kind["type"], kind["speed_mts"], kind["manufacturer"], kind["ecc"], kind["count"]) == (16384, "DDR4", 2133, "Hynix", True, 4)


def power_supply_lost(text):
    facts = management.free_sensors(text)
    assert {(s["name"], s["state"]) for s in facts["bad"]} == {("PWR_PSU0", "cr"), ("REDUNDANCY_PSU", "nc"), ("REDUNDANCY_PSU", "cr")}


def well_sensors(text):
    facts = management.sensors(text)
    assert facts["count"] == len(text.splitlines()) and facts["bad"] == []


def deasserted(text):
    facts = management.events(text)
    assert [(e["event"], e["asserted"], e["last"]) for e in facts["events"]] == [
        ("Upper Non-critical going high", True, "2022-12-24T13:58:36"),
        ("Bus Fatal Error", False, "2023-01-18T14:49:30"),
    ]


def a_well_drive(text):
    facts = smart.parse_nvme(text)
    assert (facts["critical_warning"], facts["temperature_c"], facts["percent_used"], facts["media_errors"]) == (0, 37, 2, 0)
    assert (facts["spare_percent"], facts["spare_threshold_percent"], facts["power_on_hours"], facts["implausible"]) == (100, 5, 4974, False)


def good_by_smartctl(text):
    facts = smart.parse_smartctl(text)
    assert (facts["passed"], facts["critical_warning"], facts["temperature_c"], facts["percent_used"], facts["media_errors"]) == (True, 0, 42, 0, 0)
    assert (facts["power_on_hours"], facts["implausible"]) == (5699, False)


def good_by_smartctl_in_words(text):
    """It is asked for JSON: what it says in words is turned into it, and is unknown where an old one knows no JSON."""
    assert smart.parse_smartctl(text) is None
    said = dict(re.findall(r"^([A-Z][^:\n]+): +(\S+)", text, re.M))
    number = {key: int(value.rstrip("%").replace(",", ""), 0) for key, value in said.items() if re.match(r"(?:0x[0-9a-f]+|[\d,]+)%?\Z", value)}
    log = {
        "critical_warning": number["Critical Warning"], "temperature": number["Temperature"], "available_spare": number["Available Spare"],
        "available_spare_threshold": number["Available Spare Threshold"], "percentage_used": number["Percentage Used"],
        "media_errors": number["Media and Data Integrity Errors"], "num_err_log_entries": number["Error Information Log Entries"],
        "power_on_hours": number["Power On Hours"], "power_cycles": number["Power Cycles"], "data_units_read": number["Data Units Read"],
        "data_units_written": number["Data Units Written"], "controller_busy_time": number["Controller Busy Time"],
    }  # fmt: skip
    passed = said["SMART overall-health self-assessment test result"] == "PASSED"
    facts = smart.parse_smartctl(json.dumps({"smart_status": {"passed": passed}, "nvme_smart_health_information_log": log}))
    assert (facts["passed"], facts["critical_warning"], facts["temperature_c"], facts["percent_used"], facts["media_errors"]) == (True, 0, 40, 0, 0)
    storage = {"health": [dict(facts, name="nvme0")]}
    for rule in ("drive-health", "drive-wear", "drive-log"):
        assert ask(rule, {"storage": storage}) == [("n1", "passed", None)], rule


def bmc_without_a_password(text):
    facts = management.network(text)
    assert (facts["address_source"], facts["vlan"], facts["suite_without_authentication"], facts["community_is_public"]) == (
        "static address",
        False,
        True,
        False,
    )
    assert ask("bmc-network", bare_metal(facts)) == [("n1", "found", None)]


def bmc_with_a_known_word(text):
    facts = management.network(text)
    assert (facts["address_source"], facts["vlan"], facts["suite_without_authentication"], facts["community_is_public"]) == ("dhcp address", False, False, True)
    assert ask("bmc-network", bare_metal(facts)) == [("n1", "found", "info")]


def bare_metal(facts):
    return {"host": synthetic.host(), "hardware": {"bmc_network": facts}}


def another_driver_on_the_disk(text):
    """The name of the capture tells what was loaded: 595."""
    said = dict(re.findall(r"^(\w+): +(.+)$", text, re.M))
    release = said["filename"].split("/")[3]
    assert (said["version"], "/updates/dkms/" in said["filename"]) == ("535.309.01", True)
    modinfo = {"argv": ["modinfo", "-F", "version", "nvidia"], "rc": 0, "stdout": said["version"] + "\n"}
    files = {"/sys/module/nvidia/version": "595.45.04\n", "/sys/module/nvidia/initstate": "live\n"}
    versions = settings._on_disk(replay(files, [modinfo]), ["nvidia"])
    assert versions == {"nvidia": {"loaded": "595.45.04", "on_disk": "535.309.01"}}
    section = {"settings": {"modules": {"versions": versions}}}
    assert ask("driver-on-disk", section) == [("n1", "found", None)]
    # What DKMS left of both, built for the kernel that runs.
    trees = {"nvidia/535.309.01": [release, "source"], "nvidia/595.45.04": [release, "source"]}
    files = {"/var/lib/dkms/" + place: {"dir": names} for place, names in trees.items()}
    files["/var/lib/dkms/nvidia"] = {"dir": [place.split("/")[1] for place in trees] + ["kernel-%s-x86_64" % release]}
    built = dkms.read(replay(files), ["nvidia"])
    assert [(one["version"], one["kernels"]) for one in built] == [("535.309.01", [release]), ("595.45.04", [release])]
    section = {"settings": {"kernels": {"running": release, "dkms": built}}, "pci": synthetic.pci([synthetic.pci_entry(0)])}
    assert ask("driver-installed-once", section) == [("n1", "found", None)]


def nodes_without_numactl(text):
    """The nodes are read from sysfs, and no program is asked."""
    assert "not found" in text
    files = {cpu.NODE: {"dir": ["node0"]}, cpu.NODE + "/node0/cpulist": "0-3\n", cpu.NODE + "/node0/meminfo": "Node 0 MemTotal: 16384 kB\n"}
    host = replay(files)
    assert cpu.nodes_with_cpus(host) == [0] and memory.read(host, [0])["memory"]["per_numa_mib"] == {"0": 16}


def a_log_that_was_lost(text):
    facts = smart.parse_smartctl(text)
    assert (facts["passed"], facts["critical_warning"], facts["implausible"]) == (True, 0, True)


def a_log_that_is_refused(text):
    missing = {"argv": ["nvme", "smart-log", "-o", "json", "/dev/nvme0"], "missing": True}
    told = {"argv": ["smartctl", "--json", "-H", "-A", "-n", "standby", "/dev/nvme0"], "rc": 4, "stdout": text}
    (drive,) = smart.read(replay({}, [missing, told]), ["nvme0"], [])
    assert drive["refused"] is True and "Read NVMe SMART/Health Information failed" in drive["problem"]


def record_of_an_arm_server(text):
    facts = rasdaemon.parse(text)
    assert facts["memory"] == [{"kind": "uncorrected", "module": "SOCKET 1 CHANNEL 1 DIMM 0 DIMM1", "count": 1}]
    assert facts["others"][0] == {"source": "PCIe AER events", "what": "Uncorrected (Non-Fatal) errors: Completion Timeout", "count": 2}
    assert [(o["source"], o["count"]) for o in facts["others"][1:]] == [("ARM processor events", 1)] * 8


def record_of_machine_checks(text):
    others = [{"source": "MCE records", "what": "Uncorrected, software containable error.", "count": 3}]
    assert rasdaemon.parse(text) == {"memory": [], "others": others}


def record_without_a_module(text):
    assert rasdaemon.parse(text)["memory"] == [{"kind": "corrected", "module": "unknown memory", "count": 1}]


READ = {
    "pci/dgx-a100-pci-manifest-gcm.json": links_of_a_reference,
    "pci/lspci-nn-2xa100-vm-unsupported.txt": two_a100,
    "pci/lspci-nn-4xh100-sxm5-vm.txt": four_h100,
    "pci/lspci-nn-8xv100-3nvswitch-fragment.txt": eight_v100_and_switches,
    "pci/lspci-nn-a10-vm.txt": a10_guest,
    "pci/lspci-nn-a100-azure.txt": a100_azure,
    "pci/lspci-nnk-8xv100-vfio.txt": eight_v100_passed_through,
    "pci/lspci-nnk-a10-no-driver.txt": a10_without_driver,
    "host/chronyc-tracking-not-synchronised.txt": not_synchronized,
    "host/chronyc-tracking-unsync-stratum3.txt": not_synchronized,
    "host/cmdline-ampere-hugepages-isolcpus.txt": ampere_command_line,
    "host/cmdline-dgx-spark-gb10.txt": spark_command_line,
    "host/ipmitool-mc-info-dell-idrac.txt": bmc("5.10"),
    "host/ipmitool-mc-info-supermicro.txt": bmc("1.74"),
    "host/meminfo-2tb-gpu-node.txt": gpu_node_memory,
    "host/meminfo-dgx-spark-gb10.txt": spark_memory,
    "host/sysfs-dmi-id-dgx-spark.json": spark_dmi,
    "host/sysfs-numa-p9-gpu-numanodes.json": power9_nodes,
    "host/dmidecode-lenovo-24dimm.txt": four_of_24_modules,
    "host/ipmi-sensors-csv-psu-redundancy-lost.txt": power_supply_lost,
    "host/ipmitool-sdr-hp.txt": well_sensors,
    "host/ipmitool-sel-elist-deasserted.txt": deasserted,
    "host/nvme-smart-log-2.3.json": a_well_drive,
    "host/smartctl-jx-nvme-smart-good.json": good_by_smartctl,
    "host/smartctl-jx-nvme-smart-bad.json": a_log_that_was_lost,
    "host/smartctl-jx-nvme-smart-missing.json": a_log_that_is_refused,
    "host/ipmitool-lan-print-dell-dhcp.txt": bmc_with_a_known_word,
    "host/ipmitool-lan-print.txt": bmc_without_a_password,
    "host/modinfo-dkms-nvidia-535-vs-595-leftovers.txt": another_driver_on_the_disk,
    "host/numactl-not-installed.txt": nodes_without_numactl,
    "host/smartctl-nvme-text.txt": good_by_smartctl_in_words,
    "host/ras-mc-ctl-summary-arm-errors.txt": record_of_an_arm_server,
    "host/ras-mc-ctl-summary-mce-only.txt": record_of_machine_checks,
    "host/ras-mc-ctl-summary-unknown-memory.txt": record_without_a_module,
}

# Read by another file, or not read: the command or file that would be asked, or where we read the same fact instead.
NOT_READ = {
    "pci/lspci-acs-root-port-enabled-fragment.txt": "read by test_captures_paths.py",
    "pci/lspci-vvv-cx7-gen4-x8-downgraded-and-vf-x0.txt": "read by test_captures_paths.py",
    "pci/lspci-vvv-cx7-nic.txt": "read by test_captures_paths.py",
    "pci/lspci-vvv-downgraded-mixed.txt": "read by test_captures_paths.py",
    "pci/lspci-vvv-h100-gpu.txt": "read by test_captures_paths.py",
    "pci/lspci-vvv-nvswitch.txt": "read by test_captures_paths.py",
    "host/df-P-T-long-device.txt": "read by test_captures_disks.py",
    "host/edac-util-v-no-errors.txt": "read by test_captures_host_sysfs.py",
    "host/lsblk-J-1.json": "read by test_captures_disks.py",
    "host/lsblk-J-3.json": "read by test_captures_disks.py",
    "host/lsblk-J-5.json": "read by test_captures_disks.py",
    "host/lsblk-J-ironlib-odd-spaces.json": "read by test_captures_disks.py",
    "host/lsblk-P-3.txt": "read by test_captures_disks.py",
    "host/lscpu-aarch64.txt": "read by test_captures_host_sysfs.py",
    "host/lscpu-epyc7302p-8numa.txt": "read by test_captures_host_sysfs.py",
    "host/lscpu-epyc7451.txt": "read by test_captures_host_sysfs.py",
    "host/lscpu-ppc64le.txt": "read by test_captures_host_sysfs.py",
    "host/mokutil-sb-disabled.txt": "read by test_captures_host_sysfs.py",
    "host/mokutil-sb-enabled.txt": "read by test_captures_host_sysfs.py",
    "host/numactl-H-gh200-9nodes.txt": "read by test_captures_host_sysfs.py",
    "host/numactl-H-vm-1node.txt": "read by test_captures_host_sysfs.py",
    "host/nvme-list-2.3.json": "read by test_captures_disks.py",
    "host/nvme-list-empty.json": "read by test_captures_disks.py",
    "host/ulimit-a-memlock-33009433.txt": "read by test_captures_host_sysfs.py",
    "host/ulimit-a-memlock-64.txt": "read by test_captures_host_sysfs.py",
    "host/ulimit-a-memlock-8192.txt": "read by test_captures_host_sysfs.py",
}


@pytest.mark.parametrize("path", sorted(READ))
def test_capture(captures, path):
    READ[path]((captures / path).read_text(encoding="utf-8", errors="replace"))


def test_every_capture_has_an_entry(captures):
    with (captures / INDEX).open(encoding="utf-8", newline="") as stream:
        indexed = {row["path"] for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}
    present = {str(path.relative_to(captures)) for folder in ("host", "pci") for path in (captures / folder).iterdir()}
    wanted = {path for path in indexed | present if path.startswith(("host/", "pci/"))}
    assert wanted == set(READ) | set(NOT_READ)
    assert not set(READ) & set(NOT_READ)


def test_an_iluvatar_card(captures):
    (entry,) = pci.scan(replay(sysfs((captures / "iluvatar/lspci-mr-v100.txt").read_text(encoding="utf-8"))), manufacturers=("iluvatar",))["devices"]
    assert (entry["address"], entry["model"], entry["role"]) == ("0000:15:00.0", "MR-V100", "accelerator")
