# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaces what tells whose machine a recording is of; done on request, before it is attached to a bug report."""

from __future__ import annotations

import base64
import re

_HEX4 = r"[0-9a-fA-F]{4}"
_BY_FORM = re.compile(
    r"(?<![0-9a-zA-Z])(?:[0-9a-fA-F]{8}-(?:%s-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5,19}|(?:%s:){3}%s)(?![0-9a-zA-Z])" % ((_HEX4,) * 3)
)
_ID_WORDS = r"serial|uuid|guid|unique[ _-]?id|machine[_-]id|hostname|asset[ _]?tag"
_ID_NAME = re.compile(r"(?i)(?:%s|^sn$)" % _ID_WORDS)
_BY_NAME = re.compile(r"(?i)(?:%s|(?<![a-z])sn(?![a-z]))[\w .-]{0,20}['\"\\]{0,3}[ \t]*[:=>][ \t]*['\"\\]{0,3}([0-9a-z][\w./-]{3,63})" % _ID_WORDS)
_PLACEHOLDER = re.compile(r"(?:0x)?(?:(.)\1*|0?123456789(?:0|abcdef)?|[^0-9]*|fe80(?::0000){3}|0000(?::0000){3}|[0:.-]+)$")


def shaped(text, number):
    """The number-th neutral value of the same shape: digits stay digits, letters letters, hexadecimal hexadecimal."""
    letters = "abcdef" if all(c in "0123456789abcdefx" for c in text.lower() if c.isalnum()) else "abcdefghijklmnopqrstuvwxyz"
    out = []
    for char in reversed(text[2:] if text[:2] == "0x" else text):
        if not (char.isascii() and char.isalnum()):
            out.append(char)
            continue
        radix = 10 if char.isdigit() else len(letters)
        number, low = divmod(number, radix)
        new = str(low) if char.isdigit() else letters[low]
        out.append(new.upper() if char.isupper() else new)
    if out and out[-1] == "0" and text[:1] not in "0":
        out[-1] = "1"  # a number stays as long as it was
    return ("0x" if text[:2] == "0x" else "") + "".join(reversed(out))


class Identifiers:
    """Replaces serials, UUIDs, GUIDs, MAC addresses, host names and the given words of a document, each by the same value everywhere."""

    def __init__(self, words=()):
        self._numbers = {}
        self._spelled = set()
        for word in words:
            self.add(word)

    def add(self, text):
        if text:
            self._numbers.setdefault(text.lower(), len(self._numbers) + 1)
            self._spelled.add(text)

    def collect(self, value, name=""):
        if isinstance(value, dict):
            for key, inner in value.items():
                self.collect(str(key), "")
                self.collect(base64.b64decode(inner).decode("latin-1") if key == "base64" else inner, name if key in ("text", "answers", "value") else str(key))
        elif isinstance(value, (list, tuple)):
            for inner in value:
                self.collect(inner, name)
        elif isinstance(value, (str, int)) and not isinstance(value, bool):
            text = str(value)
            found = [text.strip()] if _ID_NAME.search(name.rsplit("/", 1)[-1]) and re.match(r"\s*[\w./-]{4,64}\s*$", text) else []
            found += _BY_NAME.findall(text)
            for word in [w for w in found if not _BY_FORM.search(w)] + _BY_FORM.findall(text):
                if not _PLACEHOLDER.match(word.lower()):
                    self.add(word)

    def replace(self, value):
        """A copy of a document with everything collected replaced."""
        if not self._spelled:
            return value
        words = sorted(self._spelled, key=lambda w: (-len(w), w))
        pattern = re.compile("(?<![0-9A-Za-z])(?:%s)(?![0-9A-Za-z])" % "|".join(re.escape(w) for w in words))
        return self._replaced(value, lambda text: pattern.sub(lambda m: shaped(m.group(), self._numbers[m.group().lower()]), text))

    def _replaced(self, value, change):
        if isinstance(value, dict):
            out = {}
            for key, inner in value.items():
                if key == "base64":
                    inner = base64.b64encode(change(base64.b64decode(inner).decode("latin-1")).encode("latin-1")).decode()
                out[change(key) if isinstance(key, str) else key] = self._replaced(inner, change) if key not in ("base64", "schema") else inner
            return out
        if isinstance(value, (list, tuple)):
            return [self._replaced(v, change) for v in value]
        if isinstance(value, str):
            return change(value)
        if isinstance(value, int) and not isinstance(value, bool):
            text = change(str(value))
            return int(text) if text != str(value) else value
        return value


def replace_identifiers(document, words=()):
    """A recording with neutral values of the same shape for its serials, UUIDs, GUIDs, MAC addresses, host name and the given words."""
    node = str(document.get("node") or "")
    names = {node, str(((document.get("host") or {}).get("uname") or {}).get("node") or "")}
    names = {part for name in names for part in (name.partition(".")[0], name.partition(".")[2])}
    # a short plain word may be anything else, too
    telling = [n for n in sorted(names) if n != "localhost" and (len(n) >= 8 or (len(n) >= 4 and re.search(r"[0-9.-]", n)))]
    identifiers = Identifiers([*words, *telling])
    identifiers.collect(document)
    return identifiers.replace(document)
