# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook preflight_document and the exit rule of the operator, as a user runs them."""

from __future__ import annotations

import nine
import plays
import yaml

CARD = "2a000000-0000-0000-0000-00000000c0de"
FAILS = "preflight failed: cambricon: smlu-mode on %s: cndev: absent (no libcndev.so)" % CARD


def test_reading_first_then_printing_and_failing(tmp_path):
    """One node, read by the playbook itself; its verdict is no matter, the row that is unavailable is."""
    recording = plays.write_inventory(tmp_path / "a.json", nine.recording(nine.cambricon(1, {"missing": "no libcndev.so"}), node="a"))
    node = {"ansible_connection": "local", "accelerator_recording": str(recording), "accelerator_manufacturers": ["cambricon"]}
    inventory = plays.write_inventory(tmp_path / "hosts.json", {"accelerator_nodes": {"hosts": {"a": node}}})
    run = plays.play("preflight_document", run_root=tmp_path / "runs", inventory=inventory, variables={"accelerator_document_read": True})
    assert run.code == 2 and FAILS in run.output, run.output
    start = run.output.index("accelerators:\n    - manufacturer: cambricon\n")
    text = run.output[start : run.output.index("\nok: ", start)]
    document = yaml.safe_load(text)
    assert list(document) == ["accelerators", "network", "topology"]
    assert [group["manufacturer"] for group in document["accelerators"]] == ["cambricon"]  # those asked about
    row = {"accelerator": CARD, "capability": "smlu-mode", "mode": "sliced", "state": "unavailable", "depth": "declared"}
    assert document["accelerators"][0]["checks"][0] == dict(row, reason="cndev: absent (no libcndev.so)")

    # Asked of others, without reading; a name that nobody has is told before anything is made.
    asked = {"accelerator_strict": False, "accelerator_manufacturers": ["hygon", "nvidia"]}
    other = plays.play("preflight_document", run_root=tmp_path / "runs", variables=asked)
    others = other.output[other.output.index("accelerators:\n") : other.output.index("\nok: ")]
    assert [group["manufacturer"] for group in yaml.safe_load(others)["accelerators"]] == ["cambricon", "hygon", "nvidia"]
    wrong = plays.play("preflight_document", run_root=tmp_path / "runs", variables={"accelerator_manufacturers": ["nvidai"]})
    assert wrong.code == 2 and "the nearest to nvidai is nvidia" in wrong.output and "accelerators:" not in wrong.output, wrong.output

    # The same run again, from its files; not strict, it does not fail. The exit rule of any playbook that judges.
    again = plays.play("preflight_document", run_root=tmp_path / "runs", variables={"accelerator_strict": False})
    assert again.code == 0 and text in again.output, again.output
    judged = plays.play("fold", run_root=tmp_path / "runs", variables={"accelerator_exit_rule": "allocation"})
    assert judged.code == 2 and FAILS in judged.output, judged.output
