# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures that the test of another reader asserts."""

from __future__ import annotations

import ast
from pathlib import Path

CAPTURES = Path(__file__).resolve().parents[1] / "captures"


def names(test, name):
    """Whether that test names the capture outside of what it holds to be no answer: as a key, or among the arguments of a call or a case of its own."""
    tree = ast.parse((CAPTURES / test).read_text(encoding="utf-8"))
    negative = {"test_another_answer_is_never_a_matrix"}
    whole = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in negative)]
    return any(isinstance(part, ast.Constant) and part.value in (name, name.split("/")[1]) for node in whole for part in ast.walk(node))
