# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sits on PCI, from /sys/bus/pci/devices alone. Which function is what: tools/generate_registry.py.

File meanings: Linux Documentation/ABI/testing/sysfs-bus-pci and drivers/pci/pci-sysfs.c.
"""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, IO_ERROR
from ansible_collections.fleetproof.accelerator.plugins.module_utils.manufacturers.registry import BY_VENDOR, MANUFACTURERS
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import from_answer, is_known, not_applicable, unknown, why

DEVICES = "/sys/bus/pci/devices"
ACCELERATOR = "accelerator"
VIRTUAL_FUNCTION = "virtual_function"
BRIDGE = "bridge"
OTHER = "other"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_HEX = re.compile(r"0x([0-9a-f]{2,6})\Z")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) ?GT/s")
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
# What a person could take for an accelerator: network, display, multimedia, communication, processor, accelerator.
_LISTED = ("02", "03", "04", "07", "0b", "12")


def _hex(digits):
    def convert(text):
        found = _HEX.match(text.strip().lower())
        if not found or len(found.group(1)) != digits:
            raise ValueError(text)
        return found.group(1)

    return convert


def _width(text):
    width = int(text.strip())
    if width not in _WIDTHS:  # 0: no link; 63 and 255: the device does not answer any more
        return unknown("no such link width: x%d" % width)
    return width


def _speed(text):
    found = _SPEED.match(text.strip())
    return float(found.group(1)) if found else unknown("no link speed: %r" % text.strip()[:40])


def _numa(text):
    node = int(text.strip())
    return node if node >= 0 else unknown("the firmware names no NUMA node (%d)" % node)


def read(host, address, name, convert):
    return from_answer(host.read_text("%s/%s/%s" % (DEVICES, address, name)), convert)


def _link_value(host, address, name, convert):
    answer = host.read_text("%s/%s/%s" % (DEVICES, address, name))
    if answer.status == ABSENT:  # the kernel shows these files exactly for functions with a PCI Express capability
        return not_applicable("%s has no PCI Express link" % address)
    return from_answer(answer, convert)


def link(host, address):
    widths = {"width_" + when: _link_value(host, address, when + "_link_width", _width) for when in ("current", "max")}
    speeds = {"speed_%s_gts" % when: _link_value(host, address, when + "_link_speed", _speed) for when in ("current", "max")}
    return dict(widths, **speeds)


def driver_of(host, address):
    answer = host.readlink("%s/%s/driver" % (DEVICES, address))
    if answer.status == ABSENT:
        return None
    return from_answer(answer, lambda target: target.rstrip("/").rsplit("/", 1)[-1])


def _is_virtual_function(host, address):
    """True, False, or unknown."""
    answer = host.readlink("%s/%s/physfn" % (DEVICES, address))
    if answer.ok:
        return True
    if answer.status == ABSENT or (answer.status == IO_ERROR and answer.detail == "EINVAL"):
        return False
    return unknown(answer.reason)


def role_of(entry, device, pci_class):
    """Role by identity alone; device id and class as hexadecimal text, either may be unknown."""
    if is_known(device):
        for role, table in ((BRIDGE, "bridges"), (OTHER, "excluded"), (ACCELERATOR, "devices")):
            if device in entry[table]:
                return role
    if not is_known(device):
        return device
    if not is_known(pci_class):
        return pci_class
    if any(pci_class.startswith(prefix) for prefix in entry["bridge_classes"]):
        return BRIDGE
    return ACCELERATOR if any(pci_class.startswith(prefix) for prefix in entry["classes"]) else OTHER


def _model(entry, role, device):
    for table in ("devices", "bridges", "excluded"):
        if is_known(device) and device in entry[table]:
            return entry[table][device]
    if role == OTHER:
        return not_applicable("not an accelerator")
    return unknown("device id %s is not in the table" % device if is_known(device) else why(device))


def path_of(host, address):
    """Components of the function's real sysfs path, from the root complex down, or unknown."""
    answer = host.readlink("%s/%s" % (DEVICES, address))
    if not answer.ok:
        return unknown(answer.reason)
    parts = [part for part in answer.value.split("/") if part not in ("", ".", "..")]
    return parts if parts and parts[-1] == address else unknown("%s/%s: unexpected link %r" % (DEVICES, address, answer.value[:120]))


def _ends(host, address, internal_switch, vendors, ports):
    """(pcie, upstream): the card's end of its slot link and the port at the other end.

    A card with its own switch (AMD) meets the slot with that switch: the link of the function itself is inside the card.
    """
    path = path_of(host, address)
    if not is_known(path):
        return link(host, address), path
    own = address
    above = path[:-1]
    while internal_switch and len(above) > 3 and vendors.get(above[-1]) == vendors[address]:
        own = above.pop()
    pcie = link(host, own)
    if not above or not _ADDRESS.match(above[-1]):
        return pcie, not_applicable("no port above %s (%s)" % (own, above[-1] if above else "root"))
    port = above[-1]
    if port not in ports:
        ports[port] = dict(link(host, port), address=port)
    return pcie, dict(ports[port])


def _entry(host, address, name, vendor, device, pci_class, role):
    return {
        "address": address,
        "vendor": vendor,
        "device": device,
        "subsystem_vendor": read(host, address, "subsystem_vendor", _hex(4)),
        "subsystem_device": read(host, address, "subsystem_device", _hex(4)),
        "class": "0x%s" % pci_class if is_known(pci_class) else pci_class,
        "revision": read(host, address, "revision", _hex(2)),
        "manufacturer": name,
        "role": role,
        "model": _model(MANUFACTURERS[name], role, device),
        "driver": driver_of(host, address),
        "numa_node": read(host, address, "numa_node", _numa),
    }


def _vendors(host, names):
    """({address: vendor id}, [why one could not be read], [functions that went away meanwhile])."""
    vendors, failed, gone = {}, [], []
    for address in names:
        answer = host.read_text("%s/%s/vendor" % (DEVICES, address))
        vendor = from_answer(answer, _hex(4))
        if is_known(vendor):
            vendors[address] = vendor
        elif answer.status == ABSENT:
            gone.append(address)
        else:
            failed.append(why(vendor))
    return vendors, failed, gone


def scan(host, manufacturers=None):
    """The section `pci`; manufacturers: names to look for, all registered ones by default."""
    wanted = [name for name in (manufacturers or MANUFACTURERS) if name in MANUFACTURERS]
    section = {"timestamp": utc(host.now()), "scan": {"status": "ok", "detail": ""}, "counts": dict.fromkeys(wanted, 0), "devices": []}
    listing = host.listdir(DEVICES)
    if not listing.ok:
        buses = host.listdir("/sys/bus")
        if listing.status == ABSENT and buses.ok and "cpu" in buses.value and "pci" not in buses.value:
            section["scan"]["detail"] = "this kernel has no PCI bus"
            return section
        section["scan"] = {"status": listing.status, "detail": listing.reason}
        section["counts"] = {name: unknown(listing.reason) for name in wanted}
        return section
    names = sorted(name for name in listing.value if _ADDRESS.match(name))
    vendors, failed, gone = _vendors(host, names)
    ports, doubts = {}, {}
    for address in names:
        name = BY_VENDOR.get(vendors.get(address))
        if name not in wanted:
            continue
        entry = MANUFACTURERS[name]
        pci_class = read(host, address, "class", _hex(6))
        if "host_maker" in entry["flags"] and str(pci_class)[:2] != "03":  # the kernel has it in memory: only old recordings lack it
            continue
        device = read(host, address, "device", _hex(4))
        role = role_of(entry, device, pci_class)
        if role == OTHER and device not in entry["excluded"]:
            # Here, because most nodes have no such function.
            from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.pci_unlisted import shows_itself

            role = ACCELERATOR if shows_itself(host, address, entry, vendors, pci_class) else OTHER
        if role == OTHER and device not in entry["excluded"] and pci_class[:2] not in _LISTED:
            continue
        if role == ACCELERATOR:
            virtual = _is_virtual_function(host, address)
            if virtual is not False:
                role = VIRTUAL_FUNCTION if virtual is True else virtual
        found = _entry(host, address, name, vendors[address], device, pci_class, role)
        if role == VIRTUAL_FUNCTION:
            found["pcie"] = found["upstream"] = not_applicable("a virtual function has no link of its own")
        elif role == OTHER:
            found["pcie"] = found["upstream"] = not_applicable("not an accelerator")
        else:
            found["pcie"], found["upstream"] = _ends(host, address, "internal_switch" in entry["flags"], vendors, ports)
        section["devices"].append(found)
        if role == ACCELERATOR:
            section["counts"][name] += 1
        elif not is_known(role):
            doubts.setdefault(name, why(role))
    section["scan"]["detail"] = "%d functions" % len(names)
    if gone:
        section["scan"]["detail"] += "; gone while being read: %s" % ", ".join(gone[:8])
    if failed:
        section["scan"] = {"status": "partial", "detail": "%d of %d functions could not be read: %s" % (len(failed), len(names), failed[0])}
        doubts = dict.fromkeys(wanted, section["scan"]["detail"])
    for name, reason in doubts.items():
        section["counts"][name] = unknown(reason)
    return section


def accelerators(section, manufacturer):
    """Entries with role accelerator of one manufacturer; unknown when the scan cannot tell them all."""
    count = section["counts"].get(manufacturer, unknown("not looked for"))
    if not is_known(count):
        return count
    return [e for e in section["devices"] if e["manufacturer"] == manufacturer and e["role"] == ACCELERATOR]
