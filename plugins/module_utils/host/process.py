# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A child process that cannot hold us: never waited for without a limit, and ended with everything it started."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import select
import signal
import time

# how pump() ends
EXITED, WANTED, OVERFLOW, TIME, FAILED = "exited", "wanted", "overflow", "time", "failed"

_CHUNK = 1 << 18
_TERM_SECONDS = 0.3
_KILL_SECONDS = 1.0
_abandoned = []


def _become(path, argv, env, ends, failed, root):
    """The forked half. exec is not waited for in the parent: a program on a dead file system hangs there."""
    try:
        os.setsid()
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in ends]
        failed = fcntl.fcntl(failed, fcntl.F_DUPFD_CLOEXEC, 16)
        for target, fd in enumerate(ends):
            os.dup2(fd, target)
        os.closerange(len(ends), failed)
        os.closerange(failed + 1, 4096)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if root != "/":
            os.chroot(root)
        os.chdir("/")
        os.execve(path, argv, env)
    except OSError as error:
        os.write(failed, b"%d" % error.errno)
    finally:
        os._exit(127)


def _session(leader):
    """[(pid, state)] of the living processes of a session."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open("/proc/%s/stat" % name, "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 3 and fields[3] == b"%d" % leader and fields[0] not in (b"Z", b"X"):
            found.append((int(name), fields[0].decode()))
    return found


class Process:
    """limits: {descriptor: bytes kept} for 1, 2, …; those in spill lose what is more, others stop it. feed: bytes for
    descriptor 0, which stays open for more when keep_open. taker: is handed what 1 says, instead of it being kept.
    Raises OSError when there can be no child."""

    def __init__(self, path, argv, env, feed=None, limits=None, spill=(), root="/", keep_open=False, taker=None):
        while _abandoned and _abandoned[0]._reaped():
            _abandoned.pop(0)
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, the kernel would drop exit states
        self.limits = limits
        self.kept = {number: bytearray() for number in limits}
        self.overflow = False
        self.errno = self.status = self._stdin = None
        self._spill, self._keep_open = spill, keep_open
        self._taker, self._handed = taker, 0
        self.feed = bytearray(feed or b"")
        self.pipes = {}  # our end -> their descriptor; -1: the errno exec failed with
        theirs, ours = [], []
        try:
            if feed is None:
                theirs.append(os.open("/dev/null", os.O_RDONLY))
            else:
                end, self._stdin = os.pipe()
                theirs.append(end)
                ours.append(self._stdin)
            for number in [*sorted(limits), -1]:
                mine, end = os.pipe()
                theirs.append(end)
                ours.append(mine)
                self.pipes[mine] = number
            for fd in ours:
                os.set_blocking(fd, False)
            self.pid = os.fork()
            if self.pid == 0:
                _become(path, argv, env, theirs[:-1], theirs[-1], root)
        except OSError:
            for fd in ours:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def _exited(self):
        try:  # left a zombie: so long its number, and its group's, are nobody else's
            return self.status is not None or os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _reaped(self):
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid:
            self.status = status
        return bool(pid)

    def _close(self, fds):
        for fd in list(fds):
            os.close(fd)
            self.pipes.pop(fd, None)
            if fd == self._stdin:
                self._stdin = None

    def _take(self, fd):
        try:
            piece = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        number = self.pipes[fd]
        if not piece:
            self._close([fd])
        elif number == -1:
            self.errno = int(piece)
        elif number == 1 and self._taker:
            self._handed += len(piece)
            self.overflow = self._handed > self.limits[1]
            self._taker(piece)
        else:
            kept = self.kept[number]
            kept += piece
            if len(kept) > self.limits[number]:
                del kept[self.limits[number] :]
                self.overflow = self.overflow or number not in self._spill

    def _give(self):
        try:
            del self.feed[: os.write(self._stdin, self.feed[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:  # it does not read
            self._close([self._stdin])

    def _move(self, seconds):
        """Moves what is ready within seconds; whether anything was."""
        poll = select.poll()
        for fd in self.pipes:
            poll.register(fd, select.POLLIN)
        if self._stdin is not None and self.feed:
            poll.register(self._stdin, select.POLLOUT)
        elif self._stdin is not None and not self._keep_open:
            self._close([self._stdin])
        ready = poll.poll(int(seconds * 1000 + 0.999))
        for fd, _events in ready:
            if fd == self._stdin:
                self._give()
            else:
                self._take(fd)
        return bool(ready)

    def pump(self, until, wanted=None):
        """Moves bytes until wanted(kept) holds, it exited or could not start, too much came, or the time is over; says which."""
        while True:
            exited = self._exited()
            for _unused in range(64 if exited else 0):  # what is still in the pipes; a grandchild that goes on printing does not hold us
                if self.overflow or not self._move(0):
                    break
            left = until - time.monotonic()
            if self.errno is not None:
                return FAILED
            if wanted is not None and wanted(self.kept):
                return WANTED
            if self.overflow or exited or left <= 0:
                return OVERFLOW if self.overflow else EXITED if exited else TIME
            self._move(min(left, 0.02 if self.pipes else 0.002))

    def _signal(self, number, pids=()):
        for send, pid in [(os.killpg, self.pid), (os.kill, self.pid)] + [(os.kill, pid) for pid, _state in pids]:
            try:
                send(pid, number)
            except OSError:  # the group is not there yet, or no longer
                continue

    def end(self, patience=_TERM_SECONDS):
        """Kills it and its session, after TERM when there is patience. [(pid, state)] of what could not be killed."""
        left = []
        if self.pipes or not self._exited():
            if patience and not self._exited():
                self._signal(signal.SIGTERM)
                self.pump(time.monotonic() + patience)
            until = time.monotonic() + _KILL_SECONDS
            while True:
                self._signal(signal.SIGKILL, left)
                left = _session(self.pid) or ([] if self._exited() else [(self.pid, "?")])
                if not left or time.monotonic() >= until:
                    break
                time.sleep(0.01)
        self._close([*self.pipes] + [self._stdin] * (self._stdin is not None))
        if not self._reaped():
            _abandoned.append(self)
        return left

    def outcome(self, end, left):
        """(status, detail) after pump() and end(), in the words of answers.py; ok when it exited."""
        behind = "; process %d (state %s) could not be killed and was left behind" % left[0] if left else ""
        if end == FAILED:
            return "failed", errno.errorcode.get(self.errno, str(self.errno))
        if end == TIME:
            return "timeout", "no answer in time" + behind
        if end == OVERFLOW:
            return "overflow", "printed more than is kept, stopped" + behind
        if self.status is not None and os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            return "signaled", {s.value: s.name for s in signal.Signals}.get(number, "signal %d" % number) + behind
        return "ok", behind[2:]

    @property
    def rc(self):
        return os.WEXITSTATUS(self.status) if self.status is not None and os.WIFEXITED(self.status) else None
