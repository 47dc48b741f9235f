# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of the expected nodes have to answer."""

from __future__ import annotations

import json

import demo
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import html, markdown, text


def run(tmp_path, answering, silent):
    nodes = {"n%d" % i: synthetic.envelopes(synthetic.healthy(serial="S%d" % i)) for i in range(answering)}
    nodes.update({"s%d" % i: synthetic.unread("s%d" % i) for i in range(silent)})
    return synthetic.write_run(tmp_path, nodes)


@pytest.mark.parametrize(
    ("asked", "quorum"),
    [
        (60, {"asked": 60, "answered_percent": 66.66, "met": True}),
        (66.65, {"asked": 66.65, "answered_percent": 66.66, "met": True}),
        (66.7, {"asked": 66.7, "answered_percent": 66.66, "met": False}),
        (100, {"asked": 100, "answered_percent": 66.66, "met": False}),
    ],
)
def test_the_fleet_document_says_whether_enough_answered(tmp_path, asked, quorum):
    path = run(tmp_path, 2, 1)
    fleet = fold.fold(path, quorum=asked)
    assert fleet["roster"]["quorum"] == quorum
    assert [e.message for e in demo.validator("fleet").iter_errors(json.loads((path / "fleet.json").read_text()))] == []


def test_none_is_asked_for_without_the_variable(tmp_path):
    fleet = fold.fold(run(tmp_path, 2, 1))
    assert "quorum" not in fleet["roster"] and fleet["roster"]["text"] == "3 expected, 2 answered"


def test_reports_say_it(tmp_path):
    fleet = fold.fold(run(tmp_path, 1, 1), quorum=90)
    for shown in (text.render(fleet), html.render(fleet), markdown.render(fleet)):
        assert "2 expected, 1 answered, quorum not met with 50 % answered where 90 % is asked" in " ".join(shown.split())


@pytest.mark.parametrize("value", ["most", -1, "101", "nan", True])
def test_what_is_no_percentage_is_told_before_a_node_is_read(value):
    (told,) = settings.problems({"accelerator_quorum_percent": value})
    assert told.endswith("allowed: a number of percent from 0 to 100")
