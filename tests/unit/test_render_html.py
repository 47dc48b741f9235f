# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: well-formed, complete without script, no way out of it, nothing hidden and nothing hostile in it."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from html.parser import HTMLParser

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import html, node_parts, words
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.tests.unit import fleet_samples as samples

VOID = {"meta", "input", "br", "link", "img", "hr"}
# Elements whose end tag the page leaves out: what closes them.
OPTIONAL = {
    "li": {"li", "ul"},
    "td": {"td", "th", "tr", "tbody", "table"},
    "th": {"td", "th", "tr", "thead", "table", "tbody"},
    "tr": {"tr", "tbody", "thead", "table"},
    "tbody": {"table"},
    "thead": {"tbody", "table"},
    "dt": {"dd", "dt", "div"},
    "dd": {"dt", "dd", "div"},
}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.links, self.tags, self.attributes, self.texts = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.stack, self.stack

    def handle_starttag(self, tag, attrs):
        while self.stack and tag in OPTIONAL.get(self.stack[-1], ()):
            self.stack.pop()
        if tag not in VOID:
            self.stack.append(tag)
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value))
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)

    def handle_endtag(self, tag):
        while self.stack and self.stack[-1] != tag and tag in OPTIONAL.get(self.stack[-1], ()):
            self.stack.pop()
        assert self.stack and self.stack[-1] == tag, (tag, self.stack[-5:], self.getpos())
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def single():
    fleet = samples.empty()
    return samples.finish(fleet, [samples.node("gpu-a01", "h100", 1)])


FLEETS = {"one": single, "twelve": samples.twelve, "many": samples.many, "hostile": samples.hostile, "none": lambda: samples.finish(samples.empty(), [])}


@pytest.mark.parametrize("name", sorted(FLEETS))
def test_well_formed_self_contained_and_pure(name):
    fleet = FLEETS[name]()
    before = copy.deepcopy(fleet)
    text = html.render(fleet)
    assert fleet == before
    assert text == html.render(copy.deepcopy(fleet))
    text.encode("utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert not {"img", "iframe", "link", "object", "form", "base", "svg"} & set(page.tags)
    assert page.tags.count("script") == 1 and page.tags.count("style") == 1
    assert not [item for item in page.attributes if item[1].startswith("on")]
    assert "url(" not in text and "@import" not in text
    script = re.search("<script>(.*)</script>", text, re.S).group(1)
    assert "script-src 'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in text.replace("&#39;", "'")
    assert "//" not in script and "innerHTML" not in script and "eval" not in script


def test_answer_first_and_everything_is_there():
    fleet = samples.twelve()
    page = Page(html.render(fleet))
    text = page.text
    assert text.startswith("3 of 12 nodes rejected, 2 incomplete")
    body = text[text.rindex("What is wrong, where, what to do") :]
    order = ("What is wrong, where, what to do", "Nodes and checks", "Node detail", "Coverage: ", "Cohorts", "Rules and run")
    assert [body.index(part) for part in order] == sorted(body.index(part) for part in order)
    assert "2 accepted with warnings, 5 accepted." in text
    assert "Nothing is claimed about them." in text
    for verdict in fleet["verdicts"]:
        assert words.anchor("node", verdict["node"]) in page.ids
        for reason in verdict["reasons"]:
            assert reason in text
        for device in verdict["devices"]:
            assert device["id"] in text and device["pci"] in text
    for finding in fleet["findings"]:
        assert finding["summary"] in text and finding["remedy"] in text
        assert words.anchor("rule", finding["rule"]) in page.ids
    for rule in fleet["rule_catalogue"]:
        assert words.anchor("rule", rule) in page.ids
    for entry in fleet["coverage"]:
        assert entry["reason"] in text


def test_consequences_stand_under_their_cause():
    text = Page(html.render(samples.twelve())).text
    part = text[text.index("What is wrong, where") : text.index("Nodes and checks ")]
    assert part.index("7 of 8 accelerators are there") < part.index("follows from it: 17 of 18 links are up") < part.index("The card runs at x8")


def test_a_failure_is_not_folded_under_a_warning():
    fleet = samples.empty()
    node = samples.node("a", "h100", 1)
    samples.find(fleet, node, "cohort-driver", "odd driver", "1", "2")
    samples.find(fleet, node, "link-down", "link down", 1, 2, caused_by=("cohort-driver",))
    groups = words.grouped(samples.finish(fleet, [node]))
    assert [(group.rule, [item.rule for item in group.consequences]) for group in groups] == [("link-down", []), ("cohort-driver", [])]


def test_causes_in_a_circle_and_missing_causes_lose_nothing():
    fleet = samples.empty()
    node = samples.node("a", "h100", 1)
    samples.find(fleet, node, "link-down", "link down", 1, 2, caused_by=("pcie-width",))
    samples.find(fleet, node, "pcie-width", "narrow", 1, 2, caused_by=("link-down",))
    samples.find(fleet, node, "ecc-uncorrectable", "ecc", 1, 2, caused_by=("never-heard-of",))
    text = Page(html.render(samples.finish(fleet, [node]))).text
    part = text[text.index("What is wrong, where") : text.index("Nodes and checks ")]
    assert "link down" in part and "narrow" in part and "ecc" in part


def test_a_chain_of_causes_folds_under_its_root():
    fleet = samples.empty()
    node = samples.node("a", "h100", 1)
    samples.find(fleet, node, "accelerator-count", "count", 7, 8)
    samples.find(fleet, node, "detection-disagrees", "disagree", 1, 2, caused_by=["accelerator-count"])
    samples.find(fleet, node, "link-down", "links", 1, 2, caused_by=["detection-disagrees"])
    groups = words.grouped(samples.finish(fleet, [node]))
    assert [(group.rule, [item.rule for item in group.consequences]) for group in groups] == [("accelerator-count", ["detection-disagrees", "link-down"])]


def test_in_the_detail_of_a_node_what_follows_stands_at_once_below_its_cause():
    def item(name, *causes):
        return {"rule": name, "causes": list(causes)}

    told = [
        item("lost"),
        item("lost"),
        item("other"),
        item("row", "lost"),
        item("events", "health"),
        item("health", "lost"),
        item("alone", "unheard"),
        item("odd"),
    ]
    told += [item("egg", "hen"), item("hen", "egg")]
    order = [one["rule"] for one in node_parts.under_causes(told)]
    assert order == ["lost", "lost", "row", "health", "events", "other", "odd", "alone", "egg", "hen"]


def test_hostile_text_is_visible_and_does_nothing():
    text = html.render(samples.hostile())
    page = Page(text)
    assert "<script>alert" not in text
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text and "[U+202E]evil[U+202C]" in page.text and "[U+001B][31mred[U+0000]" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufffe\ud800-\udfff\U000e0041]", text)


def test_words_not_only_colors():
    text = Page(html.render(samples.twelve())).text
    grid = text[text.index("Nodes and checks ") : text.index("Node detail ")]
    for word in ("rejected", "incomplete", "warnings", "accepted", "fail", "warn", "not proven", "passed", "not run", "n/a"):
        assert word in grid, word


def test_tables_have_headers_and_the_grid_can_be_reached_by_keyboard():
    text = html.render(samples.twelve())
    assert text.count("<table") == text.count("<thead>")
    assert len(re.findall("<th(?: |>)", text)) == text.count("<th scope=")
    assert 'tabindex="0" role="region" aria-labelledby="grid-h"' in text
    assert '<html lang="en">' in text and 'class="skip"' in text


def test_nothing_expected_and_an_empty_document():
    page = Page(html.render(samples.finish(samples.empty(), [])))
    assert "nothing to accept" in page.text
    page = Page(html.render({"run_id": "r", "profile": "p", "judged_at": "", "created": "", "judgement": 1, "collection_version": "0"}))
    assert "nothing to accept" in page.text


def test_a_rule_nobody_described_is_not_lost():
    fleet = samples.twelve()
    del fleet["rule_catalogue"]["pcie-width"]
    page = Page(html.render(fleet))
    assert "rule-pcie-width" in page.ids and {link[1:] for link in page.links} <= set(page.ids)


def test_size_of_a_large_fleet():
    assert len(html.render(samples.many(500)).encode()) < 3_000_000


def test_paths_are_shown_once_and_named_by_the_others():
    fleet = samples.twelve()
    told = " nvidia:0 mlx5_0;nvidia:0 X PIX;mlx5_0 <script> X"
    for verdict in fleet["verdicts"][:3]:
        verdict["facts"] = dict(verdict["facts"], paths=told)
    names = [verdict["node"] for verdict in fleet["verdicts"][:3]]
    page = html.render(fleet)
    assert page.count("<h4>Paths</h4>") == 1
    others = re.findall('Paths: as those of <a href="#([^"]+)">([^<]+)</a>', page)
    assert len(others) == 2 and len(set(others)) == 1 and others[0][1] in names and 'id="%s"' % others[0][0] in page
    assert '<th scope="row">nvidia:0<td class="self">X<td class="p3">PIX' in page and "&lt;script&gt;" in page


def test_a_check_stands_in_the_column_of_what_it_reads():
    """The kernel log is told under Events, whatever else a rule of it is named after."""
    catalogue.load()
    columns = {rule.id: node_parts.category(rule.id, {"layer": rule.layer}) for rule in RULES.values()}
    assert {columns[rule.id] for rule in RULES.values() if rule.id.startswith("kernel-") and rule.check.__module__.endswith(".rules.kernel")} == {"Events"}
    assert {columns[rule] for rule in ("kernel-command-line", "kernel-parameters", "kernel-peer-to-peer", "clock-spread", "log-rotation")} == {"Host"}
    assert {columns[rule] for rule in columns if rule.startswith("measured-")} <= {"Measured", "Interconnect"}
    assert set(columns.values()) <= {*node_parts.CATEGORY_ORDER, *node_parts.LAYER_COLUMNS.values()}


def test_what_does_not_apply_is_not_counted_as_asked():
    fleet = samples.twelve()
    rules = fleet["verdicts"][0]["rules"]
    arise = [entry for entry in rules.values() if entry["outcome"] != "not_applicable"]
    assert len(arise) > 0
    passed = sum(entry["outcome"] == "passed" for entry in arise)
    assert "%d of %d rules that apply here passed." % (passed, len(arise)) in html.render(fleet)


def test_a_node_without_any_answer_makes_no_column():
    fleet = samples.twelve()
    silent, answers = (next(v for v in fleet["verdicts"] if v["verdict"] == word) for word in ("incomplete", "accepted"))
    entry = {"outcome": "unknown", "level": "warn", "reason": "no answer", "required": False, "unknown": 1}
    silent["rules"] = {rule: dict(entry) for rule in (*silent["rules"], "measured-floor")}
    columns = node_parts.Parts(fleet, {}).columns
    assert "Measured" not in columns and "Devices" in columns
    answers["rules"] = dict(answers["rules"], **{"measured-floor": dict(entry, reason="too few samples")})
    assert "Measured" in node_parts.Parts(fleet, {}).columns
    fleet["verdicts"] = [silent]
    assert "Devices" in node_parts.Parts(fleet, {}).columns
