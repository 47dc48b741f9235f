# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that failed on a node is filed with a reason, whatever it left behind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import collect

TRACE = 'Traceback (most recent call last):\n  File "accelerator_info.py", line 3, in main\nValueError: 7\n'
NOT_FOUND = "The module interpreter '/opt/none/bin/python3' was not found."


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ({"sections": {}}, "read", ""),
        (
            {"failed": True, "exception": SimpleNamespace(event=SimpleNamespace(formatted_traceback=TRACE, msg="7"))},
            "failed",
            "the module failed: ValueError: 7",
        ),
        (
            {"failed": True, "exception": SimpleNamespace(event=SimpleNamespace(formatted_traceback=None, msg="no exit"))},
            "failed",
            "the module failed: no exit",
        ),
        ({"failed": True, "exception": TRACE}, "failed", "the module failed: ValueError: 7"),
        ({"failed": True, "msg": "no JSON", "rc": 137, "module_stderr": "Killed\n"}, "failed", "no JSON Killed (exit 137)"),
        ({"failed": True, "msg": "found 0, allowed: at least 1 second", "sections": {}}, "failed", "found 0, allowed: at least 1 second"),
        ({"failed": True, "msg": NOT_FOUND, "rc": 127}, "no_python", "no usable Python on the node: %s (exit 127)" % NOT_FOUND),
        ({"failed": True}, "failed", "the module returned nothing"),
        ({}, "failed", "the module returned nothing"),
    ],
)
def test_reason(answer, status, reason):
    assert collect.judged(answer)[::2] == (status, reason)
