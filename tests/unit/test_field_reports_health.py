# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of comparable tools report of healthy cards called bad and bad ones that passed: each kind made impossible."""

from __future__ import annotations

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy, products
from health_nodes import DOMAIN, FABRIC, NONE, SECONDS, UNREAD, ask, judge, node, of_first

ALL_DOWN = {"links": {"kind": "nvlink", "total": 12, "up": 0, "down": list(range(12))}}
LEVELS_OF_A_SICK_NODE = ("warn", "fail")


def sick(sections, **variables):
    """Findings above info of the cards."""
    return [f for f in judge(sections, **variables) if f[1] in LEVELS_OF_A_SICK_NODE and f[2].startswith(("nvidia", "amd"))]


# Healthy nodes that were called bad


def test_a_node_with_switches_and_without_a_memory_domain_needs_no_imex():
    """NVS#1471, aicr#2641: an IMEX service that is down on purpose was taken for a link fault for 13 days."""
    for name in ("NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200"):
        assert products.find("nvidia", name).facts["imex"] == "none"
    assert products.find("nvidia", "NVIDIA GB300").facts["imex"] == "domain"
    sections = node(8)
    sections["host"]["services"] = {"nvidia-imex": {"load": "loaded", "active": "failed", "sub": "failed"}, "driver_container": False}
    assert ask("imex-service", sections)[0][1] == "not_applicable" and sick(sections) == []


def test_a_card_without_a_bridge_has_no_links_down():
    """NVS#1481: an A100 PCIe counts 12 links that only a bridge would connect."""
    assert of_first("links-up", node(4, name="NVIDIA A100-PCIE-40GB", every=ALL_DOWN))[0] == "not_applicable"
    assert of_first("product-links", node(4, name="NVIDIA A100-PCIE-40GB", every=ALL_DOWN))[0] == "not_applicable"


def test_links_that_still_train_after_boot_condemn_no_node():
    """NVS#1701, #1715: 214 of 288 nodes were fatal right after their start."""
    training = {"fabric": dict(DOMAIN, state="in_progress", status=NONE, cluster_uuid=NONE, clique_id=NONE)}
    assert of_first("fabric-state", node(2, every=training, uptime=120))[0] == "not_run"
    assert of_first("fabric-state", node(2, every=training, uptime=7200))[0] == "found"


def test_a_recovery_of_the_fabric_that_is_under_way_warns_and_does_not_fail():
    """gpud#1247: a port that flapped while the fabric was settling kept the node drained."""
    assert of_first("fabric-health", node(first={"fabric": dict(DOMAIN, health=dict(FABRIC, route_recovery=True))})) == ("found", "warn")


def test_a_fabric_that_is_not_supported_is_no_fault():
    """gpud#1140, #1147."""
    none = {"fabric": {"state": "not_supported", "status": NONE, "clique_id": NONE, "cluster_uuid": NONE, "health": NONE}}
    for rule in ("fabric-state", "fabric-health", "fabric-clique"):
        assert of_first(rule, node(1, name="NVIDIA H100 PCIe", every=none))[0] == "not_applicable"


def test_what_needs_a_fabric_manager_is_told_by_product():
    """gpud#1106, gpu-op#610: it was demanded on GB200 trays and on A40."""
    needs = {name: products.find("nvidia", name).facts["fabric_manager"] for name in ("NVIDIA GB200", "NVIDIA L40S", "NVIDIA H100 80GB HBM3", "NVIDIA B200")}
    assert list(needs.values()) == ["trays", "none", "node", "node"]


def test_one_remapped_row_is_one_finding():
    """gpud#987: the driver's recovery action and the pending remap are one cause."""
    told = judge(node(first={"row_remap": {"pending": True}, "recovery_action": "reset"}))
    assert [f for f in told if not f[3] and f[2] == "nvidia:0"] == [("row-remap-pending", "fail", "nvidia:0", ())]


def test_nothing_is_remembered_between_two_judgements():
    """kdp#234, #111: a device stayed unhealthy until a process was restarted."""
    assert sick(node(first={"row_remap": {"pending": True}})) and sick(node()) == []


@pytest.mark.parametrize("corrected", [21, 5000, 20000000])
def test_some_corrected_errors_are_normal(corrected):
    """azurehpc#650: the threshold was raised to 20 million after it had drained good nodes."""
    assert sick(node(first={"ecc": {"corrected_volatile": corrected}})) == []


@pytest.mark.parametrize("group", ["ecc", "row_remap", "throttle", "fabric", "links", "power_w", "temperature_c", "clocks_mhz", "retired_pages"])
def test_what_could_not_be_read_is_unknown_and_no_fault(group):
    """ROCm/k8s-device-plugin#195: missing data was unhealthy."""
    assert sick(node(every={group: UNREAD})) == []


def test_an_idle_card_whose_bus_sleeps_is_healthy():
    """hwloc#653, nvtop#6."""
    idle = {"pcie": {"generation_current": 1}, "clocks_mhz": {"core": 120}, "throttle": {"active": ["gpu_idle"]}}
    assert sick(node(every=idle)) == []


def test_a_card_at_its_power_limit_is_at_work_and_not_sick():
    busy = {"throttle": {"active": ["sw_power_cap"], "seconds": dict(SECONDS, sw_power_cap=86000)}, "processes": 1, "utilization_percent": 100}
    assert sick(node(every=busy)) == []


def test_the_second_generation_of_a_name_is_not_the_first():
    """GH200 was read as H200, and one H20 is 96 GB, another 141."""
    assert products.find("nvidia", "NVIDIA GH200 480GB", "2342", 97871).name == "GH200 96 GB"
    assert sick(node(2, name="NVIDIA H20", every={"memory_mib": 97871})) == sick(node(2, name="NVIDIA H20", every={"memory_mib": 143771})) == []


# Bad nodes that passed


def test_all_links_down_does_not_pass():
    """DCGM#198: the diagnosis passed with every NVLink down."""
    assert of_first("links-up", node(8, every={"links": {"up": 0, "down": list(range(18))}}))[0] == "found"
    sections = node(8, every={"links": {"up": 0, "down": list(range(18))}})
    sections["accelerators.nvidia"]["driver"]["nvlink"] = "off: NvLinkDisable=1"
    sections["pci"]["devices"] += [dict(synthetic.pci_entry(n), address="0000:0%d:00.0" % n, role="bridge", driver="nvidia-nvswitch") for n in range(4)]
    told = judge(sections, "links-up", "nvlink-switched-off")
    assert [f[3] for f in told if f[0] == "links-up"] == [("nvlink-switched-off",)] * 8


def test_links_that_the_card_does_not_even_count_are_missed():
    assert of_first("product-links", node(8, first={"links": {"total": 17, "up": 17}}))[0] == "found"


def test_links_that_are_up_in_a_fabric_that_is_dead_do_not_pass():
    """dstack#1167."""
    assert of_first("fabric-state", node(8, first={"fabric": {"state": "completed", "status": "nvml_error_unknown"}}))[0] == "found"
    assert of_first("fabric-health", node(8, first={"fabric": {"health": dict(FABRIC, route_unhealthy=True)}}))[0] == "found"


def test_the_state_of_a_port_and_the_view_of_the_fabric_are_both_kept():
    """infra-controller#4762: they disagreed, and one hid the other."""
    told = judge(node(8, first={"links": {"up": 18}, "fabric": {"health": dict(FABRIC, bandwidth="degraded")}}), "links-up", "fabric-health")
    assert told == [("fabric-health", "fail", "nvidia:0", ())]


def test_a_pending_row_remap_is_seen_and_a_reset_is_enough():
    """gpud#80, eks-node-monitoring-agent#245, azhpc-diagnostics#75."""
    (told,) = sick(node(first={"row_remap": {"pending": True}}))
    assert told[:2] == ("row-remap-pending", "fail")


def test_a_card_that_tells_nothing_is_no_healthy_card():
    """NVS#1748, kdp#2037: lost telemetry looked like health."""
    for rule in ("ecc-uncorrected", "row-remap-failed", "throttle-hardware", "row-remap-banks", "clocks-lowered", "throttle-history"):
        every = dict.fromkeys(("ecc", "row_remap", "throttle", "clocks_mhz", "health", "recovery_action"), UNREAD)
        assert {outcome for _subject, outcome, _level in ask(rule, node(every=every))} == {"unknown"}


def test_a_typing_error_in_a_threshold_is_said():
    """NVS#1529, #1528: it silently switched a counter off."""
    with pytest.raises(policy.PolicyError, match="accelerator_policy_row_remap_banks_witout"):
        policy.parse({"accelerator_policy_row_remap_banks_witout": 3})


@pytest.mark.parametrize("text", ["", "{}", "<nvidia_smi_log></nvidia_smi_log>", '{"gpus": [{"name": "H100"}]}', "<gpu><new_name>H100</new_name></gpu>"])
def test_a_format_that_changed_hides_no_failure(text):
    """soperator#1711: the failures of nvidia-smi became invisible."""
    section = nvidia.collect(samples.machine(samples.xml(text), count=2))
    assert section["detection"]["state"] == "unavailable" and "PCI shows 2" in section["detection"]["reason"]


def test_a_field_that_is_not_supported_ends_no_reading():
    """rocm-systems#11467: the first unsupported field ended the check."""
    xml = samples.gpu(0).replace("<min_power_limit>200.00 W", "<min_power_limit>[Not Supported]").replace("<gpu_temp>31 C", "<gpu_temp>Unknown Error")
    card = nvidia.collect(samples.machine(samples.xml(samples.log(xml)), count=1))["devices"][0]
    assert not is_known(card["power_w"]["limit_min"]) and card["power_w"]["limit_max"] == 700 and is_unknown(card["temperature_c"]["core"])
    assert card["row_remap"]["banks"]["max"] == 2559 and card["clocks_mhz"]["core_max"] == 1980


def test_a_renamed_element_is_found_by_both_names_and_a_deprecated_one_is_no_fault():
    """AzNHC#28, pynvml#51."""
    old = samples.gpu(0).replace("clocks_event_reason", "clocks_throttle_reason")
    gone = samples.gpu(0).replace("<graphics_clock>1980 MHz", "<graphics_clock>Requested functionality has been deprecated")
    first, second = (nvidia.collect(samples.machine(samples.xml(samples.log(x)), count=1))["devices"][0] for x in (old, gone))
    assert first["throttle"]["active"] == ["gpu_idle", "hw_thermal_slowdown"]
    assert "not_applicable" in second["clocks_mhz"]["core_set"] and second["clocks_mhz"]["core"] == 345


@pytest.mark.parametrize("word", ["drain_p2p", "something_new"])
def test_a_word_of_recovery_that_is_new_is_shown_and_never_taken_for_none(word):
    """nvidia_gpu_exporter#448: the recovery action is a text, and unknown words were guessed."""
    assert of_first("recovery-action", node(first={"recovery_action": word}))[0] == "found"


def test_links_beyond_the_eighteenth():
    """TensorRT-LLM#17060: an index from 18 on was invalid."""
    wide = {"links": {"kind": "nvlink", "total": 36, "up": 35, "down": [31]}}
    assert of_first("links-up", node(2, name="NVIDIA GB200", first=wide))[0] == "found"


def test_memory_that_a_dead_process_left():
    """sglang#31068 asks for the other side: clean memory proves nothing; held memory without a process is one."""
    assert of_first("memory-in-use", node(first={"memory_used_mib": 60000}))[0] == "found"


def test_cards_of_one_node_in_two_cliques():
    """Each calls its fabric complete, and they do not reach each other."""
    sections = node(4, name="NVIDIA GB200", every={"fabric": DOMAIN}, first={"fabric": dict(DOMAIN, clique_id=1)})
    assert [f[:3] for f in judge(sections, "fabric-state", "fabric-clique")] == [("fabric-clique", "fail", "nvidia:0")]


def test_a_uniformly_lowered_node_is_found_without_neighbors():
    """Infera W16: nodes compared only within themselves hide a power cap on all cards."""
    every = {"power_w": {"limit": 500, "limit_default": UNREAD}}
    assert {outcome for _subject, outcome, _level in ask("power-limit", node(8, every=every))} == {"found"}
