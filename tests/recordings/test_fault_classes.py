# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each class of faults in one card of a whole recorded node, for every manufacturer whose tool tells it: that finding, of that card, and no other cause."""

from __future__ import annotations

import amd_samples
import ascend_samples
import fault_nodes as f
import host_samples
import product_nodes
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import systemd_units
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

unit = amd_samples.unit
# class: (where a report has it, the finding, its level, {manufacturer: the fault in the words of its tool})
CLASSES = {
    "uncorrected memory errors": ("ecc.uncorrected_volatile", "ecc-uncorrected", "fail", {
        "nvidia": f.xml(volatile__dram_uncorrectable=2), "amd": f.table("metric", ecc={"total_uncorrectable_count": 1}),
        "ascend": f.ecc(Double_Bit_Error_Count=1), "iluvatar": f.xml(double_bit="1"), "thead": f.lines(("Volatile/DRAM Uncorrectable", "1")),
        "gaudi": f.gaudi(query=("ecc.errors.uncorrected.volatile.total", "1")), "kunlunxin": f.lines(("Volatile/DRAM Uncorrectable", "3")),
        "cambricon": f.several(f.added("    ECC Error :\n        uncorrected : 1\n"), f.row("", "| 3%                0 |", "| 3%                1 |")),
        "metax": f.added("    ECC Errors\n\tSRAM Uncorrectable                        : 1 \n"),
        "hygon": f.native("librocm_smi64", "ecc.uncorrected_volatile", 1), "mthreads": f.native("libmtml", "ecc.uncorrected_volatile", 1),
    }),
    "a row remap that waits": ("row_remap.pending", "row-remap-pending", "fail", {
        "nvidia": f.xml(remapped_row_pending="Yes"), "thead": f.lines(("Remapped Rows/Pending", "Yes")),
        "cambricon": f.native("libcndev", "row_remap.pending", 1),
    }),
    "a row remap that failed": ("row_remap.failed", "row-remap-failed", "fail", {
        "nvidia": f.xml(remapped_row_failure="Yes"), "thead": f.lines(("Remapping Failure Occurred", "Yes")),
        "cambricon": f.native("libcndev", "row_remap.failed", 1),
    }),
    "no spare rows": ("row_remap.banks.none", "row-remap-banks", "warn", {"nvidia": f.xml(row_remapper_histogram_none="1 bank(s)")}),
    "a page that waits to be retired": ("retired_pages.pending", "retired-pages-pending", "fail", {
        "amd": f.table("bad-pages", pending=[{"page_address": "0x1"}]), "ascend": f.ecc(waiting=1),
        "thead": f.lines(("Pending Page Blacklist", "Yes")),
        "cambricon": f.native("libcndev", "retired_pages.pending", 1), "hygon": f.native("librocm_smi64", "retired_pages.pending", 1),
        "mthreads": f.native("libmtml", "retired_pages.pending", 1),
    }),
    "more retired pages than are tolerated": ("retired_pages.uncorrected", "retired-pages", "fail", {
        "amd": f.table("bad-pages", retired=[{"page_address": hex(n)} for n in range(257)]),
        "metax": f.lines(("Retired Pages/Double Bit ECC", "70")),
    }),
    "heat that holds the clocks": ("throttle.active", "throttle-hardware", "fail", {
        "nvidia": f.xml(clocks_event_reason_hw_thermal_slowdown="Active"),
        "amd": f.table("metric", throttle={"hbm_thermal_violation_status": "ACTIVE"}),
        "metax": f.lines(("Chip Over Temperature", "Active")), "thead": f.lines(("HW Thermal Slowdown", "Active")),
    }),
    "over its temperature": ("temperature_c.core", "temperature-margin", "fail", {
        "nvidia": f.xml(gpu_temp_tlimit="0 C"), "amd": f.table("metric", temperature={"hotspot": unit(101, "C")}),
        "thead": f.lines(("PPU Current Temp", "89 C")), "metax": f.several(f.lines(("hotspot(sensor2)", "86.00 C")), f.metax(hotspot="86.000")),
    }),
    "a link that is down": ("links.up", "links-up", "fail", {
        "nvidia": f.links_down, "amd": f.xgmi(lambda told: told["link_port_status"][1]["link_status"].__setitem__(0, "D")),
        "cambricon": f.native("libcndev", "links", [1, 1, 0, 1, 1, 1]), "hygon": f.native("librocm_smi64", "links", [1, 0]),
        "mthreads": f.native("libmtml", "links", [0] + [1] * 13),
    }),
    "fewer links than its neighbors": ("links.up", "links-like-siblings", "warn", {"thead": f.icn}),
    "fewer links than its product has": ("links.total", "product-links", "fail", {"nvidia": f.fewer_links}),
    "a link that is slow": ("links.speed_gb_s", "link-speed", "warn", {
        "nvidia": f.link_slow, "amd": f.xgmi(lambda told: told["xgmi_metric"][1]["link_metrics"].update(max_bandwidth=unit(256, "Gb/s"))),
    }),
    "errors on its links": ("links.errors", "link-errors", "warn", {
        "nvidia": f.link_errors, "amd": f.table("metric", xgmi_err="ERROR"),
        "ascend": f.answer("info -t hccs -i 1 -c 0", ascend_samples.hccs(errors=(0,) * 6 + (40,))),
    }),
    "a power cap below its default": ("power_w.limit", "power-limit", "warn", {
        "nvidia": f.xml(current_power_limit="500.00 W"), "amd": f.table("static", limit={"socket_power": unit(550, "W")}),
        "cambricon": f.several(f.lines(("Power/Cap", "200 W")), f.row("", "/ 250 W", "/ 200 W")),
        "hygon": f.of_json("hygon", **{"Max Graphics Package Power (W)": "300.0"}),
        "metax": f.several(f.lines(("Board Power/Limit", "250.000 W")), f.row("", "/ 350W", "/ 250W")),
        "thead": f.lines(("Power Limit", "300.00 W"), ("Enforced Power Limit", "300.00 W")), "gaudi": f.row("", "/ 600W", "/ 450W"),
        "kunlunxin": f.lines(("Enforced Power Limit", "300.00 W")), "enflame": f.lines(("Power Capa", "200 W")),
    }),
    "clocks below their default": ("clocks_mhz.core", "clocks-lowered", "warn", {
        "nvidia": f.xml(applications_clocks__graphics_clock="1305 MHz"),
        "amd": f.table("metric", clock={"gfx_0": {"clk": unit(900, "MHz"), "max_clk": unit(2100, "MHz"), "clk_locked": "ENABLED"}}),
        "thead": f.lines(("Applications Clocks/CU", "900 MHz")),
    }),
    "persistence off": ("persistence", "persistence", "info", {
        "nvidia": f.xml(persistence_mode="Disabled"), "thead": f.lines(("Persistence Mode", "Disabled")), "metax": f.row("", "On", "Off"),
    }),
    "error correction off": ("ecc.mode", "ecc-enabled", "warn", {
        "nvidia": f.xml(current_ecc="Disabled", pending_ecc="Disabled"), "amd": f.table("static", ras={"ecc_block_state": {"UMC": "DISABLED"}}),
        "ascend": f.answer("info -t ecc-enable -i 1", "\tHBM ECC-Enable Status          : False\n"), "iluvatar": f.xml(current_ecc="Disabled"),
        "metax": f.lines(("Ecc state/state", "Disable")), "thead": f.lines(("Ecc Mode/Current", "Disabled"), ("Ecc Mode/Pending", "Disabled")),
        "gaudi": f.gaudi(query=("ecc.mode.current", "disabled")), "kunlunxin": f.lines(("Ecc Mode/Current", "Disabled")),
        "enflame": f.lines(("ECC Mode/Current", "Disable")),
    }),
    "divided though nobody declared it": ("partition.enabled", "partition-declared", "warn", {
        "nvidia": f.xml(current_mig="Enabled", pending_mig="Enabled"), "thead": f.lines(("MIG Mode/Current", "Enabled"), ("MIG Mode/Pending", "Enabled")),
    }),
    "a process that is not ours": ("processes", "foreign-processes", "info", {
        "nvidia": f.process, "amd": f.table("process", process_list=[{"process_info": {"name": "python3", "pid": 4001, "mem_usage": unit(0, "B")}}]),
        "iluvatar": f.process, "cambricon": f.row("", "|  No running processes found       |", "|  1     /   4242   python serve.py        512 MiB |", 0),
        "metax": f.row("", "|  no process found  ", "|  1    4242   python3   512  ", 0), "thead": f.lines(("Processes", "\n        Process ID : 4242")),
        "ascend": f.npu_process,
        "kunlunxin": lambda part: f.log(part, lambda text: text.replace("Processes : None", "Processes\n        Process ID : 4242")),
    }),
    "a part of its memory is missing": ("memory_mib", "product-memory", "fail", {
        "nvidia": f.xml(fb_memory_usage__total="65247 MiB"), "amd": f.table("static", vram={"size": unit(172018, "MB")}),
        "ascend": f.row("info", "3412 / 65536", "3412 / 32768"), "hygon": f.of_json("hygon", **{"vram Total Memory (MiB)": "32752"}),
        "iluvatar": f.xml(memory_usage__total="16384 MiB"), "metax": f.row("", "900/65536 MiB", "900/32768 MiB"),
        "thead": f.lines(("Memory Usage/Total", "81920 MiB")),
        "gaudi": f.several(f.row("", "98304MiB", "65536MiB"), f.gaudi(query=("memory.total", "65536 MiB"))),
        "kunlunxin": f.lines(("Memory Usage/Total", "65536 MiB")), "enflame": f.lines(("Total Size", "21488 MiB")),
        "cambricon": f.several(f.lines(("Physical Memory Usage/Total", "10319 MiB")), f.row("", "20638 MiB", "10319 MiB")),
    }),
    "not joined to its fabric": ("fabric.state", "fabric-state", "fail", {
        "nvidia": f.xml(fabric__state="In Progress", fabric__status="N/A", fabric__cliqueId="N/A", fabric__clusterUuid="N/A"),
        "thead": f.lines(("Fabric/State", "In Progress"), ("Fabric/Status", "N/A")),
    }),
    "in another clique than its neighbors": ("fabric.clique_id", "fabric-clique", "fail", {"thead": f.lines(("Fabric/CliqueId", "4"))}),
    "firmware of another version than its neighbors": ("firmware", "firmware-mixed", "warn", {
        "nvidia": f.xml(vbios_version="96.00.61.00.09"), "amd": f.firmware, "ascend": f.row("info -t board -i 1", "7.5.0.5.220", "7.6.0.1.100", 0),
        "cambricon": f.lines(("Firmware", "v1.1.4")), "hygon": f.of_json("hygon", **{"VBIOS version": "55.29"}), "iluvatar": f.xml(vbios_version="2.1.3"),
        "mthreads": f.of_json("mthreads", **{"MTBios Version": "3.4.1"}), "metax": f.lines(("Version/CCX0", "1.30.0.0")),
        "thead": f.lines(("VBIOS Version", "2.1.5")), "kunlunxin": f.lines(("Firmware Version/ALL Version", "1.0.1")),
    }),
    "sick by the tool's own word": ("health.state", "device-health", "fail", {
        "hygon": f.row("--healthcheck", ": Healthy", ": Unhealthy"), "cambricon": f.lines(("Health/Device", "Bad")),
        "metax": f.row("", "Available", "Unavailable"), "enflame": f.lines(("Health", "False")),
        "ascend": f.several(f.row("info", "| OK ", "| Alarm "), f.answer("info -t health -i 1 -c 0", "\tHealth Status : Alarm\n\tError Code : NA\n")),
    }),
    "it asks for a reset": ("recovery_action", "recovery-action", "fail", {
        "nvidia": f.xml(gpu_recovery_action="Reset"), "thead": f.lines(("PPU Recovery Action", "PPU Reset")),
    }),
}  # fmt: skip
CASES = [(name, maker) for name, entry in CLASSES.items() for maker in f.PRODUCTS if maker in entry[3]]
DECLARED = {"accelerator_policy_partition_declared_on": False}


def told(recorded, **variables):
    """({(rule, level, device)} of what nothing else explains, the rest) without what only informs."""
    judged, _sections = product_nodes.judged(recorded, **variables)
    roots = {(one["rule"], one["level"], one["subject"]["id"]) for one in judged.findings if not one["caused_by"]}
    return roots, {(one["rule"], one["subject"]["id"]) for one in judged.findings if one["caused_by"]}


@pytest.mark.parametrize(("name", "maker"), CASES, ids=["%s: %s" % (maker, name) for name, maker in CASES])
def test_a_fault_of_one_card_is_one_finding_of_that_card(name, maker):
    _place, rule, level, faults = CLASSES[name]
    made, _adapters, _switches = product_nodes.part(f.PRODUCTS[maker])
    faults[maker](made)
    roots, follow = told(product_nodes.recording(f.PRODUCTS[maker], made), **(DECLARED if rule == "partition-declared" else {}))
    card = "%s:1" % maker
    assert (rule, level, card) in roots
    assert {one for one in roots if one[1] != "info"} == ({(rule, level, card)} if level != "info" else set())
    assert {device for _rule, device in follow} <= {card, maker}


# Facts that a tool tells and no class of faults stands for, with the reason.
OTHERWISE = {
    ("retired_pages.uncorrected", "ascend"): "its maker tells no limit: what a suite tolerates: test_sick_values",
    ("retired_pages.uncorrected", "thead"): "the first is a warning: the test below",
    ("temperature_c.core", "ascend"): "its tool tells no limit",
    ("temperature_c.core", "cambricon"): "its tool tells no limit",
    ("temperature_c.core", "hygon"): "its tool tells no limit",
    ("temperature_c.core", "iluvatar"): "its tool tells no limit",
    ("temperature_c.core", "mthreads"): "its tool tells no limit; slowdowns are counted: test_makers_faults",
    ("temperature_c.core", "gaudi"): "its tool tells no limit",
    ("temperature_c.core", "kunlunxin"): "its tool tells no limit",
    ("temperature_c.core", "enflame"): "its tool tells no limit",
    ("power_w.limit", "iluvatar"): "no default of an MR-V100 is known: its neighbors tell, test_sick_values; of a BI-V100: the test below",
    ("power_w.limit", "mthreads"): "no default is known: its neighbors tell, test_sick_values",
    ("links.up", "ascend"): "counted from the topology matrix, where a link that is down is no word of its own",
    ("links.up", "nvidia"): "a link that is down",
    ("links.up", "amd"): "a link that is down",
    ("links.up", "cambricon"): "a link that is down",
    ("links.up", "mthreads"): "a link that is down",
    ("links.up", "thead"): "its tool does not tell which ports the product uses: its neighbors do",
    ("links.total", "amd"): "it counts the neighbors that are there",
    ("links.total", "ascend"): "no count of a product is known: its neighbors tell, test_sick_values",
    ("links.total", "cambricon"): "no count of a product is known: its neighbors tell, test_sick_values",
    ("links.total", "mthreads"): "no count of a product is known: its neighbors tell, test_sick_values",
    ("retired_pages.uncorrected", "mthreads"): "its maker tells no limit: what a suite tolerates: test_sick_values",
    ("health.state", "nvidia"): "what it goes by has its own findings; a corrupt InfoROM: the test below",
    ("links.speed_gb_s", "ascend"): "a link with fewer lanes: the test below",
    ("links.speed_gb_s", "thead"): "no speed of a product is known: its neighbors tell, test_sick_values",
    ("memory_mib", "mthreads"): "its tool tells less while the IOMMU is off in the firmware: unknown",
    ("ecc.mode", "cambricon"): "an MLU370 whose correction is off prints N/A, which the reader takes for off: tests/unit/test_cambricon.py",
    ("partition.enabled", "amd"): "the partition modes are compared in tests/unit/test_amd_partitions.py",
    ("partition.enabled", "ascend"): "test_makers_faults",
    ("partition.enabled", "metax"): "sGPUs are no partition of the card",
    ("fabric.clique_id", "nvidia"): "of a rack: the test below",
    ("processes", "gaudi"): "its table tells processes without the card that they are on",
}  # fmt: skip


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_what_a_tool_tells_has_its_fault(maker):
    """A reader that begins to tell a fact of these needs a recorded fault of it."""
    _judged, sections = product_nodes.judged(product_nodes.recording(f.PRODUCTS[maker]))
    device = sections["accelerators." + maker]["devices"][f.BAD]
    without = set()
    for place, _rule, _level, faults in CLASSES.values():
        value = device
        for key in place.split("."):
            value = value.get(key, {"unknown": ""}) if is_known(value) else value
        if is_known(value) and value != {} and maker not in faults and (place, maker) not in OTHERWISE:
            without.add(place)
    assert without == set()


def recorded(product, change=None, bus=None):
    """A node of this product whose cards, or whose bus, are changed."""
    made, _adapters, _switches = product_nodes.part(product)
    if change:
        change(made)
    told_by_all = product_nodes.recording(product, made)
    if bus:
        bus(told_by_all, made)
    return told_by_all


def grave(found):
    return {one for one in found[0] if one[1] != "info"}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_a_link_of_half_its_lanes(maker):
    words = {
        "nvidia": f.xml(current_link_width="8x"), "amd": f.table("metric", pcie={"width": 8}), "iluvatar": f.xml(current_link_width="8x"),
        "thead": f.lines(("Link Width/Current", "8x")), "kunlunxin": f.lines(("Link Width/Current", "8x")), "enflame": f.lines(("Cur Link Width", "X8")),
    }  # fmt: skip
    found = told(recorded(f.PRODUCTS[maker], words.get(maker), f.narrow(8)))
    assert grave(found) == {("pcie-width", "fail", "%s:1" % maker)}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_a_slot_of_an_older_generation_than_its_neighbors(maker):
    words = {
        "nvidia": f.xml(max_link_gen=3, current_link_gen=3), "amd": f.table("metric", pcie={"speed": unit(8, "GT/s")}),
        "iluvatar": f.xml(max_link_gen="3", current_link_gen="3"), "thead": f.lines(("PCIe Generation/Max", "3"), ("PCIe Generation/Current", "3")),
        "kunlunxin": f.lines(("PCIe Generation/Max", "3"), ("PCIe Generation/Current", "3")),
        "enflame": f.lines(("Max Link Speed", "Gen3"), ("Cur Link Speed", "Gen3")),
    }  # fmt: skip
    found = told(recorded(f.PRODUCTS[maker], words.get(maker), f.narrow(16, 8.0)))
    # where the tool tells what the part alone could, the bus alone tells what the link can
    rule = "pcie-path-capability" if maker in ("amd", "mthreads") else "pcie-generation"
    assert grave(found) == {(rule, "warn", "%s:1" % maker)}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_a_card_that_the_tool_does_not_list(maker):
    found = told(recorded(f.PRODUCTS[maker], f.lose), accelerator_expected_count=8)
    assert {(rule, level) for rule, level, _subject in grave(found)} == {("detection-agrees", "fail")}


FAIL, WARN = "fail", "warn"
OF_ONE = {
    "cards of one rack in two cliques": ("GB200", f.xml(cliqueId=4), {("fabric-clique", FAIL, "nvidia:1")}),
    "cards of one rack in two clusters": ("GB300", f.xml(clusterUuid="11111111-77aa-4e0d-b3c2-0f61e5a4d7b8"), {("fabric-clique", FAIL, "nvidia:1")}),
    "its fabric has no route": ("GB200", f.xml(route_unhealthy="True", fabric__summary="Unhealthy"), {("fabric-health", FAIL, "nvidia:1")}),
    "its fabric gives half": ("GB200", f.xml(bandwidth="Degraded", fabric__summary="Unhealthy"), {("fabric-health", FAIL, "nvidia:1")}),
    "pages that wait": ("T4", f.xml(pending_retirement="Yes"), {("retired-pages-pending", FAIL, "nvidia:1")}),
    "too many pages": ("T4", f.xml(double_bit_retirement__retired_count=60), {("retired-pages", FAIL, "nvidia:1")}),
    "held by the power brake": ("L40S", f.xml(clocks_event_reason_hw_slowdown="Active"), {("throttle-hardware", FAIL, "nvidia:1")}),
    "held by heat for days": ("L40S", f.xml(clocks_event_reasons_counters_hw_therm_slowdown="900000000000 us"), {("throttle-history", WARN, "nvidia:1")}),
    "GSP of another driver": ("H100 PCIe", f.xml(gsp_firmware_version="570.86.15"), {("firmware-driver", WARN, "nvidia:1")}),
    "another InfoROM": ("H100 PCIe", f.xml(img_version="1010.0200.00.01"), {("firmware-mixed", WARN, "nvidia:1")}),
    "a corrupt InfoROM": ("H100 PCIe", f.inforom, {("device-health", WARN, "nvidia:1")}),
    "SRAM above its threshold": ("H200 SXM", f.xml(sram_threshold_exceeded="Yes"), {("ecc-sram-threshold", FAIL, "nvidia:1")}),
    "a channel that waits for its repair": ("B200", f.xml(channel_repair_pending="Yes"), {("memory-repair", WARN, "nvidia:1")}),
    "memory that nobody holds": ("A100 SXM 80 GB", f.xml(fb_memory_usage__used="70112 MiB"), {("memory-in-use", WARN, "nvidia:1")}),
    "work that nobody has": ("A100 SXM 80 GB", f.xml(gpu_util="97 %"), {("busy-without-process", WARN, "nvidia:1")}),
    "another compute mode": ("A10", f.xml(compute_mode="Prohibited"), {("compute-mode", WARN, "nvidia:1")}),
    "a mode that waits for a reset": ("A100 PCIe 80 GB", f.xml(pending_mig="Enabled"), {("mode-pending", WARN, "nvidia:1")}),
    "capped as a whole": ("BI-V100", f.xml(current_gpu_power_limit="180 W"), {("power-limit", WARN, "iluvatar:1")}),
    "less power than its kind": ("MI300A", f.table("static", limit={"socket_power": unit(500, "W")}), {("power-limit", WARN, "amd:1")}),
    "replace it, the maker says": ("Enflame S60", f.lines(("Flags", "True")), {("device-health", FAIL, "enflame:1")}),
    "more bad pages than its driver allows": ("MI325X", f.table("static", ras={"bad_page_threshold_exceeded": "True"}), {("device-health", FAIL, "amd:1")}),
    "errors that were deferred": ("MI355X", f.table("metric", ecc={"total_deferred_count": 2}), {("ecc-deferred", WARN, "amd:1")}),
    "a link without two of its lanes": (
        "Ascend 910B2", f.answer("info -t hccs -i 1 -c 0", ascend_samples.hccs(modes=(4,) * 6 + (2,))), {("hccs-health", FAIL, "ascend:1")},
    ),
    "a page that was retired": ("PPU-ZW810E", f.lines(("Retired Pages/Double Bit ECC", "1")), {("retired-pages", WARN, "thead:1")}),
    "half a module": ("MI300A", f.table("static", vram={"size": unit(65536, "MB")}), {("mixed-models", FAIL, "amd")}),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE)
def test_a_fault_that_only_some_products_have(name):
    product, change, expected = OF_ONE[name]
    assert grave(told(recorded(product, change))) == expected


def kernel(made, *said):
    entry = next(entry for entry in made["commands"] if entry["argv"][0] == "journalctl")
    entry["stdout"] += "".join("[  %d.500000] gpu-h02 kernel: %s\n" % (4000 + number, line) for number, line in enumerate(said))


FELL = "NVRM: Xid (PCI:%s): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def test_a_card_that_fell_off_the_bus():
    def bus(made, part):
        kernel(made, FELL % part.addresses[-1][:-2])
        made["files"]["/sys/bus/pci/devices"]["dir"].remove(part.addresses[-1])

    found = told(recorded("H100 SXM 80 GB", f.lose, bus), accelerator_expected_count=8)
    assert grave(found) == {("device-vanished", FAIL, "node")}
    assert {rule for rule, _subject in found[1]} == {"accelerator-count", "kernel-accelerator-events"}


@pytest.mark.parametrize("maker", f.PRODUCTS)
def test_the_slot_of_a_card_that_is_gone_stands_under_it_and_that_of_another_does_not(maker):
    def slot(number, gone):
        def changed(made, part):
            kernel(made, "pcieport 0000:%s:01.0: pciehp: Slot(7): Link Down" % part.addresses[number][5:7])
            if gone:
                made["files"]["/sys/bus/pci/devices"]["dir"].remove(part.addresses[-1])

        return changed

    found = told(recorded(f.PRODUCTS[maker], f.lose, slot(-1, True)), accelerator_expected_count=8)
    assert grave(found) == {("accelerator-count", FAIL, "node")} and "kernel-pcie-errors" in {rule for rule, _subject in found[1]}
    found = told(recorded(f.PRODUCTS[maker], None, slot(0, False)), accelerator_expected_count=9)
    assert {rule for rule, _level, _subject in grave(found)} == {"accelerator-count", "kernel-pcie-errors"}


def test_what_follows_from_a_card_that_fell_off_the_bus():
    """Its slot, the links that switches had with it, a program that waits for it."""

    def bus(made, part):
        address = part.addresses[-1]
        slot, switch = (
            "pcieport 0000:%s:01.0: pciehp: Slot(7): Link Down" % address[5:7],
            "nvidia-nvswitch0: SXid (PCI:0000:b0:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        )
        kernel(made, slot, FELL % address[:-2], switch, "INFO: task python3:4711 blocked for more than 120 seconds.")
        made["files"]["/sys/bus/pci/devices"]["dir"].remove(address)

    found = told(recorded("H100 SXM 80 GB", f.lose, bus), accelerator_expected_count=8)
    assert grave(found) == {("device-vanished", FAIL, "node")}
    assert {rule for rule, _subject in found[1]} == {
        "accelerator-count", "kernel-accelerator-events", "kernel-pcie-errors", "kernel-nvswitch-errors", "kernel-lockups",
    }  # fmt: skip


def test_a_card_that_vanished_takes_a_link_from_each_it_was_linked_with():
    """AMD's cards are linked with each other; no switch is between."""

    def links(document):
        for number, one in enumerate(document["link_port_status"]):
            one["link_status"][0 if number else 1] = "D"

    def bus(made, part):
        kernel(made, "amdgpu %s: amdgpu: GPU reset(1) failed" % part.addresses[-1])
        made["files"]["/sys/bus/pci/devices"]["dir"].remove(part.addresses[-1])

    found = told(recorded("MI300X", f.several(f.lose, f.xgmi(links)), bus), accelerator_expected_count=8)
    assert grave(found) == {("device-vanished", FAIL, "node")}
    assert {("links-up", "amd:%d" % number) for number in range(7)} < found[1]


def test_a_card_that_is_lost_and_still_listed():
    found = told(recorded("H100 SXM 80 GB", f.lost, lambda made, part: kernel(made, FELL % part.addresses[1][:-2])))
    assert grave(found) == {("device-lost", FAIL, "nvidia:1")}


def test_the_allocation_of_a_lost_card_stands_under_it():
    found = told(recorded("H100 SXM 80 GB", f.lost), accelerator_modes=["sliced", "partitioned", "visibility"])
    assert grave(found) == {("device-lost", FAIL, "nvidia:1")}
    assert {rule for rule, _subject in found[1]} >= {"row-sliced-runtime-loaded", "row-mig-partitioning"}


def service(made, name, **state):
    entry = next(entry for entry in made["commands"] if entry["argv"][:2] == ["systemctl", "show"] and "nvidia-imex.service" in entry["argv"])
    blocks = entry["stdout"].split("\n\n")
    for number, block in enumerate(blocks):
        if "Id=%s.service" % name in block:
            blocks[number] = "Id=%s.service\nLoadState=loaded\nActiveState=%s\nSubState=%s" % (name, state["active"], state["sub"])
    entry["stdout"] = "\n\n".join(blocks)


@pytest.mark.parametrize("product", ["A100 SXM 80 GB", "H100 SXM 80 GB", "B200"])
def test_a_fabric_manager_that_is_dead(product):
    found = told(recorded(product, None, lambda made, _part: service(made, "nvidia-fabricmanager", active="failed", sub="failed")))
    assert {one[:2] for one in grave(found)} == {("fabric-manager", FAIL)}


def failed_units(made, *names):
    entry = next(entry for entry in made["commands"] if entry["argv"] == systemd_units.FAILED)
    entry["stdout"] = "".join("%s.service loaded failed failed %s\n" % (name, name) for name in names)


def test_a_kernel_without_the_driver_and_the_daemons_that_ended():
    def silent(part):
        part.natives = {"nvml": {"error": "NVML_ERROR_DRIVER_NOT_LOADED"}}
        for entry in part.commands:
            entry.update(rc=9, stdout="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")

    def started(made, part):
        files, release = made["files"], host_samples.NEXT
        made["host"]["uname"]["release"] = release
        files["/lib/modules"] = {"dir": [release, host_samples.RELEASE]}
        files.update({"/lib/modules/%s/modules.dep" % release: {"exists": True}, "/sys/module": {"dir": ["module", "mlx5_core"]}})
        files.update({path: {"absent": True} for path in files if path.startswith("/sys/module/nvidia")})
        files.update({path: {"absent": True} for path in files if any(path.endswith(address + "/driver") for address in part.addresses)})
        for name in ("nvidia-fabricmanager", "nvidia-persistenced"):
            service(made, name, active="failed", sub="failed")
        failed_units(made, "nvidia-fabricmanager", "nvidia-persistenced")

    found = told(recorded("H100 SXM 80 GB", silent, started), accelerator_expected_count=8)
    assert grave(found) == {("driver-built", FAIL, "node")}
    assert {rule for rule, _subject in found[1]} >= {"accelerators-detected", "fabric-manager", "service-failed"}


def test_a_fabric_manager_that_failed_is_one_finding():
    def change(made, _part):
        service(made, "nvidia-fabricmanager", active="failed", sub="failed")
        failed_units(made, "nvidia-fabricmanager")

    found = told(recorded("H100 SXM 80 GB", None, change))
    assert {one[:2] for one in grave(found)} == {("fabric-manager", FAIL)} and ("service-failed", "node") in found[1]


def test_a_memory_exchange_that_is_dead():
    found = told(recorded("GB200", None, lambda made, _part: service(made, "nvidia-imex", active="failed", sub="failed")))
    assert {one[:2] for one in grave(found)} == {("imex-service", WARN)}


def test_a_driver_that_was_updated_below_its_tool():
    def change(part):
        for entry in part.commands:
            entry.update(rc=18, stdout="Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n")

    found = told(recorded("H100 SXM 80 GB", change))
    assert {one[:2] for one in grave(found)} == {("driver-library-match", FAIL)}
