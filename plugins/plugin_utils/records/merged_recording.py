# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One recording a node: each module files what it asked, and the parts become RUN/recordings/NODE.json, which replay.yml reads.

Nothing is redacted here: a part was redacted on the node, as it was written.
"""

from __future__ import annotations

import json
import re
import secrets

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file, tidy
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records.run_directory import RunError, decode, dumps, encode, write_new

PARTS = "parts"  # below recordings/; a folder without recording.yml is no node for replay.yml
OWNER_ONLY = 0o600
_PART = re.compile(r"(?P<node>.+)\.(?P<module>[a-z_]+)\.(?P<attempt>\d+)\.json")


def unanswered(started, reason):
    """The recording of a node that did not answer."""
    return {"schema": SCHEMA, "recorded": started, "unreachable": reason or "no answer"}


def file_part(run, node, module, document):
    """File what one module asked; an attempt that exists is never rewritten."""
    folder = run.path / "recordings" / PARTS
    folder.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while True:
        try:
            write_new(folder / ("%s.%s.%d.json" % (encode(node), module, attempt)), dumps(dict(document, node=node)), OWNER_ONLY)
        except FileExistsError:
            attempt += 1
            continue
        return


def merge_all(run):
    """Merge the newest part of every module of every node. Nodes in order of their names."""
    newest = {}
    folder = run.path / "recordings" / PARTS
    for path in folder.iterdir() if folder.is_dir() else ():
        found = _PART.fullmatch(path.name)
        if found:
            of_node = newest.setdefault(found["node"], {})
            of_node[found["module"]] = max(of_node.get(found["module"], (0, path)), (int(found["attempt"]), path))
    for name, modules in sorted(newest.items()):
        parts = [_load(path) for _module, (_attempt, path) in sorted(modules.items())]
        target = run.path / "recordings" / (name + ".json")
        partial = target.with_name(".%s.%s" % (target.name, secrets.token_hex(4)))
        write_new(partial, dumps(merge(decode(name), parts)), OWNER_ONLY)
        partial.replace(target)


def _load(path):
    try:
        return json.loads(regular_file.read(path))
    except (OSError, ValueError) as error:
        raise RunError("%s: recording cannot be read: %s" % (path, error)) from None


def merge(node, parts):
    """The parts of one node as one recording. Where two modules asked the same, the first one's answer stands."""
    node = re.sub(r"[^A-Za-z0-9._-]", "-", node).lstrip("._-") or "node"
    answered = [part for part in parts if not part.get("unreachable")]
    if not answered:
        return dict(parts[0], node=node)
    merged = {"schema": SCHEMA, "node": node, "recorded": min(part["recorded"] for part in answered)}
    for key in ("host", "statvfs", "programs", "natives"):
        merged[key] = {}
        for part in reversed(answered):
            merged[key].update(part.get(key) or {})
    merged["files"], merged["commands"], seen = {}, [], set()
    for part in answered:
        for path, entry in (part.get("files") or {}).items():
            told = merged["files"].setdefault(path, {"asked": {}})["asked"]
            told.update({operation: said for operation, said in _told(entry).items() if operation not in told})
        asked = [(_question(entry), entry) for entry in part.get("commands") or []]
        merged["commands"] += [entry for question, entry in asked if question not in seen]
        seen.update(question for question, _entry in asked)
    return tidy.tidy(merged)


def _told(entry):
    """What each operation on a path was answered; a plain text is what a reading gave."""
    return entry["asked"] if isinstance(entry, dict) else {"read": [{"status": answers.OK, "value": entry}]}


def _question(entry):
    return dumps([entry["argv"], entry.get("env") or {}, entry.get("stdin") or ""])
