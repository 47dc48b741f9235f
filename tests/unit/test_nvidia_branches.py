# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each branch of NVIDIA's driver prints, and cards whose readings fail: neither is guessed, and a sick card is never called healthy."""

from __future__ import annotations

import re

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia, nvidia_links
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report import accelerators as report
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_not_applicable, is_unknown

STATUS = "<gpu_reset_status><reset_required>%s</reset_required><drain_and_reset_recommended>%s</drain_and_reset_recommended></gpu_reset_status>"
COUNTERS, SUMMARY = ("clocks_event_reasons_counters",), ("summary", "incorrect_configuration")
ROUTES = ("route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery")
# driver, what it does not print yet, whether it prints the status of a reset
BRANCHES = [
    ("580.95.05", (), None),
    ("575.57.08", SUMMARY, None),
    ("570.124.06", COUNTERS + SUMMARY, None),
    ("565.57.01", COUNTERS + SUMMARY + ROUTES, ("No", "No")),
    ("560.35.03", (*COUNTERS, *SUMMARY, *ROUTES, "gpu_recovery_action"), ("No", "N/A")),
    ("550.127.05", (*COUNTERS, *SUMMARY, *ROUTES, "gpu_recovery_action"), ("No", "N/A")),
    ("535.183.01", (*COUNTERS, "health", "gpu_recovery_action"), ("No", "N/A")),
]


def without(text, *elements):
    for element in elements:
        text = re.sub(r"(?s)<%s>.*?</%s>" % (element, element), "", text)
    return text


def printed(driver, missing=(), status=None, **card):
    """The log of two cards as this driver prints it; card: the second one's values."""
    second = samples.gpu(1, **card)
    gpus = [without(text, *missing).replace("<gsp_firm", (STATUS % status if status else "") + "<gsp_firm") for text in (samples.gpu(0), second)]
    return samples.log(*gpus, driver=driver)


def cards_of(text, **answer):
    return nvidia.collect(samples.machine(samples.xml(text, **answer), samples.run("nvlink", "-s", stdout=samples.nvlink(2)), count=2))["devices"]


@pytest.mark.parametrize(("driver", "missing", "status"), BRANCHES, ids=[one[0] for one in BRANCHES])
def test_nothing_is_unknown_that_a_branch_does_not_print(driver, missing, status):
    for card in cards_of(printed(driver, missing, status)):
        assert card["recovery_action"] == "none" and card["health"] == {"state": "ok", "detail": "recovery action: none"}
        assert is_not_applicable(card["fabric"]["health"])
        assert is_not_applicable(card["throttle"]["seconds"]) if "clocks_event_reasons_counters" in missing else card["throttle"]["seconds"]


def test_what_a_branch_prints_is_missed_where_it_is_not_printed():
    """A log that was cut is no log of an older driver."""
    card = cards_of(printed("580.95.05", (*COUNTERS, "gpu_recovery_action", "summary")))[0]
    assert all(is_unknown(fact) for fact in (card["recovery_action"], card["throttle"]["seconds"], card["fabric"]["health"], card["health"]))


@pytest.mark.parametrize(
    ("status", "action"),
    [(("Yes", "No"), "reset"), (("No", "Yes"), "drain_and_reset"), (("Yes", "Yes"), "reset"), (("N/A", "N/A"), None), (("Unknown Error", "N/A"), None)],
)
def test_a_reset_that_an_older_driver_asks_for(status, action):
    card = cards_of(printed("535.247.01", BRANCHES[-1][1], status))[0]
    if action is None:
        assert is_not_applicable(card["recovery_action"]) and is_unknown(card["health"])
    else:
        assert card["recovery_action"] == action and card["health"] == {"state": "failed", "detail": "recovery action: %s" % action}


def test_a_deprecated_status_is_none():
    said = "Requested functionality has been deprecated"
    assert cards_of(printed("590.48.01", (), (said, said)))[0]["recovery_action"] == "none"
    card = cards_of(printed("590.48.01", ("gpu_recovery_action",), (said, said)))[0]
    assert is_unknown(card["recovery_action"]) and is_unknown(card["health"])


@pytest.mark.parametrize("said", ["Unknown Error", "[Unknown Error]", "ERR!", "System is not in ready state"])
def test_a_card_whose_temperature_the_driver_cannot_read_is_not_well(said):
    first, second = cards_of(printed("580.95.05").replace(">32 C<", ">%s<" % said))
    assert first["health"]["state"] == "ok" and second["health"]["state"] == "degraded" and said in second["health"]["detail"]
    assert is_unknown(second["temperature_c"]["core"])


def test_a_power_draw_that_is_not_read_once_says_nothing_of_the_card():
    second = cards_of(printed("580.95.05", power="Unknown Error").replace("Unknown Error W", "Unknown Error"))[1]
    assert is_unknown(second["power_w"]["draw"]) and second["health"]["state"] == "ok"


def silenced(card):
    """A card that calls N/A whatever its tool reads of it, as one does that waits for a reset."""
    kept = "product_name|uuid|serial|minor_number|pci_bus_id|gpu_recovery_action|current_mig|pending_mig"
    return re.sub(r"<((?!%s)\w+)>[^<\n]+</\1>" % kept, r"<\1>N/A</\1>", card)


def test_what_one_card_calls_not_applicable_and_its_equal_tells_was_not_read():
    log = samples.log(samples.gpu(0), silenced(samples.gpu(1)), driver="580.95.05")
    first, second = cards_of(log)
    assert first["ecc"]["uncorrected_volatile"] == 0 and first["fabric"]["state"] == "completed"
    for group in ("ecc", "row_remap", "temperature_c", "pcie", "fabric"):
        assert is_unknown(next(iter(second[group].values()))) and not any(is_not_applicable(fact) for fact in second[group].values()), group
    # of parts that differ neither says what the other has
    other = silenced(samples.gpu(1)).replace(samples.H100, "NVIDIA L40S")
    assert is_not_applicable(cards_of(samples.log(samples.gpu(0), other))[1]["fabric"])
    alone = nvidia.collect(samples.machine(samples.xml(samples.log(silenced(samples.gpu(0)))), count=1))["devices"][0]
    assert is_not_applicable(alone["ecc"]["mode"])


def test_a_card_without_memory_correction_tells_no_errors():
    """That it is off is told, so the counters do not arise; the equal one tells them."""
    off = samples.gpu(1, ecc="Disabled")
    errors = re.search(r"(?s)<volatile>.*?</aggregate>", off).group()
    second = cards_of(samples.log(samples.gpu(0), off.replace(errors, re.sub(">[0-9No]+<", ">N/A<", errors))))[1]
    assert second["ecc"]["mode"] == "disabled" and is_not_applicable(second["ecc"]["uncorrected_volatile"])


def test_a_board_before_turing_has_no_threshold_of_its_own():
    old = samples.gpu(0, name="Tesla V100-SXM2-16GB")
    counted = "<volatile>%s</volatile><aggregate>%s</aggregate>" % (
        (("<single_bit><total>2</total></single_bit><double_bit><total>1</total></double_bit>"),) * 2
    )
    old = old.replace(re.search(r"(?s)<volatile>.*</aggregate>", old).group(), counted)
    card = nvidia.collect(samples.machine(samples.xml(samples.log(old)), count=1))["devices"][0]
    assert (card["ecc"]["corrected_volatile"], card["ecc"]["uncorrected_aggregate"]) == (2, 1)
    assert is_not_applicable(card["ecc"]["sram_threshold_exceeded"])
    # one that counts them and does not print it was cut
    cut = without(samples.gpu(0), "sram_threshold_exceeded")
    assert is_unknown(nvidia.collect(samples.machine(samples.xml(samples.log(cut)), count=1))["devices"][0]["ecc"]["sram_threshold_exceeded"])


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("GPU1: Unknown Error", 1),
        ("GPU0: Unknown Error", 0),
        ("GPU1: 0000:28:00.0: Unknown Error", 1),
        ("GPU 0000:28:00.0: GPU is lost.  Reboot the system to recover this GPU", 1),
        ("GPU0000:28:00.0: Not Found", 1),
        ("GPU: Unknown Error", 1),
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr", "both"])
def test_a_card_that_cannot_be_opened_is_counted_however_it_is_named(said, place, stream):
    line = "Unable to determine the device handle for %s\n" % said
    text = samples.log(samples.gpu(1 - place), attached=2)
    devices = cards_of((line if stream != "stderr" else "") + text, stderr="" if stream == "stdout" else line)
    assert [d["health"]["state"] for d in devices] == ["lost" if n == place else "ok" for n in range(2)]


def test_a_line_of_links_is_of_no_other_card():
    """The second card's line is cut: its links are not the first one's."""
    lines = samples.nvlink(2, links=2, down={(1, 0)}).replace("GPU 1: %s (UUID: %s)" % (samples.H100, samples.uuid(1)), "GPU 1: NVIDIA H1")
    told = nvidia_links.parse(lines)
    assert list(told) == [0] and told[0]["links"] == {0: "26.562 GB/s", 1: "26.562 GB/s"}
    errors = samples.nvlink_errors(2, links=1, counted={(1, 0, "CRC"): 9}).replace("(UUID: %s)" % samples.uuid(1), "(UUI")
    assert nvidia_links.parse_errors(errors)[0]["errors"]["crc_errors"] == 0


def test_a_link_that_sleeps_is_up():
    lines = samples.nvlink(1, links=4, down={(0, 1)}).replace("Link 2: 26.562 GB/s", "Link 2: <sleep>").replace("Link 3: 26.562 GB/s", "Link 3: Sleep")
    section = nvidia.collect(samples.machine(samples.xml(samples.log(samples.gpu(0))), samples.run("nvlink", "-s", stdout=lines), count=1))
    links = section["devices"][0]["links"]
    assert (links["total"], links["up"], links["down"], links["speed_gb_s"]) == (4, 3, [1], 26.562)
    answer = {"system": {}, "gpus": [{"name": "X", "links": [1, 2, 0, 2]}]}
    listing = samples.run("-L", stdout=samples.listing(1))
    links = nvidia.collect(samples.machine(listing, nvml={"answer": answer}, count=1))["devices"][0]["links"]
    assert (links["up"], links["down"]) == (3, [2])


@pytest.mark.parametrize("gap", ["\n\t ", " "])
def test_links_that_are_not_supported(gap):
    said = "GPU 0: NVIDIA A100 80GB PCIe (UUID: %s)%sNVML: Unable to retrieve NVLink information: Not Supported\n" % (samples.uuid(0), gap)
    text = samples.log(samples.gpu(0, name="NVIDIA A100 80GB PCIe"))
    section = nvidia.collect(samples.machine(samples.xml(text), samples.run("nvlink", "-s", stdout=said), count=1))
    assert is_not_applicable(section["devices"][0]["links"])


@pytest.mark.parametrize("said", ["System is not in ready state", "Function Not Found", "Timeout"])
def test_what_the_library_says_of_a_query_is_no_value(said):
    for fact in (report.fact(said, "x"), report.quantity(said, "x", "C"), report.flag(said, "x")):
        assert is_unknown(fact) and said in fact["unknown"]


DEPRECATED = " [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]"


@pytest.mark.parametrize("older", [True, False])
def test_branch_610_names_versions_and_limits_anew(older):
    """What it calls deprecated stands beside the new names, and is gone one day."""
    ceiling = "<gpu_ceiling_power_limit><current_power_limit>650.00 W</current_power_limit><default_power_limit>700.00 W</default_power_limit>"
    text = samples.log(samples.gpu(0), driver="610.43.02").replace("610.43.02<", "610.43.02%s<" % DEPRECATED)
    text = text.replace("<attached", "<kmd_version>610.43.02</kmd_version><cuda_umd_version>13.3</cuda_umd_version><attached")
    if not older:
        text = without(text, "driver_version", "cuda_version", "current_power_limit", "default_power_limit")
    text = text.replace("<gpu_power_readings>", "<gpu_power_readings>%s</gpu_ceiling_power_limit>" % ceiling)
    section = nvidia.collect(samples.machine(samples.xml(text), count=1))
    assert (section["driver"]["version"], section["driver"]["library_version"]) == ("610.43.02", "610.43.02")
    assert section["driver"]["runtime_version"] == "13.3"
    power = section["devices"][0]["power_w"]
    assert (power["limit"], power["limit_default"], power["limit_max"]) == (650, 700, 700)


TEXT_610 = """
==============NVSMI LOG==============

Timestamp                                              : Sat Nov 28 17:00:00 2026
Driver Version                                         : 610.43.02%s
CUDA Version                                           : 13.3 [Deprecated; will be removed in CUDA 14.0. Use CUDA UMD Version instead]
KMD Version                                            : 610.43.02
CUDA UMD Version                                       : 13.3

Attached GPUs                                          : 1
GPU 00000000:18:00.0
    Product Name                                       : NVIDIA RTX PRO 6000 Blackwell Server Edition
    GPU Recovery Action                                : Recover IMEX Domain
    Temperature
        GPU Current Temp                               : 41 C
        GPU Current T.Limit Temp                       : 49 C
        GPU Slowdown T.Limit Temp Specification        : -2 C
    GPU Power Readings
        Average Power Draw                             : 83.25 W
        Instantaneous Power Draw                       : 90.00 W
        GPU Ceiling Power Limit
            Current Power Limit                        : 550.00 W
            Requested Power Limit                      : 550.00 W
            Default Power Limit                        : 600.00 W
        Min Power Limit                                : 300.00 W
        Max Power Limit                                : 600.00 W
    GPU Memory Power Readings
        Average Power Draw                             : N/A
    Module Power Readings
        Average Power Draw                             : N/A
        Current Power Limit                            : N/A
    Processes                                          : None
"""


def test_the_text_of_branch_610():
    commands = [samples.xml("Segmentation fault\n", rc=139), samples.run("-q", stdout=TEXT_610 % DEPRECATED)]
    section = nvidia.collect(samples.machine(*commands, count=1))
    (card,) = section["devices"]
    assert (section["driver"]["version"], section["driver"]["runtime_version"]) == ("610.43.02", "13.3")
    assert (card["temperature_c"]["core"], card["temperature_c"]["margin_core"]) == (41, 49)
    assert card["power_w"] == {"draw": 83.25, "limit": 550, "limit_default": 600, "limit_min": 300, "limit_max": 600}
    assert card["health"] == {"state": "failed", "detail": "recovery action: recover_imex_domain"}
