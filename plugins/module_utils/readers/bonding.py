# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds of the kernel, each with its members and their links.

Files: Linux Documentation/networking/bonding.rst; of a member: drivers/net/bonding/bond_sysfs_slave.c.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known

NET = "/sys/class/net"
MOST = 16  # bonds, and members of each
_NAME = re.compile(r"[^/\s]{1,15}\Z")


def _names(text):
    return [name for name in text.split() if _NAME.match(name) and name not in (".", "..")][:MOST]


def _bond(host, name):
    base = "%s/%s" % (NET, name)
    members = from_answer(host.read_text(base + "/bonding/slaves"), _names)
    if is_known(members):
        members = {one: {"link": fact(host, "%s/%s/bonding_slave/mii_status" % (NET, one))} for one in members}
    return {
        "mode": fact(host, base + "/bonding/mode", lambda text: text.split()[0]),
        "link": fact(host, base + "/bonding/mii_status"),
        "mtu": fact(host, base + "/mtu", integer),
        "members": members,
    }


def read(host, masters):
    """{bond: {mode, link, mtu, members: {interface: {link}}}}. masters: what bonding_masters says."""
    return {name: _bond(host, name) for name in _names(masters)}
