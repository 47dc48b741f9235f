# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ascend: container-share as it is read, families and CANN, and every case of the rows of a 950."""

from __future__ import annotations

import pytest
from allocation_samples import EXTRA, UUID, accelerator, files, run, short
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import a5
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import identity
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

INFO = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend_docker_runtime_install.info"
TABLE = "/etc/hccl_rootinfo.json"
ROOT = {"/etc": {"dir": ["hostname"]}, "/proc": {"dir": ["1"]}, "/usr": {"dir": ["bin", "local"]}}
PAIRS = ["sliced-runtime-loaded", "sliced-quota-in-force", "sidecar-visibility", "co-tenancy"]


def share(stdout, npu=0, **more):
    return dict({"argv": ["npu-smi", "info", "-t", "device-share", "-i", str(npu)], "rc": 0, "stdout": stdout}, **more)


def status(*words):
    return "".join("\tDevice-share Status            : %s\n\tChip ID                        : %d\n\n" % (word, chip) for chip, word in enumerate(words))


def card(family="910B", index=0, **more):
    extra = dict(EXTRA["ascend"], npu_id=index, family=family, logic_id=index, phy_id=index)
    return accelerator("ascend", index, **dict({"extra": extra, "device_nodes": ["/dev/davinci%d" % index]}, **more))


def row(found, capability):
    return [r for r in found["checks"] if r["capability"] == capability]


@pytest.mark.parametrize(
    ("answer", "state", "said", "command"),
    [
        (share(status("True")), "ok", "enabled", ""),
        (share(status("False")), "ok", "off and left off; asking the driver is a write", "npu-smi set -t device-share -i 0 -c 0 -d 1"),
        (share("This device does not support querying device-share.\n"), "not-declared", "does not support", ""),
        (share("", hang=True), "unavailable", "timeout", ""),
        (share("", missing=True), "unavailable", "no such program", ""),
        (share(status("NA")), "unavailable", "'NA'", ""),
        (share("garbage\n"), "unavailable", "garbage", ""),
        (share("", rc=139), "unavailable", "", ""),
    ],
)
def test_container_share(answer, state, said, command):
    (found,) = row(run("ascend", [card()], commands=[answer]), "container-share")
    assert (found["state"], found["depth"], found["mode"], found["command"]) == (state, "declared", "sliced", command)
    assert said in found["detail"] + found["reason"]


def test_one_refusing_card_takes_no_other_down():
    cards = [card(index=n, identity=identity(uuid="DIE %d" % n)) for n in (0, 1)]
    found = run("ascend", cards, commands=[share("", hang=True), share(status("True"), 1)])
    assert [r["state"] for r in row(found, "container-share")] == ["unavailable", "ok"]
    assert [r["state"] for r in row(found, "co-tenancy")] == ["ok", "ok"]


def test_each_die_is_an_accelerator():
    package = accelerator("ascend", identity=identity())
    dies = [
        accelerator(
            "ascend", n, id="0.%d" % n, kind="die", parent="ascend:0", identity=identity(uuid="DIE %d" % n), device_nodes=["/dev/davinci%d" % n],
            extra={"npu_id": 0, "chip_id": n, "phy_id": n, "family": "910C"},
        )
        for n in (0, 1)
    ]  # fmt: skip
    found = run("ascend", [package, *dies], commands=[share(status("True", "False"))])
    assert [(r["accelerator"], r["detail"][:7]) for r in row(found, "container-share")] == [("DIE 0", "enabled"), ("DIE 1", "off and")]
    assert [r["accelerator"] for r in found["checks"]] == ["DIE 0", "DIE 1"] + ["DIE 0"] * 2 + ["DIE 1"] * 2 + ["DIE 0"] * 2 + ["DIE 1"] * 2


@pytest.mark.parametrize(
    ("family", "cann", "sliced"),
    [
        ("910B", "8.5.0", True), ("910B", "9.1.0", True), ("910B", "7.0.RC1", False), ("910C", "8.0.RC3", True), ("310P", "9.0.0", True),
        ("310P", "8.5.0", False),
        ("910", "9.0.0", False), ("310B", "9.0.0", False), ("950", "9.1.0", True), ("950", "8.5.0", False),
    ],
)  # fmt: skip
def test_families(family, cann, sliced):
    found = run("ascend", [card(family)], driver=cann, commands=[share(status("True"))])
    assert [r["capability"] for r in found["checks"] if r["capability"] in PAIRS] == (PAIRS if sliced else [])


def test_a_version_or_family_that_was_not_read():
    for devices, driver in (([card()], unknown("CANN: denied")), ([card(unknown("family: odd"))], "8.5.0")):
        found = run("ascend", devices, driver=driver, commands=[share(status("True"))])
        assert [r["state"] for r in found["checks"]] == ["ok"] + ["unavailable"] * 4
    found = run("ascend", [card()], driver=not_applicable("no CANN"), commands=[share(status("True"))])
    assert [r["capability"] for r in found["checks"]] == ["container-share"]


def test_the_quota_is_in_the_file():
    grant = run("ascend", [card()], commands=[share(status("True"))])["grants"][UUID["ascend"]]["sliced"]
    assert grant["environment"] == {"ASCEND_VISIBLE_DEVICES": "0", "ENPU_DSMI_HOOK": "1", "ENPU_LOG_LEVEL": "1"} and grant["runtime"] == "ascend"
    (made,) = [m for m in grant["mounts"] if m["origin"] == "made"]
    assert made["source"] == "/var/lib/fleetproof/accelerator/preflight-%s/etc/enpu/vcann-rt/npu_info.config" % UUID["ascend"].replace(" ", "-")
    assert (
        "memory-quota=32768\n" in made["content"]["npu_info.config"] and "shm-id=%s\n" % UUID["ascend"].replace(" ", "-") in made["content"]["npu_info.config"]
    )


# -- 950 --------------------------------------------------------------------------------------------------------------


def a5_node(info="version=v26.1.0\n", table=None, cards=1, **more):
    paths = files("ascend", nodes=["/dev/davinci_manager", "/dev/hisi_hdc", *("/dev/davinci%d" % n for n in range(cards))])
    paths.update(ROOT, **{INFO: info})
    if table is not None:
        paths["/etc"] = {"dir": ["hostname", "hccl_rootinfo.json"]}
        paths[TABLE] = table
    paths.update(more)
    devices = [card("950", n, identity=identity(uuid="DDIE %d" % n)) for n in range(cards)]
    return run("ascend", devices, paths=paths, driver="9.1.0")


def test_the_worked_example():
    found = a5_node("version=v7.3.0\n", '{"version": "1.0", "server_count": "1"}')
    expected = [("container-share", "sliced", "not-declared", "declared")]
    for mode in ("exclusive", "shared", "sliced", "visibility"):
        expected += [("ascend-docker-runtime", mode, "unavailable", "declared"), ("hccl-ranktable", mode, "unavailable", "declared")]
    assert short(found)[:9] == expected
    assert [r["capability"] for r in found["checks"][9:]] == PAIRS
    assert "v7.3.0 is older than MindCluster 26.0.0" in found["checks"][1]["reason"]
    assert "version 1.0 (of A2), needed is 2.0" in found["checks"][2]["reason"] and "EI0014" in found["checks"][2]["reason"]
    assert found["sources"] == []  # the flag does not exist on it, so nobody is asked


def test_rows_of_several_cards_are_interleaved_and_the_node_is_read_once():
    found = a5_node(cards=2)
    assert [r["accelerator"] for r in found["checks"]] == ["DDIE 0"] * 9 + ["DDIE 1"] * 9 + ["DDIE 0"] * 2 + ["DDIE 1"] * 2 + ["DDIE 0"] * 2 + ["DDIE 1"] * 2
    assert {r["state"] for r in found["checks"] if r["capability"] != "container-share"} == {"ok"}
    assert "/dev/devmm_svm" not in found["grants"]["DDIE 0"]["exclusive"]["runtime_nodes"]


@pytest.mark.parametrize(
    ("info", "state", "said"),
    [
        ("version=v26.1.0\n", "ok", "v26.1.0"), ("version=26.0.0\n", "ok", "26.0.0"), ("a=b\nversion=v26.0.0.beta.1\nempty=\n", "ok", "beta"),
        ("version=v27\n", "ok", "v27"), ("version=v7.0.RC1\n", "unavailable", "v7.0.RC1"), ("version=v25.9.9\n", "unavailable", "v25.9.9"),
        ("version=latest\n", "unavailable", "latest"), ("version=\n", "unavailable", "no version"), ("", "unavailable", "no version"),
        ("versions=v26.0.0\n", "unavailable", "no version"), ("version=v26=odd.0\n", "unavailable", "26=odd"),
        ("version=-26.0\n", "unavailable", "not a number"),
        ({"absent": True}, "unavailable", "absent"), ({"error": "EACCES"}, "unavailable", "denied"), ({"error": "EIO"}, "unavailable", "io error"),
        ({"hang": True}, "unavailable", "timeout"), ({"dir": []}, "unavailable", "is a directory"),
    ],
)  # fmt: skip
def test_docker_runtime(info, state, said):
    found = row(a5_node(info), "ascend-docker-runtime")
    assert [(r["mode"], r["state"]) for r in found] == [(mode, state) for mode in a5.MODES]
    assert said in found[0]["detail"] + found[0]["reason"]


@pytest.mark.parametrize(
    ("table", "state", "said"),
    [
        (None, "ok", "negotiates by rootInfo"), ('{"version": "2.0"}', "ok", "version 2.0"), ("{}", "unavailable", "no version"),
        ('{"version": ""}', "unavailable", "no version"),
        ('{"version": 2.0}', "unavailable", "no text"), ('{"version": null}', "unavailable", "no version"),
        ('{"version": "1.2"}', "unavailable", "1.2 (of A3)"),
        ('{"version": "1.0"}', "unavailable", "1.0 (of A2)"), ('{"version": "3.0"}', "unavailable", "version 3.0, needed"),
        ("not json", "unavailable", "not JSON"),
        ("", "unavailable", "not JSON"), ("[]", "unavailable", "no version"), ("2.0", "unavailable", "no version"), ("[" * 100000, "unavailable", "not JSON"),
        ({"link": "/data/rank.json"}, "unavailable", "link to /data/rank.json"), ({"error": "EACCES"}, "unavailable", "denied"),
        ({"hang": True}, "unavailable", "timeout"),
        ({"dir": []}, "unavailable", "is a directory"),
    ],
)  # fmt: skip
def test_rank_table(table, state, said):
    found = row(a5_node(table=table), "hccl-ranktable")
    assert [(r["mode"], r["state"]) for r in found] == [(mode, state) for mode in a5.MODES]
    assert said in found[0]["detail"] + found[0]["reason"]


@pytest.mark.parametrize("directory", ["/etc", "/proc", "/usr"])
@pytest.mark.parametrize("entry", [{"absent": True}, {"error": "EACCES"}])
def test_a_root_that_cannot_be_seen(directory, entry):
    found = row(a5_node(**{directory: entry}), "hccl-ranktable")
    assert found[0]["state"] == "unavailable" and "not looked at" in found[0]["reason"] and directory in found[0]["reason"]


def test_etc_that_is_no_directory():
    found = row(a5_node(**{"/etc": "a file", TABLE: {"absent": True}}), "hccl-ranktable")
    assert found[0]["state"] == "unavailable" and "not a directory" in found[0]["reason"]
