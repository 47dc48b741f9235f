# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules make of CDI specifications, from the files of a node to the finding."""

from __future__ import annotations

import copy

import cdi_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import cdi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from hypothesis import given
from hypothesis import strategies as st

ETC, RUN = "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"
RULES = ("cdi-invalid", "cdi-conflict", "cdi-device-missing", "cdi-stale", "cdi-names-every-accelerator")
PROFILE = profiles.find("acceptance")


def node(specs, change=None, made=cdi_samples.MADE, count=2, **more):
    found = cdi_samples.files(specs, count)
    for path in specs:
        if isinstance(found[path], str):
            cdi_samples.dated(found, path, made)
    found.update(change or {})
    sections = synthetic.healthy(count)
    sections["cdi"] = cdi.collect(cdi_samples.host(found, **more))
    return sections


def judged(sections):
    """{rule: "passed" | "found fail" | …, worst first}, findings."""
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    words = {}
    for rule in RULES:
        tally = told.counts[rule]
        levels = sorted(f["level"] for f in told.findings if f["rule"] == rule)
        words[rule] = "+".join([*levels, *(w for w, n in zip(("passed", "", "unknown", "na", "not_run"), tally) if n and w)])
    return words, [f for f in told.findings if f["rule"] in RULES]


ALL = dict.fromkeys(RULES, "passed")
NONE = dict.fromkeys(RULES, "na")


def test_a_healthy_node():
    assert judged(node({RUN: cdi_samples.document()})) == (ALL, [])


def test_not_read():
    sections = node({})
    del sections["cdi"]
    assert judged(sections)[0] == dict.fromkeys(RULES, "unknown")


def test_no_directory():
    assert judged(node({})) == (NONE, [])


def test_no_specification_where_the_runtime_resolves_cdi():
    sections = node({})
    sections["container_runtime"] = {"engines": [{"id": "containerd", "cdi": {"enabled": True, "directories": ["/etc/cdi", "/var/run/cdi"]}}]}
    words, findings = judged(sections)
    assert words == dict(NONE, **{"cdi-names-every-accelerator": "info"})
    assert findings[0]["summary"] == "containerd resolves CDI, and there is no specification: what is asked for by CDI is not found"


def test_a_directory_of_the_runtime_that_was_not_read():
    sections = node({RUN: cdi_samples.document()})
    sections["container_runtime"] = {"engines": [{"id": "containerd:k3s", "cdi": {"enabled": True, "directories": ["/run/cdi", "/opt/cdi"]}}]}
    assert judged(sections)[0] == {**ALL, **dict.fromkeys(RULES[:1] + RULES[2:], "passed+unknown"), "cdi-conflict": "unknown"}


def test_a_directory_that_cannot_be_listed():
    assert judged(node({}, {"/etc/cdi": {"error": "EACCES"}}))[0] == dict(dict.fromkeys(RULES, "unknown"))


def test_a_file_that_no_runtime_takes():
    words, findings = judged(node({ETC: cdi_samples.changed(cdiVersion="0.9")}))
    assert words == dict(NONE, **{"cdi-invalid": "fail"})
    assert findings[0]["subject"] == {"node": "n1", "kind": "cdi", "id": ETC}
    assert findings[0]["summary"].startswith("No runtime takes /etc/cdi/nvidia.yaml: cdiVersion 0.9 is none of")


def test_a_file_that_could_not_be_read_is_never_healthy():
    assert judged(node({ETC: {"error": "EACCES"}}))[0] == dict.fromkeys(RULES, "unknown")
    words = judged(node({RUN: cdi_samples.document(1), "/etc/cdi/other.yaml": {"error": "EACCES"}}))[0]
    assert words["cdi-names-every-accelerator"] == "unknown"  # the other file may name the second one


def test_a_file_that_is_not_loaded():
    words, findings = judged(node({RUN: cdi_samples.document(), "/etc/cdi/nvidia.yml": "x"}))
    assert words == dict(ALL, **{"cdi-invalid": "warn+passed"})
    assert findings[0]["summary"] == "Not loaded, for runtimes load .yaml and .json: nvidia.yml in /etc/cdi"


def test_two_files_of_one_directory():
    words, findings = judged(node({RUN: cdi_samples.document(), "/var/run/cdi/old.json": cdi_samples.document()}))
    assert words["cdi-conflict"] == "fail"
    # none of them resolves, so none is named
    assert words["cdi-names-every-accelerator"] == "fail"
    assert {f["rule"]: f["caused_by"] for f in findings}["cdi-names-every-accelerator"] == ["cdi-conflict"]


def test_the_same_in_both_directories_is_no_conflict():
    words, _findings = judged(node({ETC: cdi_samples.document(), RUN: cdi_samples.document()}))
    assert words == dict(ALL, **{"cdi-device-missing": "passed+na", "cdi-stale": "passed+na"})


def test_an_older_file_that_is_overruled_hands_out_nothing():
    words, findings = judged(node({ETC: cdi_samples.document(1), RUN: cdi_samples.document()}, {"/dev/nvidia9": {"absent": True}}))
    assert words["cdi-conflict"] == "warn" and words["cdi-stale"] == "passed+na"
    assert findings[0]["summary"] == "nvidia.com/gpu=all: /var/run/cdi/nvidia.yaml says other than /etc/cdi/nvidia.yaml, and wins"


@pytest.mark.parametrize(
    ("change", "summary"),
    [
        ({"/dev/nvidia1": {"absent": True}}, "/var/run/cdi/nvidia.yaml names what is not there: device node /dev/nvidia1"),
        ({cdi_samples.HOOK: {"absent": True}}, "/var/run/cdi/nvidia.yaml names what is not there: hook /usr/bin/nvidia-cdi-hook"),
        ({cdi_samples.LIBRARY: {"absent": True}}, "/var/run/cdi/nvidia.yaml names what is not there: mount " + cdi_samples.LIBRARY),
        (
            {cdi_samples.HOOK: {"type": "file", "mode": "0644"}},
            "/var/run/cdi/nvidia.yaml does not fit the machine: /usr/bin/nvidia-cdi-hook is not executable, not a program",
        ),
    ],
)
def test_what_is_named_and_not_there(change, summary):
    words, findings = judged(node({RUN: cdi_samples.document()}, change))
    assert words["cdi-device-missing"] == "fail"
    assert summary in [f["summary"].partition(" and ")[0].partition(", device")[0] for f in findings] or summary in [f["summary"] for f in findings]


def test_numbers_that_are_not_those_of_the_machine():
    document = cdi_samples.document()
    document["devices"][0]["containerEdits"]["deviceNodes"][0].update(type="c", major=195, minor=7)
    words, findings = judged(node({RUN: document}))
    assert words["cdi-device-missing"] == "fail"
    assert findings[0]["summary"] == "/var/run/cdi/nvidia.yaml does not fit the machine: /dev/nvidia0 is 195:0, not 195:7"


def test_what_could_not_be_looked_for_is_unknown():
    assert judged(node({RUN: cdi_samples.document()}, {cdi_samples.HOOK: {"error": "EACCES"}}))[0] == dict(ALL, **{"cdi-device-missing": "unknown"})


def test_about_something_else():
    spec = {"cdiVersion": "0.5.0", "kind": "acme.com/nic", "devices": [{"name": "a", "containerEdits": {"deviceNodes": [{"path": "/dev/nic0"}]}}]}
    words, _findings = judged(node({ETC: spec}, {"/dev/nic0": {"absent": True}}, made=cdi_samples.BOOT - 9999999))
    assert words == dict(ALL, **{"cdi-device-missing": "warn", "cdi-stale": "na", "cdi-names-every-accelerator": "na"})


# -- stale


def stale(spec=None, path=ETC, **more):
    words, findings = judged(node({path: spec or cdi_samples.document()}, **more))
    return words["cdi-stale"], [f["summary"] for f in findings if f["rule"] == "cdi-stale"]


def test_of_another_driver():
    library = cdi_samples.LIBRARY.replace("580.95.05", "570.10.01")
    spec = cdi_samples.changed(containerEdits={"mounts": [{"hostPath": library, "containerPath": library}]})
    assert stale(spec, change={library: {"absent": True}}) == ("fail", ["/etc/cdi/nvidia.yaml is of driver 570.10.01, 580.95.05 is loaded"])


def test_older_than_the_boot():
    assert stale(made=cdi_samples.BOOT - 86400) == ("warn", ["/etc/cdi/nvidia.yaml was made before this boot, and so before the driver was loaded"])
    assert stale(path=RUN, made=cdi_samples.BOOT - 5)[0] == "unknown"  # a boot empties /run


@pytest.mark.parametrize(("made", "outcome"), [(cdi_samples.BOOT + 10, "unknown"), (cdi_samples.BOOT + 31, "passed"), (cdi_samples.BOOT + 9999, "passed")])
def test_between_boot_and_driver_only_the_version_tells(made, outcome):
    assert stale(cdi_samples.changed(containerEdits={}), made=made) == (outcome, [])
    assert stale(made=made) == ("passed", [])


def test_no_date_is_unknown():
    sections = node({RUN: cdi_samples.document()})
    sections["cdi"]["specs"][0]["modified"] = {"unknown": "no date"}
    assert judged(sections)[0]["cdi-stale"] == "unknown"


def test_gpus_that_are_gone():
    gone = cdi_samples.document(3)
    assert stale(gone, change={"/dev/nvidia2": {"absent": True}})[1] == [
        "/etc/cdi/nvidia.yaml names devices that are not on this node: %s" % cdi_samples.uuid(2)
    ]


def test_the_unit_that_renews_it_failed():
    shown = "Id=nvidia-cdi-refresh.service\nLoadState=loaded\nUnitFileState=enabled\nActiveState=failed\nResult=exit-code\nExecMainStatus=1\n"
    words, findings = judged(node({RUN: cdi_samples.document()}, commands=[{"argv": cdi.SYSTEMCTL, "rc": 0, "stdout": shown}]))
    assert words == dict(ALL, **{"cdi-stale": "warn+passed"})
    assert findings[0]["summary"] == "The unit that renews the specification failed with exit status 1"


# -- every accelerator


def test_one_is_not_named():
    words, findings = judged(node({RUN: cdi_samples.document(7)}, count=8))
    assert words == dict(ALL, **{"cdi-names-every-accelerator": "fail"})
    assert findings[0]["summary"] == "1 of 8 nvidia accelerators are in no CDI specification: nvidia:7"
    assert findings[0]["subject"] == {"node": "n1", "kind": "manufacturer", "id": "nvidia"}


def test_all_alone_names_no_single_one():
    spec = cdi_samples.document()
    spec["devices"] = spec["devices"][-1:]
    assert judged(node({RUN: spec}))[0]["cdi-names-every-accelerator"] == "fail"
    one = cdi_samples.document(1)
    one["devices"] = one["devices"][-1:]
    assert judged(node({RUN: one}, count=1))[0]["cdi-names-every-accelerator"] == "passed"


def test_named_by_its_device_node_alone():
    spec = cdi_samples.document()
    spec["devices"] = [dict(device, name="slot-%d" % n) for n, device in enumerate(spec["devices"])]
    assert judged(node({RUN: spec}))[0]["cdi-names-every-accelerator"] == "passed"


def test_detection_failed():
    sections = node({RUN: cdi_samples.document()})
    detection = accelerators.detection("nvidia", [], read_failed="nvidia-smi: timeout", pci=sections["pci"]["devices"])
    sections["accelerators.nvidia"] = synthetic.section([], detection=detection)
    assert judged(sections)[0]["cdi-names-every-accelerator"] == "unknown"


def mig(sections):
    devices = sections["accelerators.nvidia"]["devices"]
    devices[0]["partition"] = {"mode": "mig", "enabled": True, "profile": {"not_applicable": "whole"}, "memory_profile": {"not_applicable": "whole"}}
    identity = accelerators.identity(uuid="MIG-11111111-2222-3333-4444-555555555555")
    devices.append(accelerators.device("nvidia:0/mig:0", 0, "MIG 1g.10gb", "partition", "nvidia:0", identity=identity))
    return sections


def test_a_partitioned_card_is_named_by_its_partitions():
    words, findings = judged(mig(node({RUN: cdi_samples.document()})))
    assert words["cdi-names-every-accelerator"] == "fail" and findings[0]["observed"] == ["nvidia:0/mig:0"]
    for name in ("0:0", "MIG-11111111-2222-3333-4444-555555555555", "mig0:0"):
        spec = cdi_samples.document()
        spec["devices"][0]["name"] = name
        assert judged(mig(node({RUN: spec})))[0] == ALL


def test_a_partition_that_is_gone_is_stale():
    for name in ("0:3", "MIG-99999999-2222-3333-4444-555555555555"):
        spec = cdi_samples.document()
        spec["devices"].append(dict(copy.deepcopy(spec["devices"][0]), name=name))
        words, findings = judged(mig(node({RUN: spec})))
        assert words["cdi-stale"] == "fail"
        told = {f["rule"]: f["summary"] for f in findings}
        assert told["cdi-stale"] == "/var/run/cdi/nvidia.yaml names devices that are not on this node: " + name


def test_devices_of_a_claim_come_and_go():
    spec = cdi_samples.changed(kind="k8s.gpu.nvidia.com/claim")
    spec["devices"] = [dict(spec["devices"][0], name="GPU-other")]
    assert judged(node({RUN: cdi_samples.document(), "/var/run/cdi/claim.json": spec}))[0] == ALL


# -- garbage

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["valid", "nvidia.com/gpu", "/etc/cdi/a", "2026-11-29T17:00:00Z"])
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["unknown", "path", "name"]), inner, max_size=3), max_leaves=8
)


@given(st.data())
def test_no_section_raises(data):
    sections = node({ETC: cdi_samples.document(1), RUN: cdi_samples.document()})
    section = sections["cdi"]
    for _unused in range(data.draw(st.integers(1, 4))):
        place = data.draw(
            st.sampled_from([section, *section["specs"], *section["directories"], *section["conflicts"]])
            if isinstance(section["specs"], list)
            else st.just(section)
        )
        if isinstance(place, dict) and place:
            place[data.draw(st.sampled_from(sorted(place)))] = data.draw(TREES)
            break
    judged(sections)


@given(TREES)
def test_no_engine_raises(tree):
    sections = node({})
    sections["container_runtime"] = {"engines": [{"id": tree, "cdi": {"enabled": True, "directories": tree}}, tree]}
    judged(sections)
