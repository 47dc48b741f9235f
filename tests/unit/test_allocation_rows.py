# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of each manufacturer: healthy, without an id, without its nodes, and every case of its driver row."""

from __future__ import annotations

import json
from pathlib import Path

import allocation_samples as samples
import jsonschema
import pytest
from allocation_samples import ADDRESS, UUID, accelerator, files, kfd, run, short
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import identity
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "allocation.json").read_text(encoding="utf-8")))
SLICED = [("sliced-runtime-loaded", "sliced", "ok", "simulated"), ("sliced-quota-in-force", "sliced", "ok", "simulated")]
MANAGED = [("sidecar-visibility", "visibility", "ok", "simulated"), ("co-tenancy", "sliced", "ok", "simulated")]
BACKED = [("sidecar-visibility", "visibility", "ok", "declared"), ("co-tenancy", "partitioned", "ok", "declared")]
REFUSED = [
    ("sliced-runtime-loaded", "sliced", "unavailable", "declared"), ("sliced-quota-in-force", "sliced", "unavailable", "declared"),
    ("sidecar-visibility", "visibility", "unavailable", "declared"), ("co-tenancy", "sliced", "unavailable", "declared"),
]  # fmt: skip
FIRST = {
    "amd": [("cu-mask-topology", "sliced", "ok", "declared")], "ascend": [("container-share", "sliced", "ok", "declared")],
    "cambricon": [("smlu-mode", "sliced", "ok", "declared")], "metax": [("sgpu-mode", "sliced", "ok", "declared")],
    "nvidia": [("mig-partitioning", "partitioned", "not-declared", "declared")], "thead": [("mig-partitioning", "partitioned", "not-declared", "declared")],
    "hygon": [], "iluvatar": [], "mthreads": [],
}  # fmt: skip
ON = "\tDevice-share Status            : True\n\tChip ID                        : 0\n"
HYGON = {"simd": 320, "per_cu": 4, "arrays": 4, "per_engine": 1, "target": 90600}


def share(stdout=ON, npu=0, **more):
    return dict({"argv": ["npu-smi", "info", "-t", "device-share", "-i", str(npu)], "rc": 0, "stdout": stdout}, **more)


def healthy(manufacturer, devices=None, **more):
    paths = files(manufacturer)
    paths.update(kfd() if manufacturer == "amd" else kfd(**HYGON) if manufacturer == "hygon" else {})
    if manufacturer == "metax":
        paths["/sys/bus/pci/devices/" + ADDRESS] = {"dir": ["vendor"]}
    options = {"paths": paths, "commands": [share()], "natives": {"cndev": {"answer": {"cards": {ADDRESS: 1}}}}}
    return run(manufacturer, devices, **dict(options, **more))


def only(found, capability):
    (row,) = [row for row in found["checks"] if row["capability"] == capability]
    return row


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_healthy(manufacturer):
    found = healthy(manufacturer)
    assert short(found) == FIRST[manufacturer] + SLICED + MANAGED
    assert list(SCHEMA.iter_errors(found)) == []
    assert {row["accelerator"] for row in found["checks"]} == {UUID[manufacturer]} == set(found["grants"])
    assert sorted(found["grants"][UUID[manufacturer]]) == ["exclusive", "shared", "sliced", "visibility"]
    assert not [grant["missing"] + grant["unchecked"] for grant in found["grants"][UUID[manufacturer]].values() if grant["missing"] or grant["unchecked"]]
    assert all(row["reason"] == "" for row in found["checks"] if row["state"] == "ok")
    assert bool(found["note"]) is (manufacturer in ("hygon", "iluvatar", "mthreads"))
    assert "asks no driver" in found["note"] or not found["note"]


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_the_cap_is_half_the_card(manufacturer):
    half = {"nvidia": "12282m", "amd": "8184", "ascend": "32768", "hygon": "32760"}.get(manufacturer, str(samples.MEMORY[manufacturer] // 2))
    found = healthy(manufacturer)
    assert half in only(found, "sliced-quota-in-force")["detail"]
    assert only(found, "co-tenancy")["detail"].count(half) == 2


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_without_an_id(manufacturer):
    found = healthy(manufacturer, [accelerator(manufacturer, identity=identity())])
    driver = {"ascend": "ok"}.get(manufacturer, "unavailable")  # npu-smi goes by numbers
    assert [(c, m, d) for c, m, _s, d in short(found)] == [(c, m, d) for c, m, _s, d in FIRST[manufacturer] + REFUSED]
    assert [s for _c, _m, s, _d in short(found)] == [driver] * len(FIRST[manufacturer]) + ["unavailable"] * 4
    assert {row["accelerator"] for row in found["checks"]} == {manufacturer + ":0"}


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_two_cards_with_one_id_are_not_named_by_it(manufacturer):
    item = {"value": UUID[manufacturer], "quality": "duplicate"}
    found = healthy(manufacturer, [accelerator(manufacturer, n, identity=dict(identity(pci="0000:%02x:00.0" % n), uuid=item)) for n in (3, 4)])
    assert {row["accelerator"] for row in found["checks"]} == {manufacturer + ":3", manufacturer + ":4"} == set(found["grants"])


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_nodes_that_are_not_there(manufacturer):
    """What the allocation hands over itself it would fail for; what a vendor's runtime adds is only named."""
    paths = files(manufacturer, nodes=[])
    paths.update(kfd() if manufacturer == "amd" else kfd(**HYGON) if manufacturer == "hygon" else {})
    found = healthy(manufacturer, paths=paths)
    rows = short(found)[len(FIRST[manufacturer]) :]
    if manufacturer in ("nvidia", "ascend", "iluvatar", "mthreads"):
        assert rows == SLICED + MANAGED
        for node in samples.ON_HOST[manufacturer]:
            assert node in only(found, "sliced-runtime-loaded")["detail"].partition("not on the machine")[2]
    else:
        assert rows == REFUSED
        assert "not on the machine: " in only(found, "co-tenancy")["reason"] and "/dev/" in only(found, "co-tenancy")["reason"]
    assert list(SCHEMA.iter_errors(found)) == []


@pytest.mark.parametrize("manufacturer", ["amd", "thead", "hygon", "metax", "cambricon"])
def test_nodes_that_could_not_be_looked_for_are_not_there_for_sure(manufacturer):
    paths = files(manufacturer)
    paths.update(kfd() if manufacturer == "amd" else kfd(**HYGON) if manufacturer == "hygon" else {})
    for path in samples.ON_HOST[manufacturer]:
        paths[path] = {"error": "EACCES"}
    row = only(healthy(manufacturer, paths=paths), "sliced-runtime-loaded")
    assert row["state"] == "unavailable" and "denied" in row["reason"]


@pytest.mark.parametrize("manufacturer", sorted(samples.LIBRARIES))
def test_slicing_libraries_that_are_missing_are_said(manufacturer):
    paths = files(manufacturer, libraries=False)
    paths.update(kfd() if manufacturer == "amd" else {})
    absent, unset = healthy(manufacturer, paths=paths), healthy(manufacturer, root=None)
    for found in (absent, unset):
        assert short(found) == FIRST[manufacturer] + SLICED + MANAGED
        for library in samples.LIBRARIES[manufacturer]:
            assert library in only(found, "sliced-runtime-loaded")["detail"].partition("not on the machine")[2]
    assert "accelerator_slicing_library_root is not set" in only(unset, "sliced-runtime-loaded")["detail"]


@pytest.mark.parametrize("manufacturer", section.MANUFACTURERS)
def test_memory_that_is_not_known(manufacturer):
    found = healthy(manufacturer, [accelerator(manufacturer, memory_mib=unknown("the tool: timeout"))])
    assert short(found)[len(FIRST[manufacturer]) :] == REFUSED
    assert "the tool: timeout" in only(found, "sliced-quota-in-force")["reason"]


def test_order_of_rows_with_several_cards():
    cards = [accelerator("nvidia", n, identity=identity(uuid="GPU-%d" % n, pci="0000:%02x:00.0" % n), extra={"minor": n}) for n in (1, 2, 3)]
    found = run("nvidia", cards)
    named = [(row["capability"], row["accelerator"]) for row in found["checks"]]
    pair, managed = ("sliced-runtime-loaded", "sliced-quota-in-force"), ("sidecar-visibility", "co-tenancy")
    ids = ["GPU-1", "GPU-2", "GPU-3"]
    assert named == [("mig-partitioning", i) for i in ids] + [(c, i) for i in ids for c in pair] + [(c, i) for i in ids for c in managed]


# -- MIG --------------------------------------------------------------------------------------------------------------


def mig(manufacturer="nvidia", enabled=True, instances=0, table="", rc=0, **more):
    on = {"mode": "mig", "enabled": enabled, "profile": not_applicable("-"), "memory_profile": not_applicable("-")}
    card = accelerator(manufacturer, partition=on)
    name = manufacturer + ":0"
    parts = [accelerator(manufacturer, n, id="0/mig:%d" % n, kind="partition", parent=name, identity=identity(uuid="MIG-%d" % n)) for n in range(instances)]
    tool = {"nvidia": "nvidia-smi", "thead": "ppu-smi"}[manufacturer]
    return run(manufacturer, [card, *parts], commands=[dict({"argv": [tool, "mig", "-lgip"], "rc": rc, "stdout": table}, **more)])


def profiles(*names, head="GPU", index=0):
    line = "+" + "-" * 77 + "+\n"
    row = "|   %d  MIG %-14s 19     7/7        9.62       No     16     1     0   |\n|%s|\n%s"
    body = "".join(row % (index, name, " " * 77, line) for name in names)
    title = "| GPU instance profiles:                                                      |\n| %s   Name             ID    Instances |\n" % head
    return line + title + "|%s|\n" % ("=" * 77) + body


@pytest.mark.parametrize("manufacturer", ["nvidia", "thead"])
@pytest.mark.parametrize("live", [0, 3])
def test_mig_on(manufacturer, live):
    found = mig(manufacturer, instances=live, table=profiles("1g.10gb", "1g.10gb+me", "1g.12gb.gfx", "7g.80gb"))
    assert short(found) == [("mig-partitioning", "partitioned", "ok", "declared"), *BACKED]
    assert only(found, "mig-partitioning")["detail"] == "partition subtree readable, %d live instances; 2 profiles on offer" % live
    assert only(found, "co-tenancy")["detail"].startswith("partition-backed, not driven")
    assert list(SCHEMA.iter_errors(found)) == []
    partitioned = found["grants"][UUID[manufacturer]]["partitioned"]
    if manufacturer == "nvidia":
        assert partitioned.get("environment") == ({"NVIDIA_VISIBLE_DEVICES": "MIG-0,MIG-1,MIG-2"} if live else None)
        assert ("refused" in partitioned) is not live


def test_mig_on_without_profiles():
    assert short(mig(table="No MIG-enabled devices found.\n")) == [("mig-partitioning", "partitioned", "not-declared", "declared")]
    found = mig(instances=2, table="No MIG-enabled devices found.\n")
    assert short(found) == [("mig-partitioning", "partitioned", "unavailable", "declared"), *BACKED]
    assert "inventory is short" in only(found, "mig-partitioning")["reason"]


@pytest.mark.parametrize(
    "answer",
    [
        {"rc": 4, "table": "Insufficient Permissions\n"},
        {"hang": True},
        {"missing": True},
        {"table": "garbage"},
        {"table": profiles("1g.10gb")[:300]},
        {"signal": "SIGSEGV"},
    ],
)
def test_mig_on_and_profiles_not_to_be_read(answer):
    found = mig(**answer)
    assert [row[2] for row in short(found)] == ["unavailable", "unavailable", "unavailable"]
    assert [row[:2] for row in short(found)] == [("mig-partitioning", "partitioned"), ("sidecar-visibility", "visibility"), ("co-tenancy", "partitioned")]
    assert "profiles: " in only(found, "mig-partitioning")["reason"]


@pytest.mark.parametrize("manufacturer", ["nvidia", "thead"])
def test_mig_off_and_not_known(manufacturer):
    found = mig(manufacturer, enabled=False)
    assert short(found) == FIRST[manufacturer] + SLICED + MANAGED
    assert only(found, "mig-partitioning")["reason"] == "the card declares no partition profile: MIG is off"
    assert found["sources"] == []  # no call for a card without MIG
    found = mig(manufacturer, enabled=unknown("MIG mode: ERR!"))
    assert short(found) == [("mig-partitioning", "partitioned", "unavailable", "declared"), *REFUSED]
    assert "MIG mode: ERR!" in only(found, "sliced-runtime-loaded")["reason"]


# -- AMD --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "detail"),
    [
        ({}, "gfx1101 reports 60 compute units in allocation atoms of 6, so the smallest share it can serve is 9 %"),
        (
            {"simd": 1216, "per_cu": 4, "arrays": 32, "per_engine": 1, "xcc": 8, "target": 90402},
            "gfx942 reports 304 compute units in allocation atoms of 8, so the smallest share it can serve is 3 %",
        ),
        (
            {"simd": 416, "per_cu": 4, "arrays": 8, "per_engine": 1, "xcc": 1, "target": 90010},
            "gfx90a reports 104 compute units in allocation atoms of 1, so the smallest share it can serve is 1 %",
        ),
    ],
)
def test_compute_units(agent, detail):
    found = run("amd", paths=dict(files("amd"), **kfd(**agent)))
    assert only(found, "cu-mask-topology")["detail"] == detail
    assert short(found) == FIRST["amd"] + SLICED + MANAGED


def test_compute_units_are_placed_beside_each_other():
    environment = run("amd", paths=dict(files("amd"), **kfd()))["grants"][UUID["amd"]]["sliced"]["environment"]
    assert environment["HSA_CU_MASK"] == "0:0-29" and environment["VROCM_DEVICE_MEMORY_LIMIT_0"] == "8184"
    assert "(0:0-29 and 0:30-59)" in only(run("amd", paths=dict(files("amd"), **kfd())), "co-tenancy")["detail"]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ({"xcc": 0, "target": 90402}, "no XCC count"), ({"simd": 0}, "no agent"), ({"per_cu": 0}, "no compute units"), ({"arrays": 0}, "do not fit"),
        ({"simd": 122}, "do not fit"), ({"target": 80003}, "family not known"), ({"target": 0}, "family not known"), ({"location": 0x400}, "no agent"),
        ({"simd": 128}, "no multiple"), ({"domain": 1}, "no agent"),
    ],
)  # fmt: skip
def test_a_geometry_that_is_not_consistent(agent, said):
    found = run("amd", paths=dict(files("amd"), **kfd(**agent)))
    assert short(found) == [("cu-mask-topology", "sliced", "unavailable", "declared"), *REFUSED]
    assert said in only(found, "cu-mask-topology")["reason"] and said in only(found, "co-tenancy")["reason"]


def test_an_agent_is_found_by_its_id_where_the_address_is_another():
    found = run("amd", paths=dict(files("amd"), **kfd(location=0x900, unique_id=0x1A2B3C4D5E6F7081)))
    assert only(found, "cu-mask-topology")["state"] == "ok"


def test_no_topology():
    found = run("amd", paths=dict(files("amd"), **{"/sys/class/kfd/kfd/topology/nodes": {"error": "EACCES"}}))
    assert "denied" in only(found, "cu-mask-topology")["reason"]


def test_a_card_in_compute_partitions_is_not_sliced():
    parts = [accelerator("amd", n, id="0/xcp:%d" % n, kind="partition", parent="amd:0", identity=identity(pci=ADDRESS)) for n in range(2)]
    found = healthy("amd", [accelerator("amd"), *parts])
    assert short(found) == [*FIRST["amd"], *BACKED]


# -- MetaX, Cambricon, Hygon ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "state", "said"),
    [
        ({"/sys/bus/pci/devices/" + ADDRESS: {"dir": ["vendor"]}}, "ok", "hosts none"),
        ({"/sys/bus/pci/devices/%s/sgpu" % ADDRESS: {"dir": []}}, "ok", "none exists"),
        ({"/sys/bus/pci/devices/%s/sgpu" % ADDRESS: {"dir": ["create", "sgpu0", "sgpu3"]}}, "ok", "2 exist already: sgpu0, sgpu3"),
        ({"/sys/bus/pci/devices/%s/sgpu" % ADDRESS: {"error": "EACCES"}}, "unavailable", "denied"),
        ({"/sys/bus/pci/devices": {"dir": []}}, "unavailable", "not found on PCI"),
        ({}, "unavailable", "not recorded"),
    ],
)
def test_registry_of_sgpus(entry, state, said):
    row = only(run("metax", paths=dict(files("metax"), **entry)), "sgpu-mode")
    assert row["state"] == state and said in row["detail"] + row["reason"]


@pytest.mark.parametrize(
    ("native", "state", "said"),
    [
        ({"answer": {"cards": {ADDRESS: 1}}}, "ok", "enabled"), ({"answer": {"cards": {ADDRESS: 0}}}, "ok", "off and left off"),
        ({"answer": {"cards": {ADDRESS: {"error": 10, "said": "not supported"}}}}, "unavailable", "not supported (10)"),
        ({"missing": "libcndev.so: cannot open shared object file"}, "unavailable", "cannot open"), ({"signal": "SIGSEGV"}, "unavailable", "SIGSEGV"),
        ({"hang": True}, "unavailable", "timeout"), ({"answer": {"cards": {ADDRESS: 7}}}, "unavailable", "not understood"),
        ({"answer": {}}, "unavailable", "not understood"),
        ({"answer": {"error": 1, "said": "no driver"}}, "unavailable", "no driver"), ({"answer": {"cards": {}}}, "unavailable", "not understood"),
    ],
)  # fmt: skip
def test_smlu_mode(native, state, said):
    row = only(run("cambricon", natives={"cndev": native}), "smlu-mode")
    assert row["state"] == state and said in row["detail"] + row["reason"]
    assert row["command"] == ("cnmon set -c 0 -smlu on" if said == "off and left off" else "")


def test_a_divided_card_has_no_smlu():
    found = healthy("cambricon", [accelerator("cambricon", partition={"mode": "sriov", "enabled": True})])
    assert short(found) == [("smlu-mode", "sliced", "not-declared", "declared")]


def test_hygon_keeps_two_halves_apart():
    found = healthy("hygon")
    assert "0x000000ffffffffff" in only(found, "co-tenancy")["detail"] and "0xffffff0000000000" in only(found, "co-tenancy")["detail"]
    (conf,) = [m["content"] for m in found["grants"][UUID["hygon"]]["sliced"]["mounts"] if "content" in m]
    assert "mem: 32760 MiB\n" in conf["vdev0.conf"] and "cu_count: 40\n" in conf["vdev0.conf"] and "PciBusId: %s\n" % ADDRESS in conf["vdev0.conf"]
    found = healthy("hygon", paths=files("hygon", **{"/sys/class/kfd/kfd/topology/nodes": {"dir": []}}))
    assert short(found)[:2] == [("sliced-runtime-loaded", "sliced", "unavailable", "declared"), ("sliced-quota-in-force", "sliced", "unavailable", "declared")]
