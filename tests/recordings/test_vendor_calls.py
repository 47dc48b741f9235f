# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the vendors' tools and libraries are asked on a healthy node: one call for all cards wherever the tool knows such a call."""

from __future__ import annotations

import nine
import pytest

# calls of <manufacturer>_info and of allocation_info on a node of eight cards; npu-smi and hccn_tool alone answer some questions only for one card
CALLS = {
    "amd": (8, 1), "ascend": (69, 8), "cambricon": (3, 1), "hygon": (4, 1), "iluvatar": (3, 1), "metax": (5, 1), "mthreads": (3, 1), "nvidia": (4, 1),
    "thead": (3, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", nine.PARTS)
def test_a_healthy_node(name):
    read, granted = nine.calls(name, 8)
    assert (len(read), len(granted)) == CALLS[name], read + granted
    assert len(set(read + granted)) == len(read + granted), "asked twice"
    if name != "ascend":
        assert len(read + granted) == sum(map(len, nine.calls(name, 2))), "more for more cards"


def test_what_npu_smi_is_asked_of_each_card():
    asked = [call for part in nine.calls("ascend", 8) for call in part if call.startswith("npu-smi")]
    assert sorted(call for call in asked if " -i 7" in call) == sorted("npu-smi info -t " + words for words in (
        "ecc -i 7", "board -i 7", "ecc-enable -i 7", "board -i 7 -c 0", "hccs -i 7 -c 0", "device-share -i 7",
    ))  # fmt: skip
    assert [call for call in asked if " -i " not in call] == ["npu-smi info", "npu-smi info -l", "npu-smi info -m", "npu-smi info -t topo"]


def calls_of(**options):
    host = nine.Counting(nine.recording(nine.ascend(8, **options)))
    nine.MODULES["ascend_info"].collect(host)
    return [call for call in host.made if not call.startswith("npu-smi")]


def test_what_the_ports_of_the_cards_are_asked():
    ports = ["hccn_tool -i %d -%s -g" % (n, words) for words in ("link", "net_health", "tls") for n in range(8)]
    assert calls_of() == [*ports, " ".join(nine.ascend_samples.PARTS)]
    assert calls_of(conf="# nothing\n") == calls_of(conf={"absent": True}) == [" ".join(nine.ascend_samples.PARTS)], "a node without a network"
