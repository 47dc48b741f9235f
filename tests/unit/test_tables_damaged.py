# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of which a line was lost, came twice or was the last: never ok with another number of cards. What harms nothing changes nothing."""

from __future__ import annotations

import amd_samples
import cambricon_samples
import further_samples
import gmi_samples
import metax_samples
import pytest
import thead_samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

REFUSED = {"rc": 1, "stderr": "usage: no such option"}
MTHREADS = [("MTT S4000", "16x(16x)", "30MiB(49152MiB)", "44C", "N/A")] * 3
ILUVATAR = [("Iluvatar MR-V100", "41C", "61W / 150W", "64MiB", "32768MiB")] * 3
GAUDI = [("HL-225", "27C", "91W", "600W", "768MiB", "98304MiB", "0")] * 3
KUNLUNXIN = [("P800 OAM", "44C", "88W", "310MiB", "98304MiB")] * 3
ENFLAME = [("Enflame S60", "00:%02x:00.0" % (0x30 + n), "39C", "97W  300W", "42976MiB", "5B1100%d" % n) for n in range(3)]


def cnmon(text):
    return cambricon_samples.read({"": text, "info": REFUSED}, pci=[])


def efsmi(text):
    return further_samples.read("enflame", {"-q": REFUSED, "": text})


def amd_default(text):
    return amd.collect(amd_samples.replay(dict.fromkeys(amd_samples.WORDS, REFUSED), more=[("amd-smi", text)]), [])


def amd_view(count):
    rule = "|" + "-" * 37 + "+" + "-" * 40 + "|\n"
    text = "+" + "-" * 78 + "+\n| AMD-SMI 26.1.0+0a1b2c3d     amdgpu version: 6.16.6   ROCm version: 7.1.0    |\n" + rule
    text += "| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |\n"
    text += "| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |\n" + rule.replace("-", "=")
    cards = []
    for n in range(count):
        cards.append("| 0000:%s:00.0    AMD Instinct MI300X | 0 %%      41 °C   0           141/750 W |\n" % amd_samples.BUSES[n])
        cards[-1] += "| %3d %7d %7d        SPX/NPS1 | 3 %%        N/A           283/196592 MB |\n" % (n, n, n)
    text += rule.join(cards) + rule.replace("|", "+") + "+" + "-" * 78 + "+\n| Processes:                                                                   |\n"
    return text + "|  No running processes found                                                  |\n+" + "-" * 78 + "+\n"


# how the table is read when nothing else answers, and a table of three cards
TABLES = {
    "amd": (amd_default, amd_view(3)),
    "cambricon": (cnmon, cambricon_samples.table([{"index": n} for n in range(3)])),
    "cambricon, old": (cnmon, cambricon_samples.table([{"index": n} for n in range(3)], old=True)),
    "enflame": (efsmi, further_samples.ef_table(ENFLAME)),
    "enflame, old": (efsmi, further_samples.ef_table(ENFLAME, "*", "UUID")),
    "gaudi": (lambda text: further_samples.read("gaudi", {"": text, further_samples.HL_QUERY: REFUSED}), further_samples.hl_table(GAUDI)),
    "iluvatar": (lambda text: gmi_samples.read("iluvatar", {"": text}), gmi_samples.ixsmi_table(ILUVATAR)),
    "kunlunxin": (lambda text: further_samples.read("kunlunxin", {"-q": REFUSED, "": text}), further_samples.xpu_table(KUNLUNXIN)),
    "metax": (lambda text: metax_samples.read({"": text}), metax_samples.table([{"index": n} for n in range(3)])),
    "mthreads": (lambda text: gmi_samples.read("mthreads", {"": text}), gmi_samples.gmi_table(MTHREADS)),
    "thead": (lambda text: thead_samples.read({"-q": REFUSED, "": text}), thead_samples.table([{"index": n} for n in range(3)])),
}  # fmt: skip
NO_END = ("enflame", "enflame, old")  # whole cards cut away are not missed there: PCI counts them


def verdict(section):
    count = section["detection"]["accelerators"]
    return section["detection"]["state"], count if is_known(count) else "?"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_damaged_table_is_never_ok_with_another_count(name):
    read, text = TABLES[name]
    lines = text.splitlines(keepends=True)
    assert verdict(read(text)) == ("ok", 3)
    for n, line in enumerate(lines):
        damaged = {"lost": lines[:n] + lines[n + 1 :], "twice": lines[: n + 1] + lines[n:], "half": [*lines[:n], line[: len(line) // 2]]}
        damaged["last"] = lines[:n]
        for way, rest in damaged.items():
            state, count = verdict(read("".join(rest)))
            whole_cards = name in NO_END and way in ("last", "half")
            assert state != "ok" or count == 3 or whole_cards, (way, n, line)
            assert state != "not-declared", (way, n, line)
    state, count = verdict(read(text + "\n" + text))
    assert (state, count) == ("ok", 3) or state == "unavailable"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_harms_nothing_changes_nothing(name):
    read, text = TABLES[name]
    whole = read(text)["devices"]
    lines = text.splitlines()
    for same in (
        "\r\n".join(lines), "WARNING: a library has something to say\n" + text, "\n".join(line + "   " for line in lines), "\ufeff" + text,
        "\n".join("\x1b[32m%s\x1b[0m" % line for line in lines), "\n".join("    " + line for line in lines),
    ):  # fmt: skip
        section = read(same)
        assert (verdict(section), section["devices"]) == (("ok", 3), whole)


def test_two_cards_at_one_address_are_no_count():
    rows = [{"index": 0}, {"index": 1, "middle": cambricon_samples.ADDRESSES[0].upper()}]
    section = cambricon_samples.read({"": cambricon_samples.table(rows), "info": REFUSED}, pci=[])
    assert verdict(section) == ("unavailable", "?") and "more than one at 0000:1a:00.0" in section["detection"]["reason"]


PARTS = {
    "enflame -q": lambda said: further_samples.read("enflame", {"-q": said(further_samples.ef_query([{}, {}]))}),
    "enflame": lambda said: further_samples.read("enflame", {"-q": REFUSED, "": said(further_samples.ef_table(ENFLAME[:2]))}),
    "gaudi": lambda said: further_samples.read("gaudi", {"": said(further_samples.hl_table(GAUDI[:2])), further_samples.HL_QUERY: REFUSED}),
    "gaudi -Q": lambda said: further_samples.read("gaudi", {"": REFUSED, further_samples.HL_QUERY: said(further_samples.hl_csv(2))}),
    "iluvatar -q -x": lambda said: gmi_samples.read("iluvatar", {"-q -x": said(gmi_samples.ixsmi_xml([{}, {}]))}),
    "iluvatar": lambda said: gmi_samples.read("iluvatar", {"": said(gmi_samples.ixsmi_table(ILUVATAR[:2]))}),
    "kunlunxin -q": lambda said: further_samples.read("kunlunxin", {"-q": said(further_samples.xpu_query([{}, {}]))}),
    "kunlunxin": lambda said: further_samples.read("kunlunxin", {"-q": REFUSED, "": said(further_samples.xpu_table(KUNLUNXIN[:2]))}),
    "mthreads -q -j": lambda said: gmi_samples.read("mthreads", {"-q -j": said(gmi_samples.gmi_json([gmi_samples.gmi_card(n) for n in range(2)]))}),
    "mthreads": lambda said: gmi_samples.read("mthreads", {"": said(gmi_samples.gmi_table(MTHREADS[:2]))}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(PARTS))
def test_what_a_tool_printed_before_it_failed_may_not_be_all(name):
    assert verdict(PARTS[name](lambda text: {"stdout": text})) == ("ok", 2)
    section = PARTS[name](lambda text: {"stdout": text, "rc": 139, "stderr": "Segmentation fault\n"})
    assert verdict(section) == ("unavailable", "?") and "exit 139: Segmentation fault" in section["detection"]["reason"]
    assert len(section["devices"]) == 2
