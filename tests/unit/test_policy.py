# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policy variables and profiles: AWX texts and YAML values alike, every error at once, a misspelling named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import settings
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import policy, profiles
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import LAYERS, LEVELS, RULES, SCOPES

COLLECTION = Path(policy.__file__).resolve().parents[3]


def problems(**variables):
    with pytest.raises(policy.PolicyError) as raised:
        policy.parse(variables)
    return raised.value.problems


@pytest.mark.parametrize("value", [True, "true", "True", "yes", "1"])
def test_a_survey_text_is_as_good_as_a_boolean(value):
    assert policy.parse({"accelerator_policy_persistence_enabled": value}).enabled("persistence") is True


@pytest.mark.parametrize("value", [False, "false", "no", "off"])
def test_off(value):
    assert policy.parse({"accelerator_policy_persistence_enabled": value}).enabled("persistence") is False


@pytest.mark.parametrize("value", ["", "  ", None])
def test_nothing_entered_is_not_set(value):
    parsed = policy.parse({"accelerator_policy_pcie_width_lanes": value, "accelerator_expected_count": value, "accelerator_profile": value})
    assert parsed.params("pcie-width").lanes is None and parsed.expected_count is None and parsed.profile == ""


def test_values_and_their_origin():
    parsed = policy.parse({"accelerator_policy_temperature_margin_margin": "7.5", "accelerator_policy_throttle_hardware_reasons": "hw_slowdown, x"})
    assert parsed.params("temperature-margin").margin == 7.5
    assert parsed.params("temperature-margin").expected("margin") == {"value": 7.5, "unit": "°C", "origin": "site policy"}
    assert parsed.params("throttle-hardware").reasons == ["hw_slowdown", "x"]
    assert parsed.params("retired-pages").of("most", "nvidia") == 59
    assert parsed.params("retired-pages").of("most", "cambricon") is None
    assert policy.parse({"accelerator_policy_retired_pages_most": 5}).params("retired-pages").of("most", "nvidia") == 5


def test_every_error_at_once():
    told = problems(
        accelerator_policy_ecc_uncorected_volatile=1,
        accelerator_policy_pcie_width_lanes="wide",
        accelerator_policy_persistence_level="fatal",
        accelerator_policy_persistence_enabled="perhaps",
        accelerator_expected_count=-1,
        accelerator_expected_cuont=8,
        accelerator_modes=["slicde"],
        accelerator_profile="prefligt",
        accelerator_cohort=["a"],
    )
    assert len(told) == 9
    assert "accelerator_policy_ecc_uncorected_volatile: no such policy variable; the nearest is accelerator_policy_ecc_uncorrected_volatile" in told
    assert "accelerator_policy_pcie_width_lanes: found 'wide', allowed: a whole number" in told
    assert "accelerator_policy_persistence_level: found 'fatal', allowed: info | warn | fail" in told
    assert "accelerator_expected_cuont: no such variable; the nearest is accelerator_expected_count" in told
    assert any("the nearest is preflight" in text for text in told)


@pytest.mark.parametrize("value", [True, 1.5, "8x", {}, {"nvidia": -1}, {"nvidia": "x"}, [8]])
def test_counts_that_are_none(value):
    assert "allowed: a whole number of packages" in problems(accelerator_expected_count=value)[0]


@pytest.mark.parametrize(("value", "parsed"), [("8", 8), (0, 0), ({"nvidia": "8"}, {"nvidia": 8}), ('{"AMD": 4}', {"amd": 4})])
def test_counts(value, parsed):
    assert policy.parse({"accelerator_expected_count": value}).expected_count == parsed


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("temperature_margin_margin", -5, "a number from 0"),
        ("temperature_margin_limit", "-1", "a number from 0"),
        ("cohort_memory_tolerance_percent", -0.5, "a number from 0"),
        ("ecc_uncorrected_volatile", -1, "a whole number from 0"),
        ("retired_pages_most", "-60", "a whole number from 0"),
        ("pcie_width_lanes", 0, "a whole number from 1"),
    ],
)
def test_numbers_below_their_least_are_refused(variable, value, allowed):
    name = "accelerator_policy_" + variable
    assert problems(**{name: value}) == ["%s: found %r, allowed: %s" % (name, value, allowed)]


def test_every_number_of_every_rule_has_a_least_value_and_its_defaults_keep_it():
    for name, (_rule, _key, parameter) in policy.names().items():
        if parameter.type in ("int", "number"):
            assert problems(**{name: -1})[0].startswith(name)
            defaults = [parameter.default, *(default for default, _source in (parameter.by_manufacturer or {}).values())]
            assert all(default is None or policy.convert(default, parameter.type, least=parameter.least) == default for default in defaults)


def test_other_variables_are_none_of_its_business():
    assert policy.parse({"accelerator_run_root": "runs", "ansible_host": "x", 7: 8}).expected_count is None
    with pytest.raises(policy.PolicyError, match="found list"):
        policy.parse([])


def test_names_of_variables_are_unambiguous():
    expected = sum(2 + len(rule.parameters) for rule in RULES.values())
    assert len(policy.names()) == expected


def test_every_rule_is_described():
    for rule in RULES.values():
        assert rule.layer in LAYERS and rule.level in LEVELS and rule.scope in SCOPES
        assert rule.title and rule.remedy.endswith("."), rule.id
        assert set(rule.follows) <= set(RULES), rule.id
        assert rule.id == rule.id.lower() and "_" not in rule.id
        for name, parameter in rule.parameters.items():
            assert parameter.source, (rule.id, name)
            assert not set(parameter.by_manufacturer or {}) - {"nvidia", "amd", "ascend", "cambricon", "hygon", "iluvatar", "metax", "mthreads", "thead"}


def test_shipped_profiles():
    preflight, acceptance, consistency = (profiles.find(name) for name in ("preflight", "acceptance", "consistency"))
    assert preflight.layers == (1,) and acceptance.layers == (1, 2, 3, 4, 5) and consistency.layers == ()
    assert "node-answers" in preflight.required and "persistence" not in preflight.required and "persistence" in preflight.asked
    assert preflight.required < acceptance.required
    assert {name for name in consistency.asked if not name.startswith("cohort-")} == {"node-answers", "unique-accelerators", "npu-ports-unique"}
    # A health word that nobody understood accepts no node; a manufacturer without such a word answers not applicable.
    assert "device-health" in preflight.required
    assert not {"recovery-action", "temperature-margin"} & preflight.required


def test_a_site_profile():
    own = {"nightly": {"based_on": "preflight", "required": ["time-synchronized"], "optional": ["fabric-state"]}}
    parsed = policy.parse({"accelerator_profiles": own, "accelerator_profile": "nightly"})
    found = profiles.find(parsed.profile, parsed.profiles)
    assert "time-synchronized" in found.required and "fabric-state" not in found.required and "fabric-state" in found.asked
    assert found.layers == (1,)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"x": {"required": ["ecc-uncorected"]}}, "the nearest is ecc-uncorrected"),
        ({"x": {"layers": [6]}}, "layers: found [6]"),
        ({"x": {"needs": []}}, "allowed keys"),
        ({"x": {"based_on": "x"}}, "is based on itself"),
        ({"x": {"based_on": "y"}, "y": {"based_on": "x"}}, "is based on itself"),
        ({"x": {"required": "all"}}, "a list of rules"),
        (["x"], "a dictionary of profile name"),
    ],
)
def test_a_site_profile_that_is_none(given, told):
    assert told in problems(accelerator_profiles=given)[0]


@pytest.mark.parametrize(
    "path", sorted([*COLLECTION.glob("docs/*.md"), COLLECTION / "README.md", *COLLECTION.glob("inventories/example/**/*.yml")]), ids=lambda path: path.name
)
def test_what_documents_and_the_example_inventory_name_is_a_variable(path):
    known = set(policy.names())
    named = re.findall(r"\baccelerator_policy_[a-z0-9_]*[a-z0-9](?![a-z0-9_<])", path.read_text(encoding="utf-8"))
    assert [name for name in named if name not in known] == []


def test_the_example_inventory_is_a_policy():
    folder = COLLECTION / "inventories/example/group_vars"
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml"))]
    assert len(files) >= 2 and policy.parse({name: value for one in files for name, value in one.items()}).expected_count == 8


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accelerator_bmc", "maybe"),
        ("accelerator_directories", "data,/cache"),
        ("accelerator_directories", ["data"]),
        ("accelerator_directories", 3),
        ("accelerator_evidence", "maybe"),
        ("accelerator_kv_cache_path", "cache"),
        ("accelerator_slicing_library_replace", "maybe"),
        ("accelerator_slicing_library_target", ["/opt"]),
    ],
)
def test_what_says_how_a_node_is_read_has_its_type(name, value):
    (told,) = settings.problems({name: value})
    assert told.startswith("%s: found " % name) and "allowed: " in told


def test_a_survey_names_directories_in_one_text():
    assert settings.problems({"accelerator_directories": "/data, /cache", "accelerator_bmc": "no", "accelerator_kv_cache_path": ""}) == []


def test_a_variable_that_is_nearly_one_of_ours_is_told_and_a_site_may_have_its_own():
    ours = {"accelerator_deadline", "accelerator_expected_count", "accelerator_profile", "accelerator_policy_pcie_width_lanes", "accelerator_run_id"}
    own = {"accelerator_owner", "accelerator_model", "accelerator_run_by", "nvidia_deadlin", "accelerator_version_matrix_kernel"}
    assert settings.misspelled(ours | own) == []
    wrong = {"accelerator_deadlin": "deadline", "accelerator_expcted_count": "expected_count", "accelerator_polcy_pcie_width_lanes": "policy_pcie_width_lanes"}
    assert settings.misspelled(ours | own | set(wrong)) == [
        "%s is no variable of this collection; the nearest is accelerator_%s" % (name, wrong[name]) for name in sorted(wrong)
    ]


def test_every_variable_of_documents_and_plays_is_known():
    """One that is missing would be told as a misspelling of another."""
    paths = [*COLLECTION.glob("playbooks/*.yml"), *COLLECTION.glob("roles/*/*/*.yml"), COLLECTION / "docs/usage.md"]
    named = {name for path in paths for name in re.findall(r"\baccelerator_[a-z_]*[a-z](?![a-z_<*])", path.read_text(encoding="utf-8"))}
    assert len(named) > 50 and settings.misspelled(named) == []
