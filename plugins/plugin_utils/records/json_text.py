# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON as json.loads reads it, by orjson where that is installed: half the time, and much of a fold is parsing."""

from __future__ import annotations

import json

try:
    import orjson
except ImportError:
    orjson = None

_DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
_LONG = b"0" * 20  # orjson makes a rounded number of an integer that needs more than 64 bits


def loads(content):
    """The document in UTF-8 bytes; ValueError or RecursionError as json.loads raises them. The answer does not depend on which parser is there."""
    if orjson is not None and _LONG not in content.translate(_DIGITS):
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError:
            pass  # what json.loads takes besides, and its words for what is wrong
    return json.loads(content.decode("utf-8"))
