# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as the records need it: mappings, lists and scalars in block style, read back equal by any YAML 1.1 or 1.2 reader.

PyYAML's own emitter takes milliseconds for a record; a thousand of them would outweigh the whole fold.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from json.encoder import encode_basestring

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*(?: [A-Za-z0-9._/-]+)*\Z")
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"])


def dump(document, indent=""):
    """document as text, a line per scalar."""
    lines = []
    _mapping(document, indent, lines)
    return "".join(lines)


@lru_cache(maxsize=20000)
def scalar(text):
    if _PLAIN.match(text) and text.lower() not in _RESERVED:
        return text
    if text.isprintable():
        return encode_basestring(text)
    # Escapes of YAML, not of JSON: a surrogate pair is two characters to a YAML reader.
    return '"%s"' % "".join(_escaped(char) for char in text)


def _escaped(char):
    if char in '\\"':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "\\uFFFD"  # half a character has no place in a text file
    return "\\x%02x" % code if code < 0x100 else "\\u%04x" % code if code < 0x10000 else "\\U%08x" % code


def value(item):
    """A scalar, an empty list or an empty mapping."""
    kind = type(item)
    if kind is str:
        return scalar(item)
    if kind is bool:
        return "true" if item else "false"
    if item is None:
        return "null"
    if kind is int:
        return str(item)
    if kind is float:
        return _float(item)
    if kind is dict and not item:
        return "{}"
    if (kind is list or kind is tuple) and not item:
        return "[]"
    return None


def _float(number):
    if math.isnan(number):
        return ".nan"
    if number in (float("inf"), float("-inf")):
        return ".inf" if number > 0 else "-.inf"
    text = repr(number)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")  # YAML 1.1 wants the point
    return text


@lru_cache(maxsize=4096)
def _key(indent, key):
    return "%s%s: " % (indent, scalar(key))


def _mapping(items, indent, lines):
    for key, item in items.items():
        # Texts and numbers are nearly everything: they take the short way.
        kind = type(item)
        if kind is str:
            lines.append(_key(indent, key) + scalar(item) + "\n")
            continue
        if kind is int:
            lines.append(_key(indent, key) + str(item) + "\n")
            continue
        text = value(item)
        if text is not None:
            lines.append(_key(indent, key) + text + "\n")
            continue
        lines.append(_key(indent, key)[:-1] + "\n")
        if kind is dict:
            _mapping(item, indent + "  ", lines)
        else:
            _list(item, indent + "  ", lines)


def _list(items, indent, lines):
    for item in items:
        text = value(item)
        if text is not None:
            lines.append("%s- %s\n" % (indent, text))
        else:
            first = len(lines)
            if item.__class__ is dict:
                _mapping(item, indent + "  ", lines)
            else:
                _list(item, indent + "  ", lines)
            lines[first] = "%s- %s" % (indent, lines[first][len(indent) + 2 :])
