# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Cambricon capture: what our reader makes of it, exactly; or what it belongs to that we do not read."""

from __future__ import annotations

import json
import os

import lspci_captures
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import cambricon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

# path: (state, count, name, firmware, [°C], [W], W limit, [used MiB], total MiB, [PCI], compute mode, ECC, driver, tool); None: unknown
TABLES = {
    "cnmon-1.16.0-mlu220-m2.txt": ("ok", 1, "MLU220-M2", "v1.1.1", [51], [3.7], 8.25, [967], 4096, [None], None, None, "v4.6.9", "1.16.0"),
    "cnmon-4.20.11-mlu370-x4-3.txt": (
        "ok", 3, "MLU370-X4", "v1.1.6", [32, 33, 30], [30, 25, 26], 150, [0, 0, 0], 23308, [None] * 3, None, "disabled", "v4.20.11", "v4.20.11",
    ),
    "cnmon-5.10.10-mlu370-x4-exclusive.txt": (
        "ok", 2, "MLU370-X4", "v1.1.6", [41, 41], [27, 27], 150, [0, 0], 23308, ["0000:1b:00.0", "0000:36:00.0"], "Exclusive", "disabled",
        "v5.10.10", "v5.10.10",
    ),
    "cnmon-5.10.13-mlu370-x8-2.txt": (
        "ok", 2, "MLU370-X8", "v1.1.6", [32, 39], [106, 106], 250, [0, 0], 23374, ["0000:39:00.0", "0000:3d:00.0"], "Default", "disabled",
        "v5.10.13", "v5.10.13",
    ),
}  # fmt: skip
INFO = "cnmon-info-4.20.18-no-health.txt"
NONE = "cnmon-no-devices.txt"
BUS = "lspci-v-mlu220.txt"
# What has no passive state to be concluded from: cntopo proposes rings to a job that names its devices; it tells no fault and no link that is missing.
NOT_READ = {"cntopo-find.json": "cntopo find: rings for a job over the paths between devices"}


@pytest.fixture
def read(captures, tmp_path):
    """read({"info": capture}): the section, through a recording that names the captures."""

    def section(commands, pci=None):
        entries = [
            {"argv": ["cnmon", *words.split()], "stdout_file": os.path.relpath(captures / "cambricon" / name, tmp_path)} for words, name in commands.items()
        ]
        files = {"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}}
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": entries}
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document))
        return cambricon.collect(ReplayHost(recording.load(path)), pci)

    return section


def plain(value):
    return value if is_known(value) else None


def test_every_capture_has_an_entry_and_every_entry_a_capture(captures):
    index = (captures / "INDEX-vendors.tsv").read_text(encoding="utf-8").splitlines()
    indexed = {line.split("\t")[0] for line in index if line.startswith("cambricon/")}
    assert indexed | {"cambricon/" + path.name for path in (captures / "cambricon").iterdir()} == {
        "cambricon/" + n for n in (*TABLES, INFO, NONE, BUS, *NOT_READ)
    }


@pytest.mark.parametrize("name", sorted(TABLES))
def test_table(name, read):
    state, count, model, firmware, heat, draw, cap, used, total, buses, compute, ecc, driver, tool = TABLES[name]
    section = read({"": name})
    devices = section["devices"]
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == (state, count)
    assert [device["name"] for device in devices] == [model] * count
    assert [device["firmware"] for device in devices] == [{"mlu": firmware}] * count
    assert [device["temperature_c"]["core"] for device in devices] == heat
    assert [(device["power_w"]["draw"], device["power_w"]["limit"]) for device in devices] == [(watts, cap) for watts in draw]
    assert [(device["memory_used_mib"], device["memory_mib"]) for device in devices] == [(mib, total) for mib in used]
    assert [plain(device["identity"]["pci"]["value"]) for device in devices] == buses
    assert [device["extra"].get("compute_mode") for device in devices] == [compute] * count
    assert [device["ecc"].get("mode") for device in devices] == [ecc] * count
    assert [device["processes"] for device in devices] == [0] * count
    assert [device["utilization_percent"] for device in devices] == [0] * count
    assert all(is_unknown(device["health"]) for device in devices)  # only cnmon info has a word for it
    assert (section["driver"]["version"], section["driver"]["tool_version"]) == (driver, tool)


def test_info_of_the_4_line_has_no_health(read):
    section = read({"info": INFO}, pci=[{"address": "0000:3b:00.0", "role": "accelerator"}])
    assert (section["detection"]["state"], section["detection"]["accelerators"], section["detection"]["detail"]) == ("ok", 1, "MLU370-S4 x1")
    (device,) = section["devices"]
    assert is_unknown(device["health"])
    assert (device["extra"]["board_temperature_c"], is_unknown(device["temperature_c"]["core"])) == (49, True)
    assert (device["memory_used_mib"], device["memory_mib"], device["power_w"]["draw"], device["utilization_percent"]) == (4096, 23308, 38, 66)
    assert section["driver"]["version"] == "v4.20.18"


def test_no_devices_is_never_ok(read):
    section = read({"": NONE, "info": NONE})
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("not-declared", 0)
    section = read({"": NONE, "info": NONE}, pci=[{"address": "0000:3b:00.0", "role": "accelerator"}])
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("unavailable", 0)


def test_the_bus(captures):
    (entry,) = lspci_captures.accelerators((captures / "cambricon" / BUS).read_text(), "cambricon", "cabc", "0220")
    assert (entry["address"], entry["driver"], entry["role"]) == ("0002:21:00.0", "cambricon-pci-drv", "accelerator")


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_a_capture_of_another_command_is_never_a_device(name, read):
    section = read({"": name, "info": name})
    assert (section["devices"], section["detection"]["state"]) == ([], "unavailable")
