# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/manufacturers.md say what the modules ask and answer on a recorded node of each manufacturer."""

from __future__ import annotations

import nine
import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.preflight_document import HOST_COMMANDS
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.rows import CAPABILITIES

DATA = yaml.safe_load((nine.demo.ROOT / "plugins" / "plugin_utils" / "data" / "manufacturer_checks.yml").read_text(encoding="utf-8"))
PAGE = (nine.demo.ROOT / "docs" / "manufacturers.md").read_text(encoding="utf-8")
OWN = ("preflight-panicked", "stale-container-sweep")  # rows of the run itself
DEPTHS = ("declared", "simulated", "measured")
MIG_ON = {"mig": "Enabled", "mig_devices": "None"}
CONFIDENTIAL = [{"protected": "N/A"}, {"protected": "81559 MiB"}]  # one does not tell, of the other it is on
THEAD_ON = nine.thead_samples.log([0], MIG_Mode={"Current": "Enabled", "Pending": "Enabled"})


def parts(name):
    """The healthy node, and one that has what the healthy one has not."""
    more = {
        "ascend": [nine.ascend_950()],
        "nvidia": [nine.nvidia(1, [MIG_ON], "x"), nine.nvidia(2, CONFIDENTIAL, "y")],
        "thead": [nine.thead(1, "x", **{"-q": THEAD_ON})],
    }
    return [nine.PARTS[name](), *more.get(name, [])]


def test_every_row_has_its_line():
    told = set(DATA["rows"]) | set(DATA["probes"]) | {row for entry in DATA["manufacturers"].values() for row in entry.get("rows", {})}
    assert told == set(CAPABILITIES) - set(OWN)
    assert sorted(DATA["manufacturers"]) == sorted(nine.PARTS)
    assert {name: entry["detection"]["cross_check"] for name, entry in DATA["manufacturers"].items() if "cross_check" in entry["detection"]} == HOST_COMMANDS


@pytest.mark.parametrize("name", nine.PARTS)
def test_what_is_asked_and_answered_is_in_the_table(name):
    entry = DATA["manufacturers"][name]
    detection, own = entry["detection"], entry.get("rows", {})
    asked = [*detection["reads"], detection.get("cross_check") or detection["reads"][0]]
    seen, answered = set(), set()
    for part in parts(name):
        sections = nine.read(nine.recording(part))
        for source in (s["source"] for s in sections["accelerators." + name]["sources"]):
            told = source.startswith(tuple(asked)) or "`%s`" % source in detection.get("otherwise", "")
            assert told, "%s is asked and not in the table" % source
            seen |= {words for words in asked if source.startswith(words)}
        for source in (s["source"] for s in sections["allocation." + name]["sources"]):
            assert source.startswith(tuple(words for row in own.values() for words in row["reads"])), source
        for row in sections["allocation." + name]["checks"]:
            line = own.get(row["capability"]) or DATA["rows"][row["capability"]]
            assert row["mode"] in line["mode"].split(", "), row
            deepest = "declared" if row["capability"] in own else "simulated"
            assert DEPTHS.index(row["depth"]) <= DEPTHS.index(deepest), row
            answered.add(row["capability"])
    assert set(detection["reads"]) <= seen, "in the table and never asked"
    assert set(own) <= answered
    for row in [*own, *DATA["rows"]]:
        assert "| %s" % row in PAGE
