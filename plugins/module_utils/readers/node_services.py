# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section `services`: units, versions of daemons, names and addresses, reboots, processes that hang. services.py reads NVIDIA's units."""

from __future__ import annotations

import re

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import ABSENT, TIMEOUT
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.clock import utc
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import not_applicable, unknown, whole

DAEMONS = ("nv-fabricmanage", "nvidia-imex", "nvidia-persiste", "nv-hostengine")  # as the kernel cuts them
PROCESSES = ["ps", "-e", "-o", "pid=,stat=,comm="]
WTMP = "/var/log/wtmp"
_SECONDS = 5
_KEPT = 20


def units(host):
    """({unit: {...}} of those that are there, [failed units])."""
    booted = host.exists("/run/systemd/system")  # sd_booted(3)
    if not booted.ok or not booted.value:
        reason = unknown("systemd does not run here" if booted.ok else booted.reason)
        return reason, reason
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import systemd_units  # only where systemd runs

    return systemd_units.read(host)


def daemons(host):
    module = host.exists("/sys/module/nvidia")
    if not module.ok or not module.value:
        no = not_applicable("NVIDIA's driver is not loaded") if module.ok else unknown(module.reason)
        return {"versions": dict.fromkeys(("fabric_manager", "imex"), no), "fabric_manager_log": no, "dcgm": no}
    from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import nvidia_daemons  # only where its driver is

    return nvidia_daemons.read(host)


def names(host):
    """{name, hosts_file: [address], dns: [address], servers}: whether the node's own name means the same in both."""
    uname = host.uname()
    name = uname.value.get("node") if uname.ok and isinstance(uname.value, dict) else None
    resolver, hosts = host.read_text("/etc/resolv.conf", 65536), host.read_text("/etc/hosts", 1 << 20)
    found = {"name": name or unknown(uname.reason), "hosts_file": unknown(hosts.reason), "dns": unknown("the node's name is not known")}
    rows = [line.split("#")[0].split() for line in hosts.value.splitlines()] if hosts.ok else []
    read = resolver.ok or resolver.status == ABSENT
    if name and hosts.ok:
        found["hosts_file"] = sorted({row[0] for row in rows if name.lower() in [word.lower() for word in row[1:]]})[:_KEPT]
    servers = [row[1] for row in map(str.split, (resolver.value or "").splitlines()) if len(row) > 1 and row[0] == "nameserver"]
    found["servers"] = len(servers) if read else unknown(resolver.reason)
    if name and not servers:
        found["dns"] = not_applicable("no name server") if read else unknown(resolver.reason)
    elif name and not re.match(r"[\w.-]+\Z", name):
        found["dns"] = unknown("no host name: %r" % name[:60])
    elif name:
        command = host.run(["getent", "-s", "dns", "ahosts", name], timeout=_SECONDS, env={"RES_OPTIONS": "timeout:1 attempts:1"})
        said = command.ok and command.rc in (0, 2)
        if said and command.seconds < 1:
            found["dns"] = sorted({row[0] for row in map(str.split, command.stdout.splitlines()) if row})[:_KEPT]
        elif said or command.status == TIMEOUT:
            found["dns"] = unknown("the name servers did not answer in time")
        else:
            found["dns"] = unknown(command.reason)
    return found


def reboots(host):
    """{boots: [{at, clean}], crashes: [{what, at}]}. clean: the system before it went down by itself; null for the first one that is known."""
    found = {"boots": unknown("no record"), "crashes": []}
    log = host.read_bytes(WTMP, 16 << 20)
    born = host.stat("/etc/machine-id")
    since = born.value.get("mtime") if born.ok else None
    if not log.ok:
        found["boots"] = unknown(log.reason)
    elif log.truncated or not isinstance(since, int):
        found["boots"] = unknown("%s: longer than is read" % WTMP if log.truncated else "when this system was installed is not known: %s" % born.reason)
    else:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import wtmp  # only where there is one

        found["boots"] = wtmp.boots(log.value, since) or unknown("%s: no boot in it" % WTMP)
    for directory, wanted in (("/sys/fs/pstore", r"dmesg-"), ("/var/lib/systemd/pstore", r"\d+"), ("/var/crash", r"(?:[\d.]+-)?20\d\d")):
        listing = host.listdir(directory)
        if not listing.ok and listing.status != ABSENT:
            found["crashes"] = unknown(listing.reason)
            break
        for name in [n for n in sorted(listing.value or ()) if re.match(wanted, n)][-_KEPT:]:
            at = host.stat("%s/%s" % (directory, name))
            when = at.value.get("mtime") if at.ok else None
            found["crashes"].append({"what": "%s/%s" % (directory, name[:80]), "at": utc(when) if isinstance(when, int) else unknown("no time")})
    return found


def processes(host):
    """First look: (facts, {pid: (command, switches)} of those that cannot be interrupted)."""
    command = host.run(PROCESSES, timeout=_SECONDS)
    rows = [line.split(None, 2) for line in command.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 3 and whole(row[0]) is not None]
    if not command.succeeded or not rows:
        reason = unknown(command.reason if not command.succeeded else "ps: not understood")
        return dict.fromkeys(("total", "zombies", "zombie_commands", "stuck", "daemons"), reason), {}
    zombies = [row[2].replace(" <defunct>", "")[:40] for row in rows if row[1].startswith("Z")]
    held = [(row[0], row[2][:40]) for row in rows if row[1].startswith("D")][:_KEPT]
    waiting = {}
    if held:
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers import stuck_processes  # only where one waits

        waiting = stuck_processes.first(host, held)
    counted = {name: zombies.count(name) for name in sorted(set(zombies))[:_KEPT]}
    running = sorted({row[2] for row in rows if row[2] in DAEMONS and row[1][0] not in "ZX"})
    return {"total": len(rows), "zombies": len(zombies), "zombie_commands": counted, "stuck": [], "daemons": running}, waiting


def collect(host):
    shown, failed = units(host)
    return dict(daemons(host), units=shown, failed=failed, names=names(host), reboots=reboots(host))
