# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kunlunxin: the two tools of its own, Intel's tool of the same name, L3 that is not memory, and the number of the device node."""

from __future__ import annotations

import further_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

NODES = ["xpu2", "xpu3", "xpuctrl"]
BAR = ("R480", "44C", "88W", "310MiB", "32768MiB")


def read(commands, count=2):
    return samples.read("kunlunxin", commands, samples.bus("kunlunxin", count), NODES, module="kunlun")


def test_a_good_node():
    section = read({"-q": samples.xpu_query([{}, {"gen": 4, "dbe": 2}])})
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "P800 OAM x2")
    assert [entry["source"] for entry in section["sources"]] == ["xpu-smi -q"]
    device = section["devices"][1]
    assert (device["memory_mib"], device["memory_used_mib"], device["extra"]["l3_mib"]) == (98304, 310, 96)
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"], device["processes"]) == (44, 88.0, 400.0, 0)
    assert (device["pcie"]["generation_current"], device["pcie"]["generation_max"], device["ecc"]["uncorrected_volatile"]) == (4, 5, 2)
    assert (device["ecc"]["corrected_aggregate"], device["ecc"]["uncorrected_aggregate"], device["ecc"]["mode"]) == (3, 2, "enabled")
    assert [d["device_nodes"] for d in section["devices"]] == [["/dev/xpu2"], ["/dev/xpu3"]]  # the minor number, not the index
    assert device["firmware"] == {"all": "1.0.3"}
    driver = section["driver"]
    assert [driver[key] for key in ("version", "module_version", "runtime", "runtime_version")] == ["5.0.30.2", "7.8.9", "XPU-RT", "10.4"]


INTEL = {"-q": {"stdout": "The following argument was not expected: -q\nRun with --help for more information.\n", "rc": 106}}


@pytest.mark.parametrize(
    "said", ["Intel XPU System Management Interface -- v1.2\nUsage: xpu-smi [Options]\n", "CLI:\n    Version: 1.2\nLevel Zero Version: 1.6\n"]
)
def test_the_tool_of_intel_is_refused(said):
    commands = dict(INTEL, **{"": said, "xpu_smi -q": {"missing": True}})
    section = samples.read("kunlunxin", commands)
    assert (section["detection"]["state"], section["devices"]) == ("not-declared", [])
    assert "Intel's tool" in section["detection"]["reason"]
    section = read(commands)
    assert section["detection"]["state"] == "unavailable" and "PCI shows 2" in section["detection"]["reason"]


def test_a_table_in_the_look_of_ours_without_our_name_is_not_taken():
    table = samples.xpu_table([BAR] * 2).replace("XPU-RT", "Intel")
    section = read(dict(INTEL, **{"": table, "xpu_smi -q": {"missing": True}}))
    assert section["devices"] == [] and "Intel's tool" in section["detection"]["reason"]


def test_beside_the_tool_of_intel_the_older_tool_is_asked():
    commands = dict(INTEL, **{"": "Intel XPU System Management Interface\n", "xpu_smi -q": {"stdout": "unknown option -q\n", "rc": 1}})
    commands["xpu_smi"] = samples.xpu_table([BAR] * 2)
    section = read(commands)
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "R480 x2")
    assert section["sources"][-1]["source"] == "xpu_smi"


def test_the_table_as_the_last_way():
    section = read({"-q": "?", "": samples.xpu_table([BAR] * 2)})
    assert (section["detection"]["state"], section["devices"][0]["memory_mib"], section["devices"][0]["extra"]["sriov"]) == ("ok", 32768, "disabled")


@pytest.mark.parametrize("attached", [3, "", "N/A"])
def test_fewer_described_than_attached(attached):
    section = read({"-q": samples.xpu_query([{}] * 2, attached=attached)})
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)


@pytest.mark.parametrize("text", ["N/A", "-", "", "ERR!", "Unknown Error", "-5", "1e99"])
def test_what_is_no_value_is_unknown_and_never_zero(text):
    device = read({"-q": samples.xpu_query([{"total": text, "used": text, "heat": text, "draw": text, "dbe": text}] * 2)})["devices"][0]
    for value in (
        device["memory_mib"],
        device["memory_used_mib"],
        device["temperature_c"]["core"],
        device["power_w"]["draw"],
        device["ecc"]["uncorrected_volatile"],
    ):
        assert is_unknown(value), value
