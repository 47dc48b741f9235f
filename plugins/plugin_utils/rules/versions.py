# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about versions that belong together: the site's frozen matrix, and what vendors say of driver, kernel, firmware and runtime."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import compatibility, data_file, matrix
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    PASSED,
    NoAnswer,
    Outcome,
    expectation,
    found,
    not_applicable,
    passed,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import show

BRANCHES = Path(__file__).parent.parent / "data" / "driver_branches.yml"
_SITE = "site policy"
_OF_ONE = re.compile(r"\s*(accelerators|allocation|paths|slicing)\.(\w+)")


def _absent(view, line):
    """Why a line does not arise: it selects from a manufacturer that this node has nothing of."""
    of = _OF_ONE.match(line.select)
    if not of or ".".join(of.groups()) in view.sections:
        return ""
    try:
        return "" if of.group(2) in view.pci() else "%s: no %s accelerator on this node" % (line.name, of.group(2))
    except NoAnswer:
        return ""


def _report(view):
    report = view.derived.get("report")
    if report is None:
        report = view.derived["report"] = matrix.nested(view.sections)
    return report


@rule(
    id="version-matrix",
    layer=1,
    level="fail",
    title="Versions and settings are those of the site's matrix",
    reads=(),
    scope="node",
    remedy="Bring the node to what the line allows, or change the line (accelerator_version_matrix) where the site has moved on.",
)
def version_matrix(view, p):
    lines = [line for line in view.policy.matrix if line.pin]
    if not lines:
        return not_applicable("accelerator_version_matrix pins nothing")
    report, told = _report(view), []
    for line in lines:
        subject = ("version", line.name)
        absent = _absent(view, line)
        if absent:
            told.append(not_applicable(absent, subject))
            continue
        values, reason = matrix.selected(line, report)
        if reason:
            told.append(Outcome(values, reason, subject))
            continue
        odd = sorted({text for text in values if not matrix.fits(line, text)})
        if odd:
            seen, allowed = ", ".join(odd[:4]), matrix.wanted(line)
            told.append(found("%s is %s, allowed: %s" % (line.name, seen, allowed), seen, expectation(allowed, "", _SITE), level=line.level, subject=subject))
        else:
            told.append(passed(subject))
    return told


@rule(
    id="cohort-version-matrix",
    layer=1,
    level="warn",
    title="Same values of the matrix's lines that are not pinned",
    reads=(),
    scope="cohort",
    remedy="Bring the odd nodes to the value the cohort has, or pin the line (accelerator_version_matrix).",
)
def cohort_version_matrix(view, p):
    lines = [line for line in view.policy.matrix if not line.pin]
    if not lines:
        raise NoAnswer("not_applicable", "accelerator_version_matrix has no line without a pin")
    report, parts, first = _report(view), [], None
    for line in lines:
        if _absent(view, line):
            continue
        values, reason = matrix.selected(line, report)
        if reason:
            first = first or (values, reason)
        else:
            parts.append("%s %s" % (line.name, ", ".join(sorted(set(values)))))
    if not parts or (first and first[0] == "unknown"):
        raise NoAnswer(*(first or ("not_applicable", "its lines select from accelerators that this node has none of")))
    return "; ".join(parts)


@rule(
    id="version-compatibility",
    layer=1,
    level="warn",
    title="Driver, kernel, firmware and runtime are a combination that the vendor supports",
    reads=("accelerators", "host"),
    scope="node",
    remedy="Install a combination that the named document lists; what outruns the driver needs a newer driver, not the other way round.",
)
def version_compatibility(view, p):
    if not view.groups:
        raise NoAnswer(view.device_gaps[0].outcome, view.device_gaps[0].reason)
    told = []
    for group in view.groups:
        subject = ("manufacturer", group.manufacturer)
        if not group.packages:
            continue
        lines = compatibility.of(group.manufacturer)
        if not lines:
            told.append(unknown("%s: no vendor document is in the data" % group.manufacturer, subject))
            continue
        silent, covered, facts = None, False, compatibility.Facts(group)
        for line in lines:
            verdict, text = compatibility.judge(line, facts)
            if verdict == "bad":
                told.append(
                    found(
                        text,
                        text.partition(",")[0],
                        expectation(line["needs_text"], "", "vendor document: %s" % line["source"]),
                        level=line.get("level"),
                        subject=subject,
                    )
                )
            elif verdict == "good":
                covered = covered or line["covers"]
            elif verdict == "unknown":
                silent = silent or text
        bad = any(one.outcome == "found" and one.subject == subject for one in told)
        if not bad:
            # Outside of the data nothing is compatible: it is not known.
            told.append(passed(subject) if covered and not silent else unknown(show(silent or "%s: outside of the data" % group.manufacturer, 300), subject))
    return told or not_applicable("no accelerator was detected")


@lru_cache(maxsize=1)
def branches():
    """{manufacturer: {branch: (kind, last month)}}."""
    told = data_file.load(BRANCHES)
    return {maker: {str(b): (line["kind"], str(line["until"])) for line in lines for b in line["branches"]} for maker, lines in told.items()}


@rule(
    id="driver-maintained",
    layer=1,
    level="info",
    title="The driver's branch is still maintained",
    reads=("accelerators",),
    scope="group",
    remedy="Plan the move to a branch with long term support; what is found in the old one is not repaired there any more.",
)
def driver_maintained(group, p):
    known = branches().get(group.manufacturer)
    if known is None:
        return not_applicable("%s: no vendor document tells how long a driver is maintained" % group.manufacturer)
    branch = re.match(r"\d{1,4}(?=\.)", group.text("driver", "version"))
    now = re.match(r"\d{4}-\d\d", group.text("timestamp"))
    kind, until = known.get(branch.group() if branch else "", ("", ""))
    if not kind or not now:
        return unknown("the document does not list driver branch %s" % (branch.group() if branch else "?") if now else "the time of the reading is not known")
    if now.group() <= until:
        return PASSED
    text = "Driver branch %s (%s) was maintained until %s" % (branch.group(), kind, until)
    origin = "vendor document: NVIDIA Data Center Drivers, Supported Drivers and CUDA Toolkit Versions"
    return found(text, branch.group(), expectation(", ".join(sorted(b for b, told in known.items() if now.group() <= told[1])), "", origin))
