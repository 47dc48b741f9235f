# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Iluvatar capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import re

import gmi_captures as captured
import gmi_samples as samples
import lspci_captures
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable

pytestmark = captured.NEEDED
SHOWN = ("name", "identity.pci", "temperature_c.core", "power_w.draw", "power_w.limit", "memory_used_mib", "memory_mib", "utilization_percent", "processes")


def one_bi_v100(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 1)
    assert captured.shown(section, *SHOWN) == [("iluvatar:0", "Iluvatar BI-V100", "0000:00:06.0", 35, 56, 250, 9, 32768, 0, 0)]
    assert (section["driver"]["library_version"], section["driver"]["version"]) == ("4.0.0", "4.2.0")
    assert section["note"].startswith("the driver is 4.2.0, the library of ixsmi 4.0.0")


def one_bi_v150s(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 1)
    assert captured.shown(section, *SHOWN) == [("iluvatar:0", "Iluvatar BI-V150S", "0000:8a:00.0", 33, "?", "?", 114, 32768, 0, 0)]
    assert (section["driver"]["library_version"], section["driver"]["version"]) == ("4.0.0", "4.1.0")


def one_board_of_two_chips(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 2)
    first, second = section["devices"]
    assert [first["name"], second["name"]] == ["Iluvatar MR-V100 DUO"] * 2
    assert [first["identity"]["pci"]["value"], second["identity"]["pci"]["value"]] == ["0000:35:00.0", "0000:38:00.0"]
    assert [first["temperature_c"]["core"], second["temperature_c"]["core"]] == [37, 36]
    assert all(is_not_applicable(value) for value in first["power_w"].values())  # the board's, told by its second chip
    assert (first["extra"]["board_of"], second["power_w"]["draw"], second["power_w"]["limit"]) == ("iluvatar:1", 40, 350)
    assert [(d["memory_used_mib"], d["memory_mib"], d["processes"]) for d in section["devices"]] == [(68, 32768, 0)] * 2
    assert (section["driver"]["library_version"], section["driver"]["version"]) == ("4.4.0", "4.4.0")


def versions_of_a_manual(node, path):
    section = node.section({"": path})
    assert captured.verdict(section) == ("ok", 1)
    assert captured.shown(section, *SHOWN) == [("iluvatar:0", "Iluvatar BI-V150S", "0000:8a:00.0", 33, "?", "?", 114, 32768, 0, 0)]
    assert captured.plain(section["driver"]["version"]) == captured.plain(section["driver"]["library_version"]) == "?"


READ = {
    "ixsmi-4.0.0-bi-v100-1.txt": one_bi_v100,
    "ixsmi-4.0.0-bi-v150s-1.txt": one_bi_v150s,
    "ixsmi-4.4.0-mrv100-duo-2.txt": one_board_of_two_chips,
    "ixsmi-version-placeholders.txt": versions_of_a_manual,
}
CONDENSED, BUS = "ixsmi-awk-condensed-8.txt", "lspci-mr-v100.txt"


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    assert captured.known("iluvatar") == {*READ, CONDENSED, BUS}


@pytest.mark.parametrize("name", sorted(READ))
def test_capture(name, tmp_path):
    READ[name](captured.Node(tmp_path, "iluvatar"), name)


def test_what_a_script_left_of_the_table():
    """The five columns of each card, put back into the table that the script took them from; the name is that of the host it is of."""
    told = [line.split() for line in (captured.ROOT / "iluvatar" / CONDENSED).read_text().splitlines() if "MiB" in line]
    cards = [("Iluvatar BI-V100", heat, "%s / 250W" % power, used, total) for heat, power, used, total, _use in told]
    section = samples.read("iluvatar", {"": samples.ixsmi_table(cards)})
    assert captured.verdict(section) == ("ok", 8)
    assert [d["temperature_c"]["core"] for d in section["devices"]] == [26] * 7 + [25]
    assert [d["power_w"]["draw"] for d in section["devices"]] == [50, 51, 53, 52, 52, 52, 52, 52]
    assert {(d["memory_used_mib"], d["memory_mib"]) for d in section["devices"]} == {(513, 32768)} and {row[4] for row in told} == {"0%"}


def test_the_bus():
    """The author's own words for lspci -vv, as the tree that lspci read."""
    text = (captured.ROOT / "iluvatar" / BUS).read_text()
    vendor, device = re.search(r"Device \[(\w{4}):(\w{4})\]", text).groups()
    plain = re.sub(r" \[1200\]: Device \[.*?\]", ": Device", text).replace("Kernel driver", "\tKernel driver")
    (entry,) = lspci_captures.accelerators(plain, "iluvatar", vendor, device)
    assert (entry["address"], entry["vendor"], entry["device"], entry["driver"]) == ("0000:15:00.0", "1e3e", "0002", "iluvatar")
    # the number of the node is the card's own, not its place in the list
    node = samples.read("iluvatar", {"-q -x": samples.ixsmi_xml([{"minor_number": "3"}])}, nodes=["iluvatar3"])
    assert node["devices"][0]["device_nodes"] == ["/dev/iluvatar3"]


@pytest.mark.parametrize("name", [CONDENSED, BUS])
def test_a_capture_of_another_command_is_never_a_device(name, tmp_path):
    section = captured.Node(tmp_path, "iluvatar").section({"-q -x": name, "": name})
    assert (section["devices"], captured.verdict(section)) == ([], ("unavailable", "?"))
