# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of npu-smi: every layout, and everything that must not become a smaller number."""

from __future__ import annotations

import ascend_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import npu_smi, npu_smi_words
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why


def parse(*arguments, **options):
    return npu_smi.parse_info(samples.table(*arguments, **options))


def test_every_layout_is_told_apart_without_its_header():
    for layout, extra, family in (
        ("plain", {}, "910B"),
        ("plain", {"ddr": "1204 / 15137", "hbm": "2 / 32768", "name": "910B"}, "910"),
        ("phy", {"second": 6, "name": "Ascend910"}, "910C"),
        ("device", {"second": 0, "name": "310P3", "hbm": "1210 / 21527"}, "310P"),
        ("device", {"second": 0, "name": "310", "hbm": "500 / 7759"}, "310"),
        ("950", {}, "950"),
    ):
        text = samples.table(layout, [dict({"npu": 5}, **extra)])
        for shown in (text, text.replace("NPU ", "设备 ").replace("Chip", "芯片").replace("Health", "健康")):
            table = npu_smi.parse_info(shown)
            assert table["problems"] == [], layout
            (chip,) = table["chips"]
            assert (npu_smi.layout(chip), npu_smi.family(chip)) == (layout, family)
            assert (chip["npu"], chip["chip"], chip["power"], chip["temperature"], chip["use"]) == (5, 0, "91.5", "41", "0")


def test_a_family_that_cannot_be_told_is_unknown():
    odd = ("device", {"second": 0, "name": "xxx", "hbm": "1 / 2"}), ("plain", {"ddr": "NA / NA"}), ("plain", {"ddr": "", "hbm": "broken"})
    for layout, extra in odd:
        (chip,) = parse(layout, [dict({"npu": 0}, **extra)])["chips"]
        assert is_unknown(npu_smi.family(chip)), extra


def test_versions_of_the_tool_and_of_the_driver():
    table = parse("plain", [{"npu": 0}], tool="25.0.rc1", driver="24.1.rc3")
    assert (table["tool"], table["driver"]) == ("25.0.rc1", "24.1.rc3")


def test_lines_around_the_frame_are_noise():
    text = "[INFO preload] compute limit: 50 | memory limit: 8192\n设备列表\n%s[WARNING]The driver package may not be complete.\n"
    text %= samples.table("plain", [{"npu": 0}])
    table = npu_smi.parse_info(text)
    assert (len(table["chips"]), len(table["noise"]), table["problems"]) == (1, 3, [])


def test_a_wide_word_and_a_missing_blank_move_the_columns():
    text = samples.table("plain", [{"npu": 0, "health": "Warning"}, {"npu": 1, "hbm": "61000/ 65536"}])
    text = text.replace("| Warning       |", "| Warning               |")
    first, second = npu_smi.parse_info(text)["chips"]
    assert (first["health"], first["power"], second["pairs"][-1]) == ("Warning", "91.5", ("61000", "65536"))


def test_broken_borders_are_borders():
    text = samples.table("plain", [{"npu": 0}, {"npu": 1}]).replace("=+=", "-=+", 3).replace("+===", "==", 1)
    assert npu_smi.parse_info(text)["problems"] == []


def test_left_out_rows_make_the_list_incomplete_but_not_in_the_process_table():
    chips = samples.table("plain", [{"npu": 0}, {"npu": 7}], processes=[(0, 0, 11), 7])
    lines = chips.splitlines()
    after_first = lines.index(samples.BORDER, lines.index(samples.BORDER) + 1) + 1
    for dots in ("...", "......", "…"):
        assert npu_smi.parse_info("\n".join([*lines[:after_first], dots, *lines[after_first:]]))["problems"]
        assert not npu_smi.parse_info("\n".join([*lines[:-1], dots, lines[-1]]))["problems"]


def test_every_cut_is_noticed_or_ends_at_a_border():
    text = samples.table("phy", [{"npu": 0, "chip": 0, "second": 0}, {"npu": 0, "chip": 1, "second": 1, "power": "-"}])
    whole = len(npu_smi.parse_info(text)["chips"])
    for length in range(len(text)):
        table = npu_smi.parse_info(text[:length])
        last = text[:length].rstrip().split("\n")[-1]
        if len(table["chips"]) < whole and table["chips"]:
            assert table["problems"] or last.startswith("+"), text[:length][-60:]
        for chip in table["chips"]:  # a number that was cut in the middle is never shown
            assert chip["pairs"] in ([], [("0", "0"), ("3412", "65536")])
            assert chip["power"] in (None, "91.5", "-")


def test_rows_without_their_pair_and_doubles_are_problems():
    good = samples.table("plain", [{"npu": 0}, {"npu": 1}]).splitlines()
    second = next(i for i, line in enumerate(good) if "0000:" in line)
    assert npu_smi.parse_info("\n".join(good[:second] + good[second + 1 :]))["problems"] == ["NPU 0 has no second line"]
    assert "without its NPU" in npu_smi.parse_info("\n".join(good[: second - 1] + good[second:]))["problems"][0]
    twice = npu_smi.parse_info(samples.table("plain", [{"npu": 3}, {"npu": 3}]))
    assert (len(twice["chips"]), twice["problems"]) == (1, ["NPU 3 chip 0 is printed twice"])


def test_processes_are_counted_per_chip_in_both_tables():
    table = parse("phy", [{"npu": 0, "second": 0}], processes=[(0, 0, 901), (0, 1, 902), (0, 1, 903), 1])
    assert table["processes"] == {0: {0: 1, 1: 2}, 1: {}}
    assert parse("950", [{"npu": 2}], processes=[(2, 0, 901), (2, 0, 902)])["processes"] == {2: {0: 2}}


def test_the_column_of_containers_hides_no_process():
    for layout, chips in (("plain", [{"npu": 0}, {"npu": 1}]), ("950", [{"npu": 0}, {"npu": 1}])):
        table = parse(layout, chips, processes=[(0, 0, 611), (0, 0, 612), 1], containers=True)
        assert table["processes"] == {0: {0: 2}, 1: {}}
        assert (len(table["chips"]), table["problems"]) == (2, [])


def test_no_card_is_said_and_nothing_is_not():
    assert npu_smi.parse_info("There is no NPU card on this server.\n")["none"] is True
    for text in ("", "\n\n", "|", "||||", "|  |  |  |", "+", "...", "x" * 5000, "\x00\xff|", "| ² x | OK | 1 2 3/4 |"):
        table = npu_smi.parse_info(text)
        assert (table["chips"], table["none"]) == ([], False)


def test_mapping_in_its_three_forms():
    plain = samples.mapping([(4, 0, 0, "Ascend 910B3"), (4, 1, "-", "Mcu"), (5, 0, 1, "Ascend 910B3")])
    assert npu_smi.parse_mapping(plain) == {(4, 0): {"logic_id": 0, "name": "Ascend 910B3"}, (5, 0): {"logic_id": 1, "name": "Ascend 910B3"}}
    phy = samples.mapping([(0, 1, 1, 3, "Ascend910"), (0, 2, "-", "-", "Mcu")], ("NPU ID", "Chip ID", "Chip Logic ID", "Chip Phy-ID", "Chip Name"))
    assert npu_smi.parse_mapping(phy) == {(0, 1): {"logic_id": 1, "phy_id": 3, "name": "Ascend910"}}
    slot = samples.mapping([(0, 6, 0, 2, "Ascend950PR")], ("NPU ID", "Slot ID", "Chip ID", "Chip Phy-ID", "Chip Name"))
    assert npu_smi.parse_mapping(slot) == {(0, 0): {"slot_id": 6, "phy_id": 2, "name": "Ascend950PR"}}
    assert npu_smi.parse_mapping("4 0 0 Ascend 910B3\n") == {}


def test_the_list_counts_boards():
    assert npu_smi.parse_list(samples.listing([0, 1, 5])) == 3
    assert npu_smi.parse_list(samples.listing([0, 1, 5]).split("NPU ID                         : 5")[0]) == 3  # the stated total
    assert npu_smi.parse_list("There is no NPU card on this server.") == 0
    assert npu_smi.parse_list("garbage") is None


@pytest.mark.parametrize("last", [True, False])
def test_ecc_blocks_belong_to_their_chip(last):
    text = samples.ecc([(0, {}), (1, {"HBM Double Bit Error Count": 3, "DDR Single Bit Error Count": 2, "HBM Single Bit Error Count": 5})], last=last)
    blocks = npu_smi_words.parse_blocks(text)
    assert npu_smi.counters(npu_smi.block_of(blocks, 0, False))[0]["uncorrected_volatile"] == 0
    ecc, pages, raw = npu_smi.counters(npu_smi.block_of(blocks, 1, False))
    assert (ecc["uncorrected_volatile"], ecc["corrected_volatile"], raw["hbm_double_bit_error_count"]) == (3, 7, 3)
    assert is_unknown(pages["pending"])
    assert is_unknown(npu_smi.block_of(blocks, 2, False))


def test_ecc_of_a_310_in_its_own_words():
    """One pair of counters a chip, without the name of a memory; what this product does not count is no gap."""
    text = "".join("\tSingle-bit Error Count : %d\n\tDouble-bit Error Count : %d\n\tChip ID : %d\n" % (7 * n, n, n) for n in range(3))
    ecc, pages, raw = npu_smi.counters(npu_smi.block_of(npu_smi_words.parse_blocks(text), 2, False), "310")
    assert (ecc["corrected_volatile"], ecc["uncorrected_volatile"], raw["single_bit_error_count"]) == (14, 2, 14)
    assert all(map(is_not_applicable, (ecc["corrected_aggregate"], ecc["uncorrected_aggregate"], *pages.values())))
    assert is_unknown(npu_smi.counters({"Single-bit Error Count": "3"}, "310")[0]["uncorrected_volatile"])


def test_pages_that_wait_for_a_reset():
    (block,) = npu_smi_words.parse_blocks(samples.ecc([(0, {"HBM Double Bit Isolated Pages Count": 4})], kinds=("HBM",), waiting=1))
    _ecc, pages, raw = npu_smi.counters(block)
    assert pages == {"corrected": 0, "uncorrected": 4, "pending": True}
    assert raw["hbm_double_bit_next_isolated_pages_count"] == 1


def test_a_counter_that_is_no_number_is_unknown_and_takes_its_sum_along():
    (block,) = npu_smi_words.parse_blocks(samples.ecc([(0, {"DDR Double Bit Error Count": "NA"})]))
    ecc, pages, _raw = npu_smi.counters(block)
    assert is_unknown(ecc["uncorrected_volatile"])
    assert (ecc["uncorrected_aggregate"], pages["uncorrected"]) == (0, 0)
    assert all(is_unknown(value) for key, value in npu_smi.counters({})[0].items() if key != "sram_threshold_exceeded")


def test_the_page_counters_of_the_950_and_of_a_product_without_them():
    (block,) = npu_smi_words.parse_blocks("\tHBM Double Bit Error Count : 0\n\tHBM Pending Retire Page Count : 2\n\tHBM Isolated Page Count : 5\n")
    _ecc, pages, _raw = npu_smi.counters(block, "950")
    assert (pages["pending"], pages["uncorrected"], is_unknown(pages["corrected"])) == (True, 5, True)
    assert is_not_applicable(npu_smi.counters({"HBM Double Bit Error Count": "0"}, "910")[1]["pending"])


def test_ecc_switched_off_anywhere_is_off():
    def mode(*words):
        return npu_smi.ecc_mode(
            npu_smi_words.parse_blocks("".join("\t%s ECC-Enable Status : %s\n" % (kind, word) for kind, word in zip(("DDR", "HBM"), words)))
        )

    assert (mode("True", "True"), mode("True", "False"), mode("True")) == ("enabled", "disabled", "enabled")
    assert is_unknown(mode("NA"))
    assert is_unknown(npu_smi.ecc_mode(None))


def test_health_text_with_several_lines_and_the_mcu():
    text = "\tHealth Status : Alarm\n\tError Code : 80E01801 80CB8009\n\tError Information : one\n\n\t  : two\n"
    blocks = npu_smi_words.parse_blocks(text + "\n\tChip Name : mcu\n\tHealth Status : OK\n")
    assert blocks == [{"Health Status": "Alarm", "Error Code": "80E01801 80CB8009", "Error Information": "one; two"}]


def test_links_full_mesh_isolated_and_groups():
    labels = ["NPU%d" % n for n in range(4)]
    assert npu_smi.links_of("NPU1", npu_smi.parse_topo(samples.topo(labels, cpus="0-23"))) == {"kind": "hccs", "total": 3, "up": 3, "down": []}
    lonely = npu_smi.parse_topo(samples.topo(labels, lambda mine, peer: "SYS" if "NPU2" in (mine, peer) else "HCCS"))
    assert npu_smi.links_of("NPU2", lonely) == {"kind": "hccs", "total": 2, "up": 0, "down": npu_smi.links_of("NPU2", lonely)["down"]}
    assert npu_smi.links_of("NPU0", lonely)["up"] == 2
    one = npu_smi.parse_topo(samples.topo(labels, lambda mine, peer: "PIX" if {mine, peer} == {"NPU0", "NPU3"} else "HCCS"))
    assert npu_smi.links_of("NPU3", one) == {"kind": "hccs", "total": 3, "up": 2, "down": [0]}


def test_links_that_do_not_exist_or_are_not_told():
    labels = ["NPU0", "NPU1"]
    assert is_not_applicable(npu_smi.links_of("NPU0", npu_smi.parse_topo(samples.topo(labels, lambda mine, peer: "PHB"))))
    assert is_unknown(npu_smi.links_of("NPU0", npu_smi.parse_topo(samples.topo(labels, lambda mine, peer: "NA")))["up"])
    assert is_unknown(npu_smi.links_of("NPU7", npu_smi.parse_topo(samples.topo(labels))))
    cut = npu_smi.parse_topo("\n".join(samples.topo(labels).splitlines()[:2]) + "\nNPU1       HCC")
    assert is_unknown(npu_smi.links_of("NPU1", cut))
    die = npu_smi.parse_topo(samples.topo(["Phy-ID0", "Phy-ID1", "Phy-ID2"], lambda mine, peer: "SIO" if "Phy-ID2" not in (mine, peer) else "HCCS_SW"))
    assert npu_smi.links_of("Phy-ID0", die) == {"kind": "hccs", "total": 2, "up": 2, "down": []}


def test_links_of_a_950_and_the_columns_of_adapters():
    def told(count, word):
        labels = ["NPU%d" % n for n in range(count)]
        lines = samples.topo(labels, lambda mine, peer: word, cpus="0-23").splitlines()
        lines[0] = lines[0].replace("CPU Affinity", "NIC0        NIC1        CPU Affinity")
        lines[1 : count + 1] = [line.replace("0-23", "SYS        PHB        0-23") for line in lines[1 : count + 1]]
        lines[count + 1 : count + 1] = ["NIC0       " + "SYS        " * count + "X          NA", "NIC1       " + "PHB        " * count + "NA         X"]
        return npu_smi.parse_topo("\n".join(lines))

    assert npu_smi.links_of("NPU1", told(3, "UB")) == {"kind": "ub", "total": 2, "up": 2, "down": []}
    assert npu_smi.links_of("NPU0", told(4, "HCCS")) == {"kind": "hccs", "total": 3, "up": 3, "down": []}
    assert is_not_applicable(npu_smi.links_of("NPU0", told(1, "UB")))
    assert npu_smi.parse_topo("\t   Phy-ID4    NIC0\nPhy-ID4    X          SYS\nNIC0       SYS        X\n") == (["Phy-ID4"], {"Phy-ID4": {}})


def test_trouble_names_the_code_and_the_refusal():
    assert "upgraded without a reboot" in npu_smi_words.trouble("DrvMng failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n")[0]
    assert npu_smi_words.trouble("Failed, ret is -8010")[0].endswith("(send failed)")
    assert npu_smi_words.trouble("This device does not support querying topo.") == ("This device does not support querying topo.", True)
    assert npu_smi_words.trouble("Invalid card id.\nUsage: npu-smi info <watch>") == ("Invalid card id. (usage text)", False)
    assert npu_smi_words.trouble("") == ("no output", False)


@pytest.mark.parametrize("text", ["", "NA", "-", "xxx", "N/A", "--", "None", "ERR!", "12x", "0x", "٣x", None])
def test_no_such_text_is_a_number(text):
    value = npu_smi.quantity(text, "anything")
    assert not is_known(value)
    assert why(value)


def test_numbers_out_of_range_are_unknown():
    assert is_unknown(npu_smi.quantity("32767", "Temp(C)", -60, 200))
    assert npu_smi.quantity("107", "Temp(C)", -60, 200) == 107
