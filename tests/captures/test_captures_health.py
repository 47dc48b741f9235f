# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules of device health say of cards that were captured in the field: nothing of healthy ones, exactly the fault of the others."""

from __future__ import annotations

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy, products, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

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


FAULTS = {
    "qx-2xgb200-ecc-uncorrectable-remap-failure-mock.xml": [("device-health", "fail", 0), ("ecc-uncorrected", "fail", 0), ("row-remap-failed", "fail", 0)],
    "qx-2xgb200-gpu1-lost-mock.xml": [
        ("device-health", "fail", 0), ("device-health", "fail", 1), ("device-lost", "fail", 1), ("ecc-uncorrected", "fail", 0), ("row-remap-failed", "fail", 0),
    ],
    "q-a100-remap-pending-correctable-510.txt": [("row-remap-pending", "fail", 0)],
    "q-page-retirement-8gpu-bad-535.txt": [
        *(("retired-pages", "fail", n) for n in (0, 1, 5, 7)), *(("retired-pages-pending", "fail", n) for n in (1, 3, 5, 7)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_of_a_card_of_the_field_is_found_and_no_other(captures, name):
    assert sorted(findings(captures, name)) == [(rule, level, "nvidia:%d" % number) for rule, level, number in FAULTS[name]]


@pytest.mark.parametrize("name", [*HEALTHY, "qx-a100-40g-mig2-510.xml", "qx-rtx4090-535.xml"])
def test_the_catalogue_agrees_with_what_was_captured(captures, name):
    """Values whose source is the tool's own output are those of every captured part."""
    text = (captures / "nvidia-smi" / name).read_text(errors="replace")
    commands = [samples.xml(text)] if name.startswith("qx-") else [samples.xml("Segmentation fault\n", rc=139), samples.run("-q", stdout=text)]
    view = NodeView("n1", synthetic.envelopes({"accelerators.nvidia": nvidia.collect(samples.machine(*commands, count=0))}), policy.parse({}))
    places = {
        "power_w": ("power_w", "limit_default"), "core_mhz": ("clocks_mhz", "core_max"), "hbm_mhz": ("clocks_mhz", "memory_max"),
        "limit_core_c": ("temperature_c", "limit_core"), "shutdown_core_c": ("temperature_c", "shutdown_core"),
        "limit_memory_c": ("temperature_c", "limit_memory"), "pcie_width": ("pcie", "width_max"),
    }  # fmt: skip
    for device in view.packages:
        product = products.of(device)
        told = {fact: device.maybe("number", *place) for fact, place in places.items() if fact in product.facts and "nvidia-smi" in product.sources[fact]}
        banks = device.data["row_remap"].get("banks")
        if "row_banks" in product.facts and isinstance(banks, dict) and "max" in banks:
            told["row_banks"] = sum(banks.values())
        assert told and {fact: value for fact, value in told.items() if value not in (None, product.facts[fact])} == {}
        assert product.facts.get("memory_mib", 0) <= device.number("memory_mib")


@pytest.mark.parametrize(
    ("name", "product", "words"),
    [
        ("amdsmi-default-mi325x-rocm72.txt", "AMD Instinct MI325X", {"power_w": "144/%d W", "memory_mib": "283/%d MB"}),
        ("amdsmi-default-mi355x-x8-rocm711.txt", "AMD Instinct MI355X", {"power_w": "240/%d W", "memory_mib": "283/%d MB"}),
        ("amdsmi-static-mi300a-x4-rocm62.txt", "MI300A", {"power_w": "SOCKET_POWER: %d W", "limit_core_c": "SLOWDOWN_HOTSPOT_TEMPERATURE: %d"}),
        (
            "amdsmi-static-mi300a-x4-rocm62.txt",
            "MI300A",
            {"shutdown_core_c": "SHUTDOWN_HOTSPOT_TEMPERATURE: %d", "limit_memory_c": "SLOWDOWN_VRAM_TEMPERATURE: %d"},
        ),
        ("amdsmi-static-mi350x-rocm72-excerpt.txt", "AMD Instinct MI350X", {"pcie_width": "MAX_PCIE_WIDTH: %d", "pcie_generation": "Gen %d"}),
        ("rocm-smi-concise-mi210x8-rocm60.txt", "Instinct MI210", {"power_w": "auto  %d.0W"}),
        ("rocm-smi-concise-mi300ax4-rocm64.txt", "MI300A", {"power_w": "auto  %d.0W"}),
    ],
)
def test_the_catalogue_agrees_with_amd_tools(captures, name, product, words):
    text = (captures / "amd" / name).read_text(errors="replace")
    facts = products.find("amd", product).facts
    assert [key for key, shape in words.items() if shape % facts[key] not in text] == []
