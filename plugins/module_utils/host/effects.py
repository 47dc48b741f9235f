# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand: what changes a node goes through here. A driver's mode is switched on, to learn whether the driver accepts it, and off again.

A process of its own does both, in a session of its own and with none of our descriptors: whoever ends this module between the two, the mode is put
back. Before it asks it leaves a note in DIRECTORY, and takes it away once the mode is back; a note that is found is a mode left on (notes.py).
The lock of the node (hold.py) is held meanwhile, by that process too: no probe starts on a card whose mode is about to change.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import time

from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import answers
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.answers import Command
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.child import Outside, locate
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.live import LiveHost
from ansible_collections.fleetproof.accelerator.plugins.module_utils.host.notes import DIRECTORY, started

ASKED, NOT_ASKED, UNSETTLED = "asked", "not_asked", "unsettled"
LEAST_SECONDS = 20  # of the deadline, for one more ask
_ON_SECONDS, _OFF_SECONDS = 15, 15
_OFF_TRIES, _OFF_PAUSE = 2, 0.5  # a driver that is busy for a moment
_MAX_KEPT = 4000
_FIELDS = ("status", "rc", "stdout", "stderr", "seconds", "detail")


class Switched:
    """status: asked (on and off are the tool's answers; off is empty where on was refused), not_asked (reason), or unsettled (nobody knows)."""

    __slots__ = ("off", "on", "reason", "status")

    def __init__(self, status, reason="", on=None, off=()):
        self.status, self.reason, self.on, self.off = status, reason, on, list(off)


def effects(host, withheld="", directory=DIRECTORY, root="", operator_lock=""):
    """The hand of a host. withheld: why it must not change anything, such as check mode; what it would have done is then in intended.

    root: below which the lock of the node lies; "" takes none.
    """
    inner = getattr(host, "_inner", host)
    if not isinstance(inner, LiveHost):
        return _Replay(host)
    if not withheld and inner._root != "/":
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold

        withheld = hold.host_root_trouble(host, inner._root)
    return _Live(host, inner, withheld, directory, (root, operator_lock))


def _never_started(command):
    return command.status in (answers.ABSENT, answers.DENIED)


def _clear_no(command):
    """It ended by itself and says that it did nothing; anything else may have switched the mode."""
    return _never_started(command) or (command.status == answers.OK and command.rc != 0)


class _Replay:
    """Answers from the recording alone."""

    withheld = ""

    def __init__(self, host):
        self.host, self.intended = host, []

    def begin(self):
        return ""

    def end(self):
        """Nothing is held."""

    def keep(self, key, note):
        return ""

    def forget(self, key):
        return ""

    def switch(self, key, note, on, off, refused, stdin=None):
        first = self.host.run(on, stdin=stdin)
        if first.status == answers.NOT_RECORDED:
            return Switched(NOT_ASKED, "not in the recording")
        tries = []
        while not _clear_no(first) and len(tries) < _OFF_TRIES:
            tries.append(self.host.run(off, stdin=stdin))
            if not refused(tries[-1]):
                break
        return Switched(ASKED, "", first, tries)


class _Live:
    def __init__(self, host, live, withheld, directory, lock):
        self.host, self.withheld, self.intended = host, withheld, []
        self._live, self._lock, self._node = live, lock, None
        self._parent, self._name = os.path.split(directory)
        self._above = self._directory = None

    def begin(self):
        """Takes the lock of the node and the directory, and holds both against every other run. "" or why not."""
        return self._take_node() or self._begin()

    def _take_node(self):
        root, operator_lock = self._lock
        if not root:
            return ""
        from ansible_collections.fleetproof.accelerator.plugins.module_utils.host import hold

        self._node = hold.hold(self.host, "", root, operator_lock)
        return "" if self._node.take(clean=False) == hold.TAKEN else self._node.lock["reason"]

    def _begin(self):
        above = self.host.stat(self._parent)  # through the door first: a dead file system holds its helper, not us
        if not above.ok:
            return above.reason
        try:
            self._above = locate(os.fsencode(self._live._root), os.fsencode(self._parent), True)
            return self._take()
        except Outside:
            return "%s: outside the root" % self._parent
        except OSError as error:
            return "%s/%s: %s" % (self._parent, self._name, error.strerror)

    def _take(self):
        for _attempt in range(5):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._name, 0o700, dir_fd=self._above)
            taken = os.open(self._name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._above)
            found = os.fstat(taken)
            try:
                fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
                current = os.stat(self._name, dir_fd=self._above, follow_symlinks=False).st_ino == found.st_ino
            except BlockingIOError:
                os.close(taken)
                return "another run is asking the drivers of this node"
            except FileNotFoundError:
                current = False
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                os.close(taken)
                return "%s/%s: not this user's alone" % (self._parent, self._name)
            if current:
                self._directory = taken
                return ""
            os.close(taken)  # the run that held it has removed it
        return "%s/%s: goes away again and again" % (self._parent, self._name)

    def end(self):
        """Lets go; the directory stays only while a note lies in it."""
        if self._directory is not None:
            with contextlib.suppress(OSError):
                os.rmdir(self._name, dir_fd=self._above)
        for fd in (self._directory, self._above):
            if fd is not None:
                os.close(fd)
        self._directory = self._above = None
        if self._node is not None:
            self._node.let_go()

    def keep(self, key, note):
        """Leaves a note of a mode that is on. Why not, or nothing."""
        try:
            _write(self._directory, key, note)
        except OSError as error:
            return error.strerror
        return ""

    def forget(self, key):
        try:
            os.unlink(key, dir_fd=self._directory)
        except OSError as error:
            return error.strerror
        return ""

    def switch(self, key, note, on, off, refused, stdin=None):
        """on, off: argv. refused(command) -> what is wrong with an answer, "" when it was accepted. note: what a later run should know."""
        if self.withheld:
            self.intended.append({"on": list(on), "off": list(off)})
            return Switched(NOT_ASKED, self.withheld)
        left = self._live.remaining()
        if left < LEAST_SECONDS:
            return Switched(NOT_ASKED, "the deadline is near")
        program = self.host.resolve(on[0])
        if not program.ok:
            return Switched(NOT_ASKED, program.reason)
        seconds = min(_ON_SECONDS, left / 4)
        try:
            answer, ours = os.pipe()
            pid = os.fork()
        except OSError as error:
            return Switched(NOT_ASKED, "no process that would put it back: %s" % error.strerror)
        if pid == 0:
            self._be_the_hand(ours, seconds, (key, note, on, off, refused, stdin))
        os.close(ours)
        said = _until_closed(answer, time.monotonic() + seconds + _OFF_TRIES * (_OFF_SECONDS + 3) + 5)
        _reap(pid)
        return self._told(said, on, off, stdin)

    def _told(self, said, on, off, stdin):
        try:
            told = json.loads(said)
        except ValueError:
            return Switched(UNSETTLED, "the process that asked and puts back gave no answer")
        if told["reason"]:
            return Switched(NOT_ASKED, told["reason"])
        commands = [Command(argv, **fields) for argv, fields in zip([on] + [off] * len(told["tried"]), told["tried"])]
        if hasattr(self.host, "keep"):
            for command in commands:
                self.host.keep(command, command.argv, stdin=stdin)
        return Switched(ASKED, "", commands[0], commands[1:])

    def _be_the_hand(self, ours, seconds, request):
        """The forked half: no descriptor but the pipe, the directory and the locks, which it holds to its end. Never returns."""
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM):
                signal.signal(number, signal.SIG_IGN)
            locks = self._node.locks if self._node is not None else []
            ours, directory, *locks = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in (ours, self._directory, *locks))
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            kept = sorted((ours, directory, *locks))
            for first, last in zip([3, *(fd + 1 for fd in kept)], [*kept, 4096]):
                os.closerange(first, last)
            os.chdir("/")
            live = self._live
            live._helper, live._until = None, time.monotonic() + seconds + _OFF_TRIES * (_OFF_SECONDS + 3) + 60
            told = _switch(live.run, directory, seconds, _asker(live._root), *request)
            os.write(ours, json.dumps(told).encode())
        finally:
            os._exit(0)


def _fields(command):
    return {name: value[:_MAX_KEPT] if isinstance(value, str) else value for name, value in ((n, getattr(command, n)) for n in _FIELDS)}


def _asker(root):
    """[process id, its start] of this process as the host's own /proc numbers it: in a pod its own would be another number."""
    for path in (root.rstrip("/") + "/proc/self/stat", "/proc/self/stat"):
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii", errors="replace") as stat:
            told = stat.read()
            return [int(told.split(" ", 1)[0]), started(told)]
    return [os.getpid(), ""]


def _switch(run, directory, seconds, asker, key, note, on, off, refused, stdin):
    try:
        _write(directory, key, dict(note, asker=asker), True)
    except OSError as error:
        return {"reason": "no note of it could be left: %s" % error.strerror, "tried": []}
    first, tries, why = None, [], ""
    try:
        first = run(on, timeout=seconds, stdin=stdin)
    finally:
        while (first is None or not _clear_no(first)) and len(tries) < _OFF_TRIES:
            tries.append(run(off, timeout=_OFF_SECONDS, stdin=stdin))
            why = refused(tries[-1])
            if not why:
                break
            time.sleep(_OFF_PAUSE)
        if why:
            _write(directory, key, dict(note, failed=why))
        else:
            os.unlink(key, dir_fd=directory)
    return {"reason": "", "tried": [_fields(command) for command in (first, *tries)]}


def _write(directory, key, note, exclusive=False):
    """The note, whole or not at all, and on the disk before anything is asked."""
    temporary = ".%s.new" % key
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        try:
            os.write(fd, json.dumps(note, sort_keys=True).encode())
            os.fsync(fd)
        finally:
            os.close(fd)
        if exclusive:
            os.link(temporary, key, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            os.replace(temporary, key, src_dir_fd=directory, dst_dir_fd=directory)
            return
        os.fsync(directory)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)


def _until_closed(fd, until):
    """What comes from fd until its other end is closed or the time is over."""
    got = b""
    try:
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        while True:
            left = until - time.monotonic()
            if left <= 0 or not waiting.poll(int(left * 1000 + 1)):
                return b""
            piece = os.read(fd, 1 << 16)
            if not piece:
                return got
            got += piece
    finally:
        os.close(fd)


def _reap(pid):
    for _attempt in range(100):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.002)
