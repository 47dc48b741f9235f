# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `host` on recorded machines."""

from __future__ import annotations

import json

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cpu, dmi, kernel, memory, node, os_release, platform, time_sync

CPUINFO = (
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC  9654 96-Core Processor\nphysical id\t: 0\nflags\t\t: fpu vme sse\n\nprocessor\t: 1\n"
)
MEMINFO = "MemTotal:       2113413120 kB\nMemFree:         1000000 kB\nMemAvailable:   2057833168 kB\nHugePages_Total:      20\n"
MEMINFO += "HugePages_Free:       18\nHugepagesize:    1048576 kB\n"
TRACKING = "C0A80001,192.168.0.1,3,1764435600.1,-0.000012,0.00006,0.0001,20.8,0.003,0.3,0.001,0.02,65.2,"


def replay(files=(), commands=(), **host):
    document = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z"}
    return ReplayHost(dict(document, files=dict(files), commands=list(commands), host=host))


def server():
    """Two sockets of two cores with two threads, as a bare machine tells it."""
    files = {
        "/proc/cpuinfo": CPUINFO,
        "/proc/meminfo": MEMINFO,
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro ds=nocloud;password=s3cr3t,seedfrom=http://u:pw@h/ REGISTRY_TOKEN=abc\n",
        "/proc/uptime": "3600.25 7000.00\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/etc/os-release": 'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n',
        "/sys/devices/system/cpu/online": "0-7\n",
        "/sys/devices/system/cpu/smt/active": "1\n",
        "/sys/devices/system/node/has_cpu": "0-1\n",
        "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       1056000000 kB\nNode 0 MemFree: 1 kB\n",
        "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       1057000000 kB\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/sys/class/ipmi/ipmi0/device/bmc/firmware_revision": "1.74\n",
        "/sys/fs/selinux/enforce": {"absent": True},
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": {"base64": "BgAAAAE="},
        "/sys/hypervisor/type": {"absent": True},
        "/proc/device-tree/hypervisor/compatible": {"absent": True},
        "/sys/module": {"dir": ["nvidia", "amdgpu", "nvidia_uvm", "ext4"]},
        "/sys/module/nvidia": {"dir": ["initstate", "version"]},
        "/sys/module/nvidia/initstate": "live\n",
        "/sys/module/nvidia/version": "570.133.20\n",
        "/sys/module/nvidia_uvm": {"dir": ["initstate"]},
        "/sys/module/nvidia_uvm/initstate": "going\n",
        "/sys/module/amdgpu": {"dir": []},
    }
    for number in range(8):
        base = "/sys/devices/system/cpu/cpu%d/topology/" % number
        files[base + "package_cpus_list"] = "0-1,4-5\n" if number % 4 < 2 else "2-3,6-7\n"
        files[base + "core_cpus_list"] = "%d,%d\n" % (number % 4, number % 4 + 4)
    texts = {"sys_vendor": "Example Corp", "product_name": "X-8000", "product_serial": "S1234", "product_sku": "Default string", "product_family": "AI"}
    texts.update(board_vendor="Example Corp", board_name="B-8000", board_version="1.0", board_serial="0123456789")
    texts.update(bios_vendor="American Megatrends", bios_version="2.4b", bios_date="01/02/2026")
    files.update({"/sys/class/dmi/id/" + name: text + "\n" for name, text in texts.items()})
    return files


HOST = {
    "uname": {"release": "6.8.0-79-generic", "version": "#79-Ubuntu SMP", "machine": "x86_64"},
    "boot_time": 1764400000,
    "limits": {"memlock": ["unlimited", "unlimited"], "nofile": [1024, 1048576]},
    "python": {"version": "3.12.3", "executable": "/usr/bin/python3"},
}
CHRONY = {"argv": ["chronyc", "-c", "-n", "tracking"], "rc": 0, "stdout": TRACKING + "Normal\n"}


def test_a_whole_server():
    section = node.host_section(replay(server(), [CHRONY], **HOST))
    modules = section.pop("modules")
    assert section == {
        "timestamp": "2026-11-29T17:00:00Z",
        "system": {
            "vendor": "Example Corp",
            "product": "X-8000",
            "serial": "S1234",
            "sku": {"unknown": "/sys/class/dmi/id/product_sku: placeholder 'Default string'"},
            "family": "AI",
        },
        "board": {
            "vendor": "Example Corp",
            "product": "B-8000",
            "version": "1.0",
            "serial": {"unknown": "/sys/class/dmi/id/board_serial: placeholder '0123456789'"},
        },
        "bios": {"vendor": "American Megatrends", "version": "2.4b", "date": "01/02/2026"},
        "bmc": {"version": "1.74"},
        "os": {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04.2 LTS"},
        "kernel": {
            "release": "6.8.0-79-generic",
            "version": "#79-Ubuntu SMP",
            "command_line": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro ds=nocloud;password=[redacted],seedfrom=http://u:[redacted]@h/ REGISTRY_TOKEN=[redacted]",
            "architecture": "x86_64",
            "boot_time": "2025-11-29T07:06:40Z",
        },
        "cpu": {"model": "AMD EPYC 9654 96-Core Processor", "sockets": 2, "cores": 4, "threads": 8, "numa_nodes": 2, "smt": True},
        "memory": {"total_mib": 2063880, "available_mib": 2009602, "per_numa_mib": {"0": 1031250, "1": 1032226}},
        "huge_pages": {"size_kib": 1048576, "total": 20, "free": 18, "transparent": "madvise"},
        "limits": {"memlock_soft": "unlimited", "memlock_hard": "unlimited", "nofile_soft": 1024, "nofile_hard": 1048576},
        "python": {"version": "3.12.3", "executable": "/usr/bin/python3"},
        "time": {"synchronized": True, "source": "192.168.0.1", "offset_seconds": 0.000012, "method": "chronyc"},
        "numa_balancing": False,
        "security": {"selinux": "disabled", "secure_boot": "enabled"},
        "virtualization": "none",
        "uptime_seconds": 3600.25,
    }
    assert modules["nvidia"] == {"version": "570.133.20", "loaded": True}
    assert modules["nvidia_uvm"]["loaded"] is False
    assert modules["amdgpu"] == {"version": {"not_applicable": "comes with the kernel: no version of its own"}, "loaded": True}
    assert modules["habanalabs"] == {"version": {"not_applicable": "not loaded"}, "loaded": False}


def facts_of(value, path=""):
    if isinstance(value, dict) and not ({"unknown", "not_applicable"} & set(value)):
        for key, item in value.items():
            yield from facts_of(item, "%s.%s" % (path, key))
    else:
        yield path, value


def test_nothing_recorded_is_all_unknown():
    section = node.host_section(replay())
    assert section["timestamp"] == "2026-11-29T17:00:00Z"
    for path, value in facts_of(section):
        assert path == ".timestamp" or list(value) == ["unknown"], (path, value)


@pytest.mark.parametrize(
    "entry",
    [{"error": "EACCES"}, {"hang": True}, {"error": "EIO"}, {"dir": []}, {"device": "char"}, "", "\0\xff garbage [", "-1", "9" * 5000, {"absent": True}],
)
def test_any_garbage_gives_a_document(entry):
    whole = server()
    for path in whole:
        section = node.host_section(replay(dict(whole, **{path: entry}), [CHRONY], **HOST))
        json.dumps(section, allow_nan=False)
        assert set(section) == set(node.host_section(replay()))


@pytest.mark.parametrize("key", sorted(HOST))
@pytest.mark.parametrize("value", [None, [], "x", -1, {"memlock": "x", "nofile": [None, True]}, 1e400])
def test_any_garbage_of_the_machine_gives_a_document(key, value):
    section = node.host_section(replay(server(), [CHRONY], **dict(HOST, **{key: value})))
    assert set(section) == set(node.host_section(replay()))


@pytest.mark.parametrize(
    "text",
    [
        "To be filled by O.E.M.",
        "Default string",
        "Not Specified",
        "0123456789",
        "00000000",
        "N/A",
        "None",
        "System Serial Number",
        "  ",
        "xxxxxxx",
        "To Be Filled By O.E.M",
        "SKU",
        "....",
    ],
)
def test_placeholders_of_firmware_are_unknown(text):
    assert list(dmi.clean(text + "\n", "x")) == ["unknown"]


@pytest.mark.parametrize("text", ["DGXH100", "MX0123456789", "Nonesuch 3", "0001-A", "PowerEdge XE9680", "S0"])
def test_values_that_only_look_like_placeholders(text):
    assert dmi.clean(text, "x") == text


def test_serials_need_root():
    files = {"/sys/class/dmi/id/product_serial": {"error": "EACCES"}}
    assert dmi.read(replay(files))["system"]["serial"] == {"unknown": "/sys/class/dmi/id/product_serial: denied (EACCES)"}


def test_device_tree_where_there_is_no_smbios():
    files = {"/sys/class/dmi": {"dir": []}, "/proc/device-tree": {"dir": ["model", "system-id"]}, "/proc/device-tree/model": "IBM,8335-GTX\0"}
    files["/proc/device-tree/system-id"] = "IBM,0112233\0"
    system = dmi.read(replay(files))["system"]
    assert (system["product"], system["serial"]) == ("IBM,8335-GTX", "IBM,0112233")


@pytest.mark.parametrize(
    "text, expected",
    [
        ('ID="rocky"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky \\"Linux\\" 9.4"\n', {"id": "rocky", "version": "9.4", "name": 'Rocky "Linux" 9.4'}),
        ("ID=arch\nNAME='Arch Linux'\n", {"id": "arch", "version": {"not_applicable": "no VERSION_ID: a rolling release"}, "name": "Arch Linux"}),
    ],
)
def test_os_release(text, expected):
    files = {"/etc/os-release": {"absent": True}, "/usr/lib/os-release": text}
    assert os_release.read(replay(files)) == expected


def test_os_release_without_an_id():
    assert list(os_release.read(replay({"/etc/os-release": "garbage"}))["id"]) == ["unknown"]


@pytest.mark.parametrize(
    "line, shown",
    [
        ("a=1 token=abcdef b", "a=1 token=[redacted] b"),
        ("rd.iscsi.password=hunter2", "rd.iscsi.password=[redacted]"),
        ('SECRET="a b" z', 'SECRET="[redacted]" z'),
        ("url=https://me:pw@host/x", "url=https://me:[redacted]@host/x"),
        ("nosoftlockup  isolcpus=1-69", "nosoftlockup isolcpus=1-69"),
        ("opts=user=x,passwd=yz,ro", "opts=user=x,passwd=[redacted],ro"),
    ],
)
def test_secrets_leave_the_command_line(line, shown):
    assert kernel.read(replay({"/proc/cmdline": line + "\n"}))["command_line"] == shown


@pytest.mark.parametrize("text, numbers", [("", []), ("0", [0]), ("0-3,8\n", [0, 1, 2, 3, 8])])
def test_cpu_lists(text, numbers):
    assert cpu.parse_list(text) == numbers


@pytest.mark.parametrize("text", ["x", "3-1", "0-9999999", "1,", ",", "0x3"])
def test_cpu_lists_that_are_none(text):
    with pytest.raises(ValueError):
        cpu.parse_list(text)


@pytest.mark.parametrize(
    "text, name",
    [
        ("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n", "Arm Neoverse-V2"),
        ("processor : 0\nCPU implementer : 0x99\nCPU part : 0x001\n", "Arm processor 0x99 0x001"),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("garbage", {"unknown": "/proc/cpuinfo: no model name"}),
    ],
)
def test_processor_names(text, name):
    assert cpu.model(cpu.fields(text)) == name


def test_uneven_cores_are_counted_one_by_one():
    files = {"/sys/devices/system/cpu/online": "0-3"}
    for number, siblings in enumerate(("0-1", "0-1", "2", "3")):
        files["/sys/devices/system/cpu/cpu%d/topology/core_siblings_list" % number] = "0-3"
        files["/sys/devices/system/cpu/cpu%d/topology/package_cpus_list" % number] = {"absent": True}
        files["/sys/devices/system/cpu/cpu%d/topology/core_cpus_list" % number] = siblings
    assert cpu.topology(replay(files)) == {"threads": 4, "sockets": 1, "cores": 3}


def test_memory_nodes_of_accelerators_are_no_processor_nodes():
    files = {"/sys/devices/system/node/has_cpu": "0\n", "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 490037248 kB\n"}
    host = replay(dict(files, **{"/proc/meminfo": MEMINFO}))
    nodes = cpu.nodes_with_cpus(host)
    assert nodes == [0]
    assert memory.read(host, nodes)["memory"]["per_numa_mib"] == {"0": 478552}


def test_kernels_without_numa_or_huge_pages():
    host = replay({"/sys/devices/system": {"dir": ["cpu"]}, "/proc/meminfo": "MemTotal: 1024 kB\n"})
    nodes = cpu.nodes_with_cpus(host)
    assert list(nodes) == ["not_applicable"]
    facts = memory.read(host, nodes)
    assert facts["memory"]["per_numa_mib"] == nodes
    assert facts["huge_pages"]["total"] == {"not_applicable": "kernel without huge pages"}


@pytest.mark.parametrize(
    "leap, synchronized", [("Normal", True), ("Insert second", True), ("Delete second", True), ("Not synchronised", False), ("Not synchronized", False)]
)
def test_the_leap_status_decides(leap, synchronized):
    facts = time_sync.read(replay(commands=[{"argv": time_sync.CHRONY, "rc": 0, "stdout": TRACKING + leap}]))
    assert facts["synchronized"] is synchronized
    assert facts["method"] == "chronyc"
    assert ("unknown" in str(facts["offset_seconds"])) is not synchronized


def test_a_clock_that_follows_itself_is_not_synchronized():
    stdout = TRACKING.replace("C0A80001,192.168.0.1", "7F7F0101,") + "Normal"
    facts = time_sync.read(replay(commands=[{"argv": time_sync.CHRONY, "rc": 0, "stdout": stdout}]))
    assert (facts["synchronized"], facts["source"]) == (False, "its own clock (local mode)")


MISSING = {"argv": time_sync.CHRONY, "missing": True}
SILENT = {"argv": time_sync.CHRONY, "rc": 1, "stdout": "506 Cannot talk to daemon\n"}


@pytest.mark.parametrize("chrony", [MISSING, SILENT, {"argv": time_sync.CHRONY, "hang": True}])
@pytest.mark.parametrize("word, synchronized", [("yes", True), ("no", False)])
def test_the_kernel_flag_when_chrony_does_not_tell(chrony, word, synchronized):
    facts = time_sync.read(replay(commands=[chrony, {"argv": time_sync.TIMEDATECTL, "rc": 0, "stdout": "NTPSynchronized=%s\n" % word}]))
    assert (facts["synchronized"], facts["method"]) == (synchronized, "timedatectl")


@pytest.mark.parametrize("kernel_answer", [{"missing": True}, {"rc": 1, "stderr": "no bus"}, {"rc": 0, "stdout": "what?"}, {"hang": True}])
def test_time_that_nobody_tells_is_unknown(kernel_answer):
    facts = time_sync.read(replay(commands=[MISSING, dict(kernel_answer, argv=time_sync.TIMEDATECTL)]))
    assert {next(iter(value)) for value in facts.values()} == {"unknown"}


@pytest.mark.parametrize("text", ["1\n", "0\n"])
def test_selinux(text):
    assert platform.selinux(replay({"/sys/fs/selinux/enforce": text})) == {"1\n": "enforcing", "0\n": "permissive"}[text]


@pytest.mark.parametrize(
    "files, expected",
    [
        ({platform.SECURE_BOOT: {"base64": "BgAAAAA="}}, "disabled"),
        ({platform.SECURE_BOOT: {"base64": "BgAA"}}, "unknown"),
        ({"/sys/firmware": {"dir": ["acpi"]}}, "not_applicable"),
        ({"/sys/firmware/efi": {"dir": ["efivars"]}, "/sys/firmware/efi/efivars": {"dir": []}}, "unknown"),
        ({"/sys/firmware/efi/efivars": {"dir": ["Boot0000-8be4df61-93ca-11d2-aa0d-00e098032b8c"]}}, "not_applicable"),
    ],
)
def test_secure_boot(files, expected):
    value = platform.secure_boot(replay(files))
    assert value == expected or list(value) == [expected]


@pytest.mark.parametrize(
    "flags, vendor, product, expected",
    [
        ("fpu hypervisor", "QEMU", "Standard PC", "qemu"),
        ("fpu hypervisor", "Amazon EC2", "p5.48xlarge", "amazon"),
        ("fpu hypervisor", "Example", "Thing", "hypervisor"),
        ("fpu", "Amazon EC2", "i7ie.metal-48xl", "none"),
        (None, "Amazon EC2", "c7g.metal", "none"),
        (None, "Amazon EC2", "c7g.16xlarge", "amazon"),
        (None, "NVIDIA", "GB200 NVL", "none"),
        (None, "Xenon Systems", "A1", "none"),
    ],
)
def test_virtualization(flags, vendor, product, expected):
    files = {"/sys/class/dmi/id/sys_vendor": vendor, "/sys/class/dmi/id/product_name": product, "/proc/cpuinfo": "processor: 0\n"}
    if flags:
        files["/proc/cpuinfo"] += "flags: %s\n" % flags
    host = replay(files)
    assert platform.virtualization(host, dmi.read(host), host.read_text("/proc/cpuinfo")) == expected


INFO = {"argv": dmi.BMC_COMMAND, "rc": 0, "stdout": "Device ID                 : 32\nFirmware Revision         : 2.19\nIPMI Version              : 2.0\n"}


@pytest.mark.parametrize(
    "device, command, expected",
    [
        ({"device": "char"}, INFO, "2.19"),
        ({"device": "char"}, dict(INFO, stdout="garbage"), {"unknown": "ipmitool mc info: no firmware revision"}),
        ({"device": "char"}, {"argv": dmi.BMC_COMMAND, "missing": True}, {"unknown": "ipmitool: not installed"}),
        ({"device": "char"}, {"argv": dmi.BMC_COMMAND, "hang": True}, {"unknown": "ipmitool mc info: timeout (no answer in time)"}),
        ({"absent": True}, INFO, {"unknown": "no /dev/ipmi0: no BMC, or its kernel driver is not loaded"}),
    ],
)
def test_bmc_by_its_tool(device, command, expected):
    assert dmi.bmc(replay({"/dev/ipmi0": device, dmi.BMC_REVISION: {"absent": True}}, [command])) == {"version": expected}


def test_a_guest_has_no_bmc():
    files = dict(server(), **{"/sys/class/ipmi/ipmi0/device/bmc/firmware_revision": {"absent": True}, "/dev/ipmi0": {"absent": True}})
    files["/proc/cpuinfo"] = CPUINFO.replace("sse", "hypervisor")
    assert node.host_section(replay(files, [CHRONY], **HOST))["bmc"]["version"] == {"not_applicable": "a virtual machine has no BMC"}


def test_modules_that_cannot_be_listed_are_unknown():
    facts = kernel.modules(replay({"/sys/module": {"error": "EACCES"}}), names=["nvidia"])
    assert facts == {"nvidia": {"version": {"unknown": "/sys/module: denied (EACCES)"}, "loaded": {"unknown": "/sys/module: denied (EACCES)"}}}
