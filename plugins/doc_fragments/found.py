# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options common to every module that goes on from what a manufacturer's module found."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  devices:
    description:
      - The accelerators, as the C(devices) of the section that the manufacturer's module returned.
      - With O(run_directory) they are taken from that section of the run, and so are O(detection) and O(driver).
    type: raw
  detection:
    description: The block C(detection) of the same section. Accelerators that were not all detected are asked nothing further.
    type: raw
  driver:
    description: The block C(driver) of the same section, for the version of the runtime.
    type: raw
"""
