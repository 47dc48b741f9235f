# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public T-Head capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import csv
import json
import os

import elsewhere
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import thead
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording
from health_nodes import ask

# path: ([PCI], [°C], [W], [used MiB], [use %], [processes], driver, tool, HGGC or None)
TABLES = {
    "ppu-smi-1.17-zw810e-vm-1.txt": (["0000:00:11.0"], [26], [57], [2], [0], [0], "2.1.1-rbd225", "1.17", None),
    "ppu-smi-1.28-zw810e-2-procs.txt": (["0000:08:00.0", "0000:7e:00.0"], [24, 23], [74, 77], [49, 9], [4, 0], [1, 0], "2.1.0-dbda51", "1.28", "13.0"),
}
HEADER, VERSIONS, LINKS, LIST = "ppu-smi-q-header.txt", "ppu-smi-q-d-version.txt", "ppu-smi-icn-s.txt", "ppu-smi-L-mig.txt"
HEAT, POWER, MIG = "ppu-smi-q-d-temperature.txt", "ppu-smi-q-d-power.txt", "ppu-smi-q-mig-mode.txt"
CLOCK = "ppu-smi-q-d-clock.txt"
NOT_LOADED, NONE = "ppu-smi-driver-not-loaded.txt", "ppu-smi-no-devices-comma-list.txt"
CLOCK, QUERY, PAGES = "ppu-smi-q-d-clock.txt", "ppu-smi-query-ppu-noheader.csv", "ppu-smi-query-retired-pages.csv"
# Asserted by the test of another reader, which is looked for.
ELSEWHERE = {"dmesg-alixpu-icn-topo-16.txt": "test_captures_kernel.py", "ppu-smi-topo-m-8.txt": "test_captures_paths.py"}
# The answer to a change that was refused: nothing of the node's state is in it, and no reader makes a change.
CHANGES = ("modprobe-alixpu-in-use.txt", "ppu-smi-dgi-inuse.txt")


@pytest.fixture
def read(captures, tmp_path):
    """read({"-q": capture or text with a newline}): the section, through a recording that names the captures."""

    def section(commands, pci=(), files=None):
        entries = []
        for words, name in commands.items():
            said = {"stdout": name} if "\n" in name else {"stdout_file": os.path.relpath(captures / "thead" / name, tmp_path)}
            entries.append(dict({"argv": ["ppu-smi", *words.split()]}, **said))
        files = dict({"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}}, **(files or {}))
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": entries}
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document))
        return thead.collect(ReplayHost(recording.load(path)), list(pci))

    return section


@pytest.fixture
def whole(captures):
    """The sections of a -q log, made of the captures of some of them: as one log of one PPU."""

    def text(*names):
        said = [(captures / "thead" / name).read_text(encoding="utf-8") for name in names]
        said = [part.split("\n", 1)[1] if part.startswith("PPU ") else part for part in said]
        return "Attached PPUs : 1\nPPU 00000000:3E:00.0\n    Product Name : PPU-ZW810E\n" + "".join(said)

    return text


def test_every_capture_has_an_entry_and_every_entry_a_capture(captures):
    lines = (captures / "INDEX-vendors.tsv").read_text(encoding="utf-8").splitlines()[1:]
    indexed = {line.split("\t")[0] for line in lines if line.startswith("thead/")}
    present = {"thead/" + path.name for path in (captures / "thead").iterdir()}
    read = (*TABLES, HEADER, VERSIONS, LINKS, LIST, HEAT, POWER, MIG, CLOCK, NOT_LOADED, NONE, CLOCK, QUERY, PAGES)
    assert indexed | present == {"thead/" + name for name in (*read, *ELSEWHERE, *CHANGES)}


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_asserted_elsewhere_is(name):
    assert elsewhere.names(ELSEWHERE[name], "thead/" + name)


def judged(rule, section):
    return [said for _ident, *said in ask(rule, {"accelerators.thead": section, "host": synthetic.host()})]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_table(read, name):
    pci, heat, draw, used, use, processes, driver, tool, hggc = TABLES[name]
    section = read({"": name})
    devices = section["devices"]
    assert (section["detection"]["state"], section["detection"]["detail"]) == ("ok", "PPU-ZW810E x%d" % len(pci))
    assert [device["identity"]["pci"]["value"] for device in devices] == pci
    assert ([d["temperature_c"]["core"] for d in devices], [d["power_w"]["draw"] for d in devices]) == (heat, draw)
    assert ([d["memory_used_mib"] for d in devices], [d["utilization_percent"] for d in devices], [d["processes"] for d in devices]) == (used, use, processes)
    assert {(d["memory_mib"], d["power_w"]["limit"], d["ecc"]["uncorrected_volatile"], d["partition"]["enabled"]) for d in devices} == {(98304, 400, 0, False)}
    runtime = section["driver"]["runtime_version"]
    assert (section["driver"]["version"], section["driver"]["tool_version"], runtime if is_known(runtime) else None) == (driver, tool, hggc)


def test_the_head_of_the_log(read):
    section = read({"-q": HEADER})
    device = section["devices"][0]
    assert (section["detection"]["state"], section["detection"]["detail"], device["name"]) == ("ok", "alixpu x1", "alixpu")
    assert device["identity"]["uuid"]["value"] == "PPU-562b87c1-ed20-ed4a-fa15-08109e45f4fd"
    assert (device["identity"]["serial"]["quality"], is_unknown(device["partition"]["enabled"]), device["persistence"]) == ("unread", True, False)
    assert (section["driver"]["version"], section["driver"]["runtime_version"]) == ("510.39.01", "11.6")


def test_sections_of_the_log(read, whole):
    device = read({"-q": whole(HEAT, POWER, MIG, CLOCK)})["devices"][0]
    heat = device["temperature_c"]
    assert (heat["core"], heat["memory"], heat["limit_core"], heat["limit_memory"], device["extra"]["temperature_slowdown_c"]) == (42, 42, 85, 95, 92)
    # 200 MHz of an idle card are normal, and nobody set less than its default
    assert device["clocks_mhz"] == {"core": 200, "memory": 1800, "core_max": 1700, "memory_max": 1800, "core_set": 1700, "core_default": 1700}
    assert device["power_w"] == {"draw": 51.99, "limit": 250.0, "limit_default": 250.0}
    assert (device["partition"]["enabled"], device["extra"]["mig_pending"]) == (True, "Enabled")


def test_clocks(read, whole):
    text = whole(CLOCK)
    section = read({"-q": text})
    clocks = section["devices"][0]["clocks_mhz"]
    assert clocks == {"core": 200, "memory": 1800, "core_max": 1700, "memory_max": 1800, "core_set": 1700, "core_default": 1700}
    # an idle card is slow and not limited; one that somebody set lower is found
    assert judged("clocks-lowered", section) == [["passed", None]] and judged("clocks-product", section) == [["passed", None]]
    lowered = text.replace(": 1700 MHz", ": 1200 MHz", 1)
    assert judged("clocks-lowered", read({"-q": lowered})) == [["found", None]]


def test_the_same_by_a_query(read, captures):
    """--query-ppu=gpu_bus_id,memory.total,power.limit,gpu_serial: put back into the log that has the same."""
    address, total, limit, serial = (captures / "thead" / QUERY).read_text().strip().split(", ")
    text = "Attached PPUs : 1\nPPU %s\n    Product Name : PPU-ZW810E\n    Serial Number : %s\n    Memory Usage\n        Total : %s\n" % (address, serial, total)
    (device,) = read({"-q": text + "    Power Readings\n        Enforced Power Limit : %s\n" % limit})["devices"]
    assert (device["identity"]["pci"]["value"], device["memory_mib"], device["power_w"]["limit"]) == ("0000:08:00.0", 98304, 400)
    assert device["identity"]["serial"] == {"value": "03853DA7C81DCB13", "quality": "good"} and len(serial) == 16


def test_a_retired_page(read, captures):
    """--query-retired-pages lists the pages that -q counts by their cause."""
    pages = list(csv.DictReader((captures / "thead" / PAGES).read_text().splitlines(), skipinitialspace=True))
    cause = {kind: sum(page["retired_pages.cause"] == kind for page in pages) for kind in ("Single Bit ECC", "Double Bit ECC")}
    text = "Attached PPUs : 1\nPPU 00000000:08:00.0\n    Product Name : PPU-ZW810E\n    PPU UUID : %s\n    Retired Pages\n" % pages[0]["uuid"]
    section = read({"-q": text + "".join("        %s : %d\n" % pair for pair in cause.items()) + "        Pending Page Blacklist : No\n"})
    assert section["devices"][0]["retired_pages"] == {"corrected": 1, "uncorrected": 0, "pending": False}
    assert section["devices"][0]["identity"]["uuid"]["value"].startswith("PPU-da117068")
    assert judged("retired-pages", section) == [["found", "warn"]] and judged("retired-pages-pending", section) == [["passed", None]]


def test_versions(read):
    driver = read({"-q": HEADER, "-q -d VERSION": VERSIONS})["driver"]
    assert [driver[key] for key in ("version", "library_version", "tool_version", "runtime_version")] == ["1.4.1-4a27c0", "1.0", "1.17", "11.1"]


def test_ports(read):
    devices = read({"": "ppu-smi-1.28-zw810e-2-procs.txt", "icn -s": LINKS})["devices"]
    assert devices[0]["extra"]["icn_ports"] == {"ports": 7, "active": 5, "inactive": [1, 2]}
    assert (devices[0]["links"]["kind"], devices[0]["links"]["up"], is_known(devices[0]["links"]["total"])) == ("icn", 5, False)


def test_instances(read, captures, whole):
    listed = thead.parse_list((captures / "thead" / LIST).read_text())
    assert [(card["index"], card["name"], len(card["instances"])) for card in listed] == [(0, "PPU", 0), (1, "PPU", 2)]
    text = whole(MIG)
    section = read({"-q": text.replace(": 1\n", ": 2\n", 1).replace("PPU 0", "PPU 00000000:3D:00.0\n    Product Name : PPU-ZW810E\nPPU 0", 1), "-L": LIST})
    assert (section["detection"]["accelerators"], [device["id"] for device in section["devices"]]) == (
        2,
        ["thead:0", "thead:1", "thead:1/mig:0", "thead:1/mig:1"],
    )
    assert section["devices"][2]["identity"]["uuid"] == {"value": "MIG-f0b75b0f-1af3-2d46-4d43-cf8db161915f0", "quality": "good"}


def test_the_driver_is_not_loaded(read):
    detection = read({"-q": NOT_LOADED, "": NOT_LOADED})["detection"]
    assert (detection["state"], is_unknown(detection["accelerators"])) == ("unavailable", True)
    assert detection["reason"] == "ppu-smi -q: Failed to open /dev/alixpu; init HGML error: driver is not loaded"


def test_none_is_none_only_where_pci_shows_none(read):
    assert read({"-q": NONE})["detection"]["state"] == "not-declared"
    assert read({"-q": NONE}, [{"address": "0000:3e:00.0"}])["detection"]["state"] == "unavailable"


@pytest.mark.parametrize("name", [*ELSEWHERE, *CHANGES, CLOCK, QUERY, PAGES, LINKS, LIST, MIG, VERSIONS])
def test_an_answer_to_something_else_is_never_a_count(read, name):
    section = read({"-q": name, "": name})
    assert (section["detection"]["state"], is_unknown(section["detection"]["accelerators"])) == ("unavailable", True)
