# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What real NVIDIA tools printed, read through recordings. Each file of the index has an entry here: checked, checked elsewhere, or not read and why."""

from __future__ import annotations

import csv
from pathlib import Path

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia, nvidia_links, nvidia_smi
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown
from nvidia_text_captures import CHECKS as TEXT_CHECKS
from nvidia_text_captures import clean, found

# By the beginning of the file's name; the longest that fits counts. These start work on the cards: they are tests, not questions to a node.
NOT_READ = {
    "dcgmi-diag-": "dcgmi diag: a test that runs for minutes; its result is no passive fact",
    "nvbandwidth-": "nvbandwidth: a measurement",
}
# What is asserted of them elsewhere. The reader of the section accelerators asks for the output of another command.
ELSEWHERE = {
    "conf-compute-": "test_captures_nvidia_tools.py",
    "dcgmi-discovery-": "test_captures_nvidia_tools.py",
    "dcgmi-nvlink-": "test_captures_nvidia_tools.py",
    "dcgmi-topo-": "test_captures_nvidia_tools.py",
    "dcgmi-v-": "test_captures_nvidia_tools.py",
    "fabricmanager-": "test_captures_nvidia_tools.py",
    "mig-lgi-": "test_captures_nvidia_tools.py",
    "pmon-": "test_captures_nvidia_tools.py",
    "query-": "test_captures_nvidia_tools.py",
    "topo-": "test_captures_paths.py",
}
# Several files of one kind are named in full, so that a new one of the kind is noticed.
OTHER_FILES = [
    "conf-compute-f-on.txt",
    "dcgmi-diag-json-3.1.0-nulls-and-prefix.txt",
    "dcgmi-diag-json-per-gpu-skip-fail-3.x.json",
    "dcgmi-diag-r1-fail-2.x.txt",
    "dcgmi-diag-r1-json-fail-2.x.json",
    "dcgmi-diag-r1-json-gb10-4.2.3.json",
    "dcgmi-diag-r2-memory-fail-thermal.txt",
    "dcgmi-discovery-l-1gpu.txt",
    "dcgmi-discovery-l-8xh800.txt",
    "dcgmi-nvlink-e-json-crc12.json",
    "dcgmi-nvlink-e-json-h800.json",
    "dcgmi-nvlink-e-text-h800.txt",
    "dcgmi-topo-g0-json.txt",
    "dcgmi-v-3.1.8.txt",
    "fabricmanager-journal-ok-eks-h100.txt",
    "fabricmanager-journal-version-mismatch-595-590.txt",
    "fabricmanager-log-nvls-error.txt",
    "fabricmanager-status-active-nonfatal-22013-590.txt",
    "mig-lgi-a100-3x2g.txt",
    "mig-lgi-a100-7x1g.txt",
    "nvbandwidth-gh200-v0.6.txt",
    "pmon-8gpu-sm99-hang-590.txt",
    "query-compute-apps-h200-590.csv",
    "query-gpu-h200-590-all-fields.csv",
    "query-requires-reset-mixed.csv",
    "topo-m-2gpu-nv2.txt",
    "topo-m-2gpu-phb.txt",
    "topo-m-8xa100-nv12-narrow.txt",
    "topo-m-8xh100-mlx5-columns.txt",
    "topo-m-8xh100-nv18.txt",
    "topo-m-a800-4nic.txt",
    "topo-m-h800-4nic-clipped.txt",
    "topo-m-header-wrapped-after-gpu0.txt",
    "topo-p2p-r-8gpu-ok.txt",
]


def by_xml(text, rc=0, count=0, **more):
    return nvidia.collect(samples.machine(samples.xml(text, rc=rc), count=count, **more))


def b200(text):
    cards = found(by_xml(text), 8, "NVIDIA B200 x8", "580.105.08")
    for card in cards:
        clean(card)
        assert card["memory_mib"] == 183359 and card["extra"]["memory_reserved_mib"] == 728 and card["persistence"] is False
        assert card["pcie"]["generation_current"] == 5 and card["pcie"]["width_current"] == card["pcie"]["width_max"] == 16
        assert (card["fabric"]["state"], card["fabric"]["status"]) == ("completed", "success")
        assert card["partition"]["enabled"] is False and card["extra"]["virtualization"] == "pass_through"
        assert 37 <= card["temperature_c"]["core"] <= 53 and card["health"]["state"] == "ok"
    assert len({c["identity"]["serial"]["value"] for c in cards}) == 8
    assert {c["identity"]["serial"]["quality"] for c in cards} == {"good"}


def h100(text):
    for card in found(by_xml(text), 8, "NVIDIA H100 80GB HBM3 x8", "580.105.08"):
        clean(card)
        assert card["memory_mib"] == 81559 and card["extra"]["memory_reserved_mib"] == 480
        assert card["pcie"]["generation_current"] == 5 and card["pcie"]["width_current"] == 16
        assert card["fabric"]["state"] == "completed" and card["partition"]["enabled"] is False
        assert 29 <= card["temperature_c"]["core"] <= 32 and card["health"]["state"] == "ok"
        assert card["row_remap"]["banks"]["max"] + card["row_remap"]["banks"]["high"] == 2560 and card["row_remap"]["banks"]["none"] == 0
        assert card["clocks_mhz"]["core_set"] == card["clocks_mhz"]["core_default"] == card["clocks_mhz"]["core_max"] == 1980
        assert card["throttle"]["seconds"]["hw_power_brake_slowdown"] == 0 and card["extra"]["pci_device"] == "233010DE"
        assert is_not_applicable(card["fabric"]["health"]) and card["extra"]["confidential_memory_mib"] == 0


def gb300(text):
    cards = found(by_xml(text), 4, "NVIDIA GB300 x4", "580.173.02")
    for card in cards:
        clean(card)
        assert card["memory_mib"] == 284208 and card["pcie"]["generation_current"] == 6 and card["pcie"]["width_current"] == 16
        assert card["extra"]["virtualization"] == "none" and (card["fabric"]["state"], card["fabric"]["status"]) == ("completed", "success")
        assert is_known(card["fabric"]["cluster_uuid"]) and card["fabric"]["clique_id"] == 32766 and card["health"]["state"] == "ok"
        assert card["fabric"]["health"]["summary"] == "healthy" and card["fabric"]["health"]["bandwidth"] == "full"
        assert card["fabric"]["health"]["route_unhealthy"] is False and card["row_remap"]["banks"]["max"] == 5952
        assert (card["power_w"]["limit_min"], card["power_w"]["limit_max"]) == (200, 1400) and card["firmware"]["inforom_ecc"] == "7.16"
    assert [c["identity"]["pci"]["value"][:4] for c in cards] == ["0008", "0009", "0018", "0019"]
    serials = [c["identity"]["serial"]["value"] for c in cards]
    assert serials[0] == serials[1] != serials[2] == serials[3] and {c["identity"]["serial"]["quality"] for c in cards} == {"duplicate"}


def gb200_remap_failure(text):
    first, second = found(by_xml(text), 2, "NVIDIA GB200 x2", "580.65.06")
    assert first["memory_mib"] == 196608 and first["identity"]["pci"]["value"] == "0000:0a:00.0"
    assert first["ecc"]["uncorrected_volatile"] == 5 and first["ecc"]["uncorrected_aggregate"] == 8
    assert first["row_remap"]["uncorrected"] == 1 and first["row_remap"]["pending"] is False and first["row_remap"]["failed"] is True
    assert first["health"] == {"state": "failed", "detail": "row remapping failed"}
    clean(second)
    assert second["retired_pages"] == {"corrected": 0, "uncorrected": 0, "pending": False}


def gb200_lost(text):
    first, second = found(by_xml(text), 2, "NVIDIA GB200 x2", "580.65.06")
    assert first["memory_mib"] == 196608 and first["ecc"]["uncorrected_volatile"] == 5 and first["ecc"]["uncorrected_aggregate"] == 8
    assert first["row_remap"]["uncorrected"] == 1 and first["row_remap"]["failed"] is True
    assert second["health"] == {"state": "lost", "detail": "GPU is lost"}
    assert is_unknown(second["memory_mib"]) and is_unknown(second["temperature_c"]["core"]) and is_unknown(second["fabric"]["state"])
    assert all(is_unknown(value) for value in second["row_remap"].values()) and is_unknown(second["ecc"]["uncorrected_volatile"])


def a100_mig(text):
    section = by_xml(text)
    (card,) = found(section, 1, "NVIDIA A100-SXM4-40GB x1", "510.47.03")
    assert (card["memory_mib"], card["memory_used_mib"], card["extra"]["memory_reserved_mib"]) == (40960, 38, 605)
    assert card["partition"]["enabled"] is True and card["ecc"]["mode"] == "enabled" and card["ecc"]["uncorrected_aggregate"] == 0
    assert all(not is_known(value) for value in card["row_remap"].values())
    parts = [d for d in section["devices"] if d["kind"] == "partition"]
    assert [p["memory_mib"] for p in parts] == [19968, 19968] and {p["parent"] for p in parts} == {"nvidia:0"}


def a10g(text):
    (card,) = found(by_xml(text), 1, "NVIDIA A10G x1", "515.105.01")
    clean(card)
    assert (card["memory_mib"], card["memory_used_mib"], card["processes"]) == (23028, 22, 1)
    assert (card["pcie"]["generation_current"], card["pcie"]["generation_max"]) == (1, 4) and card["extra"]["performance_state"] == "P8"
    assert (card["pcie"]["width_current"], card["pcie"]["width_max"]) == (8, 16) and card["extra"]["virtualization"] == "pass_through"


def gtx1070ti(text):
    section = by_xml(text)
    (card,) = found(section, 1, "GeForce GTX 1070 Ti x1", None)
    assert is_unknown(section["detection"]["host"]["accelerators"]) and card["memory_mib"] == 4096
    assert is_unknown(card["ecc"]["uncorrected_volatile"]) and not is_known(card["power_w"]["draw"])


def quadro_p2000(text):
    (card,) = found(by_xml(text), 1, "Quadro P2000 x1", "525.125.06")
    assert card["memory_mib"] == 5120 and card["persistence"] is True and card["extra"]["performance_state"] == "P8"
    assert (card["pcie"]["width_current"], card["pcie"]["width_max"]) == (8, 16)
    assert (card["pcie"]["generation_current"], card["pcie"]["generation_max"]) == (1, 3)
    assert all(is_not_applicable(value) for value in (*card["ecc"].values(), *card["retired_pages"].values()))


def windows(text):
    (card,) = found(by_xml(text), 1, "NVIDIA GeForce RTX 2080 x1", "516.59")
    assert card["memory_mib"] == 8192 and is_not_applicable(card["persistence"]) and card["processes"] == 26
    assert (card["pcie"]["width_current"], card["pcie"]["width_max"]) == (8, 16)


def rtx3090(text):
    (card,) = found(by_xml(text), 1, "NVIDIA GeForce RTX 3090 x1", "525.147.05")
    assert (card["memory_mib"], card["memory_used_mib"], card["persistence"]) == (24576, 1, True)
    assert (card["pcie"]["generation_current"], card["pcie"]["generation_max"]) == (1, 4) and card["extra"]["virtualization"] == "pass_through"


def rtx4090(text):
    (card,) = found(by_xml(text), 1, "NVIDIA GeForce RTX 4090 x1", "535.86.05")
    assert (card["memory_mib"], card["memory_used_mib"]) == (24564, 2)
    assert card["ecc"]["mode"] == "disabled" and card["extra"]["ecc_pending"] is False
    assert card["row_remap"]["corrected"] == card["row_remap"]["uncorrected"] == 0 and card["row_remap"]["pending"] is card["row_remap"]["failed"] is False
    assert (card["pcie"]["generation_current"], card["pcie"]["generation_max"]) == (1, 3)
    assert card["power_w"] == {"draw": 26.84, "limit": 450.0, "limit_default": 450.0, "limit_min": 10.0, "limit_max": 600.0}


def rtxpro6000(text):
    (card,) = found(by_xml(text), 1, "NVIDIA RTX PRO 6000 Blackwell x1", None)
    assert card["temperature_c"]["core"] == 37 and card["temperature_c"]["margin_core"] == 56 and card["power_w"]["draw"] == 66.84
    assert is_unknown(card["memory_mib"])


def t4(text):
    (card,) = found(by_xml(text), 1, "Tesla T4 x1", "515.105.01")
    assert (card["memory_mib"], card["memory_used_mib"], card["processes"]) == (15360, 1032, 2)
    assert card["ecc"]["mode"] == "enabled" and card["ecc"]["uncorrected_volatile"] == card["ecc"]["uncorrected_aggregate"] == 0
    assert card["retired_pages"] == {"corrected": 0, "uncorrected": 0, "pending": False}
    assert all(is_not_applicable(value) for value in card["row_remap"].values())
    assert (card["pcie"]["width_current"], card["pcie"]["width_max"]) == (8, 16)
    assert card["pcie"]["generation_current"] == card["pcie"]["generation_max"] == 3


def cross_check(text, count):
    """The host block of a node whose NVML told of two cards."""
    answer = {"system": {}, "gpus": [{"name": "X"}, {"name": "X"}]}
    section = nvidia.collect(samples.machine(samples.run("-L", stdout=text), nvml={"answer": answer}))
    told = section["detection"]["host"]["accelerators"]
    assert told == count if count else is_unknown(told) and section["detection"]["host"]["reason"]
    assert section["detection"]["state"] == ("unavailable" if count > 2 else "ok")
    return nvidia_smi.parse_list(text)


def list_8x(text):
    cards = cross_check(text, 8)
    assert [c["index"] for c in cards] == list(range(8)) and {c["name"] for c in cards} == {"Quadro RTX 8000"} and len({c["uuid"] for c in cards}) == 8


def list_empty_uuid(text):
    cards = cross_check(text, 2)
    assert [bool(c["uuid"]) for c in cards] == [True, False]
    xml = samples.log(samples.gpu(0, name="NVIDIA A100-PCIE-40GB"), samples.gpu(1, name="NVIDIA A100-PCIE-40GB", uuid=cards[1]["uuid"]))
    assert by_xml(xml)["devices"][1]["identity"]["uuid"]["quality"] != "good"


def list_mig(*profiles):
    def check(text):
        assert len(cross_check(text, 1)) == 1
        parts = "".join(samples.MIG_DEVICE.format(index=i, instance=i + 2) for i in range(len(profiles)))
        xml = samples.xml(samples.log(samples.gpu(0, mig="Enabled", mig_devices=parts)))
        section = nvidia.collect(samples.machine(xml, samples.run("-L", stdout=text), count=1))
        assert section["detection"]["accelerators"] == 1
        devices = [d for d in section["devices"] if d["kind"] == "partition"]
        assert tuple(d["partition"]["profile"] for d in devices) == profiles
        assert len({d["identity"]["uuid"]["value"] for d in devices}) == len(profiles)

    return check


def list_malformed(text):
    assert cross_check(text, 0) == []


def links(text, name="NVIDIA A100-SXM4-80GB"):
    card = next(iter(nvidia_links.parse(text).values()))
    xml = samples.xml(samples.log(samples.gpu(0, name=name, uuid=card["uuid"])))
    return nvidia.collect(samples.machine(xml, samples.run("nvlink", "-s", stdout=text), count=1))["devices"][0]["links"]


def all_up(count):
    def check(text):
        told = links(text)
        assert (told["total"], told["up"], told["down"]) == (count, count, []) and told["speed_gb_s"] == (26.562 if count == 18 else 25)

    return check


def link_errors(text):
    """Of an H100 whose links 0, 1 and 17 were printed: no error was counted, yet not on all links."""
    told = nvidia_links.parse_errors(text)[0]
    assert told["errors"] == {"replay_errors": 0, "recovery_errors": 0, "crc_errors": 0} and told["whole"] is False
    xml = samples.xml(samples.log(samples.gpu(0, uuid=told["uuid"])))
    states = samples.run("nvlink", "-s", stdout=samples.nvlink(1).replace(samples.uuid(0), told["uuid"]))
    card = nvidia.collect(samples.machine(xml, states, samples.run("nvlink", "-e", stdout=text), count=1))["devices"][0]
    assert is_unknown(card["links"]["errors"]) and card["links"]["up"] == 18


def all_inactive(text):
    told = links(text, "NVIDIA GeForce RTX 2080 SUPER")
    assert told["up"] == 0 and is_unknown(told["total"]) and is_unknown(told["down"])


def no_links(text):
    assert is_not_applicable(links(text))


def no_driver(text):
    section = by_xml(text, rc=9, count=2)
    assert section["detection"]["state"] == "unavailable" and "not loaded" in section["detection"]["reason"] and "PCI shows 2" in section["detection"]["reason"]
    assert is_unknown(section["detection"]["accelerators"]) and section["devices"] == []


def mismatch(text):
    section = by_xml(text, rc=18, count=2)
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])
    assert "reload the module or reboot" in section["detection"]["reason"] and section["driver"]["library_version"] == "580.173"


def unknown_error(text):
    section = by_xml(text, rc=255, count=2)
    assert section["detection"]["state"] == "unavailable" and "Unknown Error" in section["detection"]["reason"] and section["devices"] == []


def handle_then_none(text):
    section = by_xml(text, rc=6, count=1)
    (card,) = section["devices"]
    assert card["health"]["state"] == "lost" and card["identity"]["pci"]["value"] == "0000:01:00.0" and card["id"] == "nvidia:0"
    assert section["detection"]["state"] == "unavailable" and section["detection"]["accelerators"] == 1


def excluded(text):
    extra = {"/proc/driver/nvidia/gpus": {"dir": ["0000:04:00.0"]}, "/proc/driver/nvidia/gpus/0000:04:00.0/information": text}
    section = by_xml("No devices were found\n", rc=6, count=1, extra=extra)
    assert section["detection"]["state"] == "unavailable" and "excluded by the driver: 0000:04:00.0" in section["detection"]["reason"]


def open_module(text):
    driver = by_xml(samples.log(samples.gpu(0)), count=1, extra={"/proc/driver/nvidia/version": text})["driver"]
    assert driver["module_version"] == "555.42.06" and driver["flavor"] == "open"


def module_parameters(text):
    def links(said):
        return by_xml(samples.log(samples.gpu(0)), count=1, extra={"/proc/driver/nvidia/params": said})["driver"]["nvlink"]

    assert links(text) == "on" and links(text.replace("NvLinkDisable: 0", "NvLinkDisable: 1")) == "off: NvLinkDisable=1"
    assert is_unknown(links(text.replace("NvLinkDisable", "NvLinkEnable"))) and is_unknown(links({"error": "EACCES"}))


CHECKS = {
    **TEXT_CHECKS,
    "L-8xquadro-rtx8000.txt": list_8x,
    "L-empty-uuid.txt": list_empty_uuid,
    "L-h100-mig4-590.txt": list_mig("3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"),
    "L-h200-mig5-590.txt": list_mig("1c.3g.71gb", "2c.3g.71gb", "2g.35gb", "1g.18gb", "1g.18gb"),
    "L-malformed-lines.txt": list_malformed,
    "handle-unknown-error-then-no-devices.txt": handle_then_none,
    "nvidia-smi-cannot-communicate.txt": no_driver,
    "nvlink-e-h100-elided.txt": link_errors,
    "nvlink-s-a100-2space-indent.txt": all_up(12),
    "nvlink-s-a100-all-inactive.txt": all_inactive,
    "nvlink-s-a100-gpu7-12links.txt": all_up(12),
    "nvlink-s-all-inactive-610.txt": all_inactive,
    "nvlink-s-h100-18links-590.txt": all_up(18),
    "nvlink-s-l40s-unsupported-595.txt": no_links,
    "nvlink-s-mig-unsupported-590.txt": no_links,
    "nvml-driver-library-mismatch-580.txt": mismatch,
    "nvml-unknown-error-rc255.txt": unknown_error,
    "proc-driver-nvidia-gpu-information-vbios-unknown.txt": excluded,
    "proc-driver-nvidia-params-h100-580-open.txt": module_parameters,
    "proc-driver-nvidia-version-open-555.txt": open_module,
    "qx-2xgb200-ecc-uncorrectable-remap-failure-mock.xml": gb200_remap_failure,
    "qx-2xgb200-gpu1-lost-mock.xml": gb200_lost,
    "qx-4xgb300-580.xml": gb300,
    "qx-8xb200-580.xml": b200,
    "qx-8xh100-580.xml": h100,
    "qx-a100-40g-mig2-510.xml": a100_mig,
    "qx-a10g-515.xml": a10g,
    "qx-gtx1070ti-trimmed.xml": gtx1070ti,
    "qx-quadro-p2000-x8-525.xml": quadro_p2000,
    "qx-rtx2080-windows-516.xml": windows,
    "qx-rtx3090-vm-525.xml": rtx3090,
    "qx-rtx4090-535.xml": rtx4090,
    "qx-rtxpro6000-580-fragment.xml": rtxpro6000,
    "qx-t4-515.xml": t4,
}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_capture(captures, name):
    CHECKS[name]((captures / "nvidia-smi" / name).read_text(errors="replace"))


def test_every_capture_has_an_entry(captures):
    with (captures / "INDEX-nvidia-host.tsv").open(newline="") as index:
        listed = {
            row["path"].partition("/")[2] for row in csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE) if row["path"].startswith("nvidia-smi/")
        }
    lying = {path.name for path in (captures / "nvidia-smi").iterdir()}
    assert listed | lying == {*CHECKS, *OTHER_FILES}
    assert not set(CHECKS) & set(OTHER_FILES)
    for name in OTHER_FILES:
        told = [kind for kind in (*NOT_READ, *ELSEWHERE) if name.startswith(kind)]
        assert len(told) == 1, name
        if told[0] in ELSEWHERE:
            assert name in (Path(__file__).parent / ELSEWHERE[told[0]]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OTHER_FILES)
def test_a_capture_of_another_command_is_not_taken_for_an_answer(captures, name):
    """The output of another command in the place of ours: no card, no exception, never a healthy node."""
    text = (captures / "nvidia-smi" / name).read_text(errors="replace")
    commands = [samples.run(*words.split(), stdout=text) for words in ("-q -x", "-q", "", "-L")]
    section = nvidia.collect(samples.machine(*commands, count=1))
    assert section["detection"]["state"] == "unavailable"
    assert all(is_unknown(d["health"]) or d["health"]["state"] == "lost" for d in section["devices"])
