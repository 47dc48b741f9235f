# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an allocation would hand to a container: as data, and each part of it held against the machine.

A maker (allocation/<manufacturer>.py) has:
    MANUFACTURER, NOTE (why no driver is asked, else ""), PROBE (a container can show what a slice sees), RUNTIME (the vendor's runtime handler, else "")
    KINDS: the devices that are allocated, of Device.kind
    capability(machine, device) -> (SLICED | PARTITIONED | NONE | UNKNOWN, number of them or the reason)
    grant(machine, device, mode, tenant=0) -> grant; raises Refused. tenant: the how manyeth slice of the card, half of it each
    driver_rows(machine, devices) -> rows, only where there is a driver to read
"""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import is_known, why

NONE, UNKNOWN = "none", "unknown"
PERCENT = 50  # half a card: close to a whole it could be the card, close to nothing a broken shim
STATE = "/var/lib/fleetproof/accelerator"  # where files that are made for one allocation would lie


class Refused(Exception):
    """The grant cannot be made; the text says why."""


def new(environment=None, device_nodes=(), mounts=(), annotations=None, cdi=(), runtime="", runtime_nodes=(), driver_request=None):
    """A grant. runtime_nodes: what the vendor's runtime adds by itself; driver_request: what the driver is asked for when it is allocated."""
    return {
        "device_nodes": [{"path": path, "permissions": "rwm"} for path in device_nodes],
        "mounts": sorted(mounts, key=lambda mount: mount["target"]),
        "environment": dict(sorted((environment or {}).items())),
        "annotations": dict(sorted((annotations or {}).items())),
        "cdi": list(cdi),
        "runtime": runtime,
        "runtime_nodes": list(runtime_nodes),
        "driver_request": driver_request or {},
        "missing": [],
        "unchecked": [],
    }


def mount(source, target, read_only=True, origin="host", content=None):
    """origin: host (it must be there), library (of accelerator_slicing_library_root) or made (for this one allocation, with this content)."""
    entry = {"source": source, "target": target, "read_only": read_only, "origin": origin}
    return entry if content is None else dict(entry, content=content)


class Machine:
    """The node as grants see it; each path is asked for once."""

    def __init__(self, host, devices, driver=None, library_root=""):
        self.host, self.devices, self.driver, self.library_root = host, devices, driver or {}, (library_root or "").rstrip("/")
        self._known = {}

    def there(self, path):
        """True, False, or a text that says why it is not known."""
        if path not in self._known:
            answer = self.host.exists(path)
            self._known[path] = bool(answer.value) if answer.ok else False if answer.status == ABSENT else answer.reason
        return self._known[path]

    def check(self, grant):
        """Fills missing and unchecked."""
        paths = [node["path"] for node in grant["device_nodes"]] + list(grant["runtime_nodes"])
        paths += [m["source"] for m in grant["mounts"] if m["origin"] != "made" and m["source"]]
        grant["missing"] = [path for path in paths if self.there(path) is False]
        grant["unchecked"] = [self.there(path) for path in paths if not isinstance(self.there(path), bool)]
        return grant


def identifier(device, what="uuid"):
    """An identifier of the device that names it alone, else "". """
    item = (device.get("identity") or {}).get(what) or {}
    return str(item.get("value")) if item.get("quality") == "good" and is_known(item.get("value")) else ""


def half(device):
    """(MiB of half the card, MiB of the card)."""
    total = device.get("memory_mib")
    if not isinstance(total, int) or isinstance(total, bool) or total < 2:
        raise Refused("the memory of the card is not known: %s" % (why(total) or total))
    return total * PERCENT // 100, total


def container(device, name="preflight"):
    """The name under which files of one allocation lie: every character that a path does not like is a dash."""
    folded = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in identifier(device))
    return "%s-%s" % (name, folded) if folded else name
