# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data files of the collection as plain objects, by libyaml where it is there: without it they take a good part of a small fold."""

from __future__ import annotations

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path):
    """path: of a YAML file that comes with the collection."""
    return yaml.load(path.read_bytes(), Loader=_Loader)
