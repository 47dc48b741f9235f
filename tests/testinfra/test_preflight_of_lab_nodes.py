# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the preflight of the molecule scenario saw on a node, and what it left there (nothing) and on the controller."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

RUN = Path(os.environ.get("FLEETPROOF_RUN", "/nonexistent"))
SECTIONS = {
    "accelerators.nvidia", "allocation.nvidia", "cdi", "container_runtime", "hardware", "host", "kernel", "kubelet", "network_devices", "paths.nvidia", "pci",
    "services", "settings", "software", "storage",
}  # fmt: skip


@pytest.fixture
def node(host):
    return host.check_output("hostname")


def newest(node, section):
    path = max((RUN / "nodes" / node).glob(section + ".*.json"), key=lambda p: int(p.name.split(".")[-2]))
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_node_has_eight_accelerators(host):
    vendors = host.check_output("cat /sys/bus/pci/devices/*/vendor").split()
    assert vendors.count("0x10de") >= 8
    assert host.run("nvidia-smi -q -x").succeeded


def test_every_section_is_filed_by_both_runs(node):
    names = {path.name for path in (RUN / "nodes" / node).iterdir()}
    assert names == {f"{section}.{attempt}.json" for section in SECTIONS for attempt in (1, 2)}
    assert {newest(node, section)["status"] for section in SECTIONS} == {"read"}


def test_the_sections_say_what_the_node_is(host, node):
    assert newest(node, "accelerators.nvidia")["data"]["detection"]["accelerators"] == 8
    assert newest(node, "pci")["data"]["counts"]["nvidia"] == 8
    facts = newest(node, "host")["data"]
    assert facts["kernel"]["release"] == host.check_output("uname -r")
    assert facts["system"]["product"] == host.file("/sys/class/dmi/id/product_name").content_string.strip()


def test_the_node_has_its_record_and_its_place_in_the_report(node):
    fleet = json.loads((RUN / "fleet.json").read_text(encoding="utf-8"))
    assert len(fleet["roster"]["expected"]) == 3
    (verdict,) = [entry for entry in fleet["verdicts"] if entry["node"] == node]
    assert verdict["verdict"] in ("accepted", "accepted_with_warnings"), verdict["reasons"]
    assert (RUN / "records" / (node + ".yml")).is_file()
    assert node in (RUN / "report.html").read_text(encoding="utf-8")


def test_nothing_is_left_on_the_node(host):
    assert not host.check_output("ls -A /tmp /dev/shm | grep -v ':$' | head -3")
    assert not host.run("pgrep -f 'nvidia-smi|AnsiballZ'").stdout
