# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the interfaces of the rails are connected to, as far as files tell: routes, subnets, and neighbors that a daemon heard.

LLDP: IEEE 802.1AB, clause 8 (TLVs); systemd-networkd keeps each frame behind its length of 8 bytes in /run/systemd/netif/lldp.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, not_applicable, unknown

LLDP = "/run/systemd/netif/lldp"
_WIDEST = 32  # subnets of an interface that are told
_HEX = re.compile(r"[0-9a-f]{1,8}\Z")


def _ipv4(word):
    """The kernel's hexadecimal, in the order of a little-endian machine."""
    return ".".join(str(int(word[at : at + 2], 16)) for at in (6, 4, 2, 0))


def _ipv6(word, length):
    """The network of an address, as eight groups."""
    bits = int(word, 16) >> (128 - length) << (128 - length)
    return "%s/%d" % (":".join("%x" % (bits >> at & 0xFFFF) for at in range(112, -1, -16)), length)


def _routes(host):
    """({interface: [subnet]}, [{family, interface, metric}]) of the main table, or (reason, reason)."""
    answer = host.read_text("/proc/net/route")
    if not answer.ok:
        return (unknown(answer.reason),) * 2
    subnets, default = {}, []
    for line in answer.value.splitlines()[1:4096]:
        words = line.split()
        if len(words) < 8 or not all(re.match(r"[0-9A-F]{8}\Z", words[at]) for at in (1, 2, 7)) or not re.match(r"[0-9]{1,10}\Z", words[6]):
            continue
        name, length = words[0], bin(int(words[7], 16)).count("1")
        if not length and words[1] == "00000000":
            default.append({"family": "ipv4", "interface": name, "metric": int(words[6])})
        elif words[2] == "00000000":
            subnets.setdefault(name, []).append("%s/%d" % (_ipv4(words[1]), length))
    answer = host.read_text("/proc/net/ipv6_route")
    for line in answer.value.splitlines()[:8192] if answer.ok else ():
        words = line.split()
        if len(words) > 9 and words[1] == "00" and words[9] != "lo" and words[0].strip("0") == "" and words[4].strip("0") and _HEX.match(words[5]):
            default.append({"family": "ipv6", "interface": words[9], "metric": int(words[5], 16)})
    answer = host.read_text("/proc/net/if_inet6")
    for line in answer.value.splitlines()[:4096] if answer.ok else ():
        words = line.split()
        if len(words) == 6 and words[3] == "00" and re.match(r"[0-9a-f]{32}\Z", words[0]) and _HEX.match(words[2]):  # global scope
            subnets.setdefault(words[5], []).append(_ipv6(words[0], min(int(words[2], 16), 128)))
    return {name: sorted(set(found))[:_WIDEST] for name, found in subnets.items()}, sorted(default, key=lambda r: (r["family"], r["metric"], r["interface"]))[
        :16
    ]


def _rules(host, needed):
    """Rules of policy routing besides the kernel's own three: a RoCE node with several rails has some for each."""
    if not needed:
        return not_applicable("no RDMA over Ethernet")
    command = host.run(["ip", "rule", "show"], timeout=5)
    if command.status == ABSENT:
        return not_applicable("no ip program")
    if not command.succeeded:
        return unknown(command.reason)
    return sum(1 for line in command.stdout.splitlines() if re.match(r"\d+:", line) and not re.search(r"from all lookup (?:local|main|default)\s*\Z", line))


def frames(content):
    """[{switch, port}] of what systemd-networkd keeps of one interface."""
    found, at = [], 0
    while at + 8 <= len(content) and len(found) < 8:
        length = int.from_bytes(content[at : at + 8], "little")
        frame = content[at + 8 : at + 8 + length]
        at += 8 + length
        if len(frame) < length or length > 65536 or frame[12:14] != b"\x88\xcc":
            break
        place, told = 14, {}
        while place + 2 <= len(frame):
            header = int.from_bytes(frame[place : place + 2], "big")
            kind, value = header >> 9, frame[place + 2 : place + 2 + (header & 511)]
            place += 2 + (header & 511)
            if not kind:
                break
            told.setdefault(kind, value)
        port = told.get(2, b"")
        # subtype 3 is an address of hardware, 5 and 7 are names
        words = port[1:].hex() if port[:1] == b"\x03" else port[1:].decode("utf-8", "replace")
        switch = told[5].decode("utf-8", "replace") if 5 in told else told.get(1, b"")[1:].hex()
        found.append({"switch": switch[:80], "port": words[:80]})
    return found


def _neighbors(host, names):
    listing = host.listdir(LLDP)
    if not listing.ok:
        return not_applicable("no daemon keeps neighbors in a file") if listing.status == ABSENT else unknown(listing.reason)
    kept = frozenset(listing.value)
    found = {}
    for name in names:
        index = host.read_line("/sys/class/net/%s/ifindex" % name)
        if index.ok and index.value in kept:
            content = host.read_bytes("%s/%s" % (LLDP, index.value), 1 << 16)
            if content.ok:
                found[name] = frames(content.value)
    return found


def read(host, section):
    """{default_routes, policy_rules, subnets: {rail: [subnet]}, subnet_sizes: {rail: [/length]}, neighbors: {rail: [{switch, port}]}}."""
    rails = section["rails"] if is_known(section["rails"]) else {}
    subnets, default = _routes(host)
    over_ethernet = any(p.get("link_layer") == "Ethernet" for d in rails.values() if is_known(d["ports"]) for p in d["ports"].values())
    found = {"default_routes": default, "policy_rules": _rules(host, over_ethernet)}
    if not rails:
        return dict(found, **dict.fromkeys(("subnets", "neighbors", "subnet_sizes"), section["rails"]))
    names = {rail: device["interfaces"] + [b for b in _bonds(section, device) if b not in device["interfaces"]] for rail, device in rails.items()}
    if is_known(subnets):
        of_rails = {rail: sorted({s for n in found_names for s in subnets.get(n, ())}) for rail, found_names in names.items()}
        sizes = {rail: sorted({s[s.index("/") :] for s in told}) for rail, told in of_rails.items()}
        found.update(subnets=of_rails, subnet_sizes=sizes)
    else:
        found.update(subnets=subnets, subnet_sizes=subnets)
    neighbors = _neighbors(host, sorted({n for device in rails.values() for n in device["interfaces"]}))
    if is_known(neighbors):
        neighbors = {rail: [one for n in device["interfaces"] for one in neighbors.get(n, ())] for rail, device in rails.items()}
    return dict(found, neighbors=neighbors)


def _bonds(section, device):
    interfaces = section["interfaces"] if is_known(section["interfaces"]) else {}
    return [interfaces[n]["bond"] for n in device["interfaces"] if n in interfaces and isinstance(interfaces[n]["bond"], str)]
