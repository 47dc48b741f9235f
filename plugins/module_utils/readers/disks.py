# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Disks and how each is attached, from sysfs; the drives themselves are asked for their health in smart.py."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact, integer
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown

BLOCK = "/sys/block"
NVME = "/sys/class/nvme"
_CHANNEL = re.compile(r"nvme(\d+)c\d+n(\d+)\Z")  # a path of a multipath namespace, which is seen as nvme0n1
_KEPT = 64


class Disks:
    """Block devices of sysfs and how each is attached."""

    def __init__(self, host):
        self.host = host
        self.controllers, self.spaces, self.owned = {}, {}, {}
        listing = host.listdir(NVME)
        self.problem = None if listing.ok or listing.status == ABSENT else listing.reason
        for name in sorted(n for n in listing.value or () if re.match(r"nvme\d+\Z", n)):
            base = "%s/%s/" % (NVME, name)
            self.controllers[name] = {"name": name, "transport": fact(host, base + "transport")}
            inside = host.listdir(base)
            self.owned[name] = set() if inside.ok else None
            for inner in inside.value or ():
                channel = _CHANNEL.match(inner)
                if channel or re.match(r"nvme\d+n\d+\Z", inner):
                    space = "nvme%sn%s" % channel.groups() if channel else inner
                    self.spaces.setdefault(space, name)
                    self.owned[name].add(space)

    def transport(self, disk):
        """pcie, tcp, rdma, fc, loop for NVMe; iscsi, fc, sas, sata, usb, virtio, rbd, nbd, scsi for others."""
        if disk.startswith("nvme"):
            controller = self.controllers.get(self.spaces.get(disk))
            return controller["transport"] if controller else unknown("%s: no controller shows it" % disk)
        for word in ("rbd", "nbd", "drbd", "vd", "xvd", "mmcblk", "pmem"):
            if re.match(word + r"[a-z\d]", disk):
                return {"vd": "virtio", "xvd": "xen"}.get(word, word)
        link = self.host.readlink("%s/%s" % (BLOCK, disk))
        if not link.ok:
            return unknown(link.reason)
        for word, name in (("/session", "iscsi"), ("/rport-", "fc"), ("/end_device-", "sas"), ("/ata", "sata"), ("/usb", "usb"), ("/virtio", "virtio")):
            if word in link.value:
                return name
        return "scsi"

    def below(self, name, depth=4):
        """The disks that a block device lies on, through device mapper and RAID."""
        slaves = self.host.listdir("%s/%s/slaves" % (BLOCK, name)) if depth else None
        if slaves is not None and slaves.ok and slaves.value:
            return sorted({disk for slave in slaves.value[:32] for disk in self.below(self._whole(slave), depth - 1)})
        return [name]

    def _whole(self, name):
        link = self.host.readlink("/sys/class/block/" + name)
        parent = link.value.split("/")[-2] if link.ok and link.value.count("/") > 1 else ""
        return parent if parent and name.startswith(parent) else name

    def of_mount(self, mount):
        """Names of the disks below a mount; unknown where it lies on none that is seen."""
        if not mount["device"].startswith("0:"):
            link = self.host.readlink("/sys/dev/block/" + mount["device"])
            if not link.ok:
                return unknown(link.reason)
            return self.below(self._whole(link.value.rpartition("/")[2]))
        if mount["source"].startswith("/dev/"):  # btrfs has a device number of its own
            name = mount["source"].rpartition("/")[2]
            return self.below(self._whole(name))
        return unknown("%s on no block device that is seen" % mount["type"])

    def inventory(self, names):
        """[{name, transport, size_gb, model, rotational, firmware, state}]; loops, RAID and mapped devices are not disks."""
        found = []
        for name in names[:_KEPT]:
            base = "%s/%s/" % (BLOCK, name)
            controller = self.spaces.get(name)
            device = "%s/%s/" % (NVME, controller) if controller else base + "device/"
            size = fact(self.host, base + "size", lambda text: round(integer(text) * 512 / 1e9, 1))
            if size == 0:
                continue
            one = {
                "name": name,
                "transport": self.transport(name),
                "size_gb": size,
                "model": fact(self.host, device + "model", lambda t: " ".join(t.split()), "none"),
            }
            one["rotational"] = fact(self.host, base + "queue/rotational", lambda text: text == "1")
            one["firmware"] = fact(self.host, device + ("firmware_rev" if controller else "rev"), lambda t: t[:40], "none")
            one["state"] = fact(self.host, device + "state", lambda t: t[:40], "none")
            found.append(one)
        return found

    def without_namespace(self, seen):
        """[{name, transport, state, kind, model, firmware, address}] of NVMe controllers that bring no disk, or one of size 0; seen: names of disks.

        Linux drivers/nvme/host/core.c: the namespaces of a controller that dies are emptied, then taken away; sysfs.c: the attributes.
        """
        found = []
        for name, spaces in self.owned.items():
            if spaces is not None and not spaces & seen:
                base = "%s/%s/" % (NVME, name)
                one = {"name": name, "transport": self.controllers[name]["transport"]}
                for key, attribute in (("state", "state"), ("kind", "cntrltype"), ("model", "model"), ("firmware", "firmware_rev"), ("address", "address")):
                    one[key] = fact(self.host, base + attribute, lambda text: " ".join(text.split())[:60], "not told by this kernel")
                found.append(one)
        return found[:_KEPT]


def read(host, names):
    """{disks, controllers, health}."""
    disks = Disks(host)
    found = {"disks": disks.inventory(names), "health": not_applicable("no drive that could be asked")}
    seen = {d["name"] for d in found["disks"]} | set(names[_KEPT:])
    unread = [n for n, spaces in disks.owned.items() if spaces is None]
    silent = disks.problem or ("what %s has is not known" % ", ".join(unread) if unread else None)
    found["controllers"] = unknown(silent) if silent else disks.without_namespace(seen)
    drives = [n for n, c in disks.controllers.items() if c["transport"] == "pcie"]
    plain = [d["name"] for d in found["disks"] if d["transport"] in ("sata", "sas")]
    if drives or plain:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import smart  # only where there is a drive

        found["health"] = smart.read(host, drives, plain)
    elif disks.problem:
        found["health"] = unknown(disks.problem)
    return found
