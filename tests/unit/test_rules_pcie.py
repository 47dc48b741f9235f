# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule about paths on a healthy node with one thing changed: exactly the outcome that this change means."""

from __future__ import annotations

import copy

import demo
import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, paths, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

PATHS = (
    "pcie-path-width", "pcie-path-speed", "pcie-path-capability", "pcie-errors", "pcie-acs", "pcie-payload", "pcie-bar", "iommu-mode", "path-agreement",
    "link-matrix", "numa-balance",
)  # fmt: skip
ROOT, UP, DOWN, BESIDE, CARD, ADAPTER = path_samples.places(1)


def asked(rule, sections, **variables):
    engine.default_policy()
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse(variables))
    return engine.outcomes(RULES[rule], view, view.policy.params(rule))


def told(rule, sections, **variables):
    return [
        (outcome.outcome, outcome.level or RULES[rule].level, subject[1])
        for subject, outcome in asked(rule, sections, **variables)
        if outcome.outcome == "found"
    ]


def said(rule, sections, **variables):
    return {outcome.outcome for _subject, outcome in asked(rule, sections, **variables)}


def text(rule, sections, **variables):
    return " | ".join(outcome.summary or outcome.reason for _subject, outcome in asked(rule, sections, **variables))


@pytest.fixture
def tree():
    return path_samples.Tree()


def test_a_healthy_node_is_quiet(tree):
    sections = tree.sections()
    assert demo.misfits({"paths.nvidia": sections["paths.nvidia"]}) == []
    assert {rule: said(rule, sections) for rule in PATHS} == {rule: {"passed"} for rule in PATHS}


@pytest.mark.parametrize("rule", PATHS)
def test_without_the_section_nothing_is_known(tree, rule):
    sections = tree.sections()
    del sections["paths.nvidia"]
    assert said(rule, sections) == {"unknown"}
    sections["accelerators.nvidia"].update(devices=[], detection=dict(sections["accelerators.nvidia"]["detection"], state="not-declared", reason="none"))
    sections["pci"] = synthetic.pci([])
    assert said(rule, sections) == {"not_applicable"}


@pytest.mark.parametrize("rule", [rule for rule in PATHS if rule not in ("pcie-errors", "link-matrix")])
def test_a_guest_has_the_ports_of_its_host(tree, rule):
    assert said(rule, tree.sections(virtualization="kvm")) == {"not_applicable"}


@pytest.mark.parametrize("rule", PATHS)
def test_garbage_never_raises(tree, rule):
    functions = {CARD: {"aer": 1, "settings": []}}
    changes = [{"ends": "x"}, {"ends": [1, {"id": 5}]}, {"functions": []}, {"functions": functions}, {"tool": {"ids": [1], "levels": [3]}}, {"tool": "x"}]
    for change in [*changes, {"matrix": None, "problems": None}]:
        sections = tree.sections()
        sections["paths.nvidia"].update(change)
        assert said(rule, sections) <= {"unknown", "passed", "not_applicable", "found"}


# -- links --------------------------------------------------------------------------------------------------------------


def test_a_narrow_link_above_a_card_is_where_it_is(tree):
    tree.change(UP, now=(8, 32))
    assert told("pcie-path-width", tree.sections()) == [("found", "fail", UP)]
    assert "%s to %s is 8 lanes wide, where both ends can do 16: on the path of nvidia:1, mlx5_1" % (ROOT, UP) in text("pcie-path-width", tree.sections())


def test_a_narrow_adapter(tree):
    tree.change(ADAPTER, now=(8, 32))
    assert told("pcie-path-width", tree.sections()) == [("found", "warn", ADAPTER)]


def test_the_weaker_end_decides(tree):
    tree.change(ADAPTER, now=(8, 16))
    tree.change(BESIDE, most=(8, 16), now=(8, 16))
    sections = tree.sections()
    assert said("pcie-path-width", sections) == said("pcie-path-speed", sections) == {"passed"}


def test_what_all_equal_links_have_is_the_platform(tree):
    for index in range(4):
        tree.change(path_samples.places(index)[5], now=(8, 32))
    assert {level for _found, level, _subject in told("pcie-path-width", tree.sections())} == {"info"}


def test_the_own_link_of_a_card_is_another_rule(tree):
    tree.change(CARD, now=(8, 2.5))
    sections = tree.sections()
    assert said("pcie-path-width", sections) == said("pcie-path-speed", sections) == {"passed"}


def test_the_link_of_a_card_with_its_own_switch_is_one_finding(tree):
    tree.change(UP, now=(8, 32))
    sections = tree.sections()
    sections["pci"]["devices"][1]["upstream"]["address"] = ROOT
    assert said("pcie-path-width", sections) == {"passed"}


def test_a_slow_link(tree):
    tree.change(UP, now=(16, 16))
    tree.change(ADAPTER, now=(16, 16))
    assert told("pcie-path-speed", tree.sections()) == [("found", "warn", UP), ("found", "warn", ADAPTER)]


def test_a_switch_on_the_card_slows_down_when_idle(tree):
    """Without an adapter below it nothing tells the switch of a card from one of the board."""
    for index in range(4):
        tree.drop.add(path_samples.places(index)[5])
    tree.change(UP, now=(16, 2.5))
    assert said("pcie-path-speed", tree.sections()) == {"not_applicable"}


def test_a_width_that_is_not_told(tree):
    tree.change(UP, now=(0, 32))
    assert said("pcie-path-width", tree.sections()) == {"unknown"}


def test_a_path_that_can_do_less_than_those_of_its_equals(tree):
    tree.change(ROOT, most=(16, 16), now=(16, 16))
    tree.change(UP, now=(16, 16))
    sections = tree.sections()
    assert told("pcie-path-capability", sections) == [("found", "warn", "nvidia:1")]
    assert "%s is the weakest link" % UP in text("pcie-path-capability", sections)
    assert said("pcie-path-speed", sections) == {"passed"}
    for port in (path_samples.places(n)[0] for n in range(4)):
        tree.change(port, most=(16, 16))
    assert said("pcie-path-capability", tree.sections()) == {"passed"}


def test_capability_of_one_card_has_nothing_to_be_compared_with():
    assert said("pcie-path-capability", path_samples.Tree(1).sections()) == {"not_applicable"}


# -- errors and settings ------------------------------------------------------------------------------------------------


def test_errors_since_boot(tree):
    tree.more[CARD]["errors"] = {"nonfatal": "CmpltTO 2\nUnsupReq 9\nTOTAL_ERR_NONFATAL 11\n"}
    tree.more[UP]["errors"] = {"correctable": "RxErr 1500\nTOTAL_ERR_COR 1500\n"}
    tree.more[ADAPTER]["errors"] = {"correctable": "RxErr 12\n", "nonfatal": "UnsupReq 40\n"}
    sections = tree.sections()
    assert told("pcie-errors", sections) == [("found", "warn", UP), ("found", "warn", CARD)]
    assert "has counted 2 uncorrectable PCIe errors since boot: CmpltTO 2" in text("pcie-errors", sections)
    assert told("pcie-errors", sections, accelerator_policy_pcie_errors_correctable=2000, accelerator_policy_pcie_errors_uncorrectable=2) == []


def test_errors_that_nobody_counts(tree):
    for address in tree.more:
        tree.more[address]["errors"] = {"correctable": {"absent": True}}
    assert said("pcie-errors", tree.sections()) == {"not_applicable"}
    for address in tree.more:
        tree.more[address]["errors"] = {"correctable": {"error": "EIO"}}
    assert said("pcie-errors", tree.sections()) == {"unknown"}


def test_replays(tree):
    sections = tree.sections()
    devices, minutes = sections["accelerators.nvidia"]["devices"], sections["host"]["uptime_seconds"] / 60
    assert said("pcie-replays", sections) == {"passed"}
    devices[1]["pcie"]["replay_count"], devices[2]["pcie"]["replay_count"] = int(9 * minutes), int(7 * minutes)
    assert told("pcie-replays", sections) == [("found", "warn", "nvidia:1")]
    assert told("pcie-replays", sections, accelerator_policy_pcie_replays_per_minute=10) == []
    devices[1]["pcie"]["replay_count"], devices[2]["pcie"]["replay_count"] = {"unknown": "not told"}, {"not_applicable": "not counted"}
    assert said("pcie-replays", sections) == {"passed", "unknown", "not_applicable"}


def test_a_numa_node_that_the_firmware_does_not_name(tree):
    sections = tree.sections()
    silent = {"unknown": "the firmware names no NUMA node (-1)"}
    sections["accelerators.nvidia"]["devices"][0]["numa_node"] = sections["pci"]["devices"][0]["numa_node"] = silent
    assert told("numa-node", sections) == [("found", "warn", "nvidia:0")]
    sections["host"]["cpu"]["numa_nodes"] = 1
    assert said("numa-node", sections) == {"passed", "not_applicable"}
    sections["accelerators.nvidia"]["devices"][0]["numa_node"] = sections["pci"]["devices"][0]["numa_node"] = {"unknown": "denied"}
    assert said("numa-node", sections) == {"passed", "unknown"}


def test_acs(tree):
    tree.change(DOWN, acs=["SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"])
    sections = tree.sections()
    assert told("pcie-acs", sections) == [("found", "warn", "n1")] and DOWN in text("pcie-acs", sections)
    assert said("pcie-acs", sections, accelerator_policy_pcie_acs_isolation_wanted=True) == {"not_applicable"}
    assert said("pcie-acs", tree.sections(driver="vfio-pci")) == {"not_applicable"}
    for address in tree.more:
        tree.more[address]["iommu"] = (5, "DMA-FQ")
    assert told("pcie-acs", tree.sections()) == [("found", "info", "n1")]


def test_acs_where_it_is_not_known_whether_the_iommu_translates(tree):
    tree.change(DOWN, acs=["ReqRedir"])
    sections = tree.sections()
    for end in sections["paths.nvidia"]["ends"]:
        end["iommu"] = {"group": 7, "type": {"unknown": "denied"}}
    assert told("pcie-acs", sections) == [("found", "warn", "n1")]


def test_acs_of_a_port_of_an_adapter_alone_does_not_count(tree):
    tree.change(BESIDE, acs=["ReqRedir"])
    assert said("pcie-acs", tree.sections()) == {"passed"}


def test_acs_needs_root(tree):
    for address in tree.spaces:
        tree.change(address, size=64)
    sections = tree.sections()
    assert said("pcie-acs", sections) == said("pcie-payload", sections) == {"unknown"}
    assert "root only" in text("pcie-acs", sections)


def test_acs_of_one_device_alone(tree):
    alone = path_samples.Tree(1)
    alone.drop.add(path_samples.places(0)[5])
    assert said("pcie-acs", alone.sections()) == {"not_applicable"}


@pytest.mark.parametrize(("address", "change"), [(CARD, {"payload": 128}), (CARD, {"read": 4096}), (ADAPTER, {"read": 512})])
def test_sizes_that_differ(tree, address, change):
    tree.change(address, **change)
    assert told("pcie-payload", tree.sections()) == [("found", "warn", address)]


def test_bar(tree):
    tree.more[CARD].update(resource=16 << 30, resize=0x3FFC0)
    sections = tree.sections()
    assert told("pcie-bar", sections) == [("found", "warn", "nvidia:1")]
    assert "is 16384 MiB, and 81559 MiB are needed; it could be made 131072 MiB" in text("pcie-bar", sections)
    assert told("pcie-bar", tree.sections(), accelerator_policy_pcie_bar_least_mib=200000) == [("found", "warn", "nvidia:%d" % n) for n in range(4)]


def test_a_bar_smaller_than_those_of_its_equals(tree):
    def other(devices):
        for device in devices:
            device["name"] = "NVIDIA L99"

    tree.more[CARD]["resource"] = 256 << 20
    sections = tree.sections(devices=other)
    assert told("pcie-bar", sections) == [("found", "warn", "nvidia:1")] and "those of its equals 131072" in text("pcie-bar", sections)


def test_bar_that_could_not_be_read(tree):
    sections = tree.sections()
    for end in sections["paths.nvidia"]["ends"]:
        if "bar" in end:
            end["bar"] = {"largest_mib": {"unknown": "denied"}, "resizable_to_mib": {"unknown": "denied"}}
    assert said("pcie-bar", sections) == {"unknown"}


def test_iommu(tree):
    for address in tree.more:
        tree.more[address]["iommu"] = (5, "DMA")
    sections = tree.sections()
    assert told("iommu-mode", sections) == [("found", "info", "n1")]
    assert told("iommu-mode", sections, accelerator_policy_iommu_mode_types=["DMA"]) == []
    assert told("iommu-mode", tree.sections(), accelerator_policy_iommu_mode_types="none") == [("found", "warn", "n1")]
    for address in tree.more:
        tree.more[address]["iommu"] = None
    assert said("iommu-mode", tree.sections()) == {"passed"}
    sections["paths.nvidia"]["ends"][0]["iommu"]["type"] = {"unknown": "denied"}
    for end in sections["paths.nvidia"]["ends"][1:]:
        end["kind"] = "network"
    assert said("iommu-mode", sections) == {"unknown"}


# -- the matrix -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["SYS", "NODE", "PHB"])
def test_the_tool_sees_another_path(tree, word):
    sections = tree.sections(tree.topology({("GPU1", "mlx5_1"): word}))
    assert told("path-agreement", sections) == [("found", "warn", "n1")]
    assert "nvidia:1 to mlx5_1 is PIX, by the tool %s" % word in text("path-agreement", sections).replace("mlx5_1 to nvidia:1", "nvidia:1 to mlx5_1")


def test_the_tool_sees_another_numa_node(tree):
    assert "nvidia:2 is on NUMA node 1, by the tool on 0" in text("path-agreement", tree.sections(tree.topology(numa={2: 0})))


def test_counting_the_bridges_of_a_switch_differently_is_no_disagreement(tree):
    assert said("path-agreement", tree.sections(tree.topology({("GPU1", "mlx5_1"): "PXB"}))) == {"passed"}


@pytest.mark.parametrize("answer", [{"missing": True}, {"hang": True}, {"rc": 9, "stdout": ""}, "garbage\n"])
def test_a_tool_that_says_nothing(tree, answer):
    sections = tree.sections(answer)
    assert said("path-agreement", sections) == said("link-matrix", sections) == {"unknown"}


def test_a_card_with_fewer_linked_peers(tree):
    sections = tree.sections(tree.topology({("GPU3", "GPU0"): "SYS", ("GPU3", "GPU1"): "SYS", ("GPU3", "GPU2"): "NODE"}))
    assert [subject for _found, _level, subject in told("link-matrix", sections)] == ["nvidia:3"]
    assert "is linked with 0 peers, its equals with 2" in text("link-matrix", sections)


def test_cards_without_links(tree):
    words = {("GPU%d" % a, "GPU%d" % b): "NODE" if a // 2 == b // 2 else "SYS" for a in range(4) for b in range(4) if a != b}
    assert said("link-matrix", tree.sections(tree.topology(words))) == {"not_applicable"}
    pairs = dict.fromkeys([("GPU0", "GPU1"), ("GPU1", "GPU0"), ("GPU2", "GPU3"), ("GPU3", "GPU2")], "NV12")
    assert said("link-matrix", tree.sections(tree.topology({**words, **pairs}))) == {"passed"}


# -- NUMA -----------------------------------------------------------------------------------------------------------------


def test_balance(tree):
    tree.more[CARD]["numa"] = 1
    assert told("numa-balance", tree.sections()) == [("found", "warn", "n1")] and "1 on node 0, 3 on node 1" in text("numa-balance", tree.sections())
    sections = tree.sections()
    sections["host"]["cpu"]["numa_nodes"] = 1
    assert said("numa-balance", sections) == {"not_applicable"}


def test_all_cards_on_one_numa_node_is_a_design(tree):
    for place in tree.more.values():
        place["numa"] = 0
    assert said("numa-balance", tree.sections()) == {"passed"}


def test_adapters_on_one_side_only(tree):
    for index in (0, 1):
        tree.more[path_samples.places(index)[5]]["numa"] = 1
    assert "NUMA node 0 has accelerators and no RDMA adapter" in text("numa-balance", tree.sections())


def test_numa_nodes_that_are_not_told(tree):
    tree.more[ADAPTER]["numa"] = -1
    assert "names no NUMA node of mlx5_1" in text("numa-balance", tree.sections())
    tree.more[CARD]["numa"] = -1
    assert "unknown" in said("numa-balance", tree.sections())


def test_ends_that_could_not_be_listed_are_told(tree):
    sections = copy.deepcopy(tree.sections())
    sections["paths.nvidia"]["problems"] = ["/sys/class/infiniband: denied"]
    assert said("pcie-path-width", sections) == {"unknown"}


def test_a_card_that_its_driver_does_not_see_has_a_path_all_the_same(tree):
    lost = path_samples.Tree()
    lost.detection = "unavailable"
    made = lost.sections(devices=list.pop)
    assert [end["id"] for end in made["paths.nvidia"]["ends"]][:4] == ["nvidia:0", "nvidia:1", "nvidia:2", synthetic.address(3)]
    made = tree.sections(devices=list.clear)
    assert made["accelerators.nvidia"]["devices"] == []
    assert made["paths.nvidia"]["tool"] == {"unknown": "not asked: its accelerators were not detected"}
    assert [end["id"] for end in made["paths.nvidia"]["ends"]][:5] == [*(synthetic.address(n) for n in range(4)), "mlx5_0"]


def test_the_matrix_of_a_report(tree):
    def fact(sections):
        return paths.matrix_fact(NodeView("n1", synthetic.envelopes(sections), policy.Policy())).get("paths")

    rows = fact(tree.sections()).split(";")
    assert rows[0].split(" ") == ["", *("nvidia:%d" % n for n in range(4)), *("mlx5_%d" % n for n in range(4))]
    assert rows[2].split(" ") == ["nvidia:1", "NV18", "X", "NV18", "NV18", "NODE", "PIX", "SYS", "SYS"]
    assert rows[6].split(" ")[:3] == ["mlx5_1", "NODE", "PIX"]
    assert fact(tree.sections({"missing": True})).split(";")[2].split(" ")[1] == "NODE"
    assert fact(path_samples.Tree(2).sections(virtualization="kvm")).startswith(" nvidia:0 nvidia:1 mlx5_0")
    hostile = tree.sections()
    hostile["paths.nvidia"]["tool"] = {"ids": ["nvidia:0", "a;b c"], "levels": [["X", "NV 1;"], ["<script>", "X"]]}
    hostile["paths.nvidia"]["matrix"] = None
    assert fact(hostile) == " nvidia:0 a_b_c;nvidia:0 X NV_1_;a_b_c <script> X"
    hostile["paths.nvidia"]["tool"]["levels"] = [[1, 2], [3]]
    assert fact(hostile) is None
