# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.iluvatar: whole nodes, boards with two chips, and a tool that does not answer."""

from __future__ import annotations

import random

import gmi_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import iluvatar
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why

NODES = ["iluvatar%d" % n for n in range(3, 7)] + ["itrctl", "null"]
LINKS = "GPU 0: Iluvatar MR-V100 (UUID: GPU-1)\n\t Link 0: 32 GB/s\n\t Link 1: <inactive>\nGPU 1: Iluvatar MR-V100 (UUID: GPU-2)\n\t Link 0: 32 GB/s\n"
HEADER = "index, name, uuid, serial, pci.bus_id, memory.total [MiB], gpu.power.draw [W]\n"


def good(count=4, **changes):
    return samples.ixsmi_xml([changes] * count)


def test_a_good_node():
    files = dict(samples.bus("iluvatar", 4), **{"/usr/local/corex": {"link": "/usr/local/corex-4.4.0"}})
    section = samples.read("iluvatar", {"-q -x": good(), "ixlink -s": LINKS}, files, NODES, module="4.4.1")
    assert (section["detection"]["state"], section["detection"]["accelerators"], section["detection"]["detail"]) == ("ok", 4, "Iluvatar MR-V100 x4")
    assert is_not_applicable(section["detection"]["host"])
    assert [entry["source"] for entry in section["sources"]] == ["ixsmi -q -x", "ixsmi ixlink -s"]
    driver = section["driver"]
    assert [driver[key] for key in ("version", "module_version", "runtime", "runtime_version")] == ["4.4.1", "4.4.1", "CoreX", "4.4.0"]
    device = section["devices"][1]
    assert (device["id"], device["name"], device["memory_mib"], device["memory_used_mib"], device["utilization_percent"]) == (
        "iluvatar:1", "Iluvatar MR-V100", 32768, 412, 7,
    )  # fmt: skip
    assert {key: item["value"] for key, item in device["identity"].items() if key != "slot"} == {
        "uuid": "GPU-3f0e0001-1111-5222-8333-944455556666", "serial": "241100000001", "pci": samples.address(1),
    }  # fmt: skip
    assert (device["numa_node"], device["processes"], device["firmware"]) == (0, 1, {"vbios": "2.1.4"})
    assert (device["temperature_c"]["core"], device["temperature_c"]["memory"], device["power_w"]["draw"], device["power_w"]["limit"]) == (41, 44, 63, 150)
    assert device["ecc"]["mode"] == "enabled" and device["ecc"]["uncorrected_volatile"] == 0
    assert device["pcie"]["generation_current"] == 4 and device["pcie"]["width_max"] == 16
    assert device["device_nodes"] == ["/dev/iluvatar4", "/dev/dri/card1", "/dev/dri/renderD129"]  # by the minor number, which is not the index
    assert section["devices"][0]["links"] == {"kind": "ixlink", "total": 2, "up": 1, "down": [1]}
    assert is_unknown(section["devices"][3]["links"])
    assert "no driver is asked" in section["note"]


def test_the_power_of_a_board_is_told_by_one_of_its_chips():
    pair = [{"serial": "77", "gpu_power_draw": "N/A", "current_gpu_power_limit": "N/A"}, {"serial": "77"}]
    section = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml(pair)}, samples.bus("iluvatar", 2))
    first, second = section["devices"]
    assert section["detection"]["state"] == "ok"
    assert all(is_not_applicable(value) and "iluvatar:1" in why(value) for value in first["power_w"].values())
    assert (first["extra"]["board_of"], second["power_w"]["draw"]) == ("iluvatar:1", 63)
    assert first["identity"]["serial"] == {"value": "77", "quality": "duplicate"}


def test_power_without_a_mate_is_unknown():
    section = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml([{"gpu_power_draw": "N/A"}, {}])})
    assert is_unknown(section["devices"][0]["power_w"]["draw"])


@pytest.mark.parametrize("text", ["N/A", "[N/A]", "-", "", "NA", "Not Supported", "ERR!", "xxx", "-1", "99999999999999", "not a valid field", "\x00"])
def test_what_is_no_value_is_unknown_and_never_zero(text):
    changes = dict.fromkeys(("total", "used", "gpu_util", "gpu_temp", "current_link_width", "double_bit", "current_ecc"), text)
    section = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml([changes])})
    device = section["devices"][0]
    for value in (device["memory_mib"], device["memory_used_mib"], device["utilization_percent"], device["temperature_c"]["core"],
                  device["pcie"]["width_current"], device["ecc"]["uncorrected_volatile"]):  # fmt: skip
        assert is_unknown(value), value
    assert section["detection"]["accelerators"] == 1


def test_a_single_card_has_the_single_node():
    section = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml([{"minor_number": None}])}, nodes=["iluvatar3"])
    assert section["devices"][0]["device_nodes"] == ["/dev/iluvatar3"]
    assert is_not_applicable(section["devices"][0]["links"])


def query(fields):
    return "--query-gpu=%s --format=csv" % ",".join(fields)


def test_csv_when_the_log_is_not_known():
    rows = "0, Iluvatar BI-V100, GPU-5a, 1234, 00000000:20:00.0, 32768 MiB, 51 W\n1, Iluvatar BI-V100, GPU-5b, 1235, 00000000:24:00.0, 32768 MiB, N/A\n"
    commands = {"-q -x": {"stdout": "", "stderr": "Invalid combination of input arguments.", "rc": 2}, query(iluvatar.ASKED): HEADER + rows}
    section = samples.read("iluvatar", commands, samples.bus("iluvatar", 2))
    assert section["detection"]["state"] == "ok"
    assert [device["identity"]["uuid"]["value"] for device in section["devices"]] == ["GPU-5a", "GPU-5b"]
    assert section["devices"][0]["power_w"]["draw"] == 51 and is_unknown(section["devices"][1]["power_w"]["draw"])


def test_csv_with_a_field_that_is_refused_is_asked_once_more():
    older = [iluvatar.OLDER.get(field, field) for field in iluvatar.ASKED]
    rows = "0, Iluvatar BI-V100, GPU-5a, 1234, 00000000:20:00.0, 32768 MiB, 51 W\n"
    commands = {
        "-q -x": "usage: ixsmi [options]\n",
        query(iluvatar.ASKED): 'Field "gpu.power.draw" is not a valid field to query.\nField "gpu.current.power.limit" is not a valid field to query.\n',
        query(older): HEADER.replace("gpu.power", "power") + rows,
    }
    section = samples.read("iluvatar", commands)
    assert [len(section["sources"]), section["devices"][0]["power_w"]["draw"]] == [3, 51]


def test_the_table_as_the_last_way():
    cards = [("Iluvatar BI-V150", "36C", "N/A / N/A", "90MiB", "32768MiB"), ("Iluvatar BI-V150", "35C", "92W / 350W", "90MiB", "32768MiB")]
    section = samples.read("iluvatar", {"-q -x": "?", "": samples.ixsmi_table(cards, driver="4.3.8")}, samples.bus("iluvatar", 2))
    assert section["detection"]["state"] == "ok"
    first, second = section["devices"]
    assert (second["temperature_c"]["core"], second["power_w"]["draw"], second["power_w"]["limit"], second["processes"], first["processes"]) == (
        35,
        92,
        350,
        0,
        1,
    )
    assert is_not_applicable(first["power_w"]["draw"])
    assert (section["driver"]["version"], section["driver"]["library_version"]) == ("4.3.8", "4.4.0")
    assert section["note"].startswith("the driver is 4.3.8, the library of ixsmi 4.4.0")
    cut = samples.read("iluvatar", {"": samples.ixsmi_table(cards, end=False)})
    assert (cut["detection"]["state"], is_unknown(cut["detection"]["accelerators"])) == ("unavailable", True)


def test_fewer_than_pci_shows():
    section = samples.read("iluvatar", {"-q -x": good(3)}, samples.bus("iluvatar", 4))
    assert section["detection"]["state"] == "unavailable"
    assert "PCI shows 4, the tool 3: not seen by it: %s" % samples.address(3) in section["detection"]["reason"]


def test_an_answer_cut_off_is_no_smaller_count():
    section = samples.read("iluvatar", {"-q -x": good()[:-1200]})
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])
    section = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml([{}], attached=2)})
    assert "'2' attached, 1 described" in section["detection"]["reason"]


SYMBOL = "ixsmi: symbol lookup error: ixsmi: undefined symbol: ixmlDeviceGetNewThing"
LIBRARY = "ixsmi: error while loading shared libraries: libixml.so: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"missing": True}, "no such program"),
        ({"denied": True}, "denied"),
        ({"hang": True}, "timeout"),
        ({"stdout": ""}, "printed nothing"),
        ({"stdout": "no ixsmi here \x00\xff {}<a></a>"}, "not understood"),
        ({"stdout": "", "stderr": SYMBOL, "rc": 127}, "ixmlDeviceGetNewThing"),
        ({"stdout": "", "stderr": LIBRARY, "rc": 127}, "libixml.so"),
        ({"signal": 11}, "signaled"),
    ],
)
def test_a_tool_that_fails(entry, words):
    section = samples.read("iluvatar", samples.everywhere("iluvatar", entry), samples.bus("iluvatar", 2))
    assert section["detection"]["state"] == "unavailable"
    assert words in section["detection"]["reason"] and "PCI shows 2" in section["detection"]["reason"]
    assert is_unknown(section["detection"]["accelerators"])
    if "hang" in entry:
        assert len(section["sources"]) == 1


def test_not_there():
    missing = samples.everywhere("iluvatar", {"missing": True})
    assert samples.read("iluvatar", missing)["detection"]["state"] == "not-declared"
    assert samples.read("iluvatar", missing, nodes=["iluvatar0"])["detection"]["state"] == "unavailable"
    assert samples.read("iluvatar", missing, module="4.4.0")["detection"]["state"] == "unavailable"
    none = {"-q -x": "No supported GPUs found\n"}
    assert samples.read("iluvatar", none)["detection"]["state"] == "not-declared"
    assert "there is /dev/iluvatar0" in samples.read("iluvatar", none, nodes=["iluvatar0"])["detection"]["reason"]
    assert samples.read("iluvatar", none, samples.bus("iluvatar", 1))["detection"]["state"] == "unavailable"


def test_a_busy_tool_is_asked_once_more():
    busy = {"stdout": "", "stderr": "resource temporarily unavailable", "rc": 1}
    section = samples.read("iluvatar", samples.everywhere("iluvatar", busy), samples.bus("iluvatar", 1))
    assert [entry["source"] for entry in section["sources"]].count("ixsmi -q -x") == 2
    assert section["detection"]["state"] == "unavailable"


@pytest.mark.parametrize("kind", ["xml", "csv", "table"])
def test_garbage_never_raises_and_never_takes_a_device_away(kind):
    chance = random.Random(7)
    rows = "".join("%d, Iluvatar BI-V100, GPU-5%d, 123%d, 0000%s, 32768 MiB, 51 W\n" % (n, n, n, samples.address(n)) for n in range(3))
    whole = {"xml": good(3), "csv": HEADER + rows, "table": samples.ixsmi_table([("Iluvatar BI-V150", "36C", "90W / 350W", "9MiB", "32768MiB")] * 3)}[kind]
    words = {"xml": "-q -x", "csv": query(iluvatar.ASKED), "table": ""}[kind]
    for _unused in range(120):
        section = samples.read("iluvatar", {words: samples.garble(whole, chance), "ixlink -s": samples.garble(LINKS, chance)}, samples.bus("iluvatar", 3))
        if section["detection"]["state"] == "ok":
            assert len(section["devices"]) >= 3
            assert all(is_known(device["name"]) for device in section["devices"])
