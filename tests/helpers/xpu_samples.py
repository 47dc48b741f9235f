# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of Intel's xpu-smi and of tpu-info in their shapes, with values of our own."""

from __future__ import annotations

import json

from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import intel

DUMP = " ".join(intel.DUMP)
HEALTHY = {"core_temperature": "Ok", "memory_temperature": "Ok", "power": "Ok", "memory": "Ok", "xe_link_port": "Ok", "frequency": "OK"}
TITLES = {
    "core_temperature": "1. GPU Core Temperature", "memory_temperature": "2. GPU Memory Temperature", "power": "3. GPU Power", "memory": "4. GPU Memory",
    "xe_link_port": "5. Xe Link Port", "frequency": "6. GPU Frequency",
}  # fmt: skip
LIMITS = {"core_temperature": (105, 130), "memory_temperature": (95, 110), "power": (600, -1)}
METRICS = {
    "XPUM_STATS_POWER": "power", "XPUM_STATS_GPU_CORE_TEMPERATURE": "heat", "XPUM_STATS_MEMORY_TEMPERATURE": "memory_heat", "XPUM_STATS_MEMORY_USED": "used",
    "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_CORRECTABLE": "ce", "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_UNCORRECTABLE": "ue",
    "XPUM_STATS_RAS_ERROR_CAT_CACHE_ERRORS_UNCORRECTABLE": "cache", "XPUM_STATS_RAS_ERROR_CAT_RESET": "resets",
}  # fmt: skip


def frame(*widths):
    return "+" + "+".join("-" * width for width in widths) + "+"


def rows(key, lines, width=26):
    return ["| %-*s | %-66s |" % (width, key if not number else "", line) for number, line in enumerate(lines)]


def entry(number, address, **changes):
    """One of discovery -j."""
    told = {
        "device_id": number, "device_name": "Intel(R) Data Center GPU Max 1550", "device_type": "GPU", "device_function_type": "physical",
        "pci_bdf_address": address, "pci_device_id": "0xbd5", "uuid": "00000000-0000-%04d-0000-002f0bd58086" % number, "vendor_name": "Intel(R) Corporation",
    }  # fmt: skip
    return dict(told, **changes)


def listing(addresses):
    return json.dumps({"device_list": [entry(number, address) for number, address in enumerate(addresses)]}, indent=4) + "\n"


def listing_table(addresses, end=True):
    lines = [frame(11, 70), "| Device ID | %-68s |" % "Device Information", frame(11, 70)]
    for number, address in enumerate(addresses):
        told = entry(number, address)
        lines += rows(number, ["Device Name: " + told["device_name"], "Vendor Name: " + told["vendor_name"], "UUID: " + told["uuid"],
                               "PCI BDF Address: " + address, "Function Type: physical"], 9)  # fmt: skip
        lines += [frame(11, 70)] if end or number + 1 < len(addresses) else []
    return "\n".join(lines) + "\n"


def details(number, address, **changes):
    """discovery -d -j."""
    told = entry(
        number, address, serial_number="VGC2%06d" % number, core_clock_rate_mhz=1600, device_stepping="C0", driver_version="1.6.32567",
        gfx_firmware_version="PVC2_1.23374", gfx_data_firmware_version="0x137", amc_firmware_version="6.8.0.0", gfx_firmware_status="normal",
        pci_slot="OAM %d" % number, pcie_generation="5", pcie_max_link_width="16", memory_physical_size_byte=str(128 << 30), memory_ecc_state="enabled",
        number_of_tiles="2", number_of_fabric_ports="16",
    )  # fmt: skip
    return json.dumps(dict(told, **changes)) + "\n"


def dump(count, gone=(), **changes):
    """One sample of all cards. changes: of the first; gone: what is N/A everywhere."""
    names = ("Average % utilization of all GPU Engines", "GPU Power (W)", "GPU Frequency (MHz)", "GPU Core Temperature (Celsius Degree)",
             "GPU Memory Temperature (Celsius Degree)", "Reset Counter", "GPU Memory Used (MiB)", "GPU Memory Errors Correctable",
             "GPU Memory Errors Uncorrectable")  # fmt: skip
    keys = ("use", "power", "clock", "heat", "memory_heat", "resets", "used", "ce", "ue")
    lines = ["Timestamp, DeviceId, " + ", ".join(names)]
    for number in range(count):
        told = {"use": "0.00", "power": "211.40", "clock": 0, "heat": "38.50", "memory_heat": "41.00", "resets": 0, "used": "51.20", "ce": 3, "ue": 0}
        told.update(changes if number == 0 else {})
        told.update(dict.fromkeys(gone, "N/A"))
        lines.append("10:11:12.000,    %d, " % number + ", ".join(str(told[key]) for key in keys))
    return "\n".join(lines) + "\n"


def stats(number, tiles=2, **changes):
    """stats -d -j of a card whose values are those of its tiles."""
    told = dict({"power": 105.2, "heat": 38.5, "memory_heat": 41.0, "used": 25.6, "ce": 1, "ue": 0, "cache": 0, "resets": 0}, **changes)
    values = [{"metrics_type": name, "value": told[key]} for name, key in METRICS.items()]
    return json.dumps({"device_id": number, "device_level": [], "tile_level": [{"tile_id": tile, "data_list": values} for tile in range(tiles)]}) + "\n"


def health(count, **first):
    """health -l -j. first: words of the first card's parts."""
    devices = []
    for number in range(count):
        told = {"device_id": number}
        for name, word in dict(HEALTHY, **(first if number == 0 else {})).items():
            told[name] = {"status": word, "description": "All are healthy." if word.lower() == "ok" else "Find an unhealthy part."}
            if name in LIMITS:
                told[name].update(throttle_threshold=LIMITS[name][0], shutdown_threshold=LIMITS[name][1], custom_threshold=-1)
        devices.append(told)
    return json.dumps({"device_list": devices}) + "\n"


def health_table(words):
    lines = [frame(28, 68), *rows("Device ID", ["0"]), frame(28, 68)]
    for name, word in words.items():
        more = ["Throttle Threshold: %d  Celsius Degree" % LIMITS[name][0], "Shutdown Threshold: %d Celsius Degree" % LIMITS[name][1]] if "temp" in name else []
        more = ["Throttle Threshold: 600 watts"] if name == "power" else more
        lines += [*rows(TITLES[name], ["Status: " + word, "Description: All of them are looked at and", "  found healthy.", *more]), frame(28, 68)]
    return "\n".join(lines) + "\n"


def config(number, highest=1600, **changes):
    """config -d -j. highest: clock that the part can have."""
    tile = {"min_frequency": 900, "max_frequency": highest, "gpu_frequency_valid_options": "900, %d" % highest, "port_up": "0, 1, 2", "port_down": "3"}
    tile.update({key: changes.pop(key) for key in ("max_frequency",) if key in changes})
    told = {
        "device_id": number,
        "power_limit": 600,
        "power_vaild_range": "1 to 600",
        "memory_ecc_current_state": "enabled",
        "memory_ecc_pending_state": "enabled",
    }
    told.update(changes)
    return json.dumps(dict(told, tile_config_data=[dict(tile, tile_id="%d/%d" % (number, n)) for n in range(2)])) + "\n"


def processes(*listed):
    """ps -j. listed: (device, name)."""
    return json.dumps({"device_util_by_proc_list": [{"process_id": 4242 + n, "process_name": name, "device_id": device, "shared_mem_size": 0, "mem_size": 9}
                                                    for n, (device, name) in enumerate(listed)]}) + "\n"  # fmt: skip


def topology(count):
    labels = ["%d/%d" % (card, tile) for card in range(count) for tile in range(2)]

    def word(one, other):
        return "S" if one == other else "MDF" if one[0] == other[0] else "XL8" if one[2] != other[2] else "XL*"

    lines = ["         " + "|".join("GPU " + label for label in labels) + "|CPU Affinity"]
    lines += ["GPU %s |" % one + "|".join("%-7s" % word(one, other) for other in labels) + "|0-51,104-155" for one in labels]
    return "\n".join(lines) + "\n"


def precheck(sriov="Pass"):
    message = "" if sriov == "Pass" else "SR-IOV is off in the firmware."
    told = {"vmx_flag": "Pass", "vmx_message": "", "iommu_status": "Pass", "iommu_message": "", "sriov_status": sriov, "sriov_message": message}
    return json.dumps(told) + "\n"


VERSION = "CLI:\n    Version: 1.2.39.20240906\n    Build ID: 1b2c3d4e\n\nService:\n    Version: 1.2.39.20240906\n    Level Zero Version: 1.17.6\n"


def intel_commands(addresses, power=600, highest=1600, corrected="enabled", **told):
    """Every answer of a good node, by the arguments of xpu-smi. told: of every card, by discovery -d."""
    count = len(addresses)
    names = {key: told[key] for key in ("device_name", "pci_device_id") if key in told}
    listed = [entry(number, address, **names) for number, address in enumerate(addresses)]
    answers = {"discovery -j": json.dumps({"device_list": listed}), "-v": VERSION, "health -l -j": health(count), "ps -j": processes()}
    answers.update({"vgpu --precheck -j": precheck(), DUMP: dump(count), "topology -m": topology(count)})
    states = {"memory_ecc_current_state": corrected, "memory_ecc_pending_state": corrected}
    for number, address in enumerate(addresses):
        answers["discovery -d %d -j" % number] = details(number, address, **dict({"memory_ecc_state": corrected}, **told))
        answers["config -d %d -j" % number] = config(number, highest, power_limit=power, power_vaild_range="1 to %d" % power, **states)
    return answers


def tpu_table(count, kind="v6e", use="in use", numbers=None, cores=1, total=31.25, node="/dev/vfio/%d", box=False):
    """tpu-info. use: what the chips do; numbers: of the table of usage; box: drawn with lines as on a terminal."""
    busy = use == "in use"
    chip = "TPU%s chip" % kind if kind[0].isdigit() else "TPU %s chip" % kind
    listed = [[node % n, chip, str(cores), "4711" if busy else "None"] for n in range(count)]
    memory = "%.2f GiB / %.2f GiB" % (2.5, total)
    used = [[str(n), memory if busy else "N/A", "7.50%" if busy else "N/A"] for n in (numbers or range(count * cores))]
    lines = ["Libtpu version: 0.0.21", "Accelerator type: %s" % kind, ""]
    if not busy:
        lines.append("WARNING: Libtpu metrics unavailable. Is there a framework using the TPU?")
    usage = ["Chip", "HBM Usage (GiB)", "Duty cycle"]
    for title, names, cells in (("TPU Chips", ["Chip", "Type", "Devices", "PID"], listed), ("TPU Runtime Utilization", usage, used)):
        lines += [title, ""] if not box else [title]
        lines += boxed(names, cells) if box else ["| " + " | ".join(row) + " |" for row in [names, ["-" * 12 for _name in names], *cells]]
        lines += [""]
    return "\n".join(lines) + "\n"


def boxed(names, cells):
    lines = ["\u250f" + "\u2533".join("\u2501" * 8 for _name in names) + "\u2513", "\u2503 " + " \u2503 ".join(names) + " \u2503"]
    lines += ["\u2521" + "\u2547".join("\u2501" * 8 for _name in names) + "\u2529"]
    lines += ["\u2502 " + " \u2502 ".join(row) + " \u2502" for row in cells]
    return [*lines, "\u2514" + "\u2534".join("\u2500" * 8 for _name in names) + "\u2518"]


def tpu_processes(count):
    lines = ["TPU Process Info", "", "| Chip        | PID    | Process Name |", "|-------------|--------|--------------|"]
    return "\n".join([*lines, *("| /dev/vfio/%d | 4711   | python3      |" % n for n in range(count))]) + "\n"
