# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nothing on a node of a manufacturer tells (data/manufacturers/<m>.yml, untold), told apart from what was not understood, hung or was denied."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import yaml

DATA = Path(__file__).parent.parent / "data" / "manufacturers"
_WORDS = re.compile(r"(?:^|: )([\w-]+) does not tell it\b")  # module_utils/readers/vendor_library.py


@lru_cache(maxsize=1)
def table():
    """{tool: {rule: what it is about}}"""
    loader, found = getattr(yaml, "CSafeLoader", yaml.SafeLoader), {}
    for path in sorted(DATA.glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        if "\nuntold:" in text:
            block = yaml.load(text, Loader=loader)["untold"]
            found[block["tool"]] = block["rules"]
    return found


def of(rule, outcome, reason):
    """(tool, what it does not tell), None where the outcome has another reason."""
    said = _WORDS.search(reason) if outcome == "unknown" and " does not tell it" in reason else None
    what = table().get(said.group(1), {}).get(rule) if said else None
    return (said.group(1), what) if what else None
