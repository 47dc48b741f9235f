# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node of each of the nine manufacturers: healthy and with its failure cases, the exact rows of each; all of them on one node."""

from __future__ import annotations

import functools
import json

import cambricon_samples
import demo
import nine
import nvidia_samples
import plays
import pytest
import thead_samples
import yaml
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import preflight_document
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.preflight_document import NOTES

DRIVER_ROWS = {
    "nvidia": "mig-partitioning partitioned not-declared declared",
    "thead": "mig-partitioning partitioned not-declared declared",
    "ascend": "container-share sliced ok declared",
    "amd": "cu-mask-topology sliced ok declared",
    "cambricon": "smlu-mode sliced ok declared",
    "metax": "sgpu-mode sliced ok declared",
}
SLICED = ["sliced-runtime-loaded sliced ok simulated", "sliced-quota-in-force sliced ok simulated"]
MANAGED = ["sidecar-visibility visibility ok simulated", "co-tenancy sliced ok simulated"]
REFUSED = [row.replace("ok simulated", "unavailable declared") for row in SLICED + MANAGED]
LABELS = {
    "amd": ["GPU-0a00000000000001", "GPU-0a00000000000002"],
    "ascend": ["1A2B3C40 5D6E7F80 11223344 55667788 99AABBCC", "1A2B3C41 5D6E7F80 11223344 55667788 99AABBCC"],
    "cambricon": ["2a000000-0000-0000-0000-00000000c0de", "2a000001-0000-0000-0000-00000000c0de"],
    "hygon": ["7100000000000000", "7100000000000001"],
    "iluvatar": ["GPU-3f0e0000-1111-5222-8333-944455556666", "GPU-3f0e0001-1111-5222-8333-944455556666"],
    "metax": ["GPU-00000001-aaaa-bbbb-cccc-00000000d1ce", "GPU-00000002-aaaa-bbbb-cccc-00000000d1ce"],
    "mthreads": ["7c1d0000-aaaa-1bbb-2ccc-3ddd4eee5fff"],
    "nvidia": ["GPU-0f1e7000-0000-4000-8000-000000000000", "GPU-0f1e7000-0000-4000-8000-000000000001"],
    "thead": ["PPU-00000000-aaaa-bbbb-cccc-00000000d1ce"],
}
DETAILS = {
    "amd": "AMD Instinct MI300X x2", "ascend": "910B3 x2", "cambricon": "MLU370-X8 x2", "hygon": "K100_AI x2", "iluvatar": "Iluvatar MR-V100 x2",
    "metax": "MetaX C500 x2", "mthreads": "MTT S4000 x1", "nvidia": "NVIDIA H100 80GB HBM3 x2", "thead": "PPU-ZW810E x1",
}  # fmt: skip
CAPS = {
    "amd": "98296", "ascend": "32768 MiB", "cambricon": "10319 MiB", "hygon": "32760", "iluvatar": "16384m", "metax": "32768 MiB", "mthreads": "24576",
    "nvidia": "40779m", "thead": "49152",
}  # fmt: skip
MEMORY = {
    "amd": 196592, "ascend": 65536, "cambricon": 20638, "hygon": 65520, "iluvatar": 32768, "metax": 65536, "mthreads": 49152, "nvidia": 81559, "thead": 98304,
}  # fmt: skip
WITHOUT_PROBE = ("cambricon", "iluvatar", "metax", "mthreads")


def rows(checks, labels=True):
    return [" ".join(([row["accelerator"]] if labels else []) + [row[key] for key in ("capability", "mode", "state", "depth")]) for row in checks]


def expected(name):
    """Driver rows of all cards, then the pairs of each."""
    labels, driver = LABELS[name], DRIVER_ROWS.get(name)
    return [
        *("%s %s" % (label, driver) for label in labels if driver),
        *("%s %s" % (label, row) for label in labels for row in SLICED),
        *("%s %s" % (label, row) for label in labels for row in MANAGED),
    ]


@functools.cache
def healthy(name):
    return nine.read(nine.recording(nine.PARTS[name]()))


@pytest.mark.parametrize("name", nine.PARTS)
def test_a_healthy_node(name):
    sections = healthy(name)
    assert demo.misfits(sections) == []
    assert "not recorded" not in json.dumps(sections)
    detection, allocation = sections["accelerators." + name]["detection"], sections["allocation." + name]
    assert (detection["state"], detection["accelerators"], detection["detail"]) == ("ok", len(LABELS[name]), DETAILS[name])
    assert rows(allocation["checks"]) == expected(name)
    assert all((row["state"] == "ok") == (row["reason"] == "") for row in allocation["checks"])
    assert {mode for grants in allocation["grants"].values() for mode in grants} == {"exclusive", "shared", "sliced", "visibility"}
    quota = next(row["detail"] for row in allocation["checks"] if row["capability"] == "sliced-quota-in-force")
    assert quota.startswith("the grant caps memory at %s, half of %d MiB; " % (CAPS[name], MEMORY[name]))
    assert ("no container probe exists" in quota) == (name in WITHOUT_PROBE)
    judged = demo.Judged(name, sections, {})
    assert [told for told in judged.told() if told[1] == "fail"] == []
    assert judged.verdict == ("accepted_with_warnings" if name == "thead" else "accepted"), judged.reasons
    assert preflight_document.failures(preflight_document.document(sections)) == []


NOTED = ("hygon", "iluvatar", "mthreads")  # no driver is asked, and the note says why


@pytest.mark.parametrize("name", nine.PARTS)
def test_the_document_of_a_healthy_node(name):
    groups = {group["manufacturer"]: group for group in preflight_document.document(healthy(name))["accelerators"]}
    assert list(groups) == sorted(nine.PARTS)
    assert {group["note"] for other, group in groups.items() if other != name} == {NOTES["none"]}
    assert rows(groups[name]["checks"]) == expected(name)
    assert ("note" in groups[name]) == (name in NOTED) == (name not in DRIVER_ROWS)
    assert ("host" in groups[name]["detection"]) == (name in preflight_document.HOST_COMMANDS)


def tool(name, answer, **made):
    """The healthy part whose tool answers everything so."""
    part = nine.PARTS[name](**made)
    part.commands = [dict({key: entry[key] for key in ("argv", "env") if key in entry}, **answer) for entry in part.commands]
    part.natives = {key: {"missing": "no library"} for key in part.natives}
    return part


ANSWERS = {
    "missing": {"missing": True},
    "hangs": {"hang": True},
    "denied": {"denied": True},
    "killed": {"signal": "SIGSEGV"},
    "garbage": {"rc": 0, "stdout": "\x1b[?~ half a table"},
    "silent": {"rc": 0, "stdout": ""},
    "undefined symbol": {"rc": 127, "stderr": "symbol lookup error: libvendor.so: undefined symbol: vendorGetCount\n"},
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", nine.PARTS)
def test_a_tool_that_fails_on_a_node_with_cards(name, answer):
    """Nothing is counted that was not read, no row is made, and the reason is told once as the failure."""
    part = tool(name, ANSWERS[answer])
    if name == "amd":  # the files of its driver would name the cards all the same
        part.driver = None
    sections = nine.read(nine.recording(part))
    assert demo.misfits(sections) == []
    document = preflight_document.document(sections)
    group = next(group for group in document["accelerators"] if group["manufacturer"] == name)
    assert (group["detection"]["state"], group["detection"]["accelerators"]) == ("unavailable", 0)
    assert (group["note"], "checks" in group) == (NOTES["detection"], False)
    assert preflight_document.failures(document) == ["%s: detection: %s" % (name, group["detection"]["reason"])]
    assert "PCI shows %d" % len(LABELS[name]) in group["detection"]["reason"]
    assert demo.Judged(name, sections, {}).verdict in ("rejected", "incomplete")


def warned(text):
    """The same with a warning in the middle of its JSON."""
    start = next(place for place, character in enumerate(text) if character in "[{")
    document, end = json.JSONDecoder().raw_decode(text, start)
    lines = json.dumps(document, indent=2).splitlines(True)
    lines.insert(len(lines) // 2, "WARNING: reading was slow\n")
    return text[:start] + "".join(lines) + text[end:]


@pytest.mark.parametrize("name", ["amd", "hygon", "metax", "mthreads"])
def test_a_warning_inside_json(name):
    part, inside = nine.PARTS[name](), 0
    for entry in part.commands:
        if isinstance(entry.get("stdout"), str) and entry["stdout"].lstrip().startswith(("{", "[", "mx-smi")) and "{" in entry["stdout"]:
            entry["stdout"], inside = warned(entry["stdout"]), inside + 1
    sections = nine.read(nine.recording(part))
    assert inside and sections["accelerators." + name]["devices"] == healthy(name)["accelerators." + name]["devices"]


@pytest.mark.parametrize("name", [name for name in nine.PARTS if len(LABELS[name]) > 1])
def test_a_card_that_fell_off_the_tool(name):
    part, fewer = nine.PARTS[name](), nine.PARTS[name](count=1)
    fewer.addresses = part.addresses
    sections = nine.read(nine.recording(fewer))
    detection = sections["accelerators." + name]["detection"]
    assert (detection["state"], part.addresses[1] in json.dumps(detection)) == ("unavailable", True)
    group = preflight_document.document(sections, [name])["accelerators"][0]
    assert (group["detection"]["accelerators"], group["note"]) == (1, NOTES["detection"])
    assert demo.Judged(name, sections, {}).verdict == "rejected"


PROFILES = """\
+-----------------------------------------------------------------------------+
| GPU instance profiles:                                                      |
| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                              Free/Total   GiB              CE    JPEG  OFA  |
|=============================================================================|
|   0  MIG 1g.10gb       19     4/7        9.75       No     16     1     0   |
+-----------------------------------------------------------------------------+
"""
ON = {"mig": "Enabled", "mig_devices": "".join(nvidia_samples.MIG_DEVICE.format(index=n, instance=n + 7) for n in range(3))}
EMPTY = {"mig": "Enabled", "mig_devices": "None"}
THEAD_ON = thead_samples.log([0], MIG_Mode={"Current": "Enabled", "Pending": "Enabled"})
THEAD_LISTED = "PPU 0: PPU-ZW810E (UUID: PPU-00000000-aaaa-bbbb-cccc-00000000d1ce)\n"
PARTITIONED = ["sidecar-visibility visibility ok declared", "co-tenancy partitioned ok declared"]
UNKNOWN_PARTITIONS = [row.replace("ok", "unavailable", 1) for row in PARTITIONED]
NO_ID = "the accelerator tells no id that names it alone"
A5 = ["%s %s %%s declared" % (name, mode) for mode in ("exclusive", "shared", "sliced", "visibility") for name in ("ascend-docker-runtime", "hccl-ranktable")]
NO_SWITCH = "container-share sliced not-declared declared"
OLD = "v7.3.0 is older than MindCluster 26.0.0: it does not know this chip and asks for /dev/devmm_svm, which such a node lacks"
TABLE = "/etc/hccl_rootinfo.json has version 1.0 (of A2), needed is 2.0: work on several cards fails with EI0014, one card is not affected; "
TABLE += "remove or replace the file"


def driver(name, state="ok"):
    return DRIVER_ROWS[name].replace(" ok ", " %s " % state).replace(" not-declared ", " %s " % state)


# name: (the part, its rows, what the reasons or details of the first row say)
CASES = {
    "NVIDIA with MIG on": (
        lambda: nine.nvidia(1, [ON], PROFILES), [driver("nvidia"), *PARTITIONED], "partition subtree readable, 3 live instances; 1 profiles on offer",
    ),
    "NVIDIA with MIG on, no profile": (lambda: nine.nvidia(1, [EMPTY], "No MIG-enabled devices found.\n"), [driver("nvidia", "not-declared")], "MIG is on"),
    "NVIDIA with MIG on, instances and no profile": (
        lambda: nine.nvidia(1, [ON], "No MIG-enabled devices found.\n"), [driver("nvidia", "unavailable"), *PARTITIONED], "3 live instances, yet no profile",
    ),
    "NVIDIA whose profiles are refused": (
        lambda: nine.nvidia(1, [EMPTY], {"rc": 3, "stderr": "Insufficient Permissions"}), [driver("nvidia", "unavailable"), *UNKNOWN_PARTITIONS],
        "profiles: nvidia-smi mig -lgip: exit 3 (Insufficient Permissions)",
    ),
    "NVIDIA whose instances are not told": (
        lambda: nine.nvidia(1, [{"mig": "Enabled", "mig_devices": "N/A"}], PROFILES), [driver("nvidia", "unavailable"), *PARTITIONED],
        "live instances: mig_devices: N/A",
    ),
    "NVIDIA whose instances are not told, no profile": (
        lambda: nine.nvidia(1, [{"mig": "Enabled", "mig_devices": "N/A"}], "No MIG-enabled devices found.\n"),
        [driver("nvidia", "unavailable"), *UNKNOWN_PARTITIONS], "live instances: mig_devices: N/A",
    ),
    "T-Head whose instances are not told": (
        lambda: nine.thead(1, PROFILES, **{"-q": THEAD_ON, "-L": {"rc": 9, "stderr": "denied"}, "": {"rc": 9, "stderr": "denied"}}),
        [driver("thead", "unavailable"), *PARTITIONED], "live instances: neither ppu-smi -L nor its table told the MIG devices",
    ),
    "NVIDIA without a UUID": (lambda: nine.nvidia(1, [{"uuid": "N/A"}]), [driver("nvidia", "unavailable"), *REFUSED], NO_ID),
    "NVIDIA without a memory size": (lambda: nine.nvidia(1, [{"memory": "N/A"}]), [driver("nvidia", "not-declared"), *REFUSED], "MIG is off"),
    "AMD without KFD": (lambda: nine.lose(nine.amd(1), nine.KFD), [driver("amd", "unavailable"), *REFUSED], "KFD"),
    "AMD whose geometry does not fit": (lambda: nine.amd(1, {"num_xcc": 0}), [driver("amd", "unavailable"), *REFUSED], "gfx942 reports no XCC count"),
    "AMD RDNA": (
        lambda: nine.amd(1, {"simd_count": 120, "simd_per_cu": 2, "array_count": 6, "simd_arrays_per_engine": 2, "gfx_target_version": 110001}),
        [driver("amd"), *SLICED, *MANAGED], "gfx1101 reports 60 compute units in allocation atoms of 6, so the smallest share it can serve is 9 %",
    ),
    "AMD without its render node": (lambda: nine.lose(nine.amd(1), "/dev/dri/renderD128"), [driver("amd"), *REFUSED], "gfx942 reports 304 compute units"),
    "Ascend with sharing on": (lambda: nine.ascend(1, share="true"), [driver("ascend"), *SLICED, *MANAGED], "enabled"),
    "Ascend without sharing": (
        lambda: nine.ascend(1, **{"info -t device-share -i 0": "This device does not support querying device-share.\n"}),
        [driver("ascend", "not-declared"), *SLICED, *MANAGED], "This device does not support querying device-share.",
    ),
    "Ascend whose driver refuses": (
        lambda: nine.ascend(1, **{"info -t device-share -i 0": {"rc": 255, "stdout": "dcmi module initialize failed. ret is -8005\n"}}),
        [driver("ascend", "unavailable"), *SLICED, *MANAGED], "dcmi module initialize failed. ret is -8005",
    ),
    "Ascend 950": (nine.ascend_950, [NO_SWITCH, *(row % "ok" for row in A5), *SLICED, *MANAGED], "this generation (DCMI V2) has no such flag"),
    "Ascend 950 of an old runtime and rank table": (
        lambda: nine.ascend_950("v7.3.0", '{"version": "1.0"}'), [NO_SWITCH, *(row % "unavailable" for row in A5), *SLICED, *MANAGED], "this generation",
    ),
    "Cambricon with sMLU on": (lambda: nine.cambricon(1, 1), [driver("cambricon"), *SLICED, *MANAGED], "enabled"),
    "Cambricon without its library": (
        lambda: nine.cambricon(1, {"missing": "no libcndev.so"}), [driver("cambricon", "unavailable"), *SLICED, *MANAGED], "cndev: absent (no libcndev.so)",
    ),
    "Cambricon whose library crashes": (
        lambda: nine.cambricon(1, {"signal": "SIGSEGV"}), [driver("cambricon", "unavailable"), *SLICED, *MANAGED], "cndev: signaled (SIGSEGV)",
    ),
    "Hygon without KFD": (lambda: nine.lose(nine.hygon(1), nine.KFD), REFUSED, "no grant: KFD"),
    "Hygon without /dev/mkfd": (lambda: nine.lose(nine.hygon(1), "/dev/mkfd"), REFUSED, "no grant: not on the machine: /dev/mkfd"),
    "Iluvatar without a memory size": (lambda: nine.corex(1, [{"total": "N/A"}]), REFUSED, "no grant: the memory of the card is not known: ixsmi"),
    "Iluvatar without a UUID": (lambda: nine.corex(1, [{"uuid": "N/A"}]), REFUSED, "no grant: " + NO_ID),
    "MetaX with two sGPUs": (
        lambda: nine.metax(1, {"dir": ["sgpu0", "sgpu1", "num"]}), [driver("metax"), *SLICED, *MANAGED],
        "registry of sGPUs readable, 2 exist already: sgpu0, sgpu1",
    ),
    "MetaX whose registry is closed": (
        lambda: nine.metax(1, {"error": "EACCES"}), [driver("metax", "unavailable"), *SLICED, *MANAGED], "/0000:11:00.0/sgpu: denied (EACCES)",
    ),
    "Moore Threads without a UUID": (lambda: nine.mthreads(1, **{"GPU UUID": "N/A"}), REFUSED, "no grant: " + NO_ID),
    "T-Head without its node": (lambda: nine.lose(nine.thead(1), "/dev/alixpu_ppu0"), [driver("thead", "not-declared"), *REFUSED], "MIG is off"),
    "T-Head whose profiles are refused": (
        lambda: nine.thead(1, {"rc": 2, "stderr": "unknown"}, **{"-q": THEAD_ON, "-L": THEAD_LISTED}), [driver("thead", "unavailable"), *UNKNOWN_PARTITIONS],
        "profiles: ppu-smi mig -lgip: exit 2 (unknown)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_failure_case(case):
    make, wanted, first = CASES[case]
    part = make()
    sections = nine.read(nine.recording(part))
    assert demo.misfits(sections) == []
    checks = sections["allocation." + part.manufacturer]["checks"]
    assert rows(checks, labels=False) == wanted
    assert first in (checks[0]["reason"] or checks[0]["detail"])
    assert all((row["state"] == "ok") == (row["reason"] == "") for row in checks)
    group = next(g for g in preflight_document.document(sections)["accelerators"] if g["manufacturer"] == part.manufacturer)
    assert rows(group["checks"], labels=False) == wanted
    told = preflight_document.failures(preflight_document.document(sections))
    assert len(told) == len([row for row in checks if row["state"] == "unavailable"])
    # a row is not a verdict, unless the work here uses its mode
    unused, used = (
        demo.Judged(part.manufacturer, sections, policy) for policy in ({}, {"accelerator_modes": ["sliced", "partitioned", "visibility", "exclusive"]})
    )
    assert [f for f in unused.told() if f[0].startswith("row-") and f[1] == "fail"] == []
    assert (used.verdict == "rejected") == bool(told), used.told()


def test_the_rows_of_an_old_runtime_and_rank_table():
    checks = nine.read(nine.recording(nine.ascend_950("v7.3.0", '{"version": "1.0"}')))["allocation.ascend"]["checks"]
    assert {row["capability"]: row["reason"] for row in checks if row["state"] == "unavailable"} == {"ascend-docker-runtime": OLD, "hccl-ranktable": TABLE}


# -- all of them on one node ----------------------------------------------------------------------------------------


def sixteen():
    """Two of them broken: a Cambricon card in a problem, an NVIDIA card whose rows could not be remapped."""
    one, two = (cambricon_samples.info([n], ("Good", "Running") if n == 0 else ("In Problem", "Running")) for n in range(2))
    bad = one + two.partition("\n")[2]
    return nine.recording(*nine.all_nine(cambricon=nine.cambricon(2, info=bad), nvidia=nine.nvidia(2, [{}, {"failed": "Yes"}])))


BROKEN = [("device-health", "cambricon:1"), ("device-health", "nvidia:1"), ("row-remap-failed", "nvidia:1")]


def holds_for_sixteen(sections):
    document = preflight_document.document(sections)
    assert sum(group["detection"]["accelerators"] for group in document["accelerators"]) == 16
    assert [group["manufacturer"] for group in document["accelerators"]] == sorted(nine.PARTS)
    for group in document["accelerators"]:
        name = group["manufacturer"]
        assert (group["detection"]["state"], group["detection"]["detail"]) == ("ok", DETAILS[name])
        assert rows(group["checks"]) == expected(name), name
    assert preflight_document.failures(document) == []
    return document


def test_sixteen_cards_of_nine_manufacturers():
    sections = nine.read(sixteen())
    assert demo.misfits(sections) == []
    holds_for_sixteen(sections)
    judged = demo.Judged("nine", sections, {})
    assert [(told[0], told[3]) for told in judged.told() if told[1] == "fail"] == BROKEN
    assert judged.verdict == "rejected"


def test_sixteen_cards_in_one_run(tmp_path):
    """Through the playbooks: read, judged, and the document from the files of the run; a second node has nothing."""
    place = tmp_path / "recordings"
    place.mkdir()
    plays.write_inventory(place / "nine.json", sixteen())
    plays.write_inventory(place / "none.json", nine.recording(node="none"))
    run = plays.play("replay", run_root=tmp_path / "runs", variables={"recordings": str(place), "accelerator_exit_rule": "allocation"})
    assert run.code == 0, run.output  # two nodes are rejected, and nothing is unavailable
    assert run.verdicts() == {"nine": "rejected", "none": "rejected"}
    assert sorted((node, rule, subject) for node, rule, subject in run.findings() if (rule, subject) in BROKEN) == [("nine", *told) for told in BROKEN]
    made = holds_for_sixteen(run.sections("nine"))
    written = plays.play("preflight_document", run_root=tmp_path / "runs", variables={"accelerator_document_directory": str(tmp_path / "documents")})
    assert written.code == 0, written.output
    text = (tmp_path / "documents" / "nine.yml").read_text(encoding="utf-8")
    assert text == preflight_document.dump(made)
    none = yaml.load((tmp_path / "documents" / "none.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    assert [group["note"] for group in none["accelerators"]] == [NOTES["none"]] * 9
