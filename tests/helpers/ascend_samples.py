# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi outputs in the shapes of its print functions, with values of our own, and recordings made of them."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend

HEADS = {
    "plain": ("NPU   Name", "Chip", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
    "phy": ("NPU   Name", "Chip  Phy-ID", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
    "device": ("NPU     Name", "Chip    Device", "AICore(%)    Memory-Usage(MB)"),
    "950": ("NPU ID | Name            ", "       |                 ", "NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)"),
}
BORDER = "+===========================+===============+=====================================================+"
THIN = "+---------------------------+---------------+-----------------------------------------------------+"


# The zeros that npu-smi prints of a chip it could not ask.
SILENT = {"health": "OK", "name": "", "power": "0.0", "temp": "0", "use": "0", "ddr": "0    / 0", "hbm": "0    / 0", "bus": "0000:00:00.0"}


def table(layout, chips, processes=(), tool="25.2.0", driver="25.2.0", containers=False):
    """chips: dicts npu, chip, second, name, health, power, temp, bus, use, ddr, hbm; processes: (npu, chip, pid) or an NPU that is idle.

    containers: the fifth column of the processes that 26.0 prints.
    """
    lines = [THIN, "| npu-smi %s                 Version: %s                        |" % (tool, driver), THIN]
    first, second, usage = HEADS[layout]
    lines.append("| %-25s | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |" % first)
    lines += ["| %-25s | Bus-Id        | %-51s |" % (second, usage), BORDER]
    for position, c in enumerate(chips):
        rest = "%-11s %-17s 0     / 0" % (c.get("power", "91.5"), c.get("temp", "41"))
        memory = c.get("hbm", "3412 / 65536") if layout == "device" else "%s  %s" % (c.get("ddr", "0    / 0"), c.get("hbm", "3412 / 65536"))
        usage = "%-11s %s" % (c.get("use", "0"), memory)
        bus = c.get("bus", "0000:%02X:00.0" % (0x10 + 8 * c["npu"] + c.get("chip", 0)))
        if layout == "950":
            lines.append("| %-7s| %-17s| %-13s | %-51s |" % (c["npu"], c.get("name", "Ascend950PR"), c.get("health", "OK"), rest))
            lines.append("|        |                  | %-13s | %-51s |" % (bus, usage))
        else:
            lines.append("| %-5s %-20s| %-13s | %-51s |" % (c["npu"], c.get("name", "910B3"), c.get("health", "OK"), rest))
            number = "%s     %s" % (c.get("chip", 0), c["second"]) if "second" in c else str(c.get("chip", 0))
            lines.append("| %-26s| %-13s | %-51s |" % (number, bus, usage))
        following = chips[position + 1]["npu"] if position + 1 < len(chips) else None
        lines.append(THIN if following == c["npu"] else BORDER)
    if processes:
        lines += [THIN, "| NPU     Chip              | Process id    | Process name             | Process memory(MB)       |", BORDER]
        for entry in processes:
            if isinstance(entry, tuple):
                npu, chip, pid = entry
                where = str(npu) if layout == "950" else "%-7s %s" % (npu, chip)
                lines.append("| %-26s| %-13s | %-24s | %-24s |%s" % (where, pid, "python3", 2048, " NA |" if containers else ""))
            else:
                lines.append("| No running processes found in NPU %-7d                                                       |" % entry)
            lines.append(BORDER)
    return "\n".join(lines) + "\n"


def listing(npus):
    cards = "".join("\tNPU ID                         : %d\n\tChip Count                     : 1\n\n" % n for n in npus)
    return "\tTotal Count                    : %d\n\n%s" % (len(npus), cards)


def mapping(rows, heads=("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")):
    return "\n".join("\t" + " ".join("%-30s" % cell for cell in row) for row in [heads, *rows]) + "\n"


def ecc(blocks, npu=0, last=True, kinds=("DDR", "HBM"), waiting=None):
    """blocks: [(chip, {key: value})]; every counter not given is 0. last: Chip ID at the end of its block."""
    text = "\tNPU ID                                   : %d\n\tChip Count                               : %d\n\n" % (npu, len(blocks))
    for chip, values in blocks:
        if not last:
            text += "\tChip ID                                  : %d\n" % chip
        for kind in kinds:
            for what in ("Error Count", "Aggregate Total Err Cnt", "Isolated Pages Count") + (("Next-Isolated Pages Count",) if waiting is not None else ()):
                for bits in ("Single", "Double"):
                    key = "%s %s Bit %s" % (kind, bits, what)
                    default = waiting if what.startswith("Next") and bits == "Double" else 0
                    text += "\t%-40s : %s\n" % (key, values.get(key, default))
        if last:
            text += "\tChip ID                                  : %d\n" % chip
    return text


def board(npu, **values):
    lines = {
        "NPU ID": npu, "Product Name": "IT21HMDB01", "Model": "NA", "Serial Number": "02100A%04d" % npu, "Software Version": "25.2.0",
        "Firmware Version": "7.5.0.5.220", "Compatibility": "OK", "Board ID": "0x65", "PCB ID": "A", "BOM ID": "1", "Slot ID": npu,
        "PCI Vendor ID": "0x19E5", "PCI Device ID": "0xD802", "Chip Count": 1,
    }  # fmt: skip
    lines.update(values)
    return "".join("\t%-30s : %s\n" % item for item in lines.items())


def chip_board(npu, chip, die):
    lines = {"NPU ID": npu, "Chip ID": chip, "Chip Name": "910B3", "Board ID": "0x65", "VDie ID": die, "NDie ID": "00000000 00000000"}
    lines["Firmware Version"] = "7.5.0.5.220"
    return "".join("\t%-30s : %s\n" % item for item in lines.items())


def topo(labels, cell=lambda mine, peer: "HCCS", cpus=None):
    lines = ["\t" + "".join("%-11s" % label for label in labels) + ("CPU Affinity" if cpus else "")]
    for mine in labels:
        lines.append("%-11s" % mine + "".join("%-11s" % ("X" if mine == peer else cell(mine, peer)) for peer in labels) + (cpus or ""))
    return "\n".join(lines) + "\n\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n  NA   = Unknown relationship.\n"


def hccs(health="OK", modes=(4,) * 7, lanes=None, errors=(0,) * 7, retries=(0,) * 7, first="NA"):
    """What -t hccs prints of one chip: one column for each link."""
    lanes = lanes or ["1111" if mode == 4 else "%s" % ("1" * mode).ljust(4, "0") for mode in modes]
    rows = {
        "health status": health, "lane mode": modes, "link lane list": lanes, "link speed": [56 * mode for mode in modes],
        "tx packets": [812 + n for n in range(len(modes))], "retry count": retries, "error count": errors, "first error lane": first,
    }  # fmt: skip
    columns = {name: value if isinstance(value, str) else "[%s]" % "".join("%-20s " % one for one in value) for name, value in rows.items()}
    return "".join("\t%-30s : %s\n" % ("hccs %s " % name, value) for name, value in columns.items())


def hccn_conf(numbers, first=21, gateway="", detect="", mask="255.255.254.0"):
    """/etc/hccn.conf of these NPUs."""
    lines = []
    for n in numbers:
        lines += ["address_%d=10.44.6.%d" % (n, first + n), "netmask_%d=%s" % (n, mask)]
        lines += ["%s_%d=%s" % (key, n, value) for key, value in (("netdetect", detect), ("gateway", gateway)) if value]
    return "".join(line + "\n" for line in lines)


def tls(number, on=False):
    legend = "(0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), tls alarm time threshold[60]days"
    return "dev_id:%d, tls switch[%d]%s\n" % (number, on, legend)


def ports(numbers, **changed):
    """{arguments of hccn_tool: text} of ports that are well. changed: link_3="link status: DOWN\\n"."""
    said = {}
    for n in numbers:
        for name, text in (("link", "link status: UP\n"), ("net_health", "net health status: Success\n"), ("tls", tls(n))):
            said["-i %d -%s -g" % (n, name)] = changed.get("%s_%d" % (name, n), text)
    return said


def optical(present="present", tx=(1.21, 1.19, 1.2, 1.22), rx=(0.93, 0.97, 0.95, 0.91), **flags):
    lines = [
        "optical info:",
        "present              : %s" % present,
        "temperature          : 43 C",
        "vendor name          : Lumen",
        "vendor part number   : LQ-200",
    ]
    lines += ["vendor serial number : LQ77%s" % 3, "Vcc                  : 3288.10 mV"]
    for lane, (sent, seen) in enumerate(zip(tx, rx)):
        lines += ["Tx Power%d            : %.4f mW" % (lane, sent), "Rx Power%d            : %.4f mW" % (lane, seen)]
    lines += ["Vcc High Thres       : 3465.00 mV", "Vcc Low Thres        : 3135.00 mV", "Temp High Thres      : 70 C", "Temp Low Thres       : 0 C"]
    for side in ("Tx", "Rx"):
        lines += ["%sPower High Thres   : 3.5481 mW" % side, "%sPower Low Thres    : 0.2818 mW" % side]
    for name in ("Tx Los", "Rx Los", "Tx LoL", "Rx LoL"):
        lines.append("%s Flag          : %s" % (name, flags.get(name.lower().replace(" ", "_"), "0x0")))
    return "\n".join([*lines, "Host SNR Lane0       : not supported"]) + "\n"


def parts(versions):
    """What upgrade-tool --version prints. versions: {device: {component: version}}."""
    lines = ["{"]
    for device, told in versions.items():
        for kind, (name, version) in enumerate(told.items()):
            lines.append("Get component version(%s) succeed for deviceId(%d), componentType(%d)." % (version, device, kind))
            lines.append('\t{"device_id":%d, "component":%s, "version":%s}' % (device, name, version))
    return "\n".join([*lines, "}"]) + "\n"


PARTS = ["upgrade-tool", "--device_index", "-1", "--component", "-1", "--version"]


def host(commands, files=None, **extra):
    """commands: {"info -l": text, an entry of the recording, or a list of them for successive calls}; hccn: {"-i 0 -link -g": the same}; parts: text."""
    entries = [dict({"argv": PARTS}, **(said if isinstance(said, dict) else {"stdout": said})) for said in [extra.pop("parts", None)] if said is not None]
    for words, said in (extra.pop("hccn", None) or {}).items():
        for answer in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": ["hccn_tool", *words.split()]}, **(answer if isinstance(answer, dict) else {"stdout": answer})))
    for words, said in commands.items():
        for answer in said if isinstance(said, list) else [said]:
            entries.append(dict({"argv": ["npu-smi", *words.split()]}, **(answer if isinstance(answer, dict) else {"stdout": answer})))
    every = {"/dev": {"dir": ["null"]}, "/sys/bus/pci/devices": {"dir": []}}
    every.update(files or {})
    return ReplayHost(dict({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries}, **extra))


def read(commands, files=None, pci=None, ports="state", **extra):
    return ascend.collect(host(commands, files, **extra), pci, ports)


def nodes(numbers):
    return {"/dev": {"dir": ["davinci_manager", "devmm_svm", "hisi_hdc"] + ["davinci%d" % n for n in numbers]}}


def on_bus(addresses, **link):
    pcie = dict({"width_current": 16, "width_max": 16, "speed_current_gts": 16.0, "speed_max_gts": 16.0}, **link)
    port = {"address": "0000:00:01.0", "width_current": 16, "width_max": 16, "speed_current_gts": 16.0, "speed_max_gts": 32.0}
    return [{"address": a, "manufacturer": "ascend", "role": "accelerator", "numa_node": 3, "pcie": dict(pcie), "upstream": dict(port)} for a in addresses]


def by_id(section):
    return {device["id"]: device for device in section["devices"]}
