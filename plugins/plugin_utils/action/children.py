# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several works at once in an Ansible worker: each in a child process of its own, which is killed when it overruns and is missed by no other.

A worker has one thread and has not used its connection yet when it forks, so that every child opens its own session over the same
shared connection. What a child displays goes through its parent: the queue of the workers has a lock that a killed child would keep.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import time
import traceback
from multiprocessing.connection import wait

from ansible.errors import AnsibleError
from ansible.utils.display import Display

DONE, FAILED, OVERRUN, ENDED = "done", "failed", "overrun", "ended"
GRACE = 5  # seconds a child has beyond its step's time, to give it up and file that by itself
START = 60  # seconds until the first step
_UNREADABLE = (EOFError, OSError, pickle.UnpicklingError, AttributeError, ImportError, IndexError, ValueError)


class StepTimeoutError(BaseException):
    """A step's time is over. No Exception: nothing that runs below a step may take it for its own failure."""


class Outcome:
    """How a child ended: status, its last words, and the step it had begun and not ended."""

    def __init__(self):
        self.status, self.value, self.step, self.reason = ENDED, None, None, ""


class Told:
    """The child's half of the pipe. Stands for the queue of the display too."""

    def __init__(self, pipe):
        self._pipe = pipe

    def _tell(self, *message):
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, pickle.PicklingError):
            self._pipe.send(message)

    def send_display(self, method, *arguments, **options):
        self._tell("display", method, arguments, options)

    def begin(self, step, seconds):
        self._tell("begin", step, seconds)

    def end(self, value):
        self._tell("end", value)

    def done(self, status, value):
        self._tell(status, value)


@contextlib.contextmanager
def limit(seconds):
    """Raise StepTimeoutError here after so many seconds. For a process of one thread."""

    def over(_signal, _frame):
        raise StepTimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(max(1, seconds))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _child(work, pipe):
    """Never returns: what is above on the stack belongs to the parent."""
    code = 1
    try:
        os.setpgid(0, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        told = Told(pipe)
        if multiprocessing.parent_process() is not None:
            Display().set_queue(told)
        try:
            told.done(DONE, work(told))
            code = 0
        except AnsibleError as error:
            told.done(FAILED, str(error))
        except BaseException:  # whatever it is ends this child alone
            told.done(FAILED, "the reading process failed: %s" % traceback.format_exc().strip().rpartition("\n")[2])
    finally:
        os._exit(code)


class _Running:
    def __init__(self, work):
        self.pipe, ours = multiprocessing.Pipe(duplex=False)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self.pipe.close()
            _child(work, ours)
        ours.close()  # or its end would never be seen
        with contextlib.suppress(OSError):  # the child does it too: whoever comes first
            os.setpgid(self.pid, self.pid)
        self.outcome, self.until, self.over = Outcome(), time.monotonic() + START, False

    def take(self, display):
        """One message; the pipe's end is the end."""
        try:
            kind, *told = self.pipe.recv()
        except _UNREADABLE:
            self.over = True
            return
        if kind == "display":
            method, arguments, options = told
            getattr(display, method)(*arguments, **options)
        elif kind == "begin":
            self.outcome.step, seconds = told
            self.until = time.monotonic() + seconds + GRACE
        elif kind == "end":
            self.outcome.value, self.outcome.step = told[0], None
            self.until = time.monotonic() + START
        else:
            self.outcome.status, self.outcome.value = kind, told[0]
            self.over = True

    def end(self):
        """Nothing of it is left: its group goes first, so that the number cannot be another's yet."""
        self.kill()
        self.pipe.close()
        _pid, status = os.waitpid(self.pid, 0)
        if self.outcome.status == ENDED:
            code = os.waitstatus_to_exitcode(status)
            self.outcome.reason = "the process that read it ended with %s" % ("signal %d" % -code if code < 0 else "exit status %d" % code)

    def kill(self):
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def _taken_along(running):
    """A worker that is told to stop takes its children along."""

    def handler(before):
        def stop(number, frame):
            for child in running.values():
                child.kill()
            signal.signal(number, before)
            if callable(before):
                before(number, frame)
            else:
                os.kill(os.getpid(), number)

        return stop

    numbers = (signal.SIGTERM, signal.SIGINT)
    kept = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, handler(kept[number]))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, kept[number])


def at_once(works, most, outcomes=None):
    """name -> Outcome. works: name -> function of a Told, which runs in its own process; at most so many at a time, in their order.

    outcomes: filled as they end; what is still running when this is ended from without is in it as overrun.
    """
    display, waiting, running, outcomes = Display(), list(works), {}, {} if outcomes is None else outcomes
    with _taken_along(running):
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    name = waiting.pop(0)
                    running[name] = _Running(works[name])
                by_pipe = {child.pipe: child for child in running.values()}
                first = min(child.until for child in running.values())
                for pipe in wait(list(by_pipe), max(0, first - time.monotonic())):
                    by_pipe[pipe].take(display)
                for name, child in list(running.items()):
                    if not child.over and child.until <= time.monotonic():
                        child.outcome.status, child.over = OVERRUN, True
                    if child.over:
                        child.end()
                        outcomes[name] = running.pop(name).outcome
        finally:
            for name, child in running.items():
                child.outcome.status = OVERRUN
                child.end()
                outcomes[name] = child.outcome
    return outcomes
