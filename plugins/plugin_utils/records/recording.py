# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads recordings (docs/recording.md) on the controller: YAML or JSON, optionally gzip, files they refer to included."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from pathlib import Path

import yaml
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.replay import SCHEMA, MalformedRecording, ReplayHost
from ansible_collections.fleetproof.accelerator.plugins.plugin_utils.records import regular_file

SUFFIXES = (".yml", ".yaml", ".json", ".yml.gz", ".yaml.gz", ".json.gz")
_MAX_BYTES = 64 * 1024 * 1024
_TOP = {"schema", "node", "recorded", "host", "files", "statvfs", "commands", "natives", "programs", "unreachable", "note"}
_COMMAND = {
    "argv", "env", "stdin", "rc", "stdout", "stdout_file", "stderr", "stderr_file", "seconds", "hang", "missing", "denied", "signal", "overflow",
    "stuck_pid", "status", "detail", "note",
}  # fmt: skip
_FILE = {
    "text_file", "link", "error", "absent", "dir", "device", "answers", "base64", "hang", "type", "mode", "major", "minor", "uid", "gid", "size",
    "mtime", "exists", "asked",
}  # fmt: skip
_OPERATIONS = {"read", "exists", "listdir", "readlink", "stat"}
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_NODE_LINE = re.compile(rb"^node: *[\"']?([A-Za-z0-9][A-Za-z0-9._-]{0,252})[\"']? *$", re.MULTILINE)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path):
    """The recording at path as one self-contained document. MalformedRecording names the file and the key."""
    path = Path(path)
    try:
        raw = regular_file.read(path)
        if path.name.endswith(".gz"):
            raw = _unzip(raw)
        text = raw.decode("utf-8")
        document = json.loads(text) if ".json" in path.suffixes else yaml.load(text, Loader=_Loader)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        raise MalformedRecording("%s: cannot be read: %s" % (path, " ".join(str(error).split())[:300])) from None
    try:
        document = _checked(document)
        _include(document, path.parent)
        ReplayHost(document)
    except MalformedRecording as error:
        raise MalformedRecording("%s: %s" % (path, error)) from None
    return document


def _unzip(raw):
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError("larger than %d MiB when unpacked" % (_MAX_BYTES // 1048576))
    return content


def _unknown_keys(where, found, allowed):
    extra = sorted(str(k) for k in set(found) - allowed)
    if extra:
        raise MalformedRecording("%s: found unknown key %s, allowed: %s" % (where, ", ".join(extra), ", ".join(sorted(allowed))))


def _checked(document):
    if not isinstance(document, dict):
        raise MalformedRecording("found %s, allowed: a mapping with schema: %s" % (type(document).__name__, SCHEMA))
    if document.get("schema") != SCHEMA:
        raise MalformedRecording("schema: found %r, allowed: %s" % (document.get("schema"), SCHEMA))
    _unknown_keys("top level", document, _TOP)
    if not isinstance(document.get("node"), str) or not _NODE.fullmatch(document["node"]):
        raise MalformedRecording("node: found %r, allowed: a host name of letters, digits, '.', '_' and '-'" % (document.get("node"),))
    if hasattr(document.get("recorded"), "strftime"):
        document["recorded"] = document["recorded"].strftime("%Y-%m-%dT%H:%M:%SZ")
    for key, kind in (("host", dict), ("files", dict), ("statvfs", dict), ("commands", list), ("natives", dict), ("programs", dict)):
        value = document.get(key)
        if value is not None and not isinstance(value, kind):
            raise MalformedRecording("%s: found %s, allowed: %s" % (key, type(value).__name__, "a list" if kind is list else "a mapping"))
    for path, entry in (document.get("files") or {}).items():
        if not isinstance(path, str) or not path.startswith("/"):
            raise MalformedRecording("files: found path %r, allowed: absolute paths" % (path,))
        if isinstance(entry, dict):
            _unknown_keys("files: %s" % path, entry, _FILE)
            if "dir" in entry and not isinstance(entry["dir"], list):
                raise MalformedRecording("files: %s: dir: found %s, allowed: a list of names" % (path, type(entry["dir"]).__name__))
            if "answers" in entry and (not isinstance(entry["answers"], list) or not entry["answers"]):
                raise MalformedRecording("files: %s: answers: allowed: a list of at least one answer" % path)
            if "asked" in entry:
                _check_asked("files: %s: asked" % path, entry["asked"])
            if "link" in entry and not isinstance(entry["link"], str):
                raise MalformedRecording("files: %s: link: allowed: a target path" % path)
        elif entry is None or isinstance(entry, list):
            raise MalformedRecording("files: %s: found %s, allowed: text or a mapping" % (path, type(entry).__name__))
    for number, entry in enumerate(document.get("commands") or []):
        where = "commands[%d]" % number
        if not isinstance(entry, dict) or not isinstance(entry.get("argv"), list) or not entry["argv"]:
            raise MalformedRecording("%s: argv: allowed: a list with the program and its arguments" % where)
        _unknown_keys(where, entry, _COMMAND)
        if not isinstance(entry.get("rc", 0), int):
            raise MalformedRecording("%s: rc: found %r, allowed: a whole number" % (where, entry["rc"]))
        if not isinstance(entry.get("seconds", 0), (int, float)):
            raise MalformedRecording("%s: seconds: found %r, allowed: a number" % (where, entry["seconds"]))
    for name, entry in (document.get("natives") or {}).items():
        for one in entry if isinstance(entry, list) and entry else [entry]:
            if not isinstance(one, dict):
                raise MalformedRecording("natives: %s: found %s, allowed: a mapping" % (name, type(one).__name__))
    return document


def _check_asked(where, asked):
    if not isinstance(asked, dict):
        raise MalformedRecording("%s: found %s, allowed: a mapping" % (where, type(asked).__name__))
    _unknown_keys(where, asked, _OPERATIONS)
    for operation, said in asked.items():
        if not isinstance(said, list) or not said or not all(isinstance(one, dict) and isinstance(one.get("status"), str) for one in said):
            raise MalformedRecording("%s: %s: allowed: a list of at least one answer, each with a status" % (where, operation))


def _text(folder, name, where):
    if not isinstance(name, str) or not name or Path(name).is_absolute():
        raise MalformedRecording("%s: found file %r, allowed: a path relative to the recording" % (where, name))
    try:
        return regular_file.read(folder / name).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise MalformedRecording("%s: %s cannot be read: %s" % (where, name, getattr(error, "strerror", None) or error)) from None


def _include(document, folder):
    """Replace text_file, stdout_file and stderr_file, which are relative to the recording, by their text."""
    for path, entry in (document.get("files") or {}).items():
        if isinstance(entry, dict) and "text_file" in entry:
            document["files"][path] = _text(folder, entry["text_file"], "files: %s" % path)
    for number, entry in enumerate(document.get("commands") or []):
        for stream in ("stdout", "stderr"):
            if stream + "_file" in entry:
                entry[stream] = _text(folder, entry.pop(stream + "_file"), "commands[%d]" % number)


def find(folder):
    """node name -> path of the recordings in a folder: FILE.yml, or NODE/recording.yml.

    A malformed one is listed under its file's name, so that it becomes a node that says why it was not read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise MalformedRecording("recordings: %s is not a directory" % folder)
    paths = [p for p in sorted(folder.iterdir()) if p.is_file() and p.name.endswith(SUFFIXES) and not p.name.startswith((".", "manifest."))]
    for sub in sorted(p for p in folder.iterdir() if p.is_dir()):
        paths += [sub / ("recording" + suffix) for suffix in SUFFIXES if (sub / ("recording" + suffix)).is_file()]
    if not paths:
        raise MalformedRecording("recordings: %s holds none, allowed: NAME.yml or NAME/recording.yml (%s)" % (folder, ", ".join(SUFFIXES)))
    found = {}
    for path in paths:
        name = _node(path, folder)
        if name in found:
            raise MalformedRecording("recordings: node %s is in both %s and %s, allowed: one recording a node" % (name, found[name], path))
        found[name] = path
    return found


def _node(path, folder):
    """The node a recording is of; cheap for plain YAML, whose node is a line of its own."""
    try:
        line = _NODE_LINE.search(regular_file.read(path)) if path.suffix in (".yml", ".yaml") else None
        return line[1].decode() if line else load(path)["node"]
    except (OSError, ValueError):
        stem = path.name.partition(".")[0] if path.parent == folder else path.parent.name
        return re.sub(r"[^A-Za-z0-9_-]", "-", stem).lstrip("-_") or "recording"
