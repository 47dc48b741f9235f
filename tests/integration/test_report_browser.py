# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in a real browser: nothing of it runs but its own script, links open what they name, filter and sort work, and it is whole without script."""

from __future__ import annotations

import json

import browser
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import html, words
from ansible_collections.fleetproof.accelerator.tests.unit import fleet_samples as samples
from ansible_collections.fleetproof.accelerator.tests.unit.test_render_hostile import NASTY, fleet_of

pytestmark = pytest.mark.skipif(browser.found() is None, reason="no Chromium here")

SHOWN = "[...document.querySelectorAll('#grid-table tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
MATCHING = "[...document.querySelectorAll('details.node')].filter(d => !d.hidden).length"
FRAME = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"


@pytest.fixture(scope="module")
def chromium():
    with browser.Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    twelve = samples.twelve()
    values = [["gpu-a%02d" % (1 + i // 8 % 4), "nvidia:%d" % (i % 8), 9.5 + i / 40] for i in range(32)]
    values[0][2] = 4.0
    twelve["measurements"] = [samples.series("gemm", values, cohort="8x NVIDIA H100 80GB HBM3")]
    names = ["gpu-a%02d" % i for i in range(1, 5)]
    twelve["matrices"] = [
        samples.matrix("write", [[name, "r0"] for name in names], [[None if a == b else 2.0 - 0.5 * (a == 2) for a in range(4)] for b in range(4)])
    ]
    made = {"twelve": twelve, "many": samples.many(400), "hostile": fleet_of(" ".join(NASTY))}
    for name, fleet in made.items():
        (folder / (name + ".html")).write_text(html.render(fleet), encoding="utf-8")
    return folder


def opened(chromium, pages, name, fragment="", script=True):
    chromium.call("Page.navigate", url="about:blank")
    chromium.wait("Page.loadEventFired")
    chromium.heard.clear()
    chromium.without_script(not script)
    chromium.open(pages / (name + ".html"), fragment)
    if script:
        chromium.value(FRAME)
    return chromium


def choose(page, name, value):
    page.value(
        "(() => { let e = document.getElementById(%s); e.value = %s; e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input')); })()"
        % (json.dumps(name), json.dumps(value))
    )


@pytest.mark.parametrize("name", ["twelve", "many", "hostile"])
def test_nothing_complains_and_nothing_else_runs(chromium, pages, name):
    page = opened(chromium, pages, name)
    assert page.complaints() == []
    assert page.value("document.scripts.length") == 1 and page.value("document.images.length") == 0
    assert page.value("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("width", [500, 1280, 2200])
@pytest.mark.parametrize("name", ["twelve", "hostile"])
def test_no_part_of_the_page_is_wider_than_the_window(chromium, pages, name, width):
    page = opened(chromium, pages, name)
    page.resize(width, 900)
    try:
        page.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        page.value(FRAME)
        assert page.value("document.documentElement.scrollWidth") <= width
    finally:
        page.resize(1280, 900)


def test_the_answer_is_in_the_first_screen(chromium, pages):
    page = opened(chromium, pages, "twelve")
    assert page.value("document.querySelector('.short').getBoundingClientRect().bottom") < 900
    text = page.value("document.querySelector('.short').innerText")
    for part in ("7 of 8 accelerators are there", "gpu-a02", "Reseat or replace the missing card"):
        assert part in text


def test_filter_by_text_verdict_cohort_and_rule(chromium, pages):
    page = opened(chromium, pages, "many")
    everything = page.value("document.querySelectorAll('details.node').length")
    assert everything == 400
    choose(page, "grid-rule", "row-remap-pending")
    asked = {verdict["node"]: verdict["rules"]["row-remap-pending"]["outcome"] for verdict in samples.many(400)["verdicts"]}
    wanted = [node for node, outcome in asked.items() if outcome in ("found", "unknown")]
    assert sorted(page.value(SHOWN)) == sorted(wanted)
    assert page.value("document.getElementById('grid-said').textContent") == "%d of 400 nodes match" % len(wanted)
    assert page.value("[...document.querySelectorAll('details.node')].filter(d => !d.hidden).length") == len(wanted)
    assert page.value("[...document.querySelectorAll('#wrong .finding')].filter(d => !d.hidden).length") < page.value(
        "document.querySelectorAll('#wrong .finding').length"
    )
    choose(page, "grid-rule", "")
    # A serial that only the folded detail of one node has.
    choose(page, "grid-text", "SN000233")
    assert len(page.value(SHOWN)) == 1
    choose(page, "grid-text", "")
    choose(page, "grid-cohort", "8x AMD Instinct MI300X")
    assert len(page.value(SHOWN)) == 99  # one of the hundred did not answer: it is in no cohort
    page.value("document.querySelector('#grid-tools input[value=accepted]').click()")
    assert 0 < len(page.value(SHOWN)) < 99
    page.value("document.getElementById('grid-clear').click()")
    assert page.value(MATCHING) == 400
    # More rows than a browser lays out at once are there on request, and sorting takes all of them.
    assert len(page.value(SHOWN)) == html.SHOWN_GRID and "the first 250" in page.value("document.getElementById('grid-said').textContent")
    page.value("document.querySelector('#grid-table thead button').click()")
    page.value("document.querySelector('#grid-table thead button').click()")
    names = sorted((verdict["node"] for verdict in samples.many(400)["verdicts"]), reverse=True)
    assert page.value(SHOWN) == names[: html.SHOWN_GRID]
    page.value("document.getElementById('grid-more').click()")
    assert page.value(SHOWN) == names


def test_sort_by_keyboard_says_so(chromium, pages):
    page = opened(chromium, pages, "twelve")
    page.value("document.querySelector('#grid-table thead button').focus()")
    page.key("Enter", 13, "\r")
    assert page.value("document.querySelector('#grid-table thead th').getAttribute('aria-sort')") == "ascending"
    assert page.value(SHOWN) == sorted(page.value(SHOWN))
    page.key("Enter", 13, "\r")
    assert page.value("document.querySelector('#grid-table thead th').getAttribute('aria-sort')") == "descending"
    assert page.value(SHOWN) == sorted(page.value(SHOWN), reverse=True)


@pytest.mark.parametrize("name", ["twelve", "many"])
def test_a_link_opens_what_it_names(chromium, pages, name):
    fleet = samples.twelve() if name == "twelve" else samples.many(400)
    finding = next(finding for finding in fleet["findings"] if finding["rule"] == "pcie-width")
    places = [words.anchor("node", finding["node"]), "finding-pcie-width--" + finding["node"], words.anchor("cohort", fleet["cohorts"][0]["name"])]
    for anchor in places:
        page = opened(chromium, pages, name, "#" + anchor)
        target = "document.getElementById(%s)" % json.dumps(anchor)
        assert page.value("%s.checkVisibility()" % target), anchor
        assert page.value("Math.abs(%s.getBoundingClientRect().top) < innerHeight" % target), anchor
    page = opened(chromium, pages, name, "#" + places[0])
    verdict = next(verdict for verdict in fleet["verdicts"] if verdict["node"] == finding["node"])
    assert verdict["devices"][0]["serial"] in page.value("document.getElementById(%s).innerText" % json.dumps(places[0]))


@pytest.mark.parametrize("name", ["twelve", "many"])
def test_it_is_whole_without_script(chromium, pages, name):
    page = opened(chromium, pages, name, script=False)
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    text = page.call("DOM.getOuterHTML", nodeId=root)["outerHTML"]
    fleet = samples.twelve() if name == "twelve" else samples.many(400)
    rows = page.call("DOM.querySelectorAll", nodeId=root, selector=".grid tbody tr")["nodeIds"]
    assert len(rows) == len(fleet["verdicts"])
    tables = page.call("DOM.querySelectorAll", nodeId=root, selector="details.node table.devices")["nodeIds"]
    assert len(tables) == sum(1 for verdict in fleet["verdicts"] if verdict["devices"])
    assert fleet["verdicts"][-2]["facts"]["serial"] in text
    page.without_script(False)


def test_plots_and_matrices_say_in_words_what_they_show(chromium, pages):
    page = opened(chromium, pages, "twelve")
    label = page.value("document.querySelector('.plot svg').getAttribute('aria-label')")
    assert "median 10, " in label and "1 value beyond" in label and "floor 5" in label
    assert page.value("document.querySelector('.plot svg a').getAttribute('href')") == "#node-gpu-a01"
    assert page.value("[...document.querySelectorAll('.heat .h3, .heat .h2')].map(c => c.textContent)") == ["1.5"] * 3
    assert page.value("document.querySelectorAll('.heat thead th[scope=col]').length") == 4


def test_every_control_has_a_name_and_focus_is_seen(chromium, pages):
    page = opened(chromium, pages, "twelve")
    page.value("document.querySelector('.plot').scrollIntoView()")
    page.value(FRAME)
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in nodes:
        if not node.get("ignored"):
            roles.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("link", "button", "searchbox", "checkbox", "combobox", "table", "image"):
        assert roles.get(role) and all(roles[role]), role
    assert {"main", "navigation", "search"} <= set(roles)
    page.key("Tab", 9)
    assert page.value("document.activeElement.className") == "skip"
    assert page.value("getComputedStyle(document.activeElement).outlineStyle") != "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(chromium, pages, scheme):
    page = opened(chromium, pages, "twelve")
    page.media("screen", scheme)
    try:
        low = page.value(CONTRAST)
    finally:
        page.media()
    assert low == []


CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
  const light = c => { const [r, g, b] = [0, 1, 2].map(i => { const v = c[i] / 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => {
    for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; }
    return [255, 255, 255, 255];
  };
  const low = new Set();
  for (const e of document.querySelectorAll('p, td, th, li, b, span.chip, a, h1, h2, h3, code, dt, dd, figcaption, summary, label')) {
    if (!e.textContent.trim() || !e.checkVisibility() || e.matches('.self')) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) low.add(e.tagName + '.' + e.className + ' ' + ((a + .05) / (b + .05)).toFixed(2));
  }
  return [...low];
})()
"""
