# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.cambricon: both layouts of cnmon, cnmon info, and tools that do not answer."""

from __future__ import annotations

import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown
from cambricon_samples import ADDRESSES, EDGE, host, info, on_bus, read, table, two, verdict


def test_a_good_node():
    files = {"/dev": {"dir": ["cambricon_ctl", "cambricon_gdr", *("cambricon_%s%d" % (kind, n) for kind in ("dev", "ipcm") for n in range(2))]}}
    files.update({"/sys/module": {"dir": ["cambricon_drv"]}, "/sys/module/cambricon_drv/version": "5.10.22\n"})
    files["/usr/local/neuware/version.txt"] = "Neuware Version 3.15.0\n"
    section = read(two(), files, on_bus(ADDRESSES[:2]))
    assert verdict(section) == ("ok", 2)
    assert section["detection"]["detail"] == "MLU370-X8 x2"
    assert "no cross-check" in section["detection"]["host"]["not_applicable"]
    device = section["devices"][1]
    assert (device["id"], device["name"], device["memory_mib"], device["memory_used_mib"]) == ("cambricon:1", "MLU370-X8", 20638, 512)
    assert device["identity"]["uuid"] == {"value": "2a000001-0000-0000-0000-00000000c0de", "quality": "good"}
    assert (device["identity"]["serial"]["value"], device["identity"]["pci"]["value"]) == ("502000000001", "0000:2a:00.0")
    assert (device["health"], device["firmware"]) == ({"state": "ok", "detail": "Device: Good, Driver: Running"}, {"mlu": "v1.1.9"})
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["utilization_percent"]) == (44, 81.5, 250, 3)
    assert (device["numa_node"], device["pcie"]["generation_current"], device["pcie"]["generation_max"], device["pcie"]["width_current"]) == (1, 4, 4, 16)
    assert (device["ecc"]["mode"], device["ecc"]["uncorrected_volatile"], device["processes"]) == ("enabled", 0, 0)
    assert (device["device_nodes"], device["extra"]["compute_mode"]) == (["/dev/cambricon_dev1"], "Default")
    driver = section["driver"]
    assert [driver[key] for key in ("version", "module_version", "tool_version", "runtime_version")] == ["v5.10.22", "5.10.22", "v5.10.29", "3.15.0"]
    assert [source["source"] for source in section["sources"]] == ["cnmon info", "cnmon", "libcndev"]


def test_virtual_memory_of_the_old_layout_is_not_the_cards():
    section = read({"info": info([0], health=None), "": table([{"index": 0, "ecc": "N/A"}], old=True)}, pci=on_bus(ADDRESSES[:1]))
    device = section["devices"][0]
    assert (verdict(section), device["memory_mib"], device["extra"]["inited"], section["driver"]["version"]) == (("ok", 1), 20638, "On", "v4.20.9")
    assert device["identity"]["pci"]["value"] == "0000:1a:00.0"  # from cnmon info, because such a card is on PCI
    assert is_unknown(device["health"])
    assert is_unknown(read({"info": info([0]), "": table([{"index": 0}], old=True)})["devices"][0]["identity"]["pci"]["value"])


@pytest.mark.parametrize(
    ("health", "state"),
    [
        (("Good", "Running"), "ok"),
        (("In Problem", "Running"), "failed"),
        (("Good", "Boot error"), "failed"),
        (("Good", "Resetting"), "degraded"),
        (("Good", "Unknown"), None),
        (("N/A", "Running"), None),
        (("-", "-"), None),
        (("N/A", "Reset error"), "failed"),
    ],
)
def test_health(health, state):
    told = read({"info": info([0], health), "": table([{"index": 0}])})["devices"][0]["health"]
    assert told["state"] == state if state else is_unknown(told)


def test_a_card_that_is_not_initialized_is_failed():
    text = table([{"index": 0}], old=True).replace("| On ", "|Off ").replace("         On ", "        Off ")
    assert read({"info": info([0], None), "": text})["devices"][0]["health"] == {"state": "failed", "detail": "Inited: Off"}


def test_ecc_off_says_so_on_an_mlu370_only():
    ecc = read(two(ecc="N/A"))["devices"][0]["ecc"]
    assert (ecc["mode"], is_not_applicable(ecc["uncorrected_volatile"])) == ("disabled", True)
    edge = table([{"index": 0, "ecc": "N/A", "name": "MLU220-M2", "draw": "3.70 W", "cap": "8.25 W"}], old=True, name="MLU220-M2", tool="1.16.0")
    device = read({"info": {"rc": 1, "stderr": "unknown command"}, "": edge})["devices"][0]
    assert (is_unknown(device["ecc"]), device["power_w"]["draw"], device["power_w"]["limit"]) == (True, 3.7, 8.25)


def test_ecc_counts():
    device = read({"info": info([0]), "": table([{"index": 0, "ecc": "5"}])})["devices"][0]
    assert (device["extra"]["ecc_errors"], is_unknown(device["ecc"]["uncorrected_volatile"])) == (5, True)  # of which kind is not told
    said = info(
        [0], ECC_Error={"Corrected Error": 3, "Uncorrected Error": 2}, Remapped_Rows={"Correct Rows": 1, "Uncorrect Rows": 0, "Pending": "Yes", "Failed": "No"}
    )
    device = read({"info": said, "": table([{"index": 0, "ecc": "5"}])})["devices"][0]
    assert (device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"], device["ecc"]["mode"]) == (3, 2, "enabled")
    assert device["row_remap"] == {"corrected": 1, "uncorrected": 0, "pending": True, "failed": False}


def test_modes_and_processes():
    commands = {"info": info([0, 1]), "": table([{"index": 0, "modes": "On    Exclusive"}, {"index": 1}], processes=[(1, 4711), (1, 4712)])}
    first, second = read(commands)["devices"]
    assert (first["extra"]["compute_mode"], first["partition"]["mode"], first["partition"]["enabled"]) == ("Exclusive", "sriov", True)
    assert is_not_applicable(second["partition"]["enabled"])
    assert (first["processes"], second["processes"]) == (0, 2)
    odd = table([{"index": 0}]).replace("No running processes found", "...")
    assert is_unknown(read({"info": info([0]), "": odd})["devices"][0]["processes"])


def test_a_virtual_function_is_no_package():
    section = read({"info": info([0]), "": table([{"index": 0}, {"index": 0, "vf": "1", "middle": "0000:1A:00.1"}])}, pci=on_bus(ADDRESSES[:1]))
    assert (verdict(section), [d["id"] for d in section["devices"]]) == (("ok", 1), ["cambricon:0", "cambricon:0/vf:1"])
    assert (section["devices"][1]["kind"], section["devices"][1]["parent"]) == ("virtual_function", "cambricon:0")


def test_unknown_values_are_never_numbers():
    device = read({"": table([{"index": 0, "temp": "N/A", "draw": "N/A", "cap": "N/A", "used": "-", "total": "N/A", "use": "N/A"}])})["devices"][0]
    for value in (device["temperature_c"]["core"], *device["power_w"].values(), device["memory_mib"], device["memory_used_mib"], device["utilization_percent"]):
        assert not is_known(value)
    assert is_unknown(read({"": table([{"index": 0, "temp": "999C", "total": "0 MiB"}])})["devices"][0]["memory_mib"])


def test_fewer_than_pci():
    section = read({"info": info([0, 1]), "": table([{"index": 0}, {"index": 1}])}, pci=on_bus(ADDRESSES[:3]))
    assert verdict(section) == ("unavailable", 2)
    assert ADDRESSES[2] in section["detection"]["reason"]


def test_two_lists_that_differ():
    section = read({"info": info([0]), "": table([{"index": 0}, {"index": 1}])}, pci=on_bus(ADDRESSES[:2]))
    assert verdict(section) == ("unavailable", "?")
    assert (len(section["devices"]), is_known(section["devices"][1]["memory_mib"])) == (2, True)


def test_cnmon_info_alone_counts_only_where_pci_says_the_same():
    assert verdict(read({"info": info([0, 1]), "": {"stdout": "", "rc": 0}}, pci=on_bus(ADDRESSES[:2]))) == ("ok", 2)
    assert verdict(read({"info": info([0, 1]), "": {"stdout": "", "rc": 0}}, pci=on_bus(ADDRESSES[:1]))) == ("unavailable", "?")


def test_the_tool_says_none():
    none = {"info": "No MLU devices found\n", "": "No MLU devices found\n"}
    assert verdict(read(none)) == ("not-declared", 0)
    assert verdict(read(none, pci=on_bus(ADDRESSES[:1]))) == ("unavailable", 0)
    section = read(none, {"/dev": {"dir": ["cambricon_dev0"]}})
    assert (verdict(section), section["detection"]["reason"]) == (("unavailable", "?"), "cnmon says none, yet the node has /dev/cambricon_dev0")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"missing": True}, "no such program"),
        ({"hang": True}, "timeout"),
        ({"denied": True}, "denied"),
        ({"stdout": ""}, "printed nothing"),
        ({"stdout": "", "signal": 11}, "signaled"),
        ({"stdout": "\x00\x01 ||| garbage\n"}, "no card"),
        ({"stdout": "", "stderr": "cnmon: symbol lookup error: cnmon: undefined symbol: cndevGetFoo_v2\n", "rc": 127}, "cndevGetFoo_v2"),
        ({"stdout": "", "stderr": "cnmon: error while loading shared libraries: libcndev.so: cannot open shared object file\n", "rc": 127}, "libcndev.so"),
        ({"stdout": "No MLU devices found\n", "stderr": "undefined symbol: cndevInitX\n"}, "cndevInitX"),
        ({"stdout": "", "stderr": "Failed to open driver\n", "rc": 1}, "Failed to open driver"),
    ],
)
def test_a_tool_that_does_not_answer(answer, words):
    section = read({"info": answer, "": answer}, pci=on_bus(ADDRESSES[:2]))
    assert verdict(section) == ("unavailable", "?")
    assert words in section["detection"]["reason"]
    assert "PCI shows 2" in section["detection"]["reason"]
    bare = read({"info": answer, "": answer})
    assert bare["detection"]["state"] == ("not-declared" if "missing" in answer else "unavailable")
    assert read({"info": answer, "": answer}, {"/dev": {"dir": ["cambricon_ctl"]}})["detection"]["state"] == "unavailable"


def test_a_tool_that_hung_or_is_missing_is_asked_once():
    for answer in ({"hang": True}, {"missing": True}, {"denied": True}):
        assert len(read({"info": answer, "": answer})["sources"]) == 1


def test_busy_is_asked_once_more():
    busy = {"stdout": "", "stderr": "device busy\n", "rc": 15}
    section = read({"info": [busy, info([0])], "": table([{"index": 0}])}, pci=on_bus(ADDRESSES[:1]))
    assert (verdict(section), len(section["sources"])) == (("ok", 1), 4)
    section = read({"info": [busy, busy], "": [busy, busy]}, pci=on_bus(ADDRESSES[:1]))
    assert (verdict(section), len(section["sources"])) == (("unavailable", "?"), 4)
    assert "busy" in section["detection"]["reason"]


def test_an_exit_status_with_a_whole_table_is_still_told():
    section = read({"info": info([0]), "": {"stdout": table([{"index": 0}]), "rc": 3, "stderr": "card 1: lost\n"}}, pci=on_bus(ADDRESSES[:1]))
    assert (verdict(section), len(section["devices"])) == (("unavailable", "?"), 1)
    assert "card 1: lost" in section["detection"]["reason"]


def test_pci_that_cannot_be_read():
    section = cambricon.collect(host({"info": {"missing": True}}, {"/sys/bus/pci/devices": {"error": "EACCES"}}))
    assert section["detection"]["state"] == "unavailable"


def test_rows_left_out_and_cut_tables():
    whole = table([{"index": n} for n in range(4)])
    lines = whole.splitlines()
    start = lines.index(EDGE.replace("-", "=")) + 1
    for cut in ([*lines[: start + 3], "...", *lines[start + 9 :]], lines[: start + 4], lines[: start + 5], lines[: start + 4] + lines[start + 5 :]):
        section = read({"info": info(range(4)), "": "\n".join(cut)}, pci=on_bus(ADDRESSES[:4]))
        assert verdict(section) == ("unavailable", "?")


def test_garbled_output_never_raises_and_never_shrinks():
    chance = random.Random(20261129)
    texts = (info(range(3)), table([{"index": n} for n in range(3)]))
    pci = on_bus(ADDRESSES[:3])
    for _turn in range(150):
        garbled = []
        for text in texts:
            start, length = chance.randrange(len(text)), chance.randrange(200)
            filler = chance.choice(["", "\0", "|||", "N/A", "é" * 7, "\n\n", "Card 1\n", ": : :", "9" * 400])
            garbled.append(text[:start] + filler + text[start + length :])
        section = read({"info": garbled[0], "": garbled[1]}, pci=pci)
        packages = [device for device in section["devices"] if device["kind"] == "package"]
        assert section["detection"]["state"] != "not-declared"
        assert section["detection"]["state"] == "unavailable" or len(packages) >= 3


def test_a_function_that_is_no_number_is_the_card():
    section = read({"": table([{"index": 0, "vf": "N/A"}, {"index": 1, "vf": "ERR!"}])}, pci=on_bus(ADDRESSES[:2]))
    assert (verdict(section), [d["kind"] for d in section["devices"]]) == (("ok", 2), ["package", "package"])


def test_not_told_whether_it_is_initialized_is_no_fault():
    text = table([{"index": 0}], old=True)
    assert is_unknown(read({"": text.replace("On   ", "N/A  ")}, pci=on_bus(ADDRESSES[:1]))["devices"][0]["health"])
    assert read({"": text.replace("On   ", "Off  ")}, pci=on_bus(ADDRESSES[:1]))["devices"][0]["health"]["state"] == "failed"


def test_a_card_that_tells_nothing_is_unknown_and_not_without():
    lost = {"use": "N/A", "temp": "N/A", "draw": "N/A", "cap": "N/A", "used": "N/A", "total": "N/A"}
    device = read({"": table([{"index": 0}, dict(lost, index=1)])}, pci=on_bus(ADDRESSES[:2]))["devices"][1]
    values = [device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["memory_mib"], device["utilization_percent"]]
    assert all(map(is_unknown, values))
