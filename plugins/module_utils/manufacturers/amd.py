# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of AMD: amd-smi, else rocm-smi, else sysfs; packages and partitions of what they list."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_rocm, amd_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.amd_smi import clean, first
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci as pci_reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, not_applicable, unknown

MANUFACTURER = "amd"
HOST_CHECK = ["rocm-smi", "--showuniqueid"]
_VIRTUAL = ("74b5", "74b9")  # MI300X and MI325X virtual functions (pci.ids)
_OF_PACKAGE = ("health", "temperature_c", "power_w", "ecc", "retired_pages", "pcie", "links", "throttle", "row_remap", "fabric")
_OF_EACH = ("memory_used_mib", "utilization_percent", "processes")
_FIXED = {
    "health": not_applicable("AMD tools give no health word"),
    "persistence": not_applicable("AMD has no persistence mode"),
    "row_remap": not_applicable("AMD retires pages"),
    "fabric": not_applicable("AMD has no fabric manager"),
    "recovery_action": not_applicable("AMD tools name no recovery action"),
}
_ECC = {
    "corrected_aggregate": not_applicable("AMD counts since the driver was loaded"),
    "uncorrected_aggregate": not_applicable("AMD counts since the driver was loaded"),
    "sram_threshold_exceeded": not_applicable("not told by AMD"),
}


def collect(host, pci=None):
    """The `accelerators.amd` section."""
    bus = pci
    if pci is None:
        scanned = pci_reader.scan(host, manufacturers=(MANUFACTURER,))
        bus = pci_reader.accelerators(scanned, MANUFACTURER)
        pci = [e for e in scanned["devices"] if e["role"] in (pci_reader.ACCELERATOR, pci_reader.VIRTUAL_FUNCTION)]
    if not pci and isinstance(bus, list):
        block = report.detection(MANUFACTURER, [], "not asked", bus, _not_run("no AMD accelerator on PCI"), not_installed=True)
        return report.section(MANUFACTURER, host, [], block, {}, [])
    release = host.uname()
    primary = reading = amd_smi.read(host, release.value.get("release") if release.ok and isinstance(release.value, dict) else None)
    readings, note, failed, missing = [primary], "", primary.failed or primary.no_access, False
    if not primary.rows and not primary.hung:
        reading = amd_rocm.rocm_smi(host)
        readings.append(reading)
        missing = not primary.installed and not reading.installed
        if reading.rows:
            # another tool's answer is as good, unless this user may not ask at all
            failed, note = primary.no_access or reading.no_access, primary.failed
        elif not primary.failed or not reading.failed:
            failed = ""  # one of them works and says none
        else:
            failed = " and ".join(r.failed for r in readings if r.installed) or "neither amd-smi nor rocm-smi is installed"
        for row in reading.rows:
            address = report.normalize_pci(row["bdf"])
            if is_known(address):
                _complete(row, amd_rocm.attributes(host, address))
                model = next((e.get("model") for e in pci if e.get("address") == address), None)
                row["name"] = first(row["name"], clean(model, "model on PCI"))
    elif primary.hung and primary.rows:
        note = "an amd-smi call hung: the later ones were not made"
    driven = [e for e in pci if e.get("driver") == "amdgpu"]
    if not reading.rows and driven:
        reading = amd_rocm.sysfs(host, driven)
        readings.append(reading)
        failed = "" if missing else failed or "the AMD tools list no GPU"
    elif not reading.rows and missing and bus:
        failed += ", and no card on PCI has the driver amdgpu"
    sources = [s for r in readings for s in r.sources]
    devices = _devices(host, reading.rows, {e.get("address"): e for e in pci})
    check = _not_run("it would tell nothing more")
    if reading is primary and not primary.hung and isinstance(bus, list) and len(bus) > len(report.packages(devices)):
        check = _host_check(host, sources)
    block = report.detection(MANUFACTURER, devices, failed, bus, check, missing)
    return report.section(MANUFACTURER, host, devices, block, _driver(host, readings), sources, note=note)


def _not_run(reason):
    return {"command": " ".join(HOST_CHECK), "accelerators": unknown("not run"), "detail": "", "reason": "not run: " + reason}


def _host_check(host, sources):
    """The vendor's own count, asked where amd-smi lists fewer than PCI. The partitions of a card repeat its id."""
    answer = host.run(HOST_CHECK, timeout=20)
    sources.append(report.source(answer))
    said = [amd_smi.hex_id(line.split("Unique ID:", 1)[1], "id") for line in answer.stdout.splitlines() if "Unique ID:" in line]
    found = len({i for i in said if is_known(i)}) + len([i for i in said if not is_known(i)])
    good = answer.succeeded
    check = dict(_not_run(""), accelerators=found if good else unknown(answer.reason), detail="%d lines with an id" % len(said))
    return dict(check, reason="" if good else answer.reason)


def _complete(row, more):
    """Fill what a tool left unknown."""
    for key, value in more.items():
        mine = row.get(key)
        if mine is None or (is_unknown(mine) and not is_unknown(value)):
            row[key] = value
        elif isinstance(mine, dict) and isinstance(value, dict) and not is_not_applicable(mine):
            for name, fact in value.items():
                if mine.get(name) is None or (is_unknown(mine[name]) and not is_unknown(fact)):
                    mine[name] = fact


def _driver(host, readings):
    module = host.read_line("/sys/module/amdgpu/version")
    version = clean(module.value, "amdgpu version") if module.ok else unknown(module.reason)
    if module.status == answers.ABSENT:
        loaded = host.exists("/sys/module/amdgpu")
        version = unknown("amdgpu is not loaded" if loaded.ok else loaded.reason) if not loaded.value else not_applicable(amd_smi.IN_TREE)
    told = [r.driver["version"] for r in readings if "version" in r.driver]
    told = first(*told) if told else unknown("no tool told it")
    rocm = host.read_line("/opt/rocm/.info/version")
    driver = readings[0].driver
    runtime = first(clean(rocm.value, "ROCm version") if rocm.ok else unknown(rocm.reason), driver.get("runtime_version") or unknown("not told"))
    return {
        "version": told if is_unknown(version) else version,
        "module_version": version,
        "library_version": driver.get("library_version"),
        "tool_version": driver.get("tool_version"),
        "runtime": "rocm" if is_known(runtime) else unknown("no ROCm found"),
        "runtime_version": runtime,
    }


def _groups(rows, entries):
    """Rows of one card together: its partitions share the slot and differ in the PCI function."""
    groups = []
    for row in rows:
        address = row["address"] = report.normalize_pci(row["bdf"]) if is_known(row["bdf"]) else row["bdf"]
        # a function that PCI lists as an accelerator of its own is no partition
        slot = address if not is_known(address) or (address in entries and not address.endswith(".0")) else address[:-2]
        for known_slot, known_id, members in groups:
            if is_known(slot) and slot == known_slot and (row["unique_id"] == known_id or not is_known(known_id) or not is_known(row["unique_id"])):
                members.append(row)
                break
        else:
            groups.append((slot, row["unique_id"], [row]))
    return [sorted(g[2], key=lambda r: (str(first(r.get("partition_id") or 0, 0)).zfill(4), str(r["address"]))) for g in groups]


def _devices(host, rows, entries):
    devices, groups = [], _groups(rows, entries)
    whole = all(len(g) == 1 for g in groups)
    for ordinal, group in enumerate(groups):
        head = group[0]
        sizes = [r["memory_mib"] for r in group if is_known(r.get("memory_mib"))]
        memory = max(sizes) if sizes else head.get("memory_mib")  # told for the package on one partition or on each
        package = _package(host, "amd:%d" % (head["index"] if whole else ordinal), head, memory, len(group), entries)
        devices.append(package)
        uuids = [str(r.get("tool_uuid")) for r in group]
        for part, row in enumerate(group if len(group) > 1 else []):
            own = first(row.get("partition_memory_mib") or unknown("memory of the partition: not told"), row.get("memory_mib") or unknown("not told"))
            facts = {key: row.get(key) for key in _OF_EACH}
            facts.update(_FIXED, **{key: not_applicable("told for the package") for key in _OF_PACKAGE})
            facts.update(numa_node=package["numa_node"], partition=package["partition"], extra=row["extra"])
            facts["memory_mib"] = unknown("the tool repeats the memory of the package") if own == memory else own
            # before ROCm 7.0 partitions of one card share the UUID
            uuid = row.get("tool_uuid") if uuids.count(uuids[part]) == 1 else unknown("one UUID for all partitions")
            facts["identity"] = report.identity(uuid=uuid, pci=row["address"])
            devices.append(report.device("%s/xcp:%d" % (package["id"], part), row["index"], row["name"], "partition", package["id"], **facts))
    return report.mark_duplicates(devices)


def _package(host, name, row, memory, parts, entries):
    address, unique, slot = row["address"], row["unique_id"], row.get("slot")
    if parts > 1 and str(address)[:-1] + "0" in entries:
        address = address[:-1] + "0"  # the first partition may be the one that is lost
    entry = entries.get(str(address)) or {}
    facts = dict(_FIXED)
    facts.update({key: row[key] for key in (*_OF_EACH, *_OF_PACKAGE, "firmware") if key in row})
    facts.update(memory_mib=memory, extra=dict(row["extra"], unique_id=unique), pcie=_pcie(row.get("pcie") or {}, entry))
    facts["numa_node"] = first(*(v for v in (row.get("numa_node"), entry.get("numa_node")) if v is not None), unknown("not told"))
    facts["partition"] = _partition(host, row.get("partition") or {}, address, parts)
    for group, more in (("ecc", _ECC), ("retired_pages", {"corrected": not_applicable("AMD retires pages for uncorrectable errors")})):
        if isinstance(facts.get(group), dict) and not is_unknown(facts[group]) and not is_not_applicable(facts[group]):
            facts[group] = dict(facts[group], **more)
    if isinstance(facts.get("temperature_c"), dict):
        facts["temperature_c"]["margin_core"] = not_applicable("AMD tells limits")
    if row.get("tool_uuid") is not None:
        facts["extra"]["tool_uuid"] = row["tool_uuid"]
    if entry.get("role") == "virtual_function" or str(entry.get("device") or row["extra"].get("pci_device"))[-4:] in _VIRTUAL:
        facts["extra"]["virtual_function"] = True
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
    return report.device(name, row["index"], row["name"], device_nodes=nodes, **facts)


def _pcie(told, entry):
    """The tool's link, else that of PCI; the maximum is what card and slot can do together."""
    bus, above = (entry.get(k) if isinstance(entry.get(k), dict) else {} for k in ("pcie", "upstream"))
    block = dict(told)
    for key, file, convert in (
        ("generation_current", "speed_current_gts", amd_smi.generation),
        ("width_current", "width_current", amd_smi.width),
        ("generation_max", "speed_max_gts", amd_smi.generation),
        ("width_max", "width_max", amd_smi.width),
    ):
        block[key] = first(block.get(key) or unknown("%s: not told" % key), convert(bus.get(file), "PCI"))
        if key == "generation_max":
            block["generation_device_max"] = block[key]
        port = convert(above.get(file), "port") if key.endswith("max") else None
        if port is not None and is_known(port) and is_known(block[key]):
            block[key] = min(block[key], port)
    return block


def _partition(host, told, address, parts):
    if not is_known(told.get("profile")) and is_known(address):
        # `static` leaves it out since ROCm 7.0, for reading it wakes the GPU
        for key, fact in amd_rocm.partition(host, address).items():
            told[key] = told[key] if is_known(told.get(key)) else fact
    profile = told.get("profile") or unknown("compute partition: not told")
    if is_not_applicable(profile) and parts == 1:
        return not_applicable("no compute partitions on this part")
    enabled = parts > 1 or (profile != "SPX" if is_known(profile) else profile)
    return {"mode": "compute", "enabled": enabled, "profile": profile, "memory_profile": told.get("memory_profile")}
