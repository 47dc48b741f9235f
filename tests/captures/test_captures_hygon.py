# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Hygon capture: what our reader makes of it, exactly; or what it belongs to that we do not read."""

from __future__ import annotations

import json
import os

import elsewhere
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

# path: (°C, W, W limit, memory used %, utilization %, performance level); the mode is Normal in all of them
IDLE = [59, 61, 60, 59, 60, 62, 58, 58], [114, 109, 106, 107, 118, 113, 106, 115], 400, [0] * 8, [0] * 8, "auto"
LOADED = [59, 61, 60, 59, 59, 61, 58, 58], [114, 109, 105, 107, 118, 113, 106, 116], 400, [91] + [90] * 7, [0] * 8, "auto"
TABLES = {
    "hy-smi-bw-8-loaded-dec-enc.txt": (
        [55, 53, 57, 57, 51, 51, 57, 60], [511, 504, 481, 499, 489, 515, 521, 519], 800, [98] * 8, [100] * 8, "manual",
    ),
    "hy-smi-bw1000-2-cap1000w.txt": ([50, 52], [80, 89], 1000, [0, 0], [0, 0], "auto"),
    "hy-smi-bw101-1.txt": ([46], [51], 400, [0], [0], "auto"),
    "hy-smi-k100ai-8-pod-loaded.txt": LOADED,
    "hy-smi-k100ai-8.txt": IDLE,
}  # fmt: skip
CUT = "hy-smi-bw-8-loaded-dec-enc.txt"  # its last line is not part of the excerpt
HEALTH = "hy-smi-healthcheck-line.txt"
NOT_FOUND = "hy-smi-not-found.txt"
# Asserted by the test of another reader, which is looked for.
ELSEWHERE = {"lsmod-hycu-6.3.txt": "test_captures_host_sysfs.py"}
ALL = "-a --showmeminfo vram --showtoponuma --json"


@pytest.fixture
def read(captures, tmp_path):
    """read({"": capture, or an entry of the recording}): the section, through a recording that names the captures."""

    def section(commands, pci=None, files=None):
        entries = [{"argv": ["rocm-smi", *ALL.split()], "missing": True}]
        for words, said in commands.items():
            said = {"stdout_file": said} if isinstance(said, str) else said
            said = {key: os.path.relpath(captures / "hygon" / value, tmp_path) if key.endswith("_file") else value for key, value in said.items()}
            entries.append(dict({"argv": ["hy-smi", *words.split()]}, **said))
        every = dict({"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}, "/sys/module": {"dir": []}}, **(files or {}))
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": every, "commands": entries}
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document))
        return hygon.collect(ReplayHost(recording.load(path)), pci)

    return section


def names(count):
    """JSON of our own that names the cards, for the captures are tables without names."""
    return {"stdout": json.dumps({"card%d" % n: {"Card Series": "BW1000"} for n in range(count)})}


def test_every_capture_has_an_entry_and_every_entry_a_capture(captures):
    index = (captures / "INDEX-vendors.tsv").read_text(encoding="utf-8").splitlines()
    indexed = {line.split("\t")[0] for line in index if line.startswith("hygon/")}
    assert indexed | {"hygon/" + path.name for path in (captures / "hygon").iterdir()} == {"hygon/" + n for n in (*TABLES, HEALTH, NOT_FOUND, *ELSEWHERE)}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_table(name, read):
    heat, draw, cap, memory, use, level = TABLES[name]
    count = len(heat)
    section = read({"": name, ALL: names(count), "--healthcheck": {"rc": 2, "stderr": "usage: hy-smi\n"}})
    devices = section["devices"]
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("ok", count)
    assert ("it has no end" in section["note"]) is (name == CUT)
    assert [device["temperature_c"]["core"] for device in devices] == heat
    assert [(device["power_w"]["draw"], device["power_w"]["limit"]) for device in devices] == [(watts, cap) for watts in draw]
    assert [device["extra"]["memory_used_percent"] for device in devices] == memory
    assert [device["utilization_percent"] for device in devices] == use
    assert {(device["extra"]["performance_level"], device["extra"]["mode"], device["health"]["state"]) for device in devices} == {(level, "Normal", "ok")}
    # alone it names no card, and a cut one has no number
    alone = read({"": name})
    assert (alone["detection"]["state"], len(alone["devices"])) == ("unavailable", count)
    assert is_unknown(alone["detection"]["accelerators"])
    assert ("it has no end" in alone["detection"]["reason"]) is (name == CUT)
    assert all(is_unknown(device["name"]) for device in alone["devices"])


def test_healthcheck(read):
    section = read({ALL: {"stdout": json.dumps({"card0": {"Card Series": "K100_AI", "PCI Bus": "0000:09:00.0"}})}, "": {"stdout": ""}, "--healthcheck": HEALTH})
    assert section["devices"][0]["health"] == {"state": "ok", "detail": "healthcheck: Healthy"}


def test_not_found_is_no_proof_that_nothing_is_there(read):
    answer = {"rc": 127, "stderr_file": NOT_FOUND}
    section = read({ALL: answer}, pci=[{"address": "0000:09:00.0", "role": "accelerator"}])
    assert (section["detection"]["state"], section["devices"]) == ("unavailable", [])
    assert [source["source"].split()[0] for source in section["sources"]][:3] == ["hy-smi", "/opt/hyhal/bin/hy-smi", "/usr/local/hyhal/bin/hy-smi"]
    assert "command not found" in section["detection"]["reason"]


def test_the_new_name_of_the_module(read):
    section = read({"": "hy-smi-bw101-1.txt"}, files={"/sys/module": {"dir": ["hycu"]}, "/sys/module/hycu/version": "6.3.8\n"})
    assert section["driver"]["version"] == "6.3.8"


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_asserted_elsewhere_is(name):
    assert elsewhere.names(ELSEWHERE[name], "hygon/" + name)


def test_the_driver_is_loaded_by_its_new_name(read, captures):
    """lsmod, turned into the listing that it prints."""
    loaded = [line.split()[0] for line in (captures / "hygon" / "lsmod-hycu-6.3.txt").read_text().splitlines() if line.strip()]
    section = read({"": "hy-smi-k100ai-8.txt", ALL: names(8)}, files={"/sys/module": {"dir": loaded}, "/sys/module/hycu/version": "6.3.9\n"})
    assert "hydcu" not in loaded and (section["driver"]["version"], section["detection"]["state"]) == ("6.3.9", "ok")


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_a_capture_of_another_command_is_never_a_device(name, read):
    section = read({"": name, ALL: name})
    assert (section["devices"], section["detection"]["state"]) == ([], "unavailable")
