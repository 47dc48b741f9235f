# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a lab profile out of a recording: the same node, now behind a real ssh and a real kernel.

Files of the recording are laid over /sys, /proc (only files the kernel has) and /; its commands become small programs
in /usr/local/bin that print what was recorded, or hang.
"""

from __future__ import annotations

import base64
import os
import posixpath
import shlex
import sys
from pathlib import Path


def build(recording: dict, folder: Path, pauses: dict[str, float] | None = None) -> Path:
    """pauses: seconds that each call of a program takes."""
    files = recording.get("files") or {}
    links = {posixpath.normpath(path): entry["link"] for path, entry in files.items() if isinstance(entry, dict) and "link" in entry}
    for path, entry in files.items():
        target = _place(folder, _real(posixpath.normpath(path), links))
        if target is not None:
            _write(target, entry)
    _programs(recording.get("commands") or [], folder / "rootfs", pauses or {})
    return folder


def _real(path: str, links: dict[str, str]) -> str:
    """path with every recorded link above it replaced; a link itself keeps its place."""
    for _unused in range(40):
        parts = path.split("/")
        above = next((cut for cut in range(2, len(parts)) if "/".join(parts[:cut]) in links), None)
        if above is None:
            return path
        link = "/".join(parts[:above])
        path = posixpath.normpath(posixpath.join(posixpath.dirname(link), links[link], *parts[above:]))
    raise ValueError("too many links: " + path)


def _place(folder: Path, path: str) -> Path | None:
    top, _slash, rest = path.lstrip("/").partition("/")
    if top not in ("proc", "sys"):  # a directory laid over a link of the base, such as /lib, would hide all that is behind it
        path = os.path.realpath(posixpath.dirname(path)).rstrip("/") + "/" + posixpath.basename(path)
        top, _slash, rest = path.lstrip("/").partition("/")
        if os.path.islink(path) and not rest:
            return None
    if top == "proc":
        return folder / "proc" / rest if os.path.isfile(path) and not rest.startswith(("self", "driver")) else None
    if top == "sys":
        return folder / "sys" / rest
    if top in ("dev", "run"):
        return None  # a node has its own
    return folder / "rootfs" / top / rest


def _write(target: Path, entry: object) -> None:
    if isinstance(entry, dict) and "answers" in entry:
        entry = entry["answers"][-1]
    if isinstance(entry, dict):
        if "link" in entry:
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_symlink():
                target.symlink_to(entry["link"])
        elif "base64" in entry:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(entry["base64"]))
        elif "dir" in entry:
            target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(str(entry))


def _programs(commands: list, rootfs: Path, pauses: dict[str, float]) -> None:
    scripts: dict[str, list[str]] = {}
    for number, entry in enumerate(commands):
        if entry.get("missing"):
            continue
        name = posixpath.basename(entry["argv"][0])
        kept = rootfs / "usr/local/share/lab" / str(number)
        for stream in ("stdout", "stderr"):
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.with_suffix("." + stream).write_text(entry.get(stream) or "")
        inside = f"/usr/local/share/lab/{number}"
        answer = "exec sleep 100000" if entry.get("hang") else f"cat {inside}.stdout; cat {inside}.stderr >&2; exit {entry.get('rc', 0)}"
        scripts.setdefault(name, []).append(f"  {shlex.quote(' '.join(map(str, entry['argv'][1:])))}) {answer} ;;")
    for name, cases in scripts.items():
        program = rootfs / "usr/local/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        pause = f"sleep {pauses[name]}\n" if name in pauses else ""
        other = 'exec /usr/bin/grep "$@"' if name == "grep" else 'echo "$0: not recorded: $*" >&2\nexit 64'  # scripts of the node use it, too
        program.write_text(f'#!/bin/sh\n{pause}case "$*" in\n' + "\n".join(cases) + f"\nesac\n{other}\n")
        program.chmod(0o755)


def main() -> None:
    """lab_profile.py RECORDING FOLDER; ansible_collections must be importable."""
    from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import recording

    build(recording.load(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
