# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be concluded from each capture of what nvidia-smi prints as text (-q, the table, mig -lgip): name of the file -> check(text)."""

from __future__ import annotations

import textwrap

import nvidia_samples as samples
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import mig
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown

REMAPPED = ("corrected", "uncorrected", "pending", "failed")


def found(section, count, detail, driver):
    assert section["detection"]["state"] == "ok" and section["detection"]["accelerators"] == count
    assert section["detection"]["detail"] == detail
    assert section["driver"]["version"] == driver if driver else is_unknown(section["driver"]["version"])
    return [d for d in section["devices"] if d["kind"] == "package"]


def clean(card):
    """ECC on and nothing counted, nothing remapped."""
    assert card["ecc"]["mode"] == "enabled" and card["ecc"]["uncorrected_volatile"] == card["ecc"]["uncorrected_aggregate"] == 0
    assert card["ecc"]["corrected_volatile"] == card["ecc"]["corrected_aggregate"] == 0
    assert {key: card["row_remap"][key] for key in REMAPPED} == {"corrected": 0, "uncorrected": 0, "pending": False, "failed": False}


def by_text(text, words="-q", count=0, **more):
    """The node whose nvidia-smi -q -x is of no use, and what the words after nvidia-smi print in its place."""
    commands = [samples.xml("Segmentation fault\n", rc=139), samples.run(*words.split(), stdout=text)]
    commands += [samples.run("-L", stdout=more.pop("listing"))] if "listing" in more else []
    return nvidia.collect(samples.machine(*commands, count=count, **more))


def incomplete(section):
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"])
    assert "ends early" in section["detection"]["reason"]
    return [d for d in section["devices"] if d["kind"] == "package"]


def q_text(name, driver, memory, used, reserved, temperature, power, **more):
    def check(text):
        section = by_text(text)
        (card,) = found(section, 1, "%s x1" % name, driver)
        assert section["detection"]["host"]["command"] == "nvidia-smi -q" and section["detection"]["host"]["accelerators"] == 1
        assert section["note"].endswith("read with nvidia-smi -q instead")
        assert (card["memory_mib"], card["memory_used_mib"], card["extra"]["memory_reserved_mib"]) == (memory, used, reserved)
        assert (card["temperature_c"]["core"], card["power_w"]["limit"]) == (temperature, power)
        assert card["health"] == {"state": "ok", "detail": "recovery action: none"} and card["pcie"]["width_current"] == card["pcie"]["width_max"] == 16
        for key, value in more.items():
            assert at_path(card, key) == value, key
        return section

    return check


def at_path(card, key):
    for part in key.split("__"):
        card = card[part]
    return card


def q_h100(text):
    section = q_text(
        "NVIDIA H100 80GB HBM3", "590.48.01", 81559, 19818, 479, 59, 700.0,
        power_w__draw=629.45, pcie__generation_current=5, pcie__generation_max=5, pcie__replay_count=9, persistence=True, processes=3,
        fabric__state="completed", fabric__status="success", partition__enabled=False, throttle__active=[], utilization_percent=100,
        temperature_c__memory=55, extra__virtualization="pass_through", firmware__gsp="590.48.01", firmware__inforom="G520.0200.00.05",
    )(text)  # fmt: skip
    clean(section["devices"][0])
    assert section["driver"]["runtime_version"] == "13.1"


def q_h200(text):
    section = q_text(
        "NVIDIA H200", "590.48.01", 143771, 32362, 614, 52, 700.0, pcie__generation_current=5, fabric__state="completed", fabric__status="success"
    )(text)
    clean(section["devices"][0])


def q_l40s(text):
    section = q_text("NVIDIA L40S", "595.80", 46068, 0, 609, 64, 350.0, persistence=False, temperature_c__margin_core=24, ecc__sram_threshold_exceeded=False)(
        text
    )
    (card,) = section["devices"]
    clean(card)
    assert is_not_applicable(card["fabric"]) and is_not_applicable(card["partition"]) and is_not_applicable(card["links"])
    assert card["identity"]["serial"]["quality"] == "placeholder"


def q_4080(text):
    section = q_text(
        "NVIDIA GeForce RTX 4080 SUPER", "595.71.05", 16376, 596, 434, 43, 320.0,
        pcie__generation_current=1, pcie__generation_max=4, processes=5, extra__performance_state="P8", throttle__active=["gpu_idle"],
        temperature_c__limit_core=96,
    )(text)  # fmt: skip
    (card,) = section["devices"]
    assert is_not_applicable(card["ecc"]["mode"]) and is_not_applicable(card["ecc"]["uncorrected_volatile"])
    assert card["identity"]["serial"]["quality"] == "absent" and is_not_applicable(card["fabric"])


def q_mig(text):
    section = q_text("NVIDIA H100 80GB HBM3", "590.48.01", 81559, 59, 479, 42, 700.0, partition__enabled=True, processes=0)(text)
    card, *parts = section["devices"]
    assert [d["kind"] for d in parts] == ["partition"] * 4 and [p["memory_mib"] for p in parts] == [40448, 20096, 9984, 9984]
    assert [p["extra"]["gpu_instance"] for p in parts] == [2, 3, 9, 10] and {p["ecc"]["uncorrected_volatile"] for p in parts} == {0}
    assert all(is_unknown(value) for value in card["row_remap"].values()) and is_not_applicable(card["utilization_percent"])
    assert card["ecc"]["uncorrected_volatile"] == card["ecc"]["uncorrected_aggregate"] == card["ecc"]["corrected_volatile"] == 0


def q_remap_pending(text):
    section = by_text(text)
    (card,) = incomplete(section)
    assert section["detection"]["host"]["accelerators"] == 8 and section["driver"]["version"] == "510.73.08"
    assert card["name"] == "NVIDIA A100-SXM4-80GB" and card["identity"]["pci"]["value"] == "0000:10:1c.0"
    assert card["ecc"]["corrected_volatile"] == card["ecc"]["corrected_aggregate"] == 177
    assert card["ecc"]["uncorrected_volatile"] == card["ecc"]["uncorrected_aggregate"] == 0
    assert {key: card["row_remap"][key] for key in REMAPPED} == {"corrected": 1, "uncorrected": 0, "pending": True, "failed": False}
    assert card["row_remap"]["banks"] == {"max": 639, "high": 1, "partial": 0, "low": 0, "none": 0}


def q_retired(text):
    section = by_text(text)
    assert section["detection"]["state"] == "unavailable" and section["detection"]["accelerators"] == 8
    assert "found but not named" in section["detection"]["reason"] and section["driver"]["version"] == "535.86.10"
    assert [d["identity"]["pci"]["value"] for d in section["devices"]] == ["%04x:00:00.0" % n for n in range(1, 9)]
    told = [tuple(d["retired_pages"].values()) for d in section["devices"]]
    assert told == [(60, 5, False), (2, 61, True), (0, 0, False), (6, 0, True), (0, 0, False), (20, 45, True), (0, 0, False), (8, 56, True)]


def q_part(text):
    """A part of a log alone tells of no card; in its place in a log it tells what it says."""
    section = by_text(text, count=1)
    assert section["detection"]["state"] == "unavailable" and is_unknown(section["detection"]["accelerators"]) and section["devices"] == []
    head = "Driver Version : 590.48.01\n\nAttached GPUs : 1\nGPU 00000000:18:00.0\n    Product Name : NVIDIA H200\n"
    return found(by_text(head + text, count=1), 1, "NVIDIA H200 x1", "590.48.01")[0]


def q_ecc(text):
    ecc = q_part(text)["ecc"]
    assert (ecc["uncorrected_volatile"], ecc["uncorrected_aggregate"], ecc["corrected_volatile"], ecc["corrected_aggregate"]) == (1, 5, 0, 0)


def q_fabric(text):
    q_part(text)
    fabric = q_part(textwrap.indent(text, "    "))["fabric"]
    assert fabric["state"] == "in_progress" and all(is_not_applicable(fabric[key]) for key in ("status", "clique_id", "cluster_uuid"))


def table(count, driver, rows, name=None, runtime=None, listing=None, **more):
    """rows: memory used and total, temperature, power draw and limit, utilization of each card."""

    def check(text):
        listed = "".join("GPU %d: %s (UUID: %s)\n" % (n, name, samples.uuid(n)) for n in range(count))
        section = by_text(text, "", listing=listing or listed)
        cards = found(section, count, "%s x%d" % (name, count), driver)
        assert section["detection"]["host"] == {"command": "nvidia-smi -L", "accelerators": count, "detail": (listing or listed).strip(), "reason": ""}
        assert section["note"].endswith("read with nvidia-smi instead") and (not runtime or section["driver"]["runtime_version"] == runtime)
        keys = ("memory_used_mib", "memory_mib", "temperature_c__core", "power_w__draw", "power_w__limit", "utilization_percent")
        told = [tuple(plain(at_path(card, key)) for key in keys) for card in cards]
        assert told == rows
        assert [c["id"] for c in cards] == ["nvidia:%d" % n for n in range(count)]
        for key, value in more.items():
            for card in cards:
                assert plain(at_path(card, key)) == value, key
        alone = by_text(text, "")["devices"]
        assert all(c["name"] == name or "cut by the table" in c["name"]["unknown"] for c in alone if c["kind"] == "package")
        return section

    return check


def plain(value):
    return value if is_known(value) else None


ZERO = {"ecc__mode": "enabled", "ecc__uncorrected_volatile": 0, "ecc__corrected_volatile": None, "ecc__uncorrected_aggregate": None}
table_4xa800 = table(
    4, "525.105.17", [(9661, 81920, 49, 183, 300, 71), (9661, 81920, 50, 136, 300, 67), (9663, 81920, 49, 202, 300, 65), (9663, 81920, 50, 227, 300, 64)],
    "NVIDIA A800 80GB PCIe", persistence=False, processes=1, partition__enabled=False, **ZERO,
)  # fmt: skip
table_h100 = table(
    1, "580.105.08", [(0, 81559, 32, 66, 700, 0)], "NVIDIA H100 80GB HBM3", "13.0", processes=0, partition__enabled=False, persistence=True, **ZERO
)
table_h100_busy = table(
    1, "590.48.01", [(19818, 81559, 59, 629, 700, 100)], "NVIDIA H100 80GB HBM3", "13.1", processes=3, partition__enabled=False, persistence=True,
    identity__pci__value="0000:00:09.0", **ZERO,
)  # fmt: skip
table_l40s = table(1, "595.80", [(1235, 46068, 54, 110, 350, 9)], "NVIDIA L40S", processes=2, partition=None, persistence=False, **ZERO)
table_610 = table(
    1, "610.57.04", [(815, 8192, 38, 97, 250, 8)], "NVIDIA GeForce RTX 2080 SUPER", "13.3", processes=4, ecc__mode=None, ecc__uncorrected_volatile=None
)
table_windows = table(1, "591.86", [(1296, 8192, 45, 97, 250, 7)], "NVIDIA GeForce RTX 2080 SUPER", processes=12, persistence=None)
table_t4 = table(1, "510.47.03", [(0, 15360, 33, 15, 70, 0)], "Tesla T4", processes=0, identity__pci__value="0000:00:1e.0", **ZERO)
table_p100 = table(1, "470.82.01", [(0, 16280, 42, 29, 250, 0)], "Tesla P100-PCIE-16GB", health={"state": "degraded", "detail": "infoROM is corrupted"}, **ZERO)
table_orin = table(1, "540.4.0", [(None,) * 6], "Orin (nvgpu)", identity__pci__value=None, persistence=None, processes=0)
table_orin_no_driver = table(1, None, [(None,) * 6], "Orin (nvgpu)", "12.2")
table_mig_none = table(
    1, "450.80.02", [(0, 40537, 32, 43, 400, None)], "A100-SXM4-40GB", partition__enabled=True, ecc__mode="enabled", ecc__uncorrected_volatile=None
)


def table_8xh800(text):
    used, watts = (65759, 65785, 68925, 68513, 59785, 62865, 59993, 59511), (218, 191, 215, 184, 191, 193, 183, 203)
    rows = [(u, 81559, t, w, 700, 100) for u, t, w in zip(used, (45, 46, 41, 40, 45, 44, 39, 40), watts)]
    table(8, "525.105.17", rows, "NVIDIA H800", processes=1, ecc__mode="disabled", ecc__uncorrected_volatile=None, persistence=True)(text)


def table_mig_pending(text):
    used, watts = (80407, 73999, 74149, 73987, 59741, 59787, 59829, 59743), (89, 93, 91, 98, 299, 289, 262, 308)
    rows = [(u, 81920, t, w, 300, 100) for u, t, w in zip(used, (64, 66, 66, 68, 71, 71, 69, 69), watts)]
    section = table(8, "525.125.06", rows, "NVIDIA A800 80GB PCIe", processes=1, **ZERO)(text)
    modes = [d["partition"]["enabled"] for d in section["devices"]]
    assert modes[:7] == [False] * 7 and "Enabled*" in modes[7]["unknown"]
    assert [d["extra"].get("mig_changes") for d in section["devices"]] == [None] * 7 + [True]


def table_mig(used, total, driver, name, parts, listing, processes):
    def check(text):
        section = by_text(text, "", listing=listing)
        (card,) = found(section, 1, "%s x1" % name, driver)
        assert (card["memory_used_mib"], card["memory_mib"]) == (used, total) and card["partition"]["enabled"] is True
        assert is_not_applicable(card["utilization_percent"]) and is_unknown(card["ecc"]["uncorrected_volatile"]) and card["processes"] == processes
        told = [d for d in section["devices"] if d["kind"] == "partition"]
        assert [(p["extra"]["gpu_instance"], p["extra"]["compute_instance"], p["memory_used_mib"], p["memory_mib"]) for p in told] == parts
        assert [p["id"] for p in told] == ["nvidia:0/mig:%d" % n for n in range(len(parts))] and {p["ecc"]["uncorrected_volatile"] for p in told} == {0}

    return check


table_h100_mig4 = table_mig(59, 81559, "590.48.01", "NVIDIA H100 80GB HBM3", [(2, 0, 26, 40448), (3, 0, 17, 20096), (9, 0, 9, 9984), (10, 0, 9, 9984)], "", 0)
table_h200_mig5 = table_mig(
    16959, 143771, "590.48.01", "NVIDIA H200",
    [(2, 0, 16925, 71424), (2, 1, 16925, 71424), (3, 0, 17, 33280), (9, 0, 9, 16384), (10, 0, 9, 16384)], "", 3,
)  # fmt: skip


def table_thor(text):
    (card,) = found(by_text(text, ""), 1, "NVIDIA Thor x1", "580.00")
    assert is_not_applicable(card["memory_mib"]) and is_not_applicable(card["temperature_c"]["core"]) and is_not_applicable(card["power_w"]["draw"])
    assert card["partition"]["enabled"] is False and card["utilization_percent"] == 0 and "performance_state" not in card["extra"]


def table_hami(text):
    (card,) = found(by_text(text, ""), 1, "Tesla V100-PCIE-32GB x1", "550.54.15")
    assert "HAMi-core shows its limit in place of the memory: 10240MiB" in card["memory_mib"]["unknown"]
    assert (card["memory_used_mib"], card["temperature_c"]["core"], card["ecc"]["uncorrected_volatile"], card["processes"]) == (0, 29, 0, 0)


def table_errors(index, count):
    def check(text):
        cards = incomplete(by_text(text, ""))
        assert len(cards) == count
        for card in cards:
            if card["index"] == index:
                assert card["health"] == {"state": "failed", "detail": "nvidia-smi prints ERR! for the name"} and is_unknown(card["name"])
                assert is_unknown(card["ecc"]["uncorrected_volatile"]) and is_unknown(card["temperature_c"]["core"]) and is_unknown(card["utilization_percent"])
            else:
                assert is_unknown(card["health"]) and card["ecc"]["uncorrected_volatile"] == 0 and 22 <= card["temperature_c"]["core"] <= 40
        return cards

    return check


def table_a40(text):
    cards = table_errors(4, 6)(text)
    assert [c["id"] for c in cards] == ["nvidia:%d" % n for n in range(1, 7)] and [c["memory_used_mib"] for c in cards] == [0, 821, 0, 0, 3, 3]
    assert {c["name"] for c in cards if c["index"] != 4} == {"NVIDIA A40"} and cards[3]["identity"]["pci"]["value"] == "0000:83:00.0"


def table_lost(text):
    section = by_text(text, "")
    first, second = incomplete(section)
    assert section["driver"]["version"] == "610.57.04" and section["driver"]["runtime_version"] == "13.3"
    assert second["health"]["state"] == "lost" and second["identity"]["pci"]["value"] == "0000:34:00.0" and second["id"] == "nvidia:1"
    assert first["memory_mib"] == 97887 and first["ecc"]["mode"] == "disabled" and "NVIDIA RTX PRO 6000 Blac..." in first["name"]["unknown"]


class Allocating:
    """What allocation code asks of a machine."""

    def __init__(self, text):
        self.host, self.sources = samples.machine(samples.run("mig", "-lgip", stdout=text)), []

    def once(self, _name, read):
        return read()


def mig_profiles(text):
    """What the row mig-partitioning reads; the prompts of the session are no part of the answer."""
    offered, reason = mig.profiles(Allocating(text), ["nvidia-smi"])
    assert reason == "" and offered == {n: {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"} for n in range(4)}
    assert mig.profiles(Allocating(text[: len(text) // 2 + 40]), ["nvidia-smi"])[0] is None


CHECKS = {
    "mig-lgip-4xh100-session.txt": mig_profiles,
    "q-a100-remap-pending-correctable-510.txt": q_remap_pending,
    "q-ecc-sram-uncorrectable.txt": q_ecc,
    "q-fabric-in-progress.txt": q_fabric,
    "q-h100-mig4-590.txt": q_mig,
    "q-h100-sxm-590.txt": q_h100,
    "q-h200-590.txt": q_h200,
    "q-l40s-595.txt": q_l40s,
    "q-page-retirement-8gpu-bad-535.txt": q_retired,
    "q-rtx4080s-idle-pcie-gen1-595.txt": q_4080,
    "table-4xa800-525.txt": table_4xa800,
    "table-610-gpu1-handle-lost-first-line.txt": table_lost,
    "table-8xa40-gpu4-err-fragment.txt": table_a40,
    "table-8xa800-mig-pending-525.txt": table_mig_pending,
    "table-8xh800-ecc-off-525.txt": table_8xh800,
    "table-a100-gpu5-err-fragment.txt": table_errors(5, 2),
    "table-a100-mig-enabled-no-devices-450.txt": table_mig_none,
    "table-h100-580.txt": table_h100,
    "table-h100-mig4-590.txt": table_h100_mig4,
    "table-h100-sxm-590.txt": table_h100_busy,
    "table-h200-mig5-shared-gi-590.txt": table_h200_mig5,
    "table-l40s-595.txt": table_l40s,
    "table-orin-540-driver-na.txt": table_orin_no_driver,
    "table-orin-540.txt": table_orin,
    "table-p100-inforom-corrupted-470.txt": table_p100,
    "table-rtx2080s-610-kmd-version.txt": table_610,
    "table-rtx2080s-windows-wddm-591.txt": table_windows,
    "table-t4-510-defaulted-container-noise.txt": table_t4,
    "table-thor-580.txt": table_thor,
    "table-v100-hami-vgpu-noise-550.txt": table_hami,
}
