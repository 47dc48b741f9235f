# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults and healthy cards that tools of Cambricon, Hygon, Iluvatar, MetaX, Moore Threads, T-Head and AMD were captured with: what the rules say of them."""

from __future__ import annotations

import json
import os

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd, cambricon, hygon, iluvatar, metax, mthreads, thead
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording
from health_nodes import ask

READERS = {"amd": amd, "cambricon": cambricon, "hygon": hygon, "iluvatar": iluvatar, "metax": metax, "mthreads": mthreads, "thead": thead}
FAULT, GOOD = ("found", None), ("passed", None)
MANY = "hy-smi-k100ai-8-pod-loaded.txt"
# No kernel driver holds the card; and the address and the slot of one.
FREE, SLOT = {"driver": None}, {"address": "0000:04:00.0"}
NOT_KNOWN = ("unknown", None)
# manufacturer, {command: capture}, rule, {answer}, cards of it on PCI, or what is different about the one
CASES = [
    ("cambricon", {"cnmon": "cnmon-5.10.10-mlu370-x4-exclusive.txt"}, "compute-mode", {FAULT}, 2),
    ("cambricon", {"cnmon": "cnmon-5.10.13-mlu370-x8-2.txt"}, "compute-mode", {GOOD}, 2),
    ("cambricon", {"cnmon": "cnmon-no-devices.txt", "cnmon info": "cnmon-no-devices.txt"}, "accelerators-detected", {FAULT}, FREE),
    ("cambricon", {"cnmon": "cnmon-4.20.11-mlu370-x4-3.txt"}, "mixed-models", {GOOD}, 3),
    ("hygon", {"hy-smi": "hy-smi-bw-8-loaded-dec-enc.txt"}, "clocks-lowered", {FAULT}, 8),
    ("hygon", {"hy-smi": "hy-smi-k100ai-8.txt"}, "clocks-lowered", {GOOD}, 8),
    ("hygon", {"hy-smi": "hy-smi-not-found.txt"}, "accelerators-detected", {NOT_KNOWN}, 8),
    ("metax", {"mx-smi -L": "mx-smi-L-sgpu-7-unaccessible.txt", "mx-smi -j": "mx-smi-j.txt"}, "device-health", {GOOD, FAULT}, 8),
    ("metax", {"mx-smi -j": "mx-smi-j.txt"}, "ecc-uncorrected", {GOOD}, 1),
    ("metax", {"mx-smi": "mx-smi-q-parse-error.txt", "mx-smi -L": "mx-smi-q-parse-error.txt"}, "accelerators-detected", {NOT_KNOWN}, 1),
    ("mthreads", {"mthreads-gmi": "mthreads-gmi-s80-4x-of-16x-1.14.0.txt"}, "pcie-width", {FAULT}, SLOT),
    ("mthreads", {"mthreads-gmi": "mthreads-gmi-s5000x8-2.4.1.txt"}, "mixed-models", {GOOD}, 8),
    ("thead", {"ppu-smi -q": "ppu-smi-driver-not-loaded.txt", "ppu-smi": "ppu-smi-driver-not-loaded.txt"}, "accelerators-detected", {FAULT}, FREE),
    ("thead", {"ppu-smi -q": "ppu-smi-no-devices-comma-list.txt"}, "accelerators-detected", {NOT_KNOWN}, 2),
    ("thead", {"ppu-smi": "ppu-smi-1.28-zw810e-2-procs.txt"}, "ecc-uncorrected", {GOOD}, 2),
    ("iluvatar", {"ixsmi": "ixsmi-4.4.0-mrv100-duo-2.txt"}, "accelerators-detected", {GOOD}, 2),
    ("amd", {"rocm-smi -a --json": "rocm-smi-error-not-loaded.txt"}, "accelerators-detected", {FAULT}, FREE),
    ("amd", {"rocm-smi -a --json": "rocm-smi-no-gpus.txt"}, "accelerators-detected", {FAULT}, FREE),
]  # fmt: skip


@pytest.fixture
def sections(captures, tmp_path):
    def read(maker, commands, count):
        entries = [{"argv": argv.split(), "stdout_file": os.path.relpath(captures / maker / name, tmp_path)} for argv, name in commands.items()]
        for entry in entries:
            if maker == "iluvatar":
                entry["env"] = iluvatar.ENVIRONMENT
        files = {"/dev": {"dir": []}, "/sys/module": {"dir": []}}
        document = {"schema": "fleetproof.accelerator/recording/v1", "node": "capture", "recorded": "2026-11-29T17:00:00Z", "files": files, "commands": entries}
        path = tmp_path / "capture.json"
        path.write_text(json.dumps(document))
        bus = [synthetic.pci_entry(n, maker) for n in range(count)] if isinstance(count, int) else [synthetic.pci_entry(0, maker, **count)]
        section = READERS[maker].collect(ReplayHost(recording.load(path)), bus)
        return {"accelerators." + maker: section, "host": synthetic.host(), "pci": synthetic.pci(bus)}

    return read


@pytest.mark.parametrize(("maker", "commands", "rule", "answers", "count"), CASES)
def test_what_a_rule_says(sections, maker, commands, rule, answers, count):
    given = sections(maker, commands, count)
    # of a table without names the node's own outcome is that the cards are not named
    assert {(outcome, level) for ident, outcome, level in ask(rule, given) if ident != "n1"} == answers


def test_seven_of_eight_that_are_not_accessible(sections):
    given = sections("metax", {"mx-smi -L": "mx-smi-L-sgpu-7-unaccessible.txt", "mx-smi -j": "mx-smi-j.txt"}, 8)
    assert sorted(ident for ident, outcome, _level in ask("device-health", given) if outcome == "found") == ["metax:%d" % n for n in range(1, 8)]


def test_memory_that_is_held_while_nothing_is_computed(sections):
    """Neither idle nor free: the tool names no process and no size, so the rule does not say that it is."""
    given = sections("hygon", {"hy-smi": MANY}, 8)
    assert [d["extra"]["memory_used_percent"] for d in given["accelerators.hygon"]["devices"]] == [91] + [90] * 7
    assert {outcome for _ident, outcome, _level in ask("memory-in-use", given)} == {"unknown"}


def test_two_versions_of_one_release_line(sections):
    """IX-ML 4.0.0 with driver 4.2.0 is noted; that they must be equal is in no document."""
    section = sections("iluvatar", {"ixsmi": "ixsmi-4.0.0-bi-v100-1.txt"}, 1)["accelerators.iluvatar"]
    assert section["note"].startswith("the driver is 4.2.0, the library of ixsmi 4.0.0")
