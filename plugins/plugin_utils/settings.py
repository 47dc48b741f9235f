# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory variables that say how a node is read. They are held against what is allowed before anything is read."""

from __future__ import annotations

import difflib

from ansible.module_utils.parsing.convert_bool import boolean
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.container_command import PULL
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import ascend
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.container_runtime import RUNTIMES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import roster
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.modules import MODULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy

_LONGEST = 86400
PORTS = tuple(ascend.OPTIONS["ports"]["choices"])
EXIT_RULES = ("verdict", "allocation")  # what a run fails for: a node that is not accepted, or a detection or row that is unavailable


def readable_manufacturers():
    """Manufacturers that have a reading module."""
    return [name.removesuffix("_info") for name in sorted(MODULES) if MODULES[name].sections[0].startswith("accelerators.")]


def _manufacturers(value):
    allowed = readable_manufacturers()
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ValueError("a list of: %s" % ", ".join(allowed))
    for name in value:
        if name not in allowed:
            near = difflib.get_close_matches(str(name), allowed, 1)
            raise ValueError("a list of: %s%s" % (", ".join(allowed), "; the nearest to %s is %s" % (name, near[0]) if near else ""))


def _seconds(value):
    allowed = "whole seconds from 1 to %d" % _LONGEST
    try:
        seconds = int(str(value))
    except ValueError:
        raise ValueError(allowed) from None
    if not 1 <= seconds <= _LONGEST:
        raise ValueError(allowed)


def _bool(value):
    try:
        boolean(value)
    except TypeError:
        raise ValueError("true or false") from None


def _exit_rule(value):
    if value not in EXIT_RULES:
        raise ValueError(" | ".join(EXIT_RULES))


def percent(value):
    """A share of the nodes; ValueError says what is allowed."""
    allowed = "a number of percent from 0 to 100"
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(allowed) from None
    if not 0 <= number <= 100:
        raise ValueError(allowed)
    return number


def _pull(value):
    if value not in PULL:
        raise ValueError(" | ".join(PULL))


def _ports(value):
    if value not in PORTS:
        raise ValueError(" | ".join(PORTS))


def _text(value):
    if not isinstance(value, str) or value.startswith("-"):
        raise ValueError("the name of an image")


def _engine(value):
    if value not in RUNTIMES:
        raise ValueError(" | ".join(RUNTIMES))


def _directory(value):
    if not isinstance(value, str) or not value.startswith("/"):
        raise ValueError("an absolute path")


def _directories(value):
    if isinstance(value, str) or not isinstance(value, (list, tuple)) or not all(isinstance(one, str) and one.startswith("/") for one in value):
        raise ValueError("a list of absolute paths")


def _listed_directories(value):
    _directories([one.strip() for one in value.split(",")] if isinstance(value, str) else value)  # a survey has no lists


CHECKS = {
    "accelerator_allocation": _bool,
    "accelerator_allow_driver_writes": _bool,
    "accelerator_bmc": _bool,
    "accelerator_cdi_directories": _directories,
    "accelerator_container_engine": _engine,
    "accelerator_deadline": _seconds,
    "accelerator_directories": _listed_directories,
    "accelerator_evidence": _bool,
    "accelerator_exit_rule": _exit_rule,
    "accelerator_host_root": _directory,
    "accelerator_kv_cache_path": _directory,
    "accelerator_manufacturers": _manufacturers,
    "accelerator_npu_ports": _ports,
    "accelerator_probe": _bool,
    "accelerator_probe_deadline": _seconds,
    "accelerator_probe_image": _text,
    "accelerator_probe_pull": _pull,
    "accelerator_probe_seconds": _seconds,
    "accelerator_quorum_percent": percent,
    "accelerator_record": _bool,
    "accelerator_slicing_library_replace": _bool,
    "accelerator_slicing_library_root": _directory,
    "accelerator_slicing_library_target": _directory,
    "accelerator_strict": _bool,
}


# Those that say where and about what, and what our plays hand on: any text is right for them, their names are checked.
OTHERS = {
    *("accelerator_document_directory", "accelerator_document_nodes", "accelerator_document_read", "accelerator_documents", "accelerator_handed_in"),
    *("accelerator_history", "accelerator_history_days", "accelerator_history_path", "accelerator_history_result", "accelerator_judgement"),
    *("accelerator_node_group", "accelerator_node_pattern", "accelerator_read", "accelerator_record_nodes", "accelerator_recorded"),
    *("accelerator_recorded_nodes", "accelerator_recording", "accelerator_replay", "accelerator_role", "accelerator_roster", "accelerator_run"),
    *("accelerator_run_directory", "accelerator_run_id", "accelerator_run_root", "accelerator_signing_key", "accelerator_signing_tool"),
    *("accelerator_verdict", "accelerator_verify_key", "accelerator_verify_signer"),
}
_NEAR = 0.945  # a letter or two: accelerator_model and accelerator_nodes are not accelerator_modes


def misspelled(names):
    """A sentence for each of these variables that is no variable, yet nearly one. A site may have accelerator_* variables of its own."""
    known = sorted({*CHECKS, *OTHERS, *roster.JUDGED, *policy.names()})
    own = {name for name in names if name.startswith("accelerator_") and not roster.judges(name)}
    near = ((name, difflib.get_close_matches(name, known, 1, _NEAR)) for name in sorted(own - set(known)))
    return ["%s is no variable of this collection; the nearest is %s" % (name, found[0]) for name, found in near if found]


def problems(variables):
    """What is wrong with these variables, each with its name, what was found and what is allowed."""
    told = []
    for name in sorted(set(CHECKS) & set(variables)):
        value = variables[name]
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            CHECKS[name](value)
        except ValueError as error:
            text = repr(value)
            told.append("%s: found %s, allowed: %s" % (name, text if len(text) <= 60 else text[:57] + "...", error))
    return told
