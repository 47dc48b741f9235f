# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a node says is text in every document: no markup, no command, no formula, no link, nothing hidden."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import csv_findings, html, junit, markdown, prometheus, text, words
from ansible_collections.fleetproof.accelerator.tests.unit import fleet_samples as samples
from ansible_collections.fleetproof.accelerator.tests.unit.test_render_html import Page
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

markdown_it = pytest.importorskip("markdown_it")

NASTY = (
    "<script>alert(1)</script>",
    "</noscript><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "]]><x/>",
    "&lt;b&gt; & &amp;",
    "{{ 7*7 }}{% raw %}",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\u202ereversed\u2066\u200b\ufeff",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    " \t=1+1",
    "\uff1d1+1",
    "[here](https://evil.example) ![x](//evil.example/x.png)",
    "https://evil.example www.evil.example a@evil.example @team #12 GH-7",
    "| a | b |",
    "\\| \\` \\",
    "``` `code` ~~~",
    "# title\n- item\n1. one\n> quote\n---",
    "<!-- --> <br>",
    '"quoted", "twice"\r\nnext',
    "\ud800\ufffe\x00",
    "::set-output name=x::y",
    "*bold* _x_ ~~gone~~ $x$ :tada:",
    "",
    " ",
)
WORDS = st.one_of(st.sampled_from(NASTY), st.lists(st.sampled_from(NASTY), min_size=2, max_size=3).map("".join), st.text(max_size=40))
ACTS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\ud800-\udfff]")


def fleet_of(said):
    """A small fleet all of whose free texts say this."""
    fleet = samples.empty(said)
    good, bad, lost = samples.node("%s1" % said, "h100", 1), samples.node("%s2" % said, "h100", 2), samples.node("%s3" % said, "ascend", 3)
    samples.find(fleet, bad, "row-remap-pending", said, said, said, subject=said, origin=said, unit=said)
    samples.find(fleet, bad, "link-down", said, {"unknown": said}, said, subject="nvidia:1", caused_by=("row-remap-pending", said))
    samples.find(fleet, good, "cohort-driver", said + "!", said, said)
    samples.lose(fleet, lost, ["tool-answers", "link-down"], "unknown", said)
    for entry in (good, bad, lost):
        entry["cohort"] = said
        entry["facts"].update(system=said, bmc={"unknown": said}, paths=" a b;%s X NV1" % said)
        entry["devices"][0].update(name=said, serial=said, health=said)
    fleet = samples.finish(fleet, [good, bad, lost])
    for finding in fleet["findings"]:
        finding.update(remedy=said, evidence={said: said})
    fleet["roster"]["text"] = said
    fleet["rule_catalogue"]["pcie-width"].update(title=said, remedy=said)
    fleet["measurements"] = [samples.series(said, [["%s2" % said, said, 1.0], ["%s1" % said, "", 2.0]])]
    fleet["matrices"] = [samples.matrix(said, [["%s1" % said, said], ["%s2" % said, ""]], [[None, 1.0], [2.0, None]])]
    return fleet


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(WORDS)
def test_every_document_shows_it_as_text(said):
    fleet = fleet_of(said)
    page = html.render(fleet)
    read = Page(page)
    assert set(read.tags) <= set(Page(html.render(fleet_of("plain"))).tags) and read.tags.count("script") == 1
    assert len(read.ids) == len(set(read.ids)) and {link[1:] for link in read.links} <= set(read.ids) and all(link[0] == "#" for link in read.links)
    assert not [item for item in read.attributes if item[1].startswith("on")]
    assert " ".join(words.visible(said).split()) in read.text

    document = junit.render(fleet)
    ET.fromstring(document.encode("utf-8"))

    sheet = csv_findings.render(fleet)
    rows = list(csv.reader(io.StringIO(sheet, newline="")))
    assert len(rows) == 1 + len(fleet["findings"]) + sum(1 for entry in fleet["coverage"] if entry["required"])
    assert {len(row) for row in rows} == {len(csv_findings.COLUMNS)}
    assert not [cell for row in rows for cell in row if re.match("\\s*[=+@|%\uff1d\uff0b\uff20-]", cell)]
    assert sheet.count("\r\n") == len(rows) and sheet.count("\n") == len(rows)

    summary = markdown.render(fleet)
    plain = markup_of(markdown.render(fleet_of("plain")))
    assert set(markup_of(summary)) <= set(plain) and markup_of(summary).count("heading_open") == plain.count("heading_open")
    for live in ("@", "://", "www."):
        assert live not in outside_code(summary)

    metrics = prometheus.render(fleet)
    assert all(line.startswith("#") or re.fullmatch(r'[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? -?\d+', line) for line in metrics[:-1].split("\n"))
    for shown in (page, document, sheet, summary, metrics, text.render(fleet), text.causes(fleet)):
        shown.encode("utf-8")
        assert not ACTS.search(shown), ACTS.search(shown)
    for shown in (text.render(fleet), text.causes(fleet)):
        assert max(map(text.columns, shown.splitlines())) <= 80


def parsed(shown):
    return markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(shown)


def markup_of(shown):
    """What the text is made of, code spans, emptiness and line breaks within cells apart."""
    kinds = [token.type for token in parsed(shown) if token.type != "inline"]
    inner = {child.type for token in parsed(shown) for child in token.children or ()}
    raw = {child.content for token in parsed(shown) for child in token.children or () if child.type == "html_inline"}
    assert inner <= {"text", "code_inline", "html_inline", "text_special"} and raw <= {"<br>"}, (inner, raw)
    return kinds


def outside_code(shown):
    return "".join(child.content for token in parsed(shown) for child in token.children or () if child.type in ("text", "text_special"))


@pytest.mark.parametrize("said", ["-5", "+3.5", "12", "x=1", "nvidia:3"])
def test_a_number_and_an_ordinary_text_stay_as_they_are_in_a_sheet(said):
    assert csv_findings.cell(said) == '"%s"' % said


@pytest.mark.parametrize("said", ["=1", "-1-1", "@x", "\uff1d1", "'=1", ' "=1', "\t=1", "|x", "%x"])
def test_a_formula_is_none(said):
    assert csv_findings.cell(said).startswith("\"'")


def test_the_summary_says_what_the_report_says():
    shown = markdown.render(samples.twelve())
    assert shown.startswith("## 3 of 12 nodes rejected, 2 incomplete\n")
    assert "| 3 | 2 | 2 | 5 |" in shown
    assert "| fail | 7 of 8 accelerators are there<br>with it: `detection-disagrees`, `link-down` (`accelerator-count`) | `gpu-a02` |" in shown
    assert "Layers not asked: 2 Kubernetes inventory" in shown
    assert len(markdown.render(samples.many(500))) < 8000


def test_a_line_of_the_sheet_per_finding_and_missing_answer():
    rows = list(csv.DictReader(io.StringIO(csv_findings.render(samples.twelve()), newline="")))
    assert {
        "level": "fail",
        "rule": "pcie-width",
        "node": "gpu-m03",
        "verdict": "rejected",
        "subject": "amd:6",
        "expected": "16 lanes (suite)",
    }.items() <= next(row for row in rows if row["rule"] == "pcie-width" and row["level"] == "fail").items()
    assert any(row["level"] == "unknown" and row["node"] == "npu-c02" and row["rule"] == "tool-answers" for row in rows)
