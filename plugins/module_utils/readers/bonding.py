# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds of the kernel, each with its members and their links, and the members that the network's configuration names besides.

Files: Linux Documentation/networking/bonding.rst; of a member: drivers/net/bonding/bond_sysfs_slave.c. Configuration: ifcfg (initscripts, sysconfig.txt),
systemd.network(5), which netplan writes too. Not NetworkManager's own files, which hold secrets.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, unknown

NET = "/sys/class/net"
MOST = 16  # bonds, and members of each
CONFIGURED = (  # directory, files, names of interfaces, their bond
    ("/etc/sysconfig/network-scripts", r"ifcfg-.+", "DEVICE", "MASTER"),
    ("/etc/systemd/network", r".+\.network", "Name", "Bond"),
    ("/run/systemd/network", r".+\.network", "Name", "Bond"),
)
_FILES = 64
_NAME = re.compile(r"[^/\s]{1,15}\Z")


def _names(text):
    return [name for name in text.split() if _NAME.match(name) and name not in (".", "..")][:MOST]


def _configured(host):
    """({bond: {interface}}, why a part is not known)."""
    found, problem = {}, None
    for directory, files, device, master in CONFIGURED:
        listing = host.listdir(directory)
        if not listing.ok and listing.status != ABSENT:
            problem = problem or listing.reason
        for name in sorted(n for n in listing.value or () if re.match(files + r"\Z", n))[:_FILES]:
            answer = host.read_text("%s/%s" % (directory, name))
            problem = problem or (None if answer.ok else answer.reason)
            lines = [line.partition("=") for line in answer.value.splitlines()] if answer.ok else ()
            told = {key.strip(): value.strip().strip("\"'") for key, equal, value in lines if equal}
            if master in told and told.get("ONBOOT") != "no":
                names = [n for n in _names(told.get(device, "")) if not re.search(r"[*?\[!]", n)]
                if len(names) > 1:  # one file for several kinds of machine names what not each of them has
                    names = [n for n in names if host.readlink("%s/%s" % (NET, n)).ok]
                found.setdefault(told[master], set()).update(names)
    return found, problem


def _bond(host, name, configured, problem):
    base = "%s/%s" % (NET, name)
    members = from_answer(host.read_text(base + "/bonding/slaves"), _names)
    missing = members
    if is_known(members):
        missing = sorted(configured.difference(members)) or (unknown(problem) if problem else [])
        members = {one: {"link": fact(host, "%s/%s/bonding_slave/mii_status" % (NET, one))} for one in members}
    return {
        "mode": fact(host, base + "/bonding/mode", lambda text: text.split()[0]),
        "link": fact(host, base + "/bonding/mii_status"),
        "mtu": fact(host, base + "/mtu", integer),
        "members": members,
        "missing": missing,
    }


def read(host, masters):
    """{bond: {mode, link, mtu, members: {interface: {link}}, missing}}. masters: what bonding_masters says."""
    configured, problem = _configured(host)
    return {name: _bond(host, name, configured.get(name, frozenset()), problem) for name in _names(masters)}
