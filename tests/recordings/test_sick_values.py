# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One sick value in what is read of one card of a healthy node is never accepted without a word; what is noise never says one."""

from __future__ import annotations

import copy
import functools
import re

import demo
import fault_nodes as f
import product_nodes
import pytest
from amd_samples import unit
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

PRODUCTS = {**f.PRODUCTS, "cambricon": "MLU590-M9", "iluvatar": "BI-V150S", "mthreads": "MTT S5000", "intel": "Data Center GPU Max 1550", "tpu": "TPU v6e"}
MANY, NEVER = 1_000_000, "nobody knows this word"
HALF, WARMER = "half of it", "8 degrees more"
# Facts of a device and the values that no healthy one has.
SICK = {
    "memory_mib": [HALF], "memory_used_mib": [20_000], "power_w.limit": [HALF],
    "clocks_mhz.core_max": [HALF], "clocks_mhz.memory_max": [HALF], "clocks_mhz.core_set": [HALF], "clocks_mhz.locked": [True],
    "ecc.mode": ["disabled"], "ecc.uncorrected_volatile": [1, MANY], "ecc.corrected_volatile": [40 * MANY], "ecc.sram_threshold_exceeded": [True],
    "extra.ecc_deferred": [1, MANY], "extra.channel_repair_pending": [True], "extra.tpc_repair_pending": [True],
    "extra.ecc_pending": [False, "Disabled"], "extra.mig_pending": [True, "Enabled"], "extra.compatibility": ["error", "warning"],
    "extra.compute_mode": ["prohibited"], "extra.hccs.health": ["NOK"], "extra.hccs.links": [6], "extra.hccs.lanes": [["0011"] * 7],
    "extra.performance_level": ["low"], "extra.thermal_slowdowns": [1, MANY], "fabric.state": ["in_progress", "not_started"], "fabric.status": ["failure"],
    "fabric.clique_id": [7], "health.state": ["degraded", "failed", "lost", NEVER], "identity.pci.quality": ["duplicate"],
    "identity.uuid.quality": ["duplicate"], "links.errors.crc_errors": [MANY], "links.errors.recovery_errors": [MANY],
    "links.errors.replay_errors": [MANY], "links.errors.retries": [MANY], "links.errors.xgmi_errors": [1], "links.speed_gb_s": [HALF],
    "links.up": [HALF, 0], "links.total": [HALF, 0], "name": ["another part"], "pcie.replay_count": [MANY],
    "recovery_action": ["reset", "reboot", "drain_and_reset", NEVER], "retired_pages.pending": [True], "retired_pages.uncorrected": [257, MANY],
    "retired_pages.corrected": [257, MANY], "row_remap.banks.none": [1], "row_remap.failed": [True], "row_remap.pending": [True],
    "temperature_c.core": [110], "temperature_c.memory": [110], "temperature_c.margin_core": [0, 2],
    "throttle.active": [["hw_slowdown"], ["hw_thermal_slowdown"], ["hw_power_brake_slowdown"]], "throttle.seconds.hw_power_brake_slowdown": [MANY],
    "throttle.seconds.hw_thermal_slowdown": [MANY], "throttle.seconds.sw_thermal_slowdown": [MANY],
}  # fmt: skip
OWN_WORDS = {("throttle.active", "amd"): [["prochot"], ["hbm_thermal"]]}
# Facts that say nothing bad alone, as patterns: what a card is called, what it does now, what its lifetime was, what another fact or rule tells of.
HARMLESS = (
    r"(id|index|kind|parent|device_nodes|network_ports|persistence|processes|utilization_percent|numa_node)$",
    r"identity\.(serial|slot)\.|identity\.(pci|uuid)\.value|health\.detail|links\.(kind|down)|partition\.|firmware\.",
    r"clocks_mhz\.(core|memory|core_default)$|power_w\.(draw|limit_default|limit_max|limit_min)|temperature_c\.(limit|shutdown)_",
    r"pcie\.(generation|width)",  # held against what the bus tells: test_fault_classes
    r"ecc\.(un)?corrected_aggregate|row_remap\.(un)?corrected$|row_remap\.banks\.(high|low|max|partial)|extra\.(s|d)ram_\w+_(aggregate|volatile)",
    r"throttle\.(share_percent\.ppt|seconds\.(sw_power_cap|sync_boost))|fabric\.cluster_uuid",
    r"extra\.(ecc_counters|topology\w*|tile_paths|xe_links|icn_ports|sgpu_\w+|vgpu_\w+|memory_\w+|hbm_\w+|process_names|throttle_reasons)\b",
    r"extra\.(architecture|bad_page_threshold|board_id|board_temperature_c|chip\w*|confidential_memory_mib|cores|cpus|ddr_mib|device_\w+|dpm_level|family)$",
    r"extra\.(ecc_errors|fan|firmware_range|gfx_version|healthy|kfd_node|l3_mib|logic_id|minor\w*|mode|module_id|mpc_capable|nic_driver_version|npu_id)$",
    r"extra\.(pci_device\w*|performance_state|power_cable|product_\w+|rear_id|reserved_mib|resets|rma|software_version|stepping|temperature_\w+_c|tiles)$",
    r"extra\.(tool_uuid|unique_id|vendor|virtualization|xe_link_ports|part_number)$",
)  # fmt: skip
# (fact, manufacturer): why a sick value of it may pass.
LEFT = {
    ("fabric.clique_id", "nvidia"): "a node that is in no rack has no clique",
    ("memory_used_mib", "enflame"): "its tool tells no processes",
    ("memory_used_mib", "hygon"): "its tool tells no processes",
    ("memory_used_mib", "mthreads"): "its tool tells no processes",
    ("memory_used_mib", "tpu"): "a process uses it",
}
NOISE = {
    "clocks_mhz.core": [0, 135], "clocks_mhz.memory": [405], "power_w.draw": [4.5], "utilization_percent": [0], "pcie.generation_current": [1],
    "ecc.corrected_volatile": [1], "ecc.corrected_aggregate": [1, 90], "memory_used_mib": [1, 600], "temperature_c.core": [WARMER],
    "temperature_c.memory": [WARMER], "row_remap.corrected": [2], "pcie.replay_count": [1], "retired_pages.corrected": [0],
    "throttle.seconds.sw_power_cap": [400_000], "extra.performance_state": ["P8"], "extra.dpm_level": ["Active"],
}  # fmt: skip


@functools.cache
def healthy(maker):
    return product_nodes.read(product_nodes.recording(PRODUCTS[maker]))


def facts(tree, path=()):
    if isinstance(tree, dict) and is_known(tree):
        for key, value in tree.items():
            yield from facts(value, (*path, key))
    elif is_known(tree) and not isinstance(tree, dict):
        yield ".".join(path), tree


def told(maker):
    """{fact: value} of the second card, which is an ordinary one."""
    devices = healthy(maker)["accelerators." + maker]["devices"]
    return dict(facts(devices[f.BAD]))


def judged(maker, place, value):
    sections = dict(healthy(maker))
    group = copy.deepcopy(sections["accelerators." + maker])
    sections["accelerators." + maker] = group
    *parents, last = place.split(".")
    at = group["devices"][f.BAD]
    for key in parents:
        at = at[key]
    at[last] = at[last] / 2 if value is HALF else at[last] + 8 if value is WARMER else value
    return demo.Judged("node", sections, {})


def above_info(node):
    return [one for one in node.told() if one[1] != "info"]


@pytest.mark.parametrize("maker", PRODUCTS)
def test_a_sick_value_is_not_accepted_without_a_word(maker):
    own, missed = told(maker), set()
    for place in sorted(set(SICK) & set(own)):
        for value in OWN_WORDS.get((place, maker), SICK[place]):
            if type(value) is type(own[place]) or value is HALF or isinstance(own[place], float):
                node = judged(maker, place, value)
                if node.verdict == "accepted" and not above_info(node):
                    missed.add((place, str(value)))
    assert {one for one in missed if (one[0], maker) not in LEFT} == set()
    assert {place for place, whose in LEFT if whose == maker} == {place for place, _value in missed}  # a reason that is none any more goes


@pytest.mark.parametrize("maker", PRODUCTS)
def test_every_fact_has_a_sick_value_or_is_harmless(maker):
    """A reader that begins to tell a fact says here what would be wrong with it."""
    assert {place for place in told(maker) if place not in SICK and not any(re.match(pattern, place) for pattern in HARMLESS)} == set()


@pytest.mark.parametrize("maker", PRODUCTS)
def test_noise_says_nothing(maker):
    own = told(maker)
    for place in sorted(set(NOISE) & set(own)):
        for value in NOISE[place]:
            node = judged(maker, place, value)
            assert (node.verdict, above_info(node)) == ("accepted", []), (place, value)


@pytest.mark.parametrize("seconds", [120, 4 * 366 * 86400])
@pytest.mark.parametrize("maker", PRODUCTS)
def test_how_long_a_node_runs_is_no_fault(maker, seconds):
    sections = dict(healthy(maker))
    sections["host"] = dict(sections["host"], uptime_seconds=seconds)
    node = demo.Judged("node", sections, {})
    assert (node.verdict, above_info(node)) == ("accepted", [])


PRINTED = {
    "half the speed of a port": ("thead", lambda part: f.tell(part, "icn -s", one_slow_port), "limits-like-siblings"),
    "correction off after the next reset": ("thead", f.lines(("Ecc Mode/Pending", "Disabled")), "mode-pending"),
    "half the power": ("iluvatar", f.xml(current_gpu_power_limit="125 W"), "limits-like-siblings"),
    "hot memory": ("iluvatar", f.xml(memory_temp="95 C"), "temperature-outlier"),
    "hot memory of a card with known limits of the core": ("nvidia", f.xml(memory_temp="95 C"), "temperature-outlier"),
    "half the clock": ("amd", f.table("metric", clock={"gfx_0": {"clk": unit(132, "MHz"), "max_clk": unit(1050, "MHz")}}), "limits-like-siblings"),
    "a deferred error of one block": ("amd", f.table("metric", ecc_blocks={"UMC": {"deferred_count": 3}}), "ecc-deferred"),
}


def one_slow_port(text):
    cards = re.split(r"(?m)(?=^PPU \d)", text)
    cards[f.BAD + 1] = re.sub(r"Link 3: .*", "Link 3: 25 GB/s", cards[f.BAD + 1])
    return "".join(cards)


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_tool_prints_of_a_sick_card(name):
    maker, change, rule = PRINTED[name]
    part = product_nodes.part(PRODUCTS[maker])[0]
    change(part)
    node, _sections = product_nodes.judged(product_nodes.recording(PRODUCTS[maker], part))
    assert [one for one in above_info(node) if one[0] == rule] == [(rule, "warn", "package", "%s:%d" % (maker, f.BAD))]
