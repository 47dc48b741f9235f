# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.thead: the log and the table of ppu-smi, MIG, drained cards, and tools that do not answer."""

from __future__ import annotations

import json
import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown, not_applicable, why
from thead_samples import ADDRESSES, commands_of, links, log, on_bus, read, table


def test_a_good_node():
    files = {"/sys/module/alixpu/version": "2.1.4\n", "/sys/module/alixpu": {"exists": True}}
    section = read(commands_of(), files, on_bus(range(4)))
    detection = section["detection"]
    assert (detection["state"], detection["accelerators"], detection["detail"], detection["reason"]) == ("ok", 4, "PPU-ZW810E x4", "")
    assert is_not_applicable(detection["host"])
    assert [source["source"] for source in section["sources"]] == ["ppu-smi -q", "ppu-smi -q -d VERSION", "ppu-smi icn -s"]
    device = section["devices"][3]
    assert (device["id"], device["index"], device["numa_node"], device["memory_mib"], device["memory_used_mib"]) == ("thead:3", 3, 1, 98304, 2)
    assert device["identity"]["uuid"] == {"value": "PPU-00000003-aaaa-bbbb-cccc-00000000d1ce", "quality": "good"}
    assert (device["identity"]["serial"]["quality"], device["identity"]["pci"]["value"]) == ("duplicate", ADDRESSES[3])  # one board, several PPUs
    assert device["temperature_c"] == {
        "core": 33, "memory": 35, "limit_core": 88, "limit_memory": 96, "margin_core": not_applicable("ppu-smi does not tell it"),
    }  # fmt: skip
    assert device["power_w"] == {"draw": 81.25, "limit": 390.0, "limit_default": 400.0}
    ecc = device["ecc"]
    assert (ecc["mode"], ecc["corrected_volatile"], ecc["uncorrected_volatile"], ecc["corrected_aggregate"], ecc["uncorrected_aggregate"]) == (
        "enabled",
        1,
        0,
        7,
        2,
    )
    assert device["row_remap"] == {"corrected": 1, "uncorrected": 0, "pending": False, "failed": False}
    assert device["retired_pages"] == {"corrected": 0, "uncorrected": 0, "pending": False}
    assert (device["pcie"]["generation_max"], device["pcie"]["generation_device_max"], device["pcie"]["width_current"]) == (5, 5, 16)
    assert (device["partition"]["mode"], device["partition"]["enabled"], device["throttle"]["active"], device["processes"]) == ("mig", False, ["idle"], 0)
    assert (device["fabric"]["state"], device["fabric"]["status"], device["recovery_action"]) == ("completed", "success", "none")
    assert (device["persistence"], device["utilization_percent"], device["firmware"]) == (True, 1, {"vbios": "2.1.7"})
    assert device["device_nodes"] == ["/dev/alixpu", "/dev/alixpu_ctl", "/dev/alixpu_ppu3"]
    assert (device["links"]["up"], is_not_applicable(device["links"]["total"])) == (5, True)
    assert device["extra"]["icn_ports"] == {"ports": 7, "active": 5, "inactive": [1, 2]}
    assert section["driver"] == {
        "version": "2.1.4-aa11bb", "module_version": "2.1.4", "library_version": "12.4", "tool_version": "1.30", "runtime": "HGGC", "runtime_version": "13.1",
    }  # fmt: skip


def test_the_table_where_the_log_is_refused():
    cards = [{"index": 0}, {"index": 1, "errors": "3", "mig": "N/A"}]
    listing = "PPU 0: PPU (UUID: GPU-00000000-1)\nPPU 1: PPU (UUID: GPU-11111111-1)\n"
    section = read({"-q": {"stdout": "", "rc": 2, "stderr": "unknown option -q"}, "": table(cards, [(1, 5), (1, 5), (1, 6)]), "-L": listing})
    first, second = section["devices"]
    assert (section["detection"]["state"], section["detection"]["detail"], section["driver"]["tool_version"]) == ("ok", "PPU-ZW810E x2", "1.30")
    assert (second["ecc"]["uncorrected_volatile"], second["processes"], first["processes"], first["partition"]["enabled"]) == (3, 2, 0, False)
    assert (first["power_w"]["draw"], first["power_w"]["limit"], first["temperature_c"]["core"], first["memory_mib"]) == (57, 400, 26, 98304)
    assert (is_unknown(second["partition"]["enabled"]), is_unknown(first["persistence"])) == (True, True)
    assert second["identity"]["uuid"]["value"] == "GPU-11111111-1"
    assert "the table of ppu-smi was read" in section["note"]


def test_mig_devices():
    listing = "PPU 0: PPU (UUID: GPU-0000-1)\nPPU 1: PPU (UUID: GPU-0000-2)\n    MIG g1.c1.i1, Device 0 (UUID: MIG-aaaa-1)\n"
    listing += "    MIG g1.c0.i0, Device 1 (UUID: MIG-aaaa-2f)\n"
    cards = [{"index": 0}, {"index": 1, "mig": "Enabled"}]
    commands = commands_of([0, 1], **{"-L": listing, "": table(cards, instances=[(1, 1, 1, 0, 6, 33618, "0"), (1, 1, 0, 1, 106, 16809, "2")])})
    commands["-q"] = log([0]).replace(": 1\n", ": 2\n", 1) + log([1], MIG_Mode={"Current": "Enabled", "Pending": "Enabled"}).split(": 1\n", 1)[1]
    section = read(commands)
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 2)
    assert [device["id"] for device in section["devices"]] == ["thead:0", "thead:1", "thead:1/mig:0", "thead:1/mig:1"]
    part = section["devices"][3]
    assert (part["kind"], part["parent"], part["memory_mib"], part["memory_used_mib"], part["ecc"]["uncorrected_volatile"]) == (
        "partition",
        "thead:1",
        16809,
        106,
        2,
    )
    assert (part["partition"]["profile"], part["identity"]["uuid"]["value"], part["extra"]) == ("g1.c0.i0", "MIG-aaaa-2f", {"gi": 1, "ci": 0, "cu": "64"})
    assert section["devices"][1]["partition"]["enabled"] is True


def test_what_is_not_told_is_unknown_and_never_zero():
    for word in ("N/A", "[N/A]", "-", "Unknown Error", "ERR!", "xxx", "9" * 40):
        changes = {
            "ECC_Errors": {"Volatile": {"SRAM Uncorrectable": "0", "DRAM Uncorrectable": word}}, "Retired_Pages": {"Double Bit ECC": word},
            "Remapped_Rows": {"Pending": word, "Remapping Failure Occurred": word, "Uncorrectable Error": word}, "Temperature": {"PPU Current Temp": word},
            "Power_Readings": {"Power Draw": word}, "Memory_Usage": {"Total": word}, "Clocks_Throttle_Reasons": {"Idle": word}, "MIG_Mode": {"Current": word},
        }  # fmt: skip
        device = read(commands_of([0], **{"-q": log([0], **changes)}))["devices"][0]
        values = [
            device["ecc"]["uncorrected_volatile"],
            device["retired_pages"]["uncorrected"],
            *(device["row_remap"][key] for key in ("pending", "failed", "uncorrected")),
        ]
        values += [
            device["temperature_c"]["core"],
            device["power_w"]["draw"],
            device["memory_mib"],
            device["throttle"]["active"],
            device["partition"]["enabled"],
        ]
        assert all(map(is_unknown, values)), word
    counted = log([0], ECC_Errors={"Volatile": {"SRAM Uncorrectable": "N/A", "DRAM Uncorrectable": "4"}})
    assert read(commands_of([0], **{"-q": counted}))["devices"][0]["ecc"]["uncorrected_volatile"] == 4


def test_pending_and_failed_and_what_the_card_asks_for():
    text = log([0], Remapped_Rows={"Correctable Error": "3", "Uncorrectable Error": "1", "Pending": "Yes", "Remapping Failure Occurred": "Yes"})
    device = read(commands_of([0], **{"-q": text}))["devices"][0]
    assert device["row_remap"] == {"corrected": 3, "uncorrected": 1, "pending": True, "failed": True}
    asked = read(commands_of([0], **{"-q": log([0], PPU_Recovery_Action="PPU Reset")}))["devices"][0]
    assert (asked["recovery_action"], is_not_applicable(asked["health"]["state"])) == ("ppu_reset", True)
    codes = {"PPU Reset Correctable": "2699", "OS Reboot Correctable": "4224", "Cold Reboot Correctable": "N/A"}
    kept = read(commands_of([0], **{"-q": log([0], Xid_Errors=codes, PPU_Recovery_Action=None)}))["devices"][0]
    assert (kept["recovery_action"], kept["health"]) == ("reboot", {"state": "failed", "detail": "XID 4224: reboot; XID 2699: reset"})
    older = read(commands_of([0], **{"-q": log([0], PPU_Recovery_Action=None)}))["devices"][0]
    assert older["recovery_action"] == "none"
    newer = read(commands_of([0], **{"-q": log([0], PPU_Recovery_Action="N/A")}))["devices"][0]
    assert is_unknown(newer["recovery_action"])


def test_throttle_and_processes():
    reasons = {"Idle": "Not Active", "HW Slowdown": "Active", "HW Thermal Slowdown": "Active", "HW Power Brake Slowdown": "N/A"}
    text = log([0], Clocks_Throttle_Reasons=reasons, Processes={"Process ID": "412"})
    text += "            Type                            : Compute\n        Compute instance ID                 : N/A\n"
    text += "        Process ID                          : 413\n"
    device = read(commands_of([0], **{"-q": text}))["devices"][0]
    assert (device["throttle"]["active"], device["processes"]) == (["hw_slowdown", "hw_thermal_slowdown"], 2)
    silent = read(commands_of([0], **{"-q": log([0], Processes=None)}))["devices"][0]
    assert is_unknown(silent["processes"])
    nested = log([0]).replace("        HW Thermal Slowdown ", "            HW Thermal Slowdown ")
    assert read(commands_of([0], **{"-q": nested}))["devices"][0]["throttle"]["active"] == ["idle"]


def test_the_node_has_the_minor_number_of_the_card():
    device = read(commands_of([0], **{"-q": log([0], Minor_Number="2")}))["devices"][0]
    assert device["device_nodes"][-1] == "/dev/alixpu_ppu2"
    gone = read(commands_of([0], **{"-q": log([0], Minor_Number="9")}))["devices"][0]
    assert (gone["device_nodes"], why(gone["extra"]["device_node"])) == (["/dev/alixpu", "/dev/alixpu_ctl"], "/dev/alixpu_ppu9: not there")


def test_a_drained_card_and_one_that_another_driver_holds():
    drained = read(commands_of([0, 1, 2]), pci=on_bus(range(4)))
    assert (drained["detection"]["state"], drained["detection"]["accelerators"]) == ("unavailable", 3)
    assert ADDRESSES[3] in drained["detection"]["reason"]
    assert "drained" in drained["note"]
    held = read(commands_of([0, 1, 2]), pci=[*on_bus(range(3)), *on_bus([3], driver="vfio-pci")])
    assert held["note"] == "%s is bound to vfio-pci" % ADDRESSES[3]
    none = read({"-q": "No devices were found\n"}, pci=on_bus([0]))["detection"]
    assert (none["state"], ADDRESSES[0] in none["reason"]) == ("unavailable", True)


NOT_LOADED = "[ALINPU WARNING]: [../ppu_interface.cpp:111]Failed to open /dev/alixpu\ninit HGML error: driver is not loaded\n"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"hang": True}, "timeout"),
        ({"missing": True}, "no such program"),
        ({"denied": True}, "denied"),
        ({"signal": "SIGSEGV"}, "signaled"),
        ({"stdout": ""}, "printed nothing"),
        ({"stdout": "", "rc": 127, "stderr": "ppu-smi: symbol lookup error: /usr/lib/libhgml.so: undefined symbol: hgmlDeviceGetFoo"}, "hgmlDeviceGetFoo"),
        ({"stdout": NOT_LOADED}, "Failed to open /dev/alixpu"),
        ({"stdout": "Segmentation fault\n"}, "no log"),
    ],
)
def test_no_answer_is_never_a_count(answer, words):
    for bus in (on_bus(range(4)), {"unknown": "PCI: denied"}):
        section = read({"-q": answer, "": answer}, pci=bus)
        assert section["detection"]["state"] == "unavailable"
        assert is_unknown(section["detection"]["accelerators"])
        assert words in section["detection"]["reason"]
        assert section["devices"] == []


def test_nothing_there():
    gone, clean = {"-q": {"missing": True}}, {"/dev": {"dir": ["null"]}}
    assert read(gone, clean)["detection"]["state"] == "not-declared"
    assert read(gone)["detection"]["state"] == "unavailable"  # its device nodes are there
    assert read(gone, clean, {"unknown": "PCI: denied"})["detection"]["state"] == "unavailable"
    none = {"-q": "No devices were found\n"}
    assert read(none, clean)["detection"]["state"] == "not-declared"
    assert read(none)["detection"]["state"] == "unavailable"
    assert read(none, clean, {"unknown": "PCI: denied"})["detection"]["state"] == "unavailable"


def test_answers_that_do_not_fit_have_no_count():
    twice = table([{"index": 0}, {"index": 0, "bus": "0000" + ADDRESSES[1]}])
    cut = table([{"index": 0}, {"index": 1}])
    for commands in (
        {"-q": log([0, 1], attached=3)},
        {"-q": log([0, 1]).replace("Attached PPUs", "Attached")},
        {"-q": {"stdout": log([0]), "rc": 1, "stderr": "error"}},
        {"-q": "", "": twice},
        {"-q": "", "": cut[: cut.index("| 1  PPU") + 60]},
        {"-q": "", "": cut.replace("00000000:1A", "0000??")},
    ):
        detection = read(commands)["detection"]
        assert (detection["state"], is_unknown(detection["accelerators"])) == ("unavailable", True), commands


def test_after_a_hang_nothing_is_asked():
    section = read(commands_of([0], **{"-q -d VERSION": {"hang": True}}))
    assert [source["source"] for source in section["sources"]] == ["ppu-smi -q", "ppu-smi -q -d VERSION"]
    assert (section["detection"]["state"], is_unknown(section["devices"][0]["links"])) == ("ok", True)


def test_without_the_sdk_there_is_no_runtime():
    text = log([0]).replace("HGGC Version                                : 13.1", "HGGC Version                                : N/A")
    commands = {"-q": text}
    assert is_not_applicable(read(commands, {"/usr/local": {"dir": ["bin"]}})["driver"]["runtime_version"])
    assert is_unknown(read(commands)["driver"]["runtime_version"])
    sdk = {"/usr/local/PPU_SDK/VERSION.txt": "sdk_version:2.1.4\nhggcrt_version:3.2.1\n"}
    assert read(commands, sdk)["driver"]["runtime_version"] == "3.2.1"


def test_garbled_outputs_never_raise_and_never_shrink_to_ok():
    chance = random.Random(13)
    good, bus = (
        commands_of(range(3), **{"": table([{"index": n} for n in range(3)], instances=[(0, 1, 1, 0, 6, 100, "0")]), "-L": links(range(3))}),
        on_bus(range(3)),
    )
    for round_ in range(300):
        commands = dict(good)
        if round_ % 3 == 0:
            commands["-q"] = ""
        for name in chance.sample(sorted(commands), 3):
            text = list(commands[name])
            for _change in range(chance.randint(1, 30)):
                place = chance.randrange(len(text) or 1)
                text[place : place + chance.randint(1, 60)] = chance.choice([[], ["|"], ["\n"], ["-"], ["9" * 30], ["\ufffd"], ["PPU 1"], [":"], ["Enabled"]])
            commands[name] = "".join(text)
        section = read(commands, pci=bus)
        json.dumps(section)
        if section["detection"]["state"] == "ok":
            assert section["detection"]["accelerators"] == 3
        assert len({device["id"] for device in section["devices"]}) == len(section["devices"])
