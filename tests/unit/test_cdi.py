# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specifications as a runtime loads them, and what they name held against the machine."""

from __future__ import annotations

import json
from pathlib import Path

import cdi_samples
import jsonschema
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi, cdi_schema
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from hypothesis import given
from hypothesis import strategies as st

SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "cdi.json").read_text(encoding="utf-8")))
PATH = "/etc/cdi/nvidia.yaml"


def read(specs, change=None, **more):
    found = cdi_samples.files(specs)
    found.update(change or {})
    section = cdi.collect(cdi_samples.host(found, **more))
    SCHEMA.validate(section)
    return section


def only(spec, change=None):
    return read({PATH: spec}, change)["specs"][0]


def test_a_healthy_file():
    found = cdi_samples.dated(cdi_samples.files({PATH: yaml.safe_dump(cdi_samples.document(), sort_keys=False)}), PATH, cdi_samples.MADE)
    section = cdi.collect(cdi_samples.host(found))
    SCHEMA.validate(section)
    (spec,) = section["specs"]
    assert (spec["state"], spec["reason"], spec["problems"], spec["priority"]) == ("valid", "", [], 0)
    assert (spec["modified"], spec["version"], spec["kind"]) == ("2026-11-21T08:01:12Z", "0.5.0", "nvidia.com/gpu")
    assert (spec["generator"], spec["driver_versions"]) == ("nvidia-ctk", [cdi_samples.DRIVER])
    assert [d["name"] for d in spec["devices"]] == ["0", cdi_samples.uuid(0), "1", cdi_samples.uuid(1), "all"]
    assert spec["devices"][-1]["nodes"] == ["/dev/nvidia0", "/dev/nvidia1"]
    assert spec["counts"] == {"device_nodes": 8, "mounts": 1, "hooks": 1}
    assert spec["missing"] == spec["mismatched"] == spec["unchecked"] == section["conflicts"] == []
    assert section["boot_time"] == "2026-11-21T08:00:00Z" and section["drivers"] == {"nvidia": {"dated": "2026-11-21T08:00:31Z"}}


def test_json_is_read_like_yaml_and_other_names_are_not_loaded():
    found = cdi_samples.files({"/var/run/cdi/a.json": cdi_samples.document(), "/var/run/cdi/b.yml": cdi_samples.document(), "/var/run/cdi/c.yaml": {"dir": []}})
    section = cdi.collect(cdi_samples.host(found))
    assert [(s["path"], s["state"], s["priority"]) for s in section["specs"]] == [("/var/run/cdi/a.json", "valid", 1)]
    assert section["directories"][1]["ignored"] == ["b.yml", "c.yaml"]
    assert [d["state"] for d in section["directories"]] == ["absent", "read"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("", "empty"),
        ("[]\n", "not an object"),
        (cdi_samples.changed(cdiVersion="0.9.0"), "cdiVersion 0.9.0 is none of"),
        (cdi_samples.changed(cdiVersion=None), "no cdiVersion"),
        (cdi_samples.changed(cdiVersion="0.3.0"), "cdiVersion 0.3.0 is too low for what is used: at least 0.5.0"),
        (cdi_samples.changed(kind="nvidia"), "kind is not vendor/class: nvidia"),
        (cdi_samples.changed(kind="nvidia.com/gpu/x"), "kind is not vendor/class"),
        (cdi_samples.changed(kind="1nvidia.com/gpu"), "kind is not vendor/class"),
        (cdi_samples.changed(kind="nvidia.com/gpu.2"), "at least 0.6.0"),
        (cdi_samples.changed(devices=[]), "no devices"),
        (cdi_samples.changed(devices={}), "devices is not a list of objects"),
        (cdi_samples.changed(containerRuntime=["podman"]), "unknown field containerRuntime"),
        (cdi_samples.changed(devices=[{"name": "0", "containerEdits": {}}]), "devices[0]: changes nothing"),
        (cdi_samples.changed(devices=[{"name": "-0", "containerEdits": {"env": ["A=1"]}}]), "devices[0]: not a device name: -0"),
        (cdi_samples.changed(devices=[{"name": "a", "containerEdits": {"env": ["A=1"]}}] * 2), "devices[1]: device a is given twice"),
        (cdi_samples.changed(devices=[{"containerEdits": {"env": ["A=1"]}}]), "devices[0]: no name"),
        (cdi_samples.changed(containerEdits={"env": ["=1"]}), "containerEdits: env: not NAME=value: =1"),
        (cdi_samples.changed(containerEdits={"env": "A=1"}), "containerEdits: env is not a list of texts"),
        (cdi_samples.changed(containerEdits={"deviceNodes": [{"hostPath": "/dev/x"}]}), "containerEdits.deviceNodes[0]: no path"),
        (cdi_samples.changed(containerEdits={"deviceNodes": [{"path": "/dev/x", "type": "d"}]}), "type d is none of b, c, u, p"),
        (cdi_samples.changed(containerEdits={"deviceNodes": [{"path": "/dev/x", "major": "195"}]}), "major is not a whole number: 195"),
        (cdi_samples.changed(containerEdits={"deviceNodes": [{"path": "/dev/x", "minor": -1}]}), "a negative device number"),
        (cdi_samples.changed(containerEdits={"deviceNodes": [{"path": "/dev/x", "permissions": "rx"}]}), "permissions rx"),
        (cdi_samples.changed(containerEdits={"hooks": [{"hookName": "before", "path": "/x"}]}), "no such hook: before"),
        (cdi_samples.changed(containerEdits={"hooks": [{"hookName": "prestart"}]}), "containerEdits.hooks[0]: no path"),
        (cdi_samples.changed(containerEdits={"mounts": [{"hostPath": "/x"}]}), "containerEdits.mounts[0]: no containerPath"),
        (cdi_samples.changed(containerEdits={"mounts": [{"hostPath": "/x", "containerPath": "/x", "options": "ro"}]}), "options is not a list of texts"),
        (cdi_samples.changed(containerEdits={"netDevices": [{"hostInterfaceName": "eth0", "name": "a"}]}), "at least 1.1.0"),
        (cdi_samples.changed(containerEdits={"intelRdt": {"closID": ".."}}), "intelRdt: closID .."),
        (cdi_samples.changed(containerEdits={"additionalGids": [44]}), "at least 0.7.0"),
        (cdi_samples.changed(annotations={"a": ["b"]}), "annotations are texts by name"),
        ('{"cdiVersion": "0.5.0", "cdiVersion": "0.5.0"}', "given twice"),
        ("cdiVersion: 0.5.0\ncdiVersion: 0.5.0\n", "given twice"),
        ('{"cdiVersion": "0.5.0"', "not closed"),
    ],
)
def test_what_a_runtime_refuses(spec, problem):
    found = only(spec)
    assert found["state"] == "invalid" and found["reason"] == "", found
    assert any(problem in said for said in found["problems"]), found["problems"]
    assert is_unknown(found["devices"]) and is_unknown(found["missing"])


@pytest.mark.parametrize(
    "spec",
    [
        "cdiVersion: 0.5.0\nkind: acme.com/x\ndevices:\n- name: 0\n  containerEdits:\n    env: [A=1]\n",
        "cdiVersion: v1.1.0\nkind: acme.com/x\ndevices:\n- name: a\n  annotations: {k: v}\n  containerEdits:\n"
        "    netDevices: [{hostInterfaceName: eth0, name: net0}]\n",
        "cdiVersion: 0.7.0\nkind: acme.com/x\ncontainerEdits:\ndevices:\n- name: a\n  containerEdits: {intelRdt: {closID: /, enableCMT: true}}\n",
    ],
)
def test_what_a_runtime_takes(spec):
    assert only(spec)["problems"] == []
    assert only(spec)["state"] == "valid"


@pytest.mark.parametrize(
    ("entry", "state", "reason"),
    [
        ({"error": "EACCES"}, "unknown", "denied"),
        ({"hang": True}, "unknown", "timeout"),
        ({"device": "fifo"}, "unknown", "not a file"),
        ({"link": "/nowhere"}, "invalid", ""),
        ("a: &x 1\nb: *x\n", "unknown", "an anchor"),
        ("cdiVersion: 0.5.0\n---\nkind: a\n", "unknown", "more than one document"),
        (cdi_samples.changed(cdiVersion="1.2.0"), "unknown", "a version that came later"),
    ],
)
def test_what_could_not_be_read_is_unknown(entry, state, reason):
    found = only(entry, {"/nowhere": {"absent": True}})
    assert found["state"] == state and reason in found["reason"]
    assert is_unknown(found["devices"])


def test_a_later_version_that_also_has_faults_is_invalid():
    assert only(cdi_samples.changed(cdiVersion="1.2.0", kind="x"))["state"] == "invalid"


def test_a_file_too_large_is_unknown():
    assert only("# %s\n" % ("x" * (2 << 20)))["state"] == "unknown"


def edits(**parts):
    return cdi_samples.changed(devices=[{"name": "a", "containerEdits": parts}], containerEdits={})


@pytest.mark.parametrize(
    ("parts", "machine", "missing", "mismatched", "unchecked"),
    [
        ({"deviceNodes": [{"path": "/dev/a"}]}, {"/dev/a": {"absent": True}}, ["/dev/a"], [], 0),
        ({"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]}, {"/dev/b": {"absent": True}}, ["/dev/b"], [], 0),
        ({"deviceNodes": [{"path": "/dev/a", "hostPath": ""}]}, {"/dev/a": {"device": "char", "major": 1, "minor": 3}}, [], [], 0),
        ({"deviceNodes": [{"path": "/dev/a", "type": "c", "major": 1, "minor": 3}]}, {"/dev/a": {"device": "char", "major": 1, "minor": 3}}, [], [], 0),
        (
            {"deviceNodes": [{"path": "/dev/a", "type": "c", "major": 1}]},
            {"/dev/a": {"device": "char", "major": 1, "minor": 3}},
            [],
            [("1:0", "1:3")],
            0,
        ),
        (
            {"deviceNodes": [{"path": "/dev/a", "type": "b", "major": 1, "minor": 3}]},
            {"/dev/a": {"device": "char", "major": 1, "minor": 3}},
            [],
            [("block", "char")],
            0,
        ),
        ({"deviceNodes": [{"path": "/dev/dri"}]}, {"/dev/dri": {"dir": []}}, [], [("a device", "directory")], 0),
        (
            {"deviceNodes": [{"path": "/dev/a"}]},
            {"/dev/a": {"link": "b"}, "/dev/b": {"device": "char", "major": 1, "minor": 3}},
            [],
            [("a device", "a link, which runtimes do not follow here")],
            0,
        ),
        ({"deviceNodes": [{"path": "/dev/a"}]}, {"/dev/a": {"error": "EACCES"}}, [], [], 1),
        ({"deviceNodes": [{"path": "dev/a"}]}, {}, [], [], 1),
        ({"deviceNodes": [{"path": "/dev/a"}]}, {}, [], [], 1),  # not recorded
        ({"deviceNodes": [{"path": "/dev/a", "major": 1}]}, {"/dev/a": {"device": "char"}}, [], [], 1),
        ({"mounts": [{"hostPath": "/a", "containerPath": "/a"}]}, {"/a": {"absent": True}}, ["/a"], [], 0),
        ({"mounts": [{"hostPath": "/a", "containerPath": "/a"}]}, {"/a": {"exists": True}}, [], [], 0),
        ({"mounts": [{"hostPath": "tmpfs", "containerPath": "/a", "type": "tmpfs"}]}, {}, [], [], 0),
        ({"hooks": [{"hookName": "prestart", "path": "/a"}]}, {"/a": {"type": "file", "mode": "0644"}}, [], [("a program", "not executable")], 0),
        ({"hooks": [{"hookName": "prestart", "path": "/a"}]}, {"/a": {"dir": []}}, [], [("a program", "directory")], 0),
        ({"hooks": [{"hookName": "prestart", "path": "/a"}]}, {"/a": {"absent": True}}, ["/a"], [], 0),
    ],
)
def test_what_is_named_is_looked_for(parts, machine, missing, mismatched, unchecked):
    found = only(edits(**parts), machine)
    assert found["state"] == "valid", found["problems"]
    assert [one["path"] for one in found["missing"]] == missing
    assert [(one["said"], one["found"]) for one in found["mismatched"]] == mismatched
    assert len(found["unchecked"]) == unchecked
    assert all(one["device"] == "a" for one in found["missing"] + found["mismatched"])


def test_two_files_of_one_directory_name_the_same_device():
    section = read({"/etc/cdi/a.yaml": cdi_samples.document(), "/etc/cdi/b.json": cdi_samples.document(1)})
    assert {(c["winner"], *c["paths"], c["same"], len(c["devices"])) for c in section["conflicts"]} == {
        (None, "/etc/cdi/a.yaml", "/etc/cdi/b.json", True, 2),
        (None, "/etc/cdi/a.yaml", "/etc/cdi/b.json", False, 1),
    }


def test_the_later_directory_wins():
    section = read({"/etc/cdi/nvidia.yaml": cdi_samples.document(1), "/var/run/cdi/nvidia.yaml": cdi_samples.document(2)})
    assert {c["winner"] for c in section["conflicts"]} == {"/var/run/cdi/nvidia.yaml"}
    assert {(c["same"], tuple(c["devices"])) for c in section["conflicts"]} == {
        (True, ("nvidia.com/gpu=0", "nvidia.com/gpu=" + cdi_samples.uuid(0))),
        (False, ("nvidia.com/gpu=all",)),
    }


def test_a_file_that_no_runtime_takes_conflicts_with_nothing():
    assert read({"/etc/cdi/a.yaml": cdi_samples.document(), "/etc/cdi/b.yaml": cdi_samples.changed(cdiVersion="9")})["conflicts"] == []


@pytest.mark.parametrize(
    ("change", "generator"),
    [
        ({}, "nvidia-ctk"),
        ({"kind": "k8s.device-plugin.nvidia.com/gpu"}, "NVIDIA device plugin"),
        ({"kind": "k8s.gpu.nvidia.com/claim"}, "NVIDIA DRA driver"),
        ({"kind": "management.nvidia.com/gpu"}, "NVIDIA Container Toolkit (management)"),
        ({"containerEdits": {}}, {"unknown": "the file does not tell"}),
    ],
)
def test_the_generator_where_it_can_be_told(change, generator):
    assert only(cdi_samples.changed(**change))["generator"] == generator


def test_the_generator_in_a_comment():
    assert only("---\n# Generated by acme-cdi 1.2\n" + yaml.safe_dump(cdi_samples.document()))["generator"] == "acme-cdi 1.2"


def test_other_directories_than_the_usual():
    found = cdi_samples.files({})
    found.update({"/run/k3s/cdi": {"dir": ["a.json"]}, "/run/k3s/cdi/a.json": json.dumps(cdi_samples.document())})
    section = cdi.collect(cdi_samples.host(found), ["/run/k3s/cdi"])
    assert [s["path"] for s in section["specs"]] == ["/run/k3s/cdi/a.json"]


def test_a_directory_that_cannot_be_listed():
    section = read({}, {"/etc/cdi": {"error": "EACCES"}})
    assert section["directories"][0] == {"path": "/etc/cdi", "state": "unknown", "detail": "/etc/cdi: denied (EACCES)", "ignored": []}


SHOWN = """Id=nvidia-cdi-refresh.service
LoadState=loaded
UnitFileState=enabled
ActiveState=inactive
Result=success
ExecMainStatus=0

Id=nvidia-cdi-refresh.path
LoadState=loaded
UnitFileState=enabled
ActiveState=active
Result=success
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"missing": True}, {"not_applicable": "no systemd"}),
        ({"rc": 1, "stderr": "no bus"}, "unknown"),
        ({"rc": 0, "stdout": "Id=nvidia-cdi-refresh.service\nLoadState=not-found\n"}, {"not_applicable": "no unit nvidia-cdi-refresh.service"}),
        ({"rc": 0, "stdout": SHOWN.replace("loaded", "not-found", 1)}, {"path"}),
        ({"rc": 0, "stdout": SHOWN}, {"service", "path"}),
    ],
)
def test_the_unit_that_renews_it(answer, expected):
    told = read({}, commands=[{"argv": cdi.SYSTEMCTL, **answer}])["refresh"]
    if expected == "unknown":
        assert is_unknown(told)
    elif isinstance(expected, dict):
        assert told == expected
    else:
        assert set(told) == expected
        if "service" in told:
            assert told["service"] == {"enabled": "enabled", "active": "inactive", "result": "success", "exit_status": 0}


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["a", "/dev/x", "A=1", "prestart"])
KEYS = st.sampled_from(
    [
        "cdiVersion",
        "kind",
        "devices",
        "containerEdits",
        "name",
        "env",
        "deviceNodes",
        "hooks",
        "mounts",
        "intelRdt",
        "netDevices",
        "additionalGids",
        "annotations",
        "path",
        "hostPath",
        "containerPath",
        "hookName",
        "args",
        "major",
        "minor",
        "type",
        "options",
        "closID",
    ]
)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=4), max_leaves=20)


@given(TREES, st.sampled_from(["", "devices", "containerEdits", "annotations", "kind"]))
def test_no_document_raises(tree, where):
    spec = cdi_samples.changed(**{where: tree}) if where else tree
    said = cdi_schema.problems(spec)
    assert all(isinstance(one, str) for one in said)
    found = only(json.dumps(spec))
    assert (found["state"] == "valid") == (said == [])


@given(st.text(max_size=60) | st.text(alphabet="ab:-{}[],\"'#&*! \n\t", max_size=60))
def test_no_text_raises_and_what_is_called_no_yaml_is_none(text):
    try:
        cdi.parse(text)
    except cdi._NotRead as no:
        state, reason = no.args
        if state == "invalid" and "given twice" not in reason:
            with pytest.raises(yaml.YAMLError):
                yaml.safe_load(text)
