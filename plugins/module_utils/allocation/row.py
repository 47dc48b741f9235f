# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of the three questions."""

from __future__ import annotations

OK, UNAVAILABLE, NOT_DECLARED = "ok", "unavailable", "not-declared"
DECLARED, SIMULATED, MEASURED = "declared", "simulated", "measured"


def row(accelerator, capability, mode, state, depth=DECLARED, detail="", reason="", command="", evidence=""):
    """reason is empty exactly when the state is ok. A command without evidence is a step that was not taken."""
    reason = "" if state == OK else reason or detail or "no reason given"
    return {
        "accelerator": accelerator, "capability": capability, "mode": mode, "state": state, "depth": depth, "detail": detail, "reason": reason,
        "command": command, "evidence": evidence,
    }  # fmt: skip
