# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frozen version matrix of a site, and what vendors say of versions that belong together."""

from __future__ import annotations

import pytest
import synthetic
import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils import roster
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.fleet import cohorts
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import compatibility, engine, matrix, policy, profiles, versions
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import Device, NodeView

DRIVER = "accelerators.nvidia.driver.version"


@pytest.fixture
def sections():
    return synthetic.healthy()


def asked(rule, sections, **variables):
    view = NodeView("n1", synthetic.envelopes(sections), policy.parse(variables))
    return engine.outcomes(RULES[rule], view, view.policy.params(rule))


def lines(sections, **given):
    told = asked("version-matrix", sections, accelerator_version_matrix=given)
    return {subject[1]: (outcome.outcome, outcome.level, outcome.summary or outcome.reason) for subject, outcome in told}


def problems(**variables):
    with pytest.raises(policy.PolicyError) as caught:
        policy.parse(variables)
    return caught.value.problems


@pytest.mark.parametrize(
    ("pin", "good", "bad"),
    [
        ({"exact": "580.95.05"}, True, {"exact": "580.95"}),
        ({"range": ">=580.65.06,<581"}, True, {"range": ">=580.95.06"}),
        ({"range": "==580.95.5"}, True, {"range": "!=580.95.05"}),
        ({"range": "<=580.95.05"}, True, {"range": ">580.95.05"}),
        ({"one_of": ["570.133.20", "580.95.05"]}, True, {"one_of": ["570.133.20"]}),
        ({"glob": "580.*"}, True, {"glob": "570.*"}),
    ],
)
def test_pins(sections, pin, good, bad):
    assert lines(sections, driver=dict(pin, select=DRIVER))["driver"][0] == "passed"
    outcome, level, summary = lines(sections, driver=dict(bad, select=DRIVER))["driver"]
    assert (outcome, level) == ("found", None) and summary.startswith("driver is 580.95.05, allowed: ")


def test_each_line_has_its_own_outcome_and_level(sections):
    told = lines(
        sections,
        driver={"select": DRIVER, "exact": "1", "level": "warn"},
        vbios={"select": "accelerators.nvidia.devices[].firmware.vbios", "glob": "96.*"},
        persistence={"select": "accelerators.nvidia.devices[].persistence", "exact": True},
        memory={"select": "accelerators.nvidia.devices[0].memory_mib", "exact": 81559},
        nowhere={"select": "host.no_such_key", "exact": "1"},
        group={"select": "host.kernel", "exact": "1"},
        other={"select": "accelerators.amd.driver.version", "exact": "1"},
        broken={"select": "sum(host.kernel.release)", "exact": "1"},
    )
    assert {name: outcome for name, (outcome, _level, _text) in told.items()} == {
        "driver": "found", "vbios": "passed", "persistence": "passed", "memory": "passed", "nowhere": "unknown", "group": "unknown", "other": "not_applicable",
        "broken": "unknown",
    }  # fmt: skip
    assert told["driver"][1] == "warn"
    assert told["nowhere"][2] == "nowhere: host.no_such_key selects nothing"


def test_a_value_that_is_not_known_is_never_right(sections):
    sections["accelerators.nvidia"]["driver"]["version"] = unknown("nvidia-smi: timeout")
    assert lines(sections, driver={"select": DRIVER, "glob": "*"})["driver"] == ("unknown", None, "driver: nvidia-smi: timeout")
    sections["accelerators.nvidia"]["driver"]["version"] = not_applicable("no driver")
    assert lines(sections, driver={"select": DRIVER, "glob": "*"})["driver"][0] == "not_applicable"
    sections["accelerators.nvidia"]["devices"][3]["firmware"]["vbios"] = unknown("not told")
    assert lines(sections, vbios={"select": "accelerators.nvidia.devices[].firmware.vbios", "glob": "*"})["vbios"][0] == "unknown"


def test_without_a_matrix_nothing_arises(sections):
    assert [outcome.outcome for _subject, outcome in asked("version-matrix", sections)] == ["not_applicable"]
    assert [outcome.outcome for _subject, outcome in asked("cohort-version-matrix", sections)] == ["not_applicable"]


def test_a_line_of_its_own_variable_stands_over_the_dictionary(sections):
    whole = {"a": {"select": DRIVER, "exact": "1"}, "b": {"select": DRIVER, "exact": "1"}}
    given = {"accelerator_version_matrix": whole, "accelerator_version_matrix_a": '{"select": "%s", "exact": "580.95.05"}' % DRIVER}
    told = asked("version-matrix", sections, accelerator_version_matrix_b="", **given)
    assert [(subject, outcome.outcome) for subject, outcome in told] == [(("version", "a"), "passed")]
    assert all(map(roster.judges, given))


def test_what_is_not_pinned_is_compared_in_the_cohort():
    prints, params = {}, {}
    for node, release in (("n1", "6.8.0-88"), ("n2", "6.8.0-88"), ("n3", "6.8.0-79")):
        made = synthetic.healthy()
        made["host"]["kernel"]["release"] = release
        given = policy.parse({"accelerator_version_matrix": {"kernel": {"select": "host.kernel.release"}}})
        view = NodeView(node, synthetic.envelopes(made), given)
        prints[node], params[node] = ("value", RULES["cohort-version-matrix"].check(view, None)), given.params("cohort-version-matrix")
    told = dict(cohorts.compare(RULES["cohort-version-matrix"], cohorts.Cohort("c", ("n1", "n2", "n3"), ""), prints, params))
    assert {node: outcome.outcome for node, outcome in told.items()} == {"n1": "passed", "n2": "passed", "n3": "found"}
    assert "kernel 6.8.0-79, where 2 of 3 nodes have kernel 6.8.0-88" in told["n3"].summary


def test_errors_name_variable_key_what_was_found_and_what_is_allowed():
    given = {
        "a": {"select": "host.[", "range": "6"},
        "b": 5,
        "c": {"select": "x", "exact": "1", "glob": "*", "rnage": "1"},
        "d": {"exact": True},
        "e": {"select": "x", "level": "bad", "one_of": []},
        "f g": {"select": "x"},
    }
    told = problems(accelerator_version_matrix=given, accelerator_version_matrx={}, accelerator_policy_version_matrix_level="loud")
    parts = (
        "accelerator_version_matrix.a.select: found host.[, allowed: a JMESPath selection: ",
        "accelerator_version_matrix.a.range: found 6, allowed: bounds with commas between, such as >=580.65.06,<581",
        "accelerator_version_matrix.b: found 5, allowed: a dictionary with select and at most one of exact, range, one_of, glob",
        "accelerator_version_matrix.c.rnage: no such key; the nearest is range",
        "accelerator_version_matrix.c: found exact and glob, allowed: one of them",
        "accelerator_version_matrix.d.select: found None, allowed: a JMESPath selection into the node report",
        "accelerator_version_matrix.e.one_of: found [], allowed: a list of texts",
        "accelerator_version_matrix.e.level: found bad, allowed: info | warn | fail",
        "accelerator_version_matrix.f g: found f g, allowed: a name of letters",
        "accelerator_version_matrx: no such variable; the nearest is accelerator_version_matrix",
        "accelerator_policy_version_matrix_level: found 'loud', allowed: info | warn | fail",
    )
    assert len(told) == len(parts)
    assert [part for part in parts if not any(text.startswith(part) for text in told)] == []
    assert problems(accelerator_version_matrix=[1]) == ["accelerator_version_matrix: found [1], allowed: a dictionary of name: line"]


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("1.9", "1.10"),
        ("580", "580.0.1"),
        ("8.0.rc1", "8.0"),
        ("8.0.RC1", "8.0.RC2"),
        ("6.8.0-79-generic", "6.8.0-88-generic"),
        ("24.1.rc3", "25.0"),
        ("96.00.99.00.01", "96.00.A5.00.01"),
        ("96.00.9F.00.01", "96.00.a0.00.00"),
        ("0xa101148", "0xa10114a"),
        ("0x9f", "0x100"),
    ],
)
def test_order_of_versions(lower, higher):
    assert matrix.in_range(lower, (("<", higher),)) and matrix.in_range(higher, ((">", lower),))
    assert not matrix.in_range(higher, (("<=", lower),))


def test_equal_versions():
    for one, other in (("6.8.0-88-generic", "6.8.0-88"), ("580", "580.0"), ("96.00.74", "96.0.74")):
        assert matrix.in_range(one, (("==", other),)), (one, other)


# -- what vendors say --------------------------------------------------------------------------------------------------


def compatible(sections, **driver):
    sections["accelerators.nvidia"]["driver"].update(driver)
    return [(outcome.outcome, outcome.level, outcome.summary or outcome.reason) for _subject, outcome in asked("version-compatibility", sections)]


def test_a_combination_that_is_listed(sections):
    assert compatible(sections, version="580.95.05", runtime_version="13.0") == [("passed", None, "")]


def test_a_combination_that_is_ruled_out(sections):
    ((outcome, level, text),) = compatible(sections, version="570.133.20", runtime_version="13.0")
    assert (outcome, level) == ("found", "fail") and text == "driver 570.133.20 with runtime 13.0, and driver >=580 is needed"


def test_what_is_outside_of_the_data_is_not_known(sections):
    assert compatible(sections, version="580.95.05", runtime_version="99.0")[0] == ("unknown", None, "nvidia: outside of the data")
    assert compatible(sections, version="580.95.05", runtime_version=unknown("not told"))[0][0] == "unknown"
    sections = synthetic.healthy()
    sections["accelerators.metax"] = dict(sections.pop("accelerators.nvidia"), manufacturer="metax")
    assert next(outcome.reason for _s, outcome in asked("version-compatibility", sections) if outcome.outcome == "unknown").startswith(
        "metax: no vendor document"
    )


def test_without_an_accelerator_it_does_not_arise():
    sections = synthetic.healthy()
    sections["accelerators.nvidia"].update(devices=[], detection=dict(sections["accelerators.nvidia"]["detection"], state="not-declared", reason="none"))
    assert {outcome.outcome for _s, outcome in asked("version-compatibility", sections)} <= {"not_applicable", "unknown"}


class Group:
    def __init__(self, manufacturer, driver, runtime, model="", flavor="", mig=False):
        self.manufacturer, self.told = manufacturer, {("driver", "version"): driver, ("driver", "runtime_version"): runtime, ("driver", "flavor"): flavor}
        self.packages = [Device({"name": model, "kind": "package", "partition": {"mode": "mig", "enabled": mig}}, self)]
        self.view = NodeView("n1", {}, policy.parse({}))

    def text(self, *path):
        return self.told[path]


@pytest.mark.parametrize(
    ("group", "verdicts"),
    [
        (Group("amd", "6.10.5", "6.3.1"), {"good"}),
        (Group("amd", "6.10.5", "7.1.0"), {"unknown"}),
        (Group("amd", "6.12.12", "6.4.0"), {"good"}),
        (Group("amd", "6.14.14", "7.0.1"), {"good"}),
        (Group("amd", "6.15.0", "7.0.1"), set()),
        (Group("amd", "30.30.2", "7.2.1"), {"good"}),
        (Group("amd", "6.12.12", "7.2.4"), {"good"}),
        (Group("amd", "6.12.12", "7.3.0"), {"unknown"}),
        (Group("amd", "30.10.1", "7.1.0"), {"good"}),
        (Group("amd", "30.10.1", "6.1.2"), {"unknown"}),
        (Group("amd", "30.20.0", "7.1.0"), {"good"}),
        (Group("amd", "30.20.1", "6.4.3"), {"unknown"}),
        (Group("amd", "6.16.6", "7.1.1"), {"good"}),
        (Group("nvidia", "580.95.05", "13.0", "NVIDIA B200", "open"), {"good"}),
        (Group("nvidia", "580.95.05", "13.0", "NVIDIA B200", "proprietary"), {"good", "bad"}),
        (Group("nvidia", "570.86.15", "12.8", "Tesla V100-SXM2-16GB", "open"), {"good", "bad"}),
        (Group("nvidia", "570.86.15", "12.8", "NVIDIA H100 80GB HBM3", "open"), {"good"}),
        (Group("nvidia", "580.95.05", "13.0", "Tesla V100-SXM2-16GB", "proprietary"), {"good"}),
        (Group("nvidia", "590.48.01", "13.1", "Tesla V100-SXM2-16GB", "proprietary"), {"good", "bad"}),
        (Group("nvidia", "565.57.01", "12.7", "NVIDIA B200", "open"), {"good", "bad"}),
        (Group("nvidia", "520.61.05", "11.7", "NVIDIA L40S", "open"), {"good", "bad"}),
        (Group("nvidia", "525.85.12", "12.0", "NVIDIA L40S", "open"), {"good"}),
        (Group("nvidia", "550.90.07", "12.4", "NVIDIA H200", "open", mig=True), {"good"}),
        (Group("nvidia", "550.54.14", "12.4", "NVIDIA H200", "open", mig=True), {"good", "bad"}),
        (Group("nvidia", "550.54.14", "12.4", "NVIDIA H200", "open"), {"good"}),
        (Group("nvidia", "535.129.03", "12.2", "NVIDIA H20", "open", mig=True), {"good", "bad"}),
        (Group("nvidia", "570.124.06", "12.8", "NVIDIA GB200", "open", mig=True), {"good", "bad"}),
        (Group("neuron", "2.24.13.0", not_applicable("x"), "Inferentia"), {"good"}),
        (Group("neuron", "2.31.1.0", not_applicable("x"), "Inferentia"), {"bad"}),
        (Group("neuron", "2.31.1.0", not_applicable("x"), "Inferentia2"), set()),
        (Group("ascend", "25.2.0", "8.5.0.alpha001", "910B3"), {"good"}),
        (Group("ascend", "25.5.0", "8.5.0.alpha001", "910B3"), {"good", "unknown"}),
        (Group("ascend", "25.2.0", "8.5.0", "910B3"), {"good"}),
        (Group("ascend", "24.1.0", "8.5.0", "910B3"), {"unknown", "good"}),
        (Group("ascend", "23.0.5", "8.0.0", "910B3"), {"bad", "unknown"}),
        (Group("ascend", "23.0.5", "8.0.1", "310P3"), set()),
        (Group("ascend", "26.0.RC1", "9.0.0"), {"good"}),
        (Group("ascend", "25.5.0", "9.0.0"), {"unknown"}),
        (Group("ascend", "25.3.RC1", "8.3.RC1"), {"good"}),
        (Group("ascend", "25.2.0", "8.3.RC1"), {"unknown"}),
        (Group("ascend", "24.1.RC3", "8.2.RC1"), {"good"}),
        (Group("ascend", "24.1.RC1", "8.2.RC1"), {"unknown"}),
        (Group("ascend", "25.0.RC1.1", "8.1.RC1"), {"good"}),
        (Group("ascend", "24.1.0", "8.1.RC1"), {"unknown"}),
        (Group("ascend", "24.1.0", "8.0.0"), {"good"}),
        (Group("ascend", "24.1.RC3", "8.0.0"), {"unknown"}),
        (Group("ascend", "24.1.RC3", "8.0.RC3"), {"good"}),
        (Group("ascend", "24.1.0", "8.0.RC3"), {"unknown"}),
        (Group("ascend", "24.1.RC2", "8.0.RC2"), {"good"}),
        (Group("ascend", "24.1.RC3", "8.0.RC2"), {"unknown"}),
    ],
)
def test_lines(group, verdicts):
    assert {compatibility.judge(line, compatibility.Facts(group))[0] for line in compatibility.of(group.manufacturer)} - {"skip"} == verdicts


def beside(manufacturer, driver, runtime, fact, level=None, model="", flavor="", **sections):
    """Verdicts of the lines that ask for a fact beside the accelerators; level: of those of one level alone."""
    group = Group(manufacturer, driver, runtime, model, flavor)
    group.view = NodeView("n1", synthetic.envelopes(dict(synthetic.healthy(), **sections)), policy.parse({}))
    asked_for = [line for line in compatibility.of(manufacturer) if fact in {*line["when"], *line["needs"]} and line.get("level") == level]
    return {compatibility.judge(line, compatibility.Facts(group))[0] for line in asked_for} - {"skip"}


@pytest.mark.parametrize(
    ("cuda", "good", "bad"),
    [("13.0.1", "580.65.06", "570.133.20"), ("12.8.1", "525.60.13", "520.61.05"), ("11.8.0", "450.80.02", "440.33.01")],
)
def test_the_toolkit_on_the_disk(cuda, good, bad):
    software = {"runtimes": {"cuda": cuda}, "toolkits": {"nvidia": not_applicable("not installed")}}
    assert beside("nvidia", good, "13.0", "cuda_on_disk", software=software) == {"good"}
    # the forward compatibility package may serve it: not ruled out, yet not known to do
    assert beside("nvidia", bad, "13.0", "cuda_on_disk", software=software) == {"unknown"}
    assert beside("nvidia", bad, "13.0", "cuda_on_disk", software=dict(software, runtimes={"cuda": not_applicable("not installed")})) == set()
    assert beside("nvidia", good, "13.0", "cuda_on_disk", software=dict(software, runtimes={"cuda": unknown("EIO")})) == {"unknown"}
    assert beside("nvidia", bad, "13.0", "cuda_on_disk") == set()


@pytest.mark.parametrize(
    ("cuda", "good", "older"),
    [("12.4.1", "550.54.14", "550.54.13"), ("12.9.1", "575.51.03", "570.133.20"), ("13.1.0", "590.44.01", "580.95.05"), ("13.3.0", "610.43.02", "595.71.05")],
)
def test_a_toolkit_that_is_newer_than_the_driver_is_told_and_no_more(sections, cuda, good, older):
    """It runs by minor version compatibility; what it compiles when it starts does not."""
    software = {"runtimes": {"cuda": cuda}, "toolkits": {"nvidia": not_applicable("not installed")}}
    assert beside("nvidia", good, "13.0", "cuda_on_disk", "info", software=software) == {"good"}
    assert beside("nvidia", older, "13.0", "cuda_on_disk", "info", software=software) == {"bad"}
    assert beside("nvidia", good, "13.0", "cuda_on_disk", "info", software=dict(software, runtimes={"cuda": "12.7.1"})) == set()


def test_a_toolkit_that_makes_no_code_for_the_part():
    software = {"runtimes": {"cuda": "13.0.1"}, "toolkits": {"nvidia": not_applicable("not installed")}}
    assert beside("nvidia", "580.95.05", "13.0", "cuda_on_disk", "warn", "Tesla V100-SXM2-16GB", software=software) == {"bad"}
    assert beside("nvidia", "580.95.05", "13.0", "cuda_on_disk", "warn", "NVIDIA A100-SXM4-80GB", software=software) == set()
    older = dict(software, runtimes={"cuda": "12.9.1"})
    assert beside("nvidia", "580.95.05", "13.0", "cuda_on_disk", "warn", "Tesla V100-SXM2-16GB", software=older) == {"good"}


@pytest.mark.parametrize(
    ("toolkit", "driver", "verdicts"),
    [
        ("1.17.8", "580.95.05", {"good"}),
        ("1.18.0", "418.40.04", {"good", "bad"}),
        ("1.16.1", "580.95.05", {"good", "bad"}),
        (not_applicable("not installed"), "580.95.05", set()),
        (unknown("EIO"), "580.95.05", {"unknown"}),
    ],
)
def test_the_container_toolkit_and_what_is_known_against_it(toolkit, driver, verdicts):
    software = {"runtimes": {"cuda": not_applicable("not installed")}, "toolkits": {"nvidia": toolkit}}
    assert beside("nvidia", driver, "13.0", "container_toolkit", software=software) == verdicts


def test_what_is_wrong_says_why(sections):
    sections["software"] = {"runtimes": {"cuda": not_applicable("no")}, "toolkits": {"nvidia": "1.16.1"}}
    ((outcome, level, text),) = compatible(sections, version="580.95.05", runtime_version="13.0")
    assert (outcome, level) == ("found", None)
    assert text.startswith("container_toolkit 1.16.1, and container_toolkit >=1.17.8 is needed: a container can take over the host")


@pytest.mark.parametrize(
    ("toolkit", "cdi", "verdicts"),
    [
        ("1.12.0", True, {"good"}),
        ("1.11.0", True, {"bad"}),
        ("1.11.0", False, set()),
        (not_applicable("not installed"), True, set()),
        (unknown("EIO"), True, {"unknown"}),
    ],
)
def test_the_container_toolkit_of_an_engine_with_cdi(toolkit, cdi, verdicts):
    software = {"runtimes": {"cuda": not_applicable("not installed")}, "toolkits": {"nvidia": toolkit}}
    engines = {"engines": [{"id": "containerd", "cdi": {"enabled": cdi}}]}
    assert beside("nvidia", "580.95.05", "13.0", "cdi", "info", software=software, container_runtime=engines) == verdicts


@pytest.mark.parametrize(
    ("runtime", "good", "other"),
    [
        ("6.0.2", ("centos", "7"), ("ubuntu", "24.04")),
        ("6.1.2", ("ol", "8.9"), ("rhel", "8.10")),
        ("6.2.4", ("ubuntu", "24.04"), ("ubuntu", "20.04")),
        ("6.3.1", ("debian", "12"), ("rhel", "9.2")),
        ("7.1.0", ("ol", "9.6"), ("rhel", "10.1")),
        ("7.2.4", ("rhel", "10.1"), ("rocky", "8.10")),
    ],
)
def test_operating_systems_of_rocm(runtime, good, other):
    def of(ident, version):
        return beside("amd", "6.8.5", runtime, "os", host=dict(synthetic.healthy()["host"], os={"id": ident, "version": version}))

    assert of(*good) == {"good"} and of(*other) == {"unknown"} and of("ubuntu", unknown("EIO")) == {"unknown"}


def gaudi(driver, ident, version, kernel):
    """The outcome of a node with Gaudi cards: their driver is of the release, and no file tells a runtime."""
    sections = synthetic.healthy()
    group = dict(sections.pop("accelerators.nvidia"), manufacturer="gaudi")
    group["driver"] = dict(group["driver"], version=driver, runtime_version=not_applicable("no file tells it"))
    sections["accelerators.gaudi"] = group
    sections["host"] = dict(sections["host"], os={"id": ident, "version": version}, kernel=dict(sections["host"]["kernel"], release=kernel))
    return {outcome.outcome for subject, outcome in asked("version-compatibility", sections) if subject == ("manufacturer", "gaudi")}


@pytest.mark.parametrize(
    ("driver", "ident", "version", "kernel", "outcome"),
    [
        ("1.22.1-6c53fe1", "ubuntu", "22.04", "5.15.0-151-generic", "passed"),
        ("1.22.1-6c53fe1", "ubuntu", "22.04", "5.4.0-42-generic", "unknown"),
        ("1.23.0", "ubuntu", "24.04", "6.11.0-29-generic", "unknown"),
        ("1.23.0", "sles", "15.5", "5.14.21", "unknown"),
        ("1.16.0", "rhel", "9.2", "5.14.0", "passed"),
        ("1.21.0", "ubuntu", "22.04", "5.15.0-151-generic", "unknown"),
        (unknown("timeout"), "ubuntu", "22.04", "5.15.0-151-generic", "unknown"),
        ("1.22.1", "ubuntu", unknown("EIO"), "5.15.0-151-generic", "unknown"),
    ],
)
def test_driver_system_and_kernel_of_a_maker_without_a_runtime(driver, ident, version, kernel, outcome):
    assert gaudi(driver, ident, version, kernel) == {outcome}


def test_systems_of_a_branch_of_nvidias_driver():
    def of(ident, version):
        return beside("nvidia", "610.43.02", "13.3", "os", host=dict(synthetic.healthy()["host"], os={"id": ident, "version": version}))

    assert of("ubuntu", "26.04") == of("rhel", "9.6") == {"good"}
    assert of("ol", "9.6") == of("ubuntu", "20.04") == of("rhel", unknown("EIO")) == {"unknown"}


@pytest.mark.parametrize(
    ("driver", "flavor", "release", "verdicts"),
    [
        ("580.95.05", "open", "6.8.0-88-generic", set()),
        ("580.95.05", "open", "4.14.355-275.570.amzn2.x86_64", {"bad"}),
        ("580.95.05", "proprietary", "4.14.355-275.570.amzn2.x86_64", set()),
        ("550.90.07", "proprietary", "3.10.0-1160.el7.x86_64", {"good"}),
        ("580.95.05", "open", unknown("EIO"), {"unknown"}),
    ],
)
def test_kernels_of_nvidias_driver(driver, flavor, release, verdicts):
    healthy = synthetic.healthy()["host"]
    host = dict(healthy, kernel=dict(healthy["kernel"], release=release))
    assert beside("nvidia", driver, "13.0", "kernel", flavor=flavor, host=host) == verdicts


# -- how long a driver is maintained -------------------------------------------------------------------------------------


def maintained(version, at="2026-11-29T17:00:00Z", manufacturer="nvidia"):
    sections = synthetic.healthy()
    group = dict(sections.pop("accelerators.nvidia"), manufacturer=manufacturer, timestamp=at)
    group["driver"] = dict(group["driver"], version=version)
    sections["accelerators." + manufacturer] = group
    return [
        (outcome.outcome, outcome.summary or outcome.reason) for _subject, outcome in asked("driver-maintained", sections) if "not read" not in outcome.reason
    ]


@pytest.mark.parametrize(
    ("version", "at", "outcome"),
    [
        ("580.95.05", "2026-11-29T17:00:00Z", "passed"),
        ("535.183.01", "2026-11-29T17:00:00Z", "found"),
        ("535.183.01", "2026-06-30T23:59:59Z", "passed"),
        ("565.57.01", "2026-11-29T17:00:00Z", "found"),
        ("615.10.01", "2026-11-29T17:00:00Z", "unknown"),
        ("garbage", "2026-11-29T17:00:00Z", "unknown"),
        (unknown("timeout"), "2026-11-29T17:00:00Z", "unknown"),
        ("580.95.05", "yesterday", "unknown"),
    ],
)
def test_a_branch_and_the_month_in_which_it_ends(version, at, outcome):
    assert [told for told, _text in maintained(version, at)] == [outcome]


def test_a_branch_that_ended_names_those_that_have_not():
    assert maintained("570.133.20") == [("found", "Driver branch 570 (production) was maintained until 2026-02")]
    assert maintained("3.0.11", manufacturer="metax")[0][0] == "not_applicable"


def test_every_branch_is_of_one_line():
    for maker, lines_of in yaml.safe_load(versions.BRANCHES.read_bytes()).items():
        told = [branch for line in lines_of for branch in line["branches"]]
        assert len(told) == len(set(told)) == len(versions.branches()[maker])


def test_a_tpm_and_measured_boot_can_be_pinned():
    sections = dict(synthetic.healthy(), hardware={"tpm": {"version": 2, "measured_boot": True}})
    pins = {"tpm": {"select": "hardware.tpm.version", "exact": 2}, "boot": {"select": "hardware.tpm.measured_boot", "exact": True}}
    assert {name: told[0] for name, told in lines(sections, **pins).items()} == {"tpm": "passed", "boot": "passed"}
    sections["hardware"]["tpm"] = dict(sections["hardware"]["tpm"], measured_boot=False)
    assert lines(sections, **pins)["boot"][:2] == ("found", None)
    sections["hardware"]["tpm"] = not_applicable("no TPM")
    assert {told[0] for told in lines(sections, **pins).values()} == {"unknown"}


def test_what_speaks_of_no_pair_makes_no_combination_known(sections):
    """The open module is right for this part: of the driver and its CUDA that says nothing."""
    for device in sections["accelerators.nvidia"]["devices"]:
        device["name"] = "NVIDIA B200"
    assert compatible(sections, version="580.95.05", runtime_version="99.0", flavor="open") == [("unknown", None, "nvidia: outside of the data")]
    assert compatible(sections, runtime_version="13.0", flavor="open")[0][0] == "passed"


def test_every_line_of_the_data_has_its_source():
    for lines_of in compatibility._tables().values():
        for line in lines_of:
            assert line["source"] and line["needs"] and line["outside"] in ("bad", "unknown")


def test_the_matrix_is_required():
    assert "version-matrix" in profiles.find("preflight").required
