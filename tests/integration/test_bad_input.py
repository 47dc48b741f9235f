# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input is one clear message that names what was found and what is allowed, and harms nothing else."""

from __future__ import annotations

import json

import lab_recordings
import plays
import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Recordings, inventories and a run root with one run named `old`."""
    place = tmp_path_factory.mktemp("bad")
    for folder, names in {"one": "a", "twice": "xy", "mixed": "a"}.items():
        (place / folder).mkdir()
        for name in names:
            plays.write_inventory(place / folder / (name + ".json"), lab_recordings.h100("a"))
    (place / "mixed" / "b.yml").write_text("schema: fleetproof.accelerator/recording/v1\nnode: b\nfiles: [\n")
    (place / "mixed" / "c.yml").write_text("schema: fleetproof.accelerator/recording/v2\nnode: c\n")
    (place / "mixed" / "d.json").write_text('{"schema": "fleetproof.accelerator/recording/v1", "node": "d", "comands": []}')
    (place / "group").mkdir()
    plays.write_inventory(place / "group" / "all.json", lab_recordings.h100("all"))
    (place / "file").write_text("")
    node = {"ansible_connection": "local", "accelerator_recording": str(place / "one" / "a.json")}
    plays.write_inventory(place / "a.json", {"accelerator_nodes": {"hosts": {"a": node}}})
    (place / "b").mkdir()
    other = dict(node, accelerator_recording=str(plays.write_inventory(place / "b" / "b.json", lab_recordings.h100("b"))))
    plays.write_inventory(place / "two.json", {"accelerator_nodes": {"hosts": {"a": node, "b": other}}})
    plays.write_inventory(place / "empty.json", {"all": {"hosts": {}}})
    plays.write_inventory(place / "empty_group.json", {"accelerator_nodes": {"hosts": {}}})
    first = plays.play("preflight", run_root=place / "runs", inventory=place / "a.json", variables={"accelerator_run_id": "old"})
    assert first.code == 0, first.output
    return place


POLICY = {
    "accelerator_policy_ecc_uncorected_enabled": False,
    "accelerator_policy_memlock_limit_level": "fatal",
    "accelerator_expected_count": "many",
    "accelerator_expected_cuont": 8,
    "accelerator_deadline": "soon",
}


@pytest.mark.parametrize(
    ("playbook", "inventory", "variables", "words"),
    [
        ("preflight", "empty.json", {}, ["inventory", "found no node", "accelerator_nodes", "-i"]),
        ("preflight", "empty_group.json", {}, ["inventory", "found no node", "-i"]),
        ("preflight", "a.json", {"accelerator_manufacturers": ["nvidea"]}, ["accelerator_manufacturers", "amd, ascend, ", "nearest to nvidea is nvidia"]),
        ("preflight", "a.json", {"accelerator_exit_rule": "alocation"}, ["accelerator_exit_rule", "found 'alocation'", "verdict | allocation"]),
        ("preflight_document", None, {"accelerator_run_id": "nope"}, ["{place}/runs/nope", "no such run"]),
        ("preflight_document", None, {"accelerator_run_id": "old", "accelerator_document_nodes": ["b"]}, ["nodes: found b", "run old: a"]),
        ("preflight", "a.json", {"accelerator_manufacturers": "nvidia"}, ["accelerator_manufacturers", "found 'nvidia'", "a list of"]),
        ("preflight", "a.json", {"accelerator_expected_count": {"nvidea": 8}}, ["accelerator_expected_count", "nvidea", "manufacturers: amd"]),
        ("preflight", "a.json", POLICY, [*POLICY, "accelerator_policy_ecc_uncorrected_enabled", "'fatal'", "info | warn | fail", "'many'", "'soon'"]),
        ("judge", "a.json", {"accelerator_run_id": "old", **POLICY}, ["accelerator_policy_memlock_limit_level", "'many'"]),
        ("preflight", "a.json", {"accelerator_run_root": "{place}/file/runs"}, ["accelerator_run_root", "{place}/file/runs", "cannot be written"]),
        ("preflight", "a.json", {"accelerator_run_id": "../../x"}, ["accelerator_run_id", "'../../x'", "letters, digits"]),
        ("fold", None, {"accelerator_run_id": "../../x"}, ["accelerator_run_id", "'../../x'", "{place}/runs"]),
        ("fold", None, {"accelerator_run_id": "nope"}, ["{place}/runs/nope", "no such run", "there: old"]),
        ("preflight", "two.json", {"accelerator_run_id": "old"}, ["run old exists", "roster differs", '["a"]', '["a","b"]']),
        ("preflight", "a.json", {"accelerator_profile": "acceptence"}, ["accelerator_profile", "consistency, preflight", "nearest is acceptance"]),
        ("fold", None, {"accelerator_run_id": "old", "accelerator_profile": "acceptence"}, ["accelerator_profile", "nearest is acceptance"]),
        ("replay", None, {"recordings": "{place}/none"}, ["recordings", "{place}/none", "not a directory"]),
        ("replay", None, {}, ["recordings", "found nothing", "-e recordings=DIRECTORY"]),
        ("replay", None, {"recordings": "{place}/group"}, ["{place}/group/all.json", "a node named all", "those of groups"]),
        ("replay", None, {"recordings": "{place}/twice"}, ["recordings", "node a", "x.json", "y.json", "one recording a node"]),
    ],
)  # fmt: skip
def test_one_message_and_no_run(place, playbook, inventory, variables, words):
    before = sorted(path.name for path in (place / "runs").iterdir())
    variables = {name: value.replace("{place}", str(place)) if isinstance(value, str) else value for name, value in variables.items()}
    run = plays.play(playbook, run_root=place / "runs", inventory=place / inventory if inventory else None, variables=variables)
    assert run.code == 2, run.output
    assert "Traceback" not in run.output
    told = [line for line in run.output.splitlines() if line.startswith("fatal: ")]
    assert len(told) == 1, run.output
    message = json.loads(told[0].partition("FAILED! => ")[2])["msg"]
    assert [word for word in words if word.replace("{place}", str(place)) not in message] == [], message
    assert "\n" not in message
    assert sorted(path.name for path in (place / "runs").iterdir()) == before, "nothing was begun"


def test_malformed_recordings_harm_only_their_nodes(place, tmp_path):
    run = plays.play("replay", run_root=tmp_path, variables={"recordings": str(place / "mixed")})
    assert run.code == 2 and "Traceback" not in run.output
    assert run.verdicts() == {"a": "accepted", "b": "incomplete", "c": "incomplete", "d": "incomplete"}
    reasons = {node: run.sections(node)["host"]["reason"] for node in "bcd"}
    for node, words in {"b": ["b.yml", "line 4"], "c": ["c.yml", "schema", "recording/v1"], "d": ["d.json", "comands", "commands"]}.items():
        assert [word for word in words if word not in reasons[node]] == [], reasons[node]


def test_a_missing_recording_harms_only_its_node(place, tmp_path):
    document = plays.read(place / "two.json")
    document["accelerator_nodes"]["hosts"]["b"]["accelerator_recording"] = str(place / "none.yml")
    run = plays.play("preflight", run_root=tmp_path / "runs", inventory=plays.write_inventory(tmp_path / "two.json", document))
    assert run.code == 2 and "Traceback" not in run.output
    assert run.verdicts() == {"a": "accepted", "b": "incomplete"}
    assert str(place / "none.yml") in run.sections("b")["host"]["reason"]


def test_two_jobs_join_one_run_at_once(place, tmp_path):
    variables = {"accelerator_run_id": "both", "accelerator_strict": False}
    jobs = [plays.start("preflight", "--limit", node, run_root=tmp_path, inventory=place / "two.json", variables=variables) for node in "ab"]
    for job in jobs:
        run = plays.finish(job, tmp_path)
        assert run.code == 0, run.output
    assert [path.name for path in tmp_path.iterdir() if not path.is_symlink()] == ["both"]
    fold = plays.play("fold", run_root=tmp_path, variables=variables)
    assert fold.code == 0 and fold.verdicts() == {"a": "accepted", "b": "accepted"}
    for node in "ab":
        assert {part["attempt"] for part in fold.sections(node).values()} == {1}, "no part was read twice, none was lost"
