# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA tools that we do not run found on a node: from what we read of such a node our rules conclude the same."""

from __future__ import annotations

import csv
import re

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import kernel_log
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles


@pytest.fixture
def text(captures):
    return lambda name: (captures / "nvidia-smi" / name).read_text(encoding="utf-8", errors="replace")


def node(manager="active", version=None, driver=None):
    """A node whose switches need the fabric manager, in this state and version."""
    sections = synthetic.healthy(2)
    sections["pci"]["devices"].append(dict(synthetic.pci_entry(9), role="bridge", address="0000:08:00.0", model="NVSwitch"))
    sections["host"]["services"] = synthetic.services(fabricmanager=manager)
    if version:
        sections["services"]["versions"]["fabric_manager"] = version
        sections["host"]["modules"]["nvidia"]["version"] = driver
        sections["accelerators.nvidia"]["driver"].update(dict.fromkeys(("version", "module_version", "library_version", "tool_version"), driver))
    return sections


def judged(sections):
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), profiles.find("preflight")).findings
    return {one["rule"]: (one["level"], one["caused_by"]) for one in told if one["level"] != "info"}


def test_a_fabric_manager_of_another_version(text):
    told = text("fabricmanager-journal-version-mismatch-595-590.txt")
    own, driver = re.search(r"interface version ([\d.]+) don't match with driver version ([\d.]+)\. ", told).groups()
    assert "Failed with result 'exit-code'" in told
    found = judged(node("failed", own, driver))
    assert found["service-versions"] == ("fail", []) and found["fabric-manager"] == ("fail", ["service-versions"])


def test_a_fabric_manager_that_runs(text):
    assert "systemd[1]: Started NVIDIA fabric manager service." in text("fabricmanager-journal-ok-eks-h100.txt")
    assert "fabric-manager" not in judged(node())


def test_an_error_of_a_switch_that_the_fabric_manager_lived_through(text):
    """The kernel tells it as well. NVIDIA's manual says of it that nothing is to be done: it is told, and the running manager is none the worse."""
    told = text("fabricmanager-status-active-nonfatal-22013-590.txt")
    code, place, port = re.search(r"non-fatal error (\d+) on .* bus id 0000(\S+) physical id \d+ port (\d+)", told).groups()
    assert "Active: active (running)" in told
    line = "[100.5] nvidia-nvswitch3: SXid (PCI:%s): %s, Non-fatal, Link %s First error" % (place, code, port)
    events, count, _dropped, _first = kernel_log.fold(line, 1772000000)
    sections = node()
    sections["kernel"] = dict(sections["kernel"], events=events, lines=count)
    assert judged(sections) == {}
    told = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), profiles.find("preflight")).findings
    assert [one["level"] for one in told if "22013" in one["summary"]] == ["info"]


def test_a_card_that_asks_for_a_reset(text):
    """Two cells hold the words, and the used memory reads as nothing: it is no idle card."""
    heads, cells = list(csv.reader(text("query-requires-reset-mixed.csv").splitlines(), skipinitialspace=True))[:2]
    row = dict(zip(heads, cells, strict=True))
    words = row["temperature.gpu"].strip("[]")
    xml = samples.log(samples.gpu(0, used=row["memory.used [MiB]"])).replace("31 C<", words + "<")
    assert words == "GPU requires reset" and words in xml
    section = nvidia.collect(samples.machine(samples.xml(xml), count=1))
    (card,) = section["devices"]
    assert card["health"] == {"state": "failed", "detail": "GPU requires reset"} and is_unknown(card["temperature_c"]["core"])
