# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about measurements: against floors of the product, the node's other devices, and the cohort."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import measurements, statistics
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean

DATA = Path(__file__).parent.parent / "data" / "floors.yml"
_GUARD = "our choice: five times the spread of means that good parts of one fleet show (Primus: 1 %), and half of what tuning explains"
_SIGMAS = (
    "suite: robust outlier rule of Iglewicz and Hoaglin: 3.5 scaled median absolute deviations; more where so many are compared that chance alone exceeds it"
)
_FEW = "our choice: as rare among eight as 3.5 is among many (Student's t)"
_FAIL = "our choice: a loss that a synchronous job cannot hide"
_REMEDY = "Run the measurement again on this part alone; when it stays slow, look at its clocks, power, temperature and links, then swap it with a neighbor."
_COMMON = {"layer": 1, "level": "warn", "reads": (), "remedy": _REMEDY}


def _parameters(least, sigmas, source, fewest):
    return {
        "least_percent": Parameter("number", least, "%", _GUARD),
        "fail_percent": Parameter("number", 15, "%", _FAIL),
        "sigmas": Parameter("number", sigmas, "standard deviations", source),
        **fewest,
    }


@lru_cache(maxsize=1)
def _floors():
    listed = data_file.load(DATA)["floors"]
    return [(one["metric"], one["unit"], one["better"], one["manufacturer"], re.compile(one["name"]), one) for one in listed]


@lru_cache(maxsize=4096)
def floor(metric, unit, better, manufacturer, product):
    """The line of data/floors.yml for a measurement, None without one."""
    for name, in_unit, direction, maker, pattern, line in _floors():
        if (name, in_unit, direction, maker) == (metric, unit, better, manufacturer) and pattern.search(product):
            return line
    return None


# What makes a device or its links slow, and is found by rules of its own.
SLOWED = (
    "throttle-hardware", "clocks-lowered", "power-limit", "temperature-margin", "pcie-width", "pcie-path-width", "links-up", "link-speed",
)  # fmt: skip


@rule(id="measured-floor", title="Measurements reach the floor of the product", scope="node", follows=SLOWED, **_COMMON)
def measured_floor(view, p):
    ones, _problems = view.once(measurements.read)
    outcomes = []
    makers = {device.id: device.manufacturer for device in view.packages}
    known = sorted(set(makers.values()))
    for one in ones:
        metric, unit, better, method, product = one.key
        maker = makers.get(one.id) or (known[0] if len(known) == 1 else "")
        line = floor(metric, unit, better, maker, product)
        subject = (one.kind, one.id)
        if line is None:
            outcomes.append(not_applicable("%s: no floor is known for %s" % (metric, product or "this part"), subject))
            continue
        lower = better == statistics.LOWER
        for level in ("fail", "warn"):
            limit = line[level]
            if one.value > limit if lower else one.value < limit:
                text = "%s: %.4g %s, the floor of the product is %.4g" % (one.name, one.value, unit, limit)
                expected = expectation(limit, "%s at %s" % (unit, "most" if lower else "least"), "suite: %s" % line["source"])
                outcomes.append(found(clean(text, 300), round(one.value, 6), expected, level=level, subject=subject, evidence={"method": method}))
                break
        else:
            outcomes.append(passed(subject))
    return outcomes


@rule(
    id="measured-in-node",
    title="No device is slower than its node's others",
    scope="node",
    parameters=_parameters(10, 6, _FEW, {"fewest": Parameter("int", 3, "devices", "suite: Infera preflight compares from 3 devices on")}),
    follows=("measured-in-cohort", "measured-floor", *SLOWED),
    **_COMMON,
)
def measured_in_node(view, p):
    ones, _problems = view.once(measurements.read)
    return measurements.in_node(ones, p) or PASSED


@rule(
    id="measured-in-cohort",
    title="No node and no device is slower than its cohort",
    scope="cohort",
    compare="measurements",
    parameters=_parameters(
        5,
        3.5,
        _SIGMAS,
        {
            "fewest_nodes": Parameter("int", 5, "nodes", "our choice: with fewer a median and its spread are luck"),
            "unsteady_percent": Parameter("number", 8, "%", "our choice: wider than the noise of repeats of any benchmark fit to judge 5 %"),
        },
    ),
    follows=SLOWED,
    **_COMMON,
)
def measured_in_cohort(view, p):
    ones, _problems = view.once(measurements.read)
    if not ones:
        raise NoAnswer("unknown", "no measurement of this node can be used")
    return measurements.pack(ones)


@rule(id="measured-validly", title="Every measurement can be used", scope="node", **_COMMON)
def measured_validly(view, p):
    _ones, problems = view.once(measurements.read)
    return problems or PASSED


@rule(
    id="measured-pairs",
    title="No node, rail, port or link is slow between nodes",
    scope="fleet",
    compare="pairs",
    parameters={
        "least_percent": Parameter("number", 10, "%", "our choice: half of a lost lane or rail"),
        "drift_percent": Parameter("number", 10, "%", "our choice: against the link's own accepted past as against the other links"),
        "fail_percent": Parameter("number", 15, "%", _FAIL),
        "sigmas": Parameter("number", 3.5, "standard deviations", _SIGMAS),
    },
    layer=4,
    level="warn",
    reads=(),
    remedy="Swap the cable or transceiver of the port it names; for a node, look at its PCIe path, IOMMU and NIC firmware; for a rail, at its switch.",
)
def measured_pairs(view, p):
    return ""
