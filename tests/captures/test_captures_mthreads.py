# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Moore Threads capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import json
import re

import engine_samples
import gmi_captures as captured
import gmi_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import probe_judge, probe_script
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Command
from health_nodes import ask

pytestmark = captured.NEEDED
SHOWN = ("name", "identity.pci", "temperature_c.core", "memory_used_mib", "memory_mib", "pcie.width_current", "pcie.width_max", "ecc.mode", "processes")


def eight_s5000(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 8)
    heat = (48, 48, 49, 48, 48, 50, 48, 49)
    buses = ("18", "3a", "4b", "5c", "9a", "ba", "ca", "da")
    assert captured.shown(section, *SHOWN) == [
        ("mthreads:%d" % n, "MTT S5000", "0000:%s:00.0" % buses[n], heat[n], 0, 81920, 16, 16, "enabled", 0) for n in range(8)
    ]
    assert {device["extra"]["ecc_mode"] for device in section["devices"]} == {"On-die, EDC"}
    assert {captured.plain(device["power_w"]["draw"]) for device in section["devices"]} == {"?"}
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("2.4.1", "5.1.0-server")


def one_s80_with_four_lanes(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 1)
    assert captured.shown(section, *SHOWN) == [("mthreads:0", "MTT S80", "0000:04:00.0", 49, 2, 16384, 4, 16, "?", 0)]
    assert (section["driver"]["tool_version"], section["driver"]["version"]) == ("1.14.0", "2.7.0")


READ = {
    "mthreads-gmi-s5000x8-2.4.1.txt": eight_s5000,
    "mthreads-gmi-s80-4x-of-16x-1.14.0.txt": one_s80_with_four_lanes,
}
REFUSED, CONDENSED = "mthreads-gmi-not-in-container.txt", "mthreads-gmi-q-condensed.txt"


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    assert captured.known("mthreads") == {*READ, REFUSED, CONDENSED}


@pytest.mark.parametrize("name", sorted(READ))
def test_capture(name, tmp_path):
    READ[name](captured.Node(tmp_path, "mthreads"), name)


def test_what_a_script_left_of_the_log():
    """The five columns of each card, put back into the log that the script took them from."""
    told = [line.split() for line in (captured.ROOT / "mthreads" / CONDENSED).read_text().splitlines()]
    places = ("Temperature/GPU Current Temp", "Power Readings/Power Draw ", "FB Memory Usage/Used", "FB Memory Usage/Total", "Utilization/Gpu")
    # the maker's board of 32 GiB
    cards = [samples.gmi_card(position, **dict(zip(places, values)), **{"Product Name": "MTT S3000"}) for position, values in enumerate(told)]
    devices = samples.read("mthreads", {"-q -j": samples.gmi_json(cards)})["devices"]
    assert [d["temperature_c"]["core"] for d in devices] == [45, 44, 46, 43, 44, 46, 44, 44]
    assert [d["power_w"]["draw"] for d in devices] == [109.51, 108.95, 110.87, 104.33, 107.55, 110.51, 106.59, 104.58]
    assert [(d["memory_used_mib"], d["memory_mib"], d["utilization_percent"]) for d in devices] == [(n, 32768, 0) for n in (1, 1, 1, 1, 8, 8, 8, 8)]


def test_a_container_without_the_vendors_runtime():
    """The words name the program that made it, runc, where the vendor's handler puts the tool into the container: so it is not the default."""
    said = (captured.ROOT / "mthreads" / REFUSED).read_text()
    made_by = re.search(r"(\w+) create failed: unable to start", said).group(1)
    plain, theirs = {made_by: {"path": "runc"}}, {"mthreads": {"path": "mthreads-container-runtime"}}
    devices, entries = [synthetic.device(0, "mthreads", "MTT S4000")], [synthetic.pci_entry(0, "mthreads")]
    sections = {"host": synthetic.host(), "pci": synthetic.pci(entries), "accelerators.mthreads": synthetic.section(devices, "mthreads", on_bus=entries)}
    shown = "Id=containerd.service\nActiveState=inactive\nMainPID=0\n\nId=docker.service\nActiveState=active\nMainPID=88\n"
    for handlers, default, expected in (
        ({**plain, **theirs}, made_by, ("passed", "found")),
        (plain, made_by, ("found", "found")),
        ({**plain, **theirs}, "mthreads", ("passed", "passed")),
    ):
        info = json.dumps(dict(engine_samples.INFO, DefaultRuntime=default, Runtimes=handlers))
        asked = [engine_samples.command(engine_samples.SYSTEMCTL, shown), engine_samples.command(engine_samples.DOCKER, info)]
        files = {"/proc/88/cmdline": "/usr/bin/dockerd\0"}
        programs = ("docker", "dockerd", "runc", "mthreads-container-runtime")
        sections["container_runtime"] = engine_samples.section(programs, asked, files)
        assert tuple(ask(rule, sections)[0][1] for rule in ("runtime-handler", "runtime-default-handler")) == expected
    # a probe that ends so was refused by the engine, and says nothing of the accelerator
    answer = Command(["docker", "run"], answers.OK, 127, "", said, 1.0, "")
    told = probe_judge.ran(answer, "docker", probe_script.MAPS)
    assert probe_judge.quota(("12282", ""), told, False)[:2] == ("ok", "simulated")


@pytest.mark.parametrize("name", [REFUSED, CONDENSED])
def test_a_capture_of_another_command_is_never_a_device(name, tmp_path):
    for words in ("-q -j", "-q", ""):
        section = captured.Node(tmp_path, "mthreads").section({words: name})
        assert (section["devices"], captured.verdict(section)) == ([], ("unavailable", "?"))
