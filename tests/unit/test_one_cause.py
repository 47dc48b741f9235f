# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that show in many places of a node: each is one finding, and everything else that is found of it stands under it."""

from __future__ import annotations

import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles
from health_nodes import merged

COUNT = 4
ROOT, UP, DOWN, BESIDE, CARD, ADAPTER = path_samples.places(1)
BOOT = 1772000000


@pytest.fixture
def tree():
    return path_samples.Tree(COUNT)


def say(sections, *lines):
    """The kernel says these."""
    events, count, _dropped, _first = kernel_log.fold("\n".join("[%d.5] %s" % (100 + n, line) for n, line in enumerate(lines)), BOOT)
    sections["kernel"] = dict(sections["kernel"], events=events, lines=count)
    return sections


def card(sections, number=1, **facts):
    merged(sections["accelerators.nvidia"]["devices"][number], facts)
    return sections


def gone(sections, number=1, from_bus=False):
    """A card that the tool does not list; from_bus: PCI does not either."""
    devices = sections["accelerators.nvidia"]["devices"]
    del devices[number]
    sections["accelerators.nvidia"]["detection"]["accelerators"] = len(devices)
    if from_bus:
        sections["pci"]["devices"] = [entry for entry in sections["pci"]["devices"] if entry["address"] != synthetic.address(number)]
        sections["pci"]["counts"]["nvidia"] -= 1
    return sections


def judged(sections, **variables):
    """({root: level}, {rule that follows: its causes}) of what is above info."""
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), profiles.find("preflight")).findings
    told = [one for one in told if one["level"] != "info"]
    roots = {one["rule"]: one["level"] for one in told if not one["caused_by"]}
    return roots, {one["rule"]: one["caused_by"] for one in told if one["caused_by"]}


XID = "NVRM: Xid (PCI:%s): %s, pid='<unknown>', name=<unknown>, "
FELL = XID % (synthetic.address(1)[:-2], 79) + "GPU has fallen off the bus."


def test_the_node_is_healthy(tree):
    assert judged(tree.sections(), accelerator_expected_count=COUNT) == ({}, {})


def test_a_device_that_fell_off_the_bus_and_is_still_listed(tree):
    sections = card(say(tree.sections(), FELL), health={"state": "lost", "detail": "GPU is lost"}, links={"up": 0, "down": list(range(18))})
    roots, follow = judged(sections)
    assert roots == {"device-lost": "fail"}
    assert follow == {rule: ["device-lost"] for rule in ("device-health", "kernel-accelerator-events", "links-up")}


def test_a_device_that_fell_off_the_bus_and_off_the_list(tree):
    roots, follow = judged(gone(say(tree.sections(), FELL)), accelerator_expected_count=COUNT)
    assert roots == {"detection-agrees": "fail"}
    assert follow == {"accelerator-count": ["detection-agrees"], "kernel-accelerator-events": ["detection-agrees"]}


def test_a_device_that_is_on_the_bus_no_more(tree):
    roots, follow = judged(gone(say(tree.sections(), FELL), from_bus=True), accelerator_expected_count=COUNT)
    assert roots == {"device-vanished": "fail"}
    assert follow.pop("kernel-accelerator-events") == ["device-vanished"]
    assert follow.pop("accelerator-count") == ["device-vanished"]
    assert all("device-vanished" in causes for causes in follow.values())


def test_what_its_peers_have_more_follows_too(tree, tmp_path):
    nodes = {name: synthetic.envelopes(synthetic.healthy(COUNT, serial=name), name) for name in ("a", "b", "c", "d")}
    nodes["b"] = synthetic.envelopes(gone(say(synthetic.healthy(COUNT, serial="b"), FELL), from_bus=True), "b")
    findings = [one for one in fold.fold(synthetic.write_run(tmp_path, nodes))["findings"] if one["level"] != "info"]
    assert {one["rule"] for one in findings} >= {"device-vanished", "kernel-accelerator-events", "cohort-count"}
    assert [one["rule"] for one in findings if not one["caused_by"]] == ["device-vanished"]


def test_a_part_that_was_never_named_has_not_vanished(tree):
    roots, _follow = judged(gone(tree.sections(), from_bus=True), accelerator_expected_count=COUNT)
    assert set(roots) == {"accelerator-count"}


def test_links_to_a_lost_peer_where_devices_are_linked_themselves(tree):
    sections = card(say(tree.sections(), FELL), health={"state": "lost", "detail": "GPU is lost"})
    for number in range(COUNT):
        card(sections, number, fabric={"state": {"not_applicable": "no switch"}})
    card(sections, 2, links={"up": 16, "down": [3, 4]})
    roots, follow = judged(sections)
    assert roots == {"device-lost": "fail"} and follow["links-up"] == ["device-lost"]
    # with a switch between, nobody's links go to the lost one
    for number in range(COUNT):
        card(sections, number, fabric={"state": "completed"})
    assert set(judged(sections)[0]) == {"device-lost", "links-up"}


def without_driver(sections, **settings):
    for entry in sections["pci"]["devices"]:
        entry["driver"] = None
    section = sections["accelerators.nvidia"]
    section.update(devices=[], detection={"state": "unavailable", "accelerators": {"unknown": "no tool"}, "reason": "nvidia-smi: no driver", "host": {}})
    sections["settings"]["modules"].update(loaded=[], versions={})
    for key, value in settings.items():
        sections["settings"][key].update(value)
    return sections


def test_a_driver_that_is_not_built(tree):
    sections = without_driver(tree.sections(), kernels={"running": "6.8.0-99-generic", "installed": ["6.8.0-99-generic"]})
    roots, follow = judged(sections)
    assert roots == {"driver-built": "fail"} and follow["accelerators-detected"] == ["driver-built"]


def test_a_driver_that_secure_boot_refused(tree):
    sections = without_driver(tree.sections())
    sections["host"]["security"]["secure_boot"] = "enabled"
    roots, follow = judged(sections)
    assert roots == {"driver-loadable": "fail"} and follow["accelerators-detected"] == ["driver-loadable"]


def test_a_driver_on_the_list_of_those_not_to_be_loaded(tree):
    sections = without_driver(tree.sections(), modules={"blacklisted": {"nvidia": "/etc/modprobe.d/no.conf"}})
    roots, follow = judged(sections)
    assert roots == {"driver-loadable": "fail"} and follow["accelerators-detected"] == ["driver-loadable"]
    # another driver that holds them after all: nothing is proven dead
    for entry in sections["pci"]["devices"]:
        entry["driver"] = "nvidia"
    assert judged(sections)[0]["driver-loadable"] == "warn"
    assert "driver-loadable" not in judged(sections, accelerator_expected_count=0)[0]


def test_the_fabric_manager_is_down(tree):
    sections = tree.sections()
    sections["pci"]["devices"].append(dict(synthetic.pci_entry(9), role="bridge", address="0000:c0:00.0", model="NVSwitch"))
    sections["host"]["services"] = synthetic.services(fabricmanager="failed")
    sections["services"]["failed"] = ["nvidia-fabricmanager.service"]
    sections["services"]["units"]["nvidia-fabricmanager"] = dict(sections["services"]["units"]["slurmd"], active="failed")
    for number in range(COUNT):
        card(sections, number, fabric={"state": "in_progress"}, links={"up": 0, "down": list(range(18))})
    row = {"accelerator": "nvidia:1", "capability": "container-device", "mode": "exclusive", "state": "unavailable", "depth": "measured"}
    sections["accelerators.nvidia"]["checks"] = [dict(row, reason="CUDA error 802", detail="", command="", evidence="")]
    roots, follow = judged(sections, accelerator_modes="exclusive")
    assert roots == {"fabric-manager": "fail"}
    assert set(follow) == {"fabric-state", "links-up", "service-failed", "row-container-device"}
    # where it is of another version than the driver it cannot run
    sections["services"]["versions"]["fabric_manager"] = "570.124.06"
    roots, follow = judged(sections, accelerator_modes="exclusive")
    assert roots == {"service-versions": "fail"} and follow["fabric-manager"] == ["service-versions"]


def test_an_uncorrected_memory_error(tree):
    address = synthetic.address(1)[:-2]
    lines = [XID % (address, code) + text for code, text in ((48, "DBE"), (63, "Row Remapper: new row"), (94, "Contained error"), (95, "Uncontained error"))]
    lines.append(XID % (address, 154) + "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    facts = {
        "ecc": {"uncorrected_volatile": 1}, "row_remap": {"pending": True, "uncorrected": 1}, "recovery_action": "reset",
        "health": {"state": "failed", "detail": "a reset is asked for"},
    }  # fmt: skip
    roots, follow = judged(card(say(tree.sections(), *lines), **facts))
    assert roots == {"ecc-uncorrected": "fail"}
    assert set(follow) == {"row-remap-pending", "recovery-action", "device-health", "kernel-accelerator-events"}
    # the same words about another device are a fault of its own
    others = card(say(tree.sections(), XID % (synthetic.address(2)[:-2], 48) + "DBE"), ecc={"uncorrected_volatile": 1})
    assert set(judged(others)[0]) == {"ecc-uncorrected", "kernel-accelerator-events"}


AER = "pcieport %s: AER: Uncorrected (Fatal) error message received from %s"


def test_a_bad_contact_of_a_card(tree):
    tree.change(CARD, now=(8, 32))
    sections = card(tree.sections(), pcie={"width_current": 8, "replay_count": 999999})
    sections["host"]["uptime_seconds"] = 352000
    sections["paths.nvidia"]["functions"][CARD]["aer"] = {"correctable": {"RxErr": 50000}, "nonfatal": {}, "fatal": {}}
    say(sections, AER % (DOWN, CARD), "nvidia %s: PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer, (Receiver ID)" % CARD)
    roots, follow = judged(sections)
    assert roots == {"pcie-width": "fail"}
    assert set(follow) == {"kernel-pcie-errors", "pcie-errors", "pcie-replays"}
    assert all("pcie-width" in causes for causes in follow.values())


def test_a_narrow_link_above_a_switch(tree):
    tree.change(UP, now=(8, 32))
    sections = card(tree.sections(), pcie={"replay_count": 999999})
    sections["paths.nvidia"]["functions"][ADAPTER]["aer"] = {"correctable": {"BadTLP": 50000}, "nonfatal": {}, "fatal": {}}
    roots, follow = judged(sections)
    assert roots == {"pcie-path-width": "fail"} and follow["pcie-replays"] == follow["pcie-errors"][:1] == ["pcie-path-width"]
    # a card behind another switch has its own reason
    assert set(judged(card(sections, 3, pcie={"replay_count": 999999}))[0]) == {"pcie-path-width", "pcie-replays"}


def test_heat_that_slows_a_card_down(tree):
    hot = {"temperature_c": {"core": 85, "margin_core": 2}, "throttle": {"active": ["hw_slowdown", "hw_thermal_slowdown"]}}
    roots, follow = judged(card(tree.sections(), **hot))
    assert roots == {"temperature-margin": "fail"}
    assert follow == {"throttle-hardware": ["temperature-margin"], "temperature-outlier": ["temperature-margin"]}


def test_a_power_brake_has_nothing_to_do_with_heat(tree):
    braked = {"throttle": {"active": ["hw_slowdown", "hw_power_brake_slowdown"]}}
    assert judged(card(tree.sections(), **braked)) == ({"throttle-hardware": "fail"}, {})
    warm = dict(braked, temperature_c={"core": 85, "margin_core": 2})
    assert judged(card(tree.sections(), **warm))[0] == {"throttle-hardware": "fail", "temperature-margin": "warn"}


def test_a_dying_drive_and_its_file_system(tree):
    sections = tree.sections()
    sections["storage"]["health"][0]["critical_warning"] = 4
    sections["storage"]["mounts"][0].update(read_only=True, turned_read_only=True)
    sections["storage"]["file_system_errors"]["nvme0n1p2"] = {"count": 3, "last": BOOT + 900}
    lost = "critical medium error, dev nvme0n1, sector 2048 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2"
    roots, follow = judged(say(sections, lost))
    assert roots == {"drive-health": "fail"}
    assert follow["kernel-storage-errors"] == ["drive-health"] and set(follow["file-system-writable"]) == {"drive-health", "kernel-storage-errors"}
    # a drive that the warning is not about
    assert set(judged(say(sections, lost.replace("nvme0n1", "sda")))[0]) == {"drive-health", "kernel-storage-errors"}


def test_a_fan_that_stands_and_the_heat_of_the_processors(tree):
    sections = say(tree.sections(), "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)")
    assert set(judged(sections)[0]) == {"kernel-thermal"}
    sections["hardware"]["sensors"]["bad"] = [{"name": "PS2 Status", "value": "0x0", "state": "cr"}]
    assert set(judged(sections)[0]) == {"kernel-thermal", "bmc-sensors"}
    sections["hardware"]["sensors"]["bad"].append({"name": "Fan 1", "value": "0 RPM", "state": "cr"})
    assert judged(sections) == ({"bmc-sensors": "warn"}, {"kernel-thermal": ["bmc-sensors"]})


def test_a_drive_that_is_gone_its_namespace_and_its_file_system(tree):
    sections = tree.sections()
    said = ("nvme nvme0: Disabling device after reset failure: -19", "I/O error, dev nvme0n1, sector 2048 op 0x1:(WRITE)")
    said += ("XFS (nvme0n1p2): Corruption of in-memory data detected.  Shutting down filesystem",)
    say(sections, *said)
    roots, follow = judged(sections)
    assert roots == {"kernel-storage-errors": "fail"} and follow == {}
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), profiles.find("preflight")).findings
    assert [one["subject"]["id"] for one in told if one["rule"] == "kernel-storage-errors"] == ["nvme0"]
    sections["storage"]["disks"][0]["state"] = "dead"
    assert judged(sections) == ({"drive-state": "fail"}, {"kernel-storage-errors": ["drive-state"]})


def test_a_file_system_of_a_disk_and_of_an_array_is_named():
    for line, place in (("EXT4-fs error (device sda2): ext4_lookup:1785: inode #2", "sda2"), ("XFS (md0): log I/O error -5", "md0")):
        assert list(kernel_log.fold("[9000.5] " + line, 1764400000)[0][0]["places"]) == [place]


def test_a_memory_module_that_is_mapped_out(tree, tmp_path):
    def short(sections):
        sections["host"]["memory"].update(total_mib=1800000, per_numa_mib={"0": 1031968, "1": 768032})
        return sections

    roots, follow = judged(short(tree.sections()))
    assert roots == {"memory-installed": "warn"} and follow == {"memory-modules": ["memory-installed"]}
    nodes = {name: synthetic.envelopes(synthetic.healthy(COUNT, serial=name), name) for name in ("a", "b", "c", "d")}
    nodes["b"] = synthetic.envelopes(short(synthetic.healthy(COUNT, serial="b")), "b")
    findings = [one for one in fold.fold(synthetic.write_run(tmp_path, nodes))["findings"] if one["level"] != "info"]
    assert {one["rule"]: bool(one["caused_by"]) for one in findings} == {"memory-installed": False, "memory-modules": True, "cohort-memory": True}


def test_a_clock_whose_service_failed(tree):
    sections = tree.sections()
    sections["host"]["time"].update(synchronized=False)
    assert judged(sections) == ({"time-synchronized": "warn"}, {})
    sections["services"]["failed"] = ["chrony.service"]
    sections["services"]["units"]["chrony"]["active"] = "failed"
    assert judged(sections) == ({"service-failed": "warn"}, {"time-synchronized": ["service-failed"]})
    # another service that failed has nothing to do with the clock
    sections["services"].update(failed=["slurmd.service"])
    sections["services"]["units"]["chrony"]["active"] = "active"
    assert "time-synchronized" in judged(sections)[0]


def test_a_tool_that_hangs_is_told_once(tree, tmp_path):
    sections = tree.sections()
    why = "nvidia-smi -q -x: no answer within 60 s"
    sections["accelerators.nvidia"].update(devices=[], detection={"state": "unavailable", "accelerators": {"unknown": why}, "reason": why, "host": {}})
    verdict = fold.fold(synthetic.write_run(tmp_path, {"a": synthetic.envelopes(sections, "a")}))["verdicts"][0]
    assert verdict["verdict"] == "incomplete"
    assert len([reason for reason in verdict["reasons"] if why in reason]) == 1, verdict["reasons"]
