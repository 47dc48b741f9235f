# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand of a run that puts files on a node and starts containers: its lock, its files, and a journal of all of it.

Everything lies below ROOT. Who holds the lock is alone there, so what is found beside the lock was left by a run that was killed, and goes first.
The lock is the kernel's: it ends with the process that took it, whatever ends that. Nothing that is started inherits it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import signal
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers, files
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.child import Outside, locate
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.staging import STAGED, Staging

ROOT = "/var/lib/fleetproof/accelerator"
LOCK = "lock"
OPERATOR_LOCK = "/var/lib/gpustack/operator/preflight/lock"  # taken too where it is: the operator's own preflight asks the same drivers
TAKEN, CONTENDED, UNLOCKABLE, WITHHELD = "taken", "contended", "unlockable", "withheld"
# how an entry of the journal ended
INTENDED, FAILED, KEPT, REMOVED, LEFT, OPEN = "intended", "failed", "kept", "removed", "left", "open"
_LONGEST = 300
MARKERS = ("etc", "proc", "usr")  # all of them: an empty directory made by mistake may have one


def hold(host, withheld="", root=ROOT, operator_lock=OPERATOR_LOCK):
    """withheld: why nothing may be changed; then, and in replay, each intent is in the journal and nothing is done."""
    inner = getattr(host, "_inner", host)
    if not isinstance(inner, LiveHost):
        return _Intending(host, withheld, root) if withheld else _Replaying(host, "", root)
    if not withheld:
        withheld = host_root_trouble(host, inner._root)
    return _Intending(host, withheld, root) if withheld else _Holding(host, inner, root, operator_lock)


def host_root_trouble(host, root):
    """Why the machine's file system is not the one to work on, or "": a lock or a library tree below a wrong path helps nobody."""
    if root == "/":
        return ""
    found = host.stat("/")
    if not found.ok:
        return "host root %s: not readable: %s" % (root, found.reason)
    if found.value.get("type") != "directory":
        return "host root %s: not a directory" % root
    for name in MARKERS:
        there = host.exists("/" + name)
        if not there.ok or not there.value:
            return "host root %s: no %s in it; mount the host's / there" % (root, name)
    return ""


class _Intending:
    """Does nothing and says what it would have done."""

    def __init__(self, host, withheld, root):
        self.host, self.withheld, self.root, self.journal = host, withheld, root.rstrip("/"), []
        self.lock = {"state": WITHHELD, "path": "%s/%s" % (self.root, LOCK), "reason": withheld}

    def _note(self, kind, what, outcome=OPEN, detail=""):
        entry = {"kind": kind, "what": what, "outcome": outcome, "detail": detail}
        self.journal.append(entry)
        return entry

    def take(self, patience=0, clean=True):
        self._note("lock", self.lock["path"], INTENDED)
        return WITHHELD

    def clean(self):
        """Nothing is taken away."""

    def start(self, argv, kind="command", timeout=None, **more):
        """Starts what changes the node. kind container: it goes away by itself (--rm), else it is the command's own end that counts."""
        self._note(kind, _line(argv), INTENDED)
        return Command(argv, answers.DENIED, detail=self.withheld)

    def start_together(self, argvs, kind="container", timeout=None, limit=None):
        """[Command] of programs that run at the same time."""
        return [self.start(argv, kind, timeout) for argv in argvs]

    def write(self, path, content, mode=0o644):
        """A file below ROOT that goes when the run ends. "" or why not."""
        self._note("file", path, INTENDED)
        return self.withheld

    def directory(self, path, mode=0o755):
        self._note("directory", path, INTENDED)
        return self.withheld

    def stage(self, source, target, replace=False):
        """The files of a directory that this process sees, on the host at target. "" or why not."""
        self._note("library", target, INTENDED, "from %s" % source)
        return self.withheld

    def end(self):
        """Takes away what is this run's, lets go of the lock. Twice is once."""

    def settle(self, kind, outcome, detail=""):
        """How what is open ended; here nothing is."""

    def end_strays(self, clients, word):
        """How many were ended: none is looked for."""
        return 0

    def pause(self, seconds):
        """Nothing is waited for."""

    def footprint(self):
        """What a section shows of it."""
        return {"lock": dict(self.lock), "writes": [dict(entry) for entry in self.journal]}


class _Replaying(_Intending):
    """What was started answers from the recording; nothing is done."""

    def take(self, patience=0, clean=True):
        self._note("lock", self.lock["path"], INTENDED)
        self.lock["reason"] = "a recording is read"
        return TAKEN

    def start(self, argv, kind="command", timeout=None, **more):
        self._note(kind, _line(argv), INTENDED)
        return self.host.run(argv, timeout, **more)


class _Holding(Staging, _Intending):
    def __init__(self, host, live, root, operator_lock):
        super().__init__(host, "", root)
        self._live, self._operator_lock = live, operator_lock
        self._fd, self.locks, self._mine = None, [], {}

    # -- the lock

    def take(self, patience=0, clean=True):
        """TAKEN, CONTENDED by another run for so many seconds, or UNLOCKABLE for another reason; lock says which and why. clean: what lies beside it."""
        until = time.monotonic() + min(patience, self._live.remaining())
        while True:
            state = self._try(clean)
            if state != CONTENDED or time.monotonic() >= until:
                return state
            self.withheld = ""
            time.sleep(0.5)

    def _try(self, clean):
        parent, above = self._existing(self.root)
        if not above.ok:
            return self._locked(UNLOCKABLE, "%s: %s" % (parent, above.reason))
        try:
            self._fd = self._walk(parent, self.root[len(parent) :].split("/"))
            found = os.fstat(self._fd)
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return self._locked(UNLOCKABLE, "%s: others may write to it" % self.root)
            self._flock(os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._fd))
            self._take_operator_lock()
        except BlockingIOError:
            return self._locked(CONTENDED, "another run holds %s" % (self._operator_lock if self.locks else self.lock["path"]))
        except Outside:
            return self._locked(UNLOCKABLE, "%s: outside the root" % self.root)
        except OSError as error:
            return self._locked(UNLOCKABLE, "%s: %s" % (self.lock["path"], error.strerror))
        self._note("lock", self.lock["path"], KEPT, "an empty file; the kernel lets go of it with the process")
        self.lock.update(state=TAKEN, reason="")
        if clean:
            self.clean()
        return TAKEN

    def _existing(self, path):
        """(the deepest directory above a path that is there, the answer of stat): through the door, for a dead file system holds its helper, not us."""
        found = self.host.stat(path)
        while found.status == answers.ABSENT and path.count("/") > 1:
            path = path.rpartition("/")[0]
            found = self.host.stat(path)
        return path, found

    def _locked(self, state, reason):
        self.lock.update(state=state, reason=reason)
        self.let_go()
        self.withheld = reason
        return state

    def _flock(self, fd):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        self.locks.append(fd)

    def _take_operator_lock(self):
        if not self.host.exists(self._operator_lock).value:
            return
        place = self._directory(self._operator_lock.rpartition("/")[0])
        try:
            fd = os.open(self._operator_lock.rpartition("/")[2], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
        except FileNotFoundError:
            return
        finally:
            os.close(place)
        self._flock(fd)

    def let_go(self):
        for fd in (*self.locks, self._fd):
            if fd is not None:
                os.close(fd)
        self.locks, self._fd = [], None

    # -- files

    def _directory(self, path):
        place = locate(os.fsencode(self._live._root), os.fsencode(path), True)
        try:
            return os.open(".", files.DIRECTORY, dir_fd=place)
        finally:
            os.close(place)

    def _walk(self, start, names):
        """Descriptor of a directory below one that is there; what is missing is made. No link is followed below start."""
        at = self._directory(start)
        for name in filter(None, names):
            try:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=at)
                below = os.open(name, files.DIRECTORY, dir_fd=at)
            finally:
                os.close(at)
            at = below
        return at

    def _below(self, path):
        """The names of a path from ROOT on; a path of ours has no .. and is not the lock."""
        names = path[len(self.root) + 1 :].split("/") if path.startswith(self.root + "/") else []
        if not names or names[0] in (LOCK, STAGED, "lib") or any(name in ("", ".", "..") for name in names):
            raise OSError(errno.EINVAL, "not a path below %s" % self.root)
        return names

    def _do(self, kind, path, act, detail=""):
        entry = self._note(kind, path, OPEN, detail)
        if self._fd is None:
            entry.update(outcome=FAILED, detail=self.withheld or "the lock is not held")
            return entry["detail"]
        try:
            act(entry)
        except Outside:
            entry.update(outcome=FAILED, detail="outside the root")
        except OSError as error:
            entry.update(outcome=FAILED, detail=error.strerror or str(error))
        return entry["detail"] if entry["outcome"] == FAILED else ""

    def _own(self, path, entry):
        self._mine.setdefault(self._below(path)[0], []).append(entry)

    def directory(self, path, mode=0o755):
        def act(entry):
            names = self._below(path)
            self._own(path, entry)
            at = self._walk(self.root, names)
            try:
                os.fchmod(at, mode)
            finally:
                os.close(at)

        return self._do("directory", path, act)

    def write(self, path, content, mode=0o644):
        content = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content

        def act(entry):
            names = self._below(path)
            self._own(path, entry)
            at = self._walk(self.root, names[:-1])
            try:
                files.put(at, names[-1], lambda fd: files.whole(fd, content), mode)
            finally:
                os.close(at)

        return self._do("file", path, act)

    def clean(self):
        """What a run that was killed left: its files, and the libraries it had put there for its own time. Its containers go first (sweep.py):

        an engine that is just starting one makes directories of the files that are gone.
        """
        self._unstage("left by a run that was killed")
        try:
            names = sorted(name for name in os.listdir(self._fd) if name not in (LOCK, STAGED, "lib"))
        except OSError as error:
            names = []
            self._note("stale", self.root, LEFT, error.strerror)
        for name in names:
            entry = self._note("stale", "%s/%s" % (self.root, name), REMOVED, "left by a run that was killed")
            trouble = files.remove(self._fd, name)
            if trouble:
                entry.update(outcome=LEFT, detail=trouble)

    # -- what is started

    def start(self, argv, kind="command", timeout=None, **more):
        entry = self._note(kind, _line(argv))
        if self._fd is None:
            entry.update(outcome=FAILED, detail=self.withheld or "the lock is not held")
            return Command(argv, answers.DENIED, detail=entry["detail"])
        return self._ended(entry, self.host.run(argv, timeout, **more))

    def start_together(self, argvs, kind="container", timeout=None, limit=None):
        if self._fd is None or len(argvs) < 2:
            return [self.start(argv, kind, timeout, **({} if limit is None else {"limit": limit})) for argv in argvs]
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.together import run_together

        entries = [self._note(kind, _line(argv)) for argv in argvs]
        told = run_together(self._live, argvs, timeout, **({} if limit is None else {"limit": limit}))
        for command in told if hasattr(self.host, "keep") else ():
            self.host.keep(command, command.argv)
        return [self._ended(entry, command) for entry, command in zip(entries, told)]

    def pause(self, seconds):
        time.sleep(max(0.0, min(seconds, self._live.remaining())))

    @staticmethod
    def _ended(entry, command):
        if command.status != answers.OK:
            entry["detail"] = command.reason
        elif command.rc:
            entry["detail"] = "exit %d" % command.rc
        if entry["kind"] == "command":
            entry["outcome"] = KEPT if command.succeeded else FAILED
        return command

    def settle(self, kind, outcome, detail=""):
        """How the entries of a kind that are open ended: containers, once it was looked whether one is left."""
        for entry in self.journal:
            if entry["kind"] == kind and entry["outcome"] == OPEN:
                entry.update(outcome=outcome, detail=detail or entry["detail"])

    def end_strays(self, clients, word):
        """Ends clients that a killed run left starting a container: each outlives it and would start one after the sweep. An orphan has no other parent."""
        ended = 0
        if self._fd is None or self._live._root != "/":
            return ended
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as told:
                    words = told.read(1 << 16).decode("utf-8", "replace").split("\0")
                if word not in words or "run" not in words or words[0].rpartition("/")[2] not in clients:
                    continue
                with open("/proc/%s/stat" % pid, "rb") as told:
                    orphan = told.read().rpartition(b")")[2].split()[1] == b"1"
                if orphan:
                    os.kill(int(pid), signal.SIGKILL)
                    ended += 1
                    self._note("stale", "process %s: %s" % (pid, words[0]), REMOVED, "left by a run that was killed")
            except OSError:
                continue
        return ended

    def end(self):
        if self._fd is None:
            return
        alive = next((entry["detail"] for entry in self.journal if entry["kind"] == "container" and entry["outcome"] in (LEFT, OPEN)), None)
        try:
            if alive is None:
                self._take_away()
            else:  # an engine that comes back to a container of ours would make directories of what it mounts
                self._leave("a container that mounts it may be left: %s" % (alive or "it was not looked for"))
        finally:
            self.let_go()
            self.withheld = "the run has ended"

    def _take_away(self):
        for name in sorted(self._mine):
            trouble = files.remove(self._fd, name)
            for entry in self._mine[name]:
                if entry["outcome"] == OPEN:
                    entry.update(outcome=LEFT, detail=trouble) if trouble else entry.update(outcome=REMOVED)
        left = self._unstage()
        for entry in self.journal:
            if entry["kind"] == "library" and entry["outcome"] == OPEN:
                entry.update(outcome=LEFT, detail="; ".join(left)) if left else entry.update(outcome=REMOVED)

    def _leave(self, why):
        """What is this run's stays for the next one to clean."""
        for entry in self.journal:
            if entry["outcome"] == OPEN:
                entry.update(outcome=LEFT, detail=why)


def _line(argv):
    """A command for the journal; the whole of it stands in the row of its step."""
    line = shlex.join(argv)
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
