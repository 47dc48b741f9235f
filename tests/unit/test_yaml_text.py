# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The emitter of records: any YAML reader gets back what was written."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import yaml_text
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_read_back_equal(document):
    assert yaml.safe_load(yaml_text.dump(document)) == document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes",
        "No",
        "null",
        "~",
        "1.0",
        "0x1f",
        "1:20",
        "1e5",
        "2026-01-01",
        "- a",
        "a: b",
        "a #b",
        "*x",
        "&x",
        "!x",
        "%x",
        "@x",
        "{a}",
        "[a]",
        "\t",
        "a\nb",
        "é",
        "🚀",
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "a ",
        " a",
        '"',
        "\\",
        "None",
        "=",
        "<<",
        "n",
        "_1",
        "Infinity",
    ],
)
def test_texts_that_yaml_would_take_for_something_else(text):
    assert yaml.safe_load(yaml_text.dump({text: [text, {"a": text}]})) == {text: [text, {"a": text}]}


def test_half_a_character_is_replaced():
    assert yaml.safe_load(yaml_text.dump({"a": "x\ud83d"})) == {"a": "x\ufffd"}


def test_what_it_looks_like():
    document = {"a": {"b": 1, "c": []}, "list": [{"x": "one two", "w": 2.5}, "z"], "empty": {}, "gone": None, "text": "a: b"}
    assert yaml_text.dump(document) == 'a:\n  b: 1\n  c: []\nlist:\n  - x: one two\n    w: 2.5\n  - z\nempty: {}\ngone: null\ntext: "a: b"\n'
