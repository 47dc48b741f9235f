# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One manufacturer's accelerators on PCI: those that accelerator_info found already, or looked for now."""

from __future__ import annotations

DEVICES = "/sys/bus/pci/devices"


def on_pci(host, manufacturer, pci):
    """Entries of the section pci, or a fact that says why they are unknown. pci: what is known of them, None to look."""
    if pci is not None:
        return pci
    # Here, because it is large and a play hands the entries over.
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import pci as scanner

    return scanner.accelerators(scanner.scan(host, (manufacturer,)), manufacturer)
