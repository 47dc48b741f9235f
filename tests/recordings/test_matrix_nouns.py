# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an acceptance freezes can be selected from the report of a recorded node, and is told apart from what is not there."""

from __future__ import annotations

import demo
import pytest
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import matrix

NOUNS = {
    "operating system": "join(' ', [host.os.id, host.os.version])",
    "kernel": "host.kernel.release",
    "command line": "host.kernel.command_line",
    "control groups": "settings.cgroup",
    "BIOS": "host.bios.version",
    "BMC": "host.bmc.version",
    "microcode": "keys(hardware.microcode)",
    "firmware of accelerators": "accelerators.nvidia.devices[].firmware.vbios",
    "driver of accelerators": "accelerators.nvidia.driver.version",
    "who installs it": "to_string(host.services.driver_container)",
    "firmware of adapters": "network_devices.rails.*.firmware",
    "driver of adapters": "network_devices.rails.*.driver",
    "library of adapters": "software.libraries.ibverbs",
    "source of time": "host.time.method",
    "name servers": "settings.name_servers",
    "bounds of the journal": "settings.log_rotation.journald.SystemMaxUse",
    "rotation of Docker's logs": "settings.log_rotation.docker.\"max-size\" || 'not set'",
    "rotation of logs of pods": "kubelet.settings.container_log_max_size.value || 'no kubelet'",
    "certificates": "settings.certificates.bundle.digest",
    "registries": "to_string(settings.certificates.registries)",
    "file systems": "storage.mounts[?path=='/'].type",
    "directories of logs": "storage.directories[?purpose=='log'].path",
    "SMT": "host.cpu.smt",
    "Secure Boot": "host.security.secure_boot",
    "hardening": "settings.security.lockdown",
    "security modules": "settings.security.modules",
    "auditing": "services.units.auditd.active || 'absent'",
    "firewall": "services.units.firewalld.active || services.units.nftables.active || services.units.ufw.active || 'absent'",
    "remote access": "services.units.ssh.active || services.units.sshd.active || 'absent'",
    "updates by itself": "services.units.\"unattended-upgrades\".enabled || 'absent'",
    "remote access of the BMC": "hardware.bmc_network.community_is_public",
    "maximum of pods": "kubelet.settings.max_pods.value || 'no kubelet'",
    "mode of partitions": "accelerators.nvidia.devices[].partition.enabled",
}


@pytest.fixture(scope="module")
def report():
    sections = demo.read(demo.document("gpu-h01"))
    return matrix.nested({name: demo.envelope(data) for name, data in sections.items()})


@pytest.mark.parametrize("noun", NOUNS)
def test_it_can_be_pinned(report, noun):
    lines, problems = matrix.check({"accelerator_version_matrix": {"line": {"select": NOUNS[noun]}}})
    assert problems == []
    values, reason = matrix.selected(lines[0], report)
    assert reason == "" and all(values), (values, reason)


def test_a_unit_that_is_not_there_has_a_word(report):
    assert "firewalld" not in report["services"]["units"]
    found = {}
    for noun in ("auditing", "firewall"):
        (line,), _problems = matrix.check({"accelerator_version_matrix": {"line": {"select": NOUNS[noun], "exact": "active"}}})
        found[noun] = [matrix.fits(line, value) for value in matrix.selected(line, report)[0]]
    assert found == {"auditing": [True], "firewall": [False]}
