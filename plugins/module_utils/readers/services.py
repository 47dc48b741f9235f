# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of NVIDIA's services as systemd keeps it. One question, asked only where the node has NVIDIA's devices and systemd runs."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import unknown

SERVICES = ("nvidia-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nvidia-dcgm")
SYSTEMCTL = ["systemctl", "show", "--property=Id,LoadState,ActiveState,SubState", *(name + ".service" for name in SERVICES)]
BOOTED = "/run/systemd/system"  # sd_booted(3)
DRIVER_CONTAINER = "/run/nvidia/driver/usr"  # root of the NVIDIA GPU Operator's driver container: its services are no units of the host
_SECONDS = 5


def parse(text):
    """{service: {load, active, sub}} of `systemctl show`: a block of lines for each unit, in the order asked."""
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in text.strip().split("\n\n")]
    named = {block.get("Id"): block for block in blocks}
    whole = len(blocks) == len(SERVICES)
    found = {}
    for place, name in enumerate(SERVICES):
        # an alias is shown under the name of its unit, in the place where it was asked for
        block = named.get(name + ".service") or (blocks[place] if whole else {})
        told = {key: block.get(key[0].upper() + key[1:] + "State", "").strip() for key in ("load", "active", "sub")}
        found[name] = {key: word[:40] if word else unknown("systemctl show %s: %s not told" % (name, key)) for key, word in told.items()}
    return found


def read(host):
    """The group `services` of the section host, of a node with NVIDIA's devices."""
    booted = host.exists(BOOTED)
    if not booted.ok or not booted.value:
        return unknown("systemd does not run here (%s)" % (booted.reason if not booted.ok and booted.status != ABSENT else "no %s" % BOOTED))
    command = host.run(SYSTEMCTL, timeout=_SECONDS)
    if not command.succeeded or "State=" not in command.stdout:
        return unknown(command.reason if not command.succeeded else "%s: not understood" % command.subject)
    contained = host.exists(DRIVER_CONTAINER)
    return dict(parse(command.stdout), driver_container=contained.value if contained.ok else unknown(contained.reason))
