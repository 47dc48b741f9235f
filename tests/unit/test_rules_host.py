# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about the host, on reports: unknown and not applicable, and each trap that public reports of comparable tools tell of."""

from __future__ import annotations

import copy

import demo
import host_samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, hardware, policy, services, settings, storage
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView
from host_judged import changed, healthy

FILES = (hardware, services, settings, storage)
MINE = sorted(rule.id for rule in RULES.values() if rule.check.__module__ in {file.__name__ for file in FILES})
SECTIONS = ("hardware", "services", "settings", "storage")


def levels(judged):
    return {f["rule"]: f["level"] for f in judged.findings if f["rule"] in MINE}


def test_all_rules_are_asked():
    assert len(MINE) == 48


@pytest.mark.parametrize("rule", MINE)
def test_a_section_that_was_not_read_is_unknown_and_never_healthy(rule):
    sections = {name: data for name, data in copy.deepcopy(healthy()).items() if name not in SECTIONS}
    counts = demo.Judged("n1", sections, {}).counts[rule]
    if set(RULES[rule].reads) & set(SECTIONS):
        assert (counts[0], counts[1], counts[2]) == (0, 0, 1)
    else:
        assert counts[2] == 0


@pytest.mark.parametrize("rule", [r for r in MINE if set(RULES[r].reads) & set(SECTIONS)])
def test_a_section_in_which_nothing_is_known_is_unknown_or_does_not_arise(rule):
    """Missing data treated as unhealthy turned fleets red."""
    sections = copy.deepcopy(healthy())
    for name in SECTIONS:
        sections[name] = {key: {"unknown": "denied"} for key in sections[name]}
    counts = demo.Judged("n1", sections, {}).counts[rule]
    assert (counts[0], counts[1]) == (0, 0)


GUEST = ("host virtualization", "kvm")
ABSENT = {"not_applicable": "there is none"}
NOT_APPLICABLE = {
    "memory-uncorrected": [GUEST], "memory-corrected": [GUEST], "memory-modules": [GUEST], "memory-installed": [GUEST], "cpu-microcode": [GUEST],
    "cpu-mitigations": [GUEST], "bmc-sensors": [GUEST], "bmc-events": [GUEST], "bmc-network": [GUEST], "recorded-errors": [GUEST],
    "unexpected-restart": [GUEST],
    "cpu-throttled": [GUEST], "cpu-idle-states": [GUEST], "vendor-daemons": [("pci devices", []), ("pci counts", {})],
    "memory-offline": [("hardware corrupted_kib", ABSENT)], "cpu-governor": [("hardware processors governors", ABSENT)],
    "kv-cache-path": [("storage kv_cache", ABSENT)], "file-system-writable": [("storage mounts", ABSENT)],
    "file-system-errors": [("storage file_system_errors", ABSENT)], "disk-room": [("storage directories", ABSENT)],
    "drive-health": [("storage health", ABSENT)], "drive-wear": [("storage health", ABSENT)], "drive-log": [("storage health", ABSENT)],
    "drive-state": [("storage disks", [])], "drive-namespaces": [("storage disks", [])],
    "machine-checks": [("hardware machine_checks", ABSENT)], "drive-count": [("storage arrays", [])],
    "raid-arrays": [("storage arrays", [])], "numa-balancing": [("host cpu numa_nodes", 1)],
    "huge-pages-reserved": [("host kernel command_line", "ro")], "swap-off": [("settings swap_mib", 900), ("services units", {})],
    "service-limits": [("services units", {})], "driver-built": [("settings kernels dkms", ABSENT)],
    "driver-next-kernel": [("settings kernels dkms", ABSENT), ("settings kernels installed", ["6.8.0-99-generic"])],
    "driver-on-disk": [("settings modules versions", {})], "driver-installed-once": [("settings kernels dkms", ABSENT)],
    "driver-loadable": [("pci devices", []), ("pci counts", {})], "service-failed": [("services failed", ABSENT)],
    "service-versions": [("host services", ABSENT)], "time-daemons": [("services units", ABSENT)], "service-down": [("services units", ABSENT)],
    "own-name": [("services names", ABSENT)],
    "processes-stuck": [("services processes", ABSENT)], "zombies": [("services processes zombies", ABSENT)],
}  # fmt: skip
OF_NO_ACCELERATOR = (
    "cpu-idle-states",
    "kernel-parameters",
    "kernel-command-line",
    "process-limit",
    "shared-memory",
    "cpu-governor",
    "numa-balancing",
    "service-limits",
)


@pytest.mark.parametrize("rule", NOT_APPLICABLE)
def test_a_question_that_does_not_arise(rule):
    assert changed(*NOT_APPLICABLE[rule]).outcome(rule) == "not_applicable"


@pytest.mark.parametrize("rule", OF_NO_ACCELERATOR)
def test_advice_for_accelerators_is_not_given_where_none_is_expected(rule):
    assert changed(accelerator_expected_count=0).outcome(rule) == "not_applicable"


def test_every_rule_has_a_case_that_does_not_apply():
    assert set(MINE) == set(NOT_APPLICABLE) | set(OF_NO_ACCELERATOR)


ODD = (None, True, -1, 1e300, "", "\x1b[31m", [], [None, 3, "x", [], {}], {}, {"a": None}, {"unknown": 5}, [{"name": 3}], [{"path": "/", "size_gib": "x"}])


def _places(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ():
        yield from _places(inner, (*path, key))


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_that_a_node_says_makes_a_rule_raise(section):
    rules = policy.parse({})
    asked = [RULES[rule] for rule in MINE if section in RULES[rule].reads]
    for path in _places(healthy()[section]):
        for odd in ODD:
            sections = dict(healthy())
            at = sections
            for key in (section, *path[:-1]) if path else ():
                at[key] = copy.copy(at[key])
                at = at[key]
            at[path[-1] if path else section] = odd
            view = NodeView("n1", {name: demo.envelope(data) for name, data in sections.items()}, rules)
            for rule in asked:
                for _subject, outcome in engine.outcomes(rule, view, rules.params(rule.id)):
                    assert outcome.outcome in ("passed", "found", "unknown", "not_applicable"), (rule.id, path)


def test_errors_of_a_second_memory_controller_are_found():
    """A suite's rules matched controller 0 only."""
    place = {"place": "CPU_SrcID#1_MC#1", "corrected": 0, "uncorrected": 2}
    judged = changed(("hardware memory_errors uncorrected", 2), ("hardware memory_errors places", [place]))
    assert levels(judged) == {"memory-uncorrected": "fail"}
    assert "CPU_SrcID#1_MC#1 (2)" in next(f for f in judged.findings if f["rule"] == "memory-uncorrected")["summary"]


@pytest.mark.parametrize(("days", "count", "level"), [(100, 900, "info"), (100, 1100, "warn"), (0.1, 9, "info"), (0.1, 11, "warn")])
def test_a_few_corrected_errors_over_a_long_time_are_normal(days, count, level):
    """A threshold that was too low drained good nodes."""
    seconds = int(days * 86400)
    assert levels(changed(("hardware memory_errors corrected", count), ("hardware memory_errors seconds", seconds))) == {"memory-corrected": level}


def test_modules_of_two_makers_in_one_machine_are_no_fault():
    entry = dict(healthy()["hardware"]["memory_modules"]["modules"][0], manufacturer="Micron", part="MTC40F")
    both = [healthy()["hardware"]["memory_modules"]["modules"][0], entry]
    assert levels(changed(("hardware memory_modules modules", both))) == {}


def test_modules_of_two_techniques_in_one_machine_are_no_fault():
    """Processors with memory of their own, and modules that keep their content, list both kinds."""
    plain = healthy()["hardware"]["memory_modules"]["modules"][0]
    others = [dict(plain, type="HBM2", size_mib=16384), dict(plain, type="other", size_mib=131072)]
    assert levels(changed(("hardware memory_modules modules", [plain, *others]))) == {}
    assert levels(changed(("hardware memory_modules modules", [plain, dict(plain, size_mib=32768)]))) == {"memory-modules": "warn"}


def test_memory_that_one_numa_node_lacks_is_found_and_memory_of_accelerators_is_no_node():
    """GPU memory as a NUMA node without processors is not in per_numa_mib; half a socket is."""
    assert levels(changed(("host memory per_numa_mib", {"0": 515000, "1": 257000}))) == {"memory-modules": "warn"}
    assert levels(changed(("host memory per_numa_mib", {"0": 515000, "1": 490037}))) == {}


def test_memory_kept_by_the_command_line_is_not_lost():
    less = ("host memory total_mib", 500000)
    assert levels(changed(less)) == {"memory-installed": "warn"}
    assert changed(less, ("host kernel command_line", "ro iommu=pt mem=500G")).outcome("memory-installed") == "not_applicable"


def test_a_governor_that_the_hardware_overrides_is_no_fault():
    eager = [("hardware processors governors", {"powersave": 192}), ("hardware processors preference", "performance")]
    assert levels(changed(*eager)) == {}
    assert levels(changed(eager[0])) == {"cpu-governor": "info"}


def event(**changes):
    return [dict({"sensor": "PSU #1", "event": "Failure detected", "asserted": True, "count": 1, "first": "", "last": "2026-11-29T10:00:00"}, **changes)]


def test_what_the_bmc_logged_before_this_start_does_not_condemn():
    """Disk and memory failures from before the last reboot kept nodes out after they were repaired."""
    assert levels(changed(("hardware event_log events", event()))) == {"bmc-events": "warn"}
    assert levels(changed(("hardware event_log events", event(last="2026-11-20T10:00:00")))) == {}
    assert levels(changed(("hardware event_log events", event(last="")))) == {}


def test_a_failure_that_ended_is_over():
    ended = event() + event(asserted=False, last="2026-11-29T11:00:00")
    assert levels(changed(("hardware event_log events", ended))) == {}
    again = event() + event(asserted=False, last="2026-11-29T09:00:00")
    assert levels(changed(("hardware event_log events", again))) == {"bmc-events": "warn"}
    assert levels(changed(("hardware event_log events", event(event="OEM record e0 | 0000")))) == {}


SILENT = {"unknown": "ipmitool lan print: not told"}


@pytest.mark.parametrize(
    "facts, found",
    [
        ({}, {}),
        ({"suite_without_authentication": True, "community_is_public": True}, {"bmc-network": "warn"}),
        ({"community_is_public": True}, {"bmc-network": "info"}),
        ({"community_is_public": SILENT}, {}),
    ],
)
def test_a_bmc_that_asks_for_no_password(facts, found):
    told = {"address_source": "dhcp address", "vlan": False, "suite_without_authentication": False, "community_is_public": False, **facts}
    assert levels(changed(("hardware bmc_network", told))) == found


def test_a_bmc_that_does_not_tell_its_cipher_suites_is_unknown():
    told = {"address_source": "dhcp address", "vlan": False, "suite_without_authentication": SILENT, "community_is_public": False}
    assert changed(("hardware bmc_network", told)).outcome("bmc-network") == "unknown"


def test_a_threshold_that_was_brushed_is_told_and_no_more():
    bad = [{"name": "Fan 3", "value": "900 RPM", "state": "nc"}]
    assert levels(changed(("hardware sensors bad", bad))) == {"bmc-sensors": "info"}


def test_file_system_errors_from_before_this_start_do_not_warn():
    start = host_samples.seconds("2026-11-28T20:05:00Z")
    for last, level in ((start - 9, "info"), (start + 9, "warn"), ({"unknown": "denied"}, "warn")):
        entry = {"md0": {"count": 3, "last": last}}
        assert levels(changed(("storage file_system_errors", entry))) == {"file-system-errors": level}


BTRFS = {"not_applicable": "btrfs keeps no time of its errors"}
NONE = {"not_applicable": "XFS keeps no count of its errors"}


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"sda1": {"count": NONE, "last": NONE}}, "not_applicable"),
        ({}, "not_applicable"),
        ({"sda1": {"count": NONE, "last": NONE}, "md0": {"count": 0, "last": ABSENT}}, "passed"),
        ({"sdb1+sdc1": {"count": 2, "last": BTRFS}, "sda1": {"count": NONE, "last": NONE}}, "found"),
        ({"sdb1": {"count": {"unknown": "denied"}, "last": BTRFS}, "md0": {"count": 0, "last": ABSENT}}, "unknown"),
    ],
)
def test_a_file_system_that_counts_no_errors_proves_nothing(told, outcome):
    assert changed(("storage file_system_errors", told)).outcome("file-system-errors") == outcome


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ({"exceptions": 64}, "found"),
        ({"deferred": 1}, "found"),
        ({"thresholds": 9, "thermal": 1200}, "passed"),
        ({"deferred": {"not_applicable": "not counted on this processor"}}, "passed"),
        ({"exceptions": ABSENT, "deferred": ABSENT}, "not_applicable"),
        ({"exceptions": {"unknown": "denied"}}, "unknown"),
        ({"exceptions": {"unknown": "denied"}, "deferred": 2}, "found"),
    ],
)
def test_machine_checks_of_all_processors(counts, outcome):
    judged = changed(*(("hardware machine_checks " + name, value) for name, value in counts.items()))
    assert judged.outcome("machine-checks") == outcome
    assert levels(judged) == ({"machine-checks": "warn"} if outcome == "found" else {})
    assert changed(("hardware machine_checks exceptions", 64), GUEST).outcome("machine-checks") == "not_applicable"


def test_the_number_of_drives_that_a_site_expects():
    def told(number, *changes):
        judged = changed(*changes, accelerator_policy_drive_count_expected=number)
        return judged.outcome("drive-count"), levels(judged)

    assert told(8) == ("passed", {})
    assert told(9) == ("found", {"drive-count": "fail"})
    assert told(7) == ("found", {"drive-count": "warn"})
    drive = {"name": "nvme0n2", "transport": "pcie", "size_gb": 1.0, "model": "x", "rotational": False, "firmware": "1", "state": "live"}
    assert told(8, ("storage disks", [*healthy()["storage"]["disks"], drive]))[0] == "passed"
    number = next(n for n, disk in enumerate(healthy()["storage"]["disks"]) if disk["name"].startswith("nvme"))
    assert told(8, ("storage disks %d transport" % number, {"unknown": "denied"}))[0] == "unknown"
    assert told(8, ("storage disks %d transport" % number, "tcp"))[0] == "found"


@pytest.mark.parametrize("unit", ["rdc", "hymgr", "nvidia-dcgm", "amd-metrics-exporter"])
def test_daemons_of_manufacturers_are_missed_where_they_are_enabled(unit):
    entry = {"load": "loaded", "active": "inactive", "sub": "dead", "enabled": "enabled", "result": "success", "restarts": 0}
    assert levels(changed(("services units " + unit, entry))) == {"service-down": "warn"}
    assert levels(changed(("services units " + unit, dict(entry, enabled="disabled")))) == {}


def test_a_bind_mount_and_an_image_that_are_read_only_are_no_fault():
    told = healthy()["storage"]["mounts"]
    assert [m["path"] for m in told] == ["/", "/data", "/home"]
    assert levels(changed(("storage mounts 1 read_only", True))) == {}


def test_a_file_system_of_the_network_that_is_read_only_is_not_the_nodes():
    assert levels(changed(("storage mounts 2 turned_read_only", True))) == {}


def test_many_error_log_entries_of_a_drive_are_no_failure():
    """A drive logs every command that it does not know."""
    assert host_samples.SMART["num_err_log_entries"] == 90 and levels(changed()) == {}


def test_a_drive_that_did_not_tell_is_never_healthy_and_never_broken():
    judged = changed(("storage health 3", {"name": "nvme3", "problem": "nvme smart-log: timeout", "refused": False}))
    assert levels(judged) == {}
    assert {judged.outcome(rule) for rule in ("drive-health", "drive-wear", "drive-log")} == {"unknown"}
    judged = changed(("storage health 3", {"name": "nvme3", "problem": "NVMe Status 0x06", "refused": True}))
    assert levels(judged) == {"drive-log": "warn"}
    sick = ("storage health 1 critical_warning", 4)
    assert levels(changed(sick, ("storage health 3", {"name": "nvme3", "problem": "timeout", "refused": False}))) == {"drive-health": "fail"}


def test_a_size_of_huge_pages_that_is_no_number_counts_for_nothing():
    for size in ("9" * 5000, "²", "x", ""):
        judged = changed(("settings huge_pages", {size: {"total": 4, "free": 4}}))
        assert judged.outcome("memory-available") == "passed"


def test_disks_of_a_cloud_have_no_spare_blocks_and_keep_no_log():
    guest = ("host virtualization", "amazon")
    assert levels(changed(guest, ("storage health 3 spare_percent", 0), ("storage health 3 spare_threshold_percent", 0))) == {}
    refused = ("storage health 3", {"name": "nvme3", "problem": "NVMe Status 0x06", "refused": True})
    judged = changed(guest, refused)
    assert levels(judged) == {} and judged.outcome("drive-log") == "unknown"
    assert levels(changed(guest, ("storage health 3 implausible", True))) == {}
    assert levels(changed(("storage health 3 spare_percent", 10))) == {"drive-wear": "warn"}
    unread = ("host virtualization", {"unknown": "denied"})
    assert levels(changed(unread, refused)) == {"drive-log": "warn"}


def test_an_image_that_is_mounted_read_only_may_be_full():
    full = dict(healthy()["storage"]["directories"][0], size_gib=1.9, free_gib=0.02, inodes_free=3)
    assert full["mount"] == "/"
    assert levels(changed(("storage directories 0", full))) == {"disk-room": "warn"}
    assert levels(changed(("storage directories 0", full), ("storage mounts 0 read_only", True))) == {}


def test_a_cache_in_a_guest_is_not_judged_by_a_disk_that_the_hypervisor_shows():
    """A node without NVMe always failed, whatever its role."""
    virtual = ("storage kv_cache disks", [{"name": "vda", "transport": "virtio", "rotational": True}])
    assert changed(virtual, GUEST).outcome("kv-cache-path") == "not_applicable"
    assert levels(changed(virtual)) == {"kv-cache-path": "warn"}
    assert levels(changed(("storage kv_cache network", True), GUEST)) == {"kv-cache-path": "fail"}
    assert levels(changed(("storage kv_cache type", "tmpfs"), ("storage kv_cache disks", []))) == {"kv-cache-path": "info"}
    assert levels(changed(("storage kv_cache present", False))) == {"kv-cache-path": "fail"}
    assert changed(("storage kv_cache disks", [])).outcome("kv-cache-path") == "unknown"


def test_a_directory_that_is_named_and_missing_is_unknown():
    entry = {"path": "/models", "purpose": "named", "problem": "there is no such directory"}
    assert changed(("storage directories", [entry])).outcome("disk-room") == "unknown"


def test_a_network_file_system_has_no_room_that_is_judged():
    nothing = {"not_applicable": "a network file system is not touched"}
    entry = {"path": "/m", "purpose": "named", "mount": "/m", "type": "nfs", **dict.fromkeys(("size_gib", "free_gib", "inodes", "inodes_free"), nothing)}
    assert changed(("storage directories", [entry])).outcome("disk-room") == "passed"


def test_a_fabric_manager_or_imex_daemon_that_is_down_on_purpose_is_no_fault():
    """IMEX is needed in a domain of many nodes only; idle nodes kept a condition for thirteen days."""
    old = ("services versions imex", "535.1.1")
    assert levels(changed(old)) == {}
    judged = changed(old, ("host services nvidia-imex active", "active"))
    assert levels(judged) == {"service-versions": "fail"}
    asleep = ("host services nvidia-fabricmanager active", "inactive")
    assert levels(changed(("services versions fabric_manager", "1.2.3"), asleep)) == {}


def test_a_version_that_was_not_told_is_unknown():
    assert changed(("services versions fabric_manager", {"unknown": "timeout"})).outcome("service-versions") == "unknown"


def test_a_driver_from_a_container_or_a_package_needs_no_dkms():
    """The operator's container loads the driver; DKMS's leftovers on the host say nothing of it."""
    other = ("settings kernels dkms", [{"module": "nvidia", "version": "535.309.01", "kernels": ["5.15.0-1-generic"]}])
    assert levels(changed(other)) == {}
    assert levels(changed(other, ("settings modules loaded", []))) == {"driver-built": "fail"}


def test_leftovers_of_a_driver_whose_cards_are_gone_are_no_fault():
    amd = [{"module": "amdgpu", "version": "6.8.5", "kernels": ["5.4.0-1-generic"]}]
    assert levels(changed(("settings kernels dkms", amd))) == {}


def test_dkms_names_of_distributions_are_their_driver():
    named = [{"module": "nvidia-current-open", "version": "550.1", "kernels": ["5.15.0-1"]}]
    assert levels(changed(("settings kernels dkms", named), ("settings modules loaded", []))) == {"driver-built": "fail"}


def test_a_driver_that_is_loaded_by_hand_may_be_on_the_blacklist():
    """An acceptance guide blacklists amdgpu on the command line on purpose."""
    listed = ("host kernel command_line", "ro iommu=pt modprobe.blacklist=nvidia,nouveau")
    assert levels(changed(listed)) == {}
    assert levels(changed(listed, ("settings modules loaded", []))) == {"driver-loadable": "warn"}


@pytest.mark.parametrize(
    ("newest", "level"), [("6.8.0-100-generic", "warn"), ("6.8.0-9-generic", None), ("5.15.0-300-generic", None), ("6.11.0-2-generic", "warn")]
)
def test_kernels_are_ordered_by_their_numbers(newest, level):
    judged = changed(("settings kernels installed", [host_samples.RELEASE, newest]))
    assert levels(judged) == ({"driver-next-kernel": level} if level else {})


def test_a_failed_service_of_no_concern_is_told_and_no_more():
    assert levels(changed(("services failed", ["snapd.service"]))) == {"service-failed": "info"}
    assert levels(changed(("services failed", ["snapd.service", "kubelet.service"]))) == {"service-failed": "warn"}


def test_a_service_that_is_down_on_purpose_is_not_missed():
    """Services that nobody needs on a node were reported as faults for weeks."""
    down = ("services units kubelet active", "inactive")
    assert levels(changed(down)) == {"service-down": "warn"}
    for word in ("disabled", "masked", "static", "indirect", ""):
        assert levels(changed(down, ("services units kubelet enabled", word))) == {}
    assert levels(changed(("services units kubelet active", "activating"))) == {}
    # one that ends again and again is being started most of the time
    again = (("services units kubelet active", "activating"), ("services units kubelet sub", "auto-restart"))
    assert levels(changed(*again)) == {"service-down": "warn"}
    judged = changed(("services units kubelet active", "failed"), ("services failed", ["kubelet.service"]))
    assert {f["rule"]: f["caused_by"] for f in judged.findings if f["rule"] in MINE} == {"service-failed": [], "service-down": ["service-failed"]}


def test_a_clock_that_another_clock_feeds_is_no_second_one():
    units = dict(healthy()["services"]["units"])
    units.update(ptp4l=units["chrony"], phc2sys=units["chrony"])
    assert levels(changed(("services units", units))) == {}


def test_link_local_and_missing_answers_of_dns_are_no_disagreement():
    assert levels(changed(("services names dns", []))) == {}
    assert levels(changed(("services names dns", ["fe80::1", "127.0.0.1"]))) == {}
    assert levels(changed(("services names dns", ["10.20.0.11", "10.30.0.11"]))) == {}
    assert changed(("services names dns", {"unknown": "timeout"})).outcome("own-name") == "unknown"


def test_an_old_restart_had_its_time_to_be_looked_at():
    hard = [{"at": "2026-11-10T08:00:00Z", "clean": False}, {"at": "2026-11-28T20:05:00Z", "clean": True}]
    assert levels(changed(("services reboots boots", hard))) == {}
    assert levels(changed(("services reboots boots", hard), accelerator_policy_unexpected_restart_within_days=30)) == {"unexpected-restart": "warn"}


def test_a_kernel_crash_counts_in_a_guest_too():
    crash = [{"what": "/var/crash/202611290800", "at": "2026-11-29T08:00:00Z"}]
    assert levels(changed(("services reboots crashes", crash), GUEST))["unexpected-restart"] == "warn"


def test_iommu_advice_is_for_the_makers_that_give_it_and_for_bare_metal():
    assert levels(changed(("host kernel command_line", "ro"))) == {}  # NVIDIA's
    sections = [("pci devices", [dict(d, manufacturer="amd") for d in healthy()["pci"]["devices"]]), ("host kernel command_line", "ro")]
    assert changed(*sections).outcome("kernel-command-line") == "found"
    assert changed(*sections, GUEST).outcome("kernel-command-line") == "passed"


def test_a_consequence_stands_below_its_cause():
    place = [{"place": "DIMM_A1", "corrected": 900, "uncorrected": 1}]
    changes = [("hardware memory_errors corrected", 900), ("hardware memory_errors uncorrected", 1), ("hardware memory_errors places", place)]
    judged = changed(*changes, ("hardware corrupted_kib", 4), ("hardware event_log events", event(sensor="Memory", event="Uncorrectable ECC")))
    causes = {f["rule"]: f["caused_by"] for f in judged.findings if f["rule"] in MINE}
    assert causes.pop("memory-uncorrected") == []
    assert causes == {rule: ["memory-uncorrected"] for rule in ("memory-corrected", "memory-offline", "bmc-events")}


def test_a_word_late_on_a_long_command_line_counts():
    """Cut at what a message may show, an unwanted word at its end was not seen."""
    long = "ro iommu=pt " + " ".join("quiet%d" % n for n in range(60))
    assert len(long) > 400 and levels(changed(("host kernel command_line", long))) == {}
    unwanted = next(word for entry in settings.table()["command_line"] for word in entry.get("unwanted", ()))
    judged = changed(("host kernel command_line", "%s %s" % (long, unwanted)))
    assert judged.outcome("kernel-command-line") == "found"
    less = ("host memory total_mib", 500000)
    assert changed(less, ("host kernel command_line", long + " mem=500G")).outcome("memory-installed") == "not_applicable"
