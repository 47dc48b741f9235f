# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each recorded node of the demo fleet through the readers and the rules, without Ansible."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

import demo
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

NODES = [node for node in demo.manifest() if node != demo.SILENT]


def test_the_recordings_are_what_the_generator_makes():
    program = "import json, sys; sys.path.insert(0, 'tools'); import generate_demo; json.dump(generate_demo.texts(), sys.stdout)"
    made = subprocess.run([sys.executable, "-c", program], cwd=demo.ROOT, capture_output=True, text=True, check=True).stdout
    wanted = demo.json.loads(made)
    assert sorted(wanted) == sorted(p.name for p in demo.RECORDINGS.iterdir()) == sorted(node + ".yml" for node in demo.manifest())
    stale = [name for name, text in wanted.items() if (demo.RECORDINGS / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run tools/generate_demo.py"


def test_the_recordings_stay_small():
    sizes = [p.stat().st_size for p in demo.RECORDINGS.iterdir()]
    assert max(sizes) < 190_000 and sum(sizes) < 1_550_000


@pytest.mark.parametrize("node", NODES)
def test_a_node_is_read_in_full(node):
    sections = demo.read(demo.document(node))
    assert demo.misfits(sections) == []
    assert "not recorded" not in demo.json.dumps(sections)
    judged = demo.Judged(node, sections)
    # one node alone has no peers: what the cohort finds is the fleet's
    assert judged.told() == sorted(
        (f["rule"], f["level"], f["subject"]["kind"], f["subject"]["id"]) for f in demo.manifest()[node]["findings"] if not f["rule"].startswith("cohort-")
    )
    expected = demo.manifest()[node]["verdict"]
    assert judged.verdict == ("accepted" if expected == "accepted_with_warnings" else expected), judged.reasons


def test_the_tools_of_a_manufacturer_tell_the_same():
    """h01 was read with nvidia-smi, h02 through NVML."""
    one, two = (demo.read(demo.document(node))["accelerators.nvidia"] for node in ("gpu-h01", "gpu-h02"))
    assert one["driver"] == two["driver"]
    for first, second in zip(one["devices"], two["devices"]):
        for key in ("name", "memory_mib", "firmware", "ecc", "row_remap", "links", "partition", "fabric", "recovery_action", "persistence"):
            assert first[key] == second[key], key


def test_a_fold_holds_few_reports_at_a_time(tmp_path, monkeypatch):
    """It runs without the cyclic collector: what a report leaves in cycles would stay until the end, a hundred KiB a node."""
    sections, filed = demo.read(demo.document("gpu-h02")), {}
    for number in range(80):
        sections["accelerators.nvidia"]["devices"][number % 8]["processes"] = number  # a kind of device that was not seen before
        filed["n%02d" % number] = {name: json.dumps(synthetic.envelope("n%02d" % number, name, data)) for name, data in sections.items()}
    alive, release = [], NodeView.release
    before = [one for one in gc.get_objects() if one.__class__ is NodeView]  # of other tests

    def counted(view):
        release(view)
        alive.append(sum(1 for one in gc.get_objects() if one.__class__ is NodeView) - len(before))

    monkeypatch.setattr(NodeView, "release", counted)
    fold.fold(synthetic.write_run(tmp_path, filed), processes=1)
    assert len(alive) == 80 and max(alive) <= fold.COLLECTED + 2
