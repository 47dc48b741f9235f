# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of hl-smi, neuron-ls, tt-smi, Kunlunxin's xpu-smi and efsmi in their shapes, with values of our own, and recordings made of them.

Those of Intel's xpu-smi and of tpu-info are in xpu_samples.
"""

from __future__ import annotations

import json

import xpu_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import enflame, gaudi, intel, kunlunxin, neuron, tenstorrent, tpu

READERS = {"enflame": enflame, "gaudi": gaudi, "intel": intel, "kunlunxin": kunlunxin, "neuron": neuron, "tenstorrent": tenstorrent, "tpu": tpu}
PROGRAMS = {
    "enflame": "efsmi", "gaudi": "hl-smi", "intel": "xpu-smi", "kunlunxin": "xpu-smi", "neuron": "neuron-ls", "tenstorrent": "tt-smi", "tpu": "tpu-info",
}  # fmt: skip
VENDORS = {
    "enflame": ("1e36", "c035", "120000"), "gaudi": ("1da3", "1020", "120000"), "kunlunxin": ("1d22", "3686", "078000"),
    "neuron": ("1d0f", "7364", "088000"), "tenstorrent": ("1e52", "b140", "120000"), "intel": ("8086", "0bd5", "038000"), "tpu": ("1ae0", "006f", "ff0000"),
}  # fmt: skip
HL_QUERY = "-Q %s -f csv" % ",".join(gaudi.FIELDS)


def address(position):
    return "0000:%02x:00.0" % (0x30 + 2 * position)


def bus(manufacturer, count):
    """Files of /sys for so many cards."""
    vendor, device, pci_class = VENDORS[manufacturer]
    files = {"/sys/bus/pci/devices": {"dir": [address(n) for n in range(count)]}}
    for position in range(count):
        base = "/sys/bus/pci/devices/" + address(position)
        real = "/sys/devices/pci0000:00/0000:00:%02x.0" % (position + 1)
        files[base] = {"link": "../../../devices/pci0000:00/0000:00:%02x.0/%s" % (position + 1, address(position))}
        values = {
            "vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + pci_class, "subsystem_vendor": "0x" + vendor, "subsystem_device": "0x0001",
            "revision": "0x01", "numa_node": str(position // 4), "current_link_width": "16", "max_link_width": "16",
            "current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe",
        }  # fmt: skip
        files.update({"%s/%s/%s" % (real, address(position), key): value + "\n" for key, value in values.items()})
        files["%s/%s/driver" % (real, address(position))] = {"link": "../../../bus/pci/drivers/some"}
        files["%s/%s/physfn" % (real, address(position))] = {"absent": True}
        files["%s/%s/accel" % (real, address(position))] = {"absent": True}
        files["%s/%s/iommu_group" % (real, address(position))] = {"link": "../../../../kernel/iommu_groups/%d" % position}
        files.update({"%s/%s" % (real, key): values[key] + "\n" for key in values if "link" in key})
    return files


def document(manufacturer, commands, files=None, nodes=(), module=None):
    """A recording. commands: {"-q": text or entry}, by the tool's arguments."""
    every = {"/dev": {"dir": list(nodes)}, "/sys/bus/pci/devices": {"dir": []}, "/sys/module": {"dir": [module] if module else []}}
    every.update({"/sys/class/dmi/id": {"dir": []}, "/sys/devices/virtual": {"dir": []}})
    if module:
        every.update({"/sys/module/%s" % module: {"dir": ["version"]}, "/sys/module/%s/version" % module: "7.8.9\n"})
    every.update(files or {})
    entries = []
    for words, said in commands.items():
        program = PROGRAMS[manufacturer]
        if words.startswith("xpu_smi"):
            program, words = "xpu_smi", words.removeprefix("xpu_smi").strip() if hasattr(words, "removeprefix") else words[7:].strip()
        entry = {"argv": [program, *words.split()]}
        entry.update(said if isinstance(said, dict) else {"stdout": said})
        if manufacturer == "gaudi":
            entry["env"] = gaudi.ENVIRONMENT
        entries.append(entry)
    return {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries}


def read(manufacturer, commands, files=None, nodes=(), module=None):
    return READERS[manufacturer].collect(ReplayHost(document(manufacturer, commands, files, nodes, module)))


def everywhere(manufacturer, entry):
    """Every call that the reader may make, answered the same way."""
    words = {
        "enflame": ("-q", ""), "gaudi": ("", HL_QUERY), "kunlunxin": ("-q", "", "xpu_smi -q", "xpu_smi"), "neuron": ("-j", ""),
        "tenstorrent": ("-s --snapshot_no_tty", "-ls"), "tpu": ("", "--process"),
        "intel": ("discovery -j", "discovery", "-v", "discovery -d 0 -j", "health -l -j", "config -d 0 -j", "ps -j", "topology -m", "vgpu --precheck -j",
                  xpu_samples.DUMP, "stats -d 0 -j"),
    }  # fmt: skip
    return dict.fromkeys(words[manufacturer], entry)


def hl_table(cards, column="Volatile Uncorr. ECC", end=True, prefix="", tool="hl-1.20.1-fw-58.1.2.0", driver="1.20.1-97ab3c1"):
    """cards: (name, temperature, power, limit, used, total, last column)."""
    frame_line = "|" + "+".join("-" * n for n in (31, 22, 22)) + "+"
    lines = ["+" + "-" * 77 + "+", "| HL-SMI Version: %60s|" % tool, "| Driver Version: %60s|" % driver, "| Nic Driver Version: %56s|" % driver, frame_line]
    lines += ["| AIP  Name        Persistence-M| Bus-Id        Disp.A |%22s|" % column]
    lines += ["| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |", frame_line.replace("-", "=")]
    for position, (name, heat, power, limit, used, total, last) in enumerate(cards):
        lines.append("| %3d  %-20sN/A  | %-17sN/A |%20s  |" % (position, name, address(position), last))
        lines.append("| N/A   %s   P0  %s / %s | %8s / %9s |     3%%            0%% |" % (heat, power, limit, used, total))
        lines.append(frame_line)
    if end:
        lines += ["| Compute Processes:                                               AIP Memory |", "|  AIP       PID   Type   Process name     Usage      |"]
        lines += ["|" + "=" * 77 + "|"]
        lines += ["| %3d        N/A   N/A    N/A                                      N/A        |" % n for n in range(1, len(cards))]
        lines += ["|   0       4242     C     python3                                  512MiB     |", "+" + "=" * 77 + "+"]
    return "\n".join(prefix + line for line in lines) + "\n"


def hl_csv(count, **changes):
    """Answer to the query. changes: by field name with dots."""
    lines = [", ".join(field + (" [MiB]" if field.startswith("memory") else "") for field in gaudi.FIELDS)]
    for position in range(count):
        row = {
            "index": position, "module_id": 7 - position, "bus_id": address(position), "name": "HL-225", "uuid": "01P0-HL2080A0-15-TNPA6%d-02-05-00" % position,
            "serial": "AM2310%04d" % position, "driver_version": "1.20.1-97ab3c1", "memory.total": "98304 MiB", "memory.used": "768 MiB",
            "temperature.aip": "27 C", "utilization.aip": "3 %", "power.draw": "91 W", "ecc.mode.current": "enabled",
        }  # fmt: skip
        row.update(changes)
        lines.append(", ".join(str(row.get(field, 0)) for field in gaudi.FIELDS))
    return "\n".join(lines) + "\n"


def xpu_query(cards, attached=None):
    """cards: dicts of changes to a good card."""
    lines = ["==============XPUSMI LOG==============", "", "Driver Version      : 5.0.30.2", "XPU-RT Version      : 10.4", ""]
    lines += ["Attached XPUs       : %s" % (len(cards) if attached is None else attached)]
    for position, changes in enumerate(cards):
        card = {
            "name": "P800 OAM", "serial": "7AB2%06d" % position, "uuid": "GPU-44e1%04d-1111-2222-3333-444455556666" % position, "minor": position + 2,
            "total": "98304 MiB", "used": "310 MiB", "gen": 5, "width": "16x", "ecc": "Enabled", "dbe": 0, "heat": "44 C", "draw": "88.00 W",
        }  # fmt: skip
        card.update(changes)
        lines += [
            "XPU 0000%s" % address(position), "    Product Name : %(name)s" % card, "    Product Architecture : KL3", "    Serial Number : %(serial)s" % card,
            "    XPU UUID : %(uuid)s" % card, "    Minor Number : %(minor)s" % card, "    Firmware Version", "        ALL Version : 1.0.3",
            "    PCI", "        Bus Id : 0000%s" % address(position), "        XPU Link Info", "            PCIe Generation",
            "                Max : 5", "                Current : %(gen)s" % card, "            Link Width", "                Max : 16x",
            "                Current : %(width)s" % card, "    Memory Usage", "        Total : %(total)s" % card, "        Used : %(used)s" % card,
            "    L3 Usage", "        Total : 96 MiB", "        Used : 1 MiB", "    Utilization", "        Xpu : 4 %",
            "    Ecc Mode", "        Current : %(ecc)s" % card, "    ECC Errors", "        Volatile", "            DRAM Correctable : 0",
            "            DRAM Uncorrectable : %(dbe)s" % card, "        Aggregate", "            DRAM Correctable : 3",
            "            DRAM Uncorrectable : %(dbe)s" % card,
            "    Temperature", "        XPU Current Temp : %(heat)s" % card, "    Power Readings", "        Enforced Power Limit : 400.00 W",
            "        Power Draw : %(draw)s" % card, "    Processes : None",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def xpu_table(cards, end=True):
    """cards: (name, temperature, power, used, total)."""
    frame_line = "+" + "+".join("-" * n for n in (31, 22, 22)) + "+"
    lines = ["+" + "-" * 77 + "+", "| XPU-SMI               Driver Version: 5.0.30.2     XPU-RT Version: 5.0.30   |", frame_line]
    lines += ["| XPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |"]
    lines += ["| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | XPU-Util  Compute M. |"]
    lines += ["|                               |             L3-Usage |            SR-IOV M. |", frame_line.replace("-", "=").replace("+", "|", 1)]
    for position, (name, heat, power, used, total) in enumerate(cards):
        lines.append("| %3d  %-19sN/A   | 0000%s N/A |                    0 |" % (position, name, address(position).upper()))
        lines.append("| N/A   %s  N/A     %s / 400W | %s / %s |      4%%      Default |" % (heat, power, used, total))
        lines += ["|                               |      0MiB /    96MiB |             Disabled |", frame_line]
    if end:
        lines += ["+" + "-" * 77 + "+", "| Processes:                                                                  |"]
        lines += ["|  XPU   XI   CI        PID   Type   Process name                  XPU Memory |", "|" + "=" * 77 + "|"]
        lines += ["|  No running processes found                                                 |", "+" + "-" * 77 + "+"]
    return "\n".join(lines) + "\n"


def ef_query(cards):
    """cards: dicts of changes to a good card."""
    lines = []
    for position, changes in enumerate(cards):
        card = {"health": "True", "rma": "False", "dbe": 0, "cable": "Normal", "heat": "39 C", "draw": "97 W", "total": "42976 MiB", "used": "15 MiB"}
        card.update(changes)
        lines += [
            "DEV ID %d" % position, "    Driver Info", "        Ver : 1.4.5.2", "    Device Info", "        Dev Name : S60",
            "        Dev UUID : QQ7A%08d" % position, "        Dev SN : 5B11%09d" % position, "        Health : %(health)s" % card,
            "    PCIe Info", "        Domain : 0000", "        Bus : %02x" % (0x30 + 2 * position),
            "        Dev : 00", "        Func : 0", "        Link Info", "        Max Link Speed : Gen5",
            "        Max Link Width : X16", "        Cur Link Speed : Gen4", "        Cur Link Width : X16", "    Power Info",
            "        Power Capa : 300 W", "        Cur Power : %(draw)s" % card, "        Dpm Level : Sleep",
            "    Device Mem Info", "        Total Size : %(total)s" % card, "        Reserved Size : 1129 MiB",
            "        Used Size : %(used)s" % card, "    Temperature Info", "        GCU Temp : %(heat)s" % card,
            "    Device Usage Info", "        GCU Usage : 2.0 %", "    ECC Mode", "        Current : Enable",
            "    RMA Info", "        Flags : %(rma)s" % card, "        Total DBE : %(dbe)s" % card,
            "    Power Cable", "        Status : %(cable)s" % card,
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def ef_table(cards, frame="|", last="SN"):
    """cards: (name, bus id, temperature, power words, memory, serial)."""
    rule = frame + "-" * 76 + frame
    lines = ["-------------------- Enflame System Management Interface ---------------------", "", "+2026-11-27, 10:11:12 UTC" + "-" * 52 + "+"]
    lines += ["%s EFSMI    1.4.5.1         Driver Ver: 1.4.5.2                               %s" % (frame, frame), rule, rule]
    lines += [frame + " DEV    NAME                 | FW VER           | BUS-ID      ECC           " + frame]
    lines += [frame + " TEMP   Dpm   Pwr(Usage/Cap) | Mem     GCU Virt | DUsed       %-13s " % last + frame, rule]
    for position, (name, place, heat, power, memory, serial) in enumerate(cards):
        lines.append("%s %-6d %-20s | 33.7.1           | %s  Enable        %s" % (frame, position, name, place, frame))
        lines.append("%s %-6s Sleep    %-12s | %s Disable | 2%%          %s %s" % (frame, heat, power, memory, serial, frame))
        lines += [rule.replace("|", "+"), rule][: 2 if position + 1 < len(cards) else 1]
    return "\n".join(lines) + "\n"


def neuron_json(count, **changes):
    entries = []
    for position in range(count):
        entry = {
            "neuron_device": position, "bdf": address(position)[5:], "cpu_affinity": "0-47", "numa_node": "1", "connected_to": [(position + 1) % count],
            "nc_count": 4, "logical_neuroncore_config": 2, "memory_size": 96 << 30, "neuroncore_ids": [0], "neuron_processes": [{"pid": 77, "command": "x"}],
        }  # fmt: skip
        entry.update(changes)
        entries.append(entry)
    return json.dumps(entries, indent=2) + "\n"


def neuron_table(count, kind="trn2.48xlarge", numa="-1", end=True):
    frame_line = "+--------+--------+----------+--------+--------------+------+"
    lines = ["instance-type: %s" % kind, "instance-id: i-0000000000000000a", frame_line, "| NEURON | NEURON |  NEURON  | NEURON |     PCI      | NUMA |"]
    lines += ["| DEVICE | CORES  | CORE IDS | MEMORY |     BDF      | NODE |", frame_line]
    lines += ["| %-6d | 4      | 0-3      | 96 GB  | %s | %-4s |" % (n, address(n), numa) for n in range(count)]
    return "\n".join(lines + ([frame_line] if end else [])) + "\n"


def neuron_files(count, **counters):
    """What the driver shows of each device."""
    base, files = "/sys/devices/virtual/neuron_device", {}
    for position in range(count):
        place = "%s/neuron%d" % (base, position)
        files[place + "/info/architecture/device_name"] = "Trainium2\n"
        files[place + "/info/serial_number"] = "9a8b7c%010d\n" % position
        for name in ("mem_ecc_uncorrected", "sram_ecc_uncorrected"):
            files["%s/stats/hardware/%s/total" % (place, name)] = "%s\n" % counters.get(name, 0)
    return files


def tt_snapshot(chips):
    """chips: (board type, bus id, board id, changes to the registers)."""
    entries = []
    for kind, place, board, changes in chips:
        registers = {"DDR_STATUS": "0x55555555", "ASIC_TEMPERATURE": "0x2a0000", "TDP": "0x30", "THERM_TRIP_COUNT": "0x0", "THM_LIMIT_SHUTDOWN": "0x6e"}
        registers.update(changes)
        entries.append({
            "board_info": {"board_type": kind, "bus_id": place, "board_id": board, "coords": "N/A", "dram_status": True, "pcie_speed": 4, "pcie_width": "16"},
            "telemetry": {"voltage": "0.80", "current": " 31.0", "power": " 48.0", "aiclk": "1000", "asic_temperature": "42.0", "heartbeat": "900"},
            "firmwares": {"fw_bundle_version": "19.2.0.0", "cm_fw": "0.30.0.0", "eth_fw": "1.9.0", "tt_flash_version": None},
            "limits": {"tdp_limit": "300", "thm_limit": "90"}, "smbus_telem": registers,
        })  # fmt: skip
    return json.dumps({"time": "2026-11-27T10:11:12", "host_info": {"Driver": "TT-KMD 2.4.1"}, "device_info": entries}, indent=4)


def tt_list(rows, end=True):
    """rows: (chip, bus id, device, architecture, series, board)."""
    lines = ["                      All available boards on host (UMD):", "┏━━━━┳━━━━┳━━━━┳━━━━┳━━━━┳━━━━┓"]
    lines += ["┃ UMD Chip ID ┃ PCI BDF      ┃ PCI Dev ID          ┃ Board Type ┃ Device Series ┃ Board Number     ┃", "┡━━━━╇━━━━╇━━━━╇━━━━╇━━━━╇━━━━┩"]
    lines += ["│ " + " │ ".join(map(str, row)) + " │" for row in rows]
    return "\n".join(lines + (["└────┴────┴────┴────┴────┴────┘"] if end else [])) + "\n"
