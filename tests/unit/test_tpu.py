# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Google TPU: idle chips, chips of two cores, chips that are numbered twice, and where their nodes are on PCI."""

from __future__ import annotations

import further_samples as samples
import pytest
import xpu_samples as tpu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown


def read(table, count=4, files=None, more=None):
    return samples.read("tpu", dict({"": table}, **(more or {})), dict(samples.bus("tpu", count), **(files or {})))


@pytest.mark.parametrize("box", [False, True])
def test_a_good_node(box):
    section = read(tpu.tpu_table(4, box=box))
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "TPU v6e x4")
    assert [entry["source"] for entry in section["sources"]] == ["tpu-info"]
    device = section["devices"][2]
    assert (device["memory_mib"], device["memory_used_mib"], device["utilization_percent"], device["processes"]) == (32000, 2560, 7.5, 1)
    assert (device["device_nodes"], device["identity"]["pci"]["value"], device["extra"]["cores"]) == (["/dev/vfio/2"], samples.address(2), 1)
    assert (section["driver"]["library_version"], section["driver"]["runtime"]) == ("0.0.21", "libtpu")


def test_an_idle_chip_tells_neither_memory_nor_load():
    device = read(tpu.tpu_table(4, use="idle"))["devices"][0]
    assert device["processes"] == 0 and device["name"] == "TPU v6e"
    for key in ("memory_mib", "memory_used_mib", "utilization_percent"):
        assert is_not_applicable(device[key]), device[key]


def test_a_chip_in_use_that_tells_nothing_is_unknown():
    device = read(tpu.tpu_table(4).replace("2.50 GiB / 31.25 GiB", "N/A").replace("7.50%", "N/A"))["devices"][0]
    assert (device["processes"], is_unknown(device["memory_mib"]), is_unknown(device["utilization_percent"])) == (1, True, True)


def test_a_chip_of_two_cores_has_the_memory_of_both():
    section = read(tpu.tpu_table(4, kind="7x", cores=2, total=94.5))
    assert section["detection"]["detail"] == "TPU7x x4"
    assert {(d["memory_mib"], d["memory_used_mib"], d["extra"]["cores"]) for d in section["devices"]} == {(193536, 5120, 2)}


@pytest.mark.parametrize("numbers", [[8, 9, 12, 13], [1, 0, 2, 3], [0, 1, 2], [0, 1, 2, 3, 4]])
def test_chips_that_are_numbered_otherwise_do_not_get_the_use_of_another(numbers):
    section = read(tpu.tpu_table(4, numbers=numbers))
    assert section["detection"]["state"] == "ok"
    assert all(is_unknown(d["memory_used_mib"]) and is_unknown(d["utilization_percent"]) for d in section["devices"])
    alike = len(numbers) == 4  # then all of them have the same memory, whichever is which
    assert {d["memory_mib"] if alike else is_unknown(d["memory_mib"]) for d in section["devices"]} == {32000 if alike else True}
    assert section["note"].startswith("tpu-info lists 4 chips and calls them %s" % ", ".join(map(str, numbers))) is alike


def test_the_number_of_a_node_is_that_of_its_group():
    bus = samples.bus("tpu", 2)
    groups = {path: {"link": "../../../../kernel/iommu_groups/%d" % (7 - n)} for n, path in enumerate(sorted(p for p in bus if p.endswith("iommu_group")))}
    section = read(tpu.tpu_table(2).replace("/dev/vfio/0", "/dev/vfio/6").replace("/dev/vfio/1", "/dev/vfio/7"), 2, groups)
    assert [(d["device_nodes"], d["identity"]["pci"]["value"]) for d in section["devices"]] == [
        (["/dev/vfio/6"], samples.address(1)), (["/dev/vfio/7"], samples.address(0)),
    ]  # fmt: skip


def test_an_older_node_is_below_its_function():
    places = {"/sys/devices/pci0000:00/0000:00:%02x.0/%s/accel" % (n + 1, samples.address(n)): {"dir": ["accel%d" % (1 - n)]} for n in range(2)}
    section = read(tpu.tpu_table(2, kind="v4", node="/dev/accel%d"), 2, places)
    assert [(d["name"], d["device_nodes"], d["identity"]["pci"]["value"]) for d in section["devices"]] == [
        ("TPU v4", ["/dev/accel0"], samples.address(1)), ("TPU v4", ["/dev/accel1"], samples.address(0)),
    ]  # fmt: skip


def test_the_list_of_processes_is_whole_only_with_pci():
    section = read("?", more={"--process": tpu.tpu_processes(4)})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "TPU v6e x4")  # named by PCI
    assert [d["extra"]["process_names"] for d in section["devices"]] == [["python3"]] * 4
    section = read("?", more={"--process": tpu.tpu_processes(3)})
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)


@pytest.mark.parametrize("line", ["| /dev/vfio/1 | TPU v6e chip | 1       | 4711    |", "| /dev/vfio/x | TPU v6e chip | 1 | 4711 |"])
def test_a_row_that_is_wrong_makes_the_number_unknown(line):
    table = tpu.tpu_table(2).replace("| /dev/vfio/0 | TPU v6e chip | 1 | 4711 |", line)
    assert line in table
    section = read(table, 2)
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)
