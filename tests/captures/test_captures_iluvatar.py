# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Iluvatar capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import gmi_captures as captured
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
# Why nothing of the reader of a node asks them.
NOT_READ = {
    "ixsmi-awk-condensed-8.txt": "ixsmi | awk (a script's five columns, without a name)",
    "lspci-mr-v100.txt": "lspci (PCI is read from /sys: test_captures_host_pci.py)",
}


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    assert not set(READ) & set(NOT_READ)
    assert captured.known("iluvatar") == {*READ, *NOT_READ}


@pytest.mark.parametrize("name", sorted(READ))
def test_capture(name, tmp_path):
    READ[name](captured.Node(tmp_path, "iluvatar"), name)


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_a_capture_of_another_command_is_never_a_device(name, tmp_path):
    section = captured.Node(tmp_path, "iluvatar").section({"-q -x": name, "": name})
    assert (section["devices"], captured.verdict(section)) == ([], ("unavailable", "?"))
