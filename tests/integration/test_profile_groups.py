# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet of two makers: each inventory group has its own profile, and what a tool does not tell counts where its group wants it to."""

from __future__ import annotations

import json

import plays
import product_nodes


def recorded(name, product, library, answer):
    document = product_nodes.recording(product)
    document["natives"][library] = answer
    text = json.dumps(dict(document, node=name))
    if name.endswith("-b"):  # other cards than those of its neighbor
        for mine, other in (("c0de", "c0df"), ("50200000000", "50300000000"), ("710000000000000", "720000000000000"), ("TX1S00000", "TX2S00000")):
            text = text.replace(mine, other)
    return json.loads(text)


def test_a_profile_of_each_group(tmp_path):
    missing, hung = {"missing": "not there"}, {"hang": True}
    nodes = {
        "cards": {"mlu-a": ("MLU370-X8", "libcndev", missing), "mlu-b": ("MLU370-X8", "libcndev", hung)},
        "strict": {"dcu-a": ("K100_AI", "librocm_smi64", missing), "dcu-b": ("K100_AI", "librocm_smi64", {"answer": {"cards": {}}})},
    }
    groups = {}
    for group, members in nodes.items():
        hosts = {}
        for name, entry in members.items():
            path = plays.write_inventory(tmp_path / (name + ".json"), recorded(name, *entry))
            hosts[name] = {"ansible_connection": "local", "accelerator_recording": str(path)}
        groups[group] = {"hosts": hosts}
    groups["cards"]["vars"] = {"accelerator_profile": "preflight-told"}
    inventory = plays.write_inventory(tmp_path / "inventory.json", {"accelerator_nodes": {"children": groups}})
    played = plays.play("preflight", run_root=tmp_path / "runs", inventory=inventory, variables={"accelerator_run_id": "one"})
    assert played.code == 2, played.output
    fleet = json.loads((tmp_path / "runs" / "one" / "fleet.json").read_text())
    verdicts = {entry["node"]: entry for entry in fleet["verdicts"]}
    assert {name: (entry["profile"], entry["verdict"]) for name, entry in verdicts.items()} == {
        "mlu-a": ("preflight-told", "accepted"), "mlu-b": ("preflight-told", "incomplete"),
        "dcu-a": ("preflight", "incomplete"), "dcu-b": ("preflight", "incomplete"),
    }  # fmt: skip
    assert "hy-smi does not tell links; profile preflight-told does without" in verdicts["dcu-a"]["reasons"]
    assert not [reason for node in ("mlu-b", "dcu-b") for reason in verdicts[node]["reasons"] if "does not tell" in reason]
    untold = {(row["node"], row["rule"], row["required"]) for row in fleet["coverage"] if row["reason"].startswith("not told by ")}
    assert {row for row in untold if row[0] == "mlu-a"} == {
        ("mlu-a", rule, False) for rule in ("links-up", "row-remap-pending", "row-remap-failed", "retired-pages-pending")
    }
    assert ("dcu-a", "links-up", True) in untold and {row[0] for row in untold} == {"mlu-a", "dcu-a"}
