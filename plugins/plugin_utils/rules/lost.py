# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a lost device leaves without an answer follows from one finding, and is told with one reason. It stays unknown."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules import untold
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.rules.view import LONGEST, show

RULE = "device-lost"
REASON = "the device is lost (%s)" % RULE


class Lost:
    """The lost devices of a node, and the reasons for which their facts alone were not read."""

    def __init__(self, devices, others):
        self.subjects = {(device.kind, device.id) for device in devices}
        self.reasons = _reasons(devices) - _reasons(others)

    def explains(self, rule, subject, reason):
        # Of a tool that never tells it, the device that is lost is not why.
        return (subject in self.subjects or reason in self.reasons) and not untold.of(rule, "unknown", reason)


def of(view):
    """None where no device is lost."""
    lost = [device for device in view.packages if device.maybe("word", "health", "state") == "lost"]
    return Lost(lost, [device for device in view.packages if device not in lost]) if lost else None


def _reasons(devices):
    found, left = set(), [device.data for device in devices]
    while left:
        value = left.pop()
        if value.__class__ is list:
            left += value
        elif value.__class__ is dict:
            if len(value) == 1 and value.get("unknown").__class__ is str:
                found.add(show(value["unknown"], LONGEST))
            else:
                left += value.values()
    return found
