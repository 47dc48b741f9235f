# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML for real: nvidia-ml-py over a stub library, in the door's child."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import nvidia_samples as samples
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers import nvidia, nvidia_nvml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, is_not_applicable, is_unknown, why

pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
SOURCE = Path(__file__).parent / "nvml_stub" / "nvml_stub.c"


def build(directory, *flags):
    compiler = shutil.which("gcc")
    if not compiler:
        pytest.skip("gcc is not installed")
    library = directory / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *flags, "-Wl,-soname,libnvidia-ml.so.1", "-o", str(library), str(SOURCE)], check=True)
    return directory


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="module")
def old_stub(tmp_path_factory):
    return build(tmp_path_factory.mktemp("old_nvml"), "-DOLD_LIBRARY")


@pytest.fixture
def ask(monkeypatch):
    """The answer of the reader in the door's child, with this library directory and this behavior."""

    def question(directory, timeout=20, **behavior):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(directory))
        for name, value in behavior.items():
            monkeypatch.setenv("STUB_" + name, str(value))
        host = LiveHost(deadline=60)
        try:
            return host.native("nvml", nvidia_nvml, timeout=timeout)
        finally:
            host.close()

    return question


def section_of(answer, count=2, commands=None):
    """The section of a node whose NVML answered so."""
    if answer.ok:
        native = {"answer": answer.value}
    elif answer.status == "absent":
        native = {"missing": answer.detail}
    else:
        native = {"hang": True} if answer.status == "timeout" else {"signal": answer.detail}
    listing = samples.run("-L", stdout=samples.listing(count))
    return nvidia.collect(samples.machine(*(commands if commands is not None else [listing]), count=count, nvml=native))


def test_every_card_and_fact(stub, ask):
    section = section_of(ask(stub))
    assert section["detection"]["state"] == "ok", section["detection"]
    assert section["detection"]["host"] == {"command": "nvidia-smi -L", "accelerators": 2, "detail": samples.listing(2).strip(), "reason": ""}
    assert [s["source"] for s in section["sources"]] == ["NVML", "nvidia-smi -L"]
    assert section["driver"]["library_version"] == section["driver"]["version"] == "575.57.08"
    first, second = section["devices"]
    assert first["memory_mib"] == 81559 and first["extra"]["memory_reserved_mib"] == 480
    more = {"speed_gb_s": 26.562, "errors": {"replay_errors": 0, "recovery_errors": 0, "crc_errors": 0}}
    assert first["links"] == {"kind": "nvlink", "total": 18, "up": 18, "down": [], **more}
    assert second["links"] == {"kind": "nvlink", "total": 18, "up": 17, "down": [5], **more}
    assert first["row_remap"]["banks"] == {"max": 2559, "high": 1, "partial": 0, "low": 0, "none": 0}
    assert first["throttle"]["seconds"] == {
        "sw_power_cap": 4.2, "sync_boost": 0, "sw_thermal_slowdown": 0, "hw_thermal_slowdown": 0, "hw_power_brake_slowdown": 0,
    }  # fmt: skip
    assert first["clocks_mhz"] == {"core": 345, "memory": 2619, "core_max": 1980, "memory_max": 2619, "core_set": 1980, "core_default": 1980}
    assert first["extra"]["process_names"] == ["python3"]
    assert is_not_applicable(first["fabric"]["health"]) and first["extra"]["confidential_memory_mib"] == 0
    assert second["row_remap"]["pending"] is True and second["fabric"]["state"] == "in_progress"
    assert first["health"]["state"] == "ok" and first["recovery_action"] == "none"
    assert first["ecc"]["uncorrected_aggregate"] == 2
    assert (first["utilization_percent"], first["extra"]["memory_utilization_percent"]) == (0, 1)


def values(device):
    """A device without the wording of its reasons."""
    if isinstance(device, dict):
        if set(device) in ({"unknown"}, {"not_applicable"}):
            return next(iter(device))
        return {key: values(value) for key, value in device.items()}
    return device


def test_nvml_and_nvidia_smi_give_the_same_facts(stub, ask):
    by_nvml = section_of(ask(stub))
    second = {"pending": "Yes", "fabric": "In Progress", "status": "N/A", "clique": "N/A", "cluster": "N/A"}
    slot = {"slot": "ERR!"}  # the stub has no platform information
    xml = samples.xml(samples.log(samples.gpu(0, **slot), samples.gpu(1, **second, **slot)))
    links = samples.run("nvlink", "-s", stdout=samples.nvlink(2, down={(1, 5)}))
    by_smi = nvidia.collect(samples.machine(xml, links, samples.run("nvlink", "-e", stdout=samples.nvlink_errors(2))))
    assert [values(d) for d in by_nvml["devices"]] == [values(d) for d in by_smi["devices"]]
    told = ("state", "accelerators", "detail", "reason")
    assert [by_nvml["detection"][key] for key in told] == [by_smi["detection"][key] for key in told]
    assert values(by_nvml["driver"]) == values(by_smi["driver"])


def test_a_live_machine(stub, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub))
    host = LiveHost(deadline=60)
    try:
        section = nvidia.collect(host, pci=[{"address": "0000:18:00.0"}, {"address": "0000:28:00.0"}])
    finally:
        host.close()
    assert [d["memory_mib"] for d in section["devices"]] == [81559, 81559]
    assert section["sources"][0]["status"] == "ok" and section["detection"]["accelerators"] == 2


def test_an_old_library_stops_nothing(old_stub, ask):
    section = section_of(ask(old_stub))
    device = section["devices"][0]
    assert section["detection"]["state"] == "ok"
    assert device["memory_mib"] == 81559 and device["processes"] == 1
    assert device["ecc"]["uncorrected_volatile"] == 0 and is_unknown(device["ecc"]["sram_threshold_exceeded"])
    assert device["throttle"]["active"] == ["gpu_idle", "hw_thermal_slowdown"]
    assert device["temperature_c"]["limit_core"] == 92 and is_unknown(device["temperature_c"]["margin_core"])
    assert device["links"]["total"] == 18
    assert is_unknown(device["recovery_action"]) and "Function Not Found" in why(device["recovery_action"])
    assert is_unknown(device["health"]) and is_unknown(device["fabric"]["state"])


def test_the_bits_of_the_fabrics_health(stub, ask):
    first = section_of(ask(stub, FABRIC_HEALTH=0b0101_01_10_10_01))["devices"][0]
    assert first["fabric"]["health"] == {
        "summary": "unhealthy", "bandwidth": "degraded", "route_recovery": False, "route_unhealthy": False, "access_timeout_recovery": True,
        "incorrect_configuration": "insufficient_nvlinks",
    }  # fmt: skip


def test_counted_errors_of_links_and_a_corrupted_inforom(stub, ask):
    first, second = section_of(ask(stub, REPLAYS=7, INFOROM=1))["devices"]
    assert first["links"]["errors"]["replay_errors"] == 7 and first["health"]["state"] == "ok"
    assert second["health"] == {"state": "degraded", "detail": "infoROM is corrupted"}


def test_a_lost_card(stub, ask):
    section = section_of(ask(stub, LOST=1))
    lost = section["devices"][1]
    assert lost["health"] == {"state": "lost", "detail": "GPU is lost"}
    assert (
        is_unknown(lost["name"]) and is_unknown(lost["ecc"]["uncorrected_volatile"]) and is_unknown(lost["links"]) and is_unknown(lost["row_remap"]["pending"])
    )
    assert section["devices"][0]["health"]["state"] == "ok"
    assert section["detection"]["state"] == "unavailable" and section["detection"]["accelerators"] == 2


def test_a_card_that_cannot_be_opened(stub, ask):
    section = section_of(ask(stub, NO_HANDLE=0))
    assert section["devices"][0]["health"]["state"] == "lost" and "Unknown Error" in section["devices"][0]["health"]["detail"]
    assert section["detection"]["state"] == "unavailable"


def test_mig_devices(stub, ask):
    section = section_of(ask(stub, MIG=0))
    assert [d["id"] for d in section["devices"]] == ["nvidia:0", "nvidia:0/mig:0", "nvidia:0/mig:2", "nvidia:1"]
    card, part = section["devices"][:2]
    assert is_not_applicable(card["links"]) and is_unknown(card["row_remap"]["failed"])
    assert part["partition"] == {"mode": "mig", "enabled": True, "profile": "3g.40gb", "memory_profile": {"not_applicable": "in the profile"}}
    assert part["parent"] == "nvidia:0" and part["identity"]["uuid"]["value"].startswith("MIG-")
    assert section["detection"]["accelerators"] == 2


@pytest.mark.parametrize(("code", "words"), [(9, "not loaded"), (18, "differ in version"), (999, "Unknown Error"), (4, "error 4"), (15, "GPU is lost")])
def test_errors_of_the_driver_are_told_apart(stub, ask, code, words):
    answer = ask(stub, INIT_ERROR=code)
    assert answer.ok and answer.value["error"] == code
    section = section_of(answer, commands=[samples.run("-q", "-x", hang=True)])
    assert section["detection"]["state"] == "unavailable" and words in section["detection"]["reason"]
    assert not is_known(section["detection"]["accelerators"])
    assert section["driver"]["library_version"] == "575.57.08"
    assert [s["source"] for s in section["sources"]] == ["NVML", "nvidia-smi -q -x"]


def test_nvidia_smi_is_evidence_when_nvml_fails(stub, ask):
    commands = [samples.xml(samples.log(samples.gpu(0), samples.gpu(1))), samples.run("nvlink", "-s", stdout=samples.nvlink(2))]
    section = section_of(ask(stub, INIT_ERROR=999), commands=commands)
    assert section["detection"]["state"] == "ok" and "Unknown Error" in section["note"]


@pytest.mark.parametrize("function", ["nvmlInit_v2", "nvmlDeviceGetMemoryInfo_v2"])
def test_a_crash_of_the_library_is_one_answer(stub, ask, function):
    answer = ask(stub, CRASH=function)
    assert answer.status == "signaled" and "SEGV" in answer.detail
    section = section_of(answer, commands=[samples.run("-q", "-x", signal="SIGSEGV")])
    assert section["detection"]["state"] == "unavailable" and "SEGV" in section["detection"]["reason"]


def test_a_hang_of_the_library_is_one_answer(stub, ask):
    answer = ask(stub, timeout=1, HANG="nvmlDeviceGetTemperature")
    assert answer.status == "timeout"
    section = section_of(answer, commands=[samples.run("-q", "-x", hang=True)])
    assert section["detection"]["state"] == "unavailable" and "timeout" in section["detection"]["reason"]


def test_no_library(tmp_path, ask):
    answer = ask(tmp_path)
    assert answer.ok and answer.value["error"] == 12 and "libnvidia-ml.so.1" in answer.value["said"]
    section = section_of(answer, count=0, commands=[samples.run("-q", "-x", missing=True), samples.run("-L", stdout="")])
    assert section["detection"]["state"] == "not-declared"


def test_no_cards(stub, ask):
    section = section_of(ask(stub, GPUS=0), count=0)
    assert section["detection"]["state"] == "not-declared" and section["detection"]["accelerators"] == 0


def test_fewer_cards_than_nvidia_smi_lists(stub, ask):
    section = section_of(ask(stub, GPUS=1), count=2)
    assert section["detection"]["state"] == "unavailable"


_ODD = {"mig": [3], "links": "x", "reasons": [], "name": 7, "identity.pci": 5, "handle": None}
_ODDER = {"ecc.mode": {"error": []}, "memory_mib": {}, "partition.enabled": "Enabled", "mig": [{"index": "x"}], "processes": True, "extra.minor": 1.5}


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"gpus": 3}, {"gpus": [None]}, {"gpus": [{}]}, {"gpus": [_ODD]}, {"gpus": [_ODDER], "system": {"cuda_version": []}}, {"error": []}],
)
def test_no_answer_raises(answer):
    section = nvidia.collect(samples.machine(samples.run("-q", "-x", hang=True), nvml={"answer": answer}))
    assert section["detection"]["state"] == "unavailable"


@pytest.mark.parametrize(
    ("branch", "old", "moved", "seconds"),
    [
        (575, 7, 0, 7),  # the other number is of power smoothing
        (590, 1, 7, 7),
        (590, 1, -1, None),
        # drivers of this branch have either numbers
        (580, 7, -1, 7),
        (580, -1, 7, 7),
        (580, 1, 7, None),
        (580, -1, -1, None),
    ],
)
def test_clock_counters_are_asked_under_the_numbers_of_the_branch(stub, ask, branch, old, moved, seconds):
    section = section_of(ask(stub, BRANCH=branch, OLD_COUNTERS=old, MOVED_COUNTERS=moved))
    told = section["devices"][0]["throttle"]["seconds"]["hw_thermal_slowdown"]
    assert told == seconds if seconds is not None else not is_known(told)
    assert section["devices"][0]["throttle"]["seconds"]["sw_power_cap"] == 4.2


@pytest.mark.parametrize(
    ("action", "reset", "told", "state"),
    [
        (0, 0, "none", "ok"),
        (1, 0, "reset", "failed"),
        (5, 0, "recover_imex_domain", "failed"),
        (6, 0, "bus_reset", "failed"),
        (7, 0, "system_reboot", "failed"),
        (9, 0, "9", "failed"),
        # a library that knows no action and tells the status of a reset
        (-1, 0, "none", "ok"),
        (-1, 1, "reset", "failed"),
        (-1, -1, None, None),
    ],
)
def test_what_the_driver_asks_for(stub, ask, action, reset, told, state):
    card = section_of(ask(stub, ACTION=action, RESET=reset))["devices"][0]
    if told is None:
        assert is_not_applicable(card["recovery_action"]) and is_unknown(card["health"])
    else:
        assert card["recovery_action"] == told and card["health"]["state"] == state


@pytest.mark.parametrize(("code", "state"), [(15, "lost"), (16, "failed"), (27, "degraded"), (999, "degraded")])
def test_a_card_that_does_not_answer_for_its_temperature(code, state):
    """nvmlReturn_t: GPU is lost, reset required, not ready, unknown error; the words are those of the library, whatever they are."""
    answer = {"system": {}, "gpus": [{"name": "X", "recovery_action": 0, "temperature_c.core": {"error": code, "said": "an error"}}]}
    card = nvidia.collect(samples.machine(samples.run("-L", stdout=samples.listing(1)), nvml={"answer": answer}, count=1))["devices"][0]
    assert card["health"]["state"] == state and is_unknown(card["temperature_c"]["core"])
