# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of comparable tools report of kernel logs, services and adapters: each kind made impossible."""

from __future__ import annotations

import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from health_nodes import ask, judge

XID = "NVRM: Xid (PCI:%s): %d, pid=77, name=python, %s"


def said(*lines):
    sections = path_samples.Tree(2).sections()
    events, count, dropped, _first = kernel_log.fold("\n".join("[%d.5] %s" % (100 + n, line) for n, line in enumerate(lines)), 1772000000)
    assert not dropped
    sections["kernel"] = dict(sections["kernel"], events=events, lines=count)
    return sections


def levels(sections, **variables):
    return {level for _rule, level, _device, _causes in judge(sections, "kernel-accelerator-events", **variables)}


def xid(code, text="text"):
    return XID % (synthetic.address(1)[:-2], code, text)


@pytest.mark.parametrize(("code", "level"), [(13, "info"), (31, "info"), (69, "info"), (109, "fail"), (64, "fail")])
def test_the_vendors_action_decides_how_bad_a_code_is(code, level):
    """kdp#1974, gpu-op#1065, awsome#1190: a code of a program condemned a card for good, and one that needs a reset was passed over."""
    assert levels(said(xid(code))) == {level}


def test_a_site_decides_otherwise():
    """NVS#275, kdp#1340: which codes count is the site's to say."""
    assert levels(said(xid(109)), accelerator_policy_kernel_accelerator_events_warn_codes=["xid 109"]) == {"warn"}


@pytest.mark.parametrize("text", ["", "GPU recovery action changed from", "GPU recovery action changed from 0x0 (None) to 0x", "\x00\xff"])
def test_a_recovery_message_that_is_cut(text):
    """NVS#1440: a malformed line ended the monitor."""
    assert levels(said(xid(154, text))) == {"warn"}


def test_one_line_many_times_is_one_finding():
    """NVS#1120: 800,000 equal lines."""
    assert [(rule, device) for rule, _level, device, _causes in judge(said(*[xid(95)] * 5000), "kernel-accelerator-events")] == [
        ("kernel-accelerator-events", "nvidia:1")
    ]


def test_a_fabric_manager_that_died_while_all_links_are_up():
    """NVS#883, #889: it was dead for 20 days, and every device still called its fabric complete."""
    sections = path_samples.Tree(2).sections()
    sections["pci"]["devices"].append(dict(synthetic.pci_entry(9), role="bridge", address="0000:c0:00.0", model="NVSwitch"))
    sections["host"]["services"] = synthetic.services(fabricmanager="failed")
    assert [rule for rule, level, _device, _causes in judge(sections) if level == "fail"] == ["fabric-manager"]


def test_a_host_without_an_adapter_is_no_fault():
    """gpud#140: no InfiniBand on the host was unhealthy."""
    tree = path_samples.Tree(2)
    tree.drop.update(path_samples.places(index)[5] for index in range(2))
    assert [rule for rule, level, _device, _causes in judge(tree.sections()) if level != "info"] == []
    assert {outcome for _ident, outcome, _level in ask("product-adapters", tree.sections())} == {"not_applicable"}
