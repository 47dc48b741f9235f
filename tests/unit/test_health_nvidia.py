# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU instances, confidential computing, work that waits, clocks that are held: read of NVIDIA's tools, and judged."""

from __future__ import annotations

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia, nvidia_confidential, nvidia_mig
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from health_nodes import NONE, UNREAD, ask, merged, node, of_first

INSTANCES = [{"id": 1, "profile": "3g.40gb", "placement": "0:4"}, {"id": 2, "profile": "3g.40gb", "placement": "4:4"}]


def table(*rows):
    line = "+-------------------------------------------------------+\n"
    head = line + "| GPU instances:                                        |\n|=======================================================|\n"
    return head + "".join("|%4d  MIG %-14s %4d %8d          %d:%d     |\n%s" % (*row, line) for row in rows)


def with_mig(lgi, parts=(1, 2), count=1):
    devices = "".join(samples.MIG_DEVICE.format(index=i, instance=number) for i, number in enumerate(parts))
    cards = [samples.gpu(0, mig="Enabled", mig_devices=devices or "None"), *(samples.gpu(n) for n in range(1, count))]
    listing = samples.run("-L", stdout=samples.listing(count))
    return nvidia.collect(samples.machine(samples.xml(samples.log(*cards)), listing, samples.run("mig", "-lgi", **lgi), count=count))


def test_gpu_instances_are_read_where_mig_is_on():
    section = with_mig({"stdout": table((0, "3g.40gb", 9, 1, 0, 4), (0, "3g.40gb", 9, 2, 4, 4))}, count=2)
    assert section["devices"][0]["extra"]["gpu_instances"] == INSTANCES
    assert "gpu_instances" not in section["devices"][-1]["extra"]
    assert with_mig({"rc": 6, "stdout": "No GPU instances found: Not Found\n"})["devices"][0]["extra"]["gpu_instances"] == []
    asked = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), count=1))
    assert " ".join(nvidia_mig.INSTANCES) not in [source["source"] for source in asked["sources"]]


@pytest.mark.parametrize(
    "answer",
    [
        {"rc": 4, "stdout": "Insufficient Permissions\n"},
        {"hang": True},
        {"stdout": ""},
        {"stdout": table((0, "3g.40gb", 9, 1, 0, 4)).rstrip()[:-60]},
    ],
)
def test_gpu_instances_that_were_not_told_are_unknown(answer):
    assert is_unknown(with_mig(answer)["devices"][0]["extra"]["gpu_instances"])


def instances(told, parts):
    sections = node(2, first={"extra": {} if told is None else {"gpu_instances": told}, "partition": {"enabled": True}})
    group = sections["accelerators.nvidia"]
    for place, number in enumerate(parts):
        part = dict(group["devices"][1], id="nvidia:0/mig:%d" % place, index=place, kind="partition", parent="nvidia:0", extra={"gpu_instance": number})
        group["devices"].append(part)
    return of_first("mig-instances-used", sections)[0]


@pytest.mark.parametrize(
    ("told", "parts", "expected"),
    [
        (INSTANCES, [1, 2, 2], "passed"),
        ([], [], "passed"),
        (INSTANCES, [1], "found"),
        (INSTANCES, [], "found"),
        (INSTANCES, [1, UNREAD], "unknown"),
        (UNREAD, [1], "unknown"),
        ("garbage", [1], "unknown"),
        (None, [], "not_applicable"),
    ],
)
def test_instances_that_nothing_can_use(told, parts, expected):
    assert instances(told, parts) == expected


def confidential(card, *commands):
    section = nvidia.collect(samples.machine(samples.xml(samples.log(card)), *(samples.run("conf-compute", *more, **said) for more, said in commands), count=1))
    return section["devices"][0]["extra"], [source["source"] for source in section["sources"]]


OFF = samples.gpu(0)
ON = samples.gpu(0, protected="81079 MiB")
SILENT = samples.gpu(0, protected="N/A")
READY = "Confidential Compute GPUs Ready state: %s\n"


def test_confidential_computing_is_asked_where_it_matters():
    extra, asked = confidential(OFF)
    assert extra["confidential_memory_mib"] == 0 and not any("conf-compute" in source for source in asked)
    extra, asked = confidential(ON, (["-grs"], {"stdout": READY % "ready"}))
    assert extra["confidential_ready"] is True and "confidential" not in extra
    extra, asked = confidential(SILENT, (["-f"], {"stdout": "CC status: ON\n"}), (["-grs"], {"stdout": READY % "not-ready"}))
    assert (extra["confidential"], extra["confidential_ready"]) == (True, False)
    extra, asked = confidential(SILENT, (["-f"], {"stdout": "CC status: OFF\n"}))
    assert extra["confidential"] is False and asked.count("nvidia-smi conf-compute -grs") == 0
    extra, asked = confidential(samples.gpu(0, name="NVIDIA A100-SXM4-80GB", protected="N/A"))
    assert not any("conf-compute" in source for source in asked)


@pytest.mark.parametrize("answer", [{"hang": True}, {"stdout": "CC status: PERHAPS\n"}, {"stdout": ""}, {"rc": 3, "stdout": "CC status: ON\n"}])
def test_confidential_computing_that_is_not_told(answer):
    extra, _asked = confidential(SILENT, (["-f"], answer))
    assert is_unknown(extra["confidential"]) and "confidential_ready" not in extra
    extra, _asked = confidential(ON, (["-grs"], answer))
    assert is_unknown(extra["confidential_ready"])
    assert nvidia_confidential.FEATURE[0] == "nvidia-smi"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [({"confidential_ready": True}, "passed"), ({"confidential_ready": False}, "found"), ({"confidential_ready": UNREAD}, "unknown"), ({}, "not_applicable")],
)
def test_devices_in_confidential_computing_take_work(extra, expected):
    assert of_first("confidential-ready", node(first={"extra": extra}))[0] == expected


@pytest.mark.parametrize(
    ("extra", "declared", "expected"),
    [
        ({"confidential": True}, True, "passed"),
        ({"confidential": False}, True, "found"),
        ({"confidential": UNREAD}, True, "unknown"),
        ({"confidential": UNREAD}, False, "unknown"),
        ({"confidential": True}, None, "not_applicable"),
    ],
)
def test_what_the_tool_says_of_confidential_computing_is_held_against_the_inventory(extra, declared, expected):
    variables = {} if declared is None else {"accelerator_policy_confidential_declared_on": declared}
    assert of_first("confidential-declared", node(first={"extra": extra}, every={}), **variables)[0] == expected


BUSY = {"utilization_percent": 99, "processes": 1, "extra": {"memory_utilization_percent": 0}}


@pytest.mark.parametrize(
    ("count", "change", "expected"),
    [
        (2, {}, "found"),
        (2, {"extra": {"memory_utilization_percent": 3}}, "passed"),
        (2, {"utilization_percent": 60}, "passed"),
        (2, {"processes": 0}, "passed"),
        (2, {"extra": {"memory_utilization_percent": UNREAD}}, "unknown"),
        (2, {"utilization_percent": UNREAD}, "unknown"),
        (2, {"extra": {"memory_utilization_percent": "garbage"}}, "unknown"),
        (2, {"utilization_percent": NONE}, "not_applicable"),
        (1, {}, "not_applicable"),
    ],
)
def test_devices_that_spin_together(count, change, expected):
    sections = node(count, every=BUSY)
    merged(sections["accelerators.nvidia"]["devices"][0], change)
    assert [outcome for _ident, outcome, _level in ask("work-stuck", sections)] == [expected]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"clocks_mhz": {"core": 1980}}, "passed"),
        ({"clocks_mhz": {"core": 1200}}, "found"),
        ({"clocks_mhz": {"core": 1200}, "throttle": {"active": ["applications_clocks_setting"]}}, "found"),
        ({"clocks_mhz": {"core": 1200}, "throttle": {"active": ["sw_power_cap"]}}, "passed"),
        ({"clocks_mhz": {"core": 1200, "core_set": 1200}}, "passed"),
        ({"clocks_mhz": {"core": 1200, "core_set": NONE}}, "found"),
        ({"clocks_mhz": {"core": UNREAD}}, "unknown"),
        ({"clocks_mhz": {"core": 1200}, "throttle": {"active": UNREAD}}, "unknown"),
        ({"utilization_percent": UNREAD}, "unknown"),
        ({"clocks_mhz": {"core": 345}, "utilization_percent": 0}, "not_applicable"),
    ],
)
def test_clocks_that_are_held_without_a_reason(change, expected):
    assert of_first("clocks-held", node(2, every={"utilization_percent": 100}, first=change))[0] == expected


def test_clocks_of_other_makers_are_told():
    assert of_first("clocks-held", node(2, "amd", "AMD Instinct MI300X", every={"utilization_percent": 100}))[0] == "not_applicable"


@pytest.mark.parametrize(
    ("name", "banks", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", {"max": 2560, "high": 0, "partial": 0, "low": 0, "none": 0}, "passed"),
        ("NVIDIA H100 80GB HBM3", {"max": 2000, "high": 0, "partial": 0, "low": 0, "none": 0}, "unknown"),
        ("NVIDIA H100 80GB HBM3", {"max": 2000, "high": 0, "partial": 0, "low": 0, "none": 1}, "found"),
        ("NVIDIA H999", {"max": 0, "high": 0, "partial": 0, "low": 0, "none": 0}, "unknown"),
        ("NVIDIA H999", {"max": 9, "high": 0, "partial": 0, "low": 0, "none": 0}, "passed"),
    ],
)
def test_banks_that_are_not_counted_are_not_taken_for_healthy(name, banks, expected):
    assert of_first("row-remap-banks", node(2, name=name, every={"row_remap": {"banks": banks}}))[0] == expected
