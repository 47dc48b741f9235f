# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TOML by Python's own tomllib, else by toml_subset. Errors name a line and never the text: it may hold secrets."""

from __future__ import annotations

import re

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None


class TomlError(ValueError):
    """Not TOML, or more than is understood; the message names the line."""


def loads(text):
    """The document as a dict."""
    if tomllib is None:
        # Here, because it is large, and few nodes need it.
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import toml_subset

        return toml_subset.parse(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TomlError("nested too deep") from None
    except ValueError as error:
        found = re.search(r"line (\d+)", str(error))
        raise TomlError("not TOML, line %s" % (found.group(1) if found else "unknown")) from None
