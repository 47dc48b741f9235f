# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""amd-smi without --json: the same words as text."""

from __future__ import annotations

import random

import amd_samples as amd
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd as reader
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import amd_text
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_unknown

PCI = amd.on_pci("0000:%s:00.0" % b for b in amd.BUSES)
REFUSED = {"rc": 2, "stderr": "amd-smi: error: unrecognized arguments: --json\n"}


def lines(value, indent):
    for key, said in value.items():
        name = " " * indent + key.upper()
        if key == "process_list":
            for one in said:
                yield from lines(one, indent)
        elif isinstance(said, list):
            yield name + ":"
            yield from lines({"FW %d" % n: one for n, one in enumerate(said)}, indent + 4)
        elif isinstance(said, dict) and set(said) == {"value", "unit"}:
            yield "%s: %s %s" % (name, said["value"], said["unit"].replace("C", "\u00b0C"))
        elif isinstance(said, dict):
            yield name + ":"
            yield from lines(said, indent + 4)
        else:
            yield "%s: %s" % (name, said)


def as_text(tables):
    """What the tool prints for people of the same node."""
    told = {word: "\n\n".join("\n".join(lines({k: v for k, v in {"gpu": one["gpu"], **one}.items() if k == "gpu"}, 0)) + "\n" + "\n".join(
        lines({k: v for k, v in one.items() if k != "gpu"}, 4)) for one in tables[word]) + "\n" for word in amd.WORDS[1:-1]}  # fmt: skip
    told["version"] = "AMDSMI Tool: 25.3.0+ede62f2 | AMDSMI Library version: 25.3.0 | ROCm version: 6.4.0 | amdgpu version: 6.12.12\n"
    rows = ["LINK METRIC TABLE:", "       bdf          bit_rate max_bandwidth link_type"]
    for row in tables["xgmi"]["xgmi_metric"]:
        rows += ["GPU%d   %s 32 Gb/s  512 Gb/s      XGMI" % (row["gpu"], row["bdf"])]
        rows += [" Read  " + "  ".join("N/A" if p["read"] == "N/A" else "2 KB" for p in row["link_metrics"]["links"]), " Write  1 KB"]
    told["xgmi"] = "\n".join(rows) + "\n"
    return told


def node(**changes):
    tables = amd.node()
    tables["metric"] = [amd.metric(g, throttle={"ppt_violation_status": "ACTIVE", "prochot_violation_status": "NOT ACTIVE"}) for g in range(8)]
    tables.update(changes)
    tables["xgmi"] = {"xgmi_metric": tables["xgmi"]["xgmi_metric"]}
    return tables


def collect(tables, texts, json_too=None, pci=PCI):
    return reader.collect(amd.replay(json_too or dict.fromkeys(amd.WORDS, REFUSED), more=[("amd-smi %s" % w, said) for w, said in texts.items()]), pci)


def test_the_text_tells_what_the_json_does():
    pages = [amd.bad_pages(g) for g in range(8)]
    tables = node(**{"bad-pages": pages, "process": [amd.process(0, "rvs", "python"), *[amd.process(g) for g in range(1, 8)]]})
    by_json = reader.collect(amd.replay(tables), PCI)
    section = collect(tables, as_text(tables))
    assert section["devices"] == by_json["devices"] and section["detection"] == by_json["detection"] and section["driver"] == by_json["driver"]
    assert section["devices"][0]["processes"] == 2 and section["devices"][0]["links"]["total"] == 7
    assert [s["source"] for s in section["sources"]] == ["amd-smi version --json", *["amd-smi %s" % w for w in amd.WORDS]]


def test_a_tool_that_does_not_heed_the_word_json_is_not_asked_twice():
    tables = node()
    section = collect(tables, as_text(tables), json_too=as_text(tables))
    assert section["detection"]["state"] == "ok" and section["detection"]["accelerators"] == 8
    assert [s["source"] for s in section["sources"]] == ["amd-smi version --json", *["amd-smi %s" % w for w in amd.WORDS[1:]]]


@pytest.mark.parametrize("said", ["TypeError: Object of type AmdSmiProcess is not JSON serializable\n", '[{"gpu": 0, "pcie": {"width": 16,}}]\n'])
def test_json_that_fails_for_one_word_is_text_for_that_word(said):
    tables = node()
    section = collect(tables, {"metric": as_text(tables)["metric"]}, json_too=dict(tables, metric={"rc": 1, "stdout": said}))
    assert section["devices"][3]["temperature_c"]["core"] == 41 and section["devices"][3]["firmware"]["pm"] == "85.117.0"
    assert [s["source"] for s in section["sources"]][3:6] == ["amd-smi metric --json", "amd-smi metric", "amd-smi firmware --json"]


def test_pages_are_counted_and_not_understood_pages_are_not():
    tables = node()
    texts = as_text(tables)
    texts["bad-pages"] = (
        "GPU: 0\n    RETIRED:\n        PAGE_ADDRESS: 0x1\n        PAGE_SIZE: 4096\n        PAGE_ADDRESS: 0x2\n    PENDING: No bad pages found.\n"
    )
    texts["bad-pages"] += "    UN_RES: No bad pages found.\nGPU: 1\n    RETIRED:\n        SOMETHING: 1\n"
    first, second, *_others = collect(tables, texts)["devices"]
    assert first["retired_pages"]["uncorrected"] == 2 and first["retired_pages"]["pending"] is False
    assert is_unknown(second["retired_pages"]["uncorrected"])


@pytest.mark.parametrize("mark", ["...", "[output truncated]", "[...]"])
def test_a_text_with_something_left_out_has_no_count(mark):
    texts = as_text(node())
    texts["static"] = texts["static"].partition("\n\n")[0] + "\n" + mark + "\n"
    section = collect(None, {"version": texts["version"], "static": texts["static"]}, pci=[])
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])
    assert "left out" in section["detection"]["reason"] and len(section["devices"]) == 1


def test_a_hang_is_not_repeated_as_text():
    section = collect(None, {}, json_too={word: {"hang": True} for word in amd.WORDS})
    assert [s["source"] for s in section["sources"] if s["source"].startswith("amd-smi")] == ["amd-smi version --json"]


def test_sockets_are_no_gpus_and_garbage_never_raises():
    assert amd_text.parse("static", "CPU: 0\n    SMU:\n        GPU: 3\n\nGPU: 1\n  ASIC:\n    A: b\n") == ([[{"asic": {"a": "b"}, "gpu": 1}]], "")
    chance = random.Random(20261129)
    texts = as_text(node())
    for _turn in range(60):
        broken = {}
        for word, text in texts.items():
            letters = list(text)
            for _change in range(chance.randint(1, 4)):
                start = chance.randrange(len(letters))
                letters[start : start + chance.choice((1, 5, 400))] = chance.choice(([], list(":\n"), list("N/A"), [chr(chance.randrange(1, 0x2FF))]))
            broken[word] = "".join(letters) or "-"
        for device in collect(None, broken)["devices"]:
            assert not isinstance(device["health"], dict) or device["health"].get("state") != "ok"
