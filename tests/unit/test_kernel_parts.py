# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was said of a part before another one was put in its place condemns neither the accelerator, the drive nor the adapter that is there now."""

from __future__ import annotations

import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import parts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.baseline import Accepted, Past
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, kernel, policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.kernel_catalogue import assess
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

BOOT = 1772000000  # 2026-02-25T06:13:20Z
ATTACHED = "pci %s: [144d:a80a] type 00 class 0x010802 PCIe Endpoint"
LOST = "nvme nvme2: Device not ready; aborting reset, CSTS=0x1"
SECTOR = "nvme2n1: I/O Cmd(0x2) @ LBA 1, 8 blocks, I/O Error (sct 0x2 / sc 0x81) DNR"
NAMES = {"nvme2": "0000:81:00.0", "enp26s0np0": "0000:1a:00.0", "mlx5_0": "0000:1a:00.0"}


def log(*said):
    """said: (seconds since boot, text)."""
    return kernel_log.fold("".join("[%d.5] %s\n" % one for one in said), BOOT)[0]


def levels(*said, names=None):
    return [(event.code, event.severity) for event in assess(log(*said), addresses=lambda: NAMES if names is None else names)]


def test_a_drive_that_was_replaced_while_the_machine_ran():
    assert levels((5000, LOST), (9000, ATTACHED % "0000:81:00.0")) == [("nvme-removed", "info")]
    (event,) = assess(log((5000, LOST), (9000, ATTACHED % "0000:81:00.0")), addresses=lambda: NAMES)
    assert event.summary.endswith("; a part was attached there since")


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (((9000, ATTACHED % "0000:81:00.0"), (9500, LOST)), NAMES),  # the new one failed
        (((5000, LOST), (9000, ATTACHED % "0000:82:00.0")), NAMES),  # another one was added
        (((5000, LOST), (9000, ATTACHED % "0000:81:00.0")), {}),  # it is not known where that drive is
        (((5000, LOST), (9000, ATTACHED % "0000:81:00.0")), {"nvme1": "0000:81:00.0"}),  # the slot has a drive of another name
        (((5000, LOST),), NAMES),
        (((5000, LOST), (2, ATTACHED % "0000:81:00.0")), NAMES),  # found at boot
    ],
)
def test_a_drive_that_was_not(said, names):
    assert levels(*said, names=names) == [("nvme-removed", "fail")]


@pytest.mark.parametrize("place", ["nvme2", "nvme2n1", "nvme2n1p3"])
def test_a_drive_is_known_by_its_name_and_those_of_its_parts(place):
    (event,) = [e for e in log((5000, LOST)) if e["places"]]
    told = [dict(event, places={place: 1}), *log((9000, ATTACHED % "0000:81:00.0"))]
    assert [e.severity for e in assess(told, addresses=lambda: NAMES)] == ["info"]
    told[0]["places"] = {place.replace("2", "21", 1): 1}
    assert [e.severity for e in assess(told, addresses=lambda: NAMES)] == ["fail"]


def node(said, **accepted):
    tree = path_samples.Tree(4)
    sections = tree.sections()
    sections["kernel"] = dict(sections["kernel"], events=log(*said), lines=len(said))
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse({}))
    if accepted:
        view.baseline = Past(Accepted("r1", accepted["at"], "n1", None, {}, tuple(accepted["change"](parts.of(view)))), {}, "", {}, {})
    findings = engine.judge_view(view, profiles.find("preflight")).findings
    return [(one["rule"], one["subject"]["id"], one["level"]) for one in findings if one["rule"].startswith("kernel")]


def test_an_adapter_that_was_replaced():
    address, said = path_samples.places(1)[5], "mlx5_core %s: temp_warn:98:(pid 0): High Temperature"
    assert node([(5000, said % address)]) == [("kernel-nic-errors", address, "warn")]
    assert node([(5000, said % address), (9000, ATTACHED % address)]) == [("kernel-nic-errors", address, "info")]
    assert node([(9000, ATTACHED % address), (9500, said % address)]) == [("kernel-nic-errors", address, "warn")]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (None, {}),
        ({"rails": {"not_applicable": "none"}, "interfaces": {"unknown": "x"}}, {}),
        ({"rails": 5, "interfaces": [1]}, {}),
        ({"rails": {"0": {"device": 7, "address": "0000:1a:00.0"}, "1": "x"}, "interfaces": {"eno1": {"address": None}, "eno2": "y"}}, {}),
        (
            {"rails": {"0": {"device": "mlx5_9", "address": "0000:1a:00.0"}}, "interfaces": {"eno1": {"address": "0000:1b:00.0"}}},
            {"mlx5_9": "0000:1a:00.0", "eno1": "0000:1b:00.0"},
        ),
    ],
)
def test_where_the_report_tells_what_is_at_an_address(network, expected):
    sections = path_samples.Tree(2).sections()
    sections.pop("network_devices", None)
    if network is not None:
        sections["network_devices"] = network
    told = kernel._addresses(NodeView("n1", synthetic.envelopes(sections), policy.parse({})))
    ends = {"nvidia:0": "0000:18:00.0", "nvidia:1": "0000:29:00.0", "mlx5_0": "0000:19:00.0", "mlx5_1": "0000:2a:00.0"}
    assert told == dict(ends, **expected)


FELL = "NVRM: Xid (PCI:%s): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus." % synthetic.address(1)[:-2]
AGAIN = [(5000, FELL), (9000, ATTACHED % synthetic.address(1))]


@pytest.mark.parametrize(
    ("at", "change", "level"),
    [
        # The card that was accepted before is the one that is there: it was taken off the bus and found again, and no other was put in.
        ("2026-02-20T00:00:00Z", lambda held: held, "fail"),
        ("2026-02-20T00:00:00Z", lambda held: [p._replace(uuid="GPU-0", serial="1") for p in held], "info"),
        ("2026-02-20T00:00:00Z", lambda held: [], "info"),
        # Accepted after it was attached: nothing is told of the card before.
        ("2026-02-25T09:00:00Z", lambda held: held, "info"),
    ],
)
def test_a_card_that_was_only_found_again_is_the_same_card(at, change, level):
    assert [one[2] for one in node(AGAIN, at=at, change=change) if one[0] == "kernel-accelerator-events"] == [level]


def test_without_a_past_a_card_that_was_attached_is_another_one():
    assert [one[2] for one in node(AGAIN) if one[0] == "kernel-accelerator-events"] == ["info"]
