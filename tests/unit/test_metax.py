# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.metax: tables of both layouts, lists, JSON, the sister brand, sGPUs, and tools that do not answer."""

from __future__ import annotations

import json
import random

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why
from metax_samples import ADDRESSES, COMBINED, REASONS, SECTIONS, commands_of, document, listing, log, on_bus, read, table


def test_a_good_node():
    files = {"/sys/module/metax/version": "3.9.4\n", "/sys/module/metax": {"exists": True}, "/opt/maca/Version.txt": "Version:3.8.0.9\n"}
    for address in ADDRESSES:
        files["/sys/bus/pci/devices/%s" % address] = {"dir": ["drm", "vendor"]}
        files["/sys/bus/pci/devices/%s/drm" % address] = {
            "dir": ["card%d" % ADDRESSES.index(address), "renderD%d" % (128 + ADDRESSES.index(address)), "controlD1"]
        }
    section = read(commands_of(), files, on_bus(range(8)))
    detection = section["detection"]
    assert (detection["state"], detection["accelerators"], detection["detail"], detection["reason"]) == ("ok", 8, "MetaX C500 x8", "")
    assert is_not_applicable(detection["host"])
    assert [source["source"] for source in section["sources"]] == ["mx-smi", "mx-smi -L", "mx-smi -j", "mx-smi " + COMBINED, "mx-smi topo -m"]
    device = section["devices"][5]
    assert (device["id"], device["index"], device["name"], device["numa_node"], device["processes"]) == ("metax:5", 5, "MetaX C500", 1, 0)
    assert device["identity"]["uuid"] == {"value": "GPU-00000006-aaaa-bbbb-cccc-00000000d1ce", "quality": "good"}
    assert (device["identity"]["serial"]["value"], device["identity"]["serial"]["quality"]) == ("QZZZ1234", "duplicate")
    assert (device["memory_mib"], device["memory_used_mib"], device["utilization_percent"], device["persistence"]) == (65536, 900, 3, True)
    assert (device["health"], device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"]) == (
        {"state": "ok", "detail": ""},
        41.25,
        61,
        350,
    )
    ecc = device["ecc"]
    assert (ecc["mode"], ecc["corrected_volatile"], ecc["uncorrected_volatile"], device["retired_pages"]["uncorrected"]) == ("enabled", 0, 0, 0)
    assert (device["pcie"]["generation_max"], device["pcie"]["width_current"], device["throttle"]) == (5, 16, {"active": []})
    assert (device["partition"]["mode"], device["partition"]["enabled"]) == ("sgpu", False)
    assert device["firmware"] == {"smp0": "1.34.2.0", "ccx0": "1.33.9.0", "vbios": "1.34.2.0"}
    assert device["device_nodes"] == ["/dev/mxcd", "/dev/mxnd", "/dev/mxgd", "/dev/dri/card5", "/dev/dri/renderD133"]
    assert device["extra"]["topology"] == {"MX": 3, "NODE": 4}
    assert device["extra"]["sgpu_registry"] == {"present": False, "subdevices": []}
    assert is_not_applicable(device["links"])
    driver = section["driver"]
    assert [driver[key] for key in ("version", "module_version", "tool_version", "runtime", "runtime_version")] == [
        "3.9.4",
        "3.9.4",
        "2.3.7",
        "MACA",
        "3.8.0.9",
    ]


def test_the_older_table_has_other_columns():
    device = read({"": table([{"index": 0}], old=True, processes=[(0, 77), (0, 78), (0, 78)])})["devices"][0]
    assert (device["name"], device["temperature_c"]["core"], device["power_w"], device["processes"]) == (
        "MetaX C500", 41, {"draw": 61, "limit": 350, "limit_default": {"not_applicable": "mx-smi does not tell it"}}, 2,
    )  # fmt: skip
    assert (device["memory_mib"], device["health"]["state"], is_unknown(device["persistence"]), is_unknown(device["partition"]["enabled"])) == (
        65536,
        "ok",
        True,
        True,
    )


def test_the_sister_brand():
    text = table([{"index": 0, "name": "Mars X201"}], brand=("ht-smi", "HT-SMI", "HPCC")).replace("MetaX System", "Mars System")
    section = read({"": text}, {"/opt/hpcc/Version.txt": "3.8.0.9\n"}, program="ht-smi")
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "Mars X201 x1")
    assert (section["driver"]["runtime"], section["driver"]["runtime_version"], section["driver"]["version"]) == ("HPCC", "3.8.0.9", "3.9.4")
    assert [source["source"] for source in section["sources"]][:2] == ["mx-smi", "ht-smi"]


def test_the_tool_of_another_manufacturer_is_refused():
    text = "╭─────╮\n│MOFFETT-SMI 2.3.0         Driver Version 3.5.2         SOLA Version 3.5.3         │\n│Card1  S30  700MHz │\n"
    nothing = read({"": text}, {"/dev": {"dir": []}})
    assert (nothing["detection"]["state"], nothing["devices"], len(nothing["sources"])) == ("not-declared", [], 1)
    both = read({"": text}, pci=on_bus([0]))["detection"]
    assert (both["state"], is_unknown(both["accelerators"])) == ("unavailable", True)
    assert "Moffett" in both["reason"]


def test_listed_and_not_available_counts_and_is_not_healthy():
    section = read(commands_of([0], **{"-L": listing(range(8), gone=range(1, 8))}), pci=on_bus(range(8)))
    detection = section["detection"]
    assert (detection["state"], detection["accelerators"], len(section["devices"])) == ("unavailable", 8, 8)
    assert detection["reason"].startswith("7 of 8 are not available: GPU 1: Not Available(MetaX Sysfs File Unaccessible)")
    assert [device["health"]["state"] for device in section["devices"]] == ["ok"] + ["failed"] * 7
    assert is_unknown(section["devices"][3]["memory_mib"])


def test_a_reason_in_the_json_and_words_that_are_not_known():
    section = read(commands_of([0], **{"-j": document([0], unavailable_reason="firmware boot failed")}))
    assert section["devices"][0]["health"] == {"state": "failed", "detail": "firmware boot failed"}
    assert section["detection"]["state"] == "unavailable"
    strange = read({"": table([{"index": 0, "state": "Resetting"}])})["devices"][0]
    assert is_unknown(strange["health"]["state"])
    assert is_unknown(read({"-j": document([0])})["devices"][0]["health"]["state"])


def test_sgpus_are_partitions():
    infos = [{"minor": 4, "sgpu_id": 2, "compute_quota": 30, "vram_quota": 12800, "vram_used": "0", "utilization": "7%"}]
    files = {
        "/sys/bus/pci/devices/%s" % ADDRESSES[0]: {"dir": ["sgpu"]},
        "/sys/bus/pci/devices/%s/sgpu" % ADDRESSES[0]: {"dir": ["create", "sgpu2", "sched_class"]},
    }
    section = read(commands_of([0], **{"-L": listing([0], slices=[2]), "-j": document([0], sgpu_info=infos, sgpu_count=1)}), files)
    package, part = section["devices"]
    assert (section["detection"]["accelerators"], package["partition"]["enabled"], package["extra"]["sgpu_count"]) == (1, True, 1)
    assert package["extra"]["sgpu_registry"] == {"present": True, "subdevices": ["sgpu2"]}
    assert (part["id"], part["kind"], part["parent"], part["memory_mib"], part["memory_used_mib"]) == ("metax:0/sgpu:2", "partition", "metax:0", 12800, 0)
    assert (part["partition"]["profile"], part["utilization_percent"], part["identity"]["uuid"]["quality"]) == ("30%", 7, "good")
    by_list = read(commands_of([0], **{"-L": listing([0], slices=[2]), "-j": ""}))["devices"][1]
    assert (by_list["memory_mib"], by_list["partition"]["profile"], is_unknown(by_list["memory_used_mib"])) == (12800, "30%", True)


def test_the_registry_that_cannot_be_listed_is_not_empty():
    path = "/sys/bus/pci/devices/%s" % ADDRESSES[0]
    denied = read(commands_of([0]), {path: {"dir": ["sgpu"]}, path + "/sgpu": {"error": "EACCES"}})["devices"][0]["extra"]["sgpu_registry"]
    assert "denied" in why(denied)
    assert is_unknown(read(commands_of([0]))["devices"][0]["extra"]["sgpu_registry"])


def test_errors_are_counted_by_the_worse_of_two_counts():
    ras = {"uncorrected_error": {"MCCTL0": 2, "DHUB": {"a": "1"}}, "corrected_error": {"PCIE": "x"}}
    device = read(commands_of([0], **{"-j": document([0], ras_count=ras)}))["devices"][0]
    assert device["ecc"]["uncorrected_volatile"] == 3
    assert is_unknown(device["ecc"]["corrected_volatile"])
    more = dict(
        SECTIONS, **{"ECC Errors": {"SRAM Correctable": "4", "SRAM Uncorrectable": "0", "DRAM Uncorrectable": "5"}, "Retired Pages": {"Double Bit ECC": "70"}}
    )
    device = read(commands_of([0], **{COMBINED: log([0], more)}))["devices"][0]
    assert (device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"], device["retired_pages"]["uncorrected"]) == (4, 5, 70)
    for text in ("N/A", "-", "", "xxx", "-1", "9" * 40):
        odd = dict(SECTIONS, **{"Retired Pages": {"Double Bit ECC": text}, "Ecc state": {"state": text}})
        device = read(commands_of([0], **{COMBINED: log([0], odd), "-j": ""}))["devices"][0]
        assert is_unknown(device["retired_pages"]["uncorrected"])
        assert is_unknown(device["ecc"]["mode"])
        assert is_unknown(device["ecc"]["uncorrected_volatile"])


def test_throttle_reasons_in_the_words_of_the_rules():
    reasons = {"Idle": "Active", "Chip Over Temperature": "Active", "Hbm Over Temperature": "Active", "Power Brake": "Active", "Didt": "Not Active"}
    device = read(commands_of([0], **{COMBINED: log([0], dict(SECTIONS, **{"Xcore Clocks Throttle Reason": reasons}))}))["devices"][0]
    assert device["throttle"]["active"] == ["hw_power_brake_slowdown", "hw_thermal_slowdown", "idle"]
    assert device["extra"]["throttle_reasons"] == ["chip_over_temperature", "hbm_over_temperature", "idle", "power_brake"]
    odd = read(commands_of([0], **{COMBINED: log([0], dict(SECTIONS, **{"Xcore Clocks Throttle Reason": dict(REASONS, Idle="N/A")}))}))["devices"][0]
    assert is_unknown(odd["throttle"]["active"])


def test_options_that_are_refused_together_are_asked_alone():
    refused = {
        "stdout": "PARSE ERROR: Argument: --show-clk-tr\n             Couldn't find match for argument\n\nBrief USAGE: \n   mx-smi  [-hjLrsvy]\n",
        "rc": 1,
    }
    commands = commands_of([0, 1], **{COMBINED: refused, "--show-clk-tr": refused, "--count-ecc": log([0, 1], {"Retired Pages": {"Double Bit ECC": "3"}})})
    commands["--show-hwinfo"] = log([0, 1], {"Hardware Info": SECTIONS["Hardware Info"]})
    section = read(commands)
    assert section["detection"]["state"] == "ok"
    device = section["devices"][1]
    assert (device["retired_pages"]["uncorrected"], device["identity"]["serial"]["value"]) == (3, "QZZZ1234")
    assert is_unknown(device["throttle"]["active"])
    only = log([0, 1], {"ECC Errors": {"SRAM Correctable": "0"}, "Retired Pages": {"Double Bit ECC": "1"}})
    commands = commands_of([0, 1], **{COMBINED: only, "--show-ecc-state": log([0, 1], {"Ecc state": {"state": "Disable"}})})
    section = read(commands)
    assert (section["devices"][0]["ecc"]["mode"], section["devices"][0]["retired_pages"]["uncorrected"]) == ("disabled", 1)
    assert "mx-smi --count-ecc" not in [source["source"] for source in section["sources"]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"hang": True}, "timeout"),
        ({"missing": True}, "no such program"),
        ({"denied": True}, "denied"),
        ({"signal": "SIGSEGV"}, "signaled"),
        ({"stdout": ""}, "printed nothing"),
        (
            {"stdout": "", "rc": 127, "stderr": "mx-smi: symbol lookup error: /opt/mxdriver/lib/libmxsml.so: undefined symbol: mxSmlGetNumaNode"},
            "mxSmlGetNumaNode",
        ),
        ({"stdout": "Segmentation fault\n"}, "not a table of MetaX"),
        ({"stdout": table([])[:900], "rc": 0}, "no table"),
        ({"stdout": "mx-smi  version: 2.3.7\nPermission denied\n", "rc": 1}, "no table"),
    ],
)
def test_no_answer_is_never_a_count(answer, words):
    if answer.get("stdout", "").startswith("mx-smi  version: 2.3.7\n\n"):
        answer = {"stdout": answer["stdout"].replace("Attached GPUs                                     : 0", "")}
    for bus in (on_bus(range(8)), {"unknown": "PCI: denied"}):
        section = read({"": answer, "-L": answer, "-j": answer}, pci=bus)
        assert section["detection"]["state"] == "unavailable"
        assert is_unknown(section["detection"]["accelerators"])
        assert words in section["detection"]["reason"]
        assert section["devices"] == []


def test_nothing_there():
    gone = {"missing": True}
    clean = {"/dev": {"dir": ["null"]}}
    assert read({"": gone}, clean)["detection"]["state"] == "not-declared"
    assert read({"": gone})["detection"]["state"] == "unavailable"  # its device nodes are there
    assert read({"": gone}, dict(clean, **{"/sys/module/metax": {"exists": True}, "/sys/module/metax/version": "1\n"}))["detection"]["state"] == "unavailable"
    assert read({"": gone}, clean, {"unknown": "PCI: denied"})["detection"]["state"] == "unavailable"
    none = {"": table([]), "-L": "mx-smi  version: 2.3.7\n", "-j": document([])}
    assert read(none, clean)["detection"]["state"] == "not-declared"
    assert read(none, clean, on_bus([0]))["detection"]["state"] == "unavailable"


def test_fewer_than_pci_and_answers_that_differ():
    seven = [n for n in range(8) if n != 3]
    detection = read(commands_of(seven), pci=on_bus(range(8)))["detection"]
    assert (detection["state"], detection["accelerators"]) == ("unavailable", 7)
    assert ADDRESSES[3] in detection["reason"]
    section = read(commands_of(range(8), **{"": table([{"index": n} for n in seven])}), pci=on_bus(range(8)))
    assert (section["detection"]["state"], [device["index"] for device in section["devices"]]) == ("ok", list(range(8)))
    for changed in (
        {"": table([{"index": 0}, {"index": 1}], attached=3)},
        {"": table([{"index": 0}, {"index": 1, "bdf": ADDRESSES[0]}])},
        {"": table([{"index": 0, "bdf": "0000:??:00.0"}, {"index": 1}])},
        {"-L": listing([0, 1]).replace("0000:21:00.0", "00000")},
        {"-j": document([0, 1]).replace('"attached_gpus": 2', '"attached_gpus": 3')},
        {"-j": document([0, 1])[:-40]},
    ):
        detection = read(commands_of([0, 1], **changed))["detection"]
        assert (detection["state"], is_unknown(detection["accelerators"])) == ("unavailable", True), changed
    failing = read(commands_of([0], **{"": {"stdout": table([{"index": 0}]), "rc": 3, "stderr": "ioctl failure"}}))["detection"]
    assert (failing["state"], "ioctl failure" in failing["reason"]) == ("unavailable", True)


def test_after_a_hang_nothing_is_asked():
    section = read(commands_of([0], **{"-j": {"hang": True}}))
    assert section["detection"]["state"] == "ok"
    assert [source["source"] for source in section["sources"]] == ["mx-smi", "mx-smi -L", "mx-smi -j"]
    assert is_unknown(section["devices"][0]["retired_pages"]["uncorrected"])


def test_a_busy_tool_is_asked_a_second_time():
    busy = {"stdout": "", "stderr": "device is busy", "rc": 23}
    section = read(commands_of([0], **{"": [busy, table([{"index": 0}])]}))
    assert (section["detection"]["state"], [source["source"] for source in section["sources"]].count("mx-smi")) == ("ok", 2)
    again = read({"": busy, "-L": busy, "-j": busy}, pci=on_bus([0]))["detection"]
    assert (again["state"], "busy" in again["reason"]) == ("unavailable", True)


def test_garbled_outputs_never_raise_and_never_shrink_to_ok():
    chance = random.Random(11)
    good, bus = commands_of(range(3)), on_bus(range(3))
    for _round in range(300):
        commands = dict(good)
        for name in chance.sample(sorted(commands), 3):
            text = list(commands[name])
            for _change in range(chance.randint(1, 30)):
                place = chance.randrange(len(text) or 1)
                text[place : place + chance.randint(1, 60)] = chance.choice(
                    [[], ["|"], ["\n"], ["-"], ["9" * 30], ["\ufffd"], ['"'], ["[[" * 5000], ["GPU#1"], [":"]]
                )
            commands[name] = "".join(text)
        section = read(commands, pci=bus)
        json.dumps(section)
        if section["detection"]["state"] == "ok":
            assert section["detection"]["accelerators"] == 3
        assert len({device["id"] for device in section["devices"]}) == len(section["devices"])
        assert all(is_known(device["index"]) for device in section["devices"])


def test_a_column_of_more_words_leaves_the_name_whole():
    text = table([{"index": 0}], old=True).replace("| GPU         NAME                   |", "| GPU     NAME         Persistence-M |")
    text = text.replace("| Temp        Pwr:Usage/Cap          |", "| Temp    Pwr:Usage/Cap         Perf |").replace(
        "GPU-Util             |", "GPU-Util      sGPU-M |"
    )
    text = text.replace("MetaX C500             |", "MetaX N200 Pro     Off |").replace("61W / 350W             |", "58W / 225W          P0 |")
    device = read({"": text.replace("3%                   |", "3%            Native |")})["devices"][0]
    assert (device["name"], device["index"], device["persistence"], device["utilization_percent"]) == ("MetaX N200 Pro", 0, False, 3)
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"]) == (41, 58, 225)
    assert device["health"]["state"] == "ok"


def test_the_oldest_table_tells_a_draw_alone():
    text = table([{"index": 0, "power": "71W"}], old=True).replace("Pwr:Usage/Cap", "Power        ")
    device = read({"": text})["devices"][0]
    assert device["power_w"]["draw"] == 71 and is_unknown(device["power_w"]["limit"])
