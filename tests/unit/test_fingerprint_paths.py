# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of a cohort whose paths were read: alike they are quiet, and each setting on the way that is odd is found."""

from __future__ import annotations

import json

import path_samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import fingerprint

UP, DOWN, CARD = path_samples.places(1)[1], path_samples.places(1)[2], path_samples.places(1)[4]


def folded(tmp_path, *changes):
    whole, nodes = json.dumps(path_samples.Tree(4).sections()), {}
    for node, change in zip("abcd", [*changes, None, None, None], strict=False):
        made = json.loads(whole)
        if change:
            change(made["paths.nvidia"])
        for number, device in enumerate(made["accelerators.nvidia"]["devices"]):
            device["identity"]["uuid"] = {"value": "GPU-%s-%d" % (node, number), "quality": "good"}
        nodes[node] = synthetic.envelopes(made, node)
    return fold.fold(synthetic.write_run(tmp_path, nodes))


def odd(fleet):
    told = {}
    for one in fleet["findings"]:
        if one["rule"].startswith("cohort-"):
            told.setdefault(one["rule"], []).append(one["node"])
    return told


def setting(address, name, value):
    def change(paths):
        paths["functions"][address]["settings"][name] = value

    return change


def other_matrix(paths):
    levels = paths["matrix"]["levels"]
    levels[0][4] = levels[4][0] = "NODE"


def translated(paths):
    for end in paths["ends"]:
        end["iommu"]["type"] = "DMA-FQ"


ODD = {
    "path-matrix": (other_matrix, "has besides"),
    "iommu": (translated, "DMA-FQ"),
    "payload": (setting(CARD, "max_payload_bytes", 128), "128"),
    "read-requests": (setting(CARD, "max_read_request_bytes", 2048), "2048"),
    "acs": (setting(DOWN, "acs", ["request_redirect"]), "request_redirect"),
}


def test_nodes_with_the_same_paths_are_quiet(tmp_path):
    fleet = folded(tmp_path)
    assert odd(fleet) == {}
    for verdict in fleet["verdicts"]:
        assert {verdict["rules"]["cohort-" + name]["outcome"] for name in ODD} == {"passed"}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_on_the_way_is_found(tmp_path, name):
    change, words = ODD[name]
    fleet = folded(tmp_path, change)
    assert odd(fleet)["cohort-" + name] == ["a"]
    assert words in next(one["summary"] for one in fleet["findings"] if one["rule"] == "cohort-" + name)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("path-matrix", lambda paths: paths.update(matrix={"unknown": "EIO"})),
        ("iommu", lambda paths: paths["ends"][0]["iommu"].update(type={"unknown": "EIO"})),
        ("payload", setting(CARD, "max_payload_bytes", {"unknown": "EIO"})),
        ("read-requests", setting(CARD, "max_read_request_bytes", {"unknown": "EIO"})),
        ("acs", setting(UP, "acs", {"unknown": "EIO"})),
    ],
)
def test_what_is_not_known_is_neither_odd_nor_equal(tmp_path, name, change):
    fleet = folded(tmp_path, change)
    assert "cohort-" + name not in odd(fleet)
    assert next(v for v in fleet["verdicts"] if v["node"] == "a")["rules"]["cohort-" + name]["outcome"] == "unknown"


def test_every_line_of_paths_has_its_odd_case():
    assert {line["id"] for line in fingerprint.lines() if line["section"] == "paths"} == set(ODD)
