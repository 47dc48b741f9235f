# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What starts containers, as accelerator_info reads it: a look first, the reader only where there is something."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import containers, node
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document
from copied import ROOT

SCHEMAS = {name: json.loads((ROOT / "docs" / "schemas" / (name + ".json")).read_text()) for name in ("kubelet", "container_runtime", "cdi")}
BARE = [*containers.KUBELET, *containers.ENGINES, *containers.CDI]
LARGE = ("kubelet", "kubelet_setting", "yaml_subset", "container_runtime", "container_engines", "containerd", "container_devices", "cdi", "cdi_schema")


def recorded_document(files=None, programs=None, **more):
    files = {
        "/proc/1": {"exists": True},
        **{path: {"absent": True} for path in BARE if not any(p == path or p.startswith(path + "/") for p in files or {})},
        **(files or {}),
    }
    programs = {**{name: {"status": "absent"} for name in containers.PROGRAMS}, **(programs or {})}
    return {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-03-01T08:00:00Z", "files": files, "programs": programs, **more}


def recorded(*arguments, **more):
    return ReplayHost(recorded_document(*arguments, **more))


def read(host, options=None):
    found = containers.collect(host, options)
    for name, section in found.items():
        jsonschema.Draft202012Validator(SCHEMAS[name]).validate(section)
    return found


def test_a_node_with_none_of_it_says_so():
    found = read(recorded())
    assert found["kubelet"]["state"] == "absent" and found["kubelet"]["settings"] == {"not_applicable": "no kubelet on this node"}
    assert found["container_runtime"]["engines"] == [] and found["container_runtime"]["resolved"]["reason"] == "no container engine on this node"
    assert [(one["path"], one["state"]) for one in found["cdi"]["directories"]] == [("/etc/cdi", "absent"), ("/var/run/cdi", "absent")]
    topology = preflight_document.document(found)["topology"]
    assert topology["policy"] == "unknown" and "kubeadm-flags.env" in topology["note"] and "a later kubelet" in topology["note"]


def test_the_short_sections_have_every_key_of_the_long_ones():
    short, long = read(recorded()), read(ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-03-01T08:00:00Z", "files": {}}))
    for name in short:
        assert list(short[name]) == list(long[name]), name


def test_what_was_not_recorded_is_unknown():
    found = read(ReplayHost({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-03-01T08:00:00Z", "files": {"/etc/os-release": "ID=x\n"}}))
    assert found["kubelet"]["state"] == "unknown" and "not recorded" in found["kubelet"]["problem"]
    assert found["container_runtime"]["unsure"] and "unknown" in found["container_runtime"]["kubelet"]["endpoint"]
    assert {one["state"] for one in found["cdi"]["directories"]} == {"unknown"}


@pytest.mark.parametrize("path", containers.KUBELET)
def test_each_trace_of_a_kubelet_is_followed(path):
    found = read(recorded({path: {"dir": []}, "/proc": {"dir": ["1", "77"]}, "/proc/1/cmdline": "/sbin/init\0", "/proc/77/cmdline": "/opt/kubelet\0"}))
    assert found["kubelet"]["state"] == "running" and found["kubelet"]["process"]["pid"] == 77


@pytest.mark.parametrize("path", containers.ENGINES)
def test_each_trace_of_an_engine_is_followed(path):
    assert read(recorded({path: {"exists": True}}))["container_runtime"]["sources"]


@pytest.mark.parametrize("program", containers.PROGRAMS)
def test_each_program_of_an_engine_is_followed(program):
    assert read(recorded(programs={program: "/usr/bin/" + program}))["container_runtime"]["clients"]


def test_an_empty_directory_holds_no_specification():
    found = read(recorded({"/etc/cdi": {"dir": []}}))["cdi"]
    assert [one["state"] for one in found["directories"]] == ["read", "absent"] and found["refresh"] == {"not_applicable": "no CDI specification on this node"}


def test_a_file_in_the_directory_is_read():
    found = read(recorded({"/etc/cdi": {"dir": ["a.yaml"]}, "/etc/cdi/a.yaml": "cdiVersion: 0.6.0\n"}))["cdi"]
    assert found["specs"][0]["path"] == "/etc/cdi/a.yaml" and found["specs"][0]["state"] == "invalid"


def test_directories_that_an_engine_names_are_read_once():
    engine = {"cdi": {"enabled": True, "directories": ["/run/cdi/", "/etc/cdi", "/opt/cdi", "relative"]}}
    host = recorded({"/opt/cdi": {"dir": []}})
    engines = {"engines": [engine, {"cdi": {"unknown": "x"}}]}
    assert [one["path"] for one in containers.cdi(host, engines)["directories"]] == ["/etc/cdi", "/var/run/cdi", "/opt/cdi"]
    assert [one["path"] for one in containers.cdi(host, engines, ["/opt/cdi"])["directories"]] == ["/opt/cdi"]


@pytest.mark.parametrize(
    "hidden", [{"/proc": {"dir": ["77"]}, "/proc/1": {"absent": True}, "/proc/77/cmdline": "x"}, {"/proc": {"error": "EACCES"}, "/proc/1": {"error": "EACCES"}}]
)
def test_where_processes_cannot_be_seen_no_kubelet_is_not_said(hidden):
    found = read(ReplayHost({**recorded_document(), "files": {**recorded_document()["files"], **hidden}}))
    assert found["kubelet"]["state"] == "unknown"
    resolved = found["container_runtime"]["resolved"]
    assert resolved["by"] == "kubelet" and "could not look for a kubelet" in resolved["reason"]


def test_the_word_of_the_operator_is_followed():
    found = read(recorded(), {"runtime": "nerdctl"})["container_runtime"]["resolved"]
    assert found["by"] == "option" and "nerdctl was asked for" in found["reason"]


class Counting(ReplayHost):
    def __init__(self, *args):
        super().__init__(*args)
        self.lists = []

    def listdir(self, path):
        self.lists.append(path)
        return super().listdir(path)


def test_the_process_table_is_read_once():
    files = {"/var/lib/kubelet": {"dir": []}, "/proc": {"dir": ["1", "9"]}, "/proc/1/cmdline": "init\0"}
    files["/proc/9/cmdline"] = "kubelet\0--container-runtime-endpoint=unix:///run/containerd/containerd.sock\0"
    host = Counting({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-03-01T08:00:00Z", "files": files})
    found = read(host)
    assert host.lists.count("/proc") == 1
    assert found["container_runtime"]["kubelet"]["endpoint"] == "/run/containerd/containerd.sock"


def test_a_bare_node_imports_none_of_the_readers(tmp_path):
    """In a process of its own, with the look at an empty root."""
    for name in ("proc/1", "etc", "usr"):
        (tmp_path / name).mkdir(parents=True)
    names = ["ansible_collections.fleetproof.accelerator.plugins.module_utils.readers." + name for name in LARGE]
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost\n"
        "from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import node\n"
        "found = node.collect(LiveHost(root=sys.argv[2]))\n"
        "print(sorted(found), [name for name in sys.argv[3:] if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / ".cache" / "collections"), str(tmp_path), *names], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['cdi', 'container_runtime', 'host', 'kubelet', 'pci'] []"


def test_of_this_machine():
    host = LiveHost()
    try:
        found = node.collect(host)
    finally:
        host.close()
    for name, schema in SCHEMAS.items():
        jsonschema.Draft202012Validator(schema).validate(found[name])
