# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probe containers that a run which was killed left behind, by their label. Whoever sweeps holds the node's lock: no other run's are alive then."""

from __future__ import annotations

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command as commands
from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation.row import DECLARED, UNAVAILABLE, row
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, hold
from ansible_collections.fleetproof.accelerator.plugins.module_utils.readers.container_runtime import NAMESPACE, SOCKETS

CAPABILITY = "stale-container-sweep"
SWEPT = ("docker", "nerdctl")  # ctr starts no probe, so has none
_SECONDS = 30
_TURNS, _PAUSE = 6, 0.5


def engines(host, resolved):
    """[(engine, whether this run drives it)] of those that are swept; none where there is no runtime."""
    cli = resolved.get("cli")
    if not isinstance(cli, str):
        return []
    driven = "nerdctl" if cli == "ctr" else cli
    found = []
    for name in (*SWEPT, *([driven] if driven not in SWEPT else [])):
        if not host.resolve(name).ok:
            continue
        engine = {"cli": name, "socket": None, "namespace": None}
        if name == driven:
            engine.update({key: resolved.get(key) for key in ("socket", "namespace")})
        elif name == "nerdctl":
            engine.update(socket=next((path for path in SOCKETS if host.exists(path).value is True), None), namespace=NAMESPACE)
        found.append((engine, name == driven))
    return found


def _failed(command):
    if command.status != answers.OK:
        return command.reason
    told = " ".join(command.stderr.split())[:300]
    return "exit %s%s" % (command.rc, ": " + told if told else "") if command.rc else ""


def _remove(hand, engine, ids, remove):
    """Why one stays, or "". A container with --rm that is just ending is refused and goes all the same: what counts is whether one is left."""
    command = remove(commands.removal(engine, ids))
    for _turn in range(_TURNS):
        if command.status != answers.OK or not command.rc or hand.withheld:
            break
        listed = hand.host.run(commands.listing(engine), _SECONDS)
        ids = [one for one in listed.stdout.split() if one in ids]
        if not _failed(listed) and not ids:
            return ""
        hand.pause(_PAUSE)
        command = hand.host.run(commands.removal(engine, ids), _SECONDS) if ids else command
    return _failed(command)


def sweep(hand, resolved):
    """{removed: [{cli, ids}], errors: [what makes this run's results unsafe], unlisted: [engines this run does not drive]}."""
    made = {"removed": [], "errors": [], "unlisted": []}
    if hand.end_strays(commands.CLIENTS, commands.LABEL):
        hand.pause(_PAUSE)  # what the engine was asked last is still done
    for engine, driven in engines(hand.host, resolved):
        listed = hand.host.run(commands.listing(engine), _SECONDS)
        why = _failed(listed)
        if why:
            if listed.status != answers.NOT_RECORDED:
                made["errors" if driven and not hand.withheld else "unlisted"].append("%s: %s" % (engine["cli"], why))
            continue
        ids = listed.stdout.split()
        if not ids:
            continue
        why = _remove(hand, engine, ids, lambda argv: hand.start(argv, "stale", _SECONDS))
        if why and not hand.withheld:
            made["errors"].append("%s: %s" % (engine["cli"], why))
        elif not why:
            made["removed"].append({"cli": engine["cli"], "ids": ids})
    hand.settle("stale", hold.REMOVED if not made["errors"] else hold.LEFT)
    return made


def rows(accelerators, errors):
    """One for each accelerator when the sweep failed."""
    reason = "earlier probe containers could not be cleared, results here are unsafe: %s" % "; ".join(errors)
    return [row(one, CAPABILITY, "unnamed", UNAVAILABLE, DECLARED, reason=reason) for one in accelerators] if errors else []


def settled(hand, resolved):
    """Looks whether a container of this run is left, and takes it away; each start in the journal then says how it ended. Why one stays, or ""."""
    if not any(entry["kind"] == "container" and entry["outcome"] == hold.OPEN for entry in hand.journal):
        return ""
    why, again = "", False
    for engine, driven in engines(hand.host, resolved):
        if not driven:
            continue
        listed = hand.host.run(commands.listing(engine), _SECONDS)
        why, ids = _failed(listed), listed.stdout.split()
        if not why and ids:
            again, why = True, _remove(hand, engine, ids, lambda argv: hand.host.run(argv, _SECONDS))
    hand.settle("container", hold.LEFT if why else hold.REMOVED, why or ("removed by force" if again else ""))
    return why
