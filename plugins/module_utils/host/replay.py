# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers from a recording (docs/recording.md) and from nothing else."""

from __future__ import annotations

import base64
import calendar
import posixpath
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer, Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.base import Host

SCHEMA = "fleetproof.accelerator/recording/v1"
_MAX_LINKS = 40
_FAILURES = ("absent", "error", "hang")


class MalformedRecording(ValueError):
    """The recording is not what docs/recording.md describes; the message names the key."""


def _epoch(text):
    try:
        return float(calendar.timegm(time.strptime(str(text)[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        raise MalformedRecording("recorded: %r is not a UTC time such as 2026-11-29T17:00:00Z" % (text,))


def _bytes(text):
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can hold
        return text.encode("utf-8", "replace")


class ReplayHost(Host):
    """recording: the document as a dict, its *_file references already replaced by text (plugin_utils/records/recording.py)."""

    def __init__(self, recording):
        if not isinstance(recording, dict) or recording.get("schema") != SCHEMA:
            found = recording.get("schema") if isinstance(recording, dict) else type(recording).__name__
            raise MalformedRecording("schema: found %r, allowed: %s" % (found, SCHEMA))
        self._files = {}
        for path, entry in (recording.get("files") or {}).items():
            self._files[posixpath.normpath(path)] = entry
        self._implied = set()
        for path in self._files:
            while path not in ("/", ""):
                path = posixpath.dirname(path)
                self._implied.add(path)
        self._host = recording.get("host") or {}
        self._statvfs = recording.get("statvfs") or {}
        self._now = _epoch(recording.get("recorded"))
        self._commands = {}
        for entry in recording.get("commands") or []:
            self._commands.setdefault(self._key(entry["argv"], entry.get("env"), entry.get("stdin")), []).append(entry)
        self._natives = recording.get("natives") or {}
        self._programs = recording.get("programs") or {}
        self._asked = {}

    # -- files -----------------------------------------------------------------------------------------------------

    def _entry(self, path, operation, follow=True):
        """(resolved path, entry or None, Answer or None when the path itself settles it)."""
        path = posixpath.normpath(path)
        entry = self._files.get(path)
        if isinstance(entry, dict) and "asked" in entry:
            said = entry["asked"].get(operation)
            answer = self._full(path, self._successive((operation, path), said)) if said else Answer(answers.NOT_RECORDED, subject=path)
            if operation == "read" and isinstance(answer.value, str):
                answer.value = _bytes(answer.value)
            return path, None, answer
        for _unused in range(_MAX_LINKS):
            if path in self._files:
                entry = self._files[path]
                if not (follow and isinstance(entry, dict) and "link" in entry):
                    return path, entry, None
                path = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry["link"]))
                continue
            resolved = self._resolve_parent(path)
            if isinstance(resolved, Answer):
                return path, None, resolved
            if resolved == path:
                if path in self._implied:
                    return path, {}, None
                return path, None, self._unlisted(path)
            path = resolved
        return path, None, Answer(answers.LOOP, subject=path)

    def _resolve_parent(self, path):
        """path with its deepest recorded link in a parent component replaced; path itself when there is none."""
        parts = path.strip("/").split("/")
        for cut in range(1, len(parts)):
            parent = "/" + "/".join(parts[:cut])
            entry = self._files.get(parent)
            if not isinstance(entry, dict):
                continue
            if "link" in entry:
                target = posixpath.normpath(posixpath.join(posixpath.dirname(parent), entry["link"]))
                return posixpath.join(target, *parts[cut:])
            if any(k in entry for k in _FAILURES):
                return self._plain(parent, entry)
        return path

    def _unlisted(self, path):
        child = path
        while child not in ("/", ""):
            parent = posixpath.dirname(child)
            entry = self._files.get(parent)
            if isinstance(entry, dict) and "dir" in entry and posixpath.basename(child) not in entry["dir"]:
                return Answer(answers.ABSENT, subject=path)
            child = parent
        return Answer(answers.NOT_RECORDED, subject=path)

    @staticmethod
    def _plain(path, entry):
        """Answer of an entry that is no content."""
        if "absent" in entry:
            return Answer(answers.ABSENT, subject=path)
        if "error" in entry:
            return Answer(answers.ERRNO_STATUS.get(entry["error"], answers.IO_ERROR), detail=entry["error"], subject=path)
        if "hang" in entry:
            return Answer(answers.TIMEOUT, detail="no answer in time", subject=path)
        if "device" in entry:
            return Answer(answers.NOT_A_FILE, detail=entry["device"], subject=path)
        if "exists" in entry or entry.get("type") == "file":
            return Answer(answers.NOT_RECORDED, subject=path)
        return Answer(answers.IS_A_DIRECTORY, subject=path)

    @staticmethod
    def _failed(entry):
        """Whether an entry says only why there is no answer; with a type, stat answered all the same."""
        return isinstance(entry, dict) and any(k in entry for k in _FAILURES) and not ("type" in entry or "device" in entry)

    @staticmethod
    def _full(subject, said):
        value = base64.b64decode(said["base64"]) if "base64" in said else said.get("value")
        return Answer(said["status"], value, said.get("detail", ""), subject, bool(said.get("truncated")))

    def _successive(self, key, items):
        turn = self._asked.get(key, 0)
        self._asked[key] = turn + 1
        return items[min(turn, len(items) - 1)]

    def read_bytes(self, path, limit=None):
        where, entry, settled = self._entry(path, "read")
        if settled:
            settled.subject = path
            return settled
        if isinstance(entry, dict) and "answers" in entry:
            entry = self._successive(("file", where), entry["answers"])
        if isinstance(entry, dict) and "base64" in entry:
            content = base64.b64decode(entry["base64"])
        elif isinstance(entry, dict):
            return self._plain(path, entry)
        else:
            content = _bytes(str(entry))
        if limit is not None and len(content) > limit:
            return Answer(answers.OK, content[:limit], subject=path, truncated=True)
        return Answer(answers.OK, content, subject=path)

    def read_text(self, path, limit=None):
        answer = self.read_bytes(path, limit)
        if answer.ok:
            answer.value = answer.value.decode("utf-8", "replace")
        return answer

    def exists(self, path):
        _where, entry, settled = self._entry(path, "exists")
        if settled is not None:
            if settled.status == answers.ABSENT:
                return Answer(answers.OK, False, subject=path)
            return settled
        if self._failed(entry):
            answer = self._plain(path, entry)
            return Answer(answers.OK, False, subject=path) if answer.status == answers.ABSENT else answer
        return Answer(answers.OK, True, subject=path)

    def listdir(self, path):
        where, entry, settled = self._entry(path, "listdir")
        if settled:
            settled.subject = path
            return settled
        if isinstance(entry, dict) and "dir" in entry:
            return Answer(answers.OK, [str(n) for n in entry["dir"]], subject=path)
        if isinstance(entry, dict) and any(k in entry for k in _FAILURES):
            return self._plain(path, entry)
        if isinstance(entry, dict) and (not entry or "exists" in entry or entry.get("type") == "directory"):
            return Answer(answers.NOT_RECORDED, detail="listing of %s" % where, subject=path)
        return Answer(answers.NOT_A_DIRECTORY, detail="ENOTDIR", subject=path)

    def readlink(self, path):
        _where, entry, settled = self._entry(path, "readlink", follow=False)
        if settled:
            settled.subject = path
            return settled
        if isinstance(entry, dict) and "link" in entry:
            return Answer(answers.OK, entry["link"], subject=path)
        if self._failed(entry):
            return self._plain(path, entry)
        return Answer(answers.IO_ERROR, detail="EINVAL", subject=path)

    def stat(self, path):
        """Answer of {type: file|directory|char|block|fifo|socket, mode: "0644", major, minor, uid, gid, size, mtime}; what was not recorded is left out."""
        _where, entry, settled = self._entry(path, "stat")
        if settled:
            settled.subject = path
            return settled
        if not isinstance(entry, dict):
            return Answer(answers.OK, {"type": "file", "size": len(str(entry))}, subject=path)
        if self._failed(entry):
            return self._plain(path, entry)
        if set(entry) == {"exists"}:
            return Answer(answers.NOT_RECORDED, subject=path)
        value = {k: entry[k] for k in ("mode", "major", "minor", "uid", "gid", "size", "mtime") if k in entry}
        value["type"] = entry.get("device") or entry.get("type") or ("file" if {"answers", "base64"} & set(entry) else "directory")
        return Answer(answers.OK, value, subject=path)

    def statvfs(self, path):
        """Answer of {size, free (bytes), inodes, inodes_free}."""
        if path in self._statvfs:
            found = self._statvfs[path]
            return self._full("statvfs %s" % path, found) if "status" in found else Answer(answers.OK, dict(found), subject="statvfs %s" % path)
        return Answer(answers.NOT_RECORDED, subject="statvfs %s" % path)

    # -- programs and libraries ------------------------------------------------------------------------------------

    @staticmethod
    def _key(argv, env, stdin):
        argv = [str(a) for a in argv]
        return (posixpath.basename(argv[0]), *argv[1:]), tuple(sorted((env or {}).items())), stdin or ""

    def run(self, argv, timeout=None, env=None, stdin=None, limit=None, taker=None):
        answer = self._command(argv, env, stdin)
        if taker and answer.stdout:
            taker(_bytes(answer.stdout))
            answer.stdout = ""
        return answer

    def _command(self, argv, env, stdin):
        key = self._key(argv, env, stdin)
        entries = self._commands.get(key)
        if not entries:
            return Command(argv, answers.NOT_RECORDED)
        entry = self._successive(("command", key), entries)
        seconds = float(entry.get("seconds", 0.0))
        said = {"stdout": entry.get("stdout") or "", "stderr": entry.get("stderr") or "", "seconds": seconds}
        said["detail"], said["stuck_pid"] = entry.get("detail") or "", entry.get("stuck_pid")
        said["left_out"] = entry.get("left_out") or 0
        if entry.get("missing"):
            return Command(argv, answers.ABSENT, **dict(said, detail=said["detail"] or "no such program"))
        if entry.get("denied"):
            return Command(argv, answers.DENIED, **said)
        if "status" in entry:
            return Command(argv, entry["status"], **said)
        if entry.get("hang"):
            return Command(argv, answers.TIMEOUT, **dict(said, detail=said["detail"] or "no answer in time"))
        if entry.get("overflow"):
            return Command(argv, answers.OVERFLOW, **said)
        if "signal" in entry:
            return Command(argv, answers.SIGNALED, **dict(said, detail=said["detail"] or str(entry["signal"])))
        return Command(argv, answers.OK, rc=int(entry.get("rc", 0)), **said)

    def native(self, name, reader=None, timeout=None, arguments=None):
        if name not in self._natives:
            return Answer(answers.NOT_RECORDED, subject=name)
        entry = self._natives[name]
        if isinstance(entry, list):
            entry = self._successive(("native", name), entry)
        if "status" in entry:
            return self._full(name, entry)
        if "missing" in entry:
            return Answer(answers.ABSENT, detail=str(entry["missing"]), subject=name)
        if entry.get("hang"):
            return Answer(answers.TIMEOUT, detail="no answer in time", subject=name)
        if "signal" in entry:
            return Answer(answers.SIGNALED, detail=str(entry["signal"]), subject=name)
        if "error" in entry:
            return Answer(answers.IO_ERROR, detail=str(entry["error"]), subject=name)
        return Answer(answers.OK, entry.get("answer"), subject=name)

    def resolve(self, program):
        """Where a program is: what was recorded for it, else whether its commands are there."""
        if program in self._programs:
            found = self._programs[program]
            return self._full(program, found) if isinstance(found, dict) else Answer(answers.OK, found, subject=program)
        known = [e for key, entries in self._commands.items() if key[0][0] == program for e in entries]
        if not known:
            return Answer(answers.NOT_RECORDED, subject=program)
        if all(e.get("missing") for e in known):
            return Answer(answers.ABSENT, subject=program)
        return Answer(answers.OK, program, subject=program)

    # -- the machine -----------------------------------------------------------------------------------------------

    def _of_host(self, key):
        if key in self._host:
            found = self._host[key]
            if isinstance(found, dict) and "status" in found:
                return self._full(key, found)
            return Answer(answers.OK, self._host[key], subject=key)
        return Answer(answers.NOT_RECORDED, subject=key)

    def uname(self):
        """Answer of {system, node, release, version, machine}."""
        return self._of_host("uname")

    def limits(self):
        """Answer of {memlock: [soft, hard], nofile: …}; numbers (memlock in bytes) or "unlimited"."""
        return self._of_host("limits")

    def boot_time(self):
        """Answer of seconds since the epoch."""
        return self._of_host("boot_time")

    def is_root(self):
        return self._of_host("root_user")

    def python(self):
        """Answer of {version, executable}."""
        return self._of_host("python")

    def now(self):
        return self._now

    def monotonic(self):
        return 0.0

    def remaining(self):
        return 3600.0
