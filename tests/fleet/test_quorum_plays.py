# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The play fails when too few of the expected nodes answered."""

from __future__ import annotations

import plays
import pytest
import synthetic


@pytest.mark.parametrize(("asked", "code"), [("", 0), (50, 0), ("75", 2)])
def test_the_play_fails_even_if_all_that_answered_are_accepted(tmp_path, asked, code):
    nodes = {"n0": synthetic.envelopes(synthetic.healthy()), "s0": synthetic.unread("s0")}
    synthetic.write_run(tmp_path, nodes)
    inventory = tmp_path / "hosts"
    inventory.write_text("n0\ns0\n", encoding="utf-8")
    variables = {"accelerator_quorum_percent": asked, "accelerator_run_id": "r1"}
    done = plays.play("fold", "--limit", "n0", run_root=tmp_path, inventory=inventory, variables=variables)
    assert done.code == code, done.output
    assert ("quorum not met with 50 % answered where 75 % is asked" in " ".join(done.output.split())) == (code == 2)
    assert done.verdicts() == {"n0": "accepted", "s0": "incomplete"}
