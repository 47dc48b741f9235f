# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents against their JSON Schemas, both ways: what is made fits, and what does not fit is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import synthetic
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import fold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import engine, policy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import COMPARED, RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import NodeView

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def validator(name):
    schema = json.loads((SCHEMAS / (name + ".json")).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def fits(name, document):
    return [error.message for error in validator(name).iter_errors(document)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    nodes = {"a": synthetic.envelopes(synthetic.healthy()), "c": synthetic.unread("c"), "d": {}}
    sections = synthetic.healthy(7, serial="S2")
    sections["accelerators.nvidia"]["devices"][0]["links"] = {"not_applicable": "MIG"}
    sections["accelerators.nvidia"]["devices"][1]["row_remap"] = {"corrected": 1, "uncorrected": 0, "pending": True, "failed": False}
    sections["host"]["bios"]["version"] = {"unknown": "denied"}
    nodes["b"] = synthetic.envelopes(sections)
    path = synthetic.write_run(tmp_path_factory.mktemp("run"), nodes, {"a": {"accelerator_expected_count": {"nvidia": 8}}})
    fold.fold(path)
    return path


def test_every_schema_is_one():
    written = {"fleet", "finding", "outcome", "record", "run", "section", "measurement", "baseline"}
    assert written <= {path.stem for path in SCHEMAS.glob("*.json")}
    report = (SCHEMAS.parent / "node-report.md").read_text(encoding="utf-8")
    for path in SCHEMAS.glob("*.json"):
        assert validator(path.stem).schema["$id"].endswith(path.name)
        assert path.stem in written or "Section `%s" % path.stem in report, "%s: docs/node-report.md does not tell of it" % path.name


def test_what_a_judgement_writes(judged):
    assert fits("run", json.loads((judged / "run.json").read_text())) == []
    fleet = json.loads((judged / "fleet.json").read_text())
    assert fits("fleet", fleet) == []
    assert fleet["findings"]
    for finding in fleet["findings"]:
        assert fits("finding", finding) == []
    for record in (judged / "records").iterdir():
        assert fits("record", yaml.safe_load(record.read_text(encoding="utf-8"))) == []


def test_the_sections_of_tests_are_sections(judged):
    for path in judged.glob("nodes/*/*.json"):
        envelope = json.loads(path.read_text())
        assert fits("section", envelope) == []
        if envelope["status"] == "read":
            assert fits(envelope["section"].partition(".")[0], envelope["data"]) == []


def test_outcomes():
    view = NodeView("a", synthetic.envelopes(synthetic.healthy()), policy.parse({}))
    for rule in RULES.values():
        if rule.scope in COMPARED:
            continue
        for subject, outcome in engine.outcomes(rule, view, view.policy.params(rule.id)):
            assert fits("outcome", document(rule, subject, outcome)) == []


def document(rule, subject, outcome):
    pair = {"node": "a", "kind": subject[0], "id": subject[1]}
    return {"rule": rule.id, "node": "a", "subject": pair, "outcome": outcome.outcome, "reason": outcome.reason, "evidence": outcome.evidence}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("devices", 0, "ecc", "uncorrected_volatile"), "N/A"),
        (("devices", 0, "ecc", "uncorrected_volatile"), -1),
        (("devices", 0, "kind"), "card"),
        (("devices", 0, "temperature_c"), None),
        (("devices", 0, "health", "state"), "fine"),
        (("detection", "state"), "OK"),
        (("driver", "version"), 580),
    ],
)
def test_a_section_that_breaks_the_rules_of_facts_is_refused(path, value):
    section = copy.deepcopy(synthetic.healthy(1)["accelerators.nvidia"])
    place = section
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert fits("accelerators", section)


def test_a_key_is_never_left_out():
    section = synthetic.healthy(1)["accelerators.nvidia"]
    del section["devices"][0]["row_remap"]
    assert fits("accelerators", section)


def test_a_measurement_is_as_its_schema_says():
    plain = {"metric": "gemm-bf16", "unit": "TFLOPS", "better": "higher", "samples": [740.5], "subject": {"kind": "package", "id": "nvidia:0"}}
    plain.update(method={"tool": "acme"}, validity="valid")
    ends = [{"node": n, "kind": "port", "id": "mlx5_0", "rail": "0"} for n in ("a", "b")]
    assert fits("measurement", plain) == [] == fits("measurement", dict(plain, subject=ends))
    for change in ({"better": "more"}, {"samples": []}, {"samples": [0]}, {"method": {}}, {"subject": ends[:1]}):
        assert fits("measurement", dict(plain, **change)), change
