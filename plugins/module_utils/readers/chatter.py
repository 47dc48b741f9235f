# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings that a library prints into the JSON of the tool that loads it."""

from __future__ import annotations

import json
import re

_LINE = re.compile(r"[ \t]*(?:WARN|ERROR|INFO|DEBUG|\[(?:WARN|ERR)|[A-Za-z]+Warning\b|/\S+\.py:\d+)", re.IGNORECASE)


def without(text):
    return "\n".join(line for line in text.splitlines() if not _LINE.match(line))


def first_object(text):
    """The first JSON object of a text, with chatter around or inside it; None where it has none. ValueError or RecursionError: it is broken."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except ValueError:
        quiet = without(text)
        return json.JSONDecoder().raw_decode(quiet, max(quiet.find("{"), 0))[0]
