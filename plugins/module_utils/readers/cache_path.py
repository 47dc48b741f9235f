# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies below the path of a key-value cache."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import disks, storage
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.hardware import fact
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown


def read(host, table, path):
    """Where the key-value cache would lie: {path, mount, type, network, disks: [{name, transport, rotational}]}."""
    known = disks.Disks(host)
    mount = storage.mount_of(table, storage.resolve(host, table, path))
    if mount is None:
        return unknown("%s: in no mount" % path)
    names = [] if storage.is_network(mount["type"]) or mount["type"] in ("tmpfs", "ramfs") else known.of_mount(mount)
    below = (
        names
        if not isinstance(names, list)
        else [
            {"name": n, "transport": known.transport(n), "rotational": fact(host, "%s/%s/queue/rotational" % (disks.BLOCK, n), lambda t: t == "1")}
            for n in names
        ]
    )
    there = not_applicable("a network file system is not touched")
    if not storage.is_network(mount["type"]):
        answer = host.exists(path)
        there = answer.value if answer.ok else unknown(answer.reason)
    return {"path": path, "present": there, "mount": mount["path"], "type": mount["type"], "network": storage.is_network(mount["type"]), "disks": below}
