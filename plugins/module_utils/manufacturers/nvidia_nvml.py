# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVML tells, under the places of nvidia_smi.SPEC, numbers as they are. Runs alone in a child: standard library and pynvml.

A failed query is {"error": nvmlReturn_t or None, "said": …}. Any may be missing from library, nvidia-ml-py or card; none stops the others.
"""

from __future__ import annotations

import ctypes
import re

# places (several: the function answers a list), function after nvmlDeviceGet, arguments
_QUERIES = """
name Name
identity.uuid UUID
identity.serial Serial
extra.minor MinorNumber
firmware.vbios VbiosVersion
firmware.gsp GspFirmwareVersion
firmware.inforom InforomImageVersion
firmware.inforom_oem InforomVersion 0
firmware.inforom_ecc InforomVersion 1
firmware.inforom_power InforomVersion 2
persistence PersistenceMode
temperature_c.core Temperature 0
temperature_c.margin_core MarginTemperature
temperature_c.limit_core TemperatureThreshold 1
temperature_c.limit_memory TemperatureThreshold 2
temperature_c.shutdown_core TemperatureThreshold 0
clocks_mhz.core ClockInfo 0
clocks_mhz.memory ClockInfo 2
clocks_mhz.core_max MaxClockInfo 0
clocks_mhz.memory_max MaxClockInfo 2
clocks_mhz.core_set ApplicationsClock 0
clocks_mhz.core_default DefaultApplicationsClock 0
power_w.draw PowerUsage
power_w.limit PowerManagementLimit
power_w.limit_default PowerManagementDefaultLimit
power_w.limit_min,power_w.limit_max PowerManagementLimitConstraints
pcie.generation_current CurrPcieLinkGeneration
pcie.generation_max MaxPcieLinkGeneration
pcie.generation_device_max GpuMaxPcieLinkGeneration
pcie.width_current CurrPcieLinkWidth
pcie.width_max MaxPcieLinkWidth
pcie.replay_count PcieReplayCounter
retired_pages.corrected RetiredPages 0
retired_pages.uncorrected RetiredPages 1
retired_pages.pending RetiredPagesPendingStatus
row_remap.corrected,row_remap.uncorrected,row_remap.pending,row_remap.failed RemappedRows
partition.enabled,extra.mig_pending MigMode
ecc.mode,extra.ecc_pending EccMode
extra.channel_repair_pending,extra.tpc_repair_pending RepairStatus
extra.unrepairable_memory UnrepairableMemoryFlag_v1
extra.compute_mode ComputeMode
extra.virtualization VirtualizationMode
extra.performance_state PerformanceState
"""
# nvml.h: what the bits of the fabric's health mask mean, two of each, the last four; clock event and NVLink counters (NVML_FI_DEV_*)
_FLAG = ("N/A", "yes", "no")
_HEALTH = {"bandwidth": ("N/A", "degraded", "full"), "route_recovery": _FLAG, "route_unhealthy": _FLAG, "access_timeout_recovery": _FLAG}
_WRONG = "N/A none incorrect_sysguid incorrect_chassis_sn no_partition insufficient_nvlinks incompatible_gpu_fw invalid_location gpu_state_invalid"
_HEALTH["incorrect_configuration"] = tuple(_WRONG.split())
# Before branch 580 they have the first number, after it the second, and the other is of power smoothing; drivers of 580 have either (NVML change log).
_SECONDS = (
    ("sw_power_cap", (74,)),
    ("sync_boost", (76,)),
    ("sw_thermal_slowdown", (251, 269)),
    ("hw_thermal_slowdown", (252, 270)),
    ("hw_power_brake_slowdown", (253, 271)),
)
_LINK_ERRORS = (("replay_errors", (52,)), ("recovery_errors", (59,)), ("crc_errors", (38, 45)))
_NOT_THERE = (2, 13, 25)  # invalid argument, function not found, argument version mismatch: another form may answer


def _failed(value):
    return isinstance(value, dict)


class _Nvml:
    def __init__(self, module):
        self.module = module
        self.older = getattr(module, "NVMLLibraryMismatchError", module.NVMLError)  # the library is older than nvidia-ml-py
        self.caught = (module.NVMLError, self.older, AttributeError, ValueError, TypeError, LookupError, OSError, ctypes.ArgumentError)

    def error(self, caught):
        absent = isinstance(caught, AttributeError) or (isinstance(caught, self.older) and not isinstance(caught, self.module.NVMLError))
        said = "Function Not Found (%s)" % caught if absent else str(caught) or type(caught).__name__
        return {"error": 13 if absent else getattr(caught, "value", None), "said": said[:200]}

    def ask(self, name, *arguments, convert=None):
        try:
            value = getattr(self.module, name)(*arguments)
            value = convert(value) if convert else value
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        except self.caught as caught:
            return self.error(caught)

    def device(self, name, *arguments, **convert):
        return self.ask("nvmlDeviceGet" + name, *arguments, **convert)

    def field(self, handle, number):
        def value(answers):
            if answers[0].nvmlReturn:
                raise self.module.NVMLError(answers[0].nvmlReturn)
            kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # nvmlValueType_t
            return getattr(answers[0].value, kinds[answers[0].valueType])

        return self.device("FieldValues", handle, [number], convert=value)

    def structure(self, handle, *forms):
        """The structure that the first known of (its type, function) fills, or an error."""
        error = None
        for kind, name in forms:
            try:
                filled = getattr(self.module, kind)()
                getattr(self.module, "nvmlDeviceGet" + name)(handle, ctypes.byref(filled))
                return filled
            except self.caught as caught:
                error = self.error(caught)
                if error["error"] not in _NOT_THERE:
                    break
        return error


def _memory(nvml, handle, out):
    told = nvml.device("MemoryInfo", handle, getattr(nvml.module, "nvmlMemory_v2", 0))
    if _failed(told) and told["error"] in _NOT_THERE:
        told = nvml.device("MemoryInfo", handle)
    for place, key in (("memory_mib", "total"), ("memory_used_mib", "used"), ("extra.memory_reserved_mib", "reserved")):
        if _failed(told) or hasattr(told, key):
            out[place] = told if _failed(told) else getattr(told, key) // 1048576


def _ecc(nvml, handle, out):
    sram = nvml.structure(handle, ("c_nvmlEccSramErrorStatus_v1_t", "SramEccErrorStatus"))
    for counter, when in enumerate(("volatile", "aggregate")):
        for kind, what in enumerate(("corrected", "uncorrected")):
            place = "extra.%%s_%s_%s" % (what, when)
            out[place % "dram"] = nvml.device("MemoryErrorCounter", handle, kind, counter, 2)
            out[place % "total"] = nvml.device("TotalEccErrors", handle, kind, counter)
            if _failed(sram):
                out[place % "sram"] = nvml.device("MemoryErrorCounter", handle, kind, counter, 7)
        if not _failed(sram):
            for name, key in (("corrected", "Cor"), ("parity", "UncParity"), ("secded", "UncSecDed")):
                out["extra.sram_%s_%s" % (name, when)] = getattr(sram, when + key)
    out["ecc.sram_threshold_exceeded"] = sram if _failed(sram) else sram.bThresholdExceeded


def _links(nvml, handle):
    """States of the links by number. How many there are differs from part to part, so it is asked for."""
    count = nvml.field(handle, 91)
    states = []
    for link in range(64 if _failed(count) else min(count, 64)):
        state = nvml.device("NvLinkState", handle, link)
        if _failed(state):
            if states and _failed(count) and state["error"] in (2, 3):
                break
            return state
        states.append(state)
    return states


def _link_errors(nvml, handle):
    """Sums over all links; a new part may tell only some of them."""
    told = {name: [nvml.field(handle, number) for number in numbers] for name, numbers in _LINK_ERRORS}
    counted = {name: sum(v for v in values if not _failed(v)) for name, values in told.items() if not all(map(_failed, values))}
    return counted or next(iter(told.values()))[0]


def _counter(nvml, handle, numbers):
    """What the one field that answers says."""
    told = [nvml.field(handle, number) for number in numbers]
    counted = [said for said in told if not _failed(said)]
    if len(counted) > 1:
        return {"error": None, "said": "fields %s both answer" % " and ".join(map(str, numbers))}
    return counted[0] if counted else told[-1]


def _fabric(nvml, handle, out):
    forms = (("v3_", "V"), ("v2_", "V"), ("", ""))
    told = nvml.structure(handle, *(("c_nvmlGpuFabricInfo_%st" % version, "GpuFabricInfo" + suffix) for version, suffix in forms))
    out["fabric.state"] = told if _failed(told) else told.state
    if _failed(told) or told.state != 3:  # completed
        places = ["fabric." + key for key in ("status", "clique_id", "cluster_uuid")] + ["fabric_health." + key for key in ("summary", *_HEALTH)]
        out.update(dict.fromkeys(places, told if _failed(told) else "N/A"))
        return
    digits = "".join("%02x" % byte for byte in told.clusterUuid)
    out["fabric.status"] = nvml.ask("nvmlErrorString", told.status) if told.status else "Success"
    out["fabric.clique_id"] = told.cliqueId
    # a form without mask or summary tells nothing of them
    summary, mask = (getattr(told, key, 0) for key in ("healthSummary", "healthMask"))
    out["fabric_health.summary"] = ("N/A", "healthy", "unhealthy", "limited_capacity")[summary] if summary < 4 else str(summary)
    for position, (key, words) in enumerate(_HEALTH.items()):
        found = mask >> 2 * position & (15 if len(words) > 3 else 3)
        out["fabric_health." + key] = words[found] if found < len(words) else str(found)
    out["fabric.cluster_uuid"] = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _partitions(nvml, handle):
    parts = []
    most = nvml.device("MaxMigDeviceCount", handle)
    if _failed(most):
        return most
    for index in range(most):
        part = nvml.device("MigDeviceHandleByIndex", handle, index)
        if not _failed(part):
            told = {"index": index, "name": nvml.device("Name", part), "uuid": nvml.device("UUID", part)}
            told["extra.gpu_instance"] = nvml.device("GpuInstanceId", part)
            told["extra.compute_instance"] = nvml.device("ComputeInstanceId", part)
            _memory(nvml, part, told)
            parts.append(told)
        elif part["error"] not in (2, 6):  # not found: this place is empty
            parts.append({"index": index, "name": part})
    return parts


def _processes(nvml, handle):
    pids, failed = set(), None
    for name in ("ComputeRunningProcesses", "GraphicsRunningProcesses"):
        told = nvml.device(name, handle)
        if _failed(told) and told["error"] == 13:
            told = nvml.device(name + "_v2", handle)
        if _failed(told):
            failed = told
        else:
            pids.update(process.pid for process in told)
    names = [nvml.ask("nvmlSystemGetProcessName", pid) for pid in sorted(pids)[:64]]
    return failed if failed and not pids else len(pids), [name for name in names if isinstance(name, str)]


def _gpu(nvml, handle, branch):
    out = {}
    for line in _QUERIES.strip().splitlines():
        places, name, *arguments = line.split()
        told = nvml.device(name, handle, *map(int, arguments), convert=len if name == "RetiredPages" else None)
        for position, place in enumerate(places.split(",")):
            out[place] = told[position] if isinstance(told, (list, tuple)) else told
    for place in [place for place in out if place.startswith("power_w.")]:
        out[place] = out[place] if _failed(out[place]) else round(out[place] / 1000.0, 2)
    # busId is bytes or text, by the age of nvidia-ml-py
    out["identity.pci"] = nvml.device("PciInfo", handle, convert=lambda info: info.busId)
    out["extra.pci_device"] = nvml.device("PciInfo", handle, convert=lambda info: "%08X" % info.pciDeviceId)
    rates = nvml.device("UtilizationRates", handle)
    for place, key in (("utilization_percent", "gpu"), ("extra.memory_utilization_percent", "memory")):
        out[place] = rates if _failed(rates) else getattr(rates, key, None)
    out["temperature_c.memory"] = nvml.field(handle, 82)
    out["recovery_action"] = nvml.field(handle, 230)
    if _failed(out["recovery_action"]):  # branch 560 has these two alone
        out["reset.required"], out["reset.drain"] = nvml.field(handle, 226), nvml.field(handle, 227)
    out["processes"], out["names"] = _processes(nvml, handle)
    reasons = nvml.device("CurrentClocksEventReasons", handle)
    out["reasons"] = nvml.device("CurrentClocksThrottleReasons", handle) if _failed(reasons) and reasons["error"] == 13 else reasons
    platform = nvml.structure(handle, ("c_nvmlPlatformInfo_v2_t", "PlatformInfo"))
    for place, key in (("identity.slot", "slotNumber"), ("extra.tray", "trayIndex")):
        out[place] = platform if _failed(platform) else ord(getattr(platform, key) or b"\0")
    _memory(nvml, handle, out)
    _ecc(nvml, handle, out)
    _fabric(nvml, handle, out)
    out["links"] = _links(nvml, handle)
    if isinstance(out["links"], list) and 1 in out["links"]:
        out["link_speed"] = nvml.field(handle, 90)
        out["link_errors"] = _link_errors(nvml, handle)
    histogram = nvml.device("RowRemapperHistogram", handle)
    for name in ("max", "high", "partial", "low", "none"):
        out["banks." + name] = histogram if _failed(histogram) else getattr(histogram, name)
    for name, numbers in _SECONDS:
        said = _counter(nvml, handle, numbers[:1] if branch < 580 else numbers[-1:] if branch > 580 else numbers)
        out["seconds." + name] = said if _failed(said) else said // 1000  # from ns to the us of nvidia-smi
    out["extra.confidential_memory_mib"] = nvml.device("ConfComputeProtectedMemoryUsage", handle, convert=lambda told: told.total // 1048576)
    checked = nvml.ask("nvmlDeviceValidateInforom", handle)
    if _failed(checked) and checked["error"] == 14:
        out["inforom_corrupted"] = "yes"
    out["mig"] = _partitions(nvml, handle) if out["partition.enabled"] == 1 else []
    return out


def read(arguments):
    """{"system": {…}, "gpus": [{…}]}, or {"error": nvmlReturn_t or None, "said": …, "system": {…}}, or {"missing": …}."""
    try:
        import pynvml
    except (ImportError, SyntaxError) as caught:
        return {"missing": "nvidia-ml-py is not installed (%s)" % caught}
    nvml = _Nvml(pynvml)
    started = nvml.ask("nvmlInit")
    library = nvml.ask("nvmlSystemGetNVMLVersion")
    system = {} if _failed(library) else {"library_version": library}
    if _failed(started):
        if started["error"] == 12:
            try:
                ctypes.CDLL("libnvidia-ml.so.1")
            except OSError as caught:
                started["said"] = str(caught)[:200]
        return dict(started, system=system)
    system["driver_version"] = nvml.ask("nvmlSystemGetDriverVersion")
    system["cuda_version"] = nvml.ask("nvmlSystemGetCudaDriverVersion_v2", convert=lambda v: "%d.%d" % (v // 1000, v % 1000 // 10))
    count = nvml.ask("nvmlDeviceGetCount")
    if _failed(count):
        return dict(count, system=system)
    gpus, branch = [], str(system["driver_version"]).partition(".")[0]
    for index in range(min(count, 1024)):
        handle = nvml.device("HandleByIndex", index)
        gpus.append({"handle": handle} if _failed(handle) else _gpu(nvml, handle, int(branch) if re.match(r"[0-9]{3,4}\Z", branch) else 580))
    return {"system": system, "gpus": gpus}
