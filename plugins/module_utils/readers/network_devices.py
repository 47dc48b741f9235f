# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `network_devices`: RDMA devices and Ethernet ports of the host, from sysfs and procfs alone.

Files: Linux Documentation/ABI/stable/sysfs-class-infiniband, testing/sysfs-class-net, networking/proc_net.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown

RDMA, NET, PCI = "/sys/class/infiniband", "/sys/class/net", "/sys/bus/pci/devices"
MOST = 128  # devices that are read
LARGEST_CLASS = 1024  # names looked at
_NO_SPEED = "no link, or a driver that tells no speed"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def _numa(text):
    node = integer(text)
    return node if node >= 0 else not_applicable("the firmware names no NUMA node")


def _of_pci(host, address):
    """What the function on PCI tells of any adapter."""
    base = "%s/%s" % (PCI, address)
    link = host.readlink(base + "/driver")
    driver = not_applicable("no driver") if link.status == ABSENT else from_answer(link, lambda target: target.rsplit("/", 1)[-1])
    words = [host.read_line("%s/%s" % (base, name)) for name in ("vendor", "device")]
    bad = next((a for a in words if not a.ok), None)
    return {
        "address": address,
        "pci": unknown(bad.reason) if bad else ":".join(a.value[-4:] for a in words),
        "driver": driver,
        "numa_node": fact(host, base + "/numa_node", _numa, "no NUMA node is told"),
        "virtual": host.readlink(base + "/physfn").ok,
    }


def _places(host, directory):
    """({name: address or None}, why not). None: not on PCI."""
    listing = host.listdir(directory)
    if not listing.ok:
        return {}, None if listing.status == ABSENT else listing.reason
    found = {}
    for name in sorted(listing.value)[:LARGEST_CLASS]:
        link = host.readlink("%s/%s" % (directory, name))
        if not link.ok and directory == RDMA:
            link = host.readlink("%s/%s/device" % (directory, name))
        addresses = _ADDRESS.findall(link.value) if link.ok else ()
        found[name] = addresses[-1] if addresses else None
    return found, None


def _rdma(host, name, address):
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import rdma_ports  # only where there is such a device

    base = "%s/%s" % (RDMA, name)
    device = {"device": name, **(_of_pci(host, address) if address else {"address": not_applicable("not on PCI"), "virtual": False})}
    if not address:
        device.update(dict.fromkeys(("pci", "driver", "numa_node"), not_applicable("not on PCI")))
    device.update(
        type=fact(host, base + "/hca_type", None, "not told by this driver"),
        firmware=fact(host, base + "/fw_ver", lambda text: text or not_applicable("not told by this driver"), "not told by this driver"),
        board=fact(host, base + "/board_id", lambda text: text[:64], "not told by this driver"),
        kind=fact(host, base + "/node_type", rdma_ports.word),
    )
    device["ports"], device["errors"] = rdma_ports.read(host, base, device["kind"])
    return device


def _bonding(host):
    masters = host.read_text(NET + "/bonding_masters")
    if not masters.ok:
        return not_applicable("no bond") if masters.status == ABSENT else unknown(masters.reason)
    if not masters.value.strip():
        return not_applicable("no bond")
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import bonding  # only where there is one

    return bonding.read(host, masters.value)


def _speed(host, base):
    answer = host.read_line(base + "/speed")
    if not answer.ok:  # EINVAL where the link is down
        return not_applicable(_NO_SPEED) if "EINVAL" in answer.detail else unknown(answer.reason)
    return from_answer(answer, lambda text: integer(text) if integer(text) > 0 else not_applicable(_NO_SPEED))


def _interface(host, name, address):
    base = "%s/%s" % (NET, name)
    master = host.readlink(base + "/master")
    port = host.read_line(base + "/phys_port_name")
    found = {
        **_of_pci(host, address),
        "port": port.value[:20] if port.ok else fact(host, base + "/dev_port", lambda text: "p%d" % integer(text)),
        "type": fact(host, base + "/type", lambda text: {"1": "ethernet", "32": "infiniband"}.get(text, text)),
        "mtu": fact(host, base + "/mtu", integer),
        "state": fact(host, base + "/operstate"),
        "speed_mbit_s": _speed(host, base),
        "bond": not_applicable("in no bond") if master.status == ABSENT else from_answer(master, lambda target: target.rsplit("/", 1)[-1]),
    }
    del found["virtual"]
    return found


def _none(reason):
    return dict.fromkeys(("rails", "counts", "port_errors"), reason)


def collect(host):
    """Rails are the RDMA devices in the order of their PCI addresses; a virtual function is only counted."""
    places, trouble = _places(host, RDMA)
    section, virtual = {}, 0
    if trouble:
        section.update(_none(unknown(trouble)))
    elif not places:
        section.update(dict.fromkeys(("rails", "port_errors"), not_applicable("no RDMA device")))
    else:
        listed = [_rdma(host, name, address) for name, address in list(places.items())[:MOST]]
        virtual += sum(1 for d in listed if d["virtual"])
        own = sorted((d for d in listed if not d.pop("virtual")), key=lambda d: (not isinstance(d["address"], str), str(d["address"]), d["device"]))
        section["port_errors"] = {str(number): device.pop("errors") for number, device in enumerate(own)}
        section["rails"] = {str(number): device for number, device in enumerate(own)}
    links, problem = _places(host, NET)
    on_pci = [(name, address) for name, address in links.items() if address]
    physical = [(n, a) for n, a in on_pci if not host.readlink("%s/%s/physfn" % (PCI, a)).ok][:MOST]
    interfaces = {name: _interface(host, name, address) for name, address in physical}
    section["interfaces"] = unknown(problem) if problem else interfaces
    bonding = section["bonding"] = _bonding(host)
    # A bridge, or the interface of a guest's hypervisor, is above others as well.
    above = {i["bond"] for i in interfaces.values() if isinstance(i["bond"], str)}
    section["bonds"] = unknown(problem) if problem else sorted(above.intersection(bonding)) if is_known(bonding) else bonding if above else []
    if is_known(section["rails"]):
        for device in section["rails"].values():
            names = sorted(n for n, i in interfaces.items() if i["address"] == device["address"])
            device["interfaces"] = names
            device["mtu"] = interfaces[names[0]]["mtu"] if names else not_applicable("no interface of its own")
    if "counts" not in section:
        section["counts"] = {"rails": len(section["rails"]) if places else 0, "virtual_functions": virtual, "interfaces": len(interfaces)}
        if problem:
            section["counts"]["interfaces"] = unknown(problem)
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import network_wiring

    return dict(section, **network_wiring.read(host, section))
