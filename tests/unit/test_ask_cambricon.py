# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""smlu-mode of Cambricon, asked for real: a libcndev and a cnmon over the same files."""

from __future__ import annotations

import json

import driver_shims
import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import ask, cambricon_smlu
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.record import RecordingHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import ReplayHost

OK = {"state": "ok"}


@pytest.fixture
def made(tmp_path, monkeypatch):
    def make(states, *flags):
        driver = driver_shims.cambricon(tmp_path / "driver", states, *flags)
        if driver is None:
            pytest.skip("gcc is not installed")
        monkeypatch.setenv("LD_LIBRARY_PATH", str(driver.folder))
        return driver

    return make


@pytest.fixture
def notes(tmp_path):
    return tmp_path / "notes"


def asked(driver, notes, *devices, recorded=None, **options):
    host = LiveHost(path=driver.path)
    outer = RecordingHost(host) if recorded is not None else host
    options = {"devices": list(devices) or [driver_shims.mlu(3)], "detection": OK, "allow_driver_writes": True, **options}
    try:
        section = ask.collect(outer, cambricon_smlu, options, str(notes))
        if recorded is not None:
            recorded.append(json.loads(json.dumps(outer.recording())))
    finally:
        host.close()
    for row in section["checks"]:
        assert (row["reason"] == "") == (row["state"] == "ok"), row
        assert (row["capability"], row["mode"], row["depth"]) == ("smlu-mode", "sliced", "declared")
    return section


def only(section):
    (row,) = section["checks"]
    return row


def test_off_is_asked_and_put_back(made, notes):
    driver = made({3: 0, 5: 1})
    section = asked(driver, notes, driver_shims.mlu(3), driver_shims.mlu(5))
    assert [(row["accelerator"], row["detail"]) for row in section["checks"]] == [
        ("cambricon:3", "was off, the driver accepted on, put back"),
        ("cambricon:5", "sMLU mode is on"),
    ]
    assert driver.calls() == ["set -c 3 -smlu on", "set -c 3 -smlu off"] and (driver.state(3), driver.state(5)) == ("0", "1")
    assert section["asked"] == ["cambricon:3"] and section["changed"] is True and not notes.exists()


def test_a_card_that_is_divided_in_hardware(made, notes):
    driver = made({3: 0})
    row = only(asked(driver, notes, driver_shims.mlu(3, partition={"mode": "sriov", "enabled": True})))
    assert row["state"] == "not-declared" and driver.calls() == []


@pytest.mark.parametrize(("key", "device"), [("PCI address", {"identity": {}}), ("number in cnmon", {"index": None}), ("PCI address", {"identity": None})])
def test_a_card_that_cannot_be_addressed(made, notes, key, device):
    driver = made({3: 0})
    row = only(asked(driver, notes, driver_shims.mlu(3, **device)))
    assert row["state"] == "unavailable" and key in row["reason"] and driver.calls() == []


@pytest.mark.parametrize(("code", "words"), [("10", "not supported"), ("17", "timeout"), ("13", "an error")])
def test_never_written_past_a_failed_read(made, notes, code, words):
    driver = made({3: 0})
    driver.behavior("read_error", code)
    row = only(asked(driver, notes))
    assert row["state"] == "unavailable" and words in row["reason"] and driver.calls() == []


def test_a_library_without_the_call(made, notes):
    driver = made({3: 0}, "-DNO_SMLU")
    row = only(asked(driver, notes))
    assert row["state"] == "unavailable" and "cndevGetSMLUMode" in row["reason"] and driver.calls() == []


def test_no_library(tmp_path, notes):
    driver = driver_shims.Driver(tmp_path / "driver", "cnmon", driver_shims.CNMON)
    row = only(asked(driver, notes))
    assert row["state"] == "unavailable" and "libcndev" in row["reason"] and driver.calls() == []


def test_a_mode_that_is_neither_on_nor_off(made, notes):
    driver = made({3: 2})
    assert only(asked(driver, notes))["state"] == "unavailable" and driver.calls() == []


@pytest.mark.parametrize("shell", ["echo 'The card does not support sMLU.'; exit 1", "echo 'Failed to set sMLU mode' >&2; exit 4"])
def test_set_fails(made, notes, shell):
    driver = made({3: 0})
    driver.behavior("on", shell)
    section = asked(driver, notes)
    assert only(section)["state"] == "unavailable", "sMLU is on offer on every card: not to know it is not to lack it"
    assert driver.calls() == ["set -c 3 -smlu on"] and section["left_on"] == [] and not notes.exists()


def test_set_fails_with_exit_0(made, notes):
    driver = made({3: 0})
    driver.behavior("on", "echo 'Error: operation not permitted'; exit 0")
    assert only(asked(driver, notes))["state"] == "unavailable" and driver.calls()[-1].endswith("off") and driver.state(3) == "0"


def test_restore_fails(made, notes):
    driver = made({3: 0})
    driver.behavior("off", "echo 'Failed: device is in use'; exit 1")
    section = asked(driver, notes)
    assert "left ON" in only(section)["detail"] and only(section)["command"] == "cnmon set -c 3 -smlu off" and driver.state(3) == "1"
    assert section["left_on"][0]["command"] == "cnmon set -c 3 -smlu off" and (notes / "cambricon-0000-03-00.0").exists()
    assert asked(driver, notes, allow_driver_writes=False)["left_on"][0]["reason"].startswith("cnmon set -c 3 -smlu off: exit 1")


def test_a_question_is_not_answered(made, notes):
    driver = made({3: 0})
    driver.behavior("on", 'echo "Processes are running, go on? (y/n)"; read answer && [ "$answer" = y ] || exit 1')
    assert only(asked(driver, notes))["state"] == "unavailable" and driver.state(3) == "0"


def test_check_mode_and_not_allowed(made, notes):
    driver = made({3: 0})
    section = asked(driver, notes, check_mode=True)
    ask_on = ["cnmon", "set", "-c", "3", "-smlu", "on"]
    assert section["would_ask"] == [{"on": ask_on, "off": [*ask_on[:-1], "off"]}] and section["changed"] is True
    section = asked(driver, notes, allow_driver_writes=False)
    assert only(section)["detail"].startswith("off, not asked") and only(section)["command"] == "cnmon set -c 3 -smlu on"
    assert driver.calls() == [] and not notes.exists() and section["changed"] is False


@pytest.mark.parametrize("off", ["", "echo 'Failed: device is in use'; exit 1"])
def test_replay(made, notes, off):
    driver = made({3: 0})
    if off:
        driver.behavior("off", off)
    recorded = []
    live = asked(driver, notes, recorded=recorded)
    before = driver.calls()
    again = ask.collect(ReplayHost(recorded[0]), cambricon_smlu, {"devices": [driver_shims.mlu(3)], "detection": OK}, str(notes))
    assert again["checks"][0]["state"] == live["checks"][0]["state"] and bool(again["left_on"]) == bool(off) and driver.calls() == before
