# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TOML 1.0 (toml.io/en/v1.0.0) without dates, for nodes whose Python has no tomllib. Errors name a line and never the text: it may hold secrets."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.toml import TomlError

DEEPEST = 40
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\n]|#[^\x00-\x08\n-\x1f\x7f]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"((?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\.)*)"')
_LITERAL = re.compile(r"'([^'\x00-\x08\x0a-\x1f\x7f]*)'")
_LONG_BASIC = re.compile(r'"""\n?((?:[^"\\\x00-\x08\x0b-\x1f\x7f]|\\[^\x00]|"{1,2}(?!"))*"{0,2})"""')
_LONG_LITERAL = re.compile(r"'''\n?((?:[^'\x00-\x08\x0b-\x1f\x7f]|'{1,2}(?!'))*'{0,2})'''")
_ESCAPE = re.compile(r"\\(?:([btnfr\"\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[ \t]*\n[ \t\n]*|(.))", re.DOTALL)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_NUMBER = re.compile(
    r"(?P<based>0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*)"
    r"|(?P<whole>[+-]?(?:0|[1-9](?:_?\d)*))(?P<part>(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?)|(?P<odd>[+-]?(?:inf|nan))",
    re.ASCII,
)
_END = re.compile(r"(?=[ \t\n,\]}#]|\Z)")


def parse(text):
    return _Parser(text).document()


class _Parser:
    def __init__(self, text):
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.root = {}
        self.kinds = {}  # id of a table -> header, dotted or inline; of a list -> tables or inline

    def fail(self, what="not TOML"):
        raise TomlError("%s, line %d" % (what, self.text.count("\n", 0, self.at) + 1))

    def skip(self, pattern):
        self.at = pattern.match(self.text, self.at).end()

    def next(self, pattern):
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def take(self, words):
        if not self.text.startswith(words, self.at):
            return False
        self.at += len(words)
        return True

    def document(self):
        table = self.root
        while True:
            self.skip(_GAP)
            if self.at >= len(self.text):
                return self.root
            if self.take("[["):
                table = self.header(True)
            elif self.take("["):
                table = self.header(False)
            else:
                self.pair(table, "header")
            self.skip(_SPACE)
            if self.at < len(self.text) and self.text[self.at] not in "\n#":
                self.fail()

    def key(self):
        parts = []
        while True:
            self.skip(_SPACE)
            found = self.next(_BARE) or self.next(_LITERAL)
            if found:
                parts.append(found.group(found.lastindex or 0))
            else:
                found = self.next(_BASIC) or self.fail()
                parts.append(self.unescaped(found.group(1), False))
            if len(parts) > DEEPEST:
                self.fail("nested too deep")
            self.skip(_SPACE)
            if not self.take("."):
                return parts

    def header(self, many):
        parts = self.key()
        if not self.take("]]" if many else "]"):
            self.fail()
        table = self.root
        for part in parts[:-1]:
            table = table.setdefault(part, {})
            if isinstance(table, list) and self.kinds.get(id(table)) == "tables":
                table = table[-1]
            if not isinstance(table, dict) or self.kinds.get(id(table)) == "inline":
                self.fail()
        last, old = parts[-1], table.get(parts[-1])
        if many:
            if last in table and self.kinds.get(id(old)) != "tables":
                self.fail("a name that was given before")
            new = {}
            self.kinds[id(table.setdefault(last, []))] = "tables"
            table[last].append(new)
        elif last in table and (not isinstance(old, dict) or id(old) in self.kinds):
            self.fail("a name that was given before")
        else:
            new = table.setdefault(last, {})
        self.kinds[id(new)] = "header"
        return new

    def pair(self, table, closed):
        """key = value into a table; closed: the kind of table that a dotted key may not add to."""
        parts = self.key()
        if not self.take("="):
            self.fail()
        for part in parts[:-1]:
            fresh = part not in table
            table = table.setdefault(part, {})
            if not isinstance(table, dict) or (not fresh and self.kinds.get(id(table)) in (closed, "inline")):
                self.fail("a name that was given before")
            self.kinds.setdefault(id(table), "dotted")
        if parts[-1] in table:
            self.fail("a name that was given before")
        self.skip(_SPACE)
        table[parts[-1]] = self.value(1)

    def value(self, depth):
        if depth > DEEPEST:
            self.fail("nested too deep")
        if self.take("["):
            return self.array(depth)
        if self.take("{"):
            return self.inline(depth)
        for pattern, many in ((_LONG_BASIC, True), (_BASIC, False)):
            found = self.next(pattern)
            if found:
                if not many and self.text.startswith('"', self.at):  # """ that does not end
                    self.fail()
                return self.unescaped(found.group(1), many)
        found = self.next(_LONG_LITERAL) or self.next(_LITERAL)
        if found:
            return self.fail() if self.text.startswith("'", self.at) else found.group(1)
        for word, value in (("true", True), ("false", False)):
            if self.take(word):
                return value if _END.match(self.text, self.at) else self.fail()
        found = self.next(_NUMBER)
        if not found or not _END.match(self.text, self.at):
            self.fail("not TOML, or a date")
        if len(found.group()) > 400:
            self.fail("a number too long")
        digits = found.group().replace("_", "")
        if found.group("based"):
            return int(digits, 0)
        return float(digits) if found.group("odd") or found.group("part") else int(digits)

    def array(self, depth):
        items = []
        while True:
            self.skip(_GAP)
            if self.take("]"):
                break
            items.append(self.value(depth + 1))
            self.skip(_GAP)
            if not self.take(","):
                if not self.take("]"):
                    self.fail()
                break
        self.kinds[id(items)] = "inline"
        return items

    def inline(self, depth):
        table = {}
        self.skip(_SPACE)
        if not self.take("}"):
            while True:
                self.nested(table, depth)
                self.skip(_SPACE)
                if self.take("}"):
                    break
                if not self.take(","):
                    self.fail()
        self.close(table)
        return table

    def nested(self, table, depth):
        parts = self.key()
        if not self.take("="):
            self.fail()
        for part in parts[:-1]:
            table = table.setdefault(part, {})
            if not isinstance(table, dict) or self.kinds.get(id(table)) == "inline":
                self.fail("a name that was given before")
        if parts[-1] in table:
            self.fail("a name that was given before")
        self.skip(_SPACE)
        table[parts[-1]] = self.value(depth + 1)

    def close(self, table):
        self.kinds[id(table)] = "inline"
        for value in table.values():
            if isinstance(value, dict) and self.kinds.get(id(value)) != "inline":
                self.close(value)

    def unescaped(self, text, many):
        if "\\" not in text:
            return text

        def one(found):
            letter, short, long, other = found.groups()
            if letter:
                return _ESCAPES[letter]
            if short or long:
                number = int(short or long, 16)
                if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                    self.fail()
                return chr(number)
            return self.fail() if other or not many else ""

        return _ESCAPE.sub(one, text)
