# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an allocation would hand to a container: as data, and each part of it held against the machine.

A maker (allocation/<manufacturer>.py) has:
    NOTE: why no driver is asked, "" where one is
    PROBE: whether a container can show what a slice sees
    accelerators(devices) -> those that are allocated
    capability(machine, device) -> (SLICED, number), (PARTITIONED, number), (NONE, reason) or (UNKNOWN or UNKNOWN_PARTITIONS, reason)
    grant(machine, device, mode, tenant=0) -> grant; raises Refused. tenant: the first or second slice of a card, half of it each
    driver_rows(machine, devices) -> rows
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.devices import extra, identifier, label, packages, partition
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import PARTITIONED, SLICED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, whole, why

__all__ = [
    "NONE", "PARTITIONED", "SLICED", "UNKNOWN", "UNKNOWN_PARTITIONS", "Machine", "Refused", "extra", "identifier", "label", "packages", "partition",
]  # fmt: skip
NONE, UNKNOWN, UNKNOWN_PARTITIONS = "none", "unknown", "unknown partitions"
PERCENT = 50  # half a card: close to a whole it could be the card, close to nothing a broken shim
MADE = "/var/lib/fleetproof/accelerator"  # below it would lie what is made for one allocation
NO_ROOT = "accelerator_slicing_library_root is not set"


class Refused(Exception):
    """The grant cannot be made; the text says why."""


def new(environment=None, device_nodes=(), mounts=(), annotations=None, cdi=(), runtime="", runtime_nodes=(), driver_request=None, caps=()):
    """A grant.

    runtime: the vendor's runtime that completes it, and runtime_nodes what that adds by itself; cdi: the names of the same devices where CDI is used
    instead; driver_request: what the driver is asked for as it is allocated; caps: the memory caps in it, as text.
    """
    return {
        "device_nodes": [{"path": path, "permissions": "rwm"} for path in device_nodes],
        "mounts": sorted(mounts, key=lambda entry: entry["target"]),
        "environment": dict(sorted((environment or {}).items())),
        "annotations": dict(sorted((annotations or {}).items())),
        "cdi": list(cdi),
        "runtime": runtime,
        "runtime_nodes": list(runtime_nodes),
        "driver_request": driver_request or {},
        "caps": list(caps),
        "missing": [],
        "unchecked": [],
    }


def mount(source, target, read_only=True, origin="host", content=None):
    """origin: host (it must be there), library (below the slicing library root) or made (for this one allocation, with this content)."""
    entry = {"source": source, "target": target, "read_only": read_only, "origin": origin}
    return entry if content is None else dict(entry, content=content)


class Machine:
    """The node as grants see it; each path is asked for once."""

    def __init__(self, host, devices, driver=None, library_root=""):
        self.host, self.devices, self.driver = host, devices, driver if isinstance(driver, dict) else {}
        self.library_root = (library_root or "").rstrip("/")
        self.sources, self.kept, self._there = [], {}, {}

    def there(self, path):
        """True, False, or a text that says why it is not known."""
        if path not in self._there:
            answer = self.host.exists(path)
            self._there[path] = bool(answer.value) if answer.ok else False if answer.status == ABSENT else answer.reason
        return self._there[path]

    def once(self, name, read):
        """What read() answers, asked once."""
        if name not in self.kept:
            self.kept[name] = read()
        return self.kept[name]

    def library(self, name, target):
        """A file of the slicing libraries; without a root its source is no whole path."""
        return mount("%s/%s" % (self.library_root, name) if self.library_root else name, target, origin="library")

    def preload(self, folder, *targets):
        """/etc/ld.so.preload of a manufacturer and the libraries it names."""
        return [self.library("%s/ld.so.preload" % folder.split("/")[0], "/etc/ld.so.preload")] + [
            self.library("%s/%s" % (folder, target.rpartition("/")[2]), target) for target in targets
        ]

    def major(self, what):
        """The first number of the runtime's version."""
        version = self.driver.get("runtime_version")
        first = whole(str(version).split(".", 1)[0]) if is_known(version) else None
        if first is None:
            raise Refused("the version of %s is not known: %s" % (what, why(version) or version))
        return first

    def check(self, grant):
        """Fills missing and unchecked."""
        for mounted in grant["mounts"]:
            if mounted["origin"] == "library" and not mounted["source"].startswith("/"):
                grant["missing"].append("%s (%s)" % (mounted["source"], NO_ROOT))
        for path in parts(grant):
            there = self.there(path)
            if there is False:
                grant["missing"].append(path)
            elif there is not True:
                grant["unchecked"].append(there)
        return grant

    def lacking(self, grant):
        """Why an allocation that hands over these device nodes itself would fail, or ""."""
        states = [(node["path"], self.there(node["path"])) for node in grant["device_nodes"]]
        gone = [path for path, there in states if there is False]
        doubts = [there for _path, there in states if not isinstance(there, bool)]
        if gone:
            return "not on the machine: %s" % ", ".join(gone)
        return "it is not known whether these are there: %s" % "; ".join(doubts) if doubts else ""


def parts(grant):
    """Every path of a grant that must be on the machine."""
    paths = [node["path"] for node in grant["device_nodes"]] + grant["runtime_nodes"]
    return paths + [m["source"] for m in grant["mounts"] if m["origin"] != "made" and m["source"].startswith("/")]


def need(device, what="uuid"):
    found = identifier(device, what)
    if not found:
        raise Refused("the accelerator tells no %s that names it alone" % {"uuid": "id", "pci": "PCI address"}.get(what, what))
    return found


def half(device):
    """(MiB of half the card, MiB of the card)."""
    total = device.get("memory_mib")
    if not isinstance(total, int) or isinstance(total, bool) or total < 2:
        raise Refused("the memory of the card is not known: %s" % (why(total) or total))
    return total * PERCENT // 100, total


def made(device, path, tenant=0):
    """Where something would lie that is made for one allocation: every character that a path does not like is a dash."""
    name = "preflight-cotenant" if tenant else "preflight"
    folded = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in identifier(device))
    return "%s/%s%s/%s" % (MADE, name, "-" + folded if folded else "", path)


def names(grant):
    """What a grant says its container may see: variables that end in _VISIBLE_DEVICES, and device nodes."""
    seen = ["%s=%s" % (key, value) for key, value in grant["environment"].items() if key.endswith("_VISIBLE_DEVICES")]
    return sorted(seen + [node["path"] for node in grant["device_nodes"]])


def children(machine, device):
    return [one for one in machine.devices if one.get("parent") == device.get("id") and one.get("kind") in ("partition", "die")]


def numbered(device, start):
    """The device nodes whose path starts so and ends in a number, of those that the manufacturer's module found."""
    nodes = device.get("device_nodes")
    return [n for n in nodes if isinstance(n, str) and n.startswith(start) and whole(n[len(start) :]) is not None] if isinstance(nodes, list) else []


def hami(machine, device, folder, tenant):
    """(environment, mounts, caps) of HAMi-core, the preloaded library of NVIDIA and Iluvatar."""
    cap = "%dm" % half(device)[0]
    environment = {
        "CUDA_DEVICE_MEMORY_LIMIT_0": cap, "CUDA_DEVICE_MEMORY_SHARED_CACHE": "/tmp/vgpu/cudevshr.cache", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_DEVICE_SM_LIMIT": str(PERCENT), "LIBCUDA_LOG_LEVEL": "0",
    }  # fmt: skip
    mounts = machine.preload(folder, "/usr/local/vgpu/libvgpu.so")
    mounts += [mount("/dev/shm", "/dev/shm", False), mount("/tmp/vgpulock", "/tmp/vgpulock", False, "made")]
    return environment, [*mounts, mount(made(device, "vgpu", tenant), "/tmp/vgpu", False, "made")], [cap]
