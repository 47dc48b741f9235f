# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""baseline.json of a run: what its nodes were when they were last accepted. Written once, by history/snapshot.py; every fold reads it alone."""

from __future__ import annotations

import json
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.parts import Part
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet.statistics import Reference
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError

SCHEMA = "fleetproof.accelerator/baseline/v1"
NAME = "baseline.json"
LARGEST = 2**30  # bytes
KEY = ("metric", "unit", "better", "method", "product")
PAIR = ("metric", "unit", "better", "method", "rail", "peer", "peer_rail")


class Own(NamedTuple):
    """What a part measured in accepted runs: the last ones, and the first ones, from which many small steps are seen."""

    recent: Reference
    first: Reference


class Accepted(NamedTuple):
    """A machine when it was last accepted."""

    run_id: str
    at: str
    name: str  # that it had then
    system_serial: object
    prints: dict  # rule -> value
    parts: tuple  # of Part


class Past(NamedTuple):
    """What is known of a node from earlier runs."""

    accepted: object  # Accepted, None = it never was
    own: dict  # (key of fleet/measurements.py, kind, part or id) -> Own
    cohort: str
    references: dict  # key -> Reference, of the cohort's accepted nodes
    pairs: dict  # as PAIR names it -> Own, of what was measured from the node to others


NOTHING = Past(None, {}, "", {}, {})


def load(run_path):
    """node -> Past; None where the run has no baseline."""
    path = run_path / NAME
    try:
        document = json.loads(regular_file.text(path, LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError("%s cannot be read: %s" % (path, error)) from None
    if document.__class__ is not dict or document.get("schema") != SCHEMA:
        raise RunError("%s: schema: found %r, allowed: %s" % (path, document.get("schema") if document.__class__ is dict else None, SCHEMA))
    try:
        cohorts = {name: {_key(m): _reference(m["accepted"]) for m in listed} for name, listed in document["cohorts"].items()}
        return {node: _past(entry, document["prints"], cohorts) for node, entry in document["nodes"].items()}
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise RunError("%s does not fit its schema: %s: %s" % (path, error.__class__.__name__, error)) from None


def _key(entry):
    return tuple(str(entry[name]) for name in KEY)


def _reference(entry):
    return Reference(float(entry["middle"]), float(entry["spread"]), int(entry["number"]))


def _past(entry, prints, cohorts):
    accepted = entry["accepted"]
    if accepted is not None:
        held = tuple(Part(*(part[name] for name in Part._fields)) for part in accepted["parts"])
        accepted = Accepted(accepted["run_id"], accepted["at"], accepted["name"], accepted["system_serial"], dict(prints[accepted["prints"]]), held)
    own = {}
    for m in entry["measurements"]:
        own[_key(m), m["kind"], m["part"]] = Own(_reference(m["recent"]), _reference(m["first"]))
    pairs = {tuple(str(m[name]) for name in PAIR): Own(_reference(m["recent"]), _reference(m["first"])) for m in entry.get("pairs", ())}
    return Past(accepted, own, entry["cohort"] or "", cohorts.get(entry["cohort"], {}), pairs)
