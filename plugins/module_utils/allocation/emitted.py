# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a container step is run or told, and its one command either way. Pure. Order and cases: section 7 of the operator's preflight.

A step that is told never fails a node: its row is ok and simulated, with a command and no evidence.
"""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.fleetproof.accelerator.plugins.module_utils.allocation import container_command as commands
from ansible_collections.fleetproof.accelerator.plugins.module_utils.report.values import why

ROOT = "/var/lib/fleetproof/accelerator"  # host/hold.py, which this does not import for its size
LIBRARIES = ROOT + "/lib"
DRY = "nothing was started: %s"
PUT_FIRST = "before it is run, %s"
REGARDLESS = "it would have been told regardless: %s"


class Step(NamedTuple):
    """argv: what is run, and what command prints. reason: why it is told and not run, "" when it is to be run. problem: why there is no command at all."""

    argv: list
    command: str
    reason: str = ""
    problem: str = ""


def choose(resolved, grant):
    """(engine, why another client than this node's is written for, or "")."""
    cli, reason = resolved.get("cli"), ""
    engine = {key: resolved.get(key) for key in ("cli", "socket", "namespace")}
    if not isinstance(cli, str):
        told = resolved.get("reason") or why(cli) or "no container runtime was resolved"
        return {"cli": "docker"}, "%s; the command assumes docker" % told
    if cli == "ctr":
        engine["cli"] = "nerdctl"
        reason = "ctr has no flag that hands over a device node or a vendor's runtime, so the command is written for nerdctl"
        if resolved.get("nerdctl_absent"):
            reason += ", which is not on this host: install it, or run this elsewhere"
    if commands.vendor(engine["cli"], grant) is None:
        engine["cli"] = "docker"
        reason = "%s has no flag that hands over the runtime %s, so the command is written for docker" % (cli, grant["runtime"])
    if engine["cli"] != cli and engine["cli"] not in commands.CONTAINERD:
        engine = {"cli": engine["cli"]}  # containerd's address says nothing to it
    return engine, reason


def in_place(grant):
    """(the grant with every library at a whole path, what must be put where before a container of it can start)."""
    mounts, trees, files = [], set(), set()
    for mounted in grant["mounts"]:
        source = mounted["source"]
        if mounted["origin"] == "library":
            if not source.startswith("/"):
                source = "%s/%s" % (LIBRARIES, source)
            trees.add(source.rpartition("/")[0])
        elif mounted["origin"] == "made" and mounted.get("content"):
            files.update("%s/%s" % (source, name) for name in mounted["content"])
        mounts.append(dict(mounted, source=source))
    first = ["put the slicing libraries into %s" % ", ".join(sorted(trees))] if trees else []
    first += ["write %s as its grant has it" % ", ".join(sorted(files))] if files else []
    return dict(grant, mounts=mounts), " and ".join(first)


def step(resolved, grant, image, words, forced="", host_root="", root="/", options=None, warning=""):
    """forced: why nothing is started (check mode, staging failed). host_root: why the host's root cannot be used. warning: of the network namespace."""
    grant, first = in_place(grant)
    engine, fallback = choose(resolved, grant)
    try:
        argv = commands.argv(engine, grant, image, words, options)
    except commands.Inexpressible as error:
        return Step([], "", problem=str(error))
    command = commands.remark(warning) + commands.quoted(argv, root)
    if forced:
        told = [DRY % forced, *([PUT_FIRST % first] if first else []), *([REGARDLESS % fallback] if fallback else [])]
        return Step(argv, command, "; ".join(told))
    return Step(argv, command, fallback or host_root)
