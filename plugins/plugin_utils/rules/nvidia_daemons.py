# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules about NVIDIA's daemons and switches: what the fabric manager complains of, switches that are missing, DCGM's engine."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import data_file, products
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.detection import FOREIGN
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.registry import (
    LEVELS,
    PASSED,
    NoAnswer,
    Parameter,
    expectation,
    found,
    not_applicable,
    rule,
    unknown,
)
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import clean
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.when import epoch

DATA = Path(__file__).parent.parent / "data" / "fabric_manager.yml"
_OTHER = {"level": "info", "words": "an error that is not in the table", "version": False}


@lru_cache(maxsize=1)
def messages():
    return [dict(entry, match=re.compile(entry["match"])) for entry in data_file.load(DATA)["messages"]]


def ended(state):
    """Whether a unit ended and waits to be started again: systemd calls it activating all that time."""
    return state.maybe("word", "sub") in ("auto_restart", "auto-restart")


def running(view, name):
    """Whether a process of this name runs, in a container or not; None where it is not known. name: as the kernel cuts it to 15 characters."""
    seen = None if view.missing("services") else view.section("services").maybe("list", "processes", "daemons")
    return None if seen is None else name in seen


def _kind(event):
    return next((entry for entry in messages() if entry["match"].search(event.maybe("text", "message") or "")), _OTHER)


@rule(
    id="fabric-manager-log",
    layer=1,
    level="warn",
    title="The fabric manager complains of nothing since it was started",
    reads=("services",),
    scope="node",
    remedy="Read its log (/var/log/fabricmanager.log) around that time; a fatal error of a switch needs a reset of all GPUs and switches,"
    " failed multicast teams a restart of the fabric manager once the node is drained.",
    parameters={"within_days": Parameter("number", 7, "days", "our choice: what is older had its time to be looked at, and is told and no more")},
    follows=("service-versions", "fabric-manager", "nvswitches", "kernel-nvswitch-errors"),
)
def fabric_manager_log(view, p):
    services = view.section("services")
    log = services.facts("fabric_manager_log")
    events = log.objects("events")
    now = epoch(services.text("timestamp"))
    told, undated = [], 0
    for event in events:
        kind, last = _kind(event), epoch(event.maybe("text", "last"))
        level = kind["level"]
        if last is None and log.maybe("text", "started") is None:
            undated += 1  # neither its time is known, nor that the manager which runs told it
            continue
        if last is not None and now is not None and last < now - p.within_days * 86400:
            level = "info"
        count, when = event.data.get("count"), event.maybe("text", "last") or "at an unknown time"
        told.append((level, kind, "%s (%s times, last %s): %s" % (kind["words"], count, when, clean(event.maybe("text", "message") or "", 160))))
    if told:
        told.sort(key=lambda one: -LEVELS.index(one[0]))
        worst = [one for one in told if one[0] == told[0][0]]
        causes = None if not any(kind.get("version") for _level, kind, _text in worst) else ("service-versions",)
        return found(
            "It told of %s" % "; ".join(text for _level, _kind, text in worst[:3]),
            len(told),
            expectation(0, "kinds of errors", "vendor document: NVIDIA Fabric Manager User Guide"),
            level=told[0][0],
            caused_by=causes,
        )
    if undated:
        return unknown("%d kinds of errors are in the log, and it is not known of when" % undated)
    return PASSED


@rule(
    id="nvswitches",
    layer=1,
    level="fail",
    title="Every switch of the baseboard is on PCI and has its driver",
    reads=("pci", "host", "accelerators"),
    scope="node",
    remedy="A switch that is missing left the bus or failed at its training: power the node off and on, then have the baseboard looked at."
    " One without a driver: load NVIDIA's driver again once the node is drained.",
    follows=("driver-library-match", "device-vanished", "accelerators-detected", "driver-built", "driver-loadable"),
)
def nvswitches(view, p):
    view.pci()  # NoAnswer where the bus was not read
    entries = [e for e in view.section("pci").objects("devices") if e.maybe("text", "manufacturer") == "nvidia"]
    bridges = [e for e in entries if e.maybe("text", "role") == "bridge"]
    switches = [e for e in bridges if e.maybe("text", "driver") not in FOREIGN]
    if bridges and not switches:
        return not_applicable("the NVSwitches that PCI shows are handed to a guest")
    bare = [e.maybe("text", "address") or "?" for e in switches if "driver" in e.data and e.data["driver"] is None]
    if bare:
        text = "%d NVSwitches have no driver: %s" % (len(bare), ", ".join(bare[:8]))
        return found(text, len(bare), expectation(0, "without a driver", "vendor document: NVIDIA Fabric Manager User Guide"))
    group = view.group("nvidia")
    packages = group.packages if group is not None else []
    facts = [product for product in map(products.of, packages) if product is not None and "switches" in product.facts]
    if not facts:
        return not_applicable("it is not known how many switches the baseboard has" if switches else "PCI shows no NVSwitch")
    cards = sum(1 for e in entries if e.maybe("text", "role") == "accelerator")
    if cards < 5:
        return not_applicable("fewer cards than a baseboard of eight has")
    if view.section("host").text("virtualization") != "none":
        return not_applicable("a guest has the switches that its host gives it")
    wanted = facts[0].facts["switches"] * -(-cards // 8)
    if not bridges and any((device.maybe("number", "links", "up") or 0) > 0 for device in packages):
        return not_applicable("PCI shows no NVSwitch, yet links between the devices are up: another machine runs them")
    if len(bridges) < wanted:
        return found("PCI shows %d NVSwitches of %d" % (len(bridges), wanted), len(bridges), expectation(wanted, "switches", facts[0].sources["switches"]))
    silent = next((e for e in switches if e.maybe("text", "driver") is None), None)
    if silent is not None:
        silent.text("driver")  # why it is not known
    return PASSED


@rule(
    id="dcgm-versions",
    layer=1,
    level="warn",
    title="DCGM's engine is of the version that is installed",
    reads=("services",),
    scope="node",
    remedy="Restart nvidia-dcgm: the engine that runs was started before the update, and tools of another version may misread it.",
)
def dcgm_versions(view, p):
    dcgm = view.section("services").facts("dcgm")
    client = dcgm.text("client")
    try:
        engine = dcgm.text("engine")
    except NoAnswer as no:
        # That no engine runs is no fault: it watches, and devices do not need it.
        if running(view, "nv-hostengine") is False:
            return not_applicable("no engine of DCGM runs on this node")
        return unknown(no.reason)
    if client != engine:
        units = view.section("services").maybe("facts", "units")
        # One that no unit runs is a container's, whose version is its image's.
        own = units is None or any(units.maybe("text", name, "active") == "active" for name in ("nvidia-dcgm", "dcgm"))
        text = "dcgmi is %s, the engine that runs %s%s" % (client, engine, "" if own else ", of no unit of the node")
        return found(text, engine, expectation(client, origin="this node: the version on the disk"), level=None if own else "info")
    return PASSED
