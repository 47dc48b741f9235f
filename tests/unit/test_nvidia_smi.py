# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NVIDIA section from what nvidia-smi prints."""

from __future__ import annotations

import random

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.accelerators import GROUPS, VALUES
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why


def collect(*gpus, count=None, **more):
    commands = [samples.xml(samples.log(*gpus)), samples.run("nvlink", "-s", stdout=samples.nvlink(len(gpus)))]
    return nvidia.collect(samples.machine(*commands, count=len(gpus) if count is None else count, **more))


def known_links(device):
    return {key: device["links"][key] for key in ("kind", "total", "up", "down")}


def test_a_healthy_node():
    section = collect(samples.gpu(0, thermal="Not Active"), samples.gpu(1))
    assert section["detection"] == {
        "state": "ok",
        "depth": "declared",
        "accelerators": 2,
        "detail": "NVIDIA H100 80GB HBM3 x2",
        "reason": "",
        "host": {"command": "nvidia-smi -q -x", "accelerators": 2, "detail": "the devices were read with this tool itself", "reason": ""},
    }
    assert section["driver"]["version"] == section["driver"]["module_version"] == section["driver"]["library_version"] == "575.57.08"
    assert (section["driver"]["flavor"], section["driver"]["runtime"], section["driver"]["runtime_version"]) == ("open", "cuda", "12.9")
    assert [s["source"] for s in section["sources"]] == ["NVML", "nvidia-smi -q -x", "nvidia-smi nvlink -s", "nvidia-smi nvlink -e"]
    first, second = section["devices"]
    assert set(first) == {"id", "index", "kind", "parent", "name", "identity", "firmware", "device_nodes", "extra", "clocks_mhz", *GROUPS, *VALUES}
    assert (first["id"], first["kind"], first["parent"], first["name"]) == ("nvidia:0", "package", None, samples.H100)
    assert first["identity"]["pci"] == {"value": "0000:18:00.0", "quality": "good"}
    assert first["identity"]["uuid"]["quality"] == first["identity"]["serial"]["quality"] == "good"
    assert first["identity"]["slot"]["quality"] == "absent"
    assert (first["memory_mib"], first["memory_used_mib"], first["numa_node"], second["numa_node"]) == (81559, 2, 0, 1)
    assert first["device_nodes"] == ["/dev/nvidia0"]
    assert first["health"] == {"state": "ok", "detail": "recovery action: none"}
    assert first["temperature_c"]["margin_core"] == 56 and is_not_applicable(first["temperature_c"]["limit_core"])
    assert first["power_w"] == {"draw": 71.25, "limit": 700.0, "limit_default": 700.0, "limit_min": 200.0, "limit_max": 700.0}
    assert known_links(first) == {"kind": "nvlink", "total": 18, "up": 18, "down": []}
    assert first["links"]["speed_gb_s"] == 26.562 and is_unknown(first["links"]["errors"])
    assert first["ecc"]["uncorrected_volatile"] == 0 and first["ecc"]["uncorrected_aggregate"] == 2 and first["ecc"]["corrected_aggregate"] == 5
    banks = {"max": 2559, "high": 1, "partial": 0, "low": 0, "none": 0}
    assert first["row_remap"] == {"corrected": 1, "uncorrected": 0, "pending": False, "failed": False, "banks": banks}
    assert all(is_not_applicable(v) for v in first["retired_pages"].values())
    assert first["throttle"]["active"] == ["gpu_idle"] and second["throttle"]["active"] == ["gpu_idle", "hw_thermal_slowdown"]
    assert first["throttle"]["seconds"]["sw_power_cap"] == 4.2 and first["throttle"]["seconds"]["hw_thermal_slowdown"] == 0
    assert first["partition"]["enabled"] is False
    assert first["fabric"]["state"] == "completed" and first["fabric"]["clique_id"] == 0 and is_not_applicable(first["fabric"]["cluster_uuid"])
    assert first["processes"] == 1 and first["persistence"] is True and first["recovery_action"] == "none"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ({"rc": 9, "stdout": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Is it running?\n"}, "unavailable", "not loaded"),
        ({"rc": 18, "stdout": "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.1\n"}, "unavailable", "differ in version"),
        ({"rc": 4, "stdout": "Failed to initialize NVML: Insufficient Permissions\n"}, "unavailable", "Insufficient Permissions"),
        ({"rc": 255, "stdout": "Failed to initialize NVML: Unknown Error\n"}, "unavailable", "Unknown Error"),
        ({"rc": 12, "stdout": "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n"}, "unavailable", "not installed"),
        ({"rc": 127, "stderr": "sh: nvidia-smi\n"}, "unavailable", "exit 127"),
        ({"hang": True}, "unavailable", "timeout"),
        ({"missing": True}, "unavailable", "absent"),
        ({"denied": True}, "unavailable", "denied"),
        ({"signal": "SIGSEGV"}, "unavailable", "SIGSEGV"),
        ({"rc": 0, "stdout": ""}, "unavailable", "nvidia-smi -q -x: it printed nothing"),
        ({"rc": 0, "stdout": "<html><gpu><product_name>x"}, "unavailable", "ends early"),
        ({"rc": 0, "stdout": "\x00\x01garbage <<<>>> & </gpu>"}, "unavailable", "not understood"),
        ({"rc": 6, "stdout": "No devices were found\n"}, "unavailable", "PCI shows 2"),
    ],
)
def test_what_cannot_be_read_is_never_zero_cards_on_a_node_that_has_them(answer, kind, words):
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", **answer)))
    assert section["detection"]["state"] == kind
    assert words in section["detection"]["reason"]
    assert section["detection"]["accelerators"] != 0 or "PCI shows" in section["detection"]["reason"]


def test_the_library_of_a_mismatch_is_named():
    said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.133\n"
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", rc=18, stdout=said)))
    assert section["driver"]["library_version"] == "570.133" and section["driver"]["module_version"] == "575.57.08"
    assert is_unknown(section["driver"]["version"])


@pytest.mark.parametrize(
    "answer", [{"missing": True}, {"rc": 9, "stdout": "couldn't communicate with the NVIDIA driver"}, {"rc": 6, "stdout": "No devices were found"}]
)
def test_a_node_without_cards_declares_none(answer):
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", **answer), count=0))
    assert (section["detection"]["state"], section["detection"]["accelerators"]) == ("not-declared", 0)
    assert section["detection"]["reason"]


def test_a_broken_driver_without_cards_on_pci_is_not_none():
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", hang=True), count=0))
    assert section["detection"]["state"] == "unavailable"


def test_an_unreadable_bus_is_not_an_empty_one():
    answer = samples.run("-q", "-x", rc=6, stdout="No devices were found")
    section = nvidia.collect(samples.machine(answer, extra={"/sys/bus/pci/devices": {"error": "EACCES"}}))
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])


def test_a_card_that_the_driver_does_not_see():
    section = collect(samples.gpu(0), samples.gpu(1), count=3)
    assert section["detection"]["state"] == "unavailable" and section["detection"]["accelerators"] == 2
    assert "0000:38:00.0" in section["detection"]["reason"]


def test_a_card_the_driver_was_told_to_leave_alone():
    information = "Model: \t\t H100\nGPU Excluded:\t Yes\n"
    extra = {"/proc/driver/nvidia/gpus": {"dir": ["0000:28:00.0"]}, "/proc/driver/nvidia/gpus/0000:28:00.0/information": information}
    section = collect(samples.gpu(0), count=2, extra=extra)
    assert "excluded by the driver: 0000:28:00.0" in section["detection"]["reason"]


def test_fewer_elements_than_attached():
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0), attached=8)), count=1))
    assert section["detection"]["state"] == "unavailable" and "reports 8, 1 were read" in section["detection"]["reason"]


def test_output_that_ends_early_keeps_what_came_before():
    text = samples.log(samples.gpu(0, dram=3), samples.gpu(1))
    section = nvidia.collect(samples.machine(samples.xml(text[: text.index("<remapped_rows>", len(text) // 2)]), samples.run("nvlink", "-s", hang=True)))
    assert section["detection"]["state"] == "unavailable" and "ends early" in section["detection"]["reason"]
    assert section["devices"][0]["ecc"]["uncorrected_volatile"] == 3
    assert is_unknown(section["devices"][1]["row_remap"]["pending"])
    assert is_unknown(section["devices"][0]["links"])


@pytest.mark.parametrize(
    "line",
    [
        "Unable to determine the device handle for GPU1: 0000:28:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:28:00.0: GPU is lost.  Reboot the system to recover this GPU",
        "Unable to determine the device handle for GPU0000:28:00.0: Unknown Error",
    ],
)
def test_a_card_that_cannot_be_opened_is_a_lost_card(line):
    text = line + "\n" + samples.log(samples.gpu(0), samples.gpu(2), attached=3)
    section = nvidia.collect(samples.machine(samples.xml(text, rc=15), samples.run("nvlink", "-s", stdout=samples.nvlink(3)), count=3))
    assert [d["id"] for d in section["devices"]] == ["nvidia:0", "nvidia:1", "nvidia:2"]
    lost = section["devices"][1]
    assert lost["health"]["state"] == "lost" and lost["identity"]["pci"]["value"] == "0000:28:00.0" and is_unknown(lost["name"])
    assert is_unknown(lost["ecc"]) and is_unknown(lost["memory_mib"])
    assert section["detection"]["state"] == "unavailable" and section["detection"]["accelerators"] == 3


def test_lost_in_the_document():
    lost = samples.gpu(1, memory="GPU is lost", dram="GPU is lost", remapped="<remapped_rows>GPU is lost</remapped_rows>", margin="GPU is lost")
    device = collect(samples.gpu(0), lost)["devices"][1]
    assert device["health"] == {"state": "lost", "detail": "GPU is lost"}
    assert is_unknown(device["memory_mib"]) and is_unknown(device["ecc"]["uncorrected_volatile"])
    assert all(is_unknown(v) for v in device["row_remap"].values())


@pytest.mark.parametrize(
    ("values", "state", "detail"),
    [
        ({"recovery": "Drain and Reset"}, "failed", "drain_and_reset"),
        ({"recovery": "Reboot"}, "failed", "reboot"),
        ({"failed": "Yes"}, "failed", "row remapping failed"),
        ({"memory": "GPU requires reset"}, "failed", "requires reset"),
        ({"recovery": "N/A"}, None, "no verdict"),
        ({"recovery": "[Unknown Error]"}, None, "no verdict"),
    ],
)
def test_health_is_what_the_driver_says(values, state, detail):
    health = collect(samples.gpu(0, **values))["devices"][0]["health"]
    assert health.get("state") == state
    assert detail in (health.get("detail") or why(health))


def test_a_corrupted_inforom_belongs_to_its_card():
    said = "WARNING: infoROM is corrupted at gpu 0000:28:00.0\n"
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0), samples.gpu(1, recovery="N/A")), rc=14, stderr=said)))
    assert section["devices"][1]["health"] == {"state": "degraded", "detail": "infoROM is corrupted"}
    assert section["devices"][0]["health"]["state"] == "ok"


@pytest.mark.parametrize("text", ["", "N/A", "[N/A]", "-", "ERR!", "[Unknown Error]", "Insufficient Permissions", "GPU requires reset", "xxx", "Not Supported"])
def test_no_text_without_a_value_becomes_zero(text):
    device = collect(samples.gpu(0, memory=text, dram=text, width=text, pending=text, temperature=text))["devices"][0]
    for value in (device["memory_mib"], device["pcie"]["width_current"], device["row_remap"]["pending"], device["temperature_c"]["core"]):
        assert not is_known(value) and why(value)
    # the SRAM part is known; what of the DRAM is not told is either none of the card's business or makes the sum unknown
    counted = device["ecc"]["uncorrected_volatile"]
    assert counted == 0 if text in ("N/A", "[N/A]", "Not Supported") else is_unknown(counted)


def test_a_program_is_no_word_of_the_driver():
    card = collect(samples.gpu(0, program="./GPU is lost"), count=1)["devices"][0]
    assert card["health"]["state"] == "ok" and card["extra"]["process_names"] == ["GPU"]


def test_a_count_below_nothing_was_never_read():
    text = samples.gpu(0, dram=-1, margin="-1 C", low=-4).replace("<remapped_row_unc>0", "<remapped_row_unc>-1")
    card = collect(text, count=1)["devices"][0]
    assert is_unknown(card["ecc"]["uncorrected_volatile"]) and is_unknown(card["row_remap"]["uncorrected"]) and is_unknown(card["row_remap"]["banks"]["low"])
    assert card["temperature_c"]["margin_core"] == -1 and card["row_remap"]["banks"]["max"] == 2559


def test_the_names_of_older_drivers():
    old = samples.gpu(0, retired="0").replace("gpu_power_readings>", "power_readings>").replace("average_power_draw>", "power_draw>")
    old = old.replace("current_power_limit>", "power_limit>").replace("clocks_event_reason", "clocks_throttle_reason")
    old = old.replace("<gpu_temp_tlimit>56 C</gpu_temp_tlimit>", "<gpu_temp_slow_threshold>89 C</gpu_temp_slow_threshold>")
    old = old.replace("<sram_uncorrectable_parity>0</sram_uncorrectable_parity>", "").replace("<sram_uncorrectable_parity>2</sram_uncorrectable_parity>", "")
    old = old.replace("sram_uncorrectable_secded", "sram_uncorrectable").replace("<gpu_recovery_action>None</gpu_recovery_action>", "")
    fabric = old[old.index("<fabric>") : old.index("</fabric>") + 9]
    text = samples.log(old.replace(fabric, ""), driver="515.65.01")
    device = nvidia.collect(samples.machine(samples.xml(text), count=1))["devices"][0]
    assert device["power_w"] == {"draw": 71.25, "limit": 700.0, "limit_default": 700.0, "limit_min": 200.0, "limit_max": 700.0}
    assert device["throttle"]["active"] == ["gpu_idle", "hw_thermal_slowdown"]
    assert device["temperature_c"]["limit_core"] == 89 and is_not_applicable(device["temperature_c"]["margin_core"])
    assert device["ecc"]["uncorrected_volatile"] == 0
    assert device["retired_pages"]["uncorrected"] == 0
    assert is_not_applicable(device["fabric"]) and is_not_applicable(device["recovery_action"])


def test_what_a_new_driver_leaves_out_is_unknown():
    whole = samples.gpu(0)
    device = collect(whole.replace(whole[whole.index("<fabric>") : whole.index("</fabric>") + 9], ""))["devices"][0]
    assert is_unknown(device["fabric"]["state"])


def test_counters_of_boards_before_turing():
    old = samples.gpu(0)
    start, end = old.index("<ecc_errors>"), old.index("</ecc_errors>")
    part = "<{0}><single_bit><total>3</total></single_bit><double_bit><device_memory>1</device_memory><total>2</total></double_bit></{0}>"
    device = collect(old[:start] + "<ecc_errors>" + part.format("volatile") + part.format("aggregate") + old[end:])["devices"][0]
    assert (device["ecc"]["corrected_volatile"], device["ecc"]["uncorrected_volatile"]) == (3, 2)


def test_mig():
    parts = "".join(samples.MIG_DEVICE.format(index=i, instance=i + 1) for i in (0, 2))
    text = samples.log(samples.gpu(0, mig="Enabled", mig_devices=parts, remapped="<remapped_rows>N/A</remapped_rows>"), samples.gpu(1))
    listed = (
        f"GPU 0: {samples.H100} (UUID: {samples.uuid(0)})\n"
        "  MIG 1c.3g.40gb  Device  0: (UUID: MIG-0f1e7000-0000-4000-8000-000000000100)\n"
        "  MIG 3g.40gb     Device  2: (UUID: MIG-0f1e7000-0000-4000-8000-000000000102)\n"
        f"GPU 1: {samples.H100} (UUID: {samples.uuid(1)})\n"
    )
    nvlink = (
        f"GPU 0: {samples.H100} (UUID: {samples.uuid(0)})\nNvlink queries are not supported for Devices in MIG mode\n"
        + samples.nvlink(2).partition("\nGPU 1")[2]
    )
    host = samples.machine(samples.xml(text), samples.run("-L", stdout=listed), samples.run("nvlink", "-s", stdout=nvlink))
    section = nvidia.collect(host)
    assert section["detection"]["accelerators"] == 2 and section["detection"]["state"] == "ok"
    assert [(d["id"], d["kind"], d["parent"]) for d in section["devices"]] == [
        ("nvidia:0", "package", None),
        ("nvidia:0/mig:0", "partition", "nvidia:0"),
        ("nvidia:0/mig:2", "partition", "nvidia:0"),
        ("nvidia:1", "package", None),
    ]
    card, part = section["devices"][:2]
    assert card["memory_mib"] == 81559 and card["partition"]["enabled"] is True
    assert is_not_applicable(card["links"])
    assert all(is_unknown(v) and "MIG" in why(v) for v in card["row_remap"].values())
    assert part["memory_mib"] == 40448 and part["partition"]["profile"] == "1c.3g.40gb"
    assert part["identity"]["uuid"]["value"].startswith("MIG-") and part["ecc"]["uncorrected_volatile"] == 0
    assert {*part, "clocks_mhz"} == set(card)


def test_mig_devices_without_a_listing_have_no_made_up_profile():
    parts = samples.MIG_DEVICE.format(index=0, instance=1)
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0, mig="Enabled", mig_devices=parts))), count=1))
    part = section["devices"][1]
    assert is_unknown(part["partition"]["profile"]) and is_unknown(part["identity"]["uuid"]["value"]) and part["memory_mib"] == 40448


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (samples.nvlink(1, down={(0, 3), (0, 7)}), {"kind": "nvlink", "total": 18, "up": 16, "down": [3, 7]}),
        (samples.nvlink(1, links=12), {"kind": "nvlink", "total": 12, "up": 12, "down": []}),
    ],
)
def test_nvlink(text, expected):
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), samples.run("nvlink", "-s", stdout=text), count=1))
    assert known_links(section["devices"][0]) == expected


@pytest.mark.parametrize(
    ("said", "check"),
    [
        ("NVML: Unable to retrieve NVLink information as all links are inactive", lambda v: v["up"] == 0 and is_unknown(v["total"])),
        ("NVML: Unable to retrieve Nvlink information as all links are inActive", lambda v: v["up"] == 0),
        ("Device does not have or support Nvlink", is_not_applicable),
        ("Nvlink queries are not supported for Devices in MIG mode", is_not_applicable),
        ("NVML: GPU is lost", is_unknown),
        ("", is_unknown),
        ("\t Link 0: ???", lambda v: v["total"] == 1 and is_unknown(v["up"])),
    ],
)
def test_nvlink_sentences(said, check):
    text = f"GPU 0: {samples.H100} (UUID: {samples.uuid(0)})\n{said}\n"
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), samples.run("nvlink", "-s", stdout=text), count=1))
    assert check(section["devices"][0]["links"])


def test_parts_made_without_nvlink_are_not_asked():
    section = collect(samples.gpu(0, name="NVIDIA L40S"), samples.gpu(1, name="Tesla T4"))
    assert [s["source"] for s in section["sources"]] == ["NVML", "nvidia-smi -q -x"]
    assert all(is_not_applicable(d["links"]) for d in section["devices"])


@pytest.mark.parametrize(
    "name", ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "Tesla V100-SXM2-16GB", "NVIDIA GB200", "Quadro RTX 8000", "NVIDIA GeForce RTX 3090"]
)
def test_parts_with_nvlink_are_asked(name):
    assert "nvidia-smi nvlink -s" in [s["source"] for s in collect(samples.gpu(0, name=name))["sources"]]


@pytest.mark.parametrize("serial", ["N/A", "0", "0000000000000", "", "[N/A]", "Unknown"])
def test_placeholder_serials(serial):
    identity = collect(samples.gpu(0, serial=serial))["devices"][0]["identity"]["serial"]
    assert identity["quality"] in ("placeholder", "absent", "unread") and not is_known(identity["value"])


def test_serials_shared_in_pairs_and_other_domains():
    cards = [
        samples.gpu(i, name="NVIDIA GB300", serial=f"165172300010{i // 2}", bus=b)
        for i, b in enumerate(("00000008:06:00.0", "00000009:06:00.0", "00000018:06:00.0", "0019:06:00.0"))
    ]
    devices = collect(*cards, count=0)["devices"]
    assert [d["identity"]["serial"]["quality"] for d in devices] == ["duplicate"] * 4
    assert devices[0]["identity"]["serial"]["value"] == devices[1]["identity"]["serial"]["value"] == "1651723000100"
    assert [d["identity"]["pci"]["value"] for d in devices] == ["0008:06:00.0", "0009:06:00.0", "0018:06:00.0", "0019:06:00.0"]
    assert {d["identity"]["uuid"]["quality"] for d in devices} == {"good"}


def test_a_generation_of_zero_is_no_generation():
    assert is_unknown(collect(samples.gpu(0, generation="0"))["devices"][0]["pcie"]["generation_current"])


def test_a_counter_of_all_ones_was_never_read():
    assert is_unknown(collect(samples.gpu(0, dram=str(2**64 - 1)))["devices"][0]["ecc"]["uncorrected_volatile"])


def test_a_virtual_function_is_not_counted_on_pci():
    extra = {"/sys/bus/pci/devices/0000:28:00.0/physfn": {"link": "../0000:18:00.0"}}
    assert collect(samples.gpu(0), count=2, extra=extra)["detection"]["state"] == "ok"


def test_garbage_never_raises_and_a_fault_is_never_healthy():
    """Text cut, doubled and overwritten at random: the pending remap is seen, unknown, or its card is not there."""
    chance = random.Random(20261129)
    good = samples.log(samples.gpu(0, pending="Yes", dram=5), samples.gpu(1))
    for _turn in range(300):
        text = list(good)
        for _change in range(chance.randint(1, 6)):
            start = chance.randrange(len(text))
            end = min(len(text), start + chance.choice((1, 1, 5, 40, 400)))
            text[start:end] = chance.choice(([], list("<gpu>"), list("N/A"), [chr(chance.randrange(1, 0x2FF))], text[start:end] * 2))
        section = nvidia.collect(samples.machine(samples.xml("".join(text)), samples.run("nvlink", "-s", stdout=samples.nvlink(2))))
        card = next((d for d in section["devices"] if d["identity"]["pci"]["value"] == "0000:18:00.0"), None)
        if card is None or section["detection"]["state"] != "ok":
            continue
        remap, ecc = card["row_remap"], card["ecc"]
        assert is_unknown(remap) or remap["pending"] is not False or "Yes</remapped_row_pending>" not in "".join(text)
        assert is_unknown(ecc) or ecc["uncorrected_volatile"] != 0 or "<dram_uncorrectable>5</dram_uncorrectable>" not in "".join(text)
