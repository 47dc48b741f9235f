# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public MetaX capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import json
import os
import re

import elsewhere
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import metax
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording
from health_nodes import ask

# path: (program, name, PCI, °C, W, W limit, used MiB, total MiB, persistence, sGPU mode, driver, tool, runtime, its version, BIOS)
TABLES = {
    "ht-smi-mars-x201.txt": (
        "ht-smi", "Mars X201", "0000:98:00.0", 44, 38, 350, 858, 65536, False, False, "3.8.1", "2.3.1", "HPCC", "3.7.1.5", "1.31.1.0",
    ),
    "mx-smi-c500-2.3.1.txt": (
        "mx-smi", "MetaX C500", "0000:12:00.0", 32, 37, 350, 826, 65536, False, False, "3.8.30", "2.3.1", "MACA", "3.7.1.5", "1.33.5.0",
    ),
    "mx-smi-c500-container-2.2.4.txt": (
        "mx-smi", "MetaX C500", "0000:01:00.0", 45, 48, 350, 858, 65536, None, None, "2.14.8", "2.2.4", "MACA", "2.33.0.5", "1.24.4.0",
    ),
}  # fmt: skip
LIST, JSON, REFUSED = "mx-smi-L-sgpu-7-unaccessible.txt", "mx-smi-j.txt", "mx-smi-q-parse-error.txt"
# what each option tells of the one GPU of that node
LOGS = {
    "mx-smi-show-board-power.txt": ("--show-board-power", lambda d: (d["power_w"]["draw"], d["power_w"]["limit"]), (62.015, 350.0)),
    "mx-smi-show-clk-tr.txt": ("--show-clk-tr", lambda d: d["throttle"], {"active": []}),
    "mx-smi-show-ecc-state.txt": ("--show-ecc-state", lambda d: d["ecc"]["mode"], "enabled"),
    "mx-smi-show-hwinfo.txt": (
        "--show-hwinfo",
        lambda d: (d["name"], d["extra"]["chip"], d["identity"]["serial"]["value"], d["extra"]["memory_type"], d["extra"]["memory_capacity"]),
        ("MetaX C500", "MXC500", "QNJN8840486911", "HBM2e", "64GB"),
    ),
    "mx-smi-show-temperature.txt": ("--show-temperature", lambda d: d["temperature_c"]["core"], 38.5),
    "mx-smi-show-version.txt": (
        "--show-version",
        lambda d: (d["firmware"]["vbios"], d["firmware"]["smp0"], d["firmware"]["ccx2"], d["firmware"]["vr1"], d["firmware"]["mcu"], len(d["firmware"])),
        ("1.33.5.0", "1.33.5.0", "1.33.0.0", "0.13.0.5", "1.2.6.0", 9),
    ),
    "mx-smi-topo-m-single.txt": ("topo -m", lambda d: (d["numa_node"], d["extra"]["topology"]), (0, {})),
}
OTHERS = ("mx-smi-show-pcie.txt", "mx-smi-count-ecc-retired.txt", "mx-smi-process-table.txt", "mx-smi-topo-m-c500x8-node.txt", LIST, JSON, REFUSED)
# Asserted by the test of another reader, which is looked for.
ELSEWHERE = {"mx-smi-topo-n-c500x8-nic6.txt": "test_captures_paths.py"}


@pytest.fixture
def read(captures, tmp_path):
    """read({"-L": capture or text with a newline}): the section, through a recording that names the captures."""

    def section(commands, pci=(), program="mx-smi"):
        entries = [{"argv": ["mx-smi"], "missing": True}] if program != "mx-smi" else []
        for words, name in commands.items():
            said = {"stdout": name} if "\n" in name else {"stdout_file": os.path.relpath(captures / "metax" / name, tmp_path)}
            entries.append(dict({"argv": [program, *words.split()]}, **said))
        files = {"/dev": {"dir": []}, "/sys/bus/pci/devices": {"dir": []}}
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": entries}
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document))
        return metax.collect(ReplayHost(recording.load(path)), list(pci))

    return section


def plain(value):
    return None if is_unknown(value) else value


def test_every_capture_has_an_entry_and_every_entry_a_capture(captures):
    lines = (captures / "INDEX-vendors.tsv").read_text(encoding="utf-8").splitlines()[1:]
    indexed = {line.split("\t")[0] for line in lines if line.startswith("metax/")}
    present = {"metax/" + path.name for path in (captures / "metax").iterdir()}
    assert indexed | present == {"metax/" + name for name in (*TABLES, *LOGS, *OTHERS, *ELSEWHERE)}


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_asserted_elsewhere_is(name):
    assert elsewhere.names(ELSEWHERE[name], "metax/" + name)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_table(read, name):
    program, model, pci, heat, draw, limit, used, total, persistence, sgpu, driver, tool, runtime, runtime_version, bios = TABLES[name]
    section = read({"": name}, program=program)
    assert (section["detection"]["state"], section["detection"]["accelerators"], section["detection"]["detail"]) == ("ok", 1, model + " x1")
    device = section["devices"][0]
    assert (device["index"], device["name"], device["identity"]["pci"]["value"]) == (0, model, pci)
    assert (device["temperature_c"]["core"], device["power_w"]["draw"], device["power_w"]["limit"]) == (heat, draw, limit)
    assert (device["memory_used_mib"], device["memory_mib"], device["utilization_percent"], device["processes"]) == (used, total, 0, 0)
    assert (plain(device["persistence"]), plain(device["partition"]["enabled"]), device["health"]["state"]) == (persistence, sgpu, "ok")
    assert device["firmware"]["vbios"] == bios
    assert [section["driver"][key] for key in ("version", "tool_version", "runtime", "runtime_version")] == [driver, tool, runtime, runtime_version]


@pytest.mark.parametrize("name", sorted(LOGS))
def test_option(read, name):
    option, told, expected = LOGS[name]
    section = read({"-j": JSON, option: name}) if option == "topo -m" else read({"-L": "GPU#0    MXC500      0000:37:00.0   Available\n", option: name})
    assert told(section["devices"][0]) == expected


def test_seven_that_are_there_and_not_accessible(read):
    section = read({"-L": LIST, "-j": JSON})
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("unavailable", 8)
    whole = [device for device in section["devices"] if device["kind"] == "package"]
    assert [device["health"]["state"] for device in whole] == ["ok"] + ["failed"] * 7
    assert whole[1]["health"]["detail"] == "Not Available(MetaX Sysfs File Unaccessible)"
    assert (whole[0]["identity"]["pci"]["value"], whole[6]["identity"]["pci"]["value"]) == ("0000:37:00.0", "0000:36:00.0")
    part = section["devices"][1]
    assert (part["id"], part["memory_mib"], part["partition"]["profile"], part["identity"]["uuid"]["value"]) == (
        "metax:0/sgpu:3", 16000, "25%", "GPU-23cd99e9-7862-d4be-8bf9-bc07ad279f7f",
    )  # fmt: skip


def test_json(read):
    section = read({"-j": JSON})
    assert (section["detection"]["accelerators"], section["driver"]["tool_version"], section["driver"]["version"]) == (1, "2.2.12", "3.8.30")
    assert section["driver"]["runtime_version"] == "3.5.3.20"
    package, part = section["devices"]
    assert (package["temperature_c"]["core"], package["utilization_percent"], package["firmware"]["vbios"]) == (38.5, 0, "1.33.5.0")
    assert (package["ecc"]["corrected_volatile"], package["ecc"]["uncorrected_volatile"], package["extra"]["pci_events"]) == (0, 0, {})
    assert (package["partition"]["enabled"], part["memory_mib"], part["partition"]["profile"], part["memory_used_mib"]) == (True, 16000, "25%", 0)


def test_retired_pages(read):
    listing = "".join("GPU#%d    MXC500      %s   Available\n" % (n, bdf) for n, bdf in enumerate(("0000:08:00.0", "0000:09:00.0", "0000:0e:00.0")))
    section = read({"-L": listing, "--count-ecc": "mx-smi-count-ecc-retired.txt"})
    assert [device["retired_pages"]["uncorrected"] for device in section["devices"]] == [0, 4, 1]
    sections = {"accelerators.metax": section, "host": synthetic.host()}
    assert ask("retired-pages", sections) == [("metax:0", "passed", None), ("metax:1", "found", "warn"), ("metax:2", "found", "warn")]
    assert [device["ecc"]["corrected_volatile"] for device in section["devices"]] == [0, 0, 0]
    assert all(is_unknown(device["ecc"]["uncorrected_volatile"]) for device in section["devices"])


def test_a_full_link(read, captures):
    """--show-pcie prints what the kernel tells of the function; the card is asked for the rest."""
    text = (captures / "metax" / "mx-smi-show-pcie.txt").read_text(encoding="utf-8")
    address = re.search(r"GPU#0 +\S+ +(\S+)", text).group(1)
    files = {}
    for key, name in (("Current Speed", "current_link_speed"), ("Current Width", "current_link_width"), ("Max Speed", "max_link_speed")):
        files[name] = re.search(r"%s +: (?:x)?(\S+(?: GT/s)?)" % key, text).group(1)
    files["max_link_width"] = re.search(r"Max Width +: x(\d+)", text).group(1)
    files = {"%s/%s/%s" % (pci.DEVICES, address, name): value + "\n" for name, value in files.items()}
    host = ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": []})
    link = pci.link(host, address)
    assert link == {"width_current": 16, "width_max": 16, "speed_current_gts": 32.0, "speed_max_gts": 32.0}
    entry = {"address": address, "role": "accelerator", "numa_node": 0, "pcie": link, "upstream": link}
    section = read({"-L": "GPU#0    MXC500      %s   Available\n" % address}, pci=[entry])
    sections = {"accelerators.metax": section, "host": synthetic.host(), "pci": synthetic.pci([dict(synthetic.pci_entry(0, "metax"), **entry)])}
    assert [ask(rule, sections)[0][1] for rule in ("pcie-width", "pcie-generation")] == ["passed"] * 2


def test_peers(read, captures):
    found = metax.parse_topology((captures / "metax" / "mx-smi-topo-m-c500x8-node.txt").read_text())
    assert sorted(found) == list(range(8))
    assert all(sorted(words.values()) == ["MX"] * 3 + ["NODE"] * 4 and node == "0" for words, node in found.values())
    assert sorted(peer for peer, word in found[5][0].items() if word == "MX") == ["GPU4", "GPU6", "GPU7"]


def test_processes(captures):
    assert metax.parse_table((captures / "metax" / "mx-smi-process-table.txt").read_text())["processes"] == {0: 1, 1: 1}


@pytest.mark.parametrize("name", [REFUSED, "mx-smi-process-table.txt", "mx-smi-topo-n-c500x8-nic6.txt"])
def test_an_answer_to_something_else_is_never_a_device(read, name):
    section = read({"": name, "-L": name, "-j": name})
    assert (section["devices"], section["detection"]["state"]) == ([], "unavailable")
    assert is_unknown(section["detection"]["accelerators"])
