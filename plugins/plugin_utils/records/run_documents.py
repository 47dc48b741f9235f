# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight documents of the nodes of a run, and whether the run fails by their rule."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.fold import load
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError

MOST_TOLD = 50  # of several nodes; a fleet may fail in thousands of places


def make(run, node, manufacturers=None):
    """The document of a node, from its files. manufacturers: those asked about; else the policy filed with the run says, else all nine."""
    if manufacturers is None:
        filed = run.policy(node).get("accelerator_manufacturers")
        manufacturers = [name for name in filed if isinstance(name, str)] if isinstance(filed, list) else None
    return preflight_document.document(load(run, node), manufacturers, stamp=run.run.get("created"))


def roster(run, nodes=None):
    """The nodes asked for; RunError for one that the run does not know."""
    known = run.roster
    strangers = sorted(set(nodes or ()) - set(known))
    if strangers:
        raise RunError("nodes: found %s, allowed: nodes of run %s: %s" % (", ".join(strangers[:5]), run.run_id, ", ".join(known[:20]) or "none"))
    return sorted(set(nodes or known))


def failures(documents):
    """documents: node -> document. What fails, each with its node where there are several."""
    several = len(documents) > 1
    return ["%s: %s" % (node, text) if several else text for node, made in documents.items() for text in preflight_document.failures(made)]


def message(told, nodes):
    """nodes: how many there are. Of one node the line is the operator's, whatever its length."""
    most = MOST_TOLD if nodes > 1 else len(told)
    more = ["and %d more" % (len(told) - most)] if len(told) > most else []
    return preflight_document.message([*told[:most], *more])
