# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real kernel logs, read and classified. Each capture has its entry here; a new one without an entry fails."""

from __future__ import annotations

from collections import Counter

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, kernel_catalogue, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

FOLDERS = ("kernel/*", "*/dmesg*", "gaudi/journal*", "*/kmsg*")

# What a correct reader concludes: (level, code, times, places), in the order of the log. counted = a finding only from a number on.
EXPECTED = {
    "kernel/aer-corrected-replay-timer-nvidia-port.txt": [
        ("counted", "pcie-corrected", 1, {"0000:00:01.0": 1}),
        ("warn", "pcie-nonfatal", 1, {"0000:00:01.0": 1}),
    ],
    "kernel/aer-dpc-sdes-nvme.txt": [
        ("fail", "pcie-contained", 1, {"0000:00:01.4": 1}),
        ("fail", "pcie-contained", 1, {"0000:00:01.4": 1}),
        ("fail", "pcie-fatal", 1, {"0000:00:01.4": 1}),
        ("warn", "nvme-down", 1, {"nvme2": 1}),
    ],
    "kernel/aer-uncorrected-fatal-cmplto.txt": [("fail", "pcie-fatal", 1, {"0000:c0:01.1": 1})],
    "kernel/aer-uncorrected-nonfatal-recovered.txt": [
        ("warn", "pcie-nonfatal", 1, {"0000:01:00.0": 1}),
        ("warn", "pcie-nonfatal", 1, {"0000:01:00.0": 1}),
    ],
    # The same cycle again and again is one problem for each GPU.
    "kernel/dmesg-T-nvrm-gpu-not-supported-probe-failed.txt": [
        ("fail", "nvidia-not-supported", 4, {"0000:04:00.0": 2, "0000:05:00.0": 2}),
        ("fail", "nvidia-driver-probe-failed", 4, {"0000:04:00.0": 2, "0000:05:00.0": 2}),
    ],
    "kernel/dmesg-T-xid119-gsp.txt": [
        ("fail", "119", 1, {"0000:9b:00.0": 1}),
        ("fail", "119", 2, {"0000:9b:00.0": 2}),
        ("fail", "nvidia-gsp", 1, {"0000:9b:00.0": 1}),
        ("fail", "119", 2, {"0000:9b:00.0": 2}),
    ],
    "kernel/dmesg-T-xid31-48.txt": [("info", "31", 1, {"000d:00:00.0": 1}), ("fail", "48", 1, {"000d:00:00.0": 1})],
    "kernel/dmesg-decode-iso-filemax.txt": [("warn", "file-limit", 2, {})],
    "kernel/dmesg-decode-iso-nccl-segfault.txt": [("info", "nccl-crash", 2, {})],
    "kernel/dmesg-decode-iso-xid13-43-oom.txt": [
        ("info", "13", 5, {"0000:38:00.0": 5}),
        ("info", "13", 6, {"0000:38:00.0": 6}),
        ("info", "13", 5, {"0000:38:00.0": 5}),
        ("info", "43", 1, {"0000:38:00.0": 1}),
        ("info", "oom-cgroup", 1, {}),
        ("warn", "oom", 1, {}),
        ("warn", "oom", 1, {}),
        ("warn", "oom", 1, {}),
        ("info", "oom-cgroup", 1, {}),
    ],
    "kernel/dmesg-rminitadapter-no-gsp-firmware.txt": [
        ("fail", "nvidia-no-firmware", 1, {}),
        ("fail", "nvidia-init-failed", 1, {"0000:ae:00.0": 1}),
        ("fail", "nvidia-init-failed", 1, {"0000:ae:00.0": 1}),
    ],
    "kernel/edac-ce-hisilicon-reserved.txt": [("counted", "edac-corrected", 2, {})],
    "kernel/edac-ce-ue-burst.txt": [("fail", "edac-uncorrected", 1, {}), ("counted", "edac-corrected", 5, {})],
    "kernel/gpu-fallen-off-bus-no-xid.txt": [("fail", "nvidia-fallen-off-bus", 1, {"0000:b3:00.0": 1})],
    "kernel/kmsg-raw-h100-boot.txt": [],
    "kernel/kmsg-raw-peermem-invalid-context.txt": [("warn", "nvidia-peermem", 7, {})],
    "kernel/mlx5-errors-mixed.txt": [
        ("fail", "nic-fatal", 1, {"0000:03:00.0": 1}),
        ("fail", "nic-fatal", 1, {"0000:d2:00.0": 1}),
        ("fail", "nic-fatal", 1, {}),
        ("warn", "nic-timeout", 1, {}),
        ("warn", "nic-timeout", 1, {"0000:65:00.0": 1}),
        ("warn", "nic-timeout", 1, {"0000:65:00.0": 1}),
        ("warn", "nic-timeout", 1, {"0000:65:00.0": 1}),
        ("warn", "nic-power", 1, {"0000:12:00.0": 1}),
        ("warn", "nic-hot", 1, {"0000:5c:00.0": 1}),
        ("info", "nic-command", 1, {}),
        ("info", "nic-cable", 1, {"0000:41:00.1": 1}),
    ],
    "kernel/mlx5-link-flap-bond.txt": [("counted", "nic-link-down", 3, {"0000:53:00.0": 3})],
    "kernel/nvme-controller-down-removed.txt": [("warn", "nvme-down", 1, {"nvme0": 1}), ("fail", "nvme-removed", 1, {"nvme0": 1})],
    "kernel/oom-killer-manual-sysrq-kworker.txt": [("info", "oom-manual", 1, {})],
    # "Data {…}" lines, "xyz" and "(invalid)" say nothing of their own.
    "kernel/sxid-nvswitch-mixed.txt": [
        ("warn", "12028", 1, {"0000:05:00.0": 1}),
        ("fail", "20034", 2, {"0000:00:00.0": 2}),
        ("warn", "12028", 2, {"0000:05:00.0": 2}),
    ],
    "kernel/syslog-no-flap.txt": [],
    "kernel/xid-nvlink5-145-149-gb200.txt": [
        ("warn", "149", 2, {"0018:01:00.0": 1, "0008:01:00.0": 1}),
        ("warn", "145", 2, {"0018:01:00.0": 1, "0019:01:00.0": 1}),
        ("warn", "145", 3, {"0019:01:00.0": 1, "0008:01:00.0": 2}),
        ("fail", "149", 3, {"0019:01:00.0": 1, "0008:01:00.0": 1, "0018:01:00.0": 1}),
        ("warn", "145", 2, {"0008:01:00.0": 1, "0018:01:00.0": 1}),
        ("fail", "149", 2, {"0008:01:00.0": 1, "0018:01:00.0": 1}),
    ],
    "kernel/xid-various-32-46-69-74-999.txt": [
        ("fail", "149", 1, {"0018:01:00.0": 1}),
        ("info", "13", 1, {"0000:b5:00.0": 1}),
        ("info", "13", 1, {"0000:b5:00.0": 1}),
        ("fail", "74", 1, {"0003:00:00.0": 1}),
        ("info", "32", 1, {"0000:66:00.0": 1}),
        ("fail", "46", 1, {"0000:3f:00.0": 1}),
        ("info", "69", 1, {"0001:ab:cd.0": 1}),
        ("info", "8", 1, {"0000:9b:00.0": 1}),
        ("warn", "999", 1, {"0000:66:00.0": 1}),
        ("fail", "154", 1, {"0008:01:00.0": 1}),
        ("warn", "154", 1, {"0000:01:00.0": 1}),
    ],
    "kernel/xid13-short-no-pid.txt": [("info", "13", 1, {"0009:01:00.0": 1})],
    "kernel/xid48-with-board-serial.txt": [("fail", "48", 1, {"0000:03:00.0": 1})],
    "kernel/xid79-single.txt": [("fail", "79", 1, {"0000:ca:00.0": 1})],
    "amd/dmesg-gpu-reset-ok-igpu.txt": [("warn", "amd-reset", 1, {"0000:c3:00.0": 1})],
    "amd/dmesg-mailbox-vf-not-ready.txt": [("warn", "amd-mailbox", 3, {"0000:08:00.0": 3})],
    "amd/dmesg-mes-failed-7900xtx.txt": [
        ("warn", "amd-mes", 1, {}),
        ("warn", "amd-mes", 1, {"0000:03:00.0": 1}),
        ("fail", "amd-mes-unrecoverable", 1, {"0000:03:00.0": 1}),
        ("warn", "amd-mes", 1, {"0000:03:00.0": 1}),
        ("warn", "amd-mes", 1, {}),
        ("warn", "amd-mes", 1, {}),
        ("fail", "amd-reset", 1, {"0000:03:00.0": 1}),
    ],
    "amd/dmesg-ras-athub-mi300x.txt": [
        ("fail", "amd-uncorrectable", 1, {"0000:68:00.0": 1}),
        ("info", "amd-aca", 2, {"0000:9e:00.0": 1, "0000:d4:00.0": 1}),
    ],
    # No message says that the reset succeeded.
    "amd/dmesg-ras-athub-mi50-reset.txt": [
        ("fail", "amd-uncorrectable", 1, {"0000:e3:00.0": 1}),
        ("fail", "amd-reset", 1, {"0000:e3:00.0": 1}),
        ("warn", "amd-smu", 2, {"0000:e3:00.0": 2}),
    ],
    # A count that a sleeping GPU always answers: suspicious, not a verdict.
    "amd/dmesg-ras-umc-bogus-1048560.txt": [("warn", "amd-ras-uncorrectable", 1048560, {"0000:0b:00.0": 1})],
    "aws-neuron/dmesg-neuron-hw-err.txt": [("fail", "neuron-hardware-error", 1, {"nd-id=0": 1})],
    # "taints kernel", "no GSI" and "can't derive routing" are harmless.
    "gaudi/dmesg-gaudi1-load-8.txt": [],
    "gaudi/journal-gaudi3-load.txt": [],
    "thead/dmesg-alixpu-icn-topo-16.txt": [],
}


def paths(captures):
    return sorted({str(p.relative_to(captures)) for folder in FOLDERS for p in captures.glob(folder) if p.is_file()})


def read(captures, path):
    return kernel_log.fold((captures / path).read_text(encoding="utf-8", errors="replace"), 1764400000)


def said(captures, path):
    return kernel_catalogue.assess(read(captures, path)[0])


def test_every_capture_has_an_entry(captures):
    assert set(paths(captures)) == set(EXPECTED)


@pytest.mark.parametrize("path", sorted(EXPECTED))
def test_capture(captures, path):
    assert [(e.severity, e.code, e.count, e.places) for e in said(captures, path)] == EXPECTED[path]


def test_times_are_true_or_unknown(captures):
    first = {path: read(captures, path)[0][0]["first"] for path in EXPECTED if read(captures, path)[0]}
    assert first["kernel/dmesg-decode-iso-filemax.txt"] == "2025-01-21T04:41:44.285Z"
    assert first["amd/dmesg-gpu-reset-ok-igpu.txt"] == "2024-08-18T01:19:31.352Z"
    assert first["kernel/dmesg-T-xid119-gsp.txt"] == {"unknown": "local time without a zone: Sun Feb 23 16:24:18 2025"}
    assert first["amd/dmesg-mes-failed-7900xtx.txt"] == {"unknown": "a time without a year: May 26 18:09:55"}
    assert first["kernel/nvme-controller-down-removed.txt"] == "2025-11-29T07:07:19.392Z"
    assert first["kernel/xid79-single.txt"] == {"unknown": "the line carries no time"}


def test_priorities(captures):
    assert read(captures, "kernel/kmsg-raw-peermem-invalid-context.txt")[0][0]["priority"] == 6
    assert read(captures, "kernel/dmesg-decode-iso-filemax.txt")[0][0]["priority"] == 4


def test_all_devices_of_a_node_are_in_the_topology_of_its_driver(captures):
    (event,) = read(captures, "thead/dmesg-alixpu-icn-topo-16.txt")[0]
    assert (event["sample"], event["count"]) == ("[alixpu] total 16 devices in ICN topo!", 1)


def test_read_in_pieces_a_log_says_the_same(captures):
    for path in EXPECTED:
        data = (captures / path).read_bytes()
        stream = kernel_log.Stream(1764400000)
        for at in range(0, len(data), 100):
            stream.take(data[at : at + 100])
        stream.done()
        assert (stream.folder.finished(), stream.lines) == read(captures, path)[:2], path


def outcomes(captures, path, rule):
    engine.default_policy()
    events, lines, dropped, _first = read(captures, path)
    section = {"status": "ok", "reason": "", "source": "dmesg", "since": "boot", "covers_from": "x", "events": events, "lines": lines, "dropped": dropped}
    view = NodeView("n1", {"kernel": {"status": "read", "reason": "", "data": section}}, policy.parse({}))
    return [(subject, one.outcome, one.level) for subject, one in engine.outcomes(RULES[rule], view, view.policy.params(rule))]


def test_errors_of_switches_are_those_of_the_switch_they_name(captures):
    path = "kernel/sxid-nvswitch-mixed.txt"
    assert outcomes(captures, path, "kernel-nvswitch-errors") == [
        (("nvswitch", "0000:05:00.0"), "found", "warn"),
        (("nvswitch", "0000:00:00.0"), "found", "fail"),
    ]
    assert [outcome for _subject, outcome, _level in outcomes(captures, path, "kernel-accelerator-events")] == ["passed"]


def test_what_the_maker_asks_for(captures):
    (event,) = said(captures, "aws-neuron/dmesg-neuron-hw-err.txt")
    assert (event.severity, event.action) == ("fail", "do what the message says, as a rule replace the instance")
    assert "TERMINATE_INSTANCE" in event.sample


def test_nvlink5_severities(captures):
    events = said(captures, "kernel/xid-nvlink5-145-149-gb200.txt")
    count = Counter()
    for event in events:
        count[event.code, event.severity] += event.count
    assert count == {("149", "fail"): 5, ("149", "warn"): 2, ("145", "warn"): 7}


def test_the_flapping_link_ends_down(captures):
    assert said(captures, "kernel/mlx5-link-flap-bond.txt")[0].summary == "a link went down; it is down now"


def test_the_dead_card_is_named_with_what_it_is(captures):
    event = said(captures, "kernel/gpu-fallen-off-bus-no-xid.txt")[0]
    assert event.address == "0000:b3:00.0"
    assert "10de:26b5" in event.sample


def test_the_suspicious_count_asks_to_be_read_again(captures):
    event = said(captures, "amd/dmesg-ras-umc-bogus-1048560.txt")[0]
    assert (event.role, event.action) == ("suspicious", "read the counters again while the GPU is awake")
