# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job under --limit never exits 0 for having asked nothing: Ansible skips a play whose hosts the limit leaves out."""

from __future__ import annotations

import lab_recordings
import plays
import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two nodes of which one is read into the run `part`, and a host that is no node."""
    place = tmp_path_factory.mktemp("limit")
    (place / "one").mkdir()
    for node in "ab":
        plays.write_inventory(place / "one" / ("%s.json" % node), lab_recordings.h100(node))
    hosts = {node: {"ansible_connection": "local", "accelerator_recording": str(place / "one" / ("%s.json" % node))} for node in "ab"}
    inventory = {"accelerator_nodes": {"hosts": hosts}, "others": {"hosts": {"login": {"ansible_connection": "local"}}}}
    plays.write_inventory(place / "hosts.yml", inventory)
    first = plays.play("preflight", "--limit", "a", run_root=place / "runs", inventory=place / "hosts.yml", variables={"accelerator_run_id": "part"})
    assert first.code == 0, first.output
    return place


@pytest.mark.parametrize("playbook", ["fold", "judge", "consistency"])
def test_judging_a_run_again_happens_and_decides_for_the_nodes_named(place, playbook):
    for node, code in (("a", 0), ("b", 2)):
        before = sum(1 for _entry in (place / "runs" / "part" / "judgements").iterdir())
        variables = {"accelerator_run_id": "part"}
        run = plays.play(playbook, "--limit", node, run_root=place / "runs", inventory=place / "hosts.yml", variables=variables)
        assert run.code == code, run.output
        assert run.fleet()["judgement"] == before + 1


def test_documents_are_made_of_the_nodes_named(place, tmp_path):
    """Of a run with two nodes, of which b was not read: what is unavailable there is no failure of a."""
    for number, (limit, nodes, documents, code) in enumerate(
        [("a", None, ["a"], 0), ("a,login", None, ["a"], 0), ("b", None, ["b"], 2), ("a", ["b"], ["b"], 2), (None, None, ["a", "b"], 2)]
    ):
        folder = tmp_path / str(number)
        variables = {"accelerator_run_id": "part", "accelerator_document_directory": str(folder), **({"accelerator_document_nodes": nodes} if nodes else {})}
        limit = ["--limit", limit] if limit else []
        run = plays.play("preflight_document", *limit, run_root=place / "runs", inventory=place / "hosts.yml", variables=variables)
        assert run.code == code, run.output
        assert sorted(path.stem for path in folder.iterdir()) == documents
        assert ("preflight failed" in run.output) == bool(code), run.output


@pytest.mark.parametrize(
    ("playbook", "inventory", "limit", "variables", "words"),
    [
        ("preflight", "hosts.yml", "login", {}, ["--limit: found login", "2 nodes expected: a, b"]),
        ("fold", "hosts.yml", "login", {"accelerator_run_id": "part"}, ["--limit: found login", "2 nodes expected: a, b"]),
        ("preflight_document", "hosts.yml", "login", {"accelerator_run_id": "part"}, ["--limit: found login", "2 nodes expected: a, b"]),
        ("fold", None, "a", {"accelerator_run_id": "part"}, ["--limit leaves out localhost", "--limit localhost,NODE"]),
        ("replay", None, "a", {"recordings": "{place}/one"}, ["--limit leaves out localhost", "--limit localhost,NODE"]),
        ("replay", None, "localhost,c", {"recordings": "{place}/one"}, ["--limit: found localhost,c", "nodes expected: a, b"]),
    ],
)
def test_a_limit_that_names_no_node_is_an_error(place, playbook, inventory, limit, variables, words):
    before = sorted(str(path) for path in (place / "runs").rglob("*"))
    variables = {name: value.replace("{place}", str(place)) for name, value in variables.items()}
    run = plays.play(playbook, "--limit", limit, run_root=place / "runs", inventory=place / inventory if inventory else None, variables=variables)
    assert run.code not in (0, None), run.output
    told = " ".join(run.output.split())
    assert [word for word in words if word not in told] == [], run.output
    assert sorted(str(path) for path in (place / "runs").rglob("*")) == before, "nothing was begun"


def test_one_recording_of_several_is_read_again_as_the_summary_says(place, tmp_path):
    recordings = {"recordings": str(place / "one")}
    whole = plays.play("replay", run_root=tmp_path, variables={"accelerator_expected_count": 99, **recordings})
    assert whole.code == 2 and "--limit localhost,a,b" in whole.output, whole.output
    one = plays.play("replay", "--limit", "localhost,b", run_root=tmp_path, variables=recordings)
    assert one.code == 0, one.output
    assert one.verdicts() == {"a": "incomplete", "b": "accepted"}


@pytest.mark.parametrize("playbook", ["preflight", "replay", "fold", "judge"])
def test_a_tag_that_leaves_all_reading_out_is_no_success(place, tmp_path, playbook):
    """Tags pick what is read, never whether it is judged."""
    root = tmp_path if playbook in ("preflight", "replay") else place / "runs"
    variables = {"recordings": str(place / "one")} if playbook == "replay" else {}
    run = plays.play(playbook, "--tags", "no-such-tag", run_root=root, inventory=place / "hosts.yml", variables=variables)
    assert run.code == 2 and run.verdicts()["b"] == "incomplete", run.output
