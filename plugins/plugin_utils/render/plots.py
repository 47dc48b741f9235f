# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of numbers in the page: strip plots of a cohort as inline SVG, matrices as tables with shades. Each says in words what it shows."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import words as w
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render.node_parts import markup
from markupsafe import Markup

WIDTH, LEFT, RIGHT, TOP, DEEP = 760, 14, 14, 24, 46
NAMED = 60  # bad values that are links of their own; further ones are drawn alike and stand in the table
LISTED = 10
OPEN_ENDS = 16  # a larger matrix is folded away


def _number(value):
    return "%.4g" % value if value.__class__ in (int, float) else "?"


def _worse(value, reference, better):
    """The loss of a value as a share of the reference; negative is better."""
    return ((reference - value) if better == "higher" else (value - reference)) / reference


def _below(value, bound, better):
    return value < bound if better == "higher" else value > bound


class _Scale:
    def __init__(self, numbers):
        self.low, self.high = min(numbers), max(numbers)
        room = (self.high - self.low) * 0.03 or abs(self.high) * 0.01 or 1
        self.low, self.high = self.low - room, self.high + room

    def x(self, value):
        return round(LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT), 1)


def strips(fleet):
    """[{anchor, cohort, ...}] for the template, those with bad values first."""
    taken, made = set(), []
    for given in fleet.get("measurements") or []:
        name = w.anchor("measured", "%s-%s" % (w.words(given.get("cohort")), w.words(given.get("metric"))))
        while name in taken:
            name += "-"
        taken.add(name)
        made.append(_strip(given, name))
    return sorted(made, key=lambda strip: -strip["bad"])


def _strip(given, name):
    better, reference, floor = given["better"], given["reference"], given.get("floor")
    unit, sign = w.words(given["unit"]), 1 if better == "higher" else -1
    limit = reference * (1 - sign * given["limit"])
    values = given["values"]
    bad = [one for one in values if _below(one[2], limit, better) or (floor and _below(one[2], floor["warn"], better))]
    is_bad = {(one[0], one[1]) for one in bad}
    marks = [(reference, "ref", "median", 0), (limit, "lim", "limit", 1)]
    if floor:
        marks += [(floor["fail"], "floor", "floor, fail", 2), (floor["warn"], "floor w", "floor, warn", 3)]
    scale = _Scale([one[2] for one in values] + [mark[0] for mark in marks])
    height = TOP + DEEP + (46 if floor else 22)
    parts = []
    for value, kind, label, row in marks:
        x = scale.x(value)
        parts.append('<path class="%s" d="M%s %dV%d"/>' % (kind, x, TOP - 6, TOP + DEEP + 4))
        y = (TOP - 11, TOP + DEEP + 16, TOP + DEEP + 28, TOP + DEEP + 40)[row]
        end, x = (' text-anchor="end"', x - 3) if x > WIDTH * 0.6 else ("", x + 3)
        parts.append('<text x="%s" y="%d"%s>%s %s</text>' % (x, y, end, label, _number(value)))
    good = "".join("M%s %sh0" % (scale.x(one[2]), _lane(place)) for place, one in enumerate(values) if (one[0], one[1]) not in is_bad)
    if good:
        parts.append('<path class="dot" d="%s"/>' % good)
    for place, (node, subject, value) in enumerate(bad):
        shape = "M%s %sl5 5-5 5-5-5z" % (scale.x(value), _lane(place) - 5)
        if place < NAMED:
            label = markup("%s: %s %s" % (" ".join(filter(None, (node, subject))), _number(value), unit))
            parts.append('<a href="#%s"><path class="out" d="%s"><title>%s</title></path></a>' % (w.anchor("node", node), shape, label))
        else:
            parts.append('<path class="out" d="%s"/>' % shape)
    nodes = len({one[0] for one in values})
    shown = "" if given["number"] == len(values) else ", %d of them drawn" % len(values)
    told = [one[2] for one in values]
    about = "%s on %s%s, %s to %s: median %s, spread %.1f %%, limit %s (%.1f %% %s)" % (
        w.plural(given["number"], "value"),
        w.plural(nodes, "node"),
        shown,
        _number(min(told)),
        _number(max(told)),
        _number(reference),
        given["spread"] * 100,
        _number(limit),
        given["limit"] * 100,
        "below" if better == "higher" else "above",
    )
    about += "; floor %s, warning at %s (%s)" % (_number(floor["fail"]), _number(floor["warn"]), w.words(floor["source"])) if floor else "; no floor is known"
    label = "%s in %s, %s is better; %s. %s." % (w.words(given["metric"]), unit, better, about, _told(bad))
    svg = '<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' % (WIDTH, height, markup(label), "".join(parts))
    return {
        "anchor": name,
        "metric": given["metric"],
        "unit": unit,
        "better": better,
        "product": given["product"],
        "cohort": given["cohort"],
        "method": given["method"],
        "about": about,
        "bad": len(bad),
        "told": _told(bad),
        "svg": Markup(svg),
        "worst": [(node, subject, _number(value), "%+.1f %%" % (100 * (value - reference) / reference)) for node, subject, value in values[:LISTED]],
    }


def _told(bad):
    return "%s beyond the limit or the floor" % w.plural(len(bad), "value") if bad else "None beyond the limit or the floor"


def _lane(place):
    """Points beside each other so that they hide each other less."""
    return TOP + 4 + (place * 5 % 8) * (DEEP - 8) // 7


def matrices(fleet):
    """[{metric, about, table, folded}] for the template."""
    return [_matrix(given) for given in fleet.get("matrices") or []]


def _matrix(given):
    reference, limit, better = given["reference"], given["limit"], given["better"]
    ends = ["/".join(filter(None, map(w.words, end))) for end in given["ends"]]
    bad, rows = 0, []
    for name, end, values in zip(ends, given["ends"], given["values"]):
        cells = []
        for value in values:
            if value is None:
                cells.append('<td class="none">–')
                continue
            lost = _worse(value, reference, better)
            shade = 0 if lost < limit / 2 else 1 if lost < limit else 2 if lost < 2 * limit else 3
            bad += shade > 1
            cells.append('<td class="h%d">%s' % (shade, _number(value)))
        rows.append('<tr><th scope="row"><a href="#%s">%s</a>%s' % (w.anchor("node", w.words(end[0])), markup(name), "".join(cells)))
    heads = "".join('<th scope="col"><span>%s</span>' % markup(name) for name in ends)
    about = "%d pairs of %d ends: median %s %s, limit %.1f %%" % (given["pairs"], given["ends_number"], _number(reference), w.words(given["unit"]), limit * 100)
    if given["ends_number"] > len(ends):
        about += "; the %d worst ends are shown" % len(ends)
    caption = "%s in %s, %s is better. Rows: from; columns: to. ▼ = beyond the limit" % (w.words(given["metric"]), w.words(given["unit"]), better)
    table = '<table class="heat"><caption>%s</caption><thead><tr><td>%s<tbody>%s</table>' % (markup(caption), heads, "".join(rows))
    told = "%s beyond the limit" % w.plural(bad, "cell")
    return {"metric": given["metric"], "about": about, "told": told, "folded": len(ends) > OPEN_ENDS, "table": Markup(table)}
