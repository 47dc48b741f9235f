# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and promises common to the modules that ask a driver and put back what they found."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  allow_driver_writes:
    description:
      - Whether the driver may be asked. Asking is a write, which is undone at once.
      - Without it a mode that is off is reported as off and not asked.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - The mode is read and the driver is not asked. What would have been asked is returned in C(would_ask).
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: none
  platform:
    description: Target OS or families that can be operated against.
    platforms: posix
    support: full
"""
