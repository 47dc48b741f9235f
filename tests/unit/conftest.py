# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both places of a history: a file, and a real PostgreSQL that is started for a module of tests."""

from __future__ import annotations

import postgres
import pytest


@pytest.fixture(scope="module")
def server():
    why = postgres.missing()
    if why:
        yield why
        return
    running = postgres.Server()
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "store" / "history.sqlite")
    server = request.getfixturevalue("server")
    if isinstance(server, str):
        pytest.skip(server)
    return server.database()
