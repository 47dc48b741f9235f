# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run directory: everything one run learned, in files that are created once and never rewritten."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from pathlib import Path
from urllib.parse import quote, unquote

from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file

RUN_SCHEMA = "fleetproof.accelerator/run/v1"
SECTION_SCHEMA = "fleetproof.accelerator/section/v1"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SECTION_FILE = re.compile(r"(?P<section>[a-z][a-z0-9._-]*)\.(?P<attempt>\d+)\.json")
_SECTION = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)?")
_AGREE = ("roster", "collection_version", "policies")


class RunError(Exception):
    """The run directory cannot be used; the message names the path or key, what was found and what is allowed."""


def encode(name):
    """A node name as a file name: percent-encoded, never a path."""
    text = quote(name, safe="")
    return "%2E" + text[1:] if text.startswith(".") else text


def decode(name):
    return unquote(name)


def dumps(document):
    """Same document, same bytes."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_new(path, text, mode=0o666):
    """Create path with text in one step; FileExistsError when it is there. Never half-written. mode: less the umask."""
    partial = path.with_name(".%s.%s" % (path.name, secrets.token_hex(4)))
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    try:
        os.link(partial, path)
    finally:
        partial.unlink()


def replace_link(path, target):
    partial = path.with_name(".%s.%s" % (path.name, secrets.token_hex(4)))
    partial.symlink_to(target)
    partial.replace(path)


def new_run_id():
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + secrets.token_hex(2)


def digest(document):
    return hashlib.sha256(dumps(document).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def agree(there, document):
    """RunError unless both run documents speak of one run."""
    for key in _AGREE:
        if there.get(key) != document.get(key):
            raise RunError(
                "accelerator_run_id: run %s exists and its %s differs (there: %s; here: %s); allowed: the same inventory, policy, collection, or a new id"
                % (there.get("run_id"), key, _short(there.get(key)), _short(document.get(key)))
            )


class RunDirectory:
    """An existing run. Everything is read when asked for; nothing is cached but run.json."""

    def __init__(self, path):
        self.path = Path(path)
        try:
            self.run = json.loads(regular_file.text(self.path / "run.json"))
        except FileNotFoundError:
            raise RunError("%s: no run here (run.json is missing)" % self.path) from None
        except (OSError, ValueError) as error:
            raise RunError("%s: run.json cannot be read: %s" % (self.path, error)) from None
        if not isinstance(self.run, dict) or self.run.get("schema") != RUN_SCHEMA:
            found = self.run.get("schema") if isinstance(self.run, dict) else type(self.run).__name__
            raise RunError("%s: run.json: schema: found %r, allowed: %s" % (self.path, found, RUN_SCHEMA))

    @classmethod
    def create(cls, root, run_id, document, policies):
        """Create the run, or join it when run_id is given and run.json agrees. policies: digest -> variables."""
        given = bool(run_id)
        run_id = str(run_id) if given else new_run_id()
        if not _RUN_ID.fullmatch(run_id):
            raise RunError("accelerator_run_id: found %r, allowed: letters, digits, '.', '_' and '-', at most 100, starting with a letter or digit" % run_id)
        root = Path(root).expanduser()
        path = root / run_id
        document = dict(document, schema=RUN_SCHEMA, run_id=run_id)
        try:
            for name in ("nodes", "pairs", "recordings", "policies", "judgements"):
                (path / name).mkdir(parents=True, exist_ok=True)
            for name, variables in policies.items():
                with contextlib.suppress(FileExistsError):
                    write_new(path / "policies" / (name + ".json"), dumps(variables))
            try:
                write_new(path / "run.json", dumps(document))
            except FileExistsError:
                if not given:
                    raise RunError("%s: a run with this generated id exists already" % path) from None
                agree(cls(path).run, document)
            replace_link(root / "latest", run_id)
        except OSError as error:
            raise RunError("accelerator_run_root: %s cannot be written: %s" % (root, error.strerror or error)) from None
        return cls(path)

    @property
    def run_id(self):
        return self.run["run_id"]

    @property
    def roster(self):
        return list(self.run.get("roster") or [])

    def policy(self, node):
        """The node's resolved accelerator_* variables, as filed by digest."""
        name = (self.run.get("policies") or {}).get(node)
        if not name:
            return {}
        path = self.path / "policies" / (str(name) + ".json")
        try:
            return json.loads(regular_file.text(path))
        except (OSError, ValueError) as error:
            raise RunError("%s: policy of %s cannot be read: %s" % (path, node, error)) from None

    # -- sections ----------------------------------------------------------------------------------------------------

    def file_section(self, node, section, module, started, status, data, reason="", attempt=1, recorded=False):
        """File one section; an attempt that exists is never rewritten: the next number is taken. recorded: a recording was read in place of the node."""
        if not _SECTION.fullmatch(section):
            raise RunError("section: found %r, allowed: lower-case words" % section)
        folder = self.path / "nodes" / encode(node)
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            "schema": SECTION_SCHEMA,
            "run_id": self.run_id,
            "collection_version": self.run.get("collection_version"),
            "node": node,
            "section": section,
            "module": module,
            "started": started,
            "finished": utc(),
            "recorded": recorded,
            "status": status,
            "reason": reason,
            "data": data,
        }
        while True:
            document["attempt"] = attempt
            path = folder / ("%s.%d.json" % (section, attempt))
            try:
                write_new(path, dumps(document))
            except FileExistsError:
                attempt += 1
                continue
            return path

    def section_files(self, node):
        """section -> path of its newest attempt, as text: a fold opens thousands of them."""
        newest = {}
        folder = os.path.join(self.path, "nodes", encode(node))
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        for name in names:
            found = _SECTION_FILE.fullmatch(name)
            if found and int(found["attempt"]) > newest.get(found["section"], (0, ""))[0]:
                newest[found["section"]] = (int(found["attempt"]), name)
        return {section: os.path.join(folder, name) for section, (_attempt, name) in sorted(newest.items())}

    def load(self, node, wanted=None):
        """section -> envelope, of all sections or those wanted; a file that cannot be read is an envelope with status failed and the reason."""
        sections = {}
        for section, path in self.section_files(node).items():
            if wanted and section not in wanted:
                continue
            try:
                envelope = json.loads(regular_file.read(path))
                if not isinstance(envelope, dict) or envelope.get("schema") != SECTION_SCHEMA or not isinstance(envelope.get("data"), dict):
                    raise ValueError("not a %s document" % SECTION_SCHEMA)
            except (OSError, ValueError) as error:
                envelope = {"section": section, "node": node, "status": "failed", "data": {}, "reason": "%s: %s" % (os.path.basename(path), error)}
            sections[section] = envelope
        return sections

    def newest_judgement(self):
        """Number of the newest judgement; RunError when there is none."""
        folder = self.path / "judgements"
        numbers = [int(p.name) for p in folder.iterdir() if p.name.isascii() and p.name.isdigit()] if folder.is_dir() else []
        if not numbers:
            raise RunError("%s: the run has not been judged" % self.path)
        return max(numbers)

    def nodes_with_reports(self):
        return sorted(decode(p.name) for p in (self.path / "nodes").iterdir() if p.is_dir())


def utc(seconds=None):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def find(root, run_id=None):
    """The run named run_id below root, the newest one without a name."""
    root = Path(root).expanduser()
    if run_id and not _RUN_ID.fullmatch(str(run_id)):
        raise RunError("accelerator_run_id: found %r, allowed: the name of a run below %s" % (run_id, root))
    path = root / str(run_id) if run_id else root / "latest"
    if not path.is_dir():
        there = sorted(p.name for p in root.iterdir() if (p / "run.json").is_file() and not p.is_symlink())[-5:] if root.is_dir() else []
        raise RunError("%s: no such run; newest runs there: %s" % (path, ", ".join(there) or "none"))
    return RunDirectory(path.resolve())


def _short(value):
    text = dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 80 else text[:77] + "..."
