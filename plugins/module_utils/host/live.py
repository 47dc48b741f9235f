# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers from the machine itself, or from a host whose file system is mounted below another root."""

from __future__ import annotations

import os
import resource
import sys
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, child
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Answer, Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.base import Host
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.process import OVERFLOW, TIME, WANTED, Process

PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin:/usr/local/Ascend/driver/tools:/usr/local/neuware/bin:/opt/hyhal/bin"
    ":/usr/local/corex/bin:/opt/mxdriver/bin:/opt/maca/bin:/usr/local/musa/bin:/usr/local/PPU_SDK/bin:/usr/local/cuda/bin:/opt/bin:/snap/bin"
)
READ_LIMIT = 4 << 20
READ_SECONDS = 5.0
COMMAND_SECONDS = 30.0
STDOUT_LIMIT, STDERR_LIMIT = 8 << 20, 1 << 18
_PASSED = "the deadline of the module had passed"

# becomes the child, whose text of argv[1] bytes comes first on descriptor 0
_BOOT = """import os,sys
n=int(sys.argv[1])
s=b""
while len(s)<n:
 p=os.read(0,n-len(s))
 if not p:os._exit(0)
 s+=p
exec(compile(s,"child.py","exec"),{"__name__":"%s"})
""" % (child.NAME,)


def source_of(module):
    """Text of an imported module, also from AnsiballZ's zip."""
    return module.__spec__.loader.get_source(module.__name__)


def frame(*fields):
    body = b"\0".join(fields)
    return len(body).to_bytes(4, "big") + body


def complete(kept):
    got = kept[child.ANSWERS]
    return len(got) >= 4 and len(got) >= 4 + int.from_bytes(got[:4], "big")


def _errno(name, subject):
    status = answers.ERRNO_STATUS.get(name, answers.IO_ERROR)
    return Answer(status, detail="" if status == answers.ABSENT else name, subject=subject)


class LiveHost(Host):
    """deadline: seconds for everything asked of this host, from now on. path: where programs are looked for."""

    def __init__(self, root="/", deadline=60, path=PATH):
        self._until = time.monotonic() + deadline
        self._root = os.path.abspath(root)
        self._path = path
        self._source = source_of(child).encode()
        self._helper = None
        self._hung = set()
        self._programs = {}

    def now(self):
        return time.time()

    def monotonic(self):
        return time.monotonic()

    def remaining(self):
        return max(0.0, self._until - time.monotonic())

    def close(self):
        if self._helper is not None:
            self._helper.end(0)
            self._helper = None

    def _start(self, request=b"", limit=1 << 30):
        # isolated, without site, writing no bytecode
        argv = [sys.executable, "-I", "-S", "-B", "-c", _BOOT, str(len(self._source))]
        limits = {1: 1 << 16, 2: 1 << 16, child.ANSWERS: limit}
        return Process(sys.executable, argv, self._environment(None), self._source + request, limits, spill=(1, 2), keep_open=True)

    def _ask(self, operation, path, limit=0, subject=None, again=True):
        subject = path if subject is None else subject
        left = min(max(READ_SECONDS / (1 + len(self._hung)), 1.0), self.remaining())  # where many hang, the next is waited for less
        if left <= 0 or (operation, path) in self._hung:
            return Answer(answers.TIMEOUT, detail=_PASSED if left <= 0 else "no answer in time", subject=subject)
        fresh = self._helper is None
        try:
            request = frame(operation, b"%d" % limit, os.fsencode(self._root), path.encode("utf-8", "surrogateescape"))
            if fresh:
                self._helper = self._start()
        except UnicodeEncodeError:
            return _errno("EINVAL", subject)
        except OSError as error:
            return Answer(answers.IO_ERROR, detail="no helper process: %s" % error.strerror, subject=subject)
        if "\0" in path:
            return _errno("EINVAL", subject)
        helper = self._helper
        helper.feed += request
        end = helper.pump(time.monotonic() + left, complete)
        if end == WANTED:
            word, detail, payload = bytes(helper.kept[child.ANSWERS][4:]).split(b"\0", 2)
            helper.kept[child.ANSWERS].clear()
            return self._answered(word, detail.decode(), payload, subject)
        self._helper = None
        status, detail = helper.outcome(end, helper.end(0))
        if end == TIME:
            self._hung.add((operation, path))
        elif again and not fresh:  # it may have died of something else, before
            return self._ask(operation, path, limit, subject, False)
        if status in (answers.TIMEOUT, answers.SIGNALED):
            return Answer(status, detail=detail, subject=subject)
        return Answer(answers.IO_ERROR, detail="no helper process: %s" % (detail or "exit %s" % helper.rc), subject=subject)

    @staticmethod
    def _answered(word, detail, payload, subject):
        if word == b"errno":
            return _errno(detail, subject)
        if word == b"outside":
            return Answer(answers.OUTSIDE, subject=subject)
        if word == b"kind":
            return Answer(answers.NOT_A_FILE, detail=detail, subject=subject)
        return Answer(answers.OK, payload, subject=subject, truncated=word == b"truncated")

    def _asked(self, convert, operation, path, limit=0, subject=None):
        answer = self._ask(operation, path, limit, subject)
        if answer.ok:
            answer.value = convert(answer.value)
        return answer

    def read_bytes(self, path, limit=None):
        return self._ask(b"read", path, READ_LIMIT if limit is None else limit)

    def read_text(self, path, limit=None):
        return self._asked(text_of, b"read", path, READ_LIMIT if limit is None else limit)

    def exists(self, path):
        return self._asked(bool, b"exists", path)

    def listdir(self, path):
        return self._asked(lambda names: text_of(names).split("\0") if names else [], b"listdir", path)

    def readlink(self, path):
        return self._asked(text_of, b"readlink", path)

    def stat(self, path):
        return self._asked(_facts, b"stat", path)

    def statvfs(self, path):
        return self._asked(_facts, b"statvfs", path, subject="statvfs %s" % path)

    def _environment(self, more):
        # PYTHON*: some vendor tools are Python, of another interpreter than this module's
        dropped = ("LC_", "PYTHON", "LANGUAGE", "LD_PRELOAD", "BASH_ENV", "ENV")
        env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        env.update(PATH=self._path, LC_ALL="C", LANG="C")
        env.update({str(name): str(value) for name, value in (more or {}).items()})
        return env

    def resolve(self, program):
        known = self._programs.get(program)
        if known is None:
            known = self._asked(text_of, b"which", "%s:%s" % (program, self._path), subject=program)
            if known.status == answers.TIMEOUT:  # look once which directory it is, not with every program
                directories = self._path.split(":")
                alive = [d for d in directories if self._ask(b"which", "%s:%s" % (program, d)).status != answers.TIMEOUT]
                if alive and alive != directories:
                    self._path = ":".join(alive)
                    return self.resolve(program)
            else:
                self._programs[program] = known
        return Answer(known.status, known.value, known.detail, program)

    def run(self, argv, timeout=None, env=None, stdin=None, limit=STDOUT_LIMIT, taker=None):
        """limit: bytes of stdout that are kept, or handed to taker piece by piece."""
        argv = [str(a) for a in argv]
        found = Answer(answers.OK, argv[0]) if "/" in argv[0] else self.resolve(argv[0])
        if not found.ok:
            return Command(argv, found.status, detail="no such program" if found.status == answers.ABSENT else found.detail)
        started = time.monotonic()
        seconds = min(COMMAND_SECONDS if timeout is None else timeout, self.remaining())
        if seconds <= 0:
            return Command(argv, answers.TIMEOUT, detail=_PASSED)
        env = self._environment(env)
        if any("\0" in text for text in [*argv, *env, *env.values()]):
            return Command(argv, answers.IO_ERROR, detail="EINVAL")
        try:
            feed = None if stdin is None else stdin.encode("utf-8", "surrogateescape")
            process = Process(found.value, argv, env, feed, {1: limit, 2: STDERR_LIMIT}, root=self._root, taker=taker)
        except (OSError, ValueError) as error:
            return Command(argv, answers.IO_ERROR, detail="could not be started: %s" % error)
        end = process.pump(started + seconds)
        held = bool(process.pipes)
        left = process.end() if end in (TIME, OVERFLOW) else process.end(0)
        status, detail = process.outcome(end, left)
        if status == "failed":
            failed = _errno(detail, "")
            status, detail = failed.status, failed.detail or "no such program"
        elif status == answers.OK and held:
            detail = detail or "it left processes that held its output; they were killed"
        rc = process.rc if status == answers.OK else None
        seconds = round(time.monotonic() - started, 3)
        return Command(argv, status, rc, text_of(process.kept[1]), text_of(process.kept[2]), seconds, detail, left[0][0] if left else None)

    def native(self, name, reader=None, timeout=None, arguments=None):
        """reader: an imported module that has read(arguments) -> dict and needs of ours library_calls alone; it runs in a child. That its
        library is missing it says by ImportError, by its own exception Missing, or by {"missing": "what"}."""
        if self._root != "/":
            return Answer(answers.ABSENT, detail="libraries of a mounted host are not loaded", subject=name)
        seconds = min(COMMAND_SECONDS if timeout is None else timeout, self.remaining())
        if seconds <= 0:
            return Answer(answers.TIMEOUT, detail=_PASSED, subject=name)
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import native  # only where a library is asked

        return native.ask(self._start, name, reader, arguments, seconds)

    def uname(self):
        return Answer(answers.OK, dict(zip(("system", "node", "release", "version", "machine"), os.uname())), subject="uname")

    def limits(self):
        found = {}
        for name in ("memlock", "nofile", "nproc", "stack"):
            pair = resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))
            found[name] = ["unlimited" if n == resource.RLIM_INFINITY else n for n in pair]
        return Answer(answers.OK, found, subject="limits")

    def boot_time(self):
        stat = self.read_text("/proc/stat")
        for line in (stat.value or "").splitlines():
            if line.startswith("btime ") and line[6:].strip().isdigit():
                return Answer(answers.OK, int(line[6:]), subject="boot_time")
        return Answer(answers.IO_ERROR, detail="no btime in /proc/stat", subject="boot_time") if stat.ok else stat

    def is_root(self):
        return Answer(answers.OK, os.geteuid() == 0, subject="root_user")

    def python(self):
        return Answer(answers.OK, {"version": "%d.%d.%d" % sys.version_info[:3], "executable": sys.executable}, subject="python")


def text_of(content):
    return content.decode("utf-8", "replace")


def _facts(content):
    words = text_of(content).split("\0")
    return {name: value if name in ("type", "mode") else int(value) for name, value in zip(words[::2], words[1::2])}
