# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of a vendor's library, for the readers that run alone in a child: standard library only. An error is {"error": code, "said": …}."""

from __future__ import annotations

import ctypes


class Calls:
    """library: loaded. unsupported: its code for what a part does not have."""

    def __init__(self, library, unsupported):
        self.library, self.unsupported = library, unsupported

    def call(self, function, *arguments):
        """None, or an error."""
        try:
            code = getattr(self.library, function)(*arguments)
        except AttributeError:
            return {"error": "no function", "said": function}
        return {"error": code, "unsupported": code == self.unsupported, "said": "%s: error %d" % (function, code)} if code else None

    def number(self, function, kind, *arguments):
        """What a function writes behind its arguments, or an error."""
        value = kind()
        return self.call(function, *arguments, ctypes.byref(value)) or value.value


def load(places, unsupported):
    """(Calls, None), or (None, what to answer): {"missing": …} where the library is in none of these places, else an error."""
    broken = ""
    for place in places:
        try:
            return Calls(ctypes.CDLL(place), unsupported), None
        except OSError as error:
            if not str(error).startswith(place + ": cannot open"):  # it is there, and what it needs is not
                broken = broken or str(error)[:200]
    return None, {"error": "not loaded", "said": broken} if broken else {"missing": "none of %s" % ", ".join(places)}
