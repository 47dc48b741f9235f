# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about how processors idle and what slows them down, about open files, and about daemons that accelerators need."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import systemd_units
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import services
from host_judged import changed, healthy

RULES = ("cpu-throttled", "cpu-idle-states", "open-files-limit", "vendor-daemons")
GUEST = ("host virtualization", "kvm")
ABSENT = {"not_applicable": "there is none"}
UPTIME = ("host uptime_seconds", 864000)


def levels(judged):
    return {f["rule"]: f["level"] for f in judged.findings if f["rule"] in RULES}


def throttled(*packages):
    """packages: (count, seconds) of each."""
    return ("hardware processors package_throttles", {str(n): {"count": count, "seconds": seconds} for n, (count, seconds) in enumerate(packages)})


@pytest.mark.parametrize(
    ("packages", "outcome", "level"),
    [
        ([(0, 0.0), (0, 0.0)], "passed", None),
        ([(0, 0.0), (40, 12.5)], "found", "info"),
        ([(9, 5.0), (90000, 86400.0)], "found", "warn"),
        ([(90, ABSENT), (0, ABSENT)], "found", "info"),
        ([(101, ABSENT), (0, ABSENT)], "found", "warn"),
        ([(7, {"unknown": "EIO"})], "found", "info"),
        ([({"unknown": "EIO"}, 0.0)], "unknown", None),
        ([], "unknown", None),
    ],
)
def test_processors_that_heat_slows_down(packages, outcome, level):
    """A rare event since the start is told; one that took a thousandth of the time, or came ten times a day, warns."""
    judged = changed(UPTIME, throttled(*packages))
    assert judged.outcome("cpu-throttled") == outcome
    assert levels(judged) == ({"cpu-throttled": level} if level else {})


def test_a_guest_has_no_heat_of_its_own():
    assert changed(UPTIME, throttled((90000, 86400.0)), GUEST).outcome("cpu-throttled") == "not_applicable"


def test_processors_that_do_not_count_it_and_an_uptime_that_is_not_known():
    assert changed(("hardware processors package_throttles", ABSENT)).outcome("cpu-throttled") == "not_applicable"
    assert changed(throttled((3, 1.0)), ("host uptime_seconds", {"unknown": "EIO"})).outcome("cpu-throttled") == "unknown"
    lenient = changed(UPTIME, throttled((90000, 86400.0)), accelerator_policy_cpu_throttled_most_percent=20)
    assert levels(lenient) == {"cpu-throttled": "info"}


def of_maker(maker):
    return ("pci devices", [dict(d, manufacturer=maker) for d in healthy()["pci"]["devices"]])


def idle(*states):
    """states: (name, latency, disabled)."""
    return ("hardware processors idle_states", [{"name": n, "latency_us": latency, "disabled": off} for n, latency, off in states])


def test_a_vendor_that_asks_for_light_idle_states():
    deep = idle(("C1", 1, False), ("C2", 800, False))
    assert changed(deep).outcome("cpu-idle-states") == "not_applicable"  # NVIDIA asks for nothing
    judged = changed(deep, of_maker("amd"))
    assert judged.outcome("cpu-idle-states") == "found" and levels(judged)["cpu-idle-states"] == "info"
    assert "C2 (800 us)" in next(f for f in judged.findings if f["rule"] == "cpu-idle-states")["summary"]
    assert changed(idle(("C1", 1, False), ("C2", 800, True)), of_maker("amd")).outcome("cpu-idle-states") == "passed"
    assert changed(idle(("C2", 800, {"unknown": "EIO"})), of_maker("amd")).outcome("cpu-idle-states") == "unknown"
    assert changed(("hardware processors idle_states", ABSENT), of_maker("amd")).outcome("cpu-idle-states") == "not_applicable"
    assert changed(("hardware processors idle_states", {"unknown": "EIO"}), of_maker("amd")).outcome("cpu-idle-states") == "unknown"


def test_a_site_that_says_how_deep_processors_may_idle():
    def told(most, *states):
        return changed(idle(*states), accelerator_policy_cpu_idle_states_most_latency_us=most).outcome("cpu-idle-states")

    assert told(10, ("POLL", 0, False), ("C1", 1, False), ("C6", 290, True)) == "passed"
    assert told(10, ("C1", 1, False), ("C6", 290, False)) == "found"
    assert told(10, ("C1", 1, False), ("C6", {"unknown": "EIO"}, False)) == "unknown"


@pytest.mark.parametrize(
    ("limit", "outcome"), [("unlimited", "passed"), (8192, "passed"), (4096, "found"), ({"unknown": "limits: no nofile"}, "unknown"), ("many", "unknown")]
)
def test_open_files(limit, outcome):
    judged = changed(("host limits nofile_hard", limit))
    assert judged.outcome("open-files-limit") == outcome
    assert changed(("host limits nofile_hard", 10), accelerator_expected_count=0).outcome("open-files-limit") == "not_applicable"


@pytest.fixture
def needy(monkeypatch):
    """As if NVIDIA's devices needed a daemon of the table of units."""
    table = copy.deepcopy(services._table())
    table["no_daemon"] = [entry for entry in table["no_daemon"] if entry["manufacturer"] != "nvidia"]
    table["daemons"].append({"unit": "nvsm", "manufacturer": "nvidia", "needed": True})
    monkeypatch.setattr(services, "_table", lambda: table)


@pytest.mark.parametrize(("active", "outcome"), [("active", "passed"), ("activating", "passed"), ("inactive", "found"), ("failed", "found"), (None, "found")])
def test_a_daemon_that_devices_need(needy, active, outcome):
    """It is missed even where it is disabled or not installed at all."""
    entry = {"load": "loaded", "active": active, "sub": "x", "enabled": "disabled", "result": "x", "restarts": 0}
    judged = changed(*([("services units nvsm", entry)] if active else []))
    assert judged.outcome("vendor-daemons") == outcome
    assert {f["level"] for f in judged.findings if f["rule"] == "vendor-daemons"} == ({"fail"} if outcome == "found" else set())
    assert changed(("services units", {"unknown": "systemd does not run here"})).outcome("vendor-daemons") == "unknown"
    again = {"load": "loaded", "active": "activating", "sub": "auto-restart", "enabled": "enabled", "result": "exit-code", "restarts": 900}
    assert changed(("services units nvsm", again)).outcome("vendor-daemons") == "found"


@pytest.mark.parametrize(
    ("units", "active", "outcome"),
    [
        ("nvsm.service", "active", "passed"),
        ("nvsm", "inactive", "found"),
        ("nvsm", None, "found"),
        ("own-agent", "active", "unknown"),
        ("", "inactive", "not_applicable"),
    ],
)
def test_a_daemon_that_the_site_needs(units, active, outcome):
    entry = {"load": "loaded", "active": active, "sub": "x", "enabled": "disabled", "result": "x", "restarts": 0}
    judged = changed(*([("services units nvsm", entry)] if active else []), accelerator_policy_vendor_daemons_units=units)
    assert judged.outcome("vendor-daemons") == outcome


def test_makers_whose_documents_know_no_daemon_and_those_without_a_document():
    assert changed().outcome("vendor-daemons") == "not_applicable"
    assert changed(of_maker("ascend")).outcome("vendor-daemons") == "not_applicable"
    assert changed(of_maker("tenstorrent")).outcome("vendor-daemons") == "unknown"


def test_daemons_that_are_named_are_read_and_belong_to_one_list():
    table = services._table()
    assert {entry["unit"] for entry in table["daemons"]} <= set(systemd_units.UNITS)
    needed = {entry["manufacturer"] for entry in table["daemons"] if entry["needed"]}
    assert not needed & {entry["manufacturer"] for entry in table["no_daemon"]}
    assert {entry["manufacturer"] for kind in ("daemons", "no_daemon") for entry in table[kind]} <= set(MANUFACTURERS)
