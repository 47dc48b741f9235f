# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight of lab nodes through real ssh: fit and ill ones, vendor tools that hang, connections that say nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import lab_recordings
import plays
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
import lab_profile
import nodelab

pytestmark = pytest.mark.skipif(bool(nodelab.why_not()), reason=nodelab.why_not() or "lab nodes can be had")

DEADLINE = 10
# Ignores what it may ignore, holds its pipes, and so does its child.
STUBBORN = "#!/bin/sh\ntrap '' TERM HUP INT PIPE\nsleep 100000 &\nwhile :; do sleep 1; done\n"
# Answers, and leaves a process in a session of its own that holds the pipes.
LEAVING = "#!/bin/sh\nsetsid sleep 100000 &\n. /usr/local/bin/nvidia-smi.real\n"
FIRST = set(MODULES["accelerator_info"].sections)
READ = {"kernel", "accelerators.nvidia", "allocation.nvidia", *FIRST}
SSH = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Folder of the recordings that the lab nodes are made of."""
    folder = tmp_path_factory.mktemp("recordings")
    for node, faults in {"fit": {}, "ill": {"pending_remap": 3, "width": 5}, "hung": {"smi": {"hang": True}}, "stubborn": {}, "leaving": {}}.items():
        plays.write_inventory(folder / (node + ".json"), lab_recordings.h100(node, **faults))
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory, recordings):
    folder = tmp_path_factory.mktemp("lab")
    profiles = {path.stem: lab_profile.build(plays.read(path), folder / path.stem) for path in sorted(recordings.iterdir())}
    for node, program in (("stubborn", STUBBORN), ("leaving", LEAVING)):
        tool = profiles[node] / "rootfs/usr/local/bin/nvidia-smi"
        tool.rename(tool.with_suffix(".real"))
        tool.write_text(program)
        tool.chmod(0o755)
    frozen = profiles["fit"] / "rootfs/usr/local/bin/frozen-python"
    frozen.write_text("#!/bin/sh\nexec sleep 3000\n")
    frozen.chmod(0o755)
    nodes = nodelab.Lab(folder / "state")
    try:
        nodes.up(list(profiles), profiles=profiles)
        yield nodes
    finally:
        nodes.down()


def inventory(lab, path, *names, **more):
    """Lab nodes by name, and nodes with other variables."""
    hosts = {**{name: {} for name in names}, **more}
    return plays.write_inventory(path, {"accelerator_nodes": {"hosts": hosts, "vars": lab.variables()}})


def without_connection(command):
    """A node whose connection is this command."""
    return {"ansible_ssh_common_args": f"-o ProxyCommand='{command}' {SSH}"}


SILENT, GONE = without_connection("sleep 1000"), without_connection("false")


@pytest.fixture(scope="module")
def run(lab, tmp_path_factory):
    """One preflight of everything at once."""
    root = tmp_path_factory.mktemp("run")
    hosts = {
        "snake": {"ansible_host": "fit", "ansible_python_interpreter": "/opt/none/bin/python3"},
        "frozen": {"ansible_host": "fit", "ansible_python_interpreter": "/usr/local/bin/frozen-python"},
        "silent": SILENT,
        "gone": GONE,
    }
    nodes = inventory(lab, root / "inventory.json", *lab.nodes(), **hosts)
    return plays.play("preflight", run_root=root / "runs", inventory=nodes, variables={"accelerator_deadline": DEADLINE})


def of_devices(run, *nodes):
    """Findings of cards: the host below a lab node is this machine, not the recorded one."""
    told = [(f["node"], f["rule"], f["level"], f["subject"]["id"]) for f in run.fleet()["findings"] if f["node"] in nodes and f["subject"]["kind"] != "node"]
    return [finding for finding in told if finding[3].startswith("nvidia:")]


def test_the_run_fails_after_everything_is_written(run):
    assert run.code == 2, run.output
    assert "Traceback" not in run.output
    assert (run.path / "report.html").is_file() and len(list((run.path / "records").iterdir())) == 9
    assert sorted(run.fleet()["roster"]["expected"]) == ["fit", "frozen", "gone", "hung", "ill", "leaving", "silent", "snake", "stubborn"]


def test_ssh_finds_what_the_recording_finds(run, recordings, tmp_path):
    replayed = plays.play("replay", run_root=tmp_path, variables={"recordings": str(recordings)})
    assert of_devices(run, "fit", "ill") == of_devices(replayed, "fit", "ill")
    assert {("ill", "row-remap-pending", "fail", "nvidia:3"), ("ill", "pcie-width", "fail", "nvidia:5")} <= set(of_devices(run, "ill"))
    verdicts = run.verdicts()
    assert verdicts["ill"] == "rejected" and verdicts["fit"] in ("accepted", "accepted_with_warnings")
    assert not [f for f in of_devices(run, "fit") if f[2] in ("warn", "fail")]


@pytest.mark.parametrize("node", ["hung", "stubborn"])
def test_a_hanging_tool_is_an_answer_and_the_node_incomplete(run, node):
    sections = run.sections(node)
    assert set(sections) >= READ and {part["status"] for part in sections.values()} == {"read"}, "the module came back by itself"
    detection = sections["accelerators.nvidia"]["data"]["detection"]
    assert detection["state"] == "unavailable" and "timeout" in detection["reason"]
    assert run.verdicts()[node] == "incomplete"


def test_nothing_of_the_module_is_left_on_the_nodes(run, lab):
    for node in ("fit", "ill", "hung", "stubborn"):
        left = lab.execute(node, "pgrep", "-f", "sleep 100000|nvidia-smi").stdout
        assert not left, f"{node}: {left}"


def test_a_process_that_a_tool_leaves_does_not_hold_the_connection(run):
    assert set(run.sections("leaving")) >= READ and {part["status"] for part in run.sections("leaving").values()} == {"read"}
    assert run.verdicts()["leaving"] == run.verdicts()["fit"]


@pytest.mark.parametrize(
    ("node", "status", "words"),
    [
        ("silent", ("timeout", "unreachable"), ""),
        ("gone", ("unreachable",), ""),
        ("snake", ("no_python",), "/opt/none/bin/python3"),
        ("frozen", ("timeout",), "no answer within %d seconds" % (DEADLINE + 30)),
    ],
)
def test_a_node_that_cannot_be_asked_is_filed_with_its_reason(run, node, status, words):
    sections = run.sections(node)
    assert set(sections) == FIRST, "nothing more is asked"
    for part in sections.values():
        assert part["status"] in status and part["reason"] and words in part["reason"] and part["data"] == {}
    (entry,) = [v for v in run.fleet()["verdicts"] if v["node"] == node]
    assert entry["verdict"] == "incomplete" and entry["reasons"]


def test_others_do_not_wait(run):
    done = {node: max(part["finished"] for part in run.sections(node).values()) for node in run.verdicts()}
    for slow in ("hung", "stubborn", "silent", "frozen"):
        assert max(done["fit"], done["ill"], done["leaving"], done["gone"]) <= done[slow], done


def test_every_node_unreachable(lab, tmp_path):
    nodes = inventory(lab, tmp_path / "inventory.json", one=GONE, two=GONE)
    run = plays.play("preflight", run_root=tmp_path / "runs", inventory=nodes)
    assert run.code == 2 and "Traceback" not in run.output
    assert run.verdicts() == {"one": "incomplete", "two": "incomplete"}
    assert (run.path / "report.html").is_file()
    assert "2 of 2 nodes incomplete" in run.output


def test_two_runs_at_once(lab, tmp_path):
    nodes = inventory(lab, tmp_path / "inventory.json", "fit", "ill")
    both = [plays.start("preflight", run_root=tmp_path / "runs", inventory=nodes) for _unused in range(2)]
    runs = [plays.finish(process, tmp_path / "runs") for process in both]
    assert [run.code for run in runs] == [2, 2], runs[0].output
    paths = sorted(path for path in (tmp_path / "runs").iterdir() if not path.is_symlink())
    assert len(paths) == 2
    for path in paths:
        for node in ("fit", "ill"):
            files = {p.name for p in path.glob(f"nodes/{node}/*.json")}
            assert {f"{section}.1.json" for section in READ} <= files and not [name for name in files if not name.endswith(".1.json")]
        assert {v["node"]: v["verdict"] for v in plays.read(path / "fleet.json")["verdicts"]}["ill"] == "rejected"


def test_a_recording_of_live_nodes_replays_the_same(lab, tmp_path):
    nodes = inventory(lab, tmp_path / "inventory.json", "fit", "ill", gone=GONE)
    live = plays.play("record", run_root=tmp_path / "live", inventory=nodes)
    files = [path for path in live.path.rglob("*") if path.is_file()]
    assert not [path.name for path in files if lab_recordings.SECRET.encode() in path.read_bytes()], "secrets stay on the node"
    replayed = plays.play("replay", run_root=tmp_path / "replayed", variables={"recordings": str(live.path / "recordings")})
    assert sorted(live.verdicts()) == ["fit", "gone", "ill"] and replayed.verdicts() == live.verdicts()
    assert replayed.findings() == live.findings()
    again = plays.play("record", run_root=tmp_path / "again", inventory=nodes, variables={"accelerator_recording": str(live.path / "recordings" / "fit.json")})
    assert plays.read(again.path / "recordings" / "fit.json")["files"] == plays.read(live.path / "recordings" / "fit.json")["files"]
