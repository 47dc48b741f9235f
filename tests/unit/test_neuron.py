# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AWS Neuron: the driver's files beside neuron-ls, what an instance of the type has, and JSON that ends early."""

from __future__ import annotations

import json

import further_samples as samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

PRODUCT = {"/sys/class/dmi/id/product_name": "trn1.32xlarge\n"}


def read(commands, count=2, counters=None, product=None):
    files = dict(samples.bus("neuron", count), **samples.neuron_files(count, **(counters or {})))
    return samples.read("neuron", commands, dict(files, **(product or {})), nodes=["neuron%d" % n for n in range(count)], module="neuron")


def test_a_good_node():
    section = read({"-j": samples.neuron_json(2)})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "Trainium2 x2")
    device = section["devices"][1]
    assert (device["memory_mib"], device["processes"], device["extra"]["cores"], device["extra"]["connected_to"]) == (98304, 1, 4, "0")
    assert device["identity"]["serial"] == {"value": "9a8b7c0000000001", "quality": "good"}
    assert device["ecc"]["uncorrected_volatile"] == 0
    assert device["device_nodes"] == ["/dev/neuron1"]
    assert (section["driver"]["version"], section["driver"]["module_version"]) == ("7.8.9", "7.8.9")
    assert is_not_applicable(section["detection"]["host"]) and is_not_applicable(device["temperature_c"])


def test_errors_of_both_memories_are_added():
    section = read({"-j": samples.neuron_json(2)}, counters={"mem_ecc_uncorrected": 2, "sram_ecc_uncorrected": 1})
    assert section["devices"][0]["ecc"]["uncorrected_volatile"] == 3
    for broken in ("", "many", "-1", "9" * 30):
        section = read({"-j": samples.neuron_json(2)}, counters={"sram_ecc_uncorrected": broken})
        assert is_unknown(section["devices"][0]["ecc"]["uncorrected_volatile"])


def test_the_type_of_the_instance_says_how_many_there_are():
    section = read({"-j": samples.neuron_json(2)}, product=PRODUCT)
    assert section["detection"]["reason"] == "the type of the instance reports 16, 2 were read"
    section = read({"": samples.neuron_table(2)})
    assert (section["detection"]["state"], section["detection"]["host"]["accelerators"]) == ("unavailable", 16)
    assert read({"-j": samples.neuron_json(16)}, 16, product=PRODUCT)["detection"]["state"] == "ok"


def test_a_node_of_another_vendor_is_no_instance_type():
    section = read({"-j": samples.neuron_json(2)}, product={"/sys/class/dmi/id/product_name": "PowerEdge R760\n"})
    assert section["detection"]["state"] == "ok"


def test_a_border_between_the_devices_ends_no_list():
    lines = samples.neuron_table(4, "inf9.test").splitlines()
    border = lines[2]
    parted = [*lines[:6], *(line for row in lines[6:-1] for line in (row, border))]
    section = read({"": "\n".join(parted) + "\n"}, 4)
    assert (section["detection"]["state"], [device["index"] for device in section["devices"]]) == ("ok", [0, 1, 2, 3])
    cut = read({"": "\n".join(parted[:-1]) + "\n"}, 4)
    assert "ends inside the table" in cut["detection"]["reason"]


def test_the_type_of_the_instance_in_the_list():
    entries = json.loads(samples.neuron_json(2))
    for entry in entries:
        entry.update(instance_type="trn1.32xlarge", connected_to=None)
    section = read({"-j": json.dumps(entries)})
    assert section["detection"]["reason"] == "the type of the instance reports 16, 2 were read"
    entries[0]["instance_type"] = 7
    assert read({"-j": json.dumps(entries[:1])}, 1)["detection"]["state"] == "ok"


def test_a_list_that_ends_early_is_a_lower_bound():
    text = samples.neuron_json(3)
    section = read({"-j": text[: text.rindex('"neuron_device"') + 10]}, 3)
    assert (section["detection"]["state"], len(section["devices"])) == ("unavailable", 2)
    assert "at least 2" in section["detection"]["accelerators"]["unknown"] or is_unknown(section["detection"]["accelerators"])
    cut = samples.neuron_table(3, "trn2.test", end=False)
    assert "ends inside the table" in read({"": cut}, 3)["detection"]["reason"]


def test_numa_of_the_tool_where_pci_does_not_tell_it():
    section = samples.read("neuron", {"-j": samples.neuron_json(2, numa_node="3")}, samples.neuron_files(2))
    assert [device["numa_node"] for device in section["devices"]] == [3, 3]
    section = samples.read("neuron", {"-j": samples.neuron_json(2, numa_node="-1")}, samples.neuron_files(2))
    assert all(is_unknown(device["numa_node"]) for device in section["devices"])


def test_further_processes_of_a_device_have_rows_of_their_own():
    rows = "| 0 | 4 | 96 GB | 0000:30:00.0 | 11 |\n|  |  |  |  | 12 |\n| 1 | 4 | 96 GB | 0000:32:00.0 | NA |\n"
    rule = "+-----+-----+-----+-----+-----+\n"
    head = "| NEURON | NEURON | NEURON | PCI | PID |\n| DEVICE | CORES | MEMORY | BDF |  |\n"
    section = read({"": rule + head + rule + rows + rule})
    assert [device["processes"] for device in section["devices"]] == [2, 0]
    assert section["detection"]["state"] == "ok"
