# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of nvidia-smi when -q -x gives nothing that is understood: -q, the table, the list."""

from __future__ import annotations

import random

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown, why

CARD = """GPU {bus}
    Product Name                          : {name}
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : {mig}
        Pending                           : {mig}
{parts}    Serial Number                         : 16517230000{index}
    GPU UUID                              : {uuid}
    Minor Number                          : {index}
    GPU Recovery Action                   : None
    PCI
        Bus Id                            : {bus}
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
                Device Current            : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    Clocks Event Reasons Counters
        Sync Boost                        : 5 us
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : {used}
    BAR1 Memory Usage
        Total                             : 131072 MiB
    ECC Errors
        Volatile
            DRAM Uncorrectable            : {dram}
    Remapped Rows
        Correctable Error                 : 1
        Inactive Correctable Error        : 7
        Pending                           : {pending}
    GPU Power Readings
        Power Draw                        : 71.25 W
    Module Power Readings
        Power Draw                        : 99.00 W
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4242
            Type                          : C
"""
PART = """    MIG Device
        Index                             : 2
        GPU Instance ID                   : 1
        Shared FB Memory Usage
            Total                         : 40448 MiB
"""
BROKEN = samples.xml("", signal="SIGSEGV")


def card(index=0, **values):
    plain = {"bus": samples.bus(index), "name": samples.H100, "mig": "Disabled", "parts": "", "index": index, "uuid": samples.uuid(index)}
    plain.update(used="2 MiB", dram=0, pending="No")
    return CARD.format(**{**plain, **values})


def log(*cards, attached=None):
    count = len(cards) if attached is None else attached
    return f"\n====NVSMI LOG====\n\nDriver Version   : 575.57.08\nCUDA Version     : 12.9\n\nAttached GPUs    : {count}\n" + "".join(cards) + "\n"


def table(*rows, closed=True):
    border = "+-----------------------------------------+------------------------+----------------------+\n"
    head = border + "| NVIDIA-SMI 575.57.08    Driver Version: 575.57.08    CUDA Version: 12.9     |\n" + border
    head += "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n|=====|=====|=====|\n"
    text = head + border.join(rows)
    return text + border + "\n| Processes: |\n|====|\n|  No running processes found |\n" + border if closed else text


def row(index, name="NVIDIA H100 80GB HBM3", errors="0", mig="Disabled", used="2MiB"):
    return (
        f"|   {index}  {name}          On  |   {samples.bus(index)} Off | {errors} |\n"
        f"| N/A   31C    P0             71W /  700W |  {used} /  81559MiB |      0%      Default |\n"
        f"|                                         |                        | {mig} |\n"
    )


def collect(*commands, count=2, **more):
    return nvidia.collect(samples.machine(BROKEN, *commands, count=count, **more))


def asked(section):
    return [(s["source"], s["status"]) for s in section["sources"]]


def test_the_text_tells_what_the_document_does():
    section = collect(samples.run("-q", stdout=log(card(0, dram=3, pending="Yes"), card(1))), samples.run("nvlink", "-s", stdout=samples.nvlink(2)))
    assert section["detection"]["state"] == "ok" and section["detection"]["accelerators"] == 2
    assert section["note"].startswith("nvidia-smi -q -x") and section["note"].endswith("read with nvidia-smi -q instead")
    first, second = section["devices"]
    assert (first["memory_mib"], first["memory_used_mib"], first["ecc"]["uncorrected_volatile"]) == (81559, 2, 3) or is_unknown(
        first["ecc"]["uncorrected_volatile"]
    )
    assert first["row_remap"]["corrected"] == 1 and first["row_remap"]["pending"] is True and second["row_remap"]["pending"] is False
    assert is_unknown(first["row_remap"]["uncorrected"]) and first["power_w"]["draw"] == 71.25
    assert (first["pcie"]["width_current"], first["pcie"]["width_max"], first["pcie"]["generation_current"]) == (8, 16, 5)
    assert first["throttle"]["active"] == ["hw_slowdown", "hw_thermal_slowdown"] and first["processes"] == 1
    assert first["links"]["up"] == 18 and first["health"]["state"] == "ok" and second["identity"]["uuid"]["value"] == samples.uuid(1)


def test_parts_of_a_card_are_not_the_card():
    section = collect(samples.run("-q", stdout=log(card(0, mig="Enabled", parts=PART))), count=1)
    whole, part = section["devices"]
    assert whole["memory_mib"] == 81559 and (part["id"], part["memory_mib"], part["extra"]["gpu_instance"]) == ("nvidia:0/mig:2", 40448, 1)


@pytest.mark.parametrize("text", [log(card(0), attached=2), log(card(0)).rstrip("\n"), log(card(0)) + "...\n", log(card(0), "    [...]\n", attached=1)])
def test_a_text_with_something_left_out_has_no_count(text):
    section = collect(samples.run("-q", stdout=text), count=1)
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])
    assert section["devices"][0]["memory_mib"] == 81559


def test_the_table_and_the_list():
    listing = samples.run("-L", stdout=samples.listing(2))
    section = collect(samples.run(stdout=table(row(0, "NVIDIA H100 80G..."), row(1, used="9MiB"))), listing)
    assert section["detection"]["state"] == "ok" and section["detection"]["host"]["accelerators"] == 2
    assert [d["name"] for d in section["devices"]] == [samples.H100] * 2 and [d["memory_used_mib"] for d in section["devices"]] == [2, 9]
    assert [d["identity"]["uuid"]["value"] for d in section["devices"]] == [samples.uuid(0), samples.uuid(1)]
    assert all(is_unknown(d["row_remap"]["pending"]) and is_unknown(d["health"]) for d in section["devices"])
    assert [name for name, _status in asked(section)] == [
        "NVML",
        "nvidia-smi -q -x",
        "nvidia-smi -q",
        "nvidia-smi",
        "nvidia-smi -L",
        "nvidia-smi nvlink -s",
        "nvidia-smi conf-compute -f",
    ]
    section = collect(samples.run(stdout=table(row(0))), listing)
    assert section["detection"]["state"] == "unavailable" and "PCI shows 2" in section["detection"]["reason"]


@pytest.mark.parametrize("text", [table(row(0), row(1), closed=False), table(row(1)), row(0), table("\n".join(row(0).split("\n")[:2]) + "\n")])
def test_a_part_of_a_table_has_no_count(text):
    section = collect(samples.run(stdout=text), count=1)
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])


def test_the_list_alone_tells_which_cards_and_nothing_of_them():
    section = collect(samples.run("-L", stdout=samples.listing(2)))
    assert section["detection"]["state"] == "ok" and section["detection"]["accelerators"] == 2
    assert section["note"].endswith("read with nvidia-smi -L instead")
    for index, device in enumerate(section["devices"]):
        assert device["name"] == samples.H100 and device["identity"]["uuid"] == {"value": samples.uuid(index), "quality": "good"}
        for group in ("memory_mib", "health", "links", "processes", "persistence", "recovery_action"):
            assert is_unknown(device[group]), group
        for group in ("temperature_c", "power_w", "ecc", "row_remap", "pcie", "partition", "fabric", "throttle"):
            assert is_unknown(device[group]) or not any(is_known(v) for k, v in device[group].items() if k != "mode"), group
        assert is_unknown(device["identity"]["pci"]["value"]) and is_unknown(device["device_nodes"])


@pytest.mark.parametrize("text", [samples.listing(2) + "GPU 2: \n", samples.listing(2).split("\n")[1] + "\n", samples.listing(1) + "...\n"])
def test_a_list_with_something_left_out_has_no_count(text):
    assert is_unknown(collect(samples.run("-L", stdout=text), count=0)["detection"]["accelerators"])


@pytest.mark.parametrize("answer", [{"hang": True}, {"denied": True}, {"rc": 255, "stdout": "Failed to initialize NVML: Unknown Error\n"}, {"missing": True}])
def test_where_nothing_more_will_be_told_nothing_more_is_asked(answer):
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", **answer), samples.run("-L", stdout=samples.listing(2))))
    assert [name for name, _status in asked(section)] == ["NVML", "nvidia-smi -q -x"] and section["detection"]["state"] == "unavailable"


def test_a_call_that_hangs_is_the_last():
    section = collect(samples.run("-q", hang=True), samples.run("-L", stdout=samples.listing(2)))
    assert asked(section)[-1] == ("nvidia-smi -q", "timeout") and section["detection"]["state"] == "unavailable"
    assert "SIGSEGV" in section["detection"]["reason"]


def test_a_name_of_errors_is_a_broken_card():
    devices = collect(samples.run(stdout=table(row(0), row(1, "ERR!", "ERR!", "ERR!"))))["devices"]
    assert devices[1]["health"]["state"] == "failed" and is_unknown(devices[1]["name"]) and is_unknown(devices[0]["health"])


def test_a_limit_of_a_container_is_not_the_memory():
    text = "[HAMI-core Msg(1:2:libvgpu.c:1)]: Initializing.....\n"
    for command in (samples.run("-q", stdout=text + log(card(0))), samples.run(stdout=text + table(row(0))), samples.run(stdout=table(row(0)) + text)):
        assert "HAMi-core" in why(collect(command, count=1)["devices"][0]["memory_mib"])
    assert "HAMi-core" in why(nvidia.collect(samples.machine(samples.xml(text + samples.log(samples.gpu(0)))))["devices"][0]["memory_mib"])


def test_garbage_never_raises_and_a_fault_is_never_healthy():
    chance = random.Random(20261129)
    good = {"-q": log(card(0, pending="Yes"), card(1)), "": table(row(0), row(1)), "-L": samples.listing(2)}
    for _turn in range(200):
        commands = []
        for words, text in good.items():
            letters = list(text)
            for _change in range(chance.randint(1, 6)):
                start = chance.randrange(len(letters) + 1)
                end = min(len(letters), start + chance.choice((1, 1, 5, 40, 400)))
                letters[start:end] = chance.choice(([], list("|"), list("N/A"), [chr(chance.randrange(1, 0x2FF))], letters[start:end] * 2))
            if chance.random() < 0.7:
                commands.append(samples.run(*words.split(), stdout="".join(letters)))
        section = collect(*commands)
        for device in section["devices"]:
            if device["identity"]["pci"]["value"] == "0000:18:00.0" and section["detection"]["state"] == "ok" and "-q instead" in section["note"]:
                text = next(c["stdout"] for c in commands if c["argv"] == ["nvidia-smi", "-q"])
                assert device["row_remap"]["pending"] is not False or "Pending                           : Yes" not in text
