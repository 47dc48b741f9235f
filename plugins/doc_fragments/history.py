# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the history is, for every module that works on it."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  history:
    description:
      - The history, a file (SQLite), made when it is not there, or the URL of a PostgreSQL database.
      - A file on a network file system is refused. A URL needs SQLAlchemy and a driver (psycopg or pg8000) on the controller.
      - A password is better left to C(PGPASSFILE) than written into the URL.
    type: str
    required: true
"""
