# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options common to every module that reads the accelerators of one manufacturer."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  pci:
    description:
      - The accelerators of this manufacturer that PCI shows, as M(fleetproof.accelerator.accelerator_info) returns them.
      - With O(run_directory) they are taken from the section C(pci) of the run. Without either, PCI is looked at again.
    type: raw
"""
