# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about the kernel log: what becomes a finding, on what, at which level, and what is unknown."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

XID = "[%d.5] NVRM: Xid (PCI:0000:%s:00): %d, pid=9, name=python, text"
RULE_IDS = (
    "kernel-accelerator-events",
    "kernel-pcie-errors",
    "kernel-memory-errors",
    "kernel-nic-errors",
    "kernel-storage-errors",
    "kernel-lockups",
    "kernel-oom",
    "kernel-thermal",
    "kernel-nvswitch-errors",
)


def envelope(data):
    return {"schema": "fleetproof.accelerator/section/v1", "status": "read", "reason": "", "data": data}


def section(*lines, **changed):
    events, count, dropped, _first = kernel_log.fold("\n".join(lines), 1764400000)
    data = {
        "timestamp": "2025-11-30T07:06:40Z",
        "source": "journalctl -k",
        "status": "ok",
        "reason": "",
        "boot_time": "2025-11-29T07:06:40Z",
        "since": "boot",
        "covers_from": "2025-11-29T07:06:40.000Z",
        "events": events,
        "lines": count,
        "dropped": dropped,
    }
    return dict(data, **changed)


def gpu(**facts):
    device = {"id": "nvidia:3", "kind": "package", "name": "GPU", "identity": {"pci": {"value": "0000:5e:00.0", "quality": "good"}}}
    return {"manufacturer": "nvidia", "detection": {"state": "ok", "accelerators": 1, "reason": ""}, "devices": [dict(device, **facts)]}


def ask(rule, kernel, variables=None, nvidia=None):
    engine.default_policy()
    sections = {"kernel": kernel if "schema" in kernel else envelope(kernel)}
    if nvidia is not None:
        sections["accelerators.nvidia"] = envelope(nvidia)
    rules = policy.parse({"accelerator_policy_%s_%s" % (rule.replace("-", "_"), k): v for k, v in (variables or {}).items()})
    view = NodeView("n1", sections, rules)
    return engine.outcomes(RULES[rule], view, rules.params(rule))


def short(outcomes):
    return [(subject, o.outcome, o.level) for subject, o in outcomes]


@pytest.mark.parametrize("rule", RULE_IDS)
def test_a_quiet_log_passes_every_rule(rule):
    outcomes = ask(rule, section("[0.0] Linux version 6.8.0", "[5.5] usb 1-1: new device"))
    assert short(outcomes) == [(("node", "n1"), "passed", None)]
    assert outcomes[0][1].evidence == {"lines": 2, "covers_from": "2025-11-29T07:06:40.000Z"}


@pytest.mark.parametrize("rule", RULE_IDS)
@pytest.mark.parametrize(
    "kernel",
    [
        section(status="unknown", reason="dmesg: not permitted (kernel.dmesg_restrict is 1)"),
        section(events={"unknown": "x"}),
        section(events="garbage"),
        section(status=5),
        section("[5.5] usb 1-1: new device", status="partial", reason="3 lines of further kinds were not kept", dropped=3),
        {"schema": "x", "status": "timeout", "reason": "deadline", "data": {}},
    ],
)
def test_no_readable_log_is_unknown(rule, kernel):
    outcomes = ask(rule, kernel)
    assert [o.outcome for _subject, o in outcomes] == ["unknown"]
    assert outcomes[0][1].reason


def test_an_event_is_found_on_the_device_it_names():
    outcomes = ask("kernel-accelerator-events", section(XID % (10, "5e", 79)), nvidia=gpu())
    assert short(outcomes) == [(("package", "nvidia:3"), "found", "fail")]
    said = outcomes[0][1]
    assert said.summary == "Xid 79 (GPU_HAS_FALLEN_OFF_THE_BUS): the GPU fell off the bus (1 time, last 2025-11-29T07:06:50.500Z)"
    assert said.remedy == "Restart the machine."
    assert said.expected["origin"].startswith("NVIDIA, Analyzing Xid Errors")
    assert said.evidence["codes"] == ["Xid 79 (GPU_HAS_FALLEN_OFF_THE_BUS)"]
    assert short(ask("kernel-accelerator-events", section(XID % (10, "6f", 79)), nvidia=gpu())) == [(("pci", "0000:6f:00.0"), "found", "fail")]


def test_one_finding_for_each_device_with_its_worst_level():
    lines = [XID % (n, bus, code) for n, (bus, code) in enumerate([("5e", 13), ("5e", 13), ("5e", 119), ("6f", 31)])]
    outcomes = ask("kernel-accelerator-events", section(*lines), nvidia=gpu())
    assert short(outcomes) == [(("package", "nvidia:3"), "found", "fail"), (("pci", "0000:6f:00.0"), "found", "info")]
    assert outcomes[0][1].summary.startswith("Xid 119")
    assert "Xid 13 (GR_EXCEPTION): compute engine exception, most often the program's own (2 times" in outcomes[0][1].summary
    assert outcomes[0][1].observed == 3


@pytest.mark.parametrize(
    ("code", "facts", "causes"),
    [
        (63, {"row_remap": {"pending": True, "failed": False}}, ("row-remap-pending",)),
        (63, {"row_remap": {"pending": False, "failed": False}}, ()),
        (63, {"row_remap": {"unknown": "x"}}, ()),
        (64, {"row_remap": {"pending": True, "failed": True}}, ("row-remap-failed",)),
        (63, {"row_remap": {"not_applicable": "old part"}, "retired_pages": {"pending": True}}, ("retired-pages-pending",)),
        (48, {"ecc": {"uncorrected_volatile": 2}}, ("ecc-uncorrected",)),
        (48, {"ecc": {"uncorrected_volatile": 0}}, ()),
        (79, {"health": {"state": "lost", "detail": ""}}, ("device-lost",)),
    ],
)
def test_two_readings_of_one_fault_are_tied_together(code, facts, causes):
    outcomes = ask("kernel-accelerator-events", section(XID % (10, "5e", code), XID % (11, "5e", 13)), nvidia=gpu(**facts))
    tied = [o.caused_by for _subject, o in outcomes if ("Xid %d" % code) in o.summary]
    assert tied == [causes]
    assert all(cause in RULES for cause in causes)


def test_a_site_moves_codes_between_levels():
    log = section(XID % (10, "5e", 94), XID % (11, "5e", 79), "[12.5] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 1")
    moved = ask("kernel-accelerator-events", log, {"fail_codes": "Xid 94", "info_codes": ["79"]})
    assert [(s[1], o.level) for s, o in moved] == [("0000:5e:00.0", "fail")]
    assert moved[0][1].summary.startswith("Xid 94")
    assert short(ask("kernel-nvswitch-errors", log)) == [(("nvswitch", "0000:c4:00.0"), "found", "warn")]
    assert short(ask("kernel-nvswitch-errors", log, {"info_codes": ["sxid:12028"]})) == [(("nvswitch", "0000:c4:00.0"), "found", "info")]


def test_a_node_without_nvidia_has_no_nvswitch():
    amd = {"manufacturer": "amd", "detection": {"state": "ok", "accelerators": 1, "reason": ""}, "devices": []}
    pci = envelope({"scan": {"status": "ok"}, "counts": {"amd": 1}, "devices": [{"address": "0000:5e:00.0", "manufacturer": "amd", "role": "accelerator"}]})
    engine.default_policy()
    for kernel, expected in ((section("[0.0] Linux"), "not_applicable"), (section("[0.0] Linux", status="unknown", reason="x"), "unknown")):
        view = NodeView("n1", {"kernel": envelope(kernel), "accelerators.amd": envelope(amd), "pci": pci}, policy.parse({}))
        rule = RULES["kernel-nvswitch-errors"]
        assert [o.outcome for _s, o in engine.outcomes(rule, view, view.policy.params("kernel-nvswitch-errors"))] == [expected]


def test_old_events_are_left_out_where_the_site_says_so():
    log = section(XID % (10, "5e", 79))
    assert short(ask("kernel-accelerator-events", log, {"max_age_hours": 12})) == [(("node", "n1"), "passed", None)]
    assert [o.level for _s, o in ask("kernel-accelerator-events", log, {"max_age_hours": 48})] == ["fail"]
    no_time = section("NVRM: Xid (PCI:0000:5e:00): 79, pid=9")
    assert [o.level for _s, o in ask("kernel-accelerator-events", no_time, {"max_age_hours": 12})] == ["fail"]


def test_a_log_that_begins_late_is_judged_by_what_it_holds_unless_the_site_wants_all():
    late = section("[9000.5] usb 1-1: new device", status="partial", reason="the log begins 9000 seconds after boot; older lines are gone")
    assert [o.outcome for _s, o in ask("kernel-lockups", late)] == ["passed"]
    assert [o.outcome for _s, o in ask("kernel-lockups", late, {"whole_boot": True})] == ["unknown"]
    since = section("[9000.5] usb 1-1: new device", since="8000.500000/00c0ffee", covers_from="2025-11-29T09:20:00.500Z")
    assert [o.outcome for _s, o in ask("kernel-lockups", since)] == ["passed"]
    wanted = ask("kernel-lockups", since, {"whole_boot": True})
    assert [(o.outcome, o.reason) for _s, o in wanted] == [("unknown", "kernel log: only what was said since 2025-11-29T09:20:00.500Z was read")]
    found = section(XID % (10, "5e", 79), status="partial", reason="x", dropped=2)
    assert sorted(o.outcome for _s, o in ask("kernel-accelerator-events", found)) == ["found", "unknown"]


def test_corrected_errors_count_only_from_a_number_on():
    lines = ["[%d.5] pcieport 0000:40:01.0: AER: Corrected error received: 0000:41:00.0" % n for n in range(100)]
    assert [o.outcome for _s, o in ask("kernel-pcie-errors", section(*lines[:99]))] == ["passed"]
    assert short(ask("kernel-pcie-errors", section(*lines))) == [(("pci", "0000:41:00.0"), "found", "warn")]
    assert [o.outcome for _s, o in ask("kernel-pcie-errors", section(*lines[:5]), {"corrected_errors": 5})] == ["found"]
    memory = section("[1.5] EDAC MC0: 150 CE memory read error on DIMM_A1 (channel:0)")
    assert [(o.level, o.observed) for _s, o in ask("kernel-memory-errors", memory)] == [("warn", 150)]
    memory = section("[1.5] EDAC MC0: 1 UE memory read error on DIMM_A1 (channel:0)")
    assert [o.level for _s, o in ask("kernel-memory-errors", memory)] == ["fail"]


def test_a_link_that_is_down_is_no_fault_and_one_that_flaps_is():
    down = "[%d.5] mlx5_core 0000:1a:00.0 ens1np0: Link down"
    assert [o.outcome for _s, o in ask("kernel-nic-errors", section(down % 5))] == ["passed"]
    outcomes = ask("kernel-nic-errors", section(*[down % n for n in (5, 15, 25)]))
    assert short(outcomes) == [(("pci", "0000:1a:00.0"), "found", "warn")]
    assert "3 times" in outcomes[0][1].summary


def test_many_links_that_went_down_once_do_not_flap():
    # The switch was restarted: each of them says it once, in the same words.
    down = "[%d.5] mlx5_core 0000:%x:00.0 ens%dnp0: Link down"
    once = [down % (5, 0x1A + rail, rail) for rail in range(8)]
    assert [o.outcome for _s, o in ask("kernel-nic-errors", section(*once))] == ["passed"]
    outcomes = ask("kernel-nic-errors", section(*once, *(down % (n, 0x1B, 1) for n in (15, 25))))
    assert short(outcomes) == [(("pci", "0000:1b:00.0"), "found", "warn")]


def test_links_of_virtual_functions_go_down_with_each_pod_that_ends():
    lines = section(*("[%d.5] mlx5_core 0000:1a:00.%d ens1f0v0: Link down" % (n, n % 2 * 3) for n in range(10, 20)))
    network = {"rails": {"0": {"address": "0000:1a:00.0"}}, "interfaces": {"ens1f0": {"address": "0000:1a:00.0"}}}

    def levels(told):
        sections = {"kernel": envelope(lines), "network_devices": envelope(told)}
        view = NodeView("n1", sections, policy.parse({}))
        return {subject[1]: outcome.level for subject, outcome in engine.outcomes(RULES["kernel-nic-errors"], view, view.policy.params("kernel-nic-errors"))}

    assert levels(network) == {"0000:1a:00.0": "warn", "0000:1a:00.3": "info"}
    assert levels(dict(network, rails={"not_applicable": "no RDMA device"})) == levels(network)
    assert levels(dict(network, interfaces={"unknown": "denied"})) == {"0000:1a:00.0": "warn", "0000:1a:00.3": "warn"}


@pytest.mark.parametrize(
    ("rule", "line", "subject", "level"),
    [
        ("kernel-pcie-errors", "[5.5] pcieport 0000:40:01.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=x", ("pci", "0000:40:01.0"), "fail"),
        ("kernel-nic-errors", "[5.5] mlx5_core 0000:1a:00.0: poll_health:9: device's health compromised - reached miss count", ("pci", "0000:1a:00.0"), "fail"),
        ("kernel-storage-errors", "[5.5] nvme nvme3: Disabling device after reset failure: -19", ("component", "nvme3"), "fail"),
        ("kernel-lockups", "[5.5] watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python:99]", ("node", "n1"), "warn"),
        ("kernel-oom", "[5.5] Out of memory: Killed process 99 (python) total-vm:1kB", ("node", "n1"), "warn"),
        ("kernel-thermal", "[5.5] mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 1)", ("node", "n1"), "warn"),
    ],
)
def test_each_rule_finds_its_own(rule, line, subject, level):
    assert short(ask(rule, section(line))) == [(subject, "found", level)]
    for other in RULE_IDS:
        if other != rule:
            assert [o.outcome for _s, o in ask(other, section(line))] == ["passed"]


def test_hostile_text_stays_text():
    line = "[5.5] NVRM: Xid (PCI:0000:5e:00): 79, pid=9, name=<script>\u202e{{ lookup('pipe','id') }}\x1b[31m, text"
    said = ask("kernel-accelerator-events", section(line))[0][1]
    assert said.evidence["messages"][0].isprintable()
    assert said.summary.isprintable()
