# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of a manufacturer on PCI that neither id nor class names: what makes one an accelerator all the same."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.pci import driver_of, path_of, read
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known

_CARVED = 2 << 30  # bytes; what firmware sets aside of the host's memory for graphics is seldom more


def shows_itself(host, address, entry, vendors, pci_class):
    """Whether a function that neither id nor class names is an accelerator by what it hangs on, or by the driver that took it."""
    if "internal_switch" not in entry["flags"]:
        return driver_of(host, address) in entry["modules"]
    # the driver takes integrated graphics too: those have no switch of the card's maker above them
    if not pci_class.startswith("03"):
        return False
    path = path_of(host, address)
    if isinstance(path, list) and len(path) > 1 and vendors.get(path[-2]) == vendors[address]:
        return True
    return driver_of(host, address) in entry["modules"] and not _in_processor(address, vendors) and _own_memory(host, address)


def _in_processor(address, vendors):
    """Integrated graphics share their device with functions of AMD the maker of processors (security processor, USB)."""
    return any(vendors.get("%s.%d" % (address[:-2], number)) == "1022" for number in range(8))


def _own_memory(host, address):
    """A card has memory of its own. Documentation/gpu/amdgpu/driver-misc: mem_info_vram_total, in bytes."""
    size = read(host, address, "mem_info_vram_total", int)
    return is_known(size) and size > _CARVED
