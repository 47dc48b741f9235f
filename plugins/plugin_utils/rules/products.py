# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about products that no node reports about itself, from data/products.yml."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import yaml

DATA = Path(__file__).parent.parent / "data" / "products.yml"


@lru_cache(maxsize=8)
def _table(name, told):
    """[(manufacturer, pattern of the name, what is told)]"""
    entries = yaml.safe_load(DATA.read_text(encoding="utf-8"))[name]
    return [(e["manufacturer"], re.compile(e["name"], re.IGNORECASE), e[told]) for e in entries]


def _first(table, manufacturer, name):
    return next((told for maker, pattern, told in table if maker == manufacturer and pattern.search(name)), None)


@lru_cache(maxsize=1024)
def has_links(manufacturer, name):
    """Whether the product has links between devices without an added bridge; None when the catalogue does not say."""
    return _first(_table("links", "built_in"), manufacturer, name)


@lru_cache(maxsize=1024)
def has_hidden_switches(manufacturer, name):
    """Whether the product comes on a baseboard whose switches are no functions of the maker on the node's PCI, yet are run by the node."""
    return _first(_table("hidden_switches", "here"), manufacturer, name) is True
