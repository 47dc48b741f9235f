# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles: which rules a verdict requires, which are asked besides, and which layers it speaks of."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import catalogue, data_file
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LAYERS, RULES

DATA = Path(__file__).parent.parent / "data" / "profiles.yml"
_KEYS = ("layers", "required", "optional", "based_on", "description", "untold")
_UNTOLD = ("required", "optional")


class ProfileError(ValueError):
    """No such profile, or a profile that names what does not exist."""


class Profile(NamedTuple):
    name: str
    layers: tuple  # layers the verdict speaks of
    required: frozenset  # rule ids
    asked: tuple  # rule ids, required and optional, sorted
    does_without: bool = False  # what a manufacturer's tool does not tell (rules/untold.py) is optional, even where it is required


@lru_cache(maxsize=1)
def shipped():
    return data_file.load(DATA)["profiles"]


def check(custom):
    """A site's profiles, checked. ProfileError (a ValueError) says what is allowed."""
    if not isinstance(custom, dict):
        raise ProfileError("a dictionary of profile name: {based_on, layers, required, optional}")
    for name in custom:
        _build(str(name), custom)
    return custom


def find(name, custom=None):
    """The Profile called name, of the site or shipped."""
    return _build(name, custom or {})


def _build(name, custom, seen=()):
    known = dict(shipped(), **custom)
    if name not in known or name in seen:
        near = difflib.get_close_matches(name, [n for n in known if n not in seen], 1, 0.0)
        why = "is based on itself" if name in seen else "no such profile"
        raise ProfileError("accelerator_profile: %s: %r; known: %s; the nearest is %s" % (why, name, ", ".join(sorted(known)), near[0] if near else "none"))
    given = known[name]
    if not isinstance(given, dict) or not set(given) <= set(_KEYS):
        raise ProfileError("accelerator_profiles: %s: allowed keys: %s" % (name, ", ".join(_KEYS)))
    base = _build(str(given["based_on"]), custom, (*seen, name)) if given.get("based_on") else Profile(name, (), frozenset(), ())
    layers = given.get("layers", list(base.layers))
    if not isinstance(layers, list) or not all(isinstance(n, int) and n in LAYERS for n in layers):
        raise ProfileError("accelerator_profiles: %s: layers: found %r, allowed: a list of 1 to 5" % (name, layers))
    untold = given.get("untold", "optional" if base.does_without else "required")
    if untold not in _UNTOLD:
        raise ProfileError("accelerator_profiles: %s: untold: found %r, allowed: %s" % (name, untold, " or ".join(_UNTOLD)))
    optional = _select(name, "optional", given.get("optional", []))
    named = optional & {str(selector) for selector in given.get("optional", [])}
    # A rule that is named outright among the optional ones is optional, even where the base requires it.
    required = (set(base.required) | _select(name, "required", given.get("required", []))) - named
    return Profile(name, tuple(sorted(set(layers))), frozenset(required), tuple(sorted(required | optional | set(base.asked))), untold == "optional")


@lru_cache(maxsize=32)
def doing_without(name):
    """The shipped profile that is the one of this name, but does without what a tool does not tell; "" where there is none."""
    return next((other for other, given in shipped().items() if given.get("based_on") == name and given.get("untold") == "optional"), "")


def _select(name, key, selectors):
    """Rule ids of a list of: a rule id, "layer-1", "row-*" (every rule with that beginning), "*"."""
    catalogue.load()
    if not isinstance(selectors, list):
        raise ProfileError("accelerator_profiles: %s: %s: found %r, allowed: a list of rules" % (name, key, selectors))
    found = set()
    for selector in selectors:
        text = str(selector)
        if text.startswith("layer-"):
            chosen = {r.id for r in RULES.values() if "layer-%d" % r.layer == text}
        elif text.endswith("*"):
            chosen = {r for r in RULES if r.startswith(text[:-1])}
        else:
            chosen = {text} & set(RULES)
        if not chosen and not text.startswith("layer-"):
            near = difflib.get_close_matches(text, list(RULES), 1, 0.0)
            raise ProfileError("accelerator_profiles: %s: %s: no such rule: %r; the nearest is %s" % (name, key, text, near[0] if near else "none"))
        found |= chosen
    return found
