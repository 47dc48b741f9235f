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


@lru_cache(maxsize=1)
def _links():
    entries = yaml.safe_load(DATA.read_text(encoding="utf-8"))["links"]
    return [(e["manufacturer"], re.compile(e["name"], re.IGNORECASE), e["built_in"]) for e in entries]


@lru_cache(maxsize=1024)
def has_links(manufacturer, name):
    """Whether the product has links between devices without an added bridge; None when the catalogue does not say."""
    for maker, pattern, built_in in _links():
        if maker == manufacturer and pattern.search(name):
            return built_in
    return None
