# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A list of devices that may be incomplete, or comes from another source than the tool, accuses nobody."""

from __future__ import annotations

import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles

PROFILE = profiles.find("preflight")
REASON = "nvidia-smi -q -x: the output ends early"


def judged(sections, **variables):
    return engine.judge("n1", synthetic.envelopes(sections), policy.parse(variables), PROFILE)


def cut_off(count=5, **changes):
    """The first devices of eight, then the tool's output ended."""
    sections = synthetic.healthy()
    bus = sections["pci"]["devices"]
    devices = sections["accelerators.nvidia"]["devices"][:count]
    for device in devices:
        device.update(changes)
    block = accelerators.detection("nvidia", devices, read_failed=REASON, pci=bus)
    sections["accelerators.nvidia"] = synthetic.section(devices, detection=block)
    return sections


def test_a_list_that_ends_early_is_no_shortage():
    told = judged(cut_off(), accelerator_expected_count=8)
    assert told.findings == []
    for rule in ("detection-agrees", "accelerator-count", "accelerators-detected"):
        assert told.counts[rule] == [0, 0, 1, 0, 0], rule
    assert {told.prints[rule][0] for rule in ("cohort-count", "cohort-firmware")} == {"unknown"}


def test_a_list_that_ends_early_is_no_disagreement_with_the_tools_own_count():
    sections = cut_off()
    sections["accelerators.nvidia"]["detection"]["host"] = {"command": "nvidia-smi -q -x", "accelerators": 8, "detail": "", "reason": ""}
    assert judged(sections).counts["detection-agrees"] == [0, 0, 1, 0, 0]


def test_a_memory_that_was_not_read_is_no_other_model():
    sections = synthetic.healthy()
    devices = sections["accelerators.nvidia"]["devices"]
    devices[2]["memory_mib"] = {"unknown": "the output ends early"}
    assert judged(sections).counts["mixed-models"] == [0, 0, 1, 0, 0]
    devices[3]["memory_mib"] = 40960
    assert judged(sections).counts["mixed-models"] == [0, 1, 0, 0, 0]
    devices[3].update(memory_mib=81559, name="NVIDIA A100-SXM4-80GB")
    assert judged(sections).counts["mixed-models"] == [0, 1, 0, 0, 0]


def test_one_accelerator_of_unknown_memory_is_of_one_model():
    sections = synthetic.healthy(1)
    sections["accelerators.nvidia"]["devices"][0]["memory_mib"] = {"unknown": "the output ends early"}
    assert judged(sections).counts["mixed-models"] == [1, 0, 0, 0, 0]


def test_a_name_from_another_source_is_not_the_wrong_model():
    sections = cut_off(8, name="H100 as sysfs says it")
    told = judged(sections, accelerator_expected_model=synthetic.NAME)
    assert told.findings == [] and told.counts["accelerator-model"][1] == 0
    for entry in sections["pci"]["devices"]:
        entry["model"] = "H100 SXM5 80GB"
    assert judged(sections).prints["cohort-model"] == ("value", "H100 SXM5 80GB")
    for entry in sections["pci"]["devices"]:
        entry["model"] = {"unknown": "device id 2330 is not in the table"}
    assert judged(sections).prints["cohort-model"] == ("unknown", "nvidia: %s; PCI shows 8" % REASON)


def test_a_model_is_told_by_pci_whatever_the_tool_calls_it():
    sections = synthetic.healthy()
    for entry in sections["pci"]["devices"]:
        entry["model"] = "H100 SXM5 80GB"
    assert judged(sections).prints["cohort-model"] == ("value", "H100 SXM5 80GB")
    del sections["accelerators.nvidia"]
    sections["pci"]["devices"][0]["model"] = {"unknown": "device id 2330 is not in the table"}
    assert judged(sections).prints["cohort-model"] == ("unknown", "nvidia: not read")
