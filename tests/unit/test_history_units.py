# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a history may be, what is replaced in a node, and what a baseline must look like."""

from __future__ import annotations

import builtins
import json
import os
from pathlib import Path

import history_runs as runs
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import parts, prints
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.parts import Part
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import baseline, fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history import database, location, machines
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.history.location import HistoryError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 27 0:40 / /srv rw - %s server:/export rw,vers=4.2
31 30 8:2 / /srv/local\\040disk rw shared:7 master:2 - xfs /dev/sdb rw
32 27 0:44 / /mnt/fuse rw - fuse.sshfs user@host:/ rw
"""


# -- where ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs", "wekafs"])
def test_a_network_file_system_is_refused_by_name(kind):
    with pytest.raises(HistoryError) as told:
        location.local_file("/srv/history.sqlite", MOUNTS % kind)
    assert "/srv/history.sqlite lies on a network file system (%s)" % kind in str(told.value) and "a PostgreSQL: postgresql://" in str(told.value)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.fuse-overlayfs", "ext3"])
def test_a_local_one_is_not(kind):
    assert location.local_file("/srv/history.sqlite", MOUNTS % kind) == Path("/srv/history.sqlite")


def test_the_longest_mount_point_counts():
    assert location.file_system(Path("/srv/local disk/h"), MOUNTS % "nfs") == "xfs"
    assert location.file_system(Path("/srvx/h"), MOUNTS % "nfs") == "ext4"
    assert location.file_system(Path("/srv"), MOUNTS % "nfs") == "nfs"
    assert location.file_system(Path("/srv/h"), MOUNTS % "nfs" + "40 30 0:9 / /srv rw - tmpfs none rw\n") == "tmpfs"


def test_a_link_into_a_network_file_system_is_seen_through(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    mounts = "1 0 8:1 / / rw - ext4 a rw\n2 1 0:3 / %s rw - nfs b rw\n" % (tmp_path / "far")
    with pytest.raises(HistoryError, match=r"\(nfs\)"):
        location.local_file(str(tmp_path / "near" / "h.sqlite"), mounts)


@pytest.mark.parametrize("text", ["", "  ", "mysql://x/y", "sqlite:///x", "http://host/x", "a\0b", None, 3])
def test_what_is_no_location(text):
    with pytest.raises(HistoryError, match="allowed: the path of a file, or postgresql://"):
        location.check(text)


def test_no_password_is_shown():
    for text in ("postgresql://me:geheim@db/x", "mysql://me:geheim@db", "postgresql://db/x?user=me&password=geheim&sslmode=require"):
        assert "geheim" not in location.shown(text) and "db" in location.shown(text)
    with pytest.raises(HistoryError) as told:
        location.check("mysql://me:geheim@db")
    assert "geheim" not in str(told.value)


def test_a_directory_and_a_device_are_no_history(tmp_path):
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(HistoryError, match="is not a file"), database.opened(str(path)):
            pass


def test_a_file_that_is_no_store_is_told_and_left_as_it_is(tmp_path):
    (tmp_path / "notes").write_text("not a database, but long enough to be looked at as one. " * 40)
    content = (tmp_path / "notes").read_bytes()
    with pytest.raises(HistoryError, match="notes"), database.opened(str(tmp_path / "notes")):
        pass
    assert (tmp_path / "notes").read_bytes() == content


def test_a_url_without_sqlalchemy_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == "sqlalchemy":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(HistoryError, match="no SQLAlchemy here: pip install"), database.opened("postgresql://db/x"):
        pass


def test_a_url_without_a_driver_says_what_to_install(monkeypatch):
    pytest.importorskip("sqlalchemy")
    monkeypatch.setattr(database, "_DRIVERS", ("no_such_driver",))
    with pytest.raises(HistoryError, match="no driver of PostgreSQL here: pip install"), database.opened("postgresql://db/x"):
        pass


def test_a_server_that_is_not_there_is_told():
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    with pytest.raises(HistoryError, match=r"postgresql://me:\*\*\*@/x\?host=/nowhere: ") as told, database.opened("postgresql://me:geheim@/x?host=/nowhere"):
        pass
    assert "geheim" not in str(told.value)


# -- parts ------------------------------------------------------------------------------------------------------------


def card(slot, serial=None, uuid=None, kind="accelerator"):
    return Part(kind, slot, "nvidia:%s" % slot, "H100", serial, uuid)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([card("1", "A"), card("2", "B")], [card("1", "A"), card("2", "B")], []),
        ([card("1", "A"), card("2", "B")], [card("1", "B"), card("2", "A")], []),  # moved
        ([card("1", "A")], [card("1", "a")], []),  # case of letters
        ([card("1", "A")], [card("1", "C")], [("1", "A", "C")]),
        ([card("1", "A"), card("2", "B")], [card("1", "A")], [("2", "B", None)]),
        ([card("1", "A")], [card("1", "A"), card("2", "B")], [("2", None, "B")]),
        ([card("1", "A")], [card("1", None, "U")], []),  # serial then, UUID now: nothing to compare
        ([card("1", "A", "U")], [card("1", None, "U")], []),
        ([card("1", "A", "U")], [card("1", "A", "V")], [("1", "U", "V")]),
        ([card("m", "A", kind="mainboard")], [card("m", "B", kind="mainboard")], [("m", "A", "B")]),
        ([card("m", "A", kind="mainboard")], [], []),  # its serial was not read
        ([], [card("1", "A")], []),  # nothing was known before
    ],
)
def test_what_was_replaced(before, now, expected):
    told = [(c.slot, c.old and c.old.identity, c.new and c.new.identity) for c in parts.differences(before, now)]
    assert told == expected


def test_a_list_that_is_not_whole_says_nothing_of_what_is_gone():
    assert parts.differences([card("1", "A"), card("2", "B")], [card("1", "A")], complete=False) == []


def view(sections):
    return NodeView("n0", synthetic.envelopes(sections), policy.Policy())


def test_parts_of_a_node():
    sections = synthetic.healthy(2, serial="S7")
    sections["accelerators.nvidia"]["devices"][1]["identity"]["serial"]["quality"] = "placeholder"
    held = parts.of(view(sections))
    assert [(p.kind, p.slot, p.serial) for p in held] == [
        ("accelerator", synthetic.address(0), "S7-0"),
        ("accelerator", synthetic.address(1), None),
        ("mainboard", "mainboard", "BS7"),
    ]
    assert machines.tokens(held) == sorted([("serial", "s7-0"), *(("uuid", synthetic.uuid_of(i, "S7").lower()) for i in range(2))])
    assert parts.of(NodeView("n0", synthetic.unread("n0"), policy.Policy())) == []


def test_the_fingerprint_of_a_node_has_what_it_told_and_no_more():
    sections = synthetic.healthy()
    told = prints.of(view(sections))
    assert told["cohort-bios"] == "2.1a" and told["cohort-count"] == "8" and "cohort-together" not in told
    sections["host"]["bios"]["version"] = {"unknown": "no permission"}
    assert "cohort-bios" not in prints.of(view(sections))
    assert prints.differences(told, prints.of(view(sections))) == []
    assert prints.differences({"cohort-memory": 1000, "no-such-rule": "a"}, {"cohort-memory": 1020, "no-such-rule": "b"}) == []
    assert prints.differences({"cohort-memory": 1000}, {"cohort-memory": 900}) == [("cohort-memory", 1000, 900)]


# -- baseline.json ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"schema":"fleetproof.accelerator/baseline/v2"}',
        '{"schema":"fleetproof.accelerator/baseline/v1","cohorts":{},"prints":[],"nodes":{"n0":{}}}',
    ],
)
def test_a_baseline_that_cannot_be_used_is_told_and_nothing_is_judged(tmp_path, content):
    run = runs.write(tmp_path, "a", 1, {"n0": runs.node("S0")})
    (run.path / "baseline.json").write_text(content)
    with pytest.raises(RunError, match=r"baseline\.json"):
        fold.fold(run.path, processes=1)
    assert not (run.path / "fleet.json").exists()


def test_without_a_history_nothing_is_written_and_every_rule_is_not_applicable(tmp_path):
    run = runs.write(tmp_path, "a", 1, {"n0": runs.node("S0", [700.0] * 8)})
    judged = runs.judge(run)
    assert {runs.outcome(judged, "n0", r)["reason"] for r in ("measured-drift", "changed-since-accepted", "part-replaced")} == {
        "no baseline: this run was judged without accelerator_history"
    }
    assert not (run.path / "baseline.json").exists() and baseline.load(run.path) is None


def test_a_node_that_the_baseline_does_not_name_was_never_accepted(tmp_path):
    run = runs.write(tmp_path, "a", 1, {"n0": runs.node("S0", [700.0] * 8)})
    empty = {"schema": baseline.SCHEMA, "run_id": "a", "prints": [], "cohorts": {}, "nodes": {}}
    (run.path / "baseline.json").write_text(json.dumps(empty))
    judged = runs.judge(run)
    assert runs.outcome(judged, "n0", "part-replaced")["reason"] == "never accepted before: nothing to compare with"
