# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML subset of the node against PyYAML: what both read is the same, what is outside is an error with its line."""

from __future__ import annotations

import math
import random

import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.yaml_subset import YamlError, parse

KUBELET = """\
# written by hand
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS:
- 10.96.0.10
- "fd00::a"   # second stack
evictionHard: {memory.available: 500Mi, "nodefs.available": 10%, imagefs.available: '15%'}
featureGates:
    DevicePluginCDIDevices: true

    DynamicResourceAllocation: false
reservedMemory:
  - numaNode: 0
    limits:
      memory: 1100Mi
  -
    numaNode: 1
    limits: {
      memory: 900Mi,   # the rest
    }
maxPods: 110
mode: 0660
note: |
  two
    lines
folded: >-
  one
  line
long: a value that
  goes on

  and on
quoted: "a \\
  b\\tc \\u00e9
  d"
empty:
nothing: ~
last: 'it''s'
"""


def same(one, other):
    """Equal in type, too: true is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def test_a_configuration_as_people_write_it():
    assert same(parse(KUBELET), yaml.safe_load(KUBELET))
    assert same(parse(KUBELET.replace("\n", "\r\n")), yaml.safe_load(KUBELET))
    assert parse(KUBELET)["mode"] == 0o660 and parse(KUBELET)["reservedMemory"][1]["limits"] == {"memory": "900Mi"}


@pytest.mark.parametrize(
    "text",
    ["", "\n", "# only\n", "---\n", "--- 1\n...\n", "--- [1]\n", "a", "a\nb\n", "- - a\n  - b\n-\n  - c\n", "a:\n- b\n-\nc: d", "- a: b\n  c:\n  - d\n- e",
     "\ufeffa: b", "a: |+\n  x\n\n", "a: |2\n   x\n", "a: >\n  b\n   c\n  d\n\n  e\n", "a: |\n\n  x", "a: |\nb: c",
     "a: [b, {c: d, e}, 'f', \"g\\n\"]", '{"a":1,"b":[true,null]}',
     "a: http://h:80/x#y", "a: b#c\nd: -1\ne: -x\nf: .5\ng: 1_000\nh: 0x1F\ni: 0b11\nj: .inf\nk: -.INF", "a: [x\n  y, z]", "a: ''\nb: \"\"", '"a b" : c',
     "a:  # why\n  b: c",
     "k: yes\nl: Off\nm: ON\nn: No\no: y\np: NULL", "a:\n  - b\n  # c\n  - d\n", "...\n", "a: b\n...\n"],
)  # fmt: skip
def test_same_as_pyyaml(text):
    try:
        wanted = yaml.safe_load(text)
    except yaml.YAMLError:
        with pytest.raises(YamlError):
            parse(text)
    else:
        if text == "...\n":
            return
        assert same(parse(text), wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x 1", "line 1: an anchor"),
        ("b:\n- *x", "line 2: an alias"),
        ("a: !!str 1", "a tag"),
        ("%YAML 1.1\n---\na: b", "a directive"),
        ("? a\n: b", "an explicit key"),
        ("a:\n  <<: {b: c}", "line 2: a merge key"),
        ("a: 1\n---\nb: 2", "line 2: more than one document"),
        ("a: 1\n...\nb: 2", "line 2: more than one document"),
        ("a: 1\nb: 2\na: 3", "line 3: the key a is given twice"),
        ("{a: 1, a: 2}", "given twice"),
        ("a:\n\tb: c", "line 2: a tab"),
        ("a: b\tc", "a tab"),
        ("a: b: c", "begins behind a key"),
        ("a: - b", "begins behind a key"),
        ("--- a: b", "begins behind a document marker"),
        ("a: b\n  c: d", "line 2: a colon inside"),
        ("a: b\n c", None),
        ("a: 'b' c", "text behind a value"),
        ("a: [b", "a bracket is not closed"),
        ("a: [b}", "a comma or ] is expected"),
        ("a: [}", "'}' is not expected"),
        ("a: [b c: d]", "a comma or ]"),
        ("a: {[b]: c}", "a list or mapping as a key"),
        ("a: {b\n  c: d}", "a key of several lines"),
        ("a: 'b\nc", "line 1: a quote is not closed"),
        ('a: "\\q"', "an escape"),
        ('a: "\\ud800"', "no character"),
        ("a: |x\n  b", "the header of a block scalar"),
        ("a: |\n    \n  b", "ambiguous"),
        ("a:\n    b: c\n  d: e", "line 3"),
        ("  a: b\nc: d", "line 2: indented less"),
        ("a: b\n  - c\nd", "line 3: a key and a colon"),
        ("a: \x00", "line 1: the character"),
        ("a: b\x85c", "the character"),
        ("a: @b", "a reserved @"),
        ("[" * 60, "nested deeper than 40"),
        ("- " * 60 + "a", "nested deeper than 40"),
    ],
)
def test_outside_of_the_subset_is_an_error_with_its_line(text, words):
    if words is None:
        assert parse(text) == yaml.safe_load(text)
        return
    with pytest.raises(YamlError, match=r"\Aline \d+: ") as caught:
        parse(text)
    assert words in str(caught.value)


def test_read_as_go_does_where_pyyaml_differs():
    assert parse("a: 2026-11-29\nb: 1:30\nc: 1e3") == {"a": "2026-11-29", "b": "1:30", "c": 1000.0}


PIECES = [*"ab:# -'\"[]{},\n|>&*!?%@\\.0", ": ", " #", "- ", "\n  ", "é", "yes", "\n\n"]


def value(dice, depth):
    kind = dice.randrange(9)
    if depth and kind < 2:
        return {text(dice): value(dice, depth - 1) for _unused in range(dice.randrange(4))}
    if depth and kind < 4:
        return [value(dice, depth - 1) for _unused in range(dice.randrange(4))]
    return dice.choice([None, True, False, dice.randrange(-99, 999), 1.5, text(dice), text(dice), text(dice)])


def text(dice):
    return "".join(dice.choice(PIECES) for _unused in range(dice.randrange(12))) * dice.choice([1, 1, 1, 6])


@pytest.mark.parametrize("seed", range(3))
def test_whatever_pyyaml_writes_is_read_back(seed):
    dice, read = random.Random(seed), 0
    for _unused in range(500):
        document = value(dice, 4)
        written = yaml.safe_dump(
            document, default_flow_style=dice.choice([True, False, None]), allow_unicode=True, width=dice.choice([10, 80]), indent=dice.choice([2, 4]),
            explicit_start=dice.choice([True, False]),
        )  # fmt: skip
        try:
            found = parse(written)
        except YamlError as error:
            assert "an explicit key" in str(error), (written, error)  # how PyYAML writes a key of several lines
        else:
            assert same(found, yaml.safe_load(written)), written
            read += 1
    assert read > 350


FRAGMENTS = [
    "a",
    "b: ",
    "c:",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "'x'",
    '"y"',
    "[",
    "]",
    "{",
    "}",
    ", ",
    "# k",
    " ",
    "|",
    "|-",
    ">",
    "text",
    "1",
    "~",
    "-",
    "\n\n",
    ": ",
    ":",
    "?",
]
FRAGMENTS += ["& ", "\\", "--- ", "\n---\n", "\t", "'", '"', "\ufffd", "<<: "]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_read_pyyaml_reads_the_same(seed):
    dice, read = random.Random(seed), 0
    for _unused in range(4000):
        document = "".join(dice.choice(FRAGMENTS) for _unused in range(dice.randrange(1, 12)))
        try:
            found = parse(document)
        except YamlError:
            continue
        if "1:1" not in document:  # base 60
            assert same(found, yaml.safe_load(document)), document
        read += 1
    assert read > 600
