# Copyright (c) 2026 Fleetproof maintainers
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a question to the machine can be answered with: never an exception."""

from __future__ import annotations

import re

OK = "ok"
ABSENT = "absent"  # no such file, or no such program
DENIED = "denied"
NOT_A_FILE = "not_a_file"  # FIFO, socket or device where a file was asked for
IS_A_DIRECTORY = "is_a_directory"
NOT_A_DIRECTORY = "not_a_directory"
LOOP = "loop"
OUTSIDE = "outside_root"  # a link leads out of the mounted host root
IO_ERROR = "io_error"
TIMEOUT = "timeout"  # its own limit, or the module's deadline
OVERFLOW = "overflow"  # printed more than is kept; it was stopped
SIGNALED = "signaled"
NOT_RECORDED = "not_recorded"  # replay only: the recording does not hold this question

ERRNO_STATUS = {
    "ENOENT": ABSENT,
    "ENXIO": IO_ERROR,
    "EACCES": DENIED,
    "EPERM": DENIED,
    "EISDIR": IS_A_DIRECTORY,
    "ENOTDIR": NOT_A_DIRECTORY,
    "ELOOP": LOOP,
}


_COLOR = re.compile("\x1b\\[[0-9;]*m|\\A\ufeff")


class Answer:
    """Answer to a question about a file or a value.

    status: one of the words above; value: what was asked for, None unless ok; detail: the system's own words;
    truncated: the file was longer than what is kept.
    """

    __slots__ = ("detail", "status", "subject", "truncated", "value")

    def __init__(self, status, value=None, detail="", subject="", truncated=False):
        self.status = status
        self.value = value
        self.detail = detail
        self.subject = subject
        self.truncated = truncated

    @property
    def ok(self):
        return self.status == OK

    @property
    def reason(self):
        """One line for an unknown value: "/path: denied (Permission denied)"."""
        words = self.status.replace("_", " ")
        text = "%s: %s" % (self.subject, words) if self.subject else words
        return "%s (%s)" % (text, self.detail) if self.detail else text

    def __repr__(self):
        return "Answer(%s, %r, %r)" % (self.status, self.value, self.detail)


class Command(Answer):
    """Answer of a program. status ok = it ran and exited, with whatever rc; stdout, without its colors, and stderr are kept in every case.

    rc: exit status, None unless it exited; seconds: wall time; stuck_pid: a process that could not be killed;
    left_out: bytes of stdout that a recording does not hold, out of its middle.
    """

    __slots__ = ("argv", "left_out", "rc", "seconds", "stderr", "stdout", "stuck_pid")

    def __init__(self, argv, status, rc=None, stdout="", stderr="", seconds=0.0, detail="", stuck_pid=None, left_out=0):
        Answer.__init__(self, status, None, detail, " ".join(argv), status == OVERFLOW)
        self.argv = list(argv)
        self.rc = rc
        self.stdout = _COLOR.sub("", stdout)
        self.stderr = stderr
        self.seconds = seconds
        self.stuck_pid = stuck_pid
        self.left_out = left_out

    @property
    def succeeded(self):
        return self.status == OK and self.rc == 0

    @property
    def reason(self):
        if self.status == OK:
            said = (self.stderr.strip() or self.stdout.strip()).split("\n")[0][:200]
            return "%s: exit %s%s" % (self.subject, self.rc, " (%s)" % said if said else "")
        return Answer.reason.fget(self)
