# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of NVIDIA's other tools: read as on a node, or turned into the form that is read there; our rules conclude what the tool told."""

from __future__ import annotations

import calendar
import csv
import json
import re
import time

import nvidia_samples as samples
import pytest
import synthetic
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import fabric_manager_log, nvidia_daemons, topology
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import RULES
from health_nodes import ask


@pytest.fixture
def text(captures):
    return lambda name: (captures / "nvidia-smi" / name).read_text(encoding="utf-8", errors="replace")


def host(*commands, files=None):
    recorded = {"schema": "fleetproof.accelerator/recording/v1", "recorded": "2026-11-29T17:00:00Z", "files": files or {}, "commands": list(commands)}
    return ReplayHost(recorded)


def read(*cards, commands=(), **log):
    return nvidia.collect(samples.machine(samples.xml(samples.log(*cards, **log)), *commands, count=len(cards)))


def outcomes(rule, section, **variables):
    """{subject: (outcome, level)} of a rule over a node with this section."""
    sections = dict(synthetic.healthy(len(section["devices"])), **{"accelerators.nvidia": section})
    own = RULES[rule].level
    return {subject: (outcome, (level or own) if outcome == "found" else None) for subject, outcome, level in ask(rule, sections, **variables)}


def rows(told):
    """Rows of --query output by the names of its columns, without units."""
    heads, *lines = list(csv.reader(told.splitlines(), skipinitialspace=True))
    return [{head.partition(" [")[0]: cell for head, cell in zip(heads, line, strict=True)} for line in lines if line]


# -- nvidia-smi --query-* -------------------------------------------------------------------------------------------


def card_of(row):
    """A card of -q -x with what --query-gpu told of it."""
    unitless = {"slot": "N/A", "module": 1}
    xml = samples.gpu(
        0, name=row["name"], uuid=row["uuid"], serial=row["serial"], bus=row["pci.bus_id"], memory=row["memory.total"], used=row["memory.used"],
        ecc=row["ecc.mode.current"], ecc_pending=row["ecc.mode.pending"], persistence=row["persistence_mode"], recovery=row["gpu_recovery_action"],
        generation=row["pcie.link.gen.current"], width=row["pcie.link.width.current"] + "x", device=row["pci.device_id"][2:], compute=row["compute_mode"],
        temperature=row["temperature.gpu"], cap=row["power.limit"], power=row["power.draw.average"].split()[0], thermal="Not Active", **unitless,
    )  # fmt: skip
    return xml.replace("<dram_correctable>4<", "<dram_correctable>%s<" % row["ecc.errors.corrected.volatile.dram"])


def test_all_fields_of_an_idle_h200(text):
    (row,) = rows(text("query-gpu-h200-590-all-fields.csv"))
    assert row["memory.total"] == "143771 MiB" and row["driver_version"] == "590.48.01" and list(row)[-1] == "hostname"
    section = read(card_of(row), driver=row["driver_version"])
    (card,) = section["devices"]
    assert (card["name"], card["memory_mib"], card["ecc"]["mode"], section["driver"]["version"]) == ("NVIDIA H200", 143771, "enabled", "590.48.01")
    assert card["ecc"]["corrected_volatile"] == int(row["ecc.errors.corrected.volatile.dram"]) and card["recovery_action"] == "none"
    for rule in ("product-memory", "ecc-enabled", "recovery-action", "ecc-corrected", "pcie-width", "pcie-generation", "compute-mode"):
        assert outcomes(rule, section)["nvidia:0"] == ("passed", None), rule


def test_a_card_that_requires_a_reset_must_be_reset(text):
    (row,) = rows(text("query-requires-reset-mixed.csv"))
    words = row["temperature.gpu"].strip("[]")
    assert words == row["utilization.gpu"].strip("[]") == "GPU requires reset"
    broken = samples.gpu(0, used=row["memory.used"]).replace("31 C<", words + "<").replace("<gpu_util>0 %", "<gpu_util>" + words)
    section = read(broken, samples.gpu(1))
    assert is_unknown(section["devices"][0]["utilization_percent"]) and section["devices"][0]["memory_used_mib"] == 0
    told = outcomes("device-health", section)
    assert told["nvidia:0"] == ("found", "fail") and told["nvidia:1"] == ("passed", None)


def test_processes_of_a_busy_card(text):
    found = rows(text("query-compute-apps-h200-590.csv"))
    assert [row["used_gpu_memory"] for row in found] == ["2566 MiB", "1542 MiB", "28234 MiB"]
    one = re.search(r"(?s)<process_info>.*?</process_info>", samples.gpu(0)).group()
    entries = "".join(one.replace("4242", row["pid"]).replace("/usr/bin/python3 -m serve", row["process_name"]) for row in found)
    section = read(samples.gpu(0, name=found[0]["gpu_name"], used="32500 MiB").replace(one, entries))
    assert section["devices"][0]["processes"] == 3 and section["devices"][0]["extra"]["process_names"] == ["gpu_burn", "memhog", "memhog"]
    assert outcomes("foreign-processes", section)["nvidia:0"][0] == "found" and outcomes("memory-in-use", section)["nvidia:0"][0] == "passed"


# -- pmon, mig, conf-compute ----------------------------------------------------------------------------------------


def test_a_collective_that_hangs(text):
    """Every sample says the same: each card spins, and none touches its memory."""
    samples_of = {}
    for line in text("pmon-8gpu-sm99-hang-590.txt").splitlines():
        words = line.split()
        if words and words[0].isdigit():
            samples_of.setdefault(int(words[0]), []).append((int(words[3]), int(words[4])))
    assert len(samples_of) == 8 and {len(told) for told in samples_of.values()} == {3}
    for moment in range(3):
        cards = []
        for index, told in sorted(samples_of.items()):
            core, memory = told[moment]
            utilization = "<gpu_util>%d %%</gpu_util>\n            <memory_util>%d %%" % (core, memory)
            cards.append(samples.gpu(index).replace("<gpu_util>0 %</gpu_util>\n            <memory_util>1 %", utilization))
        assert list(outcomes("work-stuck", read(*cards)).values()) == [("found", "warn")]
    assert list(outcomes("work-stuck", read(samples.gpu(0), samples.gpu(1))).values()) == [("passed", None)]


@pytest.mark.parametrize(
    ("name", "profile", "places"),
    [
        ("mig-lgi-a100-7x1g.txt", "1g.5gb", {7: "0:1", 8: "1:1", 9: "2:1", 10: "3:1", 11: "4:1", 12: "5:1", 13: "6:1"}),
        ("mig-lgi-a100-3x2g.txt", "2g.10gb", {3: "4:2", 5: "0:2", 6: "2:2"}),
    ],
)
def test_gpu_instances(text, name, profile, places):
    def node(numbers):
        parts = "".join(samples.MIG_DEVICE.format(index=place, instance=number) for place, number in enumerate(numbers))
        card = samples.gpu(0, name="NVIDIA A100-SXM4-40GB", mig="Enabled", mig_devices=parts or "None")
        return read(card, commands=[samples.run("mig", "-lgi", stdout=text(name)), samples.run("-L", stdout=samples.listing(1))])

    section = node(places)
    told = section["devices"][0]["extra"]["gpu_instances"]
    assert {one["id"]: one["placement"] for one in told} == places and {one["profile"] for one in told} == {profile}
    assert outcomes("mig-instances-used", section)["nvidia:0"] == ("passed", None)
    assert outcomes("mig-instances-used", node(list(places)[1:]))["nvidia:0"] == ("found", "warn")


def test_confidential_computing_is_on(text):
    """Where the protected memory is not told the tool is asked; where it is told the rule goes by it."""
    feature = samples.run("conf-compute", "-f", stdout=text("conf-compute-f-on.txt"))
    for card in (samples.gpu(0, protected="N/A"), samples.gpu(0, protected="81079 MiB")):
        section = read(card, commands=[feature])
        assert outcomes("confidential-declared", section, accelerator_policy_confidential_declared_on=True)["nvidia:0"] == ("passed", None)
        assert outcomes("confidential-declared", section, accelerator_policy_confidential_declared_on=False)["nvidia:0"] == ("found", "warn")


# -- DCGM -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "count", "model"), [("dcgmi-discovery-l-1gpu.txt", 1, "Quadro RTX 6000"), ("dcgmi-discovery-l-8xh800.txt", 8, "NVIDIA H800")])
def test_devices_that_dcgm_discovers(text, name, count, model):
    """What NVML lists of them is what DCGM lists; that there is no switch is no failure by itself."""
    told = text(name)
    found = re.findall(r"Name: (\S.*?) +\|\n\|[ ]+\| PCI Bus ID: (\S+) +\|\n\|[ ]+\| Device UUID: (\S+)", told)
    assert len(found) == count and told.startswith("%d GPU" % count)
    section = read(*(samples.gpu(n, name=one, bus=bus, uuid=uuid) for n, (one, bus, uuid) in enumerate(found)))
    assert [card["name"] for card in section["devices"]] == [model] * count
    assert [card["identity"]["pci"]["value"] for card in section["devices"]] == [bus.lower()[4:] for _name, bus, _uuid in found]
    assert [card["identity"]["uuid"]["value"] for card in section["devices"]] == [uuid for _name, _bus, uuid in found]
    for rule in ("nvswitches", "fabric-manager"):
        assert {outcome for outcome, _level in outcomes(rule, section).values()} == {"not_applicable"}


def counted_json(told):
    document = json.loads(told)
    return {int(link.split()[1]): {key: int(one["value"]) for key, one in said["children"].items()} for link, said in document["body"].items()}


def counted_text(told):
    found = {}
    for link, name, count in re.findall(r"Link (\d+)|-> (.*?) +\| (\d+)", told):
        if link:
            found[int(link)] = {}
        else:
            found[max(found)][name] = int(count)
    return found


@pytest.mark.parametrize(
    ("name", "counted", "links", "expected"),
    [
        ("dcgmi-nvlink-e-json-crc12.json", counted_json, 2, ("found", "warn")),
        ("dcgmi-nvlink-e-json-h800.json", counted_json, 8, ("passed", None)),
        ("dcgmi-nvlink-e-text-h800.txt", counted_text, 8, ("passed", None)),
    ],
)
def test_errors_of_links(text, name, counted, links, expected):
    told = counted(text(name))
    assert sorted(told) == list(range(links)) and {len(errors) for errors in told.values()} == {4}
    words = {"Replay Error": "Replay", "Recovery Error": "Recovery", "CRC Data Error": "CRC"}
    errors = {(0, link, word): counts[key] for link, counts in told.items() for key, word in words.items()}
    commands = [
        samples.run("nvlink", "-s", stdout=samples.nvlink(1, links=links)),
        samples.run("nvlink", "-e", stdout=samples.nvlink_errors(1, links=links, counted=errors)),
    ]
    section = read(samples.gpu(0, name="NVIDIA H800"), commands=commands)
    assert section["devices"][0]["links"]["errors"]["crc_errors"] == sum(counts["CRC Data Error"] for counts in told.values())
    assert outcomes("link-errors", section)["nvidia:0"] == expected


def test_the_worst_path_that_dcgm_tells(text):
    """Cards of both processors are asked for: the path between them crosses the processors, and no NUMA node is near to all."""
    body = {key: said["value"] for key, said in json.loads(text("dcgmi-topo-g0-json.txt"))["body"].items()}
    first, last = map(int, body["CPU Core Affinity"].split(" - "))
    middle = (first + last) // 2
    cpus = ("%d-%d" % (first, middle), "%d-%d" % (middle + 1, last))
    word = {"Connected via a CPU-level link": "SYS"}[body["Worst Path"]]
    matrix = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t%s\t%s\t0\nGPU1\t%s\t X \t%s\t1\n" % (word, cpus[0], word, cpus[1])
    ((programs, arguments), *_others) = topology.QUESTIONS["nvidia"]
    told = topology.read(host({"argv": [programs[0], *arguments], "stdout": matrix}), "nvidia", {0: "nvidia:0", 1: "nvidia:1"}, [])
    assert told["levels"] == [["X", "SYS"], ["SYS", "X"]] and sorted(told["cpus"].values()) == sorted(cpus)
    assert (len(set(told["numa"].values())) == 1) is (body["NUMA Optimal"] == "True")


def test_dcgm_and_its_engine_are_of_one_version(text):
    told = nvidia_daemons.dcgm(host({"argv": nvidia_daemons.DCGM, "stdout": text("dcgmi-v-3.1.8.txt")}))
    assert told == {"client": "3.1.8", "engine": "3.1.8"}
    sections = synthetic.healthy(1)
    sections["services"]["dcgm"] = told
    assert ask("dcgm-versions", sections)[0][1] == "passed"
    sections["services"]["dcgm"] = dict(told, engine="3.1.7")
    assert ask("dcgm-versions", sections)[0][1] == "found"


# -- the fabric manager ---------------------------------------------------------------------------------------------


def judged(log, at):
    sections = synthetic.healthy(8)
    sections["services"].update(fabric_manager_log=log, timestamp=at)
    ((_subject, outcome, level),) = ask("fabric-manager-log", sections)
    return outcome, (level or "warn") if outcome == "found" else None


def journal(told, year):
    """`journalctl` in the layout that is asked for: the time in seconds."""

    def seconds(match):
        return "%d.000000 " % calendar.timegm(time.strptime("%d %s" % (year, match.group(1)), "%Y %b %d %H:%M:%S"))

    lines = [re.sub(r"^([A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d) ", seconds, line) for line in told.splitlines()]
    asked = {"argv": fabric_manager_log.JOURNAL, "stdout": "\n".join(lines) + "\n"}
    return fabric_manager_log.read(host(asked, files={fabric_manager_log.LOG: {"absent": True}}))


def test_errors_of_multicast_teams(text):
    told = text("fabricmanager-log-nvls-error.txt")
    written = calendar.timegm((2025, 9, 26, 19, 32, 46)) - 8 * 3600  # a node eight hours east
    files = {fabric_manager_log.LOG: {"type": "file", "size": len(told), "mtime": written}}
    log = fabric_manager_log.read(host({"argv": fabric_manager_log.TAIL, "stdout": told}, files=files))
    ((event),) = log["events"]
    assert (event["count"], event["first"], event["last"]) == (2, "2025-09-26T11:32:39Z", "2025-09-26T11:32:46Z")
    assert "multicast team setup" in event["message"] and is_unknown(log["started"])
    assert judged(log, "2025-09-26T12:00:00Z") == ("found", "warn")
    assert judged(log, "2025-12-26T12:00:00Z") == ("found", "info")


def test_a_start_that_went_well(text):
    log = journal(text("fabricmanager-journal-ok-eks-h100.txt"), 2026)
    assert log["started"] == "2026-05-01T13:53:48Z" and log["events"] == []
    assert judged(log, "2026-05-01T14:00:00Z") == ("passed", None)


def test_a_manager_of_another_version_than_the_module(text):
    log = journal(text("fabricmanager-journal-version-mismatch-595-590.txt"), 2026)
    assert any("595.71.05 don't match with driver version 590.48.01" in event["message"] for event in log["events"])
    assert judged(log, "2026-08-11T07:00:00Z") == ("found", "fail")


def test_an_error_that_the_manager_lived_through(text):
    told = text("fabricmanager-status-active-nonfatal-22013-590.txt")
    log = journal(told.partition("\n\n")[2], 2026)
    ((event),) = log["events"]
    assert log["started"] == "2026-03-03T18:38:51Z" and "non-fatal error 22013" in event["message"] and event["last"] == "2026-03-03T18:39:57Z"
    assert judged(log, "2026-03-03T19:43:00Z") == ("found", "info")
