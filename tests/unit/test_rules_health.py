# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of device health: each with what passes, what is found, what stays unknown and where the question does not arise."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView
from health_nodes import BANKS, DOMAIN, FABRIC, NONE, SECONDS, UNREAD, ask, merged, node, of_first

FOUND, PASSED, UNKNOWN, NOTHING = ("found", None), ("passed", None), ("unknown", None), ("not_applicable", None)
CASES = [
    ("row-remap-banks", {}, PASSED),
    ("row-remap-banks", {"row_remap": {"banks": dict(BANKS, none=2)}}, FOUND),
    ("row-remap-banks", {"row_remap": {"banks": dict(BANKS, low=9)}}, PASSED),
    ("row-remap-banks", {"row_remap": {"banks": UNREAD}}, UNKNOWN),
    ("row-remap-banks", {"row_remap": NONE}, NOTHING),
    ("row-remap-count", {"row_remap": {"uncorrected": 0}}, PASSED),
    ("row-remap-count", {"row_remap": {"uncorrected": 512}}, PASSED),
    ("row-remap-count", {"row_remap": {"uncorrected": 513}}, FOUND),
    ("row-remap-count", {"row_remap": {"uncorrected": UNREAD}}, UNKNOWN),
    ("row-remap-count", {"row_remap": NONE}, NOTHING),
    ("memory-repair", {"extra": {"channel_repair_pending": False, "unrepairable_memory": False}}, PASSED),
    ("memory-repair", {"extra": {"channel_repair_pending": True}}, ("found", "warn")),
    ("memory-repair", {"extra": {"unrepairable_memory": True, "channel_repair_pending": True}}, ("found", "fail")),
    ("memory-repair", {"extra": {"unrepairable_memory": UNREAD, "channel_repair_pending": UNREAD, "tpc_repair_pending": UNREAD}}, UNKNOWN),
    ("memory-repair", {}, NOTHING),
    ("ecc-corrected", {"ecc": {"corrected_volatile": 20000000}}, PASSED),
    ("ecc-corrected", {"ecc": {"corrected_volatile": 20000001}}, FOUND),
    ("ecc-corrected", {"ecc": {"corrected_volatile": 20000}, "extra": {"sram_corrected_volatile": 10001}}, FOUND),
    ("ecc-corrected", {"ecc": {"corrected_volatile": 20000}, "extra": {"sram_corrected_volatile": 3}}, PASSED),
    ("ecc-corrected", {"ecc": {"corrected_volatile": UNREAD}}, UNKNOWN),
    ("ecc-corrected", {"ecc": NONE}, NOTHING),
    ("ecc-deferred", {"extra": {"ecc_deferred": 0}}, PASSED),
    ("ecc-deferred", {"extra": {"ecc_deferred": 1, "ecc_blocks": {"UMC": {"deferred": 1}}}}, FOUND),
    ("ecc-deferred", {"extra": {"ecc_deferred": UNREAD}}, UNKNOWN),
    ("ecc-deferred", {}, NOTHING),
    ("ecc-sram-threshold", {"ecc": {"sram_threshold_exceeded": UNREAD}, "extra": {"sram_parity_aggregate": 3, "sram_secded_aggregate": 2}}, FOUND),
    ("ecc-sram-threshold", {"ecc": {"sram_threshold_exceeded": UNREAD}, "extra": {"sram_uncorrected_aggregate": 4}}, PASSED),
    ("ecc-sram-threshold", {"ecc": {"sram_threshold_exceeded": False}, "extra": {"sram_uncorrected_aggregate": 400}}, PASSED),
    ("ecc-sram-threshold", {"ecc": {"sram_threshold_exceeded": UNREAD}}, UNKNOWN),
    ("product-memory", {"memory_mib": 81559}, PASSED),
    ("product-memory", {"memory_mib": 65247}, FOUND),
    ("product-memory", {"memory_mib": 40779, "extra": {"virtualization": "vgpu"}}, NOTHING),
    ("product-memory", {"memory_mib": UNREAD}, UNKNOWN),
    ("product-memory", {"name": "NVIDIA H999 Ultra"}, UNKNOWN),
    ("clocks-lowered", {}, PASSED),
    ("clocks-lowered", {"clocks_mhz": {"core_set": 1305}}, FOUND),
    ("clocks-lowered", {"clocks_mhz": {"core_set": UNREAD}}, UNKNOWN),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE, "core_default": NONE}}, NOTHING),
    ("clocks-lowered", {"clocks_mhz": None}, NOTHING),
    ("clocks-lowered", {"clocks_mhz": None, "extra": {"performance_level": "manual"}}, FOUND),
    ("clocks-lowered", {"clocks_mhz": UNREAD, "extra": {"performance_level": "auto"}}, PASSED),
    ("clocks-lowered", {"clocks_mhz": UNREAD}, UNKNOWN),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE, "locked": True}}, FOUND),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE, "locked": False}}, PASSED),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE}, "extra": {"performance_level": "AMDSMI_DEV_PERF_LEVEL_DETERMINISM"}}, FOUND),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE}, "extra": {"performance_level": "AMDSMI_DEV_PERF_LEVEL_AUTO"}}, PASSED),
    ("clocks-lowered", {"clocks_mhz": {"core_set": NONE, "locked": False}, "extra": {"performance_level": "AMDSMI_DEV_PERF_LEVEL_UNKNOWN"}}, PASSED),
    ("limits-like-siblings", {}, PASSED),
    ("limits-like-siblings", {"power_w": {"limit": 350, "limit_default": 350}}, FOUND),
    ("limits-like-siblings", {"power_w": {"limit": 680}}, PASSED),  # a step
    ("limits-like-siblings", {"clocks_mhz": {"core_max": 990}}, FOUND),
    ("limits-like-siblings", {"clocks_mhz": {"memory_max": 1310}}, FOUND),
    ("limits-like-siblings", {"clocks_mhz": {"core_max": 990}, "partition": {"enabled": True}}, NOTHING),  # two are left
    ("limits-like-siblings", {"power_w": {"limit": UNREAD}}, UNKNOWN),
    ("limits-like-siblings", {"name": "NVIDIA H100 PCIe", "power_w": {"limit": 350}}, NOTHING),  # another part
    ("clocks-product", {}, PASSED),
    ("clocks-product", {"clocks_mhz": {"core_max": 1755}}, FOUND),
    ("clocks-product", {"clocks_mhz": {"core_max": UNREAD}}, UNKNOWN),
    ("clocks-product", {"clocks_mhz": None}, NOTHING),
    ("throttle-history", {}, PASSED),
    ("throttle-history", {"throttle": {"seconds": dict(SECONDS, hw_power_brake_slowdown=61)}}, ("found", "warn")),
    ("throttle-history", {"throttle": {"seconds": dict(SECONDS, sw_thermal_slowdown=1000)}}, FOUND),
    ("throttle-history", {"throttle": {"seconds": dict(SECONDS, hw_thermal_slowdown=20000)}}, ("found", "warn")),
    ("throttle-history", {"throttle": {"seconds": UNREAD}}, UNKNOWN),
    ("throttle-history", {"throttle": NONE}, NOTHING),
    ("product-power", {}, PASSED),
    ("product-power", {"power_w": {"limit_default": 500}}, FOUND),
    ("product-power", {"power_w": {"limit_default": UNREAD, "limit_max": 500}}, FOUND),
    ("product-power", {"power_w": {"limit_default": UNREAD, "limit_max": UNREAD}}, UNKNOWN),
    ("product-power", {"power_w": {"limit_default": UNREAD}}, NOTHING),
    ("compute-mode", {"extra": {"compute_mode": "default"}}, PASSED),
    ("compute-mode", {"extra": {"compute_mode": "exclusive_process"}}, ("found", "info")),
    ("compute-mode", {"extra": {"compute_mode": "prohibited"}}, FOUND),
    ("compute-mode", {"extra": {"compute_mode": UNREAD}}, UNKNOWN),
    ("compute-mode", {}, NOTHING),
    ("mode-pending", {"extra": {"ecc_pending": True, "mig_pending": False}}, PASSED),
    ("mode-pending", {"extra": {"ecc_pending": False}}, FOUND),
    ("mode-pending", {"extra": {"mig_pending": True, "ecc_pending": True}}, FOUND),
    ("mode-pending", {"extra": {"mig_changes": True}, "partition": {"enabled": UNREAD}}, FOUND),
    ("mode-pending", {"extra": {"mig_pending": UNREAD}}, UNKNOWN),
    ("mode-pending", {}, NOTHING),
    ("partition-declared", {}, NOTHING),
    ("confidential-declared", {}, NOTHING),
    ("busy-without-process", {"utilization_percent": 19}, PASSED),
    ("busy-without-process", {"utilization_percent": 100}, FOUND),
    ("busy-without-process", {"utilization_percent": 100, "processes": 1}, PASSED),
    ("busy-without-process", {"utilization_percent": 100, "persistence": False}, NOTHING),
    ("busy-without-process", {"utilization_percent": 100, "partition": {"enabled": True}}, NOTHING),
    ("busy-without-process", {"utilization_percent": 100, "extra": {"virtualization": "host_vgpu"}}, NOTHING),
    ("busy-without-process", {"utilization_percent": 100, "processes": UNREAD}, UNKNOWN),
    ("busy-without-process", {"utilization_percent": UNREAD}, UNKNOWN),
    ("busy-without-process", {"utilization_percent": NONE}, NOTHING),
    ("memory-in-use", {"memory_used_mib": 2048}, PASSED),
    ("memory-in-use", {"memory_used_mib": 60000, "processes": 3}, PASSED),
    ("memory-in-use", {"memory_used_mib": 2049}, FOUND),
    ("memory-in-use", {"memory_used_mib": UNREAD}, UNKNOWN),
    ("memory-in-use", {"memory_used_mib": 9000, "processes": UNREAD}, UNKNOWN),
    ("memory-in-use", {"memory_used_mib": 9000, "name": "NVIDIA GH200 480GB"}, NOTHING),
    ("memory-in-use", {"memory_used_mib": 9000, "partition": {"enabled": True}}, NOTHING),
    ("memory-in-use", {"memory_used_mib": 9000, "extra": {"virtualization": "host_vgpu"}}, NOTHING),
    ("firmware-driver", {"firmware": {"gsp": "580.95.05"}}, PASSED),
    ("firmware-driver", {"firmware": {"gsp": "565.57.01"}}, FOUND),
    ("firmware-driver", {"firmware": {"gsp": UNREAD}}, UNKNOWN),
    ("firmware-driver", {}, NOTHING),
    ("firmware-mixed", {"firmware": {"vbios": "96.00.74.00.01"}}, PASSED),
    ("firmware-mixed", {"firmware": {"vbios": "96.00.61.00.01"}}, FOUND),
    ("link-errors", {"links": {"errors": {"replay_errors": 3, "recovery_errors": 0, "crc_errors": 10}}}, PASSED),
    ("link-errors", {"links": {"errors": {"replay_errors": 0, "recovery_errors": 0, "crc_errors": 12}}}, FOUND),
    ("link-errors", {"links": {"errors": {"recovery_errors": 1}}}, FOUND),
    ("link-errors", {"links": {"errors": {"symbol_errors": 999999, "effective_errors": 44, "rx_errors": 0}}}, PASSED),
    ("link-errors", {"links": {"errors": UNREAD}}, UNKNOWN),
    ("link-errors", {}, NOTHING),
    ("link-errors", {"links": {"up": 0, "errors": {"crc_errors": 99}}}, NOTHING),
    ("product-links", {}, PASSED),
    ("product-links", {"links": {"total": 16, "up": 16}}, FOUND),
    ("product-links", {"links": {"total": UNREAD}}, UNKNOWN),
    ("product-links", {"links": NONE}, NOTHING),
    ("product-links", {"name": "NVIDIA H100 PCIe", "links": {"total": 12, "up": 0}}, NOTHING),
    ("link-speed", {"links": {"speed_gb_s": 26.562}}, PASSED),
    ("link-speed", {"links": {"speed_gb_s": 19.922}}, FOUND),
    ("link-speed", {"links": {"speed_gb_s": UNREAD}}, UNKNOWN),
    ("link-speed", {}, NOTHING),
    ("fabric-health", {"fabric": {"health": FABRIC}}, PASSED),
    ("fabric-health", {"fabric": {"health": dict(FABRIC, bandwidth="degraded", summary="unhealthy")}}, FOUND),
    ("fabric-health", {"fabric": {"health": dict(FABRIC, route_unhealthy=True)}}, FOUND),
    ("fabric-health", {"fabric": {"health": dict(FABRIC, incorrect_configuration="insufficient_nvlinks")}}, FOUND),
    ("fabric-health", {"fabric": {"health": dict(FABRIC, summary="limited_capacity")}}, FOUND),
    ("fabric-health", {"fabric": {"health": dict(FABRIC, route_recovery=True)}}, ("found", "warn")),
    ("fabric-health", {"fabric": {"health": UNREAD}}, UNKNOWN),
    ("fabric-health", {"fabric": {"health": NONE}}, NOTHING),
    ("fabric-health", {}, NOTHING),
    ("fabric-clique", {"fabric": NONE}, PASSED),
    ("fabric-clique", {"fabric": dict(DOMAIN, cluster_uuid="00000000-0000-0000-0000-000000000000")}, PASSED),
    ("fabric-clique", {"fabric": dict(DOMAIN, clique_id=8)}, FOUND),
    ("fabric-clique", {"fabric": dict(DOMAIN, cluster_uuid="00112233-0000-4000-8000-000000000001")}, FOUND),
    ("fabric-clique", {"fabric": {"clique_id": UNREAD}}, UNKNOWN),
    ("ecc-enabled", {"ecc": {"mode": "disabled"}, "name": "NVIDIA GeForce RTX 4090"}, ("found", "info")),
    ("ecc-enabled", {"ecc": {"mode": "disabled"}, "name": "Intel(R) Arc(TM) B580 Graphics"}, ("found", "info")),
    ("ecc-enabled", {"ecc": {"mode": "disabled"}, "name": "Intel(R) Arc(TM) Pro B60 Graphics"}, FOUND),
    ("temperature-margin", {"temperature_c": {"margin_core": NONE, "limit_core": UNREAD}}, UNKNOWN),
    ("temperature-margin", {"name": "Tesla T4", "temperature_c": {"core": 92, "margin_core": NONE, "limit_core": UNREAD}}, FOUND),
    ("power-limit", {"power_w": {"limit": 400, "limit_default": UNREAD}}, FOUND),
    ("power-limit", {"power_w": {"limit": 700, "limit_default": UNREAD}}, PASSED),
    ("power-limit", {"name": "NVIDIA H999", "power_w": {"limit": 700, "limit_default": UNREAD}}, UNKNOWN),
]


@pytest.mark.parametrize(("rule", "change", "expected"), CASES, ids=["%s-%d" % (case[0], n) for n, case in enumerate(CASES)])
def test_one_change(rule, change, expected):
    every = {"fabric": DOMAIN} if rule == "fabric-clique" else None
    assert of_first(rule, node(3, first=change, every=every)) == expected


def test_every_rule_of_these_files_has_its_four_kinds_of_cases():
    """A rule whose answer depends on the policy has its other cases in tests of their own."""
    files = ("health_clocks", "health_links", "health_memory", "health_modes")
    mine = {name for name, rule in RULES.items() if rule.check.__module__.rpartition(".")[2] in files}
    told = {}
    for rule, _change, (outcome, _level) in CASES:
        told.setdefault(rule, set()).add(outcome)
    lacking = {name: {"passed", "found", "unknown", "not_applicable"} - told.get(name, set()) for name in mine}
    lacking = {name: kinds for name, kinds in lacking.items() if kinds}
    assert set(lacking) == {
        "cohort-fabric",
        "imex-service",
        "confidential-declared",
        "fabric-clique",
        "firmware-mixed",
        "nvlink-switched-off",
        "partition-declared",
    }, lacking


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"partition": {"enabled": True}}, "passed"),
        ({"partition": {"enabled": False}}, "found"),
        ({"partition": {"enabled": UNREAD}}, "unknown"),
        ({"partition": NONE}, "found"),
    ],
)
def test_partitioning_that_was_declared(change, expected):
    assert of_first("partition-declared", node(first=change), accelerator_policy_partition_declared_on=True)[0] == expected


def test_partition_modes_of_amd_that_were_declared():
    sections = node(2, "amd", "AMD Instinct MI300X", first={"partition": {"profile": "CPX", "memory_profile": "NPS4"}})
    modes = {"accelerator_policy_partition_declared_profile": "cpx", "accelerator_policy_partition_declared_memory_profile": "NPS1"}
    assert of_first("partition-declared", sections, **modes)[0] == "found"
    assert of_first("partition-declared", sections, **dict(modes, accelerator_policy_partition_declared_memory_profile="NPS4"))[0] == "passed"
    # what cannot be partitioned is as whole as was declared
    whole = node(2, "amd", "AMD Instinct MI210", every={"partition": NONE})
    assert of_first("partition-declared", whole, accelerator_policy_partition_declared_on=False)[0] == "passed"


@pytest.mark.parametrize(("told", "expected"), [(8192, "passed"), (0, "found"), (UNREAD, "unknown"), (None, "not_applicable")])
def test_confidential_computing_that_was_declared(told, expected):
    change = {"extra": {} if told is None else {"confidential_memory_mib": told}}
    assert of_first("confidential-declared", node(every=change), accelerator_policy_confidential_declared_on=True)[0] == expected


def test_firmware_of_unlike_cards_is_not_compared():
    sections = node(2)
    merged(sections["accelerators.nvidia"]["devices"][1], {"name": "NVIDIA H200", "firmware": {"vbios": "96.00.99.00.01"}})
    assert of_first("firmware-mixed", sections)[0] == "not_applicable"


@pytest.mark.parametrize(
    ("told", "name", "expected"),
    [
        ("on", synthetic.NAME, "passed"),
        ("off: NvLinkDisable=1", synthetic.NAME, "found"),
        ("off: NvLinkDisable=1", "NVIDIA L40S", "not_applicable"),
        (UNREAD, synthetic.NAME, "unknown"),
        (None, synthetic.NAME, "not_applicable"),
    ],
)
def test_links_that_a_module_parameter_switches_off(told, name, expected):
    sections = node(2, name=name)
    if told is not None:
        sections["accelerators.nvidia"]["driver"]["nvlink"] = told
    assert ask("nvlink-switched-off", sections)[0][1] == expected


def test_the_clique_counts_with_its_fabric_and_a_node_without_one_has_none():
    assert ask("fabric-clique", node(2, every={"fabric": DOMAIN}))[0][1] == "passed"
    assert ask("fabric-clique", node(2, every={"fabric": NONE}))[0][1] == "not_applicable"
    # equal cliques of two fabrics are not one clique
    other = dict(DOMAIN, cluster_uuid="00112233-0000-4000-8000-000000000001")
    assert [o for _i, o, _l in ask("fabric-clique", node(3, first={"fabric": other}, every={"fabric": DOMAIN}))].count("found") == 1


def imex(name, active, running=(), sub="dead", **fabric):
    sections = node(2, name=name, every={"fabric": dict(DOMAIN, **fabric)})
    sections["services"]["processes"]["daemons"] = running if isinstance(running, dict) else list(running)
    sections["host"]["services"] = {"nvidia-imex": {"load": "loaded", "active": active, "sub": sub}, "driver_container": False}
    ((_subject, outcome, level),) = ask("imex-service", sections)
    return outcome, level


def test_the_memory_exchange_service_is_asked_for_where_a_domain_spans_nodes():
    assert imex("NVIDIA GB300", "active") == ("passed", None)
    assert imex("NVIDIA GB300", "activating") == ("passed", None)
    assert imex("NVIDIA GB300", "activating", sub="auto-restart")[0] == "found"
    assert imex("NVIDIA GB300", "inactive") == ("found", None)
    assert imex("NVIDIA GB300", "failed") == ("found", "warn")
    assert imex("NVIDIA GB300", "failed", cluster_uuid=NONE) == ("not_applicable", None)
    # racks of one domain only: which one is not told, and it is in one
    assert imex("NVIDIA GB300", "failed", cluster_uuid=UNREAD) == ("found", "warn")
    assert imex("NVIDIA GB200", "inactive", cluster_uuid=UNREAD) == ("found", None)
    assert imex("NVIDIA GH200 480GB", "failed", cluster_uuid=UNREAD) == ("unknown", None)
    assert imex("NVIDIA H100 80GB HBM3", "failed") == ("not_applicable", None)
    assert imex("NVIDIA GB300", UNREAD)[0] == "unknown"
    # a pod of a compute domain runs it, and no unit of the node knows of it
    for active in ("inactive", "failed", UNREAD):
        assert imex("NVIDIA GB300", active, running=["nvidia-imex", "nvidia-persiste"]) == ("passed", None)
    assert imex("NVIDIA GB300", "failed", running=UNREAD) == ("unknown", None)
    assert imex("NVIDIA GB300", "active", running=UNREAD) == ("passed", None)


def test_the_fabric_is_compared_among_nodes_with_its_clique():
    def value(**change):
        sections = node(2, every={"fabric": dict(DOMAIN, **change)})
        return RULES["cohort-fabric"].check(NodeView("n1", synthetic.envelopes(sections), policy.parse({})), None)

    assert value() == value() == DOMAIN["cluster_uuid"] + " clique 7"
    assert value(clique_id=8) != value() != value(cluster_uuid="00112233-0000-4000-8000-000000000001")


@pytest.mark.parametrize(
    ("active", "outcome"),
    [(["socket_thermal"], "found"), (["hbm_thermal", "ppt"], "found"), (["prochot"], "found"), (["ppt"], "passed"), ([], "passed"), (UNREAD, "unknown")],
)
def test_heat_of_amd_parts_and_not_their_power_limit(active, outcome):
    sections = node(2, "amd", "AMD Instinct MI300X", first={"throttle": {"active": active}})
    assert of_first("throttle-hardware", sections)[0] == outcome


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"ppt": 15.4, "socket_thermal": 0.47, "prochot": 0}, ("passed", None)),
        ({"ppt": 90.0}, ("passed", None)),
        ({"socket_thermal": 3.5}, ("found", None)),
        ({"hbm_thermal": 40.0}, ("found", "warn")),
        (UNREAD, ("unknown", None)),
    ],
)
def test_the_share_of_the_time_in_which_heat_held_an_amd_part(shares, expected):
    sections = node(2, "amd", "AMD Instinct MI300X", first={"throttle": {"active": [], "share_percent": shares}})
    assert of_first("throttle-history", sections) == expected


@pytest.mark.parametrize(
    ("ignored", "expected"), [([], "found"), (["nv-hostengine"], "found"), (["nv-*", "python3"], "passed"), (["*"], "passed"), (["NV-*", "python3"], "found")]
)
def test_programs_of_the_site_are_no_foreign_processes(ignored, expected):
    change = {"processes": 2, "extra": {"process_names": ["nv-hostengine", "python3"]}}
    assert of_first("foreign-processes", node(first=change), accelerator_policy_foreign_processes_ignored=ignored)[0] == expected
    # whose name is not known is foreign
    unnamed = {"processes": 3, "extra": {"process_names": ["nv-hostengine", "python3"]}}
    assert of_first("foreign-processes", node(first=unnamed), accelerator_policy_foreign_processes_ignored=ignored)[0] == "found"


def test_heat_of_a_node_that_never_worked_for_long():
    """Ten minutes of heat are much of an hour and little of a month."""
    hot = {"throttle": {"seconds": dict(SECONDS, sw_thermal_slowdown=600)}}
    assert of_first("throttle-history", node(first=hot, uptime=3600))[0] == "found"
    assert of_first("throttle-history", node(first=hot, uptime=2592000))[0] == "passed"


@pytest.mark.parametrize(("pages", "expected"), [(256, "passed"), (257, "found"), (UNREAD, "unknown")])
def test_bad_pages_of_amd_parts_against_the_threshold_of_their_driver(pages, expected):
    change = {"retired_pages": {"uncorrected": pages, "corrected": NONE, "pending": False}, "extra": {"bad_page_threshold": 256}}
    assert of_first("retired-pages", node(2, "amd", "AMD Instinct MI300X", first=change))[0] == expected


@pytest.mark.parametrize(("pages", "expected"), [((0, 10), PASSED), ((0, 11), ("found", "warn")), ((1, 10), ("found", "warn")), ((UNREAD, UNREAD), UNKNOWN)])
@pytest.mark.parametrize("maker", ["ascend", "cambricon", "hygon", "mthreads"])
def test_retired_pages_of_makers_that_publish_no_limit(maker, pages, expected):
    change = {"retired_pages": {"corrected": pages[0], "uncorrected": pages[1], "pending": False}}
    assert of_first("retired-pages", node(2, maker, "a card", first=change)) == expected
    assert of_first("retired-pages", node(2, maker, "a card", first={"retired_pages": NONE})) == NOTHING


@pytest.mark.parametrize(
    ("held", "processes", "expected"), [(2500, 0, PASSED), (2549, 0, FOUND), (9000, 1, PASSED), (9000, UNREAD, UNKNOWN), (UNREAD, 0, UNKNOWN)]
)
@pytest.mark.parametrize("maker", ["hygon", "metax", "gaudi"])
def test_what_an_idle_part_holds_is_told_by_its_neighbors(maker, held, processes, expected):
    every, change = {"memory_used_mib": 500, "processes": 0}, {"memory_used_mib": held, "processes": processes}
    assert of_first("memory-in-use", node(3, maker, "a card", first=change, every=every)) == expected
    assert of_first("memory-in-use", node(2, maker, "a card", first={"memory_used_mib": 9000}, every=every)) == NOTHING


@pytest.mark.parametrize(("pending", "expected"), [("Enabled", PASSED), ("Disabled", FOUND), (False, FOUND), ("disable", FOUND), (UNREAD, UNKNOWN)])
def test_a_pending_mode_is_a_flag_or_a_word(pending, expected):
    change = {"ecc": {"mode": "enabled"}, "extra": {"ecc_pending": pending}}
    assert of_first("mode-pending", node(2, "thead", "PPU-ZW810E", first=change)) == expected


def test_a_performance_level_that_the_site_wants():
    change = {"clocks_mhz": {"core_set": NONE}, "extra": {"performance_level": "AMDSMI_DEV_PERF_LEVEL_DETERMINISM"}}
    levels = ["auto", "determinism"]
    assert of_first("clocks-lowered", node(2, "amd", "AMD Instinct MI300X", first=change), accelerator_policy_clocks_lowered_levels=levels)[0] == "passed"


def test_a_part_of_a_partitioned_amd_card_is_not_its_memory():
    change = {"memory_mib": 24574, "partition": {"enabled": True, "profile": "CPX"}}
    assert of_first("product-memory", node(2, "amd", "AMD Instinct MI300X", every=change))[0] == "not_applicable"


def test_links_of_an_amd_node_with_fewer_cards_than_the_baseboard_has_places():
    links = {"links": {"kind": "xgmi", "total": 3, "up": 3, "down": []}}
    assert of_first("product-links", node(4, "amd", "AMD Instinct MI300X", every=links))[0] == "passed"
    assert of_first("product-links", node(8, "amd", "AMD Instinct MI300X", every=links))[0] == "found"


def test_equal_neighbors_tell_the_speed_of_links_that_the_catalogue_does_not():
    every = {"links": {"speed_gb_s": 50.0}}
    assert of_first("link-speed", node(2, name="NVIDIA H999", every=every))[0] == "passed"
    assert of_first("link-speed", node(2, name="NVIDIA H999", every=every, first={"links": {"speed_gb_s": 25.0}}))[0] == "found"
    assert of_first("link-speed", node(1, name="NVIDIA H999", every=every))[0] == "unknown"


@pytest.mark.parametrize(
    ("manufacturer", "name", "device", "memory", "product"),
    [
        ("nvidia", "NVIDIA H20", "", 97871, "H20 96 GB"),
        ("nvidia", "NVIDIA H20", "0x232C10DE", 143771, "H20 141 GB"),
        ("nvidia", "NVIDIA H20", "", UNREAD, None),
        ("nvidia", "NVIDIA GH200 480GB", "234210DE", 97871, "GH200 96 GB"),
        ("nvidia", "NVIDIA H200", "233510DE", 143771, "H200 SXM"),
        ("nvidia", "NVIDIA H200", "234810DE", 143771, None),
        ("nvidia", "NVIDIA H100 80GB HBM3", "000010DE", 81559, "H100 SXM 80 GB"),
        ("nvidia", "NVIDIA H100 PCIe", "233110DE", 81559, "H100 PCIe"),
        ("nvidia", "NVIDIA L40", "26B510DE", 46068, "L40"),
        ("nvidia", "NVIDIA A10G", "", 23028, "A10G"),
        ("amd", "AMD Instinct MI300X", "0x74a1", 196592, "MI300X"),
        ("amd", "AMD Instinct MI300X VF", "0x74b5", 196592, None),
        ("amd", "AMD Instinct MI300X", "0x0c34", 196592, None),
        ("nvidia", "", "", 0, None),
    ],
)
def test_which_product_a_device_is(manufacturer, name, device, memory, product):
    sections = node(1, manufacturer, name, first={"memory_mib": memory, "extra": {"pci_device": device} if device else {}})
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse({}))
    found = products.of(view.packages[0])
    assert (found.name if found else None) == product


def test_each_value_of_the_catalogue_has_a_source_and_its_kind():
    kinds = {"fabric_manager": {"none", "switches", "node", "trays"}, "imex": {"none", "domain"}}
    numbers = {
        "memory_mib", "links", "link_gb_s", "pcie_generation", "pcie_width", "power_w", "core_mhz", "hbm_mhz", "limit_core_c", "shutdown_core_c",
        "limit_memory_c", "row_banks", "remapped_rows", "nics", "switches",
    }  # fmt: skip
    for _maker, _pattern, _devices, _sizes, product in products.catalogue():
        for key, value in product.facts.items():
            assert value in kinds[key] if key in kinds else (key in numbers and value > 0), (product.name, key)
            assert product.sources[key].startswith("product catalogue, %s: " % product.name)
