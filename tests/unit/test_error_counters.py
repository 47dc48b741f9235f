# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of machine checks and of file systems, and how far the times of the kernel log may be off."""

from __future__ import annotations

import host_samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import file_systems, hardware, kernel_log, kernel_ring, machine_checks, storage
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import kernel
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import Facts

BTRFS = "/sys/fs/btrfs/aaaabbbb-cccc-dddd-eeee-ffff00001111"
STATS = "write_errs 1\nread_errs 2\nflush_errs 0\ncorruption_errs 4\ngeneration_errs 0\n"


def read(stdout, **more):
    return hardware.collect(ReplayHost(host_samples.machine(told={"interrupts": {"stdout": stdout, **more}})), False)["machine_checks"]


def test_columns_of_a_row_are_summed_and_its_words_are_no_column():
    text = " TRM:   10    0    7   Thermal event interrupts\n MCE:  1  1  1   Machine check exceptions\n MCP:  40  40  40   Machine check polls\n"
    told = read(text)
    assert (told["exceptions"], told["thermal"]) == (3, 17)
    assert told["thresholds"] == told["deferred"] == {"not_applicable": "not counted on this processor"}
    assert machine_checks.parse(" MCE: 5 9 0x7\n XYZ: 1\nMCE 4\n MCE: -1 -2\n") == {"MCE": 14, "XYZ": 1}


@pytest.mark.parametrize(
    ("more", "kind"),
    [({"rc": 1}, "not_applicable"), ({"rc": 2}, "unknown"), ({"hang": True}, "unknown"), ({"missing": True}, "unknown"), ({"rc": 0}, "unknown")],
)
def test_where_nothing_is_counted(more, kind):
    assert list(read("", **more)) == [kind]


def test_another_processor_is_not_asked():
    recording = host_samples.machine(told={"interrupts": {"rc": 2}})
    recording["host"]["uname"]["machine"] = "aarch64"
    assert hardware.machine_checks(ReplayHost(recording)) == {"not_applicable": "only x86 counts machine checks"}


def errors(changes):
    host = ReplayHost(host_samples.machine(changes))
    return storage.collect(host, storage.mounts(host))["file_system_errors"]


def test_errors_of_btrfs_are_those_of_all_its_devices_and_xfs_counts_none():
    disks = {"/sys/fs/btrfs": {"dir": [BTRFS[-36:], "features"]}, BTRFS + "/devices": {"dir": ["sdb", "sdc"]}, BTRFS + "/devinfo": {"dir": ["1", "2"]}}
    told = errors({**disks, BTRFS + "/devinfo/1/error_stats": STATS, BTRFS + "/devinfo/2/error_stats": STATS})
    assert {name: entry["count"] for name, entry in told.items()} == {
        "md0": 0,
        "sdb+sdc": 14,
        "nvme0n1p1": {"not_applicable": "XFS keeps no count of its errors"},
    }
    # Linux before 5.14
    told = errors({**disks, BTRFS + "/devinfo/1/error_stats": {"absent": True}})
    assert list(told["sdb+sdc"]["count"]) == ["unknown"] and told["md0"]["count"] == 0


@pytest.mark.parametrize("text", ["", "write_errs\n", "a b c\n", "write_errs 99999999999999999999999999\n", "write_errs -x\n", "\x00"])
def test_garbage_is_unknown(text):
    host = ReplayHost(host_samples.machine({BTRFS + "/devices": {"absent": True}, BTRFS + "/devinfo": {"dir": ["1"]}, BTRFS + "/devinfo/1/error_stats": text}))
    ((name, entry),) = file_systems.read(
        host, {"ext4": Answer("absent"), "btrfs": Answer("ok", [BTRFS[-36:]]), "xfs": Answer("ok", ["stats", "debug"])}
    ).items()
    assert name == BTRFS[-36:] and list(entry["count"]) == ["unknown"]


def test_a_kind_of_file_system_that_could_not_be_listed_takes_nothing_from_the_others():
    told = errors({"/sys/fs/btrfs": {"error": "EACCES"}})
    assert list(told["btrfs"]["count"]) == ["unknown"] and told["md0"]["count"] == 0


def test_times_of_the_kernels_ring_may_be_off_by_the_most_that_a_clock_is_corrected_by_and_those_of_the_journal_are_not():
    recording = host_samples.machine()
    assert list(kernel_log.collect(ReplayHost(recording))["time_error_seconds"]) == ["unknown"]
    ring = {"argv": kernel_ring.DMESG_RAW, "rc": 0, "stdout": "<6>[    0.000000] Linux version 6.8.0"}
    journal = {"argv": kernel_log.JOURNAL, "rc": 0, "stdout": "%d.250000 node07 kernel: Linux version 6.8.0" % recording["host"]["boot_time"]}
    recording["commands"] = [ring, journal]
    assert [kernel_log.collect(ReplayHost(recording))[key] for key in ("source", "time_error_seconds")] == ["journalctl -k", 0.0]
    recording["commands"] = [ring]
    day = host_samples.seconds("2026-11-29T17:00:00Z") - recording["host"]["boot_time"]
    assert kernel_log.collect(ReplayHost(recording))["time_error_seconds"] == round(day * 500e-6 + 1, 1) > 30
    del recording["host"]["boot_time"]
    assert list(kernel_log.collect(ReplayHost(recording))["time_error_seconds"]) == ["unknown"]


@pytest.mark.parametrize(("error", "young"), [(0, False), (3000, True), (None, False), ({"unknown": "no boot time"}, False), ("x", False), (-9, False)])
def test_an_event_that_may_be_young_enough_is_judged(error, young):
    class Event:
        last = "2026-11-29T06:20:00.000Z"

    section = {"timestamp": "2026-11-29T17:00:00Z", "time_error_seconds": error}
    assert kernel._fresh(Event, Facts(section), 10) is young
    assert kernel._fresh(Event, Facts(section), 11) is True is kernel._fresh(Event, Facts(section), None)
