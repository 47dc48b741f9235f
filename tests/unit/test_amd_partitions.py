# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages and partitions of MI300-class cards."""

from __future__ import annotations

import amd_samples as amd
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

PCI = amd.on_pci("0000:%s:00.0" % b for b in amd.BUSES)


def partitioned(parts, profile, memory, size_of, shared_uuid=False, cards=8):
    tables = amd.node([0])
    for word in ("list", "static", "metric", "firmware", "bad-pages", "process"):
        tables[word] = []
    for logical in range(cards * parts):
        gpu, part = divmod(logical, parts)
        bdf = "0000:%s:00.%d" % (amd.BUSES[gpu], part)
        row, told = amd.listed(gpu, bdf, part), amd.static(gpu, bdf)
        row["gpu"] = told["gpu"] = logical
        row["node_id"] = logical + 2
        if not shared_uuid:
            row["uuid"] = "%02d%s" % (part, row["uuid"][2:])
        told["partition"] = {"accelerator_partition": profile if part == 0 else "N/A", "memory_partition": memory if part == 0 else "N/A", "partition_id": part}
        told["vram"]["size"] = amd.unit(size_of(part), "MB")
        live = amd.metric(logical)
        if part:
            live.update(power={"socket_power": "N/A"}, temperature={"edge": "N/A", "hotspot": "N/A", "mem": "N/A"}, ecc="N/A", ecc_blocks="N/A")
        tables["list"].append(row)
        tables["static"].append(told)
        tables["metric"].append(live)
        tables["process"].append(amd.process(logical))
    return tables


def collect(tables, pci=PCI, **more):
    return reader.collect(amd.replay(tables, **more), pci)


def test_cpx_is_eight_devices_of_one_card():
    section = collect(partitioned(8, "CPX", "NPS4", lambda part: 196592, shared_uuid=True))
    assert section["detection"]["state"] == "ok"
    assert section["detection"]["accelerators"] == 8
    assert len(section["devices"]) == 8 + 64
    package = section["devices"][9]
    parts = [d for d in section["devices"] if d["parent"] == package["id"]]
    assert (package["id"], package["kind"], package["index"]) == ("amd:1", "package", 8)
    assert package["partition"] == {"mode": "compute", "enabled": True, "profile": "CPX", "memory_profile": "NPS4"}
    assert package["memory_mib"] == 196592
    assert package["identity"]["uuid"]["quality"] == "good"
    assert [p["id"] for p in parts] == ["amd:1/xcp:%d" % n for n in range(8)]
    assert [p["identity"]["pci"]["value"] for p in parts] == ["0000:26:00.%d" % n for n in range(8)]
    assert {p["kind"] for p in parts} == {"partition"}
    assert all(is_unknown(p["memory_mib"]) for p in parts)  # the package's size, told again and again
    assert all(is_unknown(p["identity"]["uuid"]["value"]) for p in parts)
    assert all(is_not_applicable(p["temperature_c"]) and is_not_applicable(p["ecc"]) for p in parts)
    assert package["temperature_c"]["core"] == 41
    assert package["ecc"]["uncorrected_volatile"] == 0
    assert [p["extra"]["kfd_node"] for p in parts] == list(range(10, 18))


def test_dpx_tells_the_package_on_the_first_partition():
    section = collect(partitioned(2, "DPX", "NPS1", lambda part: 98296 if part else 196592))
    package = section["devices"][0]
    assert package["memory_mib"] == 196592
    assert is_unknown(section["devices"][1]["memory_mib"])
    assert section["devices"][2]["memory_mib"] == 98296
    assert section["devices"][2]["identity"]["uuid"]["quality"] == "good"
    assert section["detection"]["accelerators"] == 8


def test_mode_of_the_card_from_its_file():
    tables = amd.node([0])
    tables["static"][0].pop("partition")  # ROCm 7.0
    base = "/sys/bus/pci/devices/0000:05:00.0/"
    files = {base + "current_compute_partition": "SPX\n", base + "current_memory_partition": "NPS1\n"}
    partition = collect(tables, files=files)["devices"][0]["partition"]
    assert partition == {"mode": "compute", "enabled": False, "profile": "SPX", "memory_profile": "NPS1"}
    files = {base + "current_compute_partition": {"absent": True}, base + "current_memory_partition": {"absent": True}}
    assert is_not_applicable(collect(tables, files=files)["devices"][0]["partition"])
    files = {base + "current_compute_partition": {"error": "EACCES"}, base + "current_memory_partition": {"error": "EACCES"}}
    assert "denied" in collect(tables, files=files)["devices"][0]["partition"]["profile"]["unknown"]


@pytest.mark.parametrize("name", ["compute_partition", "accelerator_partition"])
def test_both_names_of_the_mode(name):
    tables = amd.node([0])
    tables["static"][0]["partition"] = {name: "CPX", "memory_partition": "NPS4", "partition_id": 0}
    assert collect(tables)["devices"][0]["partition"] == {"mode": "compute", "enabled": True, "profile": "CPX", "memory_profile": "NPS4"}


def test_functions_that_pci_lists_are_cards():
    tables = amd.node([0, 1])
    tables["static"][1]["bus"]["bdf"] = tables["list"][1]["bdf"] = "0000:05:00.1"
    tables["static"][1]["asic"]["asic_serial"] = "N/A"
    pci = amd.on_pci(["0000:05:00.0", "0000:05:00.1"])
    assert [d["kind"] for d in collect(tables, pci)["devices"]] == ["package", "package"]


def test_other_ids_are_other_cards():
    tables = amd.node([0, 1])
    tables["static"][1]["bus"]["bdf"] = tables["list"][1]["bdf"] = "0000:05:00.0"
    devices = collect(tables, PCI[:2])["devices"]
    assert [d["kind"] for d in devices] == ["package", "package"]
    assert {d["identity"]["pci"]["quality"] for d in devices} == {"duplicate"}


def test_a_lost_partition_does_not_make_a_card():
    tables = partitioned(8, "CPX", "NPS4", lambda part: 196592, cards=1)
    for word in ("list", "static", "metric"):
        tables[word] = [row for row in tables[word] if row["gpu"] != 0]
    section = collect(tables, PCI[:1])
    assert section["detection"]["accelerators"] == 1
    assert section["devices"][0]["partition"]["enabled"] is True
    assert is_unknown(section["devices"][0]["partition"]["profile"])
    assert section["devices"][0]["identity"]["pci"]["value"] == "0000:05:00.0"
