# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a node report. A fact is a plain value, or says why there is none.

81559
{"unknown": "nvidia-smi: timeout"}           it could not be read; never judged as healthy
{"not_applicable": "no NVLink on this part"}  the question does not arise; never a failure
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_LARGEST = 1e30  # beyond it is garbage; int() refuses more than 4,300 digits, and float() an int of more than 308


def unknown(reason):
    return {"unknown": str(reason)[:400]}


def not_applicable(reason):
    return {"not_applicable": str(reason)[:400]}


def is_unknown(value):
    return value is None or (isinstance(value, dict) and len(value) == 1 and "unknown" in value)


def is_not_applicable(value):
    return isinstance(value, dict) and len(value) == 1 and "not_applicable" in value


def is_known(value):
    return not is_unknown(value) and not is_not_applicable(value)


def known(value, default=None):
    """The plain value, or default."""
    return value if is_known(value) else default


def why(value):
    """The reason of a value that is not known, "" otherwise."""
    if value is None:
        return "not read"
    if isinstance(value, dict) and len(value) == 1:
        return str(value.get("unknown") or value.get("not_applicable") or "")
    return ""


def from_answer(answer, convert=None):
    """A host answer as a fact: converted text, or unknown with the answer's reason."""
    if not answer.ok:
        return unknown(answer.reason)
    if convert is None:
        return answer.value
    try:
        return convert(answer.value)
    except (ValueError, KeyError, IndexError, TypeError):
        return unknown("%s: not understood: %r" % (answer.subject, str(answer.value)[:80]))


def number(text, what, unit=None):
    """First number of a text such as "81559 MiB" or " 37 C "; unknown with the text when there is none.

    unit: when given, the text must be bare or carry exactly this unit.
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return text if -_LARGEST < text < _LARGEST else unknown("%s: no possible number: %.40s" % (what, text))
    words = str("" if text is None else text).strip()
    found = _NUMBER.match(words)
    rest = words[found.end() :].strip().replace("\u2103", "C").lstrip("\u00b0") if found else words
    rest = "C" if rest == "c" else rest  # degrees: 46.0c, with the sign before it, with the sign in it
    if not found or (unit is not None and rest not in ("", unit)) or found.end() > 30:
        return unknown("%s: not a number%s: %r" % (what, " of %s" % unit if unit else "", words[:60]))
    digits = found.group()
    return float(digits) if "." in digits else int(digits)


def whole(text):
    """The number of a text that is nothing but plain digits, None where it is not or is too long: isdigit() is also true of what int() refuses."""
    return int(text) if re.match(r"[0-9]{1,20}\Z", text) else None
