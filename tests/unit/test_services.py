# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's services: read with one question where they can be there; the fabric manager is judged where the node has switches to run."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import node, services
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles

engine.default_policy()
PROFILE = profiles.find("preflight")
NVSWITCH = {"vendor": "0x10de", "device": "0x22a3", "class": "0x068000"}
GPU = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200"}
AUDIO = {"vendor": "0x10de", "device": "0x10f0", "class": "0x040300"}
AMD = {"vendor": "0x1002", "device": "0x74a1", "class": "0x120000"}


def shown(**active):
    """What systemctl show prints; a service that is not named is not installed."""
    blocks = []
    for name in services.SERVICES:
        state = active.get(name.partition("-")[2])
        words = ("loaded" if state else "not-found", state or "inactive", {"active": "running", "failed": "failed"}.get(state, "dead"))
        blocks.append("Id=%s.service\nLoadState=%s\nActiveState=%s\nSubState=%s\n" % (name, *words))
    return "\n".join(blocks)


class Asked(ReplayHost):
    """Counts how often the services are asked for."""

    def __init__(self, recording):
        super().__init__(recording)
        self.times = 0

    def run(self, argv, *arguments, **more):
        self.times += argv == services.SYSTEMCTL
        return super().run(argv, *arguments, **more)


def machine(*functions, said=None, files=()):
    named = {"0000:%02x:00.0" % (0x18 + n): function for n, function in enumerate(functions)}
    everything = {"/sys/bus/pci/devices": {"dir": list(named)}, "/run/systemd/system": {"type": "directory"}, "/run/nvidia/driver/usr": {"absent": True}}
    for address, function in named.items():
        everything.update({"/sys/bus/pci/devices/%s/%s" % (address, key): value + "\n" for key, value in function.items()})
    everything.update(files)
    command = dict({"argv": services.SYSTEMCTL, "stdout": shown(fabricmanager="active", imex="inactive")}, **(said or {}))
    return Asked({"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": everything, "commands": [command]})


def read(host):
    return node.collect(host)["host"]["services"]


def test_one_question_tells_all_services():
    host = machine(GPU, NVSWITCH)
    told = read(host)
    assert told["nvidia-fabricmanager"] == {"load": "loaded", "active": "active", "sub": "running"}
    assert told["nvidia-imex"] == {"load": "loaded", "active": "inactive", "sub": "dead"}
    assert told["nvidia-dcgm"] == {"load": "not-found", "active": "inactive", "sub": "dead"} and told["driver_container"] is False
    assert host.times == 1


@pytest.mark.parametrize(("functions", "asked"), [((), False), ((AMD,), False), ((AUDIO,), False), ((AMD, GPU), True), ((NVSWITCH,), True)])
def test_it_is_asked_only_where_nvidia_is_on_pci(functions, asked):
    host = machine(*functions)
    told = read(host)
    assert host.times == int(asked) and ("not_applicable" in told) != asked


@pytest.mark.parametrize(
    ("files", "said", "words"),
    [
        ({"/run/systemd/system": {"absent": True}}, {}, "systemd does not run here"),
        ({"/run/systemd/system": {"error": "EACCES"}}, {}, "EACCES"),
        ({}, {"missing": True}, "absent"),
        ({}, {"hang": True}, "timeout"),
        ({}, {"rc": 1, "stdout": "", "stderr": "Failed to connect to bus: No such file or directory\n"}, "Failed to connect to bus"),
        ({}, {"stdout": ""}, "not understood"),
        ({}, {"stdout": "\0\xff garbage ["}, "not understood"),
        ({"/sys/bus/pci/devices": {"error": "EIO"}}, {}, "is not known"),
    ],
)
def test_what_is_not_told_is_unknown(files, said, words):
    told = read(machine(GPU, files=files, said=said))
    assert list(told) == ["unknown"] and words in told["unknown"]


def test_an_alias_a_missing_property_and_another_order():
    blocks = shown(fabricmanager="active", dcgm="active").split("\n\n")
    told = services.parse("\n\n".join([*blocks[:3], blocks[3].replace("Id=nvidia-dcgm", "Id=dcgm")]))
    assert told["nvidia-dcgm"]["active"] == "active"
    assert services.parse("\n\n".join(reversed(blocks)))["nvidia-fabricmanager"]["active"] == "active"
    told = services.parse("\n\n".join(blocks[1:]).replace("SubState", "Sub"))
    assert list(told["nvidia-fabricmanager"]["active"]) == ["unknown"] and list(told["nvidia-imex"]["sub"]) == ["unknown"]


# -- the rule -------------------------------------------------------------------------------------------------------


def judged(bridges=4, model=None, driver="nvidia-nvswitch", virtualization="none", services=None, **variables):
    sections = synthetic.healthy()
    for entry in sections["pci"]["devices"]:
        entry["model"] = model or entry["model"]
    sections["pci"]["devices"] += [dict(synthetic.pci_entry(8 + n), role="bridge", device="22a3", driver=driver) for n in range(bridges)]
    sections["host"].update(services=synthetic.services() if services is None else services, virtualization=virtualization)
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), PROFILE)
    return told.counts["fabric-manager"], [f for f in told.findings if f["rule"] == "fabric-manager"], {g[0]: g[2] for g in told.gaps}


DEAD = synthetic.services(fabricmanager="inactive")
FAILED = synthetic.services(fabricmanager="failed")
ABSENT = dict(synthetic.services(), **{"nvidia-fabricmanager": {"load": "not-found", "active": "inactive", "sub": "dead"}})
PASSED, FOUND, UNKNOWN, NOT_APPLICABLE = ([int(n == place) for n in range(5)] for place in range(4))


@pytest.mark.parametrize(("state", "words"), [(DEAD, "inactive (dead)"), (FAILED, "failed"), (ABSENT, "not installed")])
def test_switches_and_no_manager_is_a_failure_whatever_the_devices_say(state, words):
    """The devices of the healthy node say that they completed joining the fabric."""
    counts, findings, _gaps = judged(services=state)
    assert counts == FOUND and findings[0]["level"] == "fail"
    assert findings[0]["summary"] == "The node has 4 NVSwitches on PCI, and nvidia-fabricmanager is %s" % words


@pytest.mark.parametrize("model", ["B200", "HGX B200 168GB", "B300 SXM6 AC"])
def test_a_baseboard_whose_switches_pci_does_not_show(model):
    assert judged(0, model, services=DEAD)[1][0]["summary"].startswith("The node has the NVSwitches of %s" % model)
    assert judged(0, model)[0] == PASSED
    assert judged(0, model, virtualization="kvm", services=DEAD)[0] == NOT_APPLICABLE


@pytest.mark.parametrize("model", ["GB200", "GB300", "H100 PCIe", "H100 SXM5 80GB", "L40S", "RTX PRO 6000 Blackwell"])
def test_where_no_switch_is_to_be_run_the_service_may_be_down(model):
    counts, findings, gaps = judged(0, model, services=DEAD)
    assert counts == NOT_APPLICABLE and not findings and gaps["fabric-manager"] == "no NVSwitch that this node would run"


def test_a_fabric_manager_that_ends_again_and_again_does_not_run():
    again = synthetic.services(fabricmanager="activating")
    again["nvidia-fabricmanager"]["sub"] = "auto-restart"
    counts, findings, _gaps = judged(services=again)
    assert counts == FOUND and [finding["level"] for finding in findings] == ["fail"]


def test_switches_handed_to_a_guest_are_run_there():
    assert judged(driver="vfio-pci", services=DEAD)[0] == NOT_APPLICABLE


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (unknown("systemd does not run here"), "systemd does not run here"),
        (synthetic.services(fabricmanager="activating"), "being started"),
        (dict(ABSENT, driver_container=True), "the driver is in a container"),
        (dict(ABSENT, driver_container=unknown("denied")), "denied"),
        ({}, "not in the report"),
        ("garbage", "not an object"),
        ({"nvidia-fabricmanager": {"load": "loaded", "active": unknown("not told"), "sub": "dead"}}, "not told"),
    ],
)
def test_what_is_not_known_is_no_fault(state, words):
    counts, findings, gaps = judged(services=state)
    assert counts == UNKNOWN and not findings and words in gaps["fabric-manager"]


def test_a_report_of_a_former_version_has_no_services():
    sections = synthetic.healthy()
    sections["pci"]["devices"].append(dict(synthetic.pci_entry(8), role="bridge"))
    del sections["host"]["services"]
    assert engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE).counts["fabric-manager"] == UNKNOWN


def test_the_manager_explains_a_device_that_did_not_join():
    sections = synthetic.healthy()
    sections["pci"]["devices"] += [dict(synthetic.pci_entry(8 + n), role="bridge") for n in range(4)]
    sections["host"]["services"] = DEAD
    sections["accelerators.nvidia"]["devices"][0]["fabric"]["state"] = "in_progress"
    findings = {f["rule"]: f for f in engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE).findings}
    assert findings["fabric-state"]["caused_by"] == ["fabric-manager"] and findings["fabric-manager"]["caused_by"] == []
