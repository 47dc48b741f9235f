# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every public Moore Threads capture: what our reader makes of it, exactly; or which command it belongs to that we do not run."""

from __future__ import annotations

import gmi_captures as captured
import pytest

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
# Why nothing of the reader of a node asks them.
NOT_READ = {
    "mthreads-gmi-not-in-container.txt": "docker run (the container runtime's refusal, not the tool's)",
    "mthreads-gmi-q-condensed.txt": "mthreads-gmi -q | awk (a script's five columns, without a name)",
}


def test_every_capture_has_an_entry_and_every_entry_a_capture():
    assert not set(READ) & set(NOT_READ)
    assert captured.known("mthreads") == {*READ, *NOT_READ}


@pytest.mark.parametrize("name", sorted(READ))
def test_capture(name, tmp_path):
    READ[name](captured.Node(tmp_path, "mthreads"), name)


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_a_capture_of_another_command_is_never_a_device(name, tmp_path):
    for words in ("-q -j", "-q", ""):
        section = captured.Node(tmp_path, "mthreads").section({words: name})
        assert (section["devices"], captured.verdict(section)) == ([], ("unavailable", "?"))
