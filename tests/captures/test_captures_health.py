# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules of device health say of cards that were captured in the field: nothing of healthy ones, exactly the fault of the others."""

from __future__ import annotations

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, profiles

PROFILE = profiles.find("preflight")
ABOUT = (
    "clocks-", "compute-mode", "confidential-", "device-health", "device-lost", "ecc-", "fabric-health", "fabric-clique", "firmware-", "link-", "memory-in-use",
    "memory-repair", "mode-pending", "partition-declared", "power-limit", "product-", "recovery-action", "retired-", "row-remap-", "temperature-", "throttle-",
)  # fmt: skip
HEALTHY = ("qx-8xh100-580.xml", "qx-8xb200-580.xml", "qx-4xgb300-580.xml", "qx-a10g-515.xml", "qx-t4-515.xml", "q-h200-590.txt", "q-l40s-595.txt")


def findings(captures, name):
    """(rule, level, device) of what is found above info."""
    text = (captures / "nvidia-smi" / name).read_text(errors="replace")
    commands = [samples.xml(text)] if name.startswith("qx-") else [samples.xml("Segmentation fault\n", rc=139), samples.run("-q", stdout=text)]
    section = nvidia.collect(samples.machine(*commands, count=0))
    sections = {"accelerators.nvidia": section, "host": synthetic.host(), "pci": synthetic.pci([]), "kernel": synthetic.kernel()}
    judged = engine.judge("n1", synthetic.envelopes(sections), policy.parse({}), PROFILE)
    return [(f["rule"], f["level"], f["subject"]["id"]) for f in judged.findings if f["rule"].startswith(ABOUT) and f["level"] != "info"]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_card_of_the_field_has_no_finding(captures, name):
    assert findings(captures, name) == []
