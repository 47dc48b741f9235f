# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What no report and no recording may tell."""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_WORDS = r"token|passw(?:or)?d|passphrase|secret|credential|authorization|api[_-]?key|access[_-]?key|private[_-]?key"
_SECRET_NAME = re.compile(r"(?i)(?:%s|(?<![a-z0-9])(?:auth|key)$)" % _WORDS)
_HARMLESS_NAME = re.compile(r"(?i)(?:file|path|dir|ttl|timeout|mode|url|type|enabled|count)s?$")
_HARMLESS = re.compile(r"(?i)(?:true|false|null|none|yes|no|x)?$")
_NESTED = re.compile(r"[\[{]|[|>][+-]?$")  # what follows is no value but its members, or a block of lines
# A quote that its line does not close: all of the line, and of the next ones what does not look like a key, a comment, an item or a bracket.
_UNCLOSED = r"[\"'][^\n]*(?:\n{1,9}(?![ \t]*(?:[\"']?[\w./-]{1,80}[\"']?[ \t]*[:=]|[#\[\]{}-]))[^\n]+){0,50}"
_ASSIGNED = re.compile(
    r"(?i)((?:%s|(?<![a-z0-9])auth(?![a-z0-9])|(?<![a-z0-9])key(?==))[\w.-]{0,40})(['\"\\]{0,3}[ \t]*[:=][ \t]*)"
    r"(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|\\\"[^\"\n]*|%s|(?:(?:bearer|basic|digest)[ \t]+)?[^\s\"',;}\])\0][^\s\"',;&}\])\0]*)" % (_WORDS, _UNCLOSED)
)
_OPTION = re.compile(r"(?i)((?<![\w-])--?(?=[a-z])[\w-]{0,40}?(?:%s)[ \t\0]+)([^\s\0-][^\s\0]*)" % _WORDS)
_WHOLE = (
    # a block of lines in YAML: what is indented deeper than the key
    (
        re.compile(
            r"(?im)^([ \t]*)([\w.\"'-]{0,60}?(?:%s)[\w.-]{0,40}[\"']?[ \t]*:[ \t]*[|>][-+\d]{0,2})[ \t]*\n(?:\1[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+" % _WORDS
        ),
        r"\1\2\n\1  " + REDACTED + "\n",
    ),
    (re.compile(r"(?i)\b(bearer[ \t]+)[\w.~+/=-]{16,}"), r"\1" + REDACTED),
    (re.compile(r"(?i)(\bauthorization[\"']?[ \t]*[:=]\s*\[\s*[\"'])[^\"'\n]{1,8000}"), r"\1" + REDACTED),
    (re.compile(r"(?i)(\bcommunity string[ \t]*:[ \t]*)(?!(?:public|private)[ \t]*$)\S[^\n]*", re.MULTILINE), r"\1" + REDACTED),
    (re.compile(r"(://[^/\s:@\"']{0,200}:)[^/\s@\"']{1,200}@"), r"\1" + REDACTED + "@"),
    (re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"), REDACTED),
    (re.compile(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----).*?(-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL), r"\1" + REDACTED + r"\2"),
)


def _assigned(found):
    name, between, value = found.groups()
    mark = value[0] if value[0] in "\"'" else ""
    end = mark if len(value) > 1 and value.endswith(mark) else ""  # what was not closed stays so
    bare = value.strip("\"'\\")
    if _HARMLESS_NAME.search(name) or _HARMLESS.match(bare) or _NESTED.match(value) or (bare.isdigit() and "token" in name.lower()):
        return found.group()
    return name + between + mark + REDACTED + end


def redact(value, name=""):
    """value without secrets: text, bytes, or any nesting of dicts and lists. name: the key it belongs to."""
    if isinstance(value, str):
        if name and _SECRET_NAME.search(name) and not _HARMLESS_NAME.search(name) and not _HARMLESS.match(value):
            return REDACTED
        for pattern, instead in _WHOLE:
            value = pattern.sub(instead, value)
        return _OPTION.sub(r"\1" + REDACTED, _ASSIGNED.sub(_assigned, value))
    if isinstance(value, bytes):
        try:
            return redact(value.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            return redact(value.decode("latin-1")).encode("latin-1")
    if isinstance(value, dict):
        return {k: redact(v, str(k)) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(v, name) for v in value]
    return value


def redact_arguments(argv):
    """A command line without secrets: --token=x as well as --token x."""
    return redact("\0".join(argv)).split("\0")
