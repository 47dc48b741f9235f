# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that has no accelerator and is expected to have none."""

from __future__ import annotations

import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.render import text


def bare():
    sections = {name: data for name, data in synthetic.healthy().items() if not name.startswith("accelerators.")}
    sections["pci"] = synthetic.pci([])
    sections["host"]["limits"]["memlock_soft"] = 8 << 20
    return synthetic.envelopes(sections)


@pytest.mark.parametrize(("expected", "verdict"), [({"accelerator_expected_count": 0}, "accepted"), ({}, "rejected")])
def test_only_an_expected_count_of_zero_makes_it_acceptable(tmp_path, expected, verdict):
    fleet = fold.fold(synthetic.write_run(tmp_path, {"login1": bare()}, {"login1": expected}))
    assert fleet[verdict] == ["login1"]
    said = text.render(fleet)
    assert ("Nothing to accept on login1" in said) == (verdict == "accepted")
    assert ("memlock is limited to 8 MiB" in said) == (verdict == "rejected")
    assert fleet["verdicts"][0]["facts"]["driver"] == "n/a: no accelerator on PCI"


def test_a_machine_with_accelerators_where_none_is_expected_is_not_nothing(tmp_path):
    fleet = fold.fold(synthetic.write_run(tmp_path, {"gpu1": synthetic.envelopes(synthetic.healthy())}, {"gpu1": {"accelerator_expected_count": 0}}))
    assert fleet["rejected"] == ["gpu1"]
    assert "othing to accept" not in text.render(fleet)
