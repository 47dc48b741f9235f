# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to the accelerators: device nodes that the session may not open, and the one that CUDA needs beside those of the cards."""

from __future__ import annotations

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import device_nodes
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA, ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from health_nodes import UNREAD, ask

DEV = {"/dev": {"dir": ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"]}}
FIND = ["find", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "-maxdepth", "0", "!", "-writable"]


def denied(answer, files=None):
    document = {"schema": SCHEMA, "recorded": "2026-11-29T17:00:00Z", "files": DEV if files is None else files, "commands": [{"argv": FIND, **answer}]}
    sources = []
    return device_nodes.denied(ReplayHost(document), "nvidia", sources), len(sources)


def test_which_nodes_may_not_be_opened():
    assert denied({"stdout": ""}) == ([], 1)
    assert denied({"stdout": "/dev/nvidia1\n/etc/passwd\n"}) == (["/dev/nvidia1"], 1)  # no other path is taken from what was printed
    assert denied({"stdout": ""}, {"/dev": {"dir": ["null"]}}) == ([], 0)


@pytest.mark.parametrize("answer", [{"missing": True}, {"hang": True}, {"denied": True}, {"rc": 1, "stderr": "find: unrecognized: -writable\n"}])
def test_a_question_without_an_answer_is_unknown(answer):
    told, _asked = denied(answer)
    assert "unknown" in told
    assert "unknown" in denied({"stdout": ""}, {"/dev": {"error": "EACCES"}})[0]


def node(state="unavailable", **allocation):
    sections = synthetic.healthy(2)
    sections["accelerators.nvidia"]["detection"]["state"] = state
    sections["allocation.nvidia"] = {
        "manufacturer": "nvidia",
        "timestamp": synthetic.STAMP,
        "checks": [],
        "grants": {},
        "note": "",
        "sources": [],
        **allocation,
    }
    return sections


def outcome(rule, sections):
    ((_ident, told, level),) = ask(rule, sections)
    return told, level


def test_what_the_rule_of_access_says():
    assert outcome("device-access", node("ok")) == ("passed", None)
    assert outcome("device-access", node(denied_nodes=[])) == ("passed", None)
    assert outcome("device-access", node(denied_nodes=["/dev/nvidia1"])) == ("found", None)
    assert outcome("device-access", node(denied_nodes=UNREAD)) == ("unknown", None)
    assert outcome("device-access", node()) == ("not_applicable", None)
    gone = node()
    del gone["allocation.nvidia"]
    assert outcome("device-access", gone) == ("unknown", None)


def cuda(said, loaded=True):
    sections = synthetic.healthy(2)
    sections["accelerators.nvidia"]["driver"]["unified_memory"] = said
    modules = sections["settings"]["modules"]
    modules["loaded"] = [name for name in modules["loaded"] if name != "nvidia_uvm"] + (["nvidia_uvm"] if loaded else [])
    return sections


def test_what_the_rule_of_unified_memory_says():
    assert outcome("unified-memory", cuda("ready")) == ("passed", None)
    assert outcome("unified-memory", cuda("no /dev/nvidia-uvm")) == ("found", None)
    assert outcome("unified-memory", cuda("no /dev/nvidia-uvm", loaded=False)) == ("found", "info")
    assert outcome("unified-memory", cuda(UNREAD)) == ("unknown", None)
    assert outcome("unified-memory", cuda({"not_applicable": "no /dev/nvidiactl"})) == ("not_applicable", None)
    unread = cuda("no /dev/nvidia-uvm")
    del unread["settings"]
    assert outcome("unified-memory", unread) == ("unknown", None)


@pytest.mark.parametrize(
    ("names", "said"),
    [(["nvidiactl", "nvidia-uvm"], "ready"), (["nvidiactl", "nvidia0"], "no /dev/nvidia-uvm"), (["null"], None)],
)
def test_what_the_reader_tells_of_it(names, said):
    told = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), count=1, extra={"/dev": {"dir": names}}))["driver"]["unified_memory"]
    assert told == said or (said is None and "not_applicable" in told)
    unread = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), count=1, extra={"/dev": {"error": "EACCES"}}))
    assert "unknown" in unread["driver"]["unified_memory"]
