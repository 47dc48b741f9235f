# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of allocation_info get the command that a probe would start, from the prober itself, which starts nothing here.

On the controller, for the node has sent the grants and pays for nothing more.
"""

from __future__ import annotations

from types import SimpleNamespace

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import grants
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import section as allocation
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.modes import SLICED
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.probing import LOADED, QUOTA, TENANTS, Probing

NOT_HERE = "a preflight starts no container"
UNREAD = "what starts containers was not read"
_REFUSED = (None, "no grant")


class _Accelerator:
    """As the prober sees one: its grants as the node made them."""

    def __init__(self, label, device, made):
        self.label, self.device, self._made = label, device, made

    def grant(self, mode, tenant=0):
        found = self._made[tenant] if mode == SLICED and len(self._made) > tenant else None
        return (found, "") if isinstance(found, dict) and "refused" not in found else _REFUSED


class _Telling(Probing):
    """A prober that may start nothing."""

    def __init__(self, manufacturer, driver, resolved, image, mounted):
        machine = grants.Machine(None, [], driver)
        self.manufacturer, self.machine, self.named, self.pull = manufacturer, machine, image, "missing"
        self.resolved, self.mounted, self.warning, self.root = resolved, mounted, "", grants.MADE
        self.rows, self.emitted, self.forced, self.unstaged = [], [], NOT_HERE, ""
        self.hand = SimpleNamespace(lock={"state": ""})


def complete(section, devices, driver, runtime, image="", host_root="/"):
    """section: allocation.<manufacturer> as the node sent it, changed in place. runtime: the section container_runtime, {} when it was not read."""
    second = _object(section.pop("second_slices", None))
    maker = allocation.maker_of(section.get("manufacturer"))
    rows = section.get("checks")
    if not maker or not maker.PROBE or not isinstance(rows, list):
        return
    resolved = _object(runtime.get("resolved")) or {"cli": None, "reason": UNREAD}
    prober = _Telling(section["manufacturer"], _object(driver), resolved, image, host_root)
    warning = _object(runtime.get("network_namespace")).get("warning")
    prober.warning = warning if isinstance(warning, str) else ""
    known = {grants.label(device): device for device in (devices if isinstance(devices, list) else ()) if isinstance(device, dict)}
    wanted = {}
    for row in rows:
        if isinstance(row, dict) and row.get("capability") in (LOADED, QUOTA, TENANTS) and row.get("mode") == SLICED and row.get("state") == "ok":
            wanted.setdefault(row.get("accelerator"), {})[row["capability"]] = row
    for label, own in wanted.items():
        made = [_object(_object(section.get("grants")).get(label)).get(SLICED), second.get(label)]
        one = _Accelerator(label, known.get(label, {}), made)
        prober.rows = []
        prober._slice(one)
        prober._tenants(one)
        for told in prober.rows:
            row = own.get(told["capability"])
            if row is not None and told["state"] == "ok" and not row.get("command"):
                row["command"] = told["command"]
                row["detail"] = "%s; %s" % (row.get("detail"), told["detail"].partition(": ")[2]) if row.get("detail") else told["detail"]


def _object(value):
    return value if isinstance(value, dict) else {}
