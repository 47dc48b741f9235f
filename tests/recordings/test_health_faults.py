# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded node of each class of faults of a card, read and judged: that fault alone is found, and what it explains stands under it."""

from __future__ import annotations

import amd_samples
import demo
import nine
import nvidia_samples
import pytest

# The recorded machine around the cards is not what these tests are about.
HEALTH = (
    "clocks-", "compute-mode", "confidential-", "device-", "ecc-", "fabric-", "firmware-", "link-errors", "link-speed", "links-up", "memory-in-use",
    "memory-repair", "mode-pending", "partition-", "persistence", "power-limit", "product-", "recovery-", "retired-", "row-remap-", "temperature-", "throttle-",
)  # fmt: skip


def found(part, **variables):
    """[(rule, level, device, causes)] of the cards of a recorded node."""
    sections = demo.read(nine.recording(part))
    assert [problem for problem in demo.misfits(sections) if problem.startswith("accelerators")] == []
    told = demo.Judged("nine", sections, variables).findings
    return sorted((f["rule"], f["level"], f["subject"]["id"], tuple(f["caused_by"])) for f in told if f["rule"].startswith(HEALTH))


def nvidia(change=None, errors=None, **commands):
    part = nine.nvidia(3, cards=[{}, dict(change or {})])
    answers = dict(commands, **({"nvlink -e": nvidia_samples.nvlink_errors(3, counted=errors)} if errors else {}))
    for entry in part.commands:
        words = " ".join(entry["argv"][1:])
        if words in answers:
            entry["stdout"] = answers[words]
    return part


NVIDIA = {
    "nothing": ({}, []),
    "row remap pending": ({"pending": "Yes"}, [("row-remap-pending", "fail", ())]),
    "row remap failed": ({"failed": "Yes"}, [("device-health", "fail", ("row-remap-failed",)), ("row-remap-failed", "fail", ())]),
    "a bank without spare rows": ({"spent": 1}, [("row-remap-banks", "warn", ())]),
    "uncorrected errors": ({"dram": 2}, [("ecc-uncorrected", "fail", ())]),
    "SRAM over its threshold": ({"threshold": "Yes"}, [("ecc-sram-threshold", "fail", ())]),
    "channel repair pending": ({"repair": "Yes"}, [("memory-repair", "warn", ())]),
    "asks for a reset": ({"recovery": "Reset"}, [("device-health", "fail", ("recovery-action",)), ("recovery-action", "fail", ())]),
    "asks for a drain": ({"recovery": "Drain and Reset"}, [("device-health", "fail", ("recovery-action",)), ("recovery-action", "fail", ())]),
    "ECC off": ({"ecc": "Disabled"}, [("ecc-enabled", "warn", ())]),
    "ECC will be off": ({"ecc_pending": "Disabled"}, [("mode-pending", "warn", ())]),
    "heat holds the clocks": ({"thermal": "Active"}, [("throttle-hardware", "fail", ())]),
    "heat held the clocks for days": ({"heat": "900000000000 us"}, [("throttle-history", "warn", ())]),
    "three degrees below its limit": ({"margin": "3 C"}, [("temperature-margin", "warn", ())]),
    "at its limit": ({"margin": "0 C"}, [("temperature-margin", "fail", ())]),
    "much hotter than its neighbors": ({"temperature": 60}, [("temperature-outlier", "warn", ())]),
    "power cap lowered": ({"cap": "500.00 W"}, [("power-limit", "warn", ())]),
    "clocks lowered": ({"clock": "1305 MHz"}, [("clocks-lowered", "warn", ())]),
    "persistence off": ({"persistence": "Disabled"}, [("persistence", "info", ())]),
    "one process at a time": ({"compute": "Exclusive_Process"}, [("compute-mode", "info", ())]),
    "nobody may compute": ({"compute": "Prohibited"}, [("compute-mode", "warn", ())]),
    "a stack of memory is missing": ({"memory": "65247 MiB"}, [("product-memory", "fail", ())]),
    "fabric not joined": ({"fabric": "In Progress", "status": "N/A", "clique": "N/A", "cluster": "N/A"}, [("fabric-state", "fail", ())]),
    "fabric ended with an error": ({"status": "NVML_ERROR_UNKNOWN"}, [("fabric-state", "fail", ())]),
    "fabric has no route": ({"route_unhealthy": "True", "fabric_summary": "Unhealthy"}, [("fabric-health", "fail", ())]),
    "fabric runs at less": ({"fabric_bandwidth": "Degraded", "fabric_summary": "Unhealthy"}, [("fabric-health", "fail", ())]),
}


@pytest.mark.parametrize("name", NVIDIA)
def test_a_fault_of_one_of_three_nvidia_cards(name):
    change, expected = NVIDIA[name]
    assert found(nvidia(change)) == [(rule, level, "nvidia:1", causes) for rule, level, causes in expected]


def test_links_of_nvidia_cards():
    down = nvidia(**{"nvlink -s": nvidia_samples.nvlink(3, down={(1, 4), (1, 5)})})
    assert found(down) == [("links-up", "fail", "nvidia:1", ())]
    slow = nvidia(**{"nvlink -s": nvidia_samples.nvlink(3).replace("Link 7: 26.562", "Link 7: 19.922", 1)})
    assert found(slow) == [("link-speed", "warn", "nvidia:0", ())]
    fewer = nvidia(**{"nvlink -s": nvidia_samples.nvlink(3, links=16)})
    assert found(fewer) == [("product-links", "fail", "nvidia:%d" % n, ()) for n in range(3)]
    assert found(nvidia(errors={(1, 3, "CRC"): 12})) == [("link-errors", "warn", "nvidia:1", ())]
    assert found(nvidia(errors={(2, 0, "Recovery"): 1})) == [("link-errors", "warn", "nvidia:2", ())]
    assert found(nvidia(errors={(2, 0, "Replay"): 4})) == []


def test_memory_that_nobody_holds():
    part = nvidia({"used": "71303 MiB"})
    held = next(entry for entry in part.commands if entry["argv"][1:] == ["-q", "-x"])
    assert found(part) == []
    start, end = held["stdout"].rindex("<processes>", 0, held["stdout"].index('id="00000000:38')), held["stdout"].index('id="00000000:38')
    held["stdout"] = held["stdout"][:start] + "<processes></processes></gpu><gpu " + held["stdout"][end:]
    assert found(part) == [("memory-in-use", "warn", "nvidia:1", ())]


def test_firmware_of_one_card_and_of_the_driver():
    part = nvidia()
    log = next(entry for entry in part.commands if entry["argv"][1:] == ["-q", "-x"])
    log["stdout"] = log["stdout"].replace("<vbios_version>96.00.AF.00.01", "<vbios_version>96.00.61.00.09", 1)
    assert found(part) == [("firmware-mixed", "warn", "nvidia:0", ())]
    part = nvidia()
    log = next(entry for entry in part.commands if entry["argv"][1:] == ["-q", "-x"])
    log["stdout"] = log["stdout"].replace("<gsp_firmware_version>575.57.08", "<gsp_firmware_version>570.86.15")
    assert found(part) == [("firmware-driver", "warn", "nvidia:%d" % n, ()) for n in range(3)]


def test_what_was_declared():
    declared = {"accelerator_policy_partition_declared_on": True, "accelerator_policy_confidential_declared_on": True}
    told = [(rule, "warn", "nvidia:%d" % n, ()) for rule in ("confidential-declared", "partition-declared") for n in range(3)]
    assert found(nvidia(), **declared) == told
    assert found(nvidia({"protected": "81079 MiB"}), accelerator_policy_confidential_declared_on=False) == [("confidential-declared", "warn", "nvidia:1", ())]


def amd(change):
    tables = amd_samples.node(range(3))
    change(tables)
    return nine.amd(3, **tables)


def metric(**changes):
    def change(tables):
        for name, value in changes.items():
            entry = tables["metric"][1]
            entry[name] = dict(entry[name], **value) if isinstance(value, dict) else value

    return change


def static(**changes):
    def change(tables):
        for name, value in changes.items():
            tables["static"][1][name] = dict(tables["static"][1][name], **value)

    return change


def replaced(word, entry):
    def change(tables):
        tables[word][1] = entry

    return change


def port_down(tables):
    tables["xgmi"]["link_port_status"][1]["link_status"][0] = "D"


def half_speed(tables):
    tables["xgmi"]["xgmi_metric"][1]["link_metrics"]["max_bandwidth"] = amd_samples.unit(256, "Gb/s")


UNIT = amd_samples.unit
AMD = {
    "nothing": (lambda tables: None, []),
    "uncorrected errors": (metric(ecc={"total_uncorrectable_count": 1}), [("ecc-uncorrected", "fail", ())]),
    "uncorrected errors of one block": (
        metric(ecc_blocks={"SDMA": {"correctable_count": 0, "uncorrectable_count": 3, "deferred_count": 0}}),
        [("ecc-uncorrected", "fail", ())],
    ),
    "deferred errors": (metric(ecc={"total_deferred_count": 2}), [("ecc-deferred", "warn", ())]),
    "false count of a suspended GPU": (metric(ecc={"total_uncorrectable_count": 1048560}), []),
    "a page waits to be retired": (replaced("bad-pages", amd_samples.bad_pages(1, pending=[{"page_address": "0x1"}])), [("retired-pages-pending", "fail", ())]),
    "more bad pages than the driver allows": (
        replaced("bad-pages", amd_samples.bad_pages(1, retired=[{"page_address": hex(n)} for n in range(257)])),
        [("retired-pages", "fail", ())],
    ),
    "the driver says so": (static(ras={"bad_page_threshold_exceeded": "True"}), [("device-health", "fail", ())]),
    "ECC off": (static(ras={"ecc_block_state": {"UMC": "DISABLED"}}), [("ecc-enabled", "warn", ())]),
    "hot memory": (
        metric(temperature={"mem": UNIT(102, "C")}),
        [("temperature-margin", "warn", ()), ("temperature-outlier", "warn", ("temperature-margin",))],
    ),
    "hot core": (
        metric(temperature={"hotspot": UNIT(101, "C")}),
        [("temperature-margin", "fail", ()), ("temperature-outlier", "warn", ("temperature-margin",))],
    ),
    "heat holds the clocks": (metric(throttle={"hbm_thermal_violation_status": "ACTIVE"}), [("throttle-hardware", "fail", ())]),
    "the power limit holds the clocks": (metric(throttle={"ppt_violation_status": "ACTIVE"}), []),
    "heat held the clocks": (metric(throttle={"socket_thermal_accumulated": 1200000}), [("throttle-history", "warn", ())]),
    "power cap lowered": (static(limit={"socket_power": UNIT(550, "W")}), [("power-limit", "warn", ())]),
    "sold with less power": (
        static(limit={"socket_power": UNIT(650, "W"), "max_power": UNIT(650, "W")}),
        [("power-limit", "warn", ()), ("product-power", "info", ())],
    ),
    "clock locked": (
        metric(clock={"gfx_0": {"clk": UNIT(900, "MHz"), "max_clk": UNIT(2100, "MHz"), "clk_locked": "ENABLED"}}),
        [("clocks-lowered", "warn", ())],
    ),
    "a performance level": (metric(perf_level="AMDSMI_DEV_PERF_LEVEL_LOW"), [("clocks-lowered", "warn", ())]),
    "memory missing": (static(vram={"size": UNIT(172018, "MB")}), [("product-memory", "fail", ())]),
    "half the speed of its links": (half_speed, [("link-speed", "warn", ())]),
    "port down": (port_down, [("links-up", "fail", ())]),
    "errors of links": (metric(xgmi_err="ERROR"), [("link-errors", "warn", ())]),
}


@pytest.mark.parametrize("name", AMD)
def test_a_fault_of_one_of_three_amd_cards(name):
    change, expected = AMD[name]
    assert found(amd(change)) == [(rule, level, "amd:1", causes) for rule, level, causes in expected]
