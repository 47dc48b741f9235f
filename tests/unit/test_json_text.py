# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whichever parser is there, the same files give the same documents."""

from __future__ import annotations

import json

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import json_text

TEXTS = (
    '{"a": [1, 2.5, -0, 1e-7, true, null], "b": {"c": "\\u00e9\\u0000"}}',
    "1" * 40,
    '{"count": -%s}' % ("9" * 20),
    "18446744073709551616",
    "9223372036854775808",
    "0.12345678901234567890123456789",
    "1e400",
    "[NaN, Infinity, -Infinity]",
    '"\\ud800 half a character"',
    '{"twice": 1, "twice": 2}',
    "[" * 1500 + "]" * 1500,
    " [1]\n",
)
BROKEN = (b"", b"{", b"[1,]", b"tru", b'"\xff"', b'"tab\there"', b"{'a': 1}", b"\xef\xbb\xbf[]", b"[" * 200000)


def told(loads, content):
    try:
        return repr(loads(content))
    except (ValueError, RecursionError) as error:
        return "%s: %s" % (type(error).__name__, error)


@pytest.fixture(params=["with orjson", "without"])
def parser(request, monkeypatch):
    if request.param == "without":
        monkeypatch.setattr(json_text, "orjson", None)
    elif json_text.orjson is None:
        pytest.skip("orjson is not installed")


@pytest.mark.parametrize("text", TEXTS)
def test_read_as_json_loads_reads_it(parser, text):
    assert told(json_text.loads, text.encode()) == told(json.loads, text)


@pytest.mark.parametrize("content", BROKEN)
def test_refused_in_the_same_words(parser, content):
    assert told(json_text.loads, content) == told(lambda given: json.loads(given.decode("utf-8")), content)
