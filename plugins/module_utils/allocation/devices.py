# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an allocation asks of a device of the report."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known


def identifier(device, what="uuid"):
    """An identifier that names the device alone, else an empty text."""
    identity = device.get("identity")
    item = identity.get(what) if isinstance(identity, dict) else None
    if not isinstance(item, dict) or item.get("quality") != "good" or not is_known(item.get("value")):
        return ""
    return str(item["value"])


def label(device):
    """What a row calls the accelerator: the vendor's id where there is one, else the id in the report."""
    return identifier(device) or str(device.get("id"))


def packages(devices):
    return [device for device in devices if device.get("kind") == "package"]


def extra(device, key):
    found = device.get("extra")
    return found.get(key) if isinstance(found, dict) else None


def partition(device, key):
    found = device.get("partition")
    return found.get(key, found) if isinstance(found, dict) else found
