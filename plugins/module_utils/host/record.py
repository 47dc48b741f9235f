# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Passes every question on and writes it down with its answer (docs/recording.md)."""

from __future__ import annotations

import base64
import copy
import posixpath
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.base import Host
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.privacy import redact, redact_arguments

SCHEMA = "fleetproof.accelerator/recording/v1"
BEGIN, END = 1 << 20, 3 << 20  # bytes kept of what was handed on in pieces, of its begin and of its end


def _trimmed(items):
    """The last answer repeats, so its repetitions are not kept. How long a command took makes no difference."""
    plain = [dict(i, seconds=0) if "argv" in i else i for i in items]
    count = len(items)
    while count > 1 and plain[count - 1] == plain[count - 2]:
        count -= 1
    return items[:count]


def _entry(asked):
    asked = {operation: _trimmed(said) for operation, said in asked.items()}
    simple = list(asked) == ["read"] and len(asked["read"]) == 1 and set(asked["read"][0]) == {"status", "value"}
    return asked["read"][0]["value"] if simple else {"asked": asked}


class _Ends:
    """Hands pieces on and keeps the begin and the end of all of them, in whole lines."""

    def __init__(self, taker):
        self._taker = taker
        self._begin, self._end, self._dropped = bytearray(), bytearray(), 0

    def take(self, piece):
        room = BEGIN - len(self._begin)
        self._begin += piece[:room]
        self._end += piece[room:] if room < len(piece) else b""
        if len(self._end) > 2 * END:  # seldom: moving it costs as much as it is long
            self._dropped += len(self._end) - END
            del self._end[:-END]
        self._taker(piece)

    def entry(self):
        begin, end = bytes(self._begin), bytes(self._end)
        left_out = self._dropped + max(0, len(end) - END)
        if left_out:
            end = end[-END:]
            whole, rest = begin.rpartition(b"\n")[0] + b"\n", end.partition(b"\n")[2]
            left_out += len(begin) - len(whole) + len(end) - len(rest)
            begin, end = whole, rest
        said = (begin + end).decode("utf-8", "replace")
        return {key: value for key, value in (("stdout", said), ("left_out", left_out)) if value}


class RecordingHost(Host):
    """redact: values that look like secrets are replaced as they are written."""

    def __init__(self, inner, redact=True):
        self._inner = inner
        self._redact = redact
        self._started = inner.now()
        self._files, self._natives, self._commands = {}, {}, {}
        self._single = {"host": {}, "statvfs": {}, "programs": {}}
        self.now, self.monotonic, self.remaining, self.close = inner.now, inner.monotonic, inner.remaining, inner.close

    def _clean(self, value, name=""):
        return redact(value, name) if self._redact else copy.deepcopy(value)

    def _full(self, answer, name=""):
        said, value = {"status": answer.status}, answer.value
        if isinstance(value, bytes):
            try:
                value = value.decode("utf-8")
            except UnicodeDecodeError:
                said["base64"] = base64.b64encode(self._clean(value)).decode()
                value = None
        if value is not None:
            said["value"] = self._clean(value, name)
        if answer.detail:
            said["detail"] = answer.detail
        if answer.truncated:
            said["truncated"] = True
        return said

    def _asked(self, operation, path, answer):
        path = posixpath.normpath("/" + path.lstrip("/"))
        self._files.setdefault(path, {}).setdefault(operation, []).append(self._full(answer, posixpath.basename(path)))
        return answer

    def read_bytes(self, path, limit=None):
        return self._asked("read", path, self._inner.read_bytes(path, limit))

    def read_text(self, path, limit=None):
        answer = self.read_bytes(path, limit)
        if answer.ok:
            answer.value = answer.value.decode("utf-8", "replace")
        return answer

    def run(self, argv, timeout=None, env=None, stdin=None, taker=None, **more):
        if taker is None:
            return self.keep(self._inner.run(argv, timeout, env, stdin, **more), argv, env, stdin)
        ends = _Ends(taker)
        return self.keep(self._inner.run(argv, timeout, env, stdin, taker=ends.take, **more), argv, env, stdin, ends.entry())

    def keep(self, command, argv, env=None, stdin=None, handed=None):
        """Writes down the answer of a program, whoever ran it. handed: what it said in pieces."""
        entry = {key: value for key, value in (("env", env), ("stdin", stdin)) if value}
        entry.update(handed or {})
        entry.update((key, getattr(command, key)) for key in ("stdout", "left_out", "stderr", "detail", "stuck_pid", "seconds") if getattr(command, key))
        entry.update({"rc": command.rc} if command.status == answers.OK else {"status": command.status})
        argv = [str(a) for a in argv]
        entry = dict({"argv": redact_arguments(argv) if self._redact else argv}, **self._clean(entry))
        key = (posixpath.basename(argv[0]), *argv[1:], repr(env), repr(stdin))
        self._commands.setdefault(key, []).append(entry)
        return command

    def native(self, name, reader=None, timeout=None, arguments=None):
        answer = self._inner.native(name, reader, timeout, arguments)
        self._natives.setdefault(name, []).append(self._full(answer))
        return answer

    def recording(self):
        """The recording as a document; ReplayHost answers from it what was answered here. plugin_utils/records/tidy.py makes it short."""
        return {
            "schema": SCHEMA,
            "node": str((self._single["host"].get("uname") or {}).get("node") or "unknown"),
            "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            **{section: dict(said) for section, said in self._single.items()},
            "files": {path: _entry(self._files[path]) for path in sorted(self._files)},
            "commands": [entry for same in self._commands.values() for entry in _trimmed(same)],
            "natives": {name: _trimmed(said) for name, said in self._natives.items()},
        }


def _of_path(name):
    return lambda self, path: self._asked(name, path, getattr(self._inner, name)(path))


def _single(name, section, key=None):
    def ask(self, *subject):
        answer = getattr(self._inner, name)(*subject)
        said = self._full(answer)
        self._single[section][key or subject[0]] = said["value"] if answer.ok else said
        return answer

    return ask


for _name in ("exists", "stat", "listdir", "readlink"):
    setattr(RecordingHost, _name, _of_path(_name))
for _name in ("uname", "limits", "boot_time", "is_root", "python"):
    setattr(RecordingHost, _name, _single(_name, "host", "root_user" if _name == "is_root" else _name))
RecordingHost.statvfs = _single("statvfs", "statvfs")
RecordingHost.resolve = _single("resolve", "programs")
