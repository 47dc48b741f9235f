# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What looks like a number and is none to int() or float()."""

from __future__ import annotations

import nine
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import hygon, nvidia_links, nvidia_smi, thead
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown, number, whole

HUGE, SQUARED = "9" * 5000, "\u00b2"


@pytest.mark.parametrize("text", [HUGE, HUGE + ".5", "9" * 31, 10**400, float("inf"), float("nan"), "-" + HUGE])
def test_no_possible_number(text):
    assert is_unknown(number(text, "memory"))


def test_numbers():
    assert [number(text, "memory") for text in (" 37 C", "-1", "81559 MiB", 1.5, "9" * 30)] == [37, -1, 81559, 1.5, int("9" * 30)]


def test_degrees():
    assert [number(text, "heat", "C") for text in ("46.0c", "51.0\u00b0C", "34\u2103", "28 C", "7")] == [46.0, 51.0, 34, 28, 7]
    assert is_unknown(number("46c", "power", "W"))


def test_whole():
    assert [whole(text) for text in ("0", "007", "18446744073709551615")] == [0, 7, 2**64 - 1]
    assert [whole(text) for text in ("", "-1", "+1", "1.0", "1\n", SQUARED, "\u0663", HUGE)] == [None] * 8


@pytest.mark.parametrize("digits", [HUGE, SQUARED])
def test_tables(digits):
    assert hygon.parse_table("HCU Temp AvgPwr Perf\n%s 50C 80W auto\n=== End of Log ===\n" % digits)[0] == {}
    assert nvidia_smi.parse_list("GPU %s: H100 (UUID: GPU-1)\n" % digits) == []
    assert nvidia_links.parse("GPU %s: H100 (UUID: GPU-1)\n\t Link 0: 26 GB/s\n" % digits) == {}
    assert thead.parse_list("PPU %s: PPU (UUID: PPU-1)\n" % digits) == []


@pytest.mark.parametrize("digits", [HUGE, SQUARED])
@pytest.mark.parametrize(("name", "path"), [
    ("ascend", "/usr/local/Ascend/ascend-toolkit/latest/runtime/version.info"), ("amd", nine.KFD + "/1/properties"), ("hygon", nine.KFD + "/1/properties"),
])  # fmt: skip
def test_files(name, path, digits):
    recorded = nine.recording(nine.PARTS[name](1))
    recorded["files"][path] = "Version=%s.1\nsimd_count %s\nsimd_per_cu 4\n" % (digits, digits)
    rows = nine.read(recorded)["allocation." + name]["checks"]
    assert {row["state"] for row in rows if row["capability"].startswith("sliced")} == {"unavailable"}


@pytest.mark.parametrize("digits", [HUGE, SQUARED])
def test_the_runtime_of_a_950(digits):
    rows = nine.read(nine.recording(nine.ascend_950("v%s.0.0" % digits)))["allocation.ascend"]["checks"]
    assert {row["state"] for row in rows if row["capability"] == "ascend-docker-runtime"} == {"unavailable"}
