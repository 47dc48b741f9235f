# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section accelerators.mthreads: whole nodes in each of the tool's outputs, the IOMMU trap, and a tool that does not answer."""

from __future__ import annotations

import random

import gmi_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why

NODES = ["mtgpu.0", "mtgpu.1", "dri"]
VERSION = {"/usr/local": {"dir": ["musa"]}, "/usr/local/musa/version.json": '{\n "musa_toolkits": {\n  "version": "4.2.1",\n  "git_commit": "ab"\n }\n}\n'}
LINKS = "GPU0 0000:20:00.0\n    Link 0 : UP\n    Link 1 : DOWN\nGPU1 0000:24:00.0\n    Link 0 : UP\n    Link 1 : UP\n"


def cards(count=2, **changes):
    return [samples.gmi_card(n, **changes) for n in range(count)]


def shape(device):
    """What the JSON and the text both tell."""
    return {key: value for key, value in device.items() if key not in ("extra", "links")}


def test_a_good_node():
    files = dict(samples.bus("mthreads", 2, audio=True), **VERSION)
    section = samples.read("mthreads", {"-q -j": samples.gmi_json(cards()), "mtlink -s": LINKS}, files, NODES, module="3.3.1")
    assert (section["detection"]["state"], section["detection"]["accelerators"], section["detection"]["detail"]) == ("ok", 2, "MTT S4000 x2")
    assert [entry["source"] for entry in section["sources"]] == ["mthreads-gmi -q -j", "mthreads-gmi mtlink -s", "libmtml"]
    driver = section["driver"]
    assert [driver[key] for key in ("version", "module_version", "runtime", "runtime_version")] == ["3.3.1-server", "3.3.1", "MUSA", "4.2.1"]
    device = section["devices"][1]
    assert (device["id"], device["name"], device["memory_mib"], device["memory_used_mib"], device["utilization_percent"]) == (
        "mthreads:1", "MTT S4000", 49152, 104, 3,
    )  # fmt: skip
    assert {key: item["value"] for key, item in device["identity"].items()} == {
        "uuid": "7c1d0001-aaaa-1bbb-2ccc-3ddd4eee5fff", "serial": "MY2ZZ0000001", "pci": samples.address(1), "slot": "1(SLOT1)",
    }  # fmt: skip
    assert (device["numa_node"], device["firmware"], device["temperature_c"]["core"]) == (0, {"mtbios": "3.5.2"}, 44)
    assert (device["power_w"]["draw"], device["power_w"]["limit"]) == (101.52, 450.0)  # the tool's key has a blank at its end
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_max"], device["pcie"]["width_current"]) == (5, 5, 16)
    assert is_unknown(device["ecc"]["mode"]) and is_unknown(device["retired_pages"]["corrected"])  # N/A
    assert device["device_nodes"] == ["/dev/mtgpu.1", "/dev/dri/card1", "/dev/dri/renderD129"]
    assert (device["extra"]["device_type"], device["extra"]["mpc_capable"], device["extra"]["thermal_slowdowns"]) == ("Physical", True, 0)
    assert [d["links"] for d in section["devices"]] == [
        {"kind": "mtlink", "total": 2, "up": 1, "down": [1]},
        {"kind": "mtlink", "total": 2, "up": 2, "down": []},
    ]
    assert "IOMMU" not in section["note"] and "no driver is asked" in section["note"]


def test_the_text_tells_the_same():
    files = samples.bus("mthreads", 2)
    by_json = samples.read("mthreads", {"-q -j": samples.gmi_json(cards())}, files, NODES)
    refused = {"stdout": "unrecognized option -j\n", "rc": 1}
    by_text = samples.read("mthreads", {"-q -j": refused, "-q": samples.gmi_text(cards())}, files, NODES)
    assert [shape(device) for device in by_text["devices"]] == [shape(device) for device in by_json["devices"]]
    assert by_text["detection"] == by_json["detection"]
    assert by_text["driver"] == by_json["driver"]


def test_an_older_card_without_its_bus_id_is_found_by_its_bus():
    section = samples.read("mthreads", {"-q -j": samples.gmi_json(cards(**{"PCI/Bus ID": None}))}, samples.bus("mthreads", 2))
    assert [device["identity"]["pci"]["value"] for device in section["devices"]] == [samples.address(0), samples.address(1)]


def test_the_table_as_the_last_way():
    rows = [("MTT S5000", "16x(16x)", "12MiB(81920MiB)", "41C", "On-die, EDC"), ("MTT S80", "4x(16x)", "2MiB(16384MiB)", "52C", "N/A")]
    section = samples.read("mthreads", {"-q -j": "?", "-q": "?", "": samples.gmi_table(rows)}, samples.bus("mthreads", 2), NODES)
    assert section["detection"]["state"] == "ok"
    first, second = section["devices"]
    assert (first["memory_mib"], first["temperature_c"]["core"], first["ecc"]["mode"], first["extra"]["ecc_mode"]) == (81920, 41, "enabled", "On-die, EDC")
    assert (second["pcie"]["width_current"], second["pcie"]["width_max"], first["processes"], second["processes"]) == (4, 16, 1, 0)
    assert is_unknown(second["ecc"]["mode"])
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("2.2.0", "3.3.1-server")
    cut = samples.read("mthreads", {"": samples.gmi_table(rows, end=False)})
    assert (cut["detection"]["state"], is_unknown(cut["detection"]["accelerators"])) == ("unavailable", True)


@pytest.mark.parametrize("usage", [{"Total": "32768MiB", "Used": "44302MiB"}, {"Total": "32768MiB", "Used": "0MiB"}, {"Total": "0MiB", "Used": "0MiB"}])
def test_the_memory_of_a_node_without_iommu_is_unknown(usage):
    section = samples.read("mthreads", {"-q -j": samples.gmi_json(cards(**{"FB Memory Usage": usage}))}, samples.bus("mthreads", 2), iommu=())
    assert all(is_unknown(device["memory_mib"]) and "IOMMU" in why(device["memory_mib"]) for device in section["devices"])
    assert section["note"].startswith("no IOMMU is active")


def test_a_virtual_card_has_the_memory_it_was_given():
    changes = {"DeviceType": "Virtual", "FB Memory Usage": {"Total": "8192MiB", "Used": "1MiB"}}
    device = samples.read("mthreads", {"-q -j": samples.gmi_json(cards(1, **changes))})["devices"][0]
    assert (device["memory_mib"], device["extra"]["virtual_function"]) == (8192, True)


def test_no_device_without_iommu():
    section = samples.read("mthreads", {"-q -j": "Error: No MT GPU device found.\n"}, samples.bus("mthreads", 2), iommu=())
    assert (section["detection"]["state"], section["devices"]) == ("unavailable", [])
    assert "PCI shows 2, the tool 0" in section["detection"]["reason"]
    assert "IOMMU" in section["note"]


def test_links_that_cannot_be_asked():
    said = {"stdout": "Error: the requested operation is not available on target device\n", "rc": 1}
    section = samples.read("mthreads", {"-q -j": samples.gmi_json(cards()), "mtlink -s": said})
    assert all(is_not_applicable(device["links"]) for device in section["devices"])


def test_fewer_than_pci_shows_and_audio_functions_are_no_cards():
    section = samples.read("mthreads", {"-q -j": samples.gmi_json(cards(2))}, samples.bus("mthreads", 3, audio=True))
    assert section["detection"]["state"] == "unavailable"
    assert "PCI shows 3, the tool 2: not seen by it: %s" % samples.address(2) in section["detection"]["reason"]


def test_fewer_described_than_attached():
    for text, words in ((samples.gmi_json(cards(1), attached=2), "-q -j"), (samples.gmi_text(cards(1), attached=2), "-q")):
        section = samples.read("mthreads", {words: text})
        assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])


@pytest.mark.parametrize("text", ["N/A", "-", "", "NA", "Unknown Error", "xxx", "-5", "1e99", None, {}, []])
def test_what_is_no_value_is_unknown_and_never_zero(text):
    changes = {"FB Memory Usage": {"Total": text, "Used": text}, "Temperature": {"GPU Current Temp": text}, "Utilization": {"Gpu": text}}
    device = samples.read("mthreads", {"-q -j": samples.gmi_json(cards(1, **changes))})["devices"][0]
    for value in (device["memory_mib"], device["memory_used_mib"], device["temperature_c"]["core"], device["utilization_percent"]):
        assert is_unknown(value), value


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"missing": True}, "no such program"),
        ({"denied": True}, "denied"),
        ({"hang": True}, "timeout"),
        ({"stdout": ""}, "container runtime"),
        ({"stdout": "[] nothing {"}, "not understood"),
        ({"stdout": "", "stderr": "mthreads-gmi: symbol lookup error: undefined symbol: mtmlDeviceGetNewThing", "rc": 127}, "mtmlDeviceGetNewThing"),
        ({"stdout": "failed to initialize mtml\n", "rc": 1}, "failed to initialize mtml"),
        ({"overflow": True, "stdout": "{"}, "overflow"),
    ],
)
def test_a_tool_that_fails(entry, words):
    section = samples.read("mthreads", samples.everywhere("mthreads", entry), samples.bus("mthreads", 2))
    assert section["detection"]["state"] == "unavailable"
    assert words in section["detection"]["reason"] and "PCI shows 2" in section["detection"]["reason"]
    assert is_unknown(section["detection"]["accelerators"])
    if "hang" in entry:
        assert len(section["sources"]) == 1
    if "failed to" in words:
        assert len(section["sources"]) == 2  # once more, for it may be the moment after the driver was loaded


def test_not_there():
    missing = samples.everywhere("mthreads", {"missing": True})
    assert samples.read("mthreads", missing)["detection"]["state"] == "not-declared"
    assert samples.read("mthreads", missing, nodes=["mtgpu.0"])["detection"]["state"] == "unavailable"
    none = {"-q -j": "Error: No MT GPU device found.\n"}
    assert samples.read("mthreads", none)["detection"]["state"] == "not-declared"
    assert samples.read("mthreads", none, module="3.3.1")["detection"]["state"] == "unavailable"


@pytest.mark.parametrize("words", ["-q -j", "-q", ""])
def test_garbage_never_raises_and_never_takes_a_device_away(words):
    chance = random.Random(11)
    table = samples.gmi_table([("MTT S80", "16x(16x)", "2MiB(16384MiB)", "52C", "N/A")] * 3)
    whole = {"-q -j": samples.gmi_json(cards(3)), "-q": samples.gmi_text(cards(3)), "": table}[words]
    for _unused in range(120):
        section = samples.read("mthreads", {words: samples.garble(whole, chance), "mtlink -s": samples.garble(LINKS, chance)}, samples.bus("mthreads", 3))
        if section["detection"]["state"] == "ok":
            assert len(section["devices"]) >= 3
            assert all(is_known(device["name"]) for device in section["devices"])


@pytest.mark.parametrize(
    "document",
    [
        "[" * 3000,
        '{"GPU": ' + "[" * 3000,
        '{"GPU": [1, null, "x", {}, [], {"PCI": [[[[[[[[[[1]]]]]]]]]]}]}',
        '{"GPU": {"a": 1}}',
        "null",
        '{"a": %s}' % ("9" * 5000),
    ],
)
def test_json_of_another_shape(document):
    section = samples.read("mthreads", {"-q -j": document})
    assert section["detection"]["state"] == "unavailable"


def test_a_device_type_of_two_words():
    text = samples.gmi_table([("MTT S3000", "16x(16x)", "20MiB(32768MiB)", "50C", "N/A")]).replace("Physical  ", "MPC Parent")
    extra = samples.read("mthreads", {"": text})["devices"][0]["extra"]
    assert (extra["device_type"], extra["performance_state"]) == ("MPC Parent", "P0")
