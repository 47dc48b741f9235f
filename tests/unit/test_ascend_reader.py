# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.ascend: whole nodes of every kind, and tools that do not answer."""

from __future__ import annotations

import random

import ascend_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why

VERSION = "Version=25.2.0\nascendhal_version=7.35.23\ncompatible_version_fw=[7.5.0,8.9.9]\n"


def a2_commands(npus=range(8), **changes):
    npus = list(npus)
    commands = {
        "info": samples.table("plain", [{"npu": n} for n in npus], processes=npus),
        "info -l": samples.listing(npus),
        "info -m": samples.mapping([(n, 0, i, "Ascend 910B3") for i, n in enumerate(npus)]),
        "info -t topo": samples.topo(["NPU%d" % n for n in npus], cpus="0-23"),
    }
    for n in npus:
        commands["info -t ecc -i %d" % n] = samples.ecc([(0, {})], npu=n, kinds=("HBM",), waiting=0)
        commands["info -t board -i %d" % n] = samples.board(n)
        commands["info -t ecc-enable -i %d" % n] = "\tHBM ECC-Enable Status          : True\n"
        commands["info -t hccs -i %d -c 0" % n] = samples.hccs()
        commands["info -t board -i %d -c 0" % n] = samples.chip_board(n, 0, "1A2B3C4%d 5D6E7F80 11223344 55667788 99AABBCC" % n)
    commands.update(changes)
    return commands


def addresses(npus):
    return ["0000:%02x:00.0" % (0x10 + 8 * n) for n in npus]


def test_a_good_a2_node():
    files = samples.nodes(range(8))
    files.update({"/usr/local/Ascend/driver/version.info": VERSION, "/usr/local/Ascend/firmware/version.info": "Version=7.5.0.5.220\n"})
    section = samples.read(a2_commands(), files, samples.on_bus(addresses(range(8))))
    assert section["detection"]["state"] == "ok"
    assert (section["detection"]["accelerators"], section["detection"]["detail"], section["detection"]["host"]["accelerators"]) == (8, "910B3 x8", 8)
    device = samples.by_id(section)["ascend:5"]
    assert device["identity"]["uuid"] == {"value": "1A2B3C45 5D6E7F80 11223344 55667788 99AABBCC", "quality": "good"}
    assert [device["identity"][key]["value"] for key in ("serial", "pci", "slot")] == ["02100A0005", "0000:38:00.0", "5"]
    assert (device["memory_mib"], device["memory_used_mib"], device["numa_node"], device["processes"]) == (65536, 3412, 3, 0)
    assert (device["health"]["state"], device["temperature_c"]["core"], device["power_w"]["draw"]) == ("ok", 41, 91.5)
    assert device["links"] == {"kind": "hccs", "total": 7, "up": 7, "down": [], "speed_gb_s": 28.0, "errors": {"crc_errors": 0, "retries": 0}}
    assert device["firmware"] == {"npu": "7.5.0.5.220", "package": "7.5.0.5.220"}
    assert (device["ecc"]["mode"], is_not_applicable(device["power_w"]["limit"])) == ("enabled", True)
    assert (device["ecc"]["uncorrected_volatile"], device["retired_pages"]) == (0, {"corrected": 0, "uncorrected": 0, "pending": False})
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_device_max"], device["pcie"]["width_max"]) == (4, 4, 16)
    assert device["device_nodes"] == ["/dev/davinci5"]
    extra = device["extra"]
    assert (extra["family"], extra["hbm_nominal_mib"], extra["compatibility"], extra["logic_id"]) == ("910B", 65536, "OK", 5)
    assert (extra["firmware_range"], extra["topology"]) == ("[7.5.0,8.9.9]", {"HCCS": 7})
    assert (section["driver"]["version"], section["driver"]["tool_version"], section["driver"]["library_version"]) == ("25.2.0", "25.2.0", "25.2.0")
    assert [s["source"] for s in section["sources"][:4]] == ["npu-smi info", "npu-smi info -l", "npu-smi info -m", "npu-smi info -t topo"]


def test_a3_is_one_package_with_two_dies():
    places = [(n, c) for n in range(2) for c in range(2)]
    chips = [{"npu": n, "chip": c, "second": 2 * n + c, "name": "Ascend910", "power": "-" if c else "171.2", "temp": 40 + c} for n, c in places]
    labels = ["Phy-ID%d" % n for n in range(4)]
    commands = {
        "info": samples.table("phy", chips, processes=[(0, 1, 77), 1]),
        "info -l": samples.listing([0, 1]),
        "info -t topo": samples.topo(labels, lambda mine, peer: "SIO" if int(mine[-1]) // 2 == int(peer[-1]) // 2 else "HCCS_SW"),
        "info -t ecc -i 0": samples.ecc([(0, {}), (1, {"HBM Double Bit Error Count": 2})], kinds=("HBM",), waiting=0, last=False),
        "info -t board -i 0": samples.board(0, **{"PCI Device ID": "0xD803"}),
        "info -t spod-info -i 0 -c 1": "\tSDID : 33\n\tSuper Pod Size : 384\n\tSuper Pod ID : 2\n\tServer Index : 7\n",
    }
    bus = samples.on_bus(["0000:%02x:00.0" % (0x10 + 8 * n + c) for n in range(2) for c in range(2)])
    section = samples.read(commands, samples.nodes(range(4)), bus)
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 2)
    found = samples.by_id(section)
    assert sorted(found) == ["ascend:0", "ascend:0.0", "ascend:0.1", "ascend:1", "ascend:1.0", "ascend:1.1"]
    package, die = found["ascend:0"], found["ascend:0.1"]
    assert (die["kind"], die["parent"], die["power_w"]) == ("die", "ascend:0", {"not_applicable": "told for the package"})
    assert (package["kind"], package["memory_mib"], package["power_w"]["draw"], package["temperature_c"]["core"]) == ("package", 131072, 171.2, 41)
    assert (package["ecc"]["uncorrected_volatile"], found["ascend:0.0"]["ecc"]["uncorrected_volatile"], die["ecc"]["uncorrected_volatile"]) == (2, 0, 2)
    assert (package["links"]["up"], die["links"]["up"], die["extra"]["topology"]) == (6, 3, {"HCCS_SW": 2, "SIO": 1})
    assert (package["processes"], die["processes"], found["ascend:1"]["processes"]) == (1, 1, 0)
    assert (die["device_nodes"], package["device_nodes"]) == (["/dev/davinci1"], ["/dev/davinci0", "/dev/davinci1"])
    assert (die["extra"]["family"], die["extra"]["phy_id"], package["extra"]["hbm_nominal_mib"]) == ("910C", 1, 131072)
    assert die["extra"]["super_pod"] == {"sdid": 33, "super_pod_size": 384, "super_pod_id": 2, "server_index": 7}
    assert is_unknown(found["ascend:1"]["ecc"])
    bus[3]["pcie"]["width_current"] = 8
    found = samples.by_id(samples.read(commands, pci=bus))
    assert [found[name]["pcie"]["width_current"] for name in ("ascend:0", "ascend:1", "ascend:1.0")] == [16, 8, 16]


def test_a3_with_a_die_off_the_bus():
    chips = [{"npu": 0, "chip": c, "second": c, "name": "Ascend910"} for c in range(2)] + [{"npu": 1, "chip": 0, "second": 2, "name": "Ascend910"}]
    bus = samples.on_bus(["0000:%02x:00.0" % (0x10 + 8 * n + c) for n in range(2) for c in range(2)])
    detection = samples.read({"info": samples.table("phy", chips)}, pci=bus)["detection"]
    assert detection["state"] == "unavailable"
    assert "0000:19:00.0" in detection["reason"]
    assert "0000:18:00.0" not in detection["reason"]


def test_950_has_no_chips_and_no_option_c():
    chips = [{"npu": n, "hbm": "5239  / 131072"} for n in range(2)]
    commands = {
        "info": samples.table("950", chips, processes=[(0, 0, 12), 1]),
        "info -l": "\tTotal Count                    : 2\n\n\tNPU ID                         : 0\n\n\tNPU ID                         : 1\n\n",
        "info -m": samples.mapping([(n, n + 4, 0, n, "Ascend950PR") for n in range(2)], ("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Name")),
        "info -t ecc -i 0": "".join("\tHBM %s : 0\n" % k for k in ("Single Bit Error Count", "Double Bit Error Count")),
        "info -t board -i 0": samples.board(0, **{"PCI Device ID": "0xD806", "DDie ID": "0000001A 2B000000 00000003 00000004 00000005"}),
    }
    section = samples.read(commands, samples.nodes([0, 1]))
    first = samples.by_id(section)["ascend:0"]
    assert (first["kind"], first["name"], first["memory_mib"], first["processes"]) == ("package", "Ascend950PR", 131072, 1)
    assert (first["extra"]["family"], first["identity"]["slot"]["value"], first["device_nodes"]) == ("950", "4", ["/dev/davinci0"])
    assert first["identity"]["uuid"]["value"] == "0000001A 2B000000 00000003 00000004 00000005"
    assert first["ecc"]["uncorrected_volatile"] == 0
    assert "hbm_nominal_mib" not in first["extra"]
    assert not [s for s in section["sources"] if " -c " in s["source"]]


def test_950_that_is_not_on_pci_is_not_called_missing():
    section = samples.read({"info": samples.table("950", [{"npu": 0, "name": "Ascend950DT", "bus": "NA"}]), "info -l": samples.listing([0])})
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", 1)
    assert section["devices"][0]["identity"]["pci"]["quality"] == "unread"


def test_310_card_with_four_chips_and_310p():
    chips = [{"npu": 90, "chip": c, "second": c, "name": "310", "power": "12.8", "hbm": "500 / 7759", "bus": "0000:DA:%02X.0" % c} for c in range(4)]
    section = samples.read({"info": samples.table("device", chips), "info -l": "\tCard Count : 1\n\n\tNPU ID : 90\n\tChip Count : 4\n"})
    package = samples.by_id(section)["ascend:90"]
    assert (section["detection"]["state"], section["detection"]["accelerators"], package["power_w"]["draw"], package["memory_mib"]) == ("ok", 1, 51.2, 31036)
    duo = samples.read({"info": samples.table("device", [{"npu": 6, "second": 0, "name": "310P3", "power": "NA", "hbm": "1839 / 21525"}])}, samples.nodes([0]))
    assert duo["devices"][0]["device_nodes"] == ["/dev/davinci0"]
    assert is_unknown(duo["devices"][0]["power_w"]["draw"])


def test_a_first_910_that_calls_itself_910b():
    section = samples.read({"info": samples.table("plain", [{"npu": 0, "name": "910B", "ddr": "1197 / 13553", "hbm": "4 / 31129"}])})
    extra = section["devices"][0]["extra"]
    assert (extra["family"], extra["hbm_nominal_mib"], section["devices"][0]["memory_mib"], extra["ddr_mib"]) == ("910", 32768, 31129, 13553)


def test_a_masked_name_is_taken_from_the_mapping_or_missed():
    commands = a2_commands([0], info=samples.table("plain", [{"npu": 0, "name": "xxx"}]))
    assert samples.read(commands)["devices"][0]["name"] == "Ascend 910B3"
    del commands["info -m"]
    detection = samples.read(commands)["detection"]
    assert (detection["state"], detection["accelerators"]) == ("unavailable", 1)
    assert "not named" in detection["reason"]


def test_health_words_and_the_query_that_says_ok_again():
    words = ["OK", "Warning", "Alarm", "Critical", "UNKNOWN", "Melted"]
    commands = a2_commands(range(6), info=samples.table("plain", [{"npu": n, "health": word} for n, word in enumerate(words)]))
    commands["info -t health -i 1 -c 0"] = "\tHealth Status : OK\n\tError Code : NA\n\tError Information : NA\n"
    commands["info -t health -i 2 -c 0"] = "\tHealth Status : Critical\n\tError Code : 80E01801\n\tError Information : node type=HBM\n"
    section = samples.read(commands)
    states = [device["health"]["state"] for device in section["devices"]]
    # the vendor's manual: UNKNOWN says that the device does not exist or was not started
    assert states[:5] == ["ok", "degraded", "failed", "failed", "lost"]
    assert is_unknown(states[5])
    assert section["devices"][2]["extra"]["error_code"] == "80E01801"
    assert "node type=HBM" in section["devices"][2]["health"]["detail"]
    assert "npu-smi info -t health -i 0 -c 0" not in [s["source"] for s in section["sources"]]


@pytest.mark.parametrize(("again", "state"), [("Alarm", "failed"), ("UNKNOWN", "lost"), ("OK", None)])
def test_a_word_that_is_not_understood_does_not_hide_a_fault(again, state):
    commands = a2_commands([0], info=samples.table("plain", [{"npu": 0, "health": "Melted"}]))
    commands["info -t health -i 0 -c 0"] = "\tHealth Status : %s\n\tError Code : NA\n\tError Information : NA\n" % again
    told = samples.read(commands)["devices"][0]["health"]["state"]
    assert told == state or (state is None and is_unknown(told))


@pytest.mark.parametrize("name", ["", "910B3"])
def test_the_zeros_of_a_chip_that_did_not_answer_are_no_values(name):
    """The tool fills what it could not ask with zeros, and a zero of its health reads OK."""
    chips = [{"npu": 0}, {"npu": 1, **samples.SILENT, "name": name}, {"npu": 2}]
    commands = a2_commands(range(3), info=samples.table("plain", chips, processes=range(3)))
    section = samples.read(commands, samples.nodes(range(3)), samples.on_bus(addresses(range(3))))
    good, dead, _other = section["devices"]
    assert good["health"]["state"] == "ok"
    told = (dead["health"]["state"], dead["temperature_c"]["core"], dead["power_w"]["draw"], dead["memory_mib"], dead["memory_used_mib"])
    assert all(map(is_unknown, told)) and is_unknown(dead["utilization_percent"]) and is_unknown(dead["pcie"])
    assert is_unknown(dead["identity"]["pci"]["value"])
    assert dead["name"] == "910B3"  # as the table calls the others, where only -m names it
    assert "npu-smi info -t health -i 1 -c 0" in [source["source"] for source in section["sources"]]


def test_a_card_of_310_tells_its_ecc():
    chips = [{"npu": 3, "chip": n, "second": n, "name": "310", "bus": "NA", "hbm": "577  / 7759"} for n in range(2)]
    ecc = "".join("\tSingle-bit Error Count : 0\n\tDouble-bit Error Count : %d\n\tChip ID : %d\n" % (5 * n, n) for n in range(2))
    section = samples.read({"info": samples.table("device", chips), "info -l": samples.listing([3]), "info -t ecc -i 3": ecc})
    assert [device["ecc"]["uncorrected_volatile"] for device in section["devices"]] == [5, 0, 5]
    assert is_not_applicable(section["devices"][0]["retired_pages"]["pending"])


def test_seven_of_eight_and_gaps_in_the_device_nodes():
    npus = [0, 1, 2, 4, 5, 6, 7]
    section = samples.read(a2_commands(npus), samples.nodes(npus), samples.on_bus(addresses(range(8))))
    assert section["detection"]["state"] == "unavailable"
    assert addresses([3])[0] in section["detection"]["reason"]
    assert samples.by_id(section)["ascend:4"]["device_nodes"] == ["/dev/davinci4"]
    by_list = samples.read(a2_commands(npus, **{"info -l": samples.listing(range(8))}), pci=samples.on_bus(addresses(npus)))["detection"]
    assert (by_list["state"], by_list["reason"]) == ("unavailable", "npu-smi info -l reports 8, 7 were read")
    by_mapping = samples.read(a2_commands(npus, **{"info -m": samples.mapping([(n, 0, n, "Ascend 910B3") for n in range(8)])}), pci=[])["detection"]
    assert (by_mapping["state"], is_unknown(by_mapping["accelerators"])) == ("unavailable", True)
    assert "NPU 3 chip 0" in by_mapping["reason"]


def test_a_die_that_only_the_mapping_names():
    heads = ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name")
    both = samples.mapping([(0, 0, 0, 0, "Ascend910"), (0, 1, 1, 1, "Ascend910"), (0, 2, "-", "-", "Mcu")], heads)
    detection = samples.read({"info": samples.table("phy", [{"npu": 0, "second": 0, "name": "Ascend910"}]), "info -m": both})["detection"]
    assert (detection["state"], is_unknown(detection["accelerators"])) == ("unavailable", True)
    assert detection["reason"] == "npu-smi info: npu-smi info -m also names NPU 0 chip 1"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"hang": True}, "timeout"),
        ({"missing": True}, "absent"),
        ({"denied": True}, "denied"),
        ({"signal": "SIGSEGV"}, "signaled"),
        ({"stdout": ""}, "no output"),
        ({"stdout": "", "rc": 255, "stderr": "dcmi module initialize failed. ret is -8005"}, "upgraded without a reboot"),
        ({"stdout": "DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n"}, "upgraded without a reboot"),
        ({"stdout": "Failed to open /dev/davinci_manager, ret is -8002\n"}, "permission denied"),
        ({"stdout": "Usage: npu-smi <Command|-h|-v> [Options...]\n"}, "usage"),
        ({"stdout": "Segmentation fault\n"}, "no table"),
        ({"stdout": samples.THIN + "\n" + samples.THIN + "\n"}, "without NPUs"),
    ],
)
def test_no_answer_is_never_a_count(answer, words):
    for bus in (samples.on_bus(addresses(range(8))), {"unknown": "PCI: denied"}):
        section = samples.read({"info": answer, "info -l": answer}, samples.nodes(range(8)), bus)
        assert section["detection"]["state"] == "unavailable"
        assert is_unknown(section["detection"]["accelerators"])
        assert words in section["detection"]["reason"]
        assert section["detection"]["host"]["reason"]
        assert section["devices"] == []


def test_nothing_there():
    gone = {"missing": True}
    assert samples.read({"info": gone})["detection"]["state"] == "not-declared"
    assert samples.read({"info": gone}, samples.nodes([]))["detection"]["state"] == "unavailable"  # the driver is loaded
    assert samples.read({"info": gone}, pci={"unknown": "PCI: denied"})["detection"]["state"] == "unavailable"
    none = {"info": "There is no NPU card on this server.\n", "info -l": "There is no NPU card on this server.\n"}
    assert samples.read(none)["detection"]["state"] == "not-declared"
    assert samples.read(none, pci=samples.on_bus(addresses([0])))["detection"]["state"] == "unavailable"


def test_a_failing_exit_makes_the_list_incomplete():
    detection = samples.read(a2_commands([0, 1], info={"stdout": samples.table("plain", [{"npu": 0}, {"npu": 1}]), "rc": 1}))["detection"]
    assert (detection["state"], is_unknown(detection["accelerators"])) == ("unavailable", True)


def test_a_card_that_hangs_is_asked_once_and_two_end_it():
    one = samples.read(a2_commands(range(4), **{"info -t ecc -i 1": {"hang": True}}))
    asked = [s["source"] for s in one["sources"]]
    assert "npu-smi info -t board -i 1" not in asked
    assert "npu-smi info -t board -i 2" in asked
    assert "timeout" in why(samples.by_id(one)["ascend:1"]["ecc"])
    assert samples.by_id(one)["ascend:2"]["ecc"]["uncorrected_volatile"] == 0
    two = samples.read(a2_commands(range(4), **{"info -t ecc -i 1": {"hang": True}, "info -t ecc -i 2": {"hang": True}}))
    assert "npu-smi info -t ecc -i 3" not in [s["source"] for s in two["sources"]]
    assert "hung before" in why(samples.by_id(two)["ascend:3"]["ecc"])


def test_what_a_product_refuses_is_asked_once_and_not_a_fault():
    refused = "This device does not support querying ecc.\n"
    section = samples.read(a2_commands(range(3), **{"info -t ecc -i %d" % n: refused for n in range(3)}))
    assert [s["source"] for s in section["sources"]].count("npu-smi info -t ecc -i 0") == 1
    assert "npu-smi info -t ecc -i 1" not in [s["source"] for s in section["sources"]]
    assert all(is_not_applicable(device["ecc"]) and is_not_applicable(device["retired_pages"]) for device in section["devices"])
    topo = samples.read(a2_commands([0], **{"info -t topo": "This device does not support querying topo.\n"}))
    assert is_not_applicable(topo["devices"][0]["links"])


def test_a_card_that_vanishes_between_two_calls():
    said = "Invalid card id.\nError parameter of -i\nUsage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"
    section = samples.read(a2_commands([0, 1], **{"info -t ecc -i 0": said}))
    assert why(samples.by_id(section)["ascend:0"]["ecc"]) == "npu-smi info -t ecc -i 0: Invalid card id. (usage text)"
    assert samples.by_id(section)["ascend:1"]["ecc"]["uncorrected_volatile"] == 0


def test_busy_is_asked_a_second_time():
    section = samples.read(a2_commands([0], **{"info -l": ["failed, ret is -8020\n", samples.listing([0])]}))
    assert section["detection"]["host"]["accelerators"] == 1
    assert [s["source"] for s in section["sources"]].count("npu-smi info -l") == 2


def test_near_the_deadline_the_rest_is_not_asked():
    machine = samples.host(a2_commands(range(2)))
    left = [60.0] * 5 + [1.0] * 100
    machine.remaining = lambda: left.pop(0)
    section = ascend.collect(machine, [])
    assert section["detection"]["state"] == "ok"
    assert is_known(samples.by_id(section)["ascend:0"]["ecc"]["uncorrected_volatile"])
    assert "deadline" in why(samples.by_id(section)["ascend:1"]["ecc"])


def test_a_slice_is_told_as_one():
    table = samples.table("device", [{"npu": 32768, "second": 0, "name": "310P3", "hbm": "0 / 8192"}])
    section = samples.read({"info": "preload: memory limit 8192\n" + table})
    assert section["devices"][0]["partition"]["enabled"] is True
    assert section["note"].startswith("npu-smi info, outside its table")


def test_versions_that_differ_and_a_package_half_installed():
    files = {
        "/usr/local/Ascend/driver/version.info": "Version=25.3.0\n",
        "/etc/ascend_install.info": "Driver_Install_Status=incomplete\nDriver_Install_Path_Param=/usr/local/Ascend\n",
        "/usr/local/Ascend/cann": {"absent": True},
        "/usr/local/Ascend/ascend-toolkit/latest/runtime/version.info": "Version=8.3.RC1\n",
    }
    section = samples.read(a2_commands([0], info=samples.table("plain", [{"npu": 0}], tool="25.0.rc1", driver="25.2.0")), files)
    assert {key: section["driver"][key] for key in ("version", "library_version", "tool_version", "runtime_version")} == {
        "version": "25.2.0", "library_version": "25.3.0", "tool_version": "25.0.rc1", "runtime_version": "8.3.RC1",
    }  # fmt: skip
    assert "installed is 25.3.0" in section["note"]
    assert "incomplete" in section["note"]


def test_a_toolkit_elsewhere_is_not_no_toolkit():
    absent = {"/usr/local/Ascend": {"dir": ["driver"]}}
    assert is_not_applicable(samples.read(a2_commands([0]), absent)["driver"]["runtime_version"])
    assert is_unknown(samples.read(a2_commands([0]))["driver"]["runtime_version"])
    place = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
    other = {"/usr/local/Ascend": {"dir": ["ascend-toolkit"]}, place: "package_name=x\nversion=8.0.T3\n"}
    assert samples.read(a2_commands([0]), other, host={"uname": {"machine": "aarch64"}})["driver"]["runtime_version"] == "8.0.T3"


def test_equal_die_ids_are_duplicates_and_empty_ones_placeholders():
    same = {"info -t board -i %d -c 0" % n: samples.chip_board(n, 0, "1A2B3C4D 5D6E7F80") for n in range(2)}
    same["info -t board -i 2 -c 0"] = samples.chip_board(2, 0, "00000000 00000000 00000000")
    qualities = [device["identity"]["uuid"]["quality"] for device in samples.read(a2_commands(range(3), **same))["devices"]]
    assert qualities == ["duplicate", "duplicate", "placeholder"]


def test_garbled_outputs_never_raise_and_never_shrink_to_ok():
    chance = random.Random(7)
    good = a2_commands(range(3))
    bus = samples.on_bus(addresses(range(3)))
    for _round in range(300):
        commands = dict(good)
        for name in chance.sample(sorted(commands), 3):
            text = list(commands[name])
            for _change in range(chance.randint(1, 30)):
                place = chance.randrange(len(text))
                text[place : place + chance.randint(1, 40)] = chance.choice([[], ["|"], ["\n"], ["-"], ["9" * 30], ["\ufffd"], ["..."]])
                if not text:
                    break
            commands[name] = "".join(text)
        section = samples.read(commands, pci=bus)
        detection = section["detection"]
        if detection["state"] == "ok":
            assert detection["accelerators"] == 3
        assert len({device["id"] for device in section["devices"]}) == len(section["devices"])
