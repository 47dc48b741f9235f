# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of RDMA devices: state, speed, addresses, subnet manager and error counters.

Files: Linux Documentation/ABI/stable/sysfs-class-infiniband; what they print: drivers/infiniband/core/sysfs.c.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

EMPTY_GIDS, MOST_GIDS = 8, 64  # empty ones after the last, and all that are looked at
# Not those of four bits: they are full after 15, and say nothing of how the link is now.
COUNTERS = ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors")
_GID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){7}\Z")
_RATE = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?) Gb/sec(?: \((\d{1,2}X)(?: (\w{1,12}))?\))?\Z")


def word(text):
    """`4: ACTIVE` -> active; an EFA is of a type that older kernels print as <unknown>."""
    return re.findall(r"^\d+: *<?([A-Za-z][\w ]{0,30})>?$", text)[0].strip().lower()


def _kind(gid):
    """What a GID stands for; None of one that is empty."""
    digits = gid.replace(":", "")
    if not digits.strip("0"):
        return None
    if digits.startswith("0" * 20 + "ffff"):
        return "ipv4"
    return "link_local" if digits.startswith("fe80") else "ipv6"


def gids(host, port, iwarp=False):
    """{type and kind: first index}: never the addresses, which are the node's own. Of iWARP a GID is the hardware's address."""
    listing = host.listdir(port + "/gids")
    if not listing.ok:
        return not_applicable("no GIDs") if listing.status == ABSENT else unknown(listing.reason)
    found, last = {}, EMPTY_GIDS
    for index in sorted(int(n) for n in listing.value if re.match(r"\d{1,4}\Z", n))[:MOST_GIDS]:
        if index >= last:
            break
        answer = host.read_line("%s/gids/%d" % (port, index))
        if not answer.ok:
            return unknown(answer.reason)
        if not _GID.match(answer.value):
            return unknown("%s: not understood: %.40r" % (answer.subject, answer.value))
        kind = _kind(answer.value)
        if kind is None:
            continue
        if iwarp:
            return {"iwarp": index}
        last = index + 1 + EMPTY_GIDS
        said = host.read_line("%s/gid_attrs/types/%d" % (port, index))
        told = said.value.lower().replace("/", " ") if said.ok else "type not told"
        name = {"ib roce v1": "roce v1"}.get(told, told)[:20]
        found.setdefault("%s %s" % (name, kind), index)
    return found


def _rate(text):
    rate, lanes, speed = _RATE.findall(text)[0]
    return {"gbit_s": float(rate), "lanes": lanes, "speed": speed}


def _manager(host, base):
    """Who manages the subnet: none, this port or elsewhere; the numbers are the subnet's own."""
    own, manager = (fact(host, "%s/%s" % (base, name), lambda text: int(text[:10], 16), "not told by this driver") for name in ("lid", "sm_lid"))
    if not is_known(manager):
        return manager
    if not manager:
        return "none"
    return "this port" if own == manager else "elsewhere"


def _port(host, base, kind):
    rate = fact(host, base + "/rate", _rate)
    if not is_known(rate):
        rate = dict.fromkeys(("gbit_s", "lanes", "speed"), rate)
    layer = fact(host, base + "/link_layer")
    managed = layer == "InfiniBand" and kind != "rnic"
    return {
        "link_layer": layer,
        "state": fact(host, base + "/state", word),
        "physical_state": fact(host, base + "/phys_state", word, "not told by this driver"),
        **rate,
        "gids": gids(host, base, kind == "rnic"),
        "subnet_manager": _manager(host, base) if managed else not_applicable("no InfiniBand"),
    }


def _errors(host, base):
    """{counter: number}; one that the adapter does not count reads N/A."""
    listing = host.listdir(base + "/counters")
    if not listing.ok:
        return not_applicable("not counted by this driver") if listing.status == ABSENT else unknown(listing.reason)
    return {name: fact(host, "%s/counters/%s" % (base, name), integer) for name in COUNTERS if name in listing.value}


def read(host, device, kind):
    """(ports, their errors) of an RDMA device."""
    listing = host.listdir(device + "/ports")
    if not listing.ok:
        return (unknown(listing.reason),) * 2
    numbers = sorted((n for n in listing.value if re.match(r"\d{1,3}\Z", n)), key=int)
    bases = {n: "%s/ports/%s" % (device, n) for n in numbers}
    return {n: _port(host, base, kind) for n, base in bases.items()}, {n: _errors(host, base) for n, base in bases.items()}
