# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cause gives one finding: what follows from it names it, each of them about the same thing, and nothing else is tied."""

from __future__ import annotations

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import causes, engine
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES

engine.default_policy()


def mutual(one, other):
    return one in RULES[other].follows and other in RULES[one].follows


def test_causes_go_round_in_no_circle():
    done, way = set(), []

    def go(name):
        assert name not in way, [*way, name]
        if name in done:
            return
        way.append(name)
        for cause in RULES[name].follows:
            if not mutual(name, cause):
                go(cause)
        way.pop()
        done.add(name)

    for name in RULES:
        assert name not in RULES[name].follows
        go(name)
    assert len(done) == len(RULES)


def finding(rule, ident, kind="package", level="fail", node="n1"):
    subjects = ident if isinstance(ident, list) else [ident]
    shown = [{"node": node, "kind": kind, "id": one} for one in subjects]
    return {"rule": rule, "node": node, "subject": shown if isinstance(ident, list) else shown[0], "level": level, "caused_by": []}


class View:
    """A node with one accelerator behind a switch, and an adapter behind the same one."""

    packages = groups = ()

    def __init__(self, monkeypatch):
        monkeypatch.setattr(causes, "below_of", lambda _view: BELOW)


BELOW = {
    "0000:17:01.0": frozenset({"nvidia:5", "mlx5_2"}), "0000:19:00.0": frozenset({"nvidia:5"}), "0000:1a:00.0": frozenset({"nvidia:5"}),
    "0000:1a:00": frozenset({"nvidia:5"}), "nvidia:5": frozenset({"nvidia:5"}), "0000:1b:00.0": frozenset({"mlx5_2"}),
    "0000:1b:00": frozenset({"mlx5_2"}), "mlx5_2": frozenset({"mlx5_2"}), "GPU-0b5e": frozenset({"nvidia:5"}),
}  # fmt: skip


def tied(monkeypatch, effect, cause, narrowed=None):
    findings = [effect, cause]
    causes.explain(findings, [narrowed, ()], View(monkeypatch))
    assert cause["caused_by"] == []
    return effect["caused_by"] == [cause["rule"]]


PORT, CARD, SECOND, NIC = "0000:17:01.0", "0000:1a:00.0", "0000:1a:00.1", "0000:1b:00.0"


@pytest.mark.parametrize(
    ("effect", "cause", "expected"),
    [
        (finding("pcie-replays", "nvidia:5", level="warn"), finding("pcie-path-width", PORT, "pci"), True),
        (finding("pcie-replays", "nvidia:4", level="warn"), finding("pcie-path-width", PORT, "pci"), False),
        (finding("pcie-errors", CARD, "pci", "warn"), finding("pcie-width", "nvidia:5"), True),
        (finding("pcie-errors", SECOND, "pci", "warn"), finding("pcie-width", "nvidia:5"), True),
        (finding("pcie-errors", NIC, "pci", "warn"), finding("pcie-width", "nvidia:5"), False),
        (finding("kernel-nic-errors", "mlx5_2", "component"), finding("pcie-path-width", PORT, "pci"), True),
        (finding("kernel-nic-errors", "mlx5_3", "component"), finding("pcie-path-width", PORT, "pci"), False),
        (finding("kernel-nic-errors", NIC, "pci"), finding("kernel-pcie-errors", PORT, "pci"), True),
        (finding("kernel-nic-errors", NIC, "pci"), finding("kernel-pcie-errors", "0000:19:00.0", "pci"), False),
        (finding("links-up", ["nvidia:1", "nvidia:2"]), finding("device-lost", "nvidia:2"), True),
        (finding("links-up", ["nvidia:1", "nvidia:2"]), finding("device-lost", "nvidia:3"), False),
        (finding("links-up", "nvidia:1"), finding("device-lost", "nvidia:2"), False),
        (finding("links-up", "nvidia:1"), finding("nvlink-switched-off", "nvidia", "manufacturer"), True),
        (finding("links-up", "amd:1"), finding("nvlink-switched-off", "nvidia", "manufacturer"), False),
        (finding("accelerator-count", "n1", "node"), finding("detection-agrees", "amd", "manufacturer"), True),
        (finding("accelerator-count", "nvidia", "manufacturer"), finding("detection-agrees", "amd", "manufacturer"), False),
        (finding("row-container-device", "nvidia:5", "row"), finding("device-lost", "nvidia:5"), True),
        (finding("row-container-device", "GPU-0b5e", "row"), finding("device-lost", "nvidia:5"), True),
        (finding("row-container-device", "GPU-0b5e", "row"), finding("device-lost", "nvidia:4"), False),
        (finding("row-container-device", "GPU-0b5e", "row"), finding("runtime-handler", "nvidia", "manufacturer"), True),
        (finding("row-container-device", "GPU-0b5e", "row"), finding("runtime-handler", "amd", "manufacturer"), False),
        # a failure is not explained away by a warning, and what was found on another node explains nothing here
        (finding("throttle-hardware", "nvidia:5"), finding("temperature-margin", "nvidia:5", level="warn"), False),
        (finding("links-up", "nvidia:5"), finding("device-lost", "nvidia:5", node="n2"), False),
    ],
)
def test_what_meets(monkeypatch, effect, cause, expected):
    assert cause["rule"] in RULES[effect["rule"]].follows
    assert tied(monkeypatch, effect, cause) == expected


def test_of_two_that_may_follow_from_each_other_the_graver_is_the_cause(monkeypatch):
    assert mutual("pcie-path-width", "kernel-pcie-errors")
    for width, kernel, expected in (("warn", "fail", (["kernel-pcie-errors"], [])), ("fail", "warn", ([], ["pcie-path-width"])), ("fail", "fail", ([], []))):
        findings = [finding("pcie-path-width", PORT, "pci", width), finding("kernel-pcie-errors", CARD, "pci", kernel)]
        causes.explain(findings, [None, None], View(monkeypatch))
        assert tuple(one["caused_by"] for one in findings) == expected


def test_a_rule_narrows_what_can_explain_a_finding(monkeypatch):
    cause = finding("temperature-margin", "nvidia:5")
    assert tied(monkeypatch, finding("throttle-hardware", "nvidia:5"), cause)
    assert not tied(monkeypatch, finding("throttle-hardware", "nvidia:5"), cause, ())


def test_what_came_from_comparing_nodes_is_tied_alone():
    findings = [finding("row-container-device", "nvidia:5", "row"), finding("fabric-manager", "n1", "node"), finding("cohort-count", "n1", "node")]
    causes.explain_last([finding("device-lost", "nvidia:5"), *findings[:2], findings[2]])
    assert findings[2]["caused_by"] == ["device-lost"] and findings[0]["caused_by"] == []
