# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parser for a node without tomllib says what tomllib says, or that it cannot."""

from __future__ import annotations

import datetime
import math

import pytest
import tomllib
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import toml, toml_subset
from hypothesis import given, settings
from hypothesis import strategies as st

GOOD = [
    "",
    "# nothing\n",
    "a = 1\r\nb = 'x'\r\n",
    'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "nvidia" # who\n',
    "[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dir='/opt/cni/bin'\n[plugins]\n[plugins.x]\n",
    "a.b.c = 1\na.b.d = 2\n",
    "[a.b.c]\nx=1\n[a]\ny=2\n[a.b]\nz=3\n",
    "[fruit]\napple.color = 1\napple.taste.sweet = true\n[fruit.apple.texture]\nsmooth = true\n",
    "[[s]]\na=1\n[[s]]\nb=2\n[s.t]\nc=3\n[[s.u]]\nd=4\n",
    "a = [1, 2, # c\n 3,\n]\nb = [ [1], ['x', \"y\"], {c = 1, d.e = 2}, ]\n",
    'a = """\nline \\\n   joined\n\n"two" ""quotes"""""\n',
    "a = '''\nC:\\x'''\nb = ''''''\nc = '''''q'''''\n",
    'a = "\\u00e9 \\U0001F600 \\t\\"\\\\"\n',
    "a = 0x_f\n",
    "a = 0xff\nb = 0o17\nc = 0b11\nd = 1_000\ne = -0\nf = +5\n",
    "a = 1.5\nb = -2e3\nc = inf\nd = nan\ne = 6.02E+23\nf = 3.0e-1_0\n",
    '"" = 1\n\'quoted key\' . "b" = 2\n',
    "a = {}\nb = { c = [ ] }\n",
]
BAD = [
    "a",
    "a =",
    "a = 1 2",
    "a = 1\na = 2",
    "[a]\n[a]",
    "a = 1\n[a]",
    "a.b = 1\n[a]",
    "a = {b = 1}\n[a.c]",
    "a = {b = 1}\na.c = 2",
    "a = [1]\n[[a]]",
    "[[a]]\n[a]",
    "[a.b]\n[a]\nb.c = 1",
    'a = "x\ny"',
    'a = "\\q"',
    'a = "\\ud800"',
    "a = 'x",
    'a = """x',
    "a = tru",
    "a = 01",
    "a = 1__0",
    "a = 1.",
    "a = {b = 1,}",
    "a = {b = 1\n}",
    "a = [1, 2",
    "[a",
    "[]",
    "= 1",
    "a = \x01",
    "a\r = 1",
    "a = {b.c = 1, b = 2}",
    "a = {b = {c = 1}, b.d = 2}",
    "a = " + "[" * 5000,
    "a = " + "{b = " * 5000,
    "a = 0x",
    "a = ٣",
    "[a]]",
    "[[a]",
    'a = "\x7f"',
]


def same(one, other):
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def both(text):
    """(what the subset says or its error, what tomllib says or None)."""
    try:
        reference = tomllib.loads(text)
    except (ValueError, RecursionError):
        reference = None
    try:
        return toml_subset.parse(text), reference
    except toml.TomlError as error:
        return error, reference


@pytest.mark.parametrize("text", GOOD)
def test_what_it_reads(text):
    ours, reference = both(text)
    assert reference is None if isinstance(ours, toml.TomlError) else same(ours, reference)
    assert (text == "a = 0x_f\n") == isinstance(ours, toml.TomlError)


@pytest.mark.parametrize("text", BAD)
def test_what_it_refuses(text):
    for read in (toml_subset.parse, toml.loads):
        with pytest.raises(toml.TomlError):
            read(text)


@pytest.mark.parametrize("without", [True, False])
def test_an_error_tells_the_line_and_not_the_text(monkeypatch, without):
    if without:
        monkeypatch.setattr(toml, "tomllib", None)
    with pytest.raises(toml.TomlError) as error:
        toml.loads('a = 1\npassword = "hunter2\n')
    assert "line 2" in str(error.value) and "hunter2" not in str(error.value)


def test_without_tomllib_it_reads_the_same(monkeypatch):
    text = GOOD[3]
    reference = toml.loads(text)
    monkeypatch.setattr(toml, "tomllib", None)
    assert toml.loads(text) == reference


def test_a_name_too_deep():
    with pytest.raises(toml.TomlError, match="deep"):
        toml_subset.parse("a" + ".a" * 5000 + " = 1")


def test_a_date_is_outside():
    with pytest.raises(toml.TomlError, match="date"):
        toml_subset.parse("a = 2026-11-29T17:00:00Z")


def no_date(value):
    if isinstance(value, dict):
        return all(map(no_date, value.values()))
    if isinstance(value, list):
        return all(map(no_date, value))
    return not isinstance(value, (datetime.date, datetime.time))


PIECES = st.sampled_from(
    ["[", "]", "[[", "]]", "{", "}", "=", ",", ".", "\n", "\n", " ", "#", '"', "'", '"""', "'''", "\\", "\\n", "\\u0041", "\r\n", "a", "b", "c", "a.b",
     "[a]\n", "[a.b]\n", "[[a]]\n", "a = 1\n", "b.c = 2\n", "{a = 1}", "[1, 2]", "1", "-0", "0x1f", "1.5", "1e3", "true", "false", "inf", "x = ", "y = "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=16).map("".join))
@settings(max_examples=600, deadline=None)
def test_any_text_is_read_as_tomllib_reads_it(text):
    ours, reference = both(text)
    if isinstance(ours, toml.TomlError):
        assert reference is None or not no_date(reference), text
    else:
        assert reference is not None and same(ours, reference), text


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_nothing_raises_otherwise(text):
    ours, reference = both(text)
    assert isinstance(ours, toml.TomlError) or same(ours, reference)
