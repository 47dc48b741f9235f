# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight document of a node: its keys, the reasons a group is empty, rows that come short, the exit rule, the YAML."""

from __future__ import annotations

import pytest
import synthetic
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.fleetproof.accelerator.plugins.filter.preflight_document import preflight_document as as_filter
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document as records
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import run_documents
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.preflight_document import MANUFACTURERS, NOTES, document, dump, failures, message

STAMP = "2026-10-05T09:30:00Z"
UUID = "GPU-00000001-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
BUS = {"timestamp": STAMP, "scan": {"status": "ok", "detail": ""}, "counts": dict.fromkeys(MANUFACTURERS, 0)}


def row(accelerator="nvidia:0", capability="mig-partitioning", mode="partitioned", state="not-declared", depth="declared", **more):
    texts = {"detail": "", "reason": "" if state == "ok" else "the card declares no partition profile", "command": "", "evidence": ""}
    return dict({"accelerator": accelerator, "capability": capability, "mode": mode, "state": state, "depth": depth}, **dict(texts, **more))


def found(count=1, manufacturer="nvidia", host=None, **block):
    devices = [synthetic.device(n, manufacturer) for n in range(count)]
    detection = accelerators.detection(manufacturer, devices, host_check=host)
    return dict(synthetic.section(devices, manufacturer, dict(detection, **block)), timestamp=STAMP)


def allocated(*rows, manufacturer="nvidia", note=""):
    return {"manufacturer": manufacturer, "timestamp": STAMP, "checks": list(rows), "grants": {}, "note": note, "sources": []}


def failed(reason="signal SIGSEGV", status="failed"):
    return {"status": status, "reason": reason, "data": {}, "finished": "2026-10-05T09:31:00Z"}


def made(sections, only=("nvidia",), **more):
    return document(dict({"pci": BUS}, **sections), only, **more)


def group(sections, name="nvidia", **more):
    return next(one for one in made(sections, [name], **more)["accelerators"] if one["manufacturer"] == name)


def test_one_card_key_for_key():
    check = {"command": "nvidia-smi -L", "accelerators": 1, "detail": "GPU 0: %s (UUID: %s)" % (synthetic.NAME, UUID), "reason": ""}
    reached = row(
        capability="sliced-runtime-loaded", mode="sliced", state="ok", depth="simulated", detail="the grant mounts 2 libraries", command="docker run x"
    )
    assert made({"accelerators.nvidia": found(host=check), "allocation.nvidia": allocated(row(), reached)}) == {
        "accelerators": [
            {
                "manufacturer": "nvidia",
                "timestamp": STAMP,
                "detection": {
                    "state": "ok",
                    "depth": "declared",
                    "accelerators": 1,
                    "detail": "NVIDIA H100 80GB HBM3 x1",
                    "host": {"command": "nvidia-smi -L", "accelerators": 1, "detail": check["detail"]},
                },
                "checks": [
                    {
                        "accelerator": UUID, "capability": "mig-partitioning", "mode": "partitioned", "state": "not-declared", "depth": "declared",
                        "reason": "the card declares no partition profile",
                    },
                    {
                        "accelerator": UUID, "capability": "sliced-runtime-loaded", "mode": "sliced", "state": "ok", "depth": "simulated",
                        "detail": "the grant mounts 2 libraries", "command": "docker run x",
                    },
                ],
            },
        ],
        "network": {"timestamp": STAMP, "note": records.NO_NETWORK},
        "topology": {"timestamp": STAMP, "policy": "unknown", "depth": "declared", "note": records.NO_TOPOLOGY},
    }  # fmt: skip


def test_a_machine_without_accelerators():
    """All nine are there, sorted; the three that have a cross-check say that it was not run. It is no failure."""
    groups = document({"pci": BUS})["accelerators"]
    assert [one["manufacturer"] for one in groups] == sorted(MANUFACTURERS)
    assert {one["note"] for one in groups} == {NOTES["none"]}
    assert {one["detection"]["state"] for one in groups} == {"not-declared"}
    assert all(list(one["detection"])[:3] == ["state", "depth", "accelerators"] and one["detection"]["reason"] == "none found on PCI" for one in groups)
    hosts = {one["manufacturer"]: one["detection"]["host"] for one in groups if "host" in one["detection"]}
    assert {name: host["command"] for name, host in hosts.items()} == records.HOST_COMMANDS
    assert all(host["reason"] == "not run: none on PCI" and host["accelerators"] == 0 for host in hosts.values())
    assert failures(document({"pci": BUS})) == []


def test_the_host_counts_more_than_was_read():
    check = {"command": "nvidia-smi -L", "accelerators": 8, "detail": "GPU 0: x\nGPU 1: y", "reason": ""}
    lacking = dict(allocated(), missing_mounts=["/dev/nvidia1", "the toolkit"])
    one = group({"accelerators.nvidia": found(1, host=check), "allocation.nvidia": lacking})
    assert one["detection"]["state"] == "unavailable" and "8" in one["detection"]["reason"]
    assert one["detection"]["host"] == {
        "command": "nvidia-smi -L", "accelerators": 8, "detail": "GPU 0: x\nGPU 1: y", "missingMounts": ["/dev/nvidia1", "the toolkit"],
    }  # fmt: skip
    assert (one["note"], "checks" in one) == (NOTES["detection"], False)


BUSY = dict(BUS, counts=dict(BUS["counts"], nvidia=2))
BLIND = dict(BUS, scan={"status": "denied", "detail": ""})
SILENT = failed(status="unreachable")
EMPTY = {
    "none on PCI": ({}, "nvidia", "not-declared", NOTES["none"]),
    "none found": ({"accelerators.nvidia": found(0)}, "nvidia", "not-declared", NOTES["none"]),
    "module failed": ({"accelerators.nvidia": failed()}, "nvidia", "unavailable", NOTES["not measured"]),
    "node unreachable": ({"pci": SILENT, "accelerators.nvidia": SILENT}, "nvidia", "unavailable", NOTES["not measured"]),
    "on PCI and not read": ({"pci": BUSY}, "nvidia", "unavailable", NOTES["not measured"]),
    "PCI not read": ({"pci": BLIND}, "nvidia", "unavailable", NOTES["not measured"]),
    "count not known": ({"accelerators.nvidia": found(1, accelerators=unknown("hung"))}, "nvidia", "unavailable", NOTES["detection"]),
    "detection failed": ({"accelerators.nvidia": found(1, state="unavailable", reason="no driver")}, "nvidia", "unavailable", NOTES["detection"]),
    "no preflight": ({"accelerators.gaudi": found(1, "gaudi")}, "gaudi", "ok", NOTES["no preflight"]),
    "no rows": ({"accelerators.nvidia": found(), "allocation.nvidia": allocated()}, "nvidia", "ok", NOTES["no rows"]),
    "not filed": ({"accelerators.nvidia": found()}, "nvidia", "ok", NOTES["not filed"] % "nvidia"),
    "vendor's note": ({"accelerators.hygon": found(1, "hygon"), "allocation.hygon": allocated(note="no driver is asked")}, "hygon", "ok", "no driver is asked"),
}  # fmt: skip


@pytest.mark.parametrize("case", EMPTY)
def test_why_a_group_is_empty(case):
    sections, name, state, note = EMPTY[case]
    one = group(sections, name)
    assert (one["detection"]["state"], one.get("note"), one.get("checks")) == (state, note, None)
    assert ("reason" in one["detection"]) == (state != "ok")


def test_the_notes_differ():
    assert len(set(NOTES.values())) == len(NOTES)


def test_a_note_of_the_vendor_stays_beside_rows():
    one = group(
        {"accelerators.hygon": found(1, "hygon"), "allocation.hygon": allocated(row("hygon:0"), manufacturer="hygon", note="no driver is asked")}, "hygon"
    )
    assert (one["note"], len(one["checks"])) == ("no driver is asked", 1)


@pytest.mark.parametrize("held", [True, False])
def test_a_lock_that_was_not_got(held):
    one = group({"accelerators.nvidia": found(2)}, lock={"held": held, "reason": "permission denied"})
    assert one["detection"] == {"state": "unavailable", "depth": "declared", "accelerators": 0, "reason": "permission denied"}
    assert one["note"] == NOTES["lock held" if held else "lock failed"]


@pytest.mark.parametrize("section", ["allocation.nvidia", "slicing.nvidia"])
def test_a_crash_leaves_detection_and_the_others(section):
    sections = {"accelerators.nvidia": found(2), "allocation.nvidia": allocated(row()), "accelerators.amd": found(1, "amd")}
    sections["allocation.amd"] = allocated(row("amd:0", capability="cu-mask-topology", mode="sliced", state="ok"), manufacturer="amd")
    sections[section] = failed("signal SIGSEGV")
    amd, nvidia = made(sections, ["amd", "nvidia"])["accelerators"]
    assert [r["capability"] for r in amd["checks"]] == ["cu-mask-topology"] and "note" not in amd
    assert (nvidia["detection"]["state"], nvidia["detection"]["accelerators"]) == ("ok", 2)
    assert nvidia["note"] == "contained crash, earlier answers discarded, other manufacturers unaffected: signal SIGSEGV"
    assert [(r["capability"], r["mode"], r["state"], r["depth"]) for r in nvidia["checks"]] == [
        ("preflight-panicked", "unnamed", "unavailable", "declared")
    ] * 2
    assert {r["reason"] for r in nvidia["checks"]} == {"contained crash, nothing about this accelerator was established: signal SIGSEGV"}
    assert nvidia["checks"][0]["accelerator"] == UUID
    assert failures(made(sections))[0] == "nvidia: preflight-panicked on %s: %s" % (UUID, nvidia["checks"][0]["reason"])


def test_a_hang_is_told_from_a_crash():
    one = group({"accelerators.nvidia": found(), "allocation.nvidia": failed("no answer within 90 seconds", "timeout")})
    assert one["checks"][0]["reason"].startswith("it hung and was stopped, nothing about this accelerator was established: no answer within 90")
    assert one["note"] == "it hung and was stopped, earlier answers discarded, other manufacturers unaffected: no answer within 90 seconds"
    gone = group({"accelerators.nvidia": found(), "allocation.nvidia": failed("ssh: connection closed", "unreachable")})
    assert gone["note"].startswith("no answer (unreachable), earlier") and gone["checks"][0]["state"] == "unavailable"


def test_containers_of_an_earlier_run_that_stay():
    """One row for every accelerator of every group, after the group's own, also after a crash."""
    errors = ["docker: exit status 1: permission denied", "nerdctl: timeout"]
    sections = {"accelerators.nvidia": found(2), "allocation.nvidia": failed(), "accelerators.amd": found(1, "amd"), "allocation.amd": allocated()}
    amd, hygon, nvidia = made(sections, ["amd", "hygon", "nvidia"], sweep_errors=errors)["accelerators"]
    assert "checks" not in hygon
    assert [r["capability"] for r in nvidia["checks"]] == ["preflight-panicked"] * 2 + ["stale-container-sweep"] * 2
    assert amd["checks"] == [
        {
            "accelerator": UUID, "capability": "stale-container-sweep", "mode": "unnamed", "state": "unavailable", "depth": "declared",
            "reason": "earlier probe containers could not be cleared, results here are unsafe: " + "; ".join(errors),
        },
    ]  # fmt: skip
    assert list(amd) == list(nvidia) == ["manufacturer", "timestamp", "detection", "checks", "note"]


def test_a_driver_that_was_asked_takes_the_place_of_what_was_only_read():
    read = row(capability="container-share", mode="sliced", state="ok", detail="off and not asked")
    asked = dict(read, state="unavailable", detail="the driver accepted on but could not be put back, left ON", reason="code -8005")
    sections = {"accelerators.nvidia": found(), "allocation.nvidia": allocated(read, row()), "slicing.nvidia": allocated(asked)}
    rows = group(sections)["checks"]
    assert [(r["capability"], r["state"]) for r in rows] == [("container-share", "unavailable"), ("mig-partitioning", "not-declared")]
    assert (rows[0]["detail"], rows[0]["reason"]) == (asked["detail"], "code -8005")


ROWS = [
    (dict(row(), mode=None), {"mode": "unnamed", "reason": "the card declares no partition profile; " + records.NO_MODE}),
    (dict(row(state="ok", detail="fine"), mode=""), {"mode": "unnamed", "detail": "fine; " + records.NO_MODE, "state": "ok"}),
    (dict(row(), depth=None), {"depth": "declared"}),
    (dict(row(), depth="proven"), {"depth": "declared"}),
    (row(state="ok", reason="all is well"), {"detail": "all is well", "state": "ok"}),
    (row(state="unavailable", reason=""), {"reason": "no reason given"}),
    (row(state="unavailable", reason="", detail="left ON"), {"reason": "left ON", "detail": "left ON"}),
    (row(state="fine"), {"state": "unavailable", "reason": "the card declares no partition profile"}),
    (row(state=None, reason=""), {"state": "unavailable", "reason": "state not understood: None"}),
    (row(accelerator=7), {"accelerator": "nvidia:?"}),
    (row(accelerator="nvidia:9"), {"accelerator": "nvidia:9"}),
    ("garbage", {"capability": "unreadable-row", "state": "unavailable", "reason": "allocation.nvidia row 0 is no row"}),
]


@pytest.mark.parametrize(("given", "told"), ROWS)
def test_a_row_that_comes_short(given, told):
    one = group({"accelerators.nvidia": found(), "allocation.nvidia": allocated(given)})["checks"][0]
    assert {key: one.get(key) for key in told} == told
    assert (one["state"] == "ok") == ("reason" not in one)


@pytest.mark.parametrize("checks", ["x", {"a": 1}, 7])
def test_checks_that_are_no_list(checks):
    one = group({"accelerators.nvidia": found(), "allocation.nvidia": dict(allocated(), checks=checks)})
    assert [r["state"] for r in one["checks"]] == ["unavailable"]


@pytest.mark.parametrize(
    "section", [{}, {"detection": 5}, {"detection": {}}, {"detection": {"state": "ok", "accelerators": True}}, {"devices": "x", "detection": None}]
)
def test_a_section_of_garbage_is_unavailable(section):
    one = group({"accelerators.nvidia": section})
    assert one["detection"]["state"] == "unavailable" and one["detection"]["accelerators"] == 0 and one["detection"]["reason"]
    yaml.safe_load(dump(made({"accelerators.nvidia": section})))


def test_an_identifier_that_two_cards_share_names_none():
    section = found(2)
    for device in section["devices"]:
        device["identity"]["uuid"] = {"value": "GPU-same", "quality": "duplicate"}
    rows = group({"accelerators.nvidia": section, "allocation.nvidia": allocated(row("nvidia:0"), row("nvidia:1"))})["checks"]
    assert [r["accelerator"] for r in rows] == ["nvidia:0", "nvidia:1"]


def test_what_fails_and_what_does_not():
    detected = {"accelerators.nvidia": found(), "accelerators.amd": failed("exit 2")}
    rows = allocated(row(), row(capability="co-tenancy", mode="sliced", state="unavailable", reason="no library"), row(capability="x", state="ok"))
    told = failures(made(dict(detected, **{"allocation.nvidia": rows}), ["amd", "nvidia"]))
    assert told == [
        "amd: detection: could not be measured, presence unknown: failed: exit 2",
        "nvidia: co-tenancy on %s: no library" % UUID,
    ]
    assert message(told) == "preflight failed: " + "; ".join(told)
    assert message([]) == ""


def test_the_yaml():
    check = {"command": "nvidia-smi -L", "accelerators": 1, "detail": "GPU 0: x\nGPU 1: y", "reason": ""}
    hard = row(state="unavailable", reason="no: \u202e 'x' # y\n", command="a &\nb\nwait", evidence="  tenant 1:\n\x1b[0m12\n", detail="yes", depth="measured")
    document = made({"accelerators.nvidia": found(1, host=check), "allocation.nvidia": dict(allocated(hard), missing_mounts=["/dev/nvidia0"])})
    text = dump(document)
    assert yaml.load(text, Loader=yaml.BaseLoader) == yaml.load(yaml.safe_dump(document), Loader=yaml.BaseLoader)
    assert text.startswith(
        """\
accelerators:
    - manufacturer: nvidia
      timestamp: 2026-10-05T09:30:00Z
      detection:
          state: ok
          depth: declared
          accelerators: 1
          detail: NVIDIA H100 80GB HBM3 x1
          host:
              command: nvidia-smi -L
              accelerators: 1
              detail: |-
                  GPU 0: x
                  GPU 1: y
              missingMounts:
                  - "/dev/nvidia0"
      checks:
          - accelerator: GPU-00000001-1c2d-4e5f-8a9b-0c1d2e3f4a5b
            capability: mig-partitioning
            mode: partitioned
            state: unavailable
            depth: measured
            detail: "yes"
            reason: "no: 'x' # y"
            command: |-
                a &
                b
                wait
            evidence: "  tenant 1:\\x0a [0m12"
"""
    )
    assert text.endswith("\nnetwork:\n    timestamp: 2026-10-05T09:30:00Z\n    note: %s\ntopology:%s" % (
        '"%s"' % (records.NO_NETWORK), text.partition("\ntopology:")[2],
    ))  # fmt: skip


def test_the_filter():
    sections = {"accelerators.nvidia": found(), "allocation.nvidia": allocated(row())}
    assert as_filter(sections, ["nvidia"]) == dump(document(sections, ["nvidia"]))
    for arguments in ((["x"],), (sections, "nvidia"), (sections, [1]), (sections, None, "x")):
        with pytest.raises(AnsibleFilterError, match=r"^preflight_document: "):
            as_filter(*arguments)


def test_cross_checks_that_were_not_run():
    assert group({"accelerators.nvidia": found(host=not_applicable("nothing was read"))})["detection"]["host"] == {
        "command": "nvidia-smi -L", "accelerators": 0, "reason": "not run: nothing was read",
    }  # fmt: skip
    waiting = {"command": "rocm-smi --showuniqueid", "accelerators": unknown("not run"), "detail": "", "reason": "not run: it would tell nothing more"}
    host = group({"accelerators.amd": found(1, "amd", host=waiting)}, "amd")["detection"]["host"]
    assert host == {"command": waiting["command"], "accelerators": 0, "reason": waiting["reason"]}
    assert "host" not in group({"accelerators.hygon": found(1, "hygon")}, "hygon")["detection"]


def test_a_card_with_several_dies_is_several_accelerators():
    """The operator counts and allocates dies: their number, their names, and whose row a crash takes."""
    card = synthetic.device(0, "ascend")
    dies = [dict(synthetic.device(n, "ascend"), id="ascend:0.%d" % n, kind="die", parent="ascend:0", name="Ascend910") for n in range(2)]
    lone = synthetic.device(5, "ascend")
    detection = accelerators.detection("ascend", [card, lone])
    read = dict(synthetic.section([card, *dies, lone], "ascend", detection), timestamp=STAMP)
    block = group({"accelerators.ascend": read, "allocation.ascend": failed()}, "ascend")
    assert (block["detection"]["accelerators"], block["detection"]["detail"]) == (3, "Ascend910 x2, %s x1" % lone["name"])
    assert [one["capability"] for one in block["checks"]] == ["preflight-panicked"] * 3
    assert len({one["accelerator"] for one in block["checks"]}) == 3
    cut = dict(read, detection=dict(detection, accelerators=unknown("the table ends early"), state="unavailable"))
    assert group({"accelerators.ascend": cut}, "ascend")["detection"]["accelerators"] == 3


def test_the_line_of_one_node_is_whole():
    told = ["nvidia: co-tenancy on GPU-%d: no" % n for n in range(90)]
    assert run_documents.message(told, 1) == "preflight failed: " + "; ".join(told)
    assert run_documents.message(told, 2) == "preflight failed: " + "; ".join([*told[:50], "and 40 more"])
    assert run_documents.message([], 1) == ""


KUBELET = {"timestamp": "2026-10-05T09:31:00Z", "lines": {"topology_manager_policy": {"outcome": "value", "value": "restricted", "source": "/etc/k.yaml"}}}


def test_topology_is_what_the_kubelet_names():
    told = records.document({"kubelet": KUBELET})["topology"]
    assert told == {"timestamp": "2026-10-05T09:31:00Z", "policy": "restricted", "depth": "declared"}


def test_topology_that_is_not_known_says_why():
    line = {"outcome": "unreadable", "value": {"unknown": "/etc/k.yaml: denied (EACCES)"}, "source": "/etc/k.yaml"}
    broken = dict(KUBELET, lines={"topology_manager_policy": line})
    told = records.document({"kubelet": broken})["topology"]
    assert (told["policy"], told["note"]) == ("unknown", "/etc/k.yaml: denied (EACCES)")
    filed = {"status": "timeout", "reason": "no answer in time", "data": {}, "finished": "2026-10-05T09:32:00Z"}
    told = records.document({"kubelet": filed})["topology"]
    assert (told["timestamp"], told["policy"], told["note"]) == ("2026-10-05T09:32:00Z", "unknown", "no answer in time")
    for junk in (None, [], {}, {"topology_manager_policy": []}, {"topology_manager_policy": {"value": 7}}):
        told = records.document({"kubelet": dict(KUBELET, lines=junk)})["topology"]
        assert told["policy"] == "unknown" and told["note"]


def network(rails=None, interfaces=3, virtual=0, **envelope):
    counts = {"rails": 0, "virtual_functions": virtual, "interfaces": interfaces}
    data = {"rails": rails if rails is not None else not_applicable("no RDMA device"), "counts": counts}
    return made({"network_devices": dict({"status": "read", "reason": "", "finished": "2026-10-05T09:31:00Z", "data": data}, **envelope)}, [])["network"]


def rail(device, *ports, interfaces=()):
    """ports: (state, physical state) of each."""
    listed = {str(number): {"state": state, "physical_state": physical} for number, (state, physical) in enumerate(ports, 1)}
    return {"device": device, "interfaces": list(interfaces), "ports": listed}


def test_each_interface_has_the_verdict_of_its_rdma_device():
    rails = {
        "0": rail("mlx5_0", ("down", "disabled"), ("active", "linkup"), interfaces=["ens1f0", "ens1f1"]),
        "1": rail("mlx5_1", ("down", "disabled"), interfaces=["ens2"]),
        "2": rail("mlx5_2", ("active_defer", "linkup"), interfaces=["ens3"]),
        "3": rail("mlx5_3", ("down", "disabled"), (unknown("EACCES"), "linkup")),
        "4": dict(rail("mlx5_4"), ports=unknown("EIO")),
        "5": rail("mlx5_5", ("active", not_applicable("not told by this driver")), interfaces=["ens5"]),
        "6": rail("mlx5_6"),
    }
    section = network(rails, virtual=4)
    assert list(section) == ["timestamp", "checks", "note"] and section["timestamp"] == "2026-10-05T09:31:00Z"
    assert [(r["interface"], r["rdmaDevice"], r["state"], r.get("reason")) for r in section["checks"]] == [
        ("ens1f0", "mlx5_0", "ok", None),
        ("ens1f1", "mlx5_0", "ok", None),
        ("ens2", "mlx5_1", "failed", "no port is up: port 1 state down, physical disabled"),
        ("ens3", "mlx5_2", "failed", "no port is up: port 1 state active_defer, physical linkup"),
        ("", "mlx5_3", "unverified", "port state could not be read: port 2: EACCES"),
        ("", "mlx5_4", "unverified", "port state could not be read: EIO"),
        ("ens5", "mlx5_5", "unverified", "port state could not be read: port 1: not told by this driver"),
        ("", "mlx5_6", "unverified", "port state could not be read: it tells no port"),
    ]
    assert {r["depth"] for r in section["checks"]} == {"declared"} and "4 virtual functions" in section["note"]


def test_a_network_without_rows_says_why():
    assert network()["note"] == "none of 3 interfaces on PCI nor 0 virtual functions carries an RDMA device"
    assert network(unknown("EACCES"))["note"] == "not looked at: EACCES"
    assert network(status="timeout", reason="no answer within 90 seconds", data={})["note"] == "no answer within 90 seconds"
    assert "no section network_devices" in made({}, [])["network"]["note"]
    assert failures(made({"network_devices": {"status": "read", "data": {"rails": {"0": rail("mlx5_0", ("down", "disabled"))}}}}, [])) == []


@pytest.mark.parametrize(
    "rails", [{"0": 7}, {"0": {"device": 1}}, {"0": {"device": "a", "interfaces": 3, "ports": [1]}}, [], 7, "x", {"0": {"device": "a", "ports": {"1": 2}}}]
)
def test_a_network_of_garbage_is_never_ok(rails):
    assert "ok" not in [r["state"] for r in network(rails).get("checks", ())]
    assert "none of" not in network(rails).get("note", "")
