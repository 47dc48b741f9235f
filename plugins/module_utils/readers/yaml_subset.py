# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of YAML that configuration files of a node use. What is outside is an error with its line, never a guess.

Inside: one document of block and flow mappings and lists, plain, quoted, literal and folded scalars, comments. Outside: anchors,
aliases, tags, merge keys, directives, explicit keys ("? "), a second document, a key given twice, a tab where YAML has blanks.
Scalars resolve by YAML 1.1; dates and base-60 numbers stay text and 1e3 is a number, as with the Go parser of the kubelet and of CDI.
"""

from __future__ import annotations

import re

_DEPTH = 40
_ILLEGAL = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ONE_LINE = {'"': re.compile(r'"(?:[^"\\]|\\.)*"'), "'": re.compile(r"'(?:[^']|'')*'")}
_RUN = {'"': re.compile(r'[^"\\ \t]+'), "'": re.compile(r"[^' \t]+")}
_HEADER = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)(?: +(?:#.*)?)?\Z")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ", '"': '"', "\\": "\\"}
_ESCAPES.update({"/": "/", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"})
_HEX = {"x": 2, "u": 4, "U": 8}
_OUTSIDE = {"&": "an anchor", "*": "an alias", "!": "a tag", "%": "a directive", "@": "a reserved @", "`": "a reserved `", "?": "an explicit key"}
_WORDS = dict.fromkeys(("", "~", "null", "Null", "NULL"))
for _word in ("true", "yes", "on"):
    _WORDS.update(dict.fromkeys((_word, _word.capitalize(), _word.upper()), True))
for _word in ("false", "no", "off"):
    _WORDS.update(dict.fromkeys((_word, _word.capitalize(), _word.upper()), False))
_INTEGER = re.compile(r"[-+]?(?:(?P<two>0b[01][01_]*)|(?P<eight>0[0-7_]+)|(?P<sixteen>0x[0-9a-fA-F][0-9a-fA-F_]*)|(?:0|[1-9][0-9_]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?\Z")
_SPECIAL = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")


class YamlError(ValueError):
    """Not in the subset; the message begins with the line."""


def resolve(text):
    """Value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-+.0123456789" or len(text) > 60:
        return text
    found = _INTEGER.match(text)
    if found:
        digits = text.replace("_", "")
        base = 2 if found.group("two") else 8 if found.group("eight") else 16 if found.group("sixteen") else 10
        return int(digits, base)
    if _FLOAT.match(text):
        return float(text.replace("_", ""))
    return float(text.replace(".", "", 1)) if _SPECIAL.match(text) else text


def _marker(line):
    return line[:3] in ("---", "...") and line[3:4] in ("", " ", "\t")


class _Reader:
    def __init__(self, text):
        self.ended = text.endswith("\n")
        self.lines = text.split("\n")
        if self.ended:
            self.lines.pop()
        self.row = self.col = 0

    def fail(self, what):
        return YamlError("line %d: %s" % (min(self.row + 1, len(self.lines)), what))

    def at(self, offset=0):
        """The character here, "" at the end of the line."""
        return self.lines[self.row][self.col + offset : self.col + offset + 1]

    def settle(self):
        """Moves on to the next content, over blanks and comments; False at the end of the document."""
        while self.row < len(self.lines):
            line = self.lines[self.row]
            while line[self.col : self.col + 1] == " ":
                self.col += 1
            if self.col < len(line) and not (line[self.col] == "#" and (self.col == 0 or line[self.col - 1] == " ")):
                if line[self.col] == "\t":
                    raise self.fail("a tab where blanks are expected")
                return not (self.col == 0 and _marker(line))
            self.row, self.col = self.row + 1, 0
        return False

    def end_line(self):
        row = self.row
        if self.settle() and self.row == row:
            raise self.fail("text behind a value")

    def deeper(self, depth):
        if depth >= _DEPTH:
            raise self.fail("nested deeper than %d" % _DEPTH)
        return depth + 1

    def dash(self):
        return self.at() == "-" and self.at(1) in ("", " ")

    def colon(self):
        """Column of the colon when a key and its colon begin here, else None."""
        line, first = self.lines[self.row], self.at()
        if first in _ONE_LINE:
            found = _ONE_LINE[first].match(line, self.col)
            if not found:
                return None
            end = found.end()
            while line[end : end + 1] == " ":
                end += 1
            return end if line[end : end + 1] == ":" and line[end + 1 : end + 2] in ("", " ") else None
        if first in "[{|>":
            return None
        for position in range(self.col, len(line)):
            if line[position] == ":" and line[position + 1 : position + 2] in ("", " "):
                return position
            if line[position] == "#" and line[position - 1] == " ":
                return None
        return None

    # -- block style -----------------------------------------------------------------------------------------------

    def node(self, parent, depth):
        if self.dash():
            return self.sequence(self.col, depth)
        if self.colon() is not None:
            return self.mapping(self.col, depth)
        return self.scalar(parent, depth)

    def below(self, parent, depth, list_here):
        """What hangs under a "key:" or "-" with nothing behind it."""
        if not self.settle():
            return None
        if self.col > parent:
            return self.node(parent, depth)
        return self.sequence(self.col, depth) if list_here and self.col == parent and self.dash() else None

    def mapping(self, indent, depth):
        depth, result = self.deeper(depth), {}
        while True:
            if self.at() == "?" and self.at(1) in ("", " "):
                self.startable(False)
            colon = None if self.dash() else self.colon()
            if colon is None:
                raise self.fail("a key and a colon are expected")
            if self.at() in _ONE_LINE:
                key = self.quoted()
            else:
                self.startable(False)
                text = self.lines[self.row][self.col : colon].rstrip(" ")
                if "\t" in text:
                    raise self.fail("a tab where blanks are expected")
                key = resolve(text)
            self.put(result, key, None)
            self.col = colon + 1
            row = self.row
            if not self.settle():
                return result
            if self.row != row:
                result[key] = self.below(indent, depth, True)
            elif self.dash() or self.colon() is not None:
                raise self.fail("a list or mapping begins behind a key")
            else:
                result[key] = self.scalar(indent, depth)
            if not self.settle() or self.col < indent:
                return result
            if self.col > indent:
                raise self.fail("indented more than its neighbors")

    def sequence(self, indent, depth):
        depth, result = self.deeper(depth), []
        while True:
            self.col += 1
            row = self.row
            inline = self.settle() and self.row == row
            result.append(self.node(indent, depth) if inline else self.below(indent, depth, False))
            if not self.settle() or self.col < indent or (self.col == indent and not self.dash()):
                return result
            if self.col > indent:
                raise self.fail("indented more than its neighbors")

    def put(self, result, key, value):
        if key in result:
            raise self.fail("the key %s is given twice" % str(key)[:60])
        if key == "<<":
            raise self.fail("a merge key is outside of what is read")
        result[key] = value

    def scalar(self, parent, depth):
        first = self.at()
        if first in "|>":
            return self.block(parent)
        if first not in "\"'[{":
            return self.plain(parent, False)
        value = self.flow(depth)
        self.end_line()
        return value

    def block(self, parent):
        found = _HEADER.match(self.lines[self.row], self.col)
        if not found or (found.group(2) and found.group(4)):
            raise self.fail("the header of a block scalar is not understood")
        folded, chomp, digit = found.group(1) == ">", found.group(2) or found.group(4), found.group(3)
        self.row, self.col = self.row + 1, 0
        least = max(parent + 1, 1)
        indent = least + int(digit) - 1 if digit else max(least, self.first_indent())
        rows, start = [], self.row
        while self.row < len(self.lines) and not self.lines[self.row][:indent].strip(" "):
            rows.append(self.lines[self.row][indent:])
            self.row += 1
        closed = self.ended or self.row < len(self.lines)
        filled = [n for n, row in enumerate(rows) if row]
        if not filled:
            return "\n" * (len(rows) - (0 if closed or not rows else 1)) if chomp == "+" else ""
        out = ["\n" * filled[0], rows[filled[0]]]
        for last, here in zip(filled, filled[1:]):
            blanks = here - last - 1
            together = folded and rows[last][0] not in " \t" and rows[here][0] not in " \t"
            out.append(("" if blanks else " ") if together else "\n")
            out.append("\n" * blanks + rows[here])
        breaks = start + len(rows) - (start + filled[-1]) - (0 if closed else 1)
        if chomp != "-":
            out.append("\n" * (breaks if chomp == "+" else min(breaks, 1)))
        return "".join(out)

    def first_indent(self):
        """Indentation of the first line that is not blank; a blank line in front that is longer makes it ambiguous."""
        longest = 0
        for line in self.lines[self.row :]:
            bare = line.lstrip(" ")
            if bare:
                if longest > len(line) - len(bare):
                    raise self.fail("the indentation of a block scalar is ambiguous")
                return len(line) - len(bare)
            longest = max(longest, len(line))
        return longest

    # -- scalars and flow style ------------------------------------------------------------------------------------

    def startable(self, flow):
        """A plain scalar may begin here, or the reason why not."""
        first, following = self.at(), self.at(1)
        if first in "-?:" and following not in ("", " ") and (first == "-" or not flow):
            return
        if first in _OUTSIDE:
            raise self.fail("%s is outside of what is read" % _OUTSIDE[first])
        if first in "-?:,[]{}#|>'\"":
            raise self.fail("%r is not expected" % first)

    def plain(self, parent, flow):
        self.startable(flow)
        out = []
        while True:
            line, start, stop = self.lines[self.row], self.col, None
            while self.col < len(line):
                char, following = line[self.col], line[self.col + 1 : self.col + 2]
                if char == "\t":
                    raise self.fail("a tab where blanks are expected")
                if char == ":" and (following in ("", " ") or (flow and following in ",[]{}")):
                    if not flow:
                        raise self.fail("a colon inside of a plain value")
                    stop = char
                elif (char == "#" and self.col and line[self.col - 1] == " ") or (flow and char in ",?[]{}"):
                    stop = char
                if stop:
                    break
                self.col += 1
            out.append(line[start : self.col].rstrip(" "))
            if stop:
                break
            blanks = self.next_text()
            if blanks is None or self.at() == "#" or (self.col == 0 and _marker(self.lines[self.row])):
                break
            if (self.at() in ",?[]{}" or (self.at() == ":" and self.at(1) in ", []{}")) if flow else self.col <= parent:
                break
            out.append("\n" * blanks or " ")
        if not flow and self.row < len(self.lines) and self.at() == "#":
            self.end_line()
        return resolve("".join(out))

    def next_text(self):
        """Moves to the first text of a following line; how many blank lines were between, None at the end."""
        blanks = -1
        while True:
            self.row, self.col, blanks = self.row + 1, 0, blanks + 1
            if self.row >= len(self.lines):
                return None
            line = self.lines[self.row]
            self.col = len(line) - len(line.lstrip(" "))
            if self.col < len(line):
                return blanks

    def quoted(self):
        quote, opened, out = self.at(), self.row, []
        self.col += 1
        while True:
            line = self.lines[self.row]
            run = _RUN[quote].match(line, self.col)
            if run:
                out.append(run.group())
                self.col = run.end()
            char, following = self.at(), self.at(1)
            if char == quote == "'" == following:
                out.append("'")
                self.col += 2
            elif char == quote:
                self.col += 1
                return "".join(out)
            elif char == "\\" and following:
                out.append(self.escape(following))
            elif char in (" ", "\t") and char:
                end = self.col
                while line[end : end + 1] in (" ", "\t") and end < len(line):
                    end += 1
                if end < len(line):
                    out.append(line[self.col : end])
                self.col = end
            else:
                out.append(self.fold(opened, char == "\\"))

    def escape(self, letter):
        self.col += 2
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        digits = self.lines[self.row][self.col : self.col + _HEX.get(letter, 0)]
        if letter not in _HEX or not re.match(r"[0-9a-fA-F]{%d}\Z" % _HEX[letter], digits):
            raise self.fail("an escape that YAML does not know")
        self.col += len(digits)
        number = int(digits, 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise self.fail("an escape that is no character")
        return chr(number)

    def fold(self, opened, escaped):
        """The end of a line inside of quotes."""
        blanks = -1
        while True:
            self.row, self.col, blanks = self.row + 1, 0, blanks + 1
            if self.row >= len(self.lines) or _marker(self.lines[self.row]):
                self.row = opened
                raise self.fail("a quote is not closed")
            line = self.lines[self.row]
            self.col = len(line) - len(line.lstrip(" \t"))
            if self.col < len(line):
                return "\n" * blanks or ("" if escaped else " ")

    def gap(self):
        if not self.settle():
            raise self.fail("a bracket is not closed")
        return self.at()

    def flow(self, depth):
        first = self.at()
        if first in _ONE_LINE:
            return self.quoted()
        if first not in "[{":
            return self.plain(-1, True)
        depth, close, result = self.deeper(depth), "]" if first == "[" else "}", [] if first == "[" else {}
        self.col += 1
        while self.gap() != close:
            if first == "[":
                result.append(self.flow(depth))
            else:
                self.pair(result, depth)
            if self.gap() == ",":
                self.col += 1
            elif self.at() != close:
                raise self.fail("a comma or %s is expected" % close)
        self.col += 1
        return result

    def pair(self, result, depth):
        row = self.row
        if self.at() in "[{":
            raise self.fail("a list or mapping as a key")
        key, value = self.flow(depth), None
        after, here = self.row, self.gap()
        if here == ":":
            if after != row or self.row != row:
                raise self.fail("a key of several lines")
            self.col += 1
            if self.gap() not in ",}":
                value = self.flow(depth)
        self.put(result, key, value)


def parse(text):
    """The document as dicts, lists and scalars; None when there is none. YamlError says what was not understood, and where."""
    text = text[1:] if text.startswith("\ufeff") else text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    illegal = _ILLEGAL.search(text)
    if illegal:
        raise YamlError("line %d: the character %r is outside of what is read" % (text.count("\n", 0, illegal.start()) + 1, illegal.group()))
    reader = _Reader(text)
    value, started = None, reader.settle()
    if not started and reader.row < len(reader.lines):
        if reader.at() == ".":
            raise reader.fail("a document ends before it begins")
        row, reader.col = reader.row, 3
        started = reader.settle()
        if started and reader.row == row and (reader.dash() or reader.colon() is not None):
            raise reader.fail("a list or mapping begins behind a document marker")
    if started:
        value = reader.node(-1, 0)
    if reader.settle():
        raise reader.fail("indented less than its neighbors")
    if reader.row < len(reader.lines) and (reader.lines[reader.row].startswith("---") or any(line.strip(" .") for line in reader.lines[reader.row :])):
        raise reader.fail("more than one document")
    return value
