# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports say when a node was last accepted and what differs since."""

from __future__ import annotations

import history_runs as runs
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import html


def facts(fleet):
    return {entry["node"]: entry["facts"].get("last_accepted") for entry in fleet["verdicts"]}


def test_each_node_says_when_it_was_last_accepted(tmp_path):
    location = str(tmp_path / "h.sqlite")
    nodes = {"n0": runs.node("S0"), "n1": runs.node("S1")}
    first = runs.through(tmp_path, location, "a", 1, nodes)
    assert facts(first) == {"n0": "n/a: never accepted before", "n1": "n/a: never accepted before"}
    nodes["n0"]["host"]["bios"]["version"] = "2.2<b>"
    nodes["new"] = runs.node("S9")
    second = runs.through(tmp_path, location, "b", 2, nodes)
    assert facts(second) == {"n0": "run a at 2026-03-01T08:00:00Z", "n1": "run a at 2026-03-01T08:00:00Z", "new": "n/a: never accepted before"}
    page = html.render(second)
    assert page.count("<dt>Last accepted<dd>run a at 2026-03-01T08:00:00Z") == 2
    section = page[page.index('<section id="since"') : page.index('<section id="coverage"')]
    assert "1 node as last accepted; 1 node with a difference; 1 node never accepted before." in section
    assert section.count('<tr><th scope="row">') == 1 and ">n0</a>" in section and "2.1a -&gt; 2.2&lt;b&gt;" in section and "changed-since-accepted" in section


def test_without_a_baseline_nothing_is_said(tmp_path):
    fleet = runs.judge(runs.write(tmp_path, "a", 1, {"n0": runs.node("S0")}))
    assert facts(fleet) == {"n0": None}
    assert "Since last accepted" not in html.render(fleet)
