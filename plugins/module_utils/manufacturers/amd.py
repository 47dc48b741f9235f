# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of AMD: amd-smi, else rocm-smi, else sysfs; packages and partitions of what they list."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_rocm
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.amd_smi import IN_TREE, clean, first, hex_id, read
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.bus import on_pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, not_applicable, unknown

MANUFACTURER = "amd"
HOST_CHECK = ["rocm-smi", "--showuniqueid"]
_VIRTUAL = ("74b5", "74b9")  # MI300X and MI325X virtual functions (pci.ids)
_OF_PACKAGE = ("health", "temperature_c", "power_w", "ecc", "retired_pages", "pcie", "links", "throttle", "clocks_mhz")
_OF_EACH = ("memory_used_mib", "utilization_percent", "processes")
_NEVER = {key: not_applicable("AMD has none") for key in ("persistence", "row_remap", "fabric", "recovery_action", "health")}
_NOT_TOLD = {
    "ecc": ("corrected_aggregate", "uncorrected_aggregate", "sram_threshold_exceeded"),  # counts are those since the driver was loaded
    "retired_pages": ("corrected",),
    "temperature_c": ("margin_core",),
}


def collect(host, pci=None):
    """The section accelerators.amd. pci: AMD's accelerators on PCI, or None to look."""
    bus = on_pci(host, MANUFACTURER, pci)
    if bus == [] and all(host.resolve(tool).status == ABSENT for tool in ("amd-smi", "rocm-smi")):
        block = report.detection(MANUFACTURER, [], "not asked", bus, _not_run("no AMD GPU on PCI"), not_installed=True)
        return report.section(MANUFACTURER, host, [], block, {}, [])
    system = host.uname()
    primary = reading = read(host, system.value.get("release") if system.ok and isinstance(system.value, dict) else None)
    readings, note, failed, missing = [primary], primary.note, primary.failed or primary.no_access, False
    if primary.hung and primary.rows:
        note = "an amd-smi call hung: the later ones were not made"
    elif not primary.rows and not primary.hung:
        reading = amd_rocm.rocm_smi(host)
        readings.append(reading)
        missing = not primary.installed and not reading.installed
        if reading.rows:
            # another tool's answer is as good, unless this user may not ask at all
            failed, note = primary.no_access or reading.no_access or reading.failed, "; ".join(filter(None, (primary.failed, reading.note)))
        elif not primary.failed or not reading.failed:
            failed = primary.no_access or reading.no_access  # one of them works and says none
        else:
            failed = " and ".join(r.failed for r in readings if r.installed) or "neither amd-smi nor rocm-smi is installed"
        for row in reading.rows:
            address = report.normalize_pci(row["bdf"])
            if is_known(address):
                _complete(row, amd_rocm.attributes(host, address))
    driven = [c["address"] for c in bus if c.get("driver") == "amdgpu"] if isinstance(bus, list) else []
    if not reading.rows and driven:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_kfd

        reading = amd_kfd.sysfs(host, driven)
        readings.append(reading)
        failed = "" if missing else failed or "the AMD tools list no GPU"
        untold = unknown(failed or "the driver's files do not tell it")
        for row in reading.rows:
            _complete(row, {"links": untold, "processes": untold, "throttle": untold})
    elif not reading.rows and missing and bus:
        failed += ", and no card on PCI has the driver amdgpu"
    sources = [s for r in readings for s in r.sources]
    addresses = [c["address"] for c in bus] if isinstance(bus, list) else []
    devices = _devices(host, reading.rows, addresses)
    check = _not_run("it would tell nothing more")
    if reading is primary and not primary.hung and (not isinstance(bus, list) or len(addresses) > len(report.packages(devices))):
        check = _host_check(host, sources)
    block = report.detection(MANUFACTURER, devices, failed, bus, check, missing)
    return report.section(MANUFACTURER, host, devices, block, _driver(host, readings), sources, note=note)


def _not_run(reason):
    return {"command": " ".join(HOST_CHECK), "accelerators": unknown("not run"), "detail": "", "reason": "not run: " + reason}


def _host_check(host, sources):
    """The vendor's own count, asked where amd-smi lists fewer than PCI, or PCI does not tell. The partitions of a card repeat its id."""
    answer = host.run(HOST_CHECK, timeout=20)
    sources.append(report.source(answer))
    ids = [str(hex_id(line.split("Unique ID:", 1)[1], str(n))) for n, line in enumerate(answer.stdout.splitlines()) if "Unique ID:" in line]
    said = {"accelerators": len(set(ids)), "reason": ""} if answer.succeeded else {"accelerators": unknown(answer.reason), "reason": answer.reason}
    return dict(_not_run(""), detail="%d lines with an id" % len(ids), **said)


def _complete(row, more):
    """Fill what a tool left unknown."""
    for key, value in more.items():
        mine = row.get(key)
        if mine is None or (is_unknown(mine) and not is_unknown(value)):
            row[key] = value
        elif isinstance(mine, dict) and isinstance(value, dict) and not is_not_applicable(mine):
            mine.update({k: v for k, v in value.items() if mine.get(k) is None or (is_unknown(mine[k]) and not is_unknown(v))})


def _driver(host, readings):
    module, rocm, driver = host.read_line("/sys/module/amdgpu/version"), host.read_line("/opt/rocm/.info/version"), readings[0].driver
    version = clean(module.value, "amdgpu version") if module.ok else unknown(module.reason)
    if module.status == ABSENT:
        loaded = host.exists("/sys/module/amdgpu")
        version = dict(IN_TREE) if loaded.value else unknown("amdgpu is not loaded" if loaded.ok else loaded.reason)
    runtime = first(clean(rocm.value, "ROCm version") if rocm.ok else unknown(rocm.reason), driver["runtime_version"])
    told = [r.driver["version"] for r in readings if "version" in r.driver] or [version]
    more = {"runtime": "rocm" if is_known(runtime) else unknown("no ROCm found"), "runtime_version": runtime}
    return dict(driver, version=first(*told) if is_unknown(version) else version, module_version=version, **more)


def _groups(rows, addresses):
    """Rows of one card together: its partitions share the slot and differ in the PCI function."""
    groups = []
    for row in rows:
        address = row["address"] = report.normalize_pci(row["bdf"]) if is_known(row["bdf"]) else row["bdf"]
        # a function that PCI lists as an accelerator of its own is no partition
        slot = address if not is_known(address) or (address in addresses and not address.endswith(".0")) else address[:-2]
        for known_slot, known_id, members in groups:
            if is_known(slot) and slot == known_slot and (row["unique_id"] == known_id or not is_known(known_id) or not is_known(row["unique_id"])):
                members.append(row)
                break
        else:
            groups.append((slot, row["unique_id"], [row]))
    return [sorted(g[2], key=lambda r: (first(r.get("partition_id") or 0, 0), str(r["address"]))) for g in groups]


def _devices(host, rows, addresses):
    devices, groups = [], _groups(rows, addresses)
    whole = all(len(g) == 1 for g in groups)
    for ordinal, group in enumerate(groups):
        head, uuids = group[0], [str(r.get("tool_uuid")) for r in group]
        sizes = [r["memory_mib"] for r in group if is_known(r.get("memory_mib"))]
        memory = max(sizes) if sizes else head.get("memory_mib")  # told for the package on one partition or on each
        package = _package(host, "amd:%d" % (head["index"] if whole else ordinal), head, memory, len(group), addresses)
        devices.append(package)
        for part, row in enumerate(group if len(group) > 1 else []):
            facts = dict(_NEVER, **{key: not_applicable("told for the package") for key in _OF_PACKAGE})
            facts.update({key: row.get(key) for key in _OF_EACH}, extra=row["extra"], **{key: package[key] for key in ("numa_node", "partition")})
            own = first(*(row[key] for key in ("partition_memory_mib", "memory_mib") if key in row), unknown("not told"))
            facts["memory_mib"] = unknown("the tool repeats the memory of the package") if own == memory else own
            # before ROCm 7.0 partitions of one card share the UUID
            uuid = row.get("tool_uuid") if uuids.count(uuids[part]) == 1 else unknown("one UUID for all partitions")
            facts["identity"] = report.identity(uuid=uuid, pci=row["address"])
            devices.append(report.device("%s/xcp:%d" % (package["id"], part), row["index"], row["name"], "partition", package["id"], **facts))
    return report.mark_duplicates(devices)


def _package(host, name, row, memory, parts, addresses):
    address, unique, slot = row["address"], row["unique_id"], row.get("slot")
    if parts > 1 and str(address)[:-1] + "0" in addresses:
        address = address[:-1] + "0"  # the first partition may be the one that is lost
    facts = dict(_NEVER, **{key: row[key] for key in (*_OF_EACH, *_OF_PACKAGE, "firmware", "numa_node") if key in row})
    for group, keys in _NOT_TOLD.items():
        if isinstance(facts.get(group), dict) and is_known(facts[group]):
            facts[group] = dict(facts[group], **{key: not_applicable("AMD does not tell it") for key in keys})
    extra = facts["extra"] = dict(row["extra"], unique_id=unique)
    if str(extra.get("pci_device"))[-4:] in _VIRTUAL:
        extra["virtual_function"] = True
    if "tool_uuid" in row:
        extra["tool_uuid"] = row["tool_uuid"]
    facts["identity"] = report.identity(
        # as HSA and HIP name it; amd-smi's own UUID has another form
        uuid="GPU-" + unique[2:] if is_known(unique) else row.get("tool_uuid") or unique,
        serial=row.get("serial"),
        pci=address,
        slot="OAM %s" % slot if slot is not None and is_known(slot) else slot,
    )
    nodes = []
    if is_known(address):
        kfd, drm = host.exists("/dev/kfd"), host.listdir(amd_rocm.DEVICES + address + "/drm")
        nodes = ["/dev/kfd"] if kfd.ok and kfd.value else []
        nodes += ["/dev/dri/" + n for n in sorted(drm.value) if re.match(r"(?:card|renderD)\d+\Z", n)] if drm.ok else []
    facts.update(memory_mib=memory, device_nodes=nodes, partition=_partition(host, row.get("partition") or {}, address, parts))
    return report.device(name, row["index"], row["name"], **facts)


def _partition(host, told, address, parts):
    if not is_known(told.get("profile")) and is_known(address):
        # `static` leaves it out since ROCm 7.0, for reading it wakes the GPU
        told = {key: told[key] if is_known(told.get(key)) else fact for key, fact in amd_rocm.partition(host, address).items()}
    profile = told.get("profile") or unknown("compute partition: not told")
    if is_not_applicable(profile) and parts == 1:
        return not_applicable("no compute partitions on this part")
    enabled = parts > 1 or (profile != "SPX" if is_known(profile) else profile)
    return {"mode": "compute", "enabled": enabled, "profile": profile, "memory_profile": told.get("memory_profile")}
