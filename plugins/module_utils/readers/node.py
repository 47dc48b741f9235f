# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What accelerator_info reads: the machine and what sits on PCI, without any vendor tool."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import host_facts, pci


def collect(host):
    """{section name: section}."""
    return {"host": host_facts.collect(host), "pci": pci.scan(host)}
