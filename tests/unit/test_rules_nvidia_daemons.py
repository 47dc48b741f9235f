# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's daemons and switches: what runs in containers, what the fabric manager wrote, switches of a baseboard, DCGM's engine."""

from __future__ import annotations

import datetime

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import fabric_manager_log as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import node_services, nvidia_daemons
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown, not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from health_nodes import ask

UNREAD = unknown("denied")
BOOT = 1772000000  # 2026-02-25T06:13:20Z
VERSION = "Fabric Manager version is : 580.95.05\n"


def host(commands=(), files=None, boot=BOOT):
    files = dict({"/sys/module/nvidia": {"dir": []}}, **(files or {}))
    return ReplayHost(
        {
            "schema": "fleetproof.accelerator/recording/v1",
            "recorded": "2026-03-01T08:00:00Z",
            "files": files,
            "commands": list(commands),
            "host": {"boot_time": boot},
        }
    )


def stamp(seconds, zone=0):
    return datetime.datetime.fromtimestamp(seconds + zone, datetime.timezone.utc)


def log(*lines, zone=0, start=None):
    """lines: (seconds, level, message). start: when the manager wrote its header."""
    head = [] if start is None else ["Fabric Manager Log initializing at: %s" % stamp(start, zone).strftime("%m/%d/%Y %H:%M:%S.000")]
    return "\n".join([*head, *("[%s] [%s] [tid 77] %s" % (stamp(at, zone).strftime("%b %d %Y %H:%M:%S"), level, said) for at, level, said in lines)]) + "\n"


def read(text, written, **more):
    files = {reader.LOG: {"type": "file", "size": len(text), "mtime": written}}
    return reader.read(host([{"argv": reader.TAIL, "stdout": text}], files, **more))


MULTICAST = "failed to find the member GPU handle 1234567890123 in partition -1 in the multicast team setup request id 99887766554433."


def test_equal_complaints_are_one_with_their_times_in_utc():
    noon = BOOT + 3600
    lines = [(noon, "INFO", "Connected to 1 node."), (noon + 60, "ERROR", MULTICAST), (noon + 120, "ERROR", MULTICAST.replace("1234567890123", "77"))]
    for zone in (0, 3 * 3600, -7 * 3600, 19800):
        told = read(log(*lines, zone=zone, start=noon), noon + 121)
        assert told["source"] == reader.LOG and told["started"] == "2026-02-25T07:13:20Z" and told["dropped"] == 0
        ((event),) = told["events"]
        assert (event["count"], event["first"], event["last"]) == (2, "2026-02-25T07:14:20Z", "2026-02-25T07:15:20Z")


def test_codes_of_switches_are_kept_apart():
    said = "detected NVSwitch %s error %d on NodeId 0 on NVSwitch pci bus id 00000000:08:00.0 physical id 3 port 60"
    at = BOOT + 60
    text = log((at, "ERROR", said % ("non-fatal", 22013)), (at, "ERROR", said % ("non-fatal", 12028)), (at, "ERROR", said % ("fatal", 20034)), start=at)
    assert len(read(text, at)["events"]) == 3


def test_what_an_earlier_manager_complained_of_is_left_out():
    early, late = BOOT + 100, BOOT + 5000
    again = log((early, "ERROR", MULTICAST), start=early) + log((late, "INFO", "Connected to 1 node."), start=late)
    assert read(again, late)["events"] == []
    # the start is not in the part that was read: what is older than the node's own start is of an earlier manager as well
    told = read(log((BOOT - 500, "ERROR", MULTICAST), (late, "INFO", "nothing")), late)
    assert told["events"] == [] and is_unknown(told["started"])
    assert len(read(log((BOOT + 500, "ERROR", MULTICAST), (late, "INFO", "nothing")), late)["events"]) == 1


def test_a_file_that_was_written_at_another_time_tells_no_zone():
    at = BOOT + 100
    told = read(log((at, "ERROR", MULTICAST), start=at), at + 400)
    assert is_unknown(told["started"]) and is_unknown(told["events"][0]["last"])


def test_the_journal_is_asked_where_there_is_no_log():
    lines = [
        "%d.100000 n1 systemd[1]: Starting NVIDIA fabric manager service..." % BOOT,
        "%d.200000 n1 nv-fabricmanager[512]: something failed" % (BOOT - 50),
        "%d.300000 n1 systemd[1]: Starting NVIDIA fabric manager service..." % (BOOT + 60),
        "%d.400000 n1 nv-fabricmanager[612]: driver interface version 1.2.3 don't match with driver version 1.2.4." % (BOOT + 61),
        "%d.500000 n1 systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'." % (BOOT + 62),
    ]
    asked = {"argv": reader.JOURNAL, "stdout": "\n".join(lines) + "\n"}
    told = reader.read(host([asked], {reader.LOG: {"absent": True}}))
    assert told["source"] == "journalctl -u nvidia-fabricmanager" and told["started"] == "2026-02-25T06:14:20Z"
    assert [event["message"][:16] for event in told["events"]] == ["driver interface"]


@pytest.mark.parametrize("text", ["", "\x00\x01", "[[[[", "[Feb 31 2026 10:00:00] [ERROR] [tid 1] x", "-- No entries --"])
def test_what_is_not_understood_is_unknown(text):
    told = reader.read(host([{"argv": reader.TAIL, "stdout": text}, {"argv": reader.JOURNAL, "stdout": text}], {reader.LOG: {"type": "file", "mtime": BOOT}}))
    assert is_unknown(told) or (is_unknown(told["started"]) and all(is_unknown(event["last"]) for event in told["events"]))


def test_a_manager_that_was_not_started_wrote_nothing():
    nothing = {"argv": reader.JOURNAL, "stdout": "-- No entries --\n"}
    assert is_not_applicable(reader.read(host([nothing], {reader.LOG: {"absent": True}})))
    # a log that cannot be read is no log without a complaint
    assert is_unknown(reader.read(host([nothing], {reader.LOG: {"error": "EACCES"}})))
    assert is_unknown(reader.read(host([{"argv": reader.JOURNAL, "hang": True}], {reader.LOG: {"absent": True}})))


def test_a_flood_of_kinds_is_bounded():
    text = log(*((BOOT + n, "ERROR", "kind %s broke" % "".join(chr(103 + int(c)) for c in str(n))) for n in range(60)), start=BOOT)
    told = read(text, BOOT + 59)
    assert len(told["events"]) == 20 and told["dropped"] == 40


def test_nothing_is_read_where_no_fabric_manager_is_installed():
    commands = [{"argv": argv, "missing": True} for argv in (*nvidia_daemons.DAEMONS.values(), nvidia_daemons.DCGM)]
    told = nvidia_daemons.read(host(commands))
    assert is_not_applicable(told["fabric_manager_log"]) and is_not_applicable(told["dcgm"])
    told = node_services.daemons(host(files={"/sys/module/nvidia": {"absent": True}}))
    assert is_not_applicable(told["fabric_manager_log"]) and is_not_applicable(told["versions"]["imex"])


BOTH = "Version : 4.2.3\nBuild ID : 8\n\nHostengine build info:\nVersion : 4.2.1\nBuild ID : 8\n"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"stdout": BOTH}, {"client": "4.2.3", "engine": "4.2.1"}),
        ({"stdout": "garbage"}, None),
        ({"missing": True}, not_applicable("not installed")),
    ],
)
def test_versions_of_dcgm(answer, expected):
    told = nvidia_daemons.dcgm(host([dict({"argv": nvidia_daemons.DCGM}, **answer)]))
    assert told == expected if expected else is_unknown(told)


def test_an_engine_that_does_not_answer():
    said = "Version : 4.2.3\nError: unable to establish a connection to the specified host: localhost\n"
    told = nvidia_daemons.dcgm(host([{"argv": nvidia_daemons.DCGM, "rc": 255, "stdout": said}]))
    assert told["client"] == "4.2.3" and is_unknown(told["engine"])


def test_daemons_that_run_whoever_started_them():
    rows = "    1 Ss systemd\n  812 Ssl nvidia-imex\n  900 Z nv-hostengine <defunct>\n  901 Sl nv-fabricmanage\n  902 S not-nvidia-imex\n"
    facts, _waiting = node_services.processes(host([{"argv": node_services.PROCESSES, "stdout": rows}]))
    assert facts["daemons"] == ["nv-fabricmanage", "nvidia-imex"]
    facts, _waiting = node_services.processes(host([{"argv": node_services.PROCESSES, "rc": 1}]))
    assert is_unknown(facts["daemons"])


# -- rules ----------------------------------------------------------------------------------------------------------


def outcome(rule, **services):
    sections = synthetic.healthy(8)
    sections["services"].update(services)
    ((_subject, told, level),) = ask(rule, sections)
    return told, level


def written(message, last="2026-02-28T08:00:00Z", started="2026-02-25T06:14:02Z"):
    event = {"message": message, "count": 2, "first": last, "last": last}
    return {"source": reader.LOG, "started": started, "events": [event], "dropped": 0}


FATAL = "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33"


@pytest.mark.parametrize(
    ("log_fact", "expected"),
    [
        (written(MULTICAST), ("found", None)),
        (written(FATAL), ("found", "fail")),
        (written(FATAL.replace("fatal", "non-fatal")), ("found", "info")),
        (written("fabric manager NVIDIA GPU driver interface version 595.1.2 don't match with driver version 590.3.4. Please"), ("found", "fail")),
        (written("a complaint of another kind"), ("found", "info")),
        (written(MULTICAST, last="2026-02-10T08:00:00Z"), ("found", "info")),
        (written(MULTICAST, last=UNREAD), ("found", None)),
        (written(MULTICAST, last=UNREAD, started=UNREAD), ("unknown", None)),
        (dict(written(MULTICAST), events=[]), ("passed", None)),
        (UNREAD, ("unknown", None)),
        (not_applicable("no fabric manager is installed"), ("not_applicable", None)),
    ],
)
def test_what_the_fabric_manager_complained_of(log_fact, expected):
    told, level = outcome("fabric-manager-log", fabric_manager_log=log_fact)
    assert (told, None if level == "warn" else level) == expected


@pytest.mark.parametrize(
    ("dcgm", "daemons", "expected"),
    [
        ({"client": "4.2.3", "engine": "4.2.3"}, ["nv-hostengine"], "passed"),
        ({"client": "4.2.3", "engine": "4.2.1"}, ["nv-hostengine"], "found"),
        ({"client": "4.2.3", "engine": UNREAD}, ["nv-hostengine"], "unknown"),
        ({"client": "4.2.3", "engine": UNREAD}, UNREAD, "unknown"),
        ({"client": "4.2.3", "engine": UNREAD}, [], "not_applicable"),
        (UNREAD, [], "unknown"),
        (not_applicable("not installed"), [], "not_applicable"),
    ],
)
def test_the_engine_of_dcgm(dcgm, daemons, expected):
    sections = synthetic.healthy(1)
    sections["services"].update(dcgm=dcgm)
    sections["services"]["processes"]["daemons"] = daemons
    assert ask("dcgm-versions", sections)[0][1] == expected


@pytest.mark.parametrize("active, level", [("active", None), ("inactive", "info")])
def test_an_engine_of_a_container_has_the_version_of_its_image(active, level):
    sections = synthetic.healthy(1)
    sections["services"]["dcgm"] = {"client": "4.2.3", "engine": "4.4.1"}
    sections["services"]["units"]["nvidia-dcgm"] = dict(sections["services"]["units"]["slurmd"], active=active)
    assert ask("dcgm-versions", sections)[0][1:] == ("found", level)
    sections["services"]["units"] = UNREAD
    assert ask("dcgm-versions", sections)[0][1:] == ("found", None)


def baseboard(count=8, switches=4, driver="nvidia-nvswitch", virtualization="none", name=synthetic.NAME):
    sections = synthetic.healthy(count)
    sections["host"]["virtualization"] = virtualization
    for card in sections["accelerators.nvidia"]["devices"]:
        card["name"] = name
    bridges = [dict(synthetic.pci_entry(n), address="0000:0%d:00.0" % (5 + n), role="bridge", device="22a3", driver=driver) for n in range(switches)]
    sections["pci"]["devices"] += bridges
    return sections


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, "passed"),
        ({"switches": 3}, "found"),
        ({"count": 7, "switches": 3}, "found"),
        ({"switches": 4, "name": "NVIDIA A100-SXM4-80GB"}, "found"),
        ({"switches": 6, "name": "NVIDIA A100-SXM4-80GB"}, "passed"),
        ({"driver": None}, "found"),
        ({"driver": UNREAD}, "unknown"),
        ({"switches": 0}, "not_applicable"),
        ({"driver": "vfio-pci"}, "not_applicable"),
        ({"switches": 3, "virtualization": "kvm"}, "not_applicable"),
        ({"switches": 3, "virtualization": UNREAD}, "unknown"),
        ({"count": 4, "switches": 3}, "not_applicable"),
        ({"switches": 3, "name": "NVIDIA H20"}, "not_applicable"),
    ],
)
def test_switches_of_a_baseboard(node, expected):
    assert ask("nvswitches", baseboard(**node))[0][1] == expected


def without_links(**node):
    """A baseboard none of whose links is up."""
    sections = baseboard(**node)
    for card in sections["accelerators.nvidia"]["devices"]:
        card["fabric"]["state"] = "in_progress"
        card["links"].update(up=0, down=list(range(18)))
    return sections


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, "found"),
        ({"count": 7}, "found"),
        ({"name": "NVIDIA A100-SXM4-80GB"}, "found"),
        ({"name": "NVIDIA H200"}, "found"),
        ({"count": 4}, "not_applicable"),
        # the part has no switches, or how many is not known
        ({"name": "NVIDIA H100 PCIe"}, "not_applicable"),
        ({"name": "NVIDIA B200"}, "not_applicable"),
        ({"name": "NVIDIA H20"}, "not_applicable"),
        # a guest is given the cards alone
        ({"virtualization": "kvm"}, "not_applicable"),
        ({"virtualization": UNREAD}, "unknown"),
    ],
)
def test_a_baseboard_of_which_no_switch_is_on_pci(node, expected):
    assert ask("nvswitches", without_links(switches=0, **node))[0][1] == expected


def test_switches_of_a_bus_that_was_not_read_are_not_missed():
    sections = without_links(switches=0)
    sections["pci"]["scan"] = {"status": "failed", "detail": "denied"}
    assert ask("nvswitches", sections)[0][1] == "unknown"


def test_switches_that_are_handed_to_a_guest_are_there():
    sections = without_links(switches=4)
    sections["pci"]["devices"][-1]["driver"] = "vfio-pci"
    assert ask("nvswitches", sections)[0][1] == "passed"


@pytest.mark.parametrize("switches", [0, 3])
def test_a_switch_that_is_gone_explains_its_manager_and_the_links(switches):
    sections = baseboard(switches=switches)
    sections["host"]["services"] = synthetic.services(fabricmanager="failed")
    for card in sections["accelerators.nvidia"]["devices"]:
        card["fabric"]["state"] = "in_progress"
        card["links"].update(up=14 if switches else 0, down=[0, 1, 2, 3] if switches else list(range(18)))
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), profiles.find("preflight")).findings
    roots = {one["rule"] for one in told if not one["caused_by"] and one["level"] != "info"}
    assert roots == {"nvswitches"} and {"fabric-state", "links-up"} <= {one["rule"] for one in told}
    assert ("fabric-manager" in {one["rule"] for one in told}) is bool(switches)


@pytest.mark.parametrize(("daemons", "expected"), [(["nv-fabricmanage"], "passed"), ([], "found"), (UNREAD, "unknown")])
def test_a_fabric_manager_in_a_container_is_seen(daemons, expected):
    for state in ("inactive", "failed"):
        sections = baseboard()
        sections["host"]["services"] = synthetic.services(fabricmanager=state)
        sections["services"]["processes"]["daemons"] = daemons
        assert ask("fabric-manager", sections)[0][1] == expected


def test_an_engine_in_a_container_is_no_service_that_is_down():
    sections = synthetic.healthy(1)
    unit = dict(sections["services"]["units"]["slurmd"], active="failed", sub="failed")
    sections["services"]["units"]["nvidia-dcgm"] = unit
    assert ask("service-down", sections)[0][1] == "found"
    sections["services"]["processes"]["daemons"] = ["nv-hostengine"]
    assert ask("service-down", sections)[0][1] == "passed"
